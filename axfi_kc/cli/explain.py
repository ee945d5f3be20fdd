"""``axfi-kc explain``, ``batch``, ``report`` and ``demo``: rows of a table, to the terminal, files and pictures."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import fsum
from pathlib import Path
from typing import Any

from axfi_kc.cli.combinations import flags, is_told
from axfi_kc.cli.inputs import (
    Listed,
    add_command,
    add_explainer,
    add_inputs,
    add_interactions,
    add_json,
    add_on_error,
    at_least,
    explainer_of,
    given,
    measure_of,
)
from axfi_kc.cli.outputs import STANDARD, add_output, writable
from axfi_kc.cli.text import by_label, plain, print_json, print_page, print_written, text_table, working
from axfi_kc.domain.measures import abridged, amount, counted, shown
from axfi_kc.errors import DomainError, MissingExtraError
from axfi_kc.explanations.answers import (
    answer_words,
    extent_words,
    name_of,
    no_cxp_words,
    radius_words,
    stopped_words,
    toward_words,
)
from axfi_kc.explanations.space import Space
from axfi_kc.scores import DEFAULT_SCORES, shares_of

__all__ = ["add_batch", "add_demo", "add_explain", "add_report", "explanation_text", "write_pictures"]


_EXAMPLES = """\
  axfi-kc explain model.json data.csv --row 3
  axfi-kc explain tree.skops data.csv --target label --max-size 3
  axfi-kc explain tree.skops data.csv --target label --score wffa shapley_shubik
  axfi-kc explain regressor.skops data.csv --delta 1.5 --target price --pictures out/
  axfi-kc explain tree.skops data.csv --target label --circuit examples.nnf --circuit-of age race
  axfi-kc explain model.ubj data.parquet --bounds age=18:90 --categorical race --json
