"""The command ``axfi-kc paper``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from axfi_kc.paper.data_sets import NAMES

__all__ = ["add_arguments", "add_command", "run"]

_ABOUT = "Run the paper's experiments with exact weights, and write tables, figures and a report."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to a parser."""
    parser.add_argument("--out", type=Path, default=Path("axfi-paper"), help="folder for the results [%(default)s]")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where data sets lie, as NAME/FILE.csv")
    parser.add_argument("--online", action="store_true", help="ask OpenML for data sets that are not at hand")
    parser.add_argument("--quick", action="store_true", help="few instances; under two minutes")
    parser.add_argument("--seed", type=int, default=0, help="of splits, training and sampling [%(default)s]")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME", help="data sets")


def add_command(commands: Any) -> None:
    """Add ``paper`` to the sub-parsers of a command line."""
    parser = commands.add_parser("paper", help="run the paper's experiments with exact weights", description=_ABOUT)
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, **provenance: Any) -> Path:
    """Run the study as the options say; return the report's path."""
    from axfi_kc.paper.study import FULL, QUICK, run_study

    return run_study(
        options.out,
        data=options.data,
        online=options.online,
        scale=QUICK if options.quick else FULL,
        seed=options.seed,
        only=options.only,
        provenance=provenance,
    )
