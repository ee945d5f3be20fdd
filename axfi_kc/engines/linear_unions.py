"""Weights of CXps that several sides reach: unions of half-spaces.

Within the box of a CXp the half-space of a side stays, by minimality, on that side of the instance
where its own worst corner lies. So half-spaces whose worst corners differ in a real feature are
disjoint, up to a set of measure zero, and only those with the same corner need a union: of corner
simplices (:mod:`axfi_kc.engines.simplices`), summed over the discrete features' values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from axfi_kc.budget import Account, paced
from axfi_kc.engines.linear_sides import Side
from axfi_kc.engines.linear_weights import SideWeigher, check_budget, shares_of
from axfi_kc.engines.simplices import union_volume
from axfi_kc.features import Real

__all__ = ["UnionWeigher"]

_Spent = tuple[int | None, ...]  # per side, what is spent; None for a side that is overspent
_Options = list[tuple[tuple[int, ...], Fraction]]  # what a feature can spend on each side, and its worth
_ZERO = Fraction(0)


class UnionWeigher:
    """Weighs the CXps of several sides, whose half-spaces may overlap.

    Parameters
    ----------
    sides
        The half-spaces of dissimilar points.
    kind
        ``"ratio"`` or ``"count"``.
    """

    def __init__(self, sides: Sequence[Side], kind: str) -> None:
        self._sides = sides
        self._features = sides[0].features
        self._weighers = [SideWeigher(side, kind) for side in sides]
        self._kind = kind

    def weight(
        self, features: Sequence[int], slacks: Sequence[int], shift: int, *, account: Account | None = None
    ) -> tuple[int, int]:
        """Return the weight of a CXp as a numerator and a denominator.

        Parameters
        ----------
        features
            The CXp.
        slacks
            Per side, how far its h falls below what is needed, times ``2**shift``; negative where
            it does not.
        shift
            See :func:`axfi_kc.models.linear.dyadic`.
        account
            Under which it is done, if there is a budget.

        Raises
        ------
        BudgetError
            If too many discrete values combine, or too many simplices overlap.
        """
        real = [i for i in features if isinstance(self._features[i], Real)]
        groups: dict[tuple[bool, ...], list[int]] = {}
        for k, (side, slack) in enumerate(zip(self._sides, slacks, strict=True)):
            # Slacks are integers over 2**shift, so a strict side needs at least 1 and the others 0.
            if slack >= side.strict:
                # Sides with worst corners in different places are disjoint but for a set of measure 0.
                # Without real features all fall into one group, whose points are told apart one by one.
                groups.setdefault(tuple(side.slope(i) > 0 for i in real), []).append(k)
        found = _ZERO
        for group in groups.values():
            if len(group) == 1:
                found += self._alone(features, group[0], slacks[group[0]], shift, account)
            else:
                found += self._union(features, real, {k: slacks[k] for k in group}, shift, account)
        return found.numerator, found.denominator

    def _alone(self, features: Sequence[int], k: int, slack: int, shift: int, account: Account | None) -> Fraction:
        total, divisor = self._weighers[k].weight(features, slack, shift, account=account)
        return Fraction(total, divisor * prod([self._weighers[k].wholes[i] for i in features]))

    def _union(
        self, features: Sequence[int], real: Sequence[int], slacks: dict[int, int], shift: int, account: Account | None
    ) -> Fraction:
        spent = self._spent(features, slacks, shift, account)
        if not real:
            return sum(spent.values(), _ZERO)
        parts = paced(spent.items(), account, at_once=1)
        return sum((worth * self._volume(real, slacks, shift, used, account) for used, worth in parts), _ZERO)

    def _volume(
        self, real: Sequence[int], slacks: dict[int, int], shift: int, used: _Spent, account: Account | None
    ) -> Fraction:
        """Return the volume of the union of the simplices that are left when `used` is spent."""
        rows = []
        for (k, slack), spent in zip(slacks.items(), used, strict=True):
            # Nothing left to spend is a simplex without volume.
            if spent is not None and slack > spent << shift:
                left = Fraction(slack - (spent << shift), 1 << shift)
                # In the form a . u <= 1 that unions are computed in.
                rows.append([abs(self._sides[k].slope(i)) / left for i in real])
        return union_volume(rows, account=account) if rows else _ZERO

    def _spent(
        self, features: Sequence[int], slacks: dict[int, int], shift: int, account: Account | None
    ) -> dict[_Spent, Fraction]:
        """Return the worth of what the features can spend on each side."""
        # The boundary matters only where all features are discrete, and this is exact there.
        limits = [(slack - self._sides[k].strict) >> shift for k, slack in slacks.items()]
        spent: dict[_Spent, Fraction] = {(0,) * len(slacks): Fraction(1)}
        for i in features:
            options = self._options([self._sides[k] for k in slacks], i)
            check_budget(len(spent) * len(options), self._features, features)
            following: dict[_Spent, Fraction] = {}
            for used, worth in paced(spent.items(), account):
                for gaps, share in paced(options, account, at_once=1024):
                    now = tuple(map(_spend, used, gaps, limits))
                    # A combination counts as soon as one side can still afford it.
                    if any(n is not None for n in now):
                        following[now] = following.get(now, _ZERO) + worth * share
            spent = following
        return spent

    def _options(self, sides: Sequence[Side], i: int) -> _Options:
        feature = self._features[i]
        if isinstance(feature, Real):
            return _options_of_bins(sides, i)
        check_budget(feature.size, self._features, [i])
        shares = shares_of(feature) or (Fraction(1, feature.size),) * feature.size
        if self._kind == "count":
            shares = (Fraction(1),) * feature.size
        return list(zip(zip(*(side.gaps(i) for side in sides), strict=True), shares, strict=True))


def _spend(used: int | None, gap: int, limit: int) -> int | None:
    # Overspent once, overspent for ever: gaps are never negative.
    return None if used is None or used + gap > limit else used + gap


def _options_of_bins(sides: Sequence[Side], i: int) -> _Options:
    """Return where the density of a real feature changes, and by how much; all have one corner."""
    options, before = [], _ZERO
    for share, distance, width in sides[0].bins(i):
        gaps = tuple(int(abs(side.slope(i)) * distance) for side in sides)
        # Densities per unit of the feature here, not of h: the slopes differ from side to side.
        options.append((gaps, share / width - before))
        before = share / width
    return options
