"""``axfi-kc`` without arguments: what to do next, with the files of this folder where there are any."""

from __future__ import annotations

from pathlib import Path

from axfi_kc.cli.inputs import file_kind
from axfi_kc.cli.text import plain

__all__ = ["first_steps"]


_TABLES = (".csv", ".parquet", ".pq")
_MODELS = (".skops", ".json", ".ubj", ".txt", ".onnx", ".bif", ".net", ".nnf")
_MOST_FILES = 1000  # of a folder that are looked at
_SAID = """\
axfi-kc explains what a trained model does, in exact numbers.

see it work             axfi-kc demo
{own}
all commands            axfi-kc --help
complete them with TAB  axfi-kc completion bash      (or zsh, fish; it says what to do with it)
"""
_HERE = """\
explain a row of yours  axfi-kc explain {model} {table} --row 0
                        (if {table} also holds the label: --target COLUMN)
as a page               axfi-kc report {model} {table} --row 0 --out report.html
every row, to a file    axfi-kc batch {model} {table} --out results.jsonl"""
_ELSEWHERE = """\
explain your own model  save it:  skops.io.dump(model, "model.skops")     scikit-learn
                                  model.save_model("model.json")          XGBoost
                                  model.booster_.save_model("model.txt")  LightGBM
                        then:     axfi-kc explain model.json data.csv --target label --row 0"""


def first_steps(folder: Path) -> str:
    """Return what to do next in a folder."""
    model, table = _first(folder, _MODELS, is_model=True), _first(folder, _TABLES)
    if model is None or table is None:
        return _SAID.format(own=_ELSEWHERE)
    return _SAID.format(own=_HERE.format(model=_argument(model), table=_argument(table)))


def _first(folder: Path, suffixes: tuple[str, ...], *, is_model: bool = False) -> Path | None:
    """Return the first file with one of the suffixes, as they are listed; None if there is none, or no reading it."""
    try:
        files = [path for path, _ in zip(folder.iterdir(), range(_MOST_FILES), strict=False) if path.is_file()]
        found = sorted((p for p in files if p.suffix in suffixes), key=lambda p: (suffixes.index(p.suffix), p.name))
        return next((p for p in found if not is_model or _is_model(p)), None)
    except OSError:
        return None


def _is_model(path: Path) -> bool:
    """Tell whether a file is a model and not some other JSON or text."""
    if path.suffix == ".json":
        return b'"learner"' in path.read_bytes()[: 1 << 16]
    return file_kind(path) != "pickle"


def _argument(path: Path) -> str:
    """Return a name as one types it in a shell."""
    from shlex import quote

    return quote(plain(path.name))
