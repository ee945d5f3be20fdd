"""Counterfactuals against brute force: nothing is nearer, and nothing drawn is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer, Problem, Real
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import AxfiError, BudgetError, DomainError, IncompleteError, WeightError
from axfi_kc.explanations import counterfactuals
from axfi_kc.explanations.counterfactuals import Counterfactual, find_counterfactual
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope, TreeNodes, TreeSum
from tests.support import random_problems, strategies
from tests.support.crossed_problems import Scene, random_scene
from tests.support.oracle import Judge, box, space_of

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def gap(domain: Domain, judge: Judge, i: int, k: int) -> Fraction:
    """Return how far the k-th representative of feature i, a point or a whole gap, is from the instance."""
    feature, values, v = domain.features[i], judge.space.values[i], judge.v[i]
    if isinstance(feature, Categorical):
        return Fraction(values[k] != v)
    width = Fraction(feature.high - feature.low) or Fraction(1)
    if isinstance(feature, Integer) or k % 2 == 0:
        return abs(Fraction(values[k]) - Fraction(v)) / width
    low, high = values[k - 1], values[k + 1]
    return max(low - Fraction(v), Fraction(v) - high, Fraction(0)) / width


def least(domain: Domain, judge: Judge, Y: frozenset[int]) -> Fraction:
    """Return the infimum of the distances of the adversarial examples of Y."""
    best = None
    for ks in product(*(range(len(judge.space.values[i])) if i in Y else [None] for i in range(len(domain)))):
        x = tuple(judge.v[i] if k is None else judge.space.values[i][k] for i, k in enumerate(ks))
        if judge.dissimilar(x):
            far = sum((gap(domain, judge, i, k) for i, k in enumerate(ks) if k is not None), Fraction(0))
            best = far if best is None else min(best, far)
    return best


def check(problem: Problem, judge: Judge, Y: frozenset[int], found: Counterfactual) -> None:
    """Insist that a point is an adversarial example of Y, and says so."""
    names = problem.domain.names
    assert set(found.changes) == {names[i] for i in Y}
    for i, name in enumerate(names):
        assert found.point[name] == (found.changes[name][1] if i in Y else judge.v[i])
        assert i not in Y or found.changes[name] == (judge.v[i], found.point[name])
    assert judge.dissimilar(tuple(found.point.values()))
    assert found.output == judge.model(tuple(found.point.values()))


@given(strategies.cases)
@quick
def test_nothing_is_nearer(case: strategies.Case) -> None:
    problem, judge = case.problem, case.judge
    for Y in judge.cxps():
        names = [problem.domain.names[i] for i in Y]
        found = find_counterfactual(problem, names)
        check(problem, judge, Y, found)
        wanted = least(problem.domain, judge, Y)
        assert found.distance >= wanted
        if all(not isinstance(problem.domain.features[i], Real) for i in Y):
            assert found.distance == wanted
        else:
            assert found.distance - wanted < Fraction(1, 10**12)
        assert find_counterfactual(problem, names) == found


@given(strategies.cases)
@quick
def test_words_are_true_wherever_they_hold(case: strategies.Case) -> None:
    problem, judge = case.problem, case.judge
    for Y in judge.cxps():
        found = find_counterfactual(problem, [problem.domain.names[i] for i in Y])
        assert satisfied(found.words, found.printed.point)
        for x, _ in box(judge.space, judge.v, Y):
            if satisfied(found.words, dict(zip(problem.domain.names, x, strict=True))):
                assert judge.dissimilar(x)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["table", "tree", "forest"])
def test_nothing_is_nearer_in_larger_boxes(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    domain = Domain([Integer("a", 0, 9), Integer("b", 0, 7), Categorical("c", [0, 1, 2])])
    points = np.array(list(domain.points()))
    v = points[random.integers(len(points))]
    chance = np.where((points != v).sum(axis=1) > 1, 0.2, 0)  # so that CXps have two features or more
    labels = (random.random(len(points)) < chance).astype(int)
    if kind == "table":
        model: Any = ax.TableModel.from_outputs(domain, labels)
    elif kind == "tree":
        model = DecisionTreeClassifier(random_state=seed).fit(points, labels)
    else:
        model = RandomForestClassifier(n_estimators=7, max_depth=8, random_state=seed).fit(points, labels)
    problem = Problem.of(model, domain, v)
    outputs = dict(zip(map(tuple, points.tolist()), problem.model.predict(points), strict=True))
    judge = Judge(space_of(domain), outputs.__getitem__, tuple(v.tolist()))
    for cxp in ax.find_cxps(problem):
        Y = frozenset(domain.index(name) for name in cxp.features)
        found = find_counterfactual(problem, cxp)
        check(problem, judge, Y, found)
        assert found.distance == least(domain, judge, Y)


def satisfied(words: str, point: dict[str, Any]) -> bool:
    """Evaluate a condition such as ``f0 > 1.5 and f0 <= 3 and f1 = 2``."""
    signs = {
        "=": lambda a, b: a == b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
        "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    }  # fmt: skip
    for part in words.split(" and "):
        name, sign, value = part.split(" ")
        if not signs[sign](Fraction(str(point[name])), Fraction(value)):  # a float is what it is printed as
            return False
    return True


@given(strategies.cases, st.integers(0, 10**6))
@quick
def test_drawn_points_are_adversarial(case: strategies.Case, seed: int) -> None:
    problem, judge = case.problem, case.judge
    for Y in judge.cxps():
        names = [problem.domain.names[i] for i in Y]
        if judge.ratio(Y):
            found = find_counterfactual(problem, names, seed=seed)
            check(problem, judge, Y, found)
            assert found == find_counterfactual(problem, names, seed=seed)
        else:
            with pytest.raises(WeightError, match="probability 0"):
                find_counterfactual(problem, names, seed=seed)


DRAWN = Domain([Integer("a", 0, 3, weights=[1, 2, 3, 4]), Categorical("b", "xyz", weights=[5, 1, 2]), Real("c", 0, 2)])


def as_linear() -> LinearModel:
    parts = [Slope((2,)), Lookup(((0, 3, 5),)), Slope((0,))]
    return LinearModel.of(DRAWN, parts, base=[-7], rule=Positive((0, 1)))


FINITE = Domain(DRAWN.features[:2])


@pytest.mark.parametrize("kind", ["table", "linear"])
def test_points_are_drawn_from_the_measure(kind: str) -> None:
    if kind == "table":
        problem = Problem.of(lambda p: int(2 * p[0] + {"x": 0, "y": 3, "z": 5}[p[1]] > 7), FINITE, (0, "x"))
    else:
        problem = Problem.of(as_linear(), DRAWN, (0, "x", 1.0))
    wanted = {
        (a, b): Fraction(wa, 10) * Fraction(wb, 8)
        for a, wa in zip(range(4), [1, 2, 3, 4], strict=True)
        for b, wb in zip("xyz", [5, 1, 2], strict=True)
        if 2 * a + {"x": 0, "y": 3, "z": 5}[b] > 7
    }
    total = sum(wanted.values())
    n = 600
    seen = Counter(tuple(find_counterfactual(problem, ["a", "b"], seed=k).point.values())[:2] for k in range(n))
    assert set(seen) <= set(wanted)
    for point, mass in wanted.items():
        p = float(mass / total)
        assert abs(seen[point] / n - p) < 5 * sqrt(p * (1 - p) / n)


@st.composite
def linear_problems(draw: st.DrawFn, *, real: bool) -> Problem:
    domain = draw(strategies.domains(finite=not real))
    rule = draw(st.sampled_from([Positive((0, 1)), Argmax(tuple("abc")), Score()]))
    scores = 3 if isinstance(rule, Argmax) else 1
    number = st.integers(-3, 3)
    parts: list[Any] = []
    for f in domain.features:
        table = isinstance(f, Categorical) or (isinstance(f, Integer) and draw(st.booleans()))
        width = f.size if table else 1
        rows = [draw(st.lists(number, min_size=width, max_size=width)) for _ in range(scores)]
        parts.append(Lookup(tuple(map(tuple, rows))) if table else Slope(tuple(r[0] for r in rows)))
    model = LinearModel.of(domain, parts, base=[draw(number) for _ in range(scores)], rule=rule)
    delta = Fraction(draw(st.integers(0, 6)), 2) if isinstance(rule, Score) else None
    return Problem.of(model, domain, draw(strategies.points(domain)), delta=delta)


def judge_of(problem: Problem) -> Judge:
    def output(x: tuple[Any, ...]) -> Any:
        return problem.model.predict([x])[0]

    return Judge(space_of(problem.domain), output, tuple(problem.instance.values()), problem.similarity.delta)


@given(linear_problems(real=False), st.integers(0, 1000))
@quick
def test_linear_models_of_discrete_features(problem: Problem, seed: int) -> None:
    judge = judge_of(problem)
    for cxp in ax.find_cxps(problem):
        Y = frozenset(problem.domain.index(name) for name in cxp.features)
        found = find_counterfactual(problem, cxp)
        check(problem, judge, Y, found)
        assert found.distance == least(problem.domain, judge, Y)
        for x, _ in box(judge.space, judge.v, Y):
            if satisfied(found.words, dict(zip(problem.domain.names, x, strict=True))):
                assert judge.dissimilar(x)
        if cxp.weight:
            check(problem, judge, Y, find_counterfactual(problem, cxp, seed=seed))


@given(linear_problems(real=True), st.integers(0, 1000))
@quick
def test_linear_models_of_real_features(problem: Problem, seed: int) -> None:
    domain, v = problem.domain, problem.instance
    random = np.random.default_rng(seed)
    for cxp in ax.find_cxps(problem):
        found = find_counterfactual(problem, cxp)
        assert problem.is_dissimilar(problem.model.predict([tuple(found.point.values())])[0])
        assert set(found.changes) == set(cxp.features)
        assert all(found.point[n] == v[n] for n in domain.names if n not in cxp.features)
        for _ in range(60):  # no random point, and no corner of the box, is nearer
            x = dict(v)
            for name in cxp.features:
                x[name] = anywhere(domain.features[domain.index(name)], found.point[name], v[name], random)
            if problem.is_dissimilar(problem.model.predict([tuple(x.values())])[0]):
                assert far(domain, v, x) >= found.distance - Fraction(1, 10**12)
        if cxp.weight:
            drawn = find_counterfactual(problem, cxp, seed=seed)
            assert problem.is_dissimilar(problem.model.predict([tuple(drawn.point.values())])[0])


def anywhere(feature: Any, near: Any, own: Any, random: np.random.Generator) -> Any:
    """Return a random value: an end, the found one, the instance's, or between."""
    if isinstance(feature, Categorical):
        return feature.values[random.integers(feature.size)]
    if isinstance(feature, Integer):
        return int(random.integers(feature.low, feature.high + 1))
    low, high = float(feature.low), float(feature.high)
    return [low, high, near, own, float(random.uniform(low, high)), (near + own) / 2][random.integers(6)]


