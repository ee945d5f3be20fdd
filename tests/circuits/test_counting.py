"""Queries of circuits against brute force over small multi-valued domains."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, CircuitBuilder
from axfi_kc.circuits.queries import counting as totals
from axfi_kc.errors import CircuitError
from tests.support.circuit_strategies import circuits, deterministic_circuits, points, satisfying, truth
from tests.support.large_circuits import boolean_grid, conjunction_chain, deterministic_dag, layered_diagram

MODEST = settings(max_examples=60, deadline=None)


def mask_scopes(circuit):
    found = []
    for node in range(len(circuit.kinds)):
        scope = {int(circuit.features[node])} - {-1}
        found.append(scope.union(*(found[c] for _, c in circuit.arcs(node))))
    return found


@MODEST
@given(st.data(), st.booleans())
def test_structure(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    scope = mask_scopes(circuit)
    sound, smooth = True, True
    for node, kind in enumerate(circuit.kinds.tolist()):
        below = [scope[c] for _, c in circuit.arcs(node)]
        if kind == AND:
            sound &= sum(map(len, below)) == len(set().union(*below))
        if kind == DECISION:
            sound &= not any(int(circuit.features[node]) in s for s in below)
        if kind in (OR, DECISION):
            smooth &= all(s == below[0] for s in below)
    assert queries.is_decomposable(circuit) == sound
    assert queries.is_smooth(circuit) == smooth
    assert queries.scopes(circuit) == [sum(1 << i for i in s) for s in scope]


@MODEST
@given(st.data(), st.booleans())
def test_evaluate_and_condition(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    for x in points(circuit.grid):
        assert queries.evaluate(circuit, x) == truth(circuit, x)
    x = data.draw(st.sampled_from(points(circuit.grid)))
    fixed = {i: x[i] for i in data.draw(st.sets(st.integers(0, len(x) - 1)))}
    conditioned = queries.condition(circuit, fixed)
    assert not set(conditioned.features.tolist()) & set(fixed)
    for y in points(circuit.grid):
        assert truth(conditioned, y) == truth(circuit, tuple(fixed.get(i, c) for i, c in enumerate(y)))


@MODEST
@given(st.data())
def test_consistency_and_clauses(data):
    circuit = data.draw(circuits())
    found = satisfying(circuit)
    box = {
        i: data.draw(st.sets(st.integers(0, n - 1)))
        for i, n in enumerate(circuit.grid.n_cells)
        if data.draw(st.booleans())
    }
    inside = [x for x in found if all(x[i] in cells for i, cells in box.items())]
    assert queries.is_consistent_within(circuit, queries.allowed_cells(circuit, box)) == bool(inside)
    assert queries.entails_clause(circuit, box) == all(any(x[i] in cells for i, cells in box.items()) for x in found)
    fixed = {i: min(cells) for i, cells in box.items() if cells}
    assert queries.is_consistent(circuit, fixed) == any(all(x[i] == c for i, c in fixed.items()) for x in found)


@pytest.mark.parametrize("few", [0, 1_000_000], ids=["residues", "integers"])
@MODEST
@given(data=st.data())
def test_totals(few, data):
    circuit = data.draw(deterministic_circuits())
    found, axes = satisfying(circuit), circuit.grid.axes
    worths = [[Fraction(data.draw(st.integers(0, 9)), 4) for _ in range(n)] for n in circuit.grid.n_cells]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(totals, "_residues_pay", lambda *_: not few)
        assert queries.count(circuit) == len(found)
        shares = [[Fraction(k, a.denominator) for k in a.numerators] for a in axes]
        assert queries.probability(circuit) == sum(prod(s[c] for s, c in zip(shares, x, strict=True)) for x in found)
        weighted = sum(prod(w[c] for w, c in zip(worths, x, strict=True)) for x in found)
        assert queries.weighted_count(circuit, worths) == weighted


def test_refusals():
    build = CircuitBuilder(boolean_grid(2))
    a, b, c = build.literal(0, [1]), build.decision(0, [([1], build.literal(1, [1]))]), build.literal(1, [0])
    twice = build.circuit(build.conjunction([a, b]))
    for query in (queries.count, queries.probability, queries.is_consistent):
        with pytest.raises(CircuitError, match="compile into mdd"):
            query(twice)
    overlapping = build.circuit(build.disjunction([a, c, build.literal(0, [0])]))
    with pytest.raises(CircuitError, match="deterministic"):
        queries.count(overlapping)
    with pytest.raises(CircuitError, match="Worths"):
        queries.weighted_count(build.circuit(a), [[1, 2], [3, -4]])
    with pytest.raises(CircuitError, match="disjoint"):
        build.decision(0, [([0, 1], a), ([1], c)])
    with pytest.raises(CircuitError, match="disjoint"):
        build.literal(0, [2])


def test_a_million_nodes():
    n, m = 1_000_000, 1_000
    rng = np.random.default_rng(5)
    layers = np.repeat(np.arange(m), n // m)  # of a diagram in which the first layer is feature m - 1
    low = np.maximum(layers - 1, 0)[:, np.newaxis] * (n // m) + 2
    children = np.where(layers[:, np.newaxis] > 0, low + rng.integers(0, n // m, (n, 2)), 1)
    circuit = Circuit(
        grid=boolean_grid(m),
        kinds=np.concatenate([[0, 1], np.full(n, DECISION)]).astype(np.uint8),
        features=np.concatenate([[-1, -1], m - 1 - layers]).astype(np.int32),
        offsets=np.concatenate([[0, 0], np.arange(0, 2 * n + 1, 2)]),
        children=children.reshape(-1).astype(np.int32),
        labels=np.tile(np.array([0, 1], dtype=np.int32), n),
        cell_sets=((0,), (1,)),
    )
    assert queries.is_decomposable(circuit)
    assert queries.is_ordered(circuit)
    assert queries.evaluate(circuit, [0] * m)
    assert queries.count(circuit) == 2**m  # no arc leads to false
    assert queries.minimum_changes(circuit, [1] * m) == 0
    reduced = queries.condition(circuit, {m - 1: 0})
    assert reduced.size.nodes == 0


@pytest.mark.slow
def test_a_chain_of_a_million_nodes():
    circuit = conjunction_chain(500_000)
    assert len(circuit.kinds) > 999_000
    assert queries.is_smooth(circuit)
    assert queries.evaluate(circuit, [i % 2 for i in range(500_000)])
    assert queries.count(circuit) == 1
    assert queries.probability(circuit) == Fraction(1, 2**500_000)
    assert queries.condition(circuit, {7: 0}).size.nodes == 0


@pytest.mark.parametrize("make", [deterministic_dag, layered_diagram])
def test_both_ways_agree_on_large_circuits(make, monkeypatch):
    circuit = make(20_000)
    monkeypatch.setattr(totals, "_residues_pay", lambda *_: False)
    direct = queries.count(circuit)
    monkeypatch.setattr(totals, "_residues_pay", lambda *_: True)
    assert queries.count(circuit) == direct > 2**500
    i = 500
    parts = [queries.count(queries.condition(circuit, {i: c}), fixed=[i]) for c in range(circuit.grid.n_cells[i])]
    assert sum(parts) == direct
