"""Brute force for linear models under constraints, in plain Python: all combinations of pieces, each asked by itself.

A real feature is cut at every number that anybody could compare it with: into these points and the open intervals
between them, on which every constraint is the same throughout. On a combination of pieces the output is one of
finitely many, each a conjunction of linear inequalities: whether it has a point is decided by eliminating variables,
and its volume is an integral of slices. Nothing here knows of diagrams, paths, losses or corners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import nan, prod
from random import Random
from typing import Any, NamedTuple

from axfi_kc import Categorical, Domain, Histogram, Real, Weights
from axfi_kc.models import Argmax, LinearModel, Positive, Slope
from axfi_kc.verification.linear_proofs import solution
from axfi_kc.verification.report import Allowance
from tests.support.linear_judge import volume
from tests.support.random_constraints import Rule, random_rule
from tests.support.random_problems import random_plane

Point = tuple[Any, ...]
Row = tuple[list[Fraction], Fraction, bool]  # factors, constant: positive there, or not negative


class Piece(NamedTuple):
    """A value, or an open interval."""

    value: Any  # one that is inside
    low: Fraction | None
    high: Fraction | None
    share: Fraction
    is_counted: bool = True


def pieces_of(feature: Any, numbers: Sequence[Any]) -> list[Piece]:
    """Return the pieces of a feature; `numbers` are those at which something may change."""
    absent = [Piece(None, None, None, Fraction(feature.missing))] * bool(feature.missing)
    present = 1 - Fraction(feature.missing)
    if not isinstance(feature, Real):
        values = (
            list(feature.values) if isinstance(feature, Categorical) else list(range(feature.low, feature.high + 1))
        )
        shares = (
            feature.measure.shares if isinstance(feature.measure, Weights) else [Fraction(1, len(values))] * len(values)
        )
        return [Piece(x, None, None, present * s) for x, s in zip(values, shares, strict=True)] + absent
    edges = {feature.low, feature.high}
    edges |= {Fraction(x) for x in numbers if x is not None and feature.low <= x <= feature.high}
    if isinstance(feature.measure, Histogram):
        edges |= set(feature.measure.edges)
    ends = sorted(edges)
    alone = present if len(ends) == 1 else Fraction(0)
    found = [Piece(x, None, None, alone) for x in ends]
    for a, b in pairwise(ends):
        found.append(Piece((a + b) / 2, a, b, present * _measure(feature, a, b)))
    return found + absent


def _measure(feature: Real, a: Fraction, b: Fraction) -> Fraction:
    if not isinstance(feature.measure, Histogram):
        return (b - a) / (feature.high - feature.low)
    bins = zip(pairwise(feature.measure.edges), feature.measure.shares, strict=True)
    return next(share * (b - a) / (high - low) for (low, high), share in bins if low <= a and b <= high)


@dataclass(frozen=True)
class ConstrainedJudge:
    """Answers from the definitions for one linear model, constraints and an instance (values, not codes)."""

    model: LinearModel
    rules: tuple[Rule, ...]
    numbers: tuple[tuple[Any, ...], ...]
    v: Point
    delta: Fraction | None = None
    toward: Any = None

    @property
    def domain(self) -> Domain:
        """The domain with its constraints."""
        return self.model.domain.where(*(rule.constraint for rule in self.rules))

    def is_possible(self, x: Point) -> bool:
        return all(rule.meaning(x) for rule in self.rules)

    @cached_property
    def pieces(self) -> list[list[Piece]]:
        rows = zip(self.model.domain.features, self.numbers, self.v, strict=True)
        return [pieces_of(f, [*row, x] if isinstance(f, Real) else row) for f, row, x in rows]

    def _score(self, k: int, x: Point) -> Fraction:
        total = Fraction(self.model.base[k])
        for part, f, value in zip(self.model.parts, self.model.domain.features, x, strict=True):
            if isinstance(part, Slope):
                total += part.missing[k] if value is None else part.factors[k] * Fraction(value)  # type: ignore[index]
            else:
                code = len(part.rows[k]) - 1 if value is None else _place(f, value)
                total += part.rows[k][code]
        return total / self.model.denominator

    def _function(
        self, k: int, point: Point, free: Sequence[int], chosen: Sequence[Piece]
    ) -> tuple[list[Fraction], Fraction]:
        """Return score k over the intervals that were chosen: slopes over the unit cube, and a constant."""
        corner = list(point)
        steps = []
        for i, piece in zip(free, chosen, strict=True):
            corner[i] = piece.low if piece.low is not None else piece.value
            if piece.low is not None:
                part: Any = self.model.parts[i]
                steps.append(Fraction(part.factors[k], self.model.denominator) * (piece.high - piece.low))  # type: ignore[operator]
        return steps, self._score(k, tuple(corner))

    def _ways(self, free: Sequence[int], chosen: Sequence[Piece]) -> list[list[Row]]:
        """Return disjoint conjunctions of inequalities, which together say that a point is looked for."""
        functions = [self._function(k, self.v, free, chosen) for k in range(len(self.model.base))]
        rule = self.model.rule
        if isinstance(rule, Positive):
            steps, at = functions[0]
            is_one = self.output == rule.labels[1]
            return [[([-s for s in steps], -at, False)]] if is_one else [[(steps, at, True)]]
        if isinstance(rule, Argmax):
            wanted = [k for k, y in enumerate(rule.labels) if (y != self.output if self._is_away else y == self.toward)]
            return [self._wins(k, functions) for k in wanted]
        steps, at = functions[0]
        own, scale = self._score(0, self.v), Fraction(rule.scale)
        moved = [scale * s for s in steps], scale * (at - own)
        far = Fraction(self.delta or 0)
        return [[(moved[0], moved[1] - far, True)], [([-s for s in moved[0]], -moved[1] - far, True)]]

    @property
    def _is_away(self) -> bool:
        return self.toward is None or self.output == self.toward

    @staticmethod
    def _wins(k: int, functions: Sequence[tuple[list[Fraction], Fraction]]) -> list[Row]:
        steps, at = functions[k]
        others = ((j, *row) for j, row in enumerate(functions) if j != k)
        return [([a - b for a, b in zip(steps, s, strict=True)], at - c, j < k) for j, s, c in others]

    @cached_property
    def output(self) -> Any:
        return self.model.predict([self.v])[0]

    def _boxes(self, S: Sequence[int]) -> Iterator[tuple[Piece, ...]]:
        for chosen in product(*(self.pieces[i] for i in S)):
            x = list(self.v)
            for i, piece in zip(S, chosen, strict=True):
                x[i] = piece.value
            if self.is_possible(tuple(x)):
                yield chosen

    def is_wcxp(self, S: Sequence[int]) -> bool:
        """Tell whether some possible point that agrees with v outside S is looked for."""
        return any(_has_point(rows) for chosen in self._boxes(S) for rows in self._ways(S, chosen))

    @cached_property
    def cxps(self) -> list[int]:
        """The CXps, as masks."""
        m, found = len(self.v), list[int]()
        for mask in sorted(range(1 << m), key=int.bit_count):
            if not any(Y & mask == Y for Y in found) and self.is_wcxp([i for i in range(m) if mask >> i & 1]):
                found.append(mask)
        return found

    def is_within(self, S: Sequence[int], factors: Sequence[Fraction], norm: str, radius: Fraction) -> bool:
        """Tell whether some possible point that agrees with v outside S, no further than a radius, is looked for."""
        return any(
            _has_point([*rows, *near])
            for chosen in self._boxes(S)
            if (near := self._near(S, chosen, factors, norm, radius)) is not None
            for rows in self._ways(S, chosen)
        )

    def _near(
        self, S: Sequence[int], chosen: Sequence[Piece], factors: Sequence[Fraction], norm: str, radius: Fraction
    ) -> list[Row] | None:
        """Return being near as inequalities over the intervals that were chosen; None: nothing there is."""
        n, moves = sum(p.low is not None for p in chosen), list[tuple[list[Fraction], Fraction]]()
        for i, piece in zip(S, chosen, strict=True):
            own, row = self.v[i], [Fraction(0)] * n
            place = sum(p.low is not None for p in chosen[: list(S).index(i)])
            if not factors[i]:
                continue
            if (piece.value is None) != (own is None):
                return None
            if piece.low is None:
                same = piece.value == own
                is_number = not isinstance(self.model.domain.features[i], Categorical) and own is not None
                far = abs(Fraction(piece.value) - Fraction(own)) if is_number and not same else Fraction(not same)
                moves.append((row, factors[i] * far))
            else:  # pieces are cut at the instance, so that distances are linear on each
                start, end = (abs(x - Fraction(own)) * factors[i] for x in (piece.low, piece.high))  # type: ignore[operator]
                row[place] = end - start
                moves.append((row, start))
        if norm == "l1":
            rows = [row for row, _ in moves]
            total = [sum(column, Fraction(0)) for column in zip(*rows, strict=True)] if rows else [Fraction(0)] * n
            moves = [(total, sum((at for _, at in moves), Fraction(0)))]
        return [([-x for x in row], radius - at, False) for row, at in moves]

    def ratio(self, mask: int) -> Fraction | None:
        """Return the probability of what is looked for among the possible points of a box; None: these have none."""
        S = [i for i in range(len(self.v)) if mask >> i & 1]
        whole = total = Fraction(0)
        for chosen in self._boxes(S):
            share = prod((p.share for p in chosen), start=Fraction(1))
            whole += share
            if share:
                total += share * sum((_volume(rows) for rows in self._ways(S, chosen)), Fraction(0))
        return total / whole if whole else None

    def count(self, mask: int) -> int:
        """Return the number of possible points that are looked for; every feature is discrete."""
        S = [i for i in range(len(self.v)) if mask >> i & 1]
        return sum(any(_has_point(rows) for rows in self._ways(S, chosen)) for chosen in self._boxes(S))


def _place(feature: Any, value: Any) -> int:
    return feature.values.index(value) if isinstance(feature, Categorical) else int(value - feature.low)


def _has_point(rows: Sequence[Row]) -> bool:
    """Tell whether inequalities have a point in the open unit cube."""
    n = len(rows[0][0])
    units = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    halves = [(tuple(-s for s in steps), at, strict) for steps, at, strict in rows]
    halves += [(tuple(u), Fraction(1), True) for u in units] + [
        (tuple(-x for x in u), Fraction(0), True) for u in units
    ]
    return solution(halves, n, Allowance.of(None)) is not None


def _volume(rows: Sequence[Row]) -> Fraction:
    n = len(rows[0][0])
    if not n or any(not any(steps) and not (at > 0 or (at == 0 and not strict)) for steps, at, strict in rows):
        return Fraction(int(not n and _has_point(rows)))
    cube = [([Fraction(s * (i == j)) for j in range(n)], Fraction(s > 0)) for i in range(n) for s in (1, -1)]
    return volume(
        [(tuple(-s for s in steps), at) for steps, at, _ in rows if any(steps)] + [(tuple(a), b) for a, b in cube], n
    )


def random_judge(rng: Random, *, toward: bool = False) -> ConstrainedJudge:
    """Return a random linear model with a real feature, constraints, and a possible instance."""
    while True:
        model, v, delta = random_plane(rng)
        numbers = [_numbers(rng, f) for f in model.domain.features]
        rules = tuple(random_rule(rng, model.domain, numbers) for _ in range(rng.randint(1, 2)))
        label = rng.choice(model.labels) if toward and model.labels else None
        made = ConstrainedJudge(model, rules, tuple(map(tuple, numbers)), v, delta, label)
        if made.is_possible(v):
            return made


def _numbers(rng: Random, feature: Any) -> list[Any]:
    """Return values of a feature that constraints may name."""
    absent = [None] * bool(feature.missing)
    if isinstance(feature, Categorical):
        return [*feature.values, *absent]
    if not isinstance(feature, Real):
        return [*range(feature.low, feature.high + 1), *absent]
    width = feature.high - feature.low
    inner = {float(feature.low + width * Fraction(k, 8)) for k in rng.sample(range(9), 3)}
    return [*sorted(inner), *absent]


def code(value: Any) -> float:
    """Return a number, NaN for a missing value."""
    return nan if value is None else float(value)
