"""What commands print: tables for people, numbers for programs, and progress on terminals after a second."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from io import TextIOWrapper
from time import perf_counter
from types import MappingProxyType
from typing import Any

from axfi_kc.domain.measures import abridged, amount, shown
from axfi_kc.errors import shortened
from axfi_kc.terminal import is_watched, width

__all__ = [
    "any_text",
    "as_json",
    "as_typed",
    "by_label",
    "one_line",
    "plain",
    "print_facts",
    "print_json",
    "print_page",
    "print_written",
    "say",
    "text_table",
    "working",
]


_LONGEST_CELL = 110


def plain(value: Any) -> str:
    """Return a value or an output in a few letters, none of which can steer the terminal."""
    return _printable(shown(value))


def any_text() -> None:
    """Let the terminal show what it has no letters for as escapes: a name must not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Print a line beside the answers, if there is a stream for it: without one, `print` would take that of answers."""
    if sys.stderr is not None:
        with suppress(OSError):  # there is no other place to say that
            print(f"axfi-kc: {text}", file=sys.stderr)


def print_page(page: str) -> None:
    """Print a page as the file would be, whatever letters the stream has."""
    sys.stdout.flush()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.buffer.write(page.encode())
    else:
        sys.stdout.write(page)


def one_line(message: object) -> str:
    """Return an error or a warning in one line of a length that people read, and that cannot steer the terminal."""
    return _printable(shortened(" ".join(str(message).split())))


_PARAMETERS = re.compile(
    r"(?<![\w'\"-])(max_size|n_jobs|class_names|min_support|min_precision|on_error|on_budget)(?![\w'\"=])"
)


def as_typed(message: str) -> str:
    """Return a message of the library with the options of the command line in place of parameters of Python.

    Examples
    --------
    >>> as_typed("A regression needs delta, but none was given; pass delta=... .")
    'A regression needs delta, but none was given; add --delta.'
    >>> as_typed("n_jobs must be a number, but 0 was given; column 'n_jobs' stays.")
    "--n-jobs must be a number, but 0 was given; column 'n_jobs' stays."
    """
    advised = re.sub(r"pass (\w+)=\.\.\.(?: (?=\.))?", lambda found: f"add --{found[1].replace('_', '-')}", message)
    return _PARAMETERS.sub(lambda found: f"--{found[1].replace('_', '-')}", advised)


def _printable(text: str) -> str:
    """Return text that cannot steer the terminal: no control characters, one line."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def text_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    total: int | None = None,
    widths: Mapping[str, int] = MappingProxyType({}),
) -> list[str]:
    r"""Return the lines of a table; if there are more rows in `total`, one line counts the rest.

    `widths` are the least widths of columns, by their headers. On a terminal a cell is cut that is longer than a line,
    and than what people read in one; all of it goes into files and pipes.

    Examples
    --------
    >>> print(*text_table(("feature", "score"), [("age", "0.5")], total=3), sep="\n")
    feature  score
    -------  -----
    age      0.5
    ... and 2 more
    """
    line = width()
    cells = [tuple(_fitting(_printable(cell), line) for cell in row) for row in rows]
    wide = [max(widths.get(name, 0), *(len(row[k]) for row in (header, *cells))) for k, name in enumerate(header)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in (header, *cells)]
    lines.insert(1, "  ".join("-" * w for w in wide))
    left = 0 if total is None else total - len(rows)
    return [*lines, f"... and {amount(left)} more"] if left > 0 else lines


def _fitting(cell: str, line: int | None) -> str:
    """Return a cell, or as many of its words as there is room for on a line of a terminal; None: on none."""
    if line is None or len(cell) <= max(line, _LONGEST_CELL):
        return cell
    cut = abridged(cell, max(line, _LONGEST_CELL))
    words, space, _ = cut.rpartition(" ")
    return f"{words}{space}…" if 2 * len(words) > len(cut) else cut


def as_json(value: Any) -> Any:
    """Return `value` as what JSON can hold, exactly: fractions become strings, large integers too.

    Examples
    --------
    >>> as_json({"p": Fraction(1, 3), "n": 2, "big": 2**60, "x": 0.5})
    {'p': '1/3', 'n': 2, 'big': '1152921504606846976', 'x': 0.5}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, dict):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else str(value)
    return value if isinstance(value, float) and value - value == 0 else str(value)


def by_label(said: Iterable[tuple[Any, str]]) -> dict[str, str]:
    """Return what is said of rows by their labels, each with a key of its own: labels need not be distinct.

    Examples
    --------
    >>> by_label([("a", "no number"), ("b", "too large"), ("a", "missing")])
    {'a': 'no number', 'b': 'too large', 'a (2)': 'missing'}
    """
    found: dict[str, str] = {}
    for label, words in said:
        keys = (str(label), *(f"{label} ({k})" for k in range(2, len(found) + 2)))
        found[next(key for key in keys if key not in found)] = words
    return found


_JSON_VERSION = 1
"""Of what ``--json`` prints: it grows when an entry goes or changes its meaning, and not when one is added."""


def print_json(document: Mapping[str, Any], kind: str) -> None:
    """Print a document for programs, with its format and version, unless it has its own.

    ``docs/_static/axfi-kc.schema.json`` describes each kind. Where the stream has not all letters, JSON's own escapes
    are printed.
    """
    made = as_json({"format": f"axfi-kc {kind}", "version": _JSON_VERSION, **document})
    text = json.dumps(made, indent=2, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(made, indent=2)
    print(text)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print a table of facts and their names."""
    print(*text_table(("what", "value"), [(key, _words(value)) for key, value in facts.items()]), sep="\n")


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(plain, value)) if isinstance(value, list | tuple) else plain(value)


def print_written(paths: Iterable[object], *, quiet: bool = False) -> None:
    """Say which files were written, unless only JSON may be printed."""
    for path in () if quiet else paths:
        print(f"wrote {_printable(str(path))}")


_PATIENCE = 1.0


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what` and the seconds so far while the block runs, once it has run for a second."""
    if not is_watched():
        yield
        return
    done, begin = threading.Event(), perf_counter()

    def show() -> None:
        while not done.wait(_PATIENCE):
            sys.stderr.write(f"\r{what} ... {perf_counter() - begin:.0f} s")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if perf_counter() - begin >= _PATIENCE:
            sys.stderr.write(f"\r{' ' * (len(what) + 20)}\r")
            sys.stderr.flush()
