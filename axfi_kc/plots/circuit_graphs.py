"""Circuits as networkx graphs and in Graphviz's language, labelled in the user's own terms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from axfi_kc.circuit import AND, DECISION, OR, Circuit
from axfi_kc.errors import CircuitError
from axfi_kc.features import Categorical

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["circuit_dot", "circuit_graph", "circuit_of"]

_LABELS = {AND: "and", OR: "or"}
_KINDS = {AND: "and", OR: "or", DECISION: "decision"}


def circuit_of(given: Any) -> Circuit:
    """Return the circuit of a Circuit, a compiled model, or a diagram of a target language.

    Raises
    ------
    CircuitError
        If `given` holds none.
    """
    if isinstance(given, Circuit):
        return given
    if hasattr(given, "to_circuit"):
        return given.to_circuit()
    if isinstance(getattr(given, "circuit", None), Circuit):
        return given.circuit
    raise CircuitError(
        f"Expected a circuit, a compiled model or a diagram, but {type(given).__name__} was given; "
        "compile a model with compile_model first."
    )


def circuit_graph(circuit: Any, *, max_nodes: int = 1_000_000) -> nx.DiGraph:
    """Return a circuit as a networkx DiGraph from the root down.

    A node has ``kind`` (``"decision"``, ``"and"``, ``"or"``, ``"true"``, ``"false"``), ``label``, and for a
    decision ``feature``; an edge of a decision has ``label``, the values that take it. Values on no edge
    lead to false. The graph has ``root``.

    Parameters
    ----------
    circuit
        A Circuit, a compiled model, or a diagram of a target language.
    max_nodes
        Refuse larger ones.

    Raises
    ------
    CircuitError
        If the circuit is larger.

    Notes
    -----
    Linear in the circuit.

    Examples
    --------
    >>> from axfi_kc import Categorical, Domain, Integer, compile_model
    >>> domain = Domain([Integer("age", 18, 90), Categorical("race", ["a", "b"])])
    >>> graph = circuit_graph(compile_model(lambda p: p[0] > 60 or p[1] == "b", domain))
    >>> sorted(d["label"] for *_, d in graph.edges(data=True))
    ['<= 60', "= 'b'", '>= 61']
    """
    import networkx as nx

    found = circuit_of(circuit)
    if found.size.nodes > max_nodes:
        raise CircuitError(
            f"At most {max_nodes} nodes are asked for, but the circuit has {found.size.nodes}; allow more with "
            "max_nodes, or condition the circuit first."
        )
    graph = nx.DiGraph(root=found.root)
    for node, kind in enumerate(found.kinds.tolist()):
        graph.add_node(node, **_attributes(found, node, kind))
    for node, kind in enumerate(found.kinds.tolist()):
        for cells, child in found.arcs(node):
            text = _values(found, node, cells) if kind == DECISION else ""
            if graph.has_edge(node, child):
                text = f"{graph.edges[node, child]['label']} or {text}"
            graph.add_edge(node, child, label=text)
    # what the root does not reach says nothing about the function
    graph.remove_nodes_from(set(graph) - {found.root} - nx.descendants(graph, found.root))
    return graph


def _attributes(circuit: Circuit, node: int, kind: int) -> dict[str, Any]:
    if kind == DECISION:
        name = circuit.grid.domain.names[int(circuit.features[node])]
        return {"kind": "decision", "label": name, "feature": name}
    if kind in _KINDS:
        return {"kind": _KINDS[kind], "label": _LABELS[kind]}
    return {"kind": "true" if kind else "false", "label": str(kind)}


def _values(circuit: Circuit, node: int, cells: tuple[int, ...]) -> str:
    """Return the cells in the user's terms, without the feature's name, which stands on the node."""
    axis = circuit.grid.axes[int(circuit.features[node])]
    if len(cells) == axis.n_cells:
        return "any"
    name = axis.feature.name
    if isinstance(axis.feature, Categorical):
        return axis.describe(cells).removeprefix(f"{name} ")
    starts = [c for c in cells if c - 1 not in cells]
    runs = [[c for c in cells if a <= c < b] for a, b in zip(starts, [*starts[1:], axis.n_cells], strict=True)]
    return " or ".join(_interval(axis.describe(run), name) for run in runs)


def _interval(words: str, name: str) -> str:
    """Return "x > 1 and x <= 2" as "(1, 2]", which is short enough for an edge, and "x <= 2" as "<= 2"."""
    first, and_, second = words.removeprefix(f"{name} ").partition(f" and {name} ")
    if not and_:
        return first
    (opening, low), (closing, high) = first.split(), second.split()
    return f"{'[' if '=' in opening else '('}{low}, {high}{']' if '=' in closing else ')'}"


def circuit_dot(circuit: Any, path: str | os.PathLike[str] | None = None, *, max_nodes: int = 10_000) -> str:
    """Return a circuit in Graphviz's language, and write it to `path` if one is given.

    Examples
    --------
    >>> from axfi_kc import Domain, Integer, compile_model
    >>> print(circuit_dot(compile_model(lambda p: p[0] > 60, Domain([Integer("age", 18, 90)]))), end="")
    digraph circuit {
      node [fontname=Helvetica]; edge [fontname=Helvetica, fontsize=10];
      0 [shape=box, label="1"];
      1 [shape=ellipse, label="age"];
      1 -> 0 [label=">= 61"];
    }
    """
    graph = circuit_graph(circuit, max_nodes=max_nodes)
    shapes = {"decision": "ellipse", "and": "circle", "or": "circle"}
    lines = ["digraph circuit {", "  node [fontname=Helvetica]; edge [fontname=Helvetica, fontsize=10];"]
    for node, data in graph.nodes(data=True):
        lines.append(f"  {node} [shape={shapes.get(data['kind'], 'box')}, label={_quoted(data['label'])}];")
    for a, b, data in graph.edges(data=True):
        lines.append(f"  {a} -> {b}" + (f" [label={_quoted(data['label'])}];" if data["label"] else ";"))
    text = "\n".join([*lines, "}"]) + "\n"
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
