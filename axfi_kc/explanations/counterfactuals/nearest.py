"""The nearest adversarial example of all CXps, best bound first.

To change a feature at all costs at least the way to its nearest other cell, and these ways add up to a bound for each
CXp. CXps are looked at by their bounds, least first, until the next bound is no better than the nearest example found.

Where an engine covers the adversarial examples of CXps by disjoint boxes of cells (it does so to weigh them), the
nearest example of a box is its nearest cell in each feature, and nothing is searched. Floats only choose the boxes that
may be nearest; these are compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, BudgetSpent, Meter
from axfi_kc.explanations.counterfactuals.regions import Choices
from axfi_kc.explanations.problem import Problem

__all__ = ["Example", "Find", "improving_examples"]


_MOST_BOXES = 20_000_000  # of all CXps, where the budget limits none: a minute or two
_FIRST = 32  # CXps that are covered before there is a first example
_SLACK = 1 + 1e-9  # far more than sums of rounded costs are off
_NEVER = np.iinfo(np.int64).max
Members = tuple[int, ...]


class Example(NamedTuple):
    """An adversarial example of a CXp: its features, their codes, and how far that is."""

    members: Members
    codes: list[float]
    distance: Fraction


Find = Callable[[Members, Fraction | None], Example | None]
"""Gives the nearest example of a CXp, or None if there is none, or none within a distance, if one is given."""


class _Best(NamedTuple):
    """The nearest example so far; ties go to the CXp that comes first, then to the choices that do."""

    distance: Fraction
    position: int
    choices: tuple[int, ...]
    example: Example

    def is_out_of_reach(self, bound: float) -> bool:
        """Tell whether everything from a bound on is further."""
        return bound > float(self.distance) * _SLACK


def improving_examples(
    problem: Problem,
    cxps: Sequence[Members],
    find: Find,
    *,
    has_cells: bool,
    account: Account,
    in_boxes: bool = True,
) -> Iterator[Example]:
    """Yield ever nearer examples (or as near ones of earlier CXps), the last of which is the nearest of all CXps.

    Parameters
    ----------
    problem
        The problem.
    cxps
        Its CXps. Of equally near examples, that of the first CXp is taken.
    find
        Looks for the nearest example of one CXp.
    has_cells
        Whether the ways to the cells of each feature say how near examples are.
    account
        What it may cost.
    in_boxes
        Whether all adversarial examples count, so that boxes that cover them will do in place of `find`.

    Raises
    ------
    BudgetError
        If the budget was spent; what was yielded before stands.
    """
    choices = _all_choices(problem, cxps) if has_cells else {}
    floors = {i: float(choice.costs[0]) if choice.costs else 0.0 for i, choice in choices.items()}
    # Floats only say what is looked at first, and what is certainly further.
    bounds = [sum([floors[i] for i in members]) if has_cells else 0.0 for members in cxps]
    order = sorted(range(len(cxps)), key=bounds.__getitem__)
    cover = getattr(problem.engine, "cover", None) if has_cells and in_boxes else None
    if cover is None:
        yield from _one_by_one(cxps, bounds, order, find, account)
    else:
        nearest = _Nearest(choices, problem.model.grid.n_cells)
        boxes = (
            (some, _covered(problem, [cxps[k] for k in some], cover, account)) for some in _blocks(order, first=_FIRST)
        )
        yield from _in_boxes(cxps, bounds, nearest, boxes)


def _blocks(order: Sequence[int], *, first: int) -> Iterator[Sequence[int]]:
    """Yield parts of a list, each twice as long as the one before."""
    at, size = 0, first
    while at < len(order):
        yield order[at : at + size]
        at, size = at + size, 2 * size


def _all_choices(problem: Problem, cxps: Sequence[Members]) -> dict[int, Choices]:
    """Return the choices of each feature that is in some CXp, nearest first."""
    axes, cells, codes = problem.model.grid.axes, problem.cells.tolist(), problem.codes.tolist()
    used = sorted({i for members in cxps for i in members})
    scale = problem.scale
    return {i: Choices.of(i, axes[i], codes[i], cells[i], scale=scale[i]).by_cost() for i in used}


def _one_by_one(
    cxps: Sequence[Members], bounds: Sequence[float], order: Sequence[int], find: Find, account: Account
) -> Iterator[Example]:
    best: _Best | None = None
    for k in order:
        if best is not None and best.is_out_of_reach(bounds[k]):
            return
        account.look()
        found = find(cxps[k], None if best is None else best.distance)
        if found is not None and (best is None or (found.distance, k) < (best.distance, best.position)):
            best = _Best(found.distance, k, (), found)
            yield found


class _Boxes(NamedTuple):
    """Boxes of cells that cover the examples of some CXps: each side of each box, one box after the other."""

    owner: npt.NDArray[np.int64]  # per box, the number of its CXp
    starts: npt.NDArray[np.int64]  # per box, its first side
    features: npt.NDArray[np.int64]  # per side
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]

    @classmethod
    def of(cls, cxps: Sequence[Members], bounds: npt.NDArray[np.int32], counts: npt.NDArray[np.int64]) -> _Boxes:
        sizes = np.repeat(np.array([len(Y) for Y in cxps], np.int64), counts)
        features = [np.tile(np.array(Y, np.int64), n) for Y, n in zip(cxps, counts.tolist(), strict=True)]
        return cls(
            np.repeat(np.arange(len(cxps)), counts),
            np.cumsum(sizes) - sizes,
            np.concatenate(features) if features else np.empty(0, np.int64),
            bounds[0::2].astype(np.int64),
            bounds[1::2].astype(np.int64),
        )


class _Nearest:
    """The nearest choice of each feature within a range of its cells, for many ranges at once.

    Choices are numbered from the nearest on, so the nearest in a range is the least number there: a minimum over a
    range, which two overlapping ranges of a power of two give.
    """

    def __init__(self, choices: Mapping[int, Choices], n_cells: Sequence[int]) -> None:
        self.choices = choices
        self._offset = np.cumsum([0, *n_cells])
        numbers = np.full(int(self._offset[-1]), _NEVER)
        self._costs = np.full(len(numbers), np.inf)
        for i, choice in choices.items():
            offset = int(self._offset[i])
            numbers[[offset + cell for cell in choice.cells]] = np.arange(len(choice.cells))
            self._costs[offset : offset + len(choice.cells)] = [float(cost) for cost in choice.costs]
        self._least = [numbers]
        width = 1
        while 2 * width <= max(n_cells, default=1):
            last = self._least[-1]
            self._least.append(np.minimum(last, np.concatenate([last[width:], np.full(width, _NEVER)])))
            width *= 2

    def sides(self, boxes: _Boxes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the nearest choice of each side, and what it costs; a side without any costs infinity."""
        offset = self._offset[boxes.features]
        level = np.frexp((boxes.high - boxes.low).astype(np.float64))[1] - 1
        table = np.array(self._least)
        first, last = offset + boxes.low, offset + boxes.high - (1 << level.astype(np.int64))
        found = np.minimum(table[level, first], table[level, last])
        there = found != _NEVER
        return found, np.where(there, self._costs[offset + np.where(there, found, 0)], np.inf)


