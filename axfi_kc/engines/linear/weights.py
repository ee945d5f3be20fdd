"""Weights of the CXps of a linear model.

Put every feature of a CXp Y at its worst value: h is then s below what is needed, the slack.
Moving back costs slack, and the adversarial examples are the ways to spend at most s. A discrete
feature spends one of finitely many *gaps*; a real one anything from zero up, and by minimality s
is spent before its other end is reached. So the examples of real features form a corner simplex
of volume ``s**r / r!`` over the product of the swings, and discrete features are summed over their
gaps, by dynamic programming on what is spent. A histogram is a sum of steps, each of which starts
at a gap: its density is treated like the values of a discrete feature, times one more dimension.
A feature that may be missing and has a slope otherwise is taken apart first
(:mod:`axfi_kc.engines.linear.mixtures`). Where every feature is real, uniform and never missing, a whole
batch is weighed at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, repeat
from math import factorial, lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, paced
from axfi_kc.domain.features import Feature, Real
from axfi_kc.domain.measures import Uniform
from axfi_kc.engines.found import masks_of_words, members_of_words
from axfi_kc.engines.linear.half_spaces import Side
from axfi_kc.engines.linear.mixtures import Case, cases
from axfi_kc.errors import BudgetError
from axfi_kc.families.masks import features_of

__all__ = ["BatchWeigher", "SideWeigher", "check_budget"]


_LARGEST = 5_000_000  # combinations of discrete values looked at for one CXp


def check_budget(combinations: int, features: Sequence[Feature], chosen: Sequence[int]) -> None:
    """Raise if a weight would need too many combinations of discrete values."""
    if combinations > _LARGEST:
        names = ", ".join(repr(features[i].name) for i in chosen)
        raise BudgetError(
            f"The weight of a CXp with the features {names} needs {combinations} combinations of values, "
            f"more than {_LARGEST}; narrow their bounds, declare them real, or restrict the CXps with max_size.",
            nodes=combinations,
        )


@dataclass(frozen=True, slots=True)
class _Steps:
    """What a feature can spend: gaps in increasing order, and what each is worth."""

    gaps: Sequence[int]
    worths: Sequence[int] | None  # None: one each
    below: Sequence[int]  # the worth of the first k gaps

    @classmethod
    def of(cls, gaps: Sequence[int], worths: Sequence[int] | None) -> _Steps:
        if worths is None and isinstance(gaps, range):  # a long range is never listed
            return cls(gaps if gaps.step > 0 else gaps[::-1], None, range(len(gaps) + 1))
        pairs = sorted(zip(gaps, worths or repeat(1), strict=False))
        return cls([g for g, _ in pairs], [w for _, w in pairs], [0, *accumulate(w for _, w in pairs)])

    def up_to(self, limit: int) -> Iterator[tuple[int, int]]:
        # The gaps ascend, and `bisect` works on a range without listing it.
        number = bisect_right(self.gaps, limit)
        return zip(self.gaps[:number], self.worths or repeat(1), strict=False)


class SideWeigher:
    """Weighs the CXps of one side.

    Parameters
    ----------
    side
        The half-space of dissimilar points.
    kind
        ``"ratio"`` or ``"count"``.
    unit
        What numbers of the side are divided by to get scores. Where features are scaled, nearly all digits of a
        swing come from the unit; integers stay short because they are divided by it once per CXp, not per feature.

    Attributes
    ----------
    wholes
        What a weight is divided by for each feature of its CXp.
    present_wholes
        The same where nothing is missing of what may be missing and has a slope otherwise.
    """

    def __init__(self, side: Side, kind: str, unit: int) -> None:
        self._side = side
        self._kind = kind
        self._unit = unit
        self._is_real = [isinstance(f, Real) for f in side.features]
        self._is_plain = [
            isinstance(f, Real) and isinstance(f.measure, Uniform) and i not in side.mixed
            for i, f in enumerate(side.features)
        ]
        # Two-valued, whatever their kind: any number, or missing.
        self._flat = frozenset(i for i in side.mixed if side.is_flat(i))
        self._steps: dict[int, _Steps] = {}
        self._known: dict[int, int] = {}  # densities of uniform features
        self.present_wholes = tuple(map(self._present_whole, range(len(side.features))))
        self.wholes = tuple(whole * self._odds(i)[2] for i, whole in enumerate(self.present_wholes))

    def _present_whole(self, i: int) -> int:
        feature = self._side.features[i]
        if isinstance(feature, Real):
            # A feature without swing is in no CXp, and a density over width 0 would be infinite.
            return 1 if self._side.is_flat(i) else lcm(*(d.denominator for d in self._densities(i)))
        if self._kind == "count":
            return 1
        shares = self._side.shares(i)
        return self._side.n_gaps(i) if shares is None else lcm(*(s.denominator for s in shares))

    def _odds(self, i: int) -> tuple[int, int, int]:
        """Return what it is worth that feature i is missing, and that it is not, and what both are divided by."""
        if i not in self._side.mixed or self._kind == "count":
            return 1, 1, 1
        share = self._side.features[i].missing
        return share.numerator, share.denominator - share.numerator, share.denominator

    def _densities(self, i: int) -> list[Fraction]:
        """Return the densities of real feature i per unit of the score, from its worst end on."""
        slope = Fraction(abs(self._side.slope(i)), self._unit)
        # Lengths are measured in units of the score, so that every real feature has slope 1.
        return [share / (slope * width) for share, _, width in self._side.bins(i)]

    def weight(
        self, features: Sequence[int], slack: int, shift: int, *, account: Account | None = None
    ) -> tuple[int, int]:
        """Return the weight of a CXp over the product of its features' `wholes`: total, divisor.

        Parameters
        ----------
        features
            The CXp.
        slack
            How far h falls below what is needed, times ``2**shift``.
        shift
            See :func:`axfi_kc.models.linear_model.dyadic`.

        Notes
        -----
        A power for real features; for discrete ones the combinations of gaps below the slack. The sum of that
        over the cases of what is missing.
        """
        if self._side.mixed.isdisjoint(features):
            return self.present_weight(features, slack, shift, account=account)
        total, dimension = 0, sum([self._is_real[i] for i in features if i not in self._flat])
        divisor = self._divisor(dimension, shift)
        for n, case in enumerate(paced(cases([self._side], features, [slack], shift), account)):
            check_budget(n, self._side.features, features)
            part, own = self.present_weight(case.present, case.slacks[0], shift, account=account)
            # What is missing has no dimension, so the own divisor divides the one with all of them.
            total += self._worth(case) * part * (divisor // own)
        return total, divisor

    def _worth(self, case: Case) -> int:
        """Return the odds of a case, over the quotients of `wholes` and `present_wholes`."""
        absent = prod([self._odds(i)[0] * self.present_wholes[i] for i in case.missing])
        return absent * prod([self._odds(i)[1] for i in case.present])

    def present_weight(
        self, features: Sequence[int], slack: int, shift: int, *, account: Account | None = None
    ) -> tuple[int, int]:
        """Return the same over the product of `present_wholes`, where no feature that has a slope is missing.

        Gaps are then those above the worst number.
        """
        if not self._flat.isdisjoint(features):
            steep = [i for i in features if i not in self._flat]
            total, divisor = self.present_weight(steep, slack, shift, account=account)
            return total * prod([self._mass(i) for i in features if i in self._flat]), divisor
        stepped = [i for i in features if not self._is_plain[i]]
        if not stepped:
            dimension = len(features)
            return slack**dimension * self._density(features), self._divisor(dimension, shift)
        dimension = sum([self._is_real[i] for i in features])
        if not dimension:
            # Spending is in whole units, the slack in fractions of 2**-shift: rounding down loses no
            # combination. A strict side must keep something, the least fraction.
            return self._total(stepped, (slack - self._side.strict) >> shift, account), 1
        # With a real feature the boundary has measure 0, and strictness does not matter.
        spent = self._spent(stepped, slack >> shift, account)
        total = sum(worth * (slack - (used << shift)) ** dimension for used, worth in paced(spent.items(), account))
        return total * self._density(features), self._divisor(dimension, shift)

    def _divisor(self, dimension: int, shift: int) -> int:
        """Return what the powers of slacks are divided by, which are numbers of the side."""
        return factorial(dimension) * self._unit**dimension << shift * dimension

    def _density(self, features: Sequence[int]) -> int:
        """Return the density of the uniform features, times their `present_wholes`."""
        return prod([self._uniform(i) for i in features if self._is_plain[i]])

    def _uniform(self, i: int) -> int:
        if i not in self._known:
            self._known[i] = int(self._densities(i)[0] * self.present_wholes[i])
        return self._known[i]

    def _mass(self, i: int) -> int:
        """Return the worth of all numbers of feature i."""
        return self._side.n_gaps(i) if self._kind == "count" else self.present_wholes[i]

    def _total(self, features: Sequence[int], limit: int, account: Account | None) -> int:
        """Return the worth of all combinations that spend at most `limit`."""
        # The feature with most gaps is never expanded: what it adds is read off its prefix sums.
        *others, last = sorted(features, key=lambda i: bisect_right(self._steps_of(i).gaps, limit))
        gaps, below = self._steps_of(last).gaps, self._steps_of(last).below
        spent = paced(self._spent(others, limit, account).items(), account)
        return sum(worth * below[bisect_right(gaps, limit - used)] for used, worth in spent)

    def _spent(self, features: Sequence[int], limit: int, account: Account | None) -> dict[int, int]:
        """Return the worth of the combinations that spend each amount up to `limit`."""
        spent = {0: 1}
        for i in features:
            steps, following = self._steps_of(i), dict[int, int]()
            # Before the product is listed, not after.
            check_budget(len(spent) * bisect_right(steps.gaps, limit), self._side.features, features)
            for used, worth in paced(spent.items(), account):
                for gap, own in paced(steps.up_to(limit - used), account, at_once=1024):
                    # Equal amounts merge, so the table grows with the different sums and not with the combinations.
                    following[used + gap] = following.get(used + gap, 0) + worth * own
            spent = following
        return spent

    def _steps_of(self, i: int) -> _Steps:
        """Return what feature i can spend, made when first needed."""
        if i not in self._steps:
            feature = self._side.features[i]
            if isinstance(feature, Real):
                self._steps[i] = self._steps_of_bins(i)
            else:
                shares = self._side.shares(i) if self._kind == "ratio" else None
                worths = None if shares is None else [int(s * self.present_wholes[i]) for s in shares]
                self._steps[i] = _Steps.of(self._side.gaps(i), worths)
        return self._steps[i]

    def _steps_of_bins(self, i: int) -> _Steps:
        """Return where the density of a real feature changes, and by how much."""
        slope, bins = abs(self._side.slope(i)), self._side.bins(i)
        heights = [int(d * self.present_wholes[i]) for d in self._densities(i)]
        # A step function is a sum of steps that each go on for ever; a step down has a negative height.
        changes = [b - a for a, b in zip([0, *heights], heights, strict=False)]
        gaps = [int(slope * distance) for _, distance, _ in bins]
        if i in self._side.mixed:
            # From a missing value even the best number may be a change for the worse: then the other end is reached.
            gaps.append(int(slope * sum(bins[-1][1:])))
            changes.append(-heights[-1])
        return _Steps.of(gaps, changes)


_AT_ONCE = 1 << 10  # CXps between two looks at the clock at most: some milliseconds
_BITS_AT_ONCE = 1 << 22  # of all that they weigh: integers of many features are long
Integers = npt.NDArray[Any]  # of Python ints


class BatchWeigher:
    """Weighs CXps of real, uniform features that are never missing, whose sides exclude each other.

    Parameters
    ----------
    side
        One of the sides; what a feature can change is the same on each.
    unit
        See :class:`SideWeigher`.
    """

    def __init__(self, side: Side, unit: int) -> None:
        # A feature without swing is in no CXp; 1 keeps the products from vanishing.
        self._swings = [Fraction(swing or 1, unit) for swing in side.swings]
        self._unit = unit
        self._whole = prod([swing.numerator for swing in self._swings])
        self._rest: dict[int, int] = {}  # of a CXp: the whole, over the product of its swings

    @staticmethod
    def fits(side: Side) -> bool:
        """Tell whether every feature is real, uniform and never missing."""
        return all(isinstance(f, Real) and isinstance(f.measure, Uniform) and not f.missing for f in side.features)

    def weights(
        self,
        losses: Integers,
        margins: Integers,
        shifts: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        *,
        account: Account,
    ) -> tuple[Integers, list[int]]:
        """Return totals and divisors, the divisors of one instance all the same.

        Parameters
        ----------
        losses, margins, shifts
            Per instance; see :meth:`axfi_kc.engines.linear.half_spaces.Side.losses`.
        starts, words
            The CXps of each instance.
        """
        if not len(words):
            return np.empty(0, dtype=object), []
        numbers = np.diff(starts)
        instance = np.repeat(np.arange(len(numbers)), numbers)
        largest = np.zeros(len(numbers), dtype=np.int64)
        np.maximum.at(largest, instance, np.bitwise_count(words).sum(axis=1, dtype=np.int64))
        # One divisor for all CXps of an instance: the largest factorial, powers of the unit and of two, and all swings.
        wholes = [
            self._whole * factorial(k) * self._unit**k << q * k
            for k, q in zip(largest.tolist(), shifts.tolist(), strict=True)
        ]
        at_once = len(words) if account.is_free else max(1, min(_AT_ONCE, _BITS_AT_ONCE // max(wholes).bit_length()))
        spans = (slice(k, k + at_once) for k in account.paced(range(0, len(words), at_once), at_once=1))
        parts = [self._totals(losses, margins, shifts, words[s], instance[s], largest) for s in spans]
        return np.concatenate(parts), [wholes[n] for n in instance.tolist()]

    def _totals(
        self,
        losses: Integers,
        margins: Integers,
        shifts: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        instance: npt.NDArray[np.int64],
        largest: npt.NDArray[np.int64],
    ) -> Integers:
        """Return the totals of some CXps, over the common divisors of their instances."""
        powers, sizes = _powers(losses, margins, members_of_words(words, losses.shape[2]), instance)
        missing = largest[instance] - sizes
        factorials = np.array([factorial(k) for k in range(int(largest.max()) + 1)], dtype=object)
        units = np.array([self._unit**k for k in range(int(missing.max()) + 1)], dtype=object)
        # What is missing to that divisor: the quotient of the factorials, the swings outside the CXp, and the
        # unit and the shift of the dimensions that a smaller CXp lacks.
        falls = factorials[largest[instance]] // factorials[sizes] * units[missing]
        rests = np.array([self._rest_of(mask) for mask in masks_of_words(words)], dtype=object)
        return np.left_shift(powers * rests * falls, (shifts[instance] * missing).astype(object))

    def _rest_of(self, mask: int) -> int:
        if mask not in self._rest:
            swings = [self._swings[i] for i in features_of(mask)]
            rest = self._whole // prod([swing.numerator for swing in swings])
            self._rest[mask] = rest * prod([swing.denominator for swing in swings])
        return self._rest[mask]


def _powers(
    losses: Integers, margins: Integers, members: npt.NDArray[np.bool_], instance: npt.NDArray[np.int64]
) -> tuple[Integers, npt.NDArray[np.int64]]:
    """Return for each CXp the sum over sides of its slack to the power of its size; and its size."""
    row, feature = np.nonzero(members)
    first = np.searchsorted(row, np.arange(len(members)))
    sizes = members.sum(axis=1)
    found = np.zeros(len(members), dtype=object)
    for side in range(losses.shape[1]):
        slack = np.add.reduceat(losses[instance[row], side, feature], first) - margins[instance, side]
        # Sides exclude each other, so volumes add up; a side that the CXp does not reach has none.
        found = found + np.maximum(slack, 0) ** sizes.astype(object)
    return found, sizes
