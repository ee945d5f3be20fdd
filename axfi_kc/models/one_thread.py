"""Ask a model about a few rows without waking threads, which takes longer than to answer: on busy cores, far longer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

__all__ = ["one_thread"]


_MANY = 2048  # rows from which threads pay
_WITH_OPENMP = ("catboost", "lightgbm", "sklearn", "xgboost")


@contextmanager
def one_thread(rows: int) -> Iterator[None]:
    """Keep the calls within to one thread, if they are about few rows: workers of joblib, and threads of OpenMP.

    Both limits are the calling thread's own, so other threads may go on as they like, and no model is changed.

    Examples
    --------
    >>> with one_thread(1):
    ...     answer = 6 * 7
    """
    if rows >= _MANY:
        yield
        return
    with _without_workers(), _without_openmp():
        yield


def _without_workers() -> AbstractContextManager[Any]:
    if "joblib" not in sys.modules:  # nobody can have workers
        return nullcontext()
    from joblib import parallel_config

    return parallel_config(backend="sequential")  # which also holds for models inside of models


def _without_openmp() -> AbstractContextManager[Any]:
    if "threadpoolctl" not in sys.modules:  # scikit-learn brings it
        return nullcontext()
    return _controller(tuple(name in sys.modules for name in _WITH_OPENMP)).limit(limits=1)


@cache
def _controller(loaded: tuple[bool, ...]) -> Any:
    """Return what limits the threads of the libraries loaded so far; to look for these takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")
