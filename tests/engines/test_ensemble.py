"""The engine for sums of trees: budgets, many features, fine leaves, and resuming."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import budget as budgets
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import BudgetError, ConstantModelError, DomainError, IncompleteError, UnsupportedModelError
from axfi_kc.families.masks import minimal_hitting_sets, minimal_sets
from axfi_kc.models import Argmax, Positive, Score, TreeNodes, TreeSum
from tests.support.gadgets import gadget_domain, gadget_tree
from tests.support.oracle import Judge, space_of
from tests.support.small_trees import nodes_of


def stump(column: int, low: float, high: float) -> TreeNodes:
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    splits = [Cut(0.5, closed=True), None, None]
    return TreeNodes(np.array([column, -1, -1]), splits, *children, np.array([[0.0], [low], [high]]))


def counter(m: int, threshold: int, unit: float = 1.0) -> tuple[TreeSum, ax.Domain]:
    """Positive iff at least `threshold` of m Boolean features are 1."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(m)])
    trees = [stump(i, 0.0, unit) for i in range(m)]
    base = [Fraction(unit) * (1 - 2 * threshold) / 2]
    return TreeSum.of(domain, trees, rule=Positive((False, True)), base=base), domain


def test_more_than_64_features() -> None:
    model, domain = counter(70, 3)
    e = ax.Explainer(model, domain, weights="count").explain([0] * 70)
    assert len(e.cxps) == math.comb(70, 3)
    assert e.cxps[0].features == ("f0", "f1", "f2")
    assert {c.weight for c in e.cxps} == {1}
    assert set(e.scores("shapley").values()) == {Fraction(math.comb(69, 2), 3 * math.comb(70, 3))}


@pytest.mark.parametrize("unit", [1.0, 2.0**-300, 1e200])
def test_leaves_of_any_magnitude(unit: float) -> None:
    model, domain = counter(6, 3, unit)
    assert len(ax.Explainer(model, domain).explain([0] * 6).cxps) == math.comb(6, 3)


@pytest.mark.parametrize("n_trees", [4000, 9000])
def test_sums_of_thousands_of_wide_leaves_are_right_or_refused(n_trees: int) -> None:
    """Each leaf fits the first limb, but 9,000 of them together do not fit an int64."""
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    model = TreeSum.of(domain, [stump(0, 0.0, 2.0**49 - 1)] * n_trees, rule=Positive((0, 1)))
    assert model.predict([[0], [1]]) == [0, 1]
    if n_trees == 4000:
        assert [c.features for c in ax.Explainer(model, domain).explain([0]).cxps] == [("a",)]
        return
    with pytest.raises(UnsupportedModelError, match="at most 1999 trees, but the model has 9000"):
        ax.Explainer(model, domain).explain([0])


@pytest.mark.parametrize("unit", [1.0, 2.0**-300])
@pytest.mark.parametrize("target", ["auto", "mdd"])
def test_a_closed_rule_gives_zero_to_the_second_class(unit: float, target: str) -> None:
    """At least, and not more than, 2 of 4 features: the sum is exactly zero at the border."""
    domain = ax.Domain([ax.Integer(f"f{i}", 0, 1) for i in range(4)])
    trees, base = [stump(i, 0.0, unit) for i in range(4)], [-2 * Fraction(unit)]
    model = TreeSum.of(domain, trees, rule=Positive(("no", "yes"), closed=True), base=base)
    assert model.predict(list(domain.points())) == ["yes" if sum(p) >= 2 else "no" for p in domain.points()]
    for v in domain.points():
        judge = Judge(space_of(domain), lambda p: sum(p) >= 2, v)
        found = ax.Explainer(model, domain, target=target).explain(v).cxps
        assert {frozenset(int(name[1]) for name in c.features): c.weight for c in found} == {
            Y: judge.ratio(Y) for Y in judge.cxps()
        }


def test_a_difference_far_below_double_precision_decides() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    trees = [stump(0, 1.0, -1.0), stump(1, -1.0, 1.0), stump(0, 0.0, 2.0**-900)]
    e = ax.Explainer(TreeSum.of(domain, trees, rule=Positive((0, 1))), domain).explain([0, 0])
    assert e.prediction == 0
    # a=0,b=0 gives 0; b alone gives 2; a alone gives -2 + tiny; both give tiny > 0
    assert [c.features for c in e.cxps] == [("b",)]
    e = ax.Explainer(TreeSum.of(domain, trees, rule=Positive((0, 1))), domain).explain([1, 1])
    assert e.prediction == 1


@pytest.mark.parametrize("limit", [{"nodes": 50}, {"nodes": 5000}, {"seconds": 0.02}])
def test_a_spent_budget_carries_certified_cxps(limit) -> None:
    model, domain = counter(60, 4)
    with pytest.raises(BudgetError, match="allow more, or set max_size") as caught:
        ax.Explainer(model, domain, budget=ax.Budget(**limit), on_budget="raise").explain([0] * 60)
    assert all(len(c) == 4 for c in caught.value.cxps)
    assert caught.value.nodes <= limit.get("nodes", math.inf)
    assert caught.value.seconds < 5


