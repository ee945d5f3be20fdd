"""Nodes of PySDD as circuits and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in
from axfi_kc.circuits.files.asserted import asserted
from axfi_kc.circuits.files.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf, circuit_of
from axfi_kc.circuits.files.variables import Variables, boolean_domain, outer_names
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.targets.bit_codes import Bit, Encoder, bits_of
from axfi_kc.circuits.targets.sdd import SddAlgebra, SddNodes, in_deep_thread, nodes_of, sdd_circuit, vtree_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["from_pysdd", "to_pysdd"]


@checked("domain", "names")
def from_pysdd(
    node: Any, domain: Domain | None = None, *, names: str | Iterable[str] | None = None, code: str = "order"
) -> Circuit:
    """Return the function of a node of PySDD as a deterministic, decomposable circuit.

    Parameters
    ----------
    node
        An ``SddNode``.
    domain
        The features whose bits the manager's variables are, in the order of the domain. By default each variable
        becomes a feature with the values 0 and 1.
    names
        The names of these, variable 1 first; ``x1``, ``x2``, ... by default, as PySDD has none.
    code
        How features of more than two values are written in variables.

    Raises
    ------
    CircuitError
        If it is no node of PySDD, or one that its manager has let go; if there are not as many names or bits as
        variables.

    Notes
    -----
    Linear in the elements of the diagram. It is read as it is, along its vtree.

    Examples
    --------
    >>> from pysdd.sdd import SddManager
    >>> manager = SddManager(var_count=3)
    >>> node = manager.literal(1) & (manager.literal(2) | ~manager.literal(3))
    >>> circuit = from_pysdd(node, names="xyz")
    >>> from axfi_kc import queries
    >>> queries.count(circuit), circuit.to_pysdd(manager) == node
    (3, True)
    """
    manager = _manager(node)
    n = int(manager.var_count())
    nodes = nodes_of(node)
    if domain is not None:
        return _of_bits(nodes, Variables.of_code(Grid.of_values(domain), code=code), n)
    called = [f"x{k + 1}" for k in range(n)] if names is None else list(names)
    if len(called) != n:
        raise CircuitError(f"The manager has {n} variables and needs as many names, but {len(called)} were given.")
    grid = Grid.of_values(boolean_domain(called))
    bits = [bit for i in range(n) for bit in bits_of(grid, i, code="order")]
    circuit = sdd_circuit(grid, bits, vtree_of(manager), nodes)
    note_deterministic(circuit)  # primes of PySDD exclude each other
    return circuit


def _manager(node: Any) -> Any:
    from pysdd.sdd import SddNode

    if not isinstance(node, SddNode):
        raise CircuitError(
            f"Expected a node of PySDD, an SddNode, but {type(node).__name__} was given; give what manager.literal and "
            "the operators return."
        )
    if node.manager is None or node.garbage_collected():
        raise CircuitError(
            "The node's manager is closed, or has let go of the node; make it again, and keep it by ref()."
        )
    return node.manager


def _of_bits(nodes: SddNodes, variables: Variables, n: int) -> Circuit:
    """Return the circuit over features whose bits may lie anywhere in the vtree."""
    if len(variables.bits) != n:
        raise CircuitError(
            f"The domain's features have {len(variables.bits)} bits in this code, but the manager has {n} variables; "
            "name another code, or a domain that fits."
        )
    nnf = Nnf(n)
    made = [nnf.add(DISJUNCTION, ()), nnf.add(CONJUNCTION, ())]
    for literal, pairs in list(zip(nodes.literals.tolist(), nodes.pairs, strict=True))[2:]:
        if literal:
            made.append(nnf.add(LITERAL, (literal,)))
        else:
            made.append(nnf.add(DISJUNCTION, [nnf.add(CONJUNCTION, (made[p], made[s])) for p, s in pairs]))
    nnf.add(CONJUNCTION, (made[nodes.root],))
    return circuit_of(nnf, variables)


@checked("code", "variables")
def to_pysdd(form: Form, manager: Any, *, code: str = "order", variables: Mapping[str, int] | None = None) -> Any:
    """Return the function of a form as a node of a manager of PySDD.

    Parameters
    ----------
    form
        Any circuit, target or compiled model.
    manager
        An ``SddManager`` with at least as many variables as the features have bits.
    code
        How features of more than two cells are written in variables.
    variables
        The number of each variable by name; by default 1, 2, ... in the order of the domain.

    Raises
    ------
    CircuitError
        If it is no manager of PySDD, has too few variables, or a variable is not named.

    Notes
    -----
    An operation of PySDD for each arc; exponential at worst. The node is not referred to (``ref()``).
    Features that the form was conditioned on are asserted.
    """
    from pysdd.sdd import SddManager

    if not isinstance(manager, SddManager):
        raise CircuitError(
            f"Expected a manager of PySDD, an SddManager, but {type(manager).__name__} was given; give one."
        )
    circuit = asserted(circuit_in(form))
    bits = {i: bits_of(circuit.grid, i, code=code) for i in range(len(circuit.grid.axes))}
    numbers = _numbers(circuit.grid, [bit for own in bits.values() for bit in own], variables, int(manager.var_count()))
    encoder = Encoder(circuit, code=code, bits=bits, algebra=SddAlgebra(manager, numbers, Account(None, goal="SDD")))
    return _without_collection(manager, encoder)


def _numbers(grid: Grid, bits: list[Bit], variables: Mapping[str, int] | None, n: int) -> dict[str, int]:
    """Return the variable of each bit by its inner name."""
    names = outer_names(grid, bits)
    given = dict(zip(names, range(1, len(names) + 1), strict=True)) if variables is None else variables
    missing = next((name for name in names if name not in given), None)
    strange = next((given[name] for name in names if name in given and not _is_number(given[name])), None)
    if strange is not None:
        raise CircuitError(
            f"Variables of PySDD are numbered from 1, but {quoted(strange)} was given; correct variables=."
        )
    largest = max((given[name] for name in names if name in given), default=0)
    if missing is not None or largest > n or len({given[name] for name in names}) < len(names):
        found = f"no variable for {missing!r}" if missing is not None else f"{n} of them, or one for two names"
        raise CircuitError(
            f"A manager needs a variable for each of {', '.join(names[:4])}{', ...' if len(names) > 4 else ''} "
            f"({len(names)} in all), but there is {found}; make SddManager(var_count={max(len(names), largest)}), or "
            "correct variables=."
        )
    return {bit.name: int(given[name]) for bit, name in zip(bits, names, strict=True)}


def _is_number(given: object) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool) and bool(given >= 1)


def _without_collection(manager: Any, encoder: Encoder) -> Any:
    """Return the encoder's function, made while PySDD frees and moves nothing."""
    automatic = bool(manager.is_auto_gc_and_minimize_on())
    if automatic:
        manager.auto_gc_and_minimize_off()
    try:
        return in_deep_thread(encoder.function, depth=vtree_of(manager).depth)
    finally:
        if automatic:
            manager.auto_gc_and_minimize_on()
