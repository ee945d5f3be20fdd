"""Top-down compilation of "a sum of trees is above 0" into an ordered diagram; compiled by numba.

What remains below a point of the search is a *state*: the residual trees that test the first feature left (a *group*)
and the others (the *rest*), each sorted. A state knows, as a sorted list of intervals, for which partial sums which
sub-diagram was found. All is in arrays and stays there, so the search can be left at any step and continued.

Numbers are rows of limbs, the first one with the sign and as wide as it must be, the others of 52 bits and not
negative: order is lexicographic, and one limb is an ordinary integer. The search is one loop over a stack of frames.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL
from axfi_kc.circuits.targets.mdd_kernels import N_NODES, N_RUNS, make_node, mixed, tag_of

__all__ = [
    "DEPTH",
    "LARGEST",
    "LONGEST",
    "N_BELOW",
    "N_BLOCKS",
    "N_CHILDREN",
    "N_ENTRIES",
    "N_GROUPS",
    "N_GROUP_KEYS",
    "N_GROUP_RUNS",
    "N_REST",
    "N_STATES",
    "REGISTERS",
    "STATE_WORDS",
    "VALUE",
    "Frames",
    "Groups",
    "Lists",
    "States",
    "Trees",
    "begin",
    "search",
]


# registers besides NODES and LIMIT: the frame, the last node made, and what of each array is in use
DEPTH, VALUE, N_STATES, N_REST, N_BELOW, N_GROUPS, N_GROUP_KEYS, N_GROUP_RUNS, N_CHILDREN = range(2, 11)
N_ENTRIES, N_BLOCKS, LARGEST = 11, 12, 13  # the last is the largest class of a list that is cut into blocks
REGISTERS = 14

_LIMB = 52
_MASK = (1 << 52) - 1


class Trees(NamedTuple):
    """Residual trees: where each tests, the most it adds, and its runs from starts[r] to starts[r + 1]."""

    places: np.ndarray
    mosts: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    amounts: np.ndarray
    children: np.ndarray


class Groups(NamedTuple):
    """Multisets of residual trees of one place.

    Group g has the trees keys[key_starts[g]:key_starts[g + 1]] and the runs run_starts[g] to run_starts[g + 1]. Run k
    ends at ends[k], adds amounts[k] and leaves the trees children[child_starts[k]:child_starts[k + 1]], sorted and
    without the constant 0, which add at most mosts[k].
    """

    key_starts: np.ndarray
    keys: np.ndarray
    run_starts: np.ndarray
    ends: np.ndarray
    amounts: np.ndarray
    mosts: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    table: np.ndarray


class States(NamedTuple):
    """Multisets of residual trees.

    A row of `rows` for each state: its group, where its rest and its links begin (they end where the next state's
    begin), the list of its intervals, and the most that its rest can add. What run k of its group leaves is the
    state ``below[row[_LINKS] + k]``, or -1 if nobody asked yet.
    """

    rows: np.ndarray
    rest: np.ndarray
    below: np.ndarray
    table: np.ndarray


_GROUP, _REST, _LINKS, _LEVEL, _LIST, _REST_MOST = 0, 1, 2, 3, 4, 7  # columns of a state's row
STATE_WORDS = 7  # without the number


class Lists(NamedTuple):
    """Sorted lists of intervals, each with the sub-diagram that is right for it.

    A list is three words, where its entries start, how many there are, and of which class it is: class c has room for
    4 * 2**c. Entry k begins at ``lows[k]``; ``data[k]`` is the first number beyond it, and the node. A longer list than
    `LONGEST` is cut into rows of `blocks`: then its own entries (level 1) are the first numbers of these, and the
    blocks. Room of lists that grew is used again: ``free[c]`` is the first of class c plus 1, its low the next.
    """

    lows: np.ndarray
    data: np.ndarray
    blocks: np.ndarray
    free: np.ndarray


_START, _COUNT, _CLASS = range(3)
_LONGEST_CLASS = 7
LONGEST = 4 << _LONGEST_CLASS


class Frames(NamedTuple):
    """Sub-diagrams in the making, and room for numbers and trees that a step needs."""

    states: np.ndarray
    runs: np.ndarray
    totals: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    children: np.ndarray
    numbers: np.ndarray  # of which the first is far beyond every sum, and the second is that below 0
    trees: np.ndarray
    at: np.ndarray


# Numbers stand in rows from a column on. `limbs` is a tuple as long as a number: its length is part of its type, so
# that loops over the limbs are unrolled, and one limb costs what an integer does.


@njit(cache=True, nogil=True)
def _add(a, i, p, b, j, q, out, k, limbs):
    """Set the first number of out[k] to the sum of those at a[i, p] and b[j, q]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i, p + limb] + b[j, q + limb] + carry
        carry = s >> _LIMB
        out[k, limb] = s & _MASK
    out[k, 0] = a[i, p] + b[j, q] + carry


