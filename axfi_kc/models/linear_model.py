"""Linear models: scores that are sums over features.

A score is a constant plus, per feature, a factor times its value or an entry of a table. Logistic
regression, linear support vectors, linear regression and (in log space) naive Bayes are such
models; a model behind scalers and encoders is one in the original features. Where a value may be
missing, as it may before an imputer, its part says what is added then.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_listable, quoted
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.measures import counted, exact
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models.base import LINK_ERROR, Model, Uses, adding_error, check_never_missing
from axfi_kc.models.tree_sum import Argmax, Positive, Score

__all__ = ["Dyadic", "LinearModel", "Lookup", "Slope", "dyadic", "part_values"]


_MANTISSA_BITS = 53
Codes = npt.NDArray[np.float64]
Integers = npt.NDArray[Any]  # of Python ints


@dataclass(frozen=True, slots=True)
class Slope:
    """What a numeric feature adds to each score: a factor times its value.

    `missing` is what it adds to each score where it is missing; None for a feature that never is.
    """

    factors: tuple[Any, ...]
    missing: tuple[Any, ...] | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a discrete feature adds to each score: a row per score, an entry per value.

    `first` is the code of the first entry: the least value of an integer feature. The last entry is that of
    the missing value, if the feature may be missing.
    """

    rows: tuple[tuple[Any, ...], ...]
    first: int = 0


