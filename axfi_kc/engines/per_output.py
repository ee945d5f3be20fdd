"""What engines that go instance by instance share.

Above all, what they make once for each output they meet is kept here from question to question.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Generic, TypeVar

from axfi_kc.budget import Budget, Meter
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import BudgetError
from axfi_kc.families.masks import sorted_sets

__all__ = ["PerOutput", "unfinished"]


_KEPT = 16  # a classifier has few outputs, a regression many
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class PerOutput(Generic[K, T]):
    """Calls `make` once for each output and keeps what it returns; of numbers, only the latest few.

    What is made is made under the budget of the question that first needs it. It is kept only when it is
    complete: if the budget is spent on the way, the next question starts afresh, under its own.

    Parameters
    ----------
    make
        Makes what belongs to an output, within a budget (None: no limit). A method rather than a lambda:
        engines are sent to workers.

    Examples
    --------
    >>> made = PerOutput(lambda output, budget: [output, budget])
    >>> made("yes", Budget(nodes=9)) is made("yes")
    True
    """

    def __init__(self, make: Callable[[K, Budget | None], T]) -> None:
        self._make = make
        self._made: dict[K, T] = {}

    def __call__(self, output: K, budget: Budget | None = None) -> T:
        """Return what belongs to `output`."""
        found = self._made.get(output)
        if found is None:
            found = self._make(output, budget)  # kept only if this returns
            if len(self._made) >= _KEPT and isinstance(output, Fraction):
                self._made.clear()
            self._made[output] = found
        return found


def unfinished(found: Iterable[int], domain: Domain, meter: Meter) -> BudgetError:
    """Return the error of a search that was given up, with the CXps found so far."""
    cxps = tuple(domain.names_of(mask) for mask in sorted_sets(found))
    return BudgetError(
        f"The budget was spent after {meter.nodes} search nodes and {meter.seconds:.2f} s, with {len(cxps)} CXps "
        "found (the error's cxps, each certified); allow more, or set max_size.",
        cxps=cxps,
        nodes=meter.nodes,
        seconds=meter.seconds,
    )
