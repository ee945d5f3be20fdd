"""A sign of life on anything that takes longer than a second, on terminals only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

__all__ = ["is_watched", "working"]

_PATIENCE = 1.0


def is_watched() -> bool:
    """Tell whether somebody sees the standard error stream."""
    return sys.stderr.isatty()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show `what` and the seconds so far while the block runs, once it has run for a second."""
    if not is_watched():
        yield
        return
    done, begin = threading.Event(), perf_counter()

    def show() -> None:
        while not done.wait(_PATIENCE):
            sys.stderr.write(f"\r{what} ... {perf_counter() - begin:.0f} s")
            sys.stderr.flush()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if perf_counter() - begin >= _PATIENCE:
            sys.stderr.write(f"\r{' ' * (len(what) + 20)}\r")
            sys.stderr.flush()
