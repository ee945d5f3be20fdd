"""Conditioning, forgetting, smoothing and minimisation, against brute force."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from axfi_kc.circuits import queries
from tests.support.circuit_strategies import (
    MODEST,
    circuits,
    deterministic_circuits,
    overlapping,
    points,
    satisfying,
    truth,
)


@MODEST
@given(st.data())
def test_forgetting(data):
    circuit = data.draw(circuits())
    n = len(circuit.grid.n_cells)
    gone = data.draw(st.sets(st.integers(0, n - 1)))
    expected = {tuple(c for i, c in enumerate(x) if i not in gone) for x in satisfying(circuit)}
    forgotten = queries.forget(circuit, gone)
    assert not gone & set(forgotten.features.tolist())
    for x in points(circuit.grid):
        assert truth(forgotten, x) == (tuple(c for i, c in enumerate(x) if i not in gone) in expected)


@MODEST
@given(st.data(), st.booleans())
def test_singleton_forgetting(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    i = data.draw(st.integers(0, len(circuit.grid.n_cells) - 1))
    forgotten = queries.forget_one(circuit, i)
    assert i not in forgotten.features.tolist()
    for x in points(circuit.grid):
        others = [(*x[:i], c, *x[i + 1 :]) for c in range(circuit.grid.n_cells[i])]
        assert truth(forgotten, x) == any(truth(circuit, y) for y in others)


@MODEST
@given(st.one_of(circuits(), deterministic_circuits()))
def test_smoothing(circuit):
    smooth = queries.smooth(circuit)
    assert queries.is_smooth(smooth)
    assert queries.is_decomposable(smooth)
    assert satisfying(smooth) == satisfying(circuit)
    if not overlapping(circuit):
        assert queries.count(smooth) == len(satisfying(circuit))


@MODEST
@given(st.data())
def test_minimisation(data):
    circuit = data.draw(circuits())
    v = data.draw(st.sampled_from(points(circuit.grid)))
    distance = {x: sum(a != b for a, b in zip(x, v, strict=True)) for x in satisfying(circuit)}
    least = min(distance.values(), default=None)
    assert queries.minimum_changes(circuit, v) == least
    nearest = queries.minimised(circuit, v)
    assert satisfying(nearest) == [x for x, d in distance.items() if d == least]
    assert queries.is_decomposable(nearest)


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
