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
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.distribution import States, measured_domain, tied
from axfi_kc.domain.features import Feature, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.region import Near, uniform_pieces
from axfi_kc.engines.uniform_sums import share_below_sum
from axfi_kc.errors import DomainError
from axfi_kc.families.masks import features_of
from axfi_kc.models import GriddedModel, Model, Similarity
from axfi_kc.models.restriction import restricted
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
    """Part of a cell: its probability, how far it is at least, and how much further it goes.

    Under a joint distribution the probability is that given the state in which the piece lies.
    """

    share: Fraction
    least: Fraction
    more: Fraction
    state: int = 0


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
        plain = measured_domain(model.domain)
        self._model, self._near = model if plain is None else cast(GriddedModel, restricted(model, plain)), near
        self._joint = self._model.domain.distribution
        self._blocks = () if self._joint is None else self._joint.blocks
        self._chances: dict[tuple[tuple[int, int], ...], Fraction] = {}

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

    def ratio(self, codes: npt.NDArray[np.float64], output: Any, mask: int, similarity: Similarity) -> Fraction:
        """Return the probability of dissimilar points among the possible ones that agree with v outside a set."""
        v = self._model.grid.locate(codes[np.newaxis])[0]
        members = features_of(mask)
        rows = self._points(v, members)
        outputs = self._model.decide(rows)
        found, whole = Fraction(0), Fraction(0)
        for row, y in zip(rows.tolist(), outputs, strict=True):
            if self._others is None or self._others.holds(row):
                share = self._share([self._pieces(i, row[i]) for i in members], codes, members)
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
        # Of no feature there is one combination, that of v: numpy cannot tell how many from nothing.
        rows[:, list(members)] = np.indices(sizes).reshape(len(sizes), prod(sizes)).T
        return rows

    def _share(
        self, pieces: Sequence[Sequence[_Piece]], codes: npt.NDArray[np.float64], members: Sequence[int]
    ) -> Fraction:
        """Return the probability of one combination of cells within the ball."""
        total = Fraction(0)
        for chosen in product(*pieces):
            spare = self._near.radius - sum((p.least for p in chosen), Fraction(0))
            share = prod((p.share for p in chosen), start=Fraction(1))
            share = share and share * self._chance([p.state for p in chosen], codes, members)
            total += share and share * share_below_sum([p.more for p in chosen if p.more], spare)
        return total

    def _chance(self, states: Sequence[int], codes: npt.NDArray[np.float64], members: Sequence[int]) -> Fraction:
        """Return the probability of states of some features, together with the instance's own in their blocks."""
        if self._joint is None:
            return Fraction(1)
        features, known = self._model.domain.features, self._joint.states
        near = sorted(tied(self._blocks, members))
        own = {i: int(known[i].locate(codes[i : i + 1], features[i])[0]) for i in near}
        own |= dict(zip(members, states, strict=True))
        key = tuple(own.items())
        if key not in self._chances:
            self._chances[key] = self._joint.probability(own)
        return self._chances[key]

    @cached_property
    def _known(self) -> dict[tuple[int, int], list[_Piece]]:
        return {}

    def _pieces(self, i: int, cell: int) -> list[_Piece]:
        if (i, cell) not in self._known:
            axis = self._model.grid.axes[i]
            found = _pieces_of(axis, cell, self._near)
            if self._joint is not None:
                found = _pieces_of_states(self._joint.states[i], axis, cell, self._near)
            self._known[i, cell] = list(found)
        return self._known[i, cell]


def _pieces_of(axis: Axis, cell: int, near: Near) -> Iterator[_Piece]:
    share, feature = Fraction(axis.numerators[cell], axis.denominator), axis.feature
    if not _is_cut(feature, near):
        yield _Piece(share, _reach(axis, cell, near), Fraction(0))
    elif isinstance(feature, Real):
        yield from _cut_pieces(axis, cell, near, uniform_pieces(feature), 0)


def _pieces_of_states(states: States, axis: Axis, cell: int, near: Near) -> Iterator[_Piece]:
    """Yield the pieces of a cell in each state, with the share of the state that they have."""
    if not _is_cut(axis.feature, near):
        for state, share in enumerate(states.shares(axis)[cell]):
            if share:
                yield _Piece(share, _reach(axis, cell, near), Fraction(0), state)
    elif cell != axis.missing_cell:
        for state, (low, high) in enumerate(pairwise(states.edges)):
            yield from _cut_pieces(axis, cell, near, [(low, high, Fraction(1))], state)


def _is_cut(feature: Feature, near: Near) -> bool:
    """Tell whether a ball cuts through cells of a feature."""
    return feature.name in near.names and isinstance(feature, Real) and feature.low < feature.high


def _reach(axis: Axis, cell: int, near: Near) -> Fraction:
    """Return how far a cell is that a ball does not cut."""
    name = axis.feature.name
    return near.reaches(name, axis)[cell].radius if name in near.names else Fraction(0)


def _cut_pieces(
    axis: Axis, cell: int, near: Near, uniform: Sequence[tuple[Fraction, Fraction, Fraction]], state: int
) -> Iterator[_Piece]:
    """Yield the parts of a cell of a real feature on which it is uniform, cut at the instance."""
    feature, k = cast(Real, axis.feature), near.names.index(axis.feature.name)
    centre, factor = Fraction(near.centres[k]), near.factors[k]
    left = Fraction(axis.cuts[cell - 1].value) if cell else Fraction(feature.low)
    right = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else Fraction(feature.high)
    for low, high, mass in uniform:
        # Cut at the instance too: on either side of it distances grow evenly.
        for a, b in ((low, min(high, centre)), (max(low, centre), high)):
            a, b = max(a, left), min(b, right)
            if a < b:
                nearest = min(abs(a - centre), abs(b - centre))
                yield _Piece(mass * (b - a) / (high - low), nearest * factor, (b - a) * factor, state)
