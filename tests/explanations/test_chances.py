"""Precision and plausibility against sums over all points, under joint and independent distributions."""

from __future__ import annotations

from fractions import Fraction
from itertools import repeat
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc import ChowLiu, Domain, Integer, Product, Real, Region
from axfi_kc.errors import (
    BudgetError,
    ConstantModelError,
    DomainError,
    SimilarityError,
    UnknownFeatureError,
    UnsupportedModelError,
)
from axfi_kc.explanations import chances
from axfi_kc.explanations.page import report_html
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import LinearModel, Positive
from tests.engines.test_possible import rows_of
from tests.support.random_constraints import constrained
from tests.support.random_distributions import JointTruth, random_distribution, with_distribution
from tests.support.random_problems import KINDS, random_truth

WAYS = ("measures", "product", "tree", "mixture")


def random_joint(rng: Random, form: str, way: str) -> JointTruth:
    """Return a model under a distribution, half of the time with constraints; measures are a product, too."""
    while True:
        truth = random_truth(rng, form, n_instances=3)
        kind = Product.of(truth.domain) if way == "measures" else random_distribution(rng, truth.domain, way)
        made: Any = with_distribution(truth, kind)
        made = constrained(rng, made, n_instances=3) if rng.random() < 0.5 else made
        if made is not None and not made.is_constant:
            return made


def explained(truth: JointTruth, way: str) -> Any:
    domain = truth.domain.with_distribution(None) if way == "measures" else truth.domain
    try:
        # Units: precision does not need that ratios exist.
        explainer = ax.Explainer(truth.model, domain, delta=truth.delta, weights="unit")
        return explainer, [explainer.explain(row) for row in rows_of(truth)]
    except ConstantModelError:
        return None, []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", KINDS)
def test_precision_is_the_share_of_similar_points(form: str, way: str) -> None:
    rng, checked = Random(f"precision {form} {way}"), 0
    while checked < 15:
        truth = random_joint(rng, form, way)
        for v, e in zip(truth.instances, explained(truth, way)[1], strict=False):
            free = rng.getrandbits(len(v))
            named = [name for i, name in enumerate(truth.domain.names) if not free >> i & 1]
            here = truth.output(v)
            around = set(truth.around(free, v))
            bad = [p for p, y in truth.existing if p in around and not truth.similar(y, here)]
            try:
                expected = 1 - truth._ratio(free, v, bad)
            except ZeroDivisionError:
                with pytest.raises(DomainError, match="probability 0"):
                    e.precision(named)
                continue
            assert e.precision(named) == expected
            checked += 1


@pytest.mark.parametrize("way", WAYS)
def test_plausibility_is_the_probability_of_the_cells_given_the_rest(way: str) -> None:
    rng, checked = Random(f"plausibility {way}"), 0
    while checked < 20:
        truth = random_joint(rng, "table", way)
        for v, e in zip(truth.instances, explained(truth, way)[1], strict=False):
            if not e.cxp_count:
                continue
            found = e.counterfactual()
            place = tuple(row.index(found.point[n]) for row, n in zip(truth.values, truth.domain.names, strict=True))
            changed = sum(1 << i for i, (a, b) in enumerate(zip(place, v, strict=True)) if a != b)
            try:
                expected = truth._ratio(changed, v, [place])
            except ZeroDivisionError:
                assert found.plausibility is None
                continue
            assert found.plausibility == e.plausibility(found.point) == expected
            checked += 1


@pytest.mark.parametrize("way", WAYS)
def test_the_nearest_plausible_counterfactual_is_the_nearest_of_all_that_are(way: str) -> None:
    rng, checked = Random(f"threshold {way}"), 0
    while checked < 12:
        truth = random_joint(rng, "table", way)
        for v, e in zip(truth.instances, explained(truth, way)[1], strict=False):
            least = Fraction(rng.randint(1, 6), 10)
            answer = truth.answer(v) if truth.has_ratios(v) else None
            if answer is None or not answer.ratios:
                continue
            here, known = truth.output(v), []
            for p, y in truth.existing:
                changed = sum(1 << i for i, (a, b) in enumerate(zip(p, v, strict=True)) if a != b)
                if not truth.similar(y, here) and changed in answer.ratios and truth._ratio(changed, v, [p]) >= least:
                    known.append(sum(_far(truth, i, v[i], k) for i, k in enumerate(p)))
            checked += 1
            if not known:
                with pytest.raises(DomainError, match="is that plausible; lower min_plausibility"):
                    e.counterfactual(min_plausibility=least)
                continue
            found = e.counterfactual(min_plausibility=least)
            assert found.plausibility >= least
            assert found.distance == min(known)


