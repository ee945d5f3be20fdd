"""Ctrl-C while several threads search: a KeyboardInterrupt each time, never a lock that stays closed."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROBLEM = """
import faulthandler, os, signal, time
from random import Random
import numpy as np
import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Positive, TreeNodes, TreeSum

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs behind it ignore Ctrl-C
rng = Random(0)
domain = ax.Domain([ax.Integer(f"f{i}", 0, 3) for i in range(12)])

def tree():
    a, b, c = rng.sample(range(12), 3)
    cuts = [Cut(rng.randint(0, 2), closed=True) for _ in range(3)]
    values = np.array([[0.0]] * 3 + [[rng.uniform(-1, 1)] for _ in range(4)])
    children = np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1])
    return TreeNodes(np.array([a, b, c, -1, -1, -1, -1]), [*cuts, None, None, None, None], *children, values)

model = TreeSum.of(domain, [tree() for _ in range(40)], rule=Positive((0, 1)))
"""
INTERRUPT = """
explainer = ax.Explainer(model, domain, budget=ax.Budget(threads=4), max_size=4)
x = (0,) * 12
right = [c.features for c in explainer.explain(x).cxps]
begin = time.perf_counter()
explainer.explain(x)
usual = time.perf_counter() - begin
faulthandler.dump_traceback_later(60, exit=True)
signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
came = 0
while came < 150:
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, usual))
        explainer.explain(x)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        came += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print([c.features for c in explainer.explain(x).cxps] == right, len(right) > 0)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no timer that sends a signal")
def test_an_interrupt_at_any_moment_leaves_no_thread_waiting() -> None:
    done = run(PROBLEM + INTERRUPT)
    assert done.stdout == "True True\n", done.stderr[-3000:]


LATE = """
from axfi_kc.engines.ensemble import search

faulthandler.dump_traceback_later(60, exit=True)
explainer = ax.Explainer(model, domain, budget=ax.Budget(seconds=0.2, threads=2), max_size=2)
x = (0,) * 12
right = len(explainer.explain(x).cxps)
begin_covering = search._Cover.__init__

def begin_late(*arguments, **options):
    time.sleep(0.3)
    begin_covering(*arguments, **options)

search._Cover.__init__ = begin_late
try:
    print(len(explainer.explain(x).cxps) <= right)
except ax.errors.BudgetError as error:
    print("The budget was spent" in str(error), error)
"""


def test_threads_do_not_wait_for_ever_for_a_clock_that_ran_out_before_they_began() -> None:
    done = run(PROBLEM + LATE)
    assert done.stdout.startswith("True"), done.stdout + done.stderr[-3000:]
