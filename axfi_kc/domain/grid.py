"""The cells into which a model cuts its domain.

A tree compares a feature with finitely many thresholds, so on each feature it can tell apart
only finitely many *cells*: intervals between cuts, or single categories, and last, where values may
be missing, the cell of the missing ones. Everything after the reader works on cell numbers; what a
cell is worth (its probability, its number of points) is kept here as integers over one denominator per feature.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import is_listable, is_whole, number_array, quoted
from axfi_kc.domain.distribution import States
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.measures import Histogram, Uniform, Weights, shown
from axfi_kc.errors import CircuitError, DomainError, UnknownFeatureError, UnsupportedModelError

__all__ = ["Axis", "Cut", "Grid", "Holed", "Split", "edge_cuts", "float32_cuts", "float64_cut"]


T = TypeVar("T")

_LARGEST_TABLE = 1_000_000  # values of one integer feature that may each be a cell
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_FLOAT32_END = 2.0**128  # would follow the largest float32: what is nearer to it than to that one rounds to infinity
_DIGITS = 7  # of a threshold: those of a float32, in which many models hold them


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """A split of the reals: left are ``x <= value`` if `closed`, else ``x < value``.

    Cuts are ordered from left to right; at one value the open cut comes first, and the
    point itself lies between the two.
    """

    value: float
    closed: bool

    @property
    def last_left(self) -> float:
        """The largest float64 on the left."""
        return self.value if self.closed else math.nextafter(self.value, -math.inf)


@dataclass(frozen=True, slots=True)
class Holed:
    """A cut with a hole: numbers right of `low` and left of `high` do not obey it, but go where missing values go.

    XGBoost's ``missing=0`` and LightGBM's ``zero_as_missing`` split in this way.
    """

    cut: Cut
    low: Cut
    high: Cut


Split = Cut | Holed | frozenset[Any]
"""How a test splits a column: left of a cut, which may have a hole, or within a set of the domain's codes."""


def float64_cut(threshold: float) -> Cut:
    """Return the cut that ``x <= threshold`` makes on the reals.

    At infinity, which sets missing values apart, every number goes left; at minus infinity and NaN every number goes
    right.

    Examples
    --------
    >>> float64_cut(0.5)
    Cut(value=0.5, closed=True)
    >>> float64_cut(math.inf).closed, float64_cut(math.nan).closed
    (True, False)
    """
    if math.isfinite(threshold):
        return Cut(threshold, closed=True)
    every = threshold > 0
    return Cut(_LARGEST_FLOAT if every else -_LARGEST_FLOAT, closed=every)


def float32_cuts(thresholds: npt.ArrayLike, *, strict: bool) -> list[Cut]:
    """Return the cuts that ``float32(x) <= t`` (or ``<``, if `strict`) makes on the reals.

    Tree libraries round x to float32, to nearest and ties to even, before they compare. The
    set of reals that go left therefore ends half-way between two neighbouring float32
    numbers, and the half-way point itself goes where rounding to even sends it.

    Examples
    --------
    >>> cut, = float32_cuts([0.5], strict=False)
    >>> cut.closed, cut.value > 0.5, bool(np.float32(cut.value) <= 0.5)
    (True, True, True)
    """
    limits = np.asarray(thresholds, dtype=np.float64)
    with np.errstate(all="ignore"):  # infinities and numbers next to 0 are what they should be
        # Rounds to nearest, so `last` is the threshold or a neighbour on either side of it; beyond the range
        # of float32 it is infinite.
        last = limits.astype(np.float32)
        # Step back where rounding went past the threshold: `last` is then the largest float32 that goes left.
        too_far = last >= limits if strict else last > limits
        last = np.where(too_far, np.nextafter(last, np.float32(-np.inf)), last)
        following = np.nextafter(last, np.float32(np.inf))
        # Large numbers round to infinity where they would round to the next power of two.
        low, high = (np.clip(k.astype(np.float64), -_FLOAT32_END, _FLOAT32_END) for k in (last, following))
        # Exact: the sum of two neighbouring float32 numbers takes 25 bits.
        middle = (low + high) / 2
    # The half-way point rounds to the neighbour with an even mantissa, so it goes left iff `last` is it.
    even = (last.view(np.int32) & 1) == 0
    cuts = [Cut(float(m), bool(e)) for m, e in zip(middle, even, strict=True)]
    # At infinite thresholds and NaN there is no largest number on the left: all go left, or none.
    odd = np.isnan(limits) | (limits == (-np.inf if strict else np.inf))
    for k in np.flatnonzero(odd).tolist():
        cuts[k] = float64_cut(float(limits[k]))
    return cuts


