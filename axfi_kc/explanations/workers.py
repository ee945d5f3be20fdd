"""Work on blocks of rows in several workers that share one compiled model.

The model is pickled once, into an array. Workers of this machine map that array from a file,
workers of a cluster get it scattered once, and each process turns it back into a model once: what
travels with a task is the block itself and the model's fingerprint. A forked worker has the model
already.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import is_whole, quoted
from axfi_kc.errors import DomainError

__all__ = ["check_workers", "in_workers", "is_parallel"]


_KEPT = 4  # models a process holds
_SMALLEST_MAPPED = 1000  # bytes; a smaller array travels with the task
_MOST = 1 << 15  # workers that anybody can mean
_WAVE = 4  # blocks per worker between two writes, where results come in lists
_held: dict[str, Any] = {}
_holding = Lock()  # threads of one process may each share out work


def check_workers(n_jobs: Any) -> None:
    """Raise unless `n_jobs` is a number of workers as joblib counts them, or None."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0 or abs(n_jobs) > _MOST):
        raise DomainError(
            f"n_jobs must be a number of workers (-1 for all cores) or None, but "
            f"{quoted(n_jobs)} was given; give 1 or leave "
            "it out to do without."
        )


def is_parallel(n_jobs: int | None) -> bool:
    """Tell whether joblib would use more than one worker.

    None stands for one, or for what ``joblib.parallel_config`` says.
    """
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):
        return False
    from joblib import effective_n_jobs

    return bool(effective_n_jobs(n_jobs) > 1)


def in_workers(
    function: Callable[..., Any], blocks: Iterable[tuple[Any, ...]], *, n_jobs: int | None = None
) -> Iterator[Any]:
    """Yield ``function(*block)`` for each block, in order, as results are made.

    The function is sent to each worker once, blocks as workers get free; `n_jobs` is as in :func:`is_parallel`.

    Examples
    --------
    >>> list(in_workers(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    if not is_parallel(n_jobs):
        yield from (function(*block) for block in blocks)
        return
    from joblib import delayed

    pickled = _cloudpickle().dumps(function)
    key = hashlib.sha256(pickled).hexdigest()
    payload = np.frombuffer(pickled, dtype=np.uint8)
    _hold(key, function)
    yield from _results((delayed(_call)(key, payload, block) for block in blocks), n_jobs)


def _results(tasks: Iterator[Any], n_jobs: int | None) -> Iterator[Any]:
    from joblib import Parallel, effective_n_jobs

    try:
        run = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=_SMALLEST_MAPPED)
    except ValueError:  # this backend returns lists only (multiprocessing, Ray): work in waves
        with Parallel(n_jobs=n_jobs, max_nbytes=_SMALLEST_MAPPED) as run:
            while wave := list(islice(tasks, _WAVE * effective_n_jobs(n_jobs))):
                yield from run(wave)
    else:
        yield from run(tasks)


def _cloudpickle() -> Any:
    """Return the pickler that also takes what was defined in a notebook; joblib always brings it."""
    try:
        import cloudpickle
    except ImportError:  # joblib before 1.6 has its own copy
        from joblib.externals import cloudpickle
    return cloudpickle


def _hold(key: str, function: Any) -> None:
    with _holding:
        while len(_held) >= _KEPT:
            _held.pop(next(iter(_held)))
        _held[key] = function


def _call(key: str, payload: npt.NDArray[np.uint8], block: tuple[Any, ...]) -> Any:
    """Run one block, unpickling the function the first time a process meets it."""
    function = _held.get(key)
    if function is None:
        function = pickle.loads(payload.tobytes())  # noqa: S301 - pickled by in_workers itself
        _hold(key, function)
    return function(*block)
