"""Covers the dissimilar points of CXps by disjoint boxes; compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.engines.ensemble.bound_kernels import best_leaf, cut_point, exceeds, inner

__all__ = ["CXP", "N_OUT", "REGISTERS", "Boxes", "cover"]


# registers of `cover` besides NODES and LIMIT
TOP, CXP, N_OUT = 2, 3, 4
REGISTERS = 5


class Boxes(NamedTuple):
    """Pending boxes, one row each, with both bounds of every score."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    root: np.ndarray  # int32[depth, trees of all groups]
    leaf: np.ndarray  # int32[depth, trees of all groups]
    total: np.ndarray  # int64[depth, 2J], limb 0 of the bounds
    alive: np.ndarray  # uint8[depth, J], score j may exceed 0
    whole: np.ndarray  # uint8[depth, m], v's cell is still inside


@inner
def _update(F, B, p, f, todo):
    """Refresh the bounds of live scores after feature `f` (-1: any) was narrowed."""
    m = F.n_cells.size
    scores = F.base.shape[0]
    # Groups g and g + J bound the same score, from above and from below, and die together.
    for g in range(2 * scores):
        if not B.alive[p, g % scores]:
            continue
        first = F.touch_start[g * m + f] if f >= 0 else 0
        last = F.touch_start[g * m + f + 1] if f >= 0 else F.start[g + 1] - F.start[g]
        for i in range(first, last):
            # `touch` numbers the trees of a group from 0.
            t = F.start[g] + (F.touch[i] if f >= 0 else i)
            n = B.root[p, t]
            # A tree that has come down to a leaf can change no more.
            if F.node[n, 0] >= 0:
                root, leaf = best_leaf(F.node, F.counts, n, B.lo, B.hi, p, todo)
                # Only limb 0 is carried along; `exceeds` adds up the others when they can matter.
                B.total[p, g] += F.value[leaf, 0] - F.value[B.leaf[p, t], 0]
                B.root[p, t] = root
                B.leaf[p, t] = leaf


@inner
def _open(F, B, v, Y, todo):
    """Put the box "as v outside Y" at the bottom of the stack."""
    for i in range(F.n_cells.size):
        B.lo[0, i] = v[i]
        B.hi[0, i] = v[i] + 1
        B.whole[0, i] = 0
    for i in Y:
        B.lo[0, i] = 0
        B.hi[0, i] = F.n_cells[i]
        B.whole[0, i] = 1
    scores = F.base.shape[0]
    for g in range(2 * scores):
        B.alive[0, g % scores] = 1
        B.total[0, g] = F.base[g % scores, 0]
        # Values at inner nodes are 0 and no root is a leaf (constant trees are part of the base), so naming
        # the roots as leaves makes the differences in `_update` come out right the first time.
        for t in range(F.start[g], F.start[g + 1]):
            B.root[0, t] = F.root[t]
            B.leaf[0, t] = F.root[t]
    _update(F, B, np.int64(0), np.int64(-1), todo)


@inner
def _copy(B, p, q):
    for i in range(B.lo.shape[1]):
        B.lo[q, i] = B.lo[p, i]
        B.hi[q, i] = B.hi[p, i]
        B.whole[q, i] = B.whole[p, i]
    for t in range(B.root.shape[1]):
        B.root[q, t] = B.root[p, t]
        B.leaf[q, t] = B.leaf[p, t]
    for g in range(B.total.shape[1]):
        B.total[q, g] = B.total[p, g]
    for j in range(B.alive.shape[1]):
        B.alive[q, j] = B.alive[p, j]


@inner
def _judge(F, B, p):
    """1: every point of the box is dissimilar, -1: none is, 0: not known."""
    some = False
    scores = F.base.shape[0]
    # Lower bounds first: a single one above 0 makes the whole box dissimilar, and nothing else matters.
    for g in range(2 * scores - 1, -1, -1):
        j = g % scores
        if not B.alive[p, j]:
            continue
        above = exceeds(F.value, F.base, j, B.total[p, g], B.leaf, p, np.int64(F.start[g]), np.int64(F.start[g + 1]))
        if g >= scores and above:
            return 1
        if g < scores:
            # A score that cannot exceed 0 in a box cannot in any part of it: it is never looked at again.
            B.alive[p, j] = above
            some = some or above
    return 0 if some else -1


