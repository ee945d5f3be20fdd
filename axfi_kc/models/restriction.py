"""A model over part of its domain: the same features with fewer values, or with constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.queries.transformations import moved
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.elimination import Factor
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models.base import GriddedModel, Model
from axfi_kc.models.bayes_classifier import BayesClassifier
from axfi_kc.models.box_model import Boxes
from axfi_kc.models.circuit_model import CircuitModel
from axfi_kc.models.linear_model import LinearModel, Lookup, Part
from axfi_kc.models.table_model import TableModel
from axfi_kc.models.tree_sum import TreeSum

__all__ = ["circuit_on", "code_inside", "restricted"]


Cells = npt.NDArray[np.int64]


@singledispatch
def restricted(model: Any, domain: Domain) -> Model:
    """Return a model over part of its domain.

    Parameters
    ----------
    model
        A neutral form.
    domain
        The same features, each with some of its values, and any constraints.

    Notes
    -----
    Linear in the model; its cells are cut where the constraints cut.

    Examples
    --------
    >>> whole = Domain([Integer("a", 0, 9)])
    >>> model = TableModel.from_outputs(whole, [k > 4 for k in range(10)])
    >>> restricted(model, Domain([Integer("a", 3, 6)])).predict([[3], [6]])
    [False, True]
    """
    raise UnsupportedModelError(f"{type(model).__name__} cannot be restricted; read it over the smaller domain.")


def code_inside(axis: Axis, cell: int) -> float | Fraction:
    """Return the code of a point in a cell, a rational one where no float lies; NaN in the cell of missing values."""
    if cell == axis.missing_cell:
        return float("nan")
    if isinstance(axis.feature, Categorical):
        return float(cell)
    low = Fraction(axis.cuts[cell - 1].value) if cell else Fraction(axis.feature.low)
    high = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else Fraction(axis.feature.high)
    # Cuts of integers come after the last one on their left, so the upper end is inside; of reals one end may not be.
    return high if axis.counts is not None else (low + high) / 2


def _grid(model: GriddedModel, domain: Domain) -> tuple[Grid, list[Cells]]:
    """Return the cells of a model on part of its domain, and which old cell each of them is part of."""
    cuts = [axis.cuts for axis in model.grid.axes]
    grid = Grid.of(domain, cuts)
    return grid, [old.cells_holding(new) for old, new in zip(model.grid.axes, grid.axes, strict=True)]


@restricted.register
def _trees(model: TreeSum, domain: Domain) -> TreeSum:
    grid, cells = _grid(model, domain)
    offsets, left_mask = model.tables_on(cells)
    return replace(model, grid=grid, mask_offset=offsets, left_mask=left_mask)


@restricted.register
def _table(model: TableModel, domain: Domain) -> TableModel:
    grid, cells = _grid(model, domain)
    return replace(model, grid=grid, table=model.table[np.ix_(*cells)])


@restricted.register
def _products(model: BayesClassifier, domain: Domain) -> BayesClassifier:
    grid, cells = _grid(model, domain)
    factors = [Factor(f.scope, f.values[np.ix_(*(cells[i] for i in f.scope))]) for f in model.factors]
    return replace(model, grid=grid, factors=tuple(factors))


@restricted.register
def _boxes(model: Boxes, domain: Domain) -> Boxes:
    grid, cells = _grid(model, domain)
    # Each feature as flags of the old cells, looked up at the new ones: sets, whatever they were before.
    subsets = {i: ~model.misses(i, own).T for i, own in enumerate(cells)}
    first = np.zeros_like(model.first)
    last = np.tile(np.array(grid.n_cells, dtype=np.int32), (len(model), 1))
    alive = np.all([inside.any(axis=1) for inside in subsets.values()], axis=0)
    kept = {i: inside[alive] for i, inside in subsets.items() if not inside.all()}
    return replace(model, grid=grid, first=first[alive], last=last[alive], subsets=kept, output=model.output[alive])


@restricted.register
def _linear(model: LinearModel, domain: Domain) -> LinearModel:
    parts = [_part(p, *pair) for p, *pair in zip(model.parts, model.domain.features, domain.features, strict=True)]
    return replace(model, domain=domain, parts=tuple(parts))


def _part(part: Part, old: Any, new: Any) -> Part:
    """Return what the values that are left add to each score."""
    if not isinstance(part, Lookup):
        return part if new.missing else replace(part, missing=None)
    if isinstance(new, Categorical):
        places: Sequence[int] = [old.values.index(v) for v in new.values]
    else:
        places = range(new.low - old.low, new.high - old.low + 1)
    chosen = [*places, *([old.size - 1] if new.missing else [])]
    first = new.low if isinstance(new, Integer) else 0
    return Lookup(tuple(tuple(row[k] for k in chosen) for row in part.rows), first)


@restricted.register
def _circuits(model: CircuitModel, domain: Domain) -> CircuitModel:
    grid, cells = _grid(model, domain)
    places = range(len(domain))
    return replace(model, grid=grid, circuits=tuple(c and moved(c, grid, cells, places) for c in model.circuits))


def circuit_on(circuit: Circuit, grid: Grid) -> Circuit:
    """Return a circuit on another grid, which has its features, by name, and is cut where its own grid is."""
    own, domain = circuit.grid, grid.domain
    places = [domain.index(name) if name in domain.names else 0 for name in own.domain.names]
    cells = [axis.cells_holding(grid.axes[i]) for axis, i in zip(own.axes, places, strict=True)]
    return moved(circuit, grid, cells, places)
