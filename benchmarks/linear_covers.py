"""Linear models with more CXps than can be listed: number, scores and interactions of pairs, exactly.

- real: a scaled logistic regression on scikit-learn's breast cancer data (30 real features), several rows; seconds for
  the whole explanation with both scores, and for the interactions of pairs.
- listing: random models of up to 14 features, counted and listed; they must be equal.
- sampling: the logistic regression with unit weights against Monte Carlo; CXps drawn uniformly must put every score
  inside a 99.9 % interval (Bonferroni over features and scores). Ratios cannot be judged in this way: of row 280's
  3,479,552 CXps, the 0.5 % with at most six features have 97 % of the weight, so uniform draws miss nearly all of it
  and their standard errors mean nothing.
- bulk: the ratios of that row, by the verifier, which lists all CXps in bulk and adds up weights modulo random primes.
- large: random models of more features, with the time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from time import perf_counter, process_time
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.engines.linear import engine as linear_engine
from axfi_kc.models import LinearModel, Positive, Slope
from axfi_kc.verification import claim as claims

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp

SEED = 0
KINDS = ("shapley", "banzhaf")
CONFIDENCE = 0.999


def timed(work: Any) -> tuple[Any, float, float]:
    """Return what a function gives, and its seconds by the clock and of the processor."""
    wall, cpu = perf_counter(), process_time()
    found = work()
    return found, perf_counter() - wall, process_time() - cpu


def cancer() -> tuple[ax.Explainer, Any]:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    return ax.Explainer(model, ax.Domain.from_data(X)), X


def real_rows(explainer: ax.Explainer, X: Any, rows: list[int], *, pairs: bool) -> Iterator[dict[str, Any]]:
    for row in rows:
        e, wall, cpu = timed(lambda row=row: explainer.explain(X.iloc[row]))
        _, more, more_cpu = timed(lambda e=e: [e.scores(kind) for kind in KINDS])
        entry = {"row": row, "cxps": e.cxp_count, "seconds": wall + more, "cpu": cpu + more_cpu}
        if pairs:
            found, wall, cpu = timed(lambda e=e: e.interactions("shapley"))
            entry |= {"pairs": len(found), "pairs_seconds": wall, "pairs_cpu": cpu}
        print(entry, flush=True)
        yield entry


def random_model(rng: Random, n: int, share: float | None = None) -> tuple[LinearModel, list[float]]:
    """Return a model over real features, and an instance whose margin is a share of what changes can take off it."""
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n)])
    slopes = [rng.gauss(0, 1) for _ in range(n)]
    point = [rng.random() for _ in range(n)]
    at = sum(s * x for s, x in zip(slopes, point, strict=True))
    reach = sum(s * (x if s > 0 else x - 1) for s, x in zip(slopes, point, strict=True))
    base = -at + (rng.uniform(0.1, 0.5) if share is None else share) * reach
    parts = [Slope((Fraction(s),)) for s in slopes]
    return LinearModel.of(domain, parts, base=[Fraction(base)], rule=Positive((0, 1))), point


def against_listing(number: int) -> dict[str, Any]:
    """Return how many random models gave the same, counted and listed."""
    rng, equal, counted = Random(SEED), 0, 0
    for _ in range(number):
        model, point = random_model(rng, rng.randint(2, 14))
        found = []
        for most in (0, 100_000):
            linear_engine.LISTED = most
            e = ax.Explainer(model, model.domain).explain(point)
            counted += type(e._found).__name__ == "CountedCxps"
            found.append((e.cxp_count, e.relevant, *(e.scores(kind) for kind in KINDS), e.interactions("banzhaf")))
        equal += found[0] == found[1]
    return {"models": number, "counted": counted, "equal": equal}


def against_sampling(explainer: ax.Explainer, x: Any, draws: int) -> dict[str, Any]:
    """Return how far scores of unit weights are from the means over CXps drawn uniformly, in standard errors."""
    e, rng = ax.Explainer(**{**explainer.get_params(), "weights": "unit"}).explain(x), Random(SEED)
    names = e.domain.names
    sums, squares = ({kind: np.zeros(len(names)) for kind in KINDS} for _ in range(2))
    place = {n: i for i, n in enumerate(names)}
    for _ in range(draws):
        cxp = e.cxps.sample(rng)
        size = len(cxp.features)
        for kind in KINDS:
            part = 1 / (size if kind == "shapley" else 2 ** (size - 1))
            for name in cxp.features:
                sums[kind][place[name]] += part
                squares[kind][place[name]] += part * part
    limit = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / (2 * len(names)))
    worst = 0.0
    for kind in KINDS:
        exact = np.array([float(s) for s in e.scores(kind).values()])
        mean = sums[kind] / draws
        error = np.sqrt(np.maximum(squares[kind] / draws - mean**2, 0)) / sqrt(draws)
        worst = max(worst, float(np.max(np.abs(mean - exact) / np.where(error > 0, error, 1))))
    return {"draws": draws, "largest_deviation": worst, "limit": limit, "inside": worst < limit}


def against_bulk(explainer: ax.Explainer, x: Any) -> dict[str, Any]:
    """Return what the verifier says of the scores of ratios, and how long it took."""
    e = explainer.explain(x)
    claims._MOST_SETS = 100  # of single CXps, which are weighed one by one; the scores are what is checked here
    report, wall, cpu = timed(lambda: ax.verify(e, explainer.model))
    checks = [c for c in report.checks if c.kind in ("score", "size", "relevance")]
    failed = sum(c.status == "failed" for c in report.checks)
    return {
        "cxps": e.cxp_count,
        "checks": len(checks),
        "failed": failed,
        "method": checks[-1].method,
        "cpu": cpu,
        "seconds": wall,
    }


def large(n: int) -> dict[str, Any]:
    model, point = random_model(Random(SEED), n, 1 / 3)
    explainer = ax.Explainer(model, model.domain)
    e, wall, cpu = timed(lambda: explainer.explain(point))
    _, more, more_cpu = timed(lambda: [e.scores(kind) for kind in KINDS])
    return {"features": n, "cxps": e.cxp_count, "seconds": wall + more, "cpu": cpu + more_cpu}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows, models and draws")
    parser.add_argument("--features", type=int, nargs="*", default=[40], help="sizes of the random models [40]")
    parser.add_argument("--parts", nargs="+", default=["real", "listing", "sampling", "bulk", "large"])
    options = parser.parse_args()
    explainer, X = cancer()
    found: dict[str, Any] = {}
    if "real" in options.parts:
        rows = [280] if options.quick else [280, 0, 400]
        found["breast cancer"] = list(real_rows(explainer, X, rows, pairs=not options.quick))
    if "listing" in options.parts:
        found["listing"] = against_listing(50 if options.quick else 500)
        print(found["listing"], flush=True)
    if "sampling" in options.parts:
        found["sampling"] = against_sampling(explainer, X.iloc[280], 300 if options.quick else 3_000)
        print(found["sampling"], flush=True)
    if "bulk" in options.parts:
        found["bulk"] = against_bulk(explainer, X.iloc[280])
        print(found["bulk"], flush=True)
    if "large" in options.parts and not options.quick:
        found["large"] = [large(n) for n in options.features]
        print(found["large"], flush=True)
    if not options.quick:
        save("linear_covers", {**stamp(("numpy", "numba", "scikit-learn"), seed=SEED), **found})


if __name__ == "__main__":
    main()
