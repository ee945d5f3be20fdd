"""Explains linear models over real features in boxes: under constraints, or toward one class of several.

Constraints leave boxes, of which half-spaces cut off what is dissimilar: a union of half-spaces, or, where points of
one class among several are looked for, an intersection. For a union, whether changing some features is enough is a
longest path through the diagram of the constraints, for each way out; what features gain adds up, but for those that
constraints tie to each other: the CXps are unions of parts of such groups, each of which gains more than every smaller
part of it, and of single features. For an intersection it is a linear program for each box that bounds leave open, and
the CXps come by duality. A weight is added up over the boxes that half-spaces cut, each with its exact volume.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, BudgetSpent, Meter
from axfi_kc.domain.constraints import check_possible
from axfi_kc.engines.duality import cxps_by_duality, cxps_by_size
from axfi_kc.engines.found import Found, Located, words_of_masks
from axfi_kc.engines.linear.half_spaces import common_unit
from axfi_kc.engines.linear.possible_cells import Around, Extreme, Functions, PossibleCells, Span, Vector
from axfi_kc.engines.linear.programs import can_all_be_positive
from axfi_kc.engines.linear.union_weights import box_share
from axfi_kc.engines.linear.weights import check_budget
from axfi_kc.engines.per_output import PerOutput, unfinished
from axfi_kc.engines.radius import found_by_radius, naming_row
from axfi_kc.engines.uniform_sums import share_below_sum
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.models import LinearModel, Similarity
from axfi_kc.models.support import positive_share

__all__ = ["BoxedLinearEngine", "is_reached", "share_reached"]


_SMALL = 3  # up to so many features, all sets are asked for
_MOST_PARTS = 1 << 14  # of one group of features
_FALSE = 0
_ZERO = Fraction(0)
Codes = npt.NDArray[np.float64]


class _Part(NamedTuple):
    """Features that constraints tie to each other, and what they add to a function together."""

    mask: int
    gain: Extreme


class _Sets:
    """Which sets of features lead where one wants to go, around one instance."""

    def __init__(self, around: Around, groups: Sequence[int], meter: Meter) -> None:
        self._around, self._groups, self._meter = around, groups, meter
        self._single = [i for i, moves in around.movable().items() if moves and not around.support.scope >> i & 1]

    @cached_property
    def all(self) -> int:
        """The set of all features that may matter."""
        return _mask_of(self._single) | sum(self._groups)

    def spend(self, found: Sequence[int] = ()) -> None:
        """Count a step; BudgetSpent with what was found if there are no more."""
        if not self._meter.spend(1) or self._meter.is_spent:
            raise BudgetSpent(list(found))

    def is_weak(self, mask: int) -> bool:
        """Tell whether changing only these features can lead there."""
        functions, most = self._around.functions, self._around.most(mask)
        enough = [functions.is_enough(k, extreme) for k, extreme in enumerate(most)]
        if not functions.together:
            return any(enough)
        return all(value >= 0 for value, _ in most) and self._meet(features_of(mask))

    def _meet(self, free: Sequence[int]) -> bool:
        """Tell whether all functions can be positive at once: a linear program for each box that bounds leave open."""
        around, mask = self._around, _mask_of(free)
        order = around.ordered(free)
        rest = _suffixes([[value for value, _ in around.tops[i]] for i in order], len(around.functions))
        stack: list[tuple[int, int, Vector, tuple[Span, ...]]] = [
            (0, around.settled(around.support.root, mask), around.start, ())
        ]
        while stack:
            n, node, at, chosen = stack.pop()
            self.spend()
            ups = [sum(max(s.step[k], 0) for s in chosen if s.step) for k in range(len(at))]
            if node == _FALSE or any(a + b + c < 0 for a, b, c in zip(at, ups, rest[n], strict=True)):
                continue
            if n < len(order):
                i = order[n]
                for span in around.spans[i]:
                    below = around.settled(around.child(node, i, span.cell), mask)
                    if below != _FALSE:
                        stack.append((n + 1, below, _moved(at, span.at, around.own[i]), (*chosen, span)))
            elif is_reached(at, chosen, around.functions.strict):
                return True
        return False

    def shrunk(self, mask: int, meter: Meter) -> int | None:
        """Return a minimal part of a set that leads there; None if the meter ends."""
        for i in features_of(mask):
            if meter.is_spent:
                return None
            if self.is_weak(mask & ~(1 << i)):
                mask &= ~(1 << i)
        return mask

    def cxps(self, max_size: int) -> list[int]:
        """Return the CXps of at most so many features."""
        if not self.all or not self.is_weak(self.all):
            return []
        parts = sum(comb(g.bit_count(), n) for g in self._groups for n in range(1, max_size + 1))
        if not self._around.functions.together and parts <= _MOST_PARTS:
            return sorted_sets(self._unions(max_size))
        if max_size <= _SMALL:
            return sorted_sets(cxps_by_size(self, max_size=max_size, meter=self._meter))
        return sorted_sets(Y for Y in cxps_by_duality(self, meter=self._meter) if Y.bit_count() <= max_size)

    def _unions(self, max_size: int) -> set[int]:
        """Return the CXps where one function is enough: unions of parts of groups and of single features."""
        found: set[int] = set()
        for k in range(len(self._around.functions)):
            groups = [self._parts(group, k, max_size) for group in self._groups]
            tops = sorted(((self._around.tops[i][k][0], i) for i in self._single), reverse=True)
            singles = [(gain, 1 << i) for gain, i in tops if gain > 0]
            for mask in self._covers(k, groups, singles, max_size, found):
                if mask not in found and self._is_minimal(mask):
                    found.add(mask)
        return found

    def _is_minimal(self, mask: int) -> bool:
        self.spend()
        return not any(self.is_weak(mask & ~(1 << i)) for i in features_of(mask))

    def _gain(self, mask: int, k: int) -> Extreme:
        value, ends = self._around.most(mask)[k]
        return value - self._around.start[k], ends

    def _parts(self, group: int, k: int, max_size: int) -> list[_Part]:
        """Return the parts of a group that add more to function k than every smaller part of them; first nothing."""
        found, members = [_Part(0, (0, 0))], features_of(group)
        for size in range(1, min(len(members), max_size) + 1):
            for chosen in combinations(members, size):
                self.spend()
                mask = _mask_of(chosen)
                gain = self._gain(mask, k)
                if all(self._gain(mask & ~(1 << i), k) < gain for i in chosen):
                    found.append(_Part(mask, gain))
        return found

    def _covers(
        self,
        k: int,
        groups: Sequence[Sequence[_Part]],
        singles: Sequence[tuple[Any, int]],
        max_size: int,
        known: set[int],
    ) -> Iterator[int]:
        """Yield sets that are enough for function k, all minimal ones among them."""
        functions = self._around.functions
        best = _suffixes([[max(p.gain for p in parts)[0]] for parts in groups], 1)
        rest = _suffixes([[gain] for gain, _ in singles], 1)
        stack: list[tuple[int, int, Any, int]] = [(0, 0, self._around.start[k], 0)]
        while stack:
            n, mask, value, ends = stack.pop()
            self.spend(sorted(known))
            if n < len(groups):
                for part in groups[n]:
                    at = value + part.gain[0]
                    small = (mask | part.mask).bit_count() <= max_size
                    if small and at + best[n + 1][0] + rest[0][0] >= 0:
                        stack.append((n + 1, mask | part.mask, at, ends + part.gain[1]))
                continue
            if functions.is_enough(k, (value, ends)):
                yield mask
                continue
            if mask.bit_count() == max_size:
                continue
            # From the largest gain on: as soon as it is enough, the last one added is the smallest, and needed.
            for j in range(n - len(groups), len(singles)):
                if value + rest[j][0] < 0:
                    break
                gain, bit = singles[j]
                stack.append((len(groups) + j + 1, mask | bit, value + gain, ends))


def _mask_of(features: Sequence[int]) -> int:
    """Return features as a mask."""
    return sum(1 << i for i in features)


def _suffixes(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return for each row the sum of it and all that follow, and last zeros."""
    found: list[list[Any]] = [[0] * width]
    for row in reversed(rows):
        found.append([a + b for a, b in zip(row, found[-1], strict=True)])
    return found[::-1]


