"""Points reached by changing features, and diagrams changed where nobody cares: on the nodes of ordered diagrams."""

from __future__ import annotations

from collections.abc import Collection

from axfi_kc.circuits.targets.mdd_nodes import MddNodes, merged_runs

__all__ = ["by_changing", "by_changing_at_most", "simplified"]


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
    for node in nodes.account.paced(nodes.reached(root)):
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
    for node in nodes.account.paced(nodes.reached(root)):
        place, runs = nodes.places[node], nodes.runs[node]
        found = [node]
        for k in range(1, radius + 1):
            # Changed, the feature may have any value, with a change less left below.
            changed = nodes.union([made[child][k - 1] for child in runs[1::2]])
            found.append(nodes.node(place, runs[::2], [nodes.disjoined(made[c][k], changed) for c in runs[1::2]]))
        made[node] = found
    return made[root][radius]


def simplified(nodes: MddNodes, root: int, care: int) -> int:
    """Return a node that agrees with `root` wherever `care` holds; elsewhere it is what its neighbours are.

    Notes
    -----
    Coudert and Madre's restrict: pairs of nodes, at worst the product of the sizes, and unions of what is cared for
    below features that the diagram does not test.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> nodes = MddNodes(Grid.of_values(Domain([Integer("a", 0, 1), Integer("b", 0, 1)])), [0, 1], spend=lambda n: None)
    >>> a, b = nodes.node(0, (1, 2), (0, 1)), nodes.node(1, (1, 2), (0, 1))
    >>> simplified(nodes, nodes.conjoined(a, b), a) == b
    True
    """
    known: dict[tuple[int, int], int] = {}
    stack = [(root, care)]
    while stack:
        state = stack[-1]
        below = _cared_for(nodes, *state)
        missing = [b for _, b in below if b is not None and b not in known]
        if missing:
            stack += missing
            continue
        stack.pop()
        nodes.spend(1)
        known[state] = _merged(nodes, state, below, known)
    return known[root, care]


_Cared = list[tuple[int, tuple[int, int] | None]]  # the end of a run, and the pair below it; None if nobody cares


def _cared_for(nodes: MddNodes, root: int, care: int) -> _Cared:
    """Return the pairs below a pair of nodes; none if it is settled."""
    if root <= _TRUE or care <= _TRUE or root == care:
        return []
    upper, lower = nodes.places[care], nodes.places[root]
    if upper < lower:
        return [(0, (root, nodes.union(nodes.runs[care][1::2])))]
    runs = [nodes.runs[root], *([nodes.runs[care]] if upper == lower else [])]
    ends, below = merged_runs(runs)
    pairs = [(c[0], c[1] if upper == lower else care) for c in below]
    return [(end, pair if pair[1] != _FALSE else None) for end, pair in zip(ends, pairs, strict=True)]


def _merged(nodes: MddNodes, state: tuple[int, int], below: _Cared, known: dict[tuple[int, int], int]) -> int:
    root, care = state
    if not below:
        return _FALSE if care == _FALSE else _TRUE if root == care else root
    if nodes.places[care] < nodes.places[root]:
        return known[below[0][1]]  # type: ignore[index]  # such a pair is cared for
    found = [None if pair is None else known[pair] for _, pair in below]
    last = next(child for child in found if child is not None)
    children = []
    for child in found:
        last = last if child is None else child
        children.append(last)
    return nodes.node(nodes.places[root], [end for end, _ in below], children)
