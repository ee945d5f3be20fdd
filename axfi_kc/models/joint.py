"""What boxes of cells weigh around an instance: independent features, or any joint distribution.

A box is given by the cells of some features, its *members*; the others keep the instance's values. Weights are up to a
factor that depends on those values only, so that the ratio of two weights with the same members around the same
instance is a conditional probability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, singledispatch
from itertools import islice
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, preparation
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.queries.boxes import CircuitBoxes
from axfi_kc.domain.distribution import Distribution, tied
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import DomainError
from axfi_kc.models.restriction import code_inside
from axfi_kc.models.support import Support, support_of

__all__ = [
    "Box",
    "BoxList",
    "BoxWeigher",
    "Span",
    "StateWeigher",
    "TotalWeigher",
    "box_weigher",
    "circuit_share",
    "weigher_of",
    "weigher_on",
]


Span = range | tuple[int, ...]
"""Cells of one feature."""
Box = Sequence[Span]
"""The cells of each member, in the order of the members."""
_KEPT = 1 << 18  # entries of what was weighed before
_Worth = Any  # an int, or a Fraction


@dataclass(frozen=True, slots=True, eq=False)
class BoxList:
    """Disjoint boxes of several sets of features.

    Attributes
    ----------
    members
        The features of each set, in order.
    counts
        The number of boxes of each set.
    spans
        For each set, box and member a position in `table`.
    table
        Features, each with some of its cells.
    """

    members: Sequence[Sequence[int]]
    counts: npt.NDArray[np.int64]
    spans: npt.NDArray[np.int64]
    table: Sequence[tuple[int, Span]]

    @classmethod
    def of(cls, members: Sequence[Sequence[int]], boxes: Sequence[Sequence[Box]]) -> BoxList:
        """Return the boxes of each set, given one by one."""
        place: dict[tuple[int, Span], int] = {}
        spans = [
            place.setdefault((i, span), len(place))
            for own, some in zip(members, boxes, strict=True)
            for box in some
            for i, span in zip(own, box, strict=True)
        ]
        counts = np.array([len(some) for some in boxes], dtype=np.int64)
        return cls(members, counts, np.array(spans, dtype=np.int64), list(place))

    @classmethod
    def joined(cls, parts: Sequence[BoxList]) -> BoxList:
        """Return the boxes of the sets of several lists."""
        shifts = np.cumsum([0, *(len(part.table) for part in parts)])
        return cls(
            [own for part in parts for own in part.members],
            np.concatenate([np.zeros(0, np.int64), *(part.counts for part in parts)]),
            np.concatenate([np.zeros(0, np.int64), *(p.spans + k for p, k in zip(parts, shifts, strict=False))]),
            [entry for part in parts for entry in part.table],
        )

    def __iter__(self) -> Iterator[list[list[Span]]]:
        """Iterate over the boxes of each set."""
        boxes = self.each()
        for count in self.counts.tolist():
            yield list(islice(boxes, count))

    def each(self) -> Iterator[list[Span]]:
        """Iterate over the boxes one by one, set by set."""
        at, cells, spans = 0, [span for _, span in self.table], self.spans.tolist()
        for own, count in zip(self.members, self.counts.tolist(), strict=True):
            for _ in range(count):
                yield [cells[n] for n in spans[at : at + len(own)]]
                at += len(own)


class BoxWeigher(ABC):
    """Weighs boxes of a grid around instances.

    Parameters
    ----------
    grid
        The cells; its domain says which distribution.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.full: tuple[Span, ...] = tuple(range(n) for n in grid.n_cells)
        self._support = support_of(grid)
        self._known: dict[Any, _Worth] = {}

    @abstractmethod
    def places(self, codes: npt.NDArray[np.float64]) -> list[list[int]]:
        """Return what weights depend on of instances: the state of each feature."""

    @abstractmethod
    def weight(self, place: Sequence[int], members: Sequence[int], boxes: Iterable[Box]) -> _Worth:
        """Return what disjoint boxes weigh together around an instance, given by its states."""

    def whole(self, place: Sequence[int], cells: Sequence[int], members: Sequence[int]) -> _Worth:
        """Return what all possible points weigh that agree with an instance outside the members.

        Raises
        ------
        DomainError
            If they have probability 0.
        """
        free = sum(1 << i for i in members)
        if self._support is None or not free & self._support.scope:
            found = self.weight(place, members, [tuple(self.full[i] for i in members)])
        else:
            found = self._possible(self._support, place, cells, members, free)
        if not found or not self._is_likely(place, members):
            raise DomainError(
                "The points that agree with the instance outside some features have probability 0, so that nothing has "
                "a probability among them; smooth the distribution, or use weights='count' or weights='unit'."
            )
        return found

    def apart(self, place: Sequence[int], features: Sequence[int]) -> list[list[int]] | None:
        """Return what each cell of some features is worth next to an instance, if they do not depend on each other.

        A box of any of them, the others being fixed, then weighs the product of its cells' worths. None if they may
        depend on each other, or not all combinations are possible.
        """
        return None

    def _is_likely(self, place: Sequence[int], members: Sequence[int]) -> bool:
        """Tell whether what was left out of weights, because it cancels, is positive."""
        return True

    def _possible(
        self, support: Support, place: Sequence[int], cells: Sequence[int], members: Sequence[int], free: int
    ) -> _Worth:
        fixed = [-1 if free >> i & 1 else state for i, state in enumerate(place)]
        key = (free, *fixed, *(-1 if free >> i & 1 else cells[i] for i in support.constrained))
        found = self._known.get(key)
        if found is None:
            found = self.inside(support.as_boxes, place, cells, members)
            # Another thread may clear it at any moment, so nothing is read from it again.
            if len(self._known) > _KEPT:
                self._known.clear()
            self._known[key] = found
        return found

    def inside(self, boxes: CircuitBoxes, place: Sequence[int], cells: Sequence[int], members: Sequence[int]) -> _Worth:
        """Return what the points of a deterministic, decomposable circuit weigh that agree with an instance elsewhere.

        Raises
        ------
        CircuitError
            If it takes more boxes than can be listed.
        """
        account = Account(preparation(), goal="probability", advice="allow more, or use independent features")
        parts = account.paced(boxes.around(cells, sum(1 << i for i in members)))
        return self.weight(place, members, ([part.get(i, self.full[i]) for i in members] for part in parts))

    def ratios(
        self, codes: npt.NDArray[np.float64], cells: npt.NDArray[np.int64], owner: Sequence[int], boxes: BoxList
    ) -> Iterator[tuple[int, int]]:
        """Iterate over the ratios of sets of features, each of the instance that owns it: numerator, denominator."""
        places, rows = self.places(codes), cells.tolist()
        for n, own, some in zip(owner, boxes.members, boxes, strict=True):
            yield self.ratio(places[n], rows[n], own, some).as_integer_ratio()

    def ratio(
        self, place: Sequence[int], cells: Sequence[int], members: Sequence[int], boxes: Iterable[Box]
    ) -> Fraction:
        """Return the probability of disjoint boxes of possible points, given the instance outside the members."""
        return Fraction(self.weight(place, members, boxes)) / self.whole(place, cells, members)


