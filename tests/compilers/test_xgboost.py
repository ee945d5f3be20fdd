"""XGBoost: margins are the library's up to its float32 rounding, on every side of every threshold."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, ModelFileError, UnfittedModelError, UnsupportedModelError
from tests.support.probes import check_classes, check_margins, columns_of, gaps, probes, sum_error
from tests.support.shared_data import shared_file

xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")

ROUNDED_PROBABILITY = 1e-6  # below it, float32 probabilities of different margins may be equal
N = 300
DOMAIN = ax.Domain([ax.Real("a", -4, 4), ax.Real("b", -4, 4), ax.Real("c", -4, 4), ax.Integer("d", 0, 6)])
TYPES = ["q", "q", "q", "c"]


def table(seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([np.clip(rng.normal(size=(N, 3)), -4, 4), rng.integers(0, 7, N)])


X = table()
Z = X[:, 0] + X[:, 1] * X[:, 2] + np.isin(X[:, 3], [1, 4, 6])
Y = (Z > 0.6).astype(int)
Y3 = np.digitize(Z, [-0.3, 0.9])
TARGET = {"binary": Y, "multi": Y3, "reg": np.abs(Z), "count": np.abs(Z), "rank": Y3}


def train(params: dict, *, rounds: int = 4, categorical: bool = False) -> xgb.Booster:
    objective = params["objective"]
    label = Y if objective == "reg:logistic" else TARGET[objective.partition(":")[0]]
    data = matrix(X, label, categorical=categorical)
    if objective.startswith("rank"):
        data.set_group([100] * 3)
    if objective.startswith("multi"):
        params = {"num_class": 3, **params}
    return xgb.train({"max_depth": 3, "seed": 1, "nthread": 1, **params}, data, rounds)


def matrix(points: np.ndarray, label=None, *, categorical: bool = False) -> xgb.DMatrix:
    types = TYPES if categorical else None
    return xgb.DMatrix(points, label, feature_types=types, enable_categorical=categorical, nthread=1)


def document_of(booster: xgb.Booster) -> dict:
    return json.loads(bytes(booster.save_raw("json")))


def thresholds(booster: xgb.Booster) -> dict[int, list[float]]:
    """Return the thresholds of each column, as the booster's own file has them."""
    learner = document_of(booster)["learner"]["gradient_booster"]
    found: dict[int, list[float]] = {}
    for tree in learner.get("gbtree", learner)["model"]["trees"]:
        kinds = zip(tree["left_children"], tree["split_type"], strict=True)
        inner = [k for k, (child, kind) in enumerate(kinds) if child >= 0 and kind == 0]
        for k in inner:
            found.setdefault(tree["split_indices"][k], []).append(float(np.float32(tree["split_conditions"][k])))
    return found


@pytest.mark.parametrize(
    "params",
    [
        {"objective": "binary:logistic"},
        {"objective": "binary:logistic", "base_score": 0.37},
        {"objective": "binary:logistic", "gamma": 1.5, "max_depth": 6},
        {"objective": "binary:logistic", "booster": "dart", "rate_drop": 0.4, "one_drop": 1},
        {"objective": "binary:logitraw"},
        {"objective": "binary:logitraw", "base_score": 0.37},
        {"objective": "binary:hinge"},
        {"objective": "multi:softprob"},
        {"objective": "multi:softprob", "num_parallel_tree": 3, "subsample": 0.6, "base_score": 0.2},
        {"objective": "multi:softmax", "booster": "dart", "rate_drop": 0.4},
        {"objective": "multi:softprob", "multi_strategy": "multi_output_tree", "tree_method": "hist"},
        {"objective": "reg:squarederror"},
        {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.4},
        {"objective": "reg:absoluteerror"},
        {"objective": "reg:pseudohubererror"},
        {"objective": "reg:squaredlogerror"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.3},
        {"objective": "rank:ndcg"},
        {"objective": "rank:pairwise"},
    ],
    ids=lambda params: "-".join(map(str, params.values())),
)
def test_margins_on_every_threshold(params) -> None:
    booster = train(params)
    model = ax.read_model(booster, DOMAIN)
    codes = probes(DOMAIN, thresholds(booster))
    data = matrix(codes)
    exact = check_margins(model, codes, booster.predict(data, output_margin=True), bits=23)
    outputs = booster.predict(data)
    if model.is_regression:
        worst = max(abs(Fraction(a) - b) for a, b in zip(outputs.tolist(), model.outputs_at(codes), strict=True))
        assert worst <= sum_error(model, bits=23)
        return
    if outputs.ndim == 2:
        outputs = outputs.argmax(axis=1)
    elif params["objective"] != "multi:softmax":
        outputs = (outputs > (0 if params["objective"] == "binary:logitraw" else 0.5)).astype(int)
    check_classes(model, codes, outputs, exact=exact, bits=23, slack=ROUNDED_PROBABILITY)


