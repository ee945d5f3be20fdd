"""Whether anybody sees what is written beside the answers: a service or a window may have no such stream."""

import sys

__all__ = ["is_watched"]


def is_watched() -> bool:
    """Tell whether a terminal shows the standard error stream."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # something that only takes text is in its place; it is closed
        return False
