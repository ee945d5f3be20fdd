"""The complete diagram of a model: a reduced ordered MDD of the points with a given output.

A tree tests features in any order. In an ordered diagram each path tests them in one order, so a
node *is* what remains of the tree once the earlier features are known. Nodes are normalised: the
least value below a node is 0 and what was taken off is an amount on the arc, so residual trees
that differ by a constant are one node.

The diagram of "a sum of trees is above 0" is made top-down over the features: what remains below a
point of the search is a multiset of residual trees and a partial sum. Sub-diagrams are remembered per
multiset, each with the interval of partial sums for which it is the same; without the intervals almost
nothing would be met twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Boxes, Model, Samples, Similarity, TableModel, TreeSum
from axfi_kc.models.tree_sum import Margins

__all__ = ["DEFAULT_ORDER", "OrderedTrees", "Task", "ThresholdCompiler", "compile_mdd", "diagram_of"]


_NO_LIMIT = Budget()


def compile_mdd(
    model: Model,
    output: Hashable,
    similarity: Similarity,
    *,
    similar: bool = False,
    order: Order = DEFAULT_ORDER,
    budget: Budget = _NO_LIMIT,
) -> Circuit:
    """Return the reduced ordered MDD of the points whose output is not similar to `output`.

    Parameters
    ----------
    model, output, similarity, similar, order
        As in :func:`~axfi_kc.compilers.compiled_model.compile_target`.
    budget
        What the compilation may cost; its nodes are sub-diagrams, residual trees and partial sums.

    Raises
    ------
    BudgetError
        If the budget was spent; nothing of the unfinished diagram is kept.
    DomainError
        If a linear model has a real feature: a hyperplane cuts it into no finite number of cells.

    Notes
    -----
    Exponential at worst for a sum of trees, as the diagram itself may be; linear for a table.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> compile_mdd(TableModel.from_outputs(domain, [0, 1, 1, 0]), 0, Similarity()).size
    Size(nodes=3, edges=4)
    """
    account = Account(
        budget,
        goal="complete diagram",
        advice="allow more, try another order, or explain without it (target='auto')",
        unit="sub-diagrams",
    )
    try:
        return diagram_of(model, Task(output, similarity, similar, order, budget, account.spend))
    except BudgetError:
        pass  # by its traceback it would hold the unfinished nodes
    raise account.error()


class Task(NamedTuple):
    """Which points are compiled, in which order, and what it may cost."""

    output: Hashable
    similarity: Similarity
    similar: bool
    order: Order
    budget: Budget
    spend: Callable[[int], None]

    def is_wanted(self, output: Hashable) -> bool:
        """Tell whether the points with this output are to be compiled."""
        return self.similarity.holds(output, self.output) == self.similar

    def features(self, model: Model) -> list[int]:
        """Return the features, first to last."""
        return feature_order(self.order, model.domain, model.uses())


@singledispatch
def diagram_of(model: Any, task: Task) -> Circuit:
    """Return the diagram of a form; forms that have one register how it is made."""
    raise UnsupportedModelError(f"No diagram for {type(model).__name__}; expected a neutral form from read_model.")


@diagram_of.register
def _samples(model: Samples, task: Task) -> Circuit:
    raise UnsupportedModelError(
        "Rows of a data set have no circuit: they are points, not a function of all points; compile the model itself."
    )


class _Nodes:
    """The nodes of one diagram in the making: of the points whose output is not similar."""

    def __init__(self, model: Model, task: Task) -> None:
        self.task, self.nodes = task, MddNodes(model.grid, task.features(model), spend=task.spend)
        self.order = self.nodes.order

    def flags(self, outputs: Sequence[Hashable]) -> list[int]:
        """Tell for each output, by 1 or 0, whether it is not similar."""
        return [int(not self.task.similarity.holds(y, self.task.output)) for y in outputs]

    def above_zero(self, sets: Sequence[_LeafSets], values: Sequence[Sequence[int]], base: int = 0) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        trees = OrderedTrees(self.order, zip(sets, values, strict=True), spend=self.task.spend)
        return ThresholdCompiler(trees, nodes=self.nodes, spend=self.task.spend).compile(base)

    def circuit(self, root: int) -> Circuit:
        """Return the diagram below a node, negated if the similar points are wanted."""
        return self.nodes.circuit(root, negated=self.task.similar)


@diagram_of.register
def _table(model: TableModel, task: Task) -> Circuit:
    made = _Nodes(model, task)
    found = np.array(made.flags(model.outputs))[model.table.transpose(made.order)]
    for place in reversed(range(found.ndim)):
        rows = found.reshape(-1, found.shape[-1])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        task.spend(len(distinct))
        ends = range(1, found.shape[-1] + 1)
        nodes = [made.nodes.node(place, ends, row) for row in distinct.tolist()]
        found = np.array(nodes)[inverse.reshape(-1)].reshape(found.shape[:-1])
    return made.circuit(int(found))


@diagram_of.register
def _boxes(model: Boxes, task: Task) -> Circuit:
    made = _Nodes(model, task)
    flags = made.flags(model.outputs)
    return made.circuit(made.above_zero([_leaf_sets_of_boxes(model)], [[flags[k] for k in model.output.tolist()]]))


@diagram_of.register
def _trees(model: TreeSum, task: Task) -> Circuit:
    made = _Nodes(model, task)
    sets = [_leaf_sets_of_tree(model, t) for t in range(model.n_trees)]
    if model.n_trees == 1:
        flags = made.flags(model.leaf_outputs())
        return made.circuit(made.above_zero(sets, [[flags[leaf] for leaf in sets[0].leaves]]))
    margins = Margins.of(model, task.output, task.similarity.delta)
    roots = []
    for summands, base in zip(margins.values.T.tolist(), margins.base.tolist(), strict=True):
        values = [[summands[leaf] for leaf in s.leaves] for s in sets]
        roots.append(made.above_zero(sets, values, base))
    return made.circuit(made.nodes.union(roots))


Amount = tuple[int, int]  # what is added, and the residual tree
Cells = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _LeafSets:
    """Which leaves of one tree are open to which cells.

    Attributes
    ----------
    leaves
        The leaves, as rows of the model's values.
    of_cell
        For each tested feature and each of its cells, the leaves that no test of the feature
        excludes, as an int whose bit k is ``leaves[k]``.
    """

    leaves: list[int]
    of_cell: dict[int, list[int]]


def _leaf_sets_of_tree(model: TreeSum, tree: int) -> _LeafSets:
    """Return the leaves of a tree by cell.

    Notes
    -----
    Nodes times cells of the tested feature, in operations on ints with a bit per leaf.
    """
    nodes = _parents_first(model, int(model.tree_offset[tree]))
    leaves = [n for n in nodes if model.feature[n] < 0]
    # One bit per leaf, so that "which leaves are still open" is an int and intersecting is one operation.
    below = {n: 1 << k for k, n in enumerate(leaves)}
    everything = (1 << len(leaves)) - 1
    of_cell: dict[int, list[int]] = {}
    # Children before parents, so that the leaves below both sides are known.
    for node in reversed(nodes):
        if node in below:
            continue
        left, right = below[int(model.left[node])], below[int(model.right[node])]
        below[node] = left | right
        i, start = int(model.feature[node]), int(model.mask_offset[node])
        goes_left = model.left_mask[start : start + model.grid.n_cells[i]].tolist()
        open_to = of_cell.get(i) or [everything] * len(goes_left)
        # A cell that goes left closes all leaves on the right, and the other way round.
        of_cell[i] = [s & ~(right if goes else left) for s, goes in zip(open_to, goes_left, strict=True)]
    return _LeafSets([int(model.leaf[n]) for n in leaves], of_cell)


def _parents_first(model: TreeSum, root: int) -> list[int]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        if model.feature[node] >= 0:
            stack += [int(model.right[node]), int(model.left[node])]
    return found


def _leaf_sets_of_boxes(boxes: Boxes) -> _LeafSets:
    """Return boxes by cell, as if they were the leaves of one tree."""
    of_cell = {}
    for i, n_cells in enumerate(boxes.grid.n_cells):
        held = ~boxes.misses(i, np.arange(n_cells))
        if not held.all():
            packed = np.packbits(held, axis=1, bitorder="little")
            of_cell[i] = [int.from_bytes(row.tobytes(), "little") for row in packed]
    return _LeafSets(list(range(len(boxes))), of_cell)


class OrderedTrees:
    """Residual trees with integer leaves, each made once.

    Residual tree 0 is the constant 0. Residual tree r tests the feature at place ``place[r]`` of
    the order; in cell c it adds ``amounts[r][c]`` and goes on as ``children[r][c]``. Its least
    value is 0, its largest ``most[r]``. Numbers grow with the place, so among several residual
    trees those that test the first feature have the lowest numbers.

    Parameters
    ----------
    order
        The features, first to last.
    trees
        Leaf sets and the leaves' values (one per entry of ``leaves``), for each tree.
    tables
        Further trees, of one test each: its feature, and what each cell adds.
    spend
        Called with a number of residual trees before they are made; may raise.

    Attributes
    ----------
    roots
        Per tree, what is added whatever the point, and the residual tree.
    """

    def __init__(
        self,
        order: Sequence[int],
        trees: Iterable[tuple[_LeafSets, Sequence[int]]] = (),
        *,
        tables: Iterable[tuple[int, Sequence[int]]] = (),
        spend: Callable[[int], None],
    ) -> None:
        self._spend = spend
        self._number: dict[tuple[int, tuple[Amount, ...]], int] = {}
        self.place: list[int] = [len(order)]
        self.most: list[int] = [0]
        place_of = {feature: k for k, feature in enumerate(order)}
        roots = [self._root(sets, values, place_of) for sets, values in trees]
        roots += [self._node(place_of[i], [(gain, 0) for gain in gains]) for i, gains in tables]
        self._renumber(roots)

    def _root(self, sets: _LeafSets, values: Sequence[int], place_of: Mapping[int, int]) -> Amount:
        """Add one tree: down over the sets of leaves that can still be reached, then up."""
        features = sorted(sets.of_cell, key=place_of.__getitem__)
        everything = (1 << len(sets.leaves)) - 1
        found: dict[int, Amount] = {}
        layers: list[dict[int, list[int]]] = []
        open_sets = {everything}
        for i in features:
            self._settle(open_sets, values, found)
            # Once per layer, before it is made: the layers are what can grow exponentially.
            self._spend(len(open_sets))
            layer = {s: [s & cell for cell in sets.of_cell[i]] for s in open_sets}
            layers.append(layer)
            # Never an empty set: some leaf takes any completion of the cells chosen so far.
            open_sets = {s for row in layer.values() for s in row}
        self._settle(open_sets, values, found)
        # From the last feature up: rows of a layer lead to sets that are found already.
        for i, layer in zip(reversed(features), reversed(layers), strict=True):
            made = {s: self._node(place_of[i], [found[c] for c in row]) for s, row in layer.items()}
            found.update(made)
        return found[everything]

    @staticmethod
    def _settle(open_sets: set[int], values: Sequence[int], found: dict[int, Amount]) -> None:
        """Move the sets whose leaves all have one value from `open_sets` to `found`."""
        for s in list(open_sets):
            first = values[(s & -s).bit_length() - 1]
            # One value left means that no later feature matters: a constant, residual tree 0.
            if all(values[k] == first for k in _members(s)):
                found[s] = (first, 0)
                open_sets.remove(s)

    def _node(self, place: int, row: Sequence[Amount]) -> Amount:
        least = min(amount for amount, _ in row)
        # All cells do the same, so the feature is not tested.
        if all(arc == row[0] for arc in row):
            return row[0]
        # Normalised to least value 0: trees that differ by a constant share this node.
        arcs = tuple((amount - least, child) for amount, child in row)
        number = self._number.setdefault((place, arcs), len(self._number) + 1)
        # New exactly if it got the next free number.
        if number == len(self.place):
            self.place.append(place)
            self.most.append(max(amount + self.most[child] for amount, child in arcs))
        return least, number

    def _renumber(self, roots: Sequence[Amount]) -> None:
        """Give lower numbers to earlier features."""
        arcs = [(), *(found for _, found in self._number)]
        # But for the constant 0, children come after their parents, because they test later features.
        by_place = [0, *sorted(range(1, len(arcs)), key=lambda r: self.place[r])]
        new = [0] * len(arcs)
        for number, old in enumerate(by_place):
            new[old] = number
        self.roots = [(amount, new[r]) for amount, r in roots]
        self.place = [self.place[r] for r in by_place]
        self.most = [self.most[r] for r in by_place]
        self.amounts = [tuple(a for a, _ in arcs[r]) for r in by_place]
        self.children = [tuple(new[c] for _, c in arcs[r]) for r in by_place]
        self._breaks = [_breaks(arcs[r]) for r in by_place]
        self._runs: dict[tuple[int, int], tuple[Cells, Cells]] = {}
        # The keys held all arcs a second time.
        self._number.clear()

    def common_runs(self, residuals: Sequence[int]) -> tuple[Cells, Cells]:
        """Return first cells and ends of the runs of cells that residual trees of one place treat alike."""
        breaks = 0
        for r in residuals:
            breaks |= self._breaks[r]
        key = self.place[residuals[0]], breaks
        # Many multisets break their feature's cells in the same places.
        found = self._runs.get(key)
        if found is None:
            inner = tuple(_members(breaks))
            found = self._runs[key] = (0, *inner), (*inner, len(self.children[residuals[0]]))
        return found


def _breaks(arcs: Sequence[Amount]) -> int:
    """Return the cells that do not do what the cell before does, as an int whose bit c is cell c."""
    return sum(1 << c for c, (before, here) in enumerate(pairwise(arcs), start=1) if before != here)


def _members(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


Residuals = tuple[int, ...]


class _State:
    """A multiset of residual trees, with the sub-diagrams found for it so far.

    Run k of the first feature's cells ends before ``ends[k]``, adds ``amounts[k]`` and leaves the
    state ``below[k]``, which can add at most ``mosts[k]``. The sub-diagram ``nodes[k]`` holds for
    the partial sums ``lows[k] <= total < highs[k]``; these intervals are disjoint and sorted.
    """

    __slots__ = ("amounts", "below", "ends", "highs", "lows", "mosts", "nodes", "place", "residuals")

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.place = -1
        self.ends: tuple[int, ...] = ()
        self.amounts: list[int] = []
        self.mosts: list[int] = []
        self.below: list[_State | Residuals] = []
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.nodes: list[int] = []


class _Frame:
    """A sub-diagram in the making: the children found so far, and the interval they allow."""

    __slots__ = ("children", "high", "low", "state", "total")

    def __init__(self, state: _State, total: int, far: int) -> None:
        self.state = state
        self.total = total
        self.low = -far
        self.high = far
        self.children: list[int] = []


class ThresholdCompiler:
    """Compiles "base + sum of trees > 0" into a reduced ordered MDD.

    Parameters
    ----------
    trees
        The trees of the sum, ordered.
    nodes
        Where nodes are made and shared.
    spend
        Called with a number of sub-diagrams before they are made; may raise.

    Notes
    -----
    Exponential at worst. Integers of any size; no recursion.
    """

    def __init__(self, trees: OrderedTrees, *, nodes: MddNodes, spend: Callable[[int], None]) -> None:
        self._trees = trees
        self._nodes = nodes
        self._spend = spend
        self._states: dict[Residuals, _State] = {}

    def compile(self, base: int) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        # Residual tree 0 adds nothing. Sorted, equal multisets are equal tuples.
        residuals = tuple(sorted(r for _, r in self._trees.roots if r))
        total = base + sum(amount for amount, _ in self._trees.roots)
        most = sum(self._trees.most[r] for r in residuals)
        # Residual trees are at least 0, so `total` is the least and `total + most` the largest sum.
        if total > 0 or total + most <= 0:
            return int(total > 0)
        # beyond every partial sum, also after all amounts on a path are taken off
        far = abs(total) + 2 * most + 2
        top = self._state(residuals)
        frames = [self._frame(top, total, far)]
        while frames:
            child = self._advance(frames[-1], far)
            if child is not None:
                frames.append(child)
            else:
                self._close(frames.pop())
        return top.nodes[0]

    def _advance(self, frame: _Frame, far: int) -> _Frame | None:
        """Look up the children of a frame; return the frame of the first that is not known yet.

        Residual trees are at least 0, so the partial sum is also the least sum below.
        """
        here, children, total, low, high = frame.state, frame.children, frame.total, frame.low, frame.high
        amounts, mosts, below = here.amounts, here.mosts, here.below
        # Children found earlier stay: a frame that was left is taken up where it stopped.
        for run in range(len(children), len(amounts)):
            amount = amounts[run]
            at = total + amount
            if at > 0:
                # True for every sum from 1 on, as nothing below can take anything away.
                child, first, end = 1, 1, far
            elif at + mosts[run] <= 0:
                # False as long as sum and most do not exceed 0; intervals end before their second number.
                child, first, end = 0, -far, 1 - mosts[run]
            else:
                state = below[run]
                if isinstance(state, tuple):
                    state = below[run] = self._state(state)
                k = bisect_right(state.lows, at) - 1
                # The last interval that begins at or below the sum, if it reaches that far.
                if k < 0 or at >= state.highs[k]:
                    frame.low, frame.high = low, high
                    return self._frame(state, at, far)
                child, first, end = state.nodes[k], state.lows[k], state.highs[k]
            children.append(child)
            # Seen from here, a child's interval lies lower by what the arc adds. The node holds where all of
            # its children do.
            if first - amount > low:
                low = first - amount
            if end - amount < high:
                high = end - amount
        frame.low, frame.high = low, high
        return None

    def _close(self, frame: _Frame) -> None:
        """Make the node of a finished frame and remember its interval."""
        state = frame.state
        node = self._nodes.node(state.place, state.ends, frame.children)
        # Intervals of a state are disjoint, so ordering them by their beginnings orders them altogether.
        k = bisect_right(state.lows, frame.low)
        state.lows.insert(k, frame.low)
        state.highs.insert(k, frame.high)
        state.nodes.insert(k, node)

    def _frame(self, state: _State, total: int, far: int) -> _Frame:
        self._spend(1)
        # Only when it is first entered: a state whose sums the bounds settle is never expanded.
        if not state.amounts:
            self._expand(state)
        return _Frame(state, total, far)

    def _state(self, residuals: Residuals) -> _State:
        state = self._states.get(residuals)
        if state is None:
            state = self._states[residuals] = _State(residuals)
        return state

    def _expand(self, state: _State) -> None:
        """Find what each run of cells of the first feature adds and leaves."""
        trees, residuals = self._trees, state.residuals
        state.place = trees.place[residuals[0]]
        n = 1
        # Numbers grow with the place, so trees that test the first feature stand at the front.
        while n < len(residuals) and trees.place[residuals[n]] == state.place:
            n += 1
        touched, rest = residuals[:n], list(residuals[n:])
        rest_most = sum([trees.most[r] for r in rest])
        starts, state.ends = trees.common_runs(touched)
        amounts, children = [trees.amounts[r] for r in touched], [trees.children[r] for r in touched]
        for cell in starts:
            left = [row[cell] for row in children]
            state.amounts.append(sum([row[cell] for row in amounts]))
            state.mosts.append(rest_most + sum([trees.most[r] for r in left]))
            # Canonical again: what a touched tree leaves may test any later feature.
            state.below.append(tuple(sorted([r for r in left if r] + rest)))
