"""A second count, by another way, confirms the first or refuses it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.queries import count
from axfi_kc.circuits.queries.recounting import recount
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.circuit_strategies import MODEST, circuits, overlapping, satisfying
from tests.support.large_circuits import deterministic_dag, layered_diagram


@MODEST
@given(st.data(), st.booleans())
def test_recounts(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    worths = [[data.draw(st.integers(0, 3)) for _ in range(n)] for n in circuit.grid.n_cells]
    expected = 0
    for x in satisfying(circuit):
        product = 1
        for row, c in zip(worths, x, strict=True):
            product *= row[c]
        expected += product
    assert recount(circuit, worths) == expected


@MODEST
@given(circuits())
def test_checked_counts_are_right_or_refused(circuit):
    try:
        found = queries.count(circuit, check=True)
    except CircuitError:
        assert overlapping(circuit)
    else:
        assert found == len(satisfying(circuit))


def test_checked_count_of_a_diagram_within_a_budget():
    circuit = layered_diagram(3_000, n_features=100)
    assert queries.count(circuit, check=True) == queries.count(circuit)
    with pytest.raises(BudgetError, match="budget"):
        queries.count(circuit, check=True, budget=Budget(nodes=10))
    with pytest.raises(BudgetError, match="budget"):
        queries.count(deterministic_dag(40_000), check=True, budget=Budget(seconds=1e-9))


def test_a_second_count_notices_points_counted_twice() -> None:
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])))
    circuit = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [1])]))
    with pytest.raises(CircuitError, match="two parts of node 3 of this one hold where a = 1, b >= 1"):
        count(circuit)
    with pytest.raises(CircuitError, match="another number"):
        count(circuit, check=True)
    with pytest.raises(CircuitError, match="another number"):  # which is remembered
        queries.probability(circuit)
