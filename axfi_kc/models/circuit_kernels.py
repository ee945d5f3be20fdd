"""The truth of a circuit at many points, 64 at a time; compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from axfi_kc.circuit import AND, DECISION, OR, TRUE

__all__ = ["truths"]


@njit(cache=True, nogil=True)
def truths(wires, cells):
    """Tell for each row of `cells` whether the circuit holds there."""
    n_rows, n_nodes = cells.shape[0], wires.kinds.shape[0]
    out = np.zeros(n_rows, np.uint8)
    found = np.empty(n_nodes, np.uint64)
    for first in range(0, n_rows, 64):
        # The last word may have fewer rows; its upper bits are whatever constants put there, and never read.
        last = min(first + 64, n_rows)
        for node in range(n_nodes):
            kind = wires.kinds[node]
            word = np.uint64(0)
            if kind in (TRUE, AND):
                # All 64 rows hold until a part of the conjunction says otherwise.
                word = ~word
            for arc in range(wires.offsets[node], wires.offsets[node + 1]):
                below = found[wires.children[arc]]
                if kind == AND:
                    word &= below
                elif kind == OR:
                    word |= below
                elif kind == DECISION and below:
                    # If the child fails at all 64 points its cells need not be looked up.
                    start, i = wires.start[wires.group[arc]], wires.features[node]
                    for row in range(first, last):
                        bit = np.uint64(wires.inside[start + cells[row, i]])
                        # Arcs of a decision share no cell, so at most one of them sets the bit of a row.
                        word |= below & (bit << np.uint64(row - first))
            found[node] = word
        for row in range(first, last):
            out[row] = np.uint8(found[n_nodes - 1] >> np.uint64(row - first) & np.uint64(1))
    return out
