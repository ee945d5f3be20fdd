"""Top-down compilation of "a sum of trees is above 0" into an ordered diagram; compiled by numba.

What remains below a point of the search is a *state*: the residual trees that test the first feature left (a *group*)
and the others (the *rest*), each sorted. A state knows, as a sorted list of intervals, for which partial sums which
sub-diagram was found. All is in arrays and stays there, so the search can be left at any step and continued.

Most of the time goes into finding the state that a run of cells leads to. Its hash is the sum of its trees' hashes, so
it is known before the trees are put together, from what the run leaves and the rest; that is done once for each state
and run.

Numbers are rows of limbs, the first one with the sign and as wide as it must be, the others of 52 bits and not
negative: order is lexicographic, and one limb is an ordinary integer. The search is one loop over a stack of frames.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL
from axfi_kc.circuits.targets.mdd_kernels import N_NODES, N_RUNS, FlatNodes, make_node, mixed, tag_of
from axfi_kc.compiled import flat_kernel, part

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
    without the constant 0, which add at most mosts[k] and have hashes of the sum hashes[k]. Run and children of a group
    together add at least least[g] and at most most[g].
    """

    key_starts: np.ndarray
    keys: np.ndarray
    run_starts: np.ndarray
    ends: np.ndarray
    amounts: np.ndarray
    mosts: np.ndarray
    hashes: np.ndarray
    child_starts: np.ndarray
    children: np.ndarray
    least: np.ndarray
    most: np.ndarray
    table: np.ndarray


class States(NamedTuple):
    """Multisets of residual trees.

    A row of `rows` for each state, which for one limb is a line of the processor's cache: twice its group, and one more
    if its list is cut into blocks; where its rest and its links begin (they end where the next state's begin); the list
    of its intervals; the first sum that is not certainly too low, and the first that is certainly high enough. What
    run k of its group leaves is the state ``below[row[_LINKS] + k]``, or -1 if nobody asked yet. `hashes` has the sums
    over the rests.
    """

    rows: np.ndarray
    rest: np.ndarray
    below: np.ndarray
    hashes: np.ndarray
    table: np.ndarray


# columns of a state's row; as int64, since parts are compiled for each literal apart
_GROUP, _REST, _LINKS, _LIST, _OPEN = map(np.int64, (0, 1, 2, 3, 6))  # the second number follows the first
STATE_WORDS = 6  # without the two numbers


class Lists(NamedTuple):
    """Sorted lists of intervals, each with the sub-diagram that is right for it.

    A list is three words, where its entries start, how many there are, and of which class it is: class c has room for
    4 * 2**c. A row of `entries` is the first number of an interval, the first beyond it, and the node. A list that is
    longer than `LONGEST` is cut into rows of `blocks`: then its own entries (level 1) are the first numbers of these,
    and the blocks. Room of lists that grew is used again: ``free[c]`` is the first of class c plus 1, its low the next.
    """

    entries: np.ndarray
    blocks: np.ndarray
    free: np.ndarray


_START, _COUNT, _CLASS = range(3)
_LONGEST_CLASS = np.int64(7)
LONGEST = int(4 << _LONGEST_CLASS)


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


_ROW = np.int64(0)  # the column of a number that is a row by itself

# Numbers stand in rows from a column on. `limbs` is a tuple as long as a number: its length is part of its type, so
# that loops over the limbs are unrolled, and one limb costs what an integer does.


