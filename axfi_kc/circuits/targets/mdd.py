"""Reduced ordered multi-valued decision diagrams, in the arrays of circuits.

For an order of the features every set of points has exactly one such diagram, so two of them are the
same function if and only if they are the same circuit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits.circuit import Circuit, Form, Size, circuit_in
from axfi_kc.circuits.queries.counting import Counted
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.circuits.queries.structure import checked_order, is_ordered, is_reduced
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError

__all__ = ["InArrays", "Mdd", "mdd_of"]


class InArrays(Counted):
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
        note_deterministic(self.circuit)
        return self.circuit


@dataclass(frozen=True, slots=True, eq=False)
class Mdd(InArrays):
    """A reduced ordered multi-valued decision diagram.

    Attributes
    ----------
    circuit
        Decisions only, reduced.
    order
        The features, from the top down.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> a, b = mdd_of(build.circuit(build.literal(0, [2]))), mdd_of(build.circuit(build.literal(1, [1])))
    >>> a.conjoin(b).count(), a.disjoin(b).count(), a.negate().count()
    (1, 4, 4)
    """

    circuit: Circuit = field(repr=False)
    order: tuple[int, ...]
    language: ClassVar[str] = "mdd"

    @checked("other", "budget")
    def conjoin(self, other: Mdd, *, budget: Budget | None = None) -> Mdd:
        """Return the diagram of the points in both (cost: at worst the product of the sizes)."""
        return self._joined(other, budget, lambda nodes: nodes.conjoined)

    @checked("other", "budget")
    def disjoin(self, other: Mdd, *, budget: Budget | None = None) -> Mdd:
        """Return the diagram of the points in one of the two (cost: at worst the product of the sizes)."""
        return self._joined(other, budget, lambda nodes: nodes.disjoined)

    def negate(self) -> Mdd:
        """Return the diagram of all other points (cost: linear)."""
        # Exchanging the constants makes no two nodes equal, so the complement is as large as the diagram: no budget.
        nodes = MddNodes(self.grid, self.order)
        return Mdd(nodes.circuit(nodes.load(self.circuit), negated=True), self.order)

    def _joined(
        self, other: Mdd, budget: Budget | None, chosen: Callable[[MddNodes], Callable[[int, int], int]]
    ) -> Mdd:
        # Cells are mere numbers and mean the same only on grids with the same cuts.
        alike = other.grid.is_like(self.grid)
        if not alike or other.order != self.order:
            raise CircuitError(
                f"Two diagrams are joined over the same cells in one order, but the orders {self.order} and "
                f"{other.order}, over {'the same' if alike else 'different'} cells, were given; make both with one "
                "order, or join them by & and |."
            )
        nodes = MddNodes(self.grid, self.order, account=Account(budget, goal="diagram"))
        parts = nodes.load(self.circuit), nodes.load(other.circuit)
        return Mdd(nodes.circuit(chosen(nodes)(*parts)), self.order)


def mdd_of(
    circuit: Form, *, order: Sequence[int] | None = None, sift: bool = False, budget: Budget | None = None
) -> Mdd:
    """Return the reduced ordered multi-valued decision diagram of `circuit`.

    Parameters
    ----------
    circuit
        Of any kind; neither decomposability nor determinism is needed.
    order
        Every feature once, from the top down. By default the circuit's own order, or the domain's
        where the circuit has none.
    sift
        Whether to look for a better order from there; see :func:`~axfi_kc.circuits.targets.mdd_reordering.sifted`.
    budget
        What it may cost; a node is a step of an operation on two nodes.

    Raises
    ------
    CircuitError
        If the order is none.

    Notes
    -----
    A circuit that is such a diagram already is only checked, which is linear. Any other one is
    rebuilt bottom up, and the diagram, or what is met on the way, may be exponentially larger.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> either = build.circuit(build.disjunction([build.literal(0, [2]), build.literal(1, [1])]))
    >>> mdd_of(either, order=[1, 0]).size, mdd_of(either).count()
    (Size(nodes=2, edges=3), 4)
    """
    circuit, account = circuit_in(circuit), Account(budget, goal="diagram")
    found = _in_order(circuit, checked_order(circuit, order), account)
    if not sift:
        return found
    from axfi_kc.circuits.targets.mdd_reordering import sifted

    return sifted(found, budget=account.rest())


def _in_order(circuit: Circuit, features: Sequence[int], account: Account) -> Mdd:
    # Canonical only if both hold: reduced nodes are unique for one order, and is_reduced judges decisions alone.
    if is_ordered(circuit, features) and is_reduced(circuit):
        return Mdd(circuit, tuple(features))
    nodes = MddNodes(circuit.grid, features, account=account)
    return Mdd(nodes.circuit(nodes.load(circuit)), tuple(features))
