"""The sections of a page about one explanation, or about a batch, in words and in the user's own units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import fsum
from statistics import median, median_low
from typing import Any

from axfi_kc.domain.measures import amount, counted, shown
from axfi_kc.explanations.answers import (
    answer_words,
    limit_words,
    name_of,
    no_cxp_words,
    radius_words,
    space_words,
    stopped_words,
    toward_words,
)
from axfi_kc.explanations.counterfactuals import nearest_change
from axfi_kc.explanations.cxps import CXp, UnlistedCXps
from axfi_kc.explanations.inspection import grouped_rows
from axfi_kc.explanations.page.elements import (
    Cell,
    Markup,
    bar_cell,
    element,
    exact_cell,
    forest,
    histogram,
    joined,
    more,
    name,
    names,
    note,
    number_cell,
    table,
)
from axfi_kc.scores import Score, shares_of
from axfi_kc.scores.interactions import Interaction

__all__ = ["batch_facts", "batch_sections", "explanation_facts", "explanation_sections", "skipped_section"]


def _change_words(explanation: Any, cxp: CXp) -> Markup:
    """Return the nearest change of a CXp's features that changes the output.

    Without the model (a saved explanation), or when the search takes too long, only what can be changed.
    """
    found = nearest_change(explanation, cxp)
    if found is None:
        instance = explanation.instance
        parts = [joined([name(n), " (now ", name(shown(instance[n])), ")"]) for n in cxp.features]
        return joined(["Change ", joined(parts, " and "), "; keep all else."])
    if found.printed is None:
        return name(found.words)
    moves = [joined([name(n), " from ", name(old), " to ", name(new)]) for n, old, new in found.moves]
    output = name_of(found.printed.output, explanation.class_names)
    nearest = joined([joined(moves, ", "), " gives ", name(shown(output))])
    return joined([name(found.words), ". Nearest: ", nearest, "."])


_MOST_OUTPUTS = 8  # that stand side by side
_WEIGHTS = {
    "ratio": "the probability that the output changes when these features, and no others, are drawn anew",
    "count": "the number of points with another output that differ from the instance in these features only",
    "unit": "1 for every CXp",
}
_SHARES = (
    "Scores are divided by the number of CXps, so those of two instances cannot be compared; shares, which add up to "
    "1, can."
)
_AXP_SECONDS = 5.0
_MOST_TREES = 12
_MOST_WORDS = 50  # each is the result of a search of its own


def _facts(pairs: dict[str, object]) -> Markup:
    """Return a row of figures with their names."""
    return element(
        "dl",
        *(element("div", element("dt", key), element("dd", value)) for key, value in pairs.items()),
        class_="facts",
    )


def explanation_facts(explanation: Any) -> Markup:
    """Return the figures at the top of an explanation."""
    return _facts(
        {
            "output": name(answer_words(explanation)),
            **_question(explanation),
            f"CXps{limit_words(explanation)}": amount(explanation.cxp_count),
            "relevant features": f"{amount(len(explanation.relevant))} of {amount(len(explanation.domain))}",
            **_necessary(explanation),
            **_whole_value(explanation),
            **space_words(explanation),
        }
    )


def _question(explained: Any) -> dict[str, object]:
    """Return which class is asked about, if one is."""
    words = toward_words(explained)
    return {"question": name(words)} if words else {}


def _necessary(explanation: Any) -> dict[str, object]:
    """Return the features that are in every AXp, if the CXps are known and there are any."""
    found = () if isinstance(explanation.cxps, UnlistedCXps) else explanation.necessary
    return {"in every AXp": names(found)} if found else {}


def _whole_value(explanation: Any) -> dict[str, object]:
    """Return the value of fixing everything, if the CXps are known."""
    if isinstance(explanation.cxps, UnlistedCXps):
        return {}
    return {"value of fixing everything": amount(explanation.forest.value(explanation.domain.names))}


def explanation_sections(
    explanation: Any,
    *,
    scores: Sequence[Score],
    rows: int,
    interactions: Sequence[Interaction] = (),
    prefix: str = "",
    level: int = 2,
) -> dict[str, Markup]:
    """Return the sections of an explanation by their titles, sorted by the first of the scores.

    Ids begin with `prefix`, and headings are of that level.
    """
    pairs = [_pairs(explanation, kind, rows) for kind in interactions]
    sections = {
        "Scores": _scores(explanation, scores, rows),
        **({"Interactions": joined(pairs)} if pairs else {}),
        "What can change the output": _cxps(explanation, rows),
        "What keeps the output": _axps(explanation, rows),
        **_further(explanation, rows),
        "CXp-Forest": _forest(explanation),
    }
    return _titled(sections, prefix=prefix, level=level)


def _titled(sections: dict[str, Markup], *, prefix: str = "", level: int = 2) -> dict[str, Markup]:
    """Return contents with their titles above, to which the page's head links."""
    return {
        title: element("section", element(f"h{level}", title, id=prefix + title.lower().replace(" ", "-")), content)
        for title, content in sections.items()
    }


