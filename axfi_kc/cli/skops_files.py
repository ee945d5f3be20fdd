"""Models of scikit-learn in ``.skops`` files, which may be made to harm.

skops runs no code of a file that it does not trust, but it unpacks whatever it is told to, and what it trusts has
compiled code that walks through trees without looking where they lead. So sizes are added up before anything is
unpacked, and trees and methods are looked at before anything is asked of a model.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from inspect import isroutine
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from axfi_kc.errors import AxfiError, MissingExtraError, ModelFileError

__all__ = ["load_skops", "most_bytes"]


_TRUSTED = (
    "sklearn.tree._tree.Tree",  # a compiled class that holds nothing but arrays
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",  # likewise; both are looked at
    "numpy.dtype",  # the type of numbers that imputers keep
    # What scikit-learn's wrappers hold besides models. These have attributes, and do nothing when they are loaded.
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.metrics._classification.balanced_accuracy_score",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.utils._bunch.Bunch",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
_OLDEST = (0, 13)  # before, a method could be disguised as something that is trusted
_ALWAYS, _RATIO = 64 << 20, 100
_MOST_PARTS = 5_000_000  # objects of a model, or nodes of its description
_MOST_OUTPUTS = 100_000


def most_bytes(size: int) -> int:
    """Return how much a compressed file of so many bytes may unpack to."""
    return _ALWAYS + _RATIO * size


def load_skops(path: Path) -> Any:
    """Return the model in a skops file, if it holds nothing but what skops trusts, and its trees are trees.

    Raises
    ------
    AxfiError
        If it holds anything else.
    """
    load, get_untrusted_types, refusal = _skops()
    try:
        data = path.read_bytes()  # what is looked at is what is loaded
        _check_archive(data)
        found = get_untrusted_types(data=data)
        model = load(data, trusted=[t for t in found if t in _TRUSTED])
        _check_objects(model)
    except refusal as error:
        types = ", ".join(t for t in found if t not in _TRUSTED)
        raise AxfiError(f"{path} holds types that skops does not trust ({types}); save a plain model.") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror or error}); give a saved model.") from error
    except Exception as error:  # a damaged file can fail anywhere in skops, and always means the same to the user
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(
            f"{path} cannot be read as a skops file ({said}); save the model with skops.io.dump."
        ) from error
    return model


def _skops() -> tuple[Any, Any, Any]:
    """Return what loads, what lists types, and the error of types that are not trusted."""
    try:
        import skops
        from skops.io import get_untrusted_types, loads
        from skops.io.exceptions import UntrustedTypesFoundException
    except ImportError as error:
        raise MissingExtraError.of("skops", "sklearn", "Reading a .skops file") from error
    version = tuple(int(n) for n in skops.__version__.split(".")[:2] if n.isdigit())
    if version < _OLDEST:
        raise MissingExtraError(
            f"Reading a .skops file needs skops 0.13 or newer, but {skops.__version__} is installed, which a file can "
            "make run code: pip install -U skops."
        )
    return loads, get_untrusted_types, UntrustedTypesFoundException


def _check_archive(data: bytes) -> None:
    """Raise a ValueError if unpacking would take more than a file of this size should, or a tree has odd outputs."""
    most = most_bytes(len(data))
    with ZipFile(io.BytesIO(data)) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        if len(sizes) != len(archive.infolist()):
            raise ValueError("two parts of one name")
        _check_sum(sizes.values(), most)
        for name in sizes:
            if name.endswith(".npz"):  # an archive of its own
                with ZipFile(io.BytesIO(archive.read(name))) as inner:
                    _check_sum((info.file_size for info in inner.infolist()), most)
        nodes = list(_nodes(json.loads(archive.read("schema.json"))))
        # A part is unpacked as often as it is referred to.
        _check_sum((sizes.get(node["file"], 0) for node in nodes if isinstance(node.get("file"), str)), most)
        trees = [n for n in nodes if n.get("__loader__") == "TreeNode" or n.get("__class__") == "Tree"]
        holders = {part["__id__"] for tree in trees for part in (tree["__reduce__"]["args"], tree["content"])}
        known = _by_id(nodes, holders)
        for tree in trees:
            _check_outputs(known[tree["__reduce__"]["args"]["__id__"]], known, archive)
            _check_state(known[tree["content"]["__id__"]], known, archive)


def _check_sum(sizes: Any, most: int) -> None:
    total = sum(sizes)
    if total > most:
        raise ValueError(f"it would unpack to {total:,} bytes, more than the {most:,} that a file of its size may")


def _nodes(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON document, outer ones first."""
    stack, met = [document], 0
    while stack:
        found = stack.pop()
        met += 1
        if met > _MOST_PARTS:
            raise ValueError(f"more than {_MOST_PARTS:,} parts")
        if isinstance(found, dict):
            yield found
            stack += found.values()
        elif isinstance(found, list):
            stack += found


