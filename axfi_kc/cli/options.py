"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.circuits.files import FORMATS
from axfi_kc.circuits.targets import CODES
from axfi_kc.cli.inputs import is_circuit_file, load_circuit_model, load_model, read_table
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.scores import DEFAULT_SCORES, SCORES

__all__ = ["Given", "add_command", "add_explainer", "add_inputs", "add_json", "explainer_of", "given"]


_MODEL = "a model: XGBoost .json or .ubj, LightGBM .txt, scikit-learn .skops, a circuit ({}), or a pickle"
_TABLE = "a table with the model's columns, CSV or Parquet; unless --domain is given, it also gives the bounds"
_PICKLE = "load a pickled model. A pickle runs whatever code its maker put in; load only files you trust"


@dataclass(frozen=True, slots=True)
class Given:
    """A model, its domain and the rows to look at, as the arguments say."""

    model: Any
    domain: Domain
    data: Any

    def row(self, number: int, path: Path) -> Any:
        """Return one row of the data, as a table.

        Raises
        ------
        DomainError
            If there is no such row.
        """
        if not 0 <= number < len(self.data):
            raise DomainError(
                f"{path} has rows 0 to {len(self.data) - 1}, but row {number} was asked for; choose one of them."
            )
        return self.data.iloc[[number]]


def add_command(commands: Any, name: str, run: Any, *, about: str, examples: str) -> argparse.ArgumentParser:
    """Add a command with its help and examples, and return its parser."""
    command = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def add_json(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print JSON; exact fractions are strings such as '1/3'")


def add_inputs(command: argparse.ArgumentParser, *, or_results: bool = False) -> None:
    """Add the model, the table, and how the table becomes a domain; or results in a file instead of both."""
    model = _MODEL.format(", ".join(FORMATS))
    command.add_argument("model", type=Path, help=f"{model}; or results that batch wrote" if or_results else model)
    command.add_argument("data", type=Path, nargs="?" if or_results else None, help=_TABLE)
    command.add_argument("--allow-pickle", action="store_true", help=_PICKLE)
    command.add_argument(
        "--bits",
        choices=CODES,
        help="how a circuit file writes values in bits; an .nnf of ours says so",
    )
    group = command.add_argument_group("domain", "explanations are about all points of it")
    group.add_argument("--target", metavar="COLUMN", help="a column of the data that is not a feature")
    group.add_argument("--domain", type=Path, metavar="TABLE", help="take bounds and values from this table instead")
    group.add_argument("--categorical", nargs="+", default=[], metavar="COLUMN", help="columns without an order")
    group.add_argument("--integer", nargs="+", default=[], metavar="COLUMN", help="columns of whole numbers")
    group.add_argument("--real", nargs="+", default=[], metavar="COLUMN", help="columns of real numbers")
    group.add_argument("--bounds", nargs="+", default=[], metavar="COLUMN=LOW:HIGH", help="e.g. age=18:90")
    group.add_argument("--one-hot", nargs="+", default=[], metavar="NAME=COLUMN,COLUMN", help="columns of one feature")
    group.add_argument("--measures", choices=["uniform", "empirical"], default="uniform", help="[%(default)s]")


def add_explainer(command: argparse.ArgumentParser) -> None:
    """Add what an explainer may be told, and which scores to show."""
    group = command.add_argument_group("explanations")
    group.add_argument("--delta", type=float, help="regression: outputs this close count as similar")
    group.add_argument("--weights", choices=["ratio", "count", "unit"], default="ratio", help="[%(default)s]")
    group.add_argument("--max-size", type=int, metavar="K", help="only CXps of at most K features")
    group.add_argument(
        "--score",
        nargs="+",
        choices=tuple(SCORES),
        default=DEFAULT_SCORES,
        metavar="NAME",
        help=f"what to score features by, sorted by the first: {', '.join(SCORES)} [{' '.join(DEFAULT_SCORES)}]",
    )
    group.add_argument("--seconds", type=float, metavar="S", help="stop with what is certain after S seconds per row")


def given(options: argparse.Namespace) -> Given:
    """Return what :func:`add_inputs` asked for.

    Raises
    ------
    AxfiError
        If a file cannot be read, or the options do not fit it.
    """
    data = _features(read_table(options.data), options.data, options.target)
    source = data if options.domain is None else _features(read_table(options.domain), options.domain, options.target)
    if is_circuit_file(options.model):
        model = load_circuit_model(options.model, lambda: _domain(source, options), code=options.bits)
        return Given(model, model.domain, data)
    domain = _domain(source, options)
    return Given(load_model(options.model, domain, allow_pickle=options.allow_pickle), domain, data)


def _features(table: Any, path: Path, target: str | None) -> Any:
    if target is None:
        return table
    if target not in table.columns:
        raise DomainError(f"{path} has no column {target!r}; --target must name one of its columns.")
    return table.drop(columns=target)


def _domain(table: Any, options: argparse.Namespace) -> Domain:
    return Domain.from_data(
        table,
        categorical=options.categorical,
        integer=options.integer,
        real=options.real,
        bounds=dict(_bounds(text) for text in options.bounds),
        one_hot=dict(_one_hot(text) for text in options.one_hot),
        measures=options.measures,
    )


def _bounds(text: str) -> tuple[str, tuple[float, float]]:
    column, _, limits = text.rpartition("=")
    low, _, high = limits.partition(":")
    try:
        return column, (float(low), float(high))
    except ValueError:
        raise DomainError(f"--bounds takes COLUMN=LOW:HIGH, such as age=18:90, but {text!r} was given.") from None


def _one_hot(text: str) -> tuple[str, list[str]]:
    name, equals, columns = text.partition("=")
    if not equals or not columns:
        raise DomainError(f"--one-hot takes NAME=COLUMN,COLUMN, such as race=race_a,race_b, but {text!r} was given.")
    return name, columns.split(",")


def explainer_of(inputs: Given, options: argparse.Namespace) -> Any:
    """Return the explainer that the options ask for."""
    from axfi_kc.explanations.explainer import Explainer

    return Explainer(
        inputs.model,
        inputs.domain,
        delta=options.delta,
        weights=options.weights,
        max_size=options.max_size,
        budget=None if options.seconds is None else Budget(seconds=options.seconds),
    )
