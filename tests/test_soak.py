"""A small sample of `benchmarks/soak.py`, that it notices faults, and that its judges agree with each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from benchmarks import soak
from tests.support.crossed_problems import Scene, random_joint, random_scene
from tests.support.oracle import banzhaf, hitting_value, shapley
from tests.support.random_distributions import joint_table, with_distribution
from tests.support.random_problems import KINDS, random_truth
from tests.support.random_spaces import Around


@pytest.mark.parametrize("first", range(8))
def test_a_sample_of_the_soak(first: int) -> None:
    for seed in range(first, 64, 8):
        soak.check_seed(seed)


def test_a_seed_that_disagreed() -> None:
    """A ball around a frozen value that an edgeless Chow-Liu tree gives probability 0."""
    soak.check_seed(1012163)


@pytest.mark.parametrize("kind", KINDS)
def test_the_listing_agrees_with_the_slow_judge(kind: str) -> None:
    rng = Random(f"judge {kind}")
    for _ in range(6):
        truth = random_truth(rng, kind, n_instances=1)
        answer = truth.answer(truth.instances[0])
        assert Scene.of(truth).answer(truth.instances[0]) == (answer, False)
        soak.check_judge(truth, answer)
        weights = {frozenset(i for i in range(answer.n_features) if Y >> i & 1): w for Y, w in answer.ratios.items()}
        for name, index in (("shapley", shapley), ("banzhaf", banzhaf)):
            expected = index(lambda S, weights=weights: hitting_value(weights, S), answer.n_features)
            assert answer.scores(name, "ratio") == expected


@pytest.mark.parametrize("kind", ["product", "mixture", "chow-liu"])
def test_the_array_of_a_distribution_is_its_joint_table(kind: str) -> None:
    rng = Random(f"table {kind}")
    for _ in range(5):
        truth = random_truth(rng, "tree", n_instances=2)
        joint = random_joint(rng, truth.domain, kind)
        table, total = joint_table(joint.given), int(joint.table.sum())
        assert {s: Fraction(int(joint.table[s]), total) for s in table} == table
        slow = with_distribution(truth, joint.given)
        for v in truth.instances:
            answer, empty = Scene(truth, slow.domain, (), joint, None).answer(v)
            assert slow.has_ratios(v) is not empty
            assert empty or slow.answer(v).ratios == answer.ratios


def test_the_region_is_that_of_another_definition() -> None:
    rng, checked = Random("regions"), 0
    while checked < 30:
        scene = random_scene(rng, rng.choice(KINDS), n_instances=2)
        if scene.region is None or scene.region.ranges or not scene.truth.is_finite:
            continue
        for v in scene.truth.instances:
            around = Around(scene.truth, scene.domain, scene.region, v)
            inside = scene.inside(v)
            assert {p for p in scene.truth.places if inside[p]} == around.inside
            checked += 1


@pytest.mark.parametrize("what", ["ratios", "counts"])
def test_a_wrong_weight_is_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, right, noticed = Random(5), Scene.answer, 0

    def wrong(self, v):
        answer, empty = right(self, v)
        weights = getattr(answer, what)
        return replace(answer, **{what: {Y: w + Fraction(1, 10**9) for Y, w in weights.items()}}), empty

    monkeypatch.setattr(Scene, "answer", wrong)
    for _ in range(40):
        try:
            soak.check_scene(Scene.of(random_truth(rng, "table")), rng)
        except soak.Disagreement as error:
            noticed += "CXps by" in str(error)
    assert noticed >= 4


def test_a_disagreement_ends_it_with_the_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(soak, "check_instance", lambda *_, **__: soak.check("all", 1, 2))
    monkeypatch.setattr(soak, "save", lambda name, result: name)
    assert soak.main(["--problems", "500", "--seed", "4"]) == 1
    told = capsys.readouterr().out
    assert "1 disagreements" in told
    assert "found 1, expected 2" in told
    assert "region:" in told