@pytest.mark.parametrize("one_hot", [1, 100], ids=["partition", "one-hot"])
@pytest.mark.parametrize("kind", ["integer", "categorical"])
def test_categorical_splits(one_hot, kind) -> None:
    booster = train({"objective": "binary:logistic", "max_cat_to_onehot": one_hot}, categorical=True)
    sizes = {s for t in document_of(booster)["learner"]["gradient_booster"]["model"]["trees"] for s in t["categories"]}
    assert sizes  # some split is categorical
    last = ax.Integer("d", 0, 6) if kind == "integer" else ax.Categorical("d", range(7))
    domain = ax.Domain([*DOMAIN.features[:3], last])
    model = ax.read_model(booster, domain)
    codes = probes(domain, thresholds(booster))
    margins = booster.predict(matrix(codes, categorical=True), output_margin=True)
    check_margins(model, codes, margins, bits=23)


def test_unseen_and_unusual_categories() -> None:
    booster = train({"objective": "binary:logistic", "max_cat_to_onehot": 1}, categorical=True)
    domain = ax.Domain([*DOMAIN.features[:3], ax.Integer("d", 0, 40)])
    codes = probes(domain, {})
    margins = booster.predict(matrix(codes, categorical=True), output_margin=True)
    check_margins(ax.read_model(booster, domain), codes, margins, bits=23)
    fractional = ax.Domain([*DOMAIN.features[:3], ax.Categorical("d", [0, 1.5])])
    with pytest.raises(DomainError, match=r"'d' holds 1\.5"):
        ax.read_model(booster, fractional)
    with pytest.raises(DomainError, match="declare it categorical"):
        ax.read_model(booster, ax.Domain([*DOMAIN.features[:3], ax.Real("d", 0, 6)]))


def test_named_categories() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    colours, sizes = ["teal", "red", "blue", "green"], [30, 10, 20]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, N),
            "colour": pd.Categorical(rng.choice(colours, N), categories=colours),
            "size": pd.Categorical(rng.choice(sizes, N), categories=sizes),
        }
    )
    label = (frame.x + frame.colour.isin(["red", "green"]) + (frame["size"] == 10) > 0.9).astype(int)
    estimator = xgb.XGBClassifier(n_estimators=8, max_depth=4, enable_categorical=True, max_cat_to_onehot=1, n_jobs=1)
    estimator.fit(frame, label)
    if not document_of(estimator.get_booster())["learner"]["gradient_booster"]["model"].get("cats", {}).get("enc"):
        pytest.skip("this XGBoost does not save the names of categories")
    domain = ax.Domain([ax.Real("x", -1, 1), ax.Categorical("colour", sorted(colours)), ax.Categorical("size", sizes)])
    model = ax.read_model(estimator, domain)
    codes = domain.encode(frame)
    check_margins(model, codes, estimator.predict(frame, output_margin=True), bits=23)
    strange = ax.Domain([*domain.features[:2], ax.Categorical("size", [10, 11])])
    with pytest.raises(DomainError, match="also holds 11"):
        ax.read_model(estimator, strange)


@pytest.mark.parametrize(
    ("kind", "label", "settings"),
    [
        (xgb.XGBClassifier, Y, {}),
        (xgb.XGBClassifier, Y3, {}),
        (xgb.XGBClassifier, Y3, {"objective": "multi:softmax"}),
        (xgb.XGBClassifier, Y, {"objective": "binary:hinge"}),
        (xgb.XGBClassifier, Y, {"objective": "binary:logitraw"}),
        (xgb.XGBRFClassifier, Y, {}),
        (xgb.XGBRFClassifier, Y3, {}),
        (xgb.XGBRegressor, Z, {}),
        (xgb.XGBRFRegressor, Z, {}),
    ],
)
def test_estimators(kind, label, settings) -> None:
    estimator = kind(n_estimators=6, max_depth=3, n_jobs=1, **settings).fit(X, label)
    model = ax.read_model(estimator, DOMAIN)
    codes = probes(DOMAIN, thresholds(estimator.get_booster()))
    if model.is_regression:
        check_margins(model, codes, estimator.predict(codes), bits=23)
    else:
        labels, exact = estimator.predict(codes), model.scores_at(codes)
        check_classes(model, codes, labels, exact=exact, bits=23, slack=ROUNDED_PROBABILITY)


