"""What the documents say is what happens."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [(p.relative_to(ROOT).as_posix(), code) for p in DOCUMENTS for code in BLOCK.findall(p.read_text())]


@pytest.mark.parametrize(("name", "code"), BLOCKS)
def test_code_blocks_run_and_comments_hold(name: str, code: str) -> None:
    """Run each block; where an expression is followed by a comment that is its repr, compare."""
    scope: dict[str, object] = {}
    for statement, comment in _statements(code):
        try:
            expected = eval(comment, {"Fraction": Fraction, "CXp": __import__("axfi_kc").CXp})
        except (SyntaxError, NameError):
            exec(statement, scope)
        else:
            assert eval(statement, scope) == expected, f"{name}: {statement}"


def _statements(code: str) -> list[tuple[str, str]]:
    found = []
    for line in code.splitlines():
        statement, _, comment = line.partition("  # ")
        if statement.strip():
            found.append((statement.strip(), comment.strip()))
    return found


def test_there_are_blocks_to_run() -> None:
    assert any(name == "README.md" for name, _ in BLOCKS)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
