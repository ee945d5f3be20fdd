"""The library equals brute force on random tables and trees."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import axfi_kc as ax
from axfi_kc.circuits.queries import condition, count, evaluate, is_consistent, is_decomposable, probability
from axfi_kc.domain.features import Real
from axfi_kc.scores import DEFAULT_SCORES, find_scores, score_numerators
from tests.support.oracle import banzhaf, hitting_value, shapley, subsets
from tests.support.strategies import Case, box_cases, cases, ensemble_cases, table_cases

MANY = settings(max_examples=300, deadline=None)


def families(case: Case) -> dict[frozenset[int], Fraction]:
    names = case.problem.domain.names
    return {frozenset(map(names.index, c.features)): c.weight for c in ax.find_cxps(case.problem)}


@MANY
@given(box_cases)
def test_cxps_and_ratios(case: Case) -> None:
    assert families(case) == {Y: case.judge.ratio(Y) for Y in case.judge.cxps()}


@MANY
@given(ensemble_cases())
def test_cxps_and_ratios_of_ensembles(case: Case) -> None:
    assert families(case) == {Y: case.judge.ratio(Y) for Y in case.judge.cxps()}


@pytest.mark.slow
@settings(max_examples=2500, deadline=None)
@given(ensemble_cases())
def test_cxps_and_ratios_of_ensembles_at_length(case: Case) -> None:
    assert families(case) == {Y: case.judge.ratio(Y) for Y in case.judge.cxps()}


@MANY
@given(cases)
def test_axps(case: Case) -> None:
    names = case.problem.domain.names
    assert {frozenset(map(names.index, a.features)) for a in ax.find_axps(case.problem)} == case.judge.axps()


@MANY
@given(cases)
def test_weak_explanations(case: Case) -> None:
    problem, names = case.problem, case.problem.domain.names
    for S in subsets(len(names)):
        chosen = [names[i] for i in S]
        expected = case.judge.is_wcxp(S)
        assert ax.is_wcxp(problem, chosen) == expected
        assert ax.is_waxp(problem, chosen) == case.judge.is_waxp(S)


@MANY
@given(box_cases)
def test_weak_explanations_by_circuit(case: Case) -> None:
    problem = case.problem
    for S in subsets(len(problem.domain)):
        fixed = {i: int(c) for i, c in enumerate(problem.cells) if i not in S}
        assert is_consistent(problem.circuit, fixed) == case.judge.is_wcxp(S)
        assert is_consistent(condition(problem.circuit, fixed)) == case.judge.is_wcxp(S)


@MANY
@given(cases)
def test_scores_equal_their_definitions(case: Case) -> None:
    weights = families(case)
    forest = ax.CXpForest(case.problem.domain.names, case.problem.engine.explain(case.problem.codes[None])[0])
    m = len(case.problem.domain)

    def value(S: frozenset[int]) -> Fraction:
        return hitting_value(weights, S)

    assert list(ax.shapley_like(forest).values()) == shapley(value, m)
    assert list(ax.banzhaf_like(forest).values()) == banzhaf(value, m)
    for S in subsets(m):
        assert forest.value([forest.features[i] for i in S]) == value(S)


@MANY
@given(cases)
def test_batch_scores_equal_single_scores(case: Case) -> None:
    problem = case.problem
    for kind in ("ratio", "unit"):
        found = problem.engine.explain(np.stack([problem.codes] * 3), weights=kind)
        for score in find_scores(DEFAULT_SCORES):
            ((numerators, denominators),) = score_numerators(found, [score], problem.domain.names)
            single = list(score.of(ax.CXpForest(problem.domain.names, found[1])).values())
            rows = [[Fraction(t, d) for t in row] for row, d in zip(numerators.tolist(), denominators, strict=True)]
            assert rows == [single] * 3


@MANY
@given(table_cases())
def test_counts_and_covered_points(case: Case) -> None:
    names = case.problem.domain.names
    for cxp in ax.find_cxps(case.problem, weights="count"):
        covered = case.judge.covered(frozenset(map(names.index, cxp.features)))
        assert cxp.weight == len(covered)
        assert set(ax.covered_points(case.problem, cxp)) == covered


@MANY
@given(cases)
def test_max_size_keeps_exactly_the_small_cxps(case: Case) -> None:
    everything = ax.find_cxps(case.problem)
    for size in range(1, len(case.problem.domain) + 1):
        small = tuple(c for c in everything if len(c.features) <= size)
        assert ax.find_cxps(case.problem, max_size=size) == small


@MANY
@given(box_cases)
def test_circuit_is_the_set_of_dissimilar_points(case: Case) -> None:
    problem, space = case.problem, case.judge.space
    m = len(problem.domain)
    everywhere = frozenset(range(m))
    circuit = problem.circuit
    assert is_decomposable(circuit)
    assert probability(circuit) == case.judge.ratio(everywhere)
    if not any(isinstance(f, Real) for f in problem.domain.features):
        assert count(circuit) == len(case.judge.covered(everywhere))
    for i in range(m):
        for x in space.values[i]:
            point = (*case.judge.v[:i], float(x) if isinstance(x, Fraction) else x, *case.judge.v[i + 1 :])
            cells = problem.model.grid.locate(problem.domain.encode([point]))[0]
            assert evaluate(circuit, cells.tolist()) == case.judge.dissimilar(point)
