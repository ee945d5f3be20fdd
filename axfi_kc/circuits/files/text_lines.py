"""Lines of a text file that may hold anything, and the errors that name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.errors import BudgetError, ModelFileError
from axfi_kc.json_text import distinct_keys

__all__ = ["FilePath", "Source", "integers", "is_comment", "shown"]


FilePath = str | PathLike[str]
_LONG_LINE = 4_096  # characters, after which the clock is looked at


class Source:
    """A file's lines, as bytes: nothing is decoded before it is understood.

    Attributes
    ----------
    name
        The file's, for messages.
    data
        The whole file.
    lines
        All of them, made when they are first asked for.
    account
        What reading has cost, a step for each line and for each node that is made of it.

    Raises
    ------
    ModelFileError
        If there is no such file.
    """

    def __init__(self, path: FilePath, *, budget: Budget | None = None) -> None:
        file = Path(path)
        if not is_there(file):  # a pipe is no file, and can be read
            raise ModelFileError(f"There is no file {quoted(str(path))}; give the path of a file that exists.")
        self.name = file.name
        self.account = Account(budget, goal=f"circuit of {self.name}", advice="allow more")
        if budget is not None and budget.bytes is not None and file.stat().st_size > budget.bytes:
            raise BudgetError(
                f"{self.name} has {file.stat().st_size} bytes, and the budget is {budget.bytes}; allow several times "
                "the size of the file."
            )
        self.data = file.read_bytes()

    @cached_property
    def lines(self) -> list[bytes]:
        """All lines, without their ends."""
        return self.data.split(b"\n")

    def beginning(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines one by one, each with where the next one begins; for who stops early."""
        first, end = 0, len(self.data)
        while first <= end:
            stop = self.data.find(b"\n", first)
            stop = end if stop < 0 else stop
            yield stop + 1, self.data[first:stop]
            first = stop + 1

    def beside(self, path: FilePath) -> Source:
        """Return another file, read at the cost of the same account."""
        other = Source(path)
        other.account = self.account
        return other

    def numbered(self, first: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield the lines from number `first` on, each with its number, while the budget lasts."""
        spend = self.account.spend
        for number in range(first, len(self.lines)):
            line = self.lines[number]
            spend(1)
            if len(line) > _LONG_LINE:
                self.account.look()
            yield number, line

    @property
    def is_ended(self) -> bool:
        """Whether white space follows the last word; without it, the file may have been cut inside the word."""
        return not self.data or self.data[-1:].isspace()

    def require_end(self, line: int) -> None:
        """Raise if line number `line` is the last one and not ended: digits of it may be missing."""
        if line == len(self.lines) - 1 and not self.is_ended:
            self.fail(
                line,
                "an end of the last line, because its last number could go on",
                shown(self.lines[line]),
                "write the file again, or add the end of the line if the file is whole",
            )

    def document(self) -> Any:
        """Return what the file holds as JSON.

        Raises
        ------
        ModelFileError
            If it is none, or a key occurs twice in one object.
        BudgetError
            If the budget is spent: the clock is looked at where there are integers.
        """

        def integer(text: str) -> int:
            self.account.spend(1)
            return int(text)

        try:
            return json.loads(self.data, parse_int=integer, object_pairs_hook=distinct_keys)
        except (ValueError, RecursionError) as error:
            self.fail(-1, "JSON with different keys", f"text that does not parse ({type(error).__name__})")

    def fail(self, line: int, expected: str, found: str, remedy: str = "write the file again") -> NoReturn:
        """Raise the error that line number `line` (from 0; -1 for the whole file) deserves."""
        where = f"{self.name}, line {line + 1}" if line >= 0 else self.name
        raise ModelFileError(f"{where}: expected {expected}, but found {found}; {remedy}.")

    def fail_at(self, line: int, expected: str) -> NoReturn:
        """Raise the error that shows line number `line` itself."""
        self.fail(line, expected, shown(self.lines[line]))


def is_there(file: Path) -> bool:
    """Tell whether there is something to read under a path, which may be no path at all for the system."""
    try:
        return file.exists() and not file.is_dir()
    except OSError:  # a name that is too long, or a folder that may not be looked into
        return False


def shown(text: bytes) -> str:
    """Return the beginning of a line for a message."""
    words = text.strip().decode("ascii", "backslashreplace")
    if not words:
        return "an empty line"
    return repr(words[:40] + ("..." if len(words) > 40 else ""))


def is_comment(line: bytes) -> bool:
    """Tell whether a line says nothing to programs: it is empty, or its first word is 'c'."""
    words = line.split(None, 1)
    return not words or words[0] == b"c"


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
