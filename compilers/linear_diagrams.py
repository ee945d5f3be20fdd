"""Linear models over finite domains as decision diagrams.

Top-down over the features, by default largest swing first. Where one sum decides, each feature is a
tree of one test, and the sum is compiled like one of trees: what remains to be decided at a level is the
same for a whole interval of partial sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets.mdd_table import MddTable
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, feature_order
from axfi_kc.compilers.model_diagrams import Task, diagram_of
from axfi_kc.compilers.residual_trees import OrderedTrees
from axfi_kc.compilers.sum_diagrams import node_above_zero
from axfi_kc.models import Argmax, LinearModel, Positive

__all__ = ["compile_linear"]


def compile_linear(
    model: LinearModel,
    is_dissimilar: Callable[[Any], bool],
    *,
    order: Sequence[int] | None = None,
    account: Account | None = None,
) -> Circuit:
    """Return the ordered decision diagram of the points whose output `is_dissimilar`.

    Parameters
    ----------
    model
        Over integer and categorical features.
    is_dissimilar
        Of an output.
    order
        The features, first to last; by default the largest swing first.
    account
        Under which it is done, charged for sub-diagrams and partial sums; by default there is no limit.

    Raises
    ------
    DomainError
        If a feature is real: a hyperplane cuts it into no finite number of cells.

    Notes
    -----
    Binary classifiers merge on intervals of the partial sum. With several classes, and for the
    outputs of a regression, partial sums merge only when they are equal.

    Examples
    --------
    At least two of four bits, with at most two nodes per level:

    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.circuits.queries import count
    >>> bits = Domain([Integer(f"x{i}", 0, 1) for i in range(4)])
    >>> model = LinearModel.of_columns(bits, [[1, 1, 1, 1]], intercepts=[-1], rule=Positive((0, 1)))
    >>> circuit = compile_linear(model, lambda y: y == 1)
    >>> circuit.size, count(circuit)
    (Size(nodes=6, edges=10), 11)
    """
    rule, account = model.rule, account or Account(None, goal="diagram")
    features = feature_order(DEFAULT_ORDER, model.domain, model.uses()) if order is None else list(order)
    if isinstance(rule, Positive) or (isinstance(rule, Argmax) and len(rule.labels) == 2):
        return _threshold(model, [is_dissimilar(y) for y in rule.labels], features, account)
    return _sums(model, is_dissimilar, features, account)


@diagram_of.register
def _diagram(model: LinearModel, task: Task) -> Circuit:
    return compile_linear(model, task.is_wanted, order=task.features(model), account=task.account)


def _one_sum(model: LinearModel) -> tuple[list[list[int]], int]:
    """Return what each value of each feature adds to the one sum that decides, and the sum before."""
    features = range(len(model.domain))
    if isinstance(model.rule, Argmax):  # class 1 wins iff its score is above that of class 0
        pairs = [zip(model.gains(i, 0), model.gains(i, 1), strict=True) for i in features]
        return [[b - a for a, b in pair] for pair in pairs], model.base[1] - model.base[0]
    return [model.gains(i, 0) for i in features], model.base[0]


def _threshold(model: LinearModel, flags: Sequence[bool], order: Sequence[int], account: Account) -> Circuit:
    """Return the diagram of "the one sum is above 0", or not above 0, by which of the two classes is wanted."""
    table = MddTable(model.grid, order, account=account)
    if flags[0] == flags[1]:
        return table.circuit(int(flags[0]))
    gains, base = _one_sum(model)
    trees = OrderedTrees(order, tables=((i, gains[i]) for i in order), account=account)
    return table.circuit(node_above_zero(trees, base, table=table), negated=flags[0])


def _sums(model: LinearModel, is_dissimilar: Callable[[Any], bool], order: Sequence[int], account: Account) -> Circuit:
    """Return the diagram of a predicate on the output, one node per vector of partial sums.

    Level by level down, then up: what a level adds to each vector first, the nodes after.
    """
    build, scores = CircuitBuilder(model.grid), range(len(model.base))
    argmax = isinstance(model.rule, Argmax)

    def reduced(totals: Sequence[int]) -> tuple[int, ...]:
        """Return what matters of partial sums: for classes, how far each is above the first."""
        # Only differences decide which class wins, so sums that differ by a constant are one.
        return tuple(t - totals[0] for t in totals) if argmax else tuple(totals)

    layer, layers = {reduced(model.base)}, []
    for i in order:
        gains = list(zip(*(model.gains(i, k) for k in scores), strict=True))
        account.spend(len(layer))
        rows = {
            sums: [reduced([t + g for t, g in zip(sums, row, strict=True)]) for row in gains]
            for sums in account.paced(layer)
        }
        layers.append((i, rows))
        layer = {below for row in rows.values() for below in row}
    found = {sums: build.true if is_dissimilar(model.output_of(sums, 0)) else build.false for sums in layer}
    for i, rows in reversed(layers):
        found = {s: build.decision(i, (([c], found[b]) for c, b in enumerate(row))) for s, row in rows.items()}
    return build.circuit(found[reduced(model.base)])
