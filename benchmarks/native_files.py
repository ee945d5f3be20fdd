"""Altered files of LightGBM and XGBoost through ``axfi-kc verify``: answers or errors of ours, and no dead process.

    python benchmarks/native_files.py                 # 930 texts of LightGBM, 910 files of XGBoost (JSON and UBJ)
    python benchmarks/native_files.py --inputs 40     # 40 of each
    python benchmarks/native_files.py --library lightgbm --only 17

Every entry of a small model is altered in many ways (left out, empty, twice, negative, huge, infinite, of another
type), and the rest are random edits. A file fails if the command raises, or ends with anything but 0 (it was checked
and all holds) or 1 (a message says what is wrong). The library meets the file in a child process; how often it dies
there is counted: as often it would have ended ours. To save the time of imports, children are forked here, by a
process that has imported the libraries and runs on one thread; `--spawn` starts each child as the command itself does.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before any library is imported: threads do not survive a fork

import numpy as np

import axfi_kc as ax
from axfi_kc.cli import main as command
from axfi_kc.cli import own_process

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.fuzz_inputs import mutated, mutated_bytes, tokens_of
from tests.support.fuzz_readers import ubjson

INPUTS = {"lightgbm": 930, "xgboost": 910}
_VALUES = ("", "3 3", "-1", "1e400", "nan", "1000000000", "0", "x", "9" * 400, "1 " * 2000)
_ODD: tuple[Any, ...] = ([], "", "-1", -1, 10**6, 10**10, 1e300, None, {}, "nan", [[]], True)
_ALIKE = (10**6, -7, 2**31 - 1, 1e30, 0)  # all numbers of a list
DOMAIN = ax.Domain([ax.Real("x", 0, 9), ax.Integer("k", 0, 5), ax.Real("z", -1, 1)])


def _data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 9, 300), rng.integers(0, 6, 300), rng.uniform(-1, 1, 300)])
    return X, ((X[:, 0] > 4) ^ (X[:, 1] > 2)).astype(int) + (X[:, 2] > 0.5)


def lightgbm_files() -> list[bytes]:
    """Return texts of small models: two classes, three, and a regression."""
    import lightgbm as lgb

    X, y = _data()
    options = {"n_estimators": 3, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
    made = [
        lgb.LGBMClassifier(**options).fit(X, y > 0, feature_name=list("xkz")),
        lgb.LGBMClassifier(**options).fit(X, y, feature_name=list("xkz"), categorical_feature=["k"]),
        lgb.LGBMRegressor(**options).fit(X, y, feature_name=list("xkz")),
    ]
    return [model.booster_.model_to_string().encode() for model in made]


def xgboost_files() -> list[bytes]:
    """Return JSON of small models, likewise."""
    import xgboost as xgb

    X, y = _data()
    options = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1}
    made = [
        xgb.XGBClassifier(**options).fit(X, y > 0),
        xgb.XGBClassifier(**options).fit(X, y),
        xgb.XGBRegressor(booster="dart", **options).fit(X, y),
    ]
    return [bytes(model.get_booster().save_raw("json")) for model in made]


def sized(text: bytes) -> bytes:
    """Return a text that gives the lengths of its trees as they are, so that readers come to what else was altered."""
    grown, end, rest = text.partition(b"\nend of trees")
    head, *trees = grown.split(b"\nTree=")
    sizes = b" ".join(b"%d" % len(b"Tree=" + tree + b"\n") for tree in trees)
    return b"\nTree=".join([re.sub(rb"(?m)^tree_sizes=.*$", b"tree_sizes=" + sizes, head), *trees]) + end + rest


def altered_texts(valid: list[bytes], seed: int) -> Iterator[tuple[bytes, str]]:
    """Yield texts of LightGBM with each line altered in each way, and then random ones without end."""
    for text in valid[:2]:
        lines, seen = text.split(b"\n"), set[bytes]()
        for k, line in enumerate(lines):
            key, equals, _ = line.partition(b"=")
            if not equals or key in seen:
                continue
            seen.add(key)
            instead = [[key + b"=" + value.encode()] for value in _VALUES] + [[], [line, line]]
            for new in instead:
                made = b"\n".join([*lines[:k], *new, *lines[k + 1 :]])
                yield (made if key == b"tree_sizes" else sized(made)), ".txt"
    rng, tokens = Random(f"lightgbm {seed}"), [tokens_of(text) for text in valid]
    while True:
        made = mutated(rng, rng.choice(tokens))
        yield (made if rng.random() < 0.5 else sized(made)), ".txt"


def _edits(document: Any) -> Iterator[Callable[[], None]]:
    """Yield what puts each odd value into each place of a document, and what takes the place away."""
    places = list(document) if isinstance(document, dict) else range(len(document))[:1]
    for place in places:
        kept = document[place]
        alike = [[value] * len(kept) for value in _ALIKE] if isinstance(kept, list) else []
        for value in (*_ODD, *alike):
            yield lambda place=place, value=value: document.__setitem__(place, value)
            document[place] = kept
        if isinstance(document, dict):
            yield lambda place=place: document.__delitem__(place)
            document[place] = kept
        if isinstance(kept, dict | list):
            yield from _edits(kept)


def altered_documents(valid: list[bytes], seed: int) -> Iterator[tuple[bytes, str]]:
    """Yield models of XGBoost with each entry altered in each way, as JSON and UBJ in turn, and then random ones."""
    document = json.loads(valid[0])
    for k, edit in enumerate(_edits(document)):
        edit()
        is_text = k % 2 == 0
        try:
            yield (json.dumps(document).encode() if is_text else ubjson(_plain(document))), (".json", ".ubj")[k % 2]
        except (OverflowError, ValueError, TypeError, struct.error):  # what UBJSON has no form for
            yield json.dumps(document).encode(), ".json"
    rng, tokens = Random(f"xgboost {seed}"), [tokens_of(text) for text in valid]
    binary = [ubjson(_plain(json.loads(text))) for text in valid]
    while True:
        if rng.random() < 0.5:
            yield mutated(rng, rng.choice(tokens)), ".json"
        else:
            yield mutated_bytes(rng, rng.choice(binary)), ".ubj"


def _plain(value: Any) -> Any:
    """Return a document without what UBJSON files of XGBoost do not have."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, bool) else "" if value is None else value


