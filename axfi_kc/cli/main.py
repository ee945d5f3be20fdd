"""The parser, and what happens when something goes wrong.

The commands live in modules of their own and import what they need when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from axfi_kc._version import __version__
from axfi_kc.cli.combinations import check_combinations
from axfi_kc.cli.compile import add_compile, add_sizes
from axfi_kc.cli.completion import add_completion
from axfi_kc.cli.count import add_count
from axfi_kc.cli.explain import add_batch, add_demo, add_explain, add_report
from axfi_kc.cli.first_steps import first_steps
from axfi_kc.cli.info import add_info
from axfi_kc.cli.outputs import check_outputs
from axfi_kc.cli.rules import add_rules
from axfi_kc.cli.sensitivity import add_sensitivity
from axfi_kc.cli.text import any_text, as_typed, one_line
from axfi_kc.cli.verify import add_verify
from axfi_kc.cli.warm_up import add_warm_up
from axfi_kc.errors import AxfiError, AxfiWarning, shortened
from axfi_kc.starting import INTERRUPTED, may_be_caught

__all__ = ["main", "parser"]

_COMMANDS = (
    add_explain,
    add_batch,
    add_report,
    add_verify,
    add_sensitivity,
    add_sizes,
    add_compile,
    add_count,
    add_rules,
    add_info,
    add_warm_up,
    add_demo,
)
DONE, BAD_INPUT, BAD_USAGE = 0, 1, 2  # and INTERRUPTED
_EPILOG = """\
examples:
  axfi-kc demo
  axfi-kc info model.json
  axfi-kc explain model.json data.csv --row 3
  axfi-kc batch model.json data.csv --out results.jsonl --n-jobs 2
  axfi-kc report model.json data.csv --out report.html
  axfi-kc verify explanation.json model.json

exit status: 0 done, 1 bad input, 2 bad usage, 130 interrupted.
Each command has examples of its own: axfi-kc COMMAND --help.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status (0 done, 1 bad input, 2 bad usage, 130 interrupted)."""
    try:
        may_be_caught()
        any_text()
        if not (sys.argv[1:] if arguments is None else arguments):
            print(first_steps(Path.cwd()), end="")
            return DONE
        return _run(parser().parse_args(arguments))
    except KeyboardInterrupt:
        print("axfi-kc: interrupted.", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    """Run the command that was asked for, and return the exit status."""
    try:
        with _warnings_in_one_line():
            check_combinations(options)
            check_outputs(options)
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except (AxfiError, OSError) as error:
        print(f"axfi-kc: {one_line(as_typed(str(error)))}", file=sys.stderr)
        return BAD_INPUT
    except Exception as error:
        # An estimator in a file may lack any of its attributes, and then its own code fails anywhere.
        if getattr(getattr(options, "model", None), "suffix", "") != ".skops":
            raise
        said = shortened(f"{type(error).__name__}: {error}", 200)
        found = (
            f"{options.command} ended in an error that nobody foresaw ({said}): perhaps {options.model} holds a model "
            "that does not work, perhaps axfi-kc is wrong; see whether the model predicts in Python, and if it does, "
            "report this."
        )
        print(f"axfi-kc: {one_line(found)}", file=sys.stderr)
        return BAD_INPUT
    return DONE


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print each of our warnings once, in a line without the place in the code."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, AxfiWarning):
            usual(message, category, *place, **more)
        elif str(message) not in told:
            told.add(str(message))
            print(f"axfi-kc: {one_line(message)}", file=sys.stderr)

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show
        warnings.simplefilter("always", AxfiWarning)
        yield


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with arguments without repeating the whole of them."""

    def error(self, message: str) -> NoReturn:
        """End the command, in a line, which is not preceded by all options that there are."""
        self.exit(BAD_USAGE, f"{self.prog}: error: {one_line(message)}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = _Parser(
        prog="axfi-kc",
        description="Exact contrastive explanations and AxFi feature scores.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"axfi-kc {__version__}")
    commands = whole.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for add in _COMMANDS:
        add(commands)
    add_completion(commands, parser)
    return whole
