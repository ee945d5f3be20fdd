"""Wrappers of scikit-learn, one small one of every kind that is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax

pytest.importorskip("sklearn", minversion="1.5", reason="scikit-learn is not installed, or has no moved thresholds")
from sklearn import calibration, ensemble, linear_model, model_selection, multiclass, pipeline, preprocessing, svm, tree

RNG = np.random.default_rng(3)
N = 300
X = np.column_stack([RNG.normal(size=(N, 2)), RNG.integers(-3, 9, N), RNG.choice([0.1, 0.2, 0.3], N)])
DOMAIN = ax.Domain.from_data(X, integer=["x2"])
SMALL = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2, weights=[1, 2, 3]), ax.Integer("c", 0, 2)])
GRID = np.array(list(SMALL.points()), dtype=float)


def score(table: np.ndarray) -> np.ndarray:
    return table[:, 0] * table[:, 1] + (table[:, 2] > 1.5) - table[:, -1]


def targets(numbers: np.ndarray, kind: str) -> np.ndarray:
    """Return a target with two classes, three classes, or a number."""
    if kind == "two":
        return (numbers > np.median(numbers)).astype(int)
    if kind == "three":
        return np.array(["low", "mid", "top"])[np.digitize(numbers, np.quantile(numbers, [0.35, 0.7]))]
    return numbers


@dataclass(frozen=True)
class Case:
    """How a wrapper is made, and what it is fitted to."""

    make: Callable[[], Any]
    target: str

    def fitted(self) -> Any:
        return self.make().fit(X, targets(score(X), self.target))

    def fitted_to_grid(self, seed: int) -> Any:
        """Return the wrapper trained on random points of the small grid with random outputs."""
        rng = np.random.default_rng(seed)
        rows = GRID[rng.integers(0, len(GRID), 90)]
        return self.make().fit(rows, targets(score(rows) + rng.normal(size=len(rows)), self.target))


def _tree(depth: int | None = 3) -> Any:
    return tree.DecisionTreeClassifier(max_depth=depth, random_state=0)


def _forest(n: int, depth: int | None = 3) -> Any:
    return ensemble.RandomForestClassifier(n, max_depth=depth, random_state=0)


def _scaled(model: Any) -> Any:
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


def _boosted() -> Any:
    return ensemble.GradientBoostingClassifier(n_estimators=4, max_depth=2, learning_rate=0.5, random_state=0)


def _histograms() -> Any:
    return ensemble.HistGradientBoostingClassifier(max_iter=4, max_depth=2, min_samples_leaf=5, learning_rate=0.5)


def _xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1)


def _lightgbm() -> Any:
    settings = {"n_estimators": 4, "num_leaves": 5, "min_child_samples": 5, "learning_rate": 0.5, "n_jobs": 1}
    return pytest.importorskip("lightgbm").LGBMClassifier(**settings, verbose=-1)


def _logistic() -> Any:
    return linear_model.LogisticRegression()


_TREES = [("a", _tree(2)), ("b", _tree(4)), ("c", tree.ExtraTreeClassifier(max_depth=5, random_state=1))]
_FORESTS = [*_TREES, ("d", _forest(4, None)), ("e", _forest(3))]
_SUMS = [
    ("a", tree.DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("b", ensemble.RandomForestRegressor(3, max_depth=3, random_state=0)),
    ("c", ensemble.GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)),
]
_LINES = [("a", linear_model.LinearRegression()), ("b", _scaled(linear_model.Ridge(2.0)))]


def _searches() -> dict[str, Case]:
    depths, strength = {"max_depth": [2, 3]}, {"logisticregression__C": [0.5, 1.0]}
    return {
        "grid search": Case(lambda: model_selection.GridSearchCV(_tree(), depths, cv=2), "three"),
        "random search": Case(
            lambda: model_selection.RandomizedSearchCV(_forest(3), depths, n_iter=1, cv=2, random_state=0), "two"
        ),
        "grid search over a pipeline": Case(
            lambda: model_selection.GridSearchCV(_scaled(_logistic()), strength, cv=2), "three"
        ),
        "pipeline with a grid search": Case(
            lambda: _scaled(model_selection.GridSearchCV(_forest(3), depths, cv=2)), "three"
        ),
        "grid search over a threshold": Case(
            lambda: model_selection.GridSearchCV(
                model_selection.FixedThresholdClassifier(_tree()), {"threshold": [0.3]}, cv=2
            ),
            "two",
        ),
        "xgboost search": Case(lambda: model_selection.GridSearchCV(_xgboost(), depths, cv=2), "two"),
    }


def _thresholds() -> dict[str, Case]:
    makers: dict[str, Callable[[], Any]] = {
        "tree": _tree,
        "pure forest": lambda: _forest(10, None),
        "forest": lambda: _forest(5),
        "logistic": _logistic,
        "svm": svm.LinearSVC,
        "huber": lambda: linear_model.SGDClassifier(loss="modified_huber", random_state=0),
        "pipeline": lambda: _scaled(_logistic()),
        "boosting": _boosted,
        "histograms": _histograms,
        "xgboost": _xgboost,
        "lightgbm": _lightgbm,
        "adaboost": lambda: ensemble.AdaBoostClassifier(n_estimators=6, random_state=0),
        "bagging": lambda: ensemble.BaggingClassifier(_tree(), 4, random_state=0),
        "soft vote": lambda: ensemble.VotingClassifier(_FORESTS, voting="soft", weights=[1, 2, 0.5, 1, 3]),
        "calibrated forest": lambda: calibration.CalibratedClassifierCV(_forest(5), ensemble=False, cv=2),
        "calibrated trees": lambda: calibration.CalibratedClassifierCV(_tree(), cv=2),
    }
    fixed = model_selection.FixedThresholdClassifier
    cases = {}
    for name, make in makers.items():
        cases[f"threshold of {name}"] = Case(lambda make=make: fixed(make(), threshold=0.3), "two")
        cases[f"threshold of {name}, first class"] = Case(
            lambda make=make: fixed(make(), threshold=0.35, pos_label=0), "two"
        )
    cases["threshold of decision_function"] = Case(
        lambda: fixed(_logistic(), threshold=-0.4, response_method="decision_function"), "two"
    )
    cases["default threshold of decision_function"] = Case(
        lambda: fixed(_boosted(), pos_label=0, response_method="decision_function"), "two"
    )
    cases["default threshold"] = Case(lambda: fixed(_forest(4, None)), "two")
    for name, make in {"forest": lambda: _forest(4), "logistic": _logistic}.items():
        cases[f"tuned threshold of {name}"] = Case(
            lambda make=make: model_selection.TunedThresholdClassifierCV(make(), cv=2), "two"
        )
    return cases


def _committees() -> dict[str, Case]:
    bagged, boost, votes = ensemble.BaggingClassifier, ensemble.AdaBoostClassifier, ensemble.VotingClassifier
    some = {"max_features": 0.7, "random_state": 0}
    return {
        "bagging": Case(lambda: bagged(_tree(), 5, random_state=0), "three"),
        "bagging of pure trees": Case(lambda: bagged(_tree(None), 6, random_state=0), "two"),
        "bagging of columns, some twice": Case(lambda: bagged(_tree(), 5, bootstrap_features=True, **some), "three"),
        "bagging of few rows": Case(lambda: bagged(_tree(None), 6, max_samples=4, random_state=0), "three"),
        "bagging of forests": Case(lambda: bagged(_forest(2), 3, **some), "three"),
        "bagging of pipelines": Case(lambda: bagged(_scaled(_tree()), 3, **some), "two"),
        "bagged regression": Case(lambda: ensemble.BaggingRegressor(_SUMS[0][1], 4, **some), "number"),
        "bagged lines": Case(lambda: ensemble.BaggingRegressor(_LINES[0][1], 3, random_state=0), "number"),
        "adaboost": Case(lambda: boost(n_estimators=6, random_state=0), "two"),
        "adaboost, three classes": Case(lambda: boost(_tree(2), n_estimators=5, random_state=0), "three"),
        "adaboost regression of one": Case(lambda: ensemble.AdaBoostRegressor(n_estimators=1), "number"),
        "hard vote": Case(lambda: votes([*_TREES, ("z", "drop")]), "three"),
        "weighted hard vote": Case(lambda: votes(_TREES, weights=[0.3, 0.5, 0.4]), "three"),
        "hard vote of two": Case(lambda: votes(_TREES[:2]), "two"),
        "soft vote": Case(lambda: votes(_FORESTS, voting="soft"), "three"),
        "weighted soft vote": Case(lambda: votes(_FORESTS, voting="soft", weights=[1, 2, 0.3, 0, 1]), "three"),
        "voting regression": Case(lambda: ensemble.VotingRegressor(_SUMS), "number"),
        "weighted voting regression": Case(lambda: ensemble.VotingRegressor(_SUMS, weights=[1, 0.7, 3]), "number"),
        "voting lines": Case(lambda: ensemble.VotingRegressor(_LINES, weights=[1, 0.3]), "number"),
    }


def _calibrated() -> dict[str, Case]:
    made = calibration.CalibratedClassifierCV
    cases = {}
    for method in ("sigmoid", "isotonic"):
        for target in ("two", "three"):
            cases[f"{method} of trees, {target}"] = Case(
                lambda method=method: made(_tree(), method=method, cv=2), target
            )
        cases[f"{method} of a forest"] = Case(
            lambda method=method: made(_forest(4), method=method, cv=2, ensemble=False), "two"
        )
        cases[f"{method} of a line"] = Case(
            lambda method=method: made(svm.LinearSVC(), method=method, cv=2, ensemble=False), "two"
        )
    return cases


def _of_pairs() -> dict[str, Case]:
    rest, one = multiclass.OneVsRestClassifier, multiclass.OneVsOneClassifier
    members: dict[str, Callable[[], Any]] = {
        "lines": _logistic,
        "svms": svm.LinearSVC,
        "pipelines": lambda: _scaled(_logistic()),
        "trees": _tree,
        "forests": lambda: _forest(4, None),
        "boosting": _boosted,
        "histograms": _histograms,
    }
    cases = {}
    for name, make in members.items():
        for target in ("two", "three"):
            cases[f"one versus rest, {name}, {target}"] = Case(lambda make=make: rest(make()), target)
        cases[f"one versus one, {name}, two"] = Case(lambda make=make: one(make()), "two")
    cases["one versus one, trees, three"] = Case(lambda: one(_tree()), "three")
    return cases


CASES = _searches() | _thresholds() | _committees() | _calibrated() | _of_pairs()
