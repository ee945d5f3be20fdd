"""Relevant, necessary and unavoidable features, against all CXps by definition."""

from __future__ import annotations

import sys
from itertools import combinations, product
from random import Random
from time import perf_counter
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.files.clause_compilers import compile_cnf
from axfi_kc.circuits.files.counting_problems import CountingProblem
from axfi_kc.circuits.targets import TARGETS, sdd_of, target_of
from axfi_kc.engines.circuit.relevance import relevance
from axfi_kc.errors import AxfiError
from tests.support.circuit_strategies import MODEST, deterministic_circuits, points, truth
from tests.support.random_clauses import random_clauses


def listed_cxps(circuit, v):
    """Return all CXps: minimal sets outside of which some point with another truth value agrees with v."""
    output = truth(circuit, v)
    differing = [
        frozenset(i for i, (a, b) in enumerate(zip(x, v, strict=True)) if a != b)
        for x in points(circuit.grid)
        if truth(circuit, x) != output
    ]
    return {s for s in differing if not any(other < s for other in differing)}


def check(found, circuit, v):
    names = circuit.grid.domain.names
    cxps = {frozenset(names[i] for i in s) for s in listed_cxps(circuit, v)}
    assert set(found.relevant) == {name for s in cxps for name in s}
    assert all(frozenset(s) in cxps and name in s for name, s in found.relevant.items())
    assert {frozenset([name]) for name in found.necessary} == {s for s in cxps if len(s) == 1}
    assert set(found.unavoidable) == (set.intersection(*map(set, cxps)) if cxps else set())
    assert found.undecided == ()


@MODEST
@given(data=st.data())
def test_every_language_tells_the_same(data):
    circuit = data.draw(deterministic_circuits())
    v = tuple(data.draw(st.integers(0, n - 1)) for n in circuit.grid.n_cells)
    check(relevance(circuit, v), circuit, v)
    target = data.draw(st.sampled_from(list(TARGETS)))
    check(relevance(target_of(target, circuit), v), circuit, v)


@pytest.mark.parametrize("seed", range(60))
def test_clauses(seed):
    rng = Random(seed)
    n = rng.randint(2, 7)
    sdd = compile_cnf(CountingProblem.of(random_clauses(rng, n, rng.randint(1, 2 * n)), n), target="sdd")
    v = tuple(rng.randrange(2) for _ in range(n))
    check(relevance(sdd, v), sdd.to_circuit(), v)


def test_a_feature_that_matters_but_is_in_no_cxp():
    # a is a CXp by itself, and b matters only where a has changed: then a alone is enough
    build = CircuitBuilder(ax.grid.Grid.of_values(ax.Domain([ax.Integer(name, 0, 2) for name in "ab"])))
    circuit = build.circuit(build.decision(0, [([0], build.true), ([2], build.literal(1, [0]))]))
    found = relevance(circuit, (0, 0))
    assert set(found.relevant) == {"a"}
    assert found.unavoidable == ("a",)


def test_budgets_leave_what_is_certain():
    rng = Random(1)
    clauses = [c for c in random_clauses(rng, 24, 60) if len(c) > 1]
    sdd = compile_cnf(CountingProblem.of(clauses, 24), target="sdd")
    v = tuple(rng.randrange(2) for _ in range(24))
    whole, part = relevance(sdd, v), relevance(sdd, v, budget=ax.Budget(nodes=60))
    assert not whole.undecided
    assert set(part.relevant) <= set(whole.relevant)
    assert set(whole.relevant) <= {*part.relevant, *part.undecided}


def test_constants_have_no_relevant_features():
    build = CircuitBuilder(ax.grid.Grid.of_values(ax.Domain([ax.Integer("a", 0, 1)])))
    for root in (build.true, build.false):
        assert relevance(build.circuit(root), (1,)).relevant == {}


def test_compiled_models_are_asked():
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    compiled = ax.compile_model(lambda p: int(p[0] and p[1]), domain, target="sdd")
    assert set(relevance(compiled, (1, 1, 0)).relevant) == {"a", "b"}


def test_bad_input_is_one_sentence():
    build = CircuitBuilder(ax.grid.Grid.of_values(ax.Domain([ax.Integer(name, 0, 1) for name in "ab"])))
    twice = build.conjunction([build.literal(0, [1]), build.decision(0, [([1], build.literal(1, [1]))])])
    for call in (
        lambda: relevance("sdd", (1, 1)),
        lambda: relevance(build.circuit(build.true), (1, 2)),
        lambda: relevance(build.circuit(build.true), (1,)),
        lambda: relevance(build.circuit(twice), (1, 1)),
    ):
        with pytest.raises(AxfiError) as raised:
            call()
        assert str(raised.value).count(". ") == 0


