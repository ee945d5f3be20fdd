"""Models of every library that takes missing values, trained on tables of which a fifth is missing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from tests.support.oracle import space_of
from tests.support.random_problems import Truth

SHARE = 0.2


def _xgboost(task: str, seed: int, size: int) -> Any:
    xgb = pytest.importorskip("xgboost")
    kind = xgb.XGBRegressor if task == "regression" else xgb.XGBClassifier
    return kind(n_estimators=size, max_depth=3, random_state=seed, n_jobs=1, learning_rate=0.37)


def _lightgbm(task: str, seed: int, size: int, **options: Any) -> Any:
    lgb = pytest.importorskip("lightgbm")
    kind = lgb.LGBMRegressor if task == "regression" else lgb.LGBMClassifier
    return kind(
        n_estimators=size, num_leaves=8, min_child_samples=3, random_state=seed, n_jobs=1, verbose=-1, **options
    )


def _lightgbm_zeros(task: str, seed: int, size: int) -> Any:
    return _lightgbm(task, seed, size, zero_as_missing=True)


def _lightgbm_none(task: str, seed: int, size: int) -> Any:
    return _lightgbm(task, seed, size, use_missing=False)


def _histograms(task: str, seed: int, size: int) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    name = "HistGradientBoostingRegressor" if task == "regression" else "HistGradientBoostingClassifier"
    return getattr(ensemble, name)(max_iter=size, max_leaf_nodes=8, min_samples_leaf=3, random_state=seed)


def _tree(task: str, seed: int, size: int) -> Any:
    tree = pytest.importorskip("sklearn.tree")
    kind = tree.DecisionTreeRegressor if task == "regression" else tree.DecisionTreeClassifier
    return kind(max_depth=2 + size, random_state=seed)


def _forest(task: str, seed: int, size: int) -> Any:
    ensemble = pytest.importorskip("sklearn.ensemble")
    kind = ensemble.RandomForestRegressor if task == "regression" else ensemble.RandomForestClassifier
    return kind(n_estimators=2 * size + 1, max_depth=4, random_state=seed)


def _catboost(task: str, seed: int, size: int) -> Any:
    catboost = pytest.importorskip("catboost")
    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    mode = ("Min", "Max")[seed % 2]
    options = {"verbose": False, "thread_count": 1, "allow_writing_files": False, "nan_mode": mode}
    return kind(iterations=size, depth=3, random_seed=seed, **options)


Maker = Callable[[str, int, int], Any]
LIBRARIES: dict[str, Maker] = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "lightgbm, zeros missing": _lightgbm_zeros,
    "lightgbm, nothing missing": _lightgbm_none,
    "histograms": _histograms,
    "tree": _tree,
    "forest": _forest,
    "catboost": _catboost,
}
TASKS = ("binary", "classes", "regression")


def table(seed: int, n: int, *, whole: bool) -> tuple[Any, Any]:
    """Return columns, a fifth of each missing, and a score that also depends on what is missing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 3, (n, 4)).astype(float) if whole else rng.normal(size=(n, 4)) * [1, 10, 0.1, 100]
    z = X[:, 0] * rng.normal() + X[:, 1] * rng.normal() * (X[:, 2] > 0) + rng.normal(size=n) * 0.3
    X[rng.random(X.shape) < SHARE] = np.nan
    return X, z + np.isnan(X[:, 0]) * rng.normal()


def trained(name: str, task: str, seed: int, *, size: int, n: int = 400, whole: bool = True) -> tuple[Any, Any]:
    """Return a fitted model and the table it was trained on."""
    X, z = table(seed, n, whole=whole)
    y = z if task == "regression" else np.digitize(z, np.quantile(z, [0.5] if task == "binary" else [0.3, 0.7]))
    return LIBRARIES[name](task, seed, size).fit(X, y), X


def truth_of(model: Any, X: Any, *, seed: int, n_instances: int = 3) -> Truth:
    """Return the outputs of a model's own predict at all points of a grid of whole numbers, missing ones included."""
    domain = ax.Domain.from_data(X, integer=range(X.shape[1]))
    space = space_of(domain)
    points = np.array([[np.nan if x is None else x for x in point] for point in product(*space.values)], dtype=float)
    outputs = np.asarray(model.predict(points)).reshape(-1).tolist()
    rng = Random(seed)
    instances = [tuple(rng.randrange(len(row)) for row in space.values) for _ in range(n_instances)]
    is_regression = len(getattr(model, "classes_", ())) == 0  # CatBoost has an empty list
    delta = Fraction(float(np.std(outputs))) / 2 if is_regression else None
    exact = [Fraction(y) if is_regression else y for y in outputs]
    return Truth("missing", model, domain, delta, space.values, space.measures, exact, instances)


def is_tie(form: Any, x: Any) -> bool:
    """Tell whether the two best scores at a point are within the library's rounding of each other."""
    scores = sorted(form.scores_at(form.domain.encode_point(x)[np.newaxis])[0])
    gap = abs(scores[0]) if len(scores) == 1 else scores[-1] - scores[-2]
    return gap <= form.rounding_error


def is_decided_by_rounding(truth: Truth) -> bool:
    """Tell whether the library's rounding, and not the model, decides some output; other differences are errors."""
    form = ax.read_model(truth.model, truth.domain)
    places = [truth.point(place) for place in truth.places]
    exact = form.predict(places)
    if truth.delta is None:
        odd = [x for x, mine, own in zip(places, exact, truth.outputs, strict=True) if mine != own]
        assert all(is_tie(form, x) for x in odd)
        return bool(odd)
    reach = Fraction(1, 10**5) * (1 + max(map(abs, truth.outputs)))
    assert all(abs(mine - own) < reach for mine, own in zip(exact, truth.outputs, strict=True))
    here = [truth.output(v) for v in truth.instances]
    return any(abs(abs(y - v) - truth.delta) < 2 * reach for v in here for y in truth.outputs)
