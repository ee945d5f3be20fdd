"""What readers check before they use it: columns, categories, leaf vectors, entries of JSON and UBJSON documents.

Numbers with a fraction or exponent keep their text until it is known that they are float32, so
that they are rounded once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer
from axfi_kc.domain.from_tables import listing
from axfi_kc.domain.measures import shown
from axfi_kc.errors import DomainError, ModelFileError, UnsupportedModelError
from axfi_kc.json_text import distinct_keys
from axfi_kc.models import Argmax, TreeNodes, TreeSum
from axfi_kc.models.base import reading

__all__ = [
    "Floats",
    "Ints",
    "Literal",
    "check_columns",
    "check_finite",
    "check_float32",
    "check_known_categories",
    "check_range",
    "check_size",
    "check_whole_codes",
    "codes_of_column",
    "constant",
    "count",
    "counts",
    "differing",
    "each_tree",
    "float_lists",
    "floats",
    "int_lists",
    "ints",
    "of_one_class",
    "parse_json",
    "part",
    "rounded",
    "spread",
]


_T = TypeVar("_T")
_BEYOND_FLOAT32 = 2**128 - 2**103  # the least number that float32 rounds to infinity


def check_columns(domain: Domain, n_columns: int, names: Sequence[str] | None = None) -> None:
    """Raise unless the domain describes the columns that a model was trained on.

    Parameters
    ----------
    domain
        The domain to check.
    n_columns
        How many columns the model was trained on.
    names
        Their names, where the model knows them.
    """
    if len(domain.columns) != n_columns:
        raise DomainError(
            f"The model was trained on {n_columns} columns, but the domain describes {len(domain.columns)}"
            f"{differing(names, domain)}; make the domain from the data the model was trained on."
        )
    odd = next(((a, b) for a, b in zip(names or (), domain.columns, strict=False) if a != b), None)
    if odd is not None:
        raise DomainError(
            f"The model was trained on column {odd[0]!r} where the domain has {odd[1]!r}; "
            "give the domain the same columns in the same order."
        )


def differing(names: Sequence[str] | None, domain: Domain) -> str:
    """Return in parentheses which columns the model knows and the domain has not, and the other way round.

    Examples
    --------
    >>> from axfi_kc.domain.features import Integer
    >>> differing(["a", "b"], Domain([Integer("b", 0, 1), Integer("id", 0, 9)]))
    " (without 'a'; with 'id', which the model does not know)"
    """
    known, columns = list(names or ()), domain.columns
    lacking, strange = [n for n in known if n not in columns], [c for c in columns if known and c not in known]
    parts = [f"without {listing(lacking)}"] if lacking else []
    parts += [f"with {listing(strange)}, which the model does not know"] if strange else []
    return f" ({'; '.join(parts)})" if parts else ""


def check_float32(domain: Domain, model: Any) -> None:
    """Raise if a value of the domain is too large for float32: a model whose ``predict`` refuses it says nothing there.

    Examples
    --------
    >>> from axfi_kc.domain.features import Real
    >>> check_float32(Domain([Real("x", 0, 3e38)]), None)
    """
    for feature in domain.features:
        if isinstance(feature, Categorical):
            most = max((Fraction(abs(c)) for code in feature.codes for c in code if _is_finite(c)), default=Fraction(0))
        else:
            most = max(abs(Fraction(feature.low)), abs(Fraction(feature.high)))
        if most >= _BEYOND_FLOAT32:
            raise DomainError(
                f"{type(model).__name__} predicts for numbers that float32 holds, up to about 3.4e38, but the domain "
                f"has feature {feature.name!r} up to {shown(most)}; narrow the domain."
            )


def _is_finite(code: Any) -> bool:
    return isinstance(code, int | float) and math.isfinite(code)


def codes_of_column(domain: Domain, column: int) -> tuple[str, Iterable[Any]]:
    """Return the feature that owns a column, and what the domain may put into the column."""
    owners = [(f, k) for f in domain.features for k in range(len(f.columns))]
    feature, component = owners[column]
    if isinstance(feature, Categorical):
        return feature.name, [row[component] for row in feature.codes]
    if isinstance(feature, Integer):
        return feature.name, range(feature.low, feature.high + 1)
    raise DomainError(
        f"The model treats column {domain.columns[column]!r} as categories, but the domain has it as real; "
        "declare it categorical."
    )


def check_whole_codes(domain: Domain, column: int) -> None:
    """Raise unless the codes of a categorical column are integers, as the model's own are."""
    name, codes = codes_of_column(domain, column)
    if isinstance(codes, range):
        return
    odd = next((c for c in codes if not isinstance(c, int | float | np.number) or c != int(c)), None)
    if odd is not None:
        raise DomainError(
            f"The model numbers the categories of {domain.columns[column]!r}, but feature {name!r} holds {odd!r}; "
            "give the domain those numbers (Categorical(..., columns=..., codes=...))."
        )