def with_defaults_to_the(side: str, estimator: Any) -> Any:
    """Send missing values to one side everywhere, and so, here and there, against the order of numbers."""
    document = document_of(estimator.get_booster())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        tree["default_left"] = [int(side == "left")] * len(tree["default_left"])
    estimator._Booster = xgb.Booster(model_file=bytearray(json.dumps(document).encode()))
    return estimator


@pytest.mark.parametrize(
    "missing", [0.0, -0.0, 1, 0.1, -1.7, 1e-50, 1.5e-45, 2.0**24 + 1, -9999, np.float32(0.3), 1e39]
)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_number_that_counts_as_missing(missing: float, side: str) -> None:
    """Whatever float32 rounds to it goes where missing values go, in estimators and in files that are told of it."""
    estimator = xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, missing=missing)
    with_defaults_to_the(side, estimator.fit(X.round(1), Y))
    model = ax.read_model(estimator, DOMAIN)
    booster = estimator.get_booster()
    near = [missing] if abs(missing) < 4 else []
    codes = probes(DOMAIN, {k: [*v, 0.0, *near] for k, v in thresholds(booster).items()})
    exact = check_margins(model, codes, estimator.predict(codes, output_margin=True), bits=23)
    check_classes(model, codes, estimator.predict(codes), exact=exact, bits=23, slack=ROUNDED_PROBABILITY)
    read = ax.read_xgboost(bytes(booster.save_raw("json")), DOMAIN, missing=missing)
    assert read.scores_at(codes) == exact
    if missing == 0:  # a file that is not told of it is another model
        assert ax.read_xgboost(bytes(booster.save_raw("json")), DOMAIN).scores_at(codes) != exact


@pytest.mark.parametrize("kind", ["XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor"])
def test_the_cxp_of_a_model_that_takes_zero_for_missing(kind: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])
    points = np.array(list(domain.points()) * 20, dtype=float)
    y = ((points[:, 0] == 0) | (points[:, 1] == 1)).astype(int)
    model = getattr(xgb, kind)(n_estimators=3, max_depth=2, missing=0.0, n_jobs=1).fit(points, y)
    delta = None if kind.endswith("Classifier") else Fraction(1, 3)
    e = ax.Explainer(model, domain, delta=delta).explain([1, 1])
    assert {c.features: c.weight for c in e.cxps} == {("b",): Fraction(1, 2)}
    assert ax.verify(e, model).ok


@pytest.mark.parametrize("missing", [0.0, 2.0, 6.0, 2.5, -1.0])
@pytest.mark.parametrize("one_hot", [1, 100])
def test_a_category_that_counts_as_missing(missing: float, one_hot: int) -> None:
    settings = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "max_cat_to_onehot": one_hot}
    estimator = xgb.XGBClassifier(**settings, missing=missing, feature_types=TYPES, enable_categorical=True).fit(X, Y)
    for side in ("left", "right"):
        with_defaults_to_the(side, estimator)
        codes = probes(DOMAIN, thresholds(estimator.get_booster()))
        check_margins(ax.read_model(estimator, DOMAIN), codes, estimator.predict(codes, output_margin=True), bits=23)


def test_missing_numbers_and_named_categories() -> None:
    """Which category has number 0 depends on the frame: nothing fixed to explain."""
    import pandas as pd

    frame = pd.DataFrame({"c": pd.Categorical(np.array(list("pqr"))[X[:, 3].astype(int) % 3]), "a": X[:, 0]})
    domain = ax.Domain([ax.Categorical("c", "pqr"), ax.Real("a", -4, 4)])
    for missing, fixed in ((0.0, False), (2.0, False), (0.5, True), (-1.0, True)):
        model = xgb.XGBClassifier(n_estimators=3, enable_categorical=True, missing=missing, n_jobs=1).fit(frame, Y)
        if fixed:
            assert ax.read_model(model, domain).predict(frame.head(9)) == model.predict(frame.head(9)).tolist()
        else:
            with pytest.raises(UnsupportedModelError, match="a category counts as missing by its place"):
                ax.read_model(model, domain)


def test_missing_must_be_a_number_and_nodes_must_say_where_it_goes() -> None:
    model = xgb.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, Y)
    document = document_of(model.get_booster())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        del tree["default_left"]
    with pytest.raises(ModelFileError, match="must say default_left"):
        ax.read_xgboost(json.dumps(document).encode(), DOMAIN, missing=0.0)
    for odd in (None, "0"):
        with pytest.raises(UnsupportedModelError, match="should be a number or nan"):
            ax.read_model(model.set_params(missing=odd), DOMAIN)


