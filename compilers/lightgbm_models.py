"""LightGBM estimators and boosters, read through their own text."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb

from axfi_kc.compilers.lightgbm_sums import objective_kind, read_lightgbm, sum_of_text
from axfi_kc.compilers.lightgbm_texts import parse_lightgbm
from axfi_kc.compilers.registry import reads
from axfi_kc.compilers.tree_nodes import plain_labels
from axfi_kc.domain import Domain
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError
from axfi_kc.models import TreeSum

__all__: list[str] = []


@reads(lgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    return read_lightgbm(model.model_to_string(), domain)


@reads(lgb.LGBMClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_fitted(model).model_to_string())
    kind = objective_kind(text)
    if kind == "identity":
        raise UnsupportedModelError(
            f"LGBMClassifier with objective {text.objective} does not predict a class; "
            "train it with objective 'binary' or 'multiclass'."
        )
    return sum_of_text(text, domain, kind, plain_labels(model.classes_))


@reads(lgb.LGBMRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_fitted(model).model_to_string())
    if objective_kind(text) != "identity":
        raise UnsupportedModelError(
            f"LGBMRegressor with objective {text.objective} predicts a probability, which has no exact form "
            "as a regression; train an LGBMClassifier, or use 'regression'."
        )
    return sum_of_text(text, domain, "identity", ())


def _fitted(model: Any) -> Any:
    if not model.__sklearn_is_fitted__():
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")
    return model.booster_
