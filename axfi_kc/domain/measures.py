"""Numbers, read exactly and shown to people, and probability measures on one feature.

Floats are taken for the rationals they denote. Whatever prints a value, a score or a count (tables,
messages, pages, pictures) prints it with :func:`shown`, :func:`amount` or :func:`counted`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from numbers import Rational
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.errors import DomainError

__all__ = ["Histogram", "Number", "Uniform", "Weights", "abridged", "amount", "counted", "exact", "is_count", "shown"]


Number = int | float | Fraction | np.integer | np.floating
_MOST_DIGITS = 12  # of a whole number whose digits somebody would read
_WHOLE = 1e16  # above it float64 has no digits left after the point, nor all of those before it


def exact(value: object, what: str = "number") -> Fraction:
    """Return the rational that `value` denotes.

    Parameters
    ----------
    value
        An int, float, Fraction or NumPy scalar.
    what
        How to call the value in the error message.

    Raises
    ------
    DomainError
        If `value` is not a finite number.

    Examples
    --------
    >>> exact(0.5)
    Fraction(1, 2)
    """
    if isinstance(value, Rational | np.integer):
        # Through Python's int, so that what came from NumPy cannot overflow later on.
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float | np.floating) and math.isfinite(value):
        # A float is a dyadic rational, and this is that number, not the decimal it prints as.
        return Fraction(float(value))
    article = "An" if what[:1] in "aeiou" else "A"
    raise DomainError(
        f"{article} {what} must be a finite number, but {quoted(value)} was given; give an int, float or Fraction."
    )


def is_count(value: object) -> bool:
    """Tell whether `value` is a positive whole number, Python's or NumPy's; True is none.

    Examples
    --------
    >>> is_count(2), is_count(np.int64(2)), is_count(0), is_count(2.0), is_count(True)
    (True, True, False, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value > 0)


def shown(value: Any, *, digits: int | None = 6, quoted: bool = False) -> str:
    """Return a feature's value or a model's output as people read it.

    Parameters
    ----------
    value
        A number, a label, or anything with a text. Integers and text are shown as they are, None as missing.
    digits
        How many digits of a number count; None for the exact number, with all its digits.
    quoted
        Whether text stands in quotes, as in messages that must tell ``'1'`` from ``1``.

    Examples
    --------
    >>> shown(Fraction(1, 3)), shown(1250000.5), shown("red"), shown(2024)
    ('0.333333', '1250000', 'red', '2024')
    >>> shown(Fraction(1, 3), digits=None), shown("red", quoted=True)
    ('1/3', "'red'")
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None and not quoted:
        return "missing"
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
        return repr(plain) if quoted else str(plain)
    if isinstance(plain, int) or digits is None:
        return _in_full(plain)
    return _rounded(plain, digits)


def _in_full(number: float | Fraction) -> str:
    try:
        return str(number)
    except ValueError:  # more digits than Python converts; in hexadecimal there is no limit
        above, below = Fraction(number).as_integer_ratio()
        return hex(above) if below == 1 else f"{hex(above)}/{hex(below)}"


def _rounded(number: float | Fraction, digits: int) -> str:
    """Return a number to so many digits, but those before the point all: 1.25e+06 is no way to write a price."""
    try:
        near = float(number)
    except OverflowError:
        return _power(number)
    if number and not near:  # too small for a float, and no 0
        return _power(number)
    return f"{near:.0f}" if 10.0**digits <= abs(near) < _WHOLE else f"{near:.{digits}g}"


def _power(number: float | Fraction) -> str:
    """Return the power of ten below a number of any size."""
    above, below = Fraction(number).as_integer_ratio()
    # log10 takes integers of any length, but of 10**58 it may return a little less than 58
    return f"about {'-' * (number < 0)}10^{math.floor(math.log10(abs(above)) - math.log10(below) + 1e-9)}"


def amount(number: Number, *, digits: int = 4) -> str:
    """Return a score, a weight or a size: whole ones in groups of three digits, others to `digits` digits.

    Examples
    --------
    >>> amount(Fraction(1, 3)), amount(12345678), amount(10**58), amount(Fraction(1, 10**400))
    ('0.3333', '12,345,678', 'about 10^58', 'about 10^-400')
    """
    try:
        whole = int(number)
    except (ValueError, OverflowError):  # no number, or infinite
        return shown(number)
    if number != whole:
        return shown(number, digits=digits)
    return f"{whole:,}" if abs(whole) < 10**_MOST_DIGITS else _power(whole)


def counted(number: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "CXp"), counted(1200, "CXp")
    ('1 CXp', '1,200 CXps')
    """
    return f"{amount(number)} {noun}{'' if number == 1 else 's'}"


def abridged(text: str, longest: int) -> str:
    """Return `text`, its end left out where it is longer than `longest` letters.

    Examples
    --------
    >>> abridged("a long name", 8)
    'a long …'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _shares(weights: Iterable[object]) -> tuple[Fraction, ...]:
    """Return `weights` divided by their sum, after checking that they are a measure."""
    given = tuple(exact(w, "weight") for w in weights)
    if any(w < 0 for w in given) or not sum(given):
        raise DomainError(
            f"Weights must be non-negative with a positive sum, but {_first_six(given)} were given; correct them."
        )
    total = sum(given)
    return tuple(w / total for w in given)


def _first_six(weights: Sequence[Fraction]) -> str:
    listed = ", ".join(shown(w, digits=None) for w in weights[:6])
    return f"({listed}{', ...' if len(weights) > 6 else ''})"


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every value of the feature is equally likely (equal length, for an interval)."""


@dataclass(frozen=True, slots=True, init=False)
class Weights:
    """One weight per value, in the order of the feature's values; normalised to sum 1.

    Examples
    --------
    >>> Weights([1, 3]).shares
    (Fraction(1, 4), Fraction(3, 4))
    """

    shares: tuple[Fraction, ...]

    @checked("weights")
    def __init__(self, weights: Iterable[object]) -> None:
        object.__setattr__(self, "shares", _shares(weights))


@dataclass(frozen=True, slots=True, init=False)
class Histogram:
    """Piecewise uniform on an interval: `weights[k]` spread over ``edges[k]..edges[k+1]``.

    Examples
    --------
    >>> h = Histogram(edges=[0, 1, 3], weights=[1, 1])
    >>> h.below(2)
    Fraction(3, 4)
    """

    edges: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]
    _below: tuple[Fraction, ...]

    @checked("edges", "weights")
    def __init__(self, edges: Iterable[object], weights: Iterable[object]) -> None:
        bounds = tuple(exact(e, "histogram edge") for e in edges)
        shares = _shares(weights)
        # Increasing edges, so no bin has width 0 and every density is finite.
        if len(bounds) != len(shares) + 1 or any(a >= b for a, b in pairwise(bounds)):
            raise DomainError(
                f"A histogram of {len(shares)} weights needs {len(shares) + 1} increasing edges, "
                f"but {len(bounds)} edges were given; give edges[0] < edges[1] < ... ."
            )
        object.__setattr__(self, "edges", bounds)
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "_below", tuple(accumulate(shares, initial=Fraction(0))))

    def below(self, value: Number) -> Fraction:
        """Return the probability of the values up to `value` (cost: a binary search)."""
        t = exact(value)
        # An edge belongs to the bin on its right, of which nothing lies below it yet; the last edge to none.
        k = bisect_right(self.edges, t) - 1
        if k < 0:
            return Fraction(0)
        if k >= len(self.shares):
            return Fraction(1)
        left, right = self.edges[k], self.edges[k + 1]
        return self._below[k] + self.shares[k] * (t - left) / (right - left)
