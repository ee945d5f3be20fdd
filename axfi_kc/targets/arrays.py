"""What targets have in common that are circuits in arrays of our own."""

from __future__ import annotations

from fractions import Fraction

from axfi_kc import queries
from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit, Size
from axfi_kc.grid import Grid

__all__ = ["InArrays"]


class InArrays:
    """A target that is a deterministic, decomposable circuit, held in its attribute ``circuit``."""

    __slots__ = ()
    circuit: Circuit

    @property
    def grid(self) -> Grid:
        """The cells that decisions and literals speak about."""
        return self.circuit.grid

    @property
    def size(self) -> Size:
        """Nodes and edges; constants and edges to false are not counted."""
        return self.circuit.size

    @property
    def bytes(self) -> int:
        """The bytes of the circuit's arrays, and eight for each cell of its distinct sets of cells."""
        held = self.circuit
        arrays = (held.kinds, held.features, held.offsets, held.children, held.labels)
        return sum(a.nbytes for a in arrays) + 8 * sum(map(len, held.cell_sets))

    def to_circuit(self) -> Circuit:
        """Return the circuit that it is."""
        return self.circuit

    def count(self, *, budget: Budget | None = None) -> int:
        """Return the number of points of the domain; see :func:`axfi_kc.queries.count`."""
        return queries.count(self.circuit, budget=budget)

    def probability(self, *, budget: Budget | None = None) -> Fraction:
        """Return the probability under the domain's measure; see :func:`axfi_kc.queries.probability`."""
        return queries.probability(self.circuit, budget=budget)
