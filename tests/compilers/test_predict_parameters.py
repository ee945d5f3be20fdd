"""Every parameter of every class that is read: does it act in ``predict``, and is the explanation then still exact?

A parameter either *trains* (it finds the numbers of the fitted model and is never asked again), or is *kept* (fit
stores it in the model, and predict works by it: an objective, a loss, a base score), or is *asked* of the estimator
by predict itself. For each, models are trained with other values, and fitted models are given other values; each
time the explanation must equal brute force over the model's own predict, or the model must be refused. What is not
asked must not change predict when it is set afterwards. A parameter that a table lacks fails the test: look up what
it does, and enter it.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers import supported
from axfi_kc.errors import ConstantModelError, DomainError, UnsupportedModelError
from axfi_kc.models.own_predict import predictor
from tests.support.oracle import Judge, space_of

DOMAIN = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Integer("c", 0, 2)])
POINTS = list(DOMAIN.points())
GRID = np.array(POINTS, dtype=np.float64)
NEAR = np.array(list(product([-1.0, 0.0, 0.5, 1.0, 2.5], [-0.5, 0.0, 1.0], [0.0, 0.3, 1.0, 3.0])))
ROWS = [(1, 1, 2), (0, 0, 1)]
RNG = np.random.default_rng(3)
X = np.concatenate([GRID, GRID, GRID[RNG.integers(0, len(GRID), 34)]])
Z = (X[:, 0] == 0) * 1.7 + X[:, 1] * (X[:, 2] - 0.8) + 0.1 * X[:, 2] + RNG.normal(size=len(X)).round(2) * 0.3
TARGETS = {"two": (Z > 0.7).astype(int), "three": np.digitize(Z, [0.3, 1.4]), "number": Z, "count": np.abs(Z)}
DELTA = Fraction(2137, 10000)


@dataclass(frozen=True)
class Param:
    """What predict has to do with a parameter, and values to try; a dict has what training needs besides."""

    role: str  # "trains", "kept" or "asked"
    values: tuple[Any, ...]

    def settings(self, name: str) -> Iterator[dict[str, Any]]:
        for value in self.values:
            yield value if isinstance(value, dict) and name in value else {name: value}


def trains(*values: Any) -> Param:
    return Param("trains", values)


def kept(*values: Any) -> Param:
    return Param("kept", values)


def asked(*values: Any) -> Param:
    return Param("asked", values)


Params = dict[str, Param]

_GROWTH: Params = {
    "max_depth": trains(1, 3),
    "min_samples_split": trains(10),
    "min_samples_leaf": trains(5),
    "min_weight_fraction_leaf": trains(0.1),
    "max_features": trains(2),
    "max_leaf_nodes": trains(3),
    "min_impurity_decrease": trains(0.01),
    "random_state": trains(5),
    "ccp_alpha": trains(0.01),
}
_OF_CLASSES: Params = {
    "criterion": trains("entropy"),
    "class_weight": trains("balanced", {"class_weight": {0: 1, 1: 9}}),
}
_OF_NUMBERS: Params = {"criterion": trains("absolute_error")}
# Asked only whether missing values are taken at all.
_TREE: Params = _GROWTH | {"splitter": trains("random", "best"), "monotonic_cst": trains([1, 0, 0])}
_FOREST: Params = _GROWTH | {
    "n_estimators": trains(1, 4),
    "bootstrap": trains(True, False),
    "oob_score": trains({"oob_score": True, "bootstrap": True}),
    "n_jobs": trains(2),
    "verbose": trains(0),
    "warm_start": trains(True),
    "max_samples": trains({"max_samples": 20, "bootstrap": True}),
    "monotonic_cst": trains([0, 1, 0]),
}
_BOOSTING: Params = _GROWTH | {
    "learning_rate": asked(0.5, 3.0),
    "n_estimators": trains(1, 5),
    "subsample": trains(0.6),
    "criterion": trains("squared_error"),
    "init": kept("zero"),
    "verbose": trains(0),
    "warm_start": trains(True),
    "validation_fraction": trains(0.3),
    "n_iter_no_change": trains(1),
    "tol": trains(0.01),
}
_HISTOGRAMS: Params = {
    "learning_rate": trains(0.7),
    "max_iter": trains(1, 5),
    "max_leaf_nodes": trains(2),
    "max_depth": trains(1),
    "min_samples_leaf": trains(1),
    "l2_regularization": trains(3.0),
    "max_features": trains(0.5),
    "max_bins": trains(2),
    "categorical_features": kept([0], ["x0"][:0]),
    "monotonic_cst": trains([1, 0, 0]),
    "interaction_cst": trains("no_interactions"),
    "warm_start": trains(True),
    "early_stopping": trains(True),
    "scoring": trains("loss"),
    "validation_fraction": trains(0.4),
    "n_iter_no_change": trains(2),
    "tol": trains(0.1),
    "verbose": trains(0),
    "random_state": trains(4),
}
_PLAIN_LINEAR: Params = {"fit_intercept": kept(False), "copy_X": trains(False), "tol": trains(0.1)}
_RIDGE: Params = _PLAIN_LINEAR | {
    "alpha": trains(9.0),
    "max_iter": trains(50),
    "solver": trains("lsqr"),
    "positive": trains({"positive": True, "solver": "lbfgs"}),
    "random_state": trains(3),
}
_GRADIENT: Params = {
    "alpha": trains(0.01),
    "l1_ratio": trains({"l1_ratio": 0.6, "penalty": "elasticnet"}),
    "fit_intercept": kept(False),
    "max_iter": trains(30),
    "tol": trains(0.1),
    "shuffle": trains(False),
    "verbose": trains(0),
    "n_jobs": trains(2),
    "random_state": trains(7),
    "early_stopping": trains(True),
    "validation_fraction": trains(0.3),
    "n_iter_no_change": trains(2),
    "class_weight": trains("balanced"),
    "warm_start": trains(True),
    "penalty": trains("l1"),
    "eta0": trains(0.5),
}
_BAYES: Params = {
    "alpha": trains(3.0),
    "force_alpha": trains(False),
    "fit_prior": kept(False),
    "class_prior": kept([0.9, 0.1]),
}
_LEARNING: Params = {
    "n_estimators": trains(1, 6),
    "max_depth": trains(1, 3),
    "max_leaves": trains(3),
    "max_bin": trains(3),
    "grow_policy": trains("lossguide"),
    "learning_rate": trains(0.9),
    "verbosity": trains(0),
    # set_params hands what it is given on to the trained booster, which takes another base or link, or loses its trees.
    "booster": asked("dart", "gblinear"),
    "base_score": asked(0.3, 0.9),
    "tree_method": trains("exact", "hist"),
    "n_jobs": trains(2),
    "gamma": trains(0.5),
    "min_child_weight": trains(4),
    "max_delta_step": trains(0.5),
    "subsample": trains(0.6),
    "sampling_method": trains("uniform"),
    "colsample_bytree": trains(0.5),
    "colsample_bylevel": trains(0.5),
    "colsample_bynode": trains(0.5),
    "reg_alpha": trains(0.5),
    "reg_lambda": trains(5.0),
    "scale_pos_weight": trains(3.0),
    "random_state": trains(4),
    "missing": asked(0.0, 1.0, 2.0, -1.0, 0.5),
    "num_parallel_tree": kept(2),
    "monotone_constraints": trains("(1,0,0)"),
    "interaction_constraints": trains("[[0, 1], [2]]"),
    "importance_type": trains("weight"),
    "device": trains("cpu"),
    "validate_parameters": trains(True),
    "enable_categorical": kept(True, {"enable_categorical": True, "feature_types": ["c", "q", "c"]}),
    "feature_types": kept(["q", "q", "i"], {"enable_categorical": True, "feature_types": ["c", "c", "c"]}),
    "feature_weights": trains(np.array([1.0, 0.1, 2.0])),
    "max_cat_to_onehot": trains(
        {"max_cat_to_onehot": 1, "enable_categorical": True, "feature_types": ["c", "q", "c"]},
        {"max_cat_to_onehot": 9, "enable_categorical": True, "feature_types": ["c", "q", "c"], "missing": 2.0},
    ),
    "max_cat_threshold": trains({"max_cat_threshold": 1, "enable_categorical": True, "feature_types": ["c", "q", "q"]}),
    "multi_strategy": kept("multi_output_tree"),
    "eval_metric": trains("rmse"),
    "early_stopping_rounds": kept(1),
    "callbacks": trains([]),
}
_XGBOOST_CLASSES: Params = _LEARNING | {
    "objective": asked(
        *("binary:logistic", "binary:logitraw", "binary:hinge", "multi:softprob", "multi:softmax"),
        *({"objective": f"multi:{kind}", "num_class": 2} for kind in ("softprob", "softmax")),
    )
}
_XGBOOST_NUMBERS: Params = _LEARNING | {
    "objective": asked(
        *("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror", "reg:logistic"),
        *("reg:gamma", "reg:tweedie", "count:poisson", "survival:cox", "binary:logistic"),
        {"objective": "reg:quantileerror", "quantile_alpha": 0.4},
    )
}
# Named in the constructor; what else LightGBM takes by keyword is below.
_LIGHTGBM: Params = {
    "boosting_type": kept("dart", {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}),
    "num_leaves": trains(2),
    "max_depth": trains(1),
    "learning_rate": trains(0.9),
    "n_estimators": trains(1, 6),
    "subsample_for_bin": trains(30),
    "class_weight": trains("balanced"),
    "min_split_gain": trains(0.5),
    "min_child_weight": trains(3.0),
    "min_child_samples": trains(12),
    "subsample": trains({"subsample": 0.5, "subsample_freq": 1}),
    "subsample_freq": trains({"subsample_freq": 2, "subsample": 0.5}),
    "colsample_bytree": trains(0.5),
    "reg_alpha": trains(0.5),
    "reg_lambda": trains(4.0),
    "random_state": trains(3),
    "n_jobs": trains(2),
    "importance_type": trains("gain"),
    # by keyword
    "pred_early_stop": asked(
        {"pred_early_stop": True, "pred_early_stop_margin": 0.01, "pred_early_stop_freq": 1}, True, False
    ),
    "zero_as_missing": kept(True),
    "use_missing": kept(False),
    "linear_tree": kept(True),
    "cat_feature": kept([0]),
    "max_cat_to_onehot": trains({"max_cat_to_onehot": 1, "cat_feature": [0, 2], "min_data_per_group": 1}),
    "boost_from_average": trains(False),
    "is_unbalance": trains(True),
    "extra_trees": trains(True),
    "monotone_constraints": trains([1, 0, 0]),
    "path_smooth": trains(2.0),
    "predict_disable_shape_check": trains(True),
    "num_iteration_predict": trains(1),
    "start_iteration_predict": trains(1),
}
TABLE: dict[str, Params] = {
    "sklearn.tree.DecisionTreeClassifier": _TREE | _OF_CLASSES,
    "sklearn.tree.ExtraTreeClassifier": _TREE | _OF_CLASSES,
    "sklearn.tree.DecisionTreeRegressor": _TREE | _OF_NUMBERS,
    "sklearn.tree.ExtraTreeRegressor": _TREE | _OF_NUMBERS,
    "sklearn.ensemble.RandomForestClassifier": _FOREST | _OF_CLASSES,
    "sklearn.ensemble.ExtraTreesClassifier": _FOREST | _OF_CLASSES,
    "sklearn.ensemble.RandomForestRegressor": _FOREST | _OF_NUMBERS,
    "sklearn.ensemble.ExtraTreesRegressor": _FOREST | _OF_NUMBERS,
    "sklearn.ensemble.GradientBoostingClassifier": _BOOSTING | {"loss": kept("exponential")},
    "sklearn.ensemble.GradientBoostingRegressor": _BOOSTING
    | {"loss": kept("absolute_error", "huber", "quantile"), "alpha": trains({"alpha": 0.4, "loss": "quantile"})},
    "sklearn.ensemble.HistGradientBoostingClassifier": _HISTOGRAMS
    | {"loss": kept("log_loss"), "class_weight": trains("balanced")},
    "sklearn.ensemble.HistGradientBoostingRegressor": _HISTOGRAMS
    | {"loss": kept("absolute_error", "gamma", "poisson"), "quantile": trains({"quantile": 0.4, "loss": "quantile"})},
    "sklearn.linear_model.LinearRegression": _PLAIN_LINEAR | {"n_jobs": trains(2), "positive": trains(True)},
    "sklearn.linear_model.Ridge": _RIDGE,
    "sklearn.linear_model.RidgeClassifier": _RIDGE | {"class_weight": trains("balanced")},
    "sklearn.linear_model.Lasso": _PLAIN_LINEAR
    | {
        "alpha": trains(0.05),
        "precompute": trains(True),
        "max_iter": trains(50),
        "warm_start": trains(True),
        "positive": trains(True),
        "random_state": trains(3),
        "selection": trains("random"),
    },
    "sklearn.linear_model.LogisticRegression": {
        "penalty": trains("l2"),
        "C": trains(0.1),
        "l1_ratio": trains({"l1_ratio": 0.5, "solver": "saga", "penalty": "elasticnet"}),
        "dual": trains({"dual": True, "solver": "liblinear"}),
        "tol": trains(0.1),
        "fit_intercept": kept(False),
        "intercept_scaling": trains({"intercept_scaling": 2.0, "solver": "liblinear"}),
        "class_weight": trains("balanced"),
        "random_state": trains(3),
        "solver": trains("newton-cg"),
        "max_iter": trains(9),
        "verbose": trains(0),
        "warm_start": trains(True),
        "n_jobs": trains(2),
    },
    "sklearn.linear_model.SGDClassifier": _GRADIENT
    | {
        "loss": kept("log_loss", "modified_huber", "perceptron"),
        "epsilon": trains(0.3),
        "learning_rate": trains({"learning_rate": "constant", "eta0": 0.1}),
        "power_t": trains(0.3),
        "average": trains(True),
    },
    "sklearn.linear_model.Perceptron": _GRADIENT,
    "sklearn.svm.LinearSVC": {
        "penalty": trains({"penalty": "l1", "dual": False}),
        "loss": trains({"loss": "hinge", "dual": True}),
        "dual": trains(False),
        "tol": trains(0.1),
        "C": trains(0.1),
        "multi_class": kept("crammer_singer"),
        "fit_intercept": kept(False),
        "intercept_scaling": trains(2.0),
        "class_weight": trains("balanced"),
        "verbose": trains(0),
        "random_state": trains(3),
        "max_iter": trains(50),
    },
    "sklearn.naive_bayes.BernoulliNB": _BAYES | {"binarize": asked(1.0, 0.5, None)},
    "sklearn.naive_bayes.CategoricalNB": _BAYES | {"min_categories": kept(5)},
    "xgboost.XGBClassifier": _XGBOOST_CLASSES,
    "xgboost.XGBRFClassifier": _XGBOOST_CLASSES,
    "xgboost.XGBRegressor": _XGBOOST_NUMBERS,
    "xgboost.XGBRFRegressor": _XGBOOST_NUMBERS,
    "lightgbm.LGBMClassifier": _LIGHTGBM
    | {"objective": kept("binary", "multiclassova", "cross_entropy", "regression"), "sigmoid": kept(3.0)},
    "lightgbm.LGBMRegressor": _LIGHTGBM
    | {
        "objective": kept("l1", "huber", "quantile", "mape", "poisson", "tweedie", "gamma", "cross_entropy"),
        "reg_sqrt": kept(True),
    },
}


_TREES, _LINES = "sklearn.tree.DecisionTreeClassifier", "sklearn.linear_model.LogisticRegression"
_NUMBERS = "sklearn.tree.DecisionTreeRegressor"
_DEPTHS = {"max_depth": [1, 2]}
_SEARCHED: Params = {
    "estimator": trains(),
    "scoring": trains("accuracy"),
    "n_jobs": trains(1),
    "refit": trains(True),
    "cv": trains(3),
    "verbose": trains(0),
    "error_score": trains("raise"),
    "return_train_score": trains(True),
}
_DRAWN: Params = {
    "n_iter": trains(2),
    "random_state": trains(3),
    "param_distributions": trains({"param_distributions": _DEPTHS}),
}
_BAGS: Params = {
    "estimator": trains(),
    "n_estimators": asked(1, 2),  # predict asks only the first ones
    "max_samples": trains(0.5),
    "max_features": trains(2),
    "bootstrap": trains(False),
    "bootstrap_features": trains(True),
    "oob_score": trains({"oob_score": True, "n_estimators": 15}),
    "warm_start": trains(True),
    "n_jobs": trains(1),
    "random_state": trains(5),
    "verbose": trains(0),
}
_VOTES: Params = {
    "estimators": trains(),
    "weights": asked([1, 5, 1], [5, 1, 1]),
    "n_jobs": trains(1),
    "verbose": trains(False),
}
# Models that are made of models, and whatever else not every installation reads.
_MORE: dict[str, Params] = {
    "sklearn.ensemble.AdaBoostClassifier": {
        "estimator": trains(),
        "n_estimators": trains(1, 6),
        "learning_rate": trains(0.3),
        "algorithm": trains("SAMME"),  # until scikit-learn 1.7
        "random_state": trains(3),
    },
    "sklearn.ensemble.AdaBoostRegressor": {
        "estimator": trains(),
        "n_estimators": trains(1, 4),
        "learning_rate": trains(0.3),
        "loss": trains("square"),
        "random_state": trains(3),
    },
    "sklearn.ensemble.BaggingClassifier": _BAGS,
    "sklearn.ensemble.BaggingRegressor": _BAGS,
    "sklearn.ensemble.VotingClassifier": _VOTES | {"voting": asked("soft"), "flatten_transform": trains(False)},
    "sklearn.ensemble.VotingRegressor": _VOTES,
    "sklearn.ensemble.IsolationForest": {
        "n_estimators": trains(1, 4),
        "max_samples": trains(20),
        "contamination": trains(0.3),
        "max_features": trains(2),
        "bootstrap": trains(True),
        "n_jobs": trains(2),
        "random_state": trains(4),
        "verbose": trains(0),
        "warm_start": trains(True),
    },
    "sklearn.calibration.CalibratedClassifierCV": {
        "estimator": trains(),
        "method": trains("isotonic", "sigmoid"),
        "cv": trains(3),
        "n_jobs": trains(1),
        "ensemble": trains(False),
    },
    "sklearn.model_selection.FixedThresholdClassifier": {
        "estimator": trains(),
        "threshold": asked(0.2, 0.9),
        "pos_label": asked({"pos_label": 0, "threshold": 0.2}),
        "response_method": asked({"response_method": "predict_proba", "threshold": 0.2}),
    },
    "sklearn.model_selection.TunedThresholdClassifierCV": {
        "estimator": trains(),
        "scoring": trains("accuracy"),
        "response_method": trains("predict_proba"),
        "thresholds": trains(7),
        "cv": trains(3),
        "refit": trains(True),
        "n_jobs": trains(1),
        "random_state": trains(3),
        "store_cv_results": trains(True),
    },
    "sklearn.model_selection.GridSearchCV": _SEARCHED | {"param_grid": trains(), "pre_dispatch": trains(2)},
    "sklearn.model_selection.RandomizedSearchCV": _SEARCHED | _DRAWN | {"pre_dispatch": trains(2)},
    "sklearn.multiclass.OneVsRestClassifier": {"estimator": trains(), "n_jobs": trains(1), "verbose": trains(0)},
    "sklearn.multiclass.OneVsOneClassifier": {"estimator": trains(), "n_jobs": trains(1)},
}
# Small, and repeatable.
_USUAL: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "random_state": 0, "n_jobs": 1, "verbosity": 0}
_OWN: dict[str, dict[str, Any]] = {
    "lightgbm.LGBMClassifier": {"verbose": -1, "min_child_samples": 2, "max_depth": -1},
    "lightgbm.LGBMRegressor": {"verbose": -1, "min_child_samples": 2, "max_depth": -1},
    "sklearn.ensemble.HistGradientBoostingClassifier": {"max_iter": 3, "min_samples_leaf": 4},
    "sklearn.ensemble.HistGradientBoostingRegressor": {"max_iter": 3, "min_samples_leaf": 4},
    "sklearn.naive_bayes.CategoricalNB": {"min_categories": 4},
    "sklearn.linear_model.Lasso": {"alpha": 0.01},
    "sklearn.ensemble.BaggingClassifier": {"estimator": _TREES},
    "sklearn.ensemble.BaggingRegressor": {"estimator": _NUMBERS},
    "sklearn.ensemble.AdaBoostClassifier": {"estimator": _TREES},
    "sklearn.ensemble.AdaBoostRegressor": {"estimator": _NUMBERS},
    "sklearn.calibration.CalibratedClassifierCV": {"estimator": _TREES, "cv": 2},
    "sklearn.model_selection.FixedThresholdClassifier": {"estimator": _LINES, "threshold": 0.6},
    "sklearn.model_selection.TunedThresholdClassifierCV": {"estimator": _LINES, "cv": 2, "thresholds": 5},
    "sklearn.model_selection.GridSearchCV": {"estimator": _TREES, "param_grid": _DEPTHS, "cv": 2},
    "sklearn.model_selection.RandomizedSearchCV": {
        "estimator": _TREES,
        "param_distributions": _DEPTHS,
        "cv": 2,
        "n_iter": 1,
    },
    "sklearn.multiclass.OneVsRestClassifier": {"estimator": _LINES},
    "sklearn.multiclass.OneVsOneClassifier": {"estimator": _LINES},
    "sklearn.ensemble.VotingClassifier": {"estimators": [_TREES, _TREES.replace("Decision", "Extra"), _TREES]},
    "sklearn.ensemble.VotingRegressor": {"estimators": [_NUMBERS, _NUMBERS.replace("Decision", "Extra"), _NUMBERS]},
}
# More targets, where what predict does depends on how many classes there are.
_SEVERAL = ("Boosting", "XGB", "LGBM", "LogisticRegression", "LinearSVC", "BernoulliNB")
UNTRAINABLE = set(
    product(("xgboost.XGBRFClassifier", "xgboost.XGBRFRegressor"), ("early_stopping_rounds", "callbacks"))
)
# Boosters and pipelines have tests of their own below. The others either only hand on (FrozenEstimator, MultiOutput),
# or are subclasses of what is listed (halving searches, private boosting), or have no parameters to set: CatBoost
# refuses to change a fitted model, and of ExplainableBoosting, as of Orange's trees, predict asks no parameter. So it
# is with networks; the digits and the threshold of pyAgrum's classifier have tests with its reader.
LISTED_ELSEWHERE = {"sklearn.Pipeline", "xgboost.Booster", "lightgbm.Booster", "onnx.ModelProto"} | {
    *("sklearn.FrozenEstimator", "sklearn.MultiOutputClassifier", "sklearn.MultiOutputRegressor"),
    *("sklearn.HalvingGridSearchCV", "sklearn.HalvingRandomSearchCV"),
    *("pgmpy.DiscreteBayesianNetwork", "pyagrum.BayesNet", "pyagrum.BNClassifier"),
    *(f"catboost.CatBoost{kind}" for kind in ("", "Classifier", "Regressor", "Ranker")),
    *(f"interpret.{kind}ExplainableBoosting{task}" for kind in ("", "DP") for task in ("Classifier", "Regressor")),
}


def short(name: str) -> str:
    return f"{name.partition('.')[0]}.{name.rpartition('.')[2]}"


TABLE |= {name: params for name, params in _MORE.items() if short(name) in supported()}


def class_of(name: str) -> type:
    module, _, kind = name.rpartition(".")
    return getattr(pytest.importorskip(module), kind)


def entries(name: str) -> Iterator[tuple[str, Param]]:
    """Iterate over the parameters that this version has; boosting libraries take others by keyword."""
    known = params_of(name)
    return ((p, entry) for p, entry in TABLE[name].items() if p in known or not name.startswith("sklearn"))


def targets(name: str) -> tuple[str, ...]:
    if name.endswith(("Regressor", "Regression", "Ridge", "Lasso")) and not name.endswith("LogisticRegression"):
        return ("number",)
    if "OneVs" in name:
        return ("three",)
    return ("two", "three") if any(word in name for word in _SEVERAL) else ("two",)


def made(name: str, settings: dict[str, Any]) -> Any:
    kind, known = class_of(name), params_of(name)
    usual = {k: v for k, v in _USUAL.items() if k in known} | _OWN.get(name, {})
    if "estimator" in usual:
        usual["estimator"] = made(usual["estimator"], {})
    if "estimators" in usual:
        usual["estimators"] = [
            (f"m{k}", made(inner, {"random_state": k})) for k, inner in enumerate(usual["estimators"])
        ]
    return kind(**usual | settings)


def params_of(name: str) -> set[str]:
    """Return the parameters of a class: those that it lists, or that its constructor takes."""
    kind = class_of(name)
    try:
        return set(kind().get_params(deep=False))
    except TypeError:  # needs a model, or several
        return set(inspect.signature(kind).parameters)


def fitted(name: str, target: str, **settings: Any) -> Any:
    """Return a small model, or None where the library refuses to train with these settings."""
    y = TARGETS[target]
    wanted = str(settings.get("objective", settings.get("loss")))
    if target == "number" and wanted.endswith(_ABOVE_ZERO):
        y = np.abs(y) + 0.1
    if target == "number" and wanted.endswith(_SHARES):
        y = np.abs(y) / np.abs(y).max()
    more: dict[str, Any] = {"eval_set": [(X, y)], "verbose": False} if "early_stopping_rounds" in settings else {}
    try:
        return made(name, settings).fit(X.copy(), y, **more)  # copy_X=False means what it says
    except Exception:  # XGBoostError, LightGBMError, ValueError, TypeError: whatever a library says no by
        return None


_ABOVE_ZERO = ("gamma", "tweedie", "poisson", "cox", "mape", "squaredlogerror")
_SHARES = ("logistic", "cross_entropy")


@cache
def usual_model(name: str, target: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(name, target)


def everything(model: Any) -> list[Any]:
    """Return what a model predicts, also off the grid, and what it decides by."""
    inside = GRID if type(model).__name__ == "CategoricalNB" else np.concatenate([GRID, NEAR])
    asks = [ask for ask in ("decision_function", "predict_proba") if hasattr(model, ask)][:1]
    # rounded: with n_jobs forests add up in any order
    return [np.asarray(getattr(model, ask)(inside), dtype=np.float64).round(5).tolist() for ask in ("predict", *asks)]


def outputs_of(model: Any) -> list[Any]:
    """Return what predict gives; a booster gives probabilities, which are decided as usual."""
    return predictor(model, DOMAIN)(GRID) if type(model).__name__ == "Booster" else model.predict(GRID).tolist()


def check(model: Any, target: str) -> str:
    """Compare CXps and their weights with brute force over predict; return what came of it."""
    delta = DELTA if target == "number" else None
    try:
        explainer = ax.Explainer(model, DOMAIN, delta=delta)
        explained = [explainer.explain(row).cxps for row in ROWS]
    except (UnsupportedModelError, DomainError):  # the domain is right, so it says what the model lacks
        return "refused"
    except ConstantModelError:
        assert len(set(outputs_of(model))) == 1
        return "constant"
    outputs = dict(zip(POINTS, outputs_of(model), strict=True))
    for row, found in zip(ROWS, explained, strict=True):
        judge = Judge(space_of(DOMAIN), outputs.__getitem__, row, delta)
        expected = {tuple(DOMAIN.names[i] for i in sorted(Y)): judge.ratio(Y) for Y in judge.cxps()}
        assert {c.features: c.weight for c in found} == expected, (model, row)
    return "equal"


@pytest.mark.parametrize("name", TABLE)
def test_the_table_is_complete(name: str) -> None:
    new = params_of(name) - set(TABLE[name])
    assert not new, f"{name} has parameters that this table lacks: {sorted(new)}; find out whether they act in predict"


def test_every_class_that_is_read_has_a_table() -> None:
    known = set(map(short, TABLE)) | LISTED_ELSEWHERE
    missing = {kind for kind in supported() if not kind.startswith("Orange")} - known
    assert not missing, f"Parameters of {sorted(missing)} are in no table; find out which of them act in predict"


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.filterwarnings("ignore")
def test_what_is_not_asked_does_not_act(name: str) -> None:
    """Set on the fitted model, it changes nothing that is predicted, and nothing that is explained."""
    for target in targets(name)[:1]:
        model = usual_model(name, target)
        before = everything(model)
        for param, entry in entries(name):
            for settings in entry.settings(param) if entry.role != "asked" else ():
                changed = copy.deepcopy(model).set_params(**{param: settings[param]})
                try:
                    after = everything(changed)
                except Exception:  # the library refuses to predict: nothing to explain
                    continue
                assert after == before, f"{param}={settings[param]!r} acts in predict; enter it as asked"


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.filterwarnings("ignore")
def test_what_is_asked_is_obeyed_or_refused(name: str) -> None:
    """Set on the fitted model, it acts, and is explained as it acts, or refused."""
    for param, entry in entries(name):
        if entry.role != "asked":
            continue
        acted = set()
        for target, settings in product(targets(name), entry.settings(param)):
            model = usual_model(name, target)
            changed = copy.deepcopy(model).set_params(**settings)
            outcome = check(changed, target)
            acted.add(outcome == "refused" or everything(changed) != everything(model))
        assert True in acted, f"{param} does not act in predict; enter it as trained with"


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.filterwarnings("ignore")
def test_models_trained_with_other_values(name: str) -> None:
    """Whatever a parameter does, models trained with it are explained as they predict, or refused."""
    for param, entry in entries(name):
        several = targets(name) if entry.role != "trains" else targets(name)[:1]
        pairs = product(several, entry.settings(param))
        tried = [(target, fitted(name, target, **settings)) for target, settings in pairs]
        outcomes = {check(model, target) for target, model in tried if model is not None}
        for target, model in tried if entry.role != "trains" else ():
            if model is not None:  # what fit has kept does not go away when the parameter is set to something else
                check(copy.deepcopy(model).set_params(**{param: made(name, {}).get_params().get(param)}), target)
        untried = not entry.values or (name, param) in UNTRAINABLE
        assert outcomes or untried, f"{param} was not tried at all; give values that go"


# What predict itself may be told; explanations are of predict(X), all of these left at their defaults.
_ARGUMENTS = {
    "xgboost": {"output_margin", "validate_features", "base_margin", "iteration_range"},
    "lightgbm": {"raw_score", "start_iteration", "num_iteration", "pred_leaf", "pred_contrib", "validate_features"}
    | {"kwargs"},
    "sklearn": {"check_input", "params"},
}


@pytest.mark.parametrize("name", TABLE)
def test_arguments_of_predict_are_known(name: str) -> None:
    arguments = set(inspect.signature(class_of(name).predict).parameters) - {"self", "X"}
    new = arguments - _ARGUMENTS[name.partition(".")[0]]
    assert not new, f"{name}.predict has arguments that this table lacks: {sorted(new)}"


def test_no_other_setting_of_lightgbm_acts() -> None:
    """Estimators hand on to predict whatever they were given by keyword; of all settings there are, one acts."""
    basic = pytest.importorskip("lightgbm.basic")
    settings = basic._ConfigAliases._get_all_param_aliases()
    model = usual_model("lightgbm.LGBMClassifier", "two")
    before = everything(model)
    tried = set()
    for setting in sorted(set(settings) - {"pred_early_stop", "num_threads"}):
        for value in (True, 1, 0.5):
            changed = copy.deepcopy(model).set_params(**{setting: value})
            try:
                after = everything(changed)
            except Exception:  # of another type, or without a meaning here: the library refuses to predict
                continue
            tried.add(setting)
            assert after == before, f"{setting}={value} acts in predict; enter it as asked"
    assert len(tried) > 0.8 * len(settings)


@pytest.mark.parametrize("objective", ["binary:logistic", "binary:logitraw", "multi:softprob", "reg:squarederror"])
def test_xgboost_boosters(objective: str) -> None:
    """A booster's own parameters, its attributes and its slices."""
    xgb = pytest.importorskip("xgboost")
    target = {"binary": "two", "multi": "three", "reg": "number"}[objective.partition(":")[0]]
    more = {"num_class": 3} if target == "three" else {}
    data = xgb.DMatrix(X, TARGETS[target], nthread=1)
    booster = xgb.train({"objective": objective, "max_depth": 2, "nthread": 1, **more}, data, 5)
    early = booster.copy()
    early.set_attr(best_iteration="1")  # Booster.predict does not ask for it
    models = [booster, early, booster[1:3]]
    for setting in ({"base_score": 0.2}, {"learning_rate": 9.0}, {"nthread": 2}):
        models.append(booster.copy())
        models[-1].set_param(setting)
    for model in models:
        assert check(model, target) == "equal"
    models[-1].set_param({"booster": "dart"})  # after which the library itself has no trees any more
    assert check(models[-1], target) == "refused"


