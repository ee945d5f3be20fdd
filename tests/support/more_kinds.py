"""Kinds of model that the readers take beyond those of ``kinds``: encoders, categories, gaps, variants, files."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.files import load_circuit, write_nnf
from axfi_kc.domain.grid import Grid
from axfi_kc.models import CircuitModel
from tests.support import kinds
from tests.support.kinds import BINARY, DOMAIN, THREE, Kind, X, Z
from tests.support.random_networks import domain_of, random_network

ONES = (BINARY == "yes").astype(int)
RNG = np.random.default_rng(23)
WORDS = np.array(["ash", "elm", "fir", "oak"])
TREES = RNG.integers(0, 4, len(X))
SIZES = RNG.integers(0, 3, len(X))
MIXED = np.column_stack([X[:, 0], TREES, SIZES])
MIXED_Z = X[:, 0] + np.array([0.9, -0.8, 0.1, -0.5])[TREES] + 0.4 * (SIZES == 1)
MIXED_TWO = (MIXED_Z > 0.1).astype(int)
MIXED_THREE = np.digitize(MIXED_Z, [-0.3, 0.5])
HALF = Fraction(1, 2)
BOOSTED = {"n_estimators": 5, "max_depth": 2, "n_jobs": 1}
LIGHT = {"n_estimators": 4, "num_leaves": 5, "min_child_samples": 8, "n_jobs": 1, "verbose": -1}
FOREST = {"n_estimators": 5, "max_depth": 3, "random_state": 0}
CATBOOST = {"iterations": 5, "depth": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
EBM = {"max_rounds": 20, "max_bins": 6, "interactions": 1, "outer_bags": 1, "n_jobs": 1, "random_state": 0}
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
MIXED_GAPS = RNG.random(MIXED.shape) < 0.2
DISCRETE = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2), ax.Integer("c", 0, 1)])


def _numbered() -> ax.Domain:
    """Return the domain of MIXED, its categories being numbers."""
    low, high = float(MIXED[:, 0].min()), float(MIXED[:, 0].max())
    return ax.Domain([ax.Real("height", low, high), ax.Categorical("tree", range(4)), ax.Categorical("size", range(3))])


def _worded() -> tuple[ax.Domain, Any]:
    """Return the domain of MIXED with words, and its frame."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"height": MIXED[:, 0], "tree": WORDS[TREES], "size": SIZES})
    low, high = float(MIXED[:, 0].min()), float(MIXED[:, 0].max())
    return ax.Domain(
        [ax.Real("height", low, high), ax.Categorical("tree", WORDS.tolist()), ax.Integer("size", 0, 2)]
    ), frame


def _rows(words: bool) -> tuple[Any, ...]:
    trees: Any = WORDS[TREES].tolist() if words else TREES.tolist()
    return tuple(zip(MIXED[:6, 0].tolist(), trees[:6], SIZES[:6].tolist(), strict=True))


def _plain(library: str, name: str, y: Any, delta: Any = None, **settings: Any) -> Callable[[], Kind]:
    """Train on numbers."""
    return lambda: kinds._trained(getattr(pytest.importorskip(library), name)(**settings), y, delta)


def _fitted(library: str, name: str, y: Any, delta: Fraction | None = None, **settings: Any) -> Callable[[], Kind]:
    """Train on numbered categories."""

    def made() -> Kind:
        given = {k: v for k, v in settings.items() if k != "fit"}
        model = getattr(pytest.importorskip(library), name)(**given).fit(MIXED, y, **settings.get("fit", {}))
        return Kind(model, _numbered(), delta, _rows(words=False))

    return made


def _on_words(library: str, name: str, y: Any, delta: Fraction | None = None, **settings: Any) -> Callable[[], Kind]:
    """Train on a frame whose column of words is a categorical one."""

    def made() -> Kind:
        domain, frame = _worded()
        table = frame.astype({"tree": "category"})
        return Kind(getattr(pytest.importorskip(library), name)(**settings).fit(table, y), domain, delta, _rows(True))

    return made


