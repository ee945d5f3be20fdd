"""HTML that cannot be broken by what people call their features.

Whatever is not :class:`Markup` is text and gets escaped, so that forgetting to escape is not possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from html import escape

from axfi_kc.measures import abridged, shown

__all__ = ["Markup", "element", "exact", "joined", "name"]

# not allowed in HTML, or not writable as UTF-8 (lone surrogates)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_EMPTY = frozenset({"meta", "rect", "path", "line"})
_LONGEST = 20  # letters of an exact number that are shown at once
_FOLDED = 10  # of a longer one


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _text(content: object) -> str:
    return content if isinstance(content, Markup) else escape(_FORBIDDEN.sub("\ufffd", str(content)), quote=True)


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


def exact(value: Fraction | int) -> Markup:
    """Return an exact number; a long one unfolds when it is clicked."""
    text = shown(value, digits=None)
    if len(text) <= _LONGEST:
        return element("code", text)
    return element("details", element("summary", abridged(text, _FOLDED)), element("code", text))
