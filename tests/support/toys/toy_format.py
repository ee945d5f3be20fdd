"""A file format: a list of the features' names, of how many values they have, and of all points."""

from __future__ import annotations

import json
from pathlib import Path

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.files import Format, register
from axfi_kc.domain.grid import Grid


def read_toy(path: Path, domain: ax.Domain | None = None) -> Circuit:
    names, n_values, points = json.loads(Path(path).read_text())
    found = domain or ax.Domain([ax.Integer(name, 0, n - 1) for name, n in zip(names, n_values, strict=True)])
    build = CircuitBuilder(Grid.of_values(found))
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(point)]) for point in points]
    return build.circuit(build.disjunction(terms))


def write_toy(circuit: Circuit, path: Path) -> None:
    grid = circuit.grid
    content = [list(grid.domain.names), list(grid.n_cells), list(queries.cell_models(circuit))]
    Path(path).write_text(json.dumps(content))


FORMAT = Format((".toy",), read_toy, write_toy, describes=True)
register(FORMAT)
