"""Probability measures on one feature, in exact arithmetic.

Numbers given as floats are taken for the rationals they denote.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from numbers import Rational

import numpy as np

from axfi_kc.errors import DomainError

__all__ = ["Histogram", "Number", "Uniform", "Weights", "exact"]

Number = int | float | Fraction | np.integer | np.floating


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
    raise DomainError(f"A {what} must be a finite number, but {value!r} was given; give an int, float or Fraction.")


def _shares(weights: Iterable[object]) -> tuple[Fraction, ...]:
    """Return `weights` divided by their sum, after checking that they are a measure."""
    given = tuple(exact(w, "weight") for w in weights)
    if any(w < 0 for w in given) or not sum(given):
        raise DomainError(
            f"Weights must be non-negative with a positive sum, but {_abridged(given)} were given; correct them."
        )
    total = sum(given)
    return tuple(w / total for w in given)


def _abridged(weights: Sequence[Fraction]) -> str:
    shown = ", ".join(str(w) for w in weights[:6])
    return f"({shown}{', ...' if len(weights) > 6 else ''})"


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
