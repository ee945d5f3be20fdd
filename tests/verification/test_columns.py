"""Splits as the checker reads them."""

from __future__ import annotations

from fractions import Fraction

import axfi_kc as ax
from axfi_kc.verification.reading.columns import Excepted, Seen, cuts_of, fits, goes_left


def test_splits() -> None:
    near = Excepted((Fraction(2), True), (Fraction(-1, 10), False), (Fraction(1, 10), True))
    assert [goes_left(near, x, missing=True) for x in (-1, 0, 0.1, 3)] == [True, True, True, False]
    assert [goes_left(near, float("nan"), missing=side) for side in (False, True)] == [False, True]
    assert [goes_left(near, x) for x in (-1, 0, 0.05, 1, 2, 3)] == [True, False, False, True, True, False]
    assert set(cuts_of(near)) == {(Fraction(2), True), (Fraction(-1, 10), False), (Fraction(1, 10), True)}
    assert list(cuts_of(frozenset([3]))) == [(Fraction(2), True), (Fraction(3), True)]
    assert not fits(frozenset([1]), Seen(0), ax.Real("r", 0, 1))
    assert not fits((Fraction(1), True), Seen(0, ("x", "y")), ax.Categorical("c", "xy"))
