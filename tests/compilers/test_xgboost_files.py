"""XGBoost files that are damaged or hostile: a specific error, never a crash, a hang or a guess."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers.xgboost_files import parse_xgboost
from axfi_kc.errors import AxfiError, ModelFileError, UnsupportedModelError
from tests.support.fuzz_readers import ubjson

DOMAIN = ax.Domain([ax.Real("x", 0, 9), ax.Integer("k", 0, 5)])
TREE: dict[str, Any] = {
    "tree_param": {"num_nodes": "5", "size_leaf_vector": "1"},
    "left_children": [1, 3, -1, -1, -1],
    "right_children": [2, 4, -1, -1, -1],
    "split_indices": [0, 1, 0, 0, 0],
    "split_conditions": [3.5, 0.0, 0.75, -0.25, 0.1],
    "split_type": [0, 1, 0, 0, 0],
    "categories": [1, 4],
    "categories_nodes": [1],
    "categories_segments": [0],
    "categories_sizes": [2],
}


FILE: dict[str, Any] = {
    "version": [2, 0, 3],
    "learner": {
        "attributes": {},
        "feature_names": ["x", "k"],
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "2", "num_target": "1"},
        "objective": {"name": "binary:logistic"},
        "gradient_booster": {
            "name": "gbtree",
            "model": {
                "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"},
                "tree_info": [0],
                "iteration_indptr": [0, 1],
                "trees": [TREE],
            },
        },
    },
}


MODEL = ("learner", "gradient_booster", "model")
ROOT = (*MODEL, "trees", 0)
PARAMS = ("learner", "learner_model_param")
GONE = "(the entry is removed)"


def edited(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    document = copy.deepcopy(FILE)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


def as_json(document: Any) -> bytes:
    return json.dumps(document).encode()


def as_ubjson(value: Any) -> bytes:
    """Write UBJSON as XGBoost does: long lengths, typed arrays of numbers."""
    if isinstance(value, dict):
        return b"{" + b"".join(_text(k) + as_ubjson(v) for k, v in value.items()) + b"}"
    if isinstance(value, str):
        return b"S" + _text(value)
    if isinstance(value, list) and value and all(type(x) is int for x in value):
        return b"[$l#L" + struct.pack(f">q{len(value)}i", len(value), *value)
    if isinstance(value, list) and value and all(type(x) is float for x in value):
        return b"[$d#L" + struct.pack(f">q{len(value)}f", len(value), *value)
    if isinstance(value, list):
        return b"[" + b"".join(map(as_ubjson, value)) + b"]"
    return b"l" + struct.pack(">i", value)


def _text(text: str) -> bytes:
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


@pytest.mark.parametrize("write", [as_json, as_ubjson])
def test_the_undamaged_file(write) -> None:
    model = ax.read_xgboost(write(FILE), DOMAIN)
    # x >= 3.5: 0.75; below, category 1 or 4 goes right: 0.1; any other goes left: -0.25
    assert model.predict([[3.5, 0], [3.4, 1], [3.4, 4], [3.4, 0], [3.4, 5]]) == [1, 1, 1, 0, 0]
    assert model.scores_at(np.array([[3.4, 4.0]])) == [[Fraction(float(np.float32(0.1)))]]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("learner",), GONE),
        (("learner",), []),
        (("version",), "2.0.3"),
        (("learner", "objective"), {}),
        (("learner", "objective", "name"), 7),
        (("learner", "feature_names"), ["x"]),
        (("learner", "feature_names"), ["x", 3]),
        (("learner", "attributes"), {"best_iteration": "many"}),
        (("learner", "attributes"), {"best_iteration": "7"}),
        ((*PARAMS, "num_feature"), GONE),
        ((*PARAMS, "num_feature"), "-1"),
        ((*PARAMS, "num_feature"), "99999999999999999999999"),
        ((*PARAMS, "num_class"), "1000000000"),
        ((*PARAMS, "num_class"), True),
        ((*PARAMS, "num_feature"), "1"),
        ((*PARAMS, "base_score"), "half"),
        ((*PARAMS, "base_score"), "nan"),
        ((*PARAMS, "base_score"), "1E99"),
        ((*PARAMS, "base_score"), "1.5"),
        ((*PARAMS, "base_score"), "[5E-1,5E-1]"),
        ((*PARAMS, "base_score"), GONE),
        ((*MODEL, "trees"), GONE),
        ((*MODEL, "trees"), {}),
        ((*MODEL, "trees"), [3]),
        ((*MODEL, "tree_info"), [1]),
        ((*MODEL, "tree_info"), []),
        ((*MODEL, "iteration_indptr"), [0, 2]),
        ((*MODEL, "iteration_indptr"), []),
        ((*MODEL, "iteration_indptr"), [0, 1, 0, 1]),
        ((*MODEL, "cats"), {"enc": [{}]}),
        ((*MODEL, "cats"), {"enc": [{"values": [], "offsets": []}, {"values": [255], "offsets": [0, 1]}]}),
        ((*MODEL, "cats"), {"enc": [{"values": [], "offsets": []}, {"values": [65], "offsets": [0, 9]}]}),
        ((*ROOT, "left_children"), []),
        ((*ROOT, "left_children"), [1, 0, -1, -1, -1]),
        ((*ROOT, "left_children"), [0, 3, -1, -1, -1]),
        ((*ROOT, "left_children"), [1, 3, -1, -1]),
        ((*ROOT, "left_children"), [1, 3.0, -1, -1, -1]),
        ((*ROOT, "left_children"), [1, "3", -1, -1, -1]),
        ((*ROOT, "left_children"), [1, 2**40, -1, -1, -1]),
        ((*ROOT, "right_children"), [99, 4, -1, -1, -1]),
        ((*ROOT, "right_children"), [-1, 4, -1, -1, -1]),
        ((*ROOT, "right_children"), [1, 4, -1, -1, -1]),
        ((*ROOT, "right_children"), None),
        ((*ROOT, "split_indices"), [2, 1, 0, 0, 0]),
        ((*ROOT, "split_indices"), [-1, 1, 0, 0, 0]),
        ((*ROOT, "split_conditions"), [float("nan"), 0.0, 0.75, -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [float("inf"), 0.0, 0.75, -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5, 0.0, float("-inf"), -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5, 0.0, 1e39, -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5, 0.0, 10**400, -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5, 0.0, "0.75", -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5, 0.0, True, -0.25, 0.1]),
        ((*ROOT, "split_conditions"), [3.5]),
        ((*ROOT, "split_type"), [0, 0, 0, 0, 0]),
        ((*ROOT, "split_type"), [1, 1, 0, 0, 0]),
        ((*ROOT, "categories_nodes"), [9]),
        ((*ROOT, "categories_nodes"), []),
        ((*ROOT, "categories_segments"), [3]),
        ((*ROOT, "categories_sizes"), [3]),
        ((*ROOT, "categories_sizes"), [-1]),
        ((*ROOT, "tree_param"), GONE),
        ((*ROOT, "tree_param"), {"size_leaf_vector": "3"}),
    ],
    ids=lambda item: "gone" if item is GONE else str(item)[-60:],
)
def test_damaged_entries(path, value) -> None:
    with pytest.raises(ModelFileError) as caught:
        ax.read_xgboost(as_json(edited(path, value)), DOMAIN)
    assert len(str(caught.value)) > 30


def test_other_boosters() -> None:
    with pytest.raises(UnsupportedModelError, match="'gblinear'"):
        parse_xgboost(as_json(edited(("learner", "gradient_booster", "name"), "gblinear")))
    dart = {"name": "dart", "gbtree": {"model": FILE["learner"]["gradient_booster"]["model"]}, "weight_drop": [0.5]}
    model = ax.read_xgboost(as_json(edited(("learner", "gradient_booster"), dart)), DOMAIN)
    assert model.scores_at(np.array([[4.0, 0.0]])) == [[Fraction(3, 8)]]
    for drop in ([], [0.5, 0.5], [float("nan")], ["1"]):
        with pytest.raises(ModelFileError):
            parse_xgboost(as_json(edited(("learner", "gradient_booster"), {**dart, "weight_drop": drop})))


@pytest.mark.parametrize(
    "data",
    [b"", b"   ", b"[1]", b"{", b'{"learner":', b"{}", b"binf\x00\x01", b"\x80\x04", b"{" * 100_000, b'{"a":' * 50_000],
    ids=lambda data: repr(data[:8]),
)
def test_no_model_at_all(data) -> None:
    with pytest.raises(ModelFileError):
        parse_xgboost(data)


def test_every_truncation() -> None:
    for write in (as_json, as_ubjson):
        data = write(FILE)
        for end in range(len(data)):
            with pytest.raises(ModelFileError):
                parse_xgboost(data[:end])


@pytest.mark.parametrize("write", [as_json, as_ubjson])
def test_random_damage(write) -> None:
    rng, whole = random.Random(0), write(FILE)
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(AxfiError):
            ax.read_xgboost(bytes(data), DOMAIN).predict([[1, 1]])


def test_no_file_at_all(tmp_path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        ax.read_xgboost(tmp_path / "none.json", ax.Domain([ax.Real("x", 0, 1)]))


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("number", [-1, 2, 255])
def test_missing_values_go_left_or_right(form: str, number: int) -> None:
    """The library takes any number but 1 for right, and writes none but 0 and 1."""
    stump = {"tree_param": {}, "left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0]}
    learner = {
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
        "objective": {"name": "binary:logistic"},
    }
    domain = ax.Domain([ax.Real("x", 0, 9, missing=0.5)])
    for side, found in ((0, 1), (1, 0), (number, None)):
        tree = {**stump, "split_conditions": [3.5, -0.25, 0.75], "default_left": [side, number, number]}
        model = {"tree_info": [0], "iteration_indptr": [0, 1], "trees": [tree]}
        document = {
            "version": [2, 0, 3],
            "learner": {**learner, "gradient_booster": {"name": "gbtree", "model": model}},
        }
        data = json.dumps(document).encode() if form == "json" else ubjson(document)
        if found is None:
            with pytest.raises(ModelFileError, match="'default_left' should hold numbers from 0 to 1"):
                ax.read_xgboost(data, domain)
        else:
            assert ax.read_xgboost(data, domain).predict([[None]]) == [found]


def test_trees_that_are_out_of_order() -> None:
    """The library puts each tree where its number says."""
    stump = {"tree_param": {}, "left_children": [-1], "right_children": [-1], "split_indices": [0]}
    trees = [{**stump, "split_conditions": [value], "id": k} for k, value in enumerate((0.5, 0.25))]
    learner = {
        "learner_model_param": {"base_score": "5E-1", "num_class": "2", "num_feature": "1"},
        "objective": {"name": "multi:softprob"},
    }

    def document(order: list[int], base: str = "5E-1") -> bytes:
        model = {"tree_info": [0, 1], "iteration_indptr": [0, 2], "trees": [trees[k] for k in order]}
        parameters = {**learner["learner_model_param"], "base_score": base}  # type: ignore[dict-item]
        grown = {"gradient_booster": {"name": "gbtree", "model": model}, "learner_model_param": parameters}
        return json.dumps({"version": [2, 0, 3], "learner": {**learner, **grown}}).encode()

    domain = ax.Domain([ax.Real("x", 0, 9)])
    assert ax.read_xgboost(document([0, 1]), domain).predict([[1]]) == [0]
    with pytest.raises(ModelFileError, match="Tree 0 of the model should have that number"):
        ax.read_xgboost(document([1, 0]), domain)
    for base in ("1_0", "\u0663", "[1_0]"):
        with pytest.raises(ModelFileError, match="base_score should be a number or a list"):
            ax.read_xgboost(document([0, 1], base), domain)
