"""Whether points are counted once: proved, refuted, or given up within a budget."""

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import OR, Circuit, CircuitBuilder
from axfi_kc.circuits.queries.determinism import is_noted
from axfi_kc.circuits.queries.transformations import copied
from axfi_kc.circuits.targets import ddnnf_of
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.circuit_strategies import MODEST, circuits, deterministic_circuits, node_truth, overlapping
from tests.support.large_circuits import boolean_grid, deterministic_dag

# a function of this name hides the module
determinism_module = import_module("axfi_kc.circuits.queries.determinism")


@MODEST
@given(st.data(), st.booleans())
def test_determinism(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    bad = overlapping(circuit)
    found = queries.determinism(circuit)
    assert queries.is_deterministic(circuit) == (not bad)
    assert found.verdict == ("refuted" if bad else "proved")
    if bad:
        assert found.node in bad
        assert sum(node_truth(circuit, c, found.witness) for _, c in circuit.arcs(found.node)) > 1


@MODEST
@given(deterministic_circuits())
def test_literals_alone_prove_most_circuits(circuit):
    assert queries.determinism(circuit, budget=Budget(nodes=1)).verdict == "proved"


def test_determinism_within_a_budget():
    build = CircuitBuilder(boolean_grid(12))
    odd, even = build.false, build.true
    for i in range(12):  # parities exclude each other, but fix no feature
        odd, even = (
            build.decision(i, [([0], odd), ([1], even)]),
            build.decision(i, [([0], even), ([1], odd)]),
        )
    circuit = build.circuit(build.disjunction([odd, even]))
    assert queries.determinism(circuit, budget=Budget(nodes=3)).verdict == "unchecked"
    with pytest.raises(BudgetError):
        queries.is_deterministic(circuit, budget=Budget(nodes=3))
    assert queries.determinism(circuit).verdict == "proved"
    assert queries.determinism(circuit, budget=Budget(nodes=3)).verdict == "proved"  # it was noted


def test_determinism_of_large_circuits():
    assert queries.determinism(deterministic_dag(30_000), budget=Budget(nodes=1)).verdict == "proved"


# Every way to count a circuit, as a function of it.
COUNTS: dict[str, Callable[[Circuit], object]] = {
    "count": queries.count,
    "weighted_count": lambda c: queries.weighted_count(c, [[1] * n for n in c.grid.n_cells]),
    "probability": queries.probability,
    "marginals": lambda c: queries.marginals(c, "count"),
    "sample": lambda c: queries.sample(c, 1, "count", seed=0),
    "is_valid": queries.is_valid,
    "is_implicant": lambda c: queries.is_implicant(c, {}),
    "semiring_value": lambda c: queries.semiring_value(c, queries.NUMBERS, [[1] * n for n in c.grid.n_cells]),
    "counts_by_size": queries.counts_by_size,
    "best_points": lambda c: queries.best_points(c, 2),
    "entropy": lambda c: ax.entropy(c, "count"),
}
AB = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])


@pytest.fixture
def overlapping_file(tmp_path):
    (tmp_path / "either.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n")
    return tmp_path / "either.nnf"


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("load", [ax.load_circuit, ax.read_nnf])
def test_no_count_is_made_of_parts_that_overlap(overlapping_file, load, name):
    with pytest.raises(CircuitError, match=r"two parts of node \d of this one hold where a >= 1, b >= 1"):
        COUNTS[name](load(overlapping_file, AB))


def test_what_is_made_of_parts_that_overlap_counts_rightly(overlapping_file):
    circuit = ax.load_circuit(overlapping_file, AB)
    model = ax.CircuitModel.of(circuit)
    assert model.converted
    for target in ("mdd", "obdd", "sdd", "ddnnf"):
        assert ax.compile_model(model, AB, output=True, target=target).count() == 3
        assert circuit.compile(target).count() == 3
    for claim in (ax.CircuitModel.of, ddnnf_of):
        with pytest.raises(CircuitError, match="two parts of node"):
            claim(circuit, deterministic=True)
    assert queries.semiring_value(circuit, queries.MAX_PLUS, [[0, 2], [0, 3]]) == 5  # points met twice do no harm
    assert (
        queries.best_point(circuit).cells == (1, 1)
        or queries.best_point(circuit).weight == queries.best_point(circuit.compile("mdd").to_circuit()).weight
    )


