"""What a feature can change to: its cells other than the instance's own, and how far they are.

Distances are exact. A numeric feature's change is divided by the width of its domain, a
categorical feature's is 1. Points are float64, so the nearest point of an open end is the float
next to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from axfi_kc.features import Categorical, Feature, Integer, Real
from axfi_kc.grid import Axis

__all__ = ["Choices", "cell_ends", "change", "float_ends"]


@dataclass(frozen=True, slots=True)
class Choices:
    """Cells of one feature, without the instance's own.

    Attributes
    ----------
    feature
        The feature's position.
    cells
        The cells' numbers.
    codes
        The code in each cell that is nearest to the instance.
    costs
        How far that is.
    """

    feature: int
    cells: tuple[int, ...]
    codes: tuple[float, ...]
    costs: tuple[Fraction, ...]

    @classmethod
    def of(cls, feature: int, axis: Axis, code: float, own: int) -> Choices:
        """Return the cells from left to right; a cell without any float64 is left out."""
        found = []
        for cell in range(axis.n_cells):
            low, high = cell_ends(axis, cell)
            if cell != own and low <= high:
                near = min(max(code, low), high)
                found.append((cell, near, change(axis.feature, code, near)))
        cells, codes, costs = zip(*found, strict=True) if found else ((), (), ())
        return cls(feature, cells, codes, costs)

    def by_cost(self) -> Choices:
        """Return the same cells, nearest first."""
        order = sorted(range(len(self.cells)), key=lambda k: (self.costs[k], self.cells[k]))
        parts = (tuple(row[k] for k in order) for row in (self.cells, self.codes, self.costs))
        return Choices(self.feature, *parts)  # type: ignore[arg-type]


def change(feature: Feature, code: float, other: float) -> Fraction:
    """Return how far two codes of a feature are apart, between 0 and 1.

    Examples
    --------
    >>> change(Integer("age", 0, 100), 40.0, 65.0), change(Categorical("race", "abc"), 0.0, 2.0)
    (Fraction(1, 4), Fraction(1, 1))
    """
    if isinstance(feature, Categorical):
        return Fraction(int(code != other))
    width = Fraction(feature.high - feature.low)
    return abs(Fraction(code) - Fraction(other)) / width if width else Fraction(0)


def float_ends(feature: Integer | Real) -> tuple[float, float]:
    """Return the least and the largest float64 of a numeric feature."""
    low, high = float(feature.low), float(feature.high)
    if Fraction(low) < feature.low:
        low = math.nextafter(low, math.inf)
    if Fraction(high) > feature.high:
        high = math.nextafter(high, -math.inf)
    return low, high


def cell_ends(axis: Axis, cell: int) -> tuple[float, float]:
    """Return the least and the largest code in a cell; in a cell without floats the first is larger."""
    feature = axis.feature
    if isinstance(feature, Categorical):
        return float(cell), float(cell)
    low, high = float_ends(feature)
    if cell:
        before = axis.cuts[cell - 1].last_left
        low = before + 1 if isinstance(feature, Integer) else math.nextafter(before, math.inf)
    return low, axis.cuts[cell].last_left if cell < len(axis.cuts) else high
