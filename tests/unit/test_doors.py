"""What comes out of one door comes out of every other: the same CXps, the same scores, the same refusals."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression

import axfi_kc as ax
from axfi_kc.errors import IncompleteError, ResultFileError
from axfi_kc.results import documents

SUFFIXES = ("jsonl", "parquet")
N = 13


def crowded(**options: Any) -> ax.Explainer:
    """Return an explainer of "at least five of 13 features are 1": without any of them, C(13, 5) = 1287 CXps."""
    X = list(product(range(2), repeat=N))
    model = LogisticRegression(C=1e6).fit(X, [sum(x) >= 5 for x in X])
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(N)])
    return ax.Explainer(model, domain, **options)


ROWS = [[0] * N, [1] * N, [0] * N]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("target", ["mdd", "obdd"])
@pytest.mark.parametrize("weights", ["ratio", "count", "unit"])
def test_a_file_holds_every_one_of_many_cxps(tmp_path: Path, suffix: str, target: str, weights: str) -> None:
    made = crowded(target=target, weights=weights)
    alone = made.explain(ROWS[0])
    saved = made.explain_to(tmp_path / f"out.{suffix}", ROWS)
    assert len(alone.cxps) == len(alone.to_dict()["cxps"]) == comb(N, 5)
    assert saved.cxp_counts == [comb(N, 5), comb(N, 9), comb(N, 5)] == made.explain_batch(ROWS).cxp_counts
    first, second, third = saved
    assert first.cxps == third.cxps == alone.cxps
    assert second.cxps == made.explain(ROWS[1]).cxps
    assert first.to_json() == alone.to_json()
    assert first.scores() == alone.scores() == {n: Fraction(t) for n, t in first.stated.scores["shapley"].items()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_through_two_targets_do_not_mix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    crowded(target="mdd").explain_to(path, ROWS)
    for target in ("auto", "obdd"):
        with pytest.raises(ResultFileError, match="another model, domain, options or data"):
            crowded(target=target).explain_to(path, ROWS)
    assert len(crowded(target="mdd").explain_to(path, ROWS)) == 3


@pytest.mark.parametrize("target", ["auto", "mdd"])
def test_more_cxps_than_a_document_holds(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5) - 1)
    made, words = crowded(target=target), "at most 1286 CXps, but there are 1287; set max_size"
    with pytest.raises(IncompleteError, match=words):
        made.explain(ROWS[0]).to_json()
    for suffix in SUFFIXES:
        with pytest.raises(IncompleteError, match=words):
            made.explain_to(tmp_path / f"out.{suffix}", ROWS)
    monkeypatch.setattr(documents, "_MOST_SETS", comb(N, 5))
    assert len(json.loads(made.explain(ROWS[0]).to_json())["cxps"]) == comb(N, 5)
    assert [len(e.cxps) for e in made.explain_to(tmp_path / "out.jsonl", ROWS)] == [comb(N, 5), comb(N, 9), comb(N, 5)]
