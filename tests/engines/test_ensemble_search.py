"""The search in sums of trees: many words of features, many CXps, and sums that carry."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import BudgetError, ConstantModelError
from axfi_kc.models import Argmax, Positive, TreeNodes, TreeSum
from benchmarks import soak
from tests.support import random_problems
from tests.support.crossed_problems import Scene
from tests.support.oracle import Judge, space_of, subsets
from tests.support.random_problems import _Tree
from tests.support.small_trees import batch_scores, nodes_of

MEMBERS = (1, 64, 65, 129)  # in several words of 64 features, at the same places of each and next to each other


def _wide_model(rng: Random, n_trees: int) -> tuple[TreeSum, ax.Domain, Any, ax.Domain]:
    """Return trees over 130 features that test four of them, and the same as a function of these four."""
    small = ax.Domain([ax.Integer(f"x{i}", 0, 2) for i in MEMBERS])
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 2 if i in MEMBERS else 1) for i in range(130)])
    trees = [_Tree(rng, small, 1, 7, (-2.0, -1.0, 0.0, 1.0, 2.0)) for _ in range(n_trees)]
    position = np.array([*MEMBERS, -1])
    nodes = [replace(made, column=position[made.column]) for made in (tree.nodes() for tree in trees)]
    model = TreeSum.of(domain, nodes, rule=Positive((0, 1)))
    return model, domain, lambda x: int(sum(tree.scores(x)[0] for tree in trees) > 0), small


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_trees", [1, 3])
def test_trees_over_several_words_of_features(n_trees: int, seed: int) -> None:
    rng = Random(seed)
    model, domain, function, small = _wide_model(rng, n_trees)
    v = tuple(rng.randint(0, 2) for _ in MEMBERS)
    judge = Judge(space_of(small), function, v)
    expected = {tuple(f"x{MEMBERS[i]}" for i in sorted(Y)): judge.ratio(Y) for Y in judge.cxps()}
    point = [v[MEMBERS.index(i)] if i in MEMBERS else rng.randint(0, 1) for i in range(130)]
    if len({function(x) for x in product(range(3), repeat=4)}) == 1:
        with pytest.raises(ConstantModelError):
            ax.Explainer(model, domain).explain(point)
        return
    for most in (1, 2, None):
        found = ax.Explainer(model, domain, max_size=most).explain(point)
        assert {c.features: c.weight for c in found.cxps} == {
            Y: w for Y, w in expected.items() if most is None or len(Y) <= most
        }
    for S in subsets(4):
        assert ax.is_wcxp(found.problem, [f"x{MEMBERS[i]}" for i in S]) == judge.is_wcxp(S)


@pytest.mark.parametrize("seed", [516, 190, 515, 73, 29, 594])  # with up to nine CXps
def test_ensembles_with_many_cxps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More features and trees than the soak has, so that CXps found early cut boxes that wait on the stack."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(7)])
    monkeypatch.setattr(random_problems, "random_domain", lambda rng, *, finite: domain)
    monkeypatch.setattr(soak, "check_circuit", lambda truth, rng: None)
    rng = Random(seed)
    truth = random_problems.ensemble(rng, 3, n_trees=10 + seed % 5)
    soak.check_scene(Scene.of(truth), rng, ways=("auto",))


@pytest.mark.parametrize(("n_scores", "first"), [(1, 0), (3, 0), (1, 60), (3, 61)])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_stumps(n_scores: int, first: int, seed: int) -> None:
    """A tree for each of seven features, from `first` on, and dozens of CXps, each of one point."""
    rng, n = Random(seed), 7
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(first + n)])
    tiny = 2.0**-80 if seed % 2 else 1.0  # beyond what one word holds next to 8
    gains = [[rng.choice((-2.0, -1.0, 1.0, 2.0, 8.0, tiny, -tiny)) for _ in range(n_scores)] for _ in range(n)]
    trees = [
        TreeNodes(
            np.array([first + i, -1, -1]),
            [Cut(0.5, closed=True), None, None],
            np.array([1, -1, -1]),
            np.array([2, -1, -1]),
            np.array([[0.0] * n_scores, [0.0] * n_scores, gains[i]]),
        )
        for i in rng.sample(range(n), n)
    ]
    rule = Positive((0, 1)) if n_scores == 1 else Argmax((0, 1, 2))
    model = TreeSum.of(domain, trees, rule=rule)

    def output(x: tuple[int, ...]) -> int:
        sums = [sum((Fraction(gains[i][k]) for i in range(n) if x[i]), Fraction(0)) for k in range(n_scores)]
        return int(sums[0] > 0) if n_scores == 1 else sums.index(max(sums))

    outputs = {x: output(x) for x in product((0, 1), repeat=n)}
    for v in rng.sample(list(outputs), 4):
        other = [x for x, y in outputs.items() if y != outputs[v]]
        changed = {frozenset(i for i in range(n) if x[i] != v[i]) for x in other}
        expected = sorted(sorted(Y) for Y in changed if not any(T < Y for T in changed))
        point = [*([0] * first), *v]
        found = ax.Explainer(model, domain, weights="count").explain(point)
        assert sorted([int(name[1:]) - first for name in c.features] for c in found.cxps) == expected
        assert {c.weight for c in found.cxps} == {1}
        few = ax.Explainer(model, domain, weights="unit", max_size=2).explain(point)
        assert sorted([int(name[1:]) - first for name in c.features] for c in few.cxps) == [
            Y for Y in expected if len(Y) <= 2
        ]


def _stump(i: int, gain: float) -> TreeNodes:
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    splits = [Cut(0.5, closed=True), None, None]
    return TreeNodes(np.array([i, -1, -1]), splits, *children, np.array([[0.0], [0.0], [gain]]))


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_cancel_but_for_the_last_bit(seed: int) -> None:
    """Leaves of magnitudes that take several words, and a base that leaves 1, 0 or -1 in the last place of all."""
    rng, n = Random(seed), 4
    finest = rng.choice((100, 130, 160, 230))
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(n)])
    tiny = [2.0 ** -rng.choice((30, 60, 70, 90, finest)) for _ in range(n)]
    gains = [(rng.choice((-3.0, -1.0, 0.0, 0.0, 1.0)), rng.choice((-3.0, -1.0, 1.0)) * tiny[i]) for i in range(n)]
    trees = [_stump(i, gain) for i in range(n) for gain in reversed(gains[i]) if gain]
    exact = [Fraction(a) + Fraction(b) for a, b in gains]
    meant = rng.sample(range(n), rng.randint(1, n))
    base = -sum(exact[i] for i in meant) + Fraction(rng.choice((-1, 0, 1)), 2**finest)
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)), base=[base])
    points = list(product((0, 1), repeat=n))
    output = {x: int(sum((exact[i] for i in range(n) if x[i]), base) > 0) for x in points}
    if len(set(output.values())) == 1:
        return
    for v, e in zip(points, ax.Explainer(model, domain, weights="count").explain_batch(points), strict=True):
        changed = {frozenset(i for i in range(n) if x[i] != v[i]) for x in points if output[x] != output[v]}
        expected = sorted(sorted(Y) for Y in changed if not any(T < Y for T in changed))
        assert e.prediction == output[v]
        assert sorted([int(name[1:]) for name in c.features] for c in e.cxps) == expected
        assert {c.weight for c in e.cxps} <= {1}


def test_fractions_of_all_trees_carry() -> None:
    """Two leaves and the base are each just below a whole of the first word, and together just above zero."""
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    tiny = Fraction(1, 2**90)
    trees = [_stump(0, -1.0), _stump(0, float(-tiny)), _stump(1, 2.0), _stump(1, float(3 * tiny))]
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)), base=[-1 - tiny])
    e = ax.Explainer(model, domain).explain([1, 0])
    assert e.prediction == 0
    assert [(c.features, c.weight) for c in e.cxps] == [(("b",), Fraction(1, 2))]


def test_a_cover_of_more_boxes_than_there_is_room_for() -> None:
    """One CXp of ten features: all must leave cell 0, and more of them for cell 1 than for cell 2."""
    n = 10
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 2) for i in range(n)])
    trees = [
        TreeNodes(
            np.array([i, -1, i, -1, -1]),
            [Cut(0.5, closed=True), None, Cut(1.5, closed=True), None, None],
            np.array([1, -1, 3, -1, -1]),
            np.array([2, -1, 4, -1, -1]),
            np.array([[0.0], [-20.0], [0.0], [1.0], [-1.0]]),
        )
        for i in range(n)
    ]
    e = ax.Explainer(TreeSum.of(domain, trees, rule=Positive((0, 1))), domain).explain([0] * n)
    expected = sum(comb(n, k) for k in range(n // 2 + 1, n + 1))
    assert [(len(c.features), c.weight) for c in e.cxps] == [(n, Fraction(expected, 3**n))]


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_a_budget_of_nodes_is_kept_by_ensembles(nodes: int) -> None:
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(6)])
    model = TreeSum.of(domain, [_stump(i, 1.0) for i in range(6)], rule=Positive((0, 1)), base=[Fraction(-5, 2)])
    for weights in ("unit", "ratio"):
        with pytest.raises(BudgetError) as caught:
            ax.Explainer(model, domain, weights=weights, budget=ax.Budget(nodes=nodes), on_budget="raise").explain(
                [0] * 6
            )
        assert caught.value.nodes == nodes
        enough = ax.Explainer(model, domain, weights=weights).explain([0] * 6).nodes
        found = ax.Explainer(model, domain, weights=weights, budget=ax.Budget(nodes=enough), on_budget="raise").explain(
            [0] * 6
        )
        assert len(found.cxps) == 20
        with pytest.raises(BudgetError):
            ax.Explainer(model, domain, weights=weights, budget=ax.Budget(nodes=enough - 1), on_budget="raise").explain(
                [0] * 6
            )


@pytest.mark.parametrize("seed", range(8))
def test_ensembles_that_split_by_sets(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Categories in sets that are no intervals, with more values than the soak has."""
    domain = ax.Domain([ax.Categorical(f"c{i}", range(6)) for i in range(2)] + [ax.Integer("x", 0, 4)])
    monkeypatch.setattr(random_problems, "random_domain", lambda rng, *, finite: domain)
    monkeypatch.setattr(soak, "check_circuit", lambda truth, rng: None)
    rng = Random(seed)
    truth = random_problems.ensemble(rng, 6, n_trees=3 + seed % 3)
    soak.check_scene(Scene.of(truth), rng, ways=("auto",))


