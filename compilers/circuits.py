"""Circuits of "the output differs from that of v"."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from axfi_kc.circuit import Circuit, CircuitBuilder
from axfi_kc.errors import UnsupportedModelError
from axfi_kc.models import Boxes, TableModel, TreeSum, boxes_of

__all__ = ["compile_dissimilar"]


@singledispatch
def compile_dissimilar(model: Any, is_dissimilar: Callable[[Any], bool]) -> Circuit:
    """Return the circuit of the points whose output `is_dissimilar`.

    A truth table becomes a reduced ordered MDD; a tree becomes a disjunction of its paths,
    which exclude each other, so the circuit is deterministic and decomposable.

    Notes
    -----
    Linear in the table, or in the total length of the tree's paths.

    Examples
    --------
    >>> from axfi_kc.domain import Domain
    >>> from axfi_kc.features import Integer
    >>> from axfi_kc.queries import count
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)])
    >>> xor = TableModel.from_outputs(domain, [0, 1, 1, 0])
    >>> count(compile_dissimilar(xor, lambda y: y != 0))
    2
    """
    raise UnsupportedModelError(f"No compiler for {type(model).__name__}; expected a neutral form from read_model.")


@compile_dissimilar.register
def _table(model: TableModel, is_dissimilar: Callable[[Any], bool]) -> Circuit:
    build = CircuitBuilder(model.grid)
    flags = np.array([is_dissimilar(y) for y in model.outputs])
    nodes = np.where(flags, build.true, build.false)[model.table]
    for feature in reversed(range(nodes.ndim)):
        rows = nodes.reshape(-1, nodes.shape[-1])
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        made = [build.decision(feature, (([c], child) for c, child in enumerate(row))) for row in distinct.tolist()]
        nodes = np.array(made)[inverse.reshape(-1)].reshape(nodes.shape[:-1])
    return build.circuit(int(nodes))


@compile_dissimilar.register(TreeSum)
@compile_dissimilar.register(Boxes)
def _paths(model: TreeSum | Boxes, is_dissimilar: Callable[[Any], bool]) -> Circuit:
    build = CircuitBuilder(model.grid)
    paths = boxes_of(model)
    wanted = np.array([is_dissimilar(y) for y in paths.outputs])[paths.output]
    terms = [
        build.conjunction(build.literal(i, cells) for i, cells in paths.literals(int(p)))
        for p in np.flatnonzero(wanted)
    ]
    return build.circuit(build.disjunction(terms))
