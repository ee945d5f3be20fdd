"""Contrastive and abductive explanations of one problem, listed or as views of families too large to list.

A set S of features is a weak CXp if some point that agrees with the instance outside S has a
dissimilar output, and a weak AXp if every point that agrees with the instance on S has a
similar one. CXps and AXps are the subset-minimal ones; each family consists of the minimal
hitting sets of the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from random import Random
from typing import Any, Generic, TypeVar, overload

import numpy as np

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, BudgetSpent, Watch, preparing
from axfi_kc.domain.domain import values_of
from axfi_kc.domain.features import Real
from axfi_kc.domain.from_tables import FeatureNames
from axfi_kc.domain.measures import amount, counted, is_count, shown
from axfi_kc.engines import CxpSets, ListedCxps, check_countable, check_weights
from axfi_kc.errors import BudgetError, DomainError, IncompleteError
from axfi_kc.explanations.problem import Problem
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import features_of, minimal_hitting_sets, sorted_sets
from axfi_kc.models import Samples

__all__ = [
    "AXp",
    "CXp",
    "ManyAXps",
    "ManyCXps",
    "UnlistedCXps",
    "covered_points",
    "find_axps",
    "find_cxps",
    "is_waxp",
    "is_wcxp",
    "relevant_features",
    "size_limit",
    "weighted_cxps",
]


_ANY_SIZE = 1 << 62  # more features than there can be; kernels take no larger number
_LONGEST = 11  # letters of an exact weight that is shown in full


@dataclass(frozen=True, slots=True, repr=False)
class CXp:
    """A contrastive explanation: a minimal set of features whose change can change the output.

    Attributes
    ----------
    features
        The features' names, in the domain's order.
    weight
        What its adversarial examples weigh: a probability within its box (``ratio``), their
        number (``count``) or 1 (``unit``).
    """

    features: tuple[str, ...]
    weight: Fraction | int

    def __repr__(self) -> str:
        """Return the features and the weight, which is rounded where its exact digits are many."""
        whole = shown(self.weight, digits=None)
        weight = f"={whole}" if len(whole) <= _LONGEST else f"≈{amount(self.weight)}"
        return f"CXp(features={self.features!r}, weight{weight})"


@dataclass(frozen=True, slots=True)
class AXp:
    """An abductive explanation: a minimal set of features that, kept, keeps the output."""

    features: tuple[str, ...]


_T = TypeVar("_T", CXp, AXp)


@dataclass(frozen=True, eq=False, repr=False)
class _Many(ABC, Generic[_T]):
    """Explanations that are made one by one, because there are too many for a tuple.

    Attributes
    ----------
    names
        The features' names.
    family
        The explanations, as sets of feature numbers.
    """

    names: tuple[str, ...]
    family: SetFamily

    @abstractmethod
    def _named(self, mask: int) -> _T:
        """Return a set as an explanation."""

    @property
    def count(self) -> int:
        """The number of explanations, exactly; ``len`` fails beyond ``sys.maxsize``."""
        return self.family.count

    @property
    def sizes(self) -> dict[int, int]:
        """The number of explanations of each size, smallest first."""
        return self.family.sizes

    def __len__(self) -> int:
        """Return the number of explanations, if it is not too large for ``len``."""
        return self.family.count

    def __bool__(self) -> bool:
        """Tell whether there is an explanation."""
        return bool(self.family)

    def __iter__(self) -> Iterator[_T]:
        """Iterate over the explanations, smallest first."""
        return map(self._named, self.family)

    @overload
    def __getitem__(self, position: int) -> _T: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[_T, ...]: ...
    def __getitem__(self, position: int | slice) -> _T | tuple[_T, ...]:
        """Return explanations by their place in the iteration (cost: linear in the place)."""
        if isinstance(position, slice):
            return tuple(islice(self, position.start, position.stop, position.step))
        if not 0 <= position < self.count:
            raise IndexError(f"There are {self.count} explanations, counted from 0, but {position} was asked for.")
        return next(islice(self, position, None))

    def __contains__(self, item: object) -> bool:
        """Tell whether an explanation is one of these (cost: one way through the diagram)."""
        features = getattr(item, "features", ())
        if not all(name in self.names for name in features):
            return False
        mask = sum(1 << self.names.index(name) for name in features)
        # Membership first: only a set of the family has a weight that could be compared.
        return mask in self.family and self._named(mask) == item

    def sample(self, rng: Random) -> _T:
        """Return an explanation, each with the same probability."""
        return self._named(self.family.sample(rng))

    def smallest(self) -> Iterator[_T]:
        """Iterate over the explanations with the fewest features."""
        return map(self._named, self.family.smallest())

    def __repr__(self) -> str:
        """Return the number of explanations, in full up to 30 digits."""
        digits = str(self.count)
        shown = digits if len(digits) <= 30 else f"about {digits[0]}.{digits[1:3]}e{len(digits) - 1}"
        return f"<{type(self).__name__}: {shown} of {min(self.sizes)} to {max(self.sizes)} features>"


@dataclass(frozen=True, eq=False, repr=False)
class ManyCXps(_Many[CXp]):
    """The CXps of one instance when there are too many to list."""

    _found: CxpSets

    @property
    def can_be_listed(self) -> bool:
        """Whether each weight is short enough for a list: not where CXps are only counted and weighed together."""
        return self._found.dag is not None

    def axps(self, budget: Budget | None = None) -> SetFamily:
        """Return the minimal hitting sets, made within a budget; see :meth:`axfi_kc.engines.CxpSets.axps`."""
        return self._found.axps(budget)

    def axps_within(self, budget: Budget) -> SetFamily:
        """Return the same, found within this budget; see :meth:`axfi_kc.engines.CxpSets.axps_within`."""
        return self._found.axps_within(budget)

    def _named(self, mask: int) -> CXp:
        return CXp(_names(mask, self.names), self._found.weight(mask))


@dataclass(frozen=True, slots=True)
class UnlistedCXps:
    """The CXps of an instance of which a file has the number, the features and the scores, but no list.

    Attributes
    ----------
    sizes
        The number of CXps of each size that occurs.
    features
        The names of the features in some CXp.
    """

    sizes: dict[int, int]
    features: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of CXps, exactly."""
        return sum(self.sizes.values())

    def __bool__(self) -> bool:
        """Tell whether there is a CXp."""
        return bool(self.sizes)

    def __iter__(self) -> Iterator[CXp]:
        """Refuse, as which CXps there are is not known."""
        raise self.unknown("CXps")

    def unknown(self, what: str) -> IncompleteError:
        """Return the error that says what cannot be had without a list of the CXps."""
        return IncompleteError(
            f"The file has the number of CXps ({self.count}) and their scores, but no list of them, so it cannot give "
            f"{what}; explain the instance again with the model."
        )


