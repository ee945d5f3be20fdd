"""Exact SHAP scores of a model's own scores: margins of ensembles, outputs of regressions.

A score of a sum of trees is a sum over leaves, and a leaf is a product of literals on different
features; SHAP scores add up, so no circuit is needed, however many trees there are. A score of a
linear model is a sum over features already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, singledispatch
from math import isnan, lcm, prod
from typing import Any

from axfi_kc.arguments import quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.compilers import read_model
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import Histogram, Weights
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, Boxes, LinearModel, Model, Positive, Score, Slope, TreeSum
from axfi_kc.scores.shap.circuits import integral_weights, products_of_others

__all__ = ["margin_shap_scores", "score_meant", "tree_leaves"]


def margin_shap_scores(
    model: Any, domain: Domain, X: Any, *, output: Any = None, budget: Budget | None = None
) -> list[dict[str, Fraction]]:
    """Return the SHAP scores of one of the model's scores at each row of a table, exactly.

    The scores are the Shapley values of ``S -> E[score(x) | x_S = v_S]`` under the domain's product
    measure. What is explained is the number before classes are decided: the margin of a boosted
    ensemble or of a logistic regression, the mean probability of a forest, or the output of a
    regression. For the decided class see :func:`axfi_kc.scores.shap.circuits.shap_scores`.

    Parameters
    ----------
    model
        A trained model or a neutral form; a table only if its outputs are numbers.
    domain
        The space, with its measure.
    X
        Instances, a row each.
    output
        The class whose score is explained. Two classes that share one score are told apart by its sign, and the
        second, for which it is positive, is the default; a regression has no classes, and takes none.
    budget
        What all rows together may cost, in seconds and bytes.

    Raises
    ------
    UnsupportedModelError, DomainError, BudgetError

    Notes
    -----
    Leaves times the square of the depth, per row.

    Examples
    --------
    >>> domain = Domain([Integer("a", 0, 4), Integer("b", 0, 1)])
    >>> model = LinearModel.of_columns(domain, [[3, -2]], intercepts=[1], rule=Positive((0, 1)))
    >>> margin_shap_scores(model, domain, [(4, 0)])
    [{'a': Fraction(6, 1), 'b': Fraction(1, 1)}]
    >>> margin_shap_scores(model, domain, [(4, 0)], output=0)
    [{'a': Fraction(-6, 1), 'b': Fraction(-1, 1)}]
    """
    if domain.constraints:
        raise DomainError(
            "SHAP scores of margins are those of independent features, but the domain has constraints; compile the "
            "decided class and use shap_scores, or take domain.unconstrained."
        )
    if domain.distribution is not None:
        raise DomainError(
            "SHAP scores of margins are those of independent features, but the domain has a joint distribution; give "
            "domain.with_distribution(None)."
        )
    form = read_model(model, domain)
    codes = domain.encode(X)
    account = Account(budget, goal="SHAP scores", advice="allow more, or give fewer rows")
    position, sign = score_meant(form, output)
    found = _scores(form, codes, position, account)
    return [dict(zip(domain.names, [sign * score for score in row], strict=True)) for row in found]


def score_meant(model: Model, output: Any) -> tuple[int, int]:
    """Return which of the model's scores is meant, and whether it is taken as it is (1) or negated (-1)."""
    rule = getattr(model, "rule", None)
    if not isinstance(rule, Argmax | Positive):
        if output is not None:
            raise DomainError(
                f"A model whose output is a number has one score, but output={quoted(output)} was given; leave it out."
            )
        return 0, 1
    if isinstance(rule, Positive) and output is None:
        return 0, 1
    if output not in rule.labels:
        labels = ", ".join(map(repr, rule.labels))
        raise DomainError(
            f"output must be the class whose score is meant, one of {labels}, but {quoted(output)} was given."
        )
    position = rule.labels.index(output)
    return (position, 1) if isinstance(rule, Argmax) else (0, 1 if position else -1)


@singledispatch
def _scores(model: Any, codes: Any, position: int, account: Account) -> list[list[Fraction]]:
    raise UnsupportedModelError(
        f"SHAP scores of margins are for sums of trees and linear models, but a {type(model).__name__} was given; "
        "compile it and use shap_scores."
    )


@dataclass(frozen=True, slots=True)
class _Term:
    """A value on a box: literals on different features."""

    value: Fraction
    features: tuple[int, ...]
    cells: tuple[frozenset[int], ...]
    shares: tuple[int, ...]
    denominators: tuple[int, ...]


@_scores.register
def _of_trees(model: TreeSum, codes: Any, position: int, account: Account) -> list[list[Fraction]]:
    scale = model.rule.scale if isinstance(model.rule, Score) else Fraction(1)
    scale = scale / model.n_trees if model.is_average else scale
    # Bases are constants, and a constant has no SHAP score.
    values, leaves = model.values[:, position], account.paced(tree_leaves(model))
    terms = [_term(model.grid, scale * Fraction(float(values[leaf])), literals) for leaf, literals in leaves]
    return [_sum_of_terms(terms, cells, account) for cells in model.grid.locate(codes).tolist()]


@_scores.register
def _of_boxes(model: Boxes, codes: Any, position: int, account: Account) -> list[list[Fraction]]:
    outputs: tuple[Any, ...] = model.outputs
    terms = [
        _term(model.grid, Fraction(outputs[k]), dict(model.literals(b)))
        for b, k in enumerate(account.paced(model.output.tolist()))
    ]
    return [_sum_of_terms(terms, cells, account) for cells in model.grid.locate(codes).tolist()]


