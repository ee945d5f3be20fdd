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


_PROGRAM = "import pickle, sys; function, arguments = pickle.load(sys.stdin.buffer); function(*arguments)"
_PATIENCE = 60  # seconds after which it is done here: something is wrong there


class SecondProcess:
    """A process that may call one function, for the kernels that it leaves on disk.

    Neither result nor errors are used: whoever needs the kernels finds them, or compiles them. Leaving the context
    waits for a call to end, unless by an error.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> SecondProcess:
        return self

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have it call a function of some module, where there is a core for it."""
        if self._process is not None or not _is_python() or _cores() < 2:
            return
        # What is imported here is to be found there, wherever this process was started.
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        try:
            # This very interpreter, with the line above.
            command = [sys.executable, "-c", _PROGRAM]
            self._process = subprocess.Popen(command, env=settings, stdin=pipe, stdout=nowhere, stderr=nowhere)  # noqa: S603
            assert self._process.stdin is not None
            with self._process.stdin as pipe_there:
                pipe_there.write(pickle.dumps((function, arguments)))
        except OSError:  # there is none, or it has ended already
            pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._process is None:
            return
        try:
            if kind is None:
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
