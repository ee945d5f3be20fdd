"""The value of a circuit in any commutative semiring, given by the user or one of those here.

A circuit over cells is a sum, over its points, of the product of what their cells are worth. Whatever has a sum and a
product that distributes over it can take the place of numbers: the greatest product, the shortest way, polynomials
that count points by size, numbers with their derivatives.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Generic, TypeVar

import numpy as np

from axfi_kc.arguments import called, checked, is_listable
from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, Form, circuit_in
from axfi_kc.circuits.queries.determinism import require_deterministic
from axfi_kc.circuits.queries.structure import require_decomposable
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.errors import CircuitError
from axfi_kc.families.masks import features_of

__all__ = [
    "DERIVATIVES",
    "MAX_PLUS",
    "MAX_TIMES",
    "MIN_PLUS",
    "NUMBERS",
    "POLYNOMIALS",
    "TRUTH",
    "Derivatives",
    "Polynomial",
    "Semiring",
    "counts_by_size",
    "semiring_value",
]


T = TypeVar("T")
_Scoped = tuple[Any, int]  # a value, and the features that it speaks about as an int


@dataclass(frozen=True, slots=True)
class Semiring(Generic[T]):
    """A sum and a product.

    Attributes
    ----------
    plus, times
        Associative and commutative; `times` distributes over `plus`. This is taken on trust.
    zero, one
        What they leave as it is; `zero` times anything is `zero`.
    """

    plus: Callable[[T, T], T]
    times: Callable[[T, T], T]
    zero: T
    one: T


Polynomial = tuple[Any, ...]
"""The coefficients of a polynomial in one variable, the constant first; nothing for 0."""


def _polynomial_sum(a: Polynomial, b: Polynomial) -> Polynomial:
    short, long = sorted((a, b), key=len)
    return (*(x + y for x, y in zip(short, long, strict=False)), *long[len(short) :])


def _polynomial_product(a: Polynomial, b: Polynomial) -> Polynomial:
    if not a or not b:
        return ()
    found = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for k, y in enumerate(b):
            found[i + k] += x * y
    return tuple(found)


Derivatives = tuple[Any, Mapping[Any, Any]]
"""A number with its partial derivatives, by whatever names the variables have; those that are 0 may be left out."""


def _derivative_sum(a: Derivatives, b: Derivatives) -> Derivatives:
    slopes = dict(a[1])
    for name, slope in b[1].items():
        slopes[name] = slopes.get(name, 0) + slope
    return a[0] + b[0], slopes


def _derivative_product(a: Derivatives, b: Derivatives) -> Derivatives:
    slopes = {name: slope * b[0] for name, slope in a[1].items()}
    for name, slope in b[1].items():
        slopes[name] = slopes.get(name, 0) + slope * a[0]
    return a[0] * b[0], slopes


NUMBERS: Semiring[Any] = Semiring(operator.add, operator.mul, 0, 1)
MAX_TIMES: Semiring[Any] = Semiring(max, operator.mul, 0, 1)
MAX_PLUS: Semiring[Any] = Semiring(max, operator.add, -math.inf, 0)
MIN_PLUS: Semiring[Any] = Semiring(min, operator.add, math.inf, 0)
TRUTH: Semiring[bool] = Semiring(operator.or_, operator.and_, False, True)
POLYNOMIALS: Semiring[Polynomial] = Semiring(_polynomial_sum, _polynomial_product, (), (1,))
DERIVATIVES: Semiring[Derivatives] = Semiring(_derivative_sum, _derivative_product, (0, {}), (1, {}))


@checked("semiring", "worths", "budget")
def semiring_value(
    circuit: Form,
    semiring: Semiring[T],
    worths: Sequence[Sequence[T]] | Callable[[int, int], T],
    *,
    budget: Budget | None = None,
) -> T:
    """Return the sum, over the circuit's cell vectors, of the product of what their cells are worth.

    Parameters
    ----------
    circuit
        Decomposable; and deterministic, unless ``a plus a`` is `a` (as of a maximum).
    semiring
        What sum and product are.
    worths
        For each feature a value per cell; or a function of a feature and a cell.
    budget
        What the pass may cost.

    Raises
    ------
    CircuitError
        If the worths do not fit the cells, or the circuit is not decomposable. If `plus` is not idempotent: if points
        are seen to be counted twice.

    Notes
    -----
    Linear in the circuit, in operations of the semiring. Where alternatives speak about different features, those that
    one does not mention are multiplied in, so the circuit need not be smooth; that takes an operation for each distinct
    set of them.

    Examples
    --------
    The heaviest point, in logarithms, and the number of points by how many features are 1:

    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"])))
    >>> either = build.circuit(build.decision(0, [([0], build.literal(1, [1])), ([1], build.true)]))
    >>> semiring_value(either, MAX_PLUS, [[0, -2], [0, -1], [0, 5]])
    4
    >>> semiring_value(either, POLYNOMIALS, lambda i, cell: (0, 1) if cell else (1,))
    (0, 2, 3, 1)
    """
    circuit = circuit_in(circuit)
    require_decomposable(circuit, "counting")
    if not _is_idempotent(semiring):
        require_deterministic(circuit, "counting")
    rows = _rows(circuit, worths)
    for i, _ in circuit.grid.fixed:  # set already, and no part of the products
        rows[i] = [semiring.one]
    return _Value(circuit, semiring, rows).root(budget)


def _is_idempotent(semiring: Semiring[Any]) -> bool:
    """Tell whether ``a plus a`` is always `a`, as it is if ``one plus one`` is `one`: points may then be met twice."""
    one = semiring.one
    return bool(np.array_equal(called(semiring.plus, "plus", one, one), one))


def _rows(circuit: Circuit, worths: Any) -> list[list[Any]]:
    n_cells = circuit.grid.n_cells
    if callable(worths):
        return [[called(worths, "worths", i, c) for c in range(n)] for i, n in enumerate(n_cells)]
    rows = [list(row) if is_listable(row) else [] for row in worths]
    if [len(row) for row in rows] != list(n_cells):
        raise CircuitError(
            f"Worths are one per cell of each feature, but rows of {str([len(r) for r in rows])[:60]} were given; "
            f"give rows of {str(n_cells)[:60]}."
        )
    return rows


class _Value:
    """One pass over a circuit; a node's value comes with the features it speaks about."""

    def __init__(self, circuit: Circuit, semiring: Semiring[Any], rows: list[list[Any]]) -> None:
        plus, times = (partial(called, f, n) for f, n in ((semiring.plus, "plus"), (semiring.times, "times")))
        semiring = Semiring(plus, times, semiring.zero, semiring.one)
        self._circuit, self._semiring, self._worths = circuit, semiring, rows
        self._wholes = [reduce(semiring.plus, row) for row in rows]
        self._of_label: dict[tuple[int, int], Any] = {}
        self._filled: dict[int, Any] = {0: semiring.one}

    def root(self, budget: Budget | None) -> Any:
        """Return the value of the root, of all features."""
        found = self._circuit.fold(
            decision=self._decision,
            conjunction=self._conjunction,
            disjunction=self._disjunction,
            false=(self._semiring.zero, 0),
            true=(self._semiring.one, 0),
            account=account_of(budget),
            forget=True,
        )[-1]
        return self._lifted(found, (1 << len(self._wholes)) - 1)

    def _lifted(self, part: _Scoped, wanted: int) -> Any:
        missing = wanted & ~part[1]
        if missing not in self._filled:
            self._filled[missing] = reduce(self._semiring.times, [self._wholes[i] for i in features_of(missing)])
        return part[0] if not missing else self._semiring.times(part[0], self._filled[missing])

    def _label(self, feature: int, label: int) -> Any:
        if (feature, label) not in self._of_label:
            row = self._worths[feature]
            cells = [row[c] for c in self._circuit.cell_sets[label]]
            self._of_label[feature, label] = reduce(self._semiring.plus, cells)
        return self._of_label[feature, label]

    def _decision(self, feature: int, labels: list[int], below: list[_Scoped]) -> _Scoped:
        scope = reduce(operator.or_, (s for _, s in below), 0)
        parts = [
            self._semiring.times(self._label(feature, k), self._lifted(part, scope))
            for k, part in zip(labels, below, strict=True)
        ]
        return reduce(self._semiring.plus, parts), scope | 1 << feature

    def _conjunction(self, below: list[_Scoped]) -> _Scoped:
        return reduce(self._semiring.times, [v for v, _ in below]), reduce(operator.or_, (s for _, s in below), 0)

    def _disjunction(self, below: list[_Scoped]) -> _Scoped:
        scope = reduce(operator.or_, (s for _, s in below), 0)
        return reduce(self._semiring.plus, [self._lifted(part, scope) for part in below]), scope