@inner
def _vote(F, B, p, gain, node, weight):
    """Feature to split: live trees vote with the width of their bounds."""
    m = F.n_cells.size
    for i in range(m):
        gain[i] = 0.0
        weight[i] = -1.0
    scores = F.base.shape[0]
    # The second half of the nodes is a copy of the first, so the two leaves compare after a shift.
    half = F.node.shape[0] // 2
    for j in range(scores):
        if not B.alive[p, j]:
            continue
        for t in range(F.start[j], F.start[j + 1]):
            n = B.root[p, t]
            high = B.leaf[p, t]
            # The same tree in the group that bounds from below.
            low = B.leaf[p, t + F.start[scores]] - half
            # One leaf is both the best and the worst in reach: the tree contributes a constant here.
            if high == low:
                continue
            r = F.node[n, 1]
            # In preorder the leaves left of a node are those before its right child. The fork where the two
            # paths part is undecided in this box, so cutting there separates them.
            while (high < r) == (low < r):
                n = n + 1 if high < r else r
                r = F.node[n, 1]
            # Floats rank features only; no answer depends on them.
            g = float(F.value[high, 0]) - float(F.value[low, 0])
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


@inner
def _alike(F, B, p, f, c, todo):
    """Return the cells a..b-1 around `c` that act like `c` on every live tree in box `p`."""
    a = B.lo[p, f]
    b = B.hi[p, f]
    m = F.n_cells.size
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        # The trees of the groups from below are the same ones, so half of the groups tell all.
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


@inner
def _split(F, B, p, v, Y, gain, node, weight, todo):
    """Split an undecided box `p`; returns the new height.

    First v's cell, and all that act like it, are cut out of every feature: by
    minimality no point there is dissimilar. Then the voters say where to cut.
    """
    f = _vote(F, B, p, gain, node, weight)
    for k in range(Y.size):
        # Features that still hold v's cell go before all others: what they cut off needs no proof at all.
        i = np.int64(Y[k])
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
    # If nothing lies on either side the box vanishes; if one side is left it takes the place of the box; a
    # copy is needed only for two.
    top = p
    if a > lo and b < hi:
        _copy(B, p, p + 1)
    # The copy is made before the first half is narrowed, and the second goes on top of the stack.
    for side in range(2):
        if side == 0 and a > lo:
            B.hi[top, f] = a
        elif side == 1 and b < hi:
            B.lo[top, f] = b
        else:
            continue
        _update(F, B, top, f, todo)
        top += 1
    return top


@njit(cache=True, nogil=True)
def cover(F, v, offsets, features, B, out, n_boxes, reg):
    """Cover the dissimilar points of each CXp by disjoint boxes.

    CXp c is ``features[offsets[c]:offsets[c + 1]]``. Its boxes are appended to
    `out` as lo, hi per feature; `n_boxes[c]` counts them. Any status but DONE
    leaves a state that can be continued; -1 in reg[TOP] means "open the next".
    """
    m = F.n_cells.size
    # Scratch space is made per call: what must survive an interruption is in B, out and reg.
    todo = np.empty(F.node.shape[0] + 1, np.int32)
    gain = np.empty(m)
    weight = np.empty(m)
    node = np.empty(m, np.int32)
    while reg[CXP] < n_boxes.size:
        Y = features[offsets[reg[CXP]] : offsets[reg[CXP] + 1]]
        if reg[TOP] < 0:
            _open(F, B, v, Y, todo)
            reg[TOP] = 1
        while reg[TOP] > 0:
            # All tests come before the box is touched, so a later call finds it as it was.
            if reg[NODES] >= reg[LIMIT]:
                return ALLOWANCE
            # Splitting adds at most one box on top.
            if reg[TOP] + 1 > B.lo.shape[0]:
                return STACK_FULL
            if reg[N_OUT] + 2 * Y.size > out.size:
                return STORE_FULL
            reg[NODES] += 1
            p = reg[TOP] - 1
            verdict = _judge(F, B, p)
            if verdict == 0:
                reg[TOP] = _split(F, B, p, v, Y, gain, node, weight, todo)
                continue
            reg[TOP] = p
            if verdict > 0:
                # Bounds are listed for Y only; everywhere else the box is as v.
                for i in Y:
                    out[reg[N_OUT]] = B.lo[p, i]
                    out[reg[N_OUT] + 1] = B.hi[p, i]
                    reg[N_OUT] += 2
                n_boxes[reg[CXP]] += 1
        reg[CXP] += 1
        reg[TOP] = -1
    return DONE
