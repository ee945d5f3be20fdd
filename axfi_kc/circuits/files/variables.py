"""Which Boolean variable of a file says what about which feature, and the comments in which our own files say so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from axfi_kc.arguments import checked, quoted, whole
from axfi_kc.circuits.files.text_lines import Source, integers
from axfi_kc.circuits.queries.structure import complete_order
from axfi_kc.circuits.targets.bit_codes import Bit, bits_of
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Integer, Real
from axfi_kc.domain.grid import Axis, Cut, Grid
from axfi_kc.domain.measures import Histogram, Weights
from axfi_kc.errors import AxfiError, CircuitError, ModelFileError

__all__ = [
    "MOST_NAMES",
    "Variables",
    "boolean_domain",
    "check_same_domain",
    "described_axis",
    "described_variables",
    "description",
    "grid_of_axes",
    "is_describable",
    "is_described",
    "outer_names",
]


@dataclass(frozen=True, slots=True)
class Variables:
    """The Boolean variables of a file; variable k + 1 is ``bits[k]``.

    Attributes
    ----------
    grid
        The cells that the bits encode.
    bits
        What each variable says; None for an auxiliary variable, which the others define and
        which is forgotten when a circuit is read.

    Examples
    --------
    >>> from axfi_kc.domain import Categorical, Domain, Integer
    >>> grid = Grid.of_values(Domain([Categorical("a", "xyz"), Integer("b", 0, 1)]))
    >>> [bit.name for bit in Variables.of_code(grid).bits]
    ['x0_0', 'x0_1', 'x0_2', 'x1_0']
    >>> [tuple(bit.cells) for bit in Variables.of_literals(grid, [[1, 2, 3], [4, -4]]).bits]
    [(0,), (1,), (2,), (0,)]
    """

    grid: Grid
    bits: tuple[Bit | None, ...]

    @classmethod
    @checked("grid", "code", "order")
    def of_code(cls, grid: Grid, *, code: str = "direct", order: Sequence[int] | None = None) -> Variables:
        """Return the bits of each feature one after the other.

        Parameters
        ----------
        grid
            The cells.
        code
            "direct" (bit k says: cell = k), "order" (cell > k) or "binary"; a feature of two cells has one bit.
        order
            Every feature once; the domain's order by default.

        Raises
        ------
        CircuitError
            If the code is unknown, or the order is none.
        """
        features = complete_order(range(len(grid.axes)) if order is None else order, len(grid.axes))
        return cls(grid, tuple(bit for i in features for bit in bits_of(grid, i, code=code)))

    @classmethod
    @checked("grid", "literals")
    def of_literals(cls, grid: Grid, literals: Sequence[Sequence[int]]) -> Variables:
        """Return the bits by the literal that says each value.

        Parameters
        ----------
        grid
            The cells.
        literals
            For each feature and each of its cells, the literal that is true on this cell and false on the
            feature's others: ``[1, -1]`` for two cells in one variable, ``[3, 4, 5]`` for a variable each.

        Raises
        ------
        CircuitError
            If a cell lacks its literal, a variable belongs to two features or to none, or its signs disagree.
        """
        bits: dict[int, Bit] = {}
        given = list(literals)
        if len(given) != len(grid.axes):
            raise CircuitError(
                f"Expected the literals of {len(grid.axes)} features, but those of {len(given)} were given; add a list "
                "for each feature."
            )
        for feature, row in enumerate(given):
            for variable, cells in _cells_of(grid, feature, row).items():
                if variable in bits:
                    raise CircuitError(
                        f"Each variable must belong to one feature, but variable {variable} belongs to features "
                        f"{bits[variable].feature} and {feature}; renumber it."
                    )
                bits[variable] = Bit(f"v{variable}", feature, cells)
        # Different numbers from 1 on have no gap exactly when the largest is as large as there are numbers.
        if bits and max(bits) != len(bits):
            missing = next(v for v in range(1, len(bits) + 1) if v not in bits)
            raise CircuitError(
                f"Variables must be numbered from 1 without gaps, but variable {missing} belongs to no feature and "
                f"variable {max(bits)} does; renumber them."
            )
        return cls(grid, tuple(bits[v] for v in sorted(bits)))

    @classmethod
    @checked("domain", "code")
    def given(cls, domain: Domain | None, variables: Variables | None, code: str, *, kind: str) -> Variables:
        """Return `variables`, or those of the code of a domain; a file of this kind does not say them itself."""
        if variables is not None:
            return variables
        if domain is None:
            raise CircuitError(f"{kind} does not say what its variables mean; pass domain= or variables=.")
        return cls.of_code(Grid.of_values(domain), code=code)

    @property
    def words(self) -> tuple[str, ...]:
        """What each variable says where it is true, from variable 1 on.

        Examples
        --------
        >>> from axfi_kc.domain import Categorical, Domain, Integer
        >>> domain = Domain([Integer("flag", 0, 1), Categorical("job", ["none", "clerk", "cook"])])
        >>> Variables.of_code(Grid.of_values(domain)).words
        ('flag = 1', "job = 'none'", "job = 'clerk'", "job = 'cook'")
        """
        axes = self.grid.axes
        return tuple("auxiliary" if b is None else _said(axes[b.feature], tuple(b.cells)) for b in self.bits)

    @property
    def has_auxiliary(self) -> bool:
        """Whether some variable is to be forgotten."""
        return None in self.bits

    @checked("n_variables")
    def with_auxiliary(self, n_variables: int) -> Variables:
        """Return these variables followed by auxiliary ones, `n_variables` in all."""
        more = whole(n_variables, "n_variables", least=len(self.bits), most=1 << 31) - len(self.bits)
        return Variables(self.grid, self.bits + (None,) * more)


_MOST_GIVEN = 500_000  # names that can be meant: a megabyte of text is no list of letters
MOST_NAMES = 100_000
"""How many variables of clauses may become features of their own; a header of millions is easily written."""


def boolean_domain(names: Iterable[str]) -> Domain:
    """Return features with the values 0 and 1 of these names.

    Raises
    ------
    CircuitError
        If there is no name, or more than can be meant.
    DomainError
        If a name comes twice.
    """
    given = list(names)
    if not given:
        raise CircuitError("A circuit needs a variable, but no name was given; name one, or pass domain=.")
    if len(given) > _MOST_GIVEN:
        raise CircuitError(f"At most {_MOST_GIVEN} variables can be named, but {len(given)} were; pass domain=.")
    return Domain([Integer(str(name), 0, 1) for name in given])


def outer_names(grid: Grid, bits: Sequence[Bit | None]) -> list[str]:
    """Return what variables are called outside: as their feature, with the bit's number where it has several.

    Examples
    --------
    >>> grid = Grid.of_values(Domain([Categorical("colour", "xyz"), Integer("b", 0, 1)]))
    >>> outer_names(grid, Variables.of_code(grid).bits)
    ['colour_0', 'colour_1', 'colour_2', 'b']
    """
    names, n_cells = grid.domain.names, grid.n_cells
    found = [
        f"aux{k}"
        if bit is None
        else names[bit.feature] + ("" if n_cells[bit.feature] == 2 else bit.name[bit.name.rindex("_") :])
        for k, bit in enumerate(bits, 1)
    ]
    # A feature may be called as another one's bit; then bits keep their inner names.
    return found if len(set(found)) == len(found) else [f"v{k}" if b is None else b.name for k, b in enumerate(bits, 1)]


def _cells_of(grid: Grid, feature: int, literals: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the variables of a feature, each with the cells on which it is 1."""
    n, name = grid.n_cells[feature], grid.axes[feature].feature.name
    if len(literals) != n or 0 in literals or len(set(literals)) != n:
        raise CircuitError(
            f"Feature {name!r} has {n} values and needs as many different literals, none of them 0, but "
            f"{str(list(literals))[:80]} was given; give one per value."
        )
    if n > 2 and len({abs(k) for k in literals}) != n:
        raise CircuitError(
            f"Both signs of a variable can only tell two values apart, but feature {name!r} has {n}; give each value "
            "a variable of its own."
        )
    cells: dict[int, tuple[int, ...]] = {}
    for cell, literal in enumerate(literals):
        # A negative literal is true on its cell, so its variable is 1 on all others. [1, -1] says the same cells twice.
        others = tuple(c for c in range(n) if c != cell) if literal < 0 else ()
        cells.setdefault(abs(literal), others if literal < 0 else (cell,))
    return cells


