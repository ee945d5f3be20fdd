"""How a circuit's disjunctions are seen to be deterministic.

Compilers write "if x then A else B" as a disjunction of two conjunctions that hold opposite literals
of x. Read back as a decision it is deterministic by its form, and whether it holds everywhere in a
box can be told without counting. What remains a disjunction is checked by the cells that its parts
imply.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axfi_kc.circuit import AND, DECISION, OR, Circuit, CircuitBuilder

__all__ = ["has_disjunctions", "is_plainly_deterministic", "with_decisions"]

_Arcs = list[tuple[tuple[int, ...], int]]


def has_disjunctions(circuit: Circuit) -> bool:
    """Tell whether some node is a disjunction."""
    return bool((circuit.kinds == OR).any())


def with_decisions(circuit: Circuit) -> Circuit:
    """Return an equivalent circuit whose disjunctions are decisions wherever their parts show it.

    A disjunction becomes a decision on a feature when each of its parts is a decision on it, or a
    conjunction with one, and these lead disjoint sets of cells on.

    Notes
    -----
    Linear, and so is the result: at most one conjunction more per arc of a decision.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> a, not_a, b, not_b = (build.literal(i, [c]) for i in (0, 1) for c in (1, 0))
    >>> xor = build.disjunction([build.conjunction([a, not_b]), build.conjunction([not_a, b])])
    >>> xor = build.circuit(xor)
    >>> has_disjunctions(xor), has_disjunctions(with_decisions(xor))
    (True, False)
    """
    if not has_disjunctions(circuit):
        return circuit
    rebuilt = _Rebuilt(circuit)
    found: list[int] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = [(cells, found[child]) for cells, child in circuit.arcs(node)]
        if kind == DECISION:
            made = rebuilt.decision(int(circuit.features[node]), arcs)
        elif kind == AND:
            made = rebuilt.conjunction([child for _, child in arcs])
        elif kind == OR:
            made = rebuilt.disjunction([child for _, child in arcs])
        else:
            made = kind  # false is 0 and true is 1, in circuits and in builders
        found.append(made)
    return rebuilt.build.circuit(found[-1])


class _Rebuilt:
    """A builder that remembers what its nodes are made of."""

    def __init__(self, circuit: Circuit) -> None:
        self.build = CircuitBuilder(circuit.grid)
        self._arcs: dict[int, tuple[int, _Arcs]] = {}  # of decisions
        self._parts: dict[int, list[int]] = {}  # of conjunctions

    def decision(self, feature: int, arcs: _Arcs) -> int:
        before = len(self.build)
        made = self.build.decision(feature, arcs)
        if made >= before:
            self._arcs[made] = feature, [(cells, child) for cells, child in arcs if child != self.build.false]
        return made

    def conjunction(self, parts: Iterable[int]) -> int:
        before, kept = len(self.build), sorted(set(parts) - {self.build.true})
        made = self.build.conjunction(kept)
        if made >= before:
            self._parts[made] = kept
        return made

    def disjunction(self, parts: Sequence[int]) -> int:
        kept = sorted(set(parts) - {self.build.false})
        if self.build.true in kept or len(kept) < 2:
            return self.build.disjunction(kept)
        tested = set.intersection(*(self._tested(part) for part in kept))
        for feature in sorted(tested):
            cells = [c for part in kept for group, _ in self._arcs_on(part, feature)[0] for c in group]
            if len(cells) == len(set(cells)):
                return self.decision(feature, [arc for part in kept for arc in self._split(part, feature)])
        return self.build.disjunction(kept)

    def _tested(self, node: int) -> set[int]:
        """Return the features that the node decides on at once."""
        if node in self._arcs:
            return {self._arcs[node][0]}
        return {self._arcs[part][0] for part in self._parts.get(node, ()) if part in self._arcs}

    def _arcs_on(self, node: int, feature: int) -> tuple[_Arcs, list[int]]:
        """Return the arcs of the node's decision on `feature`, and what it is conjoined with."""
        if node in self._arcs:
            return self._arcs[node][1], []
        parts = self._parts[node]
        decision = next(part for part in parts if part in self._arcs and self._arcs[part][0] == feature)
        return self._arcs[decision][1], [part for part in parts if part != decision]

    def _split(self, node: int, feature: int) -> _Arcs:
        """Return the node as arcs of a decision on `feature`."""
        arcs, rest = self._arcs_on(node, feature)
        return [(cells, self.conjunction([child, *rest]) if rest else child) for cells, child in arcs]


def is_plainly_deterministic(circuit: Circuit) -> bool:
    """Tell whether any two parts of each disjunction imply disjoint sets of cells of some feature.

    True means deterministic; False means that it cannot be seen this way. The circuit must be
    decomposable.

    Notes
    -----
    Nodes below disjunctions times the features they restrict.
    """
    if not has_disjunctions(circuit):
        return True
    below = _below_disjunctions(circuit)
    full = [(1 << n) - 1 for n in circuit.grid.n_cells]
    implied: list[dict[int, int]] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        if kind == OR and not _exclude([implied[child] for _, child in arcs]):
            return False
        implied.append(_implied(circuit, node, kind, arcs, implied, full) if below[node] else {})
    return True


def _below_disjunctions(circuit: Circuit) -> list[bool]:
    """Tell for each node whether some disjunction needs to know what it implies."""
    found = [False] * len(circuit.kinds)
    for node in reversed(range(len(found))):
        if found[node] or circuit.kinds[node] == OR:
            for _, child in circuit.arcs(node):
                found[child] = True
    return found


def _implied(
    circuit: Circuit, node: int, kind: int, arcs: _Arcs, implied: Sequence[dict[int, int]], full: Sequence[int]
) -> dict[int, int]:
    """Return the features whose cells the node restricts, each with the cells it allows."""
    below = [implied[child] for _, child in arcs]
    if kind == AND:
        return {i: cells for part in below for i, cells in part.items()}
    found = _allowed_by_some(below, full)
    if kind == DECISION:
        i = int(circuit.features[node])
        cells = sum(1 << c for group, _ in arcs for c in group)
        if cells != full[i]:
            found[i] = cells
    return found


def _allowed_by_some(parts: Sequence[dict[int, int]], full: Sequence[int]) -> dict[int, int]:
    if len(parts) <= 1:
        return dict(parts[0]) if parts else {}
    found = {}
    for i in set.intersection(*(set(part) for part in parts)):
        cells = 0
        for part in parts:
            cells |= part[i]
        if cells != full[i]:
            found[i] = cells
    return found


def _exclude(parts: Sequence[dict[int, int]]) -> bool:
    """Tell whether any two of the parts have no cell of some feature in common."""
    return all(
        any(cells & other[i] == 0 for i, cells in part.items() if i in other)
        for k, part in enumerate(parts)
        for other in parts[:k]
    )
