"""XGBoost model files (JSON and UBJSON) as sums of trees, without XGBoost.

A file is not trusted: whatever is missing, of the wrong type, out of range, cyclic or not finite
raises :class:`~axfi_kc.errors.ModelFileError`.

A point goes left iff ``float32(x) < threshold``; at a categorical split the listed categories go
right. NaN goes where the node says, and so does every number that float32 rounds to the ``missing``
that an estimator was given. The library adds float32 numbers in float32; the neutral form has the exact sum of the same
numbers, so the two differ by the library's own rounding. The class is decided by the margin:
``margin > 0``, or the lowest index of the largest margin.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_whole, quoted, whole
from axfi_kc.compilers.readers.checks import (
    Floats,
    Ints,
    Literal,
    check_columns,
    check_finite,
    check_known_categories,
    check_range,
    check_size,
    check_whole_codes,
    count,
    counts,
    each_tree,
    float_lists,
    floats,
    int_lists,
    ints,
    parse_json,
    part,
    rounded,
    spread,
)
from axfi_kc.compilers.readers.ubjson import parse_ubjson
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Cut, Holed, float32_cuts
from axfi_kc.errors import ModelFileError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum

__all__ = [
    "Reading",
    "XGBoostFile",
    "XGBoostTree",
    "objective_kind",
    "parse_document",
    "parse_xgboost",
    "read_xgboost",
    "sum_of_file",
]


_MOST_SCORES = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class XGBoostTree:
    """One tree; the root is node 0, and every node is reached from it exactly once."""

    column: Ints  # tested at each node; -1 at a leaf
    threshold: Floats  # ``float32(x) < threshold`` goes left; meaningless at leaves and at categorical splits
    listed: tuple[frozenset[int] | None, ...]  # the category numbers that go right at a categorical split
    left: Ints  # children; -1 at a leaf
    right: Ints
    values: Floats  # of leaves, shape ``(nodes, 1)`` or, for vector leaves, ``(nodes, targets)``
    default_left: npt.NDArray[np.bool_] | None  # whether missing values go left; None if the file does not say


@dataclass(frozen=True, slots=True, eq=False)
class XGBoostFile:
    """What a model file says, checked."""

    version: tuple[int, ...]  # of the XGBoost that wrote the file
    objective: str  # such as "binary:logistic"
    base_score: tuple[float, ...]  # the global bias as stored: one float32 number, or one per score
    n_classes: int  # 0 unless multi-class
    n_targets: int
    n_columns: int
    names: tuple[str, ...]  # of columns; empty where the model has none
    categories: tuple[tuple[Any, ...], ...]  # per column, what each category number stands for, if the file says so
    trees: tuple[XGBoostTree, ...]
    score: tuple[int, ...]  # to which each tree adds
    weight: tuple[float, ...]  # what each tree is multiplied by (DART); otherwise 1
    rounds: tuple[int, ...]  # the trees of boosting round r are ``rounds[r]:rounds[r + 1]``
    best_iteration: int | None  # the last round that early stopping keeps; None without early stopping

    @property
    def n_scores(self) -> int:
        """The number of scores the trees add up to."""
        return max(self.n_classes, self.n_targets, 1)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a ValueError: no system has such a path
        why = getattr(error, "strerror", None) or "it is no path"
        raise ModelFileError(f"{quoted(str(path))} cannot be read ({why}); give the path of a saved model.") from error


def parse_xgboost(source: str | os.PathLike[str] | bytes | bytearray) -> XGBoostFile:
    """Return what a model file says.

    Parameters
    ----------
    source
        The path of a file that ``save_model`` wrote as JSON or UBJSON, or its bytes.

    Raises
    ------
    ModelFileError
        If the file is not such a file, or is damaged.
    UnsupportedModelError
        If its booster is not made of trees.

    Notes
    -----
    Linear in the size of the file.
    """
    data = bytes(source) if isinstance(source, bytes | bytearray) else _bytes_of(Path(source))
    head = data[:64].lstrip()
    if head[:1] != b"{":
        raise ModelFileError(
            f"Expected an XGBoost model in JSON or UBJSON, which begins with '{{', but found {data[:4]!r}; "
            "write the model with save_model('model.json') or save_model('model.ubj')."
        )
    # After its brace UBJSON has the length of a key, never a quote.
    is_text = head[1:].lstrip()[:1] in (b'"', b"}", b"")
    return parse_document(parse_json(data) if is_text else parse_ubjson(data))


def parse_document(document: Any) -> XGBoostFile:
    """Return what the parsed JSON or UBJSON `document` of a model says."""
    learner = part(document, "learner", dict)
    booster = part(learner, "gradient_booster", dict)
    model, weight_drop = _model_of(booster)
    params = part(learner, "learner_model_param", dict)
    n_columns, n_classes = count(params, "num_feature"), count(params, "num_class", 0, most=_MOST_SCORES)
    n_targets = count(params, "num_target", 1, most=_MOST_SCORES)
    trees = _trees(part(model, "trees", list), n_columns)
    n_scores = max(n_classes, n_targets, 1)
    score = ints(model, "tree_info", len(trees))
    check_range(score, n_scores, "tree_info")
    # DART drops trees in training and weighs those that stay.
    weight = np.ones(len(trees)) if weight_drop is None else floats(booster, "weight_drop", len(trees))
    check_finite(weight, "weight_drop")
    best = part(learner, "attributes", dict, {}).get("best_iteration")
    return XGBoostFile(
        version=tuple(ints(document, "version").tolist()),
        objective=part(part(learner, "objective", dict), "name", str),
        base_score=_base_score(params.get("base_score"), n_scores),
        n_classes=n_classes,
        n_targets=n_targets,
        n_columns=n_columns,
        names=_names(learner, n_columns),
        categories=_categories(model.get("cats"), n_columns),
        trees=trees,
        score=tuple(score.tolist()),
        weight=tuple(float(w) for w in weight),
        rounds=_rounds(model, len(trees), n_scores),
        # Attributes are text; "-1" stands for no early stopping.
        best_iteration=None if best in (None, "-1") else count({"best_iteration": best}, "best_iteration"),
    )


def _model_of(booster: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    name = part(booster, "name", str)
    if name == "gbtree":
        return part(booster, "model", dict), None
    if name == "dart":
        return part(part(booster, "gbtree", dict), "model", dict), part(booster, "weight_drop", list | np.ndarray)
    raise UnsupportedModelError(
        f"Expected an XGBoost model of trees (booster gbtree or dart), but this one is {name!r}; "
        "a gblinear model is better trained, and explained, as a scikit-learn linear model."
    )


def _base_score(text: Any, n_scores: int) -> tuple[float, ...]:
    items = str(text).removeprefix("[").removesuffix("]").split(",")
    try:
        if "_" in str(text) or not str(text).isascii():  # Python takes 1_0 for ten
            raise ValueError
        found = rounded([Literal(item) for item in items])
    except ValueError as error:
        raise ModelFileError(f"base_score should be a number or a list, but {str(text)[:40]!r} was found.") from error
    check_finite(found, "base_score")
    if len(found) not in (1, n_scores):
        raise ModelFileError(f"base_score should hold 1 or {n_scores} numbers, but it holds {len(found)}.")
    return tuple(found.tolist())


def _names(learner: Any, n_columns: int) -> tuple[str, ...]:
    names = part(learner, "feature_names", list, [])
    if names and (len(names) != n_columns or not all(isinstance(n, str) for n in names)):
        raise ModelFileError(f"feature_names should hold {n_columns} strings, but it holds {len(names)} items.")
    return tuple(str(n) for n in names)


def _rounds(model: Any, n_trees: int, n_scores: int) -> tuple[int, ...]:
    if "iteration_indptr" in model:
        rounds = ints(model, "iteration_indptr").tolist()
    else:  # before 2.0: every round has as many trees
        parallel = count(part(model, "gbtree_model_param", dict), "num_parallel_tree", 1)
        # A round has one tree per score, times the trees that are grown in parallel.
        rounds = list(range(0, n_trees + 1, max(parallel, 1) * n_scores))
    if not rounds or rounds[0] != 0 or rounds[-1] != n_trees or any(a > b for a, b in pairwise(rounds)):
        raise ModelFileError(f"The rounds of boosting should divide {n_trees} trees, but they end at {rounds[-1:]}.")
    return tuple(rounds)


def _categories(cats: Any, n_columns: int) -> tuple[tuple[Any, ...], ...]:
    """Return the named categories of each column (written since 3.1; empty where there are none)."""
    encodings = part(cats, "enc", list, []) if cats is not None else []
    if not encodings:
        return ()
    check_size(encodings, "enc", n_columns)
    return tuple(_category_names(e) for e in encodings)


def _category_names(encoding: Any) -> tuple[Any, ...]:
    values = part(encoding, "values", list | np.ndarray)
    if "offsets" not in encoding:
        numbers = values.tolist() if isinstance(values, np.ndarray) else values
        odd = next((x for x in numbers if not isinstance(x, Literal | int | float | str)), None)
        if odd is not None:
            raise ModelFileError(f"Categories should be numbers or text, but {str(odd)[:40]!r} was found.")
        return tuple(float(x) if isinstance(x, Literal) else x for x in numbers)
    offsets, raw = ints(encoding, "offsets"), ints(encoding, "values")
    check_range(offsets, len(raw) + 1, "offsets")
    text = raw.astype(np.uint8).tobytes()
    try:
        return tuple(text[a:b].decode("utf-8") for a, b in pairwise(offsets.tolist()))
    except UnicodeDecodeError as error:
        raise ModelFileError("The names of categories should be UTF-8, but they are not.") from error


def _trees(documents: list[Any], n_columns: int) -> tuple[XGBoostTree, ...]:
    """Return all trees; each entry is taken and checked for all of them together."""
    _check_numbers(documents)
    lefts = int_lists(documents, "left_children")
    sizes = [len(left) for left in lefts]
    rights = int_lists(documents, "right_children", sizes)
    columns = int_lists(documents, "split_indices", sizes)
    thresholds = float_lists(documents, "split_conditions", sizes)
    listed = _listed(documents, sizes)
    defaults = _default_left(documents, sizes)
    # Pruned nodes stay in the arrays; only those that the root reaches count, and they are numbered anew.
    orders = [_reachable(left, right) for left, right in zip(lefts, rights, strict=True)]
    inners = [order[left[order] != -1] for left, order in zip(lefts, orders, strict=True)]
    check_range(_joined([c[k] for c, k in zip(columns, inners, strict=True)]), n_columns, "split_indices")
    # The library takes 1 for left and any other number for right, but writes only 0 and 1.
    sides = [side[k] for side, k in zip(defaults, inners, strict=True) if side is not None]
    check_range(_joined(sides), 2, "default_left")
    _check_split_types(documents, inners, listed)
    numeric = [[k for k in inner.tolist() if sets[k] is None] for inner, sets in zip(inners, listed, strict=True)]
    # At a categorical split the number is a leftover, which may be anything.
    check_finite(_joined([t[k] for t, k in zip(thresholds, numeric, strict=True)]), "split_conditions")
    values = _leaf_values(documents, thresholds, lefts, rights)
    leaves = [order[left[order] == -1] for left, order in zip(lefts, orders, strict=True)]
    check_finite(_joined([v[k].reshape(-1) for v, k in zip(values, leaves, strict=True)]), "leaf values")
    return tuple(map(_in_order, orders, lefts, rights, columns, thresholds, listed, values, defaults))


def _check_numbers(documents: list[Any]) -> None:
    """Raise unless trees come in the order of their numbers, by which the library places them."""
    odd = next((k for k, tree in enumerate(documents) if isinstance(tree, dict) and tree.get("id", k) != k), None)
    if odd is not None:
        raise ModelFileError(
            f"Tree {odd} of the model should have that number as its 'id', but it has {quoted(documents[odd]['id'])}; "
            "save the model again."
        )


def _default_left(documents: list[Any], sizes: list[int]) -> list[Ints | None]:
    """Return for each tree where missing values go at its nodes, if the file says so, as all that XGBoost wrote do."""
    pairs = zip(documents, sizes, strict=True)
    return [ints(tree, "default_left", size) if "default_left" in tree else None for tree, size in pairs]


def _joined(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _in_order(
    order: Ints,
    left: Ints,
    right: Ints,
    column: Ints,
    threshold: Floats,
    listed: list[frozenset[int] | None],
    values: Floats,
    default_left: Ints | None,
) -> XGBoostTree:
    """Return a tree with its nodes renumbered as `order` has them; those it lacks are unreachable."""
    at_leaf, position = left[order] == -1, np.full(len(left), -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    return XGBoostTree(
        column=np.where(at_leaf, -1, column[order]),
        threshold=threshold[order],
        listed=tuple(listed[k] for k in order.tolist()),
        # a leaf's children may be anything (since 3.2 the right one is the number of the leaf), so none is looked up
        left=np.where(at_leaf, -1, position[np.where(at_leaf, 0, left[order])]),
        right=np.where(at_leaf, -1, position[np.where(at_leaf, 0, right[order])]),
        values=values[order],
        default_left=None if default_left is None else default_left[order] != 0,
    )


def _reachable(left: Ints, right: Ints) -> Ints:
    """Return the nodes of a tree, root first, after checking that it is one."""
    n = len(left)
    lefts, rights = left.tolist(), right.tolist()
    order, seen, stack = [], [False] * n, [0]
    while stack:
        node = stack.pop()
        # A node met twice is a cycle or a shared subtree; either would make the walk go wrong.
        if not 0 <= node < n or seen[node]:
            fault = "twice" if 0 <= node < n else "but does not exist"
            raise ModelFileError(f"A tree has {n} nodes, each with one parent, but node {node} is a child {fault}.")
        seen[node] = True
        order.append(node)
        if lefts[node] != -1:
            stack += [rights[node], lefts[node]]
    return np.array(order, dtype=np.int64)


def _listed(documents: list[Any], sizes: list[int]) -> list[list[frozenset[int] | None]]:
    """Return the categories listed at each categorical split of each tree."""
    listed: list[list[frozenset[int] | None]] = [[None] * n for n in sizes]
    known = [t for t, tree in enumerate(documents) if "categories_nodes" in tree]
    holders = [documents[t] for t in known]
    nodes, categories = int_lists(holders, "categories_nodes"), int_lists(holders, "categories")
    numbers = [len(found) for found in nodes]
    starts = int_lists(holders, "categories_segments", numbers)
    spans = int_lists(holders, "categories_sizes", numbers)
    check_range(_joined(categories), 2**32, "categories")
    for t, *entries in zip(known, nodes, categories, starts, spans, strict=True):
        if len(entries[0]):
            _list_categories(listed[t], *entries)
    return listed


def _list_categories(
    listed: list[frozenset[int] | None], nodes: Ints, categories: Ints, starts: Ints, sizes: Ints
) -> None:
    """Put the categories of one tree where they belong."""
    check_range(nodes, len(listed), "categories_nodes")
    check_range(starts, len(categories) + 1, "categories_segments")
    check_range(starts + sizes, len(categories) + 1, "categories_sizes")
    for node, start, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        listed[node] = frozenset(categories[start : start + size].tolist())


def _check_split_types(documents: list[Any], inners: list[Ints], listed: list[list[frozenset[int] | None]]) -> None:
    """Raise unless exactly the splits marked categorical list categories."""
    known = [t for t, tree in enumerate(documents) if "split_type" in tree]
    kinds = int_lists([documents[t] for t in known], "split_type", [len(listed[t]) for t in known])
    for t, types in zip(known, kinds, strict=True):
        marked = types.tolist()
        odd = next((k for k in inners[t].tolist() if (marked[k] == 1) != (listed[t][k] is not None)), None)
        if odd is not None:
            raise ModelFileError(
                f"A categorical split should list its categories, and no other, but node {odd} differs."
            )


def _leaf_values(documents: list[Any], scalars: list[Floats], lefts: list[Ints], rights: list[Ints]) -> list[Floats]:
    """Return the leaf value, or vector, of each node of each tree."""
    # Without vectors the value of a leaf stands where inner nodes have their threshold.
    widths = counts(documents, "tree_param", "size_leaf_vector", 1)
    return [
        scalar[:, np.newaxis] if width <= 1 else _vectors(tree, width, left, right)
        for tree, width, scalar, left, right in zip(documents, widths, scalars, lefts, rights, strict=True)
    ]


def _vectors(tree: Any, width: int, left: Ints, right: Ints) -> Floats:
    if "leaf_weights" not in tree:
        return floats(tree, "base_weights", len(left) * width).reshape(-1, width)
    # Since 3.2 leaves are numbered, and a leaf's number stands where its right child would.
    n_leaves = len(part(tree, "leaf_weights", list | np.ndarray)) // width
    vectors = floats(tree, "leaf_weights", n_leaves * width).reshape(-1, width)
    number = np.where(left == -1, right, 0)
    check_range(number, n_leaves, "right_children")
    return vectors[number]


_SIGN = ("binary:hinge", "binary:logistic", "binary:logitraw")
_ARGMAX = ("multi:softmax", "multi:softprob")
_IDENTITY = (
    "rank:map",
    "rank:ndcg",
    "rank:pairwise",
    "reg:absoluteerror",
    "reg:linear",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "reg:squarederror",
    "reg:squaredlogerror",
)

Iterations = int | str  # "best" or "all"


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file, where its library leaves a choice.

    Attributes
    ----------
    labels
        Class labels; None stands for 0, 1, ...
    iterations
        How many rounds count: a number, ``"best"`` or ``"all"``.
    base
        The margins before any tree, where they are known better than from the file.
    threshold
        What a binary margin must exceed for the second class.
    missing
        The number that counts as missing, besides NaN; NaN: none does.
    is_sparse
        Whether zeros are left out of the tables to predict, and so count as missing.
    """

    labels: Sequence[Hashable] | None = None
    iterations: Iterations = "best"
    base: tuple[float, ...] | None = None
    threshold: Fraction = Fraction(0)
    missing: float = math.nan
    is_sparse: bool = False


