"""Tables of explanations and batches say what the explanations say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError
from axfi_kc.explanations.page import write_report
from axfi_kc.plots import plot_batch
from tests.support.kinds import kind
from tests.support.paper_example import DOMAIN, ONES, batch, paper


def test_frame_of_an_explanation() -> None:
    frame = paper("count").to_frame(exact=True)
    assert list(frame.index) == ["x1", "x2", "x3"]
    assert frame["shapley"].to_dict() == paper("count").scores("shapley")
    assert frame["cxps"].tolist() == [2, 2, 2]
    assert frame["value"].tolist() == [2, 1, 2]
    assert paper("count").to_frame(kinds=["banzhaf"])["banzhaf"].dtype == float


def test_frame_and_importance_of_a_batch() -> None:
    found = batch()
    frame = found.to_frame("banzhaf", exact=True)
    assert list(frame.index) == [f"r{k}" for k in range(7)]
    assert frame["cxps"].tolist() == [len(e.cxps) for e in found]
    assert frame[list(DOMAIN.names)].to_dict("records") == [e.scores("banzhaf") for e in found]
    table = found.importance("shapley", exact=True, shares=False)
    floats = found.importance("shapley", shares=False)
    for name in DOMAIN.names:
        values = [e.scores("shapley")[name] for e in found]
        assert table.loc[name, "mean"] == mean(values)
        assert (table.loc[name, "min"], table.loc[name, "max"]) == (min(values), max(values))
        assert table.loc[name, "relevant"] == Fraction(sum(map(bool, values)), 7)
        column = np.array([float(v) for v in values])
        assert floats.loc[name, "std"] == pytest.approx(column.std())
        for quantile in (25, 50, 75):
            assert float(table.loc[name, f"{quantile}%"]) == pytest.approx(np.percentile(column, quantile))
    with pytest.raises(DomainError, match="empty"):
        ax.Explainer(lambda p: int(p in ONES), DOMAIN).explain_batch(np.empty((0, 3))).importance()


@pytest.mark.parametrize("origin", ["in memory", "skipped", "saved"])
def test_what_has_no_answer_for_an_empty_batch_says_so(origin: str, tmp_path: Path) -> None:
    explainer = ax.Explainer(lambda p: int(p in ONES), DOMAIN)
    if origin == "skipped":
        none: Any = explainer.explain_batch([[9, 9, 9]], on_error="skip")
    elif origin == "saved":
        none = explainer.explain_to(tmp_path / "none.jsonl", np.empty((0, 3)))
    else:
        none = explainer.explain_batch(np.empty((0, 3)))
    assert len(none) == 0
    asks: list[Callable[[], object]] = [lambda: plot_batch(none), lambda: none.at(5)]
    for shares in (True, False):
        asks.append(partial(none.to_shap, shares=shares))
        asks += [partial(none.importance, shares=shares, exact=exact) for exact in (True, False)]
        asks += [partial(none.inspection, shares=shares, by=by) for by in (None, "prediction", "a", [])]
    for ask in asks:
        with pytest.raises(DomainError, match=r"^[^.]*, but this batch is empty; explain at least one row\.$"):
            ask()
    assert len(none.to_frame()) == len(none.scores()) == len(none.shares()) == 0
    write_report(none, tmp_path / "none.html")
    assert "The batch has no instance." in (tmp_path / "none.html").read_text()


def test_a_feature_called_like_a_column_is_refused() -> None:
    domain = ax.Domain([ax.Integer("cxps", 0, 1)])
    found = ax.Explainer(lambda p: p[0], domain).explain_batch([[0], [1]])
    with pytest.raises(DomainError, match="'cxps' of its own"):
        found.to_frame()


def test_everything_but_frames_works_without_pandas() -> None:
    code = """
import sys
sys.modules["pandas"] = None
import axfi_kc as ax
domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
explainer = ax.Explainer(lambda p: p[0] and p[1] > 0, domain)
e = explainer.explain({"a": 1, "b": 2})
assert ax.Explanation.from_json(e.to_json()).cxps == e.cxps
batch = explainer.explain_batch([[1, 1], [1, 2]], n_jobs=2)
assert batch.score_numerators()[1] and batch._repr_html_() and e._repr_html_()
for ask in (batch.to_frame, batch.importance, batch.scores, e.to_frame):
    try:
        ask()
    except ax.errors.MissingExtraError as error:
        assert "pip install pandas" in str(error)
    else:
        raise SystemExit("a table without pandas")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)


def test_float_tables_are_the_fractions_rounded() -> None:
    for name in ("tree", "tree regression", "forest", "linear", "table", "circuit"):
        made = kind(name)
        batch = ax.Explainer(made.model, made.domain, delta=made.delta).explain_batch(list(made.rows))
        for score in ("shapley", "banzhaf", "ffa"):
            exact, floats = batch.scores(score), batch.scores(score, exact=False)
            assert floats.equals(exact.astype(float))
            assert {dtype.kind for dtype in floats.dtypes} == {"f"}
            assert list(floats.columns) == list(exact.columns)


def test_tables_of_one_batch_have_indexes_of_their_own() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
    batch = ax.Explainer(lambda p: p[0] and p[1] > 0, domain).explain_batch([(1, 2), (0, 1)])
    first = batch.scores("shapley")
    first.index.name, first.columns.name = "row", "feature"
    second = batch.scores("banzhaf", exact=False)
    assert second.index.tolist() == [0, 1]
    assert second.index.name is None
    assert second.columns.name is None
