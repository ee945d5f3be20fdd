"""Probabilistic AXps, boxes of values and feature questions through every door, and judged by verify."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.budget import Account
from axfi_kc.cli.main import main
from axfi_kc.errors import ConstantModelError, DomainError, IncompleteError, ResultFileError
from axfi_kc.explanations.page import report_html
from axfi_kc.families.masks import smallest_hitting_set
from tests.support.boxes import random_question

IRIS = load_iris(as_frame=True)
X = IRIS.data.round(1)
TREE = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, IRIS.target)
FOREST = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, IRIS.target)
DOMAIN = ax.Domain.from_data(X)
ROWS = X.iloc[[0, 60, 77, 130]]


def asked(e: Any) -> Any:
    """Return an explanation that holds an answer of each kind."""
    sets = e.paxp(Fraction(4, 5)), e.paxps(Fraction(1, 2), max_size=2)
    return e.with_answers(*sets, e.inflated_axp(), e.most_general(), e.inflated_cxp())


@pytest.mark.parametrize("model", [TREE, FOREST])
def test_documents_and_verify(model: Any) -> None:
    explainer = ax.Explainer(model, DOMAIN)
    for k in (0, 77):
        e = asked(explainer.explain(X.iloc[[k]]))
        report = ax.verify(e, model)
        assert report.ok, report
        assert {"precision", "box", "extension", "coverage"} <= {c.kind for c in report.checks}
        saved = ax.Explanation.from_json(e.to_json())
        assert saved.further == e.further
        assert saved.to_json() == e.to_json()
        assert ax.verify(saved, model).ok
        assert "that no box of values covers more" in report.unchecked


def _tampered(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return documents that say something wrong about precisions or boxes."""

    def changed(change: Any) -> dict[str, Any]:
        copy = json.loads(json.dumps(document))
        change(copy)
        return copy

    def narrow(d: dict[str, Any]) -> None:
        box = d["inflated"]["most_general"]
        box["values"].pop()

    def halve(d: dict[str, Any]) -> None:
        box = d["inflated"]["axps"][0]
        box["coverage"] = str(Fraction(box["coverage"]) / 2)

    def imprecise(d: dict[str, Any]) -> None:
        d["local_paxps"][0]["precision"] = "99/100"

    def forgotten(d: dict[str, Any]) -> None:
        d["paxps"][0]["sets"].pop()

    def shrunk(d: dict[str, Any]) -> None:
        values = d["inflated"]["axps"][0]["values"][0]
        names = [feature["name"] for feature in d["domain"]]
        values["low"] = values["high"] = str(Fraction(d["instance"][names.index(values["feature"])]))
        values["low_open"] = values["high_open"] = False

    def elsewhere(d: dict[str, Any]) -> None:
        d["inflated"]["cxps"][0]["values"] = d["inflated"]["axps"][0]["values"]

    return [changed(c) for c in (narrow, halve, imprecise, forgotten, shrunk, elsewhere)]


def test_verify_finds_what_is_wrong() -> None:
    e = asked(ax.Explainer(TREE, DOMAIN).explain(X.iloc[[77]]))
    for document in _tampered(json.loads(e.to_json())):
        report = ax.verify(ax.Explanation.from_dict(document), TREE)
        assert not report.ok
        assert {c.kind for c in report.failed} <= {"precision", "box", "extension", "coverage"}


def test_random_problems_are_verified() -> None:
    rng, checked = Random("further"), 0
    while checked < 6:
        _, _, problem = random_question(rng)
        options = {"delta": problem.similarity.delta, "toward": problem.similarity.toward}
        try:
            e = asked(ax.Explainer(problem.model, problem.domain, weights="unit", **options).explain(problem.instance))
        except (ConstantModelError, DomainError):
            continue
        assert ax.verify(e, problem.model).ok
        checked += 1


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_streams(suffix: str, tmp_path: Path) -> None:
    explainer = ax.Explainer(TREE, DOMAIN)
    path = tmp_path / f"out.{suffix}"
    saved = explainer.explain_to(path, ROWS, min_precision=0.9, inflate=True)
    for e, row in zip(saved, range(len(ROWS)), strict=True):
        alone = explainer.explain(ROWS.iloc[[row]])
        assert e.further.local_paxps == {Fraction(0.9): alone.paxp(0.9)}
        assert e.further.most_general == alone.most_general()
        assert ax.verify(e, TREE).ok
    assert "How far values may go" in report_html(saved)
    with pytest.raises(ResultFileError, match="another model, domain, options or data"):
        explainer.explain_to(path, ROWS)


