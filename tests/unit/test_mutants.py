"""Tests that notice what mutation testing found unnoticed; see docs/mutation.md."""

from __future__ import annotations

from fractions import Fraction

import pytest

import axfi_kc as ax
from axfi_kc.errors import WeightError
from axfi_kc.models import LinearModel, Positive, Slope
from axfi_kc.sets import minimal_hitting_sets
from tests.oracle import Judge, space_of


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


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 129])
def test_hitting_sets_at_the_edges_of_words(n: int) -> None:
    """As many sets, and as many elements, as fill words of 64 bits, and one more or less."""
    assert minimal_hitting_sets(1 << i for i in range(n)) == [(1 << n) - 1]
    assert minimal_hitting_sets([(1 << n) - 1]) == [1 << i for i in range(n)]
    pairs = [1 << i | 1 << n for i in range(n)]
    assert minimal_hitting_sets(pairs) == sorted([1 << n, (1 << n) - 1], key=lambda m: (m.bit_count(), m & 1 == 0, m))


def test_weights_of_tables_beyond_int64() -> None:
    """Measures with denominators of 50 bits: the product of four does not fit, and nothing is rounded."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 2, weights=[1, 10**15 + i, 7**17]) for i in range(4)])

    def model(x: tuple[int, ...]) -> int:
        return int(sum(x) >= 5 or x[:2] == (1, 2))

    v = (0, 0, 0, 0)
    judge = Judge(space_of(domain), model, v)
    expected = {Y: judge.ratio(Y) for Y in judge.cxps()}
    found = ax.Explainer(model, domain).explain(v).cxps
    assert {frozenset(map(domain.names.index, c.features)): c.weight for c in found} == expected
    assert max(len(Y) for Y in expected) == 3


@pytest.mark.parametrize("kind", ["nonsense", "nonsense_cxp", "shapley_cxp"])
def test_unknown_scores_are_refused(kind: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    with pytest.raises(WeightError, match=kind):
        ax.Explainer(lambda p: p[0], domain).explain((0, 0)).scores(kind)


def test_counts_need_no_discrete_features_outside_the_cxps() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Real("b", 0, 1)])
    for factor, is_countable in ((0, True), (9, False)):
        model = LinearModel.of(domain, [Slope((1,)), Slope((factor,))], base=[-2], rule=Positive((0, 1)))
        explainer = ax.Explainer(model, domain, weights="count")
        if is_countable:
            assert [(c.features, c.weight) for c in explainer.explain((0, 0.0)).cxps] == [(("a",), 1)]
        else:
            with pytest.raises(WeightError, match="discrete"):
                explainer.explain((0, 0.0))


@pytest.mark.parametrize("n", [64, 65, 130])
def test_cxps_over_several_words_of_features(n: int) -> None:
    """Sets are words of 64 features; features of every word come out under their own names."""
    members = [3, n // 2, n - 1]
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    row = [int(i in members) for i in range(n)]
    model = LinearModel.of_columns(domain, [row], intercepts=[-1], rule=Positive((0, 1)))
    found = ax.Explainer(model, domain).explain([0] * n).cxps
    pairs = {(f"x{a}", f"x{b}") for k, a in enumerate(members) for b in members[k + 1 :]}
    assert {c.features for c in found} == pairs
    assert {c.weight for c in found} == {Fraction(1, 4)}
