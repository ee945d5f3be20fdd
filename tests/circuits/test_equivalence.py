"""Equivalence and entailment of circuits, against brute force."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.errors import CircuitError
from tests.support.circuit_strategies import MODEST, grids, ordered_diagrams, satisfying
from tests.support.large_circuits import boolean_grid


@MODEST
@given(st.data())
def test_comparisons(data):
    grid = data.draw(grids())
    order = data.draw(st.permutations(range(len(grid.n_cells))))
    a, b = (data.draw(ordered_diagrams(grid, order)) for _ in range(2))
    of_a, of_b = set(satisfying(a)), set(satisfying(b))
    assert queries.is_ordered(a)
    assert queries.is_equivalent(a, b) == (of_a == of_b)
    assert queries.entails(a, b) == (of_a <= of_b)


def test_diagrams_of_different_orders_are_refused():
    build = CircuitBuilder(boolean_grid(2))
    one, other = (
        build.circuit(build.decision(i, [([0], build.literal(j, [1])), ([1], build.literal(j, [0]))]))
        for i, j in [(0, 1), (1, 0)]
    )
    for compare in (queries.is_equivalent, queries.entails):
        with pytest.raises(CircuitError, match="compile into mdd, obdd or sdd first"):
            compare(one, other)
    gate = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [0])]))
    assert not queries.is_ordered(gate)
    assert not queries.is_decision(gate)
    twice = build.decision(0, [([1], build.decision(1, [([1], build.literal(0, [0]))]))])
    assert queries.is_decision(build.circuit(twice))
    assert not queries.is_ordered(build.circuit(twice))
