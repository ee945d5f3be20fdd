"""Whole files: what is there afterwards is what was there before or what was meant, and errors are ours."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.durable_files import GrowingFile, check_place, write_whole
from axfi_kc.errors import AxfiError, FileWriteError
from axfi_kc.explanations.page import write_report

SPACE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path) -> None:
    path = tmp_path / "a.txt"
    for text in ("one", "two\r\n", "ü" * 10**6):
        write_whole(path, text)
        assert path.read_bytes() == text.encode()
        assert os.listdir(tmp_path) == ["a.txt"]


def test_permissions_and_links_stay(tmp_path) -> None:
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "new")
    assert link.is_symlink()
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)
    os.umask(before := os.umask(0o022))
    write_whole(tmp_path / "b.txt", "new")
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o666 & ~before


def test_what_is_no_ordinary_file_is_written_to_directly(tmp_path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert (seen, stat.S_ISFIFO(pipe.stat().st_mode)) == (["through"], True)


@pytest.mark.parametrize(
    ("place", "number"),
    [("none/a.txt", errno.ENOENT), ("file/a.txt", errno.ENOTDIR), ("folder", errno.EISDIR),
     ("a" * 300, errno.ENAMETOOLONG), ("a\0b", None), ("\ud800", None)],
)  # fmt: skip
def test_what_cannot_be_written_is_ours_and_an_oserror(tmp_path, place: str, number: int | None) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for attempt in (lambda p: write_whole(p, "text", what="It"), lambda p: check_place(p, "It")):
        if place == "\ud800" and attempt(str(tmp_path / "a")) is None:
            with pytest.raises(FileWriteError, match="It cannot be written"):
                write_whole(tmp_path / "b", place, what="It")  # here it is the text
            continue
        with pytest.raises(OSError, match=r"^It cannot be written to .*\); [a-z ,]*\.$") as caught:
            attempt(os.path.join(tmp_path, place))
        assert isinstance(caught.value, AxfiError)
        assert caught.value.errno == number
    assert {"file", "folder"} <= set(os.listdir(tmp_path)) <= {"file", "folder", "a"}


@SPACE
def test_a_full_disk_is_said_in_one_sentence() -> None:
    with pytest.raises(FileWriteError, match=r"No space left on device\); free some space") as caught:
        write_whole("/dev/full", "text")
    assert caught.value.errno == errno.ENOSPC


def _explanation() -> ax.Explanation:
    return ax.Explainer(lambda p: p[0] > 60, ax.Domain([ax.Integer("age", 18, 90)])).explain([70])


DOORS = {
    "to_dot": lambda path: _explanation().forest.to_dot(path),
    "to_graphml": lambda path: _explanation().forest.to_graphml(path),
    "write_report": lambda path: write_report(_explanation(), path),
    "save": lambda path: ax.compile_model(lambda p: p[0] > 1, ax.Domain([ax.Integer("a", 0, 3)])).save(path),
    "examples": lambda path: _explanation().circuit().save(path),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_that_a_folder_is_missing(tmp_path, door: str) -> None:
    suffix = {"save": "nnf", "examples": "nnf"}.get(door, "txt")
    with pytest.raises(OSError, match="cannot be written") as caught:
        DOORS[door](tmp_path / "none" / f"a.{suffix}")
    assert isinstance(caught.value, AxfiError)


@SPACE
@pytest.mark.parametrize("door", DOORS)
def test_every_door_says_that_the_disk_is_full(tmp_path, door: str) -> None:
    suffix = {"save": "nnf", "examples": "nnf"}.get(door, "txt")
    (path := tmp_path / f"a.{suffix}").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        DOORS[door](path)
    assert isinstance(caught.value, AxfiError)


def test_a_growing_file_is_held_by_one(tmp_path) -> None:
    first, second = (GrowingFile(tmp_path / "a") for _ in range(2))
    assert first.lock()
    assert not second.lock()
    first.append(b"one")
    first.append(b"two")
    first.close()
    assert second.lock()
    second.cut(3)
    second.append(b"three")
    second.close()
    assert (tmp_path / "a").read_bytes() == b"onethree"


def test_a_lock_on_a_file_that_was_replaced_is_none(tmp_path) -> None:
    growing = GrowingFile(tmp_path / "a")
    (tmp_path / "a").unlink()
    assert not growing.lock()
    growing.close()


def test_a_pipe_without_a_name_is_written_to() -> None:
    """As that of /dev/stdout is: the link leads to no place in any folder."""
    if not Path("/dev/fd").exists():
        pytest.skip("needs names of open files")
    ours, theirs = os.pipe()
    check_place(f"/dev/fd/{theirs}")
    write_whole(f"/dev/fd/{theirs}", "through")
    os.close(theirs)
    with open(ours) as pipe:
        assert pipe.read() == "through"
