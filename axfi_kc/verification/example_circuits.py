"""Circuits of adversarial examples, asked point by point: read as plain arrays, by nothing of the code that made them.

Nodes come children first. A decision sends the cells of its arcs' labels to their children and all others to false;
cells of a number lie between cuts, those of a category are its values, and the last one is that of missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from axfi_kc.domain.features import Categorical, Feature
from axfi_kc.models.own_predict import Codes
from axfi_kc.verification.spaces import Bound, Piece, first_of

__all__ = ["circuit_holds", "cut_elsewhere", "located"]


_FALSE, _TRUE, _DECISION, _AND = range(4)  # how nodes are numbered; what is left is a disjunction


def circuit_holds(circuit: Any, codes: Codes) -> list[bool]:
    """Tell for points, given by their codes, whether they are points of a circuit."""
    cells = np.stack([located(axis, codes[:, i]) for i, axis in enumerate(circuit.grid.axes)], axis=1)
    ones, none = np.ones(len(codes), dtype=bool), np.zeros(len(codes), dtype=bool)
    found: list[Any] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        span = slice(int(circuit.offsets[node]), int(circuit.offsets[node + 1]))
        below = [found[child] for child in circuit.children[span].tolist()]
        if kind == _DECISION:
            own, labels = cells[:, int(circuit.features[node])], circuit.labels[span].tolist()
            pairs = zip(labels, below, strict=True)
            below = [np.isin(own, circuit.cell_sets[label]) & child for label, child in pairs]
        if kind in (_FALSE, _TRUE):
            found.append(ones if kind == _TRUE else none)
        else:
            found.append((np.logical_and if kind == _AND else np.logical_or).reduce(below, axis=0))
    return found[-1].tolist()


def located(axis: Any, codes: Codes) -> Any:
    """Return the cell of each code of a feature."""
    missing, last = np.isnan(codes), len(axis.numerators) - 1
    if isinstance(axis.feature, Categorical):
        return np.where(missing, last, codes).astype(np.int64)
    found = np.zeros(len(codes), dtype=np.int64)
    for cut in axis.cuts:
        found += codes > cut.value if cut.closed else codes >= cut.value
    return np.where(missing, last, found)


def cut_elsewhere(axis: Any, pieces: Sequence[Piece], own: float) -> bool:
    """Tell whether an axis is cut inside one of a feature's pieces, and not around the instance's own value."""
    feature = axis.feature
    if isinstance(feature, Categorical):
        return False
    known = {bound for piece in pieces for bound in piece.ends or ()} | _after_runs(feature, pieces)
    around = set() if own != own else {(Fraction(own), False), (Fraction(own), True), (Fraction(own) - 1, True)}
    return any((Fraction(cut.value), bool(cut.closed)) not in known | around for cut in axis.cuts)


def _after_runs(feature: Feature, pieces: Sequence[Piece]) -> set[Bound]:
    """Return where pieces of an integer feature end; none of a real one."""
    ends, last = set[Bound](), first_of(feature) - 1 if all(p.count is not None for p in pieces) else 0
    for piece in pieces if all(p.count is not None for p in pieces) else ():
        last += piece.count or 0
        ends.add((Fraction(last), True))
    return ends
