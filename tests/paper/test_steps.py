"""Steps of the study are done once, and again for other settings."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import axfi_kc as ax
from benchmarks.paper.rankings import summary
from benchmarks.paper.steps import Steps, stamp


def test_steps_are_done_once_and_again_for_other_settings(tmp_path: Path) -> None:
    calls: list[int] = []

    def compute() -> Any:
        calls.append(1)
        return {"rows": [(1, 2.5)]}

    steps = Steps(tmp_path, {"seed": 1}, stamp(seed=1))
    assert steps.result("a", compute) == steps.result("a", compute) == {"rows": [[1, 2.5]]}
    assert (len(calls), steps.is_done("a"), steps.is_done("b")) == (1, True, False)
    Steps(tmp_path, {"seed": 2}, stamp(seed=2)).result("a", compute)
    assert len(calls) == 2
    steps.path("a").write_text('{"settings": {"se')  # a damaged file
    steps.result("a", compute)
    assert len(calls) == 3
    written = json.loads(steps.path("a").read_text())
    assert written["stamp"]["versions"]["axfi-kc"] == ax.__version__
    assert summary([Fraction(1, 2), 1]) == {"min": 0.5, "max": 1.0, "mean": 0.75}
