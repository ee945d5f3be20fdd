"""How far one may go from an instance: frozen features, ranges, directions, and balls of a radius."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_listable, number_array, quoted
from axfi_kc.domain.constraints import CONSTRAINTS, Constraint, Member
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis
from axfi_kc.domain.measures import Histogram, Number, Weights, exact, shown
from axfi_kc.errors import DomainError
from axfi_kc.json_text import number_of, number_text, value_of, value_text

__all__ = [
    "NORMS",
    "UNITS",
    "Near",
    "Reach",
    "Region",
    "cell_reaches",
    "check_region",
    "clipped",
    "factor_of",
    "uniform_pieces",
    "unit_of",
    "weight_words",
]


NORMS = ("linf", "l1")
UNITS = ("value", "range", "std")
_LONGEST = 11  # letters of a fraction that is shown in full, as of a weight
_Span = tuple[Fraction, Fraction]


@dataclass(frozen=True, init=False)
class Region:
    """The points around an instance that count.

    Parameters
    ----------
    frozen
        Features that keep the instance's value.
    ranges
        ``{feature: (low, high)}``, or of a categorical feature its values: where it may go; the instance must be there.
        An end that is None is the domain's. Ends in the wrong order are refused where the features are known.
    only_up, only_down
        Numeric features that may only grow, or only fall.
    radius
        How far a point may be from the instance; None: any distance.
    norm
        ``"linf"``: no feature further than the radius; ``"l1"``: all together no further.
    unit
        What distances are measured in: ``"value"``, the features' own units; ``"range"``, the width of their domain;
        ``"std"``, the standard deviation of their measure, as a float64: uniform on the domain, unless it was given
        another one, such as that of data with ``Domain.from_data(X, measures="empirical")``; a joint distribution
        changes no unit. Another category is at distance 1.
    weights
        ``{feature: weight}``: what a feature's distance is multiplied by; 1 by default, 0: it may go anywhere.

    Notes
    -----
    A missing value keeps its place where distances or directions are asked for: it is near to nothing, and a number
    does not become missing there.

    `norm`, `unit` and `weights` say how distances are measured. Without a `radius` nothing is too far, and they
    change no explanation; what was explained is then measured so by ``critical_radius`` and ``radius_path``.

    Examples
    --------
    >>> domain = Domain([Integer("age", 0, 99), Real("income", 0, 10)])
    >>> Region(only_up=["age"], radius=0.1, unit="range").around(domain, [40.0, 2.0])
    Domain(age: an integer from 40 to 49, income: a number from 1 to 3)
    """

    frozen: tuple[str, ...]
    ranges: tuple[tuple[str, tuple[Any, ...]], ...]
    only_up: tuple[str, ...]
    only_down: tuple[str, ...]
    radius: Fraction | None
    norm: str
    unit: str
    weights: tuple[tuple[str, Fraction], ...]

    @checked("norm", "unit")
    def __init__(
        self,
        *,
        frozen: Iterable[str] = (),
        ranges: Mapping[str, Sequence[Any]] | None = None,
        only_up: Iterable[str] = (),
        only_down: Iterable[str] = (),
        radius: Number | None = None,
        norm: str = "linf",
        unit: str = "value",
        weights: Mapping[str, Number] | None = None,
    ) -> None:
        for what, given, known in (("norm", norm, NORMS), ("unit", unit, UNITS)):
            if given not in known:
                raise DomainError(
                    f"{what} must be one of {', '.join(map(repr, known))}, but {quoted(given)} was given."
                )
        reach = None if radius is None else _amount(radius, "radius")
        factors = tuple((name, _amount(w, f"weight of {name!r}")) for name, w in _mapping(weights, "weights").items())
        fields = {
            "frozen": _names(frozen, "frozen"),
            "ranges": tuple((name, _range(name, values)) for name, values in _mapping(ranges, "ranges").items()),
            "only_up": _names(only_up, "only_up"),
            "only_down": _names(only_down, "only_down"),
            "radius": reach,
            "norm": norm,
            "unit": unit,
            "weights": factors,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_document(cls, document: Any) -> Region:
        """Return the region that :meth:`document` wrote; DomainError if that describes none.

        Examples
        --------
        >>> region = Region(frozen=["age"], radius=0.5)
        >>> Region.of_document(region.document()) == region
        True
        """
        try:
            given = dict(document)
            radius, weights = given.pop("radius"), given.pop("weights")
            given["ranges"] = {name: [value_of(v) for v in values] for name, values in given["ranges"]}
            given["radius"] = None if radius is None else number_of(radius, "radius")
            given["weights"] = {name: number_of(w, f"weight of {name!r}") for name, w in weights}
            return cls(**given)
        except Exception as error:  # of what a document has not, or foreign code
            raise DomainError(
                f"Expected a region, but this describes none: {quoted(document)}; write it with document()."
            ) from error

    @checked("domain", "codes")
    def around(self, domain: Domain, codes: Sequence[float] | npt.NDArray[np.float64]) -> Domain:
        """Return the part of a domain that lies in the region around an instance.

        It is a box; for ``"l1"`` with a constraint to its points near the instance.

        Raises
        ------
        DomainError, UnknownFeatureError
            If the region is empty, leaves out the instance, or has probability 0.
        """
        self.check(domain)
        features: list[Feature] = []
        rules: list[Constraint] = []
        codes = number_array(codes, "The codes of an instance", (len(domain),)).astype(np.float64)
        for feature, code in zip(domain.features, codes.tolist(), strict=True):
            if not self._touches(feature):
                features.append(feature)
            elif isinstance(feature, Categorical) or math.isnan(code):
                # Codes of categories are their positions, which stay what they are: here a constraint does it.
                features.append(feature)
                rules.append(Member(feature.name, self._values(feature, code)))
            else:
                span = self._span(feature, Fraction(code))
                features.append(clipped(feature, span, measured=domain.distribution is None))
        near = self._near(features, domain.decode(codes), domain)
        return domain.with_features(features).where(*rules, *near)

    def _near(self, features: Sequence[Feature], values: Sequence[Any], domain: Domain) -> list[Constraint]:
        """Return the ball of a sum of distances, unless it is the whole box."""
        if self.radius is None or self.norm != "l1":
            return []
        pairs = zip(features, values, domain.features, strict=True)
        # What has one value left, or no distance, adds nothing. Units are those of the whole domain.
        moved = [(f.name, v, factor_of(self, whole)) for f, v, whole in pairs if v is not None and not _is_fixed(f)]
        moved = [(name, v, factor) for name, v, factor in moved if factor and name not in self.frozen]
        if len(moved) < 2:
            return []
        names, centres, factors = zip(*moved, strict=True)
        return [Near(names, centres, factors, self.radius)]

    def check(self, domain: Domain) -> None:
        """Raise unless every name is a feature of the domain, directions are asked of numeric ones, and ranges fit."""
        named = (*self.frozen, *dict(self.ranges), *self.only_up, *self.only_down, *dict(self.weights))
        for name in named:
            domain.index(name)
        for name in (*self.only_up, *self.only_down):
            if isinstance(domain.features[domain.index(name)], Categorical):
                raise DomainError(
                    f"Feature {name!r} is categorical and has no up or down; freeze it, or give its range."
                )
        for name, values in self.ranges:
            _check_range(domain.features[domain.index(name)], values)

    def _touches(self, feature: Feature) -> bool:
        name = feature.name
        moved = self.radius is not None and self.weight(name) != 0
        return moved or name in (*self.frozen, *dict(self.ranges), *self.only_up, *self.only_down)

    @property
    def is_everywhere(self) -> bool:
        """Whether no point is left out: at most how distances are measured is said."""
        return self.radius is None and not (self.frozen or self.ranges or self.only_up or self.only_down)

    def __repr__(self) -> str:
        """Return what makes it again."""
        return f"Region({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"

    def __str__(self) -> str:
        """Return the region in words."""
        frozen = _staying(self)
        words = [f"{', '.join(frozen)} frozen"] * bool(frozen)
        words += [f"{name} {_range_words(values)}" for name, values in self.ranges]
        for names, way in ((self.only_up, "up"), (self.only_down, "down")):
            words += [f"{name} only {way}" for name in dict.fromkeys(names) if name not in frozen]
        if self.radius is not None:
            words += [self._distance_words(self.radius), *weight_words(self)]
        return "; ".join(words) or "anywhere"

    def _distance_words(self, radius: Fraction) -> str:
        """Return how far one may go in words, with the norm's own name, by which it is asked for."""
        far, each = _brief(radius), self.norm == "linf"
        deviations = f"{far} standard deviation{'' if radius == 1 else 's'}"
        unit = {
            "value": far,
            "range": f"{far} of {'its range' if each else 'their ranges'}",
            "std": f"{deviations} of {'its measure' if each else 'their measures'}",
        }[self.unit]
        return f"{'every feature' if each else 'all features together'} by at most {unit} ({self.norm})"

    @property
    def _given(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "frozen": list(self.frozen),
            "ranges": dict(self.ranges),
            "only_up": list(self.only_up),
        }
        given |= {"only_down": list(self.only_down), "weights": {n: _short(w) for n, w in self.weights}}
        kept = {name: value for name, value in given.items() if value}
        if self.radius is not None:
            kept["radius"] = _short(self.radius)
        measured = {"norm": (self.norm, NORMS[0]), "unit": (self.unit, UNITS[0])}
        usual = self.radius is None  # without a radius only what is not as usual is worth a word
        return kept | {name: said for name, (said, default) in measured.items() if not usual or said != default}

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "frozen": list(self.frozen),
            "ranges": [[name, [value_text(v) for v in values]] for name, values in self.ranges],
            "only_up": list(self.only_up),
            "only_down": list(self.only_down),
            "radius": None if self.radius is None else number_text(self.radius),
            "norm": self.norm,
            "unit": self.unit,
            "weights": [[name, number_text(w)] for name, w in self.weights],
        }

    @checked("name")
    def weight(self, name: str) -> Fraction:
        """Return what a feature's distance is multiplied by."""
        return dict(self.weights).get(name, Fraction(1))

    def _values(self, feature: Feature, code: float) -> tuple[Any, ...]:
        """Return the categories that a feature may have; None alone if it must stay missing."""
        if not math.isnan(code) and isinstance(feature, Categorical):
            return self._categories(feature, code)
        if feature.name in dict(self.ranges):
            raise DomainError(
                f"The instance's {feature.name!r} is missing, outside its range; leave the range out, or freeze it."
            )
        return (None,)

    def _categories(self, feature: Categorical, code: float) -> tuple[Any, ...]:
        own = feature.values[int(code)]
        values = list(dict(self.ranges).get(feature.name, feature.values))
        far = self.radius is not None and self.weight(feature.name) > self.radius
        if feature.name in self.frozen or far:
            values = [v for v in values if v == own]
        if own not in values:
            raise _outside(feature, own)
        return tuple(v for v in feature.values if v in values)

    def _span(self, feature: Integer | Real, own: Fraction) -> _Span:
        """Return the least and the largest number that a feature may have."""
        low, high = Fraction(feature.low), Fraction(feature.high)
        given = dict(self.ranges).get(feature.name)
        if given is not None:
            first, last = _ends(feature, given)
            low, high = max(low, first), min(high, last)
        weight = self.weight(feature.name)
        if self.radius is not None and weight:
            reach = self.radius * unit_of(feature, self.unit) / weight
            low, high = max(low, own - reach), min(high, own + reach)
        low = max(low, own) if feature.name in (*self.only_up, *self.frozen) else low
        high = min(high, own) if feature.name in (*self.only_down, *self.frozen) else high
        if not low <= own <= high:
            raise _outside(feature, own)
        return low, high