def _open_case(n):
    """Return parities of n bits, which exclude each other, but no literal and no short search shows it."""
    build = CircuitBuilder(boolean_grid(n))
    odd, even = build.false, build.true
    for i in range(n):
        odd, even = (
            build.decision(i, [([0], odd), ([1], even)]),
            build.decision(i, [([0], even), ([1], odd)]),
        )
    return build.circuit(build.disjunction([odd, even]))


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_open_is_said_once_for_each_circuit(monkeypatch, name):
    monkeypatch.setattr(determinism_module, "_FEW_STEPS", Budget(nodes=20))
    circuit = _open_case(10)
    with pytest.warns(ax.AxfiWarning, match="is neither proved nor refuted for <Circuit: 21 nodes") as caught:
        COUNTS[name](circuit)
    assert caught[0].filename == __file__
    COUNTS[name](circuit)
    queries.count(circuit)
    with pytest.warns(ax.AxfiWarning, match="neither proved nor refuted"):
        COUNTS[name](_open_case(10))


def test_what_is_proved_or_counted_again_is_not_doubted(monkeypatch):
    monkeypatch.setattr(determinism_module, "_FEW_STEPS", Budget(nodes=20))
    circuit = _open_case(10)
    assert queries.count(circuit, check=True) == queries.count(circuit) == 2**10
    circuit = _open_case(10)
    assert queries.is_deterministic(circuit)
    assert queries.count(circuit) == 2**10
    assert queries.count(queries.condition(circuit, {0: 1})) == 2**9
    assert is_noted(~circuit)
    assert ax.CircuitModel.of(_open_case(10), deterministic=True).circuits[1] is not None


def test_a_circuit_with_features_forgotten_stays_doubtful_when_it_is_conditioned():
    build = CircuitBuilder(boolean_grid(3))
    ways = [([0], build.literal(1, [1])), ([1], build.literal(2, [1]))]
    forgotten = queries.forget(build.circuit(build.decision(0, ways)), [0])  # b or c
    for circuit in (forgotten, queries.condition(forgotten, {0: 0}), queries.smooth(forgotten)):
        with pytest.raises(CircuitError, match="two parts of node"):
            queries.count(circuit)


@MODEST
@given(st.data())
def test_counts_are_right_or_refused(data):
    circuit = data.draw(circuits(decomposable=True))
    try:
        found = queries.count(circuit)
    except CircuitError:
        assert overlapping(circuit)
        return
    assert found == queries.count(circuit.compile("mdd").to_circuit())
    assert not overlapping(circuit)


@MODEST
@given(st.data(), st.booleans())
def test_kernels_say_the_same(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable, max_nodes=20))
    slow = [node for node in np.flatnonzero(circuit.kinds == OR).tolist() if not _is_separated(circuit, node)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(determinism_module, "_LARGE", 0)
        fast = determinism_module._unseparated(circuit)
        verdict = queries.determinism(copy.copy(circuit)).verdict
    assert set(slow) <= set(fast)
    assert verdict == ("refuted" if overlapping(circuit) else "proved")
    if decomposable:  # no feature twice in a part, so kernels look at as much
        assert slow == fast


def _is_separated(circuit, node):
    literals = determinism_module._Literals(circuit)
    return determinism_module._one_feature_separates([literals.of(child) for _, child in circuit.arcs(node)])


def test_large_circuits_are_looked_at_in_no_time(tmp_path):
    circuit = deterministic_dag(30_000)
    build = CircuitBuilder(circuit.grid)
    root = copied(circuit, build, None)
    more = build.circuit(build.disjunction([root, build.literal(0, [0]), build.literal(1, [0])]))
    with pytest.raises(CircuitError, match="two parts of node"):
        queries.count(more)
