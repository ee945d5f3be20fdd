"""CXps that are only counted, and interactions, through every door."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.cli.explain import explanation_text
from axfi_kc.engines.linear import counted as counted_sets
from axfi_kc.engines.linear import engine as linear_engine
from axfi_kc.errors import BudgetError, DomainError, IncompleteError, WeightError
from axfi_kc.explanations.page import report_html
from axfi_kc.plots import plot_cxps, plot_interactions, plot_scores

mpl.use("Agg")
KINDS = ("shapley", "banzhaf", "moebius")


def data() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(80, 8)), columns=[f"feature {i}" for i in range(8)])
    y = X.to_numpy() @ rng.normal(size=8) > 0
    return X, make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be listed."""
    monkeypatch.setattr(linear_engine, "LISTED", 0)
    monkeypatch.setattr(counted_sets, "LISTED", 0)


@pytest.mark.usefixtures("few")
def test_counted_cxps_pass_every_door(tmp_path: Path) -> None:
    X, model = data()
    explainer = ax.Explainer(model, ax.Domain.from_data(X))
    e = explainer.explain(X.iloc[0])
    listed = ax.Explainer(model, ax.Domain.from_data(X), max_size=8).explain(X.iloc[0])
    assert isinstance(e._found, counted_sets.CountedCxps)
    assert isinstance(listed.cxps, tuple)
    assert set(e.cxps) == set(listed.cxps)
    batch = explainer.explain_batch(X.head(3))
    streams = [
        explainer.explain_to(tmp_path / name, X.head(3), interactions=KINDS) for name in ("out.jsonl", "out.parquet")
    ]
    saved = ax.Explanation.from_json(e.to_json(interactions=KINDS))
    for same in (batch[0], pickle.loads(pickle.dumps(e)), saved, *(next(iter(s)) for s in streams)):
        assert same.cxp_count == listed.cxp_count
        assert same.cxp_sizes == listed.cxp_sizes
        assert same.relevant == listed.relevant
        for kind in ("shapley", "banzhaf"):
            assert same.scores(kind) == listed.scores(kind)
            assert same.shares(kind) == listed.shares(kind)
            assert same.interactions(kind) == listed.interactions(kind)
    assert batch.cxp_counts == [s.cxps.count for s in streams[0]] == streams[1].cxp_counts
    assert e.to_frame(exact=True).equals(listed.to_frame(exact=True))
    for name in ("feature 0", "feature 3"):
        assert e.forest.value([name]) == listed.forest.value([name])
    assert explanation_text(e).splitlines()[:12] == explanation_text(listed).splitlines()[:12]
    assert f"{e.cxp_count} CXps" in e.to_html()
    assert "Interactions" in report_html(e, interactions=["banzhaf"])
    assert e.counterfactual() == listed.counterfactual()
    assert len(plot_scores(e).patches) == len(plot_scores(listed).patches)
    plot_cxps(e)
    mpl.pyplot.close("all")
    with pytest.raises(BudgetError, match="one tree per CXp"):
        e.forest.graph  # noqa: B018


@pytest.mark.usefixtures("few")
def test_counted_within_a_region_and_under_a_budget() -> None:
    X, model = data()
    domain = ax.Domain.from_data(X)
    region = ax.Region(frozen=["feature 1"], radius=1)
    near = ax.Explainer(model, domain, within=region).explain(X.iloc[0])
    listed = ax.Explainer(model, domain, within=region, max_size=8).explain(X.iloc[0])
    assert isinstance(near._found, counted_sets.CountedCxps) or not near.cxp_count
    assert near.cxp_count == listed.cxp_count
    assert near.scores() == listed.scores()
    assert "feature 1" not in near.relevant
    with pytest.raises(BudgetError, match="explanation is not finished"):
        ax.Explainer(model, domain, budget=ax.Budget(seconds=1e-4)).explain(X.iloc[0])


def test_comparing_needs_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    X, model = data()
    e = ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[0])
    monkeypatch.setattr("axfi_kc.explanations.comparison.LISTED", 1)
    with pytest.raises(IncompleteError, match="compare their shares"):
        ax.compare(e, e)


