"""Arguments that several commands share, and the tables and models in the files they name."""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import lzma
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from axfi_kc.arguments import quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.files import FORMATS, format_of, load_circuit
from axfi_kc.circuits.files.circuit_constraint import CircuitConstraint
from axfi_kc.circuits.targets import CODES
from axfi_kc.cli.outputs import file_path, standard_inputs
from axfi_kc.cli.skops_files import load_skops, most_bytes
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.distribution import read_distribution
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature
from axfi_kc.domain.from_tables import columns_named
from axfi_kc.domain.measures import counted
from axfi_kc.domain.network_files import NETWORK_FORMATS, read_network
from axfi_kc.domain.region import NORMS, UNITS, Region
from axfi_kc.domain.rules import load_rules
from axfi_kc.errors import (
    AxfiError,
    CircuitError,
    DomainError,
    MissingExtraError,
    ModelFileError,
    UnsupportedModelError,
)
from axfi_kc.scores import DEFAULT_SCORES, SCORES
from axfi_kc.scores.interactions import INTERACTIONS

__all__ = [
    "PARQUET",
    "Given",
    "Listed",
    "add_command",
    "add_explainer",
    "add_further",
    "add_inputs",
    "add_interactions",
    "add_json",
    "add_missing",
    "add_on_error",
    "at_least",
    "explainer_of",
    "file_kind",
    "given",
    "lightgbm_text",
    "load_circuit_model",
    "load_model",
    "measure_of",
    "number",
    "read_table",
]


CHOW_LIU = ChowLiu.kind
PARQUET = (".parquet", ".pq")
_HEAD = 1 << 16


class Listed(argparse.Action):
    """Several values, of which more may follow where the option is given once more; none of them is lost."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Add values to those that were given before."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*values] if before is self.default else [*before, *values])


def read_table(path: Path) -> Any:
    """Return a CSV or Parquet file as a DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", f"Reading {path.name}") from error
    if path.suffix in PARQUET:
        return _read_parquet(pd, path)
    _check_no_json(path)
    with _as_csv(path):
        _check_unpacked(path)
        _check_cells(path)
        # "round_trip" rounds decimals once; pandas' own conversions are off by a digit, and crash on a huge exponent
        table = pd.read_csv(path, float_precision="round_trip")
    _check_numbers(path, table)
    return table


@contextmanager
def _as_csv(path: Path) -> Iterator[None]:
    """Let what a file that is no table does to the block be a DomainError."""
    try:
        yield
    except AxfiError:
        raise
    except (OSError, EOFError, ValueError, csv.Error, BadZipFile, lzma.LZMAError, zlib.error) as error:
        raise DomainError(
            f"{path} cannot be read as CSV ({error}); give a comma-separated table with a header."
        ) from error


def _check_cells(path: Path) -> None:
    """Raise unless each row has a cell for each name in the header, and names are distinct.

    pandas takes the first of too many cells for a label, calls too few missing, and gives a name that occurs twice
    another one.
    """
    with _unpacked(path) as packed, TextIOWrapper(packed, encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        rows = (row for row in lines if row and not (len(row) == 1 and row[0].isspace()))  # pandas, too, skips these
        header = next(rows, [])
        twice = next((name for name, n in Counter(header).items() if n > 1 and name), None)
        if twice is not None:
            raise DomainError(f"{path}: each column needs a name of its own, but {twice!r} occurs twice; rename one.")
        odd = next((row for row in rows if len(row) != len(header)), None)
        if odd is not None:
            raise DomainError(
                f"{path}: line {lines.line_num} has {counted(len(odd), 'cell')}, but the header names "
                f"{counted(len(header), 'column')}; give each line a cell for each column."
            )


def _check_no_json(path: Path) -> None:
    """Raise if a file holds JSON, of which each line would be read as a row."""
    if path.suffix not in (".json", ".jsonl", ".ubj") or not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(_HEAD).lstrip()[:1] in (b"{", b"["):
            raise DomainError(f"{path} is JSON and no table; give a comma-separated table with a header, or Parquet.")


def _zipped(path: Path) -> Any:
    """Return the only file in an archive."""
    archive = ZipFile(path)
    names = archive.namelist()
    if len(names) != 1:
        raise BadZipFile(f"{counted(len(names), 'file')} in one archive")
    return archive.open(names[0])


_UNPACKED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zip": _zipped,
}


