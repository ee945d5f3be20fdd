"""Circuits over Boolean variables, between a file and :class:`~axfi_kc.circuits.circuit.Circuit`.

Every format of negation normal form is parsed into :class:`Nnf` and written from it, so what a
variable means for the features is translated in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.circuits.targets.bit_codes import cells_of, mask_of
from axfi_kc.errors import CircuitError

__all__ = ["CONJUNCTION", "DISJUNCTION", "LITERAL", "Nnf", "circuit_of", "undecomposable"]


LITERAL, CONJUNCTION, DISJUNCTION = range(3)
_MOST_PARTS = 1_000  # of a conjunction that decisions take apart, each one for itself
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
    BudgetError
        If the budget is spent.

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
    spend = (account or Account(None, goal="circuit")).spend
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
