"""Leaves in limbs: added, carried and compared with zero; and tests as thresholds and tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.engines.ensemble.bound_kernels import exceeds
from axfi_kc.engines.ensemble.search import LIMB, _left_cells, _plus
from axfi_kc.models import Positive, TreeNodes, TreeSum

_exceeds = getattr(exceeds, "py_func", exceeds)  # compiled code can call it, and nobody else


def test_sums_of_limbs_are_compared_with_zero() -> None:
    rng, unit = Random(8), 1 << 52
    small: list[Any] = [0, 1, unit - 1, unit >> 1]
    for _ in range(2000):
        limbs, n = rng.choice((2, 3)), rng.randint(1, 4)
        value = [[rng.randint(-2, 2), *(rng.choice(small) for _ in range(limbs - 1))] for _ in range(n)]
        base = [rng.randint(-4, 2), *(rng.choice(small) for _ in range(limbs - 1))]
        first = rng.randrange(n)
        total = base[0] + sum(row[0] for row in value[first:])
        exact = sum(Fraction(x, unit**k) for row in (base, *value[first:]) for k, x in enumerate(row))
        leaf = np.arange(n, dtype=np.int32)[np.newaxis]
        arrays = np.array(value, dtype=np.int64), np.array([base], dtype=np.int64)
        assert _exceeds(*arrays, 0, np.int64(total), leaf, 0, first, n) == (exact > 0)


def test_every_case_of_two_limbs() -> None:
    for top, low, more in product((-2, -1, 0, 1), (0, 1, (1 << 52) - 1), (0, 1, (1 << 52) - 1)):
        value, base = np.array([[0, more]], dtype=np.int64), np.array([[top, low]], dtype=np.int64)
        leaf = np.zeros((1, 1), dtype=np.int32)
        assert _exceeds(value, base, 0, np.int64(top), leaf, 0, 0, 1) == (top * (1 << 52) + low + more > 0)


def test_limbs_are_added_with_their_carries() -> None:
    rng, unit = Random(9), 1 << LIMB
    for _ in range(300):
        limbs = rng.randint(1, 4)
        a, b = ([rng.randint(-9, 9), *(rng.choice((0, 1, unit - 1)) for _ in range(limbs - 1))] for _ in range(2))
        total = _plus(np.array(a), np.array(b)).tolist()
        assert all(0 <= limb < unit for limb in total[1:])
        assert sum(x * unit ** (limbs - k) for k, x in enumerate(total)) == sum(
            x * unit ** (limbs - k) for row in (a, b) for k, x in enumerate(row)
        )


def test_tables_are_made_for_sets_only() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 5)])
    halves = (np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([[0.0], [0.0], [1.0]]))
    splits = (Cut(2.0, closed=True), frozenset({1, 3}), Cut(4.0, closed=True))
    trees = [TreeNodes(np.array([0, -1, -1]), [split, None, None], *halves) for split in splits]
    model = TreeSum.of(domain, trees, rule=Positive((0, 1)))
    code, counts = _left_cells(model, np.array(model.grid.n_cells, np.int64))
    inner = code[model.feature >= 0]
    assert [c >= 0 for c in inner] == [True, False, True]
    assert len(counts) == model.grid.n_cells[0] + 1
    assert counts[-1] == 2  # two cells, of 1 and of 3, go left
