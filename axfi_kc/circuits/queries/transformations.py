"""Circuits made from circuits: conditioning, forgetting, smoothing.

Each goes over the nodes once, children first, and makes them anew in a builder.

The models nearest to a point: how many features they change, and the circuit of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, flat_of
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.families.masks import features_of

__all__ = [
    "account_of",
    "condition",
    "copied",
    "forget",
    "forget_one",
    "minimised",
    "minimum_changes",
    "rebuilt",
    "smooth",
]


Decide = Callable[[int, Sequence[int], Sequence[int]], int]
_Scoped = tuple[int, int]  # a node of a builder, and the features that it mentions as an int


def condition(circuit: Circuit, fixed: Mapping[int, int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the remaining features, those in `fixed` (feature: cell) set.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear. Keeps decomposability, determinism and order.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> condition(circuit, {0: 2}).size
    Size(nodes=1, edges=1)
    """
    build = CircuitBuilder.like(circuit)
    taken = {i: [c in cells for cells in circuit.cell_sets] for i, c in fixed.items()}

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        if feature not in taken:
            return build.decide(feature, labels, below)
        holds = taken[feature]
        return next((c for c, k in zip(below, labels, strict=True) if holds[k]), build.false)

    return build.circuit(rebuilt(circuit, build, decide, account_of(budget))[-1])


def account_of(budget: Budget | None) -> Account:
    """Return the account of a query or a transformation."""
    return Account(budget, goal="circuit", advice="allow more")


def rebuilt(circuit: Circuit, build: CircuitBuilder, decide: Decide, account: Account | None) -> list[int]:
    """Return the number that each node gets in `build` when `decide` makes the decisions."""
    return circuit.fold(
        decision=decide,
        conjunction=build.conjunction,
        disjunction=build.disjunction,
        false=build.false,
        true=build.true,
        account=account,
    )


def copied(circuit: Circuit, build: CircuitBuilder, account: Account | None) -> int:
    """Return the root that a circuit gets in a builder of the same cells, whose labels may be others."""
    sets = circuit.cell_sets

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        return build.decision(feature, [(sets[k], c) for k, c in zip(labels, below, strict=True)])

    return rebuilt(circuit, build, decide, account)[-1]


def forget(circuit: Circuit, features: Collection[int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there are cells of `features` with which the circuit holds".

    Parameters
    ----------
    circuit
        Must be decomposable.
    features
        What is projected out.
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
    Linear. The result is decomposable but as a rule **not deterministic**: it can be asked for
    consistency and for models, not for counts.
    """
    require_decomposable(circuit, "forgetting")
    build, gone = CircuitBuilder.like(circuit), set(features)

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        return build.disjunction(below) if feature in gone else build.decide(feature, labels, below)

    return build.circuit(rebuilt(circuit, build, decide, account_of(budget))[-1])


def forget_one(circuit: Circuit, feature: int, *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there is a cell of `feature` with which the circuit holds".

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear for each cell. Needs no property of the circuit: it is the disjunction of its
    conditionings, so decomposability is kept and determinism, as a rule, is not.
    """
    build, account = CircuitBuilder.like(circuit), account_of(budget)
    made = set()
    for cell in range(circuit.grid.n_cells[feature]):
        holds = [cell in cells for cells in circuit.cell_sets]

        def decide(i: int, labels: Sequence[int], below: Sequence[int], holds: Sequence[bool] = holds) -> int:
            if i != feature:
                return build.decide(i, labels, below)
            return next((c for c, k in zip(below, labels, strict=True) if holds[k]), build.false)

        made.add(rebuilt(circuit, build, decide, account)[-1])
    return build.circuit(build.disjunction(made))


def smooth(circuit: Circuit, *, budget: Budget | None = None) -> Circuit:
    """Return a circuit with the same models in which all children of a choice mention the same features.

    Parameters
    ----------
    circuit
        Must be decomposable. What it does not mention at all, the result does not mention either.
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
    Nodes times features. Keeps determinism; counting here needs no smoothing.
    """
    require_decomposable(circuit, "smoothing")
    build, account = CircuitBuilder.like(circuit), account_of(budget)
    sets, n_cells = circuit.cell_sets, circuit.grid.n_cells
    filled: dict[int, int] = {0: build.true}

    def lifted(part: _Scoped, wanted: int) -> int:
        """Return the part with a literal of all cells for each wanted feature that it does not mention."""
        missing = wanted & ~part[1]
        if missing not in filled:
            filled[missing] = build.conjunction(build.unreduced_literal(i) for i in features_of(missing))
        return build.conjunction([part[0], filled[missing]])

    def decision(feature: int, labels: list[int], parts: list[_Scoped]) -> _Scoped:
        rest = _union(parts)
        below = [lifted(part, rest) for part in parts]
        scope = rest | 1 << feature
        # a decision that all cells pass with one child is no node of a builder, yet must mention its feature
        if len(set(below)) == 1 and sum(len(sets[k]) for k in labels) == n_cells[feature]:
            return build.conjunction([build.unreduced_literal(feature), below[0]]), scope
        return build.decision(feature, [(sets[k], c) for k, c in zip(labels, below, strict=True)]), scope

    def disjunction(parts: list[_Scoped]) -> _Scoped:
        scope = _union(parts)
        return build.disjunction(lifted(part, scope) for part in parts), scope

    found = circuit.fold(
        decision=decision,
        conjunction=lambda parts: (build.conjunction(node for node, _ in parts), _union(parts)),
        disjunction=disjunction,
        false=(build.false, 0),
        true=(build.true, 0),
        account=account,
        forget=True,
    )
    return build.circuit(found[-1][0])


def _union(parts: Sequence[_Scoped]) -> int:
    """Return the features that some part mentions."""
    scope = 0
    for _, own in parts:
        scope |= own
    return scope


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
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> minimum_changes(circuit, (0, 0)), minimum_changes(circuit, (2, 0)), minimum_changes(circuit, (2, 1))
    (2, 1, 0)
    """
    require_decomposable(circuit, "minimum changes")
    from axfi_kc.circuits.queries import truth_kernels

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
