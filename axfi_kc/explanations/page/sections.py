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
    stopped_words,
    toward_words,
)
from axfi_kc.explanations.counterfactuals import Counterfactual, nearest_change
from axfi_kc.explanations.cxps import UnlistedCXps
from axfi_kc.explanations.inspection import grouped_rows
from axfi_kc.explanations.page.about import about, named_list
from axfi_kc.explanations.page.document import section_id
from axfi_kc.explanations.page.elements import (
    Cell,
    Markup,
    bar,
    element,
    exact_number,
    forest,
    histogram,
    joined,
    more,
    name,
    names,
    note,
    number_cell,
    percent,
    share_cell,
    table,
)
from axfi_kc.explanations.space import space_words
from axfi_kc.scores import Score, shares_of
from axfi_kc.scores.interactions import Interaction

__all__ = [
    "about_section",
    "batch_head",
    "batch_sections",
    "change_words",
    "explanation_head",
    "explanation_sections",
    "share_columns",
    "skipped_section",
    "titled",
    "values_shown",
]


Changes = Mapping[tuple[str, ...], Counterfactual | None]
"""The nearest change of each CXp that has words, by its features; see :func:`nearest_change`."""


def _nearest_changes(explanation: Any, rows: int) -> Changes:
    """Return the nearest change of each of the heaviest CXps; each is the result of a search of its own."""
    shown_cxps = explanation.heaviest_cxps()[: min(rows, _MOST_WORDS)]
    return {c.features: nearest_change(explanation, c) for c in shown_cxps}


def change_words(explanation: Any, features: Sequence[str], found: Counterfactual | None) -> Markup:
    """Return the nearest change of a CXp's features that changes the output.

    Without the model (a saved explanation), or when the search takes too long, only what can be changed.
    """
    if found is None:
        instance = explanation.instance
        parts = [joined([name(n), " (now ", name(shown(instance[n])), ")"]) for n in features]
        return joined(["Change ", joined(parts, " and "), "; keep all else."])
    if found.printed is None:
        return name(found.words)
    return joined([name(found.words), ". Nearest: ", _moves(explanation, found), "."])


def _moves(explanation: Any, found: Counterfactual) -> Markup:
    """Return a change from value to value, and what it gives."""
    moves = [joined([name(n), " from ", name(old), " to ", name(new)]) for n, old, new in found.moves]
    output = name_of(found.printed.output if found.printed else None, explanation.class_names)
    return joined([joined(moves, ", "), " gives ", name(shown(output))])


def values_shown(explanation: Any, changes: Changes) -> dict[str, str]:
    """Return the instance's values with as many digits as the words about its changes have."""
    texts = {n: shown(value) for n, value in explanation.instance.items()}
    for found in changes.values():
        for n, old, _ in [] if found is None else found.moves:
            texts[n] = max(texts[n], old, key=len)
    return texts


_MOST_OUTPUTS = 8  # that stand side by side
_WEIGHTS = {
    "ratio": "the probability that the output changes when these features, and no others, are drawn anew",
    "count": "the number of points with another output that differ from the instance in these features only",
    "unit": "1 for every CXp",
}
_SHARES = (
    "Scores are divided by the number of CXps, so those of two instances cannot be compared; shares, which add up to "
    "100%, can."
)
_BATCH_WORDS = "Below are all features over all instances, then each instance, and the first of them in full."
_AXP_SECONDS = 5.0
_MOST_TREES = 12
_MOST_WORDS = 50


def explanation_lead(explanation: Any, changes: Changes) -> Markup:
    """Return in a sentence or two what the model says, and what would change it."""
    says = joined(["The model gives ", element("strong", name(answer_words(explanation))), ". "])
    if not explanation.cxp_count:
        return element("p", says, no_cxp_words(explanation), class_="lead")
    relevant = f"{amount(len(explanation.relevant))} of {counted(len(explanation.domain), 'feature')}"
    does = "change that" if explanation.toward is None else "lead to " + _asked_class(explanation)
    count = counted(explanation.cxp_count, "smallest set")
    sets = f"{count} of features{limit_words(explanation)}, made of {relevant}, can {does}."
    nearest = min((c for c in changes.values() if c and c.printed), key=lambda c: c.distance, default=None)
    example = joined([" For example, ", _moves(explanation, nearest), "."]) if nearest else ""
    return element("p", says, sets, example, class_="lead")


