"""Means of scores over circuits, against sums over all points."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.domain.grid import Grid
from axfi_kc.scores.expectation import expectation
from tests.support.circuits import cell_vectors

DOMAIN = ax.Domain([ax.Integer("a", 0, 4), ax.Categorical("b", [0, 1, 2]), ax.Integer("c", -1, 1, weights=[1, 2, 5])])


def _circuit(rng: Random):
    build = CircuitBuilder(Grid.of_values(DOMAIN))
    some = [build.decision(1, [([c], build.literal(2, rng.sample(range(3), 2))) for c in range(3)]) for _ in range(2)]
    return build.circuit(build.decision(0, [([0, 3], some[0]), ([1, 2], some[1]), ([4], build.true)]))


def _listed(score, circuit):
    total = whole = Fraction(0)
    for x in cell_vectors(circuit.grid):
        if queries.evaluate(circuit, x):
            weight = Fraction(1)
            for axis, c in zip(circuit.grid.axes, x, strict=True):
                weight *= Fraction(axis.numerators[c], axis.denominator)
            total += weight * score((x[0], x[1], x[2] - 1))
            whole += weight
    return total / whole


@pytest.mark.parametrize("seed", range(3))
def test_means_of_models(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 5, 80), rng.integers(0, 3, 80), rng.integers(-1, 2, 80)]).astype(float)
    y = X @ [1.5, -2, 3] + X[:, 0] * X[:, 2]
    circuit = _circuit(Random(seed))
    for model in (
        GradientBoostingRegressor(n_estimators=5, max_depth=2, random_state=0),
        DecisionTreeRegressor(max_depth=3, random_state=0),
        LinearRegression(),
    ):
        fitted = model.fit(X, y)
        form = ax.read_model(fitted, DOMAIN)
        assert expectation(fitted, circuit) == _listed(lambda x, form=form: Fraction(form.predict([x])[0]), circuit)
    forest = RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0).fit(X, (y > 1).astype(int))
    mean = _listed(lambda x: Fraction(float(forest.predict_proba([x])[0, 1])), circuit)
    assert float(expectation(forest, circuit, output=1)) == pytest.approx(float(mean), rel=1e-12)


def test_bad_input_is_one_sentence():
    X = np.array([[0.0, 0, 0], [4, 2, 1], [2, 1, -1], [3, 0, 1]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, ["x", "y", "x", "y"])
    coarse = CircuitBuilder(Grid(DOMAIN, tuple(ax.grid.Axis.of(f) for f in DOMAIN.features)))
    circuit, empty = _circuit(Random(0)), CircuitBuilder(Grid.of_values(DOMAIN))
    regression = DecisionTreeRegressor(random_state=0).fit(X, [0, 1, 2, 3])
    for call in (
        lambda: expectation(tree, circuit),
        lambda: expectation(regression, coarse.circuit(coarse.true)),
        lambda: expectation(LinearRegression().fit(X, [0, 1, 2, 3]), coarse.circuit(coarse.true)),
        lambda: expectation(regression, empty.circuit(empty.false)),
        lambda: expectation(regression, circuit, output=1),
        lambda: expectation(lambda p: "x", circuit),
    ):
        with pytest.raises(ax.AxfiError) as raised:
            call()
        assert str(raised.value).count(". ") == 0
