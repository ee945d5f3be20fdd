"""The search from large sets alone, against brute force: CXps and AXps, alone and in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget, Meter, Progress, listening
from axfi_kc.engines import engine_for
from axfi_kc.engines.ensemble import EnsembleEngine, compiling, cxp_search, dualizing, workers
from axfi_kc.engines.ensemble.cxp_search import CxpSearch
from axfi_kc.engines.ensemble.workers import Worker, minimal
from axfi_kc.engines.found import masks_of_words
from axfi_kc.families.masks import minimal_hitting_sets
from axfi_kc.models import Positive, Similarity, TreeSum
from tests.support import random_problems
from tests.support.small_trees import nodes_of


def _search(model: Any, point: Any, *, delta: Any = None, budget: Budget | None = None) -> CxpSearch:
    engine: Any = engine_for(model, Similarity.of(model, delta))
    assert isinstance(engine, EnsembleEngine)
    cells, outputs = engine.locate(model.domain.encode([point]))
    v = cells[0].astype(np.int32)
    return CxpSearch(engine._at(outputs[0]), v, max_size=len(v), meter=Meter(budget))


def _ended(search: CxpSearch, nodes: int = 10**9, pool: Any = None) -> tuple[set[int], set[int]]:
    """Search from large sets alone, so many nodes at a time; return the CXps and the AXps."""
    while not search.dualize(nodes, pool):
        pass
    search.radius = len(search._around.v)
    assert search._dual is not None
    axps = set()
    for thread in search._dual._threads:
        axps |= set(masks_of_words(minimal(thread.axps, search.radius)))
    return set(search.cxps()), axps


@pytest.mark.parametrize("nodes", [1, 3, 10**9])
@pytest.mark.parametrize("seed", range(24))
def test_both_families_are_those_of_brute_force(seed: int, nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one score or several, stopped after every few nodes, too, with families that grow from nothing."""
    monkeypatch.setattr(workers, "_FIRST_SETS", 1)
    monkeypatch.setattr(workers, "_FEW_SETS", 2)
    monkeypatch.setattr(dualizing, "_FIRST", 1)
    rng = Random(seed)
    truth = random_problems.random_truth(rng, "ensemble", n_instances=3)
    for place in truth.instances:
        cxps = set(truth.answer(place).weights("unit"))
        found = _ended(_search(truth.model, truth.point(place), delta=truth.delta), nodes)
        assert found == (cxps, set(minimal_hitting_sets(cxps)) if cxps else {0})


def _hard(n: int, rng: Random, cells: int = 8) -> TreeSum:
    """Return many trees over few features, whose thresholds are all over the place."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, cells - 1) for i in range(n)])

    def tree(depth: int) -> Any:
        if not depth:
            return rng.choice((-4, -1, 0, 1, 2))
        return (rng.randrange(n), rng.randrange(cells - 1) + 0.5, tree(depth - 1), tree(depth - 1))

    return TreeSum.of(domain, [nodes_of(tree(5)) for _ in range(24)], rule=Positive((0, 1)))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_long_questions_and_threads_find_what_the_sweep_does(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long enough for cuts that are chosen with care, for parts that are given away, and for news of others."""
    monkeypatch.setattr(Worker, "ROUND", 64)
    monkeypatch.setattr(cxp_search, "_STRETCH", 1)
    for seed in range(4):
        model = _hard(12, Random(seed))
        point = [0] * 12
        swept = _search(model, point)
        assert swept._swept(10**9, None)
        swept.radius = 12
        search = _search(model, point, budget=Budget(threads=threads))
        with ThreadPoolExecutor(threads) as pool:
            cxps, axps = _ended(search, pool=pool if threads > 1 else None)
        assert cxps == set(swept.cxps())
        # What several threads leave out may be more than an AXp, but each of these is there.
        assert axps >= set(minimal_hitting_sets(cxps))
        assert threads > 1 or axps == set(minimal_hitting_sets(cxps))
        assert search._meter.nodes > 2000


def test_more_features_than_a_word_holds() -> None:
    """Pairs of features of which one has to change; 70 features."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(70)])
    trees = [nodes_of((i, 0.5, 0.5, (69 - i, 0.5, 0.5, 1.5))) for i in range(9)]  # half a unit is taken off
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)))
    cxps, axps = _ended(_search(model, [0] * 70))
    assert cxps == {1 << i | 1 << 69 - i for i in range(9)}
    assert axps == set(minimal_hitting_sets(cxps))
    assert len(axps) == 2**9


def test_a_sweep_that_looks_in_vain_is_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that does not is left alone; both give the same."""
    model = _hard(12, Random(1))
    monkeypatch.setattr(cxp_search, "_PATIENCE", 100)
    found = {}
    for poor in (1, 10**9):
        monkeypatch.setattr(cxp_search, "_POOR", poor)
        search = _search(model, [0] * 12)
        assert list(search.radii(climbing=False)) == [12]
        assert (search._dual is None) == (poor > 1)
        found[poor] = set(search.cxps())
    assert found[1] == found[10**9]


def test_small_sets_are_not_looked_for_among_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cxp_search, "_PATIENCE", 1)
    monkeypatch.setattr(cxp_search, "_POOR", 0)
    engine: Any = engine_for(_hard(8, Random(0)), Similarity())
    cells, outputs = engine.locate(np.zeros((1, 8)))
    search = CxpSearch(engine._at(outputs[0]), cells[0].astype(np.int32), max_size=2, meter=Meter())
    assert list(search.radii(climbing=True))[-1] == 2
    assert search._dual is None


def test_compiling_is_nobodys_time_and_nobodys_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that needs other kernels waits for them as long as it takes, within the same budget."""
    ask = compiling._ask

    def slowly(questions: Any) -> None:
        sleep(0.6 if questions else 0)
        ask(questions)

    model, heard = _hard(12, Random(1)), list[Progress]()
    ax.Explainer(model, model.domain).explain([0] * 12)  # all other kernels are there
    monkeypatch.setattr(compiling, "_ask", slowly)
    monkeypatch.setattr(cxp_search, "_PATIENCE", 100)
    monkeypatch.setattr(cxp_search, "_POOR", 0)
    for ends in ("raise", "radius"):
        monkeypatch.setattr(compiling, "_compiled", compiling._compiled - {"CXps from large sets"})
        begin = perf_counter()
        explainer = ax.Explainer(model, model.domain, budget=Budget(seconds=0.5), on_budget=ends)
        assert explainer.explain([0] * 12).is_complete
        assert perf_counter() - begin > 0.6
    monkeypatch.setattr(compiling, "_compiled", compiling._compiled - {"CXps from large sets"})
    with listening(heard.append):
        assert list(_search(model, [0] * 12).radii(climbing=False)) == [12]
    nodes = [progress.nodes for progress in heard]
    assert len(nodes) > 2
    assert nodes == sorted(nodes)
