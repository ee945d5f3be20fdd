"""Interactions as their definitions have them: sums over all coalitions, and least squares, in Fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import comb, factorial
from random import Random

from axfi_kc import CXpForest
from axfi_kc.families.masks import minimal_hitting_sets

Value = Callable[[int], Fraction]
Players = tuple[int, ...]
BERNOULLI = tuple(map(Fraction, ("1", "-1/2", "1/6", "0", "-1/30", "0", "1/42")))


def random_forest(rng: Random, n: int) -> CXpForest:
    """Return a forest of minimal sets, with weights of a few or of hundreds of bits, some of them 0."""
    masks = minimal_hitting_sets([rng.randrange(1, 1 << n) for _ in range(rng.randint(1, 5))])
    size = rng.choice([5, 2**40, 2**200])
    numerators = [rng.choice([0, rng.randint(1, size)]) for _ in masks]
    return CXpForest([f"x{i}" for i in range(n)], list(masks), numerators, size)


def subsets(items: Sequence[int], least: int = 0, most: int | None = None) -> Iterator[Players]:
    last = len(items) if most is None else most
    return chain.from_iterable(combinations(items, k) for k in range(least, last + 1))


def mask_of(players: Sequence[int]) -> int:
    return sum(1 << i for i in players)


def by_definition(value: Value, n: int, kind: str, order: int, up_to: int | None = None) -> dict[Players, Fraction]:
    """Return the interaction of each set of `order` players, of an index of up to `up_to`."""
    most = order if up_to is None else up_to
    if kind == "faith":
        return {T: x for T, x in _nearest(value, n, most).items() if len(T) == order}
    return {T: _one(value, n, T, kind, most) for T in combinations(range(n), order)}


def _one(value: Value, n: int, T: Players, kind: str, most: int) -> Fraction:
    others, t = tuple(i for i in range(n) if i not in T), len(T)
    if kind == "k_shapley":
        larger = ((len(R), T + R) for R in subsets(others, 0, most - t))
        return sum((BERNOULLI[r] * _one(value, n, U, "shapley", most) for r, U in larger), Fraction(0))
    if kind == "moebius" or (kind == "taylor" and t < most):
        return _derivative(value, T, ())
    weights = {
        "shapley": lambda s: Fraction(factorial(s) * factorial(n - s - t), factorial(n - t + 1)),
        "banzhaf": lambda s: Fraction(1, 2 ** (n - t)),
        "taylor": lambda s: Fraction(t, n * comb(n - 1, s)),
    }
    return sum((weights[kind](len(S)) * _derivative(value, T, S) for S in subsets(others)), Fraction(0))


def _derivative(value: Value, T: Players, S: Players) -> Fraction:
    own = mask_of(S)
    return sum(((-1) ** (len(T) - len(L)) * value(own | mask_of(L)) for L in subsets(T)), Fraction(0))


def _nearest(value: Value, n: int, most: int) -> dict[Players, Fraction]:
    """Return the sums of sets of up to `most` players nearest to a game in Shapley's weights, exact for all and none.

    A least-squares problem with one condition, solved by its Lagrange equations; the game is 0 for no players.
    """
    sets = list(subsets(range(n), 1, most))
    inside = [S for S in subsets(range(n)) if 0 < len(S) < n]
    weight = {s: Fraction(n - 1, comb(n, s) * s * (n - s)) for s in range(1, n)}
    rows = []
    for A in sets:
        chosen = [S for S in inside if set(A) <= set(S)]
        row = [sum((weight[len(S)] for S in chosen if set(B) <= set(S)), Fraction(0)) for B in sets]
        rows.append([*row, Fraction(1), sum((weight[len(S)] * value(mask_of(S)) for S in chosen), Fraction(0))])
    rows.append([*[Fraction(1)] * len(sets), Fraction(0), value((1 << n) - 1)])
    return dict(zip(sets, _solved(rows), strict=False))


def _solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """Return the solution of linear equations by elimination; the last entry of a row is its right side."""
    n = len(rows)
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k and rows[r][k]:
                factor = rows[r][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]