def _booster_of_words(library: str, name: str, **settings: Any) -> Callable[[], Kind]:
    """Train on a frame with two categorical columns, one of words and one of numbers, and keep the booster."""

    def made() -> Kind:
        domain, frame = _worded()
        table = frame.astype({"tree": "category", "size": "category"})
        model = getattr(pytest.importorskip(library), name)(**settings).fit(table, MIXED_THREE)
        booster = model.get_booster() if library == "xgboost" else model.booster_
        return Kind(booster, domain, None, _rows(True))

    return made


def _encoded(
    final: Callable[[], Any], y: Any, delta: Fraction | None = None, *, hot: bool = True
) -> Callable[[], Kind]:
    """Train a pipeline of a ColumnTransformer of encoders and scalers, and a model."""

    def made() -> Kind:
        compose, pipeline = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.pipeline")
        scalers = pytest.importorskip("sklearn.preprocessing")
        domain, frame = _worded()
        encoder = scalers.OneHotEncoder(drop="first") if hot else scalers.OrdinalEncoder()
        parts = [("words", encoder, ["tree"]), ("numbers", scalers.StandardScaler(), ["size", "height"])]
        model = pipeline.make_pipeline(compose.ColumnTransformer(parts), final())
        return Kind(model.fit(frame, y), domain, delta, _rows(True))

    return made


def _sklearn(module: str, name: str, **settings: Any) -> Callable[[], Any]:
    return lambda: getattr(pytest.importorskip(f"sklearn.{module}"), name)(**settings)


def _around(module: str, name: str, inner: Callable[[], Any], **settings: Any) -> Callable[[], Any]:
    """Make a model that asks another."""
    return lambda: getattr(pytest.importorskip(f"sklearn.{module}"), name)(inner(), **settings)


def _on_numbers(make: Callable[[], Any], y: Any, delta: Fraction | None = None, *, gaps: bool) -> Callable[[], Kind]:
    """Train what is made on numbers, a fifth of them missing or none."""

    def made() -> Kind:
        table, domain = (GAPS, ax.Domain.from_data(GAPS, integer=["x2", "x3"])) if gaps else (X, DOMAIN)
        return Kind(make().fit(table, y), domain, delta, tuple(table[:6]))

    return made


def _scaled(final: Callable[[], Any], y: Any, scaler: str = "StandardScaler", **settings: Any) -> Callable[[], Kind]:
    def made() -> Kind:
        pipeline = pytest.importorskip("sklearn.pipeline")
        return kinds._trained(pipeline.make_pipeline(_sklearn("preprocessing", scaler, **settings)(), final()), y)

    return made


def _xgboost_file(suffix: str) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("xgboost")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model.{suffix}"
            library.XGBClassifier(**BOOSTED).fit(X, THREE).save_model(path)
            return Kind(library.Booster(model_file=path), DOMAIN, None, tuple(X[:6]))

    return made


def _booster(objective: str, y: Any, delta: Fraction | None = None, **settings: Any) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("xgboost")
        given = {"objective": objective, "max_depth": 2, "nthread": 1, **settings}
        model = library.train(given, library.DMatrix(X, label=y), num_boost_round=5)
        return Kind(model, DOMAIN, delta, tuple(X[:6]))

    return made


def _lightgbm_text(y: Any, objective: str, delta: Fraction | None = None) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("lightgbm")
        settings = {"objective": objective, "num_leaves": 5, "num_threads": 1, "verbose": -1}
        settings |= {"num_class": 3} if objective == "multiclass" else {}
        grown = library.train(settings, library.Dataset(X, label=y, free_raw_data=False), num_boost_round=4)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.txt"
            grown.save_model(path)
            return Kind(library.Booster(model_file=path), DOMAIN, delta, tuple(X[:6]))

    return made