@checked("source", "domain", "labels", "iterations", "missing")
def read_xgboost(
    source: str | os.PathLike[str] | bytes | bytearray,
    domain: Domain,
    *,
    labels: Sequence[Hashable] | None = None,
    iterations: Iterations = "best",
    missing: float = math.nan,
) -> TreeSum:
    """Read an XGBoost model file, without XGBoost.

    Parameters
    ----------
    source
        The path of a file that ``save_model`` wrote as JSON or UBJSON (XGBoost 1.6 or later),
        or its bytes.
    domain
        The space on which the model is explained. The codes of a categorical column are the
        numbers the model saw; where the file names its categories (since 3.1, if trained on a
        DataFrame), they are those names.
    labels
        The class labels, in the order of the model's class numbers, which are the default.
    iterations
        How many rounds of boosting count. ``"best"``: up to the best iteration if early stopping
        recorded one, as ``XGBClassifier.predict`` does; ``"all"``, as ``Booster.predict`` does.
    missing
        The number that ``predict`` takes for missing, besides NaN: what ``XGBClassifier(missing=...)`` was given. A
        saved file does not hold it, so it must be said again wherever it was said in training.

    Raises
    ------
    ModelFileError
        If the file is damaged, or no XGBoost model.
    UnsupportedModelError
        If the model has no exact form: a linear booster, or an objective that transforms the sum.
    DomainError
        If the domain does not describe the model's columns.

    Notes
    -----
    The margin of a ``base_score`` that is a probability is computed in float32, as the library
    does, with a logarithm that is rounded correctly; C's ``logf`` may differ in the last place.
    XGBoost 3.2 and later clip that probability to between 1e-6 and 1 - 1e-6, so it is clipped for
    files that they wrote.
    Sums are exact where the library rounds to float32, and ``margin > 0`` is exact where it
    rounds the probability: there, margins below about 1e-7 give exactly 0.5 and the first class.

    Examples
    --------
    >>> from axfi_kc.domain.features import Real
    >>> stump = b'''{"version": [2, 0, 3], "learner": {"feature_names": [], "attributes": {},
    ...     "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
    ...     "objective": {"name": "binary:logistic"}, "gradient_booster": {"name": "gbtree",
    ...     "model": {"tree_info": [0], "iteration_indptr": [0, 1], "trees": [{"tree_param": {},
    ...     "left_children": [1, -1, -1], "right_children": [2, -1, -1],
    ...     "split_indices": [0, 0, 0], "split_conditions": [3.5, -0.25, 0.75]}]}}}}'''
    >>> read_xgboost(stump, Domain([Real("x", 0, 9)])).predict([[3.4], [3.5]])
    [0, 1]
    """
    if is_whole(missing):
        missing = whole(missing, "missing", least=-(1 << 63), most=(1 << 63) - 1)
    return sum_of_file(parse_xgboost(source), domain, Reading(labels=labels, iterations=iterations, missing=missing))


