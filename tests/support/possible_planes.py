"""Linear models over real features among the points that meet constraints, and brute force about them.

Constraints cut real features at a few numbers. A cell is such a number, or all that lies between two of them, without
these; whether a constraint holds is asked, in plain Python, at one point of each product of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import lcm, prod
from random import Random
from typing import Any

from axfi_kc import Domain, Histogram, Real
from axfi_kc.models import Argmax, LinearModel, Score, Slope
from tests.support.linear_judge import ClassJudge, LinearJudge
from tests.support.oracle import space_of
from tests.support.random_constraints import random_rule
from tests.support.random_problems import Point, random_plane

Cell = Any
"""A value, or the pair of the ends of an open interval."""
_STEP = Fraction(1, 2**40)  # less than what a sum of small numbers can be off 0 by, over what factors make of it

_TIED = 0.6  # of the models; among the others what holds at an end hardly ever matters


def inside(cell: Cell) -> Any:
    """Return a value of a cell."""
    return (cell[0] + cell[1]) / 2 if isinstance(cell, tuple) else cell


@dataclass(frozen=True)
class PossibleJudge:
    """Answers from the definitions, for one linear model and one instance among the points that can exist.

    Attributes
    ----------
    judge
        Tells what is dissimilar, and which share of a box is.
    meaning
        Tells whether a point can exist.
    cells
        Those of each feature, with their probabilities.
    """

    judge: LinearJudge
    meaning: Callable[[Point], bool]
    cells: list[list[tuple[Cell, Fraction]]]

    @property
    def v(self) -> Point:
        return self.judge.v

    def boxes(self, S: frozenset[int]) -> Iterator[tuple[tuple[Cell, ...], Fraction]]:
        """Iterate over the possible products of cells, with their probabilities among all that agree outside S."""
        choices = [
            row if i in S else [(x, Fraction(1))] for i, (row, x) in enumerate(zip(self.cells, self.v, strict=True))
        ]
        for combination in product(*choices):
            box = tuple(cell for cell, _ in combination)
            if self.meaning(tuple(map(inside, box))):
                yield box, prod((p for _, p in combination), start=Fraction(1))

    def is_wcxp(self, S: frozenset[int]) -> bool:
        return any(any(map(self.judge.dissimilar, self._points(box))) for box, _ in self.boxes(S))

    def _points(self, box: tuple[Cell, ...]) -> Iterator[Point]:
        """Iterate over points of a box that tell whether it holds a dissimilar one.

        What is dissimilar is a union of half-spaces. One that meets an open interval holds a number next to an end, or
        all of them; toward a class it is what half-spaces have in common, and meets a face of their planes or not.
        """
        if not isinstance(self.judge, ClassJudge):
            yield from product(*([c[0] + _STEP, inside(c), c[1] - _STEP] if isinstance(c, tuple) else [c] for c in box))
            return
        for x in self.judge.faces(box):
            if all(c[0] < y < c[1] for c, y in zip(box, x, strict=True) if isinstance(c, tuple)):
                yield x

    def cxps(self) -> set[frozenset[int]]:
        kept: set[frozenset[int]] = set()
        for size in range(1, len(self.v) + 1):
            for S in map(frozenset, combinations(range(len(self.v)), size)):
                if not any(T <= S for T in kept) and self.is_wcxp(S):
                    kept.add(S)
        return kept

    def ratio(self, Y: frozenset[int]) -> Fraction | None:
        """Return the probability of what is dissimilar, given what is possible; None where that has none."""
        weighed = [(box, p) for box, p in self.boxes(Y) if p]
        whole = sum((p for _, p in weighed), Fraction(0))
        return sum((p * self.judge.share(list(box)) for box, p in weighed), Fraction(0)) / whole if whole else None

    def count(self, Y: frozenset[int]) -> int:
        return sum(self.judge.dissimilar(box) for box, _ in self.boxes(Y))


def cells_of(domain: Domain, cuts: Sequence[Sequence[Any]]) -> list[list[tuple[Cell, Fraction]]]:
    """Return the cells of each feature, with their probabilities; reals are cut where a measure changes, too."""
    edges = [f.measure.edges if isinstance(f.measure, Histogram) else () for f in domain.features]
    space = space_of(domain, [[*own, *more] for own, more in zip(cuts, edges, strict=True)])
    found = []
    for f, values, measures in zip(domain.features, space.values, space.measures, strict=True):
        numbers = [x for x in values if x is not None]
        between = {(a + b) / 2: (a, b) for a, b in pairwise(numbers[::2])} if isinstance(f, Real) else {}
        found.append([(between.get(x, x), p) for x, p in zip(values, measures, strict=True)])
    return found


def _tied(rng: Random, model: LinearModel, v: Point, cuts: Sequence[Sequence[Any]]) -> tuple[LinearModel, Any]:
    """Return a model whose output changes, or does for a delta, at a point where constraints cut; and that delta."""
    choices = [
        [f.low, f.high, *own] if isinstance(f, Real) else [x for x, _ in row]
        for f, own, row in zip(model.domain.features, cuts, cells_of(model.domain, cuts), strict=True)
    ]
    corner, judge = tuple(map(rng.choice, choices)), LinearJudge(model, v)
    if isinstance(model.rule, Score):
        return model, abs(judge.output(corner) - judge.output(v))
    scores = [judge.score(corner, k) for k in range(len(model.base))]
    common = lcm(*(s.denominator for s in scores))
    parts = [
        Slope(
            tuple(common * x for x in part.factors),
            None if part.missing is None else tuple(common * x for x in part.missing),
        )
        if isinstance(part, Slope)
        else replace(part, rows=tuple(tuple(common * x for x in row) for row in part.rows))
        for part in model.parts
    ]
    base = tuple(int(common * (b - s * model.denominator)) for b, s in zip(model.base, scores, strict=True))
    return replace(model, base=base, parts=tuple(parts), denominator=common * model.denominator), None


def random_possible_plane(rng: Random, *, toward: bool = False) -> tuple[LinearModel, Domain, PossibleJudge, Any]:
    """Return a linear model, a domain with constraints, what judges an instance there, and the class asked about."""
    while True:
        model, v, delta = random_plane(rng)
        if toward and not isinstance(model.rule, Argmax):
            continue
        features = model.domain.features
        cuts = [
            [Fraction(rng.randint(int(4 * f.low), int(4 * f.high)), 4) for _ in range(rng.randint(0, 2))]
            if isinstance(f, Real)
            else []
            for f in features
        ]
        if rng.random() < _TIED:
            model, delta = _tied(rng, model, v, cuts)
        values = space_of(model.domain, cuts).values
        floats = [[float(x) if isinstance(x, Fraction) else x for x in row] for row in values]
        rules = [random_rule(rng, model.domain, floats) for _ in range(rng.randint(1, 2))]
        point = tuple(
            Fraction(x) if isinstance(f, Real) and x is not None else x for f, x in zip(features, v, strict=True)
        )
        if not all(rule.meaning(point) for rule in rules):
            continue
        judge = LinearJudge(model, point, delta)
        asked = None
        if toward:
            asked = rng.choice([y for y in model.rule.labels if y != judge.output(point)])
            judge = ClassJudge(model, point, toward=asked)
        cells = cells_of(model.domain, cuts)
        made = PossibleJudge(judge, lambda x, rules=rules: all(rule.meaning(x) for rule in rules), cells)
        return model, model.domain.where(*(rule.constraint for rule in rules)), made, asked
