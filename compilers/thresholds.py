"""Ordered diagrams of "a sum of trees is above 0".

Top-down over the features: what remains below a point of the search is a multiset of residual
trees and a partial sum. Sub-diagrams are remembered per multiset, each with the interval of
partial sums for which it is the same; without the intervals almost nothing would be met twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from axfi_kc.compilers.ordered_trees import OrderedTrees
from axfi_kc.targets.mdd_nodes import MddNodes

__all__ = ["ThresholdCompiler"]

Residuals = tuple[int, ...]


class _State:
    """A multiset of residual trees, with the sub-diagrams found for it so far.

    Run k of the first feature's cells ends before ``ends[k]``, adds ``amounts[k]`` and leaves the
    state ``below[k]``, which can add at most ``mosts[k]``. The sub-diagram ``nodes[k]`` holds for
    the partial sums ``lows[k] <= total < highs[k]``; these intervals are disjoint and sorted.
    """

    __slots__ = ("amounts", "below", "ends", "highs", "lows", "mosts", "nodes", "place", "residuals")

    def __init__(self, residuals: Residuals) -> None:
        self.residuals = residuals
        self.place = -1
        self.ends: tuple[int, ...] = ()
        self.amounts: list[int] = []
        self.mosts: list[int] = []
        self.below: list[_State | Residuals] = []
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.nodes: list[int] = []


class _Frame:
    """A sub-diagram in the making: the children found so far, and the interval they allow."""

    __slots__ = ("children", "high", "low", "state", "total")

    def __init__(self, state: _State, total: int, far: int) -> None:
        self.state = state
        self.total = total
        self.low = -far
        self.high = far
        self.children: list[int] = []


class ThresholdCompiler:
    """Compiles "base + sum of trees > 0" into a reduced ordered MDD.

    Parameters
    ----------
    trees
        The trees of the sum, ordered.
    nodes
        Where nodes are made and shared.
    spend
        Called with a number of sub-diagrams before they are made; may raise.

    Notes
    -----
    Exponential at worst. Integers of any size; no recursion.
    """

    def __init__(self, trees: OrderedTrees, *, nodes: MddNodes, spend: Callable[[int], None]) -> None:
        self._trees = trees
        self._nodes = nodes
        self._spend = spend
        self._states: dict[Residuals, _State] = {}

    def compile(self, base: int) -> int:
        """Return the node of "`base` plus the trees is above 0"."""
        # Residual tree 0 adds nothing. Sorted, equal multisets are equal tuples.
        residuals = tuple(sorted(r for _, r in self._trees.roots if r))
        total = base + sum(amount for amount, _ in self._trees.roots)
        most = sum(self._trees.most[r] for r in residuals)
        # Residual trees are at least 0, so `total` is the least and `total + most` the largest sum.
        if total > 0 or total + most <= 0:
            return int(total > 0)
        # beyond every partial sum, also after all amounts on a path are taken off
        far = abs(total) + 2 * most + 2
        top = self._state(residuals)
        frames = [self._frame(top, total, far)]
        while frames:
            child = self._advance(frames[-1], far)
            if child is not None:
                frames.append(child)
            else:
                self._close(frames.pop())
        return top.nodes[0]

    def _advance(self, frame: _Frame, far: int) -> _Frame | None:
        """Look up the children of a frame; return the frame of the first that is not known yet.

        Residual trees are at least 0, so the partial sum is also the least sum below.
        """
        here, children, total, low, high = frame.state, frame.children, frame.total, frame.low, frame.high
        amounts, mosts, below = here.amounts, here.mosts, here.below
        # Children found earlier stay: a frame that was left is taken up where it stopped.
        for run in range(len(children), len(amounts)):
            amount = amounts[run]
            at = total + amount
            if at > 0:
                # True for every sum from 1 on, as nothing below can take anything away.
                child, first, end = 1, 1, far
            elif at + mosts[run] <= 0:
                # False as long as sum and most do not exceed 0; intervals end before their second number.
                child, first, end = 0, -far, 1 - mosts[run]
            else:
                state = below[run]
                if isinstance(state, tuple):
                    state = below[run] = self._state(state)
                k = bisect_right(state.lows, at) - 1
                # The last interval that begins at or below the sum, if it reaches that far.
                if k < 0 or at >= state.highs[k]:
                    frame.low, frame.high = low, high
                    return self._frame(state, at, far)
                child, first, end = state.nodes[k], state.lows[k], state.highs[k]
            children.append(child)
            # Seen from here, a child's interval lies lower by what the arc adds. The node holds where all of
            # its children do.
            if first - amount > low:
                low = first - amount
            if end - amount < high:
                high = end - amount
        frame.low, frame.high = low, high
        return None

    def _close(self, frame: _Frame) -> None:
        """Make the node of a finished frame and remember its interval."""
        state = frame.state
        node = self._nodes.node(state.place, state.ends, frame.children)
        # Intervals of a state are disjoint, so ordering them by their beginnings orders them altogether.
        k = bisect_right(state.lows, frame.low)
        state.lows.insert(k, frame.low)
        state.highs.insert(k, frame.high)
        state.nodes.insert(k, node)

    def _frame(self, state: _State, total: int, far: int) -> _Frame:
        self._spend(1)
        # Only when it is first entered: a state whose sums the bounds settle is never expanded.
        if not state.amounts:
            self._expand(state)
        return _Frame(state, total, far)

    def _state(self, residuals: Residuals) -> _State:
        state = self._states.get(residuals)
        if state is None:
            state = self._states[residuals] = _State(residuals)
        return state

    def _expand(self, state: _State) -> None:
        """Find what each run of cells of the first feature adds and leaves."""
        trees, residuals = self._trees, state.residuals
        state.place = trees.place[residuals[0]]
        n = 1
        # Numbers grow with the place, so trees that test the first feature stand at the front.
        while n < len(residuals) and trees.place[residuals[n]] == state.place:
            n += 1
        touched, rest = residuals[:n], list(residuals[n:])
        rest_most = sum([trees.most[r] for r in rest])
        starts, state.ends = trees.common_runs(touched)
        amounts, children = [trees.amounts[r] for r in touched], [trees.children[r] for r in touched]
        for cell in starts:
            left = [row[cell] for row in children]
            state.amounts.append(sum([row[cell] for row in amounts]))
            state.mosts.append(rest_most + sum([trees.most[r] for r in left]))
            # Canonical again: what a touched tree leaves may test any later feature.
            state.below.append(tuple(sorted([r for r in left if r] + rest)))
