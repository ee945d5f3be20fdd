"""How numbers and values are shown to people."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.cli.text import plain
from axfi_kc.domain.grid import Axis, Cut
from axfi_kc.domain.measures import abridged, amount, counted, shown
from axfi_kc.plots.style import value


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (Fraction(2, 3), "0.666667"),
        (1250000.0, "1250000"),
        (Fraction(12345678901, 7), "1763668414"),
        (1e300, "1e+300"),
        (2024, "2024"),
        (np.int64(7), "7"),
        (np.float32(0.1), "0.1"),
        (np.bool_(True), "True"),
        (np.str_("red"), "red"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (None, "missing"),
        (("a", 1), "('a', 1)"),
        (Fraction(10**400), "about 10^400"),
        (Fraction(-1, 3 * 10**400), "about -10^-401"),
        (0.0, "0"),
    ],
)
def test_values_take_a_few_letters(given: object, text: str) -> None:
    assert shown(given) == text
    assert plain(given) == text  # in the terminal
    assert value(given, 40) == text  # in pictures


@given(st.floats(allow_nan=False, allow_infinity=False) | st.fractions() | st.integers())
def test_the_exact_number_reads_back(number: float | Fraction) -> None:
    assert type(number)(shown(number, digits=None)) == number  # of a float, the shortest text that does


@given(st.floats(1e-300, 1e300) | st.fractions(Fraction(1, 10**9), 10**9), st.integers(2, 12))
def test_rounded_numbers_are_near(number: float | Fraction, digits: int) -> None:
    for text in (shown(number, digits=digits), amount(number, digits=digits).replace(",", "")):
        if not text.startswith("about"):
            assert math.isclose(float(text), number, rel_tol=10.0 ** (1 - digits))


def test_numbers_beyond_what_python_writes_in_decimal() -> None:
    huge = 10**5000 + 1
    assert amount(huge) == "about 10^5000"
    assert int(shown(huge, digits=None), 16) == huge
    above, below = shown(Fraction(1, huge), digits=None).split("/")
    assert Fraction(int(above, 16), int(below, 16)) == Fraction(1, huge)
    assert amount(Fraction(1, huge)) in ("about 10^-5000", "about 10^-5001")


def test_text_is_quoted_where_a_number_could_be_meant() -> None:
    assert shown("1", quoted=True) == "'1'"
    assert shown(np.str_("no"), quoted=True) == "'no'"
    assert shown(1, quoted=True) == "1"
    assert shown(Fraction(1, 3), quoted=True) == "0.333333"


def test_amounts_and_counts() -> None:
    assert amount(999_999_999_999) == "999,999,999,999"
    assert amount(10**12) == "about 10^12"
    assert amount(Fraction(12345, 1)) == "12,345"
    assert amount(12345.5) == "12346"
    assert amount(math.inf) == "inf"
    assert counted(0, "row") == "0 rows"
    assert abridged("abc", 3) == "abc"


def test_thresholds_and_bounds_of_large_numbers_have_all_digits() -> None:
    axis = Axis.of(ax.Integer("population", 0, 10**9), [Cut(12_345_678.5, closed=True)])
    assert axis.describe([0]) == "population <= 12345678"
    assert ax.Real("price", 0, 1_250_000).describe() == "a number from 0 to 1250000"
