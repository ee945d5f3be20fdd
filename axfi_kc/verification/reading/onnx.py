"""ONNX: the thresholds of a graph's tree ensemble; what it computes from these is left to a runtime."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.verification.reading.columns import Seen
from axfi_kc.verification.reading.forms import CellForm
from axfi_kc.verification.spaces import Bound, single_precision

__all__ = ["onnx_form"]


_TREES = tuple(("ai.onnx.ml", kind) for kind in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"))
_AS_IT_IS = ("Cast", "Identity", "Concat")  # between the inputs and the trees: columns stay what they are


def onnx_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> CellForm | None:
    """Return the cells between thresholds; None where something else than trees looks at the inputs."""
    node = _only_trees(model)
    if node is None:
        return None
    given = {attribute.name: attribute for attribute in node.attribute}
    values = list(given["nodes_values"].floats) if "nodes_values" in given else _tensor(given["nodes_values_as_tensor"])
    found: list[set[Bound]] = [set() for _ in domain.features]
    for k, value, mode in zip(given["nodes_featureids"].ints, values, given["nodes_modes"].strings, strict=True):
        seen = columns[k]
        if mode != b"LEAF" and not isinstance(domain.features[seen.feature], Categorical):
            # Whatever the comparison is, and in whichever precision: too many cuts do no harm.
            found[seen.feature] |= {single_precision(value, strict=strict) for strict in (False, True)}
            found[seen.feature] |= {(Fraction(value), closed) for closed in (False, True)}
    return CellForm(tuple(map(frozenset, found)))


def _tensor(attribute: Any) -> list[float]:
    from onnx.numpy_helper import to_array

    return [float(x) for x in to_array(attribute.t).ravel().tolist()]


def _only_trees(model: Any) -> Any:
    """Return the tree ensemble through which the first output depends on the inputs; None if there are other ways."""
    made = {name: node for node in model.graph.node for name in node.output}
    inputs = {info.name for info in model.graph.input}
    pending, below, found = [model.graph.output[0].name], True, None
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen or name not in made:
            # A constant, unless an input is used past the trees.
            if below and name in inputs:
                return None
            continue
        seen.add(name)
        node = made[name]
        if below and (node.domain, node.op_type) in _TREES:
            found, below, pending = (node, False, list(node.input)) if not pending else (None, False, [])
        elif below or (node.domain in ("", "ai.onnx") and node.op_type in _AS_IT_IS):
            pending += node.input
        else:
            return None
    return found
