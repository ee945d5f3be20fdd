"""Exact weights under joint distributions: next to enumeration, what they cost, and what they change.

compas: under a tree learnt from the data, every weight of every CXp of 100 rows must equal the sum over all 39,936
points, as a Fraction, through every target, and so it must with constraints. References: a distribution of independent
features changes no weight. adult and diabetes: how much longer weights under the tree take than uniform ones, in one
run. compas, recidivism and adult: for how many rows the feature of the largest score is another one.

    python benchmarks/distributions.py [--quick] [--only PART]

Exits with 1 if anything disagreed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import axfi_kc as ax
from axfi_kc.domain.constraints import at_most_one

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.possible import AGES, RACES, TARGETS, compas_models, distinct, masks
from benchmarks.provenance import RESULTS, save, stamp
from tests.support.reference_models import BOOSTED, boosted_reference
from tests.support.shared_data import SHARED, numeric_set, tree_set

SEED = 0
CHANGED = ("compas", "recidivism", "adult")


class Enumeration:
    """All points of a finite domain with their outputs, and their probability as an integer."""

    def __init__(self, points: np.ndarray, outputs: np.ndarray, tree: ax.ChowLiu) -> None:
        self.points, self.outputs, self.m = points, outputs, points.shape[1]
        # Every value is a state of its own here; probabilities are over one denominator, which cancels.
        lows = [int(states.edges[0]) for states in tree.states]
        states = points - np.array(lows)
        whole = [np.array(table, dtype=object) for table in tree.whole_tables]
        weights = np.ones(len(points), dtype=object)
        for i, parent in enumerate(tree.parents):
            weights *= whole[i][states[:, parent] if parent >= 0 else 0, states[:, i]]
        self.weights = weights

    def ratios(self, v: np.ndarray, here: Any) -> dict[int, Fraction]:
        """Return the CXps of an instance with their weights, from the definitions."""
        differing = (self.points != v) @ (1 << np.arange(self.m))
        bad = self.outputs != here
        sets = np.unique(differing[bad]).tolist()
        minimal = [Y for Y in sets if not any(T & Y == T and T != Y for T in sets)]
        return {
            Y: Fraction(
                int(self.weights[bad & (differing == Y)].sum()), int(self.weights[differing & ~np.int64(Y) == 0].sum())
            )
            for Y in minimal
        }


def compas(rows: int) -> dict[str, Any]:
    data = tree_set("compas")
    plain = ax.Domain.from_data(data.X)
    tree = ax.ChowLiu.fit(data.X, plain)
    joint, names = plain.with_distribution(tree), list(plain.names)
    points = np.array(list(plain.points()))
    possible = np.ones(len(points), dtype=bool)
    for group in (RACES, AGES):
        possible &= points[:, [names.index(n) for n in group]].sum(axis=1) <= 1
    spaces = {
        "all": (joint, points),
        "possible": (joint.where(at_most_one(*RACES), at_most_one(*AGES)), points[possible]),
    }
    X, test, y, _ = train_test_split(data.X, data.y, test_size=0.2, random_state=SEED)
    instances = distinct(test)[:rows]
    result: dict[str, Any] = {"points": len(points), "possible": int(possible.sum()), "edges": len(tree.edges)}
    for (name, model), (space, (domain, some)) in ((a, b) for a in compas_models(X, y) for b in spaces.items()):
        listing = Enumeration(some, model.predict(_frame(some, names)), tree)
        here = model.predict(instances).tolist()
        expected = [listing.ratios(v, out) for v, out in zip(instances.to_numpy(), here, strict=True)]
        result[f"{name}, {space} points"] = _checked(model, domain, instances, expected)
        print(f"  {name}, {space} points: {result[f'{name}, {space} points']}", flush=True)
    return result


def _frame(points: np.ndarray, names: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(points, columns=names)


def _checked(model: Any, domain: ax.Domain, instances: Any, expected: list[dict[int, Fraction]]) -> dict[str, Any]:
    wrong, seconds = [], {}
    for target in TARGETS:
        begin = perf_counter()
        batch = list(ax.Explainer(model, domain, target=target).explain_batch(instances, progress=False))
        seconds[target] = round(perf_counter() - begin, 2)
        for n, (e, wanted) in enumerate(zip(batch, expected, strict=True)):
            found = dict(zip(masks(e.cxps, domain), (c.weight for c in e.cxps), strict=True))
            wrong += [(target, n)] * (found != wanted)
    return {
        "rows": len(instances),
        "CXps": sum(map(len, expected)),
        "weights compared": len(TARGETS) * sum(map(len, expected)),
        "wrong": wrong[:20],
        "seconds": seconds,
    }


def references(limit: int | None) -> dict[str, Any]:
    """Compare weights of independent distributions with those of the domain's own measures."""
    result: dict[str, Any] = {}
    for name in BOOSTED:
        reference = boosted_reference(name)
        rows = [reference.point(i) for i in reference.instances[:limit]]
        product = ax.Product.of(reference.domain)
        edgeless = ax.ChowLiu(product.states, (-1,) * len(rows[0]), tuple((table,) for table in product.tables))
        # A mixture of one part does not say that its features are independent: boxes are weighed one by one.
        kinds = {"edgeless tree": edgeless, "mixture of one": ax.Mixture((product,), (1,))}
        plain = _weights(reference.model, reference.domain, rows)
        same = {
            kind: _weights(reference.model, reference.domain.with_distribution(d), rows) == plain
            for kind, d in kinds.items()
        }
        result[name] = {"instances": len(rows), "CXps": sum(map(len, plain)), "identical": same}
        print(f"  {name}: {result[name]}", flush=True)
    return result


