"""SHAP interactions on circuits against their definition over all coalitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc import Domain, Integer
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.interaction_definitions import by_definition


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("target", ["mdd", "ddnnf"])
def test_interactions_are_the_definition(seed: int, target: str) -> None:
    rng = Random(seed)
    n = rng.randint(2, 4)
    weights = [[rng.randint(1, 3) for _ in range(rng.randint(2, 3))] for _ in range(n)]
    domain = Domain([Integer(f"x{i}", 0, len(w) - 1, weights=w) for i, w in enumerate(weights)])
    points = list(product(*(range(len(w)) for w in weights)))
    truth = {p: rng.random() < 0.5 for p in points}
    truth[points[0]], truth[points[-1]] = True, False
    v = rng.choice(points)
    shares = [[Fraction(x, sum(w)) for x in w] for w in weights]

    def value(S: int) -> Fraction:
        total = Fraction(0)
        for p in points:
            if truth[p] and all(p[i] == v[i] for i in range(n) if S >> i & 1):
                part = Fraction(1)
                for i in range(n):
                    part *= 1 if S >> i & 1 else shares[i][p[i]]
                total += part
        return total

    expected = by_definition(value, n, "shapley", 2)
    compiled = ax.compile_model(lambda p: truth[tuple(p)], domain, output=True, target=target)
    found = ax.shap_interactions(compiled, v)
    assert found == {tuple(f"x{i}" for i in T): x for T, x in expected.items() if x}
    assert ax.shap_interactions({2: compiled}, v) == {pair: 2 * x for pair, x in found.items()}


def test_what_cannot_be_is_one_sentence() -> None:
    domain: Any = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    compiled = ax.compile_model(lambda p: p[0] and p[1], domain)
    with pytest.raises(BudgetError, match="SHAP interactions"):
        ax.shap_interactions(compiled, (1, 1), budget=ax.Budget(seconds=1e-9))
    ruled = domain.where(ax.feature("a") <= ax.feature("b"))
    with pytest.raises(CircuitError, match="constraints"):
        ax.shap_interactions(ax.compile_model(lambda p: p[0] and p[1], ruled), (1, 1))
