"""XGBoost estimators and boosters in memory, read through their own JSON."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import xgboost as xgb

from axfi_kc.arguments import quoted
from axfi_kc.compilers.readers import check_own_predict, gets_sparse_tables, plain_labels, reads
from axfi_kc.compilers.readers.checks import check_float32, parse_json
from axfi_kc.compilers.readers.responses import Answer, answers, signed
from axfi_kc.compilers.readers.xgboost_door import predict_in_place
from axfi_kc.compilers.readers.xgboost_files import Reading, XGBoostFile, objective_kind, parse_document, sum_of_file
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError
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


def _file_of(booster: Any) -> tuple[XGBoostFile, tuple[float, ...]]:
    """Return what the booster would save, and the margins the library starts from."""
    try:
        raw = bytes(booster.save_raw("json"))
    except xgb.core.XGBoostError as error:  # set_params can leave a booster that neither predicts nor saves
        reason = str(error).strip().splitlines()[0][-120:]
        raise UnsupportedModelError(f"XGBoost cannot save this model ({reason}); train it again.") from error
    return parse_document(parse_json(raw, trusted=True)), _library_base(raw)


def _library_base(raw: bytes) -> tuple[float, ...]:
    """Return the margins of the model without its trees: what the library itself adds first."""
    empty = _without_trees(raw)
    if empty is None:
        return ()
    margins = empty.predict(xgb.DMatrix(np.zeros((1, empty.num_features())), nthread=1), output_margin=True)
    return tuple(np.asarray(margins, dtype=np.float64).reshape(-1).tolist())


def _without_trees(raw: bytes) -> Any:
    """Return the booster without its trees; None for one that has none."""
    document = json.loads(raw)
    learner = document["learner"]
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster).get("model", {})
    if "trees" not in model:
        return None
    model["trees"], model["tree_info"] = [], []
    model["gbtree_model_param"]["num_trees"] = "0"
    if "iteration_indptr" in model:
        model["iteration_indptr"] = [0]
    learner["gradient_booster"] = {"name": "gbtree", "model": model}
    learner["learner_model_param"]["boost_from_average"] = "0"  # else an empty model awaits training
    learner["feature_names"], learner["feature_types"] = [], []
    return xgb.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))


@answers(xgb.XGBClassifier)
def _answer(model: Any, method: str, column: int) -> Answer:
    booster = _fitted(model)
    empty = _without_trees(bytes(booster.save_raw("json")))
    objective = str(json.loads(booster.save_config())["learner"]["objective"]["name"])
    if empty is None or objective != "binary:logistic" or method != "predict_proba":
        raise UnsupportedModelError(
            f"The answers of {type(model).__name__} by {method} with objective {objective!r} are not read; train it "
            "with objective 'binary:logistic', and ask for predict_proba."
        )

    def ask(scores: npt.NDArray[np.float64]) -> Any:
        # A model without trees has the margin that it is given: the library's own float32 sigmoid does the rest.
        limits = np.finfo(np.float32)
        margins = np.clip(scores, float(limits.min), float(limits.max)).astype(np.float32)
        table = xgb.DMatrix(np.zeros((len(scores), empty.num_features())), base_margin=margins, nthread=1)
        second = empty.predict(table)
        return np.stack([1.0 - second, second], axis=1)

    return signed(ask, column)


def _fitted(model: Any) -> Any:
    try:
        booster = model.get_booster()
    except (AttributeError, ValueError) as error:  # scikit-learn's NotFittedError is both
        name = type(model).__name__
        raise UnfittedModelError(
            f"Expected a fitted {name}, but this one has not been fitted; call fit first."
        ) from error
    check_own_predict(booster)
    return booster


def _missing(model: Any) -> dict[str, Any]:
    """Return what an estimator's ``predict`` takes for missing, besides NaN."""
    if not isinstance(model.missing, int | float | np.number):
        raise UnsupportedModelError(
            f"{type(model).__name__}(missing=...) should be a number or nan, but "
            f"{quoted(model.missing)} was found, which "
            "predict refuses; set a number."
        )
    return {"missing": float(model.missing), "is_sparse": gets_sparse_tables()}


@reads(xgb.Booster)
def _booster(model: Any, domain: Domain) -> TreeSum:
    check_float32(domain, model)  # a DMatrix refuses what the estimators take for infinity
    file, base = _file_of(model)
    return sum_of_file(file, domain, Reading(iterations="all", base=base))


@reads(xgb.XGBClassifier)
def _classifier(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    kind, labels = objective_kind(file), plain_labels(model.classes_)
    if kind == "sign" and len(labels) == 1:
        labels = (0, 1)  # trained on one class, predict still gives 1 where the margin is above the threshold
    if kind == "identity" or (kind == "argmax" and len(labels) < 3):
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} and {len(labels)} classes does not predict "
            "a class as classifiers do; train it with objective 'binary:logistic' or 'multi:softprob'."
        )
    # predict compares what the objective outputs with 0.5: for logitraw that is the margin itself.
    threshold = Fraction(1, 2) if file.objective == "binary:logitraw" else Fraction(0)
    return sum_of_file(file, domain, Reading(labels=labels, base=base, threshold=threshold, **_missing(model)))