class _IndependentWeigher(BoxWeigher):
    """Weighs boxes of independent features: the product of what their cells are worth."""

    def places(self, codes: npt.NDArray[np.float64]) -> list[list[int]]:
        return [[]] * len(codes)  # values of other features are in other blocks, and cancel

    def weight(self, place: Sequence[int], members: Sequence[int], boxes: Iterable[Box]) -> int:
        worths = [self.grid.axes[i].numerators for i in members]
        return sum(prod([sum([row[c] for c in span]) for row, span in zip(worths, box, strict=True)]) for box in boxes)


class StateWeigher(BoxWeigher):
    """Weighs boxes through the states of a joint distribution."""

    def __init__(self, grid: Grid, distribution: Distribution) -> None:
        super().__init__(grid)
        self._states = distribution.states
        self._shares = [_whole_shares(s.shares(axis)) for s, axis in zip(self._states, grid.axes, strict=True)]
        self._rows: list[dict[Span, list[int]]] = [{} for _ in self._states]
        self._blocks = distribution.blocks

    def places(self, codes: npt.NDArray[np.float64]) -> list[list[int]]:
        """Return the state of each feature of instances."""
        features = self.grid.domain.features
        columns = [s.locate(codes[:, i], f) for i, (s, f) in enumerate(zip(self._states, features, strict=True))]
        return np.stack(columns, axis=1).tolist()

    def row(self, i: int, span: Span) -> list[int]:
        """Return the share of each state of a feature that some of its cells have, over one denominator."""
        known = self._rows[i]
        if span not in known:
            shares = self._shares[i]
            known[span] = [sum(column) for column in zip(*(shares[c] for c in span), strict=True)]
        return known[span]