_LONGEST_NUMBER = 1_000  # characters of a fraction


def is_describable(grid: Grid) -> bool:
    """Tell whether the values of every feature can be written as JSON and read back the same."""
    features = [axis.feature for axis in grid.axes if isinstance(axis.feature, Categorical)]
    entries = [*(v for f in features for v in f.values), *(c for f in features for code in f.codes for c in code)]
    # By exact type: a subclass, such as numpy's float64, would be read back as another type.
    return all(type(entry) in (str, int, bool, float, type(None)) for entry in entries)


def described_axis(axis: Axis) -> str:
    """Return a feature, its measure and its cuts as a line of JSON.

    Examples
    --------
    >>> described_axis(Axis.of_values(Categorical("colour", ["red", "blue"])))
    '{"kind": "categorical", "name": "colour", "values": ["red", "blue"]}'
    """
    feature = axis.feature
    entry: dict[str, Any] = {"kind": feature.kind, "name": feature.name}
    if isinstance(feature, Categorical):
        entry["values"] = list(feature.values)
        if len(feature.columns) > 1 or feature.columns != (feature.name,):
            entry |= {"columns": list(feature.columns), "codes": [list(code) for code in feature.codes]}
    else:
        entry |= {"low": str(feature.low), "high": str(feature.high)}
        # Cuts are floats and hexadecimal, read back bit for bit; bounds are fractions, which no JSON number holds.
        entry["cuts"] = [[cut.value.hex(), cut.closed] for cut in axis.cuts]
    if isinstance(feature.measure, Histogram):
        entry["edges"] = [str(edge) for edge in feature.measure.edges]
    if isinstance(feature.measure, Weights | Histogram):
        entry["weights"] = [str(share) for share in feature.measure.shares]
    if feature.missing:
        entry["missing"] = str(feature.missing)
    return json.dumps(entry)


