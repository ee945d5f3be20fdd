"""The feature space: a product of bounded features with independent measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_listable, is_table, is_whole, number_array, quoted
from axfi_kc.domain.constraints import Constraint, constraints_in
from axfi_kc.domain.distribution import Distribution, check_describes
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.from_tables import FeatureNames, Table, as_table, feature_names, infer_features, one_row, unknown
from axfi_kc.domain.measures import Number
from axfi_kc.errors import DomainError, UnknownFeatureError
from axfi_kc.families.masks import features_of

if TYPE_CHECKING:
    from axfi_kc.domain.rules import Rule

__all__ = ["Domain", "values_of"]


_AT_ONCE = 1 << 13  # rows


@runtime_checkable
class Unbound(Protocol):
    """What becomes a distribution over a domain, such as a Bayesian network with variables by name."""

    def over(self, domain: Domain) -> Distribution:
        """Return the distribution of the features of `domain`."""


@dataclass(frozen=True, slots=True, init=False)
class Domain:
    """A product of features; the space in which every question is asked.

    Parameters
    ----------
    features
        :class:`Categorical`, :class:`Integer` and :class:`Real` features, in the order of
        the model's columns.

    Attributes
    ----------
    constraints
        What the points that can exist meet; see :meth:`where`.
    distribution
        The joint distribution of the features, see :meth:`with_distribution`; None: they are independent.
    columns
        The names of the model's columns; a one-hot feature owns several.

    Examples
    --------
    The domain of the paper's running example:

    >>> domain = Domain([Integer("x1", 0, 2), Integer("x2", 0, 1), Integer("x3", 0, 2)])
    >>> domain.names, domain.size
    (('x1', 'x2', 'x3'), 18)
    """

    features: tuple[Feature, ...]
    constraints: tuple[Constraint, ...]
    distribution: Distribution | None
    columns: tuple[str, ...] = field(repr=False, compare=False)
    _position: dict[str, int] = field(repr=False, compare=False)
    _bounds: npt.NDArray[np.float64] | None = field(repr=False, compare=False)  # where all features are numbers
    _is_integer: npt.NDArray[np.bool_] = field(repr=False, compare=False)
    _may_miss: npt.NDArray[np.bool_] = field(repr=False, compare=False)

    def __init__(self, features: Iterable[Feature], constraints: Iterable[Constraint | Rule | str] = ()) -> None:
        given = tuple(features) if is_listable(features) and not is_table(features) else ()
        strange = [f for f in given if not isinstance(f, Categorical | Integer | Real)]
        if not given or strange:
            raise DomainError(
                "A domain is made of Categorical, Integer and Real features, at least one, but "
                f"{quoted(strange[0] if strange else features)} was given; "
                f"{'use Domain.from_data(table)' if is_table(features) else 'give some'}."
            )
        names = [f.name for f in given]
        columns = tuple(c for f in given for c in f.columns)
        for what, items in (("feature", names), ("column", columns)):
            twice = next((n for n, k in Counter(items).items() if k > 1), None)
            if twice is not None:
                raise DomainError(f"Each {what} needs a name of its own, but {twice!r} occurs twice; rename one.")
        # Bounds of integers are floats themselves, so that comparing with them is exact.
        ends = [_ends(f) for f in given if not isinstance(f, Categorical) or f.is_numbered]
        object.__setattr__(self, "features", given)
        object.__setattr__(self, "distribution", None)
        object.__setattr__(self, "columns", columns)
        bounds = np.array(ends, dtype=np.float64).T if len(ends) == len(given) else None
        object.__setattr__(self, "_bounds", bounds)
        object.__setattr__(self, "_is_integer", np.array([not isinstance(f, Real) for f in given]))
        object.__setattr__(self, "_may_miss", np.array([bool(f.missing) for f in given]))
        object.__setattr__(self, "_position", {n: i for i, n in enumerate(names)})
        # Last: constraints are settled over the features.
        object.__setattr__(self, "constraints", tuple(c.settled(self) for c in _several(constraints)))

    @classmethod
    @checked("categorical", "integer", "real", "bounds", "one_hot", "measures")
    def from_data(
        cls,
        X: Any,
        *,
        categorical: Iterable[str | int] = (),
        integer: Iterable[str | int] = (),
        real: Iterable[str | int] = (),
        bounds: Mapping[str | int, tuple[Number, Number]] | None = None,
        one_hot: Mapping[str, Sequence[str | int]] | None = None,
        names: Sequence[str] | None = None,
        measures: str | Mapping[str | int, object] = "uniform",
        missing: Mapping[str | int, Number] | None = None,
    ) -> Domain:
        """Read a domain off a data set.

        Parameters
        ----------
        X
            A two-dimensional array or a DataFrame: the columns the model was trained on.
        categorical, integer, real
            The columns of each kind. A column named nowhere takes the kind of its dtype:
            bool, string, object and category are categorical, integers integer, floats real.
        bounds
            ``{column: (low, high)}`` for integer and real features; elsewhere the least and
            the largest value found. The data must lie within.
        one_hot
            ``{feature name: columns}``: columns that together encode one original feature.
            The feature takes their place and owns them.
        names
            Feature names, for an array; ``x0, x1, ...`` by default.
        measures
            ``"uniform"``; ``"empirical"`` (frequencies of the values found, a histogram of
            ten equal bins for a real feature); or ``{column: measure}`` with such a word,
            a :class:`~axfi_kc.domain.measures.Weights` or a :class:`~axfi_kc.domain.measures.Histogram`.
        missing
            ``{column: share}``: the probability that a value is missing; elsewhere the share of missing
            values (NaN, None, pandas' NA) found. Kinds, bounds and measures are those of the others.

        Returns
        -------
        Domain

        Examples
        --------
        >>> domain = Domain.from_data([[0, 1.5], [2, 3.0]], integer=["age"], names=["age", "bmi"])
        >>> [f.describe() for f in domain.features]
        ['an integer from 0 to 2', 'a number from 1.5 to 3']
        >>> Domain.from_data([[0.5], [float("nan")], [2.0]], names=["bmi"]).features[0].missing
        Fraction(1, 3)
        """
        kinds = {"categorical": categorical, "integer": integer, "real": real}
        options: dict[str, Any] = {"bounds": bounds, "one_hot": one_hot, "names": names, "measures": measures}
        return cls(infer_features(X, kinds=kinds, missing=missing, **options))

    def where(self, *constraints: Constraint | Rule | str | Sequence[Constraint | Rule | str]) -> Domain:
        """Return the domain of those points only that meet the constraints; see :mod:`axfi_kc.domain.constraints`.

        Parameters
        ----------
        constraints
            Constraints, circuits, rules that were mined, texts such as ``"age >= 18 or married == 'no'"``, and lists of
            these.

        Raises
        ------
        DomainError, UnknownFeatureError
            If a constraint means nothing over the features, is about a real feature value by value, or asks for a value
            that a feature never has.

        Examples
        --------
        >>> from axfi_kc.domain.constraints import feature
        >>> domain = Domain([Integer("age", 0, 99), Categorical("married", ["no", "yes"])])
        >>> domain.where((feature("age") >= 16) | (feature("married") == "no"))
        Domain(age: an integer from 0 to 99, married: one of 'no', 'yes'; where age >= 16 or married = 'no')
        >>> print(*domain.where("age >= 16", ["married == 'no'", "age < 99"]).constraints, sep="; ")
        age >= 16; married = 'no'; age < 99
        """
        made = Domain(self.features, [*_several(constraints)])
        object.__setattr__(made, "constraints", (*self.constraints, *made.constraints))
        object.__setattr__(made, "distribution", self.distribution)
        return made

    def with_distribution(self, distribution: Distribution | Unbound | None) -> Domain:
        """Return the same points with a joint distribution of their features; None: independent ones.

        Under constraints, and over features with fewer values than the distribution knows, it is the distribution
        given that a point is in the domain.

        Raises
        ------
        DomainError
            If the distribution is over other features, or does not speak of all of their values.

        Examples
        --------
        >>> from axfi_kc.domain.distribution import Product
        >>> domain = Domain([Integer("age", 0, 99)])
        >>> domain.with_distribution(Product.of(domain))
        Domain(age: an integer from 0 to 99; with independent features)
        """
        # A network says first which of its variables the features are.
        is_bound = (
            distribution is None or isinstance(distribution, Distribution) or not hasattr(type(distribution), "over")
        )
        bound: Any = distribution if is_bound else distribution.over(self)  # type: ignore[union-attr]
        if bound is not None:
            check_describes(bound, self.features)
        made = self.with_features(self.features)
        object.__setattr__(made, "distribution", bound)
        return made

    @checked("features")
    def with_features(self, features: Iterable[Feature]) -> Domain:
        """Return the same constraints and distribution over features with fewer values, of which they may know more."""
        made = Domain(features)
        object.__setattr__(made, "constraints", self.constraints)
        object.__setattr__(made, "distribution", self.distribution)
        return made

    @property
    def unconstrained(self) -> Domain:
        """The domain without its constraints."""
        return Domain(self.features).with_distribution(self.distribution) if self.constraints else self

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.features)

    def __repr__(self) -> str:
        """Return one line per domain, not per value."""
        shown = ", ".join(f"{f.name}: {f.describe()}" for f in self.features[:4])
        more = f", ... {len(self)} features" if len(self) > 4 else ""
        rules = f"; where {'; '.join(map(str, self.constraints[:4]))}{'; ...' if len(self.constraints) > 4 else ''}"
        joint = f"; with {self.distribution}" if self.distribution is not None else ""
        return f"Domain({shown}{more}{rules if self.constraints else ''}{joint})"

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        return tuple(self._position)

    @property
    def size(self) -> int | None:
        """The number of points, exactly; None when some feature is real."""
        sizes = [f.size for f in self.features]
        return None if None in sizes else math.prod(s for s in sizes if s is not None)

    def index(self, name: object) -> int:
        """Return the position of the feature called `name`.

        Raises
        ------
        UnknownFeatureError
            If there is none.
        """
        position = self._position.get(name) if isinstance(name, str) else None
        if position is None:
            raise unknown(name, self.names)
        return position

    def mask(self, names: FeatureNames) -> int:
        """Return the set of the features called `names` as an int whose bit i is feature i.

        What has names of features, such as an AXp or a CXp, may be given as well.

        Raises
        ------
        UnknownFeatureError
            If a name is of no feature, or these are no names.

        Examples
        --------
        >>> bin(Domain([Integer("a", 0, 1), Integer("b", 0, 1)]).mask(["b"]))
        '0b10'
        """
        found = 0
        for name in feature_names(names):
            found |= 1 << self.index(name)
        return found

    def names_of(self, mask: int) -> tuple[str, ...]:
        """Return the names of the features in `mask`, in order."""
        names = self.names
        if (type(mask) is not int and not is_whole(mask)) or mask < 0 or mask >> len(names):
            raise UnknownFeatureError(
                f"A mask has a bit for each of {len(names)} features, but {quoted(mask)} was given; make one with mask."
            )
        return tuple([names[i] for i in features_of(mask)])

    def encode(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the codes of the points in `X`, one row each, after checking every value.

        Parameters
        ----------
        X
            A DataFrame, an array with a row per point, or a sequence of dicts. Columns are
            the features' own values or, for one-hot features, the model's columns.

        Raises
        ------
        DomainError
            For a value outside its domain, a missing one where none may be, or the wrong number of columns.

        Notes
        -----
        Linear in the number of values.
        """
        numbers = self._numbers(X, 2)
        if numbers is not None:
            return numbers
        return self._encoded(as_table(X, self.features))

    def encode_rows(self, X: Any, *, all_rows: bool = True) -> tuple[npt.NDArray[np.float64], dict[int, DomainError]]:
        """Return the codes of the points in `X`, as :meth:`encode` does, and what is wrong with which row.

        Parameters
        ----------
        X
            As for :meth:`encode`.
        all_rows
            Whether to look for all rows that are wrong, or for the first only.

        Raises
        ------
        DomainError
            For the wrong columns; what is wrong with a row is returned.

        Notes
        -----
        Linear in the number of values; a row that is wrong costs its logarithm more.
        """
        numbers = self._numbers(X, 2)
        if numbers is not None:
            return numbers, {}
        table = as_table(X, self.features)
        wrong: dict[int, DomainError] = {}
        codes = np.full((table.rows, len(self)), np.nan)
        spans = [(0, table.rows)]
        while spans and (all_rows or not wrong):
            start, stop = spans.pop()
            try:
                codes[start:stop] = self._encoded(table.between(start, stop))
            except DomainError as error:
                middle = (start + stop) // 2
                # Halved until one row is left; the first half is looked at next.
                spans += [(middle, stop), (start, middle)] if stop - start > 1 else []
                wrong |= {start: error} if stop - start == 1 else {}
        return codes, wrong

    def _encoded(self, table: Table) -> npt.NDArray[np.float64]:
        codes = np.empty((table.rows, len(self)), dtype=np.float64)
        for i, feature in enumerate(self.features):
            if feature.name in table.columns:
                codes[:, i] = feature.encode(table.columns[feature.name])
            elif isinstance(feature, Categorical) and len(feature.columns) > 1:
                block = np.stack([table.column(c) for c in feature.columns], axis=1)
                codes[:, i] = feature.encode_columns(block)
            else:
                codes[:, i] = feature.encode(table.column(feature.name))
        return codes

    def encode_point(self, x: Any) -> npt.NDArray[np.float64]:
        """Return the codes of one point: an array, a Series, a dict or a one-row DataFrame."""
        numbers = self._numbers(x, 1)
        return self.encode(one_row(x, self.features))[0] if numbers is None else numbers

    @property
    def codes_are_values(self) -> bool:
        """Whether the codes of a point are the numbers in the model's columns themselves."""
        return self._bounds is not None

    def _numbers(self, given: Any, ndim: int) -> npt.NDArray[np.float64] | None:
        """Return points of numeric features that are plainly right; None if a closer look is needed, or an error."""
        # Numbers under the features' own names, or none, need no table of columns, and to make one would take longer
        # than to explain a single tree.
        if self._bounds is None or not is_listable(given) or getattr(given, "ndim", 0) != ndim:
            return None
        labels = getattr(given, "columns" if ndim == 2 else "index", self._position)
        if labels is not self._position and _listed(labels) != list(self._position):
            return None
        values = given if type(given) is np.ndarray else getattr(given, "to_numpy", lambda: None)()
        if values is None or values.dtype.kind not in "fiu" or values.shape[-1] != len(self):
            return None
        codes = np.array(values, dtype=np.float64, order="C")  # a copy: the caller may go on to write into theirs
        # By blocks that stay in the cache, for tables of a million rows.
        blocks = (codes[k : k + _AT_ONCE] for k in range(0, len(codes), _AT_ONCE)) if ndim == 2 else (codes,)
        return codes if all(map(self._are_right, blocks)) else None

    def _are_right(self, codes: npt.NDArray[np.float64]) -> bool:
        """Tell whether numbers are codes of values, or missing where that may be."""
        low, high = self._bounds if self._bounds is not None else (np.inf, -np.inf)
        inside = (codes >= low) & (codes <= high)
        # Counted, which of a single point takes a tenth of what `any` and `all` do.
        if np.count_nonzero(self._is_integer):
            inside &= (np.floor(codes) == codes) | ~self._is_integer
        is_right = np.count_nonzero(inside) == inside.size
        return is_right or bool((inside | (np.isnan(codes) & self._may_miss)).all())

    @checked("codes")
    def decode(self, codes: Sequence[float] | npt.NDArray[np.float64]) -> tuple[Any, ...]:
        """Return the values that `codes` stand for; None where one is missing."""
        found = number_array(codes, "The codes of a point", (len(self.features),)).tolist()
        return tuple(f.decode(c) for f, c in zip(self.features, found, strict=True))

    def points(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over all points, last feature fastest.

        Raises
        ------
        DomainError
            If a feature is real.
        """
        for feature in self.features:
            if isinstance(feature, Real):
                raise DomainError(
                    f"Only a finite domain can be enumerated, but feature {feature.name!r} is real; "
                    "declare it integer or categorical."
                )
        return product(*(values_of(f) for f in self.features))


def _several(constraints: Any) -> Iterable[Constraint]:
    """Return the constraints in what was given, one or several."""
    return chain.from_iterable(map(constraints_in, constraints if is_listable(constraints) else (constraints,)))


def _listed(labels: Any) -> list[Any]:
    """Return labels as a list; those of pandas make it themselves in half the time."""
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _ends(feature: Feature) -> tuple[float, float]:
    """Return the lowest and the highest code of a feature whose codes are its values."""
    if isinstance(feature, Categorical):
        return 0, len(feature.values) - 1
    return feature.floats if isinstance(feature, Real) else (feature.low, feature.high)


def values_of(feature: Feature) -> Sequence[Any]:
    """Return the values of a finite feature, last None if one may be missing; nothing of a real one."""
    nothing = (None,) * bool(feature.missing)
    if isinstance(feature, Categorical):
        return (*feature.values, *nothing)
    if isinstance(feature, Integer):
        present = range(feature.low, feature.high + 1)
        return (*present, *nothing) if nothing else present
    return ()