"""
_AXP_SECONDS = 5.0
_RADII_SECONDS = 10.0
_LONGEST = 24  # letters of an exact weight
_MOST_NAMED = 3  # features in a sentence


def add_explain(commands: Any) -> None:
    """Add the command."""
    command = add_command(commands, "explain", _run, about="explain one row of a table", examples=_EXAMPLES)
    add_inputs(command)
    add_explainer(command)
    command.add_argument(
        "--row", type=at_least(0), default=0, metavar="N", help="which row to explain, from 0 [%(default)s]"
    )
    command.add_argument("--limit", type=at_least(0), default=12, metavar="N", help="the longest table [%(default)s]")
    add_interactions(command)
    add_output(command, "--pictures", kind="folder", metavar="FOLDER", help="write the pictures there")
    add_output(command, "--report", kind="page", metavar="FILE", help="write an HTML report there")
    _add_circuit(command)
    add_json(command)


def _add_circuit(command: argparse.ArgumentParser) -> None:
    """Add where to write the circuit of the adversarial examples, and of which CXp."""
    about = "write the circuit of the adversarial examples there, to be counted by other programs: an .nnf"
    add_output(command, "--circuit", kind="circuit", metavar="FILE", help=about)
    about = "only those of the CXp of these features [all CXps]"
    command.add_argument("--circuit-of", nargs="+", action=Listed, metavar="FEATURE", help=about)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.explanations.page import write_report

    with working("reading"):
        inputs = given(options)
        row = inputs.row(options.row, options.data)
        explainer = explainer_of(inputs, options)
    explanation = replace(_explained(explainer, row, options), row=row.index[0])
    circuit = None if options.circuit is None else explanation.circuit(options.circuit_of)
    if options.json:
        found = {"counterfactuals": _changes(explanation, options.limit)}
        explanation = explanation.ask(**_asked(options))
        shown_too: dict[str, Any] = {"kinds": options.score, "interactions": options.interactions}
        print_json(explanation.to_dict(**shown_too) | found, "explanation")
    else:
        print(explanation_text(explanation, kinds=options.score, limit=options.limit))
        for kind in options.interactions:
            print("", *_interaction_lines(explanation, kind, options.limit), sep="\n")
        explanation = explanation.ask(**_asked(options))
        print(*_further_lines(explanation), sep="\n", end="")
    if options.pictures is not None:
        which: dict[str, Any] = {"kinds": options.score, "interactions": options.interactions}
        drawn = write_pictures(explanation, options.pictures, options, **which)
        print_written(drawn, quiet=options.json)
    if options.report is not None:
        options_shown: dict[str, Any] = {"kinds": options.score, "interactions": options.interactions}
        write_report(explanation, writable(options.report, "page", options), **options_shown)
        print_written([options.report], quiet=options.json)
    if circuit is not None:
        circuit.save(writable(options.circuit, "circuit", options))
        print_written([options.circuit], quiet=options.json)


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    return {"min_precision": options.min_precision, "inflate": options.inflate}


def _further_lines(explanation: Any) -> list[str]:
    """Return the sets of some precision and the boxes that an explanation holds; nothing where it holds none."""
    further, lines = explanation.further, list[str]()
    for least, found in further.local_paxps.items():
        names = ", ".join(found.features) or "nothing"
        lines.append(f"keep {names}: precision {amount(found.precision)}, at least {amount(least)} was asked")
    if further.most_general is not None:
        box = further.most_general
        known = "the most general there is" if box.is_largest else f"none covers more than {amount(box.most)}"
        lines.append(f"the output stays for {plain(box)}: coverage {amount(box.coverage)}, {known}")
    return ["", *lines, ""] if lines else []


def _explained(explainer: Any, row: Any, options: argparse.Namespace) -> Any:
    """Return the explanation; if the budget is spent, print the CXps that are certain and pass the error on."""
    from axfi_kc.errors import BudgetError

    try:
        return explainer.explain(row)
    except BudgetError as spent:
        if options.json:
            print_json({"complete": False, "cxps": [list(c) for c in spent.cxps]}, "unfinished explanation")
        elif spent.cxps:
            rows = [(", ".join(c),) for c in spent.cxps[: options.limit]]
            header = ("CXps that are certain so far",)
            print(*text_table(header, rows, total=len(spent.cxps)), sep="\n")
        raise


def explanation_text(explanation: Any, *, kinds: Sequence[str] = DEFAULT_SCORES, limit: int = 12) -> str:
    """Return the tables of an explanation as text."""
    space = list(map(plain, Space.of(explanation).lines))
    known = [] if explanation.is_complete else [f"{radius_words(explanation.stopped_at)}: then the budget was spent"]
    asked = [plain(words)] if (words := toward_words(explanation)) else []
    head = [f"prediction: {plain(answer_words(explanation))}", *asked, *known, *space]
    changes = _changes(explanation, limit)
    lines = [*head, *_in_words(explanation, kinds[0], changes), "", *_score_lines(explanation, kinds, limit)]
    cxps = explanation.heaviest_cxps()
    rows = [
        (amount(c.weight, digits=6), abridged(shown(c.weight, digits=None), _LONGEST), ", ".join(c.features))
        for c in cxps
    ]
    does = "the output can change" if explanation.toward is None else "the output can be that class"
    header = (explanation.weights, "exactly", f"CXp: change these, and {does}")
    listed = text_table(header, rows[:limit], total=explanation.cxp_count)
    lines += ["", *(listed if rows else [no_cxp_words(explanation)])]
    lines += _change_lines(changes)
    if explanation.stopped_at != 0 and explanation.necessary:
        lines += ["", f"in every AXp: {', '.join(explanation.necessary)}"]
    if explanation.radius is None:
        lines += ["", *_axp_lines(explanation, limit)]
    return "\n".join(lines)


def _in_words(explanation: Any, kind: str, changes: Sequence[dict[str, Any]]) -> list[str]:
    """Return what decides, and the change with most room, in a sentence each; nothing if nothing can change."""
    shares = shares_of(explanation.scores(kind))
    first = sorted((n for n in shares if shares[n]), key=lambda n: (-shares[n], n))[:_MOST_NAMED]
    lines = [f"it hangs most on {', '.join(f'{n} ({float(shares[n]):.1%})' for n in first)}"] if first else []
    if changes:
        to = "" if changes[0]["output"] is None else f": then {changes[0]['output']}"
        lines.append(f"{counted(explanation.cxp_count, 'CXp')}; with most room: {changes[0]['words']}{to}")
    return [plain(line) for line in lines]


def _interaction_lines(explanation: Any, kind: str, limit: int) -> list[str]:
    """Return the strongest interactions of two features."""
    found = sorted(explanation.interactions(kind).items(), key=lambda item: -abs(item[1]))
    rows = [(amount(value, digits=6), ", ".join(names)) for names, value in found]
    header = (kind, "two features together: below 0, they stand in for each other")
    return (
        text_table(header, rows[:limit], total=len(rows)) if rows else [f"No two features have a {kind} interaction."]
    )


def _score_lines(explanation: Any, kinds: Sequence[str], limit: int) -> list[str]:
    scores = [explanation.scores(kind) for kind in kinds]
    values, relevant = explanation.instance, explanation.relevant
    ranked = sorted(relevant, key=lambda name: (-scores[0][name], name))
    shares = shares_of(scores[0])
    rows = [
        (n, plain(values[n]), f"{float(shares[n]):.1%}", *(amount(found[n], digits=6) for found in scores))
        for n in ranked
    ]
    lines = text_table(("feature", "value", f"share of {kinds[0]}", *kinds), rows[:limit], total=len(rows))
    others = len(values) - len(relevant)
    why = "irrelevant"
    if explanation.radius is not None:
        why = f"in no CXp of at most {counted(explanation.radius, 'feature')}"
    are, score = ("feature is", "it scores") if others == 1 else (f"{amount(others)} features are", "they score")
    return [*lines, f"The other {are} {why}: {score} 0."] if others else lines


def _changes(explanation: Any, limit: int) -> list[dict[str, Any]]:
    """Return the nearest change of each of the heaviest CXps, as it is printed."""
    from axfi_kc.explanations.counterfactuals import nearest_change

    names = explanation.class_names
    found = (nearest_change(explanation, cxp) for cxp in explanation.heaviest_cxps()[:limit])
    return [
        {
            "words": change.words,
            "changes": {name: {"from": old, "to": new} for name, old, new in change.moves},
            "output": None if change.printed is None else plain(name_of(change.printed.output, names)),
        }
        for change in found
        if change is not None
    ]


def _change_lines(changes: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for change in changes:
        moves = ", ".join(f"{name} from {move['from']} to {move['to']}" for name, move in change["changes"].items())
        # Lines of any length, and no table: a value that is cut short is another value.
        lines.append(plain(f"{moves}: {change['output']}" if moves else change["words"]))
    header = "the nearest change of each CXp, all else as it is, and its output"
    return ["", header, "-" * len(header), *lines] if lines else []


def _axp_lines(explanation: Any, limit: int) -> list[str]:
    axps, complete = explanation.some_axps(seconds=_AXP_SECONDS)
    rows = [(", ".join(a.features),) for a in axps[:limit]]
    does = "the output stays" if explanation.toward is None else "the output is never that class"
    lines = text_table((f"AXp: keep these, and {does}",), rows, total=len(axps))
    return lines if complete else [*lines, f"There are more: the search was stopped after {_AXP_SECONDS:g} seconds."]


_BATCH_EXAMPLES = """\
  axfi-kc batch model.json data.csv
  axfi-kc batch model.json data.csv --out results.jsonl --n-jobs 2     (run it again, and it goes on where it stopped)
  axfi-kc batch tree.skops data.parquet --target label --out results.parquet --rows 1000
  axfi-kc batch tree.skops data.csv --target label --by prediction
