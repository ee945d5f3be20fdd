"""Deterministic decomposable circuits: never trusted without proof, never larger, smooth on demand."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import DECISION, OR, Circuit, CircuitBuilder
from axfi_kc.circuits.targets import ddnnf_of, mdd_of, sdd_of
from axfi_kc.domain.grid import Grid
from tests.support.circuits import any_circuits, counted, points, weighed


def parts_of(circuit: Circuit, node: int) -> Circuit:
    """Return the circuit below a node."""
    build, made = CircuitBuilder(circuit.grid), list[int]()
    for k, kind in enumerate(circuit.kinds.tolist()[: node + 1]):
        arcs = [(cells, made[child]) for cells, child in circuit.arcs(k)]
        if kind == DECISION:
            made.append(build.decision(int(circuit.features[k]), arcs))
        elif kind > DECISION:
            made.append((build.disjunction if kind == OR else build.conjunction)([child for _, child in arcs]))
        else:
            made.append(kind)
    return build.circuit(made[node])


def is_deterministic(circuit: Circuit) -> bool:
    """Tell by brute force whether the parts of every disjunction exclude each other."""
    gates = [node for node, kind in enumerate(circuit.kinds.tolist()) if kind == OR]
    return not any(
        points(parts_of(circuit, a)) & points(parts_of(circuit, b))
        for node in gates
        for (_, a), (_, b) in combinations(circuit.arcs(node), 2)
    )


def is_smooth(circuit: Circuit) -> bool:
    scope = queries.scopes(circuit)
    return all(
        len({scope[child] for _, child in circuit.arcs(node)}) <= 1
        for node, kind in enumerate(circuit.kinds.tolist())
        if kind in (DECISION, OR)
    )


@given(any_circuits(), st.booleans(), st.sampled_from(["as it is", "mdd", "sdd"]))
@settings(max_examples=150, deadline=None)
def test_any_circuit(circuit: Circuit, smooth: bool, way: str) -> None:
    wanted = points(circuit)
    if way == "mdd":
        circuit = mdd_of(circuit).circuit
    elif way == "sdd":
        circuit = sdd_of(circuit, vtree="balanced").to_circuit()
    made = ddnnf_of(circuit, smooth=smooth, deterministic=way == "sdd")
    assert points(made.circuit) == wanted
    assert queries.is_decomposable(made.circuit)
    assert is_deterministic(made.circuit)
    assert (made.count(), made.probability()) == (counted(made.grid, wanted), weighed(made.grid, wanted))
    assert way == "as it is" or not made.converted
    if smooth:
        assert is_smooth(made.circuit)
    elif not made.converted:
        assert made.size.nodes <= circuit.size.nodes


def test_overlapping_parts_are_noticed_and_disjoint_ones_kept() -> None:
    build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 2) for name in "abc"])))
    a, b, c = (build.literal(i, [0, 1]) for i in range(3))
    apart = build.disjunction([build.conjunction([a, b]), build.conjunction([build.literal(0, [2]), c])])
    assert not ddnnf_of(build.circuit(apart)).converted
    assert ddnnf_of(build.circuit(build.disjunction([a, b]))).converted
    twice = build.conjunction([build.disjunction([a, b]), build.disjunction([b, c])])
    found = ddnnf_of(build.circuit(twice))
    assert found.converted
    assert found.count() == sum(
        (x < 2 or y < 2) and (y < 2 or z < 2) for x in range(3) for y in range(3) for z in range(3)
    )


def test_chains_become_one_conjunction() -> None:
    """Two long branches with a common end: decisions in a row are literals of one conjunction."""
    n = 30
    build = CircuitBuilder(Grid.of_values(Domain([Integer(f"x{i}", 0, 1) for i in range(n)])))
    both = []
    for value in (0, 1):
        node = build.true
        for i in reversed(range(1, n)):
            node = build.decision(i, [([1 if i % 2 else value], node)])
        both.append(([value], node))
    circuit = build.circuit(build.decision(0, both))
    small = ddnnf_of(circuit)
    assert small.size.nodes < circuit.size.nodes
    assert small.count() == queries.count(circuit) == 2
