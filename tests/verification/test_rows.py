"""Explanations among rows against the rows: what is right is proved, and alterations are refuted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.errors import AxfiError, UnsupportedModelError
from axfi_kc.verification import Claim
from axfi_kc.verification.report import Allowance
from axfi_kc.verification.rows import Rows
from tests.support.random_problems import random_domain


def _random_rows(rng: Random) -> tuple[ax.Domain, list[list[Any]], list[Any]]:
    domain = random_domain(rng, finite=True)
    points = list(domain.points())
    rows = [list(rng.choice(points)) for _ in range(rng.randint(2, 30))]
    known = {tuple(row): rng.choice("abc") for row in rows}
    return domain, rows, [known[tuple(row)] for row in rows]


def test_random_rows_are_proved_and_alterations_refuted() -> None:
    rng, checked = Random("rows"), 0
    while checked < 40:
        domain, rows, outputs = _random_rows(rng)
        options: dict[str, Any] = {"weights": rng.choice(("ratio", "count", "unit"))}
        options |= {"max_size": rng.choice((None, None, 1, 2))}
        options |= {"toward": rng.choice([y for y in "abc" if y in outputs])} if rng.random() < 0.3 else {}
        try:
            e = ax.explain_among(rows, outputs, rows[0], domain=domain, **options)
        except AxfiError:  # it has the class that is asked about
            continue
        report = ax.verify(e, (rows, outputs))
        assert report.complete, report
        assert report.reading == "the rows themselves"
        if e.cxps:
            _alterations_are_refuted(Claim.of(e), (rows, outputs))
            checked += 1


def _failed(claim: Claim, given: Any) -> bool:
    rows = Rows(claim, given, Allowance.of(None))
    return any(check.status == "failed" for check in (rows.prediction(), *rows.checks()))


def _alterations_are_refuted(claim: Claim, given: Any) -> None:
    first, weight = next(iter(claim.cxps.items()))
    rest = {cxp: w for cxp, w in claim.cxps.items() if cxp != first}
    assert not _failed(claim, given)
    assert _failed(replace(claim, cxps=rest), given)
    assert _failed(replace(claim, cxps={first: weight + Fraction(1, 7), **rest}), given)
    assert _failed(replace(claim, prediction="another"), given)
    names = frozenset(claim.domain.names)
    if first != names:
        assert _failed(replace(claim, cxps={names: weight, **rest}), given)


def test_what_is_told_is_not_proved_and_wrong_rows_are_refused() -> None:
    rows, outputs = [[0, 0], [0, 1], [1, 1]], ["a", "a", "b"]
    e = ax.explain_among(rows, outputs, [1, 0], output="a")
    report = ax.verify(e, (rows, outputs))
    assert report.ok
    assert [check.kind for check in report.sampled] == ["prediction"]
    with pytest.raises(UnsupportedModelError, match=r"give \(rows, outputs\)"):
        ax.verify(e, lambda p: "a")
    with pytest.raises(UnsupportedModelError, match="an output for each of 3 rows"):
        ax.verify(e, (rows, outputs[:2]))
    # of other rows something else is true
    assert not ax.verify(e, ([*rows, [0, 0]], [*outputs, "b"])).ok
