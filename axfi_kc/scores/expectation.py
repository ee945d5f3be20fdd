"""What a model's score is on average over the points of a circuit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in
from axfi_kc.circuits.queries.marginals import Worths, integer_worths
from axfi_kc.compilers import read_model
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import CircuitError, UnsupportedModelError
from axfi_kc.models import Boxes, LinearModel, Score, Slope, TreeSum
from axfi_kc.scores.shap.margins import score_meant, tree_leaves

__all__ = ["expectation"]


@checked("worths", "budget")
def expectation(
    model: Any, circuit: Form, worths: Worths = None, *, output: Any = None, budget: Budget | None = None
) -> Fraction:
    """Return the mean of a model's score over the points of a circuit, exactly.

    What is averaged is the number before classes are decided: the margin of a boosted ensemble or of a logistic
    regression, the mean probability of a forest, the output of a regression. The probability of a decided class is that
    of the conjunction of two circuits.

    Parameters
    ----------
    model
        A trained model or a neutral form over the circuit's domain: a sum of trees, or linear; a single tree whose
        outputs are numbers.
    circuit
        Deterministic and decomposable, on cells at least as fine as the model's tests: ``Grid.of_values`` is; for a
        linear model each cell must be one value.
    worths
        What points are worth; as in :func:`~axfi_kc.circuits.queries.marginals`.
    output
        The class whose score is meant; see :func:`~axfi_kc.scores.shap.margins.margin_shap_scores`.
    budget
        What it may cost.

    Raises
    ------
    CircuitError
        If no point has a worth, or the cells are too coarse.
    UnsupportedModelError, DomainError
        If the model has no such score.

    Notes
    -----
    A mean is linear: two passes for a linear model, and a pass for each distinct leaf of a sum of trees.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.models import Positive
    >>> domain = Domain([Integer("a", 0, 4), Integer("b", 0, 1)])
    >>> model = LinearModel.of_columns(domain, [[3, -2]], intercepts=[1], rule=Positive((0, 1)))
    >>> build = CircuitBuilder(Grid.of_values(domain))
    >>> expectation(model, build.circuit(build.literal(0, [3, 4])))
    Fraction(21, 2)
    """
    circuit = circuit_in(circuit)
    form = read_model(model, circuit.grid.domain)
    position, sign = score_meant(form, output)
    account = Account(budget, goal="expectation", advice="allow more")
    return sign * _mean(form, circuit, worths, position, account)


@singledispatch
def _mean(model: Any, circuit: Circuit, worths: Worths, position: int, account: Account) -> Fraction:
    raise UnsupportedModelError(
        f"Expectations are of the scores of trees and linear models, but a {type(model).__name__} was given; compile "
        "it and ask for the probability of an output instead."
    )


@_mean.register
def _of_trees(model: TreeSum, circuit: Circuit, worths: Worths, position: int, account: Account) -> Fraction:
    scale = model.rule.scale if isinstance(model.rule, Score) else Fraction(1)
    scale = scale / model.n_trees if model.is_average else scale
    values = model.values[:, position]
    terms = ((Fraction(float(values[leaf])), box) for leaf, box in tree_leaves(model))
    return scale * (model.base[position] + _of_terms(terms, model.grid, circuit, worths, account))


@_mean.register
def _of_boxes(model: Boxes, circuit: Circuit, worths: Worths, position: int, account: Account) -> Fraction:
    outputs: tuple[Any, ...] = model.outputs
    if model.is_regression is not True:
        raise UnsupportedModelError("The outputs of this tree are classes and have no mean; ask for their probability.")
    terms = ((Fraction(outputs[k]), dict(model.literals(b))) for b, k in enumerate(model.output.tolist()))
    return _of_terms(terms, model.grid, circuit, worths, account)


@_mean.register
def _of_linear(model: LinearModel, circuit: Circuit, worths: Worths, position: int, account: Account) -> Fraction:
    rule = model.rule
    scale = (rule.scale if isinstance(rule, Score) else Fraction(1)) / model.denominator
    found = Fraction(model.base[position])
    chances = queries.marginals(circuit, worths, budget=account.rest())
    for axis, part, row in zip(circuit.grid.axes, model.parts, chances, strict=True):
        for cell, chance in enumerate(row):
            code = None if cell == axis.missing_cell else _code(axis, cell)
            if isinstance(part, Slope):
                added = (
                    (part.missing or (0,) * (position + 1))[position] if code is None else part.factors[position] * code
                )
            else:
                added = part.rows[position][-1 if code is None else code - part.first]
            found += chance * added
    return scale * found


def _code(axis: Axis, cell: int) -> int:
    """Return the one value of a cell, as linear models take it."""
    feature = axis.feature
    if isinstance(feature, Categorical):
        return cell
    if not isinstance(feature, Integer) or axis.counts is None or axis.counts[cell] != 1:
        raise CircuitError(
            f"A linear model is averaged over cells of one value, but those of feature {feature.name!r} have several; "
            "build the circuit over Grid.of_values."
        )
    return feature.low + sum(axis.counts[:cell])


def _of_terms(
    terms: Iterator[tuple[Fraction, Mapping[int, Sequence[int]]]],
    grid: Grid,
    circuit: Circuit,
    worths: Worths,
    account: Account,
) -> Fraction:
    """Return the mean of a sum of numbers on boxes of the model's cells."""
    within = [_cells_within(a, b) for a, b in zip(grid.axes, circuit.grid.axes, strict=True)]
    rows, _ = integer_worths(circuit, worths)
    home = dict(circuit.grid.fixed)
    by_box: dict[tuple[tuple[int, tuple[int, ...]], ...], Fraction] = {}
    for value, box in terms:
        key = tuple(sorted((i, tuple(cells)) for i, cells in box.items() if len(cells) < grid.n_cells[i]))
        by_box[key] = by_box.get(key, Fraction(0)) + value
    whole = queries.weighted_count(circuit, rows, budget=account.rest())
    if not whole:
        raise CircuitError(
            "A mean is over points with a positive worth, but no such point satisfies the circuit; take other worths."
        )
    found = Fraction(0)
    for key, value in account.paced(by_box.items(), at_once=1):
        here = list(rows)
        for i, cells in key:
            inside = {c for k in cells for c in within[i][k]}
            # What was set is no part of a weighted count: it is in the box, or the box is empty.
            if i in home and home[i] not in inside:
                value = Fraction(0)
            here[i] = [w if c in inside else 0 for c, w in enumerate(rows[i])]
        found += value * queries.weighted_count(circuit, here, budget=account.rest()) if value else 0
    return found / whole


def _cells_within(coarse: Axis, fine: Axis) -> list[list[int]]:
    """Return for each of the model's cells those of the circuit in it, which none may cross."""
    if isinstance(coarse.feature, Categorical):
        return [[k] for k in range(coarse.n_cells)]
    if not set(coarse.cuts) <= set(fine.cuts):
        raise CircuitError(
            f"The model's tests must not cut the circuit's cells, but they do for feature {fine.feature.name!r}; build "
            "the circuit over Grid.of_values, or over the model's own grid."
        )
    place = {cut: k for k, cut in enumerate(fine.cuts)}
    ends = [0, *(place[cut] + 1 for cut in coarse.cuts), len(fine.cuts) + 1]
    found = [list(range(a, b)) for a, b in pairwise(ends)]
    return found if fine.missing_cell is None else [*found, [fine.missing_cell]]
