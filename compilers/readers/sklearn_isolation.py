"""scikit-learn's isolation forest: an outlier is what its trees isolate after few tests.

Every tree adds the depth of the leaf that is reached and the average path length of as many points as trained it, in
float64. ``predict`` divides the sum by a constant, raises two to it, and compares with ``offset_``. All of that is
monotone, so there is a least sum, a float64, that makes an inlier; it is found by asking the same formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._iforest import _average_path_length

from axfi_kc.compilers.readers import check_own_predict, reads
from axfi_kc.compilers.readers.checks import each_tree
from axfi_kc.compilers.readers.sklearn_trees import check_fitted, check_width, nodes_of
from axfi_kc.domain.domain import Domain
from axfi_kc.models import Positive, TreeNodes, TreeSum

__all__: list[str] = []

_OUTLIER, _INLIER = -1, 1


@reads(IsolationForest)
def _isolation_forest(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "estimators_")
    check_width(model, domain)
    missing = _takes_missing(model)
    trees = [_tree(model, t, missing=missing) for t in each_tree(range(len(model.estimators_)))]
    most = float(sum(tree.values.max() for tree in trees))
    least = _least_sum(_inlier_of(model), most)
    exact = TreeSum.of(domain, trees, rule=Positive((_OUTLIER, _INLIER)), base=[-least])
    # Offsets are scores of training points, which therefore tie, and are inliers. Adding in another order may bring
    # such a sum a few floats below: that much is granted, and is well within the error that the model states.
    return replace(exact, base=(exact.rounding_error / 4 - least,))


def _tree(model: Any, number: int, *, missing: bool) -> TreeNodes:
    tree = model.estimators_[number]
    check_own_predict(tree)
    # Rounded as the library does it: the sum of two, then one less.
    lengths = model._decision_path_lengths[number] + model._average_path_length_per_tree[number] - 1.0
    nodes = nodes_of(tree.tree_, lengths[:, np.newaxis], missing=missing)
    if model._max_features == model.n_features_in_:
        return nodes  # the columns as they are: the tree was given all of them, in no order of its own
    columns = np.asarray(model.estimators_features_[number], dtype=np.int64)
    column = np.where(nodes.column < 0, -1, columns[nodes.column])
    return TreeNodes(column, nodes.splits, nodes.left, nodes.right, nodes.values, nodes.missing_left)


def _takes_missing(model: Any) -> bool:
    """Tell whether the forest predicts where values are missing: some versions of scikit-learn do not."""
    try:
        model.score_samples(np.full((1, model.n_features_in_), np.nan))
    except ValueError:
        return False
    return True


def _inlier_of(model: Any) -> Callable[[float], bool]:
    """Return whether a sum of path lengths makes an inlier, by the formula of ``predict``."""
    denominator = len(model.estimators_) * _average_path_length([model._max_samples])

    def is_inlier(total: float) -> bool:
        depths: npt.NDArray[np.float64] = np.array([total])
        # One training point has no path: its score is set, whatever the sum.
        shares = np.divide(depths, denominator, out=np.ones_like(depths), where=denominator != 0)
        return not bool((-(2**-shares) - model.offset_ < 0)[0])

    return is_inlier


def _least_sum(is_inlier: Callable[[float], bool], most: float) -> Fraction:
    """Return what exact sums must exceed, so that they round to one that makes an inlier."""
    low, high = -1.0, math.nextafter(2 * most + 1, math.inf)  # sums lie strictly between
    while math.nextafter(low, math.inf) < high:
        middle = low + (high - low) / 2
        low, high = (low, middle) if is_inlier(middle) else (middle, high)
    # A sum that lies above the middle of these two neighbours rounds to the one that makes an inlier.
    return (Fraction(low) + Fraction(high)) / 2
