"""Vtrees: binary trees whose leaves are features, or the bits of their codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from axfi_kc.arguments import quoted
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["SHAPES", "Vtree", "feature_vtree"]


_INNER = -1


@dataclass(frozen=True, slots=True)
class Vtree:
    """A full binary tree in arrays, children before parents, the root last.

    Attributes
    ----------
    left, right
        The children of each node; -1 at a leaf.
    leaves
        What a leaf stands for: the number of a feature or of a bit; -1 at an inner node.

    Examples
    --------
    >>> Vtree.right_linear([4, 5, 6])
    Vtree(left=(-1, -1, -1, 1, 0), right=(-1, -1, -1, 2, 3), leaves=(4, 5, 6, -1, -1))
    >>> Vtree.right_linear([4, 5, 6]).in_order
    (0, 2, 4, 3, 1)
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    leaves: tuple[int, ...]

    @classmethod
    def right_linear(cls, leaves: Sequence[int]) -> Vtree:
        """Return the tree whose left children are all leaves."""
        n = len(leaves)
        inner = n - 1
        # Inner nodes from the lowest up: each has the next leaf towards the front on its left, the one before it on its
        # right; the lowest has the last leaf there.
        left = [*([_INNER] * n), *range(n - 2, -1, -1)]
        right = [*([_INNER] * n), *([n - 1] if inner else []), *range(n, n + inner - 1)]
        return cls(tuple(left), tuple(right), (*leaves, *([_INNER] * inner)))

    @classmethod
    def balanced(cls, leaves: Sequence[int]) -> Vtree:
        """Return the tree that joins neighbours, level by level."""
        left, right, marks = [_INNER] * len(leaves), [_INNER] * len(leaves), list(leaves)
        level = list(range(len(leaves)))
        while len(level) > 1:
            above = []
            for k in range(0, len(level) - 1, 2):
                above.append(len(marks))
                left.append(level[k])
                right.append(level[k + 1])
                marks.append(_INNER)
            level = above + level[len(level) - len(level) % 2 :]
        return cls(tuple(left), tuple(right), tuple(marks))

    @classmethod
    def of_nested(cls, nested: Any, *, number: Callable[[str], int] | None = None) -> Vtree:
        """Return the tree of nested pairs, such as ``((0, 1), 2)``; `number` is what a name stands for.

        Raises
        ------
        CircuitError
            If something is neither a pair nor a number.

        Examples
        --------
        >>> Vtree.of_nested(((0, 1), 2)).leaves
        (0, 1, -1, 2, -1)
        """

        def leaf(part: Any) -> int:
            found = number(part) if number is not None and isinstance(part, str) else part
            if not isinstance(found, int):
                raise CircuitError(
                    f"A vtree is made of pairs and features, but {quoted(part)} was found; "
                    "write it like (('a', 'b'), 'c')."
                )
            return found

        return cls.below(nested, lambda p: p if isinstance(p, tuple | list) and len(p) == 2 else None, leaf)

    @classmethod
    def below(cls, top: Any, halves: Callable[[Any], Any], leaf: Callable[[Any], int]) -> Vtree:
        """Return the tree below `top`, where `halves` are the two parts of a node, None for a leaf (no recursion)."""
        left, right, leaves = list[int](), list[int](), list[int]()
        stack, made = [(top, False)], list[int]()
        while stack:
            part, opened = stack.pop()
            both = None if opened else halves(part)
            if both is not None:
                stack += [(part, True), (both[1], False), (both[0], False)]
                continue
            # A part comes back after both halves, whose numbers then lie on top, the second half's uppermost.
            second, first = (made.pop(), made.pop()) if opened else (_INNER, _INNER)
            made.append(len(leaves))
            left.append(first)
            right.append(second)
            leaves.append(_INNER if opened else leaf(part))
        return cls(tuple(left), tuple(right), tuple(leaves))

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.leaves) - 1

    @property
    def depth(self) -> int:
        """The number of nodes on the longest way down."""
        found: list[int] = []
        for a, b in zip(self.left, self.right, strict=True):
            found.append(1 + max(found[a], found[b]) if a >= 0 else 1)
        return found[-1]

    @property
    def in_order(self) -> tuple[int, ...]:
        """Each node's position from left to right, an inner node between its children, as libraries number them."""
        found = [0] * len(self.leaves)
        # No recursion: a right-linear tree over thousands of bits is deeper than Python allows.
        stack, here, position = list[int](), self.root, 0
        while stack or here >= 0:
            while here >= 0:
                stack.append(here)
                here = self.left[here]
            here = stack.pop()
            found[here] = position
            position += 1
            here = self.right[here]
        return tuple(found)

    @property
    def text(self) -> str:
        """The tree as files of the SDD library hold it: leaf k is variable k + 1, nodes are numbered in order."""
        at, lines = self.in_order, [f"vtree {len(self.leaves)}"]
        for node, (a, b, leaf) in enumerate(zip(self.left, self.right, self.leaves, strict=True)):
            lines.append(f"L {at[node]} {leaf + 1}" if a < 0 else f"I {at[node]} {at[a]} {at[b]}")
        return "\n".join([*lines, ""])

    def substituted(self, parts: Mapping[int, Vtree]) -> Vtree:
        """Return the tree with each leaf replaced by its part; leaves without one are left out.

        Raises
        ------
        CircuitError
            If no leaf has a part.

        Examples
        --------
        >>> Vtree.of_nested(((0, 1), 2)).substituted({0: Vtree.right_linear([7, 8]), 2: Vtree.right_linear([9])})
        Vtree(left=(-1, -1, 0, -1, 2), right=(-1, -1, 1, -1, 3), leaves=(7, 8, -1, 9, -1))
        """
        left, right, leaves = list[int](), list[int](), list[int]()
        made: list[int] = []  # the new number of each node; -1 if nothing is left of it

        def add(first: int, second: int, leaf: int) -> int:
            left.append(first)
            right.append(second)
            leaves.append(leaf)
            return len(leaves) - 1

        for a, b, leaf in zip(self.left, self.right, self.leaves, strict=True):
            part = parts.get(leaf)
            if a >= 0:
                first, second = made[a], made[b]
                # An inner node has two children: with one gone, max is the other; with both gone, -1.
                made.append(add(first, second, _INNER) if min(first, second) >= 0 else max(first, second))
            elif part is None:
                made.append(-1)
            else:
                base = len(leaves)
                for c, d, inner in zip(part.left, part.right, part.leaves, strict=True):
                    add(c + base if c >= 0 else c, d + base if d >= 0 else d, inner)
                made.append(len(leaves) - 1)
        if not leaves:
            raise CircuitError("A vtree needs a leaf, but nothing is left of this one; keep a feature of two cells.")
        return Vtree(tuple(left), tuple(right), tuple(leaves))


