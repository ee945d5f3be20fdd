"""As many CXps and AXps as a page or a terminal can show, of families that may be too large to list."""

from __future__ import annotations

from itertools import islice
from typing import Any

from axfi_kc.budget import Account, Budget
from axfi_kc.errors import BudgetError
from axfi_kc.explanations import AXp, CXp
from axfi_kc.sets import some_hitting_sets

__all__ = ["cxp_count", "heaviest_cxps", "listed_axps"]

_MOST = 1_000


def cxp_count(explanation: Any) -> int:
    """Return the number of CXps, however many there are."""
    cxps = explanation.cxps
    return len(cxps) if isinstance(cxps, tuple) else cxps.count


def heaviest_cxps(explanation: Any, *, most: int = _MOST) -> list[CXp]:
    """Return the CXps, heaviest first; of a family too large to list, the heaviest of the `most` smallest sets.

    Notes
    -----
    Sorts the CXps that are listed; at most `most` are taken from a family.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: p[0] and p[1] > 0, Domain([Integer("a", 0, 1), Integer("b", 0, 2)]))
    >>> [c.features for c in heaviest_cxps(explainer.explain((1, 2)))]
    [('a',), ('b',)]
    """
    cxps = explanation.cxps
    listed = cxps if isinstance(cxps, tuple) else islice(cxps, most)
    return sorted(listed, key=lambda c: -c.weight)


def listed_axps(explanation: Any, *, seconds: float, most: int = _MOST) -> tuple[list[AXp], bool]:
    """Return AXps, smallest first, and whether these are all: there may be exponentially many.

    Parameters
    ----------
    explanation
        With all of its CXps.
    seconds
        How long to search.
    most
        How many to take of a family that is too large to list.
    """
    names_of, account = explanation.domain.names_of, Account(Budget(seconds=seconds), goal="list of AXps")
    cxps = explanation.cxps
    masks, complete = _axp_masks(explanation, cxps, account.rest(), most)
    return [AXp(names_of(mask)) for mask in masks], complete


def _axp_masks(explanation: Any, cxps: Any, budget: Budget, most: int) -> tuple[list[int], bool]:
    if not isinstance(cxps, tuple):
        try:
            family = explanation.cxp_family.hitting_sets(budget=budget)
        except BudgetError:
            return [], False
        return list(islice(family, most)), family.count <= most
    return some_hitting_sets([explanation.domain.mask(c.features) for c in cxps], budget=budget)
