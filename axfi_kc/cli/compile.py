"""``axfi-kc compile`` and ``sizes``: a model as a circuit, in one language or several."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

from axfi_kc.budget import Budget, Watch, preparing
from axfi_kc.circuits.files import FORMATS
from axfi_kc.circuits.targets import CODES, TARGETS, targets_with
from axfi_kc.cli.inputs import Given, Listed, add_command, add_inputs, add_json, given, number
from axfi_kc.cli.outputs import add_output, writable
from axfi_kc.cli.text import plain, print_facts, print_json, print_written, text_table, working
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, ORDERS
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.models import Model
from axfi_kc.terminal import is_watched

__all__ = ["add_compile", "add_sizes"]


_VTREES = ("right", "balanced")
_SEARCHES = ("sift", "window", "vtree")
_EXAMPLES = """\
  axfi-kc compile tree.skops data.csv --target label
  axfi-kc compile model.json data.csv --to obdd --code binary --output 1 --save model.dddmp
  axfi-kc compile tree.skops data.csv --to ddnnf --save model.nnf
  axfi-kc compile tree.skops data.csv --picture circuit.png
"""


def add_compile(commands: Any) -> None:
    """Add the command."""
    about = 'compile "the output is this one" into a circuit: size, exact count and probability'
    command = add_command(commands, "compile", _run, about=about, examples=_EXAMPLES)
    add_inputs(command)
    _add_output(command)
    command.add_argument("--to", choices=tuple(TARGETS), default="mdd", help="the language [%(default)s]")
    command.add_argument("--order", choices=ORDERS, default=DEFAULT_ORDER, help="[%(default)s]")
    command.add_argument("--code", choices=CODES, help=f"how values are written in bits, for {_with('code')}")
    command.add_argument("--vtree", choices=_VTREES, help=f"for {_with('vtree')}")
    add_output(command, "--save", kind="circuit", metavar="FILE", help=f"write the circuit: {_savable()}")
    about = "draw a small circuit: .png, .svg, .pdf or .dot"
    add_output(command, "--picture", kind="picture", metavar="FILE", help=about)
    add_json(command)


def _with(option: str) -> str:
    """Return the languages that have an option, in words."""
    return " and ".join(targets_with(option))


def _savable() -> str:
    """Return the suffixes under which circuits are saved, in words; an .nnf can be explained without its model."""
    written = {suffix: known for suffix, found in FORMATS.items() for known in found if known.write is not None}
    return ", ".join(s if known.language is None else f"{s} of an {known.language}" for s, known in written.items())


def _add_output(command: argparse.ArgumentParser, budget: str = "give up after") -> None:
    """Add which output the circuit is about, and what it may take."""
    command.add_argument("--output", help="the output the circuit is about; of two classes, the greater by default")
    about = "regression: outputs this close to --output count, such as 2, 0.5 or 1/4"
    command.add_argument("--delta", type=number, metavar="D", help=about)
    command.add_argument("--seconds", type=float, metavar="S", help=f"{budget} S seconds")


def _output_of(model: Any, domain: Domain, text: str | None, delta: Fraction | float | None) -> Any:
    """Return the output that is meant by a text: classes may be numbers or words."""
    from axfi_kc.compilers.compiled_model import question_about

    readings: list[Any] = [None] if text is None else [text, *_numbers(text)]
    for reading in readings[:-1]:
        with suppress(DomainError, ValueError):
            question_about(model, domain, output=reading, delta=delta)
            return reading
    question_about(model, domain, output=readings[-1], delta=delta)
    return readings[-1]


def _read(inputs: Given, budget: Budget) -> Model:
    from axfi_kc.compilers.readers import read_model

    with preparing(budget):
        return read_model(inputs.model, inputs.domain)


def _numbers(text: str) -> list[int | float]:
    found: list[int | float] = []
    for read in (int, float):
        with suppress(ValueError):
            found.append(read(text))
    return found


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.compilers.compiled_model import compile_model
    from axfi_kc.explanations.space import Space

    with working("reading"):
        inputs = given(options)
    budget = Budget(seconds=options.seconds)
    begin, watch = perf_counter(), Watch(budget)
    with working("compiling"):
        model = _read(inputs, budget)
        output = _output_of(model, inputs.domain, options.output, options.delta)
        chosen = {"code": options.code, "vtree": options.vtree}
        compiled = compile_model(
            model,
            inputs.domain,
            output=output,
            delta=options.delta,
            target=options.to,
            order=options.order,
            budget=watch.rest(),
            **{key: value for key, value in chosen.items() if value is not None},
        )
        facts = _facts(compiled, perf_counter() - begin, watch.rest())
    space = Space.over(inputs.domain)
    wrote = [path for path in (options.save, options.picture) if path is not None]
    if options.save is not None:
        compiled.save(writable(options.save, "circuit", options))
    if options.picture is not None:
        _draw(compiled, writable(options.picture, "picture", options))
    if options.json:
        print_json({**facts, **space.entries, "wrote": [str(path) for path in wrote]}, "compile")
        return
    known = {} if facts["count"] is not None else {"count": "no number: a feature is real"}
    print_facts({**facts, **known, **space.words})
    print_written(wrote)


def _facts(compiled: Any, seconds: float, budget: Budget) -> dict[str, Any]:
    size = compiled.size
    return {
        "language": compiled.language,
        "output": compiled.output,
        "nodes": size.nodes,
        "edges": size.edges,
        "bytes": compiled.bytes,
        "count": None if compiled.domain.size is None else compiled.count(budget=budget),
        "probability": compiled.probability(budget=budget),
        "seconds": round(seconds, 3),
    }


def _draw(compiled: Any, path: Path) -> None:
    from axfi_kc.plots import circuit_dot, plot_circuit
    from axfi_kc.plots.style import save_picture

    if path.suffix == ".dot":
        circuit_dot(compiled, path)
    else:
        save_picture(path, plot_circuit, compiled)


_SIZES_EXAMPLES = """\
  axfi-kc sizes tree.skops data.csv --target label
  axfi-kc sizes model.json data.csv --to mdd obdd --codes order binary --orders influence --picture sizes.png
  axfi-kc sizes model.json data.csv --searches sift window vtree --seeds 0 1 2 --save sizes.csv
