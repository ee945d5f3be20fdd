"""The three kinds of feature: categorical, integer and real.

A feature knows its values, its measure, and the model columns that carry it. Inside the
library a value is a *code*, a float64: the value itself for integer and real features, the
position in ``values`` for a categorical one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.measures import Histogram, Number, Uniform, Weights, exact, shown
from axfi_kc.errors import DomainError

__all__ = ["Categorical", "Feature", "Integer", "Real"]


Codes = npt.NDArray[np.float64]
_LARGEST_INTEGER = 2**53  # beyond it float64, in which models compare, skips integers


def _first(values: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> object:
    found = values[int(np.flatnonzero(wrong)[0])]
    return found.item() if isinstance(found, np.generic) else found


def _as_floats(name: str, column: npt.NDArray[Any]) -> Codes:
    """Return `column` as float64, refusing what is not a number, NaN included."""
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DomainError(
            f"Feature {name!r} takes numbers, but {_first_non_number(column)!r} was found; "
            "encode it as a number or declare the feature categorical."
        ) from error
    missing = np.isnan(numbers)
    if missing.any():
        raise DomainError(
            f"Feature {name!r} is NaN (missing) in row {int(np.flatnonzero(missing)[0])}; "
            "every value must lie in the domain: impute it, or make missing a category of its own."
        )
    return numbers


def _first_non_number(column: npt.NDArray[Any]) -> object:
    for value in column:
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return column


def _outside(feature: Feature, value: object) -> DomainError:
    return DomainError(
        f"Feature {feature.name!r} must be {feature.describe()}, but {value!r} was found; "
        "correct the value or widen the domain."
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

    def __init__(
        self,
        name: str,
        values: Sequence[Hashable],
        *,
        weights: Sequence[Number] | Weights | None = None,
        columns: Sequence[str] | None = None,
        codes: Sequence[Sequence[Number]] | None = None,
    ) -> None:
        items = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        # Equal as Python has it: 1, 1.0 and True would be one key when instances are encoded.
        if not items or len(set(items)) != len(items):
            raise DomainError(f"Feature {name!r} needs distinct values, at least one, but {items!r} was given.")
        if any(isinstance(v, float) and math.isnan(v) for v in items):
            raise DomainError(f"Feature {name!r} has NaN among its values; give missing a name of its own.")
        object.__setattr__(self, "name", str(name))
        object.__setattr__(self, "values", items)
        object.__setattr__(self, "measure", _weights(name, weights, len(items)))
        object.__setattr__(self, "columns", tuple(columns) if columns is not None else (str(name),))
        object.__setattr__(self, "codes", self._codes(columns, codes))

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
        if len(given) != n or any(len(row) != width for row in given) or len(set(given)) != n:
            raise DomainError(
                f"Feature {self.name!r} needs {n} distinct codes of {width} numbers each (one per column), "
                f"but {len(given)} codes {given[:3]} were given."
            )
        return given

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    def describe(self) -> str:
        """Return the values in words."""
        shown = ", ".join(repr(v) for v in self.values[:8])
        return f"one of {shown}{', ...' if self.size > 8 else ''}"

    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return the position of each value of `column` among the feature's values."""
        position = {value: k for k, value in enumerate(self.values)}
        items = column.tolist()
        try:
            return np.array([position[v] for v in items], dtype=np.float64)
        except (KeyError, TypeError):
            wrong = next(v for v in items if not isinstance(v, Hashable) or v not in position)
        raise _outside(self, wrong)

    def encode_columns(self, block: npt.NDArray[Any]) -> Codes:
        """Return the position of the value whose code each row of `block` is."""
        position = {tuple(float(c) for c in code): k for k, code in enumerate(self.codes)}
        numbers = _as_floats(self.name, block.reshape(-1)).reshape(block.shape)
        rows = [tuple(row.tolist()) for row in numbers]
        wrong = next((row for row in rows if row not in position), None)
        if wrong is not None:
            raise DomainError(
                f"Columns {list(self.columns)} of feature {self.name!r} hold {wrong}, "
                "which is no value's code; invalid codes are not points of the domain."
            )
        return np.array([position[row] for row in rows], dtype=np.float64)

    def decode(self, code: float) -> Hashable:
        """Return the value with this code."""
        return self.values[int(code)]


