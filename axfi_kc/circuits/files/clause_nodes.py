"""Clauses as nodes, and the gates that auxiliary variables stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf

__all__ = ["nnf_of_clauses", "nnf_of_gates"]


_Clauses = Sequence[Sequence[int]]
_Gate = tuple[int, list[int]]  # CONJUNCTION or DISJUNCTION, and the literals


def nnf_of_clauses(clauses: Iterable[Sequence[int]], n_variables: int, *, spend: Callable[[int], None]) -> Nnf:
    """Return the conjunction of clauses, each "its first literal, or else the rest", which is deterministic."""
    nodes = _Nodes(n_variables)
    tops = []
    for clause in clauses:
        spend(len(clause))
        tops.append(nodes.clause(clause))
    nodes.nnf.add(CONJUNCTION, tops)
    return nodes.nnf


def nnf_of_gates(clauses: _Clauses, n_bits: int, *, spend: Callable[[int], None]) -> Nnf | None:
    """Return the conjunction of clauses over the first `n_bits` variables, gates in the place of all others.

    Parameters
    ----------
    clauses
        As :func:`~axfi_kc.circuits.files.cnf.write_cnf` writes them.
    n_bits
        The number of plain variables; each later one is a gate of variables before it.
    spend
        Pays a step for each literal.

    Returns
    -------
    Nnf or None
        None if a later variable is not such a gate.

    Notes
    -----
    Linear. Exact for the clauses of any program: those of a gate only say that its variable is equivalent to it, so
    forgetting the variable puts the gate in its place.
    """
    spend(sum(map(len, clauses)))
    found = _gates_and_others(clauses, n_bits)
    if found is None:
        return None
    gates, others = found
    nodes = _Nodes(n_bits)
    nodes.add_gates(gates, needed={literal for clause in others for literal in clause})
    nodes.nnf.add(CONJUNCTION, [nodes.clause(clause) for clause in others])
    return nodes.nnf


class _Nodes:
    """Literals, gates and clauses of an Nnf."""

    def __init__(self, n_variables: int) -> None:
        self.nnf = Nnf(n_variables)
        self._node_of: dict[int, int] = {}

    def _literal(self, literal: int) -> int:
        if literal not in self._node_of:
            self._node_of[literal] = self.nnf.add(LITERAL, (literal,))
        return self._node_of[literal]

    def clause(self, clause: Sequence[int]) -> int:
        """Return the node of a clause; where it has gates, the disjunction as it was written."""
        if any(abs(literal) > self.nnf.n_variables for literal in clause):
            return self.nnf.add(DISJUNCTION, [self._literal(literal) for literal in clause])
        node = self.nnf.add(DISJUNCTION, ())
        for literal in reversed(clause):
            rest = self.nnf.add(CONJUNCTION, (self._literal(-literal), node))
            node = self.nnf.add(DISJUNCTION, (self._literal(literal), rest))
        return node

    def add_gates(self, gates: Mapping[int, _Gate], *, needed: set[int]) -> None:
        """Add the gates, and the negations of gates, that `needed` literals lead to."""
        for variable, (_, literals) in reversed(list(gates.items())):
            for sign in (1, -1):
                if sign * variable in needed:
                    needed.update(sign * literal for literal in literals)
        negated = {CONJUNCTION: DISJUNCTION, DISJUNCTION: CONJUNCTION}
        for variable, (kind, literals) in gates.items():
            for sign, made in ((1, kind), (-1, negated[kind])):
                if sign * variable in needed:
                    parts = [self._literal(sign * literal) for literal in literals]
                    self._node_of[sign * variable] = self.nnf.add(made, parts)


def _gates_and_others(clauses: _Clauses, n_bits: int) -> tuple[dict[int, _Gate], _Clauses] | None:
    """Return the gate of each variable above `n_bits`, and the other clauses; None if there is another variable."""
    gates: dict[int, _Gate] = {}
    others: list[Sequence[int]] = []

    def are_known(literals: Sequence[int]) -> bool:
        return all(abs(literal) <= n_bits or abs(literal) in gates for literal in literals)

    k = 0
    while k < len(clauses):
        variable = abs(clauses[k][0]) if clauses[k] else 0
        if variable > n_bits and variable not in gates:
            gate, k = _gate(clauses, k)
            if gate is None or not are_known(gate[1]):
                return None
            gates[variable] = gate
            continue
        if not are_known(clauses[k]):
            return None
        others.append(clauses[k])
        k += 1
    return gates, others


def _gate(clauses: _Clauses, first: int) -> tuple[_Gate | None, int]:
    """Return the gate that the clauses from the number `first` on define, and the number behind them.

    They are "not g, or a" for each literal a of a conjunction g, and then "g, or not a, or not b, ..."; a disjunction
    has all signs the other way round. The last clause is left out where it is always true.
    """
    head = clauses[first][0] if len(clauses[first]) > 1 else -clauses[first][0]
    end = first
    while end < len(clauses) and len(clauses[end]) == 2 and clauses[end][0] == head:
        end += 1
    ends = [clause[1] for clause in clauses[first:end]]
    if {-literal for literal in ends}.isdisjoint(ends):
        if end == len(clauses) or set(clauses[end]) != {-head, *(-literal for literal in ends)}:
            return None, end
        end += 1
    sign = 1 if head < 0 else -1
    return (CONJUNCTION if head < 0 else DISJUNCTION, [sign * literal for literal in ends]), end
