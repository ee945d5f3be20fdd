"""Streaming results of the adult tree to a file: seconds, a second worker, memory, bytes per task.

For each format and number of rows: the wall-clock seconds of a run with one worker and with two,
where two are joblib's own processes started by the run (cold), the same left running by the run
before (warm), and forked ones (multiprocessing, which start at once). Each number is one run; the
runs take turns. Also the seconds of processor time that the writing process itself needs, which
bounds what more workers can give; the largest resident memory at each tenth of the run; and what
travels to a worker with each task.

The adult data set is looked for in the folder named by AXFI_SHARED; without it breast cancer, which
ships with scikit-learn, takes its place.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import joblib
import numpy as np
import pandas as pd
import psutil
from joblib.externals.loky import get_reusable_executor
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.shared_data import SHARED, DataSet, tree_set

SEED = 0


def data_set() -> tuple[str, DataSet]:
    if (SHARED / "data" / "adult").is_dir():
        return "adult", tree_set("adult")
    cancer = load_breast_cancer(as_frame=True)
    return "breast-cancer", DataSet(cancer.data, cancer.target, None, [])


def explain(explainer: ax.Explainer, X: pd.DataFrame, suffix: str, n_jobs: int, backend: str) -> tuple[float, float]:
    """Return wall-clock seconds of one run, and this process's own processor time."""
    with tempfile.TemporaryDirectory() as folder, joblib.parallel_config(backend=backend):
        begin, own = perf_counter(), process_time()
        explainer.explain_to(f"{folder}/out.{suffix}", X, n_jobs=n_jobs, progress=False)
        return perf_counter() - begin, process_time() - own


def measure(explainer: ax.Explainer, X: pd.DataFrame, suffix: str, runs: int) -> dict[str, Any]:
    found: dict[str, list[float]] = {"one": [], "two_cold": [], "two_warm": [], "two_forked": [], "writer_cpu": []}
    for _ in range(runs):
        found["one"].append(explain(explainer, X, suffix, 1, "loky")[0])
        get_reusable_executor().shutdown(wait=True)
        found["two_cold"].append(explain(explainer, X, suffix, 2, "loky")[0])
        seconds, own = explain(explainer, X, suffix, 2, "loky")
        found["two_warm"].append(seconds)
        found["writer_cpu"].append(own)
        found["two_forked"].append(explain(explainer, X, suffix, 2, "multiprocessing")[0])
    middle = {name: median(times) for name, times in found.items()}
    ratios = {f"{name}_ratio": middle["one"] / middle[name] for name in ("two_cold", "two_warm", "two_forked")}
    return {"rows": len(X), "format": suffix, "load": os.getloadavg()[0], **found, **ratios}


def memory(explainer: ax.Explainer, X: pd.DataFrame) -> list[float]:
    """Return the resident megabytes of this process at each tenth of a run."""
    seen: list[float] = []
    process, find, done = psutil.Process(), explainer._find, 0

    def watched(codes: Any) -> Any:
        nonlocal done
        done += len(codes)
        if done * 10 // len(X) > len(seen):
            seen.append(process.memory_info().rss / 1e6)
        return find(codes)

    explainer._find = watched  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        explainer.explain_to(f"{folder}/out.jsonl", X, progress=False)
    del explainer._find
    return seen


def task_bytes(explainer: ax.Explainer, rows: int) -> dict[str, int]:
    """Return the size of the shared model and of a block of rows, pickled."""
    import cloudpickle

    block = np.zeros((rows, len(explainer.domain)))
    return {
        "model": len(cloudpickle.dumps(explainer._find)),
        "block": len(cloudpickle.dumps((0, block, list(range(rows))))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="10,000 rows only")
    options = parser.parse_args()
    name, data = data_set()
    model = DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(data.X, data.y)
    explainer = ax.Explainer(model, ax.Domain.from_data(data.X, categorical=data.categorical))
    explainer.explain_batch(data.X.head(10))  # compiled and cached before the clock starts
    rows = []
    for n in (10_000,) if options.quick else (10_000, 100_000):
        X = data.X.sample(n, replace=n > len(data.X), random_state=SEED)
        for suffix in ("jsonl", "parquet"):
            row = measure(explainer, X, suffix, 3)
            rows.append(row)
            times = "  ".join(f"{k} {', '.join(f'{t:.2f}' for t in row[k])}" for k in row if isinstance(row[k], list))
            ratios = "  ".join(f"{k} {row[k]:.2f}" for k in row if k.endswith("ratio"))
            print(f"{name} {n} {suffix} (load {row['load']:.1f}): {times}; {ratios}", flush=True)
    resident = memory(explainer, X)
    print("resident MB at each tenth:", ", ".join(f"{m:.0f}" for m in resident))
    sizes = task_bytes(explainer, 256)
    print(f"bytes: the model {sizes['model']} once per worker, a block of 256 rows {sizes['block']} per task")
    packages = ("axfi-kc", "numpy", "joblib", "pandas", "pyarrow")
    print("wrote", save("streams", {**stamp(packages, seed=SEED, runs=3), "rows": rows, "resident": resident, **sizes}))


if __name__ == "__main__":
    main()
