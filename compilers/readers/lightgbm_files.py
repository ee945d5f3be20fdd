"""LightGBM's own text of a model, parsed, and read as a sum of trees; all without LightGBM.

Data and thresholds are float64 and ``x <= threshold`` goes left; but before it compares, the
library replaces everything within 1e-35 of zero by zero, and with ``zero_as_missing`` zero goes
where the node sends missing values. At a categorical split the listed categories go left. The
library adds leaves in float64; the neutral form has their exact sum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from axfi_kc.compilers.readers.checks import (
    check_columns,
    check_whole_codes,
    codes_of_column,
    constant,
    each_tree,
    of_one_class,
    spread,
)
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Cut, Holed
from axfi_kc.errors import ModelFileError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum

__all__ = ["LightGBMText", "objective_kind", "parse_lightgbm", "read_lightgbm", "sum_of_text"]


# Bits of `decision_type`; bits 2 and 3 are the missing type: none, zero or NaN.
_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING = 1, 2, 4
_MISSING_TYPE = 12
_WORD = 32
_MOST_SCORES = 100_000
_MOST_LINES = 22  # of a tree
_T = TypeVar("_T", int, float)


@dataclass(frozen=True, slots=True)
class LightGBMTree:
    """One tree: inner nodes are numbered from 0, and child ``~k`` is leaf k."""

    column: tuple[int, ...]  # the column tested at each inner node
    threshold: tuple[float, ...]  # ``x <= threshold`` goes left, unless the split is categorical
    # At a categorical split, the category numbers that go left; None elsewhere.
    members: tuple[frozenset[int] | None, ...]
    zero_is_missing: tuple[bool, ...]  # whether what is near zero goes where NaN goes
    nan_goes_left: tuple[bool, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    leaves: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LightGBMText:
    """What a model's text says."""

    objective: tuple[str, ...]  # the words of the objective, such as ``("multiclass", "num_class:3")``; may be empty
    n_scores: int  # trees per iteration
    is_averaged: bool  # whether the sum is divided by the number of iterations (random forest)
    names: tuple[str, ...]
    # Per column, the category that each number stands for; empty where numbers are meant.
    categories: tuple[tuple[Any, ...], ...]
    trees: tuple[LightGBMTree, ...]  # all trees, one per score in turn


def parse_lightgbm(text: str) -> LightGBMText:
    """Return what the text from ``Booster.model_to_string`` says; linear in its length."""
    # After the trees come parameters and categories, which have lines of the same form.
    grown, end, rest = text.partition("\nend of trees")
    head, *blocks = grown.split("\nTree=")
    entries = _entries(head)
    try:
        if not end:
            raise ValueError("no line 'end of trees', so it was cut off")
        _check_sizes(entries, blocks)
        names = tuple(entries["feature_names"].split(" "))
        n_scores = _number(entries, "num_tree_per_iteration")
        if not 1 <= n_scores <= _MOST_SCORES or _number(entries, "num_class") != n_scores or len(blocks) % n_scores:
            raise ValueError(f"{len(blocks)} trees, {n_scores} per iteration, and num_class {entries['num_class']}")
        infos = entries["feature_infos"].split(" ")
        top = _number(entries, "max_feature_idx")
        if {len(infos), top + 1} != {len(names)}:
            raise ValueError(f"{len(names)} names of columns, {len(infos)} descriptions, and max_feature_idx {top}")
        trees = tuple(_tree(_lines_of(block), len(names)) for block in each_tree(blocks))
        if "\npandas_categorical:" not in rest:
            _check_unnamed(trees)
        return LightGBMText(
            objective=tuple(entries.get("objective", "").split()),
            n_scores=n_scores,
            is_averaged="average_output" in entries,
            names=names,
            categories=_categories(rest, infos),
            trees=trees,
        )
    except (ModelFileError, UnsupportedModelError):
        raise
    except (KeyError, ValueError, IndexError, TypeError, OverflowError, RecursionError) as error:
        # A damaged text can fail anywhere, and always means the same to the user.
        raise ModelFileError(
            f"Expected the text of a LightGBM model of version 3 or 4, but it does not parse ({repr(error)[:120]}); "
            "save the model again."
        ) from error


def _entries(block: str) -> dict[str, str]:
    # LightGBM ends lines with these two only: names of columns may hold what else str.splitlines ends lines with.
    pairs = (line.removesuffix("\r").partition("=") for line in block.split("\n"))
    return {key: value for key, _, value in pairs}


