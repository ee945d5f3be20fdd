"""How hot loops are compiled: decorators for kernels and their parts, and a word while numba is at it.

Imported by modules of kernels only, because it imports numba. What keeps compiling short, in kernels themselves:

- Plain loops over flat arrays that the caller has made. A slice that is assigned or copied, a sort or an allocation
  makes numba compile its own library too, error messages included, for seconds.
- Kernels of many arrays are :func:`flat_kernel`: a tenth of the instructions, and faster ones.
- A part is compiled for each mixture of types that it is called with, literals included: ``np.int64(0)`` and
  ``np.bool_(True)`` are of one type with what is read from arrays, ``0`` and ``True`` are not.
- A kernel is compiled when the question that needs it is asked.
"""

from __future__ import annotations

import gc
import inspect
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import event, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass

from axfi_kc.flat_arrays import flat
from axfi_kc.terminal import is_watched

__all__ = ["flat_kernel", "kernel", "number_compiled", "part"]


_log = logging.getLogger("axfi_kc")
_NOT_KEPT = "kernels cannot be kept on disk here and are compiled in each run; set NUMBA_CACHE_DIR to a folder"
_OURS = __name__.partition(".")[0]


class _PlainCompiler(Compiler):  # type: ignore[misc]
    """Leaves out what numba does about closures, literals and expressions of whole arrays: kernels have none.

    Each such pass looks for them in all that there is, and then finds out anew which variables are alive where.
    """

    _NOT_NEEDED = frozenset(
        {
            untyped_passes.WithLifting, untyped_passes.InlineClosureLikes, untyped_passes.RewriteSemanticConstants,
            untyped_passes.DeadBranchPrune, untyped_passes.MakeFunctionToJitFunction, untyped_passes.InlineInlinables,
            untyped_passes.FindLiterallyCalls, untyped_passes.LiteralUnroll,
            untyped_passes.LiteralPropagationSubPipelinePass, typed_passes.InlineOverloads,
            typed_passes.NopythonRewrites, typed_passes.DumpParforDiagnostics,
        }
    )  # fmt: skip
    _made_into: type[AnalysisPass] | None = None

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes[:] = [step for step in pipeline.passes if step[0] not in self._NOT_NEEDED]
            if self._made_into is not None:
                pipeline.add_pass_after(self._made_into, typed_passes.NopythonTypeInference)
            pipeline.finalize()
        return pipelines


# No kernel divides by what may be 0, so there need be no code that raises for it.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "pipeline_class": _PlainCompiler}


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
    return _kept(function, _OPTIONS)


