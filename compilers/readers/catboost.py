"""CatBoost's trees, read through the JSON that the library writes.

A number is cast to float32 and passes a test iff it is above the border; a missing one passes or fails as the feature's
``nan_value_treatment`` says, and fails where training saw none. A category passes iff its hash is the one in the test,
and which categories these are is asked of the library itself: of a model of one test per tree. The class is the
lowest index of the largest sum; of two classes, the second iff the sum is above the logit of the probability threshold.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import catboost as cb
import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.readers import plain_labels, reads
from axfi_kc.compilers.readers.checks import check_columns, codes_of_column, constant, each_tree
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Split, float32_cuts
from axfi_kc.errors import AxfiError, DomainError, ModelFileError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, TreeNodes, TreeSum
from axfi_kc.models.own_predict import Codes, Predict, blocks_of, column_names, compares, predicts

__all__: list[str] = []

_MOST_VALUES = 100_000  # of an integer feature whose values are categories to the model
_Test = tuple[str, int, float]  # which kind, the number of the feature among those of its kind, border or hash


@dataclass(frozen=True, slots=True)
class _Side:
    """The column that a test is on, what goes left, and whether that is what passes; a missing value may pass too."""

    column: int
    split: Split
    left_passes: bool
    missing_passes: bool


@contextmanager
def _sound(model: Any) -> Iterator[None]:
    """Raise a ModelFileError where a model from a damaged file fails, in whichever way."""
    try:
        yield
    except AxfiError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, cb.CatBoostError) as error:
        reason = " ".join(repr(error).split())[:120]
        raise ModelFileError(
            f"Expected a CatBoost model that is whole, but this {type(model).__name__} is damaged ({reason}); load it "
            "from another file, or train it again."
        ) from error


def _document(model: Any) -> dict[str, Any]:
    if not model.is_fitted():
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except cb.CatBoostError as error:
            raise UnsupportedModelError(
                f"{type(model).__name__} should be able to save itself as JSON, but says: {error}; train it on numbers "
                "and categories only."
            ) from error
        return dict(json.loads(path.read_text(encoding="utf-8")))


def _loaded(document: Mapping[str, Any]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return cb.CatBoost().load_model(str(path), format="json")


def _columns(document: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return what the model knows of its columns of one kind; tests number them in this order."""
    listed = document["features_info"].get(kind) or []
    return sorted(listed, key=lambda info: info["feature_index"])


def _check(model: Any, document: Mapping[str, Any], domain: Domain) -> None:
    for kind in ("text_features", "embedding_features"):
        if _columns(document, kind):
            raise UnsupportedModelError(
                f"{type(model).__name__} was trained on {kind.replace('_', ' ')}, which have no exact form; train it "
                "on numbers and categories."
            )
    _check_numbering(document)
    infos = [*_columns(document, "float_features"), *_columns(document, "categorical_features")]
    names = {info["flat_feature_index"]: info["feature_id"] for info in infos}
    known = [names.get(k, "") for k in range(len(model.feature_names_))]
    check_columns(domain, len(known), known if all(known) else None)


def _check_numbering(document: Mapping[str, Any]) -> None:
    """Raise unless columns are numbered in turn and borders ascend, as the library takes for granted."""
    floats = _columns(document, "float_features")
    borders = [info["borders"] or [] for info in floats]
    if [info["feature_index"] for info in floats] == list(range(len(floats))) and borders == list(map(sorted, borders)):
        return
    raise UnsupportedModelError(
        "A CatBoost model should number its columns in turn and list the borders of each in ascending order, but this "
        "one does not; save the model again."
    )


