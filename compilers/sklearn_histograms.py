"""scikit-learn histogram gradient boosting.

Thresholds and data are float64 and ``x <= threshold`` goes left. Categories are numbered by an
encoder of the model's own, which also puts the categorical columns first; a category it has not
seen is treated as missing, and every node says where missing values go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from axfi_kc.compilers.registry import reads
from axfi_kc.compilers.sklearn_trees import check_fitted, check_width
from axfi_kc.compilers.tree_nodes import codes_of_column, constant, plain_labels, spread
from axfi_kc.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.grid import Cut
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum

__all__: list[str] = []

_LARGEST = float(np.finfo(np.float64).max)
_WORD = 32
_IDENTITY_LOSSES = ("squared_error", "absolute_error", "quantile")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which model column each of the trees' columns is, and its categories, if any."""

    order: tuple[int, ...]
    categories: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, model: Any, domain: Domain) -> _Columns:
        is_categorical = model.is_categorical_
        if is_categorical is None:
            return cls(tuple(range(model.n_features_in_)), ())
        encoder = model._preprocessor.named_transformers_["encoder"]
        # NaN is no category of its own: every node says where missing values go.
        categories = tuple(tuple(c for c in found.tolist() if not _is_missing(c)) for found in encoder.categories_)
        # The encoder's columns come first, in their order; the others follow.
        order = [*np.flatnonzero(is_categorical).tolist(), *np.flatnonzero(~is_categorical).tolist()]
        for column in order[: len(categories)]:
            codes_of_column(domain, column)
        return cls(tuple(order), categories)


def _is_missing(category: object) -> bool:
    return category is None or (isinstance(category, float) and math.isnan(category))


def _members(bitset: npt.NDArray[np.uint32]) -> list[int]:
    return [k for k in range(len(bitset) * _WORD) if int(bitset[k // _WORD]) >> k % _WORD & 1]


def _split(node: Any, columns: _Columns, bitsets: npt.NDArray[np.uint32]) -> tuple[Split, bool]:
    """Return what the node's test selects, and whether what it selects goes left."""
    if not node["is_categorical"]:
        # A threshold of infinity sets missing values apart: every number goes left.
        return Cut(min(float(node["num_threshold"]), _LARGEST), closed=True), True
    categories = columns.categories[int(node["feature_idx"])]
    # The bit sets have room for more numbers than there are categories.
    listed = [k for k in _members(bitsets[int(node["bitset_idx"])]) if k < len(categories)]
    left = frozenset(categories[k] for k in listed)
    # Categories that the encoder has not seen go with the missing ones. The set must be that of the other
    # side, so that whatever is not in it goes where they go.
    if node["missing_go_to_left"]:
        return frozenset(categories) - left, False
    return left, True


def _nodes(predictor: Any, columns: _Columns, score: int, n_scores: int) -> TreeNodes:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    column = [-1 if leaf else columns.order[f] for leaf, f in zip(is_leaf, nodes["feature_idx"].tolist(), strict=True)]
    tests = [None if n["is_leaf"] else _split(n, columns, predictor.raw_left_cat_bitsets) for n in nodes]
    straight = np.array([test is None or test[1] for test in tests])
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return TreeNodes(
        column=np.array(column, dtype=np.int64),
        splits=[None if test is None else test[0] for test in tests],
        left=np.where(is_leaf, -1, np.where(straight, left, right)),
        right=np.where(is_leaf, -1, np.where(straight, right, left)),
        values=spread(nodes["value"].astype(np.float64), score, n_scores),
    )


def _trees_and_base(model: Any, domain: Domain) -> tuple[list[TreeNodes], list[Fraction]]:
    check_fitted(model, "_predictors")
    check_width(model, domain)
    columns = _Columns.of(model, domain)
    # One number per score, however the array is shaped.
    base = [Fraction(float(b)) for b in np.asarray(model._baseline_prediction).reshape(-1)]
    trees = [
        _nodes(predictor, columns, k, len(base)) for stage in model._predictors for k, predictor in enumerate(stage)
    ]
    return trees or [constant(len(base))], base


@reads(HistGradientBoostingClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    trees, base = _trees_and_base(model, domain)
    labels = plain_labels(model.classes_)
    if len(base) > 1:
        return TreeSum.of(domain, trees, rule=Argmax(labels), base=base)
    first, second = labels
    return TreeSum.of(domain, trees, rule=Positive((first, second)), base=base)


@reads(HistGradientBoostingRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    if model.loss not in _IDENTITY_LOSSES:
        raise UnsupportedModelError(
            f"HistGradientBoostingRegressor(loss={model.loss!r}) predicts the exponential of a sum of trees, "
            f"which has no exact form; fit it with one of the losses {', '.join(_IDENTITY_LOSSES)}."
        )
    trees, base = _trees_and_base(model, domain)
    return TreeSum.of(domain, trees, rule=Score(), base=base)
