"""scikit-learn models, read from their fitted arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.verification.columns import Seen
from axfi_kc.verification.forms import Form, OwnTree, TreeForm, class_name
from axfi_kc.verification.histogram_forms import histogram_form
from axfi_kc.verification.linear_forms import linear_form
from axfi_kc.verification.pieces import single_precision
from axfi_kc.verification.pipelines import pipeline_form
from axfi_kc.verification.rules import Rule

__all__ = ["sklearn_form"]

_SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def sklearn_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> Form | None:
    """Return a scikit-learn model's trees or coefficients; None for other models."""
    name = class_name(model)
    if name in _SINGLE:
        return TreeForm((_tree(model.tree_),), _zeros(model), _voting(model, 1), columns)
    if name in _FORESTS and all(map(class_name, model.estimators_)):
        trees = tuple(_tree(e.tree_) for e in model.estimators_)
        return TreeForm(trees, _zeros(model), _voting(model, len(trees)), columns)
    if name in _BOOSTED and (model.init is None or model.init == "zero"):
        return _boosted(model, columns)
    if name in _HISTOGRAMS:
        return histogram_form(model, domain, columns)
    if name == "Pipeline":
        return pipeline_form(model, domain)
    return linear_form(model, domain, columns)


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


def _boosted(model: Any, columns: tuple[Seen, ...]) -> TreeForm:
    """Return the stages, and as base what the raw score is before them."""
    width = model.estimators_.shape[1]
    trees = tuple(
        _tree(e.tree_, k, width, float(model.learning_rate)) for stage in model.estimators_ for k, e in enumerate(stage)
    )
    labels = _labels(model)
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    rule = Rule("itself") if not labels else Rule("largest" if width > 1 else "from", labels)
    return TreeForm(trees, tuple(Fraction(float(b)) for b in base), rule, columns)
