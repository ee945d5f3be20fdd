"""Joint distributions of the features of a domain.

A distribution speaks of finitely many *states* of each feature (its categories, bins of its numbers, missing) and gives
a probability to every combination of them; inside a bin numbers are uniform. All that is asked of it is a *total*: the
sum, over the combinations of states, of their probability times what evidence gives each state. A box of cells is
evidence, an instance's own value is, and a conditional probability is the ratio of two totals: how dense a distribution
is inside the state of a value that stays what it is cancels.

To add one: a frozen dataclass that is a :class:`Distribution`, named in :data:`DISTRIBUTIONS`.
"""

from __future__ import annotations

import json
import math
import os
import random
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import check_fields, checked, is_listable, number_array, quoted, whole
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram, Number, Uniform, abridged, counted, exact, shown
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import ArgumentError, DomainError, ResultFileError
from axfi_kc.json_text import distinct_keys, number_of, number_text, value_of, value_text

if TYPE_CHECKING:
    from axfi_kc.domain.domain import Domain
    from axfi_kc.domain.grid import Axis

__all__ = [
    "DISTRIBUTIONS",
    "Distribution",
    "Evidence",
    "Mixture",
    "Product",
    "States",
    "check_describes",
    "check_evidence",
    "distribution_of",
    "measured_domain",
    "read_distribution",
    "states_of",
]


