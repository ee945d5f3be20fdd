"""Critical radii, paths of radii, and counterfactuals in regions and under constraints."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.constraints import feature
from axfi_kc.domain.region import Region
from axfi_kc.errors import (
    AxfiError,
    BudgetError,
    ConstantModelError,
    DomainError,
    IncompleteError,
    UnknownFeatureError,
    WeightError,
)
from axfi_kc.explanations.counterfactuals import find_counterfactual
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.radius import critical_radius, reaches_of, replace_radius
from axfi_kc.explanations.radius_path import radius_path
from axfi_kc.explanations.space import space_words
from axfi_kc.families.masks import minimal_sets
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Slope
from tests.explanations.test_notebook_html import Structure
from tests.support.random_problems import KINDS, random_plane, random_truth
from tests.support.random_spaces import Around, constrained, distances, infimum, norm_of, random_region

FAR = Fraction(10**6)


def _reaches(around: Around) -> dict[int, tuple[Fraction, bool]]:
    """Return how far the nearest dissimilar point is that changes just so many features, by the definition."""
    best: dict[int, tuple[Fraction, bool]] = {}
    truth = around.truth
    for place in truth.places:
        if around.is_possible(place) and not truth.similar(truth.output(place), truth.output(around.v)):
            reach, changed = infimum(around, place), around.changed(place)
            if reach is not None:
                best[changed] = min(best.get(changed, reach), reach)
    return best


def _spaces(kind: str, seeds: range) -> Any:
    """Yield random problems with their truth; those in which nothing is measured are left out."""
    for seed in seeds:
        rng = Random(f"{kind} {seed}")
        truth = random_truth(rng, kind)
        space = constrained(rng, truth)
        if space is None:
            continue
        domain, model = space
        region = random_region(rng, domain, norm=rng.choice(("linf", "l1")))
        for v in truth.instances:
            around = Around(truth, domain, region, v)
            if around.is_possible(v):
                x = dict(zip(domain.names, truth.point(v), strict=True))
                yield around, Problem.of(model, domain, x, delta=truth.delta)


def _has_mass(ask: Any) -> bool:
    try:
        ask()
    except DomainError as error:
        if "probability 0" in str(error):
            return False
        raise
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_the_reach_of_every_set_is_the_distance_of_its_nearest_point(kind: str) -> None:
    asked = 0
    for around, problem in _spaces(kind, range(10)):
        region = replace_radius(around.region, FAR)
        around = Around(around.truth, around.domain, region, around.v)
        best = _reaches(around)
        if not _has_mass(lambda: problem.within(region)):  # noqa: B023 - asked at once
            continue
        found = reaches_of(problem, region, Account(None, goal="reach"))
        for S in range(1 << len(around.v)):
            expected = min((reach for Y, reach in best.items() if Y & ~S == 0), default=None)
            if _has_mass(lambda: found[S]):  # noqa: B023
                assert found[S] == expected
                asked += 1
    assert asked > 30


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_a_plane_is_reached_where_the_closed_form_says(norm: str) -> None:
    """Within the radius nothing is dissimilar, right beyond it something is: corners of boxes and simplices tell."""
    for seed in range(40):
        model, v, delta = random_plane(Random(seed))
        problem = Problem.of(model, model.domain, v, delta=delta)
        region = Region(norm=norm, radius=FAR)
        everything = (1 << len(v)) - 1
        found = reaches_of(problem, region, Account(None, goal="reach"))[everything]
        nearest = _nearest_on_a_fine_grid(problem, region)
        if found is None:
            assert nearest is None
        elif nearest is not None:
            assert found.radius <= nearest
            # In 64 steps per feature, the plane is missed by less than a step of each.
            steps = [Fraction(f.high - f.low, 64) for f in model.domain.features if isinstance(f, ax.Real)]
            assert nearest - found.radius <= (sum(steps) if norm == "l1" else max(steps, default=Fraction(0)))


def _nearest_on_a_fine_grid(problem: Problem, region: Region) -> Fraction | None:
    rows = []
    for f in problem.domain.features:
        if isinstance(f, ax.Real):
            rows.append([float(f.low + (f.high - f.low) * Fraction(k, 64)) for k in range(65)])
        else:
            values = range(f.low, f.high + 1) if isinstance(f, ax.Integer) else range(len(f.values))
            rows.append([float(c) for c in values])
    own = problem.codes.tolist()
    rows = [[code] if np.isnan(code) else row for row, code in zip(rows, own, strict=True)]  # what is missing stays so
    points = np.stack(np.meshgrid(*rows, indexing="ij"), axis=-1).reshape(-1, len(rows))
    if len(points) > 20_000:
        return None
    here = problem.domain.decode(problem.codes)
    far = [
        norm_of(region, distances(region, problem.domain, here, problem.domain.decode(p)))
        for p, y in zip(points, problem.model.outputs_at(points), strict=True)
        if problem.is_dissimilar(y)
    ]
    return min(far, default=None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_has_all_changes_of_the_cxps(kind: str) -> None:
    asked = 0
    for around, problem in _spaces(kind, range(8)):
        region = Region(
            radius=FAR, norm=around.region.norm, unit=around.region.unit, weights=dict(around.region.weights)
        )
        around = Around(around.truth, around.domain, region, around.v)
        best = _reaches(around)
        try:
            explainer = ax.Explainer(problem.model, around.domain, delta=around.truth.delta)
        except ConstantModelError:
            continue
        options = {"norm": region.norm, "unit": region.unit, "weights": dict(region.weights)}
        if not _has_mass(lambda: radius_path(explainer, problem.instance, **options)):  # noqa: B023
            continue
        expected: list[Any] = []
        for reach in sorted({(Fraction(0), False), *best.values()}):
            sets = sorted(minimal_sets([Y for Y, r in best.items() if r <= reach]))
            if not expected or expected[-1][1] != sets:
                expected.append((reach, sets))
        path = radius_path(explainer, problem.instance, **options)
        masks = [sorted(around.domain.mask(c.features) for c in step.cxps) for step in path]
        assert [((s.start, s.is_open), sets) for s, sets in zip(path, masks, strict=True)] == expected
        assert list(path.to_frame(exact=True)["start"]) == [s.start for s in path]
        asked += 1
    assert asked > 5


@pytest.mark.parametrize("kind", KINDS)
def test_counterfactuals_are_possible_and_in_the_region(kind: str) -> None:
    asked = 0
    for around, problem in _spaces(kind, range(10)):
        if not _has_mass(lambda: problem.within(around.region)):  # noqa: B023
            continue
        inner = problem.within(around.region)
        for Y in around.examples:
            names = around.domain.names_of(Y)
            for seed in (None, 1):
                try:
                    found = find_counterfactual(inner, names, seed=seed)
                except (WeightError, BudgetError):
                    assert seed is not None  # of probability 0 nothing is drawn
                    continue
                _check_point(around, problem, Y, found.point)
                if found.printed is not None:
                    _check_point(around, problem, Y, found.printed.point)
                asked += 1
    assert asked > 10


def _check_point(around: Around, problem: Problem, Y: int, point: dict[str, Any]) -> None:
    codes = around.domain.encode_point(point)
    values, here = around.domain.decode(codes), around.truth.point(around.v)
    assert problem.is_dissimilar(problem.model.outputs_at(codes[np.newaxis])[0])
    assert all(c.holds(codes.tolist(), around.domain) for c in around.domain.constraints)
    far = norm_of(around.region, distances(around.region, around.domain, here, values))
    assert far is not None
    assert around.region.radius is None or far <= around.region.radius
    changed = sum(1 << i for i, (a, b) in enumerate(zip(here, values, strict=True)) if a != b)
    assert changed == Y


def test_ten_radii_of_a_boosted_model_equal_brute_force_over_cells() -> None:
    """CXps at ten radii, by deciding every combination of the cells that come within reach."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > X[:, 3] + 0.3).astype(int)
    model = xgboost.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, y)
    explainer = ax.Explainer(model, ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(4)]))
    for row in X[:2]:
        problem = explainer.explain(row).problem
        for k in range(1, 11):
            found = explainer.explain(row, within=Region(radius=Fraction(k, 25)))
            sets = {explainer.domain.mask(c.features) for c in found.cxps}
            assert sets == _cxps_by_cells(problem, Fraction(k, 25))


