"""Trees in which most features are as in v: what is left of them, compiled by numba."""

from __future__ import annotations

import numpy as np

from axfi_kc.compiled import part

__all__ = ["condition"]

_LIMB = 52
_MASK = (1 << 52) - 1


@part
def _settled(F, n, v, free):
    """Return the first node from `n` on that v and the features outside `free` do not decide."""
    f = F.node[n, 0]
    while f >= 0 and not free[f >> 6] >> np.uint64(f & 63) & np.uint64(1):
        h = F.node[n, 2]
        c = v[f]
        left = c < h if h >= 0 else F.counts[c - h] > F.counts[c - 1 - h]
        n = n + 1 if left else F.node[n, 1]
        f = F.node[n, 0]
    return n


@part
def _add(base, j, value, n):
    """Add a leaf that is sure to be reached to base j, carries settled."""
    limbs = base.shape[1]
    for k in range(limbs):
        base[j, k] += value[n, k]
    for k in range(limbs - 1, 0, -1):
        base[j, k - 1] += base[j, k] >> _LIMB
        base[j, k] &= _MASK


@part
def _copy_tree(F, G, n, at, v, free, todo, parent, seen):
    """Write what is left below `n` from row `at` on, and what it tests into `seen`; return the next row."""
    half = F.node.shape[0] // 2
    other = G.node.shape[0] // 2
    todo[0] = n
    parent[0] = -1
    sp = 1
    while sp > 0:
        sp -= 1
        n = _settled(F, todo[sp], v, free)
        # Only now is it known where a right child comes to lie.
        if parent[sp] >= 0:
            G.node[parent[sp], 1] = at
            G.node[parent[sp] + other, 1] = at + other
        f = F.node[n, 0]
        # Two copies, as in the whole trees: the second has reversed ranks.
        for k in range(4):
            G.node[at, k] = F.node[n, k]
            G.node[at + other, k] = F.node[n + half, k]
        if f >= 0:
            seen[f] = 1
            todo[sp] = F.node[n, 1]
            parent[sp] = at
            todo[sp + 1] = n + 1
            parent[sp + 1] = -1
            sp += 2
            for k in range(G.value.shape[1]):
                G.value[at, k] = 0
                G.value[at + other, k] = 0
        else:
            for k in range(G.value.shape[1]):
                G.value[at, k] = F.value[n, k]
                G.value[at + other, k] = F.value[n, k]
        at += 1
    return at


@part
def condition(F, G, v, free, todo, parent, seen):
    """Make `G` the trees of `F` with all features outside `free` as in v; those that are constant join the base.

    Only the groups that bound from above have roots in `G`; the copies with reversed ranks are half of its nodes
    further on.
    """
    m = F.n_cells.size
    scores = F.base.shape[0]
    at = np.int64(0)
    count = np.int64(0)
    other = G.node.shape[0] // 2
    for j in range(scores):
        G.start[j] = count
        for k in range(F.base.shape[1]):
            G.base[j, k] = F.base[j, k]
        # Trees are gone through once; per feature their numbers are chained, and written in a row afterwards.
        for i in range(m):
            G.touch_start[j * m + i + 1] = 0
        first = count
        for t in range(F.start[j], F.start[j + 1]):
            n = _settled(F, F.root[t], v, free)
            if F.node[n, 0] < 0:
                _add(G.base, j, F.value, n)
                continue
            G.root[count] = at
            for i in range(m):
                seen[count, i] = 0
            at = _copy_tree(F, G, n, at, v, free, todo, parent, seen[count])
            for i in range(m):
                G.touch_start[j * m + i + 1] += seen[count, i]
            count += 1
        end = np.int32(G.touch_start[j * m]) if j else np.int32(0)
        G.touch_start[j * m] = end
        for i in range(m):
            n = G.touch_start[j * m + i + 1]
            if n:
                for t in range(first, count):
                    if seen[t, i]:
                        G.touch[end] = t - first
                        end += 1
            G.touch_start[j * m + i + 1] = end
    G.start[scores] = count
    # The best rank below each node, from those of the leaves that are left.
    for n in range(at - 1, -1, -1):
        if G.node[n, 0] >= 0:
            G.node[n, 3] = max(G.node[n + 1, 3], G.node[G.node[n, 1], 3])
            k = n + other
            G.node[k, 3] = max(G.node[k + 1, 3], G.node[G.node[k, 1], 3])
