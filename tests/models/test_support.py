"""The possible points of a grid, and how forms of models keep to them, against a listing of all cells."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.queries import evaluate
from axfi_kc.domain.constraints import at_most_one, check, feature
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import DomainError
from axfi_kc.models import Boxes, TableModel, TreeSum, boxes_of
from axfi_kc.models import support as support_module
from axfi_kc.models.restriction import code_inside, restricted
from axfi_kc.models.support import Support, penalised, possible_boxes, possible_share, support_of
from axfi_kc.models.tree_sum import Margins
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import Truth


def constrained_models(kind: str, number: int) -> Iterator[tuple[Truth, ax.read_model, Support]]:
    rng = Random(f"support {kind}")
    for _ in range(number):
        truth = random_constrained(rng, kind, n_instances=4)
        model = restricted(truth.model, truth.domain)
        support = support_of(model.grid)
        assert support is not None
        yield truth, model, support


def cells_of(grid: Grid) -> list[tuple[int, ...]]:
    return list(product(*map(range, grid.n_cells)))


def possible_cells(grid: Grid) -> set[tuple[int, ...]]:
    """Return the vectors of cells that meet the constraints, asked point by point."""
    domain = grid.domain
    inside = [[code_inside(axis, c) for c in range(axis.n_cells)] for axis in grid.axes]
    return {
        cells
        for cells in cells_of(grid)
        if all(c.holds([inside[i][k] for i, k in enumerate(cells)], domain) for c in domain.constraints)
    }


def test_diagram_circuit_and_boxes_are_the_possible_cells() -> None:
    for _, model, support in constrained_models("circuit", 40):
        possible = possible_cells(model.grid)
        boxes = list(support.boxes())
        for cells in cells_of(model.grid):
            assert support.holds(cells) == (cells in possible)
            assert evaluate(support.circuit, cells) == (cells in possible)
            # In exactly one box: they are disjoint.
            assert sum(all(cells[i] in own for i, own in box.items()) for box in boxes) == (cells in possible)


def test_shares_are_probabilities_of_possible_points() -> None:
    rng = Random("shares")
    for truth, model, support in constrained_models("table", 30):
        for v in truth.instances:
            cells = model.grid.locate(
                truth.domain.encode([dict(zip(truth.domain.names, truth.point(v), strict=True))])
            )[0]
            free = rng.randrange(1 << len(v))
            members = [i for i in range(len(v)) if free >> i & 1]
            box = [p for p, _ in truth.existing if all(p[i] == v[i] for i in range(len(v)) if not free >> i & 1)]
            worth = sum(prod(truth.worths[i][p[i]] for i in members) for p in box)
            expected = Fraction(worth, prod(truth.wholes[i] for i in members))
            assert support.share(cells.tolist(), free) == support.share(cells.tolist(), free) == expected


def test_boxes_of_a_tree_are_cut_to_possible_ones() -> None:
    for truth, model, support in constrained_models("tree", 30):
        possible, whole = possible_cells(model.grid), boxes_of(model)
        cut = possible_boxes(whole, support)
        outputs = dict(zip(cells_of(model.grid), model.decide(np.array(cells_of(model.grid))), strict=True))
        for cells in cells_of(model.grid):
            hit = [
                k for k in range(len(cut)) if not any(cut.misses(i, np.array([c]))[0, k] for i, c in enumerate(cells))
            ]
            assert [cut.outputs[cut.output[k]] for k in hit] == ([outputs[cells]] if cells in possible else [])
        assert truth.possible is not None


def sums_at(model: TreeSum, margins: Margins, cells: tuple[int, ...]) -> list[int]:
    """Return the margins at a point, by walking down every tree."""
    total = [int(b) for b in margins.base]
    for node in model.tree_offset[:-1].tolist():
        while model.leaf[node] < 0:
            goes_left = model.left_mask[model.mask_offset[node] + cells[model.feature[node]]]
            node = int((model.left if goes_left else model.right)[node])
        total = [a + int(b) for a, b in zip(total, margins.values[model.leaf[node]], strict=True)]
    return total


def test_penalties_leave_sums_alone_where_possible_and_make_them_negative_elsewhere() -> None:
    for truth, model, support in constrained_models("ensemble", 30):
        output = truth.existing[0][1]
        margins = Margins.of(model, output, truth.delta)
        wider, penalty = penalised(model, margins, support)
        assert wider.n_trees == penalty.n_trees > model.n_trees
        for cells in cells_of(model.grid):
            before, after = sums_at(model, margins, cells), sums_at(wider, penalty, cells)
            if support.holds(cells):
                assert after == before
            else:
                assert max(after) <= 0


def test_without_constraints_there_is_nothing_to_keep_to() -> None:
    grid = Grid.of_values(ax.Domain([ax.Integer("a", 0, 2)]))
    assert support_of(grid) is None
    assert possible_share(grid) == 1
    boxes = boxes_of(TableModel.from_outputs(grid.domain, [0, 1, 0]))
    assert isinstance(boxes, Boxes)
    assert possible_boxes(boxes, None) is boxes


DOMAIN = ax.Domain([ax.Integer(name, 0, 9) for name in "abc"])


def test_what_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = DOMAIN.where(
        check(lambda *p: sum(p) % 3 == 0, list("abc")), at_most_one(feature("a") == 1, feature("b") == 1)
    )
    grid = Grid.of_values(domain)
    monkeypatch.setattr(support_module, "_MOST_COMBINATIONS", 999)
    with pytest.raises(DomainError, match="1000 combinations of values, more than 999"):
        support_of(grid)
    monkeypatch.undo()
    support = support_of(grid)
    assert support is not None
    boxes = boxes_of(restricted(TableModel.from_function(DOMAIN, lambda p: p[0] > 4), domain))
    monkeypatch.setattr(support_module, "_MOST_BOXES", 5)
    with pytest.raises(DomainError, match=r"into more than 5; explain through target='mdd'"):
        possible_boxes(boxes, support)
    monkeypatch.setattr(support_module, "_MOST_LEAVES", 3)
    with pytest.raises(DomainError, match="too large a tree"):
        support_module._penalty_trees(support, support.roots[0])


def test_a_contradiction_names_both_sides() -> None:
    grid = Grid.of_values(DOMAIN.where(feature("a") < 3, feature("b") > feature("a"), feature("b") < 1))
    with pytest.raises(DomainError, match="b < 1 cannot hold together with a < 3; b > a; leave one out"):
        support_of(grid)
