"""A score: a function of the CXps and their weights."""

from __future__ import annotations

from fractions import Fraction

from axfi_kc.budget import Budget
from axfi_kc.scores import register_score
from axfi_kc.scores.forest import CXpForest


@register_score("toy", "a toy score", needs="weights")
def toy_score(forest: CXpForest, *, budget: Budget | None = None) -> dict[str, Fraction]:
    """Return the number of CXps with a feature, times the heaviest of their weights."""
    mine = {n: [w for cxp, w in forest.weights.items() if n in cxp] for n in forest.features}
    return {n: len(found) * Fraction(max(found)) for n, found in mine.items() if found}
