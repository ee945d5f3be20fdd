"""All scores, in one registry, and the AxFi scores themselves in closed form.

A score is registered with what it needs of an instance: the weights of its CXps, the family of its CXps, or the
family of its AXps. Everything that takes the name of a score (explanations, batches, files, pages, pictures, the
command line) asks :data:`SCORES`, so a new one is a function and a registration.

The AxFi scores say how much of the adversarial examples that fixing features excludes each feature excludes. Both are
power indices of the CXp-Forest's characteristic function, and because that function is a sum of "does S meet Y", both
have a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import lcm, prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget, Watch
from axfi_kc.engines import Found, SymbolicSets, WeightedSets
from axfi_kc.errors import IncompleteError, WeightError
from axfi_kc.families import SetFamily, WeightedDag
from axfi_kc.families.masks import features_of
from axfi_kc.scores.family_indices import deegan_packel, ffa, holler_packel, responsibility, wffa
from axfi_kc.scores.forest import CXpForest, SharedForest
from axfi_kc.scores.power_indices import banzhaf_index, shapley_shubik_index

__all__ = [
    "DEFAULT_SCORES",
    "SCORES",
    "KnownCXps",
    "Score",
    "banzhaf_like",
    "check_complete",
    "find_score",
    "find_scores",
    "over_one_denominator",
    "register_score",
    "score_numerators",
    "shapley_like",
]


Numerators = tuple[npt.NDArray[Any], list[int]]
"""The scores of a batch: that of feature i at instance n is ``numerators[n, i] / denominators[n]``, exactly."""

_Shares = Callable[[Iterable[int]], tuple[dict[int, int], int]]
_F = TypeVar("_F", bound=Callable[..., Any])
_NEEDS = ("weights", "cxps", "axps", "game")
_TAKEN = ("cxps", "prediction", "value")  # columns that tables and files have of their own
_INT64 = 2**63
_ZERO = Fraction(0)
_FOREVER = Budget()


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
    batch
        The same for all instances that an engine found, where that is faster.
    """

    name: str
    about: str
    needs: str
    of: Callable[..., Mapping[Any, Fraction | int]]
    batch: Callable[[Found], Numerators] | None = None

    @property
    def needs_all(self) -> bool:
        """Whether it needs all CXps, not only those up to some size."""
        return self.needs in ("axps", "game")


SCORES: dict[str, Score] = {}
"""Every score by its name; see :func:`register_score`."""

DEFAULT_SCORES = ("shapley", "banzhaf")
"""The AxFi scores, which tables, files and pages hold when no others are asked for."""


