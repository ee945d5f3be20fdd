"""Brute force for linear models, in plain Python: corners for logic, exact integration for weights.

Nothing here knows of margins, losses or simplices. A real feature is replaced by its ends and the
instance's own value to decide what exists (a linear function is extreme at ends), and by its
bins to measure, missing being one more value; the volume of a convex polytope is the integral of its slices, piecewise
polynomial between vertices, so Milne's rule is exact up to three dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod
from typing import Any

from axfi_kc import Domain, Histogram, Real, Weights
from axfi_kc.models import Argmax, LinearModel, Positive, Slope

Point = tuple[Any, ...]
Constraint = tuple[tuple[Fraction, ...], Fraction]  # a . x <= b


def volume(constraints: Sequence[Constraint], n: int) -> Fraction:
    """Return the volume of a bounded polytope in n <= 3 dimensions."""
    if n == 1:
        if any(b < 0 for (a,), b in constraints if a == 0):
            return Fraction(0)
        high = min(b / a for (a,), b in constraints if a > 0)
        low = max(b / a for (a,), b in constraints if a < 0)
        return max(high - low, Fraction(0))
    cuts = sorted({x[0] for rows in combinations(constraints, n) if (x := _meet(rows, n)) is not None})
    return sum((_integral(constraints, a, b, n) for a, b in pairwise(cuts)), Fraction(0))


def _integral(constraints: Sequence[Constraint], a: Fraction, b: Fraction, n: int) -> Fraction:
    """Integrate the slices by Milne's rule: inner points only, for slices may jump at the ends."""
    first, middle, last = (_slice(constraints, a + (b - a) * Fraction(k, 4), n) for k in (1, 2, 3))
    return (b - a) / 3 * (2 * first - middle + 2 * last)


def _slice(constraints: Sequence[Constraint], at: Fraction, n: int) -> Fraction:
    return volume([(a[1:], b - a[0] * at) for a, b in constraints], n - 1)


def _meet(rows: Sequence[Constraint], n: int) -> list[Fraction] | None:
    """Return the point where n planes meet, by elimination; None if there is not exactly one."""
    system = [[*a, b] for a, b in rows]
    for c in range(n):
        pivot = next((r for r in range(c, n) if system[r][c]), None)
        if pivot is None:
            return None
        system[c], system[pivot] = system[pivot], system[c]
        system[c] = [x / system[c][c] for x in system[c]]
        for r in range(n):
            if r != c and system[r][c]:
                system[r] = [x - system[r][c] * y for x, y in zip(system[r], system[c], strict=True)]
    return [row[n] for row in system]


