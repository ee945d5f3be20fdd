"""Importance over a batch, in the shape of scikit-learn's inspection, against plain means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc import Categorical, Domain, Integer
from axfi_kc.cli import main
from axfi_kc.errors import DomainError, UnknownFeatureError
from axfi_kc.explanations.page import report_html

DOMAIN = Domain([Categorical("sex", ["f", "m"]), Integer("a", 0, 3), Integer("b", 0, 3)])
ROWS = [("f", 0, 1), ("m", 2, 2), ("f", 3, 3), ("m", 0, 0), ("f", 1, 3)]


def decide(p: Any) -> int:
    return int(p[1] + p[2] > 3 or (p[0] == "m" and p[1] > 1))


@pytest.fixture(scope="module")
def explainer() -> ax.Explainer:
    return ax.Explainer(decide, DOMAIN, class_names=["low", "high"])


def test_means_and_deviations_are_those_of_shares(explainer: ax.Explainer, tmp_path: Path) -> None:
    batch = explainer.explain_batch(ROWS)
    for many in (batch, explainer.explain_to(tmp_path / "out.jsonl", ROWS)):
        for kind in ("shapley", "banzhaf", "ffa"):
            for shares in (True, False):
                rows = np.array(
                    [[float(x) for x in (e.shares(kind) if shares else e.scores(kind)).values()] for e in batch]
                )
                found = many.inspection(kind, shares=shares)
                assert np.array_equal(found.importances, rows.T)
                assert found.importances_mean == pytest.approx(rows.mean(axis=0))
                assert found["importances_std"] == pytest.approx(rows.std(axis=0))
                assert found.feature_names.tolist() == ["sex", "a", "b"]
    table = batch.importance()
    assert batch.inspection().importances_mean == pytest.approx(table["mean"].to_numpy())
    assert batch.inspection().importances_std == pytest.approx(table["std"].to_numpy())


def test_groups_are_by_output_by_feature_or_given(explainer: ax.Explainer, tmp_path: Path) -> None:
    batch = explainer.explain_batch(ROWS)
    for many in (batch, explainer.explain_to(tmp_path / "out.jsonl", ROWS)):
        whole = many.inspection().importances
        expected = {"high": [1, 2, 4], "low": [0, 3]}
        found = many.inspection(by="prediction")
        assert list(found) == ["high", "low"]
        for name, rows in expected.items():
            assert np.array_equal(found[name].importances, whole[:, rows])
        found = many.inspection(by="sex")
        assert list(found) == ["f", "m"]
        assert np.array_equal(found["f"].importances, whole[:, [0, 2, 4]])
        found = many.inspection(by=[1, "x", 1, "x", float("nan")])
        assert [entry.importances.shape[1] for entry in found.values()] == [2, 2, 1]


def test_it_is_a_mapping_as_scikit_learns_is(explainer: ax.Explainer) -> None:
    found = explainer.explain_batch(ROWS).inspection()
    assert set(found) == {"importances_mean", "importances_std", "importances", "feature_names"}
    assert len(found) == 4
    assert "importances" in found
    assert "mean" not in found
    with pytest.raises(KeyError):
        found["mean"]
    assert repr(found).startswith("<Inspection of 5 rows: ")
    from sklearn.inspection import permutation_importance
    from sklearn.tree import DecisionTreeClassifier

    X, y = [[0], [1]], [0, 1]
    theirs = permutation_importance(DecisionTreeClassifier().fit(X, y), X, y, n_repeats=3)
    assert set(theirs) < set(found)
    assert theirs.importances.shape == (1, 3)


def test_what_cannot_be_is_one_sentence(explainer: ax.Explainer) -> None:
    batch = explainer.explain_batch(ROWS)
    with pytest.raises(DomainError, match="group for each of 5 rows, but 2 were given"):
        batch.inspection(by=["a", "b"])
    with pytest.raises(UnknownFeatureError):
        batch.inspection(by="age")
    with pytest.raises(DomainError, match="batch is empty"):
        explainer.explain_batch(np.empty((0, 3))).inspection()


def test_reports_and_the_command_line_show_groups(
    explainer: ax.Explainer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = explainer.explain_batch(ROWS)
    page = report_html(batch)
    assert "Mean shares by output" in page
    assert "high (3 rows)" in page
    assert "Mean shares by output" not in report_html(explainer.explain_batch(ROWS[:1]))
    ax.compile_model(decide, DOMAIN, output=1).save(tmp_path / "model.nnf")
    lines = ["sex,a,b", *(",".join(map(str, row)) for row in ROWS)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    run = ["batch", str(tmp_path / "model.nnf"), str(tmp_path / "data.csv")]
    assert main([*run, "--by", "sex"]) == 0
    assert "f (3 rows)  m (2 rows)" in capsys.readouterr().out
    assert main([*run, "--by", "prediction", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["mean_share_by"]
    means = batch.inspection(by="prediction")
    for (_, own), name in zip(found.items(), ["low", "high"], strict=True):
        assert list(own.values()) == pytest.approx(means[name].importances_mean)
    assert main([*run, "--by", "age"]) == 1
    assert "age" in capsys.readouterr().err
