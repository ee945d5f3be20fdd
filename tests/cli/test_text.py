"""Tables and JSON that the command prints."""

from __future__ import annotations

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
