"""Which points can exist: a language of constraints on the features of a domain.

A constraint is made of comparisons and combined with ``&``, ``|``, ``~`` and ``>>`` (implies)::

    age, married = feature("age"), feature("married")
    domain.where((age >= 18) | (married == "no"), at_most_one("asian", "hispanic"))

Points that violate one of them are not points of the space: nothing that is explained, counted or found lies there.
Where a value is missing a comparison does not hold; ``age == None`` asks for just that.

To add one: a frozen dataclass that is a :class:`Constraint`, named in :data:`CONSTRAINTS`.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import singledispatch
from itertools import chain, product
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, is_frame, is_hashable, is_listable, quoted
from axfi_kc.domain.features import Categorical, Feature, Integer, Real, is_missing
from axfi_kc.domain.measures import abridged, exact, shown
from axfi_kc.errors import DomainError
from axfi_kc.json_text import number_of, number_text, value_of, value_text

if TYPE_CHECKING:
    from axfi_kc.domain.domain import Domain

__all__ = [
    "CONSTRAINTS",
    "Constraint",
    "Term",
    "allowed",
    "as_constraint",
    "at_least_one",
    "at_most_one",
    "check",
    "check_possible",
    "constraint_of",
    "constraints_in",
    "exactly_one",
    "feature",
    "impossible_points",
    "observed",
]


Code = float | Fraction
Bound = tuple[float, bool]
"""A split of the reals: left are the numbers up to the first entry, itself included if the second is true."""
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
_MOST_ROWS = 1_000_000  # combinations of values that a function is asked about, or a table lists
_LONGEST = 60
_DEEPEST = 100  # constraints within constraints; each level takes a few of Python's 1,000 calls


class Constraint(ABC):
    """Something that every possible point meets."""

    __slots__ = ()
    kind: ClassVar[str]

    if TYPE_CHECKING:  # read only; at run time a property here would keep constraints from holding these as fields

        @property
        def parts(self) -> tuple[Constraint, ...]:
            """The constraints it is made of; none for one that looks at values."""

        @property
        def names(self) -> tuple[str, ...]:
            """The features it is about, each once."""

    @abstractmethod
    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point, given by the codes of all its features, meets it."""

    @abstractmethod
    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return where it cuts a numeric feature, so that it holds on all of a cell or on nothing of it."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""

    @abstractmethod
    def settled(self, domain: Domain) -> Constraint:
        """Return it as it stands over a domain, functions tabulated; a DomainError if it means nothing there."""

    def __and__(self, other: Constraint) -> Constraint:
        """Return what holds where both do."""
        return All((self, as_constraint(other)))

    def __or__(self, other: Constraint) -> Constraint:
        """Return what holds where one does."""
        return Some((self, as_constraint(other)))

    def __rand__(self, other: Any) -> Constraint:
        """Return what holds where both do."""
        return as_constraint(other) & self

    def __ror__(self, other: Any) -> Constraint:
        """Return what holds where one does."""
        return as_constraint(other) | self

    def __rrshift__(self, other: Any) -> Constraint:
        """Return what holds unless the other holds and this does not."""
        return as_constraint(other) >> self

    def __xor__(self, other: Any) -> NoReturn:
        """Refuse: what people mean by it differs for three."""
        raise DomainError(
            f"Constraints are combined with &, |, ~ and >>, but {self!s} was with ^; write exactly_one(a, b)."
        )

    __rxor__ = __xor__

    def __invert__(self) -> Constraint:
        """Return what holds where this does not."""
        return Not((self,))

    def __rshift__(self, other: Constraint) -> Constraint:
        """Return what holds unless this holds and the other does not."""
        return Implies((self, as_constraint(other)))

    def __bool__(self) -> bool:
        """Refuse: ``and``, ``or``, ``not`` and chained comparisons ask for a truth value that there is none of."""
        raise DomainError(
            f"A constraint is true of points, not by itself, but {self!s} was asked; combine constraints with &, |, ~ "
            "and >>, and write (18 <= age) & (age <= 65)."
        )


@singledispatch
def as_constraint(given: object) -> Constraint:
    """Return what was given, if it is a constraint or, like a circuit, is registered as something that can be one."""
    if isinstance(given, Constraint):
        return given
    raise DomainError(
        f"Expected a constraint, such as feature('age') >= 18, but {quoted(given)} was given; make one so."
    )