@njit(cache=True, nogil=True)
def _subtract(a, i, b, j, out, k, limbs):
    """Set out[k] = a[i] - b[j]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i, limb] - b[j, limb] + carry
        carry = s >> _LIMB
        out[k, limb] = s & _MASK
    out[k, 0] = a[i, 0] - b[j, 0] + carry


@njit(cache=True, nogil=True)
def _copy(a, i, p, out, k, q, limbs):
    for limb in range(len(limbs)):
        out[k, q + limb] = a[i, p + limb]


@njit(cache=True, nogil=True)
def _is_less(a, i, p, b, j, q, limbs):
    for limb in range(len(limbs)):
        if a[i, p + limb] != b[j, q + limb]:
            return a[i, p + limb] < b[j, q + limb]
    return False


# rows of Frames.numbers
_FAR, _MINUS_FAR, _ONE, _AT, _FIRST, _END = range(6)


@njit(cache=True, nogil=True)
def _tag(first, values, begin, end):
    h = mixed(np.uint64(first), end - begin)
    for k in range(begin, end):
        h = mixed(h, values[k])
    return tag_of(h)


@njit(cache=True, nogil=True)
def _are_same(values, begin, end, others, at):
    for k in range(end - begin):  # noqa: SIM110  # numba compiles loops
        if values[begin + k] != others[at + k]:
            return False
    return True


@njit(cache=True, nogil=True)
def _merged(a, a_begin, a_end, b, b_begin, b_end, out):
    """Write two sorted lists as one, and return its length."""
    n = 0
    while a_begin < a_end or b_begin < b_end:
        if b_begin == b_end or (a_begin < a_end and a[a_begin] < b[b_begin]):
            out[n] = a[a_begin]
            a_begin += 1
        else:
            out[n] = b[b_begin]
            b_begin += 1
        n += 1
    return n


@njit(cache=True, nogil=True)
def _front(places, trees, n):
    """Return how many of n sorted trees test the first feature: numbers grow with the place."""
    place = places[trees[0]]
    found = 1
    while found < n and places[trees[found]] == place:
        found += 1
    return found


@njit(cache=True, nogil=True)
def _group_slot(table, starts, keys, trees, n, tag):
    """Return where the group of the first n trees is in its table, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            g = (table[slot] & 0xFFFFFFFF) - 1
            if starts[g + 1] - starts[g] == n and _are_same(trees, 0, n, keys, starts[g]):
                break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@njit(cache=True, nogil=True)
