"""Importance over a batch in the shape of scikit-learn's inspection: means, deviations and all values per feature."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, number_array
from axfi_kc.domain.measures import counted
from axfi_kc.errors import DomainError

__all__ = ["Inspection", "empty_batch", "grouped_rows"]


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Mapping[str, Any]):
    """What ``sklearn.inspection.permutation_importance`` returns, with shares of a score for what permuting costs.

    Entries are attributes and keys alike: ``found.importances_mean``, ``found["importances_mean"]``. Each share is
    rounded once; ``batch.shares(kind)`` has them exactly.

    Attributes
    ----------
    importances_mean, importances_std
        The mean of each feature's importance over the rows, and its standard deviation (of the population).
    importances
        A row per feature and a column per row of the batch.
    feature_names
        The features, in this order.
    """

    importances_mean: npt.NDArray[np.float64]
    importances_std: npt.NDArray[np.float64]
    importances: npt.NDArray[np.float64]
    feature_names: npt.NDArray[Any]

    @classmethod
    @checked("values", "names")
    def of(cls, values: npt.NDArray[np.float64], names: Sequence[str]) -> Inspection:
        """Take values with a row per row of a batch and a column per feature.

        Raises
        ------
        DomainError
            If there is no row.

        Examples
        --------
        >>> Inspection.of(np.array([[0.25, 0.75], [0.75, 0.25]]), ["a", "b"])["importances_mean"].tolist()
        [0.5, 0.5]
        """
        values = number_array(values, "values", (None, len(names)))
        if not len(values):
            raise empty_batch()
        titles = np.array([*names, None], dtype=object)[:-1]
        return cls(values.mean(axis=0), values.std(axis=0), values.T, titles)

    def __getitem__(self, key: str) -> Any:
        """Return an entry by its name."""
        if key not in self:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the entries."""
        return (entry.name for entry in fields(self))

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(fields(self))

    def __contains__(self, key: object) -> bool:
        """Tell whether there is an entry of that name."""
        return any(key == name for name in self)

    def __repr__(self) -> str:
        """Return the features with the largest means."""
        order = np.argsort(-self.importances_mean, kind="stable")[:3].tolist()
        top = ", ".join(f"{self.feature_names[i]} {self.importances_mean[i]:.3g}" for i in order)
        return f"<Inspection of {counted(self.importances.shape[1], 'row')}: {top}>"


def empty_batch(wanted: str = "An importance is a mean over a batch") -> DomainError:
    """Return the error about a batch without rows; `wanted` says what needs them."""
    return DomainError(f"{wanted}, but this batch is empty; explain at least one row.")


def grouped_rows(groups: Sequence[Hashable], n_rows: int) -> dict[Hashable, list[int]]:
    """Return the numbers of the rows of each group, groups in sorted order where they can be sorted.

    Raises
    ------
    DomainError
        If there is not one group for each row.

    Examples
    --------
    >>> grouped_rows(["b", "a", "b"], 3)
    {'a': [1], 'b': [0, 2]}
    """
    if len(groups) != n_rows:
        raise DomainError(
            f"Expected a group for each of {n_rows} rows, but {len(groups)} were given; name a feature, or "
            "'prediction', or give one group per row."
        )
    found: dict[Hashable, list[int]] = {}
    for n, group in enumerate(groups):
        # NaN is not equal to itself, but missing values are one group.
        found.setdefault(None if group != group else group, []).append(n)
    try:
        return {group: found[group] for group in sorted(found)}  # type: ignore[type-var]
    except TypeError:  # of several types, which do not compare
        return found
