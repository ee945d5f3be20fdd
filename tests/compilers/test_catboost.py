"""CatBoost: the library's own predictions, on every side of every border, with and without missing values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models.own_predict import column_names
from tests.support.reader_checks import check_explanations, check_predictions, points_around, some_points

cb = pytest.importorskip("catboost", reason="CatBoost is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")

SETTINGS = {"iterations": 12, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")
N = 400
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 5, N)
Z = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 3] == 2)
BINARY = np.where(Z > 0.3, "yes", "no")
THREE = np.digitize(Z, [-0.5, 0.8])
HOLES = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
DOMAIN = ax.Domain.from_data(X, integer=["x3"])
WITH_HOLES = ax.Domain.from_data(HOLES, integer=["x3"])


def borders(model) -> dict[int, list[float]]:
    """Return the borders of each column that lie within reach."""
    found = {i: [b for b in values if abs(b) < 1e30] for i, values in model.get_borders().items()}
    return {i: values for i, values in found.items() if values}


def check(model, domain: ax.Domain) -> None:
    check_predictions(model, domain, points_around(domain, borders(model)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "target", [BINARY, BINARY == "yes", np.where(Z > 1, 7, -3), THREE, np.array(list("uvw"))[THREE]]
)
def test_classes(policy, target) -> None:
    check(cb.CatBoostClassifier(grow_policy=policy, **SETTINGS).fit(X, target), DOMAIN)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_values(policy, mode) -> None:
    model = cb.CatBoostClassifier(grow_policy=policy, nan_mode=mode, **SETTINGS).fit(HOLES, BINARY)
    check(model, WITH_HOLES)
    treatments = {info["nan_value_treatment"] for info in document(model)["features_info"]["float_features"]}
    assert treatments == {{"Min": "AsFalse", "Max": "AsTrue"}[mode]}
    check(cb.CatBoostRegressor(grow_policy=policy, nan_mode=mode, **SETTINGS).fit(HOLES, Z), WITH_HOLES)


@pytest.mark.parametrize("mode", ["Min", "Max", "Forbidden"])
def test_missing_values_that_training_did_not_see(mode) -> None:
    check(cb.CatBoostClassifier(nan_mode=mode, **SETTINGS).fit(X, THREE), WITH_HOLES)


@pytest.mark.parametrize("policy", POLICIES)
def test_missing_values_set_apart_at_the_ends_of_float32(policy) -> None:
    """A border of the least or largest float32 sets missing values apart from all numbers but that one."""
    only_missing = np.isnan(HOLES[:, 0]) ^ (np.nan_to_num(HOLES[:, 1]) > 0)
    largest = float(np.finfo(np.float32).max)
    far = [-largest, math.nextafter(-largest, 0), largest, math.nextafter(largest, 0), -1e30, 1e30]
    wide = ax.Domain([ax.Real(f"x{k}", -largest, largest, missing=0.5) for k in range(4)])
    for mode in ("Min", "Max"):
        model = cb.CatBoostClassifier(grow_policy=policy, nan_mode=mode, **SETTINGS).fit(HOLES, only_missing)
        assert any(abs(b) > 1e38 for values in model.get_borders().values() for b in values)
        codes = np.array([[a, b, c, 0.0] for a in (*far, np.nan) for b in (*far, np.nan) for c in (0.0, np.nan)])
        assert ax.read_model(model, wide).outputs_at(codes) == model.predict(codes).tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_regression(policy) -> None:
    check(cb.CatBoostRegressor(grow_policy=policy, **SETTINGS).fit(X, Z), DOMAIN)
    check(cb.CatBoost({"grow_policy": policy, "loss_function": "Logloss", **SETTINGS}).fit(X, BINARY == "yes"), DOMAIN)


def test_ranker() -> None:
    model = cb.CatBoostRanker(loss_function="YetiRank", **SETTINGS).fit(X, THREE, group_id=np.repeat(np.arange(40), 10))
    check(model, DOMAIN)


@pytest.mark.parametrize("loss", ["MAE", "Quantile:alpha=0.3", "Huber:delta=1", "LogCosh", "MAPE", "Lq:q=2"])
def test_losses_of_regressions(loss) -> None:
    check(cb.CatBoostRegressor(loss_function=loss, **SETTINGS).fit(X, Z), DOMAIN)


@pytest.mark.parametrize("loss", ["CrossEntropy", "Focal:focal_alpha=0.5;focal_gamma=2"])
def test_losses_of_two_classes(loss) -> None:
    check(cb.CatBoostClassifier(loss_function=loss, **SETTINGS).fit(X, (BINARY == "yes").astype(int)), DOMAIN)


def test_one_against_all() -> None:
    check(cb.CatBoostClassifier(loss_function="MultiClassOneVsAll", **SETTINGS).fit(X, THREE), DOMAIN)


def test_two_classes_with_a_score_each() -> None:
    """There the probability threshold does not act."""
    model = cb.CatBoostClassifier(loss_function="MultiClass", **SETTINGS).fit(X, BINARY)
    model.set_probability_threshold(0.05)
    check(model, DOMAIN)


@pytest.mark.parametrize("scale", [0.375, 1.7])
def test_scale_and_bias(scale) -> None:
    regression = cb.CatBoostRegressor(**SETTINGS).fit(X, Z)
    regression.set_scale_and_bias(scale, -0.3)
    check(regression, DOMAIN)
    binary = cb.CatBoostClassifier(**SETTINGS).fit(X, BINARY)
    binary.set_scale_and_bias(scale, -0.3)
    check(binary, DOMAIN)
    binary.set_scale_and_bias(-scale, 0.0)
    with pytest.raises(UnsupportedModelError, match="positive scale"):
        ax.read_model(binary, DOMAIN)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 0.123456789])
def test_probability_threshold(share, tmp_path) -> None:
    model = cb.CatBoostClassifier(**SETTINGS).fit(X, BINARY)
    model.set_probability_threshold(share)
    check(model, DOMAIN)
    # The sum must be above the logit, not only reach it: one float before, at and after.
    edge = -math.log(1 / share - 1)
    for leaf in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf)):
        other = edited(model, tmp_path, [[leaf] * 16])
        other.set_probability_threshold(share)
        ours = ax.read_model(other, DOMAIN).predict(X[:1])
        assert ours == other.predict(X[:1]).tolist() == ["yes" if leaf > edge else "no"]


def test_threshold_at_the_ends_is_refused() -> None:
    model = cb.CatBoostClassifier(**SETTINGS).fit(X, BINARY)
    model.set_probability_threshold(0.0)
    with pytest.raises(UnsupportedModelError, match=r"threshold of 0\.0"):
        ax.read_model(model, DOMAIN)


def document(model) -> dict:
    from axfi_kc.compilers.readers.catboost import _document

    return _document(model)


def edited(model, folder: Path, leaves: list[list[float]]):
    """Return a model with the given leaves of as many oblivious trees."""
    parts = document(model)
    trees = parts["oblivious_trees"][: len(leaves)]
    parts["oblivious_trees"] = [{**tree, "leaf_values": values} for tree, values in zip(trees, leaves, strict=True)]
    (folder / "edited.json").write_text(json.dumps(parts))
    return type(model)().load_model(str(folder / "edited.json"), format="json")


@pytest.mark.parametrize("leaf", [0.0, -0.0, 5e-324, -5e-324, 1e-300, 2.0**-60])
def test_ties_of_two_classes(leaf, tmp_path) -> None:
    model = edited(cb.CatBoostClassifier(**SETTINGS).fit(X, BINARY), tmp_path, [[leaf] * 16])
    assert ax.read_model(model, DOMAIN).predict(X[:1]) == model.predict(X[:1]).tolist()


@pytest.mark.parametrize("leaf", [(0, 0, 0), (0, 1, 1), (1, 0, 1), (0, 0, 1e-20), (40, 41, 41), (1e-300, 0, 1e-300)])
def test_ties_of_three_classes(leaf, tmp_path) -> None:
    for loss in ("MultiClass", "MultiClassOneVsAll"):
        trained = cb.CatBoostClassifier(loss_function=loss, **SETTINGS).fit(X, THREE)
        model = edited(trained, tmp_path, [[float(v) for v in leaf] * 16])
        assert ax.read_model(model, DOMAIN).predict(X[:1]) == model.predict(X[:1]).reshape(-1).tolist()


def test_leaves_and_borders_are_those_in_memory() -> None:
    model = cb.CatBoostRegressor(iterations=60, depth=6, verbose=0, allow_writing_files=False).fit(X, Z)
    parts = document(model)
    leaves = [value for tree in parts["oblivious_trees"] for value in tree["leaf_values"]]
    assert leaves == model.get_leaf_values().tolist()
    for info in parts["features_info"]["float_features"]:
        assert info["borders"] == list(model.get_borders()[info["flat_feature_index"]])


COLOURS = (
    "teal",
    "red",
    "blue",
    "",
    "ä",
    "a word of more than sixty-four letters, for which hashing takes another way",
)
FRAME = pd.DataFrame(
    {
        "x": X[:, 0],
        "colour": RNG.choice(COLOURS, N),
        "k": RNG.choice([0, 1, -5, 10], N),
        "y": X[:, 3],
        "code": RNG.choice(["1", "2", "03"], N),
    }
)
MIXED = FRAME.x + FRAME.colour.isin(["red", "ä", COLOURS[-1]]) + (FRAME.k == -5) * (FRAME.y > 1) + (FRAME.code == "2")
# grey and 7 were never seen, and pass no test.
KINDS = ax.Domain(
    [
        ax.Real("x", -3, 3),
        ax.Categorical("colour", [*COLOURS, "grey"]),
        ax.Integer("k", -5, 10),
        ax.Integer("y", 0, 4),
        ax.Categorical("code", ["1", "2", "03", "7"]),
    ]
)


@pytest.mark.parametrize("policy", POLICIES)
def test_categories(policy) -> None:
    settings = {**SETTINGS, "cat_features": ["colour", "k", "code"], "one_hot_max_size": 10, "grow_policy": policy}
    check(cb.CatBoostRegressor(**settings).fit(FRAME, MIXED), KINDS)
    classifier = cb.CatBoostClassifier(**settings).fit(FRAME, np.digitize(MIXED, [0.5, 1.5]))
    check(classifier, KINDS)
    assert any(split["split_type"] == "OneHotFeature" for split in splits(classifier))
    explanation = ax.Explainer(classifier, KINDS).explain((0.5, "red", -5, 2, "2"))
    assert "colour" in explanation.relevant


def splits(model) -> list[dict]:
    from axfi_kc.compilers.readers.catboost import _tests

    return _tests(document(model))


def test_categories_that_are_refused() -> None:
    settings = {**SETTINGS, "cat_features": ["colour", "k", "code"]}
    model = cb.CatBoostClassifier(**settings, one_hot_max_size=10).fit(FRAME, MIXED > 1)
    parts = list(KINDS.features)
    for wrong, words in (
        (ax.Categorical("colour", ["red", 1.5]), r"holds 1\.5"),
        (ax.Categorical("colour", ["red", "blue"], missing=0.5), "'colour' may be"),
        (ax.Real("colour", 0, 1), "as categories, but the domain has it as real"),
        (ax.Integer("colour", 0, 10**6), "1000001 values"),
        (ax.Categorical("shade", ["red", "blue"]), "'colour' where the domain has 'shade'"),
    ):
        with pytest.raises(DomainError, match=words):
            ax.read_model(model, ax.Domain([parts[0], wrong, *parts[2:]]))
    with pytest.raises(UnsupportedModelError, match="one_hot_max_size"):
        ax.read_model(cb.CatBoostClassifier(**settings, one_hot_max_size=2).fit(FRAME, MIXED > 1), KINDS)


@pytest.mark.parametrize(
    ("kind", "loss", "target"),
    [
        ("CatBoostRegressor", "Poisson", np.abs(Z)),
        ("CatBoostRegressor", "Tweedie:variance_power=1.5", np.abs(Z)),
        ("CatBoostRegressor", "RMSEWithUncertainty", Z),
        ("CatBoostRegressor", "MultiRMSE", np.column_stack([Z, Z])),
        ("CatBoostRegressor", "MultiQuantile:alpha=0.3,0.7", Z),
        ("CatBoostClassifier", "MultiLogloss", np.column_stack([Z > 0, X[:, 0] > 0]).astype(int)),
    ],
)
def test_losses_that_are_refused(kind, loss, target) -> None:
    model = getattr(cb, kind)(loss_function=loss, **SETTINGS).fit(X, target)
    with pytest.raises(UnsupportedModelError, match=r"loss_function|one model per output"):
        ax.read_model(model, DOMAIN)


def test_what_is_refused() -> None:
    with pytest.raises(UnfittedModelError, match="call fit first"):
        ax.read_model(cb.CatBoostClassifier(), DOMAIN)
    with pytest.raises(DomainError, match="4 columns, but the domain describes 3"):
        ax.read_model(cb.CatBoostClassifier(**SETTINGS).fit(X, BINARY), ax.Domain(DOMAIN.features[:3]))


def test_names_of_columns() -> None:
    named = cb.CatBoostRegressor(**SETTINGS).fit(pd.DataFrame(X, columns=list("abcd")), Z)
    assert column_names(named) == ("a", "b", "c", "d")
    assert column_names(cb.CatBoostRegressor(**SETTINGS).fit(X, Z)) is None
    assert column_names(cb.CatBoostRegressor()) is None


def test_constant_model() -> None:
    settings = {**SETTINGS, "allow_const_label": True, "bootstrap_type": "No"}
    constant = cb.CatBoostRegressor(**settings).fit(X, np.full(N, 2.5))
    assert {float(v) for v in ax.read_model(constant, DOMAIN).predict(X)} == {2.5}


@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_those_of_brute_force(seed) -> None:
    rng = np.random.default_rng(seed)
    domain = ax.Domain(
        [ax.Integer("a", 0, 2, missing=0.25), ax.Categorical("c", "xyz"), ax.Integer("d", 0, 3), ax.Integer("e", 0, 1)]
    )
    n = 120
    table = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.25, np.nan, rng.integers(0, 3, n)),
            "c": rng.choice(list("xyz"), n),
            "d": rng.integers(0, 4, n),
            "e": rng.integers(0, 2, n),
        }
    )
    score = np.nan_to_num(table.a, nan=rng.normal()) * rng.normal() + (table.c == "y") * table.d + rng.normal(size=n)
    settings = {**SETTINGS, "iterations": 4, "depth": 3, "cat_features": ["c"], "one_hot_max_size": 5}
    settings |= {"grow_policy": POLICIES[seed % 3], "nan_mode": ("Min", "Max")[seed % 2]}
    rows = some_points(domain, 4, seed=seed)
    classes = np.digitize(score, np.quantile(score, [0.4, 0.7]))
    check_explanations(cb.CatBoostClassifier(**settings).fit(table, classes), domain, rows)
    check_explanations(cb.CatBoostClassifier(**settings).fit(table, score > np.median(score)), domain, rows)
    check_explanations(cb.CatBoostRegressor(**settings).fit(table, score), domain, rows[:2], delta=0.37)