@singledispatch
def constraints_in(given: object) -> Iterable[Constraint]:
    """Return the constraints in what ``where`` was given: one, a list, or what is registered here, like a text.

    Examples
    --------
    >>> list(map(str, constraints_in([feature("age") >= 18, feature("married") == "no"])))
    ['age >= 18', "married = 'no'"]
    """
    return (as_constraint(given),)


@constraints_in.register(list)
@constraints_in.register(tuple)
def _(given: Iterable[object]) -> Iterable[Constraint]:
    # A list within a list is refused as what it is: one that holds itself would have no end.
    return [
        c for one in given for c in ((as_constraint(one),) if isinstance(one, list | tuple) else constraints_in(one))
    ]


@dataclass(frozen=True, slots=True)
class _Joined(Constraint):
    """Constraints put together."""

    parts: tuple[Constraint, ...]
    _depth: int = field(init=False, repr=False, compare=False)
    _word: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Raise if constraints within constraints are too deep to be gone through."""
        if self._word:  # "and", "or": what was put together one by one is one list, and not as deep as it is long
            parts = (part.parts if type(part) is type(self) else (part,) for part in self.parts)
            object.__setattr__(self, "parts", tuple(chain.from_iterable(parts)))
        depth = 1 + max((getattr(part, "_depth", 0) for part in self.parts), default=0)
        if depth > _DEEPEST:
            raise DomainError(
                f"Constraints are nested up to {_DEEPEST} deep, but one is deeper; join several with & or |, which lie "
                "side by side, or give them to where one by one."
            )
        object.__setattr__(self, "_depth", depth)

    @property
    def names(self) -> tuple[str, ...]:
        """The features of its parts."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return where its parts cut a feature."""
        return {bound for part in self.parts if feature.name in part.names for bound in part.bounds(feature)}

    def settled(self, domain: Domain) -> Constraint:
        """Return it with its parts settled."""
        return replace(self, parts=tuple(part.settled(domain) for part in self.parts))

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"kind": self.kind, "parts": [part.document() for part in self.parts]}

    def __str__(self) -> str:
        """Return it in words."""
        return f" {self._word} ".join(f"({part})" if part.parts else str(part) for part in self.parts)


class All(_Joined):
    """Holds where all parts do."""

    __slots__ = ()
    kind, _word = "all", "and"

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets all parts."""
        return all(part.holds(codes, domain) for part in self.parts)


class Some(_Joined):
    """Holds where a part does."""

    __slots__ = ()
    kind, _word = "some", "or"

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets a part."""
        return any(part.holds(codes, domain) for part in self.parts)


class Not(_Joined):
    """Holds where its one part does not."""

    __slots__ = ()
    kind = "not"

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point does not meet the part."""
        return not self.parts[0].holds(codes, domain)

    def __str__(self) -> str:
        """Return it in words."""
        return f"not ({self.parts[0]})"


class Implies(_Joined):
    """Holds unless its first part does and its second does not."""

    __slots__ = ()
    kind = "implies"

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets the second part, or not the first."""
        return self.parts[1].holds(codes, domain) or not self.parts[0].holds(codes, domain)

    def __str__(self) -> str:
        """Return it in words."""
        return f"if {self.parts[0]} then {self.parts[1]}"


