"""Pipelines on tables with words and missing values: imputers, encoders, sparse tables, and models that take NaN."""

from __future__ import annotations

import warnings
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
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from axfi_kc import Categorical, Domain, Explainer, Integer, Real, read_model
from axfi_kc.domain.domain import values_of
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models.own_predict import predictor
from tests.compilers.test_pipeline_transformers import ROWS, check, probes
from tests.support.oracle import Judge, space_of
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
SQUARES = FunctionTransformer(np.square)
MARKED = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
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


@pytest.mark.parametrize(
    ("kind", "sparse"),
    [
        *((kind, False) for kind in ("forest", "histogram", "linear", "xgboost", "lightgbm")),
        *((kind, True) for kind in ("forest", "linear", "xgboost", "lightgbm")),  # histograms take no sparse tables
    ],
)
def test_models_behind_imputers_encoders_and_gaps(kind: str, sparse: bool) -> None:
    X, score = table()
    y = (score > np.median(score)).astype(int)
    model = _models(kind)
    fare = [SimpleImputer(strategy="median")] if (kind in ("forest", "linear") and sparse) or kind == "linear" else []
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
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
    if kind == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=8, max_depth=3, verbose=-1, n_jobs=1)
    return {
        "forest": RandomForestClassifier(8, max_depth=5, random_state=0),
        "histogram": HistGradientBoostingClassifier(max_iter=8),
        "linear": LogisticRegression(max_iter=5000),
    }[kind]


def small_domain() -> Domain:
    return Domain(
        [
            Integer("age", 0, 4, missing=0.25),
            Categorical("town", ["Athens", "Bonn", "Cork"], missing=0.125),
            Integer("rooms", 0, 3),
        ]
    )


def small_table(domain: Domain, rng: np.random.Generator, n: int = 150) -> pd.DataFrame:
    drawn = {f.name: rng.choice(np.array(values_of(f), dtype=object), n) for f in domain.features}
    return pd.DataFrame(drawn).astype({"age": float, "rooms": int, "town": "str"})


SMALL = [
    ([SimpleImputer(add_indicator=True), StandardScaler()], [SimpleImputer(strategy="most_frequent"), ANY]),
    ([SimpleImputer(strategy="constant", fill_value=-3)], [OneHotEncoder(sparse_output=False)]),
    ([SimpleImputer(strategy="median"), KBinsDiscretizer(2, encode="onehot-dense")], [TargetEncoder(cv=2)]),
    (
        [make_union(SimpleImputer(), MissingIndicator(), make_pipeline(SimpleImputer(), SQUARES))],
        [MARKED, RobustScaler()],
    ),
    ([SimpleImputer(), FunctionTransformer(np.log1p)], [OrdinalEncoder(encoded_missing_value=-5)]),
]


@pytest.mark.parametrize("final", ["tree", "forest", "histogram", "linear"])
@pytest.mark.parametrize("numeric", range(len(SMALL)))
def test_explanations_equal_those_by_exhaustion(numeric: int, final: str) -> None:
    domain, rng = small_domain(), np.random.default_rng(numeric)
    X = small_table(domain, rng)
    y = (X["age"].fillna(1.5) + 2 * (X["town"] == "Bonn") - X["rooms"] + 1.5 * X["town"].isna() > 1).to_numpy()
    y = np.where(rng.random(len(y)) < 0.1, ~y, y)
    first, second = SMALL[numeric]
    pre = ColumnTransformer(
        [("n", make_pipeline(*first), ["age"]), ("t", make_pipeline(*second), ["town"])], remainder="passthrough"
    )
    last = DecisionTreeClassifier(max_depth=5, random_state=0) if final == "tree" else _models(final)
    np.random.seed(numeric)  # TargetEncoder shuffles, and a forest whose votes happen to tie is decided by rounding
    model = make_pipeline(pre, last).fit(X, y)
    points = list(domain.points())
    frame = pd.DataFrame(points, columns=list(domain.names)).astype({"age": float, "town": "str"})
    outputs = dict(zip(points, model.predict(frame).tolist(), strict=True))
    assert read_model(model, domain).predict(points) == list(outputs.values())
    explainer = Explainer(model, domain)
    for k in rng.integers(0, len(points), 4).tolist():
        judge = Judge(space_of(domain), outputs.__getitem__, points[k])
        found = explainer.explain(points[k])
        name = domain.names
        assert {c.features: c.weight for c in found.cxps} == {
            tuple(name[i] for i in sorted(Y)): judge.ratio(Y) for Y in judge.cxps()
        }
        assert {a.features for a in found.axps} == {tuple(name[i] for i in sorted(Y)) for Y in judge.axps()}