@dataclass(frozen=True, slots=True)
class Near(Constraint):
    """Points whose features are together no further from a centre than a radius.

    It holds on a part only of some cells of real features; whoever measures these asks for their volume.
    """

    names: tuple[str, ...]
    centres: tuple[Any, ...]
    factors: tuple[Fraction, ...]
    radius: Fraction
    kind = "near"
    parts = ()

    def settled(self, domain: Domain) -> Constraint:
        """Return it: a region makes it for its domain."""
        return self

    def holds(self, codes: Sequence[float | Fraction], domain: Domain) -> bool:
        """Tell whether a point is near."""
        total = Fraction(0)
        for name, centre, factor in zip(self.names, self.centres, self.factors, strict=True):
            i = domain.index(name)
            feature, code = domain.features[i], codes[i]
            if code != code:  # missing, and near to nothing
                return False
            if isinstance(feature, Categorical):
                total += factor * (feature.values[int(code)] != centre)
            else:
                total += factor * abs(Fraction(code) - Fraction(centre))
        return total <= self.radius

    def bounds(self, feature: Feature) -> Iterable[tuple[float, bool]]:
        """Return a cut after each integer; reals are not cut."""
        return ((float(k), True) for k in range(feature.low, feature.high)) if isinstance(feature, Integer) else ()

    def reaches(self, name: str, axis: Axis) -> dict[int, Reach]:
        """Return how far each cell of one of its features is."""
        k = self.names.index(name)
        centre = self.centres[k]
        code = float(axis.feature.values.index(centre)) if isinstance(axis.feature, Categorical) else float(centre)
        own = int(axis.locate(np.array([code]))[0])
        return {own: Reach(Fraction(0), is_open=False), **cell_reaches(axis, code, self.factors[k])}

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "kind": self.kind,
            "names": list(self.names),
            "centres": [value_text(c) for c in self.centres],
            "factors": [number_text(f) for f in self.factors],
            "radius": number_text(self.radius),
        }

    def __str__(self) -> str:
        """Return it in words."""
        return f"({', '.join(self.names)}) no further than {_brief(self.radius)} from the instance"