def _lines_of(block: str) -> dict[str, str]:
    """Return the entries of a tree, which ends with a blank line; the library looks for no more than so many."""
    _, *lines = block.partition("\n\n")[0].split("\n")
    if len(lines) > _MOST_LINES or not all("=" in line for line in lines):
        raise ValueError("lines of a tree that are no entries, or too many")
    return _entries("\n".join(lines))


def _number(entries: Mapping[str, str], key: str) -> int:
    (found,) = _numbers(entries[key], int)
    return found


def _numbers(text: str, kind: type[_T]) -> tuple[_T, ...]:
    """Return the numbers of a list, in ASCII; Python takes 1_0 for ten."""
    if "_" in text or not text.isascii():
        raise ValueError(f"no numbers: {text[:40]!r}")
    return tuple(map(kind, text.split()))


def _check_sizes(entries: Mapping[str, str], blocks: list[str]) -> None:
    """Raise a ValueError unless the trees are as many and as long as the text says, by which LightGBM finds them."""
    sizes = entries.get("tree_sizes")
    found = [len(f"Tree={block}\n".encode()) for block in blocks]
    if sizes is not None and list(_numbers(sizes, int)) != found:
        raise ValueError(f"{len(found)} trees, which are not as many or as long as tree_sizes says")


def _check_unnamed(trees: tuple[LightGBMTree, ...]) -> None:
    """Raise if a tree has categories: where the text is cut off after the trees, their names may be missing."""
    if any(members is not None for tree in trees for members in tree.members):
        raise ModelFileError(
            "Expected the text of a LightGBM model of categories to end with their names, in the line "
            "'pandas_categorical:', but that line is missing; save the model again from Python, or add "
            "'pandas_categorical:null' if the categories are numbers."
        )


def _tree(entries: Mapping[str, str], n_columns: int) -> LightGBMTree:
    if entries.get("is_linear", "0") != "0":
        raise UnsupportedModelError(
            "Expected a LightGBM model with constant leaves, but this one has linear trees; "
            "train it without linear_tree."
        )
    kinds, threshold = _numbers(entries["decision_type"], int), _numbers(entries["threshold"], float)
    if not all(0 <= kind < _MISSING_TYPE for kind in kinds):
        raise ValueError(f"no types of decisions: {entries['decision_type'][:40]!r}")
    sets = _sets(entries)
    tree = LightGBMTree(
        column=_numbers(entries["split_feature"], int),
        threshold=threshold,
        members=tuple(
            # At a categorical split the threshold is the number of the set.
            sets[int(t)] if kind & _CATEGORICAL else None
            for kind, t in zip(kinds, threshold, strict=True)
        ),
        zero_is_missing=tuple(kind & _MISSING_TYPE == _ZERO_IS_MISSING for kind in kinds),
        nan_goes_left=tuple(_nan_goes_left(kind, t) for kind, t in zip(kinds, threshold, strict=True)),
        left=_numbers(entries["left_child"], int),
        right=_numbers(entries["right_child"], int),
        leaves=_numbers(entries["leaf_value"], float),
    )
    if _number(entries, "num_leaves") != len(tree.leaves):
        raise ValueError(f"{entries['num_leaves']} leaves, but {len(tree.leaves)} values")
    _check(tree, n_columns)
    return tree


def _sets(entries: Mapping[str, str]) -> dict[int, frozenset[int]]:
    """Return the sets of categories by their numbers: bits in words of 32, which boundaries share out."""
    if _number(entries, "num_cat") == 0:
        return {}
    bounds, words = (_numbers(entries[key], int) for key in ("cat_boundaries", "cat_threshold"))
    if len(bounds) != _number(entries, "num_cat") + 1 or [0, *sorted(bounds[1:-1]), len(words)] != list(bounds):
        raise ValueError(f"no boundaries of {entries['num_cat']} sets in {len(words)} words: {bounds}")
    if not all(0 <= word < 1 << _WORD for word in words):
        raise ValueError(f"no words of {_WORD} bits: {words}")
    return {k: _bits(words[a:b]) for k, (a, b) in enumerate(pairwise(bounds))}


def _nan_goes_left(kind: int, threshold: float) -> bool:
    """Tell whether a node sends NaN left: at a categorical split never, and as zero where it is no missing value."""
    if kind & _CATEGORICAL:
        return False
    return bool(kind & _DEFAULT_LEFT) if kind & _MISSING_TYPE else threshold >= 0


