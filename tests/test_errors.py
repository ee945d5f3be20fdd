"""Bad input gets one clear sentence and a specific exception."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc import errors

DOMAIN = ax.Domain([ax.Integer("age", 18, 90), ax.Real("bmi", 10, 50), ax.Categorical("race", [0, 1, 2])])
X = np.array([[20, 20.0, 0], [50, 30.0, 1], [70, 40.0, 2], [80, 15.0, 1]])
TREE = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1])


def explainer(**options) -> ax.Explainer:
    return ax.Explainer(TREE, DOMAIN, **options)


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ([91, 20, 0], "'age' must be an integer from 18 to 90, but 91.0 was found"),
        ([20.5, 20, 0], "'age' must be an integer"),
        ([20, 9.9, 0], "'bmi' must be a number from 10 to 50, but 9.9 was found"),
        ([20, math.inf, 0], "'bmi' must be a number"),
        ([20, 20, 3], "'race' must be one of 0, 1, 2, but 3"),
        ([20, math.nan, 0], "'bmi' is missing"),
        ([math.nan, 20, 0], "'age' is missing"),
        ([20, "tall", 0], "'bmi' takes numbers, but 'tall' was found"),
        ([20, 20], "Expected 3 values per point, but 2 were given"),
        ([20, 20, 0, 0], "Expected 3 values per point, but 4 were given"),
        ({"age": 20, "bmi": 20}, "no value for feature 'race'"),
        (7, "Expected one point"),
        ("age", "Expected one point"),
    ],
)
def test_points_outside_the_domain(point, words: str) -> None:
    with pytest.raises(errors.DomainError, match=words):
        explainer().explain(point)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ax.Integer("a\ud800", 0, 1),
        lambda: ax.Real("\udcff", 0, 1),
        lambda: ax.Categorical("a\ud800", ["x"]),
        lambda: ax.Categorical("a", ["x", "y\udfff"]),
    ],
)
def test_halves_of_characters_are_no_names(make) -> None:
    with pytest.raises(errors.DomainError, match="half of a character"):
        make()
    ax.Categorical("größe \x00", ["😀"])


def test_nan_is_outside_a_categorical_feature() -> None:
    with pytest.raises(errors.DomainError, match="'race' is missing"):
        explainer().explain([20, 20, math.nan])


def test_unknown_feature_name() -> None:
    with pytest.raises(errors.DomainError, match=r"no value for feature 'age'.*found: 'Age', 'bmi', 'race'"):
        explainer().explain({"Age": 20, "bmi": 20, "race": 0})
    with pytest.raises(errors.DomainError, match=r"no value for features 'bmi', 'race'; give one for each of the 3"):
        explainer().explain({"age": 20})
    with pytest.raises(errors.UnknownFeatureError, match="no feature 'sex'"):
        explainer().explain(X[0]).forest.value({"sex"})
    with pytest.raises(errors.UnknownFeatureError, match="set of feature names"):
        ax.is_wcxp(explainer().explain(X[0]).problem, "age")


def test_unfitted_estimator() -> None:
    with pytest.raises(errors.UnfittedModelError, match=r"DecisionTreeClassifier.*call fit first"):
        ax.Explainer(DecisionTreeClassifier(), DOMAIN)


def test_unsupported_class() -> None:
    with pytest.raises(errors.UnsupportedModelError, match="KNeighborsClassifier was given; give a Python"):
        ax.Explainer(KNeighborsClassifier().fit(X, [0, 1, 0, 1]), DOMAIN)
    with pytest.raises(errors.UnsupportedModelError, match="path or content of a file was given; load it first"):
        ax.Explainer("model.json", DOMAIN)


def test_multi_output_tree() -> None:
    model = DecisionTreeClassifier().fit(X, [[0, 1], [1, 0], [0, 1], [1, 1]])
    with pytest.raises(errors.UnsupportedModelError, match="2 outputs"):
        ax.Explainer(model, DOMAIN)


def test_constant_model() -> None:
    with pytest.raises(errors.ConstantModelError, match="1 everywhere"):
        ax.Explainer(DecisionTreeClassifier().fit(X, [1, 1, 1, 1]), DOMAIN)
    narrow = ax.Domain([ax.Integer("age", 20, 20), ax.Real("bmi", 20, 20), ax.Categorical("race", [0])])
    with pytest.raises(errors.ConstantModelError, match="widen the domain"):
        ax.Explainer(TREE, narrow)


def test_regression_and_delta() -> None:
    regressor = DecisionTreeRegressor().fit(X, [0.5, 1.0, 2.0, 3.0])
    with pytest.raises(errors.SimilarityError, match="needs delta"):
        ax.Explainer(regressor, DOMAIN)
    with pytest.raises(errors.SimilarityError, match="must not be negative"):
        ax.Explainer(regressor, DOMAIN, delta=-1)
    with pytest.raises(errors.SimilarityError, match="is a classifier"):
        explainer(delta=1)
    with pytest.raises(errors.DomainError, match="finite number"):
        ax.Explainer(regressor, DOMAIN, delta=math.nan)


def test_everything_within_delta_is_an_empty_explanation() -> None:
    regressor = DecisionTreeRegressor().fit(X, [0.5, 1.0, 2.0, 3.0])
    e = ax.Explainer(regressor, DOMAIN, delta=100).explain(X[0])
    assert e.cxps == ()
    assert [a.features for a in e.axps] == [()]
    assert set(e.scores("shapley").values()) == set(e.scores("banzhaf").values()) == {0}
    assert e.forest.value(DOMAIN.names) == 0


def test_count_weights_with_a_real_feature() -> None:
    model = DecisionTreeClassifier(random_state=0).fit(X, X[:, 1] > 25)
    with pytest.raises(errors.WeightError, match="'bmi', which is real"):
        ax.Explainer(model, DOMAIN, weights="count").explain(X[0])


def test_count_weights_are_fine_when_no_cxp_contains_the_real_feature() -> None:
    wide = np.array([[a, b, r] for a in (20, 80) for b in (15.0, 45.0) for r in (0, 1, 2)])
    model = DecisionTreeClassifier(random_state=0).fit(wide, wide[:, 2] == 1)
    e = ax.Explainer(model, DOMAIN, weights="count").explain(X[0])
    assert [(c.features, c.weight) for c in e.cxps] == [(("race",), 1)]


def test_bad_options() -> None:
    with pytest.raises(errors.WeightError, match="'ratio', 'count', 'unit'"):
        explainer(weights="mass")
    with pytest.raises(errors.WeightError, match="'shapley', 'banzhaf'"):
        explainer().explain(X[0]).scores("owen")
    with pytest.raises(errors.DomainError, match="max_size"):
        explainer(max_size=0)


def test_axps_need_all_cxps() -> None:
    with pytest.raises(errors.IncompleteError, match="without max_size"):
        _ = explainer(max_size=1).explain(X[0]).axps


def test_model_of_other_columns() -> None:
    wide = DecisionTreeClassifier().fit(np.c_[X, X], [0, 1, 0, 1])
    with pytest.raises(errors.DomainError, match="fitted on 6 columns, but the domain describes 3"):
        ax.Explainer(wide, DOMAIN)


def test_model_that_compares_strings_with_numbers() -> None:
    domain = ax.Domain([ax.Integer("age", 18, 90), ax.Real("bmi", 10, 50), ax.Categorical("race", ["a", "b", "c"])])
    model = DecisionTreeClassifier(random_state=0).fit(X, X[:, 2] == 1)
    with pytest.raises(errors.UnsupportedModelError, match="compares feature 'race' with numbers"):
        ax.Explainer(model, domain)


def test_missing_extra_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    batch = explainer().explain_batch(X)
    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(errors.MissingExtraError, match=r"pip install pandas \(part of our \[frames\]\)"):
        batch.scores()


def test_warnings_are_known_by_their_class() -> None:
    assert issubclass(errors.AxfiWarning, UserWarning)


@pytest.mark.parametrize("name", [name for name in errors.__all__ if not name.endswith("Warning")])
def test_every_error_is_an_axfi_error(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.AxfiError)
    assert name == "AxfiError" or len(kind.__mro__) > len(errors.AxfiError.__mro__) + 1


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ([1], "but list was returned, which has no hash"),
        (np.array([1]), "but ndarray was returned, which has no hash"),
        (math.nan, "but NaN was found"),
        (np.float32("nan"), "but NaN was found"),
    ],
)
def test_outputs_that_are_no_labels(output, words: str) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1)])
    with pytest.raises(errors.DomainError, match=words):
        ax.Explainer(lambda p: output if p[0] else 0, domain)


def test_a_function_gets_a_tuple_of_values() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Categorical("b", "xy"), ax.Integer("c", 0, 0, missing=0.5)])
    seen: set[tuple] = set()

    def function(point: tuple) -> bool:
        assert type(point) is tuple
        assert [type(v) for v in point[:2]] == [int, str]
        seen.add(point)
        return point[0] == 1 and point[2] is None

    assert ax.Explainer(function, domain).explain({"a": 1, "b": "x", "c": None}).prediction is True
    assert seen == set(domain.points())
    assert {point[2] for point in seen} == {0, None}


def test_verify_gives_a_function_the_same_points() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Categorical("b", "xy")])
    seen: set[tuple] = set()

    def function(point: tuple) -> bool:
        assert [type(v) for v in point] == [int, str]
        seen.add(point)
        return point[0] == 1 and point[1] == "x"

    e = ax.Explainer(function, domain).explain((1, "x"))
    seen.clear()
    assert ax.verify(e, function).ok
    assert seen
    assert seen <= set(domain.points())


@pytest.mark.parametrize("suffix", ["nnf", "cnf", "dddmp", "json", "sdd"])
def test_a_circuit_file_that_is_not_there(tmp_path, suffix: str) -> None:
    with pytest.raises(errors.ModelFileError, match="There is no file"):
        ax.load_circuit(tmp_path / f"none.{suffix}", DOMAIN)


LARGE = ax.Domain([ax.Real("x", 0, 1e39), ax.Real("y", 0, 1)])


@pytest.mark.parametrize("name", ["tree", "forest", "boosting"])
def test_domains_beyond_what_predict_takes(name: str) -> None:
    model = {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(2, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=2),
    }[name].fit([[0, 0], [1, 1], [2, 0], [3, 1]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="too large"), np.errstate(over="ignore"):
        model.predict([[1e39, 0]])
    with pytest.raises(errors.DomainError, match=r"float32 holds.*feature 'x' up to 1e\+39; narrow the domain"):
        ax.Explainer(model, LARGE)
    largest = float(np.nextafter(2.0**128 - 2.0**103, 0))
    e = ax.Explainer(model, ax.Domain([ax.Real("x", 0, largest), ax.Real("y", 0, 1)])).explain([largest, 0])
    assert e.prediction == model.predict([[largest, 0]])[0]


def test_domains_beyond_what_a_booster_takes() -> None:
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.array([[0.0, 0], [1, 1], [2, 0], [3, 1]] * 5), label=[0, 0, 1, 1] * 5)
    booster = xgboost.train({"objective": "binary:logistic"}, data, 2)
    with pytest.raises(errors.DomainError, match="float32 holds"):
        ax.Explainer(booster, LARGE)


def test_histogram_boosting_compares_in_float64() -> None:
    model = HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=2)
    model.fit([[0, 0], [1e38, 1], [1e39, 0], [3e39, 1]] * 5, [0, 0, 1, 1] * 5)
    explainer = ax.Explainer(model, ax.Domain([ax.Real("x", 0, 1e40), ax.Real("y", 0, 1)]))
    assert explainer.explain([1e40, 0]).prediction == model.predict([[1e40, 0]])[0]


def test_a_method_is_no_function_of_one_point() -> None:
    with pytest.raises(
        errors.UnsupportedModelError, match=r"DecisionTreeClassifier.predict takes a table; give the mod"
    ):
        ax.Explainer(TREE.predict, ax.Domain([ax.Integer("a", 0, 1)]))


def test_a_domain_of_other_columns_says_which() -> None:
    table = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 0, 1, 0], "id": [7, 8, 9, 10]})
    model = DecisionTreeClassifier().fit(table[["a", "b"]], [0, 0, 1, 1])
    with pytest.raises(errors.DomainError, match=r"describes 3 \(with 'id', which the model does not know\); make"):
        ax.Explainer(model, ax.Domain.from_data(table))
    with pytest.raises(errors.DomainError, match=r"describes 1 \(without 'a'\); make"):
        ax.Explainer(model, ax.Domain.from_data(table[["b"]]))


FOUR = ax.Domain([ax.Integer(f"f{i}", 0, 3) for i in range(4)])


def four(**options) -> ax.Explainer:
    return ax.Explainer(lambda p: p[0] and (p[1] > 0 or p[2] > 1), FOUR, **options)


QUESTIONS = {
    "precision": lambda e, names: e.precision(names),
    "inflated_axp": lambda e, names: e.inflated_axp(names),
    "inflated_axp, order": lambda e, names: e.inflated_axp(order=names),
    "inflated_cxp": lambda e, names: e.inflated_cxp(names),
    "paxp": lambda e, names: e.paxp(0.5, start=names),
    "circuit": lambda e, names: e.circuit(names),
    "circuit, weight": lambda e, names: e.circuit().weight(names),
    "counterfactual": lambda e, names: e.counterfactual(names),
    "find_counterfactual": lambda e, names: ax.find_counterfactual(e.problem, names),
    "critical_radius": lambda e, names: e.critical_radius(names),
    "sensitivity": lambda e, names: ax.sensitivity(four().model, FOUR, names),
    "is_wcxp": lambda e, names: ax.is_wcxp(e.problem, names),
    "is_waxp": lambda e, names: ax.is_waxp(e.problem, names),
    "forest": lambda e, names: e.forest.value(names),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("names", [5, 2.5, np.array("f0")], ids=repr)
def test_what_has_no_names_of_features(question: str, names) -> None:
    words = (
        r"^Expected a set of feature names, an AXp or a CXp, but .* was given; name features, as in {'age', 'sex'}\.$"
    )
    with pytest.raises(errors.UnknownFeatureError, match=words) as caught:
        QUESTIONS[question](four().explain((1, 2, 3, 0)), names)
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("question", ["precision", "critical_radius", "sensitivity", "is_wcxp", "forest"])
def test_none_has_no_names_of_features(question: str) -> None:
    with pytest.raises(errors.UnknownFeatureError, match="but None was given; name features"):
        QUESTIONS[question](four().explain((1, 2, 3, 0)), None)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_string_is_no_list_of_letters(question: str) -> None:
    with pytest.raises(errors.UnknownFeatureError, match=r"but the string 'f0' was given: use {'f0'}"):
        QUESTIONS[question](four().explain((1, 2, 3, 0)), "f0")


@pytest.mark.parametrize("question", QUESTIONS)
def test_explanations_stand_for_their_features(question: str) -> None:
    e, asked = four().explain((1, 2, 3, 0)), QUESTIONS[question]

    def answer(names) -> str:
        try:
            return repr(asked(e, names))
        except errors.DomainError as error:  # the same refusal: features that keep nothing, or are no CXp
            return str(error)

    for found in (*e.axps, *e.cxps, e.paxp(0.9), e.inflated_cxp()):
        assert answer(found) == answer(list(found.features))


@pytest.mark.parametrize("question", ["circuit", "counterfactual", "find_counterfactual"])
def test_an_axp_that_is_no_cxp_is_refused(question: str) -> None:
    e = four().explain((1, 2, 3, 0))
    with pytest.raises(errors.DomainError, match="are none"):
        QUESTIONS[question](e, e.axps[0])


@pytest.mark.parametrize("size", [1.5, 2.0, "1", [1], math.nan, -1, 0, True, np.float64(2)], ids=repr)
def test_sizes_are_positive_whole_numbers(size) -> None:
    problem, words = (
        four().explain((1, 2, 3, 0)).problem,
        "max_size must be a positive whole number of features, or None",
    )
    for ask in (
        lambda: four().explain((1, 2, 3, 0)).paxps(0.9, max_size=size),
        lambda: four(max_size=size),
        lambda: ax.find_cxps(problem, max_size=size),
        lambda: ax.explain_among([[0], [1]], [0, 1], [0], max_size=size),
    ):
        with pytest.raises(errors.DomainError, match=words):
            ask()


def test_sizes_and_orders_from_numpy() -> None:
    e, two = four().explain((1, 2, 3, 0)), np.int64(2)
    assert e.paxps(0.9, max_size=two) == e.paxps(0.9, max_size=2)
    assert e.interactions(order=two, up_to=two) == e.interactions(order=2) != {}
    assert e.interaction_frame(order=two).equals(e.interaction_frame())
    assert ax.find_cxps(e.problem, max_size=two) == ax.find_cxps(e.problem, max_size=2)
    limited = four(max_size=two).explain((1, 2, 3, 0))
    assert limited.to_json() == four(max_size=2).explain((1, 2, 3, 0)).to_json()


@pytest.mark.parametrize("kind", [["shapley"], {"shapley"}, {}, slice(1), None, 5], ids=repr)
def test_kinds_that_are_no_names(kind, tmp_path) -> None:
    e, batch = four().explain((1, 2, 3, 0)), four().explain_batch([(1, 2, 3, 0), (0, 0, 0, 0)])
    four().explain_to(tmp_path / "rows.jsonl", [(1, 2, 3, 0)])
    saved = ax.read_results(tmp_path / "rows.jsonl")
    written = ax.Explanation.from_json(e.to_json())
    asked = [
        *(ask for one in (e, written) for ask in (one.scores, one.shares, one.interactions, one.interaction_frame)),
        *(ask for all_ in (batch, saved) for ask in (all_.scores, all_.shares, all_.to_frame)),
        lambda k: e.to_json(kinds=[k]),
        lambda k: e.to_json(interactions=[k]),
        lambda k: four().explain_to(tmp_path / "more.jsonl", [(1, 2, 3, 0)], kinds=[k]),
        lambda k: four().explain_to(tmp_path / "more.jsonl", [(1, 2, 3, 0)], interactions=[k]),
    ]
    for ask in asked:
        with pytest.raises(
            errors.WeightError, match=r"^The (score|interaction) must be one of .* was given; name one\.$"
        ):
            ask(kind)


@pytest.mark.parametrize("kinds", ["shapley", 5, None], ids=repr)
def test_lists_of_kinds_that_are_none(kinds, tmp_path) -> None:
    e = four().explain((1, 2, 3, 0))
    for ask in (e.to_json, lambda **o: four().explain_to(tmp_path / "a.jsonl", [(1, 2, 3, 0)], **o)):
        for name in ("kinds", "interactions"):
            with pytest.raises(errors.WeightError, match=r"^Expected a list of names, but .* was given; use a list"):
                ask(**{name: kinds})


SWAPPED = {"a": "b", "b": "a", "c": "c"}


def letters(**options) -> ax.Explainer:
    return ax.Explainer(lambda p: "abc"[min(p[0], 2)], FOUR, **options)


def test_a_class_that_is_meant_by_its_label_or_by_another_name() -> None:
    words = r"^A class was expected, but 'b' means two: that with the label 'b' and that with the label 'a', whose name"
    with pytest.raises(errors.DomainError, match=words):
        letters(class_names=SWAPPED, toward="b")
    with pytest.raises(errors.DomainError, match=words):
        letters(class_names=SWAPPED).explain((2, 0, 0, 0), toward="b")
    assert letters(class_names=SWAPPED, toward="c").explain((0, 0, 0, 0)).toward == "c"
    assert letters(class_names={"a": "x", "b": "y"}, toward="b").toward == "b"
    assert letters(class_names={"a": "x", "b": "y"}, toward="y").toward == "b"


def test_a_class_whose_label_is_another_name_is_asked_for_by_its_own() -> None:
    made = letters(class_names={"a": "b", "b": "x"}, toward="x")
    point = 3, 0, 0, 0
    assert made.explain(point).toward == "b"
    assert made.__sklearn_clone__().explain(point).toward == "b"
    assert made.explain(point, within=ax.Region(frozen=["f1"])).toward == "b"
