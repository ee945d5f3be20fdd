"""What installing brings, as pyproject.toml and the Makefile have it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def packages(extra: str) -> set[str]:
    """Return the names of the packages that an extra brings, those of its own extras included."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"axfi-kc\[(.*)\]", requirement)
        names = inner[1].split(",") if inner else ()
        found |= set().union(*map(packages, names)) if inner else {re.match(r"[\w.-]+", requirement)[0]}
    return found


def test_no_build_of_xgboost_is_laid_over_another() -> None:
    """On Linux: on macOS both extras name the one build there is."""
    assert packages("xgboost") == {"xgboost"}
    assert "xgboost-cpu" not in packages("all")
    assert EXTRAS["xgboost-cpu"] == [
        "xgboost-cpu>=2.1.1; sys_platform != 'darwin'",
        "xgboost>=2.1; sys_platform == 'darwin'",
    ]
    for environment in ("dev", "benchmarks", "all-cpu"):  # those that a target of the Makefile installs together
        assert "axfi-kc[all]" not in EXTRAS[environment]
        assert "xgboost-cpu" in packages(environment)
    assert packages("all") - {"xgboost"} == packages("all-cpu") - {"xgboost", "xgboost-cpu"}


def test_the_demo_brings_what_it_imports_only() -> None:
    assert packages("demo") == {"pandas", "scikit-learn", "skops", "matplotlib"}


@pytest.mark.skipif(which("make") is None, reason="needs make")
def test_make_demo_installs_the_demo_and_make_test_the_rest(tmp_path: Path) -> None:
    def planned(target: str) -> str:
        command = ["make", "--dry-run", "--no-print-directory", target, f"VENV={tmp_path}"]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert '".[demo]"' in planned("demo")
    assert '".[dev]"' not in planned("demo")
    (tmp_path / ".demo").touch()
    assert "pip install" not in planned("demo")
    assert '".[dev]"' in planned("unit")
    (tmp_path / ".installed").touch()
    assert "pip install" not in planned("unit") + planned("demo")
