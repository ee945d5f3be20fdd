"""Exact weights of boxes under a tree-shaped distribution; compiled by numba.

Numbers are natural, of any length: limbs of 32 bits in uint64, the lowest first, so that a product of two limbs plus
two more limbs fits a word. Each number has a place where it starts and a length without leading zeros; 0 has length 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.compiled import kernel, part

__all__ = ["Numbers", "Tree", "weigh"]


_LIMB = np.uint64(32)
_MASK = np.uint64(0xFFFFFFFF)


class Numbers(NamedTuple):
    """Natural numbers, one after the other."""

    limbs: np.ndarray  # uint64[...]
    start: np.ndarray  # int64[numbers]
    length: np.ndarray  # int64[numbers]


class Tree(NamedTuple):
    """A tree-shaped distribution.

    Over one denominator for the table, entry (p, s) of that of feature i is number ``first[i] + p * size[i] + s``;
    over one denominator for its row p, which makes it much shorter, it is number ``own[i] + p * size[i] + s``.
    """

    parent: np.ndarray  # int64[m]
    order: np.ndarray  # int64[m], parents first
    child_start: np.ndarray  # int64[m + 1]
    child: np.ndarray  # int64[...]
    size: np.ndarray  # int64[m], states
    first: np.ndarray  # int64[m]
    own: np.ndarray  # int64[m]


@part
def _multiplied(a, ao, an, b, bo, bn, z, zo):
    """Write a * b to z, which is neither; return its length."""
    if an == 0 or bn == 0:
        return 0
    # Most shares are 1: categories, and bins that a cell holds whole.
    if bn == 1 and b[bo] == np.uint64(1):
        for k in range(an):
            z[zo + k] = a[ao + k]
        return an
    if an == 1 and a[ao] == np.uint64(1):
        for k in range(bn):
            z[zo + k] = b[bo + k]
        return bn
    for k in range(an + bn):
        z[zo + k] = np.uint64(0)
    for i in range(an):
        carry = np.uint64(0)
        x = a[ao + i]
        for j in range(bn):
            # (2**32 - 1)**2 + 2 * (2**32 - 1) = 2**64 - 1: it just fits.
            t = z[zo + i + j] + x * b[bo + j] + carry
            z[zo + i + j] = t & _MASK
            carry = t >> _LIMB
        z[zo + i + bn] = carry
    n = an + bn
    while n > 0 and z[zo + n - 1] == np.uint64(0):
        n -= 1
    return n


@part
def _added(z, zo, zn, a, ao, an):
    """Add a to z; return its length."""
    n = max(zn, an)
    carry = np.uint64(0)
    for k in range(n):
        t = carry
        if k < zn:
            t += z[zo + k]
        if k < an:
            t += a[ao + k]
        z[zo + k] = t & _MASK
        carry = t >> _LIMB
    if carry != np.uint64(0):
        z[zo + n] = carry
        n += 1
    return n


@part
def _copied(a, ao, an, z, zo):
    for k in range(an):
        z[zo + k] = a[ao + k]
    return an


@part
def _fix(T, N, place, i, inside, base, base_length, width, L, tmp):
    """Write for each state of member i the product of the table entries between it and features that are fixed."""
    for s in range(T.size[i]):
        at = (i * width + s) * L
        parent = T.parent[i]
        if parent >= 0 and inside[parent]:
            base[at] = np.uint64(1)
            n = np.int64(1)
        else:
            # Only this row of the table matters, so its denominator cancels.
            above = place[parent] if parent >= 0 else 0
            entry = T.own[i] + above * T.size[i] + s
            n = _copied(N.limbs, N.start[entry], N.length[entry], base, at)
        for c in range(T.child_start[i], T.child_start[i + 1]):
            child = T.child[c]
            if not inside[child]:
                entry = T.first[child] + s * T.size[child] + place[child]
                n = _multiplied(base, at, n, N.limbs, N.start[entry], N.length[entry], tmp, 0)
                _copied(tmp, 0, n, base, at)
        base_length[i * width + s] = n


@part
def _is_alone(T, i, inside):
    """Tell whether everything next to member i is fixed."""
    parent = T.parent[i]
    alone = not (parent >= 0 and inside[parent])
    for c in range(T.child_start[i], T.child_start[i + 1]):
        alone = alone and not inside[T.child[c]]
    return alone


@part
def _weigh_box(T, N, R, Y, rows, members, inside, base, base_length, msg, msg_length, width, L, cur, cur_length,
               tmp, product):  # fmt: skip
    """Write what a box weighs to `product`; return its length. Members come children first.

    `rows` holds, for each member, the number of its row of shares among R.
    """
    product[0] = np.uint64(1)
    size = np.int64(1)
    for k in range(members):
        i = Y[k]
        for s in range(T.size[i]):
            row = rows[k] + s
            n = R.length[row]
            if n > 0:
                n = _multiplied(
                    base, (i * width + s) * L, base_length[i * width + s], R.limbs, R.start[row], n, cur, s * L
                )
            for c in range(T.child_start[i], T.child_start[i + 1]):
                child = T.child[c]
                if n > 0 and inside[child]:
                    at = child * width + s
                    n = _multiplied(cur, s * L, n, msg, at * L, msg_length[at], tmp, 0)
                    _copied(tmp, 0, n, cur, s * L)
            cur_length[s] = n
        parent = T.parent[i]
        if parent >= 0 and inside[parent]:
            # The message to the parent: for each of its states what this feature and all below it add up to.
            for p in range(T.size[parent]):
                at = i * width + p
                n = np.int64(0)
                for s in range(T.size[i]):
                    if cur_length[s] > 0:
                        entry = T.first[i] + p * T.size[i] + s
                        t = _multiplied(cur, s * L, cur_length[s], N.limbs, N.start[entry], N.length[entry], tmp, 0)
                        n = _added(msg, at * L, n, tmp, 0, t)
                msg_length[at] = n
        else:
            # The top of a part: its value is a factor of the box's.
            n = np.int64(0)
            for s in range(1, T.size[i]):
                n = _added(cur, 0, cur_length[0] if s == 1 else n, cur, s * L, cur_length[s])
            if T.size[i] == 1:
                n = cur_length[0]
            size = _multiplied(cur, 0, n, product, 0, size, tmp, 0)
            if size == 0:
                return size
            _copied(tmp, 0, size, product, 0)
    return size


@kernel
def weigh(T, N, R, full, places, owner, offsets, features, counts, spans, width, L, above, below):
    """Write for each set of features what its boxes weigh together, and what everything does.

    Set c, of instance ``owner[c]``, is ``features[offsets[c]:offsets[c + 1]]``; its ``counts[c]`` boxes have a span per
    feature in `spans`. A span is the number of its first row among `R`, and ``full[i]`` that of all cells of feature i.
    The limbs go to ``above[c]`` and ``below[c]``, which are zero before.
    """
    m = T.size.size
    inside = np.zeros(m, np.uint8)
    base = np.empty(m * width * L, np.uint64)
    base_length = np.zeros(m * width, np.int64)
    msg = np.empty(m * width * L, np.uint64)
    msg_length = np.zeros(m * width, np.int64)
    cur = np.empty(width * L, np.uint64)
    cur_length = np.zeros(width, np.int64)
    tmp = np.empty(L, np.uint64)
    product = np.empty(L, np.uint64)
    total = np.empty(L, np.uint64)
    Y = np.empty(m, np.int64)
    slot = np.empty(m, np.int64)  # of a feature among those of the set
    rows = np.empty(m, np.int64)
    fixed_for = np.full(m, -1, np.int64)  # the instance for which the factors of a feature were made
    at = 0
    for c in range(counts.size):
        first = offsets[c]
        k = offsets[c + 1] - first
        for j in range(k):
            inside[features[first + j]] = 1
            slot[features[first + j]] = j
        n = 0
        for r in range(m - 1, -1, -1):
            if inside[T.order[r]]:
                Y[n] = T.order[r]
                n += 1
        place = places[owner[c]]
        for j in range(k):
            # Next to fixed features only, a member has the same factors in every set of its instance.
            alone = _is_alone(T, Y[j], inside)
            if not alone or fixed_for[Y[j]] != owner[c]:
                _fix(T, N, place, Y[j], inside, base, base_length, width, L, tmp)
                fixed_for[Y[j]] = owner[c] if alone else -1
        # The first round is everything, the others are the boxes.
        size = np.int64(0)
        for b in range(counts[c] + 1):
            for j in range(k):
                rows[j] = full[Y[j]] if b == 0 else spans[at + (b - 1) * k + slot[Y[j]]]
            n = _weigh_box(
                T, N, R, Y, rows, k, inside, base, base_length, msg, msg_length, width, L, cur, cur_length, tmp, product
            )
            if b == 0:
                for j in range(n):
                    below[c, j] = product[j]
            else:
                size = _added(total, 0, size, product, 0, n)
        for j in range(size):
            above[c, j] = total[j]
        at += counts[c] * k
        for j in range(k):
            inside[features[first + j]] = 0
