"""interpret's explainable boosting machines: tables over bins, each as a tree that tries one bin after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Feature, Integer, Real
from axfi_kc.verification.reading.columns import Seen, Split
from axfi_kc.verification.reading.forms import CellForm, OwnTree, Rule, TreeForm
from axfi_kc.verification.spaces import Bound

__all__ = ["interpret_form"]


_MISSING, _UNSEEN = 0, -1  # bins
_ANY_NUMBER: Bound = (Fraction(float(np.finfo(np.float64).max)), True)
_MOST_ENTRIES = 20_000  # of all tables together
_MOST_VALUES = 20_000
_Tests = tuple[int, list[tuple[Split, int]]]  # a column, and what has each bin; what is left has that of missing values


def interpret_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> TreeForm | CellForm | None:
    """Return a sum of tables, or its cells where it is large or its output no sum; None if a category is real."""
    ways = [_tests(model, k, 1, seen, domain) for k, seen in enumerate(columns)]
    if any(way is None for way in ways):
        return None
    sizes = sum(
        prod(np.shape(scores)[: len(term)])
        for term, scores in zip(model.term_features_, model.term_scores_, strict=True)
    )
    labels = tuple(np.asarray(getattr(model, "classes_", ())).tolist())
    if sizes > _MOST_ENTRIES or not (labels or model.link_ == "identity"):
        return _cells(model, domain, columns)
    base = tuple(Fraction(float(b)) for b in np.ravel(model.intercept_))
    trees = []
    for term, scores in zip(model.term_features_, model.term_scores_, strict=True):
        tests = [_tests(model, k, len(term), columns[k], domain) for k in term]
        table = np.asarray(scores, dtype=np.float64)
        grown = _Grown()
        grown.add([t for t in tests if t is not None], table.reshape(*table.shape[: len(term)], len(base)))
        trees.append(grown.tree())
    return TreeForm(tuple(trees), base, Rule.of(labels, len(base)), columns)


def _bins(model: Any, column: int, n_features: int) -> Any:
    """Return the bins of a column in tables of so many features; the last that are listed serve all larger ones."""
    levels = model.bins_[column]
    return levels[min(len(levels), n_features) - 1]


def _tests(model: Any, column: int, n_features: int, seen: Seen, domain: Domain) -> _Tests | None:
    bins, feature = _bins(model, column, n_features), domain.features[seen.feature]
    if not isinstance(bins, dict):
        cuts: list[tuple[Split, int]] = [((Fraction(float(cut)), False), k + 1) for k, cut in enumerate(bins)]
        return column, [*cuts, (_ANY_NUMBER, len(bins) + 1)]
    entries = None if isinstance(feature, Real) else seen.listed(feature, _MOST_VALUES)
    if entries is None:
        return None
    members: dict[int, set[Any]] = {}
    for entry in entries:
        members.setdefault(bins.get(_text(entry), _UNSEEN), set()).add(entry)
    return column, [(frozenset(group), k) for k, group in members.items()]


def _text(entry: Any) -> str:
    """Return a category as the library knows it."""
    return str(int(entry)) if isinstance(entry, bool | float) else str(entry)


@dataclass(slots=True)
class _Grown:
    """The nodes of a tree so far."""

    column: list[int] = field(default_factory=list)
    split: list[Split | None] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    values: list[tuple[Fraction, ...]] = field(default_factory=list)

    def _node(self, column: int, split: Split | None, values: tuple[Fraction, ...] = ()) -> int:
        self.column.append(column)
        self.split.append(split)
        self.left.append(-1)
        self.right.append(-1)
        self.values.append(values)
        return len(self.column) - 1

    def add(self, tests: Sequence[_Tests], table: npt.NDArray[np.float64]) -> int:
        """Add what looks points up in a table; return where it starts."""
        if not tests:
            return self._node(-1, None, tuple(map(Fraction, table.tolist())))
        (column, steps), rest = tests[0], tests[1:]
        nodes = [self._node(column, split) for split, _ in steps]
        for node, (_, place) in zip(nodes, steps, strict=True):
            self.left[node] = self.add(rest, table[place])
        for node, following in zip(nodes, [*nodes[1:], self.add(rest, table[_MISSING])], strict=True):
            self.right[node] = following
        return nodes[0]

    def tree(self) -> OwnTree:
        """Return the tree; missing values pass all tests by, to the end."""
        leaf = [column < 0 for column in self.column]
        never = [False] * len(leaf)
        return OwnTree.of(leaf, self.column, self.split, (self.left, self.right), tuple(self.values), never)


def _cells(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> CellForm:
    found: list[set[Bound]] = [set() for _ in domain.features]
    for seen, levels in zip(columns, model.bins_, strict=True):
        for bins in levels:
            found[seen.feature] |= _cuts(bins, domain.features[seen.feature])
    return CellForm(tuple(map(frozenset, found)))


def _cuts(bins: Any, feature: Feature) -> set[Bound]:
    if not isinstance(bins, dict):
        return {(Fraction(float(cut)), False) for cut in bins}
    # Where values have names, each may have a bin of its own.
    return {(Fraction(k), True) for k in range(feature.low, feature.high)} if isinstance(feature, Integer) else set()
