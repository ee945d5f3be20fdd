"""What the features of one CXp can change to, and where that is dissimilar, for whole boxes at a time.

A box is a range of choices per feature of the CXp, the other features being the instance's. A
region says whether a box may hold a dissimilar point and whether all its points are; on a single
choice per feature both answers agree and are exact. Branch and bound over boxes gives the nearest
dissimilar point, covers, and growth.

Distances are exact. A numeric feature's change is divided by the width of its domain, a
categorical feature's is 1. Points are float64, so the nearest point of an open end is the float
next to it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, singledispatch
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import Boxes, GriddedModel, TableModel, TreeSum
from axfi_kc.models.support import Support, support_of
from axfi_kc.models.tree_sum import Margins

__all__ = [
    "MOST_BOXES",
    "Box",
    "Choices",
    "Region",
    "cell_ends",
    "change",
    "cover",
    "float_ends",
    "grown",
    "nearest_corner",
    "region_in",
    "region_of",
    "search_account",
]


@dataclass(frozen=True, slots=True)
class Choices:
    """Cells of one feature, without the instance's own."""

    feature: int  # the feature's position
    cells: tuple[int, ...]  # the cells' numbers
    codes: tuple[float, ...]  # the code in each cell that is nearest to the instance
    costs: tuple[Any, ...]  # how far that is, a Fraction or whatever else is ordered
    missing: int | None = None  # the cell of missing values, which has no neighbours

    @classmethod
    def of(cls, feature: int, axis: Axis, code: float, own: int, *, scale: Feature) -> Choices:
        """Return the cells from left to right; a cell without any float64 is left out.

        Costs are shares of the width of `scale`, the feature in the whole domain.
        """
        found = []
        for cell in range(axis.n_cells):
            low, high = cell_ends(axis, cell)
            if cell != own and (low <= high or cell == axis.missing_cell):
                # To and from a missing value everything is equally far.
                near = low if math.isnan(code) or math.isnan(low) else min(max(code, low), high)
                found.append((cell, near, change(scale, code, near)))
        cells, codes, costs = zip(*found, strict=True) if found else ((), (), ())
        return cls(feature, cells, codes, costs, axis.missing_cell)

    def by_cost(self) -> Choices:
        """Return the same cells, nearest first."""
        order = sorted(range(len(self.cells)), key=lambda k: (self.costs[k], self.cells[k]))
        cells, codes = tuple(self.cells[k] for k in order), tuple(self.codes[k] for k in order)
        return replace(self, cells=cells, codes=codes, costs=tuple(self.costs[k] for k in order))

    def joins(self, k: int) -> bool:
        """Tell whether choice k and the one after it are neighbouring cells, of which nothing lies between."""
        # A gap in the numbers is the instance's own cell, or one without a float.
        return self.cells[k + 1] == self.cells[k] + 1 != self.missing


def change(feature: Feature, code: float, other: float) -> Fraction:
    """Return how far two codes of a feature are apart, between 0 and 1; to or from a missing value it is 1.

    Examples
    --------
    >>> change(Integer("age", 0, 100), 40.0, 65.0), change(Categorical("race", "abc"), 0.0, 2.0)
    (Fraction(1, 4), Fraction(1, 1))
    >>> change(Integer("age", 0, 100, missing=0.1), 40.0, math.nan)
    Fraction(1, 1)
    """
    if isinstance(feature, Categorical) or math.isnan(code) or math.isnan(other):
        return Fraction(int(code != other and not (math.isnan(code) and math.isnan(other))))
    width = Fraction(feature.high - feature.low)
    return abs(Fraction(code) - Fraction(other)) / width if width else Fraction(0)


def float_ends(feature: Integer | Real) -> tuple[float, float]:
    """Return the least and the largest float64 of a numeric feature."""
    low, high = float(feature.low), float(feature.high)
    if Fraction(low) < feature.low:
        low = math.nextafter(low, math.inf)
    if Fraction(high) > feature.high:
        high = math.nextafter(high, -math.inf)
    return low, high


def cell_ends(axis: Axis, cell: int) -> tuple[float, float]:
    """Return the least and the largest code in a cell; in a cell without floats the first is larger.

    The cell of missing values has one code, which is NaN.
    """
    feature = axis.feature
    if cell == axis.missing_cell:
        return math.nan, math.nan
    if isinstance(feature, Categorical):
        return float(cell), float(cell)
    low, high = float_ends(feature)
    if cell:
        before = axis.cuts[cell - 1].last_left
        low = before + 1 if isinstance(feature, Integer) else math.nextafter(before, math.inf)
    return low, axis.cuts[cell].last_left if cell < len(axis.cuts) else high


