"""Circuits made from circuits in one pass: conditioning, forgetting, smoothing, the models nearest to a point."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder, Form, circuit_in, flat_of
from axfi_kc.circuits.queries.determinism import note_doubtful, note_like
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.domain.grid import Grid
from axfi_kc.families.masks import features_of

__all__ = [
    "account_of",
    "condition",
    "copied",
    "forget",
    "forget_one",
    "minimised",
    "minimum_changes",
    "moved",
    "rebuilt",
    "restricted",
    "smooth",
    "united_scope",
]


Decide = Callable[[int, Sequence[int], Sequence[int]], int]
_Scoped = tuple[int, int]  # a node of a builder, and the features that it mentions as an int


@checked("fixed", "budget")
def condition(circuit: Form, fixed: Mapping[Any, Any], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the remaining features, those in `fixed` set.

    Parameters
    ----------
    circuit
        Of any form.
    fixed
        ``{name: value}``, or ``{feature number: cell}``.

    Notes
    -----
    Linear. Keeps decomposability, determinism and order. A feature that is set is no variable any more: points are
    counted and listed with its one value, as in ``compile_model(...).condition(...)``, and a probability is
    conditional.
    :func:`axfi_kc.circuits.operations.restrict` is the other thing, a function of all features that does not depend on
    these.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> condition(circuit, {"a": 2}).size
    Size(nodes=1, edges=1)
    """
    circuit = circuit_in(circuit)
    cells = circuit.grid.cells_at(fixed)
    return note_like(replace(restricted(circuit, cells, account_of(budget)), grid=circuit.grid.setting(cells)), circuit)


def restricted(circuit: Circuit, cells: Mapping[int, int], account: Account) -> Circuit:
    """Return the function of all features that does not depend on those in `cells`, which take these (cost: linear)."""
    build = CircuitBuilder.like(circuit)
    return note_like(build.circuit(_conditioned(circuit, cells, build, account)), circuit)


def _conditioned(circuit: Circuit, fixed: Mapping[int, int], build: CircuitBuilder, account: Account) -> int:
    """Return the root of the conditioned circuit in a builder like it."""
    taken = {i: [c in cells for cells in circuit.cell_sets] for i, c in fixed.items()}

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        if feature not in taken:
            return build.decide(feature, labels, below)
        holds = taken[feature]
        return next((c for c, k in zip(below, labels, strict=True) if holds[k]), build.false)

    return rebuilt(circuit, build, decide, account)[-1]


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


def moved(
    circuit: Circuit,
    grid: Grid,
    cells: Sequence[npt.NDArray[np.int64]],
    places: Sequence[int] | None = None,
    *,
    account: Account | None = None,
) -> Circuit:
    """Return a circuit over other cells.

    Parameters
    ----------
    circuit
        Of any kind.
    grid
        The other cells.
    cells
        For each feature of the circuit, its own cell in which each of the other ones lies.
    places
        The number of each feature there; by default the same.
    account
        Under which it is done.
    """
    build = CircuitBuilder(grid)
    known: dict[tuple[int, int], list[int]] = {}

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        arcs = []
        for label, child in zip(labels, below, strict=True):
            if (feature, label) not in known:
                known[feature, label] = np.flatnonzero(np.isin(cells[feature], circuit.cell_sets[label])).tolist()
            own = known[feature, label]
            arcs += [(own, child)] * bool(own)  # of some sets of cells nothing is left
        return build.decision(feature if places is None else places[feature], arcs)

    return note_like(build.circuit(rebuilt(circuit, build, decide, account)[-1]), circuit)


@checked("features", "budget")
def forget(circuit: Form, features: Collection[int | str], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there are cells of `features` with which this decomposable circuit holds".

    Notes
    -----
    Linear. The result is decomposable but as a rule **not deterministic**: it can be asked for
    consistency and for models, not for counts, which are refused unless it is seen to be deterministic after all.
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "forgetting")
    build, gone = CircuitBuilder.like(circuit), set(circuit.grid.numbers(features))

    def decide(feature: int, labels: Sequence[int], below: Sequence[int]) -> int:
        return build.disjunction(below) if feature in gone else build.decide(feature, labels, below)

    return _doubted(build.circuit(rebuilt(circuit, build, decide, account_of(budget))[-1]))


def _doubted(circuit: Circuit) -> Circuit:
    """Return the circuit, noted as one whose disjunctions may overlap."""
    note_doubtful(circuit)
    return circuit


