"""Volumes of unions of simplices, against plain geometry and Monte Carlo."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from axfi_kc import Categorical, Domain, Histogram, Integer, Problem, Real, find_cxps
from axfi_kc.engines.linear import union_weights as simplices
from axfi_kc.engines.linear.union_weights import UnionWeigher, share_below, union_volume
from axfi_kc.errors import BudgetError
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope
from tests.support.probes import random_points

Point = tuple[Fraction, ...]


def _clipped(corners: list[Point], f: int) -> list[Point]:
    """Return the part of a polygon where function f is at most zero; a point is x, y and the functions' values."""
    found: list[Point] = []
    for p, q in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        if p[f] <= 0:
            found.append(p)
        if min(p[f], q[f]) < 0 < max(p[f], q[f]):
            at = p[f] / (p[f] - q[f])
            found.append(tuple(a + (b - a) * at for a, b in zip(p, q, strict=True)))
    return found


def _area(corners: list[Point]) -> Fraction:
    turned = [*corners[1:], *corners[:1]]
    return abs(sum((p[0] * q[1] - p[1] * q[0] for p, q in zip(corners, turned, strict=True)), Fraction(0))) / 2


def test_shares_of_triangles() -> None:
    rng = Random(1)
    for n_functions in (1, 2, 2, 3, 4) * 60:
        values = [[Fraction(rng.randint(-4, 4)) for _ in range(n_functions)] for _ in range(3)]
        triangle = [(Fraction(x), Fraction(y), *v) for (x, y), v in zip(((0, 0), (3, 0), (0, 5)), values, strict=True)]
        left = triangle
        for f in range(n_functions):
            left = _clipped(left, 2 + f)
        assert share_below(values) == _area(left) / _area(triangle)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_shares_add_up(dimension: int) -> None:
    """Where one function is at most zero, another is at most or at least zero."""
    rng = Random(dimension)
    for _ in range(25):
        simplex = [[Fraction(rng.choice((-3, -2, -1, 1, 2, 5))) for _ in range(3)] for _ in range(dimension + 1)]
        one, two = [row[:1] for row in simplex], [row[:2] for row in simplex]
        other = [[row[0], -row[1]] for row in simplex]
        assert share_below(two) + share_below(other) == share_below(one)
        parts = [[[row[0], row[1], s * row[2]] for row in simplex] for s in (1, -1)]
        assert sum(map(share_below, parts)) == share_below(two)


def test_volumes_of_unions() -> None:
    """The union of corner simplices is one minus what all of them leave, by inclusion and exclusion of areas."""
    rng = Random(3)
    for _ in range(40):
        rows = [tuple(Fraction(rng.randint(1, 4), rng.randint(1, 3)) for _ in range(2)) for _ in range(3)]
        areas = Fraction(0)
        for size in (1, 2, 3):
            for some in combinations(rows, size):
                side = max(1 / min(row) for row in some)
                corner = [(Fraction(0), Fraction(0)), (side, Fraction(0)), (Fraction(0), side)]
                shape: list[Point] = [(*p, *(row[0] * p[0] + row[1] * p[1] - 1 for row in some)) for p in corner]
                for f in range(size):
                    shape = _clipped(shape, 2 + f)
                areas += (-1) ** (size + 1) * _area(shape)
        assert union_volume(rows) == areas


def test_what_is_left_of_several_sides() -> None:
    """A side on which all is spent leaves nothing, and units may be halves, quarters or whole."""
    weigher = object.__new__(UnionWeigher)
    slopes = ((2, -3), (1, 4))
    weigher._sides = [SimpleNamespace(slope=slope.__getitem__) for slope in slopes]
    rows = [[Fraction(2, 5), Fraction(3, 5)], [Fraction(1, 6), Fraction(4, 6)]]
    for shift in (0, 1, 5):
        slacks = {0: 7 << shift, 1: 9 << shift}
        assert weigher._volume((0, 1), slacks, shift, (2, 3), None) == union_volume(rows)
        assert weigher._volume((0, 1), slacks, shift, (2, 9), None) == union_volume(rows[:1])
        assert weigher._volume((0, 1), slacks, shift, (None, 3), None) == union_volume(rows[1:])
        assert weigher._volume((0, 1), slacks, shift, (7, None), None) == 0


def random_case(seed: int) -> tuple[LinearModel, tuple[Any, ...], Fraction | None]:
    """Return a random model over real and mixed features, an instance, and delta."""
    rng = np.random.default_rng(seed)
    features: list[Any] = []
    for i in range(int(rng.integers(2, 8))):
        low, kind = float(rng.uniform(-3, 0)), rng.choice(["real", "real", "histogram", "integer", "categorical"])
        if kind == "real":
            features.append(Real(f"x{i}", low, low + float(rng.uniform(0.5, 4))))
        elif kind == "histogram":
            edges = np.cumsum([low, *rng.uniform(0.3, 2, 3)]).tolist()
            features.append(
                Real(f"x{i}", edges[0], edges[-1], histogram=Histogram(edges, rng.uniform(0, 1, 3).tolist()))
            )
        elif kind == "integer":
            features.append(Integer(f"x{i}", -2, 4, weights=rng.integers(1, 5, 7).tolist()))
        else:
            features.append(Categorical(f"x{i}", "abcd"))
    rule: Any = [Positive((0, 1)), Argmax((0, 1, 2, 3)), Score()][seed % 3]
    k = 4 if seed % 3 == 1 else 1
    parts = [
        Lookup(tuple(map(tuple, rng.normal(size=(k, 4)).tolist())))
        if isinstance(f, Categorical)
        else Slope(tuple(rng.normal(size=k).tolist()))
        for f in features
    ]
    model = LinearModel.of(Domain(features), parts, base=rng.normal(size=k).tolist(), rule=rule)
    delta = Fraction(float(rng.uniform(0.5, 4))) if seed % 3 == 2 else None
    candidates = random_points(model.domain, 8, seed)
    return model, max(candidates, key=lambda v: _largest_cxp(model, v, delta)), delta