def far(domain: Domain, v: dict[str, Any], x: dict[str, Any]) -> Fraction:
    total = Fraction(0)
    for f in domain.features:
        if isinstance(f, Categorical):
            total += x[f.name] != v[f.name]
        else:
            total += abs(Fraction(x[f.name]) - Fraction(v[f.name])) / (Fraction(f.high - f.low) or 1)
    return total


def test_the_closed_form_in_real_features() -> None:
    domain = Domain([Real("slow", 0, 1), Real("fast", 0, 10), Real("mid", 0, 1)])
    model = LinearModel.of(
        domain, [Slope((1,)), Slope((Fraction(1, 2),)), Slope((2,))], base=[-7], rule=Positive((0, 1))
    )
    problem = Problem.of(model, domain, (0.0, 0.0, 0.0))
    (cxp,) = ax.find_cxps(problem)
    found = find_counterfactual(problem, cxp)  # fast and mid give 7; slow must give a little more than 0
    assert found.changes["fast"] == (0.0, 10.0)
    assert found.changes["mid"] == (0.0, 1.0)
    assert 0 < found.changes["slow"][1] < 1e-300
    assert found.words == "slow >= 0.0001 and fast >= 10 and mid >= 1"  # 5e-324 would be nearer, but who would say so


@pytest.fixture(scope="module")
def forest() -> tuple[ax.Explainer, Any]:
    cancer = load_breast_cancer(as_frame=True)
    X = cancer.data.iloc[:, :10]
    model = RandomForestClassifier(n_estimators=15, max_depth=4, random_state=0).fit(X, cancer.target)
    return ax.Explainer(model, Domain.from_data(X)), X


