"""Missing values go where each library's own predict sends them; `benchmarks/missing.py` does more of the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError, UnsupportedModelError
from benchmarks.missing import agreement, check_explanations
from tests.support.missing_models import LIBRARIES, TASKS, is_decided_by_rounding, trained, truth_of


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_predictions_are_those_of_predict(name: str, task: str) -> None:
    asked, equal, ties = agreement(name, task, seed=3, rows=2_000)
    assert (equal + ties, ties < 3) == (asked, True)


@pytest.mark.parametrize("name", LIBRARIES)
def test_explanations_are_those_of_the_definitions(name: str) -> None:
    done = [check_explanations(name, task, seed) for task in TASKS for seed in range(4)]
    assert done.count("explained") >= 8


def test_a_wrong_direction_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from axfi_kc.models import tree_sum

    right = tree_sum._missing_left
    monkeypatch.setattr(tree_sum, "_missing_left", lambda domain, trees: ~right(domain, trees))
    asked, equal, _ = agreement("xgboost", "regression", seed=3, rows=200)
    assert equal < asked


def test_thresholds_of_infinity() -> None:
    tree = pytest.importorskip("sklearn.tree")
    X = np.c_[[0, 1, 2, 3, np.nan, np.nan], [0, 1, 0, 1, 0, 1]]
    model = tree.DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1, 2, 2])
    assert np.isinf(model.tree_.threshold).any()
    e = ax.Explainer(model, ax.Domain.from_data(X)).explain([np.nan, 1])
    assert (e.prediction, [c.features for c in e.cxps]) == (2, [("x0",)])


def test_what_takes_no_missing_values_says_so() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    X = np.arange(20.0).reshape(10, 2)
    model = ensemble.GradientBoostingClassifier(n_estimators=2).fit(X, [0, 1] * 5)
    domain = ax.Domain([ax.Real("x0", 0, 18, missing=0.1), ax.Real("x1", 1, 19)])
    with pytest.raises(UnsupportedModelError, match="nothing where a value is missing, but feature 'x0' may be"):
        ax.Explainer(model, domain)


def test_ties_are_told_from_errors() -> None:
    model, X = trained("tree", "binary", 0, size=2)
    truth = truth_of(model, X, seed=0)
    assert not is_decided_by_rounding(truth)
    with pytest.raises(AssertionError):
        is_decided_by_rounding(replace(truth, outputs=[1 - y for y in truth.outputs]))
    with pytest.raises(ConstantModelError):
        ax.Explainer(lambda p: 0, truth.domain)


def test_a_negative_number_that_is_missing_is_no_category() -> None:
    xgb = pytest.importorskip("xgboost")
    numbers = np.array([-3, -1, 2, np.nan] * 10)[np.argsort(np.arange(40) % 7)]
    X = pd.DataFrame({"f0": pd.Categorical(["a", "b", "c", None] * 10), "f1": numbers})
    y = ((X.f1.fillna(0) == -1) | X.f0.isna()).astype(int)
    options = {"n_estimators": 3, "max_depth": 3, "min_child_weight": 0, "enable_categorical": True, "n_jobs": 1}
    model = xgb.XGBClassifier(missing=-1.0, **options).fit(X, y)
    domain = ax.Domain([ax.Categorical("f0", "abc", missing=0.25), ax.Integer("f1", -3, 2, missing=0.25)])
    points = list(domain.points())
    frame = pd.DataFrame(points, columns=["f0", "f1"]).astype({"f0": X.f0.dtype, "f1": float})
    assert ax.read_model(model, domain).predict(points) == model.predict(frame).tolist()
