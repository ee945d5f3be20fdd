"""Deterministic decomposable circuits (d-DNNF), in the arrays of circuits, made small.

Conjunctions of disjoint scopes, disjunctions whose parts exclude each other, decisions and literals:
the largest language here in which counting is linear. It is not closed: the complement of such a
circuit, or the conjunction of two, may be exponentially larger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from axfi_kc import queries
from axfi_kc.budget import Budget
from axfi_kc.circuit import AND, DECISION, OR, Circuit, Size
from axfi_kc.grid import Grid
from axfi_kc.targets.bit_codes import mask_of
from axfi_kc.targets.ddnnf_nodes import shrunk, smoothed
from axfi_kc.targets.mdd import bytes_of, mdd_of

__all__ = ["Ddnnf", "ddnnf_of", "is_evidently_deterministic"]


@dataclass(frozen=True, slots=True, eq=False)
class Ddnnf:
    """A deterministic decomposable circuit.

    Attributes
    ----------
    circuit
        Decomposable and deterministic.
    converted
        Whether the circuit it was made of was not evidently so, and went through an ordered diagram.
    smooth
        Whether all parts of a disjunction, and all arcs of a decision, speak about the same features.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> either = ddnnf_of(build.circuit(build.disjunction([build.literal(0, [2]), build.literal(1, [1])])))
    >>> either.converted, either.count(), either.probability()
    (True, 4, Fraction(2, 3))
    """

    circuit: Circuit = field(repr=False)
    converted: bool
    smooth: bool
    language: ClassVar[str] = "ddnnf"

    @property
    def grid(self) -> Grid:
        """The cells that literals speak about."""
        return self.circuit.grid

    @property
    def size(self) -> Size:
        """Nodes and edges; constants and edges to false are not counted."""
        return self.circuit.size

    @property
    def bytes(self) -> int:
        """The bytes of the circuit's arrays; see :func:`~axfi_kc.targets.mdd.bytes_of`."""
        return bytes_of(self.circuit)

    def to_circuit(self) -> Circuit:
        """Return the circuit that it is."""
        return self.circuit

    def count(self) -> int:
        """Return the number of points of the domain; see :func:`axfi_kc.queries.count`."""
        return queries.count(self.circuit)

    def probability(self) -> Fraction:
        """Return the probability under the domain's measure; see :func:`axfi_kc.queries.probability`."""
        return queries.probability(self.circuit)


def ddnnf_of(
    circuit: Circuit, *, deterministic: bool = False, smooth: bool = False, budget: Budget | None = None
) -> Ddnnf:
    """Return `circuit` as a small deterministic decomposable circuit.

    Parameters
    ----------
    circuit
        Of any kind. One that is decomposable and evidently deterministic
        (:func:`is_evidently_deterministic`) is kept; any other one becomes an ordered diagram first.
    deterministic
        Whether it is known to be deterministic, as the circuit of an SDD is; that is then not looked at.
    smooth
        Whether to let all parts of a disjunction, and all arcs of a decision, speak about the same
        features; this makes it larger.
    budget
        What the ordered diagram may cost, if there has to be one.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear, unless an ordered diagram has to be made. Equal nodes are shared, conjunctions in
    conjunctions and disjunctions in disjunctions are one where nobody else uses the inner one, a
    decision with one arc is a literal and its child, and what all arcs share is taken out. Where
    this saves no nodes, the circuit stays as it was.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 2) for name in "abc"])))
    >>> ways = [([k], build.decision(1, [([1], build.literal(2, [k]))])) for k in range(3)]
    >>> same = build.circuit(build.decision(0, ways))
    >>> same.size, ddnnf_of(same).size
    (Size(nodes=7, edges=9), Size(nodes=6, edges=9))
    """
    kept = queries.is_decomposable(circuit) and (deterministic or is_evidently_deterministic(circuit))
    source = circuit if kept else mdd_of(circuit, budget=budget).circuit
    small = min(shrunk(source), source, key=lambda c: (c.size.nodes, c.size.edges))
    return Ddnnf(smoothed(small) if smooth else small, not kept, smooth)


def is_evidently_deterministic(circuit: Circuit) -> bool:
    """Tell whether some feature tells the parts of each disjunction apart, two by two.

    Decisions are always deterministic. False says nothing: it is hard to know in general.

    Notes
    -----
    For each disjunction, quadratic in its parts; and for each node, the features that it confines.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> a, b, other = build.literal(0, [2]), build.literal(1, [1]), build.literal(0, [0, 1])
    >>> parts = [a, b], [a, build.conjunction([other, b])]
    >>> [is_evidently_deterministic(build.circuit(build.disjunction(p))) for p in parts]
    [False, True]
    """
    if not (circuit.kinds == OR).any():
        return True
    confined: list[dict[int, int]] = []  # per node: features, each with the cells outside which it is false
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        below = [confined[child] for _, child in arcs]
        if kind == OR and not all(_exclude(a, b) for k, a in enumerate(below) for b in below[:k]):
            return False
        if kind == DECISION:
            own = {int(circuit.features[node]): mask_of(c for cells, _ in arcs for c in cells)}
            confined.append(_all_of([own, _one_of(below)]))
        elif kind == AND:
            confined.append(_all_of(below))
        else:
            confined.append(_one_of(below))
    return True


def _exclude(a: dict[int, int], b: dict[int, int]) -> bool:
    if len(a) > len(b):
        a, b = b, a
    return any(i in b and not cells & b[i] for i, cells in a.items())


def _all_of(parts: list[dict[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in parts:
        for i, cells in part.items():
            found[i] = found[i] & cells if i in found else cells
    return found


def _one_of(parts: list[dict[int, int]]) -> dict[int, int]:
    if not parts:
        return {}
    first, *others = parts
    return {i: _united(cells, [p[i] for p in others]) for i, cells in first.items() if all(i in p for p in others)}


def _united(cells: int, others: list[int]) -> int:
    for other in others:
        cells |= other
    return cells
