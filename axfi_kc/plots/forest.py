"""The CXp-Forest as trees."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError
from axfi_kc.plots.style import caption, check_limit, label, letters, number, own_axes, palette, text_width
from axfi_kc.scores.forest import CXpForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_forest"]


_COLUMNS = 4
_LEVEL = 0.66  # inches from a node to those below it
_LEAN = 0.3  # how far to the left the next feature stands
_AROUND = 0.14  # what a node's frame adds to each side of its name
_LEAF = 0.12  # half a leaf
_GAP = 0.3


@dataclass(frozen=True, slots=True)
class _Tree:
    """Where one CXp's tree stands, in inches from its first node: names, leaves, and its left and right end."""

    names: list[str]
    weight: str
    nodes: list[float]
    ones: list[float]
    zero: float
    left: float
    right: float


def plot_forest(forest: CXpForest, *, max_trees: int = 12, ax: Axes | None = None) -> Axes:
    """Draw the CXp-Forest as trees, one per CXp, as in the paper's Figure 2.

    Parameters
    ----------
    forest
        What to draw: a forest, or an explanation, which has one.
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

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from axfi_kc import CXpForest
    >>> mpl.use("Agg")
    >>> axes = plot_forest(CXpForest.of({("a",): 1, ("b", "c"): 2}, features=list("abc")))
    >>> [text.get_text() for text in axes.texts if text.get_text().startswith("w")]
    ['w = 2', 'w = 1']
    """
    check_limit("max_trees", max_trees)
    trees = _forest_of(forest).expanded()
    if not len(trees):
        raise DomainError("There is no CXp, so the forest has no tree to draw.")
    ranked = sorted(trees.weights.items(), key=lambda item: -item[1])[:max_trees]
    placed = [_placed(cxp, weight) for cxp, weight in ranked]
    rows = [placed[k : k + _COLUMNS] for k in range(0, len(placed), _COLUMNS)]
    widths = [max(row[k].right - row[k].left for row in rows if k < len(row)) for k in range(len(rows[0]))]
    heights = [_LEVEL * (max(len(tree.names) for tree in row) + 1) for row in rows]
    wide, high = sum(widths) + _GAP * (len(widths) + 1), sum(heights) + 0.25
    ax = own_axes(ax, width=max(1.06 * wide, 4.6), height=1.06 * high + 0.9)
    for k, row in enumerate(rows):
        for c, tree in enumerate(row):
            x = sum(widths[:c]) + _GAP * (c + 1) + (widths[c] - tree.left - tree.right) / 2
            _draw_tree(ax, tree, x, -sum(heights[:k]))
    ax.set(xlim=(0, wide), ylim=(0.2 - high, 0.45))
    ax.axis("off")
    _legend(ax)
    left = len(trees) - len(ranked)
    title = f"CXp-Forest: {counted(len(trees), 'tree')}{f', {left} lighter ones not drawn' if left else ''}"
    caption(ax, title, "the value of a set S of features: the mean over all trees of w, where S leads to 1")
    return ax


def _forest_of(given: Any) -> CXpForest:
    found = given.forest if hasattr(type(given), "forest") else given
    if not isinstance(found, CXpForest):
        raise DomainError(f"A CXpForest or an explanation is drawn, but {type(given).__name__} was given.")
    return found


def _placed(cxp: tuple[str, ...], weight: Fraction) -> _Tree:
    """Return where a CXp's tree stands: each feature below the one before, a leaf 1 beside it, and a 0 at the end."""
    names = [label(name, 20) for name in cxp]
    halves = [*(text_width(name, "small") / 2 + _AROUND for name in names), _LEAF]
    nodes = [-_LEAN * depth for depth in range(len(names) + 1)]
    # A leaf 1 stands on the level of the next feature, and clear of its name.
    ones = [max(nodes[d] + 0.45, nodes[d + 1] + halves[d + 1] + 2 * _LEAF) for d in range(len(names))]
    words = f"w {number(weight)}"
    half = text_width(words, "small") / 2
    left = min(-half, *(x - h for x, h in zip(nodes, halves, strict=True)))
    right = max(half, *(x + _LEAF for x in ones), *(x + h for x, h in zip(nodes, halves, strict=True)))
    return _Tree(names, words, nodes[:-1], ones, nodes[-1], left, right)


def _draw_tree(ax: Axes, tree: _Tree, x: float, y: float) -> None:
    """Draw a tree whose first node is at (x, y): going right means "in S" and ends in 1."""
    colours = palette(ax)
    ax.text(x, y + 0.3, tree.weight, ha="center", va="center", fontsize=letters("small"), color=colours.ink)
    following = [*tree.nodes[1:], tree.zero]
    for depth, (name, at, one) in enumerate(zip(tree.names, tree.nodes, tree.ones, strict=True)):
        top, bottom = y - _LEVEL * depth, y - _LEVEL * (depth + 1)
        down = [x + at, x + following[depth]]
        ax.plot(down, [top, bottom], color=colours.soft, linestyle="--", linewidth=1.2, zorder=1)
        ax.plot([x + at, x + one], [top, bottom], color=colours.against, linewidth=1.6, zorder=1)
        _node(ax, x + at, top, name, rounded=True)
        _node(ax, x + one, bottom, "1", rounded=False)
    _node(ax, x + tree.zero, y - _LEVEL * len(tree.names), "0", rounded=False)


def _node(ax: Axes, x: float, y: float, text: str, *, rounded: bool) -> None:
    colours = palette(ax)
    shape = "round,pad=0.3" if rounded else "square,pad=0.25"
    style = {"boxstyle": shape, "facecolor": colours.paper, "edgecolor": colours.ink}
    ax.text(x, y, text, ha="center", va="center", fontsize=letters("small"), color=colours.ink, bbox=style, zorder=2)


def _legend(ax: Axes) -> None:
    colours = palette(ax)
    ax.plot([], [], color=colours.against, linewidth=1.6, label="in S")
    ax.plot([], [], color=colours.soft, linestyle="--", linewidth=1.2, label="not in S")
    where: dict[str, Any] = {"loc": "upper right", "bbox_to_anchor": (1, 0), "borderaxespad": 0}
    ax.legend(ncols=2, fontsize=letters("small"), frameon=False, **where)