def _weights(model: Any, domain: ax.Domain, rows: list[Any]) -> list[dict[Any, Fraction]]:
    batch = ax.Explainer(model, domain).explain_batch(rows, progress=False)
    return [{c.features: c.weight for c in e.cxps} for e in batch]


def speed(runs: int) -> dict[str, Any]:
    result = {}
    for name, model, domain, tree, rows in (_adult(), _diabetes()):
        plain, joint = ax.Explainer(model, domain), ax.Explainer(model, domain.with_distribution(tree))
        for explainer in (plain, joint):  # compiled before the clock starts
            weights(explainer, rows[:1])
        times = _medians(runs, *(partial(weights, e, rows) for e in (plain, joint)))
        only = _medians(runs, *(partial(e.explain_batch, rows, progress=False) for e in (plain, joint)))
        result[name] = {
            "rows": len(rows),
            "CXps": sum(map(len, weights(plain, rows))),
            "uniform_ms": round(times[0] * 1e3, 2),
            "tree_ms": round(times[1] * 1e3, 2),
            "ratio": round(times[1] / times[0], 2),
            "ratio of explain_batch alone": round(only[1] / only[0], 2),
        }
        print(f"  {name}: {result[name]}", flush=True)
    return result


def weights(explainer: ax.Explainer, rows: Any) -> list[list[Fraction]]:
    """Return all weights of a batch, as Fractions."""
    return [[c.weight for c in e.cxps] for e in explainer.explain_batch(rows, progress=False)]


def _adult() -> tuple[str, Any, ax.Domain, ax.ChowLiu, Any]:
    data = tree_set("adult")
    domain = ax.Domain.from_data(data.X, categorical=data.categorical)
    model = DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(data.X, data.y)
    return "adult, tree of depth 8", model, domain, ax.ChowLiu.fit(data.X, domain), data.X.sample(50, random_state=SEED)


def _diabetes() -> tuple[str, Any, ax.Domain, ax.ChowLiu, Any]:
    data = numeric_set("diabetes")
    X = data.X.to_numpy(dtype=np.float64)
    train, test, target, _ = train_test_split(X, data.y.to_numpy(), test_size=0.2, random_state=SEED)
    model = XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, random_state=SEED).fit(train, target)
    domain = ax.Domain.from_data(X, real=list(range(X.shape[1])))
    return "diabetes, XGBoost 20 x 3", model, domain, ax.ChowLiu.fit(X, domain, bins=10), test[:50]


def _medians(runs: int, *tasks: Callable[[], Any]) -> list[float]:
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(runs):
        for own, task in zip(times, tasks, strict=True):
            begin = perf_counter()
            task()
            own.append(perf_counter() - begin)
    return [median(own) for own in times]


