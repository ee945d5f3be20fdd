"""Budgets of seconds and search nodes, and how resumable kernels are metered.

A kernel that searches keeps its whole state in arrays. It returns when it is done, when it has
used the nodes it was granted, or when an array is full; Python then looks at the clock (and lets
Ctrl-C through), grants more or gives up, and calls it again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from axfi_kc.errors import DomainError

__all__ = ["ALLOWANCE", "DONE", "FOUND", "LIMIT", "NODES", "STACK_FULL", "STORE_FULL", "Budget", "BudgetSpent", "Meter"]

# what a kernel answers; all but DONE and FOUND ask to be called again with more
DONE, FOUND, ALLOWANCE, STORE_FULL, STACK_FULL = 0, 1, 2, 3, 4

# the first two registers of every kernel: nodes spent, nodes allowed
NODES, LIMIT = 0, 1

# search nodes between two looks at the clock: 5 to 100 ms
_CHUNK = 1 << 13


@dataclass(frozen=True, slots=True)
class Budget:
    """What one explanation may cost at most; None means no limit.

    Attributes
    ----------
    seconds
        Wall-clock seconds.
    nodes
        Search nodes, which do not depend on the machine.
    """

    seconds: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive numbers."""
        for name, limit in (("seconds", self.seconds), ("nodes", self.nodes)):
            if limit is not None and not limit > 0:
                raise DomainError(
                    f"A budget of {name} must be above 0, but {limit} was given; leave it out for no limit."
                )


class BudgetSpent(Exception):
    """A budget ran out inside the library; callers turn it into a BudgetError with names.

    Attributes
    ----------
    found
        The sets certified so far, as ints whose bit i is feature i.
    """

    def __init__(self, found: list[int]) -> None:
        super().__init__("budget spent")
        self.found = found


class Meter:
    """Counts the nodes of several kernels against one budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._begin = time.perf_counter()
        self._before = 0
        self._registers = np.zeros(2, np.int64)

    @property
    def nodes(self) -> int:
        """The nodes spent so far."""
        return self._before + int(self._registers[NODES])

    @property
    def seconds(self) -> float:
        """The seconds since the meter was started."""
        return time.perf_counter() - self._begin

    def attach(self, registers: npt.NDArray[np.int64]) -> None:
        """Meter another kernel from now on."""
        self._before = self.nodes
        self._registers = registers
        self.extend()

    def extend(self) -> bool:
        """Grant the kernel another chunk of nodes; False when the budget is spent."""
        more = _CHUNK
        if self._budget.nodes is not None:
            more = min(more, self._budget.nodes - self.nodes)
        self._registers[LIMIT] = self._registers[NODES] + max(more, 0)
        return more > 0 and (self._budget.seconds is None or self.seconds < self._budget.seconds)
