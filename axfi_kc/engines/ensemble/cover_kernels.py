"""Covers the dissimilar points of CXps by disjoint boxes; compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import kernel, part
from axfi_kc.engines.ensemble.bound_kernels import best_leaf, cut_point, exceeds, fork_of
from axfi_kc.engines.ensemble.condition_kernels import condition

__all__ = ["ANY_SET", "CXP", "FIRST", "N_OUT", "OTHERS", "REGISTERS", "TOP", "Boxes", "cover"]


# registers of `cover` besides NODES and LIMIT
TOP, CXP, N_OUT, ANY_SET, OTHERS, FIRST = 2, 3, 4, 5, 6, 7
REGISTERS = 8


class Boxes(NamedTuple):
    """Pending boxes, one row each, with both bounds of every score; trees of all scores are numbered through."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    root: np.ndarray  # int32[depth, trees], first undecided node
    high: np.ndarray  # int32[depth, trees], best leaf in reach
    low: np.ndarray  # int32[depth, trees], worst leaf in reach, in the copies with reversed ranks
    fork: np.ndarray  # int32[depth, trees], where the paths to these two part, or -1
    above: np.ndarray  # int64[depth, J], limb 0 of the bounds from above
    below: np.ndarray  # int64[depth, J], limb 0 of the bounds from below
    alive: np.ndarray  # uint8[depth, J], score j may exceed 0
    whole: np.ndarray  # uint8[depth, m], v's cell is still inside


@part
def _update(F, B, p, f, todo):
    """Refresh the bounds of live scores after feature `f` (-1: any) was narrowed."""
    m = F.n_cells.size
    half = F.node.shape[0] // 2
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        first = F.touch_start[j * m + f] if f >= 0 else 0
        last = F.touch_start[j * m + f + 1] if f >= 0 else F.start[j + 1] - F.start[j]
        for i in range(first, last):
            # `touch` numbers the trees of a group from 0.
            t = F.start[j] + (F.touch[i] if f >= 0 else i)
            n = B.root[p, t]
            # A tree that has come down to a leaf can change no more.
            if F.node[n, 0] >= 0:
                root, high = best_leaf(F.node, F.counts, n, B.lo, B.hi, p, todo)
                # The second half of the nodes is a copy of the first with reversed ranks: there the worst is best.
                _, low = best_leaf(F.node, F.counts, root + half, B.lo, B.hi, p, todo)
                # Only limb 0 is carried along; `exceeds` adds up the others when they can matter.
                B.above[p, j] += F.value[high, 0] - F.value[B.high[p, t], 0]
                B.below[p, j] += F.value[low, 0] - F.value[B.low[p, t], 0]
                B.root[p, t] = root
                B.high[p, t] = high
                B.low[p, t] = low
                B.fork[p, t] = fork_of(F.node, root, high, low - half)


@part
def _may_exceed(F, B, p, f, lo, hi, todo):
    """Tell whether some score may exceed 0 where feature `f` of box `p` has only the cells lo..hi-1.

    A look that changes nothing, and needs no bounds from below: half of all parts end here.
    """
    m = F.n_cells.size
    old_lo = B.lo[p, f]
    old_hi = B.hi[p, f]
    B.lo[p, f] = lo
    B.hi[p, f] = hi
    found = False
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        total = B.above[p, j]
        for i in range(F.touch_start[j * m + f], F.touch_start[j * m + f + 1]):
            t = F.start[j] + F.touch[i]
            n = B.root[p, t]
            if F.node[n, 0] >= 0:
                _, high = best_leaf(F.node, F.counts, n, B.lo, B.hi, p, todo)
                total += F.value[high, 0] - F.value[B.high[p, t], 0]
        # Finer limbs add less than one unit per tree and for the base.
        if F.value.shape[1] > 1:
            total += F.start[j + 1] - F.start[j] + 1
        if total > 0:
            found = True
            break
    B.lo[p, f] = old_lo
    B.hi[p, f] = old_hi
    return found


@part
def _open(F, B, v, features, first, last, low, high, whole, todo):
    """Put the box "as v outside features[first:last]" at the bottom of the stack.

    Those have the cells from `low` up to `high`. `whole`: these are a CXp, so that by minimality v's cells can be cut
    out.
    """
    for i in range(F.n_cells.size):
        B.lo[0, i] = v[i]
        B.hi[0, i] = v[i] + 1
        B.whole[0, i] = 0
    for k in range(first, last):
        i = features[k]
        B.lo[0, i] = low[i]
        B.hi[0, i] = high[i]
        B.whole[0, i] = whole
    scores = F.base.shape[0]
    half = F.node.shape[0] // 2
    for j in range(scores):
        B.alive[0, j] = 1
        B.above[0, j] = F.base[j, 0]
        B.below[0, j] = F.base[j, 0]
        # Values at inner nodes are 0 and no root is a leaf (constant trees are part of the base), so naming
        # the roots as leaves makes the differences in `_update` come out right the first time.
        for t in range(F.start[j], F.start[j + 1]):
            B.root[0, t] = F.root[t]
            B.high[0, t] = F.root[t]
            B.low[0, t] = F.root[t] + half
            B.fork[0, t] = -1
    _update(F, B, 0, np.int64(-1), todo)


