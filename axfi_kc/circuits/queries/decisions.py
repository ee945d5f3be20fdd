"""Disjunctions that are decisions in disguise.

Compilers write "if x then A else B" as a disjunction of two conjunctions that hold opposite literals
of x. Read back as a decision it is deterministic by its form, and whether it holds everywhere in a
box can be told without counting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axfi_kc.circuits.circuit import OR, Circuit, CircuitBuilder

__all__ = ["has_disjunctions", "with_decisions"]


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
    >>> from axfi_kc.domain import Domain, Grid, Integer
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
    sets = circuit.cell_sets
    found = circuit.fold(
        decision=lambda i, labels, below: rebuilt.decision(i, list(zip([sets[k] for k in labels], below, strict=True))),
        conjunction=rebuilt.conjunction,
        disjunction=rebuilt.disjunction,
        false=rebuilt.build.false,
        true=rebuilt.build.true,
    )
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
            # No cell twice: whichever cell the feature takes, one part at most can hold.
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
