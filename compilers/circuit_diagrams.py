"""Complete diagrams of models that are given by circuits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from axfi_kc.budget import Budget
from axfi_kc.circuit import AND, OR, Circuit
from axfi_kc.compilers.orders import DEFAULT_ORDER, Order, Uses, feature_order
from axfi_kc.models import CircuitModel
from axfi_kc.targets import mdd_of

__all__ = ["compile_region"]


def compile_region(model: CircuitModel, wanted: Sequence[bool], *, order: Order, budget: Budget) -> Circuit:
    """Return the reduced ordered MDD of the points whose output is wanted.

    Parameters
    ----------
    model
        Any circuits.
    wanted
        A flag for each output.
    order
        As for :func:`~axfi_kc.compilers.diagrams.compile_mdd`; the default keeps the order of a circuit
        that has one, and otherwise takes features first that are tested near the root.
    budget
        What the diagram may cost.

    Notes
    -----
    Exponential at worst, as the diagram itself may be.
    """
    circuit, holds = model.region(wanted)
    diagram = mdd_of(circuit, order=_order(circuit, order), budget=budget)
    return (diagram if holds else diagram.negate()).to_circuit()


def _order(circuit: Circuit, order: Order) -> list[int] | None:
    if order == DEFAULT_ORDER and not np.isin(circuit.kinds, (AND, OR)).any():
        return None
    return feature_order(order, circuit.grid.domain, _uses_of(circuit))


def _uses_of(circuit: Circuit) -> Uses:
    """Return how near to the root each feature is tested, and which features meet in a conjunction."""
    nearest, direct = np.full(len(circuit.grid.axes), -1.0), list[frozenset[int]]()
    for node, feature in enumerate(circuit.features.tolist()):
        tested = {int(circuit.features[child]) for _, child in circuit.arcs(node)} | {feature}
        direct.append(frozenset(tested - {-1}))
        if feature >= 0:
            nearest[feature] = node
    return Uses(nearest, [group for group in direct if len(group) > 1])
