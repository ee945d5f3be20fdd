"""Answers about the whole space: right ones are proved, and each number that is changed a little is noticed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.verification import changes
from axfi_kc.verification.report import Allowance
from tests.support import hard_problems as hard

_NUMBERS = ("probability", "count", "points")


def _table(seed: int) -> tuple[ax.Domain, Any]:
    """Return a random space, some of it impossible or under a joint distribution, and a function of three outputs."""
    rng = Random(seed)
    features = [
        ax.Categorical(f"f{k}", [f"v{j}" for j in range(rng.randint(2, 3))])
        if rng.random() < 0.5
        else ax.Integer(f"f{k}", 0, rng.randint(1, 3), missing=rng.choice((0, 0.25)))
        for k in range(rng.randint(2, 4))
    ]
    domain = ax.Domain(features)
    rows = list(domain.points())
    outputs = {p: rng.choice((0, 0, 1, 2)) for p in rows}
    if rng.random() < 0.5:
        rows = [p for p in rows if rng.random() < 0.7] or rows
        domain = domain.where(ax.allowed(domain.names, rows))
    if seed % 2:
        domain = domain.with_distribution(ChowLiu.fit([rng.choice(rows) for _ in range(12)], domain))
    return domain, lambda p: outputs[p]


def _answers(model: Any, domain: ax.Domain, rng: Random) -> Iterator[Any]:
    by = rng.choice(domain.names)
    yield ax.sensitivity(model, domain, rng.sample(domain.names, 1), by=by)
    yield ax.sensitivity(model, domain, rng.sample(domain.names, 2), by=by)
    yield from (ax.robustness(model, domain, radius=k, by=by) for k in (0, 1, 2))
    yield ax.fairness(model, domain, domain.names[:2], by=by)


def _altered(answer: Any) -> Iterator[Any]:
    """Iterate over answers in which one number, or one name, is another."""
    for name in _NUMBERS:
        if getattr(answer, name) is not None:
            yield replace(answer, **{name: getattr(answer, name) + (Fraction(1, 997) if name == "probability" else 1)})
    yield replace(answer, distribution=f"{answer.distribution}?")
    for kind in ("outputs", "groups"):
        parts = getattr(answer, kind)
        for k, part in enumerate(parts):
            for name in (*_NUMBERS, "whole"):
                own = getattr(part, name)
                if own is not None:
                    other = replace(part, **{name: own + (Fraction(1, 997) if isinstance(own, Fraction) else 1)})
                    yield replace(answer, **{kind: (*parts[:k], other, *parts[k + 1 :])})
            yield replace(answer, **{kind: (*parts[:k], *parts[k + 1 :])})
            odd = replace(part, name=f"{part.name}?" if kind == "groups" else "none")
            yield replace(answer, **{kind: (*parts[:k], odd, *parts[k + 1 :])})


def _single(answer: Any) -> tuple[Any, ...]:
    return answer.answers if isinstance(answer, ax.Fairness) else (answer,)


_SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 30))]


@pytest.mark.parametrize("seed", _SEEDS)
def test_right_answers_are_proved_and_each_changed_number_fails(seed: int) -> None:
    domain, model = _table(seed)
    for answer in _answers(model, domain, Random(seed)):
        report = ax.verify(answer, model)
        assert report.ok, str(report)
        assert report.complete, str(report)
        one = Random(seed).choice(_single(answer))
        for k, wrong in enumerate(_altered(one)):
            if k % 6 == seed % 6:
                assert not ax.verify(wrong, model).ok, wrong


@pytest.mark.parametrize("seed", range(3))
def test_a_region_of_other_points_fails(seed: int) -> None:
    domain, model = _table(2 * seed)
    answers = [ax.robustness(model, domain, radius=k) for k in (0, 1)]
    if answers[0].count != answers[1].count:
        report = ax.verify(replace(answers[1], region=answers[0].region), model)
        assert [check.kind for check in report.failed] == ["region"]


def _trained(kind: type, **options: Any) -> tuple[Any, ax.Domain]:
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.random(200), rng.integers(0, 9, 200), rng.integers(0, 2, 200), rng.random(200)])
    y = (X[:, 0] + X[:, 1] / 9 + X[:, 2] * X[:, 3] > 1.1).astype(int) + (X[:, 3] > 0.9)
    features = [ax.Real("a", 0, 1), ax.Integer("b", 0, 8), ax.Integer("c", 0, 1), ax.Real("d", 0, 1)]
    return kind(random_state=0, **options).fit(X, y), ax.Domain(features)


@pytest.mark.parametrize(
    ("kind", "options"),
    [(DecisionTreeClassifier, {"max_depth": 5}), (GradientBoostingClassifier, {"n_estimators": 4, "max_depth": 2})],
)
def test_trained_models_over_real_features(kind: type, options: dict[str, Any]) -> None:
    model, whole = _trained(kind, **options)
    for domain in (whole, whole.where((ax.feature("a") <= 0.7) | (ax.feature("b") > 3))):
        for answer in (
            ax.sensitivity(model, domain, ["c"], by="b"),
            ax.robustness(model, domain, radius=1, by="a"),
            ax.fairness(model, domain, ["b", "c"]),
        ):
            report = ax.verify(answer, model, budget=ax.Budget(nodes=60_000))
            assert report.complete, str(report)
            wrong = list(_altered(_single(answer)[0]))[::3]
            named = [w for w in wrong if getattr(w, "by", None) != "a" or w.groups == answer.groups]
            assert not any(ax.verify(w, model, budget=ax.Budget(nodes=60_000)).ok for w in named[:4])


def test_the_answer_of_another_model_fails() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Categorical("b", "xy")])
    found = ax.sensitivity(lambda p: p[0] > (6 if p[1] == "x" else 4), domain, ["b"])
    assert not ax.verify(found, lambda p: p[0] > (6 if p[1] == "x" else 5)).ok
    assert not ax.verify(replace(found, features=("a",)), lambda p: p[0] > (6 if p[1] == "x" else 4)).ok


def test_what_cannot_be_listed_is_sampled_and_said_so() -> None:
    domain = hard.bits(16)
    model = ax.TableModel.from_function(domain, lambda p: sum(p) >= 8)
    found = ax.sensitivity(model, domain, ["x0"], by="x1")
    for report in (
        ax.verify(found, model),
        ax.verify(found, model, budget=ax.Budget(seconds=1e-9)),
        ax.verify(found, model, budget=ax.Budget(nodes=3)),
    ):
        assert report.ok
        assert not report.complete
    assert ax.verify(found, model, budget=ax.Budget(nodes=70_000)).complete
    assert not ax.verify(replace(found, probability=found.probability / 2), model).ok  # outputs do not add up to it
    everything = ax.sensitivity(model, domain, domain.names)
    nothing = replace(found, region=ax.robustness(model, domain, radius=0).region, features=domain.names)
    assert ax.verify(everything, model).ok
    assert [check.kind for check in ax.verify(nothing, model).failed] == ["region"]


def test_numbers_that_only_rounding_contradicts_are_those_of_exact_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    model, domain = _trained(DecisionTreeClassifier, max_depth=3)
    found = ax.sensitivity(model, domain, ["c"])
    own = changes.predictor(model, domain)
    listing = changes._Listing.of(domain, changes.form_of(model, domain), own, Allowance.of(None), [set()] * 4)
    assert listing is not None
    tie = listing.codes[0].tolist()

    def rounding(codes: Any) -> list[Any]:
        return [9 if row == tie else y for row, y in zip(codes.tolist(), own(codes), strict=True)]

    monkeypatch.setattr(changes, "predictor", lambda *_: rounding)
    assert not ax.verify(found, model).complete  # random points of that cell say otherwise: nothing is proved
    monkeypatch.setattr(changes, "_DRAWN", 0)
    report = ax.verify(found, model)
    assert report.ok, str(report)
    assert {check.method for check in report.checks if check.kind == "change"} == {changes._EXACTLY}
    assert not ax.verify(replace(found, probability=found.probability / 2), model).ok


def test_answers_of_two_domains_are_no_fairness() -> None:
    domains = [ax.Domain([ax.Integer("a", 0, n), ax.Categorical("b", "xy")]) for n in (9, 8)]
    answers = [ax.sensitivity(lambda p: p[0] > 4, domain, ["a"]) for domain in domains]
    assert not ax.verify(ax.Fairness(tuple(answers)), lambda p: p[0] > 4).ok


@pytest.mark.parametrize("by", ["b", "c", "d"])
def test_groups_that_the_model_does_not_tell_apart_are_proved(by: str) -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 6, 300), rng.integers(0, 3, 300), rng.integers(0, 2, 300), rng.random(300)])
    model = DecisionTreeClassifier(random_state=0).fit(X * [1, 0, 0, 0], X[:, 0] > 2)
    whole = ax.Domain(
        [ax.Integer("a", 0, 5), ax.Integer("b", 0, 2), ax.Integer("c", 0, 1, missing=0.25), ax.Real("d", 0, 1)]
    )
    X[:, 1] = X[:, 0] // 2
    tree = ChowLiu.fit(X[:40], whole, bins={"d": [0.1, Fraction(1, 3)]})
    for domain in (whole, whole.with_distribution(tree)):
        found = ax.fairness(model, domain, ["a", "b"], by=by)
        report = ax.verify(found, model)
        assert report.complete, str(report)
        for k, wrong in enumerate(_altered(found.answers[0])):
            if k % 3 == 0 and (by != "d" or "?" not in "".join(part.name for part in wrong.groups)):
                assert not ax.verify(wrong, model).ok, wrong
