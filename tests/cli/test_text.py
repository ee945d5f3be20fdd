"""Tables and JSON that the command prints."""

from __future__ import annotations

import io
import sys
from fractions import Fraction

import pytest

from axfi_kc.cli.text import as_json, text_table


def test_tables_cannot_steer_the_terminal() -> None:
    (_, _, line) = text_table(("name",), [("\x1b[2J\nx",)])
    assert line == "\ufffd[2J\ufffdx"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Fraction(2, 4), "1/2"),
        (2**54, str(2**54)),
        (float("nan"), "nan"),
        ((1, None), [1, None]),
        ({1: True}, {"1": True}),
    ],
)
def test_json_is_exact(value: object, found: object) -> None:
    assert as_json(value) == found


NAMES = ", ".join(f"the {k}th name of many" for k in range(40))


def test_files_and_pipes_get_whole_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, io.StringIO(), object()):
        monkeypatch.setattr(sys, "stdout", stream)
        assert text_table(("weight", "AXp"), [("0.5", NAMES)])[-1] == f"0.5     {NAMES}"


@pytest.mark.parametrize(("columns", "longest"), [(80, 110), (110, 110), (200, 200)])
def test_a_terminal_gets_whole_words(columns: int, longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = text_table(("weight", "AXp"), [("0.5", NAMES), ("1", "age, sex")])
    shown, left_out = lines[2][8:-1], lines[2][-1]
    assert longest - 10 < len(shown) < longest
    assert (left_out, NAMES.startswith(shown), shown[-1]) == ("…", True, " ")
    assert lines[3] == "1       age, sex"
    assert text_table(("name",), [("x" * 500,)])[-1] == "x" * (longest - 1) + "…"
