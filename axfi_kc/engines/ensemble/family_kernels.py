"""Families of weak CXps as the searches hold them, compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.compiled import flat_kernel, part

__all__ = ["Family", "absorb", "completing", "completing_under", "minimal", "store"]


class Family(NamedTuple):
    """Weak CXps found so far, and once more under each of their features, 64 sets in a word for each other feature."""

    member: np.ndarray  # uint64[rows, words]
    bits: np.ndarray  # uint64[m, m, rows / 64]: of the sets with a feature, in their order, which have another one
    held: np.ndarray  # int64[m], how many there are under each feature
    once: np.ndarray  # uint64[rows / 64], scratch space
    twice: np.ndarray  # uint64[rows / 64], scratch space


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
def completing_under(C, f, changed, p, fixed):
    """Do the same for the sets with feature `f`, which is changed.

    Sets are columns here: for each unchanged feature the sets that have it are one row of bits, and adding rows up
    tells which sets lack one feature and which more. That is a few operations for 64 sets and a feature.
    """
    m = C.held.size
    words = (C.held[f] + 63) >> 6
    for w in range(words):
        C.once[w] = 0
        C.twice[w] = 0
    for i in range(m):
        if changed[p, i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            continue
        for w in range(words):
            x = C.bits[f, i, w]
            C.twice[w] |= C.once[w] & x
            C.once[w] |= x
    some = np.uint64(0)
    rest = C.held[f]
    for w in range(words):
        # Columns beyond the last set are empty, and lack nothing either.
        valid = ~np.uint64(0) if rest >= 64 else (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
        if valid & ~C.once[w]:
            return True
        C.once[w] &= ~C.twice[w]
        some |= C.once[w]
        rest -= 64
    if some:
        for i in range(m):
            if changed[p, i >> 6] >> np.uint64(i & 63) & np.uint64(1):
                continue
            found = np.uint64(0)
            for w in range(words):
                found |= C.bits[f, i, w] & C.once[w]
            if found:
                fixed[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return False


@part
def store(C, sets, row, n):
    """Record a row of `sets` as the family's n-th."""
    m = C.held.size
    for w in range(sets.shape[1]):
        C.member[n, w] = sets[row, w]
    for i in range(m):
        if not sets[row, i >> 6] >> np.uint64(i & 63) & np.uint64(1):
            continue
        k = C.held[i]
        for f in range(m):
            if sets[row, f >> 6] >> np.uint64(f & 63) & np.uint64(1):
                C.bits[i, f, k >> 6] |= np.uint64(1) << np.uint64(k & 63)
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


@part
def _has(sets, row, i):
    return sets[row, i >> 6] >> np.uint64(i & 63) & np.uint64(1)


@flat_kernel()
def minimal(sets, size, order, rarest, often, place, start, end, shelf, kept):
    """Tell in `kept` which sets have no other one inside; of equal ones the first. All else is room for the work.

    Sets are gone through by size, so that each can only hold earlier ones, and put on the `shelf` under their rarest
    feature: what lies inside a set has its rarest feature there. `often` and `place` begin with zeros, one each per
    feature and one and two more.
    """
    m = often.size - 1
    for row in range(sets.shape[0]):
        size[row] = 0
        for i in range(m):
            if _has(sets, row, i):
                often[i] += 1
                size[row] += 1
        place[size[row] + 1] += 1
    for i in range(m + 1):
        start[i] = 0
        place[i + 1] += place[i]
    for row in range(sets.shape[0]):
        order[place[size[row]]] = row
        place[size[row]] += 1
        rarest[row] = 0
        least = sets.shape[0] + 1
        for i in range(m):
            if _has(sets, row, i) and often[i] < least:
                rarest[row] = i
                least = often[i]
        start[rarest[row] + 1] += 1
    for i in range(m):
        start[i + 1] += start[i]
        end[i] = start[i]
    for k in range(sets.shape[0]):
        row = order[k]
        kept[row] = True
        for i in range(m):
            if _has(sets, row, i) and _holds_one(shelf, start[i], end[i], sets, row):
                kept[row] = False
                break
        if kept[row]:
            i = rarest[row]
            for w in range(sets.shape[1]):
                shelf[end[i], w] = sets[row, w]
            end[i] += 1