"""


def add_batch(commands: Any) -> None:
    """Add the command."""
    command = add_command(commands, "batch", _run_batch, about="explain many rows of a table", examples=_BATCH_EXAMPLES)
    add_inputs(command)
    add_explainer(command)
    about = "write the results as they are made: .jsonl, or a folder .parquet"
    add_output(command, "--out", kind="results", metavar="FILE", help=about)
    command.add_argument("--rows", type=at_least(1), metavar="N", help="only the first N rows")
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="worker processes; -1: all cores [1]")
    command.add_argument("--limit", type=at_least(0), default=12, metavar="N", help="the longest table [%(default)s]")
    about = "show the mean shares by output ('prediction') or by the value of a feature as well"
    command.add_argument("--by", metavar="NAME", help=about)
    add_interactions(command)
    add_output(command, "--pictures", kind="folder", metavar="FOLDER", help="draw each score over all rows there")
    add_on_error(command)
    add_json(command)


def _run_batch(options: argparse.Namespace) -> None:
    with working("reading"):
        inputs = given(options)
        explainer = explainer_of(inputs, options)
        if options.by not in (None, "prediction"):
            inputs.domain.index(options.by)  # or an error, before rows are explained
    data = inputs.rows(options.rows)
    if options.out is None:
        batch = explainer.explain_batch(data, n_jobs=options.n_jobs, on_error=options.on_error)
    else:
        batch = explainer.explain_to(
            options.out,
            data,
            kinds=options.score,
            interactions=options.interactions,
            n_jobs=options.n_jobs,
            on_error=options.on_error,
            **_asked(options),
        )
    names = inputs.domain.names
    means = {kind: _means(batch.score_numerators(kind), names) for kind in options.score}
    shares = _share_means(batch, names, options.score[0])
    groups = {} if options.by is None else batch.inspection(options.score[0], by=options.by)
    drawn = [] if options.pictures is None else _batch_pictures(batch, options)
    if options.json:
        out = None if options.out is None else str(options.out)
        skipped = by_label(batch.skipped.items())
        averages = {f"mean_{kind}": found for kind, found in means.items()}
        known = by_label((label, radius_words(radius)) for label, radius in batch.stopped_rows.items())
        completeness = {"completeness": known} if known else {}
        run = {"rows": len(batch), "rows_of_run": getattr(batch, "n_rows", len(batch))}
        made = {**run, **completeness, **Space.of(batch).entries, "skipped": skipped, "out": out}
        by = {plain(g): dict(zip(names, own.importances_mean.tolist(), strict=True)) for g, own in groups.items()}
        print_json({**made, **averages, "mean_share": shares, **({"mean_share_by": by} if by else {})}, "batch")
        return
    ranked = [name for name in sorted(shares, key=lambda name: -shares[name]) if any(m[name] for m in means.values())]
    rows = [(n, f"{shares[n]:.1%}", *(amount(found[n], digits=6) for found in means.values())) for n in ranked]
    head = ("feature", f"mean share of {options.score[0]}", *(f"mean {kind}" for kind in means))
    stopped = stopped_words(batch.radii)
    print(
        f"{extent_words(batch)} explained",
        *([stopped] if stopped else []),
        *([] if options.out is None else [f"results in {options.out}"]),
        sep=", ",
    )
    print(*(f"{plain(line)}\n" for line in Space.of(batch).lines), sep="", end="")
    print("", *text_table(head, rows[: options.limit], total=len(rows)), sep="\n")
    _print_groups(groups, ranked, options.limit)
    _print_skipped(batch, options.limit)
    print_written(drawn)


def _batch_pictures(batch: Any, options: argparse.Namespace) -> list[Path]:
    """Draw each score over all rows, and return the paths."""
    from axfi_kc.plots import plot_batch
    from axfi_kc.plots.style import save_picture

    options.pictures.mkdir(parents=True, exist_ok=True)
    paths = [options.pictures / f"{kind}_batch.png" for kind in options.score]
    for path, kind in zip(paths, options.score, strict=True):
        save_picture(writable(path, "picture", options), plot_batch, batch, kind)
    return paths


def _print_groups(groups: Any, ranked: Sequence[str], limit: int) -> None:
    """Print the mean share of each feature in each group, if there are any."""
    if groups:
        means = [dict(zip(own.feature_names, own.importances_mean.tolist(), strict=True)) for own in groups.values()]
        rows = [(name, *(f"{mean[name]:.1%}" for mean in means)) for name in ranked]
        head = [f"{plain(group)} ({counted(own.importances.shape[1], 'row')})" for group, own in groups.items()]
        print("", *text_table(("mean share", *head), rows[:limit], total=len(rows)), sep="\n")


def _print_skipped(batch: Any, limit: int) -> None:
    """Say which rows were skipped, and why, if there are any."""
    if batch.skipped:
        rows = [(plain(label), why) for label, why in batch.skipped.items()]
        print("", *text_table(("row", "skipped because"), rows[:limit], total=len(rows)), sep="\n")


def _share_means(batch: Any, names: tuple[str, ...], kind: str) -> dict[str, float]:
    """Return the mean of each feature's shares of a score, rounded."""
    numerators, wholes = batch.share_numerators(kind)
    columns = zip(names, numerators.T.tolist(), strict=True)
    return {
        n: fsum(t / whole for t, whole in zip(own, wholes, strict=True)) / max(len(wholes), 1) for n, own in columns
    }