@checked("budget")
def counts_by_size(
    circuit: Form, *, home: Sequence[int] | None = None, budget: Budget | None = None
) -> tuple[int, ...]:
    """Return how many points of a deterministic, decomposable circuit differ from a point in 0, 1, 2, ... features.

    Parameters
    ----------
    circuit
        Whose points are counted.
    home
        The cells of the point; by default the first cells, so that points over bits are counted by how many are 1.
    budget
        What the pass may cost.

    Raises
    ------
    CircuitError
        If a feature is real, or the circuit is not decomposable.

    Notes
    -----
    Linear in the circuit, times the square of the features at worst. Within the cell of `home` all values count as
    the same.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer(name, 0, 1) for name in "abc"])))
    >>> counts_by_size(build.circuit(build.true))
    (1, 3, 3, 1)
    """
    from axfi_kc.circuits.queries.counting import point_worths

    circuit = circuit_in(circuit)
    counts = [list(row) for row in point_worths(circuit)]
    for i, _ in circuit.grid.fixed:
        counts[i] = [1] * circuit.grid.n_cells[i]
    at = [0] * len(counts) if home is None else circuit.grid.checked_point(home).tolist()
    rows = [[(n,) if c == at[i] else (0, n) for c, n in enumerate(row)] for i, row in enumerate(counts)]
    found = semiring_value(circuit, POLYNOMIALS, rows, budget=budget)
    return (*found, *([0] * (len(counts) + 1 - len(found))))[: len(counts) + 1]
