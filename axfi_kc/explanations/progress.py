"""How far a search or a batch is, shown on a terminal or in a notebook once it takes longer than a second."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Any

from axfi_kc.budget import Progress, listening
from axfi_kc.domain.measures import counted
from axfi_kc.terminal import is_watched

__all__ = ["is_shown", "progress_words", "showing_progress", "with_progress"]


_PATIENCE = 1.0  # seconds before anything is shown
_LONG = 10.0  # seconds before there is advice
_ADVICE = "budget=Budget(seconds=...) gives the largest radius that fits"


def is_shown(progress: bool | None) -> bool:
    """Tell whether progress is to be shown: as asked where it can be, or, for None, where somebody sees it."""
    if progress is None:
        return is_watched() or _in_notebook()
    return progress and sys.stderr is not None


def _in_notebook() -> bool:
    """Tell whether a notebook's kernel runs this; its streams do not say that they are seen."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def progress_words(progress: Progress) -> str:
    """Return what is known of a search that is under way.

    Examples
    --------
    >>> progress_words(Progress(nodes=900, radius=3, cxps=143, waiting=12))
    'explaining, all CXps of 3 features at most known, 143 CXps found, 12 open'
    >>> progress_words(Progress(nodes=7))
    'explaining'
    """
    parts = ["explaining"]
    if progress.radius is not None:
        parts.append(f"all CXps of {counted(progress.radius, 'feature')} at most known")
    if progress.cxps is not None:
        parts.append(f"{counted(progress.cxps, 'CXp')} found")
    if progress.waiting is not None:
        parts.append(f"{progress.waiting:,} open")
    return ", ".join(parts)


def _bar(**settings: Any) -> Any:
    """Return a bar of tqdm: a widget where a notebook has them, else text, without a warning that it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm(**settings)


class _Line:
    """A line that appears after a second and says how far a search is."""

    def __init__(self, patience: float) -> None:
        self._begin, self._patience = perf_counter(), patience
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        seconds = perf_counter() - self._begin
        if seconds < self._patience:
            return
        if self._bar is None:
            self._bar = _bar(desc=progress_words(progress), unit=" nodes", unit_scale=True, leave=False)
        self._bar.set_description_str(progress_words(progress), refresh=False)
        if seconds > _LONG:
            self._bar.set_postfix_str(_ADVICE, refresh=False)
        # Steps of one question count from 0 each; a bar never goes back.
        self._bar.update(max(0, progress.nodes - self._bar.n))

    def close(self) -> None:
        """Take the line away."""
        if self._bar is not None:
            self._bar.close()


def showing_progress(progress: bool | None = None) -> AbstractContextManager[None]:
    """Show how far the searches of the block are: True at once, None after a second if anybody sees it, False never."""
    return _showing(0.0 if progress else _PATIENCE) if is_shown(progress) else nullcontext()


@contextmanager
def _showing(patience: float) -> Iterator[None]:
    line = _Line(patience)
    try:
        with listening(line):
            yield
    finally:
        line.close()


def with_progress(
    results: Iterable[tuple[int, Any]], *, total: int, done: int = 0, progress: bool | None = None
) -> Iterator[Any]:
    """Yield the second entries of `results`, showing a bar that moves by the first ones: numbers of rows.

    So many rows there are in `total`, and so many were `done` before. With `progress` True there is a bar at once,
    with None after one second, if there is a terminal or a notebook, with False none.
    """
    if not is_shown(progress):
        yield from (result for _, result in results)
        return
    delay = 0.0 if progress else _PATIENCE
    with _bar(total=total, initial=done, unit="row", desc="explaining", delay=delay) as bar:
        for rows, result in results:
            yield result
            bar.update(rows)
