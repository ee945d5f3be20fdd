"""Sums of two trees as one tree; compiled by numba.

A tree with another one below each of its leaves is their sum, without the paths on which no cell is left. Trees that
test the same features agree on few of their leaves: the best leaf of the sum is then a better bound than the sum of the
best leaves, and it costs no more to look at.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.compiled import flat_kernel, part

__all__ = ["join"]

_LIMB = 52
_MASK = (1 << 52) - 1


@part
def _sum(node, value, counts, a, b, lo, hi, trail, todo, at, most, keep):
    """Write the sum of the trees at rows `a` and `b` from row `at` on, if told to `keep` it; return its leaves.

    More than `most` are most + 1. `lo` and `hi` are the cells of each feature on the way down, everything at first
    and in the end; `trail` and `todo` are scratch space.
    """
    leaves = 0
    height = 0
    sp = 1
    # node, whether it is of the second tree, leaf of the first, where to say so; feature, its cells, trail's height
    todo[0, 0] = a
    todo[0, 1] = 0
    todo[0, 2] = -1
    todo[0, 3] = -1
    todo[0, 4] = -1
    todo[0, 7] = 0
    while sp > 0:
        sp -= 1
        n = todo[sp, 0]
        second = todo[sp, 1]
        leaf = todo[sp, 2]
        # Back to the cells at the fork, and from there to the right.
        while height > todo[sp, 7]:
            height -= 1
            lo[trail[height, 0]] = trail[height, 1]
            hi[trail[height, 0]] = trail[height, 2]
        if keep and todo[sp, 3] >= 0:
            node[todo[sp, 3], 1] = at
        f = todo[sp, 4]
        if f >= 0:
            trail[height, 0] = f
            trail[height, 1] = lo[f]
            trail[height, 2] = hi[f]
            height += 1
            lo[f] = todo[sp, 5]
            hi[f] = todo[sp, 6]
        while leaves <= most:
            f = node[n, 0]
            if f < 0 and not second:
                leaf = n
                second = 1
                n = b
                continue
            if f < 0:
                if keep:
                    node[at, 0] = -1
                    node[at, 1] = -1
                    node[at, 2] = 0
                    for k in range(value.shape[1] - 1, -1, -1):
                        value[at, k] = value[leaf, k] + value[n, k]
                    for k in range(value.shape[1] - 1, 0, -1):
                        value[at, k - 1] += value[at, k] >> _LIMB
                        value[at, k] &= _MASK
                at += 1
                leaves += 1
                break
            h = node[n, 2]
            if h >= 0:
                left = lo[f] < h
                right = hi[f] > h
            else:
                c = counts[hi[f] - 1 - h] - counts[lo[f] - 1 - h]
                left = c > 0
                right = c < hi[f] - lo[f]
            if not right:
                n = n + 1
                continue
            if not left:
                n = node[n, 1]
                continue
            if keep:
                node[at, 0] = f
                node[at, 2] = h
                for k in range(value.shape[1]):
                    value[at, k] = 0
            todo[sp, 0] = node[n, 1]
            todo[sp, 1] = second
            todo[sp, 2] = leaf
            todo[sp, 3] = at
            # A table leaves no interval of cells on either side: such paths are all kept.
            todo[sp, 4] = f if h >= 0 else -1
            todo[sp, 5] = h
            todo[sp, 6] = hi[f]
            todo[sp, 7] = height
            sp += 1
            if h >= 0:
                trail[height, 0] = f
                trail[height, 1] = lo[f]
                trail[height, 2] = hi[f]
                height += 1
                hi[f] = h
            at += 1
            n = n + 1
    while height > 0:
        height -= 1
        lo[trail[height, 0]] = trail[height, 1]
        hi[trail[height, 0]] = trail[height, 2]
    return leaves


@flat_kernel()
def join(node, value, counts, a, mine, root, leaves, first, last, lo, hi, trail, todo, at, most):
    """Add the tree that agrees least with the one at row `a`, which has `mine` leaves, to it; return which, or -1.

    Looked at are those from `first` to `last` whose sum with it has up to `most` leaves; trees with no leaves have been
    taken already. The sum is written from row `at` on, and its leaves take the place of those of the tree.
    """
    best = np.int64(-1)
    ratio = 0.0
    # The last round writes what the others have chosen: one call of the sum is compiled sooner than two.
    for k in range(first, last + 1):
        chosen = k == last
        t = best if chosen else np.int64(k)
        if t < 0 or (not chosen and (leaves[t] == 0 or leaves[t] > most)):
            continue
        both = _sum(node, value, counts, a, root[t], lo, hi, trail, todo, at, most, chosen)
        if chosen:
            leaves[t] = both
        # Of all pairs of leaves, those that no point reaches are what makes the sum a better bound.
        elif both <= most and mine * leaves[t] / both > ratio:
            ratio = mine * leaves[t] / both
            best = t
    return best
