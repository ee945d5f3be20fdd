"""Whether the primes of each decision of a sentential decision diagram exclude each other, as its vtree shows.

Two nodes below one vtree node are unions of (prime and sub), and prime and sub share no variable: the two have no
common model exactly if in each pair of elements the primes have none or the subs have none. So pairs of nodes
suffice, and there is no search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from axfi_kc.circuits.targets.vtrees import Vtree

__all__ = ["FALSE", "TRUE", "PlacedNode", "are_exclusive", "vtree_spans"]


FALSE, TRUE = -2, -1  # places of constants
_STEPS_PER_NODE, _FEW_STEPS = 64, 100_000  # pairs that may be looked at before the question is left open


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node of a diagram.

    Attributes
    ----------
    place
        Its node of the vtree; FALSE or TRUE for a constant.
    literal
        The literal it is; 0 for others.
    elements
        Primes and subs of a decision, as numbers of nodes above it.
    """

    place: int
    literal: int = 0
    elements: tuple[tuple[int, int], ...] = ()


def vtree_spans(vtree: Vtree) -> list[range]:
    """Return, for each node, the positions of its subtree when nodes are listed from left to right."""
    # A subtree is an interval from left to right, so "lies below" is a comparison of bounds and not a walk.
    sizes: list[int] = []
    for left, right in zip(vtree.left, vtree.right, strict=True):
        sizes.append(1 if left < 0 else sizes[left] + sizes[right] + 1)
    starts = [0] * len(sizes)
    for node in reversed(range(len(sizes))):
        left, right = vtree.left[node], vtree.right[node]
        if left >= 0:
            starts[left] = starts[node]
            starts[right] = starts[node] + sizes[left] + 1
    return [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]


def are_exclusive(nodes: Sequence[PlacedNode], vtree: Vtree) -> bool:
    """Tell whether it was shown that the primes of every decision exclude each other.

    Parameters
    ----------
    nodes
        Children first, each where the vtree wants it.
    vtree
        The vtree.

    Notes
    -----
    At most a step per pair of nodes and pair of elements; what takes too many is left open, and False.

    Examples
    --------
    >>> vtree = Vtree((-1, -1, 0), (-1, -1, 1), (0, 1, -1))
    >>> nodes = [PlacedNode(0, 1), PlacedNode(0, -1), PlacedNode(TRUE), PlacedNode(1, 2)]
    >>> are_exclusive([*nodes, PlacedNode(2, 0, ((0, 2), (1, 3)))], vtree)
    True
    >>> are_exclusive([*nodes, PlacedNode(2, 0, ((0, 2), (0, 3)))], vtree)
    False
    """
    pairs = _Pairs(nodes, vtree)
    wanted = ((a, b) for node in nodes for k, (a, _) in enumerate(node.elements) for b, _ in node.elements[:k])
    return all(pairs.are_disjoint(a, b) for a, b in wanted)


class _Pairs:
    """Tells whether two nodes have a common model; each pair once."""

    def __init__(self, nodes: Sequence[PlacedNode], vtree: Vtree) -> None:
        self._nodes, self._vtree, self._spans = nodes, vtree, vtree_spans(vtree)
        self._empty: list[bool] = []
        for node in nodes:
            # Decomposable, so a decision has a model exactly if some prime and its sub do.
            is_open = (
                node.place == TRUE
                or node.literal
                or any(not self._empty[p] and not self._empty[s] for p, s in node.elements)
            )
            self._empty.append(not is_open)
        self._known: dict[tuple[int, int], bool] = {}
        self._steps = _STEPS_PER_NODE * len(nodes) + _FEW_STEPS

    def are_disjoint(self, a: int, b: int) -> bool:
        """Tell whether it was shown that two nodes have no common model."""
        stack = [(a, b)]
        while stack:
            pair = stack[-1]
            found = self._settled(*pair)
            if isinstance(found, tuple):
                stack.append(found)
                continue
            self._known[_key(*pair)] = found
            stack.pop()
        return self._known[_key(a, b)]

    def _settled(self, a: int, b: int) -> bool | tuple[int, int]:
        """Return the answer, or a pair that must be settled first."""
        if self._empty[a] or self._empty[b]:
            return True
        one, other = self._nodes[a], self._nodes[b]
        if TRUE in (one.place, other.place):
            return False
        if one.literal and other.literal:
            return one.literal == -other.literal
        if one.place == other.place:
            return self._all([((p, q), (s, t)) for p, s in one.elements for q, t in other.elements])
        for upper, lower in ((a, b), (b, a)):
            side = self._side(self._nodes[upper].place, self._nodes[lower].place)
            if side >= 0:
                # The lower one speaks about one side only; the other side must then be impossible by itself.
                ends = self._nodes[upper].elements
                return self._all([((pair[side], lower), (pair[1 - side], pair[1 - side])) for pair in ends])
        return False  # different variables, and both have a model

    def _side(self, upper: int, lower: int) -> int:
        """Return 0 if a place lies left below another, 1 if right, and -1 if neither."""
        for side, child in enumerate((self._vtree.left[upper], self._vtree.right[upper])):
            # the whole span: a place above this one may begin where its left child does
            if child >= 0 and self._within(self._spans[lower], self._spans[child]):
                return side
        return -1

    @staticmethod
    def _within(inner: range, outer: range) -> bool:
        return outer.start <= inner.start and inner.stop <= outer.stop

    def _all(self, ways: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> bool | tuple[int, int]:
        """Tell whether in each of several ways one of two pairs is disjoint; a node is from itself if it is empty."""
        self._steps -= len(ways)
        if self._steps < 0:
            return False
        for way in ways:
            if any(self._empty[k] for pair in way for k in pair):
                continue
            answers = [None if a == b else self._known.get(_key(a, b)) for a, b in way]
            if True in answers:
                continue
            missing = [pair for pair, known in zip(way, answers, strict=True) if known is None and pair[0] != pair[1]]
            if not missing:
                return False
            return missing[0]
        return True


def _key(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)
