"""The search for CXps: a sweep, a climb and large sets in turns, alone and in threads, against brute force."""

from __future__ import annotations

import warnings
from random import Random
from time import sleep
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget, Meter
from axfi_kc.engines import engine_for
from axfi_kc.engines.ensemble import EnsembleEngine, cxp_search, workers
from axfi_kc.engines.ensemble import search as ensemble_search
from axfi_kc.engines.ensemble.cxp_search import CxpSearch
from axfi_kc.engines.ensemble.workers import Worker
from axfi_kc.errors import AxfiError, BudgetError
from axfi_kc.models import Positive, Similarity, TreeSum
from tests.support import random_problems
from tests.support.small_trees import nodes_of


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the searches and threads take turns after a few nodes, and families be thinned out as soon as they grow."""
    monkeypatch.setattr(cxp_search, "_FIRST_TURN", 4)
    monkeypatch.setattr(cxp_search, "_PATIENCE", 4)
    monkeypatch.setattr(cxp_search, "_POOR", 0)
    monkeypatch.setattr(cxp_search, "_STRETCH", 4)
    monkeypatch.setattr(Worker, "ROUND", 3)
    monkeypatch.setattr(workers, "_FIRST_SETS", 2)
    monkeypatch.setattr(workers, "_FEW_SETS", 2)
    monkeypatch.setattr(ensemble_search, "_ROUND", 3)


def _binary(rng: Random, n: int, n_trees: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    domain = ax.Domain([ax.Integer(f"f{i}", 0, rng.choice((1, 1, 2))) for i in range(n)])
    monkeypatch.setattr(random_problems, "random_domain", lambda rng, *, finite: domain)
    return random_problems.ensemble(rng, 3, n_trees=n_trees)


def _found(truth: Any, place: Any, **asked: Any) -> dict[int, Any]:
    engine = engine_for(truth.model, Similarity.of(truth.model, truth.delta))
    assert isinstance(engine, EnsembleEngine)
    codes = truth.domain.encode([truth.point(place)])
    (sets,) = engine.explain(codes, weights="count", partial=True, **asked)
    return dict(sets.listed().weights)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_turns_and_threads_find_what_brute_force_does(
    seed: int, threads: int, short_turns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    truth = _binary(rng, rng.randint(3, 6), rng.randint(2, 9), monkeypatch)
    if truth is None or truth.is_constant:
        pytest.skip("a constant model")
    for place in truth.instances:
        expected = truth.answer(place).weights("count")
        budget = Budget(threads=threads, nodes=10**9)  # limited, so that sets are asked about by size, too
        assert _found(truth, place, budget=budget) == expected
        for size in range(1, len(truth.domain) + 1):
            small = {mask: w for mask, w in expected.items() if mask.bit_count() <= size}
            assert _found(truth, place, max_size=size, budget=Budget(threads=threads)) == small


@pytest.mark.parametrize("seed", range(12))
def test_each_radius_of_the_climb_is_complete(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The climb alone, size by size."""
    rng = Random(1000 + seed)
    truth = _binary(rng, rng.randint(4, 6), rng.randint(3, 10), monkeypatch)
    if truth is None or truth.is_constant:
        pytest.skip("a constant model")
    engine: Any = engine_for(truth.model, Similarity.of(truth.model, truth.delta))
    for place in truth.instances:
        cells, outputs = engine.locate(truth.domain.encode([truth.point(place)]))
        v, n = cells[0].astype(np.int32), len(truth.domain)
        search = CxpSearch(engine._at(outputs[0]), v, max_size=n, meter=Meter())
        expected = set(truth.answer(place).weights("unit"))
        for radius in search.climb(10**9):
            assert set(search.cxps()) == {mask for mask in expected if mask.bit_count() <= radius}
        assert search.radius == n


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("nodes", [1, 7, 40, 200, 1000])
def test_a_budget_of_nodes_gives_the_same_radius_each_time(nodes: int, threads: int, short_turns: None) -> None:
    rng = Random(5)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 3) for i in range(12)])
    stumps = [nodes_of((i, 0.5 + rng.randint(0, 2), 0, rng.choice((1, 2, 3)))) for i in range(12)]
    model = TreeSum.of(domain, stumps, rule=Positive((0, 1)))
    explainer = ax.Explainer(model, domain, budget=Budget(nodes=nodes, threads=threads), weights="unit")
    found: list[Any] = []
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ax.AxfiWarning)
            try:
                e = explainer.explain([0] * 12)
                found.append((e.radius, e.nodes, [c.features for c in e.cxps]))
            except BudgetError as spent:
                found.append(spent.nodes)
    assert found[0] == found[1]
    assert isinstance(found[0], tuple) == (nodes >= 7)


