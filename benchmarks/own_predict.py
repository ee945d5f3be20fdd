"""How much of a single explanation goes into the model's own predict, alone and beside a busy core.

For XGBoost, LightGBM and HistGradientBoosting with 20 trees of depth 3 and a forest of 20 trees: median microseconds
of ``explain`` and of the comparison with ``predict`` within it, over single rows, first on an idle machine, then
while another process keeps a core busy; on the clock, and of the processor, whose share does not depend on what else
runs. Libraries have all their threads: leave OMP_NUM_THREADS unset.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import xgboost as xgb
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp

SEED = 0
COLUMNS = 8


def models() -> Iterator[tuple[str, Any]]:
    yield "XGBoost 20 x 3", xgb.XGBClassifier(n_estimators=20, max_depth=3, random_state=SEED)
    yield "LightGBM 20 x 3", LGBMClassifier(n_estimators=20, max_depth=3, random_state=SEED, verbose=-1)
    yield "HistGradientBoosting 20 x 3", HistGradientBoostingClassifier(max_iter=20, max_depth=3, random_state=SEED)
    yield "RandomForest 20 x 3", RandomForestClassifier(20, max_depth=3, n_jobs=2, random_state=SEED)


def measure(
    explainer: ax.Explainer, X: Any, rows: int, clock: Callable[[], float] = perf_counter
) -> tuple[float, float]:
    """Return the median seconds of an explanation, and of the comparison in it."""
    own, compared = explainer._predict, []

    def timed(codes: Any) -> Any:
        start = clock()
        found = own(codes)
        compared.append(clock() - start)
        return found

    explainer._predict, whole = timed, []
    for k in range(rows):
        start = clock()
        explainer.explain(X.iloc[k % len(X)])
        whole.append(clock() - start)
    explainer._predict = own
    return median(whole), median(compared)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    rows = 60 if parser.parse_args().quick else 400
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :COLUMNS]
    made = [(name, ax.Explainer(model.fit(X, y), X)) for name, model in models()]
    for _, explainer in made:
        measure(explainer, X, 5)  # compiled before the clock starts
    found: list[dict[str, Any]] = []
    print("microseconds of a single explanation, and of the model's own predict in it")
    for state in ("idle", "busy"):
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if state == "busy" else None
        try:
            sleep(0.5)
            for name, explainer in made:
                whole, own = measure(explainer, X, rows)
                cpu, own_cpu = measure(explainer, X, rows, process_time)
                row = {"model": name, "cores": state, "explain_s": whole, "own_s": own, "share": own / whole}
                found.append({**row, "explain_cpu_s": cpu, "own_cpu_s": own_cpu, "cpu_share": own_cpu / cpu})
                print(f"{name:28} {state:5} {whole * 1e6:9.0f} {own * 1e6:9.0f} {own / whole:7.1%}"
                      f"   processor {cpu * 1e6:9.0f} {own_cpu * 1e6:9.0f} {own_cpu / cpu:7.1%}")  # fmt: skip
        finally:
            if busy is not None:
                busy.kill()
                busy.wait()
    packages = ("axfi-kc", "numpy", "numba", "scikit-learn", "xgboost", "lightgbm")
    print("wrote", save("own_predict", {**stamp(packages, seed=SEED, rows=rows), "rows": found}))


if __name__ == "__main__":
    main()
