"""Models of changed columns as models of the features that were changed.

A linear model is composed with the exact affine maps of its columns. A tree's thresholds are pulled
back through the *floating-point* maps: the cut in the user's feature is the largest float64 that
the library still sends left, found by bisection, so the two agree on every float64 input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.columns import Chain, Inner
from axfi_kc.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.features import Categorical, Feature, Integer
from axfi_kc.grid import Axis, Cut, Grid
from axfi_kc.models import LinearModel, Lookup, Model, Slope, TreeSum

__all__ = ["pulled_back", "pulled_back_cuts"]

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
    cuts = pulled_back_cuts(axis.cuts, chain, feature)
    outer = Axis.of(feature, cuts)
    left = np.array([outer.left_of(cut) for cut in cuts], dtype=np.int64)
    # The inner cell is the number of inner cuts that lie left of the outer one.
    return outer, np.searchsorted(np.sort(left), np.arange(outer.n_cells), side="right").astype(np.int64)


def pulled_back_cuts(cuts: Sequence[Cut], chain: Chain, feature: Feature) -> list[Cut]:
    """Return for each cut of a column the cut of the feature behind it.

    Notes
    -----
    At most 64 evaluations of the chain, each on all cuts at once.
    """
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
