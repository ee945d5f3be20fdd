"""Files that are whole or absent, whatever happens while they are written.

Everything that the library writes goes through here: a whole file by :func:`write_whole`, results that grow by
:class:`GrowingFile`. A whole file is written beside its target, brought to the disk and then renamed, so that a crash,
a full disk or a power cut leaves what was there before, or what was meant. All changes are calls of :data:`disk`, so
that a test can make each one of them fail.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from axfi_kc.errors import AxfiError, FileWriteError

__all__ = ["Disk", "GrowingFile", "check_place", "disk", "removing", "write_pair", "write_whole", "writing"]

_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_ADVICE = {
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.ENOENT: "make the folder first, or give another path",
    errno.ENOTDIR: "make the folder first, or give another path",
    errno.EACCES: "give a path that you may write to",
    errno.EPERM: "give a path that you may write to",
    errno.EROFS: "give a path that you may write to",
    errno.EISDIR: "give the name of a file, not of a folder",
}


class Disk:
    """The calls that change files, one method each; a test puts another object in the place of :data:`disk`."""

    def open(self, path: str, flags: int) -> int:
        """Open a file, or make one, and return its descriptor."""
        return os.open(path, flags | _FLAGS, 0o666)

    def write(self, file: int, content: memoryview) -> int:
        """Write some of `content` and return how many bytes."""
        return os.write(file, content)

    def truncate(self, file: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(file, size)

    def sync(self, file: int) -> None:
        """Wait until what was written is on the disk."""
        os.fsync(file)

    def sync_folder(self, path: str) -> None:
        """Wait until the names in a folder are on the disk, where the system can say so."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that know no such thing
                raise
        finally:
            os.close(folder)

    def replace(self, source: str, target: str) -> None:
        """Rename a file, over another if there is one, at once."""
        os.replace(source, target)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def make_folder(self, path: str) -> None:
        """Make a folder."""
        os.mkdir(path)


disk = Disk()


@contextmanager
def writing(path: str | os.PathLike[str], what: str = "The file") -> Iterator[None]:
    """Let what goes wrong with a file be a FileWriteError, which is also an OSError.

    Examples
    --------
    >>> with writing("results.html", "The report"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
        ...
    axfi_kc.errors.FileWriteError: The report cannot be written to 'results.html' (No space left on device); free some \
space, or choose another disk.
    """
    try:
        yield
    except AxfiError:
        raise
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "give another path")
        reason = error.strerror or str(error)
        raise FileWriteError.of(f"{what} cannot be written to {_shown(path)} ({reason}); {advice}.", error) from error
    except (TypeError, ValueError) as error:  # a NUL in the path, or what is no path; text that no file can hold
        raise FileWriteError.of(
            f"{what} cannot be written to {_shown(path)} ({error}); give other text or another path.", error
        ) from error


def _shown(path: object) -> str:
    shown = repr(os.fspath(path)) if isinstance(path, str | os.PathLike) else repr(path)
    return shown if len(shown) <= 200 else f"{shown[:90]}...{shown[-90:]}"


def write_whole(
    path: str | os.PathLike[str], content: str | bytes, *, what: str = "The file", durable: bool = True
) -> None:
    """Write a file so that it is whole or as it was before.

    Parameters
    ----------
    path
        The file; what is there is replaced. A link stays, and its target is written; what is no ordinary file, such as
        ``/dev/stdout``, is written to directly.
    content
        Text, which is written as UTF-8 without changing line ends, or bytes.
    what
        What is written, for messages.
    durable
        Whether to wait until the file is on the disk.

    Raises
    ------
    FileWriteError
        If it cannot be written; nothing is left behind, and what was there before stays.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "a.txt"), "whole")
    ...     os.listdir(folder), Path(folder, "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    with writing(path, what):
        data = content.encode() if isinstance(content, str) else content
        mode = _mode_of(os.fspath(path))
        if mode is None or stat.S_ISREG(mode):
            _replace(os.path.realpath(path), data, mode, durable)
        else:  # where links lead is known to the system only: /dev/stdout to a pipe, which is in no folder
            _write_directly(os.fspath(path), data)


def check_place(path: str | os.PathLike[str], what: str = "The file") -> None:
    """Raise the error of :func:`write_whole` if it is clear beforehand that a file cannot be written there.

    Examples
    --------
    >>> check_place("no/folder/a.nnf", "The circuit")
    Traceback (most recent call last):
        ...
    axfi_kc.errors.FileWriteError: The circuit cannot be written to 'no/folder/a.nnf' (No such file or directory); \
make the folder first, or give another path.
    """
    with writing(path, what):
        mode = _mode_of(os.fspath(path))
        if mode is None or stat.S_ISREG(mode):
            os.stat(os.path.dirname(os.path.realpath(path)))


def _mode_of(target: str) -> int | None:
    """Return the mode of what is there already, None for nothing, after checking that it may be written to."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):  # renaming would not ask
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return mode


