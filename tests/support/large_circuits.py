"""Circuits of any size whose counts are known by other means, for tests and benchmarks of queries."""

from __future__ import annotations

import random
from dataclasses import replace

from axfi_kc import Domain, Integer
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.domain.grid import Axis, Grid


def boolean_grid(n: int, *, values: int = 2) -> Grid:
    """Return n features with the same values; the axis is cut once, because a million of them take a while."""
    domain = Domain([Integer(f"x{i}", 0, values - 1) for i in range(n)])
    axis = Axis.of_values(domain.features[0])
    return Grid(domain, tuple(replace(axis, feature=feature) for feature in domain.features))


def deterministic_dag(n_nodes: int, *, n_features: int = 1000, seed: int = 1) -> Circuit:
    """Return a smooth d-DNNF of about so many nodes.

    In layer k stand functions of the features 2k and 2k + 1 and all below; each is a disjunction of two
    conjunctions whose literals on feature 2k exclude each other, with decisions on 2k + 1 below them.
    """
    rng = random.Random(seed)
    build = CircuitBuilder(boolean_grid(n_features))
    width = max(2, n_nodes // (n_features // 2) // 5)
    below = [build.literal(n_features - 1, [c]) for c in (0, 1)]
    for i in range(n_features - 3, 0, -2):
        zero, one = build.literal(i, [0]), build.literal(i, [1])
        layer = []
        for _ in range(width):
            a, b, c, d = (rng.choice(below) for _ in range(4))
            left = build.decision(i + 1, [([0], a), ([1], b)])
            right = build.decision(i + 1, [([0], c), ([1], d)])
            layer.append(build.disjunction([build.conjunction([zero, left]), build.conjunction([one, right])]))
        below = layer
    zero, one = build.literal(0, [0]), build.literal(0, [1])
    return build.circuit(build.disjunction([build.conjunction([zero, below[0]]), build.conjunction([one, below[1]])]))


def conjunction_chain(n_features: int) -> Circuit:
    """Return a conjunction of literals as a chain: one model."""
    build = CircuitBuilder(boolean_grid(n_features))
    node = build.true
    for i in range(n_features):
        node = build.conjunction([build.literal(i, [i % 2]), node])
    return build.circuit(node)


def layered_diagram(n_nodes: int, *, n_features: int = 1000, seed: int = 2) -> Circuit:
    """Return an ordered diagram of about so many nodes over features of three values, two or three arcs each."""
    rng = random.Random(seed)
    build = CircuitBuilder(boolean_grid(n_features, values=3))
    width = max(3, n_nodes // n_features)
    below = [build.true]
    for i in range(n_features - 1, 0, -1):
        layer = []
        for _ in range(width):
            a, b, c = rng.choice(below), rng.choice(below), rng.choice([build.false, *below[:2]])
            layer.append(build.decision(i, [([0], a), ([1], b), ([2], c)]))
        below = layer
    return build.circuit(build.decision(0, [([k], below[k]) for k in range(3)]))
