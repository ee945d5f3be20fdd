"""What a check may cost, what was checked about an explanation, and what came of it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

from axfi_kc.budget import Budget

__all__ = ["Allowance", "Check", "Report", "Spent", "Status"]


Status = Literal["proved", "sampled", "failed"]
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of an explanation and how it was checked.

    Attributes
    ----------
    kind
        What the statement is about: ``"instance"`` (that it can exist), ``"region"`` (what it leaves of a feature),
        ``"prediction"``, ``"probability"``, ``"cxp"``, ``"axp"``, ``"minimality"``, ``"duality"``, ``"completeness"``,
        ``"weight"``, ``"score"``, ``"float"``, ``"interaction"``, ``"value"``, ``"size"``, ``"relevance"``,
        ``"circuit"`` or ``"counterfactual"``. Of answers about the whole space: ``"distribution"``, ``"change"``,
        ``"output"``, ``"group"`` and ``"region"``.
    subject
        The names it is about: a set of features, or a kind of score.
    status
        ``"proved"``, ``"sampled"`` (nothing speaks against it, but not everything was looked at) or ``"failed"``.
    method
        How it was checked.
    points
        The number of points, cells or steps that were looked at.
    detail
        What was found, where that needs saying.
    """

    kind: str
    subject: tuple[str, ...]
    status: Status
    method: str
    points: int = 0
    detail: str = ""

    def __str__(self) -> str:
        """Return the check in one line."""
        about = f"{self.kind} {{{', '.join(self.subject)}}}"
        size = f" ({self.points})" if self.points else ""
        return f"{self.status}: {about}: {self.method}{size}{f'; {self.detail}' if self.detail else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON can hold it."""
        return {**asdict(self), "subject": list(self.subject)}


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """All checks of one explanation.

    Attributes
    ----------
    checks
        Every statement that was checked, in order.
    model
        The name of the model's class.
    reading
        How the checker read the model: through its trees, its coefficients, its cells (where they end; the outputs are
        those of ``predict``), or ``predict`` alone.
    unchecked
        What the explanation also says, but was not looked at.

    Examples
    --------
    >>> report = Report((Check("cxp", ("age",), "proved", "witness"),), "Tree", "trees")
    >>> report.ok, report.complete, len(report.failed), report.verdict
    (True, True, 0, 'proved')
    """

    checks: tuple[Check, ...]
    model: str
    reading: str
    unchecked: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed

    @property
    def complete(self) -> bool:
        """Whether everything was proved."""
        return len(self.proved) == len(self.checks)

    @property
    def proved(self) -> tuple[Check, ...]:
        """What was proved."""
        return self._with("proved")

    @property
    def sampled(self) -> tuple[Check, ...]:
        """What was looked at in part, without finding anything against it."""
        return self._with("sampled")

    @property
    def failed(self) -> tuple[Check, ...]:
        """What is wrong."""
        return self._with("failed")

    @property
    def verdict(self) -> str:
        """What came of it all: ``"proved"``, ``"not refuted"`` (something was sampled) or ``"failed"``."""
        return "failed" if self.failed else "proved" if self.complete else "not refuted"

    @property
    def doubts(self) -> list[str]:
        """A line for each of the first checks that are not proved, those that failed first, and one for the rest."""
        odd = [*self.failed, *self.sampled]
        return [*map(str, odd[:_SHOWN]), *([f"... and {len(odd) - _SHOWN} more"] if len(odd) > _SHOWN else [])]

    @property
    def numbers(self) -> str:
        """How many checks came to what, in words."""
        return f"{len(self.proved)} proved, {len(self.sampled)} sampled, {len(self.failed)} failed"

    def _with(self, status: Status) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.status == status)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return {
            "ok": self.ok,
            "complete": self.complete,
            "model": self.model,
            "reading": self.reading,
            "proved": len(self.proved),
            "sampled": len(self.sampled),
            "failed": len(self.failed),
            "unchecked": list(self.unchecked),
            "checks": [check.to_dict() for check in self.checks],
        }

    def __str__(self) -> str:
        """Return a line per kind of statement, and one for whatever is not proved."""
        counts = Counter((check.kind, check.status) for check in self.checks)
        kinds = list(dict.fromkeys(check.kind for check in self.checks))
        lines = [repr(self)]
        for kind in kinds:
            found = (f"{counts[kind, s]} {s}" for s in ("proved", "sampled", "failed") if counts[kind, s])
            lines.append(f"  {kind}: {', '.join(found)}")
        lines += [f"  {line}" for line in self.doubts]
        lines += [f"  not checked: {'; '.join(self.unchecked)}"] if self.unchecked else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the verdict and the numbers of checks."""
        return f"<Report: {self.verdict}; {self.numbers}; {self.model} read through {self.reading}>"


_POINTS = 20_000  # per check, unless a budget says otherwise
_STEPS = 100_000  # of proofs, which cost less than points


class Spent(Exception):
    """A check has used what it was allowed; it ends as sampled."""


@dataclass(slots=True)
class Allowance:
    """Counts points and steps of the check under way, and the seconds of them all."""

    # How many points of the model, and steps of a proof, one check may use.
    points: int
    steps: int
    until: float | None  # when all checks must end; None: never
    used: int = 0  # the steps that the check under way has used

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
        """Use steps; Spent is raised if there are no more."""
        self.used += number
        if self.used > self.steps:
            raise Spent
        self.tick()

    def tick(self) -> None:
        """Go on; Spent is raised if the seconds are over."""
        if self.is_late:
            raise Spent
