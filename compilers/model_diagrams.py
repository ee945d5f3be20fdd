"""The complete diagram of a model: a reduced ordered MDD of the points with a given output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget, bounding_memory
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_table import MddTable
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.compilers.residual_trees import Ensemble, LeafSets, OrderedTrees
from axfi_kc.compilers.sum_diagrams import compile_kernels, node_above_zero
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Boxes, CircuitModel, Model, Samples, Similarity, TableModel, TreeSum
from axfi_kc.models.tree_sum import Margins

__all__ = ["DEFAULT_ORDER", "Task", "compile_mdd", "diagram_of", "prepare"]


_NO_LIMIT = Budget()
Turns = dict[int, list[int]]  # where tables of sides, by their offsets, change sides


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
    prepare(model, budget)
    with bounding_memory(budget):
        account = Account(
            budget,
            goal="complete diagram",
            advice="allow more, try another order, or explain without it (target='auto')",
            unit="sub-diagrams",
        )
        try:
            return diagram_of(model, Task(output, similarity, similar, order, budget, account))
        except BudgetError:
            pass  # by its traceback it would hold the unfinished nodes
        raise account.error()


def prepare(model: Model, budget: Budget | None) -> None:
    """Compile the kernels that a diagram of `model` needs, or load them from disk, before a budget's clock starts."""
    if budget not in (None, _NO_LIMIT) and not isinstance(model, CircuitModel):
        compile_kernels()
        if isinstance(model, TreeSum) and model.n_trees > 1:
            Ensemble.compile_kernels()


class Task(NamedTuple):
    """Which points are compiled, in which order, and what it may cost."""

    output: Hashable
    similarity: Similarity
    similar: bool
    order: Order
    budget: Budget
    account: Account

    @property
    def spend(self) -> Callable[[int], None]:
        """What counts steps against the budget, and raises when it is spent."""
        return self.account.spend

    def is_wanted(self, output: Hashable) -> bool:
        """Tell whether the points with this output are to be compiled."""
        return self.similarity.holds(output, self.output) == self.similar

    def features(self, model: Model) -> list[int]:
        """Return the features, first to last."""
        return feature_order(self.order, model.domain, model.uses(), account=self.account)


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
        self.task, self.table = task, MddTable(model.grid, task.features(model), account=task.account)
        self.order = self.table.order

    def flags(self, outputs: Sequence[Hashable]) -> list[int]:
        """Tell for each output, by 1 or 0, whether it is not similar."""
        return [int(not self.task.similarity.holds(y, self.task.output)) for y in outputs]

    def above_zero(self, sets: Sequence[LeafSets], values: Sequence[Sequence[int]], base: int = 0) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        trees = OrderedTrees(self.order, zip(sets, values, strict=True), account=self.task.account)
        return node_above_zero(trees, base, table=self.table)

    def above_zero_of(self, ensemble: Ensemble, values: Sequence[int], base: int) -> int:
        """Return the node of "`base` plus the trees of an ensemble is above 0"."""
        return node_above_zero(ensemble.residuals(values, base, account=self.task.account), base, table=self.table)

    def circuit(self, root: int) -> Circuit:
        """Return the diagram below a node, negated if the similar points are wanted."""
        return self.table.circuit(root, negated=self.task.similar)

    def union(self, roots: Sequence[int], *, complement: bool) -> Circuit:
        """Return the diagram of what one of several nodes has, or of what none has, for what is not similar."""
        return self.table.circuit(self.table.union(roots), negated=self.task.similar != complement)


@diagram_of.register
def _table(model: TableModel, task: Task) -> Circuit:
    made = _Nodes(model, task)
    found = np.array(made.flags(model.outputs))[model.table.transpose(made.order)]
    for place in reversed(range(found.ndim)):
        rows = found.reshape(-1, found.shape[-1])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        task.spend(len(distinct))
        nodes = made.table.nodes(place, distinct)
        found = nodes[inverse.reshape(-1)].reshape(found.shape[:-1])
    return made.circuit(int(found))


@diagram_of.register
def _boxes(model: Boxes, task: Task) -> Circuit:
    made = _Nodes(model, task)
    flags = made.flags(model.outputs)
    return made.circuit(made.above_zero([_leaf_sets_of_boxes(model)], [[flags[k] for k in model.output.tolist()]]))


