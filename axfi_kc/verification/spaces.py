"""The domain cut, around one instance, into pieces that a model cannot tell apart, and the walk over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram, Weights
from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.joint import JointPieces

__all__ = [
    "BALL",
    "Bound",
    "Piece",
    "Space",
    "apart",
    "constraint_cuts",
    "double_precision",
    "draw",
    "first_of",
    "float_ends",
    "is_left",
    "last_float",
    "number_of",
    "pieces_of",
    "position_of",
    "present",
    "shares_of",
    "single_precision",
    "values_of",
]


Bound = tuple[Fraction, bool]
"""A split of the reals: left are the numbers up to the first entry, itself included if the second is true."""
Number = Fraction | None
"""A value as a rational, the position of a categorical one; None: the missing value."""
BALL = "near"
"""The kind of the one constraint that cuts through pieces: a sum of distances from the instance."""
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Piece:
    """Values of one feature that the model treats alike."""

    number: Number  # one of them
    code: float | None  # one of them as a float64, NaN where it is missing; None if no float lies in the piece
    share: Fraction  # their probability
    count: int | None  # how many there are; None for a real feature
    ends: tuple[Bound, Bound] | None = None  # between which they lie, if they are an interval


def single_precision(threshold: float, *, strict: bool) -> Bound:
    """Return where ``float32(x) <= threshold`` (or ``<``) splits the reals.

    Examples
    --------
    >>> bound, closed = single_precision(0.5, strict=False)
    >>> float(bound) > 0.5, closed
    (True, True)
    """
    if not np.isfinite(threshold):
        return double_precision(threshold)
    with np.errstate(all="ignore"):
        near = np.float32(threshold)
        # Rounding may have crossed the threshold: the last float32 that goes left is one of these three.
        candidates = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
        left = [c for c in candidates if (float(c) < threshold if strict else float(c) <= threshold)]
        last = left[-1]
        following = np.nextafter(last, np.float32(np.inf))
        middle = (_or_end(last) + _or_end(following)) / 2
        return middle, bool(np.float32(float(middle)) == last)  # the middle of two float32 numbers is a float64


def double_precision(threshold: float) -> Bound:
    """Return where ``x <= threshold`` splits the reals.

    Examples
    --------
    >>> double_precision(0.5)
    (Fraction(1, 2), True)
    """
    if np.isfinite(threshold):
        return Fraction(threshold), True
    # All numbers go to one side: left of infinity, which sets missing values apart, and right of NaN.
    return Fraction(_LARGEST if threshold > 0 else -_LARGEST), threshold > 0


def _or_end(number: np.float32) -> Fraction:
    """Return a float32 number; for infinity the power of two that would follow the largest one, as rounding does."""
    return Fraction(float(number)) if np.isfinite(number) else Fraction(int(np.sign(number)) << 128)


def present(feature: Categorical | Integer) -> int:
    """Return the number of values that are not missing."""
    return len(feature.values) if isinstance(feature, Categorical) else feature.high - feature.low + 1


def values_of(feature: Feature) -> int | None:
    """Return the number of values, the missing one included; None for an interval of more than one point.

    Examples
    --------
    >>> values_of(Integer("age", 1, 10)), values_of(Integer("age", 1, 10, missing=0.5)), values_of(Real("r", 0, 1))
    (10, 11, None)
    """
    if isinstance(feature, Real):
        return 1 + bool(feature.missing) if feature.low == feature.high else None
    return present(feature) + bool(feature.missing)


def number_of(code: float) -> Number:
    """Return the value that a code stands for."""
    return None if np.isnan(code) else Fraction(code)


def apart(one: Codes, other: Codes) -> npt.NDArray[np.bool_]:
    """Tell where codes differ; two missing values do not, though NaN equals nothing."""
    return (one != other) & ~(np.isnan(one) & np.isnan(other))


def first_of(feature: Feature) -> int:
    """Return the code of a discrete feature's first value."""
    return feature.low if isinstance(feature, Integer) else 0


def shares_of(feature: Categorical | Integer) -> tuple[Fraction, ...]:
    """Return the probability of each value of a discrete feature; that of the missing one is not listed."""
    measure, n = feature.measure, present(feature)
    shares = measure.shares if isinstance(measure, Weights) else (Fraction(1, n),) * n
    return tuple(share * (1 - feature.missing) for share in shares)