def check_known_categories(domain: Domain, column: int, categories: Sequence[Any]) -> None:
    """Raise unless every code of a column is one of the `categories` the model knows."""
    name, codes = codes_of_column(domain, column)
    known = set(categories)
    odd = next((c for c in codes if c not in known), None)
    if odd is not None:
        raise DomainError(
            f"The model knows {len(known)} categories of {domain.columns[column]!r}, but feature {name!r} "
            f"also holds {odd!r}; give the domain the categories the model was trained on."
        )


def spread(
    values: npt.NDArray[np.float64], score: int | npt.NDArray[np.int64], n_scores: int
) -> npt.NDArray[np.float64]:
    """Return leaf vectors that have `values` as one score, or each its own, and 0 as the others.

    Examples
    --------
    >>> spread(np.array([1.5, 2.5]), 1, 3).tolist()
    [[0.0, 1.5, 0.0], [0.0, 2.5, 0.0]]
    """
    vectors = np.zeros((len(values), n_scores))
    vectors[np.arange(len(values)), score] = values
    return vectors


def constant(n_scores: int) -> TreeNodes:
    """Return the tree of one leaf, all zero: what a model without trees adds."""
    none = np.array([-1], dtype=np.int64)
    return TreeNodes(none, [None], none, none, np.zeros((1, n_scores)), np.zeros(1, np.bool_))


def of_one_class(domain: Domain, trees: Sequence[TreeNodes], *, base: Sequence[Any], labels: Sequence[Any]) -> TreeSum:
    """Return the sum of trees of a classifier that was fitted on one class, predicted where the score is not above 0.

    Raises
    ------
    UnsupportedModelError
        If the score may be above 0: there the library would predict a second class, which does not exist.
    """
    found = TreeSum.of(domain, trees, rule=Argmax(tuple(labels)), base=base)
    most = [found.values[leaf[leaf >= 0]].max() for leaf in np.split(found.leaf, found.tree_offset[1:-1])]
    if found.base[0] + sum(map(Fraction, most)) > 0:
        raise UnsupportedModelError(
            f"A classifier of the one class {labels[0]!r} should have no score above 0, where it would predict a "
            "second class, but this one may have; fit it on two classes."
        )
    return found


def each_tree(trees: Iterable[_T]) -> Iterable[_T]:
    """Return the trees of a model, with a look before each at the budget of the question that needs the model."""
    return reading().paced(trees, at_once=1)


Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Literal(str):
    """The text of a JSON number with a fraction or exponent, kept for exact rounding."""


def parse_json(data: bytes, *, trusted: bool = False) -> Any:
    """Return the parsed JSON text `data`; numbers that are not integers stay :class:`Literal`.

    What a library in memory has just written is `trusted` to have no key twice.
    """
    try:
        return json.loads(data, parse_float=Literal, object_pairs_hook=None if trusted else distinct_keys)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"Expected a model in JSON, but the file does not parse ({error}); save the model again."
        ) from error


_REQUIRED: Any = object()


def part(whole: Any, key: str, kind: Any, default: Any = _REQUIRED) -> Any:
    """Return ``whole[key]`` after checking that it is there and of the right type."""
    found = whole.get(key, default) if isinstance(whole, dict) else _REQUIRED
    if found is _REQUIRED:
        raise ModelFileError(f"The model should have an entry {key!r}, but this file lacks it; save the model again.")
    # A Literal is a str, but stands for a number, which is never what is asked for here.
    if not isinstance(found, kind) or isinstance(found, Literal):
        raise ModelFileError(
            f"Entry {key!r} of the model should be {_kind_name(kind)}, but {str(found)[:40]!r} was found."
        )
    return found