def test_explanations_have_counterfactuals(forest) -> None:
    explainer, X = forest
    e = explainer.explain(X.iloc[40])
    best = e.counterfactual()
    each = [e.counterfactual(c) for c in e.cxps]
    assert best.distance == min(c.distance for c in each)
    assert best == next(c for c in each if c.distance == best.distance)
    assert best.output != e.prediction
    assert str(best).startswith(best.words)
    assert e.counterfactual(e.cxps[0], seed=1) == e.counterfactual(e.cxps[0].features, seed=1)
    with pytest.raises(DomainError, match="none of the CXps"):
        e.counterfactual(X.columns)
    with pytest.raises(DomainError, match="Expected the features of a CXp"):
        find_counterfactual(e.problem, X.columns)
    with pytest.raises(BudgetError, match="budget was spent"):
        find_counterfactual(e.problem, e.cxps[-1], budget=ax.Budget(nodes=1))


def test_without_any_cxp_there_is_no_counterfactual() -> None:
    domain = Domain([Integer("a", 0, 3), Integer("b", 0, 3)])
    e = ax.Explainer(lambda p: p[0] + p[1], domain, delta=2, max_size=1).explain((1, 1))
    assert not e.cxps
    saved = ax.Explanation.from_json(e.to_json(), model=lambda p: p[0] + p[1])
    for one in (e, saved):
        with pytest.raises(AxfiError, match="no CXp"):
            one.counterfactual()
        with pytest.raises(AxfiError, match="no CXp"):
            list(one.counterfactuals())


