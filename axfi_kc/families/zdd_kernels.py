"""Operations on zero-suppressed decision diagrams, compiled by numba on first use and cached on disk.

A diagram is rows of (level, low, high, least, most): `low` holds the sets without the level's element,
`high` the others with that element taken out, and all have between `least` and `most` elements. Row 0 is
the family without a set, row 1 that of the empty set. All state is in arrays, the stack of the recursion
too, so an operation of any depth can be left and continued. The machine is one loop because its operations
call each other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STACK_FULL, STORE_FULL

__all__ = [
    "AT_MOST",
    "DEPTH",
    "HITTING",
    "MINIMAL",
    "NON_SUPERSETS",
    "N_KNOWN",
    "N_ROWS",
    "REGISTERS",
    "UNION",
    "VALUE",
    "copy_rows",
    "make_row",
    "reached",
    "rehash",
    "remember",
    "run",
]

UNION, NON_SUPERSETS, MINIMAL, HITTING, AT_MOST = 1, 2, 3, 4, 5

# registers besides NODES and LIMIT
DEPTH, N_ROWS, VALUE, N_KNOWN = 2, 3, 4, 5
REGISTERS = 6


@njit(cache=True, nogil=True)
def _slot(a, b, c, size):
    """Mix three numbers into a slot of a table whose size is a power of two."""
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15)
    h ^= np.uint64(b) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= np.uint64(c) * np.uint64(0x165667B19E3779F9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return np.int64(h & np.uint64(size - 1))


@njit(cache=True, nogil=True)
def make_row(rows, table, reg, level, low, high):
    """Return the row (level, low, high), made if there is none; there must be room for one more."""
    if high == 0:
        return low
    slot = _slot(level, low, high, len(table))
    while table[slot]:
        k = table[slot]
        if rows[k, 0] == level and rows[k, 1] == low and rows[k, 2] == high:
            return k
        slot = (slot + 1) & (len(table) - 1)
    k = reg[N_ROWS]
    rows[k, 0] = level
    rows[k, 1] = low
    rows[k, 2] = high
    rows[k, 3] = rows[high, 3] + 1 if low == 0 else min(rows[low, 3], rows[high, 3] + 1)
    rows[k, 4] = rows[high, 4] + 1 if low == 0 else max(rows[low, 4], rows[high, 4] + 1)
    table[slot] = k
    reg[N_ROWS] = k + 1
    return k


@njit(cache=True, nogil=True)
def rehash(rows, table, first, end):
    """Fill a table after growth with the rows from `first` to `end`."""
    for k in range(first, end):
        slot = _slot(rows[k, 0], rows[k, 1], rows[k, 2], len(table))
        while table[slot]:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = k


@njit(cache=True, nogil=True)
def _place(known, op, f, g):
    """Return where the result of an operation is, or would be: nothing known is ever forgotten."""
    slot = _slot(op, f, g, len(known))
    while known[slot, 0] and not (known[slot, 0] == op and known[slot, 1] == f and known[slot, 2] == g):
        slot = (slot + 1) & (len(known) - 1)
    return slot


@njit(cache=True, nogil=True)
def remember(known, old):
    """Fill an empty table of results after growth."""
    for k in range(len(old)):
        if old[k, 0]:
            known[_place(known, old[k, 0], old[k, 1], old[k, 2])] = old[k]


@njit(cache=True, nogil=True)
def copy_rows(rows, table, reg, source, number):
    """Make the rows of another diagram, children first, from row 2 on; `number` receives their places."""
    for k in range(2, len(source)):
        number[k] = make_row(rows, table, reg, source[k, 0], number[source[k, 1]], number[source[k, 2]])


@njit(cache=True, nogil=True)
def reached(rows, f):
    """Tell for each row up to f whether f needs it; the two constants are always kept."""
    kept = np.zeros(f + 1, np.bool_)
    kept[:2] = True
    kept[f] = True
    for k in range(f, 1, -1):
        if kept[k]:
            kept[rows[k, 1]] = True
            kept[rows[k, 2]] = True
    return kept


@njit(cache=True, nogil=True)
def _at_once(op, f, g, rows):
    """Return the result where there is nothing to do, else -1."""
    if op == UNION:
        if f == g or g == 0:
            return f
        if f == 0:
            return g
    elif op == NON_SUPERSETS:
        if g == 0 or f == 0 or rows[f, 4] < rows[g, 3]:
            return f
        if g == 1 or f == g:
            return 0
    elif op == HITTING:
        if f < 2:
            return 1 - f
    elif op == AT_MOST:
        if f == 0 or rows[f, 3] > g:
            return 0
        if rows[f, 4] <= g:
            return f
    elif f < 2 or rows[f, 3] == rows[f, 4]:
        return f
    return -1


@njit(cache=True, nogil=True)
def run(rows, table, known, stack, reg, begin, first, second):
    """Do the operation `begin`, or if that is 0 continue the one on `stack`; the result is ``reg[VALUE]``.

    A frame is (operation, f, g, step, kept). Each step asks for one smaller operation, whose
    result the next step finds in ``reg[VALUE]``.
    """
    if begin:
        stack[0, 0] = begin
        stack[0, 1] = first
        stack[0, 2] = second
        stack[0, 3] = 0
        reg[DEPTH] = 1
    while reg[DEPTH] > 0:
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        if reg[N_ROWS] + 1 >= len(rows) or 2 * reg[N_KNOWN] >= len(known):
            return STORE_FULL
        d = reg[DEPTH] - 1
        if d + 1 >= len(stack):
            return STACK_FULL
        op = stack[d, 0]
        f = stack[d, 1]
        g = stack[d, 2]
        step = stack[d, 3]
        if step == 0:
            if op == UNION and f > g:
                f, g = g, f
                stack[d, 1] = f
                stack[d, 2] = g
            found = _at_once(op, f, g, rows)
            if found < 0:
                slot = _place(known, op, f, g)
                if known[slot, 0]:
                    found = known[slot, 3]
            if found >= 0:
                reg[VALUE] = found
                reg[DEPTH] = d
                continue
            reg[NODES] += 1
        value = reg[VALUE]
        level, low, high = rows[f, 0], rows[f, 1], rows[f, 2]
        ask, left, right, done = 0, 0, 0, -1
        if op == UNION:
            other = rows[g, 0]
            if level == other:
                if step == 0:
                    ask, left, right = UNION, low, rows[g, 1]
                elif step == 1:
                    stack[d, 4] = value
                    ask, left, right = UNION, high, rows[g, 2]
                else:
                    done = make_row(rows, table, reg, level, stack[d, 4], value)
            elif step == 0:
                ask = UNION
                left, right = (low, g) if level < other else (f, rows[g, 1])
            elif level < other:
                done = make_row(rows, table, reg, level, value, high)
            else:
                done = make_row(rows, table, reg, other, value, rows[g, 2])
        elif op == NON_SUPERSETS:
            other = rows[g, 0]
            if level > other:
                if step == 0:
                    ask, left, right = NON_SUPERSETS, f, rows[g, 1]
                else:
                    done = value
            elif step == 0:
                ask, left, right = NON_SUPERSETS, low, rows[g, 1] if level == other else g
            elif step == 1:
                stack[d, 4] = value
                ask, left, right = NON_SUPERSETS, high, rows[g, 1] if level == other else g
            elif step == 2 and level == other:
                ask, left, right = NON_SUPERSETS, value, rows[g, 2]
            else:
                done = make_row(rows, table, reg, level, stack[d, 4], value)
        elif op == MINIMAL:
            if step == 0:
                ask, left = MINIMAL, low
            elif step == 1:
                stack[d, 4] = value
                ask, left = MINIMAL, high
            elif step == 2:
                ask, left, right = NON_SUPERSETS, value, stack[d, 4]
            else:
                done = make_row(rows, table, reg, level, stack[d, 4], value)
        elif op == HITTING:
            if step == 0:
                ask, left, right = UNION, low, high
            elif step == 1:
                ask, left = MINIMAL, value
            elif step == 2:
                ask, left = HITTING, value
            elif step == 3:
                stack[d, 4] = value
                ask, left = HITTING, low
            elif step == 4:
                ask, left, right = NON_SUPERSETS, value, stack[d, 4]
            else:
                done = make_row(rows, table, reg, level, stack[d, 4], value)
        elif step == 0:
            ask, left, right = AT_MOST, low, g
        elif step == 1:
            stack[d, 4] = value
            ask, left, right = AT_MOST, high, g - 1
        else:
            done = make_row(rows, table, reg, level, stack[d, 4], value)
        if ask:
            stack[d, 3] = step + 1
            stack[d + 1, 0] = ask
            stack[d + 1, 1] = left
            stack[d + 1, 2] = right
            stack[d + 1, 3] = 0
            reg[DEPTH] = d + 2
        else:
            slot = _place(known, op, f, g)
            known[slot, 0] = op
            known[slot, 1] = f
            known[slot, 2] = g
            known[slot, 3] = done
            reg[N_KNOWN] += 1
            reg[VALUE] = done
            reg[DEPTH] = d
    return DONE
