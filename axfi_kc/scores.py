"""AxFi scores in closed form.

Fixing features excludes adversarial examples; a score says how much of that each feature does.
Both are power indices of the CXp-Forest's characteristic function, and because that function is
a sum of "does S meet Y", both have a closed form.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.engines import Found
from axfi_kc.errors import WeightError
from axfi_kc.families import SetFamily, WeightedDag
from axfi_kc.forest import CXpForest, SharedForest
from axfi_kc.sets import features_of

__all__ = ["KINDS", "banzhaf_like", "score", "score_numerators", "shapley_like"]

KINDS = ("shapley", "banzhaf")
_INT64 = 2**63

_ZERO = Fraction(0)


def shapley_like(forest: CXpForest | SharedForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the Shapley-like score of each feature.

    The score of j is (1/n) times the sum of ``w(Y) / |Y|`` over the CXps Y that contain j: the
    Shapley value of the forest.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear in the total size of the CXps; of a shared forest, its arcs times the sizes of CXps.

    Examples
    --------
    >>> forest = CXpForest.of({("x1", "x2"): 1, ("x1", "x3"): 4, ("x2", "x3"): 2}, features=["x1", "x2", "x3"])
    >>> shapley_like(forest)
    {'x1': Fraction(5, 6), 'x2': Fraction(1, 2), 'x3': Fraction(1, 1)}
    """
    return score(forest, "shapley", budget=budget)


def banzhaf_like(forest: CXpForest | SharedForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the Banzhaf-like score of each feature.

    The score of j is (1/n) times the sum of ``w(Y) / 2**(|Y| - 1)`` over the CXps Y that contain
    j: the Banzhaf index of the forest.

    Raises
    ------
    BudgetError
        If the budget was spent.

    Notes
    -----
    Linear in the total size of the CXps; of a shared forest, its arcs times the sizes of CXps.

    Examples
    --------
    >>> banzhaf_like(CXpForest.of({("a", "b", "c"): 1}, features="abc"))
    {'a': Fraction(1, 4), 'b': Fraction(1, 4), 'c': Fraction(1, 4)}
    """
    return score(forest, "banzhaf", budget=budget)


def score(forest: CXpForest | SharedForest, kind: str, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the score called `kind` (``"shapley"`` or ``"banzhaf"``) of each feature."""
    account = Account(budget, goal="score", advice="allow more, or limit max_size")
    if isinstance(forest, SharedForest):
        totals, whole = _spread_shared(forest.family, forest.dag, kind, len(forest.features), account)
    else:
        totals, whole = _spread(forest, kind, account)
    return {name: Fraction(t, whole) if t else _ZERO for name, t in zip(forest.features, totals, strict=True)}


def _shares(kind: str, sizes: Iterable[int]) -> tuple[dict[int, int], int]:
    """Return for each size of a CXp what a member gets of its weight, over a common denominator."""
    if kind not in KINDS:
        raise WeightError(f"The score must be one of {', '.join(map(repr, KINDS))}, but {kind!r} was given; name one.")
    distinct = set(sizes)
    if kind == "shapley":
        common = lcm(*distinct)
        return {size: common // size for size in distinct}, common
    largest = max(distinct, default=1)
    return {size: 1 << largest - size for size in distinct}, 1 << largest - 1


def _spread(forest: CXpForest, kind: str, account: Account) -> tuple[list[int], int]:
    """Return each feature's score as an integer, and what these are divided by."""
    share, common = _shares(kind, (m.bit_count() for m in forest.masks))
    totals = [0] * len(forest.features)
    for mask, numerator in account.paced(zip(forest.masks, forest.numerators, strict=True)):
        part = numerator * share[mask.bit_count()]
        for i in features_of(mask):
            totals[i] += part
    return totals, forest.denominator * common * (len(forest) or 1)


def _spread_shared(
    family: SetFamily, dag: WeightedDag, kind: str, n_features: int, account: Account | None = None
) -> tuple[list[int], int]:
    """Return each feature's score as an integer, and what these are divided by, without listing a CXp."""
    sizes = family.dag.numerators_within(account)
    share, common = _shares(kind, sizes)
    largest = max(sizes, default=0)
    totals = dag.spread({size: part * dag.whole ** (largest - size) for size, part in share.items()}, account=account)
    return [totals.get(i, 0) for i in range(n_features)], common * dag.whole**largest * (family.count or 1)


def score_numerators(found: Found, kind: str) -> tuple[npt.NDArray[Any], list[int]]:
    """Return the scores of a batch as integers over one denominator per instance.

    The score of feature i at instance n is exactly ``numerators[n, i] / denominators[n]``. This
    is the fast form of :func:`score`, which makes Fractions of it.

    Notes
    -----
    Vectorised in int64 where a bound shows that nothing can overflow, else in Python integers.
    """
    numerators, denominators = _listed_numerators(found, kind)
    if found.large:
        numerators = numerators.astype(object)
    for n, sets in found.large.items():
        numerators[n], denominators[n] = _spread_shared(sets.family, sets.dag, kind, numerators.shape[1])
    return numerators, denominators


def _listed_numerators(found: Found, kind: str) -> tuple[npt.NDArray[Any], list[int]]:
    sizes = np.bitwise_count(found.words).sum(axis=1, dtype=np.int64)
    numbers = np.maximum(np.diff(found.starts), 1)
    share, common = _shares(kind, sizes.tolist())
    whole = prod(found.wholes)
    most = max(map(int, found.totals), default=0) if found.kind == "count" else 1
    if (
        found.divisors is not None
        or found.totals.dtype == object
        or whole * common * most * int(numbers.max(initial=1)) >= _INT64
    ):
        return _wide_numerators(found, share, common)
    outside = np.where(found.members, 1, np.array(found.wholes, dtype=np.int64)).prod(axis=1)
    parts = found.totals * outside * np.array([share[s] for s in sizes.tolist()], dtype=np.int64)
    below = np.zeros((len(parts) + 1, found.members.shape[1]), dtype=np.int64)
    np.cumsum(found.members * parts[:, np.newaxis], axis=0, out=below[1:])
    return below[found.starts[1:]] - below[found.starts[:-1]], [whole * common * n for n in numbers.tolist()]


def _wide_numerators(found: Found, share: dict[int, int], common: int) -> tuple[npt.NDArray[Any], list[int]]:
    weights, wholes = found.scaled
    numbers, n_features = np.diff(found.starts), found.members.shape[1]
    row, feature = np.nonzero(found.members)
    parts = np.array(weights, dtype=object) * np.array([share[s] for s in found.members.sum(axis=1).tolist()], object)
    cell = np.repeat(np.arange(len(found)), numbers)[row] * n_features + feature
    order = np.argsort(cell, kind="stable")
    cells, first = np.unique(cell[order], return_index=True)
    numerators = np.zeros(len(found) * n_features, dtype=object)
    if len(cells):
        numerators[cells] = np.add.reduceat(parts[row[order]], first)
    denominators = [w * common * (n or 1) for w, n in zip(wholes, numbers.tolist(), strict=True)]
    return numerators.reshape(len(found), n_features), denominators
