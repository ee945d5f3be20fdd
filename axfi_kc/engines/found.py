"""What every engine returns: the CXps of instances with their weights, listed or on a diagram when they are many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, chain, combinations, pairwise, repeat
from math import gcd, lcm, prod
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget, Watch, paced
from axfi_kc.domain.features import Feature, Real
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.limbs import Limbs, integers_of, limbs_for, limbs_of
from axfi_kc.errors import WeightError
from axfi_kc.families import SetFamily, WeightedDag
from axfi_kc.families.masks import features_of, sorted_sets

__all__ = [
    "LISTED",
    "WEIGHTS",
    "CxpSets",
    "DiagramCxps",
    "Found",
    "ListedCxps",
    "Located",
    "Numerators",
    "Share",
    "cell_worths",
    "check_countable",
    "check_weights",
    "features_of_members",
    "fractions_of",
    "joint_totals",
    "masks_of_words",
    "members_of_words",
    "nearest_floats",
    "parts_of_sizes",
    "words_of_masks",
]


WEIGHTS = ("ratio", "count", "unit")
LISTED = 100_000  # users get a family of more sets as a view
_WORD = 64
_INT64 = 2**63
_FEW_TO_SPLIT = 32  # sets that Python takes apart before numpy has begun
_WHOLE = 2**53  # up to here whole numbers are floats
_FEW_TO_ADD = 1_000  # sets that are faster added up without a kernel
_LIMB = 32  # bits of a number that a kernel adds up at once
_ZERO = Fraction(0)
_new: Callable[[type[Fraction]], Any] = object.__new__
_set_numerator, _set_denominator = (vars(Fraction)[name].__set__ for name in ("_numerator", "_denominator"))

Share = Callable[[int], Fraction]
"""What each member of a CXp of so many features gets of its weight."""

Numerators = tuple[npt.NDArray[Any], list[int]]
"""A number per instance and feature: ``numerators[n, i] / denominators[n]``, exactly."""

Located = tuple[Any, list[Any]]
"""Where instances lie, a row each as the engine wants it (most: their cells), and the outputs there."""


def check_weights(kind: str) -> None:
    """Raise unless `kind` names a kind of weight."""
    if kind not in WEIGHTS:
        raise WeightError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}, but {quoted(kind)} was given.")


def cell_worths(grid: Grid, kind: str) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return per feature what each cell is worth, and what a set is divided by for it.

    ``"ratio"``: cells are worth their probability, as integers over one denominator per
    feature. ``"count"``: their number of values (a real feature has none; see
    :func:`check_countable`). ``"unit"``: 1.
    """
    ones = (1,) * len(grid.axes)
    if kind == "ratio":
        return tuple(axis.numerators for axis in grid.axes), tuple(axis.denominator for axis in grid.axes)
    if kind == "count":
        return tuple(axis.counts or (1,) * axis.n_cells for axis in grid.axes), ones
    return tuple((1,) * axis.n_cells for axis in grid.axes), ones


