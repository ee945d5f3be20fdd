"""A booster's predictions of a few rows, through XGBoost's C interface: its Python one takes ten times as long."""

from __future__ import annotations

import ctypes
import json
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from xgboost.libpath import find_lib_path

__all__ = ["predict_in_place"]


_Size, _Float = ctypes.c_uint64, ctypes.c_float


@cache
def _function() -> Any:
    """Return ``XGBoosterPredictFromDense``, which is documented for callers from C; None where there is none."""
    try:
        found = ctypes.CDLL(find_lib_path()[0]).XGBoosterPredictFromDense
    except (AttributeError, IndexError, OSError):
        return None
    pointers: list[Any] = [ctypes.POINTER(ctypes.POINTER(_Size)), ctypes.POINTER(_Size)]
    pointers.append(ctypes.POINTER(ctypes.POINTER(_Float)))
    found.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, *pointers]
    found.restype = ctypes.c_int
    return found


@cache
def _settings(end: int, missing: str) -> bytes:
    """Return how to predict: values and not margins, by the rounds up to `end`, 0 for all."""
    asked = {"type": 0, "training": False, "iteration_begin": 0, "iteration_end": end, "strict_shape": False}
    return json.dumps({**asked, "missing": float(missing), "cache_id": 0}).encode()


def predict_in_place(
    booster: Any, rows: npt.NDArray[np.float64], *, width: int, end: int = 0, missing: float = np.nan
) -> npt.NDArray[np.float32]:
    """Return what ``booster.inplace_predict`` does.

    Parameters
    ----------
    booster
        The booster, of trees.
    rows
        A row per point.
    width
        How many columns the booster was trained on: the library reads as many, whether there are or not.
    end
        Up to which round; 0: all.
    missing
        What stands for missing, besides NaN.
    """
    function = _function()
    table = np.ascontiguousarray(rows, dtype=np.float64)
    if function is not None and table.size and table.shape[1:] == (width,):
        found = _asked(function, booster, table, _settings(int(end), repr(float(missing))))
        if found is not None:
            return found
    # This raises what is to be raised.
    return np.asarray(booster.inplace_predict(rows, iteration_range=(0, end), missing=missing))


def _asked(
    function: Any, booster: Any, table: npt.NDArray[np.float64], settings: bytes
) -> npt.NDArray[np.float32] | None:
    """Return the predictions; None if the library refuses."""
    layout = {"data": [table.ctypes.data, True], "shape": table.shape, "typestr": table.dtype.str, "version": 3}
    shape, n_dims, values = ctypes.POINTER(_Size)(), _Size(), ctypes.POINTER(_Float)()
    places = ctypes.byref(shape), ctypes.byref(n_dims), ctypes.byref(values)
    if function(booster.handle, json.dumps(layout).encode(), settings, None, *places) != 0:
        return None
    # A copy: the library's own is overwritten by the next call.
    return np.ctypeslib.as_array(values, tuple(shape[k] for k in range(n_dims.value))).copy()
