"""The models of a circuit one after the other, as cells or as the domain's own values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from axfi_kc.circuit import Circuit, flat_of
from axfi_kc.errors import CircuitError
from axfi_kc.features import Categorical, Real
from axfi_kc.grid import Axis
from axfi_kc.queries.structure import require_decomposable
from axfi_kc.queries.truths import is_consistent_within

__all__ = ["cell_models", "models"]


def cell_models(circuit: Circuit) -> Iterator[tuple[int, ...]]:
    """Yield the cell vectors that satisfy a decomposable circuit, each once, in order.

    Notes
    -----
    Between two models lie at most as many linear passes as there are cells of all features.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 5, 7), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.literal(0, [1]))
    >>> list(cell_models(circuit)), list(models(circuit))
    ([(1, 0), (1, 1)], [(6, 0), (6, 1)])
    """
    require_decomposable(circuit, "enumeration")
    starts, n_cells = flat_of(circuit).cell_starts.tolist(), circuit.grid.n_cells
    allowed = np.ones(starts[-1], np.uint8)
    point = [-1] * len(n_cells)
    depth = 0 if is_consistent_within(circuit, allowed) else -1
    while depth >= 0:
        if depth == len(point):
            yield tuple(point)
            depth -= 1
            continue
        own = slice(starts[depth], starts[depth + 1])
        point[depth] += 1
        if point[depth] == n_cells[depth]:
            point[depth] = -1
            allowed[own] = 1
            depth -= 1
            continue
        allowed[own] = 0
        allowed[starts[depth] + point[depth]] = 1
        depth += is_consistent_within(circuit, allowed)


def models(circuit: Circuit) -> Iterator[tuple[Any, ...]]:
    """Yield the points that satisfy a decomposable circuit, each once, in the domain's own values.

    Raises
    ------
    CircuitError
        If a feature is real: then points are uncountable; ask for the cells.
    """
    values = [[_values(axis, c) for c in range(axis.n_cells)] for axis in circuit.grid.axes]
    for cells in cell_models(circuit):
        yield from product(*(of_cell[c] for of_cell, c in zip(values, cells, strict=True)))


def _values(axis: Axis, cell: int) -> tuple[Any, ...]:
    feature = axis.feature
    if isinstance(feature, Real) or axis.counts is None:
        raise CircuitError(
            f"Points are listed over integer and categorical features, but {feature.name!r} is real; "
            "ask for cell_models instead."
        )
    if isinstance(feature, Categorical):
        return (feature.values[cell],)
    first = feature.low + sum(axis.counts[:cell])
    return tuple(range(first, first + axis.counts[cell]))
