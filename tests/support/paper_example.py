"""The paper's running example, explained."""

from __future__ import annotations

import pandas as pd

import axfi_kc as ax
from axfi_kc import Batch, Explanation

ONES = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
DOMAIN = ax.Domain([ax.Integer("x1", 0, 2), ax.Integer("x2", 0, 1), ax.Integer("x3", 0, 2)])


def paper(weights: str = "ratio", **options) -> Explanation:
    return ax.Explainer(lambda p: int(p in ONES), DOMAIN, weights=weights, **options).explain((2, 1, 2))


def batch(weights: str = "ratio") -> Batch:
    points = [p for p in DOMAIN.points() if p in ONES]
    frame = pd.DataFrame(points, columns=DOMAIN.names, index=[f"r{k}" for k in range(len(points))])
    return ax.Explainer(lambda p: int(p in ONES), DOMAIN, weights=weights).explain_batch(frame)
