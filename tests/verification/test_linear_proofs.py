"""Volumes between half-spaces, against fine grids and clipped polygons."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from axfi_kc.budget import Budget
from axfi_kc.verification.linear_proofs import above, volume
from axfi_kc.verification.report import Allowance, Spent


@pytest.mark.parametrize("seed", range(12))
def test_volumes_agree_with_fine_grids(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 4))
    steps = [Fraction(int(s), 4) for s in rng.integers(-8, 9, k)]
    constant = Fraction(int(rng.integers(-9, 10)), 5)
    axis = (np.arange(60) + 0.5) / 60
    totals = float(constant) + sum(
        float(s) * g for s, g in zip(steps, np.meshgrid(*[axis] * k, indexing="ij"), strict=True)
    )
    assert abs(float(above(constant, steps)) - float((totals > 0).mean())) < 0.06
    inside = [(tuple(steps), -constant)]
    assert 1 - volume(inside, k, Allowance.of(None)) == above(constant, steps)


def clipped_area(halves: list[tuple[tuple[Fraction, ...], Fraction]]) -> Fraction:
    """Cut the unit square by one half-plane after the other, and take the area of what is left."""
    corners = [(Fraction(x), Fraction(y)) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    for (a, b), limit in halves:
        kept = []
        for p, q in zip(corners, corners[1:] + corners[:1], strict=True):
            here, there = (a * x + b * y - limit for x, y in (p, q))
            kept += [p] if here <= 0 else []
            if here * there < 0:
                t = here / (here - there)
                kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
        corners = kept
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return abs(sum((p[0] * q[1] - q[0] * p[1] for p, q in pairs), Fraction(0))) / 2


@pytest.mark.parametrize("seed", range(40))
def test_areas_between_several_lines_are_exact(seed: int) -> None:
    rng = Random(seed)
    halves = [
        (tuple(Fraction(rng.randint(-6, 6), rng.randint(1, 4)) for _ in range(2)), Fraction(rng.randint(-3, 6), 4))
        for _ in range(rng.randint(1, 4))
    ]
    assert volume(halves, 2, Allowance.of(None)) == clipped_area(halves)


def test_volumes_of_cut_cubes() -> None:
    one, zero, half = Fraction(1), Fraction(0), Fraction(1, 2)
    corner = ((one, one, one), one)
    assert volume([corner], 3, Allowance.of(None)) == Fraction(1, 6)
    assert volume([corner, corner], 3, Allowance.of(None)) == Fraction(1, 6)
    assert volume([corner, ((one, zero, zero), half)], 3, Allowance.of(None)) == Fraction(1, 6) - Fraction(1, 48)
    assert volume([((one, one, one), -one)], 3, Allowance.of(None)) == 0
    with pytest.raises(Spent):
        volume([corner], 3, Allowance.of(Budget(nodes=2)))
