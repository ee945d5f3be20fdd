"""Every operation that can take long, on a problem that it does not finish in a second, as a function of a budget.

What a problem is made of is made at the first call and kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce
from operator import and_, or_
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits import operations, queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.targets import TARGETS, Mdd, Sdd, mdd_of, sdd_of, sifted
from axfi_kc.engines import ListedCxps
from axfi_kc.engines.boxes.engine import BoxEngine
from axfi_kc.explanations import axioms
from axfi_kc.explanations.counterfactuals import adversarial_example, search_account
from axfi_kc.families import SetFamily
from axfi_kc.families.masks import minimal_hitting_sets
from axfi_kc.models import CircuitModel, Similarity
from axfi_kc.scores import family_indices as family_scores
from axfi_kc.scores.power_indices import shapley_shubik_index
from axfi_kc.scores.shap.circuits import shap_scores_batch
from axfi_kc.scores.shap.margins import margin_shap_scores
from tests.support import hard_problems as hard
from tests.support.large_circuits import deterministic_dag, layered_diagram
from tests.support.random_psdds import layered_psdd

Work = Callable[[ax.Budget], Any]
Made = tuple[Any, Any]  # a model and an instance


def explained(made: Made, budget: ax.Budget, **options: Any) -> Any:
    model, x = made
    return ax.Explainer(model, model.domain, budget=budget, on_budget="raise", **options).explain(x)


@cache
def linear() -> Made:
    return hard.weighted_bits(), [0] * 60


@cache
def trees() -> Made:
    return hard.boosted()


@cache
def dag() -> Circuit:
    return deterministic_dag(30_000, n_features=300)


@cache
def model_of_dag() -> CircuitModel:
    return CircuitModel.of(dag(), deterministic=True)


@cache
def diagram(seed: int = 2) -> Circuit:
    return layered_diagram(150_000, n_features=150, seed=seed)


def problem_of(made: Made) -> ax.Problem:
    model, x = made
    return ax.Problem.of(model, model.domain, x)


@cache
def _tree_engine() -> BoxEngine:
    small, x = hard.boosted(5, 1, 3)
    BoxEngine(small, Similarity()).explain(np.array([x]))  # all kernels are compiled, however short a budget is
    return BoxEngine(hard.deep_tree()[0], Similarity())


def one_tree(budget: ax.Budget) -> Any:
    """Explain an instance of a tree; laying it out is done once per model."""
    return _tree_engine().explain(np.array([hard.deep_tree()[1]]), budget=budget)


def _in_space(budget: ax.Budget, domain: ax.Domain, **options: Any) -> Any:
    model, x = trees()
    return ax.Explainer(model, domain, budget=budget, on_budget="raise").explain(x, **options)


def constrained(budget: ax.Budget) -> Any:
    """Explain where one of two features has to stay low."""
    domain = trees()[0].domain
    return _in_space(budget, domain.where((ax.feature("x0") <= 0.6) | (ax.feature("x1") <= 0.6)))


def mixed(budget: ax.Budget) -> Any:
    """Explain under a mixture, in which features depend on each other."""
    domain = trees()[0].domain
    states = ax.states_of(domain, 2)
    parts = [ax.Product(states, ((Fraction(n, 4), Fraction(4 - n, 4)),) * len(domain.features)) for n in (1, 3)]
    return _in_space(budget, domain.with_distribution(ax.Mixture(tuple(parts), (Fraction(1, 2), Fraction(1, 2)))))


def in_region(budget: ax.Budget) -> Any:
    """Explain within reach."""
    return _in_space(budget, trees()[0].domain, within=ax.Region(radius=Fraction(2, 5), unit="range"))


IN_SPACES: dict[str, Work] = {
    "explain, constraint": constrained,
    "explain, joint distribution": mixed,
    "explain, region": in_region,
    "shap_interactions": lambda b: ax.shap_interactions(dag(), [0] * 300, budget=b),
    "prime implicants": lambda b: ax.prime_implicants(diagram(), budget=b),
    "entropy": lambda b: ax.entropy(dag(), budget=b),
}


EXPLANATIONS: dict[str, Work] = {
    "explain, ensemble": lambda b: explained(trees(), b),
    "explain, one tree": one_tree,
    "explain, linear": lambda b: explained(linear(), b),
    "explain, linear of three classes": lambda b: explained(hard.classes(), b),
    "explain, linear, one weight": lambda b: explained(hard.fine_steps(), b),
    "explain, linear of three classes, one weight": lambda b: explained(hard.fine_steps(3), b),
    "explain, linear through mdd": lambda b: explained(linear(), b, target="mdd"),
    "explain, circuit": lambda b: explained((model_of_dag(), [0] * 300), b),
    "find_cxps": lambda b: ax.find_cxps(problem_of(trees()), budget=b),
    "find_axps": lambda b: ax.find_axps(problem_of(trees()), budget=b),
    "relevant_features": lambda b: ax.relevant_features(problem_of(trees()), budget=b),
}


@cache
def crossing() -> tuple[int, ...]:
    return tuple(hard.crossing_sets())


@cache
def many_sets() -> tuple[int, ...]:
    return hard.many_sets(number=20_000)


def forest_of(sets: tuple[int, ...]) -> ax.CXpForest:
    return ax.CXpForest(tuple(f"x{i}" for i in range(60)), ListedCxps(sets, (1,) * len(sets), 1, "unit"))


def _numbered(forest: Any) -> dict[str, Fraction]:
    return {name: Fraction(k) for k, name in enumerate(forest.features)}


def nearest(budget: ax.Budget, seed: int | None) -> Any:
    return adversarial_example(problem_of(trees()), tuple(range(40)), account=search_account(budget), seed=seed)


def drawn_in_corner(budget: ax.Budget) -> Any:
    problem = problem_of(hard.corner())
    return ax.find_counterfactual(problem, problem.domain.names, seed=1, budget=budget)


def wffa(budget: ax.Budget) -> Any:
    family = hard.large_family()
    return family_scores.wffa(SetFamily(family.order, family.rows), budget=budget)  # with nothing known yet


QUESTIONS: dict[str, Work] = {
    "AXps": lambda b: hard.explanation_of(crossing(), b).axps,
    "AXps of many CXps": lambda b: hard.within(hard.threshold(18), b).axps,
    "AXps as a family": lambda b: hard.explanation_of(crossing(), b).axp_family,
    "scores, ffa": lambda b: hard.explanation_of(crossing(), b).scores("ffa"),
    "scores, ffa_cxp": lambda b: hard.explanation_of(many_sets(), b).scores("ffa_cxp"),
    "scores, shapley_shubik": lambda b: hard.explanation_of(crossing(), b).scores("shapley_shubik"),
    "wffa of a family": wffa,
    "graph of the forest": lambda b: hard.within(hard.threshold(), b).forest.graph,
    "forest as text": lambda b: hard.within(hard.threshold(), b).forest.to_dot(),
    "rounding": lambda b: hard.within(hard.threshold(19), b).rounding,
    "counterfactual, nearest of many": lambda b: hard.within(hard.threshold(), b).counterfactual(),
    "adversarial examples as a circuit, boxes": lambda b: hard.within(of_votes(), b).circuit(),
    "adversarial examples as a circuit, linear": lambda b: hard.explanation_of(many_sets(), b).circuit(),
    "counterfactual, trees, drawn": lambda b: nearest(b, 1),
    "counterfactual, linear, drawn": drawn_in_corner,
    "axiom on AXps": lambda b: axioms.axp_minimal_monotonicity(ax.shapley_like, forest_of(crossing()), budget=b),
    "axiom on pairs": lambda b: axioms.symmetry(_numbered, forest_of(many_sets()), budget=b),
    "minimal hitting sets, listed": lambda b: minimal_hitting_sets(crossing(), budget=b),
    "minimal hitting sets of many sets": lambda b: minimal_hitting_sets(hard.many_sets(number=50_000), budget=b),
    "minimal hitting sets, family": lambda b: SetFamily.of(crossing()).hitting_sets(budget=b),
    "family of sets": lambda b: SetFamily.of(many_sets(), budget=b),
    "Shapley-Shubik index": lambda b: shapley_shubik_index(SetFamily.of(crossing()), budget=b),
}


def shap_of_margins(budget: ax.Budget) -> Any:
    model, x = trees()
    return margin_shap_scores(model, model.domain, [x] * 50, budget=budget)


CIRCUITS: dict[str, Work] = {
    "count, checked": lambda b: queries.count(dag(), check=True, budget=b),
    "probability": lambda b: queries.probability(hard.finely_weighted(), budget=b),
    "determinism": lambda b: queries.is_deterministic(hard.hidden_pair_of_decisions(), budget=b),
    "determinism of many parts": lambda b: queries.is_deterministic(hard.many_terms(), budget=b),
    "is_equivalent": lambda b: queries.is_equivalent(diagram(), diagram(3), budget=b),
    "entails": lambda b: queries.entails(diagram(), diagram(3), budget=b),
    "smooth": lambda b: queries.smooth(diagram(), budget=b),
    "minimised": lambda b: queries.minimised(diagram(), [0] * 150, budget=b),
    "forget_one": lambda b: queries.forget_one(diagram(), 140, budget=b),
    "shap_scores": lambda b: ax.shap_scores(dag(), [0] * 300, budget=b),
    "shap_scores, small circuit": lambda b: shap_scores_batch(hard.parity(), [[0] * 60] * 20, budget=b),
    "SHAP scores of margins": shap_of_margins,
    "circuit model of clauses": lambda b: CircuitModel.of(hard.hidden_pair(), budget=b),
    "mdd of clauses": lambda b: mdd_of(hard.hidden_pair(), budget=b),
}


@cache
def mdd(seed: int = 2) -> Mdd:
    return mdd_of(diagram(seed))


@cache
def psdd(seed: int) -> Psdd:
    return layered_psdd(60, 40, seed)


@cache
def sdd() -> Sdd:
    """A diagram over the vtree of :func:`psdd`."""
    return sdd_of(deterministic_dag(3000, n_features=60))


def _apply(operator: str, a: Any, b: Any) -> Work:
    return lambda budget: operations.apply(operator, a(), b(3), budget=budget)


@cache
def many_variables() -> ax.CountingProblem:
    problem = ax.CountingProblem.of([(v, -(v % 99_999 + 1), v // 2 + 1) for v in range(1, 100_000)])
    assert problem.grid is problem.grid  # made once, as other problems of this size may have done
    return problem


def _counted(via: str) -> Work:
    return lambda budget: ax.count_models(many_variables(), via=via, budget=budget)


def variables_named(budget: ax.Budget) -> Any:
    """Count the models of one clause over many variables, of as many as nobody has asked about."""
    problem = ax.CountingProblem.of([(1, next(_FRESH))])
    return ax.count_models(problem, budget=budget)


_FRESH = itertools.count(99_000)


@cache
def far_apart() -> ax.Domain:
    """A constraint that links the first half of the features with the second: 2**20 nodes in their order."""
    flags = [ax.feature(f"x{i}") for i in range(40)]
    pairs = [(one == 1) & (two == 1) for one, two in zip(flags[:20], flags[20:], strict=True)]
    return hard.bits(40).where(reduce(and_, (flag <= 1 for flag in flags)), reduce(or_, pairs))


def _explained_apart(budget: ax.Budget) -> Any:
    return ax.Explainer(_apart_model(), far_apart(), budget=budget).explain([1] * 40)


@cache
def _apart_model() -> ax.CircuitModel:
    return CircuitModel.of(deterministic_dag(200, n_features=40), deterministic=True)


WORKBENCH: dict[str, Work] = {
    "conjunction of diagrams": _apply("and", diagram, diagram),
    "exclusive disjunction of diagrams": _apply("xor", diagram, diagram),
    "implication of MDDs": _apply("implies", mdd, mdd),
    "conjunction, by its own door": lambda b: operations.conjoin(mdd(), mdd(3), budget=b),
    "disjunction, by its own door": lambda b: operations.disjoin(diagram(), diagram(3), budget=b),
    "exists": lambda b: operations.exists(diagram(), range(0, 50, 2), budget=b),
    "forall of gates": lambda b: operations.forall(dag(), [3, 7], budget=b),
    "negation": lambda b: operations.negate(diagram(), budget=b),
    "simplify": lambda b: operations.simplify(diagram(), diagram(3), budget=b),
    "cofactors": lambda b: operations.cofactors(diagram(), 70, budget=b),
    "is_within": lambda b: operations.is_within(diagram(), diagram(3), budget=b),
    "psdd_product": lambda b: ax.psdd_product(psdd(1), psdd(2), budget=b),
    "psdd_given": lambda b: ax.psdd_given(psdd(1), sdd(), budget=b),
    "probability of an SDD": lambda b: psdd(1).probability_of(sdd(), budget=b),
    "divergence of PSDDs": lambda b: ax.divergence(psdd(1), psdd(2), budget=b),
    "possible_points": lambda b: ax.possible_points(far_apart(), budget=b),
    "explain, constraint of many nodes": _explained_apart,
    "find_cxps, constraint of many nodes": lambda b: ax.find_cxps(
        ax.Problem.of(_apart_model(), far_apart(), [1] * 40), budget=b
    ),
    "compile_model, constraint of many nodes": lambda b: ax.compile_model(_apart_model(), far_apart(), budget=b),
    "sensitivity, constraint of many nodes": lambda b: ax.sensitivity(_apart_model(), far_apart(), ["x0"], budget=b),
    "count_models, dd": _counted("dd"),
    "count_models, pysdd": _counted("pysdd"),
    "count_models, names of variables": variables_named,
}


def compiled(made: Made, target: str, budget: ax.Budget) -> Any:
    return ax.compile_model(made[0], made[0].domain, target=target, budget=budget)


COMPILATIONS: dict[str, Work] = {
    f"compile_model, {name}, {target}": lambda b, make=make, target=target: compiled(make(), target, b)
    for target in TARGETS
    for name, make in (("boosted trees", trees), ("linear", linear))
}

OPERATIONS = EXPLANATIONS | IN_SPACES | QUESTIONS | CIRCUITS | WORKBENCH | COMPILATIONS


def votes(p: Any) -> bool:
    return sum(p) >= 8


@cache
def of_votes() -> ax.Explanation:
    return ax.Explainer(votes, hard.bits(14)).explain([0] * 14)


def one_row(budget: ax.Budget) -> Any:
    model = linear()[0]
    return ax.compare_sizes(model, model.domain, targets=["mdd"], orders=["given"], budget=budget)


# these say in their result what did not fit into the budget, instead of raising an error
REPORTS: dict[str, Work] = {
    "compare_sizes, one row": one_row,
    "sifted": lambda b: sifted(hard.shuffled_sum(), budget=b),
    "verify": lambda b: ax.verify(of_votes(), votes, budget=b),
}
