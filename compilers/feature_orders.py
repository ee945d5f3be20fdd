"""Orders of features for ordered diagrams."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.families.force import force_order
from axfi_kc.models import Uses

__all__ = ["DEFAULT_ORDER", "ORDERS", "Order", "feature_order"]


ORDERS = ("influence", "force", "given")
DEFAULT_ORDER = "influence"
Order = str | Sequence[str]
"""A word of `ORDERS`, or the names of all features, first to last."""


def feature_order(order: Order, domain: Domain, uses: Uses, *, account: Account | None = None) -> list[int]:
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
    account
        What ``"force"`` may cost.

    Raises
    ------
    BudgetError
        If the budget of the account was spent.
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
    >>> from axfi_kc.domain import Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> feature_order(["b", "a"], domain, Uses(np.zeros(2), []))
    [1, 0]
    >>> feature_order("influence", domain, Uses(np.array([0.5, 2.0]), []))
    [1, 0]
    """
    if isinstance(order, str):
        return _by_word(order, uses, account)
    found = [domain.index(name) for name in order]
    if sorted(found) != list(range(len(domain))):
        raise DomainError(
            f"order must name each of the {len(domain)} features once, but it has {len(found)} names, "
            f"{len(set(found))} of them different; list them all."
        )
    return found


def _by_word(order: str, uses: Uses, account: Account | None) -> list[int]:
    by_influence = np.argsort(-uses.influence, kind="stable").tolist()
    if order == "influence":
        return by_influence
    if order == "force":
        return force_order(by_influence, uses.groups, account=account)
    if order == "given":
        return sorted(by_influence)
    raise DomainError(
        f"order must be one of {', '.join(map(repr, ORDERS))} or a list of all feature names, but "
        f"{quoted(order)} was given."
    )
