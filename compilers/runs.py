"""Nodes of ordered diagrams in the making, as runs of neighbouring cells.

The function from a feature's cells to children has exactly one shortest list of runs, so equal
nodes have equal lists. A :class:`~axfi_kc.circuit.Circuit` is made of the nodes that count at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.grid import Grid

__all__ = ["RunNodes"]

Runs = tuple[int, ...]


class RunNodes:
    """A table of reduced, ordered nodes; 0 is false and 1 is true.

    A node is its place in the order and ``(end, child, end, child, ...)``: each child takes the
    cells from the end before it up to its own.

    Examples
    --------
    >>> nodes = RunNodes()
    >>> nodes.node(0, (2, 3), (0, 1)), nodes.node(0, (1, 2, 3), (0, 0, 1)), nodes.node(0, (1, 3), (1, 1))
    (2, 2, 1)
    """

    def __init__(self) -> None:
        self.places: list[int] = [-1, -1]
        self.runs: list[Runs] = [(), ()]
        self._number: dict[tuple[int, Runs], int] = {}

    def __len__(self) -> int:
        """Return the number of nodes made so far, false and true included."""
        return len(self.runs)

    def node(self, place: int, ends: Sequence[int], children: Sequence[int]) -> int:
        """Return the node that sends each run of cells to its child."""
        last, runs = children[0], list[int]()
        before = 0
        for end, child in zip(ends, children, strict=True):
            if child != last:
                runs += before, last
                last = child
            before = end
        if not runs:
            return last
        key = place, (*runs, before, last)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.runs)
            self.places.append(place)
            self.runs.append(key[1])
        return number

    def union(self, roots: Sequence[int], *, spend: Callable[[int], None]) -> int:
        """Return the node that holds where one of `roots` does.

        Notes
        -----
        The number of sets of nodes met together: at worst the product of the diagrams' sizes.
        """
        top = self._normal(roots)
        found: dict[Runs, int] = {(): 0}
        stack = [top]
        while stack:
            nodes = stack[-1]
            if nodes in found:
                stack.pop()
            elif len(nodes) == 1:
                found[stack.pop()] = nodes[0]
            else:
                ends, below = self._below(nodes)
                missing = [b for b in below if b not in found]
                if missing:
                    stack += missing
                else:
                    spend(1)
                    place = min(self.places[n] for n in nodes)
                    found[stack.pop()] = self.node(place, ends, [found[b] for b in below])
        return found[top]

    @staticmethod
    def _normal(nodes: Sequence[int]) -> Runs:
        """Return a set of nodes without false; true takes all."""
        kept = set(nodes)
        return (1,) if 1 in kept else tuple(sorted(kept - {0}))

    def _below(self, nodes: Runs) -> tuple[list[int], list[Runs]]:
        """Return the common runs of several nodes, and the children met in each."""
        place = min(self.places[n] for n in nodes)
        tested = [self.runs[n] for n in nodes if self.places[n] == place]
        rest = [n for n in nodes if self.places[n] != place]
        ends = sorted({end for runs in tested for end in runs[::2]})
        at = [0] * len(tested)
        below = []
        for end in ends:
            below.append(self._normal([*rest, *(runs[k + 1] for runs, k in zip(tested, at, strict=True))]))
            at = [k + 2 * (runs[k] == end) for runs, k in zip(tested, at, strict=True)]
        return ends, below

    def circuit(self, root: int, *, grid: Grid, order: Sequence[int], negated: bool) -> Circuit:
        """Return the diagram below `root`, or of its complement, as a circuit (cost: linear)."""
        build = CircuitBuilder(grid)
        made = {0: build.true, 1: build.false} if negated else {0: build.false, 1: build.true}
        for node in self._reached(root):
            runs = self.runs[node]
            starts = (0, *runs[:-2:2])
            arcs = zip(map(range, starts, runs[::2]), (made[c] for c in runs[1::2]), strict=True)
            made[node] = build.decision(order[self.places[node]], arcs)
        return build.circuit(made[root])

    def _reached(self, root: int) -> list[int]:
        """Return the inner nodes below `root`, children first."""
        seen, stack = {0, 1, root}, [root]
        while stack:
            for child in self.runs[stack.pop()][1::2]:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return sorted(seen - {0, 1})