def _write_directly(target: str, data: bytes) -> None:
    file = disk.open(target, os.O_WRONLY)
    try:
        _write_all(file, data)
    finally:
        os.close(file)


def _replace(target: str, data: bytes, mode: int | None, durable: bool) -> None:
    unfinished = _written_beside(target, data, mode, durable)
    try:
        disk.replace(unfinished, target)
    except BaseException:
        removing(unfinished)
        raise
    if durable:
        disk.sync_folder(os.path.dirname(target))


def _written_beside(target: str, data: bytes, mode: int | None, durable: bool) -> str:
    """Return the path of a file in the target's folder that has the content."""
    # Its own name, so that two writers at once do not write into each other's; short, as names have limits.
    unfinished = os.path.join(os.path.dirname(target), f".axfi-{secrets.token_hex(6)}.tmp")
    file = disk.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(file, stat.S_IMODE(mode))
        _write_all(file, data)
        if durable:  # before the renaming: or a power cut might keep the name and not the content
            disk.sync(file)
    except BaseException:
        removing(unfinished)
        raise
    finally:
        os.close(file)
    return unfinished


def write_pair(
    path: str | os.PathLike[str], content: str, beside: str | os.PathLike[str], other: str, *, what: str = "The file"
) -> None:
    """Write a file and one that belongs to it, so that at no time a new one stands beside an old one.

    The second is taken away before the first is replaced, so a crash leaves both old, both new, or the first alone.

    Raises
    ------
    FileWriteError
        If they cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_pair(f"{folder}/a.sdd", "sdd", f"{folder}/a.vtree", "vtree")
    ...     sorted(os.listdir(folder))
    ['a.sdd', 'a.vtree']
    """
    with writing(path, what):
        targets = [os.path.realpath(os.fspath(p)) for p in (path, beside)]
        modes = [_mode_of(target) for target in targets]
        first = _written_beside(targets[0], content.encode(), modes[0], True)
        try:
            second = _written_beside(targets[1], other.encode(), modes[1], True)
            try:
                if modes[1] is not None:
                    disk.remove(targets[1])
                    disk.sync_folder(os.path.dirname(targets[1]))
                disk.replace(first, targets[0])
                disk.sync_folder(os.path.dirname(targets[0]))
                disk.replace(second, targets[1])
                disk.sync_folder(os.path.dirname(targets[1]))
            except BaseException:
                removing(second)
                raise
        except BaseException:
            removing(first)
            raise


def removing(path: str) -> None:
    """Remove a file that is of no use, if that can be."""
    with suppress(OSError):
        disk.remove(path)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # the system may take less than it is given
        rest = rest[disk.write(file, rest) :]


class GrowingFile:
    """A file that blocks are added to, one process at a time.

    Parameters
    ----------
    path
        The file, which is made if there is none.
    what
        What is written, for messages.
    durable
        Whether :meth:`append` waits until the block is on the disk.

    Attributes
    ----------
    size
        Where the next block goes: what a failed write left behind is cut off.
    """

    def __init__(self, path: str | os.PathLike[str], *, what: str = "The file", durable: bool = True) -> None:
        self.path, self.what, self.durable = os.path.realpath(path), what, durable
        with writing(path, what):
            is_new = not os.path.exists(self.path)
            self.file = disk.open(self.path, os.O_RDWR | os.O_CREAT)
            try:
                if is_new:
                    disk.sync_folder(os.path.dirname(self.path))
            except BaseException:
                self.close()
                raise
        self.size = os.fstat(self.file).st_size

    def lock(self) -> bool:
        """Keep other runs out, where the system can; False: another run holds it, or has just replaced the file."""
        try:
            import fcntl
        except ImportError:
            return True
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in (errno.EAGAIN, errno.EACCES)  # others: no locks on this file system
        return self.is_in_place()

    def is_in_place(self) -> bool:
        """Whether the file is still the one that its path names."""
        try:
            return os.path.samestat(os.fstat(self.file), os.stat(self.path))
        except FileNotFoundError:
            return False

    def cut(self, size: int) -> None:
        """Drop everything after the first `size` bytes."""
        with writing(self.path, self.what):
            if os.fstat(self.file).st_size != size:
                disk.truncate(self.file, size)
        self.size = size

    def append(self, block: bytes, *, durable: bool | None = None) -> None:
        """Add a block; if that fails, the file is cut back to what was there before."""
        try:
            with writing(self.path, self.what):
                os.lseek(self.file, self.size, os.SEEK_SET)
                _write_all(self.file, block)
                if self.durable if durable is None else durable:
                    disk.sync(self.file)
        except BaseException:
            with suppress(OSError):
                disk.truncate(self.file, self.size)
            raise
        self.size += len(block)

    def close(self) -> None:
        """Let go of the file and its lock."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
