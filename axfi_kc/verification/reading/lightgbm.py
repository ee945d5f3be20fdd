"""LightGBM models, read from ``dump_model``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.verification.reading.columns import Excepted, Seen, Split
from axfi_kc.verification.reading.forms import OwnTree, Rule, TreeForm, class_name, spread
from axfi_kc.verification.spaces import Bound, double_precision

__all__ = ["lightgbm_form"]


_NEAR_ZERO = float(np.float32(1e-35))  # numbers this close to zero are compared as zero
_ZEROS: tuple[Bound, Bound] = (Fraction(-_NEAR_ZERO), False), (Fraction(_NEAR_ZERO), True)
_PLAIN = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")


def lightgbm_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | None:
    """Return a LightGBM model's trees; None for objectives this reader leaves to ``predict``."""
    booster = getattr(model, "booster_", model)
    dump = booster.dump_model()
    words = str(dump.get("objective", "")).split()
    n_scores = int(dump["num_tree_per_iteration"])
    kind = words[0] if words else ""
    if kind not in ("binary", "multiclass", *_PLAIN) or "sqrt" in words or class_name(booster) is None:
        return None
    names = _names(dump, booster)
    infos = dump["tree_info"]
    trees = tuple(_tree(t["tree_structure"], k % n_scores, n_scores, names) for k, t in enumerate(infos))
    classes = getattr(model, "classes_", None)
    labels = tuple(range(max(n_scores, 2))) if classes is None else tuple(np.asarray(classes).tolist())
    scale = Fraction(n_scores, max(len(trees), 1)) if dump.get("average_output") else Fraction(1)
    rule = Rule.of(() if kind in _PLAIN else labels, n_scores, scale=scale)
    return TreeForm(trees, (Fraction(0),) * n_scores, rule, columns)


def _names(dump: Any, booster: Any) -> dict[int, list[Any]]:
    """Return the names of the categories of columns that a frame said are categorical."""
    listed = getattr(booster, "pandas_categorical", None) or []
    infos = list((dump.get("feature_infos") or {}).items())
    numbered = [dump["feature_names"].index(name) for name, info in infos if info.get("values")]
    return dict(zip(sorted(numbered), listed, strict=True)) if len(numbered) == len(listed) else {}


def _tree(root: Any, score: int, n_scores: int, names: dict[int, list[Any]]) -> OwnTree:
    """Return a nested dump as a tree, its nodes numbered parents first."""
    nodes, place = [root], 0
    left: list[int] = []
    right: list[int] = []
    while place < len(nodes):
        node = nodes[place]
        place += 1
        inner = "split_feature" in node
        left.append(len(nodes) if inner else -1)
        right.append(len(nodes) + 1 if inner else -1)
        nodes += [node["left_child"], node["right_child"]] if inner else []
    values = [float(node.get("leaf_value", 0.0)) for node in nodes]
    splits = [_split(node, names) if "split_feature" in node else None for node in nodes]
    columns = [node.get("split_feature", -1) for node in nodes]
    missing = ["split_feature" in node and _sends_missing_left(node) for node in nodes]
    return OwnTree.of([k < 0 for k in left], columns, splits, (left, right), spread(values, score, n_scores), missing)


def _sends_missing_left(node: Any) -> bool:
    """Tell where NaN goes: with no category; by default; or, where training met none, as zero."""
    if node["decision_type"] == "==":
        return False
    return float(node["threshold"]) >= 0 if node["missing_type"] == "None" else bool(node["default_left"])


def _split(node: Any, names: dict[int, list[Any]]) -> Split:
    if node["decision_type"] == "==":
        listed = [int(k) for k in str(node["threshold"]).split("||")]
        own = names.get(int(node["split_feature"]))
        return frozenset(listed) if own is None else frozenset(own[k] for k in listed if k < len(own))
    bound = _bound(float(node["threshold"]))
    return Excepted(bound, *_ZEROS) if node["missing_type"] == "Zero" else bound


def _bound(threshold: float) -> Bound:
    # Numbers near zero are compared as zero, so they all go where zero goes: a bound among them moves to their end.
    if 0 <= threshold <= _NEAR_ZERO:
        return Fraction(_NEAR_ZERO), True
    if -_NEAR_ZERO <= threshold < 0:
        return Fraction(-_NEAR_ZERO), False
    return double_precision(threshold)
