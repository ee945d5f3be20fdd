"""Files that results are added to, block by block, and found again after a stop.

JSON Lines: a header line, then a line per instance; a stopped run leaves at most one torn line, which is dropped.
Parquet: a folder of part files, because a Parquet file is unreadable until its footer is written, and cannot be added
to; a part is complete or absent. Either names its run by a fingerprint, and only the same run goes on with it. Every
row, or part, has a checksum that depends on the run (:mod:`axfi_kc.explanations.files.seals`); what is missing or
damaged is refused when it is read, and computed again when the run goes on.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from axfi_kc import durable_files
from axfi_kc.arguments import quoted
from axfi_kc.durable_files import GrowingFile, removing, write_whole, writing
from axfi_kc.errors import ResultFileError
from axfi_kc.explanations.files.document import parsed, pyarrow_for
from axfi_kc.explanations.files.header_differences import difference_words
from axfi_kc.explanations.files.seals import is_sealed, part_seal, plain_line, sealed

__all__ = ["FORMAT", "SUFFIXES", "VERSION", "JsonLines", "ParquetParts", "Resumed", "Store", "store_at"]


FORMAT = "axfi-kc results"
VERSION = 2  # 1: without checksums, and with labels as text in Parquet
SUFFIXES = (".jsonl", ".ndjson", ".parquet")
_HEADER = "_axfi.json"  # readers of Parquet pass over names that begin with an underscore
_LOCK = "_axfi.lock"  # never replaced, so that whoever holds its lock is alone with the folder
_PART = re.compile(r"part-(\d{10})-(\d{10})(?:-([0-9a-f]{16}))?\.parquet")
_IN_JSON = ("margin", "unlisted", "interactions", "local_paxps", "paxps", "inflated")
_ANSWER = (
    "prediction_name",
    "probability",
    "radius",
    "completeness",
    "over_budget",
    *_IN_JSON,
)  # columns that files of earlier versions lack
_ROW = re.compile(rb'\{"row": (\d{1,18})[,}]')
_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 28
_MENDED = "run explain_to once more with the same arguments, which mends the file"
Span = tuple[int, int]
HeaderOf = Callable[[int], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Resumed:
    """What a store has of a run, and what it lacks.

    Attributes
    ----------
    header
        The header, of the version in which the run goes on.
    missing
        The rows to be computed: ``start:stop`` each, in order.
    damaged
        Those among them that were there before, or that have rows after them; of a damaged end, the first row.
    """

    header: dict[str, Any]
    missing: list[Span]
    damaged: list[Span]

    @property
    def key(self) -> bytes | None:
        """What the checksums of the run depend on; None: it has none."""
        return _key(self.header)


def _key(header: dict[str, Any]) -> bytes | None:
    return None if header["version"] == 1 else str(header.get("fingerprint")).encode()[:64]


class Store(ABC):
    """A file, or folder, of results in order.

    Parameters
    ----------
    path
        Where it is.
    durable
        Whether each block is waited for until it is on the disk.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path, self._durable = path, durable
        self._held: GrowingFile | None = None

    def close(self) -> None:
        """Let go of the file."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _hold(self, path: Path) -> GrowingFile:
        """Return a file that other runs are kept out of."""
        for _ in range(100):
            held = GrowingFile(path, what="The file of results", durable=self._durable)
            if held.lock():
                self._held = held
                return held
            was_replaced = not held.is_in_place()
            held.close()
            if not was_replaced:
                break
        raise ResultFileError(f"Another run is writing {self._path}; wait for it, or choose another name.")

    @abstractmethod
    def resume(self, header_of: HeaderOf) -> Resumed:
        """Open for writing, drop what is torn, and return what is missing of the run with this header, by version."""

    @abstractmethod
    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add the rows ``start:stop``, in the order in which they are missing."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """Return the header of the run that wrote the file."""

    @abstractmethod
    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dicts, in order."""


def store_at(path: str | os.PathLike[str], *, durable: bool = True) -> Store:
    """Return the store that a path's suffix names.

    Examples
    --------
    >>> type(store_at("out.jsonl")).__name__, type(store_at("out.parquet")).__name__
    ('JsonLines', 'ParquetParts')
    """
    found = Path(path)
    if found.suffix not in SUFFIXES:
        raise ResultFileError(
            f"Results go to a file ending in {', '.join(SUFFIXES)}, but {quoted(found.name)} was given."
        )
    return (ParquetParts if found.suffix == ".parquet" else JsonLines)(found, durable=durable)


