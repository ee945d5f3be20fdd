"""``axfi-kc verify``: exit status 0 for what holds, 1 for what was altered."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.files import write_nnf
from axfi_kc.cli import main
from axfi_kc.domain.grid import Grid
from axfi_kc.models import CircuitModel
from tests.support.kinds import BINARY, DOMAIN, THREE, X, kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skops, xgboost = pytest.importorskip("skops.io"), pytest.importorskip("xgboost")
    made = tmp_path_factory.mktemp("verify")
    skops.dump(kind("tree").model, made / "tree.skops")
    ax.Explainer(kind("tree").model, DOMAIN).explain_to(made / "tree.jsonl", X[:4])
    (made / "tree.json").write_text(kind("tree").explain(0).to_json(axps=True))
    boosted = xgboost.XGBClassifier(n_estimators=30, max_depth=2, n_jobs=1, early_stopping_rounds=2)
    labels = (BINARY == "yes").astype(int)
    boosted.fit(X[:120], labels[:120], eval_set=[(X[120:], labels[120:])], verbose=False)
    assert boosted.best_iteration < 29
    boosted.save_model(made / "model.json")
    explainer = ax.Explainer(ax.read_xgboost(made / "model.json", DOMAIN), DOMAIN)
    (made / "boosted.json").write_text(explainer.explain(X[0]).to_json())
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    build = CircuitBuilder(Grid.of_values(domain))
    both = build.circuit(build.conjunction([build.literal(0, [1]), build.literal(2, [1])]))
    write_nnf(both, made / "circuit.nnf")
    model = CircuitModel.of(both, outputs=(0, 1))
    (made / "circuit.json").write_text(ax.Explainer(model, domain).explain((1, 0, 1)).to_json())
    return made


def test_a_number_that_counts_as_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 15: a in 0..2, b in 0..1, y = (a == 0) | (b == 1); the file does not hold missing=0."""
    xgboost, pd = pytest.importorskip("xgboost"), pytest.importorskip("pandas")
    table = pd.DataFrame([(a, b) for a in range(3) for b in range(2)] * 20, columns=["a", "b"])
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2, missing=0.0, n_jobs=1)
    model.fit(table, ((table.a == 0) | (table.b == 1)).astype(int)).save_model(tmp_path / "model.json")
    table.to_csv(tmp_path / "data.csv", index=False)
    explain = ["explain", str(tmp_path / "model.json"), str(tmp_path / "data.csv"), "--row", "3", "--json"]
    assert main([*explain, "--missing", "0"]) == 0
    text = capsys.readouterr().out
    assert [c["features"] for c in json.loads(text)["cxps"]] == [["b"]]
    (tmp_path / "result.json").write_text(text)
    assert run(tmp_path, "result.json", "model.json", "--missing", "0") == 0
    assert run(tmp_path, "result.json", "model.json") == 1
    capsys.readouterr()
    (tmp_path / "other.txt").write_text("tree\n")
    assert main(["explain", str(tmp_path / "other.txt"), *explain[2:], "--missing", "0"]) != 0
    assert "--missing is for files of XGBoost" in capsys.readouterr().err


def run(folder: Path, result: str, model: str, *options: str) -> int:
    return main(["verify", str(folder / result), str(folder / model), *options])


@pytest.mark.parametrize(
    ("result", "model"),
    [("tree.json", "tree.skops"), ("boosted.json", "model.json"), ("circuit.json", "circuit.nnf")],
)
def test_what_holds_and_what_was_altered(
    folder: Path, result: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, result, model) == 0
    assert capsys.readouterr().out.startswith("<Report: proved")
    document = json.loads((folder / result).read_text())
    document["cxps"][0]["weight"] = "1/977"
    document["scores"] = {}
    (folder / "altered.json").write_text(json.dumps(document))
    assert run(folder, "altered.json", model) == 1
    printed = capsys.readouterr()
    assert "failed: weight" in printed.out
    assert printed.err.startswith("axfi-kc: Every check should hold, but")


def test_altered_scores_are_refused_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads((folder / "tree.json").read_text())
    name = next(n for n, s in document["scores"]["banzhaf"].items() if s)
    document["scores"]["banzhaf"][name] = "1/3331"
    (folder / "altered.json").write_text(json.dumps(document))
    assert run(folder, "altered.json", "tree.skops") == 1
    assert "do not follow" in capsys.readouterr().err


def test_batches_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "tree.jsonl", "tree.skops", "--rows", "3", "--json") == 0
    found = json.loads(capsys.readouterr().out)["reports"]
    assert len(found) == 3
    assert all(report["ok"] and report["complete"] for report in found)


def test_batches_say_which_rows_are_not_proved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "tree.jsonl", "tree.skops") == 0
    text = capsys.readouterr().out
    assert text.startswith("4 of 4 proved\nnot checked: ")
    assert text.count("\n") == 2
    assert run(folder, "tree.jsonl", "tree.skops", "--verbose") == 0
    text = capsys.readouterr().out
    assert [f"row {k}: <Report: proved;" in text for k in range(5)] == [True] * 4 + [False]
    assert text.endswith("4 of 4 proved\n")


def test_rows_are_named_by_their_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pytest.importorskip("pandas").DataFrame(X[:3], columns=DOMAIN.names, index=["ann", "bob", "cy"])
    skops = pytest.importorskip("skops.io")
    other = type(kind("tree").model)(max_depth=2, random_state=1).fit(X[::3], np.roll(THREE, 1)[::3])
    skops.dump(other, folder / "unlike.skops")
    ax.Explainer(kind("tree").model, DOMAIN).explain_to(folder / "named.jsonl", frame)
    assert run(folder, "named.jsonl", "unlike.skops") == 1
    printed = capsys.readouterr()
    failed = [name for name in frame.index if f"row {name}: failed; " in printed.out]
    assert failed
    assert f"of 3 proved, {len(failed)} failed\n" in printed.out.replace("1 not refuted, ", "")
    assert f" failed in row {failed[0]} (" in printed.err
    assert run(folder, "named.jsonl", "unlike.skops", "--json") == 1
    assert [r["row"] for r in json.loads(capsys.readouterr().out)["reports"]] == list(frame.index)


def test_another_model_and_missing_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    tree = type(kind("tree").model)(max_depth=2, random_state=1).fit(X[::3], np.roll(THREE, 1)[::3])
    skops.dump(tree, folder / "other.skops")
    assert run(folder, "tree.json", "other.skops") == 1
    assert run(folder, "none.json", "tree.skops") == 1
    assert "There is no file" in capsys.readouterr().err