def sum_of_file(file: XGBoostFile, domain: Domain, reading: Reading) -> TreeSum:
    """Return the sum of trees that a parsed file describes."""
    kind = objective_kind(file)
    check_columns(domain, file.n_columns, file.names)
    _check_categories(file, domain)
    trees = _nodes(file, _n_trees(file, reading.iterations), _absent(file, reading))
    if not trees:
        raise UnsupportedModelError("Expected a model with trees, but this one has none; train it for some rounds.")
    base: Sequence[float | Fraction] = reading.base if reading.base is not None else _base_margins(file)
    rule = _rule(file, kind, reading.labels)
    if isinstance(rule, Positive) and reading.threshold:
        # "Above the threshold" becomes "above 0".
        base = [Fraction(b) - reading.threshold for b in base]
    return TreeSum.of(domain, trees, rule=rule, base=base)


def objective_kind(file: XGBoostFile) -> str:
    """Return how the objective turns margins into outputs, if it does so exactly."""
    if file.objective in _ARGMAX:
        return "argmax"
    if file.n_scores > 1:
        raise UnsupportedModelError(
            f"Objective {file.objective!r} with {file.n_scores} targets was given; "
            "explain one target at a time, with a model trained on it alone."
        )
    if file.objective in _SIGN:
        return "sign"
    if file.objective in _IDENTITY:
        return "identity"
    raise UnsupportedModelError(
        f"Objective {file.objective!r} does not output a class or the sum of its trees itself, so it has no exact "
        f"form; supported are {', '.join((*_SIGN, *_ARGMAX, *_IDENTITY))}."
    )


