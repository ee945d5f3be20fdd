"""The sizes of one function's circuits in several languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

from axfi_kc.domain.measures import amount
from axfi_kc.errors import DomainError
from axfi_kc.plots.style import bare, caption, check_title, label, letters, own_axes, palette, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["plot_sizes"]


_NAMED_BY = ("model", "target", "code", "order", "vtree")
_FEW_DECADES = 5  # so many fit in full below the axis
_MEASURES = ("nodes", "edges", "bytes", "seconds")


def plot_sizes(
    frame: pd.DataFrame | Sequence[Mapping[str, Any]],
    *,
    measures: Sequence[str] = ("nodes", "edges"),
    title: str = "Sizes of the compiled circuits",
    ax: Axes | None = None,
) -> Axes:
    """Draw the sizes that :func:`axfi_kc.compare_sizes` found as bars, on a logarithmic scale.

    Parameters
    ----------
    frame
        A row per circuit: ``target``, ``code``, ``order``, ``vtree`` (where they matter), and the measures.
    measures
        One or two of the columns ``nodes``, ``edges``, ``bytes``, ``seconds``.
    title
        The picture's title.
    ax
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> mpl.use("Agg")
    >>> rows = [{"target": "mdd", "nodes": 40, "edges": 90}, {"target": "obdd", "nodes": 130, "edges": 260}]
    >>> [t.get_text() for t in plot_sizes(rows).get_yticklabels()]
    ['mdd', 'obdd']
    """
    rows, measures, heading = _rows(frame), _measures(measures), check_title(title)
    missing = next((m for m in measures if rows and m not in rows[0]), None)
    if not rows or missing is not None or not 1 <= len(measures) <= 2:
        raise DomainError(
            f"A picture of sizes needs at least one row with one or two of {', '.join(_MEASURES)}, but "
            f"{f'there is no column {missing!r}' if missing else f'{len(rows)} rows and {list(measures)} were given'}."
        )
    ax = own_axes(ax, width=7.4, height=1.4 + (0.24 + 0.2 * len(measures)) * len(rows))
    ax.set_xscale("log")
    for k, (measure, colour) in enumerate(zip(measures, (palette(ax).bar, palette(ax).second), strict=False)):
        _draw_measure(ax, [_number(r[measure]) for r in rows], measure, colour, shift=(k - (len(measures) - 1) / 2))
    ax.set_yticks(range(len(rows)), [_name(r) for r in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    _whole_decades(ax, [s for r in rows for m in measures if (s := _number(r[m]))])
    ax.grid(axis="x", color=palette(ax).faint, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel(" and ".join(measures) + " (logarithmic)", fontsize=letters("label"))
    if len(measures) > 1:
        ax.legend(fontsize=letters("small"), frameon=False, loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0.2)
    caption(bare(ax), heading)
    return ax


def _rows(frame: Any) -> list[Any]:
    rows = (
        list(frame)
        if isinstance(frame, Sequence)
        else frame.to_dict("records")
        if hasattr(type(frame), "to_dict")
        else None
    )
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise DomainError(
            f"Sizes are a DataFrame or a list of rows, each a dict, but {type(frame).__name__} of others was given; "
            "take what compare_sizes returns."
        )
    return rows


def _measures(given: Any) -> tuple[str, ...]:
    measures = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else (None,)
    if not all(isinstance(m, str) for m in measures):
        raise DomainError(f"measures are one or two of {', '.join(_MEASURES)}, but {told(given)} was given.")
    return measures


def _number(found: Any) -> float | None:
    """Return a size; None where the budget was spent before there was one."""
    try:
        size = float(found)
    except TypeError:  # None, or pandas' own sign for a missing value
        return None
    except ValueError:
        size = -1.0
    if size < 0:
        raise DomainError(f"A size is a number of at least 0, but {found!r} was given; leave such rows out.")
    return size if isfinite(size) else None


def _name(row: Mapping[str, Any]) -> str:
    parts = [row.get(key) for key in _NAMED_BY]
    kept = row.get("constraints")
    parts += [f"{kept} constraints"] if isinstance(kept, str) else []
    return ", ".join(label(p, 20) for p in parts if isinstance(p, str | tuple | list) and p)


def _draw_measure(ax: Axes, sizes: list[float | None], measure: str, colour: str, *, shift: float) -> None:
    rows = [row + 0.38 * shift for row in range(len(sizes))]
    known = [(row, size) for row, size in zip(rows, sizes, strict=True) if size]
    bars = ax.barh([r for r, _ in known], [s for _, s in known], height=0.34, color=colour, label=measure)
    ax.bar_label(bars, [amount(s, digits=3) for _, s in known], padding=3, fontsize=letters("small"))
    for row, size in zip(rows, sizes, strict=True):
        if not size:  # 0 has no place on a logarithmic scale
            words = "0" if size == 0 else "not within the budget" if shift <= 0 else ""
            ax.annotate(
                words, (0, row), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=letters("small"), color=palette(ax).soft,
            )  # fmt: skip


def _whole_decades(ax: Axes, sizes: list[float]) -> None:
    """Begin at a power of ten below all sizes, end with room for the numbers, and label powers of ten in full.

    Between two powers of ten alone, 2 and 5 are labelled too: one number makes no scale.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    least, most = min(sizes, default=1.0), max(sizes, default=1.0)
    start = floor(log10(least) - 0.01)
    ax.set_xlim(10.0**start, most * 10 ** (0.12 * max(1.0, log10(most / least) + 1)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    decades = log10(most) - start
    if decades <= _FEW_DECADES:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades <= 1.5 else (1.0,)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: amount(tick)))
