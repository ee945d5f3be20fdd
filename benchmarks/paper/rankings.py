"""Rankings of features by different scores, and how much they overlap.

Features are ranked by score, largest first; features of equal score, zeros among them, stay in the
order of the domain, in every ranking alike. Two rankings therefore agree on where they put features
that neither score tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from axfi_kc.explanations.comparison import rank_overlap
from benchmarks.paper.published import PAIRS

__all__ = ["DEPTH", "PERSISTENCE", "has_tie", "overlaps", "ranked", "summary"]


PERSISTENCE = Fraction(1, 2)
DEPTH = 5


def ranked(scores: Mapping[str, Any]) -> list[str]:
    """Return the features, largest score first, ties in the order given.

    Examples
    --------
    >>> ranked({"a": 0, "b": 2, "c": 0})
    ['b', 'a', 'c']
    """
    return sorted(scores, key=lambda name: -scores[name])


def has_tie(scores: Mapping[str, Any], *, depth: int = DEPTH) -> bool:
    """Tell whether the order of the first `depth` features depends on how ties are broken."""
    values = sorted(scores.values(), reverse=True)[: depth + 1]
    return any(a == b for a, b in pairwise(values))


def overlaps(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Fraction]:
    """Return the overlap of each of the paper's nine pairs at one instance.

    Parameters
    ----------
    scores
        ``{"shapley": {feature: score}, "banzhaf": ..., "wffa": ..., "shap": ...}``.
    """
    sizes = {name: abs(score) for name, score in scores["shap"].items()}
    order = {kind: ranked(values) for kind, values in {**scores, "abs(shap)": sizes}.items()}
    return {f"{a}-{b}": rank_overlap(order[a], order[b], p=PERSISTENCE, depth=DEPTH) for a, b in PAIRS}


def summary(values: Iterable[Any]) -> dict[str, float]:
    """Return least, largest and mean."""
    found = [float(v) for v in values]
    return {"min": min(found), "max": max(found), "mean": sum(found) / len(found)}
