"""Budgets stop every long operation, Ctrl-C leaves a usable process, and failed compilations give memory back.

Clocks are compared with generous factors: other programs may be using the machine. `benchmarks/budgets.py`
measures how far budgets are exceeded.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc import queries
from axfi_kc.budget import Budget, BudgetSpent, Watch
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.families import SetFamily
from axfi_kc.models import CircuitModel
from axfi_kc.sets import minimal_hitting_sets
from axfi_kc.targets import TARGETS, mdd_of
from tests import hard_problems as hard
from tests.large_circuits import deterministic_dag

SECONDS, MOST = 0.2, 8.0


def _explain(model: Any, x: Any, budget: Budget, **options: Any) -> Any:
    return ax.Explainer(model, model.domain, budget=budget, **options).explain(x)


OPERATIONS: dict[str, Callable[[Budget], Any]] = {
    "ensemble": lambda b: _explain(*hard.boosted(), b),
    "linear": lambda b: _explain(hard.weighted_bits(), [0] * 60, b),
    "linear of three classes": lambda b: _explain(*hard.classes(), b),
    "linear through mdd": lambda b: _explain(hard.weighted_bits(), [0] * 60, b, target="mdd"),
    "checked count": lambda b: queries.count(deterministic_dag(30_000, n_features=300), check=True, budget=b),
    "circuit model": lambda b: CircuitModel.of(hard.hidden_pair(), budget=b),
    "mdd of clauses": lambda b: mdd_of(hard.hidden_pair(), budget=b),
    "hitting sets": lambda b: minimal_hitting_sets(hard.crossing_sets(), budget=b),
    "family of hitting sets": lambda b: SetFamily.of(hard.crossing_sets()).hitting_sets(budget=b),
    **{
        f"compile to {target}": lambda b, target=target: ax.compile_model(
            hard.weighted_bits(), hard.bits(60), target=target, budget=b
        )
        for target in TARGETS
    },
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_seconds_are_honoured(name: str) -> None:
    begin = perf_counter()
    with pytest.raises((BudgetError, BudgetSpent)):
        OPERATIONS[name](Budget(seconds=SECONDS))
    assert perf_counter() - begin < MOST


@pytest.mark.parametrize("name", OPERATIONS)
def test_nodes_are_honoured(name: str) -> None:
    with pytest.raises((BudgetError, BudgetSpent)) as caught:
        OPERATIONS[name](Budget(nodes=1000))
    if isinstance(caught.value, BudgetError):
        assert caught.value.nodes <= 100_000  # a table of one feature's values may be counted at once


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_are_honoured(target: str) -> None:
    with pytest.raises(BudgetError):
        ax.compile_model(hard.weighted_bits(), hard.bits(60), target=target, budget=Budget(bytes=8 << 20, seconds=60))


def test_a_budget_is_one_of_all_instances_or_of_each() -> None:
    """An engine with a limit explains as one without."""
    model, x = hard.classes(6)
    rows = [x, [1.0] * 6, [0.5] * 6]
    free, limited = (ax.Explainer(model, model.domain, budget=b) for b in (None, Budget(seconds=60, bytes=1 << 30)))
    assert [e.cxps for e in free.explain_batch(rows)] == [e.cxps for e in limited.explain_batch(rows)]


def test_a_search_that_needs_several_attempts_finds_everything() -> None:
    model, x = hard.classes(17)  # more candidates than the first attempt may meet
    free, limited = (
        ax.Explainer(model, model.domain, weights="unit", budget=b).explain(x) for b in (None, Budget(seconds=600))
    )
    assert len(free.cxps) > 1 << 13
    assert free.cxps == limited.cxps


def test_steps_share_one_budget() -> None:
    watch = Watch(Budget(seconds=60, nodes=10, bytes=1 << 40))
    rest = watch.rest(4)
    assert rest.seconds is not None
    assert 0 < rest.seconds <= 60
    assert (rest.nodes, Watch(Budget(nodes=3)).rest(7).nodes) == (6, 1)
    assert rest.bytes is not None
    assert rest.bytes > 0
    assert Watch().rest() == Budget()
    assert Watch(Budget(seconds=1e-9)).is_spent()
    assert not Watch(Budget(nodes=3)).is_spent(3)
    assert Watch(Budget(nodes=3)).is_spent(4)


def test_limits_must_be_positive() -> None:
    for name in ("seconds", "nodes", "bytes"):
        with pytest.raises(DomainError, match=name):
            Budget(**{name: 0})


@pytest.mark.parametrize("target", TARGETS)
def test_a_failed_compilation_gives_its_memory_back(target: str) -> None:
    model, domain = hard.weighted_bits(), hard.bits(60)

    def failed() -> BudgetError:
        try:
            ax.compile_model(model, domain, target=target, budget=Budget(nodes=20_000))
        except BudgetError as error:
            return error
        raise AssertionError

    failed()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = failed()  # with its traceback
    gc.collect()
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept.nodes >= 20_000
    assert peak - before > 3_000_000
    assert now - before < (peak - before) / 4


_INTERRUPTED = """
    import os, random, signal, sys, threading, time
    import axfi_kc as ax
    from tests import hard_problems as hard

    def answer(target):
        model, x = hard.boosted(8, 12, 3)
        e = ax.Explainer(model, model.domain, target=target).explain(x)
        return e.prediction, e.cxps, e.axps, e.scores("banzhaf")

    rng, model, middle = random.Random(1), *hard.boosted()
    expected = {target: answer(target) for target in ("auto", "mdd")}
    linear, small = hard.weighted_bits(40), hard.weighted_bits(6)
    ax.Explainer(small, small.domain).explain([0] * 6)  # numba makes a SystemError of Ctrl-C while it loads a kernel
    works = [
        lambda: ax.Explainer(model, model.domain).explain(middle),
        lambda: ax.compile_model(model, model.domain),
        lambda: ax.compile_model(linear, linear.domain, target="obdd"),
        lambda: ax.compile_model(linear, linear.domain, target="sdd"),
        lambda: ax.Explainer(linear, linear.domain).explain([0] * 40),
    ]
    stopped = 0
    for work in works:
        timer = threading.Timer(rng.uniform(0.05, 0.6), os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            work()
            timer.join()
            time.sleep(0.05)
        except KeyboardInterrupt:
            stopped += 1
        except ax.AxfiError:
            timer.cancel()
    assert stopped >= 3, stopped
    for target, before in expected.items():
        assert answer(target) == before
    print("usable")
"""


def test_ctrl_c_at_any_moment_leaves_the_process_usable() -> None:
    code = textwrap.dedent(_INTERRUPTED)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout.strip(), done.returncode) == ("usable", 0), done.stderr[-2000:]
