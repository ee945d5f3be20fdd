"""Exact SHAP scores against their definition over all sets of features."""

from __future__ import annotations

import inspect
import json
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.queries import evaluate
from axfi_kc.compilers import compile_mdd
from axfi_kc.compilers.model_circuits import compile_circuit
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.scores.shap import circuits as shap_module
from axfi_kc.scores.shap.circuits import integral_weights, shap_scores, shap_scores_batch
from tests.support.oracle import box, shapley, space_of
from tests.support.shared_data import shared_file
from tests.support.strategies import Case, cases, domains, points

MANY = settings(max_examples=30, deadline=None)


def by_definition(function: Any, space: Any, v: Any) -> list[Fraction]:
    """Return the SHAP scores of a function at v from the expectations of all 2^m sets."""
    everything = frozenset(range(len(v)))
    return shapley(lambda S: sum((p * function(x) for x, p in box(space, v, everything - S)), Fraction(0)), len(v))


def both_ways(circuit: Circuit, v: Any) -> list[Fraction]:
    """Return the scores, found by big integers and by residues alike."""
    found = list(shap_scores(circuit, v).values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("axfi_kc.scores.shap.circuits._LARGE", 0)
        assert list(shap_scores(circuit, v).values()) == found
    return found


def judged(case: Case) -> list[Fraction]:
    return by_definition(lambda x: int(case.judge.dissimilar(x)), case.judge.space, case.judge.v)


@MANY
@given(cases)
def test_diagrams_and_path_circuits_of_models(case: Case) -> None:
    problem, expected = case.problem, judged(case)
    for compiler in (compile_mdd, compile_circuit):
        circuit = compiler(problem.model, problem.output, problem.similarity)
        assert both_ways(circuit, case.judge.v) == expected


@MANY
@given(cases)
def test_similarity_is_the_complement(case: Case) -> None:
    problem = case.problem
    similar = compile_mdd(problem.model, problem.output, problem.similarity, similar=True)
    assert both_ways(similar, case.judge.v) == [-s for s in judged(case)]


@st.composite
def circuits(draw: st.DrawFn) -> tuple[Circuit, ax.Domain]:
    """Draw a deterministic, decomposable circuit that need not be ordered, nor smooth."""
    domain = draw(domains(finite=True, max_features=4))
    grid = Grid.of_values(domain)
    build = CircuitBuilder(grid)
    made = {0: [build.false, build.true]}  # by scope
    for _ in range(draw(st.integers(1, 9))):
        scope, node = draw(_gate(build, grid, made))
        made.setdefault(scope, []).append(node)
    last = max(made, key=int.bit_count)
    return build.circuit(made[last][-1]), domain


@st.composite
def _gate(draw: st.DrawFn, build: CircuitBuilder, grid: Grid, made: dict[int, list[int]]) -> tuple[int, int]:
    pool = [(scope, node) for scope, nodes in made.items() for node in nodes]
    i = draw(st.integers(0, len(grid.axes) - 1))
    free = [(s, n) for s, n in pool if not s >> i & 1]
    first = draw(st.sampled_from(pool))
    apart = [(s, n) for s, n in pool if not s & first[0]]
    if draw(st.booleans()) and len(apart) > 2:
        second = draw(st.sampled_from(apart))
        return first[0] | second[0], build.conjunction([first[1], second[1]])
    chosen = [draw(st.sampled_from(free)) for _ in range(grid.n_cells[i])]
    scope = 1 << i
    for s, _ in chosen:
        scope |= s
    if draw(st.booleans()):
        return scope, build.decision(i, [([c], n) for c, (_, n) in enumerate(chosen)])
    terms = [build.conjunction([build.literal(i, [c]), n]) for c, (_, n) in enumerate(chosen)]
    return scope, build.disjunction(terms)


@MANY
@given(circuits(), st.data())
def test_circuits_with_conjunctions_and_disjunctions(drawn: tuple[Circuit, ax.Domain], data: st.DataObject) -> None:
    circuit, domain = drawn
    v = data.draw(points(domain))

    def function(x: Any) -> int:
        return int(evaluate(circuit, circuit.grid.locate(domain.encode([x]))[0].tolist()))

    assert both_ways(circuit, v) == by_definition(function, space_of(domain), v)


def test_reference_tables() -> None:
    """The authors' own results on multi-valued truth tables: raw outputs, and the similarity predicate."""
    checked = 0
    for given_model in json.loads(shared_file("refs", "ref_tables_ijar.json").read_text())["models"]:
        rows = np.array([row[:-1] for row in given_model["table"]])
        outputs = {tuple(row[:-1]): row[-1] for row in given_model["table"]}
        domain = ax.Domain([ax.Integer(f"x{i}", 0, int(top)) for i, top in enumerate(rows.max(axis=0))])
        circuits = {y: ax.compile_model(lambda p: outputs[p], domain, output=y) for y in set(outputs.values())}  # noqa: B023
        plain = shap_scores_batch(circuits, rows)
        similar = [shap_scores(circuits[outputs[tuple(row)]], row) for row in rows.tolist()]
        for found, recorded in ((plain, given_model["shap"]), (similar, given_model["sshap"])):
            for scores, published in zip(found, recorded, strict=True):
                assert [float(s) for s in scores.values()] == pytest.approx(published, abs=6e-4)
                checked += 1
    assert checked > 100


def test_values_of_several_circuits() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1, weights=[1, 3])])
    circuits = {Fraction(y, 2): ax.compile_model(lambda p: 3 * p[0] * p[1], domain, output=y) for y in (3, 6)}
    found = shap_scores(circuits, (2, 1))
    assert list(found.values()) == by_definition(lambda x: Fraction(3 * x[0] * x[1], 2), space_of(domain), (2, 1))