def _rule(file: XGBoostFile, kind: str, labels: Sequence[Hashable] | None) -> Argmax | Positive | Score:
    if kind == "identity":
        if labels is not None:
            raise UnsupportedModelError(f"Labels were given, but {file.objective!r} is a regression; leave them out.")
        return Score()
    n = file.n_scores if kind == "argmax" else 2
    names = tuple(range(n)) if labels is None else tuple(labels)
    if len(names) != n:
        raise UnsupportedModelError(f"The model has {n} classes, but {len(names)} labels were given; give one each.")
    return Argmax(names) if kind == "argmax" else Positive((names[0], names[1]))


def _n_trees(file: XGBoostFile, iterations: Iterations) -> int:
    n_rounds = len(file.rounds) - 1
    wanted: int | str
    if iterations == "all" or (iterations == "best" and file.best_iteration is None):
        wanted = n_rounds
    elif iterations == "best":
        # Rounds are counted from 0.
        wanted = (file.best_iteration or 0) + 1
    else:
        wanted = iterations
    if not isinstance(wanted, int) or not 0 <= wanted <= n_rounds:
        raise ModelFileError(f"The model has {n_rounds} rounds of boosting, but {quoted(wanted)} were asked for.")
    return file.rounds[wanted]


def _base_margins(file: XGBoostFile) -> tuple[float, ...]:
    """Return what the library adds before any tree."""
    # Before 3.1 there is one number for all classes.
    scores = file.base_score * (file.n_scores if len(file.base_score) == 1 else 1)
    if file.objective != "binary:logistic":  # of all that are read, the one whose bias is a probability
        return scores
    is_clipped = file.version >= _CLIPPED_SINCE
    odd = next((p for p in scores if not (0 < p < 1 or (is_clipped and p in (0, 1)))), None)
    if odd is not None:
        raise ModelFileError(f"base_score of {file.objective!r} should be a probability in (0, 1), but it is {odd}.")
    return tuple(_logit(float(np.clip(np.float32(p), *_CLIPPED_TO)) if is_clipped else p) for p in scores)


