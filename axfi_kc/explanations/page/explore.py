"""A page on which one asks: which row, how many features may change, how far, and which may not.

It holds the CXps of each row with their weights. Freezing features and allowing fewer changes only leaves some of them,
so its script answers from these, in exact numbers; see :mod:`axfi_kc.explanations.page.explore_script`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from math import lcm
from typing import Any

from axfi_kc.arguments import checked, quoted
from axfi_kc.domain.measures import amount, counted, shown
from axfi_kc.errors import DomainError
from axfi_kc.explanations.answers import answer_words, extent_words, name_of
from axfi_kc.explanations.batch import SavedBatch
from axfi_kc.explanations.counterfactuals import nearest_change
from axfi_kc.explanations.cxps import CXp, ManyCXps, UnlistedCXps
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.page.assets import SCRIPT, STYLE
from axfi_kc.explanations.page.document import check_explained, page, row_labels, write_page
from axfi_kc.explanations.page.elements import Markup, allowed, bar, element, joined, note, readable, table
from axfi_kc.explanations.page.explore_script import EXPLORE_SCRIPT, EXPLORE_STYLE
from axfi_kc.explanations.page.sections import about_section, titled, values_shown
from axfi_kc.explanations.radius_path import RadiusPath, RadiusStep
from axfi_kc.explanations.tables import SavedExplanation
from axfi_kc.scores import DEFAULT_SCORES, Score, find_scores

__all__ = ["closed_forms", "explore_html", "write_explore"]


_WORDS_OF_A_ROW, _WORDS = 20, 300  # nearest changes, each the result of a search of its own
_MOST_BITS = 200_000_000  # of all weights of a row over one denominator: what a phone can hold


@checked("path")
def write_explore(
    explained: Explanation | SavedExplanation | Sequence[Explanation | SavedExplanation] | SavedBatch,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    kinds: Sequence[str] = DEFAULT_SCORES,
    paths: Sequence[RadiusPath | None] = (),
    max_rows: int = 200,
    max_bytes: int = 4_000_000,
) -> None:
    """Write a page on which one picks a row, says how many features may change, and freezes some, as one HTML file.

    CXps, AXps and scores follow each move, exactly, without a server: what is asked is answered from the CXps and the
    weights that the file holds. Where at most k features may change, AXps keep the output whatever at most k of the
    others do, as the page says; :attr:`Explanation.axps` are about all others, and need all CXps.

    Parameters
    ----------
    explained
        An explanation, or a batch (a sequence of explanations of one domain), in memory or saved.
    path
        The file to write.
    title
        The page's title.
    kinds
        The scores to choose from; those with a closed form over the CXps, as the AxFi scores have.
    paths
        For each row a :func:`axfi_kc.radius_path`, or None: the page then asks how far one may go, too.
    max_rows, max_bytes
        How many rows the page holds, and about how large their answers are. A row with more CXps has all those of as
        many features as fit; the page says which.

    Raises
    ------
    DomainError
        If there is no row, a score has no such closed form, or the paths are not one for
        each row.
    FileWriteError
        If the file cannot be written.
    WeightError
        If there is no such score.

    Notes
    -----
    Linear in the size of the page, and a search for the nearest change of some CXps of each row.
    """
    options: dict[str, Any] = {"kinds": kinds, "paths": paths, "max_rows": max_rows, "max_bytes": max_bytes}
    write_page(explore_html(explained, title=title, **options), path)


@checked("title", "paths", "max_rows", "max_bytes")
def explore_html(
    explained: Explanation | SavedExplanation | Sequence[Explanation | SavedExplanation] | SavedBatch,
    *,
    title: str | None = None,
    kinds: Sequence[str] = DEFAULT_SCORES,
    paths: Sequence[RadiusPath | None] = (),
    max_rows: int = 200,
    max_bytes: int = 4_000_000,
) -> str:
    """Return the page as text; see :func:`write_explore`.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer
    >>> explainer = Explainer(lambda p: p[0] + p[1] > 6, Domain([Integer("a", 0, 9), Integer("b", 0, 9)]))
    >>> html = explore_html(explainer.explain_batch([(2, 2), (5, 5)]))
    >>> "Freeze features" in html, "://" in html
    (True, False)
    """
    if max_rows < 1 or max_bytes < 1:
        raise DomainError(f"max_rows and max_bytes must be at least 1, but {quoted((max_rows, max_bytes))} were given.")
    scores = closed_forms(kinds)
    check_explained(explained)
    rows, labels = _rows_of(explained)
    if not len(rows):
        raise DomainError("A page to explore needs an explanation, but the batch has none; give at least one row.")
    paths = list(paths)
    if paths and len(paths) != len(rows):
        raise DomainError(
            f"paths should have one for each of {len(rows)} rows, but {len(paths)} were given; None stands for no path."
        )
    held = min(max_rows, len(rows))
    answers = _Answers(max_bytes // held)
    data = _data(rows[0], scores) | {
        "rows": [answers.row(rows[k], labels[k], paths[k] if paths else None) for k in range(held)]
    }
    largest = max((step["reach"] for row in data["rows"] for step in row["steps"]), default=1)
    for kind, score in zip(data["kinds"], scores, strict=True):
        kind["shares"] = [str(score.share(size)) for size in range(1, largest + 1)] if score.share else []
    left = len(rows) - held
    notes = [f"{counted(left, 'row')} more, not on this page: max_rows={held}."] if left else []
    if isinstance(explained, SavedBatch) and not explained.is_complete:
        notes.append(f"There are {extent_words(explained)}: the run is not finished.")
    sections = _sections(note(" ".join(notes)) if notes else "") | about_section(rows[0])
    options: dict[str, Any] = {"style": STYLE + EXPLORE_STYLE, "script": SCRIPT + EXPLORE_SCRIPT}
    return page(title or "What if?", element("p", _LEAD, class_="lead"), sections, **options, data=_embedded(data))


_LEAD = (
    "Pick a row, say how many features may change, and freeze those that cannot. CXps, scores and AXps follow at once, "
    "and every number is exact."
)


def closed_forms(kinds: Sequence[str]) -> list[Score]:
    """Return the scores to choose from, after a look at whether a page can compute them.

    Raises
    ------
    DomainError, WeightError
        If it cannot, or there is no such score.
    """
    scores = list(find_scores(kinds))
    for score in scores:
        if score.share is None:
            raise DomainError(
                f"A page computes scores that are sums over CXps, but {score.name!r} is none; choose among "
                f"{', '.join(map(repr, DEFAULT_SCORES))}, or write a report."
            )
    if not scores:
        raise DomainError("A page to explore shows at least one score, but none was named; name one.")
    return scores


def _rows_of(explained: Any) -> tuple[Sequence[Any], list[str]]:
    if not isinstance(explained, Sequence | SavedBatch):
        return [explained], ["the row" if explained.row is None else f"row {shown(explained.row)}"]
    batch = explained if isinstance(explained, Sequence) else list(explained)
    return batch, [f"row {shown(row)}" for row in row_labels(explained, batch)]


def _data(first: Any, scores: Sequence[Score]) -> dict[str, Any]:
    """Return what all rows share."""
    toward = None if first.toward is None else shown(name_of(first.toward, first.class_names))
    return {
        "features": list(first.domain.names),
        "kinds": [{"about": score.about} for score in scores],
        "does": "changes the output" if toward is None else f"leads to {toward}",
        "keeps": "keep the output" if toward is None else f"rule out {toward},",
    }


def _embedded(data: dict[str, Any]) -> Markup:
    """Return data for the script: plain ASCII without a ``<``, so that nothing in it can end the element."""
    text = json.dumps(_allowed(data), separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
    return element("script", Markup(text), type="application/json", id="answers")


def _allowed(data: Any) -> Any:
    """Return data with a mark in place of each character that no page may have."""
    if isinstance(data, dict):
        return {key: _allowed(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_allowed(value) for value in data]
    return allowed(data) if isinstance(data, str) else data


class _Answers:
    """Makes the answers of rows, none longer than so many bytes, and counts the words that were searched for."""

    def __init__(self, most: int) -> None:
        self._most, self._words = most, _WORDS

    def row(self, e: Any, label: str, path: RadiusPath | None) -> dict[str, Any]:
        """Return a row's label, output, values and CXps, at each distance where there is a path."""
        near = [] if path is None else [(s.explanation, _distance(s)) for s in path.steps]
        most = self._most // (len(near) + 1)
        steps, known = [], dict[str, str]()
        for explained, distance in [*near, (e, "any distance" if near else "")]:
            steps.append(self._step(explained, distance, most, known))
        values = values_shown(e, {})
        remarks = [step.pop("note") for step in reversed(steps)][:2]
        remarks += ["" if path is None or path.is_complete else "The budget ended before all distances were known."]
        return {
            "label": label,
            "output": answer_words(e),
            "values": [known.get(name, values[name]) for name in e.domain.names],
            "note": " ".join(dict.fromkeys(filter(None, remarks))),
            "steps": steps,
        }

    def _step(self, e: Any, distance: str, most: int, known: dict[str, str]) -> dict[str, Any]:
        """Return the CXps of one explanation up to the size that fits, and a note if that is not all of them."""
        words = self._changes(e, known)
        cxps, reach, whole = _fitting(e, words, most)
        place = {name: i for i, name in enumerate(e.domain.names)}
        is_whole, has_all = reach == max(e.cxp_sizes, default=0), e.radius is None or e.radius >= len(e.domain)
        return {
            "distance": distance,
            "reach": e.radius if is_whole and not has_all else reach,
            "complete": is_whole and has_all,
            "denominator": shown(whole, digits=None),
            "cxps": [[[place[n] for n in c.features], _exact(c), words.get(c.features)] for c in cxps],
            "note": "" if is_whole else _cut_words(e, len(cxps), reach),
        }

    def _changes(self, e: Any, known: dict[str, str]) -> dict[tuple[str, ...], str]:
        """Return the nearest changes of the heaviest CXps in words, as far as the page's number of searches goes."""
        if isinstance(e.cxps, UnlistedCXps) or getattr(e, "problem", None) is None:
            return {}
        asked = e.heaviest_cxps()[: min(_WORDS_OF_A_ROW, self._words)]
        self._words -= len(asked)
        found = {c.features: nearest_change(e, c) for c in asked}
        known.update({n: text for n, text in values_shown(e, found).items() if len(text) > len(known.get(n, ""))})
        return {features: str(change) for features, change in found.items() if change is not None}