def _checked(path: Path, line: bytes) -> dict[str, Any]:
    """Return a header, after checking that it is one, and as it was written."""
    header = parsed(line)
    if header.get("format") != FORMAT or header.get("version") not in range(1, VERSION + 1):
        raise ResultFileError(f"{path} is no file of results of this version; choose another name.")
    if header["version"] > 1 and not is_sealed(line, b""):
        raise ResultFileError(f"The header of {path} is damaged: it does not have its own checksum; remove {path}.")
    header.pop("check", None)
    return header


def _check_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if found.get("fingerprint") != wanted["fingerprint"]:
        raise ResultFileError(
            f"{path} holds results of another model, domain, options or data, so this run cannot go on with it "
            f"({difference_words(found, wanted)}); choose another name, or remove it."
        )


def _header_line(header: dict[str, Any]) -> bytes:
    return plain_line(header) if header["version"] == 1 else sealed(header, b"")


def _is_torn_header(line: bytes) -> bool:
    """Tell whether a line is nothing yet, or the begin of a header: then no row is after it."""
    begin, known = line.rstrip(b"\0"), b'{"format": "%s", ' % FORMAT.encode()
    return not line.endswith(b"\n") and (begin.startswith(known) or known.startswith(begin))


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ResultFileError(f"{path} cannot be opened ({reason}); check the path.") from error


def _missing(kept: list[Span], rows: int) -> list[Span]:
    """Return the rows that are not kept."""
    ends = [0, *(stop for _, stop in kept)]
    starts = [*(start for start, _ in kept), rows]
    return [(a, b) for a, b in zip(ends, starts, strict=True) if a < b]


def _damaged(missing: list[Span], kept: list[Span], dropped: bool) -> list[Span]:
    """Return what is missing though something comes after it, or, with `dropped`, was in its place."""
    last = kept[-1][1] if kept else 0
    found = [span for span in missing if span[1] <= last]
    tail = [(last, last + 1)] if dropped and missing and missing[-1][0] == last else []
    return found + tail


def rows_words(spans: list[Span]) -> str:
    """Return rows in words, the first few of them.

    Examples
    --------
    >>> rows_words([(3, 4), (7, 9)])
    'row 3, rows 7 to 8'
    """
    shown = [f"row {a}" if b == a + 1 else f"rows {a} to {b - 1}" for a, b in spans[:5]]
    return ", ".join([*shown, "..."] if len(spans) > 5 else shown)


@dataclass(slots=True)
class _Kept:
    """Rows that stand together in a file of lines: which, and from which byte to which."""

    start: int
    stop: int
    begin: int
    end: int


def _kept_rows(file: IO[bytes], rows: int, key: bytes | None) -> tuple[list[_Kept], int]:
    """Return the rows that are whole and in order, and how many lines are something else; a torn last one is not."""
    kept: list[_Kept] = []
    begin, dropped = file.tell(), 0
    for line in file:
        end, row = begin + len(line), _row_of(line, key)
        if row is not None and _is_astray(kept, row):
            kept.pop()
            dropped += 1
        next_row = kept[-1].stop if kept else 0
        if row is None or not next_row <= row < rows:
            dropped += line.endswith(b"\n") and b"\0" not in line  # zeros are what a power cut leaves of a block
        elif kept and row == next_row and begin == kept[-1].end:
            kept[-1].stop, kept[-1].end = row + 1, end
        else:
            kept.append(_Kept(row, row + 1, begin, end))
        begin = end
    return kept, dropped


def _is_astray(kept: list[_Kept], row: int) -> bool:
    """Tell whether the last row is alone and too far ahead, as the one that now comes has its place before it."""
    before = kept[-2].stop if len(kept) > 1 else 0
    return bool(kept) and kept[-1].stop - kept[-1].start == 1 and before <= row < kept[-1].start


def _row_of(line: bytes, key: bytes | None) -> int | None:
    """Return the number of the row in a line; None: it is no whole row of this run."""
    found = _ROW.match(line)
    if found is None or not line.endswith(b"\n") or (key is not None and not is_sealed(line, key)):
        return None
    return int(found[1])