def test_a_real_feature_with_an_indicator_before_a_linear_model() -> None:
    X, y = table()
    numbers = make_pipeline(SimpleImputer(add_indicator=True), RobustScaler())
    pre = make_column_transformer((numbers, ["fare", "class"]), (make_pipeline(FILL, MaxAbsScaler()), ["fare"]))
    model = make_pipeline(pre, LogisticRegression()).fit(X, y > 1)
    domain = domain_of(X)
    form = read_model(model, domain)
    codes = random_codes(domain, ROWS)
    assert form.outputs_at(codes) == predictor(model, domain)(codes)
    assert [type(part).__name__ for part in form.parts] == ["Lookup", "Slope", "Slope", "Lookup"]
    assert form.parts[2].missing is not None
    margins = model.decision_function(
        pd.DataFrame([domain.decode(c) for c in codes[:50]], columns=X.columns).astype({"class": float, "fare": float})
    )
    numerators, shifts = form.numerators_at(codes[:50])
    ours = [int(n) / (form.denominator << int(s)) for (n,), s in zip(numerators, shifts, strict=True)]
    assert np.allclose(ours, margins, rtol=1e-9)


def test_whole_numbers_before_a_linear_model_may_be_bent() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 40, 400), rng.integers(0, 9, 400)]).astype(float)
    y = (np.log1p(X[:, 0]) + (X[:, 1] > 4) + rng.normal(0, 0.3, 400)) > 3
    X[rng.random(X.shape) < 0.1] = np.nan
    domain = Domain.from_data(X, integer=["x0", "x1"])
    codes = domain.encode(np.array(list(domain.points()), dtype=float))
    for bend in (
        KBinsDiscretizer(3),
        QuantileTransformer(n_quantiles=20),
        PowerTransformer(),
        FunctionTransformer(np.sqrt),
    ):
        model = make_pipeline(SimpleImputer(), bend, LogisticRegression(max_iter=5000)).fit(X, y)
        assert read_model(model, domain).outputs_at(codes) == predictor(model, domain)(codes)