@dataclass(frozen=True, slots=True)
class Between(_Joined):
    """Holds where at least `least` and at most `most` of its parts do."""

    least: int = 0
    most: int = 1
    kind = "between"

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether so many parts hold at a point."""
        return self.least <= sum(part.holds(codes, domain) for part in self.parts) <= self.most

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {**_Joined.document(self), "least": self.least, "most": self.most}

    def __str__(self) -> str:
        """Return it in words."""
        listed = ", ".join(map(str, self.parts))
        if self.least == self.most:
            return f"exactly {self.least} of: {listed}"
        ends = [f"at least {self.least}"] * bool(self.least) + [f"at most {self.most}"] * (self.most < len(self.parts))
        return f"{' and '.join(ends) or 'any number'} of: {listed}"


def _is_nan(code: Code) -> bool:
    return isinstance(code, float) and math.isnan(code)


def _value(feature: Feature, code: Code) -> Any:
    """Return what a comparison looks at: a category, or a number exactly; None where it is missing."""
    if _is_nan(code):
        return None
    return feature.values[int(code)] if isinstance(feature, Categorical) else Fraction(code)


def _finite(feature: Feature, what: str) -> None:
    if isinstance(feature, Real):
        raise DomainError(
            f"{what} looks at single values, but feature {feature.name!r} is real and no cells can hold that; compare "
            f"it with numbers, as in {feature.name} <= 3, or declare it an integer."
        )


def _check_cut(value: Fraction, feature: Feature, constraint: Constraint) -> None:
    """Raise unless a feature can be cut at a number: cuts are floats."""
    try:
        rounded = float(value)
    except OverflowError as error:
        raise DomainError(
            f"A constraint on {constraint.names[0]!r} has a number beyond floats; give a smaller."
        ) from error
    if isinstance(feature, Real) and Fraction(rounded) != value:
        raise DomainError(f"{constraint} cuts a real feature at a number that is no float64; round it.")


def _is_value(feature: Feature, value: Any) -> bool:
    """Tell whether a feature can have a value; None is a missing one."""
    if value is None:
        return bool(feature.missing)
    if isinstance(feature, Categorical):
        return value in feature.values
    is_inside = isinstance(value, int | float | Fraction) and feature.low <= value <= feature.high
    return is_inside and (isinstance(feature, Real) or value == math.floor(value))


def _every_value(feature: Feature) -> Iterable[Bound]:
    return ((float(k), True) for k in range(feature.low, feature.high)) if isinstance(feature, Integer) else ()


@dataclass(frozen=True, slots=True)
class Compared(Constraint):
    """A feature compared with a number."""

    name: str
    sign: str
    value: Fraction
    kind = "compared"
    parts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The one feature."""
        return (self.name,)

    def settled(self, domain: Domain) -> Constraint:
        """Return it, if the feature has an order."""
        feature = domain.features[domain.index(self.name)]
        odd = next((v for v in getattr(feature, "values", ()) if not isinstance(v, int | float | Fraction)), None)
        if odd is not None:
            raise DomainError(
                f"{self} compares by size, but feature {self.name!r} has the category {odd!r}; use ==, != or isin."
            )
        _check_cut(self.value, feature, self)
        return self

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets it."""
        i = domain.index(self.name)
        value = _value(domain.features[i], codes[i])
        return value is not None and _SIGNS[self.sign](value, self.value)

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return the one cut."""
        if isinstance(feature, Categorical):
            return []
        if isinstance(feature, Integer):
            return [(float(math.floor(self.value) - (self.sign in ("<", ">=") and self.value.denominator == 1)), True)]
        return [(float(self.value), self.sign in ("<=", ">"))]

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"kind": self.kind, "name": self.name, "sign": self.sign, "value": number_text(self.value)}

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.name} {self.sign} {shown(self.value)}"


