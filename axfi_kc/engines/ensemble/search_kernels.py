"""The search for CXps, compiled by numba.

A *box* is one half-open interval of cells per feature. The search keeps a stack
of boxes. For each tree of a score a box remembers the first node it has not
decided and the best leaf it can reach; the sum of those leaves bounds the score.
A box is split where the tree that overshoots most parts from the point nearest
to v. Sets of features are rows of 64-bit words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from axfi_kc.budget import ALLOWANCE, DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.engines.ensemble.bound_kernels import best_leaf, cut_point, exceeds, inner

__all__ = ["ASK", "MAX_SIZE", "N_CXPS", "ONCE", "QUESTION_SCORE", "REGISTERS", "SCORE", "Family", "Stack", "search"]


# registers of `search` besides NODES and LIMIT: the state that is not on the stack
TOP, SCORE, ASK, BOTTOM, QUESTION_SCORE, DROPPED, N_CXPS, MAX_SIZE = range(2, 10)
REGISTERS = 10

# values of reg[ASK]: sweep all boxes, minimise a set, or answer one question
SWEEP, SHRINK, ONCE = 0, 1, 2


class Stack(NamedTuple):
    """Pending boxes, one row each."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    root: np.ndarray  # int32[depth, T], first undecided node of each tree
    leaf: np.ndarray  # int32[depth, T], best reachable leaf of each tree
    total: np.ndarray  # int64[depth], limb 0 of the bound
    changed: np.ndarray  # uint64[depth, words], features that differ from v
    latest: np.ndarray  # int32[depth], feature that joined them since `known`, or -1
    known: np.ndarray  # int64[depth], CXps already used on the box


class Family(NamedTuple):
    """CXps found so far, in rows, and where each feature occurs."""

    member: np.ndarray  # uint64[rows, words]
    place: np.ndarray  # int32[rows, m], the k-th CXp that contains a feature


@inner
def _update(F, S, j, p, f, todo):
    """Refresh box `p` after feature `f` (-1: any) was narrowed; tell whether it may exceed 0."""
    if f >= 0:
        # Narrowing a feature can change only trees that test it.
        k = j * F.n_cells.size + f
        first = np.int64(F.touch_start[k])
        last = np.int64(F.touch_start[k + 1])
    else:
        first = np.int64(0)
        last = np.int64(F.start[j + 1] - F.start[j])
    total = S.total[p]
    for i in range(first, last):
        t = F.touch[i] if f >= 0 else i
        # A search goes down from the first undecided node, not from the root: deep boxes are cheap.
        n = S.root[p, t]
        if F.node[n, 0] >= 0:
            root, leaf = best_leaf(F.node, F.counts, n, S.lo, S.hi, p, todo)
            # Limb 0 has 50 bits where there are several limbs: int64 has room for 8,192 such summands.
            total += F.value[leaf, 0] - F.value[S.leaf[p, t], 0]
            S.root[p, t] = root
            S.leaf[p, t] = leaf
    S.total[p] = total
    return exceeds(F.value, F.base, j, total, S.leaf, p, np.int64(0), np.int64(F.start[j + 1] - F.start[j]))


