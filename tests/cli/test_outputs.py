"""Commands never write over what they read, nor over what they did not write, and leave nothing half written."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.cli import main
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import DomainError

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    ax.compile_model(lambda p: p[0] and (p[1] or p[2]), domain, output=1, target="obdd").save(tmp_path / "model.dddmp")
    pd.DataFrame(list(domain.points()), columns=list("abc")).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "note.txt").write_text("mine")
    (tmp_path / "boosted.json").write_text('{"learner": {}, "level_of_var": 1}')
    (tmp_path / "rules.json").write_text('{"rules": []}')
    return tmp_path


_OLD_PAGE = "<!DOCTYPE html>\n<html><head><meta content=\"default-src 'none'; style-src 'sha256-x'\"/>old"


def run(folder: Path, *arguments: str) -> int:
    return main([str(folder / a) if "." in a and not a.startswith("-") else a for a in arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


OVER_INPUTS = [
    ("report", "model.dddmp", "data.csv", "--out", "data.csv"),
    ("report", "model.dddmp", "data.csv", "--out", "model.dddmp"),
    ("report", "model.dddmp", "data.csv", "--out", "data.csv", "--force"),
    ("report", "model.dddmp", "data.csv", "--rules", "rules.json", "--out", "rules.json"),
    ("report", "model.dddmp", "data.csv", "--domain", "note.txt", "--out", "note.txt"),
    ("report", "model.dddmp", "data.csv", "--distribution", "note.txt", "--out", "note.txt"),
    ("report", "results.jsonl", "--out", "results.jsonl"),
    ("explain", "model.dddmp", "data.csv", "--report", "data.csv"),
    ("explain", "model.dddmp", "data.csv", "--circuit", "model.dddmp"),
    ("compile", "model.dddmp", "data.csv", "--save", "model.dddmp"),
    ("compile", "model.dddmp", "data.csv", "--picture", "data.csv"),
    ("sizes", "model.dddmp", "data.csv", "--save", "data.csv"),
    ("sensitivity", "model.dddmp", "data.csv", "--features", "a", "--save", "model.dddmp"),
    ("count", "model.dddmp", "--to", "mdd", "--save", "model.dddmp"),
    ("rules", "data.csv", "--out", "data.csv"),
    ("batch", "model.dddmp", "data.csv", "--out", "data.csv"),
]


@pytest.mark.parametrize("arguments", OVER_INPUTS, ids=" ".join)
def test_no_command_writes_over_what_it_reads(
    folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "results.jsonl").write_text("{}\n")
    before = contents(folder)
    assert run(folder, *arguments) == 1
    assert "which this command reads" in capsys.readouterr().err
    assert contents(folder) == before


def test_links_to_inputs_are_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.link(folder / "data.csv", folder / "other.html")
    (folder / "soft.html").symlink_to(folder / "data.csv")
    before = contents(folder)
    for out in ("other.html", "soft.html"):
        assert run(folder, "report", "model.dddmp", "data.csv", "--out", out, "--force") == 1
        assert "which this command reads" in capsys.readouterr().err
    assert contents(folder) == before


def test_the_vtree_beside_a_diagram_is_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    ax.compile_model(lambda p: p[0] and p[1], domain, output=1, target="sdd").save(folder / "model.sdd")
    (folder / "other.sdd").symlink_to("nowhere.sdd")
    os.link(folder / "model.vtree", folder / "more.vtree")
    before = contents(folder)
    assert run(folder, "compile", "model.sdd", "data.csv", "--to", "sdd", "--save", "more.sdd") == 1
    assert "more.vtree would be written over" in capsys.readouterr().err
    assert contents(folder) == before


OTHER_KINDS = [
    ("report", "model.dddmp", "data.csv", "--rows", "2", "--out", "note.txt"),
    ("compile", "model.dddmp", "data.csv", "--to", "obdd", "--save", "boosted.json"),
    ("rules", "data.csv", "--out", "note.txt"),
]


@pytest.mark.parametrize("arguments", OTHER_KINDS, ids=" ".join)
def test_files_of_another_kind_need_force(
    folder: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before, name = contents(folder), arguments[-1]
    assert run(folder, *arguments) == 1
    assert "add --force" in capsys.readouterr().err
    assert contents(folder) == before
    assert run(folder, *arguments, "--force") == 0
    assert run(folder, *arguments) == 0  # it is one of ours now
    after = contents(folder)
    assert after.pop(name) != before.pop(name)
    assert after == before


def test_the_vtree_beside_a_diagram_is_an_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "new.vtree").write_text("notes of mine")
    wanted = ("compile", "model.dddmp", "data.csv", "--to", "sdd", "--save", "new.sdd")
    assert run(folder, *wanted) == 1
    assert "new.vtree exists and is no circuit" in capsys.readouterr().err
    assert (folder / "new.vtree").read_text() == "notes of mine"
    assert run(folder, *wanted, "--force") == 0
    assert run(folder, *wanted) == 0  # over what it wrote itself


FOREIGN = {
    "mine.nnf": "notes on nnf files",
    "letters.nnf": "c is the third letter\nand d the fourth\n",
    "mine.cnf": "c.f. what I wrote\n",
    "server.cnf": "[server]\nport = 80\n",
    "mine.sdd": "c by hand\n\nsome text\n",
    "mine.dddmp": ".version of mine",
    "graph.json": '{"nodes": [1, 2], "links": []}',
    "settings.json": '{"rules": {"semi": "error"}}',
    "index.html": "<!DOCTYPE html>\n<html><body>my page</body></html>",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_text_of_somebody_else_is_not_replaced(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever its name says."""
    (folder / name).write_text(FOREIGN[name])
    to = {".sdd": "sdd", ".dddmp": "obdd", ".json": "obdd"}.get(Path(name).suffix, "mdd")
    wanted = ["compile", "model.dddmp", "data.csv", "--to", to, "--save", name]
    if name == "settings.json":
        wanted = ["rules", "data.csv", "--out", name]
    if name == "index.html":
        wanted = ["report", "model.dddmp", "data.csv", "--rows", "2", "--out", name]
    assert run(folder, *wanted) == 1
    assert "that this command writes; name another file, or add --force" in capsys.readouterr().err
    assert (folder / name).read_text() == FOREIGN[name]
    assert run(folder, *wanted, "--force") == 0
    assert run(folder, *wanted) == 0  # over what it wrote itself


