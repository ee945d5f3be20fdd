"""Random models with their whole truth by exhaustion, quickly made from a seed.

`tests/support/oracle.py` judges one instance from the definitions; here one listing of the space serves all
instances of a model, so that hundreds of problems are posed and judged per second. The space of a real
feature is that of the oracle: breakpoints, and the midpoints between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import factorial, lcm, prod
from random import Random
from typing import Any

import numpy as np

from axfi_kc import Categorical, Domain, Histogram, Integer, Real, TableModel
from axfi_kc.domain.elimination import Factor
from axfi_kc.domain.grid import Cut, Grid, Holed
from axfi_kc.models import (
    Argmax,
    BayesClassifier,
    CircuitModel,
    LinearModel,
    Lookup,
    Positive,
    Score,
    Slope,
    TreeNodes,
    TreeSum,
)
from tests.support.circuit_forms import any_form, cell_of, circuit_of, holds, random_diagrams, random_form
from tests.support.oracle import space_of

KINDS = ("table", "tree", "ensemble", "linear", "circuit", "classes", "network")
Point = tuple[Any, ...]
_MOST_POINTS = 240
_UNIT = 6 << 130  # leaves and bases are multiples of 1 / _UNIT, so that sums are integers
_COARSE = (-2.0, -1.0, 0.0, 1.0, 2.0)
_FINE = (0.0, 1.0, -1.0, 0.1, -0.1, 1e9, -1e9, 2.0**-70, -(2.0**-70), 1 + 2.0**-50)


@dataclass(frozen=True)
class Truth:
    """A model of the library, and its output at every point of its space by other means.

    Attributes
    ----------
    model, domain, delta
        What is given to the library.
    values, measures
        Per feature, the representative values, and what each is worth, as integers.
    outputs
        The output at each point, in the order of `product(*values)`.
    instances
        Points to be explained, as positions of values.
    possible
        The points that can exist, as positions of values; None: all.
    toward
        The class that is asked about, "why not this one?"; None: any other.
    """

    kind: str
    model: Any
    domain: Domain
    delta: Fraction | None
    values: list[list[Any]]
    measures: list[list[Fraction]]
    outputs: list[Any]
    instances: list[tuple[int, ...]]
    possible: frozenset[tuple[int, ...]] | None = None
    toward: Any = None

    @cached_property
    def wholes(self) -> list[int]:
        return [lcm(*(m.denominator for m in row)) for row in self.measures]

    @cached_property
    def worths(self) -> list[list[int]]:
        return [[int(m * whole) for m in row] for row, whole in zip(self.measures, self.wholes, strict=True)]

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """The points, as positions of values."""
        return list(product(*(range(len(row)) for row in self.values)))

    @cached_property
    def existing(self) -> list[tuple[tuple[int, ...], Any]]:
        """The points that can exist, with their outputs."""
        pairs = zip(self.places, self.outputs, strict=True)
        return [(p, y) for p, y in pairs if self.possible is None or p in self.possible]

    def output(self, place: Sequence[int]) -> Any:
        at = 0
        for k, row in zip(place, self.values, strict=True):
            at = at * len(row) + k
        return self.outputs[at]

    def point(self, place: Sequence[int]) -> Point:
        return tuple(row[k] for row, k in zip(self.values, place, strict=True))

    @property
    def is_constant(self) -> bool:
        return all(y == self.existing[0][1] for _, y in self.existing)

    @property
    def is_finite(self) -> bool:
        return self.domain.size is not None

    def similar(self, a: Any, b: Any) -> bool:
        if self.toward is not None:
            return self.toward not in (a, b) or a == b
        return a == b if self.delta is None else abs(a - b) <= self.delta

    def answer(self, v: Sequence[int]) -> Answer:
        """Return the CXps of the instance `v` with their weights, from the definitions."""
        here = self.output(v)
        differing: dict[int, list[tuple[int, ...]]] = {}
        for place, output in self.existing:
            if not self.similar(output, here):
                differing.setdefault(_difference(place, v), []).append(place)
        cxps = [Y for Y in differing if not any(T & Y == T and T != Y for T in differing)]
        ratios = {Y: self._ratio(Y, v, differing[Y]) for Y in cxps}  # a point of fewer changes would be a smaller CXp
        return Answer(here, len(v), ratios, {Y: len(differing[Y]) for Y in cxps})

    def _ratio(self, Y: int, v: Sequence[int], places: list[tuple[int, ...]]) -> Fraction:
        members = [i for i in range(len(self.values)) if Y >> i & 1]
        total = sum(prod(self.worths[i][place[i]] for i in members) for place in places)
        if self.possible is None:
            return Fraction(total, prod(self.wholes[i] for i in members))
        within = (place for place, _ in self.existing if not _difference(place, v) & ~Y)
        return Fraction(total, sum(prod(self.worths[i][place[i]] for i in members) for place in within))

    def has_ratios(self, v: Sequence[int]) -> bool:
        """Tell whether the possible points around `v` have a probability wherever a ratio divides by it."""
        try:
            self.answer(v)
        except ZeroDivisionError:
            return False
        return True

    def worth(self, place: Sequence[int]) -> int:
        return prod(row[k] for row, k in zip(self.worths, place, strict=True))

    @property
    def has_probability(self) -> bool:
        """Whether the points that can exist have any."""
        return any(self.worth(place) for place, _ in self.existing)

    def probability(self, wanted: Any) -> Fraction:
        """Return the probability of the outputs similar to `wanted`, among the points that can exist."""
        total = sum(self.worth(place) for place, y in self.existing if self.similar(y, wanted))
        return Fraction(
            total, prod(self.wholes) if self.possible is None else sum(self.worth(p) for p, _ in self.existing)
        )


def _difference(place: Sequence[int], v: Sequence[int]) -> int:
    """Return the features in which two points differ, as bits."""
    return sum(1 << i for i, (a, b) in enumerate(zip(place, v, strict=True)) if a != b)


@dataclass(frozen=True)
class Answer:
    """What the definitions say about one instance; sets of features are bits of ints."""

    output: Any
    n_features: int
    ratios: dict[int, Fraction]
    counts: dict[int, int]

    def weights(self, kind: str) -> dict[int, Fraction | int]:
        return {"ratio": self.ratios, "count": self.counts, "unit": dict.fromkeys(self.ratios, 1)}[kind]

    @cached_property
    def axps(self) -> list[int]:
        """The minimal sets that meet every CXp."""
        found: list[int] = []
        for S in sorted(range(1 << self.n_features), key=int.bit_count):
            if all(S & Y for Y in self.ratios) and not any(T & S == T for T in found):
                found.append(S)
        return found

    def scores(self, kind: str, weights: str) -> list[Fraction]:
        """Return a score of each feature, from its definition."""
        known = self.__dict__.setdefault("known", {})
        if (kind, weights) not in known:
            known[kind, weights] = self._scores(kind, weights)
        return known[kind, weights]

    def _scores(self, kind: str, weights: str) -> list[Fraction]:
        if kind in ("shapley", "banzhaf"):
            given = self.weights(weights)
            common = lcm(*(Fraction(w).denominator for w in given.values()))
            scaled = {Y: int(w * common) for Y, w in given.items()}
            return self._index(kind, lambda S: sum(w for Y, w in scaled.items() if S & Y), common * (len(given) or 1))
        if kind in ("shapley_shubik", "banzhaf_waxp"):
            return self._index(kind, lambda S: int(all(S & Y for Y in self.ratios)), 1)
        sets = list(self.ratios) if kind.endswith("_cxp") else self.axps
        return [self._family_score(kind.removesuffix("_cxp"), i, sets) for i in range(self.n_features)]

    def _index(self, kind: str, value: Callable[[int], int], whole: int) -> list[Fraction]:
        m = self.n_features
        table = [value(S) for S in range(1 << m)]
        is_shapley = kind.startswith("shapley")
        factors = [factorial(k) * factorial(m - 1 - k) if is_shapley else 1 for k in range(m)]
        below = (factorial(m) if is_shapley else 1 << m - 1) * whole
        return [
            Fraction(
                sum(factors[S.bit_count()] * (table[S | 1 << i] - table[S]) for S in range(1 << m) if not S >> i & 1),
                below,
            )
            for i in range(m)
        ]

    def _family_score(self, kind: str, i: int, sets: list[int]) -> Fraction:
        sizes = [S.bit_count() for S in sets if S >> i & 1]
        if not sizes:
            return Fraction(0)
        if kind == "ffa":
            return Fraction(len(sizes), len(sets))
        if kind == "responsibility":
            return Fraction(1, min(sizes))
        if kind == "holler_packel":
            return Fraction(len(sizes), sum(S.bit_count() for S in sets))
        return sum((Fraction(1, size) for size in sizes), Fraction(0)) / len(sets)  # wffa, deegan_packel


def random_weights(rng: Random, n: int) -> list[int] | None:
    if rng.random() < 0.5:
        return None
    found = [rng.randint(0, 5) for _ in range(n)]
    return found if any(found) else None


def random_feature(rng: Random, name: str, *, finite: bool, may_miss: bool = False) -> Categorical | Integer | Real:
    missing = Fraction(rng.randint(1, 4), 5) if may_miss and rng.random() < 0.25 else 0
    kind = rng.choice(("categorical", "integer") if finite else ("categorical", "integer", "real"))
    n = rng.choice((1, 2, 2, 2, 3, 3, 4))
    if kind == "categorical":
        columns = [f"{name}_{k}" for k in range(n)] if n > 1 and rng.random() < 0.3 else None
        weights = random_weights(rng, n)
        return Categorical(name, rng.sample(range(n), n), weights=weights, columns=columns, missing=missing)
    low = rng.randint(-3, 3)
    if kind == "integer":
        return Integer(name, low, low + n - 1, weights=random_weights(rng, n), missing=missing)
    high = low + rng.choice((0, 1, 2, 2))
    if high > low and rng.random() < 0.3:
        inner = sorted(rng.sample(range(4 * low + 1, 4 * high), rng.randint(0, 3)))
        edges = [low, *(Fraction(e, 4) for e in inner), high]
        histogram = Histogram(edges, random_weights(rng, len(edges) - 1) or [1] * (len(edges) - 1))
        return Real(name, low, high, histogram=histogram, missing=missing)
    return Real(name, low, high, missing=missing)


def random_domain(rng: Random, *, finite: bool, may_miss: bool = True) -> Domain:
    n = rng.choice((1, 2, 3, 3, 4, 4, 4))
    return Domain([random_feature(rng, f"f{i}", finite=finite, may_miss=may_miss) for i in range(n)])


def _choices(rng: Random, feature: Any, *, finest: int = 4) -> list[Any]:
    """Return the values that instances may have: all, or two of an interval."""
    nothing = [None] * bool(feature.missing)
    if isinstance(feature, Categorical):
        return list(feature.values) + nothing
    if isinstance(feature, Integer):
        return list(range(feature.low, feature.high + 1)) + nothing
    low, high = int(finest * feature.low), int(finest * feature.high)
    return [rng.randint(low, high) / finest for _ in range(2)] + nothing


def _space(rng: Random, domain: Domain, breaks: Sequence[set[float]]) -> tuple[Any, Any, list[list[int]]] | None:
    """Return values and measures, and the positions where instances may be; None if that is too large."""
    choices = [_choices(rng, f) for f in domain.features]
    points = [
        set(b) | (set(c) - {None} if isinstance(f, Real) else set())
        for f, b, c in zip(domain.features, breaks, choices, strict=True)
    ]
    space = space_of(domain, points)
    if prod(map(len, space.values)) > _MOST_POINTS:
        return None
    values = [
        [None if x is None else float(x) for x in row] if isinstance(f, Real) else row
        for f, row in zip(domain.features, space.values, strict=True)
    ]
    where = [[row.index(c) for c in mine] for row, mine in zip(values, choices, strict=True)]
    return values, space.measures, where


def _truth(
    rng: Random,
    kind: str,
    domain: Domain,
    model: Any,
    output: Callable[[Point], Any],
    breaks: Sequence[set[float]],
    *,
    delta: Fraction | None,
    n_instances: int,
) -> Truth | None:
    space = _space(rng, domain, breaks)
    if space is None:
        return None
    values, measures, where = space
    instances = list({tuple(rng.choice(row) for row in where) for _ in range(n_instances)})
    return Truth(kind, model, domain, delta, values, measures, [output(x) for x in product(*values)], instances)


def _none(domain: Domain) -> list[set[float]]:
    return [set() for _ in domain.features]


def table(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    domain = domain or random_domain(rng, finite=True)
    size = domain.size
    if size is None or size > _MOST_POINTS:
        return None
    share = rng.choice((0.1, 0.5, 0.8))
    outputs = [0 if rng.random() < share else rng.randint(1, 3) for _ in range(size)]
    delta = Fraction(rng.randint(0, 2)) if rng.random() < 0.4 else None
    listing = dict(zip(product(*(_choices(rng, f) for f in domain.features)), outputs, strict=True))
    model = TableModel.from_outputs(domain, outputs)
    return _truth(rng, "table", domain, model, listing.__getitem__, _none(domain), delta=delta, n_instances=n_instances)


def random_split(rng: Random, feature: Any) -> Cut | Holed | frozenset[float]:
    if len(feature.columns) > 1:
        return Cut(rng.choice((0.0, 0.5, 0.5, 1.0)), closed=rng.random() < 0.5)
    if isinstance(feature, Categorical) and rng.random() < 0.6:
        return frozenset(float(c) for c in feature.values if rng.random() < 0.5)
    if isinstance(feature, Integer) and rng.random() < 0.25:
        return frozenset(float(c) for c in range(feature.low - 1, feature.high + 2) if rng.random() < 0.5)
    low, high = (0, len(feature.values)) if isinstance(feature, Categorical) else (feature.low, feature.high)
    cuts = [Cut(rng.randint(int(2 * low) - 1, int(2 * high) + 1) / 2, closed=rng.random() < 0.5) for _ in range(3)]
    return cuts[0] if rng.random() < 0.8 else Holed(cuts[0], *sorted(cuts[1:]))


def is_left(cut: Cut, x: float) -> bool:
    return x <= cut.value if cut.closed else x < cut.value


class _Tree:
    """A random tree: for the library, and as a walk over the values a model sees."""

    def __init__(
        self, rng: Random, domain: Domain, n_scores: int, most_leaves: int, leaf_values: Sequence[float]
    ) -> None:
        owners = [f for f in domain.features for _ in f.columns]
        self.column, self.split, self.left, self.right, leaves = [-1], [None], [-1], [-1], [0]
        for _ in range(rng.randint(0, most_leaves - 1)):
            node = leaves.pop(rng.randrange(len(leaves)))
            self.column[node] = rng.randrange(len(owners))
            self.split[node] = random_split(rng, owners[self.column[node]])
            n = len(self.column)
            self.left[node], self.right[node] = n, n + 1
            leaves += [n, n + 1]
            for row, empty in ((self.column, -1), (self.split, None), (self.left, -1), (self.right, -1)):
                row += [empty, empty]
        self.values = [[rng.choice(leaf_values) for _ in range(n_scores)] for _ in self.column]
        self.scaled = [[int(Fraction(x) * _UNIT) for x in row] for row in self.values]
        self.missing_left = [rng.random() < 0.5 for _ in self.column]

    def nodes(self) -> TreeNodes:
        arrays = (np.array(row) for row in (self.column, self.left, self.right))
        column, left, right = arrays
        missing_left = np.array(self.missing_left)
        return TreeNodes(column, self.split, left, right, np.array(self.values, dtype=np.float64), missing_left)

    def scores(self, seen: Sequence[float]) -> list[int]:
        node = 0
        while (column := self.column[node]) >= 0:
            x, split = seen[column], self.split[node]
            if x is None or (isinstance(split, Holed) and is_left(split.high, x) and not is_left(split.low, x)):
                goes_left = self.missing_left[node]
            elif isinstance(split, Cut | Holed):
                goes_left = is_left(split if isinstance(split, Cut) else split.cut, x)
            else:
                goes_left = float(x) in split
            node = self.left[node] if goes_left else self.right[node]
        return self.scaled[node]


def ensemble(
    rng: Random, n_instances: int, domain: Domain | None = None, *, n_trees: int | None = None
) -> Truth | None:
    domain = domain or random_domain(rng, finite=rng.random() < 0.4)
    how = rng.choice(("binary", "classes", "regression"))
    n_scores = rng.randint(2, 3) if how == "classes" else 1
    leaf_values = rng.choice((_COARSE, _FINE))
    number = n_trees or rng.randint(2, 4)
    trees = [_Tree(rng, domain, n_scores, 8 if number == 1 else 5, leaf_values) for _ in range(number)]
    base = [Fraction(rng.randint(-3, 3), rng.randint(1, 3)) for _ in range(n_scores)]
    scale = Fraction(1, rng.randint(1, 3))
    labels = tuple("abc"[:n_scores])
    rule = {"binary": Positive((0, 1)), "classes": Argmax(labels), "regression": Score(scale)}[how]
    model = TreeSum.of(domain, [tree.nodes() for tree in trees], rule=rule, base=base)
    start = [int(b * _UNIT) for b in base]
    one_hot = [list(f.values) if len(f.columns) > 1 else None for f in domain.features]

    def output(x: Point) -> Any:
        seen: list[Any] = []
        for value, names in zip(x, one_hot, strict=True):
            row = [None if value is None else int(value == name) for name in names or ()]
            seen += [value] if names is None else row
        walked = [tree.scores(seen) for tree in trees]
        sums = [sum((w[k] for w in walked), start[k]) for k in range(n_scores)]
        if how == "binary":
            return int(sums[0] > 0)
        return Fraction(sums[0], _UNIT) * scale if how == "regression" else labels[sums.index(max(sums))]

    delta = Fraction(rng.randint(0, 4), 2) if how == "regression" else None
    kind = "tree" if number == 1 else "ensemble"
    return _truth(rng, kind, domain, model, output, _breaks(domain, trees), delta=delta, n_instances=n_instances)


def _breaks(domain: Domain, trees: Sequence[_Tree]) -> list[set[float]]:
    owner = [i for i, f in enumerate(domain.features) for _ in f.columns]
    found = _none(domain)
    for tree in trees:
        for column, split in zip(tree.column, tree.split, strict=True):
            cuts = [split.cut, split.low, split.high] if isinstance(split, Holed) else [split]
            found[owner[column]].update(cut.value for cut in cuts if isinstance(cut, Cut))
    return found


def tree(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    return ensemble(rng, n_instances, domain, n_trees=1)


def linear(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    """Return a linear model over discrete features: ties at zero are common."""
    domain = domain or random_domain(rng, finite=True)
    if domain.size is None:
        return None
    how = rng.choice(("binary", "classes", "regression"))
    n_scores = rng.randint(2, 4) if how == "classes" else 1
    parts, gains = [], []
    for feature in domain.features:
        values = _choices(rng, feature)
        if isinstance(feature, Integer) and rng.random() < 0.5:
            factors, absent = ([Fraction(rng.randint(-4, 4), 2) for _ in range(n_scores)] for _ in range(2))
            parts.append(Slope(tuple(factors), tuple(absent) if feature.missing else None))
            gains.append([{x: b if x is None else f * x for x in values} for f, b in zip(factors, absent, strict=True)])
        else:
            rows = [[Fraction(rng.randint(-4, 4), 2) for _ in values] for _ in range(n_scores)]
            parts.append(Lookup(tuple(map(tuple, rows))))
            gains.append([dict(zip(values, row, strict=True)) for row in rows])
    base = [Fraction(rng.randint(-4, 4), 2) for _ in range(n_scores)]
    labels = tuple("abcd"[:n_scores])
    rule = {"binary": Positive((0, 1)), "classes": Argmax(labels), "regression": Score(Fraction(-2, 3))}[how]
    model = LinearModel.of(domain, parts, base=base, rule=rule)

    def output(x: Point) -> Any:
        sums = [b + sum(g[k][v] for g, v in zip(gains, x, strict=True)) for k, b in enumerate(base)]
        if how == "binary":
            return int(sums[0] > 0)
        return sums[0] * Fraction(-2, 3) if how == "regression" else labels[sums.index(max(sums))]

    delta = Fraction(rng.randint(0, 3)) if how == "regression" else None
    return _truth(rng, "linear", domain, model, output, _none(domain), delta=delta, n_instances=n_instances)


def _random_grid(rng: Random, domain: Domain | None) -> Grid:
    domain = domain or random_domain(rng, finite=rng.random() < 0.5)
    cuts = []
    for f in domain.features:
        if isinstance(f, Categorical):
            cuts.append([])
        elif isinstance(f, Integer):
            cuts.append([Cut(float(k), closed=True) for k in range(f.low, f.high) if rng.random() < 0.8])
        else:
            inner = (rng.randint(int(4 * f.low), int(4 * f.high)) / 4 for _ in range(rng.randint(0, 2)))
            cuts.append([Cut(x, closed=rng.random() < 0.5) for x in inner])
    return Grid.of(domain, cuts)


def circuit(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    grid = _random_grid(rng, domain)
    make, trusted = rng.choice(((random_form, True), (random_form, False), (any_form, False)))
    form = make(rng, list(range(len(grid.axes))), grid.n_cells)
    model = CircuitModel.of(circuit_of(form, grid), outputs=("no", "yes"), deterministic=trusted)

    def output(x: Point) -> Any:
        return "yes" if holds(form, [cell_of(grid, i, value) for i, value in enumerate(x)]) else "no"

    return _of_grid(rng, "circuit", grid, model, output, n_instances)


def classes(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    """Return a model of three outputs, a circuit each."""
    grid = _random_grid(rng, domain)
    features = list(range(len(grid.axes)))
    first, rest = random_diagrams(rng, features, grid.n_cells)
    second, third = random_diagrams(rng, features, grid.n_cells)
    forms = {"a": first, "b": ("and", [rest, second]), "c": ("and", [rest, third])}
    model = CircuitModel.of_classes({y: circuit_of(form, grid) for y, form in forms.items()})

    def output(x: Point) -> Any:
        cells = [cell_of(grid, i, value) for i, value in enumerate(x)]
        return next(y for y, form in forms.items() if holds(form, cells))

    return _of_grid(rng, "classes", grid, model, output, n_instances)


def network(rng: Random, n_instances: int, domain: Domain | None = None) -> Truth | None:
    """Return a classifier that multiplies tables, some of them with zeros, for two classes or three."""
    grid, labels = _random_grid(rng, domain), ("a", "b", "c")[: rng.choice((2, 3))]
    prior, factors = [rng.randint(1, 9) for _ in labels], []
    for _ in range(rng.randint(1, 5)):
        scope = rng.sample(range(len(grid.axes)), min(len(grid.axes), rng.randint(1, 3)))
        shape = [*(grid.n_cells[i] for i in scope), rng.choice((1, len(labels), len(labels)))]
        lowest = rng.choice((0, 1))
        values = np.array([rng.randint(lowest, 9) for _ in range(prod(shape))], dtype=object)
        factors.append(Factor(tuple(scope), values.reshape(shape)))
    model = BayesClassifier(grid, labels, tuple(prior), tuple(factors))

    def output(x: Point) -> Any:
        cells = [cell_of(grid, i, value) for i, value in enumerate(x)]
        rows = [factor.values[tuple(cells[i] for i in factor.scope)] for factor in factors]
        products = [p * prod(int(row[k if len(row) > 1 else 0]) for row in rows) for k, p in enumerate(prior)]
        return labels[products.index(max(products))]

    return _of_grid(rng, "network", grid, model, output, n_instances)


def _of_grid(rng: Random, kind: str, grid: Grid, model: Any, output: Callable[[Point], Any], n: int) -> Truth | None:
    breaks = [{cut.value for cut in axis.cuts} for axis in grid.axes]
    return _truth(rng, kind, grid.domain, model, output, breaks, delta=None, n_instances=n)


_MAKERS = dict(zip(KINDS, (table, tree, ensemble, linear, circuit, classes, network), strict=True))


def random_truth(rng: Random, kind: str, *, n_instances: int = 8) -> Truth:
    """Return a model of the given kind with some instances; always the same for the same state of `rng`."""
    while True:
        found = _MAKERS[kind](rng, n_instances)
        if found is not None:
            return found


def random_truth_over(rng: Random, domain: Domain, *, n_instances: int = 8) -> Truth:
    """Return a model of any kind over a domain that there is already."""
    kinds = [kind for kind in KINDS if domain.size is not None or kind not in ("table", "linear")]
    while True:
        found = _MAKERS[rng.choice(kinds)](rng, n_instances, domain)
        if found is not None:
            return found


def _random_real(rng: Random, name: str) -> Real:
    low, missing = rng.randint(-2, 2), Fraction(rng.randint(1, 4), 5) if rng.random() < 0.5 else 0
    high = low + rng.choice((0, 1, Fraction(3, 2), 4))
    histogram = Histogram([low, low + Fraction(1, 2), high], [2, 3]) if high > low and rng.random() < 0.2 else None
    return Real(name, low, high, histogram=histogram, missing=missing)


def random_plane(rng: Random) -> tuple[LinearModel, Point, Fraction | None]:
    """Return a linear model with one or two real features, an instance and delta; LinearJudge judges it."""
    features: list[Any] = [random_feature(rng, f"f{i}", finite=True, may_miss=True) for i in range(rng.randint(0, 2))]
    features += [_random_real(rng, f"r{i}") for i in range(rng.randint(1, 2))]
    domain = Domain(features)
    rule = rng.choice((Positive((0, 1)), Argmax(("a", "b", "c")), Score(Fraction(-2, 3))))
    n_scores = 3 if isinstance(rule, Argmax) else 1

    def number() -> Fraction:
        return Fraction(rng.randint(-6, 6), 2)

    def part(f: Any) -> Slope | Lookup:
        if isinstance(f, Real) or (isinstance(f, Integer) and rng.random() < 0.3):
            factors, absent = (tuple(number() for _ in range(n_scores)) for _ in range(2))
            return Slope(factors, absent if f.missing else None)
        return Lookup(tuple(tuple(number() for _ in range(f.size)) for _ in range(n_scores)))

    parts, base = [part(f) for f in features], [number() for _ in range(n_scores)]
    model = LinearModel.of(domain, parts, base=base, rule=rule)
    v = tuple(rng.choice(_choices(rng, f, finest=8)) for f in features)
    return model, v, Fraction(rng.randint(0, 4)) if isinstance(rule, Score) else None
