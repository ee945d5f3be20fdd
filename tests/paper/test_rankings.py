"""Rankings, their overlaps, and the tables that were published."""

from __future__ import annotations

from fractions import Fraction

import pytest

from axfi_kc.explanations.comparison import rank_overlap
from benchmarks.paper.data_sets import NAMES
from benchmarks.paper.published import OVERLAPS, PAIRS, SECONDS
from benchmarks.paper.rankings import has_tie, overlaps, ranked


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("abcdefg", "abcdefg", Fraction(31, 32)),
        ("abcdefg", "abcdeqr", Fraction(31, 32)),  # beyond the depth
        ("abcde", "fghij", Fraction(0)),
        # agreement 0, 1, 1, 1, 1 weighed by 1/2, 1/4, ...
        ("abcde", "bacde", Fraction(1, 4) + Fraction(1, 8) + Fraction(1, 16) + Fraction(1, 32)),
        # agreement 1, 1/2, 1/3, 1/4, 1/5
        ("abcde", "afghi", Fraction(1, 2) + Fraction(1, 8) + Fraction(1, 24) + Fraction(1, 64) + Fraction(1, 160)),
        # agreement 0, 0, 1/3, 2/4, 3/5
        ("abcde", "fgabc", Fraction(1, 24) + Fraction(1, 32) + Fraction(3, 160)),
        # where both lists end, there is nothing to compare any more
        ("ab", "ab", Fraction(1, 2) + Fraction(1, 4)),
    ],
)
def test_rank_overlap_by_hand(one: str, other: str, expected: Fraction) -> None:
    assert rank_overlap(one, other) == rank_overlap(other, one) == expected


def test_rankings_break_ties_by_the_domain() -> None:
    assert ranked({"a": -1, "b": 0, "c": 3, "d": 0}) == ["c", "b", "d", "a"]
    assert has_tie({"a": 1, "b": 1, "c": 0})
    assert not has_tie({"a": 3, "b": 2, "c": 1, "d": 1}, depth=2)
    assert has_tie({"a": 3, "b": 2, "c": 1, "d": 1}, depth=3)  # which of c and d comes third


def test_nine_pairs() -> None:
    scores = {
        "shapley": {"a": 3, "b": 2},
        "banzhaf": {"a": 3, "b": 2},
        "wffa": {"a": 0, "b": 1},
        "shap": {"a": -2, "b": 1},
    }
    found = overlaps(scores)
    assert list(found) == [f"{a}-{b}" for a, b in PAIRS]
    equal, swapped = rank_overlap("ab", "ab"), rank_overlap("ab", "ba")
    assert found["shapley-banzhaf"] == found["wffa-shap"] == found["shapley-abs(shap)"] == equal
    assert found["shapley-wffa"] == found["shapley-shap"] == found["wffa-abs(shap)"] == swapped


def test_published_tables_are_complete() -> None:
    assert set(SECONDS) == set(OVERLAPS) == set(NAMES)
    for rows in OVERLAPS.values():
        assert len(rows) == len(PAIRS)
        assert all(low <= average <= high <= 0.97 for low, high, average in rows)