def float_ends(feature: Integer | Real) -> tuple[float, float]:
    """Return the least and the largest float64 of a feature."""
    low, high = float(feature.low), float(feature.high)
    low = low if Fraction(low) >= feature.low else float(np.nextafter(low, np.inf))
    return low, high if Fraction(high) <= feature.high else float(np.nextafter(high, -np.inf))


def pieces_of(feature: Feature, bounds: Iterable[Bound]) -> tuple[Piece, ...]:
    """Cut a feature; a categorical one has a piece per value, and what is missing is a piece of its own, the last.

    Examples
    --------
    >>> [p.share for p in pieces_of(Integer("age", 1, 10), [(Fraction(7, 2), True)])]
    [Fraction(3, 10), Fraction(7, 10)]
    >>> [p.share for p in pieces_of(Integer("age", 1, 10, missing=0.5), [(Fraction(7, 2), True)])]
    [Fraction(3, 20), Fraction(7, 20), Fraction(1, 2)]
    """
    if isinstance(feature, Categorical):
        found = tuple(Piece(Fraction(k), float(k), share, 1) for k, share in enumerate(shares_of(feature)))
    else:
        found = _runs(feature, bounds) if isinstance(feature, Integer) else _intervals(feature, bounds)
    if not feature.missing:
        return found
    return (*found, Piece(None, np.nan, feature.missing, None if isinstance(feature, Real) else 1))


def _runs(feature: Integer, bounds: Iterable[Bound]) -> tuple[Piece, ...]:
    # The last integer left of each bound: an integer that an open bound names is right of it.
    lasts = {value.__floor__() - int(value.denominator == 1 and not closed) for value, closed in bounds}
    ends = [*sorted(e for e in lasts if feature.low <= e < feature.high), feature.high]
    found, start, there = [], feature.low, 1 - feature.missing
    for end in ends:
        if isinstance(feature.measure, Weights):
            share = sum(feature.measure.shares[start - feature.low : end - feature.low + 1], Fraction(0))
        else:
            share = Fraction(end - start + 1, present(feature))
        found.append(Piece(Fraction(start), float(start), there * share, end - start + 1))
        start = end + 1
    return tuple(found)


def _intervals(feature: Real, bounds: Iterable[Bound]) -> tuple[Piece, ...]:
    # As pairs bounds are in the order of the reals: at one number the open bound comes before the closed one.
    first, last = (feature.low, False), (feature.high, True)
    inner = sorted(b for b in set(bounds) if first < b < last)
    found, there = [], 1 - feature.missing
    for low, high in pairwise([first, *inner, last]):
        number = low[0] if low[0] == high[0] else (low[0] + high[0]) / 2
        share = there * (_below(feature, high[0]) - _below(feature, low[0]))
        found.append(Piece(number, _float_between(low, high), share, None, (low, high)))
    if feature.low == feature.high:  # the one point has all the probability
        return (Piece(feature.low, found[0].code, there, None),)
    return tuple(found)


def _below(feature: Real, value: Fraction) -> Fraction:
    if feature.low == feature.high:
        return Fraction(0)
    if not isinstance(feature.measure, Histogram):
        return (value - feature.low) / (feature.high - feature.low)
    total, edges = Fraction(0), feature.measure.edges
    for (a, b), share in zip(pairwise(edges), feature.measure.shares, strict=True):
        total += share * max(min(value, b) - a, Fraction(0)) / (b - a)
    return total


def _float_between(low: Bound, high: Bound, centre: Fraction | None = None) -> float | None:
    """Return a float64 right of `low` and not right of `high`, next to `centre` if that is given."""
    # A narrow piece may hold no float near its middle, but then one next to its ends, or none at all.
    middle = float((low[0] + high[0]) / 2)
    near = [middle, float(high[0]), float(low[0])]
    near += [float(np.nextafter(x, side)) for x in near[1:] for side in (-np.inf, np.inf)]
    inside = [x for x in near if not is_left(Fraction(x), low) and is_left(Fraction(x), high)]
    if centre is None or not inside:
        return next(iter(inside), None)
    return min(inside, key=lambda x: abs(Fraction(x) - centre))


def last_float(bound: Bound) -> Bound:
    """Return the bound that tells the same floats apart and is one itself, the last on its left.

    Examples
    --------
    >>> last_float((Fraction(1), False)) == (1 - Fraction(1, 2**53), True)
    True
    """
    near = float(bound[0])
    return Fraction(near if is_left(Fraction(near), bound) else float(np.nextafter(near, -np.inf))), True


