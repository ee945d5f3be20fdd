"""What boxes weigh under a tree-shaped distribution.

Around an instance the members of a box fall into parts, subtrees between features that are fixed. A box weighs the
product of what it weighs on each part, and table entries between fixed features cancel. Ratios of many boxes at once
are made in a kernel; where constraints or zeros ask for more care, in Python, part by part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.circuits.circuit import TRUE, Circuit
from axfi_kc.circuits.queries.boxes import CircuitBoxes
from axfi_kc.circuits.queries.structure import feature_order
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.distribution import tied
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError
from axfi_kc.models.joint import Box, BoxList, BoxWeigher, Span, StateWeigher, weigher_of

__all__ = ["TreeWeigher"]


_KEPT = 1 << 18  # entries of what was weighed before
_FEW_SPANS = 64  # of boxes that are weighed in Python
_MOST_LIMBS = 1 << 22  # of what a kernel works on
_FEW_PATHS = 2_000  # of a diagram that is cut into boxes
_MOST_STATES = 1_000_000  # that the nodes of one level carry


class _Part(NamedTuple):
    """Members that depend on each other although the rest is fixed: a subtree, the top feature first."""

    features: tuple[int, ...]
    positions: tuple[int, ...]  # among the members
    above: tuple[int, ...]  # for each of them, the position of its parent in the part; -1 for the first
    around: tuple[int, ...]  # what is fixed next to it


class _Rows(NamedTuple):
    """Shares of states laid out for the kernel: where the rows of all cells begin, and those of a table of spans."""

    table: Sequence[tuple[int, Span]]
    numbers: Any
    full: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    limbs: int  # that hold whatever a sum over boxes comes to


def _limbs_of(numbers: Sequence[int]) -> tuple[npt.NDArray[np.uint64], ...]:
    """Return natural numbers as limbs of 32 bits, where each starts, and how many it has."""
    lengths = [-(-n.bit_length() // 32) for n in numbers]
    text = b"".join(n.to_bytes(4 * k, "little") for n, k in zip(numbers, lengths, strict=True))
    limbs = np.frombuffer(text, dtype="<u4").astype(np.uint64)
    ends = np.cumsum([0, *lengths])
    return limbs, ends[:-1], np.array(lengths, dtype=np.int64)


def _integers(limbs: npt.NDArray[np.uint32]) -> list[int]:
    text, width = limbs.astype("<u4").tobytes(), 4 * limbs.shape[1]
    return [int.from_bytes(text[k : k + width], "little") for k in range(0, len(text), width)]


class TreeWeigher(StateWeigher):
    """Weighs boxes under a tree-shaped distribution.

    Notes
    -----
    Around an instance members fall into parts, subtrees between features that are fixed; a box weighs the product of
    what it weighs on each part, and table entries between fixed features cancel. Values of parts are kept: few
    instances differ in what is next to a part.
    """

    def __init__(self, grid: Grid, distribution: ChowLiu) -> None:
        super().__init__(grid, distribution)
        self._tree = distribution
        self._children: list[list[int]] = [[] for _ in self._states]
        for i, parent in enumerate(distribution.parents):
            if parent >= 0:
                self._children[parent].append(i)
        self._has_zeros = any(not p for table in distribution.tables for row in table for p in row)
        self._plans: dict[tuple[int, ...], list[_Part]] = {}
        self._weighed: dict[tuple[int, ...], _PartWeights] = {}
        self._laid: _Rows | None = None

    def weight(self, place: Sequence[int], members: Sequence[int], boxes: Iterable[Box]) -> int:
        """Return what disjoint boxes weigh together around an instance, given by its states."""
        around = self._around(place, tuple(members))
        if len(around) == 1:
            ((positions, part),) = around
            if len(positions) == len(members) == 1:
                return sum([part[box[0]] for box in boxes])
        found = 0
        for box in boxes:
            product = 1
            for positions, part in around:
                if len(positions) == 1:
                    product *= part[box[positions[0]]]
                else:
                    product *= part[tuple([box[k] for k in positions])]
            found += product
        return found

    def ratios(
        self, codes: npt.NDArray[np.float64], cells: npt.NDArray[np.int64], owner: Sequence[int], boxes: BoxList
    ) -> Iterator[tuple[int, int]]:
        """Iterate over the ratios of sets of features: in a kernel, unless constraints or zeros ask for more care."""
        width = max(states.size for states in self._states)
        # A few boxes do not pay for compiling the kernel, which takes seconds the first time of all.
        rows = None if len(boxes.spans) < _FEW_SPANS else self._laid_out(boxes.table)
        limbs = _MOST_LIMBS if rows is None else rows.limbs
        careful = self._support is not None or self._has_zeros
        if rows is None or careful or width * limbs * len(self._states) > _MOST_LIMBS:
            yield from super().ratios(codes, cells, owner, boxes)
            return
        from axfi_kc.models import tree_weight_kernels

        sizes = [len(own) for own in boxes.members]
        above, below = np.zeros((2, len(sizes), limbs), np.uint32)
        tree_weight_kernels.weigh(
            *self._kernel_tree,
            rows.numbers,
            rows.full,
            np.array(self.places(codes), np.int64).reshape(-1, len(self._states)),
            np.array(owner, np.int64),
            np.cumsum([0, *sizes]),
            np.array([i for own in boxes.members for i in own], np.int64),
            boxes.counts,
            rows.first[boxes.spans],
            width,
            limbs,
            above,
            below,
        )
        for over, under in zip(_integers(above), _integers(below), strict=True):
            common = gcd(over, under)
            yield over // common, under // common

    @cached_property
    def _kernel_tree(self) -> tuple[Any, Any]:
        """The tree and the numbers of its tables, as the kernel wants them."""
        from axfi_kc.models.tree_weight_kernels import Numbers, Tree

        tables = self._tree.whole_tables
        rows = [[[p // gcd(*row) for p in row] for row in table] for table in tables]
        sizes = [sum(map(len, table)) for table in tables]
        firsts = np.cumsum([0, *sizes])
        tree = Tree(
            np.array(self._tree.parents, np.int64),
            np.array(self._tree.order, np.int64),
            np.cumsum([0, *map(len, self._children)]),
            np.array([c for own in self._children for c in own], np.int64),
            np.array([s.size for s in self._states], np.int64),
            firsts[:-1],
            firsts[:-1] + firsts[-1],
        )
        return tree, Numbers(*_limbs_of([p for table in (*tables, *rows) for row in table for p in row]))

    def _laid_out(self, table: Sequence[tuple[int, Span]]) -> _Rows:
        """Return the rows of all cells of each feature, and then those of a table of spans."""
        # An engine's own table stays the same object from question to question.
        # Another thread may lay out another table at any moment, so the attribute is read once.
        laid = self._laid
        if laid is None or laid.table is not table:
            from axfi_kc.models.tree_weight_kernels import Numbers

            spans = [*enumerate(self.full), *table]
            rows = [self.row(i, span) for i, span in spans]
            most = [0] * len(self._states)
            for (i, _), row in zip(spans, rows, strict=True):
                most[i] = max(most[i], max(row).bit_length())
            firsts = np.cumsum([0, *map(len, rows)])[:-1]
            m = len(self.full)
            numbers = Numbers(*_limbs_of([share for row in rows for share in row]))
            laid = self._laid = _Rows(table, numbers, firsts[:m], firsts[m:], self._n_limbs(most))
        return laid

    def _n_limbs(self, bits: Sequence[int]) -> int:
        """Return how many limbs hold whatever a sum over boxes comes to, given the bits of each feature's shares."""
        # Each table is a factor once, and so is each feature's row; every sum over states adds the bits of its length.
        tables = sum(max(max(map(max, t)).bit_length(), 1) for t in self._tree.whole_tables)
        states = sum(s.size.bit_length() for s in self._states)
        return (tables + states + sum(bits) + 64) // 32 + 3

    def apart(self, place: Sequence[int], features: Sequence[int]) -> list[list[int]] | None:
        """Return what each cell of some features is worth next to an instance, if no two of them are neighbours."""
        near = any(self._tree.parents[i] in features for i in features)
        if near or self._support is not None or self._has_zeros:
            return None
        found = [[1] * n for n in self.grid.n_cells]
        for i in features:
            found[i] = [self.weight(place, [i], [[(cell,)]]) for cell in self.full[i]]
        return found

    def inside(self, boxes: CircuitBoxes, place: Sequence[int], cells: Sequence[int], members: Sequence[int]) -> int:
        """Return what the points of a circuit weigh: of an ordered diagram with many paths, by a pass over it."""
        order = feature_order(boxes.circuit)
        if order is None or boxes.n_paths <= _FEW_PATHS:
            return super().inside(boxes, place, cells, members)
        return self._through(boxes.circuit, order, place, cells, set(members))

    def _through(
        self, circuit: Circuit, order: Sequence[int], place: Sequence[int], cells: Sequence[int], free: set[int]
    ) -> int:
        """Go down a diagram; nodes carry the states of free features on which others depend that come later."""
        rank, parents = {i: k for k, i in enumerate(order)}, self._tree.parents
        near = [{j for j in (*self._children[i], parents[i]) if j in free} for i in range(len(parents))]
        features, arcs = circuit.features.tolist(), [circuit.arcs(n) for n in range(len(circuit.kinds))]
        carried: list[int] = []  # free features whose states are kept
        found: dict[tuple[int, tuple[int, ...]], int] = {(circuit.root, ()): 1}
        for k, i in enumerate(order):
            known = dict(zip(carried, range(len(carried)), strict=True))
            carried = [j for j in (*carried, i) if j in free and any(rank[n] > k for n in near[j])]
            after: dict[tuple[int, tuple[int, ...]], int] = {}
            factors: dict[tuple[int, ...], list[int]] = {}
            for (node, states), weight in found.items():
                ways = arcs[node] if features[node] == i else [(self.full[i], node)]
                if i not in free:
                    for child in [child for own, child in ways if cells[i] in own]:
                        after[child, states] = after.get((child, states), 0) + weight
                    continue
                if states not in factors:
                    factors[states] = self._factors(i, states, known, place, free)
                for own, child in ways:
                    row = self.row(i, own)
                    for s, (share, factor) in enumerate(zip(row, factors[states], strict=True)):
                        if share and factor:
                            kept = tuple(s if j == i else states[known[j]] for j in carried)
                            after[child, kept] = after.get((child, kept), 0) + weight * share * factor
            found = after
            if len(found) > _MOST_STATES:
                raise CircuitError(
                    f"Under this distribution a diagram in this order carries more than {_MOST_STATES} combinations of "
                    "states; compile it in the order of the distribution's edges (order=...)."
                )
        return sum(weight for (node, _), weight in found.items() if circuit.kinds[node] == TRUE)

    def _factors(
        self, i: int, states: Sequence[int], known: dict[int, int], place: Sequence[int], free: set[int]
    ) -> list[int]:
        """Return for each state of a feature the product of the table entries between it and what is known."""
        tables, parent = self._tree.whole_tables, self._tree.parents[i]
        found = [1] * self._states[i].size
        if parent < 0 or parent not in free or parent in known:
            above = 0 if parent < 0 else states[known[parent]] if parent in known else place[parent]
            found = list(tables[i][above])
        for child in self._children[i]:
            if child not in free or child in known:
                below = states[known[child]] if child in known else place[child]
                found = [f * row[below] for f, row in zip(found, tables[child], strict=True)]
        return found

    def _is_likely(self, place: Sequence[int], members: Sequence[int]) -> bool:
        if not self._has_zeros:
            return True
        tables, parents = self._tree.tables, self._tree.parents
        return all(
            tables[i][place[parents[i]] if parents[i] >= 0 else 0][place[i]]
            for i in tied(self._blocks, members)
            if i not in members and parents[i] not in members
        )

    def _around(self, place: Sequence[int], members: tuple[int, ...]) -> list[tuple[tuple[int, ...], _PartWeights]]:
        """Return what boxes weigh on each part, next to this instance."""
        plan = self._plans.get(members)
        if plan is None:
            plan = self._plans[members] = self._parts(members)
        found = []
        for part in plan:
            key = (*part.features, -1, *[place[j] for j in part.around])
            weights = self._weighed.get(key)
            if weights is None:
                if len(self._weighed) > _KEPT >> 4:
                    self._weighed.clear()
                weights = self._weighed[key] = self._part_weights(part, place)
            found.append((part.positions, weights))
        return found

    def _parts(self, members: tuple[int, ...]) -> list[_Part]:
        position = {i: k for k, i in enumerate(members)}
        parents = self._tree.parents
        groups: dict[int, list[int]] = {}
        top: dict[int, int] = {}
        for i in self._tree.order:  # parents first, and so the top of a part comes first
            if i in position:
                top[i] = top[parents[i]] if parents[i] in position else i
                groups.setdefault(top[i], []).append(i)
        found = []
        for group in groups.values():
            near = {j for i in group for j in (*self._children[i], parents[i]) if j >= 0 and j not in position}
            place = {i: k for k, i in enumerate(group)}
            above = tuple(place.get(parents[i], -1) for i in group)
            found.append(_Part(tuple(group), tuple(position[i] for i in group), above, tuple(sorted(near))))
        return found

    def _part_weights(self, part: _Part, place: Sequence[int]) -> _PartWeights:
        tables, inside = self._tree.whole_tables, set(part.features)
        factors, links = [], []
        for i, above in zip(part.features, part.above, strict=True):
            parent, factor = self._tree.parents[i], [1] * self._states[i].size
            if above < 0:
                factor = list(tables[i][place[parent] if parent >= 0 else 0])
            for child in self._children[i]:
                if child not in inside:
                    factor = [f * row[place[child]] for f, row in zip(factor, tables[child], strict=True)]
            factors.append(factor)
            links.append(tables[i] if above >= 0 else ())
        kind = _OneWeights if len(part.features) == 1 else _SeveralWeights
        return kind(self, part, factors, links)


