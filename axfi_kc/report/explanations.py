"""The sections about one explanation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from axfi_kc.listings import cxp_count, heaviest_cxps, listed_axps
from axfi_kc.measures import amount, counted, shown
from axfi_kc.report.charts import forest, names
from axfi_kc.report.markup import Markup, element, joined, name
from axfi_kc.report.tables import Cell, bar_cell, exact_cell, number_cell, table, text_cell
from axfi_kc.report.words import change_words
from axfi_kc.scores import Score

__all__ = ["WEIGHTS", "explanation_facts", "explanation_sections", "facts"]

WEIGHTS = {
    "ratio": "the probability that the output changes when these features, and no others, are drawn anew",
    "count": "the number of points with another output that differ from the instance in these features only",
    "unit": "1 for every CXp",
}
_AXP_SECONDS = 5.0
_MOST_TREES = 12
_MOST_WORDS = 50  # each is the result of a search of its own


def facts(pairs: dict[str, object]) -> Markup:
    """Return a row of figures with their names."""
    return element(
        "dl",
        *(element("div", element("dt", key), element("dd", value)) for key, value in pairs.items()),
        class_="facts",
    )


def explanation_facts(explanation: Any) -> Markup:
    """Return the figures at the top of an explanation."""
    limit = "" if explanation.max_size is None else f" of at most {explanation.max_size} features"
    return facts(
        {
            "output": name(shown(explanation.prediction)),
            f"CXps{limit}": amount(cxp_count(explanation)),
            "relevant features": f"{amount(len(explanation.relevant))} of {amount(len(explanation.domain))}",
            "value of fixing everything": amount(explanation.forest.value(explanation.domain.names)),
        }
    )


def explanation_sections(
    explanation: Any, *, scores: Sequence[Score], rows: int, prefix: str = "", level: int = 2
) -> dict[str, Markup]:
    """Return the sections of an explanation by their titles.

    Parameters
    ----------
    explanation
        What to show.
    scores
        Which scores, the first to sort by.
    rows
        The longest table.
    prefix
        What the sections' ids begin with.
    level
        The level of the headings.
    """
    sections = {
        "Scores": _scores(explanation, scores, rows),
        "What can change the output": _cxps(explanation, rows),
        "What keeps the output": _axps(explanation, rows),
        "CXp-Forest": _forest(explanation),
    }
    return {
        title: element("section", element(f"h{level}", title, id=_anchor(prefix, title)), content)
        for title, content in sections.items()
    }


def _anchor(prefix: str, title: str) -> str:
    return prefix + title.lower().replace(" ", "-")


def _note(*content: object) -> Markup:
    return element("p", *content, class_="note")


def _more(found: int, rows: int, noun: str) -> Markup | str:
    return _note(f"{counted(found - rows, noun)} more, not listed.") if found > rows else ""


def _scores(explanation: Any, scores: Sequence[Score], rows: int) -> Markup:
    found = [explanation.scores(score.name) for score in scores]
    instance, relevant = explanation.instance, set(explanation.relevant)
    ranked = sorted((n for n in instance if n in relevant), key=lambda n: [-values[n] for values in found])
    lines = [(text_cell(name(n)), text_cell(name(shown(instance[n]))), *_score_cells(n, found)) for n in ranked[:rows]]
    head = ["feature", "value"]
    for k, score in enumerate(scores):
        head += [score.about, "bar", "exactly"] if k == 0 else [score.about, "exactly"]
    others = [n for n in instance if n not in relevant]
    return joined(
        [
            element("p", "How much each feature counts for this output."),
            table("Scores of the relevant features", head, lines, sorted_by=2),
            _more(len(ranked), rows, "feature"),
            _note("In no CXp, so irrelevant, with score 0: ", names(others[:rows]), ".") if others else "",
        ]
    )


def _score_cells(feature: str, found: Sequence[dict[str, Fraction]]) -> list[Cell]:
    """Return a feature's scores, rounded and exact, the first with a bar."""
    cells = []
    for k, values in enumerate(found):
        bars = [bar_cell(values[feature], max(values.values()))] if k == 0 else []
        cells += [number_cell(values[feature]), *bars, exact_cell(values[feature])]
    return cells


def _cxps(explanation: Any, rows: int) -> Markup:
    cxps, total = heaviest_cxps(explanation), cxp_count(explanation)
    if not cxps:
        return element("p", "Nothing within reach changes the output: there is no CXp.")
    most = max(c.weight for c in cxps)
    lines = [
        (
            text_cell(names(c.features)),
            number_cell(c.weight),
            bar_cell(c.weight, most),
            text_cell(change_words(explanation, c) if k < _MOST_WORDS else "", wide=True),
            number_cell(len(c.features)),
            exact_cell(c.weight),
        )
        for k, c in enumerate(cxps[:rows])
    ]
    words = "Each CXp is a smallest set of features whose change alone can change the output. Its weight is "
    head = ("CXp", "weight", "bar", "in words", "features", "exactly")
    return joined(
        [
            element("p", words, WEIGHTS.get(explanation.weights, explanation.weights), "."),
            table("Contrastive explanations (CXps)", head, lines, sorted_by=1),
            _more(total, min(rows, len(cxps)), "CXp"),
        ]
    )


def _axps(explanation: Any, rows: int) -> Markup:
    if explanation.max_size is not None and explanation.max_size < len(explanation.domain):
        return _note("AXps need all CXps, and only those of a limited size were computed.")
    found, complete = listed_axps(explanation, seconds=_AXP_SECONDS)
    lines = [(text_cell(names(a.features), wide=True), number_cell(len(a.features))) for a in found[:rows]]
    words = "Each AXp is a smallest set of features that, kept as they are, keep the output whatever the others do."
    caption = "Abductive explanations (AXps), smallest first"
    unfinished = "" if complete else _note("There are more: the search was stopped after a few seconds.")
    parts = [
        element("p", words),
        table(caption, ("AXp", "features"), lines),
        _more(len(found), rows, "AXp"),
        unfinished,
    ]
    return joined(parts)


def _forest(explanation: Any) -> Markup:
    trees = [(c.features, c.weight) for c in heaviest_cxps(explanation)[:_MOST_TREES]]
    if not trees:
        return element("p", "There is no CXp, so the forest has no tree.")
    words = (
        "One tree per CXp, heaviest first: a solid line is taken when the feature is fixed, a dashed one when it is "
        "free. The value of fixing a set S is the mean of the weights of the trees that end in 1."
    )
    return joined([element("p", words), forest(trees, left=cxp_count(explanation) - len(trees))])
