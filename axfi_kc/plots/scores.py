"""The scores of one explanation as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from axfi_kc.domain.measures import amount
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.plots.style import BAR, LABEL, TITLE, bare, label, own_axes, value
from axfi_kc.scores import find_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_scores"]


def plot_scores(
    explanation: Explanation, kind: str = "shapley", *, max_features: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw the score of each feature as a horizontal bar, largest on top.

    Parameters
    ----------
    explanation
        What to draw.
    kind
        Which score: a name in :data:`axfi_kc.scores.SCORES`.
    max_features
        How many features to show at most; the rest is counted in a note.
    ax
        Where to draw; a new figure by default.
    """
    ranked = sorted(explanation.scores(kind).items(), key=lambda item: -item[1])
    shown = [(n, s) for n, s in ranked if s][:max_features] or ranked[:1]
    hidden = len(ranked) - len(shown)
    ax = own_axes(ax, width=6.4, height=1.3 + 0.34 * len(shown))
    values = explanation.instance
    bars = ax.barh(range(len(shown)), [float(s) for _, s in shown], color=BAR, height=0.7)
    ax.set_yticks(range(len(shown)), [f"{label(name)} = {value(values[name])}" for name, _ in shown])
    ax.invert_yaxis()
    ax.bar_label(bars, [amount(s, digits=3) for _, s in shown], padding=3, fontsize=LABEL)
    ax.margins(x=0.14)
    ax.set_xlim(left=0)
    ax.set_xlabel(find_score(kind).about + (f"   ({hidden} more features not shown)" if hidden else ""), fontsize=LABEL)
    ax.locator_params(axis="x", nbins=5)
    ax.set_title(f"Why {value(explanation.prediction)}?", fontsize=TITLE)
    return bare(ax)
