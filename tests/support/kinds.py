"""One small trained model of every kind, with a domain and instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.domain.grid import Grid
from axfi_kc.models import CircuitModel

RNG = np.random.default_rng(11)
N = 200
X = np.column_stack([RNG.normal(size=(N, 2)).round(3), RNG.integers(0, 6, N), RNG.integers(0, 2, N)])
Z = X[:, 0] + X[:, 1] * (X[:, 2] > 2) - 0.4 * X[:, 3]
BINARY = np.array(["no", "yes"])[(Z > 0.1).astype(int)]
THREE = np.digitize(Z, [-0.4, 0.5])
DOMAIN = ax.Domain.from_data(X, integer=["x2", "x3"])


@dataclass(frozen=True)
class Kind:
    """A model, its domain, what counts as similar, and instances."""

    model: Any
    domain: ax.Domain
    delta: Fraction | None
    rows: tuple[Any, ...]

    def explain(self, number: int = 0, **options: Any) -> ax.Explanation:
        return ax.Explainer(self.model, self.domain, delta=self.delta, **options).explain(self.rows[number])


def _trained(model: Any, y: Any, delta: Any = None) -> Kind:
    return Kind(model.fit(X, y), DOMAIN, None if delta is None else Fraction(delta), tuple(X[:6]))


def _function() -> Kind:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Categorical("b", "xyz"), ax.Integer("c", 0, 2, weights=[1, 2, 3])])
    rows = ((3, "x", 2), (0, "z", 0), (1, "y", 1), (2, "x", 0))
    return Kind(_decide, domain, None, rows)


def _decide(point: tuple[Any, ...]) -> int:
    return int(point[0] > 1 and point[1] != "y") + 2 * int(point[2] == 0 and point[0] < 1)


def _table() -> Kind:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3), ax.Integer("c", 0, 2)])
    outputs = [(a * b + c * c) % 5 for a, b, c in domain.points()]
    return Kind(ax.TableModel.from_outputs(domain, outputs), domain, Fraction(1), ((1, 2, 0), (3, 3, 2), (0, 0, 0)))


def _circuit() -> Kind:
    domain = ax.Domain(
        [ax.Integer("a", 0, 3), ax.Integer("b", 0, 2), ax.Categorical("c", "pqr"), ax.Integer("d", 0, 1)]
    )
    build = CircuitBuilder(Grid.of_values(domain))
    one = build.conjunction([build.literal(0, [1, 2]), build.literal(1, [0, 2])])
    two = build.conjunction([build.literal(0, [0, 3]), build.literal(2, [0]), build.literal(3, [1])])
    return Kind(
        CircuitModel.of(build.circuit(build.disjunction([one, two])), outputs=("out", "in")),
        domain,
        None,
        ((1, 2, "p", 1), (0, 0, "p", 1), (3, 1, "r", 0)),
    )


def _one_hot() -> Kind:
    linear = pytest.importorskip("sklearn.linear_model")
    domain = ax.Domain([ax.Integer("n", 0, 4), ax.Categorical("colour", "rgb", columns=["r", "g", "b"])])
    rng = np.random.default_rng(5)
    choice = rng.integers(0, 3, 90)
    table = np.column_stack([rng.integers(0, 5, 90), np.eye(3)[choice]])
    model = linear.LogisticRegression().fit(table, (table[:, 0] + 2 * table[:, 2] > 2.5).astype(int))
    return Kind(model, domain, None, ((4, "g"), (0, "r"), (2, "b")))


def _sklearn(module: str, name: str, y: Any, delta: Any = None, **settings: Any) -> Callable[[], Kind]:
    return lambda: _trained(getattr(pytest.importorskip(f"sklearn.{module}"), name)(**settings), y, delta)


def _xgboost(name: str, y: Any, delta: Any = None) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("xgboost")
        return _trained(getattr(library, name)(n_estimators=6, max_depth=3, n_jobs=1), y, delta)

    return made


def _pipeline() -> Kind:
    pipelines, scalers = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.preprocessing")
    linear = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    return _trained(pipelines.make_pipeline(scalers.StandardScaler(), scalers.MinMaxScaler(), linear), BINARY)


def _neutral_linear() -> Kind:
    made = kind("linear")
    return Kind(ax.read_model(made.model, made.domain), made.domain, None, made.rows)


def _neutral_trees() -> Kind:
    made = kind("xgboost")
    return Kind(ax.read_model(made.model, made.domain), made.domain, None, made.rows)


def _booster() -> Kind:
    library = pytest.importorskip("xgboost")
    data = library.DMatrix(X, label=(BINARY == "yes").astype(int))
    model = library.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, data, num_boost_round=5)
    return Kind(model, DOMAIN, None, tuple(X[:6]))


def _lightgbm(name: str, y: Any, delta: Any = None) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("lightgbm")
        settings = {"n_estimators": 5, "num_leaves": 6, "min_child_samples": 10, "n_jobs": 1, "verbose": -1}
        return _trained(getattr(library, name)(**settings), y, delta)

    return made


_FOREST = {"n_estimators": 7, "max_depth": 3, "random_state": 0}
_BOOSTED = {"n_estimators": 5, "max_depth": 2, "random_state": 0}
_KINDS: dict[str, Callable[[], Kind]] = {
    "function": _function,
    "table": _table,
    "circuit": _circuit,
    "tree": _sklearn("tree", "DecisionTreeClassifier", THREE, max_depth=4, random_state=0),
    "tree regression": _sklearn("tree", "DecisionTreeRegressor", Z, "1/2", max_depth=4, random_state=0),
    "forest": _sklearn("ensemble", "RandomForestClassifier", THREE, **_FOREST),
    "forest regression": _sklearn("ensemble", "RandomForestRegressor", Z, "1/2", **_FOREST),
    "boosted": _sklearn("ensemble", "GradientBoostingClassifier", BINARY, **_BOOSTED),
    "boosted classes": _sklearn("ensemble", "GradientBoostingClassifier", THREE, **_BOOSTED),
    "boosted regression": _sklearn("ensemble", "GradientBoostingRegressor", Z, "1/2", **_BOOSTED),
    "xgboost": _xgboost("XGBClassifier", (BINARY == "yes").astype(int)),
    "xgboost classes": _xgboost("XGBClassifier", THREE),
    "xgboost regression": _xgboost("XGBRegressor", Z, "1/2"),
    "xgboost booster": _booster,
    "lightgbm": _lightgbm("LGBMClassifier", BINARY),
    "lightgbm regression": _lightgbm("LGBMRegressor", Z, "1/2"),
    "linear": _sklearn("linear_model", "LogisticRegression", BINARY),
    "linear regression": _sklearn("linear_model", "LinearRegression", Z, "1/2"),
    "one-hot linear": _one_hot,
    "pipeline of linear": _pipeline,
    "neutral linear": _neutral_linear,
    "neutral trees": _neutral_trees,
    "histograms": _sklearn("ensemble", "HistGradientBoostingClassifier", THREE, max_iter=4, max_depth=2),
    "histograms regression": _sklearn("ensemble", "HistGradientBoostingRegressor", Z, "1/2", max_iter=4, max_depth=2),
}
NAMES = tuple(_KINDS)


@cache
def kind(name: str) -> Kind:
    """Return the model of that kind, trained once."""
    return _KINDS[name]()
