"""Hot loops of the box engine, compiled by numba on first use and cached on disk.

One pass over the boxes of each instance keeps the antichain of minimal missed sets up to date,
with no allocation per box. Up to 64 features a set is one word in a register, hence the two forms of
that loop. The test of a literal is written out in each: inlined by numba it took four times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["antichain", "minimal_misses", "narrow_totals"]


@njit(cache=True, nogil=True)
def _grown(array: Any, needed: int) -> Any:
    """Return `array`, or a copy with room for `needed` rows."""
    if needed <= len(array):
        return array
    # Doubling keeps all copies together linear in what is stored at the end.
    shape = (max(needed, 2 * len(array)), array.shape[1])
    larger = np.empty(shape, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(nogil=True)
def _antichain_in_a_word(
    cells: Any, n: int, low: int, high: int, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    span: Any, n_slots: int, n_alive: int,
) -> Any:  # fmt: skip
    """Fill the slots for one point of at most 64 features with a span of boxes; return how many there are, and alive.

    A slot holds a missed set; ``alive`` lists those that contain no other, ``slot_of`` names the
    slot of each box, -1 for none.
    """
    offset, feature, first, last, subset, inside = lits
    for box in range(span[0], span[1]):
        # Stays -1 for a box that is similar, misses too many features, or whose set contains another's.
        slot_of[box] = -1
        # Outputs are ranked, so similar ones are a run: a class alone, or those within delta.
        if low <= rank[box] < high:
            continue
        size = 0
        missed = np.uint64(0)
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            cell = cells[n, i]
            if subset[literal] >= 0:
                outside = inside[subset[literal] + cell] == 0
            else:
                outside = cell < first[literal] or cell >= last[literal]
            if outside:
                # A box has one literal per feature at most, so counting literals counts features.
                missed |= np.uint64(1) << np.uint64(i)
                size += 1
        # Leaving out a large set makes no other one minimal: it cannot be contained in a smaller one.
        if size > max_size:
            continue
        # The alive sets are an antichain, before and after. So once one of them lies in the new set, none can
        # contain it, and the pass may stop; the converse leaves others to look at.
        k = 0
        fresh = True
        while k < n_alive:
            other = slots[alive[k], 0]
            both = other & missed
            if both == other:
                fresh = False
                # An equal set must be told from a proper subset: both drop the new set, but an equal one keeps the box.
                if other == missed:
                    slot_of[box] = alive[k]
                break
            if both == missed:
                # Swapping with the last keeps the list dense; position k then holds one not yet looked at.
                n_alive -= 1
                alive[k] = alive[n_alive]
            else:
                k += 1
        if fresh:
            # Slots of sets that are no longer alive are not used again, because boxes still refer to them; so
            # there are at most as many slots as boxes.
            slots[n_slots, 0] = missed
            alive[n_alive] = slot_of[box] = n_slots
            n_slots += 1
            n_alive += 1
    return n_slots, n_alive


@njit(nogil=True)
def _antichain(
    cells: Any, n: int, low: int, high: int, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    span: Any, n_slots: int, n_alive: int,
) -> Any:  # fmt: skip
    """Do the same for any number of features, word by word."""
    offset, feature, first, last, subset, inside = lits
    n_words = slots.shape[1]
    missed = np.empty(n_words, np.uint64)
    for box in range(span[0], span[1]):
        slot_of[box] = -1
        if low <= rank[box] < high:
            continue
        # From here on as in the form for one word, which says why.
        size = 0
        missed[:] = 0
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            cell = cells[n, i]
            if subset[literal] >= 0:
                outside = inside[subset[literal] + cell] == 0
            else:
                outside = cell < first[literal] or cell >= last[literal]
            if outside:
                missed[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
                size += 1
        if size > max_size:
            continue
        k = 0
        fresh = True
        while k < n_alive:
            # Both inclusions in one pass over the words, without a branch per word.
            below = above = True  # the other set is contained in this one; this one in the other
            for w in range(n_words):
                other = slots[alive[k], w]
                both = other & missed[w]
                below &= both == other
                above &= both == missed[w]
            if below:
                fresh = False
                if above:
                    slot_of[box] = alive[k]
                break
            if above:
                n_alive -= 1
                alive[k] = alive[n_alive]
            else:
                k += 1
        if fresh:
            slots[n_slots] = missed
            alive[n_alive] = slot_of[box] = n_slots
            n_slots += 1
            n_alive += 1
    return n_slots, n_alive


@njit(cache=True, nogil=True)
def antichain(
    cells: Any, low: int, high: int, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    span: Any, n_slots: int, n_alive: int,
) -> Any:  # fmt: skip
    """Go on with a span of boxes at the one point of `cells`; return how many slots there are, and how many alive."""
    if slots.shape[1] == 1:
        return _antichain_in_a_word(
            cells, 0, low, high, rank, lits, max_size, slot_of, slots, alive, span, n_slots, n_alive
        )
    return _antichain(cells, 0, low, high, rank, lits, max_size, slot_of, slots, alive, span, n_slots, n_alive)


@njit(cache=True, nogil=True)
def minimal_misses(cells: Any, low: Any, high: Any, rank: Any, lits: Any, n_words: int, max_size: int) -> Any:
    """Return for each point the minimal sets of features on which dissimilar boxes miss it.

    A box is similar when ``low[n] <= rank[box] < high[n]``; `lits` are the boxes' literals. The
    answer has ``starts`` (the sets of point n are ``starts[n]:starts[n + 1]``), ``sets`` (words of
    64 features), and ``pairs`` of (box, set): the boxes whose missed set is that set.
    """
    n_boxes = len(rank)
    starts = np.zeros(len(cells) + 1, np.int64)
    # Guesses for a small family per point; both arrays grow when they prove too small.
    sets = np.empty((4 * len(cells) + 4, n_words), np.uint64)
    pairs = np.empty((8 * len(cells) + 8, 2), np.int64)
    n_pairs = 0
    slot_of = np.empty(n_boxes, np.int64)
    slots = np.empty((n_boxes, n_words), np.uint64)
    alive = np.empty(n_boxes, np.int64)
    place = np.empty(n_boxes, np.int64)  # of a slot, among the sets
    for n in range(len(cells)):
        if n_words == 1:
            n_slots, n_alive = _antichain_in_a_word(
                cells, n, low[n], high[n], rank, lits, max_size, slot_of, slots, alive, (0, n_boxes), 0, 0
            )
        else:
            n_slots, n_alive = _antichain(
                cells, n, low[n], high[n], rank, lits, max_size, slot_of, slots, alive, (0, n_boxes), 0, 0
            )
        start = starts[n]
        starts[n + 1] = start + n_alive
        sets = _grown(sets, start + n_alive)
        # Only slots of this point: whatever lies behind them is left over from an earlier one.
        place[:n_slots] = -1
        for k in range(n_alive):
            sets[start + k] = slots[alive[k]]
            place[alive[k]] = start + k
        # Room for all boxes at once, so that the loop below needs no test.
        pairs = _grown(pairs, n_pairs + n_boxes)
        for box in range(n_boxes):
            # A box whose set was minimal for a while has a slot, but that slot has no place among the sets.
            if slot_of[box] >= 0 and place[slot_of[box]] >= 0:
                pairs[n_pairs, 0] = box
                pairs[n_pairs, 1] = place[slot_of[box]]
                n_pairs += 1
    return starts, sets[: starts[-1]].copy(), pairs[:n_pairs].copy()


@njit(cache=True, nogil=True)
def narrow_totals(pairs: Any, sets: Any, offset: Any, feature: Any, worth: Any) -> Any:
    """Return for each set the sum over its boxes of the product of their worths, in int64."""
    totals = np.zeros(len(sets), np.int64)
    for p in range(len(pairs)):
        box, found = pairs[p, 0], pairs[p, 1]
        # No overflow: the caller takes this path only if the product of the whole worths of the features of
        # any set is below 2**63. A box holds a part of that, and boxes of one set are disjoint.
        product = np.int64(1)
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            # A literal outside the set holds the instance's own cell and is no part of the weight.
            if (sets[found, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                product *= worth[literal]
        totals[found] += product
    return totals
