"""scikit-learn pipelines that impute, scale, encode or select before a linear model or trees.

The domain describes what goes into the pipeline: the user's own features. For a linear model the
scalers' affine maps are composed exactly, in the rationals that their floats denote; the library
computes ``(x - mean) / scale`` in floating point, so the two can differ where a margin is within
rounding of zero. For trees thresholds are pulled back through the floating-point maps themselves,
and predictions agree on every float64 input. What an encoder makes of each value is asked of its
own ``transform``.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from axfi_kc.compilers.readers import gets_sparse_tables, giving_tables, read_model, reads
from axfi_kc.compilers.readers.pipeline_columns import (
    Chain,
    Column,
    Tabled,
    columns_of,
    inner_of,
    may_be_nan,
    pulled_back,
    tabled,
    then,
)
from axfi_kc.compilers.readers.pipeline_steps import (
    Floats,
    Step,
    arithmetic,
    clipped,
    constant,
    equal_to,
    relative,
    replaced,
)
from axfi_kc.compilers.readers.sklearn_trees import check_fitted, check_width
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import is_missing
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Model
from axfi_kc.models.own_predict import check_inherited, column_names, library_of, named_columns

__all__: list[str] = []

Columns = list[Column]
# What comes nearest to a transformer that cannot be read, by its name: others mix columns, or cannot be followed.
_NEAREST = {
    "KNNImputer": "impute each column by itself, with SimpleImputer",
    "IterativeImputer": "impute each column by itself, with SimpleImputer",
    "Normalizer": "it divides each row by its length, which mixes columns: scale each by itself, with StandardScaler",
    "SplineTransformer": "use KBinsDiscretizer",
}
_SHOWN = 8  # categories listed in a message


@reads(Pipeline)
def _pipeline(model: Any, domain: Domain) -> Model:
    *transformers, (name, final) = model.steps
    if final is None or isinstance(final, str):
        raise UnsupportedModelError(
            f"A pipeline must end in a model, but its last step {name!r} is {final!r}; add the fitted model."
        )
    columns = [replace(column, sparse=gets_sparse_tables()) for column in columns_of(domain)]
    used = column_names(model)
    if used is not None and domain.columns == used:
        # What is not used has no column in the domain, and nothing but "drop" gets to see its place.
        known = dict(zip(used, columns, strict=True))
        columns = [known.get(str(name)) for name in model.feature_names_in_]  # type: ignore[misc]
    elif hasattr(model, "n_features_in_"):
        check_width(model, domain)
    for step, transformer in transformers:
        columns = _through(transformer, columns, domain, f"Pipeline step {step!r}")
    names = [str(n) for n in getattr(final, "feature_names_in_", _names(columns, domain))]
    if len(names) != len(columns):
        raise DomainError(
            f"The pipeline's model was fitted on {len(names)} columns, but its transformers make {len(columns)} of "
            "this domain; make the domain from the data the pipeline was fitted on."
        )
    inner, sparse = inner_of(domain, columns, names), any(column.sparse for column in columns)
    _check_nan_in_sparse(final, columns)
    with giving_tables(lambda: sparse):
        form = read_model(final, inner.domain)
    return pulled_back(form, inner, domain)


def _names(columns: Columns, domain: Domain) -> list[str]:
    """Return names for columns that have none: those of their features, numbered where a feature has several."""
    totals, seen, names = Counter(column.feature for column in columns), Counter[int](), []
    for column in columns:
        seen[column.feature] += 1
        name = domain.features[column.feature].name
        names.append(name if totals[column.feature] == 1 else f"{name} ({seen[column.feature]})")
    return names if len(set(names)) == len(names) else [f"column {k}" for k in range(len(names))]


def _check_nan_in_sparse(final: Any, columns: Columns) -> None:
    if library_of(final) == "sklearn" and any(column.sparse and may_be_nan(column) for column in columns):
        raise UnsupportedModelError(
            f"{type(final).__name__} does not take missing values in a sparse table, which the steps before it make; "
            "set sparse_output=False in the encoder, or sparse_threshold=0 in the ColumnTransformer."
        )


@column_names.register
def _names_of_used(model: Pipeline) -> tuple[str, ...] | None:
    """Return the columns that a pipeline was fitted on, without those that a ColumnTransformer at its start drops."""
    names = getattr(model, "feature_names_in_", None)
    first = model.steps[0][1] if model.steps else None
    if names is None or not isinstance(first, ColumnTransformer):
        return None if names is None else named_columns(names)
    texts, kept = [str(n) for n in names], set()
    for _, step, selection in first.transformers_:
        if not (isinstance(step, str) and step == "drop"):
            kept.update(_indices(selection, texts, len(texts)))
    return tuple(text for k, text in enumerate(texts) if k in kept)


def _through(transformer: Any, columns: Columns, domain: Domain, where: str) -> Columns:
    """Return what a transformer makes of columns, if it transforms as the class does that is known here."""
    check_inherited(transformer, _made.registry.keys(), where=f"{where} must be a transformer")
    return _made(transformer, columns, domain, where)


@singledispatch
def _made(transformer: Any, columns: Columns, domain: Domain, where: str) -> Columns:
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return columns
    if isinstance(transformer, str) and transformer == "drop":
        return []
    kind = type(transformer).__name__
    nearest = _NEAREST.get(kind, "apply it before the pipeline, and explain its results as features")
    raise UnsupportedModelError(f"{where} is {kind}, which cannot be expressed in the original features; {nearest}.")


@_made.register
def _nested(transformer: Pipeline, columns: Columns, domain: Domain, where: str) -> Columns:
    for name, step in transformer.steps:
        columns = _through(step, columns, domain, f"{where}, step {name!r}")
    return columns


def _check_dense(transformer: Any, columns: Columns, where: str) -> None:
    if any(column.sparse for column in columns):
        raise UnsupportedModelError(
            f"{where} ({type(transformer).__name__}) works on a sparse table, which the step before it makes; set "
            "sparse_output=False there, or sparse_threshold=0 in a ColumnTransformer."
        )


@_made.register
def _standard(transformer: StandardScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "n_features_in_")
    means = transformer.mean_ if transformer.with_mean else None
    return _scaled(transformer, columns, domain, where, means, transformer.scale_ if transformer.with_std else None)


@_made.register
def _robust(transformer: RobustScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "n_features_in_")
    centers = transformer.center_ if transformer.with_centering else None
    return _scaled(
        transformer, columns, domain, where, centers, transformer.scale_ if transformer.with_scaling else None
    )


@_made.register
def _by_largest(transformer: MaxAbsScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "scale_")
    made = _scaled(transformer, columns, domain, where, None, transformer.scale_)
    if not getattr(transformer, "clip", False):
        return made
    return [then(column, domain, clipped(-1.0, 1.0, f"{where} (MaxAbsScaler)")) for column in made]


def _scaled(transformer: Any, columns: Columns, domain: Domain, where: str, centers: Any, scales: Any) -> Columns:
    """Return ``(x - center) / scale``: the library's own operations in its order, as each of them rounds."""
    name, made = f"{where} ({type(transformer).__name__})", []
    for k, column in enumerate(columns):
        steps = [] if centers is None else [arithmetic("subtract", centers[k], name)]
        if scales is not None and column.sparse:
            steps.append(arithmetic("multiply", 1.0 / scales[k], name))  # so it is done in a sparse table
        elif scales is not None:
            steps.append(arithmetic("divide", scales[k], name))
        made.append(then(column, domain, *steps))
    return made


