"""Linear functions over the cells that constraints leave.

Constraints hold on all of a cell or on nothing of it, so that the possible points of a linear model are a union of
boxes: a cell of each feature that constraints are about, as the paths of a diagram say, and anything of the others. On
a box every score is linear. What is looked for is where functions are positive: one of them (the ways out of an
output), or all together (one class among several).

The ends of cells may be open (``age < 18``), so an extreme value is a pair: the number, and how many features would
have to be on an open end for it. It is attained iff none would.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from axfi_kc.budget import Account, paced
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis, Grid
from axfi_kc.domain.measures import Weights
from axfi_kc.engines.linear.half_spaces import Piece, Side, pieces, sides_of
from axfi_kc.errors import DomainError
from axfi_kc.models import LinearModel, Similarity, Slope
from axfi_kc.models.support import Support, support_of, unlimited

__all__ = ["Around", "Extreme", "Functions", "PossibleCells", "Span", "Vector", "interval"]


_FALSE, _TRUE = 0, 1
_ZERO = Fraction(0)
_MOST_VALUES = 1_000_000  # of an integer feature that are listed
Vector = tuple[Any, ...]  # an exact number for each function: a Fraction, or an int where all are scaled
Extreme = tuple[Any, int]  # a number, and minus how many features are on an open end there


class Span(NamedTuple):
    """Values of a feature within one cell: a single one, or an interval along which every function is linear.

    Attributes
    ----------
    cell
        Its cell.
    low, high
        Its ends as codes, equal for a single value; NaN where the feature is missing.
    is_open
        Whether the lower, and whether the upper end is outside.
    at, step
        What the functions are at the lower end, and by how much they grow to the upper one; None for a single value.
    share, number
        Its probability, and its number of values.
    """

    cell: int
    low: float | Fraction
    high: float | Fraction
    is_open: tuple[bool, bool]
    at: Vector
    step: Vector | None
    share: Fraction
    number: int

    def most(self, k: int) -> Extreme:
        """Return the most that function k can be."""
        if self.step is None or not self.step[k]:
            return self.at[k], 0
        rises = self.step[k] > 0
        return self.at[k] + max(self.step[k], 0), -self.is_open[rises]

    def least(self, k: int) -> Any:
        """Return what function k never falls below."""
        return self.at[k] + (min(self.step[k], 0) if self.step else 0)

    def denominators(self) -> set[int]:
        """Return the denominators of all numbers of the functions."""
        return {x.denominator for x in (*self.at, *(self.step or ()))}

    def scaled(self, factor: int) -> Span:
        """Return the span with functions that are so many times as large, in integers."""
        step = None if self.step is None else _scaled(self.step, factor)
        return self._replace(at=_scaled(self.at, factor), step=step)


def _scaled(numbers: Vector, factor: int) -> Vector:
    return tuple(x.numerator * (factor // x.denominator) for x in numbers)


class Functions:
    """What is looked for, from an instance with an output: where functions are positive.

    Parameters
    ----------
    model, similarity
        The linear model, and which outputs count as similar.
    output
        The instance's.

    Attributes
    ----------
    strict
        Of each function, whether 0 is not enough.
    together
        Whether all must be positive, or one.
    """

    def __init__(self, model: LinearModel, similarity: Similarity, output: object) -> None:
        wanted, self.together = similarity.sought(output, model.labels)
        home = model.labels.index(wanted) if model.labels else 0
        self.sides: tuple[Side, ...] = sides_of(model, similarity if not self.together else Similarity(), home)
        # A side is left, and its complement is the class itself: what is not enough for the one is for the other.
        self._sign = 1 if self.together else -1
        self.strict = tuple(side.strict != self.together for side in self.sides)

    def __len__(self) -> int:
        """Return how many functions there are."""
        return len(self.sides)

    def added(self, i: int, code: float | Fraction) -> Vector:
        """Return what feature i adds to each function."""
        return tuple(self._sign * side.added(i, code) for side in self.sides)

    def at(self, codes: Sequence[float]) -> Vector:
        """Return the functions at an instance."""
        own = [self.added(i, code) for i, code in enumerate(codes)]
        return tuple(
            # A regression's sides are a fixed distance away, wherever the instance is.
            Fraction(-side.distance)
            if side.distance is not None
            else self._sign * side.base + sum((row[k] for row in own), _ZERO)
            for k, side in enumerate(self.sides)
        )

    def is_enough(self, k: int, extreme: Extreme) -> bool:
        """Tell whether function k is positive somewhere, given the most that it can be."""
        return extreme[0] > 0 or (not extreme[0] and not extreme[1] and not self.strict[k])

    def holds(self, values: Sequence[Fraction]) -> bool:
        """Tell whether a point is one of those looked for."""
        found = (self.is_enough(k, (value, 0)) for k, value in enumerate(values))
        return all(found) if self.together else any(found)


class PossibleCells:
    """The boxes of possible points of a linear model, and what functions are on them; one box without constraints."""

    def __init__(self, model: LinearModel, similarity: Similarity) -> None:
        self.model, self._similarity = model, similarity
        self.grid = Grid.of(model.domain, [()] * len(model.domain))
        self.support: Support = support_of(self.grid) or unlimited(self.grid)

    def functions(self, output: object) -> Functions:
        """Return what is looked for from an output."""
        return Functions(self.model, self._similarity, output)

    @cached_property
    def groups(self) -> list[int]:
        """The features that constraints are about, as sets of those that constraints tie to each other."""
        domain, scope = self.model.domain, self.support.scope
        found: list[int] = []
        for constraint in domain.constraints:
            mask = sum(1 << i for i in {domain.index(name) for name in constraint.names}) & scope
            near = [group for group in found if group & mask]
            found = [group for group in found if not group & mask]
            if mask:
                found.append(mask | sum(near))  # groups have no feature in common, so that this is their union
        return found

    def spans(
        self,
        functions: Functions,
        i: int,
        *,
        measured: bool = True,
        only_ends: bool = False,
        account: Account | None = None,
    ) -> list[Span]:
        """Return the values of feature i, cell by cell.

        If `measured`, cut where its measure changes; if `only_ends`, of many integers those that can be the best ones
        of their cell for some function.
        """
        axis, feature = self.grid.axes[i], self.grid.axes[i].feature
        found = list[Span]()
        for cell in range(axis.n_cells):
            if cell == axis.missing_cell:
                values: Iterable[tuple[float, Fraction]] = [(math.nan, feature.missing)]
            elif isinstance(feature, Real):
                found += self._intervals(functions, i, axis, cell, measured)
                continue
            else:
                is_even = only_ends and isinstance(self.model.parts[i], Slope)
                values = _values(axis, cell, only_ends=is_even)
            for code, share in paced(values, account):
                found.append(Span(cell, code, code, (False, False), functions.added(i, code), None, share, 1))
        return found

    def _intervals(self, functions: Functions, i: int, axis: Axis, cell: int, measured: bool) -> Iterator[Span]:
        """Yield the parts of a cell of real feature i on which it is uniform."""
        low, high, is_open = interval(axis, cell)
        feature, whole = axis.feature, [Piece(Fraction(1), low, high)]
        parts = [p for p in (pieces(feature) if measured else whole) if max(p.low, low) < min(p.high, high)]
        if low == high or not parts:
            share = (1 - feature.missing) * (feature.low == feature.high)  # type: ignore[union-attr]
            yield Span(cell, low, high, is_open, functions.added(i, low), None, Fraction(share), 1)
            return
        for part in parts:
            a, b = max(part.low, low), min(part.high, high)
            at, end = functions.added(i, a), functions.added(i, b)
            share = (1 - feature.missing) * part.share * (b - a) / (part.high - part.low)
            ends = is_open[0] and a == low, is_open[1] and b == high
            yield Span(cell, a, b, ends, at, tuple(y - x for x, y in zip(at, end, strict=True)), share, 1)


def interval(axis: Axis, cell: int) -> tuple[Fraction, Fraction, tuple[bool, bool]]:
    """Return the ends of a cell of a real feature, and whether the lower and the upper one are outside of it."""
    feature = axis.feature
    if not isinstance(feature, Real):
        raise TypeError("expected a real feature")
    low = Fraction(axis.cuts[cell - 1].value) if cell else feature.low
    high = Fraction(axis.cuts[cell].value) if cell < len(axis.cuts) else feature.high
    is_open = bool(cell and axis.cuts[cell - 1].closed), cell < len(axis.cuts) and not axis.cuts[cell].closed
    return low, high, is_open


def _values(axis: Axis, cell: int, *, only_ends: bool = False) -> Iterator[tuple[float, Fraction]]:
    """Yield the codes of a cell of a discrete feature, with their probabilities; perhaps the first and the last."""
    feature, present = axis.feature, 1 - axis.feature.missing
    size = (feature.size or 0) - bool(feature.missing)
    if size > _MOST_VALUES:
        raise DomainError(
            f"Feature {feature.name!r} has {size} values, too many to list under constraints; narrow its bounds, or "
            "declare it real."
        )
    shares = feature.measure.shares if isinstance(feature.measure, Weights) else None
    places = _places(axis, cell, feature)
    for place in sorted({places[0], places[-1]}) if only_ends and places else places:
        code = place + (feature.low if isinstance(feature, Integer) else 0)
        yield float(code), present * (shares[place] if shares is not None else Fraction(1, size))


def _places(axis: Axis, cell: int, feature: Feature) -> Sequence[int]:
    if isinstance(feature, Categorical):
        return (cell,)
    first = sum((axis.counts or ())[:cell])
    return range(first, first + (axis.counts or ())[cell])


class Around:
    """The possible points around one instance.

    Parameters
    ----------
    cells
        Those of the model.
    functions
        What is looked for from the instance's output.
    spans
        Per feature, its values.
    codes
        The instance.
    scaled
        Whether functions are multiplied by what makes all their numbers integers, which is all that signs, sums and
        shares of volumes need.
    account
        What that may cost, where values are many.
    """

    def __init__(
        self,
        cells: PossibleCells,
        functions: Functions,
        spans: Sequence[Sequence[Span]],
        codes: Sequence[float],
        *,
        scaled: bool = False,
        account: Account | None = None,
    ) -> None:
        self.functions, self.codes, self.support = functions, codes, cells.support
        self.cells: list[int] = cells.grid.locate(np.array([codes], dtype=np.float64))[0].tolist()
        self.start = functions.at(codes)
        self.own = [functions.added(i, code) for i, code in enumerate(codes)]
        self.spans = spans
        if scaled:
            whole = math.lcm(*(x.denominator for row in (self.start, *self.own) for x in row))
            for row in spans:
                whole = math.lcm(whole, *{d for span in paced(row, account) for d in span.denominators()})
            self.start, self.own = _scaled(self.start, whole), [_scaled(row, whole) for row in self.own]
            self.spans = [[span.scaled(whole) for span in paced(row, account)] for row in spans]
        self._nodes = self.support.nodes
        self._kept: dict[int, list[Extreme]] = {}
        self._scope = self.support.scope

    def feature_of(self, node: int) -> int:
        """Return the feature that a node of the constraints' diagram is about."""
        return self._nodes.order[self._nodes.places[node]]

    def child(self, node: int, i: int, cell: int) -> int:
        """Return where a cell of feature i leads to; to the node itself if it is about another one."""
        return self.support._child(node, cell) if node > _TRUE and self.feature_of(node) == i else node

    def settled(self, node: int, free: int) -> int:
        """Return the next node about a feature that is free: the others are as in the instance."""
        while node > _TRUE and not free >> self.feature_of(node) & 1:
            node = self.support._child(node, self.cells[self.feature_of(node)])
        return node

    def ordered(self, free: Sequence[int]) -> list[int]:
        """Return features as the diagram of the constraints asks about them; the others follow, real ones last."""
        about = [i for i in self._nodes.order if i in free and self._scope >> i & 1]
        others = [i for i in free if i not in about]
        return about + sorted(others, key=lambda i: self.spans[i][0].step is not None)

    @cached_property
    def _tops(self) -> list[list[dict[int, Extreme]]]:
        """Per feature and function, the most that it adds beyond the instance's own value, in each cell."""
        found = []
        for own, row in zip(self.own, self.spans, strict=True):
            rows: list[dict[int, Extreme]] = [{} for _ in range(len(self.functions))]
            for span in row:
                for k, best in enumerate(rows):
                    value, ends = span.most(k)
                    at = value - own[k], ends
                    best[span.cell] = max(best.get(span.cell, at), at)
            found.append(rows)
        return found

    @cached_property
    def tops(self) -> list[list[Extreme]]:
        """Per feature and function, the most that it adds beyond the instance's own value, whatever is possible."""
        return [[max(best.values()) for best in rows] for rows in self._tops]

    def most(self, free: int) -> list[Extreme]:
        """Return the most that each function can be where only some features change.

        Notes
        -----
        A pass over the diagram of the constraints for each set of those that it is about; it is kept.
        """
        about = free & self._scope
        if about not in self._kept:
            self._kept[about] = [self._longest(about, k) for k in range(len(self.functions))]
        found = self._kept[about]
        others = [self.tops[i] for i in range(len(self.tops)) if (free & ~about) >> i & 1]
        return [
            (sum([row[k][0] for row in others], at + value), ends)
            for k, (at, (value, ends)) in enumerate(zip(self.start, found, strict=True))
        ]

    def _longest(self, free: int, k: int) -> Extreme:
        """Return the most that features which constraints are about add to function k: a longest path.

        A path skips features that no longer matter. So what is added up is what each cell lacks to the best one.
        """
        tops = {i: self.tops[i][k] for i in range(len(self.tops)) if free >> i & 1}
        known: dict[int, Extreme | None] = {_FALSE: None, _TRUE: (0, 0)}

        def longest(node: int) -> Extreme | None:
            # Only nodes that the instance's own cells lead to: few, as long as few features are free.
            if node not in known:
                i, best = self.feature_of(node), None
                for cell, (value, ends) in self._tops[i][k].items():
                    below = longest(self.settled(self.support._child(node, cell), free))
                    if below is not None:
                        at = below[0] + value - tops[i][0], below[1] + ends - tops[i][1]
                        best = at if best is None else max(best, at)
                known[node] = best
            return known[node]

        found = longest(self.settled(self.support.root, free))
        if found is None:
            raise ValueError("expected a possible instance")
        return sum([v for v, _ in tops.values()], found[0]), sum([e for _, e in tops.values()], found[1])

    def movable(self) -> Mapping[int, bool]:
        """Return which features can matter: constraints are about them, or a function depends on them."""
        return {
            i: bool(self._scope >> i & 1) or any(s.at != self.own[i] or (s.step and any(s.step)) for s in row)
            for i, row in enumerate(self.spans)
        }
