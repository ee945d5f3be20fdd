"""Probabilities under a joint distribution, from its tables alone.

What a distribution holds (states, tables, weights, parents, parameters) is read as data; how it computes is not used. A
distribution is a sum of products of tables, and a total is the sum over all axes of such a product with evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

__all__ = ["Chances", "Table"]


_MOST_ENTRIES = 1 << 18  # of a table that is made on the way
_MOST_POINTS = 1 << 12  # of a diagram that is taken point by point
Axis = Hashable
Row = Sequence[int | Fraction]


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers with a name for each axis."""

    axes: tuple[Axis, ...]
    values: Any


@dataclass(frozen=True, slots=True)
class _Part:
    """One product of tables: its weight, the axis of each feature, and the entry of the axis that each state is in.

    A state may be a part of its entry: `shares` say which.
    """

    weight: Fraction
    tables: tuple[Table, ...]
    axes: tuple[Axis, ...]
    entries: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    shares: tuple[tuple[Fraction, ...], ...]

    def row(self, i: int, given: Row | None) -> Table:
        """Return evidence about a feature as a table over its axis: what is no state of the feature has none."""
        found = [Fraction(0)] * self.lengths[i]
        for state, (entry, share) in enumerate(zip(self.entries[i], self.shares[i], strict=True)):
            found[entry] += share * (1 if given is None else given[state])
        return Table((self.axes[i],), _array(found))

    def spread(self, features: Sequence[int], values: Any) -> Table:
        """Return a table over states of some features as one over their axes."""
        wide = values
        for axis, i in enumerate(features):
            turned = np.full((len(self.entries[i]), self.lengths[i]), Fraction(0), dtype=object)
            turned[range(len(self.entries[i])), self.entries[i]] = self.shares[i]
            wide = np.moveaxis(np.tensordot(wide, turned, axes=([axis], [0])), -1, axis)
        return Table(tuple(self.axes[i] for i in features), wide)

    def over(self, own: Sequence[Any], states: Sequence[Any]) -> _Part:
        """Return the same for other states, each within one of its own."""
        entries, shares = [], []
        for i, pair in enumerate(zip(own, states, strict=True)):
            inside = _inside(*pair)
            entries.append(tuple(self.entries[i][k] for k, _ in inside))
            shares.append(tuple(self.shares[i][k] * share for k, share in inside))
        return replace(self, entries=tuple(entries), shares=tuple(shares))


def _inside(own: Any, states: Any) -> list[tuple[int, Fraction]]:
    """Return in which state of its own a part has each of some states, and how much of it that is."""
    if own.values:
        found = [(own.values.index(value), Fraction(1)) for value in states.values]
    elif own == states:
        found = [(k, Fraction(1)) for k in range(len(own.edges) - 1)]
    else:
        bins = [(a, b, sum(a >= edge for edge in own.edges) - 1) for a, b in pairwise(states.edges)]
        found = [(k, (b - a) / (own.edges[k + 1] - own.edges[k])) for a, b, k in bins]
    return [*found, (own.size - 1, Fraction(1))] if own.missing else found


