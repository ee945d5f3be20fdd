"""Covers the dissimilar points of CXps by disjoint boxes; compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.engines.ensemble.bound_kernels import (
    Around,
    Ensemble,
    best_of,
    cut_point,
    exceeds,
    fork_of,
    lost,
    reach,
    side_lost,
    tests_decided,
    worst_of,
)
from axfi_kc.engines.ensemble.search_kernels import Scratch

__all__ = ["ANY_SET", "CXP", "FIRST", "N_OUT", "OTHERS", "REGISTERS", "TOP", "Boxes", "cover"]


# registers of `cover` besides NODES and LIMIT
TOP, CXP, N_OUT, ANY_SET, OTHERS, FIRST, LIVE = 2, 3, 4, 5, 6, 7, 8
REGISTERS = 9
_UNKNOWN = -2  # a fork that nobody has asked for yet


class Boxes(NamedTuple):
    """Pending boxes, one row each, with both bounds of every score; trees of all scores are numbered through."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    mask: np.ndarray  # uint64[depth, blocks], leaves in reach
    high: np.ndarray  # int32[depth, trees], best of them
    low: np.ndarray  # int32[depth, trees], worst of them
    fork: np.ndarray  # int32[depth, trees], where the paths to these two part
    above: np.ndarray  # int64[depth, J], limb 0 of the bounds from above
    below: np.ndarray  # int64[depth, J], limb 0 of the bounds from below
    alive: np.ndarray  # uint8[depth, J], score j may exceed 0
    whole: np.ndarray  # uint8[depth, m], v's cell is still inside


@part
def _decide(F, B, p, f, lo, hi):
    """Use what the cells of feature `f`, which were lo..hi-1, decide now; tell whether a score may exceed 0."""
    a = B.lo[p, f]
    b = B.hi[p, f]
    found = False
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        above = B.above[p, j]
        below = B.below[p, j]
        for step in range(3):
            begin, end = tests_decided(F, j, f, step, a, b, lo, hi)
            for e in range(begin, end):
                side = side_lost(F.counts, F.test[e, 2], step, a, b)
                if side < 0:
                    continue
                block = F.test[e, 1]
                mask = B.mask[p, block]
                left = mask & ~F.sides[e, side]
                if left == mask:
                    continue
                B.mask[p, block] = left
                t = F.test[e, 0]
                high = best_of(F.block_start, F.leaf_start, F.leaf, F.node, B.mask, p, t)
                low = worst_of(F.block_start, F.leaf_start, F.leaf, F.node, B.mask, p, t)
                # Only limb 0 is carried along; `exceeds` adds up the others when they can matter.
                above += F.value[high, 0] - F.value[B.high[p, t], 0]
                below += F.value[low, 0] - F.value[B.low[p, t], 0]
                B.high[p, t] = high
                B.low[p, t] = low
                B.fork[p, t] = _UNKNOWN
        B.above[p, j] = above
        B.below[p, j] = below
        # Finer limbs add less than one unit per tree and for the base.
        slack = F.start[j + 1] - F.start[j] + 1 if F.value.shape[1] > 1 else 0
        found = found or above + slack > 0
    return found


