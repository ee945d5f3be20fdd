"""Nodes of ordered diagrams in the making, and the operations on them.

A node is its place in the order and its runs ``(end, child, end, child, ...)``: each child takes the
cells from the end before it up to its own. The function from a feature's cells to children has
exactly one shortest list of runs, so equal nodes have equal lists. Places grow from the top down;
false (0) and true (1) are below every place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets.bit_codes import balanced
from axfi_kc.domain.grid import Grid

__all__ = ["MddNodes", "Runs", "merged_runs", "runs_of", "runs_of_values", "shortest_runs"]


Runs = tuple[int, ...]
Opened = int | tuple[int, Sequence[int], Sequence[Any]]  # a node, or place, ends, and what lies below

_FALSE, _TRUE = 0, 1


def runs_of(cells: Iterable[int]) -> list[tuple[int, int]]:
    """Return a sorted set of cells as runs ``(first, past the last)``.

    Examples
    --------
    >>> runs_of([0, 1, 4])
    [(0, 2), (4, 5)]
    """
    found: list[tuple[int, int]] = []
    for c in cells:
        if found and found[-1][1] == c:
            found[-1] = found[-1][0], c + 1
        else:
            found.append((c, c + 1))
    return found


def runs_of_values(values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return a value per cell as the ends of runs and the value of each.

    Examples
    --------
    >>> runs_of_values([5, 5, 7])
    ([2, 3], [5, 7])
    """
    last = len(values) - 1
    ends = [k + 1 for k, value in enumerate(values) if k == last or values[k + 1] != value]
    return ends, [values[end - 1] for end in ends]


def shortest_runs(ends: Sequence[int], children: Sequence[int]) -> Runs:
    """Return runs with one child each as ``(end, child, ...)``, neighbours with the same child joined.

    Examples
    --------
    >>> shortest_runs([1, 3, 4], [7, 7, 0])
    (3, 7, 4, 0)
    """
    last, runs = children[0], list[int]()
    before = 0
    for end, child in zip(ends, children, strict=True):
        if child != last:
            runs += before, last
            last = child
        before = end
    return (*runs, before, last)


