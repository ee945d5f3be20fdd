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
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers import supported
from axfi_kc.errors import ConstantModelError, UnsupportedModelError
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
    "booster": kept("dart", "gblinear"),
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
    "base_score": kept(0.3, 0.9),
    "random_state": trains(4),
    "missing": asked(0.0, 1.0, 2.0, -1.0, 0.5),
    "num_parallel_tree": kept(2),
    "monotone_constraints": trains("(1,0,0)"),
    "interaction_constraints": trains([[0, 1], [2]]),
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
    "objective": kept("binary:logistic", "binary:logitraw", "binary:hinge", "multi:softprob", "multi:softmax")
}
_XGBOOST_NUMBERS: Params = _LEARNING | {
    "objective": kept(
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