@dataclass(frozen=True, slots=True, init=False)
class Integer:
    """An integer feature with values ``low..high``, both included.

    Examples
    --------
    >>> Integer("age", 18, 90).size
    73
    """

    kind: ClassVar[str] = "integer"
    name: str
    low: int
    high: int
    measure: Uniform | Weights
    columns: tuple[str, ...] = field(repr=False, compare=False)  # the one model column that carries this feature

    def __init__(self, name: str, low: int, high: int, *, weights: Sequence[Number] | Weights | None = None) -> None:
        least, most = (exact(low, f"bound of {name!r}"), exact(high, f"bound of {name!r}"))
        if least.denominator != 1 or most.denominator != 1 or least > most:
            raise DomainError(f"Integer feature {name!r} needs integers low <= high, but ({low}, {high}) was given.")
        if max(abs(least), abs(most)) > _LARGEST_INTEGER:
            raise DomainError(f"Integer feature {name!r} must stay within +-2**53, but ({low}, {high}) was given.")
        object.__setattr__(self, "name", str(name))
        object.__setattr__(self, "low", int(least))
        object.__setattr__(self, "high", int(most))
        object.__setattr__(self, "measure", _weights(name, weights, self.size))
        object.__setattr__(self, "columns", (self.name,))

    @property
    def size(self) -> int:
        """The number of values."""
        return self.high - self.low + 1

    def describe(self) -> str:
        """Return the values in words."""
        return f"an integer from {self.low} to {self.high}"

    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return `column` as float64 after checking every value."""
        numbers = _as_floats(self.name, column)
        # NaN was refused before: it is neither below nor above a bound. Up to 2**53 bounds are floats themselves.
        wrong = (numbers < self.low) | (numbers > self.high) | (numbers != np.floor(numbers))
        if wrong.any():
            raise _outside(self, _first(numbers, wrong))
        return numbers

    def decode(self, code: float) -> int:
        """Return the value with this code."""
        return int(code)


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
    columns: tuple[str, ...] = field(repr=False, compare=False)  # the one model column that carries this feature
    floats: tuple[float, float] = field(repr=False, compare=False)  # the least and the largest within

    def __init__(self, name: str, low: Number, high: Number, *, histogram: Histogram | None = None) -> None:
        least, most = (exact(low, f"bound of {name!r}"), exact(high, f"bound of {name!r}"))
        if least > most:
            raise DomainError(f"Real feature {name!r} needs low <= high, but ({low}, {high}) was given.")
        if histogram is not None and (histogram.edges[0], histogram.edges[-1]) != (least, most):
            raise DomainError(
                f"The histogram of {name!r} must run from {low} to {high}, "
                f"but its edges run from {float(histogram.edges[0])} to {float(histogram.edges[-1])}."
            )
        object.__setattr__(self, "name", str(name))
        object.__setattr__(self, "low", least)
        object.__setattr__(self, "high", most)
        object.__setattr__(self, "measure", histogram if histogram is not None else Uniform())
        object.__setattr__(self, "columns", (self.name,))
        object.__setattr__(self, "floats", (_float_above(least), -_float_above(-most)))

    @property
    def size(self) -> None:
        """An interval has no number of values."""
        return

    def describe(self) -> str:
        """Return the values in words."""
        return f"a number from {shown(self.low)} to {shown(self.high)}"

    def encode(self, column: npt.NDArray[Any]) -> Codes:
        """Return `column` as float64 after checking every value."""
        numbers = _as_floats(self.name, column)
        # A float lies between the rational bounds iff it lies between the outermost floats within them.
        wrong = (numbers < self.floats[0]) | (numbers > self.floats[1])
        if wrong.any():
            raise _outside(self, _first(numbers, wrong))
        return numbers

    def decode(self, code: float) -> float:
        """Return the value with this code."""
        return float(code)


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
