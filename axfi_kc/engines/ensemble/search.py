"""Drives the kernels: lays out trees for them, grows their arrays, meters them, and turns answers into Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import DONE, LIMIT, NODES, STACK_FULL, STORE_FULL, BudgetSpent, Meter
from axfi_kc.engines.ensemble import cover_kernels
from axfi_kc.engines.ensemble.bound_kernels import Ensemble
from axfi_kc.engines.ensemble.layout_kernels import fill_ends, lay_out, left_cells, list_tests
from axfi_kc.engines.ensemble.merging import merged
from axfi_kc.engines.ensemble.workers import WORD, Room, around, doubled, in_threads, new_scratch, spares
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import TreeSum
from axfi_kc.models.joint import BoxList
from axfi_kc.models.tree_sum import LIMB, LIMB_MASK

__all__ = ["cover_boxes", "cover_sets", "lay_out_trees", "weigh"]


Cells = npt.NDArray[np.int32]
Int32s = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
_ROUND = 1 << 13  # nodes of each thread between two looks at the clock
_STRETCH = 16  # rounds of each thread until all stop for a moment
_DEPTH = 24  # rows of new boxes
_MOST_TREES = 1999  # limbs of more trees might not add up within int64


def weigh(
    ensemble: Ensemble,
    v: Cells,
    cxps: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    *,
    meter: Meter,
    others: bool = False,
    room: Room | None = None,
) -> list[int]:
    """Return the exact measure of the dissimilar points of each CXp of v.

    Parameters
    ----------
    ensemble, v
        The trees and the instance's cells.
    cxps
        The features of each CXp. They must be CXps: minimality is used.
    below
        For each feature what the cells before each of its cells are worth together, integers of any size, and last
        what all are worth: a run of cells is one subtraction, however many cells it has.
    meter
        What the search may cost.
    others, room
        See :func:`cover_sets`.

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
    bounds, n_boxes = cover_sets(ensemble, v, cxps, meter=meter, others=others, room=room)
    ends = iter(bounds.tolist())
    runs = zip(ends, ends, strict=True)
    weights = []
    for Y, count in zip(cxps, n_boxes.tolist(), strict=True):
        sums = [below[i] for i in Y]
        weight = 0
        # Boxes of one CXp are disjoint, so their measures add up.
        for _ in range(count):
            product = 1
            # The next run of each feature: `sums`, which comes first, says when there are no more of this box.
            for prefix, (first, end) in zip(sums, runs, strict=False):
                product *= prefix[end] - prefix[first]
            weight += product
        weights.append(weight)
    return weights