Row = Sequence[int | Fraction]
Evidence = Sequence[Row | None]
"""For each feature what each of its states is multiplied by; None: all by 1."""
Places = tuple[tuple[int, Fraction], ...]
"""For each state of a feature, the coarser state that it is part of, and which part of it."""
_MOST_STATES = 1_000_000
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class States:
    """How the values of one feature fall into states.

    Attributes
    ----------
    name
        The feature's name.
    values
        The categories, a state each; none for numbers.
    edges
        Of numbers: bin k holds ``edges[k] <= x < edges[k + 1]``, the last bin of reals also its right end. Bins of
        integers begin at integers, and the last edge is the integer after the last value.
    integer
        Whether the numbers are integers.
    missing
        Whether missing values are one more state, the last one.

    Examples
    --------
    >>> States.of(Categorical("race", ["a", "b"], missing=0.5)).size
    3
    >>> States.of(Integer("age", 18, 20)).edges
    (Fraction(18, 1), Fraction(19, 1), Fraction(20, 1), Fraction(21, 1))
    >>> States.of(Real("bmi", 0, 50), [20, 30]).describe(1)
    '20 <= bmi < 30'
    """

    name: str
    values: tuple[Hashable, ...] = ()
    edges: tuple[Fraction, ...] = ()
    integer: bool = False
    missing: bool = False

    @classmethod
    @checked("feature", "cuts")
    def of(cls, feature: Feature, cuts: Iterable[Number] | None = None) -> States:
        """Return the states of a feature.

        Parameters
        ----------
        feature
            The feature.
        cuts
            Where bins of numbers end and the next ones begin; those outside the feature's bounds are left out. By
            default integers are states one by one, and a real feature is one state.

        Raises
        ------
        DomainError
            If there are too many states, or a categorical feature is given cuts.
        """
        name, missing = feature.name, bool(feature.missing)
        if isinstance(feature, Categorical):
            if cuts is not None:
                raise DomainError(f"Feature {name!r} is categorical, so it has no bins; leave its cuts out.")
            return cls(name, values=feature.values, missing=missing)
        whole = isinstance(feature, Integer)
        end = Fraction(feature.high + whole)
        if cuts is None:
            if whole and end - feature.low > _MOST_STATES:
                raise DomainError(
                    f"Feature {name!r} has {shown(end - feature.low)} values, too many for a state each; give it bins."
                )
            inner = set(map(Fraction, range(int(feature.low) + 1, int(end)))) if whole else set()
        else:
            # Between integers a cut is the next integer: what lies left of it stays the same.
            given = [exact(c, f"cut of {name!r}") for c in cuts]
            inner = {Fraction(math.ceil(c)) if whole else c for c in given}
        kept = sorted(c for c in inner if feature.low < c < end)
        return cls(name, edges=(Fraction(feature.low), *kept, end), integer=whole, missing=missing)

    @property
    def size(self) -> int:
        """The number of states."""
        return self.n_present + self.missing

    @property
    def n_present(self) -> int:
        """The number of states that are not missing."""
        return len(self.values) or max(len(self.edges) - 1, 0)

    @checked("state")
    def describe(self, state: int) -> str:
        """Return a state in words."""
        whole(state, "state", least=0)
        if state >= self.n_present:
            return f"{self.name} is missing"
        if self.values:
            return f"{self.name} = {self.values[state]!r}"
        low, high = self.edges[state], self.edges[state + 1]
        if self.integer:
            last = high - 1
            return f"{self.name} = {low}" if low == last else f"{low} <= {self.name} <= {last}"
        is_last = state == self.n_present - 1
        return f"{shown(low)} <= {self.name} {'<=' if is_last else '<'} {shown(high)}"

    @checked("codes")
    def locate(self, codes: npt.NDArray[np.float64], feature: Feature) -> npt.NDArray[np.int64]:
        """Return the state of each code of a feature, which may have fewer values than the states."""
        codes = number_array(codes, "The codes of a feature", (None,))
        gone = np.isnan(codes)
        found = np.full(codes.shape, self.n_present, dtype=np.int64)
        if isinstance(feature, Categorical):
            place = {value: k for k, value in enumerate(self.values)}
            state = np.array([place[value] for value in feature.values], dtype=np.int64)
            found[~gone] = state[codes[~gone].astype(np.int64)]
        else:
            # Edges are rationals, and a code is compared with them as the rational it is.
            inner = self.edges[1:-1]
            distinct, back = np.unique(codes[~gone], return_inverse=True)
            states = [bisect_right(inner, Fraction(c)) for c in distinct.tolist()]
            found[~gone] = np.array(states, dtype=np.int64)[back]
        return found

    @checked("axis")
    def shares(self, axis: Axis) -> tuple[tuple[Fraction, ...], ...]:
        """Return for each cell of an axis the probability that a value of each state lies in it.

        The axis is of the feature or of part of it: a state's shares add up to 1, or to less where it has values that
        the axis leaves out. A real feature of one value is taken to have it: its density there cancels.

        Examples
        --------
        >>> from axfi_kc.domain.grid import Axis, Cut
        >>> age = Integer("age", 0, 9)
        >>> States.of(age, [4]).shares(Axis.of(age, [Cut(1.0, closed=True)]))
        ((Fraction(1, 2), Fraction(0, 1)), (Fraction(1, 2), Fraction(1, 1)))
        """
        feature = getattr(axis, "feature", None) if hasattr(type(axis), "feature") else None
        if feature is None:
            raise ArgumentError(f"axis= takes an axis of a grid, but {quoted(axis)} was given; give grid.axes[0].")
        if isinstance(feature, Categorical):
            rows = [tuple(Fraction(value == own) for own in self.values) for value in feature.values]
        elif isinstance(feature, Real) and feature.low == feature.high:
            rows = [self._point(feature.low)]
        else:
            rows = [self._parts(low, high) for low, high in _cell_spans(feature, axis)]
        gone = (Fraction(0),) * self.missing
        found = [(*row, *gone) for row in rows]
        if feature.missing:
            found.append((*(Fraction(0),) * self.n_present, Fraction(1)))
        return tuple(found)

    def _parts(self, low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
        """Return which part of each bin lies from `low` to `high`."""
        pairs = pairwise(self.edges)
        return tuple(max(min(b, high) - max(a, low), Fraction(0)) / (b - a) for a, b in pairs)

    def _point(self, value: Fraction) -> tuple[Fraction, ...]:
        own = bisect_right(self.edges[1:-1], value)
        return tuple(Fraction(k == own) for k in range(self.n_present))

    @checked("state", "source")
    def drawn(self, state: int, source: random.Random) -> Any:
        """Return a value of a state, at random; None for a missing one."""
        whole(state, "state", least=0)
        if state >= self.n_present:
            return None
        if self.values:
            return self.values[state]
        low, high = self.edges[state], self.edges[state + 1]
        return source.randrange(int(low), int(high)) if self.integer else source.uniform(float(low), float(high))

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        found: dict[str, Any] = {"name": self.name}
        if self.values:
            found["values"] = [value_text(v) for v in self.values]
        else:
            found["integers" if self.integer else "edges"] = [number_text(e) for e in self.edges]
        return found | ({"missing": True} if self.missing else {})

    @classmethod
    @checked("document")
    def of_document(cls, document: Mapping[str, Any]) -> States:
        """Return the states that :meth:`document` wrote; a DomainError or TypeError if it wrote none."""
        if "name" not in document:
            raise DomainError(f"States have a name, but {quoted(document)} was given; write them with document().")
        name, missing = document["name"], document.get("missing", False)
        values = tuple(value_of(v) for v in document.get("values", ()))
        whole = "integers" in document
        edges = tuple(number_of(e, "edge") for e in document.get("integers" if whole else "edges", ()))
        odd = whole and any(e.denominator != 1 for e in edges)
        falling = any(a >= b for a, b in pairwise(edges)) and (whole or len(edges) != 2 or edges[0] != edges[1])
        listed = bool(values) != (len(edges) > 1) and len(set(values)) == len(values)
        if not isinstance(name, str) or not isinstance(missing, bool) or odd or falling or not listed:
            raise DomainError("States are distinct categories, or bins between two or more increasing edges.")
        return cls(name, values=values, edges=edges, integer=whole, missing=missing)


def _cell_spans(feature: Integer | Real, axis: Axis) -> Iterable[tuple[Fraction, Fraction]]:
    """Return where the cells of numbers begin and end; those of integers end before the next integer."""
    whole = isinstance(feature, Integer)
    inner = (Fraction(int(c.value) + 1) if whole else Fraction(c.value) for c in axis.cuts)
    return pairwise([Fraction(feature.low), *inner, Fraction(feature.high + whole)])


class Distribution(ABC):
    """A joint distribution of features.

    Attributes
    ----------
    states
        The states of each feature, in the order of the domain's features.
    kind
        Its name in documents.
    """

    __slots__ = ()
    kind: ClassVar[str]

    if TYPE_CHECKING:  # read only; at run time a property here would keep dataclasses from holding it as a field

        @property
        def states(self) -> tuple[States, ...]:
            """The states of each feature, in the order of the domain's features."""

    @abstractmethod
    def total(self, evidence: Evidence) -> Fraction:
        """Return the sum, over all combinations of states, of their probability times the evidence of each state.

        Parameters
        ----------
        evidence
            For each feature a number per state, not negative; None for ones.
        """

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it, under its ``kind``."""

    @abstractmethod
    def __str__(self) -> str:
        """Return it in a few words."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(states.name for states in self.states)

    @property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """The features in sets that do not depend on each other, as far as that is known; by default one set of all.

        Probabilities of some features, given the values of the others, depend only on values in the blocks of these
        features: values in other blocks cancel, however probable they are.
        """
        return (frozenset(range(len(self.states))),)

    @property
    def independent(self) -> tuple[tuple[Fraction, ...], ...] | None:
        """The probabilities of each feature's states, if each is a block of its own; None elsewhere."""
        if len(self.blocks) < len(self.states):
            return None
        return tuple(tuple(self.probability({i: k}) for k in range(s.size)) for i, s in enumerate(self.states))

    @checked("states")
    def probability(self, states: Mapping[int, int]) -> Fraction:
        """Return the probability that some features, by their numbers, are in given states."""
        return self.total([_only(states.get(i), s.size) for i, s in enumerate(self.states)])

    @checked("path")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file, which :func:`read_distribution` reads."""
        write_whole(path, json.dumps(self.document(), indent=1) + "\n", what="The distribution")

    @checked("n", "seed")
    def sample(self, n: int, *, seed: int = 0) -> list[tuple[Any, ...]]:
        """Return points drawn at random, each a tuple of the features' values; None where one is missing.

        Notes
        -----
        Feature by feature, given those before: a total for every state. What is drawn has exactly this distribution,
        up to the floats that reals are.
        """
        source = random.Random(seed)  # noqa: S311
        return [self._drawn(source) for _ in range(whole(n, "n", least=0))]

    def _drawn(self, source: random.Random) -> tuple[Any, ...]:
        evidence: list[Row | None] = [None] * len(self.states)
        point = []
        for i, states in enumerate(self.states):
            chances = []
            for state in range(states.size):
                evidence[i] = _only(state, states.size)
                chances.append(self.total(evidence))
            state = chosen(chances, source)
            evidence[i] = _only(state, states.size)
            point.append(states.drawn(state, source))
        return tuple(point)


def chosen(chances: Sequence[Fraction], source: random.Random) -> int:
    """Return a place at random, each with the chance it has, exactly."""
    scale = math.lcm(*(c.denominator for c in chances))
    left = source.randrange(int(sum(chances) * scale))
    for place, chance in enumerate(chances):
        left -= int(chance * scale)
        if left < 0:
            return place
    return len(chances) - 1


def _only(state: int | None, size: int) -> Row | None:
    """Return the evidence for one state; None for none."""
    return None if state is None else [int(k == state) for k in range(size)]


def joined(n: int, links: Iterable[Collection[int]]) -> tuple[frozenset[int], ...]:
    """Return the blocks that links, each between some of n features, make of these.

    Examples
    --------
    >>> joined(4, [(0, 2), (1,)])
    (frozenset({0, 2}), frozenset({1}), frozenset({3}))
    """
    block = [frozenset((i,)) for i in range(n)]
    for link in links:
        together = frozenset[int]().union(*(block[i] for i in link))
        for i in together:
            block[i] = together
    return tuple(dict.fromkeys(block))


def tied(blocks: Iterable[frozenset[int]], members: Collection[int]) -> set[int]:
    """Return the features in the blocks that some features are in: the values of all others cancel.

    Examples
    --------
    >>> tied([frozenset({0, 2}), frozenset({1})], [0])
    {0, 2}
    """
    return {i for block in blocks if not block.isdisjoint(members) for i in block}


def check_evidence(evidence: Evidence, states: Sequence[States]) -> None:
    """Raise unless there is a row, or None, for every feature, and a number for every state in it."""
    wrong = len(evidence) != len(states) or any(
        row is not None and (not is_listable(row) or len(row) != own.size)
        for row, own in zip(evidence, states, strict=True)
    )
    if wrong:
        raise DomainError(
            f"Evidence must have a row for each of {len(states)} features, with a number for each of its states, or "
            "None; give one number per state."
        )


def check_describes(distribution: Distribution, features: Sequence[Feature]) -> None:
    """Raise unless a distribution speaks of these features, in this order, and of all of their values."""
    if not isinstance(distribution, Distribution):
        raise DomainError(
            f"Expected a distribution, such as ChowLiu.fit(X, domain), but {quoted(distribution)} was given; give one."
        )
    names = tuple(f.name for f in features)
    if distribution.names != names:
        raise DomainError(
            f"The distribution is over {_listed(distribution.names)}, but the domain has {_listed(names)}; give one "
            "over the domain's features, in their order."
        )
    for states, feature in zip(distribution.states, features, strict=True):
        problem = _uncovered(states, feature)
        if problem:
            raise DomainError(
                f"The distribution does not speak of all values of {feature.name!r}: {problem}; give one over the "
                "whole domain, or narrow the domain."
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _uncovered(states: States, feature: Feature) -> str:
    """Return which values of a feature have no state, in words; nothing if all have."""
    if feature.missing and not states.missing:
        return "they may be missing"
    if isinstance(feature, Categorical):
        odd = [v for v in feature.values if v not in states.values]
        return f"{odd[0]!r} is no state of it" if odd else ""
    if states.values:
        return "its states are categories, not numbers"
    if states.integer != isinstance(feature, Integer):
        return f"its states are of {'integers' if states.integer else 'reals'}"
    low, high = states.edges[0], states.edges[-1] - states.integer
    if feature.low < low or feature.high > high:
        return f"it goes from {shown(low)} to {shown(high)} only"
    return ""


@checked("domain", "bins", "most")
def states_of(
    domain: Domain, bins: Mapping[str, int | Sequence[Number]] | int | None = None, *, most: int = 64
) -> tuple[States, ...]:
    """Return states of every feature of a domain.

    Parameters
    ----------
    domain
        The domain.
    bins
        How many bins of equal width numbers get, or where they are cut, by feature or for all of them.
    most
        Integers of more values than this, and reals, get ten bins unless `bins` says otherwise.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> [s.size for s in states_of(Domain([Integer("a", 0, 3), Real("b", 0, 1)]), {"b": [0.5]})]
    [4, 2]
    """
    given = bins if isinstance(bins, Mapping) else {}
    for name in given:
        domain.index(name)
    every = None if isinstance(bins, Mapping) else bins
    return tuple(_states(f, given.get(f.name, every), most) for f in domain.features)


def _states(feature: Feature, bins: int | Sequence[Number] | None, most: int) -> States:
    if isinstance(feature, Categorical):
        return States.of(feature)
    if bins is None and isinstance(feature, Integer) and feature.size <= most:
        return States.of(feature)
    if bins is None or isinstance(bins, int):
        number = 10 if bins is None else bins
        if not 0 < number <= _MOST_STATES:
            raise DomainError(f"Feature {feature.name!r} needs at least one bin, but {quoted(bins)} were asked for.")
        width = Fraction(feature.high - feature.low + isinstance(feature, Integer), number)
        return States.of(feature, [feature.low + k * width for k in range(1, number)])
    return States.of(feature, bins)


@dataclass(frozen=True, slots=True)
class Product(Distribution):
    """Independent features: a probability for every state of each.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> coins = Product.of(Domain([Categorical("a", "ht"), Categorical("b", "ht", weights=[1, 3])]))
    >>> coins.total([[1, 0], [0, 1]])
    Fraction(3, 8)
    """

    states: tuple[States, ...]
    tables: tuple[tuple[Fraction, ...], ...]
    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        """Check that every feature has a table of probabilities."""
        check_fields(self)
        check_tables(self.states, self.tables)

    @classmethod
    @checked("domain")
    def of(cls, domain: Domain) -> Product:
        """Return the product of the measures of a domain's features."""
        pairs = [_measured(feature) for feature in domain.features]
        return cls(tuple(states for states, _ in pairs), tuple(table for _, table in pairs))

    @property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """The features, each by itself."""
        return joined(len(self.states), ())

    @property
    def independent(self) -> tuple[tuple[Fraction, ...], ...] | None:
        """The probabilities of each feature's states."""
        return self.tables

    @checked("evidence")
    def total(self, evidence: Evidence) -> Fraction:
        """Return the product of what evidence makes of each feature (cost: the rows given)."""
        check_evidence(evidence, self.states)
        found = Fraction(1)
        for table, row in zip(self.tables, evidence, strict=True):
            if row is not None:
                found *= sum((p * e for p, e in zip(table, row, strict=True)), Fraction(0))
        return found

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        tables = [[number_text(p) for p in table] for table in self.tables]
        return {"kind": self.kind, "states": [s.document() for s in self.states], "tables": tables}

    def __str__(self) -> str:
        """Return it in words."""
        return "independent features"


def check_tables(states: Sequence[States], tables: Sequence[Sequence[Fraction]]) -> None:
    """Raise unless each feature has a probability per state, and they add up to 1."""
    if len(states) != len(tables) or not states:
        raise DomainError(
            f"A distribution of {len(states)} features, at least one, needs a table for each, but has {len(tables)}."
        )
    for own, table in zip(states, tables, strict=True):
        check_table(own, table)


def check_table(states: States, table: Sequence[Fraction]) -> None:
    """Raise unless `table` has a probability per state, and they add up to 1."""
    if len(table) != states.size or any(p < 0 for p in table) or sum(table) != 1:
        raise DomainError(
            f"A table of {states.name!r} needs {states.size} probabilities that add up to 1, but has {len(table)} that "
            f"add up to {shown(Fraction(sum(table)))}; correct it."
        )


def _measured(feature: Feature) -> tuple[States, tuple[Fraction, ...]]:
    """Return the states that a feature's own measure tells apart, and their probabilities."""
    measure = feature.measure
    if isinstance(measure, Histogram):
        states, shares = States.of(feature, measure.edges), measure.shares
    elif not isinstance(measure, Uniform):
        states, shares = States.of(feature), measure.shares
    elif isinstance(feature, Categorical):
        states, shares = States.of(feature), (Fraction(1, len(feature.values)),) * len(feature.values)
    else:
        states, shares = States.of(feature, ()), (Fraction(1),)
    if not feature.missing:
        return states, shares
    return states, (*(s * (1 - feature.missing) for s in shares), feature.missing)


def measured_domain(domain: Domain) -> Domain | None:
    """Return a domain whose features have the measures that an independent distribution gives them, and no other.

    None if its features may depend on each other, or have no such measures.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> domain = Domain([Integer("a", 0, 1)])
    >>> measured_domain(domain.with_distribution(Product(states_of(domain), ((Fraction(1, 4), Fraction(3, 4)),))))
    Domain(a: an integer from 0 to 1)
    """
    joint = domain.distribution
    tables = None if joint is None else joint.independent
    if joint is None or tables is None:
        return None
    triples = zip(domain.features, joint.states, tables, strict=True)
    features = [_with_measure(feature, states, table) for feature, states, table in triples]
    if any(f is None for f in features):
        return None
    return domain.with_distribution(None).with_features(f for f in features if f is not None)


def _with_measure(feature: Feature, states: States, table: Sequence[Fraction]) -> Feature | None:
    """Return a feature with the measure that a table of its states gives it; None where there is none."""
    gone = table[-1] if feature.missing else Fraction(0)
    pieces = list(_pieces(feature, states, table))
    whole = sum(pieces, Fraction(0)) + gone
    # A cell of missing values is there exactly if they have a probability.
    if whole == gone or bool(gone) != bool(feature.missing):
        return None
    missing = gone / whole
    if isinstance(feature, Categorical):
        columns, codes = feature.columns, feature.codes
        return Categorical(feature.name, feature.values, weights=pieces, columns=columns, codes=codes, missing=missing)
    if isinstance(feature, Integer):
        return Integer(feature.name, feature.low, feature.high, weights=pieces, missing=missing)
    if feature.low == feature.high:
        return Real(feature.name, feature.low, feature.high, missing=missing)
    edges = _edges_within(feature, states)
    return Real(feature.name, feature.low, feature.high, histogram=Histogram(edges, pieces), missing=missing)


def _edges_within(feature: Real, states: States) -> list[Fraction]:
    return [feature.low, *(e for e in states.edges if feature.low < e < feature.high), feature.high]


def _pieces(feature: Feature, states: States, table: Sequence[Fraction]) -> Iterable[Fraction]:
    """Return the probability of each category, of each integer, or of the part of each bin in an interval."""
    if isinstance(feature, Categorical):
        place = {value: k for k, value in enumerate(states.values)}
        return [table[place[value]] for value in feature.values]
    if isinstance(feature, Integer):
        if feature.size > _MOST_STATES:
            return []
        inner, widths = states.edges[1:-1], [b - a for a, b in pairwise(states.edges)]
        bins = [bisect_right(inner, k) for k in range(feature.low, feature.high + 1)]
        return [table[k] / widths[k] for k in bins]
    inner = states.edges[1:-1]
    if feature.low == feature.high:
        return [table[bisect_right(inner, feature.low)]]
    edges = _edges_within(feature, states)
    spans = [(a, b, bisect_right(inner, a)) for a, b in pairwise(edges)]
    return [table[k] * (b - a) / (states.edges[k + 1] - states.edges[k]) for a, b, k in spans]


@dataclass(frozen=True, slots=True)
class Mixture(Distribution):
    """One of several distributions of the same features, each with a probability of its own.

    Attributes
    ----------
    parts, weights
        The distributions, and their probabilities.
    states
        The states that parts have in common: a bin ends where one of any part does.
    places
        For each part and feature, which of the part's own states each state is in; None for a part whose states are
        the same.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> states = states_of(Domain([Categorical("a", "ht"), Categorical("b", "ht")]))
    >>> fair, bent = ((Fraction(1, 2),) * 2, (Fraction(1), Fraction(0)))
    >>> coins = Mixture((Product(states, (fair, fair)), Product(states, (bent, bent))), fair)
    >>> coins.total([[1, 0], [1, 0]]), coins.total([[1, 0], None])
    (Fraction(5, 8), Fraction(3, 4))
    """

    parts: tuple[Distribution, ...]
    weights: tuple[Fraction, ...]
    states: tuple[States, ...] = field(init=False, repr=False, compare=False)
    places: tuple[tuple[Places, ...] | None, ...] = field(init=False, repr=False, compare=False)
    kind: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        """Check that the parts have the same values, and weights are probabilities."""
        check_fields(self)
        parts = tuple(self.parts)
        weights = tuple(exact(w, "weight of a mixture") for w in self.weights)
        if not parts or not all(isinstance(p, Distribution) and p.names == parts[0].names for p in parts):
            raise DomainError(
                "A mixture needs distributions of the same features, at least one; give them all over one domain."
            )
        if len(weights) != len(parts) or any(w < 0 for w in weights) or sum(weights) != 1:
            raise DomainError(
                f"A mixture of {len(parts)} distributions needs as many weights, not negative, that add up to 1, but "
                f"{len(weights)} that add up to {shown(sum(weights, Fraction(0)))} were given."
            )
        states = tuple(_common(own) for own in zip(*(p.states for p in parts), strict=True))
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "places", tuple(_all_places(p.states, states) for p in parts))

    @property
    def blocks(self) -> tuple[frozenset[int], ...]:
        """Those of its one part; of several, each feature that is independent and alike in all, and the rest.

        Parts of weight 0 do not count.
        """
        parts = [k for k, weight in enumerate(self.weights) if weight]
        if len(parts) == 1:
            return self.parts[parts[0]].blocks
        blocks = [set(self.parts[k].blocks) for k in parts]

        def is_alone(i: int) -> bool:
            return all({i} in own for own in blocks) and len({self._row(k, i) for k in parts}) == 1

        return joined(len(self.states), [[i for i in range(len(self.states)) if not is_alone(i)]])

    def _row(self, k: int, i: int) -> tuple[Fraction, ...]:
        """Return the probabilities of the states of a feature in one part."""
        evidence: list[Row | None] = [None] * len(self.states)
        found = []
        for state in range(self.states[i].size):
            evidence[i] = _only(state, self.states[i].size)
            found.append(self._in_part(k, evidence))
        return tuple(found)

    def _in_part(self, k: int, evidence: Evidence) -> Fraction:
        """Return the total of one part."""
        places, states = self.places[k], self.parts[k].states
        if places is None:
            return self.parts[k].total(evidence)
        triples = zip(evidence, states, places, strict=True)
        return self.parts[k].total([None if row is None else _gathered(row, s.size, p) for row, s, p in triples])

    @checked("evidence")
    def total(self, evidence: Evidence) -> Fraction:
        """Return the sum of the parts' totals, each times its weight."""
        check_evidence(evidence, self.states)
        return sum((w * self._in_part(k, evidence) for k, w in enumerate(self.weights)), Fraction(0))

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        weights = [number_text(w) for w in self.weights]
        return {"kind": self.kind, "weights": weights, "parts": [part.document() for part in self.parts]}

    def __str__(self) -> str:
        """Return it in words."""
        return f"a mixture of {counted(len(self.parts), 'distribution')}"


