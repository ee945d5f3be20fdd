"""Circuits handed to libraries that know only bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from axfi_kc.circuit import Circuit
from axfi_kc.targets.bit_codes import Bit, members, valid

__all__ = ["Algebra", "Encoder", "balanced"]


class Algebra(Protocol):
    """The operations of a library on its own nodes."""

    true: Any
    false: Any

    def conjoin(self, a: Any, b: Any) -> Any:
        """Return a and b."""

    def disjoin(self, a: Any, b: Any) -> Any:
        """Return a or b."""

    def fork(self, bit: Bit, high: Any, low: Any) -> Any:
        """Return `high` where the bit is 1, and `low` where it is 0."""

    def choose(self, parts: Sequence[tuple[Any, Any]]) -> Any:
        """Return, of tests that exclude each other on codes of cells, what comes with the one that holds."""


class Encoder:
    """Translates a circuit, children first.

    Parameters
    ----------
    circuit
        Of any kind.
    code
        How cells are written in bits.
    bits
        The bits of each feature, the features from the top of the order down.
    algebra
        The library.
    """

    def __init__(self, circuit: Circuit, *, code: str, bits: Mapping[int, Sequence[Bit]], algebra: Algebra) -> None:
        self._circuit = circuit
        self._code = code
        self._bits = bits
        self._algebra = algebra
        self._known: dict[tuple[int, int], Any] = {}  # by feature and label

    def function(self) -> Any:
        """Return the function of the codes of the circuit's points."""
        algebra = self._algebra
        found = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda below: balanced(below, algebra.conjoin, algebra.true),
            disjunction=lambda below: balanced(below, algebra.disjoin, algebra.false),
            false=algebra.false,
            true=algebra.true,
        )
        return algebra.conjoin(self.valid(), found[-1])

    def _decision(self, feature: int, labels: list[int], below: list[Any]) -> Any:
        tests = [self._members(feature, label) for label in labels]
        return self._algebra.choose(list(zip(tests, below, strict=True)))

    def _members(self, feature: int, label: int) -> Any:
        if (feature, label) not in self._known:
            true, false = self._algebra.true, self._algebra.false
            n_cells, cells = self._circuit.grid.n_cells[feature], self._circuit.cell_sets[label]
            self._known[feature, label] = members(
                self._bits[feature], n_cells, cells, fork=self._fork(feature), true=true, false=false
            )
        return self._known[feature, label]

    def valid(self) -> Any:
        """Return the function of the bit vectors that are codes."""
        made = self._algebra.true
        for feature in reversed(list(self._bits)):
            n_cells, fork = self._circuit.grid.n_cells[feature], self._fork(feature)
            here = valid(self._code, n_cells, fork=fork, rest=self._algebra.true, false=self._algebra.false)
            made = self._algebra.conjoin(here, made)
        return made

    def _fork(self, feature: int) -> Callable[[int, Any, Any], Any]:
        bits, algebra = self._bits[feature], self._algebra
        return lambda k, high, low: algebra.fork(bits[k], high, low)


def balanced(parts: Sequence[Any], join: Callable[[Any, Any], Any], neutral: Any) -> Any:
    """Join in a balanced way: of many parts, most joins are then between small ones."""
    while len(parts) > 1:
        parts = [join(a, b) for a, b in zip_longest(parts[::2], parts[1::2], fillvalue=neutral)]
    return parts[0] if parts else neutral
