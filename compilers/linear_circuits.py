"""Linear models over finite domains as decision diagrams.

Top-down over the features, largest swing first. What remains to be decided at a level depends
only on the partial sums so far, and not even on them exactly: each diagram made is valid for a whole
interval of partial sums, and a sum that falls into a known interval takes the known diagram.
Without the intervals almost nothing merges.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.errors import BudgetError
from axfi_kc.features import Integer
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Slope

__all__ = ["compile_linear"]

_LARGEST = 5_000_000  # nodes made on the way
_Bound = int | float  # a float only where there is no bound
_NO_LOW, _NO_HIGH = -inf, inf


def compile_linear(model: LinearModel, is_dissimilar: Callable[[Any], bool]) -> Circuit:
    """Return the ordered decision diagram of the points whose output `is_dissimilar`.

    Raises
    ------
    DomainError
        If a feature is real: a hyperplane cuts it into no finite number of cells.
    BudgetError
        If the diagram passes 5,000,000 partial sums.

    Notes
    -----
    Binary classifiers merge on intervals of the partial sum. With several classes, and for the
    outputs of a regression, partial sums merge only when they are equal.

    Examples
    --------
    At least two of four bits, with at most two nodes per level:

    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.queries import count
    >>> bits = Domain([Integer(f"x{i}", 0, 1) for i in range(4)])
    >>> model = LinearModel.of_columns(bits, [[1, 1, 1, 1]], intercepts=[-1], rule=Positive((0, 1)))
    >>> circuit = compile_linear(model, lambda y: y == 1)
    >>> circuit.size, count(circuit)
    (Size(nodes=6, edges=10), 11)
    """
    rule = model.rule
    if isinstance(rule, Positive) or (isinstance(rule, Argmax) and len(rule.labels) == 2):
        return _Threshold(model, [is_dissimilar(y) for y in rule.labels]).circuit()
    return _Sums(model, is_dissimilar).circuit()


def _gains(model: LinearModel, i: int, score: int) -> list[int]:
    """Return what each value of feature i adds to a score."""
    part, feature = model.parts[i], model.domain.features[i]
    if isinstance(part, Slope) and isinstance(feature, Integer):
        return [part.factors[score] * value for value in range(feature.low, feature.high + 1)]
    return list(part.rows[score]) if isinstance(part, Lookup) else []


def _too_large() -> BudgetError:
    return BudgetError(
        f"The diagram of this linear model needs more than {_LARGEST} partial sums; round its coefficients, narrow "
        "the domain, or explain instances directly, without a circuit.",
        nodes=_LARGEST,
    )


class _Threshold:
    """Builds the diagram of ``f(x) > 0`` for one integer-valued sum f."""

    def __init__(self, model: LinearModel, flags: Sequence[bool]) -> None:
        self._build = CircuitBuilder(model.grid)
        self._leaves = [self._build.true if flag else self._build.false for flag in flags]
        features = range(len(model.domain))
        if isinstance(model.rule, Argmax):  # class 1 wins iff its score is above that of class 0
            gains = [[b - a for a, b in zip(_gains(model, i, 0), _gains(model, i, 1), strict=True)] for i in features]
            self._base = model.base[1] - model.base[0]
        else:
            gains = [_gains(model, i, 0) for i in features]
            self._base = model.base[0]
        self._order = sorted(features, key=lambda i: min(gains[i]) - max(gains[i]))
        self._gains = [gains[i] for i in self._order]
        self._least, self._most = [0], [0]  # of what the levels below can add, from the last level up
        for row in reversed(self._gains):
            self._least.append(self._least[-1] + min(row))
            self._most.append(self._most[-1] + max(row))
        self._known: list[list[tuple[_Bound, _Bound, int]]] = [[] for _ in self._order]
        self._made = 0

    def circuit(self) -> Circuit:
        return self._build.circuit(self._node(0, self._base)[0])

    def _node(self, level: int, total: int) -> tuple[int, _Bound, _Bound]:
        """Return the node for a partial sum, and the least and largest sum it is valid for."""
        left = len(self._order) - level
        if total + self._most[left] <= 0:
            return self._leaves[0], _NO_LOW, -self._most[left]
        if total + self._least[left] > 0:
            return self._leaves[1], 1 - self._least[left], _NO_HIGH
        known = self._known[level]
        k = bisect_right(known, (total, inf, 0)) - 1
        if k >= 0 and total <= known[k][1]:
            low, high, node = known[k]
            return node, low, high
        return self._made_node(level, total)

    def _made_node(self, level: int, total: int) -> tuple[int, _Bound, _Bound]:
        self._made += 1
        if self._made > _LARGEST:
            raise _too_large()
        low: _Bound = _NO_LOW
        high: _Bound = _NO_HIGH
        arcs = []
        for cell, gain in enumerate(self._gains[level]):
            child, least, most = self._node(level + 1, total + gain)
            arcs.append(([cell], child))
            low, high = max(low, least - gain), min(high, most - gain)
        node = self._build.decision(self._order[level], arcs)
        insort(self._known[level], (low, high, node))
        return node, low, high


class _Sums:
    """Builds the diagram of a predicate on the output, one node per vector of partial sums."""

    def __init__(self, model: LinearModel, is_dissimilar: Callable[[Any], bool]) -> None:
        self._model = model
        self._is_dissimilar = is_dissimilar
        self._build = CircuitBuilder(model.grid)
        scores = range(len(model.base))
        rows = [list(zip(*(_gains(model, i, k) for k in scores), strict=True)) for i in range(len(model.domain))]
        self._order = sorted(range(len(rows)), key=lambda i: -_swing(rows[i]))
        self._gains = [rows[i] for i in self._order]
        self._known: list[dict[tuple[int, ...], int]] = [{} for _ in range(len(rows) + 1)]
        self._made = 0

    def circuit(self) -> Circuit:
        return self._build.circuit(self._node(0, self._reduced(self._model.base)))

    def _reduced(self, totals: Sequence[int]) -> tuple[int, ...]:
        """Return what matters of partial sums: for classes, how far each is above the first."""
        if isinstance(self._model.rule, Argmax):
            return tuple(t - totals[0] for t in totals)
        return tuple(totals)

    def _node(self, level: int, totals: tuple[int, ...]) -> int:
        known = self._known[level].get(totals)
        if known is not None:
            return known
        self._made += 1
        if self._made > _LARGEST:
            raise _too_large()
        if level == len(self._order):
            wanted = self._is_dissimilar(self._model.output_of(totals, 0))
            node = self._build.true if wanted else self._build.false
        else:
            following = [
                self._reduced([t + g for t, g in zip(totals, gains, strict=True)]) for gains in self._gains[level]
            ]
            arcs = [([cell], self._node(level + 1, sums)) for cell, sums in enumerate(following)]
            node = self._build.decision(self._order[level], arcs)
        self._known[level][totals] = node
        return node


def _swing(rows: Sequence[Sequence[int]]) -> int:
    return max(max(column) - min(column) for column in zip(*rows, strict=True))
