"""Sentential decision diagrams: any circuit over any vtree, and PySDD kept from bringing the process down."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets import CODES, Sdd, Vtree, mdd_of, sdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, CircuitError, MissingExtraError, UnknownFeatureError
from tests.support.circuits import any_circuits, cell_vectors, circuits, counted, points


@st.composite
def nested(draw: st.DrawFn, leaves: list[Any]) -> Any:
    """Return any binary tree over the leaves, in any order."""
    parts = draw(st.permutations(leaves))
    while len(parts) > 1:
        k = draw(st.integers(0, len(parts) - 2))
        parts = [*parts[:k], (parts[k], parts[k + 1]), *parts[k + 2 :]]
    return parts[0]


def models(sdd: Sdd) -> set[tuple[int, ...]]:
    """Return what PySDD itself lists as the satisfying bit vectors."""
    found = sdd.root.models(sdd.manager.vtree()) if sdd.bits else []
    return {tuple(x[k + 1] for k in range(len(sdd.bits))) for x in found}


@given(st.data(), any_circuits(), st.sampled_from(CODES), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_circuit_over_any_vtree(data: st.DataObject, circuit: Circuit, code: str, minimise: bool) -> None:
    grid = circuit.grid
    sdd = sdd_of(circuit, code=code, vtree=data.draw(nested(list(grid.domain.names))), minimise=minimise)
    wanted = points(circuit)
    assert points(sdd.to_circuit()) == wanted
    assert queries.is_decomposable(sdd.to_circuit())
    assert sdd.count() == counted(grid, wanted)
    if sdd.bits and wanted:
        assert models(sdd) == {tuple(int(x[bit.feature] in bit.cells) for bit in sdd.bits) for x in wanted}
    other = data.draw(circuits(grid))
    beside = sdd_of(other, beside=sdd)
    assert points(sdd.conjoin(beside).to_circuit()) == wanted & points(other)
    assert points(sdd.disjoin(beside).to_circuit()) == wanted | points(other)
    assert points(sdd.negate().to_circuit()) == set(cell_vectors(grid)) - wanted


@given(st.data(), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_vtrees_in_arrays(data: st.DataObject, n: int) -> None:
    tree = data.draw(nested(list(range(n))))
    flat = Vtree.of_nested(tree)

    def listed(part: Any) -> list[Any]:
        return [*listed(part[0]), "inner", *listed(part[1])] if isinstance(part, tuple) else [part]

    marks = [flat.leaves[k] if flat.left[k] < 0 else "inner" for k in range(2 * n - 1)]
    in_order = [None] * (2 * n - 1)
    for position, mark in zip(flat.in_order, marks, strict=True):
        in_order[position] = mark
    assert in_order == listed(tree)
    for shape in (Vtree.right_linear, Vtree.balanced):
        made = shape(list(range(n)))
        assert sorted(made.leaves) == [*([-1] * (n - 1)), *range(n)]
        assert all(max(a, b) < k for k, (a, b) in enumerate(zip(made.left, made.right, strict=True)))
    assert Vtree.right_linear(list(range(n))).depth == n
    assert 2 ** (Vtree.balanced(list(range(n))).depth - 1) < 2 * n


def bits(n: int) -> Grid:
    return Grid.of_values(Domain([Integer(f"x{i}", 0, 1) for i in range(n)]))


def pairs(grid: Grid, n: int) -> Circuit:
    build = CircuitBuilder(grid)
    parts = [build.conjunction([build.literal(i, [1]), build.literal(n + i, [1])]) for i in range(n)]
    return build.circuit(build.disjunction(parts))


def test_a_search_for_a_vtree_keeps_features_together_and_pays() -> None:
    n = 7
    circuit = pairs(bits(2 * n), n)
    plain, searched = sdd_of(circuit), sdd_of(circuit, minimise=True)
    assert plain.size.edges > 2**n
    assert searched.size.edges < plain.size.edges / 2
    assert plain.count() == searched.count() == 4**n - 3**n


def test_a_right_linear_vtree_gives_the_nodes_of_the_mdd() -> None:
    grid = Grid.of_values(Domain([Integer(f"x{i}", 0, 4) for i in range(6)]))
    build = CircuitBuilder(grid)
    circuit = build.circuit(build.disjunction([build.literal(i, [i % 3, 4]) for i in range(6)]))
    assert sdd_of(circuit).to_circuit().size == mdd_of(circuit).size


def test_deep_vtrees_do_not_overflow_the_stack() -> None:
    """PySDD alone ends the process from 150 to 200 variables on."""
    n, before = 600, threading.stack_size()
    build = CircuitBuilder(bits(n))
    node = build.true
    for i in reversed(range(n)):
        node = build.decision(i, [([0], build.true), ([1], node)]) if i % 2 else build.decision(i, [([1], node)])
    sdd = sdd_of(build.circuit(node))
    assert sdd.vtree.depth == n
    assert sdd.count() == queries.count(build.circuit(node))
    assert sdd.negate().count() == 2**n - sdd.count()
    assert threading.stack_size() == before
    with pytest.raises(CircuitError, match="may be 3000 levels deep, but this one has 3001; take vtree='balanced'"):
        sdd_of(CircuitBuilder(bits(3001)).circuit(1))


def test_a_budget_stops_it() -> None:
    circuit = pairs(bits(24), 12)
    with pytest.raises(BudgetError, match="and the SDD is not finished"):
        sdd_of(circuit, budget=Budget(nodes=500))


def test_what_is_no_vtree_is_refused() -> None:
    circuit = pairs(bits(4), 2)
    with pytest.raises(CircuitError, match=r"one of 'right', 'balanced', nested pairs .*, but 'wide' was given"):
        sdd_of(circuit, vtree="wide")
    with pytest.raises(CircuitError, match=r"each feature number from 0 to 3 once, but \[0, 1\] was given"):
        sdd_of(circuit, vtree=("x0", "x1"))
    with pytest.raises(CircuitError, match=r"made of pairs and features, but .* was found; write it like"):
        sdd_of(circuit, vtree=("x0", "x1", "x2", "x3"))
    with pytest.raises(UnknownFeatureError):
        sdd_of(circuit, vtree=(("x0", "x1"), ("x2", "y")))
    with pytest.raises(CircuitError, match="beside one over the same cells"):
        sdd_of(circuit, beside=sdd_of(pairs(bits(6), 2)))


def test_without_pysdd_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysdd.sdd", None)
    with pytest.raises(MissingExtraError, match="needs PySDD, which is not installed: pip install"):
        sdd_of(pairs(bits(4), 2))
