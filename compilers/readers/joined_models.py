"""Several models over one domain as one: trees beside trees, linear scores beside linear scores.

Committees are read member by member, each onto cells of its own. Here their trees are put onto cells that are
fine enough for all of them, and linear scores are added up in rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope, TreeSum
from axfi_kc.models.left_tables import left_tables

__all__ = ["Term", "joined_linear", "joined_trees", "one_score"]


Floats = npt.NDArray[np.float64]
Rule = Argmax | Positive | Score
Term = tuple[LinearModel, int, Fraction]
"""One score of a linear model, and what it is multiplied by."""


def joined_trees(
    members: Sequence[tuple[TreeSum, Floats]], *, rule: Rule, base: Sequence[Fraction] | None = None
) -> TreeSum:
    """Return the trees of all members as one sum.

    Parameters
    ----------
    members
        Each member, and the vectors that its leaves have in the sum, a row per leaf.
    rule
        From scores to output.
    base
        The scores before any tree; those of the members are not looked at.

    Notes
    -----
    Linear in the number of nodes times the cells of a feature.
    """
    models, domain = [model for model, _ in members], members[0][0].domain
    axes = tuple(
        Axis.of(feature, {cut for model in models for cut in model.grid.axes[i].cuts})
        for i, feature in enumerate(domain.features)
    )
    mask_offset, left_mask = _tables(models, axes)
    nodes = np.cumsum([0, *(len(model.feature) for model in models)])
    leaves = np.cumsum([0, *(len(model.values) for model in models)])
    values = np.concatenate([np.asarray(vectors, dtype=np.float64) for _, vectors in members])
    return TreeSum(
        grid=Grid(domain, axes),
        tree_offset=np.concatenate([[0], *(m.tree_offset[1:] + n for m, n in zip(models, nodes, strict=False))]),
        feature=np.concatenate([model.feature for model in models]),
        left=_shifted([model.left for model in models], nodes),
        right=_shifted([model.right for model in models], nodes),
        mask_offset=mask_offset,
        left_mask=left_mask,
        leaf=_shifted([model.leaf for model in models], leaves),
        values=values,
        base=tuple(base) if base is not None else (Fraction(0),) * values.shape[1],
        rule=rule,
    )


def _shifted(numbers: Sequence[npt.NDArray[np.int32]], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return numbers of nodes or leaves counted through all members; -1 stays."""
    pairs = zip(numbers, offsets.tolist(), strict=False)
    return np.concatenate([np.where(n < 0, -1, n + start) for n, start in pairs]).astype(np.int32)


def _tables(models: Sequence[TreeSum], axes: Sequence[Axis]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return which of the finer cells go left at each node of all models, as :func:`left_tables` does."""
    cells = [[_coarse(axis, fine) for axis, fine in zip(m.grid.axes, axes, strict=True)] for m in models]
    tests = (
        None if i < 0 else (k, i, start)
        for k, model in enumerate(models)
        for i, start in zip(model.feature.tolist(), model.mask_offset.tolist(), strict=True)
    )
    return left_tables(tests, lambda test: models[test[0]].left_mask[test[2] + cells[test[0]][test[1]]])


def _coarse(axis: Axis, fine: Axis) -> npt.NDArray[np.int64]:
    """Return for each cell of a finer axis the cell of `axis` that it lies in."""
    if isinstance(axis.feature, Categorical):
        return np.arange(fine.n_cells)
    place = {cut: k for k, cut in enumerate(fine.cuts)}
    ends = np.array([place[cut] for cut in axis.cuts], dtype=np.int64)
    found = np.searchsorted(ends, np.arange(len(fine.cuts) + 1), side="left")
    # What comes after the ordinary cells, the missing ones, comes last on both.
    return np.concatenate([found, np.arange(len(axis.cuts) + 1, axis.n_cells)])


def joined_linear(domain: Domain, scores: Sequence[Sequence[Term]], *, rule: Rule, base: Sequence[Any]) -> LinearModel:
    """Return the linear model each of whose scores is the sum of `base` and the given terms."""
    constants = [
        Fraction(b) + sum((f * Fraction(m.base[k], m.denominator) for m, k, f in terms), Fraction(0))
        for b, terms in zip(base, scores, strict=True)
    ]
    parts = [_part(domain, i, scores) for i in range(len(domain))]
    return LinearModel.of(domain, parts, base=constants, rule=rule)


def _part(domain: Domain, i: int, scores: Sequence[Sequence[Term]]) -> Slope | Lookup:
    used = [model.parts[i] for terms in scores for model, _, _ in terms]
    if not all(isinstance(part, Slope) for part in used):
        return Lookup(tuple(_row(i, terms) for terms in scores))
    first: Any = used[0]
    # A slope also says what it adds where the value is missing, if it may be.
    kinds = ["factors"] if getattr(first, "missing", None) is None else ["factors", "missing"]
    added = {kind: tuple(_added(i, terms, kind) for terms in scores) for kind in kinds}
    return replace(first, **added)


def _added(i: int, terms: Sequence[Term], kind: str) -> Fraction:
    """Return the sum of the factors of feature i, or of what it adds where it is missing."""
    found = (Fraction(getattr(model.parts[i], kind)[k], model.denominator) * factor for model, k, factor in terms)
    return sum(found, Fraction(0))


def _row(i: int, terms: Sequence[Term]) -> tuple[Fraction, ...]:
    columns = [[Fraction(gain, m.denominator) * f for gain in m.gains(i, k)] for m, k, f in terms]
    return tuple(sum(column, Fraction(0)) for column in zip(*columns, strict=True))


def one_score(
    form: TreeSum | LinearModel, score: int, *, sign: int, constant: Fraction, rule: Positive
) -> TreeSum | LinearModel:
    """Return the classifier that asks whether ``constant + sign * score`` is above zero."""
    if isinstance(form, LinearModel):
        return joined_linear(form.domain, [[(form, score, Fraction(sign))]], rule=rule, base=[constant])
    base = [constant + sign * form.base[score]]
    return joined_trees([(form, sign * form.values[:, [score]])], rule=rule, base=base)
