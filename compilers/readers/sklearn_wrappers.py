"""scikit-learn models that hand over to one other model: searches, moved thresholds, single outputs.

A search predicts as its ``best_estimator_`` does. A threshold classifier compares the probability or margin of one
class with a number, ``>=``, in floats; :mod:`~axfi_kc.compilers.readers.responses` finds the exact score at which the
comparison, in the library's own arithmetic, begins to hold.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._search_successive_halving import HalvingGridSearchCV, HalvingRandomSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from axfi_kc.compilers.readers import plain_labels, read_model, reads
from axfi_kc.compilers.readers.responses import (
    Answer,
    Floats,
    Response,
    answer_of,
    answers,
    decided,
    responds,
    response_of,
    signed,
    total_of,
    totals,
)
from axfi_kc.compilers.readers.sklearn_trees import check_fitted
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Model

try:
    from sklearn.frozen import FrozenEstimator
except ImportError:  # scikit-learn 1.5 has none
    _HandingOver: tuple[type, ...] = (GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV)
else:
    _HandingOver = (GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV, HalvingRandomSearchCV, FrozenEstimator)

__all__ = ["first_method", "last_of"]


def _hand_over(model: Any, domain: Domain) -> Model:
    return read_model(_inner(model), domain)


def _best(model: Any) -> Any:
    """Return the model that a search found."""
    name = type(model).__name__
    if not model.refit:
        raise UnsupportedModelError(
            f"{name}(refit=False) keeps no model to explain; search with refit=True, or fit a model with its "
            "best_params_ and explain that."
        )
    if not hasattr(model, "best_estimator_"):
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")
    return model.best_estimator_


def last_of(model: Any) -> Any:
    """Return the model at the end of pipelines, searches and frozen models."""
    if isinstance(model, Pipeline):
        return last_of(model.steps[-1][1])
    return last_of(_inner(model)) if isinstance(model, _HandingOver) else model


def _inner(model: Any) -> Any:
    """Return the model that a search or a frozen model hands over to."""
    return _best(model) if isinstance(model, BaseSearchCV) else model.estimator


def first_method(model: Any, methods: tuple[str, ...]) -> str:
    """Return the first of several methods that a model has, as scikit-learn chooses one."""
    found = next((method for method in methods if hasattr(model, method)), None)
    if found is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} has no {' and no '.join(methods)}, which its wrapper asks for; wrap another model."
        )
    return found


def _moved(model: Any, domain: Domain, *, inner: Any, threshold: Any, positive: Any) -> Model:
    """Read a threshold classifier; `positive` is the class whose answer is compared, None for the second."""
    labels = plain_labels(inner.classes_)
    if positive is not None and positive not in labels:
        raise UnsupportedModelError(
            f"{type(model).__name__}(pos_label={positive!r}) should name one of the classes {labels}; its own predict "
            "fails too."
        )
    column = 1 if positive is None else labels.index(positive)
    asked = model.response_method
    method = first_method(inner, ("predict_proba", "decision_function") if asked == "auto" else (asked,))
    if isinstance(threshold, str):  # "auto"
        threshold = 0.5 if method == "predict_proba" else 0.0
    response = response_of(inner, domain, method, column)
    return decided(response, lambda answer: answer >= threshold, (labels[1 - column], labels[column]))


try:
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
except ImportError:  # scikit-learn 1.4 has neither
    pass
else:

    @reads(FixedThresholdClassifier)
    def _fixed(model: Any, domain: Domain) -> Model:
        # Without fit it predicts with the given estimator, if that one is fitted.
        inner = getattr(model, "estimator_", model.estimator)
        if not hasattr(inner, "classes_"):
            raise UnfittedModelError(
                "Expected a fitted FixedThresholdClassifier, but this one has not been fitted; call fit first."
            )
        return _moved(model, domain, inner=inner, threshold=model.threshold, positive=model.pos_label)

    @reads(TunedThresholdClassifierCV)
    def _tuned(model: Any, domain: Domain) -> Model:
        check_fitted(model, "best_threshold_")
        positive = model._curve_scorer._get_pos_label()
        return _moved(model, domain, inner=model.estimator_, threshold=model.best_threshold_, positive=positive)


@totals(DecisionTreeClassifier)
def _of_tree(model: Any) -> int:
    return 1


@totals(RandomForestClassifier)
@totals(ExtraTreesClassifier)
def _of_forest(model: Any) -> int:
    return len(model.estimators_)


@totals(Pipeline)
def _of_last(model: Any) -> Any:
    return total_of(last_of(model))


@answers(Pipeline)
def _by_last(model: Any, method: str, column: int) -> Answer:
    return answer_of(last_of(model), method, column)


def _respond(model: Any, domain: Domain, method: str, column: int) -> Response:
    return response_of(_inner(model), domain, method, column)


for _kind in _HandingOver:
    reads(_kind, _hand_over)
    totals(_kind, _of_last)
    answers(_kind, _by_last)
    responds(_kind, _respond)


@answers(LogisticRegression)
@answers(LinearSVC)
@answers(SGDClassifier)
@answers(RidgeClassifier)
@answers(Perceptron)
def _by_linear(model: Any, method: str, column: int) -> Answer:
    # The same model with one column, of which the margin is the value itself: its own method does the rest.
    stand_in = copy.copy(model)
    stand_in.coef_, stand_in.intercept_, stand_in.n_features_in_ = np.ones((1, 1)), np.zeros(1), 1
    vars(stand_in).pop("feature_names_in_", None)
    return signed(lambda s: getattr(stand_in, method)(s.reshape(-1, 1)), column)


@answers(GradientBoostingClassifier)
@answers(HistGradientBoostingClassifier)
def _by_boosting(model: Any, method: str, column: int) -> Answer:
    ask = model._loss.predict_proba if method == "predict_proba" else lambda s: s
    return signed(ask, column)


@answers(AdaBoostClassifier)
def _by_weights(model: Any, method: str, column: int) -> Answer:
    total = model.estimator_weights_.sum()

    def ask(scores: Floats) -> Any:
        # Each class has one of these, with opposite signs; votes of all members are no more than their weights.
        halves = np.clip(scores / total, -1.0, 1.0)
        decision = halves + halves
        return decision if method == "decision_function" else model._compute_proba_from_decision(decision, 2)

    return signed(ask, column)
