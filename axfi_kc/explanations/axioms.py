"""The paper's nine properties of a score, as functions that look for a counterexample.

Each check takes a score (a function from a :class:`~axfi_kc.scores.forest.CXpForest` to
``{feature: number}``) and a problem's forest, and returns None when the property holds there,
or a :class:`Counterexample` that says where it fails.

The game of a forest is a combination, with coefficients w(Y)/n, of the games "does S meet Y".
These are linearly independent, so two features are symmetric exactly when swapping them leaves
the weighted CXps as they are, and a feature is null exactly when no CXp of non-zero weight
contains it. Both are checked in this form: polynomial, not over all sets S. A check that takes
a budget raises BudgetError when it is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, permutations
from operator import or_
from typing import Any

from axfi_kc.arguments import called, checked, quoted
from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.domain.measures import shown
from axfi_kc.errors import ArgumentError
from axfi_kc.explanations.cxps import weighted_cxps
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import some_hitting_sets
from axfi_kc.models import relabelled
from axfi_kc.scores.forest import CXpForest

__all__ = [
    "Counterexample",
    "additivity",
    "axp_minimal_monotonicity",
    "consistency_with_relevancy",
    "cxp_minimal_monotonicity",
    "efficiency",
    "gamma_efficiency",
    "independence_from_output",
    "null_player",
    "symmetry",
]


Score = Callable[[CXpForest], Mapping[str, Fraction]]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Where a property fails.

    Attributes
    ----------
    axiom
        The property's name.
    features
        The features involved.
    expected, found
        What the property asks for, and what the score gives.
    """

    axiom: str
    features: tuple[str, ...]
    expected: str
    found: str


@checked("score", "forest")
def efficiency(score: Score, forest: CXpForest) -> Counterexample | None:
    """Check that the scores add up to v_r(F) - v_r(empty set).

    Examples
    --------
    >>> from axfi_kc.scores.axfi import banzhaf_like, shapley_like
    >>> forest = CXpForest.of({("a", "b", "c"): 1}, features=list("abc"))
    >>> efficiency(shapley_like, forest) is None
    True
    >>> efficiency(banzhaf_like, forest).found
    'sum of scores = 3/4'
    """
    return _total(score, forest, forest.value(forest.features), "efficiency")


@checked("score", "forest", "gamma")
def gamma_efficiency(score: Score, forest: CXpForest, gamma: Fraction) -> Counterexample | None:
    """Check that the scores add up to `gamma`.

    For the Shapley-like score gamma is v_r(F) = (1/n) * sum of w(Y); for the Banzhaf-like score
    ``(1/n) * sum of w(Y) * |Y| / 2**(|Y| - 1)``.
    """
    return _total(score, forest, gamma, "gamma-efficiency")


def _total(score: Score, forest: CXpForest, wanted: Fraction, axiom: str) -> Counterexample | None:
    total = sum(_scores(score, forest).values(), Fraction(0))
    if total == wanted:
        return None
    sums = [f"sum of scores = {shown(number, digits=None)}" for number in (wanted, total)]
    return Counterexample(axiom, forest.features, sums[0], sums[1])


def _scores(score: Score, forest: CXpForest) -> Mapping[str, Fraction]:
    """Return what a score gives, which must be a number for each feature."""
    found: Any = called(score, "score", forest)
    if isinstance(found, Mapping) and set(found) >= set(forest.features):
        return found
    raise ArgumentError(f"A score gives a number for each feature, but {quoted(found)} was found; return a dict.")


@checked("score", "forest", "budget")
def symmetry(score: Score, forest: CXpForest, *, budget: Budget | None = None) -> Counterexample | None:
    """Check that features which v_r cannot tell apart have the same score.

    Notes
    -----
    Pairs of features times CXps.
    """
    account = _account(budget)
    values = _scores(score, forest)
    weights = _nonzero(forest)
    for i, j in account.paced(combinations(range(len(forest.features)), 2), at_once=1):
        a, b = forest.features[i], forest.features[j]
        if values[a] != values[b] and {_swapped(m, i, j): w for m, w in weights.items()} == weights:
            return Counterexample("symmetry", (a, b), "equal scores", f"{values[a]} and {values[b]}")
    return None


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="check of the property", advice="allow more, or limit max_size")


def _nonzero(forest: CXpForest) -> dict[int, int]:
    return {m: w for m, w in zip(forest.masks, forest.numerators, strict=True) if w}


def _swapped(mask: int, i: int, j: int) -> int:
    if mask >> i & 1 == mask >> j & 1:
        return mask
    return mask ^ (1 << i | 1 << j)