def _nnf_file() -> Kind:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abcd"])
    build = CircuitBuilder(Grid.of_values(domain))
    one = build.conjunction([build.literal(0, [1]), build.literal(2, [1])])
    two = build.conjunction([build.literal(0, [0]), build.literal(1, [1]), build.literal(3, [1])])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "circuit.nnf"
        write_nnf(build.circuit(build.disjunction([one, two])), path)
        model = CircuitModel.of(load_circuit(path, domain), outputs=(0, 1))
    return Kind(model, domain, None, ((1, 0, 1, 1), (0, 1, 0, 1), (0, 0, 0, 0)))


def _truth_table() -> Kind:
    outputs = [("low", "high")[int(a * (b + 1) + c > 3)] for a, b, c in DISCRETE.points()]
    return Kind(ax.TableModel.from_outputs(DISCRETE, outputs), DISCRETE, None, ((3, 2, 1), (0, 0, 0), (2, 1, 0)))


def _network() -> Kind:
    """Return a tree-augmented network that predicts its first variable."""
    network = random_network(Random(5), n=5, shape="tree", zeros=0).with_output("x0")
    domain = domain_of(network, network.names[1:])
    return Kind(network, domain, None, tuple(domain.points())[::5][:4])


def _bayes(name: str, **settings: Any) -> Callable[[], Kind]:
    def made() -> Kind:
        table = np.array(list(DISCRETE.points()))
        y = (table[:, 0] + table[:, 1] * table[:, 2] > 2).astype(int)
        model = getattr(pytest.importorskip("sklearn.naive_bayes"), name)(**settings).fit(table, y)
        return Kind(model, DISCRETE, None, ((3, 2, 1), (0, 0, 0), (2, 1, 0)))

    return made


def _gaps(library: str, name: str, y: Any, delta: Any = None, **settings: Any) -> Callable[[], Kind]:
    """Train on numbers of which a fifth is missing."""

    def made() -> Kind:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that plots do not show missing values
            model = getattr(pytest.importorskip(library), name)(**settings).fit(GAPS, y)
        domain = ax.Domain.from_data(GAPS, integer=["x2", "x3"])
        return Kind(model, domain, None if delta is None else Fraction(delta), tuple(GAPS[:6]))

    return made


def _gaps_in_words(library: str, name: str, y: Any, delta: Any = None, **settings: Any) -> Callable[[], Kind]:
    """Train on a frame with a column of words, of which a fifth is missing too."""

    def made() -> Kind:
        _, frame = _worded()
        table = frame.mask(MIXED_GAPS)
        domain = ax.Domain.from_data(table)
        model = getattr(pytest.importorskip(library), name)(**settings).fit(table.astype({"tree": "category"}), y)
        return Kind(model, domain, delta, tuple(domain.decode(row) for row in domain.encode(table[:6])))

    return made


def _imputed(
    final: Callable[[], Any],
    y: Any,
    delta: Fraction | None = None,
    *,
    numbers: Callable[[], Any] | None = None,
    sparse: float = 0,
    **imputer: Any,
) -> Callable[[], Kind]:
    """Train a pipeline that puts something in the place of missing words and numbers; `numbers` then scales."""

    def made() -> Kind:
        impute, pipeline = pytest.importorskip("sklearn.impute"), pytest.importorskip("sklearn.pipeline")
        scalers, compose = pytest.importorskip("sklearn.preprocessing"), pytest.importorskip("sklearn.compose")
        _, frame = _worded()
        table = frame.mask(MIXED_GAPS)
        domain = ax.Domain.from_data(table)
        words = pipeline.make_pipeline(
            impute.SimpleImputer(strategy="most_frequent"), scalers.OneHotEncoder(handle_unknown="ignore")
        )
        steps = [impute.SimpleImputer(strategy="median", **imputer), *([numbers()] if numbers else [])]
        parts = [("words", words, ["tree"]), ("numbers", pipeline.make_pipeline(*steps), ["size", "height"])]
        model = pipeline.make_pipeline(compose.ColumnTransformer(parts, sparse_threshold=sparse), final()).fit(table, y)
        return Kind(model, domain, delta, tuple(domain.decode(row) for row in domain.encode(table[:6])))

    return made


