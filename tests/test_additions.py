"""How to add a reader, a target, a score or a file format: one file and one registration each, and every door is open.

The files are in ``tests/support/toys``, as a stranger would write them. Here each is imported once, goes in at one end
(a model, a name, a path) and is looked for at every other: explanations of one row and of many, files of results,
documents, pages, the checker, compilation and the command line.
"""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

import axfi_kc as ax
from axfi_kc.circuits import files as formats
from axfi_kc.circuits import queries, targets
from axfi_kc.circuits.targets import Target
from axfi_kc.cli import main
from axfi_kc.errors import CircuitError, ModelFileError, RoundingError, UnsupportedModelError, UnsupportedTargetError
from axfi_kc.explanations.page import report_html
from axfi_kc.models.own_predict import READERS
from axfi_kc.scores import SCORES
from tests.support import toys
from tests.support.doors import TABLE, check_commands, check_doors, check_means_and_pictures, explainer, stated_scores

mpl.use("agg")

DOMAIN = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Integer("c", 0, 1)])
ROWS = pd.DataFrame([[0, 0, 0], [2, 1, 1], [2, 0, 0]], columns=list("abc"))


def decide(p: Any) -> int:
    return int(p[0] + p[1] + 2 * p[2] >= 3)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a toy, as if somebody had installed it."""
    monkeypatch.syspath_prepend(str(Path(toys.__file__).parent))

    def imported(name: str) -> ModuleType:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return imported


@pytest.fixture
def signpost(toy: Any) -> Iterator[Any]:
    """A model of a library that has a reader."""
    library = toy("signposts")
    toy("signpost_reader")
    yield library.Signpost(0.5)
    del READERS["signposts"]


@pytest.fixture(params=[True, False], ids=["ordered", "searched"])
def toy_target(toy: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    language = toy("toy_target").LANGUAGE
    if not request.param:  # as if its circuits were no ordered diagrams: CXps are then searched for
        targets.unregister("toy")
        targets.register(replace(language, ordered=False))
    yield "toy"
    targets.unregister("toy")


@pytest.fixture
def toy_score(toy: Any) -> Iterator[str]:
    toy("toy_score")
    yield "toy"
    del SCORES["toy"]


@pytest.fixture
def toy_format(toy: Any) -> Iterator[str]:
    known = toy("toy_format").FORMAT
    yield ".toy"
    formats.unregister(known)


def check_explanations(
    model: Any, domain: ax.Domain, rows: pd.DataFrame, like: Any, folder: Path, *, target: str = "auto"
) -> None:
    """Check that a model is explained through every door as `like` is, over the same domain, and that it is proved."""
    expected = [ax.Explainer(like, domain).explain(row) for _, row in rows.iterrows()]
    made = ax.Explainer(model, domain, target=target)
    saved = [made.explain_to(folder / f"out.{suffix}", rows) for suffix in ("jsonl", "parquet")]
    documents = [ax.Explanation.from_json(e.to_json()) for e in made.explain_batch(rows)]
    for found in ([made.explain(row) for _, row in rows.iterrows()], made.explain_batch(rows), *saved, documents):
        assert [(e.prediction, e.cxps, e.scores()) for e in found] == [
            (e.prediction, e.cxps, e.scores()) for e in expected
        ]
        page = report_html(found if found in saved else found[0])
        assert all(f"<bdi>{name}</bdi>" in page for name in expected[0].relevant)
        assert all(ax.verify(e, model).ok for e in found)


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    capsys.readouterr()  # what was printed before
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def check_every_command(model: Path, folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    """Check that each command takes a model file; return what ``explain`` prints for the last row."""
    data, one, many = folder / "data.csv", folder / "one.json", folder / "many.jsonl"
    ROWS.to_csv(data, index=False)
    given = (model, data, *options)
    document = printed(capsys, "explain", *given, "--row", len(ROWS) - 1)
    one.write_text(json.dumps(document))
    assert printed(capsys, "batch", *given, "--out", many)["rows"] == len(ROWS)
    for result in (one, many):
        assert main(["verify", str(result), str(model), *options]) == 0
    for inputs in (given, (many,)):
        assert main(["report", *map(str, inputs), "--out", str(folder / "page.html")]) == 0
        assert "<bdi>a</bdi>" in (folder / "page.html").read_text()
    assert printed(capsys, "compile", *given, "--save", folder / "again.nnf")["count"] > 0
    assert all(row["agrees"] for row in printed(capsys, "sizes", *given, "--orders", "given")["rows"])
    assert printed(capsys, "info", model)["kind"] in ("circuit", "pickle")
    return document


def test_a_reader(signpost: Any, tmp_path: Path) -> None:
    check_explanations(signpost, DOMAIN, ROWS, lambda p: "low" if p[0] <= 0.5 else "high", tmp_path)
    compiled = ax.compile_model(signpost, DOMAIN, output="high")
    compiled.save(tmp_path / "high.nnf")
    assert queries.count(ax.load_circuit(tmp_path / "high.nnf")) == compiled.count() == 8
    assert ax.compare_sizes(signpost, DOMAIN, output="high", orders=["given"])["agrees"].all()
    with pytest.raises(UnsupportedModelError, match=r"builtins\.object was given; give a Python function"):
        ax.Explainer(object(), DOMAIN)


def test_a_model_with_a_reader_is_still_asked(signpost: Any) -> None:
    explainer = ax.Explainer(signpost, DOMAIN)
    assert explainer.explain((1, 0, 0)).prediction == "high"
    signpost.cut = 2.0  # what was read is no longer what predicts
    with pytest.raises(RoundingError, match="'high', but it gives 'low'"):
        explainer.explain((1, 0, 0))


def test_a_reader_on_the_command_line(signpost: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(signpost))
    document = check_every_command(tmp_path / "model.pickle", tmp_path, capsys, "--allow-pickle")
    assert (document["prediction"], [c["features"] for c in document["cxps"]]) == ("high", [["a"]])


def test_a_target(toy_target: str, tmp_path: Path) -> None:
    check_explanations(decide, DOMAIN, ROWS, decide, tmp_path, target=toy_target)
    compiled = ax.compile_model(decide, DOMAIN, target=toy_target, shade="blue")
    assert isinstance(compiled.target, Target)
    assert compiled.target.shade == "blue"
    assert compiled.condition({"a": 2}).language == "toy"
    compiled.save(tmp_path / "model.nnf")
    assert queries.count(ax.load_circuit(tmp_path / "model.nnf")) == compiled.count() == 6
    frame = ax.compare_sizes(decide, DOMAIN, orders=["given"], reorder=True)
    assert frame[frame.target == "toy"][["order", "agrees"]].to_numpy().tolist() == [["given", True]]
    assert "toy" in queries.languages_for("counting")


@pytest.mark.usefixtures("toy_target")
def test_messages_know_a_target() -> None:
    with pytest.raises(UnsupportedTargetError, match="'ddnnf', 'toy'"):
        ax.compile_model(decide, DOMAIN, target="no such target")
    with pytest.raises(UnsupportedTargetError, match=r"'auto', 'mdd', .*'toy'"):
        ax.Explainer(decide, DOMAIN, target="no such target")
    with pytest.raises(CircuitError, match="'toy' takes order, shade, budget, but code was given"):
        ax.compile_model(decide, DOMAIN, target="toy", code="binary")
    with pytest.raises(CircuitError, match="expected the target 'obdd', but found 'toy'"):
        ax.compile_model(decide, DOMAIN, target="toy").save("model.dddmp")


@pytest.mark.usefixtures("toy_target")
def test_a_target_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = tmp_path / "model.nnf", tmp_path / "data.csv"
    ax.compile_model(decide, DOMAIN).save(model)
    ROWS.to_csv(data, index=False)
    assert printed(capsys, "compile", model, data, "--to", "toy", "--save", tmp_path / "toy.nnf")["language"] == "toy"
    assert printed(capsys, "info", tmp_path / "toy.nnf")["columns"] == 3
    found = printed(capsys, "sizes", model, data, "--to", "mdd", "toy", "--orders", "given")
    assert [(row["target"], row["agrees"]) for row in found["rows"]] == [("mdd", True), ("toy", True)]
    assert "toy" in {row["target"] for row in printed(capsys, "sizes", model, data, "--orders", "given")["rows"]}


@pytest.fixture
def new_workers() -> Iterator[None]:
    """Worker processes that were started before something was installed do not find it."""
    get_reusable_executor().shutdown()
    yield
    get_reusable_executor().shutdown()


@pytest.mark.usefixtures("new_workers")
def test_a_score(toy_score: str, tmp_path: Path) -> None:
    check_doors(toy_score, tmp_path)
    saved = explainer().explain_to(tmp_path / "two.jsonl", TABLE, kinds=[toy_score, "ffa"], n_jobs=2)
    assert stated_scores(saved, toy_score) == [e.scores(toy_score) for e in explainer().explain_batch(TABLE)]


def test_a_score_in_means_and_pictures(toy_score: str, tmp_path: Path) -> None:
    check_means_and_pictures(toy_score, tmp_path)


def test_a_score_on_the_command_line(toy_score: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_commands(toy_score, tmp_path, capsys)


def test_the_checker_says_that_it_does_not_know_a_score(toy_score: str) -> None:
    """It shares no code with what it checks, so a score is defined there once more, or is not checked."""
    e = ax.Explanation.from_json(explainer().explain(TABLE.iloc[0]).to_json(kinds=[toy_score]))
    report = ax.verify(e, explainer().model)
    assert report.ok
    assert not report.complete


def test_a_format(toy_format: str, tmp_path: Path) -> None:
    compiled = ax.compile_model(decide, DOMAIN, target="obdd")
    compiled.save(tmp_path / f"saved{toy_format}")
    ax.save_circuit(compiled.circuit, tmp_path / f"circuit{toy_format}", code="binary")
    for name in ("saved", "circuit"):
        for domain in (None, DOMAIN):
            circuit = ax.load_circuit(tmp_path / f"{name}{toy_format}", domain)
            assert queries.count(circuit) == compiled.count()
    model = ax.CircuitModel.of(circuit)
    check_explanations(model, DOMAIN, ROWS, lambda p: bool(decide(p)), tmp_path)
    assert ax.compare_sizes(model, DOMAIN, orders=["given"])["agrees"].all()


@pytest.mark.usefixtures("toy_format")
def test_messages_know_a_format(tmp_path: Path) -> None:
    circuit = ax.compile_model(decide, DOMAIN).circuit
    with pytest.raises(ModelFileError, match=r"one of the suffixes .*\.toy"):
        ax.save_circuit(circuit, tmp_path / "a.other")
    with pytest.raises(CircuitError, match=r"or save as .nnf or .cnf or .toy"):
        ax.save_circuit(circuit, tmp_path / "a.sdd")


def test_a_format_on_the_command_line(toy_format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, again = tmp_path / f"model{toy_format}", tmp_path / f"again{toy_format}"
    ax.compile_model(decide, DOMAIN).save(model)
    document = check_every_command(model, tmp_path, capsys)
    assert {tuple(c["features"]) for c in document["cxps"]} == {("b",), ("c",)}
    assert printed(capsys, "compile", model, tmp_path / "data.csv", "--save", again)["count"] == 6
    assert again.read_text() == model.read_text()
    with pytest.raises(SystemExit):
        main(["compile", "--help"])
    assert toy_format in capsys.readouterr().out


def test_what_was_taken_back_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "signposts" not in READERS
    assert "toy" not in {*targets.TARGETS, *queries.LANGUAGES, *SCORES}
    assert ".toy" not in formats.FORMATS
    with pytest.raises(ModelFileError, match="suffixes"):
        ax.load_circuit(tmp_path / "a.toy")
    with pytest.raises(SystemExit):
        main(["compile", "model.nnf", "data.csv", "--to", "toy"])
    assert "invalid choice: 'toy'" in capsys.readouterr().err
