"""Scores and duality from their definitions: sums over all coalitions or sets, and who hits what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from axfi_kc.verification.report import Allowance

__all__ = [
    "INTERACTIONS",
    "KINDS",
    "contained",
    "forest_value",
    "interaction_by_definition",
    "missed",
    "score_by_definition",
    "uncovered",
]


_MOST_PLAYERS = 9  # of the forest's game, whose values are Fractions
_MOST_VOTERS = 20  # of the game of weak AXps, whose values are bits
_MOST_MEETINGS, _FEW_MEETINGS = 1 << 28, 1 << 20  # of a coalition with a CXp
_FOREST = ("shapley", "banzhaf")
_SHARES = ("ffa", "wffa", "responsibility", "deegan_packel", "holler_packel")
_VOTES = ("shapley_shubik", "banzhaf_waxp")
KINDS = (*_FOREST, *_SHARES, *(f"{kind}_cxp" for kind in _SHARES), *_VOTES)
"""The scores whose definitions are known here."""
INTERACTIONS = ("shapley", "banzhaf", "moebius", "k_shapley", "taylor", "faith")
"""The interactions likewise."""

Weighted = Mapping[frozenset[str], Fraction]
Family = Collection[frozenset[str]]
Scored = tuple[dict[str, Fraction], str]


def forest_value(weighted: Weighted, S: Iterable[str]) -> Fraction:
    """Return the characteristic function of the CXp-Forest: the mean weight of the CXps that `S` meets.

    Examples
    --------
    >>> forest_value({frozenset("ab"): Fraction(1), frozenset("c"): Fraction(3)}, "a")
    Fraction(1, 2)
    """
    chosen = frozenset(S)
    met = sum((w for cxp, w in weighted.items() if cxp & chosen), Fraction(0))
    return met / len(weighted) if weighted else Fraction(0)


def interaction_by_definition(kind: str, weighted: Weighted) -> dict[frozenset[str], Fraction] | None:
    """Return the interaction of each two features that is not 0, CXp by CXp; None for a kind that is not known here.

    Of the game "does S meet Y" two members of Y together have the derivative -1 where S meets nothing else of Y, and 0
    elsewhere: with probability 1/(|Y| - 1) over orders, 1/2^(|Y| - 2) over coalitions, and surely for no others. Of
    indices of up to two features, k-Shapley's is that over orders, and Shapley-Taylor's gives the sets S that meet
    nothing of Y 2/|Y|. For the faithful one, the size s of S's part of Y decides, and with -6/(|Y| (|Y| + 1)) a
    parabola in s is nearest to the game in Shapley's weights, 1/(s (|Y| - s)), of those that are exact at 0 and |Y|.

    Examples
    --------
    >>> interaction_by_definition("banzhaf", {frozenset("abc"): Fraction(1)})[frozenset("ab")]
    Fraction(-1, 2)
    """
    if kind not in INTERACTIONS:
        return None
    found: dict[frozenset[str], Fraction] = {}
    for cxp, weight in weighted.items():
        size = len(cxp)
        divisors = {
            "shapley": Fraction(size - 1),
            "banzhaf": Fraction(2) ** (size - 2),
            "moebius": Fraction(1),
            "k_shapley": Fraction(size - 1),
            "taylor": Fraction(size, 2),
            "faith": Fraction(size * (size + 1), 6),
        }
        for pair in combinations(sorted(cxp), 2):
            key = frozenset(pair)
            found[key] = found.get(key, Fraction(0)) - weight / divisors[kind] / len(weighted)
    return {pair: value for pair, value in found.items() if value}


def score_by_definition(
    kind: str, weighted: Weighted, names: tuple[str, ...], axps: Family | None = None, *, hurry: bool = False
) -> Scored | None:
    """Return the score of each feature, and how it was computed; None where that is not possible.

    In a hurry, games that take more than a moment are not possible either.

    Notes
    -----
    The forest's game: all coalitions of the features that occur, if there are at most nine; else CXp by CXp. The
    game of weak AXps: all coalitions of at most twenty features. Scores of a family: the sum over its sets.

    Examples
    --------
    >>> two = {frozenset("ab"): Fraction(1), frozenset("ac"): Fraction(1)}
    >>> score_by_definition("shapley_shubik", two, ("a", "b", "c"))[0]["a"]
    Fraction(2, 3)
    """
    if kind in _FOREST:
        return _of_forest(kind, weighted, names)
    if kind in _VOTES:
        return _of_votes(kind, weighted, names, _FEW_MEETINGS if hurry else _MOST_MEETINGS)
    name = kind.removesuffix("_cxp")
    family = weighted.keys() if name != kind else axps
    if name not in _SHARES or family is None:
        return None
    return _shares(name, family, names), "definition, over all sets of the family"


def _of_forest(kind: str, weighted: Weighted, names: tuple[str, ...]) -> Scored:
    # Features in no CXp are dummies: they score 0 and change nobody's score.
    players = [n for n in names if any(n in cxp for cxp in weighted)]
    zero = {n: Fraction(0) for n in names}
    if len(players) > _MOST_PLAYERS:
        return zero | _by_parts(kind, weighted, players), "sum over the CXps of the value of each one's game"
    values = {S: forest_value(weighted, S) for k in range(len(players) + 1) for S in _subsets(players, k)}
    found = {}
    for name in players:
        others = [n for n in players if n != name]
        found[name] = sum(
            (
                _factor(kind, k, len(others)) * (values[S | {name}] - values[S])
                for k in range(len(others) + 1)
                for S in _subsets(others, k)
            ),
            Fraction(0),
        )
    return zero | found, "definition, over all coalitions"


def _subsets(names: list[str], size: int) -> Iterable[frozenset[str]]:
    return map(frozenset, combinations(names, size))


def _factor(kind: str, size: int, others: int) -> Fraction:
    """Return the weight of a coalition of that size of the other players."""
    return Fraction(1, (others + 1) * comb(others, size)) if kind.startswith("shapley") else Fraction(1, 2**others)


def _by_parts(kind: str, weighted: Weighted, players: list[str]) -> dict[str, Fraction]:
    """Add up the values of the parts of a game: that of one CXp shares its weight among its members alike."""
    found = {n: Fraction(0) for n in players}
    for cxp, weight in ((cxp, weight) for cxp, weight in weighted.items() if cxp):
        # a member counts exactly when it is the first to come, or when no other is there
        part = weight / len(cxp) if kind == "shapley" else weight / 2 ** (len(cxp) - 1)
        for name in cxp:
            found[name] += part / len(weighted)
    return found


def _of_votes(kind: str, cxps: Collection[frozenset[str]], names: tuple[str, ...], most: int) -> Scored | None:
    """Return the index of the game in which a coalition wins if it meets every CXp."""
    players = [n for n in names if any(n in cxp for cxp in cxps)]
    zero = {n: Fraction(0) for n in names}
    # Both limits are of what is kept in memory and gone through: all coalitions, once per CXp.
    if len(players) > _MOST_VOTERS or len(cxps) << len(players) > most:
        return None
    coalitions = np.arange(1 << len(players), dtype=np.int64)
    wins = np.ones(len(coalitions), dtype=np.bool_)
    for cxp in cxps:
        # A coalition and a CXp meet iff their bits do.
        wins &= (coalitions & sum(1 << k for k, n in enumerate(players) if n in cxp)) != 0
    sizes = np.bitwise_count(coalitions)
    for k, name in enumerate(players):
        without = coalitions[coalitions >> k & 1 == 0]
        # Winning with the player but not without. Adding one never loses, since the game is monotone.
        swings = without[wins[without | 1 << k] & ~wins[without]]
        counts = enumerate(np.bincount(sizes[swings]).tolist())
        zero[name] = sum((n * _factor(kind, s, len(players) - 1) for s, n in counts), Fraction(0))
    return zero, "definition, over all coalitions"


def _shares(kind: str, family: Family, names: tuple[str, ...]) -> dict[str, Fraction]:
    """Return what each feature has of a family of sets."""
    sizes: dict[str, Counter[int]] = {n: Counter() for n in names}
    for s in family:
        for n in s:
            sizes[n][len(s)] += 1
    places = sum(map(len, family))
    return {n: _share(kind, found, len(family), places) if found else Fraction(0) for n, found in sizes.items()}


def _share(kind: str, sizes: Counter[int], number: int, places: int) -> Fraction:
    """Return a feature's share, from how many sets of each size contain it."""
    if kind == "ffa":
        return Fraction(sizes.total(), number)
    if kind == "responsibility":
        # Only the smallest set that contains the feature counts.
        return Fraction(1, min(sizes))
    if kind == "holler_packel":
        return Fraction(sizes.total(), places)
    return sum((Fraction(n, size) for size, n in sizes.items()), Fraction(0)) / number  # Deegan-Packel, WFFA


