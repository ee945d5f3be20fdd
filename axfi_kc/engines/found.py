"""What every engine returns: weighted sets of features, as integers, or as diagrams when there are too many."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, paced
from axfi_kc.domain.features import Feature, Real
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import WeightError
from axfi_kc.families import SetFamily, WeightedDag
from axfi_kc.families.masks import features_of, sorted_sets

__all__ = [
    "LISTED",
    "WEIGHTS",
    "Found",
    "SymbolicSets",
    "WeightedSets",
    "cell_worths",
    "check_countable",
    "check_weights",
    "features_of_members",
    "listed_unless_many",
    "masks_of_words",
    "members_of_words",
    "words_of_masks",
]


WEIGHTS = ("ratio", "count", "unit")
LISTED = 100_000  # users get a family of more sets as a view
_WORD = 64
_INT64 = 2**63


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


@dataclass(frozen=True, slots=True)
class WeightedSets:
    """The CXps of one instance as feature masks; weight k is ``numerators[k] / denominator``."""

    masks: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int
    kind: str

    @property
    def weights(self) -> dict[int, Fraction | int]:
        """The weight of each set: an int for counts and units, else a Fraction."""
        if self.kind == "ratio":
            return {m: Fraction(w, self.denominator) for m, w in zip(self.masks, self.numerators, strict=True)}
        return dict(zip(self.masks, self.numerators, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class SymbolicSets:
    """The CXps of one instance when there are many.

    Attributes
    ----------
    family
        The CXps.
    dag
        The same with their weights; each path is a CXp and a way of changing its features.
    kind
        ``"ratio"``, ``"count"`` or ``"unit"``.
    """

    family: SetFamily
    dag: WeightedDag
    kind: str

    def listed(self, *, account: Account | None = None) -> WeightedSets:
        """Return the CXps one by one (cost: the paths of the DAG)."""
        totals: dict[int, int] = {}
        for mask, numerator in paced(self.dag.sets(), account):
            totals[mask] = totals.get(mask, 0) + numerator
        most, whole = max(map(int.bit_count, totals), default=0), self.dag.whole
        masks = sorted_sets(totals)
        scaled = tuple(totals[m] * whole ** (most - m.bit_count()) for m in paced(masks, account))
        return WeightedSets(tuple(masks), scaled, whole**most, self.kind)


def listed_unless_many(found: WeightedSets | SymbolicSets, most: int, account: Account) -> WeightedSets | SymbolicSets:
    """Return the CXps one by one, except when there are more than `most`."""
    if isinstance(found, SymbolicSets) and found.family.count <= most:
        return found.listed(account=account)
    return found


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found for a batch of instances, flat.

    The weight of CXp k is ``totals[k] / (divisors[k] * prod(wholes[i] for i in CXp k))``.

    Attributes
    ----------
    outputs
        The model's output at each instance.
    starts
        The CXps of instance n are ``starts[n]:starts[n + 1]``.
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
    large
        The CXps of the instances that have many; these have none in the arrays.
    """

    outputs: Sequence[Hashable]
    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    totals: npt.NDArray[Any]
    wholes: tuple[int, ...]
    kind: str
    divisors: list[int] | None = None
    nodes: list[int] | None = None
    large: Mapping[int, SymbolicSets] = field(default_factory=dict)

    @classmethod
    def of_instances(
        cls,
        outputs: Sequence[Hashable],
        weighed: Sequence[tuple[Sequence[int], Sequence[int]]],
        *,
        wholes: tuple[int, ...],
        kind: str,
        nodes: list[int] | None = None,
        large: Mapping[int, SymbolicSets] | None = None,
    ) -> Found:
        """Return what was found one instance at a time: per instance, masks and their totals."""
        masks = [mask for found, _ in weighed for mask in found]
        totals = [total for _, found in weighed for total in found]
        narrow = prod(wholes) < _INT64 and max(totals, default=0) < _INT64
        return cls(
            outputs=outputs,
            starts=np.cumsum([0, *(len(found) for found, _ in weighed)]),
            words=words_of_masks(masks, len(wholes)),
            totals=np.array(totals, dtype=np.int64 if narrow else object),
            wholes=wholes,
            kind=kind,
            nodes=nodes,
            large=large or {},
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
            large={n + k: sets for p, k in zip(parts, firsts, strict=False) for n, sets in p.large.items()},
        )

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self.starts) - 1

    def sets(self, instance: int) -> WeightedSets | SymbolicSets:
        """Return the CXps of one instance."""
        if instance in self.large:
            return self.large[instance]
        a, b = int(self.starts[instance]), int(self.starts[instance + 1])
        numerators, denominators = self.scaled
        return WeightedSets(
            tuple(masks_of_words(self.words[a:b])), tuple(numerators[a:b]), denominators[instance], self.kind
        )

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
            denominators.append(divisor * prod([wholes[i] for i in union]))
            if divided:
                rests = (union.difference(mine) for mine in paced(features[a:b], account))
                own = [t * prod([wholes[i] for i in rest]) for t, rest in zip(own, rests, strict=True)]
            numerators += own
        return numerators, denominators


def check_countable(found: Found, features: Sequence[Feature]) -> None:
    """Raise if counts were asked for and some CXp contains a real feature."""
    real = np.array([isinstance(f, Real) for f in features])
    if found.kind != "count" or not real.any():
        return
    met = np.flatnonzero(found.members.any(axis=0) & real).tolist()
    met += [i for sets in found.large.values() for i in features_of(sets.family.support) if real[i]]
    if len(met):
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