def _state_slot(table, rows, rest, g, trees, first, n, tag):
    """Return where the state of group g and the trees from `first` on is in its table, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            s = (table[slot] & 0xFFFFFFFF) - 1
            begin = rows[s, _REST]
            if (
                rows[s, _GROUP] == g
                and rows[s + 1, _REST] - begin == n - first
                and _are_same(trees, first, n, rest, begin)
            ):
                break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@njit(cache=True, nogil=True)
def _new_group(trees, groups, frames, reg, n, limbs):
    """Make the group of the first n trees of `frames.trees`.

    Its runs are those of cells that all of its trees treat alike; each adds and leaves what the trees do.
    """
    _, tree_mosts, tree_starts, tree_ends, tree_amounts, tree_children = trees
    key_starts, keys, run_starts, ends, amounts, mosts, child_starts, children, _ = groups
    at = frames.at
    g, first = reg[N_GROUPS], reg[N_GROUP_KEYS]
    for k in range(n):
        keys[first + k] = frames.trees[k]
        at[k] = tree_starts[frames.trees[k]]
    key_starts[g + 1] = first + n
    run, child = reg[N_GROUP_RUNS], reg[N_CHILDREN]
    finished = False
    while not finished:
        end = np.int64(2**31 - 1)
        for limb in range(len(limbs)):
            amounts[run, limb] = 0
            mosts[run, limb] = 0
        begin = child
        for k in range(n):
            arc = at[k]
            end = min(end, np.int64(tree_ends[arc]))
            _add(amounts, run, 0, tree_amounts, arc, 0, amounts, run, limbs)
            left = tree_children[arc]
            if left:
                _add(mosts, run, 0, tree_mosts, left, 0, mosts, run, limbs)
                place = child
                while place > begin and children[place - 1] > left:
                    children[place] = children[place - 1]
                    place -= 1
                children[place] = left
                child += 1
        ends[run] = end
        run += 1
        child_starts[run] = child
        for k in range(n):
            if tree_ends[at[k]] == end:
                at[k] += 1
                # all trees of a place end at the last cell of its feature
                finished = at[k] == tree_starts[keys[first + k] + 1]
    run_starts[g + 1] = run
    reg[N_GROUPS], reg[N_GROUP_KEYS], reg[N_GROUP_RUNS], reg[N_CHILDREN] = g + 1, first + n, run, child
    return g


@njit(cache=True, nogil=True)
def _state(trees, groups, states, frames, reg, n, limbs):
    """Return the state of the n sorted trees in `frames.trees`; there must be room for one more."""
    places, tree_mosts = trees.places, trees.mosts
    given, group_table, numbers = frames.trees, groups.table, frames.numbers
    rows, rest, below, table = states
    first = _front(places, given, n)
    tag = _tag(0, given, 0, first)
    slot = _group_slot(group_table, groups.key_starts, groups.keys, given, first, tag)
    if not group_table[slot]:
        group_table[slot] = tag << 32 | (_new_group(trees, groups, frames, reg, first, limbs) + 1)
    g = (group_table[slot] & 0xFFFFFFFF) - 1
    tag = _tag(g, given, first, n)
    slot = _state_slot(table, rows, rest, g, given, first, n, tag)
    if table[slot]:
        return (table[slot] & 0xFFFFFFFF) - 1
    s = reg[N_STATES]
    table[slot] = tag << 32 | (s + 1)
    at = reg[N_REST]
    for limb in range(len(limbs)):
        numbers[_END, limb] = 0
    for k in range(first, n):
        rest[at] = given[k]
        _add(numbers, _END, 0, tree_mosts, given[k], 0, numbers, _END, limbs)
        at += 1
    _copy(numbers, _END, 0, rows, s, _REST_MOST, limbs)
    link = reg[N_BELOW]
    for _ in range(groups.run_starts[g + 1] - groups.run_starts[g]):
        below[link] = -1
        link += 1
    rows[s, _GROUP] = g
    rows[s, _LEVEL] = 0
    rows[s, _LIST + _START] = -1
    rows[s, _LIST + _COUNT] = 0
    rows[s, _LIST + _CLASS] = -1
    rows[s + 1, _REST] = at
    rows[s + 1, _LINKS] = link
    reg[N_STATES], reg[N_REST], reg[N_BELOW] = s + 1, at, link
    return s


@njit(cache=True, nogil=True)
def begin(trees, groups, states, frames, reg, n, limbs):
    """Begin with the n sorted trees in `frames.trees`, and the sum in the first frame's total."""
    frames.states[0] = _state(trees, groups, states, frames, reg, n, limbs)
    _copy(frames.numbers, _MINUS_FAR, 0, frames.lows, 0, 0, limbs)
    _copy(frames.numbers, _FAR, 0, frames.highs, 0, 0, limbs)


@njit(cache=True, nogil=True)
def _position(lows, start, count, numbers, at, limbs):
    """Return how many of the entries from `start` on begin at or below a number."""
    # Without branches that depend on what is compared: no processor guesses them.
    first = start
    n = count
    while n > 1:
        half = n >> 1
        first += half * np.int64(not _is_less(numbers, at, 0, lows, first + half - 1, 0, limbs))
        n -= half
    if n == 1 and not _is_less(numbers, at, 0, lows, first, 0, limbs):
        first += 1
    return first - start


@njit(cache=True, nogil=True)
def _allocate(lows, free, reg, c):
    """Return where a list of class c has room."""
    if free[c]:
        start = free[c] - 1
        free[c] = lows[start, 0]
        return start
    start = reg[N_ENTRIES]
    reg[N_ENTRIES] = start + (4 << c)
    return start


@njit(cache=True, nogil=True)
def _move(lows, data, a, b, limbs):
    """Copy entry a to b."""
    for limb in range(len(limbs)):
        lows[b, limb] = lows[a, limb]
        data[b, limb] = data[a, limb]
    data[b, len(limbs)] = data[a, len(limbs)]


@njit(cache=True, nogil=True)
def _put(heads, h, p, lows, data, free, reg, at, low, i, high, j, node, limbs):
    """Insert an entry into the list heads[h, p:] at position `at`; a full list moves to where there is more room."""
    start, count, c = heads[h, p + _START], heads[h, p + _COUNT], heads[h, p + _CLASS]
    if c < 0 or count == 4 << c:
        old, start = start, _allocate(lows, free, reg, c + 1)
        for k in range(count):
            _move(lows, data, old + k, start + k, limbs)
        if c >= 0:
            lows[old, 0] = free[c]
            free[c] = old + 1
        heads[h, p + _START] = start
        heads[h, p + _CLASS] = c + 1
    for k in range(start + count, start + at, -1):
        _move(lows, data, k - 1, k, limbs)
    _copy(low, i, 0, lows, start + at, 0, limbs)
    _copy(high, j, 0, data, start + at, 0, limbs)
    data[start + at, len(limbs)] = node
    heads[h, p + _COUNT] = count + 1


