"""scikit-learn linear models and naive Bayes.

A classifier with one score gives class 1 iff it is above zero, one with a score per class the lowest
index of the largest; that is :class:`~axfi_kc.models.Positive` and :class:`~axfi_kc.models.Argmax`.
The library adds up in floating point; the reader takes the fitted parameters for the rationals
they denote and adds exactly, so the two can differ only where a margin is within rounding of zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, CategoricalNB
from sklearn.svm import LinearSVC

from axfi_kc.compilers.readers import plain_labels, reads
from axfi_kc.compilers.readers.sklearn_trees import check_fitted, check_width
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer
from axfi_kc.domain.measures import exact, shown
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score

__all__ = ["column_values"]


_LARGEST_TABLE = 1_000_000


def _coefficients(model: Any, domain: Domain) -> Any:
    """Return a row of coefficients per score, those of ``sparsify()`` included."""
    check_fitted(model, "coef_")
    check_width(model, domain)
    found = model.coef_
    return np.atleast_2d(found.toarray() if hasattr(found, "toarray") else np.asarray(found))


@reads(LogisticRegression)
@reads(LinearSVC)
@reads(SGDClassifier)
@reads(RidgeClassifier)
@reads(Perceptron)
def _classifier(model: Any, domain: Domain) -> LinearModel:
    coefficients = _coefficients(model, domain)
    labels = plain_labels(model.classes_)
    # RidgeClassifier takes several targets at once and then has a row for each, which no rule over classes fits.
    if len(coefficients) != (1 if len(labels) == 2 else len(labels)):
        raise UnsupportedModelError(
            f"{type(model).__name__} with {len(coefficients)} scores for {len(labels)} classes was given; "
            "explain one target at a time, with a model fitted to it alone."
        )
    rule = Positive((labels[0], labels[1])) if len(labels) == 2 else Argmax(labels)
    return LinearModel.of_columns(domain, coefficients, intercepts=_intercepts(model, len(coefficients)), rule=rule)


@reads(LinearRegression)
@reads(Ridge)
@reads(Lasso)
def _regressor(model: Any, domain: Domain) -> LinearModel:
    coefficients = _coefficients(model, domain)
    if len(coefficients) != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} with {len(coefficients)} outputs was given; explain one output at a time: "
            "axfi_kc.output_of(model, k) gives the model of output k."
        )
    return LinearModel.of_columns(domain, coefficients, intercepts=_intercepts(model, 1), rule=Score())


def _intercepts(model: Any, n_scores: int) -> list[float]:
    """Return one intercept per score; a model without intercept has a single zero."""
    given = np.ravel(model.intercept_).tolist()
    return given * n_scores if len(given) == 1 else given


@reads(BernoulliNB)
def _bernoulli(model: Any, domain: Domain) -> LinearModel:
    """Read ``sum of log P(x_i | class)``, computed from the fitted logarithms as ``predict`` does."""
    check_fitted(model, "feature_log_prob_")
    check_width(model, domain)
    # In floats, operation by operation as predict does: what it rounds here are the parameters it works with, and
    # only the sums over the columns of an instance are made exact.
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    gains, base = model.feature_log_prob_ - absent, model.class_log_prior_ + absent.sum(axis=1)
    rule = Argmax(plain_labels(model.classes_))
    if model.binarize is None:
        return LinearModel.of_columns(domain, gains, intercepts=base.tolist(), rule=rule)
    parts, start = [], 0
    for feature in domain.features:
        columns = range(start, start + len(feature.columns))
        present = [column_values(feature, k) > model.binarize for k in range(len(columns))]
        rows = [_sums([(row[c], here) for c, here in zip(columns, present, strict=True)]) for row in gains]
        parts.append(Lookup(tuple(rows)))
        start += len(columns)
    return LinearModel.of(domain, parts, base=base.tolist(), rule=rule)


def _sums(terms: list[tuple[float, Any]]) -> tuple[Any, ...]:
    """Return for each value of a feature the exact sum of the gains of its columns that are present."""
    columns = [[exact(gain) * bool(flag) for flag in present] for gain, present in terms]
    return tuple(sum(entries) for entries in zip(*columns, strict=True))


@reads(CategoricalNB)
def _categorical(model: Any, domain: Domain) -> LinearModel:
    check_fitted(model, "feature_log_prob_")
    check_width(model, domain)
    parts = []
    for column, feature in enumerate(domain.features):
        if len(feature.columns) != 1:
            raise UnsupportedModelError(
                f"CategoricalNB reads one column per feature, but {feature.name!r} owns {len(feature.columns)}; "
                "give the domain the codes the model was trained on."
            )
        table = model.feature_log_prob_[column]
        codes = _category_codes(feature, table.shape[1])
        parts.append(Lookup(tuple(tuple(row[codes].tolist()) for row in table)))
    return LinearModel.of(
        domain, parts, base=model.class_log_prior_.tolist(), rule=Argmax(plain_labels(model.classes_))
    )


def _category_codes(feature: Feature, n_categories: int) -> Any:
    values = column_values(feature, 0)
    # As an index a negative code would read from the end, and a fraction would be cut off, both in silence.
    wrong = (values < 0) | (values >= n_categories) | (values != np.floor(values))
    if wrong.any():
        raise DomainError(
            f"CategoricalNB knows the categories 0 to {n_categories - 1} of feature {feature.name!r}, but its domain "
            f"holds {shown(values[wrong][0])}; narrow the domain, or fit with min_categories."
        )
    return values.astype(np.int64)


def column_values(feature: Feature, component: int) -> Any:
    """Return the number that each value of a discrete feature puts into one of its columns."""
    if isinstance(feature, Categorical):
        codes = [code[component] for code in feature.codes]
        if all(isinstance(c, bool | int | float | np.number) for c in codes):
            return np.array(codes, dtype=np.float64)
        raise UnsupportedModelError(
            f"The model compares feature {feature.name!r} with numbers, but its domain holds {codes[0]!r}; "
            "give the domain the codes the model was trained on (Categorical(..., columns=..., codes=...))."
        )
    if isinstance(feature, Integer) and feature.size <= _LARGEST_TABLE:
        return np.arange(feature.low, feature.high + 1, dtype=np.float64)
    raise UnsupportedModelError(
        f"The model treats feature {feature.name!r} value by value, but its domain is {feature.describe()}; "
        f"declare it categorical, or integer with at most {_LARGEST_TABLE} values."
    )
