"""Where the nodes, edges and labels of a circuit stand: by Graphviz where there is one, else in layers of our own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from axfi_kc.errors import CircuitError, MissingExtraError
from axfi_kc.plots.style import told

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["LAYOUTS", "CircuitLayout", "laid_out_circuit"]


Point = tuple[float, float]
Edge = tuple[int, int]
Sizes = Mapping[Any, Point]  # the width and height of nodes, and of labels by their edge; without a label no entry

LAYOUTS = ("auto", "dot", "layers")
_SECONDS = 20  # for Graphviz; circuits of some hundred nodes take tenths of one
_STEPS = 8  # straight pieces per curve


@dataclass(frozen=True, slots=True)
class CircuitLayout:
    """Places in inches, from the lower left.

    Attributes
    ----------
    size
        Width and height.
    nodes
        The middle of each node.
    edges
        The points each edge passes, from node to node.
    labels
        The middle of each label, by its edge.
    """

    size: Point
    nodes: dict[int, Point]
    edges: dict[Edge, list[Point]]
    labels: dict[Edge, Point]


def laid_out_circuit(graph: nx.DiGraph, nodes: Sizes, labels: Sizes, *, layout: str = "auto") -> CircuitLayout:
    """Return where everything stands.

    Parameters
    ----------
    graph
        The circuit, from the root down; Graphviz puts nodes of one ``rank`` side by side.
    nodes, labels
        How wide and high each node is, and each label, in inches.
    layout
        ``"dot"``: by Graphviz; ``"layers"``: by ourselves; ``"auto"``: by Graphviz, and by ourselves where it is not
        installed or fails.

    Raises
    ------
    MissingExtraError
        If Graphviz was asked for and is not installed.
    CircuitError
        If it was asked for and fails, or there is no such layout.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = nx.DiGraph([(2, 1), (2, 0), (1, 0)])
    >>> found = laid_out_circuit(graph, dict.fromkeys(graph, (1, 0.3)), {(2, 0): (0.5, 0.2)}, layout="layers")
    >>> found.nodes[2][1] > found.nodes[1][1] > found.nodes[0][1]
    True
    """
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise CircuitError(f"A layout is one of {', '.join(LAYOUTS)}, but {told(layout)} was given; take one of these.")
    program = None if layout == "layers" else shutil.which("dot")
    if layout == "dot" and program is None:
        raise MissingExtraError(
            "The layout 'dot' needs Graphviz, whose program dot was not found; install Graphviz, or take 'layers'."
        )
    try:
        found = program and _by_graphviz(program, graph, nodes, labels)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        if layout == "dot":
            raise CircuitError(f"Graphviz's dot failed ({error}); take layout='layers'.") from error
        found = None
    return found or _by_layers(graph, nodes, labels)


def _by_graphviz(program: str, graph: nx.DiGraph, nodes: Sizes, labels: Sizes) -> CircuitLayout:
    """Ask dot, which sees numbers and sizes only: no name, whatever is in it, leaves this process."""
    lines = ["digraph {", "nodesep=0.3; ranksep=0.3; edge [arrowhead=none];"]
    for node in sorted(graph, reverse=True):
        wide, high = nodes[node]
        lines.append(f'{node} [label="", shape=box, fixedsize=true, width={wide:.3f}, height={high:.3f}];')
    lines += [f"{{rank=same; {'; '.join(map(str, same))}}}" for same in _ranks(graph) if len(same) > 1]
    lines += [f"{a} -> {b}{_sized_label(labels.get((a, b)))};" for a, b in graph.edges]
    done = subprocess.run(  # noqa: S603  # a program that the system found, no shell
        [program, "-Tjson0"],
        input="\n".join([*lines, "}"]),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=True,
    )
    return _read(json.loads(done.stdout))


def _ranks(graph: nx.DiGraph) -> list[list[int]]:
    """Return the nodes that stand side by side: in ordered diagrams those of one ``rank``."""
    ranks: dict[Any, list[int]] = {}
    for node, rank in graph.nodes(data="rank"):
        if rank is not None:
            ranks.setdefault(rank, []).append(node)
    return list(ranks.values())


def _sized_label(size: Point | None) -> str:
    """Return an empty table of a label's size, in points, for which dot makes room."""
    if size is None:
        return ""
    wide, high = (round(72 * side) for side in size)
    table = f'<TABLE BORDER="0" FIXEDSIZE="TRUE" WIDTH="{wide}" HEIGHT="{high}"><TR><TD></TD></TR></TABLE>'
    return f" [label=<{table}>]"


def _read(answer: dict[str, Any]) -> CircuitLayout:
    placed = [thing for thing in answer["objects"] if "pos" in thing]  # ranks are objects too, without a place
    names = {thing["_gvid"]: int(thing["name"]) for thing in placed}
    nodes = {int(thing["name"]): _points(thing["pos"])[0] for thing in placed}
    edges, labels = {}, {}
    for found in answer.get("edges", ()):
        edge = names[found["tail"]], names[found["head"]]
        edges[edge] = [nodes[edge[0]], *_along(_points(found["pos"])), nodes[edge[1]]]
        if "lp" in found:
            labels[edge] = _points(found["lp"])[0]
    _, _, wide, high = (float(side) / 72 for side in answer["bb"].split(","))
    return CircuitLayout((wide, high), nodes, edges, labels)


def _points(text: str) -> list[Point]:
    pairs = (pair.split(",") for pair in text.split())
    return [(float(x) / 72, float(y) / 72) for x, y in pairs]


def _along(controls: list[Point]) -> list[Point]:
    """Return points on the cubic curves whose control points dot gives."""
    found = controls[:1]
    for k in range(0, len(controls) - 3, 3):
        found += [_on_curve(controls[k : k + 4], step / _STEPS) for step in range(1, _STEPS + 1)]
    return found


