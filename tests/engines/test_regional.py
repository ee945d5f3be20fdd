"""CXps and weights within regions and under constraints, against the definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Domain, Histogram, Integer, Real
from axfi_kc.domain.grid import Cut
from axfi_kc.domain.region import Region
from axfi_kc.engines import engine_for, engine_through
from axfi_kc.engines.regional import RegionEngine
from axfi_kc.engines.uniform_sums import share_below_sum
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import LinearModel, Positive, Similarity, Slope, TreeNodes, TreeSum
from benchmarks import soak
from tests.support.crossed_problems import random_scene
from tests.support.random_problems import KINDS, random_truth
from tests.support.random_spaces import Around, constrained, infimum, random_region


def _explained(model: Any, region: Region, codes: Any, similarity: Similarity, target: str = "auto") -> Any:
    """Return the CXps with their ratios; None where the region has probability 0."""
    engine = RegionEngine(model, region, lambda part: engine_through(target, part, similarity), similarity=similarity)
    try:
        found = engine.explain(codes[np.newaxis])[0].listed()
    except DomainError as error:
        if "probability 0" in str(error):
            return None
        raise
    return {mask: Fraction(weight) for mask, weight in found.weights.items()}


def _cxps(around: Around) -> set[int]:
    """Return the CXps of an instance in a space with real features: by the nearest points of cells."""
    found, radius = set(), around.region.radius
    for place in around.truth.places:
        if around.is_possible(place) and not around.truth.similar(
            around.truth.output(place), around.truth.output(around.v)
        ):
            reach = infimum(around, place)
            if reach is not None and (radius is None or reach <= (radius, False)):
                found.add(around.changed(place))
    return {Y for Y in found if not any(T & Y == T != Y for T in found)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_random_regions_and_constraints_against_the_definitions(kind: str, norm: str) -> None:
    asked = 0
    for seed in range(14):
        rng = Random(f"{kind} {norm} {seed}")
        truth = random_truth(rng, kind)
        space = constrained(rng, truth)
        if space is None:
            continue
        domain, model = space
        region, similarity = random_region(rng, domain, norm=norm), Similarity.of(model, truth.delta)
        for v in truth.instances:
            around = Around(truth, domain, region, v)
            if not around.is_possible(v):
                continue
            codes = domain.encode_point(dict(zip(domain.names, truth.point(v), strict=True)))
            found = _explained(model, region, codes, similarity, rng.choice(["auto", "mdd", "ddnnf"]))
            if found is not None and truth.is_finite:
                assert found == {Y: around.ratio(Y) for Y in around.examples}
            elif found is not None:
                assert set(found) == _cxps(around)
            asked += found is not None
    assert asked > 10


def _stump(feature: int, cut: Cut, values: tuple[float, float]) -> TreeNodes:
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    return TreeNodes(
        np.array([feature, -1, -1]), [cut, None, None], *children, np.array([[0.0], [values[0]], [values[1]]])
    )


def _clipped_polygon(polygon: list[Any], a: Fraction, b: Fraction, c: Fraction) -> list[Any]:
    """Return the part of a polygon where ``a x + b y <= c``."""
    kept = []
    for (x, y), (z, w) in pairwise([*polygon, polygon[0]]) if polygon else ():
        here, there = a * x + b * y - c, a * z + b * w - c
        if here <= 0:
            kept.append((x, y))
        if (here < 0 < there) or (there < 0 < here):
            t = here / (here - there)
            kept.append((x + t * (z - x), y + t * (w - y)))
    return kept


def _area(polygon: list[Any]) -> Fraction:
    pairs = pairwise([*polygon, polygon[0]]) if polygon else ()
    return abs(sum((x * w - z * y for (x, y), (z, w) in pairs), Fraction(0))) / 2


def _diamond_area(box: list[tuple[Fraction, Fraction]], centre: list[Fraction], radius: Fraction) -> Fraction:
    """Return the area of the part of a rectangle that lies in an l1 ball."""
    (a, b), (c, d) = box
    polygon: list[Any] = [(a, c), (b, c), (b, d), (a, d)]
    for p, q in product((1, -1), repeat=2):
        polygon = _clipped_polygon(polygon, Fraction(p), Fraction(q), radius + p * centre[0] + q * centre[1])
    return _area(polygon)


def test_weights_in_an_l1_ball_are_areas() -> None:
    for seed in range(25):
        rng = Random(seed)
        domain = Domain([Real("x", 0, 4), Real("y", 0, 4)])
        cuts = [rng.randint(1, 15) / 4 for _ in range(2)]
        # Dissimilar is where both are beyond their cuts: a rectangle at one corner of the domain.
        stumps = [_stump(i, Cut(cut, closed=True), (-1.0, 0.5)) for i, cut in enumerate(cuts)]
        model = TreeSum.of(domain, stumps, rule=Positive((0, 1)))
        v = [Fraction(rng.randint(0, int(4 * cut)), 4) for cut in cuts]
        radius = Fraction(rng.randint(2, 24), 4)
        codes, similarity = np.array([float(c) for c in v]), Similarity.of(model, None)
        found = _explained(model, Region(radius=radius, norm="l1"), codes, similarity)
        corner = [(Fraction(cut), Fraction(4)) for cut in cuts]
        reach = sum(Fraction(cut) - c for cut, c in zip(cuts, v, strict=True))
        whole = _diamond_area([(Fraction(0), Fraction(4))] * 2, v, radius)
        expected = {3: _diamond_area(corner, v, radius) / whole} if reach < radius else {}
        assert found == expected, seed


@pytest.mark.parametrize("kind", ["tree", "circuit", "network"])
def test_balls_over_reals_and_other_features_against_trapezoids(kind: str) -> None:
    """Discrete distances, factors, histograms, joint states and several cuts of one feature, all in one ball."""
    rng, checked = Random(f"mixed balls {kind}"), 0
    while checked < 25:
        scene = random_scene(rng, kind, n_instances=2)
        if not scene.cuts_cells or not scene.has_ratios:
            continue
        options: dict[str, Any] = {"delta": scene.truth.delta, "toward": scene.truth.toward, "within": scene.region}
        explainer = ax.Explainer(scene.truth.model, scene.domain, **options)
        for v in scene.truth.instances:
            answer, empty = scene.answer(v)
            if empty or not answer.ratios or scene.is_barren(v):
                continue
            e = explainer.explain(scene.row(v))
            found = dict(zip(soak.masks(e.cxps, scene.domain.names), (c.weight for c in e.cxps), strict=True))
            assert found == answer.ratios
            checked += 1


@pytest.mark.parametrize("factor", [1, 2])
def test_steps_of_other_features_leave_less_of_a_ball_to_reals(factor: int) -> None:
    domain = Domain([Real("x", 0, 4), Integer("b", 0, 1)])
    stumps = [_stump(0, Cut(1.0, closed=True), (-1.0, 0.5)), _stump(1, Cut(0.5, closed=True), (-1.0, 0.5))]
    model = TreeSum.of(domain, stumps, rule=Positive((0, 1)))
    region = Region(radius=3, norm="l1", weights={"b": factor})
    # With b = 1 a step of `factor` is gone: x is dissimilar above 1, and reaches 3 - factor instead of 3.
    expected = {3: Fraction(2 - factor, 3 + 3 - factor)}
    joint = domain.with_distribution(ax.Mixture((ax.Product.of(domain),), (1,)))
    for space in (domain, joint):
        e = ax.Explainer(model, space, within=region).explain([0, 0])
        found = {sum(1 << space.index(n) for n in c.features): c.weight for c in e.cxps}
        assert found == ({} if factor == 2 else expected)  # at 1 itself nothing is dissimilar


def test_a_histogram_is_measured_piece_by_piece() -> None:
    # All of x's probability above 2 lies beyond 3, which the ball does not reach.
    x = Real("x", 0, 4, histogram=Histogram([0, 2, 3, 4], [1, 0, 1]))
    domain = Domain([x, Real("y", 0, 4)])
    stumps = [_stump(0, Cut(1.0, closed=True), (-1.0, 1.0)), _stump(1, Cut(4.0, closed=True), (0.0, 1.0))]
    model = TreeSum.of(domain, stumps, rule=Positive((0, 1)))
    codes = np.array([0.0, 0.0])
    found = _explained(model, Region(radius=3, norm="l1"), codes, Similarity.of(model, None))
    assert found == {1: Fraction(1, 2)}


def test_sums_of_uniform_variables() -> None:
    one = Fraction(1)
    assert share_below_sum([one] * 3, Fraction(1)) == Fraction(1, 6)
    assert share_below_sum([one] * 3, Fraction(3, 2)) == Fraction(1, 2)
    assert share_below_sum([one] * 4, Fraction(2)) == Fraction(1, 2)
    assert share_below_sum([one, 2 * one], Fraction(2)) == Fraction(3, 4)
    assert (share_below_sum([], Fraction(0)), share_below_sum([], Fraction(-1))) == (1, 0)


def test_a_real_linear_model_in_an_l1_ball_is_refused_in_one_sentence() -> None:
    domain = Domain([Real("x", 0, 1), Real("y", 0, 1)])
    model = LinearModel.of(domain, [Slope((1,)), Slope((1,))], base=[-1], rule=Positive((0, 1)))
    similarity = Similarity.of(model, None)
    engine = RegionEngine(model, Region(radius=1, norm="l1"), lambda part: engine_for(part, similarity))
    with pytest.raises(UnsupportedModelError, match="the real feature 'x' is not explained within a ball"):
        engine.explain(np.zeros((1, 2)))


def test_an_instance_that_cannot_exist_is_refused() -> None:
    from axfi_kc.domain.constraints import feature

    domain = Domain([Integer("a", 0, 3)]).where(feature("a") > 1)
    model = TreeSum.of(domain, [_stump(0, Cut(2.0, closed=True), (-1.0, 1.0))], rule=Positive((0, 1)))
    engine = RegionEngine(model, Region(radius=1), lambda part: engine_for(part, Similarity.of(model, None)))
    with pytest.raises(DomainError, match="violates a constraint of its domain: a > 1"):
        engine.explain(np.array([[1.0]]))
