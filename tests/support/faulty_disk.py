"""A disk on which the k-th call goes wrong: it fails, is torn, is lost with a power cut, or never returns.

It takes the place of ``axfi_kc.durable_files.disk`` and keeps a shadow of what was brought to the disk: after a power
cut the folder holds that and nothing else. What is outside of the folder is not disturbed.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axfi_kc import durable_files
from axfi_kc.durable_files import Disk

ERRORS = ("full", "half full", "stays full", "broken")
CRASHES = ("never returns", "torn", "returned")
CUTS = ("lost", "lost but for names")
HARMLESS = ("short",)
FAULTS = (*ERRORS, *CRASHES, *CUTS, *HARMLESS)


class Crash(BaseException):
    """The process is gone: nothing that it does afterwards reaches the disk."""


class FaultyDisk(Disk):
    """A disk whose call number `at` goes wrong; None: it only counts.

    What was brought to the disk is known by the file itself, not by its name: renaming is lost until its folder is
    brought to the disk, too.
    """

    def __init__(self, root: Path, fault: str | None = None, at: int = -1) -> None:
        self.root, self.fault, self.at = str(root), fault, at
        self.calls: list[str] = []
        self.struck = self.is_gone = False
        self._open: dict[int, int] = {}  # held, so that the system does not give their numbers to new files
        self._contents: dict[int, bytes] = {}
        self._names: dict[str, dict[str, int | None]] = {}
        for folder, _, files in os.walk(self.root):
            for name in files:
                self._remember(os.path.join(folder, name))
            self._names[folder] = self._listed(folder)

    def _remember(self, path: str) -> int:
        file = os.open(path, os.O_RDONLY)
        number = os.fstat(file).st_ino
        if number in self._open:
            os.close(file)
        else:
            self._open[number] = file
            self._contents[number] = Path(path).read_bytes()
        return number

    def _listed(self, folder: str) -> dict[str, int | None]:
        """Return the number of each file in a folder; None for a folder."""
        return {e.name: None if e.is_dir() else e.inode() for e in os.scandir(folder)}

    def _call(self, name: str, where: str | int) -> bool:
        """Count a call, and tell whether it is the one that goes wrong."""
        if self.is_gone:
            raise Crash
        if not (where.startswith(self.root) if isinstance(where, str) else os.fstat(where).st_ino in self._open):
            return False
        self.calls.append(name)
        if self.fault == "stays full" and self.struck and name in ("write", "open", "make_folder"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if len(self.calls) - 1 != self.at or self.fault is None:
            return False
        self.struck = True
        if self.fault in ("full", "stays full"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.fault == "broken":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.fault == "never returns" or self.fault in CUTS:
            self._crash()
        return True

    def _crash(self) -> None:
        self.is_gone = True
        raise Crash

    def _after(self, strikes: bool) -> None:
        if strikes and self.fault in CRASHES:
            self._crash()
        if strikes and self.fault == "half full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open(self, path: str, flags: int) -> int:
        strikes, is_new = self._call("open", path), not os.path.exists(path)
        file = super().open(path, flags)
        if is_new and path.startswith(self.root):
            self._contents[self._remember(path)] = b""
        try:
            self._after(strikes)
        except BaseException:
            os.close(file)
            raise
        return file

    def write(self, file: int, content: memoryview) -> int:
        strikes = self._call("write", file)
        if strikes and self.fault != "returned":  # half of it
            content = content[: len(content) // 2]
        written = super().write(file, content) if content else 0
        self._after(strikes)
        return written

    def truncate(self, file: int, size: int) -> None:
        strikes = self._call("truncate", file)
        super().truncate(file, size)
        self._after(strikes)

    def sync(self, file: int) -> None:
        strikes = self._call("sync", file)
        number = os.fstat(file).st_ino
        held = self._open.get(number, file)  # the file itself may be open for writing only
        if number in self._open:
            self._contents[number] = os.pread(held, os.fstat(held).st_size, 0)
        self._after(strikes)

    def sync_folder(self, path: str) -> None:
        strikes = self._call("sync_folder", path)
        if path.startswith(self.root):
            self._names[path] = self._listed(path)
        self._after(strikes)

    def replace(self, source: str, target: str) -> None:
        strikes = self._call("replace", target)
        super().replace(source, target)
        self._after(strikes)

    def remove(self, path: str) -> None:
        strikes = self._call("remove", path)
        try:
            super().remove(path)
        finally:
            self._after(strikes)

    def make_folder(self, path: str) -> None:
        strikes = self._call("make_folder", path)
        super().make_folder(path)
        self._after(strikes)

    def cut_power(self) -> None:
        """Leave in the folder what was brought to the disk."""
        kept = self._kept() if self.fault == "lost" else self._kept_but_for_names()
        for entry in os.scandir(self.root):
            shutil.rmtree(entry.path) if entry.is_dir() else os.unlink(entry.path)
        for name, content in kept.items():
            path = Path(self.root, name)
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def _kept(self) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        folders = [self.root]
        while folders:
            folder = folders.pop()
            for name, number in self._names.get(folder, {}).items():
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.root)] = None if number is None else self._contents[number]
                folders += [path] if number is None else []
        return found

    def _kept_but_for_names(self) -> dict[str, bytes | None]:
        """Return all names as they are, of what was not brought to the disk half, and zeros for the rest."""
        found: dict[str, bytes | None] = {}
        for folder, folders, files in os.walk(self.root):
            found |= {os.path.relpath(os.path.join(folder, name), self.root): None for name in folders}
            for name in files:
                path = os.path.join(folder, name)
                content, safe = Path(path).read_bytes(), self._contents[os.stat(path).st_ino]
                if content.startswith(safe):
                    half = len(safe) + (len(content) - len(safe)) // 2
                    content = content[:half] + bytes(len(content) - half)
                found[os.path.relpath(path, self.root)] = content
        return found

    def close(self) -> None:
        for file in self._open.values():
            os.close(file)
        self._open.clear()


@contextmanager
def on(disk: FaultyDisk) -> Iterator[None]:
    """Let everything be written to a disk."""
    before, durable_files.disk = durable_files.disk, disk
    try:
        yield
    finally:
        durable_files.disk = before
