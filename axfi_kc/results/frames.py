"""Explanations as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm, sqrt
from typing import TYPE_CHECKING, Any

from axfi_kc.errors import DomainError, MissingExtraError
from axfi_kc.results.documents import Explained

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["explanation_frame", "importance_frame", "pandas_for"]

_QUARTILES = {
    "min": Fraction(0),
    "25%": Fraction(1, 4),
    "50%": Fraction(1, 2),
    "75%": Fraction(3, 4),
    "max": Fraction(1),
}


def pandas_for(purpose: str) -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", purpose) from error
    return pd


def explanation_frame(explained: Explained, kinds: Sequence[str], *, exact: bool) -> pd.DataFrame:
    """Return a row per feature: its value, its scores, and in how many CXps it occurs."""
    pd = pandas_for("A table of one explanation")
    names = explained.domain.names
    counts = dict.fromkeys(names, 0)
    for cxp in explained.cxps:
        for name in cxp.features:
            counts[name] += 1
    columns: dict[str, Any] = {"value": pd.Series(list(explained.instance.values()), dtype=object)}
    for kind in kinds:
        scores = explained.scores(kind)
        found = [scores[n] if exact else float(scores[n]) for n in names]
        columns[kind] = pd.Series(found, dtype=object if exact else float)
    columns["cxps"] = pd.Series(list(counts.values()), dtype="int64")
    return pd.DataFrame(columns).set_axis(pd.Index(list(names), name="feature"))


def importance_frame(
    names: Sequence[str], numerators: Sequence[Sequence[int]], denominators: Sequence[int], *, exact: bool
) -> pd.DataFrame:
    """Return the mean and the distribution of each feature's score over a batch.

    The score of feature i at instance n is ``numerators[n][i] / denominators[n]``.

    Notes
    -----
    Instances times features, in integers over one denominator, and a sort per feature.
    """
    pd = pandas_for("A table of importance")
    if not denominators:
        raise DomainError("An importance is a mean over a batch, but this batch is empty; explain at least one row.")
    whole = lcm(*set(denominators))
    factors = [whole // d for d in denominators]
    columns = ([t * f for t, f in zip(column, factors, strict=True)] for column in zip(*numerators, strict=True))
    rows = [_distribution(sorted(column), whole, exact=exact) for column in columns]
    return pd.DataFrame(rows, index=pd.Index(list(names), name="feature"), dtype=object if exact else float)


def _distribution(ordered: Sequence[int], whole: int, *, exact: bool) -> dict[str, Any]:
    """Return mean, spread and quartiles of ``ordered[k] / whole``."""
    n = len(ordered)
    mean = Fraction(sum(ordered), n * whole)
    found: dict[str, Any] = {"mean": mean}
    if not exact:  # a root is irrational as a rule, so it has no exact form
        squares = Fraction(sum(t * t for t in ordered), n * whole**2)
        found["std"] = sqrt(squares - mean**2)
    found |= {name: _quantile(ordered, at) / whole for name, at in _QUARTILES.items()}
    found["relevant"] = Fraction(sum(t != 0 for t in ordered), n)
    return found if exact else {name: float(value) for name, value in found.items()}


def _quantile(ordered: Sequence[int], at: Fraction) -> Fraction:
    """Return the quantile, linear between neighbours as in NumPy and pandas."""
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
