"""Counts and probabilities of circuits, against brute force over small domains and on large circuits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.budget import Account
from axfi_kc.circuits import circuit as circuit_module
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, FALSE, OR, TRUE, Circuit, CircuitBuilder
from axfi_kc.circuits.queries import count, is_valid, probability
from axfi_kc.circuits.queries import counting as totals
from axfi_kc.circuits.queries.counting import residue_total, shares_of
from axfi_kc.circuits.queries.counting_kernels import upper_bound
from axfi_kc.circuits.queries.determinism import note_recount
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError
from tests.support.circuit_forms import circuit_of, holds, random_form
from tests.support.circuit_strategies import MODEST, deterministic_circuits, satisfying
from tests.support.large_circuits import boolean_grid, conjunction_chain, deterministic_dag, layered_diagram


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


@pytest.mark.parametrize("way", ["integers", "residues"])
@pytest.mark.parametrize("values", [2, 3, 4, 6])
def test_counts_of_circuits_over_features_of_one_size(values: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "_FEW_ARCS", -1 if way == "residues" else 10**6)
    monkeypatch.setattr(circuit_module, "_FORGOTTEN_AT_ONCE", 2)
    grid = Grid.of_values(ax.Domain([ax.Integer(f"x{k}", 0, values - 1) for k in range(4)]))
    for seed in range(8):
        form = random_form(Random(f"{values} {seed}"), [0, 1, 2, 3], grid.n_cells)
        circuit = circuit_of(form, grid)
        expected = sum(holds(form, x) for x in product(range(values), repeat=4))
        assert count(circuit) == count(circuit, check=True) == expected
        assert probability(circuit) == Fraction(expected, values**4)
        assert is_valid(circuit) == (expected == values**4)


def test_points_counted_more_often_than_floats_can_say() -> None:
    """A bound that is no float is no bound; Python integers then tell that points were counted more than once."""
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 2)])))
    p, q = build.literal(0, [0]), build.literal(0, [0, 1])
    for _ in range(1100):
        p, q = build.disjunction([p, q]), build.disjunction([p, q, build.literal(1, [1])])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(totals, "_FEW_ARCS", -1)
        circuit = build.circuit(p)
        note_recount(circuit, agrees=True)  # so that nobody looks
        with pytest.raises(CircuitError, match="counted more than once"):
            count(circuit)


@pytest.mark.parametrize("seed", range(6))
def test_residues_of_circuits_that_count_points_many_times(seed: int) -> None:
    """Sums of up to hundreds of bits, each part computed alongside from its definition."""
    rng, n, values = Random(seed), 12, 5
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(f"x{k}", 0, values - 1) for k in range(n)])))
    made: list[tuple[int, set[int], Fraction]] = []
    for i in range(n):
        cells = rng.sample(range(values), rng.randint(1, 3))
        made.append((build.literal(i, cells), {i}, Fraction(len(cells), values)))
    for _ in range(120):
        (a, of_a, x), (b, of_b, y) = rng.choice(made[-6:]), rng.choice(made[-12:])
        i = rng.randrange(n)
        if a == b:
            continue
        if not of_a & of_b:
            made.append((build.conjunction([a, b]), of_a | of_b, x * y))
        elif i not in of_a | of_b:
            made.append((build.decision(i, [([0, 1], a), ([2], b)]), of_a | of_b | {i}, (2 * x + y) / values))
        else:
            made.append((build.disjunction([a, b]), of_a | of_b, x + y))
    for root, _, value in (made[-1], max(made, key=lambda one: one[2]), rng.choice(made)):
        circuit = build.circuit(root)
        shares = shares_of(circuit, [[1] * values] * n, [values] * n)
        assert residue_total(circuit, shares, values**n, account=Account(None, goal="count")) == value * values**n


def _value(nodes: Sequence[tuple[int, list[int], list[Fraction]]]) -> Fraction:
    found: list[Fraction] = []
    for kind, children, shares in nodes:
        below = [found[c] for c in children]
        if kind == AND:
            value = Fraction(1)
            for part in below:
                value *= part
        elif kind == OR:
            value = sum(below, Fraction(0))
        elif kind == DECISION:
            value = sum((s * b for s, b in zip(shares, below, strict=True)), Fraction(0))
        else:
            value = Fraction(kind == TRUE)
        found.append(value)
    return found[-1]


def test_the_float_bound_is_above_and_near() -> None:
    rng = Random(4)
    for _ in range(300):
        nodes: list[tuple[int, list[int], list[Fraction]]] = [(FALSE, [], []), (TRUE, [], [])]
        for node in range(2, rng.randint(3, 14)):
            children = [rng.randrange(node) for _ in range(rng.randint(1, 3))]
            nodes.append(
                (rng.choice((AND, OR, DECISION)), children, [Fraction(rng.randint(0, 8), 8) for _ in children])
            )
        kinds = np.array([kind for kind, *_ in nodes], dtype=np.uint8)
        offsets = np.cumsum([0, *(len(children) for _, children, _ in nodes)])
        children = np.array([c for _, below, _ in nodes for c in below], dtype=np.int32)
        shares = np.array([float(s) for *_, some in nodes for s in some])
        bound = Fraction(float(upper_bound(kinds, offsets, children, np.arange(len(children), dtype=np.int32), shares)))
        exact = _value(nodes)
        assert exact <= bound <= exact * (1 + Fraction(1, 10**9))


def test_upper_bounds_of_products_that_vanish_in_floats() -> None:
    """TRUE; a decision of share 1e-300 on it, twice; their conjunction, which is 1e-600 and not 0."""
    kinds = np.array([TRUE, DECISION, DECISION, AND], dtype=np.int8)
    offsets, children = np.array([0, 0, 1, 2, 4]), np.array([0, 0, 1, 2], dtype=np.int32)
    shares = np.array([1e-300, 1e-300, 1.0, 1.0])
    assert upper_bound(kinds, offsets, children, np.arange(4, dtype=np.int32), shares) > 0
