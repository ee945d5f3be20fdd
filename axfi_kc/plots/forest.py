"""The CXp-Forest as trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axfi_kc.arguments import checked
from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError
from axfi_kc.plots.style import ABSENT, INK, PRESENT, SMALL, TITLE, label, number, own_axes
from axfi_kc.scores.forest import CXpForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_forest"]


@checked("forest", "max_trees", "ax")
def plot_forest(forest: CXpForest, *, max_trees: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the CXp-Forest as trees, one per CXp, as in the paper's Figure 2.

    Parameters
    ----------
    forest
        What to draw.
    max_trees
        How many trees to draw at most: those of the largest weight; a note counts the rest.
    ax
        Where to draw; a new figure by default.

    Raises
    ------
    DomainError
        If there is no CXp.
    BudgetError
        If there are too many to choose from.
    """
    trees = forest.expanded()
    if not len(trees):
        raise DomainError("There is no CXp, so the forest has no tree to draw.")
    ranked = sorted(trees.weights.items(), key=lambda item: -item[1])[:max_trees]
    columns = min(4, len(ranked))
    rows = [ranked[k : k + columns] for k in range(0, len(ranked), columns)]
    heights = [max(len(cxp) for cxp, _ in row) + 1.5 for row in rows]
    ax = own_axes(ax, width=3.1 * columns, height=0.72 * sum(heights) + 0.8)
    for k, row in enumerate(rows):
        for column, (cxp, weight) in enumerate(row):
            _draw_tree(ax, cxp, f"w {number(weight)}", x=3.2 * column, y=-sum(heights[:k]))
    ax.set_xlim(-1.7, 3.2 * (columns - 1) + 1.7)
    ax.set_ylim(0.5 - sum(heights), 0.9)
    ax.plot([], [], color=PRESENT, linewidth=1.6, label="in S")
    ax.plot([], [], color=ABSENT, linestyle="--", linewidth=1.2, label="not in S")
    ax.legend(loc="upper right", bbox_to_anchor=(1, 0), ncols=2, fontsize=SMALL, frameon=False, borderaxespad=0)
    left = len(trees) - len(ranked)
    ax.set_title(
        f"CXp-Forest: {counted(len(trees), 'tree')}{f', {left} lighter ones not drawn' if left else ''}", fontsize=TITLE
    )
    ax.axis("off")
    return ax


def _draw_tree(ax: Axes, cxp: tuple[str, ...], weight: str, *, x: float, y: float) -> None:
    """Draw one CXp's tree below (x, y): going right means "in S" and ends in 1."""
    lean = min(0.34, 1.0 / len(cxp))
    start = x + lean * (len(cxp) - 1) / 2
    ax.text(x, y + 0.55, weight, ha="center", va="center", fontsize=SMALL, color="black")
    for depth, name in enumerate(cxp):
        at = (start - lean * depth, y - depth)
        following, one = (at[0] - lean, at[1] - 1), (at[0] + 0.62, at[1] - 1)
        ax.plot([at[0], following[0]], [at[1], following[1]], color=ABSENT, linestyle="--", linewidth=1.2, zorder=1)
        ax.plot([at[0], one[0]], [at[1], one[1]], color=PRESENT, linewidth=1.6, zorder=1)
        _node(ax, *at, label(name, 20), rounded=True)
        _node(ax, *one, "1", rounded=False)
    _node(ax, start - lean * len(cxp), y - len(cxp), "0", rounded=False)


def _node(ax: Axes, x: float, y: float, text: str, *, rounded: bool) -> None:
    style = {"boxstyle": "round,pad=0.3" if rounded else "square,pad=0.25", "facecolor": "white", "edgecolor": INK}
    ax.text(x, y, text, ha="center", va="center", fontsize=SMALL, color=INK, bbox=style, zorder=2)
