"""The checker accepts what the engines say, and rejects whatever was altered, for every kind of model."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from random import Random
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import axfi_kc as ax
from axfi_kc.errors import ConstantModelError, DomainError, UnsupportedModelError
from axfi_kc.verification import Claim
from axfi_kc.verification.definitions import KINDS
from axfi_kc.verification.spaces import Space
from tests.support.alterations import NO_TIME, OF_THE_MODEL, OF_THE_REST, added, dropped, scored
from tests.support.kinds import DOMAIN, THREE, X
from tests.support.more_kinds import NAMES, kind
from tests.support.strategies import Case, cases


@pytest.mark.parametrize("name", NAMES)
def test_explanations_are_proved_and_whatever_is_altered_is_found(name: str) -> None:
    made = kind(name)
    claim = Claim.of(made.explain(0))
    assert set(claim.scores) == set(KINDS)
    for explained in (claim, made.explain(1)):
        report = ax.verify(explained, made.model)
        assert report.complete, str(report)
    for k, alter in enumerate(OF_THE_MODEL):
        report = ax.verify(alter(claim, Random(k)), made.model)
        assert not report.ok, f"{alter.__name__}: {report}"


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_altered_beside_the_model_is_found(name: str) -> None:
    made = kind(name)
    claim = Claim.of(made.explain(0))
    altered = claim
    for k, alter in enumerate(OF_THE_REST):
        altered = alter(altered, Random(k))
    report = ax.verify(altered, made.model, budget=NO_TIME)
    assert sorted(check.kind for check in report.failed) == ["float", "relevance", "size", "value"]
    altered = claim
    for which in KINDS:
        altered = scored(altered, Random(3), which)
    report = ax.verify(altered, made.model, budget=NO_TIME)
    assert [check.subject[0] for check in report.failed] == list(KINDS)  # one failure for each, and no other


@pytest.mark.parametrize("name", NAMES[::2])
def test_alterations_are_found_through_the_model_even_if_all_else_is_made_to_fit(name: str) -> None:
    made = kind(name)
    document = json.loads(made.explain(0).to_json())
    rng = Random(3)
    for alter in (_drop_entry, _add_entry, _change_weight):
        changed = json.loads(json.dumps(document))
        alter(changed, rng, made.domain.names)
        changed["axps"], changed["scores"] = None, {}  # then the reader derives both from the altered CXps
        saved = ax.SavedExplanation.from_dict(changed)
        report = ax.verify(saved, made.model)
        assert not report.ok, f"{alter.__name__}: {report}"
        assert all(check.status == "proved" for check in report.checks if check.kind in ("score", "relevance"))


def _drop_entry(document: Any, rng: Random, names: tuple[str, ...]) -> None:
    document["cxps"].pop(rng.randrange(len(document["cxps"])))


def _add_entry(document: Any, rng: Random, names: tuple[str, ...]) -> None:
    known = [set(entry["features"]) for entry in document["cxps"]]
    while True:
        extra = sorted(rng.sample(names, rng.randint(1, len(names))), key=names.index)
        if set(extra) not in known:
            document["cxps"].append({"features": extra, "weight": "1/4"})
            return


def _change_weight(document: Any, rng: Random, names: tuple[str, ...]) -> None:
    entry = rng.choice(document["cxps"])
    entry["weight"] = "1/1000003"


@settings(max_examples=40, deadline=None)
@given(cases)
def test_random_problems_are_proved_and_no_alteration_passes(case: Case) -> None:
    problem = case.problem
    try:
        explainer = ax.Explainer(problem.model, problem.domain, delta=problem.similarity.delta)
        claim = Claim.of(explainer.explain(problem.instance))
    except ConstantModelError:
        assume(False)
    report = ax.verify(claim, problem.model)
    assert report.complete, str(report)
    for k, alter in enumerate((*OF_THE_MODEL, *OF_THE_REST, scored) if claim.cxps else (added, scored)):
        assert not ax.verify(alter(claim, Random(k)), problem.model).ok, alter.__name__


@pytest.mark.parametrize("name", ["tree", "xgboost", "linear", "circuit", "table"])
def test_another_prediction_is_found(name: str) -> None:
    made = kind(name)
    claim = Claim.of(made.explain(0))
    other: Any = 17 if claim.delta is not None else "nothing"
    assert not ax.verify(replace(claim, prediction=other), made.model).ok


def test_an_explanation_of_another_model_is_found() -> None:
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=3, random_state=4)
    assert not ax.verify(kind("tree").explain(0), tree.fit(X[:60], THREE[:60])).ok


@pytest.mark.parametrize("weights", ["count", "unit"])
@pytest.mark.parametrize("name", ["function", "table", "circuit", "one-hot linear"])
def test_counts_and_units(name: str, weights: str) -> None:
    made = kind(name)
    claim = Claim.of(made.explain(0, weights=weights))
    report = ax.verify(claim, made.model)
    assert report.complete, str(report)
    cxp = next(iter(claim.cxps))
    assert not ax.verify(replace(claim, cxps={**claim.cxps, cxp: claim.cxps[cxp] + 1}), made.model).ok


@pytest.mark.parametrize("name", ["function", "tree", "forest", "xgboost", "linear"])
def test_bounded_sizes(name: str) -> None:
    made = kind(name)
    claim = Claim.of(made.explain(0, max_size=2))
    report = ax.verify(claim, made.model)
    assert report.complete, str(report)
    assert {"minimality", "completeness"} <= {check.kind for check in report.checks}
    for seed in range(3):
        assert not ax.verify(dropped(claim, Random(seed)), made.model).ok
        larger = {c | {n} for c in claim.cxps for n in claim.domain.names if n not in c}
        extra = Random(seed).choice(sorted(larger - claim.cxps.keys(), key=sorted))
        assert not ax.verify(replace(claim, cxps={**claim.cxps, extra: Fraction(1, 2)}), made.model).ok


def test_measures_and_single_points() -> None:
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, THREE)
    domain = ax.Domain.from_data(X, integer=["x2", "x3"], measures="empirical")
    report = ax.verify(ax.Explainer(tree, domain).explain(X[0]), tree)
    assert report.complete, str(report)
    linear = pytest.importorskip("sklearn.linear_model").LogisticRegression().fit(X, THREE > 1)
    report = ax.verify(ax.Explainer(linear, domain).explain(X[0]), linear)
    assert report.complete, str(report)


def test_what_is_too_large_is_sampled_and_gross_changes_are_still_found() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    model = linear.LogisticRegression().fit(X, THREE)  # unions of half-spaces are not computed
    claim = Claim.of(ax.Explainer(model, DOMAIN).explain(X[0]))
    report = ax.verify(claim, model)
    assert report.ok, str(report)
    for check in report.sampled:
        assert check.kind == "weight"
        assert check.points > 0
        assert "probability" in check.detail
    hidden = _Hidden(kind("forest").model)
    claim = Claim.of(kind("forest").explain(0))
    report = ax.verify(claim, hidden)
    assert report.ok
    assert not report.complete
    assert report.reading == "predict alone"
    heaviest = max(claim.cxps, key=claim.cxps.__getitem__)
    assert not ax.verify(replace(claim, cxps={**claim.cxps, heaviest: Fraction(0)}), hidden).ok


class _Hidden:
    """A model of which nothing but predict is known."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, table: Any) -> Any:
        return self._model.predict(table)


