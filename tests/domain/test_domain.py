"""Domains: which features are well formed, what encode accepts, what is shown."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError

FRAME = pd.DataFrame(
    {"age": [20, 30, 90], "bmi": [20.5, 31.0, 18.25], "race": ["a", "b", "a"], "smoker": [True, False, True]}
)


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


def test_repr_stays_short() -> None:
    wide = ax.Domain([ax.Categorical(f"f{i}", range(100)) for i in range(50)])
    assert len(repr(wide)) < 400


@pytest.mark.parametrize("point", [[0.5, 2.0], [0.0, 1.0], [1.0, 3.0]])
def test_points_of_real_features_are_the_same_however_given(point: list[float]) -> None:
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 1, 3)])
    given = [point, np.array(point), np.array(point, dtype=np.float32), dict(zip("ab", point, strict=True))]
    given += [pd.Series(point, index=list("ab")), pd.Series(point[::-1], index=list("ba")), pd.Series(point)]
    for x in given:
        assert domain.encode_point(x).tolist() == point


@pytest.mark.parametrize("point", [[0.5, 3.5], [np.nan, 2.0], [-0.1, 2.0], [0.5], [0.5, 2.0, 1.0]])
def test_rows_of_numbers_are_checked(point: list[float]) -> None:
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 1, 3)])
    with pytest.raises(DomainError):
        domain.encode_point(np.array(point))


def test_codes_are_the_domain_s_own() -> None:
    """The caller may write into an array that was explained."""
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 0, 1)])
    for given in (np.array([0.25, 0.5]), pd.Series([0.25, 0.5], index=list("ab"))):
        codes = domain.encode_point(given)
        given[:] = 0.0
        assert codes.tolist() == [0.25, 0.5]
    table = np.array([[0.25, 0.5]])
    codes = domain.encode(table)
    table[:] = 0.0
    assert codes.tolist() == [[0.25, 0.5]]


def test_whatever_numpy_takes_is_a_point() -> None:
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 0, 1)])
    assert domain.encode_point(memoryview(np.array([0.25, 0.5]))).tolist() == [0.25, 0.5]
    with pytest.raises(DomainError, match="'a' is missing"):
        domain.encode(np.ma.array([[0.25, 0.5]], mask=[[True, False]]))


INTEGERS = ax.Domain(
    [ax.Integer("a", -2, 5), ax.Real("b", 0, Fraction(1, 3)), ax.Integer("c", 0, 2**53 - 1, missing=0.5)]
)


@pytest.mark.parametrize(
    "row",
    [
        (-2, 0.25, 2.0**53 - 1),
        (-2, 0.25, 2.0**53),
        (5.0, 0.0, float("nan")),
        (0, float(Fraction(1, 3)), 7),
        (5.5, 0.25, 0),
        (6, 0.25, 0),
        (0, 0.34, 0),
        (float("nan"), 0.25, 0),
        (0, float("inf"), 0),
        (0, 0.25, float("-inf")),
    ],
)
def test_numbers_are_encoded_quickly_as_they_are_slowly(row: tuple[float, ...]) -> None:
    """An array of numbers takes a short cut, dicts do not."""
    table = np.array([(0, 0.25, 1), row], dtype=np.float64)
    slow = [dict(zip("abc", r, strict=True)) for r in table.tolist()]
    try:
        expected = INTEGERS.encode(slow)
    except DomainError as error:
        with pytest.raises(DomainError, match=re.escape(str(error))):
            INTEGERS.encode(table)
        with pytest.raises(DomainError):
            INTEGERS.encode_point(table[1])
        return
    assert np.array_equal(INTEGERS.encode(table), expected, equal_nan=True)
    assert np.array_equal(INTEGERS.encode_point(table[1]), expected[1], equal_nan=True)


def test_whole_numbers_are_encoded_from_whole_arrays() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", -1, 3)])
    table = np.array([[0, -1], [3, 3]])
    assert domain.encode(table).tolist() == table.tolist()
    assert domain.encode(table.astype(np.uint8)[1:]).tolist() == [[3, 3]]
    with pytest.raises(DomainError, match=r"'a' must be an integer from 0 to 3, but 4.0 was found"):
        domain.encode(table + 1)


@pytest.mark.parametrize("point", [([], 1), ([1, 2], 1), ({"a": 1}, 1), {"a": [1, 2], "b": 1}])
def test_a_list_is_no_number_of_a_point(point: Any) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])
    with pytest.raises(DomainError, match="'a' takes numbers, but"):
        domain.encode_point(point)


HUGE = 10**400
NUMBERS = ax.Domain([ax.Integer("a", 0, 2**53 - 1), ax.Real("b", -1, 1)])
SPREAD = ax.Categorical("c", ["u", "v"], columns=["cu", "cv"])


@pytest.mark.parametrize("value", [HUGE, -HUGE, Fraction(HUGE, 3)], ids=["large", "small", "fraction"])
@pytest.mark.parametrize(
    "refused",
    [
        lambda v: NUMBERS.encode([{"a": 0, "b": v}]),
        lambda v: NUMBERS.encode_point([v, 0]),
        lambda v: NUMBERS.encode(pd.DataFrame({"a": [0, v], "b": [0, 0]})),
        lambda v: ax.Domain([SPREAD]).encode([{"cu": v, "cv": 0}]),
        lambda v: ax.Domain.from_data(pd.DataFrame({"a": [v, 1]}), real=["a"]),
        lambda v: ax.Domain.from_data([[v], [1]], integer=[0]),
        lambda v: ax.Categorical("c", [1, 0], columns=["a", "b"], codes=[[v, 0], [0, 0]]).encode_columns(np.eye(2)),
    ],
)
def test_no_float_holds_such_a_number(refused: Any, value: Any) -> None:
    with pytest.raises(DomainError, match=r"takes numbers, but .* was found; encode it as a number that float64 can"):
        refused(value)


@pytest.mark.parametrize("value", [2**53, 2**53 + 1, np.int64(2**53 + 1), np.uint64(2**53 + 1), Fraction(2**53 + 1)])
def test_an_integer_that_floats_do_not_tell_apart_is_refused(value: Any) -> None:
    """One float64 stands for 2**53 and for the integer after it: the wrong row would be explained."""
    for given in ({"a": value, "b": 0}, [value, 0], np.array([value, 0]), pd.DataFrame({"a": [value], "b": [0]})):
        with pytest.raises(DomainError, match="'a' must be an integer from 0 to 9007199254740991"):
            NUMBERS.encode_point(given)
    with pytest.raises(DomainError, match=r"must stay within \+-\(2\*\*53 - 1\)"):
        ax.Domain.from_data(pd.DataFrame({"a": [1, value]}), integer=["a"])
    assert NUMBERS.encode_point([2**53 - 1, 0]).tolist() == [2**53 - 1, 0]


def test_minus_zero_is_zero() -> None:
    for given in ([-0.0, -0.0], {"a": "-0", "b": "-0"}, pd.DataFrame({"a": [-0.0], "b": [-0.0]})):
        assert NUMBERS.decode(NUMBERS.encode_point(given)) == (0, 0)


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame([[0, 1, 0]], columns=["a", "a", "b"]),
        pd.DataFrame([[0, 1, "x"]], columns=["a", "a", "b"]),
        pd.DataFrame([[0, 1, 0]], columns=["1", 1, "b"]),
        pd.Series([0, 1, 0], index=["a", "a", "b"]),
        {"1": 0, 1: 1, "b": 0},
    ],
)
def test_of_two_columns_of_one_name_none_is_chosen(given: Any) -> None:
    domain = NUMBERS if "a" in given else ax.Domain([ax.Integer("1", 0, 1), ax.Real("b", 0, 1)])
    with pytest.raises(DomainError, match=r"needs a name of its own, but '[a1]' occurs twice; rename one"):
        domain.encode_point(given)
