"""A small sample of `benchmarks/soak.py`, and that it notices faults."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from benchmarks import soak
from tests.support.oracle import banzhaf, hitting_value, shapley
from tests.support.random_problems import KINDS, random_truth


@pytest.mark.parametrize("first", range(8))
def test_a_sample_of_the_soak(first: int) -> None:
    for seed in range(first, 32, 8):
        soak.check_seed(seed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_listing_agrees_with_the_slow_judge(kind: str) -> None:
    rng = Random(f"judge {kind}")
    for _ in range(6):
        truth = random_truth(rng, kind, n_instances=1)
        answer = truth.answer(truth.instances[0])
        soak.check_judge(truth, answer)
        weights = {frozenset(i for i in range(answer.n_features) if Y >> i & 1): w for Y, w in answer.ratios.items()}
        for name, index in (("shapley", shapley), ("banzhaf", banzhaf)):
            expected = index(lambda S, weights=weights: hitting_value(weights, S), answer.n_features)
            assert answer.scores(name, "ratio") == expected


def test_a_wrong_weight_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = random_truth(Random(5), "tree")
    while not truth.answer(truth.instances[0]).ratios:
        truth = random_truth(Random(len(truth.outputs)), "ensemble")
    right = type(truth).answer

    def wrong(self, v):
        answer = right(self, v)
        first = next(iter(answer.ratios), None)
        if first is not None:
            answer.ratios[first] += Fraction(1, 10**9)
        return answer

    monkeypatch.setattr(type(truth), "answer", wrong)
    monkeypatch.setattr(soak, "check_judge", lambda truth, answer: None)
    with pytest.raises(soak.Disagreement):
        soak.check_model(truth, Random(1))