@inner
def _open(F, S, j, p, v, free, todo):
    """Put the box "as v outside `free`" of score j at `p`; tell whether it may exceed 0."""
    for i in range(F.n_cells.size):
        if free[i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            S.lo[p, i] = 0
            S.hi[p, i] = F.n_cells[i]
        else:
            S.lo[p, i] = v[i]
            S.hi[p, i] = v[i] + 1
    for w in range(S.changed.shape[1]):
        S.changed[p, w] = 0
    S.latest[p] = -1
    S.known[p] = 0
    # Values at inner nodes are 0 and roots are inner nodes, so this is the base; `_update` then replaces each
    # root by the best leaf.
    total = F.base[j, 0]
    for t in range(F.start[j + 1] - F.start[j]):
        n = F.root[F.start[j] + t]
        S.root[p, t] = n
        S.leaf[p, t] = n
        total += F.value[n, 0]
    S.total[p] = total
    return _update(F, S, j, p, np.int64(-1), todo)


@inner
def _nearest(F, S, j, p, v, x, at, gain, node, weight):
    """Evaluate the point of box `p` nearest to v, and choose a node to split at.

    Returns -2 if the point is dissimilar, else the node, or -1 if none is left.
    Each tree votes, with the amount by which its bound is above its value at
    the point, for the feature of the node where the paths to the two leaves
    part; the strongest voter of the winning feature names the node. Floats only
    steer the search.
    """
    m = F.n_cells.size
    # Clamping v into the box gives the point that changes the fewest features: exactly those whose interval
    # has lost v's cell, which is what `changed` records.
    for i in range(m):
        a = S.lo[p, i]
        b = S.hi[p, i] - 1
        x[i] = a if v[i] < a else (b if v[i] > b else v[i])
        gain[i] = 0.0
        weight[i] = -1.0
    total = F.base[j, 0]
    count = np.int64(F.start[j + 1] - F.start[j])
    for t in range(count):
        n = S.root[p, t]
        leaf = S.leaf[p, t]
        fork = -1
        f = F.node[n, 0]
        while f >= 0:
            h = F.node[n, 2]
            c = x[f]
            # For a table, cell c goes left iff the prefix count grows at it; see `left_cells`.
            left = c < h if h >= 0 else F.counts[c - h] > F.counts[c - 1 - h]
            r = F.node[n, 1]
            # In preorder the leaf lies left of node n iff it comes before the right child. Point and best leaf are both
            # in the box, so where their ways part the box is undecided, and a cut there tells them apart.
            if fork < 0 and left != (leaf < r):
                fork = n
            n = n + 1 if left else r
            f = F.node[n, 0]
        at[0, t] = n
        total += F.value[n, 0]
        if fork >= 0:
            # A float may be a little off: it only steers, and the verdict below is exact.
            g = float(F.value[leaf, 0]) - float(F.value[n, 0])
            f = F.node[fork, 0]
            gain[f] += g
            if g > weight[f]:
                weight[f] = g
                node[f] = fork
    # All trees at their leaves for x: this is the score at x itself, not a bound.
    if exceeds(F.value, F.base, j, total, at, np.int64(0), np.int64(0), count):
        return -2
    best = -1
    for i in range(m):
        if weight[i] >= 0.0 and (best < 0 or gain[i] > gain[best]):
            best = i
    # No fork at all means that every tree is at its best at x. Then the bound is the value at x, which is not
    # above 0, and the box holds no dissimilar point of this score.
    return node[best] if best >= 0 else -1


@inner
def _split(F, S, j, p, v, n, todo):
    """Replace box `p` by its halves at node `n` that may exceed 0.

    The half with the larger bound ends on top. Returns the new height.
    """
    f = np.int64(F.node[n, 0])
    lo = S.lo[p, f]
    hi = S.hi[p, f]
    # Strictly between lo and hi, so both halves hold cells and are smaller.
    cut = cut_point(F.node, F.counts, n, v[f], lo, hi)
    q = p + 1
    count = F.start[j + 1] - F.start[j]
    for i in range(F.n_cells.size):
        S.lo[q, i] = S.lo[p, i]
        S.hi[q, i] = S.hi[p, i]
    for t in range(count):
        S.root[q, t] = S.root[p, t]
        S.leaf[q, t] = S.leaf[p, t]
    for w in range(S.changed.shape[1]):
        S.changed[q, w] = S.changed[p, w]
    S.total[q] = S.total[p]
    S.latest[q] = S.latest[p]
    S.known[q] = S.known[p]
    S.hi[p, f] = cut
    S.lo[q, f] = cut
    # One half has lost v's cell, so this feature has changed in all of its points. In a sweep the box was
    # propagated just before, so there is one such feature since, and `latest` can hold it.
    if lo <= v[f] < hi:
        k = p if v[f] >= cut else q
        S.changed[k, f >> 6] |= np.uint64(1) << np.uint64(f & 63)
        S.latest[k] = f
    alive = 0
    # Bit 0 for the lower half, bit 1 for the upper one.
    for k in range(p, p + 2):
        if _update(F, S, j, k, f, todo):
            alive |= 1 << (k - p)
    if alive == 1:
        return q
    if alive == 0:
        return p
    # The half left over, or the one with the larger bound, must be where the stack expects it: depth first
    # along the most promising half keeps the stack short and finds points soon.
    if alive == 2 or S.total[p] > S.total[q]:
        for i in range(F.n_cells.size):
            S.lo[p, i], S.lo[q, i] = S.lo[q, i], S.lo[p, i]
            S.hi[p, i], S.hi[q, i] = S.hi[q, i], S.hi[p, i]
        for t in range(count):
            S.root[p, t], S.root[q, t] = S.root[q, t], S.root[p, t]
            S.leaf[p, t], S.leaf[q, t] = S.leaf[q, t], S.leaf[p, t]
        for w in range(S.changed.shape[1]):
            S.changed[p, w], S.changed[q, w] = S.changed[q, w], S.changed[p, w]
        S.total[p], S.total[q] = S.total[q], S.total[p]
        S.latest[p], S.latest[q] = S.latest[q], S.latest[p]
        S.known[p], S.known[q] = S.known[q], S.known[p]
    return q if alive == 2 else q + 1


@inner
def _missing(member, row, changed, p):
    """How many features CXp `row` has outside `changed[p]` (2: or more), and one of them."""
    missing = 0
    f = 0
    for w in range(member.shape[1]):
        # What the CXp has beyond the changed features; the search asks only about 0, 1 and more.
        rest = member[row, w] & ~changed[p, w]
        if rest:
            # Clearing the lowest bit leaves nothing iff there was one bit only.
            missing += 1 if rest & (rest - np.uint64(1)) == 0 else 2
            if missing > 1:
                return 2, f
            f = 64 * w
            while not rest & np.uint64(1):
                rest >>= np.uint64(1)
                f += 1
    return missing, f


@inner
def _propagate(F, S, j, p, v, C, held, n_cxps, max_size, todo):
    """Use the known CXps on box `p`; False iff the box can be dropped.

    A box whose changed features contain a CXp is dropped; a feature that would
    complete one, or pass `max_size`, stays as in v. Only CXps that are new, or
    contain the feature that changed last, can say anything new.
    """
    fixed = 0
    last = np.int64(-1)
    latest = S.latest[p]
    old = held[latest] if latest >= 0 else 0
    # Two lists in one loop: the CXps with the feature that changed last (k below 0), then those found since
    # this box was last looked at. Others had two features missing then and have them still, or one, which was
    # fixed. Meeting a CXp twice does no harm.
    k = -old
    for c in range(S.known[p] - old, n_cxps):
        row = np.int64(C.place[k + old, latest]) if k < 0 else c
        k += 1
        missing, f = _missing(C.member, row, S.changed, p)
        # Every point of the box changes all of this CXp, so it can show nothing but a superset.
        if missing == 0:
            return False
        # The feature is unchanged, so v's cell is inside, and width 1 means that it is fixed already.
        if missing == 1 and S.hi[p, f] - S.lo[p, f] > 1:
            S.lo[p, f] = v[f]
            S.hi[p, f] = v[f] + 1
            fixed += 1
            last = f
    S.known[p] = n_cxps
    S.latest[p] = -1
    size = 0
    for w in range(S.changed.shape[1]):
        # One turn per changed feature: each clears the lowest bit.
        rest = S.changed[p, w]
        while rest:
            rest &= rest - np.uint64(1)
            size += 1
    # With max_size features changed, whatever else could change must stay; the point at v's cells for those
    # is still to be tested.
    if size >= max_size:
        for i in range(F.n_cells.size):
            if S.lo[p, i] <= v[i] < S.hi[p, i] and S.hi[p, i] - S.lo[p, i] > 1:
                S.lo[p, i] = v[i]
                S.hi[p, i] = v[i] + 1
                fixed += 1
                last = i
    if fixed == 0:
        return True
    # Several features at once: refreshing all trees is simpler than a union of their lists.
    return _update(F, S, j, p, last if fixed == 1 else np.int64(-1), todo)


@inner
def _next_question(m, W, kept, free, reg):
    """Choose the next feature to drop from `W`; False when W is minimal."""
    # The order of trial decides which CXp inside W is found; boxes that change less find the others.
    for i in range(m):
        bit = np.uint64(1) << np.uint64(i & 63)
        if W[i >> 6] & bit and not kept[i >> 6] & bit:
            for w in range(W.size):
                free[w] = W[w]
            free[i >> 6] &= ~bit
            reg[DROPPED] = i
            # From score 0 on, in boxes above those of the sweep, which stay where they are.
            reg[QUESTION_SCORE] = -1
            reg[TOP] = reg[BOTTOM]
            return True
    return False


@inner
def _take_changes(v, x, W):
    """Set `W` to the features in which x differs from v."""
    # May drop several features at once, but never a kept one: the W of that time, which contains today's, had
    # no dissimilar point without it.
    for w in range(W.size):
        W[w] = 0
    for i in range(v.size):
        if x[i] != v[i]:
            W[i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@inner
def _store(m, C, held, W, free, reg):
    """Record the CXp `W` and go back to the sweep."""
    for w in range(W.size):
        C.member[reg[N_CXPS], w] = W[w]
    for i in range(m):
        if W[i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            # Per feature its CXps in order of discovery, so that `_propagate` finds them without a search.
            C.place[held[i], i] = reg[N_CXPS]
            held[i] += 1
        # The sweep opens the box of its next score with every feature free.
        free[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    reg[N_CXPS] += 1
    reg[TOP] = reg[BOTTOM]
    reg[ASK] = SWEEP


@inner
def _look(F, S, j, p, v, C, held, x, at, gain, node, weight, todo, reg):
    """Look at box `p`: True iff `x` is now a dissimilar point of it, else split or drop it."""
    # Each box looked at is a node of the budget, whatever becomes of it.
    reg[NODES] += 1
    # Popped: a box that is dissimilar at its nearest point is done as well, since every point of it changes
    # at least the same features and so contains the CXp that they hold.
    reg[TOP] = p
    if reg[ASK] == SWEEP and not _propagate(F, S, j, p, v, C, held, reg[N_CXPS], reg[MAX_SIZE], todo):
        return False
    n = _nearest(F, S, j, p, v, x, at, gain, node, weight)
    if n >= 0:
        reg[TOP] = _split(F, S, j, p, v, n, todo)
    return n == -2


@njit(cache=True, nogil=True)
def search(F, v, C, held, S, W, kept, free, x, reg):
    """Run the search that the registers describe until it ends or needs more.

    SWEEP: the boxes on the stack hold every point of score reg[SCORE] still to
    be looked at whose changed features contain no CXp of `C`, which has
    reg[N_CXPS] of them, held[f] with feature f. When one is dissimilar its
    changed features go to `W` and SHRINK asks, above the sweep's boxes, whether
    W without one feature is still a weak CXp.
    ONCE: FOUND with a dissimilar `x` as v outside `free`, or DONE if none.
    Any other status leaves a state that can be continued.
    """
    m = F.n_cells.size
    # Only scratch space is local; everything that must outlive a return is in arguments.
    todo = np.empty(F.node.shape[0] + 1, np.int32)
    at = np.empty((1, S.leaf.shape[1]), np.int32)
    gain = np.empty(m)
    weight = np.empty(m)
    node = np.empty(m, np.int32)
    while True:
        # Checked before each step, since opening or splitting adds one box on top.
        if reg[TOP] + 2 > S.total.size:
            return STACK_FULL
        if reg[N_CXPS] >= C.member.shape[0]:
            return STORE_FULL
        # The sweep and the questions asked in its course walk through the scores independently.
        which = SCORE if reg[ASK] == SWEEP else QUESTION_SCORE
        if reg[TOP] > (0 if reg[ASK] == SWEEP else reg[BOTTOM]):
            # Asked before the box is touched, so that the next call looks at it as if nothing had happened.
            if reg[NODES] >= reg[LIMIT]:
                return ALLOWANCE
            if not _look(F, S, reg[which], reg[TOP] - 1, v, C, held, x, at, gain, node, weight, todo, reg):
                continue
            if reg[ASK] == ONCE:
                return FOUND
            # Further witnesses while shrinking replace W, but leave what was kept as it is.
            if reg[ASK] == SWEEP:
                reg[ASK] = SHRINK
                reg[BOTTOM] = reg[TOP]
                for w in range(W.size):
                    kept[w] = 0
            _take_changes(v, x, W)
        elif reg[which] + 1 < F.base.shape[0]:
            # A point is dissimilar if any score exceeds 0, so each score has a sweep of its own, and the CXps
            # found in earlier ones prune the later ones.
            reg[which] += 1
            if _open(F, S, reg[which], reg[TOP], v, free, todo):
                reg[TOP] += 1
            continue
        elif reg[ASK] == SHRINK:
            # No score has a witness without this feature: it belongs to every CXp inside W.
            kept[reg[DROPPED] >> 6] |= np.uint64(1) << np.uint64(reg[DROPPED] & 63)
        else:
            return DONE
        # Here W has just changed or a feature was found to be needed: ask about the next, if any.
        if not _next_question(m, W, kept, free, reg):
            _store(m, C, held, W, free, reg)
