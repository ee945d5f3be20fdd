"""A circuit as a constraint: the points that can exist are those that satisfy it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.circuits.circuit import AND, DECISION, OR, TRUE, Circuit, CircuitBuilder
from axfi_kc.circuits.files.variables import described_axis, grid_of_axes
from axfi_kc.circuits.queries.satisfiability import evaluate
from axfi_kc.domain.constraints import CONSTRAINTS, Bound, Code, Constraint, as_constraint
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature
from axfi_kc.domain.grid import Axis
from axfi_kc.errors import DomainError

__all__ = ["CircuitConstraint"]


@dataclass(frozen=True, slots=True, eq=False)
class CircuitConstraint(Constraint):
    """The points at which a circuit over the features of a domain, or some of them, is true.

    Attributes
    ----------
    circuit
        Over features of these names and kinds.
    about
        What it is called, such as the file that it was read from; its size otherwise.

    Examples
    --------
    >>> from axfi_kc.domain import Grid, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> build = CircuitBuilder(Grid.of_values(domain))
    >>> either = build.circuit(build.disjunction([build.literal(0, [1]), build.literal(1, [1])]))
    >>> domain.where(either)
    Domain(a: an integer from 0 to 1, b: an integer from 0 to 1; where the circuit of 3 nodes over a, b)
    """

    circuit: Circuit
    about: str = ""
    kind = "circuit"
    parts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The features that the circuit decides on."""
        tested = np.unique(self.circuit.features[self.circuit.features >= 0]).tolist()
        return tuple(self.circuit.grid.domain.names[i] for i in tested)

    def settled(self, domain: Domain) -> Constraint:
        """Return it, if the domain has the circuit's features."""
        own = self.circuit.grid.domain
        for name in self.names:
            mine, theirs = own.features[own.index(name)], domain.features[domain.index(name)]
            values = isinstance(mine, Categorical) and mine.values != getattr(theirs, "values", None)
            if type(mine) is not type(theirs) or values:
                raise DomainError(
                    f"The circuit's feature {name!r} is {mine.describe()}, but the domain's is {theirs.describe()}; "
                    "read the circuit over this domain."
                )
        return self

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point satisfies the circuit."""
        cells, own = [0] * len(self.circuit.grid.axes), self.circuit.grid.domain
        for name in self.names:
            cells[own.index(name)] = _cell(self.circuit.grid.axes[own.index(name)], codes[domain.index(name)])
        return evaluate(self.circuit, cells)

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return where the circuit's grid cuts the feature."""
        own = self.circuit.grid.domain
        return [(cut.value, cut.closed) for cut in self.circuit.grid.axes[own.index(feature.name)].cuts]

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it: its features with their cells, and its nodes."""
        held = self.circuit
        nodes = [
            [int(held.kinds[n]), int(held.features[n]), [[list(cells), int(child)] for cells, child in held.arcs(n)]]
            for n in range(len(held.kinds))
        ]
        about = {"about": self.about} if self.about else {}
        return {"kind": self.kind, **about, "axes": [described_axis(axis) for axis in held.grid.axes], "nodes": nodes}

    def __eq__(self, other: object) -> bool:
        """Tell whether two circuits are the same, node by node."""
        return isinstance(other, CircuitConstraint) and self.document() == other.document()

    def __hash__(self) -> int:
        """Return a number that equal circuits share."""
        return hash((self.names, len(self.circuit.kinds)))

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.about or f'the circuit of {self.circuit.size.nodes} nodes'} over {', '.join(self.names)}"


def _cell(axis: Axis, code: Code) -> int:
    if code != code:
        return axis.n_cells - 1
    if isinstance(axis.feature, Categorical):
        return int(code)
    number = Fraction(code)
    return sum(Fraction(c.value) < number or (Fraction(c.value) == number and not c.closed) for c in axis.cuts)


def _read(document: Mapping[str, Any]) -> Constraint:
    build = CircuitBuilder(grid_of_axes(text.encode() for text in document["axes"]))
    made: list[int] = []
    for kind, feature, arcs in document["nodes"]:
        below = [made[child] for _, child in arcs]
        if kind == DECISION:
            made.append(
                build.decision(feature, [(cells, child) for (cells, _), child in zip(arcs, below, strict=True)])
            )
        elif kind in (AND, OR):
            made.append((build.conjunction if kind == AND else build.disjunction)(below))
        else:
            made.append(build.true if kind == TRUE else build.false)
    about = document.get("about", "")
    if not isinstance(about, str):
        raise TypeError("about should be text")
    return CircuitConstraint(build.circuit(made[-1]), about)


CONSTRAINTS[CircuitConstraint.kind] = _read
as_constraint.register(Circuit, CircuitConstraint)
