"""Answers do not depend on what the process has set for all: decimals, floats, random numbers; nor is it changed."""

from __future__ import annotations

import decimal
import gc
import locale
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import axfi_kc as ax
from axfi_kc.compilers.readers.checks import rounded
from axfi_kc.domain.grid import float32_cuts
from axfi_kc.domain.logarithms import log_sum
from axfi_kc.explanations.counterfactuals.decimals import shortest
from axfi_kc.explanations.files.labels import label_text, row_label
from axfi_kc.plots.style import _plain_ticks

FEATURES = ["mean radius", "mean texture", "worst smoothness", "worst concavity", "area error", "mean symmetry"]


@contextmanager
def hostile() -> Iterator[None]:
    """Set what a process has for all to what suits nobody, and see that it stays so."""
    context = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emin=-5, Emax=5, capitals=0, clamp=1)
    for signal in context.traps:
        context.traps[signal] = True
    before = decimal.DefaultContext.traps.copy()
    decimal.DefaultContext.traps[decimal.Inexact] = True  # which new contexts take over
    try:
        with decimal.localcontext(context) as now, np.errstate(all="raise"):
            state = settings(now)
            yield
            assert settings(now) == state
    finally:
        decimal.DefaultContext.traps = before


def settings(context: decimal.Context) -> list[Any]:
    """Return what a process has for all."""
    return [
        repr(context),
        dict(context.flags),
        np.geterr(),
        random.getstate(),
        repr(np.random.get_state()),
        sys.getrecursionlimit(),
        gc.isenabled(),
        locale.setlocale(locale.LC_ALL),
        list(warnings.filters),
        np.get_printoptions(),
    ]


def data() -> tuple[Any, Any]:
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    return X[FEATURES], y


def explained(e: Any) -> list[Any]:
    """Return all that an explanation says."""
    changes = [e.counterfactual(), e.counterfactual(seed=3), *e.counterfactuals()]
    scores = [e.scores(kind) for kind in ("shapley", "ffa", "responsibility_cxp")]
    return [e.cxps, e.axps, scores, list(map(str, changes)), changes, e.to_json(), str(e), e.to_html()]


def trees() -> list[Any]:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0).fit(X, y)
    domain = ax.Domain.from_data(X)
    compiled = ax.compile_model(model, domain)
    found = ax.Explainer(model, domain).explain(X.iloc[78])
    return [*explained(found), compiled.size, compiled.probability(), str(found.counterfactual().plausibility)]


def linear() -> list[Any]:
    X, y = data()
    model = LogisticRegression(max_iter=10_000).fit(X, y)
    return explained(ax.Explainer(model, ax.Domain.from_data(X)).explain(X.iloc[78]))


def functions() -> list[Any]:
    domain = ax.Domain([ax.Integer("age", 18, 90), ax.Categorical("race", ["a", "b", "c"], weights=[1, 2, 4])])
    region = ax.Region(radius=Fraction(1, 2), norm="l1")
    model = lambda p: p[0] > 60 and p[1] == "b"  # noqa: E731
    near = ax.Explainer(model, domain, weights="unit", within=region).explain((70, "b"))
    found = ax.sensitivity(model, domain, ["race"])
    return [*explained(ax.Explainer(model, domain).explain((70, "b"))), near.cxps, str(found), found.outputs]


def numbers() -> list[Any]:
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, 2]])
    among = ax.explain_among(rows, [decimal.Decimal(12345), decimal.Decimal(1), 7, 7], rows[0])
    return [
        log_sum([(Fraction(1, 3), 7), (2, Fraction(1, 10**40))]),
        shortest(0.0999, 0.1001, near=0.09995, unit=Fraction(99999, 10**6)),
        shortest(5e-324, 1, near=5e-324, unit=Fraction(1, 1000)),
        [_plain_ticks(tick) for tick in (-0.00002, 2.5e-9, 123456.7, 3e7)],
        [row_label(label_text(decimal.Decimal(text))).as_tuple() for text in ("12345.678", "1E+90")],
        [label_text(decimal.Decimal("1E+90"))],
        among.cxps,
        float32_cuts([1e-300, -1e-40, 1e-45, 0.1, 3.4028235e38, 1e300, np.inf], strict=False),
        float32_cuts([1e-300, -1e-40, 1e-45, 0.1, 3.4028235e38, 1e300, np.inf], strict=True),
        rounded(["1e-300", "1e-40", "0.1", "1e300", "-1e-46"]).tolist(),
    ]


@pytest.mark.parametrize("answer", [trees, linear, functions, numbers], ids=lambda f: f.__name__)
def test_what_the_process_has_set_changes_no_answer_and_stays(answer: Callable[[], list[Any]]) -> None:
    usual = answer()
    with hostile():
        assert answer() == usual
    assert answer() == usual
