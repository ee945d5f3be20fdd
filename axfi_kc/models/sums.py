"""Exact sums of leaf vectors, many points at a time.

Leaf values are floats, so all of them are integers over one denominator. Integers that int64
cannot add without overflow are cut into limbs of 40 bits, each limb is added by itself, and the
carries are settled once at the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["LeafSums", "is_above", "largest"]

_LIMB = 40  # 2**22 trees of limbs this wide add up within int64
_MASK = (1 << _LIMB) - 1
_INT64_BITS = 62
Limbs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LeafSums:
    """The integers behind the leaf vectors of a sum of trees.

    Attributes
    ----------
    denominator
        What all integers are divided by.
    leaves
        Limbs of the leaf vectors, lowest limb first, shape ``(limbs, leaves, scores)``.
    base
        Limbs of the scores before any tree, shape ``(limbs, scores)``.

    Examples
    --------
    >>> sums = LeafSums.of([[0.5], [2.0**-80]], [Fraction(1, 3)], n_trees=2)
    >>> totals = sums.totals(np.array([[0, 0], [1, 0]]))
    >>> sums.fractions(totals)[0]
    [Fraction(4, 3)]
    """

    denominator: int
    leaves: Limbs
    base: Limbs

    @classmethod
    def of(cls, values: npt.ArrayLike, base: Sequence[Fraction], *, n_trees: int) -> LeafSums:
        """Return the integers of `values` (leaves times scores) and `base`.

        Notes
        -----
        Linear in the number of values, once per model.
        """
        rows = np.asarray(values, dtype=np.float64)
        ratios = [x.as_integer_ratio() for x in rows.reshape(-1).tolist()]
        ratios += [b.as_integer_ratio() for b in base]
        # Leaves are dyadic, so this is a power of two unless a base is not.
        denominator = math.lcm(*{d for _, d in ratios})
        integers = [n * (denominator // d) for n, d in ratios]
        bits = max((k.bit_length() for k in integers), default=0)
        narrow = bits + (n_trees + 1).bit_length() <= _INT64_BITS
        # In several limbs the last one has fewer than 40 bits and the sign, so it can take the carries.
        limbs = _limbs(integers, 1 if narrow else bits // _LIMB + 1)
        split = rows.size
        return cls(denominator, limbs[:, :split].reshape(-1, *rows.shape), limbs[:, split:])

    def totals(self, reached: npt.NDArray[np.integer]) -> Limbs:
        """Return the scores of points that reach the given leaves, as limbs.

        Parameters
        ----------
        reached
            The leaf of each tree that each point reaches, shape ``(points, trees)``.

        Returns
        -------
        array of shape ``(limbs, points, scores)``; all limbs but the last lie in [0, 2**40)
        """
        totals = self.leaves.take(reached, axis=1).sum(axis=2) + self.base[:, np.newaxis]
        # From the lowest limb up, each carry before the limb it goes to is cut; rows are views into `totals`.
        for low, high in itertools.pairwise(totals):
            high += low >> _LIMB
            low &= _MASK
        return totals

    def integers(self, totals: Limbs) -> list[list[int]]:
        """Return each point's scores, times the denominator."""
        # Python integers only where int64 cannot hold the value.
        joined = totals[-1].astype(object) if len(totals) > 1 else totals[0]
        for limb in totals[-2::-1]:
            joined = (joined << _LIMB) + limb
        return joined.tolist()

    def fractions(self, totals: Limbs) -> list[list[Fraction]]:
        """Return each point's scores."""
        return [[Fraction(k, self.denominator) for k in row] for row in self.integers(totals)]


def is_above(totals: Limbs, others: Limbs | int = 0) -> npt.NDArray[np.bool_]:
    """Tell for settled limbs whether the integers are above `others`."""
    pairs = np.broadcast_arrays(totals, others)
    above = np.zeros(totals.shape[1:], dtype=np.bool_)
    for mine, theirs in zip(*pairs, strict=True):
        # Lowest limb first: each higher one overrules what the lower ones said, unless it is equal.
        above = (mine > theirs) | ((mine == theirs) & above)
    return above


def largest(totals: Limbs) -> npt.NDArray[np.int64]:
    """Return the position of each point's largest score, the lowest at a tie."""
    best, position = totals[:, :, 0].copy(), np.zeros(totals.shape[1], dtype=np.int64)
    for k in range(1, totals.shape[2]):
        # Strictly above, so the first of several equal scores stays.
        higher = is_above(totals[:, :, k], best)
        position[higher] = k
        best[:, higher] = totals[:, higher, k]
    return position


def _limbs(integers: Sequence[int], count: int) -> Limbs:
    """Return integers in `count` limbs, lowest first; the last one carries the sign."""
    # Python's shift and mask treat negative numbers as two's complement: no limb but the last is negative.
    rows = [[k >> _LIMB * level & _MASK for k in integers] for level in range(count - 1)]
    rows.append([k >> _LIMB * (count - 1) for k in integers])
    return np.array(rows, dtype=np.int64).reshape(count, len(integers))
