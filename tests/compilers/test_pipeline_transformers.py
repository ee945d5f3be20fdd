"""Every transformer that pipelines may have: predictions on 10,000 rows, thresholds and missing values included."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFpr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_regression,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

from axfi_kc import Domain, Real, read_model
from axfi_kc.models import TreeSum
from axfi_kc.models.own_predict import predictor

ROWS = 10_000


def numbers(n: int = 500, *, missing: bool = False, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two real columns and a whole one, all positive, and a target that depends on all of them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.lognormal(0, 2, n), rng.gamma(2, 3, n) + 0.01, rng.integers(1, 9, n)])
    y = np.log(X[:, 0]) + np.sin(X[:, 1]) + X[:, 2] % 3 + rng.normal(0, 0.3, n)
    if missing:
        holes = rng.random(X.shape) < 0.2
        holes[0] = False
        y = y + holes @ [1.0, -2.0, 0.5]
        X[holes] = np.nan
    return X, y


def probes(form: TreeSum, n: int, seed: int) -> np.ndarray:
    """Return codes of points: random ones, ones near thresholds, and where it may be half of them with missing ones."""
    rng, domain = np.random.default_rng(seed), form.domain
    codes = np.empty((n, len(domain)))
    for i, (feature, axis) in enumerate(zip(domain.features, form.grid.axes, strict=True)):
        if isinstance(feature, Real):
            low, high = feature.floats
            column = np.where(
                rng.random(n) < 0.5, rng.uniform(low, high, n), np.exp(rng.uniform(np.log(low), np.log(high), n))
            )
            near = np.array([cut.value for cut in axis.cuts] or [low])
            column = np.where(rng.random(n) < 0.5, beside(rng.choice(near, n), rng.integers(-3, 4, n)), column)
            codes[:, i] = np.clip(column, low, high)
        else:
            size = feature.size - bool(feature.missing)
            codes[:, i] = getattr(feature, "low", 0) + rng.integers(0, size, n)
        if feature.missing:
            codes[rng.random(n) < 0.25, i] = np.nan
    return codes


def beside(x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the float so many steps above each positive number."""
    return (x.view(np.int64) + steps).view(np.float64)


def check(model: Any, domain: Domain, *, n: int = ROWS, seed: int = 1) -> TreeSum:
    form = read_model(model, domain)
    codes = probes(form, n, seed)
    assert [float(x) for x in form.outputs_at(codes)] == predictor(model, domain)(codes)
    return form


TAKE_MISSING = [
    StandardScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, unit_variance=True, quantile_range=(10, 90)),
    RobustScaler(with_scaling=False),
    MaxAbsScaler(),
    MinMaxScaler((-2, 5), clip=True),
    PowerTransformer(),
    PowerTransformer(standardize=False),
    PowerTransformer("box-cox"),
    PowerTransformer("box-cox", standardize=False),
    QuantileTransformer(n_quantiles=50),
    QuantileTransformer(n_quantiles=400, output_distribution="normal"),
    *(FunctionTransformer(f) for f in (np.log, np.log1p, np.sqrt, np.cbrt, np.arctan, np.log2, np.log10)),
    *(FunctionTransformer(f) for f in (np.abs, np.square, np.negative, np.floor, np.rint, np.arcsinh, None)),
    make_pipeline(StandardScaler(), FunctionTransformer(np.abs), PowerTransformer()),
    make_pipeline(FunctionTransformer(np.log), StandardScaler(), FunctionTransformer(np.expm1)),
    make_pipeline(MaxAbsScaler(), FunctionTransformer(np.tanh), FunctionTransformer(np.expm1)),
    SimpleImputer(),
    SimpleImputer(strategy="median", add_indicator=True),
    SimpleImputer(strategy="most_frequent"),
    SimpleImputer(strategy="constant", fill_value=-1.5),
    make_pipeline(SimpleImputer(strategy="constant", fill_value=0, add_indicator=True), StandardScaler()),
    make_pipeline(SimpleImputer(), KBinsDiscretizer(4)),
    make_union(SimpleImputer(), MissingIndicator()),
    MissingIndicator(features="all"),
    FeatureUnion([("a", StandardScaler()), ("b", "passthrough"), ("c", "drop")], transformer_weights={"a": 0.1}),
    ColumnTransformer(
        [("a", StandardScaler(), [0]), ("b", FunctionTransformer(np.log1p), [0, 1])], remainder="passthrough"
    ),
    ColumnTransformer([("a", MinMaxScaler(), [2, 0])], transformer_weights={"a": -3.7}),
    VarianceThreshold(0.1),
]
TAKE_NONE = [
    Binarizer(threshold=2.5),
    *(KBinsDiscretizer(5, encode=e) for e in ("onehot", "onehot-dense", "ordinal")),
    KBinsDiscretizer(5, strategy="kmeans", encode="ordinal"),
    KBinsDiscretizer(7, strategy="uniform", encode="onehot-dense", dtype=np.float32),
    SelectKBest(f_regression, k=2),
    SelectPercentile(f_regression, percentile=50),
    SelectFpr(f_regression),
    SelectFromModel(DecisionTreeRegressor(max_depth=3, random_state=0)),
    RFE(LinearRegression(), n_features_to_select=2),
    RFECV(LinearRegression(), cv=3),
    SequentialFeatureSelector(LinearRegression(), cv=3),
    make_pipeline(StandardScaler(), SelectKBest(f_regression, k=1)),
    make_pipeline(KBinsDiscretizer(4), SelectKBest(f_regression, k=4), StandardScaler(with_mean=False)),
    SimpleImputer(missing_values=3, strategy="mean", add_indicator=True),
    SimpleImputer(missing_values=3, strategy="constant", fill_value=70),
    SimpleImputer(missing_values=3, strategy="constant", fill_value=np.nan, keep_empty_features=True),
    FunctionTransformer(np.log1p, validate=True),
]