Box = tuple[tuple[int, ...], tuple[int, ...]]  # first choice of each feature, and the one after the last
_INT64_BITS = 62
Flags = npt.NDArray[np.bool_]


class Region(Protocol):
    """The dissimilar points among the choices of a CXp's features."""

    def verdict(self, box: Box) -> tuple[bool, bool]:
        """Tell whether some point of `box` may be dissimilar, and whether all certainly are."""
        ...


def region_of(model: Any, problem: Problem, choices: Sequence[Choices]) -> Region:
    """Return the region of a problem's dissimilar points that can exist, for choices in the order given."""
    inside, support = region_in(model, problem, choices), _support_of(model.grid)
    return inside if support is None else _Possible(inside, support, problem, choices)


_support_of = lru_cache(maxsize=8)(support_of)  # one diagram for all CXps of a problem


class _Possible:
    """What is dissimilar, as far as it can exist."""

    def __init__(self, inside: Region, support: Support, problem: Problem, choices: Sequence[Choices]) -> None:
        self._inside, self._support, self._choices = inside, support, choices
        self._cells = [[cell] for cell in problem.cells.tolist()]

    def verdict(self, box: Box) -> tuple[bool, bool]:
        some, every = self._inside.verdict(box)
        if not some:
            return False, False
        cells: list[Sequence[int]] = [*self._cells]
        for choice, a, b in zip(self._choices, *box, strict=True):
            cells[choice.feature] = choice.cells[a:b]
        possible, always = self._support.verdict(cells)
        return possible, every and always


@singledispatch
def region_in(model: Any, problem: Problem, choices: Sequence[Choices]) -> Region:
    """Return the region of a problem's dissimilar points, whether or not they can exist.

    Forms that know more of a box than its points register their own: a table the points of the box, trees
    the leaves that the CXp's features can reach.
    """
    return _Cells(model, problem, choices)


class _Table:
    """A truth table, cut down to the choices."""

    def __init__(self, model: TableModel, problem: Problem, choices: Sequence[Choices]) -> None:
        cells = [[int(c)] for c in problem.cells]
        for choice in choices:
            cells[choice.feature] = list(choice.cells)
        # One cell for each other feature: the block has as many dimensions as choices, in domain order.
        order = sorted(range(len(choices)), key=lambda k: choices[k].feature)
        block = model.table[np.ix_(*cells)].reshape([len(choices[k].cells) for k in order])
        strange = np.array([problem.is_dissimilar(y) for y in model.outputs])
        # Back into the order in which the choices were given.
        self._strange = strange[block].transpose(np.argsort(order))

    def verdict(self, box: Box) -> tuple[bool, bool]:
        block = self._strange[tuple(slice(a, b) for a, b in zip(*box, strict=True))]
        return bool(block.any()), bool(block.all())


@region_in.register
def _of_table(model: TableModel, problem: Problem, choices: Sequence[Choices]) -> Region:
    return _Table(model, problem, choices)


class _Cells:
    """Any model on cells: nothing is known of a box but the outputs at its single points."""

    def __init__(self, model: GriddedModel, problem: Problem, choices: Sequence[Choices]) -> None:
        self._model, self._problem, self._choices = model, problem, choices
        self._cells = problem.cells

    def verdict(self, box: Box) -> tuple[bool, bool]:
        # Nothing is known of a box before it is a point: it may, and it need not.
        if any(b - a > 1 for a, b in zip(*box, strict=True)):
            return True, False
        cells = self._cells.copy()
        for choice, k in zip(self._choices, box[0], strict=True):
            cells[choice.feature] = choice.cells[k]
        answer = self._problem.is_dissimilar(self._model.decide(cells[np.newaxis])[0])
        return answer, answer


