"""scikit-learn's isolation forest: its own predictions, on every side of every threshold and of the offset."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from tests.support.reader_checks import check_explanations, check_predictions, points_around, some_points

ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")
IsolationForest = ensemble.IsolationForest

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 6, N)
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
DOMAIN = ax.Domain.from_data(X, integer=["x3"])
WITH_HOLES = ax.Domain.from_data(HOLES, integer=["x3"])


def thresholds(model) -> dict[int, np.ndarray]:
    found: dict[int, list[float]] = {i: [] for i in range(model.n_features_in_)}
    whole = model._max_features == model.n_features_in_
    for tree, features in zip(model.estimators_, model.estimators_features_, strict=True):
        for feature, threshold in zip(tree.tree_.feature, tree.tree_.threshold, strict=True):
            if feature >= 0 and np.isfinite(threshold):
                found[int(feature) if whole else int(features[feature])].append(float(threshold))
    return {i: np.unique(values)[:60] for i, values in found.items()}


def check(model, domain: ax.Domain = DOMAIN) -> None:
    check_predictions(model, domain, points_around(domain, thresholds(model)))


@pytest.mark.parametrize("contamination", ["auto", 0.05, 0.3])
@pytest.mark.parametrize("settings", [{}, {"max_features": 2}, {"max_samples": 20, "bootstrap": True}], ids=str)
def test_predictions(contamination, settings) -> None:
    check(IsolationForest(n_estimators=15, random_state=0, contamination=contamination, **settings).fit(X))


def test_few_features_each_in_an_order_of_its_own() -> None:
    model = IsolationForest(n_estimators=12, random_state=1, max_features=3, contamination=0.2).fit(X)
    assert any(list(features) != sorted(features) for features in model.estimators_features_)
    check(model)


def test_missing_values() -> None:
    model = IsolationForest(n_estimators=12, random_state=1, contamination=0.2)
    try:
        model.fit(HOLES)
    except ValueError:
        with pytest.raises(UnsupportedModelError, match="predicts nothing where a value is missing"):
            ax.read_model(model.fit(X), WITH_HOLES)
        return
    check(model, WITH_HOLES)
    check(IsolationForest(n_estimators=12, random_state=1, contamination=0.2).fit(X), WITH_HOLES)


def test_the_least_sum_of_an_inlier_is_the_one_of_predict() -> None:
    """With the offset of a point itself, that point is an inlier, and any higher offset makes it none."""
    model = IsolationForest(n_estimators=10, random_state=0).fit(X)
    for row in X[:20]:
        score = float(model.score_samples(row[np.newaxis])[0])
        for offset in (math.nextafter(score, -1), score, math.nextafter(score, 0)):
            model.offset_ = offset
            read = ax.read_model(model, DOMAIN)
            (margin,) = read.scores_at(row[np.newaxis])[0]
            if abs(margin) > read.rounding_error:
                assert read.outputs_at(row[np.newaxis]) == model.predict(row[np.newaxis]).tolist()
            # The division and the power move the threshold by a few floats at most.
            assert abs(margin) < Fraction(1, 10**10)


def test_training_points_on_the_offset_are_inliers() -> None:
    """The offset is the score of one of them; in exact arithmetic its sum need not be the float that was compared."""
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2), ax.Integer("c", 0, 1)])
    codes = np.array([domain.encode_point(point) for point in domain.points()])
    ties = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        table = np.column_stack([rng.binomial(3, 0.3, 81), rng.integers(0, 3, 81), rng.random(81) < 0.2])
        model = IsolationForest(n_estimators=30, random_state=seed, max_samples=16, contamination=0.25).fit(table)
        read = ax.read_model(model, domain)
        assert read.outputs_at(codes) == model.predict(codes).tolist()
        ties += any(abs(score) <= read.rounding_error for (score,) in read.scores_at(codes))
    assert ties > 3


@pytest.mark.parametrize("offset", [-1.5, -1.0, 0.0, 0.5])
def test_offsets_that_leave_one_class(offset) -> None:
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    model.offset_ = offset
    assert ax.read_model(model, DOMAIN).predict(X) == model.predict(X).tolist()


def test_one_training_point() -> None:
    model = IsolationForest(n_estimators=5, random_state=0).fit(X[:1])
    assert ax.read_model(model, DOMAIN).predict(X[:5]) == model.predict(X[:5]).tolist()


def test_what_is_refused() -> None:
    with pytest.raises(UnfittedModelError, match="call fit first"):
        ax.read_model(IsolationForest(), DOMAIN)
    with pytest.raises(DomainError, match="4 columns, but the domain describes 3"):
        ax.read_model(IsolationForest(n_estimators=2).fit(X), ax.Domain(DOMAIN.features[:3]))


@pytest.mark.parametrize("seed", range(8))
def test_explanations_are_those_of_brute_force(seed) -> None:
    rng = np.random.default_rng(seed)
    domain = ax.Domain(
        [ax.Integer("a", 0, 3), ax.Integer("b", 0, 2), ax.Categorical("c", [0, 1, 5]), ax.Integer("d", 0, 1)]
    )
    table = np.column_stack(
        [rng.binomial(3, 0.3, 80), rng.integers(0, 3, 80), rng.choice([0, 1, 5], 80), rng.random(80) < 0.2]
    )
    settings = {"n_estimators": 7, "random_state": seed, "max_samples": 16, "contamination": 0.3}
    model = IsolationForest(**settings, max_features=(1.0, 2)[seed % 2]).fit(table)
    rows = some_points(domain, 5, seed=seed)
    check_explanations(model, domain, rows)
