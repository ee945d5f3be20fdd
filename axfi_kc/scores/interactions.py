"""Interactions: what several features contribute together, beyond what each contributes alone.

They are those of the CXp-Forest's characteristic function, a sum of "does S meet Y" over the CXps Y, and have closed
forms like the scores: a set T of features gets a part of the weight of each CXp that contains it. Fixing two features
of one CXp excludes its adversarial examples no more than fixing one, so pairs are never positive: they measure
redundancy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.measures import is_count
from axfi_kc.engines import CxpSets
from axfi_kc.errors import WeightError
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.scores import listed_kinds

__all__ = ["INTERACTIONS", "Interaction", "find_interaction", "find_interactions", "interactions_of"]


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
        and from the largest size that the index is made for.
    code
        What shapiq calls it.
    """

    name: str
    about: str
    share: Callable[[int, int, int], Fraction]
    code: str


# In the game [S meets Y], only sets T within Y have a discrete derivative that is not 0, and there only where S meets
# nothing of Y outside T: it is then (-1)**(|T| + 1). The first indices weigh the sets S differently; the others make
# the interactions of up to k features add up to the game, and so depend on k.


def _sign(order: int) -> int:
    return 1 if order % 2 else -1


def _shapley(size: int, order: int, most: int) -> Fraction:
    return Fraction(_sign(order), size - order + 1)


def _banzhaf(size: int, order: int, most: int) -> Fraction:
    return Fraction(_sign(order), 1 << size - order)


def _moebius(size: int, order: int, most: int) -> Fraction:
    return Fraction(_sign(order))


def _k_shapley(size: int, order: int, most: int) -> Fraction:
    """Return the n-Shapley value: Shapley interactions of larger sets, shared out by Bernoulli numbers."""
    larger = range(min(most, size) - order + 1)
    parts = (_bernoulli(j) * comb(size - order, j) * _shapley(size, order + j, most) for j in larger)
    return sum(parts, Fraction(0))


def _taylor(size: int, order: int, most: int) -> Fraction:
    """Return the Shapley-Taylor index: dividends of small sets, the rest to those of the largest size alike."""
    return Fraction(_sign(order)) if order < most else Fraction(_sign(order) * most, size)


def _faith(size: int, order: int, most: int) -> Fraction:
    """Return the faithful Shapley index: the dividend, and a part of those of the sets that are too large."""
    larger = (
        Fraction(_sign(r) * comb(size - order, r - order) * comb(r - 1, most), comb(r + most - 1, most + order))
        for r in range(most + 1, size + 1)
    )
    factor = Fraction((-1) ** (most - order) * order * comb(most, order), most + order)
    return _sign(order) + factor * sum(larger, Fraction(0))


@cache
def _bernoulli(j: int) -> Fraction:
    """Return a Bernoulli number, of which the first ones are 1 and -1/2."""
    return Fraction(j == 0) - sum((comb(j, k) * _bernoulli(k) / (j - k + 1) for k in range(j)), Fraction(0))


INTERACTIONS = {
    kind.name: kind
    for kind in (
        Interaction("shapley", "Shapley interaction index", _shapley, "SII"),
        Interaction("banzhaf", "Banzhaf interaction index", _banzhaf, "BII"),
        Interaction("moebius", "Moebius transform", _moebius, "Moebius"),
        Interaction("k_shapley", "k-Shapley interaction index", _k_shapley, "k-SII"),
        Interaction("taylor", "Shapley-Taylor interaction index", _taylor, "STII"),
        Interaction("faith", "faithful Shapley interaction index", _faith, "FSII"),
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
    if not isinstance(name, str) or name not in INTERACTIONS:
        listed = ", ".join(map(repr, INTERACTIONS))
        raise WeightError(f"The interaction must be one of {listed}, but {quoted(name)} was given; name one.")
    return INTERACTIONS[name]


def find_interactions(names: Iterable[str]) -> tuple[Interaction, ...]:
    """Return the indices of these names, each once; see :func:`find_interaction`."""
    return tuple({index.name: index for index in map(find_interaction, listed_kinds(names))}.values())


def interactions_of(
    sets: CxpSets,
    names: tuple[str, ...],
    kind: str,
    *,
    order: int = 2,
    up_to: int | None = None,
    budget: Budget | None = None,
) -> dict[tuple[str, ...], Fraction]:
    """Return the interaction of each set of `order` features that is not 0, by their names.

    Parameters
    ----------
    sets, names
        The CXps with their weights, and the features' names.
    kind
        A name in :data:`INTERACTIONS`.
    order
        How many features.
    up_to
        The largest order of the whole index, on which ``"k_shapley"``, ``"taylor"`` and ``"faith"`` depend; `order` by
        default.
    budget
        What it may cost.

    Raises
    ------
    WeightError
        If there is no such index, or no such order.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear in the CXps' sets of `order` features, in machine arithmetic; on a diagram, a pass over it for each set of
    one feature less; of a linear model's CXps that are only counted, another count for each set of two features less.

    Examples
    --------
    >>> from axfi_kc.scores.forest import CXpForest
    >>> forest = CXpForest.of({("x1", "x2"): 1, ("x1", "x3"): 4, ("x2", "x3"): 2}, features=["x1", "x2", "x3"])
    >>> interactions_of(forest.sets, forest.features, "banzhaf")
    {('x1', 'x2'): Fraction(-1, 3), ('x1', 'x3'): Fraction(-4, 3), ('x2', 'x3'): Fraction(-2, 3)}
    """
    index = find_interaction(kind)
    most = order if up_to is None else up_to
    for number in (order, most):
        if not is_count(number):
            raise WeightError(
                f"The order of an interaction is a positive number of features, but "
                f"{quoted(number)} was given; give 2 for "
                "pairs."
            )
    order, most = int(order), int(most)  # NumPy's overflow in the Fractions
    if most < order:
        raise WeightError(
            f"An index of up to {most} features says nothing about {order} of them; give up_to at least the order."
        )
    account = Account(budget, goal="interactions", advice="allow more, or limit max_size")
    totals, whole = sets.joint(lambda size: index.share(size, order, most), order, account)
    whole *= sets.count or 1
    return {tuple(names[i] for i in features_of(m)): Fraction(totals[m], whole) for m in sorted_sets(totals)}
