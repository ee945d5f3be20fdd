"""Points drawn from a circuit, each with exactly its probability."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from sys import maxsize
from typing import Any

from axfi_kc.arguments import checked, is_whole, quoted
from axfi_kc.budget import Budget, paced
from axfi_kc.circuits.circuit import AND, DECISION, TRUE, Circuit, Form
from axfi_kc.circuits.queries.marginals import Box, Totals, Worths, totals_of
from axfi_kc.circuits.queries.transformations import account_of
from axfi_kc.errors import CircuitError

__all__ = ["sample"]


_Choice = tuple[list[int], list[Any]]  # sums of what the alternatives are worth, and the alternatives


@checked("worths", "given", "budget")
def sample(
    circuit: Form,
    n: int,
    worths: Worths = None,
    *,
    seed: int | Random,
    given: Box = None,
    budget: Budget | None = None,
) -> list[tuple[int, ...]]:
    """Return n points, given by their cells, drawn independently from a deterministic, decomposable circuit.

    Parameters
    ----------
    circuit
        Whose points are drawn.
    n
        How many; a point may come several times.
    worths
        ``"count"``: all points alike; None: by the features' own measures; or a number per cell of each feature: a
        point is drawn in proportion to the product of its cells' numbers.
    seed
        Of Python's generator, or the generator itself; the same seed gives the same points.
    given
        A box, ``{feature: cells}``, to which the points belong.
    budget
        What it may cost.

    Raises
    ------
    CircuitError
        If no point has a positive worth, n is no whole number from 0 up, or the seed is none.

    Notes
    -----
    One pass over the circuit, then for each point a way down from the root. Choices are made by whole numbers below
    the exact totals, without rounding: the points are as random as the generator's bits are.

    Examples
    --------
    >>> from axfi_kc.circuits.circuit import CircuitBuilder
    >>> from axfi_kc.domain import Domain, Grid, Integer
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> points = sample(circuit, 100, seed=0)
    >>> sorted(set(points)), points == sample(circuit, 100, seed=0)
    ([(1, 1), (2, 1)], True)
    """
    if not is_whole(n) or not 0 <= n <= maxsize:
        raise CircuitError(
            f"How many points to draw is a whole number from 0 up, but {quoted(n)} was given; correct it."
        )
    if isinstance(seed, bool) or not isinstance(seed, int | Random):
        raise CircuitError(f"A seed is a whole number or a random.Random, but {quoted(seed)} was given; give one.")
    account = account_of(budget)
    totals = totals_of(circuit, worths, given=given, account=account)
    if not totals.root:
        raise CircuitError(
            "Points are drawn by their worths, but no point of the circuit has a positive one; take other evidence or "
            "worths."
        )
    draws = _Draws(totals, seed if isinstance(seed, Random) else Random(seed))  # noqa: S311  # no secret
    return [draws.point() for _ in paced(range(n), account, at_once=1)]


class _Draws:
    """Ways down from the root; what a node or a feature may be is worked out when it is first met."""

    def __init__(self, totals: Totals, random: Random) -> None:
        self._totals, self._below = totals, random.randrange
        self._circuit: Circuit = totals.circuit
        self._kinds, self._features = self._circuit.kinds.tolist(), self._circuit.features.tolist()
        self._choices: dict[int, _Choice] = {}
        self._cells: dict[tuple[int, int], _Choice] = {}

    def point(self) -> tuple[int, ...]:
        """Return the cells of one point."""
        found = [-1] * len(self._totals.worths)
        stack = [self._circuit.root]
        while stack:
            node = stack.pop()
            kind = self._kinds[node]
            if kind == TRUE:
                continue
            if kind == AND:
                stack += [child for _, child in self._circuit.arcs(node)]
                continue
            if node not in self._choices:
                self._choices[node] = self._choice_of(node)
            label, child = self._drawn(self._choices[node])
            if kind == DECISION:
                found[self._features[node]] = self._cell(self._features[node], label)
            stack.append(child)
        return tuple(self._cell(i, -1) if c < 0 else c for i, c in enumerate(found))

    def _drawn(self, choice: _Choice) -> Any:
        sums, alternatives = choice
        return alternatives[bisect_right(sums, self._below(sums[-1]))]

    def _choice_of(self, node: int) -> _Choice:
        circuit, at, i = self._circuit, self._totals.at, self._features[node]
        span = slice(int(circuit.offsets[node]), int(circuit.offsets[node + 1]))
        arcs = list(zip(circuit.labels[span].tolist(), circuit.children[span].tolist(), strict=True))
        worth: Callable[[int], int] = (lambda k: 1) if i < 0 else (lambda k: self._totals.of_label[i, k])
        return _summed([worth(label) * at[child] for label, child in arcs], arcs)

    def _cell(self, feature: int, label: int) -> int:
        """Return a cell of a label, or of the whole feature if that is -1."""
        if (feature, label) not in self._cells:
            row = self._totals.worths[feature]
            cells: Sequence[int] = range(len(row)) if label < 0 else self._circuit.cell_sets[label]
            self._cells[feature, label] = _summed([row[c] for c in cells], cells)
        return int(self._drawn(self._cells[feature, label]))


def _summed(worths: Sequence[int], alternatives: Sequence[Any]) -> _Choice:
    kept = [(w, a) for w, a in zip(worths, alternatives, strict=True) if w]
    return list(accumulate(w for w, _ in kept)), [a for _, a in kept]
