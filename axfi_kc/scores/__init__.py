"""Every score of features, in one registry that all doors ask: explanations, batches, files, pages, the command line.

To add one: write a function from what it needs of an instance (a forest, or a family of CXps or AXps) to the score of
each feature, in a module of this room; decorate it with :func:`register_score`; name the module at the end of this
file, in whose order scores are listed; write the definition once more in ``verification/definitions.py``, which shares
no code with this. A score that divides each CXp among its members needs no more than its ``share``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeVar

import numpy as np

from axfi_kc.arguments import is_listable, quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.measures import counted
from axfi_kc.engines import CxpSets, Found, Numerators, Share
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import IncompleteError, WeightError
from axfi_kc.scores.forest import CXpForest

__all__ = [
    "DEFAULT_SCORES",
    "SCORES",
    "Score",
    "check_complete",
    "find_score",
    "find_scores",
    "listed_kinds",
    "over_one_denominator",
    "register_score",
    "score_numerators",
    "scores_of",
    "share_numerators",
    "shares_of",
]


_F = TypeVar("_F", bound=Callable[..., Any])
_NEEDS = ("weights", "cxps", "axps", "game")
_TAKEN = (
    "cxps",
    "prediction",
    "prediction_name",
    "probability",
    "value",
)  # columns that tables and files have of their own
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Score:
    """A score that every feature of an explanation gets.

    Attributes
    ----------
    name
        What users call it.
    about
        The same in words, as pictures and pages say it.
    needs
        ``"weights"``: the CXps and what they weigh. ``"cxps"`` or ``"axps"``: which there are. ``"game"``: the game
        whose winning coalitions are the weak AXps, so all CXps.
    of
        From a forest (for ``"weights"``), the AXps' family (for ``"axps"``) or else the CXps' family, and a keyword
        ``budget``, to the score of each feature: by name from a forest, by number from a family. Features that are
        left out score 0.
    share
        For a score that is the mean over the CXps of what each gives its members: what a member of a CXp of so many
        features gets of its weight. It is then all that is asked, of one instance and of whole batches.
    """

    name: str
    about: str
    needs: str
    of: Callable[..., Mapping[Any, Fraction | int]]
    share: Share | None = None

    @property
    def needs_all(self) -> bool:
        """Whether it needs all CXps, not only those up to some size."""
        return self.needs in ("axps", "game")


SCORES: dict[str, Score] = {}
"""Every score by its name; see :func:`register_score`."""

DEFAULT_SCORES = ("shapley", "banzhaf")
"""The AxFi scores, which tables, files and pages hold when no others are asked for."""


def register_score(name: str, about: str, *, needs: str, share: Share | None = None) -> Callable[[_F], _F]:
    """Return a decorator that makes a function a score; see :class:`Score` for the parameters.

    Raises
    ------
    WeightError
        If there is such a score already, the name cannot be a column's, or nothing is called `needs`.

    Examples
    --------
    How many CXps a feature is in:

    >>> @register_score("cxp_count", "number of CXps with the feature", needs="cxps")
    ... def cxp_count(family, *, budget=None):
    ...     return family.counts()
    >>> forest = CXpForest.of({("a", "b"): 1, ("a", "c"): 1}, features=list("abcd"))
    >>> scores_of(forest.sets, forest.features, find_score("cxp_count"))
    {'a': Fraction(2, 1), 'b': Fraction(1, 1), 'c': Fraction(1, 1), 'd': Fraction(0, 1)}
    >>> del SCORES["cxp_count"]
    """
    _check_name(name)
    if needs not in _NEEDS:
        raise WeightError(f"A score needs one of {', '.join(map(repr, _NEEDS))}, but {quoted(needs)} was given.")

    def register(function: _F) -> _F:
        _check_name(name)  # once more: somebody may have come first since the decorator was made
        SCORES[name] = Score(name, about, needs, function, share)
        return function

    return register


def _check_name(name: str) -> None:
    if not isinstance(name, str) or name in SCORES or name in _TAKEN or not name.isidentifier():
        raise WeightError(
            f"A new score needs an identifier as a name that nothing else has, but {quoted(name)} was given."
        )


def find_score(name: str) -> Score:
    """Return the score of that name.

    Raises
    ------
    WeightError
        If there is none.
    """
    if not isinstance(name, str) or name not in SCORES:
        raise WeightError(
            f"The score must be one of {', '.join(map(repr, SCORES))}, but {quoted(name)} was given; name one."
        )
    return SCORES[name]


def find_scores(names: Iterable[str]) -> tuple[Score, ...]:
    """Return the scores of these names, each once; see :func:`find_score`."""
    return tuple({score.name: score for score in map(find_score, listed_kinds(names))}.values())


def listed_kinds(given: Iterable[str]) -> Iterable[str]:
    """Return the names of scores or interactions that were given, if they are a list and not one name.

    Raises
    ------
    WeightError
        If they are none.
    """
    if not is_listable(given):
        raise WeightError(f"Expected a list of names, but {quoted(given)} was given; use a list such as ['shapley'].")
    return given


def check_complete(radius: int | None, n_features: int) -> None:
    """Raise if there may be CXps of more features than those that are known: AXps need all of them."""
    if radius is not None and radius < n_features:
        raise IncompleteError(
            f"AXps need all CXps, but only those of at most {counted(radius, 'feature')} were computed; "
            "explain again without max_size, or with a larger budget."
        )


def scores_of(
    sets: CxpSets, names: tuple[str, ...], score: Score, *, max_size: int | None = None, budget: Budget | None = None
) -> dict[str, Fraction]:
    """Return a score of each feature of one instance.

    Raises
    ------
    IncompleteError
        If it needs all CXps, and only those up to `max_size` are known.
    BudgetError
        If the budget was spent.
    """
    account = Account(budget, goal="score", advice="allow more, or limit max_size")
    if score.share is not None:
        # Integers over one denominator until the end: a gcd per feature, not one per CXp and member.
        totals, whole = sets.spread(score.share, len(names), account)
        # Without CXps n is 0 and so is every total: the scores are 0, not 0/0.
        whole *= sets.count or 1
        return {name: Fraction(t, whole) if t else _ZERO for name, t in zip(names, totals, strict=True)}
    if score.needs == "weights":
        by_name = score.of(CXpForest(names, sets), budget=account.rest())
        return {name: Fraction(by_name.get(name, _ZERO)) for name in names}
    if score.needs_all:
        check_complete(max_size, len(names))
    family = (sets.axps if score.needs == "axps" else sets.family)(account.rest())
    by_number = score.of(family, budget=account.rest())
    return {name: Fraction(by_number.get(i, _ZERO)) for i, name in enumerate(names)}


def shares_of(scores: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return each score divided by the sum of all: shares, which add up to 1, or are all 0 where the scores are.

    The number of CXps is in the denominator of every score and in none of these, so shares of two instances, or of one
    instance at two radii, can be compared.

    Examples
    --------
    >>> shares_of({"a": Fraction(1, 8), "b": Fraction(3, 8), "c": Fraction(0)})
    {'a': Fraction(1, 4), 'b': Fraction(3, 4), 'c': Fraction(0, 1)}
    """
    # Over one denominator, so that each share takes a single gcd.
    whole = lcm(*(s.denominator for s in scores.values()))
    numerators = {name: s.numerator * (whole // s.denominator) for name, s in scores.items()}
    total = sum(numerators.values())
    return {name: Fraction(t, total) if t else _ZERO for name, t in numerators.items()}


def share_numerators(scored: Numerators) -> Numerators:
    """Return the shares of a batch, from what :func:`score_numerators` gives of a score.

    Examples
    --------
    >>> share_numerators((np.array([[3, 2], [0, 0]]), [7, 7]))[1]
    [5, 1]
    """
    return scored[0], [sum(row) or 1 for row in scored[0].tolist()]


def score_numerators(
    found: Found,
    scores: Sequence[Score],
    names: tuple[str, ...],
    *,
    max_size: int | None = None,
    budget: Budget | None = None,
) -> list[Numerators]:
    """Return each of these scores for a batch, as integers over one denominator per instance."""
    # made for all scores together: they share the families of an instance
    known = list(found) if any(score.share is None for score in scores) else []
    made = []
    for score in scores:
        if score.share is None:
            radii = (max_size if found.radius(n) is None else found.radius(n) for n in range(len(found)))
            rows = []
            for n, (sets, radius) in enumerate(zip(known, radii, strict=True)):
                with naming_row(n):
                    rows.append(scores_of(sets, names, score, max_size=radius, budget=budget).values())
            made.append(over_one_denominator(rows, len(names)))
        else:
            made.append(found.mean(score.share))
    return made


def over_one_denominator(rows: Iterable[Iterable[Fraction]], n_features: int) -> Numerators:
    """Return rows of Fractions as integers over one denominator per row.

    Examples
    --------
    >>> over_one_denominator([[Fraction(1, 2), Fraction(1, 3)]], 2)[0].tolist()
    [[3, 2]]
    """
    numerators, denominators = [], []
    for row in map(tuple, rows):
        whole = lcm(*(s.denominator for s in row))
        numerators.append([s.numerator * (whole // s.denominator) for s in row])
        denominators.append(whole)
    # Python integers: numerators over a common denominator soon pass int64, which wraps around.
    return np.array(numerators, dtype=object).reshape(len(denominators), n_features), denominators


# These register their scores when they are imported, so the registry has to be there before them.
from axfi_kc.scores import axfi, family_indices, power_indices  # noqa: E402, F401