def _cxps_by_cells(problem: Problem, radius: Fraction) -> set[int]:
    from axfi_kc.domain.region import cell_reaches

    own, codes = problem.cells, problem.codes.tolist()
    near = []
    for axis, code, cell in zip(problem.model.grid.axes, codes, own.tolist(), strict=True):
        reaches = cell_reaches(axis, code, Fraction(1))
        near.append([cell, *(c for c, reach in reaches.items() if reach <= (radius, False))])
    points = np.stack(np.meshgrid(*near, indexing="ij"), axis=-1).reshape(-1, len(near))
    found = set()
    for cells, output in zip(points, problem.model.decide(points), strict=True):
        if problem.is_dissimilar(output):
            found.add(sum(1 << i for i in range(len(near)) if cells[i] != own[i]))
    return {Y for Y in found if not any(T & Y == T != Y for T in found)}


def _loan() -> ax.Explainer:
    domain = ax.Domain([ax.Integer("age", 18, 98), ax.Categorical("job", ["a", "b", "c"])])
    return ax.Explainer(lambda p: p[0] > 60 and p[1] == "b", domain)


def test_an_explanation_tells_the_critical_radius_in_its_regions_unit() -> None:
    e = _loan().explain((70, "b"))
    assert e.critical_radius(["age"]) == 10
    assert e.critical_radius({"age"}, unit="range", weights={"age": 4}) == Fraction(1, 2)
    assert e.critical_radius(e.cxps[1]) == 1
    within = _loan().explain((70, "b"), within=Region(radius=Fraction(1, 4), unit="range", frozen=["job"]))
    assert within.critical_radius(["age"]) == Fraction(1, 8)
    with pytest.raises(DomainError, match="changes nothing at any radius"):
        within.critical_radius(["job"])
    with pytest.raises(UnknownFeatureError):
        e.critical_radius(["wage"])