def test_all_functions_of_three_bits():
    grid = ax.grid.Grid.of_values(ax.Domain([ax.Integer(name, 0, 1) for name in "abc"]))
    vectors = list(product((0, 1), repeat=3))
    for size in (1, 3, 4):
        for ones in list(combinations(vectors, size))[::5]:
            build = CircuitBuilder(grid)
            rows = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(x)]) for x in ones]
            sdd = sdd_of(build.circuit(build.disjunction(rows)), vtree="balanced")
            for v in vectors:
                check(relevance(sdd, v), sdd.to_circuit(), v)


class Slow:
    """A SAT solver as python-sat has them, which needs several attempts for each question."""

    def __init__(self, name: str) -> None:
        self.clauses, self.left, self.model, self.settings = [], 0, None, {}

    def configure(self, settings: dict[str, int]) -> None:
        assert not self.clauses
        self.settings = settings

    def add_clause(self, clause: list[int]) -> None:
        self.clauses.append(clause)

    def set_phases(self, literals: list[int]) -> None:
        pass

    def conf_budget(self, most: int) -> None:
        self.left += most

    def solve_limited(self, assumptions: list[int]) -> bool | None:
        if self.left < 300:
            return None
        self.left = 0
        self.model = solved(self.clauses, assumptions)
        return self.model is not None

    def get_model(self) -> list[int]:
        return self.model


class Endless(Slow):
    def solve_limited(self, assumptions: list[int]) -> bool | None:
        return None


def solved(clauses, literals):
    """Return a model of some clauses with the given literals; None if there is none."""
    true = set(literals)
    while True:
        left = [[x for x in c if -x not in true] for c in clauses if not true.intersection(c)]
        unit = next((c[0] for c in left if len(c) == 1), None)
        if [] in left:
            return None
        if unit is None:
            break
        true.add(unit)
    if not left:
        most = max(abs(x) for c in clauses for x in c)
        return [x if x in true else -x for x in range(1, most + 1)]
    tries = (solved(left, [*true, x]) for x in (-abs(left[0][0]), abs(left[0][0])))
    return next((found for found in tries if found is not None), None)


@pytest.fixture
def solver(monkeypatch):
    """Let relevance take a solver, as if python-sat were installed."""

    def put(kind):
        monkeypatch.setitem(sys.modules, "pysat", ModuleType("pysat"))
        solvers = ModuleType("pysat.solvers")
        solvers.Solver = kind
        monkeypatch.setitem(sys.modules, "pysat.solvers", solvers)
        monkeypatch.setattr("axfi_kc.engines.circuit.relevance.find_spec", lambda name: name)

    return put


@pytest.mark.parametrize("seed", range(40))
def test_a_solver_that_answers_after_a_while(seed, solver):
    solver(Slow)
    rng = Random(seed)
    n = rng.randint(3, 6)
    sdd = compile_cnf(CountingProblem.of(random_clauses(rng, n, rng.randint(2, 2 * n)), n), target="sdd")
    v = tuple(rng.randrange(2) for _ in range(n))
    found = relevance(sdd, v)
    check(found, sdd.to_circuit(), v)
    assert relevance(sdd, v, budget=ax.Budget(seconds=600)) == found


def hard_for_a_solver():
    """Return a diagram in which b matters but is in no CXp, which a solver has to show."""
    build = CircuitBuilder(ax.grid.Grid.of_values(ax.Domain([ax.Integer(name, 0, 2) for name in "ab"])))
    return build.circuit(build.decision(0, [([0], build.false), ([1], build.true), ([2], build.literal(1, [1, 2]))]))


def test_a_budget_ends_a_solver_that_has_no_answer(solver):
    solver(Endless)
    circuit = hard_for_a_solver()
    begin = perf_counter()
    found = relevance(circuit, (0, 0), budget=ax.Budget(seconds=0.2))
    assert perf_counter() - begin < 30
    assert (set(found.relevant), found.undecided) == ({"a"}, ("b",))


def test_large_circuits_are_shrunk_as_small_ones(monkeypatch):
    rng = Random(3)
    sdd = compile_cnf(CountingProblem.of(random_clauses(rng, 9, 14), 9), target="sdd")
    v = tuple(rng.randrange(2) for _ in range(9))
    usual = relevance(sdd, v)
    monkeypatch.setattr("axfi_kc.engines.circuit.regions._ARCS_AT_ONCE", 1)
    assert relevance(sdd, v) == usual
