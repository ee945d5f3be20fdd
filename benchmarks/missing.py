"""Missing values, library by library: predictions next to the library's own, explanations next to enumeration.

Every library that takes missing values is trained on tables of which a fifth is missing. Its own predict is asked at
random points, half of them with missing values, and on every threshold and one float to either side of it; small
models over whole numbers are explained and compared with the definitions over all points of the grid, and every
explanation is put to the independent checker.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from axfi_kc.errors import ConstantModelError
from benchmarks.provenance import save, stamp
from tests.support.missing_models import LIBRARIES, TASKS, is_decided_by_rounding, is_tie, trained, truth_of

PACKAGES = ("numpy", "scikit-learn", "xgboost-cpu", "xgboost", "lightgbm", "catboost")


def points(X: Any, form: Any, rows: int, seed: int) -> Any:
    """Return points of the domain: random ones, thresholds with their neighbours, half with missing values."""
    rng = np.random.default_rng(seed)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    found = rng.uniform(low, high, (rows, X.shape[1]))
    for i, axis in enumerate(form.grid.axes):
        cuts = [c.value for c in axis.cuts]
        near = [
            x for c in cuts for x in (np.nextafter(c, -np.inf), c, np.nextafter(c, np.inf)) if low[i] <= x <= high[i]
        ]
        if near:
            found[:, i] = np.where(rng.random(rows) < 0.5, rng.choice(near, rows), found[:, i])
    half = found[: rows // 2]
    half[rng.random(half.shape) < 0.3] = np.nan
    return found


def agreement(name: str, task: str, *, seed: int, rows: int) -> tuple[int, int, int]:
    """Return how many points were asked, at how many the outputs agree, and at how many rounding decides."""
    model, X = trained(name, task, seed, size=20, n=600, whole=False)
    domain = ax.Domain.from_data(X)
    form = ax.read_model(model, domain)
    asked = points(X, form, rows, seed)
    own = np.asarray(model.predict(asked)).reshape(-1)
    exact = form.predict(asked)
    if task == "regression":
        same = np.isclose(np.array([float(y) for y in exact]), own, rtol=1e-5, atol=1e-5)
    else:
        same = np.array(exact) == own
    return rows, int(same.sum()), sum(is_tie(form, asked[k]) for k in np.flatnonzero(~same))


def check_explanations(name: str, task: str, seed: int) -> str:
    """Compare a small model's explanations with the definitions; return what became of it."""
    model, X = trained(name, task, seed, size=2 + seed % 3)
    truth = truth_of(model, X, seed=seed)
    if is_decided_by_rounding(truth):
        return "decided by rounding"
    for v in truth.instances:
        answer, point = truth.answer(v), dict(zip(truth.domain.names, truth.point(v), strict=True))
        for weights in ("ratio", "count"):
            try:
                e = ax.Explainer(model, truth.domain, delta=truth.delta, weights=weights).explain(point)
            except ConstantModelError:
                assert truth.is_constant, (name, task, seed)
                return "constant"
            found = {truth.domain.mask(c.features): c.weight for c in e.cxps}
            assert found == answer.weights(weights), (name, task, seed, v, weights)
        assert sorted(truth.domain.mask(a.features) for a in e.axps) == sorted(answer.axps), (name, task, seed, v)
        report = ax.verify(e, model)
        assert report.ok, (name, task, seed, v, str(report))
        assert report.complete, (name, task, seed, v, str(report))
    return "explained"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="points asked of each model [%(default)s]")
    parser.add_argument("--models", type=int, default=500, help="small models explained [%(default)s]")
    parser.add_argument("--quick", action="store_true", help="1,000 points and 48 models")
    options = parser.parse_args()
    rows, models = (1_000, 48) if options.quick else (options.rows, options.models)
    begin, agreements, outcomes = perf_counter(), {}, Counter[str]()
    for name in LIBRARIES:
        try:
            agreements[name] = {task: agreement(name, task, seed=1, rows=rows) for task in TASKS}
        except pytest.skip.Exception as absent:
            print(f"{name}: {absent}")
            continue
        print(
            name,
            *(f"{task}: {e} of {n} equal, {t} at ties" for task, (n, e, t) in agreements[name].items()),
            sep="\n  ",
        )
    present = list(agreements)
    for seed in range(models):
        outcomes[check_explanations(present[seed % len(present)], TASKS[seed // len(present) % 3], seed)] += 1
    print(f"{models} small models: {dict(outcomes)}; three instances each equal enumeration and are proved by verify")
    result = {"agreements": agreements, "small_models": dict(outcomes), "seconds": round(perf_counter() - begin, 1)}
    print("written:", save("missing", stamp(PACKAGES, rows=rows, models=models) | result))
    return 0 if all(n == e + t for tasks in agreements.values() for n, e, t in tasks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