@pytest.mark.parametrize("objective", ["binary", "multiclass", "regression"])
def test_lightgbm_boosters(objective: str) -> None:
    """Settings of training stay with a booster and do not act in its predict, pred_early_stop included."""
    lgb = pytest.importorskip("lightgbm")
    target = {"binary": "two", "multiclass": "three", "regression": "number"}[objective]
    stop = {"pred_early_stop": True, "pred_early_stop_margin": 0.01, "pred_early_stop_freq": 1}
    usual = {"objective": objective, "num_leaves": 4, "min_data_in_leaf": 2, "verbosity": -1, "num_threads": 1}
    usual |= {"num_class": 3} if target == "three" else {}
    for more in ({}, stop, {"zero_as_missing": True}, {"boosting": "dart"}, {"use_missing": False}):
        model = lgb.train({**usual, **more}, lgb.Dataset(X.copy(), TARGETS[target]), 4)
        assert check(model, target) == "equal"
        shorter = lgb.Booster(model_str=model.model_to_string(num_iteration=3))
        assert check(shorter, target) == "equal"
    model.best_iteration = 3  # asked by predict, and by the text of the model as well
    assert check(model, target) == "equal"


_TABLES: dict[str, Callable[[], Any]] = {
    "sparse": lambda: encoders().OneHotEncoder(),
    "dense": lambda: encoders().OneHotEncoder(sparse_output=False),
    "dropped": lambda: encoders().OneHotEncoder(drop="first"),
    "stacked sparse": lambda: stacked(sparse_threshold=1.0),
    "stacked dense": lambda: stacked(sparse_threshold=0.0),
}


