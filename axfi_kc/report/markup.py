"""HTML that cannot be broken by what people call their features.

Whatever is not :class:`Markup` is text and gets escaped, so that forgetting to escape is not possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from html import escape
from typing import Any

__all__ = ["Markup", "count", "element", "exact", "joined", "name", "number", "plural", "shown"]

# not allowed in HTML, or not writable as UTF-8 (lone surrogates)
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_EMPTY = frozenset({"meta", "rect", "path", "line"})
_LONGEST = 20  # letters of an exact number that are shown at once


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


def shown(value: Any) -> str:
    """Return a value or an output in a few letters."""
    if isinstance(value, str | bool | int):
        return str(value)
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError, OverflowError):
        return str(value)


def number(value: Fraction | float) -> str:
    """Return a number rounded to four digits.

    Examples
    --------
    >>> number(Fraction(1, 3)), number(12345678), number(0)
    ('0.3333', '12,345,678', '0')
    """
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{float(value):.4g}"


def exact(value: Fraction | int) -> Markup:
    """Return an exact number; a long one unfolds when it is clicked."""
    text = str(value)
    if len(text) <= _LONGEST:
        return element("code", text)
    return element("details", element("summary", f"{text[:9]}…"), element("code", text))


def count(number: int) -> str:
    """Return a count, abridged where nobody would read its digits.

    Examples
    --------
    >>> count(1200), count(10**58)
    ('1,200', 'about 10^58')
    """
    digits = str(number)
    return f"{number:,}" if len(digits) <= 12 else f"about 10^{len(digits) - 1}"


def plural(number: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "CXp"), plural(1200, "CXp")
    ('1 CXp', '1,200 CXps')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
