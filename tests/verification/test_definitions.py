"""The checker's own duality and scores, against brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import factorial
from random import Random

import pytest

from axfi_kc.budget import Budget
from axfi_kc.verification import definitions as games
from axfi_kc.verification.definitions import contained, missed, uncovered
from axfi_kc.verification.report import Allowance, Spent
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
