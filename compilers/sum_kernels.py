"""Top-down compilation of "a sum of trees is above 0" into an ordered diagram; compiled by numba.

What remains below a point of the search is a *state*: the residual trees that test the first feature left (a *group*)
and the others (the *rest*), each sorted. A state knows, as a sorted list of intervals, for which partial sums which
sub-diagram was found. All is in arrays and stays there, so the search can be left at any step and continued.

The hash of a state is the sum of its trees' hashes, so it is known before the trees are put together, from what a run
leaves and the rest; that is done once for each state and link.

Most of the time goes into waiting for memory, and into branches that the processor guessed wrongly. So a frame first
goes over all of its runs, without branches; then everything that the open ones will ask for is fetched at once; and a
node is looked up only when the next one is made. The search is one loop over a stack of frames.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL
from axfi_kc.circuits.targets.mdd_kernels import (
    N_NODES,
    N_RUNS,
    FlatNodes,
    mixed,
    node_of_runs,
    node_tag,
    tag_of,
    write_runs,
)
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.compilers.limb_kernels import add, copy, copy_where, is_less, sign, subtract
from axfi_kc.flat_arrays import prefetch

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
    without the constant 0, which add at most mosts[k] and have hashes of the sum hashes[k]. Neighbouring runs that
    leave the same trees have the same links[k], counted from 0 in each group. Run and children of a group together add
    at least least[g] and at most most[g].
    """

    key_starts: np.ndarray
    keys: np.ndarray
    run_starts: np.ndarray
    ends: np.ndarray
    amounts: np.ndarray
    mosts: np.ndarray
    hashes: np.ndarray
    child_starts: np.ndarray
    links: np.ndarray
    children: np.ndarray
    least: np.ndarray
    most: np.ndarray
    table: np.ndarray


class States(NamedTuple):
    """Multisets of residual trees.

    A row of `rows` for each state, which for one limb is a line of the processor's cache: twice its group, and one more
    if its list is cut into blocks; where its rest and its links begin (they end where the next state's begin); the list
    of its intervals; the first sum that is not known to be too low, and the first that is known to be high enough:
    bounds at first, exact as soon as a sub-diagram that is constant was found. What a run of its group with link k
    leaves is the state ``below[row[_LINKS] + k]``, or -1 if nobody asked yet. `hashes` has the sums over the rests,
    `lefts` 1 less what these add at most.
    """

    rows: np.ndarray
    rest: np.ndarray
    below: np.ndarray
    hashes: np.ndarray
    lefts: np.ndarray
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
    """Sub-diagrams in the making, and room for numbers and trees that a step needs.

    A frame is at the runs[d]-th of its n_open[d] runs that do not decide by themselves, which are listed in
    `open_runs`; -1 is a frame that was not begun. Its interval will be at positions[d] of the list of its state.
    """

    states: np.ndarray
    runs: np.ndarray
    n_open: np.ndarray
    open_runs: np.ndarray
    positions: np.ndarray
    totals: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    children: np.ndarray
    numbers: np.ndarray  # of which the first is far beyond every sum, and the second is that below 0
    trees: np.ndarray
    at: np.ndarray
    waiting: np.ndarray  # a node that is not yet looked up


# A node that was made is looked up in a table that lies in no cache. Meanwhile the search goes on: it needs the node
# only for the next one. What waits is its tag, the end of its runs (0: nothing waits), its place, and where it is to be
# written among entries and children.
_TAG, _LAST, _LEVEL, _ENTRY, _CHILD = map(np.int64, range(5))
_UNKNOWN = np.int64(-1)  # stands there until then