@part
def _add(a, i, p, b, j, q, out, k, limbs):
    """Set the first number of out[k] to the sum of those at a[i, p] and b[j, q]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i, p + limb] + b[j, q + limb] + carry
        carry = s >> _LIMB
        out[k, limb] = s & _MASK
    out[k, 0] = a[i, p] + b[j, q] + carry


@part
def _subtract(a, i, b, j, out, k, limbs):
    """Set out[k] = a[i] - b[j]."""
    carry = np.int64(0)
    for limb in range(len(limbs) - 1, 0, -1):
        s = a[i, limb] - b[j, limb] + carry
        carry = s >> _LIMB
        out[k, limb] = s & _MASK
    out[k, 0] = a[i, 0] - b[j, 0] + carry


@part
def _copy(a, i, p, out, k, q, limbs):
    for limb in range(len(limbs)):
        out[k, q + limb] = a[i, p + limb]


@part
def _is_less(a, i, p, b, j, q, limbs):
    for limb in range(len(limbs)):
        if a[i, p + limb] != b[j, q + limb]:
            return a[i, p + limb] < b[j, q + limb]
    return False


# rows of Frames.numbers
_FAR, _MINUS_FAR, _ONE, _AT, _FIRST, _END, _LEFT = map(np.int64, range(7))


@part
def _tag(first, values, begin, end):
    h = mixed(np.uint64(first), end - begin)
    for k in range(begin, end):
        h = mixed(h, values[k])
    return tag_of(h)


@part
def _hash(tree):
    """Return the hash of a residual tree; those of several are added up."""
    h = mixed(np.uint64(tree), np.int64(0x2545F491))
    return np.int64(mixed(h, np.int64(tree)))


@part
def _are_same(values, begin, end, others, at):
    for k in range(end - begin):  # noqa: SIM110  # numba compiles loops
        if values[begin + k] != others[at + k]:
            return False
    return True


@part
def _merged(a, a_begin, a_end, b, b_begin, b_end, out):
    """Write two sorted lists as one, and return its length."""
    n = 0
    while a_begin < a_end and b_begin < b_end:
        # Without a branch, which no processor would guess: the lower one is written, and its list goes on.
        one, other = a[a_begin], b[b_begin]
        out[n] = min(one, other)
        takes = np.int64(one < other)
        a_begin += takes
        b_begin += 1 - takes
        n += 1
    for k in range(a_begin, a_end):
        out[n] = a[k]
        n += 1
    for k in range(b_begin, b_end):
        out[n] = b[k]
        n += 1
    return n


@part
def _front(places, trees, n):
    """Return how many of n sorted trees test the first feature: numbers grow with the place."""
    place = places[trees[0]]
    found = 1
    while found < n and places[trees[found]] == place:
        found += 1
    return found


@part
def _group_slot(table, starts, keys, trees, n, tag):
    """Return where the group of the first n trees is in its table, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            g = (table[slot] & 0xFFFFFFFF) - 1
            if starts[g + 1] - starts[g] == n and _are_same(trees, np.int64(0), n, keys, starts[g]):
                break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@part
