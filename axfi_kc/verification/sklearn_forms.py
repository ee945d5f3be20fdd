"""scikit-learn models, read from their fitted arrays."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.features import Categorical
from axfi_kc.verification.forms import Form, LinearForm, OwnTree, TreeForm
from axfi_kc.verification.pieces import single_precision
from axfi_kc.verification.rules import Rule

__all__ = ["sklearn_form"]

_SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_LOGARITHMIC = ("poisson", "gamma")
_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_LINEAR = (
    "LogisticRegression",
    "LinearSVC",
    "SGDClassifier",
    "RidgeClassifier",
    "Perceptron",
    "LinearRegression",
    "Ridge",
    "Lasso",
)


def sklearn_form(model: Any, domain: Domain) -> Form | None:
    """Return a scikit-learn model's trees or coefficients; None for other models."""
    name = type(model).__name__
    numbers = all(isinstance(c, int | float) for f in domain.features for c in _codes(f))
    if not numbers:
        return None
    if name in _SINGLE:
        return TreeForm((_tree(model.tree_),), _zeros(model), _voting(model, 1))
    if name in _FORESTS:
        trees = tuple(_tree(e.tree_) for e in model.estimators_)
        return TreeForm(trees, _zeros(model), _voting(model, len(trees)))
    if name in _BOOSTED and (model.init is None or model.init == "zero"):
        return _boosted(model)
    if name in _HISTOGRAMS:
        return _histograms(model)
    if name == "Pipeline":
        return _scaled(model, domain)
    return _linear(model, domain) if name in _LINEAR else None


def _codes(feature: Any) -> Iterable[Any]:
    return (c for row in feature.codes for c in row) if isinstance(feature, Categorical) else ()


def _labels(model: Any) -> tuple[Any, ...]:
    return tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()


def _zeros(model: Any) -> tuple[Fraction, ...]:
    return (Fraction(0),) * max(len(_labels(model)), 1)


def _voting(model: Any, n_trees: int) -> Rule:
    labels = _labels(model)
    return Rule("largest", labels) if labels else Rule("itself", scale=Fraction(1, n_trees))


def _tree(tree: Any, place: int = 0, width: int = 0, factor: float | None = None) -> OwnTree:
    """Return a ``tree_``; with a factor, its single value goes to one of `width` scores, as a rounded product."""
    leaf = (tree.children_left < 0).tolist()
    bounds = (single_precision(t, strict=False) for t in tree.threshold.tolist())
    rows = tree.value[:, 0, :]
    if factor is not None:
        scaled = np.zeros((len(rows), width))
        scaled[:, place] = factor * rows[:, 0]
        rows = scaled
    return OwnTree(
        tuple(-1 if at_leaf else c for at_leaf, c in zip(leaf, tree.feature.tolist(), strict=True)),
        tuple(None if at_leaf else b for at_leaf, b in zip(leaf, bounds, strict=True)),
        tuple(tree.children_left.tolist()),
        tuple(tree.children_right.tolist()),
        tuple(tuple(map(Fraction, row)) for row in rows.tolist()),
    )


def _boosted(model: Any) -> TreeForm:
    """Return the stages, and as base what the raw score is before them."""
    width = model.estimators_.shape[1]
    trees = tuple(
        _tree(e.tree_, k, width, float(model.learning_rate)) for stage in model.estimators_ for k, e in enumerate(stage)
    )
    labels = _labels(model)
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    rule = Rule("itself") if not labels else Rule("largest" if width > 1 else "from", labels)
    return TreeForm(trees, tuple(Fraction(float(b)) for b in base), rule)


def _histograms(model: Any) -> TreeForm | None:
    """Return histogram boosting without categories, which the library numbers in its own way."""
    labels = _labels(model)
    if (model.is_categorical_ is not None and any(model.is_categorical_)) or (
        not labels and model.loss in _LOGARITHMIC
    ):
        return None
    base = tuple(Fraction(float(b)) for b in np.ravel(model._baseline_prediction))
    trees = tuple(_predictor(p.nodes, k, len(base)) for stage in model._predictors for k, p in enumerate(stage))
    rule = Rule("itself") if not labels else Rule("largest" if len(base) > 1 else "above", labels)
    return TreeForm(trees, base, rule)


