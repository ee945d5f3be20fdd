"""Writes the trees of each score in preorder; compiled by numba."""

from __future__ import annotations

import numpy as np

from axfi_kc.compiled import flat_kernel

__all__ = ["fill_ends", "lay_out", "left_cells", "list_tests"]


@flat_kernel()
def left_cells(n_cells, feature, mask_offset, left_mask, code, counts):
    """Fill in the threshold or table of every inner node; see `Ensemble.node`.

    Returns how many of `counts`, the prefix counts of the masks that are no prefix, there are. If they do not fit, they
    are not filled in.
    """
    size = 0
    for n in range(feature.size):
        if feature[n] < 0:
            continue
        k = n_cells[feature[n]]
        # A threshold sends a prefix of the cells to the left, and then the prefix's length is enough.
        t = 0
        while t < k and left_mask[mask_offset[n] + t]:
            t += 1
        code[n] = t
        # A left cell behind the first right one: no prefix. Offsets are stored as -1 - offset, which is
        # negative for offset 0 too, and so tells tables from thresholds.
        for c in range(t, k):
            if left_mask[mask_offset[n] + c]:
                code[n] = -1 - size
                # One more entry than cells: the count of left cells among the first 0..k.
                size += k + 1
                break
    if size > counts.size:
        return size
    for n in range(feature.size):
        if code[n] < 0:
            o = -1 - code[n]
            counts[o] = 0
            for c in range(n_cells[feature[n]]):
                counts[o + c + 1] = counts[o + c] + (left_mask[mask_offset[n] + c] != 0)
    return size


@flat_kernel()
def lay_out(roots, feature, left, right, code, leaf, values, at, node, value, starts, todo, parent):
    """Append the trees with the given roots at row `at`, left child first, and fill in the new roots.

    Returns the end.
    """
    for t in range(roots.size):
        starts[t] = at
        todo[0] = roots[t]
        parent[0] = -1
        sp = 1
        while sp > 0:
            sp -= 1
            # The right child is put below the left one, so the whole left subtree is written before it and
            # the left child always lands at the row after its parent.
            n = todo[sp]
            # Only now is it known where the right child comes to lie.
            if parent[sp] >= 0:
                node[parent[sp], 1] = at
            node[at, 0] = feature[n]
            # Overwritten when the right child is written; stays at leaves.
            node[at, 1] = -1
            node[at, 2] = code[n]
            if feature[n] >= 0:
                todo[sp] = right[n]
                parent[sp] = at
                todo[sp + 1] = left[n]
                parent[sp + 1] = -1
                sp += 2
            else:
                for k in range(values.shape[1]):
                    value[at, k] = values[leaf[n], k]
            at += 1
    return at


@flat_kernel()
def fill_ends(node, end, before):
    """Set the row after the subtree of each node, and how many leaves come before each row, the last one included."""
    # Preorder puts children behind their parents, so going backwards they are ready first.
    for n in range(node.shape[0] - 1, -1, -1):
        end[n] = n + 1 if node[n, 0] < 0 else end[node[n, 1]]
    count = 0
    for n in range(node.shape[0]):
        before[n] = count
        count += node[n, 0] < 0
    before[node.shape[0]] = count


@flat_kernel()
def list_tests(node, end, before, block, place, row, at, sides):
    """Write, for each inner node and each block of its leaves, which of them lie left and right of it.

    ``block[i]`` and ``place[i]`` are the block of leaf i and its place there. Returns the number of entries; `row` has
    the nodes and `at` the blocks.
    """
    count = 0
    for n in range(node.shape[0]):
        if node[n, 0] < 0:
            continue
        # Leaves come in preorder, and so do blocks: one after the other.
        known = -1
        for i in range(before[n], before[end[n]]):
            if block[i] != known:
                known = block[i]
                row[count] = n
                at[count] = known
                sides[count, 0] = 0
                sides[count, 1] = 0
                count += 1
            side = 0 if i < before[node[n, 1]] else 1
            sides[count - 1, side] |= np.uint64(1) << np.uint64(place[i])
    return count
