"""What every engine returns: the CXps of instances with their weights, listed or on a diagram when they are many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from math import lcm, prod
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, Watch, paced
from axfi_kc.domain.features import Feature, Real
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import WeightError
from axfi_kc.families import SetFamily, WeightedDag
from axfi_kc.families.masks import sorted_sets

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
    "masks_of_words",
    "members_of_words",
    "words_of_masks",
]


WEIGHTS = ("ratio", "count", "unit")
LISTED = 100_000  # users get a family of more sets as a view
_WORD = 64
_INT64 = 2**63

Share = Callable[[int], Fraction]
"""What each member of a CXp of so many features gets of its weight."""

Numerators = tuple[npt.NDArray[Any], list[int]]
"""A number per instance and feature: ``numerators[n, i] / denominators[n]``, exactly."""

Located = tuple[Any, list[Any]]
"""Where instances lie, a row each as the engine wants it (most: their cells), and the outputs there."""


def check_weights(kind: str) -> None:
    """Raise unless `kind` names a kind of weight."""
    if kind not in WEIGHTS:
        raise WeightError(f"weights must be one of {', '.join(map(repr, WEIGHTS))}, but {kind!r} was given.")


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
    def _family(self, budget: Budget | None) -> SetFamily: ...

    def family(self, budget: Budget | None = None) -> SetFamily:
        """Return the CXps as a family, which is made once, within a budget."""
        if "cxps" not in self._made:
            self._made["cxps"] = self._family(budget)
        return self._made["cxps"]

    def axps(self, budget: Budget | None = None) -> SetFamily:
        """Return the minimal hitting sets, likewise: if these are all CXps, they are the AXps."""
        if "axps" not in self._made:
            watch = Watch(budget)
            self._made["axps"] = self.family(budget).hitting_sets(budget=watch.rest())
        return self._made["axps"]


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
        part_of, common = _parts(map(int.bit_count, self.masks), share)
        totals = [0] * n_features
        for mask, numerator in account.paced(zip(self.masks, self.numerators, strict=True)):
            part, rest = numerator * part_of[mask.bit_count()], mask
            while rest:  # feature by feature, from the lowest bit
                low = rest & -rest
                totals[low.bit_length() - 1] += part
                rest ^= low
        return totals, self.denominator * common

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
        part_of, common = _parts(sizes, share)
        largest, whole = max(sizes, default=0), self.dag.whole
        scaled = {size: part * whole ** (largest - size) for size, part in part_of.items()}
        totals = self.dag.spread(scaled, account=account)
        return [totals.get(i, 0) for i in range(n_features)], common * whole**largest

    def _family(self, budget: Budget | None) -> SetFamily:
        return self.cxps


def _parts(sizes: Iterable[int], share: Share) -> tuple[dict[int, int], int]:
    """Return the share of a member of a CXp of each size as an integer, and what these are divided by."""
    shares = {size: share(size) for size in set(sizes)}
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
        Integers: int64 where every one fits, else Python ints.
    wholes
        One positive integer per feature.
    kind
        ``"ratio"``, ``"count"`` or ``"unit"``; only ratios are divided by anything.
    divisors
        One positive integer per CXp; None stands for ones.
    nodes
        Search nodes spent on each instance; None for an engine that does not search.
    """

    outputs: Sequence[Hashable]
    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    totals: npt.NDArray[Any]
    wholes: tuple[int, ...]
    kind: str
    divisors: list[int] | None = None
    nodes: list[int] | None = None
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
    ) -> Found:
        """Return what was found one instance at a time: masks and their totals, or CXps on a diagram."""
        large = {n: found for n, found in enumerate(weighed) if isinstance(found, CxpSets)}
        pairs = [((), ()) if isinstance(found, CxpSets) else found for found in weighed]
        masks = [mask for found, _ in pairs for mask in found]
        totals = [total for _, found in pairs for total in found]
        narrow = prod(wholes) < _INT64 and max(totals, default=0) < _INT64
        return cls(
            outputs=outputs,
            starts=np.cumsum([0, *(len(found) for found, _ in pairs)]),
            words=words_of_masks(masks, len(wholes)),
            totals=np.array(totals, dtype=np.int64 if narrow else object),
            wholes=wholes,
            kind=kind,
            nodes=nodes,
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
            totals=np.concatenate([p.totals for p in parts]),
            wholes=parts[0].wholes,
            kind=parts[0].kind,
            divisors=[d for p in parts for d in p.divisors or [1] * len(p.totals)] if divided else None,
            nodes=None if parts[0].nodes is None else [n for p in parts for n in p.nodes or []],
            _large={n + k: sets for p, k in zip(parts, firsts, strict=False) for n, sets in p._large.items()},
        )

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

    @property
    def counts(self) -> list[int]:
        """The number of CXps of each instance."""
        found = np.diff(self.starts).tolist()
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

    @cached_property
    def scaled(self) -> tuple[list[int], list[int]]:
        """The CXps' weights as integers, and what those of each instance are divided by."""
        return self._scaled(None)

    def scale(self, account: Account) -> None:
        """Make `scaled` now, held to the budget of an account."""
        vars(self).setdefault("scaled", self._scaled(account))

    def _scaled(self, account: Account | None) -> tuple[list[int], list[int]]:
        if self.kind != "ratio":
            return self.totals.tolist(), [1] * len(self)
        wholes = self.wholes
        divided = any(w != 1 for w in wholes)
        features: Sequence[Sequence[int]] = features_of_members(self.members) if divided else ()
        divisors = self.divisors or [1] * len(self.totals)
        numerators, denominators, totals = [], [], self.totals.tolist()
        for a, b in pairwise(self.starts.tolist()):
            distinct = set(divisors[a:b])
            divisor = lcm(*distinct)
            missing = {d: divisor // d for d in distinct}
            own = [t * missing[d] for t, d in zip(totals[a:b], divisors[a:b], strict=True)]
            union = set().union(*features[a:b])
            # Over the features of this instance's CXps and not all, which keeps the integers short.
            denominators.append(divisor * prod([wholes[i] for i in union]))
            if divided:
                rests = (union.difference(mine) for mine in paced(features[a:b], account))
                own = [t * prod([wholes[i] for i in rest]) for t, rest in zip(own, rests, strict=True)]
            numerators += own
        return numerators, denominators

    def spread(self, share: Share) -> Numerators:
        """Divide the weight of each CXp of each instance among its features; see :meth:`CxpSets.spread`.

        Notes
        -----
        Vectorised in int64 where a bound shows that nothing can overflow, else in Python integers.
        """
        sizes = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        part_of, common = _parts(sizes.tolist(), share)
        parts = np.array([part_of[s] for s in sizes.tolist()], dtype=object)
        most = max(map(int, self.totals), default=0) if self.kind == "count" else 1
        # No weight is more than `most`, and no instance has more CXps than this, so no sum is more than the product.
        bound = prod(self.wholes) * common * most * int(np.diff(self.starts).max(initial=1))
        if self.divisors is not None or self.totals.dtype == object or bound >= _INT64:
            numerators, denominators = self._wide_spread(parts, common)
        else:
            numerators, denominators = self._narrow_spread(parts, common)
        if self._large:
            numerators, account = numerators.astype(object), Account(None, goal="score")
        for n, sets in self._large.items():
            numerators[n], denominators[n] = sets.spread(share, len(self.wholes), account)
        return numerators, denominators

    def _narrow_spread(self, parts: npt.NDArray[np.object_], common: int) -> Numerators:
        outside = np.where(self.members, 1, np.array(self.wholes, dtype=np.int64)).prod(axis=1)
        weights = self.totals * outside * parts.astype(np.int64)
        below = np.zeros((len(parts) + 1, len(self.wholes)), dtype=np.int64)
        # The running sum over all instances may wrap round, as the bound is for one instance; differences are right
        # modulo 2**64 all the same, and the bound says that they fit.
        np.cumsum(self.members * weights[:, np.newaxis], axis=0, out=below[1:])
        return below[self.starts[1:]] - below[self.starts[:-1]], [prod(self.wholes) * common] * len(self)

    def _wide_spread(self, parts: npt.NDArray[np.object_], common: int) -> Numerators:
        weights, denominators = self.scaled
        n_features = len(self.wholes)
        row, feature = np.nonzero(self.members)
        cell = np.repeat(np.arange(len(self)), np.diff(self.starts))[row] * n_features + feature
        order = np.argsort(cell, kind="stable")
        cells, first = np.unique(cell[order], return_index=True)
        numerators = np.zeros(len(self) * n_features, dtype=object)
        if len(cells):
            own = np.array(weights, dtype=object) * parts
            numerators[cells] = np.add.reduceat(own[row[order]], first)
        return numerators.reshape(len(self), n_features), [whole * common for whole in denominators]


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
    rows = [[mask >> _WORD * k & (1 << _WORD) - 1 for k in range(width)] for mask in masks]
    return np.array(rows, dtype=np.uint64).reshape(len(rows), width)
