"""The least radius at which features of a linear model can change its output, exactly.

On one side of the instance a point is dissimilar when its features together lose enough. Within a radius each feature
alone loses as much as it can (linf), or the radius is spent where it buys most (l1).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from axfi_kc.budget import Account
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.explanations.counterfactuals.linear import Way, ways_of
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import LinearModel

__all__ = ["linear_reach"]


_Found = tuple[Fraction, bool]


class _Step(NamedTuple):
    """A value of a discrete feature that loses more than every nearer one."""

    radius: Fraction
    loss: Fraction


class _Ramp(NamedTuple):
    """A real feature: what it loses per unit of radius, and the radius at which its domain ends."""

    rate: Fraction
    end: Fraction


def linear_reach(
    problem: Problem, features: Sequence[int], factors: Mapping[int, Fraction], *, norm: str, account: Account
) -> _Found | None:
    """Return the least radius at which the features suffice, and whether it is open; None if there is none.

    `factors` are what the distance of each feature, in its own unit, is multiplied by; 0: it is not measured.
    """
    if not isinstance(problem.model, LinearModel):
        raise TypeError("expected a linear model")
    reach = _largest if norm == "linf" else _summed
    sides = (_reach_of_side(way, factors, reach, account) for way in ways_of(problem.model, problem, tuple(features)))
    return min((found for found in sides if found is not None), default=None)


def _reach_of_side(way: Way, factors: Mapping[int, Fraction], reach: object, account: Account) -> _Found | None:
    need, steps, ramps = way.need, [], []
    for i in way.free:
        feature = way.side.features[i]
        if not factors[i]:
            need -= _most(way, i)
        elif math.isnan(way.codes[i]):
            continue  # measured, a missing value stays where it is
        elif isinstance(feature, Real):
            ramps += _ramps(way, i, factors[i])
        else:
            steps.append(_steps(way, i, feature, factors[i], account))
    enough = _Need(need, way.strict)
    if enough.met(Fraction(0)):
        return Fraction(0), False
    return reach(enough, steps, ramps, account)  # type: ignore[operator]


class _Need(NamedTuple):
    """What must be lost; more than that, if it is strict."""

    amount: Fraction
    strict: bool

    def met(self, loss: Fraction) -> bool:
        return loss > self.amount if self.strict else loss >= self.amount


def _most(way: Way, i: int) -> Fraction:
    """Return the most that feature i can lose at any distance."""
    return way.added(i, way.codes[i]) - way.side.least[i]


def _ramps(way: Way, i: int, factor: Fraction) -> list[_Ramp]:
    slope, feature, own = Fraction(way.side.slope(i)), way.side.features[i], Fraction(way.codes[i])
    room = own - Fraction(feature.low) if slope > 0 else Fraction(feature.high) - own  # type: ignore[union-attr]
    return [_Ramp(abs(slope) / factor, room * factor)] if slope and room else []


def _steps(way: Way, i: int, feature: Feature, factor: Fraction, account: Account) -> list[_Step]:
    """Return the values of a discrete feature that are of use, nearest first."""
    own = way.codes[i]
    values = range(feature.low, feature.high + 1) if isinstance(feature, Integer) else range(len(feature.values))  # type: ignore[union-attr]
    rows = []
    for code in account.paced(values):
        far = factor * (int(code != own) if isinstance(feature, Categorical) else abs(code - Fraction(own)))
        rows.append(_Step(far, way.loss(i, code)))
    kept: list[_Step] = []
    for step in sorted(rows, key=lambda s: (s.radius, -s.loss)):
        if not kept or step.loss > kept[-1].loss:
            kept.append(step)
    return kept


def _largest(need: _Need, steps: list[list[_Step]], ramps: list[_Ramp], account: Account) -> _Found | None:
    """Return the least radius for linf: what is lost within a radius grows in steps and along ramps."""

    def lost(radius: Fraction) -> Fraction:
        found = sum((ramp.rate * min(radius, ramp.end) for ramp in ramps), Fraction(0))
        for row in steps:
            found += max((s.loss for s in row if s.radius <= radius), default=Fraction(0))
        return found

    account.look()
    radii = sorted({Fraction(0), *(s.radius for row in steps for s in row), *(r.end for r in ramps)})
    # Where a step or an end comes, what can be lost is known exactly; between two of them it grows evenly.
    k = bisect_left(radii, True, key=lambda radius: need.met(lost(radius)))
    if k == len(radii):
        return None
    before = radii[k - 1]  # never the first: nothing is lost at 0 that was not lost before
    rate = sum((ramp.rate for ramp in ramps if ramp.end > before), Fraction(0))
    at = before + (need.amount - lost(before)) / rate if rate else radii[k]
    return (at, need.strict) if at < radii[k] else (radii[k], False)


def _summed(need: _Need, steps: list[list[_Step]], ramps: list[_Ramp], account: Account) -> _Found | None:
    """Return the least radius for l1: values of discrete features in depth, real ones where they lose most."""
    ramps = sorted(ramps, key=lambda ramp: -ramp.rate)
    reals = sum((ramp.rate * ramp.end for ramp in ramps), Fraction(0))
    most = list(accumulate((row[-1].loss for row in reversed(steps)), initial=reals))[::-1]
    best: _Found | None = None
    stack: list[tuple[int, Fraction, Fraction]] = [(0, Fraction(0), Fraction(0))]
    while stack:
        k, radius, loss = stack.pop()
        account.spend(1)
        # Hopeless even with all that is left, or no nearer than what is known.
        if not need.met(loss + most[k]) or (best is not None and (radius, False) >= best):
            continue
        if k < len(steps):
            stack += [(k + 1, radius + s.radius, loss + s.loss) for s in reversed(steps[k])]
            continue
        more = _bought(_Need(need.amount - loss, need.strict), ramps)
        found = radius + more[0], more[1]
        best = found if best is None else min(best, found)
    return best


def _bought(need: _Need, ramps: list[_Ramp]) -> _Found:
    """Return the least radius that real features need to lose so much together."""
    radius, lost = Fraction(0), Fraction(0)
    for ramp in ramps:
        if need.met(lost):
            break
        if need.met(lost + ramp.rate * ramp.end):
            return radius + (need.amount - lost) / ramp.rate, need.strict
        radius, lost = radius + ramp.end, lost + ramp.rate * ramp.end
    return radius, False
