"""How scores and CXps change as the radius around an instance grows."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from axfi_kc.domain.measures import amount, counted
from axfi_kc.domain.region import weight_words
from axfi_kc.errors import DomainError
from axfi_kc.explanations.radius_path import RadiusPath
from axfi_kc.plots.style import (
    NOTE_LINE,
    bare,
    caption,
    check_limit,
    check_title,
    label,
    laid_out,
    letters,
    own_axes,
    palette,
    text_width,
)
from axfi_kc.plots.titles import space_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_radius_path"]


_LINE, _MOST_LINES = 44, 4


def plot_radius_path(path: RadiusPath, *, most: int = 15, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw for each CXp the radii at which it is one, from where it appears to where a smaller one replaces it.

    Parameters
    ----------
    path
        What :func:`axfi_kc.explanations.radius_path.radius_path` found.
    most
        The largest number of CXps drawn, those that appear first.
    title
        The picture's title.
    ax
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> import axfi_kc as ax
    >>> from axfi_kc.explanations.radius_path import radius_path
    >>> mpl.use("Agg")
    >>> domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9)])
    >>> path = radius_path(ax.Explainer(lambda p: p[0] + p[1] > 6, domain), (2, 2), unit="value")
    >>> [t.get_text() for t in plot_radius_path(path).get_yticklabels()]
    ['{a, b}', '{a}', '{b}']
    """
    check_limit("most", most)
    heading = check_title(title or "CXps as the radius grows") if isinstance(title, str) else check_title(title)
    if not isinstance(path, RadiusPath):
        raise DomainError(
            f"A path of radii is drawn, but {type(path).__name__} was given; take what radius_path returns."
        )
    lives = _lives(path)
    if not lives:
        raise DomainError("There is no CXp at any radius of this path, so there is nothing to draw; look further.")
    names, spans = list(lives)[:most], list(lives.values())[:most]
    labels = [_label(features) for features in names]
    lines = max(text.count("\n") + 1 for text in labels)
    # Which radius a step has is what the picture shows; the rest of the region is that of the path.
    space = space_line(path[0].explanation, region=path.region)
    ax = own_axes(ax, width=8.0, height=1.7 + (0.14 + 0.16 * lines) * len(names) + NOTE_LINE * bool(space))
    last = _right_end(path)
    for row, ends in enumerate(spans):
        for start, end, is_open in ends:
            _draw_life(ax, row, float(start), last if end is None else float(end), is_open, goes_on=end is None)
    ax.set_yticks(range(len(names)), labels)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color=palette(ax).faint, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_xlabel(f"radius: {path.measure}", fontsize=letters("label"))
    caption(bare(ax), heading, "\n".join(filter(None, (_note(path, len(lives) - len(names)), space))))
    _begin(ax, min(float(ends[0][0]) for ends in spans), last)
    return ax


def _lives(path: RadiusPath) -> dict[tuple[str, ...], list[list[Any]]]:
    """Return per CXp the radii from which and until which it is one; until None: as far as was looked."""
    found: dict[tuple[str, ...], list[list[Any]]] = {}
    for step in path:
        for gone in step.vanished:
            found[gone][-1][1] = step.start
        for new in step.appeared:
            found.setdefault(new, []).append([step.start, None, step.is_open])
    return found


def _label(features: tuple[str, ...]) -> str:
    """Return the features of a CXp on a few lines."""
    whole = (label(name).replace(" ", "\N{NO-BREAK SPACE}") for name in features)  # names stay on one line
    lines = wrap("{" + ", ".join(whole) + "}", _LINE)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"... {len(features)} features}}"]
    return "\n".join(lines)


def _right_end(path: RadiusPath) -> float:
    """Return where the picture ends: as far as was looked, or a little beyond the last change."""
    if path.up_to is not None and path.is_complete:
        return float(path.up_to)
    return float(path[-1].start) * 1.15 or 1.0


def _begin(ax: Axes, first: float, last: float) -> None:
    """Begin the axis a little before the first CXp, with room for the number to the left of it."""
    share = min((text_width(amount(first), "small") + 0.2) / laid_out(ax), 0.5)
    left = min(max(0.0, first - 0.6 * (last - first)), (first - share * last) / (1 - share))
    ax.set_xlim(left, last)
    if left < 0:  # no radius is
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= last])


def _draw_life(ax: Axes, row: int, start: float, end: float, is_open: bool, *, goes_on: bool) -> None:
    ax.plot([start, end], [row, row], color=palette(ax).ink, linewidth=3.5, solid_capstyle="butt")
    face = palette(ax).paper if is_open else palette(ax).against
    ax.plot(
        [start],
        [row],
        "o",
        markersize=6,
        markerfacecolor=face,
        markeredgecolor=palette(ax).against,
        clip_on=False,
        zorder=3,
    )
    if not goes_on:
        ax.plot([end], [row], "|", markersize=11, markeredgewidth=2, color=palette(ax).soft, clip_on=False)
    ax.annotate(
        amount(start), (start, row), xytext=(-7, 0), textcoords="offset points", ha="right", va="center",
        fontsize=letters("small"), color=palette(ax).soft,
    )  # fmt: skip


def _note(path: RadiusPath, left_out: int) -> str:
    parts = weight_words(path.region)
    parts += ["open circle: from just beyond it on"] * any(step.is_open for step in path)
    parts += [f"{counted(left_out, 'more CXp')} appear{'s' * (left_out == 1)} later"] * bool(left_out)
    parts += ["not complete: the budget was spent"] * (not path.is_complete)
    return "; ".join(parts)
