"""Missing values as values: features, domains, cells, tables that come in, and JSON."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.errors import DomainError
from axfi_kc.explanations.files.domain_document import domain_document, domain_of

AGE = ax.Integer("age", 0, 9, missing=Fraction(1, 5))
DOMAIN = ax.Domain([AGE, ax.Categorical("sex", ["f", "m"], missing=0.25), ax.Real("fare", 0, 8, missing=0.5)])


def test_missing_is_one_more_value() -> None:
    assert (AGE.size, DOMAIN.features[1].size, DOMAIN.features[2].size) == (11, 3, None)
    finite = ax.Domain([ax.Integer("a", 0, 1, missing=0.5), ax.Categorical("b", "xy", missing=0.5)])
    assert finite.size == 9
    assert list(finite.points())[-3:] == [(None, "x"), (None, "y"), (None, None)]
    assert ax.Integer("a", 0, 1).missing == 0
    assert ax.Integer("a", 0, 1) != ax.Integer("a", 0, 1, missing=0.5)


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_whatever_stands_for_missing_is_taken(nothing: object) -> None:
    codes = DOMAIN.encode_point({"age": nothing, "sex": nothing, "fare": nothing})
    assert np.isnan(codes).all()
    assert DOMAIN.decode(codes) == (None, None, None)


@pytest.mark.parametrize("feature", [ax.Integer("a", 0, 9), ax.Real("a", 0, 9), ax.Categorical("a", [0, 1])])
def test_missing_is_refused_where_it_never_is(feature: ax.Integer | ax.Real | ax.Categorical) -> None:
    with pytest.raises(DomainError, match=r"'a' is missing \(NaN\), .*missing=0.1"):
        ax.Domain([feature]).encode([{"a": 1}, {"a": None}])


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, "0.1", float("nan")])
def test_shares_that_are_none(share: object) -> None:
    with pytest.raises(DomainError, match="share of missing values of 'a'"):
        ax.Real("a", 0, 1, missing=share)


@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT])
def test_what_stands_for_missing_is_no_category(nothing: object, share: float) -> None:
    with pytest.raises(DomainError, match=r"among its values, which stands for a missing one.*share, missing=0\.1\.$"):
        ax.Categorical("a", [nothing, "x"], missing=share)


def test_one_hot_columns_are_all_missing_or_none() -> None:
    domain = ax.Domain([ax.Categorical("c", "xy", columns=["c_x", "c_y"], missing=0.5)])
    codes = domain.encode(np.array([[1, 0], [np.nan, np.nan]]))
    assert codes[0, 0] == 0
    assert math.isnan(codes[1, 0])
    with pytest.raises(DomainError, match="no value's code"):
        domain.encode(np.array([[1, np.nan]]))


def test_cells_of_missing_values_come_last() -> None:
    axis = Axis.of(AGE, [Cut(4.5, closed=True)])
    assert (axis.n_cells, axis.missing_cell, axis.counts) == (3, 2, (5, 5, 1))
    assert [Fraction(n, axis.denominator) for n in axis.numerators] == [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]
    assert axis.locate(np.array([4.0, np.nan, 5.0])).tolist() == [0, 2, 1]
    assert axis.left_mask(0, Cut(4.5, closed=True), missing=True).tolist() == [1, 0, 1]
    assert axis.left_mask(0, Cut(100.0, closed=True)).tolist() == [1, 1, 0]
    assert axis.describe([0, 2]) == "age <= 4 or age is missing"
    assert axis.describe([2]) == "age is missing"
    assert Axis.of(DOMAIN.features[1]).describe([1, 2]) == "sex = 'm' or sex is missing"
    assert Grid.of_values(ax.Domain([AGE])).n_cells == (11,)


def test_shares_come_from_the_data() -> None:
    frame = pd.DataFrame(
        {
            "age": [22.0, np.nan, 26.0, 35.0],
            "sex": ["m", None, "f", np.nan],
            "siblings": pd.array([1, pd.NA, 0, 0], dtype="Int64"),
            "fare": [7.25, 71.5, 7.75, 53.5],
        }
    )
    domain = ax.Domain.from_data(frame)
    assert [(f.kind, f.missing) for f in domain.features] == [
        ("real", Fraction(1, 4)),
        ("categorical", Fraction(1, 2)),
        ("integer", Fraction(1, 4)),
        ("real", 0),
    ]
    assert domain.features[1].values == ("f", "m")
    assert domain.decode(domain.encode(frame)[1]) == (None, None, None, 71.5)
    given = ax.Domain.from_data(frame, missing={"fare": 0.125, "age": 0.5})
    assert [f.missing for f in given.features] == [Fraction(1, 2), Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]


def test_empirical_measures_are_those_of_the_values_found() -> None:
    domain = ax.Domain.from_data(
        np.array([[0.0, 1.0], [np.nan, 2.0], [1.0, np.nan], [1.0, 2.0]]), integer=[0], measures="empirical"
    )
    axis = Axis.of_values(domain.features[0])
    assert [Fraction(n, axis.denominator) for n in axis.numerators] == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    assert domain.features[1].missing == Fraction(1, 4)


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"age": [22, None, 26], "fare": [7.25, 71.5, None], "sex": ["m", None, "f"]})
    domain = ax.Domain.from_data(frame)
    assert [(f.kind, f.missing) for f in domain.features] == [
        ("integer", Fraction(1, 3)),
        ("real", Fraction(1, 3)),
        ("categorical", Fraction(1, 3)),
    ]
    assert domain.decode(domain.encode(frame)[1]) == (None, 71.5, None)


def test_domains_with_missing_values_in_json() -> None:
    document = domain_document(DOMAIN)
    assert [entry["missing"] for entry in document] == ["1/5", "1/4", "1/2"]
    assert domain_of(document) == DOMAIN


def test_flags_that_are_missing_together() -> None:
    table = pd.DataFrame({"c_a": [1, 0, np.nan], "c_b": [0, 1, np.nan]})
    domain = ax.Domain.from_data(table, one_hot={"c": ["c_a", "c_b"]})
    assert domain.features[0].missing == Fraction(1, 3)
    assert np.isnan(domain.encode(table)[2, 0])
    given = ax.Domain.from_data(table, one_hot={"c": ["c_a", "c_b"]}, missing={"c": 0.25})
    assert given.features[0].missing == Fraction(1, 4)


def test_what_is_masked_is_missing() -> None:
    table = np.ma.array([[1.0, 2.0], [3.0, 99.0], [5.0, 4.0]], mask=[[0, 0], [0, 1], [0, 0]])
    domain = ax.Domain.from_data(table)
    assert (domain.features[1].missing, domain.features[1].high) == (Fraction(1, 3), 4)
    assert np.isnan(domain.encode(table)[1, 1])


def test_categories_are_no_numbers() -> None:
    frame = pd.DataFrame({"a": pd.Categorical([1, 2, None, 1])})
    feature = ax.Domain.from_data(frame).features[0]
    assert (feature.kind, feature.values, feature.missing) == ("categorical", (1, 2), Fraction(1, 4))


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "'a' occurs twice"),
        (pd.DataFrame({"a": [1]}), {"missing": 0.3}, "missing takes {column: share}"),
    ],
)
def test_tables_and_shares_that_mean_nothing(table: pd.DataFrame, options: dict[str, object], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        ax.Domain.from_data(table, **options)


def test_numbers_and_flags_stay_what_they_are_beside_words() -> None:
    domain = ax.Domain(
        [ax.Categorical("sex", ["f", "m"]), ax.Categorical("alone", [False, True]), ax.Real("age", 0, 9)]
    )
    assert domain.encode([("m", True, 3.5), ("f", False, 2)]).tolist() == [[1, 1, 3.5], [0, 0, 2]]