def _state_slot(table, rows, rest, key_starts, keys, trees, n, tag):
    """Return where the state of n sorted trees is in its table, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            s = (table[slot] & 0xFFFFFFFF) - 1
            first, end, begin = key_starts[rows[s, _GROUP] >> 1], key_starts[(rows[s, _GROUP] >> 1) + 1], rows[s, _REST]
            front = end - first
            if (
                front + rows[s + 1, _REST] - begin == n
                and _are_same(trees, np.int64(0), front, keys, first)
                and _are_same(trees, front, n, rest, begin)
            ):
                break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@part
def _new_group(trees, groups, frames, reg, n, limbs):
    """Make the group of the first n trees of `frames.trees`.

    Its runs are those of cells that all of its trees treat alike; each adds and leaves what the trees do.
    """
    _, tree_mosts, tree_starts, tree_ends, tree_amounts, tree_children = trees
    key_starts, keys, run_starts, ends, amounts, mosts, hashes, child_starts, children, least, most, _ = groups
    at, numbers = frames.at, frames.numbers
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
        hashes[run] = 0
        begin = child
        for k in range(n):
            arc = at[k]
            end = min(end, np.int64(tree_ends[arc]))
            _add(amounts, run, _ROW, tree_amounts, arc, _ROW, amounts, run, limbs)
            left = tree_children[arc]
            if left:
                _add(mosts, run, _ROW, tree_mosts, left, _ROW, mosts, run, limbs)
                hashes[run] += _hash(left)
                place = child
                while place > begin and children[place - 1] > left:
                    children[place] = children[place - 1]
                    place -= 1
                children[place] = left
                child += 1
        ends[run] = end
        # Trees of one feature do not all take their most, or their least, for the same cell.
        _add(amounts, run, _ROW, mosts, run, _ROW, numbers, _END, limbs)
        if run == reg[N_GROUP_RUNS] or _is_less(most, g, _ROW, numbers, _END, _ROW, limbs):
            _copy(numbers, _END, _ROW, most, g, _ROW, limbs)
        if run == reg[N_GROUP_RUNS] or _is_less(amounts, run, _ROW, least, g, _ROW, limbs):
            _copy(amounts, run, _ROW, least, g, _ROW, limbs)
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


@part
def _new_state(trees, groups, states, frames, reg, n, tag, slot, limbs):
    """Make the state of the n sorted trees in `frames.trees`, which is to be at a slot of the table."""
    places, tree_mosts = trees.places, trees.mosts
    given, group_table, numbers = frames.trees, groups.table, frames.numbers
    rows, rest, below, hashes, table = states
    s = reg[N_STATES]
    table[slot] = tag << 32 | (s + 1)
    first = _front(places, given, n)
    tag = _tag(np.int64(0), given, np.int64(0), first)
    slot = _group_slot(group_table, groups.key_starts, groups.keys, given, first, tag)
    if not group_table[slot]:
        group_table[slot] = tag << 32 | (_new_group(trees, groups, frames, reg, first, limbs) + 1)
    g = (group_table[slot] & 0xFFFFFFFF) - 1
    at = reg[N_REST]
    _copy(groups.most, g, _ROW, numbers, _END, _ROW, limbs)
    hashes[s] = 0
    for k in range(first, n):
        rest[at] = given[k]
        hashes[s] += _hash(given[k])
        _add(numbers, _END, _ROW, tree_mosts, given[k], _ROW, numbers, _END, limbs)
        at += 1
    # False as long as sum and most do not exceed 0, true as soon as sum and least do.
    _subtract(numbers, _ONE, numbers, _END, numbers, _END, limbs)
    _copy(numbers, _END, _ROW, rows, s, _OPEN, limbs)
    _subtract(numbers, _ONE, groups.least, g, numbers, _END, limbs)
    _copy(numbers, _END, _ROW, rows, s, _OPEN + len(limbs), limbs)
    link = reg[N_BELOW]
    for _ in range(groups.run_starts[g + 1] - groups.run_starts[g]):
        below[link] = -1
        link += 1
    rows[s, _GROUP] = 2 * g
    rows[s, _LIST + _START] = -1
    rows[s, _LIST + _COUNT] = 0
    rows[s, _LIST + _CLASS] = -1
    rows[s + 1, _REST] = at
    rows[s + 1, _LINKS] = link
    reg[N_STATES], reg[N_REST], reg[N_BELOW] = s + 1, at, link
    return s


@part
def _position(entries, start, count, numbers, at, limbs):
    """Return how many of the entries from `start` on begin at or below a number."""
    # Without branches that depend on what is compared: no processor guesses them.
    first = start
    n = count
    while n > 1:
        half = n >> 1
        first += half * np.int64(not _is_less(numbers, at, _ROW, entries, first + half - 1, _ROW, limbs))
        n -= half
    if n == 1 and not _is_less(numbers, at, _ROW, entries, first, _ROW, limbs):
        first += 1
    return first - start


@part
def _allocate(entries, free, reg, c):
    """Return where a list of class c has room."""
    if free[c]:
        start = free[c] - 1
        free[c] = entries[start, 0]
        return start
    start = reg[N_ENTRIES]
    reg[N_ENTRIES] = start + (4 << c)
    return start


@part
def _move(entries, a, b, limbs):
    """Copy entry a to b."""
    for word in range(2 * len(limbs) + 1):
        entries[b, word] = entries[a, word]


@part
def _put(heads, h, p, entries, free, reg, at, low, i, high, j, node, limbs):
    """Insert an entry into the list heads[h, p:] at position `at`; a full list moves to where there is more room."""
    start, count, c = heads[h, p + _START], heads[h, p + _COUNT], heads[h, p + _CLASS]
    if c < 0 or count == 4 << c:
        old, start = start, _allocate(entries, free, reg, c + 1)
        for k in range(count):
            _move(entries, old + k, start + k, limbs)
        if c >= 0:
            entries[old, 0] = free[c]
            free[c] = old + 1
        heads[h, p + _START] = start
        heads[h, p + _CLASS] = c + 1
    for k in range(start + count, start + at, -1):
        _move(entries, k - 1, k, limbs)
    _copy(low, i, _ROW, entries, start + at, _ROW, limbs)
    _copy(high, j, _ROW, entries, start + at, np.int64(len(limbs)), limbs)
    entries[start + at, 2 * len(limbs)] = node
    heads[h, p + _COUNT] = count + 1


@part
def _split(rows, s, at, lists, reg, limbs):
    """Give the upper half of the block at position `at` of a state's list to a new block behind it."""
    entries, blocks, free = lists
    b = entries[rows[s, _LIST + _START] + at, 2 * len(limbs)]
    new = reg[N_BLOCKS]
    reg[N_BLOCKS] = new + 1
    start = _allocate(entries, free, reg, _LONGEST_CLASS)
    half = LONGEST // 2
    for k in range(half):
        _move(entries, blocks[b, _START] + half + k, start + k, limbs)
    blocks[b, _COUNT] = half
    blocks[new, _START] = start
    blocks[new, _COUNT] = half
    blocks[new, _CLASS] = _LONGEST_CLASS
    _put(rows, s, _LIST, entries, free, reg, at + 1, entries, start, entries, start, new, limbs)
    reg[LARGEST] = max(reg[LARGEST], rows[s, _LIST + _CLASS])


