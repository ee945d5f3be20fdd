"""Columns that a model sees, as functions of the features its user knows.

A pipeline changes columns before they reach the model. Each changed column is still a function of
one feature: a chain of non-decreasing steps on a number, or one entry per value of a discrete
feature. The model is read over an *inner* domain that has the changed columns, and then pulled
back: a linear model is composed with the exact affine maps of its columns, a tree's thresholds go
back through the *floating-point* maps. The cut in the user's feature is the largest float64 that
the library still sends left, found by bisection, so the two agree on every float64 input.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.readers.checks import UNBOUNDED
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.domain.measures import exact
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import LinearModel, Lookup, Model, Slope, TreeSum

__all__ = ["Column", "Step", "Tabled", "columns_of", "inner_of", "pulled_back", "tabled", "then"]


Floats = npt.NDArray[np.float64]
_LARGEST_TABLE = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """One operation in floating point that never decreases: ``x + number`` and the like."""

    name: str  # ``"add"``, ``"subtract"``, ``"multiply"``, ``"divide"`` or ``"clip"``
    # The operand; for clip the bounds.
    number: float
    where: str  # the pipeline step this belongs to, for messages
    other: float = 0.0

    def at(self, x: Floats) -> Floats:
        """Return the step's result in float64, as the library computes it."""
        if self.name == "clip":
            return np.clip(x, self.number, self.other)
        return getattr(np, self.name)(x, np.float64(self.number))

    @property
    def affine(self) -> tuple[Fraction, Fraction]:
        """The factor and the constant of the exact map that the step rounds."""
        number = exact(self.number, f"number in {self.where}")
        if self.name == "clip":
            raise UnsupportedModelError(
                f"{self.where} clips its values, which is not linear; set clip=False to explain a linear model."
            )
        if self.name in ("add", "subtract"):
            return Fraction(1), number if self.name == "add" else -number
        return (number if self.name == "multiply" else 1 / number), Fraction(0)


@dataclass(frozen=True, slots=True)
class Chain:
    """A number that goes through steps."""

    feature: int
    steps: tuple[Step, ...] = ()

    def at(self, x: Floats) -> Floats:
        """Return the column at values of the feature, in float64."""
        for step in self.steps:
            x = step.at(x)
        return x

    @property
    def affine(self) -> tuple[Fraction, Fraction]:
        """The factor and the constant of the exact map that the steps round."""
        factor, constant = Fraction(1), Fraction(0)
        for a, b in (step.affine for step in self.steps):
            factor, constant = a * factor, a * constant + b
        return factor, constant


@dataclass(frozen=True, slots=True)
class Tabled:
    """An entry per value of a discrete feature."""

    feature: int
    entries: tuple[Any, ...]


Column = Chain | Tabled


def columns_of(domain: Domain) -> list[Column]:
    """Return the columns of `domain` before anything has changed them."""
    found: list[Column] = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Categorical):
            found += [Tabled(i, entries) for entries in zip(*feature.codes, strict=True)]
        else:
            found.append(Chain(i))
    return found


def tabled(column: Column, domain: Domain, where: str) -> Tabled:
    """Return a column as a table, for a step that looks at each value by itself."""
    if isinstance(column, Tabled):
        return column
    feature = domain.features[column.feature]
    if isinstance(feature, Integer) and feature.size <= _LARGEST_TABLE:
        values = range(feature.low, feature.high + 1)
        if not column.steps:
            return Tabled(column.feature, tuple(values))
        return Tabled(column.feature, tuple(column.at(np.array(values, dtype=np.float64)).tolist()))
    raise UnsupportedModelError(
        f"{where} treats feature {feature.name!r} value by value, but its domain is {feature.describe()}; "
        f"declare it categorical, or integer with at most {_LARGEST_TABLE} values."
    )


