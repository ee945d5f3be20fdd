"""Linear models of scikit-learn: read exactly, and refused where they cannot be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
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

from axfi_kc import Categorical, Domain, Explainer, Integer, Real, read_model
from axfi_kc.errors import DomainError, SimilarityError, UnfittedModelError, UnsupportedModelError
from tests.support.probes import random_points

CLASSIFIERS = [
    LogisticRegression(max_iter=5000),
    LogisticRegression(max_iter=5000, fit_intercept=False),
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer", max_iter=100_000),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    Perceptron(),
]


REGRESSORS = [LinearRegression(), Ridge(), Lasso(alpha=0.1), LinearRegression(fit_intercept=False)]


def sure(margins: np.ndarray, scale: float) -> np.ndarray:
    """Tell where a decision is not within rounding: the largest score far from the next."""
    if margins.ndim == 1:
        return np.abs(margins) > 1e-9 * scale
    ordered = np.sort(margins, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 1e-9 * scale


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: repr(e)[:40])
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "three classes"])
def test_classifiers_predict_like_scikit_learn(estimator: Any, binary: bool) -> None:
    X, y = load_iris(return_X_y=True)
    if binary:
        X, y = X[y > 0], y[y > 0]
    labels = np.array(["low", "middle", "high"])[y]
    model = estimator.fit((X - X.mean(0)) / X.std(0), labels)
    domain = Domain.from_data((X - X.mean(0)) / X.std(0))
    rows = random_points(domain, 400, 1)
    margins = model.decision_function(np.array(rows))
    kept = sure(margins, 1.0)
    assert kept.mean() > 0.99
    assert np.array(read_model(model, domain).predict(rows))[kept].tolist() == model.predict(rows)[kept].tolist()


@pytest.mark.parametrize("estimator", REGRESSORS, ids=repr)
def test_regressors_predict_like_scikit_learn(estimator: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = estimator.fit(X, y)
    domain = Domain.from_data(X)
    rows = random_points(domain, 200, 2)
    found = read_model(model, domain).predict(rows)
    assert all(isinstance(output, Fraction) for output in found)
    np.testing.assert_allclose(np.array(found, dtype=float), model.predict(rows), rtol=1e-10)


def test_outputs_are_the_exact_sums_of_the_rationals_the_floats_denote() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    domain = Domain.from_data(X)
    row = X[17]
    wanted = Fraction(float(model.intercept_)) + sum(
        Fraction(float(a)) * Fraction(float(b)) for a, b in zip(model.coef_, row, strict=True)
    )
    assert read_model(model, domain).predict([row])[0] == wanted


@pytest.mark.parametrize("n_classes", [2, 4])
def test_naive_bayes_predicts_like_scikit_learn_at_every_point(n_classes: int) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (200, 4)), rng.integers(0, n_classes, 200)
    domain = Domain([Integer("a", 0, 2), Categorical("b", [0, 1, 2]), Integer("c", 0, 2), Categorical("d", [2, 0, 1])])
    everything = np.array(list(domain.points()))
    for model in (CategoricalNB(), BernoulliNB(), BernoulliNB(binarize=1.5)):
        model.fit(X, y)
        margins = model.predict_joint_log_proba(everything)
        assert sure(margins, 1.0).all()
        assert read_model(model, domain).predict(everything) == model.predict(everything).tolist()
    bits = BernoulliNB(binarize=None).fit(X % 2, y)
    domain = Domain([Integer(n, 0, 1) for n in "abcd"])
    everything = np.array(list(domain.points()))
    assert read_model(bits, domain).predict(everything) == bits.predict(everything).tolist()


def test_one_hot_columns_are_one_feature() -> None:
    rng = np.random.default_rng(4)
    colour, size = rng.integers(0, 3, 300), rng.normal(size=300)
    X = np.column_stack([size, np.eye(3)[colour]])
    model = LogisticRegression().fit(X, size + colour > 1)
    domain = Domain.from_data(X, one_hot={"colour": [1, 2, 3]}, names=["size", "red", "green", "blue"])
    assert read_model(model, domain).predict(X) == model.predict(X).tolist()
    found = Explainer(model, domain).explain(X[0])
    assert set(found.scores()) == {"size", "colour"}


def test_regression_needs_delta_and_unfitted_models_are_refused() -> None:
    X, y = load_diabetes(return_X_y=True)
    domain = Domain.from_data(X)
    with pytest.raises(SimilarityError, match="needs delta"):
        Explainer(Ridge().fit(X, y), domain)
    with pytest.raises(UnfittedModelError, match="call fit first"):
        Explainer(LogisticRegression(), domain)
    with pytest.raises(UnsupportedModelError, match="one output at a time"):
        Explainer(LinearRegression().fit(X, np.column_stack([y, y])), domain, delta=1)
    with pytest.raises(DomainError, match="10 columns"):
        Explainer(Ridge().fit(X, y), Domain.from_data(X[:, :9]), delta=1)


def test_naive_bayes_over_unfit_domains_is_refused() -> None:
    X, y = np.array([[0, 1], [1, 0], [2, 1]]), [0, 1, 1]
    with pytest.raises(DomainError, match="categories 0 to 1 of feature 'b'"):
        read_model(CategoricalNB().fit(X, y), Domain([Integer("a", 0, 2), Integer("b", 0, 2)]))
    with pytest.raises(UnsupportedModelError, match="value by value"):
        read_model(BernoulliNB().fit(X, y), Domain([Real("a", 0, 2), Integer("b", 0, 1)]))
    with pytest.raises(UnsupportedModelError, match="holds 'x'"):
        read_model(LogisticRegression().fit(X, y), Domain([Categorical("a", "xyz"), Integer("b", 0, 1)]))