def _distance(step: RadiusStep) -> str:
    region = step.explanation.problem.region
    return f"{region}, CXps the same {'after' if step.is_open else 'from'} {readable(step.start)}" + (
        "" if step.end is None else f" to {readable(step.end)}"
    )


def _by_size(cxps: Any) -> Iterator[tuple[int, Iterable[CXp]]]:
    """Return the CXps by their number of features, smallest first; nothing where they are not listed."""
    if isinstance(cxps, UnlistedCXps) or (isinstance(cxps, ManyCXps) and not cxps.can_be_listed):
        return iter(())
    ordered = sorted(cxps, key=lambda c: len(c.features)) if isinstance(cxps, tuple) else cxps
    return groupby(ordered, key=lambda c: len(c.features))


def _fitting(e: Any, words: Mapping[tuple[str, ...], str], most: int) -> tuple[list[CXp], int, int]:
    """Return all CXps of up to so many features as fit into `most` bytes, that number, and a common denominator."""
    found, whole, room = list[CXp](), 1, most
    for size, group in _by_size(e.cxps):
        more = list[CXp]()
        for cxp in group:  # of which there may be any number
            room -= 8 + 4 * size + len(_exact(cxp)) + len(words.get(cxp.features, ""))
            if room < 0:
                return found, size - 1, whole
            more.append(cxp)
        common = lcm(whole, *(Fraction(cxp.weight).denominator for cxp in more))
        if (len(found) + len(more)) * common.bit_length() > _MOST_BITS:
            return found, size - 1, whole
        found, whole = found + more, common
    sizes = e.cxp_sizes
    # Where none is listed, it is still known that there is none of fewer features than the smallest has.
    return found, max(sizes, default=0) if found else min(sizes, default=1) - 1, whole


