"""The scores of one explanation as bars, and of many as a swarm of points per feature."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.features import Categorical
from axfi_kc.domain.measures import amount, counted
from axfi_kc.errors import DomainError
from axfi_kc.explanations.batch import SavedBatch
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.inspection import empty_batch
from axfi_kc.plots.style import (
    NOTE_LINE,
    bare,
    caption,
    check_explanation,
    check_flag,
    check_limit,
    label,
    label_bars,
    letters,
    own_axes,
    palette,
    shades,
    text_width,
    value,
)
from axfi_kc.plots.titles import change_words, moves_of, nearest_of_all, output_words, space_line, why
from axfi_kc.scores import find_score, shares_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_batch", "plot_scores"]


_BINS = 60  # points of one feature whose scores fall into one of so many bins are drawn side by side
_SPREAD = 0.4
_INNER = (
    5.0,
    95.0,
)  # percentiles from which on a value is low or high: a few extreme ones do not make all others alike


def plot_scores(
    explanation: Explanation,
    kind: str = "shapley",
    *,
    max_features: int = 15,
    nearest: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of each feature as a horizontal bar, largest on top, with its share of all scores.

    Above stand the output and the nearest change of it; the features that take part in that change say which way they
    go: up, down, or to another category.

    Parameters
    ----------
    explanation
        What to draw.
    kind
        Which score: a name in :data:`axfi_kc.scores.SCORES`.
    max_features
        How many features to show at most; the rest is counted in a note.
    nearest
        Whether the nearest change is looked for and shown. It is not where that takes long, or where an explanation was
        read without its model.
    ax
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> import axfi_kc
    >>> mpl.use("Agg")
    >>> domain = axfi_kc.Domain([axfi_kc.Integer("age", 0, 99), axfi_kc.Integer("smokes", 0, 1)])
    >>> e = axfi_kc.Explainer(lambda p: p[0] > 60 and p[1] == 1, domain).explain((70, 1))
    >>> [text.get_text() for text in plot_scores(e).texts][:2]
    ['0.305 (55%)   ▼ to 60', '0.25 (45%)']
    """
    check_explanation(explanation)
    check_limit("max_features", max_features)
    change = nearest_of_all(explanation) if check_flag("nearest", nearest) else None
    scores = explanation.scores(kind)
    ranked, shares = sorted(scores.items(), key=lambda item: -item[1]), shares_of(scores)
    shown = [(n, s) for n, s in ranked if s][:max_features] or ranked[:1]
    values, moves = explanation.instance, moves_of(change)
    names = [f"{label(name)} = {value(values[name])}" for name, _ in shown]
    words = [f"{amount(s, digits=3)} ({float(shares[name]):.0%})   {moves.get(name, '')}".rstrip() for name, s in shown]
    room = max(map(text_width, names)) + max(map(text_width, words))
    space = space_line(explanation)
    ax = own_axes(ax, width=3.4 + room, height=1.5 + 0.34 * len(shown) + NOTE_LINE * bool(space))
    bars = ax.barh(range(len(shown)), [float(s) for _, s in shown], color=palette(ax).bar, height=0.7)
    ax.set_yticks(range(len(shown)), names)
    ax.invert_yaxis()
    _score_axis(ax, kind, hidden=len(ranked) - len(shown), ticks=5)
    label_bars(bare(ax), bars, words)
    caption(ax, why(explanation), "\n".join(filter(None, (output_words(explanation), change_words(change), space))))
    return ax


def _score_axis(ax: Axes, kind: str, *, hidden: int, ticks: int, what: str = "") -> None:
    """Say what is drawn to the right, and how many features are left out."""
    left_out = f"   ({counted(hidden, 'more feature')} not shown)" if hidden else ""
    ax.set_xlabel(find_score(kind).about + what + left_out, fontsize=letters("label"), wrap=True)
    ax.locator_params(axis="x", nbins=ticks)


