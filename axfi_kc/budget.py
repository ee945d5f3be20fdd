"""Budgets of seconds, search nodes and bytes, and how resumable kernels are metered.

A kernel that searches keeps its whole state in arrays. It returns when it is done, when it has
used the nodes it was granted, or when an array is full; Python then looks at the clock (and lets
Ctrl-C through), grants more or gives up, and calls it again.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from axfi_kc.errors import DomainError

__all__ = [
    "ALLOWANCE",
    "DONE",
    "FOUND",
    "LIMIT",
    "NODES",
    "STACK_FULL",
    "STORE_FULL",
    "Budget",
    "BudgetSpent",
    "Meter",
    "Watch",
]

# what a kernel answers; all but DONE and FOUND ask to be called again with more
DONE, FOUND, ALLOWANCE, STORE_FULL, STACK_FULL = 0, 1, 2, 3, 4

# the first two registers of every kernel: nodes spent, nodes allowed
NODES, LIMIT = 0, 1

# search nodes between two looks at the clock: 5 to 100 ms
_CHUNK = 1 << 13

_LEAST_SECONDS = 1e-9
_BETWEEN_LOOKS = 0.002  # seconds between two questions about memory
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Budget:
    """What one explanation may cost at most; None means no limit.

    Attributes
    ----------
    seconds
        Wall-clock seconds.
    nodes
        Search nodes, which do not depend on the machine.
    bytes
        By how much the resident memory of the process may grow meanwhile, whoever of its libraries
        takes it; known on Linux, and without effect elsewhere. Other threads' growth counts too.
    """

    seconds: float | None = None
    nodes: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits that are not positive numbers."""
        for name, limit in (("seconds", self.seconds), ("nodes", self.nodes), ("bytes", self.bytes)):
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


def _resident() -> int:
    """Return the resident memory of the process in bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0


class Watch:
    """Knows when a budget of seconds or bytes is spent, and what is left of one for a next step.

    Examples
    --------
    >>> watch = Watch(Budget(seconds=60, nodes=100))
    >>> watch.is_spent(99), watch.is_spent(101), watch.rest(40).nodes
    (False, True, 60)
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._begin = time.perf_counter()
        self._before = 0 if self.budget.bytes is None else _resident()
        self._looked, self._growth = 0.0, 0

    @property
    def seconds(self) -> float:
        """The seconds since the watch was started."""
        return time.perf_counter() - self._begin

    def is_spent(self, nodes: int = 0) -> bool:
        """Tell whether the time, the memory, or more than the nodes are used up.

        Notes
        -----
        A microsecond, and more every few milliseconds if bytes are limited.
        """
        budget = self.budget
        if budget.nodes is not None and nodes > budget.nodes:
            return True
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return True
        return budget.bytes is not None and self._grown() > budget.bytes

    def _grown(self) -> int:
        """Return by how much memory has grown, as of some milliseconds ago: asking the system takes a while."""
        now = time.perf_counter()
        if now - self._looked > _BETWEEN_LOOKS:
            self._looked, self._growth = now, _resident() - self._before
        return self._growth

    def rest(self, nodes: int = 0) -> Budget:
        """Return what is left of the budget after `nodes`; a step that gets nothing stops at its first look."""
        budget = self.budget
        return Budget(
            seconds=None if budget.seconds is None else max(budget.seconds - self.seconds, _LEAST_SECONDS),
            nodes=None if budget.nodes is None else max(budget.nodes - nodes, 1),
            bytes=None if budget.bytes is None else max(budget.bytes - self._grown(), 1),
        )


class Meter:
    """Counts the nodes of several kernels against one budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._watch = Watch(budget)
        self._before = 0
        self._registers = np.zeros(2, np.int64)

    @property
    def nodes(self) -> int:
        """The nodes spent so far."""
        return self._before + int(self._registers[NODES])

    @property
    def seconds(self) -> float:
        """The seconds since the meter was started."""
        return self._watch.seconds

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
        return more > 0 and not self._watch.is_spent()
