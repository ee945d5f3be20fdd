"""Rows of saved results go by their labels, also where rows were skipped."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.errors import ArgumentError, DomainError
from axfi_kc.explanations.page import explore_html, report_html

pd = pytest.importorskip("pandas")

ROWS = pd.DataFrame({"a": [0, 1, 3, 0, 3, 2, 1, 2], "b": [1, 1, 3, 2, 0, 2, 3, 3], "c": [0, 2, 1, 2, 1, 0, 1, 2]})
DOMAIN = ax.Domain([ax.Integer(name, 0, 3) for name in "abc"]).where(ax.feature("a") <= ax.feature("b"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    ROWS.to_csv(folder / "data.csv", index=False)
    model = DecisionTreeClassifier(random_state=0).fit(ROWS, ROWS.a + ROWS.c > 2)
    pytest.importorskip("skops.io").dump(model, folder / "tree.skops")
    given = [str(folder / "tree.skops"), str(folder / "data.csv"), "--where", "feature('a') <= feature('b')"]
    assert main(["batch", *given, "--on-error", "skip", "--out", str(folder / "s.jsonl")]) == 0
    return folder


def report(files: Path, *options: str) -> str:
    page = files / "page.html"
    assert main(["report", *options, "--out", str(page)]) == 0
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", [3, 5, 7])
def test_a_row_of_results_is_the_one_that_is_called_so(files: Path, row: int) -> None:
    page = report(files, str(files / "s.jsonl"), "--row", str(row))
    live = report(files, str(files / "tree.skops"), str(files / "data.csv"), "--row", str(row))
    for text in (page, live):
        assert f"<dt>row</dt><dd><bdi>{row}</bdi></dd>" in text
    instance = next(e.instance for e in ax.read_results(files / "s.jsonl") if e.row == row)
    assert list(instance.values()) == ROWS.loc[row].tolist()
    assert f"row {row}" in report(files, str(files / "s.jsonl"), "--row", str(row), "--explore")


def test_what_was_skipped_or_is_not_there_is_said(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(files / "s.jsonl"), "--row", "4"]) == 1
    assert "axfi-kc: Row 4 was skipped: The instance cannot exist" in capsys.readouterr().err
    assert main(["report", str(files / "s.jsonl"), "--row", "8"]) == 1
    assert "The rows are 0, 1, 2, 3, 5, 6, 7, but row 8 was asked for" in capsys.readouterr().err
    assert main(["report", str(files / "tree.skops"), str(files / "data.csv"), "--row", "x"]) == 1
    assert "--row takes the position of a row of data" in capsys.readouterr().err


def test_labels_may_be_text(files: Path) -> None:
    model = ax.Explainer(lambda p: p[0] + p[2] > 2, DOMAIN)
    named = model.explain_to(files / "named.jsonl", ROWS.set_axis(list("pqrstuvw")), on_error="skip")
    assert named.rows == tuple("pqrsuvw")
    assert "<dt>row</dt><dd><bdi>u</bdi></dd>" in report(files, str(files / "named.jsonl"), "--row", "u")


def test_first_rows_keep_their_labels(files: Path) -> None:
    page = report(files, str(files / "s.jsonl"), "--rows", "6")
    assert [f"Row <bdi>{row}</bdi>:" in page for row in range(8)] == [True] * 4 + [False, True, True, False]
    first = list(ax.read_results(files / "s.jsonl"))[:6]
    assert json.dumps("row 6")[1:-1] in explore_html(first)


def test_batches_are_asked_by_label_live_and_saved(files: Path) -> None:
    explainer = ax.Explainer(lambda p: p[0] + p[2] > 2, DOMAIN)
    live = explainer.explain_batch(ROWS, on_error="skip")
    for batch in (live, explainer.explain_to(files / "again.jsonl", ROWS, on_error="skip")):
        assert [batch.at(row).row for row in batch.rows] == [0, 1, 2, 3, 5, 6, 7]
        assert list(batch.at(5).instance.values()) == ROWS.loc[5].tolist()
        with pytest.raises(DomainError, match=r"^Row 4 was skipped: The instance cannot exist"):
            batch.at(4)
        with pytest.raises(DomainError, match="but row 9 was asked for"):
            batch.at(9)
        with pytest.raises(ArgumentError, match="label was expected"):
            batch.at(np.zeros(2))
    assert "<dt>row</dt><dd><bdi>7</bdi></dd>" in report_html(live.at(7))
    assert "<dt>row</dt>" not in report_html(explainer.explain([1, 2, 2]))