def _means(scored: Any, names: tuple[str, ...]) -> dict[str, Fraction]:
    """Return the mean score of each feature, exactly."""
    numerators, denominators = scored
    whole: dict[int, list[int]] = {}
    for row, denominator in zip(numerators.tolist(), denominators, strict=True):
        sums = whole.setdefault(denominator, [0] * len(row))
        for i, numerator in enumerate(row):
            sums[i] += numerator
    n = max(len(denominators), 1)
    return {
        name: sum((Fraction(sums[i], d) for d, sums in whole.items()), Fraction(0)) / n for i, name in enumerate(names)
    }


_REPORT_EXAMPLES = """\
  axfi-kc report model.json data.csv --row 3 --out report.html
  axfi-kc report model.json data.csv --out batch.html --rows 200
  axfi-kc report results.jsonl --out batch.html
  axfi-kc report model.json data.csv --explore --rows 20 --out explore.html
"""


def add_report(commands: Any) -> None:
    """Add the command."""
    about = "write one HTML file, which needs no server and no network, about one row or all"
    command = add_command(commands, "report", _run_report, about=about, examples=_REPORT_EXAMPLES)
    add_inputs(command, or_results=True)
    add_explainer(command)
    about = "- for standard output [%(default)s]"
    add_output(command, "--out", kind="page", alone=True, default=Path("report.html"), metavar="FILE", help=about)
    which = command.add_mutually_exclusive_group()
    about = "only this row, from 0; of results: the one that is called so, also if others were skipped"
    which.add_argument("--row", type=_row, metavar="N", help=about)
    which.add_argument("--rows", type=at_least(1), metavar="N", help="only the first N rows")
    command.add_argument("--title", help="the page's title")
    about = "a page on which one picks a row, freezes features and says how many may change, instead of a report"
    command.add_argument("--explore", action="store_true", help=about)
    about = (
        "with --explore: and how far they may go, all critical radii of each row; as a share of each range, unless "
        "--unit says otherwise"
    )
    command.add_argument("--radii", action="store_true", help=about)
    add_interactions(command)
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="worker processes; -1: all cores [1]")
    add_on_error(command)
    add_json(command)


