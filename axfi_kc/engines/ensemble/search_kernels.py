"""Boxes, their bounds and nearest points, and the two searches made of them; compiled by numba.

A *box* is one half-open interval of cells per feature. For each tree of a score a box remembers the first node it
has not decided, the best leaf it can reach, the leaf of its point nearest to v, and the node where the paths to
these two part; the sum of the best leaves bounds the score. A box is split where the trees overshoot most. Sets of
features are rows of 64-bit words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, FOUND, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.engines.ensemble.bound_kernels import Ensemble, best_leaf, cut_point, exceeds, fork_of
from axfi_kc.engines.ensemble.family_kernels import Family, completing, store

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
    "open_box",
    "sweep",
    "witness",
]


# registers besides NODES and LIMIT: the state that is not on the stack
TOP, SCORE, LAST, N_SETS, MAX_SIZE = range(2, 7)
REGISTERS = 7


class Stack(NamedTuple):
    """Pending boxes, one row each."""

    lo: np.ndarray  # int32[depth, m]
    hi: np.ndarray  # int32[depth, m]
    root: np.ndarray  # int32[depth, T], first undecided node of each tree
    leaf: np.ndarray  # int32[depth, T], best reachable leaf of each tree
    near: np.ndarray  # int32[depth, T], leaf of the point nearest to v
    fork: np.ndarray  # int32[depth, T], where the paths to these two part, or -1
    total: np.ndarray  # int64[depth], limb 0 of the bound
    value: np.ndarray  # int64[depth], limb 0 of the score at the nearest point
    changed: np.ndarray  # uint64[depth, words], features that differ from v in all of the box
    latest: np.ndarray  # int32[depth], feature that joined them since `known`, or -1
    known: np.ndarray  # int64[depth], sets of the family already used on the box


class Scratch(NamedTuple):
    """Room for what kernels need in passing: made by the caller, since making arrays takes long to compile."""

    todo: np.ndarray  # int32[nodes + 1]
    parent: np.ndarray  # int32[nodes + 1]
    at: np.ndarray  # int32[2, trees]
    x: np.ndarray  # int32[m]
    node: np.ndarray  # int32[m]
    gain: np.ndarray  # float64[m]
    weight: np.ndarray  # float64[m]
    stamp: np.ndarray  # int64[m]
    best: np.ndarray  # int64[m]
    fixed: np.ndarray  # uint64[words]
    W: np.ndarray  # uint64[1, words]
    seen: np.ndarray  # uint8[trees, m]


@part
def _walk(F, n, S, p, v):
    """Return the leaf below `n` of the point of box `p` nearest to v, which is v clamped into the box."""
    f = F.node[n, 0]
    while f >= 0:
        h = F.node[n, 2]
        c = v[f]
        if c < S.lo[p, f]:
            c = S.lo[p, f]
        elif c >= S.hi[p, f]:
            c = S.hi[p, f] - 1
        # For a table, cell c goes left iff the prefix count grows at it; see `left_cells`.
        left = c < h if h >= 0 else F.counts[c - h] > F.counts[c - 1 - h]
        n = n + 1 if left else F.node[n, 1]
        f = F.node[n, 0]
    return n


@part
def _update(F, S, j, p, f, moved, v, todo):
    """Refresh box `p` after feature `f` (-1: any) was narrowed; tell whether it may exceed 0.

    `moved` says whether the nearest point may have moved.
    """
    count = np.int64(F.start[j + 1] - F.start[j])
    if f >= 0:
        # Narrowing a feature can change only trees that test it.
        k = j * F.n_cells.size + f
        first = np.int64(F.touch_start[k])
        last = np.int64(F.touch_start[k + 1])
    else:
        first = np.int64(0)
        last = count
    total = S.total[p]
    value = S.value[p]
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
            if moved:
                # The nearest point is in the box, so its leaf is below the first undecided node.
                near = _walk(F, root, S, p, v)
                value += F.value[near, 0] - F.value[S.near[p, t], 0]
                S.near[p, t] = near
            # The two leaves are in reach, so where their paths part the box is undecided, and a cut tells them apart.
            S.fork[p, t] = fork_of(F.node, root, leaf, S.near[p, t])
    S.total[p] = total
    S.value[p] = value
    return exceeds(F.value, F.base, j, total, S.leaf, p, np.int64(0), count)


@part
def open_box(F, S, j, p, v, free, todo):
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
    # root by the best leaf and the leaf of the nearest point.
    for t in range(F.start[j + 1] - F.start[j]):
        n = F.root[F.start[j] + t]
        S.root[p, t] = n
        S.leaf[p, t] = n
        S.near[p, t] = n
        S.fork[p, t] = -1
    S.total[p] = F.base[j, 0]
    S.value[p] = F.base[j, 0]
    return _update(F, S, j, p, np.int64(-1), np.bool_(True), v, todo)


@part
def _is_hit(F, S, j, p):
    """Tell whether the point of box `p` nearest to v is dissimilar by score j, exactly."""
    count = np.int64(F.start[j + 1] - F.start[j])
    return exceeds(F.value, F.base, j, S.value[p], S.near, p, np.int64(0), count)


@part
def _vote(F, S, j, p, gain, weight, node):
    """Choose a node to split box `p` at; -1 if no tree overshoots.

    Each tree votes, with the amount by which its bound is above its value at the nearest point, for the feature of
    the node where the paths to the two leaves part; the strongest voter of the winning feature names the node.
    Floats only steer the search.
    """
    m = F.n_cells.size
    for i in range(m):
        gain[i] = 0.0
        weight[i] = -1.0
    for t in range(F.start[j + 1] - F.start[j]):
        n = S.fork[p, t]
        if n >= 0:
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
def _copy(S, p, q, count):
    """Copy box `p` with its bounds to `q`."""
    for i in range(S.lo.shape[1]):
        S.lo[q, i] = S.lo[p, i]
        S.hi[q, i] = S.hi[p, i]
    for t in range(count):
        S.root[q, t] = S.root[p, t]
        S.leaf[q, t] = S.leaf[p, t]
        S.near[q, t] = S.near[p, t]
        S.fork[q, t] = S.fork[p, t]
    for w in range(S.changed.shape[1]):
        S.changed[q, w] = S.changed[p, w]
    S.total[q] = S.total[p]
    S.value[q] = S.value[p]
    S.latest[q] = S.latest[p]
    S.known[q] = S.known[p]


@part
def _split(F, S, j, p, v, n, todo):
    """Replace box `p` by its halves at node `n` that may exceed 0; return the new height.

    The half without v's cell, or the one with the larger bound, ends on top: depth first along the most promising
    half keeps the stack short and finds points soon.
    """
    f = np.int64(F.node[n, 0])
    lo = S.lo[p, f]
    hi = S.hi[p, f]
    # Strictly between lo and hi, so both halves hold cells and are smaller.
    cut = cut_point(F.node, F.counts, n, v[f], lo, hi)
    q = p + 1
    count = np.int64(F.start[j + 1] - F.start[j])
    _copy(S, p, q, count)
    # The half that holds the nearest point stays at p, whichever it is: there only bounds change.
    upper = v[f] >= cut
    if upper:
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
    here = _update(F, S, j, p, f, np.bool_(False), v, todo)
    there = _update(F, S, j, q, f, np.bool_(True), v, todo)
    if here and there:
        return q + 1
    if there:
        _copy(S, q, p, count)
    return q if here or there else p


@part
def _propagate(F, S, j, p, v, C, n_sets, max_size, fixed, todo):
    """Use the known sets on box `p`; False iff the box can be dropped.

    A box whose changed features contain a known set is dropped; a feature that would complete one, or pass
    `max_size`, stays as in v. Only sets that are new, or contain the feature that changed last, can say anything new.
    """
    latest = S.latest[p]
    if latest < 0 and S.known[p] == n_sets:
        return True
    for w in range(fixed.size):
        fixed[w] = 0
    if latest >= 0 and completing(C.under[latest], np.int64(0), C.held[latest], S.changed, p, fixed):
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
    narrowed = 0
    last = np.int64(-1)
    for i in range(F.n_cells.size):
        # With max_size features changed, whatever else could change must stay; the point at v's cells for those
        # is still to be tested. Fixed features are unchanged, so v's cell is inside, and width 1 means done already.
        stays = size >= max_size and S.lo[p, i] <= v[i] < S.hi[p, i]
        if (stays or fixed[i >> 6] >> np.uint64(i & 63) & np.uint64(1)) and S.hi[p, i] - S.lo[p, i] > 1:
            S.lo[p, i] = v[i]
            S.hi[p, i] = v[i] + 1
            narrowed += 1
            last = i
    # Several features at once: refreshing all trees is simpler than a union of their lists.
    return narrowed == 0 or _update(F, S, j, p, last if narrowed == 1 else np.int64(-1), np.bool_(False), v, todo)


@part
def _shrink(F, S, j, p, v, W, x, at):
    """Set `W` to features in which some dissimilar point differs from v: those of box `p`'s nearest, or fewer.

    Feature by feature is put back to v where the point stays dissimilar. That costs evaluations only; what is left
    is a weak CXp, and most often a CXp.
    """
    m = F.n_cells.size
    count = np.int64(F.start[j + 1] - F.start[j])
    for i in range(m):
        c = v[i]
        if c < S.lo[p, i]:
            c = S.lo[p, i]
        elif c >= S.hi[p, i]:
            c = S.hi[p, i] - 1
        x[i] = c
    for t in range(count):
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
            n = F.root[F.start[j] + t]
            f = F.node[n, 0]
            while f >= 0:
                h = F.node[n, 2]
                left = x[f] < h if h >= 0 else F.counts[x[f] - h] > F.counts[x[f] - 1 - h]
                n = n + 1 if left else F.node[n, 1]
                f = F.node[n, 0]
            other += F.value[n, 0] - F.value[at[0, t], 0]
            at[1, t] = n
        if exceeds(F.value, F.base, j, other, at, np.int64(1), np.int64(0), count):
            value = other
            for e in range(F.touch_start[k], F.touch_start[k + 1]):
                at[0, F.touch[e]] = at[1, F.touch[e]]
        else:
            x[i] = c
            W[0, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
            for e in range(F.touch_start[k], F.touch_start[k + 1]):
                at[1, F.touch[e]] = at[0, F.touch[e]]


@flat_kernel(F=Ensemble, C=Family, S=Stack, T=Scratch)
def sweep(F, v, C, S, free, T, reg):
    """Look at every point whose changed features contain no set of `C`, and add the weak CXps found to it.

    A point is dissimilar if any score exceeds 0, so each score up to reg[LAST] has a sweep of its own, and what is
    found in earlier ones prunes the later ones. When all are DONE, the minimal sets of `C` are all CXps of at most
    reg[MAX_SIZE] features. Any other status leaves a state that can be continued.
    """
    # What must outlive a return is in the other arguments; `T` is scratch space.
    todo = T.todo
    while True:
        if reg[TOP] == 0:
            if reg[SCORE] == reg[LAST]:
                return DONE
            reg[SCORE] += 1
            if open_box(F, S, reg[SCORE], np.int64(0), v, free, todo):
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
        if not _propagate(F, S, j, p, v, C, reg[N_SETS], reg[MAX_SIZE], T.fixed, todo):
            continue
        if _is_hit(F, S, j, p):
            # Done: every point of the box changes at least the features in which the nearest differs from v.
            _shrink(F, S, j, p, v, T.W, T.x, T.at)
            store(C, T.W, np.int64(0), reg[N_SETS])
            reg[N_SETS] += 1
            continue
        n = _vote(F, S, j, p, T.gain, T.weight, T.node)
        if n >= 0:
            reg[TOP] = _split(F, S, j, p, v, n, todo)


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
        if _is_hit(F, S, j, p):
            return FOUND
        reg[TOP] = p
        n = _vote(F, S, j, p, T.gain, T.weight, T.node)
        if n >= 0:
            reg[TOP] = _split(F, S, j, p, v, n, T.todo)
    return DONE


@flat_kernel(F=Ensemble, S=Stack, T=Scratch)
def witness(F, v, S, free, x, T, reg):
    """Look for a dissimilar point as v outside `free`: FOUND with its cells in `x`, or DONE if there is none."""
    m = F.n_cells.size
    while True:
        if reg[TOP] == 0:
            if reg[SCORE] == reg[LAST]:
                return DONE
            reg[SCORE] += 1
            if open_box(F, S, reg[SCORE], np.int64(0), v, free, T.todo):
                reg[TOP] = 1
        status = ask(F, S, reg[SCORE], v, T, reg)
        if status == FOUND:
            p = reg[TOP] - 1
            for i in range(m):
                c = v[i]
                if c < S.lo[p, i]:
                    c = S.lo[p, i]
                elif c >= S.hi[p, i]:
                    c = S.hi[p, i] - 1
                x[i] = c
        if status != DONE:
            return status
