"""Exact AxFi scores of decision trees next to shap.TreeExplainer, in one run.

For each of the paper's five tree models: 50 instances; seconds per instance for everything exact
(all CXps, all weights, both tables of scores, as the floats nearest to them), the same with a
Fraction made of every score instead, and shap's TreeExplainer on the same batch; and the ratios. Each time
is the median of several runs, taken in turn so that both sides see the same machine.

The paper's data sets are looked for in the folder named by AXFI_SHARED (default ../shared); when
they are absent, two sets that ship with scikit-learn take their place.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import shap
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.shared_data import SHARED, TREE_SETS, DataSet, tree_set

SEED = 0
COLUMNS = {"exact_s": 8, "exact_fractions_s": 11, "shap_s": 8}


def data_sets() -> Iterator[tuple[str, DataSet]]:
    if (SHARED / "data").is_dir():
        for name in TREE_SETS:
            yield name, tree_set(name)
        return
    print(f"{SHARED / 'data'} is absent: using data that ships with scikit-learn (set AXFI_SHARED for the paper's).")
    cancer, diabetes = load_breast_cancer(as_frame=True), load_diabetes(as_frame=True)
    yield "breast-cancer", DataSet(cancer.data, cancer.target, None, [])
    yield "diabetes-442", DataSet(diabetes.data, diabetes.target, 10.0, [])


def medians(runs: int, *tasks: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each task, running them in turn."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(runs):
        for k, task in enumerate(tasks):
            start = perf_counter()
            task()
            times[k].append(perf_counter() - start)
    return [median(t) for t in times]


def measure(name: str, data: DataSet, *, instances: int, runs: int) -> dict[str, Any]:
    kind = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
    model = kind(max_depth=8, random_state=SEED).fit(data.X, data.y)
    sample = data.X.sample(min(instances, len(data.X)), random_state=SEED)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    built = medians(runs, lambda: ax.Explainer(model, domain, delta=data.delta), lambda: shap.TreeExplainer(model))
    explainer, peer = ax.Explainer(model, domain, delta=data.delta), shap.TreeExplainer(model)

    def floats() -> None:
        batch = explainer.explain_batch(sample)
        batch.scores("shapley", exact=False)
        batch.scores("banzhaf", exact=False)

    def fractions() -> None:
        batch = explainer.explain_batch(sample)
        batch.scores("shapley")
        batch.scores("banzhaf")

    floats(), fractions(), peer.shap_values(sample)  # compiled and cached before the clock starts
    n = len(sample)
    exact, edge, other = (t / n for t in medians(runs, floats, fractions, lambda: peer.shap_values(sample)))
    cxps = [len(e.cxps) for e in explainer.explain_batch(sample)]
    return {
        "data": name, "leaves": int(model.get_n_leaves()), "instances": n, "mean_cxps": sum(cxps) / n,
        "exact_s": exact, "exact_fractions_s": edge, "shap_s": other,
        "ratio": exact / other, "ratio_fractions": edge / other, "build_s": built[0], "shap_build_s": built[1],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    options = parser.parse_args()
    runs = 5 if options.quick else 41
    rows = [measure(name, data, instances=50, runs=runs) for name, data in data_sets()]
    print("microseconds per instance, 50 instances a batch, trees of depth 8")
    print("data          leaves  CXps  floats  Fractions    shap  ratio  with Fractions")
    for r in rows:
        times = "".join(f"{r[key] * 1e6:{width}.1f}" for key, width in COLUMNS.items())
        ratios = f"{r['ratio']:7.2f}{r['ratio_fractions']:16.2f}"
        print(f"{r['data']:13} {r['leaves']:6} {r['mean_cxps']:5.1f}{times}{ratios}")
    packages = ("axfi-kc", "numpy", "numba", "scikit-learn", "shap", "pandas")
    print("wrote", save("trees", {**stamp(packages, seed=SEED, runs=runs), "rows": rows}))


if __name__ == "__main__":
    main()
