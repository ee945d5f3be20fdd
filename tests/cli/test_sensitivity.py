"""``axfi-kc sensitivity``, and networks in files as models."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.explanations import sensitivity
from tests.support.random_networks import bif_text, hugin_text, random_network


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    network = random_network(Random(3), n=4, shape="tree", zeros=0, most_states=2)
    (tmp_path / "net.bif").write_text(bif_text(network))
    (tmp_path / "net.net").write_text(hugin_text(network))
    rows = ["x1,x2,x3,label", "s0,s0,s0,1", "s1,s1,s1,0", "s0,s1,s0,1"]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n")
    return tmp_path / "net.bif", tmp_path / "data.csv"


def test_a_network_in_a_file_is_asked(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    model, data = files
    given = [str(data), "--target", "label"]
    assert main(["sensitivity", str(model), *given, "--features", "x1,x2", "--by", "x3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    domain = ax.Domain([ax.Categorical(f"x{k}", ["s0", "s1"]) for k in (1, 2, 3)])
    found = ax.sensitivity(ax.read_network(model), domain, ["x1", "x2"], by="x3")
    assert [row["count"] for row in rows] == [found.count, *(p.count for p in (*found.outputs, *found.groups))]
    assert main(["sensitivity", str(model.with_suffix(".net")), *given, "--radius", "1"]) == 0
    assert "at most 1 feature" in capsys.readouterr().out
    assert main(["sensitivity", str(model), *given, "--features", "x1", "--verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["complete"]
    assert main(["sensitivity", str(model), *given, "--radius", "2", "--verify"]) == 0
    assert "<Report: proved" in capsys.readouterr().out
    region = model.with_suffix(".nnf")
    assert main(["sensitivity", str(model), *given, "--features", "x1", "--save", str(region)]) == 0
    assert f"wrote {region}" in capsys.readouterr().out
    assert main(["explain", str(model), *given, "--row", "1", "--json"]) in (0, 1)


def test_an_answer_that_does_not_hold_ends_with_status_1(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sensitivity.sensitivity
    monkeypatch.setattr(sensitivity, "sensitivity", lambda *a, **b: replace(found(*a, **b), probability=Fraction(1, 7)))
    given = [*map(str, files), "--target", "label", "--features", "x1"]
    assert main(["sensitivity", *given]) == 0
    assert main(["sensitivity", *given, "--verify"]) == 1
    shown = capsys.readouterr()
    assert "1/7" in shown.out
    assert shown.err.count("\n") == 1


def test_what_is_wrong_is_one_line(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    model, data = files
    assert main(["sensitivity", str(model), str(data), "--target", "label", "--features", "zz"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["sensitivity", str(model), str(data), "--features", "x1"]) == 1  # label is no variable
    assert "label" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["sensitivity", str(model), str(data)])


def test_a_network_in_a_file_is_told_of_and_verified(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = files
    assert main(["info", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variables"] == 4
    for row in ("0", "1", "2"):
        if main(["explain", str(model), str(data), "--target", "label", "--row", row, "--json"]) == 0:
            out = capsys.readouterr().out
            saved = data.with_name("e.json")
            saved.write_text(out)
            assert main(["verify", str(saved), str(model)]) == 0
        capsys.readouterr()


def test_a_network_in_a_file_is_a_distribution(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    model, data = files
    given = [str(model), str(data), "--target", "label", "--features", "x1", "--json"]
    assert main(["sensitivity", *given, "--distribution", str(model.with_suffix(".net"))]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    network = ax.read_network(model)
    domain = ax.Domain([ax.Categorical(f"x{k}", ["s0", "s1"]) for k in (1, 2, 3)]).with_distribution(network)
    found = ax.sensitivity(network, domain, ["x1"])
    assert rows[0]["under"] == "a Bayesian network of 4 variables"
    assert rows[0]["probability"] == str(found.probability)
