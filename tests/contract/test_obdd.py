"""Ordered binary decision diagrams hold exactly the points of the circuits they are made of."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer, Real, TableModel
from axfi_kc.budget import Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets import CODES, Obdd, bits_of, obdd_of
from axfi_kc.compilers import compile_circuit
from axfi_kc.compilers.linear_diagrams import compile_linear
from axfi_kc.domain.grid import Cut, Grid
from axfi_kc.errors import BudgetError, CircuitError, MissingExtraError
from axfi_kc.models import LinearModel, Lookup, Positive, Similarity
from tests.support.strategies import Case, domains, table_cases, tree_cases

HAS_CUDD = find_spec("dd.cudd") is not None  # dd has wheels with CUDD for Linux and CPython 3.11 to 3.13 only
BACKENDS = ("cudd", "python") if HAS_CUDD else ("python",)
needs_cudd = pytest.mark.skipif(not HAS_CUDD, reason="dd was installed without CUDD")
codes, backends = st.sampled_from(CODES), st.sampled_from(BACKENDS)
BITS = Domain([Integer(f"x{i}", 0, 1) for i in range(3)])
THREE_BY_TWO = Domain([Integer("a", 0, 2, weights=[1, 2, 4]), Integer("b", 0, 1, weights=[3, 5])])


def tables(domain: Domain) -> Iterator[tuple[int, ...]]:
    return product((0, 1), repeat=domain.size)


def table_circuit(domain: Domain, table: tuple[int, ...]) -> Circuit:
    return compile_circuit(TableModel.from_outputs(domain, table), 0, Similarity())


def cell_vectors(grid: Grid) -> Iterator[tuple[int, ...]]:
    return product(*map(range, grid.n_cells))


def points(circuit: Circuit) -> set[tuple[int, ...]]:
    return {x for x in cell_vectors(circuit.grid) if queries.evaluate(circuit, x)}


def weighed(grid: Grid, wanted: set[tuple[int, ...]]) -> Fraction:
    return sum(
        (prod(Fraction(a.numerators[c], a.denominator) for a, c in zip(grid.axes, x, strict=True)) for x in wanted),
        Fraction(0),
    )


def models(obdd: Obdd) -> set[tuple[int, ...]]:
    """Return what dd itself lists as the satisfying bit vectors."""
    names = [bit.name for bit in obdd.bits]
    found = obdd.root.bdd.pick_iter(obdd.root, care_vars=set(names))
    return {tuple(int(x[name]) for name in names) for x in found}


def codes_of(obdd: Obdd, wanted: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    return {tuple(int(x[bit.feature] in bit.cells) for bit in obdd.bits) for x in wanted}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("domain", [BITS, THREE_BY_TWO], ids=["bits", "three by two"])
def test_every_small_function(domain: Domain, code: str, backend: str) -> None:
    for table in tables(domain):
        wanted = {x for x, y in zip(domain.points(), table, strict=True) if y}
        circuit = table_circuit(domain, table)
        obdd = obdd_of(circuit, code=code, backend=backend)
        assert obdd.backend == backend
        assert points(obdd.to_circuit()) == wanted
        assert obdd.count() == len(wanted)
        assert obdd.probability() == weighed(circuit.grid, wanted)
        assert models(obdd) == codes_of(obdd, wanted)
        assert domain is not BITS or obdd.size == circuit.size


def brute_size(obdd: Obdd, wanted: set[tuple[int, ...]]) -> tuple[int, int]:
    """Return nodes and edges by definition: the distinct subfunctions that depend on their first bit."""
    n, ones = len(obdd.bits), codes_of(obdd, wanted)
    nodes, edges = 0, 0
    for k in range(n):
        halves = {
            tuple(frozenset(x[k + 1 :] for x in ones if x[: k + 1] == (*prefix, b)) for b in (0, 1))
            for prefix in product((0, 1), repeat=k)
        }
        different = [h for h in halves if h[0] != h[1]]
        nodes += len(different)
        edges += sum(bool(a) + bool(b) for a, b in different)
    return nodes, edges


@pytest.mark.parametrize("code", CODES)
def test_sizes_by_definition_and_in_both_backends(code: str) -> None:
    for table in tables(THREE_BY_TWO):
        circuit = table_circuit(THREE_BY_TWO, table)
        sizes = [obdd_of(circuit, code=code, order=[1, 0], backend=backend) for backend in BACKENDS]
        wanted = {x for x, y in zip(THREE_BY_TWO.points(), table, strict=True) if y}
        for obdd in sizes:
            assert (obdd.size.nodes, obdd.size.edges) == brute_size(obdd, wanted)


@given(st.one_of(table_cases(), tree_cases()), codes, backends, st.data())
@settings(max_examples=200, deadline=None)
def test_random_tables_and_trees(case: Case, code: str, backend: str, data: st.DataObject) -> None:
    circuit = case.problem.circuit
    n = len(circuit.grid.axes)
    order = data.draw(st.none() | st.permutations(range(n)))
    obdd = obdd_of(circuit, code=code, order=order, backend=backend)
    wanted = points(circuit)
    assert points(obdd.to_circuit()) == wanted
    assert obdd.probability() == weighed(circuit.grid, wanted)
    if all(axis.counts for axis in circuit.grid.axes):
        expected = sum(prod(a.counts[c] for a, c in zip(circuit.grid.axes, x, strict=True)) for x in wanted)
        assert obdd.count() == expected


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("n_cells", range(1, 18))
def test_every_cell_has_a_code_of_its_own_and_all_codes_are_models(code: str, n_cells: int) -> None:
    build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 1, n_cells)])))
    for cells in [range(n_cells), range(0, n_cells, 2), range(1, n_cells - 1)]:
        obdd = obdd_of(build.circuit(build.literal(0, cells)), code=code)
        assert models(obdd) == codes_of(obdd, {(c,) for c in cells})
        assert obdd.count() == len(models(obdd)) == len(cells)


def test_the_length_of_codes() -> None:
    for n in range(1, 40):
        grid = Grid.of_values(Domain([Integer("a", 1, n)]))
        lengths = [len(bits_of(grid, 0, code=code)) for code in ("order", "binary", "direct")]
        assert lengths == [n - 1, (n - 1).bit_length(), n if n > 2 else n - 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_majority_of_220_bits_is_counted_exactly(backend: str) -> None:
    n = 220
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[-n // 2], rule=Positive((0, 1)))
    obdd = obdd_of(compile_linear(model, lambda y: y == 1), backend=backend)
    exact = sum(comb(n, k) for k in range(n // 2 + 1, n + 1))
    assert exact > 2**200
    assert obdd.count() == exact
    assert obdd.probability() == Fraction(exact, 2**n)
    assert obdd.size == obdd.to_circuit().size


@needs_cudd
@pytest.mark.parametrize("code", CODES)
def test_sums_of_60_dice_are_counted_exactly(code: str) -> None:
    """At least 211 pips on 60 dice, against the coefficients of (x + ... + x^6)^60."""
    n = 60
    ways = [1]
    for _ in range(n):
        ways = [sum(ways[max(0, s - 5) : s + 1]) for s in range(len(ways) + 5)]
    domain = Domain([Integer(f"d{i}", 1, 6) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[-210], rule=Positive((0, 1)))
    obdd = obdd_of(compile_linear(model, lambda y: y == 1), code=code, backend="cudd")
    assert sum(ways) == 6**n
    assert obdd.count() == sum(ways[211 - n :]) > 2**150


@st.composite
def discrete_linear_models(draw: st.DrawFn) -> LinearModel:
    domain = draw(domains(finite=True, max_features=5))
    rows = [[draw(st.integers(-4, 4)) for _ in range(f.size)] for f in domain.features]
    parts = [Lookup((tuple(map(Fraction, row)),)) for row in rows]
    return LinearModel.of(domain, parts, base=[Fraction(draw(st.integers(-3, 3)), 2)], rule=Positive((0, 1)))


@given(discrete_linear_models(), codes, backends)
@settings(max_examples=150, deadline=None)
def test_linear_models_directly_as_circuit_and_as_obdd(model: LinearModel, code: str, backend: str) -> None:
    circuit = compile_linear(model, lambda y: y == 1)
    rows = [part.rows[0] for part in model.parts]
    direct = sum(model.base[0] + sum(choice) > 0 for choice in product(*rows))
    assert obdd_of(circuit, code=code, backend=backend).count() == queries.count(circuit) == direct


def test_the_circuits_own_order_is_kept() -> None:
    """Swings grow with the number, so the compiler tests the last feature first."""
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(8)])
    model = LinearModel.of_columns(domain, [[2**i + 3 for i in range(8)]], intercepts=[-150], rule=Positive((0, 1)))
    circuit = compile_linear(model, lambda y: y == 1)
    obdd = obdd_of(circuit)
    assert [bit.feature for bit in obdd.bits] == list(reversed(range(8)))
    assert obdd.size == circuit.size


def test_a_circuit_without_an_order_takes_the_domains() -> None:
    build = CircuitBuilder(Grid.of_values(BITS))
    a, b = build.literal(1, [1]), build.literal(2, [0])
    root = build.decision(0, [([0], build.decision(2, [([1], a)])), ([1], build.decision(1, [([0], b)]))])
    obdd = obdd_of(build.circuit(root))
    assert [bit.feature for bit in obdd.bits] == [0, 1, 2]
    assert points(obdd.to_circuit()) == {(0, 1, 1), (1, 0, 0)}


def test_disjunctions_need_not_exclude_each_other() -> None:
    build = CircuitBuilder(Grid.of_values(BITS))
    either = build.circuit(build.disjunction([build.literal(i, [1]) for i in range(3)]))
    assert obdd_of(either).count() == 7


def test_cells_weigh_their_values_and_real_features_have_no_count() -> None:
    domain = Domain([Integer("age", 18, 90), Real("bmi", 10, 50)])
    build = CircuitBuilder(
        Grid.of(domain, [[Cut(29.5, closed=True), Cut(60.0, closed=True)], [Cut(20.0, closed=True)]])
    )
    young = build.literal(0, [0])
    real = obdd_of(build.circuit(build.conjunction([young, build.literal(1, [0])])))
    assert real.probability() == Fraction(12, 73) * Fraction(1, 4)
    with pytest.raises(CircuitError, match="'bmi' is real"):
        real.count()
    only_age = CircuitBuilder(Grid.of(Domain([domain.features[0]]), [[Cut(29.5, closed=True), Cut(60.0, closed=True)]]))
    assert obdd_of(only_age.circuit(only_age.literal(0, [0, 2]))).count() == 12 + 30


def test_reordering_dd_afterwards_changes_nothing_here() -> None:
    circuit = table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
    obdd = obdd_of(circuit, code="direct", backend="python")
    size = obdd.size
    obdd.root.bdd.reorder({bit.name: k for k, bit in enumerate(reversed(obdd.bits))})
    assert (obdd.size, obdd.count()) == (size, 3)


@needs_cudd
def test_many_nodes_are_joined_without_reordering() -> None:
    """CUDD would sift from 4,004 nodes on and tear features apart; 12 pairs of far-off features are above that."""
    n = 12
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(2 * n)])
    build = CircuitBuilder(Grid.of_values(domain))
    pairs = [build.conjunction([build.literal(i, [1]), build.literal(n + i, [1])]) for i in range(n)]
    obdd = obdd_of(build.circuit(build.disjunction(pairs)), backend="cudd")
    assert obdd.size.nodes == 2 ** (n + 1) - 2
    assert obdd.count() == 4**n - 3**n


@needs_cudd
def test_a_chain_too_deep_for_python_is_refused_in_one_sentence() -> None:
    domain = Domain([Integer(f"x{i}", 0, 2) for i in range(800)])
    build = CircuitBuilder(Grid.of_values(domain))
    node = build.true
    for i in reversed(range(800)):
        node = build.decision(i, [([0, 2], node)])
    circuit = build.circuit(node)
    assert obdd_of(circuit, backend="cudd").count() == 2**800
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # as Python has it; ProbLog raises it when it is imported
    try:
        with pytest.raises(CircuitError, match="did not get through 1600 bits; use backend='cudd'"):
            obdd_of(circuit, backend="python")
    finally:
        sys.setrecursionlimit(limit)
    gc.collect()


def test_too_many_bits_are_refused() -> None:
    build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 12_000)])))
    circuit = build.circuit(build.literal(0, range(5, 700)))
    with pytest.raises(CircuitError, match="may have 10000 bits, but the code 'order' needs 12000; take"):
        obdd_of(circuit)
    assert obdd_of(circuit, code="binary").count() == 695


def test_unknown_options() -> None:
    circuit = table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
    with pytest.raises(CircuitError, match="code must be one of 'order', 'binary', 'direct', but 'gray' was given"):
        obdd_of(circuit, code="gray")
    with pytest.raises(CircuitError, match="backend must be 'cudd', 'python' or None, but 'sylvan' was given"):
        obdd_of(circuit, backend="sylvan")
    for order in ([0], [0, 0], [1, 2], [0, 1, 2]):
        with pytest.raises(CircuitError, match=r"each feature number from 0 to 1 once, but \[.*\] was given"):
            obdd_of(circuit, order=order)


@needs_cudd
def test_without_cudd_the_result_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
    assert obdd_of(circuit).backend == "cudd"
    monkeypatch.setitem(sys.modules, "dd.cudd", None)
    assert obdd_of(circuit).backend == "python"
    with pytest.raises(MissingExtraError, match=r"'cudd' needs dd\.cudd, which is not installed.*backend='python'"):
        obdd_of(circuit, backend="cudd")


@pytest.mark.parametrize("backend", BACKENDS)
def test_managers_and_nodes_go_in_the_right_order(backend: str) -> None:
    """Neither cycles nor the end of the process makes dd complain about living nodes."""
    program = f"""
