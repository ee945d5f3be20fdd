"""What holds for every module: constants have one value, and nothing that is kept is found by what it means."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
from collections import Counter
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import axfi_kc
from axfi_kc.circuits.operand import Operand
from axfi_kc.domain import Domain

FOLDER = Path(axfi_kc.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))


def _assigned(tree: ast.Module) -> list[str]:
    """Return the names that a module assigns at its top, each as often as it does."""
    nodes = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    stored = [name for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)]
    return [name.id for name in stored if isinstance(name.ctx, ast.Store)]


def _twice(text: str) -> list[str]:
    return [name for name, number in Counter(_assigned(ast.parse(text))).items() if number > 1]


def test_no_constant_is_assigned_twice_in_one_module() -> None:
    found = {str(path.relative_to(FOLDER)): _twice(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize("text", ["_FEW = 1\n_FEW = 2", "_FEW: int = 1\nA = 2\n_FEW = A"])
def test_a_constant_that_is_assigned_twice_is_noticed(text: str) -> None:
    assert _twice(text) == ["_FEW"]


def _kept_for_all() -> list[tuple[str, Any]]:
    """Return the functions whose results a process keeps, by name."""
    found = {}
    for info in pkgutil.walk_packages(axfi_kc.__path__, "axfi_kc."):
        try:
            module = importlib.import_module(info.name)
        except ImportError:  # the reader of a library that is not installed
            continue
        for name, value in vars(module).items():
            if isinstance(value, functools._lru_cache_wrapper):
                found[id(value)] = (f"{info.name}.{name}", value)
    return sorted(found.values(), key=lambda pair: pair[0])


def _keys(function: Any) -> list[Any]:
    """Return the types of what results are found by."""
    wrapped = inspect.unwrap(function)
    hints = get_type_hints(wrapped.__init__ if inspect.isclass(wrapped) else wrapped)
    return [hint for name, hint in hints.items() if name != "return"]


def test_nothing_that_a_process_keeps_is_found_by_meaning() -> None:
    """Circuits and domains are equal where they mean the same; what was made for one is then wrong for the other."""
    kept = _kept_for_all()
    assert len(kept) > 5
    by_meaning = [
        name
        for name, function in kept
        if any(inspect.isclass(key) and issubclass(key, (Operand, Domain)) for key in _keys(function))
    ]
    assert by_meaning == []
