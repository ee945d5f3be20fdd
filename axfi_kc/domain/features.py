"""The three kinds of feature: categorical, integer and real.

A feature knows its values, its measure, and the model columns that carry it. Inside the
library a value is a *code*, a float64: the value itself for integer and real features, the
position in ``values`` for a categorical one. Where values may be missing, *missing* is one more
value: its code is NaN, on view it is None, and it has a probability of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_hashable, quoted
from axfi_kc.domain.measures import Histogram, Number, Uniform, Weights, exact, shown
from axfi_kc.errors import DomainError

__all__ = ["Categorical", "Feature", "Integer", "Real", "is_missing"]


Codes = npt.NDArray[np.float64]
_LARGEST_INTEGER = 2**53 - 1  # from 2**53 on, one float64, in which models compare, may stand for two integers
_LARGEST_FLOAT = Fraction(sys.float_info.max)
_NO_FLOAT = (TypeError, ValueError, OverflowError)  # what Python says of a value that no float64 stands for
_NOTHING = ("NAType", "NaTType")  # what pandas has in the place of a missing value, known by name: it is an extra


def is_missing(value: object) -> bool:
    """Tell whether `value` stands for a missing one: None, NaN, or pandas' NA and NaT.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(0.0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in _NOTHING:
        return True
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)


