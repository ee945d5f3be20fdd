"""Rankings of features by different scores, and how much they overlap.

Features are ranked by score, largest first; features of equal score, zeros among them, stay in the
order of the domain, in every ranking alike. Two rankings therefore agree on where they put features
that neither score tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from axfi_kc.paper.published import PAIRS

__all__ = ["DEPTH", "PERSISTENCE", "has_tie", "overlaps", "rank_biased_overlap", "ranked", "summary"]

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


def rank_biased_overlap(
    one: Sequence[str], other: Sequence[str], *, persistence: Fraction = PERSISTENCE, depth: int = DEPTH
) -> Fraction:
    """Return the rank-biased overlap of two rankings down to `depth`, without extrapolation.

    The sum over d = 1..depth of ``(1 - p) p**(d-1)`` times the share of features that the two first
    d places have in common. What lies beyond `depth` counts as disagreement, so that equal rankings
    score ``1 - p**depth``, 31/32 for the paper's settings.

    Notes
    -----
    Linear in `depth`.

    Examples
    --------
    >>> rank_biased_overlap("abcdef", "abcdef"), rank_biased_overlap("ab", "ba", depth=2)
    (Fraction(31, 32), Fraction(1, 4))
    """
    total, seen, others = Fraction(0), set[str](), set[str]()
    for d in range(1, depth + 1):
        seen.update(one[d - 1 : d])
        others.update(other[d - 1 : d])
        total += persistence ** (d - 1) * Fraction(len(seen & others), d)
    return (1 - persistence) * total


def overlaps(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, Fraction]:
    """Return the overlap of each of the paper's nine pairs at one instance.

    Parameters
    ----------
    scores
        ``{"shapley": {feature: score}, "banzhaf": ..., "wffa": ..., "shap": ...}``.
    """
    sizes = {name: abs(score) for name, score in scores["shap"].items()}
    order = {kind: ranked(values) for kind, values in {**scores, "abs(shap)": sizes}.items()}
    return {f"{a}-{b}": rank_biased_overlap(order[a], order[b]) for a, b in PAIRS}


def summary(values: Iterable[Any]) -> dict[str, float]:
    """Return least, largest and mean."""
    found = [float(v) for v in values]
    return {"min": min(found), "max": max(found), "mean": sum(found) / len(found)}