def part(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: without what Python and C would need to call it."""
    options = _OPTIONS | {"pipeline_class": _PartCompiler}
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


class _PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is only linked into that of kernels: optimised and made into machine code there, once.

    numba does both for each function by itself, too, with all that it calls: what is called at depth four, five times.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> _PartLibrary:
        """Whom numba asks to set the environment."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Leave out what only code that runs by itself has."""


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsPart(AnalysisPass):  # type: ignore[misc]
    _name = "axfi_kc_part"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _PartCompiler(_PlainCompiler):
    _made_into = _AsPart


# Flat arrays are not counted, and what has none but these needs no code that counts.
_FLAT_OPTIONS: dict[str, Any] = _OPTIONS | {"_nrt": False}


def flat_kernel(**records: type) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function that Python calls, and that sees its arrays as :mod:`axfi_kc.flat_arrays`.

    Parameters
    ----------
    **records
        Which parameters are named tuples, and of which class.

    Examples
    --------
    >>> import numpy as np
    >>> from typing import NamedTuple
    >>> class Pair(NamedTuple):
    ...     a: np.ndarray
    ...     b: np.ndarray
    >>> @flat_kernel(P=Pair)
    ... def add(P, n):
    ...     for i in range(n):
    ...         P.a[i] += P.b[i]
    >>> pair = Pair(np.arange(3), np.arange(3))
    >>> add(pair, 2)
    >>> pair.a.tolist()
    [0, 2, 2]

    Notes
    -----
    Python passes each array by itself: numba knows the type of an array at once, and finds out that of a named tuple
    of arrays at every call, in tenths of a millisecond.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        if numba.config.DISABLE_JIT:
            return function
        given, passed, built = list(inspect.signature(function).parameters), [], []
        for name in given:
            fields = [f"{name}_{field}" for field in getattr(records.get(name), "_fields", ())]
            passed += fields or [name]
            inside = ", ".join(f"flat({field})" for field in fields or [name])
            built.append(f"{name}_class({inside})" if fields else inside)
        names = {"flat": flat, "inner": part(function)} | {f"{name}_class": kind for name, kind in records.items()}
        outer = _written(function, f"({', '.join(passed)}): return inner({', '.join(built)})", names)
        names["outer"] = _kept(outer, _FLAT_OPTIONS)
        spread = ", ".join(f"*{name}" if name in records else name for name in given)
        return wraps(function)(_written(function, f"({', '.join(given)}): return outer({spread})", names))

    return decorate


def _written(function: Callable[..., Any], text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """Return a function as `text` says, which for numba's cache stands where `function` does."""
    names = names | {"__name__": function.__module__}
    exec(compile(f"def {function.__name__}{text}", function.__code__.co_filename, "exec"), names)  # noqa: S102
    written: Callable[..., Any] = names[function.__name__]
    return written


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return _forgiving(njit(cache=True, **options)(function))
    except RuntimeError:  # neither the installation nor the user's own cache can be written
        return _kept_elsewhere(function, options)


def _forgiving(made: Any) -> Any:
    """Let a kernel work whose machine code is damaged, or cannot be written: the disk may be full, the folder gone."""
    cache: Any = getattr(made, "_cache", None)  # absent where compiling is turned off
    save, load = getattr(cache, "save_overload", None), getattr(cache, "load_overload", None)
    if save is not None and load is not None:

        def load_if_possible(signature: Any, context: Any) -> Any:
            try:
                found = load(signature, context)
            except Exception:  # what is said of damaged files may be anything at all
                _forget(cache)
                return None
            # Two processes that keep a kernel for different types at once may give their files one name.
            return found if found is not None and found.signature.args == tuple(signature) else None

        def save_if_possible(signature: Any, data: Any) -> None:
            try:
                save(signature, data)
            except OSError:
                _say_once(_NOT_KEPT)
            except RuntimeError as error:  # no machine code, for Ctrl-C came while LLVM was at it, which let it pass
                raise KeyboardInterrupt from error

        cache.load_overload, cache.save_overload = load_if_possible, save_if_possible
    return made


def _forget(cache: Any) -> None:
    """Forget what was kept of a kernel, so that it is compiled and kept once more; without keeping it, if need be."""
    try:
        cache.flush()
    except OSError:
        cache.disable()
        _say_once(_NOT_KEPT)


def _kept_elsewhere(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    before, folder = numba.config.CACHE_DIR, _private_folder()
    try:
        if folder is not None:
            numba.config.CACHE_DIR = folder
            return _forgiving(njit(cache=True, **options)(function))
    except RuntimeError:  # not even there, as for what was typed in and is in no file
        pass
    finally:
        numba.config.CACHE_DIR = before  # it is no setting of ours, and others may compile too
    _say_once(_NOT_KEPT)
    return njit(**options)(function)


def _private_folder() -> str | None:
    """Return a folder among temporary files that is the user's alone: what lies there is run."""
    if not hasattr(os, "getuid"):
        return None
    try:
        path = Path(tempfile.gettempdir()) / f"axfi-kc-kernels-{os.getuid()}"  # an OSError where nothing can be written
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
    if is_watched():
        sys.stderr.write(f"axfi-kc: {text}\n")


class _Compiling(event.Listener):  # type: ignore[misc]
    """Says so when a kernel of ours is compiled, and not merely loaded.

    Meanwhile nothing is searched for garbage: numba makes millions of objects that are needed to the end, and looking
    through them again and again takes a tenth of the time.
    """

    def __init__(self) -> None:
        self.number, self._depth, self._collects = 0, 0, False

    def on_start(self, event: Any) -> None:
        """Say so, the first time."""
        if not self._depth:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if getattr(function, "__module__", "").partition(".")[0] == _OURS:
            self.number += 1
            _say_once("compiling kernels, once for each kind of model; `axfi-kc warm-up` does it for all")

    def on_end(self, event: Any) -> None:
        """Say nothing: the answer follows."""
        self._depth -= 1
        if not self._depth and self._collects:
            gc.enable()


_compiling = _Compiling()
event.register("numba:compile", _compiling)


def number_compiled() -> int:
    """Return how many functions of ours were compiled in this process, and not merely loaded."""
    return _compiling.number