def _far(truth: JointTruth, i: int, a: int, b: int) -> Fraction:
    feature, (x, y) = truth.domain.features[i], (truth.values[i][a], truth.values[i][b])
    if a == b:
        return Fraction(0)
    if not isinstance(feature, Integer) or None in (x, y):
        return Fraction(1)
    return Fraction(abs(x - y), feature.high - feature.low)


def test_random_counterfactuals_have_the_distribution() -> None:
    domain = Domain([Integer("a", 0, 1), Integer("b", 0, 3), Integer("c", 0, 1)])
    rows = [(1, 3, 1)] * 9 + [(1, 1, 1)] * 3 + [(0, 2, 0)] * 4 + [(0, 0, 0)]
    joint = domain.with_distribution(ChowLiu.fit(rows, domain, smoothing=0))
    e = ax.Explainer(lambda p: p[1] == 0, joint, weights="unit").explain((0, 0, 0))
    # Among the points with a = c = 0 only b = 2 has a probability.
    assert {e.counterfactual(seed=k).point["b"] for k in range(30)} == {2}
    other = ax.Explainer(lambda p: p[1] == 2, joint, weights="unit").explain((1, 2, 1))
    drawn = [other.counterfactual(seed=k).point["b"] for k in range(200)]
    assert set(drawn) == {1, 3}
    assert 120 < drawn.count(3) < 180  # three times as likely


def test_random_counterfactuals_lie_where_reals_do() -> None:
    domain = Domain([Real("r", 0, 10), Integer("a", 0, 30)])
    rows = [(0.5, 0), (0.7, 0), (8.5, 30), (8.9, 25)]
    joint = domain.with_distribution(ChowLiu.fit(rows, domain, smoothing=0, bins=5))
    model = ax.Explainer(_step(domain), joint, weights="unit")
    for k in range(20):
        point = model.explain((0.5, 30)).counterfactual(seed=k).point
        assert 8 <= point["r"] <= 10


def _step(domain: Domain) -> Any:
    return DecisionTreeClassifier().fit([[0.5, 0.0], [9.0, 30.0], [1.0, 30.0]], [0, 1, 0])


def test_a_seed_and_a_threshold_exclude_each_other() -> None:
    e = ax.Explainer(lambda p: p[0], Domain([Integer("a", 0, 1)])).explain((0,))
    with pytest.raises(DomainError, match="give a seed or min_plausibility"):
        e.counterfactual(seed=1, min_plausibility=0.5)
    with pytest.raises(UnknownFeatureError, match="x"):
        e.precision(["x"])


def test_half_spaces_over_reals_have_neither() -> None:
    domain = Domain([Real("r", 0, 1), Integer("a", 0, 1)])
    model = LinearModel.of_columns(domain, [[2, 1]], intercepts=[-1], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain).explain((0.25, 0))
    with pytest.raises(UnsupportedModelError, match="no union of boxes"):
        e.precision(["a"])
    assert e.plausibility((1.0, 0)) is None
    with pytest.raises(UnsupportedModelError, match="leave min_plausibility"):
        e.counterfactual(min_plausibility=0.5)


def test_within_a_region_precision_is_that_of_the_region() -> None:
    domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)])
    joint = domain.with_distribution(ChowLiu.fit([(k, k) for k in range(10)], domain))
    for space in (domain, joint):
        e = ax.Explainer(lambda p: p[0] + p[1] > 9, space, within=Region(radius=2)).explain((4, 4))
        points = [(a, b) for a in range(2, 7) for b in range(2, 7)]
        table = joint.distribution.tables if space is joint else [[[1] * 10], [[1] * 10] * 10]
        chances = [table[0][0][a] * table[1][a][b] for a, b in points]
        similar = sum(p for (a, b), p in zip(points, chances, strict=True) if a + b <= 9)
        assert e.precision(()) == Fraction(similar) / sum(chances)