def _near_of(document: Mapping[str, Any]) -> Near:
    factors = tuple(number_of(f, "factor") for f in document["factors"])
    centres, radius = tuple(map(value_of, document["centres"])), number_of(document["radius"], "radius")
    return Near(tuple(document["names"]), centres, factors, radius)


CONSTRAINTS["near"] = _near_of


class Reach(NamedTuple):
    """A least radius, and whether it is open: enough is then every larger one, but not this one itself."""

    radius: Fraction
    is_open: bool


def weight_words(region: Region) -> list[str]:
    """Return which features' distances count otherwise than those of the others, in words.

    Examples
    --------
    >>> weight_words(Region(weights={"age": 2, "priors": 0, "job": 1}))
    ['age counted 2 times', 'priors at any distance']
    """
    still = _staying(region)  # where nothing moves, nothing is counted
    told = ((name, weight) for name, weight in region.weights if weight != 1 and name not in still)
    return [f"{name} counted {_brief(weight)} times" if weight else f"{name} at any distance" for name, weight in told]


def _staying(region: Region) -> list[str]:
    """Return the features that keep their value: what is frozen, or may neither grow nor fall."""
    both = (name for name in region.only_up if name in region.only_down)
    return list(dict.fromkeys((*region.frozen, *both)))


def factor_of(region: Region, feature: Feature) -> Fraction:
    """Return what a distance of a feature is multiplied by; a category's distance is 1."""
    weight = region.weight(feature.name)
    if isinstance(feature, Categorical) or not weight:
        return weight
    unit = unit_of(feature, region.unit)
    return weight / unit if unit else weight  # of one value only: there is nowhere to go