def test_interactions_in_tables_pictures_and_pages() -> None:
    X, model = data()
    e = ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[0])
    for kind in KINDS:
        frame = e.interaction_frame(kind, exact=True)
        assert list(frame.columns) == ["feature_1", "feature_2", kind]
        assert {(r[0], r[1]): r[2] for r in frame.itertuples(index=False)} == e.interactions(kind)
        assert frame[kind].abs().is_monotonic_decreasing
        axes = plot_interactions(e, kind, max_features=5, max_pairs=4)
        assert len(axes.lines) == 4
        figure = axes.figure
        figure.canvas.draw()
        box = figure.bbox
        for text in axes.texts:
            extent = text.get_window_extent()
            assert box.x0 <= extent.x0
            assert extent.x1 <= box.x1
        mpl.pyplot.close("all")
    assert e.interaction_frame(order=3).shape[1] == 4
    with pytest.raises(DomainError, match="max_features must be a whole number of at least 2"):
        plot_interactions(e, max_features=1)
    with pytest.raises(WeightError, match="must be one of"):
        report_html(e, interactions=["sii"])


def test_a_document_with_changed_interactions_is_refused() -> None:
    X, model = data()
    e = ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[0])
    document = e.to_dict(interactions=["banzhaf"])
    assert ax.Explanation.from_dict(document).stated.interactions["banzhaf"] == e.interactions("banzhaf")
    for wrong in ("-1/7", "x", None):
        changed = json.loads(json.dumps(document))
        changed["interactions"]["banzhaf"][0][1] = wrong
        with pytest.raises(ax.errors.ResultFileError):
            ax.Explanation.from_dict(changed)


@pytest.mark.usefixtures("few")
def test_damaged_counts_are_refused() -> None:
    X, model = data()
    document = ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[0]).to_dict()
    wrong: list[Any] = [
        5,
        {"sizes": [[1]], "features": []},
        {"sizes": [[99, 1]], "features": []},
        {"sizes": [[2, 0]], "features": ["feature 0", "feature 1"]},
        {"sizes": [[2, 1], [2, 1]], "features": ["feature 0", "feature 1"]},
        {"sizes": [[3, 1]], "features": ["feature 0", "feature 1"]},
        {"sizes": [[1, 1]], "features": ["no such feature"]},
        {"sizes": [[1, 1]], "features": ["feature 0"]},
    ]
    for entry in wrong:
        with pytest.raises(ax.errors.ResultFileError):
            ax.Explanation.from_dict({**document, "unlisted": entry})
    with pytest.raises(ax.errors.ResultFileError, match="says both"):
        ax.Explanation.from_dict({**document, "cxps": []})


def test_the_command_line_shows_interactions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bits = ax.Domain([ax.Integer(n, 0, 1) for n in "abc"])
    made = ax.compile_model(lambda p: bool(p[0] and (p[1] or p[2])), bits, output=True, target="mdd")
    made.save(tmp_path / "model.nnf")
    pd.DataFrame([(0, 0, 0), (1, 0, 1)], columns=list("abc")).to_csv(tmp_path / "data.csv", index=False)
    run = [str(tmp_path / "model.nnf"), str(tmp_path / "data.csv"), "--interactions", "shapley", "moebius"]
    assert main(["explain", *run]) == 0
    printed = capsys.readouterr().out
    assert printed.count("stand in for each other") == 2
    assert main(["explain", *run, "--json", "--pictures", str(tmp_path / "out")]) == 0
    document = json.loads(capsys.readouterr().out)
    e = ax.Explanation.from_dict({k: v for k, v in document.items() if k != "counterfactuals"})
    rows = document["interactions"]["moebius"]
    assert {tuple(names): Fraction(v) for names, v in rows} == e.interactions("moebius")
    assert (tmp_path / "out" / "moebius_interactions.png").exists()
    assert main(["batch", *run, "--out", str(tmp_path / "out.jsonl"), "--json"]) == 0
    assert "mean_share" in json.loads(capsys.readouterr().out)
    first = next(iter(ax.read_results(tmp_path / "out.jsonl")))
    assert first.stated.interactions["shapley"] == first.interactions("shapley")