@njit(cache=True, nogil=True)
def _split(rows, s, at, lists, reg, limbs):
    """Give the upper half of the block at position `at` of a state's list to a new block behind it."""
    lows, data, blocks, free = lists
    b = data[rows[s, _LIST + _START] + at, len(limbs)]
    new = reg[N_BLOCKS]
    reg[N_BLOCKS] = new + 1
    start = _allocate(lows, free, reg, _LONGEST_CLASS)
    half = LONGEST // 2
    for k in range(half):
        _move(lows, data, blocks[b, _START] + half + k, start + k, limbs)
    blocks[b, _COUNT] = half
    blocks[new, _START] = start
    blocks[new, _COUNT] = half
    blocks[new, _CLASS] = _LONGEST_CLASS
    _put(rows, s, _LIST, lows, data, free, reg, at + 1, lows, start, lows, start, new, limbs)
    reg[LARGEST] = max(reg[LARGEST], rows[s, _LIST + _CLASS])


@njit(cache=True, nogil=True)
def _insert_long(rows, s, lists, reg, low, high, i, node, limbs):
    """Insert an entry into a list of a state that is, or must be, cut into blocks."""
    lows, data, blocks, free = lists
    if not rows[s, _LEVEL]:
        new = reg[N_BLOCKS]
        reg[N_BLOCKS] = new + 1
        for k in range(3):
            blocks[new, k] = rows[s, _LIST + k]
        start = blocks[new, _START]
        rows[s, _LEVEL] = 1
        rows[s, _LIST + _START] = -1
        rows[s, _LIST + _COUNT] = 0
        rows[s, _LIST + _CLASS] = -1
        _put(rows, s, _LIST, lows, data, free, reg, 0, lows, start, lows, start, new, limbs)
    at = max(_position(lows, rows[s, _LIST + _START], rows[s, _LIST + _COUNT], low, i, limbs) - 1, 0)
    if blocks[data[rows[s, _LIST + _START] + at, len(limbs)], _COUNT] == LONGEST:
        _split(rows, s, at, lists, reg, limbs)
        at = max(_position(lows, rows[s, _LIST + _START], rows[s, _LIST + _COUNT], low, i, limbs) - 1, 0)
    entry = rows[s, _LIST + _START] + at
    b = data[entry, len(limbs)]
    place = _position(lows, blocks[b, _START], blocks[b, _COUNT], low, i, limbs)
    _put(blocks, b, 0, lows, data, free, reg, place, low, i, high, i, node, limbs)
    if place == 0:
        _copy(low, i, 0, lows, entry, 0, limbs)


