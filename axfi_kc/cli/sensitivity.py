"""``axfi-kc sensitivity``: how much of the space changes its output when some features, or a few, change."""

from __future__ import annotations

import argparse
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.cli.inputs import add_command, add_inputs, add_json, given
from axfi_kc.cli.outputs import add_output, writable
from axfi_kc.cli.text import plain, print_json, print_written, text_table, working
from axfi_kc.domain.measures import amount, shown
from axfi_kc.errors import VerificationError

__all__ = ["add_sensitivity"]


_EXAMPLES = """\
  axfi-kc sensitivity model.json data.csv --target label --features race,sex
  axfi-kc sensitivity model.json data.csv --features race --by sex --save region.nnf
  axfi-kc sensitivity model.json data.csv --radius 1 --verify
"""


def add_sensitivity(commands: Any) -> None:
    """Add the command."""
    about = "how many points, and how probable ones, change their output if only some features change"
    command = add_command(commands, "sensitivity", _run, about=about, examples=_EXAMPLES)
    add_inputs(command)
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("--features", metavar="NAME,NAME", help="features that may change, together")
    which.add_argument("--radius", type=int, metavar="K", help="any features may change, at most K of them")
    command.add_argument("--by", metavar="COLUMN", help="also for each value of this feature")
    command.add_argument("--seconds", type=float, metavar="S", help="give up after S seconds")
    command.add_argument("--verify", action="store_true", help="check the answer; exit status 1 if it does not hold")
    add_output(command, "--save", kind="circuit", metavar="FILE", help="write the region as a circuit, such as .nnf")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.explanations.sensitivity import robustness, sensitivity
    from axfi_kc.explanations.space import Space

    with working("reading"):
        inputs = given(options)
    limits = {"by": options.by, "budget": None if options.seconds is None else Budget(seconds=options.seconds)}
    with working("compiling"):
        if options.features is not None:
            names = [name.strip() for name in options.features.split(",") if name.strip()]
            found: Any = sensitivity(inputs.model, inputs.domain, names, **limits)
        else:
            found = robustness(inputs.model, inputs.domain, radius=options.radius, **limits)
    report = _report(found, inputs.model, options) if options.verify else None
    if options.save is not None:
        found.region.save(writable(options.save, "circuit", options))
    rows, space = found.to_frame().to_dict("records"), Space.over(inputs.domain)
    if options.json:
        checked = {} if report is None else {"report": report.to_dict()}
        print_json({"rows": rows, **space.entries, **checked}, "sensitivity")
    else:
        _print(found, rows, space.lines, options)
        if report is not None:
            print(report)
    if report is not None and not report.ok:
        raise VerificationError(
            f"Every check should hold, but {len(report.failed)} failed; do not rely on these numbers."
        )


def _report(found: Any, model: Any, options: argparse.Namespace) -> Any:
    from axfi_kc.verification import verify

    with working("checking"):
        return verify(found, model, budget=None if options.seconds is None else Budget(seconds=options.seconds))


def _print(found: Any, rows: list[dict[str, Any]], space: list[str], options: argparse.Namespace) -> None:
    print(found, *map(plain, space), sep="\n")
    columns = ("of", "name", "share", "probability", "count", "points")
    print(*text_table(columns, [_cells(row) for row in rows]), sep="\n")
    print_written([] if options.save is None else [options.save])


def _cells(row: dict[str, Any]) -> list[str]:
    numbers = [_number(row[key]) for key in ("share", "probability")]
    counts = ["" if row[key] is None else amount(row[key]) for key in ("count", "points")]
    return [row["of"], plain(row["name"]), *numbers, *counts]


def _number(value: Any) -> str:
    return "" if value is None else shown(value, digits=4)
