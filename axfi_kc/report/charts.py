"""Bars, strips and the CXp-Forest as SVG within the page."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from axfi_kc.measures import abridged, amount, counted
from axfi_kc.report.markup import Markup, element, joined, name

__all__ = ["bar", "forest", "histogram", "names"]

_STEP, _LEAN, _RIGHT, _LETTER = 46, 22, 84, 7.2
_LONGEST = 22
_COLUMNS = 40


def bar(share: float) -> Markup:
    """Return a bar that fills `share` of its cell.

    Examples
    --------
    >>> 'width="50"' in bar(0.5)
    True
    """
    width = f"{100 * min(max(share, 0.0), 1.0):.6g}"
    inner = element("rect", x="0", y="1", width=width, height="8")
    return element("svg", inner, class_="bar", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")


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
    return element(
        "svg", columns, class_="strip", viewBox=f"0 0 {_COLUMNS} 10", preserveAspectRatio="none", aria_hidden="true"
    )


def forest(trees: Sequence[tuple[tuple[str, ...], Fraction | int]], *, left: int) -> Markup:
    """Return the trees of CXps with their weights, each a figure of its own so that they fill any width.

    Parameters
    ----------
    trees
        The CXps and their weights.
    left
        How many more there are; a note says so.
    """
    figures = [_figure(cxp, weight) for cxp, weight in trees]
    note = element("p", f"{counted(left, 'tree')} more, not drawn.", class_="note") if left else ""
    return joined([element("div", *figures, class_="forest"), note])


def _figure(cxp: tuple[str, ...], weight: Fraction | int) -> Markup:
    words = f"Tree of the CXp {', '.join(cxp)}: 1 if one of them is in S, else 0."
    return element("figure", _tree(cxp, words), element("figcaption", f"weight {amount(weight)}"))


def _tree(cxp: tuple[str, ...], words: str) -> Markup:
    """Draw a tree: to the right "in S" ends in 1, to the left "not in S" goes on."""
    labels = [abridged(n, _LONGEST) for n in cxp]
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
