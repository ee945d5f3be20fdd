"""Sums of products of tables, exactly: variable elimination in integers.

A *factor* is a table over a few variables, an axis each. The sum over some variables of a product of factors is found
by taking one variable after the other: the factors that mention it are multiplied, and it is summed out. Which comes
next decides what it costs; the one that joins the fewest variables that were not joined yet is taken (min-fill).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.errors import DomainError

__all__ = ["Factor", "elimination_order", "multiplied", "summed_out"]


LARGEST_TABLE = 1 << 22
"""Entries of one table, given or met on the way."""


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A table of exact numbers (Python's own, so of any length) over variables.

    Attributes
    ----------
    scope
        The variables, by number, each once.
    values
        An axis for each of them.
    """

    scope: tuple[int, ...]
    values: npt.NDArray[Any]


def elimination_order(scopes: Iterable[Collection[int]], gone: Collection[int]) -> list[int]:
    """Return the variables `gone` in a min-fill order; ties by the number of neighbours, then by the variable's number.

    Examples
    --------
    A chain 0 - 1 - 2 - 3, from its ends:

    >>> elimination_order([(0, 1), (1, 2), (2, 3)], [0, 1, 2, 3])
    [0, 1, 2, 3]
    """
    near: dict[int, set[int]] = {i: set() for i in gone}
    for scope in scopes:
        for i in scope:
            near.setdefault(i, set()).update(scope)
    for i, others in near.items():
        others.discard(i)
    left, order = set(gone), list[int]()
    while left:
        best = min(left, key=lambda i: (_fill(i, near), len(near[i]), i))
        for a in near[best]:
            near[a] |= near[best]
            near[a] -= {a, best}
        del near[best]
        left.remove(best)
        order.append(best)
    return order


def _fill(i: int, near: Mapping[int, set[int]]) -> int:
    """Return how many pairs of neighbours taking a variable out would join."""
    return sum(b not in near[a] for a, b in combinations(near[i], 2))


def multiplied(factors: Sequence[Factor]) -> Factor:
    """Return the product of factors as one.

    Examples
    --------
    >>> a = Factor((0,), np.array([1, 2], dtype=object))
    >>> multiplied([a, Factor((1, 0), np.array([[1, 10], [5, 7]], dtype=object))]).values.tolist()
    [[1, 5], [20, 14]]
    """
    scope = tuple(dict.fromkeys(i for factor in factors for i in factor.scope))
    sizes = {i: n for factor in factors for i, n in zip(factor.scope, factor.values.shape, strict=True)}
    size = 1
    for n in sizes.values():
        size *= n
    if size > LARGEST_TABLE:
        raise DomainError(
            f"A table of {size} entries would be needed on the way, and {LARGEST_TABLE} are allowed; use a network "
            "whose variables have fewer states or depend on fewer others."
        )
    product = np.ones((1,) * len(scope), dtype=object)
    for factor in factors:
        product = product * _aligned(factor, scope)
    return Factor(scope, product)


def _aligned(factor: Factor, scope: Sequence[int]) -> npt.NDArray[Any]:
    """Return a factor's table with an axis for each variable of a larger scope, of length 1 where it has none."""
    own = {i: k for k, i in enumerate(factor.scope)}
    inside = [own[i] for i in scope if i in own]
    shape = [factor.values.shape[own[i]] if i in own else 1 for i in scope]
    return factor.values.transpose(inside).reshape(shape)


def summed_out(factors: Iterable[Factor], order: Iterable[int]) -> list[Factor]:
    """Return factors whose product is that of `factors`, summed over the variables of `order`, taken in this order.

    Raises
    ------
    DomainError
        If a table on the way would be too large.

    Notes
    -----
    Exponential in the most variables that meet in one product.

    Examples
    --------
    >>> a = Factor((0,), np.array([1, 2], dtype=object))
    >>> b = Factor((0, 1), np.array([[1, 10], [5, 7]], dtype=object))
    >>> [(f.scope, f.values.tolist()) for f in summed_out([a, b], [0])]
    [((1,), [11, 24])]
    """
    left = list(factors)
    for i in order:
        meeting = [factor for factor in left if i in factor.scope]
        if not meeting:
            continue
        left = [factor for factor in left if i not in factor.scope]
        joined = multiplied(meeting)
        axis = joined.scope.index(i)
        rest = np.asarray(joined.values.sum(axis=axis), dtype=object)
        left.append(Factor(joined.scope[:axis] + joined.scope[axis + 1 :], rest))
    return left
