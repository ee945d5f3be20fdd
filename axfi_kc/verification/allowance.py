"""How much one check may look at."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from axfi_kc.budget import Budget

__all__ = ["Allowance", "Spent"]


_POINTS = 20_000  # per check, unless a budget says otherwise
_STEPS = 100_000  # of proofs, which cost less than points


class Spent(Exception):
    """A check has used what it was allowed; it ends as sampled."""


@dataclass(slots=True)
class Allowance:
    """Counts points and steps of the check under way, and the seconds of them all.

    Attributes
    ----------
    points, steps
        How many points of the model, and steps of a proof, one check may use.
    until
        When all checks must end; None: never.
    used
        The steps that the check under way has used.
    """

    points: int
    steps: int
    until: float | None
    used: int = field(default=0)

    @classmethod
    def of(cls, budget: Budget | None) -> Allowance:
        """Return what a budget allows: its nodes are points, and steps, per check."""
        given = budget or Budget()
        until = None if given.seconds is None else time.perf_counter() + given.seconds
        return cls(given.nodes or _POINTS, given.nodes or _STEPS, until)

    def begin(self) -> None:
        """Start another check."""
        self.used = 0

    @property
    def is_late(self) -> bool:
        """Whether the seconds are over."""
        return self.until is not None and time.perf_counter() >= self.until

    def spend(self, number: int = 1) -> None:
        """Use steps.

        Raises
        ------
        Spent
            If there are no more.
        """
        self.used += number
        if self.used > self.steps:
            raise Spent
        self.tick()

    def tick(self) -> None:
        """Go on, if there is time.

        Raises
        ------
        Spent
            If the seconds are over.
        """
        if self.is_late:
            raise Spent