def contained(family: Iterable[int], allowance: Allowance) -> tuple[int, int] | None:
    """Return two sets of a family of which the first is part of the second; None if there are none."""
    listed = sorted(family, key=int.bit_count)
    for k, large in enumerate(listed):
        allowance.tick()
        small = next((s for s in listed[:k] if s & large == s), None)
        if small is not None:
            return small, large
    return None


def missed(family: Iterable[int], others: Iterable[int], allowance: Allowance) -> tuple[int, int] | None:
    """Return a set of each family that do not meet; None if all meet."""
    listed = list(others)
    for a in family:
        allowance.tick()
        apart = next((b for b in listed if not a & b), None)
        if apart is not None:
            return a, apart
    return None


def uncovered(cxps: Iterable[int], axps: Iterable[int], everything: int, allowance: Allowance) -> int | None:
    """Return a set that contains no CXp and whose complement contains no AXp; None if there is none.

    If also every CXp meets every AXp and no set contains another of its family, then None means that each family
    consists of exactly the minimal hitting sets of the other.

    Notes
    -----
    The decomposition of Fredman and Khachiyan, on the most frequent feature: with and without it in the set, and
    both families reduced to what is left to decide.

    Examples
    --------
    >>> from axfi_kc.budget import Budget
    >>> uncovered([0b011, 0b110], [0b010, 0b101], 0b111, Allowance.of(Budget()))
    >>> uncovered([0b011, 0b110], [0b010], 0b111, Allowance.of(Budget())) is None
    False
    """
    stack = [(tuple(cxps), tuple(axps), everything, 0)]
    while stack:
        ours, theirs, rest, chosen = stack.pop()
        allowance.spend()
        if 0 in ours or 0 in theirs:
            continue
        if not ours or not theirs:
            return chosen | (rest if not ours else 0)
        counts = Counter(bit for family in (ours, theirs) for s in family for bit in _bits(s))
        bit = max(counts, key=lambda b: (counts[b], -b))
        after = rest & ~bit
        inside = (_minimal(s & ~bit for s in ours), tuple(s for s in theirs if not s & bit), after, chosen | bit)
        outside = (tuple(s for s in ours if not s & bit), _minimal(s & ~bit for s in theirs), after, chosen)
        stack += [inside, outside]
    return None


def _bits(mask: int) -> Iterable[int]:
    while mask:
        yield mask & -mask
        mask &= mask - 1


def _minimal(family: Iterable[int]) -> tuple[int, ...]:
    kept: list[int] = []
    for s in sorted(set(family), key=int.bit_count):
        if not any(k & s == k for k in kept):
            kept.append(s)
    return tuple(kept)