class Chances:
    """The probabilities that a distribution gives, computed anew.

    Parameters
    ----------
    joint
        Any distribution; of kinds that are not known here, and where tables get too large, its own ``total`` is asked.

    Examples
    --------
    >>> from axfi_kc.domain.distribution import Mixture, Product, States
    >>> states = (States("a", values=("x", "y")),)
    >>> half = Fraction(1, 2)
    >>> two = Mixture((Product(states, ((half, half),)), Product(states, ((Fraction(1), Fraction(0)),))), (half, half))
    >>> Chances(two).total([[1, 0]])
    Fraction(3, 4)
    """

    def __init__(self, joint: Any) -> None:
        self._joint = joint
        self._sizes = [states.size for states in joint.states]
        self._parts = _parts_of(joint, Fraction(1))
        everything = self._sum([None] * len(self._sizes), None)
        self.is_own = everything is not None  # whether nothing of the distribution's own computing is used
        self._whole = everything or Fraction(1)

    @cached_property
    def blocks(self) -> list[set[int]]:
        """The features in sets that no table ties together: values in one set do not change what is likely in another.

        Of several products of tables, a feature is a set of its own if it is one in each, with the same probabilities.
        """
        everything = set(range(len(self._sizes)))
        parts = [part for part in self._parts or () if part.weight]
        if len(parts) <= 1:
            return _tied(parts[0]) if parts else [everything]
        alone = {i for i in everything if all({i} in _tied(p) for p in parts) and self._is_alike(i, parts)}
        return [*({i} for i in alone), everything - alone]

    def near(self, features: Sequence[int]) -> set[int]:
        """Return the features on whose values the probabilities of some features depend, these included."""
        return set[int]().union(*(block for block in self.blocks if block & set(features)))

    def _is_alike(self, i: int, parts: Sequence[_Part]) -> bool:
        """Tell whether a feature has the same probabilities in all parts."""
        rows = []
        for part in parts:
            evidence: list[Row | None] = [None] * len(self._sizes)
            found = []
            for state in range(self._sizes[i]):
                evidence[i] = [int(k == state) for k in range(self._sizes[i])]
                found.append(_summed([*part.tables, *(part.row(j, row) for j, row in enumerate(evidence))]) or 0)
            rows.append([share / sum(found) for share in found])
        return all(row == rows[0] for row in rows)

    def total(self, evidence: Sequence[Row | None]) -> Fraction:
        """Return the sum, over all combinations of states, of their probability times what evidence gives each."""
        found = self._sum(evidence, None)
        return Fraction(self._joint.total(evidence)) if found is None else found / self._whole

    def total_of(self, features: Sequence[int], values: Any, evidence: Sequence[Row | None]) -> Fraction:
        """Return the same with a number for each combination of states of some features, which have no evidence."""
        found = self._sum(evidence, (tuple(features), values))
        if found is not None:
            return found / self._whole
        total = Fraction(0)
        for states in product(*(range(self._sizes[i]) for i in features)):
            if share := values[states or (0,)]:
                rows = list(evidence)
                for i, state in zip(features, states, strict=True):
                    rows[i] = [int(k == state) for k in range(self._sizes[i])]
                total += share * self._joint.total(rows)
        return total

    def _sum(self, evidence: Sequence[Row | None], more: tuple[tuple[int, ...], Any] | None) -> Fraction | None:
        if self._parts is None:
            return None
        total = Fraction(0)
        for part in self._parts:
            tables = [*part.tables, *(part.row(i, row) for i, row in enumerate(evidence))]
            found = _summed(tables if more is None or not more[0] else [*tables, part.spread(*more)])
            if found is None:
                return None
            total += part.weight * found
        return total if more is None or more[0] else total * more[1].item()


def _array(row: Sequence[Any]) -> Any:
    found = np.empty(len(row), dtype=object)
    found[:] = row
    return found


def _summed(tables: Sequence[Table]) -> Fraction | None:
    """Return the sum over all axes of a product of tables; None if that takes too large a table."""
    left = list(tables)
    while any(table.axes for table in left):
        axis, size = _cheapest(left)
        if size > _MOST_ENTRIES:
            return None
        joined = _multiplied([t for t in left if axis in t.axes])
        place = joined.axes.index(axis)
        rest = joined.axes[:place] + joined.axes[place + 1 :]
        left = [t for t in left if axis not in t.axes]
        left.append(Table(rest, np.asarray(joined.values.sum(axis=place), dtype=object)))
    return prod((Fraction(t.values.item()) for t in left), start=Fraction(1))


def _cheapest(tables: Sequence[Table]) -> tuple[Axis, int]:
    """Return the axis whose tables make the smallest product, and its number of entries."""
    lengths = {axis: n for t in tables for axis, n in zip(t.axes, t.values.shape, strict=True)}

    def size(axis: Axis) -> int:
        return prod(lengths[a] for a in {a for t in tables if axis in t.axes for a in t.axes})

    return min(((axis, size(axis)) for axis in lengths), key=lambda pair: pair[1])


def _multiplied(tables: Sequence[Table]) -> Table:
    axes = tuple(dict.fromkeys(a for t in tables for a in t.axes))
    found: Any = Fraction(1)
    for table in tables:
        order = sorted(range(len(table.axes)), key=lambda k: axes.index(table.axes[k]))
        shape = [1] * len(axes)
        for k in order:
            shape[axes.index(table.axes[k])] = table.values.shape[k]
        found = found * table.values.transpose(order).reshape(shape)
    return Table(axes, found)


