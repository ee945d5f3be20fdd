"""Domains: what from_data infers, what encode accepts, what a cell is worth."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Axis, Cut
from axfi_kc.errors import DomainError, UnknownFeatureError

FRAME = pd.DataFrame(
    {"age": [20, 30, 90], "bmi": [20.5, 31.0, 18.25], "race": ["a", "b", "a"], "smoker": [True, False, True]}
)


def test_kinds_follow_dtypes() -> None:
    domain = ax.Domain.from_data(FRAME)
    assert [f.kind for f in domain.features] == ["integer", "real", "categorical", "categorical"]
    assert domain.features[0].low, domain.features[0].high == (20, 90)
    assert domain.features[1].low == F(18.25)
    assert domain.features[2].values == ("a", "b")
    assert domain.size is None


def test_kinds_can_be_said() -> None:
    domain = ax.Domain.from_data(FRAME, categorical=["age"], bounds={"bmi": (10, 50)})
    assert domain.features[0].values == (20, 30, 90)
    assert (domain.features[1].low, domain.features[1].high) == (10, 50)
    assert ax.Domain.from_data(FRAME[["age"]], real=["age"]).features[0].kind == "real"


def test_arrays_have_numbered_columns() -> None:
    domain = ax.Domain.from_data(np.array([[0, 1], [2, 3]]), categorical=[1])
    assert domain.names == ("x0", "x1")
    assert [f.kind for f in domain.features] == ["integer", "categorical"]


def test_empirical_measures() -> None:
    domain = ax.Domain.from_data(FRAME, measures="empirical")
    assert domain.features[2].measure.shares == (F(2, 3), F(1, 3))
    assert sum(domain.features[0].measure.shares) == 1
    assert domain.features[0].measure.shares[10] == F(1, 3)
    histogram = domain.features[1].measure
    assert (len(histogram.shares), histogram.edges[0], histogram.edges[-1]) == (10, F(18.25), 31)
    mixed = ax.Domain.from_data(FRAME, measures={"race": ax.Weights([1, 9])})
    assert mixed.features[2].measure.shares == (F(1, 10), F(9, 10))
    assert isinstance(mixed.features[0].measure, ax.Uniform)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bounds": {"age": (30, 90)}}, "outside the bounds"),
        ({"bounds": {"race": (0, 1)}}, "takes no bounds"),
        ({"integer": ["bmi"]}, "needs integers"),
        ({"integer": ["race"]}, "takes numbers"),
        ({"measures": {"bmi": ax.Weights([1, 2])}}, "Histogram"),
        ({"measures": {"race": ax.Weights([1, 2, 3])}}, "2 values, but 3 weights"),
        ({"names": list("abcd")}, "names of its own"),
    ],
)
def test_bad_descriptions(options, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        ax.Domain.from_data(FRAME, **options)


def test_unknown_columns() -> None:
    with pytest.raises(UnknownFeatureError, match="no column 'ages'"):
        ax.Domain.from_data(FRAME, integer=["ages"])


def test_missing_data_are_refused() -> None:
    with pytest.raises(DomainError, match="NaN"):
        ax.Domain.from_data(np.array([[1.0], [np.nan]]))
    with pytest.raises(DomainError, match="empty"):
        ax.Domain.from_data(FRAME.iloc[:0])
    with pytest.raises(DomainError, match="two-dimensional"):
        ax.Domain.from_data([1, 2, 3])


@pytest.mark.parametrize(
    "make",
    [
        lambda: ax.Real("x", 0, float("inf")),
        lambda: ax.Real("x", 1, 0),
        lambda: ax.Integer("x", 0, 1.5),
        lambda: ax.Integer("x", 0, 2**60),
        lambda: ax.Categorical("x", []),
        lambda: ax.Categorical("x", [1, 1]),
        lambda: ax.Categorical("x", [1, 2], weights=[1, -1]),
        lambda: ax.Categorical("x", [1, 2], weights=[0, 0]),
        lambda: ax.Categorical("x", [1, 2], columns=["a", "b"], codes=[(1, 0), (1, 0)]),
        lambda: ax.Real("x", 0, 1, histogram=ax.Histogram([0, 2], [1])),
        lambda: ax.Histogram([0, 0], [1]),
        lambda: ax.Histogram([0, 1], [1, 1]),
        lambda: ax.Domain([]),
        lambda: ax.Domain([ax.Integer("x", 0, 1), ax.Integer("x", 0, 1)]),
        lambda: ax.Domain(["x"]),
    ],
)
def test_ill_formed_features(make) -> None:
    with pytest.raises(DomainError, match=r"(?i)histogram|feature|weight|number|domain"):
        make()


def test_points_in_every_form() -> None:
    domain = ax.Domain.from_data(FRAME)
    expected = [20.0, 20.5, 0.0, 1.0]
    row = FRAME.iloc[0]
    for x in (row, row.to_dict(), row.tolist(), FRAME.iloc[[0]], np.array(row.tolist(), dtype=object)):
        assert domain.encode_point(x).tolist() == expected
    assert domain.decode(expected) == (20, 20.5, "a", True)
    assert domain.encode(FRAME).shape == (3, 4)


def test_columns_may_come_in_any_order() -> None:
    domain = ax.Domain.from_data(FRAME)
    assert (domain.encode(FRAME[["smoker", "race", "bmi", "age"]]) == domain.encode(FRAME)).all()


def test_one_hot_columns_are_one_feature() -> None:
    frame = pd.get_dummies(FRAME[["age", "race"]], dtype=int)
    domain = ax.Domain.from_data(frame, one_hot={"race": ["race_a", "race_b"]})
    assert domain.names == ("age", "race")
    assert domain.columns == ("age", "race_a", "race_b")
    assert domain.encode(frame)[:, 1].tolist() == [0, 1, 0]
    assert domain.encode_point([20, "b"]).tolist() == [20, 1]
    with pytest.raises(DomainError, match="no value's code"):
        domain.encode([[20, 1, 1]])


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


def test_repr_stays_short() -> None:
    wide = ax.Domain([ax.Categorical(f"f{i}", range(100)) for i in range(50)])
    assert len(repr(wide)) < 400