def _exact(cxp: CXp) -> str:
    return shown(cxp.weight, digits=None)


def _cut_words(e: Any, kept: int, reach: int) -> str:
    count = counted(e.cxp_count, "CXp")
    if isinstance(e.cxps, UnlistedCXps):
        return f"The file has the number of CXps, {amount(e.cxp_count)}, but no list of them: explain this row again."
    if not kept:
        return f"This row has {count}, too many for this page; allow more max_bytes, or write fewer rows."
    return (
        f"This row has {count}, too many for this page: it holds the {amount(kept)} of at most "
        f"{counted(reach, 'feature')}, and all answers up to there are exact."
    )


def _sections(left: Markup | str) -> dict[str, Markup]:
    parts = {
        "Question": joined([_controls(), left]),
        "Scores": joined(
            [
                element("p", "Each feature's share of the ", element("span", id="scores-kind"), ", and the score."),
                _empty_table("scored", "Scores of the relevant features", ("feature", "value", "share", "score")),
            ]
        ),
        "What can change the output": joined(
            [
                element("p", "Each CXp is a smallest set of features whose change alone can do it."),
                _empty_table("cxps", "Contrastive explanations (CXps)", ("CXp", "in words", "weight", "features")),
            ]
        ),
        "What keeps the output": joined(
            [
                element("p", id="axps-words"),
                _empty_table("axps", "Abductive explanations (AXps), smallest first", ("AXp", "features")),
            ]
        ),
    }
    return titled(parts)


