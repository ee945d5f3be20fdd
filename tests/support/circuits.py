"""Circuits of every kind for tests: any decisions and gates, with brute force over all points."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod

from hypothesis import strategies as st

from axfi_kc import Domain, TableModel
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.compilers import compile_circuit
from axfi_kc.domain.grid import Grid
from axfi_kc.models import Similarity
from tests.support.strategies import domains

Points = set[tuple[int, ...]]


def table_circuit(domain: Domain, table: tuple[int, ...]) -> Circuit:
    """Return a decision diagram of the points where the table is not 0."""
    return compile_circuit(TableModel.from_outputs(domain, table), 0, Similarity())


def cell_vectors(grid: Grid) -> Iterator[tuple[int, ...]]:
    return product(*map(range, grid.n_cells))


def points(circuit: Circuit) -> Points:
    return {x for x in cell_vectors(circuit.grid) if queries.evaluate(circuit, x)}


def counted(grid: Grid, wanted: Points) -> int:
    return sum(prod(a.counts[c] for a, c in zip(grid.axes, x, strict=True)) for x in wanted)


def weighed(grid: Grid, wanted: Points) -> Fraction:
    return sum(
        (prod(Fraction(a.numerators[c], a.denominator) for a, c in zip(grid.axes, x, strict=True)) for x in wanted),
        Fraction(0),
    )


@st.composite
def circuits(draw: st.DrawFn, grid: Grid, *, max_nodes: int = 12) -> Circuit:
    """Return any circuit: gates may share features and overlap, decisions may repeat a feature."""
    build = CircuitBuilder(grid)
    made = [build.false, build.true]
    for _ in range(draw(st.integers(1, max_nodes))):
        kind = draw(st.sampled_from(["decision", "decision", "and", "or"]))
        if kind == "decision":
            feature = draw(st.integers(0, len(grid.n_cells) - 1))
            arcs = [([c], draw(st.sampled_from(made))) for c in range(grid.n_cells[feature])]
            made.append(build.decision(feature, arcs))
        else:
            parts = draw(st.lists(st.sampled_from(made), min_size=1, max_size=4))
            made.append(build.conjunction(parts) if kind == "and" else build.disjunction(parts))
    return build.circuit(made[-1])


@st.composite
def any_circuits(draw: st.DrawFn, *, max_features: int = 4) -> Circuit:
    return draw(circuits(Grid.of_values(draw(domains(finite=True, max_features=max_features)))))
