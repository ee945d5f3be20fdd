"""The rows of a table that can be explained, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import quoted
from axfi_kc.domain.constraints import impossible_points
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.region import Region
from axfi_kc.engines import Engine, Located
from axfi_kc.errors import AxfiError, DomainError
from axfi_kc.explanations.labelled_rows import LabelledRows
from axfi_kc.models.own_predict import Predict, rounding_errors

__all__ = ["Rows", "rows_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a table.

    Attributes
    ----------
    codes, labels
        The rows that can be explained, and their names.
    located
        Where they lie, with outputs that agree with the model's own ``predict``; None: it is not asked.
    skipped
        The labels of the others, and why they cannot be explained.
    """

    codes: npt.NDArray[np.float64]
    labels: tuple[Any, ...]
    located: Located | None
    skipped: LabelledRows[str]


def rows_of(
    X: Any,
    domain: Domain,
    engine: Engine,
    predict: Predict | None,
    *,
    on_error: str,
    within: Region | None = None,
    wrong: Callable[[Sequence[Any]], Mapping[int, AxfiError]] | None = None,
) -> Rows:
    """Return the rows of a table, after comparing the exact outputs there with the model's own.

    Parameters
    ----------
    X, domain
        The table, and the space in which its rows should lie.
    engine
        What locates rows.
    predict
        The model's own predictions; None: nothing to compare with.
    on_error
        ``"raise"``: the first row that is wrong is an error, which says its label. ``"skip"``: it is left out.
    within
        The region around each row that it must not leave out; None: everywhere.
    wrong
        Tells what outputs, by their places, cannot be explained, and why; None: all can.

    Raises
    ------
    DomainError
        For the wrong columns, and for a row outside the domain, or one that cannot exist or that its region leaves out.
    RoundingError
        For a row within the library's rounding of a tie.
    """
    if on_error not in ("raise", "skip"):
        raise DomainError(f"on_error must be 'raise' or 'skip', but {quoted(on_error)} was given.")
    codes, outside = domain.encode_rows(X, all_rows=on_error == "skip")
    labels = tuple(X.index) if hasattr(X, "iloc") else tuple(range(len(codes)))
    found: dict[int, AxfiError] = dict(outside)
    _raise_first(found, labels, on_error)
    # Among values of the domain only: of others a constraint or a region cannot tell.
    found |= _unreachable(codes, found, domain, within, all_rows=on_error == "skip")
    _raise_first(found, labels, on_error)
    kept = np.setdiff1d(np.arange(len(codes)), list(found)) if found else None
    codes, chosen = (codes, labels) if kept is None else (codes[kept], _chosen(labels, kept))
    if predict is None and wrong is None:
        return Rows(codes, chosen, None, _reasons(found, labels))
    cells, outputs = engine.locate(codes)
    bad: dict[int, AxfiError] = {} if wrong is None else dict(wrong(outputs))
    bad |= {} if predict is None else dict(rounding_errors(predict, codes, outputs))
    found |= {n if kept is None else int(kept[n]): error for n, error in bad.items()}
    _raise_first(found, labels, on_error)
    if bad:
        good = np.setdiff1d(np.arange(len(codes)), list(bad))
        codes, chosen, cells, outputs = codes[good], _chosen(chosen, good), cells[good], list(_chosen(outputs, good))
    return Rows(codes, chosen, (cells, outputs), _reasons(found, labels))


def _unreachable(
    codes: npt.NDArray[np.float64],
    outside: Mapping[int, AxfiError],
    domain: Domain,
    within: Region | None,
    *,
    all_rows: bool,
) -> dict[int, DomainError]:
    """Return, by their places, why rows of values of the domain cannot exist, or are left out by the region.

    Unless `all_rows` are asked for, the first will do.
    """
    if within is None and not domain.constraints:
        return {}
    inside = np.setdiff1d(np.arange(len(codes)), list(outside)) if outside else np.arange(len(codes))
    wrong = {int(inside[k]): error for k, error in impossible_points(domain, codes[inside]).items()}
    if within is None:
        return wrong
    for n in inside.tolist():
        if wrong and not all_rows and n >= min(wrong):
            break
        try:
            # Made again when the row is explained, which takes some twenty times as long.
            within.around(domain, codes[n])
        except DomainError as error:
            wrong.setdefault(n, error)
    return wrong


def _raise_first(wrong: Mapping[int, AxfiError], labels: Sequence[Any], on_error: str) -> None:
    if wrong and on_error == "raise":
        first = wrong[min(wrong)]
        raise type(first)(f"Row {labels[min(wrong)]!r}: {first}") from first


def _chosen(items: Sequence[Any], positions: npt.NDArray[np.int64]) -> tuple[Any, ...]:
    return tuple(items[n] for n in positions.tolist())


def _reasons(wrong: Mapping[int, AxfiError], labels: Sequence[Any]) -> LabelledRows[str]:
    """Return why rows are left out, by label."""
    return LabelledRows((labels[n], str(error)) for n, error in sorted(wrong.items()))