def cover_boxes(
    ensemble: Ensemble,
    v: Cells,
    sets: Sequence[Sequence[int]],
    *,
    meter: Meter,
    minimal: bool,
    others: bool = False,
) -> BoxList:
    """Return disjoint boxes of the dissimilar points of each set of features.

    Parameters
    ----------
    ensemble, v
        The trees and the instance's cells.
    sets
        The features that are free.
    meter
        What the search may cost.
    minimal, others
        Whether the sets are CXps, and what is covered; see :func:`cover_sets`.
    """
    bounds, n_boxes = cover_sets(ensemble, v, sets, meter=meter, minimal=minimal, others=others)
    first, last = bounds.reshape(-1, 2).T.astype(np.int64)
    lists = zip(sets, n_boxes.tolist(), strict=True)
    feature = np.concatenate([np.zeros(0, np.int64), *(np.tile(np.array(Y, np.int64), k) for Y, k in lists)])
    # Feature and both ends in one number: boxes share most of their runs of cells.
    most = int(ensemble.n_cells.max()) + 1
    distinct, spans = np.unique((feature * most + first) * most + last, return_inverse=True)
    table = [(k // most**2, range(k // most % most, k % most)) for k in distinct.tolist()]
    return BoxList(sets, n_boxes, spans, table)


def cover_sets(
    ensemble: Ensemble,
    v: Cells,
    sets: Sequence[Sequence[int]],
    *,
    meter: Meter,
    minimal: bool = True,
    others: bool = False,
    first: bool = False,
    within: tuple[Cells, Cells] | None = None,
    room: Room | None = None,
) -> tuple[Cells, npt.NDArray[np.int64]]:
    """Cover the dissimilar points of sets of features by disjoint boxes; return all bounds, and their number for each.

    Bounds are flat: for each box of each set, the first cell of each of its features and the one after the last. If the
    sets are `minimal`, that is CXps, all of a set differs from v in a dissimilar point, and the search is shorter. With
    `others`, dissimilar are the points where no score exceeds 0; if only the `first` box of each is wanted, it ends
    there; and `within` has the first cell of each feature that may be changed to, and the one after the last. `room` is
    what a search for these sets has left.
    """
    threads = min(meter.threads, len(sets)) or 1
    # Neighbours are of one size and cost about the same: dealt out in turn, each thread has as much to do.
    flags: dict[str, Any] = {"minimal": minimal, "others": others, "first": first, "within": within}
    rooms = [room or (around(ensemble, v), new_scratch(ensemble))]
    rooms += [(rooms[0][0], new_scratch(ensemble)) for _ in range(threads - 1)]
    parts = [_Cover(ensemble, v, sets[k::threads], own, **flags) for k, own in enumerate(rooms)]
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        rounds = _STRETCH if meter.rest().nodes is None else 1  # few, where nodes are counted
        while not all(part.ended for part in parts):
            before, most = sum(part.nodes for part in parts), meter.allowance()
            # The clock may have run out since it was looked at last, and threads would then do nothing for ever.
            is_left = most > 0 and not meter.is_spent
            if is_left and pool is None:
                parts[0].run(most)
            elif is_left:
                in_threads(pool, lambda part, ends: part.run_rounds(rounds, ends), parts, lambda: meter.is_spent)
            if not is_left or not meter.spend(sum(part.nodes for part in parts) - before):
                raise BudgetSpent([sum(1 << i for i in Y) for Y in sets])
    return _dealt_back(parts)


def _dealt_back(parts: Sequence[_Cover]) -> tuple[Cells, npt.NDArray[np.int64]]:
    """Return what was dealt out in turn as one."""
    parts[0].give_back()
    if len(parts) == 1:
        return parts[0].bounds, parts[0].n_boxes
    n_boxes = np.zeros(sum(len(part.n_boxes) for part in parts), np.int64)
    pieces: list[Any] = [None] * len(n_boxes)
    for k, part in enumerate(parts):
        n_boxes[k :: len(parts)] = part.n_boxes
        ends, bounds = np.cumsum(2 * np.diff(part.offsets) * part.n_boxes).tolist(), part.bounds
        pieces[k :: len(parts)] = [bounds[begin:end] for begin, end in pairwise([0, *ends])]
    return np.concatenate(pieces), n_boxes


class _Cover:
    """Boxes that cover the dissimilar points of some sets of features, in the making."""

    def __init__(
        self,
        ensemble: Ensemble,
        v: Cells,
        sets: Sequence[Sequence[int]],
        room: Room,
        *,
        minimal: bool,
        others: bool = False,
        first: bool = False,
        within: tuple[Cells, Cells] | None = None,
    ) -> None:
        self._within = within or (np.zeros(len(v), np.int32), ensemble.n_cells)
        self._ensemble, self._boxes = ensemble, spares.take("cover", ensemble) or _boxes(ensemble)
        self._around, self._scratch = room
        self._live = np.empty(len(ensemble.root), np.int32)
        self.offsets = np.array([*accumulate(map(len, sets), initial=0)], np.int64)
        self._features = np.array([i for Y in sets for i in Y], np.int32)
        self._out, self.n_boxes = np.empty(4096, np.int32), np.zeros(len(sets), np.int64)
        self._registers = np.zeros(cover_kernels.REGISTERS, np.int64)
        self._registers[cover_kernels.TOP] = -1
        self._registers[cover_kernels.ANY_SET] = not minimal
        self._registers[cover_kernels.OTHERS] = others
        self._registers[cover_kernels.FIRST] = first
        self.ended = False

    @property
    def nodes(self) -> int:
        """The boxes looked at so far."""
        return int(self._registers[NODES])

    @property
    def bounds(self) -> Cells:
        """The bounds of all boxes so far, flat."""
        return self._out[: self._registers[cover_kernels.N_OUT]]

    def give_back(self) -> None:
        """Leave its room for boxes to the next one; all that was found stays."""
        if len(self._boxes.lo) == _DEPTH:
            spares.keep("cover", self._ensemble, self._boxes)

    def run_rounds(self, rounds: int, ends: Callable[[], bool]) -> None:
        """Go on for so many rounds, beside others, unless there is an end to it."""
        for _ in range(rounds):
            if not self.ended and not ends():
                self.run(_ROUND)

    def run(self, nodes: int) -> None:
        """Go on for so many nodes."""
        self._registers[LIMIT] = self.nodes + nodes
        while True:
            status = cover_kernels.cover(
                self._ensemble, self._around, self.offsets, self._features, *self._within, self._boxes, self._out,
                self.n_boxes, self._live, self._scratch, self._registers,
            )  # fmt: skip
            if status == STACK_FULL:
                self._boxes = doubled(self._boxes)
            elif status == STORE_FULL:
                self._out = np.concatenate([self._out, np.empty_like(self._out)])
            else:
                self.ended = status == DONE
                return


def _boxes(ensemble: Ensemble) -> cover_kernels.Boxes:
    depth, m, n_scores = _DEPTH, len(ensemble.n_cells), len(ensemble.base)
    lo, hi = np.empty((2, depth, m), np.int32)
    mask = np.empty((depth, int(ensemble.block_start[-1])), np.uint64)
    high, low, fork = np.empty((3, depth, len(ensemble.root)), np.int32)
    above, below = np.empty((2, depth, n_scores), np.int64)
    alive, whole = np.empty((depth, n_scores), np.uint8), np.empty((depth, m), np.uint8)
    return cover_kernels.Boxes(lo, hi, mask, high, low, fork, above, below, alive, whole)


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
    size = int(sum(np.diff(model.tree_offset)[trees].sum() for trees in varying))
    node, value = np.zeros((size, 4), np.int32), np.zeros((size, limbs), np.int64)
    cells = np.array(model.grid.n_cells, np.int64)
    code, counts = _left_cells(model, cells)
    todo, parent = np.empty((2, len(model.feature) + 1), np.int64)
    roots, at = [np.empty(len(trees), np.int32) for trees in varying], 0
    for j, trees in enumerate(varying):
        at = lay_out(
            model.tree_offset[trees], model.feature, model.left, model.right, code, model.leaf,
            np.ascontiguousarray(values[:, j]), at, node, value, roots[j], todo, parent,
        )  # fmt: skip
    node, value, roots = merged(node, value, counts, roots, cells)
    start = np.concatenate([[0], np.cumsum([len(r) for r in roots])]).astype(np.int32)
    root = np.concatenate(roots)
    block_start, leaf_start, leaf, block, place = _blocks(node, value, root)
    touch_start, touch = _touches(node, start, root, len(cells))
    test_start, test, sides, after_start, after = _tests(node, start, root, cells, block, place)
    return Ensemble(
        n_cells=cells.astype(np.int32), start=start, root=root, node=node, counts=counts, value=value,
        base=np.array(bases, np.int64), touch_start=touch_start, touch=touch, block_start=block_start,
        leaf_start=leaf_start, leaf=leaf, test_start=test_start, test=test, sides=sides, after_start=after_start,
        after=after,
    )  # fmt: skip


def _left_cells(model: TreeSum, cells: Ints) -> tuple[Cells, Cells]:
    """Return the threshold or table of every inner node, and the prefix counts of the tables."""
    code = np.zeros(len(model.feature), np.int32)
    counts, arguments = np.empty(0, np.int32), (cells, model.feature, model.mask_offset, model.left_mask, code)
    # Counted first: most tests are thresholds, and all of a forest with a million cuts have no room as tables.
    size = left_cells(*arguments, counts)
    if size:
        counts = np.empty(size, np.int32)
        left_cells(*arguments, counts)
    return code, counts


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
    ranks[order] = np.concatenate([[0], np.cumsum((ranked[1:] != ranked[:-1]).any(axis=1))])[: len(rows)]
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


def _blocks(node: Int32s, value: Ints, root: Int32s) -> tuple[Int32s, Int32s, Int32s, Ints, Ints]:
    """Rank the leaves and cut those of each tree into blocks.

    Returns the blocks of each tree, the leaves of each block, their rows from the largest value down, and for the
    leaves as they come their blocks and places there. In `node`, a leaf gets its rank and its place among all.
    """
    rows = np.flatnonzero(node[:, 0] < 0)
    tree = np.searchsorted(root, rows, side="right") - 1
    ranks = _dense_ranks(value[rows])
    of_tree = np.bincount(tree, minlength=len(root))
    within = np.arange(len(rows)) - np.repeat(np.cumsum(of_tree) - of_tree, of_tree)
    block_start = np.concatenate([[0], np.cumsum(-(-of_tree // WORD))])
    block = block_start[tree] + within // WORD
    leaf_start = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=block_start[-1]))])
    order = np.lexsort((-ranks, block))
    position = np.empty(len(rows), np.int64)
    position[order] = np.arange(len(rows))
    node[rows, 1], node[rows, 3] = position, ranks
    starts = block_start.astype(np.int32), leaf_start.astype(np.int32)
    return *starts, rows[order].astype(np.int32), block, position - leaf_start[block]


def _tests(
    node: Int32s, start: Int32s, root: Int32s, cells: Ints, block: Ints, place: Ints
) -> tuple[Int32s, Int32s, npt.NDArray[np.uint64], Ints, Int32s]:
    """Return the tests of each feature in the trees of each score, by code, and where those above a cell begin."""
    end, before = np.empty(len(node), np.int64), np.empty(len(node) + 1, np.int64)
    fill_ends(node, end, before)
    inner = np.flatnonzero(node[:, 0] >= 0)
    last = before[end[inner]] - 1
    # A node has an entry for each block of its leaves.
    room = int((block[last] - block[before[inner]] + 1).sum())
    row, at = np.empty((2, room), np.int64)
    sides = np.empty((room, 2), np.uint64)
    list_tests(node, end, before, block, place, row, at, sides)
    m, groups = len(cells), (len(start) - 1) * len(cells)
    tree = np.searchsorted(root, row, side="right") - 1
    group = (np.searchsorted(start[1:], tree, side="right") * m + node[row, 0]).astype(np.int64)
    order = np.lexsort((at, node[row, 2], group))
    row, at, group, tree, sides = row[order], at[order], group[order], tree[order], sides[order]
    # Nodes of a block with the same test are decided at once, so one entry will do for all of them.
    code = node[row, 2].astype(np.int64)
    first = np.flatnonzero(np.concatenate([[True], np.diff(np.stack([group, code, at])).any(axis=0)])[: len(row)])
    sides = np.bitwise_or.reduceat(sides, first, axis=0) if len(first) else sides
    test = np.stack([tree[first], at[first], code[first]], axis=1).astype(np.int32)
    # Group and code in one number; tables, whose codes are negative, come first.
    most = int(cells.max()) + 2
    key = group[first] * most + np.maximum(code[first] + 1, 0)
    test_start = np.searchsorted(key, np.arange(groups + 1) * most).astype(np.int32)
    after_start = np.concatenate([[0], np.cumsum(cells + 1)])
    feature = np.repeat(np.arange(m), cells + 1)
    cell = np.arange(after_start[-1]) - after_start[feature]  # one more than the cell meant
    asked = np.arange(0, groups, m)[:, np.newaxis] * most + feature * most + cell + 1
    return test_start, test, sides, after_start, np.searchsorted(key, asked).astype(np.int32)


def _touches(node: Int32s, start: Int32s, root: Int32s, m: int) -> tuple[Int32s, Int32s]:
    """Return which trees of each score test each feature, as offsets and tree numbers."""
    groups = len(start) - 1
    inner = np.flatnonzero(node[:, 0] >= 0)
    # Roots ascend, because trees were laid out in this order.
    tree = np.searchsorted(root, inner, side="right") - 1
    group = np.searchsorted(start[1:], tree, side="right")
    # Score, feature and tree in one integer: sorting and dropping duplicates is then one step.
    key = np.unique((group * m + node[inner, 0]) * np.int64(len(root) + 1) + tree)
    slot, number = np.divmod(key, len(root) + 1)
    offsets = np.searchsorted(slot, np.arange(groups * m + 1))
    return offsets.astype(np.int32), number.astype(np.int32)
