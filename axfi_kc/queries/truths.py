"""Questions answered by truth alone: at a point, or somewhere in a box of cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit, flat_of
from axfi_kc.errors import CircuitError
from axfi_kc.queries.structure import require_decomposable

__all__ = ["allowed_cells", "entails_clause", "evaluate", "is_consistent", "is_consistent_within"]

Allowed = npt.NDArray[np.uint8]


def evaluate(circuit: Circuit, cells: Sequence[int]) -> bool:
    """Tell whether the circuit holds at the point with these cells.

    Notes
    -----
    Linear; needs no property of the circuit.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> evaluate(circuit, (2, 1)), evaluate(circuit, (0, 1))
    (True, False)
    """
    flat = flat_of(circuit)
    allowed = np.zeros(int(flat.cell_starts[-1]), np.uint8)
    allowed[flat.cell_starts[:-1] + np.asarray(cells, dtype=np.int64)] = 1
    return bool(_truths(circuit, allowed)[-1])


def allowed_cells(circuit: Circuit, box: Mapping[int, Collection[int]]) -> Allowed:
    """Return the cells of a box, ``{feature: cells}``, as flags over all cells of all features.

    Features that are not named keep all their cells.
    """
    starts = flat_of(circuit).cell_starts
    allowed = np.ones(int(starts[-1]), np.uint8)
    for i, cells in box.items():
        allowed[starts[i] : starts[i + 1]] = 0
        allowed[starts[i] + np.fromiter(cells, dtype=np.int64)] = 1
    return allowed


def is_consistent(circuit: Circuit, fixed: Mapping[int, int] | None = None) -> bool:
    """Tell whether some point satisfies the circuit.

    Parameters
    ----------
    circuit
        Must be decomposable.
    fixed
        ``{feature: cell}``: only points in these cells are asked for.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable (looked up once per circuit).

    Notes
    -----
    Linear; exact because independent choices in disjoint scopes always combine.
    """
    return is_consistent_within(circuit, allowed_cells(circuit, {i: (c,) for i, c in (fixed or {}).items()}))


def is_consistent_within(circuit: Circuit, allowed: Allowed) -> bool:
    """Tell whether some point of a box satisfies a decomposable circuit.

    Parameters
    ----------
    circuit
        Must be decomposable.
    allowed
        Flags as :func:`allowed_cells` makes them; a caller with many boxes changes them in place.

    Notes
    -----
    Linear: a million nodes take milliseconds.
    """
    require_decomposable(circuit, "consistency")
    # a feature without an allowed cell empties the box, even if the circuit does not mention it
    empty = not np.maximum.reduceat(allowed, flat_of(circuit).cell_starts[:-1]).all()
    return not empty and bool(_truths(circuit, allowed)[-1])


def entails_clause(circuit: Circuit, clause: Mapping[int, Collection[int]]) -> bool:
    """Tell whether every model satisfies a clause, ``{feature: cells}``: some feature lies in its cells.

    Parameters
    ----------
    circuit
        Must be decomposable.
    clause
        The empty clause holds nowhere.

    Notes
    -----
    Linear: the circuit must not be consistent with the clause's negation, which is a box.
    """
    n_cells = circuit.grid.n_cells
    outside = {i: sorted(set(range(n_cells[i])) - set(cells)) for i, cells in clause.items()}
    return not is_consistent_within(circuit, allowed_cells(circuit, outside))


def _truths(circuit: Circuit, allowed: Allowed) -> npt.NDArray[np.uint8]:
    from axfi_kc.queries import truth_kernels

    flat = flat_of(circuit)
    if allowed.shape != (int(flat.cell_starts[-1]),):
        raise CircuitError(
            f"A box is {int(flat.cell_starts[-1])} flags, one per cell of a feature, but {allowed.shape} were given; "
            "make them with allowed_cells."
        )
    return truth_kernels.truths(flat, allowed)
