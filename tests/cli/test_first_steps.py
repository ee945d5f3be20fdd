"""What ``axfi-kc`` says without arguments, and the scripts with which shells complete it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from axfi_kc.cli import main
from axfi_kc.cli.completion import SHELLS, completion_script
from axfi_kc.cli.first_steps import first_steps
from axfi_kc.cli.main import parser


def test_without_arguments_it_says_what_to_do_next(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "axfi-kc demo" in said.out
    assert "skops.io.dump(model" in said.out


def test_it_names_the_files_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "my data.csv").write_text("a,b\n1,2\n")
    (tmp_path / "results.json").write_text('{"format": "axfi-kc explanation"}')
    assert "save it" in first_steps(tmp_path)  # results are no model
    (tmp_path / "model.json").write_text('{"learner": {}}')
    assert "axfi-kc explain model.json 'my data.csv' --row 0" in first_steps(tmp_path)
    assert "save it" in first_steps(tmp_path / "nowhere")


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "\x1b[2Jx.csv").write_text("a\n1\n")
    (tmp_path / "m.ubj").write_bytes(b"{")
    assert "\x1b" not in first_steps(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell: str, capsys) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "sensitivity" in script
    assert "max-size" in script
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True)
        assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes(tmp_path: Path) -> None:
    pytest.importorskip("shtab")
    (tmp_path / "script").write_text(completion_script(parser(), "bash"))
    ask = """
    source ./script
    complete_of() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_axfi_kc; echo "${COMPREPLY[*]}"; }
    complete_of axfi-kc ex; complete_of axfi-kc explain --inter; complete_of axfi-kc compile m d --to s
    touch model.skops; complete_of axfi-kc explain mod
    """
    done = subprocess.run(["bash", "-c", ask], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split("\n")[:4] == ["explain", "--interactions", "sdd", "model.skops"]
