"""Names of classes, probabilities and margins are the model's own, and the same through every door."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.errors import DomainError, IncompleteError, ResultFileError
from axfi_kc.explanations.answers import answer_words
from axfi_kc.explanations.page import report_html
from axfi_kc.plots import plot_cxps, plot_scores

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data.iloc[::5], IRIS.target.iloc[::5]
TWO = Y.clip(upper=1)
NAMES = list(IRIS.target_names)


def tree(**options: Any) -> ax.Explainer:
    return ax.Explainer(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y), X, **options)


def test_names_are_shown_and_labels_stay() -> None:
    e = tree(class_names=NAMES).explain(X.iloc[0])
    assert (e.prediction, e.prediction_name, e.class_names) == (0, "setosa", dict(enumerate(NAMES)))
    assert repr(e).startswith("<Explanation: prediction 'setosa' (probability 1),")
    assert "Why setosa? (probability 1)" in e.to_html()
    assert "<h1>Why setosa?</h1>" in report_html(e)
    assert "setosa (0), probability 1" in report_html(e)
    assert answer_words(e) == "setosa (0), probability 1"
    assert plot_scores(e).get_title() == "Why setosa?"
    assert any("What can change setosa?" in axes.get_title() for axes in plot_cxps(e).figure.axes)
    assert "gives <bdi>versicolor</bdi>" in report_html(e)
    assert ": versicolor (for instance" in str(e.counterfactual())
    assert tree().explain(X.iloc[0]).prediction_name == 0


def test_some_classes_may_have_names() -> None:
    batch = tree(class_names={2: "virginica"}).explain_batch(X)
    assert [e.prediction_name for e in batch] == ["virginica" if y == 2 else y for y in batch.predictions]
    assert batch.to_frame()["prediction_name"].tolist() == [e.prediction_name for e in batch]
    assert set(batch.to_frame()["prediction"]) == {0, 1, 2}
    assert "prediction_name" not in tree().explain_batch(X).to_frame()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a", "b"], r"name 3 classes \(0, 1, 2\), but 2 names"),
        ({"setosa": "x"}, r"classes \(0, 1, 2\), but 'setosa' is none of them"),
        ({0: "x", 1: "x"}, "a name of its own"),
    ],
)
def test_names_that_fit_no_class(names: Any, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        tree(class_names=names)


def test_a_regression_has_no_names() -> None:
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(DomainError, match="class_names are for classifiers"):
        ax.Explainer(model, X, delta=0.5, class_names=["a"])
    e = ax.Explainer(model, X, delta=0.5).explain(X.iloc[0])
    assert (e.probability, e.margin, e.prediction_name) == (None, None, e.prediction)


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=2, random_state=0),
    "forest": RandomForestClassifier(3, max_depth=2, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, learning_rate=0.9, max_depth=2, random_state=0),
    "linear": LogisticRegression(max_iter=1000),
}


@pytest.mark.parametrize("target", [TWO, Y], ids=["two", "three"])
@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_those_of_predict_proba(name: str, target: pd.Series) -> None:
    model = MODELS[name].fit(X, target)
    batch, own = ax.Explainer(model, X).explain_batch(X.iloc[::6]), model.predict_proba(X.iloc[::6])
    expected = [row[list(model.classes_).index(y)] for row, y in zip(own, batch.predictions, strict=True)]
    assert batch.probabilities == pytest.approx(expected, rel=1e-12)
    assert [e.probability for e in batch] == pytest.approx(expected, rel=1e-12)
    assert batch.to_frame()["probability"].tolist() == batch.probabilities


@pytest.mark.parametrize("target", [TWO, Y], ids=["two", "three"])
@pytest.mark.parametrize("name", MODELS)
def test_margins_are_the_librarys_scores(name: str, target: pd.Series) -> None:
    model = MODELS[name].fit(X, target)
    for e in ax.Explainer(model, X).explain_batch(X.iloc[::6]):
        row = pd.DataFrame([e.instance])
        if hasattr(model, "decision_function"):
            own = model.decision_function(row)[0]
            own = own if np.ndim(own) else [-own, own]
        else:
            own = model.predict_proba(row)[0] * getattr(model, "n_estimators", 1)
        assert e.margin is not None
        assert all(isinstance(score, Fraction) for score in e.margin.values())
        assert [float(e.margin[y]) for y in model.classes_] == pytest.approx(list(own), rel=1e-9)
        assert max(e.margin, key=lambda y: e.margin[y]) == e.prediction


def test_margins_stand_in_for_probabilities() -> None:
    e = ax.Explainer(LinearSVC().fit(X, TWO), X).explain(X.iloc[0])
    assert e.probability is None
    assert answer_words(e) == f"0, margin {float(e.margin[0]):.4g}"


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_files_hold_names_probabilities_and_margins(tmp_path: Path, suffix: str) -> None:
    made = tree(class_names=NAMES)
    batch, saved = made.explain_batch(X.iloc[::6]), made.explain_to(tmp_path / f"out.{suffix}", X.iloc[::6])
    assert saved.class_names == dict(enumerate(NAMES))
    assert saved.probabilities == batch.probabilities
    assert saved.to_frame().to_dict("list") == batch.to_frame().to_dict("list")
    for read, e in zip(saved, batch, strict=True):
        assert (read.prediction_name, read.probability, read.margin) == (e.prediction_name, e.probability, e.margin)
        assert read.to_json() == e.to_json()
    assert "<bdi>versicolor</bdi>" in report_html(saved)
    with pytest.raises(ResultFileError, match="another model, domain, options or data"):
        tree(class_names=["a", "b", "c"]).explain_to(tmp_path / f"out.{suffix}", X.iloc[::6])


def test_a_document_says_names_probability_and_margin() -> None:
    document = tree(class_names=NAMES).explain(X.iloc[0]).to_dict()
    assert document["class_names"] == [[0, "setosa"], [1, "versicolor"], [2, "virginica"]]
    assert (document["prediction"], document["prediction_name"], document["probability"]) == (0, "setosa", 1.0)
    assert document["margin"] == [[0, 1], [1, 0], [2, 0]]
    plain = tree().explain(X.iloc[0]).to_dict()
    assert set(document) - set(plain) == {"class_names", "prediction_name"}


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("probability", 1.5), ("probability", "1"), ("probability", True), ("probability", 10**400),
        ("class_names", {}), ("class_names", [[0]]), ("class_names", [[0, 1]]), ("class_names", [[0, "a"], [0, "b"]]),
        ("margin", 3), ("margin", [[0, "a"]]), ("margin", [[0, 1], [0, 1]]), ("prediction_name", "virginica"),
    ],
)  # fmt: skip
def test_changed_answers_are_refused(entry: str, value: Any) -> None:
    document = tree(class_names=NAMES).explain(X.iloc[0]).to_dict()
    document[entry] = value
    if value == {}:
        document["prediction_name"] = "setosa"
    with pytest.raises(ResultFileError):
        ax.Explanation.from_dict(document)


def test_verify_asks_for_the_probability() -> None:
    made = tree(class_names=NAMES)
    e = made.explain(X.iloc[10])
    report = ax.verify(e, made.model)
    assert report.ok
    assert [c.status for c in report.checks if c.kind == "probability"] == ["proved"]
    document = e.to_dict()
    document["probability"] = e.probability - 0.25
    report = ax.verify(ax.Explanation.from_dict(document), made.model)
    assert [c.kind for c in report.failed] == ["probability"]


def test_saved_explanations_find_counterfactuals_with_their_model() -> None:
    made = tree(class_names=NAMES)
    e = made.explain(X.iloc[0])
    text = e.to_json()
    with pytest.raises(IncompleteError, match=r"from_json\(text, model=model\)"):
        ax.Explanation.from_json(text).counterfactual()
    saved = ax.Explanation.from_json(text, model=made.model)
    assert saved.counterfactual() == e.counterfactual()
    assert ": versicolor (for instance" in str(saved.counterfactual())
    assert saved.counterfactual(e.cxps[0], seed=1) == e.counterfactual(e.cxps[0], seed=1)
    assert ax.Explanation.from_dict(json.loads(text), model=made.model).counterfactual().output != e.prediction
    other = DecisionTreeClassifier(max_depth=2).fit(X, 2 - Y)
    with pytest.raises(ResultFileError, match="give the model that was explained"):
        ax.Explanation.from_json(text, model=other)
    assert "counterfactual" not in " ".join(ax.verify(ax.Explanation.from_json(text), made.model).unchecked)


def test_explanations_can_be_pickled() -> None:
    e = tree(class_names=NAMES).explain(X.iloc[0])
    assert pickle.loads(pickle.dumps(e)).to_json() == e.to_json()


def test_no_change_of_so_few_features() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    both = ax.Explainer(lambda p: p[0] > 0 or p[1] > 0, domain, max_size=1).explain((2, 2))
    words = "No change of at most 1 feature changes the output"
    with pytest.raises(DomainError, match=words):
        both.counterfactual()
    with pytest.raises(DomainError, match=words):
        plot_cxps(both)
    assert words in report_html(both)


def test_exact_numbers_on_request() -> None:
    e = tree().explain(X.iloc[0])
    assert e.to_frame()["shapley"].dtype == float
    assert e.to_frame(exact=True)["shapley"].tolist() == list(e.scores().values())
    assert repr(ax.CXp(("a",), Fraction(1, 3))) == "CXp(features=('a',), weight=1/3)"
    assert repr(ax.CXp(("a",), Fraction(123456789, 9876543210))) == "CXp(features=('a',), weight≈0.0125)"
    assert repr(ax.CXp(("a",), 4)) == "CXp(features=('a',), weight=4)"
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    batch = ax.Explainer(model, X, delta=0.5).explain_batch(X.iloc[:3])
    assert batch.to_frame()["prediction"].dtype == float
    assert batch.to_frame(exact=True)["prediction"].tolist() == batch.predictions
