"""``axfi-kc explain``: one row of a table."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from axfi_kc.cli.options import add_command as new_command
from axfi_kc.cli.options import add_explainer, add_inputs, add_json, explainer_of, given
from axfi_kc.cli.progress import working
from axfi_kc.cli.tables import plain, print_json, text_table
from axfi_kc.measures import abridged, amount, shown
from axfi_kc.scores import DEFAULT_SCORES

__all__ = ["add_command", "explanation_text"]

_EXAMPLES = """\
  axfi-kc explain model.json data.csv --row 3
  axfi-kc explain tree.skops data.csv --target label --max-size 3
  axfi-kc explain tree.skops data.csv --target label --score wffa shapley_shubik
  axfi-kc explain regressor.skops data.csv --delta 1.5 --target price --pictures out/
  axfi-kc explain model.ubj data.parquet --bounds age=18:90 --categorical race --json
"""
_AXP_SECONDS = 5.0
_LONGEST = 24  # letters of an exact weight


def add_command(commands: Any) -> None:
    """Add the command."""
    command = new_command(commands, "explain", _run, about="explain one row of a table", examples=_EXAMPLES)
    add_inputs(command)
    add_explainer(command)
    command.add_argument("--row", type=int, default=0, metavar="N", help="which row to explain, from 0 [%(default)s]")
    command.add_argument("--limit", type=int, default=12, metavar="N", help="the longest table [%(default)s]")
    command.add_argument("--pictures", type=Path, metavar="FOLDER", help="write the pictures there")
    command.add_argument("--report", type=Path, metavar="FILE", help="write an HTML report there")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.cli.pictures import write_pictures
    from axfi_kc.report import write_report

    with working("reading"):
        inputs = given(options)
        row = inputs.row(options.row, options.data)
        explainer = explainer_of(inputs, options)
    explanation = _explained(explainer, row, options)
    if options.json:
        print_json(explanation.to_dict(kinds=options.score))
    else:
        print(explanation_text(explanation, kinds=options.score, limit=options.limit))
    if options.pictures is not None:
        written = write_pictures(explanation, options.pictures, kinds=options.score)
        if not options.json:
            print(*(f"wrote {path}" for path in written), sep="\n")
    if options.report is not None:
        write_report(explanation, options.report, kinds=options.score)
        if not options.json:
            print(f"wrote {options.report}")


def _explained(explainer: Any, row: Any, options: argparse.Namespace) -> Any:
    """Return the explanation; if the budget is spent, print the CXps that are certain and pass the error on."""
    from axfi_kc.errors import BudgetError

    try:
        with working("explaining"):
            return explainer.explain(row)
    except BudgetError as spent:
        if options.json:
            print_json({"complete": False, "cxps": [list(c) for c in spent.cxps]})
        elif spent.cxps:
            rows = [(", ".join(c),) for c in spent.cxps[: options.limit]]
            header = ("CXps that are certain so far",)
            print(*text_table(header, rows, total=len(spent.cxps)), sep="\n")
        raise


def explanation_text(explanation: Any, *, kinds: Sequence[str] = DEFAULT_SCORES, limit: int = 12) -> str:
    """Return the tables of an explanation as text."""
    from axfi_kc.listings import cxp_count, heaviest_cxps

    lines = [f"prediction: {plain(explanation.prediction)}", "", *_score_lines(explanation, kinds, limit)]
    cxps = heaviest_cxps(explanation)
    rows = [
        (amount(c.weight, digits=6), abridged(shown(c.weight, digits=None), _LONGEST), ", ".join(c.features))
        for c in cxps
    ]
    header = (explanation.weights, "exactly", "CXp: change these, and the output can change")
    lines += ["", *text_table(header, rows[:limit], total=cxp_count(explanation))]
    if explanation.max_size is None:
        lines += ["", *_axp_lines(explanation, limit)]
    return "\n".join(lines)


def _score_lines(explanation: Any, kinds: Sequence[str], limit: int) -> list[str]:
    scores = [explanation.scores(kind) for kind in kinds]
    values, relevant = explanation.instance, explanation.relevant
    ranked = sorted(relevant, key=lambda name: (-scores[0][name], name))
    rows = [(n, plain(values[n]), *(amount(found[n], digits=6) for found in scores)) for n in ranked]
    lines = text_table(("feature", "value", *kinds), rows[:limit], total=len(rows))
    others = len(values) - len(relevant)
    return [*lines, f"The other {others} features are irrelevant: they score 0."] if others else lines


def _axp_lines(explanation: Any, limit: int) -> list[str]:
    from axfi_kc.listings import listed_axps

    axps, complete = listed_axps(explanation, seconds=_AXP_SECONDS)
    rows = [(", ".join(a.features),) for a in axps[:limit]]
    lines = text_table(("AXp: keep these, and the output stays",), rows, total=len(axps))
    return lines if complete else [*lines, f"There are more: the search was stopped after {_AXP_SECONDS:g} seconds."]
