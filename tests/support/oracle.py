"""The judge: brute force over the whole space, in plain Python, straight from the definitions.

It shares no code with the library beyond the classes that describe features. A real feature is
replaced by the pieces between its breakpoints (where the model may change, and the instance's own
value): each breakpoint a single value of measure zero, each gap its midpoint with the gap's measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb, prod
from typing import Any

from axfi_kc import Categorical, Domain, Histogram, Real, Weights

Point = tuple[Any, ...]
Family = set[frozenset[int]]


@dataclass(frozen=True)
class Space:
    """Per feature, representative values with their measures."""

    values: list[list[Any]]
    measures: list[list[Fraction]]


def space_of(domain: Domain, breakpoints: Sequence[Iterable[float]] | None = None) -> Space:
    """Return the space of `domain`; real features need the points where the model may change."""
    values, measures = [], []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Real):
            points = [Fraction(p) for p in breakpoints[i] if feature.low <= Fraction(p) <= feature.high]
            v, m = _pieces(feature, sorted({feature.low, feature.high, *points}))
        else:
            v = list(feature.values) if isinstance(feature, Categorical) else list(range(feature.low, feature.high + 1))
            given = feature.measure
            m = list(given.shares) if isinstance(given, Weights) else [Fraction(1, len(v))] * len(v)
        if feature.missing:
            v, m = [*v, None], [*(p * (1 - feature.missing) for p in m), feature.missing]
        values.append(v)
        measures.append(m)
    return Space(values, measures)


def _pieces(feature: Real, points: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    if len(points) == 1:
        return points, [Fraction(1)]
    values: list[Fraction] = []
    measures: list[Fraction] = []
    for a, b in pairwise(points):
        values += [a, (a + b) / 2]
        measures += [Fraction(0), _share(feature, a, b)]
    return [*values, points[-1]], [*measures, Fraction(0)]


def _share(feature: Real, a: Fraction, b: Fraction) -> Fraction:
    measure = feature.measure
    if not isinstance(measure, Histogram):
        return (b - a) / (feature.high - feature.low)
    total = Fraction(0)
    for k, share in enumerate(measure.shares):
        left, right = max(a, measure.edges[k]), min(b, measure.edges[k + 1])
        if left < right:
            total += share * (right - left) / (measure.edges[k + 1] - measure.edges[k])
    return total


def subsets(m: int) -> list[frozenset[int]]:
    return [frozenset(c) for size in range(m + 1) for c in combinations(range(m), size)]


def box(space: Space, v: Point, S: frozenset[int]) -> Iterable[tuple[Point, Fraction]]:
    """Iterate over the points that agree with v outside S, each with its probability in the box."""
    choices = [
        list(zip(space.values[i], space.measures[i], strict=True)) if i in S else [(x, Fraction(1))]
        for i, x in enumerate(v)
    ]
    for combination in product(*choices):
        yield tuple(x for x, _ in combination), prod((p for _, p in combination), start=Fraction(1))


@dataclass(frozen=True)
class Judge:
    """Answers by exhaustion for one model and one instance."""

    space: Space
    model: Callable[[Point], Any]
    v: Point
    delta: Fraction | None = None

    def dissimilar(self, x: Point) -> bool:
        a, b = self.model(x), self.model(self.v)
        return a != b if self.delta is None else abs(Fraction(a) - Fraction(b)) > self.delta

    def is_wcxp(self, S: frozenset[int]) -> bool:
        return any(self.dissimilar(x) for x, _ in box(self.space, self.v, S))

    def is_waxp(self, S: frozenset[int]) -> bool:
        return not self.is_wcxp(frozenset(range(len(self.v))) - S)

    def cxps(self) -> Family:
        return _minimal(S for S in subsets(len(self.v)) if self.is_wcxp(S))

    def axps(self) -> Family:
        return _minimal(S for S in subsets(len(self.v)) if self.is_waxp(S))

    def ratio(self, Y: frozenset[int]) -> Fraction:
        return sum((p for x, p in box(self.space, self.v, Y) if self.dissimilar(x)), start=Fraction(0))

    def covered(self, Y: frozenset[int]) -> set[Point]:
        return {x for x, _ in box(self.space, self.v, Y) if self.dissimilar(x)}


def _minimal(sets: Iterable[frozenset[int]]) -> Family:
    kept: Family = set()
    for S in sets:  # smallest first
        if not any(T <= S for T in kept):
            kept.add(S)
    return kept


def hitting_value(weights: dict[frozenset[int], Fraction], S: frozenset[int]) -> Fraction:
    """Return v_r(S) from its definition."""
    return sum((w for Y, w in weights.items() if S & Y), start=Fraction(0)) / (len(weights) or 1)


def shapley(value: Callable[[frozenset[int]], Fraction], m: int) -> list[Fraction]:
    """Return the Shapley value of a game, from its definition over all sets."""
    return [
        sum(
            (Fraction(value(S | {i}) - value(S)) / (m * comb(m - 1, len(S))) for S in subsets(m) if i not in S),
            start=Fraction(0),
        )
        for i in range(m)
    ]


def banzhaf(value: Callable[[frozenset[int]], Fraction], m: int) -> list[Fraction]:
    """Return the Banzhaf index of a game, from its definition over all sets."""
    return [
        sum((Fraction(value(S | {i}) - value(S)) for S in subsets(m) if i not in S), start=Fraction(0)) / 2 ** (m - 1)
        for i in range(m)
    ]