# Trained on a single class, XGBoost saves 0 or 1 since 3.1. It can predict with these since 3.2, which clips them.
_CLIPPED_SINCE = 3, 2
_CLIPPED_TO = np.float32(1e-6), np.float32(1) - np.float32(1e-6)


def _logit(probability: float) -> float:
    """Return ``-log(1 / p - 1)``, each step rounded to float32."""
    with np.errstate(over="ignore"):
        odds = np.float32(1) / np.float32(probability) - np.float32(1)
    return float(-np.float32(math.log(float(odds))))


def _check_categories(file: XGBoostFile, domain: Domain) -> None:
    for column in _categorical_columns(file):
        names = file.categories[column] if file.categories else ()
        if names:
            check_known_categories(domain, column, names)
        else:
            check_whole_codes(domain, column)


def _categorical_columns(file: XGBoostFile) -> list[int]:
    pairs = (pair for t in file.trees for pair in zip(t.column.tolist(), t.listed, strict=True))
    return sorted({column for column, listed in pairs if column >= 0 and listed is not None})


@dataclass(frozen=True, slots=True)
class _Absent:
    """What counts as missing besides NaN."""

    hole: tuple[Cut, Cut] | None = None  # the reals that float32 rounds to that number
    category: frozenset[int] = frozenset()  # the category with that number

    def holed(self, cut: Cut) -> Split:
        """Return a cut that the number does not obey."""
        return cut if self.hole is None else Holed(cut, *self.hole)

    def chosen(self, listed: frozenset[int], goes_along: bool) -> frozenset[int]:
        """Return listed categories, with the one that counts as missing if missing values go along with them."""
        return listed | self.category if goes_along else listed - self.category


