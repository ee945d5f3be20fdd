"""Bayesian networks of other libraries: objects of pgmpy and of pyAgrum, read without importing either.

Their tables are floats, taken for the rationals they denote; each row is then divided by its sum.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.bayesian_network import BayesianNetwork
from axfi_kc.errors import UnfittedModelError, UnsupportedModelError

__all__ = ["network_of"]


_DISCRETIZED = 0  # pyAgrum's number for variables whose states are bins


def network_of(model: Any) -> BayesianNetwork:
    """Return the Bayesian network that an object of pgmpy or pyAgrum is.

    Parameters
    ----------
    model
        pgmpy's ``DiscreteBayesianNetwork`` or ``NaiveBayes``, pyAgrum's ``BayesNet``, or a ``BayesianNetwork`` of ours.

    Raises
    ------
    UnsupportedModelError
        If it is something else, or has variables that are not discrete.
    UnfittedModelError
        If a variable has no table yet.

    Examples
    --------
    >>> network_of(BayesianNetwork({"coin": "ht"}, {"coin": [0.5, 0.5]}))
    BayesianNetwork(coin)
    """
    if isinstance(model, BayesianNetwork):
        return model
    for kind in type(model).__mro__:
        reader = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if reader is not None:
            return reader(model)
    raise UnsupportedModelError(
        f"Expected a Bayesian network of pgmpy (DiscreteBayesianNetwork, NaiveBayes) or pyAgrum (BayesNet), but "
        f"{type(model).__name__} was given; write it to a .bif file, and use read_network."
    )


def _of_pgmpy(model: Any) -> BayesianNetwork:
    states, rows, parents = {}, {}, {}
    for node in model.nodes():
        table = model.get_cpds(node)
        if table is None:
            raise UnfittedModelError(f"Variable {node!r} of the network has no table; fit the model, or add its CPD.")
        name = str(node)
        states[name] = list(table.state_names[node])
        parents[name] = [str(p) for p in table.variables[1:]]
        # The variable itself is the first axis.
        values = np.moveaxis(np.asarray(table.values), 0, -1)
        rows[name] = values.reshape(-1, values.shape[-1]).tolist()
    return BayesianNetwork.of_rows(states, rows, parents=parents, output=_dependent(model))


def _dependent(model: Any) -> str | None:
    """Return the variable that pgmpy's naive Bayes predicts; other networks predict whatever is left out."""
    found = getattr(model, "dependent", None)
    return None if found is None else str(found)


def _of_pyagrum(model: Any) -> BayesianNetwork:
    states, rows, parents, bins = {}, {}, {}, {}
    for number in sorted(model.nodes()):
        variable, table = model.variable(number), model.cpt(number)
        node = variable.name()
        states[node] = list(variable.labels())
        # Axes of its arrays run backwards: the variable itself, first of the names, is the last axis.
        parents[node] = list(reversed(table.names))[:-1]
        values = np.asarray(table.toarray())
        rows[node] = values.reshape(-1, values.shape[-1]).tolist()
        cuts = _ticks(variable)
        if cuts is not None:
            bins[node] = cuts
    return BayesianNetwork.of_rows(states, rows, parents=parents, bins=bins)


def _ticks(variable: Any) -> list[Fraction] | None:
    """Return where the bins of a discretised variable meet; None for other variables."""
    return [Fraction(tick) for tick in variable.ticks()[1:-1]] if variable.varType() == _DISCRETIZED else None


_READERS: dict[tuple[str, str], Callable[[Any], BayesianNetwork]] = {
    ("pgmpy", "DiscreteBayesianNetwork"): _of_pgmpy,
    ("pyagrum", "BayesNet"): _of_pyagrum,
}
