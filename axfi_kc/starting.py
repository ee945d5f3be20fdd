"""Ctrl-C while the command ``axfi-kc`` is still importing its modules: it ends at once, without a traceback.

Most of that time is spent in this package's ``__init__``, before any code of the command runs.
"""

import os
import signal
import sys
import threading
from itertools import pairwise
from typing import Any

__all__ = ["INTERRUPTED", "may_be_caught"]


INTERRUPTED = 130  # the exit status of what Ctrl-C ended, as shells have it


def _end(*_: Any) -> None:
    os._exit(INTERRUPTED)  # nothing was read or written yet


def _end_quietly() -> None:
    """Let Ctrl-C end the process, if it was started as the command; a program that imports us keeps its own way."""
    # What the process was started with, and not sys.argv, which workers take over from who started them.
    started = sys.orig_argv
    names = {os.path.basename(word) for word in started[:2]}
    is_command = bool(names & {"axfi-kc", "axfi-kc.exe"}) or ("-m", "axfi_kc.cli") in pairwise(started)
    is_main = threading.current_thread() is threading.main_thread()
    if is_command and is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def may_be_caught() -> None:
    """Let Ctrl-C be a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_end_quietly()
