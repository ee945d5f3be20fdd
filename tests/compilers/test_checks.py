"""Entries of model files: decimals are rounded once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from axfi_kc.compilers.readers.checks import Literal, rounded


def test_decimals_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    for single in rng.normal(size=200).astype(np.float32):
        after = np.nextafter(single, np.float32(np.inf))
        middle = (Fraction(float(single)) + Fraction(float(after))) / 2
        digits = middle * 10**80
        assert digits.denominator == 1
        below, above = Literal(f"{digits.numerator - 1}e-80"), Literal(f"{digits.numerator + 1}e-80")
        assert float(below) == float(above) == middle  # so float64 cannot tell them apart
        assert rounded([below, above]).tolist() == [float(single), float(after)]
    assert rounded([Literal("1e-46"), Literal("0.1")]).tolist() == [0.0, float(np.float32(0.1))]
