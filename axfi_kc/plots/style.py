"""The look that all pictures share: colours, letter sizes, and how names and numbers are shown.

Colours are those that colour-blind people tell apart (after Okabe and Ito), and stand in one place, :data:`LIGHT` and
:data:`DARK`. Which of the two is taken follows matplotlib's own settings: ``plt.style.use("dark_background")``, or axes
with a dark face, make dark pictures. Letters are as large as ``rcParams["font.size"]`` says; figures grow with them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.domain.measures import abridged, amount, shown
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import DomainError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "DARK",
    "LIGHT",
    "NOTE_LINE",
    "Palette",
    "bare",
    "caption",
    "check_explanation",
    "check_flag",
    "check_limit",
    "check_title",
    "inner_grid",
    "label",
    "label_bars",
    "laid_out",
    "letters",
    "number",
    "own_axes",
    "palette",
    "pyplot",
    "save_picture",
    "shades",
    "signed",
    "text_width",
    "told",
    "value",
]


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of pictures on one background.

    Attributes
    ----------
    paper
        The background behind letters that stand on lines.
    ink, soft
        Letters and outlines; letters of less importance.
    faint
        Grids, and dots that stand for nothing.
    bar, second
        Amounts, and amounts beside them.
    against
        What is drawn against `bar`: values that push the other way, edges into a set.
    unordered
        Points of categories, whose values have no order.
    low_to_high
        The least, a middle and the greatest value of a feature, of rising lightness.
    """

    paper: str
    ink: str
    soft: str
    faint: str
    bar: str
    second: str
    against: str
    unordered: str
    low_to_high: tuple[str, str, str]


LIGHT = Palette(
    paper="#ffffff",
    ink="#1b2530",
    soft="#5b6570",
    faint="#d3d9e0",
    bar="#0072b2",
    second="#e69f00",
    against="#c34a00",
    unordered="#00795a",
    low_to_high=("#0b3c7d", "#8f6f86", "#f08a24"),
)
DARK = Palette(
    paper="#000000",
    ink="#f2f4f7",
    soft="#aab4bf",
    faint="#3b434c",
    bar="#56b4e9",
    second="#f0c040",
    against="#ff8040",
    unordered="#2fc796",
    low_to_high=("#3a7fd8", "#b08fb0", "#ffc75a"),
)
_TINY = 1e-6  # below, and above its inverse, a tick is shown with its power of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NOTE_LINE = 0.17
"""What a line of a caption's note takes, in inches of figures."""
_BESIDE = 0.1  # inches between a bar and its text, and after it
_EDGE = 0.08  # inches around what is drawn
_BASE = 10.0  # points: the letters for which the sizes of figures are meant, matplotlib's own default
_SIZES = {"title": 1.1, "label": 0.95, "small": 0.85}


