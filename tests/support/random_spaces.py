"""Random constraints and regions, and what the definitions say about an instance among the points that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

from axfi_kc import Categorical, Domain, Integer, Real
from axfi_kc.domain.constraints import Between, Constraint, allowed, feature
from axfi_kc.domain.region import Region, unit_of
from axfi_kc.errors import DomainError
from axfi_kc.models.restriction import restricted
from axfi_kc.models.support import support_of
from tests.support.random_problems import Truth


def random_constraint(rng: Random, domain: Domain, depth: int = 2) -> Constraint:
    """Return a random constraint; over real features only comparisons with numbers."""
    if depth and rng.random() < 0.7:
        parts = [random_constraint(rng, domain, depth - 1) for _ in range(2)]
        return rng.choice(
            (parts[0] & parts[1], parts[0] | parts[1], parts[0] >> parts[1], ~parts[0], Between(tuple(parts), 0, 1))
        )
    chosen = rng.choice(domain.features)
    term = feature(chosen.name)
    if isinstance(chosen, Categorical):
        return term.isin(rng.sample(chosen.values, rng.randint(1, len(chosen.values))))
    if isinstance(chosen, Integer) and rng.random() < 0.4:
        values = range(chosen.low, chosen.high + 1)
        rows = [(v,) for v in values if rng.random() < 0.7]
        return allowed([chosen.name], rows) if rows else term < chosen.low  # a person must give a row
    number = rng.randint(int(2 * chosen.low), int(2 * chosen.high)) / 2
    return rng.choice((term < number, term <= number, term > number, term >= number))


def random_region(rng: Random, domain: Domain, *, norm: str = "linf") -> Region:
    """Return a random region of any domain."""
    names = list(domain.names)
    numeric = [f.name for f in domain.features if not isinstance(f, Categorical)]
    return Region(
        frozen=[n for n in names if rng.random() < 0.15],
        only_up=[n for n in numeric if rng.random() < 0.15],
        only_down=[n for n in numeric if rng.random() < 0.1],
        radius=rng.choice((None, 0.5, 1, 1.5, 2)),
        norm=norm,
        unit=rng.choice(("value", "range")),
        weights={n: rng.choice((0, 0.5, 1, 2)) for n in names if rng.random() < 0.3},
    )


def distances(region: Region, domain: Domain, point: Sequence[Any], other: Sequence[Any]) -> list[Fraction | None]:
    """Return how far each feature moves between two points in the region's terms; None: it may not go there at all."""
    return [_distance(region, f, a, b) for f, a, b in zip(domain.features, point, other, strict=True)]


def _distance(region: Region, feature: Any, a: Any, b: Any) -> Fraction | None:
    if a == b:
        return Fraction(0)
    name, weight = feature.name, region.weight(feature.name)
    measured = weight != 0  # of what is not measured, only directions matter
    if name in region.frozen:
        return None
    if a is None or b is None:
        directed = name in (*region.only_up, *region.only_down)
        return None if directed or (region.radius is not None and measured) else Fraction(0)
    if isinstance(feature, Categorical):
        return weight
    if (name in region.only_up and b < a) or (name in region.only_down and b > a):
        return None
    unit = unit_of(feature, region.unit)
    return abs(Fraction(a) - Fraction(b)) * weight / unit if measured else Fraction(0)


def norm_of(region: Region, moves: Sequence[Fraction | None]) -> Fraction | None:
    """Return the distance that the moves of all features make; None if one of them is not allowed."""
    if None in moves:
        return None
    return max(moves, default=Fraction(0)) if region.norm == "linf" else sum(moves, Fraction(0))


@dataclass(frozen=True)
class Around:
    """A truth, with constraints, seen from one of its instances and within a region."""

    truth: Truth
    domain: Domain
    region: Region
    v: tuple[int, ...]

    def is_possible(self, place: tuple[int, ...]) -> bool:
        codes = self.domain.encode_point(dict(zip(self.domain.names, self.truth.point(place), strict=True))).tolist()
        return all(c.holds(codes, self.domain) for c in self.domain.constraints)

    def distance(self, place: tuple[int, ...]) -> Fraction | None:
        """Return how far a point is; None if it is not allowed at any distance."""
        points = self.truth.point(self.v), self.truth.point(place)
        return norm_of(self.region, distances(self.region, self.domain, *points))

    @cached_property
    def inside(self) -> set[tuple[int, ...]]:
        """The possible points of the region."""
        found = set()
        for place in self.truth.places:
            far = self.distance(place)
            if far is not None and (self.region.radius is None or far <= self.region.radius):
                found |= {place} if self.is_possible(place) else set()
        return found

    def differing(self, places: set[tuple[int, ...]]) -> dict[int, list[tuple[int, ...]]]:
        """Return the dissimilar ones of some points, by the features in which they differ from the instance."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for place in places:
            if not self.truth.similar(self.truth.output(place), self.truth.output(self.v)):
                found.setdefault(self.changed(place), []).append(place)
        return found

    def changed(self, place: tuple[int, ...]) -> int:
        return sum(1 << i for i, (a, b) in enumerate(zip(place, self.v, strict=True)) if a != b)

    @cached_property
    def examples(self) -> dict[int, list[tuple[int, ...]]]:
        """The CXps, each with its adversarial examples."""
        found = self.differing(self.inside)
        return {Y: places for Y, places in found.items() if not any(T & Y == T != Y for T in found)}

    def _worth(self, place: tuple[int, ...], Y: int) -> Fraction:
        worth = Fraction(1)
        for i, k in enumerate(place):
            worth *= self.truth.measures[i][k] if Y >> i & 1 else 1
        return worth

    def ratio(self, Y: int) -> Fraction | None:
        """Return the weight of a CXp; None where its box has probability 0."""
        box = sum(self._worth(place, Y) for place in self.inside if self.changed(place) & ~Y == 0)
        return sum(self._worth(place, Y) for place in self.examples[Y]) / box if box else None


def constrained(rng: Random, truth: Truth, *, share: float = 0.5) -> tuple[Domain, Any] | None:
    """Return a domain with constraints, or without, and the model over it; None if nothing is possible there."""
    if rng.random() >= share:
        return truth.domain, truth.model
    try:
        domain = truth.domain.where(random_constraint(rng, truth.domain))
        model = restricted(truth.model, domain)
        support_of(model.grid)
    except DomainError:
        return None
    return domain, model


def has_reals(domain: Domain) -> bool:
    return any(isinstance(f, Real) for f in domain.features)


def infimum(around: Around, place: tuple[int, ...]) -> tuple[Fraction, bool] | None:
    """Return the least distance of the points that a representative stands for, and whether none of them has it.

    Every other value of a real feature is a breakpoint; those between stand for open intervals.
    """
    region, features, near, is_open = around.region, around.domain.features, [], []
    for row, f, k, own in zip(around.truth.values, features, place, around.v, strict=True):
        between = isinstance(f, Real) and k % 2 == 1 and row[k] is not None and row[own] is not None
        is_open.append(between and region.weight(f.name) != 0)
        near.append(row[k + (1 if own > k else -1)] if between else row[k])
    if around.distance(place) is None:  # an interval lies on one side of the instance, so any of its points tells that
        return None
    moves = distances(region, around.domain, around.truth.point(around.v), near)
    if region.norm == "l1":
        return sum(moves, Fraction(0)), any(is_open)
    return max(zip(moves, is_open, strict=True))
