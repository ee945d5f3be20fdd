"""Interactions, and the circuits behind weights, set against other people's tools and plain definitions.

- shapiq: the paper's ten models, the CXp-Forest's game of a few instances over at most twelve features (the others
  frozen): every index that both have, against shapiq's exact computer; largest difference.
- definitions: random forests, all six indices, in Fractions against sums over all coalitions and least squares.
- recounting: weights of CXps counted once more from the saved ``.nnf`` by dd, PySDD and plain enumeration: random
  problems, and ten CXps of each of the paper's models (of linear models over real features there is no circuit). Over
  finite domains the model's own ``predict`` is asked at every point of the CXp's box as well.
- time: pairs next to scores, on an instance with more than 27,235 CXps of XGBoost's defaults on breast cancer.

    python benchmarks/interactions.py --quick
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.domain.domain import values_of
from axfi_kc.domain.features import Real
from axfi_kc.errors import ConstantModelError
from axfi_kc.scores.interactions import INTERACTIONS, interactions_of

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.paper.data_sets import LINEAR, NAMES, load
from benchmarks.paper.training import Trained, train
from benchmarks.provenance import save, stamp
from tests.support.interaction_definitions import by_definition, random_forest
from tests.support.nnf_recounting import NnfText, counted_by_dd, counted_by_pysdd, enumerated
from tests.support.random_problems import KINDS, random_truth

ROOT = Path(__file__).resolve().parent.parent
SEED = 0
MOST_PLAYERS = 12
MOST_BITS = 14
CXPS = 10
ROW = 200  # of breast cancer: 28,237 CXps


def trained(name: str, folder: Path) -> Trained:
    return train(load(name, folder=folder), seed=SEED, instances=50)


def small_games(model: Trained, number: int) -> Iterator[ax.Explanation]:
    """Iterate over explanations with CXps of at most twelve features, those with the largest scores."""
    explainer, found = model.explainer(), 0
    for row in range(len(model.instances)):
        x = model.instances.iloc[row]
        e = explainer.explain(x)
        if len(e.relevant) > MOST_PLAYERS:
            scores = e.scores()
            kept = sorted(scores, key=lambda n: -scores[n])[:MOST_PLAYERS]
            frozen = [n for n in model.domain.names if n not in kept]
            e = explainer.explain(x, within=ax.Region(frozen=frozen))
        if e.cxp_count > 1:
            found += 1
            yield e
        if found == number:
            return


def against_shapiq(model: Trained, number: int, orders: tuple[int, ...]) -> dict[str, Any]:
    """Return the largest difference of each index to shapiq's exact computer."""
    import shapiq

    worst, games, sets = dict.fromkeys((kind.code for kind in INTERACTIONS.values()), 0.0), 0, 0
    for e in small_games(model, number):
        place, games = {n: i for i, n in enumerate(e.relevant)}, games + 1
        masks = [(sum(1 << place[n] for n in c.features), float(c.weight) / e.cxp_count) for c in e.cxps]
        computer = shapiq.ExactComputer(_game(masks), n_players=len(place))
        for kind in INTERACTIONS.values():
            for order in orders:
                theirs = computer(kind.code, order)
                for size in range(1, order + 1):
                    ours = e.interactions(kind.name, order=size, up_to=order)
                    for names in combinations(e.relevant, size):
                        apart = abs(float(ours.get(names, 0)) - theirs[tuple(place[n] for n in names)])
                        worst[kind.code] = max(worst[kind.code], apart)
                        sets += 1
    return {"data": model.data.name, "games": games, "sets": sets, **worst}


def _game(masks: list[tuple[int, float]]) -> Any:
    """Return the forest's value as a function of rows of flags, in floats."""

    def values(coalitions: Any) -> Any:
        flags = np.asarray(coalitions, dtype=np.int64)
        met = flags @ (1 << np.arange(flags.shape[1]))
        return sum(((met & mask) > 0) * weight for mask, weight in masks)

    return values


def against_definitions(number: int) -> dict[str, Any]:
    """Return how many random forests have exactly the interactions that the definitions say, of every index."""
    rng, equal, sets = Random(SEED), 0, 0
    for _ in range(number):
        forest = random_forest(rng, rng.randint(2, 5))
        n = len(forest.features)
        up_to = rng.randint(1, min(n, 3))
        same = True
        for kind in INTERACTIONS:
            for order in range(1, up_to + 1):
                expected = by_definition(forest.value_of_mask, n, kind, order, up_to)
                found = interactions_of(forest.sets, forest.features, kind, order=order, up_to=up_to)
                same &= found == {tuple(f"x{i}" for i in T): x for T, x in expected.items() if x}
                sets += len(expected)
        equal += same
    return {"forests": number, "equal": equal, "sets": sets}


def recounted(e: ax.Explanation, cxp: ax.CXp, file: Path) -> tuple[bool, bool]:
    """Return whether a saved circuit gives the weight again, by dd, PySDD and enumeration, and whether by the last."""
    e.circuit(cxp).save(file)
    nnf = NnfText.read(file)
    models, weight = counted_by_dd(nnf)
    same = weight == cxp.weight and models == counted_by_pysdd(nnf)
    if nnf.n_variables <= MOST_BITS:
        same &= enumerated(nnf) == (models, weight)
    return same, nnf.n_variables <= MOST_BITS


