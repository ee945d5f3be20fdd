"""Explanations of linear models with too many CXps to list are checked by listing them in bulk."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import axfi_kc as ax
from axfi_kc.engines.linear import engine as linear_engine
from axfi_kc.engines.linear.counted import CountedCxps
from axfi_kc.scores.interactions import INTERACTIONS
from axfi_kc.verification import claim as claims
from axfi_kc.verification import verify
from axfi_kc.verification.claim import Claim


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make few sets many."""
    monkeypatch.setattr(linear_engine, "LISTED", 0)
    monkeypatch.setattr("axfi_kc.engines.linear.counted.LISTED", 0)
    monkeypatch.setattr(claims, "_MOST_SETS", 3)


def explained(seed: int, weights: str = "ratio") -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 9))
    if weights == "count":
        X = (X > 0).astype(int)
    sums = X @ rng.normal(size=9)
    model = LogisticRegression().fit(X, sums > np.median(sums))
    made = ax.Domain.from_data(X, integer=[f"x{i}" for i in range(9)] if weights == "count" else [])
    return ax.Explainer(model, made, weights=weights).explain(X[0]), model


@pytest.mark.parametrize("weights", ["ratio", "unit", "count"])
def test_counted_scores_are_confirmed(weights: str) -> None:
    e, model = next((e, m) for e, m in (explained(seed, weights) for seed in range(20)) if e.cxp_count > 3)
    assert isinstance(e._found, CountedCxps)
    for stated in (e, ax.Explanation.from_json(e.to_json())):
        report = verify(stated, model)
        assert report.ok, report
        found = {check.kind: check.status for check in report.checks}
        assert (found["size"], found["relevance"], found["score"]) == ("proved", "proved", "sampled")
        assert "modulo 2 random primes" in next(c.method for c in report.checks if c.kind == "score")


def test_changed_claims_are_refuted() -> None:
    e, model = explained(2)
    claim = Claim.of(e)
    name = claim.domain.names[0]
    altered = {
        "score": replace(claim, scores={"banzhaf": {**claim.scores["banzhaf"], name: Fraction(1, 3)}}),
        "size": replace(claim, sizes={"cxp": {**claim.sizes["cxp"], 9: 1}}),
        "relevance": replace(claim, relevant=claim.relevant - {Random(0).choice(sorted(claim.relevant))}),
    }
    for kind, changed in altered.items():
        assert any(c.status == "failed" and c.kind == kind for c in verify(changed, model).checks), kind


def test_interactions_are_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_MOST_SETS", 20_000)
    domain = ax.Domain([ax.Integer(n, 0, 2) for n in "abc"])
    model = ax.TableModel.from_outputs(domain, [int(sum(p) > 3) for p in np.ndindex(3, 3, 3)])
    e = ax.Explainer(model, domain).explain((2, 2, 2))
    claim = Claim.of(e)
    assert {c.subject for c in verify(e, model).checks if c.kind == "interaction"} == {(kind,) for kind in INTERACTIONS}
    for kind, row in claim.interactions.items():
        pair = next(iter(row))
        for wrong in ({**row, pair: row[pair] / 2}, {k: v for k, v in row.items() if k != pair}):
            changed = replace(claim, interactions={kind: wrong})
            assert any(c.status == "failed" and c.kind == "interaction" for c in verify(changed, model).checks)
