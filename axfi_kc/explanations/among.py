"""Explanations among the rows of a data set, for any model that predicts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.arguments import checked, is_hashable, quoted
from axfi_kc.budget import Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real, is_missing
from axfi_kc.domain.from_tables import as_table, one_row
from axfi_kc.domain.measures import Number, exact, shown
from axfi_kc.engines import check_weights, engine_for
from axfi_kc.errors import ArgumentError, DomainError, SimilarityError
from axfi_kc.explanations.answers import check_other_class
from axfi_kc.explanations.cxps import size_limit
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import Similarity
from axfi_kc.models.samples import Samples

__all__ = ["explain_among"]


_NUMBERS = (float, np.floating, Fraction, Decimal)


@checked("weights", "domain", "budget", "toward")
def explain_among(
    rows: Any,
    outputs: Any,
    x: Any,
    *,
    output: Any = None,
    delta: Number | None = None,
    weights: str = "ratio",
    max_size: int | None = None,
    domain: Domain | None = None,
    budget: Budget | None = None,
    toward: Hashable | None = None,
) -> Explanation:
    """Explain an instance among the rows of a data set: they are all the points there are.

    A set of features is a weak CXp if some row differs from the instance in these features only and has an output that
    is not similar; the CXps are the minimal ones. No model is needed, only what one predicts, so it may be any.

    Sparse data give sparse answers: what no row shows does not exist here. With few rows for many features most rows
    differ from the instance in most features, CXps are large, and the absence of a small one says that it was not
    seen, not that it cannot be.

    Parameters
    ----------
    rows
        A DataFrame, or an array with a row per point.
    outputs
        What the model predicts for each row. A Series beside a DataFrame must have the index of that.
    x
        The instance: an array, a Series or a dict.
    output
        The model's output there; it can be left out if `x` is one of the rows.
    delta
        For regression: outputs at most this far apart count as similar. It can be left out where all outputs are
        labels, which numbers are only if they are whole.
    weights
        What a CXp weighs: ``"ratio"``, the share of dissimilar rows among those that differ from `x` in its features
        only; ``"count"``, how many dissimilar rows these are; ``"unit"``, 1.
    max_size
        Only CXps of at most so many features.
    domain
        The features; by default those of :meth:`Domain.from_data`.
    budget
        What it may cost, in seconds and bytes.
    toward
        "Why not this class?": only rows with this output count as changed.

    Raises
    ------
    DomainError
        If `x` is none of the rows and no `output` is given, a row equal to `x` has another output, or outputs have
        another index than rows.
    SimilarityError
        If outputs are numbers that are not whole and there is no `delta`.
    WeightError, BudgetError

    Notes
    -----
    Rows times features, and for at most 22 features 2 to their number; no model is asked, and nothing is drawn.

    Examples
    --------
    >>> rows = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]]
    >>> e = explain_among(rows, ["no", "no", "yes", "yes", "yes"], [0, 0, 0])
    >>> [(c.features, c.weight) for c in e.cxps]
    [(('x0', 'x1'), Fraction(1, 2)), (('x1', 'x2'), Fraction(1, 3))]
    >>> e.counterfactual(["x0", "x1"]).point
    {'x0': 1, 'x1': 1, 'x2': 0}
    """
    check_weights(weights)
    max_size = size_limit(max_size)
    space = _widened(Domain.from_data(rows), x) if domain is None else domain
    _check_aligned(rows, outputs)
    samples, codes = Samples.of(space, rows, outputs), space.encode_point(x)
    if delta is None and toward is None:
        _check_labels(samples.outputs)
    similarity = Similarity.of(samples, delta, toward=toward)
    if output is not None:
        if not is_hashable(output) or is_missing(output):
            raise ArgumentError(f"output= takes what a model may answer, but {quoted(output)} was given; give a label.")
        known = next((y for y in samples.outputs if y == output), output)
        samples = replace(samples, told=(codes, known if similarity.delta is None else exact(output, "output")))
    problem = Problem(samples, codes, samples.outputs_at(codes[np.newaxis])[0], similarity)
    check_other_class([problem.output], similarity)
    engine = engine_for(samples, similarity)
    located = codes[np.newaxis], [problem.output]  # known already: to look for it is a way through all rows
    found = engine.explain(codes[np.newaxis], weights=weights, max_size=max_size, budget=budget, located=located)
    return Explanation(problem, max_size, found[0], budget or Budget())


def _check_aligned(rows: Any, outputs: Any) -> None:
    """Raise if rows and outputs have indexes of pandas that do not say which output is of which row."""
    if not all(hasattr(type(given), "iloc") for given in (rows, outputs)):
        return
    if len(rows) != len(outputs) or rows.index.equals(outputs.index):  # too few or many outputs are refused as such
        return
    pairs = enumerate(zip(rows.index, outputs.index, strict=True))
    k, labels = next(((k, pair) for k, pair in pairs if pair[0] != pair[1]), (0, (rows.index[0], outputs.index[0])))
    raise DomainError(
        f"Rows and outputs should have the same index, but at position {k} it is {shown(labels[0], quoted=True)} for "
        f"the rows and {shown(labels[1], quoted=True)} for the outputs; give outputs.loc[rows.index], or "
        "outputs.to_numpy() to go by position."
    )


def _check_labels(outputs: Sequence[Any]) -> None:
    """Raise if outputs are numbers of a regression: some are not whole."""
    number = next((y for y in outputs if isinstance(y, _NUMBERS) and not _is_whole(y)), None)
    if number is not None:
        raise SimilarityError(
            f"Outputs such as {shown(number)} are those of a regression, which needs delta, the largest difference in "
            "output that counts as similar, but none was given; pass delta=..., or labels as whole numbers or text."
        )


def _is_whole(number: Any) -> bool:
    try:
        return Fraction(number if isinstance(number, Fraction | Decimal) else float(number)).denominator == 1
    except (ValueError, OverflowError):  # NaN, or infinite
        return False


def _widened(domain: Domain, x: Any) -> Domain:
    """Return a domain that has the values of an instance as well, which need not be among those of the rows."""
    table = as_table(one_row(x, domain.features), domain.features)
    values = [table.column(name)[0] for name in domain.names]
    return Domain(_with_value(f, v) for f, v in zip(domain.features, values, strict=True))


def _with_value(feature: Feature, value: Any) -> Feature:
    plain = value.item() if isinstance(value, np.generic) else value
    name, missing = feature.name, feature.missing
    if is_missing(plain):
        return feature  # which says by itself whether a value may be missing
    if isinstance(feature, Categorical):
        known = plain in feature.values
        return feature if known else Categorical(name, (*feature.values, plain), missing=missing)
    number = exact(plain, f"value of {name!r}")
    low, high = min(feature.low, number), max(feature.high, number)
    if (low, high) == (feature.low, feature.high):
        return feature
    if isinstance(feature, Integer) and number.denominator == 1:
        return Integer(name, int(low), int(high), missing=missing)
    return Real(name, low, high, missing=missing)
