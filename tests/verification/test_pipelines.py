"""Pipelines as the checker reads them: what it can follow is proved, and the rest is not refuted."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.verification import Claim
from tests.support.alterations import dropped, heavier
from tests.support.more_kinds import GAPS, THREE

pytest.importorskip("sklearn")
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

DOMAIN = ax.Domain.from_data(GAPS, integer=["x2", "x3"])
FOLLOWED = [
    SimpleImputer(strategy="median", add_indicator=True),
    make_union(SimpleImputer(), MissingIndicator(features="all")),
    make_pipeline(SimpleImputer(strategy="constant", fill_value=0, add_indicator=True), StandardScaler()),
    make_pipeline(SimpleImputer(), KBinsDiscretizer(4, encode="ordinal", strategy="uniform")),
    FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")], transformer_weights={"a": 0.1}),
    ColumnTransformer([("a", RobustScaler(), [0, 2]), ("b", FunctionTransformer(np.floor), [0])], remainder="drop"),
    make_pipeline(MaxAbsScaler(), MinMaxScaler(clip=True)),
]
LEFT = [
    make_pipeline(SimpleImputer(), KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")),
    PowerTransformer(),
    ColumnTransformer([("a", MinMaxScaler(), [2, 0])], transformer_weights={"a": -3.7}),
]


def _model(transformer: Any) -> Any:
    return make_pipeline(transformer, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(GAPS, THREE)


@pytest.mark.parametrize("transformer", FOLLOWED, ids=repr)
def test_what_is_followed_is_proved(transformer: Any) -> None:
    model = _model(transformer)
    for row in GAPS[:3]:
        claim = Claim.of(ax.Explainer(model, DOMAIN).explain(row))
        report = ax.verify(claim, model)
        assert report.complete, str(report)
        assert not ax.verify(heavier(claim, Random(2)), model).ok


@pytest.mark.parametrize("transformer", LEFT, ids=repr)
def test_what_is_not_followed_is_left_to_predict(transformer: Any) -> None:
    model = _model(transformer)
    claim = Claim.of(ax.Explainer(model, DOMAIN).explain(GAPS[0]))
    report = ax.verify(claim, model)
    assert report.ok, str(report)
    assert report.reading == "predict alone"
    assert not ax.verify(dropped(claim, Random(0)), model).ok
