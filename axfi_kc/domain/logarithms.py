"""Sums of logarithms, certified: an interval of rationals in which the exact value lies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from axfi_kc.arguments import quoted
from axfi_kc.errors import DomainError

__all__ = ["INFINITE", "Interval", "log_sum"]


_DIGITS = 50  # of a logarithm, before and after the point
_UNIT = 10**40  # logarithms are added up as integers of this unit


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is no fraction, by two numbers between which it certainly lies.

    Attributes
    ----------
    low, high
        Fractions, both included; both infinite where the number is.

    Examples
    --------
    >>> two = log_sum([(1, 2)])
    >>> float(two), two.low < two.high, float(two.error) < 1e-39
    (0.6931471805599453, True, True)
    """

    low: Fraction | float
    high: Fraction | float

    def __float__(self) -> float:
        """Return the float nearest to the middle, at most :attr:`error` and half a unit in its last place away."""
        return float(self.middle)

    @property
    def middle(self) -> Fraction | float:
        """The middle of the interval."""
        return self.low if self.low == self.high else (self.low + self.high) / 2

    @property
    def error(self) -> Fraction | float:
        """How far the middle is at most from the number."""
        return Fraction(0) if self.low == self.high else (self.high - self.low) / 2

    def __contains__(self, number: object) -> bool:
        """Tell whether a number may be the one that is meant."""
        return isinstance(number, int | float | Fraction) and self.low <= number <= self.high


INFINITE = Interval(math.inf, math.inf)


def log_sum(
    terms: Iterable[tuple[Fraction | int, Fraction | int]], *, base: float = math.e, least: int | None = None
) -> Interval:
    """Return the sum of each first number times the logarithm of the second one.

    Parameters
    ----------
    terms
        Pairs of a factor and a positive number; factors that are 0 are left out, whatever comes with them.
    base
        Of the logarithms: ``math.e`` for nats, or a whole number from 2 up.
    least
        What the sum is known not to be below, such as 0 of an entropy.

    Raises
    ------
    DomainError
        If the base is none, or a number is not positive.

    Notes
    -----
    Each logarithm is correctly rounded to 50 digits (``decimal``), and everything after that is rounded outwards.

    Examples
    --------
    >>> float(log_sum([(Fraction(1, 2), 8)], base=2))
    1.5
    """
    if base != math.e and (isinstance(base, bool) or not isinstance(base, int) or base < 2):
        raise DomainError(
            f"The base of a logarithm is math.e or a whole number from 2 up, but {quoted(base)} was given."
        )
    low = high = 0
    known: dict[Fraction | int, tuple[int, int]] = {}
    for factor, number in terms:
        if not factor:
            continue
        if number not in known:
            known[number] = _bounds(Fraction(number))
        below, above = known[number] if factor > 0 else known[number][::-1]
        low += math.floor(Fraction(factor) * below)
        high += math.ceil(Fraction(factor) * above)
    if base != math.e:
        divisor = _bounds(Fraction(int(base)))
        low = math.floor(Fraction(low * _UNIT, divisor[0] if low < 0 else divisor[1]))
        high = math.ceil(Fraction(high * _UNIT, divisor[1] if high < 0 else divisor[0]))
    if least is not None:
        low = max(low, least * _UNIT)
        high = max(high, low)
    return Interval(Fraction(low, _UNIT), Fraction(high, _UNIT))


def _context() -> Context:
    """Return a context of our own: that of the process may round, trap and clamp as its owner likes."""
    return Context(
        prec=_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9, capitals=1, clamp=0, flags=[], traps=[]
    )


def _bounds(number: Fraction) -> tuple[int, int]:
    """Return two integers of the unit between which the natural logarithm of a number lies."""
    if number <= 0:
        raise DomainError(f"Logarithms are taken of positive numbers, but {number} was given; leave it out.")
    if number == 1:
        return 0, 0
    low = high = 0
    for sign, whole in ((1, number.numerator), (-1, number.denominator)):
        if whole > 1:
            # Digits before the point are few: a number of a million bits has a logarithm of six.
            found = sign * Fraction(_context().ln(Decimal(whole)))
            low += math.floor(found * _UNIT) - 1
            high += math.ceil(found * _UNIT) + 1
    return low, high