@checked("budget")
def forget_one(circuit: Form, feature: int | str, *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of "there is a cell of `feature` with which the circuit holds".

    Notes
    -----
    Linear for each cell. Needs no property of the circuit: it is the disjunction of its
    conditionings, so decomposability is kept and determinism, as a rule, is not.
    """
    circuit = circuit_in(circuit)
    build, account, i = CircuitBuilder.like(circuit), account_of(budget), circuit.grid.number(feature)
    cells = range(circuit.grid.n_cells[i])
    return _doubted(build.circuit(build.disjunction(_conditioned(circuit, {i: c}, build, account) for c in cells)))


@checked("budget")
def smooth(circuit: Form, *, budget: Budget | None = None) -> Circuit:
    """Return a circuit with the same models in which all children of a choice mention the same features.

    Notes
    -----
    Needs a decomposable circuit; what that does not mention at all, the result does not either. Nodes times
    features. Keeps determinism; counting here needs no smoothing.
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "smoothing")
    build, account = CircuitBuilder.like(circuit), account_of(budget)
    sets, n_cells = circuit.cell_sets, circuit.grid.n_cells
    lifted = _lifting(build, build.unreduced_literal)

    def decision(feature: int, labels: list[int], parts: list[_Scoped]) -> _Scoped:
        rest = united_scope(parts)
        below = [lifted(part, rest) for part in parts]
        scope = rest | 1 << feature
        # a decision that all cells pass with one child is no node of a builder, yet must mention its feature
        if len(set(below)) == 1 and sum(len(sets[k]) for k in labels) == n_cells[feature]:
            return build.conjunction([build.unreduced_literal(feature), below[0]]), scope
        return build.decision(feature, [(sets[k], c) for k, c in zip(labels, below, strict=True)]), scope

    def disjunction(parts: list[_Scoped]) -> _Scoped:
        scope = united_scope(parts)
        return build.disjunction(lifted(part, scope) for part in parts), scope

    found = circuit.fold(
        decision=decision,
        conjunction=lambda parts: (build.conjunction(node for node, _ in parts), united_scope(parts)),
        disjunction=disjunction,
        false=(build.false, 0),
        true=(build.true, 0),
        account=account,
        forget=True,
    )
    return note_like(build.circuit(found[-1][0]), circuit)


def united_scope(parts: Iterable[tuple[int, int] | _Near]) -> int:
    """Return the features that some part mentions; its scope is its second entry."""
    return reduce(or_, (part[1] for part in parts), 0)


def _lifting(build: CircuitBuilder, literal: Callable[[int], int]) -> Callable[[tuple[int, int] | _Near, int], int]:
    """Return what adds to a part a literal of each wanted feature that it does not mention."""
    filled = {0: build.true}

    def lifted(part: tuple[int, int] | _Near, wanted: int) -> int:
        missing = wanted & ~part[1]
        if missing not in filled:
            filled[missing] = build.conjunction(map(literal, features_of(missing)))
        return build.conjunction([part[0], filled[missing]])

    return lifted


def minimum_changes(circuit: Form, cells: Sequence[int]) -> int | None:
    """Return the least number of features in which a model differs from the point with these cells; None if none is.

    Notes
    -----
    Needs a decomposable circuit. Linear: conjunctions add, disjunctions take the least.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> minimum_changes(circuit, (0, 0)), minimum_changes(circuit, (2, 0)), minimum_changes(circuit, (2, 1))
    (2, 1, 0)
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "minimum changes")
    from axfi_kc.circuits.queries import truth_kernels

    least = int(truth_kernels.changes(flat_of(circuit), circuit.grid.checked_point(cells))[-1])
    return least if least <= len(circuit.grid.axes) else None


@checked("budget")
def minimised(circuit: Form, cells: Sequence[int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the models that differ from the point with these cells in the fewest features.

    Notes
    -----
    Needs a decomposable circuit. Nodes times features, because each feature that a part does not mention is set
    to the point's. Keeps determinism.
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "minimisation")
    made = _Nearest(circuit, circuit.grid.checked_point(cells).tolist(), account_of(budget)).circuit()
    return note_like(made, circuit)


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
        # what a part does not mention stays at the point's cells
        self._lifted = _lifting(self._build, lambda i: self._build.literal(i, [self._point[i]]))
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
        rest = united_scope(below)
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
        scope = united_scope(below)
        return _Near(self._build.conjunction(part.node for part in below), scope, least)

    def _disjunction(self, below: list[_Near]) -> _Near:
        scope = united_scope(below)
        least = min((part.least for part in below), default=self._never)
        near = [part for part in below if part.least == least]
        return _Near(self._build.disjunction(self._lifted(part, scope) for part in near), scope, least)
