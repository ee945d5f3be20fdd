"""Families of weak CXps as the searches hold them, compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.compiled import flat_kernel, part

__all__ = ["Family", "absorb", "completing", "minimal", "store"]


class Family(NamedTuple):
    """Weak CXps found so far, and once more under each of their features, so that they are read in a row."""

    member: np.ndarray  # uint64[rows, words]
    under: np.ndarray  # uint64[m, rows, words]
    held: np.ndarray  # int64[m], how many there are under each feature


@part
def completing(sets, first, last, changed, p, fixed):
    """Add to `fixed` the features that alone are missing from one of the sets; True if one lacks nothing.

    One word is by far the most frequent case, and its loop has no branches, so that several sets are looked at at
    once.
    """
    if sets.shape[1] == 1:
        lacking = ~changed[p, 0]
        alone = np.uint64(0)
        inside = np.uint64(0)
        for k in range(first, last):
            rest = sets[k, 0] & lacking
            # Clearing the lowest bit leaves nothing iff there was at most one.
            few = np.uint64(rest & (rest - np.uint64(1)) == np.uint64(0))
            alone |= rest & (np.uint64(0) - few)
            inside |= np.uint64(rest == np.uint64(0))
        fixed[0] |= alone
        return inside != np.uint64(0)
    for k in range(first, last):
        missing = 0
        word = 0
        for w in range(sets.shape[1]):
            rest = sets[k, w] & ~changed[p, w]
            if rest:
                missing += 1 if rest & (rest - np.uint64(1)) == np.uint64(0) else 2
                word = w
        if missing == 0:
            return True
        if missing == 1:
            fixed[word] |= sets[k, word] & ~changed[p, word]
    return False


@part
def store(C, sets, row, n):
    """Record a row of `sets` as the family's n-th."""
    for w in range(sets.shape[1]):
        C.member[n, w] = sets[row, w]
    for i in range(C.held.size):
        if sets[row, i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            for w in range(sets.shape[1]):
                C.under[i, C.held[i], w] = sets[row, w]
            C.held[i] += 1


@flat_kernel(C=Family)
def absorb(C, sets, first, last, n):
    """Add rows of `sets` to a family of n, which has room for them; return its new size."""
    for row in range(first, last):
        store(C, sets, row, n)
        n += 1
    return n


@part
def _holds_one(sets, first, last, W, row):
    """Tell whether one of the sets lies inside set `row` of `W`."""
    if sets.shape[1] == 1:
        outside = ~W[row, 0]
        found = np.uint64(0)
        for k in range(first, last):
            found |= np.uint64(sets[k, 0] & outside == np.uint64(0))
        return found != np.uint64(0)
    for k in range(first, last):
        inside = True
        for w in range(sets.shape[1]):
            inside = inside and sets[k, w] & ~W[row, w] == np.uint64(0)
        if inside:
            return True
    return False


@flat_kernel()
def minimal(sets, order, rarest, start, end, shelf, kept):
    """Tell in `kept` which sets have no other one inside; of equal ones the first.

    `order` goes by size, so a set can only hold earlier ones. `rarest` names a feature of each set, in which it is
    looked for: what lies inside a set has its rarest feature there. Sets with feature i go to `start[i]` and behind on
    the `shelf`, which is empty: `end` is `start`.
    """
    m = start.size
    for k in range(order.size):
        row = order[k]
        kept[row] = 1
        for i in range(m):
            if sets[row, i >> 6] >> np.uint64(i & 63) & np.uint64(1) and _holds_one(shelf, start[i], end[i], sets, row):
                kept[row] = 0
                break
        if kept[row]:
            i = rarest[row]
            for w in range(sets.shape[1]):
                shelf[end[i], w] = sets[row, w]
            end[i] += 1
