"""Circuits of "the output differs from that of v"."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import singledispatch
from typing import Any

import numpy as np

from axfi_kc.budget import Budget
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.queries.determinism import note_deterministic
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, Order, feature_order
from axfi_kc.compilers.model_diagrams import Task, compile_mdd, diagram_of
from axfi_kc.models import Boxes, CircuitModel, Model, Similarity, TreeSum, Uses, boxes_of
from axfi_kc.models.circuit_model import ordered_diagram

__all__ = ["compile_circuit", "direct_circuit"]


_NO_LIMIT = Budget()


def compile_circuit(
    model: Model,
    output: Hashable,
    similarity: Similarity,
    *,
    similar: bool = False,
    order: Order = DEFAULT_ORDER,
    budget: Budget = _NO_LIMIT,
) -> Circuit:
    """Return the circuit of the points whose output is not similar (or is, if `similar`) to `output`.

    A truth table and a sum of several trees become a reduced ordered MDD; a single tree becomes
    a disjunction of its paths, which exclude each other, so the circuit is deterministic and
    decomposable. A model given by circuits has one already, or its diagram is negated.

    Notes
    -----
    Linear in the table, or in the total length of the tree's paths; exponential at worst in
    the number of trees.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.models import TableModel
    >>> from axfi_kc.circuits.queries import count
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> xor = TableModel.from_outputs(domain, [0, 1, 1, 0])
    >>> count(compile_circuit(xor, 0, Similarity()))
    2
    """
    direct = direct_circuit(model, lambda y: similarity.holds(y, output) == similar)
    if direct is not None:
        return direct
    return compile_mdd(model, output, similarity, similar=similar, order=order, budget=budget)


@singledispatch
def direct_circuit(model: Any, is_wanted: Callable[[Hashable], bool]) -> Circuit | None:
    """Return the circuit of the points whose output is wanted, where it takes no diagram; None elsewhere."""
    return None


@direct_circuit.register
def _boxes(model: Boxes, is_wanted: Callable[[Hashable], bool]) -> Circuit | None:
    build, wanted = CircuitBuilder(model.grid), np.array([is_wanted(y) for y in model.outputs])
    terms = [
        build.conjunction(build.literal(i, cells) for i, cells in model.literals(int(p)))
        for p in np.flatnonzero(wanted[model.output])
    ]
    circuit = build.circuit(build.disjunction(terms))
    note_deterministic(circuit)  # boxes have no common point
    return circuit


@direct_circuit.register
def _tree(model: TreeSum, is_wanted: Callable[[Hashable], bool]) -> Circuit | None:
    return _boxes(boxes_of(model), is_wanted) if model.n_trees == 1 else None


@direct_circuit.register
def _circuits(model: CircuitModel, is_wanted: Callable[[Hashable], bool]) -> Circuit | None:
    circuit, holds = model.region([is_wanted(y) for y in model.outputs])
    return circuit if holds else None


@diagram_of.register
def _diagram(model: CircuitModel, task: Task) -> Circuit:
    """Return the reduced ordered MDD of a region of circuits.

    The default order keeps that of a circuit that has one, and otherwise takes features first that are tested near
    the root. Exponential at worst, as the diagram itself may be.
    """
    circuit, holds = model.region([task.is_wanted(y) for y in model.outputs])
    known = task.order == DEFAULT_ORDER
    features = None if known else feature_order(task.order, model.domain, _uses_of(circuit))
    diagram = ordered_diagram(circuit, order=features, budget=task.budget)
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