def _asked_class(explanation: Any) -> str:
    return str(name_of(explanation.toward, explanation.class_names))


def explanation_head(explanation: Any, rows: int, *, row: Any = None) -> tuple[Markup, Changes]:
    """Return the words and the figures at the top of an explanation, and the nearest changes in words.

    `row` is the label to be shown, where nothing around it says which row it is.
    """
    changes = _nearest_changes(explanation, rows)
    return joined([explanation_lead(explanation, changes), _explanation_facts(explanation, row)]), changes


def _explanation_facts(explanation: Any, row: Any) -> Markup:
    return named_list(
        {
            **({} if row is None else {"row": name(shown(row))}),
            "output": name(answer_words(explanation)),
            **_question(explanation),
            f"CXps{limit_words(explanation)}": amount(explanation.cxp_count),
            "relevant features": f"{amount(len(explanation.relevant))} of {amount(len(explanation.domain))}",
            **_necessary(explanation),
            **_whole_value(explanation),
            **{what: name(words) for what, words in space_words(explanation).items()},
        },
        kind="facts",
    )


def _question(explained: Any) -> dict[str, object]:
    """Return which class is asked about, if one is."""
    words = toward_words(explained)
    return {"question": name(words)} if words else {}


def _necessary(explanation: Any) -> dict[str, object]:
    """Return the features that are in every AXp, if the CXps are known and there are any."""
    is_known = explanation.stopped_at != 0 and not isinstance(explanation.cxps, UnlistedCXps)
    found = explanation.necessary if is_known else ()
    return {"in every AXp": names(found)} if found else {}


def _whole_value(explanation: Any) -> dict[str, object]:
    """Return the value of fixing everything, if the CXps are known."""
    if isinstance(explanation.cxps, UnlistedCXps):
        return {}
    return {"value of fixing everything": exact_number(explanation.forest.value(explanation.domain.names))}


def explanation_sections(
    explanation: Any,
    changes: Changes,
    *,
    scores: Sequence[Score],
    rows: int,
    interactions: Sequence[Interaction] = (),
    prefix: str = "",
    level: int = 2,
) -> dict[str, Markup]:
    """Return the sections of an explanation by their titles, sorted by the first of the scores.

    The nearest `changes` are those of its head. Ids begin with `prefix`, and headings are of that level.
    """
    pairs = [_pairs(explanation, kind, rows) for kind in interactions]
    sections = {
        "Scores": _scores(explanation, changes, scores, rows),
        **({"Interactions": joined(pairs)} if pairs else {}),
        "What can change the output": _cxps(explanation, changes, rows),
        "What keeps the output": _axps(explanation, rows),
        **_further(explanation, rows),
        "CXp-Forest": _forest(explanation),
    }
    return titled(sections, prefix=prefix, level=level)


def titled(sections: dict[str, Markup], *, prefix: str = "", level: int = 2) -> dict[str, Markup]:
    """Return contents with their titles above, to which the page's head links."""
    return {
        title: element("section", element(f"h{level}", title, id=prefix + section_id(title)), content)
        for title, content in sections.items()
    }


