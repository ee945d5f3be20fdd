"""Linear models over real features under constraints, against pieces that are each asked by themselves."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.domain.constraints import feature
from axfi_kc.engines import engine_for
from axfi_kc.engines.linear import boxed
from axfi_kc.engines.linear.boxed import BoxedLinearEngine
from axfi_kc.engines.linear.possible_cells import PossibleCells
from axfi_kc.errors import BudgetError, ConstantModelError, DomainError
from axfi_kc.models import Argmax, LinearModel, Positive, Score, Similarity
from axfi_kc.models.restriction import restricted
from tests.support.constrained_judge import ConstrainedJudge, random_judge
from tests.support.possible_planes import random_possible_plane


def explained(judge: ConstrainedJudge, **options: Any) -> ax.Explanation | None:
    """Return the explanation of a judge's instance; None for a model that is constant, or about its own class."""
    try:
        explainer = ax.Explainer(judge.model, judge.domain, delta=judge.delta, toward=judge.toward, **options)
    except ConstantModelError:
        assert judge.cxps == []
        return None
    if judge.toward is not None and judge.output == judge.toward:
        return None
    return explainer.explain(dict(zip(judge.domain.names, judge.v, strict=True)))


def weights_of(e: ax.Explanation) -> dict[int, Any]:
    return {e.domain.mask(c.features): c.weight for c in e.cxps}


def check_judge(judge: ConstrainedJudge) -> int:
    """Compare all CXps and weights with the judge's; return how many CXps there were."""
    e = explained(judge, weights="unit")
    if e is None:
        return 0
    assert sorted(weights_of(e)) == sorted(judge.cxps)
    ratios = {Y: judge.ratio(Y) for Y in judge.cxps}
    if None in ratios.values():
        with pytest.raises(DomainError, match="have probability 0"):
            explained(judge)
    else:
        found = explained(judge)
        assert found is not None
        assert weights_of(found) == ratios
    real = judge.domain.mask([f.name for f in judge.domain.features if isinstance(f, ax.Real)])
    if not any(Y & real for Y in judge.cxps):
        counted = explained(judge, weights="count")
        assert counted is not None
        assert weights_of(counted) == {Y: judge.count(Y) for Y in judge.cxps}
    return len(judge.cxps)


@pytest.mark.parametrize("part", range(4))
def test_cxps_and_weights_equal_those_of_all_pieces(part: int) -> None:
    assert sum(check_judge(random_judge(Random(f"constrained {part} {n}"))) for n in range(75)) > 40


@pytest.mark.parametrize("part", range(2))
def test_toward_one_class_equals_all_pieces(part: int) -> None:
    judges = (random_judge(Random(f"toward {part} {n}"), toward=True) for n in range(75))
    assert sum(map(check_judge, judges)) > 15


@pytest.mark.parametrize("toward", [False, True])
def test_ties_at_the_ends_of_cells_are_decided_as_another_judge_does(toward: bool) -> None:
    """Most of these models change their output exactly where a constraint cuts."""
    found = 0
    for n in range(150):
        model, domain, judge, asked = random_possible_plane(Random(f"ties {toward} {n}"), toward=toward)
        expected = {domain.mask([domain.names[i] for i in Y]): judge.ratio(Y) for Y in judge.cxps()}
        kind = "unit" if None in expected.values() else "ratio"
        try:
            explainer = ax.Explainer(model, domain, delta=judge.judge.delta, toward=asked, weights=kind)
        except ConstantModelError:
            assert expected == {}
            continue
        e = explainer.explain(dict(zip(domain.names, judge.v, strict=True)))
        assert weights_of(e) == (expected if kind == "ratio" else dict.fromkeys(expected, 1))
        found += len(expected)
    assert found > 60


def test_many_features_tied_to_each_other_go_by_duality(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxed, "_MOST_PARTS", 0)
    found = sum(check_judge(random_judge(Random(f"duality {n}"))) for n in range(75))
    assert found > 40


