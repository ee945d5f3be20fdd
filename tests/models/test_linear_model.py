"""What a linear model is made of: labels that tell classes apart, and numbers for each column and value."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.errors import AxfiError
from axfi_kc.models import Argmax, LinearModel, Lookup, Positive, Score, Slope

SQUARE = ax.Domain([ax.Real("x", 0, 2), ax.Real("y", -1, 1)])
DICE = ax.Domain([ax.Integer("k", 1, 3)])
SIGN = Positive((0, 1))


def columns(coefficients: Any, intercepts: Any = (-2,), rule: Any = SIGN, domain: Any = SQUARE) -> LinearModel:
    return LinearModel.of_columns(domain, coefficients, intercepts=intercepts, rule=rule)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a label twice": (lambda: Positive((0, 0)), "0 occurs twice"),
    "a label twice of three": (lambda: Argmax(("a", "b", "a")), "'a' occurs twice"),
    "three labels for one score": (lambda: Positive((0, 1, 2)), "tells two classes apart, but"),  # type: ignore[arg-type]
    "labels that are lists": (lambda: Positive(([0], [1])), "A class has a label"),  # type: ignore[arg-type]
    "no labels": (lambda: Argmax(3), "A class has a label"),  # type: ignore[arg-type]
    "a scale in words": (lambda: Score("a"), "finite number"),  # type: ignore[arg-type]
    "a coefficient too many": (lambda: columns([[1, 1, 50]]), "2 columns, but a row of 3 coefficients"),
    "a coefficient too few": (lambda: columns([[1]]), "2 columns, but a row of 1 coefficient was"),
    "one row, flat": (lambda: columns([1, 1]), "a row for each score"),
    "no coefficients": (lambda: columns(None), "a row for each score"),
    "a number of intercepts": (lambda: columns([[1, 1]], -2), "intercepts= .* takes a list"),
    "too many rows": (lambda: columns([[1, 1], [2, 2]]), "for 1 score, but"),
    "too many intercepts": (lambda: columns([[1, 1]], [1, 2]), "needs 1 score, but 2 constants"),
    "no domain": (lambda: columns([[1, 1]], domain=[1]), "takes a Domain"),
    "no rule": (lambda: columns([[1, 1]], rule=None), "takes an Argmax, a Positive or a Score"),
    "parts in words": (lambda: LinearModel.of(SQUARE, ["a", "b"], base=[0], rule=SIGN), "a Slope or a Lookup"),  # type: ignore[list-item]
    "slopes without rows": (lambda: LinearModel.of(SQUARE, [Slope(1)] * 2, base=[0], rule=SIGN), "needs a factor"),  # type: ignore[arg-type]
    "a table that begins elsewhere": (
        lambda: LinearModel.of(DICE, [Lookup(((0, 1, 2),), first=7)], base=[-1], rule=SIGN),
        "a table of 3 numbers",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_linear_model_is_refused_in_a_sentence(wrong: str) -> None:
    make, why = WRONG[wrong]
    with pytest.raises(AxfiError, match=why):
        make()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["n", "y"]),
        pd.Series(["n", "y"]),
        pd.Index(["n", "y"]),
        pd.Categorical(["n", "y"]),
        ["n", "y"],
        iter("ny"),
        "ny",
    ],
)
def test_labels_come_in_any_list(labels: Any) -> None:
    rule = Positive(labels)
    assert rule.labels == ("n", "y")
    assert ax.Explainer(columns([[1, 1]], rule=rule), SQUARE).explain([0.5, 0]).prediction == "n"


@pytest.mark.parametrize("labels", [{"n", "y"}, {"n": 1, "y": 2}, {"n": 1}.keys()])
def test_labels_without_an_order_are_refused(labels: Any) -> None:
    with pytest.raises(AxfiError, match="give a list of one each"):
        Positive(labels)


def test_a_table_begins_at_the_least_value_whether_or_not_it_says_so() -> None:
    models = [LinearModel.of(DICE, [Lookup(((-1, 0, 1),), first=k)], base=[0], rule=SIGN) for k in (0, 1)]
    assert [m.predict([[1], [2], [3]]) for m in models] == [[0, 0, 1]] * 2


def test_a_float_scale_is_the_rational_that_it_denotes() -> None:
    model = columns([[1, 1]], rule=Score(0.1))  # type: ignore[arg-type]
    assert model.predict([[1.0, 0.5]]) == [Fraction(0.1) * Fraction(-1, 2)]
    assert ax.Explainer(model, SQUARE, delta=0.1).explain([1.0, 0.5]).cxps
