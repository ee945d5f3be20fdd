"""Small data sets in the layout of the paper's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def small_folder(folder: Path, *, rows: int = 120) -> Path:
    """Write small data sets in the layout of the real ones."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (rows, 4))
    files = {
        "compas/compas_cat.csv": (X, (X[:, 0] + X[:, 1] > 3).astype(int), "target"),
        "boston/boston_house_prices.csv": (X * 1.5, X[:, 0] * 2.0 + X[:, 2], "MEDV"),
    }
    for part in ("train", "test"):
        files[f"qt/qt_{part}.csv"] = (X * 0.7, X[:, 1] + X[:, 3] > 3, "defect")
    for path, (table, target, name) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        columns = ["CHAS", "b", "c", "d"]
        pd.DataFrame(table, columns=columns).assign(**{name: target}).to_csv(folder / path, index=False)
    return folder
