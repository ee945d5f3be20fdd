"""Whether a circuit holds: at a point, somewhere in a box of cells, and at which points one after the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, number_array
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in, flat_of
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.domain.features import Categorical, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.errors import CircuitError

__all__ = [
    "allowed_cells",
    "cell_models",
    "entails_clause",
    "evaluate",
    "is_consistent",
    "is_consistent_within",
    "models",
    "values_of",
]


Allowed = npt.NDArray[np.uint8]


def evaluate(circuit: Form, cells: Sequence[int]) -> bool:
    """Tell whether the circuit holds at the point with these cells.

    Notes
    -----
    Linear; needs no property of the circuit.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> evaluate(circuit, (2, 1)), evaluate(circuit, (0, 1))
    (True, False)
    """
    circuit = circuit_in(circuit)
    flat = flat_of(circuit)
    allowed = np.zeros(int(flat.cell_starts[-1]), np.uint8)
    # A box of one cell per feature leaves no choice, so parts of a conjunction agree even if they share features.
    allowed[flat.cell_starts[:-1] + circuit.grid.checked_point(cells)] = 1
    return bool(_truths(circuit, allowed)[-1])


@checked("box")
def allowed_cells(circuit: Form, box: Mapping[int, Collection[int]]) -> Allowed:
    """Return the cells of a box, ``{feature: cells}``, as flags over all cells of all features.

    Features that are not named keep all their cells.
    """
    circuit = circuit_in(circuit)
    starts = flat_of(circuit).cell_starts
    allowed = np.ones(int(starts[-1]), np.uint8)
    for i, cells in circuit.grid.box(box).items():
        allowed[starts[i] : starts[i + 1]] = 0
        allowed[starts[i] + np.fromiter(cells, dtype=np.int64)] = 1
    return allowed


@checked("fixed")
def is_consistent(circuit: Form, fixed: Mapping[int, int] | None = None) -> bool:
    """Tell whether some point satisfies a decomposable circuit, of those in the cells ``{feature: cell}`` of `fixed`.

    Notes
    -----
    Linear; exact because independent choices in disjoint scopes always combine.
    """
    circuit = circuit_in(circuit)
    return is_consistent_within(circuit, allowed_cells(circuit, {i: (c,) for i, c in (fixed or {}).items()}))


@checked("allowed")
def is_consistent_within(circuit: Form, allowed: Allowed) -> bool:
    """Tell whether some point of a box satisfies a decomposable circuit.

    Notes
    -----
    Linear: a million nodes take milliseconds. A caller with many boxes changes the flags, which
    :func:`allowed_cells` makes, in place.
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "consistency")
    starts = flat_of(circuit).cell_starts
    allowed = number_array(allowed, "The cells of a box", (int(starts[-1]),)).astype(np.uint8, copy=False)
    # a feature without an allowed cell empties the box, even if the circuit does not mention it
    empty = not np.maximum.reduceat(allowed, starts[:-1]).all()
    return not empty and bool(_truths(circuit, allowed)[-1])


@checked("clause")
def entails_clause(circuit: Form, clause: Mapping[int, Collection[int]]) -> bool:
    """Tell whether every model of a decomposable circuit satisfies a clause, ``{feature: cells}``.

    It holds where some feature lies in its cells; the empty clause holds nowhere.

    Notes
    -----
    Linear: the circuit must not be consistent with the clause's negation, which is a box.
    """
    circuit = circuit_in(circuit)
    n_cells, named = circuit.grid.n_cells, circuit.grid.box(clause)
    outside = {i: sorted(set(range(n_cells[i])) - set(cells)) for i, cells in named.items()}
    # Cells that are all of a feature leave none outside: the box is empty, and the clause holds everywhere.
    return not is_consistent_within(circuit, allowed_cells(circuit, outside))


def _truths(circuit: Circuit, allowed: Allowed) -> npt.NDArray[np.uint8]:
    from axfi_kc.circuits.queries import truth_kernels

    flat = flat_of(circuit)
    if allowed.shape != (int(flat.cell_starts[-1]),):
        raise CircuitError(
            f"A box is {int(flat.cell_starts[-1])} flags, one per cell of a feature, but {allowed.shape} were given; "
            "make them with allowed_cells."
        )
    return truth_kernels.truths(flat, allowed)


def cell_models(circuit: Form) -> Iterator[tuple[int, ...]]:
    """Yield the cell vectors that satisfy a decomposable circuit, each once, in order.

    Notes
    -----
    Between two models lie at most as many linear passes as there are cells of all features.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 5, 7), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.literal(0, [1]))
    >>> list(cell_models(circuit)), list(models(circuit))
    ([(1, 0), (1, 1)], [(6, 0), (6, 1)])
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "enumeration")
    starts, n_cells = flat_of(circuit).cell_starts.tolist(), circuit.grid.n_cells
    allowed = np.ones(starts[-1], np.uint8)
    fixed = dict(circuit.grid.fixed)
    point = [-1] * len(n_cells)
    depth = 0 if is_consistent_within(circuit, allowed) else -1
    # Invariant: the box that fixes the features before `depth`, and frees all others, has a model. So every cell
    # that passes the test leads to a model, and no descent is in vain.
    while depth >= 0:
        if depth == len(point):
            yield tuple(point)
            depth -= 1
            continue
        own = slice(starts[depth], starts[depth + 1])
        point[depth] += 1
        if point[depth] == n_cells[depth]:
            point[depth] = -1
            # Freed again, since tests of earlier features suppose that all later ones are free.
            allowed[own] = 1
            depth -= 1
            continue
        if fixed.get(depth, point[depth]) != point[depth]:
            continue
        allowed[own] = 0
        allowed[starts[depth] + point[depth]] = 1
        depth += is_consistent_within(circuit, allowed)


def models(circuit: Form) -> Iterator[tuple[Any, ...]]:
    """Yield the points that satisfy a decomposable circuit, each once, in the domain's own values.

    A feature that the circuit was conditioned on takes one value, the first of its cell.

    Raises
    ------
    CircuitError
        If a feature is real: then points are uncountable; ask for the cells.
    """
    circuit = circuit_in(circuit)
    fixed = dict(circuit.grid.fixed)
    values = [
        [values_of(axis, c)[: 1 if i in fixed else None] for c in range(axis.n_cells)]
        for i, axis in enumerate(circuit.grid.axes)
    ]
    for cells in cell_models(circuit):
        yield from product(*(of_cell[c] for of_cell, c in zip(values, cells, strict=True)))


def values_of(axis: Axis, cell: int) -> tuple[Any, ...]:
    """Return the values of a finite feature that lie in a cell."""
    feature = axis.feature
    if isinstance(feature, Real) or axis.counts is None:
        raise CircuitError(
            f"Points are listed over integer and categorical features, but {feature.name!r} is real; "
            "ask for cell_models instead."
        )
    if cell == axis.missing_cell:
        return (None,)
    if isinstance(feature, Categorical):
        return (feature.values[cell],)
    first = feature.low + sum(axis.counts[:cell])
    return tuple(range(first, first + axis.counts[cell]))
