"""How hot loops are compiled: one decorator for kernels, one for their parts, and a word while numba is at it.

Imported by modules of kernels only, because it imports numba. What keeps compiling short, in kernels themselves: plain
loops over flat arrays that the caller has made. A slice that is assigned or copied, a sort or an allocation makes numba
compile its own library too, error messages included, for seconds.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import event

__all__ = ["kernel", "part"]


_log = logging.getLogger("axfi_kc")
_OURS = __name__.partition(".")[0]
# No kernel divides by what may be 0, so there need be no code that raises for it.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls: on first use, and kept on disk where that can be written.

    Examples
    --------
    >>> @kernel
    ... def double(n):
    ...     return 2 * n
    >>> double(21)
    42
    """
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # neither the installation nor the user's own cache can be written
        return _kept_elsewhere(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: without what Python and C would need to call it."""
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_OPTIONS)(function)


def _kept_elsewhere(function: Callable[..., Any]) -> Any:
    before, folder = numba.config.CACHE_DIR, _private_folder()
    try:
        if folder is not None:
            numba.config.CACHE_DIR = folder
            return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # not even there, as for what was typed in and is in no file
        pass
    finally:
        numba.config.CACHE_DIR = before  # it is no setting of ours, and others may compile too
    _say_once("kernels cannot be kept on disk here and are compiled in each run; set NUMBA_CACHE_DIR to a folder")
    return njit(**_OPTIONS)(function)


def _private_folder() -> str | None:
    """Return a folder among temporary files that is the user's alone: what lies there is run."""
    if not hasattr(os, "getuid"):
        return None
    path = Path(tempfile.gettempdir()) / f"axfi-kc-kernels-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return str(path) if is_private and os.access(path, os.W_OK) else None


_said: set[str] = set()


def _say_once(text: str) -> None:
    """Say a line to the log, and on a terminal: who waits for seconds there wants to know for what."""
    if text in _said:
        return
    _said.add(text)
    _log.info(text)
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"axfi-kc: {text}\n")


class _Compiling(event.Listener):  # type: ignore[misc]
    """Says so when a kernel of ours is compiled, and not merely loaded."""

    def on_start(self, event: Any) -> None:
        """Say so, the first time."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if getattr(function, "__module__", "").partition(".")[0] == _OURS:
            _say_once("compiling kernels, once for each kind of model; `axfi-kc warm-up` does it for all")

    def on_end(self, event: Any) -> None:
        """Say nothing: the answer follows."""


event.register("numba:compile", _Compiling())
