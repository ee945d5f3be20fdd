"""``axfi-kc count``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.circuits.files.cnf import parse_count_answer
from axfi_kc.cli import main
from tests.circuits.test_counting_problems import FILES


@pytest.mark.parametrize("name", ["mc", "wmc", "pmc", "pwmc", "unsatisfiable"])
def test_answers_are_in_the_competition_s_format(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, expected = FILES[name]
    path = tmp_path / "problem.cnf"
    path.write_text(text)
    assert main(["count", str(path)]) == 0
    printed = capsys.readouterr().out
    assert parse_count_answer(printed) == expected
    assert "c o counted via" in printed
    assert main(["count", str(path), "--via", "dd", "--no-check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] in (expected, str(expected))
    assert found["routes"] == ["dd"]


def test_circuits_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "problem.cnf"
    path.write_text(FILES["mc"][0])
    assert main(["count", str(path), "--to", "ddnnf", "--save", str(tmp_path / "a.nnf")]) == 0
    assert "wrote" in capsys.readouterr().out
    assert ax.queries.count(ax.load_circuit(tmp_path / "a.nnf")) == 4


def test_what_is_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "problem.cnf"
    path.write_text("p cnf 1 1\n2 0\n")
    for arguments in ([str(path)], [str(tmp_path / "none.cnf")], [str(path), "--save", "a.nnf"]):
        assert main(["count", *arguments]) == 1
        assert capsys.readouterr().err.count("\n") == 1
