"""CXps and weights of a model that is a list of boxes: a decision tree, a truth table.

For each box with a dissimilar output let I be the features on which it misses the instance. The
CXps are the minimal sets among the I, and the weight of Y is the sum, over the boxes with I = Y,
of the product over Y of what the box holds. One pass, no search.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from functools import cache, cached_property
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, interruptible, paced
from axfi_kc.domain.measures import exact
from axfi_kc.engines.found import Found, Located, cell_worths
from axfi_kc.engines.limbs import limbs_for, limbs_of
from axfi_kc.engines.per_output import one_by_one
from axfi_kc.families.masks import features_of
from axfi_kc.models import Boxes, Similarity, TableModel, TreeSum, boxes_of
from axfi_kc.models.joint import Box, BoxList, Span
from axfi_kc.models.support import possible_boxes, support_of

__all__ = ["BoxEngine"]


_WORD = 64
_INT64 = 2**63
_WORK = 1 << 20  # comparisons of sets between two looks at the clock
_ROWS = 1 << 10
_MET = 1 << 16  # outputs that an engine knows again
_PAIRS = 1 << 14  # products of wide integers between two looks
Cells = npt.NDArray[np.int64]
Codes = npt.NDArray[np.float64]


class _Literals(NamedTuple):
    """The restricted features of each box, flat; box b has ``offset[b]:offset[b + 1]``."""

    offset: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    subset: npt.NDArray[np.int64]  # where the flags of a literal given as a set start in `inside`, else -1
    inside: npt.NDArray[np.uint8]


class _Tree(NamedTuple):
    """The tree whose leaves the boxes are; see :class:`TreeSum`. A leaf that holds no point has no output."""

    feature: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    mask_offset: npt.NDArray[np.int64]
    left_mask: npt.NDArray[np.uint8]
    lowest: npt.NDArray[np.int64]  # of the ranks of the outputs below each node
    highest: npt.NDArray[np.int64]
    box: npt.NDArray[np.int64]  # of each leaf


class BoxEngine:
    """Explains instances of a model given as boxes: a single tree, a truth table, or boxes.

    Notes
    -----
    Per instance: the literals of the dissimilar boxes, plus boxes times CXps.
    """

    def __init__(self, model: TableModel | TreeSum | Boxes, similarity: Similarity) -> None:
        self.locate = model.cells_and_outputs
        self.boxes = possible_boxes(boxes_of(model), support_of(model.grid))
        self._number = {output: k for k, output in enumerate(self.boxes.outputs)}
        self._met: dict[int, tuple[Hashable, int]] = {}
        self._literals = _literals_of(self.boxes)
        self._rank, self._low, self._high = _similar_ranks(self.boxes.outputs, similarity)
        self._rank_of_box = self._rank[self.boxes.output]
        self._tree, self._depth = None, 0
        if self.boxes.nodes is not None and isinstance(model, TreeSum) and len(model.grid.axes) <= _WORD:
            self._tree, self._depth = _tree_of(model, self.boxes.nodes, self._rank_of_box)
        self._cells: dict[str, tuple[tuple[tuple[int, ...], ...], tuple[int, ...], list[int]]] = {}
        self._worths: dict[tuple[str, bool], Any] = {}

    @property
    def constant(self) -> Hashable | None:
        """The one output of a constant model; None otherwise."""
        return self.boxes.outputs[0] if len(self.boxes.outputs) == 1 else None

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance; there is no search, and no node of a budget is used."""
        cells, outputs = located or self.locate(codes)
        if _is_limited(budget) and len(codes) > 1:
            alone = functools.partial(self.explain, weights=weights, max_size=max_size, budget=budget)
            return one_by_one(alone, codes, (cells, outputs))
        starts, sets, pairs, account = self._misses(cells, outputs, max_size, budget)
        is_unit = weights == "unit"
        totals = np.ones(len(sets), np.int64) if is_unit else self._totals(weights, sets, pairs, account)
        return Found(outputs, starts, sets, totals, self._cells_worth(weights)[1], weights)

    def _cells_worth(self, weights: str) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], list[int]]:
        """Return what cells are worth, what sets are divided by, and what features are worth, in that order."""
        if weights not in self._cells:
            worths, wholes = cell_worths(self.boxes.grid, weights)
            self._cells[weights] = (worths, wholes, sorted(map(sum, worths)))
        return self._cells[weights]

    def _numbers(self, outputs: Sequence[Hashable]) -> list[int]:
        """Return the position of each output among those of the boxes."""
        # By identity: to hash a Fraction takes as long as the boxes of its row. What was met is kept, so that nothing
        # else can have its address.
        met = self._met
        for y in outputs:
            if id(y) not in met:
                if len(met) >= _MET:
                    met = self._met = {id(z): (z, self._number[z]) for z in outputs}
                    break
                met[id(y)] = (y, self._number[y])
        return [met[id(y)][1] for y in outputs]

    def explain_in_boxes(
        self, codes: Codes, *, max_size: int | None = None, budget: Budget | None = None, located: Located | None = None
    ) -> tuple[Found, BoxList]:
        """Return the CXps of each instance, with unit weights, and the adversarial examples of each as boxes."""
        cells, outputs = located or self.locate(codes)
        if _is_limited(budget) and len(codes) > 1:
            rows = [slice(n, n + 1) for n in range(len(codes))]
            options: dict[str, Any] = {"max_size": max_size, "budget": budget}
            parts = [self.explain_in_boxes(codes[r], located=(cells[r], outputs[r]), **options) for r in rows]
            return Found.joined([found for found, _ in parts]), BoxList.joined([boxes for _, boxes in parts])
        starts, sets, pairs, _ = self._misses(cells, outputs, max_size, budget)
        found = Found(outputs, starts, sets, np.ones(len(sets), np.int64), (1,) * cells.shape[1], "unit")
        row, feature = np.nonzero(found.members)
        first = np.searchsorted(row, np.arange(len(sets) + 1))
        order = np.argsort(pairs[:, 1], kind="stable")
        box, own = pairs[order, 0], pairs[order, 1]
        # For each box the features of its set, one after the other.
        sizes = np.diff(first)[own]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places, table = self._spans
        spans = places[np.repeat(box, sizes), feature[np.repeat(first[own], sizes) + within]]
        return found, BoxList(found.features, np.bincount(own, minlength=len(sets)), spans, table)

    @cached_property
    def _spans(self) -> tuple[Cells, list[tuple[int, Span]]]:
        """For each box and feature the place of its cells in a list of all different ones, and that list."""
        found = np.empty(self.boxes.first.shape, dtype=np.int64)
        table: list[tuple[int, Span]] = []
        for i in range(len(self.boxes.grid.n_cells)):
            subset = self.boxes.subsets.get(i)
            rows = np.stack([self.boxes.first[:, i], self.boxes.last[:, i]], axis=1) if subset is None else subset
            distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
            found[:, i] = len(table) + inverse.reshape(-1)
            if subset is None:
                table += [(i, range(first, last)) for first, last in distinct.tolist()]
            else:
                table += [(i, tuple(np.flatnonzero(flags).tolist())) for flags in distinct]
        return found, table

    def dissimilar_boxes(self, v: Cells, output: Hashable, mask: int, *, budget: Budget | None = None) -> list[Box]:
        """Return disjoint boxes of the dissimilar points that agree with v, given by its cells, outside `mask`."""
        places, table = self._spans
        chosen = places[np.flatnonzero(self._reached(v, output, mask))][:, list(features_of(mask))]
        return [[table[k][1] for k in row] for row in chosen.tolist()]

    def _reached(self, v: Cells, output: Hashable, mask: int) -> npt.NDArray[np.bool_]:
        """Tell which boxes are dissimilar and hold a point that agrees with v outside `mask`."""
        home = self._number[output]
        rank = self._rank_of_box
        candidates = (rank < self._low[home]) | (rank >= self._high[home])
        # A point of the box that agrees with the instance outside `mask` exists iff the box holds the
        # instance's cell in all other features.
        for i in range(len(v)):
            if not mask >> i & 1:
                candidates &= ~self.boxes.misses(i, v[i : i + 1])[0]
        return candidates

    def _misses(
        self, cells: Cells, outputs: list[Any], max_size: int | None, budget: Budget | None
    ) -> tuple[Cells, npt.NDArray[np.uint64], Cells, Account]:
        """Return what :func:`_all_misses` does, of one instance if the budget is limited."""
        words = -(-cells.shape[1] // _WORD)
        if _is_limited(budget):
            _compile_kernel(min(words, 2))
        account = Account(budget, goal="explanation", advice="allow more, or ask for small CXps with max_size")
        home = np.array(self._numbers(outputs), dtype=np.int64)
        limit = cells.shape[1] if max_size is None else max_size
        task = self._rank_of_box, self._literals
        if not _is_limited(budget) or not len(cells):
            # What is similar depends on the output only, and that is the home box's.
            spans = self._low[home], self._high[home]
            if self._tree is not None:
                return *_tree_misses(cells, spans, self._tree, self._depth, len(self.boxes), limit), account
            return *_all_misses(cells, spans, *task, words, limit), account
        span = int(self._low[home[0]]), int(self._high[home[0]])
        return *_misses_within(account, cells, span, *task, words, limit), account

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar.

        Notes
        -----
        Linear in the literals: some dissimilar box must miss the instance within `mask` only.
        """
        cells, (output,) = self.locate(code[np.newaxis])
        return bool(self._reached(cells[0], output, mask).any())

    def _totals(
        self,
        weights: str,
        sets: npt.NDArray[np.uint64],
        pairs: Cells,
        account: Account,
    ) -> npt.NDArray[Any]:
        """Return for each set the sum over its boxes of the product of their worths."""
        from axfi_kc.engines.boxes import kernels as box_kernels

        largest = int(np.bitwise_count(sets).sum(axis=1).max(initial=1))
        # Disjoint boxes of a set Y weigh no more than the product of the wholes over Y, so this bounds every
        # partial sum; the largest wholes cover every Y of that size.
        worths, _, sums = self._cells_worth(weights)
        most = prod(sums[-largest:])
        narrow = most < _INT64
        key = (weights, narrow)
        if key not in self._worths:
            self._worths[key] = self._worth_of_literals(worths, narrow, account)
        task = (sets, self._literals.offset, self._literals.feature, self._worths[key])
        if narrow:
            narrow_totals = np.zeros(len(sets), np.int64)
            box_kernels.narrow_totals(pairs, *task, narrow_totals)
            return narrow_totals
        # Room for a sum of so many products, whatever they are: kernels do not look where they write.
        totals = np.zeros((len(sets), limbs_for(most.bit_length() + len(pairs).bit_length())), np.uint32)
        for begin in account.paced(range(0, len(pairs), _PAIRS), at_once=1):
            box_kernels.wide_totals(pairs, begin, min(begin + _PAIRS, len(pairs)), *task, totals)
        return totals

    def _worth_of_literals(self, worths: tuple[tuple[int, ...], ...], narrow: bool, account: Account) -> Any:
        """Return what boxes are worth, a number per literal, in the order of the literals: int64, or a row of limbs."""
        table = self.boxes.worths(worths, wide=not narrow, account=account)
        box = np.repeat(np.arange(len(self.boxes)), np.diff(self._literals.offset))
        if narrow:
            return table[box, self._literals.feature]
        width = limbs_for(max(map(sum, worths)).bit_length())
        spans = [slice(k, k + _ROWS) for k in range(0, len(box), _ROWS)]
        rows = [limbs_of(table[box[s], self._literals.feature[s]].tolist(), width) for s in paced(spans, account)]
        return np.concatenate([np.zeros((0, width), np.uint32), *rows])


def _all_misses(
    cells: Cells, spans: tuple[Cells, Cells], rank: Cells, lits: _Literals, words: int, max_size: int
) -> tuple[Cells, npt.NDArray[np.uint64], Cells]:
    """Return for each point its minimal missed sets; see the kernel ``misses_in_a_word``."""
    from axfi_kc.engines.boxes import kernels as box_kernels

    kernel = box_kernels.misses_in_a_word if words == 1 else box_kernels.misses_in_words
    n_boxes = len(rank)
    scratch = (np.empty(n_boxes, np.int64), np.empty((n_boxes, words), np.uint64), *np.empty((2, n_boxes), np.int64))
    return _collected(kernel, (cells, *spans, rank, lits, max_size, *scratch), len(cells), n_boxes, words)


def _tree_misses(
    cells: Cells, spans: tuple[Cells, Cells], tree: _Tree, depth: int, n_boxes: int, max_size: int
) -> tuple[Cells, npt.NDArray[np.uint64], Cells]:
    """Return the same of a tree; see the kernel ``misses_in_a_tree``."""
    from axfi_kc.engines.boxes import kernels as box_kernels

    alive, place = np.empty((2, n_boxes), np.int64)
    scratch = (np.empty((depth + 1, 3), np.int64), np.empty((n_boxes, 1), np.uint64), alive, place)
    task = (cells, *spans, tree, max_size, *scratch, np.empty((n_boxes, 2), np.int64))
    return _collected(box_kernels.misses_in_a_tree, task, len(cells), n_boxes, 1)


def _collected(
    kernel: Any, task: tuple[Any, ...], n_points: int, n_boxes: int, words: int
) -> tuple[Cells, npt.NDArray[np.uint64], Cells]:
    """Return what a kernel finds for points, in arrays that grow as needed."""
    starts = np.zeros(n_points + 1, np.int64)
    # Guesses for a small family per point; both arrays grow when they prove too small.
    sets = np.empty((8 * n_points + n_boxes, words), np.uint64)
    pairs = np.empty((16 * n_points + n_boxes, 2), np.int64)
    done, n_pairs = 0, 0
    while True:
        with interruptible():
            done, n_pairs = kernel(*task, done, starts, sets, pairs, n_pairs)
        if done == n_points:
            return starts, sets[: starts[-1]].copy(), pairs[:n_pairs].copy()
        # Doubling keeps all copies together linear in what is stored at the end.
        sets, pairs = np.concatenate([sets, np.empty_like(sets)]), np.concatenate([pairs, np.empty_like(pairs)])


def _is_limited(budget: Budget | None) -> bool:
    """Tell whether the time or the memory of an instance is limited; there are no search nodes."""
    return budget is not None and (budget.seconds is not None or budget.bytes is not None)


def _misses_within(
    account: Account, cells: Cells, span: tuple[int, int], rank: Cells, lits: _Literals, words: int, max_size: int
) -> tuple[Cells, npt.NDArray[np.uint64], Cells]:
    """Return the same for one point, with looks at the clock on the way."""
    from axfi_kc.engines.boxes import kernels as box_kernels

    kernel = box_kernels.antichain_in_a_word if words == 1 else box_kernels.antichain_in_words
    n_boxes, begin, n_slots, n_alive = len(rank), 0, 0, 0
    slot_of, alive = np.empty((2, n_boxes), np.int64)
    slots = np.empty((n_boxes, words), np.uint64)
    task = (cells, 0, *span, rank, lits, max_size, slot_of, slots, alive)
    of_box = 1 + len(lits.feature) // max(n_boxes, 1)
    while begin < n_boxes:
        account.look()
        # About the same work in each span. Every box may add a set, so the root bounds by how many the family
        # can grow meanwhile.
        end = min(n_boxes, begin + 1 + _WORK // (of_box + n_alive + isqrt(_WORK)))
        n_slots, n_alive = kernel(*task, begin, end, n_slots, n_alive)
        begin = end
    place = np.full(n_slots + 1, -1)  # of a slot, among the sets; the last one is for boxes without a slot
    place[alive[:n_alive]] = np.arange(n_alive)
    boxes = np.flatnonzero(place[slot_of] >= 0)
    return np.array([0, n_alive]), slots[alive[:n_alive]], np.stack([boxes, place[slot_of[boxes]]], axis=1)


@cache
def _compile_kernel(words: int) -> None:
    """Compile the kernel of one point, or load it from disk, before a budget's clock starts."""
    one, cells = np.ones(1, np.int64), np.zeros((1, 1), np.int64)
    lits = _Literals(np.array([0, 1]), np.zeros(1, np.int64), one, one + 1, -one, np.zeros(0, np.uint8))
    _misses_within(Account(None, goal="kernel"), cells, (0, 1), one, lits, words, 1)


def _similar_ranks(outputs: tuple[Hashable, ...], similarity: Similarity) -> tuple[Cells, Cells, Cells]:
    ids, delta = np.arange(len(outputs)), similarity.delta
    if similarity.toward is not None:
        # Two ranks: all classes but one are alike.
        ids = np.array([int(y == similarity.toward) for y in outputs])
    if delta is None:
        # A class is similar to itself only: a run of one rank.
        return ids, ids, ids + 1
    values = [exact(y, "regression output") for y in outputs]
    order = sorted(values)
    # Similar outputs form a closed range, both ends included.
    low = [bisect_left(order, y - delta) for y in values]
    high = [bisect_right(order, y + delta) for y in values]
    return (np.array([bisect_left(order, y) for y in values]), np.array(low), np.array(high))


def _tree_of(model: TreeSum, leaves: Cells, ranks: Cells) -> tuple[_Tree, int]:
    """Return a tree with the ranks of the boxes at its leaves, and its depth."""
    lowest, highest, box = np.full((3, len(model.feature)), -1, np.int64)
    lowest[:] = _INT64 - 1  # what no leaf that holds a point is below has no rank, which is similar to everything
    lowest[leaves] = highest[leaves] = ranks
    box[leaves] = np.arange(len(leaves))
    levels = [np.zeros(1, np.int64)]
    while len(levels[-1]):
        inner = levels[-1][model.feature[levels[-1]] >= 0]
        levels.append(np.concatenate([model.left[inner], model.right[inner]]))
    for level in reversed(levels):
        inner = level[model.feature[level] >= 0]
        lowest[inner] = np.minimum(lowest[model.left[inner]], lowest[model.right[inner]])
        highest[inner] = np.maximum(highest[model.left[inner]], highest[model.right[inner]])
    shape = (model.feature, model.left, model.right, model.mask_offset, model.left_mask)
    return _Tree(*shape, lowest, highest, box), len(levels)


def _literals_of(boxes: Boxes) -> _Literals:
    cells = np.array(boxes.grid.n_cells)
    # Literals only where a box leaves out a cell: the others could never be missed.
    restricted = (boxes.first > 0) | (boxes.last < cells)
    for i, inside in boxes.subsets.items():
        restricted[:, i] = ~inside.all(axis=1)
    box, feature = np.nonzero(restricted)
    subset, flags, start = (np.full(len(box), -1, dtype=np.int64), [np.zeros(0, np.uint8)], 0)
    for i, inside in boxes.subsets.items():
        mine = np.flatnonzero(feature == i)
        subset[mine] = start + np.arange(len(mine)) * inside.shape[1]
        flags.append(inside[box[mine]].astype(np.uint8).reshape(-1))
        start += len(flags[-1])
    return _Literals(
        # `nonzero` goes row by row, so `box` is sorted and each box's literals are neighbours.
        offset=np.searchsorted(box, np.arange(len(boxes) + 1)),
        feature=feature,
        first=boxes.first[box, feature].astype(np.int64),
        last=boxes.last[box, feature].astype(np.int64),
        subset=subset,
        inside=np.concatenate(flags),
    )
