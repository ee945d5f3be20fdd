"""Linear programs in exact arithmetic: whether several linear functions can be positive at one point of a box."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ["can_all_be_positive"]


_ZERO, _ONE = Fraction(0), Fraction(1)
Row = list[Fraction]


def can_all_be_positive(
    constants: Sequence[Fraction], steps: Sequence[Sequence[Fraction]], strict: Sequence[bool]
) -> bool:
    """Tell whether some u in the unit cube makes all ``constant + steps . u`` positive.

    Parameters
    ----------
    constants, steps
        Of each function.
    strict
        Of each, whether 0 is not enough.

    Notes
    -----
    First the corners that are best for one function, or for all together; then the simplex method with Bland's rule, in
    Fractions: rows times columns per step, a step per corner of the polytope on the way.

    Examples
    --------
    Above 1/2 and below 1/2 at once, or at least and at most:

    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> can_all_be_positive([-half, half], [[one], [-one]], [True, True])
    False
    >>> can_all_be_positive([-half, half], [[one], [-one]], [False, False])
    True
    """

    def holds(u: Sequence[int]) -> bool:
        totals = (c + sum(s for s, x in zip(row, u, strict=True) if x) for c, row in zip(constants, steps, strict=True))
        return all(t > 0 or (t == 0 and not is_strict) for t, is_strict in zip(totals, strict, strict=True))

    best = [c + sum(s for s in row if s > 0) for c, row in zip(constants, steps, strict=True)]
    if any(b < 0 or (b == 0 and is_strict) for b, is_strict in zip(best, strict, strict=True)):
        return False
    together = [sum(column, _ZERO) for column in zip(*steps, strict=True)]
    if any(holds([int(s > 0) for s in row]) for row in (together, *steps)):
        return True
    return _by_simplex(constants, steps, strict)


def _by_simplex(constants: Sequence[Fraction], steps: Sequence[Sequence[Fraction]], strict: Sequence[bool]) -> bool:
    """Tell whether the largest r with ``constant + steps . u >= r`` wherever that is strict, else 0, is positive."""
    n = len(steps[0])
    rows = [[*(-s for s in row), _ONE * is_strict] for row, is_strict in zip(steps, strict, strict=True)]
    rows += [[_ONE * (i == j) for j in range(n + 1)] for i in range(n + 1)]  # u and r are at most 1
    largest = _largest(rows, [*constants, *[_ONE] * (n + 1)])
    return largest is not None and largest > 0


def _largest(rows: list[Row], limits: Sequence[Fraction]) -> Fraction | None:
    """Return the largest last variable where ``rows . x <= limits`` and x >= 0; None: there is no such x."""
    m, n = len(rows), len(rows[0])
    # One column more takes the rows that fail at 0 below their limits; it has to become 0 again.
    table = [[*row, -_ONE, limit] for row, limit in zip(rows, limits, strict=True)]
    basis = [n + 1 + k for k in range(m)]
    table = [[*row[:-1], *(_ONE * (k == j) for j in range(m)), row[-1]] for k, row in enumerate(table)]
    worst = min(range(m), key=lambda k: table[k][-1])
    if table[worst][-1] < 0:
        _pivot(table, basis, worst, n)
        _climb(table, basis, [-_ONE * (j == n) for j in range(n + 1 + m)])
        if n in basis:
            at = basis.index(n)
            if table[at][-1] > 0:
                return None
            # It is 0 but still in the basis: anything else may take its place.
            _pivot(table, basis, at, next(j for j, a in enumerate(table[at][:-1]) if a and j != n))
    for row in table:
        row[n] = _ZERO  # never again
    return _climb(table, basis, [_ONE * (j == n - 1) for j in range(n + 1 + m)])


def _climb(table: list[Row], basis: list[int], aim: Row) -> Fraction:
    """Go from corner to corner, by the first column that helps, to where the aim is largest; return that."""
    while True:
        columns = range(len(aim))
        gains = ([aim[b] for b in basis], aim)
        entering = next(
            (
                j
                for j in columns
                if j not in basis
                and gains[1][j] > sum(c * r[j] for c, r in zip(gains[0], table, strict=True) if c and r[j])
            ),
            None,
        )
        if entering is None:
            return sum((aim[b] * row[-1] for b, row in zip(basis, table, strict=True)), _ZERO)
        bounded = [(row[-1] / row[entering], basis[k], k) for k, row in enumerate(table) if row[entering] > 0]
        _pivot(table, basis, min(bounded)[2], entering)  # every variable is bounded, so there is one


def _pivot(table: list[Row], basis: list[int], k: int, j: int) -> None:
    """Let variable j take the place of the one that row k stands for."""
    inverse = 1 / table[k][j]
    table[k] = pivot = [x * inverse if x else x for x in table[k]]
    basis[k] = j
    for other, row in enumerate(table):
        factor = row[j]
        if other != k and factor:
            table[other] = [x - factor * p if p else x for x, p in zip(row, pivot, strict=True)]