def _row(text: str) -> str:
    """Return a position, or the label of a row of results, which may be any text but a negative number."""
    if text.lstrip("-").isdecimal():
        at_least(0)(text)
    return text  # as it is: 007 may be a label


def _run_report(options: argparse.Namespace) -> None:
    from axfi_kc.explanations.page.document import write_page
    from axfi_kc.explanations.page.explore import closed_forms

    if options.explore:
        closed_forms(options.score)  # or an error, before rows are explained
    paths: list[Any] = []
    explained = _saved(options) if options.data is None else _reported(options, paths)
    with working("writing"):
        page = _page(explained, paths, options)
    if options.out == STANDARD:
        print_page(page)
        return
    write_page(page, writable(options.out, "page", options))
    skipped = getattr(explained, "skipped", {})
    if options.json:
        left_out = by_label(skipped.items())
        print_json({"wrote": str(options.out), "skipped": left_out}, "report")
    else:
        print_written([options.out])
        if skipped:
            _print_skipped(explained, len(skipped))


def _page(explained: Any, paths: Sequence[Any], options: argparse.Namespace) -> str:
    """Return the page as text."""
    from axfi_kc.explanations.page import explore_html, report_html

    if options.explore:
        return explore_html(explained, title=options.title, kinds=options.score, paths=paths)
    options_shown: dict[str, Any] = {"kinds": options.score, "interactions": options.interactions}
    return report_html(explained, title=options.title, **options_shown, **_asked(options))


