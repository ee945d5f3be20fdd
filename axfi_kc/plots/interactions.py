"""Interactions of two features as a network: features on a circle, lines between those that interact."""

from __future__ import annotations

from fractions import Fraction
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import checked
from axfi_kc.domain.measures import amount
from axfi_kc.errors import DomainError
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.plots.style import ABSENT, BAR, INK, LABEL, PRESENT, SMALL, caption, label, own_axes
from axfi_kc.scores import shares_of
from axfi_kc.scores.interactions import find_interaction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_interactions"]


_WIDEST = 7.0  # points of the strongest line
_LARGEST = 900.0  # square points of the disc of a feature with all of the score
_NUMBERED = 6  # lines that carry their number
_Pairs = list[tuple[tuple[str, ...], Fraction]]


@checked("explanation", "max_features", "max_pairs", "ax")
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
    if max_features < 2 or max_pairs < 1:
        raise DomainError(
            f"A network needs room for two features and a line, but {max_features} and {max_pairs} were given."
        )
    about, found = find_interaction(kind).about, explanation.interactions(kind)
    names, pairs = _strongest(found, explanation, max_features, max_pairs)
    ax = own_axes(ax, width=7.2, height=6.2)
    places = {n: _place(k, len(names)) for k, n in enumerate(names)}
    _draw_lines(ax, pairs, places)
    shares = shares_of(explanation.scores("banzhaf" if kind == "banzhaf" else "shapley"))
    ax.scatter(
        [places[n][0] for n in names],
        [places[n][1] for n in names],
        s=[60 + _LARGEST * float(shares[n]) for n in names],
        color=INK,
        zorder=3,
    )
    for n in names:
        _draw_name(ax, n, places[n])
    # Room for names to the left and right: these are as wide as they are long, whatever the circle's size.
    ax.set(xlim=(-2.0, 2.0), ylim=(-1.35, 1.35), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set_visible(False)
    hidden = len(found) - len(pairs)
    words = "discs: share of the score; lines: interaction, solid below 0, dashed above"
    caption(ax, f"{about} of two features", words + (f" ({hidden} weaker ones not shown)" if hidden else ""))
    return ax


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
    for rank, ((a, b), value) in enumerate(pairs):
        strength = float(abs(value) / most)
        (x, y), (u, v) = places[a], places[b]
        # The strongest on top, and light where weak: many lines cross.
        style: dict[str, Any] = {"color": BAR, "linestyle": "-"} if value < 0 else {"color": PRESENT, "linestyle": "--"}
        ax.plot([x, u], [y, v], linewidth=0.5 + _WIDEST * strength, alpha=0.25 + 0.6 * strength, zorder=1, **style)
        if rank < _NUMBERED:
            # Not in the middle, where lines through the centre meet.
            at = (0.62 * x + 0.38 * u, 0.62 * y + 0.38 * v)
            ax.annotate(
                amount(value, digits=2),
                at,
                ha="center",
                va="center",
                fontsize=SMALL,
                color=INK,
                zorder=4,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": ABSENT, "linewidth": 0.5},
            )


def _draw_name(ax: Axes, name: str, place: tuple[float, float]) -> None:
    x, y = place
    side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
    ax.annotate(
        label(name, 22),
        (x, y),
        xytext=(14 * x, 16 * y),
        textcoords="offset points",
        ha=side,
        va="bottom" if y > 0.9 else "top" if y < -0.9 else "center",
        fontsize=LABEL,
    )