def test_features_that_do_not_matter_score_zero() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Integer("c", 0, 1)])
    compiled = ax.compile_model(lambda p: int(p[0] > p[1]), domain)
    assert shap_scores(compiled, (2, 1, 0))["c"] == 0
    given_b = shap_scores(compiled.condition({"b": 1}), (2, 1, 0))
    assert given_b == {"a": Fraction(2, 3), "b": 0, "c": 0}
    constant = CircuitBuilder(Grid.of_values(domain))
    assert set(shap_scores(constant.circuit(constant.true), (0, 0, 0)).values()) == {0}


def test_deep_circuits_need_no_recursion() -> None:
    n = 150
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    build = CircuitBuilder(Grid.of_values(domain))
    node = build.true
    for i in reversed(range(n)):
        node = build.disjunction([build.conjunction([build.literal(i, [1]), node]), build.literal(i, [0])])
    circuit = build.circuit(node)
    shap_scores(circuit, (0,) * n)  # numba's compiler recurses, once
    limit, depth = sys.getrecursionlimit(), len(inspect.stack())
    try:
        sys.setrecursionlimit(120 + depth)
        found = shap_scores(circuit, (1,) * n)
    finally:
        sys.setrecursionlimit(limit)
    assert set(found.values()) == {0}  # the circuit holds everywhere


def test_large_diagrams_by_residues() -> None:
    """At least half of 60 features are 1: symmetric, so that each share is known."""
    n = 60
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])))
    row = [build.true if k >= n // 2 else build.false for k in range(n + 1)]
    for i in reversed(range(n)):
        row = [build.decision(i, [([0], row[k]), ([1], row[k + 1])]) for k in range(i + 1)]
    circuit = build.circuit(row[0])
    assert len(circuit.children) * n > shap_module._LARGE
    found = shap_scores(circuit, (1,) * n)
    share = 1 - Fraction(sum(math.comb(n, k) for k in range(n // 2, n + 1)), 2**n)
    assert set(found.values()) == {share / n}


def test_quadrature_is_exact() -> None:
    for n in range(1, 9):
        weights = integral_weights(n)
        for degree in range(n):
            values = [Fraction(k, max(n - 1, 1)) ** degree for k in range(n)]
            assert sum(w * y for w, y in zip(weights, values, strict=True)) == Fraction(1, degree + 1)


def test_errors() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2)])
    build = CircuitBuilder(Grid.of_values(domain))
    twice = build.circuit(build.conjunction([build.literal(0, [0, 1]), build.literal(0, [1, 2])]))
    with pytest.raises(CircuitError, match="meets a feature twice"):
        shap_scores(twice, (1,))
    with pytest.raises(CircuitError, match="none was given"):
        shap_scores({}, (1,))
    with pytest.raises(DomainError):
        shap_scores(build.circuit(build.literal(0, [1])), (7,))
