"""Tables whose columns sort when their heads are clicked, or reached with Tab and pressed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from axfi_kc.measures import amount
from axfi_kc.report.charts import bar
from axfi_kc.report.markup import Markup, element, exact

__all__ = ["Cell", "bar_cell", "exact_cell", "number_cell", "table", "text_cell"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, what it is sorted by (its text if None), and its class."""

    content: object
    key: float | None = None
    class_: str | None = None


def text_cell(content: object, *, wide: bool = False) -> Cell:
    """Return a cell of text, or of markup."""
    return Cell(content, class_="wide" if wide else None)


def number_cell(value: Fraction | float) -> Cell:
    """Return a cell with a rounded number, sorted by its value."""
    return Cell(amount(value), float(value), "number")


def exact_cell(value: Fraction | int) -> Cell:
    """Return a cell with an exact number, sorted by its value."""
    return Cell(exact(value), float(value))


def bar_cell(value: Fraction | float, most: Fraction | float) -> Cell:
    """Return a cell with a bar: `value` as a share of `most`."""
    return Cell(bar(float(value) / float(most) if most else 0.0), float(value), "bars")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]], *, sorted_by: int | None = None) -> Markup:
    """Return a sortable table.

    Parameters
    ----------
    caption
        What the table holds; screen readers read it first.
    head
        The columns' names.
    rows
        As many cells each.
    sorted_by
        The column by which the rows are sorted already, largest first.
    """
    body = [list(row) for row in rows]
    heads = [
        element(
            "th",
            element("button", title, type="button"),
            scope="col",
            class_="number" if body and body[0][k].class_ == "number" else None,
            data_first="ascending" if not body or body[0][k].key is None else "descending",
            aria_sort="descending" if k == sorted_by else None,
        )
        for k, title in enumerate(head)
    ]
    lines = [element("tr", *(_cell(cell) for cell in row)) for row in body]
    whole = element(
        "table", element("caption", caption), element("thead", element("tr", *heads)), element("tbody", *lines)
    )
    return element("div", whole, class_="scroll", role="region", tabindex="0", aria_label=caption)


def _cell(cell: Cell) -> Markup:
    attributes: dict[str, Any] = {"class_": cell.class_, "data_key": None if cell.key is None else repr(cell.key)}
    return element("td", cell.content, **attributes)
