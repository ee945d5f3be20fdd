"""The checker asks circuits of adversarial examples point by point, and finds every cell that is wrong."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.queries import cell_models
from axfi_kc.errors import ConstantModelError
from axfi_kc.verification.claim import Claim
from axfi_kc.verification.example_circuits import circuit_holds
from axfi_kc.verification.questions import Searches
from axfi_kc.verification.report import Allowance
from axfi_kc.verification.verify import _circuits, verify
from tests.engines.test_possible import rows_of
from tests.support.random_constraints import constrained
from tests.support.random_problems import random_truth

KINDS = ("table", "tree", "ensemble", "linear", "circuit")


def explained(rng: Random, kind: str) -> tuple[Any, list[Any]]:
    truth: Any = random_truth(rng, kind, n_instances=2)
    truth = (constrained(rng, truth, n_instances=2) if rng.random() < 0.3 else truth) or truth
    try:
        explainer = ax.Explainer(truth.model, truth.domain, delta=truth.delta)
        return truth, [e for e in map(explainer.explain, rows_of(truth)) if e.cxp_count]
    except ConstantModelError:
        return truth, []


def checks(claim: Claim, model: Any) -> list[Any]:
    allowance = Allowance.of(None)
    return list(_circuits(Searches(claim, model, allowance, seed=0)))


@pytest.mark.parametrize("kind", KINDS)
def test_right_circuits_pass_and_wrong_ones_fail(kind: str) -> None:
    rng, passed, failed = Random(f"checked circuits {kind}"), 0, 0
    while passed < 20 or failed < 20:
        truth, some = explained(rng, kind)
        for e in some:
            claim = Claim.of(e)
            found = checks(claim, truth.model)
            assert all(check.status == "proved" for check in found)
            passed += len(found)
            wrong = replace(claim, circuit=lambda names, e=e: SimpleNamespace(circuit=altered(rng, e.circuit(names))))
            again = checks(wrong, truth.model)
            assert len(again) == len(found)
            assert all(check.status == "failed" for check in again)
            failed += len(again)


def altered(rng: Random, made: Any) -> Any:
    """Return a circuit with one combination of cells less, or all of the box but one."""
    points = list(cell_models(made.circuit))
    points.remove(rng.choice(points))
    build = CircuitBuilder(made.circuit.grid)
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(point)]) for point in points]
    return build.circuit(build.disjunction(terms))


def test_points_are_located_as_features_say() -> None:
    domain = ax.Domain([ax.Categorical("a", "xyz", missing=0.5), ax.Integer("b", 0, 4)])
    made = ax.Explainer(lambda p: p[1] > 2, domain).explain((None, 1)).circuit().circuit
    rows = [(a, float(b)) for a in (0.0, 1.0, 2.0, np.nan) for b in range(5)]
    assert circuit_holds(made, np.array(rows)) == [bool(np.isnan(a) and b > 2) for a, b in rows]


def test_reports_speak_of_circuits() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 4)])

    def model(p: Any) -> bool:
        return p[0] + p[1] > 5

    report = verify(ax.Explainer(model, domain).explain((2, 2)), model)
    assert sum(check.kind == "circuit" for check in report.checks) == 2
    assert any("circuits of adversarial examples" in words for words in report.unchecked)
    saved = ax.Explanation.from_json(ax.Explainer(model, domain).explain((2, 2)).to_json())
    assert not any(check.kind == "circuit" for check in verify(saved, model).checks)
