"""Complete diagrams of models that are given by circuits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit
from axfi_kc.compilers.orders import DEFAULT_ORDER, Order, Uses, feature_order
from axfi_kc.models import CircuitModel
from axfi_kc.models.circuits import ordered_diagram

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
    features = None if order == DEFAULT_ORDER else feature_order(order, circuit.grid.domain, _uses_of(circuit))
    diagram = ordered_diagram(circuit, order=features, budget=budget)
    return (diagram if holds else diagram.negate()).to_circuit()


def _uses_of(circuit: Circuit) -> Uses:
    """Return how often each feature is tested, and which ones are tested together."""
    groups = []
    for node, feature in enumerate(circuit.features.tolist()):
        together = {int(circuit.features[child]) for _, child in circuit.arcs(node)} | {feature}
        groups.append(frozenset(together - {-1}))
    tested = circuit.features[circuit.features >= 0]
    influence = np.bincount(tested, minlength=len(circuit.grid.axes)).astype(np.float64)
    return Uses(influence, [group for group in groups if len(group) > 1])
