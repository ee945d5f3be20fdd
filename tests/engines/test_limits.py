"""Limits inside kernels and engines, made so tiny that what happens at a limit happens at every step."""

from __future__ import annotations

from importlib import import_module
from random import Random
from types import ModuleType
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc import budget
from axfi_kc.circuits import circuit
from axfi_kc.circuits.queries import counting as totals
from axfi_kc.engines import per_output
from axfi_kc.engines.circuit import regions as circuit_regions
from axfi_kc.engines.circuit import search as circuit_searches
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.engines.ensemble import cxp_search, dualizing, search, workers
from axfi_kc.engines.linear import engine as linear
from axfi_kc.errors import IncompleteError
from axfi_kc.explanations import explainer
from axfi_kc.families import masks as sets
from axfi_kc.families import zdd_store as stores
from axfi_kc.scores.shap import circuits as shap_circuits
from benchmarks import soak
from tests.support import random_problems

determinism = import_module("axfi_kc.circuits.queries.determinism")  # the room has a function of that name
Patches = list[tuple[ModuleType, str, Any]]


def _cut(make: Any) -> Any:
    """Return `make` with arrays of one row."""

    def made(*arguments: Any) -> Any:
        arrays = make(*arguments)
        return type(arrays)(*(a[:1].copy() for a in arrays))

    return made


LIMITS: dict[str, Patches] = {
    "nodes": [(budget, "_CHUNK", 1)],
    "stacks": [(workers, "_DEPTH", 1), (workers, "_FIRST_SETS", 1), (search, "_boxes", _cut(search._boxes))],
    "large sets": [(cxp_search, "_PATIENCE", 1), (cxp_search, "_POOR", 0), (dualizing, "_FIRST", 1)],
    "rows": [(sets, "_ROWS_AT_ONCE", 1), (explainer, "_ROWS_AT_ONCE", 2), (stores, "_SMALLEST", 4)],
    "residues": [(totals, "_FEW_ARCS", -1), (circuit_regions, "_PRIMES_AT_LEAST", 1), (shap_circuits, "_LARGE", 0)],
    "forgetting": [(circuit, "_FORGOTTEN_AT_ONCE", 1), (per_output, "_KEPT", 1)],
    "families": [(diagrams, "_AT_ONCE", 0), (circuit_searches, "_FEW_SETS", 0), (determinism, "_LITERALS", 1)],
    "duality": [(circuit_searches, "_MOST_STEPS", 1), (circuit_searches, "_MOST_SETS", 0)],
    "sizes": [(circuit_searches, "_MOST_STEPS", 1), (circuit_searches, "_WEIGHED_AT_ONCE", 1)],
    "rounding": [(linear, "_BITS", 2), (linear, "_SETS_AT_ONCE", 1)],
}


KINDS = {
    "stacks": ["ensemble"],
    "large sets": ["ensemble"],
    "forgetting": ["ensemble", "circuit", "classes"],
    "duality": ["circuit", "classes"],
    "sizes": ["circuit", "classes"],
    "rounding": ["linear", "plane"],
}


@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("name", LIMITS)
def test_answers_do_not_depend_on_limits(name: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limit, value in LIMITS[name]:
        monkeypatch.setattr(module, limit, value)
    seeds = [s for s in range(200, 340) if soak.kind_of(s) in KINDS.get(name, [soak.kind_of(s)])]
    for seed in seeds[3 * part : 3 * part + 3]:
        try:
            soak.check_seed(seed)
        except IncompleteError as error:
            # Hardly a CXp may be listed here, and within a region all have to be.
            if name != "families" or "Within a region" not in str(error):
                raise


@pytest.mark.parametrize("limits", [None, "families", "duality", "sizes"])
@pytest.mark.parametrize("target", ["auto", "mdd", "ddnnf"])
def test_small_cxps_only(target: str, limits: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limit, value in LIMITS[limits] if limits else []:
        monkeypatch.setattr(module, limit, value)
    for kind in ("table", "circuit"):
        rng = Random(f"{kind} {target}")
        for _ in range(4):
            truth = random_problems.random_truth(rng, kind, n_instances=2)
            rows = [dict(zip(truth.domain.names, truth.point(v), strict=True)) for v in truth.instances]
            for most in (1, 2) if not truth.is_constant else ():
                explainer = ax.Explainer(
                    truth.model, truth.domain, delta=truth.delta, max_size=most, target=target, weights="unit"
                )
                for v, e in zip(truth.instances, explainer.explain_batch(rows, progress=False), strict=True):
                    expected = sorted(Y for Y in truth.answer(v).ratios if Y.bit_count() <= most)
                    assert sorted(soak.masks(e.cxps, truth.domain.names)) == expected
