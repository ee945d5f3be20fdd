"""Orders of features: the one a circuit already has, and the one a caller asks for."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np

from axfi_kc.circuit import AND, DECISION, Circuit
from axfi_kc.errors import CircuitError

__all__ = ["checked_order", "is_ordered", "is_reduced", "own_order"]


def checked_order(circuit: Circuit, order: Sequence[int] | None) -> list[int]:
    """Return `order`, or the circuit's own order if it is None.

    Raises
    ------
    CircuitError
        If it does not hold each feature once.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.decision(1, [([0], build.literal(0, [1]))]))
    >>> checked_order(circuit, None), checked_order(circuit, (0, 1))
    ([1, 0], [0, 1])
    """
    n = len(circuit.grid.axes)
    if order is None:
        return own_order(circuit)
    if sorted(order) != list(range(n)):
        raise CircuitError(
            f"An order must hold each feature number from 0 to {n - 1} once, but {list(order)} was given; correct it."
        )
    return list(order)


def own_order(circuit: Circuit) -> list[int]:
    """Return an order in which each decision's feature comes before those of its children, if there is one.

    Notes
    -----
    Linear. Without such an order, the domain's.
    """
    n = len(circuit.grid.axes)
    upper, lower = _tested_after(circuit)
    above: dict[int, set[int]] = {i: set() for i in range(n)}
    for first, then in np.unique(np.stack([upper, lower], axis=1), axis=0).tolist():
        above[then].add(first)
    sorter, found = TopologicalSorter(above), list[int]()
    try:
        sorter.prepare()
    except CycleError:
        return list(range(n))
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        found += ready
        sorter.done(*ready)
    return found


def _tested_after(circuit: Circuit) -> tuple[np.ndarray, np.ndarray]:
    """Return for each arc between two decisions their features."""
    parents = np.repeat(circuit.features, np.diff(circuit.offsets))
    children = circuit.features[circuit.children]
    both = (parents >= 0) & (children >= 0)
    return parents[both], children[both]


def is_ordered(circuit: Circuit, order: Sequence[int]) -> bool:
    """Tell whether the circuit has decisions only, and each path tests features in this order (cost: linear)."""
    if (circuit.kinds >= AND).any():
        return False
    place = np.argsort(np.asarray(order, dtype=np.int64))
    upper, lower = _tested_after(circuit)
    return bool((place[upper] < place[lower]).all())


def is_reduced(circuit: Circuit) -> bool:
    """Tell whether a circuit of decisions has neither equal nor redundant nor unreachable nodes (cost: linear)."""
    if len(set(circuit.cell_sets)) != len(circuit.cell_sets):
        return False
    if len(np.union1d(circuit.children, [circuit.root])) != len(circuit.kinds):
        return False
    seen = set()
    n_cells, sizes = circuit.grid.n_cells, [len(cells) for cells in circuit.cell_sets]
    kinds, features = circuit.kinds.tolist(), circuit.features.tolist()
    offsets, children, labels = circuit.offsets.tolist(), circuit.children.tolist(), circuit.labels.tolist()
    for node, (kind, feature) in enumerate(zip(kinds, features, strict=True)):
        below, named = children[offsets[node] : offsets[node + 1]], labels[offsets[node] : offsets[node + 1]]
        if kind == DECISION:
            redundant = len(below) == 1 and sizes[named[0]] == n_cells[feature]
            if redundant or not below or len(set(below)) < len(below) or not all(sizes[k] for k in named):
                return False
            if any(kinds[child] == 0 for child in below):
                return False
        key = (kind, feature, *sorted(zip(named, below, strict=True)))
        if key in seen:
            return False
        seen.add(key)
    return True
