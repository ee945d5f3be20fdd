"""Every operation that can take long, on a problem that it does not finish in a second, as a function of a budget.

What a problem is made of is made at the first call and kept.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets import TARGETS, mdd_of, sifted
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


def compiled(made: Made, target: str, budget: ax.Budget) -> Any:
    return ax.compile_model(made[0], made[0].domain, target=target, budget=budget)


COMPILATIONS: dict[str, Work] = {
    f"compile_model, {name}, {target}": lambda b, make=make, target=target: compiled(make(), target, b)
    for target in TARGETS
    for name, make in (("boosted trees", trees), ("linear", linear))
}

OPERATIONS = EXPLANATIONS | IN_SPACES | QUESTIONS | CIRCUITS | COMPILATIONS


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