class _Leaves:
    """Sums over trees of one leaf each: dissimilar where one of the sums is above 0.

    Made from whether a leaf takes a choice, per feature of the CXp, from where each tree's leaves begin, from what
    each leaf adds to each sum, and from the sums before any tree. With `others`, dissimilar is where none is above 0.
    """

    def __init__(
        self, inside: Sequence[Flags], starts: Sequence[int], values: Any, base: Any, *, others: bool = False
    ) -> None:
        self._others = others
        counts = [np.cumsum(flags, axis=1, dtype=np.int32) for flags in inside]
        # With a leading 0, the choices that a leaf takes in a range are one difference.
        self._below = [np.concatenate([np.zeros((len(c), 1), np.int32), c], axis=1) for c in counts]
        self._starts = np.array(starts)
        largest = max((abs(int(x)) for x in values.reshape(-1)), default=0)
        # The sums of all trees and the base must fit; else the same code runs on Python integers.
        narrow = largest.bit_length() + (len(starts) + 1).bit_length() <= _INT64_BITS
        narrow = narrow and all(abs(int(b)).bit_length() < _INT64_BITS - 1 for b in base)
        self._values = values.astype(np.int64 if narrow else object)
        self._base = base.astype(np.int64 if narrow else object)
        self._least, self._most = self._values.min(axis=0), self._values.max(axis=0)

    def verdict(self, box: Box) -> tuple[bool, bool]:
        reached = np.ones(len(self._values), dtype=np.bool_)
        for below, a, b in zip(self._below, *box, strict=True):
            reached &= below[:, b] > below[:, a]
        column = reached[:, np.newaxis]
        # Leaves out of reach are given the extreme that cannot win; each tree keeps at least one leaf.
        high = np.maximum.reduceat(np.where(column, self._values, self._least), self._starts, axis=0)
        low = np.minimum.reduceat(np.where(column, self._values, self._most), self._starts, axis=0)
        some = bool((high.sum(axis=0) + self._base > 0).any())
        every = bool((low.sum(axis=0) + self._base > 0).any())
        return (not every, not some) if self._others else (some, every)


@region_in.register
def _of_boxes(model: Boxes, problem: Problem, choices: Sequence[Choices]) -> Region:
    own = problem.cells
    kept = np.ones(len(model), dtype=np.bool_)
    free = {choice.feature for choice in choices}
    for i, cell in enumerate(own.tolist()):
        if i not in free:
            kept &= ~model.misses(i, np.array([cell]))[0]
    strange = np.array([problem.is_dissimilar(y) for y in model.outputs])
    rows = np.flatnonzero(kept)
    inside = [~model.misses(c.feature, np.array(c.cells, dtype=np.int64))[:, rows].T for c in choices]
    values = strange[model.output[rows]].astype(np.int64)[:, np.newaxis]
    # One tree whose leaves are the boxes: 1 where it is dissimilar, so "above 0" is the question.
    return _Leaves(inside, [0], values, np.zeros(1, np.int64))


@region_in.register
def _of_trees(model: TreeSum, problem: Problem, choices: Sequence[Choices]) -> Region:
    leaves: list[int] = []
    inside: list[list[Flags]] = [[] for _ in choices]
    starts = []
    own_cells = problem.cells
    for root in model.tree_offset[:-1].tolist():
        starts.append(len(leaves))
        for leaf, flags in _reachable(own_cells, model, choices, root):
            leaves.append(leaf)
            for own, flag in zip(inside, flags, strict=True):
                own.append(flag)
    values: Any
    base: Any
    is_one_class = False
    if model.n_trees == 1:
        outputs = model.leaf_outputs()
        # With one tree, outputs of leaves say it directly and need no margins.
        values = np.array([[int(problem.is_dissimilar(outputs[k]))] for k in leaves])
        base = np.zeros(1, np.int64)
    else:
        output, is_one_class = problem.similarity.sought(problem.output, model.labels)
        margins = Margins.of(model, output, problem.similarity.delta)
        values, base = margins.values[leaves], margins.base
    return _Leaves([np.array(own) for own in inside], starts, values, base, others=is_one_class)


def _reachable(
    own: npt.NDArray[np.int64], model: TreeSum, choices: Sequence[Choices], root: int
) -> Iterator[tuple[int, tuple[Flags, ...]]]:
    """Yield the leaves of a tree that some choice reaches, and which choices of each feature do."""
    place = {choice.feature: k for k, choice in enumerate(choices)}
    stack = [(root, tuple(np.ones(len(c.cells), dtype=np.bool_) for c in choices))]
    while stack:
        node, flags = stack.pop()
        i = int(model.feature[node])
        if i < 0:
            yield int(model.leaf[node]), flags
            continue
        left = model.left_mask[int(model.mask_offset[node]) :]
        if i not in place:
            stack.append((int(model.left[node] if left[own[i]] else model.right[node]), flags))
            continue
        k = place[i]
        goes_left = left[list(choices[k].cells)].astype(np.bool_)
        for child, mask in ((model.left[node], goes_left), (model.right[node], ~goes_left)):
            narrowed = flags[k] & mask
            # A branch that no choice takes is dropped here, so every leaf yielded is reached.
            if narrowed.any():
                stack.append((int(child), (*flags[:k], narrowed, *flags[k + 1 :])))


