"""Random circuits, their truth tables, and the models of files, in plain Python."""

from __future__ import annotations

import random
from itertools import product

from axfi_kc import Categorical, Domain, Integer
from axfi_kc.circuits.circuit import AND, DECISION, TRUE, Circuit, CircuitBuilder
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.domain.grid import Grid

Points = set[tuple[int, ...]]


def random_domain(rng: random.Random, *, most_cells: int = 4, most_features: int = 4) -> Domain:
    features: list[Categorical | Integer] = []
    for i in range(rng.randint(1, most_features)):
        n = rng.choice([1, 2, 2, 3, rng.randint(1, most_cells)])
        weights = [rng.randint(1, 5) for _ in range(n)] if rng.random() < 0.5 else None
        if rng.random() < 0.5:
            features.append(Categorical(f"f{i}", [f"v{k}" for k in range(n)], weights=weights))
        else:
            features.append(Integer(f"f{i}", -1, n - 2, weights=weights))
    return Domain(features)


def random_circuit(rng: random.Random, domain: Domain, *, decomposable: bool = True) -> Circuit:
    build = CircuitBuilder(Grid.of_values(domain))
    make = _deterministic if decomposable else _any
    return build.circuit(make(rng, build, list(range(len(domain))), 4))


def _deterministic(rng: random.Random, build: CircuitBuilder, features: list[int], depth: int) -> int:
    if not features or depth == 0 or rng.random() < 0.1:
        return build.true if rng.random() < 0.7 else build.false
    f = rng.choice(features)
    rest = [i for i in features if i != f]
    n = build._grid.n_cells[f]
    groups: list[list[int]] = [[] for _ in range(rng.randint(1, n))]
    for c in range(n):
        if rng.random() < 0.9:
            rng.choice(groups).append(c)
    groups = [g for g in groups if g]
    kind = rng.choice(["decision", "decision", "and", "or"])
    if kind == "and":
        left = [i for i in features if rng.random() < 0.5]
        right = [i for i in features if i not in left]
        return build.conjunction(_deterministic(rng, build, part, depth - 1) for part in (left, right))
    ends = [_deterministic(rng, build, [i for i in rest if rng.random() < 0.8], depth - 1) for _ in groups]
    if kind == "decision":
        return build.decision(f, zip(groups, ends, strict=True))
    parts = [build.conjunction([build.literal(f, g), end]) for g, end in zip(groups, ends, strict=True)]
    return build.disjunction(parts)


def _any(rng: random.Random, build: CircuitBuilder, features: list[int], depth: int) -> int:
    if depth == 0 or rng.random() < 0.15:
        f = rng.choice(features)
        return build.literal(f, [c for c in range(build._grid.n_cells[f]) if rng.random() < 0.5])
    parts = [_any(rng, build, features, depth - 1) for _ in range(rng.randint(2, 3))]
    return rng.choice([build.conjunction, build.disjunction])(parts)


def holds(circuit: Circuit, cells: tuple[int, ...]) -> bool:
    found: list[bool] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        arcs = circuit.arcs(node)
        if kind == DECISION:
            found.append(any(found[c] for label, c in arcs if cells[circuit.features[node]] in label))
        elif kind == AND:
            found.append(all(found[c] for _, c in arcs))
        else:
            found.append(kind == TRUE or any(found[c] for _, c in arcs))
    return found[-1]


def points_of(circuit: Circuit) -> Points:
    return {p for p in product(*map(range, circuit.grid.n_cells)) if holds(circuit, p)}


def code_of(variables: Variables, cells: tuple[int, ...]) -> tuple[bool, ...]:
    return tuple(cells[bit.feature] in bit.cells for bit in variables.bits if bit is not None)


def codes_of(circuit: Circuit, code: str) -> set[tuple[bool, ...]]:
    variables = Variables.of_code(circuit.grid, code=code)
    return {code_of(variables, p) for p in points_of(circuit)}


def c2d_nodes(text: str) -> tuple[int, list[tuple[str, list[int]]]]:
    """Return the variables and the nodes of a file, trusting it."""
    lines = [line.split() for line in text.splitlines() if not line.startswith("c")]
    nodes = [(w[0], [int(k) for k in w[{"L": 1, "A": 2, "O": 3}[w[0]] :]]) for w in lines[1:]]
    return int(lines[0][3]), nodes


def c2d_holds(nodes: list[tuple[str, list[int]]], bits: tuple[bool, ...]) -> bool:
    found: list[bool] = []
    for kind, parts in nodes:
        if kind == "L":
            found.append(bits[abs(parts[0]) - 1] == (parts[0] > 0))
        else:
            found.append((all if kind == "A" else any)(found[p] for p in parts))
    return found[-1]


def c2d_models(text: str) -> set[tuple[bool, ...]]:
    n, nodes = c2d_nodes(text)
    return {bits for bits in product([False, True], repeat=n) if c2d_holds(nodes, bits)}


def c2d_count(text: str) -> int:
    """Count as a d-DNNF counter does, so that a file that is not one is counted wrongly."""
    n, nodes = c2d_nodes(text)
    scopes: list[set[int]] = []
    counts: list[int] = []
    for kind, parts in nodes:
        if kind == "L":
            scopes.append({abs(parts[0])})
            counts.append(1)
            continue
        scope = set().union(*(scopes[p] for p in parts))
        if kind == "A":
            assert len(scope) == sum(len(scopes[p]) for p in parts), "a conjunction is not decomposable"
            value = 1
            for p in parts:
                value *= counts[p]
        else:
            value = sum(counts[p] << len(scope - scopes[p]) for p in parts)
        scopes.append(scope)
        counts.append(value)
    return counts[-1] << (n - len(scopes[-1]))
