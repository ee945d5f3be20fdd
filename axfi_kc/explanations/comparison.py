"""What two explanations have in common, and what not."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.domain.measures import amount, counted
from axfi_kc.engines import LISTED
from axfi_kc.errors import DomainError, IncompleteError
from axfi_kc.explanations.cxps import UnlistedCXps
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.notebook_html import comparison_html
from axfi_kc.explanations.tables import SavedExplanation

__all__ = ["Comparison", "compare", "concordance", "rank_overlap"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """How a second explanation differs from a first.

    Attributes
    ----------
    kind
        The score compared.
    predictions
        Both outputs.
    differences
        The second score of each feature minus the first.
    common, only_first, only_second
        The CXps of both, of the first alone and of the second alone, as tuples of names.
    reweighted
        The CXps of both whose weights differ, with both weights.
    concordance
        Goodman and Kruskal's gamma of the two rankings: 1 same order, -1 opposite; None when
        one of them ranks nothing.
    overlap
        Rank-biased overlap with p = 1/2 and depth 5, not extrapolated: 31/32 for equal rankings of
        five features or more.
    """

    kind: str
    predictions: tuple[Any, Any]
    differences: dict[str, Fraction]
    common: tuple[tuple[str, ...], ...]
    only_first: tuple[tuple[str, ...], ...]
    only_second: tuple[tuple[str, ...], ...]
    reweighted: dict[tuple[str, ...], tuple[Any, Any]]
    concordance: Fraction | None
    overlap: Fraction

    @property
    def words(self) -> str:
        """The numbers of CXps and the agreement."""
        agreement = "none" if self.concordance is None else amount(self.concordance)
        return (
            f"{counted(len(self.common), 'CXp')} in both, {amount(len(self.only_first))} in the first alone, "
            f"{amount(len(self.only_second))} in the second alone; concordance of {self.kind} {agreement}, "
            f"overlap {amount(self.overlap)}"
        )

    def __repr__(self) -> str:
        """Return the numbers of CXps and the agreement."""
        return f"<Comparison: {self.words}>"

    def _repr_html_(self) -> str:
        """Return what differs, as notebooks show it: in full width, and with the largest differences."""
        return comparison_html(self)


@checked("first", "second")
def compare(
    first: Explanation | SavedExplanation, second: Explanation | SavedExplanation, *, kind: str = "shapley"
) -> Comparison:
    """Compare two explanations over the same features.

    They may be of two instances, of two models, or of one model over two domains with the same
    feature names.

    Raises
    ------
    DomainError
        If their features differ.

    Notes
    -----
    Linear in the CXps and quadratic in the features.

    Examples
    --------
    >>> import axfi_kc as ax
    >>> domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
    >>> one = ax.Explainer(lambda p: p[0] and p[1] > 0, domain).explain((1, 2))
    >>> two = ax.Explainer(lambda p: p[0] or p[1] > 0, domain).explain((1, 2))
    >>> compare(one, two)
    <Comparison: 0 CXps in both, 2 in the first alone, 1 in the second alone; concordance of shapley none, overlap 0.75>
    """
    names = first.domain.names
    if names != second.domain.names:
        raise DomainError("Two explanations can be compared when they have the same features in the same order.")
    many = next((e for e in (first, second) if isinstance(e.cxps, UnlistedCXps) or e.cxp_count > LISTED), None)
    if many is not None:
        raise IncompleteError(
            f"Explanations are compared CXp by CXp, but one has {many.cxp_count}, which are too many to list; compare "
            "their shares, or explain with max_size."
        )
    mine, theirs = ({c.features: c.weight for c in e.cxps} for e in (first, second))
    scores = first.scores(kind), second.scores(kind)
    return Comparison(
        kind=kind,
        predictions=(first.prediction, second.prediction),
        differences={n: scores[1][n] - scores[0][n] for n in names},
        common=tuple(c for c in mine if c in theirs),
        only_first=tuple(c for c in mine if c not in theirs),
        only_second=tuple(c for c in theirs if c not in mine),
        reweighted={c: (w, theirs[c]) for c, w in mine.items() if c in theirs and theirs[c] != w},
        concordance=concordance(*scores),
        overlap=rank_overlap(*map(_ranked, scores)),
    )


def _ranked(scores: Mapping[str, Fraction]) -> list[str]:
    """Return the features, largest score first, in the domain's order where scores are equal."""
    return sorted(scores, key=lambda name: -scores[name])


def concordance(first: Mapping[str, Fraction], second: Mapping[str, Fraction]) -> Fraction | None:
    """Return Goodman and Kruskal's gamma: (agreeing - opposed) / (agreeing + opposed) pairs.

    Pairs that one side ties are left out; None when no pair remains.

    Notes
    -----
    Quadratic in the features.

    Examples
    --------
    >>> concordance({"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 1, "c": 2})
    Fraction(1, 3)
    """
    agree = oppose = 0
    for a, b in combinations(first, 2):
        mine, theirs = _sign(first[a] - first[b]), _sign(second[a] - second[b])
        agree += mine * theirs > 0
        oppose += mine * theirs < 0
    return Fraction(agree - oppose, agree + oppose) if agree + oppose else None


def _sign(number: Fraction | int) -> int:
    return (number > 0) - (number < 0)


def rank_overlap(
    first: Sequence[Hashable], second: Sequence[Hashable], *, p: Fraction = Fraction(1, 2), depth: int = 5
) -> Fraction:
    """Return the rank-biased overlap of two rankings down to `depth`, without extrapolation.

    (1 - p) times the sum over d of p^(d-1) times the share of the first d places that both have.

    Examples
    --------
    >>> rank_overlap("abcde", "abcde"), rank_overlap("ab", "ba")
    (Fraction(31, 32), Fraction(1, 4))
    """
    total, seen = Fraction(0), (set[Hashable](), set[Hashable]())
    for d in range(1, min(depth, max(len(first), len(second))) + 1):
        seen[0].update(first[d - 1 : d])
        seen[1].update(second[d - 1 : d])
        total += p ** (d - 1) * Fraction(len(seen[0] & seen[1]), d)
    return (1 - p) * total
