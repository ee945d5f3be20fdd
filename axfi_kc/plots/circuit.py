"""A circuit as a picture, a networkx graph or Graphviz text, labelled in the user's own terms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from axfi_kc.circuits.circuit import circuit_in
from axfi_kc.circuits.exchange.graphs import to_networkx
from axfi_kc.domain import Domain, Integer
from axfi_kc.domain.measures import counted
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.plots.circuit_layout import laid_out_circuit
from axfi_kc.plots.style import caption, check_limit, check_title, label, letters, own_axes, palette, text_width, told

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

__all__ = ["circuit_dot", "circuit_graph", "plot_circuit"]


def _drawn(given: Any) -> Any:
    """Return what is drawn: of a compiled model its target, in the target's own nodes."""
    # Of the class: what an instance says it has may be anything, as in a mock.
    found = given.target if hasattr(type(given), "target") else given
    return found if hasattr(type(found), "size") and hasattr(type(found), "to_circuit") else circuit_in(given)


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
    check_limit("max_nodes", max_nodes)
    found = _drawn(circuit)
    if found.size.nodes > max_nodes:
        raise CircuitError(
            f"At most {max_nodes} nodes are asked for, but the circuit has {found.size.nodes}; allow more with "
            "max_nodes, or condition the circuit first."
        )
    return to_networkx(found)


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
    where = None if path is None else _path(path)
    graph = circuit_graph(circuit, max_nodes=max_nodes)
    shapes = {"decision": "ellipse", "literal": "plaintext", "and": "circle", "or": "circle"}
    lines = ["digraph circuit {", "  node [fontname=Helvetica]; edge [fontname=Helvetica, fontsize=10];"]
    for node, data in graph.nodes(data=True):
        lines.append(f"  {node} [shape={shapes.get(data['kind'], 'box')}, label={_quoted(data['label'])}];")
    for a, b, data in graph.edges(data=True):
        lines.append(f"  {a} -> {b}" + (f" [label={_quoted(data['label'])}];" if data["label"] else ";"))
    text = "\n".join([*lines, "}"]) + "\n"
    if where is not None:
        write_whole(where, text, what="The graph")
    return text


def _path(given: Any) -> str:
    try:
        return os.fsdecode(given)
    except Exception as error:  # of no path, or of foreign code
        raise DomainError(f"path must be where a file can be, but {told(given)} was given; give one.") from error


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


_FACES = {"decision": "paper", "literal": "paper", "and": "faint", "or": "faint", "true": "bar", "false": "soft"}
_NAMES = {"obdd": "OBDD", "mdd": "MDD", "sdd": "SDD", "ddnnf": "d-DNNF"}
_NOTES = {
    "obdd": "each bit with the values for which it is 1; bits on no edge lead to 0",
    "sdd": "and: an element, a prime and its sub; or 3: at vtree node 3",
}
_LINE = 0.155  # inches of a line of small letters
_SLACK = 1.05  # what figures are larger than the layout, for the edges that matplotlib keeps free
_LONGEST = 40  # letters of what stands on an edge; Graphviz and the layers make room


