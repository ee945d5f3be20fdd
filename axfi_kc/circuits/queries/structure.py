"""What a circuit is like: scopes, decomposability, smoothness, order, reducedness.

The answers are kept with the circuit, so that every query can ask for what it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_whole, quoted
from axfi_kc.budget import Account, paced
from axfi_kc.circuits.circuit import DECISION, FALSE, OR, Circuit, Form, Notes, arc_owners, circuit_in
from axfi_kc.circuits.queries.languages import refusal
from axfi_kc.errors import ArgumentValueError, CircuitError

__all__ = [
    "checked_order",
    "complete_order",
    "feature_order",
    "is_decision",
    "is_decomposable",
    "is_ordered",
    "is_reduced",
    "is_smooth",
    "require_decomposable",
    "scopes",
]


_Scopes = tuple[npt.NDArray[np.int64], int]
_SCOPES: Notes[_Scopes] = Notes()
_FAULTY: Notes[int] = Notes()


@checked("account")
def scopes(circuit: Form, *, account: Account | None = None) -> list[int]:
    """Return for each node the set of features below it, as an int whose bit i is feature i.

    Parameters
    ----------
    circuit
        Any circuit.

    Notes
    -----
    Nodes times features, in bits: not for circuits of many features. The other questions here do
    without.
    """
    circuit = circuit_in(circuit)
    found: list[int] = []
    offsets, children = circuit.offsets.tolist(), circuit.children.tolist()
    # all kinds of nodes are alike here, so this is no fold, and half as long
    for node, feature in enumerate(paced(circuit.features.tolist(), account)):
        scope = 1 << feature if feature >= 0 else 0
        for child in children[offsets[node] : offsets[node + 1]]:
            scope |= found[child]
        found.append(scope)
    return found


def is_decomposable(circuit: Form) -> bool:
    """Tell whether no conjunction, and no decision, meets a feature twice.

    Notes
    -----
    What count, probability, consistency and forgetting rely on. Linear for circuits that follow an
    order or a tree of the features; elsewhere each union of scopes costs what is new in it. The answer
    is kept with the circuit.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> a, b, c = build.literal(0, [1, 2]), build.literal(1, [1]), build.literal(0, [0, 1])
    >>> [is_decomposable(build.circuit(build.conjunction(parts))) for parts in ([a, b], [a, c])]
    [True, False]
    """
    circuit = circuit_in(circuit)
    return _faulty(circuit) < 0


def require_decomposable(circuit: Circuit, operation: str) -> None:
    """Raise CircuitError, in the name of `operation`, if the circuit is not decomposable."""
    faulty = _faulty(circuit)
    if faulty >= 0:
        raise refusal(operation, f"a decomposable circuit, but node {faulty} of this one meets a feature twice")


def is_smooth(circuit: Form) -> bool:
    """Tell whether all children of each disjunction, and of each decision, mention the same features.

    Notes
    -----
    Each union of scopes costs what is new in it.
    """
    circuit = circuit_in(circuit)
    numbers, _ = _scopes(circuit)
    owners = arc_owners(circuit)
    choice = (circuit.kinds == OR) | (circuit.kinds == DECISION)
    below = numbers[circuit.children]
    # Equal scopes have equal numbers, and equality is transitive: comparing neighbouring arcs of a node is enough.
    same = (owners[1:] != owners[:-1]) | (below[1:] == below[:-1]) | ~choice[owners[1:]]
    return bool(same.all())


def is_decision(circuit: Form) -> bool:
    """Tell whether the circuit is made of decisions and constants only (a decision diagram)."""
    circuit = circuit_in(circuit)
    return bool((circuit.kinds <= DECISION).all())


@checked("order")
def is_ordered(circuit: Form, order: Sequence[int] | None = None) -> bool:
    """Tell whether the circuit is a decision diagram that tests features in one order on all paths.

    Parameters
    ----------
    circuit
        Any circuit.
    order
        The order that is meant; by default any one will do.

    Notes
    -----
    Linear.
    """
    circuit = circuit_in(circuit)
    if order is None:
        return feature_order(circuit) is not None
    place = np.argsort(np.asarray(complete_order(order, len(circuit.grid.axes)), dtype=np.int64))
    upper, lower = _tested_after(circuit)
    # Arcs suffice: places that increase along each arc increase along each path, and no feature comes twice.
    return is_decision(circuit) and bool((place[upper] < place[lower]).all())


def feature_order(*forms: Form) -> list[int] | None:
    """Return an order of the features that all these decision diagrams respect; None if there is none.

    Notes
    -----
    Linear: the features above and below each arc are sorted topologically.
    """
    circuits = [circuit_in(form) for form in forms]
    if not circuits:
        raise ArgumentValueError("An order is one of at least one diagram, but none was given; give some.")
    return _common_order(circuits) if all(map(is_decision, circuits)) else None


def checked_order(circuit: Circuit, order: Sequence[int] | None) -> list[int]:
    """Return `order`, or if it is None one in which features are tested before those of the next decisions.

    Raises
    ------
    CircuitError
        If it does not hold each feature once.

    Notes
    -----
    Linear. Where the circuit has no such order, the domain's is returned.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.decision(1, [([0], build.literal(0, [1]))]))
    >>> checked_order(circuit, None), checked_order(circuit, (0, 1))
    ([1, 0], [0, 1])
    """
    n = len(circuit.grid.axes)
    return complete_order((_common_order([circuit]) or range(n)) if order is None else order, n)


def complete_order(order: Sequence[int], n: int) -> list[int]:
    """Return `order`, which must hold each of n features once."""
    found = list(order)
    if not all(map(is_whole, found)) or sorted(found) != list(range(n)):
        raise CircuitError(
            f"An order must hold each feature number from 0 to {n - 1} once, but {quoted(found)} was given; correct it."
        )
    return found


def _common_order(circuits: Sequence[Circuit]) -> list[int] | None:
    """Return the features, each decision's before those of its children, and the domain's order where both will do."""
    n = len(circuits[0].grid.axes)
    above: dict[int, set[int]] = {i: set() for i in range(n)}
    for circuit in circuits:
        upper, lower = _tested_after(circuit)
        for pair in np.unique(upper * n + lower).tolist():
            above[pair % n].add(pair // n)
    sorter, found, ready = TopologicalSorter(above), list[int](), list[int]()
    try:
        sorter.prepare()
    except CycleError:
        return None
    while sorter.is_active():
        for i in sorter.get_ready():
            heappush(ready, i)
        # one at a time: what waits for it may come before the others in the domain
        found.append(heappop(ready))
        sorter.done(found[-1])
    return found


def _tested_after(circuit: Circuit) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each arc between two decisions their features."""
    upper = circuit.features[arc_owners(circuit)].astype(np.int64)
    lower = circuit.features[circuit.children].astype(np.int64)
    both = (upper >= 0) & (lower >= 0)
    return upper[both], lower[both]


