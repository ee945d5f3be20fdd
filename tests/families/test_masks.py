"""Minimal hitting sets, against a listing, at the edges of words and within a budget."""

from __future__ import annotations

from random import Random

import pytest

from axfi_kc import budget as budgets
from axfi_kc.budget import Budget, BudgetSpent
from axfi_kc.families import masks as feature_sets
from axfi_kc.families.masks import minimal_hitting_sets, minimal_sets, sorted_sets
from tests.support.listed_families import ELEMENTS, hitting_of, random_sets


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rows", "nodes", "few"), [(1024, 8192, 0), (1, 8192, 0), (2, 1, 0), (1024, 8192, 16)])
@pytest.mark.parametrize("steps", [4, 128])
def test_hitting_sets_equal_those_of_a_listing(
    rows: int, nodes: int, few: int, steps: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_sets, "_FEW_SETS", few)
    monkeypatch.setattr(feature_sets, "_FEW_STEPS", steps)
    monkeypatch.setattr(feature_sets, "_ROWS_AT_ONCE", rows)
    monkeypatch.setattr(budgets, "_CHUNK", nodes)
    rng = Random(seed)
    pairs = [[17, 40, 34, 24, 3, 13], [sum(1 << e for e in rng.sample(range(ELEMENTS), 2)) for _ in range(7)]]
    for family in [*pairs, *(random_sets(rng) for _ in range(5))]:
        assert minimal_hitting_sets(family) == hitting_of(family)
        assert minimal_hitting_sets(family, budget=Budget(seconds=600)) == hitting_of(family)
        assert minimal_hitting_sets(minimal_sets(family), are_minimal=True) == hitting_of(family)


@pytest.mark.parametrize("few", [0, 16])
def test_sets_are_sorted_by_size_and_features(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_sets, "_FEW_SETS", few)
    rng = Random(few)
    for width in (3, 8, 70):
        sets = list({rng.getrandbits(width) for _ in range(16)})
        listed = {s: [i for i in range(width) if s >> i & 1] for s in sets}
        assert sorted_sets(sets) == sorted(sets, key=lambda s: (len(listed[s]), listed[s]))


@pytest.mark.parametrize("rows", [1, 3, 1024])
def test_a_spent_budget_has_hitting_sets_and_no_others(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_sets, "_ROWS_AT_ONCE", rows)
    family = [0b11 << 2 * k for k in range(4)]
    dual = hitting_of(family, 8)
    numbers = []
    for nodes in (1, 5, 10, 20, 30):
        with pytest.raises(BudgetSpent) as spent:
            minimal_hitting_sets(family, budget=Budget(nodes=nodes))
        assert set(spent.value.found) <= set(dual)
        assert len(spent.value.found) == len(set(spent.value.found))
        numbers.append(len(spent.value.found))
    assert numbers == sorted(numbers)
    assert numbers[0] == 0 < numbers[-1] < len(dual)
    assert minimal_hitting_sets(family, budget=Budget(nodes=32)) == dual


def test_few_sets_have_budgets_too() -> None:
    family = [0b011, 0b110, 0b101]
    for budget in (Budget(nodes=1), Budget(seconds=1e-9)):
        with pytest.raises(BudgetSpent):
            minimal_hitting_sets(family, budget=budget)
    assert minimal_hitting_sets(family, budget=Budget(seconds=60)) == [0b011, 0b101, 0b110]


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129])
def test_hitting_sets_at_the_edges_of_words(n: int, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many sets, and as many elements, as fill words of 64 bits, and one more or less."""
    monkeypatch.setattr(feature_sets, "_FEW_SETS", 0 if kernel else 16)
    assert minimal_hitting_sets(1 << i for i in range(n)) == [(1 << n) - 1]
    assert minimal_hitting_sets([(1 << n) - 1]) == [1 << i for i in range(n)]
    pairs = [1 << i | 1 << n for i in range(n)]
    assert minimal_hitting_sets(pairs) == sorted([1 << n, (1 << n) - 1], key=lambda m: (m.bit_count(), m & 1 == 0, m))


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("e", [63, 64, 65, 79, 80, 127, 128, 191, 192, 300])
def test_hitting_sets_of_few_elements_with_large_numbers(e: int, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_sets, "_FEW_SETS", 0 if kernel else 16)
    assert minimal_hitting_sets([1 | 1 << e, 2 | 1 << e, 1 << 5 | 1 << e]) == [1 << e, 1 | 2 | 1 << 5]
    assert minimal_hitting_sets([1 << e]) == [1 << e]