def register_score(
    name: str, about: str, *, needs: str, batch: Callable[[Found], Numerators] | None = None
) -> Callable[[_F], _F]:
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
    >>> KnownCXps(CXpForest.of({("a", "b"): 1, ("a", "c"): 1}, features="abcd")).scores("cxp_count")
    {'a': Fraction(2, 1), 'b': Fraction(1, 1), 'c': Fraction(1, 1), 'd': Fraction(0, 1)}
    >>> del SCORES["cxp_count"]
    """
    if name in SCORES or name in _TAKEN or not name.isidentifier():
        raise WeightError(f"A new score needs an identifier as a name that nothing else has, but {name!r} was given.")
    if needs not in _NEEDS:
        raise WeightError(f"A score needs one of {', '.join(map(repr, _NEEDS))}, but {needs!r} was given.")

    def register(function: _F) -> _F:
        SCORES[name] = Score(name, about, needs, function, batch)
        return function

    return register


def find_score(name: str) -> Score:
    """Return the score of that name.

    Raises
    ------
    WeightError
        If there is none.
    """
    if name not in SCORES:
        raise WeightError(f"The score must be one of {', '.join(map(repr, SCORES))}, but {name!r} was given; name one.")
    return SCORES[name]


def find_scores(names: Iterable[str]) -> tuple[Score, ...]:
    """Return the scores of these names, each once; see :func:`find_score`."""
    return tuple(find_score(name) for name in dict.fromkeys(names))


def check_complete(max_size: int | None, n_features: int) -> None:
    """Raise if there may be CXps of more features than those that are known: AXps need all of them."""
    if max_size is not None and max_size < n_features:
        raise IncompleteError(
            f"AXps need all CXps, but only those of at most {max_size} features were computed; "
            "explain again without max_size."
        )


@dataclass(frozen=True, eq=False)
class KnownCXps:
    """The CXps of one instance as scores ask for them: with weights, as a family, and the AXps they give.

    Attributes
    ----------
    forest
        The CXps and their weights.
    max_size
        The largest number of features they were allowed to have; None: these are all.
    budget
        What each score may cost.
    """

    forest: CXpForest | SharedForest
    max_size: int | None = None
    budget: Budget = _FOREVER
    _made: dict[str, SetFamily] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        found: WeightedSets | SymbolicSets,
        names: tuple[str, ...],
        *,
        max_size: int | None = None,
        budget: Budget = _FOREVER,
    ) -> KnownCXps:
        """Return what an engine found for one instance."""
        if isinstance(found, SymbolicSets):
            return cls(SharedForest(names, found.family, found.dag), max_size, budget)
        return cls(CXpForest.of_sets(found, names), max_size, budget)

    def cxps(self, budget: Budget) -> SetFamily:
        """Return the family of the CXps, which is made once."""
        if isinstance(self.forest, SharedForest):
            return self.forest.family
        if "cxps" not in self._made:
            self._made["cxps"] = SetFamily.of(self.forest.masks, budget=budget)
        return self._made["cxps"]

    def axps(self, budget: Budget) -> SetFamily:
        """Return the family of the AXps, which is made once: the minimal hitting sets of the CXps.

        Raises
        ------
        IncompleteError
            If only CXps up to `max_size` are known.
        BudgetError
            If the budget was spent.
        """
        check_complete(self.max_size, len(self.forest.features))
        watch = Watch(budget)
        if "axps" not in self._made:
            cxps = self.cxps(budget)
            self._made["axps"] = cxps.hitting_sets(budget=watch.rest())
        return self._made["axps"]

    def scores(self, kind: str | Score) -> dict[str, Fraction]:
        """Return the score of each feature.

        Raises
        ------
        WeightError
            If there is no such score.
        IncompleteError
            If it needs all CXps, and only those up to `max_size` are known.
        BudgetError
            If the budget was spent.
        """
        score = find_score(kind) if isinstance(kind, str) else kind
        account, names = _account(self.budget), self.forest.features
        given = self._given(score, account.rest())
        found = score.of(given, budget=account.rest())
        keys = names if score.needs == "weights" else range(len(names))
        return {name: Fraction(found.get(key, _ZERO)) for name, key in zip(names, keys, strict=True)}

    def _given(self, score: Score, budget: Budget) -> CXpForest | SharedForest | SetFamily:
        if score.needs_all:
            check_complete(self.max_size, len(self.forest.features))
        if score.needs == "weights":
            return self.forest
        return self.axps(budget) if score.needs == "axps" else self.cxps(budget)


def score_numerators(
    found: Found,
    scores: Sequence[Score],
    names: tuple[str, ...],
    *,
    max_size: int | None = None,
    budget: Budget = _FOREVER,
) -> list[Numerators]:
    """Return each of these scores for a batch, as integers over one denominator per instance."""
    known: list[KnownCXps] = []  # made for all scores together: they share the families of an instance
    if any(score.batch is None for score in scores):
        known = [KnownCXps.of(found.sets(n), names, max_size=max_size, budget=budget) for n in range(len(found))]
    return [
        over_one_denominator((k.scores(score).values() for k in known), len(names))
        if score.batch is None
        else score.batch(found)
        for score in scores
    ]


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
    return np.array(numerators, dtype=object).reshape(len(denominators), n_features), denominators


def _account(budget: Budget | None) -> Account:
    return Account(budget, goal="score", advice="allow more, or limit max_size")


def _equal_shares(sizes: Iterable[int]) -> tuple[dict[int, int], int]:
    """Return for each size of a CXp what a member gets of its weight, over a common denominator: 1 / size."""
    distinct = set(sizes)
    common = lcm(*distinct)
    return {size: common // size for size in distinct}, common


def _halved_shares(sizes: Iterable[int]) -> tuple[dict[int, int], int]:
    """Return the same for Banzhaf: 1 / 2**(size - 1)."""
    distinct = set(sizes)
    largest = max(distinct, default=1)
    return {size: 1 << largest - size for size in distinct}, 1 << largest - 1


def _spread(forest: CXpForest, shares: _Shares, account: Account) -> tuple[list[int], int]:
    """Return each feature's score as an integer, and what these are divided by."""
    share, common = shares(m.bit_count() for m in forest.masks)
    totals = [0] * len(forest.features)
    for mask, numerator in account.paced(zip(forest.masks, forest.numerators, strict=True)):
        part = numerator * share[mask.bit_count()]
        for i in features_of(mask):
            totals[i] += part
    return totals, forest.denominator * common * (len(forest) or 1)


def _spread_shared(
    family: SetFamily, dag: WeightedDag, shares: _Shares, n_features: int, account: Account | None = None
) -> tuple[list[int], int]:
    """Return each feature's score as an integer, and what these are divided by, without listing a CXp."""
    sizes = family.dag.numerators_within(account)
    share, common = shares(sizes)
    largest = max(sizes, default=0)
    totals = dag.spread({size: part * dag.whole ** (largest - size) for size, part in share.items()}, account=account)
    return [totals.get(i, 0) for i in range(n_features)], common * dag.whole**largest * (family.count or 1)


