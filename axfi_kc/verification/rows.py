"""The model's own ``predict`` on points of the domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.errors import MissingExtraError, UnsupportedModelError
from axfi_kc.features import Categorical, Integer

__all__ = ["Codes", "Predict", "predictor"]

Codes = npt.NDArray[np.float64]
Predict = Callable[[Codes], list[Any]]


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
        return lambda codes: _plain(model.predict(_columns(model, domain, codes)))
    if callable(model):
        return lambda codes: [_item(model(domain.decode(row))) for row in codes]
    raise UnsupportedModelError(
        f"Expected a model with predict, or a function, but {type(model).__name__} was given; give the model that "
        "was explained."
    )


def _item(output: Any) -> Any:
    return output.item() if isinstance(output, np.generic) else output


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
    return _frame(dict(zip(domain.columns if names is None else names, blocks, strict=True)))


def _frame(columns: dict[str, npt.NDArray[Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "Asking this model to predict") from error
    return pd.DataFrame(columns)


def _xgboost_booster(model: Any, domain: Domain) -> Predict:
    import xgboost

    from axfi_kc.verification.xgboost_forms import objective_of

    objective = objective_of(model)

    def predict(codes: Codes) -> list[Any]:
        numbers = np.column_stack([block.astype(np.float64) for block in _blocks(domain, codes)])
        table = xgboost.DMatrix(numbers, feature_names=model.feature_names, feature_types=model.feature_types)
        return _decided(np.asarray(model.predict(table)), objective)

    return predict


def _lightgbm_booster(model: Any, domain: Domain) -> Predict:
    from axfi_kc.verification.lightgbm_forms import objective_of

    objective = objective_of(model)

    def predict(codes: Codes) -> list[Any]:
        numbers = np.column_stack([block.astype(np.float64) for block in _blocks(domain, codes)])
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
