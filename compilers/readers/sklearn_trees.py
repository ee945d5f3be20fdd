"""scikit-learn's trees, forests and boosting.

A tree casts x to float32 and sends it left iff ``x <= threshold``, a float64; the class is the
lowest index of the largest probability. A forest adds its trees' probabilities, or divides a
regression by their number. Gradient boosting starts from its prior and adds ``learning_rate *
leaf``, a product that the library rounds to float64; the neutral form holds that rounded product.
Histogram boosting compares in float64, numbers categories by an encoder of its own, which also puts
categorical columns first, and takes a category it has not seen for missing; every node says where
missing values go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn._loss.link import IdentityLink
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from axfi_kc.compilers.readers import check_own_predict, plain_labels, reads
from axfi_kc.compilers.readers.checks import (
    check_float32,
    codes_of_column,
    constant,
    differing,
    each_tree,
    of_one_class,
    spread,
)
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import float32_cuts, float64_cut
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive, Score, Split, TreeNodes, TreeSum
from axfi_kc.models.own_predict import Codes, Predict, compares, numbers_of

__all__ = ["check_fitted", "check_width", "nodes_of", "takes_missing"]


_LEAF = -1


def check_fitted(model: Any, attribute: str) -> None:
    """Raise unless `model` has the `attribute` that fitting gives it."""
    if not hasattr(model, attribute):
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")


def check_width(model: Any, domain: Domain) -> None:
    """Raise unless the domain describes as many columns as the model was fitted on."""
    trained = getattr(model, "feature_names_in_", None)
    if len(domain.columns) != model.n_features_in_:
        names = None if trained is None else [str(n) for n in trained]
        raise DomainError(
            f"The model was fitted on {model.n_features_in_} columns, but the domain describes {len(domain.columns)}"
            f"{differing(names, domain)}; make the domain from the data the model was fitted on."
        )
    if trained is not None and tuple(map(str, trained)) != domain.columns:
        odd = next((a, b) for a, b in zip(map(str, trained), domain.columns, strict=True) if a != b)
        raise DomainError(
            f"The model was fitted on column {odd[0]!r} where the domain has {odd[1]!r}; "
            "give the domain the same columns in the same order."
        )


def takes_missing(model: Any) -> bool:
    """Tell whether a tree predicts where values are missing, by what scikit-learn asks before it does."""
    asks = getattr(model, "_support_missing_values", None)  # since 1.3
    return asks is not None and bool(asks(np.zeros((1, 1))))


def _check_domain(model: Any, domain: Domain) -> None:
    check_width(model, domain)
    check_float32(domain, model)


def nodes_of(tree: Any, values: np.ndarray[Any, Any], *, missing: bool = False) -> TreeNodes:
    """Return the nodes of a fitted ``tree_``, with the given values; `missing`: it predicts where some are missing."""
    is_leaf = tree.children_left == _LEAF
    cuts = float32_cuts(tree.threshold, strict=False)
    return TreeNodes(
        column=np.where(is_leaf, -1, tree.feature).astype(np.int64),
        splits=[None if leaf else cut for leaf, cut in zip(is_leaf.tolist(), cuts, strict=True)],
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        values=values,
        missing_left=tree.missing_go_to_left.astype(np.bool_) if missing else None,
    )


def _one_output(model: Any) -> None:
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} with {model.n_outputs_} outputs was given; explain one output at a time: "
            "axfi_kc.output_of(model, k) gives the model of output k."
        )


@reads(DecisionTreeClassifier)
@reads(ExtraTreeClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "tree_")
    _one_output(model)
    _check_domain(model, domain)
    nodes = nodes_of(model.tree_, model.tree_.value[:, 0, :], missing=takes_missing(model))
    return TreeSum.of(domain, [nodes], rule=Argmax(plain_labels(model.classes_)))


@reads(DecisionTreeRegressor)
@reads(ExtraTreeRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "tree_")
    _one_output(model)
    _check_domain(model, domain)
    nodes = nodes_of(model.tree_, model.tree_.value[:, 0, :], missing=takes_missing(model))
    return TreeSum.of(domain, [nodes], rule=Score())


@compares(DecisionTreeClassifier)
@compares(DecisionTreeRegressor)
def _compare(model: Any, domain: Domain) -> Predict:
    """Ask a tree without scikit-learn's checks of its input, which take longer than explaining it."""

    def predict(codes: Codes) -> list[Any]:
        table = numbers_of(domain, codes).astype(np.float32)
        return model.predict(table, check_input=False).tolist()

    return predict


