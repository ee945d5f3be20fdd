"""Exact numbers and values in JSON come back as they were."""

from __future__ import annotations

import json
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axfi_kc.errors import DomainError
from axfi_kc.json_text import number_of, number_text, value_of, value_text


@given(
    st.integers() | st.fractions() | st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 3**20_000, Fraction(1, 7**9_000)])
)
@settings(deadline=None, max_examples=60)
def test_numbers_come_back(number) -> None:
    text = json.loads(json.dumps(number_text(number)))
    assert number_of(text) == number
    assert isinstance(text, str) or abs(text) <= 2**53


plain = st.none() | st.booleans() | st.text(max_size=5) | st.integers() | st.floats(allow_nan=False) | st.fractions()


@given(plain | st.tuples(plain, plain))
@settings(max_examples=80)
def test_values_come_back_with_their_type(value) -> None:
    back = value_of(json.loads(json.dumps(value_text(value), allow_nan=False)))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("value", [object(), pd.Timestamp("2026-01-01"), ((1,),), b"x"])
def test_values_that_no_file_gives_back_are_refused(value) -> None:
    with pytest.raises(DomainError, match="use its text"):
        value_text(value)
