"""``axfi-kc sizes``: one model in several target languages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.cli.compiling import add_output, output_of
from axfi_kc.cli.options import add_command as new_command
from axfi_kc.cli.options import add_inputs, add_json, given
from axfi_kc.cli.progress import is_watched, working
from axfi_kc.cli.tables import plain, print_json, text_table
from axfi_kc.targets import CODES, TARGETS, targets_with

__all__ = ["add_command"]

_EXAMPLES = """\
  axfi-kc sizes tree.skops data.csv --target label
  axfi-kc sizes model.json data.csv --to mdd obdd --codes order binary --orders influence --picture sizes.png
"""
_COLUMNS = ("target", "code", "order", "vtree", "nodes", "edges", "bytes", "seconds", "agrees", "note")


def add_command(commands: Any) -> None:
    """Add the command."""
    about = "compile a model into several languages and compare the sizes"
    command = new_command(commands, "sizes", _run, about=about, examples=_EXAMPLES)
    add_inputs(command)
    add_output(command)
    command.add_argument("--to", nargs="+", choices=tuple(TARGETS), default=list(TARGETS), help="[all]")
    command.add_argument("--codes", nargs="+", choices=CODES, default=["order"], help="[order]")
    orders = ["influence", "force", "given"]
    command.add_argument("--orders", nargs="+", choices=orders, default=orders, help="[all]")
    vtrees = ["right", "balanced"]
    command.add_argument(
        "--vtrees", nargs="+", choices=vtrees, default=vtrees, help=f"for {' and '.join(targets_with('vtree'))} [all]"
    )
    command.add_argument("--reorder", action="store_true", help="add what sifting and vtree search make of each")
    command.add_argument("--picture", type=Path, metavar="FILE", help="draw the sizes: .png, .svg or .pdf")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.sizes import compare_sizes

    with working("reading"):
        inputs = given(options)
        output = output_of(inputs, options.output, options.delta)
    frame = compare_sizes(
        inputs.model,
        inputs.domain,
        output=output,
        delta=options.delta,
        targets=options.to,
        codes=options.codes,
        orders=options.orders,
        vtrees=options.vtrees,
        reorder=options.reorder,
        budget=Budget(seconds=options.seconds or 60),
        progress=is_watched(),
    )
    rows: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if options.picture is not None:
        _draw(rows, options.picture)
    if options.json:
        print_json(rows)
        return
    print(*text_table(_COLUMNS, [[_cell(row[c]) for c in _COLUMNS] for row in rows]), sep="\n")
    if options.picture is not None:
        print(f"wrote {options.picture}")


def _cell(value: Any) -> str:
    return "" if value is None else plain(value)


def _draw(rows: list[dict[str, Any]], path: Path) -> None:
    from axfi_kc.plots import plot_sizes
    from axfi_kc.plots.style import pyplot

    pyplot().switch_backend("Agg")
    figure: Any = plot_sizes(rows).figure
    figure.savefig(path, dpi=150)