def test_ends_that_are_no_floats() -> None:
    third = Fraction(1, 3)
    domain = Domain([Real("a", -1, third)])
    model = LinearModel.of(domain, [Slope((1,))], base=[-third], rule=Score())
    problem = Problem.of(model, domain, (0.0,), delta=Fraction(1, 3) - Fraction(1, 10**20))
    assert [c.features for c in ax.find_cxps(problem)] == [("a",)]
    assert find_counterfactual(problem, ("a",)).point["a"] < 0  # the upper end is out of a float's reach


def test_unknown_names_are_refused() -> None:
    problem = Problem.of(lambda p: p[0], Domain([Integer("a", 0, 1)]), (1,))
    for names in (["b"], []):
        with pytest.raises(AxfiError):
            find_counterfactual(problem, names)


def _boosted(seed: int) -> tuple[Any, Domain, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 6)).round(2)
    X[:, :3] = rng.integers(0, 4, (150, 3))
    y = (X[:, 0] + X[:, 3] + X[:, 1] * X[:, 4] > 0.3).astype(int)
    kinds: dict[str, Any] = {"integer": ["x0", "x1"]} if seed % 2 else {"categorical": ["x0", "x1", "x2"]}
    domain = Domain.from_data(X, names=[f"x{i}" for i in range(6)], **kinds)
    if seed % 3 == 0:
        domain = domain.where(~((ax.feature("x0") == 3) & (ax.feature("x1") == 3)))
    return RandomForestClassifier(9, max_depth=4, random_state=seed).fit(X, y), domain, X


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_of_all_is_the_nearest_of_each(seed: int) -> None:
    """Boxes that weigh CXps give what a search through the cells of each CXp gives, ties included."""
    model, domain, X = _boosted(seed)
    possible = [x for x in X[:40] if domain.constraints == () or not (x[0] == 3 and x[1] == 3)]
    for x in possible[:3]:
        e = ax.Explainer(model, domain).explain(x)
        each = [e.counterfactual(cxp) for cxp in e.cxps]
        expected = min(each, key=lambda c: c.distance)  # the first of equally near ones
        assert e.counterfactual() == expected
        found = list(e.counterfactuals())
        assert found[-1].distance == expected.distance
        assert e.counterfactual(first=True) == found[0]
        saved = ax.Explanation.from_json(e.to_json(), model=model)
        assert saved.counterfactual() == expected
        assert list(saved.counterfactuals())[-1].distance == expected.distance
        assert saved.counterfactual(first=True).output != e.prediction


