"""LightGBM estimators, boosters and texts as sums of trees, all read through the library's own text.

Data and thresholds are float64 and ``x <= threshold`` goes left; but before it compares, the
library replaces everything within 1e-35 of zero by zero, and with ``zero_as_missing`` zero goes
where the node sends missing values. At a categorical split the listed categories go left. The
library adds leaves in float64; the neutral form has their exact sum.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import lightgbm as lgb
import numpy as np

from axfi_kc.compilers.readers import check_own_predict, reads
from axfi_kc.compilers.readers.checks import (
    check_columns,
    check_whole_codes,
    codes_of_column,
    constant,
    plain_labels,
    spread,
)
from axfi_kc.compilers.readers.lightgbm_files import LightGBMText, LightGBMTree, parse_lightgbm
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum
from axfi_kc.models.own_predict import (
    Codes,
    Predict,
    blocks_of,
    compares,
    frame_of,
    numbers_of,
    plain_predictor,
    predicts,
    table_predictor,
)

__all__ = ["read_lightgbm"]


# The library's own constant is a float32.
_NEAR_ZERO = float(np.float32(1e-35))
_BELOW_ZERO, _UP_TO_ZERO = Cut(-_NEAR_ZERO, closed=False), Cut(_NEAR_ZERO, closed=True)
_EVERYTHING = Cut(float(np.finfo(np.float64).max), closed=True)
_ERRORS = ("fair", "huber", "lambdarank", "mape", "quantile", "rank_xendcg", "regression", "regression_l1")
_IDENTITY = ("custom", *_ERRORS)
_MOST_NODES = 200_000


def read_lightgbm(text: str, domain: Domain) -> TreeSum:
    """Read the text of a LightGBM model, without LightGBM, whose own parser trusts what it is given.

    The text is what ``Booster.save_model`` writes, or ``model_to_string`` returns; classes are numbers from 0 on.

    Notes
    -----
    Linear in the length of the text, but for ``zero_as_missing``, which splits nodes.
    """
    parsed = parse_lightgbm(text)
    n_classes = {"identity": 0, "sign": 2, "argmax": parsed.n_scores}[_objective_kind(parsed)]
    return _sum(parsed, domain, tuple(range(n_classes)))


def _objective_kind(text: LightGBMText) -> str:
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
    kind = _objective_kind(text)
    if kind == "sign" and len(labels) == 2:
        return Positive((labels[0], labels[1]))
    if kind == "argmax" and len(labels) == text.n_scores:
        return Argmax(labels)
    if kind == "identity":
        n_iterations = max(len(text.trees) // text.n_scores, 1)
        # Dividing by the number of iterations changes no class, only a regression's output.
        return Score(Fraction(1, n_iterations) if text.is_averaged else Fraction(1))
    raise UnsupportedModelError(f"{len(labels)} labels do not fit {text.objective} with {text.n_scores} scores.")


def _sum(text: LightGBMText, domain: Domain, labels: tuple[Hashable, ...]) -> TreeSum:
    """Return the sum of the trees of a text, whose objective says what its output is."""
    rule = _rule(text, labels)
    _check_columns(text, domain)
    # Trees of an iteration come one per score, in turn.
    trees = [_Nodes(text, domain, tree).built(k % text.n_scores) for k, tree in enumerate(text.trees)]
    return TreeSum.of(domain, trees or [constant(text.n_scores)], rule=rule)


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


class _Nodes:
    """Builds the nodes of one tree, splitting those that send zero against the order."""

    def __init__(self, text: LightGBMText, domain: Domain, tree: LightGBMTree) -> None:
        self._text, self._tree = text, tree
        self._owners = [f for f in domain.features for _ in f.columns]
        self._column: list[int] = []
        self._splits: list[Split | None] = []
        self._children: list[list[int]] = []
        self._values: list[float] = []

    def built(self, score: int) -> TreeNodes:
        """Return the tree, adding to the given score."""
        # A tree without a split has only leaf 0, which is written as its complement.
        root = 0 if self._tree.column else ~0
        stack = [(root, -1, 0)]  # what to build, and whose child it is, on which side
        while stack:
            what, parent, side = stack.pop()
            at = len(self._column)
            if parent >= 0:
                self._children[parent][side] = at
            if what < 0:
                self._add(-1, None, self._tree.leaves[~what])
            else:
                stack += self._inner(what)
            if len(self._column) > _MOST_NODES:
                raise UnsupportedModelError(
                    f"A tree needs over {_MOST_NODES} nodes to tell zeros from numbers; train without zero_as_missing."
                )
        children = np.array(self._children, dtype=np.int64)
        return TreeNodes(
            column=np.array(self._column, dtype=np.int64),
            splits=self._splits,
            left=children[:, 0],
            right=children[:, 1],
            values=spread(np.array(self._values), score, self._text.n_scores),
        )

    def _add(self, column: int, split: Split | None, value: float = 0.0) -> int:
        self._column.append(column)
        self._splits.append(split)
        self._children.append([-1, -1])
        self._values.append(value)
        return len(self._column) - 1

    def _inner(self, node: int) -> list[tuple[int, int, int]]:
        """Add a chain of nodes for one node's test; return what is to be built below it."""
        left, right = self._tree.left[node], self._tree.right[node]
        pending, previous = [], -1
        # Each split takes off its left part; what is left goes on to the next piece.
        for split, goes_left in self._pieces(node):
            at = self._add(self._tree.column[node], split)
            if previous >= 0:
                self._children[previous][1] = at
            pending.append((left if goes_left else right, at, 0))
            last_goes_left, previous = not goes_left, at
        return [*pending, (left if last_goes_left else right, previous, 1)]

    def _pieces(self, node: int) -> list[tuple[Split, bool]]:
        """Return the test as splits in order, each with whether its left part goes left.

        Neighbouring pieces go to different sides; what the last split leaves goes to the other
        side than its left part.
        """
        tree, column = self._tree, self._tree.column[node]
        members, zero_goes_left = tree.members[node], tree.zero_goes_left[node]
        if members is not None:
            names = self._text.categories[column]
            return [(frozenset(names[k] for k in members if k < len(names)) if names else members, True)]
        cut = _cut(tree.threshold[node])
        # Zero goes where the order sends it anyway: an ordinary threshold.
        if zero_goes_left is None or zero_goes_left == (tree.threshold[node] >= 0):
            return [(cut, True)]
        # The numbers that count as zero go left although they lie right of the threshold, or the other way.
        pieces = [(cut, True), (_BELOW_ZERO, False), (_UP_TO_ZERO, True)]
        if not zero_goes_left:
            pieces = [(_BELOW_ZERO, True), (_UP_TO_ZERO, False), (cut, True)]
        return self._within(column, pieces)

    def _within(self, column: int, pieces: list[tuple[Cut, bool]]) -> list[tuple[Split, bool]]:
        """Drop pieces without points, join neighbours on one side; what follows them goes right."""
        feature = self._owners[column]
        low = None if isinstance(feature, Categorical) else feature.low
        kept: list[tuple[Cut, bool]] = []
        for cut, goes_left in pieces:
            # A piece that ends below the domain, or before the one before it, holds no point.
            if (low is not None and Fraction(cut.last_left) < low) or (kept and cut <= kept[-1][0]):
                continue
            if kept and kept[-1][1] == goes_left:
                kept.pop()
            kept.append((cut, goes_left))
        # What goes right at the end is joined with the rest, which goes right as well.
        if kept and not kept[-1][1]:
            kept.pop()
        return [*kept] or [(_EVERYTHING, False)]


