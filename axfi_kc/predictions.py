"""The model's own ``predict`` on points of the domain."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.errors import MissingExtraError, RoundingError, UnsupportedModelError
from axfi_kc.features import Categorical, Integer
from axfi_kc.measures import shown

__all__ = ["Codes", "Predict", "check_predictions", "own_predictor", "predictor"]

Codes = npt.NDArray[np.float64]
Predict = Callable[[Codes], list[Any]]
_LIBRARIES = ("sklearn", "xgboost", "lightgbm")
_OWN_CATEGORIES = ("xgboost", "lightgbm")
_CLOSE = Fraction(1, 10**5)  # relative, of a regression: far more than any library loses


def predictor(model: Any, domain: Domain) -> Predict:
    """Return a function from codes, a row per point, to the outputs of the model's own ``predict``.

    Raises
    ------
    UnsupportedModelError
        If the model can neither be called nor asked to predict.

    Examples
    --------
    >>> predict = predictor(lambda point: point[0] > 3, Domain([Integer("age", 0, 9)]))
    >>> predict(np.array([[2.0], [7.0]]))
    [False, True]
    """
    kind = f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    if kind == "xgboost.Booster":
        return _xgboost_booster(model, domain)
    if kind == "lightgbm.Booster":
        return _lightgbm_booster(model, domain)
    if kind.startswith("axfi_kc."):
        return lambda codes: model.predict(_values(domain, codes))
    if hasattr(model, "predict"):
        return lambda codes: _asked(model, _columns(model, domain, codes))
    if callable(model):
        return lambda codes: [_item(model(domain.decode(row))) for row in codes]
    raise UnsupportedModelError(
        f"Expected a model with predict, or a function, but {type(model).__name__} was given; give the model that "
        "was explained."
    )


def own_predictor(model: Any, domain: Domain) -> Predict | None:
    """Return the predictor of a trained model, if its columns are plain numbers; None elsewhere.

    Neutral forms and functions have no output but the exact one, and frames with categories of a library's own are
    left to it.
    """
    if type(model).__module__.partition(".")[0] not in _LIBRARIES:
        return None
    listed = (code for f in domain.features if isinstance(f, Categorical) for row in f.codes for code in row)
    booster = getattr(model, "booster_", model)
    if not all(isinstance(code, int | float) for code in listed) or getattr(booster, "pandas_categorical", None):
        return None
    boosted = model.get_booster() if hasattr(model, "get_booster") else model
    if "c" in (getattr(boosted, "feature_types", None) or ()):
        return None
    return (
        _sklearn_tree(model, domain) if type(model).__module__.startswith("sklearn.tree.") else predictor(model, domain)
    )


def _sklearn_tree(model: Any, domain: Domain) -> Predict:
    """Ask a single tree without scikit-learn's checks of its input, which take longer than explaining it."""

    def predict(codes: Codes) -> list[Any]:
        table = np.column_stack([block.astype(np.float64) for block in _blocks(domain, codes)])
        return _plain(model.predict(table.astype(np.float32), check_input=False))

    return predict


def check_predictions(predict: Predict, codes: Codes, outputs: Sequence[Any]) -> None:
    """Compare exact outputs with those of the model's own ``predict``.

    Raises
    ------
    RoundingError
        If they disagree.

    Notes
    -----
    One call of ``predict`` for all rows.
    """
    if not len(codes):
        return
    for n, (own, exact) in enumerate(zip(predict(codes), outputs, strict=True)):
        if own != exact and not (isinstance(exact, Fraction) and _is_close(own, exact)):
            raise RoundingError(
                f"The model's own predict should give the exact output {_seen(exact)} at row {n}, but it gives "
                f"{_seen(own)}: the row lies within the library's rounding of a tie; explain the exact model "
                "(ax.read_model), or move it."
            )


def _seen(output: Any) -> str:
    """Return an output with all digits of a float: the two that disagree may do so in the last."""
    return shown(float(output) if isinstance(output, Fraction) else output, digits=None, quoted=True)


def _is_close(own: Any, exact: Fraction) -> bool:
    return abs(Fraction(own) - exact) <= _CLOSE * (1 + abs(exact))


def _item(output: Any) -> Any:
    return output.item() if isinstance(output, np.generic) else output


def _asked(model: Any, table: Any) -> list[Any]:
    try:
        return _plain(model.predict(table))
    except (TypeError, ValueError) as error:
        raise UnsupportedModelError(
            f"{type(model).__name__} should predict at points of the domain, but says: {error}; give the domain the "
            "numbers that the model was trained on."
        ) from error


def _plain(outputs: Any) -> list[Any]:
    return np.asarray(outputs).reshape(-1).tolist()


