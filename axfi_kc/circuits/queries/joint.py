"""The probability of an ordered diagram under a joint distribution of the features.

A distribution that is a product of tables (a tree, a network) meets the diagram feature by feature, in the diagram's
order: what has to be carried is the node reached and the states of those features that tables still wait for. A mixture
is the sum of its parts. Any other distribution is asked for the total of each box that the diagram is cut into.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import DECISION, TRUE, Circuit
from axfi_kc.circuits.queries.structure import feature_order
from axfi_kc.domain.bayesian_network import NetworkDistribution
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.distribution import Distribution, Mixture, Places, Product
from axfi_kc.domain.elimination import Factor, elimination_order, summed_out
from axfi_kc.errors import CircuitError

__all__ = ["TableProduct", "joint_probability", "table_products"]


_Weights = dict[tuple[int, tuple[int, ...]], int]  # by the node, and the states that are carried


class TableProduct(NamedTuple):
    """A part of a distribution: a product of tables of whole numbers over the features' states, times a scale."""

    scale: Fraction
    factors: list[Factor]


@singledispatch
def table_products(distribution: Distribution) -> list[TableProduct] | None:
    """Return the products of tables that a distribution is the sum of; None where it is none."""
    return None


@table_products.register
def _independent(distribution: Product) -> list[TableProduct]:
    return [_product([((i,), table) for i, table in enumerate(distribution.tables)])]


@table_products.register
def _tree(distribution: ChowLiu) -> list[TableProduct]:
    pairs = zip(distribution.parents, distribution.tables, strict=True)
    return [_product([((p, i), table) if p >= 0 else ((i,), table[0]) for i, (p, table) in enumerate(pairs)])]


@table_products.register
def _mixture(distribution: Mixture) -> list[TableProduct] | None:
    found = []
    for weight, part, places in zip(distribution.weights, distribution.parts, distribution.places, strict=True):
        products = table_products(part)
        if products is None:
            return None
        scaled = [TableProduct(weight * scale, factors) for scale, factors in products]
        found += scaled if places is None else [_refined(own, places) for own in scaled]
    return found


def _refined(given: TableProduct, places: Sequence[Places]) -> TableProduct:
    """Return a product of tables over finer states: the entry of the coarser state, times the part of it."""
    numbers = [[state for state, _ in own] for own in places]
    factors = []
    for factor in given.factors:
        values = factor.values[np.ix_(*(numbers[i] for i in factor.scope))] if factor.scope else factor.values
        factors.append(Factor(factor.scope, values))
    parts = _product([((i,), [part for _, part in own]) for i, own in enumerate(places)])
    return TableProduct(given.scale * parts.scale, [*factors, *parts.factors])


@table_products.register
def _network(distribution: NetworkDistribution) -> list[TableProduct]:
    return [TableProduct(*distribution.tables())]


def _product(tables: Sequence[tuple[tuple[int, ...], Any]]) -> TableProduct:
    """Return tables of fractions over one denominator each."""
    scale, factors = Fraction(1), []
    for scope, table in tables:
        values = np.array(table, dtype=object)
        below = math.lcm(*(p.denominator for p in values.ravel().tolist()))
        scale /= below
        factors.append(Factor(scope, values * below))
    return TableProduct(scale, [Factor(f.scope, _whole(f.values)) for f in factors])


def _whole(values: Any) -> Any:
    flat = np.empty(values.size, dtype=object)
    flat[:] = [int(v) for v in values.ravel().tolist()]
    return flat.reshape(values.shape)


def joint_probability(circuit: Circuit, distribution: Distribution, *, budget: Budget | None = None) -> Fraction:
    """Return the probability of the points of an ordered decision diagram under a joint distribution.

    Parameters
    ----------
    circuit
        A decision diagram in which features come in one order.
    distribution
        Over the features of the circuit's domain.
    budget
        What it may cost; its nodes are pairs of a node and states that are carried.

    Raises
    ------
    CircuitError
        If the circuit is no ordered diagram.
    BudgetError
        If the budget was spent.

    Notes
    -----
    The diagram's nodes, times the states of the features that tables wait for in its order.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Categorical, Domain, Grid
    >>> domain = Domain([Categorical("a", "xy"), Categorical("b", "xy")])
    >>> tree = ChowLiu.fit([["x", "x"], ["y", "y"]], domain, smoothing=0)
    >>> build = CircuitBuilder(Grid.of_values(domain))
    >>> same = build.decision(0, [([k], build.literal(1, [k])) for k in (0, 1)])
    >>> joint_probability(build.circuit(same), tree)
    Fraction(1, 1)
    """
    order = feature_order(circuit)
    if order is None:
        raise CircuitError(
            "A probability under a joint distribution needs an ordered diagram, but this circuit is none; make "
            "one by target='mdd'."
        )
    account = Account(budget, goal="probability", advice="allow more, or use independent features", unit="states")
    products = table_products(distribution)
    if products is None:
        return _by_boxes(circuit, distribution, account)
    tested = [i for i in order if i in set(circuit.features.tolist())]
    return sum(
        (p.scale * _Carried(circuit, distribution, p.factors, tested).total(account) for p in products), Fraction(0)
    )


