"""``axfi-kc info``: what is installed, and what a model file holds."""

from __future__ import annotations

import argparse
import os
import platform
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from axfi_kc._version import __version__
from axfi_kc.circuits.files import load_circuit
from axfi_kc.cli.inputs import PARQUET, add_command, add_json, file_kind, lightgbm_text, read_table
from axfi_kc.cli.outputs import file_path
from axfi_kc.cli.skops_files import load_skops
from axfi_kc.cli.text import print_facts, print_json, text_table
from axfi_kc.errors import CircuitError
from axfi_kc.explanations.files.stores import SUFFIXES

__all__ = ["add_info"]


_EXAMPLES = """\
  axfi-kc info
  axfi-kc info model.json
  axfi-kc info circuit.nnf --json
  axfi-kc info results.jsonl
"""
# what each package is for
_PACKAGES = {
    "numpy": "needed",
    "numba": "needed: kernels",
    "networkx": "needed: the forest",
    "joblib": "needed: workers",
    "dd": "binary decision diagrams",
    "PySDD": "sentential decision diagrams",
    "pandas": "tables; axfi-kc[frames]",
    "pyarrow": "Parquet; axfi-kc[parquet]",
    "matplotlib": "pictures; axfi-kc[plots]",
    "scikit-learn": "models; axfi-kc[sklearn]",
    "skops": "models in files; axfi-kc[sklearn]",
    "xgboost": "models in memory; axfi-kc[xgboost]",
    "lightgbm": "models; axfi-kc[lightgbm]",
    "catboost": "models; axfi-kc[catboost]",
    "interpret-core": "models; axfi-kc[ebm]",
    "onnx": "models in files; axfi-kc[onnx]",
    "pgmpy": "networks; axfi-kc[pgmpy]",
    "pyagrum": "networks; axfi-kc[pyagrum]",
    "Orange3": "models; axfi-kc[orange]",
    "problog": "the compiler dsharp; axfi-kc[dsharp]",
}
_MOST_RULES = 10  # that are shown
_OTHER_NAMES = {"PySDD": "pysdd", "xgboost": "xgboost-cpu"}  # of distributions


def add_info(commands: Any) -> None:
    """Add the command."""
    about = "say what is installed, and what a file holds"
    command = add_command(commands, "info", _run, about=about, examples=_EXAMPLES)
    command.add_argument("model", type=file_path, nargs="?", help="a model, results, rules, or a table")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    if options.model is not None:
        found = model_facts(options.model)
        if options.json:
            print_json(found, "model")
        else:
            print_facts(found)
        return
    system = {
        "axfi-kc": __version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "CUDD (fast binary diagrams)": find_spec("dd") is not None and find_spec("dd.cudd") is not None,
    }
    packages = {name: _version(name) for name in _PACKAGES}
    if options.json:
        print_json({**system, "packages": packages}, "info")
        return
    print_facts(system)
    rows = [(name, found or "not installed", _PACKAGES[name]) for name, found in packages.items()]
    print("", *text_table(("package", "version", "for"), rows), sep="\n")


def _version(name: str) -> str | None:
    for known in (name, _OTHER_NAMES.get(name, name)):
        with suppress(PackageNotFoundError):
            return version(known)
    return None


def model_facts(path: Path) -> dict[str, Any]:
    """Return what a model file, or one of results or data, holds, without a domain and without running its code."""
    kind = _kind(path)
    files = path.rglob("*") if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files if file.is_file())
    return {"file": str(path), "bytes": size, "kind": kind, **_FACTS[kind](path)}


def _kind(path: Path) -> str:
    """Return what a file holds: a kind of model, or "results", "explanation", "rules", "table" or "unknown"."""
    if path.suffix in SUFFIXES and (path.is_dir() or (path.is_file() and path.suffix not in PARQUET)):
        return "results"
    if path.suffix == ".json" and path.is_file() and _RULES.match(_beginning(path)):
        return "rules"
    kind = file_kind(path)
    if kind not in ("pickle", "xgboost"):
        return kind
    if set(path.suffixes[-2:]) & {".csv", *PARQUET}:
        return "table"
    head = _beginning(path)
    if b'"axfi-kc explanation"' in head:
        return "explanation"
    if kind == "xgboost":
        return kind if path.suffix == ".ubj" or b'"learner"' in head else "unknown"
    return "pickle" if head.startswith(_PICKLES) else "unknown"


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


_RULES = re.compile(rb'\s*\{\s*("rules"\s*:|"format"\s*:\s*"axfi-kc rules")')  # before anything that rules may hold
_PACKED = (b"x\x01", b"x\x9c", b"x\xda", b"x^", b"\x1f\x8b", b"BZ", b"\xfd7zXZ", b"]\x00", b"\x04\x22\x4d\x18")
_PICKLES = (b"\x80", *_PACKED)  # of protocols 2 to 5, and as joblib packs them: zlib, gzip, bz2, xz, lzma, lz4