def _values(domain: Domain, codes: Codes) -> list[dict[str, Any]]:
    return [dict(zip(domain.names, domain.decode(row), strict=True)) for row in codes]


def _blocks(domain: Domain, codes: Codes) -> list[npt.NDArray[Any]]:
    """Return the points as the model's columns."""
    found: list[npt.NDArray[Any]] = []
    for i, feature in enumerate(domain.features):
        if isinstance(feature, Categorical):
            places = codes[:, i].astype(np.int64)
            found += [np.array(column)[places] for column in zip(*feature.codes, strict=True)]
        else:
            found.append(codes[:, i].astype(np.int64) if isinstance(feature, Integer) else codes[:, i])
    return found


def _columns(model: Any, domain: Domain, codes: Codes) -> Any:
    """Return the points as the table that the model was trained on: a frame if it knows names."""
    blocks = _blocks(domain, codes)
    names = getattr(model, "feature_names_in_", None)
    if names is None and all(block.dtype.kind in "biuf" for block in blocks):
        return np.column_stack([block.astype(np.float64) for block in blocks])
    own = type(model).__module__.partition(".")[0] in _OWN_CATEGORIES
    columns = dict(zip(domain.columns if names is None else names, blocks, strict=True))
    return _frame(columns, categories=_own_categories(model) if own else None)


def _own_categories(model: Any) -> list[int]:
    """Return the columns that a library knows as categories by names of its own."""
    boosted = model.get_booster() if hasattr(model, "get_booster") else getattr(model, "booster_", model)
    types = getattr(boosted, "feature_types", None)
    if types:
        return [k for k, kind in enumerate(types) if kind == "c"]
    if not getattr(boosted, "pandas_categorical", None):
        return []
    dump = boosted.dump_model(num_iteration=1)
    infos = dump.get("feature_infos") or {}
    return [k for k, name in enumerate(dump["feature_names"]) if (infos.get(name) or {}).get("values")]


def _frame(columns: dict[str, npt.NDArray[Any]], *, categories: Sequence[int] | None) -> Any:
    """Return columns as a frame; words, and the columns given, become categories for libraries that have them."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "Asking this model to predict") from error
    frame = pd.DataFrame(columns)
    if categories is None:
        return frame
    pairs = enumerate(columns.items())
    named = [name for k, (name, block) in pairs if k in categories or block.dtype.kind not in "biuf"]
    return frame.astype(dict.fromkeys(named, "category"))


def _xgboost_booster(model: Any, domain: Domain) -> Predict:
    import xgboost

    objective = str(json.loads(model.save_config())["learner"]["objective"]["name"])
    categories = _own_categories(model)
    named = bool(categories) and _names_categories(model)

    def predict(codes: Codes) -> list[Any]:
        blocks = _blocks(domain, codes)
        if named:
            frame = _frame(dict(zip(model.feature_names, blocks, strict=True)), categories=categories)
            return _decided(np.asarray(model.predict(xgboost.DMatrix(frame, enable_categorical=True))), objective)
        numbers = np.column_stack([block.astype(np.float64) for block in blocks])
        table = xgboost.DMatrix(numbers, feature_names=model.feature_names, feature_types=model.feature_types)
        return _decided(np.asarray(model.predict(table)), objective)

    return predict


def _names_categories(booster: Any) -> bool:
    """Tell whether an XGBoost model was trained on a frame, whose categories have names."""
    trained = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    grown = trained.get("gbtree", trained).get("model", {})
    return any(len(e.get("values", ())) for e in (grown.get("cats") or {}).get("enc", ()))


def _lightgbm_booster(model: Any, domain: Domain) -> Predict:
    objective = str(model.dump_model(num_iteration=1).get("objective", ""))
    categories = _own_categories(model)

    def predict(codes: Codes) -> list[Any]:
        blocks = _blocks(domain, codes)
        if categories:
            frame = _frame(dict(zip(model.feature_name(), blocks, strict=True)), categories=categories)
            return _decided(np.asarray(model.predict(frame)), objective)
        numbers = np.column_stack([block.astype(np.float64) for block in blocks])
        return _decided(np.asarray(model.predict(numbers)), objective)

    return predict


def _decided(found: npt.NDArray[Any], objective: str) -> list[Any]:
    """Return classes, where a booster gives probabilities."""
    if found.ndim == 2 and found.shape[1] > 1:
        return found.argmax(axis=1).tolist()
    if objective.startswith("binary"):
        return (found.reshape(-1) > 0.5).astype(np.int64).tolist()
    if objective.startswith("multi:softmax"):
        return found.reshape(-1).astype(np.int64).tolist()
    return found.reshape(-1).astype(np.float64).tolist()
