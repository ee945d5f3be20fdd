"""Pipelines of scikit-learn, explained in the features that go into them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from axfi_kc import Categorical, Domain, Explainer, Integer, Problem, Real, find_cxps, read_model
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import LinearModel, TreeSum

CITIES = ["Athens", "Bonn", "Cork", "Delft"]


def people(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "city": rng.choice(CITIES, n),
            "income": rng.lognormal(10, 0.5, n),
            "grade": rng.integers(1, 5, n),
            "noise": rng.normal(size=n),
        }
    )
    y = (X["age"] / 30 + X["income"] / 2e4 + (X["city"] == "Cork") - X["grade"] / 3 > 2.4).to_numpy()
    return X, y


def people_domain(X: pd.DataFrame) -> Domain:
    return Domain.from_data(X, categorical=["city"], integer=["age", "grade"])


def preprocessing(**options: Any) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("city", OneHotEncoder(**options), ["city"]),
            ("scaled", StandardScaler(), ["income", "age"]),
            ("grade", "passthrough", ["grade"]),
            ("gone", "drop", ["noise"]),
        ]
    )


@pytest.mark.parametrize(
    "options", [{}, {"drop": "first"}, {"sparse_output": False}, {"min_frequency": 75}, {"drop": ["Bonn"]}], ids=repr
)
@pytest.mark.parametrize("final", [LogisticRegression(max_iter=5000), DecisionTreeClassifier(max_depth=5)], ids=repr)
def test_a_column_transformer_is_explained_in_the_original_features(options: dict[str, Any], final: Any) -> None:
    X, y = people()
    model = Pipeline([("pre", preprocessing(**options)), ("model", final)]).fit(X, y)
    domain = people_domain(X)
    form = read_model(model, domain)
    assert isinstance(form, LinearModel | TreeSum)
    assert form.domain is domain
    fresh = people(500, seed=1)[0]
    fresh = fresh.assign(**{n: fresh[n].clip(X[n].min(), X[n].max()) for n in ("income", "noise")})
    assert form.predict(fresh) == model.predict(fresh).tolist()
    e = Explainer(model, domain).explain(X.iloc[0])
    assert set(e.scores()) == set(X.columns)
    assert e.scores()["noise"] == 0


def test_a_pipeline_says_what_the_same_model_on_scaled_data_says() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-4, 4, (200, 3))
    y = X @ [1, -2, 0.5] > 0.3
    scaler = StandardScaler().fit(X)
    scaler.mean_, scaler.scale_ = np.array([0.5, 0.0, -0.25]), np.array([2.0, 0.5, 4.0])
    bare = LogisticRegression().fit(scaler.transform(X), y)
    outer = Domain([Real(n, -4, 4) for n in "abc"])
    ends = [scaler.transform([[end] * 3])[0].tolist() for end in (-4, 4)]
    scaled = Domain([Real(n, a, b) for n, a, b in zip("abc", *ends, strict=True)])
    for x in X[:30]:
        a = Problem.of(Pipeline([("scale", scaler), ("model", bare)]), outer, x)
        b = Problem.of(bare, scaled, scaler.transform([x])[0])
        assert {c.features for c in find_cxps(a)} == {c.features for c in find_cxps(b)}
    # The scales are powers of two, so nothing is rounded but x - mean, and 0 is not rounded at all.
    a = Problem.of(Pipeline([("scale", scaler), ("model", bare)]), outer, [0.0, 0.0, 0.0])
    b = Problem.of(bare, scaled, scaler.transform([[0.0, 0.0, 0.0]])[0])
    assert find_cxps(a) == find_cxps(b)


def on_thresholds(model: TreeSum) -> list[tuple[int, float]]:
    """Return each cut of each feature with the floats around it."""
    found = []
    for i, axis in enumerate(model.grid.axes):
        for cut in axis.cuts:
            x = cut.value
            for _ in range(3):
                found += [(i, x)]
                x = math.nextafter(x, -math.inf)
            x = cut.value
            for _ in range(3):
                found += [(i, x)]
                x = math.nextafter(x, math.inf)
    return found


@pytest.mark.parametrize(
    "scalers",
    [
        (StandardScaler(),),
        (MinMaxScaler((-3, 11)),),
        (MinMaxScaler(clip=True),),
        (StandardScaler(with_mean=False), MinMaxScaler(), StandardScaler()),
        (StandardScaler(with_std=False), "passthrough"),
    ],
    ids=repr,
)
def test_trees_behind_scalers_agree_on_every_threshold(scalers: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(1e3, 0.001, (400, 3)) + rng.integers(0, 3, (400, 1))
    y = (X @ [1.0, 2.0, -1.0]) % 3
    model = make_pipeline(*scalers, DecisionTreeRegressor(max_depth=7)).fit(X, y)
    domain = Domain.from_data(X)
    form = read_model(model, domain)
    base = X[rng.integers(0, len(X), 10)]
    probes = []
    for i, value in on_thresholds(form):
        for row in base:
            probe = row.copy()
            probe[i] = value
            probes.append(probe)
    table = np.array(probes)
    inside = ((table >= X.min(0)) & (table <= X.max(0))).all(axis=1)
    assert inside.sum() > 1000
    assert [float(p) for p in form.predict(table[inside])] == model.predict(table[inside]).tolist()


def test_integer_features_behind_scalers_and_encoders() -> None:
    rng = np.random.default_rng(6)
    X = rng.integers(0, 6, (300, 2))
    y = (X[:, 0] + 2 * X[:, 1]) % 4
    domain = Domain([Integer("a", 0, 5), Integer("b", 0, 5)])
    everything = np.array(list(domain.points()))
    encoded = ColumnTransformer([("a", OneHotEncoder(), [0]), ("b", StandardScaler(), [1])])
    for final in (DecisionTreeClassifier(max_depth=6), LogisticRegression(max_iter=5000)):
        for first in (StandardScaler(), OneHotEncoder(), OrdinalEncoder(), encoded):
            model = make_pipeline(first, final).fit(X, y)
            assert read_model(model, domain).predict(everything) == model.predict(everything).tolist()


def test_an_ordinal_encoder_before_categorical_naive_bayes() -> None:
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"city": rng.choice(CITIES, 200), "size": rng.choice(["S", "M", "L"], 200)})
    y = rng.choice(["x", "y", "z"], 200)
    model = make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(X, y)
    domain = Domain.from_data(X)
    everything = pd.DataFrame(list(domain.points()), columns=list(domain.names))
    assert read_model(model, domain).predict(everything) == model.predict(everything).tolist()
    assert Explainer(model, domain, weights="count").explain(X.iloc[0]).cxps


def test_columns_are_selected_in_every_way_scikit_learn_allows() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    domain = Domain.from_data(X)
    names = list(X.columns)
    ways: list[Any] = [
        [0, 2],
        [-4, -2],
        slice(0, 2),
        slice(names[0], names[1]),
        [True, False, True, False],
        names[1:3],
        lambda frame: [1, 3],
    ]
    for way in ways:
        pre = ColumnTransformer([("some", MinMaxScaler(), way)], remainder=StandardScaler())
        model = make_pipeline(pre, LogisticRegression(max_iter=5000)).fit(X, y)
        assert read_model(model, domain).predict(X) == model.predict(X).tolist()


def test_output_names_and_nested_pipelines() -> None:
    X, y = people()
    numbers = Pipeline([("scale", StandardScaler()), ("squeeze", MinMaxScaler())])
    pre = ColumnTransformer(
        [("n", numbers, ["age", "income"]), ("c", OneHotEncoder(sparse_output=False), ["city"])],
        remainder="passthrough",
    ).set_output(transform="pandas")
    model = Pipeline([("pre", pre), ("tree", DecisionTreeClassifier(max_depth=5))]).fit(X, y)
    assert read_model(model, people_domain(X)).predict(X) == model.predict(X).tolist()


def test_forests_and_boosted_trees_behind_scalers_and_encoders() -> None:
    X, y = people()
    for final in (RandomForestClassifier(8, max_depth=4, random_state=0), GradientBoostingClassifier(n_estimators=8)):
        model = Pipeline([("pre", preprocessing(sparse_output=False)), ("model", final)]).fit(X, y)
        assert read_model(model, people_domain(X)).predict(X) == model.predict(X).tolist()


def test_a_regression_behind_a_scaler_is_exact() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 2))
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X @ [1, 2])
    domain = Domain.from_data(X)
    scaler, final = model[0], model[1]
    x = X[3]
    wanted = Fraction(float(final.intercept_)) + sum(
        Fraction(float(c)) * (Fraction(float(v)) - Fraction(float(m))) / Fraction(float(s))
        for c, v, m, s in zip(final.coef_, x, scaler.mean_, scaler.scale_, strict=True)
    )
    assert read_model(model, domain).predict([x]) == [wanted]
    assert Explainer(model, domain, delta=0.5).explain(x).cxps


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([("poly", PolynomialFeatures())], "step 'poly' is PolynomialFeatures"),
        ([("sin", FunctionTransformer(np.sin))], "step 'sin' is FunctionTransformer.sin.*use one of NumPy's"),
        ([("log", FunctionTransformer(np.log))], "step 'log' .FunctionTransformer of log. bends its column; scale it"),
        ([("rank", QuantileTransformer(n_quantiles=9))], "'x0' .a number.*step 'rank' .QuantileTransformer. bends"),
        ([("power", PowerTransformer())], "step 'power' .PowerTransformer. bends its column"),
        ([("bins", KBinsDiscretizer(3))], "step 'bins' .KBinsDiscretizer. cuts its column into bins"),
        ([("big", Binarizer())], "step 'big' .Binarizer. cuts its column"),
        ([("gap", SimpleImputer(missing_values=5.0))], "step 'gap' .SimpleImputer. is not linear"),
        ([("knn", KNNImputer())], "step 'knn' is KNNImputer.*with SimpleImputer"),
        ([("unit", Normalizer())], "step 'unit' is Normalizer.*with StandardScaler"),
        ([("hot", OneHotEncoder()), ("max", FunctionTransformer(np.abs))], "step 'hot'.*value by value"),
        ([("squeeze", MinMaxScaler(clip=True))], "step 'squeeze'.*clips"),
        ([("hot", OneHotEncoder(handle_unknown="ignore"))], "step 'hot'.*value by value"),
        ([("pre", ColumnTransformer([("sq", PolynomialFeatures(), [0])]))], "step 'pre', transformer 'sq'"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_step_that_cannot_be_inverted_is_named(steps: list[Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = Pipeline([*steps, ("model", LogisticRegression(max_iter=10_000))]).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=message):
        read_model(model, Domain.from_data(X))


def test_other_bad_pipelines() -> None:
    X, y = people()
    fitted = Pipeline([("pre", preprocessing()), ("model", DecisionTreeClassifier())]).fit(X, y)
    wide = Domain(
        [*people_domain(X).features[:1], Categorical("city", [*CITIES, "Essen"]), *people_domain(X).features[2:]]
    )
    with pytest.raises(DomainError, match="'Essen' of feature 'city'"):
        read_model(fitted, wide)
    numbers = X[["age", "income"]].to_numpy()
    domain = Domain.from_data(numbers)
    with pytest.raises(UnsupportedModelError, match="Expected a model that can be read"):
        read_model(make_pipeline("passthrough", StandardScaler()).fit(numbers), domain)
    with pytest.raises(UnsupportedModelError, match="must end in a model"):
        read_model(make_pipeline(StandardScaler(), "passthrough").fit(numbers), domain)
    with pytest.raises(UnfittedModelError, match="call fit first"):
        read_model(make_pipeline(StandardScaler(), LogisticRegression()), domain)
    with pytest.raises(DomainError, match="columns"):
        read_model(make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(numbers, y), Domain([Real("a", 0, 1)]))


@pytest.mark.parametrize("reach", [0.5, 2.0, 3.0, 1e9])
def test_thresholds_are_pulled_back_however_wide_the_domain(reach: float) -> None:
    rng = np.random.default_rng(7)
    X = rng.uniform(-reach, reach, size=(200, 2))
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0))
    model.fit(X, (X[:, 0] > X[:, 1]).astype(int))
    domain = Domain([Real("a", -reach, reach), Real("b", -reach, reach)])
    points = rng.uniform(-reach, reach, size=(300, 2))
    assert read_model(model, domain).predict(points) == model.predict(points).tolist()
