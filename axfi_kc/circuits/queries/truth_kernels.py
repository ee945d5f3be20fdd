"""The truth of circuits, compiled by numba: passes over flat arrays, children first.

`flat` is a :class:`~axfi_kc.circuits.circuit.FlatCircuit` everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE
from axfi_kc.compiled import kernel, part

__all__ = ["changes", "has_cell", "truths", "truths_at"]


_NEVER = np.int64(1) << np.int64(40)  # more changes than there are features


@part
def has_cell(flat, label, cell):
    """Tell whether `label` stands for a set of cells that holds `cell`."""
    low, high = flat.set_starts[label], flat.set_starts[label + 1] - 1
    if low > high or cell < flat.set_cells[low] or cell > flat.set_cells[high]:
        return False
    # Sets are sorted and without repetition, so one that is as long as its span has no gaps.
    if flat.set_cells[high] - flat.set_cells[low] == high - low:
        return True  # neighbouring cells, as most sets are: nothing to search
    while low < high:
        middle = (low + high) // 2
        if flat.set_cells[middle] < cell:
            low = middle + 1
        else:
            high = middle
    return flat.set_cells[low] == cell


@part
def _enter(rows_in, cell_starts, cells, first, last, present):
    """Note in which cell of each feature the rows from `first` to `last` lie; with `present` 0, take the notes back."""
    for row in range(first, last):
        bit = np.uint64(1) << np.uint64(row - first)
        for i in range(cells.shape[1]):
            at = cell_starts[i] + cells[row, i]
            # Taking back clears only what was entered: a batch costs its rows, not all cells of the grid.
            rows_in[at] = (rows_in[at] | bit) * present


@part
def _followers(flat, rows_in, cells, begin, end, feature, label):
    """Return the rows whose cell of `feature` is one of `label`: over the cells if they are few, else over the rows."""
    word = np.uint64(0)
    first, last = flat.set_starts[label], flat.set_starts[label + 1]
    if last - first <= end - begin:
        start = flat.cell_starts[feature]
        for k in range(first, last):
            word |= rows_in[start + flat.set_cells[k]]
    else:
        for row in range(begin, end):
            if has_cell(flat, label, cells[row, feature]):
                word |= np.uint64(1) << np.uint64(row - begin)
    return word


@kernel
def _find_truths(flat, cells, found, rows_in, out):
    """Fill `out`; see :func:`truths_at`. `rows_in` notes which of 64 rows lie in each cell of each feature."""
    n_rows, n_nodes = cells.shape[0], flat.kinds.shape[0]
    for first in range(0, n_rows, 64):
        last = min(first + 64, n_rows)
        _enter(rows_in, flat.cell_starts, cells, first, last, np.uint64(1))
        for node in range(n_nodes):
            kind = flat.kinds[node]
            word = np.uint64(0)
            # All 64 bits, also those of rows that a short last batch lacks: bits never mix, and these are not read.
            if kind in (TRUE, AND):
                word = ~word
            for arc in range(flat.offsets[node], flat.offsets[node + 1]):
                below = found[flat.children[arc]]
                if kind == AND:
                    word &= below
                elif kind == OR:
                    word |= below
                elif kind == DECISION and below:  # where no row is true below, no cell matters
                    feature, label = flat.features[node], flat.labels[arc]
                    word |= below & _followers(flat, rows_in, cells, first, last, feature, label)
            found[node] = word
        _enter(rows_in, flat.cell_starts, cells, first, last, np.uint64(0))
        for row in range(first, last):
            out[row] = np.uint8(found[n_nodes - 1] >> np.uint64(row - first) & np.uint64(1))


def truths_at(flat: Any, cells: Any) -> Any:
    """Tell for each row of `cells`, one per feature, whether the circuit holds there; 64 rows are one word."""
    out = np.zeros(cells.shape[0], np.uint8)
    scratch = (np.empty(flat.kinds.shape[0], np.uint64), np.zeros(flat.cell_starts[-1], np.uint64))
    _find_truths(flat, cells, *scratch, out)
    return out


@kernel
def truths(flat, allowed):
    """Return which nodes hold somewhere in the box of allowed cells (1 per allowed cell of a feature)."""
    found = np.zeros(len(flat.kinds), np.uint8)
    for node in range(len(flat.kinds)):
        first, last = flat.offsets[node], flat.offsets[node + 1]
        if flat.kinds[node] == DECISION:
            # Cells of all features lie in one array, one feature after the other.
            start = flat.cell_starts[flat.features[node]]
            truth = False
            for arc in range(first, last):
                # The flag of the child is cheaper than its set of cells, and often decides.
                if found[flat.children[arc]]:
                    for k in range(flat.set_starts[flat.labels[arc]], flat.set_starts[flat.labels[arc] + 1]):
                        if allowed[start + flat.set_cells[k]]:
                            truth = True
                            break
                    if truth:
                        break
        elif flat.kinds[node] == AND:
            # Independent because decomposable: parts without a common feature never spoil each other's choice.
            truth = True
            for arc in range(first, last):
                if not found[flat.children[arc]]:
                    truth = False
                    break
        elif flat.kinds[node] == OR:
            truth = False
            for arc in range(first, last):
                if found[flat.children[arc]]:
                    truth = True
                    break
        else:
            truth = flat.kinds[node] == TRUE
        found[node] = truth
    return found


@kernel
def changes(flat, point):
    """Return for each node the least number of features to change from `point` to satisfy it; _NEVER or more if none.

    An arc whose cells hold the point's own costs nothing, any other costs one.
    """
    found = np.full(len(flat.kinds), _NEVER, np.int64)
    for node in range(len(flat.kinds)):
        first, last = flat.offsets[node], flat.offsets[node + 1]
        best = _NEVER
        if flat.kinds[node] == DECISION:
            home = point[flat.features[node]]
            for arc in range(first, last):
                # One for the change, taken back if the point's own cell is among those of the arc.
                cost = found[flat.children[arc]]
                if not has_cell(flat, flat.labels[arc], home):
                    cost += 1
                best = min(best, cost)
        elif flat.kinds[node] == AND:
            best = np.int64(0)
            # Decomposable parts change different features, so their changes add up. Sums of _NEVER, 2**40, fit int64
            # for some 8 million parts, and are cut back below so that they never grow from level to level.
            for arc in range(first, last):
                best += found[flat.children[arc]]
            best = min(best, _NEVER)
        elif flat.kinds[node] == OR:
            for arc in range(first, last):
                best = min(best, found[flat.children[arc]])
        elif flat.kinds[node] == TRUE:
            best = np.int64(0)
        found[node] = min(best, _NEVER)
    return found
