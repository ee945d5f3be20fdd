"""scikit-learn's linear models and naive Bayes, read from their fitted arrays."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.verification.reading.columns import Seen, is_number
from axfi_kc.verification.reading.forms import LinearForm, Rule, class_name

__all__ = ["linear_form"]


_CLASSIFIERS = ("LogisticRegression", "LinearSVC", "SGDClassifier", "RidgeClassifier", "Perceptron")
_REGRESSORS = ("LinearRegression", "Ridge", "Lasso")
_MOST_VALUES = 20_000
Affine = tuple[Fraction, Fraction]  # a column is factor times value plus constant
Table = list[list[Fraction]]  # a row of coefficients per score


def linear_form(
    model: Any, domain: Domain, columns: tuple[Seen, ...], maps: Sequence[Affine] | None = None
) -> LinearForm | None:
    """Return a model's coefficients in the user's units; None for other models.

    Parameters
    ----------
    model
        The fitted model.
    domain
        The user's features.
    columns
        What the model sees of them.
    maps
        For columns that went through scalers, the exact affine map of each; its entries need none.
    """
    name = class_name(model)
    if name in ("BernoulliNB", "CategoricalNB"):
        return _bayes(model, domain, columns)
    if name not in (*_CLASSIFIERS, *_REGRESSORS) or not all(all(map(is_number, s.entries or ())) for s in columns):
        return None
    rows = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    table = [[Fraction(float(c)) for c in row] for row in np.atleast_2d(rows)]
    labels = _labels(model)
    if len(table) != (len(labels) if len(labels) > 2 else 1):
        return None
    given = [Fraction(float(b)) for b in np.ravel(model.intercept_).tolist()]
    base = given * len(table) if len(given) == 1 else given
    rule = Rule("itself") if not labels else Rule("above" if len(labels) == 2 else "largest", labels)
    return _assembled(domain, columns, table, base, rule, maps or [(Fraction(1), Fraction(0))] * len(columns))


def _labels(model: Any) -> tuple[Any, ...]:
    return tuple(model.classes_.tolist()) if hasattr(model, "classes_") else ()


def _assembled(
    domain: Domain, columns: tuple[Seen, ...], table: Table, base: list[Fraction], rule: Rule, maps: Sequence[Affine]
) -> LinearForm:
    """Add up, feature by feature, what its columns contribute."""
    slopes: list[Any] = [None] * len(domain)
    entries: list[Any] = [None] * len(domain)
    none = (Fraction(0),) * len(table)
    for i, feature in enumerate(domain.features):
        own = [k for k, seen in enumerate(columns) if seen.feature == i]
        listed = [k for k in own if columns[k].entries is not None]
        if listed or (not own and isinstance(feature, Categorical)):
            n = feature.size if isinstance(feature, Categorical | Integer) else 0
            entries[i] = tuple(tuple(_at(row, columns, listed, v) for row in table) for v in range(n))
            continue
        slopes[i] = none if not own else tuple(row[own[0]] * maps[own[0]][0] for row in table)
        for k in own:
            base = [b + row[k] * maps[k][1] for b, row in zip(base, table, strict=True)]
    return LinearForm(tuple(slopes), tuple(entries), tuple(base), rule)


def _at(row: list[Fraction], columns: tuple[Seen, ...], own: list[int], value: int) -> Fraction:
    return sum((row[k] * Fraction(float((columns[k].entries or ())[value])) for k in own), Fraction(0))


def _values(seen: Seen, domain: Domain) -> list[Any] | None:
    """Return what a column holds at each value of its discrete feature; None if that is too much to list."""
    feature = domain.features[seen.feature]
    if seen.entries is not None:
        return list(seen.entries)
    if isinstance(feature, Integer) and feature.size <= _MOST_VALUES:
        return list(range(feature.low, feature.high + 1))
    return None


def _bayes(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> LinearForm | None:
    """Return naive Bayes: a logarithm per class and value, computed as ``predict`` does."""
    labels, rule = _labels(model), Rule("largest", _labels(model))
    base = np.array(model.class_log_prior_)
    logs: list[Any] = []
    if class_name(model) == "BernoulliNB":
        absent = np.log(1 - np.exp(model.feature_log_prob_))
        base = base + absent.sum(axis=1)
        gains = model.feature_log_prob_ - absent
        if model.binarize is None:
            table = [[Fraction(float(g)) for g in row] for row in gains]
            whole = [Fraction(float(b)) for b in base]
            return _assembled(domain, columns, table, whole, rule, [(Fraction(1), Fraction(0))] * len(columns))
        logs = [lambda v, k=k: gains[:, k] * (v > model.binarize) for k in range(len(columns))]
    else:
        logs = [lambda v, k=k: model.feature_log_prob_[k][:, int(v)] for k in range(len(columns))]
    tables: list[list[list[Fraction]]] = [[] for _ in domain.features]
    for k, seen in enumerate(columns):
        values = _values(seen, domain)
        if values is None or not all(map(is_number, values)):
            return None
        rows = [[Fraction(float(x)) for x in logs[k](v)] for v in values]
        kept = tables[seen.feature] or [[Fraction(0)] * len(labels)] * len(rows)
        tables[seen.feature] = [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(kept, rows, strict=True)]
    entries = tuple(tuple(map(tuple, rows)) for rows in tables)
    return LinearForm((None,) * len(domain), entries, tuple(Fraction(float(b)) for b in base), rule)