def _two_leaves(i: int, low: float, high: float) -> TreeNodes:
    return replace(_stump(i, high), values=np.array([[0.0], [low], [high]]))


def test_fractions_just_below_a_whole() -> None:
    """Both leaves that count are -tiny: -1 in the first word and nearly 1 in the rest, as far as a sum can be off."""
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    tiny = Fraction(1, 2**90)
    trees = [_two_leaves(0, float(-tiny), -8.0), _two_leaves(1, -8.0, float(-tiny))]
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)), base=[3 * tiny])
    e = ax.Explainer(model, domain).explain([0, 0])
    assert (e.prediction, [(c.features, c.weight) for c in e.cxps]) == (0, [(("b",), Fraction(1, 2))])


def test_a_carry_of_two() -> None:
    """Three parts of 5/8 of the first word's unit, and a base just below zero."""
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abcd"])
    part = 5 * 2.0**-50
    trees = [_stump(0, part), _stump(1, part), _stump(2, part), _stump(3, -8.0)]
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)), base=[Fraction(-1, 2**90)])
    e = ax.Explainer(model, domain).explain([0, 0, 0, 0])
    assert (e.prediction, [c.features for c in e.cxps]) == (0, [("a",), ("b",), ("c",)])


@pytest.mark.parametrize(("a", "b"), [(2**40, 2**40), (2**32, 2**31), (2**32 - 1, 2**31)])
def test_counts_of_ensembles_at_the_edge_of_int64(a: int, b: int) -> None:
    domain = ax.Domain([ax.Integer("a", 0, a), ax.Integer("b", 0, b)])
    parts = [nodes_of((0, 0.5, 0, 1)), nodes_of((1, 0.5, 0, 1))]
    model = TreeSum.of(domain, parts, rule=Positive((0, 1)), base=[Fraction(-1, 2)])
    e = ax.Explainer(model, domain, weights="count").explain([0, 0])
    assert [(c.features, c.weight) for c in e.cxps] == [(("a", "b"), a * b)]
    assert batch_scores(model, domain, "shapley", weights="count") == [Fraction(a * b, 2)] * 2
