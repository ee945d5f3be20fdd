"""Problems that no machine finishes soon, for tests and measurements of budgets."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.grid import Cut, Grid
from axfi_kc.models import Argmax, LinearModel, Positive, Slope, TreeNodes, TreeSum


def bits(n: int) -> ax.Domain:
    return ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])


def boosted(n_features: int = 40, n_trees: int = 80, depth: int = 4) -> tuple[TreeSum, list[float]]:
    """Return a sum of random trees over real features, and an instance in the middle."""
    rng = Random(0)
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n_features)])
    trees = []
    for _ in range(n_trees):
        n = 2**depth - 1
        column = np.array([rng.randrange(n_features) for _ in range(n)] + [-1] * (n + 1))
        splits: list[Any] = [Cut(rng.randint(1, 15) / 16, closed=False) for _ in range(n)] + [None] * (n + 1)
        left = np.array([2 * k + 1 for k in range(n)] + [-1] * (n + 1))
        values = np.array([[0.0]] * n + [[rng.uniform(-1, 1)] for _ in range(n + 1)])
        trees.append(TreeNodes(column, splits, left, np.where(left < 0, -1, left + 1), values))
    return TreeSum.of(domain, trees, rule=Positive((0, 1))), [0.5] * n_features


def weighted_bits(n: int = 60) -> LinearModel:
    """Return a threshold over bits whose sums are all different: no diagram of it is small."""
    weights = [[3**i % 100_003 for i in range(n)]]
    return LinearModel.of_columns(bits(n), weights, intercepts=[-sum(weights[0]) // 2], rule=Positive((0, 1)))


def classes(n: int = 22) -> tuple[LinearModel, list[float]]:
    """Return a linear model of three classes over real features, with many CXps that several classes reach."""
    rng = Random(1)
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n)])
    parts = [Slope((0, rng.randint(90, 110), rng.randint(90, 110))) for _ in range(n)]
    return LinearModel.of(domain, parts, base=[50 * n, 0, 0], rule=Argmax(("a", "b", "c"))), [0.0] * n


def hidden_pair(n: int = 60) -> Circuit:
    """Return a disjunction of two circuits that share no point, though no literal shows it."""
    rng = Random(2)
    build = CircuitBuilder(Grid.of_values(bits(n)))
    parts = []
    for _ in range(2):
        clauses = []
        for _ in range(4 * n):
            chosen = rng.sample(range(n), 3)
            clauses.append(build.disjunction(build.literal(i, [rng.randrange(2)]) for i in chosen))
        parts.append(build.conjunction(clauses))
    return build.circuit(build.disjunction(parts))


def overlapping(n: int = 40) -> Circuit:
    """Return a decomposable disjunction of random products of pairs, whose parts overlap everywhere."""
    rng = Random(3)
    build = CircuitBuilder(Grid.of_values(bits(n)))
    terms = []
    for _ in range(n * 3):
        order = rng.sample(range(n), n)
        pairs = [
            build.disjunction([build.literal(a, [1]), build.literal(b, [rng.randrange(2)])])
            for a, b in zip(order[::2], order[1::2], strict=True)
        ]
        terms.append(build.conjunction(pairs))
    return build.circuit(build.disjunction(terms))


def crossing_sets(n: int = 60) -> list[int]:
    """Return random sets with more minimal hitting sets than can be listed."""
    rng = Random(4)
    return [sum(1 << i for i in rng.sample(range(n), 8)) for _ in range(120)]