def _encoded_gaps() -> Kind:
    """Train on words that became numbers, missing ones staying missing."""
    pipeline, compose = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.compose")
    ordinal = _sklearn("preprocessing", "OrdinalEncoder", encoded_missing_value=np.nan)()
    table = _worded()[1].mask(MIXED_GAPS)
    domain = ax.Domain.from_data(table)
    columns = compose.ColumnTransformer([("words", ordinal, ["tree"])], remainder="passthrough")
    final = _sklearn("ensemble", "HistGradientBoostingClassifier", max_iter=4, max_depth=3)()
    model = pipeline.make_pipeline(columns, final).fit(table, MIXED_THREE)
    return Kind(model, domain, None, tuple(domain.decode(row) for row in domain.encode(table[:6])))


def _imputed_numbers(
    final: Callable[[], Any], y: Any, *steps: Callable[[], Any], delta: Fraction | None = None
) -> Callable[[], Kind]:
    """Train a pipeline on numbers of which a fifth is missing."""

    def made() -> Kind:
        pipeline = pytest.importorskip("sklearn.pipeline")
        model = pipeline.make_pipeline(*(step() for step in steps), final()).fit(GAPS, y)
        return Kind(model, ax.Domain.from_data(GAPS, integer=["x2", "x3"]), delta, tuple(GAPS[:6]))

    return made


def _gaps_in_categories() -> Kind:
    """Train CatBoost on numbers with gaps and a column of words without."""
    cb = pytest.importorskip("catboost")
    _, frame = _worded()
    table = frame.assign(height=frame["height"].mask(MIXED_GAPS[:, 0]))
    model = cb.CatBoostClassifier(**CATBOOST, one_hot_max_size=4, cat_features=["tree"]).fit(table, MIXED_THREE)
    domain = ax.Domain.from_data(table)
    return Kind(model, domain, None, tuple(domain.decode(row) for row in domain.encode(table[:6])))


def _onnx() -> Kind:
    """Convert a forest to ONNX."""
    convert = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    forest = _sklearn("ensemble", "RandomForestClassifier", n_estimators=3, max_depth=3, random_state=0)()
    model = convert.to_onnx(forest.fit(X, THREE), X[:1].astype(np.float32), options={"zipmap": False})
    return Kind(model, DOMAIN, None, tuple(X[:6]))


def _gaps_in_booster(y: Any) -> Callable[[], Kind]:
    def made() -> Kind:
        library = pytest.importorskip("xgboost")
        given = {"objective": "multi:softprob", "num_class": 3, "max_depth": 2, "nthread": 1}
        model = library.train(given, library.DMatrix(GAPS, label=y), num_boost_round=5)
        return Kind(model, ax.Domain.from_data(GAPS, integer=["x2", "x3"]), None, tuple(GAPS[:6]))

    return made


