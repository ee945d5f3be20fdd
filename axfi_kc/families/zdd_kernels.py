"""Operations on zero-suppressed decision diagrams, compiled by numba on first use and cached on disk.

A diagram is rows of (level, low, high, least, most): `low` holds the sets without the level's element,
`high` the others with that element taken out, and all have between `least` and `most` elements. Row 0 is
the family without a set, row 1 that of the empty set. All state is in arrays, the stack of the recursion
too, so an operation of any depth can be left and continued. The machine is one loop because its operations
call each other.
"""

from __future__ import annotations

import numpy as np

from axfi_kc.budget import ALLOWANCE, DONE, LIMIT, NODES, STACK_FULL, STORE_FULL
from axfi_kc.compiled import kernel, part

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


@part
def _slot(a, b, c, size):
    """Mix three numbers into a slot of a table whose size is a power of two."""
    # Products wrap modulo 2**64, as they should: odd factors lose no bit of a, b or c. The two shifts bring
    # the high bits, which depend on all of the input, down to those that the mask keeps.
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15)
    h ^= np.uint64(b) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= np.uint64(c) * np.uint64(0x165667B19E3779F9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return np.int64(h & np.uint64(size - 1))


@kernel
def make_row(rows, table, reg, level, low, high):
    """Return the row (level, low, high), made if there is none; there must be room for one more."""
    # Zero suppression: an element that no set contains gets no row. With the table below this makes rows
    # canonical, so families are equal exactly when their numbers are.
    if high == 0:
        return low
    slot = _slot(level, low, high, len(table))
    # Row 0 is never in the table, so 0 marks a free slot. The table has twice as many slots as there can be
    # rows, so there always is one and the probing ends.
    while table[slot]:
        k = table[slot]
        if rows[k, 0] == level and rows[k, 1] == low and rows[k, 2] == high:
            return k
        slot = (slot + 1) & (len(table) - 1)
    k = reg[N_ROWS]
    rows[k, 0] = level
    rows[k, 1] = low
    rows[k, 2] = high
    # The family without a set has sizes 0..0 in its row for want of better ones; they must not count.
    rows[k, 3] = rows[high, 3] + 1 if low == 0 else min(rows[low, 3], rows[high, 3] + 1)
    rows[k, 4] = rows[high, 4] + 1 if low == 0 else max(rows[low, 4], rows[high, 4] + 1)
    table[slot] = k
    reg[N_ROWS] = k + 1
    return k


@kernel
def rehash(rows, table, first, end):
    """Fill a table after growth with the rows from `first` to `end`."""
    for k in range(first, end):
        slot = _slot(rows[k, 0], rows[k, 1], rows[k, 2], len(table))
        while table[slot]:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = k


@part
def _place(known, op, f, g):
    """Return where the result of an operation is, or would be: nothing known is ever forgotten."""
    slot = _slot(op, f, g, len(known))
    # Operations are numbered from 1, so 0 marks a free entry; `run` keeps the table at most half full.
    while known[slot, 0] and not (known[slot, 0] == op and known[slot, 1] == f and known[slot, 2] == g):
        slot = (slot + 1) & (len(known) - 1)
    return slot


@kernel
def remember(known, old):
    """Fill an empty table of results after growth."""
    for k in range(len(old)):
        if old[k, 0]:
            at = _place(known, old[k, 0], old[k, 1], old[k, 2])
            for c in range(old.shape[1]):
                known[at, c] = old[k, c]


@kernel
def copy_rows(rows, table, reg, source, number):
    """Make the rows of another diagram, children first, from row 2 on; `number` receives their places."""
    # Children come first in `source`, and the caller has put 0 and 1, the constants, into `number`.
    for k in range(2, len(source)):
        number[k] = make_row(rows, table, reg, source[k, 0], number[source[k, 1]], number[source[k, 2]])


@kernel
def reached(rows, f):
    """Tell for each row up to f whether f needs it; the two constants are always kept."""
    kept = np.zeros(f + 1, np.bool_)
    kept[0] = kept[1] = kept[f] = True
    # A row is made after its children, so one pass downwards meets every parent before its children.
    for k in range(f, 1, -1):
        if kept[k]:
            kept[rows[k, 1]] = True
            kept[rows[k, 2]] = True
    return kept


@part
def _at_once(op, f, g, rows):
    """Return the result where there is nothing to do, else -1."""
    if op == UNION:
        if f == g or g == 0:
            return f
        if f == 0:
            return g
    elif op == NON_SUPERSETS:
        # The sizes kept in the rows tell at once that no set of f is large enough to contain one of g.
        if g == 0 or f == 0 or rows[f, 4] < rows[g, 3]:
            return f
        # The empty set lies in every set, and each set of f lies in itself.
        if g == 1 or f == g:
            return 0
    elif op == HITTING:
        # The empty set meets every member of a family without any; nothing meets the empty set.
        if f < 2:
            return 1 - f
    elif op == AT_MOST:
        if f == 0 or rows[f, 3] > g:
            return 0
        if rows[f, 4] <= g:
            return f
    elif f < 2 or rows[f, 3] == rows[f, 4]:
        # Sets of one size contain each other only if they are equal.
        return f
    return -1


@kernel
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
        # All three tests come before anything is changed, so whoever continues repeats this step unharmed.
        if reg[NODES] >= reg[LIMIT]:
            return ALLOWANCE
        # One step makes at most one row and one result, so room for one of each is enough until the next.
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
            # Union commutes: with the smaller number first both orders of the arguments share one result.
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
            # Only operations that were neither trivial nor known are charged.
            reg[NODES] += 1
        # At step 0 this is a leftover that no branch reads.
        value = reg[VALUE]
        # The constants have a level below all others, so that f or g may be one of them from here on.
        level, low, high = rows[f, 0], rows[f, 1], rows[f, 2]
        ask, left, right, done = 0, 0, 0, -1
        if op == UNION:
            other = rows[g, 0]
            # Both families begin with the same element: unite the sets without it, then those with it.
            if level == other:
                if step == 0:
                    ask, left, right = UNION, low, rows[g, 1]
                elif step == 1:
                    stack[d, 4] = value
                    ask, left, right = UNION, high, rows[g, 2]
                else:
                    done = make_row(rows, table, reg, level, stack[d, 4], value)
            elif step == 0:
                # The one that begins earlier is split. The other has no set with that element, so the high
                # part stays as it is and need not be walked.
                ask = UNION
                left, right = (low, g) if level < other else (f, rows[g, 1])
            elif level < other:
                done = make_row(rows, table, reg, level, value, high)
            else:
                done = make_row(rows, table, reg, other, value, rows[g, 2])
        elif op == NON_SUPERSETS:
            other = rows[g, 0]
            # No set of f has g's first element, so sets of g with it lie in none of them.
            if level > other:
                if step == 0:
                    ask, left, right = NON_SUPERSETS, f, rows[g, 1]
                else:
                    done = value
            elif step == 0:
                # A set of f without the element can contain only sets of g without it.
                ask, left, right = NON_SUPERSETS, low, rows[g, 1] if level == other else g
            elif step == 1:
                # A set of f with the element contains one of g without it or, once the element is taken out, one of
                # those with it: two removals, one after the other. If g begins later, the first says it all.
                stack[d, 4] = value
                ask, left, right = NON_SUPERSETS, high, rows[g, 1] if level == other else g
            elif step == 2 and level == other:
                ask, left, right = NON_SUPERSETS, value, rows[g, 2]
            else:
                done = make_row(rows, table, reg, level, stack[d, 4], value)
        elif op == MINIMAL:
            # A set without the element never contains one with it, so only the high part has to be freed of
            # supersets; freeing it of those of the minimal low sets is the same and cheaper than of all.
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
            # A hitting set without the element must meet the low sets, and the high ones by what is left of
            # them. One with it must meet the low sets only, and is minimal iff it contains none of the
            # former. Minimising in between changes no hitting set and keeps what is dualised small.
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
            # Here g is a number of elements, not a row. It may reach -1, and then no set is small enough.
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
            # Not the slot of step 0: the smaller operations have filled slots since, or the table has grown.
            slot = _place(known, op, f, g)
            known[slot, 0] = op
            known[slot, 1] = f
            known[slot, 2] = g
            known[slot, 3] = done
            reg[N_KNOWN] += 1
            reg[VALUE] = done
            reg[DEPTH] = d
    return DONE
