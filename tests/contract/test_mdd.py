"""Ordered diagrams: exact for every circuit, canonical, and no work where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import DECISION, Circuit, CircuitBuilder
from axfi_kc.circuits.targets import Mdd, mdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError, CircuitError
from tests.support.circuits import any_circuits, cell_vectors, circuits, counted, points, weighed


def brute_size(circuit: Circuit, order: list[int]) -> tuple[int, int]:
    """Return nodes and edges by definition: the distinct subfunctions that depend on their first feature."""
    n_cells = [circuit.grid.n_cells[i] for i in order]
    ones = {tuple(x[i] for i in order) for x in points(circuit)}
    nodes, edges = 0, 0
    for k, n in enumerate(n_cells):
        prefixes = {x[:k] for x in (tuple(y[i] for i in order) for y in cell_vectors(circuit.grid))}
        rows = {
            tuple(frozenset(x[k + 1 :] for x in ones if x[: k + 1] == (*prefix, c)) for c in range(n))
            for prefix in prefixes
        }
        different = [row for row in rows if len(set(row)) > 1]
        nodes += len(different)
        edges += sum(len(set(row) - {frozenset()}) for row in different)
    return nodes, edges


def same(a: Circuit, b: Circuit) -> bool:
    """Tell whether two circuits are one, up to the numbers of their nodes."""
    names: dict[object, int] = {}

    def numbers(circuit: Circuit) -> list[int]:
        found: list[int] = []
        for node, kind in enumerate(circuit.kinds.tolist()):
            arcs = frozenset((cells, found[child]) for cells, child in circuit.arcs(node))
            found.append(names.setdefault((kind, int(circuit.features[node]), arcs), len(names)))
        return found

    return numbers(a)[-1] == numbers(b)[-1] and a.size == b.size


@given(any_circuits(), st.data())
@settings(max_examples=150, deadline=None)
def test_any_circuit_in_any_order(circuit: Circuit, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(circuit.grid.n_cells))))
    mdd = mdd_of(circuit, order=order)
    wanted = points(circuit)
    assert points(mdd.to_circuit()) == wanted
    assert (mdd.count(), mdd.probability()) == (counted(mdd.grid, wanted), weighed(mdd.grid, wanted))
    assert (mdd.size.nodes, mdd.size.edges) == brute_size(circuit, order)
    assert mdd_of(mdd.circuit, order=order).circuit is mdd.circuit
    assert {int(k) for k in mdd.circuit.kinds} <= {0, 1, DECISION}


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_operations_are_those_on_sets_and_results_are_canonical(data: st.DataObject) -> None:
    circuit = data.draw(any_circuits())
    grid = circuit.grid
    order = data.draw(st.permutations(range(len(grid.n_cells))))
    a, b = mdd_of(circuit, order=order), mdd_of(data.draw(circuits(grid)), order=order)
    everything = set(cell_vectors(grid))
    assert points(a.conjoin(b).circuit) == points(a.circuit) & points(b.circuit)
    assert points(a.disjoin(b).circuit) == points(a.circuit) | points(b.circuit)
    assert points(a.negate().circuit) == everything - points(a.circuit)
    assert same(a.negate().negate().circuit, a.circuit)
    assert same(a.conjoin(b).negate().circuit, a.negate().disjoin(b.negate()).circuit)


def bits(n: int) -> Grid:
    return Grid.of_values(Domain([Integer(f"x{i}", 0, 1) for i in range(n)]))


def pairs(grid: Grid, n: int) -> Circuit:
    """Return "for some i, x_i and x_(n+i)": exponential in the domain's order, linear with pairs together."""
    build = CircuitBuilder(grid)
    parts = [build.conjunction([build.literal(i, [1]), build.literal(n + i, [1])]) for i in range(n)]
    return build.circuit(build.disjunction(parts))


def test_the_order_matters_and_is_kept() -> None:
    n = 9
    circuit = pairs(bits(2 * n), n)
    far, near = mdd_of(circuit), mdd_of(circuit, order=[k for i in range(n) for k in (i, n + i)])
    assert (far.size.nodes, near.size.nodes) == (2 ** (n + 1) - 2, 2 * n)
    assert far.count() == near.count() == 4**n - 3**n
    moved = mdd_of(far.circuit, order=near.order)
    assert same(moved.circuit, near.circuit)


def test_a_budget_stops_it() -> None:
    circuit = pairs(bits(24), 12)
    with pytest.raises(BudgetError, match=r"spent after 1001 nodes .* the diagram is not finished; allow more") as e:
        mdd_of(circuit, budget=Budget(nodes=1000))
    assert e.value.nodes == 1001
    with pytest.raises(BudgetError):
        mdd_of(pairs(bits(40), 20), budget=Budget(seconds=0.05))
    near = mdd_of(circuit, order=[k for i in range(12) for k in (i, 12 + i)], budget=Budget(nodes=1000))
    with pytest.raises(BudgetError):
        near.disjoin(near.negate(), budget=Budget(nodes=5))


def test_diagrams_of_two_orders_or_grids_are_refused() -> None:
    grid = bits(2)
    a, b = (mdd_of(pairs(grid, 1), order=order) for order in ([0, 1], [1, 0]))
    with pytest.raises(
        CircuitError, match=r"one order, but the orders \(0, 1\) and \(1, 0\), over the same cells, were given"
    ):
        a.conjoin(b)
    assert a.disjoin(mdd_of(pairs(bits(2), 1), order=[0, 1])) == a  # another grid with the same cells
    with pytest.raises(CircuitError, match="over different cells, were given"):
        a.disjoin(mdd_of(pairs(bits(3), 1), order=[0, 1, 2]))
    with pytest.raises(CircuitError, match=r"each feature number from 0 to 1 once, but \[0, 0\] was given"):
        mdd_of(pairs(grid, 1), order=[0, 0])


def chain(grid: Grid, n: int) -> Mdd:
    build = CircuitBuilder(grid)
    node = build.true
    for i in reversed(range(n)):
        node = build.decision(i, [([0, 2], node)])
    return mdd_of(build.circuit(node))


def test_deep_diagrams_need_no_recursion() -> None:
    n = 1500
    grid = Grid.of_values(Domain([Integer(f"x{i}", 0, 2) for i in range(n)]))
    mdd = chain(grid, n)
    assert mdd.size.nodes == n
    assert mdd.negate().count() == 3**n - 2**n
    assert mdd.conjoin(mdd.negate()).count() == 0
    assert mdd.disjoin(mdd.negate()).count() == 3**n
