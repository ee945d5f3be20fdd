"""Random problems in which all meet: models of any form, constraints, distributions, missing values and regions.

The judge lists the space as an array with an axis for each feature, over the values that stand for cells (those of
`tests/support/oracle.py`), and goes by the definitions alone: which points are possible, in the region and not similar;
which sets of changed features are minimal among these; how probable the points are, given those around the instance.
Of the library it uses the classes that describe features, states and regions, as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm
from random import Random
from typing import Any

import numpy as np

from axfi_kc import BayesianNetwork, Categorical, ChowLiu, Domain, Integer, Mixture, Product, Real, Region, States
from tests.support.oracle import space_of
from tests.support.random_constraints import Rule, random_rule
from tests.support.random_distributions import (
    blocks_within,
    connected,
    random_row,
    random_states,
    random_tree,
    share_within,
    state_at,
)
from tests.support.random_problems import Answer, Truth, random_truth, random_truth_over

DISTRIBUTIONS = ("product", "network", "mixture", "chow-liu", "fitted")
Places = tuple[int, ...]
Array = Any  # of Python integers


@dataclass(frozen=True)
class Joint:
    """A distribution, and the probability of every combination of states in proportion: an axis for each feature.

    Features in different `blocks` do not depend on each other: the probability of a value that stays matters only where
    a feature in its block changes.
    """

    given: Any
    states: tuple[States, ...]
    table: Array
    blocks: list[set[int]]


@dataclass(frozen=True)
class Scene:
    """A model in a space, and the region around its instances.

    Attributes
    ----------
    truth
        The model, its outputs at all points, the instances, and the class that is asked about.
    domain
        What is given to the library: with constraints and a distribution.
    rules
        The constraints, with their meanings.
    joint
        The distribution; None: the features' own measures.
    region
        How far one may go; None: anywhere.
    """

    truth: Truth
    domain: Domain
    rules: tuple[Rule, ...]
    joint: Joint | None
    region: Region | None

    @classmethod
    def of(cls, truth: Truth) -> Scene:
        """Return a model in its domain, and nothing else."""
        return cls(truth, truth.domain, (), None, None)

    @property
    def is_plain(self) -> bool:
        """Whether all points of the domain count, with the features' own measures, and all other outputs."""
        return not self.rules and self.joint is None and self.region is None and self.truth.toward is None

    @property
    def ingredients(self) -> list[str]:
        """What the problems are made of, in words."""
        found = [self.truth.kind, f"distribution: {_kind(self.joint)}"]
        found += ["constraints"] * bool(self.rules)
        found += ["missing"] * any(f.missing for f in self.domain.features)
        found += ["reals"] * any(isinstance(f, Real) for f in self.domain.features)
        found += ["toward"] * (self.truth.toward is not None)
        found += ["delta"] * (self.truth.delta is not None)
        if self.region is not None:
            found += ["region", *(f"region: {what}" for what in _parts(self.region))]
        return found

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(row) for row in self.truth.values)

    @cached_property
    def possible(self) -> Array:
        """Whether each point can exist."""
        points = product(*self.truth.values)
        held = [all(rule.meaning(x) for rule in self.rules) for x in points]
        return np.array(held, dtype=bool).reshape(self.shape)

    @cached_property
    def _numbered(self) -> tuple[list[Any], Array]:
        """The distinct outputs, and the number of each point's."""
        distinct = list(dict.fromkeys(self.truth.outputs))
        number = {y: k for k, y in enumerate(distinct)}
        return distinct, np.array([number[y] for y in self.truth.outputs]).reshape(self.shape)

    @property
    def outputs(self) -> set[Any]:
        """The outputs at the points that can exist."""
        return {y for y, exists in zip(self.truth.outputs, self.possible.flat, strict=True) if exists}

    def dissimilar(self, v: Places) -> Array:
        """Tell for each point whether its output is not similar to that of an instance."""
        distinct, numbers = self._numbered
        here = self.truth.output(v)
        return np.array([not self.truth.similar(y, here) for y in distinct])[numbers]

    def inside(self, v: Places) -> Array:
        """Tell for each point whether it can exist and lies in the region around an instance."""
        if self.region is None:
            return self.possible
        return self.possible & within(self.region, self.domain, self.truth.values, v)

    def seen_from(self, v: Places) -> tuple[Scene, Places]:
        """Return the scene, and an instance, with more values of reals: those where its region ends."""
        ends = _ends(self.region, self.domain, self.truth.point(v)) if self.region is not None else []
        if self.cuts_cells:  # and where their density changes, so that it is even on every piece
            ends = [more | self._edges(i) for i, more in enumerate(ends)]
        if not any(ends):
            return self, v
        truth = refined(replace(self.truth, instances=[v]), ends)
        return replace(self, truth=truth), truth.instances[0]

    def _edges(self, i: int) -> set[Fraction]:
        """Return where the density of a real feature changes."""
        feature = self.domain.features[i]
        if not isinstance(feature, Real):
            return set()
        given = getattr(feature.measure, "edges", ()) if self.joint is None else self.joint.states[i].edges
        return set(map(Fraction, given))

    def _parts_in_ball(self, members: Sequence[int], v: Places, inside: Array) -> Array:
        """Return which part of each combination of values lies in the ball around an instance."""
        steps = [_steps(self.region, self.domain.features[i], self.truth.values[i], v[i]) for i in members]
        found = np.zeros([len(row) for row in steps], dtype=object)
        for place in np.argwhere(inside).tolist():
            chosen = [row[k] for row, k in zip(steps, place, strict=True)]
            spare = self.region.radius - sum((least for least, _ in chosen), Fraction(0))
            found[tuple(place)] = _part_below(spare, [wide for _, wide in chosen if wide])
        return found

    @cached_property
    def _shares(self) -> list[Array]:
        """For each feature, value and state: how much of the state the value stands for, in proportion."""
        found = []
        for states, f, row in zip(self.joint.states, self.domain.features, self.truth.values, strict=True):
            rows = [[share_within(states, f, row, k, n) for n in range(states.size)] for k in range(len(row))]
            found.append(whole(rows))
        return found

    @cached_property
    def _worths(self) -> list[Array]:
        """What each value of each feature is worth by the features' own measures, in proportion."""
        return [whole(row) for row in self.truth.measures]

    def _masses(self, members: Sequence[int], v: Places) -> Array:
        """Return how probable the values of some features are together, given those of an instance elsewhere."""
        if self.joint is None:
            found = np.array(1, dtype=object)
            for i in members:
                found = np.multiply.outer(found, self._worths[i])
            return found
        near = set().union(*(block for block in self.joint.blocks if block & set(members)))
        table = self.joint.table.sum(axis=tuple(i for i in range(len(v)) if i not in near), keepdims=True)
        rows = list(zip(self.joint.states, self.truth.values, v, strict=True))
        places = [state_at(s, row[k]) if i in near else 0 for i, (s, row, k) in enumerate(rows)]
        found = table[tuple(slice(None) if i in members else k for i, k in enumerate(places))]
        for i in members:  # the first axis goes, and comes back as the last
            found = np.tensordot(found, self._shares[i], axes=(0, 1))
        return found

    def answer(self, v: Places) -> tuple[Answer, bool]:
        """Return what the definitions say, and whether the surroundings of some CXp have probability 0.

        A ratio that has none is left at -1.
        """
        scene, v = self.seen_from(v)
        inside, changed = scene.inside(v), differences(scene.shape, v)
        wrong = inside & scene.dissimilar(v)
        masks = set(changed[wrong].tolist())
        cxps = sorted(Y for Y in masks if not any(T & Y == T != Y for T in masks))
        ratios, counts, empty = {}, {}, False
        for Y in cxps:
            members = [i for i in range(len(v)) if Y >> i & 1]
            around = tuple(slice(None) if i in members else k for i, k in enumerate(v))
            masses = scene._masses(members, v)
            if scene.cuts_cells:
                masses = whole(masses * scene._parts_in_ball(members, v, inside[around]))
            below = int(masses[inside[around]].sum())
            counts[Y] = int((wrong & (changed == Y)).sum())
            ratios[Y] = Fraction(int(masses[wrong[around]].sum()), below) if below else Fraction(-1)
            empty = empty or not below
        return Answer(scene.truth.output(v), len(v), ratios, counts), empty

    def pinned(self, v: Places) -> list[int]:
        """Return the features that the region holds at the values of an instance."""
        near = within(self.region, self.domain, self.truth.values, v) if self.region else self.possible | True
        changed = differences(self.shape, v)[near]
        return [i for i in range(len(v)) if not (changed >> i & 1).any()]

    def precision(self, v: Places, given: Sequence[int]) -> Fraction | None:
        """Return the probability of a similar output where some features are as in an instance; None: 0/0."""
        scene, v = self.seen_from(v)
        members = [i for i in range(len(v)) if i not in given]
        if not members:
            return Fraction(1)
        around = tuple(slice(None) if i in members else k for i, k in enumerate(v))
        masses, inside = scene._masses(members, v), scene.inside(v)[around]
        if scene.cuts_cells:
            masses = whole(masses * scene._parts_in_ball(members, v, inside))
        below = int(masses[inside].sum())
        return Fraction(int(masses[inside & ~scene.dissimilar(v)[around]].sum()), below) if below else None

    def is_barren(self, v: Places) -> bool:
        """Tell whether a feature may move in the region around an instance, but only among values of probability 0."""
        if self.region is None or self.joint is not None:
            return False
        scene, v = self.seen_from(v)
        for i, (f, row) in enumerate(zip(scene.domain.features, scene.truth.values, strict=True)):
            moves = [_move(self.region, f, row[v[i]], x) for x in row]
            radius = self.region.radius
            left = [k for k, m in enumerate(moves) if m is not None and (radius is None or m <= radius)]
            if len(left) > 1 and not any(scene._worths[i][k] for k in left):
                return True
        return False

    @property
    def cuts_cells(self) -> bool:
        """Whether a sum of distances may cut through the cells of reals."""
        reals = any(isinstance(f, Real) for f in self.domain.features)
        return reals and self.region is not None and self.region.norm == "l1" and self.region.radius is not None

    @property
    def has_ratios(self) -> bool:
        """Whether ratios are judged here: not in balls that cut through three reals or more."""
        return not self.cuts_cells or sum(isinstance(f, Real) for f in self.domain.features) <= 2

    def row(self, v: Places) -> dict[str, Any]:
        return dict(zip(self.domain.names, self.truth.point(v), strict=True))

    def __str__(self) -> str:
        """Return all that is needed to pose the problem again by hand."""
        described = [repr(f) for f in self.domain.features]
        rules = [str(rule.constraint) for rule in self.rules]
        joint = None if self.joint is None else self.joint.given
        return "\n".join(
            [
                f"model: {self.truth.kind}, {self.truth.model!r}",
                *described,
                f"constraints: {rules}",
                f"distribution: {joint!r}",
                f"region: {self.region!r}",
                f"delta {self.truth.delta}, toward {self.truth.toward}",
            ]
        )