def _common(states: Sequence[States]) -> States:
    """Return states of one feature that tell apart whatever some of the given ones do."""
    first = states[0]
    shapes = {(frozenset(s.values), s.edges[:1], s.edges[-1:], s.integer, s.missing) for s in states}
    if len(shapes) > 1:
        raise DomainError(
            f"A mixture needs distributions of the same values, but those of {first.name!r} differ; give them all over "
            "one domain."
        )
    if all(s == first for s in states):
        return first
    return replace(first, edges=tuple(sorted({edge for s in states for edge in s.edges})))


def _all_places(coarse: Sequence[States], fine: Sequence[States]) -> tuple[Places, ...] | None:
    """Return which coarser states the finer ones of all features are in; None where they are the same."""
    if tuple(coarse) == tuple(fine):
        return None
    return tuple(_places_in(*pair) for pair in zip(coarse, fine, strict=True))


def _places_in(coarse: States, fine: States) -> Places:
    """Return for each of some finer states which state it is part of, and which part of it.

    Examples
    --------
    >>> _places_in(States.of(Real("r", 0, 8)), States.of(Real("r", 0, 8), [6]))
    ((0, Fraction(3, 4)), (0, Fraction(1, 4)))
    """
    gone = ((coarse.n_present, Fraction(1)),) * coarse.missing
    if coarse.values:
        return (*((coarse.values.index(value), Fraction(1)) for value in fine.values), *gone)
    if coarse == fine:
        return tuple((k, Fraction(1)) for k in range(coarse.size))
    found = []
    for low, high in pairwise(fine.edges):
        k = bisect_right(coarse.edges, low) - 1
        found.append((k, (high - low) / (coarse.edges[k + 1] - coarse.edges[k])))
    return (*found, *gone)


