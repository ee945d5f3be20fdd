"""A circuit as a picture, a networkx graph or Graphviz text, labelled in the user's own terms."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import checked
from axfi_kc.circuits.circuit import circuit_in
from axfi_kc.circuits.exchange.graphs import to_networkx
from axfi_kc.errors import CircuitError
from axfi_kc.plots.style import ABSENT, BAR, FAINT, INK, SMALL, caption, label, own_axes

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

__all__ = ["circuit_dot", "circuit_graph", "plot_circuit"]


def _drawn(given: Any) -> Any:
    """Return what is drawn: of a compiled model its target, in the target's own nodes."""
    found = getattr(given, "target", given)
    return found if hasattr(found, "size") and hasattr(found, "to_circuit") else circuit_in(given)


@checked("max_nodes")
def circuit_graph(circuit: Any, *, max_nodes: int = 1_000_000) -> nx.DiGraph:
    """Return a circuit as a networkx DiGraph from the root down.

    The graph is that of :func:`~axfi_kc.circuits.exchange.graphs.to_networkx`: of an OBDD with a node for each bit,
    of an
    SDD with its elements. A node has ``kind``, ``label``, and for a decision ``feature``; an edge of a decision has
    ``label``, the values that take it. Values on no edge lead to false. The graph has ``root``.

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
    found = _drawn(circuit)
    if found.size.nodes > max_nodes:
        raise CircuitError(
            f"At most {max_nodes} nodes are asked for, but the circuit has {found.size.nodes}; allow more with "
            "max_nodes, or condition the circuit first."
        )
    return to_networkx(found)


@checked("path", "max_nodes")
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
    shapes = {"decision": "ellipse", "literal": "plaintext", "and": "circle", "or": "circle"}
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


Place = int | tuple[int, int, int]  # a node, or where the edge from a to b passes layer y

_SWEEPS = 8
_PASSAGE = 0.45  # what an edge that passes takes of the room of a node
_FACES = {"decision": "white", "literal": "white", "and": FAINT, "or": FAINT, "true": BAR, "false": ABSENT}


@checked("max_nodes", "title", "ax")
def plot_circuit(circuit: Any, *, max_nodes: int = 60, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a circuit from the root down, with the values that take each edge in the user's own units.

    Parameters
    ----------
    circuit
        A Circuit, a compiled model, or a diagram of a target language.
    max_nodes
        Refuse larger circuits: nobody could read them. See :func:`circuit_dot` for Graphviz.
    title
        The picture's title; the circuit's size by default.
    ax
        Where to draw; a new figure by default.

    Raises
    ------
    CircuitError
        If the circuit has more than `max_nodes` nodes.
    """
    found = _drawn(circuit)
    if found.size.nodes > max_nodes:
        raise CircuitError(
            f"A picture shows at most {max_nodes} nodes, but the circuit has {found.size.nodes}; condition it first, "
            "allow more with max_nodes, or write it for Graphviz with circuit_dot."
        )
    graph = to_networkx(found)
    layers, paths = _layers(graph)
    at = _positions(layers)
    widest = max(_width(layer) for layer in layers)
    ax = own_axes(ax, width=max(4.5, 1.75 * widest), height=1.2 + 1.0 * len(layers))
    for (a, b), path in paths.items():
        siblings = sorted(graph.successors(a), key=lambda child: at[paths[a, child][1]])
        text = label(graph.edges[a, b]["label"], 26) if graph.edges[a, b]["label"] else ""
        _edge(ax, [at[n] for n in path], text, share=(0.42, 0.66)[siblings.index(b) % 2], dashed=text == "0")
    for node, data in graph.nodes(data=True):
        _node(ax, at[node], data)
    ax.set_xlim(-widest / 2 - 0.1, widest / 2 + 0.1)
    ax.set_ylim(0.6 - len(layers), 0.4)
    ax.axis("off")
    language = getattr(found, "language", "circuit")
    edges = "elements" if language == "sdd" else "edges"
    words = {"obdd": "OBDD", "mdd": "MDD", "sdd": "SDD", "ddnnf": "d-DNNF"}.get(language, "Circuit")
    said = {
        "obdd": "bits on no edge lead to 0",
        "sdd": "and: an element, a prime and its sub; or 3: at vtree node 3",
    }
    size = f"{found.size.nodes} nodes, {found.size.edges} {edges}"
    caption(ax, title or f"{words}: {size}", said.get(language, "values on no edge lead to 0"))
    return ax


