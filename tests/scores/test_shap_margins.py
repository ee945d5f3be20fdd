"""SHAP scores of margins against their definition over all sets of features."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

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


def test_errors() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    model = LinearModel.of_columns(domain, [[1], [2]], intercepts=[0, 0], rule=Argmax(("no", "yes")))
    with pytest.raises(DomainError, match="one of 'no', 'yes'"):
        margin_shap_scores(model, domain, [(1,)])
    with pytest.raises(UnsupportedModelError, match="use shap_scores"):
        margin_shap_scores(lambda p: p[0], domain, [(1,)])
