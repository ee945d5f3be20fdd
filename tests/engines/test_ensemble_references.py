"""Other people's results on real boosted trees are found again (all of them: benchmarks/references.py)."""

from __future__ import annotations

import pytest

import axfi_kc as ax
from tests.support.reference_models import BOOSTED, boosted_reference, check_instance


@pytest.mark.parametrize("name", BOOSTED)
def test_recorded_cxps_axps_and_counts(name: str) -> None:
    reference = boosted_reference(name)
    counted = "aex_counts" in reference.instances[0]
    explainer = ax.Explainer(reference.model, reference.domain, weights="count" if counted else "ratio")
    for instance in reference.instances[::9]:
        check_instance(reference, explainer, instance)


@pytest.mark.parametrize("name", BOOSTED)
def test_recorded_margins(name: str) -> None:
    reference = boosted_reference(name)
    codes = reference.domain.encode([reference.point(i) for i in reference.instances])
    for (score,), instance in zip(reference.model.scores_at(codes), reference.instances, strict=True):
        assert abs(float(score) - instance["margin"]) < 1e-5