def test_raw_margins_of_a_classifier_are_compared_with_a_half() -> None:
    estimator = xgb.XGBClassifier(n_estimators=10, max_depth=3, objective="binary:logitraw", n_jobs=1).fit(X, Y)
    codes = probes(DOMAIN, {})
    margins = estimator.predict(codes, output_margin=True)
    between = (margins > 0.01) & (margins < 0.49)
    assert between.any()
    assert set(ax.read_model(estimator, DOMAIN).outputs_at(codes[between])) == {0}
    assert set(ax.read_model(estimator.get_booster(), DOMAIN).outputs_at(codes[between])) == {1}


def test_one_hot_columns_belong_to_one_feature() -> None:
    columns = np.eye(7)[X[:, 3].astype(int)]
    wide = np.column_stack([X[:, :3], columns])
    booster = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(wide, Y), 10)
    names = ["a", "b", "c", *(f"d_{k}" for k in range(7))]
    domain = ax.Domain.from_data(wide, names=names, one_hot={"d": names[3:]})
    assert domain.names == ("a", "b", "c", "d")
    codes = probes(domain, {i: t for i, t in thresholds(booster).items() if i < 3})
    margins = booster.predict(xgb.DMatrix(columns_of(domain, codes)), output_margin=True)
    check_margins(ax.read_model(booster, domain), codes, margins, bits=23)


def test_early_stopping() -> None:
    rng = np.random.default_rng(5)
    estimator = xgb.XGBClassifier(n_estimators=60, max_depth=6, learning_rate=0.5, early_stopping_rounds=4, n_jobs=1)
    estimator.fit(X[:200], Y[:200], eval_set=[(X[200:], Y[200:])], verbose=False)
    booster = estimator.get_booster()
    kept, grown = estimator.best_iteration + 1, booster.num_boosted_rounds()
    assert kept < grown
    codes = probes(DOMAIN, {}, seed=int(rng.integers(99)))
    model = ax.read_model(estimator, DOMAIN)
    assert model.n_trees == kept
    check_margins(model, codes, estimator.predict(codes, output_margin=True), bits=23)
    every = ax.read_model(booster, DOMAIN)
    assert every.n_trees == grown
    check_margins(every, codes, booster.predict(matrix(codes), output_margin=True), bits=23)
    raw = bytes(booster.save_raw("ubj"))
    counted = [ax.read_xgboost(raw, DOMAIN, iterations=i).n_trees for i in ("best", "all", 2)]
    assert counted == [kept, grown, 2]


def test_files_of_both_formats(tmp_path) -> None:
    booster = train({"objective": "multi:softprob", "booster": "dart", "rate_drop": 0.4})
    codes = probes(DOMAIN, thresholds(booster))
    scores = ax.read_model(booster, DOMAIN).scores_at(codes)
    for name in ("model.json", "model.ubj"):
        booster.save_model(tmp_path / name)
        model = ax.read_xgboost(tmp_path / name, DOMAIN, labels=["low", "mid", "high"])
        assert model.scores_at(codes) == scores
        assert set(model.outputs_at(codes)) == {"low", "mid", "high"}


def test_base_score_is_what_the_library_adds() -> None:
    rng = np.random.default_rng(0)
    for share in [0.5, *rng.uniform(0.001, 0.999, 20).tolist()]:
        booster = train({"objective": "binary:logistic", "base_score": share, "max_depth": 1}, rounds=1)
        ((base,), (stored,)) = (
            ax.read_model(booster, DOMAIN).base,
            ax.read_xgboost(bytes(booster.save_raw("json")), DOMAIN).base,
        )
        leaves = ax.read_model(booster, DOMAIN).values[:, 0]
        sums = {float(np.float32(base) + np.float32(leaf)) for leaf in leaves}
        assert set(booster.predict(matrix(X), output_margin=True).tolist()) <= sums
        assert abs(stored - base) <= Fraction(float(np.spacing(np.float32(abs(base)))))


@pytest.mark.parametrize("objective", ["count:poisson", "reg:gamma", "reg:tweedie", "reg:logistic"])
def test_objectives_without_exact_form(objective) -> None:
    label = Y if objective == "reg:logistic" else np.abs(Z) + 0.1
    booster = xgb.train({"objective": objective}, matrix(X, label), 2)
    with pytest.raises(UnsupportedModelError, match=rf"{objective}.*supported are binary:hinge"):
        ax.read_model(booster, DOMAIN)


