"""Exact sums of leaves: judged by Fractions, point by point."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Argmax, Positive, Score, TreeNodes, TreeSum
from axfi_kc.models.tree_sum import LeafSums, is_above, largest

VALUES = {
    "small integers": lambda rng, shape: rng.integers(-2, 3, shape).astype(float),  # ties abound
    "float32": lambda rng, shape: rng.normal(size=shape).astype(np.float32).astype(float),
    "float64": lambda rng, shape: rng.normal(size=shape),
    "far apart": lambda rng, shape: rng.normal(size=shape) * 2.0 ** rng.integers(-300, 300, shape),
    "subnormal": lambda rng, shape: rng.integers(-9, 9, shape) * 5e-324,
    "cancelling": lambda rng, shape: rng.choice([1.0, -1.0, 2.0**-70, -(2.0**-70), 0.0], shape),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("base", [Fraction(0), Fraction(-1, 3), Fraction(10**30, 7)], ids=str)
def test_sums_are_those_of_fractions(kind, base) -> None:
    rng = np.random.default_rng(0)
    for n_scores, n_trees in ((1, 2), (3, 5), (4, 1)):
        values = VALUES[kind](rng, (20, n_scores))
        sums = LeafSums.of(values, [base] * n_scores, n_trees=n_trees)
        reached = [rng.integers(0, 20, 200) for _ in range(n_trees)]
        totals = sums.totals(np.stack(reached, axis=1))
        judged = [
            [sum((Fraction(values[r[p], k]) for r in reached), base) for k in range(n_scores)] for p in range(200)
        ]
        assert sums.fractions(totals) == judged
        assert is_above(totals[:, :, 0]).tolist() == [row[0] > 0 for row in judged]
        assert largest(totals).tolist() == [row.index(max(row)) for row in judged]


def stumps(values: np.ndarray) -> list[TreeNodes]:
    """Return a tree x <= k per row of (left, right) values."""
    child = np.array([1, -1, -1]), np.array([2, -1, -1])
    return [
        TreeNodes(np.array([0, -1, -1]), [Cut(k + 0.5, closed=True), None, None], *child, np.array([[0.0], [a], [b]]))
        for k, (a, b) in enumerate(values.tolist())
    ]


@pytest.mark.parametrize("rule", [Positive(("no", "yes")), Score(Fraction(1, 3)), Argmax(("only",))], ids=str)
def test_decisions_and_scores_of_a_sum(rule) -> None:
    rng = np.random.default_rng(1)
    domain = ax.Domain([ax.Integer("x", 0, 10)])
    for values in (rng.integers(-1, 2, (10, 2)).astype(float), rng.normal(size=(10, 2))):
        model = TreeSum.of(domain, stumps(values), rule=rule, base=[Fraction(1, 7)])
        points = np.arange(11.0)[:, np.newaxis]
        judged = [
            sum((Fraction(a if x <= k else b) for k, (a, b) in enumerate(values.tolist())), Fraction(1, 7))
            for x in range(11)
        ]
        assert model.scores_at(points) == [[s] for s in judged]
        outputs = {Positive: [("no", "yes")[s > 0] for s in judged], Score: [s / 3 for s in judged]}
        assert model.outputs_at(points) == outputs.get(type(rule), ["only"] * 11)


def test_thousands_of_thresholds_take_little_room() -> None:
    """The tables of which cells go left lie over each other: 20,000 tests on 10,000 cells are no 200 MB."""
    from sklearn.ensemble import ExtraTreesClassifier

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 2)), rng.integers(0, 3, 1000)
    forest, domain = ExtraTreesClassifier(20, random_state=0).fit(X, y), ax.Domain.from_data(X)
    tracemalloc.start()
    model = ax.read_model(forest, domain)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert min(model.grid.n_cells) > 5000
    assert model.left_mask.nbytes <= 2 * sum(model.grid.n_cells)
    assert peak < 100e6
    # Of so few trees, averages of 0 and 1 tie exactly or are far apart.
    points = rng.uniform(X.min(axis=0), X.max(axis=0), (500, 2))
    assert model.outputs_at(points) == forest.predict(points).tolist()


def test_no_points_and_many_points() -> None:
    model = TreeSum.of(ax.Domain([ax.Integer("x", 0, 10)]), stumps(np.eye(2)), rule=Positive((0, 1)))
    assert model.outputs_at(np.zeros((0, 1))) == []
    assert model.scores_at(np.zeros((0, 1))) == []
    points = np.random.default_rng(0).integers(0, 11, (20_000, 1)).astype(float)
    assert model.outputs_at(points) == [int(x != 1) for x in points[:, 0]]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize(
    "rule", [Positive((0, 1)), Positive((0, 1), closed=True), Argmax((0, 1, 2)), Score()], ids=repr
)
def test_a_point_alone_is_decided_as_among_others(kind, rule) -> None:
    rng = np.random.default_rng(1)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(5)])
    n_scores = 3 if isinstance(rule, Argmax) else 1
    trees = [
        TreeNodes(np.array([i, -1, -1]), [Cut(0.0, closed=True), None, None], np.array([1, -1, -1]),
                  np.array([2, -1, -1]), VALUES[kind](rng, (3, n_scores)))
        for i in range(5)
    ]  # fmt: skip
    model = TreeSum.of(domain, trees, rule=rule)
    cells = np.array(list(np.ndindex(2, 2, 2, 2, 2)), dtype=np.int64)
    assert [model.decide(cells[k : k + 1])[0] for k in range(len(cells))] == model.decide(cells)