def _batch_numerators(found: Found, shares: _Shares) -> Numerators:
    """Return the AxFi scores of a batch; :func:`_divided` makes Fractions of those of one instance.

    Notes
    -----
    Vectorised in int64 where a bound shows that nothing can overflow, else in Python integers.
    """
    numerators, denominators = _listed_numerators(found, shares)
    if found.large:
        numerators = numerators.astype(object)
    for n, sets in found.large.items():
        numerators[n], denominators[n] = _spread_shared(sets.family, sets.dag, shares, numerators.shape[1])
    return numerators, denominators


def _listed_numerators(found: Found, shares: _Shares) -> Numerators:
    sizes = np.bitwise_count(found.words).sum(axis=1, dtype=np.int64)
    numbers = np.maximum(np.diff(found.starts), 1)
    share, common = shares(sizes.tolist())
    whole = prod(found.wholes)
    most = max(map(int, found.totals), default=0) if found.kind == "count" else 1
    if (
        found.divisors is not None
        or found.totals.dtype == object
        or whole * common * most * int(numbers.max(initial=1)) >= _INT64
    ):
        return _wide_numerators(found, share, common)
    outside = np.where(found.members, 1, np.array(found.wholes, dtype=np.int64)).prod(axis=1)
    parts = found.totals * outside * np.array([share[s] for s in sizes.tolist()], dtype=np.int64)
    below = np.zeros((len(parts) + 1, found.members.shape[1]), dtype=np.int64)
    np.cumsum(found.members * parts[:, np.newaxis], axis=0, out=below[1:])
    return below[found.starts[1:]] - below[found.starts[:-1]], [whole * common * n for n in numbers.tolist()]


def _wide_numerators(found: Found, share: dict[int, int], common: int) -> Numerators:
    weights, wholes = found.scaled
    numbers, n_features = np.diff(found.starts), found.members.shape[1]
    row, feature = np.nonzero(found.members)
    parts = np.array(weights, dtype=object) * np.array([share[s] for s in found.members.sum(axis=1).tolist()], object)
    cell = np.repeat(np.arange(len(found)), numbers)[row] * n_features + feature
    order = np.argsort(cell, kind="stable")
    cells, first = np.unique(cell[order], return_index=True)
    numerators = np.zeros(len(found) * n_features, dtype=object)
    if len(cells):
        numerators[cells] = np.add.reduceat(parts[row[order]], first)
    denominators = [w * common * (n or 1) for w, n in zip(wholes, numbers.tolist(), strict=True)]
    return numerators.reshape(len(found), n_features), denominators


def _divided(forest: CXpForest | SharedForest, shares: _Shares, budget: Budget | None) -> dict[str, Fraction]:
    """Return the score of each feature when every CXp is divided among its members by `shares`."""
    account = _account(budget)
    if isinstance(forest, SharedForest):
        totals, whole = _spread_shared(forest.family, forest.dag, shares, len(forest.features), account)
    else:
        totals, whole = _spread(forest, shares, account)
    return {name: Fraction(t, whole) if t else _ZERO for name, t in zip(forest.features, totals, strict=True)}


@register_score(
    "shapley", "Shapley-like AxFi score", needs="weights", batch=partial(_batch_numerators, shares=_equal_shares)
)
def shapley_like(forest: CXpForest | SharedForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
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
    return _divided(forest, _equal_shares, budget)


@register_score(
    "banzhaf", "Banzhaf-like AxFi score", needs="weights", batch=partial(_batch_numerators, shares=_halved_shares)
)
def banzhaf_like(forest: CXpForest | SharedForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the Banzhaf-like score of each feature.

    The score of j is (1/n) times the sum of ``w(Y) / 2**(|Y| - 1)`` over the CXps Y that contain
    j: the Banzhaf index of the forest.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear in the total size of the CXps; of a shared forest, its arcs times the sizes of CXps.

    Examples
    --------
    >>> banzhaf_like(CXpForest.of({("a", "b", "c"): 1}, features="abc"))
    {'a': Fraction(1, 4), 'b': Fraction(1, 4), 'c': Fraction(1, 4)}
    """
    return _divided(forest, _halved_shares, budget)


_INDICES = {
    "ffa": ("formal feature attribution (FFA)", ffa),
    "wffa": ("weighted formal feature attribution (WFFA)", wffa),
    "responsibility": ("responsibility index", responsibility),
    "deegan_packel": ("Deegan-Packel index", deegan_packel),
    "holler_packel": ("Holler-Packel index", holler_packel),
}
for _name, (_about, _index) in _INDICES.items():
    register_score(_name, f"{_about} of the AXps", needs="axps")(_index)
for _name, (_about, _index) in _INDICES.items():
    register_score(f"{_name}_cxp", f"{_about} of the CXps", needs="cxps")(_index)

# A coalition wins if it is a weak AXp. In the dual game it wins if it is a weak CXp; that game has the same indices
# and needs only the CXps, which are known, where the AXps would have to be found.
register_score("shapley_shubik", "Shapley-Shubik index of weak AXps", needs="game")(shapley_shubik_index)
register_score("banzhaf_waxp", "Banzhaf index of weak AXps", needs="game")(banzhaf_index)
