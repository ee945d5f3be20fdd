"""Commands say in which space their answers hold: constraints, region and distribution, in full."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from axfi_kc.cli import main

pd = pytest.importorskip("pandas")

WHERE = ["--where", "feature('a') <= feature('b')"]
REGION = ["--frozen", "c", "--radius", "2"]
FULL = {"constraints": ["a <= b"], "region": "c frozen; every feature by at most 2 (linf)"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("space")
    rows = pd.DataFrame(np.random.default_rng(1).integers(0, 4, (40, 3)), columns=list("abc"))
    rows = rows[rows.a <= rows.b].reset_index(drop=True)
    rows.to_csv(folder / "data.csv", index=False)
    model = DecisionTreeClassifier(random_state=0).fit(rows, rows.a + rows.c > 2)
    pytest.importorskip("skops.io").dump(model, folder / "tree.skops")
    return folder


def run(files: Path, capsys: pytest.CaptureFixture[str], command: str, *options: str) -> str:
    assert main([command, str(files / "tree.skops"), str(files / "data.csv"), *options]) == 0
    return capsys.readouterr().out


def test_batches_say_the_space(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for out in ([], ["--out", str(files / "s.jsonl")]):
        text = run(files, capsys, "batch", *WHERE, *REGION, *out)
        assert f"\nonly points where a <= b\nonly points with {FULL['region']}\n\nfeature" in text
        document = json.loads(run(files, capsys, "batch", *WHERE, *REGION, *out, "--json"))
        assert document["space"] == FULL
    assert "space" not in json.loads(run(files, capsys, "batch", "--json"))
    assert "explained\n\nfeature" in run(files, capsys, "batch")


def test_info_says_the_space(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, capsys, "batch", *WHERE, *REGION, "--out", str(files / "t.jsonl"))
    (files / "one.json").write_text(run(files, capsys, "explain", *WHERE, *REGION, "--json"))
    for name in ("t.jsonl", "one.json"):
        assert main(["info", str(files / name)]) == 0
        said = capsys.readouterr().out
        assert "only points where  a <= b\n" in said
        assert f"only points with   {FULL['region']}\n" in said


def test_whole_space_commands_say_the_space(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chow_liu = ["--distribution", "chow-liu"]
    for command, asked in (("compile", []), ("sensitivity", ["--features", "a"])):
        text = run(files, capsys, command, *WHERE, *chow_liu, *asked)
        assert "only points where" in text
        assert "features distributed as" in text
        document = json.loads(run(files, capsys, command, *WHERE, *chow_liu, *asked, "--json"))
        assert document["space"]["constraints"] == ["a <= b"]
        assert document["space"]["distribution"].startswith("a tree of 2 edges")
        assert "only points" not in run(files, capsys, command, *asked)
        assert "space" not in json.loads(run(files, capsys, command, *asked, "--json"))