def forked(asked: dict[str, Any]) -> int:
    """Do the child's work in a fork of this process; return its status."""
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            own_process.serve(asked)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def outcome(result: Path, model: Path) -> str:
    """Return what the command makes of a file."""
    said = io.StringIO()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            status = command(["verify", str(result), str(model), "--points", "2000", "--seconds", "5"])
    except BaseException as error:
        return f"CRASH {type(error).__name__}: {str(error)[:100]}"
    if status == 0:
        return "held"
    if status != 1:
        return f"CRASH status {status}"
    text = said.getvalue()
    for kind, words in (
        ("the library died", "ended the process ("),
        ("the library raised", "cannot predict with"),
        ("the library refused", "GBM cannot read"),
        ("the library refused", "XGBoost cannot read"),
        ("did not hold", "do not rely on"),
    ):
        if words in text:
            return f"{kind} {text.split('(')[1].split(')')[0]}" if kind == "the library died" else kind
    return "our reader refused"


def explained(library: str, data: bytes, folder: Path) -> Path:
    """Write the explanation of a point by a valid model, and return its path."""
    from axfi_kc.compilers.readers.lightgbm_files import read_lightgbm

    model = ax.read_xgboost(data, DOMAIN) if library == "xgboost" else read_lightgbm(data.decode(), DOMAIN)
    path = folder / "result.json"
    path.write_text(
        ax.Explainer(model, DOMAIN, delta=0.25 if model.is_regression else None).explain((5, 1, 0)).to_json()
    )
    return path


def run(library: str, *, inputs: int, seed: int, only: int | None = None) -> dict[str, Any]:
    """Feed altered files of a library to the command; return the counts."""
    valid = lightgbm_files() if library == "lightgbm" else xgboost_files()
    cases = altered_texts(valid, seed) if library == "lightgbm" else altered_documents(valid, seed)
    systematic = list(_until_random(cases, valid))
    Random(seed).shuffle(systematic)
    kinds: Counter[str] = Counter()
    begin = perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = explained(library, valid[0], folder)
        for k in range(inputs):
            data, suffix = systematic[k] if k < min(len(systematic), inputs * 2 // 3) else next(cases)
            if only is not None and k != only:
                continue
            model = folder / f"model{suffix}"
            model.write_bytes(data)
            found = outcome(result, model)
            kinds[found] += 1
            if found.startswith("CRASH") or only is not None:
                print(f"{library} {k}: {found}\n{data[:400]!r}", flush=True)
    failures = sum(n for kind, n in kinds.items() if kind.startswith("CRASH"))
    seconds = round(perf_counter() - begin, 1)
    return {"library": library, "inputs": inputs, "failures": failures, "seconds": seconds, "kinds": dict(kinds)}


def _until_random(cases: Iterator[tuple[bytes, str]], valid: list[bytes]) -> Iterator[tuple[bytes, str]]:
    """Yield the systematic cases: their number is known from a document's size, and random ones follow."""
    for _ in range(_number(valid)):
        yield next(cases)


def _number(valid: list[bytes]) -> int:
    if valid[0].startswith(b"tree"):
        keys = [len({line.partition(b"=")[0] for line in text.split(b"\n") if b"=" in line}) for text in valid[:2]]
        return sum(keys) * (len(_VALUES) + 2)
    return sum(1 for _ in _edits(json.loads(valid[0])))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=[*INPUTS], help="[both]")
    parser.add_argument("--inputs", type=int, help=f"files of each {INPUTS}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="K", help="file K alone")
    parser.add_argument("--spawn", action="store_true", help="start each child anew, as the command does")
    parser.add_argument("--unsaved", action="store_true", help="write no file of results")
    parser.add_argument("--quick", action="store_true", help="40 files of each")
    options = parser.parse_args(arguments)
    if not options.spawn:
        own_process._run = forked
    failures = 0
    for library in [options.library] if options.library else INPUTS:
        inputs = 40 if options.quick else options.inputs or INPUTS[library]
        found = run(library, inputs=inputs, seed=options.seed, only=options.only)
        failures += found["failures"]
        print(json.dumps(found), flush=True)
        if not options.unsaved:
            save(f"native-{library}", stamp(("lightgbm", "xgboost-cpu"), seed=options.seed) | found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
