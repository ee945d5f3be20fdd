"""The registry of targets: a name is taken once."""

from __future__ import annotations

import pytest

from axfi_kc.circuits import targets
from axfi_kc.errors import UnsupportedTargetError


@pytest.mark.parametrize("name", ["mdd", "auto", "", "a b", None, 5])
def test_a_name_is_an_identifier_and_taken_once(name: str) -> None:
    with pytest.raises(UnsupportedTargetError, match=f"a name that no other has, but {name!r} was given"):
        targets.register(targets.Language(name, targets.mdd_of))


@pytest.mark.parametrize("name", ["mdd", "nope"])
def test_only_what_was_registered_can_be_forgotten(name: str) -> None:
    with pytest.raises(UnsupportedTargetError, match=f"but {name!r} was given"):
        targets.unregister(name)
    assert "mdd" in targets.TARGETS