def test_long_descriptions_are_known(folder: Path) -> None:
    """Of many features, which fill more than the beginning of a file."""
    names = [f"a feature of a long name, number {i}" for i in range(60)]
    pd.DataFrame([[0] * 60, [1] * 60], columns=names).to_csv(folder / "wide.csv", index=False)
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(name, 0, 1) for name in names])))
    ax.save_circuit(build.circuit(build.literal(0, [1])), folder / "wide.nnf")
    for name in ("other.nnf", "other.cnf"):
        for _ in range(2):
            assert run(folder, "compile", "wide.nnf", "wide.csv", "--save", name) == 0
        assert (folder / name).read_bytes()[:4096].count(b"\nnnf ") == 0


def test_a_disk_that_is_full_leaves_the_old_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "page.html").write_text(_OLD_PAGE)
    before = contents(folder)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("axfi_kc.durable_files.Disk.write", full)
    assert run(folder, "report", "model.dddmp", "data.csv", "--rows", "2", "--out", "page.html") == 1
    assert contents(folder) == before


def test_a_page_and_a_circuit_at_one_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("explain", "model.dddmp", "data.csv", "--report", "x.nnf", "--circuit", "x.nnf")
    assert run(folder, *arguments) == 1
    assert "named for two outputs, --report and --circuit" in capsys.readouterr().err


def test_numbers_of_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, flag, value in (("batch", "--rows", "-5"), ("report", "--rows", "0"), ("explain", "--row", "-1")):
        with pytest.raises(SystemExit) as ended:
            run(folder, command, "model.dddmp", "data.csv", flag, value)
        assert ended.value.code == 2
        assert f"but '{value}' was given" in capsys.readouterr().err


def test_a_page_about_results_takes_rows_and_refuses_the_rest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "batch", "model.dddmp", "data.csv", "--out", "results.jsonl") == 0
    pages = {}
    for name, asked in (("all", []), ("three", ["--rows", "3"]), ("one", ["--row", "5"])):
        assert run(folder, "report", "results.jsonl", *asked, "--out", f"{name}.html") == 0
        pages[name] = (folder / f"{name}.html").read_text()
    assert len({*pages.values()}) == 3
    assert len(pages["three"]) < len(pages["all"])
    capsys.readouterr()
    for asked in (["--weights", "unit"], ["--max-size", "2"], ["--target", "a"], ["--n-jobs", "2"], ["--missing", "0"]):
        assert run(folder, "report", "results.jsonl", *asked, "--out", "none.html") == 1
        assert f"holds results, which {asked[0]} cannot change" in capsys.readouterr().err
    assert run(folder, "report", "results.jsonl", "--row", "8", "--out", "none.html") == 1
    assert "The rows are 0, 1, 2, 3, 4, 5, 6, 7, but row 8 was asked for" in capsys.readouterr().err
    assert not (folder / "none.html").exists()


