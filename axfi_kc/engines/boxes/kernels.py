"""Hot loops of the box engine, compiled by numba on first use and cached on disk.

One pass over the boxes of each instance keeps the antichain of minimal missed sets up to date,
with no allocation per box. Up to 64 features a set is one word in a register, hence the two forms of
that loop. The test of a literal is written out in each: inlined by numba it took four times as long.
Boxes that are the leaves of a tree are met on a walk instead, which leaves out whole branches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axfi_kc.compiled import kernel, part
from axfi_kc.engines.limb_kernels import add, multiply

__all__ = [
    "antichain_in_a_word",
    "antichain_in_words",
    "misses_in_a_tree",
    "misses_in_a_word",
    "misses_in_words",
    "narrow_totals",
    "wide_totals",
]


@kernel
def antichain_in_a_word(
    cells: Any, n: int, low: int, high: int, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    begin: int, end: int, n_slots: int, n_alive: int,
) -> Any:  # fmt: skip
    """Fill the slots for one point of at most 64 features with a span of boxes; return how many there are, and alive.

    A slot holds a missed set; ``alive`` lists those that contain no other, ``slot_of`` names the
    slot of each box, -1 for none.
    """
    offset, feature, first, last, subset, inside = lits
    for box in range(begin, end):
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
            # Without a branch: which literals a box misses is as good as random, and wrong guesses took half the time.
            outside = (cell < first[literal]) | (cell >= last[literal])
            if subset[literal] >= 0:
                outside = inside[subset[literal] + cell] == 0
            # A box has one literal per feature at most, so counting literals counts features.
            missed |= np.uint64(outside) << np.uint64(i)
            size += outside
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


@kernel
def antichain_in_words(
    cells: Any, n: int, low: int, high: int, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    begin: int, end: int, n_slots: int, n_alive: int,
) -> Any:  # fmt: skip
    """Do the same for any number of features, word by word."""
    offset, feature, first, last, subset, inside = lits
    n_words = slots.shape[1]
    missed = np.empty(n_words, np.uint64)
    for box in range(begin, end):
        slot_of[box] = -1
        if low <= rank[box] < high:
            continue
        # From here on as in the form for one word, which says why.
        size = 0
        for w in range(n_words):
            missed[w] = 0
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            cell = cells[n, i]
            outside = (cell < first[literal]) | (cell >= last[literal])
            if subset[literal] >= 0:
                outside = inside[subset[literal] + cell] == 0
            missed[i >> 6] |= np.uint64(outside) << np.uint64(i & 63)
            size += outside
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
            for w in range(n_words):
                slots[n_slots, w] = missed[w]
            alive[n_alive] = slot_of[box] = n_slots
            n_slots += 1
            n_alive += 1
    return n_slots, n_alive


@part
def _collect(
    start: int, slot_of: Any, slots: Any, alive: Any, place: Any, n_slots: int, n_alive: int, sets: Any, pairs: Any,
    n_pairs: int,
) -> Any:  # fmt: skip
    """Add one point's sets from `start` on, and its pairs; return how many pairs there are."""
    # Only slots of this point: whatever lies behind them is left over from an earlier one.
    for k in range(n_slots):
        place[k] = -1
    for k in range(n_alive):
        for w in range(slots.shape[1]):
            sets[start + k, w] = slots[alive[k], w]
        place[alive[k]] = start + k
    for box in range(slot_of.shape[0]):
        # A box whose set was minimal for a while has a slot, but that slot has no place among the sets.
        if slot_of[box] >= 0 and place[slot_of[box]] >= 0:
            pairs[n_pairs, 0] = box
            pairs[n_pairs, 1] = place[slot_of[box]]
            n_pairs += 1
    return n_pairs


@kernel
def misses_in_a_word(
    cells: Any, low: Any, high: Any, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    place: Any, first: int, starts: Any, sets: Any, pairs: Any, n_pairs: int,
) -> Any:  # fmt: skip
    """Find for each point from `first` on the minimal sets of features on which dissimilar boxes miss it.

    A box is similar when ``low[n] <= rank[box] < high[n]``; `lits` are the boxes' literals. Fills ``starts`` (the sets
    of point n are ``starts[n]:starts[n + 1]``), ``sets`` (words of 64 features), and ``pairs`` of (box, set): the
    boxes whose missed set is that set. Returns how many points and pairs are done, fewer than all where there is no
    room left for the next point.
    """
    n_boxes = rank.shape[0]
    for n in range(first, cells.shape[0]):
        # Room for all boxes at once, so that the loops need no test.
        if starts[n] + n_boxes > sets.shape[0] or n_pairs + n_boxes > pairs.shape[0]:
            return n, n_pairs
        n_slots, n_alive = antichain_in_a_word(
            cells, n, low[n], high[n], rank, lits, max_size, slot_of, slots, alive, 0, n_boxes, 0, 0
        )
        n_pairs = _collect(starts[n], slot_of, slots, alive, place, n_slots, n_alive, sets, pairs, n_pairs)
        starts[n + 1] = starts[n] + n_alive
    return cells.shape[0], n_pairs