def _moved(at: Vector, to: Vector, own: Vector) -> Vector:
    return tuple(a + b - c for a, b, c in zip(at, to, own, strict=True))


def is_reached(
    at: Vector,
    chosen: Sequence[Span],
    strict: Sequence[bool],
    *,
    within: Sequence[tuple[Fraction, list[Fraction]]] = (),
) -> bool:
    """Tell whether all functions are positive at some point of a box: spans of features, whose open ends are outside.

    Parameters
    ----------
    at
        The functions at the lower ends.
    chosen
        The spans; those of single values do not matter.
    strict
        Of each function, whether 0 is not enough.
    within
        More functions, which must not be negative: each at the lower ends, and how it grows along the intervals.
    """
    moving = [s for s in chosen if s.step is not None]
    rows = [[s.step[k] for s in moving] for k in range(len(at))]  # type: ignore[index]
    rows, constants, strictness = [list(map(Fraction, row)) for row in rows], list(map(Fraction, at)), list(strict)
    for j, span in enumerate(moving):
        # To be inside an open end is one more function that must be positive: u, or 1 - u.
        for is_upper in (False, True):
            if span.is_open[is_upper]:
                constants.append(Fraction(is_upper))
                rows.append([Fraction((-1) ** is_upper if n == j else 0) for n in range(len(moving))])
                strictness.append(True)
    for constant, row in within:
        constants.append(constant)
        rows.append(row)
        strictness.append(False)
    return can_all_be_positive(constants, rows, strictness)


