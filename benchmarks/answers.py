"""More exact answers: precisions, probabilistic AXps, inflated explanations and "why not b?", judged and timed.

Each part prints what was compared with what, and how many differ:

- precision against sums over all points, on random problems and on all points of compas;
- probabilistic AXps against brute force over all sets of features, with monotone classifiers as a special case;
- inflated explanations: implicants by the independent verifier, none extendable, coverage by enumeration; and how much
  more they cover than plain AXps, whose features are kept as they are, on five real models;
- "why not b?" against brute force, for multi-class tables, trees, ensembles and linear models;
- the time of a precision on the trees of depth 8 that the paper explains.

The paper's data sets are looked for in the folder named by AXFI_SHARED (default ../shared); without them, and without
XGBoost, the parts that need them say so and are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.errors import AxfiError
from axfi_kc.explanations.paxps import find_paxps, locally_minimal_paxp
from axfi_kc.models import Argmax
from benchmarks.provenance import save, stamp
from tests.support.boxes import BoxJudge, minimal_among, precision_table, random_question
from tests.support.linear_judge import ClassJudge
from tests.support.random_problems import random_plane, random_truth
from tests.support.shared_data import SHARED, TREE_SETS, tree_set

THRESHOLDS = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(1))


def precisions(number: int) -> dict[str, int]:
    """Compare precisions and probabilistic AXps with sums over all points, on random problems."""
    rng, found = Random("precisions"), Counter[str]()
    while found["problems"] < number:
        truth, v, problem = random_question(rng)
        least = rng.choice(THRESHOLDS)
        try:
            table = precision_table(truth, v)
        except ZeroDivisionError:
            continue
        found["problems"] += 1
        everything = range(len(table))
        for S in rng.sample(everything, min(4, len(table))):
            found["precisions"] += 1
            found["wrong"] += ax_precision(problem, truth.domain.names_of(S)) != table[S]
        right = {S: table[S] for S in minimal_among([S for S in table if table[S] >= least])}
        listed = {truth.domain.mask(p.features): p.precision for p in find_paxps(problem, least)}
        local = truth.domain.mask(locally_minimal_paxp(problem, least).features)
        found["families"] += 1
        found["wrong families"] += listed != right
        found["not locally minimal"] += table[local] < least or any(
            table[local & ~(1 << i)] >= least for i in range(len(v)) if local >> i & 1
        )
    return dict(found)


def ax_precision(problem: ax.Problem, names: tuple[str, ...]) -> Fraction:
    from axfi_kc.explanations.chances import precision_of

    return precision_of(problem, names)


def monotone(number: int) -> dict[str, int]:
    """Compare locally minimal sets with minimal ones at the best corner of random monotone classifiers."""
    rng, found = Random("monotone"), Counter[str]()
    while found["classifiers"] < number:
        domain = ax.Domain([ax.Integer(f"x{i}", 0, rng.randint(1, 2)) for i in range(rng.randint(3, 5))])
        points = list(domain.points())
        seeds = [p for p in points if rng.random() < 0.15]
        ones = [int(any(all(a >= b for a, b in zip(p, q, strict=True)) for q in seeds)) for p in points]
        if not any(ones) or all(ones):
            continue
        e = ax.Explainer(ax.TableModel.from_outputs(domain, ones), domain).explain(points[-1])
        for least in THRESHOLDS:
            found["sets"] += 1
            found["not minimal"] += e.paxp(least) not in tuple(e.paxps(least))
        found["classifiers"] += 1
    return dict(found)


def compas(rows: int) -> dict[str, int]:
    """Compare precisions on compas with what the tree itself predicts at all points."""
    data = tree_set("compas")
    model = DecisionTreeClassifier(max_depth=8, random_state=0).fit(data.X, data.y)
    domain = ax.Domain.from_data(data.X)
    points = np.array(list(domain.points()))
    outputs, rng, found = model.predict(pd.DataFrame(points, columns=data.X.columns)), Random(0), Counter[str]()
    explainer = ax.Explainer(model, domain)
    for k in rng.sample(range(len(data.X)), rows):
        e, v = explainer.explain(data.X.iloc[[k]]), data.X.iloc[k].to_numpy()
        for _ in range(10):
            kept = rng.sample(range(len(domain)), rng.randint(0, len(domain)))
            around = (points[:, kept] == v[kept]).all(axis=1)
            share = Fraction(int((outputs[around] == e.prediction).sum()), int(around.sum()))
            found["precisions"] += 1
            found["wrong"] += e.precision([domain.names[i] for i in kept]) != share
    return {"points": len(points), **found}


def boxes(number: int) -> dict[str, int]:
    """Judge inflated AXps and CXps of random problems by a listing, and by the independent verifier."""
    rng, found = Random("boxes"), Counter[str]()
    while found["problems"] < number:
        truth, v, problem = random_question(rng)
        options: dict[str, Any] = {"delta": problem.similarity.delta, "toward": problem.similarity.toward}
        try:
            explainer = ax.Explainer(problem.model, problem.domain, weights="unit", **options)
            e = explainer.explain(problem.instance)
            made = [(True, e.inflated_axp()), (True, e.most_general())]
            made += [(False, e.inflated_cxp())] if e.cxps else []
        except AxfiError:
            continue
        found["problems"] += 1
        for is_kept, box in made:
            members = range(len(v)) if is_kept else [truth.domain.index(name) for name in box.features]
            judge = BoxJudge(truth, v, members)
            cells = judge.cells(box)
            found["boxes"] += 1
            found["impure"] += not judge.is_pure(cells, similar=is_kept)
            found["extendable"] += any(judge.is_pure(wider, similar=is_kept) for wider in judge.wider(box))
            found["other coverage"] += box.coverage != judge.measure(cells)
        report = ax.verify(e, problem.model)
        kinds = [c for c in report.checks if c.kind in ("box", "extension", "coverage")]
        found["checks proved by the verifier"] += sum(c.status == "proved" for c in kinds)
        found["checks failed"] += sum(c.status == "failed" for c in kinds)
    return dict(found)


def real_models() -> Iterator[tuple[str, Any, Any, Any, list[str]]]:
    """Yield five real models: name, model, data, delta and categorical columns."""
    if (SHARED / "data").is_dir():
        for name in ("adult", "compas", "auto-mpg"):
            data = tree_set(name)
            kind = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
            yield (
                f"{name}, tree",
                kind(max_depth=8, random_state=0).fit(data.X, data.y),
                data.X,
                data.delta,
                data.categorical,
            )
    else:
        print(f"{SHARED / 'data'} is absent: two models instead of five (set AXFI_SHARED).")
    cancer = load_breast_cancer(as_frame=True)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(cancer.data, cancer.target)
    yield "breast cancer, tree", tree, cancer.data, None, []
    forest = RandomForestClassifier(8, max_depth=3, random_state=0).fit(cancer.data, cancer.target)
    yield "breast cancer, forest", forest, cancer.data, None, []


def coverage(rows: int) -> Iterator[dict[str, Any]]:
    """Compare what plain AXps, inflated ones and the most general boxes cover, on real models."""
    for name, model, X, delta, categorical in real_models():
        domain = ax.Domain.from_data(X, categorical=categorical)
        explainer = ax.Explainer(model, domain, delta=delta, budget=ax.Budget(seconds=10))
        inflated, general, proved, seconds, failed = [], [], 0, [], 0
        for k in Random(0).sample(range(len(X)), rows):
            e = explainer.explain(X.iloc[[k]])
            start = perf_counter()
            axp = e.smallest_axp()
            box, largest = e.inflated_axp(axp), e.most_general()
            seconds.append(perf_counter() - start)
            # A plain AXp keeps the cells of its features; of real ones these are what the model tells apart.
            grid = e.problem.model.grid
            own = [grid.axes[domain.index(n)].numerators[e.problem.cells[domain.index(n)]] for n in axp.features]
            wholes = [grid.axes[domain.index(n)].denominator for n in axp.features]
            plain = np.prod([Fraction(a, b) for a, b in zip(own, wholes, strict=True)] or [Fraction(1)])
            if plain:
                inflated.append(float(box.coverage / plain))
                general.append(float(largest.coverage / plain))
            proved += largest.is_largest
            report = ax.verify(e, model, budget=ax.Budget(seconds=10))
            failed += sum(c.status == "failed" for c in report.checks if c.kind in ("box", "extension", "coverage"))
        yield {
            "model": name,
            "rows": rows,
            "inflated_over_plain": geometric_mean(inflated),
            "most_general_over_plain": geometric_mean(general),
            "proved_largest": proved,
            "failed_checks": failed,
            "seconds": median(seconds),
        }


def why_not(number: int) -> dict[str, int]:
    """Compare CXps and weights toward a class with brute force, for models of three classes and more."""
    rng, found = Random("why not"), Counter[str]()
    for kind in ("table", "tree", "ensemble", "linear", "classes", "network"):
        while found[kind] < number:
            truth = random_truth(rng, kind, n_instances=4)
            labels = sorted(set(truth.outputs), key=str) if truth.delta is None else []
            if len(labels) < 3:
                continue
            asked = replace(truth, toward=rng.choice(labels))
            explainer = ax.Explainer(truth.model, truth.domain, toward=asked.toward)
            for v in (v for v in truth.instances if truth.output(v) != asked.toward):
                e = explainer.explain(dict(zip(truth.domain.names, truth.point(v), strict=True)))
                made = {truth.domain.mask(c.features): c.weight for c in e.cxps}
                found["wrong"] += made != asked.answer(v).ratios
                found[kind] += 1
    while found["linear, real features"] < number:
        model, v, _ = random_plane(rng)
        if not isinstance(model.rule, Argmax):
            continue
        point = dict(zip(model.domain.names, v, strict=True))
        judge = ClassJudge(model, v, toward=rng.choice([y for y in "abc" if y != model.predict([point])[0]]))
        e = ax.Explainer(model, model.domain, toward=judge.toward).explain(point)
        made_sets = {frozenset(map(model.domain.index, c.features)): c.weight for c in e.cxps}
        found["wrong"] += made_sets != {Y: judge.ratio(Y) for Y in judge.cxps()}
        found["linear, real features"] += 1
    return dict(found)


def times() -> Iterator[dict[str, Any]]:
    """Time precisions on the trees of depth 8; the first call makes what the others share."""
    for name in TREE_SETS if (SHARED / "data").is_dir() else ():
        data, rng, seconds = tree_set(name), Random(0), list[float]()
        kind = DecisionTreeClassifier if data.delta is None else DecisionTreeRegressor
        model = kind(max_depth=8, random_state=0).fit(data.X, data.y)
        domain = ax.Domain.from_data(data.X, categorical=data.categorical)
        explainer = ax.Explainer(model, domain, delta=data.delta)
        for k in rng.sample(range(len(data.X)), 20):
            e = explainer.explain(data.X.iloc[[k]])
            for _ in range(5):
                names = rng.sample(domain.names, rng.randint(0, len(domain)))
                start = perf_counter()
                e.precision(names)
                seconds.append(perf_counter() - start)
        yield {
            "model": name,
            "first_ms": 1e3 * seconds[0],
            "median_ms": 1e3 * median(seconds),
            "most_ms": 1e3 * max(seconds),
        }


def _row(found: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer problems and rows")
    options = parser.parse_args()
    few = options.quick
    results: dict[str, Any] = {"stamp": stamp(("numpy", "scikit-learn"), quick=few)}
    results["precisions"] = precisions(500)
    print("precision and probabilistic AXps, random problems:", _row(results["precisions"]))
    results["monotone"] = monotone(20 if few else 100)
    print("monotone classifiers at their best corner:", _row(results["monotone"]))
    if (SHARED / "data").is_dir():
        results["compas"] = compas(5 if few else 40)
        print("precision on compas, by the tree's own predict:", _row(results["compas"]))
    results["boxes"] = boxes(60 if few else 300)
    print("inflated explanations, random problems:", _row(results["boxes"]))
    results["coverage"] = []
    for row in coverage(5 if few else 25):
        results["coverage"].append(row)
        print("coverage:", _row(row))
    results["why_not"] = why_not(25 if few else 150)
    print("why not b?", _row(results["why_not"]))
    results["times"] = list(times())
    for row in results["times"]:
        print("precision, trees of depth 8:", _row(row))
    print(f"written to {save('answers', results)}")


if __name__ == "__main__":
    main()
