"""Columns that a model sees, as functions of the features its user knows.

A pipeline changes columns before they reach the model. Each changed column is still a function of
one feature, and a feature may have several: a chain of steps on a number, or one entry per value of
a discrete feature; either also says what a missing value becomes. The model is read over an *inner*
domain that has the changed columns, a value of which is missing exactly where NaN reaches the model,
and then pulled back: a linear model is composed with the exact affine maps of its columns, or
tabulated value by value; the cells of a tree's feature are those that some column of it tells apart.
Thresholds go back through the *floating-point* maps, so the two agree on every float64 input.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.readers.pipeline_steps import Floats, Step, met, spread_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real, is_missing
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.domain.measures import exact
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import LinearModel, Lookup, Model, Slope, TreeSum

__all__ = [
    "Chain",
    "Column",
    "Inner",
    "Tabled",
    "columns_of",
    "inner_of",
    "may_be_nan",
    "pulled_back",
    "tabled",
    "then",
]


_LARGEST_TABLE = 100_000
_SHARE = Fraction(1, 2)  # of missing values of an inner feature: only that there are some matters
Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Chain:
    """A number that goes through steps.

    Attributes
    ----------
    feature
        The feature of the outer domain.
    low, high
        The least and the largest number that comes out; a missing value aside.
    steps
        What the number goes through.
    missing
        What a missing value becomes, NaN if it stays one; None where the feature is never missing.
    sparse
        Whether the library keeps the column in a sparse table.
    """

    feature: int
    low: float
    high: float
    steps: tuple[Step, ...] = ()
    missing: float | None = None
    sparse: bool = False

    def at(self, x: Floats) -> Floats:
        """Return the column at values of the feature, in float64; what a missing one becomes at NaN."""
        present = x[~np.isnan(x)]
        for step in self.steps:
            present = step.at(present)
        found = np.full(len(x), np.nan if self.missing is None else self.missing)
        found[~np.isnan(x)] = present
        return found

    @property
    def affine(self) -> tuple[Fraction, Fraction] | None:
        """The factor and the constant of the exact map that the steps round; None if one of them is not affine."""
        factor, constant = Fraction(1), Fraction(0)
        for step in self.steps:
            if step.affine is None:
                return None
            factor, constant = step.affine[0] * factor, step.affine[0] * constant + step.affine[1]
        return factor, constant


@dataclass(frozen=True, slots=True)
class Tabled:
    """An entry per value of a discrete feature, the last for a missing one if there may be; NaN is a missing entry."""

    feature: int
    entries: tuple[Any, ...]
    sparse: bool = False


Column = Chain | Tabled


def columns_of(domain: Domain) -> list[Column]:
    """Return the columns of `domain` before anything has changed them."""
    found: list[Column] = []
    for i, feature in enumerate(domain.features):
        nothing = (math.nan,) * bool(feature.missing)
        if isinstance(feature, Categorical):
            found += [Tabled(i, (*entries, *nothing)) for entries in zip(*feature.codes, strict=True)]
        else:
            low, high = feature.floats if isinstance(feature, Real) else (float(feature.low), float(feature.high))
            found.append(Chain(i, low, high, missing=math.nan if nothing else None))
    return found


def may_be_nan(column: Column) -> bool:
    """Tell whether NaN is among what a column holds."""
    if isinstance(column, Tabled):
        return any(map(is_missing, set(column.entries)))
    stays = column.missing is not None and is_missing(column.missing)
    return stays or any(step.gives_missing for step in column.steps)


def tabled(column: Column, domain: Domain, where: str) -> Tabled:
    """Return a column as a table, for a step that looks at each value by itself."""
    if isinstance(column, Tabled):
        return column
    feature = domain.features[column.feature]
    if isinstance(feature, Integer) and feature.size <= _LARGEST_TABLE:
        values = range(feature.low, feature.high + 1)
        found = column.at(np.array(values, dtype=np.float64)).tolist() if column.steps else values
        return Tabled(column.feature, (*found, *(() if column.missing is None else (column.missing,))), column.sparse)
    raise UnsupportedModelError(
        f"{where} treats feature {feature.name!r} value by value, but its domain is {feature.describe()}; "
        f"declare it categorical, or integer with at most {_LARGEST_TABLE} values."
    )


def then(column: Column, domain: Domain, *steps: Step) -> Column:
    """Return a column after further steps, each of which must have a result wherever something comes in."""
    for step in steps:
        if may_be_nan(column) and not step.takes_missing:
            raise UnsupportedModelError(
                f"{step.where} has no result where a value is missing, but feature "
                f"{domain.features[column.feature].name!r} may be; put a SimpleImputer before it, or give the domain "
                "missing=0."
            )
        column = _after(column, domain, step)
    return column


def _after(column: Column, domain: Domain, step: Step) -> Column:
    name = domain.features[column.feature].name
    if isinstance(column, Tabled):
        numbers = _numbers(column, step)
        found = step.at(numbers)
        _check_finite(found[~np.isnan(numbers)], name, step)
        return replace(column, entries=tuple(found.tolist()))
    low, high = (column.low, column.high) if step.gives_missing else spread_of(step, column.low, column.high)
    missing = column.missing
    if missing is not None and not is_missing(missing):
        missing = float(step.at(np.array([missing]))[0])
    _check_finite(np.array([low, high, 0.0 if missing is None or is_missing(column.missing) else missing]), name, step)
    return replace(column, low=low, high=high, steps=(*column.steps, step), missing=missing)


def _numbers(column: Tabled, step: Step) -> Floats:
    strange = next((e for e in column.entries if not isinstance(e, bool | int | float | np.number)), None)
    if strange is not None:
        raise UnsupportedModelError(
            f"{step.where} takes numbers, but its column holds {strange!r}; encode it first (OneHotEncoder), or give "
            "the domain the codes the pipeline was fitted on."
        )
    return np.array(column.entries, dtype=np.float64)


def _check_finite(results: Floats, name: str, step: Step) -> None:
    if not (np.isfinite(results).all() or step.gives_missing):
        raise DomainError(
            f"{step.where} has no finite result everywhere on the domain of feature {name!r}; narrow the feature's "
            "bounds to where it has."
        )


@dataclass(frozen=True, slots=True)
class Inner:
    """The domain of changed columns, and where its features come from."""

    domain: Domain  # one feature per column
    columns: tuple[Column, ...]

    def of_feature(self, i: int) -> list[int]:
        """Return the columns that depend on feature i of the outer domain."""
        return [j for j, column in enumerate(self.columns) if column.feature == i]

    def codes(self, j: int, outer: Feature, values: Floats) -> Floats:
        """Return the codes of column j at codes of the outer feature, NaN for missing ones."""
        column, inner = self.columns[j], self.domain.features[j]
        if isinstance(column, Chain):
            return column.at(values)
        first = outer.low if isinstance(outer, Integer) else 0
        places = np.where(np.isnan(values), len(column.entries) - 1, values - float(first)).astype(np.int64)
        code = {row[0]: float(k) for k, row in enumerate(inner.codes)} if isinstance(inner, Categorical) else {}
        return np.array([code.get(e, math.nan) for e in column.entries])[places]  # only NaN is no code


def inner_of(domain: Domain, columns: Sequence[Column], names: Sequence[str]) -> Inner:
    """Return the inner domain of `columns`, which are called `names`."""
    if not columns:
        raise UnsupportedModelError(
            "After the pipeline's transformers no column is left; keep one that depends on a feature."
        )
    made = [_feature(domain.features[c.feature], c, name) for c, name in zip(columns, names, strict=True)]
    return Inner(Domain(made), tuple(columns))


def _feature(outer: Feature, column: Column, name: str) -> Feature:
    share = _SHARE if may_be_nan(column) else 0
    if isinstance(column, Tabled):
        # A column that is always missing needs a value all the same, as every feature does.
        distinct = [e for e in dict.fromkeys(column.entries) if not is_missing(e)] or [0.0]
        return Categorical(name, range(len(distinct)), columns=[name], codes=[[e] for e in distinct], missing=share)
    filled = [] if column.missing is None or is_missing(column.missing) else [column.missing]
    low, high = min(column.low, *filled, math.inf), max(column.high, *filled, -math.inf)
    if isinstance(outer, Integer) and not column.steps and all(m.is_integer() for m in filled):
        return Integer(name, int(low), int(high), missing=share)
    if isinstance(outer, Real) and not column.steps and not filled:
        return Real(name, outer.low, outer.high, missing=share)
    return Real(name, low, high, missing=share)


@singledispatch
def pulled_back(model: Any, inner: Inner, domain: Domain) -> Model:
    """Return a model over ``inner.domain`` as a model over `domain`."""
    raise UnsupportedModelError(
        f"A pipeline may end in a linear model or in trees, but {type(model).__name__} was read; explain it without "
        "the pipeline."
    )


@pulled_back.register
def _linear(model: LinearModel, inner: Inner, domain: Domain) -> LinearModel:
    scale = Fraction(1, model.denominator)
    base = [b * scale for b in model.base]
    parts: list[Slope | Lookup] = []
    for i, feature in enumerate(domain.features):
        columns = inner.of_feature(i)
        if isinstance(feature, Categorical) or not all(_is_straight(model, inner, j) for j in columns):
            parts.append(_table(model, inner, columns, feature))
            continue
        slope, constants = _slope(model, inner, columns, feature)
        base = [b + c for b, c in zip(base, constants, strict=True)]
        parts.append(slope)
    return LinearModel.of(domain, parts, base=base, rule=model.rule)


def _is_straight(model: LinearModel, inner: Inner, j: int) -> bool:
    column = inner.columns[j]
    return isinstance(column, Chain) and column.affine is not None and isinstance(model.parts[j], Slope)


def _slope(model: LinearModel, inner: Inner, columns: Sequence[int], feature: Feature) -> tuple[Slope, list[Fraction]]:
    """Return what affine columns of a feature add, and the constants among it, which go to the base."""
    n, scale = len(model.base), Fraction(1, model.denominator)
    factors, constants, missing = [Fraction(0)] * n, [Fraction(0)] * n, [Fraction(0)] * n
    for j in columns:
        column, part = inner.columns[j], model.parts[j]
        affine = column.affine if isinstance(column, Chain) else None
        if affine is None or isinstance(part, Lookup):
            raise _bent(inner, columns, feature)
        nothing = float(inner.codes(j, feature, np.array([np.nan]))[0])
        for k in range(n):
            # f * (factor * x + constant), and at a missing value what the model adds there, without that constant.
            f = part.factors[k] * scale
            factors[k] += f * affine[0]
            constants[k] += f * affine[1]
            if feature.missing:
                missing[k] += _added(part, k, nothing) * scale - f * affine[1]
    return Slope(tuple(factors), tuple(missing) if feature.missing else None), constants


def _added(part: Slope | Lookup, score: int, code: float) -> Any:
    """Return what a column adds to a score at one of its codes, times the model's denominator."""
    if isinstance(part, Lookup):
        return part.rows[score][-1 if math.isnan(code) else int(code) - part.first]
    if math.isnan(code):
        return 0 if part.missing is None else part.missing[score]
    return part.factors[score] * exact(code)


