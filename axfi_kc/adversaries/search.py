"""Branch and bound over boxes of choices: the nearest dissimilar point, covers, and growth."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction

from axfi_kc.adversaries.choices import Choices
from axfi_kc.adversaries.regions import Box, Region
from axfi_kc.budget import Budget, Watch
from axfi_kc.errors import BudgetError

__all__ = ["Spender", "cover", "grown", "nearest_corner"]

_MOST_NODES = 500_000
_LOOK = 16  # boxes between two looks at the clock


class Spender:
    """Counts boxes against a budget that all CXps looked at share; of each CXp 500,000 without one of nodes."""

    def __init__(self, budget: Budget) -> None:
        self._most = budget.nodes
        self._used, self._own = 0, 0
        self._watch = Watch(budget)

    def begin(self) -> None:
        """Start with another CXp."""
        self._own = 0

    def spend(self) -> None:
        """Count one box."""
        self._used += 1
        self._own += 1
        # Without a limit of nodes, a single CXp must not use up all patience there is for the others.
        over = self._own > _MOST_NODES if self._most is None else self._used > self._most
        if over or (not self._used % _LOOK and self._watch.is_spent()):
            raise self.error()

    def look(self) -> None:
        """Raise a BudgetError if the time or the memory is spent."""
        if self._watch.is_spent():
            raise self.error()

    def error(self) -> BudgetError:
        """Return the error that says what was spent."""
        return BudgetError(
            f"The budget was spent after {self._used} boxes and {self._watch.seconds:.2f} s, before an adversarial "
            "example was found; allow more, or take another CXp.",
            nodes=self._used,
            seconds=self._watch.seconds,
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


def nearest_corner(region: Region, choices: Sequence[Choices], *, spender: Spender) -> tuple[int, ...] | None:
    """Return the cheapest dissimilar choice of each feature, or None if there is none.

    Choices must be ordered by cost. Of equally cheap points, the one whose choices come first.

    Notes
    -----
    Best first: boxes are taken by the cost of their nearest corner, halved when that corner is
    similar, and dropped when they cannot hold a dissimilar point.
    """
    if not all(c.cells for c in choices):
        return None
    heap = list[tuple[Fraction, Box]]()

    def push(box: Box) -> None:
        spender.spend()
        # Boxes that certainly hold nothing dissimilar never enter the heap.
        if region.verdict(box)[0]:
            # Choices are sorted by cost, so the first ones are the cheapest point of the box: a lower bound.
            heapq.heappush(heap, (sum((c.costs[k] for c, k in zip(choices, box[0], strict=True)), Fraction(0)), box))

    push(_whole(choices))
    while heap:
        _, box = heapq.heappop(heap)
        # On a single point the verdict is exact. Every other box costs at least as much, so this is the
        # nearest; at a tie the heap compares the boxes themselves.
        if region.verdict(_corner(box))[0]:
            return box[0]
        for half in _halves(box):
            push(half)
    return None


def cover(region: Region, choices: Sequence[Choices], *, spender: Spender) -> list[Box]:
    """Return disjoint boxes that together are exactly the dissimilar points.

    Notes
    -----
    Halves boxes until both bounds agree.
    """
    if not all(c.cells for c in choices):
        return []
    found, stack = list[Box](), [_whole(choices)]
    while stack:
        box = stack.pop()
        spender.spend()
        some, every = region.verdict(box)
        if every:
            found.append(box)
        elif some:
            stack += _halves(box)
    return found


def grown(
    region: Region, choices: Sequence[Choices], point: Sequence[int], *, grows: Sequence[bool], spender: Spender
) -> Box:
    """Return a box around a dissimilar point, all of whose points are dissimilar.

    It is widened feature by feature over neighbouring cells (never across the instance's own) for
    as long as that is certain. Choices must be in the order of the cells.
    """
    low, high = list(point), [k + 1 for k in point]
    for side, choice in enumerate(choices):
        if not grows[side]:
            continue
        # Only a neighbouring cell: a gap in the numbers is the instance's own cell, or one without a float.
        while low[side] and choice.cells[low[side] - 1] == choice.cells[low[side]] - 1:
            low[side] -= 1
            spender.look()
            # "Certainly all" is what counts; where it is not certain the box stays as it was.
            if not region.verdict((tuple(low), tuple(high)))[1]:
                low[side] += 1
                break
        while high[side] < len(choice.cells) and choice.cells[high[side]] == choice.cells[high[side] - 1] + 1:
            high[side] += 1
            spender.look()
            if not region.verdict((tuple(low), tuple(high)))[1]:
                high[side] -= 1
                break
    return tuple(low), tuple(high)
