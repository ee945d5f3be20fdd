"""Circuits over Boolean variables, between a file and :class:`~axfi_kc.circuits.circuit.Circuit`.

Every format of negation normal form is parsed into :class:`Nnf` and written from it, so what a
variable means for the features is translated in one place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files.nnf_arrays import LARGE, FlatNnf, built_circuit, fits
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.circuits.queries.transformations import united_scope
from axfi_kc.circuits.targets.bit_codes import Fork, bits_of, cells_of, mask_of
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError
from axfi_kc.families.masks import features_of

__all__ = [
    "CONJUNCTION",
    "DISJUNCTION",
    "LITERAL",
    "Nnf",
    "children_first",
    "circuit_of",
    "first_bits",
    "nnf_of",
    "undecomposable",
]


LITERAL, CONJUNCTION, DISJUNCTION = range(3)
_MOST_PARTS = 1_000  # of a conjunction that decisions take apart, each one for itself
_FEW_NODES = 256  # from which kernels that are loaded already do it
_FEW_PARTS = 8  # of a conjunction that another one takes in
_FALSE, _TRUE = CircuitBuilder.false, CircuitBuilder.true


@dataclass(slots=True)
class Nnf:
    """Literals, conjunctions and disjunctions of Boolean variables, children first, the root last.

    Attributes
    ----------
    n_variables
        Variables are numbered from 1 to this.
    kinds
        LITERAL, CONJUNCTION or DISJUNCTION, per node.
    parts
        The children of a gate; for a literal, the literal alone. A conjunction of nothing is true,
        a disjunction of nothing false.
    choices
        For some disjunctions, the variable on which their two parts disagree.
    """

    n_variables: int
    kinds: list[int] = field(default_factory=list)
    parts: list[Sequence[int]] = field(default_factory=list)
    choices: dict[int, int] = field(default_factory=dict)

    def add(self, kind: int, parts: Sequence[int]) -> int:
        """Append a node and return its number."""
        self.kinds.append(kind)
        self.parts.append(parts)
        return len(self.kinds) - 1

    def reached(self) -> list[int]:
        """Return the nodes below the root, children first."""
        seen = bytearray(len(self.kinds))
        seen[-1:] = b"\1"
        for node in reversed(range(len(self.kinds))):
            if seen[node] and self.kinds[node] != LITERAL:
                for part in self.parts[node]:
                    seen[part] = 1
        return [node for node in range(len(self.kinds)) if seen[node]]


def children_first(
    root: int, parts_of: Callable[[int], Sequence[int]], on_cycle: Callable[[int, int], NoReturn]
) -> Iterator[int]:
    """Yield the nodes below `root`, each after its parts; `on_cycle` gets a node and the part that leads back."""
    met, closed = {root}, set[int]()
    stack = [(root, iter(parts_of(root)[::-1]))]
    while stack:
        node, rest = stack[-1]
        part = next(rest, None)
        if part is None:
            stack.pop()
            closed.add(node)
            yield node
        elif part not in met:
            met.add(part)
            stack.append((part, iter(parts_of(part)[::-1])))
        elif part not in closed:
            on_cycle(node, part)


def undecomposable(nnf: Nnf, *, account: Account | None = None) -> int | None:
    """Return a conjunction that meets a variable twice, if there is one.

    Notes
    -----
    Linear in the arcs, with sets of variables as ints.
    """
    spend = (account or Account(None, goal="check")).spend
    uses = [0] * len(nnf.kinds)
    for kind, parts in zip(nnf.kinds, nnf.parts, strict=True):
        if kind != LITERAL:
            for part in parts:
                uses[part] += 1
    scopes: list[int] = []
    for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
        spend(1)
        scope = 1 << abs(parts[0]) if kind == LITERAL else 0
        for part in parts if kind != LITERAL else ():
            if kind == CONJUNCTION and scope & scopes[part]:
                return node
            scope |= scopes[part]
        for part in parts if kind != LITERAL else ():
            uses[part] -= 1
            if not uses[part]:
                scopes[part] = 0  # large sets are kept no longer than needed
        scopes.append(scope)
    return None


def circuit_of(nnf: Nnf, variables: Variables, *, account: Account | None = None) -> Circuit:
    """Return the circuit that `nnf` is on the codes of points.

    Parameters
    ----------
    nnf
        At least one node.
    variables
        What each variable says. Literals of auxiliary ones become true.
    account
        Pays a step for each node; by default there is no limit.

    Raises
    ------
    CircuitError
        If there are auxiliary variables and a conjunction meets a variable twice.

    Notes
    -----
    Linear, in arcs and sets of cells. What speaks of one feature only is gathered into one set of cells, a
    disjunction whose parts each begin with other cells of one feature becomes a decision, and a decision
    right below another on the same feature becomes part of it; where that leaves two bits of a feature
    in different parts of a conjunction, the circuit is not decomposable in the features.

    Making the literals of auxiliary variables true is to quantify them: right wherever conjunctions are
    decomposable. It keeps disjunctions deterministic because the other variables define the auxiliary
    ones: a point in two parts would extend, with a choice for what stands beside the disjunction, to
    two models that differ in auxiliary variables only.
    """
    if variables.has_auxiliary and (node := undecomposable(nnf, account=account)) is not None:
        raise CircuitError(
            f"Auxiliary variables can be forgotten where no conjunction meets a variable twice, but node {node} does; "
            "take a compiler that writes d-DNNF."
        )
    paid = account or Account(None, goal="circuit")
    if _kernels_pay(len(nnf.kinds)) and fits(variables):
        made = built_circuit(FlatNnf.of(nnf.n_variables, nnf.kinds, nnf.parts), variables, paid)
        if made is not None:
            return made
    return _circuit_of(nnf, variables, paid.spend)


def _kernels_pay(n_nodes: int) -> bool:
    """Tell whether kernels are faster: loading them takes a second, but once they are there few nodes are enough."""
    is_loaded = "axfi_kc.circuits.files.nnf_kernels" in sys.modules
    return n_nodes >= (_FEW_NODES if is_loaded else LARGE)


def _circuit_of(nnf: Nnf, variables: Variables, spend: Callable[[int], None]) -> Circuit:
    """Return the circuit, made node by node: for small ones, and for what the kernels refuse."""
    gates = _Gates(variables)
    kinds, all_parts = nnf.kinds, nnf.parts
    found = [_FALSE] * len(kinds)
    for node in nnf.reached():
        spend(1)
        kind, parts = kinds[node], all_parts[node]
        if kind == LITERAL:
            found[node] = gates.literal(parts[0])
        elif kind == CONJUNCTION:
            found[node] = gates.conjunction([found[part] for part in parts])
        else:
            found[node] = gates.disjunction([found[part] for part in parts])
    return gates.circuit(found[-1])


class _Gates:
    """Builds a circuit from literals and gates of variables.

    A node is a number of the circuit builder's or, below zero, of a conjunction that waits: sets of
    cells, one for each of some features, and other nodes. It is built when something other than a
    decision on one of these features needs it.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._build = CircuitBuilder(variables.grid)
        self._whole = [(1 << n) - 1 for n in variables.grid.n_cells]
        self._literals: dict[int, int] = {}
        self._waiting: list[tuple[dict[int, int], list[int]]] = []  # ({feature: cells}, others); node -1 - k
        self._set_of: dict[tuple[int, int], int] = {}
        self._built_of: dict[int, int] = {}
        self._remainders: dict[tuple[int, int], int] = {}
        self._cells_of: dict[int, list[int]] = {}
        self._arcs_of: dict[int, tuple[int, list[tuple[int, int]]]] = {}  # decision: feature, (cells, child)

    def circuit(self, root: int) -> Circuit:
        return self._build.circuit(self._built(root))

    def literal(self, literal: int) -> int:
        if literal not in self._literals:
            self._literals[literal] = self._new_literal(literal)
        return self._literals[literal]

    def _new_literal(self, literal: int) -> int:
        bit = self._variables.bits[abs(literal) - 1]
        if bit is None:
            return _TRUE
        ones = mask_of(bit.cells)
        return self._set(bit.feature, ones if literal > 0 else self._whole[bit.feature] & ~ones)

    def _set(self, feature: int, mask: int) -> int:
        if not mask:
            return _FALSE
        if mask == self._whole[feature]:
            return _TRUE
        key = feature, mask
        if key not in self._set_of:
            self._waiting.append(({feature: mask}, []))
            self._set_of[key] = -len(self._waiting)
        return self._set_of[key]

    def _cells(self, mask: int) -> list[int]:
        if mask not in self._cells_of:
            self._cells_of[mask] = cells_of(mask)
        return self._cells_of[mask]

    def _built(self, node: int) -> int:
        if node >= 0:
            return node
        if node not in self._built_of:
            self._built_of[node] = self._joined(*self._waiting[-1 - node])
        return self._built_of[node]

    def _joined(self, sets: Mapping[int, int], others: Iterable[int]) -> int:
        """Return the conjunction of sets of cells, by feature, and other nodes."""
        left, parts = dict(sets), list[int]()
        for other in others:
            feature, arcs = self._arcs_of.get(other, (-1, []))
            # The restriction goes into the decision's arcs: beside it, the feature would be met twice.
            if feature in left:
                mask = left.pop(feature)
                other = self._fork(feature, [(mask & cells, child) for cells, child in arcs])
            parts.append(other)
        parts += [self._build.literal(feature, self._cells(mask)) for feature, mask in left.items()]
        return parts[0] if len(parts) == 1 else self._build.conjunction(parts)

    def _fork(self, feature: int, arcs: Iterable[tuple[int, int]]) -> int:
        """Return the decision with these cells and children; a child that decides the same feature is taken apart."""
        flat: list[tuple[int, int]] = []
        for mask, child in arcs:
            below, inner = self._arcs_of.get(child, (-1, []))
            flat += [(mask & m, c) for m, c in inner] if below == feature else [(mask, child)]
        flat = [(mask, child) for mask, child in flat if mask]
        before = len(self._build)
        made = self._build.decision(feature, [(self._cells(mask), child) for mask, child in flat])
        # Only of a new node: a shared one, or a child in its place, has its own arcs noted.
        if made >= before:
            self._arcs_of[made] = feature, flat
        return made

    def conjunction(self, parts: Iterable[int]) -> int:
        sets: dict[int, int] = {}
        others: list[int] = []
        for part in parts:
            if part == _FALSE:
                return _FALSE
            if part > 0:
                if part != _TRUE:
                    others.append(part)
                continue
            inner, rest = self._waiting[-1 - part]
            # Copied from conjunction to conjunction, many parts would take quadratic time.
            if len(inner) + len(rest) > _FEW_PARTS:
                others.append(self._built(part))
                continue
            others += rest
            for feature, mask in inner.items():
                sets[feature] = mask & sets.get(feature, mask)
                if not sets[feature]:
                    return _FALSE
        if not others and len(sets) == 1:
            return self._set(*sets.popitem())
        if not sets or len(others) + len(sets) > _MOST_PARTS:
            return self._joined(sets, others) if sets or others else _TRUE
        self._waiting.append((sets, others))
        return -len(self._waiting)

    def disjunction(self, parts: Iterable[int]) -> int:
        kept = [part for part in dict.fromkeys(parts) if part != _FALSE]
        if _TRUE in kept:
            return _TRUE
        if len(kept) <= 1:
            return kept[0] if kept else _FALSE
        waiting = [self._waiting[-1 - part] for part in kept if part < 0]
        if len(waiting) == len(kept):
            for feature in waiting[0][0]:
                # Deterministic by its form, and compilers write decisions this way.
                if _are_disjoint(waiting, feature):
                    return self._decision(feature, kept)
            if all(not others and sets.keys() == waiting[0][0].keys() and len(sets) == 1 for sets, others in waiting):
                return self._union(waiting)
        return self._build.disjunction([self._built(part) for part in kept])

    def _union(self, waiting: Sequence[tuple[dict[int, int], list[int]]]) -> int:
        ((feature, union),) = waiting[0][0].items()
        for sets, _ in waiting:
            union |= sets[feature]
        return self._set(feature, union)

    def _decision(self, feature: int, parts: Sequence[int]) -> int:
        masks = [self._waiting[-1 - part][0][feature] for part in parts]
        ends = [self._without(part, feature) for part in parts]
        if ends.count(_TRUE) == len(ends):
            return self._set(feature, sum(masks))
        return self._fork(feature, zip(masks, ends, strict=True))

    def _without(self, part: int, feature: int) -> int:
        """Return what a waiting conjunction demands beside the cells of `feature`."""
        sets, others = self._waiting[-1 - part]
        if len(sets) == 1:
            return others[0] if len(others) == 1 else self._build.conjunction(others)
        key = part, feature
        if key not in self._remainders:
            rest = {i: mask for i, mask in sets.items() if i != feature}
            self._remainders[key] = self._joined(rest, others)
        return self._remainders[key]