def _kind(joint: Joint | None) -> str:
    if joint is None:
        return "measures"
    kinds = {Product: "product", Mixture: "mixture", ChowLiu: "chow-liu"}
    return next((name for kind, name in kinds.items() if isinstance(joint.given, kind)), "network")


def _parts(region: Region) -> list[str]:
    one_way = region.only_up or region.only_down
    given = {"frozen": region.frozen, "one-way": one_way, "ranges": region.ranges}
    found = [name for name, what in given.items() if what]
    return found + ([region.norm] if region.radius is not None else [])


def whole(rows: Any) -> Array:
    """Return fractions in proportion, as an array of integers."""
    array = np.array(rows, dtype=object)
    scale = lcm(*(Fraction(x).denominator for x in array.flat))
    return np.array([int(x * scale) for x in array.flat], dtype=object).reshape(array.shape)


def differences(shape: Sequence[int], v: Places) -> Array:
    """Return for each point the features in which it differs from an instance, as bits."""
    found = np.zeros(shape, dtype=np.int64)
    for i, (n, k) in enumerate(zip(shape, v, strict=True)):
        bits = np.full(n, 1 << i)
        bits[k] = 0
        found += bits.reshape([-1 if j == i else 1 for j in range(len(shape))])
    return found


def refined(truth: Truth, ends: Sequence[set[Fraction]]) -> Truth:
    """Return a truth with more breakpoints of reals, where outputs are those of what they cut."""
    breaks = [
        {Fraction(x) for x in row[::2] if x is not None} | more if isinstance(f, Real) else set()
        for f, row, more in zip(truth.domain.features, truth.values, ends, strict=True)
    ]
    space = space_of(truth.domain, breaks)
    kept = [_places(f, old, new) for f, old, new in zip(truth.domain.features, truth.values, space.values, strict=True)]
    outputs = [truth.output(place) for place in product(*kept)]
    rows = list(zip(truth.values, space.values, strict=True))
    moved = [tuple(new.index(old[k]) for (old, new), k in zip(rows, v, strict=True)) for v in truth.instances]
    return replace(truth, values=space.values, measures=space.measures, outputs=outputs, instances=moved)


