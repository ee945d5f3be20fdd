"""The checker under joint distributions: it proves what is right, and finds a weight that is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError, DomainError
from axfi_kc.verification.claim import Claim
from tests.engines.test_possible import rows_of
from tests.support.random_constraints import constrained
from tests.support.random_distributions import DISTRIBUTION_KINDS, random_distribution, with_distribution
from tests.support.random_problems import KINDS, random_truth


@pytest.mark.parametrize("kind", DISTRIBUTION_KINDS)
@pytest.mark.parametrize("form", KINDS)
def test_weights_are_proved_and_wrong_ones_found(form: str, kind: str) -> None:
    rng, checked = Random(f"verify {form} {kind}"), 0
    while checked < 4:
        truth: Any = with_distribution(random_truth(rng, form, n_instances=2), None)
        truth = with_distribution(truth, random_distribution(rng, truth.domain, kind, zeros=0.05))
        truth = constrained(rng, truth, n_instances=2) if rng.random() < 0.5 else truth
        for row in rows_of(truth) if truth is not None else ():
            try:
                e = ax.Explainer(truth.model, truth.domain, delta=truth.delta).explain(row)
            except (ConstantModelError, DomainError):
                continue
            report = ax.verify(e, truth.model)
            assert not report.failed
            if e.cxps:
                _wrong_weight_is_found(e, truth.model)
                checked += 1


def _wrong_weight_is_found(e: Any, model: Any) -> None:
    claim = Claim.of(e)
    cxp, weight = next(iter(claim.cxps.items()))
    lied = replace(claim, cxps={**claim.cxps, cxp: (weight + Fraction(1, 1000)) / 2})
    checks = [c for c in ax.verify(lied, model).checks if c.kind == "weight"]
    assert [c.status for c in checks].count("failed") == 1


def test_models_of_libraries_are_proved_too() -> None:
    from sklearn.datasets import load_iris
    from sklearn.ensemble import GradientBoostingClassifier

    iris = load_iris(as_frame=True)
    model = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(iris.data, iris.target)
    domain = ax.Domain.from_data(iris.data)
    joint = domain.with_distribution(ax.ChowLiu.fit(iris.data, domain, bins=6))
    for n in (0, 70, 120):
        e = ax.Explainer(model, joint).explain(iris.data.iloc[n])
        report = ax.verify(e, model)
        assert not report.failed
        assert {c.status for c in report.checks if c.kind == "weight"} == {"proved"}


@pytest.mark.parametrize(
    "region",
    [ax.Region(radius=1.0), ax.Region(radius=1.5, norm="l1"), ax.Region(frozen=["petal length (cm)"])],
    ids=["linf", "l1", "frozen"],
)
def test_weights_within_regions_are_proved_from_files_too(region: ax.Region) -> None:
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    iris = load_iris(as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(iris.data, iris.target)
    domain = ax.Domain.from_data(iris.data)
    joint = domain.with_distribution(ax.ChowLiu.fit(iris.data, domain, bins=5))
    for n in (60, 75, 120):
        e = ax.Explainer(model, joint, within=region).explain(iris.data.iloc[n])
        saved = ax.SavedExplanation.from_json(e.to_json())
        assert saved.domain == e.domain
        for explained in (e, saved):
            report = ax.verify(explained, model)
            assert report.ok
            assert {c.status for c in report.checks if c.kind == "weight"} == {"proved"}
