"""The complete diagram of a model: a reduced ordered MDD of the points with a given output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_table import MddTable
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.compilers.sum_diagrams import LeafSets, OrderedTrees, compile_kernels, node_above_zero
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Boxes, CircuitModel, Model, Samples, Similarity, TableModel, TreeSum
from axfi_kc.models.tree_sum import Margins

__all__ = ["DEFAULT_ORDER", "Task", "compile_mdd", "diagram_of", "prepare"]


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
    prepare(model, budget)
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
        self.task, self.table = task, MddTable(model.grid, task.features(model), account=task.account)
        self.order = self.table.order

    def flags(self, outputs: Sequence[Hashable]) -> list[int]:
        """Tell for each output, by 1 or 0, whether it is not similar."""
        return [int(not self.task.similarity.holds(y, self.task.output)) for y in outputs]

    def above_zero(self, sets: Sequence[LeafSets], values: Sequence[Sequence[int]], base: int = 0) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        trees = OrderedTrees(self.order, zip(sets, values, strict=True), spend=self.task.spend)
        return node_above_zero(trees, base, table=self.table)

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
    sets = [_leaf_sets_of_tree(model, t) for t in range(model.n_trees)]
    if model.n_trees == 1:
        flags = made.flags(model.leaf_outputs())
        return made.circuit(made.above_zero(sets, [[flags[leaf] for leaf in sets[0].leaves]]))
    output, complement = task.similarity.sought(task.output, model.labels)
    margins = Margins.of(model, output, task.similarity.delta)
    roots = []
    for summands, base in zip(margins.values.T.tolist(), margins.base.tolist(), strict=True):
        values = [[summands[leaf] for leaf in s.leaves] for s in sets]
        roots.append(made.above_zero(sets, values, base))
    return made.union(roots, complement=complement)


def _leaf_sets_of_tree(model: TreeSum, tree: int) -> LeafSets:
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
    return LeafSets.of([int(model.leaf[n]) for n in leaves], of_cell)


def _parents_first(model: TreeSum, root: int) -> list[int]:
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        if model.feature[node] >= 0:
            stack += [int(model.right[node]), int(model.left[node])]
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