def _places(feature: Any, old: Sequence[Any], new: Sequence[Any]) -> list[int]:
    """Return which of the old values stands for each of the new ones."""
    if not isinstance(feature, Real):
        return list(range(len(new)))
    points = [x for x in old[::2] if x is not None]
    found = []
    for x in new:
        if x is None:
            found.append(len(old) - 1)
        else:
            found.append(2 * points.index(x) if x in points else 2 * sum(p < x for p in points) - 1)
    return found


def _unit(region: Region, feature: Any) -> Fraction:
    return Fraction(1) if region.unit == "value" else Fraction(feature.high) - Fraction(feature.low)


def _weight(region: Region, name: str) -> Fraction:
    return dict(region.weights).get(name, Fraction(1))


def _ends(region: Region, domain: Domain, point: Sequence[Any]) -> list[set[Fraction]]:
    """Return where a region around a point ends in each real feature."""
    found = []
    for f, x in zip(domain.features, point, strict=True):
        ends: set[Fraction] = set()
        if isinstance(f, Real) and x is not None:
            ends |= set(map(Fraction, dict(region.ranges).get(f.name, ())))
            weight = _weight(region, f.name)
            if region.radius is not None and weight:
                reach = region.radius * _unit(region, f) / weight
                ends |= {Fraction(x) - reach, Fraction(x) + reach}
        found.append(ends)
    return found


