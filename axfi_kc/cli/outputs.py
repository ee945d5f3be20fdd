"""Files that commands write and read: never one over the other, and the old one stays until the new one is whole."""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axfi_kc.circuits.files import FORMATS, format_to_write
from axfi_kc.durable_files import check_place, writing
from axfi_kc.errors import DomainError

__all__ = [
    "STANDARD",
    "add_force",
    "add_output",
    "check_inputs",
    "check_outputs",
    "file_path",
    "standard_input",
    "standard_inputs",
    "writable",
]


STANDARD = Path("-")
"""Standard input or output, where a command takes that in the place of a file."""
_HEAD = 4096
_MOST_PIPED = 1 << 30  # bytes of standard input
_COMPANIONS = {".sdd": ".vtree", ".psdd": ".vtree"}  # what is read and written beside a file of that suffix
_FORCE = "replace files that this command did not write; never the ones it reads"


_BEGINNINGS = {".nnf": b"nnf ", ".cnf": b"p cnf ", ".sdd": b"sdd ", ".vtree": b"vtree ", ".dddmp": b".ver DDDMP"}
"""What the first line is, after comments, of texts that are written as circuits or beside them."""


def _begins(*marks: bytes) -> Callable[[Path, bytes], bool]:
    return lambda path, head: head.lstrip().lower().startswith(marks)


def _is_page(path: Path, head: bytes) -> bool:
    """Tell whether a file is a page of ours: these alone allow themselves nothing but what they hold."""
    return _begins(b"<!doctype html")(path, head) and b"default-src 'none'; style-src 'sha256-" in head


def _is_circuit(path: Path, head: bytes) -> bool:
    """Tell whether a file is a circuit as they are written here, by its beginning or its marks."""
    if path.suffix in _BEGINNINGS:
        rest = [line for line in head.splitlines() if line.strip() != b"c" and not line.startswith(b"c ")]
        # Comments may be longer than what is looked at: those of ours describe features.
        return rest[0].startswith(_BEGINNINGS[path.suffix]) if rest else b"\nc axfi " in b"\n" + head
    written = [form for form in FORMATS.get(path.suffix, ()) if form.write is not None]
    suits = any(not form.marks or any(mark in head for mark in form.marks) for form in written)
    return suits and b'"learner"' not in head


def _is_study(path: Path, head: bytes) -> bool:
    return b"model" in head and b"target" in head and b"nodes" in head and b"agrees" in head


_KINDS: dict[str, Callable[[Path, bytes], bool]] = {
    "page": _is_page,
    "circuit": _is_circuit,
    "picture": _begins(b"\x89png", b"<?xml", b"<svg", b"%pdf", b"%!ps", b"\xff\xd8", b"digraph"),
    "rules": lambda path, head: re.match(rb'\s*\{\s*"rules"\s*:\s*\[', head) is not None,
    "study": _is_study,
}
"""What commands write, and how an existing file is known to be such a one, by its path and its first bytes."""


def file_path(text: str) -> Path:
    """Return the path that an argument names."""
    if "\0" in text:
        raise argparse.ArgumentTypeError(f"a path holds no character NUL, but {text[:60]!r} does; give another")
    return Path(text)


def add_force(command: argparse.ArgumentParser) -> None:
    """Add ``--force``, for commands whose outputs :func:`add_output` does not name."""
    command.add_argument("--force", action="store_true", help=_FORCE)


def add_output(command: argparse.ArgumentParser, flag: str, *, kind: str, alone: bool = False, **settings: Any) -> None:
    """Add an option that names a file to write; `kind` is one of those above, "folder" of pictures, or "results".

    If it is `alone` nothing else need be printed, and ``-`` stands for standard output.
    """
    known: dict[str, str] = command.get_default("outputs") or {}
    if not known:
        add_force(command)
    made = command.add_argument(flag, type=file_path, **settings)
    command.set_defaults(outputs={**known, made.dest: kind}, **({"printed": made.dest} if alone else {}))


def standard_inputs(command: argparse.ArgumentParser, *dests: str) -> None:
    """Let ``-`` stand for standard input where one of these files is asked for."""
    command.set_defaults(piped=dests)


@contextmanager
def standard_input(options: argparse.Namespace) -> Iterator[None]:
    """Let standard input, if it is asked for, be a file during the block: some are read twice, or by a child."""
    dest = next((dest for dest in getattr(options, "piped", ()) if getattr(options, dest) == STANDARD), None)
    if dest is None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="axfi-kc-") as folder:
        path = Path(folder, "standard-input")
        _copy_input(path)
        setattr(options, dest, path)
        yield