def _unpacked(path: Path) -> Any:
    """Return a file of bytes to read a table from."""
    return _UNPACKED.get(path.suffix, partial(open, mode="rb"))(path)


def _check_unpacked(path: Path) -> None:
    """Raise if a compressed table unpacks to more than a file of its size should, before pandas holds all of it."""
    if {".tar", ".zst"} & {*path.suffixes[-2:]}:  # which pandas unpacks, too
        raise DomainError(f"{path} should be plain or packed as .gz, .bz2, .xz or .zip, but it is not; unpack it.")
    if path.suffix not in _UNPACKED:
        return
    most, total = most_bytes(path.stat().st_size), 0
    with _unpacked(path) as file:
        while total <= most and (read := len(file.read(1 << 20))):
            total += read
    if total > most:
        raise DomainError(
            f"{path} would unpack to more than {most:,} bytes, which a table of its size should not; unpack it "
            "yourself if you trust it."
        )


def _check_numbers(path: Path, table: Any) -> None:
    """Raise if a column holds numbers only, one of them beyond floats: pandas leaves such a column as text."""
    for name, column in table.items():
        beyond = _beyond(column) if column.dtype.kind == "O" else None
        if beyond is not None:
            raise DomainError(
                f"{path}: column {name!r} should hold numbers that floats can hold, but {beyond} was found; "
                "correct it, or give the column other texts."
            )


def _beyond(values: Iterable[Any]) -> str | None:
    """Return the first value that is a number beyond floats, if all of them are numbers."""
    try:
        return next((quoted(value) for value in [v for v in values if _is_infinite(v)]), None)
    except (ValueError, TypeError):
        return None


def _is_infinite(value: Any) -> bool:
    try:
        return math.isinf(float(value))
    except OverflowError:  # of a whole number
        return True


def _read_parquet(pd: Any, path: Path) -> Any:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", f"Reading {path.name}") from error
    except Exception as error:  # pyarrow's errors have no common base but Exception
        raise DomainError(f"{path} cannot be read as Parquet ({error}); write the table again.") from error


def file_kind(path: Path) -> str:
    """Return what a model file holds: "xgboost", "lightgbm", "onnx", "skops", "network", "circuit" or "pickle".

    Suffixes say so, except that ``.json`` may be XGBoost's or a circuit's.
    """
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}; give the path of a saved model.")
    circuits = FORMATS.get(path.suffix, ())
    if any(not known.marks for known in circuits):
        return "circuit"
    if path.suffix == ".ubj":
        return "xgboost"
    if path.suffix in (".skops", ".onnx"):
        return path.suffix[1:]
    if path.suffix in NETWORK_FORMATS:
        return "network"
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if b'"learner"' not in head and any(mark in head for known in circuits for mark in known.marks):
        return "circuit"
    if path.suffix == ".json":
        return "xgboost"
    return "lightgbm" if head.startswith((b"tree\n", b"tree\r\n")) else "pickle"


def load_circuit_model(path: Path, domain: Callable[[], Domain], *, code: str | None = None) -> Any:
    """Return a circuit from a file as a model with outputs 0 and 1.

    Where the file does not say it itself, `domain` makes the domain, and `code` is how values are written in bits.
    """
    from axfi_kc.models.circuit_model import CircuitModel

    return CircuitModel.of(_circuit(path, domain, code), outputs=(0, 1))


def _circuit(path: Path, domain: Callable[[], Domain], code: str | None) -> Any:
    with suppress(CircuitError):  # a file that may say what its variables mean need not
        if format_of(path).describes:
            return load_circuit(path, code=code)
    return load_circuit(path, domain(), code=code)