# rows of Frames.numbers
_FAR, _MINUS_FAR, _ONE, _AT, _FIRST, _END = map(np.int64, range(6))


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
def _state_slot(table, rows, words, rest, key_starts, keys, trees, n, tag):
    """Return where the state of n sorted trees is in its table, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            row = ((table[slot] & 0xFFFFFFFF) - 1) * words
            g, begin = rows[row + _GROUP] >> 1, rows[row + _REST]
            first = key_starts[g]
            front = key_starts[g + 1] - first
            if (
                front + rows[row + words + _REST] - begin == n
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
    key_starts, keys, run_starts, ends, amounts, mosts, hashes, child_starts, links, children, least, most, _ = groups
    at, numbers = frames.at, frames.numbers
    width = np.int64(len(limbs))
    g, first = reg[N_GROUPS], reg[N_GROUP_KEYS]
    for k in range(n):
        keys[first + k] = frames.trees[k]
        at[k] = tree_starts[frames.trees[k]]
    key_starts[g + 1] = first + n
    run, child = reg[N_GROUP_RUNS], reg[N_CHILDREN]
    finished = False
    while not finished:
        end = np.int64(2**31 - 1)
        number = run * width
        for limb in range(len(limbs)):
            amounts[number + limb] = 0
            mosts[number + limb] = 0
        hashes[run] = 0
        begin = child
        for k in range(n):
            arc = at[k]
            end = min(end, np.int64(tree_ends[arc]))
            add(amounts, number, tree_amounts, arc * width, amounts, number, limbs)
            left = tree_children[arc]
            if left:
                add(mosts, number, tree_mosts, left * width, mosts, number, limbs)
                hashes[run] += _hash(left)
                place = child
                while place > begin and children[place - 1] > left:
                    children[place] = children[place - 1]
                    place -= 1
                children[place] = left
                child += 1
        ends[run] = end
        # Trees of one feature do not all take their most, or their least, for the same cell.
        add(amounts, number, mosts, number, numbers, _END * width, limbs)
        if run == reg[N_GROUP_RUNS] or is_less(most, g * width, numbers, _END * width, limbs):
            copy(numbers, _END * width, most, g * width, limbs)
        if run == reg[N_GROUP_RUNS] or is_less(amounts, number, least, g * width, limbs):
            copy(amounts, number, least, g * width, limbs)
        # A run that leaves what the one before it does leads to the same states.
        links[run] = 0
        if run > reg[N_GROUP_RUNS]:
            before = child_starts[run - 1]
            is_other = child - begin != begin - before or not _are_same(children, before, begin, children, begin)
            links[run] = links[run - 1] + np.int64(is_other)
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
    rows, rest, below, hashes, lefts, table = states
    width = np.int64(len(limbs))
    words = STATE_WORDS + 2 * width
    s = reg[N_STATES]
    table[slot] = tag << 32 | (s + 1)
    first = _front(places, given, n)
    tag = _tag(np.int64(0), given, np.int64(0), first)
    slot = _group_slot(group_table, groups.key_starts, groups.keys, given, first, tag)
    if not group_table[slot]:
        group_table[slot] = tag << 32 | (_new_group(trees, groups, frames, reg, first, limbs) + 1)
    g = (group_table[slot] & 0xFFFFFFFF) - 1
    at = reg[N_REST]
    copy(numbers, _ONE * width, lefts, s * width, limbs)
    hashes[s] = 0
    for k in range(first, n):
        rest[at] = given[k]
        hashes[s] += _hash(given[k])
        subtract(lefts, s * width, tree_mosts, given[k] * width, lefts, s * width, limbs)
        at += 1
    # False as long as sum and most do not exceed 0, true as soon as sum and least do.
    row = s * words
    subtract(lefts, s * width, groups.most, g * width, rows, row + _OPEN, limbs)
    subtract(numbers, _ONE * width, groups.least, g * width, rows, row + _OPEN + width, limbs)
    link = reg[N_BELOW]
    for _ in range(groups.links[groups.run_starts[g + 1] - 1] + 1):
        below[link] = -1
        link += 1
    rows[row + _GROUP] = 2 * g
    rows[row + _LIST + _START] = -1
    rows[row + _LIST + _COUNT] = 0
    rows[row + _LIST + _CLASS] = -1
    rows[row + words + _REST] = at
    rows[row + words + _LINKS] = link
    reg[N_STATES], reg[N_REST], reg[N_BELOW] = s + 1, at, link
    return s


@part
def _position(entries, start, count, numbers, at, limbs):
    """Return how many of the entries from `start` on begin at or below the number at numbers[at]."""
    words = 2 * np.int64(len(limbs)) + 1
    # Counted at the end, without branches that depend on what is compared: no processor guesses them.
    first = start
    n = count
    while n > 4:
        half = n >> 1
        first += half & ~sign(numbers, at, entries, (first + half - 1) * words, limbs)
        n -= half
    found = first - start + n
    for k in range(first, first + n):
        found += sign(numbers, at, entries, k * words, limbs)
    return found


@part
def _allocate(entries, free, reg, c, limbs):
    """Return where a list of class c has room."""
    if free[c]:
        start = free[c] - 1
        free[c] = entries[start * (2 * np.int64(len(limbs)) + 1)]
        return start
    start = reg[N_ENTRIES]
    reg[N_ENTRIES] = start + (4 << c)
    return start


@part
def _move(entries, a, b, limbs):
    """Copy entry a to b."""
    words = 2 * np.int64(len(limbs)) + 1
    for word in range(2 * len(limbs) + 1):
        entries[b * words + word] = entries[a * words + word]


@part
def _put(heads, h, entries, free, reg, at, low, i, high, j, node, limbs):
    """Insert an entry into the list heads[h:] at position `at`, and return where its node stands.

    A full list moves to where there is more room.
    """
    width = np.int64(len(limbs))
    words = 2 * width + 1
    start, count, c = heads[h + _START], heads[h + _COUNT], heads[h + _CLASS]
    if c < 0 or count == 4 << c:
        old, start = start, _allocate(entries, free, reg, c + 1, limbs)
        for k in range(count):
            _move(entries, old + k, start + k, limbs)
        if c >= 0:
            entries[old * words] = free[c]
            free[c] = old + 1
        heads[h + _START] = start
        heads[h + _CLASS] = c + 1
    for k in range(start + count, start + at, -1):
        _move(entries, k - 1, k, limbs)
    entry = (start + at) * words
    copy(low, i, entries, entry, limbs)
    copy(high, j, entries, entry + width, limbs)
    entries[entry + 2 * width] = node
    heads[h + _COUNT] = count + 1
    return entry + 2 * width


@part
def _split(rows, row, at, lists, reg, limbs):
    """Give the upper half of the block at position `at` of a state's list to a new block behind it."""
    entries, blocks, free = lists
    words = 2 * np.int64(len(limbs)) + 1
    b = 3 * entries[(rows[row + _LIST + _START] + at + 1) * words - 1]
    new = reg[N_BLOCKS]
    reg[N_BLOCKS] = new + 1
    start = _allocate(entries, free, reg, _LONGEST_CLASS, limbs)
    half = LONGEST // 2
    for k in range(half):
        _move(entries, blocks[b + _START] + half + k, start + k, limbs)
    blocks[b + _COUNT] = half
    blocks[3 * new + _START] = start
    blocks[3 * new + _COUNT] = half
    blocks[3 * new + _CLASS] = _LONGEST_CLASS
    first = start * words
    _put(rows, row + _LIST, entries, free, reg, at + 1, entries, first, entries, first, new, limbs)
    reg[LARGEST] = max(reg[LARGEST], rows[row + _LIST + _CLASS])


