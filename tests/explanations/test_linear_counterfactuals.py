"""Counterfactuals of linear models whose values may be missing, against brute force."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import isnan, sqrt
from random import Random
from typing import Any

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Problem, Real
from axfi_kc.explanations.counterfactuals import find_counterfactual
from axfi_kc.explanations.counterfactuals.linear import linear_conditions
from axfi_kc.models import LinearModel, Lookup, Positive, Slope
from tests.support.random_problems import random_plane, random_truth


def far(domain: Domain, v: tuple[Any, ...], x: tuple[Any, ...]) -> Fraction:
    total = Fraction(0)
    for f, a, b in zip(domain.features, v, x, strict=True):
        if isinstance(f, Categorical) or a is None or b is None:
            total += a != b
        else:
            total += abs(Fraction(a) - Fraction(b)) / (Fraction(f.high - f.low) or 1)
    return total


def test_the_nearest_of_discrete_values() -> None:
    rng, seen = Random(12), Counter[str]()
    while seen["cxps"] < 150:
        truth = random_truth(rng, "linear", n_instances=2)
        if truth.is_constant or not any(f.missing for f in truth.domain.features):
            continue
        for place in truth.instances:
            v = truth.point(place)
            problem = Problem.of(truth.model, truth.domain, v, delta=truth.delta)
            for cxp in ax.find_cxps(problem):
                inside = [
                    x
                    for x, y in zip(map(truth.point, truth.places), truth.outputs, strict=True)
                    if not truth.similar(y, truth.output(place))
                    and all(a == b for n, a, b in zip(truth.domain.names, v, x, strict=True) if n not in cxp.features)
                ]
                found = find_counterfactual(problem, cxp)
                assert tuple(found.point.values()) in inside
                assert found.distance == min(far(truth.domain, v, x) for x in inside)
                assert found.printed is not None
                assert tuple(found.printed.point.values()) in inside
                if cxp.weight:
                    assert tuple(find_counterfactual(problem, cxp, seed=3).point.values()) in inside
                seen["cxps"] += 1
                seen["to"] += any(new is None for _, new in found.changes.values())
                seen["from"] += any(old is None for old, _ in found.changes.values())
    assert seen["to"] > 10 < seen["from"]


def test_no_number_and_no_gap_is_nearer() -> None:
    rng, seen = Random(4), Counter[str]()
    while seen["cxps"] < 150:
        model, v, delta = random_plane(rng)
        domain = model.domain
        if not any(isinstance(f, Real) and f.missing for f in domain.features):
            continue
        problem = Problem.of(model, domain, v, delta=delta)
        for cxp in ax.find_cxps(problem):
            found = find_counterfactual(problem, cxp)
            here, printed = tuple(found.point.values()), found.printed
            assert set(found.changes) == set(cxp.features)
            assert problem.is_dissimilar(model.predict([here])[0])
            choices = []
            for f, own, new in zip(domain.features, v, here, strict=True):
                choices.append([own, *_some(rng, f, own, new)] if f.name in cxp.features else [own])
            points = list(product(*choices))
            for x, y in zip(points, model.predict(points), strict=True):
                if problem.is_dissimilar(y):
                    assert far(domain, v, x) >= found.distance - Fraction(1, 10**12)
            for x in _meeting(rng, problem, cxp.features, here):
                assert problem.is_dissimilar(model.predict([x])[0])
            if printed is not None:
                assert problem.is_dissimilar(model.predict([tuple(printed.point.values())])[0])
                assert ("leave " in printed.words) == any(new is None for _, new in found.changes.values())
            if cxp.weight:
                drawn = find_counterfactual(problem, cxp, seed=1)
                assert problem.is_dissimilar(model.predict([tuple(drawn.point.values())])[0])
            seen["cxps"] += 1
            seen["to"] += any(new is None for _, new in found.changes.values())
            seen["from"] += any(old is None for old, _ in found.changes.values())
            seen["printed"] += printed is not None
    assert seen["to"] > 20 < seen["from"]
    assert seen["printed"] > 130


def _meeting(rng: Random, problem: Problem, names: tuple[str, ...], here: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return some points that meet the conditions put in words."""
    members = tuple(problem.domain.index(name) for name in names)
    codes = problem.domain.encode_point(here)
    conditions = linear_conditions(problem.model, problem, members, codes[list(members)].tolist())
    found = []
    for _ in range(8):
        x = problem.codes.copy()
        for i, condition in zip(members, conditions, strict=True):
            feature = problem.domain.features[i]
            x[i] = condition.code
            if not isinstance(feature, Categorical) and not isnan(condition.code):
                low, high = max(condition.low, float(feature.low)), min(condition.high, float(feature.high))
                x[i] = rng.choice((low, high, rng.uniform(low, high) if isinstance(feature, Real) else low))
        found.append(problem.domain.decode(x))
    return found


def _some(rng: Random, feature: Any, own: Any, new: Any) -> list[Any]:
    nothing = [None] * bool(feature.missing)
    if not isinstance(feature, Real):
        return [*(feature.values if isinstance(feature, Categorical) else (feature.low, feature.high)), *nothing]
    low, high = float(feature.low), float(feature.high)
    between = [] if own is None or new is None else [(own + new) / 2, own + (new - own) * 0.999]
    return [low, high, rng.uniform(low, high), *between, *nothing]


def test_words_from_and_to_a_missing_value() -> None:
    domain = Domain([Real("age", 0, 100, missing=0.5), Integer("rooms", 0, 9, missing=0.5), Real("fee", 0, 1)])
    parts = [Slope((1,), (70,)), Slope((-1,), (-30,)), Slope((1,))]
    model = LinearModel.of(domain, parts, base=[-35], rule=Positive((0, 1)))

    def words(v: tuple[Any, ...], name: str) -> str:
        return str(find_counterfactual(Problem.of(model, domain, v), {name}))

    assert words((None, 2, 0.5), "age") == "age <= 36.5: 0 (for instance age from missing to 36.5)"
    assert words((60.0, 2, 0.5), "rooms") == "leave rooms empty: 0 (for instance rooms from 2 to missing)"
    assert words((30.0, None, 0.5), "age") == "age >= 65: 1 (for instance age from 30 to 65)"
    assert words((40.0, None, 0.5), "rooms") == "rooms <= 5: 1 (for instance rooms from missing to 5)"


def test_any_number_will_do() -> None:
    domain = Domain([Real("age", 0, 100, missing=0.5)])
    model = LinearModel.of(domain, [Slope((0,), (1,))], base=[0], rule=Positive((0, 1)))
    assert find_counterfactual(Problem.of(model, domain, (None,)), {"age"}).words == "any age"
    assert find_counterfactual(Problem.of(model, domain, (3.0,)), {"age"}).words == "leave age empty"


def test_gaps_are_drawn_as_often_as_the_measure_has_them() -> None:
    domain = Domain([Real("a", 0, 4, missing=0.25), Categorical("b", "xy", missing=0.25)])
    model = LinearModel.of(domain, [Slope((1,), (3,)), Lookup(((0, 1, 1),))], base=[-2], rule=Positive((0, 1)))
    problem = Problem.of(model, domain, (0.5, "x"))
    n = 600
    gaps = sum(find_counterfactual(problem, {"a"}, seed=k).point["a"] is None for k in range(n))
    p = 0.25 / (0.25 + 0.75 / 2)  # missing, or above 2
    assert abs(gaps / n - p) < 5 * sqrt(p * (1 - p) / n)
