"""Weights of a whole batch of CXps at once, where every feature is real and uniform.

The closed form of :mod:`axfi_kc.engines.linear_weights` without discrete features, in arrays of
Python integers: ``s**k / (k! * product of swings)``, over one denominator per instance.
"""

from __future__ import annotations

from math import factorial, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.engines.families import masks_of_words, members_of_words
from axfi_kc.engines.linear_sides import Side
from axfi_kc.features import Real
from axfi_kc.measures import Uniform
from axfi_kc.sets import features_of

__all__ = ["BatchWeigher"]

_AT_ONCE = 1 << 10  # CXps between two looks at the clock: some milliseconds
Integers = npt.NDArray[Any]  # of Python ints


class BatchWeigher:
    """Weighs CXps of real, uniform features, whose sides exclude each other.

    Parameters
    ----------
    side
        One of the sides; what a feature can change is the same on each.
    """

    def __init__(self, side: Side) -> None:
        # A feature without swing is in no CXp; 1 keeps the products from vanishing.
        self._swings = [swing or 1 for swing in side.swings]
        self._whole = prod(self._swings)
        self._rest: dict[int, int] = {}  # of a CXp: the product of all other swings

    @staticmethod
    def fits(side: Side) -> bool:
        """Tell whether every feature is real and uniform."""
        return all(isinstance(f, Real) and isinstance(f.measure, Uniform) for f in side.features)

    def weights(
        self,
        losses: Integers,
        margins: Integers,
        shifts: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        *,
        account: Account,
    ) -> tuple[Integers, list[int]]:
        """Return totals and divisors, the divisors of one instance all the same.

        Parameters
        ----------
        losses, margins, shifts
            Per instance; see :meth:`axfi_kc.engines.linear_sides.Side.losses`.
        starts, words
            The CXps of each instance.
        account
            Under which it is done.
        """
        if not len(words):
            return np.empty(0, dtype=object), []
        numbers = np.diff(starts)
        instance = np.repeat(np.arange(len(numbers)), numbers)
        largest = np.zeros(len(numbers), dtype=np.int64)
        np.maximum.at(largest, instance, np.bitwise_count(words).sum(axis=1, dtype=np.int64))
        # One divisor for all CXps of an instance: the largest factorial and power of two, and all swings.
        wholes = [self._whole * factorial(k) << q * k for k, q in zip(largest.tolist(), shifts.tolist(), strict=True)]
        at_once = len(words) if account.is_free else _AT_ONCE
        spans = (slice(k, k + at_once) for k in account.paced(range(0, len(words), at_once), at_once=1))
        parts = [self._totals(losses, margins, shifts, words[s], instance[s], largest) for s in spans]
        return np.concatenate(parts), [wholes[n] for n in instance.tolist()]

    def _totals(
        self,
        losses: Integers,
        margins: Integers,
        shifts: npt.NDArray[np.int64],
        words: npt.NDArray[np.uint64],
        instance: npt.NDArray[np.int64],
        largest: npt.NDArray[np.int64],
    ) -> Integers:
        """Return the totals of some CXps, over the common divisors of their instances."""
        powers, sizes = _powers(losses, margins, members_of_words(words, losses.shape[2]), instance)
        missing = largest[instance] - sizes
        factorials = np.array([factorial(k) for k in range(int(largest.max()) + 1)], dtype=object)
        # What is missing to that divisor: the quotient of the factorials, the swings outside the CXp, and the
        # shift of the dimensions that a smaller CXp lacks.
        falls = factorials[largest[instance]] // factorials[sizes]
        rests = np.array([self._rest_of(mask) for mask in masks_of_words(words)], dtype=object)
        return np.left_shift(powers * rests * falls, (shifts[instance] * missing).astype(object))

    def _rest_of(self, mask: int) -> int:
        if mask not in self._rest:
            self._rest[mask] = self._whole // prod([self._swings[i] for i in features_of(mask)])
        return self._rest[mask]


def _powers(
    losses: Integers, margins: Integers, members: npt.NDArray[np.bool_], instance: npt.NDArray[np.int64]
) -> tuple[Integers, npt.NDArray[np.int64]]:
    """Return for each CXp the sum over sides of its slack to the power of its size; and its size."""
    row, feature = np.nonzero(members)
    first = np.searchsorted(row, np.arange(len(members)))
    sizes = members.sum(axis=1)
    found = np.zeros(len(members), dtype=object)
    for side in range(losses.shape[1]):
        slack = np.add.reduceat(losses[instance[row], side, feature], first) - margins[instance, side]
        # Sides exclude each other, so volumes add up; a side that the CXp does not reach has none.
        found = found + np.maximum(slack, 0) ** sizes.astype(object)
    return found, sizes