@_made.register
def _min_max(transformer: MinMaxScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "scale_")
    name = f"{where} (MinMaxScaler)"
    low, high = transformer.feature_range
    clip = [clipped(float(low), float(high), name)] if transformer.clip else []
    return [
        then(column, domain, arithmetic("multiply", scale, name), arithmetic("add", least, name), *clip)
        for column, scale, least in zip(columns, transformer.scale_, transformer.min_, strict=True)
    ]


@_made.register
def _imputed(transformer: SimpleImputer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "statistics_")
    _check_dense(transformer, columns, where)
    name, marker = f"{where} (SimpleImputer)", transformer.missing_values
    for column in columns:
        _check_marker(marker, column, domain, name)
    fills, made = transformer.statistics_, []
    for column, k in zip(columns, range(len(fills)), strict=True):
        # What was never there when it was fitted has no statistic, and is dropped, unless it is kept.
        if transformer.keep_empty_features or not is_missing(fills[k]):
            fill = fills[k : k + 1].astype(getattr(transformer, "_fill_dtype", fills.dtype)).tolist()[0]
            made.append(_filled(column, marker, fill, domain, name))
    if transformer.add_indicator:
        made += [_marked(columns[k], marker, domain, name) for k in transformer.indicator_.features_.tolist()]
    return made


