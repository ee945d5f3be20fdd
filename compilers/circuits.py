"""Circuits of "the output differs from that of v"."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from axfi_kc.budget import Budget
from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.compilers.diagrams import compile_mdd
from axfi_kc.compilers.orders import DEFAULT_ORDER, Order
from axfi_kc.models import Boxes, CircuitModel, Model, TreeSum, boxes_of
from axfi_kc.similarity import Similarity

__all__ = ["compile_circuit"]

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
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.models import TableModel
    >>> from axfi_kc.queries import count
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> xor = TableModel.from_outputs(domain, [0, 1, 1, 0])
    >>> count(compile_circuit(xor, 0, Similarity()))
    2
    """
    if isinstance(model, Boxes) or (isinstance(model, TreeSum) and model.n_trees == 1):
        boxes = boxes_of(model)
        return _paths(boxes, [similarity.holds(y, output) == similar for y in boxes.outputs])
    if isinstance(model, CircuitModel):
        circuit, holds = model.region([similarity.holds(y, output) == similar for y in model.outputs])
        if holds:
            return circuit
    return compile_mdd(model, output, similarity, similar=similar, order=order, budget=budget)


def _paths(boxes: Boxes, wanted: list[bool]) -> Circuit:
    build = CircuitBuilder(boxes.grid)
    terms = [
        build.conjunction(build.literal(i, cells) for i, cells in boxes.literals(int(p)))
        for p in np.flatnonzero(np.array(wanted)[boxes.output])
    ]
    return build.circuit(build.disjunction(terms))
