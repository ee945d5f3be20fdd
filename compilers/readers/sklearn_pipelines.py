"""scikit-learn pipelines that scale or encode before a linear model or trees.

The domain describes what goes into the pipeline: the user's own features. For a linear model the
scalers' affine maps are composed exactly, in the rationals that their floats denote; the library
computes ``(x - mean) / scale`` in floating point, so the two can differ where a margin is within
rounding of zero. For trees thresholds are pulled back through the floating-point maps themselves,
and predictions agree on every float64 input.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial, singledispatch
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from axfi_kc.compilers.readers import gets_sparse_tables, giving_tables, read_model, reads
from axfi_kc.compilers.readers.pipeline_columns import (
    Column,
    Step,
    Tabled,
    columns_of,
    inner_of,
    pulled_back,
    tabled,
    then,
)
from axfi_kc.compilers.readers.sklearn_trees import check_fitted, check_width
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Model
from axfi_kc.models.own_predict import check_inherited, table_of

__all__: list[str] = []

Columns = list[Column]


@reads(Pipeline)
def _pipeline(model: Any, domain: Domain) -> Model:
    *transformers, (name, final) = model.steps
    if final is None or isinstance(final, str):
        raise UnsupportedModelError(
            f"A pipeline must end in a model, but its last step {name!r} is {final!r}; add the fitted model."
        )
    if hasattr(model, "n_features_in_"):
        check_width(model, domain)
    columns = columns_of(domain)
    for step, transformer in transformers:
        columns = _through(transformer, columns, domain, f"Pipeline step {step!r}")
    names = [str(n) for n in getattr(final, "feature_names_in_", [f"column {k}" for k in range(len(columns))])]
    if len(names) != len(columns):
        raise DomainError(
            f"The pipeline's model was fitted on {len(names)} columns, but its transformers make {len(columns)} of "
            "this domain; make the domain from the data the pipeline was fitted on."
        )
    inner = inner_of(domain, columns, names)
    with giving_tables(partial(_gives_sparse, model, domain, is_sparse=gets_sparse_tables())):
        form = read_model(final, inner.domain)
    return pulled_back(form, inner, domain)


def _gives_sparse(model: Any, domain: Domain, *, is_sparse: bool) -> bool:
    """Tell whether a pipeline, given sparse tables if `is_sparse`, gives such to its model: it transforms a point."""
    codes = [0.0 if isinstance(f, Categorical) else float(f.low) for f in domain.features]
    table = table_of(model, domain, np.array([codes]))
    table = csr_matrix(table) if is_sparse else table
    for _, step in model.steps[:-1]:
        table = table if step is None or step == "passthrough" else step.transform(table)
    return issparse(table)


def _through(transformer: Any, columns: Columns, domain: Domain, where: str) -> Columns:
    """Return what a transformer makes of columns, if it transforms as the class does that is known here."""
    check_inherited(transformer, _made.registry.keys(), where=f"{where} must be a transformer")
    return _made(transformer, columns, domain, where)


@singledispatch
def _made(transformer: Any, columns: Columns, domain: Domain, where: str) -> Columns:
    if transformer is None or transformer == "passthrough":
        return columns
    if isinstance(transformer, str) and transformer == "drop":
        return []
    raise UnsupportedModelError(
        f"{where} is {type(transformer).__name__}, which cannot be expressed in the original features; "
        "supported are StandardScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder and ColumnTransformer of these."
    )


@_made.register
def _nested(transformer: Pipeline, columns: Columns, domain: Domain, where: str) -> Columns:
    for name, step in transformer.steps:
        columns = _through(step, columns, domain, f"{where}, step {name!r}")
    return columns


@_made.register
def _identity(transformer: FunctionTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    if transformer.func is not None:
        raise UnsupportedModelError(
            f"{where} is FunctionTransformer({transformer.func!r}), which cannot be inverted; "
            "apply the function to the data before the pipeline, and explain the results as features."
        )
    return columns


@_made.register
def _standard(transformer: StandardScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "n_features_in_")
    name = f"{where} (StandardScaler)"
    made = []
    for k, column in enumerate(columns):
        # The library's own operations in its order, as each of them rounds: thresholds of trees go back through them
        # one by one. MinMaxScaler below multiplies and adds, and does not divide by the range.
        steps = [Step("subtract", float(transformer.mean_[k]), name)] if transformer.with_mean else []
        steps += [Step("divide", float(transformer.scale_[k]), name)] if transformer.with_std else []
        made.append(then(column, *steps) if steps else column)
    return made


@_made.register
def _min_max(transformer: MinMaxScaler, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "scale_")
    name = f"{where} (MinMaxScaler)"
    low, high = transformer.feature_range
    clip = [Step("clip", float(low), name, float(high))] if transformer.clip else []
    return [
        then(column, Step("multiply", float(scale), name), Step("add", float(least), name), *clip)
        for column, scale, least in zip(columns, transformer.scale_, transformer.min_, strict=True)
    ]


@_made.register
def _one_hot(transformer: OneHotEncoder, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "categories_")
    made: Columns = []
    for k, column in enumerate(columns):
        table = tabled(column, domain, f"{where} (OneHotEncoder)")
        place, n_places = _places(transformer, k)
        dropped = None if transformer.drop_idx_ is None else transformer.drop_idx_[k]
        unknown = _unknown_place(transformer, k, n_places)
        hot = [_place_of(v, place, unknown, table, domain, where) for v in table.entries]
        made += [
            Tabled(table.feature, tuple(float(h == p) for h in hot))
            for p in range(n_places)
            # Rare categories share a place, so the dropped one's position among the categories need not be its place.
            if dropped is None or p != place[_plain(transformer.categories_[k][dropped])]
        ]
    if len(made) != len(transformer.get_feature_names_out()):
        raise UnsupportedModelError(
            f"{where} is a OneHotEncoder whose {len(transformer.get_feature_names_out())} columns could not be "
            f"traced to its categories ({len(made)} were found); leave out min_frequency and max_categories."
        )
    return made


@_made.register
def _ordinal(transformer: OrdinalEncoder, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "categories_")
    made: Columns = []
    unknown = transformer.unknown_value if transformer.handle_unknown == "use_encoded_value" else None
    for k, column in enumerate(columns):
        table = tabled(column, domain, f"{where} (OrdinalEncoder)")
        place, _ = _places(transformer, k)
        codes = [_place_of(v, place, unknown, table, domain, where) for v in table.entries]
        made.append(Tabled(table.feature, tuple(map(float, codes))))
    return made


def _plain(value: Any) -> Hashable:
    return value.item() if isinstance(value, np.generic) else value


def _places(encoder: Any, k: int) -> tuple[dict[Hashable, int], int]:
    """Return the place of each category of column k, rare ones sharing the last, and their number."""
    rare = getattr(encoder, "infrequent_categories_", None)
    shared = set() if rare is None or rare[k] is None else {_plain(c) for c in rare[k]}
    categories = [_plain(c) for c in encoder.categories_[k]]
    frequent = [c for c in categories if c not in shared]
    place = {c: p for p, c in enumerate(frequent)} | dict.fromkeys(shared, len(frequent))
    return place, len(frequent) + bool(shared)


def _unknown_place(encoder: Any, k: int, n_places: int) -> int | None:
    """Return where an unknown category goes: -1 for no column at all, None for an error."""
    if encoder.handle_unknown == "error":
        return None
    rare = getattr(encoder, "infrequent_categories_", None)
    grouped = rare is not None and rare[k] is not None and encoder.handle_unknown in ("infrequent_if_exist", "warn")
    return n_places - 1 if grouped else -1


def _place_of(
    value: Hashable, place: dict[Hashable, int], unknown: Any, table: Tabled, domain: Domain, where: str
) -> Any:
    found = place.get(value, unknown)
    if found is None or found != found:  # NaN stands for unknown values, and models cannot read it
        name = domain.features[table.feature].name
        raise DomainError(
            f"{where} does not know the value {value!r} of feature {name!r}; it was fitted on "
            f"{', '.join(map(repr, list(place)[:8]))}: leave the value out of the domain."
        )
    return found


@_made.register
def _by_column(transformer: ColumnTransformer, columns: Columns, domain: Domain, where: str) -> Columns:
    check_fitted(transformer, "transformers_")
    if transformer.transformer_weights:
        raise UnsupportedModelError(
            f"{where} has transformer_weights, which scale columns and are not read; scale them by a step instead."
        )
    names = [str(n) for n in getattr(transformer, "feature_names_in_", ())]
    made: Columns = []
    # The fitted list, not the parameter: it also has the remainder. What selects no column was never fitted.
    for name, step, selection in transformer.transformers_:
        chosen = [columns[k] for k in _indices(selection, names, len(columns))]
        if chosen:
            made += _through(step, chosen, domain, f"{where}, transformer {name!r}")
    return made


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
