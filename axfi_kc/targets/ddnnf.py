"""Deterministic decomposable circuits (d-DNNF), in the arrays of circuits, made small.

Conjunctions of disjoint scopes, disjunctions whose parts exclude each other, decisions and literals:
the largest language here in which counting is linear. It is not closed: the complement of such a
circuit, or the conjunction of two, may be exponentially larger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from axfi_kc import queries
from axfi_kc.budget import Budget, Watch
from axfi_kc.circuit import Circuit
from axfi_kc.targets.ddnnf_nodes import shrunk
from axfi_kc.targets.mdd import InArrays, mdd_of

__all__ = ["Ddnnf", "ddnnf_of"]

_STEPS = 20_000  # steps to show that parts exclude each other before a diagram is made


@dataclass(frozen=True, slots=True, eq=False)
class Ddnnf(InArrays):
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
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> either = ddnnf_of(build.circuit(build.disjunction([build.literal(0, [2]), build.literal(1, [1])])))
    >>> either.converted, either.count(), either.probability()
    (True, 4, Fraction(2, 3))
    """

    circuit: Circuit = field(repr=False)
    converted: bool
    smooth: bool
    language: ClassVar[str] = "ddnnf"


def ddnnf_of(
    circuit: Circuit, *, deterministic: bool = False, smooth: bool = False, budget: Budget | None = None
) -> Ddnnf:
    """Return `circuit` as a small deterministic decomposable circuit.

    Parameters
    ----------
    circuit
        Of any kind. One that is decomposable and evidently deterministic
        (:func:`axfi_kc.queries.determinism`) is kept; any other one becomes an ordered diagram first.
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
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 2) for name in "abc"])))
    >>> ways = [([k], build.decision(1, [([1], build.literal(2, [k]))])) for k in range(3)]
    >>> same = build.circuit(build.decision(0, ways))
    >>> same.size, ddnnf_of(same).size
    (Size(nodes=7, edges=9), Size(nodes=6, edges=9))
    """
    watch = Watch(budget)
    search = Budget(seconds=watch.budget.seconds, nodes=_STEPS, bytes=watch.budget.bytes)
    kept = queries.is_decomposable(circuit) and (
        deterministic or queries.determinism(circuit, budget=search).verdict == "proved"
    )
    source = circuit if kept else mdd_of(circuit, budget=watch.rest()).circuit
    small = min(shrunk(source), source, key=lambda c: (c.size.nodes, c.size.edges))
    return Ddnnf(queries.smooth(small, budget=watch.rest()) if smooth else small, not kept, smooth)
