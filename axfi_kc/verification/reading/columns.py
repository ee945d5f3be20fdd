"""What a model's columns hold at the values of the user's features, and what its splits make of that."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.verification.spaces import Bound, Number, first_of, is_left, present

__all__ = ["Excepted", "Seen", "Split", "columns_of", "cuts_of", "fits", "goes_left", "is_number"]


@dataclass(frozen=True, slots=True)
class Excepted:
    """A bound that some numbers do not obey: they count as missing, and go where missing values go."""

    bound: Bound  # what the other numbers obey
    # Those right of the first and left of the last of these are excepted.
    first: Bound
    last: Bound


Split = Bound | frozenset[Hashable] | Excepted
"""What goes left at a node: the numbers up to a bound, or listed entries."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One column of the model."""

    feature: int  # the feature that decides it
    # What it holds at each value of a discrete feature; None: the feature's value itself.
    entries: tuple[Any, ...] | None = None
    absent: Any = math.nan  # what it holds where the feature is missing; NaN unless something was put in its place

    def at(self, feature: Feature, number: Number) -> Any:
        """Return what the column holds at a value."""
        if number is None:
            return self.absent
        if self.entries is None:
            return number
        return self.entries[int(number) - first_of(feature)]

    def listed(self, feature: Feature, most: int) -> tuple[Any, ...] | None:
        """Return what the column holds at each value that is not missing; None if that is too much to list."""
        if self.entries is None and isinstance(feature, Integer) and present(feature) <= most:
            return tuple(range(feature.low, feature.high + 1))
        return self.entries


def columns_of(domain: Domain) -> tuple[Seen, ...]:
    """Return the columns of a model that sees the domain's own.

    Examples
    --------
    >>> columns_of(Domain([Integer("n", 0, 9), Categorical("c", "xy")]))
    (Seen(feature=0, entries=None, absent=nan), Seen(feature=1, entries=('x', 'y'), absent=nan))
    """
    found = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Categorical):
            found += [Seen(i, tuple(column)) for column in zip(*feature.codes, strict=True)]
        else:
            found.append(Seen(i))
    return tuple(found)


def is_number(entry: Any) -> bool:
    """Tell whether an entry can be compared with a threshold, or is missing."""
    return isinstance(entry, int | float | Fraction)


def goes_left(split: Split, entry: Any, *, missing: bool = False) -> bool:
    """Tell on which side of a split an entry of its column is; NaN is on the left if `missing`.

    Examples
    --------
    >>> goes_left((Fraction(1, 2), True), 0.5), goes_left(frozenset("ab"), "c")
    (True, False)
    >>> goes_left((Fraction(1, 2), True), float("nan"), missing=True)
    True
    """
    if isinstance(entry, float) and math.isnan(entry):
        return missing
    if isinstance(split, frozenset):
        return entry in split
    number = Fraction(entry)
    if not isinstance(split, Excepted):
        return is_left(number, split)
    excepted = is_left(number, split.last) and not is_left(number, split.first)
    return missing if excepted else is_left(number, split.bound)


def cuts_of(split: Split) -> Iterator[Bound]:
    """Iterate over the bounds between numbers that a split tells apart."""
    if isinstance(split, frozenset):
        for k in (int(entry) for entry in split if isinstance(entry, int | float)):
            yield Fraction(k - 1), True
            yield Fraction(k), True
    elif isinstance(split, Excepted):
        yield from (split.bound, split.first, split.last)
    else:
        yield split


def fits(split: Split, seen: Seen, feature: Feature) -> bool:
    """Tell whether a split means something on a column: thresholds need numbers, and lists need discrete values."""
    if isinstance(split, frozenset):
        return not isinstance(feature, Real)
    return seen.entries is None or all(map(is_number, seen.entries))