@pytest.mark.parametrize("seed", range(40))
def test_the_nearest_of_all_for_every_kind_of_model(seed: int) -> None:
    rng = Random(seed)
    truth = random_problems.random_truth(rng, random_problems.KINDS[seed % 6], n_instances=3)
    for place in truth.instances:
        x = tuple(values[k] for values, k in zip(truth.values, place, strict=True))
        try:
            e = ax.Explainer(truth.model, truth.domain, delta=truth.delta).explain(x)
            each = [e.counterfactual(cxp) for cxp in e.cxps]
        except AxfiError:
            continue
        if each:
            assert e.counterfactual() == min(each, key=lambda c: c.distance)


def _listed(scene: Scene, e: ax.Explanation, v: tuple[int, ...]) -> set[tuple[tuple[str, ...], Fraction]] | None:
    """Return the CXp and the distance of every adversarial example, by going through all points; None if not finite."""
    domain, values, cxps = scene.domain, scene.truth.values, {c.features for c in e.cxps}
    if any(f.size != len(row) for f, row in zip(domain.features, values, strict=True)):
        return None
    found = set()
    for place in np.argwhere(scene.inside(v) & scene.dissimilar(v)).tolist():
        moved = [i for i, (a, b) in enumerate(zip(v, place, strict=True)) if a != b]
        far = sum((_gap(domain.features[i], values[i][v[i]], values[i][place[i]]) for i in moved), Fraction(0))
        found.add((tuple(domain.names[i] for i in moved), far))
    return {(names, far) for names, far in found if names in cxps}


def _gap(feature: Any, a: Any, b: Any) -> Fraction:
    is_number = isinstance(feature, Integer) and None not in (a, b)
    return Fraction(abs(a - b), feature.high - feature.low) if is_number else Fraction(1)


@pytest.mark.parametrize("target", ["auto", "mdd"])
@pytest.mark.parametrize("kind", random_problems.KINDS)
def test_each_counterfactual_is_strictly_nearer_than_the_one_before(kind: str, target: str) -> None:
    """Models of all kinds, with constraints, regions, distributions and classes asked for, judged by a list."""
    seen = Counter[str]()
    for seed in range(25):
        scene = random_scene(Random(f"{kind} {seed}"), kind, n_instances=3)
        truth = scene.truth
        options: dict[str, Any] = {"delta": truth.delta, "toward": truth.toward, "within": scene.region}
        for v in truth.instances:
            try:
                e = ax.Explainer(truth.model, scene.domain, weights="unit", target=target, **options).explain(
                    truth.point(v)
                )
                found, nearest = list(e.counterfactuals()), e.counterfactual()
            except AxfiError:  # no CXp, or a model that the target does not take
                continue
            distances = [c.distance for c in found]
            assert all(b < a for a, b in pairwise(distances))
            assert distances[-1] == nearest.distance
            saved = ax.Explanation.from_json(e.to_json(), model=truth.model)
            again = [c.distance for c in saved.counterfactuals()]
            assert all(b < a for a, b in pairwise(again))
            assert again[-1] == nearest.distance
            listed = _listed(scene, e, v)
            seen.update(["all", "listed"] if listed is not None else ["all"])
            if listed is not None:
                assert {(tuple(c.changes), c.distance) for c in found} <= listed
                assert distances[-1] == min(far for _, far in listed)
    assert seen["all"] > 5
    assert seen["listed"]


def test_as_near_ones_are_left_out() -> None:
    """The CXp that is looked at second is as far as the first one, and comes before it."""
    domain = Domain([Integer("a", 0, 10), Integer("b", 0, 20)])
    e = ax.Explainer(lambda p: p[0] >= 5 or p[1] >= 10, domain, target="mdd").explain((0, 0))
    assert [c.changes for c in e.counterfactuals()] == [{"b": (0, 10)}]
    assert e.counterfactual().changes == {"a": (0, 5)}  # the first one of the list
    assert e.counterfactual(first=True).changes == {"b": (0, 10)}