@checked("score", "forest", "other")
def additivity(score: Score, forest: CXpForest, other: CXpForest) -> Counterexample | None:
    """Check that the score of the sum of two games is the sum of the scores."""
    first, second, both = (_scores(score, game) for game in (forest, other, forest + other))
    for name in forest.features:
        if both[name] != first[name] + second[name]:
            wanted = f"{first[name]} + {second[name]} = {first[name] + second[name]}"
            return Counterexample("additivity", (name,), wanted, str(both[name]))
    return None


@checked("score", "forest")
def null_player(score: Score, forest: CXpForest) -> Counterexample | None:
    """Check that a feature which never changes v_r has score 0."""
    values, active = _scores(score, forest), _union(_nonzero(forest))
    for i, name in enumerate(forest.features):
        if not active >> i & 1 and values[name] != 0:
            return Counterexample("null player", (name,), "0", str(values[name]))
    return None


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


@checked("score", "forest", "budget")
def axp_minimal_monotonicity(score: Score, forest: CXpForest, *, budget: Budget | None = None) -> Counterexample | None:
    """Check that j scores at least as much as i when every AXp with i also contains j.

    The paper shows that the AxFi scores do not have this property.

    Notes
    -----
    Lists the AXps, of which there may be exponentially many.

    Examples
    --------
    >>> from axfi_kc.scores.axfi import shapley_like
    >>> forest = CXpForest.of({("1",): 1, ("2", "3"): 5}, features=["1", "2", "3"])
    >>> axp_minimal_monotonicity(shapley_like, forest).found
    'score of 2 = 5/4, score of 1 = 1/2'
    """
    account = _account(budget)
    axps, is_whole = some_hitting_sets(forest.masks, budget=account.rest())
    if not is_whole:
        raise account.error()
    return _monotonicity(score, forest, axps, "AXp-minimal monotonicity", account)


@checked("score", "forest", "budget")
def cxp_minimal_monotonicity(score: Score, forest: CXpForest, *, budget: Budget | None = None) -> Counterexample | None:
    """Check that j scores at least as much as i when every CXp with i also contains j."""
    return _monotonicity(score, forest, list(forest.masks), "CXp-minimal monotonicity", _account(budget))


def _monotonicity(
    score: Score, forest: CXpForest, sets: list[int], axiom: str, account: Account
) -> Counterexample | None:
    values = _scores(score, forest)
    for i, j in account.paced(permutations(range(len(forest.features)), 2), at_once=1):
        low, high = forest.features[i], forest.features[j]
        if values[low] > values[high] and all(m >> j & 1 for m in sets if m >> i & 1):
            found = f"score of {low} = {values[low]}, score of {high} = {values[high]}"
            return Counterexample(axiom, (low, high), f"score of {low} <= score of {high}", found)
    return None


@checked("score", "forest")
def consistency_with_relevancy(score: Score, forest: CXpForest) -> Counterexample | None:
    """Check that exactly the relevant features have a non-zero score.

    A CXp can have weight 0 when the points it covers have measure 0 (a real feature that must
    hit a single value, a value of weight 0); a feature that is in such CXps only is relevant
    with score 0, and is returned as a counterexample.
    """
    values, relevant = _scores(score, forest), _union(forest.masks)
    for i, name in enumerate(forest.features):
        if bool(values[name]) != bool(relevant >> i & 1):
            wanted = "a non-zero score, being relevant" if relevant >> i & 1 else "0, being irrelevant"
            return Counterexample("consistency with relevancy", (name,), wanted, str(values[name]))
    return None


@checked("score", "problem", "relabel", "weights", "budget")
def independence_from_output(
    score: Score,
    problem: Problem,
    relabel: Mapping[Hashable, Hashable],
    *,
    weights: str = "ratio",
    budget: Budget | None = None,
) -> Counterexample | None:
    """Check that renaming the model's outputs one to one leaves the scores as they are.

    Parameters
    ----------
    score
        The score to check.
    problem
        A problem whose model is a table or a single tree.
    relabel
        A bijection from the model's outputs to new ones. In a regression the new outputs must
        keep the same pairs within delta, or the two problems are different ones and the scores
        may differ.
    weights
        The kind of weights under which the score is computed.
    budget
        What the two explanations may cost.
    """
    watch = Watch(budget)
    model = relabelled(problem.model, relabel)
    renamed = Problem(model, problem.codes, relabel[problem.output], problem.similarity)
    names = problem.domain.names
    before, after = (
        _scores(score, CXpForest(names, weighted_cxps(p, weights=weights, budget=budget and watch.rest())))
        for p in (problem, renamed)
    )
    for name in names:
        if before[name] != after[name]:
            return Counterexample("independence from the output", (name,), str(before[name]), str(after[name]))
    return None
