"""From people's data (arrays, DataFrames, dicts) to features and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import is_frame, is_listable, quoted
from axfi_kc.domain.features import Categorical, Feature, Integer, Real, is_missing
from axfi_kc.domain.measures import Histogram, Number, Uniform, Weights, exact, shown
from axfi_kc.errors import DomainError, UnknownFeatureError, warn_caller

__all__ = [
    "FeatureNames",
    "Table",
    "as_table",
    "columns_named",
    "feature_names",
    "infer_features",
    "listing",
    "one_row",
    "unknown",
    "warn_ignored",
]


_EMPIRICAL_BINS = 10
_AT_ONCE = 1 << 12  # rows
_LARGE = 100_000  # values of a table of which one copy, column by column, costs less than many passes across it
_MOST_COMPARED = 1_000  # names that one which is none of them is compared with, letter by letter
_FEW = 50  # different texts that need not repeat: a small table has few rows
_TIMES = (date, time, timedelta)  # and what derives from them: datetime, and pandas' own
_MOST_WEIGHTS = 1 << 22  # of an integer feature: one for each of its values
Column = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns of equal length."""

    columns: dict[str, Column]
    rows: int

    def column(self, name: str) -> Column:
        """Return the column called `name`."""
        if name not in self.columns:
            raise UnknownFeatureError(f"The data have no column {name!r}; they have {listing(list(self.columns))}.")
        return self.columns[name]

    def between(self, start: int, stop: int) -> Table:
        """Return the rows ``start:stop``."""
        return Table({name: column[start:stop] for name, column in self.columns.items()}, stop - start)


def _named(names: Iterable[Any], columns: Iterable[Any]) -> dict[str, Any]:
    """Return columns by their names, after checking that these are distinct."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(text for text, n in Counter(texts).items() if n > 1)
        raise DomainError(f"Each column needs a name of its own, but {twice!r} occurs twice; rename one.")
    return dict(zip(texts, columns, strict=True))


def _frame_columns(X: Any) -> dict[str, Column]:
    return _named(X.columns, (_frame_column(X[name]) for name in X.columns))


def _frame_column(column: Any) -> Column:
    # Of whole categories beside missing ones pandas would make floats.
    is_whole = _is_category(column.dtype) and hasattr(column, "astype")
    return column.astype(object).to_numpy() if is_whole else column.to_numpy()


def _is_category(dtype: Any) -> bool:
    """Tell whether a column's type is that of pandas' categories."""
    return getattr(dtype, "name", "") == "category"


def _frame_values(X: Any) -> dict[str, Column]:
    """Return the columns' values, all as float64 in one step where they are numbers."""
    # One block instead of a column at a time where all are numbers; anything else keeps its own type.
    if any(getattr(dtype, "kind", "O") not in "iuf" for dtype in X.dtypes):
        return _frame_columns(X)
    block = X.to_numpy(dtype=np.float64, na_value=np.nan)  # polars, which has no na_value, has no such kinds either
    return _named(X.columns, block.T)


def as_table(X: Any, features: Sequence[Feature]) -> Table:
    """Return `X` as columns named after the features or model columns of `features`."""
    if is_frame(X):
        return _known(Table(_frame_values(X), len(X)), features)
    if isinstance(X, Sequence) and X and all(isinstance(row, Mapping) for row in X):
        return _known(_of_dicts(X), features)
    data = as_array(X)
    if data.ndim != 2:
        raise DomainError(
            f"Expected a table with one row per point, but an array of shape {data.shape} was given; "
            "reshape one point to a single row."
        )
    # Model columns first: where both widths agree, every feature has one column, and either name will do.
    labels = next((n for n in (_columns(features), _names(features)) if len(n) == data.shape[1]), None)
    if labels is None:
        widths = sorted({len(features), len(_columns(features))})
        raise DomainError(
            f"Expected {' or '.join(map(str, widths))} values per point, but {data.shape[1]} were given; "
            f"the features are {listing(_names(features))}."
        )
    return Table({n: data[:, j] for j, n in enumerate(labels)}, data.shape[0])


def _names(features: Sequence[Feature]) -> list[str]:
    return [f.name for f in features]


def _columns(features: Sequence[Feature]) -> list[str]:
    return [c for f in features for c in f.columns]


