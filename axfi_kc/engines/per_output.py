"""Models compiled once for each of their outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Generic, TypeVar

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit
from axfi_kc.compilers import compile_target
from axfi_kc.models import Model
from axfi_kc.similarity import Similarity

__all__ = ["CompiledOutputs", "PerOutput"]

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


class CompiledOutputs(ABC, Generic[T]):
    """A model of which the circuit of "not similar to output c" is compiled, for outputs c that are met.

    Parameters
    ----------
    model
        Any neutral form.
    similarity
        Which outputs count as similar.
    budget
        What the compilation of one circuit may cost, and what one explanation may.
    target
        One of ``axfi_kc.targets.TARGETS``.
    constant
        The one output of a model known to be constant; None otherwise.
    """

    def __init__(
        self,
        model: Model,
        similarity: Similarity,
        budget: Budget,
        *,
        target: str = "mdd",
        constant: Hashable | None = None,
    ) -> None:
        self.constant = constant
        self._model = model
        self._similarity = similarity
        self._budget = budget
        self._target = target
        self._at = PerOutput(self._compiled)

    def _compiled(self, output: Hashable) -> T:
        made = compile_target(self._model, output, self._similarity, target=self._target, budget=self._budget)
        return self._prepared(made.to_circuit(), output)

    @abstractmethod
    def _prepared(self, circuit: Circuit, output: Hashable) -> T:
        """Return what answers for instances with this output, of its circuit."""
