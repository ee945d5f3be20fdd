"""Every target, code, order and vtree answers as brute force does, for every kind of model."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.targets import CODES, TARGETS
from axfi_kc.compilers import compile_target
from axfi_kc.compilers.feature_orders import ORDERS
from axfi_kc.engines import engine_through
from axfi_kc.errors import BudgetError
from axfi_kc.models import CircuitModel, LinearModel, Lookup, Positive, Similarity
from tests.support.oracle import Judge, box, space_of
from tests.support.strategies import Case, cases, domains, points

WAYS = [
    ("mdd", {}),
    *(("obdd", {"code": code}) for code in CODES),
    *(("sdd", {"code": code, "vtree": vtree}) for code in CODES for vtree in ("right", "balanced")),
    ("ddnnf", {}),
    ("ddnnf", {"smooth": True}),
]


@st.composite
def linear_cases(draw: st.DrawFn) -> Case:
    """Linear classifiers over discrete features, with ties at zero."""
    domain = draw(domains(finite=True))
    rows = [[draw(st.integers(-3, 3)) for _ in range(f.size)] for f in domain.features]
    base = Fraction(draw(st.integers(-3, 3)), 2)
    parts = [Lookup((tuple(map(Fraction, row)),)) for row in rows]
    model = LinearModel.of(domain, parts, base=[base], rule=Positive((0, 1)))
    gains = [dict(zip(values, row, strict=True)) for values, row in zip(space_of(domain).values, rows, strict=True)]
    v = draw(points(domain))
    judge = Judge(space_of(domain), lambda x: int(base + sum(g[c] for g, c in zip(gains, x, strict=True)) > 0), v)
    return Case(ax.Problem.of(model, domain, v), judge)


problems = st.one_of(cases, linear_cases())


def families(found: tuple[ax.CXp, ...], names: tuple[str, ...]) -> dict[frozenset[int], Fraction | int]:
    return {frozenset(map(names.index, c.features)): c.weight for c in found}


@given(problems, st.sampled_from(WAYS), st.sampled_from([*ORDERS, "reversed"]))
@settings(max_examples=300, deadline=None)
def test_probability_count_cxps_and_weights(case: Case, way: tuple[str, dict[str, Any]], order: str) -> None:
    problem, judge = case.problem, case.judge
    names = problem.domain.names
    chosen = list(reversed(names)) if order == "reversed" else order
    target, options = way
    made = compile_target(problem.model, problem.output, problem.similarity, target=target, order=chosen, **options)
    everywhere = [(p, judge.dissimilar(x)) for x, p in box(judge.space, judge.v, frozenset(range(len(names))))]
    assert made.probability() == sum((p for p, wanted in everywhere if wanted), Fraction(0))
    if problem.domain.size is not None:
        assert made.count() == sum(wanted for _, wanted in everywhere)
    model = CircuitModel.of(made.to_circuit(), outputs=("same", "other"))
    through = replace(problem, model=model, output="same", similarity=Similarity())
    expected = {Y: judge.ratio(Y) for Y in judge.cxps()}
    assert families(ax.find_cxps(through), names) == expected


@given(problems, st.sampled_from(tuple(TARGETS)), st.sampled_from(["ratio", "unit"]))
@settings(max_examples=150, deadline=None)
def test_engines_through_targets(case: Case, target: str, weights: str) -> None:
    problem, judge = case.problem, case.judge
    engine = engine_through(target, problem.model, problem.similarity)
    found = engine.explain(problem.codes[None], weights=weights)[0].weights
    masks = {frozenset(i for i in range(len(problem.domain)) if m >> i & 1): w for m, w in found.items()}
    assert masks == {Y: judge.ratio(Y) if weights == "ratio" else 1 for Y in judge.cxps()}
    for S in judge.cxps():
        assert engine.is_weak_cxp(problem.codes, sum(1 << i for i in S))
        assert not engine.is_weak_cxp(problem.codes, sum(1 << i for i in sorted(S)[1:]))


def test_scores_and_axps_through_every_target() -> None:
    domain = ax.Domain([ax.Integer("x1", 0, 2), ax.Integer("x2", 0, 1), ax.Integer("x3", 0, 2)])
    ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    for target in TARGETS:
        e = ax.Explainer(lambda p: int(p in ones), domain, weights="count", target=target).explain((2, 1, 2))
        assert [(c.features, c.weight) for c in e.cxps] == [(("x1", "x2"), 1), (("x1", "x3"), 4), (("x2", "x3"), 2)]
        assert e.scores("banzhaf") == {"x1": Fraction(5, 6), "x2": Fraction(1, 2), "x3": 1}
        assert len(e.axps) == 3


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_that_does_not_fit_stops_at_its_budget(target: str) -> None:
    n = 40
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    weights = [[3**i % 1009 for i in range(n)]]
    model = LinearModel.of_columns(domain, weights, intercepts=[-sum(weights[0]) // 2], rule=Positive((0, 1)))
    with pytest.raises(BudgetError, match="budget was spent"):
        ax.compile_model(model, domain, target=target, budget=ax.Budget(nodes=2000))


def test_no_instances() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    for target in TARGETS:
        assert len(ax.Explainer(lambda p: p[0] and p[1], domain, target=target).explain_batch(np.empty((0, 2)))) == 0
