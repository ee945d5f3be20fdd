"""The parser, and what happens when something goes wrong.

The commands live in modules of their own and import what they need when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
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
from axfi_kc.cli.outputs import check_inputs, check_outputs, standard_input
from axfi_kc.cli.rules import add_rules
from axfi_kc.cli.sensitivity import add_sensitivity
from axfi_kc.cli.text import any_text, as_typed, one_line, say
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
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of files they are errors of ours
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
    if sys.stdout is None:
        say("standard output is closed, so no answer could be given; redirect it, to /dev/null if need be.")
        return BAD_INPUT
    try:
        may_be_caught()
        any_text()
        return _answered(arguments)
    except KeyboardInterrupt:
        say("interrupted.")
        return INTERRUPTED


def _answered(arguments: Sequence[str] | None) -> int:
    """Run the command line; what cannot be printed is an error, unless nobody wants it."""
    try:
        if not (sys.argv[1:] if arguments is None else arguments):
            print(first_steps(Path.cwd()), end="")
            status = DONE
        else:
            status = _run(_parsed(arguments))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        return DONE
    except OSError as error:
        say(f"output cannot be written ({error.strerror or error}); free some space, or redirect it.")
        _drop_output()
        return BAD_INPUT
    return status


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    try:
        return parser().parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()  # or an error: help that nobody can read is no success
        raise


def _drop_output() -> None:
    """Let nothing more be printed: Python would try again when it ends, and say that it cannot."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _run(options: argparse.Namespace) -> int:
    """Run the command that was asked for, and return the exit status."""
    try:
        with _warnings_in_one_line(), standard_input(options):
            check_inputs(options)
            check_combinations(options)
            check_outputs(options)
            options.run(options)
    except AxfiError as error:
        say(one_line(as_typed(str(error))))
        return BAD_INPUT
    except OSError as error:
        if error.errno in _OF_OUTPUT:
            raise
        say(one_line(str(error)))
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
        say(one_line(found))
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
            say(one_line(message))

    with warnings.catch_warnings():
        usual, warnings.showwarning = warnings.showwarning, show
        warnings.simplefilter("always", AxfiWarning)
        yield


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with arguments without repeating the whole of them."""

    def error(self, message: str) -> NoReturn:
        """End the command, in a line, which is not preceded by all options that there are."""
        self.exit(BAD_USAGE, f"{self.prog}: error: {one_line(message)}; see {self.prog} --help\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print; argparse itself passes over help that cannot be printed as well."""
        if message and file is not None:
            with suppress(OSError) if file is sys.stderr else nullcontext():
                file.write(message)


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
