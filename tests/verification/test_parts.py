"""The checker's own algorithms against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.verification import games
from axfi_kc.verification.allowances import Allowance, Spent
from axfi_kc.verification.duality import contained, missed, uncovered
from axfi_kc.verification.linear_proofs import _above
from axfi_kc.verification.pieces import pieces_of, single_precision
from axfi_kc.verification.polytopes import volume
from tests.oracle import banzhaf, hitting_value, shapley

M = 6


def minimal(sets: list[int]) -> list[int]:
    return [s for s in set(sets) if not any(t != s and t & s == t for t in sets)]


def hitting(sets: list[int]) -> list[int]:
    return minimal([s for s in range(1 << M) if all(s & t for t in sets)])


@pytest.mark.parametrize("seed", range(40))
def test_duality_agrees_with_brute_force(seed: int) -> None:
    rng = Random(seed)
    cxps = minimal([rng.randrange(1, 1 << M) for _ in range(rng.randint(1, 7))])
    axps = hitting(cxps)
    everything = (1 << M) - 1
    assert contained(cxps) is contained(axps) is missed(cxps, axps) is None
    assert uncovered(cxps, axps, everything, Allowance.of(None)) is None
    for ours, theirs in ((cxps[1:], axps), (cxps, axps[1:])):
        found = uncovered(ours, theirs, everything, Allowance.of(None))
        assert found is not None
        assert not any(s & found == s for s in ours)
        assert not any(s & ~found == s for s in theirs)


def test_what_is_wrong_at_first_sight() -> None:
    assert contained([0b011, 0b111]) == (0b011, 0b111)
    assert missed([0b011], [0b101, 0b100]) == (0b011, 0b100)
    with pytest.raises(Spent):
        uncovered([0b011, 0b110], [0b010, 0b101], 0b111, Allowance.of(Budget(nodes=1)))


@pytest.mark.parametrize("seed", range(10))
def test_scores_are_those_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    names = tuple("abcd")
    sets = [frozenset(c) for k in range(1, 5) for c in combinations(range(4), k)]
    weights = {s: Fraction(rng.randint(0, 9), rng.randint(1, 9)) for s in rng.sample(sets, 4)}
    named = {frozenset(names[i] for i in s): w for s, w in weights.items()}
    for kind, judge in (("shapley", shapley), ("banzhaf", banzhaf)):
        right = judge(lambda S: hitting_value(weights, S), 4)
        for most in (9, 0):
            monkeypatch.setattr(games, "_MOST_PLAYERS", most)
            assert list(games.score_by_definition(kind, named, names)[0].values()) == right


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
    assert abs(float(_above(constant, steps)) - float((totals > 0).mean())) < 0.06
    inside = [(tuple(steps), -constant)]
    assert 1 - volume(inside, k, Allowance.of(None)) == _above(constant, steps)


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
