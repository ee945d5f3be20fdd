"""Short decimals within an interval, and what they look like.

A decimal that lies between two floats is read back, by any language, as a float between them. So a value chosen here
means the same to the reader, to whoever types it in, and to the model.
"""

from __future__ import annotations

import math
from fractions import Fraction

from axfi_kc.domain.measures import shown

__all__ = ["decimal_text", "shortest", "told_apart"]


_DIGITS = 17  # enough to tell any two floats apart
_VIEW = 6  # digits of a value that is only looked at


def shortest(low: float | Fraction, high: float | Fraction, *, near: float, unit: Fraction = Fraction(0)) -> float:
    """Return the decimal from `low` to `high` with the fewest digits, of several the one nearest to `near`.

    Parameters
    ----------
    low, high
        The interval; both ends belong to it.
    near
        A float within it, returned where no decimal of up to 17 digits is.
    unit
        Digits are counted from its first one on, where that of `near` is smaller: next to 0 as good as nothing
        is short otherwise (5e-324 has one digit).

    Examples
    --------
    >>> shortest(16.7949, 17.02, near=16.7949), shortest(880.13, 921, near=921.0), shortest(-0.2, 1, near=0.5)
    (17.0, 900.0, 0.0)
    >>> shortest(5e-324, 1, near=5e-324, unit=Fraction(1, 1000))
    0.001
    """
    if low <= 0 <= high:
        return 0.0
    at = Fraction(near)
    own = _first_place(abs(at))
    first = max(own, _first_place(unit)) if unit else own
    for place in range(first, own - _DIGITS, -1):
        step = Fraction(10) ** place
        # The multiples next to `near` on both sides: if neither lies inside, none of this length does.
        around = (math.floor(at / step) * step, math.ceil(at / step) * step)
        inside = [d for d in around if low <= d <= high]
        if inside:
            return float(min(inside, key=lambda d: abs(d - at)))
    return near


def _first_place(number: Fraction) -> int:
    """Return the power of ten of a positive number's first digit."""
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    place = math.floor((bits - 1) * math.log10(2)) - 1  # below it, at most by three
    while Fraction(10) ** (place + 1) <= number:
        place += 1
    return place


def decimal_text(number: float) -> str:
    """Return the shortest text that is read back as this float.

    Examples
    --------
    >>> decimal_text(17.0), decimal_text(0.1)
    ('17', '0.1')
    """
    return repr(number).removesuffix(".0")


def told_apart(number: float, low: float, high: float) -> str:
    """Return a number outside an interval to six digits, or as many more as keep it outside on view.

    Examples
    --------
    >>> told_apart(14.123456789, 15, 16), told_apart(14.99999999, 15, 16)
    ('14.1235', '14.99999999')
    """
    for digits in range(_VIEW, _DIGITS):
        text = shown(number, digits=digits)
        if not low <= float(text) <= high:
            return text
    return decimal_text(number)
