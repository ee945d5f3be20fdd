"""Universal Binary JSON (draft 12), as far as model files use it.

The file is not trusted: every length is compared with the bytes that are left before anything
is allocated, and nesting is limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from axfi_kc.arguments import quoted
from axfi_kc.errors import ModelFileError

__all__ = ["parse_ubjson"]


_DEEPEST = 64
_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_INTEGERS = "iUIlL"
_CONSTANTS = {"Z": None, "T": True, "F": False}


def parse_ubjson(data: bytes) -> Any:
    r"""Return the value that `data` encodes: dicts, lists, strings, numbers and NumPy arrays.

    Typed arrays of numbers become NumPy arrays, everything else plain Python. Linear in the number of bytes.

    Examples
    --------
    >>> parse_ubjson(b"{U\x01a[$U#U\x02\x07\x09}")["a"].tolist()
    [7, 9]
    """
    reader = _Reader(data)
    value = reader.value(reader.marker(), 0)
    if reader.at != len(data):
        raise reader.error(f"the end of the file, but {len(data) - reader.at} more bytes follow")
    return value


@dataclass(slots=True)
class _Reader:
    data: bytes
    at: int = 0

    def error(self, expected: str) -> ModelFileError:
        return ModelFileError(
            f"Expected {expected} (byte {self.at} of {len(self.data)}); the UBJSON file is damaged or cut off: "
            "save the model again."
        )

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        # Before anything is allocated: a length in a damaged file may be anything.
        if size < 0 or size > len(self.data) - self.at:
            raise self.error(f"{size} bytes, but {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def marker(self) -> str:
        """Return the next type marker, skipping no-ops."""
        found = "N"
        # "N" is a no-op that may stand before any value.
        while found == "N":
            found = chr(self.take(1)[0])
        return found

    def peek(self, marker: str) -> bool:
        """Tell whether `marker` comes next, and pass it if so."""
        met = self.data[self.at : self.at + 1] == marker.encode("latin-1")
        self.at += met
        return met

    def number(self, marker: str) -> int | float:
        dtype = np.dtype(_NUMBERS[marker])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def length(self) -> int:
        marker = self.marker()
        if marker not in _INTEGERS:
            raise self.error(f"a length, but the marker {quoted(marker)} was found")
        found = int(self.number(marker))
        # Every item takes a byte at least, so no count can honestly exceed the bytes left.
        if not 0 <= found <= len(self.data) - self.at:
            raise self.error(f"at most {len(self.data) - self.at} items or bytes, but {found} were declared")
        return found

    def text(self) -> str:
        try:
            # A string without its marker: keys and string values share this form.
            return self.take(self.length()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error("a string in UTF-8") from error

    def value(self, marker: str, depth: int) -> Any:
        # Nesting is recursion here, so it must be limited by us and not by the interpreter.
        if depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} levels of nesting")
        if marker in _NUMBERS:
            return self.number(marker)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker == "S":
            return self.text()
        if marker == "C":
            return chr(self.take(1)[0])
        if marker == "[":
            return self.array(depth)
        if marker == "{":
            return self.object(depth)
        raise self.error(f"a value, but the marker {quoted(marker)} was found")

    def header(self) -> tuple[str | None, int | None]:
        """Return the element type and the number of elements of a container, where given."""
        kind = self.marker() if self.peek("$") else None
        if kind in _CONSTANTS:  # takes no bytes, so a few bytes could declare any number of them
            raise self.error(f"elements that take up bytes, but the type {quoted(kind)} was found")
        if self.peek("#"):
            return kind, self.length()
        if kind is not None:
            raise self.error("a number of elements after their type")
        return None, None

    def array(self, depth: int) -> Any:
        kind, count = self.header()
        if kind in _NUMBERS and count is not None:
            dtype = np.dtype(_NUMBERS[kind])
            # A copy in the machine's byte order: the buffer is big-endian and read-only.
            return np.frombuffer(self.take(count * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        items: list[Any] = []
        while count is None or len(items) < count:
            marker = self.marker() if kind is None else kind
            # With a count there is no closing bracket.
            if marker == "]" and count is None:
                break
            items.append(self.value(marker, depth + 1))
        return items

    def object(self, depth: int) -> dict[str, Any]:
        kind, count = self.header()
        items: dict[str, Any] = {}
        read = 0
        while count is None or read < count:
            # Keys have no marker of their own, so the end must be looked for before a key is read.
            if count is None and self.peek("}"):
                break
            name = self.text()
            if name in items:
                raise self.error(f"different keys, but {name[:40]!r} occurs twice")
            items[name] = self.value(self.marker() if kind is None else kind, depth + 1)
            read += 1
        return items
