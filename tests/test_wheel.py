"""The built wheel holds exactly one top-level package, complete."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("the wheel is built from a git checkout")
    for name in tracked.stdout.splitlines():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        elif (ROOT / name).exists():
            target.write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def modules(*folders: str) -> set[str]:
    return {p.relative_to(ROOT).as_posix() for f in folders for p in (ROOT / f).rglob("*.py")}


def test_only_top_level_package(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"axfi_kc"}


def test_every_module_is_there(wheel: zipfile.ZipFile) -> None:
    expected = modules("axfi_kc") | {f"axfi_kc/{name}" for name in modules("compilers")}
    assert {n for n in wheel.namelist() if n.endswith(".py")} == expected
    assert "axfi_kc/py.typed" in wheel.namelist()
