"""Two explanations side by side, and how far rankings agree."""

from __future__ import annotations

from fractions import Fraction
from html import escape
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.errors import DomainError
from axfi_kc.explanations.comparison import compare, concordance, rank_overlap
from tests.support.paper_example import DOMAIN, ONES, paper


def test_comparison() -> None:
    one = paper("count")
    two = ax.Explainer(lambda p: int(p in ONES - {(2, 1, 0)}), DOMAIN, weights="count").explain((2, 1, 2))
    found = compare(one, two)
    mine, theirs = ({c.features: c.weight for c in e.cxps} for e in (one, two))
    assert set(found.only_first) == set(mine) - set(theirs)
    assert set(found.only_second) == set(theirs) - set(mine)
    assert found.common == tuple(c for c in mine if c in theirs)
    assert found.reweighted == {c: (mine[c], theirs[c]) for c in found.common if mine[c] != theirs[c]}
    assert found.differences == {n: two.scores()[n] - one.scores()[n] for n in DOMAIN.names}
    assert compare(one, one).concordance == 1
    with pytest.raises(DomainError, match="same features"):
        compare(one, ax.Explainer(lambda p: p[0], ax.Domain([ax.Integer("a", 0, 1)])).explain([1]))


def test_a_comparison_in_a_notebook() -> None:
    """Names of any length in full, each explanation's own CXps, and what is left out counted."""
    names = [f"a feature <{i}> whose name is longer than the widest column of a table of pandas" for i in range(10)]
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in names])
    each = ax.Explainer(lambda p: int(all(p)), domain).explain([1] * 10)
    first = ax.Explainer(lambda p: p[0], domain).explain([1] * 10)
    html = compare(each, first)._repr_html_()
    assert "1 CXp in both, 9 in the first alone, 0 in the second alone" in html
    assert all(f"{escape(name)}</td>" in html for name in names)
    assert html.count("<td") == 2 * 10 + 2 * 8
    assert "1 CXp more" in html
    assert compare(each, each)._repr_html_().count("<table") == 0


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.data())
def test_rank_agreement(first: list[int], data) -> None:
    second = data.draw(st.lists(st.integers(0, 4), min_size=len(first), max_size=len(first)))
    a, b = ({str(k): Fraction(v) for k, v in enumerate(s)} for s in (first, second))
    signs = [(x > y) - (x < y) for s in (first, second) for x, y in combinations(s, 2)]
    half = len(signs) // 2
    products = [x * y for x, y in zip(signs[:half], signs[half:], strict=True) if x * y]
    assert concordance(a, b) == (Fraction(sum(products), len(products)) if products else None)
    order = data.draw(st.permutations(range(len(first))))
    depth = min(5, len(first))
    shares = [Fraction(len(set(range(d)) & set(order[:d])), d) / 2**d for d in range(1, depth + 1)]
    assert rank_overlap(range(len(first)), order) == sum(shares)
