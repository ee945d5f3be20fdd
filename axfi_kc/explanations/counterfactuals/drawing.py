"""Random adversarial examples, drawn from the domain's own measure.

Cells and discrete values are drawn with exact integer odds. A real value is drawn with 64 random
bits within its piece and rounded to float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import lcm, prod
from random import Random

from axfi_kc.budget import Account
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.measures import Histogram, Weights
from axfi_kc.errors import BudgetError, WeightError
from axfi_kc.explanations.counterfactuals.regions import Choices, Region, cell_ends, cover

__all__ = ["draw_between", "draw_index", "draw_region", "no_mass", "value_odds"]


_BITS = 64
_TRIES = 1_000_000


def draw_index(odds: Sequence[int], random: Random) -> int:
    """Return a position, each with the odds given, exactly."""
    limits = list(accumulate(odds))
    # Whole odds of any size: floats would round them, and lose the smallest.
    at = random.randrange(limits[-1])
    return next(k for k, limit in enumerate(limits) if at < limit)


def no_mass() -> WeightError:
    """Return the error for a CXp of weight 0."""
    return WeightError(
        "The adversarial examples of this CXp have probability 0, so none can be drawn; ask for the nearest one."
    )


def draw_region(
    region: Region,
    choices: Sequence[Choices],
    axes: Sequence[Axis],
    *,
    random: Random,
    account: Account,
    accepts: Callable[[Sequence[float]], bool] = lambda _: True,
) -> list[float]:
    """Return the codes of a random dissimilar point, one per feature; WeightError if these have probability 0.

    Choices must be in the order of the cells. Makes the exact cover of the dissimilar points by boxes first. Where a
    region is less than its cells, points are drawn until it `accepts` one; BudgetError if it does not in a million.
    """
    boxes = cover(region, choices, account=account)
    odds = [[axis.numerators[c] for c in choice.cells] for axis, choice in zip(axes, choices, strict=True)]
    # Features are independent, so a box weighs the product of its sides.
    masses = [prod(sum(row[a:b]) for row, a, b in zip(odds, *box, strict=True)) for box in boxes]
    if not any(masses):
        raise no_mass()
    for _ in account.paced(range(_TRIES)):
        low, high = boxes[draw_index(masses, random)]
        codes = []
        for axis, choice, row, a, b in zip(axes, choices, odds, low, high, strict=True):
            cell = choice.cells[a + draw_index(row[a:b], random)]
            codes.append(_draw_in_cell(axis, cell, random))
        if accepts(codes):
            return codes
    raise BudgetError(f"None of {_TRIES} points drawn was in the region; ask for the nearest one.")


def _draw_in_cell(axis: Axis, cell: int, random: Random) -> float:
    feature, (low, high) = axis.feature, cell_ends(axis, cell)
    # One value is not drawn: a category, a missing value, or an interval of one point, which has no density.
    if isinstance(feature, Categorical) or cell == axis.missing_cell or low == high:
        return low
    if isinstance(feature, Integer):
        first, last = int(low), int(high)
        return float(first + draw_index(value_odds(feature)[first - feature.low : last + 1 - feature.low], random))
    left = Fraction(axis.cuts[cell - 1].value) if cell else feature.low
    right = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else feature.high
    # A cell ends at cuts that need not be floats; rounded, a value may fall just outside.
    return min(max(draw_between(feature, [(left, right)], random), low), high)


def value_odds(feature: Feature) -> list[int]:
    """Return the odds of each value of a discrete feature, given that it is not missing."""
    if isinstance(feature.measure, Weights):
        whole = lcm(*(s.denominator for s in feature.measure.shares))
        return [int(s * whole) for s in feature.measure.shares]
    return [1] * ((feature.size or 0) - (feature.missing > 0))


def draw_between(feature: Real, spans: Sequence[tuple[Fraction, Fraction]], random: Random) -> float:
    """Return a random value of a real feature within disjoint intervals; WeightError if these have probability 0."""
    pieces = [piece for span in spans for piece in _pieces(feature, *span)]
    whole = lcm(*(mass.denominator for _, _, mass in pieces)) if pieces else 1
    odds = [int(mass * whole) for _, _, mass in pieces]
    if not any(odds):
        raise no_mass()
    low, high, _ = pieces[draw_index(odds, random)]
    return float(low + (high - low) * Fraction(random.getrandbits(_BITS), 1 << _BITS))


def _pieces(feature: Real, low: Fraction, high: Fraction) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return the parts of an interval over which the measure is uniform, with their probability."""
    measure = feature.measure
    if not isinstance(measure, Histogram):
        return [(low, high, high - low)]
    found = []
    for share, (a, b) in zip(measure.shares, pairwise(measure.edges), strict=True):
        left, right = max(a, low), min(b, high)
        if left < right:
            found.append((left, right, share * (right - left) / (b - a)))
    return found