def test_budgets_end_checks_as_sampled() -> None:
    made = kind("forest")
    claim = Claim.of(made.explain(0))
    few = ax.verify(claim, made.model, budget=ax.Budget(nodes=3))
    assert few.ok
    assert few.sampled
    late = ax.verify(claim, made.model, budget=ax.Budget(seconds=1e-6))
    assert late.ok
    assert late.sampled


def test_seconds_are_kept_by_large_models() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 12))
    model = ensemble.RandomForestClassifier(30, max_depth=7, random_state=0, n_jobs=1)
    model.fit(table, (table[:, :4].sum(axis=1) + table[:, 5] * table[:, 6] > 0).astype(int))
    claim = Claim.of(ax.Explainer(model, ax.Domain.from_data(table), max_size=2).explain(table[0]))
    start = process_time()
    report = ax.verify(claim, model, budget=ax.Budget(seconds=1.0))
    assert process_time() - start < 5
    assert report.ok
    assert ax.verify(claim, model, budget=ax.Budget(seconds=0.02)).sampled


def test_no_points_are_made_after_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kind("table")
    claim = Claim.of(made.explain(0))
    asked = list[Any]()
    monkeypatch.setattr(Space, "blocks", lambda _, free: asked.append(free) or iter(()))
    report = ax.verify(claim, made.model, budget=ax.Budget(seconds=1e-9))
    assert report.ok
    assert not asked
    assert claim.codes is claim.codes  # encoded once


def test_a_dump_that_disagrees_with_predict_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kind("boosted")
    claim = Claim.of(made.explain(0))
    monkeypatch.setattr(
        "axfi_kc.verification.reading.sklearn.single_precision", lambda t, strict: (Fraction(t) + 1, True)
    )
    report = ax.verify(claim, made.model)
    assert report.reading == "predict alone"
    assert report.ok


def test_reports() -> None:
    made = kind("function")
    report = ax.verify(made.explain(0), made.model)
    document = json.loads(json.dumps(report.to_dict()))
    assert document["ok"]
    assert document["proved"] == len(report.checks) == len(document["checks"])
    assert "proved" in repr(report)
    assert "cxp: " in str(report)
    failed = ax.verify(scored(Claim.of(made.explain(0)), Random(0)), made.model)
    assert "failed: score" in str(failed)
    assert repr(failed).startswith("<Report: failed")


def test_what_is_no_explanation_or_no_model() -> None:
    made = kind("function")
    with pytest.raises(DomainError, match="Expected an explanation"):
        ax.verify({"cxps": []}, made.model)
    with pytest.raises(UnsupportedModelError, match="predict"):
        ax.verify(made.explain(0), 3)


def test_frames_are_predicted_as_frames() -> None:
    pd = pytest.importorskip("pandas")
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier(max_depth=3, random_state=0)
    table = pd.DataFrame(X, columns=list("pqrs")).astype({"r": int, "s": int})
    tree.fit(table, THREE)
    explainer = ax.Explainer(tree, ax.Domain.from_data(table))
    assert ax.verify(explainer.explain(table.iloc[0]), tree).complete


def test_the_models_own_predict_is_asked() -> None:
    made = kind("tree")
    asked: list[int] = []

    class Counting(type(made.model)):  # type: ignore[misc]
        def predict(self, table: Any) -> Any:
            asked.append(len(np.asarray(table)))
            return super().predict(table)

    model = Counting(max_depth=4, random_state=0).fit(X, THREE)
    assert ax.verify(made.explain(0), model).ok
    assert sum(asked) > 1
