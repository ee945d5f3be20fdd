"""SHAP scores of margins against their definition over all sets of features."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Positive, Score, Slope, TableModel, TreeSum, boxes_of
from axfi_kc.scores.shap.margins import margin_shap_scores
from tests.scores.test_shap_circuits import by_definition
from tests.support.oracle import Space, space_of
from tests.support.random_problems import random_truth
from tests.support.strategies import breakpoints, domains, points, tree_nodes, walk

MANY = settings(max_examples=40, deadline=None)


@MANY
@given(domains(max_features=3), st.data())
def test_sums_of_trees(domain: ax.Domain, data: st.DataObject) -> None:
    n_scores = data.draw(st.integers(1, 3))
    trees = data.draw(st.lists(tree_nodes(domain, n_scores=n_scores, max_leaves=6), min_size=1, max_size=3))
    v = data.draw(points(domain))
    labels = tuple("abc"[:n_scores])
    rule = Argmax(labels) if n_scores > 1 else data.draw(st.sampled_from([Positive((0, 1)), Score(Fraction(1, 3))]))
    model = TreeSum.of(domain, trees, rule=rule)
    k = data.draw(st.integers(0, n_scores - 1))
    scale = rule.scale if isinstance(rule, Score) else 1

    def score(x: Any) -> Fraction:
        return scale * sum(walk(domain, tree, x)[k] for tree in trees)

    expected = by_definition(score, space_of(domain, breakpoints(domain, trees, v)), v)
    found = margin_shap_scores(model, domain, [v], output=labels[k] if n_scores > 1 else None)
    assert list(found[0].values()) == expected


@MANY
@given(domains(finite=True), st.data())
def test_linear_models_and_boxes(domain: ax.Domain, data: st.DataObject) -> None:
    columns = sum(len(f.columns) for f in domain.features)
    factors = data.draw(st.lists(st.sampled_from([0.0, 1.0, -0.5, 3.25]), min_size=columns, max_size=columns))
    model = LinearModel.of_columns(domain, [factors], intercepts=[0.5], rule=Score(Fraction(2)))
    v = data.draw(points(domain))
    table = {p: model.predict([p])[0] for p in domain.points()}
    expected = by_definition(table.__getitem__, space_of(domain), v)
    assert list(margin_shap_scores(model, domain, [v])[0].values()) == expected
    boxes = boxes_of(TableModel.from_outputs(domain, table.values()))
    assert list(margin_shap_scores(boxes, domain, [v])[0].values()) == expected


def test_real_features_with_a_histogram() -> None:
    domain = ax.Domain([ax.Real("a", 0, 4, histogram=ax.Histogram([0, 1, 4], [1, 1])), ax.Real("b", 0, 2)])
    model = LinearModel.of_columns(domain, [[2, -1]], intercepts=[0], rule=Positive((0, 1)))
    assert margin_shap_scores(model, domain, [(4.0, 0.5)]) == [{"a": 2 * (4 - Fraction(3, 2)), "b": Fraction(1, 2)}]


def test_linear_models_where_values_may_be_missing() -> None:
    rng, seen = Random(3), 0
    while seen < 20:
        truth = random_truth(rng, "linear", n_instances=3)
        if truth.delta is None or not any(f.missing for f in truth.domain.features):
            continue
        outputs = dict(zip(map(truth.point, truth.places), truth.outputs, strict=True))
        rows = [truth.point(v) for v in truth.instances]
        expected = [by_definition(outputs.__getitem__, Space(truth.values, truth.measures), row) for row in rows]
        assert [list(found.values()) for found in margin_shap_scores(truth.model, truth.domain, rows)] == expected
        seen += 1


def test_a_real_feature_that_may_be_missing() -> None:
    domain = ax.Domain([ax.Real("a", 0, 4, missing=0.25)])
    model = LinearModel.of(domain, [Slope((2,), (8,))], base=[0], rule=Positive((0, 1)))
    mean = Fraction(3, 4) * 4 + Fraction(1, 4) * 8
    assert margin_shap_scores(model, domain, [(4.0,), (None,)]) == [{"a": 8 - mean}, {"a": 8 - mean}]


def test_boosted_trees_as_their_library_has_them() -> None:
    xgboost = pytest.importorskip("xgboost")
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X, y)
    domain = ax.Domain.from_data(X, real=range(X.shape[1]))
    found = margin_shap_scores(model, domain, X[:6], output=1)
    margins = model.predict(X[:6], output_margin=True)[:, 1]
    differences = {round(float(m) - float(sum(s.values())), 4) for m, s in zip(margins, found, strict=True)}
    assert len(differences) == 1  # the mean margin: scores add up to the margin's distance from it


@pytest.mark.parametrize("kind", ["gradient boosting", "histograms", "xgboost", "lightgbm", "linear"])
def test_the_score_of_two_classes_has_the_sign_of_the_library_s_own(kind: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2)])
    X = np.array(list(domain.points()) * 4)
    model = binary(kind).fit(X, np.where(X[:, 0] + X[:, 1] > 2, "yes", "no") if kind != "xgboost" else X.sum(1) > 2)
    margins = dict(zip(domain.points(), own_margins(model, np.array(list(domain.points()))), strict=True))
    first, second = model.classes_.tolist()
    for v in [(0, 0), (3, 2), (1, 2)]:
        expected = [float(s) for s in by_definition(margins.__getitem__, space_of(domain), v)]
        for output, sign in ((None, 1), (second, 1), (first, -1)):
            found = margin_shap_scores(model, domain, [v], output=output)[0].values()
            assert list(map(float, found)) == pytest.approx([sign * e for e in expected], abs=1e-5)
    neutral = ax.read_model(model, domain)  # has the same labels in the same order
    assert margin_shap_scores(neutral, domain, [(3, 2)]) == margin_shap_scores(model, domain, [(3, 2)])


def binary(kind: str) -> Any:
    if kind == "linear":
        return pytest.importorskip("sklearn.linear_model").LogisticRegression()
    if kind == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1)
    if kind == "lightgbm":
        options = {"n_estimators": 3, "min_child_samples": 1, "n_jobs": 1, "verbose": -1}
        return pytest.importorskip("lightgbm").LGBMClassifier(**options)
    ensemble = pytest.importorskip("sklearn.ensemble")
    if kind == "histograms":
        return ensemble.HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=1)
    return ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0)


def own_margins(model: Any, X: Any) -> list[Fraction]:
    if hasattr(model, "decision_function"):
        found = model.decision_function(X)
    else:
        found = model.predict(X, **{"raw_score" if hasattr(model, "booster_") else "output_margin": True})
    return [Fraction(float(m)) for m in found]


def test_one_score_has_no_other_class() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    two = LinearModel.of_columns(domain, [[1]], intercepts=[0], rule=Positive(("no", "yes")))
    with pytest.raises(DomainError, match="one of 'no', 'yes', but 'maybe' was given"):
        margin_shap_scores(two, domain, [(1,)], output="maybe")
    regression = LinearModel.of_columns(domain, [[1]], intercepts=[0], rule=Score())
    boxes = boxes_of(TableModel.from_outputs(domain, [0, 1]))
    for model in (regression, boxes):
        with pytest.raises(DomainError, match="leave it out"):
            margin_shap_scores(model, domain, [(1,)], output=1)


def test_errors() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    model = LinearModel.of_columns(domain, [[1], [2]], intercepts=[0, 0], rule=Argmax(("no", "yes")))
    with pytest.raises(DomainError, match="one of 'no', 'yes'"):
        margin_shap_scores(model, domain, [(1,)])
    with pytest.raises(UnsupportedModelError, match="use shap_scores"):
        margin_shap_scores(lambda p: p[0], domain, [(1,)])


def test_a_forest_is_scored_by_its_mean_probability() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    X = np.array([[a, b] for a in range(3) for b in range(2)] * 4, dtype=float)
    model = ensemble.RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > X[:, 1])
    domain = ax.Domain.from_data(X, integer=[0, 1])
    grid = np.array(list(domain.points()), dtype=float)
    expected = model.predict_proba(grid)[:, 1] - model.predict_proba(grid)[:, 1].mean()
    found = margin_shap_scores(model, domain, grid, output=True)
    assert [float(sum(row.values())) for row in found] == pytest.approx(expected.tolist())