def is_reduced(circuit: Circuit) -> bool:
    """Tell whether a circuit of decisions has neither equal nor redundant nor unreachable nodes (cost: linear)."""
    # Nodes are compared by their labels below; a set of cells with two labels would hide equal nodes.
    if len(set(circuit.cell_sets)) != len(circuit.cell_sets):
        return False
    # A node other than the root needs a parent. Parents come later, so going up from any node ends at the root.
    if len(np.union1d(circuit.children, [circuit.root])) != len(circuit.kinds):
        return False
    sizes = np.array([*map(len, circuit.cell_sets), 0], dtype=np.int64)[circuit.labels]
    owners, widths = arc_owners(circuit), np.diff(circuit.offsets)
    is_decided = circuit.kinds == DECISION
    decided = is_decided[owners]
    if not widths[is_decided].all() or (sizes[decided] == 0).any():
        return False
    single = is_decided & (widths == 1)
    wholes = np.array(circuit.grid.n_cells, dtype=np.int64)[circuit.features[single]]
    # Cells that no arc names lead to false; an arc to it would be a second way to write the same decision.
    if (sizes[circuit.offsets[:-1][single]] == wholes).any() or (
        circuit.kinds[circuit.children[decided]] == FALSE
    ).any():
        return False
    return not _has_double_arcs(circuit, owners) and not _has_equal_nodes(circuit, owners, widths)


def _has_double_arcs(circuit: Circuit, owners: npt.NDArray[np.int32]) -> bool:
    """Tell whether two arcs of one decision lead to one child."""
    by_child = np.lexsort((circuit.children, owners))
    above, below = owners[by_child], circuit.children[by_child]
    return bool(((above[1:] == above[:-1]) & (below[1:] == below[:-1]) & (circuit.kinds[above[1:]] == DECISION)).any())


def _has_equal_nodes(circuit: Circuit, owners: npt.NDArray[np.int32], widths: npt.NDArray[np.int64]) -> bool:
    """Tell whether two nodes have the same kind, feature and arcs, in whichever order."""
    by_label = np.lexsort((circuit.children, circuit.labels, owners))
    arcs = np.stack([circuit.labels[by_label], circuit.children[by_label]], axis=1)
    for width in np.unique(widths).tolist():
        nodes = np.flatnonzero(widths == width)
        places = circuit.offsets[nodes][:, np.newaxis] + np.arange(width)
        own = np.stack([circuit.kinds[nodes].astype(np.int32), circuit.features[nodes]], axis=1)
        rows = np.concatenate([own, arcs[places].reshape(len(nodes), 2 * width)], axis=1)
        # As bytes: to compare rows column by column takes several times as long.
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
        if len(np.unique(keys)) < len(nodes):
            return True
    return False


def _faulty(circuit: Circuit) -> int:
    """Return the first node that meets a feature twice; -1 if there is none."""
    from axfi_kc.circuits.queries import structure_kernels as scope_kernels

    found = _FAULTY.get(circuit)
    if found is None:
        met = np.full(len(circuit.grid.axes), -1, np.int64)  # the last decision on each feature, so from the root down
        decisions = np.flatnonzero(circuit.features >= 0)
        met[circuit.features[decisions]] = decisions
        arrays = (circuit.kinds, circuit.features, circuit.offsets, circuit.children)
        orders = (np.arange(len(met)), np.argsort(np.argsort(met, kind="stable")))
        # Spans that are apart prove disjoint scopes. Spans that overlap prove nothing: only then are the scopes made.
        apart = any(scope_kernels.are_spans_apart(*arrays, places) for places in orders)
        found = _FAULTY[circuit] = -1 if apart else _scopes(circuit)[1]
    return found


def _scopes(circuit: Circuit) -> _Scopes:
    """Return a number per node, equal for equal scopes, and the first node that meets a feature twice; -1 for none."""
    from axfi_kc.circuits.queries import structure_kernels as scope_kernels

    found = _SCOPES.get(circuit)
    if found is None:
        numbers, faulty = scope_kernels.scope_numbers(
            circuit.kinds, circuit.features, circuit.offsets, circuit.children, len(circuit.grid.axes)
        )
        found = _SCOPES[circuit] = numbers, int(faulty)
    return found
