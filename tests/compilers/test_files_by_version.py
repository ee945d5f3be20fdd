"""Files that each supported version of XGBoost and LightGBM wrote, with the margins that it computed from them.

Three classes, a tree each, over two numbers that are sometimes missing and five categories; a line per version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers.lightgbm_files import read_lightgbm
from axfi_kc.models import TreeSum

LINES = (Path(__file__).parent / "data" / "files_by_version.jsonl").read_text().splitlines()
CASES = {case["written_by"]: case for case in map(json.loads, LINES)}


def _read(case: dict[str, Any]) -> TreeSum:
    names = [f"Column_{k}" if case["written_by"].startswith("lightgbm") else f"x{k}" for k in range(3)]
    numbers = [ax.Real(name, -9, 9, missing=0.2) for name in names[:2]]
    domain = ax.Domain([*numbers, ax.Integer(names[2], 0, 4)])
    if case["written_by"].startswith("lightgbm"):
        return read_lightgbm(case["file"], domain)
    model = ax.read_xgboost(case["file"].encode(), domain)
    assert isinstance(model, TreeSum)
    return model


@pytest.mark.parametrize("written_by", CASES)
def test_margins(written_by: str) -> None:
    case = CASES[written_by]
    rows = np.array(case["rows"], dtype=np.float64)
    exact = np.array([[float(score) for score in row] for row in _read(case).scores_at(rows)])
    assert np.isnan(rows).any()
    assert len(np.unique(exact.round(6), axis=0)) > 3
    assert np.abs(exact - np.array(case["margins"])).max() < 1e-6


def test_the_versions() -> None:
    libraries = [tuple(name.split()) for name in CASES]
    assert {version.rsplit(".", 1)[0] for library, version in libraries if library == "xgboost"} >= {
        "2.1",
        "3.0",
        "3.2",
    }
    assert {version.rsplit(".", 1)[0] for library, version in libraries if library == "lightgbm"} >= {
        "4.5",
        "4.6",
        "4.7",
    }