@dataclass(frozen=True, slots=True)
class Member(Constraint):
    """A feature with one of several values; None among them stands for a missing one.

    If it is `negated`, a feature with another value; a missing one, like in any comparison, is none.
    """

    name: str
    values: tuple[Any, ...]
    negated: bool = False
    is_new: bool = field(default=False, repr=False, compare=False)  # its values were not looked at yet
    is_flag: bool = field(default=False, repr=False, compare=False)  # only a name was given, which stands for 1
    kind = "member"
    parts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The one feature."""
        return (self.name,)

    def settled(self, domain: Domain) -> Constraint:
        """Return it, if the feature knows the values."""
        feature = domain.features[domain.index(self.name)]
        if self.is_flag:
            _check_flag(feature)
        known = feature.values if isinstance(feature, Categorical) else None
        for value in self.values:
            if value is None and not feature.missing:
                raise DomainError(f"{self} asks for a missing value, but feature {self.name!r} is never missing.")
            if value is not None and known is not None and value not in known:
                raise DomainError(f"Feature {self.name!r} has no category {value!r}; it is {feature.describe()}.")
            if value is not None and known is None:
                _check_cut(exact(value, f"value of {self.name!r}"), feature, self)
            # What was read, or seen in data, may know more values; a person who writes one that is none made a slip.
            if self.is_new and not _is_value(feature, value):
                raise DomainError(
                    f"Feature {self.name!r} is {feature.describe()} and never {shown(value)}; correct {self}, or widen "
                    "the domain."
                )
        return replace(self, is_new=False, is_flag=False)

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets it."""
        i = domain.index(self.name)
        value = _value(domain.features[i], codes[i])
        return value is not None and value not in self.values if self.negated else value in self.values

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return cuts to both sides of each value."""
        if isinstance(feature, Categorical):
            return []
        numbers = [float(v) for v in self.values if v is not None]
        if isinstance(feature, Integer):
            return [(edge, True) for v in numbers if v.is_integer() for edge in (v - 1, v)]
        return [(v, closed) for v in numbers for closed in (False, True)]

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        values = [value_text(v) for v in self.values]
        return {"kind": self.kind, "name": self.name, "values": values, "negated": self.negated}

    def __str__(self) -> str:
        """Return it in words."""
        listed = ["missing" if v is None else shown(v, quoted=True) for v in self.values]
        if len(listed) == 1:
            return f"{self.name} {'!=' if self.negated else '='} {listed[0]}"
        return f"{self.name} {'not ' if self.negated else ''}in {{{', '.join(listed)}}}"


def _check_flag(feature: Feature) -> None:
    """Raise unless a feature is 0 or 1, which its bare name takes for granted."""
    if isinstance(feature, Categorical):
        values: set[Any] = set(feature.values)
        other = 1 if 1 in values else feature.values[-1]
    else:
        values = {feature.low, feature.high} if isinstance(feature, Integer) else set()
        other = 1
    if values == {0, 1}:
        return
    advice = f"write feature({feature.name!r}) == {other!r}, if that is meant"
    if isinstance(feature, Real):
        advice += ", or declare it an integer"
    elif values < {0, 1}:
        advice = "leave it out, or give it the bounds 0 and 1"
    raise DomainError(
        f"A name stands for a flag, which is 0 or 1, but feature {feature.name!r} is {feature.describe()}; {advice}."
    )


@dataclass(frozen=True, slots=True)
class Ordered(Constraint):
    """Two discrete features compared with each other."""

    left: str
    sign: str
    right: str
    kind = "ordered"
    parts = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The two features."""
        return (self.left, self.right)

    def settled(self, domain: Domain) -> Constraint:
        """Return it, if both features are discrete and can be compared."""
        pair = [domain.features[domain.index(name)] for name in self.names]
        for feature in pair:
            _finite(feature, str(self))
        kinds = {isinstance(v, str) for f in pair for v in (f.values if isinstance(f, Categorical) else (0,))}
        if len(kinds) > 1 and self.sign not in ("==", "!="):
            raise DomainError(f"{self} compares words with numbers by size, which means nothing; use == or !=.")
        self._check_sizes(pair)
        return self

    def _check_sizes(self, pair: Sequence[Feature]) -> None:
        """Raise unless every value of one feature can be compared with every value of the other."""
        values = [f.values if isinstance(f, Categorical) else (Fraction(0),) for f in pair]
        if all(isinstance(v, str | int | float | Fraction) for row in values for v in row):
            return  # nearly always
        for a, b in product(*values):
            try:
                bool(_SIGNS[self.sign](a, b))
            except Exception as error:  # of categories that have no order, or foreign code
                raise DomainError(
                    f"{self} compares by size, but {quoted(a)} and {quoted(b)} have no order; use == or !=."
                ) from error

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets it."""
        places = [domain.index(name) for name in self.names]
        a, b = (_value(domain.features[i], codes[i]) for i in places)
        return a is not None and b is not None and _SIGNS[self.sign](a, b)

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return a cut after each value."""
        return _every_value(feature)

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"kind": self.kind, "left": self.left, "sign": self.sign, "right": self.right}

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.left} {'=' if self.sign == '==' else self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class Listed(Constraint):
    """Discrete features whose values together are one of the rows of a table."""

    names: tuple[str, ...]
    rows: frozenset[tuple[Any, ...]]
    about: str = ""
    is_new: bool = field(default=False, repr=False, compare=False)  # its values were not looked at yet
    kind = "listed"
    parts = ()

    def settled(self, domain: Domain) -> Constraint:
        """Return it, if the features are discrete and, as far as a person wrote the rows, know their values."""
        features = [domain.features[domain.index(name)] for name in self.names]
        for feature in features:
            _finite(feature, f"A table of values of ({', '.join(self.names)})")
        odd = next((row for row in self.rows if len(row) != len(self.names)), None)
        if odd is not None:
            raise DomainError(
                f"A table of {len(self.names)} features needs rows of as many values, but {odd!r} is one."
            )
        if not self.is_new:  # of a document, which may be older than this check, or settled before
            return self
        for feature, column in zip(features, zip(*self.rows, strict=True), strict=False):
            for value in dict.fromkeys(column):
                if not _is_value(feature, value):
                    raise DomainError(
                        f"Feature {feature.name!r} must be {feature.describe()}, but a row of values for "
                        f"({', '.join(self.names)}) has {'a missing one' if value is None else quoted(value)}; correct "
                        "or leave out the row, or widen the domain."
                    )
        return replace(self, is_new=False)

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets it."""
        places = [domain.index(name) for name in self.names]
        return tuple(_value(domain.features[i], codes[i]) for i in places) in self.rows

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return a cut after each value."""
        return _every_value(feature)

    def document(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        rows = sorted(([value_text(v) for v in row] for row in self.rows), key=repr)  # the same order each time
        return {"kind": self.kind, "names": list(self.names), "rows": rows, "about": self.about}

    def __str__(self) -> str:
        """Return it in words."""
        one = "the only allowed combination" if len(self.rows) == 1 else f"one of {len(self.rows)} allowed combinations"
        return self.about or f"({', '.join(self.names)}) is {one}"


@dataclass(frozen=True, slots=True)
class Checked(Constraint):
    """A Python function of a few discrete features, which is tabulated once the domain is known."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    words: str = ""
    kind = "checked"
    parts = ()

    def settled(self, domain: Domain) -> Constraint:
        """Return the table of the values for which the function holds."""
        from axfi_kc.domain.domain import values_of

        features = [domain.features[domain.index(name)] for name in self.names]
        for f in features:
            _finite(f, f"A function of ({', '.join(self.names)})")
        size = math.prod(f.size or 0 for f in features)
        if size > _MOST_ROWS:
            raise DomainError(
                f"{self} is asked about {size} combinations of values, more than {_MOST_ROWS}; name fewer."
            )
        rows = frozenset(row for row in product(*map(values_of, features)) if self._asked(row))
        return Listed(self.names, rows, about=str(self))

    def _asked(self, row: tuple[Any, ...]) -> bool:
        try:
            found = self.function(*row)
        except Exception as error:  # whatever a user's function may raise
            raise DomainError(
                f"{self} should tell whether values can exist, but for {row!r} it raises {error!r}; it is asked about "
                "every combination, with None where a value may be missing."
            ) from error
        if isinstance(found, bool | np.bool_):
            return bool(found)
        # None would be a forgotten return, and a number or text, which are true as well, a forgotten comparison.
        raise DomainError(
            f"{self} should return True or False, but for {row!r} it returns {quoted(found)}; return a comparison, or "
            "bool(...) of what is meant."
        )

    def holds(self, codes: Sequence[Code], domain: Domain) -> bool:
        """Tell whether a point meets it."""
        places = [domain.index(name) for name in self.names]
        return self._asked(tuple(_value(domain.features[i], codes[i]) for i in places))

    def bounds(self, feature: Feature) -> Iterable[Bound]:
        """Return a cut after each value."""
        return _every_value(feature)

    def document(self) -> dict[str, Any]:
        """Refuse: a function has no text."""
        raise DomainError(f"{self} is a function, which no file can hold; give it to domain.where, which tabulates it.")

    def __str__(self) -> str:
        """Return it in words."""
        return self.words or f"{getattr(self.function, '__name__', 'check')}({', '.join(self.names)})"


class Term:
    """A feature by its name, to be compared; see :func:`feature`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def _against(self, sign: str, other: Any) -> Constraint:
        if isinstance(other, Term):
            return Ordered(self.name, sign, other.name)
        if sign in ("==", "!="):
            value = _plain(other)
            # "Not missing" is a negation; any other value is a comparison, which a missing one does not meet.
            member = Member(self.name, (value,), negated=sign == "!=" and value is not None, is_new=True)
            return Not((member,)) if sign == "!=" and value is None else member
        return Compared(self.name, sign, exact(other, f"number that {self.name!r} is compared with"))

    def __lt__(self, other: Any) -> Constraint:
        """Return the comparison."""
        return self._against("<", other)

    def __le__(self, other: Any) -> Constraint:
        """Return the comparison."""
        return self._against("<=", other)

    def __gt__(self, other: Any) -> Constraint:
        """Return the comparison."""
        return self._against(">", other)

    def __ge__(self, other: Any) -> Constraint:
        """Return the comparison."""
        return self._against(">=", other)

    def __eq__(self, other: Any) -> Constraint:  # type: ignore[override]
        """Return the comparison."""
        return self._against("==", other)

    def __ne__(self, other: Any) -> Constraint:  # type: ignore[override]
        """Return the comparison."""
        return self._against("!=", other)

    __hash__ = None  # type: ignore[assignment]

    def _uncompared(self, *_: Any) -> NoReturn:
        """Refuse: a feature is no constraint before it is compared."""
        raise DomainError(
            f"Expected a constraint, but {self!r} is a feature that nothing is compared with; write {self!r} == 1."
        )

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __rshift__ = __rrshift__ = _uncompared
    __invert__ = __bool__ = _uncompared

    def _calculated(self, *_: Any) -> NoReturn:
        """Refuse: cells of features cannot hold what is calculated of them."""
        raise DomainError(
            f"Features are compared and not calculated with, but {self!r} was; compare it with a number, as in "
            f"{self!r} <= 3, or use check with a function of several."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _calculated
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _calculated
    __neg__ = __pos__ = __abs__ = _calculated

    def isin(self, values: Iterable[Any]) -> Constraint:
        """Return the constraint that the feature has one of `values`."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise DomainError(f"isin takes a list of values, but {quoted(values)} was given.")
        # A set of texts has another order in each process, by which a run could not tell that it is the same again.
        found = tuple(map(_plain, sorted(values, key=repr) if isinstance(values, Set) else values))
        if not found:
            raise DomainError(f"isin takes a list of values, but for {self.name!r} it is empty; name at least one.")
        return Member(self.name, found, is_new=True)

    def __repr__(self) -> str:
        """Return how it was made."""
        return f"feature({self.name!r})"


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if is_missing(plain) else plain


def feature(name: str) -> Term:
    """Return a feature to be compared in a constraint.

    Examples
    --------
    >>> age, married = feature("age"), feature("married")
    >>> print((age >= 18) | (married == "no"))
    age >= 18 or married = 'no'
    >>> print(~(age < 18) & (married == "yes"))
    (not (age < 18)) and married = 'yes'
    """
    try:
        return Term(str(name))
    except Exception as error:  # foreign code
        raise DomainError(f"The name of a feature is text, but {quoted(name)} was given; give a name.") from error


def _flags(given: Sequence[Any], what: str) -> tuple[Constraint, ...]:
    parts = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
    if not parts:
        raise DomainError(f"{what} takes features or constraints, but none were given; name at least one.")
    found = [Member(p, (1,), is_new=True, is_flag=True) if isinstance(p, str) else as_constraint(p) for p in parts]
    seen: set[Constraint] = set()
    for part in filter(is_hashable, found):
        if part in seen:
            raise DomainError(f"{what} counts parts that differ, but {part} was given twice; name each once.")
        seen.add(part)
    return tuple(found)


def at_most_one(*parts: str | Constraint) -> Constraint:
    """Return the constraint that at most one part holds; a name stands for a feature of 0 and 1 that is 1.

    Parts are given one by one or as a list, each once.

    Raises
    ------
    DomainError
        If there are less than two parts, which exclude nothing, or one of them comes twice. Over a domain, if a name is
        that of another feature than one of 0 and 1.

    Examples
    --------
    >>> print(at_most_one("asian", "hispanic"))
    at most 1 of: asian = 1, hispanic = 1
    """
    found = _flags(parts, "at_most_one")
    if len(found) == 1:
        raise DomainError(
            f"at_most_one of one part excludes nothing, but only {found[0]} was given; name at least two."
        )
    return Between(found, 0, 1)


def at_least_one(*parts: str | Constraint) -> Constraint:
    """Return the constraint that at least one part holds; parts are those of :func:`at_most_one`.

    Examples
    --------
    >>> print(at_least_one("asian", feature("age") < 30))
    at least 1 of: asian = 1, age < 30
    """
    found = _flags(parts, "at_least_one")
    return Between(found, 1, len(found))


def exactly_one(*parts: str | Constraint) -> Constraint:
    """Return the constraint that exactly one part holds; parts are those of :func:`at_most_one`.

    Examples
    --------
    >>> print(exactly_one(["asian", "hispanic"]))
    exactly 1 of: asian = 1, hispanic = 1
    """
    return Between(_flags(parts, "exactly_one"), 1, 1)


@checked("names")
def allowed(names: Sequence[str], rows: Any) -> Constraint:
    """Return the constraint that discrete features have the values of one of the rows, in the order of `names`.

    Rows may be a frame, whose columns of these names are taken. Over a domain each value must be one of its feature.

    Examples
    --------
    >>> print(allowed(["a", "b"], [(0, 1), (1, 0)]))
    (a, b) is one of 2 allowed combinations
    """
    named = _distinct(names)
    given = _columns(rows, named, "allowed") if is_frame(rows) else rows
    return Listed(named, _rows(given, named, "allowed"), is_new=True)


@checked("names")
def observed(X: Any, names: Sequence[str]) -> Constraint:
    """Return the constraint that features have values that occur together in some row of a frame.

    Over a domain each value must be one of its feature: leave out the rows of the frame that lie outside.
    """
    if not is_frame(X):
        raise DomainError(f"observed takes a frame with the columns {list(names)}, but {type(X).__name__} was given.")
    named = _distinct(names)
    rows = _rows(_columns(X, named, "observed"), named, "observed")
    one = "the only combination" if len(rows) == 1 else f"one of the {len(rows)} combinations"
    about = f"({', '.join(named)}) as in {one} observed"
    return Listed(named, rows, about=about, is_new=True)


def _columns(X: Any, names: Sequence[str], what: str) -> Iterable[tuple[Any, ...]]:
    """Return the rows of some columns of a frame."""
    found = list(X.columns)
    for name in names:
        if found.count(name) != 1:
            raise DomainError(
                f"{what} takes a frame with one column {name!r}, but {found.count(name) or 'none'} were found; name "
                "its columns so."
            )
    return zip(*(X[name].to_numpy().tolist() for name in names), strict=True)


def _rows(given: Any, names: Sequence[str], what: str) -> frozenset[tuple[Any, ...]]:
    """Return rows of values, each once."""
    expected = f"{what} takes rows of a value for each of {list(names)}"
    if not is_listable(given) or isinstance(given, Mapping):
        raise DomainError(f"{expected}, but {quoted(given)} was given; give a list of tuples.")
    found = set()
    for row in given:
        if not is_listable(row) or isinstance(row, Mapping):
            raise DomainError(f"{expected}, but {quoted(row)} is one; give a list of tuples.")
        plain = tuple(map(_plain, row))
        odd = next((value for value in plain if not is_hashable(value)), None)
        if odd is not None:
            raise DomainError(f"{expected}, but {quoted(odd)} can be no value; give text or numbers.")
        found.add(plain)
    if not found:
        raise DomainError(f"{expected}, but there are none, so that nothing could exist; give at least one.")
    return frozenset(found)


@checked("names", "words")
def check(function: Callable[..., Any], names: Sequence[str], *, words: str | None = None) -> Constraint:
    """Return the constraint that a function of the values of discrete features, in the order of `names`, is true.

    Parameters
    ----------
    function
        Asked about every combination of values when it meets a domain, None standing for a missing one. It must return
        True or False, Python's or NumPy's; a 0, a 1 or a None is refused, because it may be a slip.
    names
        The features.
    words
        What the constraint is called wherever it is shown; the function's name and the features by default.

    Examples
    --------
    >>> print(check(lambda start, end: start < end, ["start", "end"], words="it starts before it ends"))
    it starts before it ends
    >>> from operator import lt
    >>> print(check(lt, ["start", "end"]))
    lt(start, end)
    """
    if not callable(function):
        raise DomainError(f"check takes a function of the values of features, but {quoted(function)} was given.")
    return Checked(function, _distinct(names), words or "")


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    found = [] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in found) or len(set(found)) != len(found) or isinstance(names, str):
        raise DomainError(f"Expected a list of different features, but {quoted(names)} was given; name each once.")
    return tuple(found)


def _said(document: Mapping[str, Any], key: str, kind: type = str) -> Any:
    """Return an entry of a document, which must be of a kind: what was read may be anything."""
    found = document[key]
    if type(found) is not kind:
        raise TypeError(f"{key} should be {kind.__name__}")
    return found


def _sign_said(document: Mapping[str, Any]) -> str:
    sign: str = _said(document, "sign")
    if sign not in _SIGNS:
        raise ValueError(f"no sign: {sign}")
    return sign


CONSTRAINTS: dict[str, Callable[[Mapping[str, Any]], Constraint]] = {
    "all": lambda d: All(_parts(d)),
    "some": lambda d: Some(_parts(d)),
    "not": lambda d: Not(_parts(d, 1)),
    "implies": lambda d: Implies(_parts(d, 2)),
    "between": lambda d: Between(_parts(d), _said(d, "least", int), _said(d, "most", int)),
    "compared": lambda d: Compared(_said(d, "name"), _sign_said(d), number_of(d["value"], "number")),
    "member": lambda d: Member(_said(d, "name"), tuple(map(value_of, d["values"])), bool(d.get("negated", False))),
    "ordered": lambda d: Ordered(_said(d, "left"), _sign_said(d), _said(d, "right")),
    "listed": lambda d: Listed(
        _distinct(d["names"]), frozenset(tuple(map(value_of, row)) for row in d["rows"]), about=_said(d, "about")
    ),
}
"""How each kind of constraint is read back from what :meth:`Constraint.document` gives."""


def _parts(document: Mapping[str, Any], number: int | None = None) -> tuple[Constraint, ...]:
    parts = tuple(map(constraint_of, document["parts"]))
    if number not in (None, len(parts)):
        raise ValueError(f"{len(parts)} parts instead of {number}")
    return parts


def constraint_of(document: Any) -> Constraint:
    """Return the constraint that a document describes.

    Raises
    ------
    DomainError
        If it describes none.

    Examples
    --------
    >>> print(constraint_of((feature("age") >= 18).document()))
    age >= 18
    """
    try:
        return CONSTRAINTS[document["kind"]](document)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DomainError(
            f"Expected a constraint, but this describes none: {abridged(repr(document), _LONGEST)}."
        ) from error


_MOST_NAMED = 3  # violated constraints in a message


def impossible_points(domain: Domain, codes: npt.NDArray[np.float64]) -> dict[int, DomainError]:
    """Return, by their places, why points, given by their codes, cannot exist: the constraints that each violates.

    Notes
    -----
    Each combination of values that a constraint is about is looked at once.
    """
    violated: dict[int, list[Constraint]] = {}
    for constraint in domain.constraints:
        places = [domain.index(name) for name in constraint.names]
        distinct, first, which = np.unique(codes[:, places], axis=0, return_index=True, return_inverse=True)
        bad = []
        for k, (row, n) in enumerate(zip(distinct.tolist(), first.tolist(), strict=True)):
            point = codes[n].tolist()
            for i, code in zip(places, row, strict=True):
                point[i] = code
            if not constraint.holds(point, domain):
                bad.append(k)
        for n in np.flatnonzero(np.isin(which.reshape(-1), bad)).tolist():
            violated.setdefault(n, []).append(constraint)
    return {n: _impossible(constraints) for n, constraints in violated.items()}


def _impossible(violated: Sequence[Constraint]) -> DomainError:
    n = len(violated)
    named = "; ".join(map(str, violated[:_MOST_NAMED])) + f"; and {n - _MOST_NAMED} more" * (n > _MOST_NAMED)
    which, them = ("a constraint", "the constraint") if n == 1 else (f"{n} constraints", "the constraints")
    return DomainError(
        f"The instance cannot exist, because it violates {which} of its domain: {named}; correct it, or {them}."
    )


def check_possible(domain: Domain, codes: npt.NDArray[np.float64]) -> None:
    """Raise unless every point, given by its codes, meets the constraints of its domain."""
    wrong = impossible_points(domain, codes)
    if wrong:
        n = min(wrong)
        raise wrong[n] if len(codes) == 1 else DomainError(f"Row {n}: {wrong[n]}")
