"""What is compiled once for each output of a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Generic, TypeVar

__all__ = ["PerOutput"]

_KEPT = 16  # a classifier has few outputs, a regression many
T = TypeVar("T")


class PerOutput(Generic[T]):
    """Calls `make` once for each output and keeps what it returns; of numbers, only the latest few.

    Examples
    --------
    >>> made = PerOutput(lambda output: [output])
    >>> made("yes") is made("yes")
    True
    """

    def __init__(self, make: Callable[[Hashable], T]) -> None:
        self._make = make
        self._made: dict[Hashable, T] = {}

    def __call__(self, output: Hashable) -> T:
        """Return what belongs to `output`."""
        found = self._made.get(output)
        if found is None:
            if len(self._made) >= _KEPT and isinstance(output, Fraction):
                self._made.clear()
            found = self._made[output] = self._make(output)
        return found
