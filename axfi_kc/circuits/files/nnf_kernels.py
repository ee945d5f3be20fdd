"""Negation normal forms from text to circuits, and back to text, in flat arrays; compiled by numba.

Building follows :mod:`axfi_kc.circuits.files.nnf_nodes`, which says what is done and why, step by step: a node is
a number of the circuit's or, below zero, of a conjunction that waits. Sets of cells are masks of 62 bits. Whatever
is irregular, in a text or in a circuit, is refused, and the slow way says what is wrong with it.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.budget import DONE, STORE_FULL
from axfi_kc.circuits.circuit import AND, DECISION, OR
from axfi_kc.circuits.targets.mdd_kernels import mixed, tag_of
from axfi_kc.compiled import flat_kernel, part

__all__ = [
    "CONJUNCTION",
    "DISJUNCTION",
    "LITERAL",
    "NEED",
    "N_ARCS",
    "N_NODES",
    "N_OTHERS",
    "N_REMAINDERS",
    "N_SETS",
    "N_WAITING",
    "POSITION",
    "REFUSED",
    "REGISTERS",
    "ROOT",
    "build",
    "format_c2d",
    "mark_parts",
    "mark_reached",
    "scan_c2d",
    "scanned_number",
    "write_nodes",
]


# As int64, since parts are compiled for each literal apart.
LITERAL, CONJUNCTION, DISJUNCTION = map(np.int64, range(3))
_DECISION, _AND, _OR, _NONE, _ONE = map(np.int64, (DECISION, AND, OR, -1, 1))
REFUSED = 9  # what a kernel answers, besides DONE and STORE_FULL

# registers: what of each array is in use, the next node to be built, how many entries it may need, and the root
N_NODES, N_ARCS, N_WAITING, N_SETS, N_OTHERS, N_REMAINDERS, POSITION, NEED, ROOT = range(9)
REGISTERS = 9

_FALSE, _TRUE = map(np.int64, range(2))
_KIND, _FEATURE, _ARC, _COUNT, _IS_FORK = range(5)  # columns of a node
_SET, _N_SETS, _OTHER, _N_OTHERS, _BUILT = range(5)  # columns of a waiting conjunction
_MOST_PARTS, _FEW_PARTS = 1_000, 8  # as in nnf_nodes
_MOST_CELLS = 62
_LARGEST = 1 << 40  # of numbers in a text


@part
def scanned_number(text, at, end):
    """Return the integer that begins at a place of a text, and where it ends; the same place if there is none."""
    is_negative = at < end and text[at] == 45
    k = at + 1 if is_negative else at
    first, value = k, np.int64(0)
    while k < end and 48 <= text[k] <= 57 and value < _LARGEST:
        value = 10 * value + (np.int64(text[k]) - 48)
        k += 1
    if k == first:
        return np.int64(0), at
    return (-value if is_negative else value), k


@flat_kernel()
def scan_c2d(text, at, n_variables, kinds, offsets, parts):
    """Read lines of nodes from a place of a text on; return the numbers of nodes and of parts, -1 if some line is odd.

    Lines are 'L literal', 'A n parts' and 'O variable n parts', with single spaces and nothing else.
    """
    end = text.shape[0]
    node, n = np.int64(0), np.int64(0)
    while at < end:
        if node >= kinds.shape[0] or at + 2 > end or text[at + 1] != 32:
            return np.int64(-1), n
        letter = text[at]
        value, k = scanned_number(text, at + 2, end)
        if k == at + 2:
            return np.int64(-1), n
        at = k
        if letter == 76:
            if value == 0 or abs(value) > n_variables or n >= parts.shape[0]:
                return np.int64(-1), n
            kinds[node] = LITERAL
            parts[n] = value
            n += 1
        elif letter in (65, 79):
            if letter == 79:
                if not 0 <= value <= n_variables or at >= end or text[at] != 32:
                    return np.int64(-1), n
                value, k = scanned_number(text, at + 1, end)
                if k == at + 1:
                    return np.int64(-1), n
                at = k
            if value < 0 or n + value > parts.shape[0]:
                return np.int64(-1), n
            kinds[node] = CONJUNCTION if letter == 65 else DISJUNCTION
            for _ in range(value):
                if at >= end or text[at] != 32:
                    return np.int64(-1), n
                part, k = scanned_number(text, at + 1, end)
                if k == at + 1 or part < 0 or part >= node:
                    return np.int64(-1), n
                at = k
                parts[n] = part
                n += 1
        else:
            return np.int64(-1), n
        if at < end and text[at] != 10:
            return np.int64(-1), n
        at += 1
        node += 1
        offsets[node] = n
    return node, n


@flat_kernel()
def mark_parts(kinds, offsets, parts, marks):
    """Mark the nodes below the last one."""
    marks[kinds.shape[0] - 1] = 1
    for node in range(kinds.shape[0] - 1, -1, -1):
        if marks[node] and kinds[node] != LITERAL:
            for k in range(offsets[node], offsets[node + 1]):
                marks[parts[k]] = 1


@part
def _make(nodes, arcs, table, reg, kind, feature, first, n):
    """Return the node whose n arcs stand behind those in use, from `first` on; they stay if it is new."""
    h = mixed(np.uint64(kind), feature)
    for k in range(first, first + n):
        h = mixed(mixed(h, arcs[k, 0]), arcs[k, 1])
    tag = tag_of(h)
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            node = table[slot] & 0xFFFFFFFF
            same = nodes[node, _KIND] == kind and nodes[node, _FEATURE] == feature and nodes[node, _COUNT] == n
            begin = nodes[node, _ARC]
            k = 0
            while same and k < n:
                same = arcs[begin + k, 0] == arcs[first + k, 0] and arcs[begin + k, 1] == arcs[first + k, 1]
                k += 1
            if same:
                return node
        slot = (slot + 1) & (table.shape[0] - 1)
    node = reg[N_NODES]
    table[slot] = tag << 32 | node
    nodes[node, _KIND] = kind
    nodes[node, _FEATURE] = feature
    nodes[node, _ARC] = first
    nodes[node, _COUNT] = n
    nodes[node, _IS_FORK] = 0
    reg[N_NODES] = node + 1
    reg[N_ARCS] = first + n
    return node


@part
def _decision(nodes, arcs, table, reg, feature, n, whole):
    """Return the decision whose n arcs (cells, child) stand behind those in use; -1 if two share a cell.

    Arcs to one child are joined, those to false and without a cell dropped, and the others sorted by their first cells.
    """
    first = reg[N_ARCS]
    kept, named = np.int64(0), np.int64(0)
    for k in range(n):
        mask, child = arcs[first + k, 0], arcs[first + k, 1]
        if child == _FALSE or mask == 0:
            continue
        j = 0
        while j < kept and arcs[first + j, 1] != child:
            j += 1
        if j < kept:
            mask |= arcs[first + j, 0]
        else:
            kept += 1
        arcs[first + j, 0] = mask
        arcs[first + j, 1] = child
    for k in range(kept):
        mask, child = arcs[first + k, 0], arcs[first + k, 1]
        if mask & named:
            return np.int64(-1)
        named |= mask
        lowest = mask & -mask
        j = k
        while j > 0 and (arcs[first + j - 1, 0] & -arcs[first + j - 1, 0]) > lowest:
            arcs[first + j, 0] = arcs[first + j - 1, 0]
            arcs[first + j, 1] = arcs[first + j - 1, 1]
            j -= 1
        arcs[first + j, 0] = mask
        arcs[first + j, 1] = child
    if kept == 0:
        return np.int64(_FALSE)
    if kept == 1 and arcs[first, 0] == whole[feature]:
        return arcs[first, 1]
    return _make(nodes, arcs, table, reg, _DECISION, feature, first, kept)


@part
def _fork(nodes, arcs, table, reg, feature, n, whole):
    """Return the decision whose n arcs stand behind those in use; children that decide its feature are taken apart."""
    first = reg[N_ARCS]
    last = first + n
    for k in range(n):
        mask, child = arcs[first + k, 0], arcs[first + k, 1]
        if nodes[child, _IS_FORK] and nodes[child, _FEATURE] == feature:
            arcs[first + k, 0] = 0
            begin = nodes[child, _ARC]
            for j in range(begin, begin + nodes[child, _COUNT]):
                if mask & arcs[j, 0]:
                    arcs[last, 0] = mask & arcs[j, 0]
                    arcs[last, 1] = arcs[j, 1]
                    last += 1
    before = reg[N_NODES]
    made = _decision(nodes, arcs, table, reg, feature, last - first, whole)
    # Only a new node: a shared one, or a child in its place, is what it was.
    if made >= before:
        nodes[made, _IS_FORK] = 1
    return made


@part
def _gate(nodes, arcs, table, reg, kind, parts, n):
    """Return the gate of n parts: sorted, once each, without what changes nothing."""
    neutral, absorbing = (_TRUE, _FALSE) if kind == _AND else (_FALSE, _TRUE)
    # Shell's sort: short lists mostly, but no quadratic time for the others.
    gap = 1
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            part = parts[k]
            j = k
            while j >= gap and parts[j - gap] > part:
                parts[j] = parts[j - gap]
                j -= gap
            parts[j] = part
        gap //= 3
    first = reg[N_ARCS]
    kept = np.int64(0)
    for k in range(n):
        part = parts[k]
        if part == neutral or (k and parts[k - 1] == part):
            continue
        arcs[first + kept, 0] = 0
        arcs[first + kept, 1] = part
        kept += 1
    if kept <= 1:
        return arcs[first, 1] if kept else np.int64(neutral)
    for k in range(kept):
        if arcs[first + k, 1] == absorbing:
            return np.int64(absorbing)
    return _make(nodes, arcs, table, reg, kind, _NONE, first, kept)


@part
def _joined(nodes, arcs, table, reg, sets, s, n_sets, skipped, others, o, n_others, scratch, whole):
    """Return the conjunction of sets of cells, by feature but for one, and other nodes; -1 if that is refused."""
    n = np.int64(0)
    used = scratch.shape[0] // 2  # behind it a flag for each set that went into a decision
    for k in range(n_sets):
        scratch[used + k] = sets[s + k, 0] == skipped
    for k in range(n_others):
        other = others[o + k]
        if nodes[other, _IS_FORK]:
            feature = nodes[other, _FEATURE]
            for j in range(n_sets):
                # The restriction goes into the decision's arcs: beside it, the feature would be met twice.
                if sets[s + j, 0] == feature and not scratch[used + j]:
                    scratch[used + j] = 1
                    first, begin, count = reg[N_ARCS], nodes[other, _ARC], nodes[other, _COUNT]
                    for arc in range(count):
                        arcs[first + arc, 0] = arcs[begin + arc, 0] & sets[s + j, 1]
                        arcs[first + arc, 1] = arcs[begin + arc, 1]
                    other = _fork(nodes, arcs, table, reg, feature, count, whole)
                    break
        if other < 0:
            return other
        scratch[n] = other
        n += 1
    for k in range(n_sets):
        if not scratch[used + k]:
            first = reg[N_ARCS]
            arcs[first, 0] = sets[s + k, 1]
            arcs[first, 1] = _TRUE
            scratch[n] = _decision(nodes, arcs, table, reg, sets[s + k, 0], _ONE, whole)
            n += 1
    return scratch[0] if n == 1 else _gate(nodes, arcs, table, reg, _AND, scratch, n)


@part
def _built(nodes, arcs, table, reg, waiting, sets, others, node, scratch, whole):
    """Return a node of the circuit for one that may wait; -1 if that is refused."""
    if node >= 0:
        return node
    w = -1 - node
    if not waiting[w, _BUILT]:
        s, n_sets, o, n_others = waiting[w, _SET], waiting[w, _N_SETS], waiting[w, _OTHER], waiting[w, _N_OTHERS]
        made = _joined(nodes, arcs, table, reg, sets, s, n_sets, _NONE, others, o, n_others, scratch, whole)
        if made < 0:
            return made
        waiting[w, _BUILT] = made + 1
    return waiting[w, _BUILT] - 1


@part
def _wait(waiting, reg, n_sets, n_others):
    """Return the conjunction whose sets and others stand behind those in use."""
    w = reg[N_WAITING]
    waiting[w, _SET] = reg[N_SETS]
    waiting[w, _N_SETS] = n_sets
    waiting[w, _OTHER] = reg[N_OTHERS]
    waiting[w, _N_OTHERS] = n_others
    waiting[w, _BUILT] = 0
    reg[N_WAITING] = w + 1
    reg[N_SETS] += n_sets
    reg[N_OTHERS] += n_others
    return -1 - w


@part
def _set(waiting, sets, set_table, reg, feature, mask, whole):
    """Return the node of "the feature lies in the cells of a mask"."""
    if mask == 0:
        return np.int64(_FALSE)
    if mask == whole[feature]:
        return np.int64(_TRUE)
    tag = tag_of(mixed(mixed(np.uint64(7), feature), mask))
    slot = tag & (set_table.shape[0] - 1)
    while set_table[slot]:
        if set_table[slot] >> 32 == tag:
            w = (set_table[slot] & 0xFFFFFFFF) - 1
            if sets[waiting[w, _SET], 0] == feature and sets[waiting[w, _SET], 1] == mask:
                return -1 - w
        slot = (slot + 1) & (set_table.shape[0] - 1)
    sets[reg[N_SETS], 0] = feature
    sets[reg[N_SETS], 1] = mask
    made = _wait(waiting, reg, _ONE, np.int64(0))
    set_table[slot] = tag << 32 | -made
    return made


@part
def _mask_in(waiting, sets, w, feature):
    """Return the cells of a feature that a waiting conjunction demands; 0 if it says nothing of it."""
    for k in range(waiting[w, _SET], waiting[w, _SET] + waiting[w, _N_SETS]):
        if sets[k, 0] == feature:
            return sets[k, 1]
    return np.int64(0)


@part
def _are_disjoint(waiting, sets, parts, n, feature):
    """Tell whether every conjunction names cells of `feature`, and no two the same."""
    seen = np.int64(0)
    for k in range(n):
        mask = _mask_in(waiting, sets, -1 - parts[k], feature)
        if mask == 0 or mask & seen:
            return False
        seen |= mask
    return True


@part
def _conjoined(
    nodes, arcs, table, waiting, sets, others, set_table, reg, found, parts, begin, end, scratch, place_of, whole
):
    """Return the conjunction of the nodes found for parts; -2**40 if it is refused."""
    # Written behind what is in use, where they stay if the conjunction waits.
    s, o = reg[N_SETS], reg[N_OTHERS]
    n_sets, n_others = np.int64(0), np.int64(0)
    result = np.int64(1)  # open
    for at in range(begin, end):
        part = found[parts[at]]
        if part == _FALSE:
            result = np.int64(_FALSE)
            break
        if part > 0:
            if part != _TRUE:
                others[o + n_others] = part
                n_others += 1
            continue
        w = -1 - part
        # Copied from conjunction to conjunction, many parts would take quadratic time.
        if waiting[w, _N_SETS] + waiting[w, _N_OTHERS] > _FEW_PARTS:
            made = _built(nodes, arcs, table, reg, waiting, sets, others, part, scratch, whole)
            if made < 0:
                result = np.int64(-_LARGEST)
                break
            others[o + n_others] = made
            n_others += 1
            continue
        for k in range(waiting[w, _OTHER], waiting[w, _OTHER] + waiting[w, _N_OTHERS]):
            others[o + n_others] = others[k]
            n_others += 1
        for k in range(waiting[w, _SET], waiting[w, _SET] + waiting[w, _N_SETS]):
            feature, mask = sets[k, 0], sets[k, 1]
            place = place_of[feature] - 1
            if place < 0:
                place = n_sets
                n_sets += 1
                place_of[feature] = n_sets
                sets[s + place, 0] = feature
                sets[s + place, 1] = mask
            else:
                sets[s + place, 1] &= mask
            if sets[s + place, 1] == 0:
                result = np.int64(_FALSE)
        if result == _FALSE:
            break
    for k in range(n_sets):
        place_of[sets[s + k, 0]] = 0
    if result != 1:
        return result
    if n_others == 0 and n_sets == 1:
        return _set(waiting, sets, set_table, reg, sets[s, 0], sets[s, 1], whole)
    if n_sets == 0 or n_others + n_sets > _MOST_PARTS:
        if n_sets + n_others == 0:
            return np.int64(_TRUE)
        made = _joined(nodes, arcs, table, reg, sets, s, n_sets, _NONE, others, o, n_others, scratch, whole)
        return made if made >= 0 else np.int64(-_LARGEST)
    return _wait(waiting, reg, n_sets, n_others)


@part
def _without(
    nodes, arcs, table, waiting, sets, others, remainders, remainder_table, reg, part, feature, scratch, whole
):
    """Return what a waiting conjunction demands beside the cells of `feature`; -1 if that is refused."""
    w = -1 - part
    s, n_sets, o, n_others = waiting[w, _SET], waiting[w, _N_SETS], waiting[w, _OTHER], waiting[w, _N_OTHERS]
    if n_sets == 1:
        for k in range(n_others):
            scratch[k] = others[o + k]
        return others[o] if n_others == 1 else _gate(nodes, arcs, table, reg, _AND, scratch, n_others)
    tag = tag_of(mixed(mixed(np.uint64(11), w), feature))
    slot = tag & (remainder_table.shape[0] - 1)
    while remainder_table[slot]:
        if remainder_table[slot] >> 32 == tag:
            k = (remainder_table[slot] & 0xFFFFFFFF) - 1
            if remainders[k, 0] == w and remainders[k, 1] == feature:
                return remainders[k, 2]
        slot = (slot + 1) & (remainder_table.shape[0] - 1)
    made = _joined(nodes, arcs, table, reg, sets, s, n_sets, feature, others, o, n_others, scratch, whole)
    if made >= 0:
        k = reg[N_REMAINDERS]
        remainders[k, 0] = w
        remainders[k, 1] = feature
        remainders[k, 2] = made
        remainder_table[slot] = tag << 32 | (k + 1)
        reg[N_REMAINDERS] = k + 1
    return made


@part
def _kept(found, parts, begin, end, kept, seen_nodes, seen_waiting, stamp):
    """Write the nodes found for parts, once each and without false; return how many, or -1 if one is true."""
    n = np.int64(0)
    for at in range(begin, end):
        part = found[parts[at]]
        if part == _TRUE:
            return -1
        if part >= 0:
            is_new = part != _FALSE and seen_nodes[part] != stamp
            seen_nodes[part] = stamp
        else:
            is_new = seen_waiting[-1 - part] != stamp
            seen_waiting[-1 - part] = stamp
        if is_new:
            kept[n] = part
            n += 1
    return n


@part
def _decided(
    nodes,
    arcs,
    table,
    waiting,
    sets,
    others,
    set_table,
    remainders,
    remainder_table,
    reg,
    kept,
    n,
    feature,
    ends,
    scratch,
    whole,
):
    """Return the decision on a feature of which the n parts name different cells; -2**40 if it is refused."""
    n_true, union = 0, np.int64(0)
    for k in range(n):
        end = _without(
            nodes,
            arcs,
            table,
            waiting,
            sets,
            others,
            remainders,
            remainder_table,
            reg,
            kept[k],
            feature,
            scratch,
            whole,
        )
        if end < 0:
            return np.int64(-_LARGEST)
        ends[k] = end
        n_true += end == _TRUE
        union |= _mask_in(waiting, sets, -1 - kept[k], feature)
    if n_true == n:
        return _set(waiting, sets, set_table, reg, feature, union, whole)
    # Behind all that the ends needed: each of these may have used the same room.
    first = reg[N_ARCS]
    for k in range(n):
        arcs[first + k, 0] = _mask_in(waiting, sets, -1 - kept[k], feature)
        arcs[first + k, 1] = ends[k]
    made = _fork(nodes, arcs, table, reg, feature, n, whole)
    return made if made >= 0 else np.int64(-_LARGEST)


@part
def _disjoined(
    nodes,
    arcs,
    table,
    waiting,
    sets,
    others,
    set_table,
    remainders,
    remainder_table,
    reg,
    kept,
    n,
    ends,
    scratch,
    whole,
):
    """Return the disjunction of n different nodes, neither of them a constant; -2**40 if it is refused."""
    if n <= 1:
        return kept[0] if n else np.int64(_FALSE)
    all_wait = True
    for k in range(n):
        all_wait = all_wait and kept[k] < 0
    if all_wait:
        w = -1 - kept[0]
        for k in range(waiting[w, _SET], waiting[w, _SET] + waiting[w, _N_SETS]):
            feature = sets[k, 0]
            # Deterministic by its form, and compilers write decisions this way.
            if _are_disjoint(waiting, sets, kept, n, feature):
                return _decided(
                    nodes, arcs, table, waiting, sets, others, set_table, remainders, remainder_table, reg,
                    kept, n, feature, ends, scratch, whole,
                )  # fmt: skip
        is_union, union = True, np.int64(0)
        feature = sets[waiting[w, _SET], 0]
        for k in range(n):
            w = -1 - kept[k]
            is_union = is_union and waiting[w, _N_OTHERS] == 0 and waiting[w, _N_SETS] == 1
            is_union = is_union and sets[waiting[w, _SET], 0] == feature
            union |= sets[waiting[w, _SET], 1]
        if is_union:
            return _set(waiting, sets, set_table, reg, feature, union, whole)
    for k in range(n):
        made = _built(nodes, arcs, table, reg, waiting, sets, others, kept[k], scratch, whole)
        if made < 0:
            return np.int64(-_LARGEST)
        ends[k] = made
    return _gate(nodes, arcs, table, reg, _OR, ends, n)


@part
def _need(waiting, found, parts, begin, end):
    """Return how many nodes, at most, the gate of some parts can need."""
    n = np.int64(16)
    for at in range(begin, end):
        part = found[parts[at]]
        n += 4
        if part < 0:
            n += 2 * (waiting[-1 - part, _N_SETS] + waiting[-1 - part, _N_OTHERS])
    return n


@flat_kernel()
def build(
    kinds,
    offsets,
    parts,
    marks,
    literal_features,
    literal_masks,
    nodes,
    arcs,
    table,
    waiting,
    sets,
    others,
    set_table,
    remainders,
    remainder_table,
    found,
    seen_nodes,
    seen_waiting,
    kept,
    ends,
    scratch,
    place_of,
    whole,
    reg,
    last,
):
    """Build the marked nodes from reg[POSITION] up to `last`; call again after STORE_FULL, with more room.

    Room for the next node is reg[NEED] entries of each array, and 64 times as many arcs.
    """
    for node in range(reg[POSITION], last):
        reg[POSITION] = node
        if not marks[node]:
            continue
        begin, end = offsets[node], offsets[node + 1]
        if kinds[node] == LITERAL:
            if reg[N_WAITING] + 2 > waiting.shape[0] or 2 * reg[N_WAITING] + 4 > set_table.shape[0]:
                reg[NEED] = 16
                return STORE_FULL
            if reg[N_SETS] + 2 > sets.shape[0]:
                reg[NEED] = 16
                return STORE_FULL
            k = 2 * abs(parts[begin]) - 2 + (parts[begin] < 0)
            found[node] = _set(waiting, sets, set_table, reg, literal_features[k], literal_masks[k], whole)
            continue
        need = _need(waiting, found, parts, begin, end)
        if (
            reg[N_NODES] + need > nodes.shape[0]
            or 2 * (reg[N_NODES] + need) > table.shape[0]
            or reg[N_ARCS] + 64 * need > arcs.shape[0]
            or reg[N_WAITING] + need > waiting.shape[0]
            or 2 * (reg[N_WAITING] + need) > set_table.shape[0]
            or reg[N_SETS] + need > sets.shape[0]
            or reg[N_OTHERS] + need > others.shape[0]
            or reg[N_REMAINDERS] + need > remainders.shape[0]
            or 2 * (reg[N_REMAINDERS] + need) > remainder_table.shape[0]
        ):
            reg[NEED] = need
            return STORE_FULL
        if kinds[node] == CONJUNCTION:
            made = _conjoined(
                nodes, arcs, table, waiting, sets, others, set_table, reg, found, parts, begin, end, scratch,
                place_of, whole,
            )  # fmt: skip
        else:
            n = _kept(found, parts, begin, end, kept, seen_nodes, seen_waiting, node + 1)
            made = np.int64(_TRUE)
            if n >= 0:
                made = _disjoined(
                    nodes, arcs, table, waiting, sets, others, set_table, remainders, remainder_table, reg,
                    kept, n, ends, scratch, whole,
                )  # fmt: skip
        if made == -_LARGEST:
            return REFUSED
        found[node] = made
    reg[POSITION] = last
    if last == kinds.shape[0]:
        reg[ROOT] = _built(nodes, arcs, table, reg, waiting, sets, others, found[last - 1], scratch, whole)
        if reg[ROOT] < 0:
            return REFUSED
    return DONE


@flat_kernel()
def mark_reached(nodes, arcs, root, marks):
    """Mark the nodes of the circuit below the root."""
    marks[root] = 1
    for node in range(root, 1, -1):
        if marks[node]:
            first = nodes[node, _ARC]
            for k in range(first, first + nodes[node, _COUNT]):
                marks[arcs[k, 1]] = 1


@part
def _written_node(kinds, offsets, parts, table, used, kind, first, n):
    """Return the node whose n parts stand behind those in use, and stay if it is new; `used` counts nodes and parts."""
    h = mixed(np.uint64(kind), n)
    for k in range(first, first + n):
        h = mixed(h, parts[k])
    tag = tag_of(h)
    slot = tag & (table.shape[0] - 1)
    while table[slot]:
        if table[slot] >> 32 == tag:
            node = (table[slot] & 0xFFFFFFFF) - 1
            begin = offsets[node]
            same = kinds[node] == kind and offsets[node + 1] - begin == n
            k = 0
            while same and k < n:
                same = parts[begin + k] == parts[first + k]
                k += 1
            if same:
                return node
        slot = (slot + 1) & (table.shape[0] - 1)
    node = used[0]
    table[slot] = tag << 32 | (node + 1)
    kinds[node] = kind
    offsets[node + 1] = first + n
    used[0] = node + 1
    used[1] = first + n
    return node


@part
def _written_gate(kinds, offsets, parts, table, used, kind, first, n, seen, stamp):
    """Return the gate of the n parts behind those in use: each once, without what changes nothing."""
    # nodes 0 and 1 are true and false here, as nnf_nodes makes them
    neutral, absorbing = (0, 1) if kind == CONJUNCTION else (1, 0)
    kept = np.int64(0)
    for k in range(n):
        part = parts[first + k]
        if part == absorbing:
            return np.int64(absorbing)
        if part != neutral and seen[part] != stamp:
            seen[part] = stamp
            parts[first + kept] = part
            kept += 1
    if kept <= 1:
        return parts[first] if kept else np.int64(neutral)
    return _written_node(kinds, offsets, parts, table, used, kind, first, kept)


@part
def _written_literal(kinds, offsets, parts, table, used, literal):
    parts[used[1]] = literal
    return _written_node(kinds, offsets, parts, table, used, LITERAL, used[1], _ONE)


@flat_kernel()
def write_nodes(
    node_kinds,
    features,
    node_offsets,
    children,
    arc_cells,
    first_bit,
    is_binary,
    kinds,
    offsets,
    parts,
    table,
    found,
    seen,
    used,
):
    """Make the negation normal form of a circuit over features of at most two cells; `found` gets each node's.

    The variable of feature i is ``first_bit[i] + 1``; bit c of ``arc_cells[k]`` says that arc k takes cell c. There
    must be room. Nodes are made in the order in which nnf_nodes makes them.
    """
    for node in range(node_kinds.shape[0]):
        begin, end = node_offsets[node], node_offsets[node + 1]
        kind = node_kinds[node]
        if kind < DECISION:
            found[node] = 1 - np.int64(kind)
            continue
        if kind != DECISION:
            first = used[1]
            for k in range(begin, end):
                parts[first + k - begin] = found[children[k]]
            gate = CONJUNCTION if kind == AND else DISJUNCTION
            found[node] = _written_gate(
                kinds, offsets, parts, table, used, gate, first, end - begin, seen, 4 * node + 1
            )
            continue
        positive, negative = np.int64(0), np.int64(0)
        i = features[node]
        is_bit = first_bit[i + 1] > first_bit[i]
        # The binary code needs no literal to say that all cells will do.
        if is_bit and begin < end and not (is_binary and arc_cells[begin] == 3):
            positive = _written_literal(kinds, offsets, parts, table, used, first_bit[i] + 1)
            negative = _written_literal(kinds, offsets, parts, table, used, -first_bit[i] - 1)
        ways = np.int64(0)
        first_way, second_way = np.int64(1), np.int64(1)
        for k in range(begin, end):
            below = found[children[k]]
            cells = arc_cells[k]
            way = below
            if is_bit and cells != 3:
                first = used[1]
                parts[first] = positive if cells == 2 else negative
                parts[first + 1] = below
                way = _written_gate(
                    kinds, offsets, parts, table, used, CONJUNCTION, first, np.int64(2), seen, 4 * node + 2 + ways
                )
            if ways == 0:
                first_way = way
            else:
                second_way = way
            ways += 1
        first = used[1]
        parts[first] = first_way
        parts[first + 1] = second_way
        found[node] = _written_gate(kinds, offsets, parts, table, used, DISJUNCTION, first, ways, seen, 4 * node + 4)


@part
def _write_number(text, at, number):
    """Write an integer and return where it ends."""
    value = number
    if value < 0:
        text[at] = 45
        at += 1
        value = -value
    n, rest = 1, value // 10
    while rest:
        n += 1
        rest //= 10
    for k in range(at + n - 1, at - 1, -1):
        text[k] = 48 + value % 10
        value //= 10
    return at + n


@flat_kernel()
def format_c2d(kinds, offsets, parts, choices, text):
    """Write the lines of nodes in c2d's dialect and return how many bytes they are; there must be room."""
    at = 0
    for node in range(kinds.shape[0]):
        begin, end = offsets[node], offsets[node + 1]
        if kinds[node] == LITERAL:
            text[at], text[at + 1] = 76, 32
            at = _write_number(text, at + 2, parts[begin])
        else:
            text[at], text[at + 1] = (65 if kinds[node] == CONJUNCTION else 79), 32
            at += 2
            if kinds[node] == DISJUNCTION:
                at = _write_number(text, at, choices[node])
                text[at] = 32
                at += 1
            at = _write_number(text, at, end - begin)
            for k in range(begin, end):
                text[at] = 32
                at = _write_number(text, at + 1, parts[k])
        text[at] = 10
        at += 1
    return at
