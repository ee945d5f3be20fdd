"""Files of skops that were made to harm: one sentence each, at once, and nothing is walked through or unpacked."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axfi_kc.cli import main
from axfi_kc.cli.inputs import read_table
from axfi_kc.cli.skops_files import load_skops
from axfi_kc.errors import AxfiError, DomainError, MissingExtraError
from tests.support.skops_edits import (
    KINDS,
    array_of,
    attributes,
    data,
    dumped,
    edited,
    joined,
    nodes_of,
    numbers,
    put_array,
    put_attribute,
)

skops = pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
Edit = Callable[[Any, dict[str, bytes]], Any]


def _nodes(field: str, place: int, value: Any, name: str = "Tree") -> Edit:
    """Return what puts a value into an array of nodes."""

    def edit(schema: Any, parts: dict[str, bytes]) -> None:
        node = attributes(schema, name)["nodes"]
        array = array_of(parts, node).copy()
        array[field][place] = value
        put_array(parts, node, array)

    return edit


def _state(key: str, value: Any, name: str = "Tree") -> Edit:
    return lambda schema, parts: put_attribute(schema, name, key, numbers(value))


def _without(key: str, name: str = "") -> Edit:
    return lambda schema, parts: attributes(schema, name).__delitem__(key)


def _array(key: str, change: Callable[[Any], Any], name: str = "") -> Edit:
    def edit(schema: Any, parts: dict[str, bytes]) -> None:
        node = attributes(schema, name)[key]
        put_array(parts, node, change(array_of(parts, node)))

    return edit


def _argument(place: int, value: Any) -> Edit:
    def edit(schema: Any, parts: dict[str, bytes]) -> None:
        tree = next(n for n in nodes_of(schema) if n.get("__class__") == "Tree")
        tree["__reduce__"]["args"]["content"][place] = numbers(value)

    return edit


def _behind_a_number(schema: Any, parts: dict[str, bytes]) -> None:
    """Give the number of outputs twice under one number: skops takes the first, whatever the second says."""
    put_attribute(schema, "", "first", numbers(10**9, at=1))
    tree = next(n for n in nodes_of(schema) if n.get("__class__") == "Tree")
    tree["__reduce__"]["args"]["content"][2] = numbers(1, at=1)
    content = attributes(schema)
    schema["content"]["content"] = {"first": content.pop("first"), **content}


def _many_classes(schema: Any, parts: dict[str, bytes]) -> None:
    tree = next(n for n in nodes_of(schema) if n.get("__class__") == "Tree")
    put_array(parts, tree["__reduce__"]["args"]["content"][1], np.array([10**12]))


def _bomb(schema: Any, parts: dict[str, bytes]) -> bytes:
    put_array(parts, attributes(schema)["classes_"], np.zeros(20_000_000))
    return joined(schema, parts, compression=zipfile.ZIP_DEFLATED)


def _many_references(schema: Any, parts: dict[str, bytes]) -> None:
    node = attributes(schema)["classes_"]
    put_array(parts, node, np.zeros(100_000))
    attributes(schema)["more"] = {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": [{**node, "__id__": 10_000 + k} for k in range(5_000)],
        "__id__": 9_999,
    }


def _header(schema: Any, parts: dict[str, bytes]) -> None:
    """Say that an array has 2**40 numbers."""
    node = attributes(schema)["classes_"]
    old, new = b"'shape': (2,), }".ljust(24), b"'shape': (1099511627776,), }"
    parts[node["file"]] = parts[node["file"]].replace(old[:16] + b" " * 12, new, 1)


HOSTILE: dict[str, tuple[str, Edit]] = {
    "a child that is no node": ("tree", _nodes("left_child", 0, -7)),
    "a child beyond the nodes": ("tree", _nodes("right_child", 0, 10**6)),
    "a cycle": ("tree", _nodes("left_child", 1, 0)),
    "a node as its own child": ("tree", _nodes("right_child", 1, 1)),
    "a child of two": ("tree", _nodes("right_child", 0, 2)),
    "half a leaf": ("tree", _nodes("left_child", 0, -1)),
    "a split on no column": ("tree", _nodes("feature", 0, 99)),
    "a split on a negative column": ("tree", _nodes("feature", 0, -5)),
    "a threshold that is no number": ("tree", _nodes("threshold", 0, np.nan)),
    "an infinite threshold": ("tree", _nodes("threshold", 0, -np.inf)),
    "a value that is no number": ("tree", _array("values", lambda a: a * np.nan, "Tree")),
    "nodes that are a number": ("tree", _array("nodes", lambda a: np.array(7), "Tree")),
    "nodes that are a table": ("tree", _array("nodes", lambda a: a.reshape(-1, 1), "Tree")),
    "values that are a list": ("tree", _array("values", lambda a: a.ravel(), "Tree")),
    "fewer nodes than there are": ("tree", _state("node_count", 5)),
    "no node": ("tree", _state("node_count", 0)),
    "fewer than no nodes": ("tree", _state("node_count", -3)),
    "outputs without end": ("tree", _argument(2, 10**9)),
    "no outputs": ("tree", _argument(2, 0)),
    "columns that are none": ("tree", _argument(0, -1)),
    "outputs behind another's number": ("tree", _behind_a_number),
    "classes without end": ("tree", _many_classes),
    "a tree of fewer columns": ("tree", _argument(0, 1)),
    "a model of fewer columns": ("tree", _state("n_features_in_", 1, "")),
    "a number of columns that is text": ("tree", _state("n_features_in_", "4", "")),
    "no tree": ("tree", _without("tree_")),
    "a tree that is a number": ("tree", _state("tree_", 7, "")),
    "no classes": ("tree", _without("classes_")),
    "too few classes": ("tree", _array("classes_", lambda a: a[:1])),
    "predict as an attribute": ("tree", _state("predict", 7, "")),
    "a method of a part as an attribute": ("pipeline", _state("transform", 7, "StandardScaler")),
    "a forest without trees": ("forest", _without("estimators_")),
    "trees that are a number": ("forest", _state("estimators_", 3, "")),
    "a forest of fewer columns": ("forest", _state("n_features_in_", 2, "")),
    "a cycle in a forest": ("forest", _nodes("left_child", 1, 0)),
    "a cycle in boosting": ("boosting", _nodes("left_child", 0, 0)),
    "a cycle in histograms": ("histograms", _nodes("left", 0, 0, "TreePredictor")),
    "a column of histograms": ("histograms", _nodes("feature_idx", 0, 99, "TreePredictor")),
    "a child beyond histograms": ("histograms", _nodes("right", 0, 2**31, "TreePredictor")),
    "coefficients of another shape": ("linear", _array("coef_", lambda a: a[:, :2])),
    "coefficients that are text": ("linear", _array("coef_", lambda a: a.astype(str))),
    "coefficients that are no numbers": ("linear", _array("coef_", lambda a: a * np.nan)),
    "no intercept": ("linear", _without("intercept_")),
    "a bomb": ("tree", _bomb),
    "one array, 5,000 times": ("tree", _many_references),
    "an array of 2**40 numbers": ("tree", _header),
    "half a file": ("tree", lambda schema, parts: dumped("tree")[:1000]),
    "no archive": ("tree", lambda schema, parts: b"PK\x03\x04 and so on"),
    "no description": ("tree", lambda schema, parts: joined("", parts)),
    "a description that is a list": ("tree", lambda schema, parts: joined("[]", parts)),
    "a description without end": ("tree", lambda schema, parts: joined("[" * 100_000, parts)),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "data.csv"
    pd.DataFrame(data()[0], columns=list("abcd")).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind, edit = HOSTILE[name]
    file = tmp_path / "model.skops"
    file.write_bytes(edited(kind, edit))
    assert file.read_bytes() != dumped(kind)
    assert main(["explain", str(file), str(table)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("axfi-kc: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_files_as_they_were_are_read(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    file.write_bytes(edited(kind, lambda schema, parts: None))
    X, _ = data()
    assert set(load_skops(file).predict(X)) == {0, 1}


def test_skops_that_lets_methods_through_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.skops"
    file.write_bytes(dumped("tree"))
    monkeypatch.setattr(skops, "__version__", "0.12.0")
    with pytest.raises(MissingExtraError, match=r"needs skops 0\.13 or newer"):
        load_skops(file)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zip"])
def test_packed_tables_that_would_fill_the_memory(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("axfi_kc.cli.skops_files._ALWAYS", 1 << 20)
    honest, bomb = tmp_path / f"honest.csv.{suffix}", tmp_path / f"bomb.csv.{suffix}"
    pd.DataFrame(data()[0], columns=list("abcd")).to_csv(honest, index=False)
    pd.DataFrame({"a": np.zeros(2_000_000, dtype=int)}).to_csv(bomb, index=False)
    assert read_table(honest).shape == (120, 4)
    with pytest.raises(DomainError, match="would unpack to more than"):
        read_table(bomb)


def test_half_a_packed_table_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:40])
    with pytest.raises(AxfiError):
        read_table(tmp_path / "half.csv.gz")