def _check_forest(model: Any, domain: Domain) -> None:
    check_fitted(model, "estimators_")
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} with {model.n_outputs_} outputs was given; explain one output at a time: "
            "axfi_kc.output_of(model, k) gives the model of output k."
        )
    _check_domain(model, domain)
    for tree in model.estimators_:
        check_own_predict(tree)


def _members_of(forest: Any) -> list[TreeNodes]:
    """Return the trees of a forest; whether it predicts where values are missing is asked of the first one."""
    missing = takes_missing(forest.estimators_[0])
    return [nodes_of(e.tree_, e.tree_.value[:, 0, :], missing=missing) for e in each_tree(forest.estimators_)]


@reads(RandomForestClassifier)
@reads(ExtraTreesClassifier)
def _forest_classifier(model: Any, domain: Domain) -> TreeSum:
    _check_forest(model, domain)
    return TreeSum.of(domain, _members_of(model), rule=Argmax(plain_labels(model.classes_)))


@reads(RandomForestRegressor)
@reads(ExtraTreesRegressor)
def _forest_regressor(model: Any, domain: Domain) -> TreeSum:
    _check_forest(model, domain)
    trees = _members_of(model)
    return TreeSum.of(domain, trees, rule=Score(Fraction(1, len(trees))))


def _prior(model: Any) -> npt.NDArray[np.float64]:
    """Return the scores that boosting starts from, if they are the same everywhere."""
    if type(model.init_) not in (str, DummyClassifier, DummyRegressor):
        raise UnsupportedModelError(
            f"{type(model).__name__} starts from {type(model.init_).__name__}, which is not constant; "
            "fit it with init=None or init='zero'."
        )
    return model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]


def _stages(model: Any) -> list[TreeNodes]:
    n_scores = model.estimators_.shape[1]
    return [
        nodes_of(e.tree_, spread(model.learning_rate * e.tree_.value[:, 0, 0], k, n_scores))
        for stage in each_tree(model.estimators_)
        for k, e in enumerate(stage)
    ]


@reads(GradientBoostingClassifier)
def _boosted_classifier(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "estimators_")
    _check_domain(model, domain)
    labels = plain_labels(model.classes_)
    base = _prior(model).tolist()
    # The library gives a score of exactly 0 to the second class.
    rule = Argmax(labels) if len(base) > 1 else Positive((labels[0], labels[1]), closed=True)
    return TreeSum.of(domain, _stages(model), rule=rule, base=base)


@reads(GradientBoostingRegressor)
def _boosted_regressor(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "estimators_")
    _check_domain(model, domain)
    return TreeSum.of(domain, _stages(model), rule=Score(), base=_prior(model).tolist())


_WORD = 32
_IDENTITY_LOSSES = ("squared_error", "absolute_error", "quantile")


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which model column each of the trees' columns is, and its categories, if any."""

    order: tuple[int, ...]
    categories: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, model: Any, domain: Domain) -> _Columns:
        is_categorical = model.is_categorical_
        if is_categorical is None:
            return cls(tuple(range(model.n_features_in_)), ())
        encoder = model._preprocessor.named_transformers_["encoder"]
        # NaN is no category of its own: every node says where missing values go.
        categories = tuple(tuple(c for c in found.tolist() if not _is_missing(c)) for found in encoder.categories_)
        # The encoder's columns come first, in their order; the others follow.
        order = [*np.flatnonzero(is_categorical).tolist(), *np.flatnonzero(~is_categorical).tolist()]
        for column in order[: len(categories)]:
            codes_of_column(domain, column)
        return cls(tuple(order), categories)


