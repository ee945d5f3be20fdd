"""Exact weights and scores of logistic regressions next to the paper's way, sampling, in one run.

For the two reference models (Openstack with 13, Qt with 16 real features): 500 instances each; seconds
per instance for everything exact (all CXps, all weights in closed form, both scores, as integers over
common denominators) and for the same CXps with 5,000 random points each, drawn and scored by
NumPy a CXp at a time; and the largest errors that sampling made: in a weight, in a score, and in
the ranking. Each time is the median of several runs, taken in turn so that both sides see the same
machine.

The reference models are looked for in the folder named by AXFI_SHARED (default ../shared); when they
are absent, a model of a data set that ships with scikit-learn takes their place.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.models import LinearModel, Positive

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.provenance import save, stamp
from tests.support.shared_data import SHARED

SEED = 0
SAMPLES = 5_000
KINDS = ("shapley", "banzhaf")


@dataclass(frozen=True)
class Case:
    """A binary model with real features, and instances."""

    name: str
    names: list[str]
    coefficients: list[float]
    intercept: float
    low: np.ndarray
    high: np.ndarray
    X: np.ndarray

    def explainer(self, **options: Any) -> ax.Explainer:
        domain = ax.Domain([ax.Real(n, a, b) for n, a, b in zip(self.names, self.low, self.high, strict=True)])
        rule = Positive((False, True))
        model = LinearModel.of_columns(domain, [self.coefficients], intercepts=[self.intercept], rule=rule)
        return ax.Explainer(model, domain, **options)


def cases() -> Iterator[Case]:
    if not (SHARED / "refs").is_dir():
        print(
            f"{SHARED / 'refs'} is absent: using data that ships with scikit-learn (set AXFI_SHARED for the paper's)."
        )
        yield breast_cancer()
        return
    for name in ("openstack", "qt"):
        given = json.loads((SHARED / "refs" / f"ref_lr_{name}.json").read_text())
        X = np.array([i["values"] for i in given["instances"]])
        low, high = np.minimum(given["lower"], X.min(axis=0)), np.maximum(given["upper"], X.max(axis=0))
        yield Case(name, given["feature_names"], given["coefficients"], given["intercept"], low, high, X)


def breast_cancer() -> Case:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]
    model = LogisticRegression(max_iter=10_000).fit(X, y)
    names = [f"x{i}" for i in range(X.shape[1])]
    return Case("breast-cancer", names, model.coef_[0].tolist(), float(model.intercept_[0]), X.min(0), X.max(0), X)


@dataclass(frozen=True)
class Sampled:
    """Weights by sampling, one per CXp, and scores, a row per instance."""

    weights: np.ndarray
    scores: dict[str, np.ndarray]


def exact_way(explainer: ax.Explainer, X: np.ndarray) -> tuple[ax.Batch, dict[str, Any]]:
    batch = explainer.explain_batch(X)
    return batch, {kind: batch.score_numerators(kind) for kind in KINDS}


def sampled_way(case: Case, explainer: ax.Explainer, X: np.ndarray) -> Sampled:
    """Find the CXps exactly, and draw points in the box of each, as the paper does."""
    rng = np.random.default_rng(SEED)
    found = explainer.explain_batch(X)._found
    members, starts = found.members, found.starts.tolist()
    coefficients, span = np.array(case.coefficients), case.high - case.low
    weights = np.empty(len(members))
    scores = {kind: np.zeros(X.shape) for kind in KINDS}
    for n, x in enumerate(X):
        constant, a, b = float(coefficients @ x) + case.intercept, starts[n], starts[n + 1]
        for k in range(a, b):
            Y = np.flatnonzero(members[k])
            c = coefficients[Y]
            rest = constant - float(c @ (x[Y] - case.low[Y]))
            positive = rng.random((SAMPLES, len(Y))) @ (c * span[Y]) + rest > 0
            weights[k] = np.count_nonzero(positive != found.outputs[n]) / SAMPLES
            scores["shapley"][n, Y] += weights[k] / len(Y) / (b - a)
            scores["banzhaf"][n, Y] += weights[k] / 2 ** (len(Y) - 1) / (b - a)
    return Sampled(weights, scores)


def errors(batch: ax.Batch, exact_scores: dict[str, Any], sampled: Sampled) -> dict[str, Any]:
    """Return the largest errors of the sampled weights and scores, and the changes of rank."""
    numerators, denominators = batch._found.scaled
    starts = batch._found.starts.tolist()
    weights = np.array([numerators[k] / d for n, d in enumerate(denominators) for k in range(starts[n], starts[n + 1])])
    off = np.abs(weights - sampled.weights)
    found: dict[str, Any] = {
        "weight": float(off.max()),
        "weight_relative": float((off / np.where(weights > 0, weights, 1)).max()),
        "weights_sampled_as_zero": int(((sampled.weights == 0) & (weights > 0)).sum()),
        "weights": len(weights),
    }
    for kind, (tops, wholes) in exact_scores.items():
        scores = np.array([[t / d for t in row] for row, d in zip(tops.tolist(), wholes, strict=True)])
        best = [max(range(len(row)), key=row.__getitem__) for row in tops.tolist()]
        found[f"score_{kind}"] = float(np.abs(scores - sampled.scores[kind]).max())
        found[f"top_changed_{kind}"] = int((sampled.scores[kind].argmax(axis=1) != best).sum())
        order = np.argsort(-sampled.scores[kind], axis=1, kind="stable")
        exact_order = [sorted(range(len(row)), key=lambda i: -row[i]) for row in tops.tolist()]
        found[f"order_changed_{kind}"] = int((order != np.array(exact_order)).any(axis=1).sum())
    return found


def measure(case: Case, *, instances: int, runs: int) -> dict[str, Any]:
    X = case.X[:instances]
    explainer, finder = case.explainer(), case.explainer(weights="unit")
    exact_way(explainer, X[:2])  # compiles the kernels
    tasks: dict[str, Callable[[], Any]] = {
        "exact": lambda: exact_way(explainer, X),
        "cxps": lambda: finder.explain_batch(X),
        "sampled": lambda: sampled_way(case, finder, X),
    }
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(runs):
        for name, task in tasks.items():
            start = perf_counter()
            result = task()
            times[name].append(perf_counter() - start)
            del result  # freed outside the clock
    (batch, exact_scores), sampled = tasks["exact"](), tasks["sampled"]()
    seconds = {name: median(found) / len(X) for name, found in times.items()}
    return {
        "name": case.name,
        "features": len(case.names),
        "instances": len(X),
        "cxps_per_instance": len(sampled.weights) / len(X),
        "seconds_per_instance": seconds,
        "sampled_over_exact": seconds["sampled"] / seconds["exact"],
        "sampling_errors": errors(batch, exact_scores, sampled),
    }


def show(row: dict[str, Any]) -> None:
    seconds, off = row["seconds_per_instance"], row["sampling_errors"]
    print(
        f"{row['name']}: {row['features']} features, {row['instances']} instances, "
        f"{row['cxps_per_instance']:.2f} CXps each\n"
        f"  exact    {seconds['exact'] * 1e6:9.1f} us per instance (finding CXps {seconds['cxps'] * 1e6:.1f})\n"
        f"  sampled  {seconds['sampled'] * 1e6:9.1f} us per instance, {row['sampled_over_exact']:.1f} times the exact\n"
        f"  largest error of sampling: weight {off['weight']:.4f} (relative {off['weight_relative']:.2f}; "
        f"{off['weights_sampled_as_zero']} of {off['weights']} sampled as zero), "
        f"Shapley-like score {off['score_shapley']:.4f}, Banzhaf-like {off['score_banzhaf']:.4f}\n"
        f"  instances whose top feature changes: {off['top_changed_shapley']} (Shapley-like), "
        f"{off['top_changed_banzhaf']} (Banzhaf-like); whose order changes: {off['order_changed_shapley']}, "
        f"{off['order_changed_banzhaf']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="50 instances, three runs")
    quick = parser.parse_args().quick
    instances, runs = (50, 3) if quick else (500, 15)
    rows = []
    for case in cases():
        rows.append(measure(case, instances=instances, runs=runs))
        show(rows[-1])
    settings = {"instances": instances, "runs": runs, "samples": SAMPLES, "seed": SEED}
    result = {**stamp(("axfi-kc", "numpy", "numba"), **settings), "results": rows}
    print(f"written to {save('linear-quick' if quick else 'linear', result)}")


if __name__ == "__main__":
    main()