class _Weigher:
    """Weighs the CXps of one instance: boxes of possible points, cut by half-spaces."""

    def __init__(self, around: Around, kind: str, account: Account) -> None:
        self._around, self._kind, self._account = around, kind, account
        self._functions = around.functions
        self._features = [axis.feature for axis in around.support.grid.axes]

    def weight(self, mask: int) -> Fraction:
        """Return the weight of a CXp."""
        total = self._total(features_of(mask))
        if self._kind == "count":
            return total
        names = [self._features[i].name for i in features_of(mask)]
        return total / positive_share(self._around.support.share(self._around.cells, mask), names)

    def _worth(self, span: Span) -> Fraction:
        return Fraction(span.number) if self._kind == "count" else span.share

    def _total(self, free: Sequence[int]) -> Fraction:
        """Return what the points looked for weigh together: feature by feature, equal prospects joined."""
        around, mask, n_functions = self._around, _mask_of(free), len(self._functions)
        order = around.ordered(free)
        options = [self._options(i) for i in order]
        highs = _suffixes(
            [[max(s.most(k)[0] for s in row) for k in range(n_functions)] for row in options], n_functions
        )
        lows = _suffixes([[min(s.least(k) for s in row) for k in range(n_functions)] for row in options], n_functions)
        base = tuple(a - sum(around.own[i][k] for i in free) for k, a in enumerate(around.start))
        states: dict[tuple[int, Vector, tuple[Vector, ...]], Fraction] = {
            (around.settled(around.support.root, mask), base, ()): Fraction(1)
        }
        total = _ZERO
        for n, (i, row) in enumerate(zip(order, options, strict=True)):
            check_budget(len(states) * len(row), self._features, free)
            following: dict[tuple[int, Vector, tuple[Vector, ...]], Fraction] = {}
            for (node, at, steps), worth in self._account.paced(states.items(), at_once=1):
                for span in row:
                    below = around.settled(around.child(node, i, span.cell), mask)
                    if below == _FALSE or not self._worth(span):
                        continue
                    now = tuple(a + b for a, b in zip(at, span.at, strict=True))
                    more = steps if span.step is None else (*steps, span.step)
                    own = worth * self._worth(span)
                    verdict = self._verdict(now, more, lows[n + 1], highs[n + 1])
                    if verdict:
                        total += own * self._rest(below, order[n + 1 :], mask)
                    elif verdict is None:
                        key = below, now, more
                        following[key] = following.get(key, _ZERO) + own
            states = following
        for (_, at, steps), worth in self._account.paced(states.items(), at_once=1):
            total += worth * share_reached(self._functions, at, steps, self._account)
        return total

    def boxes(self, free: Sequence[int]) -> Iterator[tuple[Fraction, dict[int, tuple[Any, Any]]]]:
        """Yield boxes with what is looked for: its probability, and the ends of the smallest box around it."""
        around, mask, order = self._around, _mask_of(free), self._around.ordered(free)
        every = range(len(self._functions))
        highs = _suffixes([[max(s.most(k)[0] for s in around.spans[i]) for k in every] for i in order], len(every))
        base = tuple(a - sum(around.own[i][k] for i in free) for k, a in enumerate(around.start))
        stack: list[tuple[int, Fraction, tuple[Span, ...]]] = [
            (around.settled(around.support.root, mask), Fraction(1), ())
        ]
        while stack:
            node, share, chosen = stack.pop()
            self._account.look()
            up = [sum([s.most(k)[0] for s in chosen], base[k] + highs[len(chosen)][k]) for k in every]
            if not self._functions.holds(up):
                continue
            if len(chosen) < len(order):
                i = order[len(chosen)]
                for span in around.spans[i]:
                    below = around.settled(around.child(node, i, span.cell), mask)
                    if below != _FALSE and span.share:
                        stack.append((below, share * span.share, (*chosen, span)))
                continue
            at = tuple(base[k] + sum(s.at[k] for s in chosen) for k in every)
            worth = share * share_reached(
                self._functions, at, [s.step for s in chosen if s.step is not None], self._account
            )
            if worth:
                yield worth, {i: self._ends(up, span) for i, span in zip(order, chosen, strict=True)}

    def _ends(self, up: Sequence[Any], span: Span) -> tuple[Any, Any]:
        """Return the ends of what can be looked for along a span, where the functions are at most `up`."""
        if span.step is None or self._functions.together:
            return span.low, span.high
        low, high = Fraction(1), _ZERO
        for most, step in zip(up, span.step, strict=True):
            if most > 0:
                # From the end where a function is largest on, as far as it stays positive.
                room = min(Fraction(most) / abs(step), Fraction(1)) if step else Fraction(1)
                low = min(low, 1 - room if step > 0 else _ZERO)
                high = max(high, room if step < 0 else Fraction(1))
        width = Fraction(span.high) - Fraction(span.low)
        return Fraction(span.low) + low * width, Fraction(span.low) + high * width

    def _options(self, i: int) -> list[Span]:
        """Return the values of feature i; those in one cell that no function tells apart count as one."""
        found: dict[tuple[int, Vector, Vector | None], Span] = {}
        for span in self._around.spans[i]:
            key = span.cell, span.at, span.step
            old = found.get(key)
            found[key] = (
                span if old is None else span._replace(share=span.share + old.share, number=span.number + old.number)
            )
        return list(found.values())

    def _verdict(self, at: Vector, steps: Sequence[Vector], low: Sequence[Any], high: Sequence[Any]) -> bool | None:
        """Tell whether all points are looked for (True) or none (False), whatever the features left are; None: some."""
        functions = self._functions
        down = [sum([min(s[k], 0) for s in steps], a) for k, a in enumerate(at)]
        up = [sum([max(s[k], 0) for s in steps], a) for k, a in enumerate(at)]
        if functions.holds([a + b for a, b in zip(down, low, strict=True)]):
            return True
        return None if functions.holds([a + b for a, b in zip(up, high, strict=True)]) else False

    def _rest(self, node: int, left: Sequence[int], mask: int) -> Fraction:
        """Return what the possible values of the features left weigh."""
        states = {node: Fraction(1)}
        for i in left:
            following: dict[int, Fraction] = {}
            for at, worth in states.items():
                for span in self._around.spans[i]:
                    below = self._around.settled(self._around.child(at, i, span.cell), mask)
                    if below != _FALSE:
                        following[below] = following.get(below, _ZERO) + worth * self._worth(span)
            states = following
        return sum(states.values(), _ZERO)