def listing(names: Sequence[str]) -> str:
    """Return at most a dozen names, for an error message."""
    shown = ", ".join(repr(n) for n in names[:12])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 12 else shown


class _Named(Protocol):
    @property
    def features(self) -> tuple[str, ...]: ...


FeatureNames = Iterable[str] | _Named
"""Names of features, or what has them: an AXp, a CXp, a box of values."""


def feature_names(given: FeatureNames) -> tuple[str, ...]:
    """Return names of features, given as such or by what has them; see :data:`FeatureNames`.

    Raises
    ------
    UnknownFeatureError
        If it is a string, which would be read letter by letter, or nothing that has names.

    Examples
    --------
    >>> feature_names({"age": 1}), feature_names(name for name in "ab")
    (('age',), ('a', 'b'))
    """
    if type(given) is tuple:  # most often, and by the thousands
        return given
    if isinstance(given, str):
        raise UnknownFeatureError(
            f"Expected a set of feature names, but the string {quoted(given)} was given: use {{{quoted(given)}}}."
        )
    try:
        found: Any = getattr(given, "features", given)
        return tuple(found)
    except Exception as error:  # it is nothing to go through, or its own code says so
        raise UnknownFeatureError(
            f"Expected a set of feature names, an AXp or a CXp, but {quoted(given)} was given; name features, as in "
            "{'age', 'sex'}."
        ) from error


def unknown(name: object, names: Sequence[str]) -> UnknownFeatureError:
    """Return the error for a feature that is not among `names`: the one that may be meant, or what there is.

    Examples
    --------
    >>> print(unknown("aeg", ["age", "job"]))
    The domain has no feature 'aeg'; use 'age', if that is meant, or the name of another of its 2 features.
    >>> print(unknown("pay", ["age", "job"]))
    The domain has no feature 'pay'; its features are 'age', 'job': use one of these names.
    """
    near = get_close_matches(name, list(names)[:_MOST_COMPARED], n=1) if isinstance(name, str) else []
    if near:
        return UnknownFeatureError(
            f"The domain has no feature {quoted(name)}; use {near[0]!r}, if that is meant, or the name of another of "
            f"its {len(names)} features."
        )
    return UnknownFeatureError(
        f"The domain has no feature {quoted(name)}; its features are {listing(names)}: use one of these names."
    )


def _known(table: Table, features: Sequence[Feature]) -> Table:
    """Return the columns of `table` that mean something to `features`, after checking that none is missing."""
    have = set(table.columns)
    missing = [f.name for f in features if f.name not in have and not have.issuperset(f.columns)]
    if missing:
        raise DomainError(
            f"The point has no value for feature{'s' * (len(missing) > 1)} {listing(missing)}; give one for each of "
            f"the {len(features)} features (found: {listing(list(table.columns))})."
        )
    known = {*_names(features), *_columns(features)}
    warn_ignored([n for n in table.columns if n not in known])
    return table


def warn_ignored(columns: Sequence[str]) -> None:
    """Warn, in one line, of columns that are not used, if there are any."""
    if columns:
        warn_caller(f"Columns that are no features are ignored: {listing(columns)}.")


def _of_dicts(rows: Sequence[Mapping[Any, Any]]) -> Table:
    names = list(rows[0])
    short = next(((k, n) for k, row in enumerate(rows) for n in names if n not in row), None)
    if short is not None:
        raise DomainError(
            f"Row {short[0]} has no value for {short[1]!r}, which row 0 has; give each row the same keys."
        )
    return Table(_named(names, (_object_column([row[n] for row in rows]) for n in names)), len(rows))


def columns_named(X: Any, names: Sequence[str]) -> Any:
    """Return the columns of a frame that are called `names`, in their order; other columns with a warning are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> list(columns_named(pd.DataFrame({"b": [1], "a": [2]}), ["a", "b"]))
    ['a', 'b']
    """
    found = {str(label): label for label in X.columns}
    # LightGBM writes the spaces in names as underscores.
    found = {str(label).replace(" ", "_"): label for label in X.columns} | found
    missing = [n for n in names if n not in found]
    if missing:
        raise DomainError(
            f"The model was trained on column{'s' * (len(missing) > 1)} {listing(missing)}, which the table lacks; it "
            f"has {listing([str(label) for label in X.columns])}."
        )
    chosen = [found[n] for n in names]
    warn_ignored([str(label) for label in X.columns if label not in chosen])
    return X[chosen]


