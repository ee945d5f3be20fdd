"""Decision diagrams in texts, and as negation normal forms, in flat arrays; compiled by numba.

Scanners take what the libraries themselves write, with single spaces. Whatever else is in a text is refused, and the
slow way says what is wrong with it, or reads it.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.circuits.files.nnf_kernels import CONJUNCTION, DISJUNCTION, LITERAL, scanned_number
from axfi_kc.circuits.files.sdd_primes import FALSE, TRUE
from axfi_kc.circuits.targets.mdd_kernels import mixed, tag_of
from axfi_kc.compiled import flat_kernel, part

__all__ = ["bdd_nnf", "enter_names", "scan_dd_json", "scan_dddmp", "scan_sdd", "sdd_nnf"]


_REFUSED = np.int64(-1)


@part
def _is_same_text(text, at, names, first, n):
    for k in range(n):  # noqa: SIM110  # numba compiles loops
        if text[at + k] != names[first + k]:
            return False
    return True


@part
def _name_slot(text, at, end, names, starts, table):
    """Return the slot of a name in a table of names, or the free one where it would be."""
    h = np.uint64(end - at)
    for k in range(at, end):
        h = mixed(h, text[k])
    slot = tag_of(h) & (table.shape[0] - 1)
    while table[slot]:
        k = table[slot] - 1
        if starts[k + 1] - starts[k] == end - at and _is_same_text(text, at, names, starts[k], end - at):
            break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@flat_kernel()
def enter_names(names, starts, table):
    """Enter names, which lie one after the other, into a table with more slots; each as its number plus 1."""
    for k in range(starts.shape[0] - 1):
        table[_name_slot(names, starts[k], starts[k + 1], names, starts, table)] = k + 1


@flat_kernel()
def scan_dddmp(text, at, names, starts, table, positions, rows, place):
    """Read lines 'number name position then else' up to '.end'; return how many, and where that line begins.

    A row is number, level, else, then; the level of the terminal node is -1, and there is one at most. `positions` has
    the position of each level, where it is known. `place` gets the row of each number, plus 1. -1 instead of how many:
    some line is odd.
    """
    end = text.shape[0]
    n = np.int64(0)
    has_terminal = False
    while at < end and text[at] != 46:
        number, k = scanned_number(text, at, end)
        if k == at or k >= end or text[k] != 32 or n >= rows.shape[0]:
            return _REFUSED, at
        if not 0 < number < place.shape[0] or place[number]:
            return _REFUSED, at
        first = k + 1
        k = first
        while k < end and text[k] > 32:
            k += 1
        last = k
        position = np.int64(0)
        for column in range(3):
            if k >= end or text[k] != 32:
                return _REFUSED, at
            value, after = scanned_number(text, k + 1, end)
            if after == k + 1:
                return _REFUSED, at
            k = after
            if column == 0:
                position = value
            elif column == 1:
                rows[n, 3] = value
            elif column == 2:
                rows[n, 2] = value
        if k >= end or text[k] != 10:
            return _REFUSED, at
        is_constant = last == first + 1 and (text[first] == 84 or text[first] == 49)
        if is_constant and rows[n, 2] == 0 and rows[n, 3] == 0:
            if has_terminal:
                return _REFUSED, at
            has_terminal = True
            rows[n, 1] = -1
        else:
            slot = _name_slot(text, first, last, names, starts, table)
            if not table[slot]:
                return _REFUSED, at
            rows[n, 1] = table[slot] - 1
            if positions.shape[0] and positions[rows[n, 1]] != position:
                return _REFUSED, at
        rows[n, 0] = number
        n += 1
        place[number] = n
        at = k + 1
    return n, at


@part
def _json_end(text, at, end):
    """Return the end of an arc that begins at a place of a text, 1 and -1 for T and F, and where it ends."""
    if at + 3 <= end and text[at] == 34 and text[at + 2] == 34 and (text[at + 1] == 84 or text[at + 1] == 70):
        return (np.int64(1) if text[at + 1] == 84 else np.int64(-1)), at + 3
    value, k = scanned_number(text, at, end)
    first = at + 1 if text[at] == 45 else at
    if k > first + 1 and text[first] == 48:  # which JSON does not know
        return value, at
    return value, k


@flat_kernel()
def scan_dd_json(text, at, n_levels, rows, place):
    """Read lines '"number": [level, low, high],' up to the last, which has no comma; return as :func:`scan_dddmp`."""
    end = text.shape[0]
    n = np.int64(0)
    while True:
        if at >= end or text[at] != 34 or n >= rows.shape[0]:
            return _REFUSED, at
        number, k = scanned_number(text, at + 1, end)
        if not 1 < number < place.shape[0] or place[number] or k + 4 >= end:
            return _REFUSED, at
        if text[k] != 34 or text[k + 1] != 58 or text[k + 2] != 32 or text[k + 3] != 91:
            return _REFUSED, at
        k += 4
        for column in range(1, 4):
            value, after = _json_end(text, k, end)
            is_level = column > 1 or (text[k] != 34 and 0 <= value < n_levels)
            if after == k or after + 2 >= end or not is_level:
                return _REFUSED, at
            rows[n, column] = value
            k = after
            if column < 3:
                if text[k] != 44 or text[k + 1] != 32:
                    return _REFUSED, at
                k += 2
        if text[k] != 93:
            return _REFUSED, at
        rows[n, 0] = number
        n += 1
        place[number] = n
        at = k + 1
        if text[at] != 44:
            return n, at
        if text[at + 1] != 10:
            return _REFUSED, at
        at += 2


@flat_kernel()
def bdd_nnf(levels, lows, highs, root, variables, marks, made, literals, kinds, offsets, parts):
    """Write a diagram with complements as a negation normal form; return the numbers of nodes and of parts.

    Node k is there as itself and as its complement, ``2 * k`` and ``2 * k + 1`` of `marks` and `made`, where they are
    met; nodes 0 and 1 are none and true, and children come first. The order of nodes is that of bdd.nnf_of_bdd.
    """
    n = np.int64(2)
    at = np.int64(0)
    kinds[0] = CONJUNCTION
    kinds[1] = DISJUNCTION
    made[2] = 0
    made[3] = 1
    marks[2 * abs(root) + (root < 0)] = 1
    for node in range(levels.shape[0] - 1, 1, -1):
        for sign in range(2):
            if marks[2 * node + sign]:
                marks[2 * abs(lows[node]) + ((lows[node] < 0) ^ sign)] = 1
                marks[2 * abs(highs[node]) + ((highs[node] < 0) ^ sign)] = 1
    for node in range(2, levels.shape[0]):
        for sign in range(2):
            if not marks[2 * node + sign]:
                continue
            for is_low in range(2):
                end = lows[node] if is_low else highs[node]
                literal = 2 * levels[node] + is_low
                if literals[literal] < 0:
                    literals[literal] = n
                    kinds[n] = LITERAL
                    parts[at] = -variables[levels[node]] if is_low else variables[levels[node]]
                    at += 1
                    n += 1
                    offsets[n] = at
                kinds[n] = CONJUNCTION
                parts[at] = literals[literal]
                parts[at + 1] = made[2 * abs(end) + ((end < 0) ^ sign)]
                at += 2
                if is_low:
                    second = n
                else:
                    first = n
                n += 1
                offsets[n] = at
            kinds[n] = DISJUNCTION
            parts[at] = first
            parts[at + 1] = second
            at += 2
            made[2 * node + sign] = n
            n += 1
            offsets[n] = at
    # The last node is the root, but a constant root was made first.
    kinds[n] = CONJUNCTION
    parts[at] = made[2 * abs(root) + (root < 0)]
    at += 1
    n += 1
    offsets[n] = at
    return n, at


@flat_kernel()
def scan_sdd(text, at, n_variables, line_of, places, literals, offsets, ends):
    """Read lines of an SDD to the end; return how many, -1 if some line is odd.

    Of line k: its vtree node, or a constant's place; its literal, 0 for others; and the lines of its primes and subs,
    in turn, ``ends[offsets[k]:offsets[k + 1]]``. `line_of` gets the line of each id, plus 1.
    """
    end = text.shape[0]
    line = np.int64(0)
    n = np.int64(0)
    while at < end:
        if line >= places.shape[0] or at + 3 > end or text[at + 1] != 32:
            return _REFUSED
        letter = text[at]
        number, k = scanned_number(text, at + 2, end)
        if k == at + 2 or not 0 <= number < line_of.shape[0] or line_of[number]:
            return _REFUSED
        literals[line] = 0
        if letter == 70 or letter == 84:
            places[line] = TRUE if letter == 84 else FALSE
        elif letter == 76 or letter == 68:
            for column in range(2):
                if k >= end or text[k] != 32:
                    return _REFUSED
                value, after = scanned_number(text, k + 1, end)
                if after == k + 1 or (column == 0 and value < 0):
                    return _REFUSED
                k = after
                if column == 0:
                    places[line] = value
            if letter == 76:
                if value == 0 or abs(value) > n_variables:
                    return _REFUSED
                literals[line] = value
            elif value < 1 or n + 2 * value > ends.shape[0]:
                return _REFUSED
            else:
                for _ in range(2 * value):
                    if k >= end or text[k] != 32:
                        return _REFUSED
                    child, after = scanned_number(text, k + 1, end)
                    if after == k + 1 or not 0 <= child < line_of.shape[0] or not line_of[child]:
                        return _REFUSED
                    k = after
                    ends[n] = line_of[child] - 1
                    n += 1
        else:
            return _REFUSED
        if k < end and text[k] != 10:
            return _REFUSED
        line += 1
        line_of[number] = line
        offsets[line] = n
        at = k + 1
    return line


@flat_kernel()
def sdd_nnf(places, literals, offsets, ends, made, kinds, nnf_offsets, parts):
    """Write the lines of an SDD as a negation normal form; return the numbers of nodes and of parts."""
    n = np.int64(0)
    at = np.int64(0)
    for line in range(places.shape[0]):
        begin, end = offsets[line], offsets[line + 1]
        if literals[line] != 0:
            kinds[n] = LITERAL
            parts[at] = literals[line]
            at += 1
        elif places[line] < 0:
            kinds[n] = CONJUNCTION if places[line] == TRUE else DISJUNCTION
        else:
            first = n
            for k in range(begin, end, 2):
                kinds[n] = CONJUNCTION
                parts[at] = made[ends[k]]
                parts[at + 1] = made[ends[k + 1]]
                at += 2
                n += 1
                nnf_offsets[n] = at
            kinds[n] = DISJUNCTION
            for k in range(first, n):
                parts[at] = k
                at += 1
        made[line] = n
        n += 1
        nnf_offsets[n] = at
    return n, at
