"""Probabilistic AXps: sets of features that keep the output with a given probability.

A set S is a weak PAXp for a threshold if the output is similar with at least that probability, given that the features
of S are as in the instance: if its *precision* reaches the threshold. A PAXp is a weak one of which no proper subset is
one; with threshold 1, and where nothing has probability 0, these are the AXps (Waeldchen, Macdonald, Hauch and
Kutyniok, "The Computational Complexity of Understanding Binary Classifier Decisions", 2021; Izza, Huang, Ignatiev,
Narodytska, Cooper and Marques-Silva, "On Computing Probabilistic Abductive Explanations", 2023). Precision is not
monotone: keeping more may lower it. So a set from which no *single* feature can be left out, a locally minimal one,
need not be a PAXp; it is where each feature that is kept can only raise the precision, as for a monotone classifier at
its best corner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any, overload

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.from_tables import FeatureNames
from axfi_kc.domain.measures import Number, exact
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.explanations.chances import Precisions
from axfi_kc.explanations.cxps import size_limit
from axfi_kc.explanations.problem import Problem

__all__ = ["PAXp", "PAXps", "find_paxps", "locally_minimal_paxp", "threshold_of"]


@dataclass(frozen=True, slots=True)
class PAXp:
    """A minimal set of features that, kept as they are, keep the output with a given probability.

    Attributes
    ----------
    features
        Their names, in the domain's order.
    precision
        The probability that the output is similar, given these.
    min_precision
        The threshold that was asked for.
    """

    features: tuple[str, ...]
    precision: Fraction
    min_precision: Fraction = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PAXps(Sequence[PAXp]):
    """The probabilistic AXps of an instance for a threshold, smallest first.

    Attributes
    ----------
    min_precision
        The threshold.
    found
        All of at most `radius` features.
    radius
        Up to how many features; None: all there are.
    """

    min_precision: Fraction
    found: tuple[PAXp, ...]
    radius: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all are here."""
        return self.radius is None

    def __len__(self) -> int:
        """Return how many were found."""
        return len(self.found)

    @overload
    def __getitem__(self, k: int) -> PAXp: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[PAXp, ...]: ...
    def __getitem__(self, k: Any) -> Any:
        """Return one, or several."""
        return self.found[k]

    def __iter__(self) -> Iterator[PAXp]:
        """Iterate over them, smallest first."""
        return iter(self.found)


def threshold_of(min_precision: Number) -> Fraction:
    """Return a threshold as an exact number.

    Raises
    ------
    DomainError
        If it is not above 0 and at most 1.
    """
    found = exact(min_precision, "min_precision")
    if not 0 < found <= 1:
        raise DomainError(
            f"min_precision must be a probability above 0 and at most 1, but {quoted(min_precision)} was given."
        )
    return found


def locally_minimal_paxp(
    problem: Problem, min_precision: Number, *, start: FeatureNames | None = None, budget: Budget | None = None
) -> PAXp:
    """Return a set of features of at least a precision, from which no single one can be left out.

    Parameters
    ----------
    problem
        The model and the instance.
    min_precision
        The threshold.
    start
        A weak PAXp to begin with, such as an AXp; all features by default.
    budget
        What each precision may cost.

    Raises
    ------
    DomainError
        If the threshold is no probability, or `start` has too low a precision.
    UnsupportedModelError, BudgetError

    Notes
    -----
    At most a precision for each two features: features are left out for as long as one can be, that with the highest
    precision after it first.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3), Integer("c", 0, 3)])
    >>> problem = Problem.of(lambda p: p[0] and (p[1] > 0 or p[2] > 1), domain, (1, 2, 3))
    >>> locally_minimal_paxp(problem, Fraction(4, 5))
    PAXp(features=('a',), precision=Fraction(7, 8))
    """
    least, domain = threshold_of(min_precision), problem.domain
    precisions = Precisions(problem, budget=budget)
    everything = (1 << len(domain)) - 1
    mask = everything if start is None else domain.mask(start)
    if precisions[mask] < least:
        raise DomainError(
            f"The features to start from keep the output with probability {precisions[mask]}, below {least}; start "
            "from a weak AXp, or from all features."
        )
    mask &= ~precisions.unused
    while True:
        fewer = [mask & ~(1 << i) for i in range(len(domain)) if mask >> i & 1]
        best = max(fewer, key=lambda m: (precisions[m], -m), default=None)
        if best is None or precisions[best] < least:
            return PAXp(domain.names_of(mask), precisions[mask], least)
        mask = best


def find_paxps(
    problem: Problem, min_precision: Number, *, max_size: int | None = None, budget: Budget | None = None
) -> PAXps:
    """Return all subset-minimal sets of features of at least a precision, or those of the sizes that fit the budget.

    Parameters
    ----------
    problem
        The model and the instance.
    min_precision
        The threshold.
    max_size
        Only sets of at most so many features.
    budget
        What it may cost; its nodes are precisions.

    Raises
    ------
    DomainError
        If the threshold is no probability, or `max_size` no positive whole number.
    UnsupportedModelError
    BudgetError
        If not even the sets of one feature were finished.

    Notes
    -----
    Precision is not monotone, so that all sets are asked about, smallest first, except those that contain one found:
    exponential in the features that the model uses. A set found is minimal because all smaller ones were asked before.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3), Integer("c", 0, 3)])
    >>> problem = Problem.of(lambda p: p[0] and (p[1] > 0 or p[2] > 1), domain, (1, 2, 3))
    >>> [(p.features, p.precision) for p in find_paxps(problem, 1)]
    [(('a', 'b'), Fraction(1, 1)), (('a', 'c'), Fraction(1, 1))]
    """
    least, domain = threshold_of(min_precision), problem.domain
    most = size_limit(max_size)
    account = Account(budget, goal="list of probabilistic AXps", advice="allow more, or set max_size")
    precisions = Precisions(problem, budget=budget)
    bits = [1 << i for i in range(len(domain)) if not precisions.unused >> i & 1]
    limit = len(bits) if most is None else min(most, len(bits))
    found: dict[int, Fraction] = {}
    radius = -1
    try:
        for size in range(limit + 1):
            before = list(found)
            for chosen in combinations(bits, size):
                mask = sum(chosen)
                if any(known & mask == known for known in before):
                    continue
                account.spend(1)
                precision = precisions[mask]
                if precision >= least:
                    found[mask] = precision
            radius = size
    except BudgetError:
        if radius < 1:
            raise
        found = {mask: p for mask, p in found.items() if mask.bit_count() <= radius}
    is_all = radius == len(bits) or (radius == limit and 0 in found)
    sets = tuple(PAXp(domain.names_of(mask), p, least) for mask, p in found.items())
    return PAXps(least, sets, None if is_all else radius)
