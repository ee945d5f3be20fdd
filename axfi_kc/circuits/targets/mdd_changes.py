"""From which points others can be reached by changing features: on the nodes of ordered diagrams."""

from __future__ import annotations

from collections.abc import Collection

from axfi_kc.circuits.targets.mdd_nodes import MddNodes

__all__ = ["by_changing", "by_changing_at_most"]


_FALSE, _TRUE = 0, 1


def by_changing(nodes: MddNodes, root: int, features: Collection[int]) -> int:
    """Return the points from which a point of a diagram is reached by changing only these features: they are forgotten.

    Notes
    -----
    A union of the children of each node of one of the features, exponential at worst; linear where the features come
    last in the order.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> nodes = MddNodes(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])), [0, 1], spend=lambda n: None)
    >>> b = nodes.node(1, (1, 2), (0, 1))
    >>> both = nodes.node(0, (1, 2), (0, b))
    >>> by_changing(nodes, both, [0]) == b, by_changing(nodes, both, [0, 1])
    (True, 1)
    """
    places = {k for k, i in enumerate(nodes.order) if i in features}
    made = {_FALSE: _FALSE, _TRUE: _TRUE}
    for node in nodes.reached(root):
        place, runs = nodes.places[node], nodes.runs[node]
        below = [made[child] for child in runs[1::2]]
        made[node] = nodes.union(below) if place in places else nodes.node(place, runs[::2], below)
    return made[root]


def by_changing_at_most(nodes: MddNodes, root: int, radius: int) -> int:
    """Return the points from which a point of a diagram is reached by changing at most `radius` features.

    Notes
    -----
    For each node and each number of changes one node more; a feature that a node does not test need not be changed.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> nodes = MddNodes(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])), [0, 1], spend=lambda n: None)
    >>> b = nodes.node(1, (1, 2), (0, 1))
    >>> both = nodes.node(0, (1, 2), (0, b))
    >>> by_changing_at_most(nodes, both, 0) == both, by_changing_at_most(nodes, both, 2)
    (True, 1)
    """
    made = {_FALSE: [_FALSE] * (radius + 1), _TRUE: [_TRUE] * (radius + 1)}
    for node in nodes.reached(root):
        place, runs = nodes.places[node], nodes.runs[node]
        found = [node]
        for k in range(1, radius + 1):
            # Changed, the feature may have any value, with a change less left below.
            changed = nodes.union([made[child][k - 1] for child in runs[1::2]])
            found.append(nodes.node(place, runs[::2], [nodes.disjoined(made[c][k], changed) for c in runs[1::2]]))
        made[node] = found
    return made[root][radius]
