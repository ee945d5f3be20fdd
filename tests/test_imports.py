"""Importing the package is quick and light."""

from __future__ import annotations

import subprocess
import sys


def test_import_is_quick_and_light() -> None:
    code = "import sys, axfi_kc; print([m for m in ('numba', 'sklearn', 'xgboost', 'pandas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