@part
def _copy(B, p, q, count):
    for i in range(B.lo.shape[1]):
        B.lo[q, i] = B.lo[p, i]
        B.hi[q, i] = B.hi[p, i]
        B.whole[q, i] = B.whole[p, i]
    for t in range(count):
        B.root[q, t] = B.root[p, t]
        B.high[q, t] = B.high[p, t]
        B.low[q, t] = B.low[p, t]
        B.fork[q, t] = B.fork[p, t]
    for j in range(B.alive.shape[1]):
        B.above[q, j] = B.above[p, j]
        B.below[q, j] = B.below[p, j]
        B.alive[q, j] = B.alive[p, j]


@part
def _judge(F, B, p):
    """1: every point of the box is dissimilar, -1: none is, 0: not known."""
    some = False
    scores = F.base.shape[0]
    # Lower bounds first: a single one above 0 makes the whole box dissimilar, and nothing else matters.
    for j in range(scores):
        first = np.int64(F.start[j])
        last = np.int64(F.start[j + 1])
        if B.alive[p, j] and exceeds(F.value, F.base, j, B.below[p, j], B.low, p, first, last):
            return 1
    for j in range(scores):
        first = np.int64(F.start[j])
        last = np.int64(F.start[j + 1])
        if B.alive[p, j]:
            # A score that cannot exceed 0 in a box cannot in any part of it: it is never looked at again.
            B.alive[p, j] = exceeds(F.value, F.base, j, B.above[p, j], B.high, p, first, last)
            some = some or B.alive[p, j]
    return 0 if some else -1


@part
def _vote(F, B, p, gain, node, weight):
    """Feature to split: live trees vote with the width of their bounds."""
    m = F.n_cells.size
    for i in range(m):
        gain[i] = 0.0
        weight[i] = -1.0
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        for t in range(F.start[j], F.start[j + 1]):
            # The fork where the paths to the two leaves part is undecided in this box, so cutting there separates
            # them. Without one the tree contributes a constant here.
            n = B.fork[p, t]
            if n >= 0:
                # Floats rank features only; no answer depends on them.
                g = float(F.value[B.high[p, t], 0]) - float(F.value[B.low[p, t], 0])
                f = F.node[n, 0]
                gain[f] += g
                if g > weight[f]:
                    weight[f] = g
                    node[f] = n
    # Never stays -1 for an undecided box: a score that is alive has bounds on both sides of 0, and so some
    # tree of it has two leaves in reach.
    best = np.int64(-1)
    for i in range(m):
        if weight[i] >= 0.0 and (best < 0 or gain[i] > gain[best]):
            best = i
    return best


@part
def _alike(F, B, p, f, c, todo):
    """Return the cells a..b-1 around `c` that act like `c` on every live tree in box `p`."""
    a = B.lo[p, f]
    b = B.hi[p, f]
    m = F.n_cells.size
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        for i in range(F.touch_start[j * m + f], F.touch_start[j * m + f + 1]):
            todo[0] = B.root[p, F.start[j] + F.touch[i]]
            sp = 1
            while sp > 0:
                sp -= 1
                n = todo[sp]
                g = F.node[n, 0]
                if g < 0:
                    continue
                lo = B.lo[p, g]
                hi = B.hi[p, g]
                h = F.node[n, 2]
                if h >= 0:
                    left = lo < h
                    right = hi > h
                    # Cells below h go left, so c and its like are those at or above it, or those below it.
                    if g == f and h <= c:
                        a = max(a, h)
                    elif g == f:
                        b = min(b, h)
                else:
                    s = F.counts[hi - 1 - h] - F.counts[lo - 1 - h]
                    left = s > 0
                    right = s < hi - lo
                    if g == f:
                        # Neighbouring prefix counts differ by one exactly at cells that go left.
                        mine = F.counts[c - h] - F.counts[c - 1 - h]
                        e = c
                        # The run around c shrinks from test to test and always contains c, so it stays a run.
                        while e > a and F.counts[e - 1 - h] - F.counts[e - 2 - h] == mine:
                            e -= 1
                        a = e
                        e = c + 1
                        while e < b and F.counts[e - h] - F.counts[e - 1 - h] == mine:
                            e += 1
                        b = e
                if left:
                    todo[sp] = n + 1
                    sp += 1
                if right:
                    todo[sp] = F.node[n, 1]
                    sp += 1
    return a, b