def load_model(path: Path, domain: Domain, *, allow_pickle: bool, missing: float = math.nan) -> Any:
    """Return the model in a file; a pickle must be allowed, and `missing` is what XGBoost's files do not hold."""
    kind = file_kind(path)
    if kind == "xgboost":
        from axfi_kc.compilers import read_xgboost

        return read_xgboost(path, domain, missing=missing)
    if kind == "lightgbm":
        from axfi_kc.compilers.readers.lightgbm_files import read_lightgbm

        return read_lightgbm(lightgbm_text(path), domain)
    if kind == "onnx":
        from axfi_kc.compilers import read_onnx

        return read_onnx(path, domain)
    if kind == "network":
        return read_network(path)
    return _library_model(path, kind, allow_pickle=allow_pickle)


def _library_model(path: Path, kind: str, *, allow_pickle: bool) -> Any:
    """Return a model that a library saved as an object, in a skops file or a pickle."""
    if kind == "skops":
        return load_skops(path)
    if not allow_pickle:
        raise UnsupportedModelError(
            f"{path} is no XGBoost, LightGBM, ONNX, skops or circuit file, and a pickle can run any code when it is "
            "loaded; save the model with skops, or add --allow-pickle if you trust the file's maker."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle may raise anything at all
        raise ModelFileError(f"{path} cannot be loaded as a pickled model ({error}); check the file.") from error


def lightgbm_text(path: Path) -> str:
    """Return the text of a LightGBM model for our own parser: the library's ends the process on a damaged one."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{path} is no text of LightGBM ({error}); save the model again.") from error


_MODEL = (
    "a model: XGBoost .json or .ubj, LightGBM .txt, scikit-learn .skops, a network .bif or .net, a circuit ({}), or a "
    "pickle"
)
_TABLE = (
    "a table with the model's columns, CSV or Parquet, or - for CSV on standard input; unless --domain is given, it "
    "also gives the bounds"
)
_MISSING = "the number that an XGBoost model takes for missing, as given to it in training; its files do not hold it"
_PICKLE = "load a pickled model. A pickle runs whatever code its maker put in; load only files you trust"


@dataclass(frozen=True, slots=True)
class Given:
    """A model, its domain and the rows to look at, as the arguments say."""

    model: Any
    domain: Domain
    data: Any

    def row(self, number: int, path: Path) -> Any:
        """Return one row of the data, as a table."""
        if not 0 <= number < len(self.data):
            raise DomainError(
                f"{path} has rows 0 to {len(self.data) - 1}, but row {number} was asked for; choose one of them."
            )
        return self.data.iloc[[number]]

    def rows(self, number: int | None) -> Any:
        """Return the first rows of the data, or all."""
        return self.data if number is None else self.data.iloc[:number]


def add_command(commands: Any, name: str, run: Any, *, about: str, examples: str) -> argparse.ArgumentParser:
    """Add a command with its help and examples, and return its parser."""
    command = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run, command=name, default_of=command.get_default)
    return command


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number of an argument, from `least` on."""

    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if found < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least} on, but {text[:40]!r} was given")
        return found

    return number


def add_missing(command: argparse.ArgumentParser) -> None:
    """Add ``--missing``."""
    command.add_argument("--missing", type=float, default=math.nan, metavar="NUMBER", help=_MISSING)


