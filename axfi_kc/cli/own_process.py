"""Checks against models that only their own library can load, in a process of its own.

The parsers of XGBoost and LightGBM trust their input: a file that is damaged in a place which our own reader has no use
for can end the process, take all memory, or never come back. So the library meets the file in a child, with a limit of
memory and a watch over calls that do not return; the child says what it found as JSON.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from axfi_kc import errors
from axfi_kc.budget import Budget
from axfi_kc.cli.text import as_json
from axfi_kc.domain.measures import shown
from axfi_kc.errors import AxfiError, MissingExtraError, ModelFileError, UnsupportedModelError

__all__ = ["LIBRARIES", "Found", "check_apart", "checked", "reported", "serve"]

LIBRARIES = {"xgboost": "XGBoost", "lightgbm": "LightGBM"}
"""The kinds of files that a library's own parser reads, and the library."""
Found = dict[str, Any]
_SECONDS = 60  # that one call of the library may take, and a second more for each megabyte of the file
_BYTES = 4 << 30  # that the library may take besides what it has when it is imported, and a hundred times the file
_ADVICE = "save the model again, or allow more memory"
_CHILD = "import json, sys; asked = json.loads(sys.argv[1]); sys.path[:] = asked['path']\n" + (
    "from axfi_kc.cli.own_process import serve; serve(asked)"
)


def check_apart(asked: Found) -> list[Found]:
    """Return what :func:`checked` does, done by a child process.

    Raises
    ------
    AxfiError
        What the child raised, or a ModelFileError if it died.
    """
    with tempfile.TemporaryDirectory(prefix="axfi-kc-") as folder:
        answer = Path(folder, "answer.json")
        status = _run({**asked, "answer": str(answer), "path": sys.path})
        if status == 0 and answer.is_file():
            found: Found = json.loads(answer.read_text(encoding="ascii"))
        else:
            found = {"error": "ModelFileError", "message": _fate(asked, status)}
    if "error" in found:
        raise getattr(errors, found["error"], ModelFileError)(found["message"])
    return list(found["reports"])


def _run(asked: Found) -> int:
    """Start the child, wait for it, and return its status; what the library prints is not ours to show."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", _CHILD, json.dumps(asked)]
    return subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, check=False).returncode  # noqa: S603


def _fate(asked: Found, status: int) -> str:
    """Return what became of a child without an answer."""
    library, path = LIBRARIES[asked["kind"]], asked["model"]
    if status < 0:
        how = f"ended the process ({signal.Signals(-status).name})"
    else:
        how = f"ended the process (status {status}), or did not come back within {_seconds(Path(path))} seconds"
    damaged = "the file is damaged, or memory does not suffice"
    return f"{library} should load {path} and predict, but it {how}; {damaged}: {_ADVICE}."


def serve(asked: Found) -> None:
    """Do the work of the child: check, and write what was found to the file that was named."""
    _limit(Path(asked["model"]))
    try:
        found: Found = {"reports": checked(asked)}
    except AxfiError as error:
        found = {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # whatever a library makes of a damaged file
        said = errors.shortened(" ".join(f"{type(error).__name__}: {error}".split()), 200)
        library = LIBRARIES[asked["kind"]]
        message = f"{library} cannot predict with {asked['model']} ({said}); {_ADVICE}."
        found = {"error": "ModelFileError", "message": message}
    Path(asked["answer"]).write_text(json.dumps(as_json(found)), encoding="ascii")
    # What a damaged model did to the memory may show only when the library takes its leave.
    os._exit(0)


def _seconds(path: Path) -> int:
    return _SECONDS + (path.stat().st_size >> 20)


def _limit(path: Path) -> None:
    """Limit what this process may take, and end it if a call into a library does not return; where systems can."""
    if not hasattr(signal, "setitimer"):
        return
    import resource

    seconds = _seconds(path)

    def put_off(*_: object) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=2)

    put_off()
    signal.signal(signal.SIGALRM, put_off)  # which runs each second, while Python code does
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if _has_proc() else 0
    if taken:  # elsewhere nobody says how much was mapped before
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = (taken + _BYTES + 100 * path.stat().st_size, soft, hard)
        resource.setrlimit(resource.RLIMIT_AS, (min(n for n in limits if n != resource.RLIM_INFINITY), hard))


def _has_proc() -> bool:
    return Path("/proc/self/statm").is_file()


def checked(asked: Found) -> list[Found]:
    """Return a report for each explanation in a file, on the model as its own library reads it.

    `asked` has the files ``result`` and ``model``, the ``kind`` of the latter, ``rows``, ``missing`` (a number, or
    None), ``seconds`` and ``points``.
    """
    from axfi_kc.cli.verify import saved_explanations
    from axfi_kc.verification import verify

    model = _model(Path(asked["model"]), asked["kind"], asked["missing"])
    budget = Budget(seconds=asked["seconds"], nodes=asked["points"])
    explanations = saved_explanations(Path(asked["result"]), asked["rows"])
    return [reported(verify(e, model, budget=budget), e.row) for e in explanations]


def reported(report: Any, row: Any) -> Found:
    """Return what the command shows of a report, about the row of that label, if it is one of a file of results."""
    label = {} if row is None else {"row": shown(row)}
    return {
        "text": str(report),
        "document": {**label, **report.to_dict()},
        "failed": len(report.failed),
        **{name: getattr(report, name) for name in ("verdict", "numbers", "doubts")},
    }


def _model(path: Path, kind: str, missing: float | None) -> Any:
    if kind == "lightgbm":
        return _booster(path, kind)
    from axfi_kc.compilers.readers.xgboost_files import objective_kind, parse_xgboost

    file = parse_xgboost(path)
    booster = _booster(path, kind)
    if missing is None:
        return booster if file.best_iteration is None else booster[: file.best_iteration + 1]
    if file.objective == "binary:logitraw":
        raise UnsupportedModelError(
            "With --missing an estimator of XGBoost is asked, and it compares margins of binary:logitraw with 0.5, not "
            "with 0, as explain does for a file; train with binary:logistic."
        )
    library = import_module("xgboost")
    estimator = (library.XGBRegressor if objective_kind(file) == "identity" else library.XGBClassifier)(missing=missing)
    estimator.load_model(path)
    return estimator


def _booster(path: Path, package: str) -> Any:
    """Return the model in a file as its own library reads it."""
    library = LIBRARIES[package]
    try:
        found = import_module(package)
    except ImportError as error:
        raise MissingExtraError.of(package, package, f"Asking a model of {library} to predict") from error
    refusal = found.core.XGBoostError if package == "xgboost" else found.basic.LightGBMError
    try:
        return found.Booster(model_file=path)
    except refusal as error:
        said = errors.shortened(" ".join(str(error).split()), 200)
        raise ModelFileError(f"{library} cannot read {path} ({said}); save the model again.") from error
