"""Lines of a text file that may hold anything, and the errors that name them."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import NoReturn

from axfi_kc.errors import ModelFileError

__all__ = ["FilePath", "Source", "integers", "shown"]

FilePath = str | PathLike[str]


class Source:
    """A file's lines, as bytes: nothing is decoded before it is understood."""

    def __init__(self, path: FilePath) -> None:
        self.name = Path(path).name
        self.lines = Path(path).read_bytes().split(b"\n")

    def fail(self, line: int, expected: str, found: str, remedy: str = "write the file again") -> NoReturn:
        """Raise the error that line number `line` (from 0; -1 for the whole file) deserves."""
        where = f"{self.name}, line {line + 1}" if line >= 0 else self.name
        raise ModelFileError(f"{where}: expected {expected}, but found {found}; {remedy}.")

    def fail_at(self, line: int, expected: str) -> NoReturn:
        """Raise the error that shows line number `line` itself."""
        self.fail(line, expected, shown(self.lines[line]))


def shown(text: bytes) -> str:
    """Return the beginning of a line for a message."""
    words = text.strip().decode("ascii", "backslashreplace")
    if not words:
        return "an empty line"
    return repr(words[:40] + ("..." if len(words) > 40 else ""))


def integers(words: Iterable[bytes]) -> list[int] | None:
    """Return the words as integers; None if one is none.

    Notes
    -----
    Python itself refuses more than 4,300 digits, so this takes no quadratic time.
    """
    given = list(words)
    if b"_" in b"".join(given):  # Python takes 1_0 for 10, which no format means
        return None
    try:
        return list(map(int, given))
    except ValueError:
        return None