def named(transformer: object) -> str:
    """Return a name that is the same in every process: functions are printed with their address."""
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", " ".join(repr(transformer).split()))


@pytest.mark.parametrize("transformer", TAKE_MISSING, ids=named)
def test_what_takes_missing_values(transformer: Any) -> None:
    X, y = numbers(missing=True)
    model = make_pipeline(transformer, DecisionTreeRegressor(max_depth=7, random_state=0)).fit(X, y)
    check(model, Domain.from_data(X, integer=["x2"]))


@pytest.mark.parametrize("transformer", TAKE_NONE, ids=named)
def test_what_takes_no_missing_values(transformer: Any) -> None:
    X, y = numbers()
    model = make_pipeline(transformer, DecisionTreeRegressor(max_depth=7, random_state=0)).fit(X, y)
    check(model, Domain.from_data(X, integer=["x2"]))


def test_every_float_near_a_threshold_of_a_function_that_is_not_monotone() -> None:
    """The quantile function of the normal distribution, as it is computed, goes up and down."""
    X, y = numbers(1500)
    normal = QuantileTransformer(n_quantiles=400, output_distribution="normal")
    model = make_pipeline(normal, DecisionTreeRegressor(max_depth=9, random_state=0)).fit(X, y)
    domain = Domain.from_data(X, integer=["x2"])
    form = read_model(model, domain)
    codes = np.tile([1.0, 3.0, 2.0], (len(form.grid.axes[0].cuts) * 41, 1))
    codes[:, 0] = [x for cut in form.grid.axes[0].cuts for x in beside(np.full(41, cut.value), np.arange(-20, 21))]
    codes[:, 0] = np.clip(codes[:, 0], *domain.features[0].floats)
    assert [float(x) for x in form.outputs_at(codes)] == predictor(model, domain)(codes)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(with_mean=False), RobustScaler(with_centering=False), MaxAbsScaler()], ids=repr
)
def test_scalers_of_sparse_tables_multiply(scaler: Any) -> None:
    """There the library multiplies by the reciprocal, which is not what dividing gives."""
    X, y = numbers()
    sparse = ColumnTransformer(
        [("bins", KBinsDiscretizer(4, strategy="uniform"), [2])], remainder="passthrough", sparse_threshold=1.0
    )
    model = make_pipeline(sparse, scaler, DecisionTreeRegressor(max_depth=9, random_state=0)).fit(X, y)
    check(model, Domain.from_data(X, integer=["x2"]))


def test_frames_and_names() -> None:
    pd = pytest.importorskip("pandas")
    X, y = numbers(missing=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for output in ("default", "pandas"):
        inner = ColumnTransformer([("log", FunctionTransformer(np.log, feature_names_out="one-to-one"), ["a", "b"])])
        outer = ColumnTransformer(
            [("inner", inner, ["a", "b", "c"]), ("fill", SimpleImputer(add_indicator=True), ["c", "a"])]
        )
        pre = make_pipeline(outer.set_output(transform=output), StandardScaler())
        model = make_pipeline(pre, DecisionTreeRegressor(max_depth=7, random_state=0)).fit(frame, y)
        check(model, Domain.from_data(frame, integer=["c"]))
