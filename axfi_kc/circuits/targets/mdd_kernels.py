"""Nodes of ordered diagrams in flat arrays: a unique table, unions, and the way into a circuit; compiled by numba.

Node k tests the feature at place ``places[k]`` of the order. Its runs are ``offsets[k]`` to ``offsets[k + 1]``
of `ends` and `children`: each child takes the cells from the end before it up to its own. Nodes 0 and 1 are false
and true, without runs and below every place. The shortest list of runs is unique, so equal nodes have equal runs,
and `table` finds them; it has a power of two of slots, at least twice as many as there are nodes. An entry is the
node and, above 32 bits, a tag of its hash, from which its slot follows; 0 is free. Tables of millions of nodes wait for
memory, and a tag tells most others apart before they are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STORE_FULL
from axfi_kc.compiled import flat_kernel, part

__all__ = [
    "DEPTH",
    "N_NODES",
    "N_RUNS",
    "N_SETS",
    "REGISTERS",
    "VALUE",
    "Arcs",
    "CellSets",
    "FlatNodes",
    "Unions",
    "fill_arcs",
    "make_node",
    "make_nodes",
    "mark_reached",
    "mixed",
    "move_entries",
    "node_of_runs",
    "node_tag",
    "relabel",
    "tag_of",
    "unite",
    "write_runs",
]


N_NODES, N_RUNS = 0, 1  # what of FlatNodes is in use

# registers of `unite` besides NODES and LIMIT
DEPTH, VALUE, N_SETS = 2, 3, 4
REGISTERS = 5


class FlatNodes(NamedTuple):
    """The arrays of a table of nodes; `used` counts nodes and runs."""

    places: np.ndarray
    offsets: np.ndarray
    ends: np.ndarray
    children: np.ndarray
    table: np.ndarray
    used: np.ndarray


@part
def mixed(h, x):
    """Return the hash of what was hashed to h, followed by x."""
    # Products wrap modulo 2**64, as they should: an odd factor loses no bit.
    h = (h ^ np.uint64(x)) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@part
def tag_of(h):
    """Return the 31 bits of a hash that a table keeps."""
    return np.int64((h * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(33))


@flat_kernel()
def move_entries(old, table, first, end):
    """Enter what is in the slots from `first` to `end` of a table of tagged entries into a larger one."""
    for k in range(first, end):
        if old[k]:
            slot = (old[k] >> 32) & (table.shape[0] - 1)
            while table[slot]:
                slot = (slot + 1) & (table.shape[0] - 1)
            table[slot] = old[k]


@part
def node_tag(place, ends, children, first, last):
    """Return the tag of the node with the runs from first to last."""
    h = mixed(np.uint64(place), last - first)
    for k in range(first, last):
        h = mixed(h, np.int64(children[k]) << 32 | np.int64(ends[k]))
    return tag_of(h)


@part
def _are_same(ends, children, a, b, n):
    for k in range(n):  # noqa: SIM110  # numba compiles loops
        if children[a + k] != children[b + k] or ends[a + k] != ends[b + k]:
            return False
    return True


@part
def write_runs(ends, children, used, given_ends, at, given_children, below, n):
    """Write n runs, neighbours with the same child joined, behind those in use, and return where they end."""
    last = used[N_RUNS]
    for k in range(n):
        if k + 1 == n or given_children[below + k + 1] != given_children[below + k]:
            ends[last] = given_ends[at + k]
            children[last] = given_children[below + k]
            last += 1
    return last


@part
def node_of_runs(places, offsets, ends, children, table, used, place, last, tag):
    """Return the node of the runs behind those in use, up to `last`, which stay there if it is new."""
    first = used[N_RUNS]
    if last == first + 1:  # one run takes all cells: the feature is not tested
        return np.int64(children[first])
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            node = table[slot] & 0xFFFFFFFF
            begin = offsets[node]
            if (
                places[node] == place
                and offsets[node + 1] - begin == last - first
                and _are_same(ends, children, begin, first, last - first)
            ):
                return node
        slot = (slot + 1) & (table.shape[0] - 1)
    node = used[N_NODES]
    places[node] = place
    offsets[node + 1] = last
    table[slot] = tag << 32 | node
    used[N_NODES] = node + 1
    used[N_RUNS] = last
    return node


@part
def make_node(places, offsets, ends, children, table, used, place, given_ends, at, given_children, below, n):
    """Return the node with the n runs that begin at given_ends[at] and given_children[below].

    There must be room. The arrays of the table come one by one: to hand on a tuple of arrays in a hot loop costs
    more than to make a node.
    """
    last = write_runs(ends, children, used, given_ends, at, given_children, below, n)
    tag = node_tag(place, ends, children, used[N_RUNS], last)
    return node_of_runs(places, offsets, ends, children, table, used, place, last, tag)


@flat_kernel(nodes=FlatNodes)
def make_nodes(nodes, place, ends, rows, made):
    """Make the node of each row of children; there must be room for all."""
    places, offsets, node_ends, children, table, used = nodes
    width = ends.shape[0]
    for k in range(made.shape[0]):
        made[k] = make_node(
            places, offsets, node_ends, children, table, used, place, ends, np.int64(0), rows, k * width, width
        )


class Unions(NamedTuple):
    """The state of a union: what is known of sets of nodes, and a frame for each set in the making.

    A set is a row of `sets`, its nodes sorted, filled up with 0; row 0 is none. `members` and `at` are the nodes of
    a frame's set and the run of each that is looked at; `n_runs` of its runs are done, with their ends and children.
    """

    sets: np.ndarray
    results: np.ndarray
    table: np.ndarray
    members: np.ndarray
    at: np.ndarray
    places: np.ndarray
    n_runs: np.ndarray
    ends: np.ndarray
    children: np.ndarray
    scratch: np.ndarray


@part
def _set_tag(row, k):
    h = np.uint64(0)
    for j in range(row.shape[1]):
        h = mixed(h, row[k, j])
    return tag_of(h)


@part
def _set_slot(sets, table, rows, k, tag):
    """Return where the set rows[k] is in a table of sets, or would be."""
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            known = table[slot] & 0xFFFFFFFF
            same = True
            for j in range(rows.shape[1]):
                if sets[known, j] != rows[k, j]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@part
def _settled(row, n):
    """Sort n nodes of row 0, once each and without false; return the node they are, or -1 for a set of several."""
    kept = 0
    for k in range(n):
        node = row[0, k]
        if node == 1:
            return np.int64(1)
        place = kept
        while place > 0 and row[0, place - 1] > node:
            place -= 1
        if node == 0 or (place > 0 and row[0, place - 1] == node):
            continue
        for j in range(kept, place, -1):
            row[0, j] = row[0, j - 1]
        row[0, place] = node
        kept += 1
    for k in range(kept, row.shape[1]):
        row[0, k] = 0
    if kept > 1:
        return np.int64(-1)
    return np.int64(row[0, 0])


@flat_kernel(nodes=FlatNodes, unions=Unions)
def unite(nodes, unions, reg, limits, last_ends):
    """Return DONE with the union of the first frame's set in reg[VALUE]; call again after any other answer.

    `limits` has how many nodes, runs and sets there may be before a step; `last_ends` the number of cells at each
    place, at which the runs of a frame end.
    """
    places, offsets, node_ends, node_children, node_table, used = nodes
    sets, results, table, members, at, set_places, n_runs, ends, children, scratch = unions
    width = scratch.shape[1]
    widest = ends.shape[0] // n_runs.shape[0]
    depth = reg[DEPTH]
    while depth >= 0:
        reg[DEPTH] = depth
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        if used[N_NODES] > limits[0] or used[N_RUNS] > limits[1] or reg[N_SETS] > limits[2]:
            return STORE_FULL
        n = n_runs[depth]
        place = set_places[depth]
        first = depth * widest
        is_whole = True
        while n == 0 or ends[first + n - 1] < last_ends[place]:
            end = np.int64(2**31 - 1)
            for k in range(width):
                node = members[depth, k]
                scratch[0, k] = node
                if node and places[node] == place:
                    arc = at[depth, k]
                    end = min(end, np.int64(node_ends[arc]))
                    scratch[0, k] = node_children[arc]
            child = _settled(scratch, width)
            if child < 0:
                slot = _set_slot(sets, table, scratch, np.int64(0), _set_tag(scratch, np.int64(0)))
                if not table[slot]:
                    is_whole = False
                    break
                child = np.int64(results[table[slot] & 0xFFFFFFFF])
            for k in range(width):
                node = members[depth, k]
                if node and places[node] == place and node_ends[at[depth, k]] == end:
                    at[depth, k] += 1
            ends[first + n] = end
            children[first + n] = child
            n += 1
        n_runs[depth] = n
        if not is_whole:
            # what is not known yet becomes the next frame
            depth += 1
            place = np.int64(2**31 - 1)
            for k in range(width):
                node = scratch[0, k]
                members[depth, k] = node
                at[depth, k] = offsets[node]
                if node:
                    place = min(place, np.int64(places[node]))
            set_places[depth] = place
            n_runs[depth] = 0
            continue
        reg[NODES] += 1
        made = make_node(
            places, offsets, node_ends, node_children, node_table, used, place, ends, first, children, first, n
        )
        new = reg[N_SETS] + 1
        for j in range(width):
            sets[new, j] = members[depth, j]
        results[new] = made
        tag = _set_tag(sets, new)
        table[_set_slot(sets, table, sets, new, tag)] = tag << 32 | new
        reg[N_SETS] = new
        reg[VALUE] = made
        depth -= 1
    reg[DEPTH] = depth
    return DONE


@flat_kernel(nodes=FlatNodes)
def mark_reached(nodes, root, marks):
    """Mark the nodes below `root`, which come before it."""
    _, offsets, _, children, _, _ = nodes
    marks[root] = 1
    for node in range(root, 1, -1):
        if marks[node]:
            for k in range(offsets[node], offsets[node + 1]):
                marks[children[k]] = 1


class CellSets(NamedTuple):
    """Distinct sets of cells as runs (first, past the last), of set k from starts[k] to starts[k + 1]."""

    starts: np.ndarray
    bounds: np.ndarray
    table: np.ndarray
    used: np.ndarray  # how many sets


@part
def _set_hash(bounds, first, last, size):
    h = np.uint64(last - first)
    for k in range(first, last):
        h = mixed(h, bounds[k])
    return np.int64((h ^ (h >> np.uint64(32))) & np.uint64(size - 1))


@part
def _label(starts, bounds, table, used, first, last):
    """Return the number of the set in bounds[first:last], which follow those in use; it is new if not yet known."""
    slot = _set_hash(bounds, first, last, table.shape[0])
    while table[slot]:
        known = table[slot] - 1
        begin = starts[known]
        if starts[known + 1] - begin == last - first:
            same = True
            for k in range(last - first):
                if bounds[begin + k] != bounds[first + k]:
                    same = False
                    break
            if same:
                return np.int64(known)
        slot = (slot + 1) & (table.shape[0] - 1)
    known = used[0]
    table[slot] = known + 1
    starts[known + 1] = last
    used[0] = known + 1
    return known


@flat_kernel(sets=CellSets)
def relabel(sets):
    """Enter all sets into a table after growth."""
    starts, bounds, table, used = sets
    for known in range(used[0]):
        slot = _set_hash(bounds, starts[known], starts[known + 1], table.shape[0])
        while table[slot]:
            slot = (slot + 1) & (table.shape[0] - 1)
        table[slot] = known + 1


@part
def _is_first(children, begin, k):
    """Tell whether no run from `begin` on leads where run k does."""
    for j in range(begin, k):  # noqa: SIM110  # numba compiles loops
        if children[j] == children[k]:
            return False
    return True


class Arcs(NamedTuple):
    """A circuit in the making: kind and feature of each node, its first arc, and child and label of each arc."""

    kinds: np.ndarray
    features: np.ndarray
    offsets: np.ndarray
    children: np.ndarray
    labels: np.ndarray


@flat_kernel(nodes=FlatNodes, sets=CellSets, arcs=Arcs)
def fill_arcs(nodes, number, absent, sets, arcs, order, kind, cursor):
    """Write each numbered node's feature, and its distinct children but `absent` in the order of their first cells.

    Arcs are labelled by their sets of cells. `cursor` holds the node and the arc to continue with. Return 1 when all
    is written, 0 where the sets are full.
    """
    places, node_offsets, ends, node_children, _, _ = nodes
    starts, bounds, table, used = sets
    kinds, features, offsets, children, labels = arcs
    most = min(starts.shape[0] - 1, table.shape[0] // 2)
    node, n = cursor[0], cursor[1]
    while node < number.shape[0]:
        new = number[node]
        if new < 0:
            node += 1
            continue
        if node > 1:
            begin, last = node_offsets[node], node_offsets[node + 1]
            if 2 * (last - begin) > bounds.shape[0] - starts[used[0]] or used[0] + (last - begin) >= most:
                cursor[0], cursor[1] = node, n
                return 0
            kinds[new] = kind
            features[new] = order[places[node]]
            for k in range(begin, last):
                child = node_children[k]
                if child == absent or not _is_first(node_children, begin, k):
                    continue
                first = starts[used[0]]
                at = first
                for j in range(k, last):
                    if node_children[j] == child:
                        bounds[at] = ends[j - 1] if j > begin else 0
                        bounds[at + 1] = ends[j]
                        at += 2
                labels[n] = _label(starts, bounds, table, used, first, at)
                children[n] = number[child]
                n += 1
        offsets[new + 1] = n
        node += 1
    cursor[0], cursor[1] = node, n
    return 1
