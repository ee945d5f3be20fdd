"""The look that all pictures share: colours, letter sizes, and how names and numbers are shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import quoted
from axfi_kc.domain.measures import abridged, amount, shown
from axfi_kc.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ABSENT",
    "BAR",
    "FAINT",
    "INK",
    "LABEL",
    "LOW_TO_HIGH",
    "PRESENT",
    "SECOND",
    "SMALL",
    "TITLE",
    "bare",
    "caption",
    "label",
    "number",
    "own_axes",
    "pyplot",
    "save_picture",
    "value",
]


BAR = "#2a6f97"
SECOND = "#e09f3e"
INK = "#1d3557"
PRESENT = "#b3261e"
ABSENT = "#8a8f98"
FAINT = "#e3e7ec"
LOW_TO_HIGH = ("#2a6f97", "#b9a7c9", "#b3261e")  # distinct in lightness too, for colour-blind eyes and grey prints

TITLE, LABEL, SMALL = 11.0, 9.5, 8.5


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing") from error
    return plt


def save_picture(path: str | os.PathLike[str], draw: Callable[..., Axes], *given: Any) -> None:
    """Draw what was given, without a window, and write it to a file."""
    plt = pyplot()
    plt.switch_backend("Agg")
    figure: Any = draw(*given).figure
    figure.savefig(path, dpi=150)
    plt.close(figure)


def own_axes(ax: Axes | None, *, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure of so many inches, whose layout keeps every label inside."""
    from matplotlib.axes import Axes as Some

    if isinstance(ax, Some):
        return ax
    if ax is not None:
        raise ArgumentError(
            f"ax= takes the axes of a matplotlib figure or None, but {quoted(ax)} was given; give some."
        )
    _, made = pyplot().subplots(figsize=(width, height), layout="constrained")
    return made


def bare(ax: Axes) -> Axes:
    """Take away the frame's upper and right lines, and set the letters of the ticks."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=LABEL)
    return ax


def caption(ax: Axes, title: str, note: str = "") -> None:
    """Set the title, with a smaller note below it."""
    ax.set_title(title, fontsize=TITLE, pad=20 if note else 8)
    if note:
        ax.annotate(
            note,
            (0.5, 1.0),
            xytext=(0, 5),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color=ABSENT,
        )


def label(text: object, length: int = 28) -> str:
    """Return `text` on one line, abridged, and safe from matplotlib's reading of dollar signs as formulas.

    Examples
    --------
    >>> label("a name that is much too long for a picture")
    'a name that is much too lon…'
    """
    line = " ".join(str(text).split()) or "''"
    return abridged(line, length).replace("$", r"\$")


def value(given: Any, length: int = 16) -> str:
    """Return a feature's value or a model's output as a short text.

    Examples
    --------
    >>> value(0.123456789), value("red"), value(3)
    ('0.123457', 'red', '3')
    """
    return label(shown(given), length)


def number(exact: Any, length: int = 11) -> str:
    """Return an exact number with ``=`` if it is short, else rounded with ``≈``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> number(Fraction(1, 3)), number(Fraction(123456789, 9876543210))
    ('= 1/3', '≈ 0.0125')
    """
    text = shown(exact, digits=None)
    return f"= {text}" if len(text) <= length else f"≈ {amount(exact)}"