class CxpSets(ABC):
    """The CXps of one instance and what they weigh, whether a list can hold them or only a diagram.

    Attributes
    ----------
    kind
        ``"ratio"``, ``"count"`` or ``"unit"``.
    dag
        The weighted CXps as one DAG, where there are too many for a list; each path is a CXp and a way of changing
        its features.
    """

    kind: str
    dag: WeightedDag | None
    _made: dict[str, SetFamily]

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of CXps."""

    @property
    @abstractmethod
    def sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""

    @property
    @abstractmethod
    def support(self) -> int:
        """The features that are in some CXp, as a mask."""

    @abstractmethod
    def listed(self, limit: int | None = None, *, account: Account | None = None) -> ListedCxps | None:
        """Return the CXps one by one; None if that would mean to list more than `limit`, by default ``LISTED``.

        What is a list already is returned whatever its length, so ``listed(0)`` never costs anything.
        """

    @abstractmethod
    def weight(self, mask: int) -> Fraction | int:
        """Return the weight of one of the CXps: an int for counts and units, else a Fraction."""

    @abstractmethod
    def weight_met(self, mask: int) -> Fraction:
        """Return what the CXps weigh together that have a feature in `mask`."""

    @abstractmethod
    def spread(self, share: Share, n_features: int, account: Account) -> tuple[list[int], int]:
        """Divide the weight of each CXp among its features by `share`; see :data:`Share`.

        Returns what each feature gets as an integer, and what these are divided by.
        """

    @abstractmethod
    def joint(self, share: Share, order: int, account: Account) -> tuple[dict[int, int], int]:
        """Give each set of `order` features a share of the weight of each CXp that contains it.

        Returns what each set, as a mask, gets as an integer, where that is not 0, and what these are divided by.
        """

    @abstractmethod
    def _family(self, budget: Budget | None) -> SetFamily: ...

    def family(self, budget: Budget | None = None) -> SetFamily:
        """Return the CXps as a family, which is made once, within a budget."""
        if "cxps" not in self._made:
            self._made["cxps"] = self._family(budget)
        return self._made["cxps"]

    def axps(self, budget: Budget | None = None) -> SetFamily:
        """Return the minimal hitting sets, likewise: if these are all CXps, they are the AXps."""
        if "axps" not in self._made:
            self._made["axps"] = self.axps_within(budget)
        return self._made["axps"]

    def axps_within(self, budget: Budget | None) -> SetFamily:
        """Return the minimal hitting sets, found within this budget even where they are known.

        So whether a budget suffices does not depend on what was asked before.
        """
        watch = Watch(budget)
        return self.family(budget).hitting_sets(budget=watch.rest())


@dataclass(frozen=True)
class ListedCxps(CxpSets):
    """CXps as feature masks; weight k is ``numerators[k] / denominator``."""

    masks: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int
    kind: str
    _made: dict[str, SetFamily] = field(default_factory=dict, init=False, repr=False, compare=False)
    dag = None

    @property
    def count(self) -> int:
        """The number of CXps."""
        return len(self.masks)

    @property
    def sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""
        return dict(sorted(Counter(map(int.bit_count, self.masks)).items()))

    @property
    def support(self) -> int:
        """The features that are in some CXp, as a mask."""
        return reduce(or_, self.masks, 0)

    @property
    def weights(self) -> dict[int, Fraction | int]:
        """The weight of each CXp: an int for counts and units, else a Fraction."""
        if self.kind == "ratio":
            return {m: Fraction(w, self.denominator) for m, w in zip(self.masks, self.numerators, strict=True)}
        return dict(zip(self.masks, self.numerators, strict=True))

    def listed(self, limit: int | None = None, *, account: Account | None = None) -> ListedCxps:
        """Return these."""
        return self

    def weight(self, mask: int) -> Fraction | int:
        """Return the weight of one of the CXps."""
        return self.weights[mask]

    def weight_met(self, mask: int) -> Fraction:
        """Return what the CXps weigh together that have a feature in `mask`."""
        met = sum(w for m, w in zip(self.masks, self.numerators, strict=True) if m & mask)
        return Fraction(met, self.denominator)

    def spread(self, share: Share, n_features: int, account: Account) -> tuple[list[int], int]:
        """Divide the weight of each CXp among its features (cost: linear in the total size of the CXps)."""
        part_of, common = parts_of_sizes(map(int.bit_count, self.masks), share)
        totals = [0] * n_features
        for mask, numerator in account.paced(zip(self.masks, self.numerators, strict=True)):
            part, rest = numerator * part_of[mask.bit_count()], mask
            while rest:  # feature by feature, from the lowest bit
                low = rest & -rest
                totals[low.bit_length() - 1] += part
                rest ^= low
        return totals, self.denominator * common

    def joint(self, share: Share, order: int, account: Account) -> tuple[dict[int, int], int]:
        """Give each set of features a share of each CXp (cost: CXps times the square of features, vectorised)."""
        large = [k for k, mask in enumerate(account.paced(self.masks)) if mask.bit_count() >= order]
        masks = [self.masks[k] for k in large]
        part_of, common = parts_of_sizes(map(int.bit_count, masks), share)
        weights = [self.numerators[k] * part_of[self.masks[k].bit_count()] for k in account.paced(large)]
        return joint_totals(masks, weights, order, account), self.denominator * common

    def _family(self, budget: Budget | None) -> SetFamily:
        return SetFamily.of(self.masks, budget=budget)


@dataclass(frozen=True, eq=False)
class DiagramCxps(CxpSets):
    """CXps as a family on a diagram, and as a DAG of their weights."""

    cxps: SetFamily
    dag: WeightedDag
    kind: str
    _made: dict[str, SetFamily] = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """The number of CXps."""
        return self.cxps.count

    @property
    def sizes(self) -> dict[int, int]:
        """The number of CXps of each size that occurs, smallest first."""
        return self.cxps.sizes

    @property
    def support(self) -> int:
        """The features that are in some CXp, as a mask."""
        return self.cxps.support

    def listed(self, limit: int | None = None, *, account: Account | None = None) -> ListedCxps | None:
        """Return the CXps one by one, which is done once (cost: the paths of the DAG)."""
        if self.count > (LISTED if limit is None else limit):
            return None
        if "_list" not in vars(self):
            vars(self)["_list"] = self._listed(account)
        return vars(self)["_list"]

    def _listed(self, account: Account | None) -> ListedCxps:
        totals: dict[int, int] = {}
        for mask, numerator in paced(self.dag.sets(), account):
            # Paths with one mask are different ways of changing the same features: disjoint, so they add up.
            totals[mask] = totals.get(mask, 0) + numerator
        most, whole = max(map(int.bit_count, totals), default=0), self.dag.whole
        masks = sorted_sets(totals)
        # A set of k features is over whole**k; lifted to the largest k, all have one denominator.
        scaled = tuple(totals[m] * whole ** (most - m.bit_count()) for m in paced(masks, account))
        return ListedCxps(tuple(masks), scaled, whole**most, self.kind)

    def weight(self, mask: int) -> Fraction | int:
        """Return the weight of one of the CXps (cost: linear in the DAG)."""
        weight = self.dag.weight(mask)
        return weight if self.kind == "ratio" else int(weight)

    def weight_met(self, mask: int) -> Fraction:
        """Return everything, less what the CXps weigh that have no feature in `mask`."""
        # Avoiding features only drops arcs of the DAG, while meeting one would be a state to carry along each path.
        return self._total - self.dag.total(avoiding=mask)

    @cached_property
    def _total(self) -> Fraction:
        return self.dag.total()

    def spread(self, share: Share, n_features: int, account: Account) -> tuple[list[int], int]:
        """Divide the weight of each CXp without listing one (cost: arcs times sizes)."""
        sizes = self.cxps.dag.numerators_within(account)
        part_of, common = parts_of_sizes(sizes, share)
        largest, whole = max(sizes, default=0), self.dag.whole
        scaled = {size: part * whole ** (largest - size) for size, part in part_of.items()}
        totals = self.dag.spread(scaled, account=account)
        return [totals.get(i, 0) for i in range(n_features)], common * whole**largest

    def joint(self, share: Share, order: int, account: Account) -> tuple[dict[int, int], int]:
        """Give each set of features a share of each CXp without listing one.

        A CXp contains a set iff it has its last feature and avoids no other, so by inclusion and exclusion a pass over
        the DAG for each set of fewer features is enough.
        """
        sizes = self.cxps.dag.numerators_within(account)
        part_of, common = parts_of_sizes((size for size in sizes if size >= order), share)
        largest, whole = max(sizes, default=0), self.dag.whole
        scaled = {size: part * whole ** (largest - size) for size, part in part_of.items()}
        found: dict[int, int] = {}
        members = features_of(self.support)
        for avoided in chain.from_iterable(combinations(members, k) for k in range(order)):
            totals = self.dag.avoiding(avoided).spread(scaled, account=account)
            account.look()
            for rest in combinations([i for i in members if i not in avoided], order - len(avoided)):
                # Each set is met once for each of its features in the place of the last: the largest one stands for it.
                last = max(rest)
                if not avoided or last > max(avoided):
                    mask = sum(1 << i for i in (*avoided, *rest))
                    found[mask] = found.get(mask, 0) + (-1) ** len(avoided) * totals.get(last, 0)
        return {mask: total for mask, total in found.items() if total}, common * whole**largest

    def _family(self, budget: Budget | None) -> SetFamily:
        return self.cxps


def joint_totals(masks: Sequence[int], weights: Sequence[int], order: int, account: Account) -> dict[int, int]:
    """Return for each set of `order` features the sum of the weights of the sets that contain it, where it is not 0.

    Notes
    -----
    For more than two features, pairs among the sets that contain the first ones.

    Examples
    --------
    >>> joint_totals([0b011, 0b111], [10**30, 1], 2, Account(None, goal="sums")) == {3: 10**30 + 1, 5: 1, 6: 1}
    True
    """
    if order == 2 and len(masks) > _FEW_TO_ADD:
        return _pair_totals(masks, weights, account)
    found: dict[int, int] = {}
    if order <= 2:
        for mask, weight in account.paced(zip(masks, weights, strict=True)):
            for chosen in combinations(features_of(mask), order):
                key = sum([1 << i for i in chosen])
                found[key] = found.get(key, 0) + weight
        return {mask: total for mask, total in found.items() if total}
    for i in features_of(reduce(or_, masks, 0)):
        above = ~((2 << i) - 1)
        inside = [(m & above, w) for m, w in zip(masks, weights, strict=True) if m >> i & 1]
        rest = joint_totals([m for m, _ in inside], [w for _, w in inside], order - 1, account)
        found |= {mask | 1 << i: total for mask, total in rest.items()}
    return found


def _pair_totals(masks: Sequence[int], weights: Sequence[int], account: Account) -> dict[int, int]:
    from axfi_kc.engines.joint_kernels import add_pairs

    n = reduce(or_, masks, 0).bit_length()
    row, member = np.nonzero(members_of_words(words_of_masks(masks, n), n))
    starts = np.searchsorted(row, np.arange(len(masks) + 1))
    # What is added to each weight so that none is negative; a last limb of 1 counts how often it was.
    shift = max(0, -min(weights))
    limbs = _limbs([w + shift for w in weights] if shift else weights)
    totals = np.zeros((n, n, limbs.shape[1]), dtype=np.uint64)
    account.look()
    add_pairs(starts, member, limbs, totals)
    account.look()
    found = {}
    for a, b in np.argwhere(totals[:, :, -1]).tolist():
        *low, count = totals[a, b].tolist()
        found[1 << a | 1 << b] = sum([limb << _LIMB * k for k, limb in enumerate(low)]) - shift * count
    return {mask: total for mask, total in found.items() if total}


def _limbs(weights: Sequence[int]) -> npt.NDArray[np.uint32]:
    """Return non-negative integers 32 bits at a time, lowest first, and a 1 after the highest."""
    width = _LIMB // 8 * (1 + max((w.bit_length() for w in weights), default=0) // _LIMB)
    one = (1).to_bytes(_LIMB // 8, "little")
    whole = b"".join([w.to_bytes(width, "little") + one for w in weights])
    return np.frombuffer(whole, dtype="<u4").astype(np.uint32).reshape(len(weights), -1)


def parts_of_sizes(sizes: Iterable[int], share: Share) -> tuple[dict[int, int], int]:
    """Return the share of a member of a CXp of each size as an integer, and what these are divided by."""
    return _parts_of_sizes(frozenset(sizes), share)


@lru_cache(maxsize=64)
def _parts_of_sizes(sizes: frozenset[int], share: Share) -> tuple[dict[int, int], int]:
    shares = {size: share(size) for size in sizes}
    # One denominator, so that sums are of integers: each sum of Fractions would take a gcd.
    common = lcm(*(part.denominator for part in shares.values()))
    return {size: part.numerator * (common // part.denominator) for size, part in shares.items()}, common


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found for a batch of instances: a sequence of :class:`CxpSets` over flat arrays.

    The weight of CXp k is ``totals[k] / (divisors[k] * prod(wholes[i] for i in CXp k))``.

    Attributes
    ----------
    outputs
        The model's output at each instance.
    starts
        The CXps of instance n are ``starts[n]:starts[n + 1]``, unless they are on a diagram, beside the arrays.
    words
        Each CXp as words of 64 features.
    totals
        Integers: int64 where every one fits, else Python ints, or rows of limbs (:mod:`axfi_kc.engines.limbs`).
    wholes
        One positive integer per feature.
    kind
        ``"ratio"``, ``"count"`` or ``"unit"``; only ratios are divided by anything.
    divisors
        One positive integer per CXp; None stands for ones.
    nodes
        Search nodes spent on each instance; None for an engine that does not search.
    radii
        Up to how many features the CXps of each instance are complete, where its budget ended before all that were
        asked for were found; None entries, and None altogether: all were.
    """

    outputs: Sequence[Hashable]
    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    totals: npt.NDArray[Any]
    wholes: tuple[int, ...]
    kind: str
    divisors: list[int] | None = None
    nodes: list[int] | None = None
    radii: list[int | None] | None = None
    _large: Mapping[int, CxpSets] = field(default_factory=dict)

    @classmethod
    def of_instances(
        cls,
        outputs: Sequence[Hashable],
        weighed: Sequence[tuple[Sequence[int], Sequence[int]] | CxpSets],
        *,
        wholes: tuple[int, ...],
        kind: str,
        nodes: list[int] | None = None,
        radii: list[int | None] | None = None,
    ) -> Found:
        """Return what was found one instance at a time: masks and their totals, or CXps on a diagram."""
        large = {n: found for n, found in enumerate(weighed) if isinstance(found, CxpSets)}
        pairs = [((), ()) if isinstance(found, CxpSets) else found for found in weighed]
        masks = [mask for found, _ in pairs for mask in found]
        totals = [total for _, found in pairs for total in found]
        narrow = prod(wholes) < _INT64 and max(totals, default=0) < _INT64
        return cls(
            outputs=outputs,
            starts=np.array([*accumulate((len(found) for found, _ in pairs), initial=0)], dtype=np.int64),
            words=words_of_masks(masks, len(wholes)),
            totals=np.array(totals, dtype=np.int64 if narrow else object),
            wholes=wholes,
            kind=kind,
            nodes=nodes,
            radii=radii,
            _large=large,
        )

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """Return several batches of one engine, at least one, as one."""
        if len(parts) == 1:
            return parts[0]
        shifts = np.cumsum([0, *(len(p.totals) for p in parts)])
        starts = [p.starts[:-1] + shift for p, shift in zip(parts, shifts, strict=False)]
        divided = any(p.divisors is not None for p in parts)
        firsts = accumulate(map(len, parts), initial=0)
        return cls(
            outputs=[y for p in parts for y in p.outputs],
            starts=np.concatenate([*starts, shifts[-1:]]),
            words=np.concatenate([p.words for p in parts]),
            totals=_joined_totals([p.totals for p in parts]),
            wholes=parts[0].wholes,
            kind=parts[0].kind,
            divisors=[d for p in parts for d in p.divisors or [1] * len(p.totals)] if divided else None,
            nodes=None if parts[0].nodes is None else [n for p in parts for n in p.nodes or []],
            radii=None if all(p.is_complete for p in parts) else [p.radius(n) for p in parts for n in range(len(p))],
            _large={n + k: sets for p, k in zip(parts, firsts, strict=False) for n, sets in p._large.items()},
        )

    @classmethod
    def beside(
        cls,
        listed: Found | None,
        large: Mapping[int, CxpSets],
        outputs: Sequence[Hashable],
        *,
        n_features: int,
        kind: str,
    ) -> Found:
        """Return a batch of which some instances, by number, are not among those `listed`; None: all are not."""
        numbers = np.zeros(len(outputs), dtype=np.int64)
        if listed is None:
            none = np.empty((0, -(-n_features // _WORD)), dtype=np.uint64), np.empty(0, dtype=object)
            starts = np.cumsum([0, *numbers])
            return cls(outputs, starts, *none, (1,) * n_features, kind, _large=large)
        numbers[[n for n in range(len(outputs)) if n not in large]] = np.diff(listed.starts)
        return replace(listed, outputs=outputs, starts=np.cumsum([0, *numbers]), _large=large)

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[CxpSets]:
        """Iterate over the instances' CXps."""
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, instance: int) -> CxpSets:
        """Return the CXps of one instance."""
        if instance in self._large:
            return self._large[instance]
        a, b = int(self.starts[instance]), int(self.starts[instance + 1])
        numerators, denominators = self.scaled
        masks = masks_of_words(self.words[a:b])
        return ListedCxps(tuple(masks), tuple(numerators[a:b]), denominators[instance], self.kind)

    def radius(self, instance: int) -> int | None:
        """Return up to how many features the CXps of an instance are complete; None: all that were asked for."""
        return None if self.radii is None else self.radii[instance]

    @property
    def is_complete(self) -> bool:
        """Whether no budget ended before all CXps that were asked for were found."""
        return self.radii is None or all(radius is None for radius in self.radii)

    @property
    def unlisted(self) -> Mapping[int, CxpSets]:
        """The CXps of the instances, by number, that are beside the arrays."""
        return self._large

    @property
    def counts(self) -> list[int]:
        """The number of CXps of each instance."""
        found = (self.starts[1:] - self.starts[:-1]).tolist()
        for n, sets in self._large.items():
            found[n] = sets.count
        return found

    @property
    def relevant(self) -> list[int]:
        """The features that are in some CXp."""
        beside = words_of_masks([sets.support for sets in self._large.values()], len(self.wholes))
        every = np.concatenate([self.members, members_of_words(beside, len(self.wholes))])
        return np.flatnonzero(every.any(axis=0)).tolist()

    @cached_property
    def members(self) -> npt.NDArray[np.bool_]:
        """Tell for each CXp and each feature whether it is a member."""
        return members_of_words(self.words, len(self.wholes))

    @property
    def listed_totals(self) -> list[int]:
        """The totals as Python integers."""
        return integers_of(self.totals) if self.totals.ndim == 2 else self.totals.tolist()

    @cached_property
    def features(self) -> list[list[int]]:
        """The features of each CXp."""
        if len(self.words) <= _FEW_TO_SPLIT:
            return [list(features_of(mask)) for mask in masks_of_words(self.words)]
        return features_of_members(self.members)

    @cached_property
    def scaled(self) -> tuple[list[int], list[int]]:
        """The CXps' weights as integers, and what those of each instance are divided by."""
        return self._scaled(None)

    def scale(self, account: Account) -> None:
        """Make `scaled` now, held to the budget of an account."""
        if "scaled" not in vars(self):
            vars(self)["scaled"] = self._scaled(account)

    def up_to(self, radius: int | None) -> Found:
        """Return the same CXps of one instance, marked as complete up to so many features; None: as all there are."""
        made = replace(self, radii=[radius])
        if "scaled" in vars(self):  # within a budget that is spent by now
            vars(made)["scaled"] = self.scaled
        return made

    def _scaled(self, account: Account | None) -> tuple[list[int], list[int]]:
        if self.kind != "ratio":
            return self.listed_totals, [1] * len(self)
        wholes = self.wholes
        divided = any(w != 1 for w in wholes)
        features: Sequence[Sequence[int]] = self.features if divided else ()
        numerators, denominators, totals = [], [], self.listed_totals
        for a, b in pairwise(self.starts.tolist()):
            own, divisor = totals[a:b], 1
            if self.divisors is not None:
                own, divisor = _over_one_divisor(own, self.divisors[a:b], account)
            # Over the features of this instance's CXps and not all, which keeps the integers short.
            whole = prod([wholes[i] for i in set().union(*features[a:b])])
            denominators.append(divisor * whole)
            if divided:
                pairs = paced(zip(own, features[a:b], strict=True), account)
                own = [t * (whole // prod([wholes[i] for i in mine])) for t, mine in pairs]
            numerators += own
        return numerators, denominators

    def mean(self, share: Share) -> Numerators:
        """Return for each feature the mean, over the CXps of each instance, of what `share` gives it of their weights.

        Notes
        -----
        Vectorised in int64 where a bound shows that nothing can overflow, else in kernels for integers of any width;
        in Python integers where each CXp is divided by something else.
        """
        numerators, denominators = self.spread(share)
        # Without CXps n is 0 and so is every numerator: the scores are 0, not 0/0.
        return numerators, [whole * (n or 1) for whole, n in zip(denominators, self.counts, strict=True)]

    def mean_fractions(self, share: Share) -> npt.NDArray[np.object_]:
        """Return :meth:`mean` as Fractions, made without its integers where kernels can do that."""
        parts, common = self._shares(share)
        if self._large or not self._is_in_limbs(parts):
            return fractions_of(*self.mean(share))
        counts = np.diff(self.starts)
        is_short = common * int(counts.max(initial=1)) < _INT64
        divisors = _short_limbs(counts * common) if is_short else limbs_of([common * n for n in counts.tolist()])
        place, tops, bottoms = self._means(parts, divisors)
        found = np.full(len(self) * len(self.wholes), _ZERO, dtype=object)
        # Not of a list, whose entries NumPy would ask whether they are arrays.
        found[place] = np.fromiter(_fractions(tops, bottoms), dtype=object, count=len(place))
        return found.reshape(len(self), len(self.wholes))

    def mean_floats(self, share: Share) -> npt.NDArray[np.float64]:
        """Return the floats nearest to :meth:`mean`, likewise."""
        parts, common = self._shares(share)
        if self._large or common > _WHOLE or not self._is_in_limbs(parts):
            return nearest_floats(*self.mean(share))
        from axfi_kc.engines import limb_kernels

        task = (self.starts, self.words, self._total_limbs, *_as_floats(self._divided), parts, float(common))
        found = np.zeros((len(self), len(self.wholes)))
        if limb_kernels.mean_floats(*task, found):
            # Too near the middle between two floats for the kernel: Python divides integers, which is never unsure.
            unsure = np.flatnonzero(np.isnan(found).any(axis=1))
            numerators, denominators = self.mean(share)
            found[unsure] = nearest_floats(numerators[unsure], [denominators[n] for n in unsure.tolist()])
        return found

    @cached_property
    def _sizes(self) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
        """The size of each CXp, and the sizes that there are."""
        sizes = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        return sizes, tuple(np.flatnonzero(np.bincount(sizes)).tolist())

    def _shares(self, share: Share) -> tuple[npt.NDArray[Any], int]:
        """Return for each CXp what `share` gives a member as an integer, and what these are divided by."""
        sizes, distinct = self._sizes
        table, common = _table_of_parts(distinct, share)
        return table[sizes], common

    def _is_listed(self) -> bool:
        return self.divisors is not None or self.totals.dtype == object

    def _is_narrow(self, common: int) -> bool:
        """Tell whether all sums fit into int64."""
        if self._is_listed() or self.totals.ndim == 2:
            return False
        most = int(self.totals.max(initial=0)) if self.kind == "count" else 1
        # No weight is more than `most`, and no instance has more CXps than this, so no sum is more than the product.
        return prod(self.wholes) * common * most * int(np.diff(self.starts).max(initial=1)) < _INT64

    def _is_in_limbs(self, parts: npt.NDArray[Any]) -> bool:
        """Tell whether kernels can add up: totals are, or can be, rows of limbs, and shares fit into one."""
        fits = parts.dtype == np.uint64 and int(parts.max(initial=0)) >> _LIMB == 0
        return fits and not self._is_listed()

    def spread(self, share: Share) -> Numerators:
        """Divide the weight of each CXp of each instance among its features; see :meth:`CxpSets.spread`."""
        parts, common = self._shares(share)
        if self._is_narrow(common):
            numerators, denominators = self._narrow_spread(parts, common)
        elif self._is_in_limbs(parts):
            numerators, denominators = self._wide_spread(parts, common)
        else:
            numerators, denominators = self._listed_spread(parts, common)
        if self._large:
            numerators, account = numerators.astype(object), Account(None, goal="score")
        for n, sets in self._large.items():
            numerators[n], denominators[n] = sets.spread(share, len(self.wholes), account)
        return numerators, denominators

    @cached_property
    def _raised(self) -> npt.NDArray[np.int64]:
        """The totals over one denominator, the product of all wholes, where that fits into int64."""
        return self.totals * np.where(self.members, 1, np.array(self.wholes, dtype=np.int64)).prod(axis=1)

    def _narrow_spread(self, parts: npt.NDArray[Any], common: int) -> Numerators:
        given = self.members * (self._raised * parts.astype(np.int64))[:, np.newaxis]
        found = np.zeros((len(self), len(self.wholes)), dtype=np.int64)
        some = np.flatnonzero(np.diff(self.starts))  # `reduceat` gives an empty span the entry that it begins at
        if len(some):
            found[some] = np.add.reduceat(given, self.starts[some], axis=0)
        return found, [prod(self.wholes) * common] * len(self)

    @property
    def _divided(self) -> tuple[int, ...]:
        """What weights are divided by, per feature."""
        return self.wholes if self.kind == "ratio" else (1,) * len(self.wholes)

    @property
    def _total_limbs(self) -> Limbs:
        return self.totals if self.totals.ndim == 2 else _short_limbs(self.totals)

    def _means(
        self, parts: npt.NDArray[np.uint64], divisors: Limbs
    ) -> tuple[npt.NDArray[np.int64], list[int], list[int]]:
        """Return what each relevant feature of each instance gets, in parts over the instance's divisor.

        That is: where it stands in a table of instances and features, its numerators, and its denominators.
        """
        from axfi_kc.engines import limb_kernels

        totals, (wholes, lengths) = self._total_limbs, _as_limbs(self._divided)
        # A product has no more bits than its factors together; kernels write as many limbs as these have.
        below = limbs_for(int(lengths.sum())) + wholes.shape[1] + divisors.shape[1]
        above = below + totals.shape[1] + limbs_for(_LIMB + len(totals).bit_length())
        scratch = [np.empty(shape, np.uint32) for shape in (above + wholes.shape[1], (1, above), below)]
        union = np.empty((1, self.words.shape[1]), np.uint64)
        most = int(self._sizes[0].sum())  # a feature of an instance is in a CXp
        place, spans, shorts = np.empty(most, np.int64), np.empty((3, most), np.int64), np.empty((2, most), np.int64)
        limbs = np.empty(2 * len(self.wholes) * (above + below), np.uint32)
        task = (self.starts, self.words, totals, wholes, lengths, parts, divisors, tuple(scratch), union)
        n, n_entries, n_limbs = 0, 0, 0
        while True:
            found = limb_kernels.means(*task, n, place, spans, shorts, limbs, (n_entries, n_limbs))
            n, n_entries, n_limbs = found
            if n == len(self):
                break
            limbs = np.concatenate([limbs, np.empty_like(limbs)])
        tops, bottoms = shorts[:, :n_entries].tolist()
        _lengthen(tops, bottoms, shorts[1, :n_entries], spans, limbs[:n_limbs])
        return place[:n_entries], tops, bottoms

    def _wide_spread(self, parts: npt.NDArray[np.uint64], common: int) -> Numerators:
        place, tops, bottoms = self._means(parts, np.ones((len(self), 1), np.uint32))
        relevant = members_of_words(_unions(self.starts, self.words), len(self.wholes))
        wholes = [prod([self._divided[i] for i in mine]) for mine in features_of_members(relevant)]
        owner = (place // len(self.wholes)).tolist()
        # What was reduced is over a divisor of the product of the wholes.
        lifted = [t * (wholes[n] // d) for n, t, d in zip(owner, tops, bottoms, strict=True)]
        numerators = np.zeros(relevant.size, dtype=object)
        numerators[place] = lifted
        return numerators.reshape(relevant.shape), [whole * common for whole in wholes]

    def _listed_spread(self, parts: npt.NDArray[Any], common: int) -> Numerators:
        weights, denominators = self.scaled
        n_features = len(self.wholes)
        row, feature = np.nonzero(self.members)
        cell = np.repeat(np.arange(len(self)), np.diff(self.starts))[row] * n_features + feature
        order = np.argsort(cell, kind="stable")
        cells, first = np.unique(cell[order], return_index=True)
        numerators = np.zeros(len(self) * n_features, dtype=object)
        if len(cells):
            own = np.array(weights, dtype=object) * parts.astype(object)
            numerators[cells] = np.add.reduceat(own[row[order]], first)
        return numerators.reshape(len(self), n_features), [whole * common for whole in denominators]


def _over_one_divisor(totals: list[int], divisors: list[int], account: Account | None) -> tuple[list[int], int]:
    """Return quotients as integers over a common divisor."""
    common = reduce(lcm, paced({*divisors}, account), 1)
    lifts = {d: common // d for d in paced({*divisors}, account)}
    return [t * lifts[d] for t, d in paced(zip(totals, divisors, strict=True), account)], common


def fractions_of(numerators: npt.NDArray[Any], denominators: Sequence[int]) -> npt.NDArray[np.object_]:
    """Return ``numerators[n, i] / denominators[n]`` as Fractions, of numerators that are not negative.

    Examples
    --------
    >>> fractions_of(np.array([[2, 0]]), [4]).tolist()
    [[Fraction(1, 2), Fraction(0, 1)]]
    """
    found = np.full(numerators.shape, _ZERO, dtype=object)  # as most are, since most features are in no CXp
    given = np.nonzero(numerators)
    if numerators.dtype == np.int64 and max(denominators, default=0) < _INT64:
        found[given] = _reduced(numerators[given], np.array(denominators, dtype=np.int64)[given[0]])
    else:
        pairs = zip(numerators[given].tolist(), given[0].tolist(), strict=True)
        found[given] = [Fraction(t, denominators[n]) for t, n in pairs]
    return found


def _lengthen(
    tops: list[int],
    bottoms: list[int],
    shorts: npt.NDArray[np.int64],
    spans: npt.NDArray[np.int64],
    limbs: Limbs,
) -> None:
    """Put what is too long for a word, whose short denominator is 0, into lists of reduced fractions."""
    long = np.flatnonzero(shorts == 0)
    data = limbs.astype("<u4", copy=False).tobytes()
    for k, (start, above, below) in zip(long.tolist(), (4 * spans[:, long].T).tolist(), strict=True):
        top = int.from_bytes(data[start : start + above], "little")
        bottom = int.from_bytes(data[start + above : start + above + below], "little")
        common = gcd(top, bottom)
        tops[k], bottoms[k] = top // common, bottom // common


def _reduced(numerators: npt.NDArray[np.int64], denominators: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
    """Return positive fractions; NumPy reduces them."""
    common = np.gcd(numerators, denominators)
    found = _fractions((numerators // common).tolist(), (denominators // common).tolist())
    # Not of a list, whose entries NumPy would ask whether they are arrays.
    return np.fromiter(found, dtype=object, count=len(common))


def _fractions(numerators: list[int], denominators: list[int]) -> list[Fraction]:
    """Return fractions that are reduced, without the look that their constructor takes, and no call in Python each."""
    found = list(map(_new, repeat(Fraction, len(numerators))))
    deque(map(_set_numerator, found, numerators), maxlen=0)
    deque(map(_set_denominator, found, denominators), maxlen=0)
    return found


def nearest_floats(numerators: npt.NDArray[Any], denominators: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return the floats nearest to ``numerators[n, i] / denominators[n]``: correctly rounded, without a Fraction.

    Examples
    --------
    >>> nearest_floats(np.array([[1, 0], [2, 3]]), [4, 3]).tolist()
    [[0.25, 0.0], [0.6666666666666666, 1.0]]
    """
    if numerators.dtype == np.int64 and max(int(numerators.max(initial=0)), *denominators, 0) <= _WHOLE:
        # These are floats themselves, so that dividing is all that rounds.
        return numerators / np.array(denominators, dtype=np.float64)[:, np.newaxis]
    found = np.zeros(numerators.shape)
    rows, columns = np.nonzero(numerators)
    # Python divides integers of any length and rounds once.
    pairs = zip(numerators[rows, columns].tolist(), rows.tolist(), strict=True)
    found[rows, columns] = [t / denominators[n] for t, n in pairs]
    return found


def _joined_totals(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return totals one after the other; rows of limbs must be of one width for that, and become integers elsewhere."""
    if len({totals.shape[1:] for totals in parts}) == 1:
        return np.concatenate(parts)
    found = [t for totals in parts for t in (integers_of(totals) if totals.ndim == 2 else totals.tolist())]
    joined = np.empty(len(found), dtype=object)
    joined[:] = found
    return joined


@lru_cache(maxsize=64)
def _table_of_parts(sizes: tuple[int, ...], share: Share) -> tuple[npt.NDArray[Any], int]:
    """Return :func:`parts_of_sizes` as an array, by size."""
    part_of, common = parts_of_sizes(sizes, share)
    table = np.zeros(max(part_of, default=0) + 1, dtype=np.uint64 if common < _INT64 else object)
    for size, part in part_of.items():
        table[size] = part
    return table, common


def _short_limbs(integers: npt.NDArray[np.int64]) -> Limbs:
    """Return non-negative integers of a word as rows of two limbs."""
    return np.ascontiguousarray(integers, dtype="<i8").view("<u4").astype(np.uint32, copy=False).reshape(-1, 2)


@lru_cache(maxsize=16)
def _as_limbs(wholes: tuple[int, ...]) -> tuple[Limbs, npt.NDArray[np.int64]]:
    """Return positive integers as rows of limbs, and how many bits each has."""
    return limbs_of(wholes), np.array(list(map(int.bit_length, wholes)), dtype=np.int64)


@lru_cache(maxsize=16)
def _as_floats(wholes: tuple[int, ...]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return positive integers as sums of two floats, a row each, and by which power of 2 to multiply these.

    Together two floats hold the first 106 bits.
    """
    powers = [whole.bit_length() - 1 for whole in wholes]
    high = [whole / (1 << power) for whole, power in zip(wholes, powers, strict=True)]
    rest = [Fraction(whole, 1 << power) - Fraction(h) for whole, power, h in zip(wholes, powers, high, strict=True)]
    return np.array([high, list(map(float, rest))]).T.copy(), np.array(powers, dtype=np.int64)


def _unions(starts: npt.NDArray[np.int64], words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return for each instance the features of its CXps together, as words."""
    found = np.zeros((len(starts) - 1, words.shape[1]), np.uint64)
    some = np.flatnonzero(np.diff(starts))  # `reduceat` gives an empty span the entry that it begins at
    if len(some):
        found[some] = np.bitwise_or.reduceat(words, starts[some], axis=0)
    return found


def check_countable(found: Found, features: Sequence[Feature]) -> None:
    """Raise if counts were asked for and some CXp contains a real feature."""
    if found.kind != "count" or not any(isinstance(f, Real) for f in features):
        return
    met = [i for i in found.relevant if isinstance(features[i], Real)]
    if met:
        raise WeightError(
            f"weights='count' needs discrete features, but {features[met[0]].name!r}, which is real, is in a CXp; "
            "use weights='ratio', or declare the feature integer."
        )


def members_of_words(words: npt.NDArray[np.uint64], n_features: int) -> npt.NDArray[np.bool_]:
    """Tell for each set, given as words of 64 bits, and each feature whether it is a member."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_features].astype(np.bool_)


def features_of_members(members: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Return the features of each set, given as a row of flags."""
    row, feature = np.nonzero(members)
    ends, flat = (np.searchsorted(row, np.arange(len(members) + 1)).tolist(), feature.tolist())
    return [flat[a:b] for a, b in pairwise(ends)]


def masks_of_words(words: npt.NDArray[np.uint64]) -> list[int]:
    """Return feature sets given as words of 64 bits as Python ints."""
    columns = [column.tolist() for column in words.T]
    if len(columns) == 1:
        return columns[0]
    return [sum(word << _WORD * k for k, word in enumerate(row)) for row in zip(*columns, strict=True)]


def words_of_masks(masks: Iterable[int], n_features: int) -> npt.NDArray[np.uint64]:
    """Return feature sets given as Python ints as rows of words of 64 bits."""
    width = -(-n_features // _WORD)
    if width == 1:
        return np.array(list(masks), dtype=np.uint64).reshape(-1, 1)
    rows = [[mask >> _WORD * k & (1 << _WORD) - 1 for k in range(width)] for mask in masks]
    return np.array(rows, dtype=np.uint64).reshape(len(rows), width)
