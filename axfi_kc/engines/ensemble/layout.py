"""Puts a sum of trees into the arrays that the kernels run on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from axfi_kc.engines.ensemble.bound_kernels import Ensemble
from axfi_kc.engines.ensemble.layout_kernels import fill_ranks, lay_out, left_cells
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import TreeSum
from axfi_kc.models.margins import LIMB, LIMB_MASK

__all__ = ["lay_out_trees"]


_MOST_TREES = 1999  # limbs of more trees might not add up within int64
Ints = npt.NDArray[np.int64]


def lay_out_trees(model: TreeSum, values: Ints, base: Ints) -> Ensemble:
    """Lay out the trees of `model` with integer scores in place of its own.

    Parameters
    ----------
    model
        The trees.
    values, base
        ``values[leaf, j]`` and ``base[j]`` are score j in limbs: the number is the sum of
        ``limb[l] * 2**(-52 * l)``, limb 0 signed and the others in [0, 2**52). Sums of limb 0
        over the trees must fit an int64.

    Notes
    -----
    O(J N log N) for J scores and N nodes; once for all instances with the same output.
    """
    n_scores, limbs = base.shape
    # With the base 2,000 limbs below 2**52 stay below 2**63; see `exceeds`.
    if limbs > 1 and model.n_trees > _MOST_TREES:
        raise UnsupportedModelError(
            f"Leaf values this fine are added up for at most {_MOST_TREES} trees, but the model has {model.n_trees}; "
            "use fewer trees, or leaves in float32."
        )
    # A tree on which a score does not depend would only be walked over again in every box.
    varying, bases = zip(*(_varying_trees(model, values[:, j], base[j]) for j in range(n_scores)), strict=True)
    half = int(sum(np.diff(model.tree_offset)[trees].sum() for trees in varying))
    node = np.zeros((2 * half, 4), np.int32)
    value = np.zeros((2 * half, limbs), np.int64)
    cells = np.array(model.grid.n_cells, np.int64)
    code, counts = left_cells(cells, model.feature, model.mask_offset, model.left_mask)
    roots, at = [], 0
    for j, trees in enumerate(varying):
        new, at = lay_out(
            model.tree_offset[trees], model.feature, model.left, model.right, code, model.leaf,
            np.ascontiguousarray(values[:, j]), at, node, value,
        )  # fmt: skip
        roots.append(new)
    # Two copies of every tree: with reversed ranks the same kernel finds least instead of largest leaves.
    _mirror(node, value, half)
    roots += [r + np.int32(half) for r in roots]
    start = np.concatenate([[0], np.cumsum([len(r) for r in roots])]).astype(np.int32)
    touch_start, touch = _touches(node, start, np.concatenate(roots), len(cells))
    return Ensemble(
        n_cells=cells.astype(np.int32), start=start, root=np.concatenate(roots), node=node, counts=counts,
        value=value, base=np.array(bases, np.int64), touch_start=touch_start, touch=touch,
    )  # fmt: skip


def _plus(a: Ints, b: Ints) -> Ints:
    """Return the sum of two numbers in limbs, carries settled."""
    total = a + b
    # From the finest limb up, so that carries run through.
    for k in range(total.size - 1, 0, -1):
        total[k - 1] += total[k] >> LIMB
        total[k] &= LIMB_MASK
    return total


def _dense_ranks(rows: Ints) -> npt.NDArray[np.int32]:
    """Return the position of each row among the different rows, in lexicographic order."""
    # The last key sorts first. Limb 0 is signed, the others are not negative, so rows in lexicographic order
    # are numbers in order.
    order = np.lexsort(rows.T[::-1])
    ranked = rows[order]
    ranks = np.empty(len(rows), np.int32)
    ranks[order] = np.concatenate([[0], np.cumsum((ranked[1:] != ranked[:-1]).any(axis=1))])
    return ranks


def _varying_trees(model: TreeSum, values: Ints, base: Ints) -> tuple[Ints, Ints]:
    """Return the trees on which a score depends, and its base with the others folded in."""
    at_leaf = np.flatnonzero(model.leaf >= 0)
    tree = np.searchsorted(model.tree_offset, at_leaf, side="right") - 1
    at_leaf_values = values[model.leaf[at_leaf]]
    # Leaves come tree by tree, so this is the first leaf of each tree.
    first = np.searchsorted(tree, np.arange(model.n_trees))
    differs = (at_leaf_values != at_leaf_values[first[tree]]).any(axis=1)
    varies = np.zeros(model.n_trees, np.bool_)
    varies[tree[differs]] = True
    for t in np.flatnonzero(~varies):
        base = _plus(base, at_leaf_values[first[t]])
    return np.flatnonzero(varies), base


def _mirror(node: npt.NDArray[np.int32], value: Ints, half: int) -> None:
    """Rank the leaves and write the second copy, whose ranks are reversed."""
    leaves = np.flatnonzero(node[:half, 0] < 0)
    if leaves.size:
        ranks = _dense_ranks(value[leaves])
        node[half:] = node[:half]
        # Leaves become -1 plus half, which nobody reads.
        node[half:, 1] += half
        value[half:] = value[:half]
        node[leaves, 3] = ranks
        node[half + leaves, 3] = ranks.max() - ranks
        fill_ranks(node)


def _touches(
    node: npt.NDArray[np.int32], start: npt.NDArray[np.int32], root: npt.NDArray[np.int32], m: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return which trees of each group test each feature, as offsets and tree numbers."""
    groups = len(start) - 1
    inner = np.flatnonzero(node[:, 0] >= 0)
    # Roots ascend, because trees were laid out in this order.
    tree = np.searchsorted(root, inner, side="right") - 1
    group = np.searchsorted(start[1:], tree, side="right")
    # Group, feature and tree in one integer: sorting and dropping duplicates is then one step.
    key = np.unique((group * m + node[inner, 0]) * np.int64(len(root) + 1) + tree - start[group])
    slot, number = np.divmod(key, len(root) + 1)
    offsets = np.searchsorted(slot, np.arange(groups * m + 1))
    return offsets.astype(np.int32), number.astype(np.int32)
