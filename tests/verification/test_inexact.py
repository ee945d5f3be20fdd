"""Models of which only predict is known: rounding is no refutation, but another point or output is."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.verification import Claim
from tests.support.alterations import added, dropped, scored
from tests.support.kinds import BINARY, DOMAIN, X, Z
from tests.support.wrapper_cases import CASES
from tests.support.wrapper_cases import DOMAIN as WRAPPED
from tests.support.wrapper_cases import X as ROWS

LINES = tuple(name for name in CASES if "line" in name or name.startswith(("threshold of logistic", "tuned")))


def _onnx(name: str, y: Any) -> Any:
    convert, linear = pytest.importorskip("skl2onnx"), pytest.importorskip("sklearn.linear_model")
    pytest.importorskip("onnxruntime")
    return convert.to_onnx(getattr(linear, name)().fit(X, y), X[:1].astype(np.float32))


@pytest.mark.parametrize(("name", "y", "delta"), [("LogisticRegression", BINARY, None), ("LinearRegression", Z, 0.5)])
def test_lines_in_single_precision_are_not_refuted(name: str, y: Any, delta: float | None) -> None:
    model = _onnx(name, y)
    for row in X[:3]:
        claim = Claim.of(ax.Explainer(model, DOMAIN, delta=delta).explain(row))
        assert ax.verify(claim, model).ok, str(ax.verify(claim, model))
        assert not ax.verify(dropped(claim, Random(0)), model).ok
        assert not ax.verify(_elsewhere(claim), model).ok


def _elsewhere(claim: Claim) -> Claim:
    """Give counterfactuals that stay at the instance."""
    kept: Any = claim.hint
    return replace(claim, hint=lambda names: replace(kept(names), point=dict(claim.instance)))


@pytest.mark.parametrize("name", LINES)
def test_wrapped_lines_are_not_refuted(name: str) -> None:
    model, delta = CASES[name].fitted(), 0.5 if CASES[name].target == "number" else None
    for row in ROWS[:3]:
        claim = Claim.of(ax.Explainer(model, WRAPPED, delta=delta).explain(row))
        report = ax.verify(claim, model)
        assert report.ok, str(report)
        for alter in (dropped, added, scored):
            assert not ax.verify(alter(claim, Random(1)), model).ok, alter.__name__


TREES = (
    *("grid search", "pipeline with a grid search", "threshold of forest", "threshold of adaboost", "xgboost search"),
    *("bagging of columns, some twice", "adaboost, three classes", "weighted hard vote", "weighted soft vote"),
    *("voting regression", "isotonic of trees, three", "one versus rest, trees, three", "one versus one, trees, three"),
    *("one versus rest, lines, three", "voting lines", "bagged lines"),
)


@pytest.mark.parametrize("name", TREES)
def test_wrappers_whose_members_can_be_read_are_proved(name: str) -> None:
    model, delta = CASES[name].fitted(), 0.5 if CASES[name].target == "number" else None
    for row in ROWS[:2]:
        report = ax.verify(ax.Explainer(model, WRAPPED, delta=delta).explain(row), model)
        assert report.complete, str(report)