def _move(region: Region, feature: Any, own: Any, other: Any) -> Fraction | None:
    """Return how far another value is; None: it may not go there whatever the radius."""
    name, weight = feature.name, _weight(region, feature.name)
    allowed = dict(region.ranges).get(name)
    if own == other:
        return Fraction(0)
    if name in region.frozen:
        return None
    if own is None or other is None:  # nothing is near to what is missing, and it has no direction and no range
        bound = name in (*region.only_up, *region.only_down, *dict(region.ranges))
        return None if bound or (region.radius is not None and weight) else Fraction(0)
    if isinstance(feature, Categorical):
        return weight if allowed is None or other in allowed else None
    if (name in region.only_up and other < own) or (name in region.only_down and other > own):
        return None
    if allowed is not None and not allowed[0] <= other <= allowed[1]:
        return None
    return abs(Fraction(other) - Fraction(own)) * weight / (_unit(region, feature) or 1)


def _steps(region: Region, feature: Any, row: Sequence[Any], k: int) -> list[tuple[Fraction, Fraction]]:
    """Return how far each value is from that at place k, and how much further what it stands for goes."""
    moves = [_move(region, feature, row[k], x) or Fraction(0) for x in row]
    found = []
    for n, (x, move) in enumerate(zip(row, moves, strict=True)):
        is_gap = isinstance(feature, Real) and n % 2 == 1 and x is not None and row[k] is not None
        if is_gap:
            near, far = (row[n + 1], row[n - 1]) if n < k else (row[n - 1], row[n + 1])
            factor = _weight(region, feature.name) / (_unit(region, feature) or 1)
            ends = [abs(Fraction(end) - Fraction(row[k])) * factor for end in (near, far)]
            found.append((ends[0], ends[1] - ends[0]))
        else:
            found.append((move, Fraction(0)))
    return found


def _part_below(spare: Fraction, widths: Sequence[Fraction]) -> Fraction:
    """Return the part of a box of at most two sides where the sum of coordinates is no more than what is to spare."""
    if not widths:
        return Fraction(spare >= 0)
    if len(widths) == 1:
        return min(max(spare / widths[0], Fraction(0)), Fraction(1))
    wide, high = widths
    # The height below the line is linear between these places: trapezoids, exactly.
    places = sorted({Fraction(0), wide, *(x for x in (spare, spare - high) if 0 < x < wide)})
    heights = [min(max(spare - x, Fraction(0)), high) for x in places]
    pairs = zip(places, places[1:], heights, heights[1:], strict=False)
    return sum(((b - a) * (left + right) / 2 for a, b, left, right in pairs), Fraction(0)) / (wide * high)