def then(column: Column, *steps: Step) -> Column:
    """Return a column after further steps."""
    if isinstance(column, Chain):
        return replace(column, steps=(*column.steps, *steps))
    if any(isinstance(e, str) or not isinstance(e, bool | int | float | np.number) for e in column.entries):
        raise UnsupportedModelError(
            f"{steps[0].where} scales a column that holds {column.entries[0]!r}, which is no number; "
            "encode it first, or give the domain the codes the pipeline was fitted on."
        )
    numbers = np.array(column.entries, dtype=np.float64)
    return Tabled(column.feature, tuple(Chain(0, steps).at(numbers).tolist()))


@dataclass(frozen=True, slots=True)
class Inner:
    """The domain of changed columns, and where its features come from."""

    domain: Domain  # one feature per feature of the outer domain that some column depends on
    chains: tuple[Chain | None, ...]  # per inner feature, the chain it is; None for a table
    # Per inner feature, the inner value of each outer value; None for a chain.
    positions: tuple[tuple[int, ...] | None, ...]
    sources: dict[int, int]  # the inner feature of each outer feature that is used


def inner_of(domain: Domain, columns: Sequence[Column], names: Sequence[str]) -> Inner:
    """Return the inner domain of `columns`, which are called `names`; a feature's columns must follow each other."""
    groups: list[tuple[int, list[int]]] = []
    for k, column in enumerate(columns):
        if groups and groups[-1][0] == column.feature and isinstance(column, Tabled):
            groups[-1][1].append(k)
        else:
            groups.append((column.feature, [k]))
    order = [i for i, _ in groups]
    twice = next((i for i in order if order.count(i) > 1), None)
    if twice is not None or not groups:
        what = "no column is left" if twice is None else f"feature {domain.features[twice].name!r} is used twice"
        raise UnsupportedModelError(f"After the pipeline's transformers {what}; give each feature to one transformer.")
    made = [_feature(domain, [columns[k] for k in ks], [names[k] for k in ks]) for _, ks in groups]
    return Inner(
        Domain([feature for feature, _, _ in made]),
        tuple(chain for _, chain, _ in made),
        tuple(positions for _, _, positions in made),
        {i: j for j, i in enumerate(order)},
    )


_Made = tuple[Feature, Chain | None, tuple[int, ...] | None]


def _feature(domain: Domain, columns: Sequence[Column], names: Sequence[str]) -> _Made:
    first, outer = columns[0], domain.features[columns[0].feature]
    if isinstance(first, Chain):
        if isinstance(outer, Integer) and not first.steps:
            return Integer(names[0], outer.low, outer.high), first, None
        return Real(names[0], -UNBOUNDED, UNBOUNDED), first, None
    rows = list(zip(*(c.entries for c in columns if isinstance(c, Tabled)), strict=True))
    distinct: dict[tuple[Hashable, ...], int] = {}
    positions = tuple(distinct.setdefault(row, len(distinct)) for row in rows)
    codes: Any = list(distinct)  # a model that needs numbers says so itself
    feature = Categorical(names[0], range(len(distinct)), columns=names, codes=codes)
    return feature, None, positions


_SIGN = np.int64(2**63 - 1)


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
        j = inner.sources.get(i)
        part = _nothing(feature, len(base)) if j is None else model.parts[j]
        chain, positions = (None, None) if j is None else (inner.chains[j], inner.positions[j])
        if isinstance(part, Lookup):
            # A feature's values may be fewer, or in another order, than the column's.
            rows = [row if positions is None else [row[p] for p in positions] for row in part.rows]
            parts.append(Lookup(tuple(tuple(n * scale for n in row) for row in rows)))
            continue
        factor, constant = chain.affine if chain is not None else (Fraction(1), Fraction(0))
        # f * (factor * x + constant): the constant part goes to the base.
        base = [b + f * scale * constant for b, f in zip(base, part.factors, strict=True)]
        parts.append(Slope(tuple(f * scale * factor for f in part.factors)))
    return LinearModel.of(domain, parts, base=base, rule=model.rule)


def _nothing(feature: Feature, n_scores: int) -> Slope | Lookup:
    """Return the part of a feature that the model does not see."""
    if isinstance(feature, Categorical):
        return Lookup(((0,) * feature.size,) * n_scores)
    return Slope((0,) * n_scores)


