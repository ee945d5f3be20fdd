"""How likely independent uniform variables add up to no more than a limit: the volume of a corner of a box."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, prod
from typing import Any

__all__ = ["share_below_sum"]


def share_below_sum(widths: Sequence[Any], limit: Any) -> Fraction:
    """Return the probability that independent uniform variables on [0, width] add up to at most a limit.

    Parameters
    ----------
    widths
        Positive Fractions or integers; without any, the sum is 0.
    limit
        What the sum may be.

    Notes
    -----
    Inclusion and exclusion over the corners of the box that lie below the limit: one, where the limit is below every
    width, and two to the number of variables at most.

    Examples
    --------
    >>> share_below_sum([Fraction(1), Fraction(1)], Fraction(1)), share_below_sum([], Fraction(0))
    (Fraction(1, 2), Fraction(1, 1))
    """
    if limit < 0 or (widths and not limit):
        return Fraction(0)
    if limit >= sum(widths):
        return Fraction(1)
    ordered, k, total = sorted(widths), len(widths), 0
    # Each corner is reached once, by adding widths in order; those beyond one that is too far are too far as well.
    stack = [(0, limit, 1)]
    while stack:
        first, rest, sign = stack.pop()
        total += sign * rest**k
        for j in range(first, k):
            if ordered[j] >= rest:
                break
            stack.append((j + 1, rest - ordered[j], -sign))
    return Fraction(total, factorial(k) * prod(ordered))