def _scores(explanation: Any, scores: Sequence[Score], rows: int) -> Markup:
    found = [explanation.scores(score.name) for score in scores]
    instance, relevant = explanation.instance, set(explanation.relevant)
    ranked = sorted((n for n in instance if n in relevant), key=lambda n: [-values[n] for values in found])
    lines = [(Cell(name(n)), Cell(name(shown(instance[n]))), *_score_cells(n, found)) for n in ranked[:rows]]
    head = ["feature", "value"]
    for k, score in enumerate(scores):
        head += [score.about, "bar", "exactly"] if k == 0 else [score.about, "exactly"]
    shares = shares_of(found[0])
    lines = [(*line, number_cell(shares[n])) for line, n in zip(lines, ranked, strict=False)]
    head.append(f"share of the {scores[0].about}")
    others = [n for n in instance if n not in relevant]
    return joined(
        [
            element("p", "How much each feature counts for this output. ", _SHARES),
            table("Scores of the relevant features", head, lines, sorted_by=2),
            more(len(ranked) - rows, "feature"),
            note(_absence(explanation), ", with score 0: ", names(others[:rows]), ".") if others else "",
        ]
    )


def _pairs(explanation: Any, kind: Interaction, rows: int) -> Markup:
    """Return what two features contribute together, the strongest first."""
    found = sorted(explanation.interactions(kind.name).items(), key=lambda item: -abs(item[1]))
    most = max((abs(value) for _, value in found), default=Fraction(1))
    lines = [
        (Cell(names(pair)), number_cell(value), bar_cell(abs(value), most), exact_cell(value))
        for pair, value in found[:rows]
    ]
    words = (
        f"{kind.about} of two features: below 0, they stand in for each other, as fixing the second of a CXp adds "
        "nothing. Pairs that are not listed have 0."
    )
    listed = table(f"{kind.about} of pairs", ("features", kind.about, "bar", "exactly"), lines, sorted_by=1)
    return joined([element("p", words), listed, more(len(found) - rows, "pair")])


def _absence(explanation: Any) -> str:
    """Return why the features that are in no CXp score 0."""
    most = explanation.radius
    return "In no CXp, so irrelevant" if most is None else f"In no CXp of at most {counted(most, 'feature')}"


def _score_cells(feature: str, found: Sequence[dict[str, Fraction]]) -> list[Cell]:
    """Return a feature's scores, rounded and exact, the first with a bar."""
    cells = []
    for k, values in enumerate(found):
        bars = [bar_cell(values[feature], max(values.values()))] if k == 0 else []
        cells += [number_cell(values[feature]), *bars, exact_cell(values[feature])]
    return cells