def grid_of_axes(lines: Iterable[bytes]) -> Grid:
    """Return the grid that lines of :func:`described_axis` describe.

    Raises
    ------
    ValueError
        With a reason, if they describe none.
    """
    try:
        axes = [_axis(json.loads(line)) for line in lines]
        return Grid(Domain([axis.feature for axis in axes]), tuple(axes))
    except RecursionError:
        raise ValueError("its description is nested too deeply") from None
    except (AxfiError, KeyError, TypeError, AttributeError, OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"it describes no feature ({type(error).__name__}: {error})") from error


def _axis(entry: Any) -> Axis:
    feature = _feature(entry)
    if isinstance(feature, Categorical):
        return Axis.of(feature)
    return Axis.of(feature, [Cut(float.fromhex(value), bool(closed)) for value, closed in entry["cuts"]])


def _feature(entry: Any) -> Feature:
    name, kind = entry["name"], entry["kind"]
    weights = _fractions(entry["weights"]) if "weights" in entry else None
    if not isinstance(name, str):
        raise TypeError("a name must be text")
    missing = _fractions([entry.get("missing", "0")])[0]
    if kind == "categorical":
        coded = {"columns": entry.get("columns"), "codes": entry.get("codes")}
        return Categorical(name, entry["values"], weights=weights, missing=missing, **coded)
    low, high = _fractions([entry["low"], entry["high"]])
    if kind == "integer":
        return Integer(name, low, high, weights=weights, missing=missing)  # it checks them
    if kind == "real":
        histogram = None if weights is None else Histogram(_fractions(entry["edges"]), weights)
        return Real(name, low, high, histogram=histogram, missing=missing)
    raise KeyError(f"kind {kind!r}")


def _fractions(texts: Sequence[str]) -> list[Fraction]:
    # Files come from anywhere, and Fraction writes out exponents: 1e999999999 would fill the memory.
    if any(len(text) > _LONGEST_NUMBER or "e" in text.lower() for text in texts):
        raise ValueError("a number is too long")
    return [Fraction(text) for text in texts]


def description(grid: Grid, code: str, *, order: Sequence[int] | None = None) -> list[str]:
    """Return comment lines that say what variables mean, in an order of features; none if values cannot be written."""
    if not is_describable(grid):
        return []
    said = [] if order is None else ["c axfi order " + " ".join(map(str, order))]
    return [f"c axfi code {code}", *said, *(f"c axfi feature {described_axis(axis)}" for axis in grid.axes)]


def _said(axis: Axis, cells: tuple[int, ...]) -> str:
    """Return in words that a feature is in some of its cells; the last integer is that, and not "from it up"."""
    feature = axis.feature
    is_one = len(cells) == 1 and cells[0] != axis.missing_cell
    if isinstance(feature, Integer) and is_one and len(axis.cuts) == feature.high - feature.low:
        return f"{feature.name} = {feature.low + cells[0]}"
    return axis.describe(cells)


