"""A second process that compiles some kernels while this one compiles others.

numba compiles one kernel at a time in a process, whatever the number of its threads, but keeps them on disk, where
any process finds them. The first explanation after installation then takes the time of the longer half.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["SecondProcess"]


_PROGRAM = (
    "import pickle, sys; import {module}; function, arguments = pickle.load(sys.stdin.buffer); function(*arguments)"
)
_PATIENCE = 60  # seconds after which it is done here: something is wrong there


class SecondProcess:
    """A process that may call one function, for the kernels that it leaves on disk.

    Neither result nor errors are used: whoever needs the kernels finds them, or compiles them. Leaving the context
    waits for a call to end, unless by an error.

    Parameters
    ----------
    module
        What it imports first, meanwhile.
    """

    def __init__(self, module: str) -> None:
        self._module, self._process, self._calls = module, None, False

    _process: subprocess.Popen[bytes] | None

    def __enter__(self) -> SecondProcess:
        return self

    def start(self) -> None:
        """Start it, where there is a core for it."""
        if self._process is not None or not _is_python() or _cores() < 2:
            return
        # What is imported here is to be found there, wherever this process was started.
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        command = [sys.executable, "-c", _PROGRAM.format(module=self._module)]
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        try:
            # This very interpreter, with the lines above.
            self._process = subprocess.Popen(command, env=settings, stdin=pipe, stdout=nowhere, stderr=nowhere)  # noqa: S603
        except OSError:
            self._process = None

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have it call a function of some module, if it was started."""
        if self._process is None or self._process.stdin is None:
            return
        try:
            with self._process.stdin as pipe:
                pipe.write(pickle.dumps((function, arguments)))
            self._calls = True
        except OSError:  # it has ended already
            pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._process is None:
            return
        try:
            if kind is None and self._calls:
                self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.communicate()  # closes what leads there, too


def _is_python() -> bool:
    """Tell whether the program that runs is an interpreter, and not one that has Python inside."""
    return not getattr(sys, "frozen", False) and Path(sys.executable or "").name.startswith("python")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
