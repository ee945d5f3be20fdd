"""Exact SHAP interaction values on circuits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from axfi_kc.arguments import checked
from axfi_kc.budget import Account, Budget
from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.domain.from_tables import one_row
from axfi_kc.domain.measures import Number
from axfi_kc.errors import CircuitError
from axfi_kc.scores.shap.circuits import Target, circuits_of, sweep_of

__all__ = ["shap_interactions"]


@checked("budget")
def shap_interactions(
    target: Target | Mapping[Number, Target], x: Any, *, budget: Budget | None = None
) -> dict[tuple[str, str], Fraction]:
    """Return the Shapley interaction index of each two features at `x`, exactly, where it is not 0.

    The game is that of :func:`axfi_kc.shap_scores`: a coalition S is worth ``E[f(x) given x_S = v_S]`` under the
    domain's product measure. (What the package shap calls interaction values are halves of these.)

    Parameters
    ----------
    target, x, budget
        As for :func:`axfi_kc.shap_scores`.

    Raises
    ------
    CircuitError
        If a circuit is not decomposable over the features, or the domain has constraints.
    DomainError
        If `x` is not a point of the domain.
    BudgetError
        If the budget was spent.

    Notes
    -----
    The interaction of i and j is the score of i where j is fixed, less that where j is always drawn; the latter game is
    the mean of those where j has each of its cells. So the scores of as many conditioned circuits as there are cells.

    Examples
    --------
    Two features that must be 1 together:

    >>> from axfi_kc.compilers.compiled_model import compile_model
    >>> from axfi_kc import Domain, Integer
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1), Integer("c", 0, 1)])
    >>> shap_interactions(compile_model(lambda p: p[0] and p[1], domain), (1, 1, 0))
    {('a', 'b'): Fraction(1, 4)}
    """
    account = Account(budget, goal="SHAP interactions", advice="allow more, or give a smaller circuit")
    parts = circuits_of(target)
    domain = parts[0][1].grid.domain
    if domain.constraints:
        raise CircuitError(
            "SHAP interactions are those of independent features, but the domain has constraints; leave these out."
        )
    codes = domain.encode(one_row(x, domain.features))
    found: dict[tuple[int, int], Fraction] = {}
    for factor, circuit in parts:
        cells = circuit.grid.locate(codes)[0].tolist()
        for pair, value in _interactions(circuit, cells, account).items():
            found[pair] = found.get(pair, Fraction(0)) + factor * value
    names = domain.names
    return {(names[i], names[j]): value for (i, j), value in sorted(found.items()) if value}


def _interactions(circuit: Circuit, cells: Sequence[int], account: Account) -> dict[tuple[int, int], Fraction]:
    mentioned = sorted({i for i in np.unique(circuit.features).tolist() if i >= 0})
    found: dict[tuple[int, int], Fraction] = {}
    # Interactions are symmetric, so each pair is found from its larger feature.
    for j in account.paced(mentioned, at_once=1):
        axis, own = circuit.grid.axes[j], dict.fromkeys((i for i in mentioned if i < j), Fraction(0))
        for cell, worth in enumerate(axis.numerators):
            weight = (cell == cells[j]) - Fraction(worth, axis.denominator)
            if weight:
                small = queries.condition(circuit, {j: cell})
                scores = sweep_of(small, account).scores(cells, account)
                own = {i: total + weight * scores.get(i, 0) for i, total in own.items()}
        found |= {(i, j): total for i, total in own.items()}
    return {pair: found.get(pair, Fraction(0)) for pair in combinations(mentioned, 2)}
