"""Models given by circuits are explained as brute force says."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings

import axfi_kc as ax
from axfi_kc.budget import Budget, Meter
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.queries import count, evaluate, is_decomposable
from axfi_kc.domain.features import Real
from axfi_kc.domain.grid import Grid
from axfi_kc.engines.circuit.regions import InstanceBoxes, Region
from axfi_kc.engines.circuit.search import cxps_by_nodes
from axfi_kc.engines.duality import cxps_by_duality, cxps_by_size
from axfi_kc.errors import BudgetError, CircuitError, ConstantModelError, WeightError
from axfi_kc.models import CircuitModel
from tests.support.circuit_forms import cell_of, circuit_cases, class_cases
from tests.support.oracle import banzhaf, hitting_value, shapley, subsets
from tests.support.strategies import Case

MANY = settings(max_examples=200, deadline=None)
SOME = settings(max_examples=60, deadline=None)


def families(case: Case, **options: object) -> dict[frozenset[int], Fraction]:
    names = case.problem.domain.names
    return {frozenset(map(names.index, c.features)): c.weight for c in ax.find_cxps(case.problem, **options)}


def judged(case: Case) -> dict[frozenset[int], Fraction]:
    return {Y: case.judge.ratio(Y) for Y in case.judge.cxps()}


@MANY
@given(circuit_cases())
def test_cxps_and_ratios(case: Case) -> None:
    assert families(case) == judged(case)


@MANY
@given(circuit_cases(trusted=True))
def test_cxps_and_ratios_where_determinism_is_vouched_for(case: Case) -> None:
    assert not case.problem.model.converted
    assert families(case) == judged(case)


@SOME
@given(circuit_cases(any_shape=True))
def test_any_circuit(case: Case) -> None:
    assert families(case) == judged(case)
    assert is_decomposable(case.problem.model.circuits[1])


@SOME
@given(class_cases())
def test_three_outputs(case: Case) -> None:
    assert families(case) == judged(case)


@SOME
@given(circuit_cases(trusted=True))
def test_axps_and_relevance(case: Case) -> None:
    names = case.problem.domain.names
    assert {frozenset(map(names.index, a.features)) for a in ax.find_axps(case.problem)} == case.judge.axps()
    assert set(ax.relevant_features(case.problem)) == {names[i] for Y in case.judge.cxps() for i in Y}


@SOME
@given(circuit_cases(finite=True, trusted=True))
def test_counts(case: Case) -> None:
    found = families(case, weights="count")
    assert found == {Y: len(case.judge.covered(Y)) for Y in case.judge.cxps()}


@SOME
@given(circuit_cases(trusted=True))
def test_max_size_keeps_the_small_cxps_and_no_others(case: Case) -> None:
    everything = judged(case)
    for k in range(1, len(case.problem.domain) + 1):
        assert families(case, max_size=k) == {Y: w for Y, w in everything.items() if len(Y) <= k}


@SOME
@given(circuit_cases(trusted=True))
def test_weak_cxps_of_all_sets(case: Case) -> None:
    for S in subsets(len(case.problem.domain)):
        assert case.problem.engine.is_weak_cxp(case.problem.codes, sum(1 << i for i in S)) == case.judge.is_wcxp(S)


@SOME
@given(circuit_cases(trusted=True))
def test_scores(case: Case) -> None:
    explained = judged(case)
    m = len(case.problem.domain)
    if not explained:
        return
    e = ax.Explainer(case.problem.model, case.problem.domain).explain(case.problem.instance)
    assert list(e.scores("shapley").values()) == shapley(lambda S: hitting_value(explained, S), m)
    assert list(e.scores("banzhaf").values()) == banzhaf(lambda S: hitting_value(explained, S), m)


@MANY
@given(circuit_cases(trusted=True))
def test_all_searches_find_the_same(case: Case) -> None:
    model, cells = case.problem.model, case.problem.cells
    circuit, holds = model.region([case.problem.is_dissimilar(y) for y in model.outputs])
    boxes = InstanceBoxes(Region.of(circuit, holds), cells)
    limits = {"max_size": len(cells), "meter": Meter(Budget())}
    dual = sorted(cxps_by_duality(boxes, meter=Meter(Budget())))
    if boxes.region.holds or not (circuit.kinds == 4).any():
        assert sorted(cxps_by_nodes(boxes, **limits)) == dual
    assert sorted(cxps_by_size(boxes, **limits)) == dual
    scope = boxes.region.scope.tolist()
    assert {frozenset(scope[k] for k in range(len(scope)) if Y >> k & 1) for Y in dual} == case.judge.cxps()


@SOME
@given(circuit_cases(trusted=True))
def test_complete_diagrams_and_circuits_of_dissimilar_points(case: Case) -> None:
    problem, model = case.problem, case.problem.model
    for x in np.ndindex(*model.grid.n_cells):
        dissimilar = problem.is_dissimilar(model.decide(np.array([x]))[0])
        assert evaluate(problem.circuit, x) == dissimilar
    compiled = ax.compile_model(model, problem.domain, output="yes")
    assert compiled.probability() == sum(
        (prod(ps) for x, ps in _weighted(case) if case.judge.model(x) == "yes"), start=Fraction(0)
    )


def _weighted(case: Case):
    from itertools import product

    space = case.judge.space
    choices = [list(zip(v, m, strict=True)) for v, m in zip(space.values, space.measures, strict=True)]
    for combination in product(*choices):
        yield tuple(x for x, _ in combination), [p for _, p in combination]


@SOME
@given(circuit_cases(trusted=True))
def test_diagrams_explain_the_same(case: Case) -> None:
    try:
        explainer = ax.Explainer(case.problem.model, case.problem.domain, target="mdd")
    except ConstantModelError:
        assert not case.judge.cxps()
        return
    names = case.problem.domain.names
    found = explainer.explain(case.problem.instance)
    assert {frozenset(map(names.index, c.features)): c.weight for c in found.cxps} == judged(case)


@SOME
@given(circuit_cases(any_shape=True))
def test_predictions_of_many_rows(case: Case) -> None:
    model, grid = case.problem.model, case.problem.model.grid
    rows = [tuple(values[k % len(values)] for values in case.judge.space.values) for k in range(70)]
    codes = np.array([[cell_of(grid, i, x) for i, x in enumerate(row)] for row in rows])
    assert model.decide(codes) == [case.judge.model(row) for row in rows]


def _binary(m: int) -> CircuitBuilder:
    return CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(m)])))


def _parity(build: CircuitBuilder, features: range, odd: int) -> int:
    nodes = [build.false, build.true] if odd else [build.true, build.false]
    for i in features:
        nodes = [
            build.decision(i, [([0], nodes[0]), ([1], nodes[1])]),
            build.decision(i, [([0], nodes[1]), ([1], nodes[0])]),
        ]
    return nodes[0]


def test_boxes_of_more_points_than_any_word_holds() -> None:
    """Fails exactly where 150 features are all 1, behind a disjunction that only counting sees through."""
    m = 150
    build = _binary(m + 2)
    all_ones = build.true
    some_zero = build.false
    for i in reversed(range(2, m + 2)):
        some_zero = build.decision(i, [([0], build.true), ([1], some_zero)])
        all_ones = build.decision(i, [([1], all_ones)])
    prime, other = (_parity(build, range(2), odd) for odd in (1, 0))
    root = build.disjunction([build.conjunction([prime, some_zero]), build.conjunction([other, some_zero])])
    model = CircuitModel.of(build.circuit(root), outputs=(0, 1), deterministic=True)
    assert not model.converted
    e = ax.Explainer(model, model.domain).explain([0] * (m + 2))
    assert [(len(c.features), c.weight) for c in e.cxps] == [(m, Fraction(1, 2**m))]
    assert ax.Explainer(model, model.domain, weights="count").explain([0] * (m + 2)).cxps[0].weight == 1
    for at in ([1] * (m + 2), [0, 1] + [1] * m):
        found = ax.Explainer(model, model.domain).explain(at)
        assert [c.features for c in found.cxps] == [(f"x{i}",) for i in range(2, m + 2)]


def test_one_prime_is_not_enough() -> None:
    """All but one of 2^31 points fail: as many as a prime, so modulo this prime none does."""
    build = _binary(33)
    zeros = build.conjunction(build.literal(i, [0]) for i in range(31))
    parts = [build.conjunction([_parity(build, range(31, 33), odd), zeros]) for odd in (0, 1)]
    model = CircuitModel.of(build.circuit(build.disjunction(parts)), outputs=(0, 1), deterministic=True)
    e = ax.Explainer(model, model.domain).explain([0] * 33)
    assert [c.features for c in e.cxps] == [(f"x{i}",) for i in range(31)]


def test_weights_whose_denominators_need_many_primes() -> None:
    shares = [2**61 - 1, 2**31 - 1, 3]  # a prime denominator that must not be a modulus among them
    domain = ax.Domain([ax.Categorical(f"x{i}", [0, 1], weights=[1, n - 1]) for i, n in enumerate(shares * 7)])
    build = CircuitBuilder(Grid.of_values(domain))
    both = build.conjunction(build.literal(i, [0]) for i in range(len(domain)))
    model = CircuitModel.of(build.circuit(both))
    (cxp,) = ax.Explainer(model, domain).explain([1] * len(domain)).cxps
    assert cxp.weight == Fraction(1, prod(shares) ** 7)


def test_independent_parts_need_no_axps() -> None:
    """2^60 AXps, 120 CXps."""
    build = _binary(180)
    parts = [
        build.decision(
            3 * k, [([1], build.true), ([0], build.conjunction([build.literal(3 * k + j, [1]) for j in (1, 2)]))]
        )
        for k in range(60)
    ]
    model = CircuitModel.of(build.circuit(build.conjunction(parts)), outputs=(0, 1))
    e = ax.Explainer(model, model.domain).explain([1] * 180)
    assert [(c.features, c.weight) for c in e.cxps][::40] == [
        (("x0", "x1"), Fraction(1, 4)),
        (("x60", "x61"), Fraction(1, 4)),
        (("x120", "x121"), Fraction(1, 4)),
    ]
    assert len(e.cxps) == 120


def test_a_budget_is_kept_and_what_was_found_is_certain() -> None:
    """Parities hide the determinism, so the search is by duality; there are 3^12 AXps."""
    build = _binary(38)
    sub = build.true
    for k in range(12):
        triple = build.true
        for j in range(3):
            triple = build.decision(3 * k + j, [([1], build.true), ([0], triple if j else build.false)])
        sub = build.conjunction([sub, triple])
    parts = [build.conjunction([_parity(build, range(36, 38), odd), sub]) for odd in (0, 1)]
    model = CircuitModel.of(build.circuit(build.disjunction(parts)), outputs=(0, 1), deterministic=True)
    with pytest.raises(BudgetError, match="12 CXps") as caught:
        ax.Explainer(model, model.domain, budget=ax.Budget(nodes=5000), on_budget="raise").explain([1] * 38)
    assert sorted(caught.value.cxps) == sorted(tuple(f"x{3 * k + j}" for j in range(3)) for k in range(12))


def test_a_small_budget_leaves_the_families_and_goes_on_by_duality() -> None:
    build = _binary(6)
    model = CircuitModel.of(build.circuit(build.conjunction(build.literal(i, [1]) for i in range(6))), outputs=(0, 1))
    with pytest.raises(BudgetError) as caught:
        ax.Explainer(model, model.domain, budget=ax.Budget(nodes=12), on_budget="raise").explain([1] * 6)
    assert caught.value.cxps
    assert all(len(c) == 1 for c in caught.value.cxps)


def test_real_features_have_no_counts() -> None:
    domain = ax.Domain([ax.Real("r", 0, 1)])
    from axfi_kc.domain.grid import Cut

    build = CircuitBuilder(Grid.of(domain, [[Cut(0.5, closed=True)]]))
    model = CircuitModel.of(build.circuit(build.literal(0, [0])))
    assert isinstance(domain.features[0], Real)
    with pytest.raises(WeightError):
        ax.Explainer(model, domain, weights="count").explain([0.25])
    assert ax.Explainer(model, domain).explain([0.25]).scores() == {"r": Fraction(1, 2)}


def test_constant_models_are_refused() -> None:
    build = _binary(2)
    for root in (build.true, build.false, build.disjunction([_parity(build, range(2), odd) for odd in (0, 1)])):
        model = CircuitModel.of(build.circuit(root), deterministic=True)
        with pytest.raises(ConstantModelError):
            ax.Explainer(model, model.domain)


def test_circuits_of_classes_must_be_a_partition() -> None:
    build = _binary(2)
    a, b, not_a = (
        build.circuit(build.literal(0, [1])),
        build.circuit(build.literal(1, [1])),
        build.circuit(build.literal(0, [0])),
    )
    assert CircuitModel.of_classes({0: a, 1: not_a}).predict([[0, 1], [1, 1]]) == [1, 0]
    with pytest.raises(CircuitError, match="exclude each other, but 1 "):
        CircuitModel.of_classes({0: a, 1: b})
    with pytest.raises(CircuitError, match="cover the space, but 2 "):
        CircuitModel.of_classes({0: a})
    with pytest.raises(CircuitError, match="one grid"):
        CircuitModel.of_classes({0: a, 1: _binary(2).circuit(1)})
    with pytest.raises(CircuitError, match="two different outputs"):
        CircuitModel.of(a, outputs=(1, 1))


def test_a_regression_by_circuits() -> None:
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 1)])))
    model = CircuitModel.of_classes({k: build.circuit(build.literal(0, [k])) for k in range(4)})
    found = ax.Explainer(model, model.domain, delta=1).explain([1, 0])
    assert [(c.features, c.weight) for c in found.cxps] == [(("a",), Fraction(1, 4))]


def test_a_circuit_that_overlaps_is_converted_and_counted_once() -> None:
    build = _binary(3)
    parts = [build.literal(i, [1]) for i in range(3)]
    model = CircuitModel.of(build.circuit(build.disjunction(parts)), outputs=(0, 1))
    assert model.converted
    assert count(model.circuits[1]) == 7