def _are_disjoint(waiting: Iterable[tuple[dict[int, int], list[int]]], feature: int) -> bool:
    """Tell whether every conjunction names cells of `feature`, and no two the same."""
    seen = 0
    for sets, _ in waiting:
        mask = sets.get(feature, 0)
        if not mask or mask & seen:
            return False
        seen |= mask
    return True


_Scoped = tuple[int, int]  # a node, and the demanding features below it as an int


def nnf_of(circuit: Circuit, *, code: str = "direct") -> Nnf:
    """Return the circuit over bits whose models are the codes of the circuit's points.

    Parameters
    ----------
    circuit
        Decisions, conjunctions and disjunctions.
    code
        How a feature's cells are written; variables are numbered as by ``Variables.of_code``.

    Raises
    ------
    CircuitError
        If the code is unknown.

    Notes
    -----
    Every node is made true on codes only, over the bits of the features below it; so a disjunction,
    and a decision, adds to each part that what the part does not mention is a code. The result is
    decomposable and deterministic if the circuit is. Linear in the circuit and the cells of its
    labels, but for these additions: one conjunction for each set of features that some part lacks.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> nnf = nnf_of(build.circuit(build.literal(1, [1])))
    >>> nnf.n_variables, nnf.parts
    (2, [(2,)])
    """
    return _Writer(circuit, code).nnf()


