"""Adversarial examples under a joint distribution: random ones, and those that are likely enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from random import Random

import numpy as np

from axfi_kc.budget import Account
from axfi_kc.domain.distribution import Distribution, States, chosen, tied
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.explanations.counterfactuals.drawing import no_mass
from axfi_kc.explanations.counterfactuals.regions import Box, Choices, Region, cell_ends, cover
from axfi_kc.explanations.problem import Problem
from axfi_kc.models.joint import weigher_on

__all__ = ["PlausibleRegion", "draw_jointly"]


_BITS = 64
_TRIES = 10_000


class PlausibleRegion:
    """What is dissimilar, as far as its cells are likely enough, given the other features of the instance."""

    def __init__(self, inside: Region, problem: Problem, choices: Sequence[Choices], least: Fraction) -> None:
        self._inside = inside
        # In the order of the members, which are those of the domain.
        self._order = sorted(range(len(choices)), key=lambda k: choices[k].feature)
        self._choices, self._members = choices, [choices[k].feature for k in self._order]
        self._weigher = weigher_on(problem.model.grid)
        (self._place,) = self._weigher.places(problem.codes[np.newaxis])
        self._whole = self._weigher.whole(self._place, problem.cells.tolist(), self._members)
        self._least = least

    def verdict(self, box: Box) -> tuple[bool, bool]:
        """Tell whether some point of `box` may be dissimilar and likely enough, and whether all certainly are."""
        some, every = self._inside.verdict(box)
        # No part of a box is more likely than all of it.
        if not some or self._share(box) < self._least:
            return False, False
        return True, every and all(b - a == 1 for a, b in zip(*box, strict=True))

    def _share(self, box: Box) -> Fraction:
        first, last = box
        cells = [self._choices[k].cells[first[k] : last[k]] for k in self._order]
        return Fraction(self._weigher.weight(self._place, self._members, [cells])) / self._whole


def draw_jointly(
    region: Region,
    choices: Sequence[Choices],
    problem: Problem,
    random: Random,
    account: Account,
    accepts: Callable[[Sequence[float]], bool],
) -> list[float]:
    """Return the codes of a random dissimilar point, one per feature, under the distribution of the domain.

    Choices must be in the order of the cells, which is that of the domain's features. Makes the exact cover of the
    dissimilar points by boxes first; then box, cells and states are drawn one after the other, with exact odds.

    Raises
    ------
    WeightError
        If these points have probability 0.
    """
    joint = problem.domain.distribution
    if joint is None:
        raise DomainError("Expected a domain with a distribution, but it has none; draw from its measures.")
    weigher, members = weigher_on(problem.model.grid), [choice.feature for choice in choices]
    (place,) = weigher.places(problem.codes[np.newaxis])
    boxes = [
        [choice.cells[a:b] for choice, a, b in zip(choices, *box, strict=True)]
        for box in cover(region, choices, account=account)
    ]
    masses = [Fraction(weigher.weight(place, members, [box])) for box in boxes]
    if not any(masses):
        raise no_mass()
    for _ in account.paced(range(_TRIES)):
        cells = list(boxes[chosen(masses, random)])
        for k, own in enumerate(cells):
            odds = [weigher.weight(place, members, [[*cells[:k], (c,), *cells[k + 1 :]]]) for c in own]
            cells[k] = (own[chosen(list(map(Fraction, odds)), random)],)
        codes = _drawn_in_cells(joint, problem, members, [own[0] for own in cells], place, random)
        if accepts(codes):
            return codes
    raise BudgetError(f"None of {_TRIES} points drawn was in the region; ask for the nearest one.")


def _drawn_in_cells(
    joint: Distribution, problem: Problem, members: list[int], cells: list[int], place: Sequence[int], random: Random
) -> list[float]:
    """Return codes in the cells of some features: first their states, one after the other, then values in these."""
    axes = problem.model.grid.axes
    evidence: list[list[Fraction] | None] = [None] * len(axes)
    for i in tied(joint.blocks, members):
        evidence[i] = [Fraction(k == place[i]) for k in range(joint.states[i].size)]
    shares = {i: list(joint.states[i].shares(axes[i])[cell]) for i, cell in zip(members, cells, strict=True)}
    for i, row in shares.items():
        evidence[i] = row
    found = []
    for i, cell in zip(members, cells, strict=True):
        row, odds = shares[i], []
        for state in range(len(row)):
            evidence[i] = [share * (k == state) for k, share in enumerate(row)]
            odds.append(joint.total(evidence) if row[state] else Fraction(0))
        state = chosen(odds, random)
        evidence[i] = [share * (k == state) for k, share in enumerate(row)]
        found.append(_drawn_in_state(axes[i], cell, joint.states[i], state, random))
    return found


def _drawn_in_state(axis: Axis, cell: int, states: States, state: int, random: Random) -> float:
    """Return a code of a cell within one state, in which values are uniform."""
    feature, (low, high) = axis.feature, cell_ends(axis, cell)
    if isinstance(feature, Categorical) or cell == axis.missing_cell or low == high:
        return low
    first, last = states.edges[state], states.edges[state + 1]
    if isinstance(feature, Integer):
        return float(random.randrange(max(int(low), ceil(first)), min(int(high) + 1, ceil(last))))
    return _between(feature, axis, cell, (first, last), random, (low, high))


def _between(
    feature: Real,
    axis: Axis,
    cell: int,
    span: tuple[Fraction, Fraction],
    random: Random,
    floats: tuple[float, float],
) -> float:
    left = Fraction(axis.cuts[cell - 1].value) if cell else feature.low
    right = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else feature.high
    a, b = max(left, span[0]), min(right, span[1])
    drawn = float(a + (b - a) * Fraction(random.getrandbits(_BITS), 1 << _BITS))
    # A cell ends at cuts that need not be floats; rounded, a value may fall just outside.
    return min(max(drawn, floats[0]), floats[1])
