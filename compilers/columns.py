"""Columns that a model sees, as functions of the features its user knows.

A pipeline changes columns before they reach the model. Each changed column is still a function of
one feature: a chain of non-decreasing steps on a number, or one entry per value of a discrete
feature. The model is read over an *inner* domain that has the changed columns, and then pulled
back (:mod:`axfi_kc.compilers.pullbacks`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.features import Categorical, Feature, Integer, Real
from axfi_kc.measures import exact

__all__ = ["Chain", "Column", "Inner", "Step", "Tabled", "columns_of", "inner_of", "tabled", "then"]

Floats = npt.NDArray[np.float64]
_FAR = 2**1000  # beyond every threshold
_LARGEST_TABLE = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """One operation in floating point that never decreases: ``x + number`` and the like.

    Attributes
    ----------
    name
        ``"add"``, ``"subtract"``, ``"multiply"``, ``"divide"`` or ``"clip"``.
    number, other
        The operand; for clip the bounds.
    where
        The pipeline step this belongs to, for messages.
    """

    name: str
    number: float
    where: str
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
    """The domain of changed columns, and where its features come from.

    Attributes
    ----------
    domain
        One feature per feature of the outer domain that some column depends on.
    chains
        Per inner feature, the chain it is; None for a table.
    positions
        Per inner feature, the inner value of each outer value; None for a chain.
    sources
        The inner feature of each outer feature that is used.
    """

    domain: Domain
    chains: tuple[Chain | None, ...]
    positions: tuple[tuple[int, ...] | None, ...]
    sources: dict[int, int]


def inner_of(domain: Domain, columns: Sequence[Column], names: Sequence[str]) -> Inner:
    """Return the inner domain of `columns`, which are called `names`.

    Raises
    ------
    UnsupportedModelError
        If no column is left, or a feature's columns do not follow each other.
    """
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
        return Real(names[0], -_FAR, _FAR), first, None
    rows = list(zip(*(c.entries for c in columns if isinstance(c, Tabled)), strict=True))
    distinct: dict[tuple[Hashable, ...], int] = {}
    positions = tuple(distinct.setdefault(row, len(distinct)) for row in rows)
    codes: Any = list(distinct)  # a model that needs numbers says so itself
    feature = Categorical(names[0], range(len(distinct)), columns=names, codes=codes)
    return feature, None, positions