def first_bits(grid: Grid, code: str) -> list[int]:
    """Return the number of variables before those of each feature, and behind it that of all."""
    found = [0]
    for i in range(len(grid.axes)):
        found.append(found[-1] + len(bits_of(grid, i, code=code)))
    return found


class _Writer:
    """Makes nodes over bits, equal ones once."""

    def __init__(self, circuit: Circuit, code: str) -> None:
        self._circuit = circuit
        self._code = code
        self._first = first_bits(circuit.grid, code)
        self._nnf = Nnf(self._first[-1])
        self._node_of: dict[tuple[int, tuple[int, ...]], int] = {}
        self.true = self._node(CONJUNCTION, ())
        self.false = self._node(DISJUNCTION, ())
        self._members_of: dict[tuple[int, tuple[int, ...]], int] = {}
        self._codes_of: dict[int, int] = {}
        # features some of whose bit vectors are no code: only these must be mentioned everywhere
        sizes = enumerate(circuit.grid.n_cells)
        self._demanding = [i for i, n in sizes if 1 << (self._first[i + 1] - self._first[i]) != n]
        self._bit_of = {i: 1 << k for k, i in enumerate(self._demanding)}

    def nnf(self) -> Nnf:
        """Return the nodes that the root reaches."""
        root = self._root()
        nnf, number = Nnf(self._nnf.n_variables), dict[int, int]()
        del self._nnf.kinds[root + 1 :], self._nnf.parts[root + 1 :]
        for node in self._nnf.reached():
            kind, parts = self._nnf.kinds[node], self._nnf.parts[node]
            if node in self._nnf.choices:
                nnf.choices[len(nnf.kinds)] = self._nnf.choices[node]
            number[node] = nnf.add(kind, parts if kind == LITERAL else [number[part] for part in parts])
        return nnf

    def _root(self) -> int:
        root, scope = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda parts: (self._conjunction([node for node, _ in parts]), united_scope(parts)),
            disjunction=lambda parts: (self._disjunction(self._evened(parts)), united_scope(parts)),
            false=(self.false, 0),
            true=(self.true, 0),
            forget=True,  # scopes are long ints
        )[-1]
        return self._lifted(root, (1 << len(self._demanding)) - 1 & ~scope)

    def _evened(self, parts: Sequence[_Scoped]) -> list[int]:
        """Return parts that all mention what one of them does."""
        scope = united_scope(parts)
        return [self._lifted(node, scope & ~own) for node, own in parts]

    def _node(self, kind: int, parts: tuple[int, ...]) -> int:
        key = kind, parts
        node = self._node_of.get(key)
        if node is None:
            node = self._node_of[key] = self._nnf.add(kind, parts)
        return node

    def _conjunction(self, parts: Sequence[int]) -> int:
        if self.false in parts:
            return self.false
        kept = tuple(dict.fromkeys(part for part in parts if part != self.true))
        return kept[0] if len(kept) == 1 else self._node(CONJUNCTION, kept)

    def _disjunction(self, parts: Sequence[int]) -> int:
        if self.true in parts:
            return self.true
        kept = tuple(dict.fromkeys(part for part in parts if part != self.false))
        return kept[0] if len(kept) == 1 else self._node(DISJUNCTION, kept)

    def _fork(self, variable: int, high: int, low: int) -> int:
        if high == low:
            return high
        made = self._disjunction(
            [
                self._conjunction([self._node(LITERAL, (variable,)), high]),
                self._conjunction([self._node(LITERAL, (-variable,)), low]),
            ]
        )
        if high != self.false and low != self.false:
            self._nnf.choices[made] = variable
        return made

    def _decision(self, feature: int, labels: list[int], parts: list[_Scoped]) -> _Scoped:
        sets = self._circuit.cell_sets
        ways = [
            self._conjunction([self._members(feature, sets[k]), end])
            for k, end in zip(labels, self._evened(parts), strict=True)
        ]
        return self._disjunction(ways), united_scope(parts) | self._bit_of.get(feature, 0)

    def _lifted(self, node: int, missing: int) -> int:
        """Return "`node`, and the bits of the demanding features `missing` are codes"."""
        if not missing or node == self.false:
            return node
        if missing not in self._codes_of:
            n_cells = self._circuit.grid.n_cells
            lacking = [self._demanding[k] for k in features_of(missing)]
            parts = [self._members(i, tuple(range(n_cells[i]))) for i in lacking]
            self._codes_of[missing] = self._conjunction(parts)
        return self._conjunction([node, self._codes_of[missing]])

    def _members(self, feature: int, cells: tuple[int, ...]) -> int:
        """Return the node of "the bits of `feature` are the code of one of `cells`"."""
        key = feature, cells
        if key not in self._members_of:
            n_cells, before = self._circuit.grid.n_cells[feature], self._first[feature] + 1
            n_bits = self._first[feature + 1] - self._first[feature]

            def fork(k: int, high: int, low: int) -> int:
                return self._fork(before + k, high, low)

            make = _binary if self._code == "binary" else _direct if n_bits == n_cells else _order
            self._members_of[key] = make(n_cells, set(cells), fork, self.true, self.false)
        return self._members_of[key]


def _direct(n_cells: int, cells: Collection[int], fork: Fork, true: int, false: int) -> int:
    node, zeros = false, true
    for k in reversed(range(n_cells)):
        node = fork(k, zeros if k in cells else false, node)
        zeros = fork(k, false, zeros)
    return node


def _order(n_cells: int, cells: Collection[int], fork: Fork, true: int, false: int) -> int:
    node, zeros = (true if n_cells - 1 in cells else false), true
    for k in reversed(range(n_cells - 1)):
        node = fork(k, node, zeros if k in cells else false)
        zeros = fork(k, false, zeros)
    return node


def _binary(n_cells: int, cells: Collection[int], fork: Fork, true: int, false: int) -> int:
    width = (n_cells - 1).bit_length()
    layer = [true if c in cells else false for c in range(n_cells)]
    for k in reversed(range(width)):
        layer += [false] * (len(layer) % 2)
        layer = [fork(k, layer[c + 1], layer[c]) for c in range(0, len(layer), 2)]
    return layer[0]