def pyplot() -> Any:
    """Return ``matplotlib.pyplot``, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing") from error
    return plt


def palette(ax: Axes) -> Palette:
    """Return the colours for what these axes stand on, with that very background as the paper.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> mpl.use("Agg")
    >>> with mpl.rc_context({"axes.facecolor": "#202020"}):
    ...     found = palette(own_axes(None, width=1, height=1))
    >>> found.paper, found.ink == DARK.ink
    ('#202020', True)
    """
    from matplotlib import rcParams
    from matplotlib.colors import to_hex, to_rgba

    faces = (ax.get_facecolor(), ax.figure.get_facecolor())
    face = next((to_hex(f) for f in faces if to_rgba(f)[3] > 0.5), None)
    if face is None:  # transparent: what the letters are made for
        return DARK if _lightness(rcParams["text.color"]) > 0.5 else LIGHT
    return replace(DARK if _lightness(face) < 0.5 else LIGHT, paper=face)


def _lightness(colour: Any) -> float:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return 0.3 * red + 0.59 * green + 0.11 * blue


def shades(colours: Palette) -> Any:
    """Return the colour map from low to high values, in which what is missing has the colour of categories."""
    from matplotlib.colors import LinearSegmentedColormap

    made = LinearSegmentedColormap.from_list("low_to_high", colours.low_to_high)
    return made.with_extremes(bad=colours.unordered)


def letters(what: str) -> float:
    """Return the size of letters, in points: of a ``"title"``, a ``"label"`` or of ``"small"`` ones."""
    return _SIZES[what] * float(pyplot().rcParams["font.size"])


def text_width(text: str, what: str = "label") -> float:
    """Return the width of the longest line of a text, in the inches of :func:`own_axes`, to make room for it.

    Examples
    --------
    >>> 0 < text_width("x") < text_width("xx") == text_width("xx" + chr(10) + "x")
    True
    """
    pyplot()  # raises where matplotlib is missing: room is measured before there are axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(size=_SIZES[what] * _BASE)  # as own_axes counts inches
    plain = [line.replace(r"\$", "$") for line in text.split("\n")]
    return max(float(TextToPath().get_text_width_height_descent(line, font, ismath=False)[0]) for line in plain) / 72


def save_picture(path: str | os.PathLike[str], draw: Callable[..., Axes], *given: Any) -> None:
    """Draw what was given, without a window, and write it to a file.

    Raises
    ------
    DomainError
        If the file's name ends in no kind of picture that matplotlib writes.
    """
    kind = picture_kind(path)
    plt = pyplot()
    figure: Any = draw(*given).figure
    drawn = BytesIO()
    figure.savefig(drawn, dpi=150, format=kind)
    plt.close(figure)
    write_whole(path, drawn.getvalue(), what="The picture")


def picture_kind(path: str | os.PathLike[str]) -> str:
    """Return which kind of picture a file is to hold, without a window.

    Raises
    ------
    DomainError
        If the file's name ends in no kind of picture that matplotlib writes.
    """
    plt = pyplot()
    plt.switch_backend("Agg")
    kinds = plt.figure().canvas.get_supported_filetypes()
    plt.close()
    if (kind := os.path.splitext(path)[1].lower().removeprefix(".")) not in kinds:
        raise DomainError(
            f"A picture's file should end in one of .{', .'.join(sorted(kinds))}, but {os.fspath(path)!r} ends in "
            f"{'none' if not kind else repr('.' + kind)}; call it .png, say."
        )
    return kind


def own_axes(ax: Axes | None, *, width: float, height: float) -> Axes:
    """Return `ax`, or the axes of a new figure of so many inches, whose layout keeps every label inside.

    Inches are for letters of matplotlib's default size; with larger letters the figure is larger.
    """
    if ax is not None:
        return _checked_axes(ax)
    scale = _scale()
    figure, made = pyplot().subplots(figsize=(width * scale, height * scale), layout="constrained")
    figure.get_layout_engine().set(w_pad=_EDGE, h_pad=_EDGE)
    return made


def _scale() -> float:
    """Return how much larger letters are than matplotlib's own."""
    return letters("label") / (_SIZES["label"] * _BASE)


def inner_grid(host: Axes, rows: int, columns: int, **ratios: Any) -> Any:
    """Return a grid for several axes in the place of one, which is hidden."""
    place = host.get_subplotspec()
    if place is None:
        raise DomainError("This picture has several panels and needs axes of a grid; make ax with plt.subplots.")
    host.set_axis_off()
    return place.subgridspec(rows, columns, hspace=0.02, wspace=0.02, **ratios)


def _checked_axes(ax: Any) -> Axes:
    pyplot()
    from matplotlib.axes import Axes as Drawn

    if not isinstance(ax, Drawn):
        raise DomainError(
            f"ax must be matplotlib axes, but {type(ax).__name__} was given; take one of plt.subplots(), or none."
        )
    return ax


def check_explanation(given: Any) -> None:
    """Say what is drawn, where something else than one explanation was given."""
    if not hasattr(type(given), "heaviest_cxps"):
        raise DomainError(
            f"One explanation is drawn, but {type(given).__name__} was given; take what Explainer.explain returns, or "
            "one of a batch."
        )


