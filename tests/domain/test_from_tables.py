"""Domains read off tables: which kinds, values, bounds and measures columns get."""

from __future__ import annotations

import sys
from datetime import date
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
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


def test_tables_without_values_are_refused() -> None:
    with pytest.raises(DomainError, match="'x1' is missing in every row"):
        ax.Domain.from_data(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(DomainError, match="empty"):
        ax.Domain.from_data(FRAME.iloc[:0])
    with pytest.raises(DomainError, match="two-dimensional"):
        ax.Domain.from_data([1, 2, 3])


def test_frames_of_pandas_extension_types() -> None:
    frame = pd.DataFrame({"a": pd.array([1, 2, 3], dtype="Int64"), "b": pd.Categorical(["x", "y", "x"])})
    domain = ax.Domain.from_data(frame, integer=["a"])
    assert [f.kind for f in domain.features] == ["integer", "categorical"]
    assert np.array_equal(domain.encode(frame), [[1, 0], [2, 1], [3, 0]])


@pytest.mark.parametrize(
    "dates",
    [
        pd.date_range("2020-01-01", periods=3),
        pd.date_range("2020-01-01", periods=3, tz="UTC"),
        pd.to_timedelta([1, 2, 3], unit="D"),
        [date(2020, 1, 1), None, date(2020, 1, 3)],
    ],
    ids=["dates", "zones", "spans", "objects"],
)
def test_dates_are_refused(dates) -> None:
    with pytest.raises(DomainError, match=r"Column 'when' .* dates or times .* days since the first"):
        ax.Domain.from_data(pd.DataFrame({"when": dates, "a": [1, 2, 3]}))


def test_ids_are_refused() -> None:
    table = pd.DataFrame({"id": [f"n{k}" for k in range(60)], "kind": ["a", "b", "c"] * 20})
    with pytest.raises(DomainError, match=r"'id' .* 60 different texts in 60 rows, .*categorical=\['id'\]"):
        ax.Domain.from_data(table)
    assert ax.Domain.from_data(table, categorical=["id"]).size == 180
    assert ax.Domain.from_data(table.head(50)).size == 150  # a small table need not repeat itself


def test_empirical_weights_of_too_many_integers() -> None:
    with pytest.raises(DomainError, match=r"1099511627777 values, .*real=\['x0'\]"):
        ax.Domain.from_data([[0], [2**40]], integer=["x0"], measures="empirical")


def test_bounds_beyond_floats() -> None:
    for low, high in ((0, 10**400), (-(10**400), 0), (F(10**309), F(10**310))):
        with pytest.raises(DomainError, match=r"Real feature 'a' must stay within float64.*10\^"):
            ax.Real("a", low, high)
    assert ax.Real("a", 0, F(sys.float_info.max)).floats[1] == sys.float_info.max


def test_rows_that_are_wrong() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Categorical("b", "xy")])
    rows = [{"a": 1, "b": "x"}, {"a": 10, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]
    codes, wrong = domain.encode_rows(rows)
    assert codes[[0, 2]].tolist() == [[1, 0], [2, 1]]
    assert sorted(wrong) == [1, 3]
    assert list(domain.encode_rows(rows, all_rows=False)[1]) == [1]
    assert domain.encode_rows([rows[0]])[1] == {}
    with pytest.raises(DomainError, match="Row 1 has no value for 'b', which row 0 has"):
        domain.encode([{"a": 1, "b": "x"}, {"a": 1}])


def test_names_of_columns_differ() -> None:
    """The second column of a name would take the place of the first."""
    with pytest.raises(DomainError, match="needs a name of its own, but 'a' occurs twice; rename one"):
        ax.Domain.from_data([[1, 2], [3, 4]], names=["a", "a"])


def test_rows_are_of_one_length() -> None:
    for rows in ([[1, 2], [3]], [[1, 2], [3, 4, 5]], [["x", 2], ["y"]]):
        with pytest.raises(DomainError, match="of which no array can be made"):
            ax.Domain.from_data(rows)