def _largest_cxp(model: LinearModel, v: tuple[Any, ...], delta: Fraction | None) -> int:
    problem = Problem.of(model, model.domain, v, delta=delta)
    return max((len(c.features) for c in find_cxps(problem, weights="unit")), default=0)


def sampled_dissimilar(problem: Problem, features: tuple[str, ...], n: int, seed: int) -> int:
    """Return how many of n random random_points in the box of a CXp are dissimilar, in floating point."""
    rng, model = np.random.default_rng(seed), problem.model
    scores = np.tile(np.array(model.base, dtype=float) / model.denominator, (n, 1))
    for i, f in enumerate(model.domain.features):
        free = f.name in features
        code = _sample(f, n, rng) if free else np.full(n, problem.codes[i])
        part = model.parts[i]
        for k in range(scores.shape[1]):
            if isinstance(part, Slope):
                scores[:, k] += part.factors[k] / model.denominator * code
            else:
                scores[:, k] += np.array([r / model.denominator for r in part.rows[k]])[code.astype(int) - part.first]
    if isinstance(model.rule, Score):
        return int((np.abs(scores[:, 0] - float(problem.output)) > float(problem.similarity.delta)).sum())
    found = scores.argmax(axis=1) if isinstance(model.rule, Argmax) else (scores[:, 0] > 0).astype(int)
    return int((found != problem.output).sum())


def _sample(feature: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    if isinstance(feature, Categorical):
        return rng.integers(0, feature.size, n).astype(float)
    if isinstance(feature, Integer):
        return rng.choice(np.arange(feature.low, feature.high + 1.0), n, p=[float(s) for s in feature.measure.shares])
    if isinstance(feature.measure, Histogram):
        edges, shares = [float(e) for e in feature.measure.edges], [float(s) for s in feature.measure.shares]
        k = rng.choice(len(shares), n, p=np.array(shares) / sum(shares))
        return rng.uniform(np.array(edges)[k], np.array(edges)[k + 1])
    return rng.uniform(float(feature.low), float(feature.high), n)


def outside(hits: int, n: int, weight: float, confidence: float) -> bool:
    """Tell whether a weight lies outside the Clopper-Pearson interval of a sample."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, hits, n - hits + 1) if hits else 0.0
    high = beta.ppf(1 - tail, hits + 1, n - hits) if hits < n else 1.0
    return not low <= weight <= high


def check_against_monte_carlo(seeds: range, n: int) -> None:
    """Weigh the largest CXp with a real feature of each case, and compare with a sample.

    A right weight falls outside a 99.9 % interval once in a thousand, so a few may; none may fall
    outside an interval that a right one leaves once in a hundred million.
    """
    checked = far = 0
    for seed in seeds:
        model, v, delta = random_case(seed)
        problem = Problem.of(model, model.domain, v, delta=delta)
        real = {f.name for f in model.domain.features if isinstance(f, Real)}
        cxps = [c for c in find_cxps(problem) if real & set(c.features)]
        if not cxps:
            continue
        cxp = max(cxps, key=lambda c: (len(c.features), c.weight))
        hits = sampled_dissimilar(problem, cxp.features, n, seed)
        checked += 1
        far += outside(hits, n, float(cxp.weight), 0.999)
        assert not outside(hits, n, float(cxp.weight), 1 - 1e-8), (seed, cxp)
    assert checked >= 0.7 * len(seeds)
    assert far <= 1 + checked // 250


def test_weights_agree_with_monte_carlo() -> None:
    check_against_monte_carlo(range(60), 20_000)


@pytest.mark.slow
def test_weights_agree_with_monte_carlo_at_length() -> None:
    check_against_monte_carlo(range(1000, 1600), 200_000)


def test_three_overlapping_simplices_by_inclusion_and_exclusion() -> None:
    rows = [[Fraction(n) for n in row] for row in ((1, 2, 4), (2, 4, 1), (4, 1, 2))]
    whole = 3 * Fraction(1, 6 * 8)
    pairs = sum((_pair(a, b) for a, b in ((0, 1), (1, 2), (0, 2)) for a, b in [(rows[a], rows[b])]), Fraction(0))
    from tests.support.linear_judge import volume

    unit = [tuple(Fraction(int(i == j)) for j in range(3)) for i in range(3)]
    corner = [(tuple(-u for u in row), Fraction(0)) for row in unit]
    triple = volume([*corner, *((tuple(row), Fraction(1)) for row in rows)], 3)
    assert union_volume(rows) == whole - pairs + triple


def _pair(a: list[Fraction], b: list[Fraction]) -> Fraction:
    from tests.support.linear_judge import volume

    unit = [tuple(Fraction(int(i == j)) for j in range(3)) for i in range(3)]
    return volume(
        [*((tuple(-u for u in row), Fraction(0)) for row in unit), (tuple(a), Fraction(1)), (tuple(b), Fraction(1))], 3
    )


def test_a_union_of_too_many_simplices_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplices, "_LARGEST", 100)
    rng = np.random.default_rng(0)
    vertices = [[Fraction(int(n)) for n in row] for row in rng.integers(-99, 99, (10, 5))]
    with pytest.raises(BudgetError, match="100 splits of a simplex"):
        simplices.share_below(vertices)
