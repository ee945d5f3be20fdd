"""The command line under a joint distribution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

import axfi_kc as ax
from axfi_kc.cli import main


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 60)
    data = pd.DataFrame({"a": a, "b": (a + rng.integers(0, 2, 60)) % 3, "c": rng.integers(0, 4, 60)})
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, data.a + data.c > 2)
    dump(model, tmp_path / "tree.skops")
    data.to_csv(tmp_path / "data.csv", index=False)
    domain = ax.Domain.from_data(data)
    ax.ChowLiu.fit(data, domain, smoothing=0.5).save(tmp_path / "tree.json")
    ax.Product.of(ax.Domain([ax.Integer("z", 0, 1)])).save(tmp_path / "other.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    return tmp_path


def explained(saved: Path, capsys: Any, *more: str) -> Any:
    arguments = ["explain", str(saved / "tree.skops"), str(saved / "data.csv"), "--row", "3", "--json", *more]
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_a_tree_is_learnt_or_read(saved: Path, capsys: Any) -> None:
    data = pd.read_csv(saved / "data.csv")
    plain = explained(saved, capsys)
    learnt = explained(saved, capsys, "--distribution", "chow-liu", "--smoothing", "1/2")
    read = explained(saved, capsys, "--distribution", str(saved / "tree.json"))
    assert learnt == read != plain
    domain = ax.Domain.from_data(data)
    joint = domain.with_distribution(ax.ChowLiu.fit(data, domain, smoothing=0.5))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, data.a + data.c > 2)
    expected = ax.Explainer(model, joint).explain(data.iloc[3])
    found = {tuple(c["features"]): c["weight"] for c in learnt["cxps"]}
    assert found == {c.features: str(c.weight) if c.weight.denominator > 1 else int(c.weight) for c in expected.cxps}


def test_text_and_pages_say_which(saved: Path, capsys: Any) -> None:
    files = [str(saved / "tree.skops"), str(saved / "data.csv"), "--distribution", "chow-liu"]
    assert main(["explain", *files, "--row", "3"]) == 0
    assert "features distributed as a tree of" in capsys.readouterr().out
    assert main(["report", *files, "--out", str(saved / "page.html"), "--rows", "3"]) == 0
    assert "features distributed as" in (saved / "page.html").read_text(encoding="utf-8")
    assert main(["batch", *files, "--out", str(saved / "out.jsonl")]) == 0
    first = next(iter(ax.read_results(saved / "out.jsonl")))
    assert isinstance(first.domain.distribution, ax.ChowLiu)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--distribution", "other.json"], "is over z, but the domain has a, b, c"),
        (["--distribution", "bad.json"], "cannot be read as a distribution"),
        (["--distribution", "none.json"], "cannot be read as a distribution"),
        (["--distribution", "chow-liu", "--smoothing", "much"], "--smoothing takes a number such as 1, 0.5 or 1/2"),
        (["--distribution", "chow-liu", "--smoothing", "-1"], "smoothing of at least 0"),
    ],
)
def test_what_is_wrong_is_said(saved: Path, capsys: Any, more: list[str], words: str) -> None:
    given = [str(saved / a) if a.endswith(".json") else a for a in more]
    assert main(["explain", str(saved / "tree.skops"), str(saved / "data.csv"), *given]) == 1
    assert words in capsys.readouterr().err
