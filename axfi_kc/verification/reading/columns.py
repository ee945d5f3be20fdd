"""What a model's columns hold at the values of the user's features, and what its splits make of that."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.verification.spaces import Bound, first_of

__all__ = ["Seen", "Split", "Zeroed", "columns_of", "cuts_of", "fits", "goes_left", "is_number"]


@dataclass(frozen=True, slots=True)
class Zeroed:
    """A bound that numbers near zero do not obey: they all go to one side."""

    bound: Bound  # what the other numbers obey
    near: Fraction  # how near to zero counts as zero
    left: bool  # whether zeros go left


Split = Bound | frozenset[Hashable] | Zeroed
"""What goes left at a node: the numbers up to a bound, or listed entries."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One column of the model."""

    feature: int  # the feature that decides it
    # What it holds at each value of a discrete feature; None: the feature's value itself.
    entries: tuple[Any, ...] | None = None

    def at(self, feature: Feature, number: Fraction) -> Any:
        """Return what the column holds at a value; that of a categorical feature is its position."""
        if self.entries is None:
            return number
        return self.entries[int(number) - first_of(feature)]

    def listed(self, feature: Feature, most: int) -> tuple[Any, ...] | None:
        """Return what the column holds at each value of its feature; None if that is too much to list."""
        if self.entries is None and isinstance(feature, Integer) and feature.size <= most:
            return tuple(range(feature.low, feature.high + 1))
        return self.entries


def columns_of(domain: Domain) -> tuple[Seen, ...]:
    """Return the columns of a model that sees the domain's own.

    Examples
    --------
    >>> columns_of(Domain([Integer("n", 0, 9), Categorical("c", "xy")]))
    (Seen(feature=0, entries=None), Seen(feature=1, entries=('x', 'y')))
    """
    found = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Categorical):
            found += [Seen(i, tuple(column)) for column in zip(*feature.codes, strict=True)]
        else:
            found.append(Seen(i))
    return tuple(found)


def is_number(entry: Any) -> bool:
    """Tell whether an entry can be compared with a threshold."""
    return isinstance(entry, int | float | Fraction)


def goes_left(split: Split, entry: Any) -> bool:
    """Tell on which side of a split an entry of its column is.

    Examples
    --------
    >>> goes_left((Fraction(1, 2), True), 0.5), goes_left(frozenset("ab"), "c")
    (True, False)
    """
    if isinstance(split, frozenset):
        return entry in split
    number = Fraction(entry)
    if isinstance(split, Zeroed):
        if abs(number) <= split.near:
            return split.left
        split = split.bound
    return number < split[0] or (number == split[0] and split[1])


def cuts_of(split: Split) -> Iterator[Bound]:
    """Iterate over the bounds between numbers that a split tells apart."""
    if isinstance(split, frozenset):
        for k in (int(entry) for entry in split if isinstance(entry, int | float)):
            yield Fraction(k - 1), True
            yield Fraction(k), True
    elif isinstance(split, Zeroed):
        yield from (split.bound, (-split.near, False), (split.near, True))
    else:
        yield split


def fits(split: Split, seen: Seen, feature: Feature) -> bool:
    """Tell whether a split means something on a column: thresholds need numbers, and lists need discrete values."""
    if isinstance(split, frozenset):
        return not isinstance(feature, Real)
    return seen.entries is None or all(map(is_number, seen.entries))
