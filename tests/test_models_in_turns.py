"""Several models over one domain, one after the other and in turns: what is kept for one must not reach the next."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.models import Positive, TreeNodes, TreeSum
from axfi_kc.models.joint import BoxList, box_weigher
from benchmarks import soak
from tests.support.crossed_problems import random_scenes
from tests.support.random_problems import KINDS

ROWS = [(a, b) for a in range(6) for b in range(6) if (a * b + a) % 3]


def _domain(*, joint: bool) -> ax.Domain:
    domain = ax.Domain([ax.Integer("a", 0, 5), ax.Integer("b", 0, 5)]).where("a >= 2 or b <= 2")
    return domain.with_distribution(ax.ChowLiu.fit(ROWS, domain)) if joint else domain


def _stump(domain: ax.Domain, feature: int, value: int) -> TreeSum:
    """Return a tree with one test: as few cells as possible, and other ones for each feature and value."""
    column = np.array([feature, -1, -1])
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    split = [Cut(float(value), closed=True), None, None]
    tree = TreeNodes(column, split, *children, np.array([[0.0], [-1.0], [1.0]]), np.zeros(3, dtype=bool))
    return TreeSum.of(domain, [tree], rule=Positive((0, 1)))


STUMPS = ((0, 1), (0, 3), (1, 3))


def _answers(explainers: dict[Any, ax.Explainer], order: Any) -> dict[Any, Any]:
    found = {}
    for key in order:
        e = explainers[key].explain({"a": 4, "b": 4})
        found[key] = [(c.features, c.weight) for c in e.cxps], e.precision(["a"]), e.precision(["b"])
    return found


@pytest.mark.parametrize("joint", [False, True])
def test_trees_with_other_cells_do_not_meet(joint: bool) -> None:
    alone = {}
    for stump in STUMPS:
        domain = _domain(joint=joint)
        alone |= _answers({stump: ax.Explainer(_stump(domain, *stump), domain)}, [stump])
    for order in permutations(STUMPS):
        domain = _domain(joint=joint)
        explainers = {stump: ax.Explainer(_stump(domain, *stump), domain) for stump in STUMPS}
        for _ in range(2):
            assert _answers(explainers, order) == alone


def test_what_a_tree_weighs_is_what_a_listing_says() -> None:
    domain = _domain(joint=True)
    table = {
        (a, b): domain.distribution.probability({0: a, 1: b}) for a in range(6) for b in range(6) if a >= 2 or b <= 2
    }
    for _ in range(2):
        for i, value in STUMPS:
            e = ax.Explainer(_stump(domain, i, value), domain).explain({"a": 4, "b": 4})
            for cxp in e.cxps:
                free = {domain.index(name) for name in cxp.features}
                around = {p: w for p, w in table.items() if all(k in free or p[k] == 4 for k in range(2))}
                wrong = sum(w for p, w in around.items() if (p[i] > value) != (value < 4))
                assert cxp.weight == wrong / sum(around.values())


@pytest.mark.parametrize("kind", KINDS)
def test_random_models_of_one_space_in_turns(kind: str) -> None:
    for seed in range(6):
        rng = Random(f"{kind} in turns {seed}")
        scenes = random_scenes(rng, kind, n_models=3, n_instances=3)
        soak.check_in_turns(scenes, rng)


def test_threads_share_explainers_of_one_domain() -> None:
    domain = _domain(joint=True)
    explainers = {stump: ax.Explainer(_stump(domain, *stump), domain) for stump in STUMPS}
    rows = [(a, b) for a in range(6) for b in range(6) if a >= 2 or b <= 2] * 3

    def explained(k: int) -> list[Any]:
        order = STUMPS[k % 3 :] + STUMPS[: k % 3]
        return sorted(
            (s, r, [(c.features, c.weight) for c in explainers[s].explain(r).cxps]) for r in rows for s in order
        )

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(explained, range(8))
    assert all(other == first for other in others)


def _weigher(features: int) -> tuple[Any, list[BoxList]]:
    """Return a weigher under a chain, and two lists of boxes, each with a table of its own."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 2) for i in range(features)])
    rng = Random(5)
    rows = [[rng.randint(0, 2) for _ in range(features)] for _ in range(40)]
    joint = domain.with_distribution(ax.ChowLiu.fit(rows, domain))
    members = [tuple(range(features))] * 20
    boxes = [[[[(rng.randint(0, 2),) for _ in own]] for own in members] for _ in range(2)]
    return box_weigher(Grid.of_values(joint)), [BoxList.of(members, some) for some in boxes]


def test_a_table_laid_out_meanwhile_is_not_taken_for_the_own(monkeypatch: pytest.MonkeyPatch) -> None:
    weigher, (own, other) = _weigher(4)
    theirs = weigher._laid_out(other.table)
    # Another thread always lays out its table right after this one has.
    monkeypatch.setattr(type(weigher), "_laid", property(lambda _: theirs, lambda *_: None), raising=False)
    assert weigher._laid_out(own.table).table is own.table


class _Forgetful(dict):
    """A memo that another thread clears right after each entry."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def _weighers() -> Iterator[Any]:
    domain = _domain(joint=False)
    for joint in (
        ax.ChowLiu.fit(ROWS, domain),
        ax.Mixture((ax.ChowLiu.fit(ROWS, domain), ax.ChowLiu.fit(ROWS[:9], domain)), (Fraction(1, 3), Fraction(2, 3))),
    ):
        yield box_weigher(Grid.of_values(domain.with_distribution(joint)))


def test_a_memo_that_is_cleared_meanwhile_costs_only_time() -> None:
    for weigher in _weighers():
        (place,) = weigher.places(np.array([[4.0, 4.0]]))
        task = place, [4, 4], [0, 1], [[(0, 1), (0, 1, 2)], [(2,), (5,)]]
        right = weigher.ratio(*task)
        weigher._known = _Forgetful()
        if hasattr(weigher, "_totals"):
            weigher._totals = _Forgetful()
        assert weigher.ratio(*task) == right
