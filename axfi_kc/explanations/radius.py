"""How far one must go: the least radius around an instance at which a set of features can change the output.

For a set S the *reach* is the infimum of the distances of the dissimilar, possible points that differ from the instance
in S only. It is attained unless the nearest such point would lie on an open end of a cell; then S suffices at every
larger radius, but not at this one. For the largest distance per feature (linf) reaches are found by bisection over the
distances of cell ends, each step one question whether a set is a weak CXp within a radius; for their sum (l1) by
best-first search over cells; for linear models by closed forms; among the rows of a data set by going through them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.from_tables import FeatureNames, feature_names
from axfi_kc.domain.measures import Number, amount, shown
from axfi_kc.domain.region import Reach, Region, cell_reaches, factor_of, unit_of
from axfi_kc.errors import DomainError
from axfi_kc.explanations.counterfactuals.constrained_linear import ConstrainedSearch
from axfi_kc.explanations.counterfactuals.linear import goes_by_values, has_reals, renumbered_problem
from axfi_kc.explanations.counterfactuals.linear_reach import linear_reach
from axfi_kc.explanations.counterfactuals.regions import Choices, cell_ends, nearest_corner, region_of
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import features_of
from axfi_kc.models import LinearModel, Samples
from axfi_kc.models.renumbering import renumbered

__all__ = ["Radius", "Reaches", "critical_radius", "reaches_of"]


_KEPT = 64  # models within a radius
_LONGEST = 11  # letters of an exact radius that is shown in full, as of a weight


class Radius(Fraction):
    """A radius, exactly: a Fraction, which is rounded where it is shown by itself and has many digits.

    Examples
    --------
    >>> Radius(1, 8), Radius(10**20, 3 * 10**20 + 1), Radius(1, 8) == Fraction(1, 8)
    (Fraction(1, 8), Radius≈0.3333, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the fraction, or about how large it is; ``str`` has all digits."""
        is_short = len(shown(self, digits=None)) <= _LONGEST
        return repr(Fraction(self)) if is_short else f"Radius≈{amount(self)}"


class Reaches(ABC):
    """The reach of each set of features around one instance.

    Parameters
    ----------
    problem
        The problem, without a radius.
    region
        How distances are measured, and where one may go at all; its radius is not looked at.
    """

    def __init__(self, problem: Problem, region: Region, account: Account) -> None:
        self.problem, self.region, self._account = problem, region, account
        self._known: dict[int, Reach | None] = {}

    def __getitem__(self, mask: int) -> Reach | None:
        """Return the reach of a set; None if it suffices at no radius."""
        if mask not in self._known:
            self._account.look()
            self._known[mask] = self._found(mask)
        return self._known[mask]

    @abstractmethod
    def _found(self, mask: int) -> Reach | None:
        """Return the reach of a set that is not known yet."""

    def factor(self, i: int) -> Fraction:
        """Return what the distance of feature i, in its own units, is multiplied by."""
        return factor_of(self.region, self.problem.domain.features[i])


def reaches_of(problem: Problem, region: Region, account: Account) -> Reaches:
    """Return the reaches of sets of features; see :class:`Reaches`."""
    region.check(problem.domain)
    region = _without_stuck(region, problem.domain)
    if isinstance(problem.model, Samples):
        return _AmongRows(problem, region, account)
    inner = problem.within(replace_radius(region, None))
    if isinstance(inner.model, LinearModel) and not goes_by_values(inner.model, inner):
        small = renumbered(inner.model) if inner.domain.constraints else None
        if small is not None:
            return _OfLinear(problem, region, account, renumbered_problem(inner, small))
        if not inner.domain.constraints:
            return _OfLinear(problem, region, account, inner)
        if has_reals(inner.model):
            return _OfConstrained(problem, region, account, inner)
    return (_Largest if region.norm == "linf" else _Summed)(problem, region, account)


class _Largest(Reaches):
    """For linf: bisection over the radii at which a cell comes within reach."""

    def __init__(self, problem: Problem, region: Region, account: Account) -> None:
        super().__init__(problem, region, account)
        ends = {Fraction(0)}
        for i, axis in enumerate(problem.model.grid.axes):
            ends |= {reach.radius for reach in cell_reaches(axis, float(problem.codes[i]), self.factor(i)).values()}
        self._ends = sorted(ends)
        # Cells come within reach at these, or right after them: between two of them there is nothing new.
        after = [(a + b) / 2 for a, b in pairwise([*self._ends, self._ends[-1] + 1])]
        self._radii = [radius for pair in zip(self._ends, after, strict=True) for radius in pair]
        self._within = lru_cache(maxsize=_KEPT)(self._posed)

    def _posed(self, k: int) -> Problem:
        return self.problem.within(replace_radius(self.region, self._radii[k]))

    def _is_enough(self, k: int, mask: int) -> bool:
        posed = self._within(k)
        return posed.engine.is_weak_cxp(posed.codes, mask, budget=self._account.rest())

    def _found(self, mask: int) -> Reach | None:
        low, high = 0, len(self._radii)
        while low < high:
            middle = (low + high) // 2
            if self._is_enough(middle, mask):
                high = middle
            else:
                low = middle + 1
        return None if low == len(self._radii) else Reach(self._ends[low // 2], bool(low % 2))


class _Summed(Reaches):
    """For l1: best-first search over boxes of cells."""

    def __init__(self, problem: Problem, region: Region, account: Account) -> None:
        super().__init__(problem, region, account)
        # Frozen features, ranges and directions take cells away; distances stay those of the whole domain.
        self._inner = problem.within(replace_radius(region, None))

    def _found(self, mask: int) -> Reach | None:
        choices = [self._choices(i) for i in features_of(mask)]
        if not choices:
            return None
        region = region_of(self._inner.model, self._inner, choices)
        found = nearest_corner(region, choices, account=self._account, total=_total)
        return None if found is None else _total([c.costs[k] for c, k in zip(choices, found, strict=True)])

    def _choices(self, i: int) -> Choices:
        """Return all cells of a feature that are at some distance, the instance's own among them, nearest first."""
        axis, own = self._inner.model.grid.axes[i], int(self._inner.cells[i])
        code, factor = float(self._inner.codes[i]), self.factor(i)
        reaches = {own: Reach(Fraction(0), is_open=False), **cell_reaches(axis, code, factor)}
        order = sorted(reaches, key=lambda cell: (reaches[cell], cell))
        codes = tuple(cell_ends(axis, cell)[0] for cell in order)
        return Choices(i, tuple(order), codes, tuple(reaches[c] for c in order), axis.missing_cell)


def _total(costs: Sequence[Reach]) -> Reach:
    return Reach(sum((c.radius for c in costs), Fraction(0)), any(c.is_open for c in costs))


class _OfLinear(Reaches):
    """For linear models: the losses of all features within a radius, in closed form."""

    def __init__(self, problem: Problem, region: Region, account: Account, inner: Problem) -> None:
        super().__init__(problem, region, account)
        self._inner = inner

    def _found(self, mask: int) -> Reach | None:
        features = features_of(mask)
        factors = {i: self.factor(i) for i in features}
        found = linear_reach(self._inner, features, factors, norm=self.region.norm, account=self._account)
        return None if found is None else Reach(*found)


class _OfConstrained(Reaches):
    """For linear models over real features under constraints: box by box of the possible points."""

    def __init__(self, problem: Problem, region: Region, account: Account, inner: Problem) -> None:
        super().__init__(problem, region, account)
        self._search = ConstrainedSearch(inner, account)

    def _found(self, mask: int) -> Reach | None:
        features = features_of(mask)
        return self._search.reach(features, {i: self.factor(i) for i in features}, norm=self.region.norm)


class _AmongRows(Reaches):
    """For rows of a data set: the nearest of the dissimilar ones that differ in these features only."""

    def __init__(self, problem: Problem, region: Region, account: Account) -> None:
        super().__init__(problem, region, account)
        self._factors = [self.factor(i) for i in range(len(problem.domain))]

    def _found(self, mask: int) -> Reach | None:
        model: Any = self.problem.model
        moved = np.uint64(mask & ~model.domain.mask(self.region.frozen))
        strange = ~model.similar(self.problem.output, self.problem.similarity)
        rows = model.codes[strange & (model.differences(self.problem.codes) & ~moved == 0)]
        distances = (self._distance(row) for row in self._account.paced(rows.tolist()))
        nearest = min((far for far in distances if far is not None), default=None)
        return None if nearest is None else Reach(nearest, is_open=False)

    def _distance(self, row: Sequence[float]) -> Fraction | None:
        """Return how far a row is; None if a value is missing in one of the two, which is near to nothing."""
        parts = [Fraction(0)]
        for i, (code, own) in enumerate(zip(row, self.problem.codes.tolist(), strict=True)):
            factor = self._factors[i]
            if code == own or not factor or (math.isnan(code) and math.isnan(own)):
                continue
            if math.isnan(code) or math.isnan(own):
                return None
            is_category = isinstance(self.problem.domain.features[i], Categorical)
            parts.append(factor if is_category else abs(Fraction(code) - Fraction(own)) * factor)
        return max(parts) if self.region.norm == "linf" else sum(parts, Fraction(0))


def replace_radius(region: Region, radius: Fraction | None) -> Region:
    """Return a region with another radius."""
    return _replaced(region, radius=radius)


def _replaced(region: Region, **changes: Any) -> Region:
    names = ("frozen", "only_up", "only_down", "norm", "unit", "radius")
    fields = {name: getattr(region, name) for name in names}
    fields |= {"ranges": dict(region.ranges), "weights": dict(region.weights)}
    return Region(**(fields | changes))


def _without_stuck(region: Region, domain: Domain) -> Region:
    """Return a region in which features stay that move at no radius: those whose distances are measured in zeros."""
    numeric = [f for f in domain.features if not isinstance(f, Categorical) and region.weight(f.name)]
    stuck = [f.name for f in numeric if f.name not in region.frozen and not unit_of(f, region.unit)]
    return _replaced(region, frozen=(*region.frozen, *stuck)) if stuck else region


def critical_radius(
    problem: Problem,
    cxp: FeatureNames,
    *,
    norm: str | None = None,
    unit: str | None = None,
    weights: Mapping[str, Number] | None = None,
    budget: Budget | None = None,
) -> Radius:
    """Return the least radius at which a CXp appears.

    Parameters
    ----------
    problem
        The model and the instance; posed in a region, its directions, ranges and frozen features hold here too.
    cxp
        A CXp, or the names of its features.
    norm, unit, weights
        How distances are measured, see :class:`~axfi_kc.domain.region.Region`; by default as the problem's region
        does, else the largest change of a feature in its own unit.
    budget
        What it may cost.

    Returns
    -------
    Radius
        The infimum of the distances of the dissimilar, possible points that differ from the instance in these features
        only. It is attained, unless the nearest of them would lie on an open end of its cell (``x > 0.5``): then the
        features suffice at every larger radius, but not at this one. A Fraction, of which ``repr`` shows a few digits
        where it has many, as in ``Radius≈4.743``.

    Raises
    ------
    DomainError, UnknownFeatureError
        If changing the features changes nothing at any radius.
    BudgetError
        If the budget was spent.

    Notes
    -----
    For ``"linf"`` some ten to twenty questions whether a set is a weak CXp; for ``"l1"`` a best-first search, which is
    exponential in the number of features at worst. Among the rows of a data set, one way through them.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> from axfi_kc.domain.features import Categorical, Integer
    >>> domain = Domain([Integer("age", 18, 98), Categorical("race", ["a", "b", "c"])])
    >>> problem = Problem.of(lambda p: p[0] > 60 and p[1] == "b", domain, (70, "b"))
    >>> critical_radius(problem, {"age"}), critical_radius(problem, {"age"}, unit="range")
    (Fraction(10, 1), Fraction(1, 8))
    """
    account = Account(budget, goal="critical radius", advice="allow more, or take a smaller CXp")
    names = feature_names(cxp)
    whole = problem.whole or problem
    region = measured(problem.region or Region(), norm=norm, unit=unit, weights=weights)
    found = reaches_of(whole, region, account)[whole.domain.mask(names)]
    if found is None:
        raise DomainError(
            f"Changing {sorted(names)} changes nothing at any radius, so there is no least one; take one of the cxps."
        )
    return Radius(found.radius)


def measured(
    region: Region, *, norm: str | None = None, unit: str | None = None, weights: Mapping[str, Number] | None = None
) -> Region:
    """Return a region whose distances are measured in another way, where one is given."""
    given = {"norm": norm, "unit": unit, "weights": weights}
    return _replaced(region, **{name: value for name, value in given.items() if value is not None})
