"""scikit-learn's trees, forests and boosting, read from their fitted arrays and nodes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.verification.reading.columns import Seen, Split
from axfi_kc.verification.reading.forms import Form, OwnTree, Rule, TreeForm, class_name
from axfi_kc.verification.reading.pipelines import pipeline_form
from axfi_kc.verification.reading.sklearn_linear import linear_form
from axfi_kc.verification.spaces import single_precision

__all__ = ["histogram_form", "sklearn_form"]


_LOGARITHMIC = ("poisson", "gamma")
_WORD = 32
_MOST_VALUES = 100_000


def histogram_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | None:
    """Return histogram boosting; None where a category is a real number, or the output an exponential."""
    labels = tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()
    if not labels and model.loss in _LOGARITHMIC:
        return None
    flags = model.is_categorical_
    order = range(len(columns)) if flags is None else [*np.flatnonzero(flags), *np.flatnonzero(~flags)]
    codes = _Codes.of(model, domain, [columns[k] for k in order])
    if codes is None:
        return None
    base = tuple(Fraction(float(b)) for b in np.ravel(model._baseline_prediction))
    grown = [(p, k) for stage in model._predictors for k, p in enumerate(stage)]
    trees = tuple(_tree(p, k, len(base), [int(c) for c in order], codes) for p, k in grown)
    rule = Rule("itself") if not labels else Rule("largest" if len(base) > 1 else "above", labels)
    return TreeForm(trees, base, rule, columns)


class _Codes(list[dict[Any, int | None]]):
    """For each categorical column, the library's number of each entry of the domain; None: it has not seen it."""

    @classmethod
    def of(cls, model: Any, domain: Domain, columns: list[Seen]) -> _Codes | None:
        """Return the numbers of the entries; None if a column is no list of values."""
        if model.is_categorical_ is None:
            return cls()
        encoder = model._preprocessor.named_transformers_["encoder"]
        found = cls()
        for seen, categories in zip(columns, encoder.categories_, strict=False):
            feature = domain.features[seen.feature]
            entries = seen.entries
            if entries is None and isinstance(feature, Integer) and feature.size <= _MOST_VALUES:
                entries = tuple(range(feature.low, feature.high + 1))
            if entries is None:
                return None
            known = {c: k for k, c in enumerate(categories.tolist())}
            found.append({entry: known.get(entry) for entry in entries})
        return found


def _tree(grown: Any, place: int, width: int, order: list[int], codes: _Codes) -> OwnTree:
    nodes = grown.nodes
    leaf = nodes["is_leaf"].astype(bool).tolist()
    values = nodes["value"].tolist()
    return OwnTree(
        tuple(-1 if at_leaf else order[c] for at_leaf, c in zip(leaf, nodes["feature_idx"].tolist(), strict=True)),
        tuple(None if at_leaf else _split(n, grown, codes) for at_leaf, n in zip(leaf, nodes, strict=True)),
        tuple(nodes["left"].tolist()),
        tuple(nodes["right"].tolist()),
        tuple(tuple(Fraction(v) if k == place else Fraction(0) for k in range(width)) for v in values),
    )


def _split(node: Any, grown: Any, codes: _Codes) -> Split:
    if not node["is_categorical"]:
        # infinity: all but missing values
        return Fraction(min(float(node["num_threshold"]), float(np.finfo(np.float64).max))), True
    words = grown.raw_left_cat_bitsets[int(node["bitset_idx"])].tolist()
    unseen = bool(node["missing_go_to_left"])
    own = codes[int(node["feature_idx"])].items()
    return frozenset(e for e, k in own if (unseen if k is None else words[k // _WORD] >> k % _WORD & 1))


_SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
_FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
_BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def sklearn_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> Form | None:
    """Return a scikit-learn model's trees or coefficients; None for other models."""
    name = class_name(model)
    if name in _SINGLE:
        return TreeForm((_plain_tree(model.tree_),), _zeros(model), _voting(model, 1), columns)
    if name in _FORESTS and all(map(class_name, model.estimators_)):
        trees = tuple(_plain_tree(e.tree_) for e in model.estimators_)
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


def _plain_tree(tree: Any, place: int = 0, width: int = 0, factor: float | None = None) -> OwnTree:
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
        _plain_tree(e.tree_, k, width, float(model.learning_rate))
        for stage in model.estimators_
        for k, e in enumerate(stage)
    )
    labels = _labels(model)
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    rule = Rule("itself") if not labels else Rule("largest" if width > 1 else "from", labels)
    return TreeForm(trees, tuple(Fraction(float(b)) for b in base), rule, columns)
