"""Circuits made from circuits: conditioning, forgetting, smoothing."""

from __future__ import annotations

from collections.abc import Mapping

from axfi_kc.circuit import AND, DECISION, OR, Circuit, CircuitBuilder

__all__ = ["condition"]


def condition(circuit: Circuit, fixed: Mapping[int, int]) -> Circuit:
    """Return the circuit of the remaining features, those in `fixed` (feature: cell) set.

    Notes
    -----
    Linear. Keeps decomposability, determinism and order.
    """
    build = CircuitBuilder.like(circuit)
    taken = {i: [c in cells for cells in circuit.cell_sets] for i, c in fixed.items()}
    features, offsets = circuit.features.tolist(), circuit.offsets.tolist()
    children, labels = circuit.children.tolist(), circuit.labels.tolist()
    found: list[int] = []
    for node, kind in enumerate(circuit.kinds.tolist()):
        first, last = offsets[node], offsets[node + 1]
        below = [found[c] for c in children[first:last]]
        if kind == DECISION and features[node] in taken:
            holds = taken[features[node]]
            made = next((c for c, k in zip(below, labels[first:last], strict=True) if holds[k]), build.false)
        elif kind == DECISION:
            made = build.decide(features[node], labels[first:last], below)
        elif kind == AND:
            made = build.conjunction(below)
        elif kind == OR:
            made = build.disjunction(below)
        else:
            made = kind
        found.append(made)
    return build.circuit(found[-1])
