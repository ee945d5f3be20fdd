"""Why not b? Against listings of all points, through every engine, target and door."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.cli.main import main
from axfi_kc.engines.linear.programs import can_all_be_positive
from axfi_kc.errors import DomainError, ResultFileError, SimilarityError, UnsupportedModelError
from axfi_kc.explanations.page import report_html
from axfi_kc.explanations.problem import Problem
from axfi_kc.models import Argmax
from axfi_kc.verification.linear_proofs import solution
from axfi_kc.verification.report import Allowance
from tests.engines.test_possible import rows_of
from tests.explanations.test_chances import WAYS, random_joint
from tests.support.linear_judge import ClassJudge
from tests.support.random_constraints import random_constrained
from tests.support.random_problems import KINDS, Truth, random_plane, random_truth

TARGETS = ("auto", "auto", "mdd", "obdd", "sdd", "ddnnf")


def asked(rng: Random, kind: str, *, constrained: bool = False) -> Truth:
    """Return a classifier that is asked about a random one of its classes, and not where it gives that."""
    while True:
        make = random_constrained if constrained else random_truth
        truth = make(rng, kind, n_instances=3)
        labels = sorted({y for _, y in truth.existing}, key=str) if truth.delta is None else []
        if len(labels) < 2 or (len(labels) == 2 and rng.random() < 0.97):
            continue
        made = replace(truth, toward=rng.choice(labels))
        kept = [v for v in made.instances if made.output(v) != made.toward and made.has_ratios(v)]
        if kept:
            return replace(made, instances=kept)


def explained(truth: Truth, **options: Any) -> list[Any]:
    explainer = ax.Explainer(truth.model, truth.domain, toward=truth.toward, **options)
    return [explainer.explain(row) for row in rows_of(truth)]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "circuit"])
def test_cxps_toward_a_class_are_what_the_listing_says(kind: str, constrained: bool) -> None:
    rng, several = Random(f"toward {kind} {constrained}"), 0
    for _ in range(12):
        truth = asked(rng, kind, constrained=constrained)
        several += len(set(truth.outputs)) > 2
        weights = rng.choice(("ratio", "unit", *(["count"] if truth.is_finite else [])))
        size = rng.choice((None, None, 1, 2))
        for v, e in zip(
            truth.instances, explained(truth, target=rng.choice(TARGETS), weights=weights, max_size=size), strict=True
        ):
            wanted = truth.answer(v).weights(weights)
            found = {truth.domain.mask(c.features): c.weight for c in e.cxps}
            assert found == {Y: w for Y, w in wanted.items() if size is None or Y.bit_count() <= size}
            assert e.toward == truth.toward
            if size is None:
                assert sorted(truth.domain.mask(a.features) for a in e.axps) == sorted(truth.answer(v).axps)
    assert several >= 5


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["table", "tree", "ensemble", "classes"])
def test_under_joint_distributions(kind: str, way: str) -> None:
    rng, checked = Random(f"toward {kind} {way}"), 0
    while checked < 6:
        truth = random_joint(rng, kind, way)
        labels = sorted(set(truth.outputs), key=str)
        if truth.delta is not None or len(labels) < 2:
            continue
        made = replace(truth, toward=rng.choice(labels))
        kept = [v for v in made.instances if made.output(v) != made.toward and made.has_ratios(v)]
        made = replace(made, instances=kept)
        domain = made.domain.with_distribution(None) if way == "measures" else made.domain
        for v, row in zip(kept, rows_of(made), strict=True):
            e = ax.Explainer(made.model, domain, toward=made.toward).explain(row)
            assert {made.domain.mask(c.features): c.weight for c in e.cxps} == made.answer(v).ratios
            checked += 1


def test_linear_models_over_real_features() -> None:
    rng, checked = Random("toward a plane"), 0
    while checked < 60:
        model, v, _ = random_plane(rng)
        if not isinstance(model.rule, Argmax):
            continue
        point = dict(zip(model.domain.names, v, strict=True))
        here = model.predict([point])[0]
        judge = ClassJudge(model, v, toward=rng.choice([y for y in "abc" if y != here]))
        e = ax.Explainer(model, model.domain, toward=judge.toward).explain(point)
        found = {frozenset(map(model.domain.index, c.features)): c.weight for c in e.cxps}
        assert found == {Y: judge.ratio(Y) for Y in judge.cxps()}
        assert ax.verify(e, model).ok
        checked += 1


def test_systems_of_inequalities_by_two_methods() -> None:
    rng, both = Random("inequalities"), set()
    for _ in range(400):
        n, k = rng.randint(1, 3), rng.randint(1, 4)
        constants = [Fraction(rng.randint(-3, 3), 2) for _ in range(k)]
        steps = [[Fraction(rng.randint(-2, 2)) for _ in range(n)] for _ in range(k)]
        strict = [rng.random() < 0.5 for _ in range(k)]
        rows = [(tuple(-s for s in row), c, st) for row, c, st in zip(steps, constants, strict, strict=True)]
        point = solution(rows, n, Allowance.of(None))
        assert can_all_be_positive(constants, steps, strict) == (point is not None)
        both.add(point is None)
        if point is not None:
            totals = [
                c + sum(s * u for s, u in zip(row, point, strict=True)) for c, row in zip(constants, steps, strict=True)
            ]
            assert all(t > 0 or (t == 0 and not st) for t, st in zip(totals, strict, strict=True))
            assert all(0 <= u <= 1 for u in point)
    assert both == {True, False}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "circuit"])
def test_counterfactuals_have_the_class_and_verify_agrees(kind: str) -> None:
    rng = Random(f"toward, verified {kind}")
    for _ in range(4):
        truth = asked(rng, kind, constrained=rng.random() < 0.3)
        for e in explained(truth):
            report = ax.verify(e, truth.model)
            assert report.ok, report
            others = [y for y in set(truth.outputs) if y not in (truth.toward, e.prediction)]
            for cxp in e.cxps[:3]:
                assert e.counterfactual(cxp).output == truth.toward
                assert not cxp.weight or e.counterfactual(cxp, seed=1).output == truth.toward
            if e.cxps:
                assert e.counterfactual().output == truth.toward
            if others:  # a document that says another class is about other CXps, unless these happen to be the same
                told = ax.Explanation.from_json(json.dumps({**json.loads(e.to_json()), "toward": others[0]}))
                right = ax.Explainer(truth.model, truth.domain, toward=others[0]).explain(e.instance)
                assert ax.verify(told, truth.model).ok == (right.cxps == e.cxps)


IRIS = load_iris(as_frame=True)
X = IRIS.data.round(1)
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "linear": LogisticRegression(max_iter=500),
}
NAMES = ["setosa", "versicolor", "virginica"]


def iris(kind: str, **options: Any) -> ax.Explainer:
    return ax.Explainer(MODELS[kind].fit(X, IRIS.target), ax.Domain.from_data(X), class_names=NAMES, **options)


@pytest.mark.parametrize("kind", MODELS)
def test_every_door(kind: str, tmp_path: Path) -> None:
    made = iris(kind, toward="virginica")
    rows = X.iloc[[0, 60, 130, 40, 75]]  # the third is a virginica
    assert made.toward == 2 == made.get_params()["toward"]
    with pytest.raises(DomainError, match="Row 130: The model gives 2 at this instance"):
        made.explain_batch(rows)
    batch = made.explain_batch(rows, on_error="skip")
    alone = [iris(kind).explain(rows.iloc[[k]], toward=2) for k in (0, 1, 3, 4)]
    assert list(batch.skipped) == [130]
    assert batch.toward == 2
    assert [e.cxps for e in batch] == [e.cxps for e in alone] == [made.explain(e.instance).cxps for e in alone]
    for suffix in ("jsonl", "parquet"):
        path = tmp_path / f"out.{suffix}"
        saved = made.explain_to(path, rows, on_error="skip")
        assert saved.toward == 2
        assert [(e.toward, e.cxps) for e in saved] == [(2, e.cxps) for e in alone]
        with pytest.raises(ResultFileError, match="another model, domain, options or data"):
            iris(kind, toward=1).explain_to(path, rows, on_error="skip")
        assert "why not virginica?" in report_html(saved)
    text = alone[1].to_json()
    assert ax.Explanation.from_json(text, model=made.model).to_json() == text
    assert "lead to virginica" in report_html(alone[1])
    with pytest.raises(ResultFileError, match="another class than the prediction"):
        ax.Explanation.from_json(json.dumps({**json.loads(text), "toward": alone[1].prediction}))


def test_all_classes_together_are_every_change() -> None:
    explainer = iris("tree")
    for k in range(0, 150, 10):
        e = explainer.explain(X.iloc[[k]])
        toward = [explainer.explain(X.iloc[[k]], toward=y) for y in range(3) if y != e.prediction]
        sets = [set(c.features) for t in toward for c in t.cxps]
        minimal = {frozenset(s) for s in sets if not any(t < s for t in sets)}
        assert minimal == {frozenset(c.features) for c in e.cxps}


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(MODELS["tree"].fit(X, IRIS.target), tmp_path / "tree.skops")
    X.to_csv(tmp_path / "data.csv", index=False)
    given = [str(tmp_path / "tree.skops"), str(tmp_path / "data.csv"), "--row", "0", "--toward", "2"]
    assert main(["explain", *given]) == 0
    out = capsys.readouterr().out
    assert "why not 2?" in out
    assert "the output can be that class" in out
    assert "never that class" in out
    assert main(["explain", *given, "--json"]) == 0
    found = capsys.readouterr().out
    assert json.loads(found)["toward"] == 2
    (tmp_path / "e.json").write_text(json.dumps({k: v for k, v in json.loads(found).items() if k != "counterfactuals"}))
    assert main(["verify", str(tmp_path / "e.json"), given[0]]) == 0
    assert main(["explain", *given[:-1], "9"]) != 0
    assert "one of the model's classes" in capsys.readouterr().err
    assert main(["explain", *given, "--class-names", "0=2", "1=one", "2=two"]) != 0
    assert "'2' means two: that with the label 2 and that with the label 0, whose name" in capsys.readouterr().err
    assert main(["explain", *given, "--class-names", "0=zero", "1=one", "2=two"]) == 0


def test_bad_questions() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3)])
    with pytest.raises(SimilarityError, match="but 'w' was given"):
        ax.Explainer(lambda p: "xyz"[min(p[0], 2)], domain, toward="w")
    with pytest.raises(SimilarityError, match="the model is a regression"):
        ax.Explainer(lambda p: p[0], domain, delta=1, toward=2)
    with pytest.raises(DomainError, match="ask toward another class"):
        ax.Explainer(lambda p: "xyz"[min(p[0], 2)], domain, toward="x").explain([0])
    with pytest.raises(DomainError, match="ask toward another class"):
        ax.radius_path(ax.Explainer(lambda p: "xyz"[min(p[0], 2)], domain, toward="x"), [0])
    with pytest.raises(DomainError, match="ask toward another class"):
        ax.Explainer(lambda p: "xyz"[min(p[0], 2)], domain).explain([0], toward="x", within=ax.Region(radius=1))
    with pytest.raises(DomainError, match="ask toward another class"):
        Problem.of(lambda p: "xyz"[min(p[0], 2)], domain, [0], toward="x")  # and so no critical radius of it
    e = iris("linear").explain(X.iloc[[0]], toward=1)
    with pytest.raises(UnsupportedModelError, match="Toward one class of several"):
        e.counterfactual()


def test_a_class_out_of_reach_is_an_answer() -> None:
    explainer = ax.Explainer(lambda p: "xyz"[min(p)], ax.Domain([ax.Integer(n, 0, 2) for n in "ab"]), toward="z")
    e = explainer.explain([0, 2], within=ax.Region(frozen=["a"]))
    assert e.cxps == ()
    assert [a.features for a in e.axps] == [()]
    assert "Nothing within reach leads to z" in report_html(e)


def test_among_rows() -> None:
    rows, outputs = [[0, 0], [0, 1], [1, 0], [1, 1]], ["a", "b", "c", "b"]
    assert [c.features for c in ax.explain_among(rows, outputs, [0, 0], toward="b").cxps] == [("x1",)]
    assert [c.features for c in ax.explain_among(rows, outputs, [0, 0]).cxps] == [("x0",), ("x1",)]
    with pytest.raises(DomainError, match="ask toward another class"):
        ax.explain_among(rows, outputs, [0, 0], toward="a")


def test_rounding_moves_ties_of_the_class() -> None:
    for kind in ("forest", "linear"):
        assert iris(kind).explain(X.iloc[[0]], toward=1).rounding.sets_hold


def test_budgets_end_at_a_radius() -> None:
    frame = pd.DataFrame(X)
    made = iris("forest", toward=2, budget=ax.Budget(nodes=50))
    with pytest.warns(ax.AxfiWarning, match="complete up to"):
        e = made.explain(frame.iloc[[0]])
    whole = iris("forest", toward=2).explain(frame.iloc[[0]])
    assert e.cxps == tuple(c for c in whole.cxps if len(c.features) <= e.radius)
