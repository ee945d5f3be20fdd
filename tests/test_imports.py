"""Importing the package is quick and light, and the paths that the documentation names import."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import axfi_kc as ax
import axfi_kc.plots


def test_import_is_quick_and_light() -> None:
    heavy = ("numba", "sklearn", "xgboost", "pandas", "catboost", "interpret", "onnx", "onnxruntime", "lightgbm")
    code = f"import sys, axfi_kc; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


DOCUMENTED = (
    *("circuit", "engines", "errors", "families", "family_scores", "formats", "grid", "models"),
    *("plots", "queries", "report", "shap_circuits", "targets"),
)


@pytest.mark.parametrize("path", DOCUMENTED)
def test_documented_paths_import(path: str) -> None:
    found, module = importlib.import_module(f"axfi_kc.{path}"), getattr(ax, path)
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    assert names
    assert all(getattr(found, name) is getattr(module, name) for name in names)


def test_old_paths_are_no_second_way_to_the_modules_inside() -> None:
    with pytest.raises(ModuleNotFoundError, match="not a package"):
        importlib.import_module("axfi_kc.targets.mdd")
