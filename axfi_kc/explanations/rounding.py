"""What a model library's own rounding could change about an explanation.

Explanations are about exact sums. The library adds floats, so its output can differ from the exact one where a score
lies within the library's rounding error of a tie. The error is bounded from the sizes of the summands; then the
instance is explained once with every tie moved outwards by the bound and once inwards. What both agree on no rounding
can change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import amount, shown
from axfi_kc.engines import ListedCxps, engine_for
from axfi_kc.explanations.problem import Problem

__all__ = ["Rounding", "rounding_of"]


_ZERO = Fraction(0)


@dataclass(frozen=True)
class Rounding:
    """A bound on what the library's floating point could change.

    Attributes
    ----------
    error
        How far the number that decides the library's output (a score, or the difference of two) can be from the
        exact one, anywhere in the domain; 0 where the library computes exactly.
    affected
        For each CXp a bound on the weight of the points in its box whose output rounding could decide.
    sets_hold
        Whether no rounding within the error can change the set of CXps.

    Examples
    --------
    >>> Rounding(Fraction(0), {("age",): Fraction(0)}, sets_hold=True).is_zero
    True
    """

    error: Fraction
    affected: dict[tuple[str, ...], Fraction]
    sets_hold: bool

    @property
    def most(self) -> Fraction:
        """The largest of the bounds."""
        return max(self.affected.values(), default=_ZERO)

    @property
    def is_zero(self) -> bool:
        """Whether rounding can change neither the CXps nor a weight."""
        return self.sets_hold and not self.most

    def __str__(self) -> str:
        """Return the bounds in words."""
        rounding = f"rounding (an error of at most {amount(self.error, digits=2)})"
        if self.is_zero:
            return f"{rounding} changes no CXp and no weight"
        sets = "changes no CXp" if self.sets_hold else "may change the CXps"
        return f"{rounding} {sets}, and a weight by at most {shown(self.most, digits=None)}"


def rounding_of(problem: Problem, found: ListedCxps, *, max_size: int | None, budget: Budget) -> Rounding:
    """Return what rounding could change about the CXps of a problem, found with the same `max_size`.

    Notes
    -----
    Two more explanations of the instance, unless the library adds exactly.
    """
    error, names = problem.model.rounding_error, problem.domain
    if not error:
        return Rounding(error, {names.names_of(m): _ZERO for m in found.masks}, sets_hold=True)
    account = Account(budget, goal="bound on rounding", advice="allow more, or limit max_size")
    # Moved towards the instance more points are dissimilar, moved away fewer; the library is in between.
    near, far = (_explained(problem, found.kind, max_size, account.rest(), shift) for shift in (error, -error))
    affected = {
        # What lies between the two is all that rounding could have decided.
        names.names_of(mask): Fraction(near[mask] - far[mask])
        if mask in near and mask in far
        else _all(names, mask, found.kind)
        for mask in account.paced(found.masks)
    }
    return Rounding(error, affected, sets_hold=near.keys() == far.keys() == set(found.masks))


def _all(domain: Domain, mask: int, kind: str) -> Fraction:
    """Return what all points of a box weigh."""
    if kind != "count":
        return Fraction(1)
    sizes = (domain.features[i].size or 1 for i in range(len(domain)) if mask >> i & 1)
    return Fraction(math.prod(sizes))


def _explained(
    problem: Problem, kind: str, max_size: int | None, budget: Budget, shift: Fraction
) -> dict[int, Fraction | int]:
    """Return the CXps and weights with ties moved by `shift` towards the instance; none if its own output changes."""
    moved = problem.with_ties_moved(shift)
    delta = moved.similarity.delta
    if delta is not None and delta < 0:  # nothing is sure to be similar
        return {}
    engine = engine_for(moved.model, moved.similarity)
    if engine.constant is not None:
        return {}
    explained = engine.explain(problem.codes[np.newaxis], weights=kind, max_size=max_size, budget=budget)
    if delta is None and moved.is_dissimilar(explained.outputs[0]):
        return {}
    listed = explained[0].listed(0)
    return {} if listed is None else listed.weights