def _in_boxes(
    cxps: Sequence[Members],
    bounds: Sequence[float],
    nearest: _Nearest,
    covered: Iterable[tuple[Sequence[int], _Boxes]],
) -> Iterator[Example]:
    """Yield what is nearest in boxes, which come with the numbers of their CXps."""
    best: _Best | None = None
    for some, boxes in covered:
        found = _best_of(cxps, some, nearest, boxes, best)
        if found is not None:
            best = found
            yield best.example
        if best is not None and best.is_out_of_reach(bounds[some[-1]]):  # and so is all that follows
            return


def _covered(
    problem: Problem, cxps: Sequence[Members], cover: Callable[..., tuple[Any, Any]], account: Account
) -> _Boxes:
    """Return the boxes of adversarial examples of some CXps."""
    rest = account.rest()
    meter = Meter(rest if rest.nodes is not None else replace(rest, nodes=max(1, _MOST_BOXES - account.nodes)))
    try:
        found = cover(problem.codes, cxps, meter=meter)
    except BudgetSpent:
        account.nodes += meter.nodes
        raise account.error() from None
    account.spend(meter.nodes)
    return _Boxes.of(cxps, *found)


def _best_of(
    cxps: Sequence[Members], some: Sequence[int], nearest: _Nearest, boxes: _Boxes, best: _Best | None
) -> _Best | None:
    """Return the nearest example in some boxes, exactly; None if the best so far stays."""
    if not len(boxes.starts):
        return None
    choices, costs = nearest.sides(boxes)
    totals = np.add.reduceat(costs, boxes.starts)
    most = min(float(totals.min()), np.inf if best is None else float(best.distance))
    found = best
    for n in np.flatnonzero((totals <= most * _SLACK) & np.isfinite(totals)).tolist():
        k, start = some[int(boxes.owner[n])], int(boxes.starts[n])
        made = _example(nearest.choices, cxps[k], choices[start : start + len(cxps[k])].tolist(), k)
        found = made if found is None or made[:3] < found[:3] else found
    return None if found is best else found


def _example(choices: Mapping[int, Choices], members: Members, chosen: Sequence[int], position: int) -> _Best:
    pairs = [(choices[i], k) for i, k in zip(members, chosen, strict=True)]
    distance = sum((choice.costs[k] for choice, k in pairs), Fraction(0))
    example = Example(members, [choice.codes[k] for choice, k in pairs], distance)
    return _Best(distance, position, tuple(chosen), example)