def _results(path: Path) -> dict[str, Any]:
    from axfi_kc.explanations.batch import read_results
    from axfi_kc.explanations.space import Space

    batch = read_results(path)
    return {
        "rows": len(batch),
        "rows of the run": batch.n_rows,
        "finished": batch.is_complete,
        "scores": list(batch._header["kinds"]),
        **Space.of(batch).words,
        "columns": len(batch.domain),
        "column names": list(batch.domain.names)[:50],
    }


def _explanation(path: Path) -> dict[str, Any]:
    from axfi_kc.explanations.answers import answer_words
    from axfi_kc.explanations.space import Space
    from axfi_kc.explanations.tables import SavedExplanation

    found = SavedExplanation.from_json(path.read_bytes())
    names = found.domain.names
    cxps = {"CXps": found.cxp_count, "columns": len(names), "column names": list(names)[:50]}
    return {"prediction": answer_words(found), **Space.of(found).words, **cxps}


def _table(path: Path) -> dict[str, Any]:
    found = read_table(path)
    return {"rows": len(found), "columns": found.shape[1], "column names": [str(name) for name in found.columns][:50]}


def _rules(path: Path) -> dict[str, Any]:
    from axfi_kc.domain.rules import load_rules

    rules = load_rules(path)
    names = list(dict.fromkeys(name for rule in rules for name in rule.constraint.names))
    words = [str(rule) for rule in rules[:_MOST_RULES]]
    return {"rules": len(rules), "first rules": words, "columns": len(names), "column names": names[:50]}


def _unknown(path: Path) -> dict[str, Any]:
    return {"note": "no kind of file that axfi-kc reads, as far as its beginning tells"}


def _xgboost(path: Path) -> dict[str, Any]:
    from axfi_kc.compilers.readers.xgboost_files import parse_xgboost

    read = parse_xgboost(path)
    return {
        "written by": "XGBoost " + ".".join(map(str, read.version)),
        "objective": read.objective,
        "trees": len(read.trees),
        "nodes": sum(len(t.column) for t in read.trees),
        "classes": _classes(read),
        "columns": read.n_columns,
        "column names": list(read.names)[:50],
    }


def _classes(read: Any) -> int:
    """Return how many classes a model of XGBoost tells apart: a file counts them only if they are more than two."""
    return max(read.n_classes, 2 if read.objective.startswith("binary:") else 0)


def _lightgbm(path: Path) -> dict[str, Any]:
    from axfi_kc.compilers.readers.lightgbm_files import parse_lightgbm

    read = parse_lightgbm(lightgbm_text(path))
    return {
        "objective": " ".join(read.objective),
        "trees": len(read.trees),
        "leaves": sum(len(t.leaves) for t in read.trees),
        "columns": len(read.names),
        "column names": list(read.names)[:50],
    }


def _onnx(path: Path) -> dict[str, Any]:
    from axfi_kc.compilers.readers.onnx_files import load_onnx

    model = load_onnx(path)
    return {
        "written by": f"{model.producer_name} {model.producer_version}".strip(),
        "operators": [node.op_type for node in model.graph.node][:50],
        "inputs": [info.name for info in model.graph.input][:50],
        "outputs": [info.name for info in model.graph.output][:50],
    }


def _skops(path: Path) -> dict[str, Any]:
    model = load_skops(path)
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "columns": getattr(model, "n_features_in_", None),
        "classes": [str(c) for c in getattr(model, "classes_", ())][:50],
        "column names": [] if names is None else [str(n) for n in names][:50],
    }


def _circuit(path: Path) -> dict[str, Any]:
    try:
        circuit = load_circuit(path)
    except CircuitError:
        return {"note": "it does not say what its variables mean; the table that is given to explain does"}
    size, names = circuit.size, circuit.grid.domain.names
    return {"nodes": size.nodes, "edges": size.edges, "columns": len(names), "column names": list(names)[:50]}


def _network(path: Path) -> dict[str, Any]:
    from axfi_kc.domain.network_files import read_network

    variables = read_network(path).variables
    return {
        "variables": len(variables),
        "arrows": sum(len(v.parents) for v in variables),
        "probabilities": sum(len(v.rows) * len(v.states) for v in variables),
        "column names": [v.name for v in variables][:50],
    }


def _pickle(path: Path) -> dict[str, Any]:
    return {"note": "not looked into: a pickle can run any code when it is loaded"}


_FACTS = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "onnx": _onnx,
    "skops": _skops,
    "network": _network,
    "circuit": _circuit,
    "pickle": _pickle,
    "results": _results,
    "explanation": _explanation,
    "rules": _rules,
    "table": _table,
    "unknown": _unknown,
}