def test_far_cxps_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature whose nearest other value is further than an example found already is left alone."""
    domain = Domain([Integer("a", 0, 9), Categorical("b", "xyz"), Categorical("c", "xyz")])
    e = ax.Explainer(lambda p: p[0] > 4 or p[1] == "z" or p[2] == "z", domain).explain((3, "x", "x"))
    looked: list[Any] = []
    usual = counterfactuals._codes_on_cells
    monkeypatch.setattr(counterfactuals, "_codes_on_cells", lambda *given: looked.append(given[2]) or usual(*given))
    assert e.counterfactual().changes == {"a": (3, 5)}
    assert looked == [(0,)]


def test_budgets_of_all_cxps_together() -> None:
    model, domain, X = _boosted(1)
    made = ax.Explainer(model, domain)
    e = made.explain(X[0])
    e = replace(e, _budget=ax.Budget(nodes=1))
    with pytest.raises(BudgetError, match="1 box "):
        e.counterfactual()
    with pytest.raises(BudgetError):
        list(e.counterfactuals())


def test_more_cxps_than_can_be_compared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = Domain([Integer(f"x{i}", 0, 1) for i in range(16)])
    model = LinearModel.of_columns(domain, [[1] * 16], intercepts=[-7.5], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, target="mdd").explain([0] * 16)
    assert e.counterfactual().distance == 8
    monkeypatch.setattr("axfi_kc.explanations.explanation._CXPS_TO_COMPARE", 1000)
    e = ax.Explainer(model, domain, target="mdd").explain([0] * 16)
    with pytest.raises(IncompleteError, match="12870"):
        e.counterfactual()


def test_a_region_does_not_change_what_is_nearest() -> None:
    """Changes are shares of the whole domain: what was nearest stays so, as long as the region holds it."""
    domain = ax.Domain([ax.Integer("j", 0, 2), ax.Integer("i", 0, 9)])
    explainer = ax.Explainer(lambda p: int(p[0] == 2 or p[1] >= 1), domain)
    anywhere = explainer.explain((1, 0)).counterfactual()
    near = explainer.explain((1, 0), within=ax.Region(ranges={"i": (0, 1)}))
    assert near.counterfactual().changes == anywhere.changes == {"i": (0, 1)}
    assert near.counterfactual().distance == anywhere.distance == Fraction(1, 9)
    assert ax.verify(near, lambda p: int(p[0] == 2 or p[1] >= 1)).ok


NARROW = ax.Domain([ax.Real("a", 0, 4), ax.Real("b", 0, 4)])
STUMP = TreeNodes(
    np.array([0, -1, -1]), [Cut(2.0, closed=False), None, None], np.array([1, -1, -1]), np.array([2, -1, -1]),
    np.array([[0.0], [1.0], [-1.0]]),
)  # fmt: skip


@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize(
    "asked",
    [
        lambda e: e.counterfactual(),
        lambda e: e.counterfactual(("a",)),
        lambda e: e.counterfactual(seed=1),
        lambda e: list(e.counterfactuals()),
    ],
)
def test_examples_between_two_neighbouring_floats_exist_but_cannot_be_given(n_trees: int, asked: Any) -> None:
    model = TreeSum.of(NARROW, [STUMP] * n_trees, rule=Positive((0, 1)))
    near = ax.Region(radius=Fraction(1, 2**60))
    e = ax.Explainer(model, NARROW, weights="unit", within=near).explain((2.0, 1.0))
    assert [c.features for c in e.cxps] == [("a",)]
    with pytest.raises(DomainError, match=r"No float64 point .* of \['a'\].* between two neighbouring floats"):
        asked(e)


@pytest.mark.parametrize("least", [-1, 1.5])
def test_a_plausibility_is_a_probability(least: float) -> None:
    e = ax.Explainer(lambda p: sum(p), ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])).explain((0, 0))
    with pytest.raises(DomainError, match=r"from 0 to 1, but .* was given"):
        e.counterfactual(min_plausibility=least)
