"""Weights within an l1 ball, which cuts through cells of real features: exact volumes.

Given the cells of a point, each real feature is uniform on pieces: parts of its cell on one side of the instance,
between two edges of a histogram. On a combination of pieces the distance is a constant plus a sum of independent
uniform variables, and the probability that it stays within the radius is a polynomial in pieces (inclusion and
exclusion over the corners of a box).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, product
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.features import Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.region import Near, uniform_pieces
from axfi_kc.errors import DomainError
from axfi_kc.families.masks import features_of
from axfi_kc.models import GriddedModel, Model, Similarity
from axfi_kc.models.support import Support, support_of

__all__ = ["BallWeights", "near_of"]


_MOST_COMBINATIONS = 100_000  # of cells of one CXp


def near_of(model: Model) -> Near | None:
    """Return the ball of a domain that cuts through cells: one over a real feature; None if there is none."""
    domain = model.domain
    real = {f.name for f in domain.features if isinstance(f, Real)}
    balls = (c for c in domain.constraints if isinstance(c, Near))
    return next((ball for ball in balls if not real.isdisjoint(ball.names)), None)


class _Piece(NamedTuple):
    """Part of a cell: its probability, how far it is at least, and how much further it goes."""

    share: Fraction
    least: Fraction
    more: Fraction


class BallWeights:
    """The ratios of CXps of one instance within a ball.

    Parameters
    ----------
    model
        A model on cells, over the domain with the ball among its constraints.
    near
        The ball.
    """

    def __init__(self, model: Model, near: Near) -> None:
        if not isinstance(model, GriddedModel):
            raise DomainError(
                "Within a ball of norm 'l1' a linear model has weights over discrete features only, but one is real; "
                "use norm='linf'."
            )
        self._model, self._near = model, near

    @cached_property
    def _others(self) -> Support | None:
        """The points that meet all other constraints."""
        found = support_of(self._model.grid)
        if found is None or len(found.roots) == 1:
            return None
        root = 1
        for constraint, own in zip(self._model.domain.constraints, found.roots, strict=True):
            root = root if constraint is self._near else found.nodes.conjoined(root, own)
        return replace(found, root=root)

    def ratio(self, v: npt.NDArray[np.int64], output: Any, mask: int, similarity: Similarity) -> Fraction:
        """Return the probability of dissimilar points among the possible ones that agree with v outside a CXp."""
        members = features_of(mask)
        rows = self._points(v, members)
        outputs = self._model.decide(rows)
        found, whole = Fraction(0), Fraction(0)
        for row, y in zip(rows.tolist(), outputs, strict=True):
            if self._others is None or self._others.holds(row):
                share = self._share([self._pieces(i, row[i]) for i in members])
                whole += share
                found += 0 if similarity.holds(y, output) else share
        if not whole:
            raise DomainError("The region has probability 0 around the instance; widen it, or change the measure.")
        return found / whole

    def _points(self, v: npt.NDArray[np.int64], members: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return all combinations of cells of some features, the others as in v."""
        sizes = [self._model.grid.n_cells[i] for i in members]
        if prod(sizes) > _MOST_COMBINATIONS:
            raise DomainError(
                f"A CXp has {prod(sizes)} combinations of cells to be measured within a ball of norm 'l1', more than "
                f"{_MOST_COMBINATIONS}; take a smaller radius, weights='unit', or norm='linf'."
            )
        rows = np.tile(v, (prod(sizes), 1))
        rows[:, list(members)] = np.indices(sizes).reshape(len(sizes), -1).T
        return rows

    def _share(self, pieces: Sequence[Sequence[_Piece]]) -> Fraction:
        """Return the probability of one combination of cells within the ball."""
        total = Fraction(0)
        for chosen in product(*pieces):
            spare = self._near.radius - sum((p.least for p in chosen), Fraction(0))
            share = prod((p.share for p in chosen), start=Fraction(1))
            total += share and share * _uniform_sum([p.more for p in chosen if p.more], spare)
        return total

    @cached_property
    def _known(self) -> dict[tuple[int, int], list[_Piece]]:
        return {}

    def _pieces(self, i: int, cell: int) -> list[_Piece]:
        if (i, cell) not in self._known:
            self._known[i, cell] = list(_pieces_of(self._model.grid.axes[i], cell, self._near))
        return self._known[i, cell]


def _pieces_of(axis: Axis, cell: int, near: Near) -> Iterator[_Piece]:
    share, name = Fraction(axis.numerators[cell], axis.denominator), axis.feature.name
    if name not in near.names:
        yield _Piece(share, Fraction(0), Fraction(0))
        return
    feature = axis.feature
    if not isinstance(feature, Real) or feature.low == feature.high:
        yield _Piece(share, near.reaches(name, axis)[cell].radius, Fraction(0))
        return
    k = near.names.index(name)
    centre, factor = Fraction(near.centres[k]), near.factors[k]
    left = Fraction(axis.cuts[cell - 1].value) if cell else Fraction(feature.low)
    right = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else Fraction(feature.high)
    for low, high, mass in uniform_pieces(feature):
        # Cut at the instance too: on either side of it distances grow evenly.
        for a, b in ((low, min(high, centre)), (max(low, centre), high)):
            a, b = max(a, left), min(b, right)
            if a < b:
                nearest = min(abs(a - centre), abs(b - centre))
                yield _Piece(mass * (b - a) / (high - low), nearest * factor, (b - a) * factor)


def _uniform_sum(widths: Sequence[Fraction], limit: Fraction) -> Fraction:
    """Return the probability that independent uniform variables on [0, width] add up to at most a limit."""
    if limit < 0 or (widths and not limit):
        return Fraction(0)
    if limit >= sum(widths):
        return Fraction(1)
    k = len(widths)
    corners = chain.from_iterable(combinations(widths, size) for size in range(k + 1))
    terms = ((-1) ** len(corner) * max(limit - sum(corner), Fraction(0)) ** k for corner in corners)
    return sum(terms, Fraction(0)) / (factorial(k) * prod(widths))
