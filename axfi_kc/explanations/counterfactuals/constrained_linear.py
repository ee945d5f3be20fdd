"""Adversarial examples of linear models over real features under constraints: the nearest one, and how far it is.

Possible points are boxes (see :mod:`axfi_kc.engines.linear.possible_cells`). Boxes are gone through in depth, the
nearest values first, as long as their bounds allow something nearer than what is known. On a box distances and
functions are linear: a feature goes to the end that is nearest to the instance, and on from there where it gains most
for its cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from random import Random
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from axfi_kc.budget import Account
from axfi_kc.domain.features import Categorical, Feature, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.region import Reach
from axfi_kc.engines.linear.boxed import BoxedLinearEngine, is_reached, share_reached
from axfi_kc.engines.linear.possible_cells import Around, Functions, PossibleCells, Span, Vector
from axfi_kc.errors import BudgetError
from axfi_kc.explanations.counterfactuals.decimals import shortest
from axfi_kc.explanations.counterfactuals.drawing import draw_index, no_mass
from axfi_kc.explanations.counterfactuals.printed import Condition, is_possible, reach_of, unit_of
from axfi_kc.explanations.counterfactuals.regions import cell_ends, change, float_ends
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import LinearModel

__all__ = ["ConstrainedSearch", "draw_in_boxes"]


_ZERO = Fraction(0)
_MOST_BOXES = 100_000
_TRIES = 2_000_000
_ENOUGH = Fraction(1, 1000)  # of the points of a box, to draw until one is an example
_BITS = 64


class _Option(NamedTuple):
    """Values of a feature, and how far they are from the instance: at the lower end of their span, and at the upper."""

    span: Span
    far: tuple[Fraction, Fraction]

    @property
    def near(self) -> Fraction:
        return min(self.far)

    def ends(self, k: int) -> list[tuple[Fraction, Fraction]]:
        """Return function k at either end, and how far that is."""
        return [(self.span.at[k] + share, far) for far, share in zip(self.far, self._shares(k), strict=True)]

    def nearest(self, k: int) -> Fraction:
        """Return function k at the nearest end; the larger one if both are as near."""
        return -min((far, -value) for value, far in self.ends(k))[1]

    def _shares(self, k: int) -> tuple[Fraction, Fraction]:
        return _ZERO, self.span.step[k] if self.span.step else _ZERO

    def rate(self, k: int) -> Fraction:
        """Return by how much function k grows per distance beyond the nearest end; 0 if it does not."""
        step, more = self._shares(k)[1], self.far[1] - self.far[0]
        return max(step / more, _ZERO) if more else _ZERO


Leaf = tuple[_Option, ...]


def draw_in_boxes(problem: Problem, free: Sequence[int], *, random: Random, account: Account) -> list[float]:
    """Return the codes of a random adversarial example, one per feature of the CXp.

    A box is drawn by the probability of the examples in it, which is known exactly. The smallest box around them is cut
    in halves, of which one is drawn in the same way, until one of a thousand points is an example. Then points are
    drawn until one is.

    Raises
    ------
    WeightError, BudgetError
        If the examples have probability 0; or if there are too many boxes, or none came up in two million draws.
    """
    engine = BoxedLinearEngine(cast(LinearModel, problem.model), problem.similarity)
    boxes = list(islice(engine.boxes(problem.codes, free, account), _MOST_BOXES + 1))
    if len(boxes) > _MOST_BOXES:
        raise BudgetError(f"There are more than {_MOST_BOXES} boxes to draw from; ask for the nearest one.")
    if not boxes:
        raise no_mass()
    whole = math.lcm(*(worth.denominator for worth, _ in boxes))
    _, whole_box = boxes[draw_index([int(worth * whole) for worth, _ in boxes], random)]
    box = _narrowed(problem, whole_box, random, account)
    for _ in account.paced(range(_TRIES)):
        point = problem.codes.copy()
        for i, (low, high) in box.items():
            point[i] = _between(low, high, problem.domain.features[i], random) if low < high else low
        output = problem.model.outputs_at(point[np.newaxis])[0]
        if problem.is_dissimilar(output) and is_possible(problem.domain, point.tolist()):
            return point[list(free)].tolist()
    raise BudgetError(f"None of {_TRIES} points drawn was an adversarial example; ask for the nearest one.")


_Ends = Mapping[int, tuple[Fraction, Fraction]]


def _narrowed(problem: Problem, box: _Ends, random: Random, account: Account) -> _Ends:
    """Return a part of a box with enough examples, drawn by how many it has."""
    around, _ = _points_around(problem, account)
    functions, worth = around.functions, _share(around, box, account)
    while worth < _ENOUGH:
        wide = [i for i, (low, high) in box.items() if low < high]
        i = max(wide, key=lambda i: max(map(abs, _step(functions, i, *box[i]))))
        low, high = box[i]
        halves = [{**box, i: part} for part in ((low, (low + high) / 2), ((low + high) / 2, high))]
        first = _share(around, halves[0], account)
        shares = first, 2 * worth - first
        whole = math.lcm(*(s.denominator for s in shares))
        chosen = draw_index([int(s * whole) for s in shares], random)
        box, worth = halves[chosen], shares[chosen]
    return box


def _share(around: Around, box: _Ends, account: Account) -> Fraction:
    """Return the part of a box that is looked for; the other features are as in the instance."""
    account.look()
    functions = around.functions
    moved = [(functions.added(i, low), around.own[i]) for i, (low, _) in box.items()]
    at = tuple(a + sum((new[k] - old[k] for new, old in moved), _ZERO) for k, a in enumerate(around.start))
    steps = [_step(functions, i, low, high) for i, (low, high) in box.items() if low < high]
    return share_reached(functions, at, steps, account)


def _step(functions: Functions, i: int, low: Fraction, high: Fraction) -> Vector:
    """Return by how much functions grow along feature i."""
    return tuple(b - a for a, b in zip(functions.added(i, low), functions.added(i, high), strict=True))


def _between(low: Fraction, high: Fraction, feature: Feature, random: Random) -> float:
    """Return a random float of an interval of a real feature."""
    found = float(low + (high - low) * Fraction(random.getrandbits(_BITS), 1 << _BITS))
    least, most = float_ends(cast(Real, feature))
    return min(max(found, least), most)  # rounded, a value may fall just outside


_KEPT: WeakKeyDictionary[Problem, tuple[Around, Sequence[Axis]]] = WeakKeyDictionary()


def _points_around(problem: Problem, account: Account) -> tuple[Around, Sequence[Axis]]:
    """Return the possible points around an instance, which all of its CXps share."""
    if not isinstance(problem.model, LinearModel):
        raise TypeError("expected a linear model")
    found = _KEPT.get(problem)
    if found is None:
        cells = PossibleCells(problem.model, problem.similarity)
        functions = cells.functions(problem.output)
        options: dict[str, Any] = {"measured": False, "account": account}
        spans = [cells.spans(functions, i, **options) for i in range(len(problem.domain))]
        found = _KEPT[problem] = Around(cells, functions, spans, problem.codes.tolist()), cells.grid.axes
    return found


class ConstrainedSearch:
    """Looks for the nearest adversarial examples of one instance of a linear model.

    Parameters
    ----------
    problem
        Of a linear model under constraints, from which one way out is enough.
    account
        What it may cost.
    """

    def __init__(self, problem: Problem, account: Account) -> None:
        self._around, self._axes = _points_around(problem, account)
        self._features, self._account = problem.domain.features, account
        self._scale = problem.scale

    def nearest(self, free: Sequence[int], *, most: Fraction | None = None) -> list[float] | None:
        """Return the codes of the nearest adversarial example, one per feature of a CXp.

        None if no float is one, or none that is no further than `most`.
        """
        best: tuple[Fraction, list[float]] | None = None

        def met(k: int, order: Sequence[int], leaf: Leaf) -> Fraction | None:
            nonlocal best
            codes = self._codes(k, order, leaf)
            if codes is not None:
                found = sum((self._change(i, codes[i]) for i in order), _ZERO), [codes[i] for i in free]
                best = found if best is None else min(best, found, key=lambda a: a[0])
            return most if best is None else best[0]

        def options(i: int) -> list[_Option]:
            return self._options(i, 1 / self._width(i), is_move=True)

        # What is just as near may be of a CXp that comes first.
        self._search(free, options, sum_of, met, floor=self._floor, limit=most, equal=most is not None)
        return None if best is None else best[1]

    def reach(self, free: Sequence[int], factors: Mapping[int, Fraction], *, norm: str) -> Reach | None:
        """Return the least radius at which features suffice, and whether it is open; None if there is none."""
        best: Reach | None = None
        least = _largest if norm == "linf" else _summed

        def met(k: int, order: Sequence[int], leaf: Leaf) -> Fraction | None:
            nonlocal best
            radius = least(k, self._start(k, order), leaf)
            if radius is not None:
                found = Reach(radius, not self._is_within(k, order, leaf, radius, norm))
                best = found if best is None else min(best, found)
            # A box that is as near may still attain what is open so far.
            return None if best is None else best.radius

        total = _max_of if norm == "linf" else sum_of
        self._search(free, lambda i: self._options(i, factors[i], is_move=False), total, met, equal=True)
        return best

    def _search(
        self,
        free: Sequence[int],
        options: Callable[[int], list[_Option]],
        total: Callable[[Sequence[Fraction]], Fraction],
        met: Callable[[int, Sequence[int], Leaf], Fraction | None],
        *,
        floor: Callable[[int, Mapping[int, list[_Option]]], Fraction] = lambda *_: _ZERO,
        limit: Fraction | None = None,
        equal: bool = False,
    ) -> None:
        """Go through all boxes that may hold something nearer than a limit; with `equal`, also as near.

        `floor` tells below what distance function k is negative, whatever is possible.
        """
        around = self._around
        order, mask = around.ordered(free), sum(1 << i for i in free)
        rows = {i: options(i) for i in order}
        for k in range(len(around.functions)):
            most = _sums([max((o.span.most(k)[0] for o in rows[i]), default=None) for i in order])
            if most is None or (limit is not None and floor(k, rows) > limit):
                continue
            least = [total([rows[i][0].near for i in order[n:]]) for n in range(len(order) + 1)]
            stack: list[tuple[int, Leaf]] = [(around.settled(around.support.root, mask), ())]
            while stack:
                node, leaf = stack.pop()
                self._account.spend(1)
                n = len(leaf)
                value = self._start(k, order) + sum((o.span.most(k)[0] for o in leaf), most[n])
                near = total([*(o.near for o in leaf), least[n]])
                if value < 0 or (limit is not None and (near > limit or (near == limit and not equal))):
                    continue
                if n == len(order):
                    at = (self._start(k, order) + sum((o.span.at[k] for o in leaf), _ZERO),)
                    if is_reached(at, [_only(o.span, k) for o in leaf], around.functions.strict[k : k + 1]):
                        limit = met(k, order, leaf)
                    continue
                i = order[n]
                for option in reversed(rows[i]):
                    below = around.settled(around.child(node, i, option.span.cell), mask)
                    if below:
                        stack.append((below, (*leaf, option)))

    def _floor(self, k: int, rows: Mapping[int, list[_Option]]) -> Fraction:
        """Return a sum of distances below which function k is negative: each feature at the rate of its best end."""
        cost, lack, gains = _ZERO, -self._around.start[k], []
        for i, row in rows.items():
            ends = [(value - self._around.own[i][k], far) for o in row for value, far in o.ends(k)]
            lack -= max((gain for gain, far in ends if not far), default=_ZERO)
            rates = [gain / far for gain, far in ends if far]
            gains.append((max(rates, default=_ZERO), max((gain for gain, _ in ends), default=_ZERO)))
        for rate, gain in sorted(gains, reverse=True):
            if lack <= 0 or rate <= 0:
                break
            cost, lack = cost + min(lack, gain) / rate, lack - gain
        return cost

    def _start(self, k: int, free: Sequence[int]) -> Fraction:
        """Return function k at the instance, without what the free features add."""
        return self._around.start[k] - sum((self._around.own[i][k] for i in free), _ZERO)

    def _width(self, i: int) -> Fraction:
        feature = self._scale[i]
        width = Fraction(0) if isinstance(feature, Categorical) else Fraction(feature.high - feature.low)
        return width or Fraction(1)

    def _change(self, i: int, code: float) -> Fraction:
        return change(self._scale[i], self._around.codes[i], code)

    def _options(self, i: int, factor: Fraction, *, is_move: bool) -> list[_Option]:
        """Return the values of feature i, nearest first.

        If `is_move`, to become missing, or a number where the instance is missing, is a change like that of a category.
        Otherwise a missing value stays where it is, unless distances of the feature do not count.
        """
        own, found = self._around.codes[i], list[_Option]()
        for span in self._account.paced(self._around.spans[i]):
            absent = math.isnan(span.low), math.isnan(own)
            if not factor:
                found.append(_Option(span, (_ZERO, _ZERO)))
            elif any(absent):
                if is_move or all(absent):
                    found.append(_Option(span, (Fraction(not all(absent)),) * 2))
            elif isinstance(self._features[i], Categorical):
                distance = Fraction(span.low != own) * (1 if is_move else factor)
                found.append(_Option(span, (distance, distance)))
            else:
                for part in _cut(span, Fraction(own)):
                    ends = (abs(Fraction(end) - Fraction(own)) * factor for end in (part.low, part.high))
                    found.append(_Option(part, tuple(ends)))  # type: ignore[arg-type]
        return sorted(found, key=lambda o: o.near)

    def _is_within(self, k: int, order: Sequence[int], leaf: Leaf, radius: Fraction, norm: str) -> bool:
        """Tell whether some point of a box is looked for and no further than a radius: a linear program."""
        moving = [o for o in leaf if o.span.step is not None]
        steps = [o.far[1] - o.far[0] for o in moving]
        zeros = [_ZERO] * len(moving)
        if norm == "linf":
            rows = [(radius - o.far[0], [*zeros[:j], -steps[j], *zeros[j + 1 :]]) for j, o in enumerate(moving)]
        else:
            rows = [(radius - sum((o.far[0] for o in leaf), _ZERO), [-s for s in steps])]
        at = (self._start(k, order) + sum((o.span.at[k] for o in leaf), _ZERO),)
        return is_reached(at, [_only(o.span, k) for o in leaf], self._around.functions.strict[k : k + 1], within=rows)

    def _codes(self, k: int, order: Sequence[int], leaf: Leaf) -> dict[int, float] | None:
        """Return the floats of the nearest point of a box that is looked for; None if there are none."""
        codes, ends = {}, {}
        for i, (span, _) in zip(order, leaf, strict=True):
            inside = self._floats(i, span)
            if inside is None:
                return None
            own, slope = self._around.codes[i], span.step[k] if span.step else _ZERO
            ends[i] = inside[1] if slope > 0 else inside[0]
            # From a missing value every number is as far as any, so the best one is taken.
            codes[i] = ends[i] if math.isnan(own) or math.isnan(ends[i]) else min(max(own, inside[0]), inside[1])
            if not slope:
                ends[i] = codes[i]
        rates = {i: o.rate(k) for i, o in zip(order, leaf, strict=True)}
        for i in sorted(order, key=lambda i: (-rates[i], i)):
            if self._is_enough(k, order, codes):
                break
            if codes[i] != ends[i]:
                codes[i] = self._just_enough(k, order, codes, i, ends[i])
        return codes if self._is_enough(k, order, codes) else None

    def _floats(self, i: int, span: Span) -> tuple[float, float] | None:
        """Return the least and the largest float of a span; None if it has none."""
        if not isinstance(self._features[i], Real) or math.isnan(span.low):
            return float(span.low), float(span.low)
        low, high = cell_ends(self._axes[i], span.cell)
        # The half of a cell on one side of the instance ends at the instance, which is a float.
        low, high = max(low, _inward(span.low, math.inf)), min(high, _inward(span.high, -math.inf))
        return (low, high) if low <= high else None

    def _value(self, k: int, codes: Mapping[int, float]) -> Fraction:
        added = (self._around.functions.added(i, code)[k] for i, code in codes.items())
        return self._start(k, list(codes)) + sum(added, _ZERO)

    def _is_enough(self, k: int, order: Sequence[int], codes: Mapping[int, float]) -> bool:
        return self._around.functions.is_enough(k, (self._value(k, {i: codes[i] for i in order}), 0))

    def _just_enough(self, k: int, order: Sequence[int], codes: Mapping[int, float], i: int, end: float) -> float:
        """Return the first float on the way to an end at which a point is looked for; the end if there is none."""

        def enough(code: float) -> bool:
            return self._is_enough(k, order, {**codes, i: code})

        if not enough(end):
            return end
        low, high = sorted((codes[i], end))
        slope = self._around.functions.added(i, end)[k] - self._around.functions.added(i, codes[i])[k]
        share = -self._value(k, {j: codes[j] for j in order}) / slope
        at = min(max(float(Fraction(codes[i]) + (Fraction(end) - Fraction(codes[i])) * share), low), high)
        # Rounded to nearest, so possibly a float too far or too short.
        while at != codes[i] and enough(before := math.nextafter(at, codes[i])):
            at = before
        while not enough(at):
            at = math.nextafter(at, end)
        return at

    def conditions(self, free: Sequence[int], codes: Sequence[float]) -> list[Condition]:
        """Return short conditions around an adversarial example, one per feature of the CXp.

        A feature may go on, the way that helps, as far as all of the cells on its way are possible together with those
        of the others: then nothing becomes impossible, and nothing similar.
        """
        at = dict(zip(free, codes, strict=True))
        k = next((k for k in range(len(self._around.functions)) if self._is_enough(k, free, at)), None)
        if k is None:
            return [Condition.exactly(self._features[i], code) for i, code in at.items()]
        ranges = self._ranges(k, at)
        return [self._condition(k, i, code, ranges[i]) for i, code in at.items()]

    def _ranges(self, k: int, at: Mapping[int, float]) -> dict[int, tuple[int, int]]:
        """Return the first and the last cell to which each feature may go on."""
        cells = [(c, c) for c in self._around.cells]
        for i, code in at.items():
            cells[i] = (int(self._axes[i].locate(np.array([code]))[0]),) * 2
        for i, code in at.items():
            if isinstance(self._features[i], Real) and not math.isnan(code):
                last = self._axes[i].n_cells - 1 - (self._axes[i].missing_cell is not None)
                for move in (-1, 1):
                    while 0 <= (end := cells[i][move > 0] + move) <= last and self._helps(k, i, move):
                        wider = [*cells]
                        wider[i] = (end, cells[i][1]) if move < 0 else (cells[i][0], end)
                        if not self._around.support.verdict([range(a, b + 1) for a, b in wider])[1]:
                            break
                        cells = wider
        return {i: cells[i] for i in at}

    def _helps(self, k: int, i: int, move: int) -> bool:
        """Tell whether to go up, or down, does not take function k away."""
        return self._slope(k, i) * move >= 0

    def _slope(self, k: int, i: int) -> Fraction:
        """Return the sign of the slope of real feature i, or 0."""
        steps = (s.step[k] for s in self._around.spans[i] if s.step is not None)
        return next(steps, _ZERO)

    def _condition(self, k: int, i: int, code: float, cells: tuple[int, int]) -> Condition:
        feature, own, axis = self._features[i], self._around.codes[i], self._axes[i]
        low, high = cell_ends(axis, cells[0])[0], cell_ends(axis, cells[1])[1]
        if not isinstance(feature, Real) or math.isnan(code) or low == high:
            return Condition.exactly(feature, code)
        falls, rises = self._helps(k, i, -1), self._helps(k, i, 1)
        first, last = (low if falls else code), (high if rises else code)
        # On the other side of the instance's own value it would be another change.
        first = max(first, own) if code >= own else first
        last = min(last, own) if code <= own else last
        short = _shortened(feature, code, first, last, own)
        bounds = [short, short]
        if falls and first < short:
            bounds[0] = -math.inf if first == low and not cells[0] else _outer(feature, first, short)
        if rises and last > short:
            numbers = axis.n_cells - (axis.missing_cell is not None)
            bounds[1] = math.inf if last == high and cells[1] == numbers - 1 else _outer(feature, last, short)
        return Condition(feature, short, *bounds)


def _shortened(feature: Real, code: float, first: float, last: float, own: float) -> float:
    """Return a short decimal near a value, between two others."""
    move = feature.high - feature.low if math.isnan(own) else abs(Fraction(code) - Fraction(own))
    reach = reach_of(feature, move)
    low, high = max(Fraction(first), Fraction(code) - reach), min(Fraction(last), Fraction(code) + reach)
    return shortest(low, high, near=code, unit=unit_of(feature)) if low < high else code


def _outer(feature: Real, end: float, code: float) -> float:
    """Return a short decimal close to an end of what is allowed, on the way to a value inside."""
    inner = Fraction(end) + (1 if code > end else -1) * min(
        abs(Fraction(code) - Fraction(end)), reach_of(feature, Fraction(0))
    )
    return shortest(*sorted((Fraction(end), inner)), near=end, unit=unit_of(feature)) if inner != end else end


def _inward(number: float | Fraction, toward: float) -> float:
    """Return the float at a number, or the next one inside of it."""
    found = float(number)
    outside = Fraction(found) < Fraction(number) if toward > 0 else Fraction(found) > Fraction(number)
    return math.nextafter(found, toward) if outside else found


def _only(span: Span, k: int) -> Span:
    """Return a span as one function sees it."""
    return span._replace(at=span.at[k : k + 1], step=None if span.step is None else span.step[k : k + 1])


def _cut(span: Span, own: Fraction) -> Iterator[Span]:
    """Yield the parts of a span on either side of a number, which is inside both; on each, distances grow evenly."""
    if span.step is None or not span.low < own < span.high:
        yield span
        return
    low, high = Fraction(span.low), Fraction(span.high)
    share = (own - low) / (high - low)
    middle = tuple(a + s * share for a, s in zip(span.at, span.step, strict=True))
    below, above = (tuple(s * part for s in span.step) for part in (share, 1 - share))
    yield span._replace(high=own, is_open=(span.is_open[0], False), step=below)
    yield span._replace(low=own, is_open=(False, span.is_open[1]), at=middle, step=above)


def sum_of(costs: Sequence[Fraction]) -> Fraction:
    """Return the sum of distances."""
    return sum(costs, _ZERO)


def _max_of(costs: Sequence[Fraction]) -> Fraction:
    return max(costs, default=_ZERO)


def _sums(values: Sequence[Fraction | None]) -> list[Fraction] | None:
    """Return the sums of the last values, from all on to none; None if there is nothing to choose from."""
    found = [_ZERO]
    for value in reversed(values):
        if value is None:
            return None
        found.append(found[-1] + value)
    return found[::-1]


def _largest(k: int, start: Fraction, leaf: Leaf) -> Fraction | None:
    """Return the least largest distance at which a function is not negative, the ends of the box included."""
    radius = max((o.near for o in leaf), default=_ZERO)
    rates = [(max(o.far), o.rate(k), o) for o in leaf]
    value = start + sum((o.nearest(k) + rate * (min(radius, end) - o.near) for end, rate, o in rates), _ZERO)
    for end in [*sorted({end for end, rate, _ in rates if rate and end > radius}), None]:
        if value >= 0:
            return radius
        grows = sum((rate for other, rate, _ in rates if other > radius), _ZERO)
        if end is None or not grows:
            return None
        if value + grows * (end - radius) >= 0:
            return radius - value / grows
        radius, value = end, value + grows * (end - radius)
    return None


def _summed(k: int, start: Fraction, leaf: Leaf) -> Fraction | None:
    """Return the least sum of distances at which a function is not negative, the ends of the box included."""
    radius = sum((o.near for o in leaf), _ZERO)
    value = start + sum((o.nearest(k) for o in leaf), _ZERO)
    for option in sorted(leaf, key=lambda o: -o.rate(k)):
        rate, room = option.rate(k), max(option.far) - option.near
        if value >= 0 or not rate:
            break
        if value + rate * room >= 0:
            return radius - value / rate
        radius, value = radius + room, value + rate * room
    return radius if value >= 0 else None