class _Carried:
    """The sum of a product of tables over the points of a diagram, carried from the root down."""

    def __init__(
        self, circuit: Circuit, distribution: Distribution, factors: Sequence[Factor], order: Sequence[int]
    ) -> None:
        self._circuit, self._order, self._states = circuit, order, distribution.states
        rows = [own.shares(axis) for own, axis in zip(self._states, circuit.grid.axes, strict=True)]
        # Integers over one denominator per feature: there are as many products as nodes, states and carried states.
        self._wholes = [math.lcm(*(share.denominator for row in table for share in row)) for table in rows]
        self._rows = [[[int(s * n) for s in row] for row in table] for table, n in zip(rows, self._wholes, strict=True)]
        self._shares: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        gone = sorted(set(range(len(rows))) - set(order))
        # Features that the diagram does not test have any of their values, which may be fewer than their states have.
        every = [Factor((i,), np.array(self._share(i, self._cells(i)), dtype=object)) for i in gone]
        scopes = [f.scope for f in (*factors, *every)]
        factors = summed_out([*factors, *every], elimination_order(scopes, gone))
        self._place = {i: k for k, i in enumerate(order)}
        self._constant = math.prod(int(f.values.item()) for f in factors if not f.scope)
        self._done: list[list[Factor]] = [[] for _ in order]
        for factor in factors:
            if factor.scope:
                self._done[max(self._place[i] for i in factor.scope)].append(factor)

    def _cells(self, i: int) -> tuple[int, ...]:
        return tuple(range(self._circuit.grid.n_cells[i]))

    def total(self, account: Account) -> Fraction:
        """Return the sum."""
        weights: _Weights = {(self._circuit.root, ()): self._constant}
        names: tuple[int, ...] = ()
        for place, i in enumerate(self._order):
            account.spend(len(weights))
            later = {j for factors in self._done[place + 1 :] for f in factors for j in f.scope}
            following = tuple(j for j in (*names, i) if j in later)
            weights = self._step(weights, place, names, following)
            names = following
        above = sum(weight for (node, _), weight in weights.items() if self._circuit.kinds[node] == TRUE)
        return Fraction(above, math.prod(self._wholes))

    def _step(
        self,
        weights: _Weights,
        place: int,
        names: tuple[int, ...],
        following: tuple[int, ...],
    ) -> _Weights:
        i, found = self._order[place], _Weights()
        by_known: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
        for (node, known), weight in weights.items():
            if known not in by_known:
                by_known[known] = self._multipliers(place, names, known, following)
            arcs = self._arcs(node, i)
            for state, (multiplier, kept) in enumerate(by_known[known]):
                if not multiplier:
                    continue
                for shares, child in arcs:
                    if shares[state]:
                        key = child, kept
                        found[key] = found.get(key, 0) + weight * multiplier * shares[state]
        return found

    def _multipliers(
        self, place: int, names: tuple[int, ...], known: tuple[int, ...], following: tuple[int, ...]
    ) -> list[tuple[int, tuple[int, ...]]]:
        """Return, for each state of the next feature, what the tables multiply by, and which states are carried on."""
        i, at, found = self._order[place], dict(zip(names, known, strict=True)), []
        for state in range(self._states[i].size):
            at[i] = state
            multiplier = math.prod(int(f.values[tuple(at[j] for j in f.scope)]) for f in self._done[place])
            found.append((multiplier, tuple(at[j] for j in following)))
        return found

    def _arcs(self, node: int, i: int) -> list[tuple[list[int], int]]:
        """Return the share of each state that leads to each child; a node that does not test the feature stays."""
        circuit = self._circuit
        if circuit.kinds[node] == DECISION and circuit.features[node] == i:
            return [(self._share(i, cells), child) for cells, child in circuit.arcs(node)]
        return [(self._share(i, self._cells(i)), node)] if circuit.kinds[node] else []

    def _share(self, i: int, cells: tuple[int, ...]) -> list[int]:
        if (i, cells) not in self._shares:
            rows = self._rows[i]
            self._shares[i, cells] = [sum(rows[c][s] for c in cells) for s in range(self._states[i].size)]
        return self._shares[i, cells]


def _by_boxes(circuit: Circuit, distribution: Distribution, account: Account) -> Fraction:
    rows = [s.shares(axis) for s, axis in zip(distribution.states, circuit.grid.axes, strict=True)]
    found = Fraction(0)
    for box in _boxes(circuit):
        account.spend(1)
        evidence = [_evidence(rows[i], box.get(i, range(circuit.grid.n_cells[i]))) for i in range(len(rows))]
        found += distribution.total(evidence)
    return found


def _evidence(rows: Sequence[Sequence[Fraction]], cells: Sequence[int]) -> list[Fraction]:
    return [sum((rows[c][s] for c in cells), Fraction(0)) for s in range(len(rows[0]))]


def _boxes(circuit: Circuit) -> Iterator[dict[int, tuple[int, ...]]]:
    """Iterate over the paths of a diagram to true, each a box."""
    stack: list[tuple[int, dict[int, tuple[int, ...]]]] = [(circuit.root, {})]
    while stack:
        node, box = stack.pop()
        if circuit.kinds[node] == TRUE:
            yield box
        elif circuit.kinds[node] == DECISION:
            stack += [(child, {**box, int(circuit.features[node]): cells}) for cells, child in circuit.arcs(node)]
