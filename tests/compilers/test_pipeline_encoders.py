"""Pipelines on tables with words and missing values: imputers, encoders, sparse tables, and models that take NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from axfi_kc import Categorical, Domain, Explainer, Integer, Real, read_model
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models.own_predict import predictor
from tests.compilers.test_pipeline_transformers import ROWS, check, probes
from tests.support.shared_data import shared_file

TOWNS = ["Athens", "Bonn", "Cork", "Delft", "Essen", "Faro"]


def table(n: int = 600, *, missing: bool = True, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "town": rng.choice(TOWNS, n, p=[0.35, 0.3, 0.2, 0.1, 0.03, 0.02]),
            "class": rng.integers(1, 5, n).astype(float),
            "fare": rng.lognormal(2, 1, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    score = X["town"].isin(["Bonn", "Delft"]) * 2.0 + X["class"] % 2 + np.log(X["fare"]) - 2.0 * (X["sex"] == "m")
    if missing:
        holes = rng.random((n, 4)) < 0.15
        score = score + holes @ [1.0, -1.5, 1.0, 2.0]
        X = X.mask(holes)
    return X, score.to_numpy() + rng.normal(0, 0.5, n)


def domain_of(X: pd.DataFrame, *, unknown: bool = False) -> Domain:
    domain = Domain.from_data(X, integer=["class"])
    if not unknown:
        return domain
    features = [
        Categorical(f.name, [*f.values, "elsewhere"], missing=f.missing) if isinstance(f, Categorical) else f
        for f in domain.features
    ]
    return Domain([Integer("class", 0, 6, missing=f.missing) if f.name == "class" else f for f in features])


FILL = SimpleImputer(strategy="most_frequent")
NONE = SimpleImputer(strategy="constant", fill_value="none")
ANY = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
KEYS = ["town", "class", "sex"]
ENCODERS = [
    (OneHotEncoder(), False),
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), True),
    (OneHotEncoder(drop="first", sparse_output=False), False),
    (OneHotEncoder(drop="if_binary", handle_unknown="ignore"), True),
    (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=50), True),
    (OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, drop="first"), True),
    (OneHotEncoder(handle_unknown="warn", max_categories=3), True),
    (make_pipeline(FILL, OneHotEncoder(handle_unknown="ignore")), True),
    (make_column_transformer((make_pipeline(NONE, OneHotEncoder(sparse_output=False)), ["town", "sex"])), False),
    (make_column_transformer((make_pipeline(NONE, ANY), [0, 2]), remainder="passthrough"), True),
    (make_pipeline(FILL, OrdinalEncoder()), False),
    (OrdinalEncoder(encoded_missing_value=-2), False),
    (OrdinalEncoder(), False),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), True),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1), True),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99, max_categories=3, dtype=np.float32), True),
    (TargetEncoder(), True),
    (TargetEncoder(smooth=3.0, target_type="continuous"), True),
    (make_union(make_pipeline(FILL, OneHotEncoder()), MissingIndicator()), False),
]


@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(("encoder", "unknown"), ENCODERS, ids=repr)
def test_encoders(encoder: Any, unknown: bool) -> None:
    X, y = table()
    pre = ColumnTransformer([("words", encoder, KEYS), ("fare", StandardScaler(), ["fare"])], sparse_threshold=0)
    if isinstance(encoder, TargetEncoder) and encoder.target_type == "auto":
        y = np.digitize(y, np.quantile(y, [0.3, 0.6]))  # three classes
    model = make_pipeline(pre, DecisionTreeRegressor(max_depth=8, random_state=0)).fit(X, y)
    check(model, domain_of(X, unknown=unknown))


def test_an_encoder_of_a_binary_target() -> None:
    X, y = table()
    pre = make_column_transformer((TargetEncoder(), KEYS), ("drop", ["fare"]))
    model = make_pipeline(pre, DecisionTreeRegressor(max_depth=8)).fit(X, (y > 1).astype(int))
    check(model, domain_of(X, unknown=True))


def agrees(model: Any, domain: Domain, rows: int = ROWS) -> None:
    form = read_model(model, domain)
    codes = probes(form, rows, seed=3)
    assert form.outputs_at(codes) == predictor(model, domain)(codes)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["forest", "histogram", "linear", "xgboost", "lightgbm"])
def test_models_behind_imputers_encoders_and_gaps(kind: str, sparse: bool) -> None:
    X, score = table()
    y = (score > np.median(score)).astype(int)
    model = _models(kind)
    if kind == "histogram" and sparse:
        pytest.skip("HistGradientBoosting takes no sparse tables")
    fare = [SimpleImputer(strategy="median")] if kind in ("forest", "linear") and sparse or kind == "linear" else []
    pre = ColumnTransformer(
        [
            ("fare", make_pipeline(*fare, StandardScaler()), ["fare"]),
            ("words", make_pipeline(FILL, OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)), KEYS),
        ],
        sparse_threshold=1.0 if sparse else 0.0,
    )
    fitted = make_pipeline(pre, model).fit(X, y)
    domain = domain_of(X, unknown=True)
    if kind == "linear":
        codes = random_codes(domain, ROWS)
        assert read_model(fitted, domain).outputs_at(codes) == predictor(fitted, domain)(codes)
    else:
        agrees(fitted, domain)


def random_codes(domain: Domain, n: int, seed: int = 2) -> np.ndarray:
    rng, columns = np.random.default_rng(seed), []
    for f in domain.features:
        low = float(getattr(f, "low", 0))
        drawn = rng.uniform(low, float(f.high), n) if isinstance(f, Real) else low + rng.integers(0, f.size - 1, n)
        columns.append(np.where(rng.random(n) < 0.2, np.nan if f.missing else low, drawn))
    return np.column_stack(columns)


def _models(kind: str) -> Any:
    if kind == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, max_depth=3)
    if kind == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=8, max_depth=3, verbose=-1)
    return {
        "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=8),
        "linear": LogisticRegression(max_iter=5000),
    }[kind]
