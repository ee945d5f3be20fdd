"""Interactions of two features as a network: features on a circle, lines between those that interact."""

from __future__ import annotations

from fractions import Fraction
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from axfi_kc.domain.measures import amount, counted
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.plots.style import (
    NOTE_LINE,
    caption,
    check_explanation,
    check_limit,
    label,
    letters,
    own_axes,
    palette,
    signed,
    text_width,
)
from axfi_kc.plots.titles import space_line
from axfi_kc.scores import shares_of
from axfi_kc.scores.interactions import find_interaction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_interactions"]


_WIDEST = 7.0  # points of the strongest line
_LARGEST = 900.0  # square points of the disc of a feature with all of the score
_NUMBERED = 6  # lines that carry their number
_NAME = 22  # letters of a name
_INCH = 2.0  # inches of the circle's radius
_LINE = 0.13  # a line of small letters, in radii
# Not in the middle first, where lines through the centre meet, nor near the ends, where discs and names are.
_SHARES = (0.38, 0.62, 0.5, 0.3, 0.7, 0.44, 0.56, 0.25, 0.75)
_Pairs = list[tuple[tuple[str, ...], Fraction]]


def plot_interactions(
    explanation: Explanation,
    kind: str = "shapley",
    *,
    max_features: int = 12,
    max_pairs: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Draw features on a circle, and between each two that interact a line as wide as their interaction is strong.

    Lines below 0 (two features that stand in for each other) are solid, those above 0 dashed, so the colours are not
    needed to tell them apart. Discs are as large as the features' shares of the score: the Banzhaf-like one
    for its interactions, else the Shapley-like one.

    Parameters
    ----------
    explanation
        What to draw.
    kind
        A name in :data:`axfi_kc.scores.interactions.INTERACTIONS`.
    max_features
        How many features to show at most: those with most interaction.
    max_pairs
        How many lines to draw at most, the strongest.
    ax
        Where to draw; a new figure by default.

    Raises
    ------
    WeightError
        If there is no such interaction.
    DomainError
        If a limit is less than two features or one line.
    """
    check_explanation(explanation)
    check_limit("max_features", max_features, least=2)
    check_limit("max_pairs", max_pairs)
    about, found = find_interaction(kind).about, explanation.interactions(kind)
    names, pairs = _strongest(found, explanation, max_features, max_pairs)
    places = {n: _place(k, len(names)) for k, n in enumerate(names)}
    left, right = _margins(places)
    space = space_line(explanation)
    high = _INCH * 2.5 + 0.8 + NOTE_LINE * bool(space)
    ax = own_axes(ax, width=max(_INCH * (left + right) + 0.3, 6.0), height=high)
    shares = shares_of(explanation.scores("banzhaf" if kind == "banzhaf" else "shapley"))
    for n in names:
        _draw_name(ax, n, places[n])
    _draw_lines(ax, pairs, places)
    sizes = [60 + _LARGEST * float(shares[n]) for n in names]
    x, y = zip(*(places[n] for n in names), strict=True)
    ax.scatter(x, y, s=sizes, color=palette(ax).ink, zorder=3)
    ax.set(xlim=(-left, right), ylim=(-1.25, 1.25), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    hidden = len(found) - len(pairs)
    lines = "lines: interaction, solid below 0, dashed above" if found else "no two features interact"
    words = f"discs: share of the score; {lines}"
    words += f" ({counted(hidden, 'weaker pair')} not shown)" if hidden else ""
    caption(ax, f"{about} of two features", "\n".join(filter(None, (words, space))))
    return ax


def _margins(places: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """Return how far the picture goes to the left and to the right of the circle's middle, in its radii."""
    ends = {-1: 1.0, 1: 1.0}
    for name, (x, _) in places.items():
        wide = text_width(label(name, _NAME)) / _INCH
        for side in (-1, 1):
            reach = wide / 2 if abs(x) < 0.1 else wide + 0.12 if x * side > 0 else 0.0
            ends[side] = max(ends[side], side * x + reach)
    return ends[-1] + 0.05, ends[1] + 0.05


def _strongest(
    found: dict[tuple[str, ...], Fraction], explanation: Any, max_features: int, max_pairs: int
) -> tuple[list[str], _Pairs]:
    """Return the features with most interaction, in the domain's order, and the strongest pairs among them."""
    totals = dict.fromkeys(explanation.domain.names, Fraction(0))
    for pair, value in found.items():
        for name in pair:
            totals[name] += abs(value)
    # Without any interaction the features of CXps are shown alone.
    some = [n for n in totals if totals[n]] or list(explanation.relevant) or list(totals)
    chosen = set(sorted(some, key=lambda n: -totals[n])[:max_features])
    inside = [(pair, value) for pair, value in found.items() if chosen.issuperset(pair)]
    pairs = sorted(inside, key=lambda item: -abs(item[1]))[:max_pairs]
    return [n for n in totals if n in chosen], pairs


def _place(k: int, n: int) -> tuple[float, float]:
    angle = pi / 2 - 2 * pi * k / n
    return cos(angle), sin(angle)


def _draw_lines(ax: Axes, pairs: _Pairs, places: dict[str, tuple[float, float]]) -> None:
    most = max((abs(value) for _, value in pairs), default=Fraction(1))
    taken: list[tuple[float, float, float]] = []
    for rank, ((a, b), value) in enumerate(pairs):
        strength = float(abs(value) / most)
        (x, y), (u, v) = places[a], places[b]
        # The strongest on top, and light where weak: many lines cross.
        below = {"color": palette(ax).bar, "linestyle": "-"}
        style: dict[str, Any] = below if value < 0 else {"color": palette(ax).against, "linestyle": "--"}
        ax.plot([x, u], [y, v], linewidth=0.5 + _WIDEST * strength, alpha=0.25 + 0.6 * strength, zorder=1, **style)
        if rank < _NUMBERED:
            _number_line(ax, signed(amount(value, digits=2)), places[a], places[b], taken)


def _number_line(ax: Axes, text: str, start: Any, end: Any, taken: list[tuple[float, float, float]]) -> None:
    """Write a number on a line, where no other stands yet; nowhere if there is no such place."""
    half = text_width(text, "small") / 2 / _INCH + 0.04
    for share in _SHARES:
        x, y = (start[k] + share * (end[k] - start[k]) for k in (0, 1))
        if all(abs(x - u) > half + other or abs(y - v) > _LINE for u, v, other in taken):
            taken.append((x, y, half))
            frame = {"facecolor": palette(ax).paper, "edgecolor": palette(ax).soft, "linewidth": 0.5}
            box = {"boxstyle": "round,pad=0.15", **frame}
            ax.text(x, y, text, ha="center", va="center", fontsize=letters("small"), zorder=4, bbox=box)
            return


def _draw_name(ax: Axes, name: str, place: tuple[float, float]) -> None:
    x, y = place
    side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
    ax.annotate(
        label(name, _NAME),
        (x, y),
        xytext=(14 * x, 16 * y),
        textcoords="offset points",
        ha=side,
        va="bottom" if y > 0.9 else "top" if y < -0.9 else "center",
        fontsize=letters("label"),
    )
