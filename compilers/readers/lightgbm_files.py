"""LightGBM's own text of a model, parsed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from axfi_kc.errors import ModelFileError, UnsupportedModelError

__all__ = ["LightGBMText", "LightGBMTree", "parse_lightgbm"]


# Bits of `decision_type`; bits 2 and 3 are the missing type: none, zero or NaN.
_CATEGORICAL, _DEFAULT_LEFT, _ZERO_IS_MISSING = 1, 2, 4
_MISSING_TYPE = 12
_WORD = 32
_MOST_SCORES = 100_000


@dataclass(frozen=True, slots=True)
class LightGBMTree:
    """One tree: inner nodes are numbered from 0, and child ``~k`` is leaf k."""

    column: tuple[int, ...]  # the column tested at each inner node
    threshold: tuple[float, ...]  # ``x <= threshold`` goes left, unless the split is categorical
    # At a categorical split, the category numbers that go left; None elsewhere.
    members: tuple[frozenset[int] | None, ...]
    # Where zero counts as missing, whether it goes left; None where it is a number.
    zero_goes_left: tuple[bool | None, ...]
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
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    entries = _entries(head)
    try:
        names = tuple(entries["feature_names"].split(" "))
        n_scores = int(entries["num_tree_per_iteration"])
        if not 1 <= n_scores <= _MOST_SCORES:
            raise ValueError(f"{n_scores} trees per iteration")
        infos = entries["feature_infos"].split(" ")
        if len(infos) != len(names):
            raise ValueError(f"{len(names)} names of columns, but {len(infos)} descriptions")
        return LightGBMText(
            objective=tuple(entries.get("objective", "").split()),
            n_scores=n_scores,
            is_averaged="average_output" in entries,
            names=names,
            categories=_categories(text, infos),
            trees=tuple(_tree(_entries(block), len(names)) for block in blocks),
        )
    except UnsupportedModelError:
        raise
    except (KeyError, ValueError, IndexError, TypeError, OverflowError, RecursionError) as error:
        # A damaged text can fail anywhere, and always means the same to the user.
        raise ModelFileError(
            f"Expected the text of a LightGBM model of version 3 or 4, but it does not parse ({repr(error)[:120]}); "
            "save the model again."
        ) from error


def _entries(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines())
    return {key: value for key, _, value in pairs}


def _tree(entries: Mapping[str, str], n_columns: int) -> LightGBMTree:
    if entries.get("is_linear", "0") != "0":
        raise UnsupportedModelError(
            "Expected a LightGBM model with constant leaves, but this one has linear trees; "
            "train it without linear_tree."
        )
    kinds = [int(k) for k in entries["decision_type"].split()]
    threshold = tuple(float(t) for t in entries["threshold"].split())
    # Sets of categories are bits in words of 32; boundaries say which words belong to which split.
    bounds, words = ([int(k) for k in entries.get(key, "").split()] for key in ("cat_boundaries", "cat_threshold"))
    tree = LightGBMTree(
        column=tuple(int(c) for c in entries["split_feature"].split()),
        threshold=threshold,
        members=tuple(
            # At a categorical split the threshold is the number of the set.
            _bits(words[bounds[int(t)] : bounds[int(t) + 1]]) if kind & _CATEGORICAL else None
            for kind, t in zip(kinds, threshold, strict=True)
        ),
        zero_goes_left=tuple(
            bool(kind & _DEFAULT_LEFT) if kind & _MISSING_TYPE == _ZERO_IS_MISSING else None for kind in kinds
        ),
        left=tuple(int(k) for k in entries["left_child"].split()),
        right=tuple(int(k) for k in entries["right_child"].split()),
        leaves=tuple(float(x) for x in entries["leaf_value"].split()),
    )
    _check(tree, n_columns)
    return tree


def _check(tree: LightGBMTree, n_columns: int) -> None:
    """Raise a ValueError unless this is one tree of finite numbers over the columns."""
    n = len(tree.column)
    # A binary tree has one leaf more than inner nodes.
    if {len(tree.threshold), len(tree.left), len(tree.right), len(tree.leaves) - 1} != {n}:
        raise ValueError("a tree of n nodes has n tests, 2 n children and n + 1 leaves")
    if not all(0 <= column < n_columns for column in tree.column):
        raise ValueError(f"a split on none of the {n_columns} columns")
    numeric = (t for t, members in zip(tree.threshold, tree.members, strict=True) if members is None)
    if not all(map(math.isfinite, (*numeric, *tree.leaves))):
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


def _bits(words: list[int]) -> frozenset[int]:
    return frozenset(k for k in range(len(words) * _WORD) if words[k // _WORD] >> k % _WORD & 1)


def _categories(text: str, infos: list[str]) -> tuple[tuple[Any, ...], ...]:
    """Return the names of the categories of columns that were categories in a DataFrame."""
    # Numeric columns are described by a range in brackets, constant ones by "none".
    is_categorical = [info != "none" and not info.startswith("[") for info in infos]
    # From the end: a name of a column might hold the same words.
    line = text.rpartition("\npandas_categorical:")[2].strip() if "\npandas_categorical:" in text else "null"
    named = [tuple(c) for c in json.loads(line) or ()]
    if not named:
        return ((),) * len(infos)
    if len(named) != sum(is_categorical):
        raise UnsupportedModelError(
            f"The model names the categories of {len(named)} columns but splits {sum(is_categorical)} by categories, "
            "so it does not say which are which; give all categorical columns the dtype category, "
            "and drop constant ones."
        )
    found = iter(named)
    return tuple(next(found) if flag else () for flag in is_categorical)
