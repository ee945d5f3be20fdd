"""The leaves that points reach; compiled by numba."""

from __future__ import annotations

from axfi_kc.compiled import flat_kernel

__all__ = ["reach"]


@flat_kernel()
def reach(cells, tree_offset, feature, left, right, mask_offset, left_mask, leaf, found):
    """Fill in the leaf of each tree that each point, a row of cells, reaches."""
    for p in range(found.shape[0]):
        for t in range(found.shape[1]):
            n = tree_offset[t]
            f = feature[n]
            while f >= 0:
                n = left[n] if left_mask[mask_offset[n] + cells[p, f]] else right[n]
                f = feature[n]
            found[p, t] = leaf[n]
