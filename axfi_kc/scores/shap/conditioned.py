"""Exact SHAP scores among the points that can exist.

Under constraints features depend on each other, and the SHAP scores of a function f at v are the Shapley values of the
game ``e(S) = E[f(x) | x_S = v_S, x is possible]``: a quotient for each set S, which no quadrature adds up. So all sets
of the features that matter are looked at, in one pass over a diagram: a node gets a table with an entry per set of the
features below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.errors import CircuitError
from axfi_kc.models.support import Support, positive_share, support_of

__all__ = ["PossibleSweep"]


_MOST_FEATURES = 16
_FALSE, _TRUE = 0, 1
Table = npt.NDArray[np.object_]


class PossibleSweep:
    """A circuit over a domain with constraints, made ready for every instance.

    Notes
    -----
    Nodes of the diagram times the sets of features, of which there are 2^16 at most.
    """

    def __init__(self, circuit: Circuit, account: Account) -> None:
        support = support_of(circuit.grid, budget=account.rest())
        if support is None:
            raise ValueError("expected a domain with constraints")
        self._support: Support = support
        self._nodes: MddNodes = support.nodes
        self._both = self._nodes.conjoined(support.root, self._nodes.load(circuit))
        account.look()
        reached = {*self._nodes.reached(self._both), *self._nodes.reached(support.root)}
        self._places = sorted({self._nodes.places[n] for n in reached})
        if len(self._places) > _MOST_FEATURES:
            raise CircuitError(
                f"SHAP scores under constraints are computed set by set, for at most {_MOST_FEATURES} features that "
                f"the circuit or a constraint tests, but there are {len(self._places)}; leave constraints out, or take "
                "the domain without them (domain.unconstrained)."
            )

    def scores(self, cells: Sequence[int], account: Account) -> dict[int, Fraction]:
        """Return the scores of the features that matter at the point with these cells."""
        above, below = (self._table(root, cells, account) for root in (self._both, self._support.root))
        # Both tables are over the same product of denominators.
        positive_share(Fraction(min(below)))
        means = [Fraction(a, b) for a, b in zip(above.tolist(), below.tolist(), strict=True)]
        m = len(self._places)
        found = {}
        for k, place in enumerate(account.paced(self._places, at_once=1)):
            bit = 1 << m - 1 - k  # the first place has the highest bit
            totals = [Fraction(0)] * m
            for S in range(1 << m):
                if not S & bit and means[S | bit] != means[S]:
                    totals[S.bit_count()] += means[S | bit] - means[S]
            parts = (total / (m * comb(m - 1, size)) for size, total in enumerate(totals))
            found[self._nodes.order[place]] = sum(parts, Fraction(0))
        return found

    def _table(self, root: int, cells: Sequence[int], account: Account) -> Table:
        """Return for each set S of features the worth of the points below `root` that agree with the point on S."""
        at = {place: k for k, place in enumerate(self._places)}
        known: dict[int, tuple[int, Table]] = {
            constant: (len(at), np.array([constant], dtype=object)) for constant in (_FALSE, _TRUE)
        }
        for node in account.paced(self._nodes.reached(root), at_once=1):
            k = at[self._nodes.places[node]]
            below = {c: self._lifted(*known[c], k + 1) for c in self._nodes.runs[node][1::2]}
            known[node] = k, self._decision(node, k, cells, below)
        return self._lifted(*known[root], 0)

    def _decision(self, node: int, k: int, cells: Sequence[int], below: dict[int, Table]) -> Table:
        feature, runs = self._nodes.order[self._places[k]], self._nodes.runs[node]
        axis, first = self._nodes.grid.axes[feature], 0
        drawn: Any = 0
        kept = below[runs[1]]
        for end, child in zip(runs[::2], runs[1::2], strict=True):
            drawn = drawn + sum(axis.numerators[first:end]) * below[child]
            if first <= cells[feature] < end:
                kept = below[child]
            first = end
        return np.concatenate([drawn, kept * axis.denominator])

    def _lifted(self, k: int, table: Table, wanted: int) -> Table:
        """Return a table over the features from place `wanted` on, of one over fewer: the others change nothing."""
        for place in reversed(self._places[wanted:k]):
            whole = self._nodes.grid.axes[self._nodes.order[place]].denominator
            table = np.concatenate([table, table]) * whole
        return table
