"""XGBoost models, read from the JSON that the library itself saves."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.verification.forms import OwnTree, TreeForm
from axfi_kc.verification.pieces import single_precision
from axfi_kc.verification.rules import Rule

__all__ = ["xgboost_form"]

_MULTI = ("multi:softmax", "multi:softprob")
_PLAIN = ("reg:squarederror", "reg:linear", "reg:absoluteerror")


def _booster(model: Any) -> Any:
    return model.get_booster() if hasattr(model, "get_booster") else model


def xgboost_form(model: Any, domain: Domain) -> TreeForm | None:
    """Return an XGBoost model's trees; None for boosters and objectives this reader leaves to ``predict``."""
    learner = json.loads(bytes(_booster(model).save_raw("json")))["learner"]
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] != "gbtree" or objective not in ("binary:logistic", *_MULTI, *_PLAIN):
        return None
    grown = booster["model"]
    if any(any(t.get("split_type", ())) for t in grown["trees"]):
        return None  # categorical splits are left to predict
    n_scores = max(int(learner["learner_model_param"]["num_class"]), 1)
    used = _used(model, learner, grown, n_scores)
    trees = [_tree(t, int(k), n_scores) for t, k in zip(grown["trees"][:used], grown["tree_info"], strict=False)]
    base = _base(learner["learner_model_param"]["base_score"], objective, n_scores)
    return TreeForm(tuple(trees), base, _rule(model, objective, n_scores))


def _used(model: Any, learner: Any, grown: Any, n_scores: int) -> int:
    """Return how many trees ``predict`` adds up: estimators stop at the best iteration."""
    best = learner.get("attributes", {}).get("best_iteration")
    if best is None or not hasattr(model, "get_booster"):
        return len(grown["trees"])
    starts = grown.get("iteration_indptr")
    return int(starts[int(best) + 1]) if starts else (int(best) + 1) * n_scores


def _tree(tree: Any, score: int, n_scores: int) -> OwnTree:
    leaf = [child < 0 for child in tree["left_children"]]
    numbers = [float(np.float32(c)) for c in tree["split_conditions"]]
    return OwnTree(
        tuple(-1 if at_leaf else int(c) for at_leaf, c in zip(leaf, tree["split_indices"], strict=True)),
        tuple(None if at_leaf else single_precision(t, strict=True) for at_leaf, t in zip(leaf, numbers, strict=True)),
        tuple(tree["left_children"]),
        tuple(tree["right_children"]),
        tuple(
            tuple(Fraction(value) if k == score and at_leaf else Fraction(0) for k in range(n_scores))
            for at_leaf, value in zip(leaf, numbers, strict=True)
        ),
    )


def _base(text: Any, objective: str, n_scores: int) -> tuple[Fraction, ...]:
    """Return the margins before any tree; that of a logistic objective is saved as a probability."""
    read = json.loads(text) if isinstance(text, str) else text
    given = [float(np.float32(b)) for b in (read if isinstance(read, list) else [read])]
    if objective == "binary:logistic":
        given = [_logit(p) for p in given]
    return tuple(map(Fraction, given * n_scores if len(given) == 1 else given))


def _logit(probability: float) -> float:
    odds = np.float32(1) / np.float32(probability) - np.float32(1)
    return float(-np.float32(math.log(float(odds))))


def _rule(model: Any, objective: str, n_scores: int) -> Rule:
    if objective in _PLAIN:
        return Rule("itself")
    number = n_scores if objective in _MULTI else 2
    classes = getattr(model, "classes_", None)
    labels = tuple(range(number)) if classes is None else tuple(np.asarray(classes).tolist())
    return Rule("largest" if objective in _MULTI else "above", labels)
