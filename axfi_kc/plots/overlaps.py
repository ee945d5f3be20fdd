"""How alike rankings are: distributions of rank-biased overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.errors import DomainError
from axfi_kc.plots.style import bare, caption, label, letters, own_axes, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_rbo"]


@checked("values_by_pair", "title", "most")
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
    pairs = {_name(pair): np.array([float(v) for v in values]) for pair, values in values_by_pair.items()}
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
    caption(bare(ax), label(title, 120), _counts([len(v) for v in pairs.values()]))
    return ax


def _name(pair: Any) -> str:
    return ", ".join(label(p, 20) for p in pair) if isinstance(pair, tuple) else label(pair, 42)


def _counts(numbers: list[int]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{least} instances each" if least == most else f"{least} to {most} instances each"
