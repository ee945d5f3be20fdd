"""Reordering changes the order of a diagram and its size, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets import mdd_of, obdd_of, reordered, sifted
from axfi_kc.circuits.targets.mdd_reordering import _Levels
from axfi_kc.errors import CircuitError
from tests.contract.test_mdd import bits, pairs, same
from tests.support.circuits import any_circuits, points


@given(any_circuits(max_features=5), st.data())
@settings(max_examples=100, deadline=None)
def test_every_swap_gives_the_reduced_diagram_of_the_new_order(circuit: Circuit, data: st.DataObject) -> None:
    n = len(circuit.grid.n_cells)
    levels = _Levels(mdd_of(circuit, order=list(range(n))), spend=lambda _: None)
    for place in data.draw(st.lists(st.integers(0, n - 2), max_size=8)) if n > 1 else []:
        levels.swap(place)
        assert len(levels) == mdd_of(circuit, order=levels.order).size.nodes
    best = levels.best()
    assert same(best.circuit, mdd_of(circuit, order=best.order).circuit)


@given(any_circuits(max_features=5), st.sampled_from([2, 3, 4, None]))
@settings(max_examples=80, deadline=None)
def test_never_larger_and_the_same_points(circuit: Circuit, window: int | None) -> None:
    mdd = mdd_of(circuit)
    found = reordered(mdd, window=window) if window else sifted(mdd)
    assert points(found.circuit) == points(circuit)
    assert found.size.nodes <= mdd.size.nodes
    assert same(found.circuit, mdd_of(circuit, order=found.order).circuit)


def test_a_window_of_all_features_finds_the_best_order() -> None:
    circuit = pairs(bits(4), 2)
    assert reordered(mdd_of(circuit), window=4).size.nodes == 4


def test_sifting_finds_the_pairs() -> None:
    n = 8
    circuit = pairs(bits(2 * n), n)
    far = mdd_of(circuit)
    found = sifted(far)
    assert (far.size.nodes, found.size.nodes) == (2 ** (n + 1) - 2, 2 * n)
    assert found.count() == far.count()
    binary = obdd_of(circuit, sift=True)
    assert binary.size.nodes == 2 * n
    assert binary.count() == far.count()


def test_what_a_budget_leaves_is_the_best_so_far() -> None:
    far = mdd_of(pairs(bits(16), 8))
    sizes = [sifted(far, budget=Budget(nodes=n)).size.nodes for n in (1, 2000, 10**6)]
    assert sizes[0] <= far.size.nodes
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 16
    with pytest.raises(CircuitError, match="must be 2, 3 or 4 features wide, but 5 was given"):
        reordered(far, window=5)