def changes(rows: int) -> dict[str, Any]:
    """Tell for how many rows the top feature changes, and how precise the first AXp-like rule is, by distribution."""
    result = {}
    for name in CHANGED:
        data = tree_set(name)
        model = DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(data.X, data.y)
        sample = data.X.sample(min(rows, len(data.X)), random_state=SEED)
        uniform = ax.Domain.from_data(data.X, categorical=data.categorical)
        marginals = ax.Domain.from_data(data.X, categorical=data.categorical, measures="empirical")
        joint = uniform.with_distribution(ax.ChowLiu.fit(data.X, uniform))
        batches = {
            kind: ax.Explainer(model, domain).explain_batch(sample, progress=False)
            for kind, domain in (("uniform", uniform), ("marginals", marginals), ("Chow-Liu", joint))
        }
        result[name] = _compared(batches)
        print(f"  {name}: {result[name]}", flush=True)
    return result


def _compared(batches: dict[str, Any]) -> dict[str, Any]:
    tops = {kind: [_top(e) for e in batch] for kind, batch in batches.items()}
    weighed = {kind: [c.weight for e in batch for c in e.cxps] for kind, batch in batches.items()}
    found: dict[str, Any] = {"rows": len(tops["uniform"])}
    for kind in ("marginals", "Chow-Liu"):
        moved = sum(a != b for a, b in zip(tops["uniform"], tops[kind], strict=True))
        found[f"top feature changes, {kind}"] = round(moved / len(tops["uniform"]), 3)
    found["mean weight"] = {kind: round(float(mean(map(float, row))), 4) for kind, row in weighed.items()}
    commonest = {kind: max(sorted(set(row)), key=row.count) for kind, row in tops.items()}
    found["most often on top"] = {kind: [top, tops[kind].count(top)] for kind, top in commonest.items()}
    return found


def _top(explanation: ax.Explanation) -> str:
    scores = explanation.scores("banzhaf")
    return max(scores, key=scores.__getitem__)


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw how many rows have another top feature, and what a CXp weighs on average."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    names, place = list(result), np.arange(len(result))
    for k, kind in enumerate(("marginals", "Chow-Liu")):
        left.bar(place + 0.35 * (k - 0.5), [result[n][f"top feature changes, {kind}"] for n in names], 0.35, label=kind)
    for k, kind in enumerate(("uniform", "marginals", "Chow-Liu")):
        right.bar(place + 0.25 * (k - 1), [result[n]["mean weight"][kind] for n in names], 0.25, label=kind)
    left.set_ylabel("rows with another top feature")
    right.set_ylabel("mean weight of a CXp")
    for axes in (left, right):
        axes.set_xticks(place, names)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 rows of compas, 3 of each reference, fewer runs")
    parser.add_argument("--only", choices=("compas", "references", "speed", "changes"), help="one part")
    parser.add_argument("--picture", type=Path, help="where to draw what changes")
    options = parser.parse_args(arguments)
    if not (SHARED / "data" / "compas").exists():
        print("the data are not available; set AXFI_SHARED to the folder that holds them")
        return 0
    quick = options.quick
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "compas": lambda: compas(10 if quick else 100),
        "references": lambda: references(3 if quick else None),
        "speed": lambda: speed(5 if quick else 31),
        "changes": lambda: changes(30 if quick else 180),
    }
    result = {}
    for name, part in parts.items():
        if options.only in (None, name):
            print(name, flush=True)
            result[name] = part()
    if "changes" in result and options.picture is not None:
        draw(result["changes"], options.picture)
    if options.only is None:
        name = "distributions_quick" if quick else "distributions"
        print("written:", save(name, stamp(("numpy", "scikit-learn", "xgboost"), quick=quick) | result), RESULTS.name)
    wrong = any(row["wrong"] for row in result.get("compas", {}).values() if isinstance(row, dict))
    same = all(all(row["identical"].values()) for row in result.get("references", {}).values())
    return 1 if wrong or not same else 0


if __name__ == "__main__":
    sys.exit(main())
