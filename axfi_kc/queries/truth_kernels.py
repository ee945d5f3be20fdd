"""Truth of every node, compiled by numba: one pass over flat arrays, children first."""

from __future__ import annotations

import numpy as np
from numba import njit

from axfi_kc.circuit import AND, DECISION, OR, TRUE

__all__ = ["changes", "truths"]

_NEVER = np.int64(1) << np.int64(40)  # more changes than there are features


@njit(cache=True, nogil=True)
def truths(kinds, features, offsets, children, labels, set_starts, set_cells, cell_starts, allowed):
    """Return which nodes hold somewhere in the box of allowed cells (1 per allowed cell of a feature)."""
    found = np.zeros(len(kinds), np.uint8)
    for node in range(len(kinds)):
        first, last = offsets[node], offsets[node + 1]
        if kinds[node] == DECISION:
            # Cells of all features lie in one array, one feature after the other.
            start = cell_starts[features[node]]
            truth = False
            for arc in range(first, last):
                # The flag of the child is cheaper than its set of cells, and often decides.
                if found[children[arc]]:
                    for k in range(set_starts[labels[arc]], set_starts[labels[arc] + 1]):
                        if allowed[start + set_cells[k]]:
                            truth = True
                            break
                    if truth:
                        break
        elif kinds[node] == AND:
            # Independent because decomposable: parts without a common feature never spoil each other's choice.
            truth = True
            for arc in range(first, last):
                if not found[children[arc]]:
                    truth = False
                    break
        elif kinds[node] == OR:
            truth = False
            for arc in range(first, last):
                if found[children[arc]]:
                    truth = True
                    break
        else:
            truth = kinds[node] == TRUE
        found[node] = truth
    return found


@njit(cache=True, nogil=True)
def changes(kinds, features, offsets, children, labels, set_starts, set_cells, point):
    """Return for each node the least number of features to change from `point` to satisfy it; _NEVER or more if none.

    An arc whose cells hold the point's own costs nothing, any other costs one.
    """
    found = np.full(len(kinds), _NEVER, np.int64)
    for node in range(len(kinds)):
        first, last = offsets[node], offsets[node + 1]
        best = _NEVER
        if kinds[node] == DECISION:
            home = point[features[node]]
            for arc in range(first, last):
                # One for the change, taken back if the point's own cell is among those of the arc.
                cost = found[children[arc]] + 1
                for k in range(set_starts[labels[arc]], set_starts[labels[arc] + 1]):
                    if set_cells[k] == home:
                        cost -= 1
                        break
                best = min(best, cost)
        elif kinds[node] == AND:
            best = np.int64(0)
            # Decomposable parts change different features, so their changes add up. Sums of _NEVER, 2**40, fit int64
            # for some 8 million parts, and are cut back below so that they never grow from level to level.
            for arc in range(first, last):
                best += found[children[arc]]
            best = min(best, _NEVER)
        elif kinds[node] == OR:
            for arc in range(first, last):
                best = min(best, found[children[arc]])
        elif kinds[node] == TRUE:
            best = np.int64(0)
        found[node] = min(best, _NEVER)
    return found