SHAPES = {"right": Vtree.right_linear, "balanced": Vtree.balanced}


def feature_vtree(grid: Grid, vtree: Any, *, order: Sequence[int]) -> Vtree:
    """Return a vtree over the features of `grid`.

    Parameters
    ----------
    grid
        Whose features are the leaves.
    vtree
        "right" or "balanced" over `order`, nested pairs of feature names, or a vtree of feature numbers.
    order
        The features from left to right, for the shapes that have names.

    Raises
    ------
    CircuitError
        If there is no such shape, or a feature is missing, twice or unknown.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> grid = Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"]))
    >>> feature_vtree(grid, (("a", "c"), "b"), order=[0, 1, 2]).leaves
    (0, 2, -1, 1, -1)
    >>> feature_vtree(grid, "balanced", order=[2, 1, 0]).leaves
    (2, 1, 0, -1, -1)
    """
    if isinstance(vtree, str) and vtree in SHAPES:
        return SHAPES[vtree](order)
    if isinstance(vtree, str) and vtree not in grid.domain.names:
        raise CircuitError(
            f"A vtree must be one of {', '.join(map(repr, SHAPES))}, nested pairs of features or a Vtree, but "
            f"{quoted(vtree)} was given; name one of these."
        )
    found = vtree if isinstance(vtree, Vtree) else Vtree.of_nested(vtree, number=grid.domain.index)
    given = sorted(leaf for a, leaf in zip(found.left, found.leaves, strict=True) if a < 0)
    if given != list(range(len(grid.axes))):
        raise CircuitError(
            f"A vtree must hold each feature number from 0 to {len(grid.axes) - 1} once, but {given} was given; "
            "correct it."
        )
    return found
