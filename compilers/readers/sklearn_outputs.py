"""scikit-learn models with several outputs: one of them as a model of the library's own."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from axfi_kc.compilers.readers import reads
from axfi_kc.compilers.readers.outputs import check_position, output_of, outputs
from axfi_kc.compilers.readers.sklearn_trees import check_fitted
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Model

__all__: list[str] = []


@reads(MultiOutputClassifier)
@reads(MultiOutputRegressor)
def _several(model: Any, domain: Domain) -> Model:
    check_fitted(model, "estimators_")
    raise UnsupportedModelError(
        f"{type(model).__name__} with {len(model.estimators_)} outputs was given; explain one output at a time: "
        "axfi_kc.output_of(model, k) gives the model of output k."
    )


@outputs(MultiOutputClassifier)
@outputs(MultiOutputRegressor)
def _member(model: Any, which: int) -> Any:
    check_fitted(model, "estimators_")
    check_position(model, which, len(model.estimators_))
    return model.estimators_[which]


@outputs(DecisionTreeClassifier)
@outputs(DecisionTreeRegressor)
def _tree(model: Any, which: int) -> Any:
    check_fitted(model, "tree_")
    made = _relabelled(model, which)
    classes = np.array([made.n_classes_ if is_classifier(model) else 1], dtype=np.intp)
    # The nodes as they are, with the values of this output alone: what unpickling a tree does.
    state = model.tree_.__getstate__()
    state["values"] = np.ascontiguousarray(state["values"][:, [which], : classes[0]])
    made.tree_ = type(model.tree_)(model.n_features_in_, classes, 1)
    made.tree_.__setstate__(state)
    return made


@outputs(RandomForestClassifier)
@outputs(RandomForestRegressor)
@outputs(ExtraTreesClassifier)
@outputs(ExtraTreesRegressor)
def _forest(model: Any, which: int) -> Any:
    check_fitted(model, "estimators_")
    made = _relabelled(model, which)
    made.estimators_ = [output_of(tree, which) for tree in model.estimators_]
    return made


@outputs(BaggingRegressor)
def _bagging(model: Any, which: int) -> Any:
    check_fitted(model, "estimators_")
    made = copy.copy(model)
    made.estimators_ = [output_of(member, which) for member in model.estimators_]
    return made


def _relabelled(model: Any, which: int) -> Any:
    """Return a copy that knows the classes of one output."""
    check_position(model, which, model.n_outputs_)
    made = copy.copy(model)
    made.n_outputs_ = 1
    if is_classifier(model) and model.n_outputs_ > 1:
        made.classes_, made.n_classes_ = model.classes_[which], model.n_classes_[which]
    return made


@outputs(LinearRegression)
@outputs(Ridge)
@outputs(Lasso)
def _linear(model: Any, which: int) -> Any:
    check_fitted(model, "coef_")
    rows = np.atleast_2d(model.coef_)
    check_position(model, which, len(rows))
    made = copy.copy(model)
    # A model without intercept has a single zero.
    made.coef_, made.intercept_ = rows[which], np.broadcast_to(model.intercept_, len(rows))[which]
    return made


@outputs(Pipeline)
def _pipeline(model: Any, which: int) -> Any:
    made = copy.copy(model)
    *before, (name, last) = model.steps
    made.steps = [*before, (name, output_of(last, which))]
    return made


@outputs(BaseSearchCV)
def _search(model: Any, which: int) -> Any:
    check_fitted(model, "best_estimator_")
    return output_of(model.best_estimator_, which)
