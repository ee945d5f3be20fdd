"""What the readers of tree ensembles share: columns, categories and leaf vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.domain import Domain
from axfi_kc.errors import DomainError
from axfi_kc.features import Categorical, Integer
from axfi_kc.models import TreeNodes

__all__ = [
    "check_columns",
    "check_known_categories",
    "check_whole_codes",
    "codes_of_column",
    "constant",
    "plain_labels",
    "spread",
]


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
            f"The model was trained on {n_columns} columns, but the domain describes {len(domain.columns)}; "
            "make the domain from the data the model was trained on."
        )
    odd = next(((a, b) for a, b in zip(names or (), domain.columns, strict=False) if a != b), None)
    if odd is not None:
        raise DomainError(
            f"The model was trained on column {odd[0]!r} where the domain has {odd[1]!r}; "
            "give the domain the same columns in the same order."
        )


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


def plain_labels(labels: Any) -> tuple[Any, ...]:
    """Return class labels as Python values."""
    return tuple(np.asarray(labels).tolist())


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
    return TreeNodes(none, [None], none, none, np.zeros((1, n_scores)))