@diagram_of.register
def _trees(model: TreeSum, task: Task) -> Circuit:
    made = _Nodes(model, task)
    if model.n_trees == 1:
        sets, flags = _leaf_sets_of_trees(model, task.account), made.flags(model.leaf_outputs())
        return made.circuit(made.above_zero(sets, [[flags[leaf] for leaf in sets[0].leaves]]))
    output, complement = task.similarity.sought(task.output, model.labels)
    margins = Margins.of(model, output, task.similarity.delta)
    task.account.look()  # a pass over all leaves, which takes a while
    sums = zip(margins.values.T.tolist(), margins.base.tolist(), strict=True)
    if Ensemble.fits(model):
        ensemble = Ensemble(model, made.order)
        roots = [made.above_zero_of(ensemble, values, base) for values, base in sums]
    else:
        sets = _leaf_sets_of_trees(model, task.account)
        roots = [made.above_zero(sets, [[v[leaf] for leaf in s.leaves] for s in sets], base) for v, base in sums]
    return made.union(roots, complement=complement)


def _leaf_sets_of_trees(model: TreeSum, account: Account) -> list[LeafSets]:
    """Return the leaves of each tree by cell.

    Notes
    -----
    Nodes times runs of cells of the tested feature, in operations on ints with a bit per leaf.
    """
    feature, left, right, leaf = (a.tolist() for a in (model.feature, model.left, model.right, model.leaf))
    offset, sides, turns = model.mask_offset.tolist(), model.left_mask.tobytes(), _turns(model)
    made = []
    for root in account.paced(model.tree_offset[:-1].tolist(), at_once=1):
        nodes = _parents_first(feature, left, right, root)
        leaves = [n for n in nodes if feature[n] < 0]
        # One bit per leaf, so that "which leaves are still open" is an int and intersecting is one operation.
        below = {n: 1 << k for k, n in enumerate(leaves)}
        tests: dict[int, list[tuple[int, int, int]]] = {}
        # Children before parents, so that the leaves below both sides are known.
        for node in reversed(nodes):
            if node not in below:
                below[node] = below[left[node]] | below[right[node]]
                tests.setdefault(feature[node], []).append((offset[node], below[left[node]], below[right[node]]))
        everything, n_cells = (1 << len(leaves)) - 1, model.grid.n_cells
        runs = {i: _open_in_runs(n_cells[i], sides, turns, asked, everything) for i, asked in tests.items()}
        made.append(LeafSets([leaf[n] for n in leaves], runs))
    return made


def _turns(model: TreeSum) -> Turns:
    """Return for each table of sides, by its offset, the cells that go to another side than the one before."""
    inner = np.flatnonzero(model.feature >= 0)
    offsets, first = np.unique(model.mask_offset[inner], return_index=True)
    ends = offsets + np.array(model.grid.n_cells)[model.feature[inner[first]]]
    places = np.flatnonzero(np.diff(model.left_mask)) + 1
    spans = zip(offsets.tolist(), *np.searchsorted(places, [offsets + 1, ends]).tolist(), strict=True)
    listed = places.tolist()
    return {offset: [k - offset for k in listed[a:b]] for offset, a, b in spans}


def _open_in_runs(
    n_cells: int, sides: bytes, turns: Turns, tests: list[tuple[int, int, int]], everything: int
) -> tuple[list[int], list[int]]:
    """Return runs of cells that some tests of a feature treat alike: where each ends, and the leaves open to it.

    A test is where its cells begin in `sides`, and the leaves on its left and on its right.
    """
    starts = sorted({0}.union(*(turns.get(at, ()) for at, _, _ in tests)))
    ends, found = list[int](), list[int]()
    for first, end in pairwise([*starts, n_cells]):
        # A cell that goes left closes all leaves on the right, and the other way round.
        closed = 0
        for at, left, right in tests:
            closed |= right if sides[at + first] else left
        if found and found[-1] == everything & ~closed:
            ends[-1] = end
        else:
            ends.append(end)
            found.append(everything & ~closed)
    return ends, found


def _parents_first(feature: list[int], left: list[int], right: list[int], root: int) -> list[int]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        if feature[node] >= 0:
            stack += [right[node], left[node]]
    return found


def _leaf_sets_of_boxes(boxes: Boxes) -> LeafSets:
    """Return boxes by cell, as if they were the leaves of one tree."""
    of_cell = {}
    for i, n_cells in enumerate(boxes.grid.n_cells):
        held = ~boxes.misses(i, np.arange(n_cells))
        if not held.all():
            packed = np.packbits(held, axis=1, bitorder="little")
            of_cell[i] = [int.from_bytes(row.tobytes(), "little") for row in packed]
    return LeafSets.of(list(range(len(boxes))), of_cell)
