"""Adversarial examples of linear models: closed form in real features, a small search in discrete ones.

On one side of the instance (see :mod:`axfi_kc.engines.linear.half_spaces`) a point is dissimilar when its
features together lose more than a margin. Real features lose at a fixed price per unit of loss, so
the cheapest are used up first; of a discrete feature only values that lose more than every cheaper
one can be of use. To become missing costs as much as any move, and so does to become a number where the
instance is missing: then the number that loses most is as near as any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account
from axfi_kc.domain.features import Feature, Integer, Real
from axfi_kc.domain.measures import Histogram
from axfi_kc.engines.linear.half_spaces import Side, sides_of
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.explanations.counterfactuals.decimals import shortest
from axfi_kc.explanations.counterfactuals.drawing import draw_between, draw_index, no_mass, value_odds
from axfi_kc.explanations.counterfactuals.printed import Condition, reach_of, unit_of
from axfi_kc.explanations.counterfactuals.regions import Box, Choices, Region, change, float_ends, region_in
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import LinearModel, Lookup
from axfi_kc.models.renumbering import Renumbered

__all__ = ["Way", "draw_linear", "linear_conditions", "nearest_linear", "renumbered_problem", "ways_of"]


_TRIES = 2_000_000
_MOST_AT_ONCE = 256
_VALUES_AT_ONCE = 1024


class _Option(NamedTuple):
    """A value of a discrete feature: what it costs, what it loses, and its code."""

    cost: Fraction
    loss: Fraction
    code: float


@dataclass(frozen=True, slots=True)
class Way:
    """One side, seen from the instance, with the features of the CXp only."""

    side: Side  # the half-space
    codes: Sequence[float]  # the instance
    free: tuple[int, ...]  # the CXp's features
    need: Fraction  # what they must lose together; more than that, if `strict`
    strict: bool
    scale: Sequence[Feature]  # in whose widths changes are measured

    def added(self, i: int, code: float | Fraction) -> Fraction:
        """Return what feature i adds to h at `code`."""
        return self.side.added(i, code)

    def loss(self, i: int, code: float | Fraction) -> Fraction:
        """Return what feature i loses when it changes to `code`."""
        return self.added(i, self.codes[i]) - self.added(i, code)

    def is_enough(self, loss: Fraction) -> bool:
        """Tell whether losing so much makes the point dissimilar."""
        return loss > self.need if self.strict else loss >= self.need

    def worst(self, i: int) -> float:
        """Return the float at which numeric feature i loses most."""
        low, high = float_ends(self.side.features[i])  # type: ignore[arg-type]
        return low if self.side.slope(i) > 0 else high


def ways_of(model: LinearModel, problem: Problem, free: tuple[int, ...]) -> Iterator[Way]:
    """Yield each side of the instance, with the features of a CXp only."""
    codes = problem.codes.tolist()
    output, _ = problem.similarity.sought(problem.output, model.labels)
    home = model.labels.index(output) if model.labels else 0
    for side in sides_of(model, problem.similarity, home):
        if side.distance is None:
            # h at the instance, never negative: what has to be lost. For a regression it is delta, wherever h is.
            margin = side.base + sum((side.added(i, c) for i, c in enumerate(codes)), Fraction(0))
        else:
            margin = Fraction(side.distance)
        yield Way(side, codes, free, margin, side.strict, problem.scale)


def has_reals(model: LinearModel) -> bool:
    """Tell whether some feature has no list of values."""
    return any(isinstance(f, Real) for f in model.domain.features)


def goes_by_values(model: LinearModel, problem: Problem) -> bool:
    """Tell whether points of one class of several are looked for: an intersection of half-spaces, value by value.

    Raises
    ------
    UnsupportedModelError
        If a feature is real, so that there are no values to go by.
    """
    _, is_one_class = problem.similarity.sought(problem.output, model.labels)
    odd = next((f for f in model.domain.features if isinstance(f, Real)), None) if is_one_class else None
    if odd is not None:
        raise UnsupportedModelError(
            f"Toward one class of several, the nearest point of a linear model over the real feature {odd.name!r} is "
            "not searched for; declare the feature integer, or use the CXps and their weights alone."
        )
    return is_one_class


def renumbered_problem(problem: Problem, small: Renumbered) -> Problem:
    """Return the problem over the categories that constraints leave."""
    return replace(problem, model=small.model, codes=small.inward(problem.codes))


class _Ways:
    """The half-spaces over values of discrete features: what each choice loses, on each side."""

    def __init__(self, model: LinearModel, problem: Problem, choices: Sequence[Choices]) -> None:
        self._ways = list(ways_of(model, problem, tuple(c.feature for c in choices)))
        self._losses = [[[way.loss(c.feature, code) for code in c.codes] for c in choices] for way in self._ways]
        _, self._is_one_class = problem.similarity.sought(problem.output, model.labels)

    def verdict(self, box: Box) -> tuple[bool, bool]:
        some = every = False
        for way, losses in zip(self._ways, self._losses, strict=True):
            rows = [row[a:b] for row, a, b in zip(losses, *box, strict=True)]
            some = some or way.is_enough(sum(map(max, rows), Fraction(0)))
            every = every or way.is_enough(sum(map(min, rows), Fraction(0)))
        # The points of a class are those where no other one wins.
        return (not every, not some) if self._is_one_class else (some, every)


@region_in.register
def _of_linear(model: LinearModel, problem: Problem, choices: Sequence[Choices]) -> Region:
    return _Ways(model, problem, choices)


def nearest_linear(
    model: LinearModel, problem: Problem, free: tuple[int, ...], *, account: Account
) -> list[float] | None:
    """Return the codes of the nearest dissimilar point, one per feature of the CXp, or None.

    Where real features are involved, the last of them to move is rounded to the next float64 on
    the dissimilar side. Linear in the features when all are real; otherwise a depth-first search over
    the useful values of the discrete ones.
    """
    found = [answer for way in ways_of(model, problem, free) if (answer := _cheapest(way, account)) is not None]
    # A missing value is last of equally near ones.
    return min(found, key=lambda a: (a[0], [math.inf if math.isnan(c) else c for c in a[1]]))[1] if found else None


_Answer = tuple[Fraction, list[float]]  # what it costs, and the codes


def _cheapest(way: Way, account: Account) -> _Answer | None:
    """Return the least cost on one side, and the codes that have it."""
    real = [i for i in way.free if isinstance(way.side.features[i], Real)]
    fixed = {i: way.worst(i) for i in real if math.isnan(way.codes[i])}
    may_miss = [i for i in real if i in way.side.mixed and i not in fixed and way.loss(i, math.nan) > 0]
    best: _Answer | None = None
    for size in range(len(may_miss) + 1):
        # To become missing costs 1 each, so many together are soon too dear.
        if best is not None and size + len(fixed) >= best[0]:
            break
        for chosen in combinations(may_miss, size):
            found = _cheapest_with(way, fixed | dict.fromkeys(chosen, math.nan), account)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
    return best


def _cheapest_with(way: Way, fixed: dict[int, float], account: Account) -> _Answer | None:
    """Return the least cost on one side, where some real features have codes already; and the codes that have it."""
    discrete = [i for i in way.free if not isinstance(way.side.features[i], Real)]
    real = [i for i in way.free if isinstance(way.side.features[i], Real) and i not in fixed]
    # All that real features can do, as a bound; each loses most at one end of its domain.
    reals = sum((max(way.loss(i, way.worst(i)), Fraction(0)) for i in real), _lost(way, fixed))
    options = _useful(way, discrete, reals, account)
    most = [max((o.loss for o in row), default=Fraction(0)) for row in options]
    least = [min((o.cost for o in row), default=Fraction(0)) for row in options]
    if not all(options) or not way.is_enough(sum(most, reals)):
        return None
    best: _Answer | None = None
    stack: list[tuple[tuple[_Option, ...], Fraction, Fraction]] = [((), Fraction(0), Fraction(0))]
    while stack:
        chosen, cost, loss = stack.pop()
        account.spend(1)
        k = len(chosen)
        # Hopeless even at the worst values of all features left, or no cheaper than what is known.
        if not way.is_enough(loss + sum(most[k:], reals)) or (best and cost + sum(least[k:]) >= best[0]):
            continue
        if k < len(options):
            # Reversed, so that the cheapest option is tried first and soon gives a bound.
            stack += [((*chosen, o), cost + o.cost, loss + o.loss) for o in reversed(options[k])]
            continue
        moved = fixed | _moved(way, real, way.need - loss - _lost(way, fixed))
        total = cost + sum((change(way.scale[i], way.codes[i], c) for i, c in moved.items()), Fraction(0))
        if best is None or total < best[0]:
            moved |= {i: o.code for i, o in zip(discrete, chosen, strict=True)}
            best = total, [moved[i] for i in way.free]
    return best


def _useful(way: Way, discrete: Sequence[int], reals: Fraction, account: Account) -> list[list[_Option]]:
    """Return per discrete feature its values, cheapest first, each losing more than those before."""
    rows = [_options(way, i, account) for i in discrete]
    most = [max(o.loss for o in row) for row in rows]
    found = []
    for row, own in zip(rows, most, strict=True):
        kept, reached = [], Fraction(0)
        # What all other features can lose at most.
        others = sum(most, reals) - own
        # A value is of use only if it loses more than every cheaper one. `reached` grows also by values that
        # do not suffice: one that loses less would suffice even less.
        for option in sorted(row, key=lambda o: (o.cost, -o.loss, math.isnan(o.code), o.code)):
            if option.loss > reached:
                reached = option.loss
                if way.is_enough(others + option.loss):
                    kept.append(option)
        found.append(kept)
    return found


def _options(way: Way, i: int, account: Account) -> list[_Option]:
    """Return the values of a discrete feature, of which there may be many."""
    feature = way.side.features[i]
    codes = account.paced(_codes(feature), at_once=_VALUES_AT_ONCE)
    return [_Option(change(way.scale[i], way.codes[i], c), way.loss(i, c), c) for c in codes]


def _codes(feature: Feature) -> Sequence[float]:
    """Return the codes of a discrete feature, last that of the missing value if there is one."""
    first = feature.low if isinstance(feature, Integer) else 0
    numbers = range(first, first + (feature.size or 0) - (feature.missing > 0))
    return [*numbers, math.nan] if feature.missing else numbers


def _moved(way: Way, real: Sequence[int], need: Fraction) -> dict[int, float]:
    """Return where real features go to lose `need` together, the cheapest loss first."""
    codes = {i: way.codes[i] for i in real}
    # A cost is a share of the domain's width, so the loss per cost is slope times width: best buys first.
    for i in sorted(real, key=lambda i: (-_rate(way, i), i)):
        if need < 0 or (need == 0 and not way.strict):
            break
        worst = way.worst(i)
        # Even its worst end loses no more than is needed: use it up, and let the next feature lose the rest.
        if way.loss(i, worst) <= need:
            codes[i] = worst
        else:
            codes[i] = _just_enough(way, i, need, worst)
        # May fall below 0: a float is seldom exactly enough.
        need -= way.loss(i, codes[i])
    return codes


def _rate(way: Way, i: int) -> Fraction:
    """Return how much feature i loses over the whole width of its domain."""
    feature = way.scale[i]
    return abs(way.side.slope(i)) * Fraction(feature.high - feature.low) if isinstance(feature, Real) else Fraction(0)


def _just_enough(way: Way, i: int, need: Fraction, worst: float) -> float:
    """Return the first float on the way to `worst` at which feature i alone loses `need`."""
    # Rounded to nearest, so possibly a float too far or too short; the two loops put that right exactly.
    at = float(Fraction(way.codes[i]) - need / way.side.slope(i))
    while way.loss(i, at) > need:  # rounded too far: go back, then forward again
        at = math.nextafter(at, way.codes[i])
    while way.loss(i, at) < need or (way.strict and way.loss(i, at) == need):
        at = math.nextafter(at, worst)
    return at


def linear_conditions(
    model: LinearModel, problem: Problem, free: tuple[int, ...], codes: Sequence[float]
) -> list[Condition]:
    """Return short conditions around a dissimilar point, one per feature of the CXp.

    By minimality every feature of the CXp moves the losing way, so wherever all of them go at least as far, more is
    lost. Short values are further out; of a feature that is at the end of its domain they are further in, and the
    others make up for that.
    """
    at = dict(zip(free, codes, strict=True))
    way = next((w for w in ways_of(model, problem, free) if w.is_enough(_lost(w, at))), None)
    short = at if way is None else _shortened(way, at)
    found = []
    for i, code in short.items():
        feature = problem.domain.features[i]
        if way is None or isinstance(model.parts[i], Lookup) or math.isnan(code):
            found.append(Condition.exactly(feature, code))
        elif math.isnan(problem.codes[i]):
            found.append(_from_missing(way, i, way.need - _lost(way, short) + way.loss(i, code)))
            # What this one gives away, the next one cannot.
            short[i] = found[-1].code
        elif code > problem.codes[i]:
            found.append(Condition(feature, code, low=code))
        else:
            found.append(Condition(feature, code, high=code))
    return found


def _lost(way: Way, at: Mapping[int, float]) -> Fraction:
    return sum((way.loss(i, code) for i, code in at.items()), Fraction(0))


def _shortened(way: Way, at: dict[int, float]) -> dict[int, float]:
    """Return the codes with those of real features in short decimals, still dissimilar together."""
    short = dict(at)
    moved = [i for i in at if isinstance(way.side.features[i], Real) and not math.isnan(at[i] + way.codes[i])]
    rooms = {i: way.loss(i, way.worst(i)) - way.loss(i, at[i]) for i in moved}
    # The ends of domains first; who has most room comes last and loses whatever is left.
    order = sorted(rooms, key=lambda i: (rooms[i], i))
    for k, i in enumerate(order):
        # Half of what those still to come can lose beyond this: the rest of it is for the other ends.
        spare = sum((rooms[j] for j in order[k + 1 :]), Fraction(0)) / 2 if not rooms[i] else Fraction(0)
        short[i] = _short_code(way, i, at[i], way.need - _lost(way, short) + way.loss(i, short[i]) - spare)
    return short if way.is_enough(_lost(way, short)) else at


def _from_missing(way: Way, i: int, need: Fraction) -> Condition:
    """Return the numbers at which feature i, which is missing at the instance, loses `need`.

    No number is nearer than others, so it is the one that loses least, or a short one next to it, that is shown.
    """
    feature, worst = way.side.features[i], way.worst(i)
    low, high = float_ends(feature)  # type: ignore[arg-type]
    best, whole = high if worst == low else low, isinstance(feature, Integer)

    def suffices(code: float) -> bool:
        return way.loss(i, code) > need if way.strict else way.loss(i, code) >= need

    if suffices(best):
        return Condition(feature, best)
    # What a missing value adds, less what is needed, is the most that the number may add.
    at = min(max(float((way.added(i, math.nan) - need) / way.side.slope(i)), low), high)
    at = float(round(at)) if whole else at
    while at != worst and not suffices(at):
        at = at + math.copysign(1, worst - at) if whole else math.nextafter(at, worst)
    if isinstance(feature, Real):
        room = min(reach_of(feature, Fraction(0)), abs(Fraction(at) - Fraction(worst)))
        limits = (Fraction(at) - room, Fraction(at)) if worst < at else (Fraction(at), Fraction(at) + room)
        at = shortest(*limits, near=at, unit=unit_of(feature))
    return Condition(feature, at, high=at) if worst == low else Condition(feature, at, low=at)


def _short_code(way: Way, i: int, code: float, need: Fraction) -> float:
    """Return a short decimal close to a code at which real feature i loses `need`."""
    feature, own, worst = way.side.features[i], Fraction(way.codes[i]), way.worst(i)
    if not isinstance(feature, Real) or way.loss(i, worst) <= need:
        return worst
    first = way.codes[i] if need <= 0 else _just_enough(way, i, need, worst)
    move, reach = abs(Fraction(code) - own), reach_of(feature, abs(Fraction(code) - own))
    # In distances from the instance, to whose own value nothing goes back.
    least = max(abs(Fraction(first) - own), move - min(reach, move / 2))
    most = min(max(move, least) + reach, abs(Fraction(worst) - own))
    low, high = (own + least, own + most) if worst > own else (own - most, own - least)
    return shortest(low, high, near=code if least <= move else first, unit=unit_of(feature))


def draw_linear(
    model: LinearModel, problem: Problem, free: tuple[int, ...], *, random: Random, account: Account
) -> list[float]:
    """Return the codes of a random dissimilar point, one per feature of the CXp.

    Points are drawn from the smallest box that holds the dissimilar ones, each feature being given
    what the others cannot lose for it, until one is dissimilar: for k real features one in k! is.
    BudgetError if none came up in two million draws.
    """
    slacks = [(way, _slack(way)) for way in ways_of(model, problem, free)]
    # Sides that no point of the box reaches allow no value.
    ways = [(way, slack) for way, slack in slacks if slack > 0 or (slack == 0 and not way.strict)]
    spans = [_span(ways, problem.domain.features[i], i, account) for i in free]
    tried, size = 0, 8
    while tried < _TRIES:
        account.look()
        points = np.tile(problem.codes, (size, 1))
        # Features that are not in the CXp keep the instance's codes.
        points[:, list(free)] = [[_draw(span, random) for span in spans] for _ in range(size)]
        for point, output in zip(points, model.outputs_at(points), strict=True):
            if problem.is_dissimilar(output):
                return point[list(free)].tolist()
        # A few first, in case most points are dissimilar; then more at a time, which is cheaper each.
        tried, size = tried + size, min(2 * size, _MOST_AT_ONCE)
    raise BudgetError(f"None of {tried} points drawn was dissimilar; ask for the nearest one.")


class _Span(NamedTuple):
    """Which values of a feature some dissimilar point can have."""

    feature: Feature
    numbers: list[tuple[Fraction, Fraction]] | list[int]  # intervals, or the odds of the values that are not missing
    odds: tuple[int, int]  # that it is one of these, and that it is missing


def _span(ways: Sequence[tuple[Way, Fraction]], feature: Feature, i: int, account: Account) -> _Span:
    """Return which values of feature i some dissimilar point can have."""

    def is_possible(code: float) -> bool:
        # A value that forgoes more than the slack of all features at their worst is in no dissimilar point.
        return any(_most(way, i) - way.loss(i, code) <= slack for way, slack in ways)

    numbers: Any
    if isinstance(feature, Real):
        numbers = _merged(reach for way, slack in ways if (reach := _reach(way, i, feature, slack)) is not None)
        mass = sum((_share(feature, *span) for span in numbers), Fraction(0))
    else:
        odds = value_odds(feature)
        codes = account.paced(_codes(feature)[: len(odds)], at_once=_VALUES_AT_ONCE)
        numbers = [n if is_possible(code) else 0 for n, code in zip(odds, codes, strict=True)]
        mass = Fraction(sum(numbers), sum(odds))
    present = mass * (1 - feature.missing)
    missing = feature.missing if feature.missing and is_possible(math.nan) else Fraction(0)
    if not present + missing:
        raise no_mass()
    whole = math.lcm(present.denominator, missing.denominator)
    return _Span(feature, numbers, (int(present * whole), int(missing * whole)))


def _share(feature: Real, low: Fraction, high: Fraction) -> Fraction:
    """Return the probability of an interval of numbers, given that none is missing."""
    if feature.low == feature.high:
        return Fraction(1)
    if isinstance(feature.measure, Histogram):
        return feature.measure.below(high) - feature.measure.below(low)
    return (high - low) / (feature.high - feature.low)


def _most(way: Way, i: int) -> Fraction:
    """Return the most that feature i can lose."""
    return way.added(i, way.codes[i]) - way.side.least[i]


def _slack(way: Way) -> Fraction:
    return sum((_most(way, i) for i in way.free), Fraction(0)) - way.need


def _reach(way: Way, i: int, feature: Real, slack: Fraction) -> tuple[Fraction, Fraction] | None:
    slope = way.side.slope(i)
    # Where a missing value loses most, even the worst number forgoes something.
    slack -= way.side.mixed_gaps(i)[1] if i in way.side.mixed else 0
    if slack < 0:
        return None
    if not slope:
        return feature.low, feature.high
    # Beyond this the other features, all at their worst, cannot make up for it.
    room = min(slack / abs(slope), feature.high - feature.low)
    return (feature.low, feature.low + room) if slope > 0 else (feature.high - room, feature.high)


def _merged(spans: Iterator[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    found: list[tuple[Fraction, Fraction]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _draw(span: _Span, random: Random) -> float:
    feature, numbers, odds = span
    if odds[1] and draw_index(odds, random):
        return math.nan
    if isinstance(feature, Real):
        low, high = float_ends(feature)
        # Drawn as a fraction and rounded to a float, a value may fall just outside.
        return min(max(draw_between(feature, numbers, random), low), high) if low < high else low  # type: ignore[arg-type]
    return float(_codes(feature)[draw_index(numbers, random)])  # type: ignore[arg-type]
