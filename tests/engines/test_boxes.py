"""The engine for boxes: trees and tables over many features, with large numbers and with sets of values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.engines.boxes.engine import BoxEngine
from axfi_kc.models import Positive, Score, Similarity, TreeNodes, TreeSum, boxes_of
from tests.support.oracle import Judge, space_of, subsets
from tests.support.small_trees import all_of, any_of, tree_of


def test_weights_of_tables_beyond_int64() -> None:
    """Measures with denominators of 50 bits: the product of four does not fit, and nothing is rounded."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 2, weights=[1, 10**15 + i, 7**17]) for i in range(4)])

    def model(x: tuple[int, ...]) -> int:
        return int(sum(x) >= 5 or x[:2] == (1, 2))

    v = (0, 0, 0, 0)
    judge = Judge(space_of(domain), model, v)
    expected = {Y: judge.ratio(Y) for Y in judge.cxps()}
    found = ax.Explainer(model, domain).explain(v).cxps
    assert {frozenset(map(domain.names.index, c.features)): c.weight for c in found} == expected
    assert max(len(Y) for Y in expected) == 3


def test_totals_of_exactly_two_to_the_63() -> None:
    """Every feature of the one CXp has whole 2 and is changed for certain: the total is the first beyond int64."""
    domain = ax.Domain([*(ax.Integer(f"x{k}", 0, 2, weights=[0, 1, 1]) for k in range(63)), ax.Integer("y", 0, 1)])
    without_effect: Any = 0
    for i in range(63):
        without_effect = (i, 1.5, 0, without_effect)
    model = tree_of(domain, (63, 0.5, all_of(list(range(63))), without_effect))
    found = ax.Explainer(model, domain).explain([0] * 64).cxps
    assert [(len(c.features), c.weight) for c in found] == [(63, 1)]


def test_many_cxps_of_one_instance() -> None:
    """More CXps, and more boxes behind them, than there is room for at first."""
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(70)])
    for n in (1, 4, 5, 9, 30, 70):
        found = ax.Explainer(tree_of(domain, any_of(list(range(n)))), domain, weights="count").explain([0] * 70).cxps
        assert [(c.features, c.weight) for c in found] == [((f"x{k}",), 1) for k in range(n)]


def _complete_tree(domain: ax.Domain, columns: list[int], splits: list[Any], leaves: list[int]) -> TreeSum:
    """Return a tree of seven inner nodes and eight leaves; the children of node k are 2k + 1 and 2k + 2."""
    nodes = TreeNodes(
        np.array([*columns, *[-1] * 8]),
        [*splits, *[None] * 8],
        np.array([*(2 * k + 1 for k in range(7)), *[-1] * 8]),
        np.array([*(2 * k + 2 for k in range(7)), *[-1] * 8]),
        np.array([*[[0.0]] * 7, *([y - 0.5] for y in leaves)]),
    )
    return TreeSum.of(domain, [nodes], rule=Positive((0, 1)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n", [3, 130])
def test_trees_that_split_several_features_by_sets(n: int, seed: int) -> None:
    """Sets of categories that are no intervals, for three features of one tree, alone or among many."""
    rng, where = Random(seed), [0, n // 2, n - 1]
    domain = ax.Domain([ax.Categorical(f"c{k}", range(4 if k in where else 2)) for k in range(n)])
    splits = [frozenset(map(float, rng.sample(range(4), 2))) for _ in range(7)]
    columns = [0, 1, 2, rng.randrange(3), rng.randrange(3), rng.randrange(3), rng.randrange(3)]
    leaves = [0, 1, *(rng.randint(0, 1) for _ in range(6))]

    def model(x: tuple[int, ...]) -> int:
        node = 0
        while node < 7:
            node = 2 * node + (1 if x[columns[node]] in splits[node] else 2)
        return leaves[node - 7]

    tree = _complete_tree(domain, [where[k] for k in columns], splits, leaves)
    small = ax.Domain([domain.features[k] for k in where])
    points = rng.sample(list(product(range(4), repeat=3)), 12)
    rows = [[v[where.index(k)] if k in where else rng.randint(0, 1) for k in range(n)] for v in points]
    for most in (None, 1, 2):
        batch = ax.Explainer(tree, domain, max_size=most).explain_batch(rows)
        for v, e in zip(points[: 12 if most is None else 3], batch, strict=False):
            judge = Judge(space_of(small), model, v)
            expected = {Y: judge.ratio(Y) for Y in judge.cxps() if most is None or len(Y) <= most}
            found = {frozenset(where.index(int(name[1:])) for name in c.features): c.weight for c in e.cxps}
            assert (e.prediction, found) == (model(v), expected)
    for S in subsets(3):
        assert ax.is_wcxp(e.problem, [f"c{where[i]}" for i in S]) == judge.is_wcxp(S)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("max_size", [None, 1, 2])
def test_the_walk_over_a_tree_finds_what_its_list_of_boxes_has(seed: int, max_size: int | None) -> None:
    """Large trees, by thresholds and by sets, with classes and with numbers; some paths hold no point."""
    rng = Random(seed)
    n, depth = rng.choice([3, 12, 64]), rng.choice([3, 8])
    features = [ax.Categorical(f"c{i}", range(5)) if i % 3 == 2 else ax.Integer(f"c{i}", 0, 9) for i in range(n)]
    domain = ax.Domain(features)
    test_of = {i: (lambda i=i: _random_test(rng, features[i])) for i in range(n)}
    columns, splits, left, right, values = [], [], [], [], []

    def grow(level: int) -> int:
        node, is_leaf = len(columns), level == depth or (level > 2 and rng.random() < 0.15)
        i = -1 if is_leaf else rng.randrange(min(n, 12)) if rng.random() < 0.8 else n - 1
        columns.append(i)
        splits.append(None if is_leaf else test_of[i]())
        left.append(-1), right.append(-1), values.append([float(rng.randrange(4))])
        if not is_leaf:
            left[node], right[node] = grow(level + 1), grow(level + 1)
        return node

    grow(0)
    nodes = TreeNodes(np.array(columns), splits, np.array(left), np.array(right), np.array(values))
    model = TreeSum.of(domain, [nodes], rule=Score())
    codes = np.array([[rng.randrange(5) for _ in range(n)] for _ in range(40)], dtype=np.float64)
    similarity = Similarity(Fraction(rng.randrange(2)))
    engines = [BoxEngine(model, similarity), BoxEngine(boxes_of(model), similarity)]
    walked, listed = (list(engine.explain(codes, max_size=max_size)) for engine in engines)
    assert [sets.weights for sets in walked] == [sets.weights for sets in listed]


def _random_test(rng: Random, feature: Any) -> Any:
    if isinstance(feature, ax.Categorical):
        return frozenset(map(float, rng.sample(range(5), 2)))
    return Cut(rng.randrange(10) - 0.5, closed=True)
