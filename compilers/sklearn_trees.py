"""scikit-learn decision trees.

The library casts x to float32 and sends it left iff ``x <= threshold``, a float64; a leaf's class
is the lowest index of its largest probability.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from axfi_kc.compilers.registry import reads
from axfi_kc.compilers.tree_nodes import plain_labels
from axfi_kc.domain import Domain
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.grid import float32_cuts
from axfi_kc.models import Argmax, Score, TreeNodes, TreeSum
from axfi_kc.predictions import Codes, Predict, compares, numbers_of

__all__ = ["check_fitted", "check_width", "nodes_of", "plain_labels"]

_LEAF = -1


def check_fitted(model: Any, attribute: str) -> None:
    """Raise unless `model` has the `attribute` that fitting gives it."""
    if not hasattr(model, attribute):
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")


def check_width(model: Any, domain: Domain) -> None:
    """Raise unless the domain describes as many columns as the model was fitted on."""
    if len(domain.columns) != model.n_features_in_:
        raise DomainError(
            f"The model was fitted on {model.n_features_in_} columns, but the domain describes {len(domain.columns)}; "
            "make the domain from the data the model was fitted on."
        )
    trained = getattr(model, "feature_names_in_", None)
    if trained is not None and tuple(map(str, trained)) != domain.columns:
        odd = next((a, b) for a, b in zip(map(str, trained), domain.columns, strict=True) if a != b)
        raise DomainError(
            f"The model was fitted on column {odd[0]!r} where the domain has {odd[1]!r}; "
            "give the domain the same columns in the same order."
        )


def nodes_of(tree: Any, values: np.ndarray[Any, Any]) -> TreeNodes:
    """Return the nodes of a fitted ``tree_``, with the given values."""
    is_leaf = tree.children_left == _LEAF
    cuts = float32_cuts(tree.threshold, strict=False)
    return TreeNodes(
        column=np.where(is_leaf, -1, tree.feature).astype(np.int64),
        splits=[None if leaf else cut for leaf, cut in zip(is_leaf.tolist(), cuts, strict=True)],
        left=tree.children_left.astype(np.int64),
        right=tree.children_right.astype(np.int64),
        values=values,
    )


def _one_output(model: Any) -> None:
    if model.n_outputs_ != 1:
        raise UnsupportedModelError(
            f"{type(model).__name__} with {model.n_outputs_} outputs was given; explain one output at a time, "
            "with a tree fitted to it alone."
        )


@reads(DecisionTreeClassifier)
@reads(ExtraTreeClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "tree_")
    _one_output(model)
    check_width(model, domain)
    nodes = nodes_of(model.tree_, model.tree_.value[:, 0, :])
    return TreeSum.of(domain, [nodes], rule=Argmax(plain_labels(model.classes_)))


@reads(DecisionTreeRegressor)
@reads(ExtraTreeRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    check_fitted(model, "tree_")
    _one_output(model)
    check_width(model, domain)
    return TreeSum.of(domain, [nodes_of(model.tree_, model.tree_.value[:, 0, :])], rule=Score())


@compares(DecisionTreeClassifier)
@compares(DecisionTreeRegressor)
def _compare(model: Any, domain: Domain) -> Predict:
    """Ask a tree without scikit-learn's checks of its input, which take longer than explaining it."""

    def predict(codes: Codes) -> list[Any]:
        table = numbers_of(domain, codes).astype(np.float32)
        return model.predict(table, check_input=False).tolist()

    return predict
