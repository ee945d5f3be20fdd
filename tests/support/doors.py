"""Every door that scores come out of: each takes an explainer, a table, a score's name and a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot as plt

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.domain.measures import amount
from axfi_kc.explanations.page import report_html
from axfi_kc.plots import plot_batch, plot_scores
from axfi_kc.scores import SCORES

DOMAIN = ax.Domain(
    [
        ax.Integer("a", 0, 1),
        ax.Integer("b", 0, 2, missing=Fraction(1, 4)),
        ax.Categorical("c", ["u", "v"], missing=Fraction(1, 3)),
        ax.Integer("d", 0, 1),
    ]
)


TABLE = pd.DataFrame([(1, 2, "v", 0), (0, None, "u", 1), (1, 0, None, 1)], columns=list("abcd"))


def decide(point: tuple[Any, ...]) -> int:
    a, b, c, _ = point
    return int((a and (b is None or b > 0)) or (c == "v" and b is not None and b < 2))


def explainer(**options: Any) -> ax.Explainer:
    return ax.Explainer(decide, DOMAIN, **options)


Rows = list[dict[str, Fraction]]
Door = Callable[[ax.Explainer, pd.DataFrame, str, Path], Rows]


def records(frame: pd.DataFrame) -> Rows:
    return frame[list(DOMAIN.names)].to_dict("records")


def _saved(made: ax.Explainer, X: pd.DataFrame, kind: str) -> list[ax.SavedExplanation]:
    return [ax.Explanation.from_json(e.to_json(kinds=[kind])) for e in made.explain_batch(X)]


def stated_scores(saved: Iterable[ax.SavedExplanation], kind: str) -> Rows:
    return [e.stated.scores[kind] for e in saved]


def _read(made: ax.Explainer, X: pd.DataFrame, kind: str, path: Path) -> ax.SavedBatch:
    """Return results in which this score was not written."""
    made.explain_to(path, X)
    return ax.read_results(path)


def _page(html: str, rows: int) -> list[dict[str, Fraction]]:
    """Return the exact scores in the first tables of a page."""
    found: Rows = []
    for table in re.findall(r"<caption>Scores of the relevant features</caption>.*?</table>", html, re.DOTALL):
        row = dict.fromkeys(DOMAIN.names, Fraction(0))
        for line in re.findall(r'<tr role="row">(<th scope="row".*?)</tr>', table, re.DOTALL):
            name, *_ = re.findall(r"<bdi>(\w+)</bdi>", line)
            row[name] = Fraction(re.findall(r"<code>(.*?)</code>", line)[0])
        found.append(row)
    assert len(found) == rows
    return found


DOORS: dict[str, Door] = {
    "Explanation.to_frame": lambda made, X, kind, _: [
        e.to_frame(kinds=[kind], exact=True)[kind].to_dict() for e in made.explain_batch(X)
    ],
    "to_json": lambda made, X, kind, _: stated_scores(_saved(made, X, kind), kind),
    "SavedExplanation.scores": lambda made, X, kind, _: [
        ax.Explanation.from_json(e.to_json()).scores(kind) for e in made.explain_batch(X)
    ],
    "SavedExplanation.to_frame": lambda made, X, kind, _: [
        e.to_frame(kinds=[kind], exact=True)[kind].to_dict() for e in _saved(made, X, kind)
    ],
    "Batch.scores": lambda made, X, kind, _: records(made.explain_batch(X).scores(kind)),
    "Batch.to_frame": lambda made, X, kind, _: records(made.explain_batch(X).to_frame(kind, exact=True)),
    "explain_to, jsonl": lambda made, X, kind, folder: stated_scores(
        made.explain_to(folder / "out.jsonl", X, kinds=[kind]), kind
    ),
    "explain_to, parquet": lambda made, X, kind, folder: stated_scores(
        made.explain_to(folder / "out.parquet", X, kinds=[kind]), kind
    ),
    "SavedBatch.scores": lambda made, X, kind, folder: records(
        made.explain_to(folder / "out.jsonl", X, kinds=[kind]).scores(kind)
    ),
    "SavedBatch.scores, not written": lambda made, X, kind, folder: records(
        _read(made, X, kind, folder / "out.parquet").scores(kind)
    ),
    "SavedBatch.to_frame": lambda made, X, kind, folder: records(
        _read(made, X, kind, folder / "out.jsonl").to_frame(kind, exact=True)
    ),
    "report of one": lambda made, X, kind, _: [
        _page(report_html(e, kinds=[kind]), 1)[0] for e in made.explain_batch(X)
    ],
    "report of a batch": lambda made, X, kind, _: _page(report_html(made.explain_batch(X), kinds=[kind]), len(X)),
}


def check_doors(kind: str, folder: Path, **options: Any) -> None:
    made = explainer(**options)
    expected = [made.explain(x).scores(kind) for x in TABLE.to_dict("records")]
    assert any(any(scores.values()) for scores in expected)
    for number, (door, through) in enumerate(DOORS.items()):
        own = folder / str(number)
        own.mkdir()
        assert through(made, TABLE, kind, own) == expected, door


def check_means_and_pictures(kind: str, folder: Path) -> None:
    """Check means, pictures, comparisons and what notebooks show."""
    batch = explainer().explain_batch(TABLE)
    means = {n: sum((e.scores(kind)[n] for e in batch), Fraction(0)) / len(batch) for n in DOMAIN.names}
    saved = explainer().explain_to(folder / "out.jsonl", TABLE, kinds=[kind])
    for found in (batch, saved):
        assert found.importance(kind, exact=True, shares=False)["mean"].to_dict() == means
        assert f"mean share of the {kind} score" in found.to_html(kind)
    check_shares(kind, batch, saved)
    scores = [batch[0].scores(kind), batch[1].scores(kind)]
    for first in (batch[0], ax.Explanation.from_json(batch[0].to_json())):
        assert ax.compare(first, batch[1], kind=kind).differences == {n: scores[1][n] - scores[0][n] for n in scores[0]}
        assert f"{kind} score" in first.to_html(kind)
        axes = plot_scores(first, kind)
        assert axes.get_xlabel().startswith(SCORES[kind].about)
        assert sorted(p.get_width() for p in axes.patches) == sorted(float(s) for s in scores[0].values() if s)
    for found in (batch, saved):
        assert plot_batch(found, kind).get_xlabel().startswith(SCORES[kind].about)
    plt.close("all")


def check_shares(kind: str, batch: Any, saved: Any) -> None:
    """Check that shares are scores over their sum, wherever they are asked for."""
    expected = []
    for e in batch:
        scores = e.scores(kind)
        total = sum(scores.values())
        expected.append({n: s / total if total else Fraction(0) for n, s in scores.items()})
    means = {n: sum((row[n] for row in expected), Fraction(0)) / len(expected) for n in DOMAIN.names}
    for found in (batch, saved):
        assert records(found.shares(kind)) == expected
        assert records(found.to_frame(kind, exact=True, shares=True)) == expected
        assert [e.shares(kind) for e in found] == expected
        assert found.importance(kind, exact=True)["mean"].to_dict() == means
        rounded = found.importance(kind)["mean"].to_dict()
        assert rounded == pytest.approx({n: float(m) for n, m in means.items()})
    title = f"{kind}_share"
    for e, row in zip(batch, expected, strict=True):
        assert e.to_frame(kinds=[kind], exact=True)[title].to_dict() == row
        assert ax.Explanation.from_json(e.to_json()).shares(kind) == row


def check_commands(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check what the command line writes, prints and offers."""
    model, data, out = folder / "model.nnf", folder / "data.csv", folder / "out.jsonl"
    bits = ax.Domain([ax.Integer(n, 0, 1) for n in "abc"])
    ax.compile_model(lambda p: bool(p[0] and (p[1] or p[2])), bits, output=True, target="mdd").save(model)
    pd.DataFrame([(1, 1, 1), (1, 0, 1)], columns=list("abc")).to_csv(data, index=False)
    run = [str(model), str(data), "--score", kind]
    assert main(["explain", *run, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["scores"]) == [kind]
    e = ax.Explanation.from_dict(document)
    assert main(["explain", *run, "--report", str(folder / "one.html"), "--pictures", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert all(amount(s, digits=6) in printed for s in e.scores(kind).values() if s)
    assert (folder / f"{kind}.png").exists()
    assert SCORES[kind].about in (folder / "one.html").read_text()
    assert main(["batch", *run, "--out", str(out), "--json"]) == 0
    means = json.loads(capsys.readouterr().out)[f"mean_{kind}"]
    assert {n: Fraction(m) for n, m in means.items()} == ax.read_results(out).importance(
        kind, exact=True, shares=False
    )["mean"].to_dict()
    assert main(["report", str(out), "--score", kind, "--out", str(folder / "batch.html")]) == 0
    assert SCORES[kind].about in (folder / "batch.html").read_text()
    assert kind in _help(capsys)


def _help(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    return capsys.readouterr().out