def _gathered(row: Row, size: int, places: Places) -> Row:
    """Return evidence for finer states as evidence for the coarser ones that they are part of."""
    found = [Fraction(0)] * size
    for number, (k, part) in zip(row, places, strict=True):
        found[k] += number * part
    return found


DISTRIBUTIONS: dict[str, Callable[[Mapping[str, Any]], Distribution]] = {}
"""Kinds of distributions in documents, each with the function that reads one."""


def distribution_of(document: Any) -> Distribution:
    """Return the distribution that a document describes.

    Raises
    ------
    DomainError
        If it describes none.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> coin = Product.of(Domain([Categorical("a", "ht")]))
    >>> distribution_of(coin.document()) == coin
    True
    """
    try:
        return DISTRIBUTIONS[document["kind"]](document)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ResultFileError) as error:
        why = f" ({error})" if isinstance(error, DomainError) else ""
        raise DomainError(
            f"Expected a distribution, but this describes none: {abridged(repr(document), _LONGEST)}{why}."
        ) from error


@checked("path")
def read_distribution(path: str | os.PathLike[str]) -> Distribution:
    """Return the distribution in a JSON file that :meth:`Distribution.save` wrote.

    Raises
    ------
    DomainError
        If the file cannot be read, or holds none.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.domain.domain import Domain
    >>> coin = Product.of(Domain([Categorical("a", "ht")]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coin.save(f"{folder}/coin.json")
    ...     read_distribution(f"{folder}/coin.json") == coin
    True
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=distinct_keys)
    except (OSError, ValueError, RecursionError) as error:
        raise DomainError(
            f"{path} cannot be read as a distribution ({error}); write it with distribution.save(path)."
        ) from error
    return distribution_of(document)


def read_states(document: Mapping[str, Any]) -> tuple[States, ...]:
    """Return the states under a document's key ``states``."""
    return tuple(States.of_document(entry) for entry in document["states"])


def read_table(row: Sequence[Any]) -> tuple[Fraction, ...]:
    """Return a row of probabilities of a document."""
    return tuple(number_of(p, "probability") for p in row)


def _read_product(document: Mapping[str, Any]) -> Product:
    return Product(read_states(document), tuple(read_table(row) for row in document["tables"]))


def _read_mixture(document: Mapping[str, Any]) -> Mixture:
    return Mixture(tuple(map(distribution_of, document["parts"])), read_table(document["weights"]))


DISTRIBUTIONS[Product.kind] = _read_product
DISTRIBUTIONS[Mixture.kind] = _read_mixture
