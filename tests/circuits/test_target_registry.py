"""The registry of targets: a name is taken once."""

from __future__ import annotations

import pytest

from axfi_kc.circuits import targets
from axfi_kc.errors import UnsupportedTargetError


@pytest.mark.parametrize("name", ["mdd", "auto"])
def test_a_name_is_taken_once(name: str) -> None:
    with pytest.raises(UnsupportedTargetError, match=f"a name of its own, but {name!r} is taken"):
        targets.register(targets.Language(name, targets.mdd_of))
