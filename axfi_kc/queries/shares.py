"""What the cells of each arc are worth, relative to their whole feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from axfi_kc.circuit import Circuit, arc_owners

__all__ = ["Shares", "product", "shares_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The distinct shares of a circuit's arcs.

    Attributes
    ----------
    of_arc
        For each arc of a decision the position of its share; 0 elsewhere.
    places
        The feature and the label of each share; (-1, -1) for that of gates.
    worths, wholes
        A share is ``worths[k] / wholes[k]``: the worth of the arc's cells in that of all cells.
    """

    of_arc: npt.NDArray[np.int32]
    places: list[tuple[int, int]]
    worths: list[int]
    wholes: list[int]


def shares_of(circuit: Circuit, worths: Sequence[Sequence[int]], wholes: Sequence[int]) -> Shares:
    """Return the shares under integer worths per cell of each feature, `wholes` being their sums.

    Notes
    -----
    Linear in the circuit; each pair of a feature and a set of cells is added up once.
    """
    n_sets = len(circuit.cell_sets) + 1
    feature = circuit.features[arc_owners(circuit)].astype(np.int64)
    keys = np.where(feature >= 0, feature * n_sets + circuit.labels, -1)
    distinct, of_arc = np.unique(keys, return_inverse=True)
    found = Shares(of_arc.astype(np.int32), [], [], [])
    for key in distinct.tolist():
        i, label = divmod(key, n_sets) if key >= 0 else (-1, -1)
        found.places.append((i, label))
        found.worths.append(sum([worths[i][c] for c in circuit.cell_sets[label]]) if key >= 0 else 0)
        found.wholes.append(wholes[i] if key >= 0 else 1)
    return found


def product(factors: Iterable[int]) -> int:
    """Return the product of many integers, equal ones by powers and the rest in pairs.

    Examples
    --------
    >>> product([2] * 10 + [3, 5])
    15360
    """
    parts = [f**k for f, k in Counter(factors).items()]
    while len(parts) > 1:
        parts = [a * b for a, b in zip(parts[::2], [*parts[1::2], 1], strict=False)]
    return parts[0] if parts else 1
