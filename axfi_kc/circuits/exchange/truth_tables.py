"""Truth tables as ordered diagrams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files.variables import boolean_domain
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["from_truth_table"]


@checked("domain", "names")
def from_truth_table(
    table: str | Sequence[Any] | Mapping[tuple[Any, ...], Any] | Any,
    domain: Domain | None = None,
    *,
    names: str | Iterable[str] | None = None,
) -> Circuit:
    """Return the ordered diagram of a truth table.

    Parameters
    ----------
    table
        A truth value for each point, the last feature changing first (the order of ``domain.points()``): a text such as
        ``"0110"``, a sequence, an array of any shape; or ``{point: value}``, with the points that are not named false.
    domain
        The features, all finite; by default features with the values 0 and 1.
    names
        Their names, without a domain; ``x1``, ``x2``, ... by default.

    Raises
    ------
    CircuitError
        If there are not as many values as points, or one is neither true nor false.

    Notes
    -----
    Linear in the table.

    Examples
    --------
    >>> from axfi_kc import Integer, queries
    >>> xor = from_truth_table("0110", names=["a", "b"])
    >>> queries.count(xor), list(queries.models(xor))
    (2, [(0, 1), (1, 0)])
    >>> from_truth_table({(2, 0): True}, Domain([Integer("a", 0, 2), Integer("b", 0, 1)])).size.nodes
    2
    """
    if isinstance(table, Mapping):
        return _of_points(table, domain, names)
    values = list(table) if isinstance(table, str) else _flat(table)
    truths = [_truth(value) for value in values]
    known = domain or boolean_domain(_given_names(names, max(len(truths), 1).bit_length() - 1))
    if known.size != len(truths):
        raise CircuitError(
            f"A truth table has a value for each point, {known.size} of them, but {len(truths)} were given; "
            "give as many."
        )
    return _diagram(known, truths)


def _flat(table: Any) -> list[Any]:
    try:
        return list(np.asarray(table, dtype=object).reshape(-1).tolist())
    except Exception as error:  # foreign code
        raise CircuitError(f"A truth table is a list of truth values, but {quoted(table)} was given.") from error


def _given_names(names: Iterable[str] | None, n: int) -> list[str]:
    return [f"x{k + 1}" for k in range(n)] if names is None else list(names)


def _of_points(table: Mapping[tuple[Any, ...], Any], domain: Domain | None, names: Iterable[str] | None) -> Circuit:
    strange = [point for point in table if not isinstance(point, tuple)]
    if strange:
        raise CircuitError(f"A truth table names points, each a tuple, but {quoted(strange[0])} was given; correct it.")
    known = domain or boolean_domain(_given_names(names, len(next(iter(table), ()))))
    position = {point: k for k, point in enumerate(known.points())}
    truths = [False] * len(position)
    for point, value in table.items():
        if tuple(point) not in position:
            raise CircuitError(f"A truth table names points of the domain, but {point!r} is none; correct it.")
        truths[position[tuple(point)]] = _truth(value)
    return _diagram(known, truths)


def _truth(value: Any) -> bool:
    if isinstance(value, str) and value in "01" and value:
        return value == "1"
    if isinstance(value, bool | int | float | np.bool_ | np.number) and value in (0, 1):
        return bool(value)
    raise CircuitError(f"A truth value is 0, 1, False or True, but {quoted(value)} was given; give one of these.")


def _diagram(domain: Domain, truths: Sequence[bool]) -> Circuit:
    """Return the diagram, made from the last feature up: each layer groups the one below it."""
    build = CircuitBuilder(grid := Grid.of_values(domain))
    layer = [build.true if truth else build.false for truth in truths]
    for i in reversed(range(len(domain))):
        n = grid.n_cells[i]
        groups = (layer[k : k + n] for k in range(0, len(layer), n))
        layer = [build.decision(i, [((c,), node) for c, node in enumerate(group)]) for group in groups]
    return build.circuit(layer[0])