def cell_reaches(axis: Axis, code: float, factor: Fraction) -> dict[int, Reach]:
    """Return how far each cell is from a code that it does not hold; not those that are at no distance."""
    cells = range(axis.n_cells)
    if not factor:
        return {cell: Reach(Fraction(0), is_open=False) for cell in cells}
    if math.isnan(code):
        return {}
    if isinstance(axis.feature, Categorical):
        return {c: Reach(factor, is_open=False) for c in cells if c not in (int(code), axis.missing_cell)}
    own = int(axis.locate(np.array([code]))[0])
    found = {}
    for cell in cells:
        if cell not in (own, axis.missing_cell):
            end, is_open = _near_end(axis, cell, own)
            found[cell] = Reach(abs(end - Fraction(code)) * factor, is_open)
    return found


def _near_end(axis: Axis, cell: int, own: int) -> tuple[Fraction, bool]:
    """Return the end of a cell that faces another one, and whether it is outside the cell."""
    cut = axis.cuts[cell] if cell < own else axis.cuts[cell - 1]
    if axis.counts is not None:  # integers: a cut comes after the last one on its left
        return Fraction(cut.value) + (cell > own), False
    return Fraction(cut.value), cut.closed == (cell > own)


def _amount(value: Any, what: str) -> Fraction:
    found = exact(value, what)
    if found < 0 or isinstance(value, bool):
        raise DomainError(f"The {what} must be a number from 0 up, but {quoted(value)} was given; correct it.")
    return found


