"""CXps and weights of a model that is a list of boxes: a decision tree, a truth table.

For each box with a dissimilar output let I be the features on which it misses the instance. The
CXps are the minimal sets among the I, and the weight of Y is the sum, over the boxes with I = Y,
of the product over Y of what the box holds. One pass, no search.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from fractions import Fraction
from functools import cache, partial
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, interruptible, paced
from axfi_kc.domain.measures import exact
from axfi_kc.engines.found import Found, Located, cell_worths, features_of_members, members_of_words
from axfi_kc.engines.per_output import one_by_one
from axfi_kc.models import Boxes, Similarity, TableModel, TreeSum, boxes_of
from axfi_kc.models.support import possible_boxes, support_of

__all__ = ["BoxEngine"]


_WORD = 64
_INT64 = 2**63
_WORK = 1 << 20  # comparisons of sets between two looks at the clock
_ROWS = 1 << 10
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
        self._literals = _literals_of(self.boxes)
        self._rank, self._low, self._high = _similar_ranks(self.boxes.outputs, similarity.delta)
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
    ) -> Found:
        """Return the CXps and weights of each instance; there is no search, and no node of a budget is used."""
        from axfi_kc.engines.boxes import kernels as box_kernels

        cells, outputs = located or self.locate(codes)
        is_free = budget is None or (budget.seconds is None and budget.bytes is None)
        if not is_free and len(codes) > 1:
            alone = partial(self.explain, weights=weights, max_size=max_size, budget=budget)
            return one_by_one(alone, codes, (cells, outputs))
        _compile_kernels()
        account = Account(budget, goal="explanation", advice="allow more, or ask for small CXps with max_size")
        home = np.array([self._number[y] for y in outputs], dtype=np.int64)
        limit = cells.shape[1] if max_size is None else max_size
        words = -(-cells.shape[1] // _WORD)
        task = self._rank[self.boxes.output], self._literals
        if is_free or not len(codes):
            # What is similar depends on the output only, and that is the home box's.
            low, high = self._low[home], self._high[home]
            with interruptible():
                starts, sets, pairs = box_kernels.minimal_misses(cells, low, high, *task, words, limit)
        else:
            low, high = self._low[home[0]], self._high[home[0]]
            starts, sets, pairs = _misses_within(account, cells, (low, high), *task, words, limit)
        worths, wholes = cell_worths(self.boxes.grid, weights)
        totals = (
            np.ones(len(sets), dtype=np.int64)
            if weights == "unit"
            else self._totals(weights, worths, sets, pairs, account)
        )
        return Found(outputs, starts, sets, totals, wholes, weights)

    def is_weak_cxp(self, code: Codes, mask: int, *, budget: Budget | None = None) -> bool:
        """Tell whether changing only the features of `mask` can make the output dissimilar.

        Notes
        -----
        Linear in the literals: some dissimilar box must miss the instance within `mask` only.
        """
        cells, (output,) = self.locate(code[np.newaxis])
        home = self._number[output]
        rank = self._rank[self.boxes.output]
        candidates = (rank < self._low[home]) | (rank >= self._high[home])
        # A point of the box that agrees with the instance outside `mask` exists iff the box holds the
        # instance's cell in all other features.
        for i in range(cells.shape[1]):
            if not mask >> i & 1:
                candidates &= ~self.boxes.misses(i, cells[:, i])[0]
        return bool(candidates.any())

    def _totals(
        self,
        weights: str,
        worths: tuple[tuple[int, ...], ...],
        sets: npt.NDArray[np.uint64],
        pairs: Cells,
        account: Account,
    ) -> npt.NDArray[Any]:
        """Return for each set the sum over its boxes of the product of their worths."""
        from axfi_kc.engines.boxes import kernels as box_kernels

        largest = int(np.bitwise_count(sets).sum(axis=1).max(initial=1))
        # Disjoint boxes of a set Y weigh no more than the product of the wholes over Y, so this bounds every
        # partial sum; the largest wholes cover every Y of that size.
        narrow = prod(sorted(map(sum, worths))[-largest:]) < _INT64
        key = (weights, narrow)
        if key not in self._worths:
            self._worths[key] = self._worth_of_boxes(worths, narrow, account)
        of_box = self._worths[key]
        if narrow:
            return box_kernels.narrow_totals(pairs, sets, self._literals.offset, self._literals.feature, of_box)
        totals = [0] * len(sets)
        members = features_of_members(members_of_words(sets, len(worths)))
        for box, found in paced(pairs.tolist(), account):
            row = of_box[box]
            totals[found] += prod([row[i] for i in members[found]])
        wide = np.empty(len(sets), dtype=object)
        wide[:] = totals
        return wide

    def _worth_of_boxes(self, worths: tuple[tuple[int, ...], ...], narrow: bool, account: Account) -> Any:
        """Return what boxes are worth: int64 per literal, or rows of Python ints per box."""
        table = self.boxes.worths(worths, wide=not narrow, account=account)
        if not narrow:
            firsts = account.paced(range(0, len(table), _ROWS), at_once=1)
            return [row for k in firsts for row in table[k : k + _ROWS].tolist()]
        # One number per literal, in the order of the literals.
        box = np.repeat(np.arange(len(self.boxes)), np.diff(self._literals.offset))
        return table[box, self._literals.feature]


def _misses_within(
    account: Account, cells: Cells, span: tuple[int, int], rank: Cells, lits: _Literals, words: int, max_size: int
) -> tuple[Cells, npt.NDArray[np.uint64], Cells]:
    """Return for one point what the kernel ``minimal_misses`` does, with looks at the clock on the way."""
    from axfi_kc.engines.boxes import kernels as box_kernels

    n_boxes, begin, n_slots, n_alive = len(rank), 0, 0, 0
    slot_of, alive = np.empty(n_boxes, np.int64), np.empty(n_boxes, np.int64)
    slots = np.empty((n_boxes, words), np.uint64)
    arrays = (slot_of, slots, alive)
    of_box = 1 + len(lits.feature) // max(n_boxes, 1)
    while begin < n_boxes:
        account.look()
        # About the same work in each span. Every box may add a set, so the root bounds by how many the family
        # can grow meanwhile.
        end = min(n_boxes, begin + 1 + _WORK // (of_box + n_alive + isqrt(_WORK)))
        part = (begin, end)
        n_slots, n_alive = box_kernels.antichain(cells, *span, rank, lits, max_size, *arrays, part, n_slots, n_alive)
        begin = end
    place = np.full(n_slots + 1, -1)  # of a slot, among the sets; the last one is for boxes without a slot
    place[alive[:n_alive]] = np.arange(n_alive)
    boxes = np.flatnonzero(place[slot_of] >= 0)
    return np.array([0, n_alive]), slots[alive[:n_alive]], np.stack([boxes, place[slot_of[boxes]]], axis=1)


@cache
def _compile_kernels() -> None:
    """Compile the kernels, or load them from disk, before a budget's clock starts."""
    one, cells = np.ones(1, np.int64), np.zeros((1, 1), np.int64)
    lits = _Literals(np.array([0, 1]), np.zeros(1, np.int64), one, one + 1, -one, np.zeros(0, np.uint8))
    _misses_within(Account(None, goal="kernel"), cells, (0, 1), one, lits, 1, 1)


def _similar_ranks(outputs: tuple[Hashable, ...], delta: Fraction | None) -> tuple[Cells, Cells, Cells]:
    ids = np.arange(len(outputs))
    if delta is None:
        # A class is similar to itself only: a run of one rank.
        return ids, ids, ids + 1
    values = [exact(y, "regression output") for y in outputs]
    order = sorted(values)
    # Similar outputs form a closed range, both ends included.
    low = [bisect_left(order, y - delta) for y in values]
    high = [bisect_right(order, y + delta) for y in values]
    return (np.array([bisect_left(order, y) for y in values]), np.array(low), np.array(high))


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