def _object_column(values: list[Any]) -> Column:
    # Assigned, not converted: NumPy would make a table out of values that are sequences.
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def one_row(x: Any, features: Sequence[Feature]) -> Any:
    """Return one point, however given, as a table of one row."""
    if isinstance(x, Mapping):
        return [x]
    if not is_listable(x):
        raise DomainError(f"Expected one point (array, Series or dict), but {quoted(x)} was given; give one.")
    if is_frame(x):
        if len(x) != 1:
            raise DomainError(f"Expected one point, but a table of {len(x)} rows was given; use explain_batch.")
        return x
    if hasattr(x, "index") and hasattr(x, "to_dict"):
        labels = [str(n) for n in x.index]
        # A Series whose index is not about these features is a plain row of values.
        if set(labels) & {*_names(features), *_columns(features)}:
            return [_named(labels, x.tolist())]
        x = x.to_numpy()
    if isinstance(x, np.ndarray) and x.ndim == 2 and x.shape[0] == 1:
        return x
    row = x if isinstance(x, np.ndarray) else _object_column(list(x))
    return row[np.newaxis, ...]


def infer_features(
    X: Any,
    *,
    kinds: Mapping[str, Iterable[str | int]],
    bounds: Mapping[str | int, tuple[Number, Number]] | None,
    one_hot: Mapping[str, Sequence[str | int]] | None,
    names: Sequence[str] | None,
    measures: str | Mapping[str | int, object],
    missing: Mapping[str | int, Number] | None,
) -> list[Feature]:
    """Return the features that :meth:`Domain.from_data` describes."""
    known, columns = _declared_kinds(X), _columns_of(X, names)
    labels = list(columns)
    if any(len(c) == 0 for c in columns.values()):
        raise DomainError("A domain cannot be read off an empty table; give at least one row.")
    kind_of = {_label(c, labels): kind for kind, given in kinds.items() for c in given}
    bound_of = {_label(c, labels): b for c, b in (bounds or {}).items()}
    share_of = _shares_given(missing, [*labels, *(one_hot or {})])
    owner = {_label(c, labels): name for name, owned in (one_hot or {}).items() for c in owned}
    words = (
        measures
        if isinstance(measures, str)
        else {_label(c, [*labels, *(one_hot or {})]): m for c, m in measures.items()}
    )
    features: list[Feature] = []
    for label, column in columns.items():
        if label in owner:
            # At the place of its first column, so that features keep the order of the data.
            if owner[label] not in {f.name for f in features}:
                name, owned = owner[label], [c for c in labels if owner.get(c) == owner[label]]
                share = share_of.get(name, _share_of_rows([columns[c] for c in owned]))
                features.append(_one_hot(name, owned, share))
            continue
        kind = kind_of.get(label) or known.get(label) or _inferred_kind(label, column)
        measure = words if isinstance(words, str) else words.get(label, "uniform")
        present, share = _present(label, column)
        features.append(_MAKERS[kind](label, present, bound_of.get(label), measure, share_of.get(label, share)))
    return features


def _shares_given(missing: Any, labels: Sequence[str]) -> dict[str, Fraction]:
    if missing is not None and not isinstance(missing, Mapping):
        raise DomainError(f"missing takes {{column: share}}, but {quoted(missing)} was given; name the columns.")
    return {_label(c, labels): exact(p, "share of missing values") for c, p in (missing or {}).items()}


def _share_of_rows(columns: Sequence[Column]) -> Fraction:
    """Return the share of rows in which all of several columns are missing: then so is the feature that owns them."""
    flags = [[is_missing(v) for v in column.tolist()] for column in columns if column.dtype.kind in "fO"]
    empty = np.all(flags, axis=0) if len(flags) == len(columns) else np.zeros(len(columns[0]), dtype=np.bool_)
    return Fraction(int(empty.sum()), len(empty))


def _present(name: str, column: Column) -> tuple[Column, Fraction]:
    """Return the values of a column that are not missing, and the share of those that are."""
    if column.dtype.kind not in "fO":
        return column, Fraction(0)
    missing = np.isnan(column) if column.dtype.kind == "f" else np.array([is_missing(v) for v in column.tolist()])
    if not missing.any():
        return column, Fraction(0)
    if missing.all():
        raise DomainError(f"Column {name!r} is missing in every row, so it has no values; leave it out.")
    return column[~missing], Fraction(int(missing.sum()), len(column))