def _range(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, Iterable) and not isinstance(values, str):
        return tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    raise DomainError(
        f"The range of {name!r} must be (low, high), or a list of categories, but {quoted(values)} was given."
    )


def _check_range(feature: Feature, given: Sequence[Any]) -> None:
    """Raise unless a range is one of the feature, whatever the instance."""
    if not isinstance(feature, Categorical):
        _ends(feature, given)
        return
    odd = [v for v in given if v not in feature.values]
    if odd:
        raise DomainError(f"Feature {feature.name!r} has no category {odd[0]!r}; it is {feature.describe()}.")


def _ends(feature: Integer | Real, given: Sequence[Any]) -> _Span:
    """Return the ends of the range of a numeric feature."""
    if len(given) != 2:
        raise DomainError(f"The range of {feature.name!r} must be (low, high), but {quoted(given)} was given.")
    whole = (feature.low, feature.high)
    known = tuple(_short(Fraction(own)) if end is None else end for end, own in zip(given, whole, strict=True))
    low, high = (exact(end, f"number at an end of the range of {feature.name!r}") for end in known)
    if low > high:
        raise DomainError(
            f"The range of {feature.name!r} must be (low, high), but {quoted(known)} goes from high to low; turn it "
            "round."
        )
    return low, high


def check_region(given: object) -> Region:
    """Return what was given, if it is a region."""
    if isinstance(given, Region):
        return given
    raise DomainError(
        f"within takes a Region, such as Region(radius=0.1, unit='range'), but {quoted(given)} was given."
    )


def _mapping(given: Any, what: str) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise DomainError(f"{what} takes {{feature: ...}}, but {quoted(given)} was given.")


def _names(given: Iterable[str], what: str) -> tuple[str, ...]:
    if not isinstance(given, str) and not is_listable(given):
        raise DomainError(f"{what} takes a list of features, but {quoted(given)} was given; name some.")
    if isinstance(given, str):
        raise DomainError(
            f"{what} takes a list of features, but the string {quoted(given)} was given: use [{given!r}]."
        )
    names = tuple(given)
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise DomainError(f"{what} takes names of features, which are text, but {quoted(odd[0])} was given; name some.")
    return names


def _outside(feature: Feature, own: Any) -> DomainError:
    return DomainError(
        f"The region leaves out the instance itself, whose {feature.name!r} is {shown(own)}; widen its range."
    )


def _is_fixed(feature: Feature) -> bool:
    return feature.size == 1 or (isinstance(feature, Real) and feature.low == feature.high)


def _short(number: Fraction) -> int | float | Fraction:
    """Return the shortest number that equals one; a float only where it does so exactly."""
    if number.denominator == 1:
        return int(number)
    try:
        near = float(number)
    except OverflowError:
        return number
    return near if near == number else number