def _gaps_in_codes() -> Kind:
    """Train on one-hot columns, all of which are missing at once."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    hot = np.where(MIXED_GAPS[:, 1:2], np.nan, np.eye(4)[TREES])
    table = np.column_stack([np.where(MIXED_GAPS[:, 0], np.nan, MIXED[:, 0]), hot])
    low, high = float(MIXED[:, 0].min()), float(MIXED[:, 0].max())
    codes = ax.Categorical("tree", WORDS.tolist(), columns=WORDS.tolist(), missing=Fraction(1, 5))
    domain = ax.Domain([ax.Real("height", low, high, missing=Fraction(1, 7)), codes])
    model = ensemble.RandomForestClassifier(**FOREST).fit(table, MIXED_THREE)
    return Kind(model, domain, None, tuple(domain.decode(row) for row in domain.encode(table[:6])))


def _gaps_in_function() -> Kind:
    domain = ax.Domain(
        [
            ax.Integer("a", 0, 3, missing=Fraction(1, 4)),
            ax.Categorical("b", "xyz", weights=[1, 2, 3], missing=Fraction(1, 3)),
            ax.Integer("c", 0, 2),
        ]
    )
    return Kind(_decide_gaps, domain, None, ((3, "x", 2), (None, "z", 0), (1, None, 1), (None, None, 0)))


def _decide_gaps(point: tuple[Any, ...]) -> str:
    a, b, c = point
    if a is None:
        return "unknown" if b is None else "late"
    return "high" if a + c > 3 or (b is None and c) else "low"


def _neutral_gaps() -> Kind:
    made = kind("xgboost with gaps")
    return Kind(ax.read_model(made.model, made.domain), made.domain, None, made.rows)


_SMALL_TREE = _sklearn("tree", "DecisionTreeClassifier", max_depth=3, random_state=0)
_LOGISTIC = _sklearn("linear_model", "LogisticRegression")
_KINDS: dict[str, Callable[[], Kind]] = {
    "truth table": _truth_table,
    "nnf file": _nnf_file,
    "extra tree": _plain("sklearn.tree", "ExtraTreeClassifier", THREE, max_depth=4, random_state=1),
    "extra trees": _plain("sklearn.ensemble", "ExtraTreesClassifier", THREE, **FOREST),
    "extra trees regression": _plain("sklearn.ensemble", "ExtraTreesRegressor", Z, "1/2", **FOREST),
    "histograms of two": _plain("sklearn.ensemble", "HistGradientBoostingClassifier", BINARY, max_iter=4, max_depth=2),
    "histograms of numbered categories": _fitted(
        "sklearn.ensemble", "HistGradientBoostingClassifier", MIXED_THREE, max_iter=4, categorical_features=[1, 2]
    ),
    "histograms of words": _on_words(
        "sklearn.ensemble", "HistGradientBoostingRegressor", MIXED_Z, HALF, max_iter=4, max_depth=3
    ),
    "xgboost dart": _plain("xgboost", "XGBClassifier", ONES, booster="dart", rate_drop=0.5, random_state=3, **BOOSTED),
    "xgboost dart regression": _plain(
        "xgboost", "XGBRegressor", Z, "1/2", booster="dart", rate_drop=0.5, random_state=3, **BOOSTED
    ),
    "xgboost hinge": _plain("xgboost", "XGBClassifier", ONES, objective="binary:hinge", **BOOSTED),
    "xgboost logitraw": _plain("xgboost", "XGBClassifier", ONES, objective="binary:logitraw", **BOOSTED),
    "xgboost forest": _plain("xgboost", "XGBRFClassifier", ONES, **BOOSTED),
    "xgboost numbered categories": _fitted(
        "xgboost", "XGBClassifier", MIXED_THREE, feature_types=["q", "c", "c"], enable_categorical=True, **BOOSTED
    ),
    "xgboost words": _on_words("xgboost", "XGBRegressor", MIXED_Z, HALF, enable_categorical=True, **BOOSTED),
    "xgboost booster of words": _booster_of_words("xgboost", "XGBClassifier", enable_categorical=True, **BOOSTED),
    "xgboost booster of classes": _booster("multi:softprob", THREE, num_class=3),
    "xgboost booster regression": _booster("reg:squarederror", Z, HALF),
    "xgboost json file": _xgboost_file("json"),
    "xgboost ubj file": _xgboost_file("ubj"),
    "lightgbm classes": _plain("lightgbm", "LGBMClassifier", THREE, **LIGHT),
    "lightgbm dart": _plain("lightgbm", "LGBMClassifier", BINARY, boosting_type="dart", **LIGHT),
    "lightgbm forest": _plain(
        "lightgbm", "LGBMRegressor", Z, "1/2", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, **LIGHT
    ),
    "lightgbm zeros": _plain("lightgbm", "LGBMClassifier", BINARY, zero_as_missing=True, **LIGHT),
    "lightgbm numbered categories": _fitted(
        "lightgbm", "LGBMClassifier", MIXED_THREE, fit={"categorical_feature": [1, 2]}, min_data_per_group=5, **LIGHT
    ),
    "lightgbm words": _on_words("lightgbm", "LGBMRegressor", MIXED_Z, HALF, min_data_per_group=5, **LIGHT),
    "lightgbm booster of words": _booster_of_words("lightgbm", "LGBMClassifier", min_data_per_group=5, **LIGHT),
    "lightgbm text": _lightgbm_text(ONES, "binary"),
    "lightgbm text of classes": _lightgbm_text(THREE, "multiclass"),
    "lightgbm text regression": _lightgbm_text(Z, "regression", HALF),
    "linear classes": _plain("sklearn.linear_model", "LogisticRegression", THREE),
    "ridge": _plain("sklearn.linear_model", "Ridge", Z, "1/2"),
    "lasso": _plain("sklearn.linear_model", "Lasso", Z, "1/4", alpha=0.05),
    "ridge classifier": _plain("sklearn.linear_model", "RidgeClassifier", THREE),
    "perceptron": _plain("sklearn.linear_model", "Perceptron", BINARY),
    "stochastic descent": _plain("sklearn.linear_model", "SGDClassifier", THREE, random_state=0),
    "support vectors": _plain("sklearn.svm", "LinearSVC", BINARY),
    "bernoulli bayes": _bayes("BernoulliNB", binarize=1.0),
    "categorical bayes": _bayes("CategoricalNB"),
    "scaled tree": _scaled(_sklearn("tree", "DecisionTreeClassifier", max_depth=4), THREE),
    "clipped forest": _scaled(
        _sklearn("ensemble", "RandomForestClassifier", **FOREST), THREE, "MinMaxScaler", clip=True
    ),
    "encoded linear": _encoded(_LOGISTIC, MIXED_TWO),
    "encoded linear classes": _encoded(_LOGISTIC, MIXED_THREE),
    "encoded linear regression": _encoded(_sklearn("linear_model", "Ridge"), MIXED_Z, HALF),
    "encoded tree": _encoded(_sklearn("tree", "DecisionTreeClassifier", max_depth=5), MIXED_THREE),
    "encoded forest regression": _encoded(_sklearn("ensemble", "RandomForestRegressor", **FOREST), MIXED_Z, HALF),
    "encoded xgboost": _encoded(
        lambda: pytest.importorskip("xgboost").XGBClassifier(**BOOSTED), MIXED_THREE, hot=False
    ),
    "ordinal boosted": _encoded(
        _sklearn("ensemble", "GradientBoostingClassifier", n_estimators=5, max_depth=2), MIXED_TWO, hot=False
    ),
    "function with gaps": _gaps_in_function,
    "tree with gaps": _gaps("sklearn.tree", "DecisionTreeClassifier", THREE, max_depth=4, random_state=0),
    "tree regression with gaps": _gaps("sklearn.tree", "DecisionTreeRegressor", Z, "1/2", max_depth=4, random_state=0),
    "forest with gaps": _gaps("sklearn.ensemble", "RandomForestClassifier", THREE, **FOREST),
    "forest regression with gaps": _gaps("sklearn.ensemble", "RandomForestRegressor", Z, "1/2", **FOREST),
    "extra trees with gaps": _gaps("sklearn.ensemble", "ExtraTreesClassifier", BINARY, **FOREST),
    "histograms with gaps": _gaps("sklearn.ensemble", "HistGradientBoostingClassifier", THREE, max_iter=4, max_depth=3),
    "histograms regression with gaps": _gaps(
        "sklearn.ensemble", "HistGradientBoostingRegressor", Z, "1/2", max_iter=4, max_depth=3
    ),
    "histograms of words with gaps": _gaps_in_words(
        "sklearn.ensemble", "HistGradientBoostingClassifier", MIXED_THREE, max_iter=4, max_depth=3
    ),
    "one-hot forest with gaps": _gaps_in_codes,
    "xgboost with gaps": _gaps("xgboost", "XGBClassifier", ONES, **BOOSTED),
    "xgboost classes with gaps": _gaps("xgboost", "XGBClassifier", THREE, **BOOSTED),
    "xgboost regression with gaps": _gaps("xgboost", "XGBRegressor", Z, "1/2", **BOOSTED),
    "xgboost booster with gaps": _gaps_in_booster(THREE),
    "xgboost words with gaps": _gaps_in_words(
        "xgboost", "XGBRegressor", MIXED_Z, HALF, enable_categorical=True, **BOOSTED
    ),
    "lightgbm with gaps": _gaps("lightgbm", "LGBMClassifier", BINARY, **LIGHT),
    "lightgbm classes with gaps": _gaps("lightgbm", "LGBMClassifier", THREE, **LIGHT),
    "lightgbm regression with gaps": _gaps("lightgbm", "LGBMRegressor", Z, "1/2", **LIGHT),
    "lightgbm zeros with gaps": _gaps("lightgbm", "LGBMClassifier", BINARY, zero_as_missing=True, **LIGHT),
    "lightgbm with gaps as zeros": _gaps("lightgbm", "LGBMClassifier", BINARY, use_missing=False, **LIGHT),
    "lightgbm words with gaps": _gaps_in_words(
        "lightgbm", "LGBMClassifier", MIXED_THREE, min_data_per_group=5, **LIGHT
    ),
    "neutral trees with gaps": _neutral_gaps,
    "xgboost with zero missing": _plain("xgboost", "XGBClassifier", THREE, missing=0.0, **BOOSTED),
    "xgboost regression with two missing": _plain("xgboost", "XGBRegressor", Z, "1/2", missing=2.0, **BOOSTED),
    "xgboost with zero missing and gaps": _gaps("xgboost", "XGBClassifier", ONES, missing=0.0, **BOOSTED),
    "xgboost categories with zero missing": _fitted(
        "xgboost",
        "XGBClassifier",
        MIXED_THREE,
        missing=0.0,
        feature_types=["q", "c", "c"],
        enable_categorical=True,
        **BOOSTED,
    ),
    "imputed linear": _imputed(_LOGISTIC, MIXED_TWO, numbers=_sklearn("preprocessing", "StandardScaler")),
    "imputed linear classes": _imputed(_LOGISTIC, MIXED_THREE, numbers=_sklearn("preprocessing", "RobustScaler")),
    "imputed linear regression with marks": _imputed(
        _sklearn("linear_model", "Ridge"),
        MIXED_Z,
        HALF,
        numbers=_sklearn("preprocessing", "MaxAbsScaler"),
        add_indicator=True,
    ),
    "imputed forest": _imputed(_sklearn("ensemble", "RandomForestClassifier", **FOREST), MIXED_THREE),
    "imputed boosted with marks": _imputed(
        _sklearn("ensemble", "GradientBoostingClassifier", n_estimators=5, max_depth=2),
        MIXED_THREE,
        numbers=_sklearn("preprocessing", "StandardScaler"),
        add_indicator=True,
    ),
    "imputed histograms": _imputed(
        _sklearn("ensemble", "HistGradientBoostingClassifier", max_iter=4, max_depth=3), MIXED_THREE
    ),
    "imputed xgboost": _imputed(lambda: pytest.importorskip("xgboost").XGBClassifier(**BOOSTED), MIXED_TWO),
    "imputed sparse xgboost": _imputed(
        lambda: pytest.importorskip("xgboost").XGBClassifier(**BOOSTED),
        MIXED_THREE,
        numbers=_sklearn("preprocessing", "MaxAbsScaler"),
        sparse=1,
    ),
    "encoded words with gaps": _encoded_gaps,
    "binned tree with gaps": _imputed_numbers(
        _sklearn("tree", "DecisionTreeClassifier", max_depth=4, random_state=0),
        THREE,
        _sklearn("impute", "SimpleImputer"),
        _sklearn("preprocessing", "KBinsDiscretizer", n_bins=4, encode="ordinal", strategy="uniform"),
    ),
    "scaled xgboost with gaps": _imputed_numbers(
        lambda: pytest.importorskip("xgboost").XGBClassifier(**BOOSTED),
        THREE,
        _sklearn("preprocessing", "RobustScaler"),
    ),
    "selected linear with gaps": _imputed_numbers(
        _LOGISTIC,
        BINARY,
        _sklearn("impute", "SimpleImputer", add_indicator=True),
        _sklearn("feature_selection", "SelectKBest", k=5),
        _sklearn("preprocessing", "MinMaxScaler"),
    ),
    "catboost with gaps": _gaps("catboost", "CatBoostClassifier", BINARY, **CATBOOST),
    "catboost classes with gaps": _gaps("catboost", "CatBoostClassifier", THREE, **CATBOOST),
    "catboost regression with gaps": _gaps(
        "catboost", "CatBoostRegressor", Z, "1/2", grow_policy="Lossguide", nan_mode="Max", **CATBOOST
    ),
    "catboost categories with gaps": _gaps_in_categories,
    "explainable boosting with gaps": _gaps("interpret.glassbox", "ExplainableBoostingClassifier", BINARY, **EBM),
    "isolation forest": _plain(
        "sklearn.ensemble", "IsolationForest", None, n_estimators=4, max_samples=8, contamination=0.2, random_state=1
    ),
    "onnx forest": _onnx,
    "grid search": _on_numbers(
        _around("model_selection", "GridSearchCV", _SMALL_TREE, param_grid={"max_depth": [3]}, cv=2), THREE, gaps=False
    ),
    "grid search behind imputers": _imputed(
        _around("model_selection", "GridSearchCV", _SMALL_TREE, param_grid={"max_depth": [4]}, cv=2), MIXED_THREE
    ),
    "bagging behind imputers": _imputed(
        _around("ensemble", "BaggingClassifier", _SMALL_TREE, n_estimators=3, random_state=0), MIXED_THREE
    ),
    "search of linear behind imputers": _imputed(
        _around("model_selection", "GridSearchCV", _LOGISTIC, param_grid={"C": [0.5]}, cv=2),
        MIXED_TWO,
        numbers=_sklearn("preprocessing", "StandardScaler"),
    ),
    "bagging with gaps": _on_numbers(
        _around("ensemble", "BaggingClassifier", _SMALL_TREE, n_estimators=3, max_features=0.7, random_state=0),
        THREE,
        gaps=True,
    ),
    "threshold with gaps": _on_numbers(
        _around("model_selection", "FixedThresholdClassifier", _SMALL_TREE, threshold=0.3), ONES, gaps=True
    ),
    "calibrated with gaps": _on_numbers(
        _around("calibration", "CalibratedClassifierCV", _SMALL_TREE, cv=2), BINARY, gaps=True
    ),
    "boosted stumps": _on_numbers(
        _around("ensemble", "AdaBoostClassifier", _SMALL_TREE, n_estimators=3, random_state=0), THREE, gaps=False
    ),
    "one versus rest": _on_numbers(_around("multiclass", "OneVsRestClassifier", _LOGISTIC), THREE, gaps=False),
    "bagged lines": _on_numbers(
        _around("ensemble", "BaggingRegressor", _sklearn("linear_model", "Ridge"), n_estimators=3, random_state=0),
        Z,
        HALF,
        gaps=False,
    ),
    "network": _network,
    "scaled xgboost with zero missing": _scaled(
        lambda: pytest.importorskip("xgboost").XGBClassifier(missing=0.0, **BOOSTED), THREE, "MinMaxScaler"
    ),
}
NAMES = (*kinds.NAMES, *_KINDS)


@cache
def kind(name: str) -> Kind:
    """Return the model of that kind, trained once."""
    return _KINDS[name]() if name in _KINDS else kinds.kind(name)