def test_an_open_end_is_an_infimum() -> None:
    domain = ax.Domain([ax.Real("x", 0, 1), ax.Real("y", 0, 1)])
    model = LinearModel.of(domain, [Slope((1,)), Slope((1,))], base=[-1], rule=Positive((0, 1)))
    problem = Problem.of(model, domain, (0.25, 0.25))  # class 1 is strictly above the line
    assert critical_radius(problem, ["x", "y"]) == Fraction(1, 4)
    assert critical_radius(problem, ["x", "y"], norm="l1") == Fraction(1, 2)
    assert reaches_of(problem, Region(), Account(None, goal="reach"))[3].is_open
    assert (
        not Problem.of(model, domain, (0.25, 0.25))
        .within(Region(radius=Fraction(1, 4)))
        .engine.is_weak_cxp(problem.codes, 3)
    )


def test_categories_may_be_frozen_under_a_linear_model_with_reals() -> None:
    domain = ax.Domain([ax.Real("x", 0, 1), ax.Categorical("c", "abc")])
    parts = [Slope((1,)), Lookup(((0, 2, -1),))]
    model = LinearModel.of(domain, parts, base=[Fraction(-1, 2)], rule=Positive((0, 1)))
    explainer = ax.Explainer(model, domain)
    everywhere = explainer.explain((0.25, "a"))
    assert [c.features for c in everywhere.cxps] == [("x",), ("c",)]
    frozen = explainer.explain((0.25, "a"), within=Region(frozen=["c"]))
    assert [(c.features, c.weight) for c in frozen.cxps] == [(("x",), Fraction(1, 2))]
    assert frozen.counterfactual().point["c"] == "a"
    some = explainer.explain((0.25, "a"), within=Region(ranges={"c": ["a", "c"]}, only_down=["x"]))
    assert some.cxp_count == 0
    turned = explainer.explain((0.25, "b"), within=Region(ranges={"c": ["b", "c"]}))
    assert [(c.features, c.weight) for c in turned.cxps] == [(("c",), Fraction(1, 2))]
    assert turned.counterfactual(seed=1).point["c"] == turned.counterfactual().point["c"] == "c"
    assert "c = 'c'" in turned.counterfactual().words
    assert turned.critical_radius(["c"]) == 1