@part
def _open(F, A, B, features, first, last, low, high, whole, free, live):
    """Put the box "as v outside features[first:last]" at the bottom of the stack; return how many trees still vary.

    These features have the cells from `low` up to `high`. `whole`: they are a CXp, so that by minimality v's cells can
    be cut out. `live` gets the trees that vary.
    """
    for i in range(F.n_cells.size):
        B.lo[0, i] = A.v[i]
        B.hi[0, i] = A.v[i] + 1
        B.whole[0, i] = 0
    for w in range(free.size):
        free[w] = 0
    for k in range(first, last):
        i = features[k]
        B.lo[0, i] = low[i]
        B.hi[0, i] = high[i]
        B.whole[0, i] = whole
        free[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    count = 0
    for j in range(F.base.shape[0]):
        B.alive[0, j] = 1
        B.above[0, j] = F.base[j, 0]
        B.below[0, j] = F.base[j, 0]
        reach(F, A.needs, B.mask, np.int64(0), F.start[j], F.start[j + 1], free)
        for t in range(F.start[j], F.start[j + 1]):
            best = best_of(F.block_start, F.leaf_start, F.leaf, F.node, B.mask, np.int64(0), t)
            worst = worst_of(F.block_start, F.leaf_start, F.leaf, F.node, B.mask, np.int64(0), t)
            B.high[0, t] = best
            B.low[0, t] = worst
            B.fork[0, t] = _UNKNOWN
            B.above[0, j] += F.value[best, 0]
            B.below[0, j] += F.value[worst, 0]
            if best != worst:
                live[count] = t
                count += 1
    for k in range(first, last):
        # All tests, those too that send every cell one way.
        _decide(F, B, np.int64(0), np.int64(features[k]), np.int64(-1), np.int64(F.n_cells[features[k]] + 1))
    return count


@part
def _copy(B, p, q, features, first, last):
    """Copy box `p`, which is as v outside the features, to `q`."""
    for k in range(first, last):
        i = features[k]
        B.lo[q, i] = B.lo[p, i]
        B.hi[q, i] = B.hi[p, i]
        B.whole[q, i] = B.whole[p, i]
    for t in range(B.high.shape[1]):
        B.high[q, t] = B.high[p, t]
        B.low[q, t] = B.low[p, t]
        B.fork[q, t] = B.fork[p, t]
    for b in range(B.mask.shape[1]):
        B.mask[q, b] = B.mask[p, b]
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
def _vote(F, B, p, live, count, gain, node, weight):
    """Feature to split: live trees vote with the width of their bounds."""
    m = F.n_cells.size
    for i in range(m):
        gain[i] = 0.0
        weight[i] = -1.0
    j = 0
    for k in range(count):
        t = live[k]
        while t >= F.start[j + 1]:
            j += 1
        # Equal leaves at two places are no width to vote with, and are never cut apart for their own sake.
        if B.high[p, t] == B.low[p, t] or not B.alive[p, j]:
            continue
        n = B.fork[p, t]
        if n == _UNKNOWN:
            # Where the paths to the two leaves part the box is undecided, so cutting there separates them.
            n = fork_of(F.node, F.root[t], B.high[p, t], B.low[p, t])
            B.fork[p, t] = n
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
def _tells_apart(test, sides, block_start, mask, p, e):
    """Tell whether box `p` has leaves in reach on both sides of test `e`, as far as its block knows."""
    b = test[e, 1]
    t = test[e, 0]
    left = mask[p, b] & sides[e, 0] != np.uint64(0)
    right = mask[p, b] & sides[e, 1] != np.uint64(0)
    # The other side may have its leaves in another block.
    return left and right if block_start[t + 1] - block_start[t] == 1 else left or right


@part
def _alike(F, B, p, f, c):
    """Return the cells a..b-1 around `c` that act like `c` on every live tree in box `p`."""
    a = B.lo[p, f]
    b = B.hi[p, f]
    first = F.after_start[f] + 1
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        # Cells below a threshold go left, so c and its like are those at or above the last threshold that is not above
        # c, and those below the next one.
        middle = F.after[j, first + c]
        for e in range(middle - 1, F.after[j, first + a] - 1, -1):
            if _tells_apart(F.test, F.sides, F.block_start, B.mask, p, e):
                a = F.test[e, 2]
                break
        for e in range(middle, F.after[j, first + b - 1]):
            if _tells_apart(F.test, F.sides, F.block_start, B.mask, p, e):
                b = F.test[e, 2]
                break
        for e in range(F.test_start[j * F.n_cells.size + f], F.after[j, first - 1]):
            if not _tells_apart(F.test, F.sides, F.block_start, B.mask, p, e):
                continue
            h = F.test[e, 2]
            # Neighbouring prefix counts differ by one exactly at cells that go left.
            mine = F.counts[c - h] - F.counts[c - 1 - h]
            x = c
            # The run around c shrinks from test to test and always contains c, so it stays a run.
            while x > a and F.counts[x - 1 - h] - F.counts[x - 2 - h] == mine:
                x -= 1
            a = x
            x = c + 1
            while x < b and F.counts[x - h] - F.counts[x - 1 - h] == mine:
                x += 1
            b = x
    return a, b


@part
def _probe(F, B, j, p, f, a, b, trail, kept):
    """Return a bound on score j where feature `f` of box `p` has only the cells a..b-1; that changes nothing."""
    total = B.above[p, j] - lost(F, B.mask, j, p, f, a, b, B.lo[p, f], B.hi[p, f], trail, kept)
    # Finer limbs add less than one unit per tree and for the base.
    return total + F.start[j + 1] - F.start[j] + 1 if F.value.shape[1] > 1 else total


@part
def _promise(F, B, p, f, a, b, trail, kept):
    """Return the largest bound on a live score where feature `f` of box `p` has only the cells a..b-1."""
    if a >= b:
        return np.int64(0)
    best = np.int64(0)
    for j in range(F.base.shape[0]):
        if B.alive[p, j]:
            best = max(best, _probe(F, B, j, p, f, a, b, trail, kept))
    return best


@part
def _next_cut(F, B, p, f, c, upwards):
    """Return the threshold of feature `f` nearest to cell `c`, above or below it, that matters in box `p`, or -1."""
    first = F.after_start[f] + 1
    found = np.int64(-1)
    for j in range(F.base.shape[0]):
        if not B.alive[p, j]:
            continue
        # Thresholds between the first and the last cell, from the near end.
        begin = F.after[j, first + B.lo[p, f]]
        end = F.after[j, first + B.hi[p, f] - 1]
        e = max(begin, F.after[j, first + c]) if upwards else min(end, F.after[j, first + c - 1]) - 1
        step = 1 if upwards else -1
        while begin <= e < end:
            if _tells_apart(F.test, F.sides, F.block_start, B.mask, p, e):
                h = F.test[e, 2]
                if found < 0 or (h < found) == upwards:
                    found = h
                break
            e += step
    return found


@part
def _trim(F, B, p, f, T):
    """Take cells off both ends of feature `f` of box `p` where no score may exceed 0; tell whether there were any."""
    lo = B.lo[p, f]
    hi = B.hi[p, f]
    a = lo
    b = hi
    # What is cut off grows by one threshold at a time, and with it the bound.
    h = _next_cut(F, B, p, f, lo, np.bool_(True))
    while h >= 0 and _promise(F, B, p, f, lo, h, T.trail, T.kept) <= 0:
        a = h
        h = _next_cut(F, B, p, f, h, np.bool_(True))
    h = _next_cut(F, B, p, f, hi, np.bool_(False))
    while h > a and _promise(F, B, p, f, h, hi, T.trail, T.kept) <= 0:
        b = h
        h = _next_cut(F, B, p, f, h, np.bool_(False))
    if a == lo and b == hi:
        return False
    B.lo[p, f] = a
    B.hi[p, f] = b
    _decide(F, B, p, f, lo, hi)
    return True


@part
def _tighten(F, B, p, v, features, first, last, T):
    """Cut off box `p` what cannot be dissimilar, feature by feature, until nothing can be; False if nothing is left."""
    changes = True
    while changes:
        changes = False
        for k in range(first, last):
            f = features[k]
            if not B.whole[p, f]:
                changes = _trim(F, B, p, f, T) or changes
                continue
            a, b = _alike(F, B, p, f, v[f])
            lo = B.lo[p, f]
            hi = B.hi[p, f]
            lower = _promise(F, B, p, f, lo, a, T.trail, T.kept) > 0
            upper = _promise(F, B, p, f, b, hi, T.trail, T.kept) > 0
            if not lower and not upper:
                return False
            # With cells on both sides of v's it has to wait.
            if lower and upper:
                continue
            if lower:
                B.hi[p, f] = a
            else:
                B.lo[p, f] = b
            B.whole[p, f] = 0
            _decide(F, B, p, f, lo, hi)
            changes = True
    return True


@part
def _split(F, B, p, v, features, first, last, live, count, others, T):
    """Split an undecided box `p`; returns the new height.

    First v's cell, and all that act like it, are cut out of every feature: by
    minimality no point there is dissimilar. Then the voters say where to cut.
    With `others`, parts where no score exceeds 0 are what is looked for, and stay.
    """
    f = _vote(F, B, p, live, count, T.gain, T.node, T.weight)
    for k in range(first, last):
        # Features that still hold v's cell go before all others: what they cut off needs no proof at all.
        i = features[k]
        if B.whole[p, i] and (not B.whole[p, f] or T.gain[i] > T.gain[f]):
            f = i
    lo = B.lo[p, f]
    hi = B.hi[p, f]
    if B.whole[p, f]:
        # Points with this feature at v's cell change a proper part of Y only, so they are similar; and cells
        # a..b-1 give every score that is still alive the value it has there.
        a, b = _alike(F, B, p, f, v[f])
        B.whole[p, f] = 0
    else:
        a = cut_point(F.node, F.counts, T.node[f], v[f], lo, hi)
        b = a
    # The part below takes the place of the box, and a copy is needed only for two.
    q = p + 1 if a > lo else p
    upper = b < hi
    if upper:
        if q > p:
            _copy(B, p, q, features, first, last)
        B.lo[q, f] = b
        upper = _decide(F, B, q, f, lo, hi) or others
    lower = False
    if q > p:
        B.hi[p, f] = a
        lower = _decide(F, B, p, f, lo, hi) or others
    if upper and q > p and not lower:
        _copy(B, q, p, features, first, last)
    return p + (1 if lower else 0) + (1 if upper else 0)


@flat_kernel(F=Ensemble, A=Around, B=Boxes, T=Scratch)
def cover(F, A, offsets, features, low, high, B, out, n_boxes, live, T, reg):
    """Cover the dissimilar points of each CXp by disjoint boxes, within the cells from `low` up to `high`.

    CXp c is ``features[offsets[c]:offsets[c + 1]]``. Its boxes are appended to
    `out` as lo, hi per feature; `n_boxes[c]` counts them. Any status but DONE
    leaves a state that can be continued; -1 in reg[TOP] means "open the next".
    With reg[ANY_SET] these may be any sets of features, with reg[OTHERS] it is the points where no score exceeds 0
    that are covered, and with reg[FIRST] the first box of each set is enough.
    """
    # What must survive an interruption is in B, out, live and reg; `T` is scratch space.
    others = reg[OTHERS] != 0
    while reg[CXP] < n_boxes.size:
        first = np.int64(offsets[reg[CXP]])
        last = np.int64(offsets[reg[CXP] + 1])
        if reg[TOP] < 0:
            reg[LIVE] = _open(F, A, B, features, first, last, low, high, np.uint8(reg[ANY_SET] == 0), T.fixed, live)
            # What no score can exceed 0 in is cut off, unless that is what is looked for.
            is_left = others or _tighten(F, B, np.int64(0), A.v, features, first, last, T)
            reg[TOP] = 1 if is_left else 0
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
                reg[TOP] = _split(F, B, p, A.v, features, first, last, live, reg[LIVE], others, T)
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
