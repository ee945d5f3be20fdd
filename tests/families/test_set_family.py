"""Families on diagrams against families as lists."""

from __future__ import annotations

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import budget as budgets
from axfi_kc.budget import Budget
from axfi_kc.errors import BudgetError, CircuitError
from axfi_kc.families import SetFamily
from axfi_kc.families import zdd_store as stores
from axfi_kc.families.masks import minimal_sets
from axfi_kc.scores.power_indices import banzhaf_index, shapley_shubik_index
from tests.support.listed_families import ELEMENTS, hitting_of, in_order, minimal_of, random_sets
from tests.support.oracle import banzhaf, shapley

MANY = settings(max_examples=150, deadline=None)
N = 6
masks = st.lists(st.integers(0, 2**N - 1), max_size=9)
orders = st.permutations(range(N))


def listed(family: SetFamily) -> list[int]:
    found = list(family)
    assert len(found) == len(set(found)) == family.count
    assert [s.bit_count() for s in found] == sorted(s.bit_count() for s in found)
    return sorted(found)


@MANY
@given(masks, masks, orders, st.integers(0, N))
def test_operations_equal_those_on_lists(one: list[int], two: list[int], order: list[int], size: int) -> None:
    f, g = SetFamily.of(one, order=order), SetFamily.of(two, order=order)
    assert listed(f) == sorted(set(one))
    assert listed(f.union(g)) == sorted({*one, *two})
    assert listed(f.non_supersets(g)) == sorted(s for s in set(one) if not any(t & s == t for t in two))
    assert listed(f.at_most(size)) == sorted(s for s in set(one) if s.bit_count() <= size)
    minimal = sorted(s for s in set(one) if not any(t != s and t & s == t for t in one))
    assert listed(f.minimal()) == minimal
    hitting = [h for h in range(2**N) if all(h & s for s in one)]
    dual = sorted(h for h in hitting if not any(g != h and g & h == g for g in hitting))
    assert listed(f.hitting_sets()) == dual
    assert listed(f.hitting_sets().hitting_sets()) == minimal
    assert [s for s in range(2**N) if s in f] == sorted(set(one))


@MANY
@given(masks, st.none() | orders)
def test_counts_equal_those_of_lists(sets: list[int], order: list[int] | None) -> None:
    f, distinct = SetFamily.of(sets, order=order), set(sets)
    assert f.count == len(distinct)
    assert bool(f) == bool(distinct)
    sizes = sorted({s.bit_count() for s in distinct})
    assert list(f.sizes.items()) == [(k, sum(s.bit_count() == k for s in distinct)) for k in sizes]
    union = 0
    for s in distinct:
        union |= s
    assert f.support == union
    own = {e: [s.bit_count() for s in distinct if s >> e & 1] for e in range(N) if union >> e & 1}
    assert f.with_elements() == {e: {k: found.count(k) for k in set(found)} for e, found in own.items()}
    assert f.counts() == {e: len(found) for e, found in own.items()}
    assert f.fewest_with() == {e: min(found) for e, found in own.items()}
    assert sorted(f.smallest()) == sorted(s for s in distinct if s.bit_count() == (sizes or [0])[0])
    assert listed(pickle.loads(pickle.dumps(f))) == sorted(distinct)


@MANY
@given(masks, st.integers(0, 2**N - 1))
def test_weighted_totals(sets: list[int], avoided: int) -> None:
    dag = SetFamily.of(sets).dag
    assert dag.total(avoiding=avoided) == sum(not s & avoided for s in set(sets))
    assert sorted(dag.sets()) == sorted((s, 1) for s in set(sets))


@settings(max_examples=60, deadline=None)
@given(masks)
def test_power_indices_equal_their_definitions(sets: list[int]) -> None:
    f = SetFamily.of(sets)

    def wins(S: frozenset[int]) -> Fraction:
        return Fraction(any(all(e in S for e in range(N) if s >> e & 1) for s in sets))

    def meets(S: frozenset[int]) -> Fraction:
        return Fraction(all(any(e in S for e in range(N) if s >> e & 1) for s in sets))

    for game in (wins, meets) if 0 not in sets else (wins,):
        assert [shapley_shubik_index(f).get(e, 0) for e in range(N)] == shapley(game, N)
        assert [banzhaf_index(f).get(e, 0) for e in range(N)] == banzhaf(game, N)


