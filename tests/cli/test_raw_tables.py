"""The first ten minutes with one's own table: missing values, words, an id and free text, from the file itself."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.cli import main
from tests.support.titanic import MODELS, passengers, saved

ROW = 5  # the sixth passenger has no age


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raw") / "titanic.csv"
    raw = passengers()
    raw.loc[ROW, "Age"] = np.nan
    raw.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, table: Path) -> tuple[str, Any, pd.DataFrame]:
    raw = pd.read_csv(table)
    X = raw.drop(columns="Survived")
    return request.param, MODELS[request.param](X, raw["Survived"]), X


def test_five_lines_of_python(trained: tuple[str, Any, pd.DataFrame]) -> None:
    _, model, X = trained
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = ax.Explainer(model, X, max_size=2)
        e = explainer.explain(X.iloc[ROW])
        batch = explainer.explain_batch(X.head(20))
        assert e.instance["Age"] is None
        assert {c.features for c in batch[ROW].cxps} == {c.features for c in e.cxps}
        assert len(batch) == 20
        found = e.counterfactual()
        assert found.output != e.prediction
        assert ax.verify(e, model).ok


def test_the_command_line(trained: tuple[str, Any, pd.DataFrame], table: Path, tmp_path: Path, capsys) -> None:
    name, model, _ = trained
    path = saved(name, model, tmp_path)
    trust = ["--allow-pickle"] * (path.suffix == ".joblib")
    run = [str(path), str(table), "--target", "Survived", "--max-size", "2", *trust]
    assert main(["explain", *run, "--row", str(ROW), "--json"]) == 0
    e = ax.Explanation.from_dict(json.loads(capsys.readouterr().out))
    assert e.instance["Age"] is None
    assert main(["explain", *run, "--row", str(ROW)]) == 0
    assert ("missing" in capsys.readouterr().out) == ("Age" in e.relevant)  # what is irrelevant is not listed
    out, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    assert main(["batch", *run, "--rows", "12", "--out", str(out)]) == 0
    again = list(ax.read_results(out))
    assert len(again) == 12
    assert again[ROW].cxps == e.cxps
    assert main(["report", *run, "--row", str(ROW), "--out", str(page)]) == 0
    assert "missing" in page.read_text()  # among the values of the space, even where the row's is irrelevant
    assert main(["verify", str(out), str(path), *trust]) == 0