def _layers(graph: nx.DiGraph) -> tuple[list[list[Place]], dict[tuple[int, int], list[Place]]]:
    """Return what stands on each layer, from left to right, and the places each edge passes.

    A node's layer is its longest distance from the root. An edge over several layers gets a place on each
    of them, so that it passes between nodes and not behind them.
    """
    import networkx as nx

    depth: dict[int, int] = {}
    for node in nx.topological_sort(graph):
        depth[node] = max((depth[p] + 1 for p in graph.predecessors(node)), default=0)
    layers: list[list[Place]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in sorted(graph, reverse=True):
        layers[depth[node]].append(node)
    paths: dict[tuple[int, int], list[Place]] = {}
    for a, b in graph.edges:
        between: list[Place] = [(a, b, y) for y in range(depth[a] + 1, depth[b])]
        paths[a, b] = [a, *between, b]
        for y, place in enumerate(between, start=depth[a] + 1):
            layers[y].append(place)
    for sweep in range(_SWEEPS):
        _arrange(list(paths.values()), layers, down=sweep % 2 == 0)
    return layers, paths


def _arrange(paths: list[list[Place]], layers: list[list[Place]], *, down: bool) -> None:
    """Sort each layer by the mean position of its neighbours above (or below): fewer edges cross."""
    near: dict[Place, list[Place]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            near.setdefault(lower if down else upper, []).append(upper if down else lower)
    at = {place: x for layer in layers for place, (x, _) in _positions([layer]).items()}
    for layer in layers[1:] if down else layers[-2::-1]:
        means = {p: sum(at[q] for q in near[p]) / len(near[p]) if p in near else at[p] for p in layer}
        layer.sort(key=means.__getitem__)
        at.update((place, x) for place, (x, _) in _positions([layer]).items())


def _room(place: Place) -> float:
    return 1.0 if isinstance(place, int) else _PASSAGE


def _width(layer: list[Place]) -> float:
    return sum(map(_room, layer))


def _positions(layers: list[list[Place]]) -> dict[Place, tuple[float, float]]:
    found: dict[Place, tuple[float, float]] = {}
    for y, layer in enumerate(layers):
        x = -_width(layer) / 2
        for place in layer:
            found[place] = (x + _room(place) / 2, -float(y))
            x += _room(place)
    return found


def _edge(ax: Axes, points: list[tuple[float, float]], text: str, *, share: float, dashed: bool) -> None:
    """Draw an edge, with its text at a share of the first stretch: further down other edges come near."""
    line: Any = (0, (4, 2)) if dashed else "-"
    ax.plot([x for x, _ in points], [y for _, y in points], color=ABSENT, linewidth=1.2, linestyle=line, zorder=1)
    if text:
        start, end = points[:2]
        at = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
        style = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}
        ax.text(*at, text, ha="center", va="center", fontsize=SMALL, color="black", bbox=style, zorder=2)


def _node(ax: Axes, at: tuple[float, float], data: dict[str, Any]) -> None:
    decision, constant = data["kind"] in ("decision", "literal"), data["kind"] in ("true", "false")
    shape = "square,pad=0.3" if constant else "round,pad=0.35" if decision else "circle,pad=0.2"
    style = {"boxstyle": shape, "facecolor": _FACES[data["kind"]], "edgecolor": INK}
    colour = "white" if constant else INK
    ax.text(*at, label(data["label"], 20), ha="center", va="center", fontsize=SMALL, color=colour, bbox=style, zorder=3)
