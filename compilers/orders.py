"""Orders of features for ordered diagrams."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from axfi_kc.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.models import Uses

__all__ = ["DEFAULT_ORDER", "ORDERS", "Order", "feature_order"]

ORDERS = ("influence", "force", "given")
DEFAULT_ORDER = "influence"
Order = str | Sequence[str]
"""A word of `ORDERS`, or the names of all features, first to last."""

_ROUNDS = 200


def feature_order(order: Order, domain: Domain, uses: Uses) -> list[int]:
    """Return the features, first to last.

    Parameters
    ----------
    order
        ``"influence"``: features that trees test often and near the root come first, so that
        sums are soon decided. ``"force"``: features of one tree come close together, so that
        diagrams need not remember for long what a tree has seen. ``"given"``: the domain's
        order. Or the names of all features.
    domain
        The features.
    uses
        How the model uses them.

    Raises
    ------
    DomainError
        If `order` is an unknown word, or does not name every feature once.

    Notes
    -----
    Nodes of the diagram and seconds to compile it (one core, Python 3.11), for ensembles of
    scikit-learn with random_state=0:

    ================================  ================  ================  ===============
    model                             influence         force             given
    ================================  ================  ================  ===============
    boosted 20 x depth 3, Pima        719, 0.06         766, 0.06         1,009, 0.2
    boosted 20 x depth 2, cancer      6,032, 0.2        7,302, 0.3        43,759, 2.4
    boosted 20 x depth 3, wine        5,203, 0.8        5,958, 1.4        22,146, 50
    boosted 20 x depth 3, cancer      102,960, 3.6      258,365, 15
    forest 15 x depth 4, Pima         169,268, 26       230,166, 46
    ================================  ================  ================  ===============

    Examples
    --------
    >>> from axfi_kc.features import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> feature_order(["b", "a"], domain, Uses(np.zeros(2), []))
    [1, 0]
    >>> feature_order("influence", domain, Uses(np.array([0.5, 2.0]), []))
    [1, 0]
    """
    if isinstance(order, str):
        return _by_word(order, uses)
    found = [domain.index(name) for name in order]
    if sorted(found) != list(range(len(domain))):
        raise DomainError(
            f"order must name each of the {len(domain)} features once, but it has {len(found)} names, "
            f"{len(set(found))} of them different; list them all."
        )
    return found


def _by_word(order: str, uses: Uses) -> list[int]:
    by_influence = np.argsort(-uses.influence, kind="stable").tolist()
    if order == "influence":
        return by_influence
    if order == "force":
        return _force(by_influence, uses.groups)
    if order == "given":
        return sorted(by_influence)
    raise DomainError(
        f"order must be one of {', '.join(map(repr, ORDERS))} or a list of all feature names, but {order!r} was given."
    )


def _force(start: list[int], groups: Sequence[Collection[int]]) -> list[int]:
    """Return an order in which the features of each group are close together.

    The FORCE heuristic (Aloul, Markov and Sakallah, 2003): put each group at the mean of its
    features, then each feature at the mean of its groups, sort, and repeat while the total
    spread of the groups shrinks. Features of no group come last.
    """
    edges = [sorted(g) for g in groups if g]
    best, least = start, _spread(start, edges)
    for _ in range(_ROUNDS):
        order = _pulled(best, edges)
        spread = _spread(order, edges)
        if spread >= least:
            break
        best, least = order, spread
    return best


def _places(order: Sequence[int]) -> list[int]:
    place = [0] * len(order)
    for position, feature in enumerate(order):
        place[feature] = position
    return place


def _spread(order: Sequence[int], edges: Sequence[Sequence[int]]) -> int:
    place = _places(order)
    return sum(max(spots) - min(spots) for spots in ([place[i] for i in edge] for edge in edges))


def _pulled(order: Sequence[int], edges: Sequence[Sequence[int]]) -> list[int]:
    """Return the features sorted by the mean centre of their groups."""
    place = _places(order)
    pull, count = [0.0] * len(order), [0] * len(order)
    for edge in edges:
        centre = sum(place[i] for i in edge) / len(edge)
        for i in edge:
            pull[i] += centre
            count[i] += 1
    return sorted(order, key=lambda i: (pull[i] / count[i] if count[i] else len(order), place[i]))