def _by_id(nodes: list[dict[str, Any]], holders: set[Any]) -> dict[Any, dict[str, Any]]:
    """Return numbers, arrays and what holds those of trees by the number under which skops remembers them.

    The loader takes the first part of a number that it meets, whatever the second says; so both must say the same.
    """
    known: dict[Any, dict[str, Any]] = {}
    said: dict[Any, Any] = {}
    leaves = {n.get("__id__") for n in nodes if n.get("__loader__") in ("JsonNode", "NdArrayNode")} - {None}
    for node in nodes:
        number = node.get("__id__")
        if number in leaves or number in holders:
            content = node.get("content")
            parts = _numbers_in(content) if number in holders else content if isinstance(content, str) else None
            says = (node["__loader__"], node.get("type"), node.get("file"), parts)
            known.setdefault(number, node)
            if said.setdefault(number, says) != says and node["__loader__"] != "CachedNode":
                raise ValueError(f"two different parts with the number {str(number)[:40]}")
    return known


def _numbers_in(content: Any) -> Any:
    """Return the numbers of the parts of a tuple, or of the entries of a dict."""
    if isinstance(content, dict):
        return {key: part["__id__"] for key, part in content.items()}
    return [part["__id__"] for part in content]


def _check_outputs(args: dict[str, Any], known: dict[Any, dict[str, Any]], archive: ZipFile) -> None:
    """Raise unless a tree is made of numbers of columns, classes and outputs that fit: compiled code trusts them."""
    columns, classes, outputs = (known[arg["__id__"]] for arg in args["content"])
    n_columns, n_outputs = int(json.loads(columns["content"])), int(json.loads(outputs["content"]))
    listed = np.load(io.BytesIO(archive.read(classes["file"])), allow_pickle=False)
    fits = listed.dtype.kind in "iu" and listed.shape == (n_outputs,)
    if not fits or n_columns < 0 or not (listed >= 1).all() or listed.sum() > _MOST_OUTPUTS:
        raise ValueError(f"a tree of {n_columns} columns and {n_outputs} outputs that does not fit its classes")


def _check_state(state: dict[str, Any], known: dict[Any, dict[str, Any]], archive: ZipFile) -> None:
    """Raise unless the nodes and the values of a tree are a list and a table: compiled code does not ask."""
    for key, dimensions in (("nodes", 1), ("values", 3)):
        with archive.open(known[state["content"][key]["__id__"]]["file"]) as file:
            found = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if found == (1, 0) else np.lib.format.read_array_header_2_0
            shape = read(file)[0]
        if len(shape) != dimensions:
            raise ValueError(f"{key} of a tree in {len(shape)} dimensions, not {dimensions}")


def _check_objects(model: Any) -> None:
    """Raise a ValueError if a tree within a model is none, or an attribute stands in for a method."""
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree

    for found in _objects(model):
        if isinstance(found, Tree):
            _check_tree(found)
        else:
            _check_methods(found)
            _check_width(found)
        if isinstance(found, TreePredictor):
            _check_predictor(found)