# What a page about results in a file may be told; all else was decided when they were made.
_OF_RESULTS = (
    *("model", "out", "force", "row", "rows", "title", "json", "explore", "radii"),
    *("score", "interactions", "min_precision", "inflate"),  # as far as they are in the file, or follow from it
)


def _saved(options: argparse.Namespace) -> Any:
    """Return the results in a file, or those rows of them that were asked for."""
    from axfi_kc.explanations.batch import read_results
    from axfi_kc.explanations.files.stores import SUFFIXES

    path = options.model
    if path.suffix not in SUFFIXES:
        raise DomainError(f"{path} is a model, which needs data; add a table, or give results that batch wrote.")
    told = (dest for dest in vars(options) if dest not in (*_OF_RESULTS, "run", "default_of", "outputs"))
    ignored = flags([dest for dest in told if is_told(options, dest)])
    if ignored:
        raise DomainError(f"{path} holds results, which {ignored} cannot change; leave it out, or give model and data.")
    found = read_results(path)
    if options.row is None:
        return found if options.rows is None or options.rows >= len(found) else list(islice(found, options.rows))
    labels = (*found.rows, *found.skipped)
    asked = int(options.row) if re.fullmatch(r"0|[1-9]\d*", options.row) else options.row
    return found.at(next((label for label in labels if str(label) == options.row), asked))


def _reported(options: argparse.Namespace, paths: list[Any]) -> Any:
    """Return what is reported; with --radii, `paths` gets the critical radii of each row."""
    with working("reading"):
        inputs = given(options)
        if options.row is not None and not options.row.isdecimal():
            raise DomainError(f"--row takes the position of a row of data, from 0, but {options.row!r} was given.")
        row = None if options.row is None else inputs.row(int(options.row), options.data)
        explainer = explainer_of(inputs, options)
    if row is None:
        data = inputs.rows(options.rows)
        explained = explainer.explain_batch(data, n_jobs=options.n_jobs, on_error=options.on_error)
    else:
        explained = replace(explainer.explain(row), row=row.index[0])
    if options.radii:
        paths += _radii(explainer, explained, measure_of(options, inputs.domain))
    return explained


def _radii(explainer: Any, explained: Any, measure: dict[str, Any]) -> list[Any]:
    """Return all critical radii of each row, as far as a few seconds for each go; shares of ranges, unless told."""
    from axfi_kc.budget import Budget
    from axfi_kc.errors import BudgetError
    from axfi_kc.explanations.radius_path import radius_path

    rows, found = explained if isinstance(explained, Sequence) else [explained], list[Any]()
    measure = {**measure, "unit": measure["unit"] or "range"}
    budget = explainer.budget if explainer.budget.seconds is not None else Budget(seconds=_RADII_SECONDS)
    for e in rows:
        try:
            found.append(radius_path(explainer, e.instance, budget=budget, **measure))
        except BudgetError:  # not even the first radius: the page then does not ask for one
            found.append(None)
    return found