def test_outputs_have_the_probabilities_of_the_distribution() -> None:
    rng = Random("outputs")
    for _ in range(12):
        truth = random_joint(rng, rng.choice(("table", "tree", "circuit")), "tree")
        explainer, _ = explained(truth, "tree")
        if explainer is None or truth.delta is not None:
            continue
        every = range(len(truth.values))
        whole = sum((truth.density(p, p, every) for p, _ in truth.existing), Fraction(0))
        if whole:
            found = explainer.output_probabilities()
            assert sum(found.values()) == 1
            for output, chance in found.items():
                inside = [p for p, y in truth.existing if y == output]
                assert chance == sum((truth.density(p, p, every) for p in inside), Fraction(0)) / whole
    regression = ax.Explainer(lambda p: p[0], Domain([Integer("a", 0, 3)]), delta=1)
    with pytest.raises(SimilarityError, match="this is a regression"):
        regression.output_probabilities()


def test_results_give_back_the_distribution(tmp_path: Any) -> None:
    domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1), Integer("c", 0, 2)])
    rows = [(0, 0, 0), (1, 1, 2), (1, 1, 1), (0, 1, 0)]
    joint = domain.with_distribution(ChowLiu.fit(rows, domain))
    explainer = ax.Explainer(lambda p: int(p[0] + p[2] > 1), joint)
    batch = explainer.explain_batch(np.array(rows))
    saved = explainer.explain_to(tmp_path / "a.jsonl", np.array(rows))
    again = explainer.explain_to(tmp_path / "a.jsonl", np.array(rows))
    for e, one, other in zip(batch, saved, again, strict=True):
        back = ax.SavedExplanation.from_json(e.to_json())
        for read in (one, other, back):
            assert read.domain == e.domain == joint
            assert read.scores() == e.scores()
        assert "features distributed as" in report_html(e)
    with pytest.raises(ax.AxfiError, match="results of another model, domain"):
        ax.Explainer(lambda p: int(p[0] + p[2] > 1), domain).explain_to(tmp_path / "a.jsonl", np.array(rows))
    shared = explainer.explain_batch(np.array(rows), n_jobs=2)
    assert [e.scores() for e in shared] == [e.scores() for e in batch]


@pytest.mark.parametrize("joint", [False, True])
def test_nothing_is_free_within_a_ball(joint: bool) -> None:
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [0, 4], [4, 0], [4, 4]], [0, 0, 1, 1])
    domain = ax.Domain([ax.Real("a", 0, 4), ax.Real("b", 0, 4)])
    if joint:
        domain = domain.with_distribution(ChowLiu.fit([(k / 5, k / 5) for k in range(20)], domain, bins=2))
    e = ax.Explainer(tree, domain).explain([1.0, 1.0], within=ax.Region(radius=2, norm="l1"))
    assert e.precision(["a", "b"]) == e.precision(["a"]) == 1 > e.precision(["b"]) > 0
    assert e.paxp(1).features == ("a",)
    assert [p.features for p in e.paxps(1)] == [("a",)]


def test_precisions_look_at_the_clock_while_boxes_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.of(lambda p: sum(p) % 2, Domain([Integer(name, 0, 1) for name in "abc"]), (0, 0, 0))
    # As a search gives them that ended in time, and found many.
    many = SimpleNamespace(dissimilar_boxes=lambda *_, **__: repeat(((0,), (1,)), 1_000_000))
    monkeypatch.setattr(chances, "_engine", lambda *_: many)
    with pytest.raises(BudgetError, match="the precision is not finished"):
        chances.precision_of(problem, {"a"}, budget=ax.Budget(seconds=0.05))


def test_many_boxes_weigh_what_they_weigh_together(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain([Integer(name, 0, 3) for name in "abcd"])
    rows = [tuple(map(int, np.unravel_index(k, (4,) * 4))) for k in range(0, 256, 3)]
    for space in (domain, domain.with_distribution(ChowLiu.fit(rows, domain))):
        problem = Problem.of(lambda p: sum(p) % 2, space, (0, 1, 2, 3))
        whole = chances.precision_of(problem, {"b"})
        monkeypatch.setattr(chances, "_BOXES", 5)
        assert chances.precision_of(problem, {"b"}) == whole
        monkeypatch.undo()
