"""What the library's rounding could change is bounded, and the bound covers what a float32 sum does change."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.domain.grid import Cut
from axfi_kc.errors import AxfiError, ConstantModelError, RoundingError
from axfi_kc.models import Argmax, LinearModel, Positive, Score, Slope, TreeNodes, TreeSum
from tests.support.kinds import NAMES, X, kind

DOMAIN = ax.Domain([ax.Integer(name, 0, 2) for name in "abc"])
SIZES = [1.0, -1.0, 2.0**-24, -(2.0**-24), 3 * 2.0**-25, -0.5, 0.75, 2.0**-10, -(2.0**-10), 2.0**24, -(2.0**24)]


@pytest.mark.parametrize("name", NAMES)
def test_zero_in_practice(name: str) -> None:
    made = kind(name)
    for number in range(2):
        rounding = made.explain(number).rounding
        assert rounding.sets_hold
        if "linear" in name:  # a slab around the boundary always has some volume
            assert rounding.most < Fraction(1, 10**12)
        else:
            assert rounding.is_zero, str(rounding)


def stump(rng: np.random.Generator, n_scores: int) -> TreeNodes:
    values = np.zeros((3, n_scores))
    values[1:, rng.integers(n_scores)] = rng.choice(SIZES, 2)
    cut = Cut(float(rng.integers(0, 2)), closed=True)
    return TreeNodes(
        np.array([rng.integers(0, 3), -1, -1]), [cut, None, None], np.array([1, -1, -1]), np.array([2, -1, -1]), values
    )


def float_output(model: TreeSum, trees: list[TreeNodes], x: tuple[int, ...]) -> Any:
    """Add in float32, one tree after the other, as the library does."""
    totals = np.array([float(b) for b in model.base], dtype=np.float32)
    for tree in trees:
        node = 1 if x[int(tree.column[0])] <= tree.splits[0].value else 2  # type: ignore[union-attr]
        totals = totals + tree.values[node].astype(np.float32)
    if isinstance(model.rule, Argmax):
        return model.rule.labels[int(np.argmax(totals))]
    if isinstance(model.rule, Positive):
        return model.rule.labels[int(totals[0] > 0)]
    return Fraction(float(totals[0]))


@pytest.mark.parametrize("rule", ["sign", "classes", "regression"])
def test_the_bound_covers_what_single_precision_changes(rule: str) -> None:
    changed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n_scores = 3 if rule == "classes" else 1
        trees = [stump(rng, n_scores) for _ in range(4)]
        rules = {"sign": Positive((0, 1)), "classes": Argmax((0, 1, 2)), "regression": Score()}
        model = TreeSum.of(DOMAIN, trees, rule=rules[rule])
        delta = Fraction(1, 2) if rule == "regression" else None
        v = tuple(int(k) for k in rng.integers(0, 3, 3))
        try:
            e = ax.Explainer(model, DOMAIN, delta=delta).explain(v)
        except ConstantModelError:
            continue
        own = float_output(model, trees, v)
        if delta is None and own != e.prediction:
            assert not e.rounding.sets_hold  # the instance itself is within the error of a tie
            continue
        for cxp in e.cxps:
            box = product(*(range(3) if n in cxp.features else (x,) for n, x in zip("abc", v, strict=True)))
            wrong = [x for x in box if differs(model, trees, x, own, delta) != e.problem.is_dissimilar(exact(model, x))]
            changed += bool(wrong)
            assert Fraction(len(wrong), 3 ** len(cxp.features)) <= e.rounding.affected[cxp.features]
    assert changed > 0  # the cases do contain sums that float32 gets wrong


def exact(model: TreeSum, x: tuple[int, ...]) -> Any:
    return model.predict([x])[0]


def differs(model: TreeSum, trees: list[TreeNodes], x: tuple[int, ...], own: Any, delta: Fraction | None) -> bool:
    output = float_output(model, trees, x)
    return output != own if delta is None else abs(output - own) > delta


def test_the_error_bounds_the_librarys_own_sums() -> None:
    made = kind("xgboost")
    model = ax.read_model(made.model, made.domain)
    margins = made.model.predict(X, output_margin=True).astype(np.float64)
    scores = [row[0] for row in model.scores_at(made.domain.encode(X))]
    worst = max(abs(Fraction(float(m)) - s) for m, s in zip(margins, scores, strict=True))
    assert 0 < worst <= model.rounding_error < Fraction(1, 1000)


def test_votes_of_pure_leaves_are_exact() -> None:
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier(4, random_state=0)
    forest.fit(X[:60], (X[:60, 0] > 0).astype(int))
    assert ax.read_model(forest, kind("tree").domain).rounding_error == 0


def test_too_many_cxps_are_refused() -> None:
    n = 24
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(n)])
    model = LinearModel.of(domain, [Slope((1,))] * n, base=[-n // 2 - 0.5], rule=Positive((0, 1)))
    e = ax.Explainer(model, domain, target="mdd").explain([1] * n)
    with pytest.raises(AxfiError, match="CXp by CXp"):
        _ = e.rounding


def test_predict_is_asked_about_the_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kind("forest")
    explainer = ax.Explainer(made.model, made.domain)
    asked: list[int] = []
    kept = type(made.model).predict

    def lying(self: Any, table: Any) -> Any:
        asked.append(len(table))
        return (kept(self, table) + 1) % 3

    monkeypatch.setattr(type(made.model), "predict", lying)
    for ask in (lambda: explainer.explain(X[0]), lambda: explainer.explain_batch(X[:5])):
        with pytest.raises(RoundingError, match="predict should give the exact output"):
            ask()
    assert asked == [1, 5]


def test_a_tie_that_single_precision_breaks_is_an_error() -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.train(
        {
            "objective": "binary:logistic",
            "max_depth": 1,
            "base_score": 0.5,
            "min_child_weight": 0,
            "eta": 0.1,
            "nthread": 1,
        },
        xgboost.DMatrix(np.array([[0.0], [1.0]] * 4), label=np.array([0, 1] * 4)),
        num_boost_round=3,
    )
    document = json.loads(bytes(booster.save_raw("json")))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    for tree, (low, high) in zip(trees, [(2.0**25, -1.0), (1.0, 0.0), (-(2.0**25), 0.0)], strict=True):
        leaves = [k for k, left in enumerate(tree["left_children"]) if left < 0]
        for leaf, value in zip(leaves, (low, high), strict=True):
            tree["split_conditions"][leaf] = tree["base_weights"][leaf] = value
    changed = xgboost.Booster(model_file=bytearray(json.dumps(document).encode()))
    domain = ax.Domain([ax.Real("x", 0, 1)])
    left = [[0.0]]
    assert ax.read_model(changed, domain).predict(left) == [1]  # exactly 1 is above 0
    assert changed.predict(xgboost.DMatrix(np.array(left)))[0] == 0.5  # but float32 loses it
    with pytest.raises(RoundingError, match="gives 0"):
        ax.Explainer(changed, domain).explain(left[0])
    assert ax.Explainer(ax.read_model(changed, domain), domain).explain(left[0]).rounding.is_zero is False
