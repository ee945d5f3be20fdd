"""Decomposability, smoothness and scopes, against sets of Python."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from axfi_kc.circuits import queries
from axfi_kc.circuits.circuit import AND, DECISION, OR
from tests.support.circuit_strategies import MODEST, circuits


def mask_scopes(circuit):
    found = []
    for node in range(len(circuit.kinds)):
        scope = {int(circuit.features[node])} - {-1}
        found.append(scope.union(*(found[c] for _, c in circuit.arcs(node))))
    return found


@MODEST
@given(st.data(), st.booleans())
def test_structure(data, decomposable):
    circuit = data.draw(circuits(decomposable=decomposable))
    scope = mask_scopes(circuit)
    sound, smooth = True, True
    for node, kind in enumerate(circuit.kinds.tolist()):
        below = [scope[c] for _, c in circuit.arcs(node)]
        if kind == AND:
            sound &= sum(map(len, below)) == len(set().union(*below))
        if kind == DECISION:
            sound &= not any(int(circuit.features[node]) in s for s in below)
        if kind in (OR, DECISION):
            smooth &= all(s == below[0] for s in below)
    assert queries.is_decomposable(circuit) == sound
    assert queries.is_smooth(circuit) == smooth
    assert queries.scopes(circuit) == [sum(1 << i for i in s) for s in scope]
