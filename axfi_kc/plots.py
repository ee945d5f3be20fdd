"""Pictures of an explanation, with matplotlib (``pip install 'axfi-kc[plots]'``).

Functions draw into the axes they are given, or make their own, and return them; nothing is shown
or saved behind the caller's back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axfi_kc.errors import DomainError, MissingExtraError
from axfi_kc.explainer import Explanation
from axfi_kc.forest import CXpForest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_forest", "plot_scores"]

BAR = "#2a6f97"
INNER = "#1d3557"
PRESENT = "#b3261e"
ABSENT = "#8a8f98"
_NAMES = {"shapley": "Shapley-like AxFi score", "banzhaf": "Banzhaf-like AxFi score"}


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing") from error
    return plt


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    if ax is not None:
        return ax
    _, made = _pyplot().subplots(figsize=(width, height), layout="constrained")
    return made


def _abridged(name: str, length: int = 28) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def plot_scores(
    explanation: Explanation, kind: str = "shapley", *, max_features: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw the score of each feature as a horizontal bar, largest on top.

    Parameters
    ----------
    explanation
        What to draw.
    kind
        ``"shapley"`` or ``"banzhaf"``.
    max_features
        How many features to show at most; the rest is summed up in a note.
    ax
        Where to draw; a new figure by default.
    """
    ranked = sorted(explanation.scores(kind).items(), key=lambda item: -item[1])
    shown = [(n, s) for n, s in ranked if s][:max_features] or ranked[:1]
    hidden = len(ranked) - len(shown)
    ax = _axes(ax, 6.4, 1.3 + 0.34 * len(shown))
    values = explanation.instance
    labels = [f"{_abridged(name)} = {_value(values[name])}" for name, _ in shown]
    bars = ax.barh(range(len(shown)), [float(s) for _, s in shown], color=BAR, height=0.7)
    ax.set_yticks(range(len(shown)), labels)
    ax.invert_yaxis()
    ax.bar_label(bars, [f"{float(s):.3g}" for _, s in shown], padding=3, fontsize=9)
    ax.margins(x=0.14)
    ax.set_xlim(left=0)
    ax.set_xlabel(_NAMES.get(kind, kind) + (f"   ({hidden} more features not shown)" if hidden else ""))
    ax.locator_params(axis="x", nbins=5)
    ax.set_title(f"Why {_value(explanation.prediction)}?", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _value(value: Any) -> str:
    if isinstance(value, str | bool | int):
        return _abridged(str(value), 16)
    try:
        return f"{float(value):.5g}"
    except (TypeError, ValueError):
        return _abridged(str(value), 16)


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
    """
    if not len(forest):
        raise DomainError("There is no CXp, so the forest has no tree to draw.")
    ranked = sorted(forest.weights.items(), key=lambda item: -item[1])[:max_trees]
    columns = min(4, len(ranked))
    rows = [ranked[k : k + columns] for k in range(0, len(ranked), columns)]
    heights = [max(len(cxp) for cxp, _ in row) + 1.5 for row in rows]
    ax = _axes(ax, 3.1 * columns, 0.72 * sum(heights) + 0.8)
    for k, row in enumerate(rows):
        for column, (cxp, weight) in enumerate(row):
            _draw_tree(ax, cxp, _weight(weight), x=3.2 * column, y=-sum(heights[:k]))
    ax.set_xlim(-1.7, 3.2 * (columns - 1) + 1.7)
    ax.set_ylim(0.5 - sum(heights), 0.9)
    ax.plot([], [], color=PRESENT, linewidth=1.6, label="in S")
    ax.plot([], [], color=ABSENT, linestyle="--", linewidth=1.2, label="not in S")
    ax.legend(loc="lower right", fontsize=8, frameon=False)
    left = len(forest) - len(ranked)
    note = f", {left} lighter ones not drawn" if left else ""
    ax.set_title(f"CXp-Forest: {len(forest)} trees{note}", fontsize=11)
    ax.axis("off")
    return ax


def _weight(weight: Any) -> str:
    exact = str(weight)
    return f"w = {exact}" if len(exact) <= 11 else f"w ≈ {float(weight):.4g}"


def _draw_tree(ax: Axes, cxp: tuple[str, ...], weight: str, *, x: float, y: float) -> None:
    """Draw one CXp's tree below (x, y): going right means "in S" and ends in 1."""
    lean = min(0.34, 1.0 / len(cxp))
    start = x + lean * (len(cxp) - 1) / 2
    ax.text(x, y + 0.55, weight, ha="center", va="center", fontsize=9, color="black")
    for depth, name in enumerate(cxp):
        at = (start - lean * depth, y - depth)
        following, one = (at[0] - lean, at[1] - 1), (at[0] + 0.62, at[1] - 1)
        ax.plot([at[0], following[0]], [at[1], following[1]], color=ABSENT, linestyle="--", linewidth=1.2, zorder=1)
        ax.plot([at[0], one[0]], [at[1], one[1]], color=PRESENT, linewidth=1.6, zorder=1)
        _node(ax, *at, _abridged(name, 20), rounded=True)
        _node(ax, *one, "1", rounded=False)
    _node(ax, start - lean * len(cxp), y - len(cxp), "0", rounded=False)


def _node(ax: Axes, x: float, y: float, label: str, *, rounded: bool) -> None:
    style = {"boxstyle": "round,pad=0.3" if rounded else "square,pad=0.25", "facecolor": "white", "edgecolor": INNER}
    ax.text(x, y, label, ha="center", va="center", fontsize=8, color=INNER, bbox=style, zorder=2)
