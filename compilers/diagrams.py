"""The complete diagram of a model: a reduced ordered MDD of the points with a given output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Budget, BudgetSpent, Watch
from axfi_kc.circuit import Circuit
from axfi_kc.compilers.circuit_diagrams import compile_region
from axfi_kc.compilers.linear_circuits import compile_linear
from axfi_kc.compilers.ordered_trees import LeafSets, OrderedTrees, leaf_sets_of_boxes, leaf_sets_of_tree
from axfi_kc.compilers.orders import DEFAULT_ORDER, Order, feature_order, uses_of
from axfi_kc.compilers.thresholds import ThresholdCompiler
from axfi_kc.errors import BudgetError, UnsupportedModelError
from axfi_kc.models import Boxes, CircuitModel, LinearModel, Model, TableModel, TreeSum
from axfi_kc.models.margins import Margins
from axfi_kc.similarity import Similarity
from axfi_kc.targets.mdd_nodes import MddNodes

__all__ = ["DEFAULT_ORDER", "compile_mdd"]

_NO_LIMIT = Budget()
_CHUNK = 256  # sub-diagrams between two looks at the clock: some 10 ms


class _Account:
    """Counts sub-diagrams against a budget."""

    def __init__(self, budget: Budget) -> None:
        self.nodes = 0
        self._watch = Watch(budget)
        self._next_look = 0

    @property
    def seconds(self) -> float:
        return self._watch.seconds

    def spend(self, nodes: int) -> None:
        """Count `nodes` more; raise when the budget does not allow them."""
        self.nodes += nodes
        if self.nodes > self._next_look:
            if self._watch.is_spent(self.nodes):
                raise BudgetSpent([])
            most = self._watch.budget.nodes
            self._next_look = self.nodes + _CHUNK if most is None else min(self.nodes + _CHUNK, most)


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
        The order of the features; see :func:`~axfi_kc.compilers.orders.feature_order`.
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
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> compile_mdd(TableModel.from_outputs(domain, [0, 1, 1, 0]), 0, Similarity()).size
    Size(nodes=3, edges=4)
    """
    if isinstance(model, CircuitModel):
        wanted = [similarity.holds(y, output) == similar for y in model.outputs]
        return compile_region(model, wanted, order=order, budget=budget)
    features = feature_order(order, model.domain, uses_of(model))
    account = _Account(budget)
    found = _attempt(
        model, _Task(output, similarity, MddNodes(model.grid, features, spend=account.spend), account.spend), similar
    )
    if found is None:
        raise BudgetError(
            f"The budget was spent after {account.nodes} sub-diagrams and {account.seconds:.2f} s, and the complete "
            "diagram is not finished; allow more, try another order, or explain without it (target='auto').",
            nodes=account.nodes,
            seconds=account.seconds,
        )
    return found


class _Task(NamedTuple):
    """What is compiled, and where the nodes go; these are in the order of the features."""

    output: Hashable
    similarity: Similarity
    nodes: MddNodes
    spend: Callable[[int], None]

    def flags(self, outputs: Sequence[Hashable]) -> list[int]:
        """Tell for each output, by 1 or 0, whether it is not similar."""
        return [int(not self.similarity.holds(y, self.output)) for y in outputs]

    def above_zero(self, sets: Sequence[LeafSets], values: Sequence[Sequence[int]], base: int = 0) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        trees = OrderedTrees(self.nodes.order, zip(sets, values, strict=True), spend=self.spend)
        return ThresholdCompiler(trees, nodes=self.nodes, spend=self.spend).compile(base)


def _attempt(model: Model, task: _Task, negated: bool) -> Circuit | None:
    """Return the circuit, or None when the budget is spent: then nothing refers to the nodes any more."""
    try:
        if isinstance(model, LinearModel):
            return compile_linear(
                model,
                lambda y: task.similarity.holds(y, task.output) == negated,
                order=task.nodes.order,
                spend=task.spend,
            )
        root = _dissimilar(model, task)
    except BudgetSpent:
        return None
    return task.nodes.circuit(root, negated=negated)


@singledispatch
def _dissimilar(model: Any, task: _Task) -> int:
    """Return the node of the points whose output is not similar."""
    raise UnsupportedModelError(f"No diagram for {type(model).__name__}; expected a neutral form from read_model.")


@_dissimilar.register
def _table(model: TableModel, task: _Task) -> int:
    found = np.array(task.flags(model.outputs))[model.table.transpose(task.nodes.order)]
    for place in reversed(range(found.ndim)):
        rows = found.reshape(-1, found.shape[-1])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        task.spend(len(distinct))
        ends = range(1, found.shape[-1] + 1)
        made = [task.nodes.node(place, ends, row) for row in distinct.tolist()]
        found = np.array(made)[inverse.reshape(-1)].reshape(found.shape[:-1])
    return int(found)


@_dissimilar.register
def _boxes(model: Boxes, task: _Task) -> int:
    flags = task.flags(model.outputs)
    return task.above_zero([leaf_sets_of_boxes(model)], [[flags[k] for k in model.output.tolist()]])


@_dissimilar.register
def _trees(model: TreeSum, task: _Task) -> int:
    sets = [leaf_sets_of_tree(model, t) for t in range(model.n_trees)]
    if model.n_trees == 1:
        flags = task.flags(model.leaf_outputs())
        return task.above_zero(sets, [[flags[leaf] for leaf in sets[0].leaves]])
    margins = Margins.of(model, task.output, task.similarity.delta)
    roots = []
    for summands, base in zip(margins.values.T.tolist(), margins.base.tolist(), strict=True):
        values = [[summands[leaf] for leaf in s.leaves] for s in sets]
        roots.append(task.above_zero(sets, values, base))
    return task.nodes.union(roots)