def _declared_kinds(X: Any) -> dict[str, str]:
    """Return the kinds of columns that a frame's own types declare, and arrays made of them do not show.

    With missing values in them, whole numbers come out of a frame as floats or as objects.
    """
    if not is_frame(X):
        return {}
    kinds = _named(X.columns, (_declared_kind(X[name].dtype) for name in X.columns))
    return {name: kind for name, kind in kinds.items() if kind is not None}


def _declared_kind(dtype: Any) -> str | None:
    if _is_category(dtype):
        return "categorical"
    for test, kind in (("is_integer", "integer"), ("is_float", "real")):  # polars
        if callable(getattr(dtype, test, None)) and getattr(dtype, test)():
            return kind
    return {"i": "integer", "u": "integer", "f": "real"}.get(getattr(dtype, "kind", ""))  # pandas


def _columns_of(X: Any, names: Sequence[str] | None) -> dict[str, Column]:
    if is_frame(X):
        columns = _frame_columns(X)
        if names is not None:
            raise DomainError("A DataFrame has names of its own; rename its columns instead of giving `names`.")
        return columns
    data = as_array(X)
    if data.ndim != 2:
        raise DomainError(f"Expected a two-dimensional table, but an array of shape {data.shape} was given.")
    if data.size > _LARGE and data.dtype.kind != "O":
        data = _by_columns(data)  # each column is gone through several times
    labels = list(names) if names is not None else [f"x{j}" for j in range(data.shape[1])]
    if len(labels) != data.shape[1]:
        raise DomainError(f"Expected {data.shape[1]} names, one per column, but {len(labels)} were given.")
    return _named(labels, data.T)


def as_array(X: Any) -> Column:
    """Return rows as an array that keeps the types of their values."""
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing, whatever number lies beneath
        return np.ma.filled(X.astype(np.float64), np.nan)
    try:
        data = np.asarray(X)
    except Exception as error:  # of rows that differ in length, or code of the object that was given
        raise DomainError(
            f"Expected a table with one row per point, but {quoted(X)} was given, of which no array can be made "
            f"({type(error).__name__}); give a DataFrame, an array or a list of dicts."
        ) from error
    # Beside a word NumPy would make words of numbers and flags.
    return np.asarray(X, dtype=object) if data.dtype.kind in "US" and not isinstance(X, np.ndarray) else data