@part
def _split(F, B, p, v, features, first, last, gain, node, weight, todo, others):
    """Split an undecided box `p`; returns the new height.

    First v's cell, and all that act like it, are cut out of every feature: by
    minimality no point there is dissimilar. Then the voters say where to cut.
    With `others`, parts where no score exceeds 0 are what is looked for, and stay.
    """
    f = _vote(F, B, p, gain, node, weight)
    for k in range(first, last):
        # Features that still hold v's cell go before all others: what they cut off needs no proof at all.
        i = np.int64(features[k])
        if B.whole[p, i] and (not B.whole[p, f] or gain[i] > gain[f]):
            f = i
    lo = B.lo[p, f]
    hi = B.hi[p, f]
    if B.whole[p, f]:
        # Points with this feature at v's cell change a proper part of Y only, so they are similar; and cells
        # a..b-1 give every score that is still alive the value it has there.
        a, b = _alike(F, B, p, f, v[f], todo)
        B.whole[p, f] = 0
    else:
        a = cut_point(F.node, F.counts, node[f], v[f], lo, hi)
        b = a
    lower = a > lo and (others or _may_exceed(F, B, p, f, lo, a, todo))
    upper = b < hi and (others or _may_exceed(F, B, p, f, b, hi, todo))
    # If nothing is left on either side the box vanishes; if one side is left it takes the place of the box; a
    # copy is needed only for two.
    if lower and upper:
        _copy(B, p, p + 1, F.start[F.base.shape[0]])
        B.lo[p + 1, f] = b
        _update(F, B, p + 1, f, todo)
    if lower:
        B.hi[p, f] = a
    elif upper:
        B.lo[p, f] = b
    else:
        return p
    _update(F, B, p, f, todo)
    return p + 2 if lower and upper else p + 1


@kernel
def cover(whole, F, v, offsets, features, low, high, B, out, n_boxes, T, reg):
    """Cover the dissimilar points of each CXp by disjoint boxes, within the cells from `low` up to `high`.

    `whole` are the trees, `F` has room for what is left of them around v.

    CXp c is ``features[offsets[c]:offsets[c + 1]]``. Its boxes are appended to
    `out` as lo, hi per feature; `n_boxes[c]` counts them. Any status but DONE
    leaves a state that can be continued; -1 in reg[TOP] means "open the next".
    With reg[ANY_SET] these may be any sets of features, with reg[OTHERS] it is the points where no score exceeds 0
    that are covered, and with reg[FIRST] the first box of each set is enough.
    """
    # What must survive an interruption is in B, F, out and reg; `T` is scratch space.
    todo = T.todo
    others = reg[OTHERS] != 0
    while reg[CXP] < n_boxes.size:
        first = np.int64(offsets[reg[CXP]])
        last = np.int64(offsets[reg[CXP] + 1])
        if reg[TOP] < 0:
            for w in range(T.fixed.size):
                T.fixed[w] = 0
            for k in range(first, last):
                T.fixed[features[k] >> 6] |= np.uint64(1) << np.uint64(features[k] & 63)
            condition(whole, F, v, T.fixed, todo, T.parent, T.seen)
            _open(F, B, v, features, first, last, low, high, np.uint8(reg[ANY_SET] == 0), todo)
            reg[TOP] = 1
        while reg[TOP] > 0:
            # All tests come before the box is touched, so a later call finds it as it was.
            if reg[NODES] >= reg[LIMIT]:
                return ALLOWANCE
            # Splitting adds at most one box on top.
            if reg[TOP] + 1 > B.lo.shape[0]:
                return STACK_FULL
            if reg[N_OUT] + 2 * (last - first) > out.size:
                return STORE_FULL
            reg[NODES] += 1
            p = reg[TOP] - 1
            verdict = _judge(F, B, p)
            if verdict == 0:
                reg[TOP] = _split(F, B, p, v, features, first, last, T.gain, T.node, T.weight, todo, others)
                continue
            reg[TOP] = p
            if (verdict < 0) == others:
                # Bounds are listed for Y only; everywhere else the box is as v.
                for k in range(first, last):
                    out[reg[N_OUT]] = B.lo[p, features[k]]
                    out[reg[N_OUT] + 1] = B.hi[p, features[k]]
                    reg[N_OUT] += 2
                n_boxes[reg[CXP]] += 1
                if reg[FIRST]:
                    reg[TOP] = 0
        reg[CXP] += 1
        reg[TOP] = -1
    return DONE
