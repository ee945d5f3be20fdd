"""Who sees what is printed: a terminal, or nobody at once; a service or a window may have no streams at all."""

import shutil
import sys
from typing import Any

__all__ = ["is_watched", "width"]


def is_watched() -> bool:
    """Tell whether a terminal shows the standard error stream."""
    return _is_terminal(sys.stderr)


def width() -> int | None:
    """Return how many letters a line has on the terminal that shows standard output; None if none does."""
    return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else None


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except (AttributeError, ValueError):  # something that only takes text is in its place; it is closed
        return False