@_made.register
def _indicated(transformer: MissingIndicator, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "features_")
    _check_dense(transformer, columns, where)
    name, chosen = f"{where} (MissingIndicator)", transformer.features_.tolist()
    for k, column in enumerate(columns):
        _check_marker(transformer.missing_values, column, domain, name)
        if k not in chosen and transformer.error_on_new and _may_be(column, transformer.missing_values):
            raise DomainError(
                f"{name} found nothing missing in feature {domain.features[column.feature].name!r} when it was fitted, "
                "and predicts nothing where it is; set error_on_new=False, or give the domain missing=0."
            )
    made = [_marked(columns[k], transformer.missing_values, domain, name) for k in chosen]
    sparse = transformer.sparse is True
    return [replace(column, sparse=sparse) for column in made]


def _check_marker(marker: Any, column: Column, domain: Domain, name: str) -> None:
    """Raise where NaN comes to an imputer that takes something else for missing: the library does not predict then."""
    if may_be_nan(column) and (marker is None or not is_missing(marker)):
        raise UnsupportedModelError(
            f"{name} takes {marker!r} for missing and does not predict at NaN, but feature "
            f"{domain.features[column.feature].name!r} may be missing (NaN); fit it with missing_values=np.nan."
        )


def _may_be(column: Column, marker: Any) -> bool:
    if is_missing(marker):
        return may_be_nan(column)
    return marker in column.entries if isinstance(column, Tabled) else _is_within(marker, column)


def _is_within(number: Any, column: Chain) -> bool:
    return isinstance(number, int | float | np.number) and bool(column.low <= number <= column.high)


def _filled(column: Column, marker: Any, fill: Any, domain: Domain, name: str) -> Column:
    """Return a column with the imputer's number, or word, in the place of missing values."""
    if isinstance(column, Tabled):
        return replace(column, entries=tuple(fill if _is_marked(e, marker) else e for e in column.entries))
    if is_missing(marker):
        return column if column.missing is None or not is_missing(column.missing) else replace(column, missing=fill)
    return then(column, domain, replaced(float(marker), float(fill), name)) if _is_within(marker, column) else column


def _marked(column: Column, marker: Any, domain: Domain, name: str) -> Column:
    """Return the column that is 1 where a value is missing."""
    if isinstance(column, Tabled):
        return replace(column, entries=tuple(float(_is_marked(e, marker)) for e in column.entries))
    if not is_missing(marker):
        here = _is_within(marker, column)
        return then(column, domain, equal_to(float(marker), name) if here else constant(0.0, name))
    was = column.missing
    made = then(replace(column, missing=None), domain, constant(0.0, name))
    return made if was is None or isinstance(made, Tabled) else replace(made, missing=float(is_missing(was)))


def _is_marked(entry: Any, marker: Any) -> bool:
    return is_missing(entry) if is_missing(marker) else bool(entry == marker)


@_made.register
def _binarized(transformer: Binarizer, columns: Columns, domain: Domain, where: str) -> Columns:
    _check_dense(transformer, columns, where)
    threshold = float(transformer.threshold)
    step = Step(
        lambda x: (x > threshold).astype(np.float64), f"{where} (Binarizer)", takes_missing=False, why="cuts its column"
    )
    return [then(column, domain, step) for column in columns]


