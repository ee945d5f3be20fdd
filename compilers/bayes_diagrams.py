"""Bayesian-network classifiers as decision diagrams: two classes are compared by the odds, exactly.

Top-down over the features. What is left to be decided below a point of the search depends on the cells of a few
features before it, those that tables still wait for, and on the odds so far. Sub-diagrams are remembered per
combination of these cells, each with the interval of odds for which it is the same, as those of sums are with intervals
of partial sums.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.compilers.model_diagrams import Task, diagram_of
from axfi_kc.models.bayes_classifier import BayesClassifier

__all__ = ["OddsCompiler", "ResidualTables"]


_FALSE, _TRUE = 0, 1
Odds = Fraction | float  # a positive fraction, 0 or infinity


@dataclass(slots=True)
class _Level:
    """The residual products that begin at one feature.

    Row s of `weights` and `below` has, for each run of cells, what every class is multiplied by, and which residual
    product of the next level follows.
    """

    place: int
    ends: list[list[int]] = field(default_factory=list)
    weights: list[list[tuple[int, ...]]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)


class ResidualTables:
    """What is left of a product of tables, feature by feature.

    Parameters
    ----------
    model
        The classifier.
    order
        The features, first to last.
    spend
        Called with a number of residual products before they are made; may raise.

    Notes
    -----
    As many residual products at a feature as the features before it, that tables with it or later ones mention, have
    combinations of cells.
    """

    def __init__(self, model: BayesClassifier, order: Sequence[int], *, spend: Callable[[int], None]) -> None:
        place_of = {feature: k for k, feature in enumerate(order)}
        # A table is multiplied when the last of its features is known.
        done: dict[int, list[int]] = {}
        for k, factor in enumerate(model.factors):
            done.setdefault(max(place_of[i] for i in factor.scope), []).append(k)
        used = sorted({place_of[i] for factor in model.factors for i in factor.scope})
        self.levels: list[_Level] = []
        known: list[tuple[int, ...]] = [()]  # the cells that are remembered, for each residual product of the level
        names: tuple[int, ...] = ()
        for place in used:
            spend(len(known))
            later = {i for k, rows in done.items() if k > place for t in rows for i in model.factors[t].scope}
            following = tuple(i for i in (*names, order[place]) if i in later)
            level, known = self._level(model, place, order[place], done.get(place, []), (known, names, following))
            names = following
            self.levels.append(level)

    @staticmethod
    def _level(
        model: BayesClassifier,
        place: int,
        feature: int,
        tables: Sequence[int],
        remembered: tuple[list[tuple[int, ...]], tuple[int, ...], tuple[int, ...]],
    ) -> tuple[_Level, list[tuple[int, ...]]]:
        known, names, following = remembered
        level, number = _Level(place), dict[tuple[int, ...], int]()
        classes = range(len(model.outputs))
        for cells in known:
            at = dict(zip(names, cells, strict=True))
            arcs = list[tuple[tuple[int, ...], int]]()
            for cell in range(model.grid.n_cells[feature]):
                at[feature] = cell
                rows = [model.factors[t].values[tuple(at[i] for i in model.factors[t].scope)] for t in tables]
                products = [math.prod(int(row[c if len(row) > 1 else 0]) for row in rows) for c in classes]
                below = number.setdefault(tuple(at[i] for i in following), len(number))
                arcs.append((_reduced(products), below))
            level.ends.append([c + 1 for c in range(len(arcs)) if c + 1 == len(arcs) or arcs[c + 1] != arcs[c]])
            level.weights.append([arcs[end - 1][0] for end in level.ends[-1]])
            level.below.append([arcs[end - 1][1] for end in level.ends[-1]])
        return level, list(number)


def _reduced(products: Sequence[int]) -> tuple[int, ...]:
    common = math.gcd(*products) or 1
    return tuple(p // common for p in products)


class _Arc(NamedTuple):
    """A run of cells: what the odds are multiplied by, and what follows."""

    odds: Odds | None  # None: both classes become impossible
    below: int


@dataclass(slots=True)
class _Frame:
    """A sub-diagram in the making: the children found so far, and the interval of odds they allow."""

    level: int
    state: int
    odds: Odds
    low: Odds = 0.0
    high: Odds = math.inf
    children: list[int] = field(default_factory=list)


class OddsCompiler:
    """Compiles "the second of two classes beats the first" into a reduced ordered diagram.

    Parameters
    ----------
    tables
        The residual products.
    prior
        Those of the classes.
    nodes
        Where nodes are made and shared.
    spend
        Called with a number of sub-diagrams before they are made; may raise.

    Notes
    -----
    Exponential at worst, as the diagram itself may be; odds are exact, and there is no recursion.
    """

    def __init__(
        self, tables: ResidualTables, prior: Sequence[int], *, nodes: MddNodes, spend: Callable[[int], None]
    ) -> None:
        self._tables, self._prior, self._nodes, self._spend = tables, prior, nodes, spend

    def compile(self, first: int, second: int) -> int:
        """Return the node of "class `second` has the larger product"; of equal ones the lower number has it."""
        self._wins = second < first  # where both products are equal, or both 0
        self._arcs = [self._level_arcs(k, first, second) for k in range(len(self._tables.levels))]
        self._bounds = self._all_bounds()
        # Sub-diagrams of each residual product: beginnings and ends of their intervals, and their nodes.
        self._known: list[list[tuple[list[Odds], list[Odds], list[int]]]] = [
            [([], [], []) for _ in level] for level in self._arcs
        ]
        self._zero: dict[tuple[int, int, bool], int] = {}
        start = _ratio(self._prior[second], self._prior[first])
        if start is None:
            return int(self._wins)
        found, frame = self._settled(0, 0, start)
        if frame is None:
            return found[0]
        frames = [frame]
        while frames:
            deeper = self._advance(frames[-1])
            if deeper is not None:
                frames.append(deeper)
            else:
                last = self._close(frames.pop())
        return last

    def _level_arcs(self, level: int, first: int, second: int) -> list[list[_Arc]]:
        here = self._tables.levels[level]
        return [
            [_Arc(_ratio(w[second], w[first]), below) for w, below in zip(weights, belows, strict=True)]
            for weights, belows in zip(here.weights, here.below, strict=True)
        ]

    def _all_bounds(self) -> list[list[tuple[Odds, Odds]]]:
        """Return, for each residual product, the least and the largest odds it may multiply by."""
        tie: Odds = math.inf if self._wins else 0.0
        bounds: list[list[tuple[Odds, Odds]]] = [[(Fraction(1), Fraction(1))]]
        for level in reversed(self._arcs):
            bounds.append([_bound(arcs, bounds[-1], tie) for arcs in level])
        return bounds[::-1]

    def _advance(self, frame: _Frame) -> _Frame | None:
        """Look up the children of a frame; return the frame of the first that is not known yet."""
        arcs = self._arcs[frame.level][frame.state]
        for arc in arcs[len(frame.children) :]:
            if arc.odds is None:
                frame.children.append(int(self._wins))
                continue
            at = _times(frame.odds, arc.odds)
            if at is None:
                frame.children.append(int(self._wins))
                continue
            found, deeper = self._settled(frame.level + 1, arc.below, at)
            if deeper is not None:
                return deeper
            node, low, high = found
            frame.children.append(node)
            # Where the odds have become 0 or infinite they are so for whatever odds there were before.
            if isinstance(arc.odds, Fraction) and isinstance(at, Fraction):
                frame.low = max(frame.low, low / arc.odds)
                frame.high = min(frame.high, high / arc.odds if isinstance(high, Fraction) else high)
        return None

    def _settled(self, level: int, state: int, odds: Odds) -> tuple[tuple[int, Odds, Odds], _Frame | None]:
        """Return the node below, with the interval of odds for which it is that, or a frame that will find it."""
        least, most = self._bounds[level][state]
        if not isinstance(odds, Fraction):
            return self._settled_zero(level, state, odds)
        # A class that is not preferred must have strictly more.
        if self._wins:
            never, always = _less(odds, most), not _less(odds, least)
        else:
            never, always = not _more(odds, most), _more(odds, least)
        if never or always:
            return ((_TRUE, _inverse(least), math.inf) if always else (_FALSE, 0.0, _inverse(most))), None
        lows, highs, nodes = self._known[level][state]
        k = (bisect_right if self._wins else bisect_left)(lows, odds) - 1
        if k >= 0 and (odds < highs[k] if self._wins else odds <= highs[k]):
            return (nodes[k], lows[k], highs[k]), None
        self._spend(1)
        return (0, 0.0, 0.0), _Frame(level, state, odds)

    def _settled_zero(self, level: int, state: int, odds: Odds) -> tuple[tuple[int, Odds, Odds], _Frame | None]:
        """Settle odds of 0 or infinity: only whether the class that is left becomes impossible too still matters."""
        # With the second class impossible it wins at most ties, with the first impossible it loses at most ties.
        if (odds == 0) != self._wins or level == len(self._arcs):
            return (int(bool(odds)), 0.0, math.inf), None
        found = self._zero.get((level, state, bool(odds)))
        if found is not None:
            return (found, 0.0, math.inf), None
        self._spend(1)
        return (0, 0.0, 0.0), _Frame(level, state, odds)

    def _close(self, frame: _Frame) -> int:
        """Make the node of a finished frame and remember its interval."""
        here = self._tables.levels[frame.level]
        node = self._nodes.node(here.place, here.ends[frame.state], frame.children)
        if not isinstance(frame.odds, Fraction):
            self._zero[frame.level, frame.state, bool(frame.odds)] = node
            return node
        lows, highs, nodes = self._known[frame.level][frame.state]
        k = bisect_right(lows, frame.low)
        lows.insert(k, frame.low)
        highs.insert(k, frame.high)
        nodes.insert(k, node)
        return node


def _ratio(above: int, below: int) -> Odds | None:
    """Return odds; None for 0 to 0."""
    if not below:
        return math.inf if above else None
    return Fraction(above, below) if above else 0.0


def _times(a: Odds, b: Odds) -> Odds | None:
    """Return the product of odds; None for 0 times infinity: both classes have become impossible."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    zero, infinite = 0 in (a, b), math.inf in (a, b)
    return None if zero and infinite else 0.0 if zero else math.inf


