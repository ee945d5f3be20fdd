"""An explanation whose budget ended says "complete up to k features" at every door, and Ctrl-C can end it as well."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import axfi_kc as ax
from axfi_kc.cli.main import main
from axfi_kc.errors import AxfiWarning, BudgetError, DomainError, IncompleteError, ResultFileError
from axfi_kc.explanations.page import report_html
from tests.support import hard_problems as hard

MODEL, X = hard.boosted()
BUDGET = ax.Budget(nodes=3_000)
OTHER = [0.25] * len(X)


def explainer(**options: Any) -> ax.Explainer:
    return ax.Explainer(MODEL, MODEL.domain, **{"budget": BUDGET, **options})


@pytest.fixture(scope="module")
def stopped() -> ax.Explanation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AxfiWarning)
        return explainer(weights="unit").explain(X)


@pytest.fixture(scope="module")
def words(stopped: ax.Explanation) -> str:
    return f"complete up to {stopped.radius} feature"


def test_a_spent_budget_gives_the_last_finished_radius(stopped: ax.Explanation, words: str) -> None:
    assert stopped.radius == stopped.stopped_at
    assert (stopped.max_size, stopped.is_complete) == (None, False)
    assert all(len(c.features) <= stopped.radius for c in stopped.cxps)
    assert words in repr(stopped)
    assert words in stopped.to_html()
    assert words in stopped.to_frame().attrs["completeness"]
    with pytest.warns(AxfiWarning, match=words):
        explainer(weights="unit").explain(X)


def test_a_finished_explanation_says_nothing_of_it() -> None:
    model, x = hard.boosted(6, 8, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({}, {"max_size": 2}, {"budget": ax.Budget(seconds=600)}):
            e = ax.Explainer(model, model.domain, **options).explain(x)
            assert (e.radius, e.is_complete, e.stopped_at) == (options.get("max_size"), True, None)
            assert "complete" not in repr(e) + e.to_html() + e.to_json()
            assert "completeness" not in e.to_frame().attrs


def test_what_needs_all_cxps_is_refused(stopped: ax.Explanation) -> None:
    for work in (lambda: stopped.axps, lambda: stopped.axp_family, lambda: stopped.scores("ffa")):
        with pytest.raises(IncompleteError, match="larger budget"):
            work()
    assert sum(stopped.scores("shapley").values()) > 0 or not stopped.cxps


def test_errors_are_left_for_radius_1_and_for_those_who_ask() -> None:
    with pytest.raises(BudgetError):
        explainer(budget=ax.Budget(nodes=1)).explain(X)
    with pytest.raises(BudgetError):
        explainer(on_budget="raise").explain(X)
    with pytest.raises(BudgetError, match="complete up to"):
        explainer(on_budget="raise", on_interrupt="radius").explain(X)
    for name in ("on_budget", "on_interrupt"):
        with pytest.raises(DomainError, match=f"{name} must be 'radius' or 'raise', but 'stop' was given"):
            explainer(**{name: "stop"})


def test_a_row_over_budget_is_named(tmp_path: Path) -> None:
    table = pd.DataFrame([OTHER, X], columns=MODEL.domain.names, index=["a", "b"])
    path, strict = tmp_path / "rows.jsonl", explainer(budget=ax.Budget(nodes=1), on_budget="raise")
    made = explainer(budget=ax.Budget(nodes=1))
    for work in (lambda: made.explain_batch(table), lambda: strict.explain_to(path, table)):
        with pytest.raises(BudgetError, match=r"^Row 'a': the budget was spent after 1 search node and"):
            work()
    with pytest.warns(AxfiWarning, match="2 rows complete up to 0 features"):  # a stream records it and goes on
        assert made.explain_to(path, table).stopped_rows == {"a": 0, "b": 0}


def test_documents_hold_the_radius(stopped: ax.Explanation, words: str) -> None:
    document = stopped.to_dict()
    assert document["radius"] == stopped.radius
    assert words in document["completeness"]
    saved = ax.Explanation.from_json(stopped.to_json())
    assert (saved.radius, saved.is_complete, saved.max_size) == (stopped.radius, False, None)
    assert saved.to_dict() == document
    assert words in repr(saved)
    with pytest.raises(IncompleteError):
        _ = saved.axps
    with pytest.raises(ResultFileError):
        ax.Explanation.from_dict({**document, "scores": {"ffa": dict.fromkeys(MODEL.domain.names, 0)}})


@pytest.mark.parametrize(
    "changed",
    [
        {"radius": 0},
        {"radius": "2"},
        {"radius": True},
        {"radius": None},
        {"max_size": 1},
        {"completeness": "complete up to 99 features"},
        {"completeness": 3},
    ],
)
def test_a_changed_radius_is_refused(stopped: ax.Explanation, changed: dict[str, Any]) -> None:
    with pytest.raises(ResultFileError):
        ax.Explanation.from_dict({**stopped.to_dict(), **changed})


def test_a_cxp_beyond_the_radius_is_refused(stopped: ax.Explanation) -> None:
    names = list(MODEL.domain.names)[: stopped.stopped_at + 1]
    cxps = [*stopped.to_dict()["cxps"], {"features": names, "weight": 1}]
    with pytest.raises(ResultFileError, match="more features than the radius"):
        ax.Explanation.from_dict({**stopped.to_dict(), "cxps": cxps, "scores": {}})


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_batches_say_it_row_by_row(n_jobs: int, words: str) -> None:
    easy = ax.Explainer(MODEL, MODEL.domain, max_size=1, weights="unit")
    assert easy.explain_batch([X]).radii == [None]
    with pytest.warns(AxfiWarning, match=r"complete up to .* features? \(the first is 0\)") as caught:
        batch = explainer(weights="unit").explain_batch([X, OTHER], n_jobs=n_jobs)
    assert sum(issubclass(w.category, AxfiWarning) for w in caught) == 1
    assert [e.radius for e in batch] == batch.radii
    assert words in batch.to_frame()["completeness"].iloc[0]
    assert batch.stopped_rows == dict(enumerate(batch.radii))
    assert "2 rows complete up to" in repr(batch)
    assert "2 rows complete up to" in batch.to_html()
    with pytest.raises(IncompleteError):
        batch.scores("ffa")
    assert batch.scores("shapley").shape == (2, len(X))


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_files_record_the_radius_of_each_row(tmp_path: Path, suffix: str, words: str) -> None:
    path, made = tmp_path / f"rows.{suffix}", explainer(weights="unit")
    with pytest.warns(AxfiWarning, match="complete up to"):
        saved = made.explain_to(path, [X, OTHER])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AxfiWarning)
        batch = made.explain_batch([X, OTHER])
    assert saved.radii == batch.radii
    assert list(saved.stopped_rows.values()) == list(batch.stopped_rows.values())
    assert [e.radius for e in saved] == batch.radii
    assert "2 rows complete up to" in repr(saved)
    assert words in saved.to_frame()["completeness"].iloc[0]
    if suffix == "parquet":
        assert words in pd.read_parquet(path)["completeness"][0]
    else:
        assert words in json.loads(path.read_text().splitlines()[1])["completeness"]
    with pytest.warns(AxfiWarning, match="complete up to"):
        other = made.explain_to(tmp_path / f"all.{suffix}", [X], kinds=["ffa"])
    with pytest.raises(IncompleteError, match="row 0 was spent"):
        other.scores("ffa")
    # What a spent budget means is no part of what makes a run: the rows say themselves how far they go.
    assert explainer(weights="unit", on_budget="raise").explain_to(path, [X, OTHER]).radii == batch.radii


def test_reports_say_it(stopped: ax.Explanation, words: str) -> None:
    page = report_html(stopped)
    assert words in page
    assert f"these are {words}" in page
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AxfiWarning)
        batch = explainer(weights="unit").explain_batch([X, OTHER])
    page = report_html(batch)
    assert "2 rows complete up to" in page


def test_the_checker_looks_up_to_the_radius() -> None:
    model, x = hard.boosted(14, 60, 4)
    with pytest.warns(AxfiWarning):
        e = next(
            e
            for nodes in range(10, 4_000, 10)
            if (e := _explained(model, x, nodes)) is not None and not e.is_complete and e.cxps
        )
    report = ax.verify(e, model, budget=ax.Budget(nodes=200_000))
    assert not report.failed, report
    assert any(check.kind == "completeness" for check in report.checks)
    # Without one of its CXps, it is not complete up to there.
    document = e.to_dict(kinds=[])
    saved = ax.Explanation.from_dict({**document, "cxps": document["cxps"][1:]})
    assert ax.verify(saved, model, budget=ax.Budget(nodes=200_000)).failed


def _explained(model: Any, x: Any, nodes: int) -> ax.Explanation | None:
    try:
        return ax.Explainer(model, model.domain, budget=ax.Budget(nodes=nodes)).explain(x)
    except BudgetError:
        return None


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    import skops.io

    folder = tmp_path_factory.mktemp("forest")
    data = load_breast_cancer(as_frame=True)
    model = RandomForestClassifier(30, random_state=0).fit(data.data, data.target)
    skops.io.dump(model, folder / "forest.skops")
    data.data.to_csv(folder / "rows.csv", index=False)
    return folder / "forest.skops", folder / "rows.csv"


def test_commands_say_it(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    given = [*map(str, files), "--seconds", "1"]
    assert main(["explain", *given, "--report", str(tmp_path / "page.html")]) == 0
    told = capsys.readouterr()
    assert "complete up to" in told.out
    assert "in no CXp of at most" in told.out
    assert "AXp" not in told.out
    assert "axfi-kc: The budget was spent" in told.err
    assert "complete up to" in (tmp_path / "page.html").read_text()
    assert main(["explain", *given, "--json"]) == 0
    assert "complete up to" in json.loads(capsys.readouterr().out)["completeness"]
    given += ["--rows", "2"]
    assert main(["batch", *given, "--out", str(tmp_path / "rows.jsonl")]) == 0
    assert "2 rows complete up to" in capsys.readouterr().out
    assert main(["batch", *given, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["completeness"]) == ["0", "1"]
    assert main(["batch", *given, "--on-budget", "raise"]) == 1
    assert "allow more" in capsys.readouterr().err


_INTERRUPTED = """
    import os, signal, sys, threading, warnings
    import axfi_kc as ax
    from tests.support import hard_problems as hard

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    warnings.simplefilter("ignore")
    model, x = hard.boosted()
    ax.Explainer(model, model.domain, budget=ax.Budget(nodes=3000)).explain(x)  # compiles kernels

    def interrupted(work, *after):
        timers = [threading.Timer(s, os.kill, (os.getpid(), signal.SIGINT)) for s in after]
        for timer in timers:
            timer.start()
        try:
            return work()
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            for timer in timers:
                timer.join()

    by_choice = ax.Explainer(model, model.domain, on_interrupt="radius", weights="unit")
    e = interrupted(lambda: by_choice.explain(x), 1.0)
    print(e.is_complete, e.radius >= 1)
    print(e.cxps == ax.Explainer(model, model.domain, max_size=e.radius, weights="unit").explain(x).cxps)
    batch = interrupted(lambda: by_choice.explain_batch([x, x, x]), 1.0)
    print(len(batch), batch.radii[0] >= 1, list(batch.skipped))
    saved = interrupted(lambda: by_choice.explain_to(sys.argv[1], [x, x, x]), 1.0)
    print(len(saved), saved.n_rows)
    print(interrupted(lambda: ax.Explainer(model, model.domain).explain(x), 0.5))
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_ctrl_c_gives_what_is_complete_by_choice(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(_INTERRUPTED), str(tmp_path / "rows.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    expected = ["False True", "True", "1 True [1, 2]", "0 3", "interrupted", "True"]
    assert (done.stdout.splitlines(), done.returncode) == (expected, 0), done.stderr[-2000:]


def test_threads_are_not_stopped_by_signals_they_never_get() -> None:
    from concurrent.futures import ThreadPoolExecutor

    model, x = hard.boosted(6, 8, 2)
    made = ax.Explainer(model, model.domain, on_interrupt="radius")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(made.explain, x).result().cxps == made.explain(x).cxps


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(AxfiWarning):
        explainer(weights="unit").explain(X, progress=True)
    told = capsys.readouterr().err
    assert "explaining" in told
    assert "open" in told
    with pytest.warns(AxfiWarning):
        explainer(weights="unit").explain(X)
    assert capsys.readouterr().err == ""


def test_clones_and_parameters_keep_it() -> None:
    made = explainer(on_budget="raise", on_interrupt="radius")
    assert made.__sklearn_clone__().get_params()["on_budget"] == "raise"
    assert np.isin(["on_budget", "on_interrupt"], list(made.get_params())).all()


def test_slow_rows_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar of a batch moves with each row that takes long; rows that take no time are put together."""
    sizes: list[int] = []
    monkeypatch.setattr("axfi_kc.explanations.explainer._SHORT", 0.0)
    made = ax.Explainer(*(lambda model: (model, model.domain))(hard.boosted(6, 8, 2)[0]))
    usual = made._find
    monkeypatch.setattr(made, "_find", lambda codes, *more: sizes.append(len(codes)) or usual(codes, *more))
    batch = made.explain_batch([[0.5] * 6] * 7)
    assert sizes == [1] * 7
    monkeypatch.setattr("axfi_kc.explanations.explainer._SHORT", 600.0)
    assert [e.cxps for e in made.explain_batch([[0.5] * 6] * 7)] == [e.cxps for e in batch]
    assert sizes[7:] == [1, 2, 4]
