"""Interactions: what several features contribute together, beyond what each contributes alone.

They are those of the CXp-Forest's characteristic function, a sum of "does S meet Y" over the CXps Y, and have closed
forms like the scores: a set T of features gets a part of the weight of each CXp that contains it. Fixing two features
of one CXp excludes its adversarial examples no more than fixing one, so pairs are never positive: they measure
redundancy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from axfi_kc.budget import Account, Budget
from axfi_kc.engines import CxpSets
from axfi_kc.errors import WeightError
from axfi_kc.families.masks import features_of, sorted_sets

__all__ = ["INTERACTIONS", "Interaction", "find_interaction", "interactions_of"]


@dataclass(frozen=True, slots=True)
class Interaction:
    """An index of interaction.

    Attributes
    ----------
    name
        What users call it.
    about
        The same in words, as pictures and pages say it.
    share
        What a set of features gets of the weight of a CXp that contains it, from the sizes of the CXp and of the set,
        apart from the sign, which is that of ``(-1)**(size of the set + 1)``.
    """

    name: str
    about: str
    share: Callable[[int, int], Fraction]


# In the game [S meets Y], only sets T within Y have a discrete derivative that is not 0, and there only where S meets
# nothing of Y outside T: it is then (-1)**(|T| + 1). The indices weigh the sets S differently.
INTERACTIONS = {
    kind.name: kind
    for kind in (
        Interaction("shapley", "Shapley interaction index", lambda size, order: Fraction(1, size - order + 1)),
        Interaction("banzhaf", "Banzhaf interaction index", lambda size, order: Fraction(1, 1 << size - order)),
        Interaction("moebius", "Moebius transform", lambda size, order: Fraction(1)),
    )
}
"""Every index of interaction by its name."""


def find_interaction(name: str) -> Interaction:
    """Return the index of that name.

    Raises
    ------
    WeightError
        If there is none.
    """
    if name not in INTERACTIONS:
        listed = ", ".join(map(repr, INTERACTIONS))
        raise WeightError(f"The interaction must be one of {listed}, but {name!r} was given; name one.")
    return INTERACTIONS[name]


def interactions_of(
    sets: CxpSets, names: tuple[str, ...], kind: str, *, order: int = 2, budget: Budget | None = None
) -> dict[tuple[str, ...], Fraction]:
    """Return the interaction of each set of `order` features that is not 0, by their names.

    Raises
    ------
    WeightError
        If there is no such index, or no such order.
    BudgetError
        If the budget was spent.
    IncompleteError
        For more than two features, if the CXps are only counted.

    Notes
    -----
    Linear in the CXps' sets of `order` features, in machine arithmetic; on a diagram, a pass over it for each set of
    one feature less.

    Examples
    --------
    >>> from axfi_kc.scores.forest import CXpForest
    >>> forest = CXpForest.of({("x1", "x2"): 1, ("x1", "x3"): 4, ("x2", "x3"): 2}, features=["x1", "x2", "x3"])
    >>> interactions_of(forest.sets, forest.features, "banzhaf")
    {('x1', 'x2'): Fraction(-1, 3), ('x1', 'x3'): Fraction(-4, 3), ('x2', 'x3'): Fraction(-2, 3)}
    """
    index = find_interaction(kind)
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise WeightError(f"The order of an interaction is a positive number of features, but {order!r} was given.")
    account = Account(budget, goal="interactions", advice="allow more, or limit max_size")
    totals, whole = sets.joint(lambda size: index.share(size, order), order, account)
    whole *= (sets.count or 1) * (1 if order % 2 else -1)
    return {tuple(names[i] for i in features_of(m)): Fraction(totals[m], whole) for m in sorted_sets(totals)}
