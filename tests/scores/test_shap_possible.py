"""SHAP scores among the points that can exist, against their definition over all sets of features."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.domain.constraints import at_most_one, feature
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.models import LinearModel, Positive
from axfi_kc.scores.shap.circuits import shap_scores, shap_scores_batch
from axfi_kc.scores.shap.margins import margin_shap_scores
from tests.support.oracle import shapley
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import KINDS, Truth


def by_definition(truth: Truth, v: tuple[int, ...], wanted: Any) -> list[Fraction]:
    """Return the SHAP scores of "the output is similar to `wanted`"; ZeroDivisionError if one has no meaning."""

    def mean(S: frozenset[int]) -> Fraction:
        total = inside = 0
        for place, output in truth.existing:
            if all(place[i] == v[i] for i in S):
                worth = 1
                for i in range(len(v)):
                    worth *= 1 if i in S else truth.worths[i][place[i]]
                total += worth
                inside += worth * truth.similar(output, wanted)
        return Fraction(inside, total)

    return shapley(mean, len(v))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_definition(kind: str) -> None:
    rng, checked = Random(f"shap {kind}"), 0
    for _ in range(25):
        truth = random_constrained(rng, kind, n_instances=3)
        wanted = rng.choice(truth.existing)[1]
        target = rng.choice(("mdd", "obdd", "sdd", "ddnnf"))
        compiled = ax.compile_model(truth.model, truth.domain, output=wanted, delta=truth.delta, target=target)
        for v in truth.instances:
            row = dict(zip(truth.domain.names, truth.point(v), strict=True))
            try:
                expected = by_definition(truth, v, wanted)
            except ZeroDivisionError:
                with pytest.raises(DomainError, match="probability 0"):
                    shap_scores(compiled, row)
                continue
            assert list(shap_scores(compiled, row).values()) == expected
            checked += 1
    assert checked >= 20


BITS = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])


def test_scores_add_up_and_a_mapping_of_circuits_is_a_weighted_sum() -> None:
    domain = BITS.where(at_most_one("a", "b"))
    parts = {k: ax.compile_model(lambda p: sum(p), domain, output=k) for k in (1, 2)}
    found = shap_scores_batch(parts, [(1, 0, 1), (0, 0, 0)])
    possible = [p for p in domain.points() if p[0] + p[1] <= 1]
    mean = Fraction(sum(map(sum, possible)), len(possible))
    assert [sum(scores.values()) for scores in found] == [2 - mean, -mean]


def test_what_cannot_be_answered_is_refused_in_a_sentence() -> None:
    domain = BITS.where(at_most_one("a", "b"))
    compiled = ax.compile_model(lambda p: p[2], domain)
    with pytest.raises(DomainError, match=r"The instance cannot exist.*at most 1 of: a = 1, b = 1"):
        shap_scores(compiled, (1, 1, 0))
    with pytest.raises(CircuitError, match="conditioned"):
        shap_scores(compiled.condition({"a": 0}), (0, 1, 0))
    wide = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(18)])
    rules = [feature(f"x{i}") <= feature(f"x{i + 1}") for i in range(17)]
    chain = ax.compile_model(_first(wide), wide.where(*rules))
    with pytest.raises(CircuitError, match=r"at most 16 features.*there are 18"):
        shap_scores(chain, (0,) * 18)


def _first(domain: ax.Domain) -> Any:
    build = CircuitBuilder(Grid.of_values(domain))
    return ax.CircuitModel.of(build.circuit(build.literal(0, [1])), outputs=(0, 1))


def test_margins_are_refused_under_constraints() -> None:
    model = LinearModel.of_columns(BITS, [[3, -2, 1]], intercepts=[1], rule=Positive((0, 1)))
    with pytest.raises(DomainError, match="independent features"):
        margin_shap_scores(model, BITS.where(at_most_one("a", "b")), [(1, 0, 1)])
