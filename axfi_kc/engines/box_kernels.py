"""Hot loops of the box engine, compiled by numba on first use and cached on disk.

Long for speed: one pass over the boxes of each instance keeps the antichain of minimal missed
sets up to date, with no allocation per box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["home_boxes", "minimal_misses", "narrow_totals"]


@njit(cache=True, nogil=True, inline="always")
def _misses(cell: Any, literal: Any, first: Any, last: Any, subset: Any, inside: Any) -> Any:
    """Tell whether a literal excludes a cell."""
    if subset[literal] >= 0:
        return inside[subset[literal] + cell] == 0
    return cell < first[literal] or cell >= last[literal]


@njit(cache=True, nogil=True)
def home_boxes(cells: Any, offset: Any, feature: Any, first: Any, last: Any, subset: Any, inside: Any) -> Any:
    """Return the box that holds each point (the boxes cover the space)."""
    found = np.full(len(cells), -1, np.int64)
    for n in range(len(cells)):
        for box in range(len(offset) - 1):
            misses = False
            for literal in range(offset[box], offset[box + 1]):
                if _misses(cells[n, feature[literal]], literal, first, last, subset, inside):
                    misses = True
                    break
            if not misses:
                found[n] = box
                break
    return found


@njit(cache=True, nogil=True)
def _grown(array: Any, needed: int) -> Any:
    """Return `array`, or a copy with room for `needed` rows."""
    if needed <= len(array):
        return array
    shape = (max(needed, 2 * len(array)), array.shape[1])
    larger = np.empty(shape, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def minimal_misses(
    cells: Any,
    low: Any,
    high: Any,
    rank: Any,
    offset: Any,
    feature: Any,
    first: Any,
    last: Any,
    subset: Any,
    inside: Any,
    n_words: int,
    max_size: int,
) -> Any:
    """Return for each point the minimal sets of features on which dissimilar boxes miss it.

    A box is similar when ``low[n] <= rank[box] < high[n]``. The answer has ``starts`` (the sets
    of point n are ``starts[n]:starts[n + 1]``), ``sets`` (words of 64 features), and ``pairs``
    of (box, set): the boxes whose missed set is that set.
    """
    n_boxes = len(offset) - 1
    starts = np.zeros(len(cells) + 1, np.int64)
    sets = np.empty((4 * len(cells) + 4, n_words), np.uint64)
    pairs = np.empty((8 * len(cells) + 8, 2), np.int64)
    n_pairs = 0
    slot_of = np.empty(n_boxes, np.int64)  # the slot that holds a box's set, -1 for none
    slots = np.empty((n_boxes, n_words), np.uint64)
    alive = np.empty(n_boxes, np.int64)  # slots on the antichain
    place = np.empty(n_boxes, np.int64)  # of a slot, on the final antichain
    missed = np.empty(n_words, np.uint64)
    for n in range(len(cells)):
        n_slots = 0
        n_alive = 0
        for box in range(n_boxes):
            slot_of[box] = -1
            if low[n] <= rank[box] < high[n]:
                continue
            size = 0
            for w in range(n_words):
                missed[w] = 0
            for literal in range(offset[box], offset[box + 1]):
                i = feature[literal]
                if _misses(cells[n, i], literal, first, last, subset, inside):
                    missed[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
                    size += 1
                    if size > max_size:
                        break
            if size > max_size:
                continue
            k = 0
            verdict = 1  # 1: new, 0: not minimal, 2: met before
            while k < n_alive:
                slot = alive[k]
                below = True  # the slot's set is contained in this one
                above = True
                for w in range(n_words):
                    both = slots[slot, w] & missed[w]
                    below &= both == slots[slot, w]
                    above &= both == missed[w]
                if below and above:
                    slot_of[box] = slot
                    verdict = 2
                    break
                if below:
                    verdict = 0
                    if k:  # what excluded one box is likely to exclude the next
                        alive[k], alive[k >> 1] = alive[k >> 1], alive[k]
                    break
                if above:
                    n_alive -= 1
                    alive[k] = alive[n_alive]
                else:
                    k += 1
            if verdict == 1:
                for w in range(n_words):
                    slots[n_slots, w] = missed[w]
                alive[n_alive] = n_slots
                slot_of[box] = n_slots
                n_slots += 1
                n_alive += 1
        start = starts[n]
        starts[n + 1] = start + n_alive
        sets = _grown(sets, start + n_alive)
        place[:n_slots] = -1
        for k in range(n_alive):
            sets[start + k] = slots[alive[k]]
            place[alive[k]] = start + k
        pairs = _grown(pairs, n_pairs + n_boxes)
        for box in range(n_boxes):
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
        product = np.int64(1)
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            if (sets[found, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                product *= worth[literal]
        totals[found] += product
    return totals