def within(region: Region, domain: Domain, values: Sequence[Sequence[Any]], v: Places) -> Array:
    """Tell for each point whether it lies in the region around an instance.

    Of a gap between two values of a real feature the nearest end counts in a sum of distances: some of its points are
    nearer than any that is further than the end itself.
    """
    shape = [len(row) for row in values]
    allowed, total, is_open = np.ones(shape, dtype=bool), np.zeros(shape, dtype=object), np.zeros(shape, dtype=bool)
    for i, (f, row, k) in enumerate(zip(domain.features, values, v, strict=True)):
        along = [-1 if j == i else 1 for j in range(len(shape))]
        moves = [_move(region, f, row[k], x) for x in row]
        here = np.array([m is not None for m in moves])
        if region.radius is not None and region.norm == "linf":
            here &= np.array([m is not None and m <= region.radius for m in moves])
        elif region.radius is not None:
            gaps = [
                isinstance(f, Real) and n % 2 == 1 and x is not None and m
                for n, (x, m) in enumerate(zip(row, moves, strict=True))
            ]
            near = [
                moves[n + (1 if n < k else -1)] if gap else m
                for n, (gap, m) in enumerate(zip(gaps, moves, strict=True))
            ]
            total = total + np.array([m or Fraction(0) for m in near], dtype=object).reshape(along)
            is_open = is_open | np.array([bool(gap) for gap in gaps]).reshape(along)
        allowed &= here.reshape(along)
    if region.radius is not None and region.norm == "l1":
        allowed &= (total < region.radius).astype(bool) | ((total == region.radius).astype(bool) & ~is_open)
    return allowed


def _tree_table(tree: ChowLiu) -> Array:
    """Return the probabilities of all combinations of states of a tree, in proportion."""
    m = len(tree.states)
    found = np.ones([1] * m, dtype=object)
    for i, (parent, table) in enumerate(zip(tree.parents, tree.tables, strict=True)):
        scope = [i] if parent < 0 else [parent, i]
        found = found * _spread(whole(table[0] if parent < 0 else table), scope, m)
    return found


def _spread(table: Array, scope: Sequence[int], m: int) -> Array:
    """Return a table over some of m features with an axis for each of them all."""
    order = sorted(range(len(scope)), key=lambda k: scope[k])
    shape = [1] * m
    for k in order:
        shape[scope[k]] = table.shape[k]
    return table.transpose(order).reshape(shape)


def _outer(rows: Sequence[Array]) -> Array:
    m = len(rows)
    found = np.ones([1] * m, dtype=object)
    for i, row in enumerate(rows):
        found = found * _spread(row, [i], m)
    return found


def _tables(rng: Random, states: Sequence[States], zeros: float) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(random_row(rng, s.size, zeros=zeros) for s in states)


def _joint(given: Any, table: Array) -> Joint:
    return Joint(given, given.states, table, blocks_within(given))


def _product(rng: Random, states: tuple[States, ...], zeros: float) -> Joint:
    tables = _tables(rng, states, zeros)
    rows = [whole(row) for row in tables]
    return _joint(Product(states, tables), _outer(rows))


def _tree(tree: ChowLiu) -> Joint:
    return _joint(tree, _tree_table(tree))


def _mixture(rng: Random, states: tuple[States, ...], zeros: float) -> Joint:
    parts = [
        _product(rng, states, zeros) if rng.random() < 0.5 else _tree(random_tree(rng, states, zeros=zeros))
        for _ in range(2)
    ]
    weights = random_row(rng, len(parts), zeros=0)
    # Tables are in proportion, so that each is divided by its sum.
    sums = [int(part.table.sum()) for part in parts]
    scaled = whole([w / total for w, total in zip(weights, sums, strict=True)])
    table = sum(factor * part.table for factor, part in zip(scaled, parts, strict=True))
    return _joint(Mixture(tuple(part.given for part in parts), weights), table)