def _table(model: LinearModel, inner: Inner, columns: Sequence[int], feature: Feature) -> Lookup:
    """Return what the columns of a discrete feature add, value by value."""
    if isinstance(feature, Real) or feature.size > _LARGEST_TABLE:
        raise _bent(inner, columns, feature)
    first, n_missing = feature.low if isinstance(feature, Integer) else 0, int(bool(feature.missing))
    values = np.array([*range(first, first + feature.size - n_missing), *[math.nan] * n_missing], dtype=np.float64)
    codes = [(model.parts[j], inner.codes(j, feature, values).tolist()) for j in columns]
    rows = [
        [Fraction(sum(_added(part, k, c[n]) for part, c in codes)) / model.denominator for n in range(len(values))]
        for k in range(len(model.base))
    ]
    return Lookup(tuple(map(tuple, rows)))


def _bent(inner: Inner, columns: Sequence[int], feature: Feature) -> UnsupportedModelError:
    steps = [s for j in columns for s in getattr(inner.columns[j], "steps", ()) if s.affine is None]
    what = f"{steps[0].where} {steps[0].why}" if steps else "the model is not linear"
    return UnsupportedModelError(
        f"A linear model needs linear steps on feature {feature.name!r} ({feature.describe()}), but {what}; scale it "
        f"(StandardScaler, RobustScaler), declare it integer with at most {_LARGEST_TABLE} values, or use trees."
    )