def encoders() -> Any:
    return pytest.importorskip("sklearn.preprocessing")


def stacked(sparse_threshold: float) -> Any:
    """One column as it is, whose zeros a sparse table leaves out as well, one scaled and one encoded."""
    parts = [
        ("same", "passthrough", [0]),
        ("scaled", encoders().StandardScaler(), [1]),
        ("hot", encoders().OneHotEncoder(), [2]),
    ]
    return pytest.importorskip("sklearn.compose").ColumnTransformer(parts, sparse_threshold=sparse_threshold)


@pytest.mark.parametrize("missing", [np.nan, 0.0, 1.0])
@pytest.mark.parametrize("tables", _TABLES)
@pytest.mark.parametrize("name", ["xgboost.XGBClassifier", "xgboost.XGBRegressor", "lightgbm.LGBMClassifier"])
@pytest.mark.filterwarnings("ignore")
def test_pipelines_that_give_sparse_tables(name: str, tables: str, missing: float) -> None:
    """XGBoost takes the zeros that a sparse table leaves out for missing; what is told by ``missing`` acts here too."""
    target = targets(name)[0]
    settings = {"missing": missing} if "XGB" in name else {"zero_as_missing": bool(missing)}
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(_TABLES[tables](), made(name, settings))
    outcome = check(pipeline.fit(X, TARGETS[target]), target)
    both = missing == 1 and tables in ("sparse", "dropped", "stacked sparse") and "XGB" in name
    assert outcome == ("refused" if both else "equal")
    if outcome == "equal":
        explainer = ax.Explainer(pipeline, DOMAIN, delta=DELTA if target == "number" else None)
        assert ax.verify(explainer.explain(ROWS[0]), pipeline).ok