def plot_batch(
    batch: Sequence[Explanation] | SavedBatch,
    kind: str = "shapley",
    *,
    max_features: int = 12,
    max_points: int = 2000,
    shares: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one point per instance and feature: its share of the scores, coloured by the feature's value.

    Features are sorted by their mean share. A column of points is as wide as there are instances with
    about this share.

    Parameters
    ----------
    batch
        The explanations, of one domain: a Batch, a list, or results in a file.
    kind
        Which score: a name in :data:`axfi_kc.scores.SCORES`.
    max_features
        How many features to show at most; the rest is counted in a note.
    max_points
        How many instances to draw at most; from more, evenly spaced ones are taken and the title says so.
    shares
        Whether each instance's scores are divided by their sum. Without, points of one feature cannot be compared,
        because every score is divided by its instance's number of CXps.
    ax
        Where to draw; a new figure by default.

    Notes
    -----
    The mean is that of the instances drawn. Linear in instances times features.
    """
    check_limit("max_features", max_features)
    check_limit("max_points", max_points)
    check_flag("shares", shares)
    chosen = _chosen(batch, max_points)
    names = chosen[0].domain.names
    rows = (e.shares(kind) if shares else e.scores(kind) for e in chosen)
    table = np.array([[float(s) for s in row.values()] for row in rows])
    ranked = np.argsort(-table.mean(axis=0), kind="stable")
    shown = [int(i) for i in ranked if table[:, i].any()][:max_features] or [int(ranked[0])]
    space = space_line(*chosen)
    ax = own_axes(ax, width=7.8, height=1.7 + 0.42 * len(shown) + NOTE_LINE * bool(space))
    for row, i in enumerate(shown):
        _swarm(ax, table[:, i], _colours(chosen, i), row=row)
    ax.set_yticks(range(len(shown)), [label(names[i]) for i in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    _score_axis(ax, kind, hidden=len(names) - len(shown), ticks=6, what=", share of the sum" if shares else "")
    of = "" if len(chosen) == len(batch) else f" of {len(batch)}"
    title, mean = ("Shares of scores", "mean share") if shares else ("Scores", "mean score")
    sorting = f"sorted by {mean}, which the long stroke marks"
    over = counted(len(chosen), "instance") if not of else f"{len(chosen)}{of} instances"
    caption(ax, f"{title} over {over}", f"{sorting}\n{space}" if space else sorting)
    features = [chosen[0].domain.features[i] for i in shown]
    _legend(ax, unordered=any(isinstance(f, Categorical) for f in features), missing=any(f.missing for f in features))
    return bare(ax)


def _chosen(batch: Any, most: int) -> list[Any]:
    """Return at most `most` explanations, evenly spaced, after checking that these are explanations of one domain."""
    strange = isinstance(batch, str | bytes | Mapping) or getattr(type(batch), "ndim", None) is not None
    if strange or not isinstance(batch, SavedBatch | Collection):
        raise DomainError(
            f"A batch is drawn, but {type(batch).__name__} was given; take what explain_batch or read_results returns, "
            "or a list of explanations."
        )
    n = len(batch)
    if not n:
        raise empty_batch("The rows of a batch are drawn")
    wanted = range(n) if n <= most else [k * n // most for k in range(most)]
    # What is in a file is read once.
    found = [batch[k] for k in wanted] if isinstance(batch, Sequence) else _picked(batch, set(wanted))
    for e in found:
        check_explanation(e)
    if any(e.domain.names != found[0].domain.names for e in found):
        raise DomainError("A batch has the same features in every row, but these explanations do not; draw them apart.")
    return found


def _picked(batch: SavedBatch | Collection[Any], wanted: set[int]) -> list[Any]:
    """Return the explanations at some positions of a file."""
    return [e for k, e in enumerate(batch) if k in wanted]


def _colours(chosen: Sequence[Any], i: int) -> npt.NDArray[np.float64] | None:
    """Return where each instance's value lies between low and high ones; None without an order."""
    feature = chosen[0].domain.features[i]
    if isinstance(feature, Categorical):
        return None
    values = np.array([e.instance[feature.name] for e in chosen], dtype=np.float64)  # NaN where one is missing
    present = values[~np.isnan(values)]
    low, high = np.percentile(present, _INNER) if len(present) else (0.0, 0.0)
    if low == high:  # one value, or nearly alone: where it is in the domain
        low, high = float(feature.low), float(feature.high)
    return np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)


def _swarm(ax: Axes, scores: npt.NDArray[np.float64], colours: Any, *, row: int) -> None:
    ax.axhline(row, color=palette(ax).faint, linewidth=1, zorder=0)
    paint: dict[str, Any] = {"color": palette(ax).unordered}
    if colours is not None:
        # A missing value has no place between low and high, but its point is shown.
        paint = {"c": colours, "cmap": shades(palette(ax)), "vmin": 0, "vmax": 1, "plotnonfinite": True}
    ax.scatter(scores, row + _offsets(scores), s=9, alpha=0.75, linewidths=0, zorder=2, **paint)
    ax.plot([scores.mean()] * 2, [row - _SPREAD, row + _SPREAD], color=palette(ax).ink, linewidth=1.4, zorder=3)


def _offsets(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how far from its line each point lies, so that points of about the same score do not hide each other."""
    low, high = float(scores.min()), float(scores.max())
    bins = np.zeros(len(scores), np.int64)
    if high > low:
        bins = np.minimum(((scores - low) / (high - low) * _BINS).astype(np.int64), _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    offsets = np.empty(len(scores))
    for b in np.flatnonzero(counts):
        members = np.flatnonzero(bins == b)
        ranks = np.arange(len(members)) - (len(members) - 1) / 2
        offsets[members] = ranks * min(0.05, 2 * _SPREAD / max(len(members), 1))
    return offsets


def _legend(ax: Axes, *, unordered: bool, missing: bool) -> None:
    """Say what the colours mean, in the words of a legend; a colour bar would take room from the axes."""
    for colour, text in zip(palette(ax).low_to_high, ("low value", "middle", "high value"), strict=True):
        ax.scatter([], [], s=22, color=colour, linewidths=0, label=text)
    if unordered or missing:
        words = " or ".join(["a category"] * unordered + ["missing"] * missing)
        ax.scatter([], [], s=22, color=palette(ax).unordered, linewidths=0, label=words)
    # Beside the axes, where no point can be hidden.
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=letters("small"), frameon=False, handletextpad=0.2)
