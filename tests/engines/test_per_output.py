"""What is kept for each output."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from axfi_kc.engines.per_output import PerOutput


def test_of_numbers_the_latest_few_are_kept() -> None:
    made: list[Any] = []
    at = PerOutput(lambda output, _: made.append(output) or output)
    for output in (*map(Fraction, range(16)), "a", Fraction(16), "a", Fraction(0)):
        assert at(output) == output
    assert made == [*map(Fraction, range(16)), "a", Fraction(16), "a", Fraction(0)]
    at("a")
    assert made[-1] == 0