def _cxps(explanation: Any, rows: int) -> Markup:
    cxps, total = explanation.heaviest_cxps(), explanation.cxp_count
    if isinstance(explanation.cxps, UnlistedCXps) and total:
        return note(_unlisted_words(total))
    if not cxps:
        return element("p", no_cxp_words(explanation))
    most = max(c.weight for c in cxps)
    lines = [
        (
            Cell(names(c.features)),
            number_cell(c.weight),
            bar_cell(c.weight, most),
            Cell(_change_words(explanation, c) if k < _MOST_WORDS else "", class_="wide"),
            number_cell(len(c.features)),
            exact_cell(c.weight),
        )
        for k, c in enumerate(cxps[:rows])
    ]
    toward = explanation.toward
    does = "change the output" if toward is None else f"lead to {name_of(toward, explanation.class_names)}"
    words = f"Each CXp is a smallest set of features whose change alone can {does}. Its weight is "
    head = ("CXp", "weight", "bar", "in words", "features", "exactly")
    return joined(
        [
            element("p", words, _weight_words(explanation), "."),
            table("Contrastive explanations (CXps)", head, lines, sorted_by=1),
            more(total - min(rows, len(cxps)), "CXp"),
        ]
    )


def _weight_words(explanation: Any) -> str:
    """Return what the weight of a CXp is."""
    words, toward = _WEIGHTS.get(explanation.weights, explanation.weights), explanation.toward
    if toward is None:
        return words
    label = name_of(toward, explanation.class_names)
    return words.replace("the output changes", f"the output is {label}").replace(
        "another output", f"the output {label}"
    )


def _unlisted_words(count: int) -> str:
    return f"The file has the number of CXps, {amount(count)}, and their scores, but no list of them."


def _axps(explanation: Any, rows: int) -> Markup:
    if explanation.radius is not None and explanation.radius < len(explanation.domain):
        known = radius_words(explanation.stopped_at) or "of a limited size"
        return note(f"AXps need all CXps, and these are {known}.")
    if isinstance(explanation.cxps, UnlistedCXps):
        return note(_unlisted_words(explanation.cxp_count))
    found, complete = explanation.some_axps(seconds=_AXP_SECONDS)
    lines = [(Cell(names(a.features), class_="wide"), number_cell(len(a.features))) for a in found[:rows]]
    toward = explanation.toward
    does = "keep the output" if toward is None else f"rule out {name_of(toward, explanation.class_names)},"
    words = f"Each AXp is a smallest set of features that, kept as they are, {does} whatever the others do."
    caption = "Abductive explanations (AXps), smallest first"
    unfinished = "" if complete else note("There are more: the search was stopped after a few seconds.")
    listed = table(caption, ("AXp", "features"), lines)
    return joined([element("p", words), listed, more(len(found) - rows, "AXp"), unfinished])


def _further(explanation: Any, rows: int) -> dict[str, Markup]:
    """Return what was asked beyond CXps and scores, by titles; nothing if nothing was."""
    further = explanation.further
    sets = [(least, found) for least, found in further.local_paxps.items()]
    sets += [(least, found) for least, listed in further.paxps.items() for found in listed]
    lines = [
        (Cell(names(p.features), class_="wide"), number_cell(p.precision), exact_cell(p.precision), exact_cell(least))
        for least, p in sets[:rows]
    ]
    head = ("features", "precision", "exactly", "at least")
    words = "Each set of features, kept as they are, keeps the output with this probability, the others drawn anew."
    probable = [element("p", words), table("Probabilistic AXps", head, lines), more(len(sets) - rows, "set")]
    boxes = _boxes(explanation)
    return {
        **({"What nearly keeps the output": joined(probable)} if sets else {}),
        **({"How far values may go": boxes} if boxes else {}),
    }


def _boxes(explanation: Any) -> Markup | None:
    """Return boxes of values that keep the output, and boxes of changes."""
    further = explanation.further
    general = further.most_general
    listed = [("keeps the output", box) for box in ([] if general is None else [general])]
    listed += [("keeps the output", box) for box in further.inflated_axps.values()]
    listed += [("changes the output, all else as it is", box) for box in further.inflated_cxps.values()]
    if not listed:
        return None
    lines = [
        (
            Cell(name(str(box)), class_="wide"),
            Cell(what),
            number_cell(box.coverage),
            exact_cell(box.coverage),
            Cell("yes" if box.is_largest else "not proved"),
        )
        for what, box in listed
    ]
    words = (
        "Whatever values are taken from these ranges and sets, and none can be made larger. The coverage is the "
        "probability of such a point."
    )
    head = ("values", "what it does", "coverage", "exactly", "largest of all")
    return joined([element("p", words), table("Inflated explanations", head, lines)])


