"""LightGBM: the exact sums are the library's up to float64 rounding, on every side of every threshold and of zero."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.compilers.readers.lightgbm_files import parse_lightgbm
from axfi_kc.errors import DomainError, ModelFileError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models.own_predict import own_predictor
from tests.support.probes import check_classes, check_margins, probes, sum_error

lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

N = 400
RNG = np.random.default_rng(0)
NEAR_ZERO = float(np.float32(1e-35))
X = np.column_stack(
    [
        RNG.normal(size=N),
        RNG.choice([0.0, 1.0, -1.0, 2.0, 1e-36, 3e-35], N),
        np.maximum(RNG.normal(size=N), 0),
        RNG.integers(0, 9, N),
        RNG.choice([-2.0, 0.0, 0.0, 1.0, -1.0], N),
    ]
)
Z = X[:, 0] + X[:, 1] * X[:, 4] + (X[:, 2] == 0) + np.isin(X[:, 3], [1, 4, 7]) * 1.2
Y = (Z > 0.7).astype(int)
Y3 = np.array(["u", "v", "w"])[np.digitize(Z, [0, 1])]
SETTINGS = {"verbose": -1, "num_leaves": 8, "min_child_samples": 5, "n_estimators": 10, "min_data_per_group": 2}
SETTINGS |= {"cat_smooth": 1.0, "n_jobs": 1}
DOMAIN = ax.Domain.from_data(X, integer=["x3"])
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def thresholds(booster) -> dict[int, list[float]]:
    """Return the thresholds of each column and the edges of what counts as zero."""
    edges = [0.0, -0.0, NEAR_ZERO, -NEAR_ZERO, 1e-36, -1e-36]
    found = {i: list(edges) for i in range(5)}
    nodes = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    while nodes:
        node = nodes.pop()
        if "split_feature" in node:
            nodes += [node["left_child"], node["right_child"]]
            if node["decision_type"] == "<=":
                found[node["split_feature"]].append(node["threshold"])
    return found


def check(estimator, domain: ax.Domain = DOMAIN) -> None:
    booster = getattr(estimator, "booster_", estimator)
    model = ax.read_model(estimator, domain)
    codes = probes(domain, thresholds(booster))
    if model.is_regression:
        pairs = zip(estimator.predict(codes).tolist(), model.outputs_at(codes), strict=True)
        assert max(abs(Fraction(a) - b) for a, b in pairs) <= sum_error(model, bits=52)
        return
    exact = check_margins(model, codes, booster.predict(codes, raw_score=True), bits=52)
    labels = estimator.predict(codes)
    if estimator is booster:
        labels = labels.argmax(axis=1) if labels.ndim == 2 else (labels > 0.5).astype(int)
    check_classes(model, codes, labels, exact=exact, bits=52, slack=1e-15)


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("use_missing", [False, True])
@pytest.mark.parametrize("categorical", [[], [3]], ids=["numbers", "categories"])
def test_binary(zero_as_missing, use_missing, categorical) -> None:
    settings = {"zero_as_missing": zero_as_missing, "use_missing": use_missing}
    estimator = lgb.LGBMClassifier(**SETTINGS, **settings).fit(X, Y, categorical_feature=categorical)
    check(estimator)
    check(estimator.booster_)


def test_zero_is_sent_against_the_order() -> None:
    """The hard case of zero_as_missing does occur, and costs no node."""
    estimator = lgb.LGBMClassifier(**SETTINGS, zero_as_missing=True).fit(X, Y)
    text = parse_lightgbm(estimator.booster_.model_to_string())
    tests = [p for t in text.trees for p in zip(t.threshold, t.zero_is_missing, t.nan_goes_left, strict=True)]
    assert any(is_missing and left != (threshold >= 0) for threshold, is_missing, left in tests)
    model = ax.read_model(estimator, DOMAIN)
    assert len(model.feature) == sum(2 * len(t.leaves) - 1 for t in text.trees)


@pytest.mark.parametrize("threshold", ["0.", "-0.", "1.e-36", "-1.e-36", "5.e-324", "2.e-35", "-2.e-35"])
def test_thresholds_near_zero(threshold) -> None:
    """LightGBM itself avoids some of these, but a model may have them."""
    text, usual = lgb.LGBMClassifier(**SETTINGS).fit(X, Y).booster_.model_to_string(), "1.0000000180025095e-35"
    assert usual in text
    mantissa, exponent = threshold.partition("e")[0], "".join(threshold.partition("e")[1:])
    padded = mantissa.ljust(len(usual) - len(exponent), "0") + exponent  # the text also states its trees' lengths
    check(lgb.Booster(model_str=re.sub(rf"(?<!-){re.escape(usual)}", padded, text)))


def test_multi_class() -> None:
    estimator = lgb.LGBMClassifier(**SETTINGS).fit(X, Y3, categorical_feature=[3])
    check(estimator)
    check(estimator.booster_)


@pytest.mark.parametrize("objective", ["regression", "regression_l1", "huber", "fair", "quantile", "mape"])
def test_regression(objective) -> None:
    check(lgb.LGBMRegressor(**SETTINGS, objective=objective).fit(X, np.abs(Z)))


def test_custom_objective() -> None:
    def squares(true, predicted):
        return predicted - true, np.ones_like(predicted)

    check(lgb.LGBMRegressor(**SETTINGS, objective=squares).fit(X, Z))
    with pytest.raises(UnsupportedModelError, match="does not predict a class"):
        ax.read_model(lgb.LGBMClassifier(**SETTINGS, objective=squares).fit(X, Y), DOMAIN)


@pytest.mark.parametrize("boosting", ["rf", "dart", "goss"])
def test_kinds_of_boosting(boosting) -> None:
    settings = {"boosting_type": boosting}
    settings |= {"bagging_freq": 1, "bagging_fraction": 0.6} if boosting == "rf" else {}
    check(lgb.LGBMRegressor(**SETTINGS, **settings).fit(X, Z))
    check(lgb.LGBMClassifier(**SETTINGS, **settings).fit(X, Y))


def test_early_stopping() -> None:
    data = lgb.Dataset(X[:200], Y[:200])
    settings = {"objective": "binary", "verbose": -1, "num_leaves": 8, "learning_rate": 0.3, "min_data_in_leaf": 5}
    stop = lgb.early_stopping(3, verbose=False)
    options = {"valid_sets": [data.create_valid(X[200:], Y[200:])], "callbacks": [stop]}
    booster = lgb.train(settings, data, 200, keep_training_booster=True, **options)
    assert ax.read_model(booster, DOMAIN).n_trees == booster.best_iteration < booster.num_trees() < 200
    check(booster)


def test_constant_model() -> None:
    constant = lgb.LGBMRegressor(**SETTINGS).fit(X, np.full(N, 2.5))
    assert set(ax.read_model(constant, DOMAIN).predict(X)) == {Fraction(5, 2)}


def test_named_categories() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    colours = ["teal", "red", "blue", "green"]
    frame = pd.DataFrame(
        {
            "x y": RNG.uniform(-1, 1, N),
            "colour": pd.Categorical(RNG.choice(colours, N), categories=colours),
            "size": pd.Categorical(RNG.choice([30, 10, 20], N), categories=[30, 10, 20]),
        }
    )
    target = frame["x y"] + frame.colour.isin(["red", "green"]) + (frame["size"] == 10)
    estimator = lgb.LGBMRegressor(**SETTINGS).fit(frame, target)
    # grey was never seen: the library sends it right
    shades = ax.Categorical("colour", [*sorted(colours), "grey"])
    domain = ax.Domain([ax.Real("x y", -1, 1), shades, ax.Categorical("size", [10, 20, 30])])
    codes = probes(domain, {})
    points = pd.DataFrame([dict(zip(domain.names, domain.decode(c), strict=True)) for c in codes])
    points = points.astype({"colour": "category", "size": "category"})
    check_margins(ax.read_model(estimator, domain), codes, estimator.predict(points), bits=52)
    with pytest.raises(DomainError, match="'colour' where the domain has 'hue'"):
        ax.read_model(estimator, ax.Domain([domain.features[0], ax.Categorical("hue", "ab"), domain.features[2]]))
    wide, columns = frame.assign(k=X[:, 3].astype(int)), ["colour", "size", "k"]
    mixed = lgb.LGBMRegressor(**SETTINGS).fit(wide, target, categorical_feature=columns)
    with pytest.raises(UnsupportedModelError, match="which are which"):
        ax.read_model(mixed, ax.Domain([*domain.features, ax.Integer("k", 0, 8)]))


class TestOrderedCategories:
    """Columns that are numbers to the library, though its text has names for them: refused, with advice that works."""

    SIZES = ("small", "medium", "large")
    REAL, COLOUR = ax.Real("x", -4, 4), ax.Categorical("colour", ["green", "red"])

    def _frame(self):
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        rng = np.random.default_rng(1)
        size = pd.Categorical(rng.choice(self.SIZES, N), categories=self.SIZES, ordered=True)
        colour = pd.Categorical(rng.choice(["green", "red"], N))
        frame = pd.DataFrame({"size": size, "colour": colour, "x": rng.normal(size=N)})
        return frame, ((size.codes > 0) & (colour == "red")) | (frame["x"] > 1)

    def test_they_are_refused(self) -> None:
        frame, target = self._frame()
        model = lgb.LGBMClassifier(**SETTINGS).fit(frame, target)
        domain = ax.Domain([ax.Categorical("size", self.SIZES), self.COLOUR, self.REAL])
        for read in (model, model.booster_):
            with pytest.raises(UnsupportedModelError, match=r"numbers \(frame\[name\].cat.codes\)"):
                ax.read_model(read, domain)

    def test_as_numbers(self) -> None:
        frame, target = self._frame()
        ordered = lgb.LGBMClassifier(**SETTINGS).fit(frame, target)
        coded = frame.assign(size=frame["size"].cat.codes)
        model = lgb.LGBMClassifier(**SETTINGS).fit(coded, target)
        assert (model.predict(coded) == ordered.predict(frame)).all()
        named = ax.Categorical("size", self.SIZES, columns=["size"], codes=[(k,) for k in range(3)])
        for size, points in ((ax.Integer("size", 0, 2), coded), (named, frame.astype({"size": str}))):
            domain = ax.Domain([size, self.COLOUR, self.REAL])
            assert ax.read_model(model, domain).predict(points) == ordered.predict(frame).tolist()
            assert ax.Explainer(model, domain).explain(points.iloc[0]).cxps

    def test_without_order(self) -> None:
        frame, target = self._frame()
        loose = frame.assign(size=frame["size"].cat.as_unordered())
        model = lgb.LGBMClassifier(**SETTINGS).fit(loose, target)
        domain = ax.Domain([ax.Categorical("size", self.SIZES), self.COLOUR, self.REAL])
        assert ax.read_model(model, domain).predict(loose) == model.predict(loose).tolist()

    def test_as_many_names_as_other_categories(self) -> None:
        frame, target = self._frame()
        other = frame.assign(colour=frame["colour"].cat.codes + 2, k=np.arange(N) % 4)
        model = lgb.LGBMClassifier(**SETTINGS).fit(other, target, categorical_feature=["k"])
        domain = ax.Domain([ax.Categorical("size", self.SIZES), ax.Integer("colour", 2, 3), self.REAL])
        with pytest.raises(UnsupportedModelError, match="does not say which are which"):
            ax.read_model(model, ax.Domain([*domain.features, ax.Integer("k", 0, 3)]))


@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "poisson"},
        {"objective": "tweedie"},
        {"objective": "cross_entropy"},
        {"objective": "binary"},
        {"objective": "regression", "reg_sqrt": True},
        {"linear_tree": True},
    ],
    ids=str,
)
def test_regressions_without_exact_form(settings) -> None:
    with pytest.raises(UnsupportedModelError):
        ax.read_model(lgb.LGBMRegressor(**SETTINGS, **settings).fit(X, Y), DOMAIN)


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="multiclassova"):
        ax.read_model(lgb.LGBMClassifier(**SETTINGS, objective="multiclassova").fit(X, Y3), DOMAIN)
    with pytest.raises(UnfittedModelError, match="LGBMClassifier"):
        ax.read_model(lgb.LGBMClassifier(), DOMAIN)
    with pytest.raises(DomainError, match="5 columns, but the domain describes 4"):
        ax.read_model(lgb.LGBMClassifier(**SETTINGS).fit(X, Y), ax.Domain(DOMAIN.features[:4]))
    fractional = ax.Domain([*DOMAIN.features[:3], ax.Categorical("x3", [0, 0.5]), DOMAIN.features[4]])
    with pytest.raises(DomainError, match=r"holds 0\.5"):
        ax.read_model(lgb.LGBMClassifier(**SETTINGS).fit(X, Y, categorical_feature=[3]), fractional)
    text = lgb.LGBMClassifier(**SETTINGS).fit(X, Y).booster_.model_to_string()
    for damaged in ("", text.replace("threshold=", "thresholds="), text.replace("leaf_value=", "leaf_value=x ")):
        with pytest.raises(ModelFileError):
            parse_lightgbm(damaged)


def test_categories_that_are_words_need_a_categorical_feature() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(np.array(list("xyz"))[X[:, 3].astype(int) % 3])})
    model = lgb.LGBMClassifier(**SETTINGS).fit(table, (table.c == "x").astype(int))
    with pytest.raises(UnsupportedModelError, match="'c' by sets of categories, such as 'x'"):
        ax.read_model(model, ax.Domain([ax.Real("a", -5, 5), ax.Integer("c", 0, 2)]))
    text = model.booster_.model_to_string()
    with pytest.raises(ModelFileError, match="no lists"):
        parse_lightgbm(re.sub(r"(?m)^pandas_categorical:.*$", 'pandas_categorical:"x"', text))


@pytest.mark.parametrize(("framed", "best"), [(False, 0), (True, 0), (False, 3)])
@pytest.mark.parametrize(
    ("kind", "target", "settings"),
    [
        ("LGBMClassifier", Y, {}),
        ("LGBMClassifier", Y3, {}),
        ("LGBMClassifier", Y == 1, {"boosting_type": "dart"}),
        ("LGBMRegressor", Z, {}),
        ("LGBMRegressor", np.abs(Z), {"objective": "poisson"}),
        ("LGBMRegressor", Z, {"objective": "mae"}),
    ],
)
def test_the_booster_is_asked_as_predict_asks_it(kind, target, settings, framed: bool, best: int) -> None:
    pd = pytest.importorskip("pandas")
    given = pd.DataFrame(X, columns=list(DOMAIN.names)) if framed else X
    plain = {"verbose": -1, "num_leaves": 8, "n_estimators": 10, "n_jobs": 1}
    model = getattr(lgb, kind)(**plain, **settings).fit(given, target)
    model.booster_.best_iteration = best
    compared = own_predictor(model, DOMAIN)
    assert compared is not None
    codes = probes(DOMAIN, thresholds(model.booster_))
    expected = model.predict(pd.DataFrame(codes, columns=list(DOMAIN.names)) if framed else codes).tolist()
    assert compared(codes) == expected
    assert [compared(codes[k : k + 1])[0] for k in range(20)] == expected[:20]


def test_parameters_that_go_to_the_booster_with_predict_are_kept() -> None:
    model = lgb.LGBMRegressor(**SETTINGS, predict_raw_score=True, objective="poisson").fit(X, np.abs(Z))
    compared = own_predictor(model, DOMAIN)
    assert compared is not None
    assert compared(X[:9]) == model.predict(X[:9]).tolist()
