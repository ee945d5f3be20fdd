"""The linear engine against brute force and exact integration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Categorical, Domain, Integer, Problem, Real, find_axps, find_cxps, is_wcxp
from axfi_kc.circuits import queries
from axfi_kc.compilers import compile_circuit
from axfi_kc.engines.linear.covers import union_covers
from axfi_kc.families.masks import minimal_hitting_sets
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope
from tests.support.linear_judge import LinearJudge
from tests.support.strategies import features

numbers = st.integers(-6, 6).map(lambda n: Fraction(n, 2))


@st.composite
def parts(draw: st.DrawFn, feature: Any, n_scores: int) -> Slope | Lookup:
    if isinstance(feature, Real) or (isinstance(feature, Integer) and draw(st.booleans())):
        return Slope(tuple(draw(st.lists(numbers, min_size=n_scores, max_size=n_scores))))
    return Lookup(tuple(tuple(draw(numbers) for _ in range(feature.size)) for _ in range(n_scores)))


@st.composite
def intervals(draw: st.DrawFn, name: str) -> Real:
    low = draw(st.integers(-3, 3))
    return Real(name, low, low + draw(st.sampled_from([0, 1, Fraction(3, 2), 4])))


@st.composite
def models(
    draw: st.DrawFn,
    *,
    finite: bool = False,
    plain: bool = False,
    rules: tuple[str, ...] = ("positive", "argmax", "score"),
) -> LinearModel:
    n = draw(st.integers(1, 3 if plain else 4))
    mixed = [features(f"x{i}", finite=finite or i >= 3) for i in range(n)]
    domain = Domain([draw(intervals(f"x{i}") if plain else mixed[i]) for i in range(n)])
    kind = draw(st.sampled_from(rules))
    n_scores = draw(st.integers(2, 4)) if kind == "argmax" else 1
    rule: Any = Score(draw(st.sampled_from([Fraction(1), Fraction(-2, 3)])))
    if kind != "score":
        rule = Positive(("no", "yes")) if kind == "positive" else Argmax(tuple("abcd"[:n_scores]))
    given = [draw(parts(f, n_scores)) for f in domain.features]
    return LinearModel.of(domain, given, base=[draw(numbers) for _ in range(n_scores)], rule=rule)


@st.composite
def problems(draw: st.DrawFn, **options: Any) -> tuple[Problem, LinearJudge]:
    model = draw(models(**options))
    v = tuple(draw(_value(f)) for f in model.domain.features)
    delta = draw(st.integers(0, 4)) if model.is_regression else None
    problem = Problem.of(model, model.domain, v, delta=delta)
    return problem, LinearJudge(model, v, None if delta is None else Fraction(delta))


def _value(feature: Any) -> st.SearchStrategy[Any]:
    if isinstance(feature, Categorical):
        return st.sampled_from(feature.values)
    if isinstance(feature, Integer):
        return st.integers(feature.low, feature.high)
    return st.integers(int(8 * feature.low), int(8 * feature.high)).map(lambda n: n / 8)


def named(problem: Problem, sets: Any) -> set[tuple[str, ...]]:
    return {tuple(problem.domain.names[i] for i in sorted(s)) for s in sets}


@given(problems())
@settings(max_examples=400, deadline=None)
def test_cxps_axps_and_outputs_equal_brute_force(case: tuple[Problem, LinearJudge]) -> None:
    problem, judge = case
    assert problem.output == judge.output(judge.v)
    cxps = judge.cxps()
    assert {c.features for c in find_cxps(problem, weights="unit")} == named(problem, cxps)
    hitting = minimal_hitting_sets(sum(1 << i for i in Y) for Y in cxps)
    assert {a.features for a in find_axps(problem)} == {problem.domain.names_of(m) for m in hitting}


@given(problems())
@settings(max_examples=250, deadline=None)
def test_ratios_equal_exact_integration(case: tuple[Problem, LinearJudge]) -> None:
    problem, judge = case
    for cxp in find_cxps(problem):
        assert cxp.weight == judge.ratio(frozenset(map(problem.domain.index, cxp.features)))


@given(problems(plain=True))
@settings(max_examples=200, deadline=None)
def test_the_closed_form_equals_exact_integration(case: tuple[Problem, LinearJudge]) -> None:
    problem, judge = case
    for cxp in find_cxps(problem):
        assert cxp.weight == judge.ratio(frozenset(map(problem.domain.index, cxp.features)))


@given(problems(finite=True))
@settings(max_examples=200, deadline=None)
def test_counts_equal_brute_force(case: tuple[Problem, LinearJudge]) -> None:
    problem, judge = case
    for cxp in find_cxps(problem, weights="count"):
        assert cxp.weight == judge.count(frozenset(map(problem.domain.index, cxp.features)))


@given(problems(), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_max_size_keeps_exactly_the_small_cxps(case: tuple[Problem, LinearJudge], size: int) -> None:
    problem, _ = case
    small = [c for c in find_cxps(problem) if len(c.features) <= size]
    assert list(find_cxps(problem, max_size=size)) == small


@given(problems(), st.sets(st.integers(0, 3)))
@settings(max_examples=150, deadline=None)
def test_weak_cxps_equal_brute_force(case: tuple[Problem, LinearJudge], chosen: set[int]) -> None:
    problem, judge = case
    S = frozenset(i for i in chosen if i < len(problem.domain))
    assert is_wcxp(problem, [problem.domain.names[i] for i in S]) == judge.is_wcxp(S)


@given(models())
@settings(max_examples=150, deadline=None)
def test_a_model_is_constant_iff_no_corner_differs(model: LinearModel) -> None:
    v = tuple(f.values[0] if isinstance(f, Categorical) else f.low for f in model.domain.features)
    delta = 0 if model.is_regression else None
    problem = Problem.of(model, model.domain, v, delta=delta)
    judge = LinearJudge(model, v, None if delta is None else Fraction(0))
    differs = judge.is_wcxp(frozenset(range(len(v))))
    assert (problem.engine.constant is None) == differs


@given(problems(finite=True))
@settings(max_examples=150, deadline=None)
def test_circuits_agree_with_the_direct_computation(case: tuple[Problem, LinearJudge]) -> None:
    problem, judge = case
    circuit = compile_circuit(problem.model, problem.output, problem.similarity)
    assert queries.is_decomposable(circuit)
    everything = frozenset(range(len(problem.domain)))
    assert queries.count(circuit) == judge.count(everything)
    assert queries.probability(circuit) == judge.ratio(everything)
    for cxp in find_cxps(problem, weights="count"):
        inside = {problem.domain.index(name) for name in cxp.features}
        fixed = {i: int(problem.cells[i]) for i in everything - inside}
        outside = [problem.model.grid.axes[i].n_cells for i in fixed]
        assert queries.count(queries.condition(circuit, fixed)) == cxp.weight * int(np.prod(outside))


losses = st.integers(0, 2**70) | st.integers(0, 9) | st.sampled_from([2**65, 2**65 + 1])


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_the_kernel_is_exact_or_says_so(data: st.DataObject) -> None:
    from axfi_kc.engines.linear import kernels as linear_kernels
    from axfi_kc.engines.linear.engine import _rounded, _Tasks

    n_sides, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    rows = [[data.draw(losses) for _ in range(n)] for _ in range(n_sides)]
    needs = [data.draw(st.integers(1, max(1, sum(row))) | st.sampled_from([1, 2**66 + 1])) for row in rows]
    size = data.draw(st.integers(1, n))
    table, need = np.array([rows], dtype=object), np.array([needs], dtype=object)
    tasks = _Tasks(np.zeros(1, np.int64), table, need, need, np.zeros(1, np.int64))
    _, words, states = linear_kernels.minimal_covers(*_rounded(tasks), 1, size, 10**6)
    wanted = {sum(1 << i for i in s) for s in union_covers(rows, needs, max_size=size)}
    if states[0] == linear_kernels.DONE:
        assert {int(w) for w in words[:, 0]} == wanted
        assert len(words) == len(wanted)
    else:
        assert max(map(sum, rows)) >= 2**61
