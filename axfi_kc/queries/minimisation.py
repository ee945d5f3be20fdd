"""The models nearest to a point: how many features they change, and the circuit of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.circuit import AND, DECISION, OR, Circuit, CircuitBuilder
from axfi_kc.queries.flat import flat_of
from axfi_kc.queries.structure import require_decomposable, scopes
from axfi_kc.queries.transformations import account_of
from axfi_kc.sets import features_of

__all__ = ["minimised", "minimum_changes"]


def minimum_changes(circuit: Circuit, cells: Sequence[int]) -> int | None:
    """Return the least number of features in which a model differs from the point with these cells.

    Parameters
    ----------
    circuit
        Must be decomposable.
    cells
        The point.

    Returns
    -------
    int or None
        None if there is no model.

    Notes
    -----
    Linear: conjunctions add, disjunctions take the least.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.grid import Grid
    >>> build = CircuitBuilder(Grid.of_values(Domain([Integer("a", 0, 2), Integer("b", 0, 1)])))
    >>> circuit = build.circuit(build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])]))
    >>> minimum_changes(circuit, (0, 0)), minimum_changes(circuit, (2, 0)), minimum_changes(circuit, (2, 1))
    (2, 1, 0)
    """
    require_decomposable(circuit, "minimum changes")
    least = int(_changes(circuit, cells)[-1])
    return least if least <= len(circuit.grid.axes) else None


def minimised(circuit: Circuit, cells: Sequence[int], *, budget: Budget | None = None) -> Circuit:
    """Return the circuit of the models that differ from the point with these cells in the fewest features.

    Parameters
    ----------
    circuit
        Must be decomposable.
    cells
        The point.
    budget
        What it may cost, in seconds and bytes.

    Raises
    ------
    CircuitError
        If the circuit is not decomposable.
    BudgetError
        If the budget was spent.

    Notes
    -----
    Nodes times features, because each feature that a part does not mention is set to the point's.
    Keeps determinism.
    """
    require_decomposable(circuit, "minimisation")
    return _Nearest(circuit, cells, account_of(budget)).circuit()


def _changes(circuit: Circuit, cells: Sequence[int]) -> npt.NDArray[np.int64]:
    from axfi_kc.queries import truth_kernels

    flat = flat_of(circuit)
    point = np.asarray(cells, dtype=np.int64)
    return truth_kernels.changes(*flat.arrays, flat.set_starts, flat.set_cells, point)


class _Nearest:
    """Makes the circuit of the nearest models, children first."""

    def __init__(self, circuit: Circuit, cells: Sequence[int], account: Account) -> None:
        self._circuit, self._point, self._account = circuit, cells, account
        self._least: list[int] = _changes(circuit, cells).tolist()
        self._scope = scopes(circuit, account=account)
        self._build = CircuitBuilder(circuit.grid)
        self._stays: dict[int, int] = {0: self._build.true}
        self._found: list[int] = []

    def circuit(self) -> Circuit:
        """Return the circuit of all features."""
        build, n = self._build, len(self._circuit.grid.axes)
        for node, kind in enumerate(self._account.paced(self._circuit.kinds.tolist())):
            arcs = self._circuit.arcs(node)
            if self._least[node] > n:
                self._found.append(build.false)
            elif kind == DECISION:
                self._found.append(self._decision(node, arcs))
            elif kind == AND:
                self._found.append(build.conjunction(self._found[c] for _, c in arcs))
            elif kind == OR:
                near = [c for _, c in arcs if self._least[c] == self._least[node]]
                self._found.append(build.disjunction(self._lifted(c, self._scope[node]) for c in near))
            else:
                self._found.append(kind)
        return build.circuit(self._lifted(self._circuit.root, (1 << n) - 1))

    def _decision(self, node: int, arcs: list[tuple[tuple[int, ...], int]]) -> int:
        i = int(self._circuit.features[node])
        home, rest, least = self._point[i], self._scope[node] & ~(1 << i), self._least[node]
        kept = [([home], self._lifted(c, rest)) for cells, c in arcs if home in cells and self._least[c] == least]
        for cells, c in arcs:
            if self._least[c] + 1 == least:
                kept.append(([k for k in cells if k != home], self._lifted(c, rest)))
        return self._build.decision(i, kept)

    def _lifted(self, child: int, wanted: int) -> int:
        """Return the child with the features that it does not mention set to the point's cells."""
        build, missing = self._build, wanted & ~self._scope[child]
        if missing not in self._stays:
            literals = [build.literal(i, [self._point[i]]) for i in features_of(missing)]
            self._stays[missing] = build.conjunction(literals)
        return build.conjunction([self._found[child], self._stays[missing]])