def check_limit(what: str, given: Any, *, least: int = 1) -> int:
    """Return a limit on what is drawn, or say what it has to be.

    Examples
    --------
    >>> check_limit("most", 0)
    Traceback (most recent call last):
    axfi_kc.errors.DomainError: most must be a whole number of at least 1, but 0 was given; give more, or leave it out.
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise DomainError(
            f"{what} must be a whole number of at least {least}, but {told(given)} was given; "
            "give more, or leave it out."
        )
    return int(given)


def check_flag(what: str, given: Any) -> bool:
    """Return True or False, or say that it has to be one of them."""
    if not isinstance(given, bool | np.bool_):
        raise DomainError(f"{what} must be True or False, but {told(given)} was given; give one of them.")
    return bool(given)


def check_title(given: Any) -> str:
    """Return a title that was given, on one line, or say that it has to be a text."""
    if not isinstance(given, str):
        raise DomainError(f"title must be a text, but {told(given)} was given; give one, or leave it out.")
    return label(given, 120)


def told(given: Any) -> str:
    """Return what was given as a message tells it: plain values themselves, of anything else the kind alone.

    Examples
    --------
    >>> told(-3), told("text"), told([1, 2])
    ('-3', "'text'", 'list')
    """
    plain = given is None or (isinstance(given, bool | int | float | str) and not _is_huge(given))
    return abridged(repr(given), 40) if plain else type(given).__name__


def _is_huge(given: Any) -> bool:
    return isinstance(given, int) and abs(given) > 10**30  # Python refuses to print the largest


def bare(ax: Axes) -> Axes:
    """Take away the frame's upper and right lines, set the letters of the ticks, and leave no offset over an axis."""
    from matplotlib.ticker import ScalarFormatter

    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=letters("label"))
    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(_plain_ticks)
    return ax


def _plain_ticks(tick: float, _: float = 0) -> str:
    """Return a tick's whole value: no power of ten that stands for all of them somewhere else.

    Examples
    --------
    >>> _plain_ticks(-0.00002), _plain_ticks(2.5e-9), _plain_ticks(1500), _plain_ticks(3e7)
    ('−0.00002', '2.5·10⁻⁹', '1500', '3·10⁷')
    """
    text = f"{tick:.6g}"
    if tick and not _TINY <= abs(tick) < 1 / _TINY:
        digits, _mark, power = f"{tick:.5e}".partition("e")
        text = f"{digits.rstrip('0').rstrip('.')}·10{str(int(power)).translate(_RAISED)}"
    elif "e" in text:
        text = f"{float(text):.11f}".rstrip("0").rstrip(".")
    return signed(text)


def signed(text: str) -> str:
    """Return a number's text with a minus sign for its hyphen, as in print."""
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def laid_out(ax: Axes) -> float:
    """Lay the figure out as it is, and return how wide the axes are then, in the inches of :func:`own_axes`."""
    figure: Any = ax.figure.canvas.figure  # the whole one, also around a part; matplotlib below 3.10 has no root=True
    figure.draw_without_rendering()
    return float(ax.get_window_extent().width / figure.dpi / _scale())


def label_bars(ax: Axes, bars: Any, words: Sequence[str], *, what: str = "label") -> None:
    """Write beside horizontal bars that start at 0, and end the axis where the longest of both ends."""
    wide = laid_out(ax)  # before there is a text that the layout would make room for
    ends = [(float(bar.get_width()), text_width(text, what) + _BESIDE) for bar, text in zip(bars, words, strict=True)]
    # A bar of w, drawn on an axis that ends at r, takes w / r of the width; its text the rest, or more.
    least = max((end * wide / max(wide - text, 0.25 * wide) for end, text in ends), default=0.0)
    ax.set_xlim(0, least or 1.0)
    ax.bar_label(bars, list(words), padding=3, fontsize=letters(what))


def caption(ax: Axes, title: str, note: str = "", *, above: float = 0.0) -> None:
    """Set the title, with a smaller note below it, so many points above the axes; long lines of the note are broken."""
    room = _room(ax, note)
    drawn = _captioned(ax, title, _broken(note, room), above)
    if drawn is None or text_width(drawn.get_text(), "small") < 0.5 * _width(ax):
        return  # a short note needs no layout, which takes time
    laid_out(ax)  # which may have moved the axes to make room for the note
    box, figure = drawn.get_window_extent(), drawn.get_figure()
    beyond = max(figure.bbox.x0 - box.x0, box.x1 - figure.bbox.x1)
    if beyond > 0:
        drawn.remove()
        narrower = max(room - 2 * beyond / (figure.dpi * _scale()) - 0.2, 1.0)
        _captioned(ax, title, _broken(note, narrower), above)


