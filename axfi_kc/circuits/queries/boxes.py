"""Circuits cut into disjoint boxes, each the cells of some features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TypeAlias

from axfi_kc.circuits.circuit import AND, DECISION, TRUE, Circuit
from axfi_kc.errors import CircuitError

__all__ = ["CircuitBoxes", "outside_boxes"]


Parts: TypeAlias = dict[int, tuple[int, ...]]
"""A box: ``{feature: cells}``; a feature that is not named may have any cell."""
_MOST_BOXES = 200_000


class CircuitBoxes:
    """The points of a deterministic, decomposable circuit as boxes.

    Attributes
    ----------
    circuit
        The circuit.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> either = build.decision(0, [([0], build.literal(1, [1])), ([1, 2], build.true)])
    >>> boxes = CircuitBoxes(build.circuit(either))
    >>> boxes.around([0, 0], 0b11), boxes.around([0, 0], 0b10)
    ([{0: (0,), 1: (1,)}, {0: (1, 2)}], [{1: (1,)}])
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self._kinds: list[int] = circuit.kinds.tolist()
        self._features: list[int] = circuit.features.tolist()
        self._arcs = [circuit.arcs(node) for node in range(len(self._kinds))]
        self._root = circuit.root

    @cached_property
    def n_paths(self) -> int:
        """How many boxes there are at most, whatever is free."""
        found: list[int] = []
        for kind, arcs in zip(self._kinds, self._arcs, strict=True):
            below = [found[child] for _, child in arcs]
            found.append(prod(below) if kind == AND else sum(below) if arcs else int(kind == TRUE))
        return found[self._root]

    def around(self, v: Sequence[int], free: int) -> list[Parts]:
        """Return disjoint boxes of the features `free`: the points of the circuit that agree with v elsewhere.

        Raises
        ------
        CircuitError
            If there are too many to list.

        Notes
        -----
        Linear in the nodes that are reached and the boxes on the way.
        """
        known: dict[int, list[Parts]] = {}
        stack = [self._root]
        while stack:
            node = stack[-1]
            below = self._below(node, v, free)
            ahead = [child for _, child in below if child not in known]
            if ahead:
                stack += ahead
                continue
            stack.pop()
            if node not in known:
                known[node] = self._joined(node, [(part, known[child]) for part, child in below])
                if len(known[node]) > _MOST_BOXES:
                    raise CircuitError(
                        f"Points that agree with an instance in some features make more than {_MOST_BOXES} boxes here; "
                        "explain with max_size, through target='mdd', or with independent features."
                    )
        return known[self._root]

    def _below(self, node: int, v: Sequence[int], free: int) -> list[tuple[Parts, int]]:
        """Return the children that can be reached, and what leads to them."""
        feature = self._features[node]
        if self._kinds[node] != DECISION:
            return [({}, child) for _, child in self._arcs[node]]
        if free >> feature & 1:
            return [({feature: cells}, child) for cells, child in self._arcs[node]]
        return [({}, child) for cells, child in self._arcs[node] if v[feature] in cells]

    def _joined(self, node: int, below: list[tuple[Parts, list[Parts]]]) -> list[Parts]:
        if self._kinds[node] == AND:
            found: list[Parts] = [{}]
            for _, boxes in below:
                found = [{**a, **b} for a in found for b in boxes]
                if len(found) > _MOST_BOXES:
                    break
            return found
        if not self._arcs[node]:
            return [{}] if self._kinds[node] == TRUE else []
        # The children of a disjunction exclude each other, as those of a decision do.
        return [{**part, **box} for part, boxes in below for box in boxes]


def outside_boxes(boxes: Sequence[Parts], features: Sequence[int], n_cells: Sequence[int]) -> Iterator[Parts]:
    """Iterate over disjoint boxes of all points of some features that lie in none of the given boxes.

    Examples
    --------
    >>> list(outside_boxes([{0: (0,), 1: (1,)}], [0, 1], [2, 2]))
    [{0: (1,)}, {0: (0,), 1: (0,)}]
    """
    stack: list[tuple[int, Parts, list[Parts]]] = [(0, {}, list(boxes))]
    while stack:
        k, part, inside = stack.pop()
        if not inside:
            yield part
            continue
        if k == len(features):
            continue
        i = features[k]
        alike: dict[tuple[int, ...], list[int]] = {}
        for cell in range(n_cells[i]):
            own = tuple(n for n, box in enumerate(inside) if i not in box or cell in box[i])
            alike.setdefault(own, []).append(cell)
        for own, cells in alike.items():
            added = {} if len(cells) == n_cells[i] else {i: tuple(cells)}
            stack.append((k + 1, {**part, **added}, [inside[n] for n in own]))
