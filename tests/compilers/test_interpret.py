"""interpret's explainable boosting: the library's own predictions, on every side of every cut, in every bin."""

from __future__ import annotations

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.errors import DomainError, UnfittedModelError, UnsupportedModelError
from axfi_kc.models.own_predict import column_names
from tests.support.reader_checks import check_explanations, check_predictions, points_around, some_points

glassbox = pytest.importorskip("interpret.glassbox", reason="interpret-core is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:Missing values detected"),
    pytest.mark.filterwarnings("ignore:For multiclass we cannot"),
    pytest.mark.filterwarnings("ignore:Interactions with 3 or more"),
    pytest.mark.filterwarnings("ignore:Possible privacy violation"),
    pytest.mark.filterwarnings("ignore:Privacy violation. using a fixed random_state"),
]

Classifier, Regressor = glassbox.ExplainableBoostingClassifier, glassbox.ExplainableBoostingRegressor
SETTINGS = {"max_rounds": 60, "outer_bags": 2, "n_jobs": 1, "max_bins": 12, "max_interaction_bins": 6}
N = 400
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "y": RNG.normal(size=N).round(2),
        "colour": RNG.choice(["red", "teal", "ä b", "1"], N),
        "k": RNG.integers(0, 5, N),
        "old": RNG.random(N) < 0.5,
    }
)
Z = TABLE.x * TABLE.y + (TABLE.colour == "teal") + (TABLE.k == 2) - 0.5 * TABLE.old
BINARY = np.where(Z > 0.4, "yes", "no")
THREE = np.digitize(Z, [-0.3, 0.8])
HOLES = TABLE.astype({"k": float, "colour": object})
for name in ("x", "k", "colour"):
    HOLES.loc[RNG.random(N) < 0.2, name] = None
# blue and 9 were never seen; y reaches further than training did.
DOMAIN = ax.Domain(
    [
        ax.Real("x", -3, 3),
        ax.Real("y", -9, 9),
        ax.Categorical("colour", ["red", "teal", "ä b", "1", "blue"]),
        ax.Integer("k", 0, 9),
        ax.Categorical("old", [False, True]),
    ]
)
WITH_HOLES = ax.Domain(
    [
        ax.Real("x", -3, 3, missing=0.2),
        DOMAIN.features[1],
        ax.Categorical("colour", ["red", "teal", "ä b", "1", "blue"], missing=0.2),
        ax.Integer("k", 0, 4, missing=0.2),
        DOMAIN.features[4],
    ]
)


def cuts(model) -> dict[int, np.ndarray]:
    found = {i: [b for b in levels if not isinstance(b, dict)] for i, levels in enumerate(model.bins_)}
    return {i: np.unique(np.concatenate(levels)) for i, levels in found.items() if levels}


def check(model, domain: ax.Domain = DOMAIN) -> None:
    check_predictions(model, domain, points_around(domain, cuts(model)))


@pytest.mark.parametrize("target", [BINARY, BINARY == "yes", THREE, np.array(list("uvw"))[THREE]])
def test_classes(target) -> None:
    check(Classifier(**SETTINGS).fit(TABLE, target))


def test_regression() -> None:
    model = Regressor(**SETTINGS).fit(TABLE, Z)
    assert {len(term) for term in model.term_features_} == {1, 2}
    check(model)


@pytest.mark.parametrize("target", [BINARY, THREE])
def test_missing_values(target) -> None:
    check(Classifier(**SETTINGS).fit(HOLES, target), WITH_HOLES)
    check(Regressor(**SETTINGS).fit(HOLES, Z), WITH_HOLES)


def test_missing_values_that_training_did_not_see() -> None:
    check(Classifier(**SETTINGS).fit(TABLE, BINARY), WITH_HOLES)


def test_tables_of_three_features() -> None:
    model = Regressor(**SETTINGS, interactions=[(0, 1, 3), (1, 2)]).fit(TABLE, Z)
    assert max(map(len, model.term_features_)) == 3
    check(model)


def test_integers_as_categories() -> None:
    kinds = ["continuous", "continuous", "nominal", "nominal", "nominal"]
    model = Classifier(**SETTINGS, feature_types=kinds).fit(TABLE, BINARY)
    assert model.bins_[3] == [{str(k): k + 1 for k in range(5)}]
    check(model)
    codes = points_around(DOMAIN, {})[:500]
    table = pd.DataFrame([DOMAIN.decode(row) for row in codes], columns=DOMAIN.names)
    assert ax.read_model(model, DOMAIN).outputs_at(codes) == model.predict(table).tolist()


def test_booleans_among_objects_are_words() -> None:
    model = Classifier(**SETTINGS).fit(
        TABLE.astype({"old": object}).replace({"old": {True: "True", False: "False"}}), BINARY
    )
    with pytest.raises(DomainError, match="holds False; give the domain strings"):
        ax.read_model(model, DOMAIN)
    check(model, ax.Domain([*DOMAIN.features[:4], ax.Categorical("old", ["False", "True"])]))


