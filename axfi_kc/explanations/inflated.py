"""Inflated explanations: AXps and CXps as ranges and sets of values.

An AXp says which features to keep; how far each may move before the output can change is what an *inflated* AXp adds
(Izza, Ignatiev, Stuckey and Marques-Silva, "Delivering Inflated Explanations", AAAI 2024): to each of its features a
set of values around the instance's own, a range for numbers and any set for categories, such that the output stays
similar whatever values are taken from these sets, and whatever the other features do. No set can be made larger. Its
*coverage* is the probability of the box, under the distribution of the domain. The most general box of an instance is
the one of largest coverage, over all AXps and all ways to widen them.

An inflated CXp is a box of changes: values for the features of a CXp, all else as in the instance, all of which lead to
an output that is not similar; the largest such box.

Both are found best first: a box that still holds a point it must not hold is cut, in each feature where that is
possible, to the parts that leave out a whole box of such points. The box of largest probability is looked at first, so
that the first one without such a point is the largest of all.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from axfi_kc.budget import Account, Budget, BudgetSpent, Meter
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.domain.from_tables import FeatureNames, feature_names
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.measures import shown
from axfi_kc.engines.box_finders import BoxFinder, Masks, bits_of, check_has_boxes, finder_for, mask_of
from axfi_kc.errors import BudgetError, DomainError, ResultFileError
from axfi_kc.explanations.chances import measured_model
from axfi_kc.explanations.counterfactuals.decimals import shortest
from axfi_kc.explanations.problem import Problem
from axfi_kc.families.masks import features_of
from axfi_kc.json_text import number_of, number_text, value_of, value_text
from axfi_kc.models.joint import BoxWeigher, weigher_on
from axfi_kc.models.support import support_of

__all__ = ["Inflated", "Values", "inflated_axp", "inflated_cxp", "inflated_of_document", "most_general"]


_LITTLE = Fraction(1, 1000)  # of a range, that may be given away to print it
_SHORT = 7  # letters of a float that needs no shortening


@dataclass(frozen=True, slots=True)
class Values:
    """Values of one feature: some of its categories, or a range of numbers, and whether it may be missing.

    Attributes
    ----------
    feature
        The feature's name.
    listed
        Categories; None for numbers.
    low, high
        The ends of a range; None if there is no number in it.
    low_open, high_open
        Whether an end itself is left out.
    missing
        Whether the value may be missing.

    Examples
    --------
    >>> str(Values("age", low=Fraction(18), high=Fraction(45))), str(Values("race", listed=("a", "c"), missing=True))
    ('age from 18 to 45', 'race in {a, c} or missing')
    >>> 30 in Values("age", low=Fraction(18), high=Fraction(45)), None in Values("race", listed=("a", "c"))
    (True, False)
    """

    feature: str
    listed: tuple[Any, ...] | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    low_open: bool = False
    high_open: bool = False
    missing: bool = False

    def __contains__(self, value: Any) -> bool:
        """Tell whether a value is one of them; None stands for a missing one."""
        if value is None:
            return self.missing
        if self.listed is not None:
            return value in self.listed
        if self.low is None or self.high is None:
            return False
        number = Fraction(value)
        above = number > self.low if self.low_open else number >= self.low
        return above and (number < self.high if self.high_open else number <= self.high)

    def __str__(self) -> str:
        """Return the values in words."""
        parts = [self._numbers()] if self.listed is None else [f"in {{{', '.join(map(shown, self.listed))}}}"]
        if self.missing:
            parts = [*(p for p in parts if p not in ("", "in {}")), "missing"]
        return f"{self.feature} {' or '.join(parts)}"

    def _numbers(self) -> str:
        if self.low is None or self.high is None:
            return ""
        if self.low == self.high:
            return f"= {shown(self.low, digits=None)}"
        little = (self.high - self.low) * _LITTLE
        low, high = _short(self.low, self.low + little), _short(self.high, self.high - little)
        above = "above" if self.low_open and Fraction(low) == self.low else "from"
        below = "below" if self.high_open and Fraction(high) == self.high else "to"
        return f"{above} {shown(low, digits=None)} {below} {shown(high, digits=None)}"

    def document(self) -> dict[str, Any]:
        """Return the values as plain JSON."""
        found: dict[str, Any] = {"feature": self.feature, "missing": self.missing}
        if self.listed is not None:
            return found | {"listed": [value_text(v) for v in self.listed]}
        if self.low is None or self.high is None:
            return found
        ends = {"low": number_text(self.low), "high": number_text(self.high)}
        return found | ends | {"low_open": self.low_open, "high_open": self.high_open}


def _short(end: Fraction, inner: Fraction) -> int | float:
    """Return the end of a range as it is printed: as short as can be, and never beyond it.

    What is given away is no more than from `end` to `inner`.
    """
    if end.denominator == 1:
        return int(end)
    if len(repr(float(end))) <= _SHORT and Fraction(float(end)) == end:
        return float(end)
    return shortest(min(end, inner), max(end, inner), near=float(inner), unit=abs(inner - end))


@dataclass(frozen=True, slots=True)
class Inflated:
    """A box of values around an instance that keeps the output, or of changes that all change it.

    Attributes
    ----------
    values
        The features that are limited, or changed, with their values; all others are free, or as in the instance.
    coverage
        The probability of the box: among all points, or, of changes, among those that change these features only.
    most
        No such box has a larger coverage than this: equal to `coverage` where it is proved to be the largest; None
        where the largest was not asked for.
    """

    values: tuple[Values, ...]
    coverage: Fraction
    most: Fraction | None = None

    @property
    def features(self) -> tuple[str, ...]:
        """The names of these features."""
        return tuple(v.feature for v in self.values)

    @property
    def is_largest(self) -> bool:
        """Whether it is proved that no box covers more."""
        return self.most == self.coverage

    def __contains__(self, point: Mapping[str, Any]) -> bool:
        """Tell whether a point, ``{feature name: value}``, has such values."""
        return all(point[v.feature] in v for v in self.values)

    def __str__(self) -> str:
        """Return the box in words."""
        return "; ".join(map(str, self.values)) or "any values"

    def document(self) -> dict[str, Any]:
        """Return the box as plain JSON."""
        most = {} if self.most is None else {"most": number_text(self.most)}
        return {"values": [v.document() for v in self.values], "coverage": number_text(self.coverage), **most}


class _Around:
    """Boxes of cells around one instance."""

    def __init__(self, problem: Problem, budget: Budget | None) -> None:
        check_has_boxes(problem.model)
        self.problem, self.model = problem, measured_model(problem.model)
        self.axes = self.model.grid.axes
        self.v = self.model.grid.locate(problem.codes[np.newaxis])[0]
        self.full: Masks = tuple((1 << n) - 1 for n in self.model.grid.n_cells)
        self.meter = Meter(budget)
        self._budget = budget

    @cached_property
    def finder(self) -> BoxFinder:
        """What finds boxes of points that are similar, or are not."""
        problem = self.problem
        return finder_for(self.model, problem.similarity, problem.output, self.v, budget=self._budget)

    @cached_property
    def _weigher(self) -> tuple[BoxWeigher, list[int]]:
        weigher = weigher_on(self.model.grid)
        return weigher, weigher.places(self.problem.codes[np.newaxis])[0]

    @cached_property
    def _possible(self) -> list[dict[int, set[int]]]:
        """Disjoint boxes of the points that can exist."""
        support = support_of(self.model.grid)
        return [] if support is None else [{i: set(c) for i, c in part.items()} for part in support.boxes()]

    def measure(self, box: Masks, members: Sequence[int]) -> Fraction:
        """Return the probability of a box of some features, given the others as in the instance."""
        weigher, place = self._weigher
        spans, v = tuple(tuple(bits_of(box[i])) for i in members), self.v.tolist()
        if not self.model.domain.constraints:
            return weigher.ratio(place, v, members, [spans])
        held = [p for p in self._possible if all(v[i] in cells for i, cells in p.items() if i not in members)]
        cut = [
            tuple(tuple(c for c in span if c in p.get(i, span)) for i, span in zip(members, spans, strict=True))
            for p in held
        ]
        return weigher.ratio(place, v, members, [part for part in cut if all(part)])

    def admissible_parts(self, i: int, mask: int) -> list[int]:
        """Return the largest parts of a set of cells that are a set of categories, or a run of numbers and missing."""
        axis = self.axes[i]
        if isinstance(axis.feature, Categorical):
            return [mask] if mask else []
        absent = mask & _only_missing(axis)
        runs = [r | absent for r in _runs_in(mask & ~absent)]
        return runs or ([absent] if absent else [])

    def values(self, box: Masks, members: Iterable[int]) -> tuple[Values, ...]:
        """Return the cells of some features as values."""
        return tuple(_values(self.axes[i], bits_of(box[i])) for i in members)

    def spent(self, goal: str) -> BudgetError:
        """Return the error of a search that has found nothing yet."""
        return Account(self.meter.rest(), goal=goal, advice="allow more").error()


def _runs_in(mask: int) -> Iterator[int]:
    """Iterate over the runs of neighbouring cells in a mask."""
    while mask:
        first = mask & -mask
        run = mask & ~(mask + first)
        yield run
        mask &= ~run


def _values(axis: Axis, cells: Sequence[int]) -> Values:
    feature, absent = axis.feature, axis.missing_cell
    numbers, missing = [c for c in cells if c != absent], absent in cells
    if isinstance(feature, Categorical):
        return Values(feature.name, listed=tuple(feature.values[c] for c in numbers), missing=missing)
    if not numbers:
        return Values(feature.name, missing=missing)
    first, last, cuts = numbers[0], numbers[-1], axis.cuts
    if isinstance(feature, Integer):
        low = feature.low if first == 0 else int(cuts[first - 1].value) + 1
        high = feature.high if last == len(cuts) else int(cuts[last].value)
        return Values(feature.name, low=Fraction(low), high=Fraction(high), missing=missing)
    low_end = feature.low if first == 0 else Fraction(cuts[first - 1].value)
    high_end = feature.high if last == len(cuts) else Fraction(cuts[last].value)
    opens = bool(first) and cuts[first - 1].closed, last < len(cuts) and not cuts[last].closed
    return Values(feature.name, None, low_end, high_end, *opens, missing=missing)


def inflated_axp(
    problem: Problem, features: FeatureNames, *, order: FeatureNames | None = None, budget: Budget | None = None
) -> Inflated:
    """Return an AXp with the values that each of its features may take; none of these sets can be made larger.

    Parameters
    ----------
    problem
        The model and the instance.
    features
        A weak AXp.
    order
        Which feature is widened first, then second and so on; by default as in the domain. Others give other boxes.
    budget
        What it may cost.

    Raises
    ------
    DomainError
        If the features are no weak AXp.
    UnsupportedModelError
        For a linear model over real features, and among samples.
    BudgetError
        If the budget was spent.

    Notes
    -----
    For each feature a question for each category, or for the logarithm of the cells on either side.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> problem = Problem.of(lambda p: p[0] + p[1] > 6, Domain([Integer("a", 0, 9), Integer("b", 0, 9)]), (5, 4))
    >>> box = inflated_axp(problem, ["a", "b"])
    >>> str(box), box.coverage
    ('a from 3 to 9; b from 4 to 9', Fraction(21, 50))
    """
    around, domain = _Around(problem, budget), problem.domain
    members = features_of(domain.mask(features))
    ranked = _ranked(domain, members, order)
    box = list(around.full)
    for i in members:
        box[i] = 1 << int(around.v[i])
    try:
        if around.finder.find(tuple(box), similar=False, meter=around.meter) is not None:
            names = ", ".join(domain.names[i] for i in members)
            raise DomainError(f"Keeping {names or 'nothing'} does not keep the output, so there is nothing to inflate.")
        grown = _grown(around, tuple(box), ranked, similar=False)
    except BudgetSpent:
        raise around.spent("inflated AXp") from None
    return Inflated(around.values(grown, members), around.measure(grown, tuple(range(len(grown)))))


def _freed(around: _Around, box: Masks, whole: Masks, members: Iterable[int], *, similar: bool) -> Masks:
    """Return a box in which features have all values of another one, for as long as it holds no wrong point."""
    for i in members:
        widened = (*box[:i], whole[i], *box[i + 1 :])
        if around.finder.find(widened, similar=similar, meter=around.meter) is None:
            box = widened
    return box


def _ranked(domain: Domain, members: Sequence[int], order: FeatureNames | None) -> list[int]:
    first = [] if order is None else [i for i in map(domain.index, feature_names(order)) if i in members]
    return [*first, *(i for i in members if i not in first)]


def _grown(around: _Around, box: Masks, order: Iterable[int], *, similar: bool) -> Masks:
    """Return a box widened feature by feature for as long as it holds no point that is similar, or dissimilar."""

    def is_clear(i: int, mask: int) -> bool:
        widened = (*box[:i], mask, *box[i + 1 :])
        return around.finder.find(widened, similar=similar, meter=around.meter) is None

    for i in order:
        mask, axis = box[i], around.axes[i]
        if not isinstance(axis.feature, Categorical) and mask == _only_missing(axis):
            # The instance's value is missing: a range may begin anywhere.
            first = next((c for c in range(len(axis.cuts) + 1) if is_clear(i, mask | 1 << c)), None)
            mask |= 0 if first is None else 1 << first
        for steps in _steps(axis, mask, around.full[i]):
            # A wider range holds all of a narrower one: the widest clear one is found by halving.
            clear, tried = 0, len(steps)
            while clear < tried:
                middle = (clear + tried + 1) // 2
                if is_clear(i, mask | mask_of(steps[:middle])):
                    clear = middle
                else:
                    tried = middle - 1
            mask |= mask_of(steps[:clear])
        box = (*box[:i], mask, *box[i + 1 :])
    return box


def _only_missing(axis: Axis) -> int:
    """Return the set of cells that has the missing value alone; nothing if there is none."""
    return 0 if axis.missing_cell is None else 1 << axis.missing_cell


def _steps(axis: Axis, mask: int, full: int) -> Iterator[list[int]]:
    """Yield cells that may be added one after the other, none before those ahead of it in its list."""
    absent = axis.missing_cell
    if isinstance(axis.feature, Categorical):
        yield from ([c] for c in bits_of(full & ~mask))
        return
    numbers = [c for c in bits_of(mask) if c != absent]
    if numbers:
        yield list(range(numbers[-1] + 1, len(axis.cuts) + 1))
        yield list(range(numbers[0] - 1, -1, -1))
    if absent is not None and not mask >> absent & 1:
        yield [absent]


def most_general(problem: Problem, *, budget: Budget | None = None) -> Inflated:
    """Return the box of largest coverage that keeps the output, or the largest that was found within the budget.

    Raises
    ------
    UnsupportedModelError
        For a linear model over real features, and among samples.
    BudgetError
        If the budget was spent before there was any box.

    Notes
    -----
    Exponential at worst in the boxes of dissimilar points; what is found first is widened, so that after a spent budget
    the box is one that cannot be extended, and :attr:`Inflated.most` says how much another one might cover at most.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> problem = Problem.of(lambda p: p[0] + p[1] > 6, Domain([Integer("a", 0, 9), Integer("b", 0, 9)]), (5, 4))
    >>> box = most_general(problem)
    >>> str(box), box.coverage, box.is_largest
    ('a from 3 to 9; b from 4 to 9', Fraction(21, 50), True)
    """
    around = _Around(problem, budget)
    own = tuple(1 << int(c) for c in around.v)
    members = tuple(range(len(own)))

    def parts(box: Masks, found: Masks) -> Iterator[Masks]:
        for i in members:
            # Each feature whose values in the found box leave out the instance's own may leave out all of them.
            if not own[i] & found[i]:
                for part in around.admissible_parts(i, box[i] & ~found[i]):
                    if part & own[i]:
                        yield (*box[:i], part, *box[i + 1 :])

    box, most = _largest(around, around.full, members, parts, similar=False, start=own)
    limited = [i for i in members if box[i] != around.full[i]]
    return Inflated(around.values(box, limited), around.measure(box, members), most)


def inflated_cxp(problem: Problem, features: FeatureNames, *, budget: Budget | None = None) -> Inflated:
    """Return the largest box of changes of a CXp's features, all else as in the instance, that all change the output.

    Any set of features that can change the output is taken, whether or not it is minimal, as a CXp is.

    Raises
    ------
    DomainError
        If no change of these features changes the output.
    UnsupportedModelError
        For a linear model over real features, and among samples.
    BudgetError
        If the budget was spent before there was any box.

    Notes
    -----
    Exponential at worst in the boxes of similar points; see :func:`most_general`.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> problem = Problem.of(lambda p: p[0] + p[1] > 6, Domain([Integer("a", 0, 9), Integer("b", 0, 9)]), (5, 4))
    >>> box = inflated_cxp(problem, ["a"])
    >>> str(box), box.coverage
    ('a from 0 to 2', Fraction(3, 10))
    """
    around = _Around(problem, budget)
    members = features_of(problem.domain.mask(features))
    start = tuple(full if i in members else 1 << int(around.v[i]) for i, full in enumerate(around.full))
    try:
        found = around.finder.find(start, similar=False, meter=around.meter)
    except BudgetSpent:
        raise around.spent("inflated CXp") from None
    if found is None:
        names = ", ".join(problem.domain.names[i] for i in members)
        raise DomainError(f"No change of {names or 'nothing'} changes the output, so there is nothing to inflate.")
    # Any one point of it, to be widened: what was found is not made of runs of cells alone.
    seed = tuple((m := a & b) & -m for a, b in zip(start, found, strict=True))

    def parts(box: Masks, held: Masks) -> Iterator[Masks]:
        for i in members:
            for part in around.admissible_parts(i, box[i] & ~held[i]):
                yield (*box[:i], part, *box[i + 1 :])

    box, most = _largest(around, start, members, parts, similar=True, start=seed)
    return Inflated(around.values(box, members), around.measure(box, members), most)


def _largest(
    around: _Around,
    whole: Masks,
    members: Sequence[int],
    parts: Callable[[Masks, Masks], Iterable[Masks]],
    *,
    similar: bool,
    start: Masks,
) -> tuple[Masks, Fraction]:
    """Return a box without similar, or dissimilar, points, and what no such box measures more than.

    Parameters
    ----------
    around, members
        The instance, and the features of boxes.
    whole
        What all boxes lie in.
    parts
        Yields the largest parts of a box that leave out another one.
    similar
        Which points a box must not have.
    start
        A box that has none.
    """
    best: tuple[Fraction, Masks] | None = None
    bound = around.measure(whole, members)
    try:
        # What leaves out whole features first, as an AXp does, most often covers more than what widens each a little.
        grown = _grown(around, _freed(around, start, whole, members, similar=similar), members, similar=similar)
        best = around.measure(grown, members), grown
        heap, seen = [(-bound, whole)], {whole}
        while heap:
            bound = -heap[0][0]
            if bound <= best[0]:  # nothing left is larger
                return best[1], best[0]
            _, box = heapq.heappop(heap)
            found = around.finder.find(box, similar=similar, meter=around.meter)
            if found is None:  # the first that has none is the largest; what has no probability may be left to add
                return _grown(around, box, members, similar=similar), bound
            for part in parts(box, found):
                if part not in seen:
                    seen.add(part)
                    heapq.heappush(heap, (-around.measure(part, members), part))
        return best[1], best[0]
    except BudgetSpent:
        if best is None:
            raise around.spent("box of values") from None
        return best[1], max(bound, best[0])


def inflated_of_document(domain: Domain, document: Any) -> Inflated:
    """Return a box that a document states.

    Raises
    ------
    ResultFileError
        If it is none of the domain.
    """
    if not isinstance(document, dict) or not isinstance(document.get("values"), list):
        raise ResultFileError("A box must be an object with the values of features.")
    values = tuple(_stated_values(domain, entry) for entry in document["values"])
    if len({v.feature for v in values}) != len(values):
        raise ResultFileError("A box names a feature twice; each may occur once.")
    most = document.get("most")
    coverage = number_of(document.get("coverage"), "coverage of a box")
    if not 0 <= coverage <= 1:
        raise ResultFileError("The coverage of a box must be a number from 0 to 1, but another was found.")
    return Inflated(values, coverage, None if most is None else number_of(most, "largest coverage"))


def _stated_values(domain: Domain, entry: Any) -> Values:
    if not isinstance(entry, dict) or entry.get("feature") not in domain.names:
        raise ResultFileError("The values of a box must be an object with the name of a feature.")
    flags = [entry.get(name, False) for name in ("low_open", "high_open", "missing")]
    if not all(isinstance(flag, bool) for flag in flags):
        raise ResultFileError("Whether an end is open, or a value may be missing, must be true or false.")
    listed, low, high = entry.get("listed"), entry.get("low"), entry.get("high")
    if listed is not None and (not isinstance(listed, list) or low is not None):
        raise ResultFileError("Values must be listed, or have two ends.")
    return Values(
        entry["feature"],
        None if listed is None else tuple(value_of(v) for v in listed),
        None if low is None else number_of(low, "end of a range"),
        None if high is None else number_of(high, "end of a range"),
        *flags,
    )
