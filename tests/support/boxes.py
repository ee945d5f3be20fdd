"""Boxes of values, and sets of some precision, judged by a listing of all points: nothing but the definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import prod
from random import Random
from typing import Any

from axfi_kc import Categorical, Inflated, Problem
from axfi_kc.errors import DomainError
from tests.explanations.test_chances import random_joint
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import KINDS, Truth, random_truth

WAYS = ("plain", "constrained", "product", "tree", "mixture")
MOST_BOXES = 500


def random_question(rng: Random) -> tuple[Truth, tuple[int, ...], Problem]:
    """Return a model under constraints or a distribution, an instance, and its problem, sometimes toward a class."""
    while True:
        kind, way = rng.choice(KINDS), rng.choice(WAYS)
        if way in ("plain", "constrained"):
            truth: Any = (random_truth if way == "plain" else random_constrained)(rng, kind, n_instances=1)
        else:
            truth = random_joint(rng, kind, way)
        v = truth.instances[0]
        others = sorted({y for _, y in truth.existing} - {truth.output(v)}, key=str) if truth.delta is None else []
        toward = rng.choice(others) if others and rng.random() < 0.3 else None
        object.__setattr__(truth, "toward", toward)
        point = dict(zip(truth.domain.names, truth.point(v), strict=True))
        try:
            truth._ratio((1 << len(v)) - 1, v, [])
            return truth, v, Problem.of(truth.model, truth.domain, point, delta=truth.delta, toward=toward)
        except (ZeroDivisionError, DomainError):
            continue


class BoxJudge:
    """Answers about the points around one instance that differ from it in some features only."""

    def __init__(self, truth: Truth, v: Sequence[int], members: Sequence[int]) -> None:
        self.truth, self.v, self.members = truth, tuple(v), tuple(members)
        self.mask, self.names = sum(1 << i for i in members), truth.domain.names
        here = truth.output(v)
        self.points = [
            (place, truth.similar(y, here))
            for place, y in truth.existing
            if all(place[i] == v[i] for i in range(len(v)) if i not in members)
        ]

    def cells(self, box: Inflated) -> list[set[int]]:
        """Return the positions of values in a box, feature by feature."""
        limits = {values.feature: values for values in box.values}
        return [
            {k for k, x in enumerate(self.truth.values[i]) if x in limits[self.names[i]]}
            if self.names[i] in limits
            else set(range(len(self.truth.values[i])))
            for i in self.members
        ]

    def inside(self, cells: Sequence[set[int]]) -> list[tuple[tuple[int, ...], bool]]:
        pairs = list(zip(self.members, cells, strict=True))
        return [(place, similar) for place, similar in self.points if all(place[i] in own for i, own in pairs)]

    def is_pure(self, cells: Sequence[set[int]], *, similar: bool) -> bool:
        """Tell whether all points of a box are similar, or all dissimilar."""
        return all(found == similar for _, found in self.inside(cells))

    def measure(self, cells: Sequence[set[int]]) -> Fraction:
        return self.truth._ratio(self.mask, self.v, [place for place, _ in self.inside(cells)])

    def wider(self, box: Inflated) -> Iterator[list[set[int]]]:
        """Iterate over the boxes that have one value more."""
        cells = self.cells(box)
        for k, i in enumerate(self.members):
            for own in self._one_more(i, cells[k]):
                yield [*cells[:k], own, *cells[k + 1 :]]

    def _one_more(self, i: int, own: set[int]) -> Iterator[set[int]]:
        values = self.truth.values[i]
        numbers = [k for k in range(len(values)) if values[k] is not None]
        there = sorted(own.intersection(numbers))
        new = set(range(len(values))) - own
        if there and not isinstance(self.truth.domain.features[i], Categorical):
            new = {k for k in new if values[k] is None or k in (there[0] - 1, there[-1] + 1)}
        yield from (own | {k} for k in new)

    def all_boxes(self, *, around: bool) -> list[list[set[int]]] | None:
        """Return all boxes, around the instance or anywhere; None if they are too many."""
        choices = [[own for own in self._sets(i) if own and (not around or self.v[i] in own)] for i in self.members]
        return None if prod(map(len, choices)) > MOST_BOXES else [list(box) for box in product(*choices)]

    def _sets(self, i: int) -> list[set[int]]:
        values = self.truth.values[i]
        places, absent = range(len(values)), {k for k, x in enumerate(values) if x is None}
        if isinstance(self.truth.domain.features[i], Categorical):
            return [set(s) for size in range(1, len(values) + 1) for s in combinations(places, size)]
        numbers = [k for k in places if k not in absent]
        runs = [set(numbers[a:b]) for a in range(len(numbers)) for b in range(a + 1, len(numbers) + 1)]
        return [run | extra for run in (*runs, set()) for extra in ([set(), absent] if absent else [set()])]

    def largest(self, *, similar: bool, around: bool) -> Fraction | None:
        """Return the largest measure of a box of similar, or dissimilar, points only; None if there are too many."""
        boxes = self.all_boxes(around=around)
        if boxes is None:
            return None
        return max(
            (self.measure(cells) for cells in boxes if self.is_pure(cells, similar=similar)), default=Fraction(0)
        )


def precision_table(truth: Truth, v: Sequence[int]) -> dict[int, Fraction]:
    """Return the precision of every set of features; ZeroDivisionError where one has none."""
    here, full = truth.output(v), (1 << len(v)) - 1
    table = {}
    for S in range(full + 1):
        free = full & ~S
        around = [(p, y) for p, y in truth.existing if all(p[i] == v[i] for i in range(len(v)) if S >> i & 1)]
        table[S] = 1 - truth._ratio(free, v, [p for p, y in around if not truth.similar(y, here)])
    return table


def minimal_among(sets: Sequence[int]) -> list[int]:
    return [S for S in sets if not any(T != S and T & S == T for T in sets)]
