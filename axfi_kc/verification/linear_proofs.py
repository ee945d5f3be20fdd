"""Linear models: extreme corners, and volumes of polytopes by inclusion and exclusion and face by face."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import factorial, prod
from typing import Any

import numpy as np

from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram
from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.reading.forms import LinearForm, Margin
from axfi_kc.verification.report import Allowance, Spent
from axfi_kc.verification.spaces import Number, first_of, number_of, shares_of, values_of

__all__ = ["Bin", "ClassProofs", "LinearProofs", "above", "bins_of", "solution", "volume"]


Row = tuple[tuple[Fraction, ...], Fraction]  # a half-space: factors times u is at most the number


def volume(halves: Sequence[Row], dimension: int, allowance: Allowance) -> Fraction:
    """Return the volume of the part of the unit cube that lies in all half-spaces.

    Notes
    -----
    Lasserre's formula: a polytope is the signed sum of the cones over its facets from the origin, so its volume is
    the sum of ``b / (d * |a_j|)`` times the volume of the facet ``a * u = b`` with u_j eliminated. At most one step
    per chain of faces.

    Examples
    --------
    >>> corner = ((Fraction(1), Fraction(1)), Fraction(1))
    >>> volume([corner], 2, Allowance.of(None))
    Fraction(1, 2)
    """
    # The origin is a corner of the cube: the cones over the facets through it are flat, which spares half of
    # the cube's facets.
    start = _tightest([*halves, *_cube(dimension)])
    total, stack = Fraction(0), [] if start is None else [(Fraction(1), start, dimension)]
    while stack:
        factor, rows, left = stack.pop()
        allowance.spend()
        if left == 1:
            total += factor * _length(rows)
            continue
        for row, limit in rows:
            if limit == 0:
                continue  # its cone is flat
            # Any variable that occurs will do: projecting scales the facet's volume by |a_j| over its length,
            # and the factor below takes that back.
            j = next(k for k, a in enumerate(row) if a)
            # A facet must be counted once, so equal half-spaces are merged before.
            face = _tightest(_without(other, (row, limit), j) for other in rows if other != (row, limit))
            if face is not None:
                stack.append((factor * limit / (left * abs(row[j])), face, left - 1))
    return total


def _cube(dimension: int) -> list[Row]:
    units = [tuple(Fraction(i == j) for j in range(dimension)) for i in range(dimension)]
    return [(unit, Fraction(1)) for unit in units] + [(tuple(-x for x in unit), Fraction(0)) for unit in units]


def _without(row: Row, face: Row, j: int) -> Row:
    """Return a half-space on a face, where variable j follows from the others."""
    (a, limit), (b, at) = row, face
    ratio = a[j] / b[j]
    return tuple(x - ratio * y for k, (x, y) in enumerate(zip(a, b, strict=True)) if k != j), limit - ratio * at


def _tightest(rows: Iterable[Row]) -> list[Row] | None:
    """Return one half-space per direction; None if they have no point in common at first sight."""
    kept: dict[tuple[Fraction, ...], Fraction] = {}
    for row, limit in rows:
        # Scaled to largest entry 1: parallel half-spaces then have one direction, and only the tightest stays.
        size = max(map(abs, row), default=Fraction(0))
        if size == 0:
            # Says "0 <= limit": always true, or the face is empty.
            if limit < 0:
                return None
            continue
        direction = tuple(x / size for x in row)
        kept[direction] = min(kept.get(direction, limit / size), limit / size)
    return list(kept.items())


def _length(rows: list[Row]) -> Fraction:
    # Both exist: the cube bounds every face of it in every direction.
    high = min(limit / a for (a,), limit in rows if a > 0)
    low = max(limit / a for (a,), limit in rows if a < 0)
    return max(high - low, Fraction(0))


Bin = tuple[Fraction, Fraction, Fraction]  # from, to, probability
_ANY = object()  # some number of an interval


class LinearProofs:
    """Proves statements about all possible points that agree with the instance outside some features.

    Of constraints it takes those that leave out categories of single features; see :meth:`covers`.
    """

    method = "extreme corner of a linear score, in exact arithmetic"
    weighing = "volume by inclusion and exclusion over the corners of the box"

    def __init__(self, form: LinearForm, claim: Claim) -> None:
        self._form = form
        self._claim = claim
        self._margins = form.rule.margins(claim.prediction, claim.delta, len(form.base))
        self._codes = claim.codes.tolist()

    @staticmethod
    def covers(claim: Claim) -> bool:
        """Tell whether the constraints do no more than leave out categories, and features are independent."""
        domain = claim.domain
        if domain.distribution is not None:
            return False
        named = [rule.names for rule in domain.constraints]
        return all(len(n) == 1 and isinstance(domain.features[domain.index(n[0])], Categorical) for n in named)

    def _can_be(self, i: int, number: Number) -> bool:
        """Tell whether feature i can have a value."""
        domain, point = self._claim.domain, list(self._codes)
        point[i] = np.nan if number is None else number
        return all(rule.holds(point, domain) for rule in domain.constraints if domain.names[i] in rule.names)

    def _gain(self, margin: Margin, i: int, number: Number) -> Fraction:
        """Return what feature i at a value adds to a margin."""
        scores = self._form.row(i, number, self._claim.domain.features[i])
        return margin.part(scores)

    def _fixed(self, margin: Margin, free: tuple[int, ...]) -> Fraction:
        kept = (self._gain(margin, i, number_of(code)) for i, code in enumerate(self._codes) if i not in free)
        return sum(kept, margin.constant + margin.part(self._form.base))

    def find(self, free: tuple[int, ...], allowance: Allowance) -> dict[int, Number] | None:
        """Return a dissimilar corner of the box of the free features; None: the whole box is similar."""
        for margin in self._margins:
            total, corner = self._fixed(margin, free), {}
            for i in free:
                ends = self._ends(i)
                allowance.spend(len(ends))
                # Features add up independently, so the best corner is found feature by feature.
                corner[i] = max(ends, key=lambda x, i=i, m=margin: self._gain(m, i, x))  # type: ignore[misc]
                total += self._gain(margin, i, corner[i])
            if margin.holds(total):
                return corner
        return None

    def _ends(self, i: int) -> list[Number]:
        """Return the values among which a score is extreme: the two ends, or all that have entries, and missing."""
        feature, entries = self._claim.domain.features[i], self._form.entries[i]
        nothing: list[Number] = [None] * bool(feature.missing)
        if entries is not None:
            listed = [*(Fraction(first_of(feature) + k) for k in range(len(entries))), *nothing]
            return [number for number in listed if self._can_be(i, number)]
        ends = (feature.low, feature.high) if isinstance(feature, Integer | Real) else ()
        return [*map(Fraction, ends), *nothing]

    def codes(self, corner: dict[int, Number]) -> Codes | None:
        """Return a corner as codes, rounded into the domain."""
        found = self._claim.codes.copy()
        for i, number in corner.items():
            feature, value = self._claim.domain.features[i], np.nan if number is None else float(number)
            if number is not None and isinstance(feature, Real) and not feature.low <= Fraction(value) <= feature.high:
                # Rounding goes to nearest and so at most one float too far.
                value = float(np.nextafter(value, np.inf if Fraction(value) < feature.low else -np.inf))
            found[i] = value
        return found

    def weigh(self, free: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return what all dissimilar points weigh together."""
        features = [self._claim.domain.features[i] for i in free]
        if prod(1 + bool(f.missing) if isinstance(f, Real) else values_of(f) or 1 for f in features) > allowance.points:
            raise Spent  # before they are listed
        total = Fraction(0)
        # Discrete values are listed and not summed up cleverly: this is the proof, not the algorithm proved.
        for numbers, worth in self._discrete(free):
            reals = tuple(i for i in free if i not in numbers)
            allowance.spend(2 ** len(reals))
            parts = [(m, self._at(m, free, numbers)) for m in self._margins]
            total += worth * self._volume(parts, reals, allowance)
        if self._claim.weights == "count":
            return total
        # Categories that are left out are so feature by feature, and so are their shares.
        whole = prod((sum((share for _, share in self._worths(i)), Fraction(0)) for i in free), start=Fraction(1))
        if not whole:
            raise Spent  # nothing that can exist has a probability
        return total / whole

    def _at(self, margin: Margin, free: tuple[int, ...], numbers: dict[int, Number]) -> Fraction:
        return self._fixed(margin, free) + sum((self._gain(margin, i, x) for i, x in numbers.items()), Fraction(0))

    def _discrete(self, free: tuple[int, ...]) -> Iterator[tuple[dict[int, Number], Fraction]]:
        """Iterate over the values of discrete features, with what each combination is worth.

        A real feature is among them where it is missing; where it is not, it is left out and its share counts.
        """
        for row in product(*map(self._worths, free)):
            chosen = {i: x for i, (x, _) in zip(free, row, strict=True) if x is not _ANY}
            yield chosen, prod((w for _, w in row), start=Fraction(1))

    def _worths(self, i: int) -> list[tuple[Any, Fraction]]:
        """Return the possible values of feature i, or that it has any, with what each is worth."""
        listed = _values(self._claim.domain.features[i], counted=self._claim.weights == "count")
        return [(x, worth) for x, worth in listed if x is _ANY or self._can_be(i, x)]

    def _volume(self, parts: list[tuple[Margin, Fraction]], reals: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return the probability that one of the margins holds, over the real features."""
        if not reals:
            return Fraction(any(m.holds(c) for m, c in parts))
        bins = [bins_of(self._claim.domain.features[i]) for i in reals]
        total = Fraction(0)
        for box in product(*bins):
            allowance.spend()
            share = prod((p for _, _, p in box), start=Fraction(1))
            total += share * self._part(parts, reals, box, allowance)
        return total

    def _part(
        self,
        parts: list[tuple[Margin, Fraction]],
        reals: tuple[int, ...],
        box: tuple[Bin, ...],
        allowance: Allowance,
    ) -> Fraction:
        """Return the share of a box of real features where one of the margins holds."""
        scaled = [(m, *self._scaled(m, c, reals, box)) for m, c in parts]
        # A margin that is constant on the box is decided by its sign, ties included; for the others a tie has
        # measure 0.
        flat = any(m.holds(c) for m, c, steps in scaled if not any(steps))
        return Fraction(1) if flat else self._union([(c, steps) for _, c, steps in scaled], allowance)

    def _scaled(
        self, margin: Margin, constant: Fraction, reals: tuple[int, ...], box: tuple[Bin, ...]
    ) -> tuple[Fraction, list[Fraction]]:
        """Return a margin over a box as a constant and what each feature adds from its lower to its upper end."""
        steps = []
        for i, (low, high, _) in zip(reals, box, strict=True):
            constant += self._gain(margin, i, low)
            steps.append(self._gain(margin, i, high) - self._gain(margin, i, low))
        return constant, steps

    def _union(self, parts: list[tuple[Fraction, list[Fraction]]], allowance: Allowance) -> Fraction:
        """Return the share of the unit cube where some ``constant + steps * u`` is above 0."""
        # Margins that are above 0 nowhere add nothing; one that is nowhere below 0 fills the cube.
        alive = [(c, s) for c, s in parts if c + sum(x for x in s if x > 0) > 0]
        if any(c + sum(x for x in s if x < 0) >= 0 for c, s in alive):
            return Fraction(1)
        if len(alive) <= 1 or self._form.rule.kind == "itself":  # above and below exclude each other
            return sum((above(c, s) for c, s in alive), Fraction(0))
        # The complement of a union of half-spaces is a polytope.
        return 1 - volume([(tuple(s), -c) for c, s in alive], len(alive[0][1]), allowance)


class ClassProofs(LinearProofs):
    """Proves statements about the points of one class: where no other one has a larger score.

    Whether there are any is decided by eliminating one variable after the other (Fourier and Motzkin).
    """

    method = "elimination of variables from linear inequalities, in exact arithmetic"
    weighing = "volume of what the half-spaces of the other classes leave"

    def __init__(self, form: LinearForm, claim: Claim) -> None:
        super().__init__(form, claim)
        self._margins = form.rule.margins(claim.toward, claim.delta, len(form.base))

    def find(self, free: tuple[int, ...], allowance: Allowance) -> dict[int, Number] | None:
        """Return a point of the class in the box of the free features; None: there is none."""
        for numbers, _ in self._discrete(free):
            reals = tuple(i for i in free if i not in numbers)
            allowance.spend()
            ends = [self._claim.domain.features[i] for i in reals]
            box = [(Fraction(f.low), Fraction(f.high), Fraction(1)) for f in ends if isinstance(f, Real)]
            rows = [(m, *self._scaled(m, self._at(m, free, numbers), reals, tuple(box))) for m in self._margins]
            # The class wins where no margin of another one holds: at most 0, and below it where a tie would hold.
            point = solution([(tuple(steps), -c, m.tie) for m, c, steps in rows], len(reals), allowance)
            if point is not None:
                places = zip(reals, box, point, strict=True)
                return numbers | {i: low + (high - low) * u for i, (low, high, _), u in places}
        return None

    def weigh(self, free: tuple[int, ...], allowance: Allowance) -> Fraction:
        """Return what all points of the class weigh together."""
        whole = Fraction(1)
        if self._claim.weights == "count":
            whole = prod((sum((w for _, w in self._worths(i)), Fraction(0)) for i in free), start=whole)
        return whole - super().weigh(free, allowance)


Half = tuple[tuple[Fraction, ...], Fraction, bool]  # factors times u is at most the number; below it, if strict


def solution(halves: Sequence[Half], dimension: int, allowance: Allowance) -> list[Fraction] | None:
    """Return a point of the unit cube in all half-spaces; None if there is none.

    Notes
    -----
    Fourier and Motzkin: a system has a solution iff it has one without its last variable, with a row for each two rows
    that bound it from both sides. Their number may grow doubly exponentially; the allowance ends that.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> solution([((Fraction(1),), half, False), ((Fraction(-1),), -half, False)], 1, Allowance.of(None))
    [Fraction(1, 2)]
    >>> solution([((Fraction(1),), half, True), ((Fraction(-1),), -half, False)], 1, Allowance.of(None)) is None
    True
    """
    systems = [[*halves, *((row, limit, False) for row, limit in _cube(dimension))]]
    for _ in range(dimension):
        systems.append(_eliminated(systems[-1], allowance))
    if any(limit < 0 or (limit == 0 and strict) for _, limit, strict in systems.pop()):
        return None
    found: list[Fraction] = []
    for system in reversed(systems):
        rests = [(row[-1], limit - sum(a * u for a, u in zip(row, found, strict=False))) for row, limit, _ in system]
        low = max(rest / a for a, rest in rests if a < 0)
        high = min(rest / a for a, rest in rests if a > 0)
        found.append((low + high) / 2)
    return found


def _eliminated(system: Sequence[Half], allowance: Allowance) -> list[Half]:
    """Return the inequalities that are left of a system without its last variable."""
    kept = {(row[:-1], limit, strict) for row, limit, strict in system if not row[-1]}
    upper, lower = ([half for half in system if sign * half[0][-1] > 0] for sign in (1, -1))
    for (a, at, one), (b, bt, two) in product(upper, lower):
        allowance.spend()
        p, q = -b[-1], a[-1]
        row = tuple(p * x + q * y for x, y in zip(a[:-1], b[:-1], strict=True))
        kept.add((row, p * at + q * bt, one or two))
    return sorted(kept)


def above(constant: Fraction, steps: list[Fraction]) -> Fraction:
    """Return the volume of ``constant + steps * u > 0`` in the unit cube, from all its corners.

    Examples
    --------
    >>> above(Fraction(-1), [Fraction(1), Fraction(1)])
    Fraction(1, 2)
    """
    sizes = [abs(s) for s in steps if s]
    # Mirrored so that every step is positive: u becomes 1 - u where it is not.
    limit = -constant - sum((s for s in steps if s < 0), Fraction(0))
    if not sizes:
        return Fraction(limit < 0)
    k, total = len(sizes), Fraction(0)
    for corner in product((0, 1), repeat=k):
        # The part below the plane is a corner simplex, less those that stick out of the cube beyond each
        # face, plus those beyond two, and so on.
        rest = limit - sum((s for s, bit in zip(sizes, corner, strict=True) if bit), Fraction(0))
        if rest > 0:
            total += (-1) ** sum(corner) * rest**k
    return 1 - total / (factorial(k) * prod(sizes, start=Fraction(1)))


def _values(feature: Feature, *, counted: bool) -> list[tuple[Any, Fraction]]:
    """Return the values of a discrete feature, or that a real one has any, and what each is worth; missing is last."""
    nothing = [(None, Fraction(1) if counted else feature.missing)] * bool(feature.missing)
    if isinstance(feature, Real):
        return [(_ANY, 1 - feature.missing), *nothing]
    listed = enumerate(shares_of(feature))
    return [*((Fraction(first_of(feature) + k), Fraction(1) if counted else p) for k, p in listed), *nothing]


def bins_of(feature: Feature) -> list[Bin]:
    """Return the intervals on which a real feature that is not missing is uniform."""
    if not isinstance(feature, Real):
        return []
    if isinstance(feature.measure, Histogram):
        ends = pairwise(feature.measure.edges)
        return [(a, b, p) for (a, b), p in zip(ends, feature.measure.shares, strict=True)]
    return [(feature.low, feature.high, Fraction(1))]
