"""``axfi-kc verify``: saved explanations against the model they are about."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from axfi_kc.budget import Budget
from axfi_kc.cli.inputs import add_command, add_json, add_missing, at_least, file_kind, load_circuit_model, load_model
from axfi_kc.cli.outputs import file_path
from axfi_kc.cli.text import print_json, working
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import MissingExtraError, ModelFileError, ResultFileError, UnsupportedModelError, VerificationError

__all__ = ["add_verify"]


_EXAMPLES = """\
  axfi-kc explain model.json data.csv --row 3 --json > result.json
  axfi-kc verify result.json model.json
  axfi-kc verify results.jsonl model.json --rows 20
  axfi-kc verify result.json circuit.nnf --seconds 60 --json
"""


def add_verify(commands: Any) -> None:
    """Add the command."""
    about = "check saved explanations against the model itself; exit status 1 if something does not hold"
    command = add_command(commands, "verify", _run, about=about, examples=_EXAMPLES)
    command.add_argument(
        "result", type=file_path, help="the JSON of one explanation, or the .jsonl or .parquet of a batch"
    )
    command.add_argument("model", type=file_path, help="the model that was explained, as for explain")
    command.add_argument("--allow-pickle", action="store_true", help="load a pickled model; it may run any code")
    add_missing(command)
    command.add_argument("--rows", type=at_least(1), metavar="N", help="of a batch, only the first N rows")
    command.add_argument("--seconds", type=float, metavar="S", help="what S seconds do not suffice for is sampled")
    command.add_argument("--points", type=int, metavar="N", help="points and steps per check [20000, 100000]")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.verification import verify

    budget = Budget(seconds=options.seconds, nodes=options.points)
    with working("reading"):
        explanations = _explanations(options.result, options.rows)
        model = _model(options, explanations[0].whole or explanations[0].domain)
    with working("checking"):
        reports = [verify(explanation, model, budget=budget) for explanation in explanations]
    if options.json:
        print_json({"reports": [report.to_dict() for report in reports]}, "verify")
    else:
        print(*reports, sep="\n")
    wrong = [k for k, report in enumerate(reports) if not report.ok]
    if wrong:
        raise VerificationError(
            f"Every check should hold, but {len(reports[wrong[0]].failed)} failed in explanation {wrong[0]} "
            f"({len(wrong)} of {len(reports)} explanations); do not rely on {options.result}."
        )


def _explanations(path: Path, rows: int | None) -> list[Any]:
    """Return what a file of results holds."""
    from axfi_kc.explanations.batch import read_results
    from axfi_kc.explanations.files.stores import SUFFIXES
    from axfi_kc.explanations.tables import SavedExplanation

    if not path.exists():
        raise ResultFileError(f"There is no file of results {path}; give the path of a saved explanation.")
    if path.suffix in SUFFIXES:
        found = list(islice(read_results(path), rows))
    else:
        found = [SavedExplanation.from_json(path.read_bytes())]
    if not found:
        raise ResultFileError(f"{path} holds no explanation to check; explain some rows first.")
    return found


def _model(options: argparse.Namespace, domain: Domain) -> Any:
    """Return the model itself: a file of XGBoost or LightGBM as a booster, so that its own predict is asked."""
    kind = file_kind(options.model)
    if kind == "circuit":
        return load_circuit_model(options.model, lambda: domain)
    if kind == "xgboost":
        return _xgboost(options.model, options.missing)
    read = load_model(options.model, domain, allow_pickle=options.allow_pickle, missing=options.missing)
    # LightGBM's parser trusts its input too, so our own has taken the text before.
    return _booster(options.model, "lightgbm", "LightGBM") if kind == "lightgbm" else read


def _xgboost(path: Path, missing: float) -> Any:
    """Return the model in a file as XGBoost predicts with it: an estimator where a number counts as missing."""
    from axfi_kc.compilers.readers.xgboost_files import objective_kind, parse_xgboost

    file = parse_xgboost(path)  # our checks come first: XGBoost's parser trusts its input
    booster = _booster(path, "xgboost", "XGBoost")
    if math.isnan(missing):
        return booster if file.best_iteration is None else booster[: file.best_iteration + 1]
    if file.objective == "binary:logitraw":
        raise UnsupportedModelError(
            "With --missing an estimator of XGBoost is asked, and it compares margins of binary:logitraw with 0.5, not "
            "with 0, as explain does for a file; train with binary:logistic."
        )
    library = import_module("xgboost")
    kind = library.XGBRegressor if objective_kind(file) == "identity" else library.XGBClassifier
    estimator = kind(missing=missing)
    estimator.load_model(path)
    return estimator


def _booster(path: Path, package: str, library: str) -> Any:
    """Return the model in a file as its own library reads it."""
    try:
        found = import_module(package)
    except ImportError as error:
        raise MissingExtraError.of(package, package, f"Asking a model of {library} to predict") from error
    refusal = found.core.XGBoostError if package == "xgboost" else found.basic.LightGBMError
    try:
        return found.Booster(model_file=path)
    except refusal as error:
        raise ModelFileError(f"{library} cannot read {path} ({error}); save the model again.") from error
