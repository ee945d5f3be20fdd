"""Explanations under constraints, through every target, against a listing of the possible points."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb
from random import Random
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier

import axfi_kc as ax
from axfi_kc.domain.constraints import at_most_one, feature
from axfi_kc.errors import ConstantModelError, DomainError, IncompleteError
from axfi_kc.models import LinearModel, Positive
from benchmarks import soak
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import KINDS, Truth


def rows_of(truth: Truth) -> list[dict[str, Any]]:
    return [dict(zip(truth.domain.names, truth.point(v), strict=True)) for v in truth.instances]


def check_truth(truth: Truth, rng: Random) -> int:
    """Compare all targets and weights with the listing; return how many explanations were compared."""
    answers, rows, checked = [truth.answer(v) for v in truth.instances], rows_of(truth), 0
    kinds = ("ratio", "count", "unit") if truth.is_finite else ("ratio", "unit")
    for target, weights in product(soak.TARGETS, kinds):
        try:
            options = {"delta": truth.delta, "weights": weights, "target": target}
            batch = ax.Explainer(truth.model, truth.domain, **options).explain_batch(rows, progress=False)
            small = ax.Explainer(truth.model, truth.domain, max_size=1, **options).explain_batch(rows, progress=False)
        except ConstantModelError:
            assert truth.is_constant
            continue
        for e, few, answer in zip(batch, small, answers, strict=True):
            soak.check_instance(e, answer, weights=weights, others=[rng.choice(soak.SCORES)])
            wanted = {Y: w for Y, w in answer.weights(weights).items() if Y.bit_count() == 1}
            assert (
                dict(zip(soak.masks(few.cxps, truth.domain.names), (c.weight for c in few.cxps), strict=True)) == wanted
            )
            checked += 1
        soak.check_weak(batch[0], answers[0], rng)
    return checked


@pytest.mark.parametrize("kind", KINDS)
def test_every_target_and_weight_equals_the_listing(kind: str) -> None:
    rng, checked = Random(f"possible {kind}"), 0
    for _ in range(8):
        checked += check_truth(random_constrained(rng, kind, n_instances=3), rng)
    assert checked >= 40


# Of the values that are left of a, none has a probability.
ZERO = ax.Domain([ax.Integer("a", 0, 2, weights=[0, 0, 1]), ax.Integer("b", 0, 1)]).where(feature("a") < 2)


@pytest.mark.parametrize("target", soak.TARGETS)
def test_surroundings_of_probability_0_are_an_error_and_not_a_quotient(target: str) -> None:
    with pytest.raises(DomainError, match="have probability 0"):
        ax.Explainer(lambda p: p[0], ZERO, target=target).explain((1, 0))
    # What is conditioned on need not have one: b changes, a is as it is.
    e = ax.Explainer(lambda p: p[1], ZERO, target=target).explain((1, 0))
    assert [(c.features, c.weight) for c in e.cxps] == [(("b",), Fraction(1, 2))]


def test_counts_and_units_need_no_probability() -> None:
    for weights in ("count", "unit"):
        e = ax.Explainer(lambda p: p[0], ZERO, weights=weights).explain((1, 0))
        assert [(c.features, c.weight) for c in e.cxps] == [(("a",), 1)]


def test_an_axp_may_contain_what_others_imply() -> None:
    """Under constraints b says all that a says, and both are AXps, though the model looks at a alone."""
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"]).where(feature("a") == feature("b"))
    e = ax.Explainer(lambda p: p[0], domain).explain((1, 1, 0))
    assert [c.features for c in e.cxps] == [("a", "b")]
    assert [a.features for a in e.axps] == [("a",), ("b",)]


def test_more_cxps_than_a_list_holds_have_counts_but_no_ratios() -> None:
    n = 22
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)]).where(at_most_one("x0", feature("x1") == 0))
    model = LinearModel.of_columns(
        domain.unconstrained, [[1] * n], intercepts=[Fraction(-n, 2) + Fraction(1, 2)], rule=Positive((0, 1))
    )
    x = dict.fromkeys(domain.names, 1)
    e = ax.Explainer(model, domain, weights="count", target="mdd").explain(x)
    # Half of the features and one more must fall; x1 only together with x0, so no set has x1 and not x0.
    assert e.cxp_count == comb(n - 2, n // 2 + 1) + comb(n - 2, n // 2) + comb(n - 2, n // 2 - 1)
    with pytest.raises(IncompleteError, match="too many to list; explain with max_size"):
        ax.Explainer(model, domain, target="mdd").explain(x)


@pytest.mark.parametrize("target", soak.TARGETS)
def test_a_model_that_is_constant_among_possible_points_has_nothing_to_explain(target: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)]).where(feature("a") == 0)
    with pytest.raises(ConstantModelError, match="gives 0 at every point that can exist"):
        ax.Explainer(lambda p: p[0], domain, target=target).explain((0, 1))


@pytest.mark.parametrize("max_size", [None, 1, 2, 3])
@pytest.mark.parametrize("target", soak.TARGETS)
def test_a_limit_of_sizes_makes_no_answer_of_a_constant_model(target: str, max_size: int | None) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    rows, outputs = list(product((0, 1), repeat=2)), [1, 0, 0, 1]
    forest = RandomForestClassifier(3, bootstrap=False, random_state=0).fit(rows, outputs)
    for model in (lambda p: int(p[0] == p[1]), forest):
        same = domain.where(feature("a") == feature("b"))
        for space in (same, same.with_distribution(ax.Product.of(same))):
            explainer = ax.Explainer(model, space, target=target, max_size=max_size)
            with pytest.raises(ConstantModelError, match="gives 1 at every point that can exist"):
                explainer.explain((1, 1))
            with pytest.raises(ConstantModelError, match="gives 1 at every point that can exist"):
                explainer.explain_batch([(1, 1), (0, 0)])
        around = ax.Explainer(model, same, target=target, max_size=max_size, within=ax.Region(radius=1))
        assert around.explain((1, 1)).cxp_count == 0  # all of a region alike, and that is an answer


@pytest.mark.parametrize("target", soak.TARGETS)
def test_no_small_cxp_does_not_make_a_model_constant(target: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 2)]).where(feature("a") == feature("b"))
    explainer = ax.Explainer(lambda p: p[0] > 1, domain, target=target, max_size=1)
    for _ in range(2):
        assert explainer.explain((0, 0)).cxps == ()
        assert explainer.explain_batch([(0, 0), (1, 1)]).cxp_counts == [0, 0]
    assert [c.features for c in ax.Explainer(lambda p: p[0] > 1, domain, target=target).explain((0, 0)).cxps] == [
        ("a", "b")
    ]


def test_no_target_holds_a_linear_model_over_reals() -> None:
    domain = ax.Domain([ax.Real("r", 0, 1), ax.Integer("a", 0, 1)])
    model = LinearModel.of_columns(domain, [[2, 1]], intercepts=[-1], rule=Positive((0, 1)))
    possible = domain.where((feature("r") < 0.5) | (feature("a") == 1))
    for target in soak.TARGETS[1:]:
        with pytest.raises(DomainError, match="Feature 'r' is real and has no list of values"):
            ax.Explainer(model, possible, target=target).explain((0.25, 0))