class JsonLines(Store):
    """Results as a header line and a line of JSON per instance."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        super().__init__(path, durable=durable)
        self._mending: _Mending | None = None

    def close(self) -> None:
        """Let go of the file."""
        try:
            if self._mending is not None:
                self._mending.give_up()
        finally:
            super().close()

    def resume(self, header_of: HeaderOf) -> Resumed:
        """Open for writing, drop what is torn, and return what is missing."""
        held, newest = self._hold(self._path), header_of(VERSION)
        with _opened(self._path) as file:
            first = file.readline(_LONGEST_HEADER)
            if _is_torn_header(first):
                return self._begun(held, newest)
            wanted, line = self._same(first, file, header_of)
            if not line:
                return self._begun(held, newest)
            file.seek(len(first))
            kept, dropped = _kept_rows(file, wanted["rows"], _key(wanted))
        spans = [(k.start, k.stop) for k in kept]
        missing = _missing(spans, wanted["rows"])
        if line == first and (not kept or _follows(kept, len(first))):
            held.cut(kept[-1].end if kept else len(first))
        elif wanted["version"] == 1:  # without checksums nothing tells which of the rows are right
            raise ResultFileError(f"{self._path} is damaged: {rows_words(missing)} should come next; remove it.")
        else:
            self._mending = _Mending(held, line, kept, missing, self._durable)
            self._mend()
        return Resumed(wanted, missing, _damaged(missing, spans, bool(dropped)))

    def _same(self, first: bytes, file: IO[bytes], header_of: HeaderOf) -> tuple[dict[str, Any], bytes]:
        """Return the header of this run and the line that it should have; none if there is nothing to be lost."""
        try:
            found = _checked(self._path, first)
        except ResultFileError:
            # The rows themselves tell whose they are, if there are any.
            key = _key(header_of(VERSION))
            if all(_row_of(line, key) is None for line in file):
                raise
            return header_of(VERSION), _header_line(header_of(VERSION))
        wanted = header_of(found["version"])
        if found.get("fingerprint") != wanted["fingerprint"] and not file.read(1):
            return wanted, b""  # a run that ended before its first row
        _check_same(self._path, found, wanted)
        return wanted, first

    def _begun(self, held: GrowingFile, header: dict[str, Any]) -> Resumed:
        held.cut(0)
        held.append(_header_line(header), durable=True)  # rows can be computed again, but not whose they are
        return Resumed(header, _missing([], header["rows"]), [])

    def _mend(self) -> None:
        """Put the mended file in the place of the damaged one, once nothing is missing between its rows."""
        mending = self._mending
        if mending is not None and mending.is_done:
            self._held, self._mending = mending.finished(), None

    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add lines in one write."""
        if self._held is None:
            raise ResultFileError(f"{self._path} is not open for writing; call resume first.")
        if self._mending is None:
            self._held.append(block)
        else:
            self._mending.append(block, start, stop)
            self._mend()

    def header(self) -> dict[str, Any]:
        """Return the first line."""
        with _opened(self._path) as file:
            return _checked(self._path, file.readline(_LONGEST_HEADER))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines after the first; a torn last one is passed over."""
        with _opened(self._path) as file:
            header = _checked(self._path, file.readline(_LONGEST_HEADER))
            key, rows = _key(header), header.get("rows")
            for n, line in enumerate(file):
                if not line.endswith(b"\n") or (b"\0" in line and all(_row_of(rest, key) is None for rest in file)):
                    return
                if (row := _row_of(line, key)) != n or (isinstance(rows, int) and n >= rows):
                    found = "it is no row of this run" if row is None else f"row {row} is in its place"
                    found = "it is cut or changed" if row is None and _ROW.match(line) else found
                    raise ResultFileError(f"Row {n} of {self._path} is damaged: {found}; {_MENDED}.")
                record = parsed(line)
                record.pop("check", None)
                yield record


def _follows(kept: list[_Kept], begin: int) -> bool:
    """Tell whether rows are all that there is after a header, but for the end of the file."""
    return len(kept) == 1 and (kept[0].start, kept[0].begin) == (0, begin)


class _Mending:
    """A file that rows are copied to, with those that were damaged between them, to take the place of the old one."""

    def __init__(self, old: GrowingFile, first: bytes, kept: list[_Kept], missing: list[Span], durable: bool) -> None:
        self._old, self._kept, self._durable = old, list(kept), durable
        self._done_at = max((stop for _, stop in missing if kept and stop <= kept[-1].start), default=0)
        self._row = 0
        folder, name = os.path.split(old.path)
        self._path = os.path.join(folder, f".{name}.tmp")
        removing(self._path)  # of a run that was killed: nobody else writes here, as we hold the file itself
        self._new = GrowingFile(self._path, what=old.what, durable=False)
        try:
            self._new.append(first)
        except BaseException:
            self.give_up()
            raise

    @property
    def is_done(self) -> bool:
        """Whether nothing is missing any more before the last rows that are kept."""
        return self._row >= self._done_at

    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add rows, after those that are kept and come before them."""
        while self._kept and self._kept[0].stop <= start:
            self._copy(self._kept.pop(0))
        self._new.append(block)
        self._row = stop

    def _copy(self, rows: _Kept) -> None:
        with writing(self._old.path, self._old.what), open(self._old.path, "rb") as file:
            file.seek(rows.begin)
            left = rows.end - rows.begin
            while left:
                chunk = file.read(min(left, _CHUNK))
                self._new.append(chunk)
                left -= len(chunk)

    def finished(self) -> GrowingFile:
        """Return the new file, in the place of the old one."""
        while self._kept:
            self._copy(self._kept.pop(0))
        new, old, disk = self._new, self._old, durable_files.disk
        with writing(old.path, old.what):
            if self._durable:
                disk.sync(new.file)
            new.lock()  # before it has the name under which others look for it
            disk.replace(self._path, old.path)
            if self._durable:
                disk.sync_folder(os.path.dirname(old.path))
        new.path, new.durable = old.path, self._durable
        old.close()
        return new

    def give_up(self) -> None:
        """Leave the old file as it was."""
        self._new.close()
        removing(self._path)


