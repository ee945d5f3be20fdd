"""Circuits and targets as networkx graphs, and graphs as circuits.

A node has ``kind`` (``"decision"``, ``"literal"``, ``"and"``, ``"or"``, ``"not"``, ``"true"``, ``"false"``) and
``label``;
a decision and a literal have ``feature``, a literal has ``cells``; an edge of a decision has ``cells``, what takes
it, and ``label``, the same in the user's terms. A node that stands for a bit has ``meaning``, the values for which
it is true. Cells on no edge lead to false. The graph has ``root`` and ``domain``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import checked, has
from axfi_kc.circuits.circuit import AND, DECISION, OR, Circuit, CircuitBuilder, circuit_in
from axfi_kc.circuits.files.variables import boolean_domain, outer_names
from axfi_kc.circuits.signed_nodes import Signed, SignedNodes
from axfi_kc.circuits.targets.bit_codes import Bit
from axfi_kc.circuits.targets.obdd import Obdd
from axfi_kc.circuits.targets.sdd import Sdd
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.errors import CircuitError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_networkx", "to_networkx"]


_CONNECTIVES = {AND: "and", OR: "or"}


def to_networkx(form: Any) -> nx.DiGraph:
    """Return a form as a networkx DiGraph from the root down, in its own nodes.

    An OBDD has a node for each of its bits, whose edges are called 0 and 1; an SDD has a disjunction for each
    decision, and
    below it a conjunction of prime and sub for each element; all others are decisions on features and gates.

    Notes
    -----
    Linear.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> graph = to_networkx(ax.from_expression("x & (y | ~z)"))
    >>> sorted(kind for _, kind in graph.nodes(data="kind"))
    ['and', 'and', 'decision', 'decision', 'decision', 'decision', 'or', 'true']
    >>> from_networkx(graph) == ax.from_expression("x & (y | ~z)")
    True
    """
    target = form.target if has(form, "target") else form
    return _graph(target if isinstance(target, Obdd | Sdd) else circuit_in(form))


@singledispatch
def _graph(form: Any) -> nx.DiGraph:
    raise NotImplementedError(type(form))


@_graph.register(Circuit)
def _circuit_graph(circuit: Circuit) -> nx.DiGraph:
    graph = _empty(circuit.grid, circuit.root)
    for node, kind in enumerate(circuit.kinds.tolist()):
        graph.add_node(node, **_attributes(circuit, node, kind))
    for node, kind in enumerate(circuit.kinds.tolist()):
        axis = circuit.grid.axes[int(circuit.features[node])]
        for cells, child in circuit.arcs(node):
            if kind == DECISION:
                _add_arc(graph, node, child, axis, cells)
            else:
                graph.add_edge(node, child, label="")
    return _reached(graph)


def _add_arc(graph: nx.DiGraph, node: int, child: int, axis: Axis, cells: Iterable[int]) -> None:
    before = graph.edges[node, child]["cells"] if graph.has_edge(node, child) else ()
    own = tuple(sorted({*before, *cells}))
    graph.add_edge(node, child, cells=own, label=_values(axis, own))


def _attributes(circuit: Circuit, node: int, kind: int) -> dict[str, Any]:
    if kind == DECISION:
        name = circuit.grid.domain.names[int(circuit.features[node])]
        return {"kind": "decision", "label": name, "feature": name}
    if kind in _CONNECTIVES:
        return {"kind": _CONNECTIVES[kind], "label": _CONNECTIVES[kind]}
    return {"kind": "true" if kind else "false", "label": str(kind)}


@_graph.register(Obdd)
def _obdd_graph(obdd: Obdd) -> nx.DiGraph:
    graph = _empty(obdd.grid, obdd.top)
    names = outer_names(obdd.grid, obdd.bits)
    graph.add_node(0, kind="false", label="0")
    graph.add_node(1, kind="true", label="1")
    for node, fork in obdd.forks.items():
        bit = obdd.bits[fork.level]
        feature, everything = obdd.grid.domain.names[bit.feature], range(obdd.grid.n_cells[bit.feature])
        meaning = _values(obdd.grid.axes[bit.feature], tuple(sorted(bit.cells)))
        node_of = {"kind": "decision", "label": names[fork.level], "feature": feature, "meaning": meaning}
        graph.add_node(node, **node_of, level=fork.level)
        low = tuple(c for c in everything if c not in bit.cells)
        for end, cells, text in ((fork.low, low, "0"), (fork.high, tuple(bit.cells), "1")):
            if end:  # as in every graph here, what leads to false is left out
                graph.add_edge(node, end, cells=cells, label=text)
    return _reached(graph)


@_graph.register(Sdd)
def _sdd_graph(sdd: Sdd) -> nx.DiGraph:
    nodes, names = sdd.nodes, outer_names(sdd.grid, sdd.bits)
    graph = _empty(sdd.grid, nodes.root)
    graph.add_node(0, kind="false", label="0")
    graph.add_node(1, kind="true", label="1")
    fresh = len(nodes.literals)
    places = nodes.vtree_nodes.tolist()
    for node, (literal, pairs) in list(enumerate(zip(nodes.literals.tolist(), nodes.pairs, strict=True)))[2:]:
        if literal:
            graph.add_node(node, **_literal(sdd.grid, sdd.bits[abs(literal) - 1], literal, names))
            continue
        graph.add_node(node, kind="or", label=f"or {places[node]}", vtree=places[node])
        for prime, sub in pairs:
            graph.add_node(fresh, kind="and", label="and")
            graph.add_edge(node, fresh, label="")
            graph.add_edge(fresh, prime, label="prime")
            graph.add_edge(fresh, sub, label="sub")
            fresh += 1
    return _reached(graph)


def _literal(grid: Grid, bit: Bit, literal: int, names: list[str]) -> dict[str, Any]:
    everything = range(grid.n_cells[bit.feature])
    cells = tuple(c for c in everything if (c in bit.cells) == (literal > 0))
    text = ("" if literal > 0 else "~") + names[abs(literal) - 1]
    meaning = _values(grid.axes[bit.feature], cells)
    named = {"label": text, "feature": grid.domain.names[bit.feature], "meaning": meaning}
    return {"kind": "literal", **named, "cells": cells}


def _empty(grid: Grid, root: int) -> nx.DiGraph:
    import networkx as nx

    return nx.DiGraph(root=root, domain=grid.domain, grid=grid)


def _reached(graph: nx.DiGraph) -> nx.DiGraph:
    """Return the graph without what the root does not reach, which says nothing about the function."""
    import networkx as nx

    root = graph.graph["root"]
    graph.remove_nodes_from(set(graph) - {root} - nx.descendants(graph, root))
    return graph


def _values(axis: Axis, cells: tuple[int, ...]) -> str:
    """Return the cells in the user's terms, without the feature's name, which stands on the node."""
    if len(cells) == axis.n_cells:
        return "any"
    name = axis.feature.name
    if isinstance(axis.feature, Categorical) or axis.missing_cell in cells:
        return axis.describe(cells).removeprefix(f"{name} ").replace(f" or {name} ", " or ")
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


@checked("domain")
def from_networkx(graph: nx.DiGraph, domain: Domain | None = None) -> Circuit:
    """Return the circuit of a networkx DiGraph whose edges lead from the root down.

    Parameters
    ----------
    graph
        A node has ``kind``: ``"and"``, ``"or"``, ``"not"``, ``"true"``, ``"false"``, ``"literal"`` with ``feature`` and
        ``value`` (1 by default) or ``cells``, or ``"decision"`` with ``feature``, whose edges have ``value`` or
        ``cells``. The root is ``graph.graph["root"]``, or the one node without predecessor.
    domain
        The features; by default ``graph.graph["domain"]``, or features with the values 0 and 1 of the names that occur.

    Raises
    ------
    CircuitError
        If the graph has a cycle, no single root, or a node that is none of these.

    Notes
    -----
    Linear. Disjunctions are taken as they are; whether their parts exclude each other is checked before the first
    count (:func:`axfi_kc.circuits.queries.determinism`).

    Examples
    --------
    >>> import networkx as nx
    >>> from axfi_kc import queries
    >>> graph = nx.DiGraph([("both", "x"), ("both", "not y"), ("not y", "y")])
    >>> nx.set_node_attributes(graph, {"both": "and", "x": "literal", "y": "literal", "not y": "not"}, "kind")
    >>> nx.set_node_attributes(graph, {"x": "x", "y": "y"}, "feature")
    >>> list(queries.models(from_networkx(graph)))
    [(1, 0)]
    """
    import networkx as nx

    root = _root(graph)
    try:
        order = list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        cycle = " -> ".join(str(a) for a, *_ in nx.find_cycle(graph))[:80]
        raise CircuitError(f"A circuit has no cycle, but this graph has {cycle}; remove an edge of it.") from None
    grid = _grid(graph, domain)
    reading = _Reading(graph, grid)
    made: dict[Hashable, Signed] = {}
    for node in reversed(order):
        made[node] = reading.node(node, made)
    return reading.nodes.build.circuit(made[root][0])


def _root(graph: nx.DiGraph) -> Hashable:
    if not has(graph, "is_directed") or not graph.is_directed():
        found = "one whose edges have no direction" if has(graph, "is_directed") else type(graph).__name__
        raise CircuitError(f"A circuit is a directed graph, but {found} was given; make it an nx.DiGraph.")
    named = graph.graph.get("root")
    tops = [named] if named is not None else [node for node, n in graph.in_degree() if n == 0]
    if len(tops) != 1 or tops[0] not in graph:
        # a graph whose nodes all have a predecessor has a cycle, which is what to say of it
        if len(graph) and not tops:
            import networkx as nx

            cycle = " -> ".join(str(a) for a, *_ in nx.find_cycle(graph))[:80]
            raise CircuitError(f"A circuit has no cycle, but this graph has {cycle}; remove an edge of it.")
        raise CircuitError(
            f"A circuit is a directed graph with one root, but this one has {len(tops)} nodes without a predecessor; "
            "say which one by graph.graph['root']."
        )
    top: Hashable = tops[0]
    return top


def _grid(graph: nx.DiGraph, domain: Domain | None) -> Grid:
    """Return the cells that the graph speaks about."""
    own = graph.graph.get("grid")
    if domain is None and isinstance(own, Grid):
        return own
    known = domain or graph.graph.get("domain")
    names = dict.fromkeys(str(data["feature"]) for _, data in graph.nodes(data=True) if "feature" in data)
    return Grid.of_values(known or boolean_domain(names))


class _Reading:
    """Makes a node of a builder of each node of a graph, and of its complement."""

    def __init__(self, graph: nx.DiGraph, grid: Grid) -> None:
        self._graph, self._grid = graph, grid
        self.nodes = SignedNodes(CircuitBuilder(grid))

    def node(self, node: Hashable, made: dict[Hashable, Signed]) -> Signed:
        """Return the node, its children being made."""
        nodes, data = self.nodes, self._graph.nodes[node]
        below = [made[child] for child in self._graph.successors(node)]
        kind = data.get("kind")
        if kind in ("true", "false"):
            return nodes.true if kind == "true" else nodes.false
        if kind == "not" and len(below) == 1:
            return below[0][::-1]
        if kind == "and":
            return nodes.conjunction(below)
        if kind == "or":
            return nodes.disjunction(below)
        if kind == "literal" and not below:
            return nodes.decision(self._feature(node, data), [(self._cells(node, data, data), nodes.true)])
        if kind == "decision":
            edges = self._graph[node].items()
            arcs = [(self._cells(node, data, edge), made[child]) for child, edge in edges]
            return nodes.decision(self._feature(node, data), arcs)
        raise CircuitError(
            f"A node is an 'and', an 'or', a 'not' of one node, a 'decision', a 'literal' without successors, 'true' "
            f"or 'false', but node {node!r} has kind={kind!r} and {len(below)} successors; set its attribute kind."
        )

    def _feature(self, node: Hashable, data: Any) -> int:
        if data.get("feature") not in self._grid.domain.names:
            raise CircuitError(
                f"A decision and a literal name a feature of the domain, but node {node!r} has "
                f"feature={data.get('feature')!r}; set its attribute feature."
            )
        return self._grid.domain.index(data["feature"])

    def _cells(self, node: Hashable, data: Any, said: Any) -> tuple[int, ...]:
        """Return the cells that a literal or an edge names, by themselves or by a value."""
        i = self._feature(node, data)
        if "cells" in said:
            return tuple(said["cells"])
        if "value" in said or data.get("kind") == "literal":
            return (self._grid.cell(self._grid.domain.names[i], said.get("value", 1)),)
        raise CircuitError(
            f"Edges of a decision have a value or cells, but one of node {node!r} has neither; set its attribute value."
        )
