"""Everything that writes files, to be disturbed at every call, gone on with, and compared with an undisturbed run."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import axfi_kc as ax
from axfi_kc.errors import AxfiWarning, FileWriteError, ResultFileError
from axfi_kc.explanations.files import streaming
from axfi_kc.explanations.files.stores import store_at
from axfi_kc.explanations.page import write_report
from tests.support.faulty_disk import CRASHES, CUTS, ERRORS, HARMLESS, Crash, FaultyDisk, on

ROWS, BLOCK = 22, 4
Snapshot = dict[str, bytes]


def explainer(**options: Any) -> ax.Explainer:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9), ax.Categorical("c", "xyz")])
    return ax.Explainer(lambda p: int(p[0] + p[1] > 9) + 2 * int(p[2] == "y" and p[0] > 5), domain, **options)


@cache
def made(**options: Any) -> ax.Explainer:
    return explainer(**options)


def rows(n: int = ROWS) -> list[dict[str, Any]]:
    random = np.random.default_rng(0)
    return [{"a": int(random.integers(10)), "b": int(random.integers(10)), "c": "xyz"[k % 3]} for k in range(n)]


@contextmanager
def equal_blocks() -> Iterator[None]:
    """Let blocks be of the same size in every run, so that parts are the same files."""
    names = {"_LEAST_ROWS": BLOCK, "_MOST_ROWS": BLOCK, "_BLOCK_SECONDS": 1e9}
    before = {name: getattr(streaming, name) for name in names}
    vars(streaming).update(names)
    try:
        yield
    finally:
        vars(streaming).update(before)


def snapshot(folder: Path) -> Snapshot:
    """Return the content of each file; temporary files of whole files that a crash left are of no use to anybody."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.startswith(".axfi-")]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


@dataclass(frozen=True)
class Scene:
    """Something that writes files.

    Attributes
    ----------
    before
        What was there.
    act
        What writes.
    judge
        Checks what a disturbed run left: given the folder, what an undisturbed one leaves and what was there before, it
        returns how much can be read.
    is_durable
        Whether not even a power cut may take what was written.
    """

    name: str
    act: Callable[[Path], Any]
    before: Callable[[Path], Any]
    judge: Callable[[Path, Snapshot, Snapshot], int]
    is_durable: bool = True


def quietly(act: Callable[[Path], Any], folder: Path) -> None:
    """Act without warnings and by a clock that stands still: pages say at which minute they were made."""
    with warnings.catch_warnings(), equal_blocks(), patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        warnings.simplefilter("ignore", AxfiWarning)
        act(folder)


def _nothing(folder: Path) -> None:
    pass


# Streams.


@dataclass
class Found:
    """How many blocks a run has asked for: all but the last of them are in the file."""

    blocks: int = 0


FOUND = Found()


def stream(folder: Path, suffix: str, *, durable: bool = True) -> None:
    own = explainer()
    find, FOUND.blocks = own._find, 0

    def counting(codes: Any, *located: Any) -> Any:
        FOUND.blocks += 1
        return find(codes, *located)

    own._find = counting  # type: ignore[method-assign]
    own.explain_to(folder / f"out.{suffix}", rows(), durable=durable, progress=False)


def _records(path: Path) -> list[str]:
    return [json.dumps(record) for record in store_at(path).records()]


@cache
def _right_rows(suffix: str) -> list[str]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        quietly(lambda f: stream(f, suffix), Path(folder))
        return _records(Path(folder, f"out.{suffix}"))


def judge_stream(suffix: str, *, was_damaged: bool = False) -> Callable[[Path, Snapshot, Snapshot], int]:
    def judge(folder: Path, right: Snapshot, before: Snapshot) -> int:
        path = folder / f"out.{suffix}"
        try:
            found = _records(path)
        except ResultFileError:
            if was_damaged:
                return 0  # said in a sentence, and mended by the next run
            assert path.is_dir() or not path.exists() or len(path.read_bytes().splitlines()) <= 1  # no header yet
            return 0
        assert found == _right_rows(suffix)[: len(found)]
        return len(found)

    return judge


def _half(suffix: str) -> Callable[[Path], None]:
    """Return what leaves a stream that was stopped half way, in the middle of a line or with an unfinished part."""

    def leave(folder: Path) -> None:
        stream(folder, suffix)
        path = folder / f"out.{suffix}"
        if suffix == "jsonl":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        else:
            for part in sorted(path.glob("part-*"))[2:]:
                part.unlink()
            (path / ".unfinished.tmp").write_bytes(b"PAR1")

    return leave


def _damaged(suffix: str) -> Callable[[Path], None]:
    """Return what leaves a whole stream with damage in the middle."""

    def leave(folder: Path) -> None:
        stream(folder, suffix)
        path = folder / f"out.{suffix}"
        if suffix == "jsonl":
            lines = path.read_bytes().splitlines(keepends=True)
            lines[6] = lines[6].replace(b'"weight"', b'"height"')
            del lines[13]
            path.write_bytes(b"".join(lines))
        else:
            parts = sorted(path.glob("part-*"))
            parts[1].unlink()
            parts[3].write_bytes(parts[3].read_bytes()[:-1])

    return leave


def _streams() -> Iterator[Scene]:
    for suffix in ("jsonl", "parquet"):
        for durable in (True, False):

            def act(folder: Path, suffix: str = suffix, durable: bool = durable) -> None:
                stream(folder, suffix, durable=durable)

            how = suffix if durable else f"{suffix}, not waited for"
            loose = judge_stream(suffix, was_damaged=not durable)
            yield Scene(f"stream, {how}", act, _nothing, loose, is_durable=durable)
            yield Scene(f"stream gone on with, {how}", act, _half(suffix), loose, is_durable=durable)
        mended = judge_stream(suffix, was_damaged=True)
        yield Scene(f"stream mended, {suffix}", lambda f, s=suffix: stream(f, s), _damaged(suffix), mended)


