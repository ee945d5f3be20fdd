"""Families of sets against lists of all sets, quickly, and with tables and stacks that are full all the time."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from random import Random

import pytest

from axfi_kc import budget as budgets
from axfi_kc.budget import Budget, BudgetSpent
from axfi_kc.circuits.modular import primes_not_dividing
from axfi_kc.errors import BudgetError
from axfi_kc.families import SetFamily
from axfi_kc.families import masks as feature_sets
from axfi_kc.families import zdd_store as stores
from axfi_kc.families.masks import features_of, minimal_hitting_sets
from axfi_kc.scores.power_indices import banzhaf_index, shapley_shubik_index
from tests.support.oracle import banzhaf, shapley

N = 6


def _random_sets(rng: Random, n: int = N, most: int = 8) -> list[int]:
    return [rng.randrange(1, 1 << n) for _ in range(rng.randint(0, most))]


def _sorted(family: list[int]) -> list[int]:
    return sorted(family, key=lambda s: (s.bit_count(), [e for e in range(20) if s >> e & 1]))


def _minimal(family: list[int]) -> list[int]:
    return _sorted([s for s in set(family) if not any(t != s and t & s == t for t in family)])


def _hitting(family: list[int], n: int = N) -> list[int]:
    return _minimal([h for h in range(1 << n) if all(h & s for s in family)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rows", "nodes"), [(1024, 8192), (1, 8192), (2, 1)])
def test_hitting_sets_equal_those_of_a_listing(
    rows: int, nodes: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_sets, "_ROWS_AT_ONCE", rows)
    monkeypatch.setattr(budgets, "_CHUNK", nodes)
    rng = Random(seed)
    pairs = [[17, 40, 34, 24, 3, 13], [sum(1 << e for e in rng.sample(range(N), 2)) for _ in range(7)]]
    for family in [*pairs, *(_random_sets(rng) for _ in range(5))]:
        assert minimal_hitting_sets(family) == _hitting(family)
        assert minimal_hitting_sets(family, budget=Budget(seconds=600)) == _hitting(family)


@pytest.mark.parametrize("rows", [1, 3, 1024])
def test_a_spent_budget_has_hitting_sets_and_no_others(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_sets, "_ROWS_AT_ONCE", rows)
    family = [0b11 << 2 * k for k in range(4)]
    dual = _hitting(family, 8)
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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("small", [False, True])
def test_operations_on_diagrams_equal_those_on_lists(small: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        monkeypatch.setattr(stores, "_SMALLEST", 4)
        monkeypatch.setattr(budgets, "_CHUNK", 1)
    rng = Random(100 + seed)
    for _ in range(3):
        one, two = _random_sets(rng), _random_sets(rng)
        one += [0] if rng.random() < 0.2 else []
        order = rng.sample(range(N), N)
        f, g = SetFamily.of(one, order=order), SetFamily.of(two, order=order)
        size = rng.randint(0, N)
        assert _sorted(list(f.union(g))) == _sorted(list({*one, *two}))
        assert _sorted(list(f.non_supersets(g))) == _sorted([s for s in set(one) if not any(t & s == t for t in two)])
        assert _sorted(list(f.at_most(size))) == _sorted([s for s in set(one) if s.bit_count() <= size])
        assert _sorted(list(f.minimal())) == _minimal(one)
        assert _sorted(list(f.hitting_sets())) == _hitting(one)
        assert f.rows[:, 3:].tolist()[1:] == [_sizes(f, k) for k in range(1, len(f.rows))]
        assert f.n_nodes == len({tuple(row[:3]) for row in f.rows.tolist()[2:]})


def _sizes(f: SetFamily, row: int) -> list[int]:
    """Return the least and the largest size below a row, from the rows' own sets."""
    sizes = [s.bit_count() for s in SetFamily(f.order, f.rows[: row + 1])]
    return [min(sizes), max(sizes)]


def test_operations_deeper_than_the_first_stack() -> None:
    n = 150
    one = SetFamily.of([(1 << n) - 1], order=range(n))
    assert sorted(one.hitting_sets()) == [1 << e for e in range(n)]
    assert list(one.hitting_sets().hitting_sets()) == [(1 << n) - 1]
    assert one.at_most(n - 1).count == 0
    assert one.at_most(n).count == 1


@pytest.mark.parametrize("seed", range(6))
def test_power_indices_of_small_games(seed: int) -> None:
    rng, n = Random(seed), 4
    family = _random_sets(rng, n, 4)

    def wins(S: frozenset[int]) -> Fraction:
        return Fraction(any(S.issuperset(features_of(s)) for s in family))

    f = SetFamily.of(family)
    assert [shapley_shubik_index(f).get(e, 0) for e in range(n)] == shapley(wins, n)
    assert [banzhaf_index(f).get(e, 0) for e in range(n)] == banzhaf(wins, n)


@pytest.mark.parametrize("seed", range(3))
def test_weighted_diagrams_equal_their_paths(seed: int) -> None:
    """Totals, weights and spreads of a family are sums over its sets."""
    rng = Random(seed)
    for _ in range(4):
        sets = set(_random_sets(rng))
        f, avoided = SetFamily.of(sets), rng.randrange(1 << N)
        dag = f.dag
        assert dag.total(avoiding=avoided) == sum(not s & avoided for s in sets)
        assert sorted(dag.sets()) == sorted((s, 1) for s in sets)
        shares = {size: rng.randint(0, 5) for size in range(N + 1)}
        expected = {e: sum(shares[s.bit_count()] for s in sets if s >> e & 1) for e in range(N)}
        assert {e: t for e, t in dag.spread(shares).items() if t} == {e: t for e, t in expected.items() if t}
        for s in _minimal(list(sets)):
            assert SetFamily.of(_minimal(list(sets))).dag.weight(s) == 1


def test_a_budget_of_nodes_is_kept_by_families() -> None:
    family = SetFamily.of([0b11 << 2 * k for k in range(6)])
    for nodes in (1, 10):
        with pytest.raises(BudgetError) as caught:
            family.hitting_sets(budget=Budget(nodes=nodes))
        assert 0 < caught.value.nodes <= nodes
        with pytest.raises(BudgetError):
            shapley_shubik_index(family, budget=Budget(nodes=nodes))


def test_primes_are_those_of_trial_division() -> None:
    def is_prime(n: int) -> bool:
        return all(n % d for d in range(2, 1 + isqrt(n)))

    expected = [n for n in range(2**31 - 1, 2**31 - 400, -2) if is_prime(n)]
    assert primes_not_dividing([], count=len(expected)) == expected
    assert primes_not_dividing([expected[1] * 6, 10], count=3) == [expected[0], *expected[2:4]]