def _nodes_of(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all nodes of a tree that is not oblivious, its root first."""
    nodes = [tree]
    for node in nodes:  # grows
        nodes += [node[side] for side in ("left", "right") if "split" in node]
    return nodes


def _tests(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    oblivious = [split for tree in document.get("oblivious_trees") or () for split in tree["splits"] or ()]
    nodes = [node for tree in document.get("trees") or () for node in _nodes_of(tree)]
    return oblivious + [node["split"] for node in nodes if "split" in node]


def _key(split: Mapping[str, Any]) -> _Test:
    kind = split["split_type"]
    if kind == "FloatFeature":
        return kind, split["float_feature_index"], split["border"]
    if kind == "OneHotFeature":
        return kind, split["cat_feature_index"], split["value"]
    raise UnsupportedModelError(
        "CatBoost replaced categories by statistics of the target, which has no exact form; train it with "
        "one_hot_max_size at least the number of categories of each column."
    )


def _sides(document: Mapping[str, Any], domain: Domain) -> dict[_Test, _Side]:
    """Return what each test does on the domain."""
    tests = sorted({_key(split) for split in _tests(document)})
    floats = _columns(document, "float_features")
    numbers = [test for test in tests if test[0] == "FloatFeature"]
    cuts = float32_cuts([border for *_, border in numbers], strict=False)
    sides = {}
    for test, cut in zip(numbers, cuts, strict=True):
        info = floats[test[1]]
        # Where training saw nothing missing ("AsIs"), NaN is compared like a number, and above nothing.
        passes = info["nan_value_treatment"] == "AsTrue"
        sides[test] = _Side(info["flat_feature_index"], cut, left_passes=False, missing_passes=passes)
    for test, (column, codes) in _categories(document, domain, [t for t in tests if t not in sides]).items():
        sides[test] = _Side(column, codes, left_passes=True, missing_passes=False)
    return sides


def _categories(
    document: Mapping[str, Any], domain: Domain, tests: list[_Test]
) -> dict[_Test, tuple[int, frozenset[Any]]]:
    """Return for each test on categories the column, and which of the domain's codes pass it."""
    columns = [info["flat_feature_index"] for info in _columns(document, "categorical_features")]
    listed = {column: _listed(domain, column) for column in columns}
    if not tests:
        return {}
    usual = [listed[k][0] if k in listed else 0.0 for k in range(len(domain.columns))]
    rows, places = [], []
    for column, codes in listed.items():
        for code in codes:
            rows.append([*usual[:column], code, *usual[column + 1 :]])
            places.append((column, code))
    # One tree per test: the index of its leaf is whether the test was passed, whatever the other columns hold.
    passed = _one_by_one(document, tests).calc_leaf_indexes(cb.Pool(rows, cat_features=columns))
    found = {}
    for k, test in enumerate(tests):
        own = columns[test[1]]
        pairs = zip(places, passed[:, k].tolist(), strict=True)
        found[test] = own, frozenset(code for (column, code), leaf in pairs if leaf and column == own)
    return found


def _one_by_one(document: Mapping[str, Any], tests: Iterable[_Test]) -> Any:
    """Return a model with a tree of two leaves for each test."""
    # Whole, as the document has them: they refer by their numbers to the tests that features_info lists.
    splits = {_key(split): split for split in _tests(document)}
    trees = [{"leaf_values": [0, 1], "leaf_weights": [1, 1], "splits": [splits[test]]} for test in tests]
    kept = {key: document[key] for key in ("features_info", "model_info")}
    return _loaded({**kept, "oblivious_trees": trees, "scale_and_bias": [1, [0]]})


def _listed(domain: Domain, column: int) -> list[Any]:
    """Return what the domain may put into a column of categories; the library takes strings and integers."""
    name, codes = codes_of_column(domain, column)
    if isinstance(codes, range) and len(codes) > _MOST_VALUES:
        raise DomainError(
            f"The model takes the {len(codes)} values of feature {name!r} for categories, too many to list; narrow its "
            "bounds, or declare it categorical."
        )
    if any(feature.missing for feature in domain.features if feature.name == name):
        raise DomainError(
            f"CatBoost predicts nothing where a category is missing, but feature {name!r} may be; give missing a "
            "category of its own, in the data and in the domain."
        )
    listed = list(codes)
    odd = next((code for code in listed if not isinstance(code, str | int | np.integer)), None)
    if odd is not None:
        raise DomainError(
            f"CatBoost's categories are strings or integers, but feature {name!r} holds {odd!r}; give the domain what "
            "the model was trained on."
        )
    return listed


def _oblivious(tree: Mapping[str, Any], sides: Mapping[_Test, _Side], n_scores: int) -> TreeNodes:
    """Return a tree with one test per level as a complete binary tree, numbered level by level."""
    levels = [sides[_key(split)] for split in tree["splits"] or ()]
    depth = len(levels)
    inner, number = (1 << depth) - 1, np.arange(1 << depth)
    # The first test is the lowest bit of the leaf's index.
    leaf = np.zeros(1 << depth, dtype=np.int64)
    for level, side in enumerate(levels):
        is_right = number >> (depth - 1 - level) & 1
        leaf |= (is_right ^ side.left_passes) << level
    values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(1 << depth, n_scores)[leaf]
    per_node = [side for level, side in enumerate(levels) for _ in range(1 << level)]
    children = 2 * np.arange(inner, dtype=np.int64)
    return _tree_nodes(
        [*per_node, *[None] * (1 << depth)],
        np.concatenate([children + 1, np.full(1 << depth, -1)]),
        np.concatenate([children + 2, np.full(1 << depth, -1)]),
        np.concatenate([np.zeros((inner, n_scores)), values]),
    )


def _other(tree: Mapping[str, Any], sides: Mapping[_Test, _Side], n_scores: int) -> TreeNodes:
    """Return a tree that its document nests; what passes a test goes to its right."""
    nodes = _nodes_of(tree)
    place = {id(node): k for k, node in enumerate(nodes)}
    found = [sides[_key(node["split"])] if "split" in node else None for node in nodes]
    fails = np.array([-1 if s is None else place[id(n["left"])] for n, s in zip(nodes, found, strict=True)])
    passes = np.array([-1 if s is None else place[id(n["right"])] for n, s in zip(nodes, found, strict=True)])
    swapped = np.array([side is not None and side.left_passes for side in found])
    values = [np.zeros(n_scores) if "split" in node else np.reshape(node["value"], n_scores) for node in nodes]
    return _tree_nodes(found, np.where(swapped, passes, fails), np.where(swapped, fails, passes), np.array(values))


def _tree_nodes(
    sides: list[_Side | None],
    left: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> TreeNodes:
    return TreeNodes(
        column=np.array([-1 if side is None else side.column for side in sides], dtype=np.int64),
        splits=[None if side is None else side.split for side in sides],
        left=left.astype(np.int64),
        right=right.astype(np.int64),
        values=values.astype(np.float64),
        missing_left=np.array([side is not None and side.missing_passes == side.left_passes for side in sides]),
    )


@dataclass(frozen=True, slots=True)
class _Sum:
    """The trees of a model; its scores are `scale` times what they add up to, plus `bias`."""

    trees: list[TreeNodes]
    scale: Fraction
    bias: list[Fraction]

    def base(self) -> list[Fraction]:
        """Return what the trees' own sums start from, so that scaling them gives the scores."""
        return [b / self.scale for b in self.bias]


def _sum(model: Any, domain: Domain) -> _Sum:
    document = _document(model)
    _check(model, document, domain)
    scale, bias = document["scale_and_bias"]
    if not scale > 0:
        raise UnsupportedModelError(
            f"{type(model).__name__} multiplies its trees by {scale}, but only a positive scale is read; undo "
            "set_scale_and_bias."
        )
    sides, n = _sides(document, domain), len(bias)
    trees = [_oblivious(tree, sides, n) for tree in each_tree(document.get("oblivious_trees") or ())]
    trees += [_other(tree, sides, n) for tree in each_tree(document.get("trees") or ())]
    return _Sum(trees or [constant(n)], Fraction(scale), [Fraction(b) for b in bias])


def _threshold(model: Any) -> Fraction:
    """Return what the sum must exceed for the second class, as the library computes it."""
    share = model.get_probability_threshold()
    if not 0 < share < 1:
        raise UnsupportedModelError(
            f"With a probability threshold of {share}, predict gives the same class everywhere; set one between."
        )
    return Fraction(-math.log(1 / share - 1))


@reads(cb.CatBoostClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    with _sound(model):
        found, labels = _sum(model, domain), plain_labels(model.classes_)
    if len(found.bias) == 1 and len(labels) == 2:
        base = [(found.bias[0] - _threshold(model)) / found.scale]
        return TreeSum.of(domain, found.trees, rule=Positive((labels[0], labels[1])), base=base)
    if len(found.bias) != len(labels) or _is_multi_label(model):
        raise UnsupportedModelError(
            f"{type(model).__name__} gives {len(found.bias)} scores for {len(labels)} classes, which is not one class "
            "per point; train it with loss_function 'Logloss' or 'MultiClass'."
        )
    return TreeSum.of(domain, found.trees, rule=Argmax(labels), base=found.base())


def _is_multi_label(model: Any) -> bool:
    loss = model.get_all_params().get("loss_function", "")
    return str(loss).startswith(("MultiLogloss", "MultiCrossEntropy"))


@reads(cb.CatBoost)
@reads(cb.CatBoostRanker)
def _raw(model: Any, domain: Domain) -> TreeSum:
    with _sound(model):
        found = _sum(model, domain)
    if len(found.bias) != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} predicts {len(found.bias)} numbers, but one output is explained; train a "
            "CatBoostClassifier, or one model per output."
        )
    return TreeSum.of(domain, found.trees, rule=Score(found.scale), base=found.base())


@reads(cb.CatBoostRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    kind = model._get_default_prediction_type()
    if kind != "RawFormulaVal":
        raise UnsupportedModelError(
            f"{type(model).__name__} predicts {kind}, which is no sum of trees and has no exact form; train it with "
            "loss_function 'RMSE'."
        )
    return _raw(model, domain)


@predicts(cb.CatBoost)
def _ask(model: Any, domain: Domain) -> Predict:
    def predict(codes: Codes) -> list[Any]:
        blocks = blocks_of(domain, codes)
        if all(block.dtype.kind in "f" for block in blocks):
            table = np.column_stack(blocks)
        else:
            # Objects keep integers and words apart from floats, which the library does not take for categories.
            table = np.column_stack([block.astype(object) for block in blocks])
        with _sound(model):
            return np.asarray(model.predict(table, thread_count=1)).reshape(-1).tolist()

    return predict


@compares(cb.CatBoost)
def _compare(model: Any, domain: Domain) -> Predict:
    return _ask(model, domain)


@column_names.register(cb.CatBoost)
def _names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns; those of an array are called by their numbers."""
    with _sound(model):
        names = tuple(map(str, model.feature_names_)) if model.is_fitted() else ()
    return None if names == tuple(map(str, range(len(names)))) else names