def _copy_input(path: Path) -> None:
    if sys.stdin is None:
        raise DomainError("Expected something on standard input, but it is closed; give a file instead of -.")
    left = _MOST_PIPED
    with writing(path, "Standard input"), path.open("wb") as file:
        while (block := sys.stdin.buffer.read(1 << 20)) and left >= 0:
            left -= file.write(block)
    if left < 0:
        raise DomainError(f"Standard input has more than {_MOST_PIPED:,} bytes; write them to a file, and give that.")


def check_inputs(options: argparse.Namespace) -> None:
    """Raise if a command would read what may have no end, such as a device or a pipe."""
    for path in _inputs(options):
        _check_regular(path, "write it to a file" + ", or pipe it to -" * hasattr(options, "piped"))


def _check_regular(path: Path, advice: str) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # those who read it say what is wrong
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DomainError(f"{path} should be a file, but it is a device or a pipe, which may have no end; {advice}.")


def check_outputs(options: argparse.Namespace) -> None:
    """Raise if a file that would be written is one that is read, or one of another kind, before any work is done."""
    seen: dict[str, str] = {}
    for dest, kind in (getattr(options, "outputs", None) or {}).items():
        path = getattr(options, dest)
        if path is None:
            continue
        if path == STANDARD:
            _check_printed(dest, options)
            continue
        _check_inputs(path, options)
        if kind == "results":  # which a run that goes on reads first
            _check_regular(path, "name a file")
        if kind in _KINDS:
            _check_place(path, kind, force=options.force)
        _check_suffix(path, kind, options)
        if kind == "folder" and os.path.lexists(path) and not path.is_dir():
            raise DomainError(f"{path} exists and is no folder; name another for --{dest.replace('_', '-')}.")
        real = os.path.realpath(path)  # as far as it goes, if links go round
        if seen.setdefault(real, dest) != dest:
            raise DomainError(f"{path} is named for two outputs, --{seen[real]} and --{dest}; name two files.")


def _check_printed(dest: str, options: argparse.Namespace) -> None:
    """Raise if an output cannot be standard output."""
    flag = f"--{dest.replace('_', '-')}"
    if dest != getattr(options, "printed", None):
        raise DomainError(f"{flag} names a file or a folder, but - was given, which is standard output; name one.")
    if options.json:
        raise DomainError(f"{flag} - and --json both take standard output; leave one of them out.")


def _check_suffix(path: Path, kind: str, options: argparse.Namespace) -> None:
    """Raise if a file of that name cannot hold what is to be written, or nothing is installed that draws."""
    if kind == "circuit":
        format_to_write(path, getattr(options, "to", None) or "circuit")
    elif kind == "study":
        from axfi_kc.compilers.size_study import study_suffix

        study_suffix(path)
    elif kind == "picture" and not (path.suffix == ".dot" and options.command == "compile"):
        from axfi_kc.plots.style import picture_kind

        picture_kind(path)
    elif kind == "folder":
        from axfi_kc.plots.style import pyplot

        pyplot()


def _inputs(options: argparse.Namespace) -> Iterator[Path]:
    """Yield the files that a command reads."""
    outputs = getattr(options, "outputs", None) or {}
    for dest, given in vars(options).items():
        if dest not in outputs:
            for path in given if isinstance(given, list | tuple) else (given,):
                if isinstance(path, Path):
                    yield from _with_companion(path)
    if getattr(options, "distribution", None) is not None:
        yield from _with_companion(Path(options.distribution))


def _with_companion(path: Path) -> Iterator[Path]:
    yield path
    if path.suffix in _COMPANIONS:
        yield path.with_suffix(_COMPANIONS[path.suffix])


def _check_inputs(path: Path, options: argparse.Namespace) -> None:
    for target in _with_companion(path):
        read = next((other for other in _inputs(options) if _is_same(target, other)), None)
        if read is not None:
            raise DomainError(
                f"{target} would be written over {read}, which this command reads; name another file to write."
            )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist, and cannot be overwritten
        return False


def _check_place(path: Path, kind: str, *, force: bool) -> None:
    """Raise if there is no folder to write to, or a file that is not what would be written there, unless forced."""
    check_place(path)
    for target in _with_companion(path):
        _check_kind(target, kind, force=force)


def _check_kind(path: Path, kind: str, *, force: bool) -> None:
    if force or not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not _KINDS[kind](path, head):
        raise DomainError(
            f"{path} exists and is no {kind} that this command writes; name another file, or add --force to replace it."
        )


def writable(path: Path, kind: str, options: argparse.Namespace | None = None) -> Path:
    """Return the path to write to, after looking at it once more: much time may have passed since the first look.

    What is written replaces the old file at once, when it is whole (:mod:`axfi_kc.durable_files`).
    """
    if options is not None:
        _check_inputs(path, options)
    _check_place(path, kind, force=options is not None and options.force)
    return path