@part
def _insert_long(rows, row, lists, reg, low, high, i, node, limbs):
    """Insert an entry into a list of a state that is, or must be, cut into blocks."""
    entries, blocks, free = lists
    words = 2 * np.int64(len(limbs)) + 1
    if not rows[row + _GROUP] & 1:
        new = reg[N_BLOCKS]
        reg[N_BLOCKS] = new + 1
        for k in range(3):
            blocks[3 * new + k] = rows[row + _LIST + k]
        first = blocks[3 * new + _START] * words
        rows[row + _GROUP] |= 1
        rows[row + _LIST + _START] = -1
        rows[row + _LIST + _COUNT] = 0
        rows[row + _LIST + _CLASS] = -1
        _put(rows, row + _LIST, entries, free, reg, np.int64(0), entries, first, entries, first, new, limbs)
    at = max(_position(entries, rows[row + _LIST + _START], rows[row + _LIST + _COUNT], low, i, limbs) - 1, 0)
    if blocks[3 * entries[(rows[row + _LIST + _START] + at + 1) * words - 1] + _COUNT] == LONGEST:
        _split(rows, row, at, lists, reg, limbs)
        at = max(_position(entries, rows[row + _LIST + _START], rows[row + _LIST + _COUNT], low, i, limbs) - 1, 0)
    entry = (rows[row + _LIST + _START] + at) * words
    b = 3 * entries[entry + words - 1]
    place = _position(entries, blocks[b + _START], blocks[b + _COUNT], low, i, limbs)
    _put(blocks, b, entries, free, reg, place, low, i, high, i, node, limbs)
    if place == 0:
        copy(low, i, entries, entry, limbs)


