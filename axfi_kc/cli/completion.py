"""``axfi-kc completion``: a script with which a shell completes commands, options and file names.

The script is written once and holds every option, so that no Python is started when one types TAB.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from axfi_kc.cli.inputs import add_command
from axfi_kc.errors import MissingExtraError

__all__ = ["SHELLS", "add_completion", "completion_script"]


SHELLS = {
    "bash": "axfi-kc completion bash > ~/.local/share/bash-completion/completions/axfi-kc",
    "zsh": "axfi-kc completion zsh > ~/.zfunc/_axfi-kc      (with fpath+=~/.zfunc before compinit in ~/.zshrc)",
    "fish": "axfi-kc completion fish > ~/.config/fish/completions/axfi-kc.fish",
}
"""The shells, and what one types once; new shells then complete."""


def add_completion(commands: Any, parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command; `parser` makes the parser of all commands."""
    examples = "".join(f"  {line}\n" for line in SHELLS.values())
    about = "print a script for your shell, which then completes commands and options"
    command = add_command(commands, "completion", _run, about=about, examples=examples)
    command.add_argument("shell", choices=list(SHELLS), help="your shell")
    command.set_defaults(whole=parser)


def _run(options: argparse.Namespace) -> None:
    print(completion_script(options.whole(), options.shell))


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script with which a shell completes what a parser takes.

    Raises
    ------
    MissingExtraError
        If shtab is not installed.
    """
    try:
        import shtab
    except ImportError as error:
        raise MissingExtraError.of("shtab", "completion", "A completion script") from error
    for action in _actions(parser):
        if _is_path(action):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its commands."""
    for action in parser._actions:  # argparse has no other way to list them
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def _is_path(action: argparse.Action) -> bool:
    """Tell whether an argument names a file."""
    return action.type is Path or getattr(action.type, "__name__", "") == "file_path"