def test_a_fitted_catboost_model_takes_no_parameters() -> None:
    """What else acts in its predict, methods set: the threshold of a probability, scale and bias of a sum."""
    catboost = pytest.importorskip("catboost")
    if "catboost.CatBoostClassifier" not in supported():
        pytest.skip("CatBoost is not read")
    usual = {"iterations": 4, "depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    classifier = catboost.CatBoostClassifier(**usual).fit(X, TARGETS["two"])
    with pytest.raises(catboost.CatBoostError, match="fitted model"):
        classifier.set_params(depth=3)
    for threshold in (0.2, 0.35, 0.8):
        moved = classifier.copy()
        moved.set_probability_threshold(threshold)
        assert outputs_of(moved) != outputs_of(classifier)
        assert check(moved, "two") == "equal"
    regressor = catboost.CatBoostRegressor(**usual).fit(X, TARGETS["number"])
    for scale, bias in ((2.0, 0.5), (-1.0, 3.0)):
        regressor.set_scale_and_bias(scale, bias)
        assert check(regressor, "number") in ("equal", "refused")


@pytest.mark.filterwarnings("ignore")
def test_explainable_boosting_asks_no_parameter() -> None:
    glassbox = pytest.importorskip("interpret.glassbox")
    if "interpret.ExplainableBoostingClassifier" not in supported():
        pytest.skip("ExplainableBoosting is not read")
    usual = {"interactions": 1, "max_rounds": 60, "outer_bags": 1, "n_jobs": 1, "min_samples_leaf": 1}
    model = glassbox.ExplainableBoostingClassifier(**usual).fit(X, TARGETS["two"])
    assert check(model, "two") == "equal"
    before = everything(model)
    for param in model.get_params():
        changed = copy.deepcopy(model)
        setattr(changed, param, object())  # with which nothing can be done
        assert everything(changed) == before


@pytest.mark.parametrize(
    ("name", "settings"),
    [("xgboost.XGBClassifier", {"missing": m}) for m in (np.nan, 0.0, 1.0)]
    + [("xgboost.XGBRegressor", {"missing": 2.0})]
    + [
        ("lightgbm.LGBMClassifier", {"zero_as_missing": z, "use_missing": u})
        for z in (True, False)
        for u in (True, False)
    ],
)
def test_numbers_that_count_as_missing_besides_missing_values(name: str, settings: dict[str, Any]) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2, missing=0.25), ax.Integer("b", 0, 1), ax.Integer("c", 0, 2, missing=0.5)])
    points = list(domain.points())
    table = np.array(points, dtype=np.float64)  # None becomes NaN
    seen = np.concatenate([table, X])
    target = targets(name)[0]
    wanted = np.nan_to_num(seen[:, 0], nan=1.4) * (seen[:, 1] + 0.6) - np.nan_to_num(seen[:, 2], nan=-1)
    model = made(name, settings).fit(seen, wanted if target == "number" else (wanted > 0.5).astype(int))
    outputs = dict(zip(points, model.predict(table).tolist(), strict=True))
    delta = DELTA if target == "number" else None
    explainer = ax.Explainer(model, domain, delta=delta)
    for row in ((1, 1, 2), (None, 0, 0), (0, 1, None)):
        judge = Judge(space_of(domain), outputs.__getitem__, row, delta)
        expected = {tuple(domain.names[i] for i in sorted(Y)): judge.ratio(Y) for Y in judge.cxps()}
        assert {c.features: c.weight for c in explainer.explain(row).cxps} == expected
