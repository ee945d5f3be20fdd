"""Nearest adversarial examples of linear models over real features under constraints, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.budget import Account
from axfi_kc.domain.constraints import feature
from axfi_kc.domain.region import Region, factor_of
from axfi_kc.engines.linear.boxed import BoxedLinearEngine
from axfi_kc.errors import ConstantModelError, DomainError, UnsupportedModelError, WeightError
from axfi_kc.explanations.counterfactuals import constrained_linear
from axfi_kc.explanations.counterfactuals.constrained_linear import ConstrainedSearch
from axfi_kc.explanations.radius import reaches_of
from axfi_kc.models import LinearModel, Positive
from tests.support.constrained_judge import ConstrainedJudge, random_judge

_LITTLE = Fraction(1, 10**7)


def cases(name: str, number: int) -> Iterator[tuple[ConstrainedJudge, ax.Explanation, Random]]:
    for n in range(number):
        rng = Random(f"{name} {n}")
        judge = random_judge(rng)
        try:
            explainer = ax.Explainer(judge.model, judge.domain, delta=judge.delta, weights="unit")
        except ConstantModelError:
            continue
        e = explainer.explain(dict(zip(judge.domain.names, judge.v, strict=True)))
        if isinstance(e.problem.engine, BoxedLinearEngine):
            yield judge, e, rng


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_reaches_are_where_something_begins_to_be_near(norm: str) -> None:
    checked = 0
    for judge, e, rng in cases(f"reaches {norm}", 60):
        features = judge.domain.features
        weights = {f.name: rng.choice((0, Fraction(1, 2), 1, 2)) for f in features if rng.random() < 0.3}
        region = Region(norm=norm, unit=rng.choice(("value", "range")), weights=weights)
        factors = [factor_of(region, f) for f in features]
        reaches = reaches_of(e.problem, region, Account(None, goal="radius"))
        for mask in range(1, 1 << len(features)):
            S, reach = [i for i in range(len(features)) if mask >> i & 1], reaches[mask]
            if reach is None:
                assert not judge.is_within(S, factors, norm, Fraction(10**6))
                continue
            assert judge.is_within(S, factors, norm, reach.radius + _LITTLE)
            assert judge.is_within(S, factors, norm, reach.radius) == (not reach.is_open)
            assert reach.radius < _LITTLE or not judge.is_within(S, factors, norm, reach.radius - _LITTLE)
            checked += 1
    assert checked > 100


def test_examples_are_possible_and_no_further_than_they_need_be() -> None:
    checked = 0
    for judge, e, _ in cases("nearest", 80):
        region = Region(norm="l1", unit="range")
        reaches = reaches_of(e.problem, region, Account(None, goal="radius"))
        for cxp in e.cxps:
            found = e.counterfactual(cxp)
            assert judge.is_possible(tuple(found.point[name] for name in judge.domain.names))
            assert e.problem.is_dissimilar(found.output)
            if not any(f.missing for f in judge.domain.features):  # a missing value is near to nothing
                reach = reaches[judge.domain.mask(cxp.features)]
                assert reach is not None
                assert float(found.distance) == pytest.approx(float(reach.radius), abs=1e-9)
            checked += 1
    assert checked > 40


def test_points_that_meet_the_conditions_are_examples() -> None:
    checked = 0
    for judge, e, rng in cases("conditions", 80):
        search = ConstrainedSearch(e.problem, Account(None, goal="example"))
        for cxp in e.cxps:
            S = [judge.domain.index(name) for name in cxp.features]
            codes = search.nearest(S)
            assert codes is not None
            conditions = search.conditions(S, codes)
            for _ in range(5):
                point = e.problem.codes.copy()
                for i, c in zip(S, conditions, strict=True):
                    own = judge.domain.features[i]
                    low, high = (max(c.low, float(own.low)), min(c.high, float(own.high))) if c.low < c.high else (0, 0)
                    point[i] = rng.choice((low, high, c.code, rng.uniform(low, high))) if low < high else c.code
                values = judge.domain.decode(point)
                assert judge.is_possible(tuple(values))
                assert e.problem.is_dissimilar(e.problem.model.predict([values])[0])
                checked += 1
    assert checked > 200


def test_drawn_examples_are_possible() -> None:
    drawn = 0
    for judge, e, _ in cases("drawn", 60):
        for cxp in e.cxps:
            try:
                found = e.counterfactual(cxp, seed=drawn)
            except WeightError:
                assert not judge.ratio(judge.domain.mask(cxp.features))
                continue
            assert judge.is_possible(tuple(found.point[name] for name in judge.domain.names))
            drawn += 1
    assert drawn > 30


DOMAIN = ax.Domain([ax.Real("r", 0, 1), ax.Integer("a", 0, 1), ax.Real("s", 0, 2)])
MODEL = LinearModel.of_columns(DOMAIN, [[2, 1, 1]], intercepts=[-1], rule=Positive((0, 1)))
HIGH = DOMAIN.where((feature("r") < 0.5) | (feature("a") == 1))


def test_words_stay_within_what_is_possible() -> None:
    e = ax.Explainer(MODEL, HIGH).explain((0.25, 0, 0.25))
    # From 3/8 on, but below a half: without a, r may not go on.
    assert e.counterfactual(("r",)).words == "r >= 0.38 and r <= 0.499"
    assert e.counterfactual(("s",)).words == "s >= 0.51"


def test_the_path_of_radii_agrees_with_explanations_within_them() -> None:
    explainer, x = ax.Explainer(MODEL, HIGH), (0.25, 0, 0.25)
    path = ax.radius_path(explainer, x, unit="range")
    assert len(path.steps) > 2
    for step in path.steps[1:]:
        within = Region(radius=step.start + Fraction(1, 10**6), unit="range")
        assert {c.features for c in explainer.explain(x, within=within).cxps} == {c.features for c in step.cxps}


def test_a_ball_of_norm_l1_is_refused_in_one_sentence() -> None:
    with pytest.raises(UnsupportedModelError, match=r"not explained within a ball of norm 'l1'.*; use norm='linf'"):
        ax.Explainer(MODEL, HIGH).explain((0.25, 0, 0.25), within=Region(radius=1, norm="l1"))


def test_an_instance_that_cannot_exist_is_refused() -> None:
    with pytest.raises(DomainError, match="violates a constraint of its domain"):
        ax.Explainer(MODEL, HIGH).explain((0.75, 0, 0.25))


def test_words_are_not_cut_by_a_rule_that_says_nothing_there() -> None:
    domain = ax.Domain([ax.Real("age", 18, 90), ax.Real("income", 0, 10)])
    model = LinearModel.of_columns(domain, [[0, 1]], intercepts=[-5], rule=Positive((0, 1)))
    explainer = ax.Explainer(model, domain.where((feature("age") <= 25) >> (feature("income") <= 4)))
    assert explainer.explain({"age": 50, "income": 8}).counterfactual(("income",)).words == "income <= 5"


def test_words_keep_to_a_rule_next_to_an_end_that_is_no_float() -> None:
    """Beyond the last float of the domain there is one more number, and the rule excludes it."""
    domain = ax.Domain([ax.Real("x", 0, Fraction(4, 3)), ax.Real("y", 0, 1)])
    model = LinearModel.of_columns(domain, [[1, 1]], intercepts=[-1], rule=Positive((0, 1)))
    possible = domain.where((feature("x") <= float(Fraction(4, 3))) | (feature("y") > 0.5))
    assert (
        ax.Explainer(model, possible).explain((0.25, 0.25)).counterfactual(("x",)).words == "x >= 0.76 and x <= 1.333"
    )


def test_examples_are_drawn_from_small_boxes_at_once() -> None:
    """The examples lie in a corner of a millionth of the box."""
    a, b, c = map(feature, "abc")
    domain = ax.Domain([ax.Real(name, 0, 1) for name in "abc"])
    rule = ((a <= 0.5) & (b <= 0.5) & (c <= 0.5)) | ((a >= 0.995) & (b >= 0.995) & (c >= 0.995))
    model = LinearModel.of_columns(domain, [[1, 1, 1]], intercepts=[-2], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain.where(rule)).explain((0.25, 0.25, 0.25))
    assert all(min(e.counterfactual(e.cxps[0], seed=seed).point.values()) >= 0.995 for seed in range(5))


def test_draws_are_even_over_what_is_possible_and_dissimilar() -> None:
    domain = ax.Domain([ax.Real("x", 0, 1), ax.Real("y", 0, 1)]).where((feature("x") <= 0.5) | (feature("x") >= 0.75))
    model = LinearModel.of_columns(domain.unconstrained, [[1, 1]], intercepts=[Fraction(-1, 2)], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain).explain((0.125, 0.25))
    # Above 1/4: a quarter up to 1/2, and a quarter from 3/4 on.
    drawn = [e.counterfactual(("x",), seed=seed).point["x"] for seed in range(400)]
    assert min(drawn) > 0.25
    assert 140 < sum(x >= 0.75 for x in drawn) < 260


def test_boxes_are_halved_until_drawing_is_likely_to_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constrained_linear, "_ENOUGH", Fraction(9, 10))
    names = ["x", "y", "z"]
    domain = ax.Domain([ax.Real(name, 0, 1) for name in names]).where(feature("x") >= 0.125)
    model = LinearModel.of_columns(domain, [[1, 1, 1]], intercepts=[-2.5], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain).explain([0.5, 0.5, 0.5])
    assert [c.features for c in e.cxps] == [("x", "y", "z")]
    points = [e.counterfactual(seed=seed).point for seed in range(500)]
    assert all(sum(p.values()) > 2.5 for p in points)
    # The corner that the plane cuts off is a simplex of size 1/2: its points are 1/8 from each side on average, with a
    # standard deviation of sqrt(3/80)/2,
    # and within 1/10 of a side with probability 1 - 0.8^3.
    for name in names:
        away = [1 - p[name] for p in points]
        assert abs(sum(away) / len(away) - 1 / 8) < 5 * (3 / 80) ** 0.5 / 2 / len(away) ** 0.5
        assert abs(sum(a < 0.1 for a in away) / len(away) - (1 - 0.8**3)) < 5 * 0.5 / len(away) ** 0.5


def test_ten_real_features_are_drawn_in_no_time() -> None:
    names = [f"x{i}" for i in range(10)]
    domain = ax.Domain([ax.Real(name, 0, 1) for name in names]).where(feature("x0") >= 0.125)
    model = LinearModel.of_columns(domain, [[1] * 10], intercepts=[-9.5], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, budget=ax.Budget(seconds=60)).explain([0.5] * 10)
    assert e.cxp_count == 1
    assert sum(e.counterfactual(seed=1).point.values()) > 9.5
