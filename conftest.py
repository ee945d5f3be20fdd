"""What holds for every test: which modules must not be imported here, how many threads, and which random numbers."""

import os
from importlib.util import find_spec

import numpy as np
import pytest

# Two test workers share two cores: libraries that spin up threads of their own only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Doctests import every module, but a reader needs its library; Orange3 lives in an environment of
# its own (make test-orange).
_READERS = {
    "catboost": "catboost",
    "interpret": "interpret",
    "lightgbm": "lightgbm",
    "onnx": "onnx",
    "onnx_files": "onnx",
    "orange": "Orange",
    "xgboost": "xgboost",
    "xgboost_door": "xgboost",
}

collect_ignore = [
    f"axfi_kc/compilers/readers/{module}.py" for module, library in _READERS.items() if not find_spec(library)
]


def pytest_configure() -> None:
    """Let models that are trained while modules are imported be the same in every run."""
    np.random.seed(0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let models that are trained without a random_state be the same in every run, whatever was trained before."""
    np.random.seed(0)
