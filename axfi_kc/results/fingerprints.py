"""A name for content: equal models, domains, options and data have equal fingerprints."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["fingerprint"]


def fingerprint(*things: Any) -> str:
    """Return a SHA-256 of the contents of `things`.

    Dataclasses count by their fields, arrays by dtype, shape and entries, sets regardless of
    order. Two processes agree unless something is of a class of another kind, whose pickle is
    taken: then a false alarm is possible, a false match is not.

    Notes
    -----
    Linear in the content, without recursion.

    Examples
    --------
    >>> fingerprint((1, "a"), {2, 3}) == fingerprint((1, "a"), {3, 2})
    True
    >>> fingerprint(1) == fingerprint(1.0)
    False
    """
    digest = hashlib.sha256()
    for piece in _pieces(things):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces(thing: Any) -> Iterator[bytes]:
    stack = [thing]
    while stack:
        item = stack.pop()
        parts = _parts(item)
        yield type(item).__name__.encode()
        if parts is None:
            yield _leaf(item)
        else:
            yield str(len(parts)).encode()
            stack += reversed(parts)


def _parts(item: Any) -> list[Any] | None:
    """Return what a compound thing is made of; None for a leaf."""
    if isinstance(item, tuple | list):
        return list(item)
    if isinstance(item, Mapping):
        return [pair for entry in item.items() for pair in entry]
    if isinstance(item, set | frozenset):
        return sorted(fingerprint(member) for member in item)
    if isinstance(item, np.ndarray):
        whole = item.tolist() if item.dtype == object else np.ascontiguousarray(item).tobytes()
        return [item.dtype.str, item.shape, whole]
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, f.name) for f in fields(item)]
    return None


def _leaf(item: Any) -> bytes:
    if isinstance(item, bytes):
        return item
    if item is None or isinstance(item, bool | float | str):
        return repr(item).encode()
    if isinstance(item, int):
        return hex(item).encode()
    if isinstance(item, Fraction):
        return f"{item.numerator:x}/{item.denominator:x}".encode()
    return pickle.dumps(item)