@_made.register
def _binned(transformer: KBinsDiscretizer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "bin_edges_")
    _check_dense(transformer, columns, where)
    name, made = f"{where} (KBinsDiscretizer)", []
    for column, edges, n_bins in zip(columns, transformer.bin_edges_, transformer.n_bins_, strict=True):
        bins = then(column, domain, _binning(edges[1:-1], transformer.dtype, name))
        if transformer.encode == "ordinal":
            made.append(bins)
            continue
        one_hot = [then(bins, domain, equal_to(float(b), name)) for b in range(int(n_bins))]
        made += [replace(c, sparse=transformer.encode == "onehot") for c in one_hot]
    return made


def _binning(edges: Floats, dtype: Any, name: str) -> Step:
    kind = np.float64 if dtype is None else dtype

    def at(x: Floats) -> Floats:
        return np.searchsorted(edges, x.astype(kind), side="right").astype(np.float64)

    return Step(at, name, takes_missing=False, why="cuts its column into bins")


@_made.register
def _powered(transformer: PowerTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "lambdas_")
    _check_dense(transformer, columns, where)
    name = f"{where} (PowerTransformer)"
    made: Columns = []
    for k, column in enumerate(columns):
        _check_positive(transformer, column, domain, name)
        alone = _nameless(transformer, n_features_in_=1, lambdas_=transformer.lambdas_[k : k + 1])
        alone.standardize = False  # the power rounds as it likes, what follows rounds correctly: two steps
        error = _error_of_power(float(transformer.lambdas_[k]))
        made.append(then(column, domain, Step(_results_of(alone), name, error=error, why="bends its column")))
    if not transformer.standardize:
        return made
    scaler = transformer._scaler
    return _scaled(transformer, made, domain, where, scaler.mean_, scaler.scale_)


def _error_of_power(power: float) -> Callable[[Floats], Floats]:
    # exp(power * log(x)) is off by as many more units as the number that the exponential is taken of is large.
    most = max(abs(power), abs(2 - power))
    return lambda results: relative(results) * (2 + np.log1p(most * np.abs(results)))


def _check_positive(transformer: PowerTransformer, column: Column, domain: Domain, name: str) -> None:
    if transformer.method != "box-cox":
        return
    numbers = column.entries if isinstance(column, Tabled) else (column.low, column.missing)
    if any(isinstance(n, int | float | np.number) and n <= 0 for n in numbers):
        raise DomainError(
            f"{name} takes positive numbers only (box-cox), but feature {domain.features[column.feature].name!r} has "
            "others; narrow its bounds, or fit with method='yeo-johnson'."
        )


@_made.register
def _ranked(transformer: QuantileTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "quantiles_")
    _check_dense(transformer, columns, where)
    name = f"{where} (QuantileTransformer)"
    error = _error_of_normal if transformer.output_distribution == "normal" else _error_of_uniform
    made: Columns = []
    for k, column in enumerate(columns):
        alone = _nameless(transformer, n_features_in_=1, quantiles_=transformer.quantiles_[:, [k]])
        made.append(then(column, domain, Step(_results_of(alone), name, error=error, why="bends its column")))
    return made


def _error_of_uniform(results: Floats) -> Floats:
    return np.full(len(results), 2.0**-49)  # interpolated between numbers from 0 to 1


def _error_of_normal(results: Floats) -> Floats:
    # The error of the interpolation, over the density of the normal distribution, which is the inverse's slope.
    return 2.0**-49 * (1 + math.sqrt(2 * math.pi) * np.exp(results**2 / 2))


def _results_of(transformer: Any) -> Callable[[Floats], Floats]:
    """Return what the library's own transform makes of the one column it has."""
    return lambda x: np.asarray(transformer.transform(x[:, np.newaxis].copy()), dtype=np.float64)[:, 0]


