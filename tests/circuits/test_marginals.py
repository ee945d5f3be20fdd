"""Marginals, best points, samples and semirings of circuits, against sums over all points."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import inf, prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.circuit_strategies import MODEST, circuits, deterministic_circuits, satisfying
from tests.support.large_circuits import boolean_grid, layered_diagram


def _worths(data, circuit):
    return [[Fraction(data.draw(st.integers(0, 4)), 3) for _ in range(n)] for n in circuit.grid.n_cells]


def _weights(circuit, worths):
    found = {x: prod((w[c] for w, c in zip(worths, x, strict=True)), start=Fraction(1)) for x in satisfying(circuit)}
    return {x: w for x, w in found.items() if w}


@MODEST
@given(data=st.data())
def test_marginals_are_shares_of_points(data):
    circuit = data.draw(deterministic_circuits())
    worths = _worths(data, circuit)
    box = {0: data.draw(st.sets(st.integers(0, circuit.grid.n_cells[0] - 1), min_size=1))}
    weights = {x: w for x, w in _weights(circuit, worths).items() if x[0] in box[0]}
    if not weights:
        with pytest.raises(CircuitError, match="no such point"):
            queries.marginals(circuit, worths, given=box)
        return
    whole = sum(weights.values())
    found = queries.marginals(circuit, worths, given=box)
    for i, row in enumerate(found):
        assert row == [sum(w for x, w in weights.items() if x[i] == c) / whole for c in range(len(row))]


@MODEST
@given(circuit=deterministic_circuits())
def test_marginals_of_counts_and_measures(circuit):
    points = satisfying(circuit)
    if points:
        for i, row in enumerate(queries.marginals(circuit, "count")):
            assert row == [Fraction(sum(x[i] == c for x in points), len(points)) for c in range(len(row))]
            if not queries.probability(circuit):
                continue
            conditioned = [queries.probability(queries.condition(circuit, {i: c})) for c in range(len(row))]
            axis = circuit.grid.axes[i]
            shares = [p * Fraction(k, axis.denominator) for p, k in zip(conditioned, axis.numerators, strict=True)]
            assert queries.marginals(circuit)[i] == [s / queries.probability(circuit) for s in shares]


@MODEST
@given(data=st.data())
def test_best_points(data):
    circuit = data.draw(deterministic_circuits())
    worths, k = _worths(data, circuit), data.draw(st.integers(1, 9))
    weights = _weights(circuit, worths)
    found = queries.best_points(circuit, k, worths)
    assert [p.weight for p in found] == sorted(weights.values(), reverse=True)[:k]
    assert len({p.cells for p in found}) == len(found)
    assert all(weights[p.cells] == p.weight for p in found)


@MODEST
@given(data=st.data())
def test_one_best_point_needs_no_determinism(data):
    circuit = data.draw(circuits())
    worths = _worths(data, circuit)
    weights = _weights(circuit, worths)
    best = queries.best_point(circuit, worths)
    assert best is None if not weights else weights[best.cells] == best.weight == max(weights.values())


@MODEST
@given(data=st.data())
def test_samples_are_points_with_worths(data):
    circuit = data.draw(deterministic_circuits())
    worths = _worths(data, circuit)
    weights = _weights(circuit, worths)
    if weights:
        assert set(queries.sample(circuit, 20, worths, seed=1)) <= set(weights)
        assert len(weights) > 9 or set(queries.sample(circuit, 4000, worths, seed=2)) == set(weights)
    else:
        with pytest.raises(CircuitError, match="no point"):
            queries.sample(circuit, 1, worths, seed=1)


def test_samples_come_as_often_as_they_should():
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 2, weights=[1, 2, 3]), ax.Integer("b", 0, 1)])))
    circuit = build.circuit(build.decision(0, [([0], build.literal(1, [1])), ([1, 2], build.true)]))
    n, counts = 22_000, Counter(queries.sample(circuit, 22_000, seed=5))
    expected = {(0, 1): 1, (1, 0): 2, (1, 1): 2, (2, 0): 3, (2, 1): 3}
    assert set(counts) == set(expected)
    statistic = sum((counts[x] - n * w / 11) ** 2 / (n * w / 11) for x, w in expected.items())
    assert statistic < 18.47  # 0.999 quantile of chi-square with 4 degrees of freedom


def test_a_generator_goes_on():
    circuit = CircuitBuilder(boolean_grid(40)).circuit(CircuitBuilder.true)
    rng = Random(3)
    first, second = (queries.sample(circuit, 5, seed=rng) for _ in range(2))
    assert first != second
    assert [*first, *second] == queries.sample(circuit, 10, seed=3)


@MODEST
@given(data=st.data())
def test_semirings(data):
    circuit = data.draw(deterministic_circuits())
    worths = _worths(data, circuit)
    found = satisfying(circuit)
    rows = [[w - 1 for w in row] for row in worths]  # negative ones, too
    products = [prod(r[c] for r, c in zip(rows, x, strict=True)) for x in found]
    sums = [sum(r[c] for r, c in zip(rows, x, strict=True)) for x in found]
    assert queries.semiring_value(circuit, queries.NUMBERS, rows) == sum(products)
    assert queries.semiring_value(circuit, queries.MAX_PLUS, rows) == max(sums, default=-inf)
    assert queries.semiring_value(circuit, queries.MIN_PLUS, rows) == min(sums, default=inf)
    assert queries.semiring_value(circuit, queries.TRUTH, lambda i, c: True) == bool(found)
    heaviest = max(_weights(circuit, worths).values(), default=0)
    assert queries.semiring_value(circuit, queries.MAX_TIMES, worths) == heaviest


@MODEST
@given(data=st.data())
def test_counts_by_size(data):
    circuit = data.draw(deterministic_circuits())
    home = [data.draw(st.integers(0, n - 1)) for n in circuit.grid.n_cells]
    sizes = Counter(sum(a != b for a, b in zip(x, home, strict=True)) for x in satisfying(circuit))
    assert queries.counts_by_size(circuit, home=home) == tuple(sizes[k] for k in range(len(home) + 1))


@MODEST
@given(data=st.data())
def test_derivatives(data):
    circuit = data.draw(deterministic_circuits())
    worths = _worths(data, circuit)
    value, slopes = queries.semiring_value(circuit, queries.DERIVATIVES, lambda i, c: (worths[i][c], {(i, c): 1}))
    assert value == queries.weighted_count(circuit, worths)
    for i, row in enumerate(worths):
        for c in range(len(row)):
            alone = [*worths[:i], [int(k == c) for k in range(len(row))], *worths[i + 1 :]]
            assert slopes.get((i, c), 0) == queries.weighted_count(circuit, alone)


def test_bad_input_is_one_sentence():
    build = CircuitBuilder(boolean_grid(2))
    circuit = build.circuit(build.literal(0, [1]))
    overlapping = build.circuit(build.disjunction([build.literal(i, [c]) for i in (0, 1) for c in (0, 1)]))
    for call in (
        lambda: queries.marginals(circuit, [[1, 2]]),
        lambda: queries.marginals(circuit, "counts"),
        lambda: queries.marginals(circuit, given={5: [0]}),
        lambda: queries.marginals(circuit, given={0: [2]}),
        lambda: queries.marginals(overlapping),
        lambda: queries.best_points(circuit, 0),
        lambda: queries.sample(circuit, -1, seed=0),
        lambda: queries.sample(circuit, 1, seed=None),
        lambda: queries.semiring_value(circuit, queries.NUMBERS, [[1], [2]]),
    ):
        with pytest.raises(CircuitError) as raised:
            call()
        assert str(raised.value).count(". ") == 0
        assert str(raised.value).endswith(".")


def test_budgets_are_spent():
    circuit, soon = layered_diagram(2_000, n_features=50), ax.Budget(seconds=1e-6)
    for call in (
        lambda: queries.marginals(circuit, budget=soon),
        lambda: queries.best_points(circuit, 2, budget=soon),
        lambda: queries.sample(circuit, 1, seed=0, budget=soon),
        lambda: queries.counts_by_size(circuit, budget=soon),
    ):
        with pytest.raises(BudgetError):
            call()


@MODEST
@given(data=st.data())
def test_features_that_were_set_keep_their_cells(data):
    circuit = data.draw(deterministic_circuits())
    i = data.draw(st.integers(0, len(circuit.grid.axes) - 1))
    c = data.draw(st.integers(0, circuit.grid.n_cells[i] - 1))
    points = [x for x in satisfying(circuit) if x[i] == c]
    conditioned = queries.condition(circuit, {i: c})
    if not points:
        return
    assert queries.marginals(conditioned, "count") == queries.marginals(circuit, "count", given={i: [c]})
    assert set(queries.sample(conditioned, 5, "count", seed=0)) <= set(points)
    assert queries.best_point(conditioned, "count").cells in points
    assert queries.semiring_value(conditioned, queries.NUMBERS, lambda *_: 1) == len(points)
    assert sum(queries.counts_by_size(conditioned)) == len(points)