def _forest(explanation: Any) -> Markup:
    trees = [(c.features, c.weight) for c in explanation.heaviest_cxps()[:_MOST_TREES]]
    if isinstance(explanation.cxps, UnlistedCXps):
        return note(_unlisted_words(explanation.cxp_count))
    if not trees:
        return element("p", "There is no CXp, so the forest has no tree.")
    words = (
        "One tree per CXp, heaviest first: a solid line is taken when the feature is fixed, a dashed one when it is "
        "free. The value of fixing a set S is the mean of the weights of the trees that end in 1."
    )
    return joined([element("p", words), forest(trees, left=explanation.cxp_count - len(trees))])


def batch_facts(batch: Sequence[Any]) -> Markup:
    """Return the figures at the top of a batch."""
    outputs = Counter(shown(e.prediction_name) for e in batch)
    common = ", ".join(f"{output}: {amount(number)}" for output, number in outputs.most_common(4))
    cxps, stopped = [e.cxp_count for e in batch], stopped_words([e.stopped_at for e in batch])
    return _facts(
        {
            **_question(batch),
            "instances": amount(len(batch)),
            "outputs" if len(outputs) <= 4 else "most frequent outputs": name(common or "none"),
            "CXps, median": amount(int(median_low(cxps))) if cxps else "none",
            "CXps, most": amount(max(cxps, default=0)),
            **({"budgets that ended": stopped} if stopped else {}),
        }
    )


def batch_sections(
    batch: Sequence[Any],
    labels: Sequence[str],
    *,
    scores: Sequence[Score],
    rows: int,
    details: int,
    interactions: Sequence[Interaction] = (),
) -> dict[str, Markup]:
    """Return the sections of a batch by their titles; the first `details` instances, with their labels, in full.

    Tables of the whole batch are about the first of the scores.
    """
    if not len(batch):
        return {"Instances": element("section", element("p", "The batch has no instance."))}
    shares = _share_columns(batch, scores[0].name)
    outputs = _rows_by_output(batch)
    return _titled(
        {
            "Features": _importance(shares, scores[0], rows),
            **({"Features by output": _by_output(shares, outputs, scores[0], rows)} if outputs else {}),
            "Instances": _instances(batch, labels, scores[0].name, rows=rows, details=details),
            "Details": _details(batch, labels, scores, interactions, rows=rows, details=details),
        }
    )


def skipped_section(skipped: Mapping[Any, str], *, rows: int) -> dict[str, Markup]:
    """Return the rows that were not explained, and why, if there are any."""
    if not skipped:
        return {}
    lines = [(Cell(name(shown(label))), Cell(why, class_="wide")) for label, why in skipped.items()]
    listed = table("Rows that were not explained", ("row", "why"), lines[:rows])
    return _titled({"Skipped rows": joined([listed, more(len(lines) - rows, "row")])})


def _share_columns(batch: Sequence[Any], kind: str) -> dict[str, list[float]]:
    """Return the shares of each feature of a score, a number per instance."""
    columns: dict[str, list[float]] = {n: [] for n in batch[0].domain.names}
    for e in batch:
        for n, value in e.shares(kind).items():
            columns[n].append(float(value))
    return columns


def _rows_by_output(batch: Sequence[Any]) -> dict[str, list[int]]:
    """Return the instances of each output, if it makes sense to tell them apart: there are a few classes."""
    if batch[0].delta is not None:
        return {}
    found = grouped_rows([shown(e.prediction_name) for e in batch], len(batch))
    return {str(output): own for output, own in found.items()} if 1 < len(found) <= _MOST_OUTPUTS else {}


def _by_output(
    columns: Mapping[str, Sequence[float]], outputs: Mapping[str, Sequence[int]], score: Score, rows: int
) -> Markup:
    """Return for each feature the mean of its shares of a score over the instances of each output."""
    means = {n: [fsum(own[k] for k in some) / len(some) for some in outputs.values()] for n, own in columns.items()}
    ranked = sorted(means, key=lambda n: -max(means[n]))
    lines = [(Cell(name(n)), *map(number_cell, means[n])) for n in ranked[:rows]]
    head = ("feature", *(f"{output} ({counted(len(own), 'row')})" for output, own in outputs.items()))
    words = f"The mean share of each feature of the {score.about}, over the instances of each output, rounded."
    listed = table("Mean shares by output", head, lines)
    return joined([element("p", words), listed, more(len(ranked) - rows, "feature")])


