"""Boxes, their bounds and nearest points, and the two searches made of them; compiled by numba.

A *box* is one half-open interval of cells per feature. For each tree of a score a box remembers the leaves in its
reach, the best of them, the leaf of its point nearest to v, and the node where the paths to these two part; the sum of
the best leaves bounds the score. A box is split where the trees overshoot most. Sets of features are rows of 64-bit
words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.engines.ensemble.bound_kernels import (
    Around,
    Ensemble,
    best_of,
    cut_point,
    exceeds,
    fork_of,
    goes_left,
    lowest,
    reach,
    side_lost,
    tests_decided,
)
from axfi_kc.engines.ensemble.family_kernels import Family, completing, completing_under, store

__all__ = [
    "LAST",
    "MAX_SIZE",
    "N_SETS",
    "REGISTERS",
    "SCORE",
    "TOP",
    "Scratch",
    "Stack",
    "ask",
    "is_hit",
    "open_box",
    "shrink",
    "split",
    "sweep",
    "vote",
    "witness",
]


# registers besides NODES and LIMIT: the state that is not on the stack
TOP, SCORE, LAST, N_SETS, MAX_SIZE = range(2, 7)
REGISTERS = 7
_UNKNOWN = -2  # a fork that nobody has asked for yet


class Stack(NamedTuple):
    """Pending boxes, one row each; trees and blocks of all scores are numbered through."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    mask: np.ndarray  # uint64[depth, blocks], leaves in reach
    leaf: np.ndarray  # int32[depth, trees], best of them
    near: np.ndarray  # int32[depth, trees], leaf of the point nearest to v
    fork: np.ndarray  # int32[depth, trees], where the paths to these two part, -1 if they do not
    total: np.ndarray  # int64[depth], limb 0 of the bound
    value: np.ndarray  # int64[depth], limb 0 of the score at the nearest point
    changed: np.ndarray  # uint64[depth, words], features that differ from v in all of the box
    latest: np.ndarray  # int32[depth], feature that joined them since `known`, or -1
    known: np.ndarray  # int64[depth], sets of the family already used on the box


class Scratch(NamedTuple):
    """Room for what kernels need in passing: made by the caller, since making arrays takes long to compile."""

    at: np.ndarray  # int32[2, trees]
    x: np.ndarray  # int32[m]
    node: np.ndarray  # int32[m]
    gain: np.ndarray  # float64[m]
    weight: np.ndarray  # float64[m]
    stamp: np.ndarray  # int64[m]
    best: np.ndarray  # int64[m]
    fixed: np.ndarray  # uint64[words]
    W: np.ndarray  # uint64[1, words]
    trail: np.ndarray  # int32[tests of a feature], blocks whose masks have changed
    kept: np.ndarray  # uint64[tests of a feature], what these were


@part
def _decide(F, S, j, p, f, lo, hi):
    """Use what the cells of feature `f`, of which there were lo..hi-1, decide now: leaves go out of reach."""
    a = S.lo[p, f]
    b = S.hi[p, f]
    total = S.total[p]
    for step in range(3):
        begin, end = tests_decided(F, j, f, step, a, b, lo, hi)
        for e in range(begin, end):
            side = side_lost(F.counts, F.test[e, 2], step, a, b)
            if side < 0:
                continue
            block = F.test[e, 1]
            mask = S.mask[p, block]
            left = mask & ~F.sides[e, side]
            if left == mask:
                continue
            S.mask[p, block] = left
            t = F.test[e, 0]
            if F.block_start[t + 1] - F.block_start[t] == 1:
                leaf = F.leaf[F.leaf_start[block] + lowest(left)]
            else:
                leaf = best_of(F.block_start, F.leaf_start, F.leaf, F.node, S.mask, p, t)
            if leaf != S.leaf[p, t]:
                # Limb 0 has 50 bits where there are several limbs: int64 has room for 8,192 such summands.
                total += F.value[leaf, 0] - F.value[S.leaf[p, t], 0]
                S.leaf[p, t] = leaf
                S.fork[p, t] = _UNKNOWN
    S.total[p] = total


@part
def _nearest(lo, hi, c):
    """Return the cell of lo..hi-1 nearest to `c`."""
    return lo if c < lo else hi - 1 if c >= hi else c


