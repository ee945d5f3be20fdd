"""Every parameter of every wrapper of scikit-learn: does it act in ``predict`` when it is set after fit?

What is *asked* is asked of the wrapper by predict itself: the explanation must go by the value that it has now, or
refuse it. What only *trains* must change nothing. A parameter that the table lacks fails the test: look up what it
does, and enter it.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.errors import UnsupportedModelError

cases = pytest.importorskip("tests.support.wrapper_cases")
from sklearn import linear_model, multioutput, tree  # noqa: E402

CASES, GRID, SMALL = cases.CASES, cases.GRID, cases.SMALL
_STUMP = tree.DecisionTreeClassifier(max_depth=1)
_SEARCH = {
    "estimator": [_STUMP],
    "scoring": ["roc_auc"],
    "n_jobs": [2],
    "refit": [],
    "cv": [5],
    "verbose": [0],
    "pre_dispatch": [1],
    "error_score": ["raise"],
    "return_train_score": [True],
}
_BAGGING = {
    "estimator": [_STUMP],
    "max_samples": [0.5],
    "max_features": [0.5],
    "bootstrap": [False],
    "bootstrap_features": [True],
    "oob_score": [True],
    "warm_start": [True],
    "n_jobs": [2],
    "random_state": [7],
    "verbose": [0],
    "n_estimators": [],
}
_ADABOOST = {"estimator": [_STUMP], "n_estimators": [1, 99], "learning_rate": [0.1], "random_state": [7]}
_VOTING = {"n_jobs": [2], "verbose": [False], "weights": [], "estimators": []}
_HALVING = {"resource": ["n_samples"], "factor": [2], "max_resources": [9], "min_resources": [9], "random_state": [7]}
_HALVING |= {"aggressive_elimination": [True]}
# What trains, with values to set after fit; what is asked has none here, but an entry below.
TRAINS: dict[str, dict[str, list[Any]]] = {
    "GridSearchCV": _SEARCH | {"param_grid": [{"max_depth": [9]}]},
    "RandomizedSearchCV": _SEARCH | {"param_distributions": [{"max_depth": [9]}], "n_iter": [3], "random_state": [7]},
    "HalvingGridSearchCV": _SEARCH | _HALVING | {"param_grid": []},
    "HalvingRandomSearchCV": _SEARCH | _HALVING | {"param_distributions": [], "n_candidates": [3]},
    "FixedThresholdClassifier": {"estimator": [_STUMP], "threshold": [], "pos_label": [], "response_method": []},
    "TunedThresholdClassifierCV": {
        "estimator": [_STUMP],
        "scoring": ["accuracy"],
        "response_method": [],
        "thresholds": [3],
        "cv": [3],
        "refit": [False],
        "n_jobs": [2],
        "random_state": [7],
        "store_cv_results": [True],
    },
    "BaggingClassifier": _BAGGING,
    "BaggingRegressor": _BAGGING,
    "AdaBoostClassifier": _ADABOOST | {"algorithm": []},
    "AdaBoostRegressor": _ADABOOST | {"loss": ["square"]},
    "VotingClassifier": _VOTING | {"voting": [], "flatten_transform": [False]},
    "VotingRegressor": _VOTING,
    "CalibratedClassifierCV": {
        "estimator": [_STUMP],
        "method": ["isotonic", "sigmoid"],
        "cv": [9],
        "n_jobs": [2],
        "ensemble": [True, False],
    },
    "OneVsRestClassifier": {"estimator": [_STUMP], "n_jobs": [2], "verbose": [0]},
    "OneVsOneClassifier": {"estimator": [_STUMP], "n_jobs": [2]},
    "MultiOutputClassifier": {"estimator": [_STUMP], "n_jobs": [2]},
    "MultiOutputRegressor": {"estimator": [_STUMP], "n_jobs": [2]},
    "FrozenEstimator": {"estimator": []},
}
ASKED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "GridSearchCV": ("grid search", [{"refit": False}]),
    "RandomizedSearchCV": ("random search", [{"refit": False}]),
    "FixedThresholdClassifier": (
        "threshold of logistic",
        [{"threshold": 0.6}, {"threshold": "auto"}, {"pos_label": 0}, {"response_method": "decision_function"}],
    ),
    "TunedThresholdClassifierCV": ("tuned threshold of logistic", [{"response_method": "decision_function"}]),
    "BaggingClassifier": ("bagging", [{"n_estimators": 1}, {"n_estimators": 2}]),
    "BaggingRegressor": ("bagged regression", [{"n_estimators": 1}, {"n_estimators": 2}, {"n_estimators": 9}]),
    "VotingClassifier": (
        "hard vote",
        [{"voting": "soft"}, {"weights": [1, 2, 2, 0]}, {"voting": "soft", "weights": [1, 5, 1, 9]}, {"weights": [1]}],
    ),
    "VotingRegressor": ("voting regression", [{"weights": [1, 2, 5]}, {"weights": [1, 2]}]),
}
_USUAL = {
    "GridSearchCV": "grid search",
    "RandomizedSearchCV": "random search",
    "FixedThresholdClassifier": "threshold of forest",
    "TunedThresholdClassifierCV": "tuned threshold of forest",
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagged regression",
    "AdaBoostClassifier": "adaboost, three classes",
    "AdaBoostRegressor": "adaboost regression of one",
    "VotingClassifier": "hard vote",
    "VotingRegressor": "voting regression",
    "CalibratedClassifierCV": "sigmoid of trees, three",
    "OneVsRestClassifier": "one versus rest, trees, three",
    "OneVsOneClassifier": "one versus one, trees, three",
}


def same(outputs: list[Any], others: list[Any]) -> bool:
    """Tell whether outputs are the same; numbers up to the order in which several jobs add up."""
    pairs = zip(outputs, others, strict=True)
    return all(abs(float(a) - b) < 1e-9 if isinstance(b, float) else a == b for a, b in pairs)


def agrees(model: Any) -> bool:
    """Tell whether what is read predicts as the model does."""
    return same(ax.read_model(model, SMALL).outputs_at(GRID), model.predict(GRID).tolist())


@pytest.mark.parametrize("name", _USUAL)
def test_what_only_trains_changes_nothing(name: str) -> None:
    model = CASES[_USUAL[name]].fitted_to_grid(0)
    before = model.predict(GRID).tolist()
    for param, values in TRAINS[name].items():
        for value in values:
            changed = copy.deepcopy(model).set_params(**{param: value})
            assert same(changed.predict(GRID).tolist(), before), param
            assert agrees(changed), param


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_is_obeyed_or_refused(name: str) -> None:
    case, settings = ASKED[name]
    model, acted = CASES[case].fitted_to_grid(0), 0
    before = model.predict(GRID).tolist()
    for setting in settings:
        changed = copy.deepcopy(model).set_params(**setting)
        try:
            after = changed.predict(GRID).tolist()
        except Exception:  # the library refuses to predict by these, whatever it raises
            with pytest.raises(UnsupportedModelError):
                ax.read_model(changed, SMALL)
            acted += 1
            continue
        assert agrees(changed), setting
        acted += not same(after, before)
    assert acted, "nothing acts: move the parameter to what trains"


def test_the_tables_are_complete() -> None:
    depth = tree.DecisionTreeClassifier()
    made = [CASES[case].make() for case in _USUAL.values()]
    made += [multioutput.MultiOutputClassifier(depth), multioutput.MultiOutputRegressor(linear_model.Ridge())]
    for model in made:
        params = set(model.get_params(deep=False))
        assert params <= set(TRAINS[type(model).__name__]), type(model).__name__