def test_argmax_planes_know_their_sides() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 4)])
    model = LinearModel.of(domain, [Slope((0, 1, 3))], base=[2, 0, -7], rule=Argmax(("x", "y", "z")))
    assert model.predict([[k] for k in range(5)]) == ["x", "x", "x", "y", "z"]
    assert critical_radius(Problem.of(model, domain, [4]), ["a"]) == 1


def test_constraints_keep_counterfactuals_possible_in_words_too() -> None:
    domain = ax.Domain([ax.Integer("age", 0, 99), ax.Integer("job", 0, 1)])
    possible = domain.where((feature("age") <= 40) | (feature("age") >= 50))
    problem = Problem.of(lambda p: p[0] > 45, possible, (60, 0))
    found = find_counterfactual(problem, ["age"])
    assert found.changes == {"age": (60, 40)}
    assert found.words == "age <= 40"


def test_a_path_within_a_budget_says_how_far_it_is_known() -> None:
    domain = ax.Domain([ax.Integer(f"a{i}", 0, 9) for i in range(4)])
    explainer = ax.Explainer(lambda p: sum(p) > 20, domain)
    whole = radius_path(explainer, (2, 2, 2, 2), unit="value")
    assert whole.is_complete
    assert whole.least == 4
    assert whole.radii == [4, 5, 7]
    assert [s.vanished == () for s in whole] == [True, True, False, False]
    near = radius_path(explainer, (2, 2, 2, 2), unit="value", up_to=5)
    assert near.radii == [4, 5]
    assert repr(near) == "<RadiusPath: 3 steps (linf, in values), first CXp at 4>"
    assert {c.features for c in near.at(7).cxps} == {c.features for c in whole[-1].cxps}
    with pytest.raises(BudgetError):
        radius_path(explainer, (2, 2, 2, 2), budget=Budget(seconds=1e-9))


def test_bad_paths_are_refused_in_one_sentence() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    model = lambda p: p[0]  # noqa: E731
    with pytest.raises(DomainError, match="follows all CXps"):
        radius_path(ax.Explainer(model, domain, max_size=1), (0,))
    with pytest.raises(DomainError, match="goes through all radii"):
        radius_path(ax.Explainer(model, domain, within=Region(radius=1)), (0,))
    with pytest.raises(DomainError, match="norm must be one of"):
        radius_path(ax.Explainer(model, domain), (0,), norm="l2")
    for up_to in (-1, Fraction(-1, 3), -0.5):
        with pytest.raises(DomainError, match=r"^up_to must not be negative, but .* was given; leave it out"):
            radius_path(ax.Explainer(model, domain), (0,), up_to=up_to)
    assert len(radius_path(ax.Explainer(model, domain), (0,), up_to=0)) == 1


def test_a_path_asks_of_an_instance_what_an_explanation_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)]).where(feature("b") < 3)
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [3, 0]], [0, 1])
    made = ax.Explainer(tree, domain)
    monkeypatch.setattr(made, "_predict", lambda codes: [1 - y for y in made._model.outputs_at(codes)])
    for explainer, x in (
        (ax.Explainer(tree, domain, toward=1), (3, 0)),  # which has that class
        (ax.Explainer(tree, domain), (0, 3)),  # which cannot exist
        (made, (0, 0)),  # within rounding of a tie, as far as anybody can tell
    ):
        with pytest.raises(AxfiError) as alone:
            explainer.explain(x)
        with pytest.raises(type(alone.value)) as along:
            radius_path(explainer, x)
        assert str(along.value) == str(alone.value)


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_features_without_spread_move_at_no_radius(norm: str) -> None:
    """Distances in standard deviations of 0 are infinite: a has always been 0."""
    domain = ax.Domain([ax.Integer("a", 0, 2, weights=[1, 0, 0]), ax.Integer("b", 0, 3)])
    explainer = ax.Explainer(lambda p: int(p[0] > 0 or p[1] > 2), domain)
    e = explainer.explain((0, 0))
    with pytest.raises(DomainError, match="changes nothing at any radius"):
        e.critical_radius(["a"], unit="std", norm=norm)
    path = ax.radius_path(explainer, (0, 0), unit="std", norm=norm)
    assert [[c.features for c in step.cxps] for step in path] == [[], [("b",)]]
    far = explainer.explain((0, 0), within=ax.Region(radius=100, unit="std", norm=norm))
    assert [c.features for c in far.cxps] == [("b",)]