def _cut(threshold: float) -> Cut:
    """Return where the reals split, given that whatever is near zero is compared as zero."""
    # Zero compares as at most the threshold, and with it everything near zero.
    if 0 <= threshold <= _NEAR_ZERO:
        return _UP_TO_ZERO
    if -_NEAR_ZERO <= threshold < 0:
        return _BELOW_ZERO
    return Cut(threshold, closed=True)


@reads(lgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    return read_lightgbm(model.model_to_string(), domain)


@reads(lgb.LGBMClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_fitted(model).model_to_string())
    if _objective_kind(text) == "identity":
        raise UnsupportedModelError(
            f"LGBMClassifier with objective {text.objective} does not predict a class; "
            "train it with objective 'binary' or 'multiclass'."
        )
    return _sum(text, domain, plain_labels(model.classes_))


@reads(lgb.LGBMRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_fitted(model).model_to_string())
    if _objective_kind(text) != "identity":
        raise UnsupportedModelError(
            f"LGBMRegressor with objective {text.objective} predicts a probability, which has no exact form "
            "as a regression; train an LGBMClassifier, or use 'regression'."
        )
    return _sum(text, domain, ())


def _fitted(model: Any) -> Any:
    if not model.__sklearn_is_fitted__():
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")
    check_own_predict(model.booster_)
    return model.booster_


@predicts(lgb.LGBMModel)
def _ask_estimator(model: Any, domain: Domain) -> Predict:
    return table_predictor(model, domain, categories=_categories(model.booster_))


@predicts(lgb.Booster)
def _ask_booster(model: Any, domain: Domain) -> Predict:
    is_binary = str(model.dump_model(num_iteration=1).get("objective", "")).startswith("binary")
    categories = _categories(model)

    def table(codes: Codes) -> Any:
        if not categories:
            return numbers_of(domain, codes)
        return frame_of(dict(zip(model.feature_name(), blocks_of(domain, codes), strict=True)), categories=categories)

    def predict(codes: Codes) -> list[Any]:
        found = np.asarray(model.predict(table(codes)))  # probabilities, where there are classes
        if found.ndim == 2 and found.shape[1] > 1:
            return found.argmax(axis=1).tolist()
        return (found.reshape(-1) > 0.5).astype(np.int64).tolist() if is_binary else found.reshape(-1).tolist()

    return predict


@compares(lgb.LGBMModel)
@compares(lgb.Booster)
def _compare(model: Any, domain: Domain) -> Predict | None:
    booster = model if isinstance(model, lgb.Booster) else model.booster_
    return None if booster.pandas_categorical else plain_predictor(model, domain)


def _categories(booster: Any) -> list[int]:
    """Return the columns that the library knows as categories by names of its own."""
    if not booster.pandas_categorical:
        return []
    dump = booster.dump_model(num_iteration=1)
    infos = dump.get("feature_infos") or {}
    return [k for k, name in enumerate(dump["feature_names"]) if (infos.get(name) or {}).get("values")]