import gc
from axfi_kc.circuits.targets import obdd_of
from tests.contract.test_obdd import THREE_BY_TWO, table_circuit
circuit = table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
for _ in range(50):
    cycle = [obdd_of(circuit, backend={backend!r})]
    cycle.append(cycle)
del cycle
gc.collect()
kept = obdd_of(circuit, backend={backend!r})
ring = [obdd_of(circuit, backend={backend!r})]
ring.append(ring)
print(kept.count())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@needs_cudd
def test_budgets_of_operations_seconds_and_memory() -> None:
    n = 20
    build = CircuitBuilder(Grid.of_values(Domain([Integer(f"x{i}", 0, 1) for i in range(2 * n)])))
    pairs = [build.conjunction([build.literal(i, [1]), build.literal(n + i, [1])]) for i in range(n)]
    circuit = build.circuit(build.disjunction(pairs))
    with pytest.raises(BudgetError, match=r"spent after 11 nodes .* and the OBDD is not finished"):
        obdd_of(circuit, budget=Budget(nodes=10))
    with pytest.raises(BudgetError, match=r"CUDD reached its limit of memory, .*; allow more max_memory"):
        obdd_of(circuit, backend="cudd", max_memory=30 * 2**20)
    with pytest.raises(CircuitError, match="A limit of memory is CUDD's"):
        obdd_of(circuit, backend="python", max_memory=2**20)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_budget_that_is_spent_leaves_no_living_nodes(backend: str) -> None:
    circuit = table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1))
    kept = obdd_of(circuit, backend=backend)
    for beside in (None, kept):
        with pytest.raises(BudgetError):
            obdd_of(circuit, backend=backend, beside=beside, budget=Budget(nodes=1))
    gc.collect()
    assert kept.negate().count() == 3


def test_operations_are_refused_after_reordering() -> None:
    obdd = obdd_of(table_circuit(THREE_BY_TWO, (0, 1, 1, 0, 0, 1)), code="direct", backend="python")
    obdd.root.bdd.reorder({bit.name: k for k, bit in enumerate(reversed(obdd.bits))})
    with pytest.raises(CircuitError, match="manager was reordered since; make the diagram again"):
        obdd.negate()
    with pytest.raises(CircuitError, match="beside one over the same cells"):
        obdd_of(table_circuit(BITS, (0, 1, 1, 0, 0, 1, 0, 1)), beside=obdd)


@given(tree_cases(), codes, backends)
@settings(max_examples=40, deadline=None)
def test_sifting_keeps_the_points_and_never_enlarges(case: Case, code: str, backend: str) -> None:
    circuit = case.problem.circuit
    plain, sifted = (obdd_of(circuit, code=code, backend=backend, sift=sift) for sift in (False, True))
    assert points(sifted.to_circuit()) == points(circuit)
    assert sifted.size.nodes <= plain.size.nodes
