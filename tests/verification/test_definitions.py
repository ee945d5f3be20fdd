"""The checker's own algorithms against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import factorial
from random import Random

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.verification import definitions as games
from axfi_kc.verification.allowance import Allowance, Spent
from axfi_kc.verification.definitions import contained, missed, uncovered
from axfi_kc.verification.linear_proofs import _above, volume
from axfi_kc.verification.reading.columns import Seen, Zeroed, cuts_of, fits, goes_left
from axfi_kc.verification.spaces import pieces_of, single_precision
from tests.support.oracle import banzhaf, hitting_value, shapley

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
    free = Allowance.of(None)
    assert contained(cxps, free) is contained(axps, free) is missed(cxps, axps, free) is None
    assert uncovered(cxps, axps, everything, Allowance.of(None)) is None
    for ours, theirs in ((cxps[1:], axps), (cxps, axps[1:])):
        found = uncovered(ours, theirs, everything, Allowance.of(None))
        assert found is not None
        assert not any(s & found == s for s in ours)
        assert not any(s & ~found == s for s in theirs)


def test_what_is_wrong_at_first_sight() -> None:
    free = Allowance.of(None)
    assert contained([0b011, 0b111], free) == (0b011, 0b111)
    assert missed([0b011], [0b101, 0b100], free) == (0b011, 0b100)
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


def brute_votes(kind: str, cxps: list[frozenset[str]], names: tuple[str, ...]) -> dict[str, Fraction]:
    """Count, over all orders or all coalitions, how often a feature makes a coalition meet every CXp."""
    found = dict.fromkeys(names, Fraction(0))
    if kind == "shapley_shubik":
        for order in permutations(names):
            pivot = next(n for k, n in enumerate(order) if all(c & set(order[: k + 1]) for c in cxps))
            found[pivot] += Fraction(1, factorial(len(names)))
        return found
    for name in names:
        others = [n for n in names if n != name]
        for S in (set(c) for k in range(len(names)) for c in combinations(others, k)):
            swings = all(c & (S | {name}) for c in cxps) and not all(c & S for c in cxps)
            found[name] += Fraction(int(swings), 2 ** len(others))
    return found


def brute_share(kind: str, family: list[frozenset[str]], name: str) -> Fraction:
    own = [s for s in family if name in s]
    shares = {
        "ffa": Fraction(len(own), len(family)),
        "wffa": sum((Fraction(1, len(s)) for s in own), Fraction(0)) / len(family),
        "responsibility": max((Fraction(1, len(s)) for s in own), default=Fraction(0)),
        "holler_packel": Fraction(len(own), sum(len(s) for s in family)),
    }
    return shares["wffa" if kind == "deegan_packel" else kind]


@pytest.mark.parametrize("seed", range(12))
def test_scores_of_families_and_votes_are_those_of_the_definition(seed: int) -> None:
    rng, names = Random(seed), tuple("abcdef")
    cxps = minimal([rng.randrange(1, 1 << M) for _ in range(rng.randint(1, 6))])
    named = [[frozenset(n for k, n in enumerate(names) if s >> k & 1) for s in f] for f in (cxps, hitting(cxps))]
    weighted = dict.fromkeys(named[0], Fraction(1))
    for kind in games.KINDS[2:]:
        scored = games.score_by_definition(kind, weighted, names, named[1])
        assert scored is not None
        if kind in ("shapley_shubik", "banzhaf_waxp"):
            assert scored[0] == brute_votes(kind, named[0], names)
            continue
        family = named[0 if kind.endswith("_cxp") else 1]
        assert scored[0] == {n: brute_share(kind.removesuffix("_cxp"), family, n) for n in names}
    assert games.score_by_definition("ffa", weighted, names) is None
    assert games.score_by_definition("none such", weighted, names, named[1]) is None


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


def test_splits() -> None:
    near = Zeroed((Fraction(2), True), Fraction(1, 10), left=False)
    assert [goes_left(near, x) for x in (-1, 0, 0.05, 1, 2, 3)] == [True, False, False, True, True, False]
    assert set(cuts_of(near)) == {(Fraction(2), True), (Fraction(-1, 10), False), (Fraction(1, 10), True)}
    assert list(cuts_of(frozenset([3]))) == [(Fraction(2), True), (Fraction(3), True)]
    assert not fits(frozenset([1]), Seen(0), ax.Real("r", 0, 1))
    assert not fits((Fraction(1), True), Seen(0, ("x", "y")), ax.Categorical("c", "xy"))
