"""Explanations as one HTML file that holds its style, its script and its pictures: no server, no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.domain.measures import Number, shown
from axfi_kc.errors import DomainError
from axfi_kc.explanations.answers import extent_words, name_of
from axfi_kc.explanations.batch import SavedBatch
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.page.assets import SCRIPT, STYLE
from axfi_kc.explanations.page.document import check_explained, page, row_labels, write_page
from axfi_kc.explanations.page.explore import explore_html, write_explore
from axfi_kc.explanations.page.sections import (
    about_section,
    batch_head,
    batch_sections,
    explanation_head,
    explanation_sections,
    share_columns,
    skipped_section,
)
from axfi_kc.explanations.tables import SavedExplanation
from axfi_kc.scores import DEFAULT_SCORES, find_scores
from axfi_kc.scores.interactions import find_interactions

__all__ = ["explore_html", "report_html", "write_explore", "write_report"]


@checked("path", "title", "inflate", "max_rows", "max_details")
def write_report(
    explained: Explanation | SavedExplanation | Sequence[Explanation | SavedExplanation] | SavedBatch,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    kinds: Sequence[str] = DEFAULT_SCORES,
    interactions: Sequence[str] = (),
    min_precision: Number | None = None,
    inflate: bool = False,
    max_rows: int = 500,
    max_details: int = 20,
) -> None:
    """Write one explanation, or a batch, as a single HTML file.

    The file loads nothing from outside and needs no server: tables that sort, bars, the CXp-Forest, what can change
    the output in words, and of which model, in which space, when and with what versions. Numbers are rounded for
    reading, and unfold to the exact fraction. It reads well on a phone, on paper, and by a screen reader.

    Parameters
    ----------
    explained
        An explanation, or a batch (a sequence of explanations of one domain), in memory or saved.
    path
        The file to write.
    title
        The page's title.
    kinds
        The scores to show, names in :data:`axfi_kc.scores.SCORES`; what is sorted is sorted by the first.
    interactions
        The interactions of two features to show; names in :data:`axfi_kc.scores.interactions.INTERACTIONS`.
    min_precision, inflate
        Whether to show a locally minimal set of that precision, and the most general box, of each explanation that is
        shown in full. Answers that it holds are shown in any case; see :meth:`axfi_kc.Explanation.with_answers`.
    max_rows
        The longest table; a note counts what is left out.
    max_details
        For a batch: how many instances are shown in full.

    Raises
    ------
    FileWriteError
        If the file cannot be written.
    DomainError
        If no score is named, or a limit is negative.
    WeightError
        If there is no such score.
    IncompleteError
        If a score needs all CXps, and only those up to a size are known.

    Notes
    -----
    Linear in what is shown. AXps are listed for as long as their search takes a few seconds.
    """
    options: dict[str, Any] = {"kinds": kinds, "interactions": interactions}
    options |= {"min_precision": min_precision, "inflate": inflate}
    write_page(report_html(explained, title=title, **options, max_rows=max_rows, max_details=max_details), path)


@checked("title", "inflate", "max_rows", "max_details")
def report_html(
    explained: Explanation | SavedExplanation | Sequence[Explanation | SavedExplanation] | SavedBatch,
    *,
    title: str | None = None,
    kinds: Sequence[str] = DEFAULT_SCORES,
    interactions: Sequence[str] = (),
    min_precision: Number | None = None,
    inflate: bool = False,
    max_rows: int = 500,
    max_details: int = 20,
) -> str:
    """Return the report as text; see :func:`write_report`.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: p[0] > 60, Domain([Integer("age", 18, 90)]))
    >>> html = report_html(explainer.explain({"age": 70}), title="Who is <old>?")
    >>> "<h1>Who is &lt;old&gt;?</h1>" in html
    True
    """
    if max_rows < 1 or max_details < 0:
        raise DomainError(
            f"max_rows must be at least 1 and max_details at least 0, but {max_rows} and {max_details} were given."
        )
    scores = find_scores(kinds)
    shown_pairs = find_interactions(interactions)
    if not scores:
        raise DomainError("A report shows at least one score, but none was named; name one.")
    asked: dict[str, Any] = {"min_precision": min_precision, "inflate": inflate}
    check_explained(explained)
    if isinstance(explained, Sequence | SavedBatch):
        batch = explained if isinstance(explained, Sequence) else list(explained)
        if min_precision is not None or inflate:
            batch = _Told(batch, [batch[k].ask(**asked) for k in range(min(max_details, len(batch)))])
        labels = list(map(shown, row_labels(explained, batch)))
        shares = share_columns(batch, scores[0].name)
        limits: dict[str, Any] = {"rows": max_rows, "details": max_details}
        sections = batch_sections(batch, labels, shares, scores=scores, interactions=shown_pairs, **limits)
        sections |= skipped_section(getattr(explained, "skipped", {}), rows=max_rows)
        sections |= about_section(batch[0]) if len(batch) else {}
        is_stopped = isinstance(explained, SavedBatch) and not explained.is_complete
        unfinished = extent_words(explained) if is_stopped else ""
        head = batch_head(batch, shares, unfinished)
        return page(title or "Explanations of a batch", head, sections, style=STYLE, script=SCRIPT)
    explained = explained.ask(**asked)
    head, changes = explanation_head(explained, max_rows, row=explained.row)
    sections = explanation_sections(explained, changes, scores=scores, interactions=shown_pairs, rows=max_rows)
    sections |= about_section(explained)
    other = "" if explained.toward is None else f", and not {name_of(explained.toward, explained.class_names)}"
    title = title or f"Why {shown(explained.prediction_name)}{other}?"
    return page(title, head, sections, style=STYLE, script=SCRIPT)


class _Told(Sequence[Any]):
    """A batch of which the first explanations hold more answers than the others."""

    def __init__(self, batch: Sequence[Any], first: list[Any]) -> None:
        self._batch, self.first = batch, first
        self.toward, self.class_names = getattr(batch, "toward", None), getattr(batch, "class_names", {})

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[n] for n in range(*k.indices(len(self)))]
        n = range(len(self))[k]
        return self.first[n] if n < len(self.first) else self._batch[n]
