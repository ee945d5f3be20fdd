"""Nodes in flat arrays are those that are made one by one."""

from __future__ import annotations

import random
from functools import reduce

import numpy as np
import pytest

from axfi_kc import Budget, Domain, Integer
from axfi_kc.budget import NODES, STORE_FULL, Account
from axfi_kc.circuits import queries
from axfi_kc.circuits.queries.structure import is_reduced
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.circuits.targets.mdd_table import MddTable, metered
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import BudgetError


def pairs_of_nodes(rng: random.Random, width: int) -> tuple[MddTable, MddNodes, list[tuple[int, int]]]:
    """Return random nodes in both forms, and their numbers in each."""
    grid = Grid.of_values(Domain([Integer(f"x{i}", 0, rng.randint(0, 3)) for i in range(5)]))
    order = rng.sample(range(5), 5)
    table = MddTable(grid, order, account=Account(None, goal="diagram"))
    nodes = MddNodes(grid, order, spend=lambda _: None)
    found = [(0, 0), (1, 1)]
    for place in reversed(range(5)):
        rows = [[rng.choice(found) for _ in range(grid.n_cells[order[place]])] for _ in range(width)]
        flat = table.nodes(place, [[a for a, _ in row] for row in rows]).tolist()
        made = [nodes.node(place, range(1, len(row) + 1), [b for _, b in row]) for row in rows]
        found = list(dict.fromkeys([*found, *zip(flat, made, strict=True)]))
    return table, nodes, found


@pytest.mark.parametrize("width", [3, 30])
def test_nodes_unions_and_circuits(width: int) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        table, nodes, found = pairs_of_nodes(rng, width)
        assert len(table) == len(nodes.runs)
        chosen = rng.sample(found, min(len(found), rng.randint(1, 4)))
        union = table.union([a for a, _ in chosen])
        expected = reduce(nodes.disjoined, [b for _, b in chosen])
        for negated in (False, True):
            one, other = table.circuit(union, negated=negated), nodes.circuit(expected, negated=negated)
            assert one.size == other.size
            assert sorted(one.cell_sets) == sorted(other.cell_sets)
            assert is_reduced(one)
            assert queries.is_equivalent(one, other)


def test_unions_keep_to_budgets() -> None:
    rng = random.Random(0)
    table, _, found = pairs_of_nodes(rng, 200)
    tops = [a for a, _ in found[-3:]]
    table.account = Account(Budget(nodes=2), goal="diagram")
    with pytest.raises(BudgetError, match="diagram is not finished"):
        table.union(tops)


def test_what_was_searched_before_memory_ran_out_is_said() -> None:
    account, registers = Account(Budget(nodes=1000), goal="diagram", unit="sub-diagrams"), np.zeros(5, np.int64)

    def run() -> int:
        registers[NODES] += 41
        return STORE_FULL

    def no_room() -> None:
        raise account.error()

    with pytest.raises(BudgetError, match="41 sub-diagrams"):
        metered(registers, run, no_room, account)