def _fitted(rng: Random, domain: Domain, states: tuple[States, ...]) -> Joint:
    def drawn(f: Any) -> Any:
        if f.missing and rng.random() < 0.3:
            return None
        if isinstance(f, Categorical):
            return rng.choice(f.values)
        return (
            rng.randint(f.low, f.high)
            if isinstance(f, Integer)
            else float(f.low + Fraction(rng.randint(0, 8), 8) * (f.high - f.low))
        )

    rows = [{f.name: drawn(f) for f in domain.features} for _ in range(rng.randint(1, 12))]
    bins = {f.name: list(s.edges[1:-1]) for f, s in zip(domain.features, states, strict=True) if s.edges}
    return _tree(ChowLiu.fit(rows, domain, bins=bins))


def _network(rng: Random, domain: Domain, states: tuple[States, ...], zeros: float) -> Joint:
    """Return a network whose variables, and their states, come in any order, some of them no features."""
    m, hidden = len(states), rng.randint(0, 1)
    sizes = [s.size for s in states] + [2] * hidden
    names = [*domain.names, "unseen"][: len(sizes)]
    turned = [rng.sample(range(n), n) for n in sizes]  # where each state of a variable stands among the feature's
    for k, s in enumerate(states):
        if s.edges:  # bins stand from left to right, and missing anywhere among them
            turned[k] = list(range(s.n_present))
            if s.missing:
                turned[k].insert(rng.randint(0, s.n_present), s.n_present)
    labels = {name: [_label(states[k], n) if k < m else n for n in turned[k]] for k, name in enumerate(names)}
    bins = {s.name: list(s.edges[1:-1]) for s in states if s.edges}
    order, rows, parents = rng.sample(range(len(sizes)), len(sizes)), {}, {}
    table = np.ones([1] * len(sizes), dtype=object)
    for at, k in enumerate(order):
        above = rng.sample(order[:at], min(at, rng.randint(0, 2)))
        shape = [sizes[p] for p in above]
        own = [random_row(rng, sizes[k], zeros=zeros) for _ in range(int(np.prod(shape)))]
        rows[names[k]], parents[names[k]] = own, [names[p] for p in above]
        table = table * _spread(whole(own).reshape([*shape, sizes[k]]), [*above, k], len(sizes))
    for k, places in enumerate(turned):
        table = np.take(table, np.argsort(places), axis=k)
    table = table.sum(axis=m) if hidden else table
    network = BayesianNetwork.of_rows(
        {n: labels[n] for n in rng.sample(names, len(names))}, rows, parents=parents, bins=bins
    )
    unseen = m if hidden and any(names[m] in parents[n] for n in names) else None
    links = [{k, *(names.index(p) for p in parents[names[k]])} for k in range(len(sizes)) if k < m or k == unseen]
    blocks = [block & set(range(m)) for block in connected(len(sizes), links)]
    return Joint(network, states, table, [block for block in blocks if block])


def _label(states: States, state: int) -> Any:
    if state >= states.n_present:
        return "missing"
    return states.values[state] if states.values else f"bin {state}"


def random_joint(rng: Random, domain: Domain, kind: str, *, zeros: float = 0.1) -> Joint:
    """Return a distribution of one of the kinds."""
    states = random_states(rng, domain)
    if kind == "product":
        return _product(rng, states, zeros)
    if kind == "chow-liu":
        return _tree(random_tree(rng, states, zeros=zeros))
    if kind == "mixture":
        return _mixture(rng, states, zeros)
    return _fitted(rng, domain, states) if kind == "fitted" else _network(rng, domain, states, zeros)


def random_region(rng: Random, truth: Truth) -> Region:
    """Return a region with some of all there is."""
    names, numeric = list(truth.domain.names), [f for f in truth.domain.features if not isinstance(f, Categorical)]
    radius = rng.choice((None, Fraction(1, 2), 1, 1, Fraction(3, 2), 2))
    ranges: dict[str, Any] = {}
    if rng.random() < 0.3:
        f, own = rng.choice(truth.domain.features), rng.choice(truth.instances)
        x = truth.values[truth.domain.index(f.name)][own[truth.domain.index(f.name)]]
        if isinstance(f, Categorical):
            ranges[f.name] = [c for c in f.values if c == x or rng.random() < 0.6] or list(f.values)
        elif x is not None:
            ranges[f.name] = (Fraction(x) - rng.randint(0, 3), Fraction(x) + Fraction(rng.randint(0, 6), 2))
    return Region(
        frozen=[n for n in names if rng.random() < 0.15],
        only_up=[f.name for f in numeric if rng.random() < 0.15],
        only_down=[f.name for f in numeric if rng.random() < 0.1],
        ranges=ranges,
        radius=radius,
        norm=rng.choice(("linf", "l1")),
        unit=rng.choice(("value", "range")),
        weights={n: rng.choice((0, Fraction(1, 2), 1, 2)) for n in names if rng.random() < 0.2},
    )