@_scores.register
def _of_linear(model: LinearModel, codes: Any, position: int, account: Account) -> list[list[Fraction]]:
    rule = model.rule
    scale = (rule.scale if isinstance(rule, Score) else Fraction(1)) / model.denominator
    columns = []
    for i, (feature, part) in enumerate(zip(model.domain.features, model.parts, strict=True)):
        given = account.paced(codes[:, i].tolist())
        if isinstance(part, Slope):
            factor, absent = part.factors[position], part.missing[position] if part.missing else 0
            mean = (1 - feature.missing) * factor * _mean(feature) + feature.missing * absent
            added = [absent if isnan(x) else factor * Fraction(x) for x in given]
        else:
            row = part.rows[position]
            mean = sum((p * y for p, y in zip(_shares(feature), row, strict=True)), Fraction(0))
            added = [row[-1 if isnan(x) else int(x) - part.first] for x in given]
        # A linear score needs no coalitions: a feature's part, less its mean, is its score whatever is known.
        columns.append([scale * (y - mean) for y in added])
    return [list(row) for row in zip(*columns, strict=True)]


def tree_leaves(model: TreeSum) -> Iterator[tuple[int, dict[int, list[int]]]]:
    """Iterate over the leaves of all trees that some point reaches, with the cells that lead there."""
    stack: list[tuple[int, dict[int, list[int]]]] = [(int(root), {}) for root in model.tree_offset[:-1]]
    while stack:
        node, literals = stack.pop()
        i = int(model.feature[node])
        if i < 0:
            yield int(model.leaf[node]), literals
            continue
        start, n = int(model.mask_offset[node]), model.grid.n_cells[i]
        goes_left = model.left_mask[start : start + n].tolist()
        here = literals.get(i, range(n))
        for child, side in ((int(model.left[node]), 1), (int(model.right[node]), 0)):
            # A path that no point takes would be a term of measure 0 and, worse, one without cells.
            kept = [c for c in here if goes_left[c] == side]
            if kept:
                stack.append((child, {**literals, i: kept}))


def _term(grid: Grid, value: Fraction, literals: dict[int, list[int]]) -> _Term:
    # A test that leaves all cells open does not depend on the feature.
    features = tuple(i for i, cells in literals.items() if len(cells) < grid.n_cells[i])
    axes = [grid.axes[i] for i in features]
    return _Term(
        value,
        features,
        tuple(frozenset(literals[i]) for i in features),
        tuple(sum(axis.numerators[c] for c in literals[i]) for i, axis in zip(features, axes, strict=True)),
        tuple(axis.denominator for axis in axes),
    )


def _sum_of_terms(terms: Sequence[_Term], cells: Sequence[int], account: Account) -> list[Fraction]:
    found = [Fraction(0)] * len(cells)
    for term in account.paced(terms):
        for i, score in zip(term.features, _term_scores(term, cells), strict=True):
            found[i] += score
    return found


def _term_scores(term: _Term, cells: Sequence[int]) -> list[Fraction]:
    """Return the SHAP scores of a product of literals: the integral of its change in each, as on circuits."""
    n = len(term.features)
    steps = max(n - 1, 1)
    # Either the instance takes the literal, with certainty, or it never does.
    kept = [d * (cells[i] in c) for i, c, d in zip(term.features, term.cells, term.denominators, strict=True)]
    weights, common = _integer_weights(max(n, 1))
    totals = [0] * n
    for step, weight in enumerate(weights):
        factors = [(steps - step) * s + step * k for s, k in zip(term.shares, kept, strict=True)]
        totals = [t + weight * rest for t, rest in zip(totals, products_of_others(factors), strict=True)]
    # Each of the other n - 1 factors is over its steps times denominator; the feature's own change is over
    # its denominator only.
    whole = common * prod(term.denominators) * steps ** max(n - 1, 0) * term.value.denominator
    pairs = zip(totals, kept, term.shares, strict=True)
    return [Fraction(term.value.numerator * total * (k - s), whole) for total, k, s in pairs]


@cache
def _integer_weights(points: int) -> tuple[list[int], int]:
    """Return the weights of the quadrature as integers over a common denominator."""
    weights = integral_weights(points)
    common = lcm(*(w.denominator for w in weights))
    return [w.numerator * (common // w.denominator) for w in weights], common


def _shares(feature: Feature) -> tuple[Fraction, ...]:
    """Return the probabilities of the values of a discrete feature, last that of the missing one if there is one."""
    if not isinstance(feature, Categorical | Integer):
        raise UnsupportedModelError(f"Feature {feature.name!r} is real and has no table of values; give it a factor.")
    measure, n = feature.measure, feature.size - bool(feature.missing)
    shares = measure.shares if isinstance(measure, Weights) else (Fraction(1, n),) * n
    return (*(s * (1 - feature.missing) for s in shares), feature.missing) if feature.missing else shares


def _mean(feature: Feature) -> Fraction:
    """Return the mean of a numeric feature under its measure, given that it is not missing."""
    if isinstance(feature, Categorical):
        raise UnsupportedModelError(f"Feature {feature.name!r} has no order and no mean; give it a table of values.")
    measure = feature.measure
    if isinstance(measure, Histogram):
        edges = measure.edges
        return sum((p * (edges[k] + edges[k + 1]) / 2 for k, p in enumerate(measure.shares)), Fraction(0))
    if isinstance(measure, Weights):
        return sum((p * (feature.low + k) for k, p in enumerate(measure.shares)), Fraction(0))
    return Fraction(feature.low + feature.high) / 2
