"""Files that results are appended to, block by block, and found again after a stop.

JSON Lines: a header line, then a line per instance; a stopped run leaves at most one torn line,
which is dropped. Parquet: a folder of part files, because a Parquet file is unreadable until its
footer is written, and cannot be appended to; a part is complete or absent. Either names its run by
a fingerprint, and only the same run goes on with it.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from axfi_kc.arguments import quoted
from axfi_kc.errors import ResultFileError
from axfi_kc.explanations.files.document import parsed, pyarrow_for

__all__ = ["FORMAT", "SUFFIXES", "VERSION", "JsonLines", "ParquetParts", "Store", "store_at"]


FORMAT = "axfi-kc results"
VERSION = 1
SUFFIXES = (".jsonl", ".ndjson", ".parquet")
_HEADER = "_axfi.json"  # readers of Parquet pass over names that begin with an underscore
_PART = re.compile(r"part-(\d{10})-(\d{10})\.parquet")
_IN_JSON = ("margin", "unlisted", "interactions", "local_paxps", "paxps", "inflated")
_ANSWER = (
    "prediction_name",
    "probability",
    "radius",
    "completeness",
    *_IN_JSON,
)  # columns that files of earlier versions lack
_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 28


class Store(ABC):
    """A file, or folder, of results in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    @abstractmethod
    def resume(self, header: dict[str, Any]) -> int:
        """Open for writing, drop what is torn, and return how many rows of the run with this header are there."""

    @abstractmethod
    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add the rows ``start:stop``."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """Return the header of the run that wrote the file."""

    @abstractmethod
    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dicts, in order."""


def store_at(path: str | os.PathLike[str]) -> Store:
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
    return ParquetParts(found) if found.suffix == ".parquet" else JsonLines(found)