@dataclass(frozen=True)
class LinearJudge:
    """Answers from the definitions for one linear model and one instance (values, not codes)."""

    model: LinearModel
    v: Point
    delta: Fraction | None = None

    @property
    def domain(self) -> Domain:
        return self.model.domain

    def score(self, x: Point, k: int) -> Fraction:
        total = self.model.base[k]
        for feature, part, value in zip(self.domain.features, self.model.parts, x, strict=True):
            if isinstance(part, Slope):
                total += part.missing[k] if value is None else part.factors[k] * Fraction(value)
            else:
                total += part.rows[k][_values(feature).index(value)]
        return Fraction(total) / self.model.denominator

    def output(self, x: Point) -> Any:
        scores = [self.score(x, k) for k in range(len(self.model.base))]
        rule = self.model.rule
        if isinstance(rule, Argmax):
            return rule.labels[scores.index(max(scores))]
        return rule.labels[int(scores[0] > 0)] if isinstance(rule, Positive) else scores[0] * rule.scale

    @property
    def _home(self) -> Any:
        """The output whose points are convex."""
        return self.output(self.v)

    def dissimilar(self, x: Point) -> bool:
        a, b = self.output(x), self.output(self.v)
        return a != b if self.delta is None else abs(a - b) > self.delta

    def is_wcxp(self, S: frozenset[int]) -> bool:
        choices = [
            ([f.low, x, f.high, *_nothing(f)] if isinstance(f, Real) else _values(f)) if i in S else [x]
            for i, (f, x) in enumerate(zip(self.domain.features, self.v, strict=True))
        ]
        return any(self.dissimilar(x) for x in product(*choices))

    def cxps(self) -> set[frozenset[int]]:
        kept: set[frozenset[int]] = set()
        for size in range(1, len(self.v) + 1):
            for S in map(frozenset, combinations(range(len(self.v)), size)):
                if not any(T <= S for T in kept) and self.is_wcxp(S):
                    kept.add(S)
        return kept

    def count(self, Y: frozenset[int]) -> int:
        choices = [_values(f) if i in Y else [self.v[i]] for i, f in enumerate(self.domain.features)]
        return sum(self.dissimilar(x) for x in product(*choices))

    def ratio(self, Y: frozenset[int]) -> Fraction:
        """Return the probability of the dissimilar points in the box of Y (at most 3 real features)."""
        options = [_options(f) if i in Y else [(self.v[i], Fraction(1))] for i, f in enumerate(self.domain.features)]
        total = Fraction(0)
        for combination in product(*options):
            probability = prod((p for _, p in combination), start=Fraction(1))
            if probability:
                total += probability * self.share([x for x, _ in combination])
        return total

    def share(self, values: list[Any]) -> Fraction:
        """Return the share of dissimilar points where the real features run over intervals."""
        free = [i for i, x in enumerate(values) if isinstance(x, tuple)]
        if not free:
            return Fraction(int(self.dissimilar(tuple(values))))
        box = []
        for k, i in enumerate(free):
            unit = tuple(Fraction(int(j == k)) for j in range(len(free)))
            box += [(unit, values[i][1]), (tuple(-u for u in unit), -values[i][0])]
        whole = prod((values[i][1] - values[i][0] for i in free), start=Fraction(1))
        origin = tuple(Fraction(0) if i in free else x for i, x in enumerate(values))
        return 1 - volume([*box, *self._similar(origin, free)], len(free)) / whole

    def _similar(self, origin: Point, free: list[int]) -> list[Constraint]:
        """Return the constraints of the (convex) set of similar points, boundaries included.

        A boundary that is all of the space is no boundary: there a tie decides.
        """
        rule, slopes = self.model.rule, [self._slopes(k, free) for k in range(len(self.model.base))]
        scores = [self.score(origin, k) for k in range(len(self.model.base))]
        if isinstance(rule, Argmax):
            home = rule.labels.index(self._home)
            return [
                _tied(
                    (tuple(a - b for a, b in zip(slopes[k], slopes[home], strict=True)), scores[home] - scores[k]),
                    wins=home < k,
                )
                for k in range(len(scores))
                if k != home
            ]
        plus, minus = slopes[0], tuple(-a for a in slopes[0])
        if isinstance(rule, Positive):
            at_one = self.output(self.v) == rule.labels[1]
            return [_tied((minus, scores[0]) if at_one else (plus, -scores[0]), wins=not at_one)]
        here, delta = self.score(self.v, 0), self.delta / abs(rule.scale)
        return [(plus, here + delta - scores[0]), (minus, scores[0] - here + delta)]

    def _slopes(self, k: int, free: list[int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(self.model.parts[i].factors[k], self.model.denominator) for i in free)


@dataclass(frozen=True)
class ClassJudge(LinearJudge):
    """Answers "why not this class?" from the definitions, for at most two real features.

    The planes at which two scores are equal cut the box into faces; in the relative interior of each, whatever its
    dimension, lies the mean of some of its corners, so these means decide what exists.
    """

    toward: Any = None

    def dissimilar(self, x: Point) -> bool:
        return self.output(x) == self.toward

    def is_wcxp(self, S: frozenset[int]) -> bool:
        choices = [
            ([(f.low, f.high), *_nothing(f)] if isinstance(f, Real) else _values(f)) if i in S else [x]
            for i, (f, x) in enumerate(zip(self.domain.features, self.v, strict=True))
        ]
        return any(any(map(self.dissimilar, self.faces(point))) for point in product(*choices))

    def faces(self, point: Point) -> Iterator[Point]:
        """Iterate over a point of each face of the box in which some features run over intervals, ends included."""
        free = [i for i, x in enumerate(point) if isinstance(x, tuple)]
        units = [tuple(Fraction(int(i == j)) for j in free) for i in free]
        origin = tuple(Fraction(0) if i in free else x for i, x in enumerate(point))
        planes = [(u, end) for u, i in zip(units, free, strict=True) for end in point[i]]
        for a, b in combinations(range(len(self.model.base)), 2):
            slopes = zip(self._slopes(a, free), self._slopes(b, free), strict=True)
            planes.append((tuple(x - y for x, y in slopes), self.score(origin, b) - self.score(origin, a)))
        meeting = {tuple(x) for rows in combinations(planes, len(free)) if (x := _meet(rows, len(free))) is not None}
        corners = [x for x in meeting if all(point[i][0] <= c <= point[i][1] for i, c in zip(free, x, strict=True))]
        for size in range(1, len(free) + 2):
            for some in combinations(corners, size):
                moved = dict(zip(free, (sum(column) / size for column in zip(*some, strict=True)), strict=True))
                yield tuple(moved.get(i, x) for i, x in enumerate(origin))

    def share(self, values: list[Any]) -> Fraction:
        is_fixed = not any(isinstance(x, tuple) for x in values)
        return Fraction(int(self.dissimilar(tuple(values)))) if is_fixed else 1 - super().share(values)

    @property
    def _home(self) -> Any:
        return self.toward


def _tied(constraint: Constraint, *, wins: bool) -> Constraint:
    """Return a constraint that no point fulfils, if every point is a tie that the instance's output does not win."""
    a, b = constraint
    return (a, Fraction(-1)) if not wins and not any(a) and b == 0 else constraint


def _nothing(feature: Any) -> list[None]:
    return [None] * bool(feature.missing)


def _numbers(feature: Any) -> list[Any]:
    return list(feature.values) if feature.kind == "categorical" else list(range(feature.low, feature.high + 1))


def _values(feature: Any) -> list[Any]:
    return _numbers(feature) + _nothing(feature)


def _options(feature: Any) -> list[tuple[Any, Fraction]]:
    """Return values, or intervals (bins) of a real feature, with their probabilities."""
    present = [(x, share * (1 - feature.missing)) for x, share in _present(feature)]
    return present + [(None, feature.missing)] * bool(feature.missing)


def _present(feature: Any) -> list[tuple[Any, Fraction]]:
    if not isinstance(feature, Real):
        values = _numbers(feature)
        shares = (
            feature.measure.shares if isinstance(feature.measure, Weights) else [Fraction(1, len(values))] * len(values)
        )
        return list(zip(values, shares, strict=True))
    if feature.low == feature.high:
        return [(feature.low, Fraction(1))]
    if isinstance(feature.measure, Histogram):
        return list(zip(pairwise(feature.measure.edges), feature.measure.shares, strict=True))
    return [((feature.low, feature.high), Fraction(1))]