def _check(tree: LightGBMTree, n_columns: int) -> None:
    """Raise a ValueError unless this is one tree of finite numbers over the columns."""
    n = len(tree.column)
    # A binary tree has one leaf more than inner nodes.
    if {len(tree.threshold), len(tree.left), len(tree.right), len(tree.leaves) - 1} != {n}:
        raise ValueError("a tree of n nodes has n tests, 2 n children and n + 1 leaves")
    if not all(0 <= column < n_columns for column in tree.column):
        raise ValueError(f"a split on none of the {n_columns} columns")
    numeric = (t for t, members in zip(tree.threshold, tree.members, strict=True) if members is None)
    # A threshold of infinity sets missing values apart: every number goes left.
    if not all(math.isfinite(t) or t == math.inf for t in numeric) or not all(map(math.isfinite, tree.leaves)):
        raise ValueError("a threshold or leaf that is not finite")
    # n inner nodes and n + 1 leaves, each but the root a child once, and no cycle: all are met from the root
    expected = {*range(1, n), *(~k for k in range(n + 1))}
    if n and {*tree.left, *tree.right} != expected:
        raise ValueError("a node that is no child, or a child that is no node")
    seen, stack = 0, [0] if n else []
    while stack:
        seen += 1
        node = stack.pop()
        stack += [child for child in (tree.left[node], tree.right[node]) if child >= 0]
    if seen != n:
        raise ValueError("a node that the root does not reach")


