"""interpret's explainable boosting machines: where their bins end; what they add is left to ``predict``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer, Real
from axfi_kc.verification.reading.columns import Seen
from axfi_kc.verification.reading.forms import CellForm
from axfi_kc.verification.spaces import Bound

__all__ = ["interpret_form"]


def interpret_form(model: Any, domain: Domain, columns: tuple[Seen, ...]) -> CellForm | None:
    """Return the cells of a sum of tables over bins; None where a real number is a category."""
    found: list[set[Bound]] = [set() for _ in domain.features]
    for seen, levels in zip(columns, model.bins_, strict=True):
        feature = domain.features[seen.feature]
        for bins in levels:
            if not isinstance(bins, dict):
                found[seen.feature].update((Fraction(float(cut)), False) for cut in bins)
            elif isinstance(feature, Integer):
                found[seen.feature].update((Fraction(k), True) for k in range(feature.low, feature.high))
            elif isinstance(feature, Real):
                return None
    return CellForm(tuple(map(frozenset, found)))
