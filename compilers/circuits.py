"""Circuits of "the output differs from that of v"."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.compilers.diagrams import compile_mdd
from axfi_kc.models import Boxes, CircuitModel, Model, TreeSum, boxes_of
from axfi_kc.similarity import Similarity

__all__ = ["compile_dissimilar"]


def compile_dissimilar(model: Model, output: Hashable, similarity: Similarity) -> Circuit:
    """Return the circuit of the points whose output is not similar to `output`.

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
    >>> count(compile_dissimilar(xor, 0, Similarity()))
    2
    """
    if isinstance(model, Boxes) or (isinstance(model, TreeSum) and model.n_trees == 1):
        return _paths(boxes_of(model), output, similarity)
    if isinstance(model, CircuitModel):
        circuit, holds = model.region([not similarity.holds(y, output) for y in model.outputs])
        if holds:
            return circuit
    return compile_mdd(model, output, similarity)


def _paths(boxes: Boxes, output: Hashable, similarity: Similarity) -> Circuit:
    build = CircuitBuilder(boxes.grid)
    wanted = np.array([not similarity.holds(y, output) for y in boxes.outputs])[boxes.output]
    terms = [
        build.conjunction(build.literal(i, cells) for i, cells in boxes.literals(int(p)))
        for p in np.flatnonzero(wanted)
    ]
    return build.circuit(build.disjunction(terms))