def test_pages() -> None:
    explainer = ax.Explainer(TREE, DOMAIN)
    e = explainer.explain(X.iloc[[77]])
    assert "How far values may go" not in report_html(e)
    page = report_html(e, min_precision=0.9, inflate=True)
    assert "How far values may go" in page
    assert "What nearly keeps the output" in page
    assert str(e.most_general()).split(";", maxsplit=1)[0] in page
    batch = report_html(explainer.explain_batch(ROWS), inflate=True, max_details=2)
    assert batch.count("How far values may go</h3>") == 2


def test_without_the_model_nothing_more_is_asked() -> None:
    saved = ax.Explanation.from_json(ax.Explainer(TREE, DOMAIN).explain(X.iloc[[77]]).to_json())
    with pytest.raises(IncompleteError, match="read without one"):
        saved.to_json(inflate=True)
    again = ax.Explanation.from_json(saved.to_json(), model=TREE)
    assert json.loads(again.to_json(inflate=True))["inflated"]["most_general"]


def test_damaged_answers_are_refused() -> None:
    e = asked(ax.Explainer(TREE, DOMAIN).explain(X.iloc[[77]]))
    text = e.to_json()
    for old, new in (
        ('"local_paxps": [{', '"local_paxps": [7, {'),
        ('"most_general": {"values": [', '"most_general": {"values": 3, "other": ['),
        ('"low_open": ', '"low_open": 5, "x": '),
        ('"sets": [', '"sets": [5, '),
    ):
        assert old in text
        with pytest.raises(ResultFileError):
            ax.Explanation.from_json(text.replace(old, new, 1))


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(TREE, tmp_path / "tree.skops")
    X.to_csv(tmp_path / "data.csv", index=False)
    given = [str(tmp_path / "tree.skops"), str(tmp_path / "data.csv")]
    more = ["--min-precision", "0.9", "--inflate"]
    assert main(["explain", *given, "--row", "77", *more]) == 0
    out = capsys.readouterr().out
    assert "at least 0.9 was asked" in out
    assert "the most general there is" in out
    assert "in every AXp: " in out
    assert main(["explain", *given, "--row", "77", "--json", *more]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["inflated"]["most_general"]
    assert document["local_paxps"]
    assert main(["batch", *given, "--rows", "3", "--out", str(tmp_path / "r.jsonl"), *more]) == 0
    assert main(["verify", str(tmp_path / "r.jsonl"), given[0]]) == 0
    assert main(["report", *given, "--rows", "3", "--out", str(tmp_path / "r.html"), *more]) == 0
    assert "How far values may go" in (tmp_path / "r.html").read_text()


def test_feature_questions() -> None:
    rng = Random("questions")
    for _ in range(20):
        _, _, problem = random_question(rng)
        options = {"delta": problem.similarity.delta, "toward": problem.similarity.toward}
        try:
            e = ax.Explainer(problem.model, problem.domain, weights="unit", **options).explain(problem.instance)
        except ConstantModelError:
            continue
        saved = ax.Explanation.from_json(e.to_json())
        every = [set(a.features) for a in e.axps]
        least = [set(c.features) for c in e.cxps if len(c.features) == min(e.cxp_sizes)]
        for found in (e, saved):
            assert set(found.necessary) == set.intersection(*every)
            assert set(found.in_smallest_cxps) == (set.intersection(*least) if least else set())
            assert len(found.smallest_axp().features) == min(map(len, every))
            assert set(found.smallest_axp().features) in every
            if e.cxps:
                assert set(found.smallest_cxp().features) in least
            else:
                with pytest.raises(DomainError):
                    found.smallest_cxp()


def test_features_in_every_axp_are_known_at_any_radius() -> None:
    domain = ax.Domain([ax.Integer(n, 0, 1) for n in "abc"])
    e = ax.Explainer(lambda p: p[0] and (p[1] or p[2]), domain, max_size=1).explain((1, 1, 1))
    assert e.necessary == ("a",)
    with pytest.raises(IncompleteError):
        e.smallest_axp()


def test_smallest_hitting_sets_against_all_sets() -> None:
    rng = Random("hitting")
    for _ in range(300):
        sets = [rng.randrange(1, 256) for _ in range(rng.randint(0, 9))]
        wanted = min((S for S in range(256) if all(S & T for T in sets)), key=int.bit_count)
        found = smallest_hitting_set(sets, account=Account(None, goal="set"))
        assert all(found & T for T in sets)
        assert found.bit_count() == wanted.bit_count()
