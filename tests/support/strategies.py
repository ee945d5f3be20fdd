"""The one home of generators: domains, tables, trees and problems."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from axfi_kc import Categorical, Domain, Histogram, Integer, Problem, Real, TableModel
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum
from tests.support.oracle import Judge, space_of

weights = st.integers(0, 5)
COARSE = st.integers(-2, 2).map(float)  # ties are common
FINE = st.sampled_from([0.0, 1.0, -1.0, 0.1, -0.1, 1e9, -1e9, 2.0**-70, -(2.0**-70), 1 + 2.0**-50])  # beyond int64


@st.composite
def positive_weights(draw: st.DrawFn, n: int) -> list[int]:
    found = draw(st.lists(weights, min_size=n, max_size=n))
    return found if sum(found) else [1] * n


@st.composite
def features(draw: st.DrawFn, name: str, *, finite: bool = False) -> Categorical | Integer | Real:
    kind = draw(st.sampled_from(["categorical", "integer"] if finite else ["categorical", "integer", "real"]))
    if kind == "categorical":
        n = draw(st.integers(1, 4))
        values = draw(st.permutations(range(n)))
        columns = [f"{name}_{k}" for k in range(n)] if n > 1 and draw(st.booleans()) else None
        return Categorical(name, values, weights=draw(st.none() | positive_weights(n)), columns=columns)
    low = draw(st.integers(-3, 3))
    high = low + draw(st.integers(0, 4))
    if kind == "integer":
        return Integer(name, low, high, weights=draw(st.none() | positive_weights(high - low + 1)))
    if high > low and draw(st.booleans()):
        inner = draw(st.sets(st.integers(4 * low + 1, 4 * high - 1), max_size=3))
        edges = [low, *(Fraction(e, 4) for e in sorted(inner)), high]
        return Real(name, low, high, histogram=Histogram(edges, draw(positive_weights(len(edges) - 1))))
    return Real(name, low, high)


@st.composite
def domains(draw: st.DrawFn, *, finite: bool = False, max_features: int = 4) -> Domain:
    m = draw(st.integers(1, max_features))
    return Domain([draw(features(f"f{i}", finite=finite)) for i in range(m)])


@st.composite
def points(draw: st.DrawFn, domain: Domain) -> tuple[Any, ...]:
    found: list[Any] = []
    for f in domain.features:
        if isinstance(f, Categorical):
            found.append(draw(st.sampled_from(f.values)))
        elif isinstance(f, Integer):
            found.append(draw(st.integers(f.low, f.high)))
        else:
            quarters = draw(st.integers(int(4 * f.low), int(4 * f.high)))
            found.append(quarters / 4)
    return tuple(found)


@dataclass(frozen=True)
class Case:
    """A problem of the library and the judge of the same problem."""

    problem: Problem
    judge: Judge


@st.composite
def table_cases(draw: st.DrawFn, *, n_outputs: int = 3) -> Case:
    domain = draw(domains(finite=True))
    size = domain.size or 0
    regression = draw(st.booleans())
    outputs = draw(st.lists(st.integers(0, n_outputs - 1), min_size=size, max_size=size))
    delta = draw(st.integers(0, 1)) if regression else None
    model = TableModel.from_outputs(domain, outputs)
    v = draw(points(domain))
    listing = dict(zip(domain.points(), outputs, strict=True))
    judge = Judge(space_of(domain), listing.__getitem__, v, None if delta is None else Fraction(delta))
    return Case(Problem.of(model, domain, v, delta=delta), judge)


@st.composite
def splits(draw: st.DrawFn, feature: Categorical | Integer | Real) -> Split:
    if len(feature.columns) > 1:
        return Cut(draw(st.sampled_from([0.0, 0.5, 0.5, 1.0])), closed=draw(st.booleans()))
    if isinstance(feature, Categorical) and draw(st.booleans()):
        return frozenset(float(c) for c in draw(st.sets(st.sampled_from(feature.values))))
    if isinstance(feature, Integer) and draw(st.integers(0, 3)) == 0:
        return frozenset(float(c) for c in draw(st.sets(st.integers(feature.low - 1, feature.high + 1))))
    return Cut(draw(st.integers(-14, 30)) / 4, closed=draw(st.booleans()))


@st.composite
def tree_nodes(draw: st.DrawFn, domain: Domain, *, n_scores: int, max_leaves: int = 9) -> TreeNodes:
    """Grow a tree by splitting random leaves; tests are on model columns."""
    owners = column_owners(domain)
    column, split, left, right = [-1], [None], [-1], [-1]
    leaves = [0]
    for _ in range(draw(st.integers(0, max_leaves - 1))):
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        column[node] = draw(st.integers(0, len(owners) - 1))
        split[node] = draw(splits(domain.features[owners[column[node]][0]]))
        left[node], right[node] = len(column), len(column) + 1
        leaves += [len(column), len(column) + 1]
        column += [-1, -1]
        split += [None, None]
        left += [-1, -1]
        right += [-1, -1]
    leaf_values = FINE if draw(st.booleans()) else COARSE
    values = draw(st.lists(leaf_values, min_size=len(column) * n_scores, max_size=len(column) * n_scores))
    table = np.array(values, dtype=np.float64).reshape(len(column), n_scores)
    return TreeNodes(np.array(column), split, np.array(left), np.array(right), table)


def column_owners(domain: Domain) -> list[tuple[int, int]]:
    return [(i, k) for i, f in enumerate(domain.features) for k in range(len(f.columns))]


def column_values(domain: Domain, x: tuple[Any, ...]) -> list[Any]:
    """Return what the model sees of a point: one-hot codes for features with several columns."""
    found: list[Any] = []
    for f, value in zip(domain.features, x, strict=True):
        found += [int(value == v) for v in f.values] if len(f.columns) > 1 else [value]
    return found


def walk(domain: Domain, tree: TreeNodes, x: tuple[Any, ...]) -> list[Fraction]:
    """Return the leaf vector at `x`, comparing the values themselves."""
    seen, node = column_values(domain, x), 0
    while tree.column[node] >= 0:
        value, split = Fraction(seen[tree.column[node]]), tree.splits[node]
        if isinstance(split, Cut):
            bound = Fraction(split.value)
            goes_left = value <= bound if split.closed else value < bound
        else:
            goes_left = float(value) in split
        node = int(tree.left[node] if goes_left else tree.right[node])
    return [Fraction(float(s)) for s in tree.values[node]]


def breakpoints(domain: Domain, trees: list[TreeNodes], v: tuple[Any, ...]) -> list[set[float]]:
    found: list[set[float]] = [{x} if isinstance(x, int | float) else set() for x in v]
    for tree in trees:
        for column, split in zip(tree.column, tree.splits, strict=True):
            if isinstance(split, Cut):
                found[column_owners(domain)[column][0]].add(split.value)
    return found


@st.composite
def tree_cases(draw: st.DrawFn) -> Case:
    domain = draw(domains())
    regression = draw(st.booleans())
    n_scores = 1 if regression else draw(st.integers(2, 3))
    tree = draw(tree_nodes(domain, n_scores=n_scores))
    delta = Fraction(draw(st.integers(0, 2)), 2) if regression else None
    model = TreeSum.of(domain, [tree], rule=Score() if regression else Argmax(tuple("abc"[:n_scores])))
    v = draw(points(domain))

    def output(x: tuple[Any, ...]) -> Any:
        scores = walk(domain, tree, x)
        return scores[0] if regression else "abc"[scores.index(max(scores))]

    judge = Judge(space_of(domain, breakpoints(domain, [tree], v)), output, v, delta)
    return Case(Problem.of(model, domain, v, delta=delta), judge)


@st.composite
def ensemble_cases(draw: st.DrawFn) -> Case:
    """Sums of two to four trees: binary, multi-class or regression, with a base and with ties."""
    domain = draw(domains())
    kind = draw(st.sampled_from(["binary", "classes", "regression"]))
    n_scores = draw(st.integers(2, 3)) if kind == "classes" else 1
    trees = draw(st.lists(tree_nodes(domain, n_scores=n_scores, max_leaves=6), min_size=2, max_size=4))
    base = [Fraction(draw(st.integers(-3, 3)), draw(st.integers(1, 3))) for _ in range(n_scores)]
    scale = Fraction(1, draw(st.integers(1, 3)))
    rules = {"binary": Positive((0, 1)), "classes": Argmax(tuple("abc"[:n_scores])), "regression": Score(scale)}
    model = TreeSum.of(domain, trees, rule=rules[kind], base=base)
    delta = Fraction(draw(st.integers(0, 4)), 2) if kind == "regression" else None
    v = draw(points(domain))

    def output(x: tuple[Any, ...]) -> Any:
        walked = [walk(domain, t, x) for t in trees]
        scores = [sum((w[k] for w in walked), base[k]) for k in range(n_scores)]
        if kind == "binary":
            return int(scores[0] > 0)
        return scores[0] * scale if kind == "regression" else "abc"[scores.index(max(scores))]

    judge = Judge(space_of(domain, breakpoints(domain, trees, v)), output, v, delta)
    return Case(Problem.of(model, domain, v, delta=delta), judge)


cases = st.one_of(table_cases(), tree_cases(), ensemble_cases())
box_cases = st.one_of(table_cases(), tree_cases())
