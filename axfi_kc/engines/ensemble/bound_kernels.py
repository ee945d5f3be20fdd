"""The trees as the kernels see them, and the bound of a box; compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.compiled import part

__all__ = ["Ensemble", "best_leaf", "cut_point", "exceeds", "fork_of"]


class Ensemble(NamedTuple):
    """Preorder trees, left child first. Group j < J bounds score j from above.

    Group J + j holds the same trees with ranks reversed and bounds it from below.
    """

    n_cells: np.ndarray  # int32[m]
    start: np.ndarray  # int32[2J + 1], trees of a group
    root: np.ndarray  # int32[trees]
    node: np.ndarray  # int32[N, 4]: feature or -1 at a leaf; right child;
    # threshold (cells below it go left), or -1 - offset
    # of the prefix counts of left cells; best rank below
    counts: np.ndarray  # int32[...]
    value: np.ndarray  # int64[N, L] at leaves
    base: np.ndarray  # int64[J, L]
    touch_start: np.ndarray  # int32[2J * m + 1]
    touch: np.ndarray  # int32[...], trees of a group that test a feature


@part
def best_leaf(node, counts, n, lo, hi, p, todo):
    """First undecided node at or below `n`, and the best leaf, inside box `p`.

    Unsigned indices spare numba's check for negative ones.
    """
    row = np.uint64(p)
    root = -1
    best = -1
    # Ranks are from 0 up, so the first leaf met always beats this. The first descent is never cut short, and
    # the first fork it meets is the first of all: later ones lie below it.
    leaf = -1
    todo[0] = n
    sp = 1
    while sp > 0:
        sp -= 1
        k = np.uint32(todo[np.uint32(sp)])
        # A subtree whose best leaf, inside the box or not, is no better cannot improve the bound. Ties stay
        # with the leaf met first: equal ranks are equal values, so any of them will do.
        while node[k, 3] > best:
            if node[k, 0] < 0:
                best = node[k, 3]
                leaf = np.int64(k)
                break
            f = np.uint32(node[k, 0])
            t = node[k, 2]
            if t >= 0:
                # Cells lo..hi-1 reach below t iff the first does, and t or beyond iff the last, hi - 1, does.
                left = lo[row, f] < t
                right = hi[row, f] > t
            else:
                a = lo[row, f]
                b = hi[row, f]
                # Prefix counts start at -1 - t, so entry b - 1 - t says how many of the first b cells go left.
                c = counts[b - 1 - t] - counts[a - 1 - t]
                left = c > 0
                right = c < b - a
            if left and right:
                if root < 0:
                    root = np.int64(k)
                # In preorder the left child follows its parent at once; only the right one is stored. The better half
                # is descended into first, so that the other is mostly cut as soon as it is popped.
                x = np.uint32(k + 1)
                y = np.uint32(node[k, 1])
                if node[y, 3] > node[x, 3]:
                    x, y = y, x
                todo[np.uint32(sp)] = y
                sp += 1
                k = x
            elif left:
                k = np.uint32(k + 1)
            else:
                # A box is not empty, so where no cell goes left some go right.
                k = np.uint32(node[k, 1])
    return (leaf if root < 0 else root), leaf


@part
def exceeds(value, base, j, total, leaf, p, first, last):
    """Whether base j plus the leaves ``leaf[p, first:last]`` is > 0, exactly.

    `total` is limb 0 of that sum; the other limbs add less than one unit per
    tree and are only read when that could matter.
    """
    limbs = value.shape[1]
    # Limbs after the first are never negative, so a positive first limb settles it.
    if limbs == 1 or total > 0:
        return total > 0
    # Each tree and the base add less than one unit in the other limbs: together less than what is missing.
    if total + (last - first) + 1 <= 0:
        return False
    carry = np.int64(0)
    rest = np.int64(0)
    # From the finest limb up. At most 1,999 trees, a base and a carry, each below 2**52, stay below 2**63.
    for k in range(limbs - 1, 0, -1):
        s = base[j, k] + carry
        for t in range(first, last):
            s += value[leaf[p, t], k]
        # Limbs after the first are never negative, so the shift and the mask are quotient and remainder.
        carry = s >> 52
        rest |= s & ((1 << 52) - 1)
    total += carry
    # Equal to 0 in the first limb, the sum is positive iff some finer bit is set.
    return total > 0 or (total == 0 and rest != 0)


@part
def cut_point(node, counts, n, c, lo, hi):
    """Where to split cells lo..hi-1 so that node `n` decides more; v has cell `c`."""
    t = node[n, 2]
    if t >= 0:
        return t
    # A set of categories has no single threshold. So v's cell is isolated first, in at most two cuts: every
    # box without it has one more feature changed, which is what the search is about.
    if lo <= c < hi:
        return c if lo < c else c + 1
    # The node is undecided, so the cells lo..hi-1 go both ways and the change comes before hi.
    first = counts[lo - t] - counts[lo - 1 - t]
    k = lo + 1
    while counts[k - t] - counts[k - 1 - t] == first:
        k += 1
    return k


@part
def fork_of(node, n, a, b):
    """Return the node below `n` where the paths to leaves `a` and `b` part; -1 if they are one."""
    if a == b:
        return np.int32(-1)
    r = node[n, 1]
    # In preorder a leaf lies left of a node iff it comes before its right child.
    while (a < r) == (b < r):
        n = n + 1 if a < r else r
        r = node[n, 1]
    return np.int32(n)
