"""AxFi scores of batches, with numerators of every size."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.errors import WeightError
from axfi_kc.models import LinearModel, Positive, TreeSum
from tests.support.small_trees import all_of, any_of, batch_scores, nodes_of, tree_of


def test_scores_of_a_batch_with_more_cxps_than_can_be_listed() -> None:
    """Numerators beyond int64 stay integers of any size, next to an instance whose own are small."""
    n = 80
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of_columns(domain, [[1] * n], intercepts=[-n // 2], rule=Positive((0, 1)))
    batch = ax.Explainer(model, domain, target="mdd").explain_batch([[0] * n, [1] * 41 + [0] * 39])
    for kind in ("shapley", "banzhaf"):
        numerators, denominators = batch.score_numerators(kind)
        for e, row, whole in zip(batch, numerators.tolist(), denominators, strict=True):
            assert [Fraction(t, whole) for t in row] == list(e.scores(kind).values())
        assert max(map(max, numerators.tolist())) >= 2**63
    first = batch[0].scores("shapley")  # one point each in the boxes of all sets of 41 features
    assert set(first.values()) == {Fraction(1, n * 2**41)}


@pytest.mark.parametrize("kind", ["nonsense", "nonsense_cxp", "shapley_cxp"])
def test_unknown_scores_are_refused(kind: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    with pytest.raises(WeightError, match=kind):
        ax.Explainer(lambda p: p[0], domain).explain((0, 0)).scores(kind)


@pytest.mark.parametrize(("kind", "share"), [("shapley", Fraction(1, 2)), ("banzhaf", Fraction(1, 2))])
def test_counts_whose_sum_passes_int64(kind: str, share: Fraction) -> None:
    """Five CXps {a, b} of 2**61 points each: the weights fit int64, their sum does not."""
    domain = ax.Domain([ax.Integer("a", 0, 2**31), *(ax.Integer(f"b{k}", 0, 2**30) for k in range(5))])
    found = batch_scores(tree_of(domain, (0, 0.5, 0, any_of([1, 2, 3, 4, 5]))), domain, kind, weights="count")
    assert found == [2**61 * share] + [2**61 * share / 5] * 5


@pytest.mark.parametrize(("weights", "size"), [("count", 2**53), ("ratio", 2**45)])
def test_weights_times_shares_that_pass_int64(weights: str, size: int) -> None:
    """One CXp of one feature and one of twelve: the weight fits int64, times the common denominator it does not."""
    domain = ax.Domain([ax.Integer("a", 0, size - 1), *(ax.Integer(f"c{k}", 0, 1) for k in range(12))])
    model = tree_of(domain, (0, 0.5, all_of(list(range(1, 13))), 1))
    large, small = (size - 1, 1) if weights == "count" else (Fraction(size - 1, size), Fraction(1, 2**12))
    assert (
        batch_scores(model, domain, "banzhaf", weights=weights)
        == [Fraction(large) / 2] + [Fraction(small) / 2**12] * 12
    )
    assert (
        batch_scores(model, domain, "shapley", weights=weights) == [Fraction(large) / 2] + [Fraction(small) / 24] * 12
    )


def test_numerators_of_exactly_two_to_the_63() -> None:
    """The whole is 2**63 and the one CXp certain, so the score's numerator is the first that int64 does not hold."""
    domain = ax.Domain([ax.Integer("a", 0, 1, weights=[0, 1]), *(ax.Integer(f"b{k}", 0, 1) for k in range(63))])
    without_effect: Any = 0
    for i in range(1, 64):
        without_effect = (i, 0.5, 0, without_effect)
    for kind in ("shapley", "banzhaf"):
        assert batch_scores(tree_of(domain, (0, 0.5, without_effect, 1)), domain, kind) == [1] + [0] * 63


def test_a_large_count_next_to_a_large_cxp() -> None:
    """A sum of two trees, whose counts are int64: 2**53 - 1 times 2**11 is beyond it."""
    domain = ax.Domain([ax.Integer("a", 0, 2**53 - 1), *(ax.Integer(f"c{k}", 0, 1) for k in range(12))])
    parts = [nodes_of((0, 0.5, 0, 1)), nodes_of(all_of(list(range(1, 13))))]  # -1/2 or 1/2 each
    model = TreeSum.of(domain, parts, rule=Positive((0, 1)), base=[Fraction(1, 2)])
    found = batch_scores(model, domain, "banzhaf", weights="count")
    assert found == [Fraction(2**53 - 1, 2)] + [Fraction(1, 2**12)] * 12


def test_small_counts_over_features_with_many_values() -> None:
    """Totals are Python integers because they might be large, and are small."""
    domain = ax.Domain([ax.Integer("a", 0, 2**40), ax.Integer("b", 0, 2**40)])
    model = tree_of(domain, (0, 2**40 - 1.5, 0, (1, 2**40 - 1.5, 0, 1)))
    assert batch_scores(model, domain, "shapley", weights="count") == [2, 2]


def test_numerators_of_families_beyond_int64(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of the wholes fits int64, what a family is scaled by does not."""
    monkeypatch.setattr(diagrams, "_AT_ONCE", 0)
    primes = (10007, 10009, 10037, 10039)
    domain = ax.Domain([ax.Integer(f"x{p}", 0, 1, weights=[1, p - 1]) for p in primes])
    found = batch_scores(tree_of(domain, all_of([0, 1, 2, 3])), domain, "shapley", target="mdd")
    assert found == [prod(Fraction(p - 1, p) for p in primes) / 4] * 4