def _whole_shares(shares: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    whole = lcm(*(share.denominator for row in shares for share in row))
    return [[int(share * whole) for share in row] for row in shares]


class _ProductWeigher(StateWeigher):
    """Weighs boxes under independent features: each is a block, and probabilities in other blocks cancel."""

    def __init__(self, grid: Grid, distribution: Distribution, tables: Sequence[Sequence[Fraction]]) -> None:
        super().__init__(grid, distribution)
        self._tables = [_whole_shares([table])[0] for table in tables]

    def weight(self, place: Sequence[int], members: Sequence[int], boxes: Iterable[Box]) -> int:
        pairs = [(i, self._tables[i]) for i in members]
        found = 0
        for box in boxes:
            rows = zip(pairs, box, strict=True)
            found += prod([sum(map(int.__mul__, self.row(i, span), table)) for (i, table), span in rows])
        return found


class TotalWeigher(StateWeigher):
    """Weighs boxes by the totals of any distribution, one by one."""

    def __init__(self, grid: Grid, distribution: Distribution) -> None:
        super().__init__(grid, distribution)
        self._distribution = distribution
        self._indicators = [[[int(k == s) for k in range(d.size)] for s in range(d.size)] for d in self._states]
        self._totals: dict[Any, Fraction] = {}

    def weight(self, place: Sequence[int], members: Sequence[int], boxes: Iterable[Box]) -> Fraction:
        """Return what disjoint boxes weigh together around an instance, given by its states."""
        near = tied(self._blocks, members)
        evidence: list[Any] = [self._indicators[i][s] if i in near else None for i, s in enumerate(place)]
        known, found = self._totals, Fraction(0)
        fixed = [None if i in members else s if i in near else -1 for i, s in enumerate(place)]
        for box in boxes:
            key = (*fixed, *box)
            total = known.get(key)
            if total is None:
                for i, span in zip(members, box, strict=True):
                    evidence[i] = self.row(i, span)
                total = self._distribution.total(evidence)
                if len(known) > _KEPT:  # another thread may clear it too, so nothing is read from it again
                    known.clear()
                known[key] = total
            found += total
        return found


def circuit_share(circuit: Circuit, fixed: Mapping[int, float] | None = None) -> Fraction:
    """Return the probability of a circuit's points among the possible ones, given the codes of some features.

    Parameters
    ----------
    circuit
        Deterministic and decomposable, of possible points only.
    fixed
        ``{feature number: code}``.

    Raises
    ------
    DomainError
        If what is given has probability 0.
    CircuitError
        If the circuit is no ordered diagram and too large to be cut into boxes.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.domain.chow_liu import ChowLiu
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> joint = domain.with_distribution(ChowLiu.fit([[0, 0], [1, 1]], domain))
    >>> build = CircuitBuilder(Grid.of_values(joint))
    >>> holds = build.circuit(build.literal(0, [1]))
    >>> circuit_share(holds), circuit_share(holds, {1: 1.0})
    (Fraction(1, 2), Fraction(2, 3))
    """
    grid, given = circuit.grid, fixed or {}
    codes = np.array([given.get(i, float(code_inside(axis, 0))) for i, axis in enumerate(grid.axes)])
    weigher = weigher_on(grid)
    (place,), cells = weigher.places(codes[np.newaxis]), grid.locate(codes[np.newaxis])[0].tolist()
    members = [i for i in range(len(codes)) if i not in given]
    whole = weigher.whole(place, cells, members)
    return Fraction(weigher.inside(CircuitBoxes(circuit), place, cells, members)) / whole


def box_weigher(grid: Grid) -> BoxWeigher:
    """Return what weighs boxes of a grid under the distribution of its domain.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.domain.chow_liu import ChowLiu
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> joint = domain.with_distribution(ChowLiu.fit([[0, 0], [1, 1]], domain))
    >>> weigher = box_weigher(Grid.of_values(joint))
    >>> (place,) = weigher.places(np.zeros((1, 2)))
    >>> weigher.ratio(place, [0, 0], [1], [[(1,)]])
    Fraction(1, 3)
    """
    distribution = grid.domain.distribution
    if distribution is None:
        return _IndependentWeigher(grid)
    tables = distribution.independent
    return weigher_of(distribution, grid) if tables is None else _ProductWeigher(grid, distribution, tables)


weigher_on = lru_cache(maxsize=8)(box_weigher)
"""The same, kept for the grids that were asked for last."""


@singledispatch
def weigher_of(distribution: Distribution, grid: Grid) -> BoxWeigher:
    """Return what weighs boxes under a distribution; kinds that know a shorter way than totals register theirs."""
    return TotalWeigher(grid, distribution)


# Registered on import, after what it is made of.
from axfi_kc.models import network_weights, tree_weights  # noqa: E402, F401