@reads(xgb.XGBRegressor)
def _regressor(model: Any, domain: Domain) -> TreeSum:
    file, base = _file_of(_fitted(model))
    if objective_kind(file) != "identity":
        raise UnsupportedModelError(
            f"{type(model).__name__} with objective {file.objective!r} predicts a probability or a class number, "
            "which has no exact form as a regression; train an XGBClassifier, or use 'reg:squarederror'."
        )
    return sum_of_file(file, domain, Reading(base=base, **_missing(model)))


@predicts(xgb.XGBModel)
def _ask_estimator(model: Any, domain: Domain) -> Predict:
    return table_predictor(model, domain, categories=_categories(model.get_booster()))


@predicts(xgb.Booster)
def _ask_booster(model: Any, domain: Domain) -> Predict:
    objective = str(json.loads(model.save_config())["learner"]["objective"]["name"])
    categories = _categories(model)
    named = bool(categories) and _names_categories(model)

    def predict(codes: Codes) -> list[Any]:
        if named:
            columns = dict(zip(model.feature_names, blocks_of(domain, codes), strict=True))
            frame = frame_of(columns, categories=categories, domain=domain)
            return _decided(np.asarray(model.predict(xgb.DMatrix(frame, enable_categorical=True))), objective)
        numbers = numbers_of(domain, codes)
        table = xgb.DMatrix(numbers, feature_names=model.feature_names, feature_types=model.feature_types)
        return _decided(np.asarray(model.predict(table)), objective)

    return predict


class _OneThread:
    """A copy of a booster that predicts on one thread, made anew when the booster was trained on.

    The number of threads is a parameter of the booster, and that is its owner's: waking them for a single row takes
    longer than to explain it, and ten times as long while other cores are busy.
    """

    def __init__(self) -> None:
        self._of: tuple[Any, Any, Any, int] = (None, None, None, 0)

    def predict(self, booster: Any, rows: Codes, *, best: bool = False, missing: float = np.nan) -> npt.NDArray[Any]:
        """Return what the booster gives; by the rounds up to the best one, if training was stopped early and `best`."""
        found = (booster.num_boosted_rounds(), booster.attr("best_iteration"))
        source, state, copied, width = self._of
        if source is not booster or state != found:
            copied = booster.copy()
            copied.set_param({"nthread": 1})
            width = copied.num_features()
            self._of = (booster, found, copied, width)  # in one step: another thread may be asking
        end = int(found[1]) + 1 if best and found[1] is not None else 0
        return predict_in_place(copied, rows, width=width, end=end, missing=missing)


@compares(xgb.XGBModel)
@compares(xgb.Booster)
def _compare(model: Any, domain: Domain) -> Predict | None:
    booster = model if isinstance(model, xgb.Booster) else model.get_booster()
    asked = None if _categories(booster) else plain_predictor(model, domain)
    config = json.loads(booster.save_config())["learner"]
    if asked is None or config["learner_train_param"]["booster"] == "gblinear":  # which is not asked in place
        return asked
    one_thread, objective = _OneThread(), str(config["objective"]["name"])

    def predict_by_booster(codes: Codes) -> list[Any]:
        return _decided(one_thread.predict(booster, numbers_of(domain, codes)), objective)

    def predict(codes: Codes) -> list[Any]:
        # As the estimator's own predict does it, with all parameters as they are now, but without its many checks.
        rows = numbers_of(domain, codes)
        found = one_thread.predict(model.get_booster(), rows, best=True, missing=model.missing)
        return _classes(found, model) if isinstance(model, xgb.XGBClassifier) else found.reshape(-1).tolist()

    return predict_by_booster if isinstance(model, xgb.Booster) else predict


def _classes(found: npt.NDArray[Any], model: Any) -> list[int]:
    """Return the classes that a classifier makes of what its booster gives."""
    if found.ndim == 2 and found.shape[1] > 1:
        return found.argmax(axis=1).tolist()
    flat = found.reshape(-1)
    return flat.astype(np.int32).tolist() if model.objective == "multi:softmax" else (flat > 0.5).astype(int).tolist()


def _categories(booster: Any) -> list[int]:
    """Return the columns that the library knows as categories."""
    return [k for k, kind in enumerate(booster.feature_types or ()) if kind == "c"]


def _names_categories(booster: Any) -> bool:
    """Tell whether a model was trained on a frame, whose categories have names."""
    trained = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    grown = trained.get("gbtree", trained).get("model", {})
    return any(len(e.get("values", ())) for e in (grown.get("cats") or {}).get("enc", ()))


def _decided(found: npt.NDArray[Any], objective: str) -> list[Any]:
    """Return classes, where a booster gives probabilities."""
    if found.ndim == 2 and found.shape[1] > 1:
        return found.argmax(axis=1).tolist()
    if objective.startswith("binary"):
        half = 0.0 if objective == "binary:logitraw" else 0.5  # that one gives margins
        return (found.reshape(-1) > half).astype(np.int64).tolist()
    if objective.startswith("multi:softmax"):
        return found.reshape(-1).astype(np.int64).tolist()
    return found.reshape(-1).astype(np.float64).tolist()