def test_columns_without_names() -> None:
    numbers = TABLE[["x", "y", "k"]].to_numpy()
    model = Regressor(**SETTINGS).fit(numbers, Z)
    domain = ax.Domain.from_data(numbers, integer=["x2"])
    check(model, domain)
    assert (column_names(model), column_names(Regressor())) == (None, None)
    assert column_names(Regressor(**SETTINGS).fit(TABLE, Z)) == tuple(TABLE.columns)
    assert ax.read_model(model, domain).predict(numbers)[0] == pytest.approx(model.predict(numbers)[0])


def test_ties_go_to_the_first_class() -> None:
    two, three = Classifier(**SETTINGS).fit(TABLE, BINARY), Classifier(**SETTINGS).fit(TABLE, THREE)
    for model, values in ((two, (0.0, 5e-324, -5e-324)), (three, ((0, 0, 0), (0, 1, 1), (1, 0, 1), (0, 0, 1e-300)))):
        model.term_features_, model.term_scores_ = [], []
        for value in values:
            model.intercept_ = np.array(value, dtype=np.float64).reshape(-1)
            assert ax.read_model(model, DOMAIN).predict(TABLE[:1]) == model.predict(TABLE[:1]).tolist()


def test_edited_terms_are_those_of_predict() -> None:
    model = Classifier(**SETTINGS).fit(TABLE, BINARY)
    model.term_scores_[0] = -2 * model.term_scores_[0]
    check(model)
    model.remove_terms([1])
    check(model)


def test_private_models() -> None:
    privacy = pytest.importorskip("interpret.privacy")
    numbers = TABLE[["x", "y", "k"]]
    domain = ax.Domain([ax.Real("x", -3, 3), ax.Real("y", -3, 3), ax.Integer("k", 0, 4)])
    settings = {"max_rounds": 20, "outer_bags": 1, "n_jobs": 1, "privacy_bounds": np.array([[-3, 3], [-3, 3], [0, 4]])}
    settings["random_state"] = 0  # noise without a seed drowns everything now and then
    target = np.where(TABLE.x + TABLE.y > 0, "yes", "no")
    check(privacy.DPExplainableBoostingClassifier(**settings, epsilon=4.0).fit(numbers, target), domain)
    bounds = {"privacy_target_min": -5.0, "privacy_target_max": 5.0}
    check(privacy.DPExplainableBoostingRegressor(**settings, **bounds, epsilon=4.0).fit(numbers, Z), domain)


def test_what_is_refused() -> None:
    with pytest.raises(UnfittedModelError, match="call fit first"):
        ax.read_model(Classifier(), DOMAIN)
    with pytest.raises(UnsupportedModelError, match="link 'log'"):
        ax.read_model(Regressor(**SETTINGS, objective="poisson_deviance").fit(TABLE, np.abs(Z)), DOMAIN)
    model = Classifier(**SETTINGS).fit(TABLE, BINARY)
    features = list(DOMAIN.features)
    for wrong, words in (
        (ax.Real("colour", 0, 1), "as categories, but the domain has it as real"),
        (ax.Categorical("colour", ["red", 1.5]), r"holds 1\.5"),
        (ax.Categorical("shade", ["red", "teal"]), "'colour' where the domain has 'shade'"),
    ):
        with pytest.raises(DomainError, match=words):
            ax.read_model(model, ax.Domain([*features[:2], wrong, *features[3:]]))
    with pytest.raises(DomainError, match="5 columns, but the domain describes 4"):
        ax.read_model(model, ax.Domain(features[:4]))


@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_those_of_brute_force(seed) -> None:
    rng, n = np.random.default_rng(seed), 150
    domain = ax.Domain(
        [
            ax.Integer("a", 0, 2, missing=0.25),
            ax.Categorical("c", "xyz", missing=0.125),
            ax.Integer("d", 0, 3),
            ax.Integer("e", 0, 1),
        ]
    )
    table = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.25, np.nan, rng.integers(0, 3, n)),
            "c": np.where(rng.random(n) < 0.2, None, rng.choice(list("xyz"), n)),
            "d": rng.integers(0, 4, n),
            "e": rng.integers(0, 2, n),
        }
    )
    score = table.a.fillna(rng.normal()) * rng.normal() + (table.c == "y") * table.d + table.e + rng.normal(size=n)
    rows = some_points(domain, 4, seed=seed)
    classes = np.digitize(score, np.quantile(score, [0.4, 0.7]))
    check_explanations(Classifier(**SETTINGS).fit(table, classes), domain, rows)
    check_explanations(Classifier(**SETTINGS).fit(table, score > np.median(score)), domain, rows)
    check_explanations(Regressor(**SETTINGS).fit(table, score), domain, rows[:2], delta=0.37)
