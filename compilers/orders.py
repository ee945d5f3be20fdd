"""Orders of features for ordered diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.linear_circuits import swings
from axfi_kc.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.families.force import force_order
from axfi_kc.models import Boxes, LinearModel, Model, TreeSum

__all__ = ["DEFAULT_ORDER", "ORDERS", "Order", "Uses", "feature_order", "uses_of"]

ORDERS = ("influence", "force", "given")
DEFAULT_ORDER = "influence"
Order = str | Sequence[str]
"""A word of `ORDERS`, or the names of all features, first to last."""


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """How a model uses its features.

    Attributes
    ----------
    influence
        Per feature, the sum over the nodes that test it of 2 to the power of minus their depth;
        for boxes, how many restrict it; for a linear model the rank of the most it can change a score.
    groups
        The features that occur together in a tree, or a box.
    """

    influence: npt.NDArray[np.float64]
    groups: list[frozenset[int]]


def uses_of(model: Model) -> Uses:
    """Return how `model` uses its features; in a truth table all are alike.

    Notes
    -----
    Linear in the size of the model.
    """
    n_features = len(model.grid.axes)
    if isinstance(model, TreeSum):
        return _uses_of_trees(model)
    if isinstance(model, LinearModel):
        return _uses_of_linear(model)
    if isinstance(model, Boxes):
        groups = [frozenset(i for i, _ in model.literals(b)) for b in range(len(model))]
        return Uses(np.array([sum(i in g for g in groups) for i in range(n_features)], dtype=np.float64), groups)
    return Uses(np.zeros(n_features), [])


def _uses_of_linear(model: LinearModel) -> Uses:
    """Rank the swings: exact integers of any size, of which only the order matters."""
    swing = swings(model)
    rank = {s: k for k, s in enumerate(sorted(set(swing)))}
    return Uses(np.array([rank[s] for s in swing], dtype=np.float64), [])


def _uses_of_trees(model: TreeSum) -> Uses:
    influence = np.zeros(len(model.grid.axes))
    nodes, depth = model.tree_offset[:-1], 0
    while len(nodes):
        inner = nodes[model.feature[nodes] >= 0]
        np.add.at(influence, model.feature[inner], 0.5**depth)
        nodes, depth = np.concatenate([model.left[inner], model.right[inner]]), depth + 1
    trees = np.split(model.feature, model.tree_offset[1:-1])
    return Uses(influence, [frozenset(tested.tolist()) - {-1} for tested in trees])


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
        return force_order(by_influence, uses.groups)
    if order == "given":
        return sorted(by_influence)
    raise DomainError(
        f"order must be one of {', '.join(map(repr, ORDERS))} or a list of all feature names, but {order!r} was given."
    )
