"""XGBoost models, read from the JSON that the library itself saves."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.verification.reading.columns import Excepted, Seen, Split
from axfi_kc.verification.reading.forms import OwnTree, Rule, TreeForm, class_name, spread
from axfi_kc.verification.spaces import single_precision

__all__ = ["xgboost_form"]


_SIGN = ("binary:logistic", "binary:hinge", "binary:logitraw")
_MULTI = ("multi:softmax", "multi:softprob")
_ERRORS = ("squarederror", "linear", "absoluteerror", "squaredlogerror", "pseudohubererror", "quantileerror")
_PLAIN = (*(f"reg:{error}" for error in _ERRORS), "rank:map", "rank:ndcg", "rank:pairwise")


def _booster(model: Any) -> Any:
    return model.get_booster() if hasattr(model, "get_booster") else model


def xgboost_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | None:
    """Return an XGBoost model's trees; None for boosters and objectives this reader leaves to ``predict``."""
    if class_name(_booster(model)) is None:
        return None
    document = json.loads(bytes(_booster(model).save_raw("json")))
    learner, is_clipped = document["learner"], tuple(document["version"]) >= (3, 2)
    booster, objective = learner["gradient_booster"], learner["objective"]["name"]
    if booster["name"] not in ("gbtree", "dart") or objective not in (*_SIGN, *_MULTI, *_PLAIN):
        return None
    grown = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    factors = booster.get("weight_drop") or [1.0] * len(grown["trees"])  # what DART multiplies each tree by
    n_scores = max(int(learner["learner_model_param"]["num_class"]), 1)
    used, names, blank = _used(model, learner, grown, n_scores), _names(grown), _blank(model)
    if any(names) and _category(blank) is not None:
        return None  # it may be a category by its place in the table that is given
    rows = list(zip(grown["trees"], grown["tree_info"], factors, strict=True))[:used]
    if any("leaf_weights" in tree or len(tree["base_weights"]) != len(tree["left_children"]) for tree, _, _ in rows):
        return None  # leaves with a number per class are left to predict
    trees = [_tree(tree, int(k), n_scores, float(np.float32(f)), names, blank) for tree, k, f in rows]
    base = _base(learner["learner_model_param"]["base_score"], objective, n_scores, is_clipped=is_clipped)
    if objective == "binary:logitraw" and hasattr(model, "get_booster"):
        base = tuple(b - Fraction(1, 2) for b in base)  # estimators compare the margin itself with a half
    return TreeForm(tuple(trees), base, _rule(model, objective, n_scores), columns)


def _used(model: Any, learner: Any, grown: Any, n_scores: int) -> int:
    """Return how many trees ``predict`` adds up: estimators stop at the best iteration."""
    best = learner.get("attributes", {}).get("best_iteration")
    if best is None or not hasattr(model, "get_booster"):
        return len(grown["trees"])
    starts = grown.get("iteration_indptr")
    return int(starts[int(best) + 1]) if starts else (int(best) + 1) * n_scores


def _names(grown: Any) -> list[list[Any]]:
    """Return the names of each column's categories, where the model was trained on a frame."""
    return [_decoded(encoding) for encoding in (grown.get("cats") or {}).get("enc", ())]


def _decoded(encoding: Any) -> list[Any]:
    """Return names, which are saved as numbers or as one text with the places where each begins."""
    values, starts = encoding.get("values", []), encoding.get("offsets")
    if starts is None:
        return list(values)
    return [bytes(x & 255 for x in values[a:b]).decode() for a, b in pairwise(starts)]


def _blank(model: Any) -> float | None:
    """Return the float32 that an estimator takes for missing, besides NaN; None: none."""
    with np.errstate(all="ignore"):
        number = float(np.float32(getattr(model, "missing", math.nan)))
    return number if math.isfinite(number) else None


def _category(blank: float | None) -> int | None:
    """Return the category that counts as missing, if any."""
    return int(blank) if blank is not None and blank >= 0 and blank.is_integer() else None


def _splits(tree: Any, names: list[list[Any]], blank: float | None, missing: list[bool]) -> list[Split]:
    """Return what each node sends left; of a list of categories, what it sends right."""
    bounds = [single_precision(float(np.float32(c)), strict=True) for c in tree["split_conditions"]]
    found: list[Split] = [*bounds]
    if blank is not None:
        # What rounds to the number is not below it in single precision, and not above it either.
        below, through = (single_precision(blank, strict=strict) for strict in (True, False))
        found = [Excepted(bound, below, through) for bound in bounds]
    places = zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    )
    for node, start, size in places:
        # Where missing values go along with the listed categories, so does the one that counts as missing.
        among, category = set(tree["categories"][start : start + size]), _category(blank)
        listed = among if category is None else among | {category} if missing[node] else among - {category}
        own = names[tree["split_indices"][node]] if names else []
        found[node] = frozenset(own[k] for k in listed if k < len(own)) if own else frozenset(listed)
    return found


def _tree(tree: Any, score: int, n_scores: int, factor: float, names: list[list[Any]], blank: float | None) -> OwnTree:
    left, right = list(tree["left_children"]), list(tree["right_children"])
    leaf, missing = [child < 0 for child in left], [bool(side) for side in tree["default_left"]]
    for node in tree.get("categories_nodes", ()):
        left[node], right[node] = right[node], left[node]
        missing[node] = not missing[node]
    # The same list holds the thresholds of inner nodes and the values of leaves.
    numbers = [Fraction(float(np.float32(c))) * Fraction(factor) for c in tree["split_conditions"]]
    values, splits = spread(numbers, score, n_scores), _splits(tree, names, blank, missing)
    return OwnTree.of(leaf, tree["split_indices"], splits, (left, right), values, missing)


def _base(text: Any, objective: str, n_scores: int, *, is_clipped: bool) -> tuple[Fraction, ...]:
    """Return the margins before any tree; that of a logistic objective is saved as a probability."""
    read = json.loads(text) if isinstance(text, str) else text
    given = [float(np.float32(b)) for b in (read if isinstance(read, list) else [read])]
    if objective == "binary:logistic":
        least = np.float32(1e-6)
        given = [_logit(float(np.clip(np.float32(p), least, 1 - least)) if is_clipped else p) for p in given]
    return tuple(map(Fraction, given * n_scores if len(given) == 1 else given))


def _logit(probability: float) -> float:
    # Rounded to float32 wherever the library rounds: the exact logarithm would be another margin.
    odds = np.float32(1) / np.float32(probability) - np.float32(1)
    return float(-np.float32(math.log(float(odds))))


def _rule(model: Any, objective: str, n_scores: int) -> Rule:
    if objective in _PLAIN:
        return Rule("itself")
    number = n_scores if objective in _MULTI else 2
    classes = getattr(model, "classes_", None)
    labels = tuple(range(number)) if classes is None else tuple(np.asarray(classes).tolist())
    if number == 2 and len(labels) == 1:
        labels = (0, 1)  # what predict gives, though trained on one class
    return Rule("largest" if objective in _MULTI else "above", labels)