# Whole files.


def old_or_new(folder: Path, right: Snapshot, before: Snapshot) -> int:
    found = snapshot(folder)
    assert found in (right, before), sorted(found)
    return int(found == right)


def loads(folder: Path, right: Snapshot, before: Snapshot) -> int:
    """Check that the diagram in a folder is the old or the new one, with the vtree that belongs to it or none."""
    found = snapshot(folder)
    if "a.sdd" not in found:
        assert not before
        return 0
    whole = right if found["a.sdd"] == right["a.sdd"] else before
    assert found["a.sdd"] == whole["a.sdd"]
    assert found.get("a.vtree", whole["a.vtree"]) == whole["a.vtree"]
    ax.load_circuit(folder / "a.sdd")
    return int(found == right)


@cache
def _compiled(target: str, threshold: int) -> Any:
    return ax.compile_model(
        lambda p: p[0] + p[1] > threshold, ax.Domain([ax.Integer("a", 0, 4), ax.Integer("b", 0, 3)]), target=target
    )


@cache
def _explained(n: int) -> Any:
    return made().explain(rows()[n])


@cache
def _distribution(n: int) -> Any:
    return ax.Product.of(ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, n + 1)]))


def _whole_files() -> Iterator[Scene]:
    saves: dict[str, Callable[[Path, int], Any]] = {
        "report.html": lambda p, n: write_report(_explained(n), p),
        "forest.dot": lambda p, n: _explained(n).forest.to_dot(p),
        "forest.graphml": lambda p, n: _explained(n).forest.to_graphml(p),
        "examples.nnf": lambda p, n: _explained(n).circuit().save(p),
        "a.nnf": lambda p, n: _compiled("mdd", n + 1).save(p),
        "a.cnf": lambda p, n: _compiled("mdd", n + 1).save(p),
        "a.dddmp": lambda p, n: _compiled("obdd", n + 1).save(p),
        "a.json": lambda p, n: _compiled("obdd", n + 1).save(p),
        "distribution.json": lambda p, n: _distribution(n).save(p),
        "a.sdd": lambda p, n: _compiled("sdd", n + 1).save(p),
    }
    for name, save in saves.items():
        judge = loads if name == "a.sdd" else old_or_new
        for there, before in (("", _nothing), (" over another", lambda f, n=name, s=save: s(f / n, 1))):
            yield Scene(f"{name}{there}", lambda f, n=name, s=save: s(f / n, 0), before, judge)


SCENES = {scene.name: scene for scene in (*_streams(), *_whole_files())}


# Disturbing them.


@dataclass(frozen=True)
class Prepared:
    """A scene, what was there before, what it leaves undisturbed, and the calls it makes."""

    scene: Scene
    before: Snapshot
    right: Snapshot
    calls: tuple[str, ...]


def prepared(scene: Scene, folder: Path) -> Prepared:
    """Run a scene undisturbed, in an empty folder."""
    undisturbed(scene.before, folder)
    before = snapshot(folder)
    return Prepared(scene, before, calls=undisturbed(scene.act, folder), right=snapshot(folder))


def undisturbed(act: Callable[[Path], Any], folder: Path) -> tuple[str, ...]:
    """Run something and return the calls that it makes; without waiting for the disk, which takes its time."""
    disk = FaultyDisk(folder)
    try:
        with on(disk):
            quietly(act, folder)
    finally:
        disk.close()
    return tuple(disk.calls)


def restore(folder: Path, content: Snapshot) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def strike(ready: Prepared, folder: Path, fault: str, at: int) -> str:
    """Disturb call number `at`, check what is left, go on, compare, and return how it ended."""
    scene = ready.scene
    restore(folder, ready.before)
    disk, FOUND.blocks = FaultyDisk(folder, fault, at), 0
    ended = "done"
    try:
        with on(disk):
            quietly(scene.act, folder)
    except Crash:
        ended = "crash"
    except FileWriteError:
        ended = "error"
    if fault in CUTS:
        disk.cut_power()
    disk.close()
    _check_ending(fault, ended)
    promised = max(0, FOUND.blocks - 1) * BLOCK if scene.is_durable or fault not in CUTS else 0
    left = scene.judge(folder, ready.right, ready.before)
    if scene.name.startswith("stream, "):  # of the others, it is not known which blocks were asked for
        assert left >= promised, (left, promised)
    undisturbed(scene.act, folder)
    assert snapshot(folder) == ready.right
    return ended


def _check_ending(fault: str, ended: str) -> None:
    if fault in (*CRASHES, *CUTS):
        assert ended == "crash"
    if fault in HARMLESS:
        assert ended == "done"
    assert fault in ERRORS or ended != "error"


def strike_all(scene: Scene, folder: Path, faults: tuple[str, ...], *, step: int = 1, shift: int = 0) -> Counter[str]:
    """Disturb every call of a scene, or every `step`-th, with each of some faults, and count how it ended."""
    folder.mkdir(exist_ok=True)
    ready, ended = prepared(scene, folder), Counter[str]()
    cases = [(fault, k) for k in range(len(ready.calls)) for fault in faults]
    for fault, k in cases[shift % step :: step]:
        ended[strike(ready, folder, fault, k)] += 1
    return ended
