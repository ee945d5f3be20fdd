"""The paper's family of trees with 2k CXps and 2**k AXps."""

from __future__ import annotations

import numpy as np

from axfi_kc import Domain, Integer
from axfi_kc.domain.grid import Cut
from axfi_kc.models import Argmax, TreeNodes, TreeSum

LEAF = -1
ZERO = Cut(0.5, closed=True)  # left: the value is 0


def gadget_domain(k: int) -> Domain:
    names = [f"x{i}" for i in range(1, 2 * k + 1)] + [f"y{i}" for i in range(1, k + 1)]
    return Domain([Integer(n, 0, 1) for n in names])


def gadget_tree(k: int) -> TreeSum:
    """Chain k gadgets over x_{2i-1}, x_{2i}, y_i; all ones is classified as 1."""
    column: list[int] = []
    children: list[tuple[int, int]] = []
    label: list[int] = []

    def node(feature: int) -> int:
        column.append(feature)
        children.append((LEAF, LEAF))
        label.append(0)
        return len(column) - 1

    def leaf(output: int) -> int:
        made = node(LEAF)
        label[made] = output
        return made

    top = node(0)
    for i in range(k):
        low = node(2 * i + 1)  # x_{2i-1} = 0
        children[low] = (leaf(0), leaf(1))
        high = node(2 * i + 1)  # x_{2i-1} = 1
        last = node(2 * k + i)  # ... and x_{2i} = 0
        children[last] = (leaf(0), leaf(1))
        following = node(2 * i + 2) if i + 1 < k else leaf(1)
        children[high] = (last, following)
        children[top] = (low, high)
        top = following
    splits = [None if c == LEAF else ZERO for c in column]
    left, right = np.array(children).T
    nodes = TreeNodes(np.array(column), splits, left, right, np.eye(2)[label])
    return TreeSum.of(gadget_domain(k), [nodes], rule=Argmax((0, 1)))