@part
def _follow(F, S, j, p, f, c, v):
    """Refresh the leaves of the nearest point of box `p`, which had cell `c` of feature `f`."""
    now = _nearest(S.lo[p, f], S.hi[p, f], v[f])
    if now == c:
        return
    first = F.after_start[f] + 1
    value = S.value[p]
    for step in range(2):
        # Only tests between the two cells, and tables, can send it another way.
        begin = F.after[j, first + min(c, now)] if step == 0 else F.test_start[j * F.n_cells.size + f]
        end = F.after[j, first + max(c, now)] if step == 0 else F.after[j, first - 1]
        for e in range(begin, end):
            t = F.test[e, 0]
            block = F.test[e, 1]
            place = F.node[S.near[p, t], 1] - F.leaf_start[block]
            wrong = F.sides[e, 1 if goes_left(F.counts, F.test[e, 2], now) else 0]
            # Its leaf lies on the side of the test where it no longer is, or the test is not on its path.
            if place < 0 or place > 63 or not wrong >> np.uint64(place) & np.uint64(1):
                continue
            n = F.root[t]
            i = F.node[n, 0]
            while i >= 0:
                left = goes_left(F.counts, F.node[n, 2], _nearest(S.lo[p, i], S.hi[p, i], v[i]))
                n = n + 1 if left else F.node[n, 1]
                i = F.node[n, 0]
            if n != S.near[p, t]:
                value += F.value[n, 0] - F.value[S.near[p, t], 0]
                S.near[p, t] = n
                S.fork[p, t] = _UNKNOWN
    S.value[p] = value


@part
def _may_exceed(F, S, j, p):
    """Tell whether score j may exceed 0 in box `p`."""
    return exceeds(F.value, F.base, j, S.total[p], S.leaf, p, np.int64(F.start[j]), np.int64(F.start[j + 1]))