@kernel
def misses_in_words(
    cells: Any, low: Any, high: Any, rank: Any, lits: Any, max_size: int, slot_of: Any, slots: Any, alive: Any,
    place: Any, first: int, starts: Any, sets: Any, pairs: Any, n_pairs: int,
) -> Any:  # fmt: skip
    """Do the same for any number of features; apart, so that a first use for up to 64 does not compile it."""
    n_boxes = rank.shape[0]
    for n in range(first, cells.shape[0]):
        if starts[n] + n_boxes > sets.shape[0] or n_pairs + n_boxes > pairs.shape[0]:
            return n, n_pairs
        n_slots, n_alive = antichain_in_words(
            cells, n, low[n], high[n], rank, lits, max_size, slot_of, slots, alive, 0, n_boxes, 0, 0
        )
        n_pairs = _collect(starts[n], slot_of, slots, alive, place, n_slots, n_alive, sets, pairs, n_pairs)
        starts[n + 1] = starts[n] + n_alive
    return cells.shape[0], n_pairs


@kernel
def misses_in_a_tree(
    cells: Any, low: Any, high: Any, tree: Any, max_size: int, stack: Any, slots: Any, alive: Any, place: Any, met: Any,
    first: int, starts: Any, sets: Any, pairs: Any, n_pairs: int,
) -> Any:  # fmt: skip
    """Do the same for boxes that are the leaves of a tree over at most 64 features, without looking at all of them.

    A walk from the root to the leaf of the point, and then to the leaves beside its way, nearest first. What lies below
    a node misses the point wherever the way there does, so a branch is left out when that contains a set that was
    found, or more features than are asked for; and when all of its outputs are similar, which ``lowest`` and
    ``highest`` of its ranks say.
    """
    feature, left, right, mask_offset, left_mask, lowest, highest, box = tree
    n_leaves = met.shape[0]
    for n in range(first, cells.shape[0]):
        if starts[n] + n_leaves > sets.shape[0] or n_pairs + n_leaves > pairs.shape[0]:
            return n, n_pairs
        n_slots = n_alive = n_met = depth = 0
        node = 0
        missed = np.uint64(0)
        size = 0
        while True:
            # Down to a leaf, always to the side of the point; the other side is left for later.
            while feature[node] >= 0 and not (low[n] <= lowest[node] and highest[node] < high[n]):
                i = feature[node]
                near = left[node]
                far = right[node]
                if left_mask[mask_offset[node] + cells[n, i]] == 0:
                    near, far = far, near
                bit = np.uint64(1) << np.uint64(i)
                stack[depth, 0] = far
                stack[depth, 1] = np.int64(missed | bit)
                stack[depth, 2] = size + (missed & bit == 0)
                depth += stack[depth, 2] <= max_size
                node = near
            if not (low[n] <= lowest[node] and highest[node] < high[n]):
                # As in the forms for lists of boxes, which say why.
                k = 0
                fresh = True
                while k < n_alive:
                    other = slots[alive[k], 0]
                    both = other & missed
                    if both == other:
                        fresh = False
                        if other == missed:
                            met[n_met, 0] = box[node]
                            met[n_met, 1] = alive[k]
                            n_met += 1
                        break
                    if both == missed:
                        n_alive -= 1
                        alive[k] = alive[n_alive]
                    else:
                        k += 1
                if fresh:
                    slots[n_slots, 0] = missed
                    alive[n_alive] = n_slots
                    met[n_met, 0] = box[node]
                    met[n_met, 1] = n_slots
                    n_slots += 1
                    n_alive += 1
                    n_met += 1
            # Back to the last branch that was left and may have a minimal set.
            wanted = False
            while depth > 0 and not wanted:
                depth -= 1
                missed = np.uint64(stack[depth, 1])
                wanted = True
                for k in range(n_alive):
                    other = slots[alive[k], 0]
                    # An equal set is no reason: there may be boxes that miss no more.
                    wanted &= (other & missed != other) | (other == missed)
            if not wanted:
                break
            node = stack[depth, 0]
            size = stack[depth, 2]
        for k in range(n_slots):
            place[k] = -1
        for k in range(n_alive):
            sets[starts[n] + k, 0] = slots[alive[k], 0]
            place[alive[k]] = starts[n] + k
        for k in range(n_met):
            if place[met[k, 1]] >= 0:
                pairs[n_pairs, 0] = met[k, 0]
                pairs[n_pairs, 1] = place[met[k, 1]]
                n_pairs += 1
        starts[n + 1] = starts[n] + n_alive
    return cells.shape[0], n_pairs


@kernel
def narrow_totals(pairs: Any, sets: Any, offset: Any, feature: Any, worth: Any, totals: Any) -> Any:
    """Add to `totals` for each set the sum over its boxes of the product of their worths, in int64."""
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


@kernel
def wide_totals(pairs: Any, begin: int, end: int, sets: Any, offset: Any, feature: Any, worth: Any, totals: Any) -> Any:
    """Add the same for a span of pairs to rows of limbs, `totals`; a literal's worth is a row of limbs as well."""
    product = np.empty(totals.shape[1] + worth.shape[1], np.uint32)
    for p in range(begin, end):
        box, found = pairs[p, 0], pairs[p, 1]
        product[0] = 1
        used = 1
        for literal in range(offset[box], offset[box + 1]):
            i = feature[literal]
            if (sets[found, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                used = multiply(product, used, worth, literal)
        add(totals, found, product, used, np.uint64(1))
