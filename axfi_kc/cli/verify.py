"""``axfi-kc verify``: saved explanations against the model they are about."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.cli.inputs import add_command, add_json, add_missing, at_least, file_kind, load_circuit_model, load_model
from axfi_kc.cli.outputs import file_path, standard_inputs
from axfi_kc.cli.own_process import LIBRARIES, Found, check_apart, reported
from axfi_kc.cli.text import plain, print_json, working
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import counted
from axfi_kc.errors import ResultFileError, VerificationError

__all__ = ["add_verify", "saved_explanations"]


_EXAMPLES = """\
  axfi-kc explain model.json data.csv --row 3 --json > result.json
  axfi-kc verify result.json model.json
  axfi-kc verify results.jsonl model.json --rows 20
  axfi-kc verify result.json circuit.nnf --seconds 60 --json
"""


def add_verify(commands: Any) -> None:
    """Add the command."""
    about = "check saved explanations against the model itself; exit status 1 if something does not hold"
    command = add_command(commands, "verify", _run, about=about, examples=_EXAMPLES)
    about = "the JSON of one explanation (- for standard input), or the .jsonl or .parquet of a batch"
    command.add_argument("result", type=file_path, help=about)
    standard_inputs(command, "result")
    command.add_argument("model", type=file_path, help="the model that was explained, as for explain")
    command.add_argument("--allow-pickle", action="store_true", help="load a pickled model; it may run any code")
    add_missing(command)
    command.add_argument("--rows", type=at_least(1), metavar="N", help="of a batch, only the first N rows")
    command.add_argument("--verbose", action="store_true", help="of a batch, all that was checked of each row")
    command.add_argument("--seconds", type=float, metavar="S", help="what S seconds do not suffice for is sampled")
    command.add_argument("--points", type=int, metavar="N", help="points and steps per check [20000, 100000]")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    with working("reading"):
        explanations = saved_explanations(options.result, options.rows)
        kind = file_kind(options.model)
        model = _model(options, kind, explanations[0].whole or explanations[0].domain)
    with working("checking"):
        reports = _apart(options, kind) if kind in LIBRARIES else _here(options, explanations, model)
    run = _rows_of_run(options.result)
    if options.json:
        of_run = {} if run is None else {"rows_of_run": run}
        print_json({"reports": [report["document"] for report in reports], **of_run}, "verify")
    else:
        _print(reports, is_batch=run is not None, verbose=options.verbose)
        if run is not None and len(reports) < run:
            stopped = options.rows is None or len(reports) < options.rows
            print(f"checked {len(reports)} of {counted(run, 'row')}{': the run is not finished' if stopped else ''}")
    wrong = [k for k, report in enumerate(reports) if report["failed"]]
    if wrong:
        raise VerificationError(
            f"Every check should hold, but {reports[wrong[0]]['failed']} failed in {_where(reports[wrong[0]])} "
            f"({len(wrong)} of {counted(len(reports), 'explanation')}); do not rely on {options.result}."
        )


def _print(reports: list[Found], *, is_batch: bool, verbose: bool) -> None:
    """Print what came of the checks: of a batch the rows that are not proved, and how many there are of each kind."""
    if not is_batch:
        print(*(report["text"] for report in reports), sep="\n")
        return
    for report in reports:
        if verbose:
            print(f"{plain(_where(report))}: {report['text']}")
        elif report["verdict"] != "proved":
            lines = [f"{_where(report)}: {report['verdict']}; {report['numbers']}", *report["doubts"]]
            print(*map(plain, lines), sep="\n  ")
    counts = Counter(report["verdict"] for report in reports)
    others = "".join(f", {counts[verdict]} {verdict}" for verdict in ("not refuted", "failed") if counts[verdict])
    print(f"{counts['proved']} of {len(reports)} proved{others}")
    unchecked = dict.fromkeys(text for report in reports for text in report["document"]["unchecked"])
    if unchecked and not verbose:
        print(f"not checked: {'; '.join(unchecked)}")


def _where(report: Found) -> str:
    """Return which explanation a report is about, in words."""
    row = report["document"].get("row")
    return "the explanation" if row is None else f"row {row}"


def _rows_of_run(path: Path) -> int | None:
    """Return how many rows the run has that wrote a file of results, finished or not; None of a single explanation."""
    from axfi_kc.explanations.batch import read_results
    from axfi_kc.explanations.files.stores import SUFFIXES

    return read_results(path).n_rows if path.suffix in SUFFIXES else None


def _here(options: argparse.Namespace, explanations: list[Any], model: Any) -> list[Found]:
    """Return the reports of explanations on a model that is at hand."""
    from axfi_kc.verification import verify

    budget = Budget(seconds=options.seconds, nodes=options.points)
    return [reported(verify(e, model, budget=budget), e.row) for e in explanations]


def _apart(options: argparse.Namespace, kind: str) -> list[Found]:
    """Return the reports on a model that only its own library reads, which is done in another process."""
    missing = None if math.isnan(options.missing) else options.missing
    limits = {"rows": options.rows, "missing": missing, "seconds": options.seconds, "points": options.points}
    return check_apart({"result": str(options.result), "model": str(options.model), "kind": kind, **limits})


def saved_explanations(path: Path, rows: int | None) -> list[Any]:
    """Return what a file of results holds."""
    from axfi_kc.explanations.batch import read_results
    from axfi_kc.explanations.files.stores import SUFFIXES
    from axfi_kc.explanations.tables import SavedExplanation

    if not path.exists():
        raise ResultFileError(f"There is no file of results {path}; give the path of a saved explanation.")
    if path.is_dir() and path.suffix not in SUFFIXES:
        raise ResultFileError(f"{path} is a folder, and none of results (.parquet); give a saved explanation.")
    if path.suffix in SUFFIXES:
        found = list(islice(read_results(path), rows))
    else:
        found = [SavedExplanation.from_json(path.read_bytes())]
    if not found:
        raise ResultFileError(f"{path} holds no explanation to check; explain some rows first.")
    return found


def _model(options: argparse.Namespace, kind: str, domain: Domain) -> Any:
    """Return the model itself; of a library whose parser trusts its input, what our own takes, which comes first."""
    if kind == "circuit":
        return load_circuit_model(options.model, lambda: domain)
    return load_model(options.model, domain, allow_pickle=options.allow_pickle, missing=options.missing)
