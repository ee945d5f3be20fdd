"""Kernels are compiled once, kept where the user can write, and say so while they are compiled."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba")
import numba
from numba.core.caching import CacheImpl, UserProvidedCacheLocator

from axfi_kc import compiled
from axfi_kc.cli import main


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installation that cannot be written, and a user without a cache; the folder of temporary files."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [UserProvidedCacheLocator])
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(compiled, "_said", set())
    return tmp_path


def _total(numbers: Any) -> Any:
    found = 0
    for k in range(numbers.shape[0]):
        found += numbers[k]
    return found


def test_kernels_are_kept_among_temporary_files(nowhere: Path) -> None:
    with pytest.raises(RuntimeError, match="no locator"):
        numba.njit(cache=True)(_total)
    assert compiled.kernel(_total)(np.arange(5)) == 10
    (folder,) = nowhere.iterdir()
    assert list(folder.rglob("*.nbc"))
    assert numba.config.CACHE_DIR == ""
    if hasattr(os, "getuid"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_write_is_not_used(nowhere: Path, caplog: pytest.LogCaptureFixture) -> None:
    if not hasattr(os, "getuid"):
        pytest.skip("no users here")
    (nowhere / f"axfi-kc-kernels-{os.getuid()}").mkdir(mode=0o777)
    (nowhere / f"axfi-kc-kernels-{os.getuid()}").chmod(0o777)
    with caplog.at_level(logging.INFO, logger="axfi_kc"):
        kernels = [compiled.kernel(_total), compiled.kernel(_total)]
    assert [k(np.arange(4)) for k in kernels] == [6, 6]
    assert not list(nowhere.rglob("*.nbc"))
    assert [r.getMessage() for r in caplog.records if "kept on disk" in r.getMessage()] == [
        "kernels cannot be kept on disk here and are compiled in each run; set NUMBA_CACHE_DIR to a folder"
    ]


def test_compiling_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiled, "_said", set())
    function = type(_total)(_total.__code__, globals(), "_total")
    function.__module__ = "axfi_kc.toy_kernels"
    with caplog.at_level(logging.INFO, logger="axfi_kc"):
        compiled.part(function)
        kernel = numba.njit(function)
        kernel(np.arange(3)), kernel(np.arange(3.0))
    assert sum("compiling kernels" in r.getMessage() for r in caplog.records) == 1
    assert capsys.readouterr() == ("", "")  # nothing on what is no terminal


def test_warm_up_goes_through_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm-up"]) == 0
    said = capsys.readouterr().out
    assert all(kind in said for kind in ("tree", "ensemble", "linear", "circuit"))
