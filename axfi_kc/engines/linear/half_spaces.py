"""The ways out of an instance's output: one half-space each, in integers.

A point is dissimilar to the instance iff, for some side, ``h(x) <= 0`` (``< 0`` if strict), with h
linear. Class 1 of a binary model has the side h = score, class 0 the strict side h = -score; class
c of several has a side ``score_c - score_k`` for each other class k, strict iff k > c, because the
lowest index wins a tie; a regression has two strict sides, ``delta`` below and above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.features import Feature, Integer, Real
from axfi_kc.domain.measures import Histogram, Weights
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Similarity, Slope
from axfi_kc.models.linear_model import Dyadic, part_values

__all__ = ["Piece", "Side", "common_unit", "pieces", "sides_of"]


Integers = npt.NDArray[Any]  # of Python ints


class Piece(NamedTuple):
    """An interval of a real feature over which its measure is uniform, and its share of all numbers."""

    share: Fraction
    low: Fraction
    high: Fraction


def pieces(feature: Feature) -> list[Piece]:
    """Return the intervals of a real feature over which its measure is uniform."""
    shares = feature.measure.shares if isinstance(feature.measure, Histogram) else (Fraction(1),)
    return [Piece(share, a, b) for share, (a, b) in zip(shares, pairwise(_edges(feature)), strict=True)]


@dataclass(frozen=True, eq=False)
class Side:
    """A half-space of dissimilar points; all numbers are integers over one unit.

    Attributes
    ----------
    features
        The domain's features.
    base, parts
        The linear function h; each part has one score.
    strict
        Whether ``h(x) = 0`` is still similar.
    distance
        How far h must fall, if that is the same for every instance (a regression's delta);
        None: from its value at the instance to zero.
    """

    features: tuple[Feature, ...]
    base: int
    parts: tuple[Slope | Lookup, ...]
    strict: bool
    distance: int | None = None

    @cached_property
    def least(self) -> tuple[int, ...]:
        """The least that each feature can add to h."""
        return tuple(a for a, _ in map(_span, self.features, self.parts))

    @cached_property
    def swings(self) -> tuple[int, ...]:
        """How much each feature can change h."""
        return tuple(b - a for a, b in map(_span, self.features, self.parts))

    def is_reachable(self) -> bool:
        """Tell whether some point of the domain lies on this side of zero."""
        # At a corner h is an integer, so below 0 means at most -1.
        return self.base + sum(self.least) <= -self.strict

    def added(self, i: int, code: float | Fraction) -> Fraction:
        """Return what feature i adds to h at `code`."""
        part = self.parts[i]
        if isinstance(part, Lookup):
            return Fraction(part.rows[0][-1 if math.isnan(code) else int(code) - part.first])
        if part.missing is not None and math.isnan(code):
            return Fraction(part.missing[0])
        return Fraction(part.factors[0]) * Fraction(code)

    def slope(self, i: int) -> int:
        """Return the factor of numeric feature i."""
        part = self.parts[i]
        return int(part.factors[0]) if isinstance(part, Slope) else 0

    @cached_property
    def mixed(self) -> frozenset[int]:
        """The features that are either a number, with a slope, or missing, with a constant."""
        return frozenset(i for i, part in enumerate(self.parts) if isinstance(part, Slope) and part.missing is not None)

    def mixed_gaps(self, i: int) -> tuple[int, int]:
        """Return how far above the least feature i of `mixed` keeps h: where it is missing, and as the worst number."""
        *ends, missing = _ends(self.features[i], self.parts[i])
        return missing - self.least[i], min(ends) - self.least[i]

    def is_flat(self, i: int) -> bool:
        """Tell whether h is the same for all numbers of feature i, which has a slope."""
        feature = self.features[i]
        return not self.slope(i) or (isinstance(feature, Real) and feature.low == feature.high)

    def n_gaps(self, i: int) -> int:
        """Return how many :meth:`gaps` discrete feature i has."""
        return (self.features[i].size or 0) - (i in self.mixed)

    def gaps(self, i: int) -> Sequence[int]:
        """Return how far above the least each value of discrete feature i keeps h, in order.

        Of a feature of `mixed` the numbers only, above the worst of them.
        """
        part = self.parts[i]
        if isinstance(part, Lookup):
            return [n - self.least[i] for n in part.rows[0]]
        # Ranges, not lists: an integer feature may have millions of values.
        step, size = abs(self.slope(i)), self.n_gaps(i)
        if not step:
            return (0,) * size
        return range(0, step * size, step) if self.slope(i) > 0 else range(step * (size - 1), -1, -step)

    def shares(self, i: int) -> Sequence[Fraction] | None:
        """Return the probabilities of the values of discrete feature i, as :meth:`gaps` has them; None if all equal."""
        feature = self.features[i]
        shares = feature.measure.shares if isinstance(feature.measure, Weights) else None
        if not feature.missing or i in self.mixed:
            return shares
        n, rest = self.n_gaps(i) - 1, 1 - feature.missing
        return (*(s * rest for s in shares or (Fraction(1, n),) * n), feature.missing)

    def bins(self, i: int) -> list[tuple[Fraction, Fraction, Fraction]]:
        """Return the bins of real feature i, from its worst end on: share, distance and width."""
        found = [(p.share, self.distance_to(i, p), p.high - p.low) for p in pieces(self.features[i])]
        return found if self.slope(i) > 0 else found[::-1]

    def distance_to(self, i: int, piece: Piece) -> Fraction:
        """Return how far a piece of real feature i is from its worst end."""
        first, *_, last = _edges(self.features[i])
        # The worst end is where h is least: the lower one for a positive slope.
        return piece.low - first if self.slope(i) > 0 else last - piece.high

    def losses(self, points: Dyadic) -> tuple[Integers, Integers]:
        """Return how much h can fall by each feature alone, and how far it must fall.

        Both are times ``2**shifts``, a row per point.
        """
        shift = points.shifts.astype(object)
        added = part_values(self.parts, 0, points)
        if self.distance is None:
            # Without a distance of its own, h must fall from its value at the instance to 0.
            margin = added.sum(axis=1) + np.left_shift(self.base, shift)
        else:
            margin = np.left_shift(self.distance, shift)
        return added - np.left_shift(np.array(self.least, dtype=object), shift[:, np.newaxis]), margin


def sides_of(model: LinearModel, similarity: Similarity, home: int) -> tuple[Side, ...]:
    """Return the sides of the instances of class number `home` (0 for a regression).

    Notes
    -----
    Linear in the model's numbers.
    """
    unit = common_unit(model, similarity.delta)
    factor = unit // model.denominator
    if isinstance(model.rule, Positive):
        # For class 1 a tie is dissimilar already; for class 0 it is not.
        return (_side(model, [factor if home else -factor], strict=not home),)
    if isinstance(model.rule, Argmax):
        return tuple(
            # h is the own score less that of class k; at a tie the lower index wins, so only a k < home is
            # dissimilar then.
            _side(model, [factor * ((j == home) - (j == k)) for j in range(len(model.base))], strict=k > home)
            for k in range(len(model.base))
            if k != home
        )
    scaled = model.rule.scale * factor
    distance = similarity.delta * unit if similarity.delta is not None else Fraction(0)
    # Integers: the unit contains the denominators of the scale and of delta.
    return tuple(_side(model, [sign * int(scaled)], strict=True, distance=int(distance)) for sign in (1, -1))


def common_unit(model: LinearModel, delta: Fraction | None) -> int:
    """Return a denominator for the scores at all corners of the domain, and for `delta`."""
    denominators = [1 if delta is None else delta.denominator]
    denominators += [edge.denominator for f in model.domain.features for edge in _edges(f)]
    scale = model.rule.scale if not isinstance(model.rule, Argmax | Positive) else Fraction(1)
    # Edges of histograms count as corners, since weights are computed from them on.
    return model.denominator * math.lcm(*denominators) * scale.denominator


def _edges(feature: Feature) -> Sequence[Fraction]:
    """Return the numbers at which the measure of a real feature may change."""
    if not isinstance(feature, Real):
        return ()
    return feature.measure.edges if isinstance(feature.measure, Histogram) else (feature.low, feature.high)


def _side(model: LinearModel, factors: Sequence[int], *, strict: bool, distance: int | None = None) -> Side:
    parts: list[Slope | Lookup] = []
    for part in model.parts:
        if isinstance(part, Slope):
            missing = None if part.missing is None else (_combined(factors, part.missing),)
            parts.append(Slope((_combined(factors, part.factors),), missing))
        else:
            columns = zip(*part.rows, strict=True)
            parts.append(Lookup((tuple(_combined(factors, column) for column in columns),), part.first))
    return Side(model.domain.features, _combined(factors, model.base), tuple(parts), strict, distance)


def _combined(factors: Sequence[int], numbers: Sequence[int]) -> int:
    return sum(f * n for f, n in zip(factors, numbers, strict=True))


def _span(feature: Feature, part: Slope | Lookup) -> tuple[int, int]:
    """Return the least and the most that a feature can add."""
    ends = tuple(_ends(feature, part))
    return min(ends), max(ends)


def _ends(feature: Feature, part: Slope | Lookup) -> Iterator[int]:
    if isinstance(part, Lookup):
        yield from part.rows[0]
    elif isinstance(feature, Integer | Real):
        # Nothing is cut off: the unit contains the denominators of the ends.
        yield int(part.factors[0] * feature.low)
        yield int(part.factors[0] * feature.high)
        yield from part.missing or ()