@njit(cache=True, nogil=True)
def search(trees, nodes, groups, states, lists, frames, reg, limits, limbs):
    """Return DONE with the node of the first frame in reg[VALUE]; call again after any other answer.

    `limits` has for each register up to which value one more of what it counts fits, whatever it is, and behind them
    the same for nodes and their runs.
    """
    # Taken out once: a tuple of arrays that is opened in a loop costs more than what is done with it.
    places, offsets, node_ends, node_children, node_table, used = nodes
    key_starts, keys, run_starts, ends, amounts, mosts, child_starts, left_trees, group_table = groups
    rows, rest, below_states, state_table = states
    frame_states, frame_runs, totals, lows, highs, children, numbers, merged, _ = frames
    tree_places = trees.places
    starts_at, data, blocks, free = lists
    n_limbs = len(limbs)
    widest = children.shape[0] // frame_runs.shape[0]
    depth = reg[DEPTH]
    is_fresh = False
    while depth >= 0:
        reg[DEPTH] = depth
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        for k in range(N_STATES, REGISTERS):
            if reg[k] > limits[k]:
                return STORE_FULL
        if used[N_NODES] > limits[REGISTERS] or used[N_RUNS] > limits[REGISTERS + 1]:
            return STORE_FULL
        s = frame_states[depth]
        g = rows[s, _GROUP]
        first = run_starts[g]
        n = run_starts[g + 1] - first
        run = frame_runs[depth]
        # Children found earlier stay: a frame that was left is taken up where it stopped.
        while run < n:
            arc = first + run
            _add(totals, depth, 0, amounts, arc, 0, numbers, _AT, limbs)
            if _is_less(numbers, _AT, 0, numbers, _ONE, 0, limbs):
                _add(mosts, arc, 0, rows, s, _REST_MOST, numbers, _END, limbs)
                _subtract(numbers, _ONE, numbers, _END, numbers, _END, limbs)
                if _is_less(numbers, _AT, 0, numbers, _END, 0, limbs):
                    # False as long as sum and most do not exceed 0; intervals end before their second number.
                    child = np.int64(0)
                    _copy(numbers, _MINUS_FAR, 0, numbers, _FIRST, 0, limbs)
                else:
                    link = rows[s, _LINKS] + run
                    below = np.int64(below_states[link])
                    if below < 0:
                        a, a_end = child_starts[arc], child_starts[arc + 1]
                        n_trees = _merged(left_trees, a, a_end, rest, rows[s, _REST], rows[s + 1, _REST], merged)
                        front = _front(tree_places, merged, n_trees)
                        slot = _group_slot(group_table, key_starts, keys, merged, front, _tag(0, merged, 0, front))
                        if group_table[slot]:
                            inner = (group_table[slot] & 0xFFFFFFFF) - 1
                            tag = _tag(inner, merged, front, n_trees)
                            slot = _state_slot(state_table, rows, rest, inner, merged, front, n_trees, tag)
                            below = (state_table[slot] & 0xFFFFFFFF) - 1
                        if below < 0:
                            below = _state(trees, groups, states, frames, reg, n_trees, limbs)
                        below_states[link] = below
                    if is_fresh:  # what was just finished for this run need not be looked for
                        is_fresh = False
                        child = reg[VALUE]
                        _copy(lows, depth + 1, 0, numbers, _FIRST, 0, limbs)
                        _copy(highs, depth + 1, 0, numbers, _END, 0, limbs)
                    else:
                        start = rows[below, _LIST + _START]
                        k = start - 1 + _position(starts_at, start, rows[below, _LIST + _COUNT], numbers, _AT, limbs)
                        if rows[below, _LEVEL] and k >= start:
                            b = data[k, n_limbs]
                            start = blocks[b, _START]
                            k = start - 1 + _position(starts_at, start, blocks[b, _COUNT], numbers, _AT, limbs)
                        if k < start or not _is_less(numbers, _AT, 0, data, k, 0, limbs):
                            frame_runs[depth] = run
                            depth += 1
                            frame_states[depth] = below
                            frame_runs[depth] = 0
                            _copy(numbers, _AT, 0, totals, depth, 0, limbs)
                            _copy(numbers, _MINUS_FAR, 0, lows, depth, 0, limbs)
                            _copy(numbers, _FAR, 0, highs, depth, 0, limbs)
                            break
                        child = data[k, n_limbs]
                        _copy(starts_at, k, 0, numbers, _FIRST, 0, limbs)
                        _copy(data, k, 0, numbers, _END, 0, limbs)
            else:
                # True for every sum from 1 on, as nothing below can take anything away.
                child = np.int64(1)
                _copy(numbers, _ONE, 0, numbers, _FIRST, 0, limbs)
                _copy(numbers, _FAR, 0, numbers, _END, 0, limbs)
            children[depth * widest + run] = child
            # Seen from here, a child's interval lies lower by what the arc adds. The node holds where all of
            # its children do.
            _subtract(numbers, _FIRST, amounts, arc, numbers, _FIRST, limbs)
            if _is_less(lows, depth, 0, numbers, _FIRST, 0, limbs):
                _copy(numbers, _FIRST, 0, lows, depth, 0, limbs)
            _subtract(numbers, _END, amounts, arc, numbers, _END, limbs)
            if _is_less(numbers, _END, 0, highs, depth, 0, limbs):
                _copy(numbers, _END, 0, highs, depth, 0, limbs)
            run += 1
        if run == n:
            reg[NODES] += 1
            place = tree_places[keys[key_starts[g]]]
            at = depth * widest
            made = make_node(
                places, offsets, node_ends, node_children, node_table, used, place, ends, first, children, at, n
            )
            start, count = rows[s, _LIST + _START], rows[s, _LIST + _COUNT]
            if rows[s, _LEVEL] or count == LONGEST:
                _insert_long(rows, s, lists, reg, lows, highs, depth, made, limbs)
            else:
                k = _position(starts_at, start, count, lows, depth, limbs)
                _put(rows, s, _LIST, starts_at, data, free, reg, k, lows, depth, highs, depth, made, limbs)
            reg[VALUE] = made
            is_fresh = True
            depth -= 1
    reg[DEPTH] = depth
    return DONE