def test_what_is_refused() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gblinear is deprecated
        linear = xgb.train({"objective": "binary:logistic", "booster": "gblinear"}, matrix(X, Y), 2)
    with pytest.raises(UnsupportedModelError, match="gblinear"):
        ax.read_model(linear, DOMAIN)
    with pytest.raises(UnsupportedModelError, match="2 targets"):
        ax.read_model(xgb.XGBRegressor(n_estimators=2).fit(X, np.column_stack([Z, Z])), DOMAIN)
    with pytest.raises(UnsupportedModelError, match="train an XGBClassifier"):
        ax.read_model(xgb.XGBRegressor(n_estimators=2, objective="binary:logistic").fit(X, Y), DOMAIN)
    with pytest.raises(UnfittedModelError, match="XGBClassifier"):
        ax.read_model(xgb.XGBClassifier(), DOMAIN)
    booster = train({"objective": "binary:logistic"}, rounds=2)
    with pytest.raises(DomainError, match="4 columns, but the domain describes 3"):
        ax.read_model(booster, ax.Domain(DOMAIN.features[:3]))
    booster.feature_names = ["a", "b", "c", "e"]
    with pytest.raises(DomainError, match="'e' where the domain has 'd'"):
        ax.read_model(booster, DOMAIN)
    with pytest.raises(UnsupportedModelError, match="2 classes, but 3 labels"):
        ax.read_xgboost(bytes(train({"objective": "binary:logistic"}).save_raw("json")), DOMAIN, labels="xyz")


@pytest.mark.parametrize("name", ["pima", "compas", "lending", "recidivism", "appendicitis", "adult"])
def test_reference_models(name) -> None:
    record = json.loads(shared_file("refs", f"ref_bt_{name}.json").read_text())
    features = [
        ax.Categorical(f["name"], f["categories"], columns=[f"c{k}" for k in f["columns"]])
        if f["type"] == "categorical"
        else ax.Real(f["name"], -(10**7), 10**7)
        for f in record["features"]
    ]
    domain = ax.Domain(features)
    model = ax.read_xgboost(shared_file("refs", record["model_xgboost_json"]), domain)
    codes = np.array([i["values"] for i in record["instances"]], dtype=np.float64)
    check_margins(model, codes, [i["margin"] for i in record["instances"]], bits=20)
    assert model.outputs_at(codes) == [int(i["prediction"]) for i in record["instances"]]
    assert gaps(model.scores_at(codes)).min() > 0


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "multi:softmax", "reg:squarederror"])
def test_the_c_interface_gives_what_python_gives(booster: str, objective: str) -> None:
    from axfi_kc.compilers.readers.xgboost_door import predict_in_place

    rng = np.random.default_rng(7)
    table = rng.normal(size=(60, 4)).round(2)
    table[rng.random(table.shape) < 0.1] = np.nan
    target = rng.integers(0, 3 if objective.startswith("multi") else 2, 60)
    settings = {"objective": objective, "booster": booster, "max_depth": 3, "nthread": 1}
    settings |= {"num_class": 3} if objective.startswith("multi") else {}
    model = xgb.train(settings, xgb.DMatrix(table, target), 5)
    for end in (0, 1, 3):
        for missing in (np.nan, 0.5, -0.25):
            for rows in (table, table[:1], table[::2], np.asfortranarray(table), table[:, ::-1], table[:0]):
                expected = model.inplace_predict(rows, iteration_range=(0, end), missing=missing)
                found = predict_in_place(model, rows, width=4, end=end, missing=missing)
                assert found.dtype == np.float32
                assert found.tolist() == np.asarray(expected).tolist()
    with pytest.raises(ValueError, match=r"shape|mismatch|expected"):
        predict_in_place(model, table[:, :3], width=4)


def test_the_c_interface_serves_boosters_of_all_shapes_in_turns_and_from_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from axfi_kc.compilers.readers.xgboost_door import predict_in_place

    rng = np.random.default_rng(8)
    asked = []
    for width in (2, 7, 3):
        table = rng.normal(size=(40, width))
        model = xgb.train({"max_depth": 2, "nthread": 1}, xgb.DMatrix(table, table.sum(axis=1)), 4)
        asked += [(model, table[k : k + n]) for k in range(8) for n in (1, 5, 30)]
    expected = [model.inplace_predict(rows).tolist() for model, rows in asked]
    rng.shuffle(order := np.arange(len(asked)))

    def found(_: int) -> list[list[float]]:
        return [predict_in_place(asked[n][0], asked[n][1], width=asked[n][1].shape[1]).tolist() for n in order]

    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(found, range(8)):
            assert answers == [expected[n] for n in order]
