"""Whatever shows an explanation says in which space it holds: constraints, region, distribution, rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.explanations.page import report_html
from axfi_kc.explanations.radius_path import radius_path
from axfi_kc.explanations.space import Space

DOMAIN = ax.Domain([ax.Integer("a", 0, 9), ax.Integer("b", 0, 9), ax.Integer("c", 0, 2)])
RULES = (ax.feature("a") <= ax.feature("b"), ax.feature("a") < 9)
WITHIN = ax.Region(frozen=["c"], radius=3)
ROWS = pd.DataFrame({"a": [3, 2, 9, 4], "b": [6, 5, 1, 8], "c": [1, 0, 2, 2]}, index=[10, 11, 12, 13])
LINE = "among possible points (2 constraints); c frozen, radius 3; Chow-Liu tree"


def model(point: Any) -> bool:
    return point[0] + point[2] > 4


@pytest.fixture(scope="module")
def explainer() -> ax.Explainer:
    rows = np.random.default_rng(0).integers(0, 3, (60, 3))
    domain = DOMAIN.where(*RULES).with_distribution(ChowLiu.fit(rows, DOMAIN))
    return ax.Explainer(model, domain, within=WITHIN)


def explained(explainer: ax.Explainer) -> list[Any]:
    e = explainer.explain([3, 6, 1])
    return [e, ax.Explanation.from_json(e.to_json())]


def batches(explainer: ax.Explainer, folder: Path) -> list[Any]:
    live = explainer.explain_batch(ROWS, on_error="skip")
    return [live, *(explainer.explain_to(folder / f"s.{kind}", ROWS, on_error="skip") for kind in ("jsonl", "parquet"))]


def test_reprs_notebooks_and_tables_of_explanations_say_the_space(explainer: ax.Explainer) -> None:
    full = {
        "constraints": list(map(str, RULES)),
        "region": str(WITHIN),
        "distribution": str(explainer.domain.distribution),
    }
    for e in explained(explainer):
        assert repr(e).endswith(f"; {LINE}>")
        assert f">{LINE}</div>" in e.to_html()
        assert e.to_frame().attrs == {"space": full}
        assert e.within == WITHIN


def test_reprs_notebooks_and_tables_of_batches_say_the_space(explainer: ax.Explainer, tmp_path: Path) -> None:
    for batch in batches(explainer, tmp_path):
        assert repr(batch).endswith(f", 1 row skipped; {LINE}>")
        assert f">{LINE}</div>" in batch.to_html()
        assert "CXps, 1 row skipped<" in batch.to_html()
        assert batch.to_frame().attrs["space"]["region"] == str(WITHIN)


def test_saved_batches_have_what_batches_have(explainer: ax.Explainer, tmp_path: Path) -> None:
    live, *saved = batches(explainer, tmp_path)
    for batch in saved:
        assert (batch.within, live.within) == (WITHIN, WITHIN)
        assert [e.to_dict() for e in batch[1:]] == [e.to_dict() for e in batch][1:]
        assert [e.instance for e in batch[::-1]] == [e.instance for e in live[::-1]]
        assert (batch[0].scores(), batch[-1].scores()) == (live[0].scores(), live[-1].scores())
        with pytest.raises(IndexError):
            batch[3]
    assert ax.Explainer(model, DOMAIN).explain_to(tmp_path / "t.jsonl", ROWS).within is None


def test_explainers_and_paths_say_the_space(explainer: ax.Explainer) -> None:
    assert "<Domain of 3 features; among possible points (2 constraints); Chow-Liu tree>" in repr(explainer)
    long = ax.Region(frozen=["c"], ranges={"a": (0, 8), "b": (1, 9)}, only_up=["a"], radius=3, norm="l1", unit="range")
    assert "within=<Region: c frozen, a and b limited, a only up, radius 3 of each range (l1)>" in repr(
        ax.Explainer(model, DOMAIN, within=long)
    )
    path = radius_path(ax.Explainer(model, DOMAIN.where(*RULES), within=ax.Region(frozen=["c"])), [3, 6, 1])
    assert repr(path).endswith("; among possible points (2 constraints); c frozen>")


def test_nothing_is_said_of_a_whole_domain(tmp_path: Path) -> None:
    plain = ax.Explainer(model, DOMAIN)
    for e in explained(plain):
        assert Space.of(e) == Space()
        assert repr(e).endswith("; shapley: a 0.3, c 0.1667>")
        assert "title=" not in e.to_html().split("<table")[0]
        assert e.to_frame().attrs == {}
    for batch in batches(plain, tmp_path):
        assert batch.to_frame().attrs == {}
        assert "; " not in repr(batch)
    assert "<Domain of 3 features>" in repr(plain)


def test_of_many_features_some_are_counted() -> None:
    region = ax.Region(frozen=list("abc"), only_down=["d"])
    assert Space(region=region).line == "3 features frozen, d only down"
    assert Space(region=ax.Region()).line == ""


def test_answers_among_rows_say_so() -> None:
    e = ax.explain_among(ROWS, [0, 0, 1, 1], ROWS.iloc[0])
    saved = ax.Explanation.from_json(e.to_json())
    assert repr(e).endswith("; among 4 rows>")
    assert ">among 4 rows</div>" in e.to_html()
    assert e.to_frame().attrs == {"space": {"rows": "4 rows"}}
    assert repr(saved).endswith("; among rows of data>")
    assert "features are independent" not in report_html(e)