def _bits(words: Sequence[int]) -> frozenset[int]:
    return frozenset(k for k in range(len(words) * _WORD) if words[k // _WORD] >> k % _WORD & 1)


def _categories(rest: str, infos: list[str]) -> tuple[tuple[Any, ...], ...]:
    """Return the names of the categories of columns that were categories in a DataFrame."""
    # Numeric columns are described by a range in brackets, constant ones by "none".
    is_categorical = [info != "none" and not info.startswith("[") for info in infos]
    # From the end: a name of a column might hold the same words.
    line = rest.rpartition("\npandas_categorical:")[2].strip() if "\npandas_categorical:" in rest else "null"
    listed = json.loads(line) or []
    if not isinstance(listed, list) or not all(isinstance(categories, list) for categories in listed):
        raise ValueError("categories that are no lists")
    named = list(map(tuple, listed))
    if not named:
        return ((),) * len(infos)
    found = iter(named)
    if len(named) == sum(is_categorical):
        categories = tuple(next(found) if flag else () for flag in is_categorical)
        if all(_fit(names, info) for names, info in zip(categories, infos, strict=True)):
            return categories
    raise UnsupportedModelError(
        f"LightGBM's text names the categories of {len(named)} columns and has {sum(is_categorical)} columns of "
        "categories, but does not say which are which; train on a frame whose ordered categories are numbers "
        "(frame[name].cat.codes) or have no order (frame[name].cat.as_unordered()), whose other columns of categories "
        "all have the dtype category, and in which no column of categories is constant."
    )


def _fit(names: tuple[Any, ...], info: str) -> bool:
    """Tell whether each number that a column of named categories held in training has a name."""
    return not names or all(int(k) < len(names) for k in info.split(":"))


# The library's own constant is a float32.
_NEAR_ZERO = float(np.float32(1e-35))
_BELOW_ZERO, _UP_TO_ZERO = Cut(-_NEAR_ZERO, closed=False), Cut(_NEAR_ZERO, closed=True)
_EVERYTHING = Cut(float(np.finfo(np.float64).max), closed=True)
_ERRORS = ("fair", "huber", "lambdarank", "mape", "quantile", "rank_xendcg", "regression", "regression_l1")
_IDENTITY = ("custom", *_ERRORS)


def read_lightgbm(text: str, domain: Domain) -> TreeSum:
    """Read the text of a LightGBM model, without LightGBM, whose own parser trusts what it is given.

    The text is what ``Booster.save_model`` writes, or ``model_to_string`` returns; classes are numbers from 0 on.

    Notes
    -----
    Linear in the length of the text.
    """
    parsed = parse_lightgbm(text)
    n_classes = {"identity": 0, "sign": 2, "argmax": parsed.n_scores}[objective_kind(parsed)]
    return sum_of_text(parsed, domain, tuple(range(n_classes)))


def objective_kind(text: LightGBMText) -> str:
    """Return how the objective turns scores into outputs, if it does so exactly."""
    name = text.objective[0] if text.objective else "custom"
    if name == "multiclass":
        return "argmax"
    if text.n_scores == 1 and name == "binary":
        return "sign"
    # "sqrt" squares the sum in the end, so it is not the output.
    if text.n_scores == 1 and name in _IDENTITY and "sqrt" not in text.objective:
        return "identity"
    raise UnsupportedModelError(
        f"LightGBM objective {' '.join(text.objective)!r} with {text.n_scores} scores does not output a class or "
        "the sum of its trees itself, so it has no exact form; "
        f"supported are binary, multiclass, {', '.join(_IDENTITY)}."
    )


def _rule(text: LightGBMText, labels: tuple[Hashable, ...]) -> Argmax | Positive | Score:
    kind = objective_kind(text)
    if kind == "sign" and len(labels) == 2:
        return Positive((labels[0], labels[1]))
    if kind == "argmax" and len(labels) == text.n_scores:
        return Argmax(labels)
    if kind == "identity":
        n_iterations = max(len(text.trees) // text.n_scores, 1)
        # Dividing by the number of iterations changes no class, only a regression's output.
        return Score(Fraction(1, n_iterations) if text.is_averaged else Fraction(1))
    raise UnsupportedModelError(f"{len(labels)} labels do not fit {text.objective} with {text.n_scores} scores.")


def sum_of_text(text: LightGBMText, domain: Domain, labels: tuple[Hashable, ...]) -> TreeSum:
    """Return the sum of the trees of a text, whose objective says what its output is."""
    _check_columns(text, domain)
    # Trees of an iteration come one per score, in turn.
    trees = [_nodes(text, tree, k % text.n_scores) for k, tree in enumerate(each_tree(text.trees))]
    trees = trees or [constant(text.n_scores)]
    if objective_kind(text) == "sign" and len(labels) == 1:
        return of_one_class(domain, trees, base=[0], labels=labels)
    return TreeSum.of(domain, trees, rule=_rule(text, labels))


def _check_columns(text: LightGBMText, domain: Domain) -> None:
    names = text.names
    if names == tuple(f"Column_{k}" for k in range(len(names))):  # the library's own, for arrays
        names = ()
    # The library writes a blank in a name as an underscore.
    given = [c if c.replace(" ", "_") == n else n for n, c in zip(names, domain.columns, strict=False)]
    check_columns(domain, len(text.names), given)
    pairs = (pair for t in text.trees for pair in zip(t.column, t.members, strict=True))
    for column in sorted({c for c, members in pairs if members is not None}):
        if text.categories[column]:
            codes_of_column(domain, column)
        else:
            check_whole_codes(domain, column)


def _nodes(text: LightGBMText, tree: LightGBMTree, score: int) -> TreeNodes:
    """Return a tree that adds to the given score: its inner nodes, and after them its leaves."""
    n = len(tree.column)
    beyond = [-1] * (n + 1)  # what leaves have where inner nodes have a column or a child
    left, right = ([*(k if k >= 0 else n + ~k for k in side), *beyond] for side in (tree.left, tree.right))
    return TreeNodes(
        column=np.array([*tree.column, *beyond], dtype=np.int64),
        splits=[*(_split(text, tree, node) for node in range(n)), *[None] * (n + 1)],
        left=np.array(left, dtype=np.int64),
        right=np.array(right, dtype=np.int64),
        values=spread(np.array([*[0.0] * n, *tree.leaves]), score, text.n_scores),
        missing_left=np.array([*tree.nan_goes_left, *[False] * (n + 1)], dtype=np.bool_),
    )


def _split(text: LightGBMText, tree: LightGBMTree, node: int) -> Split:
    members = tree.members[node]
    if members is None:
        cut = _cut(tree.threshold[node])
        return Holed(cut, _BELOW_ZERO, _UP_TO_ZERO) if tree.zero_is_missing[node] else cut
    names = text.categories[tree.column[node]]
    return frozenset(names[k] for k in members if k < len(names)) if names else members


def _cut(threshold: float) -> Cut:
    """Return where the reals split, given that whatever is near zero is compared as zero."""
    # Zero compares as at most the threshold, and with it everything near zero.
    if 0 <= threshold <= _NEAR_ZERO:
        return _UP_TO_ZERO
    if -_NEAR_ZERO <= threshold < 0:
        return _BELOW_ZERO
    return _EVERYTHING if threshold == math.inf else Cut(threshold, closed=True)