def test_small_cxps_are_those_of_all_that_are_small() -> None:
    checked = 0
    for n in range(60):
        judge = random_judge(Random(f"small {n}"))
        e = explained(judge, weights="unit", max_size=1)
        if e is not None:
            assert sorted(weights_of(e)) == sorted(Y for Y in judge.cxps if Y.bit_count() == 1)
            checked += 1
    assert checked > 20


REALS = ax.Domain([ax.Real("r", 0, 1), ax.Integer("a", 0, 1), ax.Real("s", 0, 2)])
SUM = LinearModel.of_columns(REALS, [[2, 1, 1]], intercepts=[-1], rule=Positive((0, 1)))


def test_a_cut_takes_part_of_the_simplex_and_of_the_box() -> None:
    """Without a, r stays below 1/2: of these numbers those above 3/8 change the output."""
    e = ax.Explainer(SUM, REALS.where((feature("r") < 0.5) | (feature("a") == 1))).explain((0.25, 0, 0.25))
    assert {c.features: c.weight for c in e.cxps} == {
        ("r",): Fraction(1, 4),
        ("a",): Fraction(1, 2),
        ("s",): Fraction(3, 4),
    }


@pytest.mark.parametrize(("rule", "cxps"), [(feature("r") < 0.5, []), (feature("r") <= 0.5, [("r",)])])
def test_an_open_end_is_not_attained(rule: Any, cxps: list[tuple[str, ...]]) -> None:
    """At 2 r = 1 the output would change, and only there: it is a point, and has no probability."""
    domain = ax.Domain([ax.Real("r", 0, 1), ax.Integer("a", 0, 1)]).where(rule, feature("a") >= 0)
    model = LinearModel.of_columns(domain.unconstrained, [[-2, -2]], intercepts=[1], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain).explain((0.25, 0))
    assert [c.features for c in e.cxps if c.features != ("a",)] == cxps
    assert all(c.weight == 0 for c in e.cxps if c.features == ("r",))


def test_single_points_exist_without_a_probability() -> None:
    domain = REALS.where((feature("r") == 1) | (feature("r") <= 0.25))
    e = ax.Explainer(SUM, domain).explain((0.25, 0, 0.25))
    assert {c.features: c.weight for c in e.cxps}[("r",)] == 0
    assert e.counterfactual(("r",)).point["r"] == 1


def test_what_is_constant_among_possible_points_has_nothing_to_explain() -> None:
    low = REALS.where((feature("r") < 0.125) & (feature("a") == 0) & (feature("s") < 0.5))
    with pytest.raises(ConstantModelError, match="at every point that can exist"):
        ax.Explainer(SUM, low)
    line = LinearModel.of_columns(REALS, [[2, 1, 0]], intercepts=[-1], rule=Score())
    with pytest.raises(ConstantModelError, match="at every point that can exist"):
        ax.Explainer(line, REALS.where(feature("r") == 0.5, feature("a") == 1), delta=0)


def test_batches_and_workers_give_the_same() -> None:
    domain = REALS.where((feature("r") < 0.5) | (feature("a") == 1))
    explainer = ax.Explainer(SUM, domain)
    rows = [(0.25, 0, 0.25), (0.75, 1, 0.5), (0.125, 1, 1.5), (0.0, 0, 2.0)]
    alone = [explainer.explain(row) for row in rows]
    for n_jobs in (1, 2):
        batch = explainer.explain_batch(rows, n_jobs=n_jobs, progress=False)
        assert [weights_of(e) for e in batch] == [weights_of(e) for e in alone]


