"""``axfi-kc report``: an HTML file of one row, or of many."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from axfi_kc.cli.options import add_command as new_command
from axfi_kc.cli.options import add_explainer, add_inputs, add_json, explainer_of, given
from axfi_kc.cli.progress import working
from axfi_kc.cli.tables import print_json
from axfi_kc.errors import DomainError

__all__ = ["add_command"]

_RESULTS = (".jsonl", ".ndjson", ".parquet")
_EXAMPLES = """\
  axfi-kc report model.json data.csv --row 3 --out report.html
  axfi-kc report model.json data.csv --out batch.html --rows 200
  axfi-kc report results.jsonl --out batch.html
"""


def add_command(commands: Any) -> None:
    """Add the command."""
    about = "write one HTML file, which needs no server and no network, about one row or all"
    command = new_command(commands, "report", _run, about=about, examples=_EXAMPLES)
    add_inputs(command, or_results=True)
    add_explainer(command)
    command.add_argument("--out", type=Path, default=Path("report.html"), metavar="FILE", help="[%(default)s]")
    command.add_argument("--row", type=int, metavar="N", help="only this row, from 0; otherwise a batch")
    command.add_argument("--rows", type=int, metavar="N", help="only the first N rows")
    command.add_argument("--title", help="the page's title")
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="worker processes; -1: all cores [1]")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.report import write_report

    explained = _saved(options.model) if options.data is None else _explained(options)
    with working("writing"):
        write_report(explained, options.out, title=options.title, kinds=options.score)
    if options.json:
        print_json({"wrote": str(options.out)})
    else:
        print(f"wrote {options.out}")


def _saved(path: Path) -> Any:
    from axfi_kc.streams import read_results

    if path.suffix not in _RESULTS:
        raise DomainError(f"{path} is a model, which needs data; add a table, or give results that batch wrote.")
    return read_results(path)


def _explained(options: argparse.Namespace) -> Any:
    with working("reading"):
        inputs = given(options)
        row = None if options.row is None else inputs.row(options.row, options.data)
        explainer = explainer_of(inputs, options)
    if row is None:
        data = inputs.data if options.rows is None else inputs.data.iloc[: max(options.rows, 0)]
        return explainer.explain_batch(data, n_jobs=options.n_jobs)
    with working("explaining"):
        return explainer.explain(row)