def _absent(file: XGBoostFile, reading: Reading) -> _Absent:
    """Return what counts as missing to a model, which must say where missing values go."""
    with np.errstate(all="ignore"):
        missing = number = float(np.float32(reading.missing))
    if not math.isfinite(number):  # no value that predict accepts is rounded to infinity
        if reading.is_sparse:
            return _Absent((Cut(0.0, closed=False), Cut(0.0, closed=True)), frozenset([0]))
        return _Absent()
    if reading.is_sparse and number:
        raise UnsupportedModelError(
            f"Sparse tables make 0 count as missing besides missing={missing}, and only one such number is read; give "
            "the model dense tables (sparse_output=False, sparse_threshold=0)."
        )
    if any(tree.default_left is None for tree in file.trees):
        raise ModelFileError(
            f"With missing={missing} nodes must say default_left, but they do not; save the model again."
        )
    if number >= 0 and number.is_integer() and any(file.categories):
        raise UnsupportedModelError(
            f"With missing={missing} a category counts as missing by its place in the table given to predict, so that "
            "nothing fixed is to be explained; train with missing=nan, or with numbers for categories."
        )
    low, high = (float32_cuts([number], strict=strict)[0] for strict in (True, False))
    return _Absent((low, high), frozenset([int(number)] if number.is_integer() else []))


