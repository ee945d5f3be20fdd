"""A model over part of its domain predicts there what it predicted before."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.compilers import read_model
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import boxes_of
from axfi_kc.models.restriction import circuit_on, restricted
from tests.support.circuit_forms import any_form, cell_of, circuit_of, holds
from tests.support.random_constraints import random_rule
from tests.support.random_problems import KINDS, Truth, random_truth


def part_of(rng: Random, feature: Any) -> Any:
    """Return a feature with some of the values of another, which are as likely; perhaps never missing."""
    missing = feature.missing if rng.random() < 0.7 else 0
    if isinstance(feature, Categorical):
        if len(feature.columns) > 1:
            return feature
        return Categorical(
            feature.name, rng.sample(feature.values, rng.randint(1, len(feature.values))), missing=missing
        )
    low, high = sorted(rng.choices(range(int(4 * feature.low), int(4 * feature.high) + 1), k=2))
    if isinstance(feature, Integer):
        low, high = sorted(rng.choices(range(feature.low, feature.high + 1), k=2))
        return Integer(feature.name, low, high, missing=missing)
    return Real(feature.name, low / 4, high / 4, missing=missing)


def is_inside(feature: Any, value: Any) -> bool:
    if value is None:
        return bool(feature.missing)
    return value in feature.values if isinstance(feature, Categorical) else feature.low <= value <= feature.high


def checked(truth: Truth, model: Any, domain: ax.Domain) -> int:
    """Compare predictions at the points of a smaller domain; return how many."""
    points = [(truth.point(p), y) for p, y in zip(truth.places, truth.outputs, strict=True)]
    kept = [(x, y) for x, y in points if all(map(is_inside, domain.features, x))]
    rows = [dict(zip(domain.names, x, strict=True)) for x, _ in kept]
    assert not rows or model.predict(rows) == [y for _, y in kept]
    return len(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_predicts_as_before_on_part_of_its_domain(kind: str) -> None:
    rng, total = Random(f"restriction {kind}"), 0
    for _ in range(60):
        truth = random_truth(rng, kind, n_instances=1)
        domain = ax.Domain(part_of(rng, f) for f in truth.domain.features)
        model = restricted(truth.model, domain)
        assert model.domain == domain
        assert type(model) is type(truth.model)
        total += checked(truth, model, domain)
        if kind == "tree":
            total += checked(truth, restricted(boxes_of(truth.model), domain), domain)
        constrained = truth.domain.where(random_rule(rng, truth.domain, truth.values).constraint)
        total += checked(truth, restricted(truth.model, constrained), constrained)
    assert total > 500


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_can_be_asked_under_other_constraints_than_it_was_read_under(kind: str) -> None:
    rng = Random(f"constraints of {kind}")
    for _ in range(20):
        truth = random_truth(rng, kind, n_instances=1)
        whole = ax.Domain(truth.domain.features)
        rules = [random_rule(rng, whole, truth.values).constraint for _ in range(2)]
        spaces = [*(whole.where(rule) for rule in rules), whole]
        for domain in spaces:
            model = read_model(restricted(truth.model, spaces[0]), domain)
            assert model.domain == domain
            assert checked(truth, model, domain)


def test_a_circuit_moves_to_another_grid_by_name() -> None:
    rng = Random("circuit_on")
    for _ in range(40):
        features = [Integer("a", 0, 3), Categorical("b", "xyz"), Integer("c", -1, 1, missing=Fraction(1, 3))]
        own = Grid.of_values(ax.Domain(features))
        wider = Grid.of_values(ax.Domain([Integer("z", 0, 1), *rng.sample(features, 3)]))
        form = any_form(rng, [0, 1, 2], own.n_cells)
        moved = circuit_on(circuit_of(form, own), wider)
        compiled = ax.CircuitModel.of(moved, outputs=(False, True), deterministic=False)
        for point in wider.domain.points():
            named = dict(zip(wider.domain.names, point, strict=True))
            expected = holds(form, [cell_of(own, i, named[name]) for i, name in enumerate("abc")])
            assert compiled.predict([named]) == [expected]


def test_what_is_no_form_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="cannot be restricted"):
        restricted(3, ax.Domain([Integer("a", 0, 1)]))