def is_left(number: Fraction, bound: Bound) -> bool:
    """Tell whether a number is left of a bound."""
    return number < bound[0] or (number == bound[0] and bound[1])


def position_of(pieces: tuple[Piece, ...], bounds: Iterable[Bound], feature: Feature, code: float) -> int:
    """Return the piece that holds a value."""
    number = number_of(code)
    if number is None:
        return len(pieces) - 1
    if isinstance(feature, Categorical):
        return int(code)
    if isinstance(feature, Integer):
        starts = [piece.number for piece in pieces if piece.number is not None]
        return sum(start <= number for start in starts) - 1
    inner = sorted(b for b in set(bounds) if (feature.low, False) < b < (feature.high, True))
    return sum(not is_left(number, b) for b in inner)


def constraint_cuts(domain: Domain, feature: Feature) -> set[Bound]:
    """Return where the constraints of a domain cut a feature."""
    rules = [rule for rule in domain.constraints if feature.name in rule.names]
    found = {(Fraction(value), bool(closed)) for rule in rules for value, closed in rule.bounds(feature)}
    if not isinstance(feature, Real):
        return found
    # A ball cuts through pieces. On those between its centre and the edges of a histogram distances are uniform.
    for centre in _centres(domain, feature):
        edges = feature.measure.edges if isinstance(feature.measure, Histogram) else ()
        if domain.distribution is not None:
            edges = domain.distribution.states[domain.index(feature.name)].edges
        found |= {(centre, False), (centre, True), *((edge, True) for edge in edges)}
    return found


def _centres(domain: Domain, feature: Feature) -> list[Fraction]:
    """Return the centres of the balls that are about a numeric feature; those of categories need none."""
    balls: list[Any] = [rule for rule in domain.constraints if rule.kind == BALL and feature.name in rule.names]
    return [Fraction(ball.centres[ball.names.index(feature.name)]) for ball in balls]


def _near_pieces(pieces: tuple[Piece, ...], domain: Domain, feature: Feature) -> tuple[Piece, ...]:
    """Return pieces that each stand where they are next to the centre of a ball, so that points of it are found."""
    centres = _centres(domain, feature) if isinstance(feature, Real) and domain.constraints else []
    if not centres:
        return pieces
    return tuple(replace(p, code=_float_between(*p.ends, centres[0])) if p.ends else p for p in pieces)


_ROWS = 4096  # predicted at once


