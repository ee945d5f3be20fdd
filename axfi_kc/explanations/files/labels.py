"""Labels of rows in files: what the index of a table has comes back equal, and of the same type.

What JSON has stays what it is; times, periods, intervals and the like are wrapped in an object of one key. A label of
any other kind is written as its text.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Inexact, InvalidOperation
from typing import Any
from uuid import UUID

import numpy as np

from axfi_kc.errors import DomainError, MissingExtraError, ResultFileError
from axfi_kc.json_text import value_of, value_text

__all__ = ["label_text", "row_label"]


# Of our own: that of the process may have few digits, trap what we do, or not trap what is no number.
_DECIMALS = Context(
    prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=[Inexact, InvalidOperation]
)


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "Reading rows whose labels are times or intervals") from error
    return pd


def _timestamp(text: str, unit: str, zone: str | None) -> Any:
    stamp = _pandas().Timestamp(text)
    return (stamp if zone is None else stamp.tz_convert(zone)).as_unit(unit)


# By name and package of the type, so that pandas is not imported to ask what something is. A subclass is another kind.
_WRITTEN: dict[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("Timestamp", "pandas"): lambda t: {
        "timestamp": [t.isoformat(), t.unit, None if t.tz is None else str(t.tz)],
    },
    ("Timedelta", "pandas"): lambda t: {"timedelta": [int(t.as_unit("ns").value), t.unit]},
    ("Period", "pandas"): lambda t: {"period": [t.ordinal, t.freqstr]},
    ("Interval", "pandas"): lambda t: {"interval": [label_text(t.left), label_text(t.right), t.closed]},
    ("NaTType", "pandas"): lambda t: {"missing": "NaT"},
    ("NAType", "pandas"): lambda t: {"missing": "NA"},
    ("datetime", "datetime"): lambda t: {"datetime": t.isoformat()},
    ("date", "datetime"): lambda t: {"date": t.isoformat()},
    ("time", "datetime"): lambda t: {"time": t.isoformat()},
    ("timedelta", "datetime"): lambda t: {"days": [t.days, t.seconds, t.microseconds]},
    ("Decimal", "decimal"): lambda t: {"decimal": _DECIMALS.to_sci_string(t)},
    ("UUID", "uuid"): lambda t: {"uuid": t.hex},
    ("bytes", "builtins"): lambda t: {"bytes": t.hex()},
}
_READ: dict[str, Callable[[Any], Any]] = {
    "timestamp": lambda t: _timestamp(*t),
    "timedelta": lambda t: _pandas().Timedelta(t[0], "ns").as_unit(t[1]),
    "period": lambda t: _pandas().Period(ordinal=t[0], freq=t[1]),
    "interval": lambda t: _pandas().Interval(row_label(t[0]), row_label(t[1]), closed=t[2]),
    "missing": lambda t: {"NaT": _pandas().NaT, "NA": _pandas().NA}[t],
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    "days": lambda t: dt.timedelta(*t),
    "decimal": _DECIMALS.create_decimal,
    "uuid": UUID,
    "bytes": bytes.fromhex,
}


def label_text(label: Any) -> Any:
    """Return a row's label as JSON can hold it.

    Examples
    --------
    >>> label_text("a"), label_text((1, "b")), label_text(dt.date(2026, 1, 31)), label_text(1j)
    ('a', {'tuple': [1, 'b']}, {'date': '2026-01-31'}, '1j')
    """
    plain = label.item() if isinstance(label, np.generic) and not isinstance(label, np.datetime64) else label
    if isinstance(plain, float) and math.isnan(plain):
        return {"float": "nan"}
    kind = type(plain)
    write = _WRITTEN.get((kind.__name__, kind.__module__.partition(".")[0]))
    if write is not None:
        return write(plain) if _comes_back(plain) else str(plain)
    if kind is tuple and not any(isinstance(part, tuple) for part in plain):
        return {"tuple": [label_text(part) for part in plain]}
    try:
        return value_text(plain)
    except DomainError:
        return str(plain)


def _comes_back(label: Any) -> bool:
    """Tell whether a time is in a zone that its text names, if it is in one."""
    zone = getattr(label, "tzinfo", None)
    if zone is None or type(label).__name__ == "time":
        return zone is None
    if type(label).__name__ == "datetime":
        return isinstance(zone, dt.timezone)
    try:
        return bool(_timestamp(label.isoformat(), label.unit, str(zone)) == label)
    except (ValueError, KeyError):
        return False


def row_label(text: Any) -> Any:
    """Return the label that :func:`label_text` wrote.

    Raises
    ------
    ResultFileError
        If `text` is no such label.

    Examples
    --------
    >>> row_label({"tuple": [1, {"date": "2026-01-31"}]})
    (1, datetime.date(2026, 1, 31))
    """
    if not isinstance(text, dict) or len(text) != 1:
        return value_of(text)
    ((tag, inner),) = text.items()
    if tag == "float" and inner == "nan":
        return math.nan
    if tag == "tuple" and isinstance(inner, list) and not any(isinstance(p, dict) and "tuple" in p for p in inner):
        return tuple(map(row_label, inner))
    read = _READ.get(tag)
    if read is None:
        return value_of(text)
    try:
        return read(inner)
    except (ArithmeticError, AttributeError, KeyError, LookupError, TypeError, ValueError) as error:
        raise ResultFileError(
            f"The label of a row is not what a file has ({str(error)[:80]}); it is damaged."
        ) from error