@pulled_back.register
def _trees(model: TreeSum, inner: Inner, domain: Domain) -> TreeSum:
    axes: list[Axis] = []
    cells: dict[int, Cells] = {}
    for i, feature in enumerate(domain.features):
        axis, found = _pulled_back_axis(model.grid.axes, inner, inner.of_feature(i), feature)
        axes.append(axis)
        cells |= found
    mask_offset, left_mask = model.tables_on(cells)
    outer_of = np.array([*(column.feature for column in inner.columns), -1], dtype=np.int32)
    return replace(
        model,
        grid=Grid(domain, tuple(axes)),
        feature=outer_of[model.feature],  # leaves, at -1, stay so
        mask_offset=mask_offset,
        left_mask=left_mask,
    )


def _pulled_back_axis(
    axes: Sequence[Axis], inner: Inner, columns: Sequence[int], feature: Feature
) -> tuple[Axis, dict[int, Cells]]:
    """Return the axis of an outer feature, and for each of its columns the inner cell of each of the axis's cells."""
    if isinstance(feature, Categorical):
        axis = Axis.of_values(feature)
        return axis, _cells(axis, axes, inner, columns)
    axis = Axis.of(
        feature, [cut for j in columns for cut in _cuts(axes[j], inner, j, feature, alone=len(columns) == 1)]
    )
    found = _cells(axis, axes, inner, columns)
    together = np.array([found[j] for j in columns]).reshape(len(columns), axis.n_cells)
    # Steps may break where nothing changes: what no column tells apart is one cell.
    changes = (together[:, 1:] != together[:, :-1]).any(axis=0)[: len(axis.cuts)]
    axis = Axis.of(feature, [cut for cut, kept in zip(axis.cuts, changes.tolist(), strict=True) if kept])
    return axis, _cells(axis, axes, inner, columns)