@part
def open_box(F, A, S, j, p, free):
    """Put the box "as v outside `free`" of score j at `p`; tell whether it may exceed 0."""
    m = F.n_cells.size
    for i in range(m):
        if free[i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            S.lo[p, i] = 0
            S.hi[p, i] = F.n_cells[i]
        else:
            S.lo[p, i] = A.v[i]
            S.hi[p, i] = A.v[i] + 1
    for w in range(S.changed.shape[1]):
        S.changed[p, w] = 0
    S.latest[p] = -1
    S.known[p] = 0
    S.total[p] = F.base[j, 0]
    S.value[p] = F.base[j, 0]
    reach(F, A.needs, S.mask, p, F.start[j], F.start[j + 1], free)
    for t in range(F.start[j], F.start[j + 1]):
        S.leaf[p, t] = best_of(F.block_start, F.leaf_start, F.leaf, F.node, S.mask, p, t)
        S.near[p, t] = A.leaf[t]
        S.fork[p, t] = _UNKNOWN
        S.total[p] += F.value[S.leaf[p, t], 0]
        S.value[p] += F.value[A.leaf[t], 0]
    # Tests that send every cell one way, if there are any.
    for i in range(m):
        if S.hi[p, i] - S.lo[p, i] == F.n_cells[i]:
            _decide(F, S, j, p, np.int64(i), np.int64(-1), np.int64(F.n_cells[i] + 1))
    return _may_exceed(F, S, j, p)


@part
def is_hit(F, S, j, p):
    """Tell whether the point of box `p` nearest to v is dissimilar by score j, exactly."""
    return exceeds(F.value, F.base, j, S.value[p], S.near, p, np.int64(F.start[j]), np.int64(F.start[j + 1]))


@part
def vote(F, S, j, p, gain, weight, node):
    """Choose a node to split box `p` at; -1 if no tree overshoots.

    Each tree votes, with the amount by which its bound is above its value at the nearest point, for the feature of
    the node where the paths to the two leaves part; the strongest voter of the winning feature names the node.
    Floats only steer the search.
    """
    m = F.n_cells.size
    for i in range(m):
        gain[i] = 0.0
        weight[i] = -1.0
    for t in range(F.start[j], F.start[j + 1]):
        if S.leaf[p, t] == S.near[p, t]:
            continue
        n = S.fork[p, t]
        if n == _UNKNOWN:
            # The two leaves are in reach, so where their paths part the box is undecided, and a cut tells them apart.
            n = fork_of(F.node, F.root[t], S.leaf[p, t], S.near[p, t])
            S.fork[p, t] = n
        g = float(F.value[S.leaf[p, t], 0]) - float(F.value[S.near[p, t], 0])
        f = F.node[n, 0]
        gain[f] += g
        if g > weight[f]:
            weight[f] = g
            node[f] = n
    best = -1
    for i in range(m):
        if weight[i] >= 0.0 and (best < 0 or gain[i] > gain[best]):
            best = i
    # No fork at all means that every tree is at its best at the nearest point. Then the bound is the value there,
    # which is not above 0, and the box holds no dissimilar point of this score.
    return np.int64(node[best]) if best >= 0 else np.int64(-1)


@part
def _copy(F, S, j, p, q):
    """Copy box `p` with its bounds to `q`."""
    for i in range(S.lo.shape[1]):
        S.lo[q, i] = S.lo[p, i]
        S.hi[q, i] = S.hi[p, i]
    for t in range(F.start[j], F.start[j + 1]):
        S.leaf[q, t] = S.leaf[p, t]
        S.near[q, t] = S.near[p, t]
        S.fork[q, t] = S.fork[p, t]
    for b in range(F.block_start[F.start[j]], F.block_start[F.start[j + 1]]):
        S.mask[q, b] = S.mask[p, b]
    for w in range(S.changed.shape[1]):
        S.changed[q, w] = S.changed[p, w]
    S.total[q] = S.total[p]
    S.value[q] = S.value[p]
    S.latest[q] = S.latest[p]
    S.known[q] = S.known[p]


@part
def split(F, S, j, p, v, n):
    """Replace box `p` by its halves at node `n` that may exceed 0; return the new height.

    The half without v's cell, or the one with the larger bound, ends on top: depth first along the most promising
    half keeps the stack short and finds points soon.
    """
    f = np.int64(F.node[n, 0])
    lo = np.int64(S.lo[p, f])
    hi = np.int64(S.hi[p, f])
    # Strictly between lo and hi, so both halves hold cells and are smaller.
    cut = cut_point(F.node, F.counts, n, v[f], lo, hi)
    q = p + 1
    _copy(F, S, j, p, q)
    # The half that holds the nearest point stays at p, whichever it is: there only bounds change.
    if v[f] >= cut:
        S.lo[p, f] = cut
        S.hi[q, f] = cut
    else:
        S.hi[p, f] = cut
        S.lo[q, f] = cut
    # One half has lost v's cell, so this feature has changed in all of its points. In a sweep the box was
    # propagated just before, so there is one such feature since, and `latest` can hold it.
    if lo <= v[f] < hi:
        S.changed[q, f >> 6] |= np.uint64(1) << np.uint64(f & 63)
        S.latest[q] = f
    _decide(F, S, j, p, f, lo, hi)
    _decide(F, S, j, q, f, lo, hi)
    here = _may_exceed(F, S, j, p)
    if _may_exceed(F, S, j, q):
        _follow(F, S, j, q, f, np.int64(_nearest(lo, hi, v[f])), v)
        if here:
            return q + 1
        _copy(F, S, j, q, p)
        return q
    return q if here else p


@part
def _propagate(F, S, j, p, v, C, n_sets, max_size, fixed):
    """Use the known sets on box `p`; False iff the box can be dropped.

    A box whose changed features contain a known set is dropped; a feature that would complete one, or pass
    `max_size`, stays as in v. Only sets that are new, or contain the feature that changed last, can say anything new.
    """
    latest = S.latest[p]
    if latest < 0 and S.known[p] == n_sets:
        return True
    for w in range(fixed.size):
        fixed[w] = 0
    if latest >= 0 and completing_under(C, latest, S.changed, p, fixed):
        return False
    if completing(C.member, S.known[p], n_sets, S.changed, p, fixed):
        return False
    S.known[p] = n_sets
    S.latest[p] = -1
    size = 0
    for w in range(S.changed.shape[1]):
        # One turn per changed feature: each clears the lowest bit.
        rest = S.changed[p, w]
        while rest:
            rest &= rest - np.uint64(1)
            size += 1
    narrowed = False
    for i in range(F.n_cells.size):
        # With max_size features changed, whatever else could change must stay; the point at v's cells for those
        # is still to be tested. Fixed features are unchanged, so v's cell is inside, and width 1 means done already.
        stays = size >= max_size and S.lo[p, i] <= v[i] < S.hi[p, i]
        if (stays or fixed[i >> 6] >> np.uint64(i & 63) & np.uint64(1)) and S.hi[p, i] - S.lo[p, i] > 1:
            lo = np.int64(S.lo[p, i])
            hi = np.int64(S.hi[p, i])
            S.lo[p, i] = v[i]
            S.hi[p, i] = v[i] + 1
            _decide(F, S, j, p, np.int64(i), lo, hi)
            narrowed = True
    return not narrowed or _may_exceed(F, S, j, p)


@part
def shrink(F, S, j, p, v, W, x, at):
    """Set `W` to features in which some dissimilar point differs from v: those of box `p`'s nearest, or fewer.

    Feature by feature is put back to v where the point stays dissimilar. That costs evaluations only; what is left
    is a weak CXp, and most often a CXp.
    """
    m = F.n_cells.size
    for i in range(m):
        x[i] = _nearest(S.lo[p, i], S.hi[p, i], v[i])
    for t in range(F.start[j], F.start[j + 1]):
        at[0, t] = S.near[p, t]
        at[1, t] = S.near[p, t]
    value = S.value[p]
    for w in range(W.shape[1]):
        W[0, w] = 0
    for i in range(m):
        c = x[i]
        if c == v[i]:
            continue
        x[i] = v[i]
        k = j * m + i
        other = value
        for e in range(F.touch_start[k], F.touch_start[k + 1]):
            t = F.touch[e]
            n = F.root[t]
            f = F.node[n, 0]
            while f >= 0:
                n = n + 1 if goes_left(F.counts, F.node[n, 2], x[f]) else F.node[n, 1]
                f = F.node[n, 0]
            other += F.value[n, 0] - F.value[at[0, t], 0]
            at[1, t] = n
        if exceeds(F.value, F.base, j, other, at, np.int64(1), np.int64(F.start[j]), np.int64(F.start[j + 1])):
            value = other
            for e in range(F.touch_start[k], F.touch_start[k + 1]):
                at[0, F.touch[e]] = at[1, F.touch[e]]
        else:
            x[i] = c
            W[0, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
            for e in range(F.touch_start[k], F.touch_start[k + 1]):
                at[1, F.touch[e]] = at[0, F.touch[e]]


@flat_kernel(F=Ensemble, A=Around, C=Family, S=Stack, T=Scratch)
def sweep(F, A, C, S, free, T, reg):
    """Look at every point whose changed features contain no set of `C`, and add the weak CXps found to it.

    A point is dissimilar if any score exceeds 0, so each score up to reg[LAST] has a sweep of its own, and what is
    found in earlier ones prunes the later ones. When all are DONE, the minimal sets of `C` are all CXps of at most
    reg[MAX_SIZE] features. Any other status leaves a state that can be continued.
    """
    # What must outlive a return is in the other arguments; `T` is scratch space.
    v = A.v
    while True:
        if reg[TOP] == 0:
            if reg[SCORE] == reg[LAST]:
                return DONE
            reg[SCORE] += 1
            if open_box(F, A, S, reg[SCORE], np.int64(0), free):
                reg[TOP] = 1
            continue
        # Asked before the box is touched, so that the next call looks at it as if nothing had happened.
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        # Splitting adds one box on top.
        if reg[TOP] + 1 > S.total.size:
            return STACK_FULL
        if reg[N_SETS] >= C.member.shape[0]:
            return STORE_FULL
        # Each box looked at is a node of the budget, whatever becomes of it.
        reg[NODES] += 1
        j = reg[SCORE]
        p = reg[TOP] - 1
        reg[TOP] = p
        if not _propagate(F, S, j, p, v, C, reg[N_SETS], reg[MAX_SIZE], T.fixed):
            continue
        if is_hit(F, S, j, p):
            # Done: every point of the box changes at least the features in which the nearest differs from v.
            shrink(F, S, j, p, v, T.W, T.x, T.at)
            store(C, T.W, np.int64(0), reg[N_SETS])
            reg[N_SETS] += 1
            continue
        n = vote(F, S, j, p, T.gain, T.weight, T.node)
        if n >= 0:
            reg[TOP] = split(F, S, j, p, v, n)


@part
def ask(F, S, j, v, T, reg):
    """Look for a dissimilar point of score j in the boxes on the stack: FOUND in the top one, DONE if there is none."""
    while reg[TOP] > 0:
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        if reg[TOP] + 1 > S.total.size:
            return STACK_FULL
        reg[NODES] += 1
        p = reg[TOP] - 1
        if is_hit(F, S, j, p):
            return FOUND
        reg[TOP] = p
        n = vote(F, S, j, p, T.gain, T.weight, T.node)
        if n >= 0:
            reg[TOP] = split(F, S, j, p, v, n)
    return DONE


@flat_kernel(F=Ensemble, A=Around, S=Stack, T=Scratch)
def witness(F, A, S, free, x, T, reg):
    """Look for a dissimilar point as v outside `free`: FOUND with its cells in `x`, or DONE if there is none."""
    m = F.n_cells.size
    while True:
        if reg[TOP] == 0:
            if reg[SCORE] == reg[LAST]:
                return DONE
            reg[SCORE] += 1
            if open_box(F, A, S, reg[SCORE], np.int64(0), free):
                reg[TOP] = 1
        status = ask(F, S, reg[SCORE], A.v, T, reg)
        if status == FOUND:
            p = reg[TOP] - 1
            for i in range(m):
                x[i] = _nearest(S.lo[p, i], S.hi[p, i], A.v[i])
        if status != DONE:
            return status
