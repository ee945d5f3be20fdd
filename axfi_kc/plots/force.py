"""One row as a strip: each feature as long as its score, and below it, for comparison, its SHAP value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.domain.measures import amount
from axfi_kc.errors import DomainError
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
    signed,
    text_width,
    value,
)
from axfi_kc.plots.titles import output_words, space_line, why
from axfi_kc.scores import find_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_force"]


_WIDE = 8.6  # inches of the strips
_STRIP = 0.34  # inches of their height
_ROW = 0.42  # inches of a row of texts, of two lines each
_APART = 0.06  # inches to each side of a text
_TIP = 0.09  # inches of an arrow's tip
_LEAST = 0.03  # of the whole strip: smaller pieces are put together, their texts would find no place
_TICKS = 1.9  # of the size of letters: what ticks and their numbers take above a strip


@dataclass(frozen=True, slots=True)
class _Piece:
    """One feature's part of a strip: from where to where, what stands below it, and whether it lowers the output."""

    start: float
    end: float
    text: str
    lowers: bool


def plot_force(
    explanation: Explanation,
    kind: str = "shapley",
    *,
    shap: Any = None,
    max_features: int = 8,
    ax: Axes | None = None,
) -> Axes:
    """Draw the features of one row side by side, each as long as its score; below, next to it, its SHAP values.

    Scores start at 0, because fixing nothing excludes nothing, and Shapley-like ones end at the value of all features
    together. SHAP values are drawn as shap does: those that raise the output push from the left, those that lower it
    from the right, and they meet where the output is. Relevant features that SHAP gives 0 are named.

    Parameters
    ----------
    explanation
        What to draw.
    kind
        Which score: a name in :data:`axfi_kc.scores.SCORES`.
    shap
        SHAP values of the same row: ``{feature name: value}``, as :func:`axfi_kc.shap_scores` gives, or a
        ``shap.Explanation`` of one row and one output. None: no second strip.
    max_features
        How many features to show at most in each strip; the others are one piece.
    ax
        Where to draw, in the place of which two axes are made if there are SHAP values; a new figure by default.

    Returns
    -------
    Axes
        Those of the scores.

    Raises
    ------
    DomainError
        If there is no score above 0, or the SHAP values are not one number per feature of the explanation.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> import axfi_kc
    >>> mpl.use("Agg")
    >>> domain = axfi_kc.Domain([axfi_kc.Integer("age", 0, 99), axfi_kc.Integer("smokes", 0, 1)])
    >>> model = lambda p: p[0] > 60 and p[1] == 1
    >>> e = axfi_kc.Explainer(model, domain).explain((70, 1))
    >>> exact = axfi_kc.shap_scores(axfi_kc.compile_model(model, domain), (70, 1))
    >>> [text.get_text().replace(chr(10), " ") for text in plot_force(e, shap=exact).texts[:2]]
    ['age = 70 0.305', 'smokes = 1 0.25']
    """
    check_explanation(explanation)
    check_limit("max_features", max_features)
    scores = explanation.scores(kind)
    if not any(scores.values()):
        raise DomainError("There is no score above 0 to draw; look at explanation.cxps, which says why.")
    names = {n: f"{label(n, 24)} = {value(v, 12)}" for n, v in explanation.instance.items()}
    strips = [_score_strip(scores, names, max_features)]
    extent = f"{find_score(kind).about}, from 0 to {amount(sum(scores.values()), digits=3)}"
    space = space_line(explanation)
    notes = ["\n".join(filter(None, (output_words(explanation), space, extent)))]
    if shap is not None:
        theirs, base = _shap_values(shap, list(scores))
        if any(theirs.values()):  # else the note says that all are 0
            strips.append(_shap_strip(theirs, base, names, max_features))
        notes.append(_shap_words(theirs, base, [names[n] for n in explanation.relevant if not theirs[n]]))
    heights = [_STRIP + 0.6 + _ROW * (max(level for *_, level in _places(strip)) + 1) for strip in strips]
    high = sum(heights) + 0.85 * len(strips) + NOTE_LINE * bool(space)
    host = own_axes(ax, width=_WIDE + 0.5, height=high)
    rows = [host]
    if len(strips) > 1:
        grid = inner_grid(host, 2, 1, height_ratios=heights)
        rows = [host.figure.add_subplot(grid[k, 0]) for k in range(2)]
    for axes, strip in zip(rows, strips, strict=True):
        _draw_strip(axes, strip)
    if len(notes) > len(rows):
        notes = [f"{notes[0]}\nSHAP gives every feature 0"]
    for axes, title, note in zip(rows, (why(explanation), "The same row by SHAP"), notes, strict=False):
        caption(axes, title, note, above=_TICKS * letters("label"))
    return rows[0]