def _first(values: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> object:
    found = values[int(np.flatnonzero(wrong)[0])]
    return found.item() if isinstance(found, np.generic) else found


def _as_floats(name: str, column: npt.NDArray[Any], missing: Fraction) -> Codes:
    """Return `column` as float64, refusing what is not a number; NaN, or what stands for it, only if it may miss."""
    if column.dtype.kind == "O":
        # One by one: an array of lists would have two dimensions.
        column = np.fromiter((math.nan if is_missing(value) else value for value in column), object, len(column))
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except _NO_FLOAT as error:
        raise DomainError(
            f"Feature {name!r} takes numbers, but {quoted(_first_non_number(column))} was found; "
            "encode it as a number that float64 can hold, or declare the feature categorical."
        ) from error
    if not missing and np.isnan(numbers).any():
        raise _refused_missing(name)
    return numbers


def _text(name: Any) -> str:
    """Return a name as text; those of columns may be numbers."""
    try:
        return str(name)
    except Exception as error:  # foreign code
        raise DomainError(f"The name of a feature is text, but {quoted(name)} was given; give a name.") from error


def _one_column(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if column.ndim != 1:
        raise DomainError(f"A column has one dimension, but an array of shape {column.shape} was given; reshape it.")
    return column


def _are_distinct(codes: Sequence[Sequence[Any]]) -> bool:
    return all(map(is_hashable, codes)) and len(set(codes)) == len(codes)


def _refused_missing(name: str) -> DomainError:
    return DomainError(
        f"Feature {name!r} is missing (NaN), but its domain has no missing values; allow them with a "
        "share of their own (missing=0.1), or read the domain off data that have some (Domain.from_data)."
    )


def _first_non_number(column: npt.NDArray[Any]) -> object:
    for value in column:
        try:
            float(value)
        except _NO_FLOAT:
            return value
    return column


def _share(name: str, missing: Number) -> Fraction:
    share = exact(missing, f"share of missing values of {name!r}")
    if 0 <= share < 1:
        return share
    raise DomainError(
        f"The share of missing values of {name!r} must be at least 0 and below 1, but "
        f"{quoted(missing)} was given; leave a "
        "feature out that is always missing."
    )


def _whole_text(text: str, what: str) -> str:
    """Return text, if it can be written: halves of characters come of escapes in JSON, and of arguments in no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DomainError(
            f"{what} must be text that can be written as UTF-8, but {text!r} holds half of a character; correct it."
        ) from error
    return text


def _or_missing(text: str, missing: Fraction) -> str:
    return f"{text}, or missing" if missing else text


def _outside(feature: Feature, value: object) -> DomainError:
    return DomainError(
        f"Feature {feature.name!r} must be {feature.describe()}, but {quoted(value)} was found; "
        "correct the value or widen the domain."
    )


# What Python says of a code that is none. Looking at each first would take longer than decoding it.
_NO_CODE = (TypeError, ValueError, OverflowError, IndexError)


def _no_code(feature: Feature, code: object) -> DomainError:
    return DomainError(
        f"A code of feature {feature.name!r} is a number, as encode gives it, but {quoted(code)} was given; encode the "
        "value first."
    )


@dataclass(frozen=True, slots=True, init=False)
class Categorical:
    """A feature with finitely many unordered values.

    Parameters
    ----------
    name
        The feature's name.
    values
        Its values, in the order in which weights and codes refer to them.
    weights
        A weight per value; uniform by default.
    columns
        Names of the model columns that carry this feature, when there are several (one-hot).
    codes
        For each value, the numbers it puts into `columns`; by default the one-hot code.
        Combinations that are no value's code are not points of the domain.
    missing
        The probability that the value is missing (NaN in every column); 0 by default: it never is. The
        other values share the rest.

    Examples
    --------
    >>> Categorical("race", ["a", "b", "c"]).size
    3
    >>> Categorical("race", ["a", "b"], columns=["race_a", "race_b"]).codes
    ((1, 0), (0, 1))
    """

    kind: ClassVar[str] = "categorical"
    name: str
    values: tuple[Hashable, ...]
    measure: Uniform | Weights
    columns: tuple[str, ...]
    codes: tuple[tuple[Any, ...], ...]
    missing: Fraction

    @checked("values", "weights", "columns", "codes")
    def __init__(
        self,
        name: str,
        values: Sequence[Hashable],
        *,
        weights: Sequence[Number] | Weights | None = None,
        columns: Sequence[str] | None = None,
        codes: Sequence[Sequence[Number]] | None = None,
        missing: Number = 0,
    ) -> None:
        name = _text(name)
        items = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        # Equal as Python has it: 1, 1.0 and True would be one key when instances are encoded.
        if not items or len(set(items)) != len(items):
            raise DomainError(f"Feature {name!r} needs distinct values, at least one, but {quoted(items)} was given.")
        nothing = [v for v in items if is_missing(v)]
        if nothing:
            raise DomainError(
                f"Feature {name!r} has {quoted(nothing[0])} among its values, which stands for a missing one; leave "
                "it out, and give missing values a share, missing=0.1."
            )
        for value in items:
            if isinstance(value, str):
                _whole_text(value, f"A value of feature {name!r}")
        object.__setattr__(self, "name", _whole_text(str(name), "The name of a feature"))
        object.__setattr__(self, "values", items)
        object.__setattr__(self, "measure", _weights(name, weights, len(items)))
        object.__setattr__(self, "columns", tuple(columns) if columns is not None else (str(name),))
        object.__setattr__(self, "codes", self._codes(columns, codes))
        object.__setattr__(self, "missing", _share(name, missing))

    def _codes(
        self, columns: Sequence[str] | None, codes: Sequence[Sequence[Number]] | None
    ) -> tuple[tuple[Any, ...], ...]:
        n, width = len(self.values), len(self.columns)
        if codes is not None:
            given: tuple[tuple[Any, ...], ...] = tuple(tuple(row) for row in codes)
        elif columns is None:
            given = tuple((value,) for value in self.values)
        else:
            given = tuple(tuple(int(i == j) for j in range(n)) for i in range(n))
        if len(given) != n or any(len(row) != width for row in given) or not _are_distinct(given):
            raise DomainError(
                f"Feature {self.name!r} needs {n} distinct codes of {width} numbers each (one per column), "
                f"but {len(given)} codes {quoted(given[:3])} were given."
            )
        return given

    @property
    def size(self) -> int:
        """The number of values; missing is one of them, if it occurs."""
        return len(self.values) + bool(self.missing)

    @property
    def is_numbered(self) -> bool:
        """Whether its values are 0, 1, 2 and so on, in one column of its own: then they are their own codes."""
        whole = all(type(value) is int for value in self.values)
        numbered = tuple((k,) for k in range(len(self.values)))
        return whole and self.columns == (self.name,) and self.codes == numbered == tuple((v,) for v in self.values)

    def describe(self) -> str:
        """Return the values in words."""
        shown = ", ".join(quoted(v) for v in self.values[:8])
        return _or_missing(f"one of {shown}{', ...' if len(self.values) > 8 else ''}", self.missing)

    @checked("column")
    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return the position of each value of `column` among the feature's values; NaN for a missing one."""
        position = {value: k for k, value in enumerate(self.values)}
        items = _one_column(column).tolist()
        if self.missing:
            items = [None if is_missing(v) else v for v in items]
            position[None] = math.nan  # type: ignore[assignment]
        try:
            return np.array([position[v] for v in items], dtype=np.float64)
        except (KeyError, TypeError):
            wrong = next(v for v in items if not isinstance(v, Hashable) or v not in position)
        raise _refused_missing(self.name) if is_missing(wrong) else _outside(self, wrong)

    @checked("block")
    def encode_columns(self, block: npt.NDArray[Any]) -> Codes:
        """Return the position of the value whose code each row of `block` is."""
        flat = np.fromiter((c for code in self.codes for c in code), object)
        codes = _as_floats(self.name, flat, Fraction(0)).reshape(len(self.codes), -1).tolist()
        position: dict[Any, float] = {tuple(code): k for k, code in enumerate(codes)}
        if block.ndim != 2:
            raise DomainError(
                f"Feature {self.name!r} is read from rows of {len(self.columns)} columns, but an array of shape "
                f"{block.shape} was given; reshape it."
            )
        numbers = _as_floats(self.name, block.reshape(-1), self.missing).reshape(block.shape)
        # NaN equals nothing, so None stands for a row of them; a row with a few is no value's code.
        rows = [None if np.isnan(row).all() else tuple(row.tolist()) for row in numbers]
        if self.missing:
            position[None] = math.nan
        wrong = next((row for row in rows if row not in position), None)
        if wrong is not None:
            raise DomainError(
                f"Columns {list(self.columns)} of feature {self.name!r} hold {wrong}, "
                "which is no value's code; invalid codes are not points of the domain."
            )
        return np.array([position[row] for row in rows], dtype=np.float64)

    def decode(self, code: float) -> Hashable:
        """Return the value with this code; None for a missing one."""
        try:
            return None if math.isnan(code) else self.values[int(code)]
        except _NO_CODE as error:
            raise _no_code(self, code) from error


@dataclass(frozen=True, slots=True, init=False)
class Integer:
    """An integer feature with values ``low..high``, both included; with probability `missing`, 0 by default, none.

    Examples
    --------
    >>> Integer("age", 18, 90).size
    73
    >>> Integer("age", 18, 90, missing=0.25).describe()
    'an integer from 18 to 90, or missing'
    """

    kind: ClassVar[str] = "integer"
    name: str
    low: int
    high: int
    measure: Uniform | Weights
    missing: Fraction
    columns: tuple[str, ...] = field(repr=False, compare=False)  # the one model column that carries this feature

    @checked("weights")
    def __init__(
        self,
        name: str,
        low: Number,
        high: Number,
        *,
        weights: Sequence[Number] | Weights | None = None,
        missing: Number = 0,
    ) -> None:
        name = _text(name)
        least, most = (exact(low, f"bound of {name!r}"), exact(high, f"bound of {name!r}"))
        if least.denominator != 1 or most.denominator != 1 or least > most:
            raise DomainError(
                f"Integer feature {name!r} needs integers low <= high, but {quoted((low, high))} was given."
            )
        if max(abs(least), abs(most)) > _LARGEST_INTEGER:
            raise DomainError(
                f"Integer feature {name!r} must stay within +-(2**53 - 1), but {quoted((low, high))} was given."
            )
        object.__setattr__(self, "name", _whole_text(str(name), "The name of a feature"))
        object.__setattr__(self, "low", int(least))
        object.__setattr__(self, "high", int(most))
        object.__setattr__(self, "measure", _weights(name, weights, self.high - self.low + 1))
        object.__setattr__(self, "missing", _share(name, missing))
        object.__setattr__(self, "columns", (self.name,))

    @property
    def size(self) -> int:
        """The number of values; missing is one of them, if it occurs."""
        return self.high - self.low + 1 + bool(self.missing)

    def describe(self) -> str:
        """Return the values in words."""
        return _or_missing(f"an integer from {self.low} to {self.high}", self.missing)

    @checked("column")
    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return `column` as float64 after checking every value."""
        numbers = _as_floats(self.name, _one_column(column), self.missing)
        # NaN, if it may be, is neither below nor above a bound. Bounds are floats themselves.
        fractional = (numbers != np.floor(numbers)) & ~np.isnan(numbers)
        wrong = (numbers < self.low) | (numbers > self.high) | fractional
        if wrong.any():
            raise _outside(self, _first(numbers, wrong))
        return numbers

    def decode(self, code: float) -> int | None:
        """Return the value with this code; None for a missing one."""
        try:
            return None if math.isnan(code) else int(code)
        except _NO_CODE as error:
            raise _no_code(self, code) from error


@dataclass(frozen=True, slots=True, init=False)
class Real:
    """A real feature on the closed interval ``[low, high]``.

    Parameters
    ----------
    name
        The feature's name.
    low, high
        Bounds, taken exactly. ``low == high`` gives a feature with a single value.
    histogram
        A :class:`~axfi_kc.domain.measures.Histogram` whose edges run from `low` to `high`;
        uniform by default.
    missing
        The probability that the value is missing; 0 by default: it never is. The interval shares the rest.

    Examples
    --------
    >>> Real("income", 0, 2.5).high
    Fraction(5, 2)
    """

    kind: ClassVar[str] = "real"
    name: str
    low: Fraction
    high: Fraction
    measure: Uniform | Histogram
    missing: Fraction
    columns: tuple[str, ...] = field(repr=False, compare=False)  # the one model column that carries this feature
    floats: tuple[float, float] = field(repr=False, compare=False)  # the least and the largest within

    @checked("histogram")
    def __init__(
        self, name: str, low: Number, high: Number, *, histogram: Histogram | None = None, missing: Number = 0
    ) -> None:
        name = _text(name)
        least, most = (exact(low, f"bound of {name!r}"), exact(high, f"bound of {name!r}"))
        if least > most:
            raise DomainError(
                f"Real feature {name!r} needs low <= high, but ({shown(least)}, {shown(most)}) was given."
            )
        if max(abs(least), abs(most)) > _LARGEST_FLOAT:
            raise DomainError(
                f"Real feature {name!r} must stay within float64, about 1.8e308, but ({shown(least)}, {shown(most)}) "
                "was given; give it narrower bounds."
            )
        if histogram is not None and (histogram.edges[0], histogram.edges[-1]) != (least, most):
            raise DomainError(
                f"The histogram of {name!r} must run from {low} to {high}, "
                f"but its edges run from {float(histogram.edges[0])} to {float(histogram.edges[-1])}."
            )
        object.__setattr__(self, "name", _whole_text(str(name), "The name of a feature"))
        object.__setattr__(self, "low", least)
        object.__setattr__(self, "high", most)
        object.__setattr__(self, "measure", histogram if histogram is not None else Uniform())
        object.__setattr__(self, "missing", _share(name, missing))
        object.__setattr__(self, "columns", (self.name,))
        object.__setattr__(self, "floats", (_float_above(least), -_float_above(-most)))

    @property
    def size(self) -> None:
        """An interval has no number of values."""
        return

    def describe(self) -> str:
        """Return the values in words."""
        return _or_missing(f"a number from {shown(self.low)} to {shown(self.high)}", self.missing)

    @checked("column")
    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return `column` as float64 after checking every value."""
        numbers = _as_floats(self.name, _one_column(column), self.missing)
        # A float lies between the rational bounds iff it lies between the outermost floats within them; NaN, if it
        # may be, is on neither side.
        wrong = (numbers < self.floats[0]) | (numbers > self.floats[1])
        if wrong.any():
            raise _outside(self, _first(numbers, wrong))
        return numbers

    def decode(self, code: float) -> float | None:
        """Return the value with this code; None for a missing one."""
        try:
            return None if math.isnan(code) else float(code)
        except _NO_CODE as error:
            raise _no_code(self, code) from error


Feature = Categorical | Integer | Real


def _weights(name: str, weights: Sequence[Number] | Weights | None, size: int) -> Uniform | Weights:
    if weights is None:
        return Uniform()
    measure = weights if isinstance(weights, Weights) else Weights(weights)
    if len(measure.shares) != size:
        raise DomainError(
            f"Feature {name!r} has {size} values, but {len(measure.shares)} weights were given; give one per value."
        )
    return measure


def _float_above(bound: Fraction) -> float:
    """Return the least float64 that is not below `bound`."""
    # The nearest float may lie on either side, so it is compared as the rational that it is.
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)
