"""Prime implicants, judged by all terms."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.errors import BudgetError

Term = frozenset[tuple[str, Any]]


def by_definition(domain: ax.Domain, held: set[tuple[Any, ...]]) -> set[Term]:
    """Return the terms all of whose points are held, and of which no feature can be left out."""
    choices = [
        [None, *f.values] if hasattr(f, "values") else [None, *range(f.low, f.high + 1)] for f in domain.features
    ]
    everything = list(domain.points())

    def implies(term: tuple[Any, ...]) -> bool:
        return all(p in held for p in everything if all(v is None or v == x for v, x in zip(term, p, strict=True)))

    found = set()
    for term in product(*choices):
        shorter = [(*term[:i], None, *term[i + 1 :]) for i, v in enumerate(term) if v is not None]
        if implies(term) and not any(map(implies, shorter)):
            found.add(frozenset((n, v) for n, v in zip(domain.names, term, strict=True) if v is not None))
    return found


@pytest.mark.parametrize(
    "domain",
    [
        ax.Domain([ax.Integer(n, 0, 1) for n in "wxyz"]),
        ax.Domain([ax.Integer("a", 1, 3), ax.Categorical("b", ["p", "q", "r"]), ax.Integer("c", 0, 1)]),
    ],
)
def test_prime_implicants_are_those_of_the_definition(domain: ax.Domain) -> None:
    rng = random.Random(1)
    for k in range(25):
        share = rng.choice([0.2, 0.5, 0.8])
        held = {p for p in domain.points() if rng.random() < share}
        circuit = ax.from_truth_table([p in held for p in domain.points()], domain)
        found = ax.prime_implicants(circuit.compile(tuple(TARGETS)[k % len(TARGETS)]))
        listed = [frozenset(term.items()) for term in found]
        assert len(listed) == len(set(listed)) == found.count == len(found)
        assert set(listed) == by_definition(domain, held)
        least = min(map(len, listed), default=0)
        assert {frozenset(t.items()) for t in found.minimal()} == {t for t in listed if len(t) == least}


def test_constants_have_the_empty_term_or_none() -> None:
    assert list(ax.prime_implicants(ax.from_expression("x | ~x"))) == [{}]
    assert list(ax.prime_implicants(ax.from_expression("x & ~x"))) == []


def test_many_are_counted_and_not_listed() -> None:
    """At least 20 of 40 variables: as many prime implicants as ways to choose 20."""
    names = [f"v{k}" for k in range(40)]
    bits = ax.Domain([ax.Integer(n, 0, 1) for n in names])
    model = ax.compile_model(_at_least(bits, 20), bits)
    assert ax.prime_implicants(model).count == 137846528820
    with pytest.raises(BudgetError):
        ax.prime_implicants(model, budget=ax.Budget(nodes=50))


def _at_least(domain: ax.Domain, k: int) -> Any:
    from axfi_kc.models import LinearModel, Positive

    return LinearModel.of_columns(domain, [[1] * len(domain)], intercepts=[1 - k], rule=Positive((0, 1)))
