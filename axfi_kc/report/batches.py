"""The sections about a batch of explanations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum
from statistics import median, median_low
from typing import Any

from axfi_kc.listings import cxp_count
from axfi_kc.measures import amount, counted, shown
from axfi_kc.report.charts import histogram, names
from axfi_kc.report.explanations import explanation_facts, explanation_sections, facts
from axfi_kc.report.markup import Markup, element, joined, name
from axfi_kc.report.tables import Cell, bar_cell, number_cell, table, text_cell
from axfi_kc.scores import Score

__all__ = ["batch_facts", "batch_sections"]


def batch_facts(batch: Sequence[Any]) -> Markup:
    """Return the figures at the top of a batch."""
    outputs = Counter(shown(e.prediction) for e in batch)
    common = ", ".join(f"{output}: {amount(number)}" for output, number in outputs.most_common(4))
    cxps = [cxp_count(e) for e in batch]
    return facts(
        {
            "instances": amount(len(batch)),
            "outputs" if len(outputs) <= 4 else "most frequent outputs": name(common or "none"),
            "CXps, median": amount(int(median_low(cxps))) if cxps else "none",
            "CXps, most": amount(max(cxps, default=0)),
        }
    )


def batch_sections(
    batch: Sequence[Any], labels: Sequence[str], *, scores: Sequence[Score], rows: int, details: int
) -> dict[str, Markup]:
    """Return the sections of a batch by their titles; the first `details` instances, with their labels, in full.

    Tables of the whole batch are about the first of the scores.
    """
    if not len(batch):
        return {"Instances": element("section", element("p", "The batch has no instance."))}
    return {
        "Features": element("section", element("h2", "Features", id="features"), _importance(batch, scores[0], rows)),
        "Instances": element(
            "section",
            element("h2", "Instances", id="instances"),
            _instances(batch, labels, scores[0].name, rows=rows, details=details),
        ),
        "Details": element(
            "section",
            element("h2", "Details", id="details"),
            _details(batch, labels, scores, rows=rows, details=details),
        ),
    }


def _importance(batch: Sequence[Any], score: Score, rows: int) -> Markup:
    """Return for each feature the mean and the distribution of its scores."""
    columns: dict[str, list[float]] = {n: [] for n in batch[0].domain.names}
    for e in batch:
        for n, value in e.scores(score.name).items():
            columns[n].append(float(value))
    means = {n: fsum(values) / len(values) for n, values in columns.items()}
    ranked = sorted(means, key=lambda n: -means[n])
    most, top = max(max(values) for values in columns.values()), max(means.values())
    lines = [
        (
            text_cell(name(n)),
            number_cell(means[n]),
            bar_cell(means[n], top),
            number_cell(median(columns[n])),
            number_cell(max(columns[n])),
            Cell(f"{sum(v > 0 for v in columns[n]) / len(batch):.0%}", sum(v > 0 for v in columns[n]), "number"),
            Cell(histogram(columns[n], most), max(columns[n]), "bars"),
        )
        for n in ranked[:rows]
    ]
    head = ("feature", "mean", "bar", "median", "largest", "above 0", "all scores")
    words = f"The {score.about} over all instances, rounded; the last column shows how it is spread, from 0 up."
    return joined(
        [element("p", words), table("Scores over the batch", head, lines, sorted_by=1), _more(ranked, rows, "feature")]
    )


def _more(found: Sequence[object], rows: int, noun: str, *, what: str = "listed") -> Markup | str:
    left = len(found) - rows
    return element("p", f"{counted(left, noun)} more, not {what}.", class_="note") if left > 0 else ""


def _instances(batch: Sequence[Any], labels: Sequence[str], kind: str, *, rows: int, details: int) -> Markup:
    lines = [_instance_row(batch[k], labels[k], k, kind, linked=k < details) for k in range(min(rows, len(batch)))]
    head = ("row", "output", "CXps", "smallest CXp", "highest score", "of feature")
    return joined([table("The instances", head, lines), _more(batch, rows, "instance")])


def _instance_row(e: Any, label: str, k: int, kind: str, *, linked: bool) -> tuple[Cell, ...]:
    scores = e.scores(kind)
    best = max(scores, key=lambda n: scores[n])
    return (
        Cell(element("a", label, href=f"#instance-{k}") if linked else label, k),
        text_cell(name(shown(e.prediction))),
        Cell(amount(cxp_count(e)), float(min(cxp_count(e), 10**300)), "number"),
        text_cell(names(e.cxps[0].features) if e.cxps else "none"),
        number_cell(scores[best]),
        text_cell(name(best) if scores[best] else "none"),
    )


def _details(
    batch: Sequence[Any], labels: Sequence[str], scores: Sequence[Score], *, rows: int, details: int
) -> Markup:
    parts = []
    for k in range(min(details, len(batch))):
        e = batch[k]
        sections = explanation_sections(e, scores=scores, rows=rows, prefix=f"instance-{k}-", level=3)
        title = joined(["Row ", name(labels[k]), ": output ", name(shown(e.prediction))])
        content = [element("summary", title), explanation_facts(e), *sections.values()]
        parts.append(element("details", *content, class_="instance", id=f"instance-{k}"))
    return joined([*parts, _more(batch, details, "instance", what="shown in full")])
