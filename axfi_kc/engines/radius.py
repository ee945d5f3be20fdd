"""The largest radius that fits: all CXps of at most k features, for the largest k that a budget allows.

When a budget ends, "all CXps of at most k features" is a complete and exact answer to the same question with radius k,
while about all CXps next to nothing is known: each box that is still open may hide exponentially many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, Meter, Watch
from axfi_kc.engines.found import Found, Located
from axfi_kc.errors import BudgetError

__all__ = ["found_by_radius", "largest_radius", "naming_row"]


_FIRST_TRIAL = 1 << 14  # nodes: most instances need fewer for everything
T = TypeVar("T")


def largest_radius(
    explain: Callable[[int, Meter], T], *, limit: int, meter: Meter, trial: int | None = _FIRST_TRIAL
) -> tuple[T, int | None]:
    """Return what `explain` gives for the largest number of features that fits, and this number; None: for `limit`.

    Parameters
    ----------
    explain
        Gives everything up to so many features, or raises a BudgetError.
    limit
        The largest number of features that is wanted.
    meter
        What all of it may cost; with a budget of nodes, the answer is the same on every machine.
    trial
        How many nodes to spend at first on everything; None: half of the budget.

    Raises
    ------
    BudgetError
        If not even the sets of one feature were finished.

    Notes
    -----
    Sizes in turn, each from scratch, and all sizes at once whenever twice as much was spent on the former as the last
    time. So no more than a few times the nodes are spent that everything, or the sizes finished, need alone.
    """
    # Without a budget only a limit of the engine's own can end the first trial.
    whole = _trial(explain, limit, meter, trial if meter.can_end else None)
    tried, spent = trial or _FIRST_TRIAL, 0
    found: T | None = None
    for size in range(1, limit + 1):
        if whole is not None:
            return whole, None
        before = meter.nodes
        try:
            found = explain(size, meter)
        except BudgetError:
            if found is None:
                raise
            return found, size - 1
        meter.report(radius=size)
        spent += meter.nodes - before
        if meter.can_end and trial is not None and spent >= 2 * tried:
            whole, tried = _trial(explain, limit, meter, spent), spent
    return explain(limit, meter) if found is None else found, None


def _trial(explain: Callable[[int, Meter], T], limit: int, meter: Meter, nodes: int | None) -> T | None:
    """Return everything, if that takes no more than so many nodes, and no more than half of what is left."""
    rest = meter.rest()
    half = None if rest.nodes is None else max(1, rest.nodes // 2)
    allowed = min((most for most in (nodes, half) if most is not None), default=None)
    trial = Meter(Budget(None if rest.seconds is None else rest.seconds / 2, allowed, rest.bytes))
    try:
        return explain(limit, trial)
    except BudgetError:
        return None
    finally:
        meter.spend(trial.nodes)


def found_by_radius(
    explain: Callable[..., Found],
    codes: npt.NDArray[np.float64],
    located: Located,
    *,
    max_size: int | None,
    budget: Budget | None,
    **options: Any,
) -> Found:
    """Return what an engine's `explain` finds for each instance within the largest radius that fits its budget."""
    limit = codes.shape[1] if max_size is None else max_size
    if not Watch(budget).can_end:
        try:
            return explain(codes, located=located, max_size=max_size, **options)
        except BudgetError:  # a limit of the engine's own
            pass
    parts = []
    for n in range(len(codes)):
        row, meter = slice(n, n + 1), Meter(budget)

        def within(size: int, meter: Meter, row: slice = row) -> Found:
            where = (located[0][row], located[1][row])
            before, _ = meter.spent
            try:
                # Without max_size an engine may know a shorter way to everything.
                most = max_size if size == limit else size
                found = explain(codes[row], located=where, max_size=most, budget=meter.rest(), **options)
            except BudgetError as spent:
                meter.spend(max(spent.nodes - before, 0))  # an error tells of the whole question
                raise
            meter.spend(len(found.totals) if found.nodes is None else sum(found.nodes))
            return found

        with naming_row(n):
            found, radius = largest_radius(within, limit=limit, meter=meter, trial=None)
        parts.append(found.up_to(radius))
    return Found.joined(parts) if parts else explain(codes, located=located, max_size=max_size, **options)


@contextmanager
def naming_row(n: int) -> Iterator[None]:
    """Let a BudgetError say that it is about instance n."""
    try:
        yield
    except BudgetError as spent:
        spent.row = n
        raise
