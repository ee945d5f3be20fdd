"""Probabilistic AXps: minimal by brute force over all sets of features; monotone classifiers as a special case."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.errors import BudgetError, DomainError
from axfi_kc.explanations.paxps import find_paxps, locally_minimal_paxp
from tests.support.boxes import minimal_among, precision_table, random_question

THRESHOLDS = (Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(1))


@pytest.mark.parametrize("part", range(2))
def test_minimal_sets_are_minimal(part: int) -> None:
    rng, checked = Random(f"paxps {part}"), 0
    while checked < 8:
        truth, v, problem = random_question(rng)
        least = rng.choice(THRESHOLDS)
        try:
            table = precision_table(truth, v)
        except ZeroDivisionError:
            continue
        wanted = minimal_among([S for S in table if table[S] >= least])
        found = find_paxps(problem, least)
        assert found.is_complete
        assert {truth.domain.mask(p.features): p.precision for p in found} == {S: table[S] for S in wanted}
        few = find_paxps(problem, least, max_size=1)
        assert [p.features for p in few] == [p.features for p in found if len(p.features) <= 1]
        local = locally_minimal_paxp(problem, least)
        mask = truth.domain.mask(local.features)
        assert table[mask] == local.precision >= least
        assert all(table[mask & ~(1 << i)] < least for i in range(len(v)) if mask >> i & 1)
        checked += 1


def test_at_a_corner_of_a_monotone_classifier_locally_minimal_is_minimal() -> None:
    rng = Random("monotone")
    for _ in range(40):
        domain = ax.Domain([ax.Integer(f"x{i}", 0, rng.randint(1, 2)) for i in range(rng.randint(2, 4))])
        below = {p for p in domain.points() if rng.random() < 0.2}
        ones = {p for p in domain.points() if any(all(a >= b for a, b in zip(p, q, strict=True)) for q in below)}
        top = tuple(f.high for f in domain.features)
        if ones | {top} == set(domain.points()):
            continue
        model = ax.TableModel.from_outputs(domain, [int(p in ones or p == top) for p in domain.points()])
        e, least, names = ax.Explainer(model, domain).explain(top), rng.choice(THRESHOLDS), domain.names
        sets = list(product((0, 1), repeat=len(names)))
        precision = {S: e.precision([n for n, bit in zip(names, S, strict=True) if bit]) for S in sets}
        # Keeping one more feature never makes it less precise.
        assert all(
            precision[S] <= precision[tuple(max(a, int(k == i)) for k, a in enumerate(S))]
            for S in precision
            for i in range(len(S))
        )
        assert e.paxp(least) in tuple(e.paxps(least))


def test_with_threshold_one_they_are_the_axps() -> None:
    domain = ax.Domain([ax.Integer(n, 0, 3) for n in "abcd"])
    e = ax.Explainer(lambda p: p[0] + p[1] > 3 or p[2] > p[3], domain).explain((3, 2, 3, 1))
    assert [p.features for p in e.paxps(1)] == [a.features for a in e.axps]
    assert all(p.precision == 1 for p in e.paxps(1))
    assert e.paxp(1, start=e.axps[0]).features == e.axps[0].features


def test_budgets_and_bad_thresholds() -> None:
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(12)])
    problem = ax.Problem.of(lambda p: sum(p) > 8, domain, (1,) * 12)
    found = find_paxps(problem, Fraction(99, 100), budget=Budget(nodes=100))
    assert not found.is_complete
    assert found.radius == 2
    with pytest.raises(BudgetError):
        find_paxps(problem, Fraction(99, 100), budget=Budget(nodes=5))
    for wrong in (0, -1, 2):
        with pytest.raises(DomainError, match="above 0 and at most 1"):
            find_paxps(problem, wrong)
    with pytest.raises(DomainError, match="start from a weak AXp"):
        locally_minimal_paxp(problem, 1, start=["x0"])
