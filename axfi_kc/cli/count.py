"""``axfi-kc count``: the models of clauses, or the sum of their weights, as the Model Counting Competition wants it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from axfi_kc.budget import Budget
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.cli.inputs import add_command, add_json
from axfi_kc.cli.outputs import add_output, file_path, standard_inputs, writable
from axfi_kc.cli.text import print_facts, print_json, print_written, working

if TYPE_CHECKING:
    from axfi_kc.circuits.files.clause_compilers import CountAnswer

__all__ = ["add_count"]


_EXAMPLES = """\
  axfi-kc count problem.cnf
  axfi-kc count weighted.cnf --via dd --seconds 60
  axfi-kc count problem.cnf --to sdd --save problem.sdd
"""
_ROUTES = ("dsharp", "dd", "pysdd")


def add_count(commands: Any) -> None:
    """Add the command."""
    about = "count the models of a CNF file exactly (tracks mc, wmc, pmc and pwmc), by two routes that must agree"
    command = add_command(commands, "count", _run, about=about, examples=_EXAMPLES)
    about = "clauses in the format of the Model Counting Competition; - for standard input"
    command.add_argument("file", type=file_path, help=about)
    standard_inputs(command, "file")
    command.add_argument(
        "--via", choices=_ROUTES, help="what compiles the clauses first [dsharp if installed, else dd]"
    )
    command.add_argument("--no-check", action="store_true", help="leave out the second route")
    command.add_argument("--to", choices=tuple(TARGETS), help="also compile into this language and print its size")
    add_output(command, "--save", kind="circuit", metavar="FILE", help="with --to: write the circuit")
    command.add_argument("--seconds", type=float, metavar="S", help="give up after S seconds")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.circuits.files.clause_compilers import count_models
    from axfi_kc.circuits.files.counting_problems import read_counting_problem

    budget = None if options.seconds is None else Budget(seconds=options.seconds)
    with working("reading"):
        problem = read_counting_problem(options.file, budget=budget)
    with working("counting"):
        answer = count_models(problem, via=options.via, check=not options.no_check, budget=budget)
    sizes = {} if options.to is None else _compiled(problem, options, budget)
    with _numbers_of_any_length():
        _print(answer, sizes, options)


@contextmanager
def _numbers_of_any_length() -> Iterator[None]:
    """Let Python write counts of thousands of variables, which have thousands of digits."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


def _print(answer: CountAnswer, sizes: dict[str, Any], options: argparse.Namespace) -> None:
    facts = {
        "track": answer.track,
        "satisfiable": answer.satisfiable,
        "count": answer.count,
        "routes": list(answer.routes),
        "seconds": [round(s, 3) for s in answer.seconds],
    }
    if options.json:
        print_json({**facts, **sizes}, "count")
        return
    print(answer)
    if answer.routes:
        print(f"c o counted via {' and '.join(answer.routes)}")
    if sizes:
        print_facts(sizes)
        print_written([] if options.save is None else [options.save])


def _compiled(problem: Any, options: argparse.Namespace, budget: Budget | None) -> dict[str, Any]:
    from axfi_kc.circuits.files import save_circuit
    from axfi_kc.circuits.files.clause_compilers import compile_cnf

    with working("compiling"):
        made = compile_cnf(problem, target=options.to, budget=budget)
    if options.save is not None:
        save_circuit(made, writable(options.save, "circuit", options))
    return {"language": made.language, "nodes": made.size.nodes, "edges": made.size.edges, "bytes": made.bytes}