def _scores(explanation: Any, changes: Changes, scores: Sequence[Score], rows: int) -> Markup:
    found = [explanation.scores(score.name) for score in scores]
    values, relevant = values_shown(explanation, changes), set(explanation.relevant)
    ranked = sorted((n for n in values if n in relevant), key=lambda n: [-own[n] for own in found])
    shares = shares_of(found[0])
    most = max(shares.values(), default=Fraction(0))
    lines = [
        (Cell(name(n)), Cell(name(values[n])), share_cell(shares[n], most), *(number_cell(own[n]) for own in found))
        for n in ranked[:rows]
    ]
    head = ("feature", "value", "share", *(score.about for score in scores))
    others = [n for n in values if n not in relevant]
    return joined(
        [
            element(
                "p", f"How much each feature counts for this output, by its share of the {scores[0].about}. ", _SHARES
            ),
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
        (Cell(names(pair)), Cell(joined([exact_number(value), bar(abs(value), most)]), float(value), "number"))
        for pair, value in found[:rows]
    ]
    words = (
        f"{kind.about} of two features: below 0, they stand in for each other, as fixing the second of a CXp adds "
        "nothing. Pairs that are not listed have 0."
    )
    if not lines:
        return element("p", f"{kind.about} of two features: none is other than 0, so no two stand in for each other.")
    listed = table(f"{kind.about} of pairs", ("features", kind.about), lines)
    return joined([element("p", words), listed, more(len(found) - rows, "pair")])


def _absence(explanation: Any) -> str:
    """Return why the features that are in no CXp score 0."""
    most = explanation.radius
    return "In no CXp, so irrelevant" if most is None else f"In no CXp of at most {counted(most, 'feature')}"


def _cxps(explanation: Any, changes: Changes, rows: int) -> Markup:
    cxps, total = explanation.heaviest_cxps(), explanation.cxp_count
    if isinstance(explanation.cxps, UnlistedCXps) and total:
        return note(_unlisted_words(total))
    if not cxps:
        return element("p", no_cxp_words(explanation))
    most = max(c.weight for c in cxps)
    lines = [
        (
            Cell(names(c.features)),
            Cell(change_words(explanation, c.features, changes.get(c.features)), class_="words"),
            number_cell(c.weight, most=most),
            number_cell(len(c.features)),
        )
        for c in cxps[:rows]
    ]
    toward = explanation.toward
    does = "change the output" if toward is None else f"lead to {name_of(toward, explanation.class_names)}"
    words = f"Each CXp is a smallest set of features whose change alone can {does}. Its weight is "
    head = ("CXp", "in words", "weight", "features")
    return joined(
        [
            element("p", words, _weight_words(explanation), "."),
            table("Contrastive explanations (CXps)", head, lines, sorted_by=2),
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
    lines = [(Cell(names(a.features)), number_cell(len(a.features))) for a in found[:rows]]
    toward = explanation.toward
    does = "keep the output" if toward is None else f"rule out {name_of(toward, explanation.class_names)},"
    words = f"Each AXp is a smallest set of features that, kept as they are, {does} whatever the others do."
    if explanation.domain.constraints:
        words = words[:-1] + " as far as it can exist; one feature may stand in for another that it implies there."
    caption = "Abductive explanations (AXps), smallest first"
    unfinished = "" if complete else note("There are more: the search was stopped after a few seconds.")
    listed = table(caption, ("AXp", "features"), lines)
    return joined([element("p", words), listed, more(len(found) - rows, "AXp"), unfinished])


def _further(explanation: Any, rows: int) -> dict[str, Markup]:
    """Return what an explanation holds beyond CXps and scores, by titles; nothing where it holds nothing."""
    further = explanation.further
    sets = [(least, found) for least, found in further.local_paxps.items()]
    sets += [(least, found) for least, listed in further.paxps.items() for found in listed]
    lines = [(Cell(names(p.features)), number_cell(p.precision), number_cell(least)) for least, p in sets[:rows]]
    head = ("features", "precision", "at least")
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
            Cell(name(str(box))),
            Cell(what),
            number_cell(box.coverage),
            Cell("yes" if box.is_largest else "not proved"),
        )
        for what, box in listed
    ]
    words = (
        "Whatever values are taken from these ranges and sets, and none can be made larger. The coverage is the "
        "probability of such a point."
    )
    head = ("values", "what it does", "coverage", "largest of all")
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


def batch_head(batch: Sequence[Any], shares: Mapping[str, Sequence[float]], unfinished: str = "") -> Markup:
    """Return the words and the figures at the top of a batch.

    `shares` are those of :func:`share_columns`; `unfinished` says how many rows there are of a run that was stopped.
    """
    cxps, stopped = [e.cxp_count for e in batch], stopped_words([e.stopped_at for e in batch])
    facts = {
        **_question(batch),
        "instances": f"{unfinished}: the run is not finished" if unfinished else amount(len(batch)),
        **_outputs(batch),
        "CXps, median": amount(int(median_low(cxps))) if cxps else "none",
        "CXps, most": amount(max(cxps, default=0)),
        **({"budgets that ended": stopped} if stopped else {}),
    }
    return joined([element("p", *_batch_words(shares), class_="lead"), named_list(facts, kind="facts")])


def _outputs(batch: Sequence[Any]) -> dict[str, object]:
    """Return how often there is each class, or from where to where the outputs of a regression go."""
    if len(batch) and batch[0].delta is not None:
        numbers = [e.prediction for e in batch]
        return {"outputs": f"{shown(min(numbers))} to {shown(max(numbers))}"}
    outputs = Counter(shown(e.prediction_name) for e in batch)
    common = ", ".join(f"{output}: {amount(number)}" for output, number in outputs.most_common(4))
    return {"outputs" if len(outputs) <= 4 else "most frequent outputs": name(common or "none")}


def _batch_words(shares: Mapping[str, Sequence[float]]) -> list[object]:
    """Return which features count most over all instances."""
    means = {n: fsum(own) / len(own) for n, own in shares.items() if any(own)}
    top = sorted(means, key=lambda n: -means[n])[:3]
    listed = joined([joined([name(n), f" ({percent(means[n])})"]) for n in top], ", ")
    first = ["The features that count most, by their mean share: ", listed, ". "] if top else []
    return [*first, _BATCH_WORDS]


def about_section(explained: Any) -> dict[str, Markup]:
    """Return the section on the model, the space and the making of the page."""
    return titled({"Model and space": about(explained)})


def batch_sections(
    batch: Sequence[Any],
    labels: Sequence[str],
    shares: Mapping[str, Sequence[float]],
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
    outputs = _rows_by_output(batch)
    return titled(
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
    lines = [(Cell(name(shown(label))), Cell(why, class_="words")) for label, why in skipped.items()]
    listed = table("Rows that were not explained", ("row", "why"), lines[:rows])
    return titled({"Skipped rows": joined([listed, more(len(lines) - rows, "row")])})


def share_columns(batch: Sequence[Any], kind: str) -> dict[str, list[float]]:
    """Return the shares of each feature of a score, a number per instance."""
    columns: dict[str, list[float]] = {n: [] for n in (batch[0].domain.names if len(batch) else ())}
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
    ranked = sorted((n for n in means if any(means[n])), key=lambda n: -max(means[n]))
    most = max(map(max, means.values()))
    lines = [(Cell(name(n)), *(share_cell(mean, most) for mean in means[n])) for n in ranked[:rows]]
    head = ("feature", *(f"{output} ({counted(len(own), 'row')})" for output, own in outputs.items()))
    words = f"The mean share of each feature of the {score.about}, over the instances of each output, rounded."
    listed = table("Mean shares by output", head, lines)
    return joined([element("p", words), listed, more(len(ranked) - rows, "feature")])


def _importance(columns: Mapping[str, Sequence[float]], score: Score, rows: int) -> Markup:
    """Return for each feature the mean and the distribution of its shares of a score."""
    means = {n: fsum(values) / len(values) for n, values in columns.items()}
    ranked = sorted((n for n in means if means[n]), key=lambda n: -means[n])
    others = [n for n in means if not means[n]]
    most, top = max(max(values) for values in columns.values()), max(means.values())
    lines = [
        (
            Cell(name(n)),
            share_cell(means[n], top),
            Cell(percent(median(columns[n])), median(columns[n]), "number"),
            Cell(percent(max(columns[n])), max(columns[n]), "number"),
            Cell(f"{sum(v > 0 for v in columns[n]) / len(columns[n]):.0%}", sum(v > 0 for v in columns[n]), "number"),
            Cell(histogram(columns[n], most), max(columns[n]), "bars"),
        )
        for n in ranked[:rows]
    ]
    head = ("feature", "mean", "median", "largest", "above 0", "all shares")
    words = (
        f"The share of each feature of the {score.about} over all instances, rounded; the last column shows how it is "
        f"spread, from 0 up. {_SHARES}"
    )
    listed = table("Shares over the batch", head, lines, sorted_by=1)
    never = note("With share 0 at every instance: ", names(others[:rows]), ".") if others else ""
    return joined([element("p", words), listed, more(len(ranked) - rows, "feature"), never])


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
        head, changes = explanation_head(e, rows)
        options: dict[str, Any] = {"scores": scores, "rows": rows, "interactions": interactions}
        sections = explanation_sections(e, changes, **options, prefix=prefix, level=3)
        title = joined(["Row ", name(labels[k]), ": output ", name(shown(e.prediction_name))])
        content = [element("summary", title), head, *sections.values()]
        parts.append(element("details", *content, class_="instance", id=f"instance-{k}"))
    return joined([*parts, more(len(batch) - details, "instance", what="shown in full")])
