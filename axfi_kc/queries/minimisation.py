"""The models nearest to a point: how many features they change, and the circuit of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuit import Circuit, CircuitBuilder, flat_of
from axfi_kc.queries.structure import require_decomposable
from axfi_kc.queries.transformations import account_of
from axfi_kc.sets import features_of

__all__ = ["minimised", "minimum_changes"]


def minimum_changes(circuit: Circuit, cells: Sequence[int]) -> int | None:
    """Return the least number of features in which a model differs from the point with these cells.

    Parameters
    ----------
    circuit
        Must be decomposable.
    cells
        The point.

    Returns
    -------
    int or None
        None if there is no model.

    Notes
    -----
    Linear: conjunctions add, disjunctions take the least.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> minimum_changes(circuit, (0, 0)), minimum_changes(circuit, (2, 0)), minimum_changes(circuit, (2, 1))
    (2, 1, 0)
    """
    require_decomposable(circuit, "minimum changes")
    from axfi_kc.queries import truth_kernels

    least = int(truth_kernels.changes(flat_of(circuit), np.asarray(cells, dtype=np.int64))[-1])
    return least if least <= len(circuit.grid.axes) else None


def minimised(circuit: Circuit, cells: Sequence[int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the models that differ from the point with these cells in the fewest features.

    Parameters
    ----------
    circuit
        Must be decomposable.
    cells
        The point.
    budget
        What it may cost, in seconds and bytes.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Nodes times features, because each feature that a part does not mention is set to the point's.
    Keeps determinism.
    """
    require_decomposable(circuit, "minimisation")
    return _Nearest(circuit, cells, account_of(budget)).circuit()


class _Near(NamedTuple):
    """The nearest models of a node: made in a builder, over which features, and how many they change."""

    node: int
    scope: int
    least: int


class _Nearest:
    """Makes the circuit of the nearest models, children first."""

    def __init__(self, circuit: Circuit, cells: Sequence[int], account: Account) -> None:
        self._circuit, self._point, self._account = circuit, cells, account
        self._build = CircuitBuilder(circuit.grid)
        self._stays: dict[int, int] = {0: self._build.true}
        self._never = len(circuit.grid.axes) + 1  # more changes than there are features: no model

    def circuit(self) -> Circuit:
        """Return the circuit of all features."""
        root = self._circuit.fold(
            decision=self._decision,
            conjunction=self._conjunction,
            disjunction=self._disjunction,
            false=_Near(self._build.false, 0, self._never),
            true=_Near(self._build.true, 0, 0),
            account=self._account,
            forget=True,
        )[-1]
        return self._build.circuit(self._lifted(root, (1 << len(self._circuit.grid.axes)) - 1))

    def _decision(self, feature: int, labels: list[int], below: list[_Near]) -> _Near:
        home, sets = self._point[feature], self._circuit.cell_sets
        rest = reduce(or_, (part.scope for part in below), 0)
        # an arc whose cells hold the point's own costs nothing there, and one change in its other cells
        ways: list[tuple[int, Sequence[int], _Near]] = []
        for k, part in zip(labels, below, strict=True):
            if home in sets[k]:
                ways.append((part.least, [home], part))
            others = [c for c in sets[k] if c != home]
            if others:
                ways.append((part.least + 1, others, part))
        least = min((cost for cost, _, _ in ways), default=self._never)
        if least >= self._never:
            return _Near(self._build.false, rest | 1 << feature, self._never)
        kept = [(cells, self._lifted(part, rest)) for cost, cells, part in ways if cost == least]
        return _Near(self._build.decision(feature, kept), rest | 1 << feature, least)

    def _conjunction(self, below: list[_Near]) -> _Near:
        least = min(self._never, sum(part.least for part in below))
        scope = reduce(or_, (part.scope for part in below), 0)
        return _Near(self._build.conjunction(part.node for part in below), scope, least)

    def _disjunction(self, below: list[_Near]) -> _Near:
        scope = reduce(or_, (part.scope for part in below), 0)
        least = min((part.least for part in below), default=self._never)
        near = [part for part in below if part.least == least]
        return _Near(self._build.disjunction(self._lifted(part, scope) for part in near), scope, least)

    def _lifted(self, part: _Near, wanted: int) -> int:
        """Return the part with the features that it does not mention set to the point's cells."""
        build, missing = self._build, wanted & ~part.scope
        if missing not in self._stays:
            literals = [build.literal(i, [self._point[i]]) for i in features_of(missing)]
            self._stays[missing] = build.conjunction(literals)
        return build.conjunction([part.node, self._stays[missing]])