def _objects(model: Any) -> Iterator[Any]:
    """Yield what a model is made of, each object once."""
    stack, seen = [model], {}
    while stack:
        found = stack.pop()
        if id(found) in seen or isinstance(found, str | bytes | int | float | type | None):
            continue
        seen[id(found)] = found  # kept, so that no other object gets its number
        if len(seen) > _MOST_PARTS:
            raise ValueError(f"more than {_MOST_PARTS:,} objects")
        yield found
        if isinstance(found, dict):
            stack += found.values()
        elif isinstance(found, list | tuple | set | frozenset):
            stack += found
        elif isinstance(found, np.ndarray):
            stack += found.ravel().tolist() if found.dtype == object else []
        stack += getattr(found, "__dict__", {}).values()


def _check_methods(found: Any) -> None:
    for name in getattr(found, "__dict__", ()):
        if isroutine(getattr(type(found), name, None)):
            raise ValueError(f"an attribute {str(name)[:40]!r} that stands in for a method of {type(found).__name__}")


def _check_width(found: Any) -> None:
    """Raise if an estimator lets through tables narrower than those its trees look at."""
    own = getattr(found, "__dict__", {})
    if "n_features_in_" not in own:
        return
    parts = [own.get("tree_")]
    if "estimators_" in own and "estimators_features_" not in own:
        parts += [getattr(part, "tree_", None) for part in np.asarray(own["estimators_"], dtype=object).ravel()]
    for tree in parts:
        if tree is not None and tree.n_features != own["n_features_in_"]:
            raise ValueError(f"a tree over {tree.n_features} columns in a model of {own['n_features_in_']}")
    for predictor in np.asarray(own.get("_predictors", ()), dtype=object).ravel():
        used = predictor.nodes["feature_idx"][predictor.nodes["is_leaf"] == 0]
        if len(used) and not 0 <= int(used.min()) <= int(used.max()) < own["n_features_in_"]:
            raise ValueError(f"a split on none of the {own['n_features_in_']} columns")


def _check_tree(tree: Any) -> None:
    """Raise unless compiled code can walk through a tree of decisions."""
    if not 1 <= tree.node_count <= tree.capacity:  # before any array is made, which would read beyond the nodes
        raise ValueError(f"a tree of {tree.node_count} nodes that holds {tree.capacity}")
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    _check_children(left, right, inner)
    features, thresholds = tree.feature[inner], tree.threshold[inner]
    if not ((features >= 0) & (features < tree.n_features)).all():
        raise ValueError(f"a split on none of the {tree.n_features} columns")
    # An infinite threshold sets missing values apart.
    if np.isnan(thresholds).any() or (thresholds == -math.inf).any() or not np.isfinite(tree.value).all():
        raise ValueError("a threshold or a value of a tree that is no finite number")


def _check_children(left: Any, right: Any, inner: Any) -> None:
    """Raise unless every node but the first is the child of one before it."""
    parents = np.flatnonzero(inner)
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    above = np.concatenate([parents, parents])
    if (children <= above).any() or (np.sort(children) != np.arange(1, len(left))).any() or (right[~inner] != -1).any():
        raise ValueError("a tree with a node that is no child of one before it, or of two")


def _check_predictor(predictor: Any) -> None:
    """Raise unless compiled code can walk through a tree of histogram-based boosting."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or not len(nodes):
        raise ValueError("a tree that is no list of nodes")
    inner = nodes["is_leaf"] == 0
    left, right = (np.where(inner, nodes[side].astype(np.int64), -1) for side in ("left", "right"))
    _check_children(left, right, inner)
    by_set = inner & (nodes["is_categorical"] != 0)
    if by_set.any() and (sets.ndim != 2 or sets.shape[1] != 8 or nodes["bitset_idx"][by_set].max() >= len(sets)):
        raise ValueError("a split by a set of categories that is not there")
    if np.isnan(nodes["num_threshold"][inner & ~by_set]).any() or not np.isfinite(nodes["value"][~inner]).all():
        raise ValueError("a threshold or a value of a tree that is no finite number")
