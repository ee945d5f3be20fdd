"""What the checker shares with what it checks: these modules, and no others, whatever imports what."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from axfi_kc.domain import constraints, distribution
from axfi_kc.verification import chances, joint, regions, rows

grimp = pytest.importorskip("grimp")

# The question: which points there are, what constraints mean at one of them, and how probable values are. The model
# itself: how its library is asked to predict. Around these: errors, budgets, JSON, files, masks, compiling.
SHARED = {
    "axfi_kc.arguments",
    "axfi_kc.budget",
    "axfi_kc.compiled",
    "axfi_kc.domain.constraints",
    "axfi_kc.domain.distribution",
    "axfi_kc.domain.domain",
    "axfi_kc.domain.features",
    "axfi_kc.domain.from_tables",
    "axfi_kc.domain.measures",
    "axfi_kc.durable_files",
    "axfi_kc.errors",
    "axfi_kc.families.hitting_kernels",
    "axfi_kc.families.masks",
    "axfi_kc.flat_arrays",
    "axfi_kc.free_memory",
    "axfi_kc.json_text",
    "axfi_kc.models.one_thread",
    "axfi_kc.models.own_predict",
    "axfi_kc.terminal",
}


def test_the_checker_reaches_these_modules_only() -> None:
    graph = grimp.build_graph("axfi_kc", exclude_type_checking_imports=True, cache_dir=None)
    reached: set[str] = set()
    waiting = [m for m in graph.modules if m.startswith("axfi_kc.verification")]
    while waiting:
        module = waiting.pop()
        if module not in reached:
            reached.add(module)
            waiting += graph.find_modules_directly_imported_by(module)
    others = {m for m in reached if not m.startswith("axfi_kc.verification")}
    assert others <= SHARED, others - SHARED


def _calls(module: ModuleType) -> set[str]:
    """Return the names of the methods that a module calls."""
    tree = ast.parse(inspect.getsource(module))
    called = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {f.attr for f in called if isinstance(f, ast.Attribute)}


def test_of_distributions_and_regions_it_uses_data_alone() -> None:
    """Methods that compute are not called, but for `total` where a distribution is of an unknown kind or too large."""
    computing = {"probability", "total", "sample", "locate", "shares", "independent", "around", "weight", "check"}
    public = {name for name in vars(distribution.Distribution) if not name.startswith("_")}
    assert {"total", "probability", "sample"} <= public
    assert _calls(joint) & computing == {"total"}  # that of `chances`
    assert _calls(chances) & computing == {"total"}
    assert _calls(regions) & computing == set()
    assert _calls(rows) & computing == set()
    assert "holds" in vars(constraints.Constraint)