def _cells(axis: Axis, axes: Sequence[Axis], inner: Inner, columns: Iterable[int]) -> dict[int, Cells]:
    """Return the inner cells that a point of each cell of an outer axis lies in."""
    points = _representatives(axis)
    return {j: axes[j].locate(inner.codes(j, axis.feature, points)) for j in columns}


def _representatives(axis: Axis) -> Floats:
    """Return the code of one point in each cell: the last float of it."""
    feature, nothing = axis.feature, [math.nan] * bool(axis.feature.missing)
    if isinstance(feature, Categorical):
        return np.array([*range(len(feature.values)), *nothing], dtype=np.float64)
    last = feature.floats[1] if isinstance(feature, Real) else float(feature.high)
    return np.array([*(cut.last_left for cut in axis.cuts), last, *nothing])


def _cuts(axis: Axis, inner: Inner, j: int, feature: Integer | Real, *, alone: bool) -> list[Cut]:
    """Return the cuts of a feature behind which column j may lie in another cell of its own axis."""
    column = inner.columns[j]
    if isinstance(column, Tabled):
        values = np.arange(int(feature.low), int(feature.high) + 1, dtype=np.float64)  # only integers are tabled
        cells = axis.locate(inner.codes(j, feature, values))
        return [Cut(float(v), closed=True) for v in values[:-1][cells[1:] != cells[:-1]]]
    if not column.steps:
        # Beside other columns a cut is taken at a float, so that no cell lies between two neighbouring floats.
        return [cut if alone else Cut(cut.last_left, closed=True) for cut in axis.cuts]
    ends = feature.floats if isinstance(feature, Real) else (float(feature.low), float(feature.high))
    return [Cut(x, closed=True) for x in met(column.steps, (c.last_left for c in axis.cuts), *ends).tolist()]
