"""The AxFi scores: how much of the adversarial examples that fixing features excludes each feature excludes.

Both are power indices of the CXp-Forest's characteristic function. Because that function is a sum of "does S meet Y",
both have a closed form, in which each CXp is divided among its own members.
"""

from __future__ import annotations

from fractions import Fraction

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget
from axfi_kc.scores import SCORES, register_score, scores_of
from axfi_kc.scores.forest import CXpForest

__all__ = ["banzhaf_like", "shapley_like"]


# In the game [S meets Y] only the first member of Y to come contributes, and each is first in 1/|Y| of the orders;
# the Shapley value is additive, so the games of all CXps add up.
@register_score("shapley", "Shapley-like AxFi score", needs="weights", share=lambda size: Fraction(1, size))
@checked("forest", "budget")
def shapley_like(forest: CXpForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the Shapley-like score of each feature.

    The score of j is (1/n) times the sum of ``w(Y) / |Y|`` over the CXps Y that contain j: the
    Shapley value of the forest.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear in the total size of the CXps; of a shared forest, its arcs times the sizes of CXps.

    Examples
    --------
    >>> forest = CXpForest.of({("x1", "x2"): 1, ("x1", "x3"): 4, ("x2", "x3"): 2}, features=["x1", "x2", "x3"])
    >>> shapley_like(forest)
    {'x1': Fraction(5, 6), 'x2': Fraction(1, 2), 'x3': Fraction(1, 1)}
    """
    return scores_of(forest.sets, forest.features, SCORES["shapley"], budget=budget)


# A member contributes to the sets without any other member of Y: one in 2**(|Y| - 1). (Minus binds before <<.)
@register_score("banzhaf", "Banzhaf-like AxFi score", needs="weights", share=lambda size: Fraction(1, 1 << size - 1))
@checked("forest", "budget")
def banzhaf_like(forest: CXpForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the Banzhaf-like score of each feature.

    The score of j is (1/n) times the sum of ``w(Y) / 2**(|Y| - 1)`` over the CXps Y that contain
    j: the Banzhaf index of the forest. Otherwise as :func:`shapley_like`.

    Examples
    --------
    >>> banzhaf_like(CXpForest.of({("a", "b", "c"): 1}, features=list("abc")))
    {'a': Fraction(1, 4), 'b': Fraction(1, 4), 'c': Fraction(1, 4)}
    """
    return scores_of(forest.sets, forest.features, SCORES["banzhaf"], budget=budget)
