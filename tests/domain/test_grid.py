"""Cells between thresholds: where points lie, what a cell is worth, how it is said."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np

import axfi_kc as ax
from axfi_kc.domain.grid import Axis, Cut, Grid


def test_cells_of_a_real_feature() -> None:
    axis = Axis.of(ax.Real("x", 0, 4), [Cut(1.0, closed=True), Cut(3.0, closed=False), Cut(9.0, closed=True)])
    assert axis.n_cells == 3
    assert [F(n, axis.denominator) for n in axis.numerators] == [F(1, 4), F(1, 2), F(1, 4)]
    assert axis.locate(np.array([0, 1, 1.001, 2.999, 3.0, 4.0])).tolist() == [0, 0, 1, 1, 2, 2]
    assert axis.describe([1]) == "x > 1 and x < 3"
    assert axis.describe([0, 2]) == "x <= 1 or x >= 3"


def test_a_single_point_is_a_cell_of_measure_zero() -> None:
    axis = Axis.of(ax.Real("x", 0, 4), [Cut(4.0, closed=False), Cut(0.0, closed=True)])
    assert axis.numerators[0] == axis.numerators[2] == 0
    assert axis.locate(np.array([0, 0.1, 4])).tolist() == [0, 1, 2]


def test_cells_of_an_integer_feature() -> None:
    axis = Axis.of(ax.Integer("n", 0, 9), [Cut(2.5, closed=True), Cut(5.0, closed=False), Cut(5.0, closed=True)])
    assert axis.counts == (3, 2, 1, 4)
    assert axis.describe([2]) == "n = 5"
    assert axis.describe([1]) == "n >= 3 and n <= 4"


def test_points_are_located_as_their_features_are() -> None:
    """All at once, in a kernel, and feature by feature: cuts, codes of categories, and missing values."""
    features = [
        ax.Real("r", 0, 1),
        ax.Integer("i", 0, 9),
        ax.Categorical("c", "xyz"),
        ax.Real("m", -1, 1, missing=F(1, 3)),
    ]
    cuts = [[Cut(0.25, closed=True), Cut(0.25, closed=False), Cut(0.5, closed=True)], [Cut(3.0, closed=False)], [], []]
    cuts[3] = [Cut(0.0, closed=False), Cut(0.5, closed=True)]
    grid = Grid.of(ax.Domain(features), cuts)
    edges = [0.0, 0.25, np.nextafter(0.25, 0), np.nextafter(0.25, 1), 0.5, 1.0]
    codes = np.array([[r, i, i % 3, m] for r in edges for i in range(10) for m in [-1.0, -0.0, 0.0, 0.5, 1.0, np.nan]])
    located = grid.locate(codes)
    expected = np.stack([axis.locate(codes[:, i]) for i, axis in enumerate(grid.axes)], axis=1)
    assert located.tolist() == expected.tolist()
    assert {tuple(column) for column in map(set, located.T.tolist())} == {tuple(range(n)) for n in grid.n_cells}
    assert grid.locate(codes[::2]).tolist() == expected[::2].tolist()