def _stands(region: Region, domain: Domain, point: Sequence[Any]) -> bool:
    """Tell whether a point lies in the ranges that a region gives."""
    for name, allowed in region.ranges:
        i = domain.index(name)
        x = point[i]
        is_category = isinstance(domain.features[i], Categorical)
        if x is None or (x not in allowed if is_category else not allowed[0] <= x <= allowed[1]):
            return False
    return True


def random_scene(rng: Random, kind: str, *, n_instances: int = 8) -> Scene:
    """Return a model of a kind in a random space; always the same for the same state of `rng`."""
    while True:
        found = _random_scene(rng, kind, n_instances)
        if found is not None:
            return found


def random_scenes(rng: Random, kind: str, *, n_models: int, n_instances: int = 8) -> list[Scene]:
    """Return models in one and the same space, the first of a kind, the others of any; some may have no instance."""
    first = random_scene(rng, kind, n_instances=n_instances)
    ends = [
        {Fraction(x) for x in row[::2] if x is not None} if isinstance(f, Real) else set()
        for f, row in zip(first.domain.features, first.truth.values, strict=True)
    ]
    found = [first]
    for _ in range(n_models - 1):
        # Constraints and regions are made for the first model's space, whose breakpoints the others need too.
        truth = _in_floats(refined(random_truth_over(rng, first.truth.domain, n_instances=n_instances), ends))
        scene = _with_instances(rng, replace(first, truth=_toward_some(rng, truth)), n_instances)
        found += [scene] if scene.truth.instances else []
    return found


def _in_floats(truth: Truth) -> Truth:
    """Return a truth whose real values are floats, as models take them."""
    values = [
        [None if x is None else float(x) for x in row] if isinstance(f, Real) else row
        for f, row in zip(truth.domain.features, truth.values, strict=True)
    ]
    return replace(truth, values=values)


def _random_scene(rng: Random, kind: str, n_instances: int) -> Scene | None:
    truth = random_truth(rng, kind, n_instances=n_instances)
    rules = tuple(random_rule(rng, truth.domain, truth.values) for _ in range(rng.choice((0, 0, 0, 1, 1, 2))))
    joint = random_joint(rng, truth.domain, rng.choice(DISTRIBUTIONS)) if rng.random() < 0.6 else None
    region = random_region(rng, truth) if rng.random() < 0.5 else None
    truth = _toward_some(rng, truth)
    domain = truth.domain.with_distribution(joint.given) if joint else truth.domain
    domain = domain.where(*(rule.constraint for rule in rules)) if rules else domain
    scene = Scene(truth, domain, rules, joint, region)
    if not scene.possible.any():
        return None
    found = _with_instances(rng, scene, n_instances)
    return found if found.truth.instances else None


def _toward_some(rng: Random, truth: Truth) -> Truth:
    """Return a truth that may be asked about one of several classes."""
    labels = sorted(set(truth.outputs), key=str)
    if truth.delta is None and len(labels) > 2 and rng.random() < 0.3:
        return replace(truth, toward=rng.choice(labels))
    return truth


def _with_instances(rng: Random, scene: Scene, number: int) -> Scene:
    """Return the scene with instances that can be explained, which may be none."""
    region, domain, truth = scene.region, scene.domain, scene.truth
    kept = [v for v in _instances(rng, scene, number) if region is None or _stands(region, domain, truth.point(v))]
    return replace(scene, truth=replace(truth, instances=kept))


def _instances(rng: Random, scene: Scene, number: int) -> list[Places]:
    """Return possible instances whose output is not the one that is asked about."""
    truth = scene.truth
    kept = [v for v in truth.instances if scene.possible[v]]
    if not kept:
        there = np.argwhere(scene.possible).tolist()
        reals = [isinstance(f, Real) for f in truth.domain.features]
        at_breaks = [tuple(p) for p in there if all(not r or k % 2 == 0 for r, k in zip(reals, p, strict=True))]
        kept = rng.sample(at_breaks, min(number, len(at_breaks)))
    return [v for v in kept if truth.toward is None or truth.output(v) != truth.toward]