def random_recounts(number: int) -> dict[str, Any]:
    """Return how many CXps of random problems have the weight that other programs count."""
    rng, found = Random(SEED), {"problems": 0, "cxps": 0, "equal": 0, "enumerated": 0}
    with tempfile.TemporaryDirectory() as folder:
        while found["problems"] < number:
            truth = random_truth(rng, rng.choice(KINDS), n_instances=1)
            point = dict(zip(truth.domain.names, _values(truth), strict=True))
            try:
                e = ax.Explainer(truth.model, truth.domain, delta=truth.delta).explain(point)
            except ConstantModelError:
                continue
            if not e.cxp_count:
                continue
            found["problems"] += 1
            for cxp in e.cxps:
                same, listed = recounted(e, cxp, Path(folder, "one.nnf"))
                found["cxps"] += 1
                found["equal"] += same
                found["enumerated"] += listed
    return found


def _values(truth: Any) -> list[Any]:
    return [row[k] for row, k in zip(truth.values, truth.instances[0], strict=True)]


def model_recounts(model: Trained) -> dict[str, Any]:
    """Return how many of ten CXps have the weight that other programs, and the model's own predict, count."""
    explainer, cxps = model.explainer(), list[tuple[ax.Explanation, ax.CXp]]()
    for row in range(len(model.instances)):
        e = explainer.explain(model.instances.iloc[row])
        cxps += [(e, max(e.cxps, key=lambda c: len(c.features)))] if e.cxp_count else []  # the largest: most to count
        if len(cxps) >= CXPS:
            break
    finite = not any(isinstance(f, Real) for f in model.domain.features)
    equal = asked = 0
    with tempfile.TemporaryDirectory() as folder:
        for e, cxp in cxps:
            same, _ = recounted(e, cxp, Path(folder, "one.nnf"))
            if finite:
                count, points = _by_predict(model, e, cxp)
                same &= count == e.circuit(cxp).count() and Fraction(count, points) == cxp.weight
                asked += points
            equal += same
    return {"data": model.data.name, "finite": finite, "cxps": len(cxps), "equal": equal, "points asked": asked}


def _by_predict(model: Trained, e: ax.Explanation, cxp: ax.CXp) -> tuple[int, int]:
    """Return how many points of the box of a CXp the model's own predict finds dissimilar, and how many there are."""
    axes = [list(values_of(f)) if f.name in cxp.features else [e.instance[f.name]] for f in model.domain.features]
    points = [tuple(e.instance.values()), *product(*axes)]
    rows = model.domain.encode(points) if model.names_categories else np.array(points, dtype=np.float64)
    own, *others = model.predict(rows).tolist()
    delta = model.data.delta
    apart = [y != own if delta is None else abs(y - own) > delta for y in others]
    return sum(apart), len(others)


def against_scores(repeats: int) -> dict[str, Any]:
    """Return how long pairs take next to scores, on an instance with more than 27,235 CXps."""
    from sklearn.datasets import load_breast_cancer
    from xgboost import XGBClassifier

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    model = XGBClassifier(random_state=SEED, n_jobs=1).fit(X, y)
    e = ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[ROW])
    e.interactions()  # compiles the kernel
    rows = []
    for _ in range(repeats):
        begin = process_time()
        e.scores("shapley")
        middle = process_time()
        e.interactions("shapley")
        rows.append((middle - begin, process_time() - middle))
    scores, pairs = (1000 * median(column) for column in zip(*rows, strict=True))
    ratio = median(b / a for a, b in rows)
    return {"cxps": e.cxp_count, "scores_ms": round(scores, 1), "pairs_ms": round(pairs, 1), "ratio": round(ratio, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer games, forests and problems; nothing is saved")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="where the data sets lie")
    parser.add_argument("--parts", nargs="+", default=["shapiq", "definitions", "recounting", "time"])
    options = parser.parse_args()
    found: dict[str, Any] = {part: [] for part in options.parts}

    def note(part: str, entry: dict[str, Any]) -> None:
        print(part, entry, flush=True)
        found[part].append(entry)

    for name in NAMES if {"shapiq", "recounting"} & set(options.parts) else ():
        model = trained(name, options.data)
        if "shapiq" in options.parts:
            note("shapiq", against_shapiq(model, 1 if options.quick else 5, (2,) if options.quick else (2, 3)))
        if "recounting" in options.parts and name not in LINEAR:
            note("recounting", model_recounts(model))
    if "recounting" in options.parts:
        note("recounting", random_recounts(50 if options.quick else 300))
    if "definitions" in options.parts:
        note("definitions", against_definitions(50 if options.quick else 500))
    if "time" in options.parts:
        note("time", against_scores(5 if options.quick else 15))
    if not options.quick:
        save("interactions", {**stamp(("numpy", "numba", "shapiq", "dd", "PySDD", "xgboost"), seed=SEED), **found})


if __name__ == "__main__":
    main()
