"""scikit-learn forests and gradient boosting.

Both grow the trees of :mod:`axfi_kc.compilers.sklearn_trees`. A forest adds its trees'
probabilities, takes the lowest index of the largest sum, and divides a regression by the number
of trees. Gradient boosting starts from its prior and adds ``learning_rate * leaf``, a product
that the library rounds to float64; the neutral form holds that rounded product.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from axfi_kc.compilers.registry import check_own_predict, reads
from axfi_kc.compilers.sklearn_trees import check_fitted, check_width, nodes_of
from axfi_kc.compilers.tree_nodes import plain_labels, spread
from axfi_kc.domain import Domain
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, TreeNodes, TreeSum

__all__: list[str] = []


def _check_forest(model: Any, domain: Domain) -> None:
    check_fitted(model, "estimators_")
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} with {model.n_outputs_} outputs was given; explain one output at a time, "
            "with a forest fitted to it alone."
        )
    check_width(model, domain)
    for tree in model.estimators_:
        check_own_predict(tree)


@reads(RandomForestClassifier)
@reads(ExtraTreesClassifier)
def _forest_classifier(model: Any, domain: Domain) -> TreeSum:
    _check_forest(model, domain)
    trees = [nodes_of(e.tree_, e.tree_.value[:, 0, :]) for e in model.estimators_]
    return TreeSum.of(domain, trees, rule=Argmax(plain_labels(model.classes_)))


@reads(RandomForestRegressor)
@reads(ExtraTreesRegressor)
def _forest_regressor(model: Any, domain: Domain) -> TreeSum:
    _check_forest(model, domain)
    trees = [nodes_of(e.tree_, e.tree_.value[:, 0, :]) for e in model.estimators_]
    return TreeSum.of(domain, trees, rule=Score(Fraction(1, len(trees))))


def _prior(model: Any) -> npt.NDArray[np.float64]:
    """Return the scores that boosting starts from, if they are the same everywhere."""
    if not isinstance(model.init_, str | DummyClassifier | DummyRegressor):
        raise UnsupportedModelError(
            f"{type(model).__name__} starts from {type(model.init_).__name__}, which is not constant; "
            "fit it with init=None or init='zero'."
        )
    return model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]


def _stages(model: Any, *, sign: float = 1.0) -> list[TreeNodes]:
    n_scores = model.estimators_.shape[1]
    return [
        nodes_of(e.tree_, spread(sign * (model.learning_rate * e.tree_.value[:, 0, 0]), k, n_scores))
        for stage in model.estimators_
        for k, e in enumerate(stage)
    ]


@reads(GradientBoostingClassifier)
def _boosted_classifier(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "estimators_")
    check_width(model, domain)
    labels = plain_labels(model.classes_)
    base = [Fraction(float(b)) for b in _prior(model)]
    if len(base) > 1:
        return TreeSum.of(domain, _stages(model), rule=Argmax(labels), base=base)
    # The library gives a score of exactly 0 to the second class; so "above zero" is asked of
    # the negated score, for the first class.
    first, second = labels
    return TreeSum.of(domain, _stages(model, sign=-1.0), rule=Positive((second, first)), base=[-base[0]])


@reads(GradientBoostingRegressor)
def _boosted_regressor(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "estimators_")
    check_width(model, domain)
    base = [Fraction(float(b)) for b in _prior(model)]
    return TreeSum.of(domain, _stages(model), rule=Score(), base=base)