@part
def _look_up(places, offsets, ends, node_children, table, used, waiting, entries, children):
    """Look up the node that waits, if one does, and write it where it is to stand."""
    last = waiting[_LAST]
    if last:
        waiting[_LAST] = 0
        made = node_of_runs(places, offsets, ends, node_children, table, used, waiting[_LEVEL], last, waiting[_TAG])
        entries[waiting[_ENTRY]] = made
        children[waiting[_CHILD]] = made


@flat_kernel(trees=Trees, nodes=FlatNodes, groups=Groups, states=States, lists=Lists, frames=Frames)
def search(trees, nodes, groups, states, lists, frames, reg, limits, limbs):
    """Return DONE with the node of the first frame in reg[VALUE]; call again after any other answer.

    It begins with the sorted trees in `frames.trees`, and the sum in the first frame's total. `limits` has for each
    register up to which value one more of what it counts fits, whatever it is, and behind them the same for nodes and
    their runs.
    """
    # Taken out once: a tuple of arrays that is opened in a loop costs more than what is done with it.
    places, offsets, node_ends, node_children, node_table, used = nodes
    key_starts, keys, run_starts, ends, amounts, mosts, run_hashes, child_starts, links, left_trees, _, _, _ = groups
    rows, rest, below_states, hashes, lefts, state_table = states
    (
        frame_states,
        frame_runs,
        n_open,
        open_runs,
        positions,
        totals,
        lows,
        highs,
        children,
        numbers,
        merged,
        _,
        waiting,
    ) = frames
    tree_places = trees.places
    entries, blocks, free = lists
    width = np.int64(len(limbs))
    words, entry_words = STATE_WORDS + 2 * width, 2 * width + 1
    far, minus_far, one, sum_at, low, high = (
        _FAR * width, _MINUS_FAR * width, _ONE * width, _AT * width, _FIRST * width, _END * width
    )  # fmt: skip
    widest = children.shape[0] // frame_runs.shape[0]
    if reg[N_STATES] == 0:
        h = np.int64(0)
        for k in range(merged.shape[0]):
            h += _hash(merged[k])
        tag = tag_of(np.uint64(h))
        slot = tag & (state_table.shape[0] - 1)
        frame_states[0] = _new_state(trees, groups, states, frames, reg, merged.shape[0], tag, slot, limbs)
        frame_runs[0] = -1
    depth = reg[DEPTH]
    is_fresh, is_new = False, False
    while depth >= 0:
        reg[DEPTH] = depth
        is_full = used[N_NODES] >= limits[REGISTERS] or max(used[N_RUNS], waiting[_LAST]) > limits[REGISTERS + 1]
        for k in range(N_STATES, REGISTERS):
            is_full = is_full or reg[k] > limits[k]
        if is_full or reg[NODES] >= reg[LIMIT]:
            _look_up(places, offsets, node_ends, node_children, node_table, used, waiting, entries, children)
            return STORE_FULL if is_full else ALLOWANCE
        s = frame_states[depth]
        row = s * words
        g = rows[row + _GROUP] >> 1
        first = run_starts[g]
        n = run_starts[g + 1] - first
        here = depth * width
        at = depth * widest
        if frame_runs[depth] < 0:
            # A new frame: first the runs that need no state, over arrays that lie in order.
            frame_runs[depth] = 0
            copy(numbers, minus_far, lows, here, limbs)
            copy(numbers, far, highs, here, limbs)
            n_left = np.int64(0)
            for run in range(n):
                arc = (first + run) * width
                add(totals, here, amounts, arc, numbers, sum_at, limbs)
                subtract(lefts, s * width, mosts, arc, numbers, high, limbs)
                # True for every sum from 1 on, as nothing below can take anything away; false as long as sum and
                # most do not exceed 0. Masks of which one or none is -1, for no processor guesses such branches.
                is_true = ~sign(numbers, sum_at, numbers, one, limbs)
                is_false = sign(numbers, sum_at, numbers, high, limbs)
                children[at + run] = is_true & 1
                subtract(numbers, one, amounts, arc, numbers, low, limbs)
                copy_where(is_true & sign(lows, here, numbers, low, limbs), numbers, low, lows, here, limbs)
                # Intervals end before their second number.
                subtract(numbers, high, amounts, arc, numbers, high, limbs)
                copy_where(is_false & sign(numbers, high, highs, here, limbs), numbers, high, highs, here, limbs)
                open_runs[at + n_left] = run
                n_left += 1 + is_true + is_false
            n_open[depth] = n_left
            # All that is asked for next lies anywhere: fetched at once, the processor waits once.
            for k in range(n_left):
                arc = first + open_runs[at + k]
                below = below_states[rows[row + _LINKS] + links[arc]]
                if below >= 0:
                    prefetch(rows, below * words)
                else:
                    tag = tag_of(np.uint64(run_hashes[arc] + hashes[s]))
                    prefetch(state_table, tag & (state_table.shape[0] - 1))
            for k in range(n_left):
                below = below_states[rows[row + _LINKS] + links[first + open_runs[at + k]]]
                if below >= 0:
                    prefetch(entries, max(rows[below * words + _LIST + _START], np.int64(0)) * entry_words)
        # Children found earlier stay: a frame that was left is taken up where it stopped.
        place = frame_runs[depth]
        n_left = n_open[depth]
        while place < n_left:
            run = open_runs[at + place]
            arc = first + run
            if is_fresh:  # what was just finished for this run need not be looked for
                is_fresh = False
                child = reg[VALUE]
                copy(lows, here + width, numbers, low, limbs)
                copy(highs, here + width, numbers, high, limbs)
            else:
                link = rows[row + _LINKS] + links[arc]
                below = np.int64(below_states[link])
                if below < 0:
                    tag = tag_of(np.uint64(run_hashes[arc] + hashes[s]))
                    begin, end = rows[row + _REST], rows[row + words + _REST]
                    n_trees = _merged(left_trees, child_starts[arc], child_starts[arc + 1], rest, begin, end, merged)
                    slot = _state_slot(state_table, rows, words, rest, key_starts, keys, merged, n_trees, tag)
                    below = (state_table[slot] & 0xFFFFFFFF) - 1
                    if below < 0:
                        below = _new_state(trees, groups, states, frames, reg, n_trees, tag, slot, limbs)
                        is_new = True
                    below_states[link] = below
                add(totals, here, amounts, arc * width, numbers, sum_at, limbs)
                found = below * words
                if is_less(numbers, sum_at, rows, found + _OPEN, limbs):
                    child = np.int64(0)
                    copy(numbers, minus_far, numbers, low, limbs)
                    copy(rows, found + _OPEN, numbers, high, limbs)
                elif not is_less(numbers, sum_at, rows, found + _OPEN + width, limbs):
                    child = np.int64(1)
                    copy(rows, found + _OPEN + width, numbers, low, limbs)
                    copy(numbers, far, numbers, high, limbs)
                else:
                    start = rows[found + _LIST + _START]
                    k = start - 1 + _position(entries, start, rows[found + _LIST + _COUNT], numbers, sum_at, limbs)
                    if rows[found + _GROUP] & 1 and k >= start:
                        b = 3 * entries[k * entry_words + 2 * width]
                        start = blocks[b + _START]
                        k = start - 1 + _position(entries, start, blocks[b + _COUNT], numbers, sum_at, limbs)
                    entry = k * entry_words
                    if k < start or not is_less(numbers, sum_at, entries, entry + width, limbs):
                        is_new = False
                        frame_runs[depth] = place
                        depth += 1
                        frame_states[depth] = below
                        frame_runs[depth] = -1
                        # Nobody asks this state before the frame is done: what is below has states of later places.
                        positions[depth] = k + 1 - start
                        copy(numbers, sum_at, totals, here + width, limbs)
                        break
                    if entries[entry + 2 * width] == _UNKNOWN:
                        _look_up(
                            places, offsets, node_ends, node_children, node_table, used, waiting, entries, children
                        )
                    child = entries[entry + 2 * width]
                    copy(entries, entry, numbers, low, limbs)
                    copy(entries, entry + width, numbers, high, limbs)
            children[at + run] = child
            # Seen from here, a child's interval lies lower by what the arc adds. The node holds where all of
            # its children do.
            subtract(numbers, low, amounts, arc * width, numbers, low, limbs)
            copy_where(sign(lows, here, numbers, low, limbs), numbers, low, lows, here, limbs)
            subtract(numbers, high, amounts, arc * width, numbers, high, limbs)
            copy_where(sign(numbers, high, highs, here, limbs), numbers, high, highs, here, limbs)
            place += 1
            if is_new:  # of which there was room for one
                is_new = False
                frame_runs[depth] = place
                break
        else:
            reg[NODES] += 1
            _look_up(places, offsets, node_ends, node_children, node_table, used, waiting, entries, children)
            level = tree_places[keys[key_starts[g]]]
            last = write_runs(node_ends, node_children, used, ends, first, children, at, n)
            tag = node_tag(level, node_ends, node_children, used[N_RUNS], last)
            is_long = rows[row + _GROUP] & 1 or rows[row + _LIST + _COUNT] == LONGEST
            made = _UNKNOWN
            if depth == 0 or is_long or last == used[N_RUNS] + 1:
                made = node_of_runs(places, offsets, node_ends, node_children, node_table, used, level, last, tag)
            if made == 0:
                # No list is needed for what is false up to a sum, and true from one on: the state knows these two.
                copy(highs, here, rows, row + _OPEN, limbs)
            elif made == 1:
                copy(lows, here, rows, row + _OPEN + width, limbs)
            elif is_long:
                _insert_long(rows, row, lists, reg, lows, highs, here, made, limbs)
            else:
                prefetch(node_table, tag & (node_table.shape[0] - 1))
                k = positions[depth]
                entry = _put(rows, row + _LIST, entries, free, reg, k, lows, here, highs, here, made, limbs)
                if made == _UNKNOWN:
                    waiting[_TAG], waiting[_LAST], waiting[_LEVEL], waiting[_ENTRY] = tag, last, level, entry
                    waiting[_CHILD] = at - widest + open_runs[at - widest + frame_runs[depth - 1]]
            reg[VALUE] = made
            is_fresh = True
            depth -= 1
    reg[DEPTH] = depth
    return DONE