def _is_missing(category: object) -> bool:
    return category is None or (isinstance(category, float) and math.isnan(category))


def _members(bitset: npt.NDArray[np.uint32]) -> list[int]:
    return [k for k in range(len(bitset) * _WORD) if int(bitset[k // _WORD]) >> k % _WORD & 1]


def _split(node: Any, columns: _Columns, bitsets: npt.NDArray[np.uint32]) -> tuple[Split, bool]:
    """Return what the node's test selects, and whether what it selects goes left."""
    if not node["is_categorical"]:
        return float64_cut(float(node["num_threshold"])), True
    categories = columns.categories[int(node["feature_idx"])]
    # The bit sets have room for more numbers than there are categories.
    listed = [k for k in _members(bitsets[int(node["bitset_idx"])]) if k < len(categories)]
    left = frozenset(categories[k] for k in listed)
    # Categories that the encoder has not seen go with the missing ones. The set must be that of the other
    # side, so that whatever is not in it goes where they go.
    if node["missing_go_to_left"]:
        return frozenset(categories) - left, False
    return left, True


def _nodes(predictor: Any, columns: _Columns, score: int, n_scores: int) -> TreeNodes:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    column = [-1 if leaf else columns.order[f] for leaf, f in zip(is_leaf, nodes["feature_idx"].tolist(), strict=True)]
    tests = [None if n["is_leaf"] else _split(n, columns, predictor.raw_left_cat_bitsets) for n in nodes]
    straight = np.array([test is None or test[1] for test in tests])
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    return TreeNodes(
        column=np.array(column, dtype=np.int64),
        splits=[None if test is None else test[0] for test in tests],
        left=np.where(is_leaf, -1, np.where(straight, left, right)),
        right=np.where(is_leaf, -1, np.where(straight, right, left)),
        values=spread(nodes["value"].astype(np.float64), score, n_scores),
        missing_left=nodes["missing_go_to_left"].astype(np.bool_) == straight,
    )


def _trees_and_base(model: Any, domain: Domain) -> tuple[list[TreeNodes], list[float]]:
    check_fitted(model, "_predictors")
    check_width(model, domain)
    columns = _Columns.of(model, domain)
    # One number per score, however the array is shaped.
    base = np.asarray(model._baseline_prediction).reshape(-1).tolist()
    trees = [
        _nodes(predictor, columns, k, len(base))
        for stage in each_tree(model._predictors)
        for k, predictor in enumerate(stage)
    ]
    return trees or [constant(len(base))], base


@reads(HistGradientBoostingClassifier)
def _histogram_classifier(model: Any, domain: Domain) -> TreeSum:
    trees, base = _trees_and_base(model, domain)
    labels = plain_labels(model.classes_)
    if len(base) > 1:
        return TreeSum.of(domain, trees, rule=Argmax(labels), base=base)
    if len(labels) == 1:
        return of_one_class(domain, trees, base=base, labels=labels)
    return TreeSum.of(domain, trees, rule=Positive((labels[0], labels[1])), base=base)


@reads(HistGradientBoostingRegressor)
def _histogram_regressor(model: Any, domain: Domain) -> TreeSum:
    trees, base = _trees_and_base(model, domain)
    # The loss of the fit, which predict asks: the parameter may have been set since.
    if not isinstance(model._loss.link, IdentityLink):
        raise UnsupportedModelError(
            f"{type(model).__name__} with {type(model._loss).__name__} predicts the exponential of a sum of trees, "
            f"which has no exact form; fit it with one of the losses {', '.join(_IDENTITY_LOSSES)}."
        )
    return TreeSum.of(domain, trees, rule=Score(), base=base)