Part = Slope | Lookup


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Model):
    """Scores linear in the features, and a rule for the output.

    All numbers are integers over one `denominator`, so every sum is exact.

    Attributes
    ----------
    domain
        The space the model is defined on.
    base
        The constant of each score.
    parts
        Per feature, a :class:`Slope` or, for discrete features, a :class:`Lookup`.
    denominator
        What `base` and `parts` are divided by.
    rule
        From scores to output.
    precision
        The bits of the numbers in which the library multiplies and adds.
    column_error
        What it may lose of a score before that, by rounding or scaling its columns.

    Examples
    --------
    >>> domain = Domain([Real("age", 0, 100), Categorical("race", "ab")])
    >>> model = LinearModel.of(
    ...     domain, [Slope((Fraction(1, 2),)), Lookup(((0, -10),))], base=[-20], rule=Positive((0, 1))
    ... )
    >>> model.predict([[50.0, "a"], [50.0, "b"]])
    [1, 0]

    Where age may be missing, the model says what it adds then; here as much as 30 years:

    >>> domain = Domain([Real("age", 0, 100, missing=Fraction(1, 4))])
    >>> model = LinearModel.of(domain, [Slope((Fraction(1, 2),), missing=(15,))], base=[-20], rule=Positive((0, 1)))
    >>> model.predict([[50.0], [None]])
    [1, 0]
    """

    domain: Domain
    base: tuple[int, ...]
    parts: tuple[Part, ...]
    denominator: int
    rule: Argmax | Positive | Score
    precision: int = _MANTISSA_BITS
    column_error: Fraction = Fraction(0)

    @classmethod
    @checked("domain", "parts", "base", "rule")
    def of(
        cls, domain: Domain, parts: Sequence[Part], *, base: Sequence[Any], rule: Argmax | Positive | Score
    ) -> LinearModel:
        """Make a model of numbers of any kind, floats standing for the rationals they denote."""
        _check_shape(domain, parts, len(base), rule)
        constants = [exact(b, "intercept") for b in base]
        given = [_exact_part(part, feature) for part, feature in zip(parts, domain.features, strict=True)]
        denominator = math.lcm(*(n.denominator for n in (*constants, *(n for p in given for n in _numbers(p)))))
        return cls(
            domain=domain,
            base=tuple(_over(denominator, constants)),
            parts=tuple(_scaled(part, denominator) for part in given),
            denominator=denominator,
            rule=rule,
        )

    @classmethod
    @checked("domain", "intercepts", "rule")
    def of_columns(
        cls, domain: Domain, coefficients: Any, *, intercepts: Sequence[Any], rule: Argmax | Positive | Score
    ) -> LinearModel:
        """Make a model of coefficients on the model's columns, a row per score.

        Examples
        --------
        >>> from axfi_kc.domain.features import Categorical
        >>> race = Categorical("race", "abc", columns=["race_a", "race_b", "race_c"])
        >>> LinearModel.of_columns(Domain([race]), [[1, 5, 2]], intercepts=[-3], rule=Positive((0, 1))).parts
        (Lookup(rows=((1, 5, 2),), first=0),)

        Raises
        ------
        UnsupportedModelError
            If a value may be missing: a coefficient times nothing is nothing.
        DomainError
            If a row has not as many coefficients as the features have columns.
        """
        check_never_missing(domain)
        rows = _rows(coefficients, domain)
        parts, start = [], 0
        for feature in domain.features:
            width = len(feature.columns)
            parts.append(_part(feature, [row[start : start + width] for row in rows]))
            start += width
        return cls.of(domain, parts, base=intercepts, rule=rule)

    @property
    def is_regression(self) -> bool:
        """Whether the output is a number."""
        return isinstance(self.rule, Score)

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The classes; none for a regression."""
        return () if isinstance(self.rule, Score) else self.rule.labels

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return f"linear model with {counted(len(self.base), 'score')}"

    @cached_property
    def grid(self) -> Grid:
        """One cell per value of each feature, for circuits.

        Raises
        ------
        DomainError
            If a feature is real: a hyperplane cuts an interval into no cells.
        """
        return Grid.of_values(self.domain)

    def numerators_at(self, codes: Codes) -> tuple[Integers, npt.NDArray[np.int64]]:
        """Return the scores at points, exactly.

        Score k at point n is ``numerators[n, k] / (denominator * 2**shifts[n])``.

        Notes
        -----
        Points times features times scores, in operations on Python integers.
        """
        points = dyadic(codes)
        scores = np.empty((len(codes), len(self.base)), dtype=object)
        for k, constant in enumerate(self.base):
            added = part_values(self.parts, k, points).sum(axis=1)
            scores[:, k] = added + np.left_shift(constant, points.shifts.astype(object))
        return scores, points.shifts

    def scores_at(self, codes: Codes) -> list[list[Fraction]]:
        """Return the exact scores, before the rule, at points given by their codes, a row each."""
        numerators, shifts = self.numerators_at(codes)
        pairs = zip(numerators.tolist(), shifts.tolist(), strict=True)
        return [[Fraction(k, self.denominator << q) for k in row] for row, q in pairs]

    def outputs_at(self, codes: Codes) -> list[Any]:
        """Return the outputs at points given by their codes, a row each."""
        numerators, shifts = self.numerators_at(codes)
        return [self.output_of(row, q) for row, q in zip(numerators.tolist(), shifts.tolist(), strict=True)]

    def output_of(self, numerators: Sequence[int], shift: int) -> Any:
        """Return the output for scores ``numerators / (denominator * 2**shift)``."""
        if isinstance(self.rule, Argmax):
            # Ties go to the lowest index, as `argmax` has them.
            return self.rule.labels[max(range(len(numerators)), key=lambda k: (numerators[k], -k))]
        if isinstance(self.rule, Positive):
            return self.rule.labels[numerators[0] > 0]
        return Fraction(numerators[0], self.denominator << shift) * self.rule.scale

    def relabelled(self, names: Mapping[Hashable, Hashable]) -> LinearModel:
        """Return the classifier with each label replaced by its name in `names`."""
        if isinstance(self.rule, Score):
            raise UnsupportedModelError("The outputs of a regression are numbers, not labels, and take no new names.")
        labels: Any = tuple(names[label] for label in self.rule.labels)
        return replace(self, rule=replace(self.rule, labels=labels))

    def gains(self, i: int, score: int) -> list[int]:
        """Return what each value of feature i adds to a score, missing last; nothing of a real feature."""
        part, feature = self.parts[i], self.domain.features[i]
        if isinstance(part, Slope) and isinstance(feature, Integer):
            missing = () if part.missing is None else (part.missing[score],)
            return [*(part.factors[score] * value for value in range(feature.low, feature.high + 1)), *missing]
        return list(part.rows[score]) if isinstance(part, Lookup) else []

    def uses(self) -> Uses:
        """Rank the features by the most that changing one can change some score.

        These are exact integers of any size, of which only the order matters.

        Raises
        ------
        DomainError
            If a feature is real.
        """
        features, scores = range(len(self.grid.axes)), range(len(self.base))
        rows = [[self.gains(i, k) for k in scores] for i in features]
        swings = [max((max(row) - min(row) for row in of_score if row), default=0) for of_score in rows]
        rank = {s: k for k, s in enumerate(sorted(set(swings)))}
        return Uses(np.array([rank[s] for s in swings], dtype=np.float64), [])

    @property
    def rounding_error(self) -> Fraction:
        """How far a score that the library computes can be from the exact one; see :class:`Model`."""
        unit, columns = Fraction(1, 1 << self.precision), sum(len(f.columns) for f in self.domain.features)
        sizes = [abs(Fraction(b, self.denominator)) for b in self.base]
        for part, feature in zip(self.parts, self.domain.features, strict=True):
            for k in range(len(sizes)):
                sizes[k] += _largest(part, feature, k) / self.denominator
        adding = adding_error(2 * columns + 2, unit) * max(sizes) + self.column_error
        return 2 * adding + (0 if self.is_regression else LINK_ERROR * unit)

    def with_ties_moved(self, output: Any, delta: Fraction | None, shift: Fraction) -> tuple[Self, Fraction | None]:
        """Return the model and delta for which more points are dissimilar to `output`; see :class:`Model`."""
        if isinstance(self.rule, Score):
            return self, (delta or Fraction(0)) - shift * abs(self.rule.scale)
        step = math.ceil(abs(shift) * self.denominator)  # whole, and never too little
        return replace(self, base=self.rule.favoured(self.base, output, -step if shift > 0 else step)), delta


def _largest(part: Part, feature: Feature, score: int) -> Fraction:
    """Return the most that a feature adds to a score, or takes from it."""
    if isinstance(part, Lookup):
        return Fraction(max(map(abs, part.rows[score]), default=0))
    reach = 0 if isinstance(feature, Categorical) else max(abs(Fraction(feature.low)), abs(Fraction(feature.high)))
    absent = 0 if part.missing is None else abs(part.missing[score])
    return Fraction(max(abs(part.factors[score]) * reach, absent))


class Dyadic(NamedTuple):
    """Codes as ``mantissas * 2**exponents``, with odd mantissas, a row per point.

    Attributes
    ----------
    mantissas, exponents
        Of each code; 0 where it is missing.
    shifts
        Per row the least q >= 0 for which all its codes times ``2**q`` are integers.
    missing
        Which codes are missing.
    """

    mantissas: Integers
    exponents: npt.NDArray[np.int64]
    shifts: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_]

    def at(self, rows: npt.NDArray[np.int64]) -> Dyadic:
        """Return some of the points."""
        return Dyadic(self.mantissas[rows], self.exponents[rows], self.shifts[rows], self.missing[rows])


def dyadic(codes: Codes) -> Dyadic:
    """Return codes as integers times powers of two."""
    missing = np.isnan(codes)
    fractions, powers = np.frexp(np.where(missing, 0.0, codes))
    # The fraction has 53 bits at most, so this is an integer, exactly.
    mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
    # The lowest set bit is a power of two, exact as a float, and frexp returns 0.5 times 2**(k + 1).
    lowest = np.frexp((mantissas & -mantissas).astype(np.float64))[1] - 1
    # Zero has no lowest bit; it is taken as 0 * 2**0 and asks for no shift.
    trailing = np.where(mantissas == 0, 0, lowest)
    exponents = np.where(mantissas == 0, 0, powers.astype(np.int64) - _MANTISSA_BITS + trailing)
    shifts = np.maximum(-exponents, 0).max(axis=1, initial=0)
    # Exact: only zero bits are shifted out.
    return Dyadic((mantissas >> trailing).astype(object), exponents, shifts, missing)


def part_values(parts: Sequence[Part], score: int, points: Dyadic) -> Integers:
    """Return what each feature adds to `score` at each point, times ``2**shifts``."""
    shifts = points.shifts.astype(object)
    # Never a negative shift: a row's shift is the largest of its negated exponents.
    values = np.left_shift(points.mantissas, (points.exponents + points.shifts[:, np.newaxis]).astype(object))
    for i, part in enumerate(parts):
        missing = points.missing[:, i]
        if isinstance(part, Slope):
            values[:, i] *= part.factors[score]
            if part.missing is not None:
                values[missing, i] = np.left_shift(part.missing[score], shifts[missing])
        else:
            row = np.array([*part.rows[score], None], dtype=object)[:-1]
            # The code itself again: codes of discrete features are integers, however the row is scaled.
            found = np.right_shift(values[:, i], shifts).astype(np.int64) - part.first
            values[:, i] = np.left_shift(row[np.where(missing, len(row) - 1, found)], shifts)
    return values


def _rows(coefficients: Any, domain: Domain) -> list[list[Fraction]]:
    """Return the coefficients, a row per score and a number per column of the model."""
    rows = list(coefficients) if is_listable(coefficients) else []
    if not rows or not all(map(is_listable, rows)):
        raise DomainError(
            f"Coefficients are a row for each score, as [[1, 2]], but {quoted(coefficients)} was given; give them so."
        )
    found = [[exact(c, "coefficient") for c in row] for row in rows]
    odd = next((row for row in found if len(row) != len(domain.columns)), None)
    if odd is not None:
        raise DomainError(
            f"The features have {counted(len(domain.columns), 'column')}, but a row of "
            f"{counted(len(odd), 'coefficient')} was given; give one for each column, of which a one-hot feature has "
            "several: Categorical(..., columns=...)."
        )
    return found


def _part(feature: Feature, coefficients: Sequence[Sequence[Fraction]]) -> Part:
    """Return what `feature` adds to each score, given the coefficients of its columns."""
    if not isinstance(feature, Categorical):
        return Slope(tuple(row[0] for row in coefficients))
    codes = [[_number(feature, c) for c in code] for code in feature.codes]
    return Lookup(
        tuple(
            tuple(sum((a * c for a, c in zip(row, code, strict=True)), Fraction(0)) for code in codes)
            for row in coefficients
        )
    )


def _number(feature: Categorical, code: object) -> Fraction:
    if isinstance(code, bool | int | float | Fraction | np.number):
        return exact(code, f"code of {feature.name!r}")
    raise UnsupportedModelError(
        f"The model multiplies feature {feature.name!r} by a number, but its domain holds {code!r}; "
        "give the domain the codes the model was trained on (Categorical(..., columns=..., codes=...))."
    )


def _check_shape(domain: Domain, parts: Sequence[Part], n_scores: int, rule: Argmax | Positive | Score) -> None:
    wanted = len(rule.labels) if isinstance(rule, Argmax) else 1
    if n_scores != wanted:
        raise UnsupportedModelError(
            f"The rule {type(rule).__name__} needs {counted(wanted, 'score')}, but {n_scores} constants were given."
        )
    if isinstance(rule, Positive) and rule.closed:
        raise UnsupportedModelError(
            "A linear model gives its second class above zero only, but a closed rule was given; negate the scores and "
            "swap the labels."
        )
    if len(parts) != len(domain):
        raise DomainError(f"The domain has {len(domain)} features, but {len(parts)} parts were given; give one each.")
    for feature, part in zip(domain.features, parts, strict=True):
        if not _fits(part, feature, n_scores):
            raise DomainError(
                f"Feature {feature.name!r} ({feature.describe()}) needs {_needs(feature)} per score, "
                f"for {counted(n_scores, 'score')}, but {quoted(part)} was given; give it so."
            )


def _fits(part: Part, feature: Feature, n_scores: int) -> bool:
    """Tell whether a part says of each value of a feature what it adds to each score."""
    if isinstance(part, Lookup):
        is_first = part.first in (0, _first(feature))
        return is_first and _is_row(part.rows, n_scores) and all(_is_row(row, feature.size) for row in part.rows)
    absent = part.missing is None if not feature.missing else _is_row(part.missing, n_scores)
    return not isinstance(feature, Categorical) and absent and _is_row(part.factors, n_scores)


def _is_row(row: Any, length: int | None) -> bool:
    return is_listable(row) and len(row) == length


def _first(feature: Feature) -> int:
    """Return the code of the first entry of a table of a discrete feature."""
    return feature.low if isinstance(feature, Integer) else 0


def _needs(feature: Feature) -> str:
    factor = "a factor and a number for missing" if feature.missing else "a factor"
    if isinstance(feature, Real):
        return factor
    table = f"a table of {feature.size} numbers"
    return f"{factor} or {table}" if isinstance(feature, Integer) else table


def _exact_part(part: Part, feature: Feature) -> Part:
    if isinstance(part, Slope):
        absent = None if part.missing is None else tuple(exact(n, "coefficient") for n in part.missing)
        return Slope(tuple(exact(f, "coefficient") for f in part.factors), absent)
    return Lookup(tuple(tuple(exact(n, "coefficient") for n in row) for row in part.rows), _first(feature))


def _numbers(part: Part) -> Iterable[Fraction]:
    if isinstance(part, Slope):
        return (*part.factors, *(part.missing or ()))
    return (n for row in part.rows for n in row)


def _over(denominator: int, numbers: Iterable[Fraction]) -> list[int]:
    return [n.numerator * (denominator // n.denominator) for n in numbers]


def _scaled(part: Part, denominator: int) -> Part:
    if isinstance(part, Slope):
        absent = None if part.missing is None else tuple(_over(denominator, part.missing))
        return Slope(tuple(_over(denominator, part.factors)), absent)
    return Lookup(tuple(tuple(_over(denominator, row)) for row in part.rows), part.first)
