"""Where thresholds on the result of a step lie on the number that goes in, against trying every float."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from axfi_kc.compilers.readers.pipeline_steps import (
    Step,
    arithmetic,
    clipped,
    constant,
    equal_to,
    met,
    relative,
    replaced,
)
from axfi_kc.errors import UnsupportedModelError

START = 1.25


def floats(n: int) -> np.ndarray:
    return (np.float64(START).view(np.int64) + np.arange(n)).view(np.float64)


def wobbly(x: np.ndarray) -> np.ndarray:
    """Return x, some results a few units in the last place off."""
    return (x.view(np.int64) + (x.view(np.int64) * 7919 % 7) - 3).view(np.float64)


def falling(x: np.ndarray) -> np.ndarray:
    return -wobbly(x)


STEPS: list[list[Step]] = [
    [arithmetic("multiply", 0.1, "")],
    [arithmetic("subtract", 1.25, ""), arithmetic("divide", 3e-13, "")],
    [arithmetic("multiply", -7.3, ""), arithmetic("add", 11.0, "")],
    [clipped(1.2500000000000002, 1.2500000000001, "")],
    [constant(3.0, "")],
    [equal_to(floats(300)[211], "")],
    [replaced(floats(300)[7], floats(300)[250], ""), arithmetic("divide", 3.0, "")],
    [Step(wobbly, "", error=relative)],
    [Step(falling, "", error=relative), arithmetic("add", 1.25, "")],
    [arithmetic("divide", 7.0, ""), Step(wobbly, "", error=relative), arithmetic("multiply", 5.0, "")],
    [Step(np.abs, "", breaks=(0.0,)), Step(wobbly, "", error=relative), Step(wobbly, "", error=relative)],
]


@pytest.mark.parametrize("steps", STEPS)
def test_thresholds_are_met_where_they_are(steps: list[Step]) -> None:
    x = floats(500)
    results = x
    for step in steps:
        results = step.at(results)
    thresholds = np.unique(results)[::9]
    found = set(met(steps, thresholds.tolist(), x[0], x[-1]).tolist())
    for t in thresholds:
        left = results <= t
        assert set(x[:-1][left[1:] != left[:-1]].tolist()) <= found
    assert len(found) <= 500


def test_signs_and_zeros() -> None:
    steps = [replaced(-0.0, 5.0, ""), arithmetic("add", 1.0, "")]
    assert met(steps, [3.0], -1.0, 1.0).tolist() == [-5e-324, 0.0]
    assert met([Step(np.square, "", breaks=(0.0,))], [0.25], -1.0, 1.0).tolist() == [-0.5000000000000001, 0.0, 0.5]
    assert met([constant(1.0, "")], [0.5, 1.0, 2.0], -1.0, 1.0).tolist() == []


def test_a_flat_function_is_refused() -> None:
    flat: Any = Step(lambda x: 1 + x * 1e-9, "The step", error=relative)
    with pytest.raises(UnsupportedModelError, match="The step is too flat near"):
        met([flat], [1 + 5e-10], 0.25, 1.0)
