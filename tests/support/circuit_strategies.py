"""Random circuits over small multi-valued domains, and their truth by plain recursion over points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import settings
from hypothesis import strategies as st

from axfi_kc import Domain, Integer
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, CircuitBuilder
from axfi_kc.domain.grid import Grid
from tests.support.strategies import positive_weights

MODEST = settings(max_examples=60, deadline=None)


@st.composite
def grids(draw: st.DrawFn, *, max_features: int = 4) -> Grid:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_features))
    return Grid.of_values(
        Domain([Integer(f"f{i}", 0, n - 1, weights=draw(st.none() | positive_weights(n))) for i, n in enumerate(sizes)])
    )


def points(grid: Grid) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(n) for n in grid.n_cells)))


def truth(circuit: Circuit, x: Sequence[int]) -> bool:
    """Return the truth at a point, from the definition of the nodes."""
    found: list[bool] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        if kind == DECISION:
            found.append(any(found[c] for cells, c in arcs if x[circuit.features[node]] in cells))
        elif kind == AND:
            found.append(all(found[c] for _, c in arcs))
        elif kind == OR:
            found.append(any(found[c] for _, c in arcs))
        else:
            found.append(bool(kind))
    return found[-1]


def satisfying(circuit: Circuit) -> list[tuple[int, ...]]:
    return [x for x in points(circuit.grid) if truth(circuit, x)]


@st.composite
def circuits(draw: st.DrawFn, *, grid: Grid | None = None, decomposable: bool = True, max_nodes: int = 12) -> Circuit:
    """Draw gates over random nodes; decomposable ones join only disjoint scopes. Rarely deterministic."""
    grid = grid or draw(grids())
    build = CircuitBuilder(grid)
    scope = {build.true: frozenset[int](), build.false: frozenset[int]()}
    nodes = [build.true, build.false]
    for _ in range(draw(st.integers(1, max_nodes))):
        kind = draw(st.sampled_from([DECISION, DECISION, AND, OR]))
        if kind == DECISION:
            i = draw(st.integers(0, len(grid.n_cells) - 1))
            fit = [n for n in nodes if not decomposable or i not in scope[n]]
            chosen = [draw(st.sampled_from(fit)) for _ in range(grid.n_cells[i])]
            made, below = build.decision(i, [([c], n) for c, n in enumerate(chosen)]), {i}
        else:
            chosen = []
            for n in draw(st.lists(st.sampled_from(nodes), min_size=2, max_size=3)):
                if kind == OR or not decomposable or not any(scope[n] & scope[m] for m in chosen):
                    chosen.append(n)
            made, below = (build.conjunction if kind == AND else build.disjunction)(chosen), set()
        scope[made] = scope.get(made, frozenset(below).union(*(scope[n] for n in chosen)))
        nodes.append(made)
    return build.circuit(nodes[-1])


@st.composite
def deterministic_circuits(draw: st.DrawFn) -> Circuit:
    """Draw a d-DNNF: decisions, disjunctions of parts that a literal separates, conjunctions of disjoint scopes."""
    grid = draw(grids())
    build = CircuitBuilder(grid)

    def part(free: tuple[int, ...], depth: int) -> int:
        if not free or not depth:
            return draw(st.sampled_from([build.true, build.true, build.false]))
        kind = draw(st.sampled_from(["decision", "or", "and", "true"]))
        i, rest = free[0], free[1:]
        if kind == "decision":
            return build.decision(i, [([c], part(rest, depth - 1)) for c in range(grid.n_cells[i])])
        if kind == "or":
            cut = draw(st.integers(0, grid.n_cells[i]))
            cells = (range(cut), range(cut, grid.n_cells[i]))
            return build.disjunction(
                build.conjunction([build.literal(i, some), part(rest, depth - 1)]) for some in cells
            )
        if kind == "and":
            cut = draw(st.integers(0, len(free)))
            return build.conjunction([part(free[:cut], depth - 1), part(free[cut:], depth - 1)])
        return build.true

    order = tuple(draw(st.permutations(range(len(grid.n_cells)))))
    return build.circuit(part(order, 4))


@st.composite
def ordered_diagrams(draw: st.DrawFn, grid: Grid, order: Sequence[int], *, max_nodes: int = 8) -> Circuit:
    """Draw a decision diagram that respects `order`."""
    build = CircuitBuilder(grid)
    nodes = [build.false, build.true]
    for i in reversed(order):
        fresh = []
        for _ in range(draw(st.integers(0, max_nodes // len(order) + 1))):
            chosen = [draw(st.sampled_from(nodes)) for _ in range(grid.n_cells[i])]
            fresh.append(build.decision(i, [([c], n) for c, n in enumerate(chosen)]))
        nodes += fresh
    return build.circuit(nodes[-1])


def node_truth(circuit, node, x):
    made = []
    for k in range(node + 1):
        kind, arcs = int(circuit.kinds[k]), [(cells, made[c]) for cells, c in circuit.arcs(k)]
        if circuit.features[k] >= 0:
            made.append(any(t for cells, t in arcs if x[circuit.features[k]] in cells))
        else:
            made.append([False, True, None, all(t for _, t in arcs), any(t for _, t in arcs)][kind])
    return made[node]


def overlapping(circuit):
    """Return the disjunctions with two children that hold at one point."""
    found = set()
    for node in range(len(circuit.kinds)):
        if circuit.kinds[node] == OR:
            for x in points(circuit.grid):
                if sum(node_truth(circuit, c, x) for _, c in circuit.arcs(node)) > 1:
                    found.add(node)
    return found