def _shap_words(values: dict[str, float], base: float, zero: list[str]) -> str:
    start, end = (signed(amount(number, digits=3)) for number in (base, base + sum(values.values())))
    words = f"from the mean output {start} to {end}" if base else f"output less its mean: {end}"
    return words + (f"\nrelevant, but 0 here: {label(', '.join(zero), 100)}" if zero else "")


def _shap_values(given: Any, names: list[str]) -> tuple[dict[str, float], float]:
    """Return SHAP values by feature, and where they start: the mean output, or 0 where it is not said."""
    base = 0.0
    if not isinstance(given, Mapping) and hasattr(type(given), "base_values"):
        given, base = _from_shap(given, names)
    if not isinstance(given, Mapping) or set(given) != set(names):
        what = f"names {', '.join(map(repr, list(given)[:4]))}" if isinstance(given, Mapping) else type(given).__name__
        raise DomainError(f"SHAP values should be one number per feature of the explanation, but {what} were given.")
    try:
        values = {name: float(given[name]) for name in names}
        fine = all(map(isfinite, (base, *values.values())))
    except (TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise DomainError("SHAP values should be finite numbers, but others were given; leave shap out, or mend them.")
    return values, base


def _from_shap(given: Any, names: list[str]) -> tuple[dict[str, float], float]:
    """Return the values of a ``shap.Explanation`` by feature, and the mean output that it says."""
    values = np.asarray(given.values, dtype=np.float64)
    found = getattr(given, "feature_names", None) or names
    if values.ndim != 1 or len(found) != len(values):
        raise DomainError(
            f"SHAP values of one row and one output are drawn, but their shape is {values.shape}; take one, as in "
            "values[0, :, 1]."
        )
    base = 0.0 if given.base_values is None else float(np.ravel(given.base_values)[0])
    return dict(zip(found, values.tolist(), strict=True)), base


def _score_strip(scores: Mapping[str, Fraction], names: dict[str, str], most: int) -> list[_Piece]:
    """Return the pieces of scores, the largest first, from 0 on."""
    return _stacked(_largest({n: float(s) for n, s in scores.items() if s}, names, most), start=0.0, sign=1)


def _shap_strip(values: Mapping[str, float], base: float, names: dict[str, str], most: int) -> list[_Piece]:
    """Return the pieces of SHAP values: what raises the output to the left of it, what lowers it to the right."""
    output, whole = base + sum(values.values()), sum(map(abs, values.values()))
    up = _largest({n: v for n, v in values.items() if v > 0}, names, most, whole)
    down = _largest({n: v for n, v in values.items() if v < 0}, names, most, whole)
    return _stacked(up, start=output, sign=-1) + _stacked(down, start=output, sign=1)


def _largest(values: dict[str, float], names: dict[str, str], most: int, whole: float = 0.0) -> list[tuple[str, float]]:
    """Return texts and values, the largest first; those that are too many or too small are one of them."""
    least = _LEAST * (whole or sum(map(abs, values.values())))
    ranked = sorted(values, key=lambda n: -abs(values[n]))
    rest = [n for k, n in enumerate(ranked) if k >= most - 1 or abs(values[n]) < least]
    kept = [n for n in ranked if n not in rest or len(rest) == 1]
    parts = [(names[n], values[n]) for n in kept]
    return [*parts, (f"{len(rest)} others", sum(values[n] for n in rest))] if len(rest) > 1 else parts


def _stacked(parts: list[tuple[str, float]], *, start: float, sign: int) -> list[_Piece]:
    """Return pieces one after the other from `start`, to the right or (sign -1) to the left."""
    found = []
    for text, value_of in parts:
        end = start + sign * abs(value_of)
        words = f"{text}\n{signed(amount(value_of, digits=3))}"
        found.append(_Piece(min(start, end), max(start, end), words, lowers=value_of < 0))
        start = end
    return sorted(found, key=lambda piece: piece.start)


def _places(strip: list[_Piece]) -> list[tuple[_Piece, float, int]]:
    """Return for each piece where its text stands, in inches from the left, and in which row, so that none overlap."""
    low, high = strip[0].start, max(piece.end for piece in strip)
    ends: list[float] = []  # how far each row is filled
    found = []
    for piece in strip:
        half = text_width(piece.text, "small") / 2 + _APART
        x = ((piece.start + piece.end) / 2 - low) / (high - low) * _WIDE
        x = min(max(x, half), _WIDE - half)
        row = next((k for k, end in enumerate(ends) if end <= x - half), len(ends))
        ends[row : row + 1] = [x + half]
        found.append((piece, x, row))
    return found


def _draw_strip(ax: Axes, strip: list[_Piece]) -> None:
    """Draw pieces as arrows in one line, and below each what it is."""
    colours = palette(ax)
    low, high = strip[0].start, max(piece.end for piece in strip)
    inch = (high - low) / _WIDE
    deepest = 0
    for k, (piece, x, row) in enumerate(_places(strip)):
        _draw_piece(ax, piece, tip=_TIP * inch, pale=k % 2 == 1)
        at, down = low + x * inch, -(0.16 + _ROW * row)
        ax.plot([(piece.start + piece.end) / 2, at], [0, down], color=colours.soft, linewidth=0.8, zorder=0)
        box = {"boxstyle": "square,pad=0.1", "facecolor": colours.paper, "edgecolor": "none"}
        ax.text(at, down, piece.text, ha="center", va="top", fontsize=letters("small"), linespacing=1.15, bbox=box)
        deepest = max(deepest, row)
    ax.set(xlim=(low - 0.1 * inch, high + 0.1 * inch), ylim=(-0.16 - _ROW * (deepest + 1), _STRIP + 0.04), yticks=[])
    bare(ax).spines[["left", "bottom"]].set_visible(False)
    ax.spines["top"].set_visible(True)
    ax.xaxis.tick_top()
    ax.locator_params(axis="x", nbins=7)


def _draw_piece(ax: Axes, piece: _Piece, *, tip: float, pale: bool) -> None:
    """Draw one piece as an arrow: to the right where it raises, to the left where it lowers."""
    colours = palette(ax)
    back, front = (piece.end, piece.start) if piece.lowers else (piece.start, piece.end)
    by = min(tip, 0.45 * (piece.end - piece.start)) * (-1 if piece.lowers else 1)
    middle = _STRIP / 2
    corners = [(back, 0), (front - by, 0), (front, middle), (front - by, _STRIP), (back, _STRIP), (back + by, middle)]
    colour = colours.against if piece.lowers else colours.bar
    ax.add_patch(_polygon(corners, facecolor=colour, alpha=0.72 if pale else 1.0, linewidth=0))


def _polygon(corners: list[tuple[float, float]], **style: Any) -> Any:
    from matplotlib.patches import Polygon

    return Polygon(corners, closed=True, **style)
