"""Every call that changes a file goes wrong once, in every way: nothing is lost, unreadable or silently different."""

from __future__ import annotations

import pytest

from tests.faults.scenes import SCENES, strike_all
from tests.support.faulty_disk import FAULTS

STEP = 7  # prime to the number of faults, so that each call and each fault has its turn


@pytest.mark.parametrize("name", SCENES)
def test_every_seventh_fault(tmp_path, name: str) -> None:
    shift = list(SCENES).index(name)
    assert strike_all(SCENES[name], tmp_path / "here", FAULTS, step=STEP, shift=shift).total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_every_fault(tmp_path, name: str) -> None:
    ended = strike_all(SCENES[name], tmp_path / "here", FAULTS)
    assert min(ended["crash"], ended["error"]) > 0
