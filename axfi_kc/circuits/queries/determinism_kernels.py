"""Whether one feature tells the parts of disjunctions apart; compiled by numba, for large circuits."""

from __future__ import annotations

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR
from axfi_kc.compiled import flat_kernel

__all__ = ["mark_unseparated"]


_NEVER = -(np.int64(1) << np.int64(40))  # a count so low that it never reaches the number of parts


@flat_kernel()
def mark_unseparated(
    kinds,
    features,
    offsets,
    children,
    labels,
    set_starts,
    set_cells,
    cell_starts,
    namers,
    last_parts,
    counts,
    queue,
    marks,
):
    """Mark the disjunctions of which no feature is seen to tell all parts apart.

    Parts have numbers from 1 on, in the order in which they are met. For each cell, `namers` has the last part whose
    literals name it; for each feature, `last_parts` has the last one with a literal of it, and `counts` how many parts
    of a disjunction have one, below zero if two of these share a cell. `queue` bounds how far literals are looked for.
    """
    part = np.int64(0)
    for node in range(kinds.shape[0]):
        if kinds[node] != OR:
            continue
        first, n_parts = part + 1, offsets[node + 1] - offsets[node]
        is_apart = False
        for arc in range(offsets[node], offsets[node + 1]):
            part += 1
            queue[0] = children[arc]
            at, n = 0, 1
            while at < n:
                below = queue[at]
                at += 1
                begin, end = offsets[below], offsets[below + 1]
                if kinds[below] == DECISION and last_parts[features[below]] < part:
                    # Where a part has several literals of one feature, the first is enough: each of them is implied.
                    feature = features[below]
                    if last_parts[feature] < first:
                        counts[feature] = 0
                    last_parts[feature] = part
                    counts[feature] += 1
                    for k in range(begin, end):
                        for c in range(set_starts[labels[k]], set_starts[labels[k] + 1]):
                            cell = cell_starts[feature] + set_cells[c]
                            if first <= namers[cell] < part:
                                counts[feature] = _NEVER
                            namers[cell] = part
                    is_apart = is_apart or counts[feature] == n_parts
                if kinds[below] == AND or end - begin == 1:
                    for k in range(begin, end):
                        if n < queue.shape[0]:
                            queue[n] = children[k]
                            n += 1
        if not is_apart:
            marks[node] = 1
