"""What commands do with the three standard streams, and with files that are none: devices, pipes and closed ones."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.cli import main, outputs

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell, devices and pipes with names")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    model = ax.compile_model(lambda p: p[0] and (p[1] or p[2]), domain, output=1, target="ddnnf")
    model.save(made / "model.nnf")
    pd.DataFrame(list(domain.points()), columns=list("abc")).to_csv(made / "data.csv", index=False)
    (made / "clauses.cnf").write_text("p cnf 3 2\n1 2 0\n-1 3 0\n")
    assert main(["batch", str(made / "model.nnf"), str(made / "data.csv"), "--out", str(made / "old.jsonl")]) == 0
    done = started(made, f"{AXFI} explain model.nnf data.csv --row 7 --json > one.json")
    assert done.returncode == 0, done.stderr
    return made


AXFI = f"{sys.executable} -m axfi_kc.cli"
COMMANDS = {
    "help": "--help",
    "help of a command": "explain --help",
    "version": "--version",
    "explain": "explain model.nnf data.csv --row 7",
    "explain, as JSON": "explain model.nnf data.csv --row 7 --json",
    "batch": "batch model.nnf data.csv",
    "report": "report model.nnf data.csv --out page.html --force",
    "report, printed": "report model.nnf data.csv --out -",
    "verify": "verify one.json model.nnf",
    "sensitivity": "sensitivity model.nnf data.csv --features a",
    "sizes": "sizes model.nnf data.csv --to mdd",
    "compile": "compile model.nnf data.csv",
    "count": "count clauses.cnf",
    "rules": "rules data.csv",
    "info": "info",
    "completion": "completion bash",
}
EVERY = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def started(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in a folder; its status is that of the last command that fails in a pipe."""
    environment = {**os.environ, "PYTHONPATH": str(Path(ax.__file__).parents[1]), "PYTHONUNBUFFERED": ""}
    command = ["bash", "-c", f"set -o pipefail; {script}"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def status_of(command: str) -> int:
    """Return the status that a command ends with, here in this process."""
    try:
        return main(command.split())
    except SystemExit as ended:
        return int(ended.code or 0)


CLOSED = "axfi-kc: standard output is closed, so no answer could be given; redirect it, to /dev/null if need be.\n"


@EVERY
def test_a_closed_output_is_told_in_a_sentence(command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", None)
    assert status_of(command) == 1
    monkeypatch.undo()
    assert capsys.readouterr().err == CLOSED


@FULL
@EVERY
def test_an_output_that_cannot_be_written_is_an_error(command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of(command) == 1
        monkeypatch.undo()
    error = capsys.readouterr().err
    assert error.startswith(
        "axfi-kc: output cannot be written (No space left on device); free some space, or redirect it."
    )
    assert error.count("\n") == 1


@POSIX
@EVERY
def test_a_reader_that_leaves_ends_the_command_quietly(command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert status_of(command) == 0
        monkeypatch.undo()
    assert capsys.readouterr().err == ""


@EVERY
def test_neither_input_nor_errors_are_needed(command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert status_of(command) == 0
    assert capsys.readouterr().out


@POSIX
def test_streams_of_a_process_to_its_very_end(folder: Path) -> None:
    """Python looks after its streams once more when it ends."""
    done = started(folder, f"{AXFI} >&-")
    assert (done.returncode, done.stderr) == (1, CLOSED)
    done = started(folder, f"{AXFI} --help | true")
    assert (done.returncode, done.stderr) == (0, "")
    if Path("/dev/full").exists():
        done = started(folder, f"{AXFI} --help > /dev/full")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    done = started(folder, f"{AXFI} {COMMANDS['explain']} <&- 2>&-")
    assert (done.returncode, done.stdout[:12]) == (0, "prediction: ")


def test_errors_do_not_go_where_answers_go(folder: Path, capsys, monkeypatch) -> None:
    """`print` takes standard output where there is no standard error."""
    monkeypatch.chdir(folder)
    for command, status in (("explain none.nnf data.csv --json", 1), ("explain", 2)):
        monkeypatch.setattr(sys, "stderr", None)
        assert status_of(command) == status
        assert capsys.readouterr().out == ""

        class Full(io.StringIO):
            def write(self, text: str) -> int:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(sys, "stderr", Full())
        assert status_of(command) == status
        assert capsys.readouterr().out == ""


ENDLESS = {
    "model": "explain {} data.csv",
    "table": "explain model.nnf {}",
    "domain": "explain model.nnf data.csv --domain {}",
    "distribution": "explain model.nnf data.csv --distribution {}",
    "rules": "explain model.nnf data.csv --rules rules.cnf {}",
    "table of rules": "rules {}",
    "result": "verify {} model.nnf",
    "model of a result": "verify one.json {}",
    "clauses": "count {}",
    "info": "info {}",
    "saved results": "report {} --out page.html",
}


@POSIX
@pytest.mark.parametrize("command", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("suffix", ["", ".json", ".jsonl", ".csv", ".nnf"])
def test_what_may_have_no_end_is_not_read(command: str, suffix: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    pipe, device = Path(f"pipe{suffix}"), Path(f"device{suffix}")
    for path in (pipe, device):
        path.unlink(missing_ok=True)
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for path in (pipe, device):
        assert main(command.format(path).split()) == 1
        error = capsys.readouterr().err
        assert error.startswith(
            f"axfi-kc: {path} should be a file, but it is a device or a pipe, which may have no end"
        )
        assert error.count("\n") == 1


@POSIX
def test_results_do_not_go_on_in_a_pipe(folder: Path, capsys) -> None:
    os.mkfifo(pipe := folder / "run.jsonl")
    assert main(["batch", str(folder / "model.nnf"), str(folder / "data.csv"), "--out", str(pipe)]) == 1
    assert "run.jsonl should be a file, but it is a device or a pipe" in capsys.readouterr().err


@POSIX
def test_process_substitution_is_a_pipe(folder: Path) -> None:
    done = started(folder, f"{AXFI} explain model.nnf <(cat data.csv)")
    assert done.returncode == 1
    assert "which may have no end; write it to a file, or pipe it to -." in done.stderr


@POSIX
@pytest.mark.parametrize(
    ("piped", "command"),
    [
        ("data.csv", "explain model.nnf {} --row 7 --json"),
        ("data.csv", "batch model.nnf {} --json"),
        ("data.csv", "compile model.nnf {}"),
        ("data.csv", "sensitivity model.nnf {} --features a"),
        ("data.csv", "rules {} --min-support 1 --json"),
        ("one.json", "verify {} model.nnf"),
        ("clauses.cnf", "count {}"),
    ],
)
def test_standard_input_is_as_good_as_a_file(piped: str, command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    texts = []
    for name in (piped, "-"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(piped).read_bytes())))
        assert status_of(command.format(name)) == 0
        texts.append([line for line in capsys.readouterr().out.splitlines() if "seconds" not in line])
    assert texts[0] == texts[1]


@POSIX
def test_a_child_reads_standard_input_too(tmp_path: Path) -> None:
    """A model of XGBoost is loaded by a process of its own, which gets no standard input."""
    xgboost = pytest.importorskip("xgboost")
    X = pd.DataFrame({"a": [0, 1, 0, 1] * 9, "b": [0, 0, 1, 1] * 9})
    xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, X.a * X.b).save_model(tmp_path / "model.json")
    X.to_csv(tmp_path / "data.csv", index=False)
    done = started(tmp_path, f"{AXFI} explain model.json data.csv --json | {AXFI} verify - model.json")
    assert done.returncode == 0, done.stderr
    assert "proved" in done.stdout


def test_standard_input_that_is_closed_or_empty(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdin", None)
    assert status_of("explain model.nnf -") == 1
    words = "axfi-kc: Expected something on standard input, but it is closed; give a file instead of -.\n"
    assert capsys.readouterr().err == words
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert status_of("explain model.nnf -") == 1
    error = capsys.readouterr().err
    assert (error.count("\n"), "cannot be read as CSV" in error) == (1, True)


def test_standard_input_has_a_bound(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(outputs, "_MOST_PIPED", 10)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b,c\n1,0,1\n")))
    assert main(["explain", str(folder / "model.nnf"), "-"]) == 1
    assert "more than 10 bytes; write them to a file, and give that" in capsys.readouterr().err


def test_a_page_and_rules_may_be_printed(folder: Path, capsys, monkeypatch) -> None:
    """And nothing else is."""
    monkeypatch.chdir(folder)
    before = set(os.listdir())
    for more in ("--row 7", "--explore --rows 2"):
        assert status_of(f"report model.nnf data.csv {more} --out -") == 0
        out, err = capsys.readouterr()
        assert (out[:15], out[-8:], err) == ("<!DOCTYPE html>", "</html>\n", "")
    assert status_of("rules data.csv --min-support 1 --out -") == 0
    assert json.loads(capsys.readouterr().out)["format"] == "axfi-kc rules"
    assert set(os.listdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        "explain model.nnf data.csv --report -",
        "explain model.nnf data.csv --circuit -",
        "explain model.nnf data.csv --pictures -",
        "batch model.nnf data.csv --out -",
        "batch model.nnf data.csv --pictures -",
        "compile model.nnf data.csv --save -",
        "compile model.nnf data.csv --picture -",
        "sizes model.nnf data.csv --save -",
        "sensitivity model.nnf data.csv --features a --save -",
        "count clauses.cnf --to mdd --save -",
        "demo --out -",
    ],
)
def test_where_more_is_printed_a_file_is_named(command: str, folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    before = set(os.listdir())
    assert main(command.split()) == 1
    out, err = capsys.readouterr()
    assert (out, set(os.listdir())) == ("", before)
    flag = command.split()[-2]
    assert err == f"axfi-kc: {flag} names a file or a folder, but - was given, which is standard output; name one.\n"


def test_a_page_and_json_do_not_go_together(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    for command in ("report model.nnf data.csv --out - --json", "rules data.csv --out - --json"):
        assert main(command.split()) == 1
        assert capsys.readouterr() == (
            "",
            "axfi-kc: --out - and --json both take standard output; leave one of them out.\n",
        )
