"""Killed at random, or several at once: nothing is lost, unreadable or different."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")


def counts(what: str, n: int) -> dict[str, dict[str, int]]:
    """Run it in a process of its own: one with the threads of a test runner is no good to fork."""
    command = [sys.executable, "-m", "tests.faults.killing", what, str(n)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    sys.stdout.write(done.stdout)
    lines = (line.partition(": ") for line in done.stdout.splitlines())
    return {name: {w: int(n) for n, w in (c.split(" ", 1) for c in row.split(", "))} for name, _, row in lines}


@pytest.mark.parametrize("kills", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_kills_at_random(kills: int) -> None:
    found = counts("kills", kills)["one writer"]
    assert found["kills"] >= kills
    assert found["kills within the rows"] > kills // 20


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_two_and_four_writers_at_once(rounds: int) -> None:
    found = counts("writers", rounds)
    for name, row in found.items():
        assert row["rounds"] == rounds, name
        assert row["wrote"] >= rounds
        assert row.get("kept out", 0) + row.get("found another run", 0) > 0