@part
def _insert_long(rows, s, lists, reg, low, high, i, node, limbs):
    """Insert an entry into a list of a state that is, or must be, cut into blocks."""
    entries, blocks, free = lists
    if not rows[s, _GROUP] & 1:
        new = reg[N_BLOCKS]
        reg[N_BLOCKS] = new + 1
        for k in range(3):
            blocks[new, k] = rows[s, _LIST + k]
        start = blocks[new, _START]
        rows[s, _GROUP] |= 1
        rows[s, _LIST + _START] = -1
        rows[s, _LIST + _COUNT] = 0
        rows[s, _LIST + _CLASS] = -1
        _put(rows, s, _LIST, entries, free, reg, np.int64(0), entries, start, entries, start, new, limbs)
    at = max(_position(entries, rows[s, _LIST + _START], rows[s, _LIST + _COUNT], low, i, limbs) - 1, 0)
    if blocks[entries[rows[s, _LIST + _START] + at, 2 * len(limbs)], _COUNT] == LONGEST:
        _split(rows, s, at, lists, reg, limbs)
        at = max(_position(entries, rows[s, _LIST + _START], rows[s, _LIST + _COUNT], low, i, limbs) - 1, 0)
    entry = rows[s, _LIST + _START] + at
    b = entries[entry, 2 * len(limbs)]
    place = _position(entries, blocks[b, _START], blocks[b, _COUNT], low, i, limbs)
    _put(blocks, b, np.int64(0), entries, free, reg, place, low, i, high, i, node, limbs)
    if place == 0:
        _copy(low, i, _ROW, entries, entry, _ROW, limbs)


