"""Better orders for ordered diagrams, found by swapping neighbouring features.

A swap touches only the two levels it exchanges: a node of the upper feature that leads to nodes of
the lower one is rewritten in place, so nothing above it changes, and no node below either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import permutations

from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.targets.mdd import Mdd
from axfi_kc.circuits.targets.mdd_nodes import MddNodes, Runs, merged_runs, shortest_runs
from axfi_kc.errors import BudgetError, CircuitError

__all__ = ["reordered", "sifted"]


class _Levels:
    """A diagram that can be reordered: for each place of the order a table of nodes, with reference counts."""

    def __init__(self, mdd: Mdd, *, spend: Callable[[int], None]) -> None:
        nodes = MddNodes(mdd.grid, mdd.order, spend=spend)
        self._root = nodes.load(mdd.circuit)
        self._grid = mdd.grid
        self._spend = spend
        self.order = list(mdd.order)
        self._runs: dict[int, Runs] = {}
        self._tables: list[dict[Runs, int]] = [{} for _ in self.order]
        self._uses: Counter[int] = Counter([self._root])
        self._next = len(nodes.runs)
        for node in nodes.reached(self._root):
            self._runs[node] = nodes.runs[node]
            self._tables[nodes.places[node]][nodes.runs[node]] = node
            self._uses.update(nodes.runs[node][1::2])
        self._best, self._best_order = len(self), list(self.order)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._runs)

    def swap(self, place: int) -> None:
        """Exchange the features at `place` and below it (cost: linear in their two levels)."""
        upper, lower = self._tables[place], self._tables[place + 1]
        below = set(lower.values())
        n_upper, n_lower = (self._grid.n_cells[self.order[k]] for k in (place, place + 1))
        self.order[place], self.order[place + 1] = self.order[place + 1], self.order[place]
        # A node that does not lead to the lower feature just sinks a level, with its runs as they are.
        moved = {runs: node for runs, node in upper.items() if not below.intersection(runs[1::2])}
        rewritten = [node for runs, node in upper.items() if runs not in moved]
        self._tables[place], self._tables[place + 1] = lower, moved
        # The others keep their numbers, so that nothing above notices.
        for node in rewritten:
            runs = self._exchanged(self._runs[node], below, n_upper, n_lower, moved)
            self._uses.subtract(self._runs[node][1::2])
            self._uses.update(runs[1::2])
            self._runs[node] = runs
        # What only rewritten nodes led to is gone, and no longer keeps what lies below it.
        for runs, node in list(lower.items()):
            if not self._uses[node]:
                del lower[runs], self._runs[node], self._uses[node]
                self._uses.subtract(runs[1::2])
        lower.update((self._runs[node], node) for node in rewritten)
        if len(self) < self._best:
            self._best, self._best_order = len(self), list(self.order)
        self._spend(1 + len(rewritten))

    def _exchanged(self, runs: Runs, below: set[int], n_upper: int, n_lower: int, table: dict[Runs, int]) -> Runs:
        """Return the runs of a node that tests the lower feature first; nodes of the upper one go into `table`."""
        ends = runs[::2]
        # A child that does not test the lower feature is the same for all of its cells: one run.
        columns = [self._runs[child] if child in below else (n_lower, child) for child in runs[1::2]]
        common, rows = merged_runs(columns)
        children = [self._node(shortest_runs(ends, row), table) for row in rows]
        return shortest_runs(common, children)

    def _node(self, runs: Runs, table: dict[Runs, int]) -> int:
        if len(runs) == 2:
            return runs[1]
        node = table.get(runs)
        if node is None:
            node = table[runs] = self._next
            self._next += 1
            self._runs[node] = runs
            self._uses.update(runs[1::2])
        return node

    def by_size(self) -> list[int]:
        """Return the features, those with most nodes first."""
        return [self.order[k] for k in sorted(range(len(self.order)), key=lambda k: -len(self._tables[k]))]

    def best(self) -> Mdd:
        """Return the diagram in the best order met so far, whatever that costs."""
        self._spend = lambda _: None
        self.arrange(0, self._best_order)
        nodes = MddNodes(self._grid, self.order, spend=self._spend)
        number = {0: 0, 1: 1}
        for place in reversed(range(len(self.order))):
            for runs, node in self._tables[place].items():
                number[node] = nodes.node(place, runs[::2], [number[child] for child in runs[1::2]])
        return Mdd(nodes.circuit(number[self._root]), tuple(self.order))

    def move(self, source: int, target: int) -> None:
        """Bring the feature at place `source` to place `target`, by swaps."""
        for place in range(source, target):
            self.swap(place)
        for place in reversed(range(target, source)):
            self.swap(place)

    def arrange(self, first: int, wanted: Sequence[int]) -> None:
        """Bring the features `wanted`, which take the places from `first` on, into this order."""
        for k, feature in enumerate(wanted):
            self.move(self.order.index(feature), first + k)


def reordered(mdd: Mdd, *, window: int = 3, budget: Budget | None = None) -> Mdd:
    """Return the diagram in an order that no permutation of neighbouring features makes smaller.

    Parameters
    ----------
    mdd
        Any ordered diagram.
    window
        How many neighbours are permuted at a time: 2, 3 or 4.
    budget
        What it may cost; a node is one that is rewritten. When it is spent, the best order so far is
        returned.

    Raises
    ------
    CircuitError
        If the window is none of these.

    Notes
    -----
    Windows are gone through from the top down until a whole round changes nothing; each one costs a
    few swaps per permutation, each linear in two levels.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> from axfi_kc.circuits.targets import mdd_of
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abcdef"])))
    >>> pairs = [build.conjunction([build.literal(i, [1]), build.literal(i + 3, [1])]) for i in range(3)]
    >>> far = mdd_of(build.circuit(build.disjunction(pairs)))
    >>> far.size.nodes, reordered(far).size.nodes, reordered(far).order
    (14, 6, (0, 3, 1, 4, 2, 5))
    """
    if window not in (2, 3, 4):
        raise CircuitError(f"A window must be 2, 3 or 4 features wide, but {window} was given; name one of these.")
    return _improved(mdd, budget, lambda levels: _slide(levels, min(window, len(levels.order))))


def _slide(levels: _Levels, window: int) -> None:
    for first in range(len(levels.order) - window + 1):
        here = levels.order[first : first + window]
        sizes = {tuple(here): len(levels)}
        for wanted in permutations(here):
            levels.arrange(first, wanted)
            sizes.setdefault(wanted, len(levels))
        best = min(sizes, key=sizes.__getitem__)
        levels.arrange(first, best)


def sifted(mdd: Mdd, *, budget: Budget | None = None) -> Mdd:
    """Return the diagram in an order that moving a single feature does not make smaller.

    Notes
    -----
    A budget is taken as by :func:`reordered`. Each feature goes to every place and stays at the best one, the
    features with most nodes first; rounds go on until one changes nothing. A move is given up when the diagram
    has grown to twice its size.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> from axfi_kc.circuits.targets import mdd_of
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abcdef"])))
    >>> pairs = [build.conjunction([build.literal(i, [1]), build.literal(i + 3, [1])]) for i in range(3)]
    >>> far = mdd_of(build.circuit(build.disjunction(pairs)))
    >>> far.size.nodes, sifted(far).size.nodes, sifted(far).count() == far.count()
    (14, 6, True)
    """
    return _improved(mdd, budget, _sift)


def _sift(levels: _Levels) -> None:
    for feature in levels.by_size():
        start, most = levels.order.index(feature), 2 * len(levels)
        sizes = {start: len(levels)}
        for places in (range(start + 1, len(levels.order)), range(start - 1, -1, -1)):
            levels.move(levels.order.index(feature), start)
            for place in places:
                levels.move(levels.order.index(feature), place)
                sizes[place] = len(levels)
                if len(levels) > most:
                    break
        levels.move(levels.order.index(feature), min(sizes, key=sizes.__getitem__))


def _improved(mdd: Mdd, budget: Budget | None, one_round: Callable[[_Levels], None]) -> Mdd:
    """Return the diagram after rounds that each made it smaller."""
    levels = _Levels(mdd, spend=Account(budget, goal="order").spend)
    before = len(levels) + 1
    with suppress(BudgetError):
        while len(levels) < before:
            before = len(levels)
            one_round(levels)
    return levels.best()
