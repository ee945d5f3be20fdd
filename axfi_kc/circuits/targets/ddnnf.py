"""Deterministic decomposable circuits (d-DNNF), in the arrays of circuits, made small.

Conjunctions of disjoint scopes, disjunctions whose parts exclude each other, decisions and literals:
the largest language here in which counting is linear. It is not closed: the complement of such a
circuit, or the conjunction of two, may be exponentially larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from axfi_kc.budget import Budget, Watch
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE, Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.queries.determinism import claim_deterministic, note_like
from axfi_kc.circuits.targets.mdd import InArrays, mdd_of

__all__ = ["Ddnnf", "ddnnf_of", "shrunk"]


Factors = frozenset[int]
_NO_FACTORS: Factors = frozenset()


def shrunk(circuit: Circuit) -> Circuit:
    """Return an equal circuit with conjunctions in the place of chains and of what alternatives share.

    Every node is taken as the set of its factors, parts whose conjunction it is. What all arcs of a
    decision, or all parts of a disjunction, have in common becomes a factor of the whole; of a
    decision with one arc only a literal is left.

    Notes
    -----
    Linear. Mostly fewer nodes, but a single link that is no part of a chain becomes a literal and a
    conjunction. Needs a decomposable circuit, and keeps it that and deterministic: whatever is taken out
    can be satisfied apart from what is left. Factors of a node that several others use stay inside.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 2) for name in "abc"])))
    >>> ways = [([k], build.decision(1, [([1], build.literal(2, [k]))])) for k in range(3)]
    >>> circuit = build.circuit(build.decision(0, ways))
    >>> circuit.size, shrunk(circuit).size
    (Size(nodes=7, edges=9), Size(nodes=6, edges=9))
    """
    return _Shrinking(circuit).circuit()


class _Shrinking:
    """One pass over a circuit, children first."""

    def __init__(self, circuit: Circuit) -> None:
        self._source = circuit
        self._build = CircuitBuilder(circuit.grid)
        self._uses = np.bincount(circuit.children, minlength=len(circuit.kinds)).tolist()
        self._factors: list[Factors | None] = []  # None is false
        self._parts: list[list[int]] = []  # of disjunctions

    def circuit(self) -> Circuit:
        """Return the new circuit."""
        source = self._source
        for node, kind in enumerate(source.kinds.tolist()):
            arcs = source.arcs(node)
            self._parts.append([])
            if kind == DECISION:
                self._factors.append(self._decision(int(source.features[node]), arcs))
            elif kind == AND:
                self._factors.append(self._conjunction(child for _, child in arcs))
            elif kind == OR:
                self._factors.append(self._disjunction(node, [child for _, child in arcs]))
            else:
                self._factors.append(_NO_FACTORS if kind == TRUE else None)
        return self._build.circuit(self._whole(source.root))

    def _whole(self, node: int) -> int:
        factors = self._factors[node]
        return self._build.false if factors is None else self._build.conjunction(factors)

    def _visible(self, node: int) -> Factors:
        """Return the factors of a node that is not false, or itself if others use it too."""
        factors = self._factors[node] or _NO_FACTORS
        # Factors of a shared node would be copied into each of its parents.
        if self._uses[node] > 1 and len(factors) > 1:
            return frozenset([self._build.conjunction(factors)])
        return factors

    def _conjunction(self, children: Iterable[int]) -> Factors | None:
        found: set[int] = set()
        for child in children:
            if self._factors[child] is None:
                return None
            found |= self._visible(child)
        return frozenset(found)

    def _decision(self, feature: int, arcs: Sequence[tuple[tuple[int, ...], int]]) -> Factors | None:
        live = [(cells, self._visible(child)) for cells, child in arcs if self._factors[child] is not None]
        if not live:
            return None
        common = frozenset.intersection(*(factors for _, factors in live))
        rest = [(cells, self._build.conjunction(factors - common)) for cells, factors in live]
        return common | {self._build.decision(feature, rest)} - {self._build.true}

    def _disjunction(self, node: int, children: Sequence[int]) -> Factors | None:
        live = [child for child in children if self._factors[child] is not None]
        if not live:
            return None
        common = frozenset.intersection(*map(self._visible, live))
        parts: list[int] = []
        for child in live:
            # Parts of an inner disjunction can be taken over as they are, if nothing was taken out of it here.
            inner = self._parts[child] if not common and self._uses[child] == 1 else []
            parts += inner or [self._build.conjunction(self._visible(child) - common)]
        if not common:
            self._parts[node] = parts
        return common | {self._build.disjunction(parts)} - {self._build.true}


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
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
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
    circuit: Form, *, deterministic: bool = False, smooth: bool = False, budget: Budget | None = None
) -> Ddnnf:
    """Return `circuit` as a small deterministic decomposable circuit.

    Parameters
    ----------
    circuit
        Of any kind. One that is decomposable and evidently deterministic
        (:func:`axfi_kc.circuits.queries.determinism`) is kept; any other one becomes an ordered diagram first.
    deterministic
        Whether it is known to be deterministic, as the circuit of an SDD is. It is then refused only if a short check
        refutes it.
    smooth
        Whether to let all parts of a disjunction, and all arcs of a decision, speak about the same
        features; this makes it larger.
    budget
        What the ordered diagram may cost, if there has to be one.

    Notes
    -----
    Linear, unless an ordered diagram has to be made. Equal nodes are shared, conjunctions in
    conjunctions and disjunctions in disjunctions are one where nobody else uses the inner one, a
    decision with one arc is a literal and its child, and what all arcs share is taken out. Where
    this saves no nodes, the circuit stays as it was.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 2) for name in "abc"])))
    >>> ways = [([k], build.decision(1, [([1], build.literal(2, [k]))])) for k in range(3)]
    >>> same = build.circuit(build.decision(0, ways))
    >>> same.size, ddnnf_of(same).size
    (Size(nodes=7, edges=9), Size(nodes=6, edges=9))
    """
    circuit, watch = circuit_in(circuit), Watch(budget)
    if deterministic:
        claim_deterministic(circuit)
    search = Budget(seconds=watch.budget.seconds, nodes=_STEPS, bytes=watch.budget.bytes)
    kept = queries.is_decomposable(circuit) and queries.determinism(circuit, budget=search).verdict == "proved"
    source = circuit if kept else _diagram(circuit, watch.rest())
    small = min(note_like(shrunk(source), source), source, key=lambda c: (c.size.nodes, c.size.edges))
    return Ddnnf(queries.smooth(small, budget=watch.rest()) if smooth else small, not kept, smooth)


def _diagram(circuit: Circuit, budget: Budget) -> Circuit:
    """Return an ordered diagram; over features of two cells it is an OBDD, which its library conjoins faster."""
    if max(circuit.grid.n_cells, default=1) > 2:
        return mdd_of(circuit, budget=budget).circuit
    from axfi_kc.circuits.targets.obdd import obdd_of

    return obdd_of(circuit, budget=budget).to_circuit()