def share_reached(functions: Functions, at: Vector, steps: Sequence[Vector], account: Account) -> Fraction:
    """Return the part of a unit cube that is looked for.

    Parameters
    ----------
    functions
        Which are positive there: one of them, or all.
    at
        The functions at the lower ends of all sides.
    steps
        Per side, by how much they grow to the upper end.
    account
        What it may cost.
    """
    if not steps:
        return Fraction(functions.holds(at))
    return (_share_of_all if functions.together else _share_of_any)(functions, at, steps, account)


def _share_of_any(functions: Functions, at: Vector, steps: Sequence[Vector], account: Account) -> Fraction:
    halves = []
    for k, value in enumerate(at):
        row = [s[k] for s in steps]
        best = value + sum(x for x in row if x > 0)
        # Where a function does not move a tie counts; elsewhere it has measure 0.
        if not any(row) and functions.is_enough(k, (value, 0)):
            return Fraction(1)
        if any(row) and best > 0:
            halves.append((Fraction(best), [-x for x in row]))
    if len(halves) == 1:
        return share_below_sum([abs(x) for x in halves[0][1] if x], halves[0][0])
    return box_share(halves, [Fraction(1)] * len(steps), account=account) if halves else _ZERO


def _share_of_all(functions: Functions, at: Vector, steps: Sequence[Vector], account: Account) -> Fraction:
    halves = []
    for k, value in enumerate(at):
        row = [s[k] for s in steps]
        least = value + sum(x for x in row if x < 0)
        if not any(row) and not functions.is_enough(k, (value, 0)):
            return _ZERO
        if any(row) and least < 0:
            halves.append((Fraction(-least), row))
    return 1 - box_share(halves, [Fraction(1)] * len(steps), account=account) if halves else Fraction(1)


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="explanation", advice="allow more, or ask for small CXps with max_size")


