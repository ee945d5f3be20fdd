"""LightGBM models, read from ``dump_model``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.verification.forms import OwnTree, TreeForm
from axfi_kc.verification.pieces import Bound
from axfi_kc.verification.rules import Rule

__all__ = ["lightgbm_form"]

_NEAR_ZERO = float(np.float32(1e-35))  # numbers this close to zero are compared as zero
_PLAIN = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")


def _booster(model: Any) -> Any:
    return model.booster_ if hasattr(model, "booster_") else model


def lightgbm_form(model: Any) -> TreeForm | None:
    """Return a LightGBM model's trees; None where zeros are missing values or splits are sets."""
    dump = _booster(model).dump_model()
    words = str(dump.get("objective", "")).split()
    n_scores = int(dump["num_tree_per_iteration"])
    kind = words[0] if words else ""
    if kind not in ("binary", "multiclass", *_PLAIN) or "sqrt" in words or dump.get("average_output"):
        return None
    trees = [_tree(info["tree_structure"], k % n_scores, n_scores) for k, info in enumerate(dump["tree_info"])]
    found = tuple(tree for tree in trees if tree is not None)
    if len(found) < len(trees):
        return None
    classes = getattr(model, "classes_", None)
    number = 0 if kind in _PLAIN else max(n_scores, 2)
    labels = tuple(range(number)) if classes is None else tuple(np.asarray(classes).tolist())
    rule = Rule("itself") if kind in _PLAIN else Rule("largest" if n_scores > 1 else "above", labels)
    return TreeForm(found, (Fraction(0),) * n_scores, rule)


def _tree(root: Any, score: int, n_scores: int) -> OwnTree | None:
    """Return a nested dump as a tree, its nodes numbered parents first."""
    nodes, place = [root], 0
    left: list[int] = []
    right: list[int] = []
    while place < len(nodes):
        node = nodes[place]
        place += 1
        if "leaf_value" in node:
            left.append(-1)
            right.append(-1)
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            return None
        left.append(len(nodes))
        right.append(len(nodes) + 1)
        nodes += [node["left_child"], node["right_child"]]
    zero = Fraction(0)
    values = [Fraction(float(node.get("leaf_value", 0.0))) for node in nodes]
    return OwnTree(
        tuple(int(node.get("split_feature", -1)) for node in nodes),
        tuple(None if "leaf_value" in node else _bound(float(node["threshold"])) for node in nodes),
        tuple(left),
        tuple(right),
        tuple(tuple(value if k == score else zero for k in range(n_scores)) for value in values),
    )


def _bound(threshold: float) -> Bound:
    if 0 <= threshold <= _NEAR_ZERO:
        return Fraction(_NEAR_ZERO), True
    if -_NEAR_ZERO <= threshold < 0:
        return Fraction(-_NEAR_ZERO), False
    return Fraction(threshold), True