def _nodes(file: XGBoostFile, n_trees: int, absent: _Absent) -> list[TreeNodes]:
    """Return the first trees; the cuts of all of them are made together."""
    trees = file.trees[:n_trees]
    straight = [np.array([s is None for s in tree.listed]) for tree in trees]
    numeric = [tree.threshold[(tree.column >= 0) & plain] for tree, plain in zip(trees, straight, strict=True)]
    # The library's test is "less than", so a value equal to the threshold goes right.
    cuts = iter(float32_cuts(np.concatenate([np.zeros(0, np.float32), *numeric]), strict=True))
    return [
        TreeNodes(
            column=tree.column,
            splits=_splits(file, tree, cuts, absent),
            # what a set selects goes right here, and left in the neutral form
            left=np.where(plain, tree.left, tree.right),
            right=np.where(plain, tree.right, tree.left),
            values=scores,
            missing_left=None if tree.default_left is None else tree.default_left == plain,
        )
        for tree, plain, scores in each_tree(zip(trees, straight, _scores(file, n_trees), strict=True))
    ]


def _splits(file: XGBoostFile, tree: XGBoostTree, cuts: Iterator[Cut], absent: _Absent) -> list[Split | None]:
    # Listed categories go right, and so does what is missing unless the node says left.
    right = [False] * len(tree.column) if tree.default_left is None else (~tree.default_left).tolist()
    found: list[Split | None] = []
    for column, listed, along in zip(tree.column.tolist(), tree.listed, right, strict=True):
        if column < 0:
            found.append(None)
        else:
            chosen = None if listed is None else absent.chosen(listed, along)
            found.append(absent.holed(next(cuts)) if chosen is None else _members(file, column, chosen))
    return found


