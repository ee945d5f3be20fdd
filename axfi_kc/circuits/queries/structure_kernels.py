"""Which features lie below each node, as shared sets; compiled by numba.

A set of features is a node of one persistent binary trie whose leaves are words of 64 features.
Equal sets are equal numbers, and the union of two sets makes only what neither of them has, so a
chain that meets one more feature per node costs a path of the trie per node and not a whole set.
Circuits that follow an order or a tree of the features need no sets at all: their spans are apart.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION
from axfi_kc.compiled import kernel, part

__all__ = ["are_spans_apart", "scope_numbers"]


_EMPTY = 0
_LEAF = -1


@part
def _hash(left, right, word):
    # Plus one, because leaves have -1 in both places.
    h = np.uint64(left + 1) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(right + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
    h = (h ^ word) * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(32))


@part
def _grown(array):
    larger = np.empty(2 * len(array), array.dtype)
    for k in range(len(array)):
        larger[k] = array[k]
    return larger


@part
def _rehashed(table, size, left, right, word):
    larger = np.zeros(2 * len(table), np.int32)
    mask = np.uint64(len(larger) - 1)
    # Number 0 is the empty set, which is never looked up: 0 marks a free place of the table.
    for k in range(1, size):
        at = _hash(left[k], right[k], word[k]) & mask
        while larger[at]:
            at = (at + np.uint64(1)) & mask
        larger[at] = k
    return larger


@part
def _interned(store, left, right, word):
    """Return the number of a trie node and the store, larger if it was full."""
    table, lefts, rights, words, size = store
    # Without this the empty set would have a node per height, and equal sets would have several numbers.
    if not word and left <= 0 and right <= 0:
        return _EMPTY, store
    mask = np.uint64(len(table) - 1)
    at = _hash(left, right, word) & mask
    while table[at]:
        k = table[at]
        if lefts[k] == left and rights[k] == right and words[k] == word:
            return np.int64(k), store
        at = (at + np.uint64(1)) & mask
    if size == len(lefts):
        lefts, rights, words = _grown(lefts), _grown(rights), _grown(words)
    lefts[size], rights[size], words[size] = left, right, word
    table[at] = size
    # At most half full, so that probing stays short and always meets a free place.
    if 2 * size > len(table):
        table = _rehashed(table, size + 1, lefts, rights, words)
    return np.int64(size), (table, lefts, rights, words, size + 1)


@part
def _single(store, feature, height):
    # All sets have paths of the same height, so two of them can be walked side by side.
    number, store = _interned(store, _LEAF, _LEAF, np.uint64(1) << np.uint64(feature & 63))
    place = feature >> 6
    # From the leaf up: the lowest bit of the word's place says which child it is of the node above.
    for _ in range(height):
        if place & 1:
            number, store = _interned(store, _EMPTY, number, np.uint64(0))
        else:
            number, store = _interned(store, number, _EMPTY, np.uint64(0))
        place >>= 1
    return number, store


@part
def _union(store, a, b, stack):
    """Return the union of two sets, whether they share a feature, and the store.

    A frame of the stack is: the two sets, how far it is, the left half of the result.
    """
    depth = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = a, b, 0
    result = np.int64(_EMPTY)
    meet = False
    while depth >= 0:
        x, y, state = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        # Sharing pays here: equal parts are equal numbers, and a part that only one set has is taken as it
        # is. With the empty set being 0, the larger number is the union in each of these cases.
        if x in (y, _EMPTY) or y == _EMPTY:
            meet = meet or (x == y and x != _EMPTY)
            result = max(x, y)
            depth -= 1
        elif store[1][x] == _LEAF:
            # Equal heights: where one is a leaf, so is the other.
            meet = meet or (store[3][x] & store[3][y]) != np.uint64(0)
            result, store = _interned(store, _LEAF, _LEAF, store[3][x] | store[3][y])
            depth -= 1
        elif state < 2:
            # The first half is put aside while the second is computed; both are then joined under one node.
            if state == 1:
                stack[depth, 3] = result
            side = store[1] if state == 0 else store[2]
            stack[depth, 2] += 1
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = side[x], side[y], 0
        else:
            result, store = _interned(store, stack[depth, 3], result, np.uint64(0))
            depth -= 1
    return result, meet, store


@kernel
def scope_numbers(kinds, features, offsets, children, n_features):
    """Return a number per node, equal for equal scopes, and the first node that meets a feature twice (-1: none)."""
    height = 0
    # The trie has 2**height words of 64 features.
    while (64 << height) < n_features:
        height += 1
    store = (
        np.zeros(1 << 12, np.int32), np.empty(1 << 10, np.int32), np.empty(1 << 10, np.int32),
        np.zeros(1 << 10, np.uint64), 1,
    )  # fmt: skip
    # One frame per height, one for the leaf, and one to spare.
    stack = np.zeros((height + 2, 4), np.int64)
    scope = np.zeros(len(kinds), np.int64)
    faulty = np.int64(-1)
    for node in range(len(kinds)):
        mine = np.int64(_EMPTY)
        for arc in range(offsets[node], offsets[node + 1]):
            below = scope[children[arc]]
            # Children with one scope, as smooth circuits have them, need no union.
            if below != mine:
                mine, meet, store = _union(store, mine, below, stack)
            else:
                meet = mine != _EMPTY
            # Only conjunctions must not share features; disjunctions and decisions may, among their children.
            if meet and kinds[node] == AND and faulty < 0:
                faulty = node
        if kinds[node] == DECISION:
            own, store = _single(store, features[node], height)
            mine, meet, store = _union(store, mine, own, stack)
            if meet and faulty < 0:
                faulty = node
        scope[node] = mine
    return scope, faulty


@part
def _sort(items, n, keys):
    """Sort the first n items by their keys: Shell's sort, which is short, and numba's own compiles for seconds."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            item = items[k]
            at = k
            while at >= gap and keys[items[at - gap]] > keys[item]:
                items[at] = items[at - gap]
                at -= gap
            items[at] = item
        gap //= 3


@kernel
def are_spans_apart(kinds, features, offsets, children, places):
    """Tell whether, with features at these places, no two children of a conjunction span a common place.

    True proves decomposability (a decision's feature must lie outside the span of its children);
    False proves nothing.
    """
    first = np.empty(len(kinds), np.int64)
    last = np.empty(len(kinds), np.int64)
    below = np.empty(len(children), np.int64)
    for node in range(len(kinds)):
        # An empty span, as constants have: neutral for min and max, and apart from every other.
        first[node] = np.int64(1) << np.int64(40)
        last[node] = -1
        n_below = offsets[node + 1] - offsets[node]
        for k in range(n_below):
            child = below[k] = children[offsets[node] + k]
            first[node] = min(first[node], first[child])
            last[node] = max(last[node], last[child])
        if kinds[node] == AND:
            _sort(below, n_below, first)
            # Sorted by where they begin, spans are disjoint iff each begins after the end of the one before.
            for k in range(1, n_below):
                if first[below[k]] <= last[below[k - 1]]:
                    return False
        elif kinds[node] == DECISION:
            own = places[features[node]]
            if first[node] <= own <= last[node]:
                return False
            # Reached only if the feature lies outside the span of the children.
            first[node] = min(first[node], own)
            last[node] = max(last[node], own)
    return True
