"""The same answers from threads, from processes, for every hash seed and every number of workers."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.explanations import workers as sharing
from tests.support.kinds import NAMES, Kind, kind

THREADS, PROCESSES = 8, 4
TARGETS = ("mdd", "obdd", "sdd", "ddnnf")
SEEDED = ("function", "table", "circuit", "tree", "forest", "boosted classes", "linear")


def explainer_of(made: Kind, target: str = "auto") -> ax.Explainer:
    return ax.Explainer(made.model, made.domain, delta=made.delta, target=target)


def texts(explainer: ax.Explainer, rows: tuple[Any, ...]) -> list[str]:
    return [explainer.explain(row).to_json(axps=True) for row in rows]


def all_texts(explainers: list[tuple[ax.Explainer, tuple[Any, ...]]]) -> list[list[str]]:
    return [texts(explainer, rows) for explainer, rows in explainers]


def in_threads(explainer: ax.Explainer, rows: tuple[Any, ...]) -> list[list[str]]:
    """Explain all rows in each thread, each beginning with another row, all at the same moment."""
    barrier = Barrier(THREADS)

    def work(number: int) -> list[str]:
        barrier.wait()
        order = [(number + k) % len(rows) for k in range(len(rows))]
        found = dict(zip(order, texts(explainer, tuple(rows[k] for k in order)), strict=True))
        return [found[k] for k in range(len(rows))]

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, range(THREADS)))


@pytest.mark.parametrize("name", NAMES)
def test_threads_that_share_an_explainer(name: str) -> None:
    made = kind(name)
    expected = texts(explainer_of(made), made.rows)
    for found in in_threads(explainer_of(made), made.rows):
        assert found == expected


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["function", "circuit", "tree regression"])
def test_threads_that_share_compiled_circuits(name: str, target: str) -> None:
    made = kind(name)
    expected = texts(explainer_of(made), made.rows)
    for found in in_threads(explainer_of(made, target), made.rows):
        assert found == expected


def test_processes_that_share_an_explainer() -> None:
    joblib = pytest.importorskip("joblib")
    kinds = [kind(name) for name in ("function", "circuit", "forest", "linear")]
    explainers = [(explainer_of(made), made.rows) for made in kinds]
    # Other processes get the neutral form: what the model itself says of its surety stays behind.
    expected = all_texts(pickle.loads(pickle.dumps([(e, rows) for e, rows in explainers])))
    assert "probability" in texts(*explainers[2])[0]
    assert "probability" not in expected[2][0]
    found = joblib.Parallel(n_jobs=PROCESSES)(joblib.delayed(all_texts)(explainers) for _ in range(PROCESSES))
    assert found == [expected] * PROCESSES


@pytest.mark.parametrize("name", ["forest", "xgboost classes", "linear", "tree"])
def test_any_number_of_workers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kind(name)
    monkeypatch.setattr("axfi_kc.explanations.explainer._ROWS_AT_ONCE", 2)
    explainer = explainer_of(made)
    one = [e.to_json() for e in explainer.explain_batch(list(made.rows), n_jobs=1, progress=False)]
    assert one == [e.to_json() for e in explainer.explain_batch(list(made.rows), n_jobs=3, progress=False)]
    assert one == [explainer.explain(row).to_json() for row in made.rows]


def digest() -> str:
    """Return a hash of the answers for several kinds of models, trained anew."""
    whole = hashlib.sha256()
    for name in SEEDED:
        for text in texts(explainer_of(kind(name)), kind(name).rows):
            whole.update(text.encode())
    return whole.hexdigest()


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_any_hash_seed(seed: str) -> None:
    root = Path(__file__).parents[2]
    code = "from tests.explanations.test_workers import digest; print(digest())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest()


def test_threads_that_share_out_work() -> None:
    def work(number: int) -> None:
        for k in range(300):
            sharing._hold(f"{number} {k}", k)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert len(sharing._held) <= sharing._KEPT
    sharing._held.clear()


class Heavy:
    """A function whose pickles and copies are counted."""

    pickled = 0

    def __init__(self, size: int) -> None:
        self.data = np.zeros(size, dtype=np.uint8)

    def __getstate__(self) -> dict:
        Heavy.pickled += 1
        return vars(self)

    def __call__(self, k: int) -> tuple[int, int, int]:
        return os.getpid(), id(self), k


def test_a_model_travels_once() -> None:
    Heavy.pickled = 0
    found = list(sharing.in_workers(Heavy(3_000_000), ((k,) for k in range(40)), n_jobs=2))
    assert Heavy.pickled == 1
    assert [k for _, _, k in found] == list(range(40))
    assert len({(pid, copy) for pid, copy, _ in found}) == len({pid for pid, _, _ in found})  # one copy per process
    assert os.getpid() not in {pid for pid, _, _ in found}


def test_a_pickled_explainer_leaves_the_model_behind() -> None:
    made = ax.Explainer(lambda p: p[0] and p[1], ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)]))
    again = pickle.loads(pickle.dumps(made))
    assert again.explain((1, 1)).cxps == made.explain((1, 1)).cxps