class _PartWeights(dict[Any, int]):
    """What boxes weigh on one part next to fixed states, made when it is first asked for."""

    def __init__(
        self, weigher: TreeWeigher, part: _Part, factors: list[list[int]], links: list[tuple[tuple[int, ...], ...]]
    ) -> None:
        super().__init__()
        self._row, self._part, self._factors, self._links = weigher.row, part, factors, links


class _OneWeights(_PartWeights):
    """The part is one feature: its key is the cells of it."""

    def __missing__(self, span: Span) -> int:
        row = self._row(self._part.features[0], span)
        found = self[span] = sum(map(int.__mul__, row, self._factors[0]))
        return found


class _SeveralWeights(_PartWeights):
    """The part is several features: its key is the cells of each."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        above = self._part.above
        # The features at and below each one, by their positions, on whose cells its message depends.
        self._below = [[k] for k in range(len(above))]
        for k in range(len(above) - 1, 0, -1):
            self._below[above[k]] += self._below[k]
        self._messages: list[dict[Any, list[int]]] = [{} for _ in above]

    def __missing__(self, spans: tuple[Span, ...]) -> int:
        if len(self) > _KEPT:
            self.clear()
            self._messages = [{} for _ in self._messages]
        above = self._part.above
        arrived: list[list[list[int]]] = [[] for _ in above]
        for k in range(len(above) - 1, 0, -1):
            key = tuple([spans[j] for j in self._below[k]])
            message = self._messages[k].get(key)
            if message is None:
                own = self._own(k, spans[k], arrived[k])
                message = self._messages[k][key] = [sum(map(int.__mul__, row, own)) for row in self._links[k]]
            arrived[above[k]].append(message)
        found = self[spans] = sum(self._own(0, spans[0], arrived[0]))
        return found

    def _own(self, k: int, span: Span, arrived: Sequence[Sequence[int]]) -> list[int]:
        found = map(int.__mul__, self._row(self._part.features[k], span), self._factors[k])
        for message in arrived:
            found = map(int.__mul__, found, message)
        return list(found)


@weigher_of.register
def _of_tree(distribution: ChowLiu, grid: Grid) -> BoxWeigher:
    return TreeWeigher(grid, distribution)
