"""The CXps of one explanation as an upset plot: which features occur together, with which weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from axfi_kc.domain.measures import amount, counted
from axfi_kc.errors import DomainError
from axfi_kc.explanations.answers import no_cxp_words
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.plots.style import (
    NOTE_LINE,
    bare,
    caption,
    check_explanation,
    check_limit,
    inner_grid,
    label,
    letters,
    own_axes,
    palette,
    text_width,
    value,
)
from axfi_kc.plots.titles import output_words, space_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_cxps"]


_WEIGHTS = {
    "ratio": "probability of\nadversarial examples",
    "count": "number of\nadversarial examples",
    "unit": "weight",
}


def plot_cxps(explanation: Explanation, *, max_cxps: int = 20, max_features: int = 15, ax: Axes | None = None) -> Axes:
    """Draw each CXp as a column of linked dots, its weight as a bar above, and how often features occur.

    Parameters
    ----------
    explanation
        What to draw.
    max_cxps
        How many CXps to show at most: those of the largest weight; the title counts the rest.
    max_features
        How many features to show at most. CXps for which there is no room are left out; the title counts them too.
    ax
        Whose place to take, with three axes: weights above, dots, occurrences beside; a new figure by
        default.

    Returns
    -------
    Axes
        Those of the dots.
    """
    check_explanation(explanation)
    check_limit("max_cxps", max_cxps)
    check_limit("max_features", max_features)
    cxps, total = explanation.heaviest_cxps(), explanation.cxp_count
    if not cxps:
        raise DomainError(f"There is no CXp to draw. {no_cxp_words(explanation)}")
    shown = _fitting(cxps[:max_cxps], max_features)
    names = _most_frequent(shown)
    space = space_line(explanation)
    high = 3.1 + 0.3 * len(names) + NOTE_LINE * bool(space)
    host = own_axes(ax, width=max(4.3 + 0.33 * len(shown), 6.6 if space else 5.6), height=high)
    above, matrix, beside = _panels(host, columns=len(shown), rows=len(names))
    for column, cxp in enumerate(shown):
        _column(matrix, column, [names.index(n) for n in cxp.features], len(names))
    instance = explanation.instance
    matrix.set_yticks(range(len(names)), [f"{label(n, 24)} = {value(instance[n], 10)}" for n in names])
    matrix.set_xlim(-0.7, len(shown) - 0.3)
    matrix.set_ylim(len(names) - 0.4, -0.6)
    matrix.set_xticks([])
    matrix.spines[:].set_visible(False)
    matrix.tick_params(axis="y", length=0, labelsize=letters("label"))
    _weight_bars(above, [c.weight for c in shown], explanation.weights)
    _occurrences(beside, [sum(n in c.features for c in shown) for n in names], len(shown) < total)
    left = total - len(shown)
    note = f", {amount(left)} not shown" if left else ""
    prediction = value(explanation.prediction_name)
    below = "\n".join(filter(None, (output_words(explanation), space)))
    caption(above, f"What can change {prediction}? {counted(total, 'CXp')}{note}", below)
    return matrix


def _panels(host: Axes, *, columns: int, rows: int) -> tuple[Axes, Axes, Axes]:
    """Return axes for the weights, the dots and the occurrences, in the place of `host`."""
    figure: Any = host.figure
    ratios = {"width_ratios": (0.33 * columns + 0.6, 1.2), "height_ratios": (1.7, 0.3 * rows + 0.3)}
    grid = inner_grid(host, 2, 2, **ratios)
    matrix = figure.add_subplot(grid[1, 0])
    return figure.add_subplot(grid[0, 0], sharex=matrix), matrix, figure.add_subplot(grid[1, 1], sharey=matrix)


def _fitting(cxps: Sequence[Any], most: int) -> list[Any]:
    """Return the first of the CXps, and those of the others that leave no more than `most` features to show."""
    shown, seen = [cxps[0]], set(cxps[0].features)
    for cxp in cxps[1:]:
        if len(seen.union(cxp.features)) <= most:
            shown.append(cxp)
            seen.update(cxp.features)
    return shown


def _most_frequent(cxps: list[Any]) -> list[str]:
    """Return the features of CXps, those in most of them first."""
    counts: dict[str, int] = {}
    for cxp in cxps:
        for name in cxp.features:
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda n: -counts[n])


def _column(ax: Axes, column: int, rows: list[int], n_rows: int) -> None:
    """Draw a dot for every feature, dark ones for the CXp's, and the line that links them."""
    others = [r for r in range(n_rows) if r not in rows]
    ax.scatter([column] * len(others), others, s=26, color=palette(ax).faint, zorder=1)
    ax.plot([column, column], [min(rows), max(rows)], color=palette(ax).ink, linewidth=1.6, zorder=2)
    ax.scatter([column] * len(rows), rows, s=38, color=palette(ax).ink, zorder=3)


def _weight_bars(ax: Axes, weights: list[Any], kind: str) -> None:
    bars = bare(ax).bar(range(len(weights)), [float(w) for w in weights], color=palette(ax).bar, width=0.66)
    words = [amount(w, digits=2) for w in weights]
    ax.bar_label(bars, words, fontsize=letters("small"), padding=2, rotation=90)
    # Words stand upright, in axes that are about 1.6 inches high.
    ax.set_ylim(0, max(map(float, weights)) / (1 - (max(text_width(w, "small") for w in words) + 0.1) / 1.6) or 1.0)
    ax.tick_params(axis="x", bottom=False, labelbottom=False)
    ax.set_ylabel(_WEIGHTS.get(kind, kind), fontsize=letters("small"))
    ax.locator_params(axis="y", nbins=4)


def _occurrences(ax: Axes, counts: list[int], some: bool) -> None:
    bars = bare(ax).barh(range(len(counts)), counts, color=palette(ax).ink, height=0.5)
    ax.bar_label(bars, fontsize=letters("small"), padding=2)
    ax.margins(x=0.35)
    ax.tick_params(axis="y", left=False, labelleft=False)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.set_xlabel("in so many\nof the CXps shown" if some else "in so many\nCXps", fontsize=letters("small"))
