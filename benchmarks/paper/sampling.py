"""What the paper's sampled weights get wrong.

For boosted trees and logistic regression the paper draws 5,000 points in the box of each CXp and takes
the share of adversarial examples as its weight. Here the CXps are exact, the points are classified by
the model's own library, and the sampled weights and scores are set against the exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.explanations.comparison import rank_overlap
from axfi_kc.explanations.explainer import Explanation
from benchmarks.paper.rankings import DEPTH, ranked
from benchmarks.paper.training import Trained

__all__ = ["SAMPLES", "sampled_scores", "sampled_weights", "sampling_errors"]


SAMPLES = 5_000
KINDS = ("shapley", "banzhaf")
_ROWS_AT_ONCE = 1_000_000


def sampled_weights(
    model: Any, domain: Domain, x: Any, output: Any, cxps: Sequence[Sequence[int]], *, samples: int, rng: Any
) -> list[float]:
    """Return the share of dissimilar points among `samples` random points of the box of each CXp.

    Parameters
    ----------
    model
        With a method ``predict`` on rows of numbers.
    domain
        Of numeric features.
    x, output
        The instance, and the model's output there.
    cxps
        Feature numbers of each CXp.
    samples, rng
        How many points, and NumPy's generator.
    """
    low = np.array([float(f.low) for f in domain.features])  # type: ignore[union-attr]
    high = np.array([float(f.high) for f in domain.features])  # type: ignore[union-attr]
    found: list[float] = []
    size = max(_ROWS_AT_ONCE // samples, 1)
    for first in range(0, len(cxps), size):
        part = cxps[first : first + size]
        points = np.tile(np.asarray(x, dtype=np.float64), (len(part), samples, 1))
        for k, cxp in enumerate(part):
            columns = list(cxp)
            points[k, :, columns] = rng.uniform(low[columns], high[columns], (samples, len(columns))).T
        wrong = np.asarray(model.predict(points.reshape(-1, len(domain)))) != output
        found += wrong.reshape(len(part), samples).mean(axis=1).tolist()
    return found


def sampled_scores(
    cxps: Sequence[Sequence[int]], weights: Sequence[float], names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return both AxFi scores from sampled weights, in floating point."""
    found = {kind: dict.fromkeys(names, 0.0) for kind in KINDS}
    for cxp, weight in zip(cxps, weights, strict=True):
        for i in cxp:
            found["shapley"][names[i]] += weight / len(cxp) / len(cxps)
            found["banzhaf"][names[i]] += weight / 2 ** (len(cxp) - 1) / len(cxps)
    return found


def sampling_errors(trained: Trained, *, seed: int, samples: int = SAMPLES) -> dict[str, Any]:
    """Return the errors of sampled weights, scores and rankings over the test instances."""
    explainer = trained.explainer()
    batch = explainer.explain_batch(trained.instances)
    rng = np.random.default_rng(seed)
    rows = [_errors(trained, e, x, samples, rng) for e, x in zip(batch, trained.codes, strict=True)]
    return {
        "data": trained.data.name,
        "instances": len(rows),
        "samples": samples,
        "cxps": sum(r["cxps"] for r in rows),
        "weight_largest": max(r["weight"] for r in rows),
        "sampled_as_zero": sum(r["zeros"] for r in rows),
        "seconds": mean(r["seconds"] for r in rows),
        **{kind: _summary([r[kind] for r in rows]) for kind in KINDS},
    }


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "score_largest": max(r["score"] for r in rows),
        "score_relative_mean": mean(r["relative"] for r in rows),
        "top_wrong": sum(r["top"] for r in rows),
        "order_wrong": sum(r["order"] for r in rows),
        "overlap_mean": mean(r["overlap"] for r in rows),
        "overlap_min": min(r["overlap"] for r in rows),
    }


def _errors(
    trained: Trained, explanation: Explanation, x: npt.NDArray[np.float64], samples: int, rng: Any
) -> dict[str, Any]:
    domain = trained.domain
    cxps = [[domain.index(name) for name in c.features] for c in explanation.cxps]
    start = perf_counter()
    weights = sampled_weights(trained.model, domain, x, explanation.prediction, cxps, samples=samples, rng=rng)
    found = sampled_scores(cxps, weights, domain.names)
    seconds = perf_counter() - start
    exact = [float(c.weight) for c in explanation.cxps]
    return {
        "cxps": len(cxps),
        "seconds": seconds,
        "weight": max((abs(a - b) for a, b in zip(exact, weights, strict=True)), default=0.0),
        "zeros": sum(a > 0 and b == 0 for a, b in zip(exact, weights, strict=True)),
        **{kind: _rank_errors(explanation.scores(kind), found[kind]) for kind in KINDS},
    }


def _rank_errors(exact: Mapping[str, Any], sampled: Mapping[str, float]) -> dict[str, Any]:
    """Compare a ranking with the exact one; an order of features whose exact scores are equal is never wrong."""
    true, other = ranked(exact), ranked(sampled)
    largest = float(exact[true[0]])
    error = max(abs(float(exact[name]) - sampled[name]) for name in exact)
    return {
        "score": error,
        "relative": error / largest if largest else 0.0,
        "top": exact[true[0]] != exact[other[0]],
        "order": [exact[name] for name in true[:DEPTH]] != [exact[name] for name in other[:DEPTH]],
        "overlap": float(rank_overlap(true, other)),
    }