class ParquetParts(Store):
    """Results as a folder of Parquet files, a block each, beside a header in JSON."""

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        super().__init__(path, durable=durable)
        self._key: bytes | None = None

    def resume(self, header_of: HeaderOf) -> Resumed:
        """Open for writing, drop unfinished and damaged parts, and return what is missing."""
        pyarrow_for("Writing Parquet")
        self._check_folder()
        self._make_folder()
        self._hold(self._path / _LOCK)  # before anything is looked at
        for torn in self._path.glob(".*.tmp"):
            removing(str(torn))
        wanted = self._same(header_of)
        self._key = _key(wanted)
        kept, bad = self._checked_parts(wanted["rows"])
        for path in bad:
            with writing(path, "The file of results"):
                durable_files.disk.remove(str(path))
        missing = _missing(kept, wanted["rows"])
        return Resumed(wanted, missing, _damaged(missing, kept, bool(bad)))

    def _check_folder(self) -> None:
        if not self._path.exists():
            return
        # One look: another run may be at work, and hold the lock before there is a header.
        names = {p.name for p in self._path.glob("[!.]*")} if self._path.is_dir() else {"a file"}
        if _HEADER not in names and not names <= {_LOCK}:
            raise ResultFileError(f"{self._path} is there already, and is no folder of results; choose another name.")

    def _make_folder(self) -> None:
        with writing(self._path, "The folder of results"):
            if self._path.is_dir():
                return
            try:
                durable_files.disk.make_folder(str(self._path))
            except FileExistsError:  # another run was faster
                return
            durable_files.disk.sync_folder(os.path.dirname(os.path.realpath(self._path)))

    def _same(self, header_of: HeaderOf) -> dict[str, Any]:
        """Return the header of this run as the folder has it, after writing one if there is none."""
        newest = header_of(VERSION)
        parts = self._named_parts()
        try:
            found = self.header() if (self._path / _HEADER).exists() else None
        except ResultFileError:
            # The parts themselves tell whose they are; if there are none, nothing can be lost.
            if not all(self._is_whole(path, span, seal, _key(newest)) for span, seal, path in parts):
                raise
            found = None
        wanted = newest if found is None else header_of(found["version"])
        if found is not None and (found.get("fingerprint") == wanted["fingerprint"] or parts):
            _check_same(self._path, found, wanted)
            return wanted
        write_whole(self._path / _HEADER, _header_line(newest), what="The header of the results")
        return newest

    def _named_parts(self) -> list[tuple[Span, str | None, Path]]:
        """Return the parts in order, as their names say."""
        found = [(m, p) for p in self._path.iterdir() if (m := _PART.fullmatch(p.name))]
        parts = [((int(m[1]), int(m[2])), m[3], p) for m, p in found]
        return sorted(parts, key=lambda part: (part[0], part[1] or "", part[2]))

    def _is_whole(self, path: Path, span: Span, seal: str | None, key: bytes | None) -> bool:
        if key is None or seal is None:
            return key is None and seal is None
        with _opened(path) as file:
            return part_seal(file.read(), key, *span) == seal

    def _checked_parts(self, rows: int) -> tuple[list[Span], list[Path]]:
        """Return the rows of whole parts, and the other parts."""
        kept: list[Span] = []
        bad: list[Path] = []
        for (start, stop), seal, path in self._named_parts():
            is_next = (kept[-1][1] if kept else 0) <= start < stop <= rows
            if is_next and self._is_whole(path, (start, stop), seal, self._key):
                kept.append((start, stop))
            elif self._key is None:
                raise ResultFileError(f"{path} is damaged: its rows are not those that should come next; remove it.")
            else:
                bad.append(path)
        return kept, bad

    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add a part."""
        seal = "" if self._key is None else f"-{part_seal(block, self._key, start, stop)}"
        name = f"part-{start:010d}-{stop:010d}{seal}.parquet"
        write_whole(self._path / name, block, what="The file of results", durable=self._durable)

    def header(self) -> dict[str, Any]:
        """Return the header."""
        with _opened(self._path / _HEADER) as file:
            return _checked(self._path, file.read(_LONGEST_HEADER))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all parts in the form of the lines of :class:`JsonLines`."""
        header = self.header()
        kinds, key, done = header.get("kinds", []), _key(header), 0
        for (start, stop), seal, path in self._named_parts():
            if start != done:
                wrong = f"{rows_words([(done, start)])} are missing" if done < start else f"row {start} is there twice"
                raise ResultFileError(f"{self._path} is damaged: {wrong}; {_MENDED}.")
            done = stop
            yield from self._rows(path, (start, stop), kinds, (seal, key))

    def _rows(
        self, path: Path, span: Span, kinds: list[str], seal: tuple[str | None, bytes | None]
    ) -> Iterator[dict[str, Any]]:
        pa = pyarrow_for("Reading Parquet")
        with _opened(path) as file:
            content = file.read()
        shown, (written, key) = rows_words([span]), seal
        if key is not None and (written is None or part_seal(content, key, *span) != written):
            raise ResultFileError(f"{path} is damaged: {shown} are cut, changed or of another run; {_MENDED}.")
        columns = ["row", "index", "instance", "prediction_exact", "cxps", *(f"{kind}_exact" for kind in kinds)]
        try:
            names = pa.parquet.read_schema(pa.BufferReader(content)).names
            wanted = [*columns, *(name for name in ("index_exact", *_ANSWER) if name in names)]
            rows = pa.parquet.read_table(pa.BufferReader(content), columns=wanted).to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise ResultFileError(f"{path} is no whole Parquet file ({error}); remove it and run again.") from error
        if [row.get("row") for row in rows] != list(range(*span)):
            raise ResultFileError(f"{path} is damaged: it should hold {shown}, but holds others; remove it.")
        yield from (_record(row, kinds) for row in rows)


def _record(row: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    try:
        answer = {name: row[name] for name in _ANSWER if row.get(name) is not None}
        answer |= {name: json.loads(answer[name]) for name in _IN_JSON if name in answer}
        return {
            **answer,
            "row": row["row"],
            "index": json.loads(row["index_exact"]) if "index_exact" in row else row["index"],
            "instance": json.loads(row["instance"]),
            "prediction": json.loads(row["prediction_exact"]),
            "cxps": row["cxps"],
            "scores": {kind: row[f"{kind}_exact"] for kind in kinds},
        }
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ResultFileError(f"A row of the Parquet file does not hold results ({error}).") from error
