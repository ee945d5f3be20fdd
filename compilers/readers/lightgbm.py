"""LightGBM estimators and boosters, read through their own text, and how their own ``predict`` is asked."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import lightgbm as lgb
import numpy as np
import numpy.typing as npt

from axfi_kc.compilers.readers import check_own_predict, plain_labels, reads
from axfi_kc.compilers.readers.lightgbm_files import objective_kind, parse_lightgbm, read_lightgbm, sum_of_text
from axfi_kc.compilers.readers.responses import Answer, answers, signed
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import ModelFileError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import TreeSum
from axfi_kc.models.own_predict import (
    Codes,
    Predict,
    blocks_of,
    compares,
    frame_of,
    numbers_of,
    plain_predictor,
    predicts,
    table_predictor,
)

__all__: list[str] = []


_ABOUT_WORDS = {"verbose", "verbosity"}


def _text_of(booster: Any) -> str:
    try:
        return str(booster.model_to_string())
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"The text of a LightGBM model should be UTF-8, but this one is not ({error}); save it again, under other "
            "names of columns."
        ) from error


@reads(lgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    return read_lightgbm(_text_of(model), domain)


@reads(lgb.LGBMClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_text_of(_fitted(model)))
    if objective_kind(text) == "identity":
        raise UnsupportedModelError(
            f"LGBMClassifier with objective {text.objective} does not predict a class; "
            "train it with objective 'binary' or 'multiclass'."
        )
    return sum_of_text(text, domain, plain_labels(model.classes_))


@reads(lgb.LGBMRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    text = parse_lightgbm(_text_of(_fitted(model)))
    if objective_kind(text) != "identity":
        raise UnsupportedModelError(
            f"LGBMRegressor with objective {text.objective} predicts a probability, which has no exact form "
            "as a regression; train an LGBMClassifier, or use 'regression'."
        )
    return sum_of_text(text, domain, ())


def _fitted(model: Any) -> Any:
    if not model.__sklearn_is_fitted__():
        name = type(model).__name__
        raise UnfittedModelError(f"Expected a fitted {name}, but this one has not been fitted; call fit first.")
    check_own_predict(model.booster_)
    # Of all parameters the one that an estimator hands on to predict and that changes what comes of the trees there.
    if model.get_params().get("pred_early_stop") not in (None, False, "false", "-"):
        raise UnsupportedModelError(
            f"{type(model).__name__} has pred_early_stop, by which predict leaves out trees where it sees fit, so that "
            "there is no sum to explain; set it to False, or give a Python function over a finite domain."
        )
    return model.booster_


@answers(lgb.LGBMClassifier)
def _answer(model: Any, method: str, column: int) -> Answer:
    text = parse_lightgbm(_text_of(_fitted(model)))
    if not text.objective or text.objective[0] != "binary":
        raise UnsupportedModelError(
            f"The probabilities of LGBMClassifier with objective {text.objective} are not read; train it with "
            "objective 'binary'."
        )
    steepness = next((float(w.removeprefix("sigmoid:")) for w in text.objective if w.startswith("sigmoid:")), 1.0)

    def ask(scores: npt.NDArray[np.float64]) -> Any:
        # The library's operations, with the exponential of the C library that it also calls.
        second = np.array([1.0 / (1.0 + _exp(-steepness * score)) for score in scores.tolist()])
        return np.stack([1.0 - second, second], axis=1)

    return signed(ask if method == "predict_proba" else lambda scores: scores, column)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@predicts(lgb.LGBMModel)
def _ask_estimator(model: Any, domain: Domain) -> Predict:
    return table_predictor(model, domain, categories=_categories(model.booster_), options={"num_threads": 1})


@predicts(lgb.Booster)
def _ask_booster(model: Any, domain: Domain) -> Predict:
    is_binary = str(model.dump_model(num_iteration=1).get("objective", "")).startswith("binary")
    categories = _categories(model)

    def table(codes: Codes) -> Any:
        if not categories:
            return numbers_of(domain, codes)
        columns = dict(zip(model.feature_name(), blocks_of(domain, codes), strict=True))
        return frame_of(columns, categories=categories, domain=domain)

    def predict(codes: Codes) -> list[Any]:
        found = np.asarray(model.predict(table(codes), num_threads=1))  # probabilities, where there are classes
        if found.ndim == 2 and found.shape[1] > 1:
            return found.argmax(axis=1).tolist()
        return (found.reshape(-1) > 0.5).astype(np.int64).tolist() if is_binary else found.reshape(-1).tolist()

    return predict


@compares(lgb.Booster)
def _compare_booster(model: Any, domain: Domain) -> Predict | None:
    return None if model.pandas_categorical else plain_predictor(model, domain)


@compares(lgb.LGBMModel)
def _compare(model: Any, domain: Domain) -> Predict | None:
    asked = None if model.booster_.pandas_categorical else plain_predictor(model, domain)
    known, settings = signature(lgb.LGBMModel.__init__).parameters, model.get_params(deep=False)
    others = {name: value for name, value in settings.items() if name not in known}  # handed on to the booster
    # Of what is printed they may say anything; any others may change what comes out.
    if asked is None or not others.keys() <= _ABOUT_WORDS or callable(model.objective):
        return asked

    def predict(codes: Codes) -> list[Any]:
        # As the estimator's own predict does it, but without its many checks, which take thirty times as long.
        found = np.asarray(model.booster_.predict(numbers_of(domain, codes), num_threads=1, **others))
        if not isinstance(model, lgb.LGBMClassifier):
            return found.reshape(-1).tolist()
        chances = found if found.ndim == 2 else np.stack([1.0 - found, found], axis=1)
        return model.classes_[chances.argmax(axis=1)].tolist()

    return predict


def _categories(booster: Any) -> list[int]:
    """Return the columns that the library knows as categories by names of its own."""
    if not booster.pandas_categorical:
        return []
    dump = booster.dump_model(num_iteration=1)
    infos = dump.get("feature_infos") or {}
    return [k for k, name in enumerate(dump["feature_names"]) if (infos.get(name) or {}).get("values")]
