"""Volumes of unions of corner simplices, exactly.

A corner simplex is ``{u >= 0 : a . u <= b}`` with a, b > 0; its volume is ``b**n / (n! * prod(a))``.
A union of several with the same corner is star-shaped around it, and splits into one part per
simplex: the points where that simplex reaches furthest. Such a part is the simplex cut by planes
through its corner, and cutting is done on edges: the zero z of a linear f on an edge between
vertices p and q, f(p) < 0 < f(q), splits a simplex into one with q replaced by z and one with p
replaced by z, whose volumes are to the whole as ``-f(p)`` and ``f(q)`` to ``f(q) - f(p)``. No
floating point, no degenerate case: vertices on a plane simply belong to both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, prod

from axfi_kc.budget import Account
from axfi_kc.errors import BudgetError

__all__ = ["share_below", "union_volume"]

_LARGEST = 20_000  # splits of one simplex

Rows = Sequence[Sequence[Fraction]]


def union_volume(rows: Rows, *, account: Account | None = None) -> Fraction:
    """Return the volume of the union of the corner simplices ``{u >= 0 : a . u <= 1}``, a in `rows`.

    Notes
    -----
    Quadratic in the dimension for one or two simplices; for more, the number of splits can grow
    exponentially in their number.

    Examples
    --------
    Two right triangles with legs 1, 2 and 2, 1 overlap in an area of 2/3:

    >>> union_volume([(Fraction(1), Fraction(1, 2)), (Fraction(1, 2), Fraction(1))])
    Fraction(4, 3)
    """
    kept = _undominated(rows)
    whole = Fraction(0)
    for a in kept:
        # Simplex a reaches furthest in direction u where (a - b) . u <= 0 for all b. Vertex i is at distance
        # 1 / a[i]; the common corner, where all functions are 0, is left out and changes no share.
        vertices = [[(a[i] - b[i]) / a[i] for b in kept if b is not a] for i in range(len(a))]
        whole += share_below(vertices, account=account) / prod(a)
    return whole / factorial(len(rows[0]))


def _undominated(rows: Rows) -> list[Sequence[Fraction]]:
    """Return the rows of the simplices that lie in no other; one of several equal ones."""
    kept: list[Sequence[Fraction]] = []
    # In lexicographic order a row that is at most another one comes before it, so one pass suffices.
    for row in sorted(set(map(tuple, rows))):
        if not any(all(x <= y for x, y in zip(other, row, strict=True)) for other in kept):
            kept.append(row)
    return kept


def share_below(vertices: Rows, *, account: Account | None = None) -> Fraction:
    """Return the part of a simplex on which several linear functions are all at most zero.

    Parameters
    ----------
    vertices
        Per vertex, the functions' values there.
    account
        Under which it is done, if there is a budget.

    Raises
    ------
    BudgetError
        If it takes more than 20,000 splits, or the budget was spent.

    Examples
    --------
    >>> share_below([(Fraction(-1),), (Fraction(3),)])
    Fraction(1, 4)
    """
    found, splits = Fraction(0), 0
    stack = [(Fraction(1), [tuple(v) for v in vertices])]
    while stack:
        share, simplex = stack.pop()
        if account is not None:
            account.look()
        open_functions = _undecided(simplex)
        # Nowhere negative but positive somewhere: zero only on the boundary, which has no volume.
        if open_functions is None:
            continue
        if len(open_functions) <= 1:
            # A single function that is left has a closed form and needs no further split.
            found += share * (_share_below_one([v[open_functions[0]] for v in simplex]) if open_functions else 1)
            continue
        splits += 1
        if splits > _LARGEST:
            raise BudgetError(
                f"The volume of a union of half-spaces needs more than {_LARGEST} splits of a simplex; "
                "restrict the CXps with max_size, or use weights='unit'.",
                nodes=splits,
            )
        stack += _split(share, simplex, open_functions)
    return found


Simplex = list[tuple[Fraction, ...]]


def _undecided(simplex: Simplex) -> list[int] | None:
    """Return the functions that change sign; None if one is nowhere negative, yet not zero."""
    found = []
    for f in range(len(simplex[0])):
        values = [v[f] for v in simplex]
        if max(values) > 0:
            if min(values) >= 0:
                return None
            found.append(f)
    return found


def _split(share: Fraction, simplex: Simplex, functions: Sequence[int]) -> list[tuple[Fraction, Simplex]]:
    """Split on an edge of the function that fewest edges cross."""

    def crossings(f: int) -> int:
        return sum(v[f] < 0 for v in simplex) * sum(v[f] > 0 for v in simplex)

    # Fewer crossings, fewer splits until the function has one sign on every part.
    f = min(functions, key=crossings)
    p = min(range(len(simplex)), key=lambda k: simplex[k][f])
    q = max(range(len(simplex)), key=lambda k: simplex[k][f])
    at_q = -simplex[p][f] / (simplex[q][f] - simplex[p][f])  # how far along the edge from p the zero lies
    zero = tuple(a + (b - a) * at_q for a, b in zip(simplex[p], simplex[q], strict=True))
    return [
        # Replacing q leaves p's piece of the edge, of length at_q; volumes are in the ratio of the pieces.
        (share * at_q, [zero if k == q else v for k, v in enumerate(simplex)]),
        (share * (1 - at_q), [zero if k == p else v for k, v in enumerate(simplex)]),
    ]


def _share_below_one(values: Sequence[Fraction]) -> Fraction:
    """Return the part of a simplex on which one function is at most zero.

    A zero at a vertex changes nothing, so after splits only the vertices left matter, and the
    splits form a grid: linear in negative times positive vertices.
    """
    negative = [v for v in values if v < 0]
    positive = [v for v in values if v > 0]
    # Shares for the first j positive vertices, one row per negative vertex: without negative ones nothing
    # lies below zero, without positive ones everything does.
    row = [Fraction(0)] * len(positive)
    for x in negative:
        left = Fraction(1)
        for k, y in enumerate(positive):
            above = row[k]
            # The same split as in `_split`, with both halves already known.
            left = (-x * left + y * above) / (y - x)
            row[k] = left
    return row[-1] if positive else Fraction(1)
