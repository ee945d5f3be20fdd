"""Scores from their definitions: the sums over all coalitions of the forest's characteristic function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import combinations
from math import comb

__all__ = ["forest_value", "score_by_definition"]

_MOST_PLAYERS = 9

Weighted = Mapping[frozenset[str], Fraction]


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


def score_by_definition(kind: str, weighted: Weighted, names: tuple[str, ...]) -> tuple[dict[str, Fraction], str]:
    """Return the Shapley or Banzhaf value of each feature in the forest's game, and how it was computed.

    Notes
    -----
    All coalitions of the features that occur, if there are at most nine; else CXp by CXp: the value of a game is the
    sum of the values of its parts, and the game of one CXp shares its weight among its members alike.
    """
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
    return Fraction(1, (others + 1) * comb(others, size)) if kind == "shapley" else Fraction(1, 2**others)


def _by_parts(kind: str, weighted: Weighted, players: list[str]) -> dict[str, Fraction]:
    found = {n: Fraction(0) for n in players}
    for cxp, weight in ((cxp, weight) for cxp, weight in weighted.items() if cxp):
        # a member counts exactly when it is the first to come, or when no other is there
        part = weight / len(cxp) if kind == "shapley" else weight / 2 ** (len(cxp) - 1)
        for name in cxp:
            found[name] += part / len(weighted)
    return found