def test_a_path_measures_as_its_explainers_region_does_unless_told_otherwise() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 20), ax.Integer("b", 0, 5)])
    plain = ax.Explainer(lambda p: p[0] + p[1] > 6, domain)
    for options in ({}, {"unit": "range"}, {"norm": "l1"}, {"weights": {"a": 3}}, {"unit": "std", "norm": "l1"}):
        within = ax.Explainer(lambda p: p[0] + p[1] > 6, domain, within=Region(**options))
        path = radius_path(within, (2, 2))
        assert path.radii == radius_path(plain, (2, 2), **options).radii
        assert path.least == min(path[-1].explanation.critical_radius(c) for c in path[1].cxps)
    scaled = ax.Explainer(lambda p: p[0] + p[1] > 6, domain, within=Region(unit="range", weights={"a": 3}))
    path = radius_path(scaled, (2, 2), unit="value", weights={})
    assert path.radii == radius_path(plain, (2, 2)).radii == [2, 3]


def test_a_region_that_only_measures_is_not_said_to_leave_anything_out() -> None:
    e = ax.Explainer(lambda p: p[0] > 3, ax.Domain([ax.Integer("a", 0, 9)]), within=Region(unit="range")).explain([1])
    assert space_words(e) == {}
    assert e.critical_radius(["a"]) == Fraction(1, 3)


def test_steps_and_paths_are_readable() -> None:
    domain = ax.Domain([ax.Integer(f"a{i}", 0, 9) for i in range(4)])
    path = radius_path(ax.Explainer(lambda p: sum(p) > 12, domain), (2, 2, 2, 2))
    assert [repr(step) for step in path] == [
        "<RadiusStep: from 0 to 2, 0 CXps>",
        "<RadiusStep: from 2 to 3, 4 CXps: {a0, a1, a2}, {a0, a1, a3}, {a0, a2, a3} and 1 more new>",
        "<RadiusStep: from 3 to 5, 6 CXps: {a0, a1}, {a0, a2}, {a0, a3} and 3 more new, {a0, a1, a2}, {a0, a1, a3}, "
        "{a0, a2, a3} and 1 more replaced>",
        "<RadiusStep: from 5 on, 4 CXps: {a0}, {a1}, {a2} and 1 more new, {a0, a1}, {a0, a2}, {a0, a3} and 3 more "
        "replaced>",
    ]
    assert repr(radius_path(ax.Explainer(lambda p: p[0], domain), (0, 0, 0, 0), up_to=0, unit="std")) == (
        "<RadiusPath: 1 step (linf, in standard deviations of measures)>"
    )


def test_a_path_in_notebooks() -> None:
    domain = ax.Domain([ax.Real("<a>", 0, 1), ax.Real("b", 0, 1)])
    model = LinearModel.of(domain, [Slope((2,)), Slope((1,))], base=[-1], rule=Positive((0, 1)))
    explainer = ax.Explainer(model, domain, within=Region(only_up=["b"]))
    read = Structure(radius_path(explainer, (0.25, 0.125), weights={"<a>": 2})._repr_html_())
    assert {"from", "to", "CXps that appear", "CXps that are replaced", "top feature"} <= set(read.texts)
    assert {"beyond ", "0.1875", "0.375", "any", "<a>, b", "<a>; b"} <= set(read.texts)
    assert {"b only up", "a radius is how far each feature may go (linf), in values; <a> counted 2 times"} <= set(
        read.texts
    )


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_a_radius_of_many_digits_is_exact_and_shown_rounded(norm: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 5)])
    explainer = ax.Explainer(lambda p: p[0] + p[1] > 6, domain)
    found = explainer.explain((2, 2)).critical_radius(["a", "b"], unit="std", norm=norm)
    assert isinstance(found, Fraction)
    assert repr(found) == {"linf": "Radius≈0.6963", "l1": "Radius≈1.044"}[norm]
    assert eval(str(found), {}) == pytest.approx(float(found))  # all digits
    path = radius_path(explainer, (2, 2), unit="std", norm=norm)
    assert "Radius≈" in repr(path.radii)
    assert repr(explainer.explain((2, 2)).critical_radius(["a", "b"], unit="range")) == "Fraction(2, 9)"


