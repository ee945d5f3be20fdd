"""What a model library's own rounding could change about an explanation.

Explanations are about exact sums. The library adds floats, so its output can differ from the exact one where a score
lies within the library's rounding error of a tie. The error is bounded from the sizes of the summands; then the
instance is explained once with every tie moved outwards by the bound and once inwards. What both agree on no rounding
can change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.budget import Account, Budget
from axfi_kc.domain import Domain
from axfi_kc.engines import WeightedSets, engine_through
from axfi_kc.features import Categorical
from axfi_kc.measures import amount, shown
from axfi_kc.models import Argmax, LinearModel, Model, Score, Slope, TreeSum
from axfi_kc.problem import Problem
from axfi_kc.similarity import Similarity

__all__ = ["Rounding", "error_bound", "rounding_of"]

_SINGLE, _DOUBLE = 24, 53  # bits of float32 and float64
_PRODUCT = 48  # bits of a product of two float32 numbers
_LINK = 8  # units in the last place that a sigmoid, a softmax or an average may lose
_ZERO = Fraction(0)


@dataclass(frozen=True)
class Rounding:
    """A bound on what the library's floating point could change.

    Attributes
    ----------
    error
        How far the number that decides the library's output (a score, or the difference of two) can be from the
        exact one, anywhere in the domain; 0 where the library computes exactly.
    affected
        For each CXp a bound on the weight of the points in its box whose output rounding could decide.
    sets_hold
        Whether no rounding within the error can change the set of CXps.

    Examples
    --------
    >>> Rounding(Fraction(0), {("age",): Fraction(0)}, sets_hold=True).is_zero
    True
    """

    error: Fraction
    affected: dict[tuple[str, ...], Fraction]
    sets_hold: bool

    @property
    def most(self) -> Fraction:
        """The largest of the bounds."""
        return max(self.affected.values(), default=_ZERO)

    @property
    def is_zero(self) -> bool:
        """Whether rounding can change neither the CXps nor a weight."""
        return self.sets_hold and not self.most

    def __str__(self) -> str:
        """Return the bounds in words."""
        rounding = f"rounding (an error of at most {amount(self.error, digits=2)})"
        if self.is_zero:
            return f"{rounding} changes no CXp and no weight"
        sets = "changes no CXp" if self.sets_hold else "may change the CXps"
        return f"{rounding} {sets}, and a weight by at most {shown(self.most, digits=None)}"


def error_bound(model: Model) -> Fraction:
    """Return how far a score that the library computes can be from the exact one.

    Notes
    -----
    Adding n numbers in any order, each sum rounded to a relative error u, is off by at most n u / (1 - n u) times the
    sum of their absolute values. Leaves of at most 24 bits, or 48 for products, are taken to be added in float32, as
    XGBoost does; others in float64. What a library does to columns before a linear model (scaling) is not included.

    Examples
    --------
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.models import TableModel
    >>> error_bound(TableModel.from_outputs(Domain([Integer("a", 0, 1)]), [0, 1]))
    Fraction(0, 1)
    """
    if isinstance(model, TreeSum):
        return _tree_error(model)
    return _linear_error(model) if isinstance(model, LinearModel) else _ZERO


def _unit(bits: int) -> Fraction:
    return Fraction(1, 1 << bits)


def _accumulated(n: int, unit: Fraction) -> Fraction:
    return n * unit / (1 - n * unit)


def _tree_error(model: TreeSum) -> Fraction:
    bits, is_product = _precision(model.values)
    unit = _unit(bits)
    sizes, counts = _sizes(model)
    steps = (2 * n + 1 if is_product else n for n in counts)
    adding = [_accumulated(n, unit) * size for n, size in zip(steps, sizes, strict=True)]
    if _adds_exactly(model, max(sizes), bits):
        adding = [_ZERO] * len(sizes)
    if isinstance(model.rule, Score):
        return 2 * adding[0] + (0 if not adding[0] and model.rule.scale == 1 else 2 * unit * sizes[0])
    two = sum(sorted(adding)[-2:], _ZERO)  # a difference has the errors of both
    if _votes(model):
        return two
    return two + _LINK * unit * min(len(sizes), 2)


def _sizes(model: TreeSum) -> tuple[list[Fraction], list[int]]:
    """Return for each score the sum of the largest summands, base included, and how many trees add to it."""
    sizes, counts = [abs(b) for b in model.base], [0] * len(model.base)
    for first, end in zip(model.tree_offset[:-1], model.tree_offset[1:], strict=True):
        rows = model.leaf[first:end]
        for k, most in enumerate(np.abs(model.values[rows[rows >= 0]]).max(axis=0).tolist()):
            sizes[k] += Fraction(most)
            counts[k] += most != 0
    return sizes, counts


def _precision(values: Any) -> tuple[int, bool]:
    """Return the precision in which numbers like these are added, and whether they may be rounded products."""
    mantissas = np.abs(np.frexp(values[values != 0])[0])
    if all(m.is_integer() for m in (mantissas * float(1 << _SINGLE)).tolist()):
        return _SINGLE, False
    if all(m.is_integer() for m in (mantissas * float(1 << _PRODUCT)).tolist()):
        return _SINGLE, True
    return _DOUBLE, False


def _adds_exactly(model: TreeSum, size: Fraction, bits: int) -> bool:
    """Tell whether every partial sum is a float: few enough bits over one power of two."""
    if model.n_trees == 1 and not any(model.base):
        return True
    denominator = model.integers[2]
    return denominator & (denominator - 1) == 0 and size * denominator < 1 << bits


def _votes(model: TreeSum) -> bool:
    """Tell whether the scores are averaged probabilities, whose order an average keeps."""
    if not isinstance(model.rule, Argmax) or any(model.base):
        return False
    return bool((model.values >= 0).all() and np.allclose(model.values.sum(axis=1), 1))


def _linear_error(model: LinearModel) -> Fraction:
    unit, columns = _unit(_DOUBLE), sum(len(f.columns) for f in model.domain.features)
    sizes = [abs(Fraction(b, model.denominator)) for b in model.base]
    for part, feature in zip(model.parts, model.domain.features, strict=True):
        for k in range(len(sizes)):
            sizes[k] += Fraction(_largest(part, feature, k)) / model.denominator
    adding = _accumulated(2 * columns + 2, unit) * max(sizes)
    return 2 * adding + (_LINK * unit if not isinstance(model.rule, Score) else _ZERO)


def _largest(part: Any, feature: Any, score: int) -> Any:
    if isinstance(part, Slope):
        ends = () if isinstance(feature, Categorical) else (abs(feature.low), abs(feature.high))
        return abs(part.factors[score]) * max(ends, default=0)
    return max(map(abs, part.rows[score]), default=0)


def rounding_of(problem: Problem, found: WeightedSets, *, max_size: int | None, budget: Budget) -> Rounding:
    """Return what rounding could change about the CXps of a problem.

    Parameters
    ----------
    problem
        The model and the instance.
    found
        Its CXps and weights.
    max_size
        As they were found with.
    budget
        What it may cost.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Two more explanations of the instance, unless the library adds exactly.
    """
    error, names = error_bound(problem.model), problem.domain
    if not error:
        return Rounding(error, {names.names_of(m): _ZERO for m in found.masks}, sets_hold=True)
    account = Account(budget, goal="bound on rounding", advice="allow more, or limit max_size")
    near, far = (_explained(problem, found.kind, max_size, account.rest(), shift) for shift in (error, -error))
    affected = {
        names.names_of(mask): Fraction(near[mask] - far[mask])
        if mask in near and mask in far
        else _all(names, mask, found.kind)
        for mask in account.paced(found.masks)
    }
    return Rounding(error, affected, sets_hold=near.keys() == far.keys() == set(found.masks))


def _all(domain: Domain, mask: int, kind: str) -> Fraction:
    """Return what all points of a box weigh."""
    if kind != "count":
        return Fraction(1)
    sizes = (domain.features[i].size or 1 for i in range(len(domain)) if mask >> i & 1)
    return Fraction(math.prod(sizes))


def _explained(
    problem: Problem, kind: str, max_size: int | None, budget: Budget, shift: Fraction
) -> dict[int, Fraction | int]:
    """Return the CXps and weights with ties moved by `shift` towards the instance; none if its own output changes."""
    model, similarity = _moved(problem.model, problem.output, problem.similarity, shift)
    if similarity.delta is not None and similarity.delta < 0:  # nothing is sure to be similar
        return {}
    engine = engine_through("auto", model, similarity, budget)
    if engine.constant is not None:
        return {}
    explained = engine.explain(problem.codes[np.newaxis], weights=kind, max_size=max_size)
    if similarity.delta is None and explained.outputs[0] != problem.output:
        return {}
    sets = explained.sets(0)
    return sets.weights if isinstance(sets, WeightedSets) else {}


def _moved(model: Model, output: Any, similarity: Similarity, shift: Fraction) -> tuple[Any, Similarity]:
    """Return a model and a similarity for which more points (fewer, if `shift` is negative) are dissimilar."""
    if isinstance(model, TreeSum):
        rule, base, unit = model.rule, list(model.base), Fraction(1)
    elif isinstance(model, LinearModel):
        rule, base, unit = model.rule, [Fraction(b) for b in model.base], Fraction(model.denominator)
    else:
        return model, similarity
    if isinstance(rule, Score):
        return model, Similarity((similarity.delta or _ZERO) - shift * abs(rule.scale))
    step = math.ceil(abs(shift) * unit) if isinstance(model, LinearModel) else abs(shift)
    own = rule.labels.index(output)
    towards = -1 if shift > 0 else 1  # a lower own score makes more points dissimilar
    if isinstance(rule, Argmax):
        base[own] += towards * step
    else:
        base[0] += towards * step * (1 if own == 1 else -1)
    if isinstance(model, LinearModel):
        return replace(model, base=tuple(int(b) for b in base)), similarity
    return replace(model, base=tuple(base)), similarity
