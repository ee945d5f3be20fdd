"""The common circuit: a DAG of decisions, conjunctions and disjunctions over cells.

Every target language is a restriction of it. A *decision* on feature i sends each set of cells
of i to a child, and cells it does not name to false; a literal "x_i in E" is a decision with the
one arc E -> true. Ordered decisions alone make an MDD, conjunctions of disjoint scopes with
deterministic disjunctions a d-DNNF.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, NamedTuple, Protocol, TypeVar
from weakref import finalize

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import called, checked, whole
from axfi_kc.budget import Account, paced
from axfi_kc.circuits.operand import Operand
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted
from axfi_kc.errors import CircuitError

__all__ = [
    "AND",
    "DECISION",
    "FALSE",
    "OR",
    "TRUE",
    "Circuit",
    "CircuitBuilder",
    "FlatCircuit",
    "Form",
    "Notes",
    "Size",
    "arc_owners",
    "circuit_in",
    "flat_of",
]


FALSE, TRUE, DECISION, AND, OR = range(5)
_NO_LABEL = -1
_PASSED_AT_ONCE = 16  # nodes of a fold between two looks at a budget
_FORGOTTEN_AT_ONCE = 1 << 12  # nodes between two rounds of forgetting values that no parent waits for

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a circuit is; constants are not counted as nodes."""

    nodes: int
    edges: int


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Circuit(Operand):
    """A circuit in flat arrays, children before parents, the root last.

    Two circuits are equal if they hold at the same points of the same domain, whatever their nodes; see
    :class:`~axfi_kc.circuits.operand.Operand` for this and the other operators.

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

    def __repr__(self) -> str:
        """Return the size and the features in a line."""
        names, size = self.grid.domain.names, self.size
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        extent = f"{counted(size.nodes, 'node')}, {counted(size.edges, 'edge')}"
        return f"<Circuit: {extent} over {counted(len(names), 'feature')} ({shown[:60]})>"

    def to_circuit(self) -> Circuit:
        """Return the circuit itself, as every form does."""
        return self

    @property
    def root(self) -> int:
        """The number of the root node."""
        return len(self.kinds) - 1

    @property
    def size(self) -> Size:
        """Nodes and edges."""
        return Size(nodes=int((self.kinds >= DECISION).sum()), edges=len(self.children))

    @checked("node")
    def arcs(self, node: int) -> list[tuple[tuple[int, ...], int]]:
        """Return the arcs of `node` as ``(cells, child)``; cells are empty for AND and OR."""
        node = whole(node, "node", least=0, most=len(self.kinds) - 1)
        span = slice(int(self.offsets[node]), int(self.offsets[node + 1]))
        labels, children = self.labels[span].tolist(), self.children[span].tolist()
        return [(self.cell_sets[k] if k != _NO_LABEL else (), c) for k, c in zip(labels, children, strict=True)]

    @checked("decision", "account", "forget")
    def fold(
        self,
        *,
        decision: Callable[[int, list[int], list[T]], T],
        conjunction: Callable[[list[T]], T],
        disjunction: Callable[[list[T]], T],
        false: T,
        true: T,
        account: Account | None = None,
        at_once: int = _PASSED_AT_ONCE,
        forget: bool = False,
    ) -> list[T]:
        """Return a value for each node, made of those of its children; the root's is the last.

        Parameters
        ----------
        decision
            Makes the value of a decision of its feature, the labels of its arcs (positions in `cell_sets`) and
            the children's values.
        conjunction, disjunction
            Make the value of a gate of the children's values.
        false, true
            The values of the constants.
        account
            Under which it is done, if there is a budget; a pass is no search, so nodes are not counted.
        at_once
            How many nodes may pass between two looks at the account.
        forget
            Whether values are forgotten, and become `false`, after their last parent: then only the root's stays.

        Notes
        -----
        Each node once, children first, without recursion. What a node must know of itself beyond its
        children's values (its scope, say) is best made part of the value.

        Examples
        --------
        >>> from axfi_kc.domain import Domain, Integer
        >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
        >>> both = build.circuit(build.conjunction([build.literal(0, [1]), build.literal(1, [1])]))
        >>> def deeper(below):
        ...     return 1 + max(below)
        >>> both.fold(
        ...     decision=lambda i, labels, below: deeper(below), conjunction=deeper, disjunction=deeper, false=0, true=0
        ... )
        [0, 1, 1, 2]
        """
        features, offsets = self.features.tolist(), self.offsets.tolist()
        children, labels = self.children.tolist(), self.labels.tolist()
        dying, deaths = _by_last_parent(self) if forget else ([], [])
        found: list[T] = []
        first = gone = 0
        tried = False  # whether a decision is known to be callable so
        for node, kind in enumerate(paced(self.kinds.tolist(), account, at_once=at_once)):
            end = offsets[node + 1]
            below = [found[c] for c in children[first:end]]
            if kind == DECISION and tried:
                made = decision(features[node], labels[first:end], below)
            elif kind == DECISION:
                made, tried = called(decision, "decision", features[node], labels[first:end], below), True
            elif kind == AND:
                made = conjunction(below)
            elif kind == OR:
                made = disjunction(below)
            else:
                made = true if kind == TRUE else false
            found.append(made)
            first = end
            if forget and not node % _FORGOTTEN_AT_ONCE:
                while deaths[gone] < node:
                    found[dying[gone]] = false
                    gone += 1
        return found


class FlatCircuit(NamedTuple):
    """A circuit as kernels want it: arrays only, its cell sets laid end to end.

    Attributes
    ----------
    kinds, features, offsets, children, labels
        As in :class:`Circuit`.
    set_starts, set_cells
        The cells of label k are ``set_cells[set_starts[k]:set_starts[k + 1]]``, sorted.
    cell_starts
        Where the cells of each feature start in an array over all cells of all features.
    complete
        1 for a decision whose arcs name every cell; 0 elsewhere.
    """

    kinds: npt.NDArray[np.uint8]
    features: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int32]
    set_starts: npt.NDArray[np.int64]
    set_cells: npt.NDArray[np.int32]
    cell_starts: npt.NDArray[np.int64]
    complete: npt.NDArray[np.uint8]


class Notes(Generic[T]):
    """What is known of circuits, kept beside them as long as they live.

    Beside and not in them: what is made of a circuit for speed is no part of its value or its pickle. And by identity:
    equal circuits may have other nodes.
    """

    def __init__(self) -> None:
        self._found: dict[int, T] = {}

    def get(self, circuit: Circuit) -> T | None:
        """Return what is known of a circuit, if anything is."""
        return self._found.get(id(circuit))

    def __setitem__(self, circuit: Circuit, value: T) -> None:
        """Note something."""
        key = id(circuit)
        if key not in self._found:
            finalize(circuit, self._found.pop, key, None).atexit = False
        self._found[key] = value


class Convertible(Protocol):
    """What can be turned into a circuit, as targets can."""

    def to_circuit(self) -> Circuit:
        """Return the points as a circuit over cells."""


class Compiled(Protocol):
    """What holds a circuit, as a compiled model does."""

    @property
    def circuit(self) -> Circuit:
        """The circuit."""


Form = Circuit | Convertible | Compiled
"""What can be asked and operated on: a circuit, a target of any language, or a compiled model."""


def circuit_in(form: Form) -> Circuit:
    """Return the circuit of a circuit, a target of any language, or a compiled model.

    Raises
    ------
    CircuitError
        If it is none of them.
    """
    if isinstance(form, Circuit):
        return form
    # Of the class: what an instance says it has may be anything, as in a mock.
    made = None
    if hasattr(type(form), "to_circuit"):
        made = form.to_circuit()  # type: ignore[union-attr]
    elif hasattr(type(form), "circuit"):
        made = getattr(form, "circuit", None)
    if isinstance(made, Circuit):
        return made
    raise CircuitError(
        f"Expected a circuit, a compiled model or a target, but {type(form).__name__} was given; "
        "compile a model with compile_model, or read one with ax.from_dd and the like."
    )


_FLAT: Notes[FlatCircuit] = Notes()


def flat_of(circuit: Circuit) -> FlatCircuit:
    """Return the flat form of `circuit`, made at the first call (cost: linear)."""
    found = _FLAT.get(circuit)
    if found is None:
        sizes = np.array([*map(len, circuit.cell_sets), 0], dtype=np.int64)  # the last place takes the label -1
        named = np.diff(np.concatenate([[0], np.cumsum(sizes[circuit.labels])])[circuit.offsets])
        wanted = np.array([*circuit.grid.n_cells, -1], dtype=np.int64)[circuit.features]
        found = _FLAT[circuit] = FlatCircuit(
            circuit.kinds,
            circuit.features,
            circuit.offsets,
            circuit.children,
            circuit.labels,
            set_starts=np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64),
            set_cells=np.fromiter(chain.from_iterable(circuit.cell_sets), dtype=np.int32),
            cell_starts=np.cumsum([0, *circuit.grid.n_cells], dtype=np.int64),
            complete=(named == wanted).astype(np.uint8),
        )
    return found


def arc_owners(circuit: Circuit) -> npt.NDArray[np.int32]:
    """Return for each arc the node it leaves."""
    return np.repeat(np.arange(len(circuit.kinds), dtype=np.int32), np.diff(circuit.offsets))


def _by_last_parent(circuit: Circuit) -> tuple[list[int], list[int]]:
    """Return the nodes in the order in which their values are last needed, and by which parent; the root by itself."""
    last = np.arange(len(circuit.kinds), dtype=np.int32)
    np.maximum.at(last, circuit.children, arc_owners(circuit))
    dying = last.argsort(kind="stable")
    return dying.tolist(), last[dying].tolist()


class CircuitBuilder:
    """Makes a reduced circuit: equal nodes are shared, redundant ones never built.

    Notes
    -----
    Nodes are kept flat, so that a million of them take seconds and no Python object per arc.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> b_is_1 = build.literal(1, [1])
    >>> build.circuit(build.decision(0, [([0], build.false), ([1], b_is_1)])).size
    Size(nodes=2, edges=2)
    """

    false, true = 0, 1

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._n_cells = grid.n_cells
        self._kinds = bytearray((FALSE, TRUE))
        self._features = array("i", (-1, -1))
        self._offsets = array("q", (0, 0, 0))
        self._children, self._labels = array("i"), array("i")
        # a decision is (feature, label, child, label, child, ...), a gate (-kind, child, child, ...)
        self._node_of: dict[tuple[int, ...], int] = {}
        self._set_of: dict[tuple[int, ...], int] = {}  # in any order of the cells
        self._sets: list[tuple[int, ...]] = []
        self._sound: set[tuple[int, ...]] = set()  # a number of cells and labels that fit it

    @classmethod
    def like(cls, circuit: Circuit) -> CircuitBuilder:
        """Return an empty builder that gives the cell sets of `circuit` the same labels."""
        build = cls(circuit.grid)
        for cells in circuit.cell_sets:
            build._label(cells)
        return build

    @property
    def grid(self) -> Grid:
        """The cells that decisions speak about."""
        return self._grid

    def __len__(self) -> int:
        """Return the number of nodes made so far."""
        return len(self._kinds)

    def decision(self, feature: int, arcs: Iterable[tuple[Iterable[int], int]]) -> int:
        """Return the node that sends each set of cells of `feature` to its child.

        Raises
        ------
        CircuitError
            If a cell goes to two children, or is none of the feature's.
        """
        cells_of: dict[int, tuple[int, ...]] = {}
        for cells, child in arcs:
            if child != self.false:
                cells_of[child] = (*cells_of[child], *cells) if child in cells_of else tuple(cells)
        labelled = [(self._label(cells), child) for child, cells in cells_of.items() if cells]
        if len(labelled) > 1:
            labelled.sort(key=self._cells_of_arc)
        labels = [k for k, _ in labelled]
        pattern = (self._n_cells[feature], *labels)
        if pattern not in self._sound:
            self._check(feature, labels)
            self._sound.add(pattern)
        return self.decide(feature, labels, [child for _, child in labelled])

    def decide(self, feature: int, labels: Sequence[int], children: Sequence[int]) -> int:
        """Return the decision whose arcs have these labels, as :meth:`like` gives them.

        The sets must be disjoint, not empty, and in order.
        """
        if self.false in children or len(set(children)) < len(children):
            return self.decision(feature, [(self._sets[k], c) for k, c in zip(labels, children, strict=True)])
        if len(labels) < 2 and (not labels or len(self._sets[labels[0]]) == self._n_cells[feature]):
            return children[0] if labels else self.false
        key = (feature, *chain.from_iterable(zip(labels, children, strict=True)))
        return self._node(DECISION, feature, key, labels, children)

    def literal(self, feature: int, cells: Iterable[int]) -> int:
        """Return the node of "feature lies in cells"."""
        return self.decision(feature, [(cells, self.true)])

    def unreduced_literal(self, feature: int) -> int:
        """Return a node that mentions `feature` and allows all its cells, as smooth circuits need."""
        label = self._label(tuple(range(self._n_cells[feature])))
        return self._node(DECISION, feature, (feature, label, self.true), [label], [self.true])

    def conjunction(self, parts: Iterable[int]) -> int:
        """Return the conjunction of nodes whose scopes must be disjoint."""
        return self._gate(AND, parts, neutral=self.true, absorbing=self.false)

    def disjunction(self, parts: Iterable[int]) -> int:
        """Return the disjunction of nodes that must exclude each other."""
        return self._gate(OR, parts, neutral=self.false, absorbing=self.true)

    def _gate(self, kind: int, parts: Iterable[int], *, neutral: int, absorbing: int) -> int:
        distinct = set(parts)
        distinct.discard(neutral)
        kept = sorted(distinct)
        if len(kept) <= 1:
            return kept[0] if kept else neutral
        if absorbing in distinct:
            return absorbing
        return self._node(kind, -1, (-kind, *kept), [_NO_LABEL] * len(kept), kept)

    def _label(self, cells: tuple[int, ...]) -> int:
        label = self._set_of.get(cells)
        if label is None:
            ordered = tuple(sorted(set(cells)))
            label = self._set_of.setdefault(ordered, len(self._sets))
            if label == len(self._sets):
                self._sets.append(ordered)
            self._set_of[cells] = label
        return label

    def _cells_of_arc(self, arc: tuple[int, int]) -> tuple[int, ...]:
        return self._sets[arc[0]]

    def _check(self, feature: int, labels: Sequence[int]) -> None:
        """Refuse sets of cells that overlap or leave the feature's range."""
        sets = [self._sets[k] for k in labels]
        named = set(chain.from_iterable(sets))
        if named and (len(named) < sum(map(len, sets)) or min(named) < 0 or max(named) >= self._n_cells[feature]):
            raise CircuitError(
                f"The arcs of a decision on feature {feature} must name disjoint sets of its "
                f"{self._n_cells[feature]} cells, but {sets[:4]} were given; split or drop what overlaps."
            )

    def _node(
        self, kind: int, feature: int, key: tuple[int, ...], labels: Sequence[int], children: Sequence[int]
    ) -> int:
        fresh = len(self._kinds)
        node = self._node_of.setdefault(key, fresh)
        if node == fresh:
            self._kinds.append(kind)
            self._features.append(feature)
            self._children.extend(children)
            self._labels.extend(labels)
            self._offsets.append(len(self._children))
        return node

    def node(self, number: int) -> tuple[int, int, Sequence[int], Sequence[int]]:
        """Return kind, feature, labels and children of a node made so far."""
        arcs = slice(self._offsets[number], self._offsets[number + 1])
        return self._kinds[number], self._features[number], self._labels[arcs], self._children[arcs]

    def cells(self, label: int) -> tuple[int, ...]:
        """Return the cells that `label` stands for."""
        return self._sets[label]

    def circuit(self, root: int) -> Circuit:
        """Return what `root` reaches as a circuit (cost: linear)."""
        marks = self._reached(root)
        offsets = np.array(self._offsets[: root + 2], dtype=np.int64)
        arcs = slice(0, int(offsets[-1]))
        widths = np.diff(offsets)
        kept = np.repeat(marks, widths)
        number = np.cumsum(marks, dtype=np.int32) - np.int32(1)
        labels, cell_sets = self._used_sets(np.array(self._labels[arcs], dtype=np.int32)[kept])
        return Circuit(
            grid=self._grid,
            kinds=np.frombuffer(bytes(self._kinds[: root + 1]), dtype=np.uint8)[marks],
            features=np.array(self._features[: root + 1], dtype=np.int32)[marks],
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(widths[marks])]),
            children=number[np.array(self._children[arcs], dtype=np.int32)[kept]],
            labels=labels,
            cell_sets=cell_sets,
        )

    def _used_sets(self, labels: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], tuple[tuple[int, ...], ...]]:
        """Return the labels numbered anew, and the sets that they name."""
        used = np.zeros(len(self._sets) + 1, dtype=bool)  # the last place takes the label -1
        used[labels] = True
        used[-1] = False
        number = np.where(used, np.cumsum(used) - 1, _NO_LABEL).astype(np.int32)
        return number[labels], tuple(self._sets[k] for k in np.flatnonzero(used).tolist())

    def _reached(self, root: int) -> npt.NDArray[np.bool_]:
        """Mark the nodes below `root`; parents come after their children."""
        marks = bytearray(root + 1)
        marks[root] = 1
        offsets, children = self._offsets, self._children
        for node in range(root, 1, -1):
            if marks[node]:
                for child in children[offsets[node] : offsets[node + 1]]:
                    marks[child] = 1
        return np.frombuffer(bytes(marks), dtype=np.bool_)
