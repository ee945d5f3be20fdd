"""Nodes of the library dd, of CUDD or of its Python manager, as circuits and back."""

from __future__ import annotations

from collections.abc import Mapping
from operator import and_, or_
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, has
from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import DECISION, TRUE, Circuit, CircuitBuilder, Form, circuit_in
from axfi_kc.circuits.files.asserted import asserted
from axfi_kc.circuits.files.bdd import Bdd, circuit_of_bdd
from axfi_kc.circuits.files.variables import Variables, boolean_domain, outer_names
from axfi_kc.circuits.queries.structure import checked_order
from axfi_kc.circuits.targets.bit_codes import Bit, Encoder, balanced, bits_of
from axfi_kc.circuits.targets.obdd import DdAlgebra, read_rows
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["from_dd", "to_dd"]


@checked("domain")
def from_dd(node: Any, domain: Domain | None = None, *, code: str = "order") -> Circuit:
    """Return the function of a node of dd as an ordered diagram.

    Parameters
    ----------
    node
        A ``Function`` of ``dd.cudd`` or ``dd.autoref``.
    domain
        The features that the manager's variables are, or whose bits they are. By default all variables of the manager
        become features with the values 0 and 1, in the manager's order.
    code
        How features of more than two values are written in variables: ``"order"``, ``"binary"`` or ``"direct"``.

    Raises
    ------
    CircuitError
        If it is no node of dd, or of a manager that is closed; if its variables are not the domain's.

    Notes
    -----
    Linear in the nodes, a node and its complement being two.

    Examples
    --------
    >>> from dd.autoref import BDD
    >>> manager = BDD()
    >>> manager.declare("x", "y", "z")
    >>> circuit = from_dd(manager.add_expr("x & ~z"))
    >>> circuit.grid.domain.names, circuit.size.nodes
    (('x', 'y', 'z'), 2)
    >>> circuit.to_dd(manager) == manager.add_expr("x & ~z")
    True
    """
    names = _variables(node)
    rows, top = read_rows(node)
    if domain is None:
        return _boolean(Grid.of_values(boolean_domain(names)), rows, top)
    known = Variables.of_code(Grid.of_values(domain), code=code)
    signed = [(level, low or -1, high or -1) for level, low, high in rows]  # false is -1 there
    return circuit_of_bdd(Bdd(names, signed, top or -1), known, partial=True)


def _variables(node: Any) -> tuple[str, ...]:
    """Return the names of the manager's variables, from the top of its order down."""
    missing = [name for name in ("level", "low", "high", "negated") if not hasattr(type(node), name)]
    if type(node).__module__ == "dd.cudd_zdd":  # has the same attributes, but nodes of another meaning
        raise CircuitError(
            "Expected a node of a BDD, a Function of dd.cudd or dd.autoref, but one of a ZDD of dd.cudd_zdd was given; "
            "copy it into a BDD first."
        )
    if missing:
        raise CircuitError(
            f"Expected a node of dd, a Function of dd.cudd or dd.autoref, but {type(node).__name__} was given; give "
            "what manager.add_expr and the like return."
        )
    manager = getattr(node, "bdd", None)
    if manager is None or getattr(node, "node", 0) is None or not getattr(node, "_ref", 1):
        raise CircuitError("The node's manager is closed, or has let go of the node; make it again in an open manager.")
    return tuple(sorted(manager.vars, key=manager.level_of_var))


def _boolean(grid: Grid, rows: list[tuple[int, int, int]], top: int) -> Circuit:
    """Return the diagram with a feature for each level; it is reduced, so its rows are its arrays."""
    if not rows:
        return CircuitBuilder(grid).circuit(top)
    table = np.array(rows, dtype=np.int32)
    ends = table[:, 1:]
    taken = ends != 0  # arcs to false are left out, and true, node 1 of dd's rows, is node 0
    return Circuit(
        grid=grid,
        kinds=np.array([TRUE, *[DECISION] * len(rows)], dtype=np.uint8),
        features=np.concatenate([np.array([-1], np.int32), table[:, 0]]),
        offsets=np.concatenate([[0, 0], np.cumsum(taken.sum(axis=1))]).astype(np.int64),
        children=ends[taken] - np.int32(1),
        labels=np.broadcast_to(np.array([0, 1], np.int32), ends.shape)[taken],
        cell_sets=((0,), (1,)),
    )


@checked("code")
def to_dd(form: Form, manager: Any, *, code: str = "order") -> Any:
    """Return the function of a form as a node of a manager of dd.

    Parameters
    ----------
    form
        Any circuit, target or compiled model.
    manager
        A ``BDD`` of ``dd.cudd`` or ``dd.autoref``. Variables that it lacks are declared, in the form's own order.
    code
        How features of more than two cells are written in variables.

    Raises
    ------
    CircuitError
        If it is no manager of dd, or the code is unknown.

    Notes
    -----
    One ``ite`` per node in an order that the circuit respects; otherwise exponential at worst. Features that the form
    was conditioned on are asserted.
    """
    wanted = ("declare", "ite", "vars", "level_of_var")
    # nodes of dd.bdd are plain numbers, which know no operators and are not kept
    if not all(has(manager, name) for name in wanted) or isinstance(manager.true, int):
        raise CircuitError(
            f"Expected a manager of dd, a BDD of dd.cudd or dd.autoref, but {type(manager).__module__}."
            f"{type(manager).__name__} was given; give one of these."
        )
    circuit = asserted(circuit_in(form))
    bits = {i: bits_of(circuit.grid, i, code=code) for i in checked_order(circuit, None)}
    flat = [bit for own in bits.values() for bit in own]
    names = dict(zip([bit.name for bit in flat], outer_names(circuit.grid, flat), strict=True))
    manager.declare(*(name for name in names.values() if name not in manager.vars))
    renamed = {i: [Bit(names[bit.name], bit.feature, bit.cells) for bit in own] for i, own in bits.items()}
    if all(len(own) == 1 for own in bits.values()):
        return _made(circuit, manager, {i: manager.var(own[0].name) for i, own in renamed.items()})
    algebra = DdAlgebra(manager, Account(None, goal="diagram"))
    return Encoder(circuit, code=code, bits=renamed, algebra=algebra).function()


def _made(circuit: Circuit, manager: Any, variables: Mapping[int, Any]) -> Any:
    """Return the node of a circuit whose features are variables: an ``ite`` for each decision."""
    true, false, ite = manager.true, manager.false, manager.ite
    is_one = [1 in cells for cells in circuit.cell_sets]

    def decision(feature: int, labels: list[int], below: list[Any]) -> Any:
        if len(below) == 2:
            high, low = (below[0], below[1]) if is_one[labels[0]] else (below[1], below[0])
        else:
            high, low = (below[0], false) if is_one[labels[0]] else (false, below[0])
        return ite(variables[feature], high, low)

    return circuit.fold(
        decision=decision,
        conjunction=lambda below: balanced(below, and_, true),
        disjunction=lambda below: balanced(below, or_, false),
        false=false,
        true=true,
    )[-1]
