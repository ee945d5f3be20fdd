"""The complete diagram of a model: a reduced ordered MDD of the points with a given output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.compilers.tree_diagrams import (
    LeafSets,
    OrderedTrees,
    ThresholdCompiler,
    leaf_sets_of_boxes,
    leaf_sets_of_tree,
)
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Boxes, Model, TableModel, TreeSum
from axfi_kc.models.margins import Margins
from axfi_kc.models.similarity import Similarity

__all__ = ["DEFAULT_ORDER", "Task", "compile_mdd", "diagram_of"]


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
    model
        Any neutral form.
    output
        An output of the model; for a regression any exact number.
    similarity
        Which outputs count as similar.
    similar
        Whether to compile the similar points instead.
    order
        The order of the features; see :func:`~axfi_kc.compilers.feature_orders.feature_order`.
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
    found = _attempt(model, Task(output, similarity, similar, order, budget, account.spend))
    if found is None:
        raise account.error()  # made here: an error raised below would hold the unfinished nodes by its traceback
    return found


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


def _attempt(model: Model, task: Task) -> Circuit | None:
    """Return the circuit, or None when the budget is spent: then nothing refers to the nodes any more."""
    try:
        return diagram_of(model, task)
    except BudgetError:
        return None


@singledispatch
def diagram_of(model: Any, task: Task) -> Circuit:
    """Return the diagram of a form; forms that have one register how it is made."""
    raise UnsupportedModelError(f"No diagram for {type(model).__name__}; expected a neutral form from read_model.")


class _Nodes:
    """The nodes of one diagram in the making: of the points whose output is not similar."""

    def __init__(self, model: Model, task: Task) -> None:
        self.task, self.nodes = task, MddNodes(model.grid, task.features(model), spend=task.spend)
        self.order = self.nodes.order

    def flags(self, outputs: Sequence[Hashable]) -> list[int]:
        """Tell for each output, by 1 or 0, whether it is not similar."""
        return [int(not self.task.similarity.holds(y, self.task.output)) for y in outputs]

    def above_zero(self, sets: Sequence[LeafSets], values: Sequence[Sequence[int]], base: int = 0) -> int:
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
    return made.circuit(made.above_zero([leaf_sets_of_boxes(model)], [[flags[k] for k in model.output.tolist()]]))


@diagram_of.register
def _trees(model: TreeSum, task: Task) -> Circuit:
    made = _Nodes(model, task)
    sets = [leaf_sets_of_tree(model, t) for t in range(model.n_trees)]
    if model.n_trees == 1:
        flags = made.flags(model.leaf_outputs())
        return made.circuit(made.above_zero(sets, [[flags[leaf] for leaf in sets[0].leaves]]))
    margins = Margins.of(model, task.output, task.similarity.delta)
    roots = []
    for summands, base in zip(margins.values.T.tolist(), margins.base.tolist(), strict=True):
        values = [[summands[leaf] for leaf in s.leaves] for s in sets]
        roots.append(made.above_zero(sets, values, base))
    return made.circuit(made.nodes.union(roots))