@pulled_back.register
def _trees(model: TreeSum, inner: Inner, domain: Domain) -> TreeSum:
    outer_of = {j: i for i, j in inner.sources.items()}
    axes, cells = [], {}
    for i, feature in enumerate(domain.features):
        j = inner.sources.get(i)
        if j is None:
            axes.append(Axis.of(feature))
            continue
        axis, cells[j] = _pulled_back_axis(model.grid.axes[j], inner, j, feature)
        axes.append(axis)
    masks = [_mask(model, node, cells) for node in range(len(model.feature))]
    return replace(
        model,
        grid=Grid(domain, tuple(axes)),
        # Leaves, at -1, have no outer feature and stay so.
        feature=np.array([outer_of.get(j, -1) for j in model.feature.tolist()], dtype=np.int32),
        mask_offset=np.cumsum([0, *map(len, masks)])[:-1].astype(np.int64),
        left_mask=np.concatenate([np.zeros(0, np.uint8), *masks]),
    )


def _mask(model: TreeSum, node: int, cells: dict[int, npt.NDArray[np.int64]]) -> npt.NDArray[np.uint8]:
    """Return which outer cells go left at a node."""
    j, start = int(model.feature[node]), int(model.mask_offset[node])
    return model.left_mask[start + cells[j]] if j >= 0 else np.zeros(0, np.uint8)


def _pulled_back_axis(axis: Axis, inner: Inner, j: int, feature: Feature) -> tuple[Axis, npt.NDArray[np.int64]]:
    """Return the axis of an outer feature, and the inner cell of each of its cells."""
    positions, chain = inner.positions[j], inner.chains[j]
    if positions is not None or chain is None:
        # A table has no order to keep: every value is its own cell.
        return Axis.of_values(feature), np.array(positions, dtype=np.int64)
    cuts = _pulled_back_cuts(axis.cuts, chain, feature)
    outer = Axis.of(feature, cuts)
    left = np.array([outer.left_of(cut) for cut in cuts], dtype=np.int64)
    # The inner cell is the number of inner cuts that lie left of the outer one.
    return outer, np.searchsorted(np.sort(left), np.arange(outer.n_cells), side="right").astype(np.int64)


def _pulled_back_cuts(cuts: Sequence[Cut], chain: Chain, feature: Feature) -> list[Cut]:
    """Return for each cut of a column the cut of the feature behind it: at most 64 evaluations on all cuts at once."""
    if not chain.steps or not cuts or isinstance(feature, Categorical):
        return list(cuts)
    last = np.array([cut.last_left for cut in cuts])
    wide = 0 if isinstance(feature, Integer) else 1
    # For reals one float beyond either end: then "none" and "all of the domain" are answers too.
    low = np.full(len(cuts), _key(np.float64(feature.low)) - wide)
    high = np.full(len(cuts), _key(np.float64(feature.high)) + wide)
    # Steps of a chain never decrease, in floats too, so what goes left is a beginning of the floats, and
    # bisection over the floats finds its end.
    never = chain.at(_float(low)) > last  # not even the least value goes left
    always = chain.at(_float(high)) <= last
    while (high > low + 1).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # their difference does not fit once it spans [-2, 2]
        goes_left = chain.at(_float(middle)) <= last
        low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle)
    # Where all go left the end is the upper one, which the bisection only approaches.
    ends = _float(np.where(always, high, low)).tolist()
    # Open at the low end: nothing lies left of it.
    return [Cut(end, closed=not none) for end, none in zip(ends, never.tolist(), strict=True)]


def _key(x: Any) -> Any:
    """Return an integer for each float64, in the same order."""
    # Floats are sign and magnitude. Flipping the magnitude of negative ones makes the bits ascend with the
    # numbers, and flipping twice is the identity.
    bits = np.asarray(x, dtype=np.float64).view(np.int64)
    return bits ^ ((bits >> np.int64(63)) & _SIGN)


def _float(key: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    return (key ^ ((key >> np.int64(63)) & _SIGN)).view(np.float64)