def edge_cuts(states: States) -> list[Cut]:
    """Return the cuts that make each state of a number a cell; a float is left of an edge exactly if left of these.

    Examples
    --------
    >>> edge_cuts(States("age", edges=(Fraction(0), Fraction(30), Fraction(90))))
    [Cut(value=30.0, closed=False)]
    """
    nearest = [(float(edge), edge) for edge in states.edges[1:-1]]
    return [Cut(near, closed=Fraction(near) < edge) for near, edge in nearest]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The cells of one feature, from left to right.

    Attributes
    ----------
    feature
        The feature that is cut.
    cuts
        For integer and real features, the cuts between neighbouring cells; a categorical
        feature has one cell per value. After these comes the cell of missing values, if there are any.
    numerators, denominator
        The probability of cell k is ``numerators[k] / denominator``.
    counts
        The number of values in each cell; None for a real feature.
    """

    feature: Feature
    cuts: tuple[Cut, ...]
    numerators: tuple[int, ...]
    denominator: int
    counts: tuple[int, ...] | None
    _last_left: npt.NDArray[np.float64] = field(repr=False)

    @classmethod
    def of(cls, feature: Feature, cuts: Iterable[Cut] = ()) -> Axis:
        """Cut `feature`; cuts that leave one side empty are dropped."""
        if isinstance(feature, Categorical):
            kept: tuple[Cut, ...] = ()
            shares = _shares_of_values(feature)
            counts: tuple[int, ...] | None = (1,) * len(feature.values)
        elif isinstance(feature, Integer):
            kept = _integer_cuts(feature, cuts)
            shares = _integer_shares(feature, kept)
            # Cuts of integer features end at an integer, which is the last one on the left.
            counts = tuple(np.diff([feature.low, *(int(c.value) + 1 for c in kept), feature.high + 1]).tolist())
        else:
            kept = _real_cuts(feature, cuts)
            shares = _real_shares(feature, kept)
            counts = None
        if feature.missing:
            shares = (*(s * (1 - feature.missing) for s in shares), feature.missing)
            counts = None if counts is None else (*counts, 1)
        denominator = math.lcm(*(s.denominator for s in shares))
        numerators = tuple(s.numerator * (denominator // s.denominator) for s in shares)
        return cls(feature, kept, numerators, denominator, counts, np.array([c.last_left for c in kept]))

    @classmethod
    def of_values(cls, feature: Feature) -> Axis:
        """Make every value of a finite feature a cell of its own."""
        if isinstance(feature, Integer):
            if feature.size > _LARGEST_TABLE:
                raise DomainError(
                    f"Feature {feature.name!r} has {feature.size} values, too many to list; narrow its bounds."
                )
            # No cut after the last value: it would leave nothing on its right.
            return cls.of(feature, (Cut(float(k), closed=True) for k in range(feature.low, feature.high)))
        if isinstance(feature, Real):
            raise DomainError(
                f"Feature {feature.name!r} is real and has no list of values; declare it integer or categorical."
            )
        return cls.of(feature)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.numerators)

    @property
    def missing_cell(self) -> int | None:
        """The cell of missing values, always the last; None where no value may be missing."""
        return self.n_cells - 1 if self.feature.missing else None

    def locate(self, codes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the cell of each code (cost: a binary search each)."""
        last = self.missing_cell
        if last is not None:
            missing = np.isnan(codes)
            return np.where(missing, last, self._located(np.where(missing, 0.0, codes)))
        return self._located(codes)

    def _located(self, codes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        if isinstance(self.feature, Categorical):
            return codes.astype(np.int64)
        # Compared with the last float on each cut's left, open and closed cuts need no case of their own.
        return self._last_left.searchsorted(codes, side="left").astype(np.int64, copy=False)

    def cells_holding(self, part: Axis) -> npt.NDArray[np.int64]:
        """Return the cell of this axis in which each cell of `part`, the same feature or part of it, lies."""
        if isinstance(self.feature, Categorical) and isinstance(part.feature, Categorical):
            place = {value: k for k, value in enumerate(self.feature.values)}
            found = [place[value] for value in part.feature.values]
            return np.array(found + [self.n_cells - 1] * bool(part.feature.missing), dtype=np.int64)
        # Every cell begins after a cut, the first one at the least value, which an open cut there leaves on its right.
        least = 0 if isinstance(part.feature, Categorical) else part.feature.low
        first = bisect_right(self.cuts, (least, False), key=lambda cut: (Fraction(cut.value), cut.closed))
        found = [first, *(bisect_right(self.cuts, cut) for cut in part.cuts)]
        return np.array(found + [self.n_cells - 1] * bool(part.feature.missing), dtype=np.int64)

    def left_of(self, cut: Cut) -> int:
        """Return how many cells lie left of `cut`; missing values lie on neither side."""
        if isinstance(self.feature, Integer):
            cut = _integer_cut(cut)
        # Each of our cuts up to this one ends a cell on its left; behind all of them is the last cell.
        left = bisect_right(self.cuts, cut)
        return left + (left == len(self.cuts) and self._covers(cut))

    def _covers(self, cut: Cut) -> bool:
        """Tell whether the last cell, which no cut of ours ends, also lies left of `cut`."""
        last = self.feature
        if isinstance(last, Categorical):
            return False
        return bool(cut.value > last.high or (cut.closed and cut.value == last.high))

    def left_mask(self, component: int, split: Split, *, missing: bool = False) -> npt.NDArray[np.uint8]:
        """Return which cells a split of one of the feature's columns sends left; missing values if `missing`."""
        if isinstance(split, Holed):
            mask, below, through = (
                self.left_mask(component, cut, missing=missing) for cut in (split.cut, split.low, split.high)
            )
            return np.where(below != through, np.uint8(missing), mask)
        mask = np.zeros(self.n_cells, np.uint8)
        if isinstance(self.feature, Categorical):
            if isinstance(split, Cut):
                # Codes are floats, so comparing with the last float on the left is the library's own test.
                last = split.last_left
                inside = [c <= last for c in _numeric_codes(self.feature, component)]
            else:
                inside = [row[component] in split for row in self.feature.codes]
            mask[: len(inside)] = inside
        elif isinstance(split, Cut):
            mask[: self.left_of(split)] = 1
        else:
            mask[self._cells_of(split)] = 1
        if self.feature.missing:
            mask[-1] = missing
        return mask

    def _cells_of(self, codes: frozenset[Any]) -> list[int]:
        feature = self.feature
        # Codes outside the bounds cannot occur, and have no cell.
        inside = sorted(c for c in codes if isinstance(feature, Integer) and feature.low <= c <= feature.high)
        return self.locate(np.array(inside, dtype=np.float64)).tolist() if inside else []

    def describe(self, cells: Sequence[int]) -> str:
        """Return a set of neighbouring cells, or of categories, in the user's own terms.

        Examples
        --------
        >>> axis = Axis.of(Integer("age", 18, 90), [Cut(41.5, closed=True)])
        >>> axis.describe([0]), axis.describe([1])
        ('age <= 41', 'age >= 42')
        >>> Axis.of(Integer("age", 18, 90, missing=0.5), [Cut(41.5, closed=True)]).describe([1, 2])
        'age >= 42 or age is missing'
        """
        name, present = self.feature.name, sorted(c for c in cells if c != self.missing_cell)
        parts = [f"{name} is missing"] * (len(present) < len(cells))
        if present and isinstance(self.feature, Categorical):
            values = [repr(self.feature.values[c]) for c in present]
            parts.insert(0, f"{name} = {values[0]}" if len(values) == 1 else f"{name} in {{{', '.join(values)}}}")
        elif present:
            parts = [self._describe_run(a, b) for a, b in _runs(present)] + parts
        return " or ".join(parts)

    def _describe_run(self, first: int, last: int) -> str:
        name, integer = self.feature.name, isinstance(self.feature, Integer)
        low = self.cuts[first - 1] if first else None
        high = self.cuts[last] if last < len(self.cuts) else None
        least = None if low is None else (int(low.value) + 1 if integer else low.value)
        most = None if high is None else (int(high.value) if integer else high.value)
        if least is None and most is None:
            return f"any {name}"
        if integer and least == most:
            return f"{name} = {least}"
        bounds = []
        if low is not None:
            bounds.append(f"{name} {'>' if low.closed and not integer else '>='} {shown(least, digits=_DIGITS)}")
        if high is not None:
            bounds.append(f"{name} {'<=' if high.closed or integer else '<'} {shown(most, digits=_DIGITS)}")
        return " and ".join(bounds)


def _numeric_codes(feature: Categorical, component: int) -> list[float]:
    codes = [row[component] for row in feature.codes]
    strange = next((c for c in codes if not isinstance(c, int | float | np.number)), None)
    if strange is not None:
        raise UnsupportedModelError(
            f"The model compares feature {feature.name!r} with numbers, but its domain holds {strange!r}; "
            "give the domain the codes the model was trained on (Categorical(..., columns=..., codes=...))."
        )
    return [float(c) for c in codes]


def _runs(cells: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for c in cells:
        if runs and runs[-1][1] == c - 1:
            runs[-1] = (runs[-1][0], c)
        else:
            runs.append((c, c))
    return runs


def _is_one_of(n: int, number: object) -> bool:
    """Tell whether something is one of the numbers from 0 to n - 1."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and bool(0 <= number < n)


def _few(numbers: Sequence[Any]) -> str:
    return f"({', '.join(map(str, numbers[:6]))}{', ...' if len(numbers) > 6 else ''})"


def _integer_cut(cut: Cut) -> Cut:
    """Return `cut` as the closed cut after the last integer on its left."""
    floor = math.floor(cut.value)
    # An open cut at an integer leaves that integer on the right.
    return Cut(float(floor - (floor == cut.value and not cut.closed)), closed=True)


def _integer_cuts(feature: Integer, cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    rounded = {_integer_cut(cut) for cut in cuts}
    return tuple(sorted(c for c in rounded if feature.low <= c.value < feature.high))


def _real_cuts(feature: Real, cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    # A closed cut at the low end, or an open one at the high end, sets a single point apart. It has no
    # measure but exists, and so is kept; the other two would leave one side empty.
    found = sorted(set(cuts), key=lambda cut: (cut.value, cut.closed))
    first = bisect_right(found, (feature.low, False), key=_exact_place)
    return tuple(found[first : bisect_left(found, (feature.high, True), key=_exact_place)])


def _exact_place(cut: Cut) -> tuple[Fraction, bool]:
    return Fraction(cut.value), cut.closed


def _shares_of_values(feature: Categorical) -> tuple[Fraction, ...]:
    if isinstance(feature.measure, Weights):
        return feature.measure.shares
    return (Fraction(1, len(feature.values)),) * len(feature.values)


def _integer_shares(feature: Integer, cuts: Sequence[Cut]) -> tuple[Fraction, ...]:
    starts = [feature.low, *(int(c.value) + 1 for c in cuts), feature.high + 1]
    spans = [(a - feature.low, b - feature.low) for a, b in itertools.pairwise(starts)]
    if isinstance(feature.measure, Uniform):
        return tuple(Fraction(b - a, feature.high - feature.low + 1) for a, b in spans)
    return tuple(sum(feature.measure.shares[a:b], Fraction(0)) for a, b in spans)


def _real_shares(feature: Real, cuts: Sequence[Cut]) -> tuple[Fraction, ...]:
    width = feature.high - feature.low
    inner = [Fraction(c.value) for c in cuts]
    # An interval of one point: its one cell has all of the probability.
    if not width:
        return (Fraction(1),)
    if isinstance(feature.measure, Histogram):
        below = [Fraction(0), *map(feature.measure.below, inner), Fraction(1)]
    else:
        below = [Fraction(0), *((c - feature.low) / width for c in inner), Fraction(1)]
    return tuple(b - a for a, b in itertools.pairwise(below))


def constraint_cuts(domain: Domain, feature: Feature) -> set[Cut]:
    """Return where the constraints of a domain cut one of its features."""
    if isinstance(feature, Categorical):
        return set()
    meant = (c for c in domain.constraints if feature.name in c.names)
    return {Cut(value, closed) for c in meant for value, closed in c.bounds(feature)}


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of every feature of a domain.

    Attributes
    ----------
    domain, axes
        The features, and the cells of each.
    fixed
        The features that are set, each with its cell, in increasing order: a circuit on this grid no longer speaks
        about them, and its points are counted and listed with this one cell.

    Examples
    --------
    >>> grid = Grid.of_values(Domain([Integer("a", 0, 2), Categorical("b", "xy")]))
    >>> grid.n_cells, grid.n_points
    ((3, 2), 6)
    """

    domain: Domain
    axes: tuple[Axis, ...]
    fixed: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, domain: Domain, cuts: Iterable[Iterable[Cut]]) -> Grid:
        """Cut each feature of `domain` by its own `cuts`, and by those of the domain's constraints."""
        pairs = zip(domain.features, cuts, strict=True)
        return cls(domain, tuple(Axis.of(f, {*c, *constraint_cuts(domain, f)}) for f, c in pairs))

    @classmethod
    def of_values(cls, domain: Domain) -> Grid:
        """Make every value of a finite domain a cell of its own."""
        return cls(domain, tuple(Axis.of_values(f) for f in domain.features))

    def setting(self, cells: Mapping[int, int]) -> Grid:
        """Return the grid on which these features are set as well; one that is set already keeps its cell."""
        fixed = {**cells, **dict(self.fixed)}
        return Grid(self.domain, self.axes, tuple(sorted(fixed.items()))) if cells else self

    def is_like(self, other: Grid) -> bool:
        """Tell whether cells of both grids are the same values of the same features, with the same ones set."""
        if self is other:
            return True
        same = self.fixed == other.fixed and self.domain == other.domain
        return same and all(a is b or a.cuts == b.cuts for a, b in zip(self.axes, other.axes, strict=True))

    def refined(self, other: Grid) -> Grid:
        """Return the grid of the same domain that has the cuts of both.

        Raises
        ------
        CircuitError
            If the domains, or the features that are set, are not the same.

        Examples
        --------
        >>> domain = Domain([Integer("a", 0, 9)])
        >>> low, high = (Grid.of(domain, [[Cut(float(k), closed=True)]]) for k in (2, 6))
        >>> low.refined(high).n_cells
        (3,)
        """
        if self.is_like(other):
            return self
        if self.domain != other.domain or dict(self.fixed).keys() != dict(other.fixed).keys():
            what = "features set" if self.domain == other.domain else "domains"
            raise CircuitError(
                f"Circuits are joined and compared over one domain with the same features set, but they have two "
                f"{what}; read or compile both with one domain=."
            )
        pairs = list(zip(self.axes, other.axes, strict=True))
        axes = tuple(a if a.cuts == b.cuts else Axis.of(a.feature, {*a.cuts, *b.cuts}) for a, b in pairs)
        fixed = self._places(axes)
        if fixed != other._places(axes):
            raise CircuitError(
                "Circuits are joined and compared over one domain with the same features set, but one is set to other "
                "values than the other; condition the whole instead."
            )
        return Grid(self.domain, axes, fixed)

    def _places(self, axes: Sequence[Axis]) -> tuple[tuple[int, int], ...]:
        """Return what is set as cells of finer axes: the first one in each cell."""
        return tuple((i, self.axes[i].cells_holding(axes[i]).tolist().index(c)) for i, c in self.fixed)

    def cell(self, name: str, value: Any) -> int:
        """Return the cell of a value of the feature `name`."""
        return int(self.axes[self.domain.index(name)].locate(np.array([self.code(name, value)]))[0])

    def code(self, name: str, value: Any) -> float:
        """Return the code of a value of the feature `name`."""
        # np.array([value]) would make a row of a value that is a tuple.
        column = np.empty(1, dtype=object)
        column[0] = value
        return float(self.domain.features[self.domain.index(name)].encode(column)[0])

    def cells_at(self, values: Mapping[Any, Any]) -> dict[int, int]:
        """Return values by feature name, or cells by feature number, as cells by feature number.

        Examples
        --------
        >>> Grid.of_values(Domain([Integer("a", 5, 7), Integer("b", 0, 1)])).cells_at({"a": 6, 1: 0})
        {0: 1, 1: 0}
        """
        found = self.by_number({k: self.cell(k, v) if isinstance(k, str) else v for k, v in values.items()})
        for i, cell in found.items():
            if not _is_one_of(self.n_cells[i], cell):
                raise DomainError(
                    f"The cells of feature {self.domain.names[i]!r} are 0 to {self.n_cells[i] - 1}, but {cell!r} was "
                    "given; give one of them, or the feature's name with a value."
                )
        return {i: int(cell) for i, cell in found.items()}

    def number(self, feature: int | str) -> int:
        """Return the number of a feature given by its name or its number.

        Raises
        ------
        UnknownFeatureError
            If there is no such feature.
        """
        if isinstance(feature, str):
            return self.domain.index(feature)
        if not _is_one_of(len(self.axes), feature):
            raise UnknownFeatureError(
                f"Features are numbered from 0 to {len(self.axes) - 1}, but {quoted(feature)} was given; give one or a "
                "name."
            )
        return int(feature)

    def box(self, given: Mapping[int, Iterable[int]]) -> dict[int, list[int]]:
        """Return some features' cells, ``{feature: cells}``, after checking that there are such.

        Raises
        ------
        CircuitError
            If a number is of no feature or of none of its cells.
        """
        found = {}
        for feature, cells in given.items():
            known = is_whole(feature) and 0 <= feature < len(self.axes) and is_listable(cells)
            inside = list(cells) if known else []
            if not known or not all(is_whole(c) and 0 <= c < self.n_cells[feature] for c in inside):
                raise CircuitError(
                    f"Evidence names features from 0 to {len(self.axes) - 1} and their cells, but feature "
                    f"{quoted(feature)} with cells {quoted(cells)} was given; correct it."
                )
            found[int(feature)] = [int(c) for c in inside]
        return found

    def by_number(self, values: Mapping[Any, T]) -> dict[int, T]:
        """Return what is given for features by name or number, by number.

        Raises
        ------
        UnknownFeatureError, DomainError
            If there is no such feature, or one is named twice.
        """
        numbers = self.numbers(values)
        return dict(zip(numbers, values.values(), strict=True))

    def numbers(self, features: Iterable[int | str]) -> list[int]:
        """Return the numbers of features given by name or number, each of them once.

        Raises
        ------
        UnknownFeatureError, DomainError
            If there is no such feature, or one is named twice.
        """
        if not is_listable(features):
            raise UnknownFeatureError(f"Expected a list of features, but {quoted(features)} was given; name some.")
        found = [self.number(i) for i in features]
        twice = next((i for i in found if found.count(i) > 1), None) if len(set(found)) < len(found) else None
        if twice is not None:
            raise DomainError(
                f"Each feature is named once, but {self.domain.names[twice]!r} is named twice; leave one out."
            )
        return found

    def checked_point(self, cells: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return a point given by a cell of each feature.

        Raises
        ------
        DomainError
            If there are not as many cells as features, or one is none of its feature's.
        """
        try:
            found = np.asarray(cells)
        except Exception as error:  # rows of different lengths, or foreign code
            raise DomainError(
                f"A point has a cell for each of the {len(self.axes)} features, but "
                f"{quoted(cells)} was given; give all."
            ) from error
        if found.shape != (len(self.axes),):
            raise DomainError(
                f"A point has a cell for each of the {len(self.axes)} features, but {found.size} were given; give all."
            )
        if found.size and (found.dtype.kind not in "iu" or ((found < 0) | (found >= self.n_cells)).any()):
            raise DomainError(
                f"The cells of a point are numbered from 0, of these features below {_few(self.n_cells)}, but "
                f"{_few(found.tolist())} were given; correct them."
            )
        return found.astype(np.int64)

    @cached_property
    def n_cells(self) -> tuple[int, ...]:
        """The number of cells of each feature."""
        return tuple(axis.n_cells for axis in self.axes)

    @property
    def n_points(self) -> int:
        """The number of cell vectors."""
        return math.prod(self.n_cells)

    def locate(self, codes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the cells of points given by their codes, a row each."""
        from axfi_kc.domain.grid_kernels import locate

        codes = number_array(codes, "The codes of points", (None, len(self.axes)))
        cells = np.empty(codes.shape, dtype=np.int64)
        locate(np.ascontiguousarray(codes, dtype=np.float64), *self._ends, cells)
        return cells

    @cached_property
    def _ends(self) -> tuple[npt.NDArray[Any], ...]:
        """Where the cuts of each feature lie in a list of the last floats left of all, that list, and missing cells."""
        cut = [not isinstance(axis.feature, Categorical) for axis in self.axes]
        ends = np.cumsum([0, *(len(axis._last_left) * is_cut for axis, is_cut in zip(self.axes, cut, strict=True))])
        starts = np.stack([np.where(cut, ends[:-1], -1), ends[1:]], axis=1).astype(np.int64)
        last_left = [np.zeros(0), *(axis._last_left for axis, is_cut in zip(self.axes, cut, strict=True) if is_cut)]
        missing = [-1 if axis.missing_cell is None else axis.missing_cell for axis in self.axes]
        return starts, np.concatenate(last_left).astype(np.float64), np.array(missing, dtype=np.int64)
