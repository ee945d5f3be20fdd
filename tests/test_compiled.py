"""Kernels are compiled once, kept where the user can write, and say so while they are compiled."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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


def test_without_any_folder_to_write_to(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_folder() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    with caplog.at_level(logging.INFO, logger="axfi_kc"):
        assert compiled.kernel(_total)(np.arange(5)) == 10
    assert sum("kept on disk" in r.getMessage() for r in caplog.records) == 1


def test_a_disk_that_is_full_when_a_kernel_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "_said", set())
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    with caplog.at_level(logging.INFO, logger="axfi_kc"):
        assert compiled.kernel(_total)(np.arange(6)) == 15
    assert sum("kept on disk" in r.getMessage() for r in caplog.records) == 1


def test_every_kernel_falls_back() -> None:
    """numba's own decorator raises where nothing can be written, so that only one module may use it."""
    root = Path(compiled.__file__).parent
    modules = [*root.rglob("*.py"), *(root.parent / "compilers").rglob("*.py")]
    assert [m.name for m in modules if "njit(" in m.read_text(encoding="utf-8")] == ["compiled.py"]


class _Pair(NamedTuple):
    table: Any
    flags: Any


def _visit(P: Any, at: Any, out: Any) -> Any:
    # rows, sizes, entries of every kind of index, narrow and wide, read and written
    row = P.table[at[0]]
    for k in range(row.size):
        row[k] += 2**33 + k - 2**33
        P.flags[k] = row[k] > at[1]
    out[0] = P.table.shape[1] * P.table[np.uint8(1), 2] * 2**20
    out[1] = P.table.size + P.flags[np.uint64(2)]
    return P.table[0, at[2]]


@pytest.mark.parametrize("narrow", [np.int8, np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("flag", [np.bool_, np.uint8, np.float64])
def test_flat_kernels_do_what_python_does(narrow: type, flag: type) -> None:
    at = np.array([1, 4, 2], narrow)
    for kernel in (compiled.flat_kernel(P=_Pair), compiled.flat_kernel()):
        found, expected = (
            (_Pair(np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros(3, flag)), np.zeros(2, np.int64))
            for _ in range(2)
        )
        assert kernel(_visit)(found[0], at, found[1]) == _visit(expected[0], at.astype(np.int64), expected[1])
        assert [a.tolist() for a in (*found[0], found[1])] == [a.tolist() for a in (*expected[0], expected[1])]


def test_flat_kernels_take_contiguous_arrays_only() -> None:
    kernel = compiled.flat_kernel()(_total)
    assert kernel(np.arange(6)) == 15
    with pytest.raises(numba.TypingError):
        kernel(np.arange(6)[::2])


def _third(numbers: Any) -> Any:
    return numbers[2]


def test_flat_kernels_are_kept_under_their_own_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    kernels = [compiled.flat_kernel()(function) for function in (_total, _third)]
    assert [kernel(np.arange(3, 9)) for kernel in kernels] == [33, 5]
    names = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert names == {"test_compiled._total", "test_compiled._third"}
    again = [compiled.flat_kernel()(function) for function in (_third, _total)]
    assert [kernel(np.arange(3, 9)) for kernel in again] == [5, 33]


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


def test_an_interrupt_that_llvm_let_pass_is_one_still(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled.kernel(_total)

    def save(signature: Any, data: Any) -> None:
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(made._cache, "save_overload", save)
    with pytest.raises(KeyboardInterrupt):
        compiled._forgiving(made)(np.arange(3))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """The index and the machine code of a kernel, as a run before has left them on disk."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiled, "_said", set())
    assert compiled.kernel(_total)(np.arange(5)) == 10
    (index,), (code,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    return index, code


def _loaded(kernel: Any) -> bool:
    """Run a kernel, and tell whether its machine code was found on disk."""
    assert kernel(np.arange(5)) == 10
    return bool(kernel.stats.cache_hits)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "one byte": lambda found: found[:1],
    "half": lambda found: found[: len(found) // 2],
    "all but one byte": lambda found: found[:-1],
    "garbage": lambda found: bytes(7 * k % 251 for k in range(len(found))),
    "zeros": lambda found: bytes(len(found)),
    "text": lambda _: b"a disk was full",
    "a pickle of something else": lambda _: pickle.dumps(numba.__version__) + pickle.dumps([1, 2]),
    "another pickle": lambda _: pickle.dumps({"a": 1}),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("which", [0, 1], ids=["index", "code"])
def test_damaged_files_are_compiled_once_more(damage: Any, which: int, kept: tuple[Path, Path]) -> None:
    assert _loaded(compiled.kernel(_total))
    kept[which].write_bytes(damage(kept[which].read_bytes()))
    assert not _loaded(compiled.kernel(_total))
    assert _loaded(compiled.kernel(_total))  # and kept


@pytest.mark.parametrize("which", [0, 1], ids=["index", "code"])
def test_files_that_are_gone_are_compiled_once_more(which: int, kept: tuple[Path, Path]) -> None:
    kept[which].unlink()
    assert not _loaded(compiled.kernel(_total))
    assert _loaded(compiled.kernel(_total))


def test_files_of_another_version_of_numba(kept: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba, "__version__", "0.0.1")
    assert not _loaded(compiled.kernel(_total))
    assert _loaded(compiled.kernel(_total))


def test_damaged_files_that_cannot_be_replaced(
    kept: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where a folder can only be read: each run compiles, and says so."""

    def refused(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    kept[0].write_bytes(b"")
    kernel = compiled.kernel(_total)
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", refused)
    with caplog.at_level(logging.INFO, logger="axfi_kc"):
        assert not _loaded(kernel)
        assert not _loaded(compiled.kernel(_total))
    assert sum("kept on disk" in r.getMessage() for r in caplog.records) == 1


def test_code_for_other_types_is_not_run(kept: tuple[Path, Path]) -> None:
    """Two processes at once may have written it under one name: the index of one of them, the code of the other."""
    floats = np.array([0.5, 0.25])
    index, code = kept
    ints = code.read_bytes()
    index.unlink()
    assert compiled.kernel(_total)(floats) == 0.75
    code.write_bytes(ints)
    assert compiled.kernel(_total)(floats) == 0.75
    assert code.read_bytes() != ints
    again = compiled.kernel(_total)
    assert again(floats) == 0.75
    assert again.stats.cache_hits


def _kept_at_once(folder: str, kind: str, start: str) -> None:
    numba.config.CACHE_DIR = folder
    while not Path(start).exists():
        pass
    assert compiled.kernel(_total)(np.ones(4, dtype=kind)) == 4


def test_processes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = tmp_path / "start"
    context = multiprocessing.get_context("spawn")
    kinds = ("int64", "float64", "int32", "int64")
    processes = [context.Process(target=_kept_at_once, args=(str(tmp_path), kind, str(start))) for kind in kinds]
    for process in processes:
        process.start()
    start.touch()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * len(kinds)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for kind in kinds:
        assert compiled.kernel(_total)(np.ones(4, dtype=kind)) == 4