def _brief(number: Fraction) -> str:
    """Return a number as people read it; one third as a fraction, which no decimal equals."""
    whole = shown(number, digits=None)
    return whole if isinstance(_short(number), Fraction) and len(whole) <= _LONGEST else shown(number)


def _range_words(values: Sequence[Any]) -> str:
    """Return where a feature may go, in words; an end that is None is the domain's."""
    ends = [(way, end) for way, end in zip(("from", "up to"), values, strict=False) if end is not None]
    if len(values) != 2 or len(ends) == 2:
        return f"in {_listed(values)}"
    return f"{ends[0][0]} {shown(ends[0][1])}" if ends else "anywhere"


def _listed(values: Sequence[Any]) -> str:
    return "[" + ", ".join(shown(v) for v in values) + "]"


def unit_of(feature: Integer | Real, unit: str) -> Fraction:
    """Return what distances of a numeric feature are measured in.

    Examples
    --------
    >>> unit_of(Integer("age", 10, 90), "range"), unit_of(Real("income", 0, 12), "std")
    (Fraction(80, 1), Fraction(3900231685776981, 1125899906842624))
    """
    if unit == "value":
        return Fraction(1)
    width = Fraction(feature.high - feature.low)
    return width if unit == "range" else Fraction(math.sqrt(_variance(feature)))


def _variance(feature: Integer | Real) -> Fraction:
    """Return the variance of a feature's measure, exactly."""
    if isinstance(feature, Integer) and not isinstance(feature.measure, Weights):
        return Fraction((feature.high - feature.low + 1) ** 2 - 1, 12)
    pieces = uniform_pieces(feature)
    mean = sum((share * (low + high) / 2 for low, high, share in pieces), Fraction(0))
    squares = sum((share * (low * low + low * high + high * high) / 3 for low, high, share in pieces), Fraction(0))
    return squares - mean * mean


def uniform_pieces(feature: Integer | Real) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return intervals over which the measure is uniform, with their shares; values are intervals of one point."""
    measure = feature.measure
    if isinstance(measure, Histogram):
        return [(a, b, share) for (a, b), share in zip(pairwise(measure.edges), measure.shares, strict=True)]
    if isinstance(measure, Weights):
        return [(Fraction(feature.low + k), Fraction(feature.low + k), share) for k, share in enumerate(measure.shares)]
    return [(Fraction(feature.low), Fraction(feature.high), Fraction(1))]


def clipped(feature: Integer | Real, within: _Span, *, measured: bool = True) -> Feature:
    """Return a numeric feature from one number to another, its measure conditioned; no value of it is missing.

    Where a joint distribution says how likely values are, the feature is not `measured`: its own measure says nothing.

    Examples
    --------
    >>> clipped(Integer("age", 0, 99, weights=range(100)), (1, 2)).measure.shares
    (Fraction(1, 3), Fraction(2, 3))
    """
    low, high = within
    if isinstance(feature, Integer):
        first, last = math.ceil(low), math.floor(high)
        weights = None
        # One value that is left has all of the probability, whatever it had before: nothing moves there.
        if measured and isinstance(feature.measure, Weights) and first < last:
            weights = list(feature.measure.shares[first - feature.low : last - feature.low + 1])
        _check_mass(feature, weights)
        return Integer(feature.name, first, last, weights=weights)
    if not measured or not isinstance(feature.measure, Histogram) or low == high:
        return Real(feature.name, low, high)
    edges = [low, *(e for e in feature.measure.edges if low < e < high), high]
    shares = [feature.measure.below(b) - feature.measure.below(a) for a, b in pairwise(edges)]
    _check_mass(feature, shares)
    return Real(feature.name, low, high, histogram=Histogram(edges, shares))


def _check_mass(feature: Feature, weights: Sequence[Fraction] | None) -> None:
    if weights is not None and not any(weights):
        raise DomainError(
            f"The region has probability 0: the measure of {feature.name!r} gives nothing to the values that are left; "
            "widen the region, or change the measure."
        )