def _by_columns(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a table whose columns lie in one piece each, copied by blocks of rows that stay in the cache."""
    columns = np.empty(data.shape[::-1], dtype=data.dtype)
    for k in range(0, len(data), _AT_ONCE):
        columns[:, k : k + _AT_ONCE] = data[k : k + _AT_ONCE].T
    return columns.T


def _label(column: str | int, labels: Sequence[str]) -> str:
    # A number is a position, unless a column is called that.
    if isinstance(column, int | np.integer) and str(column) not in labels and 0 <= column < len(labels):
        return labels[int(column)]
    if str(column) in labels:
        return str(column)
    raise UnknownFeatureError(f"There is no column {quoted(column)}; the columns are {listing(labels)}.")


def _inferred_kind(name: str, column: Column) -> str:
    """Return the kind of a column that nobody has declared; dates and ids have none."""
    kind = {"i": "integer", "u": "integer", "f": "real"}.get(column.dtype.kind, "categorical")
    if kind == "categorical":
        _check_no_dates(name, column)
        _check_no_ids(name, column)
    return kind


def _check_no_dates(name: str, column: Column) -> None:
    found = (
        column[0] if column.dtype.kind in "mM" else next((v for v in column.tolist() if isinstance(v, _TIMES)), None)
    )
    if found is not None:
        raise DomainError(
            f"Column {name!r} should hold numbers or categories, but it holds dates or times ({found}); turn them into "
            "numbers, such as days since the first, as for the model, or leave the column out."
        )


def _check_no_ids(name: str, column: Column) -> None:
    texts = [v for v in column.tolist() if isinstance(v, str)]
    distinct = len(set(texts))
    if distinct > _FEW and 2 * distinct > len(texts):
        raise DomainError(
            f"Column {name!r} should hold categories, but it has {distinct} different texts in {len(texts)} rows, as "
            f"names and ids do; leave the column out, or declare it with categorical=[{name!r}] if the model uses it."
        )


def _one_hot(name: str, owned: Sequence[str], missing: Fraction) -> Categorical:
    """Return the feature behind `owned` columns; values are the columns' own suffixes."""
    prefixes = (f"{name}_", f"{name}=")
    values = [next((c[len(p) :] for p in prefixes if c.startswith(p)), c) for c in owned]
    return Categorical(name, values, columns=owned, missing=missing)


def _categorical(name: str, column: Column, bounds: object, measure: object, missing: Fraction) -> Feature:
    if bounds is not None:
        raise DomainError(f"Feature {name!r} is categorical and takes no bounds; drop them or declare it integer.")
    counts: dict[Any, int] = {}
    for v in column.tolist():
        counts[v] = counts.get(v, 0) + 1
    # Values of different types do not compare; grouped by type they do, and the order is the same each time.
    try:
        values = sorted(counts, key=lambda v: (str(type(v)), v))
    except TypeError:  # of a type without an order
        values = sorted(counts, key=lambda v: (str(type(v)), repr(v)))
    if measure == "empirical":
        return Categorical(name, values, weights=[counts[v] for v in values], missing=missing)
    return Categorical(name, values, weights=_weights_of(name, measure), missing=missing)


def _finite_range(name: str, column: Column, bounds: tuple[Number, Number] | None) -> tuple[Number, Number]:
    # As good as unbounded: the probe only checks that all values are finite numbers.
    probe = Real(name, -(2**1023), 2**1023)
    numbers = probe.encode(column)
    least, most = float(numbers.min()), float(numbers.max())
    low, high = bounds if bounds is not None else (least, most)
    if least < low or most > high:
        raise DomainError(
            f"Feature {name!r} runs from {shown(least)} to {shown(most)} in the data, "
            f"outside the bounds ({shown(low)}, {shown(high)}); widen them."
        )
    return low, high


def _integer(
    name: str, column: Column, bounds: tuple[Number, Number] | None, measure: object, missing: Fraction
) -> Feature:
    low, high = _finite_range(name, column, bounds)
    feature = Integer(name, low, high)
    numbers = feature.encode(column)
    if measure == "empirical":
        if feature.size > _MOST_WEIGHTS:
            raise DomainError(
                f"Empirical weights are one per value, but feature {name!r} has {feature.size} values, from "
                f"{feature.low} to {feature.high}; declare it real (real=[{name!r}]), or leave its measure uniform."
            )
        counts = np.bincount((numbers - feature.low).astype(np.int64), minlength=feature.size)
        return Integer(name, feature.low, feature.high, weights=counts.tolist(), missing=missing)
    return Integer(name, feature.low, feature.high, weights=_weights_of(name, measure), missing=missing)


def _real(
    name: str, column: Column, bounds: tuple[Number, Number] | None, measure: object, missing: Fraction
) -> Feature:
    low, high = _finite_range(name, column, bounds)
    if measure == "empirical" and low < high:
        numbers = np.asarray(column, dtype=np.float64)
        counts = np.histogram(numbers, bins=_EMPIRICAL_BINS, range=(float(low), float(high)))[0]
        # Edges are exact and counts are NumPy's, so a value within rounding of an edge may count next door.
        first = exact(low, f"bound of {name!r}")
        step = (exact(high, f"bound of {name!r}") - first) / _EMPIRICAL_BINS
        edges = [first + k * step for k in range(_EMPIRICAL_BINS + 1)]
        return Real(name, low, high, histogram=Histogram(edges, counts.tolist()), missing=missing)
    if isinstance(measure, Histogram):
        return Real(name, low, high, histogram=measure, missing=missing)
    if measure not in ("uniform", "empirical") and not isinstance(measure, Uniform):
        raise DomainError(
            f"The measure of real feature {name!r} must be 'uniform', 'empirical' or a Histogram, not {measure!r}."
        )
    return Real(name, low, high, missing=missing)


def _weights_of(name: str, measure: object) -> Weights | None:
    if measure == "uniform" or isinstance(measure, Uniform):
        return None
    if isinstance(measure, Weights):
        return measure
    raise DomainError(f"The measure of feature {name!r} must be 'uniform', 'empirical' or Weights, not {measure!r}.")


_MAKERS: dict[str, Any] = {"categorical": _categorical, "integer": _integer, "real": _real}