def described_variables(
    source: Source, domain: Domain | None, code: str | None, *, default: str = "direct"
) -> Variables:
    """Return the numbering that the caller or else the file names.

    Parameters
    ----------
    source
        A file that may begin with lines of :func:`description`.
    domain
        The features, if the caller names them; the file's must be the same, or names of some of them.
    code
        The code, if the caller names one.
    default
        The code, if nobody does.

    Raises
    ------
    ModelFileError
        If the description is damaged or one of another domain.
    CircuitError
        If neither file nor caller says what the features are.
    """
    said: dict[bytes, list[bytes]] = {b"code": [], b"order": [], b"names": [], b"feature": []}
    for _, line in source.beginning():
        if not line.startswith(b"c axfi "):
            if line[:1] not in (b"c", b"\r", b""):
                break
            continue
        words = line.split(None, 3)
        if len(words) != 4 or words[2] not in said:
            raise ModelFileError(
                f"{source.name}: expected 'c axfi' and a code, an order, names or a feature, but found "
                f"{line[:60]!r}; remove the line and pass domain=."
            )
        said[words[2]].append(words[3].strip())
    if code is None:
        code = said[b"code"][0].decode("ascii", "replace") if said[b"code"] else default
    order = integers(said[b"order"][0].split()) if said[b"order"] else None
    if domain is not None and said[b"names"]:
        domain = _part(source, domain, said[b"names"][0])
    return Variables.of_code(_grid(source, said[b"feature"], domain), code=code, order=order)


def _part(source: Source, domain: Domain, line: bytes) -> Domain:
    """Return the features of a domain that a list in JSON names, in its order."""
    try:
        names = json.loads(line)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ModelFileError(
            f'{source.name}: expected names of features, as in \'c axfi names ["a", "b"]\', but found '
            f"{line[:60]!r}; write them so."
        )
    return Domain([domain.features[domain.index(name)] for name in names])


def is_described(source: Source) -> bool:
    """Tell whether a file begins with lines of :func:`description`."""
    return any(line.startswith(b"c axfi feature ") for _, line in source.beginning())


def _grid(source: Source, features: list[bytes], domain: Domain | None) -> Grid:
    """Return the grid that the file describes if it is one of `domain`, else the domain's values."""
    if domain is not None and not features:
        return Grid.of_values(domain)
    grid = _described(source, features)
    if domain is not None:
        check_same_domain(source.name, domain, grid.domain)
    return grid


def check_same_domain(name: str, given: Domain, described: Domain) -> None:
    """Refuse a domain that differs from the one that a file describes.

    Raises
    ------
    ModelFileError
        If they differ. It names the first difference, which may be one of columns: domains do not print these.
    """
    if given != described:
        raise ModelFileError(
            f"{name}: expected a circuit over the domain that was given, but {_difference(given, described)}; pass the "
            "domain that it was written for, or none."
        )


_WORDS = {"low": "the lower bound", "high": "the upper bound", "missing": "a share of missing values of"}


def _difference(given: Domain, described: Domain) -> str:
    if given.names != described.names:
        return f"the file has the features {quoted(described.names)} and the domain {quoted(given.names)}"
    for mine, other in zip(given.features, described.features, strict=True):
        if mine.kind != other.kind:
            return f"feature {mine.name!r} is {other.kind} in the file and {mine.kind} in the domain"
        for name in (entry.name for entry in fields(mine) if entry.compare):
            here, there = getattr(mine, name), getattr(other, name)
            if here != there:
                words = _WORDS.get(name, f"the {name}")
                return f"feature {mine.name!r} has {words} {quoted(there)} in the file and {quoted(here)} in the domain"
    return "the domain has rules or a joint distribution, which files of circuits do not hold"


def _described(source: Source, features: list[bytes]) -> Grid:
    if not features:
        raise CircuitError(
            f"{source.name} does not say what its variables mean, and neither a domain nor variables were given; "
            "pass domain= or variables=."
        )
    try:
        return grid_of_axes(features)
    except ValueError as error:
        raise ModelFileError(
            f"{source.name}: expected a description of the features, but {error}; remove it and pass domain=."
        ) from error
