"""The CXps of a linear model when there are too many to list: counted and weighed together, listed on request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import lcm

from axfi_kc.budget import Account, Budget, paced
from axfi_kc.domain.features import Real
from axfi_kc.domain.measures import Uniform
from axfi_kc.engines.found import LISTED, CxpSets, ListedCxps, Share, parts_of_sizes
from axfi_kc.engines.linear.cover_sums import Covers, CoverSums, sum_covers
from axfi_kc.engines.linear.covers import minimal_covers
from axfi_kc.engines.linear.half_spaces import Side
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.families.zdd_store import BASE, EMPTY, FamilyStore

__all__ = ["CountedCxps", "cover_family", "covers_of"]


_ONE = Fraction(1)
_FASTER_LISTED = 1_000_000  # CXps, for sums of more than two features
_ADVICE = "allow more, or ask for small CXps with max_size"


@dataclass(frozen=True, eq=False)
class CountedCxps(CxpSets):
    """CXps as the minimal covers of one side: how many there are, and what those with each feature weigh.

    Attributes
    ----------
    covers
        What the CXps are.
    sums
        What the CXps with each feature weigh together, by size.
    """

    covers: Covers
    sums: CoverSums
    kind: str
    _sizes: dict[int, int] = field(repr=False)
    _support: int = field(repr=False)
    _made: dict[str, SetFamily] = field(default_factory=dict, init=False, repr=False)
    _met: dict[int, Fraction] = field(default_factory=dict, init=False, repr=False)
    dag = None

    @property
    def count(self) -> int:
        """The number of CXps."""
        return sum(self._sizes.values())

    @property
    def sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""
        return self._sizes

    @property
    def support(self) -> int:
        """The features that are in some CXp, as a mask."""
        return self._support

    def listed(self, limit: int | None = None, *, account: Account | None = None) -> ListedCxps | None:
        """Return the CXps one by one, if there are not too many (cost: features times CXps)."""
        if self.count > (LISTED if limit is None else limit):
            return None
        found = {}
        for members in paced(minimal_covers(self.covers.losses, self.covers.need), account):
            found[sum(1 << i for i in members)] = self.covers.weight(members)
        whole = lcm(*(w.denominator for w in found.values()))
        masks = sorted_sets(found)
        numerators = (found[m].numerator * (whole // found[m].denominator) for m in paced(masks, account))
        return ListedCxps(tuple(masks), tuple(numerators), whole, self.kind)

    def weight(self, mask: int) -> Fraction | int:
        """Return the weight of one of the CXps, by its closed form."""
        weight = self.covers.weight(features_of(mask))
        return weight if self.kind == "ratio" else int(weight)

    def weight_met(self, mask: int) -> Fraction:
        """Return everything, less what the CXps weigh that have no feature in `mask`: a sum of its own, kept."""
        met = mask & self.support
        if met not in self._met:
            account = Account(None, goal="value", advice=_ADVICE)
            # The covers that avoid some features are those of the others, with the same need.
            rest = _total(sum_covers(self.covers.avoiding(met), account)) if met != self.support else Fraction(0)
            self._met[met] = _total(self.sums) - rest if met else Fraction(0)
        return self._met[met]

    def spread(self, share: Share, n_features: int, account: Account) -> tuple[list[int], int]:
        """Divide the weight of each CXp without listing one (cost: features times sizes)."""
        part_of, common = parts_of_sizes(self.sums.numerators, share)
        whole = self.sums.whole
        totals = [0] * n_features
        for size, row in self.sums.numerators.items():
            factor = part_of[size] * (whole // self.sums.denominators[size])
            totals = [total + factor * numerator for total, numerator in zip(totals, row, strict=True)]
        return totals, whole * common

    def joint(self, share: Share, order: int, account: Account) -> tuple[dict[int, int], int]:
        """Give each set of features a share of each CXp without listing one.

        Pairs are added up when they are first asked for, and kept; larger sets by inclusion and exclusion, which takes
        the pairs once more for each set of features that is left over. Up to a million CXps are listed for that.
        """
        if order > 2:
            listed = self.listed(_FASTER_LISTED, account=account)
            return self._larger(share, order, account) if listed is None else listed.joint(share, order, account)
        sums = self._pair_sums(account) if order == 2 else self.sums
        part_of, common = parts_of_sizes((size for size in sums.numerators if size >= order), share)
        totals: dict[int, int] = {}
        for size, part in part_of.items():
            factor = part * (sums.whole // sums.denominators[size])
            rows = (sums.pairs or {})[size] if order == 2 else {(i,): t for i, t in enumerate(sums.numerators[size])}
            for members, numerator in rows.items():
                mask = sum(1 << i for i in members)
                totals[mask] = totals.get(mask, 0) + factor * numerator
        return {mask: total for mask, total in totals.items() if total}, sums.whole * common

    def _larger(self, share: Share, order: int, account: Account) -> tuple[dict[int, int], int]:
        """Return the sums of more than two features: CXps with a feature are all but those that avoid it."""

        def of_large(size: int) -> Fraction:
            return share(size) if size >= order else Fraction(0)

        every, whole = self.joint(of_large, order - 1, account)
        found: dict[int, Fraction] = {}
        for i in features_of(self.support):
            account.look()
            covers = self.covers.avoiding(1 << i)
            others = CountedCxps(covers, sum_covers(covers, account), self.kind, self._sizes, self.support & ~(1 << i))
            without, part = others.joint(of_large, order - 1, account)
            # Both, as shares of several signs may add up to 0 in one of them.
            for mask in every.keys() | without.keys():
                if mask & (2 << i) - 1 == 0:  # each set once, from its first feature
                    found[mask | 1 << i] = Fraction(every.get(mask, 0), whole) - Fraction(without.get(mask, 0), part)
        common = lcm(*(total.denominator for total in found.values()))
        sums = {mask: total.numerator * (common // total.denominator) for mask, total in found.items()}
        return {mask: total for mask, total in sums.items() if total}, common

    def _pair_sums(self, account: Account) -> CoverSums:
        if "_pairs" not in vars(self):
            vars(self)["_pairs"] = sum_covers(self.covers, account, pairs=True)
        return vars(self)["_pairs"]

    def _family(self, budget: Budget | None) -> SetFamily:
        return cover_family(self.covers.losses, self.covers.need, budget=budget)

    def axps_within(self, budget: Budget | None) -> SetFamily:
        """Return the minimal hitting sets: what keeps too little from being lost, minimal covers themselves."""
        losses = self.covers.losses
        # A set meets every cover iff all that is left without it does not reach the need.
        return cover_family(losses, sum(losses) - self.covers.need + 1, budget=budget)


def covers_of(
    side: Side, losses: tuple[int, ...], margin: int, need: int, *, unit: int, shift: int, kind: str
) -> Covers | None:
    """Return the CXps of an instance as weighted covers of a side; None if their weights are no such closed form.

    Parameters
    ----------
    side, losses, margin, need
        The one side within reach, what each feature can lose there, what must be lost, and what makes a cover.
    unit, shift
        What the side's own numbers are divided by, and by how many bits losses are finer.
    kind
        The kind of weights.
    """
    n, scale = len(losses), unit << shift
    if kind == "unit":
        return Covers(losses, margin, need, scale, (False,) * n, (_ONE,) * n)
    found = [_factor(side, i, unit, kind) if loss else (False, _ONE) for i, loss in enumerate(losses)]
    if None in found:
        return None
    flags, factors = zip(*(pair for pair in found if pair is not None), strict=True)
    return Covers(losses, margin, need, scale, flags, factors)


def _factor(side: Side, i: int, unit: int, kind: str) -> tuple[bool, Fraction] | None:
    """Return whether a feature has a dimension, and what a member of a CXp adds; None for other features."""
    feature = side.features[i]
    if isinstance(feature, Real):
        is_plain = isinstance(feature.measure, Uniform) and not feature.missing and i not in side.mixed
        return (True, Fraction(unit, side.swings[i])) if is_plain else None
    if i in side.mixed or side.n_gaps(i) != 2:
        return None
    # Of two values, one is the instance's own: a member of a CXp has the other, which is the worst.
    shares = side.shares(i) or (Fraction(1, 2),) * 2
    return False, _ONE if kind == "count" else shares[side.gaps(i).index(0)]


def _total(sums: CoverSums) -> Fraction:
    """Return what all covers weigh together."""
    rows = sums.numerators.items()
    # Each cover of k features was counted once for each of them.
    return sum((Fraction(sum(row), size * sums.denominators[size]) for size, row in rows), Fraction(0))


def cover_family(losses: Sequence[int], need: int, *, budget: Budget | None = None) -> SetFamily:
    """Return the minimal sets whose losses add up to `need` or more, as a family.

    Raises
    ------
    BudgetError
        If the budget was spent; its nodes are those of the diagram.

    Notes
    -----
    From the largest loss down, the sets below depend on what was lost so far only through an interval that it is in,
    and for m losses a level has at most about ``2**(m / 2)`` of these.

    Examples
    --------
    >>> list(cover_family([3, 2, 2, 1], 4))
    [3, 5, 9, 6]
    """
    order = tuple(sorted((i for i, loss in enumerate(losses) if loss), key=lambda i: -losses[i]))
    account = Account(budget, goal="family of CXps", advice=_ADVICE)
    builder = _FamilyBuilder([losses[i] for i in order], need, account)
    root, *_ = builder.node(0, 0)
    return SetFamily(order, builder.store.rows(root))


class _FamilyBuilder:
    """Makes a diagram of minimal covers from the top down, each node once for an interval of what was lost."""

    def __init__(self, losses: Sequence[int], need: int, account: Account) -> None:
        self.store = FamilyStore()
        self._losses, self._need, self._account = losses, need, account
        self._left = [*accumulate(reversed(losses), initial=0)][::-1]  # what all losses from here on add up to
        # Per level: the least totals of the intervals known, sorted, and with each its end and its node.
        self._begins: list[list[int]] = [[] for _ in losses]
        self._known: list[dict[int, tuple[int, int]]] = [{} for _ in losses]

    def node(self, level: int, total: int) -> tuple[int, int, int]:
        """Return the sets that complete `total`, and the least and the largest total that they complete."""
        need = self._need
        if total >= need:
            return BASE, need, total + sum(self._losses)  # nothing more is added to a cover, whatever its sum
        if total + self._left[level] < need:
            return EMPTY, -sum(self._losses), need - self._left[level] - 1
        begins = self._begins[level]
        place = bisect_right(begins, total)
        if place:
            end, known = self._known[level][begins[place - 1]]
            if total <= end:
                return known, begins[place - 1], end
        self._account.spend(1)
        low, low_begin, low_end = self.node(level + 1, total)
        high, high_begin, high_end = self.node(level + 1, total + self._losses[level])
        begin = max(low_begin, high_begin - self._losses[level])
        end = min(low_end, high_end - self._losses[level])
        made = self.store.node(level, low, high) if high != EMPTY else low
        begins.insert(bisect_right(begins, total), begin)
        self._known[level][begin] = (end, made)
        return made, begin, end
