"""The study of the paper from data to report, on small data of the same layout, and quickly on the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import pytest

from axfi_kc.errors import AxfiError
from benchmarks.paper.__main__ import parser
from benchmarks.paper.circuit_sizes import SizePlan
from benchmarks.paper.data_sets import NAMES
from benchmarks.paper.study import Scale, run_study
from tests.support.shared_data import ROOT, SHARED
from tests.support.study_data import small_folder

TINY = Scale(3, 200, 0.1, 2, 5.0, SizePlan(("binary",), ("given",), ("right",), 5.0))
FILES = ("models", "runtime", "overlaps", "sampling", "similarity", "sizes", "scores")


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # shap's own, when it is imported
def test_a_small_study_and_its_continuation(tmp_path: Path) -> None:
    folder, out = small_folder(tmp_path / "data"), tmp_path / "out"
    options = {"data": folder, "scale": TINY, "only": ("compas", "qt", "adult"), "progress": False}
    report = run_study(out, **options, provenance={"commit": "c0ffee"})
    text = report.read_text()
    assert "skipped: adult was found in no folder" in text
    assert "Seed 0" in text
    assert "c0ffee" in text
    assert all((out / f"{name}.csv").stat().st_size for name in FILES)
    pictures = ["overlaps-compas", "overlaps-qt", "sizes"]
    assert all((out / "figures" / f"{name}{suffix}").exists() for name in pictures for suffix in (".png", ".svg"))
    results = json.loads((out / "results.json").read_text())
    assert [row["data"] for row in results["tables"]["runtime"]] == ["compas", "qt"]
    assert all(row["AxFi here"] > 0 for row in results["tables"]["runtime"])
    assert all(row["agrees"] is not False for row in results["tables"]["sizes"])
    if find_spec("shap"):
        assert len(results["tables"]["overlaps_package_shap"]) == 12

    before = {path.name: path.read_bytes() for path in (out / "steps").iterdir()}
    (out / "steps" / "qt-scores.json").unlink()
    start = perf_counter()
    run_study(out, **options)
    assert perf_counter() - start < 30
    after = {path.name: path.read_bytes() for path in (out / "steps").iterdir()}
    assert {name for name in before if before[name] != after[name]} == {"qt-scores.json"}


def test_unknown_data_sets(tmp_path: Path) -> None:
    with pytest.raises(AxfiError, match="'iris' was asked for"):
        run_study(tmp_path, only=("iris",), progress=False)


def test_the_command_has_its_options() -> None:
    options = parser().parse_args(["--quick", "--only", "wine", "qt", "--seed", "3"])
    assert (options.quick, options.only, options.seed) == (True, ["wine", "qt"], 3)
    assert parser().parse_args([]).only == list(NAMES)


@pytest.mark.slow
def test_quick_study_of_the_real_data(tmp_path: Path) -> None:
    if not (SHARED / "data").is_dir():
        pytest.skip("the paper's data sets are not available; set AXFI_SHARED to the folder that holds them")
    command = [sys.executable, "-m", "benchmarks.paper", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    tables = json.loads((tmp_path / "results.json").read_text())["tables"]
    assert [row["data"] for row in tables["runtime"]] == list(NAMES)
    both = [row for row in tables["overlaps"] if row["pair"] == "shapley-banzhaf"]
    assert all(row["mean"] >= 0.9 for row in both[:5])
    assert (tmp_path / "figures" / "recidivism-point.png").exists()