def test_members_are_drawn_uniformly() -> None:
    f, rng = SetFamily.of([0b1, 0b110, 0b1110, 0b11000]), Random(0)
    drawn = [f.sample(rng) for _ in range(8000)]
    assert set(drawn) == set(f)
    assert all(abs(drawn.count(s) - 2000) < 200 for s in f)  # some five standard deviations
    with pytest.raises(CircuitError):
        SetFamily.of([]).sample(rng)


def gadgets(k: int) -> list[int]:
    return [m for i in range(k) for m in (0b11 << 3 * i, 0b110 << 3 * i)]


def test_families_far_too_large_to_list() -> None:
    pairs = SetFamily.of(gadgets(500))
    axps = pairs.hitting_sets()
    assert axps.count == 2**500
    assert axps.hitting_sets().count == 1000
    assert axps.sample(Random(1)) in axps
    assert next(iter(axps)) == sum(0b10 << 3 * i for i in range(500)) == next(iter(axps.smallest()))
    assert axps.smallest().count == 1
    assert max(axps.sizes) == 1000
    assert axps.sizes[501] == 500


def test_deep_families() -> None:
    n = 20_000
    one = SetFamily.of([(1 << n) - 1], order=range(n))
    assert one.hitting_sets().count == n
    assert one.hitting_sets().hitting_sets().sizes == {n: 1}


def test_the_budget_is_kept() -> None:
    rng = Random(3)
    sets = [sum(1 << e for e in rng.sample(range(60), 8)) for _ in range(300)]
    for budget in (Budget(nodes=10_000), Budget(seconds=0.05)):
        with pytest.raises(BudgetError, match="budget was spent") as caught:
            SetFamily.of(sets).hitting_sets(budget=budget)
        assert caught.value.nodes > 0
    with pytest.raises(BudgetError):
        shapley_shubik_index(SetFamily.of(sets), budget=Budget(nodes=2000))


def test_threads_do_not_disturb_each_other() -> None:
    problems = [[sum(1 << e for e in c) for c in combinations(range(n), k)] for n in range(6, 12) for k in (2, 3)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda sets: sorted(SetFamily.of(sets).hitting_sets()), problems))
    for sets, dual in zip(problems, found, strict=True):
        k, n = sets[0].bit_count(), max(sets).bit_length()
        assert dual == sorted(minimal_sets(sum(1 << e for e in c) for c in combinations(range(n), n - k + 1)))


def test_families_in_different_orders_are_not_mixed() -> None:
    with pytest.raises(CircuitError, match="same order"):
        SetFamily.of([1], order=[0, 1]).union(SetFamily.of([1], order=[1, 0]))
    with pytest.raises(CircuitError, match="2 is missing"):
        SetFamily.of([0b100], order=[0, 1])


def test_sizes_of_the_sets_with_an_element() -> None:
    rng = Random(10)
    for _ in range(100):
        sets = {rng.randrange(1, 1 << 6) for _ in range(rng.randint(1, 9))}
        family = SetFamily.of(sets)
        for element, sizes in family.with_elements().items():
            counts = Counter(s.bit_count() for s in family if s >> element & 1)
            assert sizes == dict(counts)
        assert "a set" not in family


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("small", [False, True])
def test_operations_on_diagrams_equal_those_on_lists(small: bool, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        monkeypatch.setattr(stores, "_SMALLEST", 4)
        monkeypatch.setattr(budgets, "_CHUNK", 1)
    rng = Random(100 + seed)
    for _ in range(3):
        one, two = random_sets(rng), random_sets(rng)
        one += [0] if rng.random() < 0.2 else []
        order = rng.sample(range(ELEMENTS), ELEMENTS)
        f, g = SetFamily.of(one, order=order), SetFamily.of(two, order=order)
        size = rng.randint(0, ELEMENTS)
        assert in_order(list(f.union(g))) == in_order(list({*one, *two}))
        assert in_order(list(f.non_supersets(g))) == in_order([s for s in set(one) if not any(t & s == t for t in two)])
        assert in_order(list(f.at_most(size))) == in_order([s for s in set(one) if s.bit_count() <= size])
        assert in_order(list(f.minimal())) == minimal_of(one)
        assert in_order(list(f.hitting_sets())) == hitting_of(one)
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


def test_a_budget_of_nodes_is_kept_by_families() -> None:
    family = SetFamily.of([0b11 << 2 * k for k in range(6)])
    for nodes in (1, 10):
        with pytest.raises(BudgetError) as caught:
            family.hitting_sets(budget=Budget(nodes=nodes))
        assert 0 < caught.value.nodes <= nodes
        with pytest.raises(BudgetError):
            shapley_shubik_index(family, budget=Budget(nodes=nodes))
