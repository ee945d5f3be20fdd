"""``axfi-kc rules``: what no row of a table violates, for a person to accept."""

from __future__ import annotations

import argparse
from typing import Any

from axfi_kc.cli.inputs import add_command, add_json, read_table
from axfi_kc.cli.outputs import STANDARD, add_output, file_path, standard_inputs, writable
from axfi_kc.cli.text import print_json, text_table
from axfi_kc.domain.measures import amount, counted
from axfi_kc.errors import DomainError

__all__ = ["add_rules"]


_EXAMPLES = """\
  axfi-kc rules data.csv --target label
  axfi-kc rules data.csv --min-support 100 --out rules.json      # then read it, and delete what is chance
  axfi-kc explain model.json data.csv --rules rules.json --row 3
"""


def add_rules(commands: Any) -> None:
    """Add the command."""
    about = "propose constraints that no row of a table violates"
    command = add_command(commands, "rules", _run, about=about, examples=_EXAMPLES)
    command.add_argument("data", type=file_path, help="a table, CSV or Parquet, or - for CSV on standard input")
    standard_inputs(command, "data")
    command.add_argument("--target", metavar="COLUMN", help="a column of the data that is not a feature")
    command.add_argument("--max-size", type=int, choices=[2, 3], default=2, help="features of a rule [%(default)s]")
    command.add_argument("--min-support", type=int, default=20, metavar="N", help="rows it is about [%(default)s]")
    about = "write them to a JSON file, for --rules, or to standard output (-)"
    add_output(command, "--out", kind="rules", alone=True, metavar="FILE", help=about)
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.domain.rules import mine_rules, rules_document, save_rules

    table = read_table(options.data)
    if options.target is not None and options.target not in table.columns:
        raise DomainError(f"{options.data} has no column {options.target!r}; --target must name one of its columns.")
    features = table if options.target is None else table.drop(columns=options.target)
    rules = mine_rules(features, max_size=options.max_size, min_support=options.min_support)
    if options.out not in (None, STANDARD):
        save_rules(rules, writable(options.out, "rules", options))
    if options.json or options.out == STANDARD:
        print_json(rules_document(rules), "rules")
        return
    if not rules:
        print(_none_found(options))
        return
    rows = [(amount(rule.support), str(rule.constraint)) for rule in rules]
    print(
        "\n".join(text_table(("rows", "rule that no row violates; seen, which is not proved"), rows, total=len(rows)))
    )


def _none_found(options: argparse.Namespace) -> str:
    ways = ["lower --min-support"] * (options.min_support > 1) + ["try --max-size 3"] * (options.max_size < 3)
    return (
        f"no rule about at least {counted(options.min_support, 'row')} holds in every row of {options.data}; "
        f"{' or '.join(ways) or 'give more columns of few values'}"
    )