class BoxedLinearEngine:
    """Explains instances of a linear model among the points that constraints leave, if there are any.

    Notes
    -----
    A pass over the diagram of the constraints for each set of features that it is asked about; two to the number of
    features that constraints tie to each other, or duality where these are many. A weight takes the combinations of
    values, and of cells, that half-spaces cut.
    """

    searches = True

    def __init__(self, model: LinearModel, similarity: Similarity) -> None:
        self._model, self._similarity = model, similarity
        self.cells = PossibleCells(model, similarity)
        self._known = PerOutput(self._made)

    def _made(self, asked: tuple[Hashable, bool], budget: Budget | None) -> tuple[Functions, list[list[Span]]]:
        output, measured = asked
        functions, account = self.cells.functions(output), _account(budget)
        # What one function can be at most is all that matters of values that nobody weighs.
        options: dict[str, Any] = {"measured": measured, "only_ends": not (measured or functions.together)}
        features = range(len(self._model.domain))
        return functions, [self.cells.spans(functions, i, account=account, **options) for i in features]

    def _around(
        self, code: Sequence[float], output: Hashable, *, measured: bool = False, account: Account | None = None
    ) -> Around:
        """Return the possible points around an instance; if `measured`, cut where a measure changes."""
        known = self._known((output, measured), None if account is None else account.rest())
        return Around(self.cells, *known, code, scaled=True, account=account)

    @cached_property
    def constant(self) -> Hashable | None:
        """The one output of a model that is constant among possible points; None otherwise."""
        if self._similarity.is_one_of_several(self._model.labels):
            return None  # a class that is never chosen has no CXps, and that is an answer
        anywhere, every = (
            [row[0].low for row in self._known((self._first, False))[1]],
            (1 << len(self._model.domain)) - 1,
        )
        if not self._model.is_regression:
            return next((y for y in self._model.labels if not self._leaves(anywhere, y, every)), None)
        around = Around(self.cells, *self._known((self._first, False)), anywhere)  # type: ignore[arg-type]
        side, (down, up) = around.functions.sides[0], around.most(every)
        far = Fraction(side.distance or 0)
        least, most = -(down[0] + far), up[0] + far  # of the score, beyond that of the point
        if least != most:
            return None
        at = side.base + sum((side.added(i, code) for i, code in enumerate(anywhere)), _ZERO)
        return (at + least) / common_unit(self._model, self._similarity.delta)

    @property
    def _first(self) -> Hashable:
        return self._model.labels[0] if self._model.labels else 0

    def _leaves(self, anywhere: Sequence[float | Fraction], output: Hashable, every: int) -> bool:
        around = self._around(anywhere, output)  # type: ignore[arg-type]
        return any(around.functions.is_enough(k, extreme) for k, extreme in enumerate(around.most(every)))

    def locate(self, codes: Codes) -> Located:
        """Return the codes themselves, since a hyperplane cuts through cells, and the outputs there.

        Raises
        ------
        DomainError
            If an instance cannot exist.
        """
        check_possible(self._model.domain, codes)
        return codes, self._model.outputs_at(codes)

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget for one instance was spent, or a weight needs too many combinations of values.
        """
        located = located or self.locate(codes)
        if partial:
            return found_by_radius(self.explain, codes, located, weights=weights, max_size=max_size, budget=budget)
        limit = codes.shape[1] if max_size is None else max_size
        rows, nodes = [], []
        for n, (code, output) in enumerate(zip(codes.tolist(), located[1], strict=True)):
            meter = Meter(budget)
            with naming_row(n):
                rows.append(list(self._weighed(code, output, weights, limit, meter)))
            nodes.append(meter.nodes)
        masks, found = [m for row in rows for m, _ in row], [w for row in rows for _, w in row]
        totals = np.empty(len(found), dtype=object)
        totals[:] = [w.numerator for w in found]
        starts, words = np.cumsum([0, *map(len, rows)]), words_of_masks(masks, codes.shape[1])
        wholes, divisors = (1,) * codes.shape[1], [w.denominator for w in found]
        return Found(located[1], starts, words, totals, wholes, weights, divisors, nodes=nodes)

    def _weighed(
        self, code: list[float], output: Hashable, kind: str, limit: int, meter: Meter
    ) -> Iterator[tuple[int, Fraction]]:
        key = self._key(output)
        try:
            masks = _Sets(self._around(code, key, account=_account(meter.rest())), self.cells.groups, meter).cxps(limit)
        except BudgetSpent as spent:
            raise unfinished(spent.found, self._model.domain, meter) from None
        if kind == "unit":
            yield from ((mask, Fraction(1)) for mask in masks)
            return
        account = _account(meter.rest())
        weigher = _Weigher(self._around(code, key, measured=True, account=account), kind, account)
        for mask in masks:
            yield mask, weigher.weight(mask)

    def _key(self, output: Hashable) -> Hashable:
        """Return what stands for an output: a regression's ways out are the same from each."""
        return output if self._model.labels else 0

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar."""
        _, (output,) = self.locate(code[np.newaxis])
        meter = Meter(budget)
        try:
            return _Sets(self._around(code.tolist(), self._key(output)), self.cells.groups, meter).is_weak(mask)
        except BudgetSpent:
            raise unfinished([], self._model.domain, meter) from None

    def boxes(
        self, code: Codes, free: Sequence[int], account: Account
    ) -> Iterator[tuple[Fraction, dict[int, tuple[Any, Any]]]]:
        """Yield boxes that together hold what is looked for where only some features change: a probability, and ends.

        The probability is that of what is looked for within the box; its ends are as close to that as they can be.
        """
        _, (output,) = self.locate(code[np.newaxis])
        around = self._around(code.tolist(), self._key(output), measured=True, account=account)
        yield from _Weigher(around, "ratio", account).boxes(free)
