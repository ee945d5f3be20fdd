"""The checker among points that can exist, and within regions: what is true is proved, what was altered is refuted."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.cli.main import main
from axfi_kc.domain.constraints import All
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import AxfiError, DomainError, ResultFileError
from axfi_kc.models import LinearModel, Positive
from axfi_kc.verification import Claim
from axfi_kc.verification.possible import Possible, possible_rows
from axfi_kc.verification.report import Allowance
from axfi_kc.verification.spaces import Space, single_precision
from tests.support.alterations import added, axp_dropped, axp_smaller, countered, dropped, exchanged, heavier
from tests.support.random_problems import KINDS, random_truth
from tests.support.random_spaces import random_constraint, random_region

xgboost = pytest.importorskip("xgboost")

_PROBLEMS = 24
_ALTERATIONS = (dropped, added, exchanged, heavier)
RACES, AGES = ("asian", "black", "hispanic", "other"), ("young", "old")
MODELS = ("tree", "forest", "xgboost", "linear")


@pytest.mark.parametrize("norm", ["none", "linf", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_random_problems_are_proved_and_their_alterations_refuted(kind: str, norm: str) -> None:
    looked_at = 0
    for seed in range(_PROBLEMS):
        rng = Random(f"{kind} {norm} {seed}")
        truth = random_truth(rng, kind, n_instances=2)
        domain = truth.domain.where(random_constraint(rng, truth.domain)) if rng.random() < 0.7 else truth.domain
        region = None if norm == "none" else random_region(rng, domain, norm=norm)
        weights = rng.choice(["ratio", "count", "unit"]) if truth.is_finite else "ratio"
        for v in truth.instances:
            try:
                explainer = ax.Explainer(truth.model, domain, delta=truth.delta, weights=weights, within=region)
                claim = Claim.of(explainer.explain(truth.point(v)))
            except AxfiError:  # nothing is possible there, or nothing else is predicted
                continue
            report = ax.verify(claim, truth.model)
            assert report.complete, f"{seed}: {report}"
            for k, alter in enumerate(_ALTERATIONS if claim.cxps else ()):
                looked_at += 1
                assert not ax.verify(alter(claim, Random(k)), truth.model).ok, f"{seed}: {alter.__name__}"
    assert looked_at >= 8


@cache
def people() -> tuple[pd.DataFrame, pd.Series]:
    """Return people with flags of which at most one is set, as data sets with columns made of a category have them."""
    rng = np.random.default_rng(5)
    race, age = rng.integers(0, len(RACES) + 1, 400), rng.integers(0, len(AGES) + 1, 400)
    flags = {name: race == k for k, name in enumerate(RACES)} | {name: age == k for k, name in enumerate(AGES)}
    X = pd.DataFrame({name: flag.astype(int) for name, flag in flags.items()})
    X["priors"] = rng.integers(0, 20, 400)
    score = X.priors + 6 * X.black - 5 * X.asian + 7 * X.young - 6 * X.old + rng.normal(0, 1, 400)
    return X, (score > 9).astype(int)


@cache
def person_model(name: str) -> Any:
    makers = {
        "tree": DecisionTreeClassifier(max_depth=7, random_state=0),
        "forest": RandomForestClassifier(7, max_depth=5, random_state=0, n_jobs=1),
        "xgboost": xgboost.XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1),
        "linear": LogisticRegression(),
    }
    return makers[name].fit(*people())


@cache
def persons(*, limited: bool = True) -> Domain:
    domain = ax.Domain.from_data(people()[0])
    rules = (ax.at_most_one(*RACES), ax.at_most_one(*AGES), (ax.feature("old") == 0) | (ax.feature("priors") >= 2))
    return domain.where(*rules) if limited else domain


def some_rows(number: int) -> pd.DataFrame:
    X = people()[0]
    return X[(X.old == 0) | (X.priors >= 2)].iloc[:number]


@pytest.mark.parametrize("name", MODELS)
def test_models_of_libraries_with_exclusive_flags(name: str) -> None:
    model, differing = person_model(name), 0
    free = ax.Explainer(model, persons(limited=False))
    for within in (None, ax.Region(frozen=["hispanic"], radius=8, weights=dict.fromkeys((*RACES, *AGES), 1))):
        explainer = ax.Explainer(model, persons(), within=within)
        for n, row in enumerate(some_rows(4).to_dict("records")):
            claim = Claim.of(explainer.explain(row))
            report = ax.verify(claim, model)
            assert report.complete, str(report)
            assert report.checks[0].kind == "instance"
            if n < 2 and claim.cxps:
                for k, alter in enumerate((*_ALTERATIONS, axp_dropped, axp_smaller, countered)):
                    assert not ax.verify(alter(claim, Random(k)), model).ok, alter.__name__
            # What holds where every combination is possible is no answer to the question asked.
            other = Claim.of(free.explain(row))
            if other.cxps != claim.cxps:
                differing += 1
                assert not ax.verify(replace(other, domain=claim.domain), model).ok
                assert not ax.verify(replace(claim, domain=other.domain), model).ok
    assert differing > 2


def test_proofs_are_used_where_listing_would_be_too_long() -> None:
    model = person_model("xgboost")
    claim = Claim.of(ax.Explainer(model, persons()).explain(some_rows(3).iloc[2]))
    report = ax.verify(claim, model, budget=ax.Budget(nodes=3000))
    assert report.complete, str(report)
    assert {c.method for c in report.checks if c.kind == "axp"} == {
        "branch and bound over the trees' leaves, in exact integers"
    }


def test_linear_models_with_real_features_and_frozen_categories() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.random(200), "b": rng.random(200), "c": rng.integers(0, 3, 200)})
    model = LogisticRegression(C=1e3).fit(X, X.a + X.b + X.c > 2)
    domain = ax.Domain.from_data(X, categorical=["c"])
    explainer = ax.Explainer(model, domain, within=ax.Region(ranges={"c": [0, 2]}, radius=0.3, weights={"c": 0.1}))
    row = X[X.c == 2].iloc[0]
    claim = Claim.of(explainer.explain(row))
    assert claim.domain.constraints
    assert ax.verify(claim, model).complete
    assert not ax.verify(heavier(claim, Random(0)), model).ok


def test_instances_and_counterfactuals_must_be_possible() -> None:
    model = person_model("tree")
    claim = Claim.of(ax.Explainer(model, persons()).explain(some_rows(1).iloc[0]))
    twice = {**claim.instance, "asian": 1, "black": 1}
    failed = ax.verify(replace(claim, instance=twice), model).failed
    assert (failed[0].kind, failed[0].detail) == (
        "instance",
        "it violates: at most 1 of: asian = 1, black = 1, hispanic = 1, other = 1",
    )
    found = claim.hint
    assert found is not None

    def moved(change: dict[str, Any]) -> Any:
        return lambda names: SimpleNamespace(**{**vars(found(names)), "point": {**claim.instance, **change}})

    for change, words in ((twice, "it cannot exist"), ({"priors": 99}, "99")):
        checks = ax.verify(replace(claim, hint=moved(change)), model).failed
        assert checks
        assert all(c.kind == "counterfactual" and words in c.detail for c in checks)


@pytest.mark.parametrize("within", [None, ax.Region(radius=6, frozen=["old"]), ax.Region(radius=6, norm="l1")])
def test_saved_explanations_keep_their_space(within: ax.Region | None) -> None:
    model = person_model("xgboost")
    e = ax.Explainer(model, persons(), within=within).explain(some_rows(2).iloc[1])
    for given in (None, model):
        saved = ax.Explanation.from_json(e.to_json(), model=given)
        assert (saved.domain, saved.within) == (e.domain, within)
        assert saved.to_dict() == e.to_dict()
        assert ax.verify(saved, model).complete
        assert not any("within" in words for words in ax.verify(saved, model).unchecked)
    document = json.loads(e.to_json())
    document["axps"], document["scores"] = None, {}  # then these are derived from the altered CXps
    for altered in (document["cxps"][1:], [*document["cxps"], {"features": ["other", "priors"], "weight": "1/4"}]):
        assert not ax.verify(ax.Explanation.from_dict({**document, "cxps": altered}), model).ok


def test_a_region_that_is_none_is_refused() -> None:
    e = ax.Explainer(person_model("tree"), persons(), within=ax.Region(radius=6)).explain(some_rows(1).iloc[0])
    for wrong in ({"radius": 3}, {**e.to_dict()["within"], "norm": "l7"}, {**e.to_dict()["within"], "radius": "x"}):
        with pytest.raises(ResultFileError, match="does not fit"):
            ax.Explanation.from_dict({**e.to_dict(), "within": wrong})


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize("region", [None, ax.Region(radius=6, frozen=["old"])])
def test_files_of_results_are_checked_with_the_model(tmp_path: Path, suffix: str, region: ax.Region | None) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    model, path = person_model("xgboost"), tmp_path / f"results.{suffix}"
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(model))
    model.save_model(tmp_path / "model.json")
    explainer = ax.Explainer(model, persons(), within=region)
    rows = some_rows(4)
    explainer.explain_to(path, rows, progress=False)
    batch = explainer.explain_batch(rows)
    for saved, e in zip(ax.read_results(path), batch, strict=True):
        assert (saved.domain, saved.within) == (e.domain, region)
        assert saved.scores() == e.scores()
        assert ax.verify(saved, model).complete
    assert main(["verify", str(path), str(tmp_path / "model.json")]) == 0
    (tmp_path / "one.json").write_text(batch[1].to_json())
    assert main(["verify", str(tmp_path / "one.json"), str(tmp_path / "model.pkl"), "--allow-pickle"]) == 0


def test_the_possible_points_of_a_box_are_counted_by_splitting_it() -> None:
    """Against a listing, with constraints of every shape, one over the limit of what is asked about a box."""
    rng = Random(3)
    features = [ax.Integer(f"f{k}", 0, 3) for k in range(7)]
    for _ in range(2):
        domain = ax.Domain(features).where(
            random_constraint(rng, ax.Domain(features)),
            ax.check(lambda *row: sum(row) % 3 != 1, [f.name for f in features]),
            All((ax.feature("f0") <= ax.feature("f1"), ax.feature("f2") != 3)),
        )
        points = np.array(list(domain.unconstrained.points()), dtype=float)
        possible = points[possible_rows(domain, points)]
        if not len(possible):
            continue
        instance = dict(zip(domain.names, map(int, possible[0]), strict=True))
        claim = Claim(domain, instance, 0, None, "count", None, {}, None, {}, frozenset())
        space = Space.of_values(claim, 100)
        assert space is not None
        found = Possible(space).weight(range(7), Allowance.of(None))
        assert found == Fraction(len(possible))


def test_balls_that_cut_through_cells_of_real_features() -> None:
    X = np.array([[a, b] for a in (0.5, 0.75) for b in (0.5, 0.75)])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1])
    domain = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 0, 1, histogram=ax.Histogram([0, 0.6, 1], [1, 2]))])
    end, closed = single_precision(0.625, strict=False)
    assert set(model.tree_.threshold) == {0.625, -2.0}
    away, pair = end - Fraction(1, 2), frozenset("ab")  # how far each feature must go
    for radius, is_cxp in ((3 * away, True), (2 * away, not closed), (Fraction(15, 8) * away, False)):
        region = ax.Region(radius=radius, norm="l1")
        claim = Claim.of(ax.Explainer(model, domain, within=region).explain([0.5, 0.5]))
        assert set(claim.cxps) == ({pair} if is_cxp else set())
        report = ax.verify(claim, model)
        assert report.complete, str(report)
        for wrong in ({}, {pair: Fraction(1, 9)}):
            assert claim.cxps == wrong or not ax.verify(replace(claim, cxps=wrong), model).ok
    # The dissimilar points of an even measure: a corner with legs of `away`, in a square that stands on its tip.
    even = ax.Domain([ax.Real("a", 0, 1), ax.Real("b", 0, 1)])
    claim = Claim.of(ax.Explainer(model, even, within=ax.Region(radius=3 * away, norm="l1")).explain([0.5, 0.5]))
    assert claim.cxps == {pair: Fraction(1, 36)}
    assert ax.verify(claim, model).complete
    assert ax.verify(claim, model, budget=ax.Budget(nodes=30)).ok


def test_a_model_of_other_features_is_not_the_one_explained() -> None:
    two, one = (ax.Domain([ax.Integer(name, 0, 3) for name in names]) for names in ("ab", "a"))
    line, other = (
        LinearModel.of_columns(d, [[1] * len(d)], intercepts=[-3], rule=Positive((0, 1))) for d in (two, one)
    )
    with pytest.raises(DomainError, match="is about 'a', 'b', but the model about 'a'"):
        ax.verify(ax.Explainer(line, two).explain([0, 0]), other)
