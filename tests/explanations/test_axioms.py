"""The properties that the paper proves hold, and the checks can fail."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

from hypothesis import given, settings

import axfi_kc as ax
from axfi_kc.errors import DomainError
from axfi_kc.explanations import axioms
from axfi_kc.scores.forest import CXpForest
from tests.support.constrained_judge import random_judge
from tests.support.random_constraints import random_constrained
from tests.support.random_distributions import DISTRIBUTION_KINDS, random_distribution
from tests.support.random_problems import Truth
from tests.support.strategies import Case, box_cases, cases

MANY = settings(max_examples=500, deadline=None)
SCORES = (ax.shapley_like, ax.banzhaf_like)


def forest_of(case: Case, weights: str = "ratio") -> CXpForest:
    found = case.problem.engine.explain(case.problem.codes[None], weights=weights)
    return CXpForest(case.problem.domain.names, found[0])


def banzhaf_gamma(forest: CXpForest) -> Fraction:
    sizes = (m.bit_count() for m in forest.masks)
    parts = (Fraction(w * s, 2 ** (s - 1)) for w, s in zip(forest.numerators, sizes, strict=True))
    return sum(parts, Fraction(0)) / (forest.denominator * (len(forest) or 1))


@MANY
@given(cases)
def test_shapley_like_is_efficient(case: Case) -> None:
    forest = forest_of(case)
    assert axioms.efficiency(ax.shapley_like, forest) is None
    assert axioms.gamma_efficiency(ax.shapley_like, forest, forest.value(forest.features)) is None


@MANY
@given(cases)
def test_banzhaf_like_is_gamma_efficient(case: Case) -> None:
    forest = forest_of(case)
    assert axioms.gamma_efficiency(ax.banzhaf_like, forest, banzhaf_gamma(forest)) is None


@MANY
@given(cases)
def test_symmetry_null_player_and_cxp_monotonicity(case: Case) -> None:
    forest = forest_of(case)
    for score in SCORES:
        assert axioms.symmetry(score, forest) is None
        assert axioms.null_player(score, forest) is None
        assert axioms.cxp_minimal_monotonicity(score, forest) is None


@MANY
@given(cases, cases)
def test_additivity(case: Case, other: Case) -> None:
    first = forest_of(case)
    weights = {Y: w for Y, w in forest_of(other).weights.items() if set(Y) <= set(first.features)}
    second = CXpForest.of(weights, features=first.features)
    for score in SCORES:
        assert axioms.additivity(score, first, second) is None
    names = first.features
    for mask in range(1 << len(names)):
        assert (first + second).value_of_mask(mask) == first.value_of_mask(mask) + second.value_of_mask(mask)


@MANY
@given(cases)
def test_consistency_with_relevancy_where_weights_are_positive(case: Case) -> None:
    forest = forest_of(case)
    for score in SCORES:
        failure = axioms.consistency_with_relevancy(score, forest)
        if all(forest.numerators):
            assert failure is None
        assert axioms.consistency_with_relevancy(score, forest_of(case, "unit")) is None


@MANY
@given(box_cases)
def test_independence_from_the_output(case: Case) -> None:
    problem = case.problem
    outputs = problem.engine.boxes.outputs
    if problem.similarity.delta is None:
        renaming = {y: f"class {k}" for k, y in enumerate(outputs)}
    else:
        renaming = {y: 7 - Fraction(y) for y in outputs}  # keeps all distances
    for score in SCORES:
        assert axioms.independence_from_output(score, problem, renaming) is None


def constrained_problems(name: str, number: int) -> Iterator[tuple[Truth, ax.Problem]]:
    rng = Random(name)
    for _ in range(number):
        truth = random_constrained(rng, n_instances=2)
        for v in truth.instances:
            row = dict(zip(truth.domain.names, truth.point(v), strict=True))
            yield truth, ax.Problem.of(truth.model, truth.domain, row, delta=truth.delta)


def check_properties(problem: ax.Problem, weights: str, before: dict[tuple[str, ...], CXpForest]) -> None:
    found = problem.engine.explain(problem.codes[None], weights=weights)
    forest = CXpForest(problem.domain.names, found[0])
    assert axioms.efficiency(ax.shapley_like, forest) is None
    assert axioms.gamma_efficiency(ax.shapley_like, forest, forest.value(forest.features)) is None
    assert axioms.gamma_efficiency(ax.banzhaf_like, forest, banzhaf_gamma(forest)) is None
    other = before.get(forest.features, forest)
    for score in SCORES:
        assert axioms.symmetry(score, forest) is None
        assert axioms.null_player(score, forest) is None
        assert axioms.cxp_minimal_monotonicity(score, forest) is None
        assert axioms.additivity(score, forest, other) is None
        if all(forest.numerators):
            assert axioms.consistency_with_relevancy(score, forest) is None
    before[forest.features] = forest


def test_the_properties_hold_among_possible_points() -> None:
    before: dict[tuple[str, ...], CXpForest] = {}
    for truth, problem in constrained_problems("axioms", 150):
        for weights in ("ratio", "unit", "count") if truth.is_finite else ("ratio", "unit"):
            check_properties(problem, weights, before)


def test_the_properties_hold_for_half_spaces_cut_by_constraints() -> None:
    before: dict[tuple[str, ...], CXpForest] = {}
    for n in range(100):
        judge = random_judge(Random(f"axioms of planes {n}"))
        row = dict(zip(judge.domain.names, judge.v, strict=True))
        problem = ax.Problem.of(judge.model, judge.domain, row, delta=judge.delta)
        for weights in ("ratio", "unit"):
            if weights == "unit" or None not in map(judge.ratio, judge.cxps):
                check_properties(problem, weights, before)


def test_the_properties_hold_under_joint_distributions() -> None:
    rng, before, checked = Random("joint axioms"), {}, 0
    for truth, problem in constrained_problems("joint axioms", 150):
        joint = truth.domain.with_distribution(random_distribution(rng, truth.domain, rng.choice(DISTRIBUTION_KINDS)))
        posed = ax.Problem.of(problem.model, joint, problem.instance, delta=truth.delta)
        try:
            check_properties(posed, "ratio", before)
            if truth.kind in ("table", "tree"):
                renaming = {y: f"class {y}" if truth.delta is None else 7 - Fraction(y) for y in set(truth.outputs)}
                assert all(axioms.independence_from_output(score, posed, renaming) is None for score in SCORES)
            checked += 1
        except DomainError as error:
            if "probability 0" not in str(error):
                raise
    assert checked > 150


def test_relevant_features_are_those_of_cxps_and_of_axps_among_possible_points() -> None:
    """Duality and disjointness use the one predicate "dissimilar and possible", so they hold unchanged."""
    for truth, problem in constrained_problems("duality", 60):
        cxps = ax.find_cxps(problem, weights="unit")
        axps = ax.find_axps(problem)
        assert {n for c in cxps for n in c.features} == {n for a in axps for n in a.features}
        if truth.is_finite:
            covered = [set(ax.covered_points(problem, c)) for c in cxps]
            assert sum(map(len, covered)) == len(set().union(*covered))
            assert [len(points) for points in covered] == [c.weight for c in ax.find_cxps(problem, weights="count")]


def test_independence_from_the_output_among_possible_points() -> None:
    checked = 0
    for truth, problem in constrained_problems("relabelled", 120):
        if truth.kind not in ("table", "tree"):
            continue
        outputs = set(truth.outputs)
        renaming = {y: f"class {y}" if truth.delta is None else 7 - Fraction(y) for y in outputs}
        for score in SCORES:
            assert axioms.independence_from_output(score, problem, renaming) is None
        checked += 1
    assert checked > 30


FOREST = CXpForest.of({("a", "b"): 1, ("c",): 2}, features=["a", "b", "c", "d"])


def skewed(forest: CXpForest) -> dict[str, Fraction]:
    """A score with none of the properties."""
    return {n: Fraction(len(forest.features) - i + len(forest)) for i, n in enumerate(forest.features)}


def test_every_check_can_fail() -> None:
    assert axioms.efficiency(skewed, FOREST) is not None
    assert axioms.gamma_efficiency(ax.shapley_like, FOREST, Fraction(0)) is not None
    assert axioms.symmetry(skewed, FOREST).features == ("a", "b")
    assert axioms.null_player(skewed, FOREST).features == ("d",)
    assert axioms.additivity(skewed, FOREST, FOREST) is not None
    assert axioms.cxp_minimal_monotonicity(skewed, FOREST) is not None
    assert axioms.consistency_with_relevancy(skewed, FOREST) is not None


def test_zero_weight_breaks_consistency_and_says_so() -> None:
    forest = CXpForest.of({("a",): 0, ("b",): 1}, features=["a", "b"])
    assert axioms.consistency_with_relevancy(ax.shapley_like, forest).features == ("a",)


def test_independence_fails_when_a_regression_is_stretched() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
    problem = ax.Problem.of(lambda p: p[0] + 2 * p[1], domain, (0, 0), delta=1)
    stretched = {y: 10 * y for y in range(6)}
    assert axioms.independence_from_output(ax.shapley_like, problem, stretched) is not None
