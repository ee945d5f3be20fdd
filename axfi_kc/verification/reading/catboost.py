"""CatBoost models, read from the JSON that the library itself saves."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.verification.reading.columns import Seen, Split
from axfi_kc.verification.reading.forms import OwnTree, Rule, TreeForm
from axfi_kc.verification.spaces import single_precision

__all__ = ["catboost_form"]


def catboost_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | None:
    """Return a CatBoost model's trees; None where categories became statistics.

    Which categories pass a test is known by their hashes only: there what the trees say is left to ``predict``.
    """
    document = _document(model)
    if document is None:
        return None
    scale, bias = document["scale_and_bias"]
    grown = [
        _nested(tree["splits"] or [], tree["leaf_values"], len(bias)) for tree in document.get("oblivious_trees") or ()
    ]
    grown += document.get("trees") or []
    kinds = {node["split"]["split_type"] for tree in grown for node in _nodes(tree) if "split" in node}
    if not kinds <= {"FloatFeature", "OneHotFeature"} or not scale > 0:
        return None
    infos = document["features_info"]
    if any(list(info["borders"] or ()) != sorted(info["borders"] or ()) for info in infos.get("float_features") or ()):
        return None  # the library counts how many borders a number is above
    trees = tuple(_tree(tree, infos, len(bias), domain, columns) for tree in grown)
    base = [Fraction(b) for b in bias]
    labels = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    if len(base) == 1 and len(labels) == 2:
        # The probability is compared with a threshold, and so the sum with the logit of that.
        base[0] += Fraction(math.log(1 / float(model.get_probability_threshold()) - 1))
    rule = None if "OneHotFeature" in kinds else Rule.of(labels, len(base), scale=Fraction(scale))
    return TreeForm(trees, tuple(b / Fraction(scale) for b in base), rule, columns)


def _document(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except Exception:  # CatBoost's own errors: it cannot write this model
            return None
        return json.loads(path.read_text(encoding="utf-8"))


def _nested(splits: list[Any], values: list[float], width: int, leaf: int = 0, level: int = 0) -> Any:
    """Return a tree with one test per level as one whose nodes have children; bit k of a leaf is how test k went."""
    if level == len(splits):
        return {"value": values[leaf * width : (leaf + 1) * width]}
    sides = (_nested(splits, values, width, leaf | bit << level, level + 1) for bit in (0, 1))
    return {"split": splits[level], **dict(zip(("left", "right"), sides, strict=True))}


def _nodes(tree: Any) -> list[Any]:
    """Return the nodes of a tree, parents first and the children of each together."""
    found = [tree]
    for node in found:  # grows
        found += [node["left"], node["right"]] if "split" in node else []
    return found


def _tree(tree: Any, infos: Any, width: int, domain: Domain, columns: tuple[Seen, ...]) -> OwnTree:
    nodes, child = _nodes(tree), 1
    left: list[int] = []
    tests: list[tuple[int, Split | None, bool]] = []
    for node in nodes:
        tests.append(_test(node["split"], infos, domain, columns) if "split" in node else (-1, None, False))
        left.append(child if "split" in node else -1)
        child += 2 * ("split" in node)
    values = [np.ravel(node.get("value", [0.0] * width)).tolist() for node in nodes]
    column, split, missing = zip(*tests, strict=True)
    right = tuple(k + 1 if k >= 0 else -1 for k in left)
    return OwnTree(column, split, tuple(left), right, tuple(tuple(map(Fraction, v)) for v in values), missing)


def _test(split: Any, infos: Any, domain: Domain, columns: tuple[Seen, ...]) -> tuple[int, Split, bool]:
    """Return the column of a test, what does not pass it, and whether a missing value does not."""
    if split["split_type"] == "FloatFeature":
        info = next(i for i in infos["float_features"] if i["feature_index"] == split["float_feature_index"])
        passes = info["nan_value_treatment"] == "AsTrue"
        return info["flat_feature_index"], single_precision(float(split["border"]), strict=False), not passes
    info = next(i for i in infos["categorical_features"] if i["feature_index"] == split["cat_feature_index"])
    feature = domain.features[columns[info["flat_feature_index"]].feature]
    # Any value may be told apart from the others.
    return (
        info["flat_feature_index"],
        frozenset(range(feature.low, feature.high + 1) if isinstance(feature, Integer) else ()),
        False,
    )