MOST_BOXES = 500_000  # of one CXp, where the budget limits none
_LOOK = 16  # boxes between two looks at the clock


def search_account(budget: Budget | None) -> Account:
    """Return the account of searches for adversarial examples, which all CXps looked at share."""
    return Account(
        budget,
        goal="search for an adversarial example",
        advice="allow more, or take another CXp",
        unit="boxes",
        at_once=_LOOK,
    )


def _whole(choices: Sequence[Choices]) -> Box:
    return (0,) * len(choices), tuple(len(c.cells) for c in choices)


def _corner(box: Box) -> Box:
    return box[0], tuple(a + 1 for a in box[0])


def _halves(box: Box) -> Iterator[Box]:
    """Yield both halves of a box along its longest side; nothing for a single point."""
    low, high = box
    # Halving the longest side keeps boxes compact, so that bounds become sharp in all features.
    side = max(range(len(low)), key=lambda k: high[k] - low[k])
    if high[side] - low[side] > 1:
        middle = (low[side] + high[side]) // 2
        yield low, (*high[:side], middle, *high[side + 1 :])
        yield (*low[:side], middle, *low[side + 1 :]), high


def _summed(costs: Sequence[Fraction]) -> Fraction:
    return sum(costs, Fraction(0))


def nearest_corner(
    region: Region,
    choices: Sequence[Choices],
    *,
    account: Account,
    total: Callable[[Any], Any] = _summed,
    most: Any = None,
) -> tuple[int, ...] | None:
    """Return the cheapest dissimilar choice of each feature, or None if there is none, or none that costs `most`.

    Choices must be ordered by cost, and `total` must not fall when one of the costs it puts together grows. Of
    equally cheap points, the one whose choices come first.

    Best first: boxes are taken by the cost of their nearest corner, halved when that corner is
    similar, and dropped when they cannot hold a dissimilar point.
    """
    if not all(c.cells for c in choices):
        return None
    heap = list[tuple[Any, Box]]()

    def push(box: Box) -> None:
        account.spend(1)
        # Boxes that certainly hold nothing dissimilar never enter the heap.
        if region.verdict(box)[0]:
            # Choices are sorted by cost, so the first ones are the cheapest point of the box: a lower bound.
            heapq.heappush(heap, (total([c.costs[k] for c, k in zip(choices, box[0], strict=True)]), box))

    push(_whole(choices))
    while heap:
        cost, box = heapq.heappop(heap)
        if most is not None and cost > most:
            return None
        # On a single point the verdict is exact. Every other box costs at least as much, so this is the
        # nearest; at a tie the heap compares the boxes themselves.
        if region.verdict(_corner(box))[0]:
            return box[0]
        for half in _halves(box):
            push(half)
    return None


def cover(region: Region, choices: Sequence[Choices], *, account: Account) -> list[Box]:
    """Return disjoint boxes that together are exactly the dissimilar points: halves until both bounds agree."""
    if not all(c.cells for c in choices):
        return []
    found, stack = list[Box](), [_whole(choices)]
    while stack:
        box = stack.pop()
        account.spend(1)
        some, every = region.verdict(box)
        if every:
            found.append(box)
        elif some:
            stack += _halves(box)
    return found


def grown(
    region: Region, choices: Sequence[Choices], point: Sequence[int], *, grows: Sequence[bool], account: Account
) -> Box:
    """Return a box around a dissimilar point, all of whose points are dissimilar.

    It is widened feature by feature over neighbouring cells (never across the instance's own, nor to
    or from missing values) for as long as that is certain. Choices must be in the order of the cells.
    """
    low, high = list(point), [k + 1 for k in point]
    for side, choice in enumerate(choices):
        if not grows[side]:
            continue
        while low[side] and choice.joins(low[side] - 1):
            low[side] -= 1
            account.look()
            # "Certainly all" is what counts; where it is not certain the box stays as it was.
            if not region.verdict((tuple(low), tuple(high)))[1]:
                low[side] += 1
                break
        while high[side] < len(choice.cells) and choice.joins(high[side] - 1):
            high[side] += 1
            account.look()
            if not region.verdict((tuple(low), tuple(high)))[1]:
                high[side] -= 1
                break
    return tuple(low), tuple(high)