def _kind_name(kind: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string"}.get(kind, "a list of numbers")


def count(params: Any, key: str, default: int | None = None, *, most: int = 2**32) -> int:
    """Return a natural number of at most `most`, which files hold as a decimal string."""
    text = params.get(key, default)
    shown = str(text)
    # isdecimal alone also takes the digits of other scripts; the length is bounded before anything is converted.
    if isinstance(text, bool) or not (shown.isascii() and shown.isdecimal() and len(shown) < 16):
        raise ModelFileError(f"Parameter {key!r} should be a natural number, but {shown[:40]!r} was found.")
    found = int(shown)
    if found > most:
        raise ModelFileError(f"Parameter {key!r} should be at most {most}, but {found} was found.")
    return found


def counts(wholes: Sequence[Any], part_key: str, key: str, default: int) -> list[int]:
    """Return the natural number ``whole[part_key][key]`` of each of several objects."""
    return [count(part(whole, part_key, dict), key, default) for whole in wholes]


def int_lists(wholes: Sequence[Any], key: str, sizes: Sequence[int] | None = None) -> list[Ints]:
    """Return the list of integers under `key` in each of several objects, of the given sizes."""
    wanted: Sequence[int | None] = [None] * len(wholes) if sizes is None else sizes
    return [ints(whole, key, size) for whole, size in zip(wholes, wanted, strict=True)]


def float_lists(wholes: Sequence[Any], key: str, sizes: Sequence[int]) -> list[Floats]:
    """Return the list of float32 numbers under `key` in each of several objects, of the given sizes."""
    return [floats(whole, key, size) for whole, size in zip(wholes, sizes, strict=True)]


def ints(whole: Any, key: str, size: int | None = None) -> Ints:
    """Return a list of integers of the given size."""
    items = part(whole, key, list | np.ndarray)
    wrong = items.dtype.kind not in "iu" if isinstance(items, np.ndarray) else not all(_is_int(k) for k in items)
    if wrong:
        raise ModelFileError(f"Entry {key!r} should hold integers of at most 32 bits, but it holds something else.")
    check_size(items, key, size)
    return np.asarray(items, dtype=np.int64)


def _is_int(item: Any) -> bool:
    return isinstance(item, int) and abs(item) < 2**32


def floats(whole: Any, key: str, size: int) -> Floats:
    """Return a list of float32 numbers of the given size; they may be NaN or infinite."""
    items = part(whole, key, list | np.ndarray)
    if isinstance(items, np.ndarray):
        wrong = items.dtype.kind not in "iuf"
    else:
        wrong = not all(isinstance(x, Literal | int | float) and not isinstance(x, bool) for x in items)
    if wrong:
        raise ModelFileError(f"Entry {key!r} should hold numbers, but it holds something else.")
    check_size(items, key, size)
    if isinstance(items, np.ndarray):
        with np.errstate(all="ignore"):
            return items.astype(np.float32)
    return rounded(items)


def rounded(literals: Sequence[Any]) -> Floats:
    """Return decimal numbers rounded once, to float32.

    Rounding to float64 first is wrong for a decimal next to the middle of two float32 numbers.
    """
    doubles = np.array([_as_double(x) for x in literals], dtype=np.float64)
    with np.errstate(all="ignore"):
        singles = doubles.astype(np.float32)
        back = singles.astype(np.float64)
        other = np.nextafter(singles, np.where(doubles > back, np.inf, -np.inf).astype(np.float32))
        # The middle of two float32 neighbours is a float64, and rounding is monotone: only a float64 that is this
        # middle can hide on which side of it the decimal lies.
        halfway = (doubles != back) & (doubles == (back + other.astype(np.float64)) / 2)
    for k in np.flatnonzero(halfway).tolist():
        true, near = Fraction(literals[k]), sorted((float(singles[k]), float(other[k])))
        # Otherwise the decimal is the middle itself, and the tie went to the even neighbour, as it should.
        if true != Fraction(float(doubles[k])):
            singles[k] = near[true > Fraction(float(doubles[k]))]
    return singles


def _as_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def check_size(items: Any, key: str, size: int | None) -> None:
    """Raise unless there are `size` items, if a size is given."""
    if size is not None and len(items) != size:
        raise ModelFileError(f"Entry {key!r} should hold {size} items, but it holds {len(items)}.")


def check_range(numbers: Ints, end: int, key: str) -> None:
    """Raise unless all numbers lie in ``0..end - 1``."""
    wrong = (numbers < 0) | (numbers >= end)
    if wrong.any():
        raise ModelFileError(
            f"Entry {key!r} should hold numbers from 0 to {end - 1}, but {int(numbers[wrong][0])} was found."
        )


def check_finite(numbers: npt.NDArray[Any], key: str) -> None:
    """Raise if a number is NaN or infinite."""
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise ModelFileError(f"Entry {key!r} should hold finite numbers, but {float(numbers[wrong][0])} was found.")
