"""scikit-learn ensembles: the exact sums are the library's up to float64 rounding, on every side of every threshold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models import Argmax, Positive
from tests.support.probes import check_classes, check_margins, columns_of, probes, sum_error

ensemble = pytest.importorskip("sklearn.ensemble", reason="scikit-learn is not installed")

N = 240
RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=(N, 2)), RNG.integers(-3, 9, N), RNG.choice([0.1, 0.2, 0.3], N)])
Z = X[:, 0] * X[:, 1] + (X[:, 2] > 2) - X[:, 3]
LABELS = np.array(["no", "yes"])[(Z > 0.1).astype(int)]
LABELS3 = np.array(["low", "mid", "high"])[np.digitize(Z, [-0.3, 0.6])]
DOMAIN = ax.Domain.from_data(X, integer=["x2"])
FORESTS = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)


def thresholds(trees) -> dict[int, np.ndarray]:
    found: dict[int, list] = {}
    for tree in trees:
        for column, threshold in zip(tree.tree_.feature.tolist(), tree.tree_.threshold.tolist(), strict=True):
            if column >= 0:
                found.setdefault(column, []).append(threshold)
    return {column: np.unique(values) for column, values in found.items()}


def histogram_thresholds(model) -> dict[int, np.ndarray]:
    found: dict[int, list] = {}
    for stage in model._predictors:
        for predictor in stage:
            for node in predictor.nodes[predictor.nodes["is_leaf"] == 0]:
                if not node["is_categorical"]:
                    found.setdefault(int(node["feature_idx"]), []).append(float(node["num_threshold"]))
    return {column: np.unique(values) for column, values in found.items()}


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("labels", [LABELS, LABELS3], ids=["binary", "multi-class"])
def test_forest_of_pure_leaves_has_the_librarys_ties(kind, labels) -> None:
    forest = kind(10, random_state=0).fit(X, labels)  # grown out, so every vote is 0 or 1 and ties abound
    model = ax.read_model(forest, DOMAIN)
    codes = probes(DOMAIN, thresholds(forest.estimators_))
    assert any(sorted(row)[-1] == sorted(row)[-2] for row in model.scores_at(codes))
    assert model.outputs_at(codes) == forest.predict(codes).tolist()


@pytest.mark.parametrize("kind", FORESTS)
def test_forest_of_shallow_trees(kind) -> None:
    forest = kind(15, max_depth=4, random_state=0).fit(X, LABELS3)
    model = ax.read_model(forest, DOMAIN)
    codes = probes(DOMAIN, thresholds(forest.estimators_))
    exact = check_margins(model, codes, 15 * forest.predict_proba(codes), bits=50)
    check_classes(model, codes, forest.predict(codes), exact=exact, bits=50)


@pytest.mark.parametrize("kind", [ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor])
def test_forest_regression(kind) -> None:
    forest = kind(12, max_depth=5, random_state=0).fit(X, Z)
    model = ax.read_model(forest, DOMAIN)
    codes = probes(DOMAIN, thresholds(forest.estimators_))
    outputs = zip(forest.predict(codes).tolist(), model.outputs_at(codes), strict=True)
    assert max(abs(Fraction(a) - b) for a, b in outputs) <= sum_error(model, bits=52)


@pytest.mark.parametrize("settings", [{}, {"init": "zero"}, {"loss": "exponential"}, {"subsample": 0.5}], ids=str)
def test_boosted_binary(settings) -> None:
    boosted = ensemble.GradientBoostingClassifier(n_estimators=15, random_state=0, **settings).fit(X, LABELS)
    model = ax.read_model(boosted, DOMAIN)
    codes = probes(DOMAIN, thresholds(boosted.estimators_.reshape(-1)))
    exact = check_margins(model, codes, boosted.decision_function(codes), bits=52)
    check_classes(model, codes, boosted.predict(codes), exact=exact, bits=52)


def test_boosted_ties_go_to_the_second_class() -> None:
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    boosted = ensemble.GradientBoostingClassifier(n_estimators=1, max_depth=1, init="zero").fit(points, [0, 1, 0, 1])
    boosted.estimators_[0, 0].tree_.value[:] = 0.0
    assert boosted.decision_function(points).tolist() == [0.0] * 4
    model = ax.read_model(boosted, ax.Domain.from_data(points))
    assert isinstance(model.rule, Positive)
    assert model.predict(points) == boosted.predict(points).tolist() == [1] * 4


@pytest.mark.parametrize("init", [None, "zero"])
def test_boosted_multi_class(init) -> None:
    boosted = ensemble.GradientBoostingClassifier(n_estimators=6, init=init, random_state=0).fit(X, LABELS3)
    model = ax.read_model(boosted, DOMAIN)
    codes = probes(DOMAIN, thresholds(boosted.estimators_.reshape(-1)))
    exact = check_margins(model, codes, boosted.decision_function(codes), bits=52)
    check_classes(model, codes, boosted.predict(codes), exact=exact, bits=52)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_boosted_regression(loss) -> None:
    boosted = ensemble.GradientBoostingRegressor(n_estimators=15, loss=loss, random_state=0).fit(X, Z)
    codes = probes(DOMAIN, thresholds(boosted.estimators_.reshape(-1)))
    check_margins(ax.read_model(boosted, DOMAIN), codes, boosted.predict(codes), bits=52)


def test_one_hot_columns_belong_to_one_feature() -> None:
    wide = np.column_stack([X[:, :2], np.eye(3)[RNG.integers(0, 3, N)]])
    domain = ax.Domain.from_data(wide, names=["a", "b", "c_x", "c_y", "c_z"], one_hot={"c": ["c_x", "c_y", "c_z"]})
    target = wide[:, 0] + wide[:, 3] - wide[:, 4]
    boosted = ensemble.GradientBoostingRegressor(n_estimators=10, random_state=0).fit(wide, target)
    found = {i: t for i, t in thresholds(boosted.estimators_.reshape(-1)).items() if i < 2}
    codes = probes(domain, found)
    check_margins(ax.read_model(boosted, domain), codes, boosted.predict(columns_of(domain, codes)), bits=52)


def test_histogram_binary_and_multi_class() -> None:
    for labels, kind in ((LABELS, Positive), (LABELS3, Argmax)):
        boosted = ensemble.HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=8).fit(X, labels)
        model = ax.read_model(boosted, DOMAIN)
        assert isinstance(model.rule, kind)
        codes = probes(DOMAIN, histogram_thresholds(boosted))
        exact = check_margins(model, codes, boosted.decision_function(codes), bits=52)
        check_classes(model, codes, boosted.predict(codes), exact=exact, bits=52, slack=1e-15)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
def test_histogram_regression(loss) -> None:
    settings = {"quantile": 0.3} if loss == "quantile" else {}
    boosted = ensemble.HistGradientBoostingRegressor(loss=loss, max_iter=10, max_leaf_nodes=8, **settings).fit(X, Z)
    codes = probes(DOMAIN, histogram_thresholds(boosted))
    check_margins(ax.read_model(boosted, DOMAIN), codes, boosted.predict(codes), bits=52)


def test_histogram_does_not_round_to_float32() -> None:
    points = np.array([[1.0], [1.0 + 1e-12]] * 40)
    boosted = ensemble.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=1).fit(points, [0, 1] * 40)
    assert ax.read_model(boosted, ax.Domain.from_data(points)).predict(points) == [0, 1] * 40


def test_histogram_trained_with_missing_values() -> None:
    holes = X.copy()
    holes[RNG.random(N) < 0.5, 0] = np.nan
    target = np.where(np.isnan(holes[:, 0]), 5.0, Z)
    boosted = ensemble.HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=6).fit(holes, target)
    found = histogram_thresholds(boosted)
    assert np.isinf(found[0]).any()  # a node that only sets missing values apart
    codes = probes(DOMAIN, {i: t[np.isfinite(t)] for i, t in found.items()})
    check_margins(ax.read_model(boosted, DOMAIN), codes, boosted.predict(codes), bits=52)


@pytest.mark.parametrize("with_missing", [False, True])
def test_histogram_categories(with_missing) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    colours = np.array(["teal", "red", "blue", "green", "grey"])
    frame = pd.DataFrame(
        {
            "x": RNG.uniform(-1, 1, N),
            "colour": pd.Categorical(RNG.choice(colours[:4], N)),
            "y": RNG.uniform(-1, 1, N),
            "size": pd.Categorical(RNG.choice([10, 30, 70], N)),
        }
    )
    target = frame.x + frame.colour.isin(["red", "blue"]) * frame.y + (frame["size"] == 30)
    if with_missing:
        frame.loc[RNG.random(N) < 0.2, "colour"] = None
    boosted = ensemble.HistGradientBoostingRegressor(
        max_iter=15, max_leaf_nodes=8, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(frame, target)
    assert any(p.nodes["is_categorical"].any() for stage in boosted._predictors for p in stage)
    # grey was never seen: the library treats it as missing
    features = [ax.Real("x", -1, 1), ax.Categorical("colour", colours.tolist()), ax.Real("y", -1, 1)]
    domain = ax.Domain([*features, ax.Categorical("size", [10, 30, 70])])
    codes = probes(domain, {})
    points = pd.DataFrame([dict(zip(domain.names, domain.decode(c), strict=True)) for c in codes])
    points = points.astype({"colour": pd.CategoricalDtype(colours.tolist()), "size": "category"})
    check_margins(ax.read_model(boosted, domain), codes, boosted.predict(points), bits=52)
    with pytest.raises(DomainError, match="'colour' as categories, but the domain has it as real"):
        ax.read_model(boosted, ax.Domain([features[0], ax.Real("colour", 0, 1), *domain.features[2:]]))


def test_what_is_refused() -> None:
    two = np.column_stack([Z, Z])
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        ax.read_model(ensemble.RandomForestRegressor(2).fit(X, two), DOMAIN)
    with pytest.raises(UnsupportedModelError, match=r"HalfPoissonLoss.*exponential"):
        ax.read_model(ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(X, np.abs(Z)), DOMAIN)
    start = ensemble.RandomForestRegressor(2)
    with pytest.raises(UnsupportedModelError, match="starts from RandomForestRegressor"):
        ax.read_model(ensemble.GradientBoostingRegressor(n_estimators=2, init=start).fit(X, Z), DOMAIN)
    for kind in (*FORESTS, ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier):
        with pytest.raises(UnfittedModelError, match="call fit first"):
            ax.read_model(kind(), DOMAIN)
        with pytest.raises(DomainError, match="4 columns, but the domain describes 3"):
            ax.read_model(kind().fit(X, LABELS), ax.Domain(DOMAIN.features[:3]))
