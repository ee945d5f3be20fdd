"""What the documents say is what happens."""

from __future__ import annotations

import ast
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import pytest

import axfi_kc as ax

ROOT = Path(__file__).resolve().parents[1]
DIFF = re.compile(r"^```diff\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [p for p in DOCUMENTS if BLOCK.search(p.read_text())]
SHOWN = {"Fraction": Fraction, "CXp": ax.CXp, "AXp": ax.AXp}


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_code_runs_and_comments_hold(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a page's blocks, one after the other; a comment that is the repr of its expression's value must be it."""
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    scope: dict[str, object] = {"__name__": "page"}
    for code in BLOCK.findall(path.read_text()):
        lines = code.splitlines()
        for statement in ast.parse(code).body:
            source = compile(ast.Module([statement], []), path.name, "exec")
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), path.name, "eval"), scope)
                check(value, lines[statement.end_lineno - 1], f"{path.name}: {ast.unparse(statement)}")
            else:
                exec(source, scope)


def check(value: object, line: str, what: str) -> None:
    _, hash_sign, comment = line.partition("  # ")
    try:
        expected = eval(comment, dict(SHOWN)) if hash_sign else None
    except (SyntaxError, NameError, AttributeError):
        return  # words, not a value
    if hash_sign:
        assert value == expected, what


@pytest.mark.parametrize(
    "diff", DIFF.findall((ROOT / "CONTRIBUTING.md").read_text()), ids=lambda d: d.splitlines()[1][6:]
)
def test_examples_of_contributions_still_apply(diff: str) -> None:
    done = subprocess.run(["git", "apply", "--check", "-"], cwd=ROOT, input=diff, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_there_are_pages_to_run() -> None:
    assert len(PAGES) >= 8


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
