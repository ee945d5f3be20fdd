"""The checker's own cells: single precision, and pieces that cover their feature."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import axfi_kc as ax
from axfi_kc.verification.spaces import pieces_of, single_precision


def test_single_precision_is_the_librarys() -> None:
    rng = np.random.default_rng(0)
    for threshold in [*rng.normal(size=30).tolist(), 0.1, 0.5, 3.0, float(np.float32(0.1))]:
        for strict in (False, True):
            bound, closed = single_precision(threshold, strict=strict)
            for x in (float(bound), float(np.nextafter(float(bound), np.inf)), float(np.nextafter(float(bound), -9e9))):
                cast = float(np.float32(x))
                goes_left = cast < threshold if strict else cast <= threshold
                assert goes_left == (Fraction(x) < bound or (Fraction(x) == bound and closed))


def test_pieces_cover_their_feature() -> None:
    bounds = [(Fraction(1), False), (Fraction(1), True), (Fraction(7, 4), True), (Fraction(9), True)]
    histogram = ax.Histogram(edges=[0, 1, 3], weights=[3, 1])
    for feature in (
        ax.Real("r", 0, 3),
        ax.Real("r", 0, 3, histogram=histogram),
        ax.Real("r", 1, 1),
        ax.Integer("i", 0, 3),
        ax.Integer("i", 0, 3, weights=[1, 2, 3, 4]),
        ax.Categorical("c", "xyz", weights=[1, 2, 3]),
    ):
        pieces = pieces_of(feature, bounds)
        assert sum(p.share for p in pieces) == 1
        assert all(p.code is not None for p in pieces)
        if feature.size is not None:
            assert sum(p.count or 0 for p in pieces) == feature.size
    shares = [p.share for p in pieces_of(ax.Real("r", 0, 3, histogram=histogram), bounds)]
    assert shares == [Fraction(3, 4), 0, Fraction(3, 32), Fraction(5, 32)]