def _on_curve(controls: list[Point], t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    x, y = (sum(w * point[k] for w, point in zip(weights, controls, strict=True)) for k in (0, 1))
    return x, y


Place = int | tuple[int, int, int]  # a node, or where the edge from a to b passes layer y

_SWEEPS = 8
_APART = 0.35  # inches between two things of one layer
_PASSAGE = 0.3  # what an edge that passes takes
_LEVEL = 0.85  # inches from a layer to the next
_GROWTH = 1.2  # where labels find no place, layers are drawn so much larger
_TRIALS = 8
_SHARES = (0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75)  # of an edge's first stretch, where its label may stand


def _by_layers(graph: nx.DiGraph, nodes: Sizes, labels: Sizes) -> CircuitLayout:
    """Put each node on the layer of its longest distance from the root, and labels where nothing else is."""
    layers, paths = _layers(graph, nodes)
    scale = 1.0
    for _ in range(_TRIALS):
        at = _positions(layers, nodes, scale)
        edges = {edge: [at[place] for place in path] for edge, path in paths.items()}
        placed = _placed_labels(labels, edges, [(at[node], nodes[node]) for node in graph])
        if len(placed) == len(labels):
            break
        scale *= _GROWTH
    placed |= {edge: _at_share(edges[edge], 0.5) for edge in labels if edge not in placed}
    return _shifted(CircuitLayout((0, 0), {n: at[n] for n in graph}, edges, placed), nodes, labels)


def _layers(graph: nx.DiGraph, nodes: Sizes) -> tuple[list[list[Place]], dict[Edge, list[Place]]]:
    """Return what stands on each layer, from left to right, and the places each edge passes.

    An edge over several layers gets a place on each of them, so that it passes between nodes and not behind them.
    """
    import networkx as nx

    depth: dict[int, int] = {}
    for node in nx.topological_sort(graph):
        depth[node] = max((depth[p] + 1 for p in graph.predecessors(node)), default=0)
    layers: list[list[Place]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in sorted(graph, reverse=True):
        layers[depth[node]].append(node)
    paths: dict[Edge, list[Place]] = {}
    for a, b in graph.edges:
        between: list[Place] = [(a, b, y) for y in range(depth[a] + 1, depth[b])]
        paths[a, b] = [a, *between, b]
        for y, place in enumerate(between, start=depth[a] + 1):
            layers[y].append(place)
    for sweep in range(_SWEEPS):
        _arrange(list(paths.values()), layers, nodes, down=sweep % 2 == 0)
    return layers, paths


def _arrange(paths: list[list[Place]], layers: list[list[Place]], nodes: Sizes, *, down: bool) -> None:
    """Sort each layer by the mean position of its neighbours above (or below): fewer edges cross."""
    near: dict[Place, list[Place]] = {}
    for path in paths:
        for upper, lower in pairwise(path):
            near.setdefault(lower if down else upper, []).append(upper if down else lower)
    at = {place: x for place, (x, _) in _positions(layers, nodes).items()}
    for layer in layers[1:] if down else layers[-2::-1]:
        means = {p: sum(at[q] for q in near[p]) / len(near[p]) if p in near else at[p] for p in layer}
        layer.sort(key=means.__getitem__)
        at.update((place, x) for place, (x, _) in _positions([layer], nodes).items())


def _positions(layers: list[list[Place]], nodes: Sizes, scale: float = 1.0) -> dict[Place, Point]:
    found: dict[Place, Point] = {}
    for y, layer in enumerate(layers):
        rooms = [scale * ((nodes[p][0] if isinstance(p, int) else _PASSAGE) + _APART) for p in layer]
        x = -sum(rooms) / 2
        for place, room in zip(layer, rooms, strict=True):
            found[place] = (x + room / 2, -_LEVEL * scale * y)
            x += room
    return found


def _placed_labels(
    labels: Sizes, edges: dict[Edge, list[Point]], taken: list[tuple[Point, Point]]
) -> dict[Edge, Point]:
    """Return a place for each label on its edge's first stretch, where neither node nor label is; for some none."""
    placed: dict[Edge, Point] = {}
    for edge, size in labels.items():
        spots = (_at_share(edges[edge], share) for share in _SHARES)
        free = next((spot for spot in spots if not any(_meet(spot, size, *other) for other in taken)), None)
        if free is not None:
            placed[edge] = free
            taken.append((free, size))
    return placed


def _at_share(points: list[Point], share: float) -> Point:
    (x, y), (u, v) = points[:2]
    return x + share * (u - x), y + share * (v - y)


def _meet(a: Point, size: Point, b: Point, other: Point) -> bool:
    return all(abs(a[k] - b[k]) < (size[k] + other[k]) / 2 + 0.05 for k in (0, 1))


def _shifted(layout: CircuitLayout, nodes: Sizes, labels: Sizes) -> CircuitLayout:
    """Return a layout whose lower left is (0, 0), of the size of all that is in it."""
    boxes = [(at, nodes[node]) for node, at in layout.nodes.items()]
    boxes += [(at, labels[edge]) for edge, at in layout.labels.items()]
    boxes += [(at, (0.1, 0.0)) for points in layout.edges.values() for at in points]
    (left, low), (right, high) = (
        [pick(at[k] + sign * size[k] / 2 for at, size in boxes) for k in (0, 1)] for pick, sign in ((min, -1), (max, 1))
    )

    def moved(at: Point) -> Point:
        return at[0] - left, at[1] - low

    return CircuitLayout(
        (right - left, high - low),
        {node: moved(at) for node, at in layout.nodes.items()},
        {edge: [moved(at) for at in points] for edge, points in layout.edges.items()},
        {edge: moved(at) for edge, at in layout.labels.items()},
    )
