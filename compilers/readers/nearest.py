"""What to do with a model that no reader knows: the nearest thing that works, in one sentence.

A class that is not listed here, and that holds no model that can be read, is told what works for every model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["unread"]

_FUNCTION = "give a Python function over a finite domain"
_HELD = ("best_estimator_", "best_pipeline_", "estimator_", "booster_", "model_", "model")
"""Attributes under which objects hold the one model that decides for them, the likeliest first."""

_LINEAR, _SUMS = "train a Ridge or Lasso", "train a HistGradientBoosting"
_NEAREST = {
    **dict.fromkeys(("SVC", "NuSVC"), "train a LinearSVC"),
    **dict.fromkeys(("SVR", "NuSVR", "LinearSVR", "KernelRidge", "GaussianProcessRegressor"), _LINEAR),
    **dict.fromkeys(("ElasticNet", "BayesianRidge", "ARDRegression", "HuberRegressor", "SGDRegressor"), _LINEAR),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor", "TweedieRegressor", "PLSRegression"), _LINEAR),
    **dict.fromkeys(("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"), "train a LogisticRegression"),
    **dict.fromkeys(("GaussianNB", "MultinomialNB", "ComplementNB"), "train a CategoricalNB or LogisticRegression"),
    **dict.fromkeys(("MLPClassifier", "GaussianProcessClassifier", "StackingClassifier"), f"{_SUMS}Classifier"),
    **dict.fromkeys(("MLPRegressor", "StackingRegressor"), f"{_SUMS}Regressor"),
    **dict.fromkeys(
        ("OneClassSVM", "LocalOutlierFactor", "EllipticEnvelope", "SGDOneClassSVM"), "train an IsolationForest"
    ),
    **dict.fromkeys(("RFE", "RFECV"), "explain a Pipeline of the selected columns and its estimator_"),
    "XGBRanker": "explain its get_booster()",
}
"""The nearest thing that is read, by the name of a class that is not, or of a base of it."""


def unread(model: Any, is_read: Callable[[Any], bool]) -> str:
    """Return what is wrong with a model that is not read, and what works instead.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> unread(SVC(), lambda model: False)
    'Expected a model that can be read exactly, but sklearn.svm.SVC was given; train a LinearSVC, or give a Python \
function over a finite domain.'
    """
    if isinstance(model, type):
        return f"Expected a trained model, but the class {model.__name__} itself was given; make one of it and fit it."
    if isinstance(model, str | bytes | os.PathLike):
        return (
            "Expected a model, but what seems to be the path or content of a file was given; load it first, or read it "
            "with read_xgboost or read_onnx."
        )
    kind = type(model)
    name = f"{kind.__module__.partition('._')[0]}.{kind.__qualname__}"
    return f"Expected a model that can be read exactly, but {name} was given; {_advice(model, is_read)}."


def _advice(model: Any, is_read: Callable[[Any], bool]) -> str:
    listed = (_NEAREST.get(base.__name__) for base in type(model).__mro__)
    nearest = next(filter(None, listed), None)
    if nearest is not None:
        return f"{nearest}, or {_FUNCTION}"
    held = next((name for name in _HELD if is_read(_held(model, name))), None)
    return _FUNCTION if held is None else f"explain its {held}"


def _held(model: Any, name: str) -> Any:
    try:
        return getattr(model, name, None)
    except Exception:  # what an object says of itself is foreign code
        return None
