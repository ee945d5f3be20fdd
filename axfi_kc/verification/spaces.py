"""The domain cut into pieces around one instance, and the walk over all combinations of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, prod

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.features import Integer, Real
from axfi_kc.measures import Histogram, Weights
from axfi_kc.predictions import Codes
from axfi_kc.verification.claims import Claim
from axfi_kc.verification.pieces import Bound, Piece, pieces_of, position, values_of

__all__ = ["Space", "draw"]

_ROWS = 4096  # predicted at once


@dataclass(frozen=True)
class Space:
    """Pieces of every feature.

    Attributes
    ----------
    claim
        What is being checked.
    pieces
        The pieces of each feature.
    home
        The piece of each feature that holds the instance's value.
    """

    claim: Claim
    pieces: tuple[tuple[Piece, ...], ...]
    home: tuple[int, ...]

    @classmethod
    def of(cls, claim: Claim, bounds: list[set[Bound]]) -> Space:
        """Cut the domain of a claim."""
        features, codes = claim.domain.features, claim.codes.tolist()
        pieces = tuple(pieces_of(f, b) for f, b in zip(features, bounds, strict=True))
        rows = zip(pieces, bounds, features, codes, strict=True)
        return cls(claim, pieces, tuple(position(p, b, f, c) for p, b, f, c in rows))

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

    def blocks(self, free: tuple[int, ...]) -> Iterator[Codes]:
        """Iterate over the combinations, last feature fastest: the codes of a point of each."""
        start = self.claim.codes
        choices = [np.array([np.nan if p.code is None else p.code for p in self.pieces[i]]) for i in free]
        sizes = [len(choice) for choice in choices]
        for first in range(0, prod(sizes), _ROWS):
            numbers = np.arange(first, min(first + _ROWS, prod(sizes)))
            codes = np.tile(start, (len(numbers), 1))
            if free:
                for i, choice, places in zip(free, choices, np.unravel_index(numbers, sizes), strict=True):
                    codes[:, i] = choice[places]
            yield codes

    def total(self, free: tuple[int, ...], flags: Sequence[bool]) -> Fraction:
        """Return what the combinations that are flagged weigh together, in the order of :meth:`blocks`."""
        table, below = np.array([int(flag) for flag in flags], dtype=object), 1
        for i in reversed(free):
            numbers, whole = self.worths(i)
            table = table.reshape(-1, len(numbers)) @ np.array(numbers, dtype=object)
            below *= whole
        return Fraction(int(table.sum()), below)


def draw(domain: Domain, start: Codes, free: tuple[int, ...], number: int, rng: np.random.Generator) -> Codes:
    """Return random points that agree with `start` outside `free`, from the domain's measure."""
    codes = np.tile(start, (number, 1))
    for i in free:
        feature = domain.features[i]
        if isinstance(feature, Real):
            codes[:, i] = _reals(feature, number, rng)
            continue
        first = feature.low if isinstance(feature, Integer) else 0
        shares = [float(s) for s in feature.measure.shares] if isinstance(feature.measure, Weights) else None
        if shares is None:
            codes[:, i] = first + rng.integers(0, feature.size, number)
        else:
            codes[:, i] = first + rng.choice(feature.size, number, p=np.array(shares) / sum(shares))
    return codes


def _reals(feature: Real, number: int, rng: np.random.Generator) -> Codes:
    if isinstance(feature.measure, Histogram):
        edges = np.array([float(e) for e in feature.measure.edges])
        shares = np.array([float(s) for s in feature.measure.shares])
        bins = rng.choice(len(shares), number, p=shares / shares.sum())
        low, high = edges[bins], edges[bins + 1]
    else:
        low, high = np.full(number, float(feature.low)), np.full(number, float(feature.high))
    return np.clip(low + rng.random(number) * (high - low), *_within(feature))


def _within(feature: Real) -> tuple[float, float]:
    """Return the least and the largest float64 of the interval."""
    low, high = float(feature.low), float(feature.high)
    low = low if Fraction(low) >= feature.low else float(np.nextafter(low, np.inf))
    return low, high if Fraction(high) <= feature.high else float(np.nextafter(high, -np.inf))
