"""Circuits laid out for kernels: every arc knows its set of cells as flags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit

__all__ = ["Wires", "wires_of"]


class Wires(NamedTuple):
    """A circuit's arrays; kinds, offsets and children as in :class:`~axfi_kc.circuit.Circuit`.

    Attributes
    ----------
    kinds, features, offsets, children
        The nodes and their arcs, children before parents.
    group
        For each arc of a decision, the number of its set of cells of that feature; 0 elsewhere.
    start
        Where the flags of each such set begin in `inside`.
    inside
        Whether a cell belongs to the set, for all sets and cells in a row.
    complete
        Whether the arcs of a decision name every cell.
    """

    kinds: npt.NDArray[np.uint8]
    features: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    inside: npt.NDArray[np.uint8]
    complete: npt.NDArray[np.uint8]


def wires_of(circuit: Circuit) -> tuple[Wires, list[tuple[int, tuple[int, ...]]]]:
    """Return the circuit for kernels, and the feature and cells of each group (cost: linear)."""
    n_cells = circuit.grid.n_cells
    owners = np.repeat(circuit.features, np.diff(circuit.offsets)).tolist()
    number: dict[tuple[int, int], int] = {}
    group = [
        number.setdefault((i, label), len(number)) if label >= 0 else 0
        for i, label in zip(owners, circuit.labels.tolist(), strict=True)
    ]
    groups = [(i, circuit.cell_sets[label]) for i, label in number]
    start = np.cumsum([0, *(n_cells[i] for i, _ in groups)], dtype=np.int64)
    inside = np.zeros(int(start[-1]), np.uint8)
    for (_, cells), first in zip(groups, start.tolist(), strict=False):
        inside[first + np.array(cells, dtype=np.int64)] = 1
    named = np.array([len(cells) for _, cells in groups] or [0], dtype=np.int64)[np.array(group, dtype=np.int64)]
    named[circuit.labels < 0] = 0
    totals = np.diff(np.concatenate([[0], np.cumsum(named)])[circuit.offsets])
    wanted = np.array([*n_cells, -1], dtype=np.int64)[circuit.features]
    wires = Wires(
        kinds=circuit.kinds,
        features=circuit.features,
        offsets=circuit.offsets,
        children=circuit.children,
        group=np.array(group, dtype=np.int32),
        start=start,
        inside=inside,
        complete=(totals == wanted).astype(np.uint8),
    )
    return wires, groups