def add_json(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print JSON; exact fractions are strings such as '1/3'")


def add_inputs(command: argparse.ArgumentParser, *, or_results: bool = False) -> None:
    """Add the model, the table, and how the table becomes a domain; or results in a file instead of both."""
    model = _MODEL.format(", ".join(FORMATS))
    command.add_argument("model", type=file_path, help=f"{model}; or results that batch wrote" if or_results else model)
    command.add_argument("data", type=file_path, nargs="?" if or_results else None, help=_TABLE)
    standard_inputs(command, "data")
    command.add_argument("--allow-pickle", action="store_true", help=_PICKLE)
    add_missing(command)
    command.add_argument(
        "--bits",
        choices=CODES,
        help="how a circuit file writes values in bits; an .nnf of ours says so",
    )
    group = command.add_argument_group("domain", "explanations are about all points of it")
    group.add_argument("--target", metavar="COLUMN", help="a column of the data that is not a feature")
    group.add_argument(
        "--domain", type=file_path, metavar="TABLE", help="take bounds and values from this table instead"
    )
    group.add_argument(
        "--categorical", nargs="+", action=Listed, default=[], metavar="COLUMN", help="columns without an order"
    )
    group.add_argument(
        "--integer", nargs="+", action=Listed, default=[], metavar="COLUMN", help="columns of whole numbers"
    )
    group.add_argument("--real", nargs="+", action=Listed, default=[], metavar="COLUMN", help="columns of real numbers")
    group.add_argument(
        "--bounds", nargs="+", action=Listed, default=[], metavar="COLUMN=LOW:HIGH", help="e.g. age=18:90"
    )
    group.add_argument(
        "--one-hot", nargs="+", action=Listed, default=[], metavar="NAME=COLUMN,COLUMN", help="columns of one feature"
    )
    group.add_argument(
        "--where",
        nargs="+",
        action=Listed,
        default=[],
        metavar="CONSTRAINT",
        help="e.g. \"age >= 18 or married == 'no'\"",
    )
    group.add_argument(
        "--rules",
        nargs="+",
        action=Listed,
        default=[],
        type=file_path,
        metavar="FILE",
        help="constraints: what rules --out wrote, or a circuit",
    )
    group.add_argument("--measures", choices=["uniform", "empirical"], default="uniform", help="[%(default)s]")
    group.add_argument(
        "--distribution",
        type=_distribution_text,
        metavar=f"{CHOW_LIU}|FILE",
        help=f"a joint distribution: {CHOW_LIU}, a tree learnt from the table; a network .bif or .net, a .psdd, or a "
        ".json that save() wrote",
    )
    group.add_argument(
        "--smoothing", default="1", metavar="A", help=f"added to every count of {CHOW_LIU}, such as 1/2 [%(default)s]"
    )


def _distribution_text(text: str) -> str:
    return str(file_path(text))  # the word is no path, and stays what it is


def add_explainer(command: argparse.ArgumentParser) -> None:
    """Add what an explainer may be told, and which scores to show."""
    group = command.add_argument_group("explanations")
    about = "regression: outputs this close count as similar, such as 2, 0.5 or 1/4"
    group.add_argument("--delta", type=number, metavar="D", help=about)
    group.add_argument("--toward", metavar="CLASS", help="why not this class: CXps are what can lead to it")
    group.add_argument("--weights", choices=["ratio", "count", "unit"], default="ratio", help="[%(default)s]")
    group.add_argument("--max-size", type=int, metavar="K", help="only CXps of at most K features")
    group.add_argument(
        "--score",
        nargs="+",
        action=Listed,
        choices=tuple(SCORES),
        default=DEFAULT_SCORES,
        metavar="NAME",
        help=f"what to score features by, sorted by the first: {', '.join(SCORES)} [{' '.join(DEFAULT_SCORES)}]",
    )
    group.add_argument("--seconds", type=float, metavar="S", help="how long to search for the CXps of a row")
    group.add_argument("--threads", type=int, default=1, metavar="N", help="how many work on one row [%(default)s]")
    group.add_argument(
        "--on-budget",
        choices=["radius", "raise"],
        default="radius",
        help="after these seconds: explain up to the number of features that is complete, or fail [%(default)s]",
    )
    group.add_argument(
        "--on-interrupt",
        choices=["radius", "raise"],
        default="raise",
        help="at Ctrl-C: end as after these seconds, or at once [%(default)s]",
    )
    group.add_argument(
        "--class-names",
        nargs="+",
        action=Listed,
        metavar="NAME",
        help="how to call the classes: a name each, in the order of their labels, or LABEL=NAME",
    )
    add_region(command)


def add_interactions(command: argparse.ArgumentParser) -> None:
    """Add which interactions of two features to show."""
    command.add_argument(
        "--interactions",
        nargs="+",
        action=Listed,
        choices=tuple(INTERACTIONS),
        default=(),
        metavar="NAME",
        help=f"show what two features contribute together as well: {', '.join(INTERACTIONS)}",
    )
    add_further(command)


def add_further(command: argparse.ArgumentParser) -> None:
    """Add what else may be asked of an explanation."""
    command.add_argument(
        "--min-precision",
        type=_probability,
        metavar="P",
        help="show features that keep the output with this probability as well, such as 0.9",
    )
    command.add_argument(
        "--inflate", action="store_true", help="show the ranges and sets of values that keep the output as well"
    )


def _probability(text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0 and at most 1, but {text[:40]!r} was given")
    return found


def number(text: str) -> Fraction | float:
    """Return a number of an argument as it would be in Python: a whole one, a float, or a fraction, which is exact."""
    try:
        if "/" in text:
            return Fraction(text)
        return int(text) if text.strip().lstrip("+-").isdecimal() else float(text)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(
            f"expected a number such as 1, 0.5 or 1/2, but {text[:40]!r} was given"
        ) from None


_UNIT = (
    "what R is measured in: value, each feature's own unit; range, the width of its domain; std, the standard "
    "deviation of its measure, which is that of the data only with --measures empirical [value]"
)


def add_region(command: argparse.ArgumentParser) -> None:
    """Add how far one may go from an instance."""
    group = command.add_argument_group("region", "how far one may go from a row; anywhere, unless said")
    group.add_argument(
        "--frozen", nargs="+", action=Listed, default=[], metavar="FEATURE", help="features that keep their value"
    )
    group.add_argument(
        "--only-up", nargs="+", action=Listed, default=[], metavar="FEATURE", help="features that may only grow"
    )
    group.add_argument(
        "--only-down", nargs="+", action=Listed, default=[], metavar="FEATURE", help="features that may only fall"
    )
    about = "where a feature may go: from LOW to HIGH, of which one may be left out (18:), or to some categories"
    group.add_argument(
        "--range", nargs="+", action=Listed, default=[], metavar="FEATURE=LOW:HIGH|FEATURE=A,B", help=about
    )
    group.add_argument("--radius", type=number, metavar="R", help="no further than this, such as 2, 0.5 or 1/3")
    group.add_argument("--norm", choices=NORMS, default="linf", help="each feature, or all together [%(default)s]")
    group.add_argument("--unit", choices=UNITS, help=_UNIT)
    about = "what the distance of a feature is multiplied by; 0: it may go anywhere [1]"
    group.add_argument("--distance-weight", nargs="+", action=Listed, default=[], metavar="FEATURE=WEIGHT", help=about)


def add_on_error(command: argparse.ArgumentParser) -> None:
    """Add what to do about a row that cannot be explained."""
    command.add_argument(
        "--on-error",
        choices=["raise", "skip"],
        default="raise",
        help="a row outside the domain or the region, of a wrong type, that cannot exist or within rounding of a tie: "
        "stop, or skip it [%(default)s]",
    )


def given(options: argparse.Namespace) -> Given:
    """Return what :func:`add_inputs` asked for."""
    data = _features(read_table(options.data), options.data, options.target)
    source = data if options.domain is None else _features(read_table(options.domain), options.domain, options.target)
    if file_kind(options.model) == "circuit":
        made: list[Domain] = []

        def domain_of_table() -> Domain:
            made.append(_domain(source, options))
            return made[0]

        model = load_circuit_model(options.model, domain_of_table, code=options.bits)
        if not made:
            _check_described(options)
        return Given(model, _distributed(_constrained(model.domain, options), source, options), data)
    names = _model_columns(options.model, allow_pickle=options.allow_pickle)
    if names is not None:
        data, source = columns_named(data, names), columns_named(source, names)
    domain = _distributed(_constrained(_domain(source, options), options), source, options)
    model = load_model(options.model, domain, allow_pickle=options.allow_pickle, missing=options.missing)
    return Given(model, domain, data)


def _check_described(options: argparse.Namespace) -> None:
    """Raise if something was said about the features of a circuit that describes them itself."""
    # A table may still be what a distribution is learnt from.
    of_domain = [*_OF_DOMAIN, *(["domain"] if options.distribution != CHOW_LIU else [])]
    told = [dest for dest in of_domain if getattr(options, dest) != options.default_of(dest)]
    if told:
        raise DomainError(
            f"{options.model} says itself what its features are, which --{told[0].replace('_', '-')} cannot change; "
            "leave it out."
        )


_OF_DOMAIN = ("categorical", "integer", "real", "bounds", "one_hot", "measures")


def _model_columns(path: Path, *, allow_pickle: bool) -> tuple[str, ...] | None:
    """Return the columns that the model in a file was trained on; None where the file does not say."""
    from axfi_kc.models.own_predict import column_names, import_readers, named_columns

    kind = file_kind(path)
    if kind == "xgboost":
        from axfi_kc.compilers.readers.xgboost_files import parse_xgboost

        return parse_xgboost(path).names or None
    if kind == "lightgbm":
        from axfi_kc.compilers.readers.lightgbm_files import parse_lightgbm

        return named_columns(parse_lightgbm(lightgbm_text(path)).names)
    if kind in ("onnx", "network"):
        return None  # inputs of the one have names, but seldom a column each; the other predicts any variable
    model = _library_model(path, kind, allow_pickle=allow_pickle)
    import_readers(model)
    return column_names(model)


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


def _constrained(domain: Domain, options: argparse.Namespace) -> Domain:
    """Return the domain with the constraints that were given as text, or in a file of rules or a circuit."""
    rules = [*options.where, *(_rules_in(path, domain) for path in options.rules)]
    return domain.where(*rules) if rules else domain


def _rules_in(path: Path, domain: Domain) -> Any:
    """Return the constraints in a file: rules, or a circuit over features of the domain."""
    if path.suffix == ".json":
        return load_rules(path)
    if path.suffix not in FORMATS:
        raise DomainError(
            f"--rules takes rules in JSON, or a circuit ({', '.join(s for s in FORMATS if s != '.json')}), but "
            f"{path.name} is neither; rules of a table are mined with axfi-kc rules {path.name} --out rules.json."
        )
    what = "clauses" if path.suffix == ".cnf" else "circuit"
    return CircuitConstraint(_circuit(path, lambda: domain.unconstrained, None), f"the {what} of {path.name}")


def _distributed(domain: Domain, table: Any, options: argparse.Namespace) -> Domain:
    """Return the domain with the joint distribution that was asked for: learnt from the table, or in a file."""
    asked = options.distribution
    if asked is None:
        return domain
    if asked != CHOW_LIU:
        return domain.with_distribution(_distribution_in(Path(asked), domain, options.bits))
    try:
        smoothing = Fraction(options.smoothing)
    except (ValueError, ZeroDivisionError):
        raise DomainError(
            f"--smoothing takes a number such as 1, 0.5 or 1/2, but {options.smoothing!r} was given."
        ) from None
    return domain.with_distribution(ChowLiu.fit(table, domain, smoothing=smoothing))


def _distribution_in(path: Path, domain: Domain, code: str | None) -> Any:
    """Return the distribution in a file: a network, a PSDD beside its vtree, or what ``save`` wrote."""
    if path.suffix in NETWORK_FORMATS:
        return read_network(path)
    if path.suffix == ".psdd":
        from axfi_kc.circuits.files.psdd import read_psdd

        return read_psdd(path, domain, code=code or "direct")
    return read_distribution(path)


def _region(options: argparse.Namespace, domain: Domain) -> Region | None:
    """Return how far one may go from an instance; None if nothing was said."""
    asked: dict[str, Any] = {"frozen": options.frozen, "only_up": options.only_up, "only_down": options.only_down}
    asked["ranges"] = _ranges(options.range, domain)
    if options.radius is None:
        return Region(**asked) if any(asked.values()) else None
    measured = {name: value for name, value in measure_of(options, domain).items() if value is not None}
    return Region(**asked, radius=options.radius, **measured)


def measure_of(options: argparse.Namespace, domain: Domain) -> dict[str, Any]:
    """Return how distances are measured, as a region takes it; None for a unit that was not said."""
    told = _by_feature(options.distance_weight, domain, _WEIGHT)
    weights = {name: _number_in(text, f"{name}={text}", _WEIGHT) for name, text in told.items()}
    return {"norm": options.norm, "unit": options.unit, "weights": weights}


_WEIGHT = "--distance-weight takes FEATURE=WEIGHT, such as age=2"
_RANGE = "--range takes FEATURE=LOW:HIGH or FEATURE=A,B, such as age=18:65, age=18: or job=clerk,cook"


def _ranges(texts: Sequence[str], domain: Domain) -> dict[str, Sequence[Any]]:
    """Return where features may go; an end that is left out is the domain's."""
    told = _by_feature(texts, domain, _RANGE)
    return {name: _range(domain.features[domain.index(name)], text) for name, text in told.items()}


def _range(feature: Feature, text: str) -> Sequence[Any]:
    if isinstance(feature, Categorical):
        known = {str(value): value for value in feature.values}
        return [known.get(value, value) for value in text.split(",")]
    low, colon, high = text.partition(":")
    if not colon or not (low or high):
        raise DomainError(f"{_RANGE}, but {f'{feature.name}={text}'!r} was given.")
    ends = ((low, feature.low), (high, feature.high))
    return [_number_in(said, f"{feature.name}={text}", _RANGE) if said else end for said, end in ends]


def _by_feature(texts: Sequence[str], domain: Domain, about: str) -> dict[str, str]:
    """Return what arguments say of features; names, and what is said of them, may have a "=" in them."""
    found: dict[str, str] = {}
    for text in texts:
        first, equals, _ = text.partition("=")
        if not equals:
            raise DomainError(f"{about}, but {text!r} was given.")
        name = max((n for n in domain.names if text.startswith(f"{n}=")), key=len, default=first)
        domain.index(name)  # or an error that says which there are
        if name in found:
            raise DomainError(f"{about}, once of each, but {name!r} was given twice; leave one out.")
        found[name] = text[len(name) + 1 :]
    return found


def _number_in(said: str, text: str, about: str) -> Fraction | float:
    try:
        return number(said)
    except argparse.ArgumentTypeError:
        raise DomainError(f"{about}, but {text!r} was given.") from None


_BOUNDS = "--bounds takes COLUMN=LOW:HIGH, such as age=18:90"


def _bounds(text: str) -> tuple[str, tuple[Fraction | float, Fraction | float]]:
    column, _, limits = text.rpartition("=")
    low, _, high = limits.partition(":")
    return column, (_number_in(low, text, _BOUNDS), _number_in(high, text, _BOUNDS))


def _one_hot(text: str) -> tuple[str, list[str]]:
    name, equals, columns = text.partition("=")
    if not equals or not columns:
        raise DomainError(f"--one-hot takes NAME=COLUMN,COLUMN, such as race=race_a,race_b, but {text!r} was given.")
    return name, columns.split(",")


def explainer_of(inputs: Given, options: argparse.Namespace) -> Any:
    """Return the explainer that the options ask for."""
    from axfi_kc.explanations.explainer import Explainer

    names = _class_names(inputs, options.class_names)
    return Explainer(
        inputs.model,
        inputs.domain,
        delta=options.delta,
        weights=options.weights,
        max_size=options.max_size,
        budget=Budget(seconds=options.seconds, threads=options.threads),
        class_names=names,
        within=_region(options, inputs.domain),
        on_budget=options.on_budget,
        on_interrupt=options.on_interrupt,
        toward=_class_asked(inputs, options.toward, names),
    )


def _class_asked(inputs: Given, text: str | None, names: Any) -> Any:
    """Return the label that a text stands for; a text that is none of them may be a class's name."""
    if text is None:
        return None
    from axfi_kc.compilers import read_model
    from axfi_kc.explanations.answers import named_classes, one_class

    model = read_model(inputs.model, inputs.domain)
    named = named_classes(names, model)
    # Texts of labels, which are a number for the explainer, may be names of other classes here.
    return next((one_class(text, label, named) for label in model.labels if str(label) == text), text)


def _class_names(inputs: Given, texts: list[str] | None) -> Any:
    """Return names of classes as the explainer takes them: in the labels' order, or by label."""
    if texts is None or not all("=" in text for text in texts):
        return texts
    from axfi_kc.compilers import read_model

    labels = {str(label): label for label in read_model(inputs.model, inputs.domain).labels}
    pairs = [text.split("=", 1) for text in texts]
    return {labels.get(label, label): name for label, name in pairs}
