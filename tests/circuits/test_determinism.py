"""Whether points are counted once: proved, refuted, or given up within a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.errors import BudgetError
from tests.support.circuit_strategies import MODEST, circuits, deterministic_circuits, node_truth, overlapping
from tests.support.large_circuits import boolean_grid, deterministic_dag


@MODEST
@given(st.data(), st.booleans())
def test_determinism(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    bad = overlapping(circuit)
    found = queries.determinism(circuit)
    assert queries.is_deterministic(circuit) == (not bad)
    assert found.verdict == ("refuted" if bad else "proved")
    if bad:
        assert found.node in bad
        assert sum(node_truth(circuit, c, found.witness) for _, c in circuit.arcs(found.node)) > 1


@MODEST
@given(deterministic_circuits())
def test_literals_alone_prove_most_circuits(circuit):
    assert queries.determinism(circuit, budget=Budget(nodes=1)).verdict == "proved"


def test_determinism_within_a_budget():
    build = CircuitBuilder(boolean_grid(12))
    odd, even = build.false, build.true
    for i in range(12):  # parities exclude each other, but fix no feature
        odd, even = (
            build.decision(i, [([0], odd), ([1], even)]),
            build.decision(i, [([0], even), ([1], odd)]),
        )
    circuit = build.circuit(build.disjunction([odd, even]))
    assert queries.determinism(circuit).verdict == "proved"
    assert queries.determinism(circuit, budget=Budget(nodes=3)).verdict == "unchecked"
    with pytest.raises(BudgetError):
        queries.is_deterministic(circuit, budget=Budget(nodes=3))


def test_determinism_of_large_circuits():
    assert queries.determinism(deterministic_dag(30_000), budget=Budget(nodes=1)).verdict == "proved"