def test_a_spent_budget_says_so() -> None:
    n = 16
    domain = ax.Domain([ax.Real(f"x{i}", 0, 1) for i in range(n)]).where((feature("x0") < 0.5) | (feature("x1") > 0.5))
    model = LinearModel.of_columns(domain.unconstrained, [[1] * n], intercepts=[-n // 2], rule=Positive((0, 1)))
    x = dict.fromkeys(domain.names, 0.25)
    with pytest.raises(BudgetError, match="budget was spent"):
        ax.Explainer(model, domain, budget=ax.Budget(nodes=50), on_budget="raise").explain(x)
    whole = ax.Explainer(model, domain, weights="unit", max_size=7).explain(x)
    with pytest.warns(ax.errors.AxfiWarning, match="complete up to"):
        part = ax.Explainer(model, domain, weights="unit", budget=ax.Budget(nodes=20_000)).explain(x)
    assert part.radius is not None
    assert [c.features for c in part.cxps] == [c.features for c in whole.cxps if len(c.features) <= part.radius]


def test_the_engine_is_asked_for_single_sets_and_weights() -> None:
    judge = random_judge(Random("asked for sets"))
    engine = engine_for(restricted(judge.model, judge.domain), Similarity.of(judge.model, judge.delta))
    assert isinstance(engine, BoxedLinearEngine)
    codes = judge.domain.encode([judge.v])[0]
    for mask in range(1 << len(judge.v)):
        assert engine.is_weak_cxp(codes, mask) == judge.is_wcxp([i for i in range(len(judge.v)) if mask >> i & 1])


def test_three_classes_share_what_half_spaces_overlap() -> None:
    domain = ax.Domain([ax.Real("x", 0, 1), ax.Real("y", 0, 1)])
    rows = [[0, 0], [2, 0], [0, 2]]
    model = LinearModel.of_columns(domain, rows, intercepts=[1, 0, 0], rule=Argmax(("a", "b", "c")))
    e = ax.Explainer(model, domain.where((feature("x") <= 0.75) | (feature("y") <= 0.75))).explain((0, 0))
    assert {c.features: c.weight for c in e.cxps} == {("x",): Fraction(1, 2), ("y",): Fraction(1, 2)}


def test_a_cxp_without_a_probability_around_it_is_named() -> None:
    domain = REALS.where(feature("r").isin([0.25, 1]))
    with pytest.raises(DomainError, match="where only 'r' may change, have probability 0"):
        ax.Explainer(SUM, domain).explain((0.25, 0, 0.25))


def test_integers_of_many_values_take_no_time_that_nobody_gave() -> None:
    most = 900_000
    names = [ax.Integer("k", 0, most), ax.Real("x", 0, 1), ax.Integer("j", 0, most)]
    domain = ax.Domain(names).where((ax.feature("k") >= most // 4) | (ax.feature("x") <= 0.5))
    model = LinearModel.of_columns(domain, [[1, most, 1]], intercepts=[-2 * most], rule=Positive((0, 1)))
    at = {"k": most // 2, "x": 0.25, "j": most // 2}
    listed = PossibleCells.spans

    def spans(*arguments: Any, **options: Any) -> list[Any]:
        found = listed(*arguments, **options)
        assert len(found) < 10  # two of each cell
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PossibleCells, "spans", spans)
        e = ax.Explainer(model, domain, weights="unit").explain(at)
    assert [c.features for c in e.cxps] == [("k", "x"), ("k", "j"), ("x", "j")]
    with pytest.raises(BudgetError, match="budget was spent"):
        ax.Explainer(model, domain, budget=ax.Budget(seconds=0.05)).explain(at)


def test_counterfactuals_and_radii_keep_to_the_budget_where_integers_have_many_values() -> None:
    names = [ax.Integer("a", 0, 900_000), ax.Integer("b", 0, 900_000), ax.Real("r", 0, 1)]
    domain = ax.Domain(names).where("a <= 5 or r < 0.5")
    model = LinearModel.of_columns(domain, [[1, 1, 900_000]], intercepts=[-450_000], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, weights="unit", budget=ax.Budget(seconds=0.05)).explain([1, 1, 0.125])
    for asked in (e.counterfactual, lambda: e.critical_radius(e.cxps[0].features)):
        with pytest.raises(BudgetError) as caught:
            asked()
        assert caught.value.seconds < 5  # listing all values took 16 seconds and more