def _nameless(transformer: Any, **fitted: Any) -> Any:
    """Return a transformer that takes and gives plain arrays, some of what it was fitted to replaced."""
    asked = copy.copy(transformer)
    vars(asked).pop("feature_names_in_", None)
    vars(asked).pop("_sklearn_output_config", None)
    vars(asked).update(fitted)
    return asked


# Functions of NumPy: where their pieces end, and whether they round as they like.
_BENT: dict[Any, tuple[tuple[float, ...], bool]] = {
    **dict.fromkeys((np.log, np.log2, np.log10, np.log1p, np.exp, np.exp2, np.expm1, np.cbrt), ((), True)),
    **dict.fromkeys((np.arcsinh, np.arctan, np.tanh), ((), True)),
    **dict.fromkeys((np.sqrt, np.floor, np.ceil, np.rint, np.trunc, np.sign, np.negative), ((), False)),
    **dict.fromkeys((np.abs, np.square), ((0.0,), False)),
}


@_made.register
def _functional(transformer: FunctionTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    function = transformer.func
    if function is None:
        return columns
    breaks, rough = _BENT.get(function, ((), None)) if isinstance(function, np.ufunc) else ((), None)
    if rough is None or transformer.kw_args:
        raise UnsupportedModelError(
            f"{where} is FunctionTransformer({getattr(function, '__name__', function)}), which cannot be followed; "
            f"use one of NumPy's {', '.join(sorted(f.__name__ for f in _BENT))} without kw_args, or apply it before "
            "the pipeline, and explain its results as features."
        )
    _check_dense(transformer, columns, where)
    step = Step(
        _quiet(function),
        f"{where} (FunctionTransformer of {function.__name__})",
        breaks=breaks,
        error=relative if rough else None,
        takes_missing=not transformer.validate,
        why="bends its column",
    )
    return [then(_not_bool(column, step), domain, step) for column in columns]


def _quiet(function: Any) -> Callable[[Floats], Floats]:
    def at(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return function(np.ascontiguousarray(x, dtype=np.float64))

    return at


def _not_bool(column: Column, step: Step) -> Column:
    if isinstance(column, Tabled) and any(isinstance(e, bool | np.bool_) for e in column.entries):
        raise UnsupportedModelError(
            f"{step.where} computes with fewer digits where its column is true or false; give it numbers."
        )
    return column


@_made.register
def _one_hot(transformer: OneHotEncoder, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "categories_")
    return _encoded(transformer, columns, domain, where, transformer._n_features_outs, sparse=transformer.sparse_output)


@_made.register
def _ordinal(transformer: OrdinalEncoder, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "categories_")
    return _encoded(transformer, columns, domain, where, [1] * len(columns))


@_made.register
def _by_target(transformer: TargetEncoder, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "encodings_")
    width = len(transformer.classes_) if transformer.target_type_ == "multiclass" else 1
    return _encoded(transformer, columns, domain, where, [width] * len(columns))


def _encoded(
    transformer: Any, columns: Columns, domain: Domain, where: str, widths: Sequence[int], *, sparse: bool = False
) -> Columns:
    """Return what the library's own transform makes of each value; `widths` columns of each column."""
    _check_dense(transformer, columns, where)
    name, made = f"{where} ({type(transformer).__name__})", Columns()
    ends = np.cumsum([0, *widths])
    asked = _nameless(transformer)
    for k, column in enumerate(columns):
        table = tabled(column, domain, name)
        if may_be_nan(table) and _knows_only_none(transformer.categories_[k]):
            raise UnsupportedModelError(
                f"{name} was fitted where None stands for missing, but NaN does in tables here; fit it with NaN."
            )
        found = _asked(asked, k, table, domain, name)[:, ends[k] : ends[k + 1]]
        made += [Tabled(table.feature, tuple(entries), sparse) for entries in found.T.tolist()]
    return made


def _knows_only_none(categories: Any) -> bool:
    nothing = [c for c in categories.tolist() if is_missing(c)]
    return bool(nothing) and all(c is None for c in nothing)


def _asked(encoder: Any, k: int, table: Tabled, domain: Domain, name: str) -> Floats:
    """Return a row for each entry of column k, the other columns at some category they know."""
    X = np.empty((len(table.entries), len(encoder.categories_)), dtype=object)
    X[:] = [categories[0] for categories in encoder.categories_]
    X[:, k] = np.array([*table.entries, None], dtype=object)[:-1]
    try:
        return _transformed(encoder, X)
    except ValueError as error:
        odd = next((n for n in range(len(X)) if not _is_known(encoder, X[n : n + 1])), None)
        if odd is None:
            raise UnsupportedModelError(f"{name} does not take the values of its columns: {error}.") from error
    value = "missing" if is_missing(table.entries[odd]) else f"the value {table.entries[odd]!r}"
    known = ", ".join(repr(c) for c in encoder.categories_[k].tolist()[:_SHOWN])
    raise DomainError(
        f"{name} does not know {value} of feature {domain.features[table.feature].name!r}; it was fitted on {known}: "
        "leave it out of the domain, or fit the encoder with handle_unknown."
    )


def _is_known(encoder: Any, row: Any) -> bool:
    try:
        _transformed(encoder, row)
    except ValueError:
        return False
    return True


def _transformed(encoder: Any, X: Any) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown categories: what becomes of them is read off
        found = encoder.transform(X)
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


@_made.register
def _selected(transformer: SelectorMixin, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "n_features_in_")
    name = f"{where} ({type(transformer).__name__})"
    kept = np.asarray(transformer.get_support()).tolist()
    missing = next((c for c in columns if may_be_nan(c)), None)
    if missing is not None and not _takes_missing(transformer):
        raise UnsupportedModelError(
            f"{name} has no result where a value is missing, but feature "
            f"{domain.features[missing.feature].name!r} may be; put a SimpleImputer before it, or give the domain "
            "missing=0."
        )
    return [column for column, flag in zip(columns, kept, strict=True) if flag]


def _takes_missing(transformer: Any) -> bool:
    return _is_known(_nameless(transformer), np.full((1, transformer.n_features_in_), np.nan))


@_made.register
def _united(transformer: FeatureUnion, columns: Columns, domain: Domain, where: str) -> Columns:
    weights, made = transformer.transformer_weights or {}, []
    for name, step in transformer.transformer_list:
        here = f"{where}, transformer {name!r}"
        made += _weighted(_through(step, columns, domain, here), domain, weights.get(name), here)
    sparse = any(column.sparse for column in made)
    return [replace(column, sparse=sparse) for column in made]


@_made.register
def _by_column(transformer: ColumnTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "transformers_")
    names = [str(n) for n in getattr(transformer, "feature_names_in_", ())]
    weights, made = transformer.transformer_weights or {}, []
    # The fitted list, not the parameter: it also has the remainder. What selects no column was never fitted.
    for name, step, selection in transformer.transformers_:
        chosen = [columns[k] for k in _indices(selection, names, len(columns))]
        here = f"{where}, transformer {name!r}"
        if chosen:
            made += _weighted(_through(step, chosen, domain, here), domain, weights.get(name), here)
    return [replace(column, sparse=bool(transformer.sparse_output_)) for column in made]


def _weighted(columns: Columns, domain: Domain, weight: float | None, where: str) -> Columns:
    if weight is None:
        return columns
    return [then(column, domain, arithmetic("multiply", weight, f"{where} (its weight)")) for column in columns]


def _indices(selection: Any, names: Sequence[str], width: int) -> list[int]:
    """Return the columns that a ColumnTransformer's selection means."""
    if isinstance(selection, slice):
        ends = [names.index(e) if isinstance(e, str) else e for e in (selection.start, selection.stop)]
        if isinstance(selection.stop, str):
            ends[1] += 1  # a slice of names includes its last
        return list(range(width))[slice(ends[0], ends[1], selection.step)]
    given = [selection] if isinstance(selection, str | int) else list(selection)
    if given and all(isinstance(g, bool | np.bool_) for g in given):
        return [k for k, flag in enumerate(given) if flag]
    return [names.index(g) if isinstance(g, str) else range(width)[int(g)] for g in given]