def test_markers_that_are_words_and_columns_without_a_value() -> None:
    X, y = table(missing=False)
    X["town"] = X["town"].replace("Faro", "")
    X["class"] = np.nan
    words = make_pipeline(SimpleImputer(missing_values="", strategy="most_frequent", add_indicator=True), MARKED)
    features = [f for f in domain_of(table(missing=False)[0]).features if f.name not in ("town", "class")]
    town = Categorical("town", ["", *TOWNS[:-1]])
    domain = Domain([town, Integer("class", 1, 4, missing=0.9), *features])
    for keep in (False, True):
        empty = SimpleImputer(keep_empty_features=keep, add_indicator=True)
        pre = make_column_transformer((words, ["town"]), (empty, ["class", "fare"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a column is skipped
            model = make_pipeline(pre, DecisionTreeRegressor(max_depth=8, random_state=0)).fit(X, y)
            form = check(model, domain)
        assert form.grid.axes[1].n_cells <= 3


TITANIC = ["Pclass", "Sex", "Age", "SibSp", "Fare", "Embarked"]


@pytest.mark.parametrize("kind", ["linear", "forest", "histogram"])
def test_the_titanic_as_it_comes(kind: str) -> None:
    data = pd.read_csv(shared_file("data", "titanic", "titanic.csv"))
    X, y = data[TITANIC], data["Survived"]
    pre = ColumnTransformer(
        [
            ("num", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["Age", "Fare"]),
            ("cat", make_pipeline(FILL, OneHotEncoder(handle_unknown="ignore")), ["Sex", "Embarked", "Pclass"]),
        ],
        sparse_threshold=0,
    )
    model = make_pipeline(pre, _models(kind)).fit(X, y)
    domain = Domain.from_data(X)
    assert read_model(model, domain).predict(X) == model.predict(X).tolist()
    explained = Explainer(model, domain).explain(X.iloc[5])  # has no age
    assert explained.instance["Age"] is None
    assert explained.cxps
    assert explained.scores()["SibSp"] == 0


NUMBERS = [[1.0, 2.0], [3.0, np.nan], [5.0, 4.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            [Binarizer()],
            "Binarizer. has no result where a value is missing, but feature 'x1' may be; put a SimpleImputer",
        ),
        ([SelectKBest(k=1)], "SelectKBest. has no result where a value is missing"),
        ([FunctionTransformer(np.log)], "FunctionTransformer of log. has no finite result.*'x0'; narrow"),
        ([PowerTransformer("box-cox")], "takes positive numbers only .box-cox., but feature 'x0'.*yeo-johnson"),
        ([MissingIndicator()], "found nothing missing in feature 'x0'.*error_on_new=False"),
        ([SimpleImputer(missing_values=0)], "takes 0 for missing and does not predict at NaN.*'x1'.*np.nan"),
        ([KBinsDiscretizer(2)], "KBinsDiscretizer. has no result where a value is missing"),
    ],
    ids=repr,
)
def test_what_does_not_predict_everywhere_is_refused(steps: list[Any], message: str) -> None:
    X = np.array(NUMBERS)
    filled = np.where(np.isnan(X), 1.0, X) + (0.5 if "box-cox" in repr(steps) else 0.0)
    fitted = X if "MissingIndicator" in repr(steps) else filled
    with np.errstate(divide="ignore"):
        model = make_pipeline(*steps, DecisionTreeClassifier()).fit(
            np.maximum(fitted, 0.1) if "log" in repr(steps) else fitted, [0, 1, 0, 1]
        )
    domain = Domain(
        [Real("x0", 0, 5, missing=0.5 * ("MissingIndicator" in repr(steps))), Real("x1", 1, 4, missing=0.25)]
    )
    with pytest.raises((UnsupportedModelError, DomainError), match=message):
        read_model(model, domain)


def test_a_function_without_result_somewhere_is_refused() -> None:
    model = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier()).fit([[1.0], [2.0]], [0, 1])
    assert read_model(model, Domain([Real("a", -0.5, 5)])).predict([[1.0], [5.0]]) == [0, 1]
    with pytest.raises(DomainError, match=r"of log1p\) has no finite result everywhere.*'a'; narrow"):
        read_model(model, Domain([Real("a", -2, 5)]))  # NaN below -1, which the tree would take for missing


def test_values_that_an_encoder_does_not_know_are_named() -> None:
    X, y = table(missing=False)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), DecisionTreeClassifier()).fit(X, y > 1)
    for known, message in ((TOWNS, "does not know missing of feature 'town'"), ([*TOWNS, "Graz"], "the value 'Graz'")):
        town = Categorical("town", known, missing=0.5 * (known is TOWNS))
        with pytest.raises(DomainError, match=message):
            read_model(model, Domain([town, *domain_of(X).features[1:]]))
    X, y = table()
    none = X.astype(object).where(X.notna(), None)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), DecisionTreeClassifier()).fit(
        none, y > 1
    )
    with pytest.raises(UnsupportedModelError, match="where None stands for missing"):
        read_model(model, domain_of(X))