def test_a_run_that_is_not_finished_is_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By what verifies it and reports it."""
    assert run(folder, "batch", "model.dddmp", "data.csv", "--out", "results.jsonl") == 0
    assert "8 rows explained" in capsys.readouterr().out
    file = folder / "results.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:4]))
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    ax.compile_model(lambda p: p[0] and (p[1] or p[2]), domain, output=1).save(folder / "model.nnf")
    for asked, words in (
        ([], "checked 3 of 8 rows: the run is not finished"),
        (["--rows", "2"], "checked 2 of 8 rows"),
    ):
        capsys.readouterr()
        assert run(folder, "verify", "results.jsonl", "model.nnf", *asked) == 0
        assert capsys.readouterr().out.splitlines()[-1] == words
    assert run(folder, "verify", "results.jsonl", "model.nnf", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rows_of_run"] == 8
    for asked in ([], ["--rows", "5"]):
        assert run(folder, "report", "results.jsonl", *asked, "--out", "page.html") == 0
        assert "3 of 8 rows: the run is not finished" in (folder / "page.html").read_text()
    assert run(folder, "report", "results.jsonl", "--rows", "2", "--out", "page.html") == 0
    assert "not finished" not in (folder / "page.html").read_text()


def test_paths_with_nul_are_bad_usage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["info", "a\0b"], ["report", "a", "b", "--out", "c\0d"], ["verify", "a\0", "b"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert "no character NUL" in capsys.readouterr().err


def test_messages_do_not_repeat_megabytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    huge = "x" * 1_000_000
    with pytest.raises(DomainError) as caught:
        ax.Domain([ax.Integer(huge, 1, 0)])
    assert len(str(caught.value)) <= 600
    (folder / "data.csv").write_text(f"{huge},b,c\n0,1,0\n")
    for arguments in (["--target", "y" * 100_000], ["--bounds", huge[:100_000]]):
        assert run(folder, "explain", "model.dddmp", "data.csv", *arguments) == 1
        assert len(capsys.readouterr().err) < 700
    with pytest.raises(SystemExit):
        run(folder, "explain", "model.dddmp", "data.csv", "--weights", huge[:100_000])
    assert len(capsys.readouterr().err.splitlines()[-1]) < 700


class _Ascii(io.TextIOWrapper):
    """A terminal that has nothing but ASCII."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="ascii")

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("ascii")  # type: ignore[attr-defined]


def test_names_on_a_terminal_without_their_letters(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = ax.Domain([ax.Integer("größe", 0, 1), ax.Integer("b", 0, 1)])
    ax.compile_model(lambda p: p[0], domain, output=1, target="mdd").save(folder / "named.nnf")
    pd.DataFrame(list(domain.points()), columns=["größe", "b"]).to_csv(folder / "named.csv", index=False)
    found: dict[str, str] = {}
    for which, more in (("text", []), ("json", ["--json"])):
        terminal = _Ascii()
        monkeypatch.setattr(sys, "stdout", terminal)
        assert run(folder, "explain", "named.nnf", "named.csv", *more) == 0
        found[which] = terminal.text
    assert r"gr\xf6\xdfe" in found["text"]
    assert json.loads(found["json"])["cxps"] == [{"features": ["größe"], "weight": "1/2"}]


def test_messages_cannot_steer_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "explain", "model.dddmp", "data.csv", "--target", "\x1b[2J\x1b]0;x\x07") == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_page_about_results_takes_labels_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explainer = ax.Explainer(lambda p: p[0] > 1, ax.Domain([ax.Integer("a", 0, 3)]))
    explainer.explain_to(tmp_path / "rows.jsonl", pd.DataFrame({"a": [0, 3]}, index=["007", "7"]))
    for label in ("007", "7"):
        assert run(tmp_path, "report", "rows.jsonl", "--row", label, "--out", f"{label}.html") == 0
        assert f"<dt>row</dt><dd><bdi>{label}</bdi>" in (tmp_path / f"{label}.html").read_text(encoding="utf-8")
    assert run(tmp_path, "report", "rows.jsonl", "--row", "07", "--out", "none.html") == 1
    assert "row '07' was asked for" in capsys.readouterr().err