def _checked(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    if header.get("format") != FORMAT or header.get("version") != VERSION:
        raise ResultFileError(f"{path} is no file of results of this version; choose another name.")
    return header


def _check_same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    if _checked(path, found).get("fingerprint") != wanted["fingerprint"]:
        raise ResultFileError(
            f"{path} holds results of another model, domain, options or data, so this run cannot go on with it; "
            "choose another name, or remove it."
        )


def _lock(path: Path, file: IO[bytes]) -> None:
    """Keep other runs out, where the system can."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ResultFileError(f"Another run is writing {path}; wait for it, or choose another name.") from error


def _opened(path: Path, mode: str) -> IO[bytes]:
    try:
        return path.open(mode)
    except OSError as error:
        raise ResultFileError(f"{path} cannot be opened ({error.strerror}); check the path.") from error


class JsonLines(Store):
    """Results as a header line and a line of JSON per instance."""

    def resume(self, header: dict[str, Any]) -> int:
        """Open for writing, drop a torn last line, and return the number of rows."""
        line = json.dumps(header, ensure_ascii=False).encode() + b"\n"
        # Opened without truncating: nothing is lost before the lock is held and the fingerprint has been compared.
        self._file = file = _opened(self._path, "a+b")
        _lock(self._path, file)
        file.seek(0)
        begin = file.read(len(line))
        if line.startswith(begin) and begin != line:  # nothing yet, or a torn header of ours
            file.truncate(0)
            file.write(line)
            file.flush()
            return 0
        _check_same(self._path, self.header(), header)
        rows, end = self._complete(file)
        file.truncate(end)
        return rows

    def _complete(self, file: IO[bytes]) -> tuple[int, int]:
        """Return the number of whole rows and where they end, after a look at the last one."""
        lines, ends, offset = 0, [0, 0], 0
        file.seek(0)
        while chunk := file.read(_CHUNK):
            # JSON escapes line feeds within text, so each one ends a row, and no row but the last needs parsing.
            lines += chunk.count(b"\n")
            last = chunk.rfind(b"\n")
            if last >= 0:
                before = chunk.rfind(b"\n", 0, last)
                ends = [offset + before + 1 if before >= 0 else ends[1], offset + last + 1]
            offset += len(chunk)
        if lines > 1:
            file.seek(ends[0])
            row = parsed(file.read(ends[1] - ends[0]))
            # Rows carry their numbers: the last one's tells whether lines were lost or added before it.
            if row.get("row") != lines - 2:
                raise ResultFileError(f"{self._path} is damaged: its last row is not number {lines - 2}; remove it.")
        return lines - 1, ends[1]

    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add lines in one write."""
        if self._file is None:
            raise ResultFileError(f"{self._path} is not open for writing; call resume first.")
        self._file.write(block)
        self._file.flush()

    def header(self) -> dict[str, Any]:
        """Return the first line."""
        with _opened(self._path, "rb") as file:
            return _checked(self._path, parsed(file.readline(_LONGEST_HEADER)))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the lines after the first; a torn last one is passed over."""
        with _opened(self._path, "rb") as file:
            file.readline(_LONGEST_HEADER)
            for line in file:
                if line.endswith(b"\n"):
                    yield parsed(line)


class ParquetParts(Store):
    """Results as a folder of Parquet files, a block each, beside a header in JSON."""

    def resume(self, header: dict[str, Any]) -> int:
        """Open for writing, drop unfinished parts, and return the number of rows."""
        pyarrow_for("Writing Parquet")
        known = self._path / _HEADER
        if not known.exists():
            self._create(header)
        self._file = _opened(known, "rb")
        _lock(self._path, self._file)
        _check_same(self._path, self.header(), header)
        for torn in self._path.glob(".*.tmp"):
            torn.unlink()
        return self._parts()[-1][1] if self._parts() else 0

    def _create(self, header: dict[str, Any]) -> None:
        if self._path.exists() and not (self._path.is_dir() and not any(self._path.glob("[!.]*"))):
            raise ResultFileError(f"{self._path} is there already, and is no folder of results; choose another name.")
        try:
            self._path.mkdir(exist_ok=True)
        except OSError as error:
            raise ResultFileError(f"{self._path} cannot be made ({error.strerror}); check the path.") from error
        self._place(_HEADER, json.dumps(header, ensure_ascii=False).encode())

    def _place(self, name: str, content: bytes) -> None:
        """Write a file so that it is complete or absent."""
        # In the same folder, where replacing is atomic, and hidden by its dot from readers of Parquet.
        unfinished = self._path / f".{name}.tmp"
        unfinished.write_bytes(content)
        unfinished.replace(self._path / name)

    def _parts(self) -> list[tuple[int, int, Path]]:
        """Return the parts in order, after checking that no row is missing between them."""
        found = [(m, p) for p in self._path.iterdir() if (m := _PART.fullmatch(p.name))]
        parts = sorted((int(m[1]), int(m[2]), p) for m, p in found)
        starts = [0, *(stop for _, stop, _ in parts)]
        if any(start != wanted for (start, _, _), wanted in zip(parts, starts, strict=False)):
            raise ResultFileError(f"{self._path} is damaged: rows are missing between its parts; remove it.")
        return parts

    def append(self, block: bytes, start: int, stop: int) -> None:
        """Add a part."""
        self._place(f"part-{start:010d}-{stop:010d}.parquet", block)

    def header(self) -> dict[str, Any]:
        """Return the header."""
        with _opened(self._path / _HEADER, "rb") as file:
            return _checked(self._path, parsed(file.read(_LONGEST_HEADER)))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of all parts in the form of the lines of :class:`JsonLines`."""
        pa = pyarrow_for("Reading Parquet")
        kinds = self.header().get("kinds", [])
        columns = ["row", "index", "instance", "prediction_exact", "cxps", *(f"{kind}_exact" for kind in kinds)]
        for _, _, path in self._parts():
            try:
                written = pa.parquet.read_schema(path).names
                wanted = [*columns, *(name for name in _ANSWER if name in written)]
                # Without partitioning, or a folder named such as a=1 on the way would become a column.
                rows = pa.parquet.read_table(path, columns=wanted, partitioning=None).to_pylist()
            except (pa.ArrowException, OSError, ValueError) as error:
                raise ResultFileError(f"{path} is no whole Parquet file ({error}); remove it and run again.") from error
            yield from (_record(row, kinds) for row in rows)


def _record(row: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    try:
        answer = {name: row[name] for name in _ANSWER if row.get(name) is not None}
        answer |= {name: json.loads(answer[name]) for name in _IN_JSON if name in answer}
        return {
            **answer,
            "row": row["row"],
            "index": row["index"],
            "instance": json.loads(row["instance"]),
            "prediction": json.loads(row["prediction_exact"]),
            "cxps": row["cxps"],
            "scores": {kind: row[f"{kind}_exact"] for kind in kinds},
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ResultFileError(f"A row of the Parquet file does not hold results ({error}).") from error
