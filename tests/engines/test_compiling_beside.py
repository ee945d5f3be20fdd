"""A second process leaves kernels on disk, and nothing depends on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from axfi_kc.engines.compiling_beside import SecondProcess
from axfi_kc.engines.ensemble.compiling import laid_out_stump, stump_by_hand

EXPLAIN = """
import axfi_kc as ax
from axfi_kc.models import Positive, TreeNodes, TreeSum
import numpy as np
from axfi_kc.domain.grid import Cut
domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
def stump(f):
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    cuts, values = [Cut(0.0, closed=True), None, None], np.array([[0.0], [-1.0], [1.0]])
    return TreeNodes(np.array([f, -1, -1]), cuts, *children, values)
model = TreeSum.of(domain, [stump(0), stump(1), stump(1)], rule=Positive((0, 1)))
e = ax.Explainer(model, domain).explain((0, 0))
print([sorted(c.features) for c in e.cxps], [str(c.weight) for c in e.cxps])
"""


def _write(path: str) -> None:
    Path(path).write_text("here", encoding="utf-8")


def test_a_function_is_called_there(tmp_path: Path) -> None:
    with SecondProcess() as second:
        second.call(_write, str(tmp_path / "file"))
    assert (tmp_path / "file").read_text(encoding="utf-8") == "here"


def test_nothing_is_waited_for_after_an_error() -> None:
    begin = time.monotonic()
    with suppress(KeyError), SecondProcess() as second:
        second.call(time.sleep, 50)
        raise KeyError
    assert time.monotonic() - begin < 40


@pytest.mark.parametrize("executable", ["", "python-that-is-not-there", "/bin/false"])
def test_where_there_is_no_interpreter_nothing_happens(
    tmp_path: Path, executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with SecondProcess() as second:
        second.call(_write, str(tmp_path / "file"))
    assert not (tmp_path / "file").exists()


def test_the_stump_by_hand_is_what_is_laid_out() -> None:
    by_hand, laid_out = stump_by_hand()._asdict(), laid_out_stump()._asdict()
    assert {name: (a.dtype, a.shape, a.tolist()) for name, a in by_hand.items()} == {
        name: (a.dtype, a.shape, a.tolist()) for name, a in laid_out.items()
    }


def test_the_first_explanation_finds_the_kernels_of_both(tmp_path: Path) -> None:
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", EXPLAIN], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout == "[['b']] ['1/2']\n"
    kept = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert {"cover_kernels.cover", "search_kernels.sweep"} <= kept