class MddNodes:
    """A table of reduced, ordered nodes.

    Parameters
    ----------
    grid
        The cells.
    order
        The features from the top down.
    spend
        Called with the number of nodes about to be made; may raise to stop. By default that of `account`.
    account
        Also looked at in passes, which make no node that is new.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)]))
    >>> nodes = MddNodes(grid, [0, 1], spend=lambda n: None)
    >>> a, b = nodes.node(0, (2, 3), (0, 1)), nodes.node(1, (1, 2), (0, 1))
    >>> both = nodes.conjoined(a, b)
    >>> nodes.runs[both] == (2, 0, 3, b), nodes.conjoined(both, a) == both, nodes.disjoined(both, a) == a
    (True, True, True)
    """

    def __init__(
        self,
        grid: Grid,
        order: Sequence[int],
        *,
        spend: Callable[[int], None] | None = None,
        account: Account | None = None,
    ) -> None:
        self.grid = grid
        self.order = list(order)
        self.places: list[int] = [len(self.order)] * 2
        self.runs: list[Runs] = [(), ()]
        self.account = account or Account(None, goal="diagram")
        self.spend = spend or self.account.spend
        self._place_of = {feature: k for k, feature in enumerate(self.order)}
        self._number: dict[tuple[int, Runs], int] = {}
        self._joined: tuple[dict[tuple[int, int], int], ...] = ({}, {})  # by the neutral element

    def charge(self, account: Account) -> None:
        """Let another account pay for what is done from now on."""
        self.account, self.spend = account, account.spend

    def node(self, place: int, ends: Sequence[int], children: Sequence[int]) -> int:
        """Return the node that sends each run of cells to its child."""
        runs = shortest_runs(ends, children)
        # One run takes all cells, so the feature need not be tested.
        if len(runs) == 2:
            return runs[1]
        key = place, runs
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.runs)
            self.places.append(place)
            self.runs.append(runs)
        return number

    def conjoined(self, a: int, b: int) -> int:
        """Return the conjunction of two nodes (cost: at worst the product of their sizes)."""
        return self._join(a, b, _TRUE)

    def disjoined(self, a: int, b: int) -> int:
        """Return the disjunction of two nodes (cost: at worst the product of their sizes)."""
        return self._join(a, b, _FALSE)

    def union(self, roots: Sequence[int]) -> int:
        """Return the disjunction of any number of nodes.

        Notes
        -----
        The number of sets of nodes met together: at worst the product of the diagrams' sizes. All at once,
        no diagram of some of them is ever made, which may be larger than that of all.
        """
        return self._solved(_without_false(roots), {}, self._together)

    def _together(self, nodes: Runs) -> Opened:
        """Open a set of nodes: settle it, or return the sets below it."""
        if len(nodes) <= 1:
            return nodes[0] if nodes else _FALSE
        place = min(self.places[n] for n in nodes)
        rest = [n for n in nodes if self.places[n] != place]
        ends, below = merged_runs([self.runs[n] for n in nodes if self.places[n] == place])
        return place, ends, [_without_false([*rest, *children]) for children in below]

    def _join(self, a: int, b: int, neutral: int) -> int:
        return self._solved((a, b) if a < b else (b, a), self._joined[neutral], lambda pair: self._pairs(pair, neutral))

    def _pairs(self, pair: tuple[int, int], neutral: int) -> Opened:
        """Open a pair of nodes: settle it, or return the pairs below it. Constants are the first of a pair."""
        a, b = pair
        # A constant is either neutral, and leaves the other, or absorbs it.
        if a <= _TRUE:
            return b if a == neutral else a
        if a == b:
            return a
        place = min(self.places[a], self.places[b])
        if self.places[a] != self.places[b]:
            # The lower one does not test this feature: it meets every child of the upper one as it is.
            tested, other = (a, b) if self.places[a] == place else (b, a)
            runs = self.runs[tested]
            return place, runs[::2], [(c, other) if c < other else (other, c) for c in runs[1::2]]
        ends, below = merged_runs([self.runs[a], self.runs[b]])
        return place, ends, [(c, d) if c < d else (d, c) for c, d in below]

    def complement(self, root: int) -> int:
        """Return the node of all other points (cost: linear)."""
        made = {_FALSE: _TRUE, _TRUE: _FALSE}
        for node in self.account.paced(self.reached(root)):
            runs = self.runs[node]
            made[node] = self.node(self.places[node], runs[::2], [made[c] for c in runs[1::2]])
        return made[root]

    def decision(self, feature: int, ends: Sequence[int], children: Sequence[int]) -> int:
        """Return the node that sends runs of cells of `feature` to nodes, which may test any feature.

        Notes
        -----
        Above the feature's place, one step per tuple of what the children have become there: as
        many as the result has nodes and redundant nodes.
        """
        place = self._place_of[feature]
        if min(self.places[c] for c in children) > place:
            return self.node(place, ends, children)
        return self._solved(tuple(children), {}, lambda state: self._states(state, place, ends))

    def _states(self, state: Runs, place: int, ends: Sequence[int]) -> Opened:
        top = min(self.places[n] for n in state)
        if top > place:
            return self.node(place, ends, state)
        # Nothing above the feature is tested any more, so what children say of it can be put together.
        if top == place:
            return self.node(place, *self._refined(state, place, ends))
        tested = [k for k, n in enumerate(state) if self.places[n] == top]
        common, below = merged_runs([self.runs[state[k]] for k in tested])
        states = []
        for children in below:
            changed = list(state)
            for k, child in zip(tested, children, strict=True):
                changed[k] = child
            states.append(tuple(changed))
        return top, common, states

    def _refined(self, state: Runs, place: int, ends: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the runs of a decision some of whose children test the same feature once more."""
        found: tuple[list[int], list[int]] = [], []
        begin = 0
        for end, node in zip(ends, state, strict=True):
            runs = self.runs[node] if self.places[node] == place else (end, node)
            for inner, child in zip(runs[::2], runs[1::2], strict=True):
                if inner > begin:
                    found[0].append(min(inner, end))
                    found[1].append(child)
                    begin = min(inner, end)
                if inner >= end:
                    break
        return found

    def _solved(self, top: Any, known: dict[Any, int], opened: Callable[[Any], Opened]) -> int:
        """Return the node of the state `top`, from those of the states below it (no recursion)."""
        stack = [top]
        while stack:
            state = stack[-1]
            if state in known:
                stack.pop()
                continue
            found = opened(state)
            if isinstance(found, int):
                known[state] = found
                continue
            place, ends, below = found
            missing = [b for b in below if b not in known]
            # The state stays on the stack and is opened once more when what lies below it is known.
            if missing:
                stack += missing
            else:
                self.spend(1)
                known[state] = self.node(place, ends, [known[b] for b in below])
        return known[top]

    def load(self, circuit: Circuit) -> int:
        """Return the node of a circuit of any kind: gates need neither disjoint scopes nor exclusive parts."""
        runs = [runs_of(cells) for cells in circuit.cell_sets]

        def decision(feature: int, labels: list[int], below: list[int]) -> int:
            arcs = [(*run, child) for k, child in zip(labels, below, strict=True) for run in runs[k]]
            return self.decision(feature, *self._filled(feature, sorted(arcs)))

        return circuit.fold(
            decision=decision,
            conjunction=lambda below: balanced(below, self.conjoined, _TRUE),
            disjunction=lambda below: balanced(below, self.disjoined, _FALSE),
            false=_FALSE,
            true=_TRUE,
            account=self.account,
        )[-1]

    def _filled(self, feature: int, arcs: Sequence[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
        """Return arcs as runs over all cells: what no arc names goes to false."""
        ends, children, before = list[int](), list[int](), 0
        for begin, end, child in arcs:
            if begin > before:
                ends.append(begin)
                children.append(_FALSE)
            ends.append(end)
            children.append(child)
            before = end
        if before < self.grid.n_cells[feature]:
            ends.append(self.grid.n_cells[feature])
            children.append(_FALSE)
        return ends, children

    def circuit(self, root: int, *, negated: bool = False) -> Circuit:
        """Return the diagram below `root`, or of its complement, as a circuit (cost: linear)."""
        build = CircuitBuilder(self.grid)
        made = {_FALSE: build.true, _TRUE: build.false} if negated else {_FALSE: build.false, _TRUE: build.true}
        for node in self.account.paced(self.reached(root)):
            runs = self.runs[node]
            starts = (0, *runs[:-2:2])
            arcs = zip(map(range, starts, runs[::2]), (made[c] for c in runs[1::2]), strict=True)
            made[node] = build.decision(self.order[self.places[node]], arcs)
        return build.circuit(made[root])

    def reached(self, root: int) -> list[int]:
        """Return the inner nodes below `root`, children first."""
        seen, stack = {_FALSE, _TRUE, root}, [root]
        while stack:
            for child in self.runs[stack.pop()][1::2]:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return sorted(seen - {_FALSE, _TRUE})  # a node is made after its children


def merged_runs(lists: Sequence[Runs]) -> tuple[list[int], list[list[int]]]:
    """Return the common runs of several nodes, and the children met in each."""
    ends = sorted({end for runs in lists for end in runs[::2]})
    at = [0] * len(lists)
    below = []
    for end in ends:
        # No list has an end between the last common one and this: each is in a single run of its own.
        below.append([runs[k + 1] for runs, k in zip(lists, at, strict=True)])
        at = [k + 2 * (runs[k] == end) for runs, k in zip(lists, at, strict=True)]
    return ends, below


def _without_false(nodes: Sequence[int]) -> Runs:
    """Return a set of nodes of which one is to hold, sorted; true takes all."""
    kept = set(nodes)
    return (_TRUE,) if _TRUE in kept else tuple(sorted(kept - {_FALSE}))