@flat_kernel(trees=Trees, nodes=FlatNodes, groups=Groups, states=States, lists=Lists, frames=Frames)
def search(trees, nodes, groups, states, lists, frames, reg, limits, limbs):
    """Return DONE with the node of the first frame in reg[VALUE]; call again after any other answer.

    It begins with the sorted trees in `frames.trees`, and the sum in the first frame's total. `limits` has for each
    register up to which value one more of what it counts fits, whatever it is, and behind them the same for nodes and
    their runs.
    """
    # Taken out once: a tuple of arrays that is opened in a loop costs more than what is done with it.
    places, offsets, node_ends, node_children, node_table, used = nodes
    key_starts, keys, run_starts, ends, amounts, mosts, run_hashes, child_starts, left_trees, _, group_mosts, _ = groups
    rows, rest, below_states, rest_hashes, state_table = states
    frame_states, frame_runs, totals, lows, highs, children, numbers, merged, _ = frames
    tree_places = trees.places
    entries, blocks, free = lists
    n_limbs = np.int64(len(limbs))
    widest = children.shape[0] // frame_runs.shape[0]
    if reg[N_STATES] == 0:
        h = np.int64(0)
        for k in range(merged.shape[0]):
            h += _hash(merged[k])
        tag = tag_of(np.uint64(h))
        slot = tag & (state_table.shape[0] - 1)
        frame_states[0] = _new_state(trees, groups, states, frames, reg, merged.shape[0], tag, slot, limbs)
        _copy(numbers, _MINUS_FAR, _ROW, lows, _ROW, _ROW, limbs)
        _copy(numbers, _FAR, _ROW, highs, _ROW, _ROW, limbs)
    depth = reg[DEPTH]
    is_fresh, is_new = False, False
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
        g = rows[s, _GROUP] >> 1
        first = run_starts[g]
        n = run_starts[g + 1] - first
        run = frame_runs[depth]
        _add(rows, s, _OPEN, group_mosts, g, _ROW, numbers, _LEFT, limbs)  # 1 less what the rest can add
        # Children found earlier stay: a frame that was left is taken up where it stopped.
        while run < n:
            arc = first + run
            _add(totals, depth, _ROW, amounts, arc, _ROW, numbers, _AT, limbs)
            if _is_less(numbers, _AT, _ROW, numbers, _ONE, _ROW, limbs):
                _subtract(numbers, _LEFT, mosts, arc, numbers, _END, limbs)
                if _is_less(numbers, _AT, _ROW, numbers, _END, _ROW, limbs):
                    # False as long as sum and most do not exceed 0; intervals end before their second number.
                    child = np.int64(0)
                    _copy(numbers, _MINUS_FAR, _ROW, numbers, _FIRST, _ROW, limbs)
                else:
                    link = rows[s, _LINKS] + run
                    below = np.int64(below_states[link])
                    if below < 0:
                        tag = tag_of(np.uint64(run_hashes[arc] + rest_hashes[s]))
                        a, a_end = child_starts[arc], child_starts[arc + 1]
                        n_trees = _merged(left_trees, a, a_end, rest, rows[s, _REST], rows[s + 1, _REST], merged)
                        slot = _state_slot(state_table, rows, rest, key_starts, keys, merged, n_trees, tag)
                        below = (state_table[slot] & 0xFFFFFFFF) - 1
                        if below < 0:
                            below = _new_state(trees, groups, states, frames, reg, n_trees, tag, slot, limbs)
                            is_new = True
                        below_states[link] = below
                    if is_fresh:  # what was just finished for this run need not be looked for
                        is_fresh = False
                        child = reg[VALUE]
                        _copy(lows, depth + 1, _ROW, numbers, _FIRST, _ROW, limbs)
                        _copy(highs, depth + 1, _ROW, numbers, _END, _ROW, limbs)
                    elif _is_less(numbers, _AT, _ROW, rows, below, _OPEN, limbs):
                        child = np.int64(0)
                        _copy(numbers, _MINUS_FAR, _ROW, numbers, _FIRST, _ROW, limbs)
                        _copy(rows, below, _OPEN, numbers, _END, _ROW, limbs)
                    elif not _is_less(numbers, _AT, _ROW, rows, below, _OPEN + n_limbs, limbs):
                        child = np.int64(1)
                        _copy(rows, below, _OPEN + n_limbs, numbers, _FIRST, _ROW, limbs)
                        _copy(numbers, _FAR, _ROW, numbers, _END, _ROW, limbs)
                    else:
                        start = rows[below, _LIST + _START]
                        k = start - 1 + _position(entries, start, rows[below, _LIST + _COUNT], numbers, _AT, limbs)
                        if rows[below, _GROUP] & 1 and k >= start:
                            b = entries[k, 2 * n_limbs]
                            start = blocks[b, _START]
                            k = start - 1 + _position(entries, start, blocks[b, _COUNT], numbers, _AT, limbs)
                        if k < start or not _is_less(numbers, _AT, _ROW, entries, k, n_limbs, limbs):
                            is_new = False
                            frame_runs[depth] = run
                            depth += 1
                            frame_states[depth] = below
                            frame_runs[depth] = 0
                            _copy(numbers, _AT, _ROW, totals, depth, _ROW, limbs)
                            _copy(numbers, _MINUS_FAR, _ROW, lows, depth, _ROW, limbs)
                            _copy(numbers, _FAR, _ROW, highs, depth, _ROW, limbs)
                            break
                        child = entries[k, 2 * n_limbs]
                        _copy(entries, k, _ROW, numbers, _FIRST, _ROW, limbs)
                        _copy(entries, k, n_limbs, numbers, _END, _ROW, limbs)
            else:
                # True for every sum from 1 on, as nothing below can take anything away.
                child = np.int64(1)
                _copy(numbers, _ONE, _ROW, numbers, _FIRST, _ROW, limbs)
                _copy(numbers, _FAR, _ROW, numbers, _END, _ROW, limbs)
            children[depth * widest + run] = child
            # Seen from here, a child's interval lies lower by what the arc adds. The node holds where all of
            # its children do.
            _subtract(numbers, _FIRST, amounts, arc, numbers, _FIRST, limbs)
            if _is_less(lows, depth, _ROW, numbers, _FIRST, _ROW, limbs):
                _copy(numbers, _FIRST, _ROW, lows, depth, _ROW, limbs)
            _subtract(numbers, _END, amounts, arc, numbers, _END, limbs)
            if _is_less(numbers, _END, _ROW, highs, depth, _ROW, limbs):
                _copy(numbers, _END, _ROW, highs, depth, _ROW, limbs)
            run += 1
            if is_new:  # of which there was room for one
                is_new = False
                frame_runs[depth] = run
                break
        if run == n:
            reg[NODES] += 1
            place = tree_places[keys[key_starts[g]]]
            at = depth * widest
            made = make_node(
                places, offsets, node_ends, node_children, node_table, used, place, ends, first, children, at, n
            )
            start, count = rows[s, _LIST + _START], rows[s, _LIST + _COUNT]
            if rows[s, _GROUP] & 1 or count == LONGEST:
                _insert_long(rows, s, lists, reg, lows, highs, depth, made, limbs)
            else:
                k = _position(entries, start, count, lows, depth, limbs)
                _put(rows, s, _LIST, entries, free, reg, k, lows, depth, highs, depth, made, limbs)
            reg[VALUE] = made
            is_fresh = True
            depth -= 1
    reg[DEPTH] = depth
    return DONE