def _importance(columns: Mapping[str, Sequence[float]], score: Score, rows: int) -> Markup:
    """Return for each feature the mean and the distribution of its shares of a score."""
    means = {n: fsum(values) / len(values) for n, values in columns.items()}
    ranked = sorted(means, key=lambda n: -means[n])
    most, top = max(max(values) for values in columns.values()), max(means.values())
    lines = [
        (
            Cell(name(n)),
            number_cell(means[n]),
            bar_cell(means[n], top),
            number_cell(median(columns[n])),
            number_cell(max(columns[n])),
            Cell(f"{sum(v > 0 for v in columns[n]) / len(columns[n]):.0%}", sum(v > 0 for v in columns[n]), "number"),
            Cell(histogram(columns[n], most), max(columns[n]), "bars"),
        )
        for n in ranked[:rows]
    ]
    head = ("feature", "mean", "bar", "median", "largest", "above 0", "all shares")
    words = (
        f"The share of each feature of the {score.about} over all instances, rounded; the last column shows how it is "
        f"spread, from 0 up. {_SHARES}"
    )
    listed = table("Shares over the batch", head, lines, sorted_by=1)
    return joined([element("p", words), listed, more(len(ranked) - rows, "feature")])


def _instances(batch: Sequence[Any], labels: Sequence[str], kind: str, *, rows: int, details: int) -> Markup:
    count = min(rows, len(batch))
    lines = [_instance_row(batch[k], labels[k], k, kind, linked=k < details) for k in range(count)]
    head = ["row", "output", "CXps", "smallest CXp", "highest score", "of feature"]
    # A batch asks the model once for all rows; single explanations ask it one by one.
    found = batch.probabilities if hasattr(batch, "probabilities") else [e.probability for e in batch[:count]]
    if found is not None and any(p is not None for p in found):
        head.insert(2, "probability")
        cells = [Cell("none") if p is None else number_cell(p) for p in found[:count]]
        lines = [(*line[:2], cell, *line[2:]) for line, cell in zip(lines, cells, strict=True)]
    return joined([table("The instances", head, lines), more(len(batch) - rows, "instance")])


def _instance_row(e: Any, label: str, k: int, kind: str, *, linked: bool) -> tuple[Cell, ...]:
    scores = e.scores(kind)
    best = max(scores, key=lambda n: scores[n])
    return (
        Cell(element("a", label, href=f"#instance-{k}") if linked else label, k),
        Cell(name(shown(e.prediction_name))),
        Cell(amount(e.cxp_count) + limit_words(e), float(min(e.cxp_count, 10**300)), "number"),
        Cell(_first(e.cxps)),
        number_cell(scores[best]),
        Cell(name(best) if scores[best] else "none"),
    )


def _first(cxps: Any) -> Markup | str:
    """Return the features of the smallest CXp."""
    if isinstance(cxps, UnlistedCXps):
        return "not listed"
    return names(cxps[0].features) if cxps else "none"


def _details(
    batch: Sequence[Any],
    labels: Sequence[str],
    scores: Sequence[Score],
    interactions: Sequence[Interaction],
    *,
    rows: int,
    details: int,
) -> Markup:
    parts = []
    for k in range(min(details, len(batch))):
        e = batch[k]
        prefix = f"instance-{k}-"
        sections = explanation_sections(e, scores=scores, rows=rows, interactions=interactions, prefix=prefix, level=3)
        title = joined(["Row ", name(labels[k]), ": output ", name(shown(e.prediction_name))])
        content = [element("summary", title), explanation_facts(e), *sections.values()]
        parts.append(element("details", *content, class_="instance", id=f"instance-{k}"))
    return joined([*parts, more(len(batch) - details, "instance", what="shown in full")])
