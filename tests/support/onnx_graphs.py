"""Graphs of one ONNX operator, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def made(kind: str, *, elem: int = FLOAT, width: int = 3, ml: int = 3, head: tuple[Any, ...] = (), **attributes: Any):
    """Return a graph of one operator, behind the nodes of `head`."""
    name = head[-1].output[0] if head else "X"
    is_class = kind.endswith("Classifier")
    outputs = ["label", "scores"] if is_class else ["Y"]
    attributes = {key: value for key, value in attributes.items() if not isinstance(value, list) or value}
    node = onnx.helper.make_node(kind, [name], outputs, domain="ai.onnx.ml", **attributes)
    text = is_class and any("strings" in key for key in attributes)
    first = onnx.helper.make_tensor_value_info(
        outputs[0], onnx.TensorProto.STRING if text else INT64 if is_class else FLOAT, [None] if is_class else [None, 1]
    )
    graph = onnx.helper.make_graph(
        [*head, node], "g", [onnx.helper.make_tensor_value_info("X", elem, [None, width])], [first]
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", ml)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")


def random_trees(rng, *, n_trees: int, n_scores: int, modes=MODES, width: int = 3, prefix: str = "class", tracks=True):
    """Return the attributes of complete random trees of depth three, thresholds few and leaves whole numbers."""
    lists: dict[str, list[Any]] = {f"nodes_{k}": [] for k in ("treeids", "nodeids", "featureids", "modes", "values")}
    lists |= {f"nodes_{k}": [] for k in ("truenodeids", "falsenodeids", "missing_value_tracks_true")}
    lists |= {f"{prefix}_{k}": [] for k in ("ids", "treeids", "nodeids", "weights")}
    for t in range(n_trees):
        for k in range(15):
            leaf = k >= 7
            row = (t, k, 0 if leaf else int(rng.integers(width)), "LEAF" if leaf else str(rng.choice(modes)))
            value = 0.0 if leaf else float(np.float32(rng.choice([-1, -0.5, 0, 0.3, 1, 2])))
            ways = (0, 0) if leaf else (2 * k + 1, 2 * k + 2)
            for key, item in zip(lists, (*row, value, *ways, int(rng.integers(2))), strict=False):
                lists[key].append(item)
            for score in range(n_scores) if leaf else ():
                weight = float(np.float32(rng.normal()))
                for key, item in zip(("ids", "treeids", "nodeids", "weights"), (score, t, k, weight), strict=True):
                    lists[f"{prefix}_{key}"].append(item)
    if not tracks:
        del lists["nodes_missing_value_tracks_true"]
    return lists
