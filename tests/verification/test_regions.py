"""What a region leaves of a domain, found anew: what is right is proved, and every alteration refuted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.domain.region import Region
from axfi_kc.errors import AxfiError
from axfi_kc.models import Positive, TreeNodes, TreeSum
from axfi_kc.verification import Claim
from axfi_kc.verification.regions import region_checks
from tests.support.crossed_problems import random_scene
from tests.support.random_problems import KINDS


def _failed(claim: Claim) -> list[str]:
    return [check.detail for check in region_checks(claim) if check.status == "failed"]


@pytest.mark.parametrize("kind", KINDS)
def test_regions_of_random_problems_are_proved(kind: str) -> None:
    rng, checked = Random(f"verified regions {kind}"), 0
    while checked < 12:
        scene = random_scene(rng, kind, n_instances=2)
        if scene.region is None:
            continue
        given = {**vars(scene.region), "weights": dict(scene.region.weights), "ranges": dict(scene.region.ranges)}
        region = Region(**{**given, "unit": rng.choice(("value", "range", "std"))})
        for v in scene.truth.instances:
            try:
                options: dict[str, Any] = {"delta": scene.truth.delta, "toward": scene.truth.toward, "weights": "unit"}
                e = ax.Explainer(scene.truth.model, scene.domain, within=region, **options).explain(scene.row(v))
            except AxfiError:
                continue
            claim = Claim.of(e)
            assert _failed(claim) == []
            assert len(list(region_checks(claim))) == len(scene.domain) + 1
            checked += 1


def _claim(region: Region) -> Claim:
    domain = ax.Domain(
        [
            ax.Integer("age", 0, 9, weights=range(1, 11)),
            ax.Real("income", 0, 8, histogram=ax.Histogram([0, 2, 8], [1, 1])),
            ax.Categorical("job", ["a", "b", "c"]),
        ]
    ).where(ax.feature("age") > 0)
    ends = np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([[0.0], [-1.0], [1.0]])
    stump = TreeNodes(np.array([0, -1, -1]), [Cut(5.0, closed=True), None, None], *ends)
    model = TreeSum.of(domain, [stump], rule=Positive((0, 1)))
    return Claim.of(ax.Explainer(model, domain, within=region).explain([4, 3.0, "a"]))


def _with(claim: Claim, *features: Any) -> Claim:
    given = {f.name: f for f in features}
    left = [given.get(f.name, f) for f in claim.domain.features]
    return replace(claim, domain=claim.domain.with_features(left))


def _without_rules(claim: Claim) -> Claim:
    return replace(claim, domain=ax.Domain(claim.domain.features))


BALL = Region(radius=2, norm="l1", weights={"job": 3})
ALTERED: dict[str, tuple[Region, Callable[[Claim], Claim]]] = {
    "wider": (Region(radius=2), lambda c: _with(c, ax.Integer("age", 1, 6, weights=range(2, 8)))),
    "narrower": (Region(radius=2), lambda c: _with(c, ax.Integer("age", 3, 6, weights=range(4, 8)))),
    "another measure": (Region(radius=2), lambda c: _with(c, ax.Integer("age", 2, 6))),
    "another density": (Region(radius=2), lambda c: _with(c, ax.Real("income", 1, 5))),
    "may miss": (Region(radius=2), lambda c: _with(c, ax.Real("income", 1, 5, missing=0.5))),
    "not frozen": (Region(frozen=["income"]), lambda c: _with(c, ax.Real("income", 3, 4))),
    "a category": (Region(frozen=["job"]), _without_rules),
    "a constraint": (Region(only_up=["age"]), _without_rules),
    "no ball": (BALL, lambda c: replace(c, domain=ax.Domain(c.domain.features).where(*c.domain.constraints[:-1]))),
    "another region": (BALL, lambda c: replace(c, region=replace_radius(BALL, 3))),
    "another weight": (BALL, lambda c: replace(c, region=Region(radius=2, norm="l1", weights={"job": 2, "age": 2}))),
    "another distribution": (
        Region(radius=2),
        lambda c: replace(c, domain=c.domain.with_distribution(ax.Product.of(c.domain))),
    ),
}


def replace_radius(region: Region, radius: int) -> Region:
    return Region(radius=Fraction(radius), norm=region.norm, weights=dict(region.weights))


@pytest.mark.parametrize("name", ALTERED)
def test_alterations_are_found(name: str) -> None:
    region, alter = ALTERED[name]
    claim = _claim(region)
    assert _failed(claim) == []
    assert _failed(alter(claim)) != []


def test_a_missing_value_stays_missing() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3, missing=0.5), ax.Integer("b", 0, 3)])
    e = ax.Explainer(lambda p: int(p[1] > 1), domain, within=Region(radius=2)).explain([None, 0])
    claim = Claim.of(e)
    assert _failed(claim) == []
    assert _failed(_without_rules(claim)) != []


def test_what_was_read_from_a_file_has_its_region(tmp_path: Any) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    model = lambda p: int(p[1] > 1)  # noqa: E731
    explainer = ax.Explainer(model, domain, within=Region(radius=2))
    explainer.explain_to(tmp_path / "results.jsonl", [[2, 0]], progress=False)
    for e in (explainer.explain([2, 0]), *ax.read_results(tmp_path / "results.jsonl")):
        assert sum(check.kind == "region" for check in ax.verify(e, model).proved) == 3
