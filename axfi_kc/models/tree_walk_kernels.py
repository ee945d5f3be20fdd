"""From the root of a tree to a leaf, compiled by numba on first use."""

from __future__ import annotations

from typing import Any

from axfi_kc.compiled import kernel

__all__ = ["walk"]


@kernel
def walk(
    cells: Any, roots: Any, feature: Any, left: Any, right: Any, mask_offset: Any, left_mask: Any, leaf: Any, found: Any
) -> None:  # fmt: skip
    """Fill `found` with the leaf of each tree that each point reaches; see :class:`axfi_kc.models.TreeSum`."""
    for n in range(cells.shape[0]):
        for t in range(found.shape[1]):
            node = roots[t]
            while feature[node] >= 0:
                goes_left = left_mask[mask_offset[node] + cells[n, feature[node]]] != 0
                node = left[node] if goes_left else right[node]
            found[n, t] = leaf[node]
