"""A whole page: head, policy, landmarks and footer around the sections. It loads nothing, and runs our script only."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from axfi_kc.arguments import has, quoted
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import ArgumentError
from axfi_kc.explanations.batch import SavedBatch
from axfi_kc.explanations.page.about import made_words
from axfi_kc.explanations.page.elements import Markup, element

__all__ = ["check_explained", "page", "row_labels", "section_id", "write_page"]


_EXACT = (
    "Every number was computed exactly and is rounded for reading; those with a small triangle unfold to the exact "
    "fraction. Probabilities of predictions are the model's own."
)


def section_id(title: str) -> str:
    """Return what links to a section say.

    Examples
    --------
    >>> section_id("Model and space")
    'model-and-space'
    """
    return title.lower().replace(" ", "-")


def page(
    title: str, head: Markup, sections: Mapping[str, Markup], *, style: str, script: str, data: Markup | str = ""
) -> str:
    """Return a page with one section per title, and `data`, if given, for its script."""
    links = [element("li", element("a", t, href=f"#{section_id(t)}")) for t in sections]
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", element("h1", title), head),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("main", *sections.values(), id="content", tabindex="-1"),
        element("footer", element("p", f"Made {made_words()}. {_EXACT}", class_="note")),
        data,
        element("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{element('html', _head(title, style, script), body, lang='en')}\n"


def _head(title: str, style: str, script: str) -> Markup:
    # the browser itself then refuses to load anything, and to run any script but ours
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=Markup(policy)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def write_page(text: str, path: str | os.PathLike[str]) -> None:
    """Write a page; an error says where it cannot be written."""
    write_whole(path, text, what="The report")


def check_explained(given: object) -> None:
    """Raise unless a page can be made of it: an explanation, or several in an order."""
    several = list(given) if isinstance(given, list | tuple) else []
    one = isinstance(given, Sequence | SavedBatch) or has(given, "scores")
    if not one or isinstance(given, str | bytes | bytearray | range) or not all(has(e, "scores") for e in several):
        raise ArgumentError(f"A page is made of explanations, but {quoted(given)} was given; give one, or a batch.")


def row_labels(explained: Any, batch: Sequence[Any]) -> list[Any]:
    """Return the label of each row of a batch: as it is called there, else its position.

    Parameters
    ----------
    explained
        What was given: a batch, results in a file, or a list of explanations.
    batch
        The explanations in it.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: p[0] > 1, Domain([Integer("a", 0, 3)]))
    >>> batch = explainer.explain_batch([[0], [7], [2]], on_error="skip")
    >>> row_labels(batch, batch), row_labels(batch[:], batch[:]), row_labels([batch[1]] * 2, [batch[1]] * 2)
    ([0, 2], [0, 2], [2, 2])
    """
    if hasattr(explained, "rows"):
        return list(explained.rows)
    return [k if getattr(e, "row", None) is None else e.row for k, e in enumerate(batch)]