def plot_circuit(
    circuit: Any, *, max_nodes: int = 60, title: str | None = None, layout: str = "auto", ax: Axes | None = None
) -> Axes:
    """Draw a circuit from the root down, with the values that take each edge in the user's own units.

    Of a compiled model, the target itself is drawn: an OBDD with its bits, an SDD with its elements.

    Parameters
    ----------
    circuit
        A Circuit, a compiled model, or a diagram of a target language.
    max_nodes
        Refuse larger circuits: nobody could read them. See :func:`circuit_dot` for Graphviz.
    title
        The picture's title; the circuit's size by default.
    layout
        ``"dot"``: Graphviz places nodes and edges; ``"layers"``: they are placed without it; ``"auto"``: by Graphviz
        where it is installed.
    ax
        Where to draw; a new figure by default.

    Raises
    ------
    CircuitError
        If the circuit has more than `max_nodes` nodes, or there is no such layout.
    MissingExtraError
        If Graphviz was asked for and is not installed.

    Examples
    --------
    >>> import matplotlib as mpl
    >>> from axfi_kc import Domain, Integer, compile_model
    >>> mpl.use("Agg")
    >>> domain = Domain([Integer("age", 18, 90), Integer("smokes", 0, 1)])
    >>> axes = plot_circuit(compile_model(lambda p: p[0] > 60 and p[1], domain), layout="layers")
    >>> sorted(text.get_text() for text in axes.texts)
    ['1', '>= 1', '>= 61', 'age', 'smokes', 'values on no edge lead to 0']
    """
    check_limit("max_nodes", max_nodes)
    if title is not None:
        title = check_title(title)
    found = _drawn(circuit)
    if found.size.nodes > max_nodes:
        raise CircuitError(
            f"A picture shows at most {max_nodes} nodes, but the circuit has {found.size.nodes}; condition it first, "
            "allow more with max_nodes, or write it for Graphviz with circuit_dot."
        )
    graph = to_networkx(found)
    language = getattr(found, "language", "circuit")
    if language in ("obdd", "mdd"):  # one order on all paths, which is seen best with each variable on one level
        graph.add_nodes_from((n, {"rank": d["label"]}) for n, d in graph.nodes(data=True) if d["kind"] == "decision")
    names = {node: _node_text(data, graph.graph["domain"]) for node, data in graph.nodes(data=True)}
    words = {(a, b): label(text, _LONGEST) for a, b, text in graph.edges(data="label") if text}
    placed = laid_out_circuit(
        graph,
        {n: _size(t, 0.24) for n, t in names.items()},
        {e: _size(t, 0.08) for e, t in words.items()},
        layout=layout,
    )
    wide, high = placed.size
    ax = own_axes(ax, width=max(_SLACK * wide + 0.3, 4.5), height=_SLACK * high + 0.9)
    for edge, points in placed.edges.items():
        _edge(ax, points, dashed=words.get(edge) == "0")
    for edge, text in words.items():
        _word(ax, placed.labels[edge], text)
    for node, data in graph.nodes(data=True):
        _node(ax, placed.nodes[node], names[node], data["kind"])
    ax.set(xlim=(-0.05, wide + 0.05), ylim=(-0.05, high + 0.05))
    ax.axis("off")
    size = (
        f"{counted(found.size.nodes, 'node')}, {counted(found.size.edges, 'element' if language == 'sdd' else 'edge')}"
    )
    about = f"{_NAMES.get(language, 'Circuit')}: {size}" if title is None else title
    caption(ax, about, _NOTES.get(language, "values on no edge lead to 0"))
    return ax


def _node_text(data: dict[str, Any], domain: Domain) -> str:
    """Return what stands on a node: its name, and below that of a bit the values for which it is true."""
    meaning = data.get("meaning", "")
    if data["label"].lstrip("~") == data.get("feature"):
        feature = domain.features[domain.index(data["feature"])]
        # A feature of the values 0 and 1 is its own bit, and says all with its name.
        meaning = "" if isinstance(feature, Integer) and (feature.low, feature.high) == (0, 1) else meaning
    return label(data["label"], 24) + (f"\n{label(meaning, 24)}" if meaning else "")


def _size(text: str, around: float) -> tuple[float, float]:
    return text_width(text, "small") + around, _LINE * (text.count("\n") + 1) + around / 2


def _edge(ax: Axes, points: list[tuple[float, float]], *, dashed: bool) -> None:
    x, y = zip(*points, strict=True)
    line: Any = (0, (4, 2)) if dashed else "-"
    ax.plot(x, y, color=palette(ax).soft, linewidth=1.2, linestyle=line, zorder=1)


def _word(ax: Axes, at: tuple[float, float], text: str) -> None:
    style = {"boxstyle": "square,pad=0.05", "facecolor": palette(ax).paper, "edgecolor": "none", "alpha": 0.85}
    ax.text(*at, text, ha="center", va="center", fontsize=letters("small"), color=palette(ax).ink, bbox=style, zorder=2)


def _node(ax: Axes, at: tuple[float, float], text: str, kind: str) -> None:
    colours = palette(ax)
    decision, constant = kind in ("decision", "literal"), kind in ("true", "false")
    shape = "square,pad=0.3" if constant else "round,pad=0.35" if decision else "circle,pad=0.2"
    style = {"boxstyle": shape, "facecolor": getattr(colours, _FACES[kind]), "edgecolor": colours.ink}
    colour = colours.paper if constant else colours.ink
    ax.text(*at, text, ha="center", va="center", fontsize=letters("small"), color=colour, bbox=style, zorder=3)
