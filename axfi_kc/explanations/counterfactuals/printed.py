"""Counterfactuals as they are printed: conditions and values in short decimals that do what they say.

The nearest point lies one float beside a threshold, where nobody can read or type it. What is printed is the shortest
decimal close behind it (within a twentieth of the change, or a thousandth of the feature's range), inside the region of
dissimilar points. Before it is shown, it is put to the model's own ``predict``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.measures import shown
from axfi_kc.explanations.counterfactuals.decimals import decimal_text, shortest, told_apart
from axfi_kc.explanations.counterfactuals.regions import cell_ends
from axfi_kc.explanations.problem import Problem

__all__ = [
    "Condition",
    "Printed",
    "is_possible",
    "printed_at",
    "printed_row",
    "range_condition",
    "reach_of",
    "unit_of",
]


_LITTLE, _THOUSANDTH = Fraction(1, 20), Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Condition:
    """What the words say about one feature, and a value that meets it.

    Attributes
    ----------
    feature
        The feature.
    code
        The code of the value printed; NaN: the feature is to be missing.
    low, high
        The numbers allowed; infinite: up to the end of the domain. Of other values there is only the one printed.
    """

    feature: Feature
    code: float
    low: float = -math.inf
    high: float = math.inf

    @classmethod
    def exactly(cls, feature: Feature, code: float) -> Condition:
        """Return the condition that a feature has one value."""
        return cls(feature, code, code, code)

    def __str__(self) -> str:
        """Return the condition in words."""
        name = self.feature.name
        if math.isnan(self.code):
            return f"leave {name} empty"
        if isinstance(self.feature, Categorical):
            return f"{name} = {self.feature.decode(self.code)!r}"
        if self.low == self.high:
            return f"{name} = {_text(self.feature, self.low)}"
        ends = [("<=", self.high)] if self.low == -math.inf else [(">=", self.low), ("<=", self.high)]
        bounds = [f"{name} {sign} {_text(self.feature, end)}" for sign, end in ends if math.isfinite(end)]
        return " and ".join(bounds) or f"any {name}"

    def old_text(self, code: float) -> str:
        """Return the instance's value, with as many digits as keep it from meeting the condition on view."""
        if isinstance(self.feature, Real) and not (math.isnan(code) or math.isnan(self.code)):
            return told_apart(code, self.low, self.high)
        return _text(self.feature, code)

    @property
    def new_text(self) -> str:
        """The value that meets the condition."""
        return _text(self.feature, self.code)


def _text(feature: Feature, code: float) -> str:
    if math.isnan(code):
        return "missing"
    return decimal_text(code) if isinstance(feature, Real) else shown(feature.decode(code))


def reach_of(feature: Real, move: Fraction) -> Fraction:
    """Return how much further than the nearest value, `move` away, a shorter one may be."""
    return max(move * _LITTLE, (feature.high - feature.low) * _THOUSANDTH)


def range_condition(axis: Axis, cells: Sequence[int], *, own: float, code: float) -> Condition:
    """Return the condition of lying in neighbouring cells, with a value close to `code`; `own` is the instance's."""
    feature = axis.feature
    if isinstance(feature, Categorical) or math.isnan(code):
        return Condition.exactly(feature, code)
    low, high = cell_ends(axis, cells[0])[0], cell_ends(axis, cells[-1])[1]
    ends = [-math.inf if cells[0] == 0 else low, math.inf if cells[-1] == len(axis.cuts) else high]
    if isinstance(feature, Integer):
        return Condition(feature, code, *ends)
    near, far = (high, low) if own > high else (low, high)
    move = Fraction(far) - Fraction(near) if math.isnan(own) else Fraction(near) - Fraction(own)
    first = _short_end(feature, near, far, reach_of(feature, abs(move)))
    # Rounded inwards as well, but by little: what is given away here is never seen.
    last = _short_end(feature, far, first, abs(Fraction(far) - Fraction(near)) * _LITTLE)
    least, most = sorted((first, last))
    # Of the two ends only those that are thresholds are printed; the domain ends by itself.
    ends = [end if math.isinf(end) else short for end, short in zip(ends, (least, most), strict=True)]
    return Condition(feature, _short_value(feature, code, least, most, first), *ends)


def _short_end(feature: Real, end: float, other: float, reach: Fraction) -> float:
    """Return the shortest decimal from one end of an interval on, at most so far towards the other."""
    at = Fraction(end)
    limits = (at, min(at + reach, Fraction(other))) if end <= other else (max(at - reach, Fraction(other)), at)
    return shortest(*limits, near=end, unit=unit_of(feature))


