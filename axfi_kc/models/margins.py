"""The score functions whose sign says "dissimilar", in integers.

A point is dissimilar to the instance exactly when one of a few sums of trees is positive: for a
binary model the score itself or its negative, for K classes the K - 1 differences to the
instance's class, for a regression how far the output passes either end of the similar range. All
parameters are rationals, so over a common denominator the sums are integers, and a comparison that
also holds at equality becomes strict by adding one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.models.tree_sum import Argmax, Positive, TreeSum

__all__ = ["LIMB", "LIMB_MASK", "Margins"]


LIMB = 52  # bits of every limb but the first
LIMB_MASK = (1 << LIMB) - 1
_FIRST_LIMB = 50  # bits: sums of 2,000 of these fit an int64
_INT64 = 62
Integers = npt.NDArray[np.object_]
Limbs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Sums of trees as Python integers; dissimilar means that one of them is above 0.

    Attributes
    ----------
    values
        The summand of each leaf for each sum, shape ``(leaves, sums)``.
    base
        The sums before any tree.
    n_trees
        The number of trees.
    """

    values: Integers
    base: Integers
    n_trees: int

    @classmethod
    def of(cls, model: TreeSum, output: Hashable, delta: Fraction | None) -> Margins:
        """Return the sums that are positive where `model` is dissimilar to `output`."""
        leaves, base, denominator = model.integers
        if isinstance(model.rule, Argmax):
            own = model.rule.labels.index(output)
            others = [k for k in range(len(base)) if k != own]
            ties = [int(k < own) for k in others]  # the lower index wins a tie
            # In integers, "not less than" is "more than one less": adding 1 makes every comparison strict.
            return cls(leaves[:, others] - leaves[:, [own]], base[others] - base[own] + ties, model.n_trees)
        if isinstance(model.rule, Positive):
            if output == model.rule.labels[1]:
                # Class 1 means above 0, so what is dissimilar to it includes 0.
                return cls(-leaves, -base + 1, model.n_trees)
            return cls(leaves, base, model.n_trees)
        return cls._outside(leaves, base, model, Fraction(denominator) / model.rule.scale, output, delta)

    @classmethod
    def _outside(
        cls, leaves: Integers, base: Integers, model: TreeSum, unit: Fraction, output: Any, delta: Fraction | None
    ) -> Margins:
        """Return how far the sum, in integers, is above and below the similar range."""
        reach = Fraction(0) if delta is None else delta
        # The sum is an integer, so it exceeds a limit iff it exceeds the floor of that limit.
        above, below = floor((output + reach) * unit), floor((reach - output) * unit)
        # Beyond what the trees can reach it does not matter how far: a huge delta must not widen the limbs.
        most = model.n_trees * max(map(abs, leaves.reshape(-1).tolist()), default=0) + abs(int(base[0])) + 1
        limits = [max(-most, min(most, limit)) for limit in (above, below)]
        both = np.concatenate([leaves, -leaves], axis=1)
        return cls(both, np.array([base[0] - limits[0], -base[0] - limits[1]], dtype=object), model.n_trees)

    def limbs(self) -> tuple[Limbs, Limbs]:
        """Return values and base in limbs of 64-bit integers, the first limb as fine as it can be."""
        numbers = [*self.values.reshape(-1).tolist(), *self.base.tolist()]
        bits = max(n.bit_length() for n in numbers)
        # All trees and the base together stay below 2**62 in absolute value: one limb is enough.
        if bits + (self.n_trees + 1).bit_length() <= _INT64:
            return self.values.astype(np.int64)[..., np.newaxis], self.base.astype(np.int64)[..., np.newaxis]
        # As many further limbs as the bits beyond the first one need; at least one, even if the first would hold every
        # number, because then the trees are so many that a first limb filled by shifting would overflow when summed.
        count = 1 + max(1, -(-(bits - _FIRST_LIMB) // LIMB))
        # Shifted so that the widest number fills the first limb: the finer ones are then seldom needed.
        shift = _FIRST_LIMB + LIMB * (count - 1) - bits
        return _limbs(self.values, count, shift), _limbs(self.base, count, shift)


def _limbs(integers: Integers, count: int, shift: int) -> Limbs:
    scaled = integers * (1 << shift)
    # Floor division and mask agree for negative numbers too: only the first limb carries a sign.
    rest = [(scaled // (1 << LIMB * (count - 1 - k))) & LIMB_MASK for k in range(1, count)]
    first = scaled // (1 << LIMB * (count - 1))
    return np.stack([part.astype(np.int64) for part in (first, *rest)], axis=-1)