def _bound(arcs: Sequence[_Arc], below: Sequence[tuple[Odds, Odds]], tie: Odds) -> tuple[Odds, Odds]:
    """Return the least and the largest odds behind some arcs; both classes impossible count as the tie does."""
    found: list[Odds] = []
    for arc in arcs:
        if arc.odds is None:
            found.append(tie)
        elif isinstance(arc.odds, Fraction):
            found += [_times(arc.odds, bound) or 0.0 for bound in below[arc.below]]
        else:
            found += [arc.odds, tie]
    return min(found), max(found)


def _more(odds: Fraction, bound: Odds) -> bool:
    """Tell whether odds times a bound are above 1."""
    return odds * bound > 1 if isinstance(bound, Fraction) else bound > 0


def _less(odds: Fraction, bound: Odds) -> bool:
    """Tell whether odds times a bound are below 1."""
    return odds * bound < 1 if isinstance(bound, Fraction) else bound == 0


def _inverse(bound: Odds) -> Odds:
    if isinstance(bound, Fraction):
        return 1 / bound
    return math.inf if bound == 0 else 0.0


@diagram_of.register
def _diagram(model: BayesClassifier, task: Task) -> Circuit:
    """Return the reduced ordered diagram: of classes compared two by two."""
    nodes = MddNodes(model.grid, task.features(model), spend=task.spend)
    tables = ResidualTables(model, nodes.order, spend=task.spend)
    compiler = OddsCompiler(tables, model.prior, nodes=nodes, spend=task.spend)
    classes = range(len(model.outputs))
    similar = [c for c in classes if task.similarity.holds(model.outputs[c], task.output)]
    if len(similar) == 1:
        root = nodes.union([compiler.compile(similar[0], c) for c in classes if c != similar[0]])
    else:
        root = nodes.union([_winning(compiler, nodes, c, classes) for c in classes if c not in similar])
    return nodes.circuit(root, negated=task.similar)


def _winning(compiler: OddsCompiler, nodes: MddNodes, winner: int, classes: Sequence[int]) -> int:
    """Return the node of "this class beats all others"."""
    root = _TRUE
    for other in classes:
        if other != winner:
            root = nodes.conjoined(root, compiler.compile(other, winner))
    return root
