"""The common circuit: a DAG of decisions, conjunctions and disjunctions over cells.

Every target language is a restriction of it. A *decision* on feature i sends each set of cells
of i to a child, and cells it does not name to false; a literal "x_i in E" is a decision with the
one arc E -> true. Ordered decisions alone make an MDD, conjunctions of disjoint scopes with
deterministic disjunctions a d-DNNF.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from axfi_kc.grid import Grid

__all__ = ["AND", "DECISION", "FALSE", "OR", "TRUE", "Circuit", "CircuitBuilder", "Size"]

FALSE, TRUE, DECISION, AND, OR = range(5)
_NO_LABEL = -1


@dataclass(frozen=True, slots=True)
class Size:
    """How large a circuit is; constants are not counted as nodes."""

    nodes: int
    edges: int


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """A circuit in flat arrays, children before parents, the root last.

    Attributes
    ----------
    grid
        The cells that decisions speak about.
    kinds
        FALSE, TRUE, DECISION, AND or OR, per node.
    features
        The feature of a decision; -1 elsewhere.
    offsets, children
        The arcs of node n are ``children[offsets[n]:offsets[n + 1]]``.
    labels
        For each arc of a decision, the position of its cells in `cell_sets`; -1 elsewhere.
    cell_sets
        The distinct sets of cells, each sorted.
    """

    grid: Grid
    kinds: npt.NDArray[np.uint8]
    features: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int32]
    cell_sets: tuple[tuple[int, ...], ...]

    @property
    def root(self) -> int:
        """The number of the root node."""
        return len(self.kinds) - 1

    @property
    def size(self) -> Size:
        """Nodes and edges."""
        return Size(nodes=int((self.kinds >= DECISION).sum()), edges=len(self.children))

    def arcs(self, node: int) -> list[tuple[tuple[int, ...], int]]:
        """Return the arcs of `node` as ``(cells, child)``; cells are empty for AND and OR."""
        span = slice(int(self.offsets[node]), int(self.offsets[node + 1]))
        labels, children = self.labels[span].tolist(), self.children[span].tolist()
        return [(self.cell_sets[k] if k != _NO_LABEL else (), c) for k, c in zip(labels, children, strict=True)]


class CircuitBuilder:
    """Makes a reduced circuit: equal nodes are shared, redundant ones never built.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> b_is_1 = build.literal(1, [1])
    >>> build.circuit(build.decision(0, [([0], build.false), ([1], b_is_1)])).size
    Size(nodes=2, edges=2)
    """

    false, true = 0, 1

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._kinds = [FALSE, TRUE]
        self._features = [-1, -1]
        self._arcs: list[tuple[tuple[int, int], ...]] = [(), ()]
        self._node_of: dict[tuple[int, int, tuple[tuple[int, int], ...]], int] = {}
        self._set_of: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        """Return the number of nodes made so far."""
        return len(self._kinds)

    def decision(self, feature: int, arcs: Iterable[tuple[Iterable[int], int]]) -> int:
        """Return the node that sends each set of cells of `feature` to its child."""
        cells_of: dict[int, list[int]] = {}
        for cells, child in arcs:
            if child != self.false:
                cells_of.setdefault(child, []).extend(cells)
        merged = {child: tuple(sorted(cells)) for child, cells in cells_of.items() if cells}
        if not merged:
            return self.false
        only = next(iter(merged))
        if len(merged) == 1 and len(merged[only]) == self._grid.n_cells[feature]:
            return only
        labelled = sorted((cells, child) for child, cells in merged.items())
        return self._node(DECISION, feature, tuple((self._label(cells), child) for cells, child in labelled))

    def literal(self, feature: int, cells: Iterable[int]) -> int:
        """Return the node of "feature lies in cells"."""
        return self.decision(feature, [(cells, self.true)])

    def conjunction(self, parts: Iterable[int]) -> int:
        """Return the conjunction of nodes whose scopes must be disjoint."""
        return self._gate(AND, parts, neutral=self.true, absorbing=self.false)

    def disjunction(self, parts: Iterable[int]) -> int:
        """Return the disjunction of nodes that must exclude each other."""
        return self._gate(OR, parts, neutral=self.false, absorbing=self.true)

    def _gate(self, kind: int, parts: Iterable[int], *, neutral: int, absorbing: int) -> int:
        kept = sorted({p for p in parts if p != neutral})
        if absorbing in kept:
            return absorbing
        if len(kept) <= 1:
            return kept[0] if kept else neutral
        return self._node(kind, -1, tuple((_NO_LABEL, p) for p in kept))

    def _label(self, cells: tuple[int, ...]) -> int:
        return self._set_of.setdefault(cells, len(self._set_of))

    def _node(self, kind: int, feature: int, arcs: tuple[tuple[int, int], ...]) -> int:
        key = (kind, feature, arcs)
        node = self._node_of.get(key)
        if node is None:
            node = self._node_of[key] = len(self._kinds)
            self._kinds.append(kind)
            self._features.append(feature)
            self._arcs.append(arcs)
        return node

    def circuit(self, root: int) -> Circuit:
        """Return what `root` reaches as a circuit (cost: linear)."""
        kept = self._reached(root)
        number = {node: k for k, node in enumerate(kept)}
        arcs = [self._arcs[node] for node in kept]
        flat = [arc for node_arcs in arcs for arc in node_arcs]
        return Circuit(
            grid=self._grid,
            kinds=np.array([self._kinds[n] for n in kept], dtype=np.uint8),
            features=np.array([self._features[n] for n in kept], dtype=np.int32),
            offsets=np.cumsum([0, *(len(a) for a in arcs)]).astype(np.int64),
            children=np.array([number[c] for _, c in flat], dtype=np.int32),
            labels=np.array([k for k, _ in flat], dtype=np.int32),
            cell_sets=tuple(self._set_of),
        )

    def _reached(self, root: int) -> Sequence[int]:
        """Return the nodes below `root`, in the order they were made: children first."""
        seen, stack = {root}, [root]
        while stack:
            for _, child in self._arcs[stack.pop()]:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return sorted(seen)
