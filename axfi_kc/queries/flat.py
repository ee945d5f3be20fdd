"""A circuit as kernels and passes want it: typed arrays, made once per circuit."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit

__all__ = ["FlatCircuit", "arc_owners", "flat_of", "last_parents"]

_FLAT: WeakKeyDictionary[Circuit, FlatCircuit] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class FlatCircuit:
    """The arrays of a circuit with its cell sets laid end to end.

    Attributes
    ----------
    arrays
        ``kinds, features, offsets, children, labels`` of the circuit.
    set_starts, set_cells
        The cells of label k are ``set_cells[set_starts[k]:set_starts[k + 1]]``.
    cell_starts
        Where the cells of each feature start in an array over all cells of all features.
    """

    arrays: tuple[npt.NDArray[np.generic], ...]
    set_starts: npt.NDArray[np.int64]
    set_cells: npt.NDArray[np.int32]
    cell_starts: npt.NDArray[np.int64]


def flat_of(circuit: Circuit) -> FlatCircuit:
    """Return the flat form of `circuit`, made at the first call."""
    found = _FLAT.get(circuit)
    if found is None:
        sets = circuit.cell_sets
        found = _FLAT[circuit] = FlatCircuit(
            arrays=(circuit.kinds, circuit.features, circuit.offsets, circuit.children, circuit.labels),
            set_starts=np.cumsum([0, *map(len, sets)], dtype=np.int64),
            set_cells=np.fromiter(chain.from_iterable(sets), dtype=np.int32),
            cell_starts=np.cumsum([0, *circuit.grid.n_cells], dtype=np.int64),
        )
    return found


def arc_owners(circuit: Circuit) -> npt.NDArray[np.int32]:
    """Return for each arc the node it leaves."""
    return np.repeat(np.arange(len(circuit.kinds), dtype=np.int32), np.diff(circuit.offsets))


def last_parents(circuit: Circuit) -> npt.NDArray[np.int32]:
    """Return for each node its last parent, after which its value is no longer needed; the root is its own."""
    last = np.arange(len(circuit.kinds), dtype=np.int32)
    np.maximum.at(last, circuit.children, arc_owners(circuit))
    return last