def _empty_table(identity: str, caption: str, head: Sequence[str]) -> Markup:
    """Return a table that the script fills, and where it says how many lines are left out."""
    return element("div", table(caption, head, []), _note_for(f"{identity}-more"), id=identity)


def _controls() -> Markup:
    """Return what one asks with, and where the answer is told in a sentence."""
    row = [element("label", "Row", for_="row"), " ", element("select", id="row"), _note_for("row-note")]
    size = [
        element("label", "Let ", element("span", id="size-words"), " change", for_="size"),
        element("input", type="range", id="size", min="1", max="1", step="1"),
    ]
    distance = [
        element("label", "Go as far as this: ", element("span", id="distance-words"), for_="distance"),
        element("input", type="range", id="distance", min="0", max="0", step="1"),
    ]
    features = [
        element("legend", "Freeze features"),
        element("div", id="features", class_="choices"),
        element("button", "Thaw all", type="button", id="thaw"),
    ]
    kind = [element("label", "Score", for_="kind"), " ", element("select", id="kind")]
    asked = element(
        "div",
        element("div", *row),
        element("div", *size, id="sizes"),
        element("div", *distance, id="distances"),
        element("fieldset", *features),
        element("div", *kind),
        class_="asked",
    )
    template = element("div", bar(1, 1), id="bar", hidden="hidden")
    needed = element("noscript", element("p", "This page answers with JavaScript, which is switched off here."))
    return joined([needed, asked, element("p", id="answer", class_="lead", role="status"), template])


def _note_for(identity: str) -> Markup:
    """Return an empty note that the script writes into."""
    return element("p", id=identity, class_="note")