def _parts_of(joint: Any, weight: Fraction) -> list[_Part] | None:
    """Return a distribution as products of tables; None for a kind that is not known here, or too large."""
    if joint.kind == "mixture":
        found = [_parts_of(part, weight * share) for part, share in zip(joint.parts, joint.weights, strict=True)]
        if None in found:
            return None
        pairs = zip(joint.parts, found, strict=True)
        return [part.over(own.states, joint.states) for own, parts in pairs for part in parts or ()]
    read = _READERS.get(joint.kind)
    part = None if read is None else read(joint, weight)
    return None if part is None else [part]


def _plain(joint: Any, weight: Fraction, tables: Sequence[Table]) -> _Part:
    """Return a product of tables whose axes are the features' numbers, and entries their states."""
    sizes = tuple(states.size for states in joint.states)
    entries = tuple(tuple(range(n)) for n in sizes)
    return _Part(weight, tuple(tables), tuple(range(len(sizes))), entries, sizes, _whole(entries))


def _whole(entries: Sequence[Sequence[int]]) -> tuple[tuple[Fraction, ...], ...]:
    """Return shares for states that are whole entries."""
    return tuple((Fraction(1),) * len(row) for row in entries)


def _tied(part: _Part) -> list[set[int]]:
    """Return the features of a part in sets that its tables tie together."""
    ties: list[set[Axis]] = [{axis} for axis in part.axes]
    for table in part.tables:
        near = [tie for tie in ties if tie & set(table.axes)]
        ties = [tie for tie in ties if tie not in near] + [set(table.axes).union(*near)]
    found = [{i for i, axis in enumerate(part.axes) if axis in tie} for tie in ties]
    return [own for own in found if own]


def _product(joint: Any, weight: Fraction) -> _Part:
    return _plain(joint, weight, [Table((i,), _array(row)) for i, row in enumerate(joint.tables)])


def _tree(joint: Any, weight: Fraction) -> _Part:
    tables = []
    for i, (parent, rows) in enumerate(zip(joint.parents, joint.tables, strict=True)):
        values = np.array(rows, dtype=object)
        tables.append(Table((i,), values[0]) if parent < 0 else Table((parent, i), values))
    return _plain(joint, weight, tables)


def _network(joint: Any, weight: Fraction) -> _Part:
    """Return the tables of a network's variables, among which those of the features are."""
    variables = joint.network.variables
    lengths = [len(v.states) for v in variables]
    tables = []
    for k in _above(variables, joint.places):
        v = variables[k]
        values = np.array(v.rows, dtype=object).reshape([*(lengths[p] for p in v.parents), lengths[k]])
        tables.append(Table((*v.parents, k), values))
    own = tuple(lengths[place] for place in joint.places)
    entries = tuple(map(tuple, joint.turned))
    return _Part(weight, tuple(tables), tuple(joint.places), entries, own, _whole(entries))


def _above(variables: Sequence[Any], chosen: Sequence[int]) -> list[int]:
    """Return some variables and all above them; the tables of those below add up to 1, and tie nothing together."""
    found = set(chosen)
    while True:
        more = found.union(*(variables[k].parents for k in found))
        if more == found:
            return sorted(found)
        found = more


def _diagram(joint: Any, weight: Fraction) -> _Part | None:
    """Return the probabilities of a diagram's points, one by one."""
    sizes = [states.size for states in joint.states]
    if prod(sizes) > _MOST_POINTS:
        return None
    values = np.empty(sizes, dtype=object)
    for point in product(*map(range, sizes)):
        bits = [states >> point[feature] & 1 for feature, states in joint.bits]
        values[point] = _chance(joint, bits)
    return _plain(joint, weight, [Table(tuple(range(len(sizes))), values)])


def _chance(joint: Any, bits: Sequence[int]) -> Fraction:
    """Return the probability of some bits: of a leaf that of its bit, of a decision the mean of its elements."""
    found: list[Fraction] = []
    for place, one, elements in zip(joint.places, joint.leaves, joint.elements, strict=True):
        if one is None:
            found.append(sum((share * found[a] * found[b] for a, b, share in elements), Fraction(0)))
        else:
            found.append(one if bits[joint.vtree.leaves[place]] else 1 - one)
    return found[-1]


_READERS: Mapping[str, Callable[[Any, Fraction], _Part | None]] = {
    "product": _product,
    "chow-liu": _tree,
    "bayesian-network": _network,
    "psdd": _diagram,
}
