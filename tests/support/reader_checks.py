"""What every reader must show: the library's own predictions at 10,000 points, and brute force over them on grids."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError
from axfi_kc.models.own_predict import predictor
from tests.support.oracle import Judge, space_of
from tests.support.probes import gaps, probes, random_codes

POINTS = 10_000


def points_around(domain: ax.Domain, thresholds: dict[int, Any], *, seed: int = 0, n: int = POINTS) -> np.ndarray:
    """Return codes of points, on each side of each threshold and random; half have values missing, where these may."""
    rng = np.random.default_rng(seed)
    edges = probes(domain, thresholds, n=0, seed=seed)
    codes = np.concatenate([edges, random_codes(domain, max(n - len(edges), n // 4), rng)])
    holes = rng.random(codes.shape) < 0.3
    holes[rng.random(len(codes)) < 0.5] = False
    holes[:, [not feature.missing for feature in domain.features]] = False
    return np.where(holes, np.nan, codes)


def check_predictions(estimator: Any, domain: ax.Domain, codes: np.ndarray) -> None:
    """Require the library's outputs everywhere but where exact scores tie within the stated rounding."""
    model = ax.read_model(estimator, domain)
    own, ours = predictor(estimator, domain)(codes), model.outputs_at(codes)
    if model.is_regression:
        assert max(abs(Fraction(a) - b) for a, b in zip(own, ours, strict=True)) <= model.rounding_error
        return
    scores = model.scores_at(codes)
    near = gaps(scores) <= float(model.rounding_error)
    assert near.mean() < 0.05
    odd = [n for n, (a, b) in enumerate(zip(own, ours, strict=True)) if a != b and not near[n]]
    assert not odd, (codes[odd[0]], own[odd[0]], ours[odd[0]])
    assert len(set(own)) > 1


def check_explanations(estimator: Any, domain: ax.Domain, rows: Any, *, delta: Any = None) -> None:
    """Require CXps, their weights and AXps to be those of brute force over the library's own predictions."""
    points = list(domain.points())
    outputs = predictor(estimator, domain)(np.array([domain.encode_point(point) for point in points]))
    listing = dict(zip(points, outputs, strict=True))
    explainer = ax.Explainer(estimator, domain, delta=delta)
    for row in rows:
        judge = Judge(space_of(domain), listing.__getitem__, row, None if delta is None else Fraction(delta))
        expected = {Y: judge.ratio(Y) for Y in judge.cxps()}
        if not expected:
            with pytest.raises(ConstantModelError):
                _ = explainer.explain(row).cxps
            continue
        found = explainer.explain(row)
        assert {frozenset(map(domain.index, c.features)): c.weight for c in found.cxps} == expected
        assert {frozenset(map(domain.index, a.features)) for a in found.axps} == judge.axps()


def some_points(domain: ax.Domain, n: int, *, seed: int = 0) -> list[tuple[Any, ...]]:
    """Return random points of a finite domain."""
    points = list(domain.points())
    chosen = np.random.default_rng(seed).choice(len(points), n, replace=False)
    return [points[k] for k in chosen]