@pytest.mark.parametrize("threads", [2, 3])
def test_the_clock_decides_nothing_between_threads(
    threads: int, short_turns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that are late at random take as many nodes, and find the same."""
    rng, step, found = Random(3), Worker.run, []

    def late(worker: Any, *rest: Any) -> bool:
        sleep(rng.choice((0, 0, 1e-3)))
        return step(worker, *rest)

    domain = ax.Domain([ax.Integer(f"f{i}", 0, 3) for i in range(10)])
    stumps = [nodes_of((i, 0.5 + rng.randint(0, 2), 0, rng.choice((1, 2, 3)))) for i in range(10)]
    explainer = ax.Explainer(
        TreeSum.of(domain, stumps, rule=Positive((0, 1))), domain, budget=Budget(seconds=60, threads=threads)
    )
    monkeypatch.setattr(Worker, "run", late)
    for _ in range(3):
        e = explainer.explain([0] * 10)
        found.append((e.nodes, e.cxps))
    assert found[1:] == found[:1] * 2
    assert len(found[0][1]) > 10


def test_a_thread_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Worker, "ROUND", 3)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 3) for i in range(10)])
    model = TreeSum.of(domain, [nodes_of((i, 0.5, 0, 1 + i)) for i in range(10)], rule=Positive((0, 1)))
    run = Worker.run

    def failing(worker: Any, *rest: Any) -> bool:
        if worker.n_sets > 2:
            raise MemoryError
        return run(worker, *rest)

    monkeypatch.setattr(Worker, "run", failing)
    with pytest.raises(MemoryError):
        ax.Explainer(model, domain, budget=Budget(threads=2)).explain([0] * 10)


@pytest.mark.parametrize("constrained", [False, True])
def test_a_feature_that_only_undoes_a_loss_is_asked_about(constrained: bool) -> None:
    """Changing b gains 3 and loses 5, or is impossible, unless a changes as well, which by itself gains nothing."""
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    if constrained:
        domain = domain.where((ax.feature("a") == 0) >> (ax.feature("b") == 0))
    loss = 0.5 if constrained else -4.5  # leaves are written half a unit higher
    trees = [(1, 0.5, 0.5, (0, 0.5, loss, 0.5)), (1, 0.5, 0.5, 3.5), (2, 0.5, 0.5, 0.25)]
    model = TreeSum.of(domain, [nodes_of(tree) for tree in trees], rule=Positive((0, 1)))
    found = engine_for(model, Similarity())
    engine: Any = getattr(found, "_engine", found)  # beneath the one that keeps to possible points
    cells, outputs = engine.locate(domain.encode([(0, 0, 0)]))
    search = CxpSearch(engine._at(outputs[0]), cells[0].astype(np.int32), max_size=3, meter=Meter())
    assert list(search.climb(10**9)) == [1, 2, 3]
    assert search.cxps() == [0b011]


def test_a_limit_beyond_all_features_is_none() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    model = TreeSum.of(domain, [nodes_of((0, 0.5, 0, 1)), nodes_of((0, 0.5, 0, 1))], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, max_size=5, budget=Budget(seconds=60)).explain([0])
    assert (e.is_complete, [c.features for c in e.cxps]) == (True, [("a",)])


def test_more_threads_than_there_is_work(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(3)])
    model = TreeSum.of(domain, [nodes_of((i, 0.5, 0, 1)) for i in range(3)], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, budget=Budget(threads=8)).explain([0, 0, 0])
    assert [c.features for c in e.cxps] == [("f0", "f1"), ("f0", "f2"), ("f1", "f2")]


def test_searches_that_go_on_side_by_side_share_no_arrays() -> None:
    """Arrays of a search that has ended are used again, by one search at a time."""
    rng = Random(11)
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 2) for i in range(7)])
    trees = [nodes_of((i, 0.5 + rng.randint(0, 1), 0, rng.choice((1, 2, 3)))) for i in range(7)] * 2
    engine: Any = engine_for(TreeSum.of(domain, trees, rule=Positive((0, 1))), Similarity())
    cells, outputs = engine.locate(domain.encode([(0,) * 7, (0, 0, 1, 0, 0, 0, 0)]))
    assert outputs[0] == outputs[1]

    def begun(k: int) -> CxpSearch:
        return CxpSearch(engine._at(outputs[k]), cells[k].astype(np.int32), max_size=7, meter=Meter())

    alone = []
    for k in (0, 1):
        search = begun(k)
        list(search.climb(10**9))
        alone.append(search.cxps())
        search.give_back()
    both = [begun(0), begun(1)]
    for _ in zip(both[0].climb(10**9), both[1].climb(10**9), strict=False):
        pass
    for search in both:
        list(search.radii(climbing=False))
    assert [set(search.cxps()) for search in both] == [set(found) for found in alone]
    assert alone[0] != alone[1]


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_threads_are_a_positive_number(threads: Any) -> None:
    with pytest.raises(AxfiError, match=r"whole number.*, but .* was given; give one"):
        Budget(threads=threads)