@dataclass(frozen=True)
class Space:
    """Pieces of every feature."""

    claim: Claim
    pieces: tuple[tuple[Piece, ...], ...]  # of each feature
    home: tuple[int, ...]  # the piece of each feature that holds the instance's value

    @classmethod
    def of(cls, claim: Claim, bounds: list[set[Bound]]) -> Space:
        """Cut the domain of a claim, where the model does and where its constraints do."""
        features, codes = claim.domain.features, claim.codes.tolist()
        cuts = [b | constraint_cuts(claim.domain, f) for f, b in zip(features, bounds, strict=True)]
        pieces = tuple(_near_pieces(pieces_of(f, b), claim.domain, f) for f, b in zip(features, cuts, strict=True))
        rows = zip(pieces, cuts, features, codes, strict=True)
        return cls(claim, pieces, tuple(position_of(p, b, f, c) for p, b, f, c in rows))

    @classmethod
    def of_values(cls, claim: Claim, most: int) -> Space | None:
        """Make every value a piece of its own; None if a feature is real or has more than `most` values."""
        features = claim.domain.features
        if any((values_of(f) or most + 1) > most for f in features):
            return None
        listed = [
            {(Fraction(k), True) for k in range(f.low, f.high)} if isinstance(f, Integer) else set() for f in features
        ]
        return cls.of(claim, listed)

    @cached_property
    def joint(self) -> JointPieces | None:
        """What weighs pieces for ratios under a joint distribution: up to a factor, which is that of all of them."""
        domain = self.claim.domain
        if domain.distribution is None or self.claim.weights != "ratio":
            return None
        return JointPieces(domain.distribution, domain.features, self.pieces, domain.decode(self.claim.codes))

    def worths(self, feature: int) -> tuple[list[int], int]:
        """Return what the pieces of a feature contribute to a weight, as integers and what these are divided by.

        That is their probability, or their number of values.
        """
        if self.claim.weights == "count":
            return [piece.count or 0 for piece in self.pieces[feature]], 1
        shares = [piece.share for piece in self.pieces[feature]]
        whole = lcm(*(share.denominator for share in shares))
        return [share.numerator * (whole // share.denominator) for share in shares], whole

    def n_boxes(self, free: tuple[int, ...]) -> int:
        """Return the number of combinations of pieces of some features."""
        return prod(len(self.pieces[i]) for i in free)

    def has_floats(self, free: tuple[int, ...]) -> bool:
        """Tell whether every piece of some features holds a float, so that all can be put to ``predict``."""
        return all(piece.code is not None for i in free for piece in self.pieces[i])

    def blocks(self, free: tuple[int, ...]) -> Iterator[tuple[Codes, list[npt.NDArray[np.int64]]]]:
        """Iterate over the combinations, last feature fastest: the codes of a point of each that holds a float.

        With each block come the numbers of the pieces, feature by feature.
        """
        start = self.claim.codes
        held = [np.array([k for k, p in enumerate(self.pieces[i]) if p.code is not None], dtype=np.int64) for i in free]
        choices = [np.array([p.code for p in self.pieces[i] if p.code is not None]) for i in free]
        sizes = [len(choice) for choice in choices]
        for first in range(0, prod(sizes), _ROWS):
            numbers = np.arange(first, min(first + _ROWS, prod(sizes)))
            codes = np.tile(start, (len(numbers), 1))
            places = np.unravel_index(numbers, sizes) if free else ()
            for i, choice, place in zip(free, choices, places, strict=True):
                codes[:, i] = choice[place]
            yield codes, [kept[place] for kept, place in zip(held, places, strict=True)]

    def weight_of(self, boxes: Iterable[tuple[Mapping[int, int], int | Fraction]], free: Sequence[int]) -> Fraction:
        """Return what disjoint boxes, sets of pieces as bits per feature, weigh together, each times its share."""
        if self.joint is not None:
            return self.joint.boxes(boxes, free)
        worths = {i: self.worths(i) for i in free}
        total: int | Fraction = 0
        for box, share in boxes:
            parts = (sum(w for k, w in enumerate(worths[i][0]) if mask >> k & 1) for i, mask in box.items())
            total += prod(parts) * share
        return Fraction(total) / prod(whole for _, whole in worths.values())

    def total(self, free: tuple[int, ...], shares: Sequence[int | Fraction]) -> Fraction:
        """Return what a share of each combination weighs together, all in the order of :meth:`blocks`."""
        if self.joint is not None:
            return self.joint.combinations(free, shares)
        table, below = np.array(list(shares), dtype=object), 1
        # The last feature is the fastest: each product with its worths leaves a table over those before it.
        for i in reversed(free):
            numbers, whole = self.worths(i)
            table = table.reshape(-1, len(numbers)) @ np.array(numbers, dtype=object)
            below *= whole
        return Fraction(table.sum()) / below


def draw(
    domain: Domain, start: Codes, free: tuple[int, ...], number: int, rng: np.random.Generator, *, even: bool = False
) -> Codes:
    """Return random points that agree with `start` outside `free`, from the domain's measure.

    If `even`, discrete features take every value alike, the missing one too, whatever their measure.
    """
    codes = np.tile(start, (number, 1))
    for i in free:
        feature = domain.features[i]
        codes[:, i] = (
            _reals(feature, number, rng) if isinstance(feature, Real) else _discrete(feature, number, rng, even)
        )
        if feature.missing:
            rate = 1 / (values_of(feature) or 2) if even else float(feature.missing)
            codes[rng.random(number) < rate, i] = np.nan
    return codes


def _discrete(feature: Categorical | Integer, number: int, rng: np.random.Generator, even: bool) -> Codes:
    n = present(feature)
    if even or not isinstance(feature.measure, Weights):
        chosen = rng.integers(0, n, number)
    else:
        shares = np.array([float(s) for s in feature.measure.shares])
        chosen = rng.choice(n, number, p=shares / shares.sum())
    return (first_of(feature) + chosen).astype(np.float64)


def _reals(feature: Real, number: int, rng: np.random.Generator) -> Codes:
    if isinstance(feature.measure, Histogram):
        edges = np.array([float(e) for e in feature.measure.edges])
        shares = np.array([float(s) for s in feature.measure.shares])
        bins = rng.choice(len(shares), number, p=shares / shares.sum())
        low, high = edges[bins], edges[bins + 1]
    else:
        low, high = np.full(number, float(feature.low)), np.full(number, float(feature.high))
    return np.clip(low + rng.random(number) * (high - low), *float_ends(feature))
