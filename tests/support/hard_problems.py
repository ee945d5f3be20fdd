"""Problems that no machine finishes soon, for tests and measurements of budgets."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets import Mdd, mdd_of
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.engines import ListedCxps
from axfi_kc.families import SetFamily
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
    return _pair_of_clauses(n, 4 * n, lambda build, literals: build.disjunction(build.literal(*x) for x in literals))


@cache
def hidden_pair_of_decisions(n: int = 120) -> Circuit:
    """Return the like with clauses of decisions, so that only its root is to be checked; few points fit both parts."""

    def clause(build: CircuitBuilder, literals: list[tuple[int, list[int]]]) -> int:
        made = build.false
        for i, cells in literals:
            made = build.decision(i, [(cells, build.true), ([1 - cells[0]], made)])
        return made

    return _pair_of_clauses(n, 9 * n // 4, clause)


def _pair_of_clauses(n: int, number: int, clause: Any) -> Circuit:
    rng = Random(2)
    build = CircuitBuilder(Grid.of_values(bits(n)))
    parts = []
    for _ in range(2):
        chosen = [rng.sample(range(n), 3) for _ in range(number)]
        parts.append(build.conjunction(clause(build, [(i, [rng.randrange(2)]) for i in some]) for some in chosen))
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


@cache
def many_sets(n: int = 60, number: int = 6_000) -> tuple[int, ...]:
    """Return random sets of one size, none of which contains another."""
    rng = Random(5)
    return tuple({sum(1 << i for i in rng.sample(range(n), 12)) for _ in range(number)})


@cache
def large_family() -> SetFamily:
    """Return a family of many sets that share little."""
    return SetFamily.of(many_sets(number=20_000))


@cache
def finely_weighted(n: int = 200, width: int = 200) -> Circuit:
    """Return an ordered diagram over features whose probabilities have long denominators."""
    rng = Random(7)
    shares = [Fraction(rng.getrandbits(150) | 1, 2**151 + 2 * k + 1) for k in range(n)]
    features = [ax.Integer(f"x{i}", 0, 1, weights=[p, 1 - p]) for i, p in enumerate(shares)]
    build = CircuitBuilder(Grid.of_values(ax.Domain(features)))
    below = [build.false, build.true]
    for i in reversed(range(n)):
        below = [build.decision(i, [([0], rng.choice(below)), ([1], rng.choice(below))]) for _ in range(width)]
    return build.circuit(below[0])


@cache
def threshold(n: int = 20) -> ax.Explanation:
    """Return an explanation with a CXp for each half of the features."""
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of(domain, [Slope((2,))] * n, base=[1 - n], rule=Positive((0, 1)))
    return ax.Explainer(model, domain, weights="unit").explain([0.0] * n)


def explanation_of(masks: tuple[int, ...], budget: ax.Budget) -> ax.Explanation:
    """Return an explanation whose CXps are said to be the given sets of bits."""
    model = weighted_bits()
    problem = ax.Problem.of(model, model.domain, [0] * len(model.domain))
    return ax.Explanation(problem, None, ListedCxps(masks, (1,) * len(masks), 1, "unit"), budget)


def within(explanation: ax.Explanation, budget: ax.Budget) -> ax.Explanation:
    """Return the same explanation, asked with another budget and nothing known yet."""
    return replace(explanation, _found=replace(explanation._found), _budget=budget)


def fine_steps(n_classes: int = 2, *, most: int = 2_100) -> tuple[LinearModel, list[int]]:
    """Return a linear model with one CXp of three features of many values, whose weight takes long."""
    domain = ax.Domain([ax.Integer(name, 0, most) for name in "abc"])
    parts = [Slope((0, *(1_000 + 7 * i + 3 * k for k in range(n_classes - 1)))) for i in range(3)]
    base = [2 * most * 1_015, *[0] * (n_classes - 1)]
    return LinearModel.of(domain, parts, base=base, rule=Argmax(tuple(range(n_classes)))), [0, 0, 0]


def corner(n: int = 13) -> tuple[LinearModel, list[float]]:
    """Return a linear model whose one CXp fills less than a billionth of any box around it."""
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n)])
    return LinearModel.of(domain, [Slope((2,))] * n, base=[1 - 2 * n], rule=Positive((0, 1))), [0.0] * n


@cache
def deep_tree(n_features: int = 150, depth: int = 17) -> tuple[TreeSum, list[float]]:
    """Return one tree with many leaves, most of which differ from an instance in sets that are minimal."""
    return boosted(n_features, 1, depth)


@cache
def parity(n: int = 60) -> Circuit:
    """Return the diagram of the points with an even sum."""
    build = CircuitBuilder(Grid.of_values(bits(n)))
    even, odd = build.true, build.false
    for i in reversed(range(n)):
        even, odd = (build.decision(i, [([0], a), ([1], b)]) for a, b in ((even, odd), (odd, even)))
    return build.circuit(even)


@cache
def shuffled_sum(n: int = 40) -> Mdd:
    """Return the diagram of a sum of products in an order that keeps partners apart: sifting it takes long."""
    build = CircuitBuilder(Grid.of_values(bits(n)))
    half = n // 2
    pairs = [build.conjunction([build.literal(i, [1]), build.literal(half + i, [1])]) for i in range(min(half, 12))]
    return mdd_of(build.circuit(build.disjunction(pairs)), order=range(n))


@cache
def many_terms(n: int = 40, number: int = 3_000) -> Circuit:
    """Return a disjunction of terms that differ in pairs, though no one feature tells all of them apart."""
    rng = Random(8)
    build = CircuitBuilder(Grid.of_values(bits(n)))
    points = {tuple(rng.randrange(2) for _ in range(n)) for _ in range(number)}
    terms = [build.conjunction(build.literal(i, [b]) for i, b in enumerate(point)) for point in points]
    return build.circuit(build.disjunction(terms))
