"""XGBoost estimators and boosters in memory, read through their own JSON."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import xgboost as xgb

from axfi_kc.compilers.document_entries import parse_json
from axfi_kc.compilers.registry import reads
from axfi_kc.compilers.tree_nodes import plain_labels
from axfi_kc.compilers.xgboost_files import XGBoostFile, parse_document
from axfi_kc.compilers.xgboost_sums import Reading, objective_kind, sum_of_file
from axfi_kc.domain import Domain
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError
from axfi_kc.models import TreeSum

__all__: list[str] = []


def _file_of(booster: Any) -> tuple[XGBoostFile, tuple[float, ...]]:
    """Return what the booster would save, and the margins the library starts from."""
    raw = bytes(booster.save_raw("json"))
    return parse_document(parse_json(raw)), _library_base(raw)


def _library_base(raw: bytes) -> tuple[float, ...]:
    """Return the margins of the model without its trees: what the library itself adds first."""
    document = json.loads(raw)
    learner = document["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster).get("model", {})
    if "trees" not in model:
        return ()
    model["trees"], model["tree_info"] = [], []
    model["gbtree_model_param"]["num_trees"] = "0"
    if "iteration_indptr" in model:
        model["iteration_indptr"] = [0]
    learner["gradient_booster"] = {"name": "gbtree", "model": model}
    learner["learner_model_param"]["boost_from_average"] = "0"  # else an empty model awaits training
    learner["feature_names"], learner["feature_types"] = [], []
    empty = xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))
    width = int(learner["learner_model_param"]["num_feature"])
    margins = empty.predict(xgb.DMatrix(np.zeros((1, width)), nthread=1), output_margin=True)
    return tuple(np.asarray(margins, dtype=np.float64).reshape(-1).tolist())


def _fitted(model: Any) -> Any:
    try:
        return model.get_booster()
    except (AttributeError, ValueError) as error:  # scikit-learn's NotFittedError is both
        name = type(model).__name__
        raise UnfittedModelError(
            f"Expected a fitted {name}, but this one has not been fitted; call fit first."
        ) from error


@reads(xgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(model)
    return sum_of_file(file, domain, Reading(iterations="all", base=base))


@reads(xgb.XGBClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    kind, labels = objective_kind(file), plain_labels(model.classes_)
    if kind == "identity" or (kind == "argmax" and len(labels) < 3):
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} and {len(labels)} classes does not predict "
            "a class as classifiers do; train it with objective 'binary:logistic' or 'multi:softprob'."
        )
    # predict compares what the objective outputs with 0.5: for logitraw that is the margin itself.
    threshold = Fraction(1, 2) if file.objective == "binary:logitraw" else Fraction(0)
    return sum_of_file(file, domain, Reading(labels=labels, base=base, threshold=threshold))


@reads(xgb.XGBRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    if objective_kind(file) != "identity":
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} predicts a probability or a class number, "
            "which has no exact form as a regression; train an XGBClassifier, or use 'reg:squarederror'."
        )
    return sum_of_file(file, domain, Reading(base=base))