def test_a_spent_budget_for_axps_carries_certified_axps() -> None:
    explainer = ax.Explainer(gadget_tree(12), gadget_domain(12), budget=ax.Budget(nodes=1000))
    e = explainer.explain([1] * 36)
    with pytest.raises(BudgetError, match="AXps found") as caught:
        _ = e.axps
    assert caught.value.cxps == tuple(c.features for c in e.cxps)
    assert 0 < len(caught.value.axps) < 2**12
    assert all(set(a) & set(c) for a in caught.value.axps for c in caught.value.cxps)


@pytest.mark.parametrize("limit", [{"seconds": 0}, {"nodes": -1}, {"seconds": math.nan}])
def test_budgets_are_positive(limit) -> None:
    with pytest.raises(DomainError, match="must be above 0"):
        ax.Budget(**limit)


def test_stopping_after_every_node_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model, domain = counter(7, 3)
    expected = ax.Explainer(model, domain).explain([0] * 7)
    monkeypatch.setattr(budgets, "_CHUNK", 1)
    found = ax.Explainer(model, domain).explain([0] * 7)
    assert found.cxps == expected.cxps
    assert found.axps == expected.axps
    assert found.nodes == expected.nodes


def test_max_size() -> None:
    model, domain = counter(12, 3)
    e = ax.Explainer(model, domain, max_size=2).explain([0] * 12)
    assert e.cxps == ()
    with pytest.raises(IncompleteError):
        _ = e.axps
    assert ax.Explainer(model, domain, max_size=12).explain([0] * 12).axps


def test_constant_ensembles() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    flat = [stump(0, 1.0, 1.0), stump(0, 2.0, 2.0)]
    for rule in (Positive((0, 1)), Score()):
        with pytest.raises(ConstantModelError):
            ax.Explainer(TreeSum.of(domain, flat, rule=rule), domain, delta=0 if isinstance(rule, Score) else None)


def test_an_ensemble_that_never_changes_class() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    model = TreeSum.of(domain, [stump(0, 1.0, 2.0), stump(1, 1.0, 2.0)], rule=Positive((0, 1)))
    with pytest.raises(ConstantModelError, match="1 everywhere"):
        ax.Explainer(model, domain).explain([0, 0])


def test_ties_follow_the_lowest_index() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    vectors = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    tree = TreeNodes(np.array([0, -1, -1]), [Cut(0.5, closed=True), None, None], np.array([1, -1, -1]),
                     np.array([2, -1, -1]), vectors)  # fmt: skip
    model = TreeSum.of(domain, [tree, tree], rule=Argmax(("first", "second")))
    assert model.predict([[0], [1]]) == ["first", "second"]
    assert [c.features for c in ax.Explainer(model, domain).explain([1]).cxps] == [("a",)]


def test_hitting_sets_are_an_involution() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        sets = minimal_sets(int(x) for x in rng.integers(1, 2**12, rng.integers(1, 12)))
        assert minimal_hitting_sets(minimal_hitting_sets(sets)) == sets
    assert minimal_hitting_sets([]) == [0]
    assert minimal_hitting_sets([0]) == []


def test_many_threads_share_an_explainer() -> None:
    model, domain = counter(9, 4)
    explainer = ax.Explainer(model, domain)
    expected = explainer.explain([0] * 9).cxps
    found = []
    threads = [threading.Thread(target=lambda: found.append(explainer.explain([0] * 9).cxps)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [expected] * 8


def test_hash_seed_does_not_matter() -> None:
    code = (
        "from tests.engines.test_ensemble import counter\n"
        "import axfi_kc as ax\n"
        "model, domain = counter(8, 3)\n"
        "e = ax.Explainer(model, domain).explain([0, 1, 0, 0, 0, 0, 0, 0])\n"
        "print(e.cxps, e.axps, e.nodes)\n"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True,
                       check=True, text=True).stdout
        for seed in ("0", "1")
    }  # fmt: skip
    assert len(runs) == 1


@pytest.mark.parametrize("scale", [Fraction(-2), Fraction(-1, 3), Fraction(5)])
def test_a_regression_may_have_a_negative_scale(scale: Fraction) -> None:
    domain = ax.Domain([ax.Integer(name, 0, 2) for name in "ab"])
    model = TreeSum.of(domain, [nodes_of((0, 0.5, 0, 3)), nodes_of((1, 1.5, 0, -2))], rule=Score(scale))
    points = list(product(range(3), repeat=2))
    outputs = model.outputs_at(np.array(points, float))
    for place, own in zip(points, outputs, strict=True):
        far = [q for q, output in zip(points, outputs, strict=True) if abs(output - own) > 2 * abs(scale)]
        sets = {frozenset(n for n, x, y in zip("ab", place, q, strict=True) if x != y) for q in far}
        found = ax.Explainer(model, domain, delta=2 * abs(scale)).explain(place).cxps
        assert {frozenset(c.features) for c in found} == {s for s in sets if not any(t < s for t in sets)}