def _captioned(ax: Axes, title: str, note: str, above: float) -> Any:
    """Draw a title and, in the lines as they are, a note, which is returned if there is one."""
    small = letters("small")
    lines = note.count("\n") + 1 if note else 0
    ax.set_title(title, fontsize=letters("title"), pad=8 + above + 1.4 * small * lines, wrap=True)
    if not note:
        return None
    return ax.annotate(
        note,
        (0.5, 1.0),
        xytext=(0, 5 + above),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=small,
        color=palette(ax).soft,
    )


def _room(ax: Axes, note: str) -> float:
    """Return how many inches a line that is centred over the axes can have within the figure."""
    figure: Any = ax.figure
    inch, whole = figure.dpi * _scale(), _width(ax)
    if text_width(note, "small") > 0.5 * whole:
        laid_out(ax)
        box = ax.get_window_extent()
        centre = (box.x0 + box.x1) / 2 - figure.bbox.x0
        whole = 2 * min(centre, figure.bbox.width - centre) / inch
    return max(whole - 0.2, 1.0)


def _width(ax: Axes) -> float:
    """Return the width of the figure in the inches of :func:`own_axes`."""
    figure: Any = ax.figure
    return float(figure.bbox.width / (figure.dpi * _scale()))


def _broken(text: str, room: float) -> str:
    """Return a text in lines of at most so many inches, as far as its words allow."""
    lines: list[str] = []
    for given in text.split("\n"):
        lines.append("")
        for word in filter(None, given.split(" ")):  # words that are held together by other spaces stay so
            longer = f"{lines[-1]} {word}".lstrip()
            if not lines[-1] or text_width(longer, "small") <= room:
                lines[-1] = longer
            else:
                lines.append(word)
    return "\n".join(lines)


def label(text: object, length: int = 28) -> str:
    """Return `text` on one line, its middle left out, and safe from matplotlib's reading of dollar signs as formulas.

    The end stays, because names of columns often differ in it alone. Words that would be cut are left out, if enough
    stays without them; numbers and signs in any case, unless there is nothing else.

    Examples
    --------
    >>> label("a name that is much too long for a picture"), label("the_mean_of_all_that_they_earned_in_2024")
    ('a name that is…a picture', 'the_mean_of_all_th…d_in_2024')
    >>> label("what they earn in the year of the survey >= 0.0034")
    'what they earn in…>= 0.0034'
    """
    # Halves of letters, which no font has, as question marks.
    line = " ".join(str(text).encode("utf-8", "replace").decode().split()) or "''"
    if len(line) > length:
        end = (length - 1) // 3
        last = _whole_end(line, len(line) - end, length)
        first = _whole_beginning(line, length - 1 - len(line) + last)
        line = f"{line[:first].rstrip()}…{line[last:].lstrip()}" if end else abridged(line, length)
    return line.replace("$", r"\$")


def _whole_end(line: str, last: int, length: int) -> int:
    """Return where the end of a line begins that is kept, no word of it cut, if that leaves enough of it."""
    begin, stop = line.rfind(" ", 0, last) + 1, line.find(" ", last - 1)
    stop = len(line) if stop < 0 else stop
    if begin and _is_exact(line[begin:stop]):  # whole, where half of the letters have room for it
        return begin if 2 * (len(line) - begin) <= length else stop
    return stop if 2 * (len(line) - stop) > len(line) - last else last


def _whole_beginning(line: str, first: int) -> int:
    """Return where the beginning of a line ends that is kept, as for its end."""
    begin = line.rfind(" ", 0, first + 1) + 1
    word = line[begin:].partition(" ")[0]
    return begin if 2 * begin > first or (_is_exact(word) and word != line) else first


def _is_exact(word: str) -> bool:
    """Tell whether a word is a number or a sign, part of which would be another one."""
    return not any(c.isalpha() for c in word.replace("e", ""))


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
