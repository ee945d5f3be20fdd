"""The trees as the kernels see them, and what the leaves in reach of a box say about it; compiled by numba.

The leaves of a tree are the bits of a mask, or of several where there are more than 64, from the largest value down. A
box has the mask of the leaves in its reach. A test that the box decides clears the leaves on its other side, so that
narrowing a feature costs one operation for each test that it decides, and the best leaf is the lowest bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.compiled import flat_kernel, part

__all__ = [
    "Around",
    "Ensemble",
    "best_of",
    "cut_point",
    "exceeds",
    "fork_of",
    "goes_left",
    "highest",
    "look_around",
    "lost",
    "lowest",
    "reach",
    "side_lost",
    "tests_decided",
    "worst_of",
]


class Ensemble(NamedTuple):
    """Preorder trees, left child first, those of score 0 before those of score 1 and so on."""

    n_cells: np.ndarray  # int32[m]
    start: np.ndarray  # int32[J + 1], trees of a score
    root: np.ndarray  # int32[trees]
    node: np.ndarray  # int32[N, 4]: feature or -1 at a leaf; right child; code of the test; rank of a leaf.
    # The code is a threshold (cells below it go left), or -1 - offset of the prefix counts of left cells.
    counts: np.ndarray  # int32[...]
    value: np.ndarray  # int64[N, L] at leaves
    base: np.ndarray  # int64[J, L]
    touch_start: np.ndarray  # int32[J * m + 1]
    touch: np.ndarray  # int32[...], trees of a score that test a feature
    block_start: np.ndarray  # int32[trees + 1], blocks of a tree, of up to 64 leaves each
    leaf_start: np.ndarray  # int32[blocks + 1], leaves of a block
    leaf: np.ndarray  # int32[leaves], rows, the largest value of a block first
    test_start: np.ndarray  # int32[J * m + 1], tests of a feature in the trees of a score, by code
    test: np.ndarray  # int32[tests, 3]: tree, block, code
    sides: np.ndarray  # uint64[tests, 2], leaves of the block to the left and to the right of the test
    after_start: np.ndarray  # int64[m + 1], where the cells of a feature begin in `after`, one more than it has
    after: np.ndarray  # int32[J, ...], the first test above cell -1, 0, ... of a feature


class Around(NamedTuple):
    """An instance among the trees."""

    v: np.ndarray  # int32[m], its cells
    leaf: np.ndarray  # int32[trees], its leaves
    needs: np.ndarray  # uint64[leaves, words], features whose test on the path to a leaf it fails


# The top six bits of this number times 2**k are different for each k, so they tell k.
_SPREAD = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _k in range(64):
    _PLACES[(int(_SPREAD) << _k & (1 << 64) - 1) >> 58] = _k


@part
def lowest(x):
    """Return the place of the lowest bit of `x`, which is not 0."""
    return _PLACES[((x & (~x + np.uint64(1))) * _SPREAD) >> np.uint64(58)]


@part
def highest(x):
    """Return the place of the highest bit of `x`, which is not 0."""
    x |= x >> np.uint64(1)
    x |= x >> np.uint64(2)
    x |= x >> np.uint64(4)
    x |= x >> np.uint64(8)
    x |= x >> np.uint64(16)
    x |= x >> np.uint64(32)
    return lowest(x ^ (x >> np.uint64(1)))


# Parts that are called for a single test or tree take the arrays they need and no named tuple: LLVM does not inline
# everything, and handing over twenty arrays takes longer than what is done with them.


@part
def best_of(block_start, leaf_start, leaf, node, mask, p, t):
    """Return the row of the largest leaf of tree `t` in reach of box `p`."""
    first = block_start[t]
    last = block_start[t + 1]
    if last - first == 1:
        return leaf[leaf_start[first] + lowest(mask[p, first])]
    best = np.int64(-1)
    row = np.int64(-1)
    for b in range(first, last):
        if mask[p, b]:
            n = leaf[leaf_start[b] + lowest(mask[p, b])]
            if node[n, 3] > best:
                best = node[n, 3]
                row = n
    return row


@part
def worst_of(block_start, leaf_start, leaf, node, mask, p, t):
    """Return the row of the smallest leaf of tree `t` in reach of box `p`."""
    first = block_start[t]
    last = block_start[t + 1]
    if last - first == 1:
        return leaf[leaf_start[first] + highest(mask[p, first])]
    row = np.int64(-1)
    for b in range(first, last):
        if mask[p, b]:
            n = leaf[leaf_start[b] + highest(mask[p, b])]
            if row < 0 or node[n, 3] < node[row, 3]:
                row = n
    return row


@part
def reach(F, needs, mask, p, first, last, free):
    """Set the leaves of trees `first` to `last` that can be reached by changing features of `free` only."""
    for b in range(F.block_start[first], F.block_start[last]):
        found = np.uint64(0)
        begin = F.leaf_start[b]
        for i in range(begin, F.leaf_start[b + 1]):
            missing = np.uint64(0)
            for w in range(free.size):
                missing |= needs[i, w] & ~free[w]
            found |= np.uint64(missing == np.uint64(0)) << np.uint64(i - begin)
        mask[p, b] = found


@part
def tests_decided(F, j, f, step, a, b, lo, hi):
    """Return the tests of feature `f` that its cells a..b-1 may decide, and lo..hi-1 did not: the first, and the next.

    Step 0: thresholds up to the first cell, where everything goes right and the leaves to the left are lost; step 1:
    those above the last, where the leaves to the right are; step 2: tables. Cells -1 and one more than there are stand
    for all tests, those too that send every cell one way.
    """
    k = j * F.n_cells.size + f
    first = F.after_start[f] + 1
    if step == 0:
        return F.after[j, first + lo], F.after[j, first + a]
    if step == 1:
        return F.after[j, first + b - 1], F.after[j, first + hi - 1] if hi <= F.n_cells[f] else F.test_start[k + 1]
    return F.test_start[k], F.after[j, first - 1]


@part
def side_lost(counts, code, step, a, b):
    """Return on which side of such a test leaves are lost: 0 on the left, 1 on the right, -1 on none."""
    if step < 2:
        return np.int64(step)
    # Prefix counts start at -1 - code, so entry b - 1 - code says how many of the first b cells go left.
    c = counts[b - 1 - code] - counts[a - 1 - code]
    return np.int64(0) if c == 0 else np.int64(1) if c == b - a else np.int64(-1)


@part
def lost(F, mask, j, p, f, a, b, lo, hi, trail, kept):
    """Return by how much the bound of box `p` falls, at least, where feature `f` has cells a..b-1 instead of lo..hi-1.

    A look that changes nothing: masks are put back from `trail` and `kept`.
    """
    total = np.int64(0)
    height = np.int64(0)
    for step in range(3):
        begin, end = tests_decided(F, j, f, step, a, b, lo, hi)
        for e in range(begin, end):
            side = side_lost(F.counts, F.test[e, 2], step, a, b)
            if side < 0:
                continue
            t = F.test[e, 0]
            block = F.test[e, 1]
            before = mask[p, block]
            left = before & ~F.sides[e, side]
            # Trees of several blocks are left as they are, which makes the bound no less true.
            if left == before or F.block_start[t + 1] - F.block_start[t] > 1:
                continue
            trail[height] = block
            kept[height] = before
            height += 1
            mask[p, block] = left
            first = F.leaf_start[block]
            total += F.value[F.leaf[first + lowest(before)], 0] - F.value[F.leaf[first + lowest(left)], 0]
    while height > 0:
        height -= 1
        mask[p, trail[height]] = kept[height]
    return total


@part
def goes_left(counts, code, c):
    """Tell where cell `c` goes at a test."""
    # For a table, cell c goes left iff the prefix count grows at it; see `left_cells`.
    return c < code if code >= 0 else counts[c - code] > counts[c - 1 - code]


@flat_kernel(F=Ensemble, A=Around)
def look_around(F, A, need, todo):
    """Fill in the leaves of the instance and what the others need; `need` and `todo` are scratch space."""
    words = A.needs.shape[1]
    for t in range(F.root.size):
        todo[0] = F.root[t]
        for w in range(words):
            need[0, w] = 0
        sp = 1
        while sp > 0:
            sp -= 1
            n = todo[sp]
            f = F.node[n, 0]
            if f < 0:
                # A leaf knows its place: inner nodes have no rank, and leaves no right child.
                is_own = True
                for w in range(words):
                    A.needs[F.node[n, 1], w] = need[sp, w]
                    is_own = is_own and need[sp, w] == np.uint64(0)
                if is_own:
                    A.leaf[t] = n
                continue
            left = goes_left(F.counts, F.node[n, 2], A.v[f])
            # The side on which v is keeps the set, the other one needs this feature, too.
            for w in range(words):
                need[sp + 1, w] = need[sp, w]
            todo[sp] = n + 1 if left else F.node[n, 1]
            todo[sp + 1] = F.node[n, 1] if left else n + 1
            need[sp + 1, f >> 6] |= np.uint64(1) << np.uint64(f & 63)
            sp += 2


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
        return np.int64(-1)
    r = node[n, 1]
    # In preorder a leaf lies left of a node iff it comes before its right child.
    while (a < r) == (b < r):
        n = n + 1 if a < r else r
        r = node[n, 1]
    return n