"""
_MODEL = "model"
# of columns, for rows that are printed before the next ones are known
_WIDTHS = {"code": 6, "order": 20, "vtree": 8, "nodes": 10, "edges": 10, "bytes": 11, "seconds": 9}
_COLUMNS = ("target", "code", "order", "vtree", "constraints", "nodes", "edges", "bytes", "seconds", "agrees", "note")


def add_sizes(commands: Any) -> None:
    """Add the command."""
    about = "compile a model into several languages and compare the sizes"
    command = add_command(commands, "sizes", _run_sizes, about=about, examples=_SIZES_EXAMPLES)
    add_inputs(command)
    _add_output(command, "give up a row after")
    command.add_argument("--to", nargs="+", action=Listed, choices=tuple(TARGETS), default=list(TARGETS), help="[all]")
    command.add_argument("--codes", nargs="+", action=Listed, choices=CODES, default=["order"], help="[order]")
    command.add_argument("--orders", nargs="+", action=Listed, choices=ORDERS, default=ORDERS, help="[all]")
    command.add_argument(
        "--vtrees", nargs="+", action=Listed, choices=_VTREES, default=_VTREES, help=f"for {_with('vtree')} [all]"
    )
    command.add_argument("--reorder", action="store_true", help="add what sifting and vtree search make of each")
    command.add_argument(
        "--searches", nargs="+", action=Listed, choices=_SEARCHES, default=[], help="add what these make of each"
    )
    command.add_argument(
        "--seeds", nargs="+", action=Listed, type=int, default=[], metavar="N", help="add random orders and vtrees"
    )
    add_output(command, "--save", kind="study", metavar="FILE", help="write the table: .csv, .json or .html")
    add_output(command, "--picture", kind="picture", metavar="FILE", help="draw the sizes: .png, .svg or .pdf")
    add_json(command)


def _run_sizes(options: argparse.Namespace) -> None:
    from axfi_kc.compilers.size_study import size_study
    from axfi_kc.plots import plot_sizes
    from axfi_kc.plots.style import save_picture

    budget = Budget(seconds=60 if options.seconds is None else options.seconds)
    with working("reading"):
        inputs = given(options)
        output = _output_of(_read(inputs, budget), inputs.domain, options.output, options.delta)
    columns = [c for c in _COLUMNS if c != "constraints" or inputs.domain.constraints]
    if not options.json:
        print(*text_table(columns, [], widths=_WIDTHS), sep="\n")
    study = size_study(
        {_MODEL: (inputs.model, inputs.domain)},
        outputs={_MODEL: output},
        delta=options.delta,
        targets=options.to,
        codes=options.codes,
        orders=options.orders,
        vtrees=options.vtrees,
        seeds=options.seeds,
        searches=[*options.searches, *(s for s in ("sift", "vtree") if options.reorder and s not in options.searches)],
        budget=budget,
        progress=options.json and is_watched(),
        on_row=None if options.json else lambda _, row: _print_row(row, columns),
    )
    if options.save is not None:
        study.save(writable(options.save, "study", options))
    frame = study.frame.drop(columns=["model", *([] if options.seeds else ["seed"])])
    rows: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    if options.picture is not None:
        save_picture(writable(options.picture, "picture", options), plot_sizes, rows)
    if options.json:
        print_json({"rows": rows}, "sizes")
        return
    print_written([path for path in (options.save, options.picture) if path is not None])


def _print_row(row: Any, columns: Sequence[str]) -> None:
    """Print a row at once: the next one may take its whole budget."""
    cells = [_cell(round(row.seconds, 3) if c == "seconds" and row.seconds else getattr(row, c)) for c in columns]
    print(text_table(columns, [cells], widths=_WIDTHS)[-1], flush=True)


def _cell(value: Any) -> str:
    return "" if value is None else plain(value)