@dataclass(frozen=True, eq=False, repr=False)
class ManyAXps(_Many[AXp]):
    """The AXps of one instance when there are too many to list."""

    def _named(self, mask: int) -> AXp:
        return AXp(_names(mask, self.names))


def _names(mask: int, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([names[i] for i in features_of(mask)])


def weighted_cxps(
    problem: Problem, *, weights: str = "ratio", max_size: int | None = None, budget: Budget | None = None
) -> ListedCxps:
    """Return the CXps of `problem` as masks with integer totals; see :func:`find_cxps`."""
    check_weights(weights)
    codes = problem.codes[np.newaxis]
    with preparing(budget):
        found = problem.engine.explain(codes, weights=weights, max_size=size_limit(max_size), budget=budget)
    check_countable(found, problem.domain.features)
    # With limit 0 a list that exists is given whatever its length, and a DAG is never expanded.
    sets = found[0].listed(0)
    if sets is None:
        raise IncompleteError(
            f"A list of all CXps was asked for, but there are {found[0].count}; use Explainer(...).explain(...)."
        )
    return sets


@checked("problem", "weights", "budget")
def find_cxps(
    problem: Problem, *, weights: str = "ratio", max_size: int | None = None, budget: Budget | None = None
) -> tuple[CXp, ...]:
    """Return all CXps of `problem` with their exact weights, smallest first.

    Parameters
    ----------
    problem
        What to explain.
    weights
        ``"ratio"``: the probability of the CXp's adversarial examples within its box;
        ``"count"``: their number; ``"unit"``: 1.
    max_size
        Only CXps of at most so many features.
    budget
        What it may cost.

    Raises
    ------
    WeightError
        For counts of a CXp that contains a real feature.
    DomainError
        If `max_size` is no positive whole number.
    BudgetError
        If the budget was spent.

    Notes
    -----
    For a tree, boxes (paths) times features; never a sample.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 2)])
    >>> problem = Problem.of(lambda p: p[0] and p[1] > 0, domain, (1, 2))
    >>> find_cxps(problem)
    (CXp(features=('a',), weight=1/2), CXp(features=('b',), weight=1/3))
    """
    account = Account(budget, goal="list of CXps", advice="allow more, or limit max_size")
    found = weighted_cxps(problem, weights=weights, max_size=max_size, budget=budget)
    return _named_cxps(found, problem.domain.names, account)


def cxps_in(found: CxpSets, names: tuple[str, ...], *, account: Account) -> tuple[CXp, ...] | ManyCXps:
    """Return the CXps of an instance with names, smallest first; a view of those that are too many to list."""
    listed = found.listed(account=account)
    if listed is None:
        return ManyCXps(names, found.family(None if account.is_free else account.rest()), found)
    return _named_cxps(listed, names, account)


def _named_cxps(found: ListedCxps, names: tuple[str, ...], account: Account) -> tuple[CXp, ...]:
    pairs = account.paced(zip(found.masks, found.numerators, strict=True))
    weight_of: dict[int, Fraction | int] = {
        m: Fraction(w, found.denominator) if found.kind == "ratio" else w for m, w in pairs
    }
    return tuple(CXp(_names(m, names), weight_of[m]) for m in account.paced(sorted_sets(weight_of)))


def named_axps(cxps: Iterable[int], names: tuple[str, ...], *, budget: Budget | None = None) -> tuple[AXp, ...]:
    """Return the AXps that belong to the given CXps (masks), smallest first.

    Raises
    ------
    BudgetError
        If the budget was spent; it carries the AXps found so far.
    """
    try:
        return tuple(AXp(_names(m, names)) for m in minimal_hitting_sets(cxps, budget=budget))
    except BudgetSpent as spent:
        found = tuple(_names(m, names) for m in spent.found)
    raise BudgetError(
        f"The budget was spent with {counted(len(found), 'AXp')} found (the error's axps, each certified); allow more, "
        "or use the CXps alone.",
        axps=found,
    )


@checked("problem", "budget")
def find_axps(problem: Problem, *, budget: Budget | None = None) -> tuple[AXp, ...]:
    """Return all AXps of `problem`, smallest first.

    Parameters
    ----------
    problem
        What to explain.
    budget
        What it may cost, the CXps included.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    The minimal hitting sets of the CXps; there may be exponentially many.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 2)])
    >>> find_axps(Problem.of(lambda p: p[0] and p[1] > 0, domain, (1, 2)))
    (AXp(features=('a', 'b')),)
    """
    # Started before the CXps, so that hitting sets get what these leave; unit weights, as AXps need no others.
    watch = Watch(budget)
    found = weighted_cxps(problem, weights="unit", budget=budget)
    return named_axps(found.masks, problem.domain.names, budget=None if budget is None else watch.rest())


@checked("problem", "budget")
def relevant_features(problem: Problem, *, budget: Budget | None = None) -> tuple[str, ...]:
    """Return the features that occur in some CXp (equally: in some AXp).

    Raises
    ------
    BudgetError
        If the budget was spent.
    """
    with preparing(budget):
        found = problem.engine.explain(problem.codes[np.newaxis], weights="unit", budget=budget)
    return problem.domain.names_of(found[0].support)


def size_limit(max_size: Any) -> int | None:
    """Return the largest number of features that a set may have, as an int; None: any.

    Raises
    ------
    DomainError
        If it is no positive whole number.
    """
    if max_size is not None and not is_count(max_size):
        raise DomainError(
            f"max_size must be a positive whole number of features, or None, but "
            f"{quoted(max_size)} was given; leave it out "
            "for sets of any size."
        )
    return None if max_size is None else min(int(max_size), _ANY_SIZE)


@checked("problem")
def is_wcxp(problem: Problem, features: FeatureNames, *, budget: Budget | None = None) -> bool:
    """Tell whether changing only `features` can make the output dissimilar.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    A search in an ensemble; linear in a tree or table. Conditioning the problem's circuit and asking whether it is
    consistent gives the same answer.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 2)])
    >>> problem = Problem.of(lambda p: p[0] or p[1] > 0, domain, (1, 2))
    >>> is_wcxp(problem, {"a"}), is_wcxp(problem, {"a", "b"})
    (False, True)
    """
    with preparing(budget):
        return problem.engine.is_weak_cxp(problem.codes, problem.domain.mask(features), budget=budget)


@checked("problem")
def is_waxp(problem: Problem, features: FeatureNames, *, budget: Budget | None = None) -> bool:
    """Tell whether keeping `features` keeps the output similar, whatever the others do.

    Notes
    -----
    A set is a weak AXp exactly when its complement is not a weak CXp.
    """
    kept = problem.domain.mask(features)
    free = ((1 << len(problem.domain)) - 1) & ~kept
    return not is_wcxp(problem, problem.domain.names_of(free), budget=budget)


@checked("problem", "cxp")
def covered_points(problem: Problem, cxp: FeatureNames) -> Iterator[tuple[Any, ...]]:
    """Iterate over the adversarial examples that a CXp covers, as points of the domain.

    These are the dissimilar points that agree with the instance outside the CXp.

    Raises
    ------
    DomainError
        If one of its features is real: then the points are uncountable.

    Notes
    -----
    Goes through the whole box of the CXp.
    """
    domain = problem.domain
    free = domain.mask(cxp)
    for point in _box(problem, free):
        codes = domain.encode([point])
        possible = all(c.holds(codes[0].tolist(), domain) for c in domain.constraints)
        if possible and problem.is_dissimilar(problem.model.outputs_at(codes)[0]):
            yield point


def _box(problem: Problem, free: int) -> Iterator[tuple[Any, ...]]:
    """Iterate over the points that agree with the instance outside the features `free`."""
    domain, model = problem.domain, problem.model
    if isinstance(model, Samples):
        rows = np.unique(model.codes[model.differences(problem.codes) & ~np.uint64(free) == 0], axis=0)
        return map(domain.decode, rows)
    instance = domain.decode(problem.codes)
    return product(*(_values(domain.features[i]) if free >> i & 1 else (x,) for i, x in enumerate(instance)))


def _values(feature: Any) -> Iterable[Any]:
    if isinstance(feature, Real):
        raise DomainError(f"The points of a CXp with real feature {feature.name!r} cannot be listed; use its weight.")
    return values_of(feature)
