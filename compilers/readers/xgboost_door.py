"""A booster's predictions of a few rows, through XGBoost's C interface: its Python one takes ten times as long."""

from __future__ import annotations

import ctypes
import json
import math
import threading
import weakref
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from xgboost.libpath import find_lib_path

__all__ = ["predict_in_place"]


_Size, _Float = ctypes.c_uint64, ctypes.c_float
_LAYOUT = (
    b'{"data": [%d, true], "shape": [%d, %d], "typestr": "' + np.dtype(np.float64).str.encode() + b'", "version": 3}'
)
_FEW = 16  # predictions


class _Door:
    """The functions of the library that are asked, all documented for callers from C."""

    def __init__(self) -> None:
        library = ctypes.CDLL(find_lib_path()[0])
        self.predict = library.XGBoosterPredictFromDense
        self._create, self._free = library.XGProxyDMatrixCreate, library.XGDMatrixFree
        pointers: list[Any] = [ctypes.POINTER(ctypes.POINTER(_Size)), ctypes.POINTER(_Size)]
        pointers.append(ctypes.POINTER(ctypes.POINTER(_Float)))
        self.predict.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, *pointers]
        self._create.argtypes, self._free.argtypes = [ctypes.POINTER(ctypes.c_void_p)], [ctypes.c_void_p]
        self._of_thread = threading.local()

    @property
    def proxy(self) -> Any:
        """What the library would otherwise make for each call, which takes as long as to predict; one per thread."""
        found = getattr(self._of_thread, "proxy", None)
        if found is None:
            found = ctypes.c_void_p()
            if self._create(ctypes.byref(found)) == 0:
                weakref.finalize(found, self._free, found.value)
            self._of_thread.proxy = found  # if none could be made, null, with which the library makes its own
        return found


@cache
def _door() -> _Door | None:
    """Return the way in; None where there is none."""
    try:
        return _Door()
    except (AttributeError, IndexError, OSError):
        return None


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
    door = _door()
    table = np.ascontiguousarray(rows, dtype=np.float64)
    if door is not None and table.size and table.shape[1:] == (width,):
        found = _asked(door, booster, table, _settings(int(end), repr(float(missing))))
        if found is not None:
            return found
    # This raises what is to be raised.
    return np.asarray(booster.inplace_predict(rows, iteration_range=(0, end), missing=missing))


def _asked(
    door: _Door, booster: Any, table: npt.NDArray[np.float64], settings: bytes
) -> npt.NDArray[np.float32] | None:
    """Return the predictions; None if the library refuses."""
    layout = _LAYOUT % (table.ctypes.data, *table.shape)
    shape, n_dims, values = ctypes.POINTER(_Size)(), _Size(), ctypes.POINTER(_Float)()
    places = ctypes.byref(shape), ctypes.byref(n_dims), ctypes.byref(values)
    if door.predict(booster.handle, layout, settings, door.proxy, *places) != 0:
        return None
    dims = shape[: n_dims.value]
    # A copy: the library's own is overwritten by the next call. Of a few numbers, through a list is the shortest way.
    count = math.prod(dims)
    if count <= _FEW:
        return np.array(values[:count], np.float32).reshape(dims)
    return np.ctypeslib.as_array(values, tuple(dims)).copy()
