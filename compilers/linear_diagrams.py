"""Linear models over finite domains as decision diagrams.

Top-down over the features, by default largest swing first. What remains to be decided at a level
depends only on the partial sums so far, and not even on them exactly: each diagram made is valid for
a whole interval of partial sums, and a sum that falls into a known interval takes the known diagram.
Without the intervals almost nothing merges.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.compilers.feature_orders import DEFAULT_ORDER, feature_order
from axfi_kc.compilers.model_diagrams import Task, diagram_of
from axfi_kc.models import Argmax, LinearModel, Positive

__all__ = ["compile_linear"]


Spend = Callable[[int], None]


def compile_linear(
    model: LinearModel,
    is_dissimilar: Callable[[Any], bool],
    *,
    order: Sequence[int] | None = None,
    spend: Spend | None = None,
) -> Circuit:
    """Return the ordered decision diagram of the points whose output `is_dissimilar`.

    Parameters
    ----------
    model
        Over integer and categorical features.
    is_dissimilar
        Of an output.
    order
        The features, first to last; by default the largest swing first.
    spend
        Called with a number of partial sums before they are expanded; may raise.

    Raises
    ------
    DomainError
        If a feature is real: a hyperplane cuts it into no finite number of cells.

    Notes
    -----
    Binary classifiers merge on intervals of the partial sum. With several classes, and for the
    outputs of a regression, partial sums merge only when they are equal.

    Examples
    --------
    At least two of four bits, with at most two nodes per level:

    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.circuits.queries import count
    >>> bits = Domain([Integer(f"x{i}", 0, 1) for i in range(4)])
    >>> model = LinearModel.of_columns(bits, [[1, 1, 1, 1]], intercepts=[-1], rule=Positive((0, 1)))
    >>> circuit = compile_linear(model, lambda y: y == 1)
    >>> circuit.size, count(circuit)
    (Size(nodes=6, edges=10), 11)
    """
    rule, spend = model.rule, spend or _unlimited
    features = feature_order(DEFAULT_ORDER, model.domain, model.uses()) if order is None else list(order)
    if isinstance(rule, Positive) or (isinstance(rule, Argmax) and len(rule.labels) == 2):
        return _Threshold(model, [is_dissimilar(y) for y in rule.labels], features, spend).circuit()
    return _sums(model, is_dissimilar, features, spend)


@diagram_of.register
def _diagram(model: LinearModel, task: Task) -> Circuit:
    return compile_linear(model, task.is_wanted, order=task.features(model), spend=task.spend)


def _unlimited(_: int) -> None:
    pass


def _one_sum(model: LinearModel) -> tuple[list[list[int]], int]:
    """Return what each value of each feature adds to the one sum that decides, and the sum before."""
    features = range(len(model.domain))
    if isinstance(model.rule, Argmax):  # class 1 wins iff its score is above that of class 0
        pairs = [zip(model.gains(i, 0), model.gains(i, 1), strict=True) for i in features]
        return [[b - a for a, b in pair] for pair in pairs], model.base[1] - model.base[0]
    return [model.gains(i, 0) for i in features], model.base[0]


class _Level:
    """The sub-diagrams of one level: ``nodes[k]`` holds for partial sums from ``lows[k]`` to ``highs[k]``."""

    __slots__ = ("feature", "gains", "highs", "least", "lows", "most", "nodes")

    def __init__(self, feature: int, gains: list[int]) -> None:
        self.feature = feature
        self.gains = gains
        self.least = self.most = 0  # of what this level and those below can add
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.nodes: list[int] = []


class _Frame:
    """A sub-diagram in the making: its partial sum, the children found so far, and the sums they allow."""

    __slots__ = ("children", "depth", "high", "low", "total")

    def __init__(self, depth: int, total: int, far: int) -> None:
        self.depth = depth
        self.total = total
        self.low, self.high = -far, far
        self.children: list[int] = []


class _Threshold:
    """Builds the diagram of ``f(x) > 0`` for one integer-valued sum f."""

    def __init__(self, model: LinearModel, flags: Sequence[bool], order: Sequence[int], spend: Spend) -> None:
        self._build = CircuitBuilder(model.grid)
        self._spend = spend
        self._leaves = [self._build.true if flag else self._build.false for flag in flags]
        gains, self._base = _one_sum(model)
        self._levels = [_Level(i, gains[i]) for i in order]
        # From the last level up: what a level and all below it can add.
        least = most = 0
        for level in reversed(self._levels):
            least, most = least + min(level.gains), most + max(level.gains)
            level.least, level.most = least, most
        # beyond every partial sum
        self._far = abs(self._base) + sum(max(map(abs, level.gains)) for level in self._levels) + 1

    def circuit(self) -> Circuit:
        found = self._known(0, self._base)
        if found is None:
            frames = [_Frame(0, self._base, self._far)]
            while frames:
                child = self._advance(frames[-1])
                if child is not None:
                    frames.append(child)
                else:
                    self._close(frames.pop())
            found = self._known(0, self._base)
        return self._build.circuit(found[0] if found else self._build.false)

    def _known(self, depth: int, total: int) -> tuple[int, int, int] | None:
        """Return the node for a partial sum, with the least and largest sum it is valid for."""
        # Intervals are closed here. Beyond `far` there is no partial sum, so it stands for infinity.
        if depth == len(self._levels):
            return (self._leaves[1], 1, self._far) if total > 0 else (self._leaves[0], -self._far, 0)
        level = self._levels[depth]
        # Not even the largest gains lift the sum above 0; and this holds for every smaller sum.
        if total + level.most <= 0:
            return self._leaves[0], -self._far, -level.most
        # Not even the smallest gains pull it down to 0.
        if total + level.least > 0:
            return self._leaves[1], 1 - level.least, self._far
        # The last interval that begins at or below the sum, if it reaches that far.
        k = bisect_right(level.lows, total) - 1
        return (level.nodes[k], level.lows[k], level.highs[k]) if k >= 0 and total <= level.highs[k] else None

    def _advance(self, frame: _Frame) -> _Frame | None:
        """Look up the children of a frame; return the frame of the first that is not known yet."""
        gains = self._levels[frame.depth].gains
        for gain in gains[len(frame.children) :]:
            found = self._known(frame.depth + 1, frame.total + gain)
            if found is None:
                return _Frame(frame.depth + 1, frame.total + gain, self._far)
            child, low, high = found
            frame.children.append(child)
            # Seen from here, a child's interval lies lower by its gain. The node holds where all children do.
            frame.low, frame.high = max(frame.low, low - gain), min(frame.high, high - gain)
        return None

    def _close(self, frame: _Frame) -> None:
        self._spend(1)
        level = self._levels[frame.depth]
        node = self._build.decision(level.feature, (([c], child) for c, child in enumerate(frame.children)))
        # Intervals of a level are disjoint, so their beginnings order them.
        k = bisect_right(level.lows, frame.low)
        level.lows.insert(k, frame.low)
        level.highs.insert(k, frame.high)
        level.nodes.insert(k, node)


def _sums(model: LinearModel, is_dissimilar: Callable[[Any], bool], order: Sequence[int], spend: Spend) -> Circuit:
    """Return the diagram of a predicate on the output, one node per vector of partial sums.

    Level by level down, then up: what a level adds to each vector first, the nodes after.
    """
    build, scores = CircuitBuilder(model.grid), range(len(model.base))
    argmax = isinstance(model.rule, Argmax)

    def reduced(totals: Sequence[int]) -> tuple[int, ...]:
        """Return what matters of partial sums: for classes, how far each is above the first."""
        # Only differences decide which class wins, so sums that differ by a constant are one.
        return tuple(t - totals[0] for t in totals) if argmax else tuple(totals)

    layer, layers = {reduced(model.base)}, []
    for i in order:
        gains = list(zip(*(model.gains(i, k) for k in scores), strict=True))
        spend(len(layer))
        rows = {sums: [reduced([t + g for t, g in zip(sums, row, strict=True)]) for row in gains] for sums in layer}
        layers.append((i, rows))
        layer = {below for row in rows.values() for below in row}
    found = {sums: build.true if is_dissimilar(model.output_of(sums, 0)) else build.false for sums in layer}
    for i, rows in reversed(layers):
        found = {s: build.decision(i, (([c], found[b]) for c, b in enumerate(row))) for s, row in rows.items()}
    return build.circuit(found[reduced(model.base)])