def write_pictures(
    explanation: Any,
    folder: Path,
    options: argparse.Namespace | None = None,
    *,
    kinds: Sequence[str] = DEFAULT_SCORES,
    interactions: Sequence[str] = (),
) -> list[Path]:
    """Draw scores, interactions, the row as a strip, CXps and the forest; write the forest's files; return paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, write in _pictures(explanation, kinds, interactions):
        paths.append(folder / name)
        write(writable(paths[-1], "picture", options))
    return paths


def _pictures(
    explanation: Any, kinds: Sequence[str], interactions: Sequence[str]
) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Yield the names of pictures and files, each with what writes it to a path."""
    from axfi_kc.plots import plot_cxps, plot_force, plot_forest, plot_interactions, plot_scores
    from axfi_kc.plots.style import save_picture

    def drawn(plot: Any, *what: Any) -> Callable[[Path], object]:
        return lambda path: save_picture(path, plot, *what)

    for kind in kinds:
        yield f"{kind}.png", drawn(plot_scores, explanation, kind)
    for kind in interactions:
        yield f"{kind}_interactions.png", drawn(plot_interactions, explanation, kind)
    if any(explanation.scores(kinds[0]).values()):
        yield "force.png", drawn(plot_force, explanation, kinds[0])
    if explanation.cxps:
        yield "cxps.png", drawn(plot_cxps, explanation)
    if isinstance(explanation.cxps, tuple) and explanation.cxps:  # more than a tuple holds make no picture
        yield "forest.png", drawn(plot_forest, explanation.forest)
    if isinstance(explanation.cxps, tuple) or explanation.forest.sets.dag is not None:  # what is counted has no graph
        yield "forest.graphml", explanation.forest.to_graphml
        yield "forest.dot", explanation.forest.to_dot


_ROW = 78
_ABOUT = "explain a decision tree on data that ships with scikit-learn"


def add_demo(commands: Any) -> None:
    """Add the command."""
    examples = "  axfi-kc demo\n  axfi-kc demo --out here/\n"
    command = add_command(commands, "demo", _run_demo, about=_ABOUT, examples=examples)
    about = "folder for the pictures [%(default)s]"
    add_output(command, "--out", kind="folder", default=Path("axfi-demo"), help=about)


def _run_demo(options: argparse.Namespace) -> None:
    from axfi_kc.explanations.page import write_report

    model, explanation = _explained_tumour()
    print(
        f"A decision tree with {model.get_n_leaves()} leaves on scikit-learn's breast cancer data "
        "(569 tumours, 30 measurements).\n"
        f"Why does it call tumour {_ROW} {explanation.prediction_name}? Every number below is exact.\n"
    )
    print(explanation_text(explanation))
    heaviest = max(explanation.cxps, key=lambda c: c.weight)
    print(
        f"\nThe heaviest CXp: over the whole range of {', '.join(heaviest.features)}, all else as it is, "
        f"the diagnosis flips with probability {amount(heaviest.weight)}.\n"
    )
    with working("drawing"):
        drawn = write_pictures(explanation, options.out, options)
        page = options.out / "report.html"
        write_report(explanation, writable(page, "page", options))
    print_written([*drawn, page])


def _explained_tumour() -> tuple[Any, Any]:
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "demo", "The demo") from error
    from axfi_kc.domain.domain import Domain
    from axfi_kc.explanations.explainer import Explainer

    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target_names[data.target])
    return model, Explainer(model, Domain.from_data(data.data)).explain(data.data.iloc[[_ROW]])