def _scores(file: XGBoostFile, n_trees: int) -> list[npt.NDArray[np.float64]]:
    """Return what each node of each tree adds to each score."""
    pairs = zip(file.trees[:n_trees], file.weight, strict=False)
    values = [tree.values.astype(np.float64) * weight for tree, weight in pairs]  # 24 bits times 24 bits: exact
    odd = next((v.shape[1] for v in values if v.shape[1] not in (1, file.n_scores)), None)
    if odd is not None:
        raise ModelFileError(f"Leaves should hold {file.n_scores} numbers, but they hold {odd}.")
    alone = [t for t, v in enumerate(values) if v.shape[1] != file.n_scores]
    if alone:
        sizes = [len(values[t]) for t in alone]
        flat = np.concatenate([values[t][:, 0] for t in alone])
        vectors = spread(flat, np.repeat([file.score[t] for t in alone], sizes), file.n_scores)
        for t, part in zip(alone, np.split(vectors, np.cumsum(sizes)[:-1]), strict=True):
            values[t] = part
    return values


def _members(file: XGBoostFile, column: int, listed: frozenset[int]) -> Split:
    """Return the domain's codes of the listed category numbers."""
    names = file.categories[column] if file.categories else ()
    # A number beyond the names, or below 0, stands for no category of this column, so no point has it.
    return frozenset(names[k] for k in listed if 0 <= k < len(names)) if names else listed
