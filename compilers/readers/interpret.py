"""interpret's explainable boosting machines: sums of tables over the bins of one feature or several.

A number's bin is how many cuts are not above it, plus one; missing values have bin 0, and categories that training did
not see the last one. Categories are known by their text. Every table becomes a tree that finds the bin of its first
feature, then of the next. The tables are float64, added one after the other to the intercept; the second of two
classes needs a sum above zero, and of several the lowest index of the largest sum is the class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

from axfi_kc.compilers.readers import plain_labels, reads
from axfi_kc.compilers.readers.checks import check_columns, codes_of_column, constant
from axfi_kc.compilers.readers.sklearn_trees import check_fitted
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature
from axfi_kc.domain.grid import Cut, Split
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, TreeNodes, TreeSum
from axfi_kc.models.own_predict import Codes, Predict, blocks_of, column_names, compares, frame_of, predicts

__all__: list[str] = []

_MISSING, _UNSEEN = 0, -1  # bins
_EVERY_NUMBER = Cut(float(np.finfo(np.float64).max), closed=True)
_UNNAMED = re.compile(r"feature_\d{4,}")  # what columns without names are called


@dataclass(frozen=True, slots=True)
class _Step:
    """A test on the way to a bin; what a side leads to is another test, or the bin."""

    column: int
    split: Split
    left: _Step | int
    right: _Step | int


@dataclass(slots=True)
class _Nodes:
    """The nodes of a tree as it grows; a leaf is where all features of a table have their bins."""

    steps: list[_Step | None] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    values: list[npt.NDArray[np.float64]] = field(default_factory=list)

    def grow(self, ways: Sequence[_Step | int], table: npt.NDArray[np.float64]) -> int:
        """Add what looks the remaining features up in the remaining table; return where it starts."""
        step = ways[0] if ways else None
        if isinstance(step, int):
            return self.grow(ways[1:], table[step])
        here = len(self.steps)
        self.steps.append(step)
        self.left.append(-1)
        self.right.append(-1)
        self.values.append(np.zeros(table.shape[-1]) if step is not None else table)
        if step is not None:
            self.left[here] = self.grow([step.left, *ways[1:]], table)
            self.right[here] = self.grow([step.right, *ways[1:]], table)
        return here

    def tree(self) -> TreeNodes:
        """Return the tree; missing values always go right, where a test of their own sets them apart."""
        return TreeNodes(
            column=np.array([-1 if step is None else step.column for step in self.steps], dtype=np.int64),
            splits=[None if step is None else step.split for step in self.steps],
            left=np.array(self.left, dtype=np.int64),
            right=np.array(self.right, dtype=np.int64),
            values=np.array(self.values, dtype=np.float64),
            missing_left=np.zeros(len(self.steps), dtype=np.bool_),
        )


def _way(model: Any, domain: Domain, column: int, n_features: int) -> _Step | int:
    """Return how a point finds its bin on a column, for tables of so many features."""
    feature = next(f for f in domain.features if domain.columns[column] in f.columns)
    levels = model.bins_[column]
    # Tables of several features may have coarser bins; the last ones listed serve all larger tables.
    bins = levels[min(len(levels), n_features) - 1]
    way, every = _by_name(domain, column, bins) if isinstance(bins, dict) else _by_cuts(feature, column, bins)
    return _Step(column, every, way, _MISSING) if feature.missing else way


def _by_cuts(feature: Feature, column: int, cuts: npt.NDArray[np.float64]) -> tuple[_Step | int, Split]:
    if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
        raise UnsupportedModelError(
            f"The cuts of feature {feature.name!r} should be finite numbers in ascending order, but they are not; "
            "train the model again."
        )
    first, last = 0, len(cuts)
    if not isinstance(feature, Categorical):
        # Cuts outside the bounds tell no values of the domain apart.
        first = sum(Fraction(c) <= feature.low for c in cuts.tolist())
        last = sum(Fraction(c) <= feature.high for c in cuts.tolist())

    def between(a: int, b: int) -> _Step | int:
        """Return the way to the bins from after cut a - 1 to before cut b."""
        if a == b:
            return a + 1
        middle = (a + b) // 2
        cut = Cut(float(cuts[middle]), closed=False)
        return _Step(column, cut, between(a, middle), between(middle + 1, b))

    return between(first, last), _EVERY_NUMBER


def _by_name(domain: Domain, column: int, bins: dict[str, int]) -> tuple[_Step | int, Split]:
    name, codes = codes_of_column(domain, column)
    members: dict[int, list[Any]] = {}
    for code in codes:
        # Booleans are 0 and 1 in a table of their own kind, and words among objects.
        if not isinstance(code, str | int | np.integer) or (isinstance(code, bool) and str(code) in bins):
            raise DomainError(
                f"The model knows the categories of {domain.columns[column]!r} by name, but feature {name!r} holds "
                f"{code!r}; give the domain strings or integers."
            )
        members.setdefault(bins.get(_text(code), _UNSEEN), []).append(code)
    groups = sorted(members.items())

    def among(a: int, b: int) -> _Step | int:
        """Return the way to the bins of groups a to b - 1."""
        if b - a == 1:
            return groups[a][0]
        middle = (a + b) // 2
        codes = frozenset(code for _, group in groups[a:middle] for code in group)
        return _Step(column, codes, among(a, middle), among(middle, b))

    return among(0, len(groups)), frozenset(code for _, group in groups for code in group)


def _trees(model: Any, domain: Domain, n_scores: int) -> list[TreeNodes]:
    trees = []
    for columns, scores in zip(model.term_features_, model.term_scores_, strict=True):
        nodes = _Nodes()
        table = np.asarray(scores, dtype=np.float64)
        table = table.reshape(*table.shape[: len(columns)], n_scores)
        nodes.grow([_way(model, domain, column, len(columns)) for column in columns], table)
        trees.append(nodes.tree())
    return trees or [constant(n_scores)]


def _checked_base(model: Any, domain: Domain) -> list[float]:
    check_fitted(model, "has_fitted_")
    check_columns(domain, len(model.feature_names_in_), _names(model))
    return np.asarray(model.intercept_).reshape(-1).tolist()


@reads(ExplainableBoostingClassifier)
@reads(DPExplainableBoostingClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    base, labels = _checked_base(model, domain), plain_labels(model.classes_)
    if len(labels) == 1:  # its score is infinite, so it is predicted everywhere
        return TreeSum.of(domain, [constant(1)], rule=Argmax(labels))
    trees = _trees(model, domain, len(base))
    if len(base) > 1:
        return TreeSum.of(domain, trees, rule=Argmax(labels), base=base)
    return TreeSum.of(domain, trees, rule=Positive((labels[0], labels[1])), base=base)


@reads(ExplainableBoostingRegressor)
@reads(DPExplainableBoostingRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    base = _checked_base(model, domain)
    if model.link_ != "identity":
        raise UnsupportedModelError(
            f"{type(model).__name__} with the link {model.link_!r} predicts a function of a sum, which has no exact "
            "form; train it with an objective whose link is the identity, such as 'rmse'."
        )
    return TreeSum.of(domain, _trees(model, domain, 1), rule=Score(), base=base)


@predicts(ExplainableBoostingClassifier)
@predicts(ExplainableBoostingRegressor)
@predicts(DPExplainableBoostingClassifier)
@predicts(DPExplainableBoostingRegressor)
@compares(ExplainableBoostingClassifier)
@compares(ExplainableBoostingRegressor)
@compares(DPExplainableBoostingClassifier)
@compares(DPExplainableBoostingRegressor)
def _ask(model: Any, domain: Domain) -> Predict:
    nominal = [kind != "continuous" for kind in model.feature_types_in_]

    def predict(codes: Codes) -> list[Any]:
        blocks = blocks_of(domain, codes)
        named = [_texts(block) if by_name else block for block, by_name in zip(blocks, nominal, strict=True)]
        frame = frame_of(dict(zip(map(str, model.feature_names_in_), named, strict=True)), categories=None)
        return np.asarray(model.predict(frame)).tolist()

    return predict


def _texts(block: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    return np.array([None if code != code else _text(code) for code in block.tolist()], dtype=object)


def _text(code: Any) -> str:
    """Return a category by its text, as which the library knows it; where one may be missing, numbers are floats."""
    return str(int(code)) if isinstance(code, bool | float) else str(code)


@column_names.register(ExplainableBoostingClassifier)
@column_names.register(ExplainableBoostingRegressor)
@column_names.register(DPExplainableBoostingClassifier)
@column_names.register(DPExplainableBoostingRegressor)
def _names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, unless the library made them up."""
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    return None if all(map(_UNNAMED.fullmatch, names)) else names
