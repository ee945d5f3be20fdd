"""Branch and bound over boxes of choices: the nearest dissimilar point, covers, and growth."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction

from axfi_kc.budget import Account, Budget
from axfi_kc.explanations.counterfactuals.regions import Box, Choices, Region

__all__ = ["MOST_BOXES", "cover", "grown", "nearest_corner", "search_account"]


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


def nearest_corner(region: Region, choices: Sequence[Choices], *, account: Account) -> tuple[int, ...] | None:
    """Return the cheapest dissimilar choice of each feature, or None if there is none.

    Choices must be ordered by cost. Of equally cheap points, the one whose choices come first.

    Best first: boxes are taken by the cost of their nearest corner, halved when that corner is
    similar, and dropped when they cannot hold a dissimilar point.
    """
    if not all(c.cells for c in choices):
        return None
    heap = list[tuple[Fraction, Box]]()

    def push(box: Box) -> None:
        account.spend(1)
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
            account.look()
            # "Certainly all" is what counts; where it is not certain the box stays as it was.
            if not region.verdict((tuple(low), tuple(high)))[1]:
                low[side] += 1
                break
        while high[side] < len(choice.cells) and choice.cells[high[side]] == choice.cells[high[side] - 1] + 1:
            high[side] += 1
            account.look()
            if not region.verdict((tuple(low), tuple(high)))[1]:
                high[side] -= 1
                break
    return tuple(low), tuple(high)
