"""What comes out of one door comes out of every other: the same CXps, the same scores, the same refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.domain.measures import amount
from axfi_kc.errors import AxfiError, BudgetError, IncompleteError, ResultFileError, WeightError
from axfi_kc.explanations.files import document as documents
from axfi_kc.explanations.files import domain_document
from axfi_kc.explanations.page import report_html
from axfi_kc.plots import plot_batch, plot_scores
from axfi_kc.scores import SCORES, register_score
from axfi_kc.verification import definitions as games

mpl.use("agg")

SUFFIXES = ("jsonl", "parquet")
N = 13


def crowded(**options: Any) -> ax.Explainer:
    """Return an explainer of "at least five of 13 features are 1": without any of them, C(13, 5) = 1287 CXps."""
    X = list(product(range(2), repeat=N))
    model = LogisticRegression(C=1e6).fit(X, [sum(x) >= 5 for x in X])
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(N)])
    return ax.Explainer(model, domain, **options)


ROWS = [[0] * N, [1] * N, [0] * N]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", ["mdd", "obdd"])
@pytest.mark.parametrize("weights", ["ratio", "count", "unit"])
def test_a_file_holds_every_one_of_many_cxps(tmp_path: Path, suffix: str, target: str, weights: str) -> None:
    made = crowded(target=target, weights=weights)
    alone = made.explain(ROWS[0])
    saved = made.explain_to(tmp_path / f"out.{suffix}", ROWS)
    assert len(alone.cxps) == len(alone.to_dict()["cxps"]) == comb(N, 5)
    assert saved.cxp_counts == [comb(N, 5), comb(N, 9), comb(N, 5)] == made.explain_batch(ROWS).cxp_counts
    first, second, third = saved
    assert first.cxps == third.cxps == alone.cxps
    assert second.cxps == made.explain(ROWS[1]).cxps
    assert first.to_json() == alone.to_json()
    assert first.scores() == alone.scores() == {n: Fraction(t) for n, t in first.stated.scores["shapley"].items()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_through_two_targets_do_not_mix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    crowded(target="mdd").explain_to(path, ROWS)
    for target in ("auto", "obdd"):
        with pytest.raises(ResultFileError, match="another model, domain, options or data"):
            crowded(target=target).explain_to(path, ROWS)
    assert len(crowded(target="mdd").explain_to(path, ROWS)) == 3


@pytest.mark.parametrize("target", ["auto", "mdd"])
def test_more_cxps_than_a_document_holds(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5) - 1)
    made, words = crowded(target=target), "at most 1286 CXps, but there are 1287; set max_size"
    with pytest.raises(IncompleteError, match=words):
        made.explain(ROWS[0]).to_json()
    for suffix in SUFFIXES:
        with pytest.raises(IncompleteError, match=words):
            made.explain_to(tmp_path / f"out.{suffix}", ROWS)
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5))
    assert len(json.loads(made.explain(ROWS[0]).to_json())["cxps"]) == comb(N, 5)
    assert [len(e.cxps) for e in made.explain_to(tmp_path / "out.jsonl", ROWS)] == [comb(N, 5), comb(N, 9), comb(N, 5)]


DOMAIN = ax.Domain(
    [ax.Integer("a", 0, 1), ax.Integer("b", 0, 2), ax.Categorical("c", ["u", "v"]), ax.Integer("d", 0, 1)]
)
TABLE = pd.DataFrame([(1, 2, "v", 0), (0, 1, "u", 1), (1, 0, "v", 1)], columns=list("abcd"))
NEED_ALL = [score.name for score in SCORES.values() if score.needs_all]


def decide(point: tuple[Any, ...]) -> int:
    a, b, c, _ = point
    return int((a and b > 0) or (c == "v" and b < 2))


def explainer(**options: Any) -> ax.Explainer:
    return ax.Explainer(decide, DOMAIN, **options)


@pytest.fixture
def toy() -> Iterator[str]:
    """Register a score that nobody knows: the number of CXps with a feature, times the heaviest of their weights."""

    @register_score("toy", "a toy score", needs="weights")
    def toy_score(forest: Any, *, budget: Any = None) -> dict[str, Fraction]:
        mine = {n: [w for cxp, w in forest.weights.items() if n in cxp] for n in forest.features}
        return {n: len(found) * max(found) for n, found in mine.items() if found}

    yield "toy"
    del SCORES["toy"]


# Every door takes an explainer, a table, a score's name and a folder, and gives the scores of each row.
Rows = list[dict[str, Fraction]]
Door = Callable[[ax.Explainer, pd.DataFrame, str, Path], Rows]


def _records(frame: pd.DataFrame) -> Rows:
    return frame[list(DOMAIN.names)].to_dict("records")


def _saved(made: ax.Explainer, X: pd.DataFrame, kind: str) -> list[ax.SavedExplanation]:
    return [ax.Explanation.from_json(e.to_json(kinds=[kind])) for e in made.explain_batch(X)]


def _stated(saved: Iterable[ax.SavedExplanation], kind: str) -> Rows:
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
        for line in re.findall(r"<tr>(<td.*?)</tr>", table, re.DOTALL):
            name, *_ = re.findall(r"<bdi>(\w+)</bdi>", line)
            row[name] = Fraction(re.findall(r"<code>(.*?)</code>", line)[0])
        found.append(row)
    assert len(found) == rows
    return found


DOORS: dict[str, Door] = {
    "Explanation.to_frame": lambda made, X, kind, _: [
        e.to_frame(kinds=[kind])[kind].to_dict() for e in made.explain_batch(X)
    ],
    "to_json": lambda made, X, kind, _: _stated(_saved(made, X, kind), kind),
    "SavedExplanation.scores": lambda made, X, kind, _: [
        ax.Explanation.from_json(e.to_json()).scores(kind) for e in made.explain_batch(X)
    ],
    "SavedExplanation.to_frame": lambda made, X, kind, _: [
        e.to_frame(kinds=[kind])[kind].to_dict() for e in _saved(made, X, kind)
    ],
    "Batch.scores": lambda made, X, kind, _: _records(made.explain_batch(X).scores(kind)),
    "Batch.to_frame": lambda made, X, kind, _: _records(made.explain_batch(X).to_frame(kind, exact=True)),
    "explain_to, jsonl": lambda made, X, kind, folder: _stated(
        made.explain_to(folder / "out.jsonl", X, kinds=[kind]), kind
    ),
    "explain_to, parquet": lambda made, X, kind, folder: _stated(
        made.explain_to(folder / "out.parquet", X, kinds=[kind]), kind
    ),
    "SavedBatch.scores": lambda made, X, kind, folder: _records(
        made.explain_to(folder / "out.jsonl", X, kinds=[kind]).scores(kind)
    ),
    "SavedBatch.scores, not written": lambda made, X, kind, folder: _records(
        _read(made, X, kind, folder / "out.parquet").scores(kind)
    ),
    "SavedBatch.to_frame": lambda made, X, kind, folder: _records(
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


@pytest.mark.parametrize("kind", SCORES)
def test_every_score_passes_every_door(kind: str, tmp_path: Path) -> None:
    for target in ("auto", "mdd"):
        (tmp_path / target).mkdir()
        check_doors(kind, tmp_path / target, target=target)


def test_a_registered_score_passes_every_door(toy: str, tmp_path: Path) -> None:
    check_doors(toy, tmp_path)
    saved = explainer().explain_to(tmp_path / "two.jsonl", TABLE, kinds=[toy, "ffa"], n_jobs=2)
    assert _stated(saved, toy) == [e.scores(toy) for e in explainer().explain_batch(TABLE)]


@pytest.mark.parametrize("kind", [*SCORES, "toy"])
def test_means_pictures_comparisons_and_notebooks(kind: str, tmp_path: Path, toy: str) -> None:
    batch = explainer().explain_batch(TABLE)
    means = {n: sum((e.scores(kind)[n] for e in batch), Fraction(0)) / len(batch) for n in DOMAIN.names}
    saved = explainer().explain_to(tmp_path / "out.jsonl", TABLE, kinds=[kind])
    for found in (batch, saved):
        assert found.importance(kind, exact=True)["mean"].to_dict() == means
        assert f"mean {kind} score" in found.to_html(kind)
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


@pytest.mark.parametrize("kind", [*SCORES, "toy"])
def test_the_command_line(kind: str, tmp_path: Path, toy: str, capsys: pytest.CaptureFixture[str]) -> None:
    model, data, out = tmp_path / "model.nnf", tmp_path / "data.csv", tmp_path / "out.jsonl"
    bits = ax.Domain([ax.Integer(n, 0, 1) for n in "abc"])
    ax.compile_model(lambda p: bool(p[0] and (p[1] or p[2])), bits, output=True, target="mdd").save(model)
    pd.DataFrame([(1, 1, 1), (1, 0, 1)], columns=list("abc")).to_csv(data, index=False)
    run = [str(model), str(data), "--score", kind]
    assert main(["explain", *run, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["scores"]) == [kind]
    e = ax.Explanation.from_dict(document)
    assert main(["explain", *run, "--report", str(tmp_path / "one.html"), "--pictures", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(amount(s, digits=6) in printed for s in e.scores(kind).values() if s)
    assert (tmp_path / f"{kind}.png").exists()
    assert SCORES[kind].about in (tmp_path / "one.html").read_text()
    assert main(["batch", *run, "--out", str(out), "--json"]) == 0
    means = json.loads(capsys.readouterr().out)[f"mean_{kind}"]
    assert {n: Fraction(m) for n, m in means.items()} == ax.read_results(out).importance(kind, exact=True)[
        "mean"
    ].to_dict()
    assert main(["report", str(out), "--score", kind, "--out", str(tmp_path / "batch.html")]) == 0
    assert SCORES[kind].about in (tmp_path / "batch.html").read_text()
    assert kind in _help(capsys)


def _help(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_alike(door: str, tmp_path: Path) -> None:
    names = ".*".join(map(re.escape, SCORES))
    with pytest.raises(WeightError, match=rf"^The score must be one of '{names}', but 'magic' was given; name one\.$"):
        DOORS[door](explainer(), TABLE, "magic", tmp_path)
    for kind in NEED_ALL:
        own = tmp_path / kind
        own.mkdir()
        with pytest.raises(IncompleteError, match=r"^AXps need all CXps, but only those of at most 1 features were"):
            DOORS[door](explainer(max_size=1), TABLE, kind, own)


@pytest.mark.parametrize("kind", [name for name in SCORES if name not in NEED_ALL])
def test_scores_of_small_cxps_pass_every_door(kind: str, tmp_path: Path) -> None:
    check_doors(kind, tmp_path, max_size=1)


def test_a_refused_run_leaves_no_file(tmp_path: Path) -> None:
    for made, kinds in ((explainer(), ["magic"]), (explainer(max_size=1), ["shapley", "ffa"])):
        with pytest.raises(AxfiError):
            made.explain_to(tmp_path / "out.jsonl", TABLE, kinds=kinds)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", SCORES)
def test_changed_scores_are_refused(kind: str) -> None:
    document = explainer().explain(TABLE.iloc[0]).to_dict(kinds=[kind])
    name = next(n for n, s in document["scores"][kind].items() if s)
    document["scores"][kind][name] = "1/977"
    with pytest.raises(ResultFileError, match=f"The {kind} scores in the document do not follow from its CXps"):
        ax.Explanation.from_dict(document)


def test_scores_that_no_cxps_give_are_refused() -> None:
    document = explainer(max_size=1).explain(TABLE.iloc[0]).to_dict()
    document["scores"]["ffa"] = dict.fromkeys(DOMAIN.names, 0)
    with pytest.raises(ResultFileError, match="The ffa scores in the document do not follow from its CXps"):
        ax.Explanation.from_dict(document)


def test_checking_a_score_has_a_budget() -> None:
    """A file's CXps may give 2**30 AXps; "ffa" is then checked on a diagram, within what is allowed."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(60)])
    pairs = [(f"x{2 * i}", f"x{2 * i + 1}") for i in range(30)]
    document = ax.Explainer(lambda p: p[0], ax.Domain([ax.Integer("x0", 0, 1)])).explain([1]).to_dict(kinds=())
    document |= {"domain": domain_document(domain), "instance": [0] * 60}
    document |= {"cxps": [{"features": list(pair), "weight": "1/4"} for pair in pairs]}
    document["scores"] = {"ffa": dict.fromkeys(domain.names, "1/2")}
    assert set(ax.Explanation.from_dict(document).scores("ffa").values()) == {Fraction(1, 2)}
    with pytest.raises(BudgetError):
        ax.Explanation.from_dict(document, budget=ax.Budget(nodes=10))


def test_only_new_scores_can_be_registered() -> None:
    for name in ("shapley", "prediction", "two words"):
        with pytest.raises(WeightError, match=f"but '{name}' was given"):
            register_score(name, "about", needs="cxps")
    with pytest.raises(WeightError, match="one of 'weights', 'cxps', 'axps', 'game', but 'luck' was given"):
        register_score("lucky", "about", needs="luck")


def test_the_checker_knows_every_score() -> None:
    assert tuple(SCORES) == games.KINDS  # it shares no code with what it checks, so it has a list of its own
