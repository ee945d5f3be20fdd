"""Consistency, validity, clauses, implicants and enumeration, against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from axfi_kc import Domain, Integer, Real
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import CircuitError
from tests.support.circuit_strategies import MODEST, circuits, deterministic_circuits, points, satisfying, truth
from tests.support.large_circuits import deterministic_dag


@MODEST
@given(st.data())
def test_consistency_and_clauses(data):
    circuit = data.draw(circuits())
    found = satisfying(circuit)
    box = {
        i: data.draw(st.sets(st.integers(0, n - 1)))
        for i, n in enumerate(circuit.grid.n_cells)
        if data.draw(st.booleans())
    }
    inside = [x for x in found if all(x[i] in cells for i, cells in box.items())]
    assert queries.is_consistent_within(circuit, queries.allowed_cells(circuit, box)) == bool(inside)
    assert queries.entails_clause(circuit, box) == all(any(x[i] in cells for i, cells in box.items()) for x in found)
    fixed = {i: min(cells) for i, cells in box.items() if cells}
    assert queries.is_consistent(circuit, fixed) == any(all(x[i] == c for i, c in fixed.items()) for x in found)


@MODEST
@given(st.data())
def test_validity_and_implicants(data):
    circuit = data.draw(deterministic_circuits())
    n_cells = circuit.grid.n_cells
    assert queries.is_valid(circuit) == (len(satisfying(circuit)) == len(points(circuit.grid)))
    term = {i: data.draw(st.sets(st.integers(0, n - 1))) for i, n in enumerate(n_cells) if data.draw(st.booleans())}
    inside = [x for x in points(circuit.grid) if all(x[i] in cells for i, cells in term.items())]
    assert queries.is_implicant(circuit, term) == all(truth(circuit, x) for x in inside)


@MODEST
@given(circuits())
def test_enumeration(circuit):
    assert list(queries.cell_models(circuit)) == satisfying(circuit)
    assert list(queries.models(circuit)) == satisfying(circuit)  # values 0, 1, 2 are their own cells


def test_enumeration_in_values():
    domain = Domain([Integer("age", 10, 14), Integer("b", 0, 1)])
    build = CircuitBuilder(Grid.of(domain, [[Cut(11.5, closed=True)], [Cut(0.0, closed=True)]]))
    circuit = build.circuit(build.conjunction([build.literal(0, [1]), build.literal(1, [0])]))
    assert list(queries.models(circuit)) == [(12, 0), (13, 0), (14, 0)]
    real = CircuitBuilder(Grid.of(Domain([Real("r", 0, 1)]), [[Cut(0.5, closed=True)]]))
    with pytest.raises(CircuitError, match="cell_models"):
        next(queries.models(real.circuit(real.true)))


def test_enumeration_does_not_wait():
    circuit = deterministic_dag(5_000, n_features=100)
    first = list(itertools.islice(queries.cell_models(circuit), 20))
    assert len(set(first)) == 20
    assert all(truth(circuit, x) for x in first)