def test_what_a_path_explains_is_what_explain_gives() -> None:
    """Its explanations had the margin where others have the probability."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (80, 2))
    tree = DecisionTreeClassifier(random_state=0).fit(X, X.sum(axis=1) + rng.integers(0, 2, 80) > 3)
    explainer = ax.Explainer(tree, ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)]))
    path = radius_path(explainer, X[0])
    for step in path:
        alone = explainer.explain(X[0], within=Region(radius=step.at))
        assert repr(step.explanation) == repr(alone)
        assert step.explanation.probability is not None
        assert step.explanation.to_dict() == alone.to_dict()


@pytest.mark.parametrize("unit", ["value", "range", "std"])
@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_among_rows_the_nearest_dissimilar_one_is_at_the_critical_radius(norm: str, unit: str) -> None:
    rng = np.random.default_rng(0)
    rows = [(int(a), b / 4, "pqr"[c]) for a, b, c in rng.integers(0, [4, 5, 3], (60, 3)).tolist()]
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Real("b", 0, 1), ax.Categorical("c", "pqr")])
    outputs, asked = [a + 2 * b + (c == "q") > 3 for a, b, c in rows], 0
    region = Region(radius=FAR, norm=norm, unit=unit, weights={"a": 2, "b": Fraction(1, 3)})
    measure: Any = {"norm": norm, "unit": unit, "weights": dict(region.weights)}
    for x, output in zip(rows[:8], outputs, strict=False):
        e = ax.explain_among(rows, outputs, x, domain=domain)
        for cxp in e.cxps:
            others = [i for i, name in enumerate(domain.names) if name not in cxp.features]
            strange = (r for r, y in zip(rows, outputs, strict=True) if y != output)
            near = (r for r in strange if all(r[i] == x[i] for i in others))
            least = min(norm_of(region, distances(region, domain, x, row)) for row in near)
            assert e.critical_radius(cxp, **measure) == least
            asked += 1
    assert asked > 10


def test_among_rows_what_is_missing_is_near_to_nothing() -> None:
    rows = [[0.0, 0.0], [np.nan, 0.0], [3.0, 2.0]]
    e = ax.explain_among(rows, ["no", "yes", "yes"], rows[0])
    assert [c.features for c in e.cxps] == [("x0",)]
    with pytest.raises(DomainError, match=r"Changing \['x0'\] changes nothing at any radius"):
        e.critical_radius(["x0"])
    assert e.critical_radius(["x0"], weights={"x0": 0}) == 0
    assert e.critical_radius(["x0", "x1"]) == 3
    assert e.critical_radius(["x0", "x1"], norm="l1") == 5
    still = ax.Domain([ax.Integer("a", 0, 3, weights=[1, 0, 0, 0])])
    with pytest.raises(DomainError, match="changes nothing at any radius"):
        ax.explain_among([[0], [3]], ["no", "yes"], [0], domain=still).critical_radius(["a"], unit="std")


def test_a_saved_explanation_tells_the_critical_radius_with_its_model() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    tree = DecisionTreeClassifier(random_state=0).fit([[a, b] for a in range(4) for b in range(4)], [0] * 11 + [1] * 5)
    e = ax.Explainer(tree, domain, within=Region(radius=1, unit="range", only_up=["a"])).explain((1, 2))
    assert ax.Explanation.from_json(e.to_json(), model=tree).critical_radius(["a"]) == e.critical_radius(["a"])
    with pytest.raises(IncompleteError, match=r"^A critical radius has to be put to the model, but .* read it with"):
        ax.Explanation.from_json(e.to_json()).critical_radius(["a"])