def _short_value(feature: Real, code: float, least: float, most: float, first: float) -> float:
    """Return a short decimal close to a code: `first`, which faces the instance, if the code is not behind it."""
    at = min(max(code, least), most)
    if at == first:
        return first
    room = (feature.high - feature.low) * _THOUSANDTH
    low, high = max(Fraction(least), Fraction(at) - room), min(Fraction(most), Fraction(at) + room)
    return shortest(low, high, near=at, unit=unit_of(feature))


def unit_of(feature: Real) -> Fraction:
    """Return the unit in which nobody would write a feature's values more finely without need."""
    return (feature.high - feature.low) * _THOUSANDTH / 10


@dataclass(frozen=True, slots=True)
class Printed:
    """A counterfactual on view.

    Attributes
    ----------
    words
        The condition on all features of the CXp.
    moves
        Each change as (feature, old value, new value).
    point
        The point with the new values, as ``{feature name: value}``.
    output
        The model's output there.
    """

    words: str
    moves: tuple[tuple[str, str, str], ...]
    point: dict[str, Any]
    output: Any


def printed_at(
    problem: Problem, members: Sequence[int], conditions: Sequence[Condition], *, judge: Problem
) -> Printed | None:
    """Return what to print, or None if the judge does not find it dissimilar.

    The judge is the problem itself, whose model's own ``predict`` is asked; where there is none to ask, a stricter one.

    Notes
    -----
    One call of ``predict``, for three points: the instance, the point printed, and the instance as printed.
    """
    own = problem.codes
    olds = [c.old_text(float(own[i])) for i, c in zip(members, conditions, strict=True)]
    point, viewed = own.copy(), own.copy()
    for i, condition, old in zip(members, conditions, olds, strict=True):
        point[i] = condition.code
        viewed[i] = own[i] if not isinstance(condition.feature, Real) or math.isnan(own[i]) else float(old)
    rows = np.array([own, point, viewed])
    exact = problem.model.outputs_at(rows)
    asked = (judge.own.ask or judge.model.outputs_at)(rows)
    if not (problem.is_dissimilar(exact[1]) and _differ(judge, asked[1], asked[0])):
        return None
    if not is_possible(problem.domain, point.tolist()):
        return None
    # Nobody need type in what is as it was; but who does should get the output that was.
    if problem.is_dissimilar(exact[2]) or _differ(judge, asked[2], asked[0]):
        olds = [_text(c.feature, float(own[i])) for i, c in zip(members, conditions, strict=True)]
    names = problem.domain.names
    return Printed(
        words=" and ".join(map(str, conditions)),
        moves=tuple((names[i], old, c.new_text) for i, old, c in zip(members, olds, conditions, strict=True)),
        point=dict(zip(names, problem.domain.decode(point), strict=True)),
        # A regression's own number is the exact one, rounded; a label is the model's own word.
        output=exact[1] if problem.similarity.delta is not None or asked[1] == exact[1] else asked[1],
    )


def printed_row(problem: Problem, members: Sequence[int], codes: Sequence[float]) -> Printed:
    """Return what to print of a point that is dissimilar, value by value as it is."""
    features, point = problem.domain.features, problem.codes.copy()
    point[list(members)] = codes
    conditions = [Condition.exactly(features[i], code) for i, code in zip(members, codes, strict=True)]
    olds = [_text(features[i], float(problem.codes[i])) for i in members]
    return Printed(
        words=" and ".join(map(str, conditions)),
        moves=tuple((c.feature.name, old, c.new_text) for c, old in zip(conditions, olds, strict=True)),
        point=dict(zip(problem.domain.names, problem.domain.decode(point), strict=True)),
        output=problem.model.outputs_at(point[np.newaxis])[0],
    )


def is_possible(domain: Domain, codes: Sequence[float]) -> bool:
    """Tell whether a point meets every constraint of its domain."""
    return all(constraint.holds(codes, domain) for constraint in domain.constraints)


def _differ(problem: Problem, output: Any, other: Any) -> bool:
    """Tell whether two outputs of the model itself are dissimilar, also to who compares them as floats."""
    delta = problem.similarity.delta
    if problem.similarity.holds(output, other):
        return False
    return delta is None or not isinstance(output, float) or abs(output - other) > delta
