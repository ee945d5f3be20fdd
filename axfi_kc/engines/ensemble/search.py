"""Drives the kernels: lays out trees for them, grows their arrays, meters them, and turns answers into Python."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, FOUND, STACK_FULL, STORE_FULL, BudgetSpent, Meter
from axfi_kc.engines.ensemble import cover_kernels, search_kernels
from axfi_kc.engines.ensemble.bound_kernels import Ensemble
from axfi_kc.engines.ensemble.layout_kernels import fill_ranks, lay_out, left_cells
from axfi_kc.engines.found import masks_of_words, words_of_masks
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import TreeSum
from axfi_kc.models.tree_sum import LIMB, LIMB_MASK

__all__ = ["find_cxps", "find_witness", "lay_out_trees", "weigh"]


Cells = npt.NDArray[np.int32]
_WORD = 64  # features in a word of a set
Ints = npt.NDArray[np.int64]
_MOST_TREES = 1999  # limbs of more trees might not add up within int64


def find_cxps(ensemble: Ensemble, v: Cells, *, max_size: int, meter: Meter) -> list[int]:
    """Return all CXps of v of at most `max_size` features, as masks.

    Raises
    ------
    BudgetSpent
        With the CXps certified so far.

    Notes
    -----
    One branch and bound per score over the whole space, whose boxes are cut by the score and by
    the CXps found so far; each dissimilar point is shrunk to a CXp at once.
    """
    registers = np.zeros(search_kernels.REGISTERS, np.int64)
    # The kernel opens the next score when its stack is empty, so -1 makes it begin with score 0.
    registers[search_kernels.SCORE] = -1
    registers[search_kernels.MAX_SIZE] = max_size
    meter.attach(registers)
    m = len(v)
    stack, family, held = _stack(ensemble), _family(64, m), np.zeros(m, np.int64)
    # A sweep frees every feature; the CXps found are what prunes it.
    candidate, kept = np.zeros((2, _n_words(m)), np.uint64)
    free = words_of_masks([(1 << m) - 1], m)[0]
    point = np.empty(m, np.int32)
    while True:
        status = search_kernels.search(ensemble, v, family, held, stack, candidate, kept, free, point, registers)
        if status == STACK_FULL:
            stack = _grown(stack)
        elif status == STORE_FULL:
            family = _grown(family)
        # Only an allowance that is used up asks the meter for more.
        elif status == DONE or not meter.extend():
            found = masks_of_words(family.member[: registers[search_kernels.N_CXPS]])
            if status == DONE:
                return found
            # Each set was shrunk to the end before it was stored, so all of them are CXps, whatever is missing.
            raise BudgetSpent(found)


def find_witness(ensemble: Ensemble, v: Cells, mask: int, *, meter: Meter) -> Cells | None:
    """Return the cells of a dissimilar point that agrees with v outside `mask`, or None.

    Notes
    -----
    Branch and bound, exponential in the size of the set at worst.
    """
    registers = np.zeros(search_kernels.REGISTERS, np.int64)
    registers[search_kernels.ASK] = search_kernels.ONCE
    registers[search_kernels.QUESTION_SCORE] = -1
    meter.attach(registers)
    m = len(v)
    # One row, never written: a question stores no CXp, but the kernel wants room for one.
    stack, family, held = _stack(ensemble), _family(1, m), np.zeros(m, np.int64)
    unused, free, point = np.zeros(_n_words(m), np.uint64), words_of_masks([mask], m)[0], np.empty(m, np.int32)
    while True:
        status = search_kernels.search(ensemble, v, family, held, stack, unused, unused, free, point, registers)
        if status == DONE:
            return None
        if status == FOUND:
            return point
        if status == STACK_FULL:
            stack = _grown(stack)
        elif not meter.extend():
            raise BudgetSpent([])


def weigh(
    ensemble: Ensemble,
    v: Cells,
    cxps: Sequence[Sequence[int]],
    worths: Sequence[Sequence[int]],
    *,
    meter: Meter,
) -> list[int]:
    """Return the exact measure of the dissimilar points of each CXp of v.

    Parameters
    ----------
    ensemble, v
        The trees and the instance's cells.
    cxps
        The features of each CXp. They must be CXps: minimality is used.
    worths
        For each feature what each of its cells is worth, integers of any size.
    meter
        What the search may cost.

    Returns
    -------
    list of int
        For each CXp Y the sum, over the dissimilar points that agree with v outside Y, of the
        product over Y of what their cells are worth.

    Notes
    -----
    The kernel covers the points by disjoint boxes; each costs one product of differences of
    prefix sums, in Python integers.
    """
    bounds, n_boxes = _cover(ensemble, v, cxps, meter)
    # Prefix sums make a run of cells one subtraction, however many cells it has.
    below = {i: list(accumulate(worths[i], initial=0)) for i in {i for Y in cxps for i in Y}}
    ends = iter(bounds.tolist())
    weights = []
    for Y, count in zip(cxps, n_boxes.tolist(), strict=True):
        sums = [below[i] for i in Y]
        weight = 0
        # Boxes of one CXp are disjoint, so their measures add up.
        for _ in range(count):
            product = 1
            for prefix in sums:
                first = next(ends)
                product *= prefix[next(ends)] - prefix[first]
            weight += product
        weights.append(weight)
    return weights


def _cover(
    ensemble: Ensemble, v: Cells, cxps: Sequence[Sequence[int]], meter: Meter
) -> tuple[Cells, npt.NDArray[np.int64]]:
    """Return the bounds of all boxes, flat, and the number of boxes of each CXp."""
    boxes = _boxes(ensemble)
    offsets = np.cumsum([0, *map(len, cxps)], dtype=np.int64)
    features = np.array([i for Y in cxps for i in Y], np.int32)
    bounds, n_boxes = np.empty(4096, np.int32), np.zeros(len(cxps), np.int64)
    registers = np.zeros(cover_kernels.REGISTERS, np.int64)
    registers[cover_kernels.TOP] = -1
    meter.attach(registers)
    while True:
        status = cover_kernels.cover(ensemble, v, offsets, features, boxes, bounds, n_boxes, registers)
        if status == DONE:
            return bounds[: registers[cover_kernels.N_OUT]], n_boxes
        if status == STACK_FULL:
            boxes = _grown(boxes)
        elif status == STORE_FULL:
            bounds = np.concatenate([bounds, np.empty_like(bounds)])
        elif not meter.extend():
            raise BudgetSpent([sum(1 << i for i in Y) for Y in cxps])


def _grown(arrays: Any) -> Any:
    """Return the same named tuple with twice the rows."""
    # Rows keep their numbers, so an interrupted search goes on as if the arrays had always been larger.
    return type(arrays)(*(np.concatenate([a, np.empty_like(a)]) for a in arrays))


def _n_words(m: int) -> int:
    """Return how many words a set of m features takes."""
    return -(-m // _WORD)


def _stack(ensemble: Ensemble) -> search_kernels.Stack:
    depth, m = 48, len(ensemble.n_cells)
    # A box of the search bounds one score at a time; one of a cover bounds all of them, both ways.
    trees = int(np.diff(ensemble.start).max(initial=0))
    return search_kernels.Stack(
        lo=np.empty((depth, m), np.int32),
        hi=np.empty((depth, m), np.int32),
        root=np.empty((depth, trees), np.int32),
        leaf=np.empty((depth, trees), np.int32),
        total=np.empty(depth, np.int64),
        changed=np.empty((depth, _n_words(m)), np.uint64),
        latest=np.empty(depth, np.int32),
        known=np.empty(depth, np.int64),
    )


def _family(rows: int, m: int) -> search_kernels.Family:
    return search_kernels.Family(np.empty((rows, _n_words(m)), np.uint64), np.empty((rows, m), np.int32))


def _boxes(ensemble: Ensemble) -> cover_kernels.Boxes:
    depth, m, n_scores, trees = 24, len(ensemble.n_cells), len(ensemble.base), len(ensemble.root)
    return cover_kernels.Boxes(
        lo=np.empty((depth, m), np.int32),
        hi=np.empty((depth, m), np.int32),
        root=np.empty((depth, trees), np.int32),
        leaf=np.empty((depth, trees), np.int32),
        total=np.empty((depth, 2 * n_scores), np.int64),
        alive=np.empty((depth, n_scores), np.uint8),
        whole=np.empty((depth, m), np.uint8),
    )


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
