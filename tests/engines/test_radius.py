"""The largest radius that fits a budget: complete and exact up to it, and the same on every machine."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget, Meter
from axfi_kc.engines import Found, engine_for
from axfi_kc.engines.radius import largest_radius
from axfi_kc.errors import BudgetError
from axfi_kc.models import Similarity
from tests.support import hard_problems as hard
from tests.support import random_problems


class Search:
    """Needs so many nodes for everything up to each size."""

    def __init__(self, *costs: int) -> None:
        self.costs, self.asked = costs, list[int]()

    def __call__(self, size: int, meter: Meter) -> int:
        self.asked.append(size)
        for _ in range(self.costs[size - 1]):
            if not meter.spend(1):
                raise BudgetError("spent")
        return size


@pytest.mark.parametrize(
    ("costs", "nodes", "expected"),
    [
        ((10, 20, 30), None, (3, None)),
        ((10, 20, 30), 100, (3, None)),
        ((10, 20, 10_000), 100, (2, 2)),
        ((10, 10_000, 10_000), 100, (1, 1)),
        ((10, 100_000, 1_000_000), 500_000, (2, 2)),
        ((10, 40_000, 90_000), 500_000, (3, None)),
    ],
)
def test_the_largest_size_that_fits_is_kept(costs: tuple[int, ...], nodes: int | None, expected: Any) -> None:
    meter = Meter(Budget(nodes=nodes))
    assert largest_radius(Search(*costs), limit=3, meter=meter) == expected
    assert nodes is None or meter.nodes <= nodes + 1


def test_nothing_finished_is_an_error() -> None:
    with pytest.raises(BudgetError):
        largest_radius(Search(1000, 1000), limit=2, meter=Meter(Budget(nodes=100)))


def test_what_is_easy_is_not_searched_by_size() -> None:
    search = Search(*[100] * 30)
    assert largest_radius(search, limit=30, meter=Meter(Budget(seconds=60))) == (30, None)
    assert search.asked == [30]


def test_trying_everything_costs_at_most_a_few_times_as_much() -> None:
    search, meter = Search(*(min(2**k, 100_000) for k in range(1, 31))), Meter(Budget(nodes=10**7))
    assert largest_radius(search, limit=30, meter=meter) == (30, None)
    assert meter.nodes < 800_000


def test_limits_of_an_engine_give_a_radius_without_any_budget() -> None:
    """A linear model with more than 2,000,000 CXps: those of 8 features are too many, smaller ones there are none."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 2) for i in range(30)])
    model = ax.models.LinearModel.of_columns(domain, [[1] * 30], intercepts=[-14.5], rule=ax.models.Positive((0, 1)))
    found = engine_for(model, Similarity()).explain(np.zeros((2, 30)), weights="ratio", partial=True)
    assert (found.radii, found.counts, found.is_complete) == ([7, 7], [0, 0], False)


MODELS = {
    "ensemble": (hard.boosted(), 30_000),
    "linear": ((hard.weighted_bits(18), [0] * 18), 50),
    "classes": (hard.classes(14), 900),
}


@pytest.mark.parametrize("weights", ["ratio", "unit"])
@pytest.mark.parametrize("name", MODELS)
def test_up_to_the_radius_it_is_the_explanation_with_max_size(name: str, weights: str) -> None:
    (model, x), nodes = MODELS[name]
    found = []
    for _ in range(2):
        with pytest.warns(ax.errors.AxfiWarning, match="complete up to"):
            found.append(ax.Explainer(model, model.domain, weights=weights, budget=Budget(nodes=nodes)).explain(x))
    radius = found[0].radius
    assert radius is not None
    assert 1 <= radius == found[1].radius < len(model.domain)
    limited = ax.Explainer(model, model.domain, weights=weights, max_size=radius).explain(x)
    assert found[0].cxps == found[1].cxps == limited.cxps
    assert found[0].scores("banzhaf") == limited.scores("banzhaf")


@pytest.mark.parametrize("seed", range(30))
def test_against_brute_force(seed: int) -> None:
    """Whatever the budget, what is given is what the definitions say of that radius."""
    rng = Random(seed)
    truth = random_problems.random_truth(rng, ("ensemble", "circuit", "linear")[seed % 3], n_instances=1)
    x = tuple(values[k] for values, k in zip(truth.values, truth.instances[0], strict=True))
    problem = ax.Problem.of(truth.model, truth.domain, x, delta=truth.delta)
    if problem.engine.constant is not None:
        return
    every = {c.features: c.weight for c in ax.find_cxps(problem)}
    names = truth.domain.names
    listed = {tuple(names[i] for i in sorted(Y)) for Y in _minimal(truth, problem)}
    assert set(every) == listed
    codes = problem.codes[np.newaxis]
    for nodes, weights in product((1, 3, 10, 30, 100, 1000), ("ratio", "unit")):
        try:
            found = problem.engine.explain(codes, weights=weights, budget=Budget(nodes=nodes), partial=True)
        except BudgetError:
            continue
        radius, sets = found.radius(0), found[0].listed(0)
        assert sets is not None
        wanted = {Y: w if weights == "ratio" else 1 for Y, w in every.items() if radius is None or len(Y) <= radius}
        assert {truth.domain.names_of(mask): w for mask, w in sets.weights.items()} == wanted


def _minimal(truth: Any, problem: ax.Problem) -> list[frozenset[int]]:
    """Return the CXps by going through all points that can exist."""
    v = truth.instances[0]
    sets = set()
    for place, output in zip(product(*(range(len(values)) for values in truth.values)), truth.outputs, strict=True):
        is_possible = truth.possible is None or place in truth.possible
        if is_possible and problem.is_dissimilar(output):
            sets.add(frozenset(i for i, (a, b) in enumerate(zip(place, v, strict=True)) if a != b))
    return [Y for Y in sets if not any(T < Y for T in sets)]


def test_rows_over_budget_are_known_by_their_place() -> None:
    model, x = hard.boosted()
    engine = engine_for(model, Similarity())
    with pytest.raises(BudgetError) as caught:
        engine.explain(np.array([x, x]), budget=Budget(nodes=1), partial=True)
    assert caught.value.row == 0
    both = engine.explain(np.array([x, x]), budget=Budget(nodes=30_000), partial=True)
    assert both.radii == [both.radius(0)] * 2
    assert not both.is_complete
    assert Found.joined([both, both]).radii == [both.radius(0)] * 4


def test_regions_and_constraints_pass_radii_on() -> None:
    model, x = hard.boosted()
    budget, region = Budget(nodes=30_000), ax.Region(frozen=["x3"])
    domain = model.domain.where(~((ax.feature("x0") > 0.99) & (ax.feature("x1") > 0.99)))
    for options in (
        {"domain": domain},
        {"domain": model.domain, "within": region},
        {"domain": domain, "within": region},
    ):
        with pytest.warns(ax.errors.AxfiWarning):
            found = ax.Explainer(model, budget=budget, **options).explain(x)
        assert found.cxps == ax.Explainer(model, max_size=found.radius, **options).explain(x).cxps
