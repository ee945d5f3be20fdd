"""The page to explore, without a browser: what it holds, what it leaves out, and what it refuses."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, FileWriteError


def answers(html: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', html)
    return json.loads(text)


def majority(n: int, **options: Any) -> ax.Explanation:
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(n)])
    return ax.Explainer(lambda p: sum(p) > n // 2, domain, **options).explain([1] * n)


def test_all_cxps_with_their_weights() -> None:
    e = majority(5)
    (row,) = answers(ax.explore_html(e))["rows"]
    (step,) = row["steps"]
    assert {tuple(f"x{k}" for k in c[0]): Fraction(c[1]) for c in step["cxps"]} == {
        c.features: c.weight for c in e.cxps
    }
    assert (step["reach"], step["complete"], row["note"]) == (3, True, "")
    assert all(int(step["denominator"]) % Fraction(c[1]).denominator == 0 for c in step["cxps"])


def test_what_does_not_fit_is_said() -> None:
    e = majority(9)
    row = answers(ax.explore_html(e, max_bytes=500))["rows"][0]
    assert row["steps"][0]["cxps"] == []
    assert (row["steps"][0]["reach"], row["steps"][0]["complete"]) == (4, False)  # of fewer than five there is none
    assert row["note"] == "This row has 126 CXps, too many for this page; allow more max_bytes, or write fewer rows."
    rows = [e] * 3
    html = ax.explore_html(rows, max_rows=2)
    assert len(answers(html)["rows"]) == 2
    assert "1 row more, not on this page: max_rows=2." in html


def test_a_limit_of_sizes_is_the_end_of_the_slider() -> None:
    step = answers(ax.explore_html(majority(5, max_size=4)))["rows"][0]["steps"][0]
    assert (step["reach"], step["complete"]) == (4, False)
    step = answers(ax.explore_html(majority(5, max_size=5)))["rows"][0]["steps"][0]
    assert (step["reach"], step["complete"]) == (3, True)


def test_what_does_not_fit_is_not_said_to_be_absent() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    e = ax.Explainer(lambda p: p[0] > 0 and p[1] > 0, domain).explain((2, 2))
    step = answers(ax.explore_html(e, max_bytes=1))["rows"][0]["steps"][0]
    assert (step["reach"], step["complete"], step["cxps"]) == (0, False, [])


def test_nothing_to_change() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    e = ax.Explainer(lambda p: p[0] > 0 or p[1] > 0, domain, within=ax.Region(frozen=["a"])).explain((2, 2))
    step = answers(ax.explore_html(e))["rows"][0]["steps"][0]
    assert (step["reach"], step["complete"], step["cxps"]) == (0, True, [])


def test_what_is_refused() -> None:
    e = majority(3)
    for options, words in {
        ("kinds", ("ffa",)): "'ffa' is none",
        ("kinds", ()): "at least one score",
        ("paths", (None, None)): "one for each of 1 rows, but 2",
        ("max_rows", 0): "max_rows",
    }.items():
        with pytest.raises(DomainError, match=words):
            ax.explore_html(e, **dict([options]))
    with pytest.raises(DomainError, match="needs an explanation"):
        ax.explore_html([])
    with pytest.raises(FileWriteError, match="cannot be written"):
        ax.write_explore(e, "/none/e.html")
