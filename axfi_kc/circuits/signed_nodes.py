"""Nodes in the making, each with its complement, so that negation costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder

__all__ = ["Signed", "SignedNodes"]


Signed = tuple[int, int]  # a node of a builder, and that of its complement


class SignedNodes:
    """Makes nodes of a builder together with their complements.

    Wherever there is a choice, the parts of a disjunction exclude each other: "the first, or else the rest". So what
    is made of parts over disjoint features is deterministic and decomposable, and can be counted as it stands.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> nodes = SignedNodes(CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]))))
    >>> a, b = nodes.decision(0, [([1], nodes.true)]), nodes.decision(1, [([1], nodes.true)])
    >>> from axfi_kc.circuits import queries
    >>> [queries.count(nodes.build.circuit(nodes.apply(name, a, b)[0])) for name in ("and", "or", "xor", "implies")]
    [1, 3, 2, 3]
    """

    def __init__(self, build: CircuitBuilder) -> None:
        self.build = build
        self._n_cells = build.grid.n_cells
        self.true: Signed = (build.true, build.false)
        self.false: Signed = (build.false, build.true)

    def decision(self, feature: int, arcs: Sequence[tuple[Iterable[int], Signed]]) -> Signed:
        """Return the node that sends sets of cells to nodes, and all other cells to false."""
        given = [(tuple(cells), node) for cells, node in arcs]
        named = {c for cells, _ in given for c in cells}
        rest = [c for c in range(self._n_cells[feature]) if c not in named]
        other = [*((cells, n) for cells, (_, n) in given), (rest, self.build.true)]
        return self.build.decision(feature, [(cells, p) for cells, (p, _) in given]), self.build.decision(
            feature, other
        )

    def conjunction(self, parts: Sequence[Signed]) -> Signed:
        """Return the conjunction; its complement is "not the first, or the first and not the rest"."""
        other = self.build.false
        for p, not_p in reversed(parts):
            other = self.build.disjunction([not_p, self.build.conjunction([p, other])])
        return self.build.conjunction(p for p, _ in parts), other

    def disjunction(self, parts: Sequence[Signed]) -> Signed:
        """Return the disjunction of parts that should exclude each other, as they are; :meth:`apply` takes any."""
        return self.build.disjunction(p for p, _ in parts), self.build.conjunction(n for _, n in parts)

    def apply(self, operator: str, a: Signed, b: Signed) -> Signed:
        """Return an operation of :data:`axfi_kc.circuits.operations.OPERATORS` on any two nodes."""
        not_a, not_b = a[::-1], b[::-1]
        if operator in ("xor", "equiv"):
            found = self._different(a, b)
            return found if operator == "xor" else found[::-1]
        # The others are conjunctions, or complements of conjunctions.
        first, second = {"and": (a, b), "diff": (a, not_b), "or": (not_a, not_b), "implies": (a, not_b)}[operator]
        found = self.conjunction([first, second])
        return found if operator in ("and", "diff") else found[::-1]

    def _different(self, a: Signed, b: Signed) -> Signed:
        sides = ((a[0], b[1]), (a[1], b[0])), ((a[0], b[0]), (a[1], b[1]))
        one, other = (self.build.disjunction([self.build.conjunction(part) for part in side]) for side in sides)
        return one, other

    def load(self, circuit: Circuit, account: Account | None = None) -> Signed:
        """Return the root of a circuit over the same cells (cost: linear)."""
        sets = circuit.cell_sets

        def decision(feature: int, labels: list[int], below: list[Signed]) -> Signed:
            return self.decision(feature, [(sets[k], node) for k, node in zip(labels, below, strict=True)])

        return circuit.fold(
            decision=decision,
            conjunction=self.conjunction,
            disjunction=self.disjunction,
            false=self.false,
            true=self.true,
            account=account,
        )[-1]
