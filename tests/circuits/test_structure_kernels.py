"""Kernels that find which features lie below each node, against sets of Python."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest

from axfi_kc.circuits.circuit import AND, DECISION, OR
from axfi_kc.circuits.queries.structure_kernels import are_spans_apart, scope_numbers

# hashes wrap around, which NumPy says if the kernels run as Python
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered")
Nodes = list[tuple[int, int, list[int]]]  # kind, feature, children


def random_nodes(rng: Random, n_features: int, n_nodes: int) -> Nodes:
    """Return nodes that may or may not be decomposable; many share their scope."""
    nodes: Nodes = [(OR, -1, [])]
    for node in range(1, n_nodes):
        kind = rng.choice((DECISION, DECISION, AND, OR))
        below = [rng.randrange(max(0, node - 12), node) for _ in range(rng.randint(0, 3))]
        nodes.append((kind, rng.randrange(n_features) if kind == DECISION else -1, below))
    return nodes


def arrays(nodes: Nodes) -> tuple[Any, ...]:
    below = [child for *_, children in nodes for child in children]
    ends = np.cumsum([0, *(len(children) for *_, children in nodes)])
    kinds, features = (np.array([node[k] for node in nodes]) for k in (0, 1))
    return kinds.astype(np.uint8), features.astype(np.int32), ends.astype(np.int64), np.array(below, dtype=np.int32)


def scopes(nodes: Nodes) -> tuple[list[frozenset[int]], int]:
    """Return the features below each node, and the first node that meets one twice."""
    found: list[frozenset[int]] = []
    faulty = -1
    for node, (kind, feature, children) in enumerate(nodes):
        parts = [found[child] for child in children]
        twice = kind == AND and any(a & b for a, b in combinations(parts, 2))
        mine = frozenset().union(*parts)
        if kind == DECISION:
            twice = feature in mine
            mine |= {feature}
        if twice and faulty < 0:
            faulty = node
        found.append(mine)
    return found, faulty


def check(nodes: Nodes, n_features: int) -> None:
    numbers, faulty = scope_numbers(*arrays(nodes), n_features)
    expected, first = scopes(nodes)
    assert faulty == first
    pairs = set(zip(numbers.tolist(), expected, strict=True))
    assert len(pairs) == len({number for number, _ in pairs}) == len({scope for _, scope in pairs})
    assert all((number == 0) == (not scope) for number, scope in pairs)


@pytest.mark.parametrize("n_features", [1, 2, 63, 64, 65, 127, 128, 129, 200, 300, 513, 1000])
def test_equal_scopes_have_equal_numbers(n_features: int) -> None:
    rng = Random(n_features)
    for _ in range(12):
        check(random_nodes(rng, n_features, rng.randint(1, 40)), n_features)


def test_scopes_of_circuits_without_a_fault() -> None:
    """Chains that meet one more feature per node, and conjunctions of neighbours that share nothing."""
    chain: Nodes = [(DECISION, i, [i - 1] if i else []) for i in range(150)]
    check(chain, 150)
    pairs: Nodes = [(DECISION, i, []) for i in range(130)]
    pairs += [(AND, -1, [i, i + 65]) for i in range(65)]
    check(pairs, 130)
    check([*pairs, (AND, -1, [130, 131, 0])], 130)


def test_more_scopes_than_the_first_tables_hold() -> None:
    rng, features = Random(5), 90
    nodes: Nodes = [(DECISION, i, []) for i in range(features)]
    for _ in range(2_600):
        nodes.append((OR, -1, [*rng.sample(range(features), 2), rng.randrange(len(nodes))]))
    nodes += list(nodes)  # once more, when the tables have grown
    check(nodes, features)


def spans_apart(nodes: Nodes, places: list[int]) -> bool:
    spans: list[tuple[int, int]] = []
    for kind, feature, children in nodes:
        parts = [spans[child] for child in children]
        inside = sorted(part for part in parts if part[0] <= part[1])
        first, last = min((a for a, _ in inside), default=1), max((b for _, b in inside), default=0)
        if kind == AND and any(a[1] >= b[0] for a, b in combinations(inside, 2)):
            return False
        if kind == DECISION:
            own = places[feature]
            if first <= own <= last:
                return False
            first, last = (min(first, own), max(last, own)) if first <= last else (own, own)
        spans.append((first, last))
    return True


def ordered_nodes(rng: Random, n: int) -> Nodes:
    """Return nodes that mostly follow the order of the features, now and then not."""
    nodes: Nodes = [(DECISION, i, []) for i in range(n)]
    for _ in range(rng.randint(1, 4)):
        picked = sorted(rng.sample(range(len(nodes)), min(rng.randint(1, 3), len(nodes))))
        rng.shuffle(picked)
        kind = rng.choice((AND, AND, OR, DECISION))
        nodes.append((kind, rng.randrange(n) if kind == DECISION else -1, picked))
    return nodes


def test_spans_that_are_apart() -> None:
    rng, seen = Random(3), set()
    for _ in range(400):
        n = rng.randint(1, 7)
        nodes, places = ordered_nodes(rng, n), rng.sample(range(n), n)
        expected = spans_apart(nodes, places)
        assert are_spans_apart(*arrays(nodes), np.array(places)) == expected
        seen.add(expected)
    assert seen == {True, False}
