"""Damaged files that the parsers of LightGBM and XGBoost die of: the command says so, and lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.cli import main, own_process
from axfi_kc.errors import ModelFileError
from benchmarks import native_files

ROOT = Path(__file__).resolve().parents[2]


def _changed(library: str, change: str) -> tuple[bytes, bytes]:
    """Return a valid file, and the same with one thing changed that our own reader has no use for."""
    if library == "xgboost":
        valid = native_files.xgboost_files()[0]
        document = json.loads(valid)
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            tree[change] = [10**6] * len(tree[change])
        return valid, json.dumps(document).encode()
    valid = native_files.lightgbm_files()[0]
    key = change.partition("=")[0]
    lines = valid.decode().split("\n")
    place = next(k for k, line in enumerate(lines) if line.startswith(f"{key}="))
    return valid, "\n".join([*lines[:place], change, *lines[place + 1 :]]).encode()


@pytest.mark.parametrize(
    ("library", "change"),
    [
        ("lightgbm", "num_class=3 3"),
        ("lightgbm", "shrinkage=1e400"),
        ("lightgbm", "leaf_count="),
        ("xgboost", "parents"),
    ],
)
def test_the_least_files_that_ended_the_process(
    library: str, change: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(library)
    valid, altered = _changed(library, change)
    model = tmp_path / ("model.txt" if library == "lightgbm" else "model.json")
    result = native_files.explained(library, valid, tmp_path)
    model.write_bytes(altered)
    # In this very process: if the library met the file here, there would be no test to report.
    status = main(["verify", str(result), str(model), "--points", "2000"])
    said = capfd.readouterr().err
    assert status == 1
    assert said.startswith("axfi-kc: ")
    assert said.count("\n") == 1
    if library == "xgboost":  # of LightGBM's files our own reader sees that a tree is not as long as they say
        assert f"{own_process.LIBRARIES[library]} should load" in said or sys.platform != "linux"


def test_dozens_of_altered_files() -> None:
    """Children are forked, so this is for a process of its own: libraries that have used threads cannot be."""
    pytest.importorskip("lightgbm")
    pytest.importorskip("xgboost")
    script = "import sys; from benchmarks.native_files import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-c", script, "--inputs", "24", "--seed", "3", "--unsaved"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["inputs"] for f in found] == [24, 24]
    assert any("died SIG" in kind for kind in found[0]["kinds"])  # the test can fail
    assert not any("status" in kind for f in found for kind in f["kinds"])  # and no child fails by itself
    assert all({"held", "did not hold"} & set(f["kinds"]) for f in found)


@pytest.mark.slow
def test_all_altered_files() -> None:
    script = "import sys; from benchmarks.native_files import main; sys.exit(main(['--unsaved']))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


_CHILD = """
import hashlib, json, os, sys
asked = json.loads(sys.argv[1]); sys.path[:] = asked["path"]
from axfi_kc.cli import own_process
def checked(asked):
    {}
own_process._SECONDS, own_process.checked = 2, checked
own_process.serve(asked)
"""


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("os.kill(os.getpid(), 9)", r"ended the process \(SIGKILL\)"),
        ("os._exit(3)", "status 3"),
        ("_ = bytearray(9 << 30)", "MemoryError"),
        ("raise KeyError('leaf')", "KeyError"),
        ("hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)", "did not come back within 2 seconds"),
    ],
)
def test_whatever_becomes_of_the_child(
    ending: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("limits are set where systems have them")
    (tmp_path / "model.txt").write_text("tree\n")
    child = _CHILD.format(ending)
    monkeypatch.setattr(own_process, "_CHILD", child)
    monkeypatch.setattr(own_process, "_SECONDS", 2)
    with pytest.raises(ModelFileError, match=words):
        own_process.check_apart({"kind": "lightgbm", "model": str(tmp_path / "model.txt"), "result": "none"})


def test_errors_of_the_child_are_errors_of_ours(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("tree\n")
    asked = {"kind": "lightgbm", "model": str(tmp_path / "model.txt"), "missing": None, "result": "none", "rows": None}
    with pytest.raises(ax.AxfiError):
        own_process.check_apart({**asked, "seconds": None, "points": None})


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set where systems have them")
@pytest.mark.parametrize("limit", ["-v", "-S -v"])
def test_the_limit_of_the_system_holds(limit: str, tmp_path: Path) -> None:
    """As on clusters: it is less than the child would allow itself, and enough."""
    pytest.importorskip("xgboost")
    valid = native_files.xgboost_files()[0]
    (model := tmp_path / "model.json").write_bytes(valid)
    result = native_files.explained("xgboost", valid, tmp_path)
    command = [sys.executable, "-m", "axfi_kc.cli", "verify", str(result), str(model)]
    script = f'ulimit {limit} 4000000; exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "proved" in done.stdout