def _predictor(nodes: Any, place: int, width: int) -> OwnTree:
    leaf = nodes["is_leaf"].astype(bool).tolist()
    limits = np.minimum(nodes["num_threshold"], np.finfo(np.float64).max).tolist()  # infinity: all but missing values
    values = nodes["value"].tolist()
    return OwnTree(
        tuple(-1 if at_leaf else int(c) for at_leaf, c in zip(leaf, nodes["feature_idx"].tolist(), strict=True)),
        tuple(None if at_leaf else (Fraction(t), True) for at_leaf, t in zip(leaf, limits, strict=True)),
        tuple(nodes["left"].tolist()),
        tuple(nodes["right"].tolist()),
        tuple(tuple(Fraction(v) if k == place else Fraction(0) for k in range(width)) for v in values),
    )


def _scaled(model: Any, domain: Domain) -> LinearForm | None:
    """Return a linear model behind scalers: every column is an exact affine map of one of the user's."""
    maps = [(Fraction(1), Fraction(0))] * len(domain.columns)
    for _, step in model.steps[:-1]:
        affine = _affine(step, len(maps))
        if affine is None:
            return None
        maps = [(a * f, a * c + b) for (f, c), (a, b) in zip(maps, affine, strict=True)]
    final = model.steps[-1][1]
    return _linear(final, domain, maps) if type(final).__name__ in _LINEAR else None


def _affine(step: Any, width: int) -> list[tuple[Fraction, Fraction]] | None:
    """Return the factor and the constant that a scaler applies to each column."""
    name = type(step).__name__
    if step is None or step == "passthrough":
        return [(Fraction(1), Fraction(0))] * width
    if name == "StandardScaler":
        means = step.mean_.tolist() if step.with_mean else [0.0] * width
        scales = step.scale_.tolist() if step.with_std else [1.0] * width
        return [(1 / Fraction(s), -Fraction(m) / Fraction(s)) for m, s in zip(means, scales, strict=True)]
    if name == "MinMaxScaler" and not step.clip:
        return [(Fraction(s), Fraction(m)) for s, m in zip(step.scale_.tolist(), step.min_.tolist(), strict=True)]
    return None


def _linear(model: Any, domain: Domain, maps: list[tuple[Fraction, Fraction]] | None = None) -> LinearForm | None:
    """Return coefficients; columns that went through affine maps are put back into the user's units."""
    rows = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    table = [[Fraction(float(c)) for c in row] for row in np.atleast_2d(rows)]
    labels = _labels(model)
    if len(table) != (len(labels) if len(labels) > 2 else 1):
        return None
    base = [Fraction(float(b)) for b in np.ravel(model.intercept_).tolist()]
    base = base * len(table) if len(base) == 1 else base
    if maps is not None:
        base = [b + sum(c * k for c, (_, k) in zip(row, maps, strict=True)) for b, row in zip(base, table, strict=True)]
        table = [[c * f for c, (f, _) in zip(row, maps, strict=True)] for row in table]
    rule = Rule("itself") if not labels else Rule("above" if len(labels) == 2 else "largest", labels)
    slopes: list[Any] = []
    entries: list[Any] = []
    start = 0
    for feature in domain.features:
        block = [row[start : start + len(feature.columns)] for row in table]
        start += len(feature.columns)
        if isinstance(feature, Categorical):
            slopes.append(None)
            entries.append(tuple(tuple(_dot(row, code) for row in block) for code in feature.codes))
        else:
            slopes.append(tuple(row[0] for row in block))
            entries.append(None)
    return LinearForm(tuple(slopes), tuple(entries), tuple(base), rule)


def _dot(row: list[Fraction], code: tuple[Any, ...]) -> Fraction:
    return sum((a * Fraction(float(c)) for a, c in zip(row, code, strict=True)), Fraction(0))
