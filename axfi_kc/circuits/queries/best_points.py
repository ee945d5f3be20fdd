"""The heaviest points of a circuit: the most probable explanation, and the k best."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import islice
from sys import maxsize
from typing import Any

from axfi_kc.arguments import checked, is_whole, quoted
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in
from axfi_kc.circuits.queries.determinism import require_deterministic
from axfi_kc.circuits.queries.marginals import Box, Worths, integer_worths
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.errors import CircuitError
from axfi_kc.families.masks import features_of

__all__ = ["WeightedPoint", "best_point", "best_points"]


@dataclass(frozen=True, slots=True)
class WeightedPoint:
    """A point and what it is worth.

    Attributes
    ----------
    cells
        A cell per feature.
    weight
        The product of what the cells are worth.
    """

    cells: tuple[int, ...]
    weight: Fraction


# A way to satisfy a node: what it is worth, and its choices, a pair of such trees or a feature with a cell.
_Way = tuple[int, Any]
_Ways = list[_Way]
_NONE: _Ways = [(1, None)]


@checked("worths", "given", "budget")
def best_point(
    circuit: Form, worths: Worths = None, *, given: Box = None, budget: Budget | None = None
) -> WeightedPoint | None:
    """Return a point of a decomposable circuit whose cells are worth most; None if no point is worth anything.

    With the cells' probabilities this is the most probable explanation of what is `given`.

    Parameters
    ----------
    circuit
        Decomposable; it need not be deterministic.
    worths, given, budget
        As in :func:`~axfi_kc.circuits.queries.marginals`.

    Notes
    -----
    One pass over the circuit; see :func:`best_points`.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1, weights=[1, 3])])))
    >>> either = build.circuit(build.decision(0, [([0, 1], build.literal(1, [0])), ([2], build.true)]))
    >>> best_point(either)
    WeightedPoint(cells=(2, 1), weight=Fraction(1, 4))
    """
    return next(iter(best_points(circuit, 1, worths, given=given, budget=budget)), None)


@checked("worths", "given", "budget")
def best_points(
    circuit: Form, k: int, worths: Worths = None, *, given: Box = None, budget: Budget | None = None
) -> list[WeightedPoint]:
    """Return the k points of a circuit whose cells are worth most, the heaviest first.

    Parameters
    ----------
    circuit
        Decomposable. If k is above 1, also deterministic, so that no point is listed twice.
    k
        How many; there may be fewer, as points that are worth nothing are left out.
    worths, given, budget
        As in :func:`~axfi_kc.circuits.queries.marginals`.

    Raises
    ------
    CircuitError
        If k is not a whole number from 1 up, the worths do not fit, or the circuit is not decomposable. If k is above
        1: if the circuit is seen not to be deterministic.

    Notes
    -----
    One pass over the circuit that keeps the k best ways to satisfy each node, so k times as long as for one, with
    sorting. Of points that are worth the same, which ones come first is not said, but it is the same every time.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1, weights=[1, 3])])))
    >>> [point.cells for point in best_points(build.circuit(build.literal(0, [1, 2])), 2)]
    [(1, 1), (2, 1)]
    """
    if not is_whole(k) or not 1 <= k <= maxsize:
        raise CircuitError(
            f"How many points are wanted is a whole number from 1 up, but {quoted(k)} was given; correct it."
        )
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "consistency")
    if k > 1:
        require_deterministic(circuit, "counting")
    rows, scale = integer_worths(circuit, worths, given)
    ways = _Best(circuit, rows, k).ways(budget)
    return [WeightedPoint(_cells(choices, len(rows)), Fraction(worth, scale)) for worth, choices in ways]


class _Best:
    """One pass over a circuit: for each node its best ways and the features they set."""

    def __init__(self, circuit: Circuit, rows: list[list[int]], k: int) -> None:
        self._circuit, self._k = circuit, k
        self._cell_ways = [
            sorted(((w, (i, c)) for c, w in enumerate(row) if w), key=_heavier) for i, row in enumerate(rows)
        ]
        self._of_label: dict[tuple[int, int], _Ways] = {}
        self._filled: dict[int, _Ways] = {0: _NONE}

    def ways(self, budget: Budget | None) -> _Ways:
        """Return the best ways of the root, all features set."""
        n = len(self._cell_ways)
        root = self._circuit.fold(
            decision=self._decision,
            conjunction=lambda below: (reduce(self._pairs, [w for w, _ in below]), _scope(below)),
            disjunction=self._disjunction,
            false=([], 0),
            true=(_NONE, 0),
            account=account_of(budget),
            forget=True,
        )[-1]
        return self._lifted(root, (1 << n) - 1)

    def _decision(self, feature: int, labels: list[int], below: list[tuple[_Ways, int]]) -> tuple[_Ways, int]:
        scope = _scope(below)
        parts = [
            self._pairs(self._label(feature, label), self._lifted(part, scope))
            for label, part in zip(labels, below, strict=True)
        ]
        return self._merged(parts), scope | 1 << feature

    def _disjunction(self, below: list[tuple[_Ways, int]]) -> tuple[_Ways, int]:
        scope = _scope(below)
        return self._merged([self._lifted(part, scope) for part in below]), scope

    def _merged(self, parts: Sequence[_Ways]) -> _Ways:
        return list(islice(heapq.merge(*parts, key=_heavier), self._k))

    def _label(self, feature: int, label: int) -> _Ways:
        if (feature, label) not in self._of_label:
            inside = set(self._circuit.cell_sets[label])
            own = [way for way in self._cell_ways[feature] if way[1][1] in inside]
            self._of_label[feature, label] = own[: self._k]
        return self._of_label[feature, label]

    def _lifted(self, part: tuple[_Ways, int], wanted: int) -> _Ways:
        """Return the ways with the best cells of the features that are wanted and not set."""
        missing = wanted & ~part[1]
        if missing not in self._filled:
            cells = (self._cell_ways[i][: self._k] for i in features_of(missing))
            self._filled[missing] = reduce(self._pairs, cells)
        return part[0] if not missing else self._pairs(part[0], self._filled[missing])

    def _pairs(self, a: _Ways, b: _Ways) -> _Ways:
        """Return the best combinations of a way of each; both are sorted, so the next best has a neighbour before."""
        if not a or not b:
            return []
        if self._k == 1:
            return [(a[0][0] * b[0][0], (a[0][1], b[0][1]))]
        found: _Ways = []
        waiting = [(-a[0][0] * b[0][0], 0, 0)]
        while waiting and len(found) < self._k:
            worth, i, j = heapq.heappop(waiting)
            found.append((-worth, (a[i][1], b[j][1])))
            if j + 1 < len(b):
                heapq.heappush(waiting, (-a[i][0] * b[j + 1][0], i, j + 1))
            # A row of combinations is opened by its first one only, so that none is met twice.
            if j == 0 and i + 1 < len(a):
                heapq.heappush(waiting, (-a[i + 1][0] * b[0][0], i + 1, 0))
        return found


def _heavier(way: _Way) -> int:
    return -way[0]


def _scope(below: Iterable[tuple[_Ways, int]]) -> int:
    found = 0
    for _, scope in below:
        found |= scope
    return found


def _cells(choices: Any, n: int) -> tuple[int, ...]:
    """Return the cells that a tree of choices sets (no recursion)."""
    found, stack = [0] * n, [choices]
    while stack:
        choice = stack.pop()
        if choice is None:
            continue
        first, second = choice
        if isinstance(first, int):
            found[first] = second
        else:
            stack += [first, second]
    return tuple(found)
