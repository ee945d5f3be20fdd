"""How alike rankings are: distributions of rank-biased overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError
from axfi_kc.plots.style import bare, caption, check_title, label, letters, own_axes, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_rbo"]


def plot_rbo(
    values_by_pair: Mapping[Any, Iterable[Any]],
    *,
    title: str = "How alike are the rankings?",
    most: float = 1.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rank-biased overlaps of each pair of scores: a box with its points.

    Parameters
    ----------
    values_by_pair
        ``{(name, name) or text: overlaps, one per instance}``, each between 0 (nothing in common) and 1.
    title
        The picture's title.
    most
        The largest overlap possible: below 1 for rankings cut at a depth without extrapolation.
    ax
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> mpl.use("Agg")
    >>> ax = plot_rbo({("shapley", "banzhaf"): [1, 1, 0.9], ("shapley", "shap"): [0.2, 0.6, 0.4]})
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['shapley, banzhaf', 'shapley, shap']
    """
    heading, pairs = check_title(title), _numbers(values_by_pair, most)
    empty = next((name for name, values in pairs.items() if not len(values)), None)
    if not pairs or empty is not None:
        what = "no pair was given" if empty is None else f"{empty!r} has none"
        raise DomainError(f"Each pair of scores needs at least one overlap, but {what}; leave such pairs out.")
    ax = own_axes(ax, width=6.4, height=1.6 + 0.55 * len(pairs))
    ax.boxplot(
        list(pairs.values()),
        orientation="horizontal",
        positions=range(len(pairs)),
        widths=0.5,
        showfliers=False,
        medianprops={"color": palette(ax).ink, "linewidth": 2},
        boxprops={"color": palette(ax).ink},
        whiskerprops={"color": palette(ax).ink},
        capprops={"color": palette(ax).ink},
    )
    for row, values in enumerate(pairs.values()):
        # an even spread, not a random one: the same numbers make the same picture
        offsets = (np.arange(len(values)) * 0.618 % 1 - 0.5) * 0.4
        ax.scatter(values, row + offsets, s=8, color=palette(ax).bar, alpha=0.45, linewidths=0, zorder=1)
    ax.set_yticks(range(len(pairs)), list(pairs))
    ax.set_ylim(len(pairs) - 0.4, -0.6)
    ax.set_xlim(-0.03, most * 1.03)
    ax.grid(axis="x", color=palette(ax).faint, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel("rank-biased overlap (0: nothing in common)", fontsize=letters("label"))
    caption(bare(ax), heading, _counts([len(v) for v in pairs.values()]))
    return ax


def _numbers(given: Any, most: Any) -> dict[str, Any]:
    """Return the overlaps of each pair as an array, after checking that they are numbers."""
    fine = isinstance(given, Mapping)
    try:
        pairs = {_name(pair): np.array([float(v) for v in values]) for pair, values in given.items()} if fine else {}
        fine = fine and all(np.isfinite(values).all() for values in pairs.values()) and 0 < float(most) < float("inf")
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise DomainError("Overlaps are {pair: numbers} and their largest a number above 0, but others were given.")
    return pairs


def _name(pair: Any) -> str:
    return ", ".join(label(p, 20) for p in pair) if isinstance(pair, tuple) else label(pair, 42)


def _counts(numbers: list[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{counted(least, 'instance')} each" if least == most else f"{least} to {most} instances each"
