"""What every target language can do, and what only closed ones can."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, Self, runtime_checkable

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit, Size
from axfi_kc.grid import Grid

__all__ = ["Closed", "Target"]


@runtime_checkable
class Target(Protocol):
    """A set of points in some target language.

    Examples
    --------
    >>> from axfi_kc.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.targets import mdd_of
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2)])))
    >>> isinstance(mdd_of(build.circuit(build.literal(0, [1]))), Target)
    True
    """

    @property
    def grid(self) -> Grid:
        """The cells that points are made of."""

    @property
    def language(self) -> str:
        """The name of the language, as in ``TARGETS``."""

    @property
    def size(self) -> Size:
        """Nodes and edges in the language's own terms; constants are not counted."""

    @property
    def bytes(self) -> int:
        """An estimate of the memory it takes; each target says of what."""

    def to_circuit(self) -> Circuit:
        """Return the points as a deterministic, decomposable circuit over cells."""

    def count(self, *, budget: Budget | None = None) -> int:
        """Return the number of points of the domain, exactly."""

    def probability(self, *, budget: Budget | None = None) -> Fraction:
        """Return the probability of the points under the domain's measure, exactly."""


@runtime_checkable
class Closed(Target, Protocol):
    """A target whose language is closed under the Boolean operations, in time polynomial for two operands."""

    def conjoin(self, other: Self, /) -> Self:
        """Return the points in both."""

    def disjoin(self, other: Self, /) -> Self:
        """Return the points in one of the two."""

    def negate(self) -> Self:
        """Return all other points."""
