"""Rendered pictures, measured: every text within the figure, and none over another."""

from __future__ import annotations

from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.text import Text

__all__ = ["check_readable", "drawn_texts"]


def drawn_texts(figure: Any, dpi: int = 100) -> list[Text]:
    """Return the texts that are drawn when a figure is rendered: tick labels out of view, say, are not."""
    found: list[Text] = []
    draw = Text.draw

    def recorded(self: Text, renderer: Any, *args: Any, **options: Any) -> Any:
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        return draw(self, renderer, *args, **options)

    figure.set_dpi(dpi)
    with patch.object(Text, "draw", recorded):
        figure.canvas.draw()
    return list(dict.fromkeys(found))


def check_readable(drawn: Any, *, dpi: int = 100) -> list[str]:
    """Check that texts are drawn, that each lies within the figure and none over another; return them."""
    figure = getattr(drawn, "figure", None) or drawn
    texts = drawn_texts(figure, dpi)
    assert texts
    whole = figure.bbox.padded(1)
    boxes = [text.get_window_extent() for text in texts]
    for text, box in zip(texts, boxes, strict=True):
        inside = whole.contains(box.x0, box.y0) and whole.contains(box.x1, box.y1)
        assert inside, f"{text.get_text()!r} is cut: {box.extents.round()} in {figure.bbox.extents}"
    for (text, box), (other, beside) in combinations(zip(texts, boxes, strict=True), 2):
        width = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        height = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        # A box is as high as its font, so lines of text may meet in a pixel or two without touching.
        assert width <= 0.5 or height <= 2, f"{text.get_text()!r} and {other.get_text()!r} overlap"
    face = np.array([int(255 * c) for c in figure.get_facecolor()[:3]])
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    assert (abs(pixels - face).max(axis=2) > 100).mean() > 0.002
    return [text.get_text() for text in texts]
