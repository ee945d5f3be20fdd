"""Sixty-nine values that no door expects: each is made anew, for some can be used only once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pandas as pd

__all__ = ["ODD"]


class _Refusal(Exception):
    """What the hostile objects below raise; nobody but them does."""


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise _Refusal("not with me")


class NoRepr:
    __repr__ = __str__ = _refuse


class NoArray:
    __array__ = _refuse


class NoLength:
    __len__ = __iter__ = __getitem__ = _refuse


class NoTruth:
    __bool__ = __eq__ = __hash__ = _refuse  # type: ignore[assignment]


class NoPath:
    __fspath__ = _refuse


class NoAttributes:
    def __getattr__(self, name: str) -> NoReturn:
        _refuse()


def _endless_list() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


def _endless_dict() -> dict[str, Any]:
    itself: dict[str, Any] = {}
    itself["a"] = itself
    return itself


def _deep() -> list[Any]:
    inner: list[Any] = []
    for _ in range(5000):
        inner = [inner]
    return inner


def _generator() -> Iterator[str]:
    yield "a"
    yield "b"


ODD: dict[str, Callable[[], Any]] = {
    # no numbers, and numbers of every kind
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "0": lambda: 0,
    "1": lambda: 1,
    "-1": lambda: -1,
    "2**63": lambda: 2**63,
    "10**30": lambda: 10**30,
    "-10**30": lambda: -(10**30),
    "10**5000": lambda: 10**5000,
    "0.5": lambda: 0.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "1e308": lambda: 1e308,
    "2j": lambda: 2j,
    "Fraction(1, 3)": lambda: Fraction(1, 3),
    "Decimal('NaN')": lambda: Decimal("NaN"),
    # text and bytes
    "empty text": lambda: "",
    "magic": lambda: "magic",
    "a": lambda: "a",
    "1/0": lambda: "1/0",
    "lone surrogate": lambda: "\ud800",
    "NUL": lambda: "a\0b",
    "control characters": lambda: "\x1b[31m\n\t",
    "a megabyte": lambda: "x" * 1_000_000,
    "empty bytes": lambda: b"",
    "bytes": lambda: b"\xff\xfe\x00",
    "bytearray": lambda: bytearray(b"a"),
    # containers
    "[]": list,
    "()": lambda: (),
    "{}": dict,
    "set()": lambda: set(),
    "{'a'}": lambda: {"a"},
    "[None]": lambda: [None],
    "[[]]": lambda: [[]],
    "['a', 'a']": lambda: ["a", "a"],
    "['magic']": lambda: ["magic"],
    "[1, 'a', None]": lambda: [1, "a", None],
    "[-1, 10**30]": lambda: [-1, 10**30],
    "[nan, inf]": lambda: [math.nan, math.inf],
    "[['a', 'b'], ['c']]": lambda: [["a", "b"], ["c"]],
    "{'a': 1}": lambda: {"a": 1},
    "{0: [1]}": lambda: {0: [1]},
    "{None: None}": lambda: {None: None},
    "{'a': {'a': []}}": lambda: {"a": {"a": []}},
    "list in itself": _endless_list,
    "dict in itself": _endless_dict,
    "deep list": _deep,
    "generator": _generator,
    "range": lambda: range(3),
    # what is callable, and objects that refuse
    "lambda": lambda: lambda *_: "magic",
    "object": lambda: object(),
    "type": lambda: int,
    "module": lambda: ModuleType("a"),
    "no repr": lambda: NoRepr(),
    "no array": lambda: NoArray(),
    "no length": lambda: NoLength(),
    "no truth": lambda: NoTruth(),
    "no path": lambda: NoPath(),
    "no attributes": lambda: NoAttributes(),
    # NumPy and pandas
    "np.float32(nan)": lambda: np.float32("nan"),
    "0-d array": lambda: np.array(0.5),
    "no rows": lambda: np.zeros((0, 3)),
    "three dimensions": lambda: np.zeros((2, 2, 2)),
    "objects": lambda: np.array([["a", None, object()]], dtype=object),
    "dates": lambda: np.array([["2020-01-01", "NaT", "2020-01-01"]], dtype="datetime64[D]"),
    "records": lambda: np.zeros(2, dtype=[("a", "i4"), ("b", "c8")]),
    "frame": lambda: pd.DataFrame({"a": [math.nan, None], "a ": ["x", pd.NA]}, index=[0, 0]),
}
assert len(ODD) == 69
