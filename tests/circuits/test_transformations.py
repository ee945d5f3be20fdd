"""The queries and transformations of the knowledge-compilation map against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer, Real
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import OR, CircuitBuilder
from axfi_kc.circuits.queries.recounting import recount
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.circuit_strategies import (
    circuits,
    deterministic_circuits,
    grids,
    ordered_diagrams,
    points,
    satisfying,
    truth,
)
from tests.support.large_circuits import boolean_grid, deterministic_dag, layered_diagram

MODEST = settings(max_examples=60, deadline=None)


def node_truth(circuit, node, x):
    made = []
    for k in range(node + 1):
        kind, arcs = int(circuit.kinds[k]), [(cells, made[c]) for cells, c in circuit.arcs(k)]
        if circuit.features[k] >= 0:
            made.append(any(t for cells, t in arcs if x[circuit.features[k]] in cells))
        else:
            made.append([False, True, None, all(t for _, t in arcs), any(t for _, t in arcs)][kind])
    return made[node]


def overlapping(circuit):
    """Return the disjunctions with two children that hold at one point."""
    found = set()
    for node in range(len(circuit.kinds)):
        if circuit.kinds[node] == OR:
            for x in points(circuit.grid):
                if sum(node_truth(circuit, c, x) for _, c in circuit.arcs(node)) > 1:
                    found.add(node)
    return found


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


@MODEST
@given(st.data())
def test_forgetting(data):
    circuit = data.draw(circuits())
    n = len(circuit.grid.n_cells)
    gone = data.draw(st.sets(st.integers(0, n - 1)))
    expected = {tuple(c for i, c in enumerate(x) if i not in gone) for x in satisfying(circuit)}
    forgotten = queries.forget(circuit, gone)
    assert not gone & set(forgotten.features.tolist())
    for x in points(circuit.grid):
        assert truth(forgotten, x) == (tuple(c for i, c in enumerate(x) if i not in gone) in expected)


@MODEST
@given(st.data(), st.booleans())
def test_singleton_forgetting(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    i = data.draw(st.integers(0, len(circuit.grid.n_cells) - 1))
    forgotten = queries.forget_one(circuit, i)
    assert i not in forgotten.features.tolist()
    for x in points(circuit.grid):
        others = [(*x[:i], c, *x[i + 1 :]) for c in range(circuit.grid.n_cells[i])]
        assert truth(forgotten, x) == any(truth(circuit, y) for y in others)


@MODEST
@given(st.one_of(circuits(), deterministic_circuits()))
def test_smoothing(circuit):
    smooth = queries.smooth(circuit)
    assert queries.is_smooth(smooth)
    assert queries.is_decomposable(smooth)
    assert satisfying(smooth) == satisfying(circuit)
    if not overlapping(circuit):
        assert queries.count(smooth) == len(satisfying(circuit))


@MODEST
@given(st.data())
def test_minimisation(data):
    circuit = data.draw(circuits())
    v = data.draw(st.sampled_from(points(circuit.grid)))
    distance = {x: sum(a != b for a, b in zip(x, v, strict=True)) for x in satisfying(circuit)}
    least = min(distance.values(), default=None)
    assert queries.minimum_changes(circuit, v) == least
    nearest = queries.minimised(circuit, v)
    assert satisfying(nearest) == [x for x, d in distance.items() if d == least]
    assert queries.is_decomposable(nearest)


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
        with pytest.raises(CircuitError, match="compile into mdd or obdd first"):
            compare(one, other)
    gate = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [0])]))
    assert not queries.is_ordered(gate)
    assert not queries.is_decision(gate)
    twice = build.decision(0, [([1], build.decision(1, [([1], build.literal(0, [0]))]))])
    assert queries.is_decision(build.circuit(twice))
    assert not queries.is_ordered(build.circuit(twice))


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


def test_languages():
    assert set(queries.languages_for("counting")) == {"mdd", "obdd", "sdd", "ddnnf"}
    queries.require("dnnf", "forgetting")
    with pytest.raises(CircuitError, match="compile into mdd, obdd, sdd, ddnnf or dnnf first"):
        queries.require("nnf", "consistency")
    for wrong in (("bdd", "counting"), ("mdd", "sorting")):
        with pytest.raises(CircuitError, match="one of"):
            queries.require(*wrong)
    named = set().union(*queries.LANGUAGES.values())
    assert named == {*queries.QUERIES, *queries.TRANSFORMATIONS}
