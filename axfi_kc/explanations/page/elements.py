"""The parts of a page: escaped text, sortable tables, bars, strips and the CXp-Forest as SVG.

Whatever is not :class:`Markup` is text and gets escaped, so that forgetting to escape is not possible.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from axfi_kc.domain.measures import abridged, amount, counted, shown

__all__ = [
    "Cell",
    "Markup",
    "allowed",
    "bar",
    "element",
    "exact_number",
    "forest",
    "histogram",
    "joined",
    "more",
    "name",
    "names",
    "note",
    "number_cell",
    "percent",
    "readable",
    "share_cell",
    "table",
]


# not allowed in HTML, or not writable as UTF-8 (lone surrogates)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_EMPTY = frozenset({"input", "meta", "rect", "path", "line"})
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LEAST_POWER = -6  # of numbers that are written with all their zeros


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def allowed(text: str) -> str:
    """Return a text with a mark in place of each character that no page may have.

    Examples
    --------
    >>> allowed("age" + chr(0))
    'age�'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def _text(content: object) -> str:
    return content if isinstance(content, Markup) else escape(allowed(str(content)), quote=True)


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """Return an element; ``class_`` and ``data_key`` become ``class`` and ``data-key``, None leaves one out.

    Examples
    --------
    >>> element("p", "a < b ", element("b", "&"), class_="x")
    '<p class="x">a &lt; b <b>&amp;</b></p>'
    """
    pairs = [(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None]
    written = "".join(f' {key}="{_text(value)}"' for key, value in pairs)
    if tag in _EMPTY:  # closed here: within SVG, what follows would otherwise become its child
        return Markup(f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{joined(content)}</{tag}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Return `parts`, each escaped unless it is markup, one after the other."""
    return Markup(_text(between).join(_text(part) for part in parts))


def name(feature: object) -> Markup:
    """Return a feature's name, kept from turning the direction of the text around it.

    Examples
    --------
    >>> name("<age>")
    '<bdi>&lt;age&gt;</bdi>'
    """
    return element("bdi", feature)


def note(*content: object) -> Markup:
    """Return a remark in small letters."""
    return element("p", *content, class_="note")


def more(left: int, noun: str, *, what: str = "listed") -> Markup | str:
    """Return a remark on how many more there are, if there are any."""
    return note(f"{counted(left, noun)} more, not {what}.") if left > 0 else ""


def readable(value: Fraction | float) -> str:
    """Return a number to four digits as people write it, without an ``e``.

    Examples
    --------
    >>> readable(Fraction(1, 3)), readable(0.0000123456), readable(Fraction(2, 10**9)), readable(10**58)
    ('0.3333', '0.00001235', '2 × 10⁻⁹', 'about 10⁵⁸')
    """
    digits, _, power = amount(value).partition("e")
    if not power:
        head, raised, exponent = digits.partition("^")
        return head + exponent.translate(_RAISED) if raised else digits
    if int(power) < _LEAST_POWER or int(power) > 0:
        return f"{digits} \N{MULTIPLICATION SIGN} 10{str(int(power)).translate(_RAISED)}"
    return f"{float(f'{digits}e{power}'):.{len(digits.strip('-').replace('.', '')) - 1 - int(power)}f}"


def percent(share: Fraction | float) -> str:
    """Return a share in hundredths; what is not 0 is never shown as 0.

    Examples
    --------
    >>> percent(Fraction(1, 3)), percent(0), percent(1e-9), percent(1)
    ('33.3%', '0%', '< 0.1%', '100%')
    """
    if share in (0, 1):
        return f"{int(share):.0%}"
    return f"{float(share):.1%}" if share >= Fraction(1, 2000) else "< 0.1%"


def exact_number(value: Fraction | float) -> Markup | str:
    """Return a number as people read it; where digits are missing, the exact one unfolds when it is clicked."""
    text = readable(value)
    if isinstance(value, float):
        return text
    exact = element("code", shown(value, digits=None))
    if value == int(value) and abs(value) < 10**15:
        return exact
    return element("details", element("summary", text, title="show the exact number"), exact, class_="exact")


_STEP, _LEAN, _RIGHT, _LETTER = 46, 22, 84, 7.2
_LONGEST_LABEL = 22
_COLUMNS = 40


def _strip(content: Markup, width: int, kind: str) -> Markup:
    return element(
        "svg", content, class_=kind, viewBox=f"0 0 {width} 10", preserveAspectRatio="none", aria_hidden="true"
    )


def histogram(values: Sequence[float], most: float) -> Markup:
    """Return how the values are spread from 0 on the left to `most` on the right, as columns.

    A column that is not empty is never too low to be seen.
    """
    counts = [0] * _COLUMNS
    for v in values:
        counts[min(int(_COLUMNS * v / most), _COLUMNS - 1) if most else 0] += 1
    highest = max(counts)
    heights = [(k, 1 + 9 * count / highest) for k, count in enumerate(counts) if count]
    columns = element("path", d=" ".join(f"M{k} 10v-{height:.3g}h1V10z" for k, height in heights))
    return _strip(columns, _COLUMNS, "strip")


def forest(trees: Sequence[tuple[tuple[str, ...], Fraction | int]], *, left: int) -> Markup:
    """Return the trees of CXps with their weights, each a figure of its own so that they fill any width.

    A note says how many more are `left`.
    """
    figures = [_figure(cxp, weight) for cxp, weight in trees]
    return joined([element("div", *figures, class_="forest"), more(left, "tree", what="drawn")])


def _figure(cxp: tuple[str, ...], weight: Fraction | int) -> Markup:
    words = f"Tree of the CXp {', '.join(cxp)}: 1 if one of them is in S, else 0."
    return element("figure", _tree(cxp, words), element("figcaption", f"weight {readable(weight)}"))


def _tree(cxp: tuple[str, ...], words: str) -> Markup:
    """Draw a tree: to the right "in S" ends in 1, to the left "not in S" goes on."""
    labels = [abridged(n, _LONGEST_LABEL) for n in cxp]
    half = max(_LETTER * len(text) for text in labels) / 2 + 10
    left = max(half, _LEAN + 16.0)
    width = left + _LEAN * (len(cxp) - 1) + max(half, _RIGHT + 16.0)
    lines, nodes = [], []
    for depth, text in enumerate(labels):
        x, y = left + _LEAN * (len(cxp) - 1 - depth), 20 + _STEP * depth
        lines += [_line(x, y, x - _LEAN, absent=True), _line(x, y, x + _RIGHT, absent=False)]
        nodes += [_node(x, y, text, rounded=True), _node(x + _RIGHT, y + _STEP, "1")]
    nodes.append(_node(left - _LEAN, 20 + _STEP * len(cxp), "0"))
    height = 40 + _STEP * len(cxp)
    size = {"width": f"{width:.0f}", "height": f"{height}", "viewBox": f"0 0 {width:.0f} {height}"}
    return element("svg", element("title", words), *lines, *nodes, role="img", **size)


def _line(x: float, y: float, end: float, *, absent: bool) -> Markup:
    ends = {"x1": f"{x:g}", "y1": f"{y:g}", "x2": f"{end:g}", "y2": f"{y + _STEP:g}"}
    return element("line", class_="absent" if absent else None, **ends)


def _node(x: float, y: float, text: str, *, rounded: bool = False) -> Markup:
    half = _LETTER * len(text) / 2 + 7
    box = {"x": f"{x - half:g}", "y": f"{y - 12:g}", "width": f"{2 * half:g}", "height": "24"}
    label = element("text", text, x=f"{x:g}", y=f"{y:g}")
    return joined([element("rect", rx="6" if rounded else "0", **box), label])


def names(features: Sequence[str]) -> Markup:
    """Return feature names in a row."""
    return joined([name(f) for f in features], ", ")


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, what it is sorted by (its text if None), and its class."""

    content: object
    key: float | None = None
    class_: str | None = None


def number_cell(value: Fraction | float, *, most: Fraction | float | None = None) -> Cell:
    """Return a cell with a number, sorted by its value; with a bar that shows it as a share of `most`, if given."""
    content = exact_number(value)
    return Cell(content if most is None else joined([content, bar(value, most)]), _key(value), "number")


def _key(value: Fraction | float) -> float:
    """Return what a number is sorted by: itself, or the largest float where none is so large."""
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def share_cell(value: Fraction | float, most: Fraction | float) -> Cell:
    """Return a cell with a share in hundredths, and a bar that shows it as a share of `most`."""
    return Cell(joined([percent(value), bar(value, most)]), float(value), "number")


def bar(value: Fraction | float, most: Fraction | float) -> Markup:
    """Return a bar that shows a number as a share of `most`; of 0 there is none."""
    if not value:
        return Markup()
    share = float(Fraction(value) / Fraction(most)) if most else 0.0  # of two numbers that may be no floats
    width = f"{100 * min(max(share, 0.0), 1.0):.6g}"
    return _strip(element("rect", x="0", y="1", width=width, height="8"), 100, "bar")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], *, sorted_by: int | None = None) -> Markup:
    """Return a sortable table, with a caption that screen readers read first; the first cell names its row.

    By the column `sorted_by` the rows are sorted already, largest first. Roles are written out because on a phone rows
    are laid out as cards, which some browsers take for no table.
    """
    body = [list(row) for row in rows]
    heads = [
        element(
            "th",
            element("button", title, type="button"),
            scope="col",
            role="columnheader",
            class_="number" if body and body[0][k].class_ == "number" else None,
            data_first="ascending" if not body or body[0][k].key is None else "descending",
            aria_sort="descending" if k == sorted_by else "none",
        )
        for k, title in enumerate(head)
    ]
    lines = [
        element("tr", *(_cell(cell, head[k], is_first=k == 0) for k, cell in enumerate(row)), role="row")
        for row in body
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *lines, role="rowgroup"),
        role="table",
    )
    return element("div", whole, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _cell(cell: Cell, title: str, *, is_first: bool) -> Markup:
    attributes: dict[str, Any] = {"class_": cell.class_, "data_key": None if cell.key is None else repr(cell.key)}
    if is_first:
        return element("th", cell.content, scope="row", role="rowheader", **attributes)
    return element("td", cell.content, role="cell", data_label=title, **attributes)
